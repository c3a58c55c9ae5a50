"""`./dev bench workers`: one tiny run with the real servers and the real wrk, for the form of what is printed, and what is refused."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"))

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="measuring needs two CPU cores")
real_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")


def workers(*options):
    return subprocess.run([sys.executable, ROOT / "tools/bench_workers.py", "--build-dir", BUILD, *options], capture_output=True, text=True)


@two_cores
@real_wrk
def test_connections_in_all_or_for_each_worker(tmp_path):
    file = tmp_path / "out.json"
    done = workers("--rounds", "1", "--seconds", "1", "--connections", "20", "20each", "--json", file)
    assert done.returncode == 0, done.stderr
    rounds = re.findall(r"^round 1, (.*): 1 worker [\d.]+ us, 2 workers [\d.]+ us, ratio [\d.]+; connections \[(\d+), (\d+)\]$", done.stdout, re.M)
    assert [name for name, _, _ in rounds] == ["20 connections", "20 connections for each worker"]
    in_all, each = (int(first) + int(second) for _, first, second in rounds)
    # The warm-up and the run each open theirs, and one is asked whether the server is there.
    assert in_all < each and each >= 2 * 2 * 20
    assert len(re.findall(r": CPU per request [\d.]+ x \(mark 1.05: (?:met|missed)\); furthest from even [\d.]+% \(mark 20%: (?:met|missed)\)$", done.stdout, re.M)) == 2
    report = json.loads(file.read_text())
    assert report["kind"] == "workers" and [(one["load"], one["workers"]) for one in report["results"]] == [(name, 2) for name, _, _ in rounds]
    assert [f"{one['ratio']:.3f}" for one in report["results"]] == re.findall(r"CPU per request ([\d.]+) x", done.stdout)


@pytest.mark.parametrize("wrong", ["none", "each", "-1", "0each"])
def test_wrong_connections_are_refused(wrong):
    done = workers("--connections", wrong)
    assert done.returncode == 2 and done.stderr.startswith("usage: ./dev bench workers")
