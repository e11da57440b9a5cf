# SPDX-License-Identifier: MIT
# Keeps docs/troubleshooting.md as the sources of this folder and the compilers have it: title, explanation, the wrong
# line and the correct one, and the first line of each compiler's refusal. Sources without a title are left out.
#
#   cmake -DOPTIONS=file [-DGCC=path] [-DCLANG=path] [-DWRITE=ON] -P troubleshooting.cmake
#
# A compiler that is not given keeps the words that the document has. With WRITE the document is written; without, it
# must already be what would be written.
cmake_minimum_required(VERSION 3.24)
cmake_path(SET document NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../docs/troubleshooting.md")
set(before "")
if(EXISTS "${document}")
  file(READ "${document}" before)
endif()
set(ENV{LC_ALL} C)

# The first error without its place and without template arguments, and the reason if only a later line names it.
function(words_of compiler source out)
  execute_process(COMMAND "${compiler}" "@${OPTIONS}" -DLLMRES_COMPILE_FAIL -fsyntax-only "${source}"
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX MATCH "error: [^\n]*" words "${said}")
  string(REGEX REPLACE " *(\\[with [^\n]*\\]|{aka [^\n]*}|\\(aka [^\n]*\\)|; did you mean[^\n]*)" "" words "${words}")
  if(words MATCHES "deleted" AND NOT words MATCHES "refusal::" AND said MATCHES "refusal::[a-z_]+")
    string(APPEND words " ... ${CMAKE_MATCH_0}")
  endif()
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

set(after [=[
# When a line does not compile

Quantities refuse what has no meaning. Each refusal is listed with what it means, what to write instead, and the first
line that GCC 12 and Clang 19 print (without template arguments). Generated from `tests/compile_fail/`; to renew it,
build the target `llmres_troubleshooting`.
]=])
file(GLOB sources "${CMAKE_CURRENT_LIST_DIR}/*.cpp")
foreach(source IN LISTS sources)
  file(READ "${source}" text)
  if(NOT text MATCHES "^[^\n]*\n// ([^\n]+)\n//\n(.*)\n//\n// EXPECT.*#ifdef LLMRES_COMPILE_FAIL\n(.*)\n#else\n(.*)\n#endif")
    continue()
  endif()
  set(title "${CMAKE_MATCH_1}")
  set(meaning "${CMAKE_MATCH_2}")
  set(wrong "${CMAKE_MATCH_3}")
  set(correct "${CMAKE_MATCH_4}")
  string(REGEX REPLACE "(^|\n)// ?" "\\1" meaning "${meaning}")

  foreach(family IN ITEMS GCC CLANG)
    if(${family})
      words_of("${${family}}" "${source}" ${family}_words)
    else()
      set(${family}_words "")
      string(FIND "${before}" "## ${title}\n" place)
      if(NOT place EQUAL -1)
        string(SUBSTRING "${before}" ${place} -1 section)
        if(section MATCHES "\n${family}: ([^\n]*)")
          set(${family}_words "${CMAKE_MATCH_1}")
        endif()
      endif()
    endif()
  endforeach()
  string(APPEND after "
## ${title}

${meaning}

```cpp
${wrong}  // refused
${correct}  // instead
```
```text
GCC: ${GCC_words}
CLANG: ${CLANG_words}
```
")
endforeach()

if(WRITE)
  file(WRITE "${document}" "${after}")
elseif(NOT before STREQUAL after)
  file(WRITE "${OPTIONS}.troubleshooting.md" "${after}")
  message(FATAL_ERROR "docs/troubleshooting.md is not current: ${OPTIONS}.troubleshooting.md is.")
endif()
