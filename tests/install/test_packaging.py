"""The files of packaging/: they fit the program, and the tools they are for accept them.

A tool that is not installed skips its tests; packaging/README.md names the packages. The tests of
Debian packages, which are built for them, run with UVHTTP_TEST_PACKAGES=1.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from test_install import BUILD, ROOT, run

PACKAGING = ROOT / "packaging"
PROGRAM = BUILD / "dist/bin/uvhttp"


def tool(name):
    """The path of a tool; without it the test is skipped."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


# Generated files


def test_generated_files_fit_the_build():
    """After a change of options or functions run packaging/generate.py."""
    run(PACKAGING / "generate.py", "--check", "--build", BUILD)


def manual_options():
    text = (ROOT / "docs/man/uvhttp.1").read_text()
    return {f"--{name}" for line in re.findall(r"^\.It Fl (.*)$", text, re.M)
            for name in re.findall(r"(?:^|[ ,])-([a-z][\w-]+)", line)}


# How a shell completes the last word.
SHELLS = {
    "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _uvhttp; '
            'printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])",
    # zsh completes on a terminal only, so this prints the arguments of _arguments.
    "zsh": 'f=$1; shift; words=("$@"); CURRENT=$#; compdef() { }; '
           '_describe() { print -l -- "${(P@)4%%:*}" }; _arguments() { print -l -- "$@" }; '
           'autoload -Uz -- $f; _uvhttp',
}
FILES = {"bash": "uvhttp.bash", "fish": "uvhttp.fish", "zsh": "_uvhttp"}


def complete(shell, *words):
    path = PACKAGING / "completions" / FILES[shell]
    options = {"zsh": ["-f"], "fish": ["--no-config"], "bash": ["--norc"]}[shell]
    name = [] if shell == "fish" else [shell]
    output = run(tool(shell), *options, "-c", SHELLS[shell], *name, path, *words,
                 env={**os.environ, "HOME": "/nonexistent"})
    if shell == "zsh":
        return {word for line in output.splitlines()
                for word in re.findall(r"(?:^|\))\*?(--?[\w-]+?)(?=[+=\[])|^([\w-]+)$", line)
                for word in word if word}
    return {line.split("\t")[0] for line in output.splitlines()}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_every_option_of_the_manual(shell):
    found = set()
    for command in ("serve", "run", "precompress", "cert", "hash-password"):
        found |= complete(shell, "uvhttp", command, "--")
    missing = manual_options() - found
    assert missing <= {"--version", "--http"}, missing


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_the_options_of_the_command(shell):
    assert "--symlinks" in complete(shell, "uvhttp", "--")
    assert "--symlinks" in complete(shell, "uvhttp", "serve", "--")
    assert "--symlinks" not in complete(shell, "uvhttp", "run", "--")
    assert "--test" in complete(shell, "uvhttp", "run", "--")
    assert "--codings" in complete(shell, "uvhttp", "precompress", "--")


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_has_commands_and_values(shell):
    assert {"run", "reload"} <= complete(shell, "uvhttp", "r")
    assert complete(shell, "uvhttp", "serve", "--symlinks", "") == {
        "inside", "all", "none", "owner"}
    assert "reload" in complete(shell, "uvhttp", "help", "")
