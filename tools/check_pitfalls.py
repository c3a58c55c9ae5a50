#!/usr/bin/python3
"""Checks that the tests in docs/pitfalls.md exist, and that it lists every test with `pitfall_` in
its name. Otherwise a renamed or deleted test would leave a pitfall without a test.

A row is `| what went wrong | `FILE::TEST` |`.
"""

import re

import csource

PAGE = "docs/pitfalls.md"
ROW = re.compile(r"^\|.*\| (.*?) \|$")
NAMED = re.compile(r"`(tests/[\w/.]+)::(\w+)`")
# In C nearly every such function is a test; helpers of tests match, too.
PYTHON_TEST = re.compile(r"^def (test_\w+)\(", re.M)
C_TEST = re.compile(r"^static void (\w+)\(void \*\*state\)", re.M)


def tests_of(root, path):
    text = csource.read(root, path)
    return set((PYTHON_TEST if path.suffix == ".py" else C_TEST).findall(text))


def check(root):
    if not (root / PAGE).is_file():
        return [f"{PAGE} is missing"]
    tests = {path.as_posix(): tests_of(root, path) for path in csource.project_files(root)
             if path.parts[0] == "tests" and re.fullmatch(r"test_.*\.(py|c)", path.name)}
    violations, named = [], set()
    for number, line in enumerate(csource.read(root, PAGE).splitlines(), 1):
        row = ROW.match(line)
        if not row or row[1] == "test":
            continue
        found = NAMED.fullmatch(row[1])
        if not found:
            violations.append(f"{PAGE}:{number}: names no test of the form `tests/FILE::NAME`")
        elif found[2] not in tests.get(found[1], ()):
            violations.append(f"{PAGE}:{number}: there is no test {found[1]}::{found[2]}")
        else:
            named.add(found.groups())
    for path, names in tests.items():
        for name in sorted(names):
            if "pitfall_" in name and (path, name) not in named:
                violations.append(f"{path}: {name} is not listed in {PAGE}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
