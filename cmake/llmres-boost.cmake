# SPDX-License-Identifier: MIT
# Finds Boost's headers, for the build and for the installed package alike. Boost's own package file comes first:
# CMake's FindBoost module is deprecated, but still the only way to find a Boost that is just a folder of headers.
find_package(Boost 1.74 QUIET CONFIG)
if(NOT Boost_FOUND)
  if(POLICY CMP0167)
    cmake_policy(SET CMP0167 OLD)
  endif()
  include(CMakeFindDependencyMacro)
  find_dependency(Boost 1.74)
endif()
