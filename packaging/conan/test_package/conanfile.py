import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class LeaseholdTest(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    @property
    def has_sqlite(self):
        return self.dependencies[self.tested_reference_str].options.sqlite

    def build(self):
        if not self.has_sqlite:
            return
        made = CMake(self)
        made.configure()
        made.build()

    def test(self):
        if self.has_sqlite and can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "locks"), env="conanrun")
