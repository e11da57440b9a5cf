# SPDX-License-Identifier: MIT
# Compiles SOURCE twice with COMPILER and the options in the response file OPTIONS: as it stands, which must succeed,
# and with LLMRES_COMPILE_FAIL defined, which must fail in the words that the source's EXPECT lines announce:
#
#   // EXPECT: regex          every compiler
#   // EXPECT-GCC: regex      GCC alone      (all lines that apply must match; the regex is CMake's)
#   // EXPECT-CLANG: regex    Clang alone
function(refuse reason)
  message(NOTICE "${reason}")  # FATAL_ERROR would fold the compiler's lines
  message(FATAL_ERROR "${SOURCE} is not what it says.")
endfunction()

set(compilers "")
if(COMPILER_ID STREQUAL "GNU")
  set(compilers "(-GCC)?")
elseif(COMPILER_ID MATCHES "Clang")
  set(compilers "(-CLANG)?")
endif()
set(expect_line "^// EXPECT${compilers}: *(.+)$")
file(STRINGS "${SOURCE}" expectations REGEX "${expect_line}")
if(NOT expectations)
  refuse("no EXPECT line applies to ${COMPILER_ID}")
endif()

set(ENV{LC_ALL} C)  # messages in one language, with plain quotes
set(compile "${COMPILER}" "@${OPTIONS}" -fsyntax-only "${SOURCE}")

execute_process(COMMAND ${compile} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  refuse("the correct line does not compile:\n${said}")
endif()

execute_process(COMMAND ${compile} -DLLMRES_COMPILE_FAIL RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status EQUAL 0)
  refuse("the wrong line compiles")
endif()
foreach(line IN LISTS expectations)
  string(REGEX REPLACE "^// EXPECT[^:]*: *" "" regex "${line}")
  if(NOT said MATCHES "${regex}")
    refuse("the compiler's refusal does not match \"${regex}\":\n${said}")
  endif()
endforeach()
