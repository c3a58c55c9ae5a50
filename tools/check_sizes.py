#!/usr/bin/python3
"""Checks that no file of src and app has more than 800 lines and no function more than 60.

Long files and functions are hard to read. An exception needs a line with its reason in
tools/size_exceptions.txt. An exception that is not needed is a violation, too.
"""

import re

import csource

EXCEPTIONS = "tools/size_exceptions.txt"
EXCEPTION = re.compile(r"(\S+?)(?::(\w+))? +-- +\S.*")
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


def check(root):
    violations = []
    found = csource.exceptions(root, EXCEPTIONS, EXCEPTION, "'FILE[:FUNCTION] -- reason'",
                               violations)
    exceptions = {(match[1], match[2] or ""): number for number, match in found}
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
            f"{EXCEPTIONS}:{exceptions[key]}: {':'.join(key).rstrip(':')} needs no exception")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
