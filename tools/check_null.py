#!/usr/bin/python3
"""Checks that each pointer parameter of every public function is tested with NULL.

A row NULL_ROW(function, parameter, ...) or NULL_CALL(...) of tests/unit/test_null_*.c calls
`function` with that parameter NULL. A parameter without a row needs a line with a reason in
tools/null_exceptions.txt: FUNCTION PARAMETER -- reason, where both may be patterns, or type:TYPE --
reason, for objects that callbacks receive. A row or line without a parameter is a violation, too.
"""

import fnmatch
import re

import apidoc
import csource

EXCEPTIONS = "tools/null_exceptions.txt"
PARAMETERS = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
DECLARATION = re.compile(rf"\bUVHTTP_EXPORT\b[^;(]*?\b(\w+)\s*\(({PARAMETERS})\)\s*;", re.S)
FUNCTION_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?$")
PUBLIC_TYPE = re.compile(r"\b(uvhttp_\w+_t)\b")
ROW = re.compile(r"\bNULL_(?:ROW|CALL)\(\s*(\w+)\s*,\s*(\w+)\s*,")
LINE = re.compile(r"(?:type:(?P<type>\w+)|(?P<function>\S+) (?P<parameter>\S+)) -- \S.*")
FORM = "'FUNCTION PARAMETER -- reason' or 'type:TYPE -- reason'"


def split_parameters(text):
    """Splits the parameters of a declaration at commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(part.split()) for part in parts]


def pointer_parameters(text):
    """Yields (name, public type or None) of each pointer parameter. The type is that of the object
    that it points to directly."""
    for parameter in split_parameters(text):
        function = FUNCTION_POINTER.search(parameter)
        if function:
            yield function[1], None
        elif "*" in parameter or "[" in parameter or re.search(r"_cb \w+$", parameter):
            kind = PUBLIC_TYPE.search(parameter)
            yield NAME.search(parameter)[1], kind[1] if kind and parameter.count("*") == 1 else None


def functions(root):
    """Returns {function: (header, [(parameter, type), ...])} for all public functions."""
    found = {}
    for path in apidoc.headers(root):
        code = re.sub(r"^\s*#.*$", "", csource.without_comments(path.read_text()), flags=re.M)
        for name, parameters in DECLARATION.findall(code):
            found[name] = (path.relative_to(root), [*pointer_parameters(parameters)])
    return found


def excuses(match, function, parameter, kind):
    if match["type"]:
        return kind == match["type"]
    return (fnmatch.fnmatchcase(function, match["function"])
            and fnmatch.fnmatchcase(parameter, match["parameter"]))


def check(root):
    violations = []
    declared = functions(root)
    known = {name for name, (declaration, _) in apidoc.declared(root).items()
             if declaration.kind == "function"}
    for name in sorted(known ^ declared.keys()):
        violations.append(f"{name}: its declaration cannot be parsed")
    rows = {}
    for path in csource.c_files(root, ("tests",), (".c",)):
        if path.match("tests/unit/test_null_*.c"):
            for row in ROW.findall(csource.without_comments(csource.read(root, path))):
                rows.setdefault(row, path)
    exceptions = list(csource.exceptions(root, EXCEPTIONS, LINE, FORM, violations))
    used = set()
    for function, (header, parameters) in sorted(declared.items()):
        for parameter, kind in parameters:
            fitting = [number for number, match in exceptions
                       if excuses(match, function, parameter, kind)]
            if rows.pop((function, parameter), None) is None and not fitting:
                violations.append(f"{header}: {function}: nothing passes NULL for `{parameter}`: "
                                  "add a row to tests/unit/test_null_*.c")
            used.update(fitting)
    for (function, parameter), path in sorted(rows.items()):
        violations.append(f"{path}: {function} has no pointer `{parameter}`")
    violations += [f"{EXCEPTIONS}:{number}: {match[0].split(' -- ')[0]} excuses nothing"
                   for number, match in exceptions if number not in used]
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
