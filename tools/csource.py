"""Shared by the checks: the files of the project, C text without comments, and the report of
violations.

Every check has the option --root for the project's directory, so that its tests can run it on a
copy with a deliberate violation.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_DIRECTORIES = ("include", "src", "app", "examples", "bench", "tests", "docs")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def project_files(root):
    """Returns the sorted files of the project, relative to root: files that git tracks or would
    add. Without git, all files outside of build directories."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
                            capture_output=True)
    inside = subprocess.run(["git", "-C", root, "rev-parse", "--show-prefix"], capture_output=True,
                            text=True)
    if listed.returncode == 0 and inside.stdout.strip() == "":
        names = [name for name in listed.stdout.decode().split("\0") if name]
        paths = [pathlib.Path(name) for name in names if (root / name).is_file()]
    else:
        paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
        paths = [path for path in paths
                 if path.parts[0] not in ("build", ".git") and "__pycache__" not in path.parts]
    return sorted(paths)


def c_files(root, directories=C_DIRECTORIES, suffixes=(".c", ".h", ".cpp", ".hpp")):
    return [p for p in project_files(root) if p.parts[0] in directories and p.suffix in suffixes]


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def without_comments(text, strings=True):
    """Replaces comments, and with `strings` the contents of strings, by spaces. Line numbers
    stay."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[0] if strings else token
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(blank, text)


def line_of(text, at):
    """Returns the line number of a position, from 1."""
    return text.count("\n", 0, at) + 1


def exceptions(root, name, pattern, form, violations):
    """Yields (line number, match) for each line of a list of exceptions, which may be missing."""
    lines = read(root, name).splitlines() if (root / name).exists() else []
    for number, line in enumerate(lines, 1):
        match = pattern.fullmatch(line)
        if match:
            yield number, match
        elif line.strip() and not line.startswith("#"):
            violations.append(f"{name}:{number}: not of the form {form}")


def root_argument(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the project's directory")
    return parser


def report(violations):
    """Prints one violation per line. Returns the exit code."""
    for violation in violations:
        print(violation)
    return 1 if violations else 0


def main(check, about, libraries=False):
    """The main program of a check. `check` returns a list of violations of the project at root.
    With `libraries` its second argument is the directory of the built libraries."""
    parser = root_argument(about.split("\n\n")[0])
    if libraries:
        parser.add_argument("--libraries", type=pathlib.Path,
                            help="default: build/release/dist/lib")
    options = parser.parse_args()
    root = options.root.resolve()
    built = [options.libraries or root / "build/release/dist/lib"] if libraries else []
    sys.exit(report(check(root, *built)))
