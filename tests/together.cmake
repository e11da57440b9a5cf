# SPDX-License-Identifier: MIT
# cmake -DROOT=tests -DOUTPUT=FILE -P together.cmake -- SOURCE...: one translation unit of many test files. All headers
# that the files include come first; then each file is included in a namespace of its own, where its includes find nothing
# left to do, so that helpers of one name in two files do not meet. What must stand outside of namespaces (a replaced
# operator new, a specialisation of another library's template) does not compile so: such a file is a program of its own.
# With -DPREFIX=table_, each file has a main() of its own: the program runs that of the file whose name, after the prefix,
# it is called by.
cmake_minimum_required(VERSION 3.24)
set(includes "")
set(files "")
set(calls "")
set(is_source FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  set(source "${CMAKE_ARGV${index}}")
  if(source STREQUAL "--")
    set(is_source TRUE)
  elseif(is_source)
    cmake_path(GET source PARENT_PATH folder)
    file(STRINGS "${source}" lines REGEX "^#include ")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"(.+)\".*" "${folder}/\\1" beside "${line}")
      if(NOT beside STREQUAL line AND EXISTS "${beside}")
        set(line "#include \"${beside}\"")
      endif()
      list(APPEND includes "${line}")
    endforeach()
    file(RELATIVE_PATH name "${ROOT}" "${source}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    string(APPEND files "namespace ${name} {\n#include \"${source}\"\n}\n")
    cmake_path(GET source STEM stem)
    string(APPEND calls "    if (called == \"${PREFIX}${stem}\") return ${name}::main(argc, argv);\n")
  endif()
endforeach()
list(REMOVE_DUPLICATES includes)
list(JOIN includes "\n" includes)
if(DEFINED PREFIX)
  string(PREPEND includes "#include <cstdio>\n#include <filesystem>\n")
  string(APPEND files "int main(int argc, char** argv) {\n"
    "    const auto called = std::filesystem::path(argc > 0 ? argv[0] : \"\").stem().string();\n${calls}"
    "    return std::fprintf(stderr, \"%s: expected to be called by a table's name\\n\", called.c_str()), 2;\n}\n")
endif()
file(WRITE "${OUTPUT}" "${includes}\n${files}")
