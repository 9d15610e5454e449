"""leasehold for Conan 2: the libraries, with the drivers that the options name.

    conan create packaging/conan -s compiler.cppstd=gnu20 --build=missing

CMake's find_package(leasehold COMPONENTS …) finds the package, which names no libraries for other
generators than Conan's for CMake. MySQL Connector/C++ 1.1 and SOCI are not in Conan Center: their
drivers are off here.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Leasehold(ConanFile):
    name = "leasehold"
    description = "Locks, leases and claims on the database you already have"
    license = "MIT"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "postgres": [True, False],
        "sqlite": [True, False],
        "time_zones": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "postgres": True,
        "sqlite": True,
        "time_zones": True,
        "date/*:use_system_tz_db": True,
    }

    @property
    def sources_root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.sources_root, "CMakeLists.txt"))
        self.version = re.search(r"^ +VERSION ([0-9.]+)$", text, re.MULTILINE).group(1)

    def export_sources(self):
        for pattern in (
            "CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md",
            "include/*", "migrations/*", "schema/*", "src/*",
        ):  # fmt: skip
            copy(self, pattern, self.sources_root, self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.postgres:
            self.requires("libpq/[>=15]")
        if self.options.sqlite:
            self.requires("sqlite3/[>=3.40]")
        if self.options.time_zones:
            self.requires("date/[>=3.0]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("leasehold is for Linux")

    def generate(self):
        CMakeDeps(self).generate()
        made = CMakeToolchain(self)
        made.cache_variables.update(
            {
                "LEASEHOLD_POSTGRES": bool(self.options.postgres),
                "LEASEHOLD_SQLITE": bool(self.options.sqlite),
                "LEASEHOLD_TIME_ZONES": bool(self.options.time_zones),
                "LEASEHOLD_MYSQL": False,
                "LEASEHOLD_SOCI": False,
                "LEASEHOLD_CLI": False,
                "LEASEHOLD_TESTS": False,
                "LEASEHOLD_EXAMPLES": False,
                "LEASEHOLD_INSTALL": True,
                "CMAKE_UNITY_BUILD": True,
            }
        )
        made.generate()

    def build(self):
        made = CMake(self)
        made.configure()
        made.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package brings its own files for find_package(leasehold COMPONENTS …).
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "leasehold")]
