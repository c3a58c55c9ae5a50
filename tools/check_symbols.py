#!/usr/bin/python3
"""Checks that the shared libraries export exactly the functions that the public headers mark with
UVHTTP_EXPORT.

A missing symbol breaks the link step of users, and an additional one becomes an unintended
interface. The parser library must export the functions of uvhttp/parser.h and of the headers it
includes, and may export other declared functions. Functions of a header of OTHER_LIBRARIES are
exported by a separate library.
"""

import re
import subprocess

import csource

DECLARATION = re.compile(r"^UVHTTP_EXPORT\b[^;{]*?\b(\w+)\s*\(", re.M)
OTHER_LIBRARIES = {"uvhttp/redis.h": "libuvhttp_redis.so"}
INCLUDE = re.compile(r"^#include <(uvhttp/\w+\.h)>", re.M)
# For data: UVHTTP_EXPORT extern const char name[];
OBJECT = re.compile(r"^UVHTTP_EXPORT\s+extern\b[^;(]*?\b(\w+)(?:\[\w*\])?;", re.M)


def with_included(path, include):
    """Returns the public header at `path`, and the headers it includes, recursively."""
    found = {path}
    for name in INCLUDE.findall(path.read_text()):
        found |= with_included(include / name, include)
    return found


def declared(root, headers):
    names = {}
    for path in sorted(headers):
        text = csource.without_comments(path.read_text())
        for name in DECLARATION.findall(text) + OBJECT.findall(text):
            names[name] = path.relative_to(root).as_posix()
    return names


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                            check=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


def check(root, libraries):
    violations = []
    include = root / "include"
    others = {include / header: library for header, library in OTHER_LIBRARIES.items()
              if (include / header).exists()}
    everything = declared(root, set(include.glob("**/*.h")) - others.keys())
    parser = include / "uvhttp/parser.h"
    parser_only = declared(root, with_included(parser, include) if parser.exists() else ())
    wanted_of = {"libuvhttp.so": everything, "libuvhttp_parser.so": parser_only}
    wanted_of |= {library: declared(root, [header]) for header, library in others.items()}
    for name, wanted in wanted_of.items():
        if not (libraries / name).exists():
            violations.append(f"{libraries / name}: not built; run ./dev build")
            continue
        found = exported(libraries / name)
        for symbol in sorted(wanted.keys() - found):
            violations.append(
                f"{wanted[symbol]}: {symbol} is declared, but {name} does not export it")
        allowed = wanted if name in others.values() else everything
        for symbol in sorted(found - allowed.keys()):
            violations.append(f"{name}: exports {symbol}, which no public header declares")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__, libraries=True)
