"""Builds h2spec with Go into build/conformance/h2spec, from the modules pinned in the directory
h2spec, and reads its results."""

import filecmp
import os
import pathlib
import re
import shutil
import xml.etree.ElementTree

from . import suite

FOLDER = suite.FOLDER / "h2spec"
PINNED = pathlib.Path(__file__).with_name("h2spec")
PACKAGE = "github.com/summerwind/h2spec"
GROUPS = {"generic": "generic", "http2": "RFC 7540", "hpack": "RFC 7541"}
COLUMNS = ("passed", "failed", "skipped")


def install(directory=FOLDER, pinned=PINNED):
    """Builds h2spec, unless these versions are built. Returns the path of the program. Raises
    suite.Missing if that fails."""
    program, names = directory / "h2spec", ["go.mod", "go.sum"]
    same, _, _ = filecmp.cmpfiles(directory, pinned, names, shallow=False)
    if program.exists() and same == names:
        return program
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name in names:
        shutil.copy(pinned / name, directory / name)
    if shutil.which("go") is None:
        raise suite.Missing("go is missing")
    # Without go.work, vendor directories or flags of the caller.
    environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "GO111MODULE": "on"}
    suite.run(["go", "build", "-o", program, f"{PACKAGE}/cmd/h2spec"], cwd=directory,
              env=environment)
    return program


def version(pinned=PINNED):
    return re.search(rf"{PACKAGE} v([\d.]+)", (pinned / "go.mod").read_text())[1]


class Case:
    """One case: `group` is generic, http2 or hpack."""
    def __init__(self, package, title, result, detail):
        self.group, _, self.section = package.partition("/")
        self.title, self.result, self.detail = title, result, detail

    def name(self):
        return f"{self.group}/{self.section}: {self.title}"


def read(path):
    """Reads the cases from a report in JUnit's format."""
    cases = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        result = ("failed" if problem is not None else
                  "skipped" if case.find("skipped") is not None else "passed")
        detail = " / ".join((problem.text or "").split("\n")).strip() if problem is not None else ""
        cases.append(Case(case.get("package"), case.get("classname"), result, detail))
    return cases


def table(cases):
    """Returns rows of a group, its number of cases, and the number of each result, after a
    heading."""
    rows = [("group", "cases", *COLUMNS)]
    for group, title in (*GROUPS.items(), (None, "all")):
        found = [case.result for case in cases if group in (None, case.group)]
        rows.append((title, len(found), *(found.count(column) for column in COLUMNS)))
    return rows
