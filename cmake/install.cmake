# SPDX-License-Identifier: MIT
# Headers, the CMake package and the pkg-config file. Nothing here depends on the architecture.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(llmres_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/llmres")
# INCLUDES: for consumers with CMake before 3.23, which knows no file sets.
install(TARGETS llmres EXPORT llmres-targets
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET rows DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT llmres-targets NAMESPACE llmres:: DESTINATION "${llmres_package_dir}")
if(LLMRES_IO)
  install(TARGETS llmres_io EXPORT llmres-io-targets
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILE_SET rows DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT llmres-io-targets NAMESPACE llmres:: DESTINATION "${llmres_package_dir}")
endif()

configure_package_config_file(cmake/llmres-config.cmake.in llmres-config.cmake
  INSTALL_DESTINATION "${llmres_package_dir}")
write_basic_package_version_file(llmres-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  cmake/llmres-boost.cmake
  cmake/llmres-compiled.cmake
  cmake/llmres-compiled.cpp
  "${CMAKE_CURRENT_BINARY_DIR}/llmres-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/llmres-config-version.cmake"
  DESTINATION "${llmres_package_dir}")

# The prefix is written relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH llmres_pc_prefix "/prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" llmres_pc_prefix "${llmres_pc_prefix}")
set(llmres_pc_includedir "\${prefix}")
cmake_path(APPEND llmres_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/llmres.pc.in llmres.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/llmres.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/llmres")
