#!/usr/bin/python3
"""Checks that Clang accepts every source with the project's warnings; the builds of the tests use GCC."""

import concurrent.futures
import os
import subprocess

import csource

FLAGS = """-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wformat=2 -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
-Werror -fsyntax-only -Iinclude -Isrc -Itests""".split()
# The values come from the build; here any will do.
FLAGS += ['-DUVH_VERSION=""', '-DUVH_COMPILER=""', '-DUVH_BUILD_TYPE=""', '-DUVHTTP_TESTS_DIR=""', "-DUVH_DEBUG_CHECKS=1"]


def check(root):
    def compile_one(path):
        extra = ["-Wno-unused-parameter"] if path.parts[0] == "examples" else []
        return subprocess.run(["clang", *FLAGS, *extra, str(path)], cwd=root, capture_output=True, text=True)

    paths = csource.c_files(root, suffixes=(".c",))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compile_one, paths))
    violations = []
    for path, result in zip(paths, results):
        if result.returncode != 0:
            errors = [line for line in result.stderr.splitlines() if "error:" in line] or [result.stderr.strip()]
            # The rest follows from the first few.
            violations += [error if error.startswith(str(path)) else f"{path}: {error}" for error in errors[:3]]
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
