"""sslyze, from PyPI into build/conformance/sslyze: a virtual environment with the pinned versions
of sslyze.txt."""

import pathlib
import shutil
import sys

from . import suite

FOLDER = suite.FOLDER / "sslyze"
PINNED = pathlib.Path(__file__).with_name("sslyze.txt")


def install(folder=FOLDER, pinned=PINNED):
    """The path of the program; installs it unless these versions are there. Raises suite.Missing,
    which says what failed."""
    program, done = folder / "bin/sslyze", folder / "installed"
    if done.exists() and done.read_text() == pinned.read_text():
        return program
    print("installing sslyze from PyPI", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    suite.run([sys.executable, "-m", "venv", folder])
    suite.run([folder / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "-r", pinned])
    done.write_text(pinned.read_text())
    return program


def version(pinned=PINNED):
    return dict(line.split("==") for line in pinned.read_text().split() if "==" in line)["sslyze"]
