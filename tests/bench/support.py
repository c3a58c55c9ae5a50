"""Shared by the tests of the benchmarks: links to test doubles, and runs of commands."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release")).resolve()
BIN = BUILD / "dist/bin"
sys.path.insert(0, str(ROOT / "tools"))

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2,
                               reason="measuring needs two CPU cores")
real_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")


def links(directory, source, *names):
    """Links to `source` as programs of a build directory. Returns the directory."""
    for name in names:
        link = directory / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(pathlib.Path(__file__).with_name(source))
    return directory


class Outcome:
    """The result of a command: exit code, output, and its JSON (None without one)."""

    def __init__(self, done, file):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.report = json.loads(file.read_text()) if file.exists() else None

    def result(self, work, peer):
        found, = [one for one in self.report["results"]
                  if (one["work"], one["peer"]) == (work, peer)]
        return found


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300,
                          env={**os.environ, **environment})


def bench(name, build, *options, mode="", path=None, out=None):
    file = (out or build) / "out.json"
    path = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    done = run("/usr/bin/python3", "-B", ROOT / "tools/bench.py", name, "--build-dir", build,
               "--json", file, *options, DOUBLE=mode, PATH=path)
    return Outcome(done, file)


def assert_stopped(build):
    """Asserts that no program of this build directory is running."""
    assert run("pgrep", "-f", build).stdout == ""


def assert_refused(done, work, reason):
    """Asserts that our server has no figure, and that the output has the reason."""
    assert done.code == 1 and "no figures for ours" in done.err
    result = done.result(work, "uvhttp")
    assert result["median"] is None and result["spread"] == {}
    for one in result["runs"]:
        assert not one["counted"] and reason in one["fault"], one["fault"]
        assert "cpu_us" not in one
    assert "no figures: " in done.out and reason in done.out
