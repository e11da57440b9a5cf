# SPDX-License-Identifier: MIT
execute_process(
  COMMAND "${NVCC}" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -ccbin "${COMPILER}" "-I${INCLUDE}" "${SOURCE}" -o "${OUTPUT}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}" COMMAND_ERROR_IS_FATAL ANY)
