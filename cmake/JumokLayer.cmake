# jumok_layer(NAME USES layer... LIBRARIES target...): one static library per folder of src/.
# jumok_archive(NAME LAYERS layer... USES archive... LIBRARIES target...): some of them (without LAYERS all that are left) as an installed library.

add_library(jumok_options INTERFACE)
target_compile_features(jumok_options INTERFACE cxx_std_20)
target_include_directories(jumok_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
# -ffp-contract=off: one rounding per written operation, so that a row's bits do not depend on what the compiler fused where.
# -Wno-missing-field-initializers: the fields an options struct is not given have their defaults.
# -Wno-restrict: GCC 12 warns of overlapping copies in `"literal" + std::string` that cannot happen (GCC bug 105329).
target_compile_options(jumok_options INTERFACE -Wall -Wextra -Wno-psabi -Wno-missing-field-initializers -ffp-contract=off
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Run-time dispatch wants every target up to AVX3_DL; Highway 1.0.3 leaves that one out unless asked.
  -DHWY_WANT_AVX3_DL
  # Three targets on x86 are enough: SSE2 (what every machine has), AVX2, AVX3_DL; each kernel file is compiled once for each.
  "-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3)")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(JUMOK_SANITIZE)
  # -O1 -g1: fast enough to run every test, with lines in the reports; asserts stay on (no NDEBUG in Debug builds).
  target_compile_options(jumok_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1)
  target_link_options(jumok_options INTERFACE -fsanitize=address,undefined)
endif()

set_property(GLOBAL PROPERTY JUMOK_LAYERS "")

function(jumok_layer name)
  cmake_parse_arguments(LAYER "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc")
  list(TRANSFORM LAYER_USES PREPEND jumok_)
  if(sources)
    add_library(jumok_${name} STATIC ${sources})
    target_link_libraries(jumok_${name} PUBLIC jumok_options ${LAYER_USES} ${LAYER_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY JUMOK_LAYERS jumok_${name})
    if(JUMOK_UNITY AND NOT name STREQUAL "kernels")   # a kernel's file includes itself, once for each SIMD target
      set_target_properties(jumok_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
  else()
    add_library(jumok_${name} INTERFACE)
    target_link_libraries(jumok_${name} INTERFACE jumok_options ${LAYER_USES} ${LAYER_LIBRARIES})
  endif()
endfunction()

function(jumok_archive name)
  cmake_parse_arguments(ARCHIVE "" "" "LAYERS;USES;LIBRARIES" ${ARGN})
  list(TRANSFORM ARCHIVE_LAYERS PREPEND jumok_)
  get_property(left GLOBAL PROPERTY JUMOK_LAYERS)   # those that no archive has yet
  if(NOT ARCHIVE_LAYERS)
    set(ARCHIVE_LAYERS ${left})
  endif()
  list(REMOVE_ITEM left ${ARCHIVE_LAYERS})
  set_property(GLOBAL PROPERTY JUMOK_LAYERS ${left})
  list(TRANSFORM ARCHIVE_LAYERS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(TRANSFORM ARCHIVE_USES PREPEND jumok_archive_)
  string(REPLACE "jumok_jumok" "jumok" file "jumok_${name}")
  set(target jumok_archive_${name})
  add_library(${target} STATIC ${objects})
  # In a folder of their own: to Ninja jumok is the program's file, and layers have names alike.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${name} LINKER_LANGUAGE CXX
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  add_library(jumok::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  # Users of the archive link what it uses; they see neither its headers nor its compile options.
  target_link_libraries(${target} PUBLIC ${ARCHIVE_USES} PRIVATE ${ARCHIVE_LIBRARIES})
endfunction()
