# SPDX-License-Identifier: MIT
# llmres_compile_together(FILE [PREFIX NAME] SOURCE...): FILE is one translation unit of the sources, by together.cmake.
function(llmres_compile_together unit)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX" "")
  set(options "-DROOT=${CMAKE_CURRENT_FUNCTION_LIST_DIR}" "-DOUTPUT=${unit}")
  if(arg_PREFIX)
    list(APPEND options "-DPREFIX=${arg_PREFIX}")
  endif()
  add_custom_command(OUTPUT "${unit}" DEPENDS ${arg_UNPARSED_ARGUMENTS} "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/together.cmake" VERBATIM
    COMMAND "${CMAKE_COMMAND}" ${options} -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/together.cmake" -- ${arg_UNPARSED_ARGUMENTS})
endfunction()
