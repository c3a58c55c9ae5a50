#!/usr/bin/python3
"""Checks that Clang compiles every source with the project's warnings, because other builds use
GCC."""

import concurrent.futures
import os
import subprocess

import csource

FLAGS = """-D_GNU_SOURCE -Wall -Wextra -Wformat=2 -Wshadow -Wconversion -Wvla -Werror -fsyntax-only
-Iinclude -Isrc -Itests -I.""".split()
C = ["clang", "-std=c11", "-Wstrict-prototypes", "-Wmissing-prototypes"]
CXX = ["clang++", "-std=c++20"]
# The build defines these values; here they do not matter.
FLAGS += [
    '-DUVH_VERSION=""', '-DUVH_COMPILER=""', '-DUVH_BUILD_TYPE=""', '-DUVH_FLAGS=""',
    '-DUVHTTP_TESTS_DIR=""', "-DUVH_DEBUG_CHECKS=1", "-DUVH_WITH_LIBCRYPTO", "-DUVH_WITH_CRYPT",
    "-DUVH_WITH_COMPRESSION", "-DUVH_WITH_MARKDOWN", "-DUVHTTP_TESTS_HTTPS=1",
    "-DUVHTTP_TESTS_LIBCRYPTO=1", "-DUVHTTP_TESTS_COMPRESSION=1", "-DUVHTTP_TESTS_MARKDOWN=1",
    '-DUVH_FEATURES=""',
]


def check(root):
    def compile_one(path):
        extra = ["-Wno-unused-parameter"] if path.parts[0] in ("examples", "docs") else []
        compiler = CXX if path.suffix == ".cpp" else C
        return subprocess.run([*compiler, *FLAGS, *extra, str(path)], cwd=root, capture_output=True,
                              text=True)

    paths = csource.c_files(root, suffixes=(".c", ".cpp"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compile_one, paths))
    violations = []
    for path, result in zip(paths, results):
        if result.returncode != 0:
            errors = [line for line in result.stderr.splitlines() if "error:" in line]
            errors = errors or [result.stderr.strip()]
            # Libraries of other servers are installed by ./dev bench only.
            if path.parts[:2] == ("bench", "peers") and "file not found" in errors[0]:
                continue
            # Later errors often result from the first ones.
            violations += [error if error.startswith(str(path)) else f"{path}: {error}"
                           for error in errors[:3]]
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
