"""Installs sslyze from PyPI into build/conformance/sslyze: a virtual environment with the pinned
versions of sslyze.txt."""

import pathlib

import virtualenv

from . import suite

FOLDER = suite.FOLDER / "sslyze"
PINNED = pathlib.Path(__file__).with_name("sslyze.txt")


def install(directory=FOLDER, pinned=PINNED):
    """Installs sslyze, unless these versions are installed. Returns the path of the program. Raises
    suite.Missing if that fails."""
    virtualenv.install("sslyze", directory, pinned, suite.run)
    return directory / "bin/sslyze"


def version(pinned=PINNED):
    return suite.versions(pinned)["sslyze"]
