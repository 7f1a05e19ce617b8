# Run by ctest with cmake -P; every failed step ends it with a message and a failed test.
set(work "${BUILD}/install test")   # the space is on purpose
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed with status ${status}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "expected '${text}', found:\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")

# Moved after installing: nothing in it may name the place it was installed to, nor the source or build folder.
file(RENAME "${prefix}" "${work}/moved prefix")
set(prefix "${work}/moved prefix")
file(GLOB_RECURSE texts "${prefix}/*.cmake" "${prefix}/*.h")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  foreach(place IN ITEMS "${SOURCE}/" "${BUILD}/")
    string(FIND "${content}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${text} names ${place}")
    endif()
  endforeach()
endforeach()

run("${prefix}/bin/jumok" --version)
expect("jumok ${VERSION}")

run(${CMAKE_COMMAND} -S "${SOURCE}/examples" -B "${work}/examples" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror" -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build "${work}/examples")

# sacreBLEU 2.6.0 says for this pair: BLEU 53.73, chrF2 72.08.
file(WRITE "${work}/hypothesis" "the cat sat on the mat\n")
file(WRITE "${work}/reference" "the cat sat on a mat\n")
run("${work}/examples/evaluate" "${work}/hypothesis" "${work}/reference")
expect("BLEU = 53.73 ")
expect("chrF2 = 72.08")

file(WRITE "${work}/digits" "3 1 4\n")
execute_process(COMMAND "${work}/examples/translate" "${SOURCE}/tests/translate/data/reverse-digits" INPUT_FILE "${work}/digits"
  OUTPUT_VARIABLE output ERROR_VARIABLE error)
expect("4 1 3")
expect("4 <- 4")

# The worked example of docs/attention-library.md, by hand: softmax(1.584/√2, -0.318/√2) = 0.793, 0.207; 12 words attend.
run(ldd "${work}/examples/attention")
expect("libhwy")
foreach(library IN ITEMS dnnl sentencepiece utf8proc libz)
  string(FIND "${output}" "${library}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "the attention library alone wants ${library}:\n${output}")
  endif()
endforeach()
# Found as a component, it asks for nothing else to be installed.
file(WRITE "${work}/alone/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(alone LANGUAGES CXX)\n\
find_package(jumok REQUIRED COMPONENTS attention)\nif(TARGET jumok::onednn)\n  message(FATAL_ERROR oneDNN)\nendif()\n\
add_executable(alone \"${SOURCE}/examples/attention.cc\")\ntarget_link_libraries(alone PRIVATE jumok::attention)\n")
run(${CMAKE_COMMAND} -S "${work}/alone" -B "${work}/alone/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}")
run(${CMAKE_COMMAND} --build "${work}/alone/build")
run("${work}/examples/attention")
expect("weights: cat 0.793, car 0.207; context (0.676, 0.514)")
expect("dv of one column sums to 12.000")
file(REMOVE_RECURSE "${work}")
