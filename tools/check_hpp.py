#!/usr/bin/python3
"""Checks that the structs of options in C++ have every field of those in C: where a .hpp fills a
struct of C, called `raw`, it sets all of it.

A field that is added in C and forgotten in C++ would be missed by whoever looks for it there, and
by nothing else. Allocators are left out: the objects of C++ take the system's.
"""

import re

import csource

LEFT_OUT = {"allocator"}
STRUCT = re.compile(r"typedef struct \w+ \{(.*?)\} (\w+);", re.S)
FILLED = re.compile(r"\b(\w+_t) raw = \{\};")


def fields(body):
    """The names of the fields of a struct, of which none is a struct itself."""
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
            number = text.count("\n", 0, filled.start()) + 1
            # Up to the end of the function, which is indented less.
            indent = re.search(r"[ ]*$", text[:filled.start()])[0]
            end = re.compile(rf"^ {{0,{max(0, len(indent) - 1)}}}\}}",
                             re.M).search(text, filled.end())
            set_here = set(
                re.findall(r"\braw\.(\w+) = ",
                           text[filled.end():end.start() if end else len(text)]))
            if filled[1] not in structs:
                violations.append(
                    f"{path}:{number}: no struct of a public header is called {filled[1]}")
                continue
            missing = [field for field in structs[filled[1]] if field not in set_here | LEFT_OUT]
            violations += [f"{path}:{number}: {filled[1]}.{field} is not set" for field in missing]
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
