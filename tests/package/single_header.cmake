# SPDX-License-Identifier: MIT
# The library as one header, in two translation units. The consumer names headers of the library: here each of them only
# includes the one that the script has made.
file(REMOVE_RECURSE "${OUTPUT}")
file(GLOB_RECURSE headers RELATIVE "${ROOT}/include" "${ROOT}/include/llmres/*.hpp")
foreach(header IN LISTS headers)
  file(WRITE "${OUTPUT}/${header}" "#pragma once\n#include <llmres.hpp>\n")
endforeach()
execute_process(COMMAND "${PYTHON}" "${ROOT}/packaging/single_header" --io OUTPUT_FILE "${OUTPUT}/llmres.hpp" COMMAND_ERROR_IS_FATAL ANY)

# What was unpacked from an archive, on a machine without git, tells its commit as well. (A Python of pyenv's is a script.)
execute_process(
  COMMAND "${PYTHON}" -c "import sys; print(sys.executable)" OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(COPY "${ROOT}/packaging/single_header" DESTINATION "${OUTPUT}/archive/packaging")
file(COPY "${ROOT}/include" "${ROOT}/LICENSE" DESTINATION "${OUTPUT}/archive")
foreach(commit IN ITEMS "$Format:%h$" "0123abc")
  file(WRITE "${OUTPUT}/archive/packaging/commit" "${commit}\n")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env PATH=/nowhere "${python}" "${OUTPUT}/archive/packaging/single_header" values/units.hpp
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "commit [0-9a-f]+" told "${text}")
  string(REGEX MATCH "^commit 0123abc$" expected "commit ${commit}")
  if(NOT told STREQUAL expected)
    message(FATAL_ERROR "an archive of commit ${commit} says '${told}'")
  endif()
endforeach()

if(NOT COMPILER)  # the tests of the whole suite go on from here
  return()
endif()
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 ${warnings} "-I${OUTPUT}" "${SOURCES}/main.cpp" "${SOURCES}/reads_config.cpp" -o "${OUTPUT}/consumer"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}/consumer" "${CONFIG_JSON}" COMMAND_ERROR_IS_FATAL ANY)
