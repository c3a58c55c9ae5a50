"""Recipe of Conan 2: `conan create packaging/conan` in the directory of the checkout.

The options have the names and defaults of the CMake options, in lower case without BUILD_.
"""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps

OPTIONS = {"with_https": "BUILD_WITH_HTTPS", "with_compression": "BUILD_WITH_COMPRESSION",
           "with_crypt": "BUILD_WITH_CRYPT", "with_markdown": "BUILD_WITH_MARKDOWN",
           "with_redis": "BUILD_WITH_REDIS", "with_mimalloc": "BUILD_WITH_MIMALLOC",
           "with_websocket": "BUILD_WITH_WEBSOCKET"}
SOURCES = ("CMakeLists.txt", "LICENSE", "*.md", "app/*", "bench/*", "cmake/*", "docs/*",
           "examples/*", "include/*", "packaging/*", "src/*")


class UvhttpConan(ConanFile):
    name = "uvhttp"
    description = "Embeddable HTTP/1.1, HTTP/2, HTTPS and WebSocket server library on libuv"
    license = "MIT"
    topics = ("http", "server", "websocket", "libuv")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False],
               **{name: [True, False] for name in OPTIONS}}
    default_options = {"shared": False, "fPIC": True, **{name: True for name in OPTIONS},
                       "with_redis": False}
    languages = "C"
    implements = ["auto_shared_fpic"]

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        text = load(self, self._root / "CMakeLists.txt")
        self.version = re.search(r"project\(uvhttp VERSION ([\d.]+)", text)[1]

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        self.requires("libuv/[>=1.44 <2]", transitive_headers=True)
        self.requires("xxhash/[>=0.8 <1]", libs=False, visible=False)
        if self.options.with_https:
            self.requires("openssl/[>=3 <4]")
        if self.options.with_compression:
            self.requires("brotli/[>=1.0.7 <2]")
            self.requires("zstd/[>=1.4.5 <2]")
            self.requires("zlib/[>=1.2.9 <2]")
        if self.options.with_crypt:
            self.requires("libxcrypt/[>=4.3 <5]")
        if self.options.with_markdown:
            self.requires("md4c/[>=0.4.7 <1]")
        if self.options.with_redis:
            self.requires("hiredis/[>=1 <2]")
        if self.options.with_mimalloc:
            self.requires("mimalloc/[>=2 <3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["UVHTTP_BUILD_EXTRAS"] = False
        toolchain.cache_variables["BUILD_TESTING"] = False
        for name, variable in OPTIONS.items():
            toolchain.cache_variables[variable] = bool(self.options.get_safe(name))
        toolchain.cache_variables["BUILD_WITH_LIBCRYPTO"] = bool(self.options.with_https)
        toolchain.generate()
        # Static packages have other names for the same.
        cmake, pkg_config = CMakeDeps(self), PkgConfigDeps(self)
        for dependency in ("mimalloc", "mimalloc::mimalloc"):
            cmake.set_property(dependency, "cmake_target_name", "mimalloc")
        pkg_config.set_property("libuv", "pkg_config_name", "libuv")
        cmake.generate()
        pkg_config.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, f"{self.package_folder}/licenses")
        CMake(self).install()
        rmdir(self, f"{self.package_folder}/share")
        rmdir(self, f"{self.package_folder}/lib/cmake")
        rmdir(self, f"{self.package_folder}/lib/pkgconfig")
        unwanted = "*.a" if self.options.shared else "*.so*"
        for path in pathlib.Path(self.package_folder, "lib").glob(unwanted):
            path.unlink()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "uvhttp")
        suffix = "" if self.options.shared else "_static"
        server, parser = self.cpp_info.components["server"], self.cpp_info.components["parser"]
        parser.libs = ["uvhttp_parser"]
        parser.set_property("cmake_target_name", f"uvhttp::parser{suffix}")
        parser.set_property("pkg_config_name", "uvhttp_parser")
        server.libs = ["uvhttp"]
        server.set_property("cmake_target_name", f"uvhttp::uvhttp{suffix}")
        server.set_property("pkg_config_name", "uvhttp")
        server.system_libs = ["pthread"]
        server.requires = ["libuv::libuv"]
        for name, found in (("with_https", ["openssl::openssl"]),
                            ("with_compression", ["brotli::brotlienc", "zstd::zstdlib",
                                                  "zlib::zlib"]),
                            ("with_crypt", ["libxcrypt::libxcrypt"]),
                            ("with_markdown", ["md4c::_md4c"]),
                            ("with_mimalloc", ["mimalloc::mimalloc"])):
            if self.options.get_safe(name):
                server.requires += found
        if self.options.with_redis:
            redis = self.cpp_info.components["redis"]
            redis.libs = ["uvhttp_redis"]
            redis.set_property("cmake_target_name", f"uvhttp::redis{suffix}")
            redis.requires = ["server", "hiredis::hiredis"]
