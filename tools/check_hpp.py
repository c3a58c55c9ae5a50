#!/usr/bin/python3
"""Checks that option structs in C++ have every field of those in C: a .hpp that fills a C struct,
called `raw`, must set all of its fields.

Otherwise C++ would lack a new field of C without any error. Allocators are excluded, because the
C++ objects use the system's.
"""

import re

import csource

LEFT_OUT = {"allocator"}
STRUCT = re.compile(r"typedef struct \w+ \{(.*?)\} (\w+);", re.S)
FILLED = re.compile(r"\b(\w+_t) raw = \{\};")


def fields(body):
    """Yields the field names of a struct without nested structs."""
    for declaration in body.split(";"):
        function = re.search(r"\(\*(\w+)\)", declaration)
        if function:
            yield function[1]
        elif declaration.strip():
            for part in re.sub(r"\[.*?\]", "", declaration).split(","):
                yield re.search(r"(\w+)\s*$", part.strip())[1]


def check(root):
    structs, violations = {}, []
    for path in csource.c_files(root, ("include", ), (".h", )):
        for body, name in STRUCT.findall(csource.without_comments(csource.read(root, path))):
            structs[name] = list(fields(body))
    for path in csource.c_files(root, ("include", ), (".hpp", )):
        text = csource.without_comments(csource.read(root, path))
        for filled in FILLED.finditer(text):
            number = csource.line_of(text, filled.start())
            # The function ends with a brace that is indented less.
            indent = re.search(r"[ ]*$", text[:filled.start()])[0]
            end = rf"(?m)^ {{0,{max(0, len(indent) - 1)}}}\}}"
            body = re.split(end, text[filled.end():], 1)[0]
            set_here = set(re.findall(r"\braw\.(\w+) = ", body))
            if filled[1] not in structs:
                violations.append(
                    f"{path}:{number}: no struct of a public header is called {filled[1]}")
                continue
            missing = [field for field in structs[filled[1]] if field not in set_here | LEFT_OUT]
            violations += [f"{path}:{number}: {filled[1]}.{field} is not set" for field in missing]
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
