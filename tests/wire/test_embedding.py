"""The code in docs/embedding.md: every block compiles, and the functions on the page exist."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/embedding.md"
# The includes of a program that uses the blocks.
BEFORE = """#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>
#include <uvhttp.h>
void set_up(uvhttp_server_t *);
"""


def blocks():
    return re.findall(r"^```c\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def test_page_blocks_compile():
    assert len(blocks()) >= 7
    code = BEFORE + "\n".join(blocks())
    done = subprocess.run([
        "gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
        f"-I{ROOT}/include", "-fsyntax-only", "-x", "c", "-"
    ], input=code, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_page_names_exist():
    declared = "".join(path.read_text() for path in (ROOT / "include/uvhttp").glob("*.h"))
    for name in set(re.findall(r"\b(?:uvhttp|UVHTTP)_\w+", PAGE.read_text())):
        assert re.search(
            rf"\b{name}\b",
            declared) or name.startswith("UVHTTP_E") and f"X({name[7:]}," in declared, name


def test_page_has_every_function_of_header():
    header = (ROOT / "include/uvhttp/embedding.h").read_text()
    names = re.findall(r"^UVHTTP_EXPORT [^(]*?(\w+)\(", header, re.M)
    assert len(names) > 10
    missing = [name for name in names if name not in PAGE.read_text()]
    assert not missing
