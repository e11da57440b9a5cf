# SPDX-License-Identifier: MIT
# The way of a plain Makefile: c++ $(pkg-config --cflags llmres) *.cpp. nlohmann_json, which io/ needs, has a .pc of its own.
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/share/pkgconfig")
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs llmres OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 ${warnings} "${SOURCES}/main.cpp" "${SOURCES}/reads_config.cpp" ${flags} -o "${OUTPUT}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}" "${CONFIG_JSON}" COMMAND_ERROR_IS_FATAL ANY)

# Every header of io/ needs what the library names, and nothing of a library that is only there by chance.
file(GLOB headers RELATIVE "${PREFIX}/include" "${PREFIX}/include/llmres/io/*.hpp" "${PREFIX}/include/llmres/io/logs/*.hpp"
  "${PREFIX}/include/llmres/io/svg/*.hpp")
list(LENGTH headers count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} headers of io/ are installed")
endif()
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>")
list(JOIN headers "\n" includes)
file(WRITE "${OUTPUT}_io.cpp" "${includes}\n")
execute_process(COMMAND "${COMPILER}" -std=c++20 -M "${OUTPUT}_io.cpp" ${flags} OUTPUT_VARIABLE read COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \\\n]+" paths "${read}")
foreach(path IN LISTS paths)
  if(path MATCHES "^[^ ]*/include/([^/]+)/[^/]" AND NOT CMAKE_MATCH_1 MATCHES
      "^(c\\+\\+|bits|sys|gnu|linux|asm|asm-generic|[a-z0-9_]+-linux-[a-z]+|boost|nlohmann|llmres)$")
    message(FATAL_ERROR "a header of io/ includes ${path}, which no target of the library declares")
  endif()
endforeach()
