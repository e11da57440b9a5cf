# SPDX-License-Identifier: MIT
# The library as one header, in two translation units. The consumer names headers of the library: here each of them only
# includes the one that the script has made.
file(REMOVE_RECURSE "${OUTPUT}")
file(GLOB_RECURSE headers RELATIVE "${ROOT}/include" "${ROOT}/include/llmres/*.hpp")
foreach(header IN LISTS headers)
  file(WRITE "${OUTPUT}/${header}" "#pragma once\n#include <llmres.hpp>\n")
endforeach()
execute_process(COMMAND "${PYTHON}" "${ROOT}/packaging/single_header" --io OUTPUT_FILE "${OUTPUT}/llmres.hpp" COMMAND_ERROR_IS_FATAL ANY)
if(NOT COMPILER)  # the tests of the whole suite go on from here
  return()
endif()
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 ${warnings} "-I${OUTPUT}" "${SOURCES}/main.cpp" "${SOURCES}/reads_config.cpp" -o "${OUTPUT}/consumer"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}/consumer" "${CONFIG_JSON}" COMMAND_ERROR_IS_FATAL ANY)
