# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class Llmres(ConanFile):
    name = "llmres"
    description = "Does an LLM job fit on these GPUs, in which layout, how fast, and what limits it"
    license = "MIT"
    url = homepage = "https://llmres.example"  # no public address yet: RELEASE.md
    topics = ("llm", "gpu", "memory", "capacity-planning", "scheduling", "header-only")
    package_type = "header-library"
    implements = ["auto_header_only"]
    settings = "os", "arch", "compiler", "build_type"
    options = {"io": [True, False]}
    default_options = {"io": False, "boost/*:header_only": True}
    exports_sources = "LICENSE", "include/*"
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "llmres", "values", "version.hpp"))
        found = re.search(r"version\{\.major = (\d+), \.minor = (\d+), \.patch = (\d+)\}", header)
        if not found:
            raise ConanException("include/llmres/values/version.hpp does not state the version in the form this file reads")
        self.version = ".".join(found.groups())

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")
        if self.options.io:
            self.requires("nlohmann_json/[>=3.10 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for files in ["*.hpp", "*.inc"]:
            copy(self, files, os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        headers = self.cpp_info.components["llmres"]
        headers.set_property("cmake_target_name", "llmres::llmres")
        headers.set_property("pkg_config_name", "llmres")
        headers.requires = ["boost::headers"]
        headers.bindirs = headers.libdirs = []
        if self.options.io:
            io = self.cpp_info.components["io"]
            io.set_property("cmake_target_name", "llmres::io")
            io.requires = ["llmres", "nlohmann_json::nlohmann_json"]
            io.bindirs = io.libdirs = []
