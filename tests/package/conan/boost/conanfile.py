# SPDX-License-Identifier: MIT
"""Stands in for Conan's Boost where there is no remote: the system's headers under the names that llmres requires."""
from conan import ConanFile


class SystemBoost(ConanFile):
    name = "boost"
    version = "1.74.0"
    package_type = "header-library"
    options = {"header_only": [True]}
    default_options = {"header_only": True}

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = headers.bindirs = headers.libdirs = []
