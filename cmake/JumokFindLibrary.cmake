# The libraries that Debian 12 ships without, or with unreliable, CMake packages: found by header and library name as jumok::NAME.
# Used by the build and by the installed package.
function(jumok_find_library name header library)
  if(TARGET jumok::${name})
    return()
  endif()
  find_path(JUMOK_${name}_INCLUDE ${header} REQUIRED)
  find_library(JUMOK_${name}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(JUMOK_${name}_INCLUDE JUMOK_${name}_LIBRARY)
  add_library(jumok::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(jumok::${name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${JUMOK_${name}_INCLUDE}" INTERFACE_LINK_LIBRARIES "${JUMOK_${name}_LIBRARY}")
endfunction()
jumok_find_library(onednn dnnl.hpp dnnl)
jumok_find_library(hwy hwy/highway.h hwy)
jumok_find_library(sentencepiece_train sentencepiece_trainer.h sentencepiece_train)
jumok_find_library(sentencepiece sentencepiece_processor.h sentencepiece)
set_property(TARGET jumok::sentencepiece APPEND PROPERTY INTERFACE_LINK_LIBRARIES jumok::sentencepiece_train)
jumok_find_library(utf8proc utf8proc.h utf8proc)
