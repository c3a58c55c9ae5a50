"""`./dev bench quick` gives no figure that means nothing: it refuses debug builds and wrong answers, and throws away runs
with errors. Programs and load are doubles (double.py), so nothing is really measured here; one test uses the real wrk."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOUBLE = pathlib.Path(__file__).with_name("double.py")

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="measuring needs two CPU cores")


@pytest.fixture
def build(tmp_path):
    """A build folder whose programs are doubles, and a wrk that is one."""
    for path in ("dist/bin/uvhttp", "dist/bin/benchmark_rps", "dist/bin/floor", "path/wrk"):
        copy = tmp_path / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOUBLE, copy)
        copy.chmod(0o755)
    return tmp_path


def quick(build, mode, *options, real_wrk=False):
    path = os.environ["PATH"] if real_wrk else f"{build}/path:{os.environ['PATH']}"
    command = ["/usr/bin/python3", str(ROOT / "tools/bench_quick.py"), "--build-dir", str(build), "--seconds", "1", *options]
    environment = {**os.environ, "DOUBLE": mode, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def one_server(build, mode, work="memory", rounds=1):
    return quick(build, mode, "--servers", "uvhttp", "--works", work, "--rounds", str(rounds))


@pytest.mark.parametrize("work", ["memory", "file-13", "file-10k"])
def test_right_answers_are_measured(build, work):
    done = one_server(build, "", work)
    assert done.returncode == 0, done.stderr
    assert "1/1" in done.stdout
    assert "thrown away" not in done.stdout


@pytest.mark.parametrize("mode", ["debug", "debug-program"])
def test_a_debug_build_is_refused(build, mode):
    done = one_server(build, mode)
    assert done.returncode == 1
    assert "is not a Release build" in done.stderr and "Debug" in done.stderr
    assert "CPU us" not in done.stdout


@pytest.mark.parametrize("work", ["memory", "file-13", "file-10k"])
@pytest.mark.parametrize("mode, reason", [
    ("status", "the status is 500 instead of 200"),
    ("truncate", "the body has"),
    ("content", "the right length and the wrong content"),
    ("cut", "the body was cut off after"),
])
def test_a_wrong_answer_is_refused(build, work, mode, reason):
    done = one_server(build, mode, work)
    assert done.returncode == 1
    assert "wrong answer from uvhttp" in done.stderr and reason in done.stderr
    assert "CPU us" not in done.stdout


@pytest.mark.parametrize("mode, reason", [
    ("late-status", "answers with an error status"),
    ("late-truncate", "but a right answer has"),
    ("late-close", "read errors"),
])
def test_a_run_with_errors_is_shown_and_does_not_count(build, mode, reason):
    done = one_server(build, mode, rounds=1)
    assert done.returncode == 1
    assert "thrown away" in done.stderr and reason in done.stderr
    assert "CPU us" not in done.stdout


def test_a_missing_program_is_named(build):
    (build / "dist/bin/benchmark_rps").unlink()
    done = one_server(build, "")
    assert done.returncode == 1
    assert "benchmark_rps is missing" in done.stderr


def test_servers_take_turns_and_no_process_is_left(build):
    done = quick(build, "", "--servers", "uvhttp", "floor", "--works", "memory", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    order = [line.split(", ")[-1].split(":")[0] for line in done.stderr.split("\n") if line.startswith("[")]
    assert order == ["floor", "uvhttp", "floor", "uvhttp"]
    left = subprocess.run(["pgrep", "-f", str(build)], capture_output=True, text=True).stdout
    assert left == ""


def test_json_holds_runs_medians_targets_and_environment(build):
    file = build / "out.json"
    done = quick(build, "", "--servers", "uvhttp", "floor", "--works", "memory", "--rounds", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    for key in ("date", "commit", "command", "uvhttp", "kernel", "cpu"):
        assert report["environment"][key]
    work, = report["works"]
    assert work["name"] == "memory"
    server = work["servers"]["uvhttp"]
    # On a busy machine a run may be thrown away; then it says why.
    assert len(server["runs"]) == 2 and any(run["counted"] for run in server["runs"])
    assert all(run["counted"] or run["fault"] for run in server["runs"])
    assert server["median"]["cpu_us"] > 0
    assert server["median"]["cpu_us"] == pytest.approx(sum(run["cpu_us"] for run in server["runs"]) / 2)
    for run in server["runs"]:
        assert run["cpu_us"] == pytest.approx(run["user_us"] + run["system_us"])
    target, = report["targets"]
    ratios = [mine["cpu_us"] / floors["cpu_us"]
              for mine, floors in zip(server["runs"], work["servers"]["floor"]["runs"])]
    assert target["limit"] == 1.15
    assert target["measured"] == pytest.approx(sum(ratios) / 2)
    assert target["met"] == (target["measured"] <= 1.15)


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.parametrize("work", ["memory", "pipelined"])
def test_the_lua_scripts_work_with_wrk(build, work):
    done = quick(build, "", "--servers", "uvhttp", "--works", work, "--rounds", "1", real_wrk=True)
    assert done.returncode == 0, done.stderr
    assert "1/1" in done.stdout


def test_cpu_time_is_that_of_the_whole_process_tree():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from benchlib import cpu
    finally:
        sys.path.pop(0)
    # A thread of a child does the work and goes on waiting; the process itself and the child's first thread only wait.
    burn = """
import threading, time
def burn():
    while time.thread_time() < 0.3:
        sum(range(10000))
    print("done", flush=True)
    threading.Event().wait()
threading.Thread(target=burn).start()
"""
    parent = subprocess.Popen(["sh", "-c", f"/usr/bin/python3 -c '{burn}'; true"], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout.readline() == "done\n"
        assert len(cpu.process_tree(parent.pid)) == 2
        spent = cpu.read(parent.pid)
        assert spent.total_ns >= 300_000_000
        assert spent.user_ticks + spent.system_ticks >= 30
        total, user, system = spent.per_request(1000)
        assert total == pytest.approx(spent.total_ns / 1e6)
        assert total == pytest.approx(user + system)
    finally:
        for pid in reversed(cpu.process_tree(parent.pid)):
            os.kill(pid, 15)
        parent.wait()
