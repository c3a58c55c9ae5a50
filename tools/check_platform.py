#!/usr/bin/python3
"""Checks that only src/platform has preprocessor conditions on the operating system."""

import re

import csource

SYSTEMS = re.compile(
    r"\b(_?_?(linux|unix|gnu_linux|APPLE|MACH|FreeBSD|OpenBSD|NetBSD|DragonFly|ANDROID|CYGWIN|"
    r"HAIKU)(__)?|_WIN32|_WIN64|WIN32|__MINGW32__|__sun|_AIX|__GLIBC__)\b")
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b((?:\\\n|[^\n])*)", re.M)


def check(root):
    violations = []
    for path in csource.c_files(root):
        if path.parts[:2] == ("src", "platform"):
            continue
        text = csource.without_comments(csource.read(root, path))
        for match in CONDITION.finditer(text):
            system = SYSTEMS.search(match[1])
            if system:
                line = csource.line_of(text, match.start())
                violations.append(f"{path}:{line}: {system[0]} belongs in src/platform")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
