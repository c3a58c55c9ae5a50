"""Installs sslyze from PyPI into build/conformance/sslyze: a virtual environment with the pinned
versions of sslyze.txt."""

import pathlib
import shutil
import sys

from . import suite

FOLDER = suite.FOLDER / "sslyze"
PINNED = pathlib.Path(__file__).with_name("sslyze.txt")


def install(directory=FOLDER, pinned=PINNED):
    """Installs sslyze, unless these versions are installed. Returns the path of the program. Raises
    suite.Missing if that fails."""
    program, done = directory / "bin/sslyze", directory / "installed"
    if done.exists() and done.read_text() == pinned.read_text():
        return program
    print("installing sslyze from PyPI", file=sys.stderr, flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    suite.run([sys.executable, "-m", "venv", directory])
    suite.run([directory / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "-r", pinned])
    done.write_text(pinned.read_text())
    return program


def version(pinned=PINNED):
    return dict(line.split("==") for line in pinned.read_text().split() if "==" in line)["sslyze"]
