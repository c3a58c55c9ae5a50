#!/usr/bin/python3
"""Checks that every header compiles alone: public ones as C11, C++17 and C++20 (.hpp: C++20),
internal ones as C11.

A header that depends on an earlier one, or does not compile as C++, breaks the build of users.
"""

import concurrent.futures
import os
import subprocess

import csource

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
INCLUDED = ("include", "src", "app", "tests", "tests/support/emulated")
PUBLIC = [["gcc", "-x", "c", "-std=c11", "-Wstrict-prototypes"], ["g++", "-x", "c++", "-std=c++17"],
          ["g++", "-x", "c++", "-std=c++20"]]
PUBLIC_CXX = [PUBLIC[-1] + ["-Wshadow", "-Wconversion", "-Wold-style-cast"]]
# Internal headers are compiled with the extensions that their sources use.
INTERNAL = [["gcc", "-x", "c", "-std=c11", "-D_GNU_SOURCE", "-Wno-pedantic", "-Wno-psabi"]]


def compile_alone(root, include, command):
    text = f"#include {include}\ntypedef int only_this_header;\n"
    includes = [f"-I{root}/{directory}" for directory in INCLUDED]
    return subprocess.run(command[:1] + WARNINGS + command[1:] + includes + ["-fsyntax-only", "-"],
                          input=text, capture_output=True, text=True)


def check(root):
    jobs = []
    for path in csource.c_files(root, ("include", "src", "app"), (".h", ".hpp")):
        public = path.parts[0] == "include"
        name = path.relative_to(path.parts[0]).as_posix()
        for command in PUBLIC_CXX if path.suffix == ".hpp" else PUBLIC if public else INTERNAL:
            jobs.append((path, command, f"<{name}>" if public else f'"{name}"'))
    violations = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_alone(root, job[2], job[1]), jobs)
        for (path, command, _), result in zip(jobs, results):
            if result.returncode != 0:
                first = next((line for line in result.stderr.splitlines() if "error" in line),
                             result.stderr.strip())
                violations.append(
                    f"{path}: does not compile alone ({command[0]} {command[3]}): {first}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
