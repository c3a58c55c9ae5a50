#!/usr/bin/python3
"""Checks that no file has white space at line ends, TO-DO notes, paths of one machine, or broken
links.

It reads every text file of the project, except fuzz inputs and messages (.http), which are
arbitrary bytes.
"""

import re

import csource

# Concatenated, so that this file passes its own check.
NOTES = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
MACHINE = re.compile(r"(?<![\w.~$}\-])/(" +
                     "|".join(["home", "root", "Users", "work", "workspace", "builds"]) + r")/\w")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LF_ONLY_TABS = {".c", ".h", ".py", ".sh", ".cmake", ".md", ".json"}


def check_line(line, suffix):
    if line != line.rstrip():
        yield "white space at the end of the line"
    if "\t" in line and suffix in LF_ONLY_TABS:
        yield "a tab; write spaces"
    note = NOTES.search(line)
    if note:
        yield f"{note[1]}: do it, or document the limitation for users"
    machine = MACHINE.search(line)
    if machine:
        yield f"{machine[0]}... is a path of one machine"


def check_links(root, path, text):
    """Checks that relative links of a Markdown file lead to existing files."""
    for number, line in enumerate(text.split("\n"), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (root / path.parent / target.split("#")[0]).exists():
                yield f"{path}:{number}: the link {target} leads nowhere"


def check(root):
    violations = []
    for path in csource.project_files(root):
        data = (root / path).read_bytes()
        is_input = path.parts[:3] == ("tests", "fuzz", "corpus") or path.suffix == ".http"
        if is_input or b"\0" in data or not data:
            continue
        text = data.decode(errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            violations += [f"{path}:{number}: {fault}" for fault in check_line(line, path.suffix)]
        if not text.endswith("\n"):
            violations.append(f"{path}: the last line has no end")
        if path.suffix == ".md":
            violations += check_links(root, path, text)
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
