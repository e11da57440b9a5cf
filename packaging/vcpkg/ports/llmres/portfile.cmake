# SPDX-License-Identifier: MIT
# An overlay port: it packages the checkout it lies in (vcpkg install llmres --overlay-ports=packaging/vcpkg/ports).
set(VCPKG_BUILD_TYPE release)  # headers have no debug build
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES io LLMRES_IO)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DLLMRES_BUILD_TESTS=OFF -DLLMRES_BUILD_EXAMPLES=OFF -DLLMRES_BUILD_BENCH=OFF ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/llmres)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
