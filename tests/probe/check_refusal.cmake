# SPDX-License-Identifier: MIT
# A file that is not a plan ends `llmres-probe alloc` with 2 and the name of what is missing, GPU or not.
execute_process(COMMAND "${PROGRAM}" alloc "${PLAN}" OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
if(NOT code EQUAL 2 OR NOT err MATCHES "model: missing")
  message(FATAL_ERROR "exit ${code}: ${out}${err}")
endif()
