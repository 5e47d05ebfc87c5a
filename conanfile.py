# conanfile.py — ebb for Conan 2:  conan create .    A project then requires ebb/<version>.
# SPDX-License-Identifier: BSL-1.0
#
# Boost and xsimd come from a remote, or from the system if the profile says so in [platform_requires]: test/packages.sh does that.
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Ebb(ConanFile):
    name = "ebb"
    description = "Automatic differentiation at compile time: a lambda over arrays becomes fused SIMD loops, and so does its gradient"
    license = "BSL-1.0"
    topics = ("automatic-differentiation", "autograd", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports = "include/ebb/version.hpp"
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*"
    test_package_folder = "test/packages/user"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include/ebb/version.hpp"))
        self.version = ".".join(re.search(r"EBB_VERSION_%s (\d+)" % part, text)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def requirements(self):
        self.requires("boost/[>=1.74 <2]", options={"header_only": True}, transitive_headers=True)
        self.requires("xsimd/[>=8.1]", transitive_headers=True)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # writes nothing beside the sources
        for what in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables["EBB_BUILD_" + what] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # CMake takes ebb's own package; the flags below are for other build systems.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/ebb"]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("pkg_config_name", "ebb")
        self.cpp_info.cxxflags = ["-ffp-contract=off"]
        if self.settings.get_safe("compiler") == "gcc":
            self.cpp_info.cxxflags += ["-fconstexpr-ops-limit=2147483647", "-fconstexpr-loop-limit=2147483647"]
        else:
            self.cpp_info.cxxflags += ["-fconstexpr-steps=2147483647", "-fbracket-depth=4096"]
