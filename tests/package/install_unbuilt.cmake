# SPDX-License-Identifier: MIT
# `cmake --install` of a tree that was configured and never built, and of one without io/.
file(REMOVE_RECURSE "${OUTPUT}")

function(configure_and_install name)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${ROOT}" -B "${OUTPUT}/${name}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${OUTPUT}/${name}" --prefix "${OUTPUT}/${name}-installed"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Finds the package in a project of its own; `words` is what a refusal must say, empty if there is none.
function(find_installed name components words)
  file(WRITE "${OUTPUT}/finds/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.24)\nproject(finds LANGUAGES NONE)\nfind_package(llmres REQUIRED ${components})\n")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${OUTPUT}/finds" -B "${OUTPUT}/finds/build" "-Dllmres_ROOT=${OUTPUT}/${name}-installed" --fresh
    RESULT_VARIABLE exit OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(words AND (exit EQUAL 0 OR NOT said MATCHES "${words}"))
    message(FATAL_ERROR "find_package(llmres ${components}) of '${name}' should be refused with '${words}':\n${said}")
  elseif(NOT words AND NOT exit EQUAL 0)
    message(FATAL_ERROR "find_package(llmres ${components}) of '${name}' fails:\n${said}")
  endif()
endfunction()

# The program is left out, since it was not built; the tests are not of interest.
configure_and_install(whole -DLLMRES_BUILD_TESTS=OFF)
if(NOT EXISTS "${OUTPUT}/whole-installed/include/llmres/io/job_json.hpp" OR EXISTS "${OUTPUT}/whole-installed/bin/llmres")
  message(FATAL_ERROR "A tree that was only configured installs all headers, and no program.")
endif()
find_installed(whole "COMPONENTS io" "")

# Without io/: as vcpkg packages it without the feature.
configure_and_install(core -DLLMRES_BUILD_TESTS=OFF -DLLMRES_BUILD_EXAMPLES=OFF -DLLMRES_BUILD_BENCH=OFF -DLLMRES_IO=OFF)
if(EXISTS "${OUTPUT}/core-installed/include/llmres/io" OR NOT EXISTS "${OUTPUT}/core-installed/include/llmres/plan.hpp")
  message(FATAL_ERROR "LLMRES_IO=OFF installs all headers but those of io/.")
endif()
find_installed(core "" "")
find_installed(core "COMPONENTS io" "installed without its component io")
find_installed(core "COMPONENTS oi" "no component .oi.")
