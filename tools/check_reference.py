#!/usr/bin/python3
"""Checks that public declarations are documented, exported, used in a test or example, and part of
the reference, and that examples in comments and pages have the parameters of the functions.

Each function, callback and type of include/uvhttp needs a comment in the header. Functions need a
use in tests, examples, docs or app, and a symbol in libuvhttp.so. Types need a use there or in
another public declaration. If Doxygen is installed, it reads the headers (tools/reference.py) and
must report no warnings and list each name. docs/errors.md needs a row for each error code.
"""

import pathlib
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree

import apidoc
import check_null
import check_symbols
import csource
import reference

USERS = ("tests", "examples", "docs", "app")
WORD = re.compile(r"\b(?:uvhttp|UVHTTP)_\w+")
CALL = re.compile(r"\b(uvhttp_\w+)\(")
ERROR_ROW = re.compile(r"^\| `(UVHTTP_\w+)` \| (-\d+) \|", re.M)


def words(root, paths):
    """Returns the public names in the code of some files, without comments and strings."""
    found = set()
    for path in paths:
        found.update(WORD.findall(csource.without_comments(csource.read(root, path))))
    return found


def words_of_headers(root):
    """Counts the occurrences of each public name in the headers."""
    count = {}
    for path in apidoc.headers(root):
        for name in WORD.findall(csource.without_comments(path.read_text())):
            count[name] = count.get(name, 0) + 1
    return count


def check_declarations(root, declared, library):
    used = words(root, csource.c_files(root, USERS))
    in_headers = words_of_headers(root)
    exported = check_symbols.exported(library) if library.exists() else None
    for other in check_symbols.OTHER_LIBRARIES.values():
        if exported is not None and (library.parent / other).exists():
            exported |= check_symbols.exported(library.parent / other)
    if exported is None:
        yield f"{library}: not built; run ./dev build"
    for name, (declaration, path) in sorted(declared.items()):
        where = f"{path}:{declaration.line}: {name}"
        if not declaration.documented:
            yield f"{where} has no comment"
        if declaration.kind == "function":
            if name not in used:
                yield f"{where} is used by no test and no example"
            if exported is not None and name not in exported:
                yield f"{where} is not exported by {library.name}"
        elif not used.intersection((name, *declaration.constants)) and in_headers[name] < 2:
            yield f"{where} is used by no test and no example, and by nothing else that is public"


def check_read(root, declared):
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory).resolve() / "reference"
        yield from reference.build(root, output)
        index = output / "xml/index.xml"
        names = xml.etree.ElementTree.parse(index).iter("name") if index.exists() else ()
        found = {name.text for name in names}
        for name, (declaration, path) in sorted(declared.items()):
            if name not in found and declaration.documented:
                yield f"{path}:{declaration.line}: {name} is not in the reference"


def check_errors(root):
    """Compares docs/errors.md with the table of error.h."""
    page, header = root / "docs/errors.md", root / "include/uvhttp/error.h"
    if not header.exists():
        return
    table = apidoc.tables(header.read_text()).get("UVHTTP_ERROR_MAP", [])
    codes = {f"UVHTTP_{row[0]}": row[1] for row in table}
    documented_codes = dict(ERROR_ROW.findall(page.read_text())) if page.exists() else {}
    for name in sorted(codes.keys() | documented_codes.keys()):
        if name not in documented_codes:
            yield f"docs/errors.md: has no row for {name}"
        elif name not in codes:
            yield f"docs/errors.md: {name} is no error code any more"
        elif documented_codes[name] != codes[name]:
            yield f"docs/errors.md: {name} is {codes[name]}, not {documented_codes[name]}"


def calls(text):
    """(line, function, number of arguments) of each complete call of ours."""
    for match in CALL.finditer(text):
        depth, count, at = 1, 1, match.end()
        while at < len(text) and depth > 0:
            depth += (text[at] in "([{") - (text[at] in ")]}")
            count += text[at] == "," and depth == 1
            at += 1
        inside = text[match.end():at - 1].strip()
        if depth == 0 and inside not in ("", "..."):
            yield csource.line_of(text, match.start()), match[1], count


def examples(root):
    """(path, text) of the examples in comments of headers and in pages, with their lines."""
    for path in apidoc.headers(root):
        lines = path.read_text().splitlines()
        yield path.relative_to(root), "\n".join(
            line[3:] if line.startswith(" *     ") else "" for line in lines)
    for path in csource.project_files(root):
        if path.parts[0] == "docs" and path.suffix == ".md":
            inside, lines = False, []
            for line in csource.read(root, path).splitlines():
                if line.startswith("```"):
                    inside = line in ("```c", "```cpp")
                    line = ""
                lines.append(line if inside else "")
            yield path, "\n".join(lines)


def check_examples(root):
    """Examples that are not compiled keep the parameters of earlier versions."""
    expected = {}
    for path in apidoc.headers(root):
        code = re.sub(r"^\s*#.*$", "", csource.without_comments(path.read_text()), flags=re.M)
        for name, parameters in check_null.DECLARATION.findall(code):
            parts = check_null.split_parameters(parameters)
            if "..." not in parts:
                expected[name] = 0 if parts == ["void"] else len(parts)
    for path, text in examples(root):
        for line, name, count in calls(csource.without_comments(text)):
            if count != expected.get(name, count):
                yield f"{path}:{line}: {name} has {expected[name]} parameters, not {count}"


def check(root, libraries):
    declared = apidoc.declared(root)
    violations = [*check_declarations(root, declared, libraries / "libuvhttp.so"),
                  *check_errors(root), *check_examples(root)]
    if shutil.which("doxygen"):
        violations += check_read(root, declared)
    else:
        print("Doxygen is not installed, so the headers are not checked: tools/setup.sh docs",
              file=sys.stderr)
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__, libraries=True)
