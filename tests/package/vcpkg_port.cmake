# SPDX-License-Identifier: MIT
# A static check of vcpkg's overlay port and of the manifest of this checkout, along vcpkg's maintainer guide. What is installed
# with and without the feature io is tested by install_unbuilt.cmake, with the options that the port passes.
set(port "${ROOT}/packaging/vcpkg/ports/llmres")
file(READ "${port}/portfile.cmake" portfile)
file(READ "${port}/usage" usage)
file(READ "${ROOT}/conanfile.py" conanfile)

function(require_text what text)
  foreach(part IN LISTS ARGN)
    string(FIND "${text}" "${part}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${what} lacks: ${part}")
    endif()
  endforeach()
endfunction()

# A manifest cannot read a header, so it repeats the version; and the address, which Conan's recipe has, too.
foreach(manifest IN ITEMS "${ROOT}/vcpkg.json" "${port}/vcpkg.json")
  file(READ "${manifest}" content)
  foreach(field IN ITEMS name version description homepage license dependencies features)
    string(JSON ${field} GET "${content}" ${field})
  endforeach()
  if(NOT name STREQUAL "llmres" OR NOT version STREQUAL VERSION OR NOT license STREQUAL "MIT")
    message(FATAL_ERROR "${manifest}: '${name}' ${version} under ${license}; include/llmres/values/version.hpp states ${VERSION}")
  endif()
  require_text("conanfile.py" "${conanfile}" "${homepage}" "${description}")
  require_text("${manifest}: dependencies" "${dependencies}" boost-units)
  string(JSON io_needs GET "${features}" io dependencies)
  require_text("${manifest}: feature io" "${io_needs}" nlohmann-json)
endforeach()

# The feature decides what is installed; everything else that could be built is off.
require_text("portfile.cmake" "${portfile}"
  "vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES io LLMRES_IO)" "\${feature_options}" "VCPKG_BUILD_TYPE release"
  LLMRES_BUILD_TESTS=OFF LLMRES_BUILD_EXAMPLES=OFF LLMRES_BUILD_BENCH=OFF vcpkg_fixup_pkgconfig vcpkg_install_copyright)
file(READ "${ROOT}/CMakeLists.txt" build)
require_text("CMakeLists.txt" "${build}" "option(LLMRES_IO" "option(LLMRES_BUILD_BENCH")
require_text("usage" "${usage}" "llmres is header-only and can be used from CMake via:" "find_package(llmres CONFIG REQUIRED)"
  "find_package(llmres CONFIG REQUIRED COMPONENTS io)" llmres::llmres llmres::io)
