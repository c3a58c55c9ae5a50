#!/usr/bin/python3
"""Checks that no file of src and app has more than 800 lines and no function more than 60.

Long files and functions are hard to read. An exception needs a line with its reason in
tools/size_exceptions.txt. An exception that is not needed is a violation, too.
"""

import re

import csource

FILE_LINES = 800
FUNCTION_LINES = 60


def function_sizes(text):
    """Yields (name, first line, lines of the body) of each function. Its braces must be alone in
    column 1, which the format ensures."""
    lines = text.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line.rstrip() == "}" and start:
            head = " ".join(lines[max(0, start - 6):start - 1])
            names = re.findall(r"(\w+)\s*\(", head.split(";")[-1].split("}")[-1])
            yield (names[0] if names else "?"), start, number - start - 1
            start = None


def read_exceptions(root, violations):
    """Returns {(file, function or ''): line number} of tools/size_exceptions.txt."""
    exceptions = {}
    for number, line in enumerate(csource.read(root, "tools/size_exceptions.txt").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        match = re.fullmatch(r"(\S+?)(?::(\w+))? +-- +\S.*", line)
        if match:
            exceptions[(match[1], match[2] or "")] = number
        else:
            violations.append(
                f"tools/size_exceptions.txt:{number}: not of the form 'FILE[:FUNCTION] -- reason'")
    return exceptions


def check(root):
    violations = []
    exceptions = read_exceptions(root, violations)
    used = set()

    def add(path, function, line, message):
        key = (path.as_posix(), function)
        if key in exceptions:
            used.add(key)
        else:
            violations.append(f"{path}:{line}: {message}")

    for path in csource.c_files(root, ("src", "app")):
        text = csource.read(root, path)
        count = text.count("\n")
        if count > FILE_LINES:
            add(path, "", count, f"the file has {count} lines; at most {FILE_LINES} are allowed")
        for name, line, size in function_sizes(csource.without_comments(text)):
            if size > FUNCTION_LINES:
                add(path, name, line,
                    f"{name} has {size} lines; at most {FUNCTION_LINES} are allowed")
    for key in exceptions.keys() - used:
        violations.append(
            f"tools/size_exceptions.txt:{exceptions[key]}: {':'.join(key).rstrip(':')} needs no "
            f"exception"
        )
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
