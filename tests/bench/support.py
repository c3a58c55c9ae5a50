"""Shared by the tests of the benchmarks: programs of a build directory, and runs of commands."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release")).resolve()
BIN = BUILD / "dist/bin"
sys.path.insert(0, str(ROOT / "tools"))

# Options of a short run.
BRIEF = ("--rounds", 1, "--seconds", 1, "--warm-up", 0)
is_release = "CMAKE_BUILD_TYPE:STRING=Release" in (BUILD / "CMakeCache.txt").read_text()
only_release = pytest.mark.skipif(not is_release, reason="only Release builds measure")
enough_cores = len(os.sched_getaffinity(0)) > 1
two_cores = pytest.mark.skipif(not enough_cores, reason="measuring needs two CPU cores")
with_wrk = pytest.mark.skipif(not enough_cores or shutil.which("wrk") is None,
                              reason="measuring needs two CPU cores and wrk")


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


def bench(name, build, *options, mode="", path=os.environ["PATH"]):
    """Runs `./dev bench name`. `mode` is that of the test doubles."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "out.json"
        done = run("/usr/bin/python3", "-B", ROOT / "tools/bench.py", name, "--build-dir", build,
                   "--json", file, *options, DOUBLE=mode, PATH=path)
        return Outcome(done, file)


def assert_stopped(build):
    """Asserts that no program of this build directory is running."""
    assert run("pgrep", "-f", build).stdout == ""


def assert_measured(done):
    """Asserts that each supported work has runs, and that all of them count."""
    assert done.code == 0, done.out + done.err
    for result in done.report["results"]:
        counted = [run["counted"] for run in result["runs"]]
        assert counted == ([] if result["unsupported"] else [True]), result
        assert (result["median"] is None) == bool(result["unsupported"])
    return {(one["work"], one["peer"]) for one in done.report["results"] if one["unsupported"]}


def assert_refused(done, work, reason):
    """Asserts that our server has no figure, and that the output has the reason."""
    assert done.code == 1 and "no figures for ours" in done.err
    result = done.result(work, "uvhttp")
    assert result["median"] is None and result["spread"] == {}
    for one in result["runs"]:
        assert not one["counted"] and reason in one["fault"], one["fault"]
        assert "cpu_us" not in one
    assert "no figures: " in done.out and reason in done.out
