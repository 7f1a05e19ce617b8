# The outside libraries, all of them Debian packages; docs/decisions.md says why each is here.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PkgConfig REQUIRED)

# oneDNN, Highway, SentencePiece and utf8proc come without (or with unreliable) CMake packages in Debian 12.
function(jumok_find_library name header library)
  find_path(JUMOK_${name}_INCLUDE ${header} REQUIRED)
  find_library(JUMOK_${name}_LIBRARY ${library} REQUIRED)
  add_library(jumok::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(jumok::${name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${JUMOK_${name}_INCLUDE}" INTERFACE_LINK_LIBRARIES "${JUMOK_${name}_LIBRARY}")
endfunction()
jumok_find_library(onednn dnnl.hpp dnnl)
jumok_find_library(hwy hwy/highway.h hwy)
jumok_find_library(sentencepiece sentencepiece_processor.h sentencepiece)
jumok_find_library(sentencepiece_train sentencepiece_trainer.h sentencepiece_train)
set_property(TARGET jumok::sentencepiece APPEND PROPERTY INTERFACE_LINK_LIBRARIES jumok::sentencepiece_train)
jumok_find_library(utf8proc utf8proc.h utf8proc)
