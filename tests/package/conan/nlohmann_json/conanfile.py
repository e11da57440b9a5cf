# SPDX-License-Identifier: MIT
"""Stands in for Conan's nlohmann_json where there is no remote: the system's header under the name that llmres requires."""
from conan import ConanFile


class SystemNlohmannJson(ConanFile):
    name = "nlohmann_json"
    version = "3.11.2"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "nlohmann_json::nlohmann_json")
        self.cpp_info.includedirs = self.cpp_info.bindirs = self.cpp_info.libdirs = []
