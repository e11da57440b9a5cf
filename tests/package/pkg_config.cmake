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
