"""`./dev bench ws` gives no figure that means nothing, and leaves nobody out silently. Servers are doubles (websocket_double.py), the load generator is the real
one; the last tests are short runs against the real floor and the real server."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release")).resolve()
BIN = BUILD / "dist/bin"
DOUBLE = pathlib.Path(__file__).with_name("websocket_double.py")

sys.path.insert(0, str(ROOT / "tools"))
from benchlib import Refused, compare, family_websocket, servers, websocket_load, websocket_verify, websocket_works  # noqa: E402
sys.path.pop(0)

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="measuring needs two CPU cores")
own_server = pytest.mark.skipif(not (BIN / "benchmark_websocket").exists(), reason="built without WebSocket")
WORKS = {work.name: work for work in websocket_works.ALL}
ECHO, DEFLATE, BROADCAST = "echo-20-c50", "echo-512-deflate", "broadcast-5000"


@pytest.fixture
def build(tmp_path):
    """A build folder whose servers are doubles, and whose load generator is the real one."""
    folder = tmp_path / "dist/bin"
    folder.mkdir(parents=True)
    for name in ("uvhttp", "benchmark_websocket", "floor_websocket"):
        shutil.copy(DOUBLE, folder / name)
        (folder / name).chmod(0o755)
    shutil.copy(BIN / "websocket_load", folder / "websocket_load")
    return tmp_path


class Outcome:
    """What a run of the command left: exit code, output, and its JSON (None when it wrote none)."""

    def __init__(self, done, file):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.report = json.loads(file.read_text()) if file.exists() else None

    def result(self, work, peer):
        found, = [one for one in self.report["results"] if (one["work"], one["peer"]) == (work, peer)]
        return found


def bench(build, mode, *options, rounds=1, path=None, out=None):
    file = (out or build) / "out.json"
    command = ["/usr/bin/python3", str(ROOT / "tools/bench_ws.py"), "--build-dir", str(build), "--seconds", "1", "--warm-up", "0", "--rounds", str(rounds),
               "--connections", "20", "--json", str(file), *options]
    environment = {**os.environ, "DOUBLE": mode, "PYTHONDONTWRITEBYTECODE": "1", **({"PATH": path} if path else {})}
    return Outcome(subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300), file)


def ours(build, mode, *chosen, **more):
    return bench(build, mode, "--peers", "uvhttp", "--patience", "500" if "stall" in mode or "skip" in mode else "5000", "--works", *chosen, **more)


# Right answers

def test_every_work_can_be_measured(build):
    done = bench(build, "", "--peers", "floor", "uvhttp", "uvhttp-dedicated", "--works", *WORKS)
    assert done.code == 0, done.err
    for result in done.report["results"]:
        assert (result["median"] is None) == bool(result["unsupported"]), result
        assert [run["counted"] for run in result["runs"]] == ([] if result["unsupported"] else [True])
    unsupported = {(one["work"], one["peer"]) for one in done.report["results"] if one["unsupported"]}
    compressed = {DEFLATE, "idle-deflate"}
    assert unsupported == {(work, "floor") for work in compressed} | {(work, "uvhttp-dedicated") for work in set(WORKS) - compressed}
    assert "not supported: the floor does not compress" in done.out


def test_the_json_has_runs_medians_and_marks(build):
    done = bench(build, "", "--peers", "floor", "uvhttp", "--works", ECHO, "idle", rounds=2)
    assert done.code == 0, done.err
    report = done.report
    assert (report["kind"], report["format"]) == ("ws", 1)
    for key in ("date", "commit", "command", "uvhttp", "kernel", "cpu", "cores"):
        assert report["environment"][key]
    result = done.result(ECHO, "uvhttp")
    for run in result["runs"]:
        assert run["counted"] and run["fault"] is None and run["messages"] > 0
        assert run["errors"] == dict.fromkeys(websocket_load.ERRORS, 0)
        assert run["cpu_us"] == pytest.approx(run["user_us"] + run["system_us"]) and run["cpu_us"] > 0
        assert 0 < run["p50_ms"] <= run["p99_ms"] <= run["max_ms"] * 1.04  # percentiles are within 3 %
        assert run["rss_kb"] > 1000
        assert run["wire_bytes"] == 22  # of 20, with their head
    for key in ("cpu_us", "rps", "p99_ms"):
        values = [run[key] for run in result["runs"]]
        assert result["median"][key] == pytest.approx(sum(values) / 2)
        assert result["spread"][key] == [min(values), max(values)]
    by_name = {mark["text"]: mark for mark in report["targets"]}
    beside_floor = by_name["echo of 20 bytes, 50 connections, beside the floor"]
    ratios = [one["cpu_us"] / other["cpu_us"] for one, other in zip(result["runs"], done.result(ECHO, "floor")["runs"])]
    assert beside_floor["value"] == pytest.approx(sum(ratios) / 2) and beside_floor["limit"] == 1.15
    assert beside_floor["met"] == (beside_floor["value"] <= 1.15)
    # A thread of Python's for each connection: far beyond the mark, which is shown.
    idle = by_name["5,000 idle connections after one message"]
    assert idle["value"] == done.result("idle", "uvhttp")["median"]["bytes"] > 768 and not idle["met"]
    assert "NOT MET" in done.out
    assert {who for _, who in compare.figures(report, "x", "cpu_us")[1]} == {"floor", "uvhttp"}


def test_servers_take_turns_and_no_process_is_left(build):
    done = bench(build, "", "--peers", "floor", "uvhttp", "--works", ECHO, "idle", rounds=2)
    assert done.code == 0, done.err
    steps = re.findall(r"^\[(\d+)/8.*?\] (.*), round (\d), (\w+)", done.err, re.M)
    assert [(work.split(" ")[0], number, who) for _, work, number, who in steps] == [
        (work, number, who) for work in ("echo", "5,000") for number in "12" for who in ("floor", "uvhttp")]
    assert subprocess.run(["pgrep", "-f", str(build)], capture_output=True, text=True).stdout == ""


def test_fragments_and_pings_in_between_are_right_answers(build):
    done = ours(build, "fragments", ECHO, DEFLATE)
    assert done.code == 0, done.out + done.err


# Refusals

@pytest.mark.parametrize("mode", ["debug", "debug-program"])
def test_a_debug_build_is_refused(build, mode):
    done = ours(build, mode, ECHO)
    assert done.code == 1
    assert "is not a Release build" in done.err and "Debug" in done.err
    assert done.out == "" and done.report is None


def is_refused(done, work, reason, asked=1):
    assert done.code == 1 and "no figures for ours" in done.err
    result = done.result(work, "uvhttp")
    assert result["median"] is None and result["spread"] == {} and len(result["runs"]) == asked
    for run in result["runs"]:
        assert not run["counted"] and reason in run["fault"], run["fault"]
        assert "cpu_us" not in run
    assert "no figures: " in done.out and reason in done.out
    assert done.report["targets"] == []


@pytest.mark.parametrize("mode, work, reason", [
    ("accept", ECHO, "the Sec-WebSocket-Accept is wrong"),
    ("content", ECHO, "the right length and the wrong content came back"),
    ("truncate", "echo-16k-c50", "16383 bytes came back for 16384"),
    ("longer", ECHO, "21 bytes came back for 20"),
    ("kind", ECHO, "a frame of kind 2 came back for one of kind 1"),
    ("masked", ECHO, "a frame of the server is masked"),
    ("close", ECHO, "the server sent a close frame"),
    ("drop", ECHO, "the connection was closed"),
    ("agree", ECHO, "the server agreed to compression that was not offered"),
    ("no-deflate", DEFLATE, "the server did not agree to compression"),
    ("plain", DEFLATE, "the answer is not compressed"),
    ("self", BROADCAST, "a message came that was not expected"),
    ("extra", BROADCAST, "a message came that was not expected"),
])
def test_a_wrong_answer_is_refused_and_not_asked_again(build, mode, work, reason):
    is_refused(ours(build, mode, work, rounds=2), work, reason)


@pytest.mark.parametrize("mode, work, kind, reason", [
    ("content", ECHO, "wrong", "other bytes came back"),
    ("content", DEFLATE, "wrong", "other bytes came back"),
    ("content", BROADCAST, "wrong", "other bytes came back"),
    ("truncate", "echo-16k-c50", "wrong", "fewer bytes than expected came back"),
    ("longer", ECHO, "wrong", "more bytes than expected came back"),
    ("kind", ECHO, "wrong", "a message of another kind came back"),
    ("extra", ECHO, "wrong", "other bytes came back"),
    ("self", BROADCAST, "wrong", "a message came that was not expected"),
    ("masked", ECHO, "protocol", "a masked frame"),
    ("bits", ECHO, "protocol", "a frame with reserved bits"),
    ("close", ECHO, "closed", "the server sent a close frame"),
    ("drop", ECHO, "closed", "the server closed it"),
    ("stall", ECHO, "missing", "were not answered"),
    ("skip", BROADCAST, "missing", "were not answered"),
    ("plain", DEFLATE, "uncompressed", "a message came back that is not compressed"),
])
def test_what_goes_wrong_under_load_is_counted_and_the_run_does_not_count(build, mode, work, kind, reason):
    done = ours(build, f"late-{mode}", work)
    errors = done.result(work, "uvhttp")["runs"][0]["errors"]
    assert errors[kind] > 0, errors
    is_refused(done, work, websocket_load.ERRORS[kind])
    assert reason in done.result(work, "uvhttp")["runs"][0]["fault"]


@pytest.mark.parametrize("mode, reason", [
    ("accept", "the answer to the handshake has another Sec-WebSocket-Accept"),
    ("content", "other bytes came back"),
    ("drop", "the first message was not answered"),
])
def test_the_generator_says_itself_what_is_wrong_at_the_start(build, monkeypatch, mode, reason):
    monkeypatch.setenv("DOUBLE", mode)
    server = servers.Server("double", "", [build / "dist/bin/floor_websocket"], 0, build)
    try:
        with pytest.raises(Refused, match=reason), websocket_load.Load(build / "dist/bin", server.port, "/echo", WORKS[ECHO], 1, 3):
            pass
    finally:
        server.stop()


def test_a_server_that_is_not_there_is_told(build):
    with pytest.raises(Refused, match="connection 1: cannot connect"):
        websocket_load.Load(build / "dist/bin", servers.free_port(), "/echo", WORKS[ECHO], 1, 3)


def test_a_server_that_cannot_be_installed_is_listed_with_the_reason(build):
    folder = build / "path"
    folder.mkdir()
    for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    done = bench(build, "", "--peers", "uvhttp", "libwebsockets", "--works", ECHO, path=f"{folder}:{os.environ['PATH']}")
    assert done.code == 0, done.err
    peer, = [peer for peer in done.report["peers"] if peer["name"] == "libwebsockets"]
    assert not peer["available"] and "libwebsockets-dev" in peer["reason"]
    assert f"libwebsockets: NOT AVAILABLE: {peer['reason']}" in done.out
    assert done.result(ECHO, "uvhttp")["median"]


def test_a_missing_program_is_named(build):
    (build / "dist/bin/websocket_load").unlink()
    done = ours(build, "", ECHO)
    assert done.code == 1 and "websocket_load is missing" in done.err


def test_nonsense_is_refused(build):
    for options in (["--peers", "gws"], ["--works", "magic"], ["--rounds", "0"], ["--seconds", "x"], ["--patience", "-1"]):
        assert bench(build, "", *options).code == 2


@pytest.mark.parametrize("arguments", [[], ["127.0.0.1", "1"], ["127.0.0.1", "1", "/", "--mode", "flood"], ["127.0.0.1", "1", "/", "--size"],
                                       ["127.0.0.1", "1", "/", "--size", "x"], ["127.0.0.1", "1", "/", "--sise", "1"]])
def test_the_generator_refuses_nonsense(arguments):
    done = subprocess.run([BIN / "websocket_load", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("usage: websocket_load")


# What is really there

@pytest.fixture(params=["floor_websocket", pytest.param("benchmark_websocket", marks=own_server)])
def server(request, tmp_path):
    one = servers.Server(request.param, "", [BIN / request.param, "0"], 0, tmp_path)
    yield one
    one.stop()


@pytest.mark.parametrize("size", [1, 125, 126, 65535, 65536, 300000])
def test_the_real_servers_echo(server, size):
    websocket_verify.check(server, "/echo", websocket_works.Work("", "", "echo", "echo", size, 1))
    work = websocket_works.Work("", "", "echo", "echo", size, 10)
    with websocket_load.Load(BIN, server.port, "/echo", work, 1) as load:
        result = load.run(0.2)
        assert result["errors"] == 0 and result["messages"] >= 10, result
        assert load.count_open() == 10


def test_the_real_servers_publish(server):
    websocket_verify.check(server, "/topic", WORKS[BROADCAST])
    with websocket_load.Load(BIN, server.port, "/topic", WORKS[BROADCAST], 1, 30) as load:
        result = load.run(0.2)
        assert result["errors"] == 0, result
        assert result["messages"] == 30 * result["published"] > 0


def test_a_broadcast_takes_one_call_of_the_floor_for_each_subscriber(build):
    done = bench(BUILD, "", "--peers", "floor", "--works", BROADCAST, out=build)
    assert done.code == 0, done.err
    calls = done.result(BROADCAST, "floor")["system_calls"]
    if "reason" in calls:
        assert f"system calls not counted: floor (raw epoll): {calls['reason']}" in done.out
        pytest.skip(calls["reason"])
    assert calls["sending"] == pytest.approx(1, abs=0.02) and calls["calls"]["sendto"] > 0
    assert calls["per_delivery"] >= calls["sending"]


@own_server
def test_a_short_run_of_ours_counts(build):
    done = bench(BUILD, "", "--works", *WORKS, out=build)
    assert done.code == 0, done.out + done.err
    shared, dedicated = (done.result(DEFLATE, name)["median"]["wire_bytes"] for name in ("uvhttp", "uvhttp-dedicated"))
    assert dedicated < shared < 512 and re.search(rf"^ +uvhttp +.* {shared:,.0f} ", done.out, re.M)


def test_every_contender_has_a_name_of_the_set_up():
    listed = (ROOT / "tools/setup.sh").read_text()
    for name in family_websocket.NAMES:
        if not issubclass(next(one for one in family_websocket.ALL if one.name == name), (family_websocket.Floor, family_websocket.Uvhttp)):
            assert re.search(rf"\bpeer-{name}\b", listed), name
