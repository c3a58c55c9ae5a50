#!/usr/bin/python3
"""Builds the Conan package and links a program with it, shared and static, without a remote:
packaging/try_conan.py [CONAN]

The dependencies are packages of the libraries of the system, with the names that the packages of
ConanCenter have. Needs Conan 2 (default: conan of the path) and the packages of `./dev setup`.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONAN = sys.argv[1] if len(sys.argv) > 1 else "conan"
# name: (version, {component: (pkg-config name, library)}); the component "" is the package itself.
SYSTEM = {
    "libuv": ("1.44.2", {"": ("libuv-static", "uv")}),
    "xxhash": ("0.8.1", {"": ("libxxhash", "xxhash")}),
    "openssl": ("3.0.0", {"ssl": ("libssl", "ssl"), "crypto": ("libcrypto", "crypto")}),
    "brotli": ("1.0.9", {"brotlienc": ("libbrotlienc", "brotlienc")}),
    "zstd": ("1.5.4", {"zstdlib": ("libzstd", "zstd")}),
    "zlib": ("1.2.13", {"": ("zlib", "z")}),
    "libxcrypt": ("4.4.33", {"": ("libxcrypt", "crypt")}),
    "md4c": ("0.4.8", {"_md4c": ("md4c", "md4c")}),
    "hiredis": ("1.0.0", {"hiredislib": ("hiredis", "hiredis")}),
    # The target has the name of the library, which would mean the target.
    "mimalloc": ("2.0.9", {"mimalloc": ("mimalloc", "-lmimalloc")}),
}
RECIPE = """from conan import ConanFile


class System(ConanFile):
    name, version = "{name}", "{version}"
    settings = "os", "arch", "compiler", "build_type"

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.includedirs = self.cpp_info.libdirs = []
        for component, names in {components!r}.items():
            info = self.cpp_info.components[component] if component else self.cpp_info
            info.bindirs = info.includedirs = info.libdirs = []
            info.set_property("pkg_config_name", names[0])
            info.system_libs = [names[1]]
"""


def conan(*arguments):
    done = subprocess.run([CONAN, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("\n".join((done.stdout + done.stderr).splitlines()[-40:]))
    return done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.environ["CONAN_HOME"] = f"{directory}/home"
        conan("profile", "detect")
        # Conan builds the test in its own directory.
        test = shutil.copytree(ROOT / "packaging/conan/test_package", f"{directory}/test")
        for name, (version, components) in SYSTEM.items():
            recipe = pathlib.Path(directory, "conanfile.py")
            recipe.write_text(RECIPE.format(name=name, version=version, components=components))
            conan("create", recipe, "--no-remote")
        for shared in (False, True):
            output = conan("create", ROOT / "packaging/conan", "--no-remote", "-tf", test, "-o",
                           f"uvhttp/*:shared={shared}", "-o", "uvhttp/*:with_redis=True")
            print("shared" if shared else "static", *[line for line in output.splitlines()
                                                      if line.startswith("uvhttp 0")], sep=": ")


if __name__ == "__main__":
    main()
