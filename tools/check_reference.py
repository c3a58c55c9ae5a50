#!/usr/bin/python3
"""Checks that public declarations are documented, exported, used in a test or example, and part of
the reference.

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
import check_symbols
import csource
import reference

USERS = ("tests", "examples", "docs", "app")
WORD = re.compile(r"\b(?:uvhttp|UVHTTP)_\w+")
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
        found = {name.text
                 for name in xml.etree.ElementTree.parse(index).iter("name")
                 } if index.exists() else set()
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


def check(root, libraries):
    declared = apidoc.declared(root)
    violations = [
        *check_declarations(root, declared, libraries / "libuvhttp.so"), *check_errors(root)
    ]
    if shutil.which("doxygen"):
        violations += check_read(root, declared)
    else:
        print("Doxygen is not installed, so the headers are not checked: tools/setup.sh docs",
              file=sys.stderr)
    return violations


if __name__ == "__main__":
    arguments = csource.root_argument(__doc__.splitlines()[0])
    arguments.add_argument("--libraries", type=pathlib.Path, help="default: build/release/dist/lib")
    options = arguments.parse_args()
    root = options.root.resolve()
    sys.exit(csource.report(check(root, options.libraries or root / "build/release/dist/lib")))
