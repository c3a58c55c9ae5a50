#!/usr/bin/python3
"""Checks the format of C and C++ files against .clang-format; `./dev fmt` formats them."""

import re
import subprocess

import csource


def check(root):
    """The violations: one for each unformatted file, at its first line that differs."""
    paths = [str(path) for path in csource.c_files(root)]
    if not paths:
        return []
    try:
        result = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=root,
                                capture_output=True, text=True)
    except FileNotFoundError:
        return ["clang-format is not installed; ./dev setup installs it"]
    places = re.findall(r"^([^\s:]+):(\d+):\d+: error: code should be clang-formatted",
                        result.stderr, re.M)
    first = {}
    for path, line in places:
        first.setdefault(path, line)
    violations = [f"{path}:{line}: not formatted; run ./dev fmt" for path, line in first.items()]
    if result.returncode != 0 and not violations:
        violations.append(f"clang-format: {result.stderr.strip()}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
