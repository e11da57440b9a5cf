# SPDX-License-Identifier: MIT
# `llmres-probe describe` gives devices and 0, or exactly {"devices":[]} and 4.
execute_process(COMMAND "${PROGRAM}" describe OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
if(code EQUAL 4)
  if(NOT out STREQUAL "{\"devices\":[]}\n")
    message(FATAL_ERROR "exit 4, but stdout is: ${out}")
  endif()
elseif(NOT code EQUAL 0 OR NOT out MATCHES "\"schema_version\": 1")
  message(FATAL_ERROR "exit ${code}: ${out}${err}")
endif()
