"""`./dev bench http` gives no figure that means nothing, and leaves nobody out silently. Programs and load are doubles (double.py), so nothing is
really measured here, and none of the servers that are compared with is needed; two tests use the real wrk."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOUBLE = pathlib.Path(__file__).with_name("double.py")
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release")).resolve()

sys.path.insert(0, str(ROOT / "tools"))
from benchlib import Refused, cpu, family_own, family_websocket, latency, progress, roster, servers, session, verify, works, wrk  # noqa: E402
from benchlib.contender import Contender, Place, newest  # noqa: E402
sys.path.pop(0)

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="measuring needs two CPU cores")
real_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
WORKS = {work.name: work for work in works.HTTP}


@pytest.fixture
def build(tmp_path):
    """A build folder whose programs are doubles, and a wrk that is one."""
    for path in ("dist/bin/uvhttp", "dist/bin/benchmark_rps", "dist/bin/benchmark_unified", "dist/bin/floor", "dist/bin/tls_load", "path/wrk"):
        copy = tmp_path / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOUBLE, copy)
        copy.chmod(0o755)
    return tmp_path


class Outcome:
    """What a run of the command left: exit code, output, and its JSON (None when it wrote none)."""

    def __init__(self, done, file):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.report = json.loads(file.read_text()) if file.exists() else None

    def result(self, work, peer):
        found, = [one for one in self.report["results"] if (one["work"], one["peer"]) == (work, peer)]
        return found


def http(build, mode, *options, real_wrk=False, rounds=1):
    path = os.environ["PATH"] if real_wrk else f"{build}/path:{os.environ['PATH']}"
    file = build / "out.json"
    command = ["/usr/bin/python3", str(ROOT / "tools/bench_http.py"), "--build-dir", str(build), "--seconds", "1", "--rounds", str(rounds),
               "--rate", "0", "--json", str(file), *options]
    environment = {**os.environ, "DOUBLE": mode, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return Outcome(subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300), file)


def ours(build, mode, *chosen, **more):
    return http(build, mode, "--peers", "uvhttp", "--works", *chosen, **more)


# Right answers

@two_cores
def test_every_work_can_be_measured(build):
    done = http(build, "", "--peers", "floor", "floor-memory", "uvhttp", "--works", *WORKS)
    assert done.code == 0, done.err
    for result in done.report["results"]:
        assert (result["median"] is None) == bool(result["unsupported"]), result
        assert [run["counted"] for run in result["runs"]] == ([] if result["unsupported"] else [True])
    assert {result["work"] for result in done.report["results"]} == set(WORKS) - {"tls-idle"}
    unsupported = {(one["work"], one["peer"]) for one in done.report["results"] if one["unsupported"]}
    tls = {work for work in WORKS if work.startswith("tls-") and work != "tls-idle"}
    assert unsupported == {(work, "floor-memory") for work in set(WORKS) - {"file-10k", "file-100k", "encoded", "mix", "tls-idle"}} | {
        (work, "floor") for work in tls}
    assert "not supported: `floor` is the floor of this work" in done.out


@pytest.mark.parametrize("contender", [family_own.Floor, family_own.FloorInMemory], ids=lambda contender: contender.name)
def test_the_floors_answer_rightly(contender, tmp_path):
    """The real program: every file of the mix, and one answer of each other work."""
    works.write_files(tmp_path, WORKS.values())
    floor = contender()
    for work in WORKS.values():
        if floor.lacks(work):
            continue
        floor.version = ""
        server = floor.start(Place(BUILD / "dist/bin", tmp_path, tmp_path, tmp_path, sorted(os.sched_getaffinity(0))[0], 1), work)
        try:
            verify.check_work(server, work)
            if work.kind == "mix":
                for number, size in enumerate(work.sizes):
                    verify.check(server, f"/{work.name_of(number)}", works.content(size))
                with pytest.raises(Refused, match="closed before"):
                    verify.check(server, f"/{work.name_of(work.files)}", b"")
        finally:
            server.stop()


@two_cores
def test_the_json_has_the_form_that_reports_read(build):
    done = http(build, "", "--peers", "floor", "uvhttp", "--works", "memory", "connections-10", "connections-500", rounds=2)
    report = done.report
    assert (report["kind"], report["format"]) == ("http", 1)
    for key in ("date", "commit", "command", "uvhttp", "kernel", "tcp", "cpu", "cores", "wrk"):
        assert report["environment"][key]
    assert report["options"] | {"rounds": 2, "seconds": 1, "warm_up": 1, "workers": 1, "quick": False} == report["options"]
    assert [(peer["name"], peer["available"], peer["reason"]) for peer in report["peers"]] == [("floor", True, None), ("uvhttp", True, None)]
    assert all(peer["title"] and peer["version"] and peer["configuration"] for peer in report["peers"])
    assert report["works"][0] == {"name": "memory", "title": "13 bytes from memory", "group": "memory", "pipeline": 1, "body_bytes": 13}
    result = done.result("memory", "uvhttp")
    assert (result["connections"], result["workers"]) == (50, 1)
    for run in result["runs"]:
        assert run["counted"] and run["fault"] is None and run["requests"] == 300
        assert run["errors"] == {"status": 0, "connect": 0, "read": 0, "write": 0, "timeout": 0}
        assert run["cpu_us"] == pytest.approx(run["user_us"] + run["system_us"]) and run["cpu_us"] > 0
        assert (run["p50_ms"], run["p90_ms"], run["p99_ms"], run["max_ms"]) == (0.01, 0.02, 0.03, 0.04)
        assert run["rss_kb"] > 1000
    for key in ("cpu_us", "rps", "rss_kb", "p99_ms"):
        values = [run[key] for run in result["runs"]]
        assert result["median"][key] == pytest.approx(sum(values) / 2)
        assert result["spread"][key] == [min(values), max(values)]
    curve, = report["curves"]
    assert curve["name"] == "connections"
    assert [(point["peer"], point["x"]) for point in curve["points"]] == [("floor", 10), ("uvhttp", 10), ("floor", 500), ("uvhttp", 500)]
    by_name = {(target["text"], target["level"]): target for target in report["targets"]}
    beside_floor = by_name["13 bytes from memory beside the floor", "must"]
    ratios = [one["cpu_us"] / other["cpu_us"] for one, other in zip(result["runs"], done.result("memory", "floor")["runs"])]
    assert beside_floor["value"] == pytest.approx(sum(ratios) / 2)
    assert beside_floor["met"] == (beside_floor["value"] <= beside_floor["limit"] == 1.08)


@two_cores
def test_servers_take_turns_and_no_process_is_left(build):
    done = http(build, "", "--peers", "floor", "uvhttp", "--works", "memory", "connections-10", "connections-100", rounds=2)
    assert done.code == 0, done.err
    steps = re.findall(r"^\[(\d+)/(\d+).*?\] (.*), round (\d), (\w+)", done.err, re.M)
    assert [(int(number), total) for number, total, *_ in steps] == [(number, "12") for number in range(1, 13)]
    assert [(work.split(" (")[0], number, who) for _, _, work, number, who in steps] == [
        *(("13 bytes from memory", number, who) for number in "12" for who in ("floor", "uvhttp")),
        # These are a block: compared with each other, so measured in turn as well.
        *((f"{count} connections", number, who) for number in "12" for count in (10, 100) for who in ("floor", "uvhttp"))]
    assert "left]" in done.err
    assert subprocess.run(["pgrep", "-f", str(build)], capture_output=True, text=True).stdout == ""


# Refusals

@two_cores
@pytest.mark.parametrize("mode, work", [("debug", "memory"), ("debug-program", "memory"), ("debug-unified", "json"), ("debug", "file-13")])
def test_a_debug_build_is_refused(build, mode, work):
    done = ours(build, mode, work)
    assert done.code == 1
    assert "is not a Release build" in done.err and "Debug" in done.err
    assert done.out == "" and done.report is None


@two_cores
@pytest.mark.parametrize("mode, reason", [
    ("status", "the status is 500 instead of 200"),
    ("truncate", "the body has"),
    ("content", "the right length and the wrong content"),
    ("cut", "the body was cut off after"),
    ("close", "the connection was closed before the answer's head was complete"),
])
def test_a_wrong_answer_is_refused(build, mode, reason):
    chosen = ["memory", "json", "file-10k", "post-1k", "connect"]
    done = ours(build, mode, *chosen, rounds=2)
    assert done.code == 1 and "no figures for ours" in done.err
    for work in chosen:
        result = done.result(work, "uvhttp")
        assert result["median"] is None and result["spread"] == {}
        # Not asked again in the second round.
        run, = result["runs"]
        assert not run["counted"] and "wrong answer from uvhttp" in run["fault"] and reason in run["fault"], work
    assert done.out.count("no figures: wrong answer from uvhttp") == len(chosen)
    assert done.report["targets"] == []


@two_cores
@pytest.mark.parametrize("mode, reason, error", [
    ("late-status", "answers with an error status", "status"),
    ("late-truncate", "but a right answer has", None),
    ("late-close", "read errors", "read"),
    ("late-stall", "timeouts", "timeout"),
])
def test_a_run_with_errors_is_shown_and_does_not_count(build, mode, reason, error):
    done = ours(build, mode, "memory")
    assert done.code == 1
    run, = done.result("memory", "uvhttp")["runs"]
    assert not run["counted"] and reason in run["fault"]
    assert "cpu_us" not in run
    assert {name: count > 0 for name, count in run["errors"].items()} == {name: name == error for name in run["errors"]}
    assert done.result("memory", "uvhttp")["median"] is None
    assert f"no figures: {run['fault']}" in done.out


@two_cores
def test_a_server_that_cannot_be_installed_is_listed_with_the_reason(build):
    for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
        (build / "path" / name).write_text(f"#!/bin/sh\n{body}\n")
        (build / "path" / name).chmod(0o755)
    done = http(build, "", "--peers", "uvhttp", "h2o", "--works", "memory")
    assert done.code == 0, done.err
    peer, = [peer for peer in done.report["peers"] if peer["name"] == "h2o"]
    assert not peer["available"] and "apt-get install --no-install-recommends h2o" in peer["reason"]
    assert f"h2o: NOT AVAILABLE: {peer['reason']}" in done.out
    assert done.result("memory", "uvhttp")["median"]


def test_nonsense_is_refused(build):
    for options in (["--peers", "gws"], ["--works", "magic"], ["--rounds", "0"], ["--seconds", "x"], ["--connections", "-1"]):
        assert http(build, "", *options).code == 2


@two_cores
def test_more_workers_than_cores_are_refused(build):
    done = ours(build, "", "memory")
    assert done.code == 0
    done = http(build, "", "--peers", "uvhttp", "--works", "memory", "--workers", "100000")
    assert done.code == 1 and "100000 workers need as many CPU cores" in done.err


# The session, with other servers than ours

class Stranger(Contender):
    """A server of somebody else's: benchmark_rps's double with a mode of its own."""

    kinds = frozenset({"memory"})
    configuration = "none"

    def __init__(self, name, mode="", starts=True):
        super().__init__()
        self.name = self.title = name
        self.mode, self.starts = mode, starts

    def start(self, place, work):
        if not self.starts:
            raise Refused("it does\nnot start")
        return servers.Server(self.name, "1", [place.bin_folder / "benchmark_rps"], place.cores, place.folder, environment={"DOUBLE": self.mode})


def run_session(build, monkeypatch, contenders, chosen, **more):
    monkeypatch.setenv("PATH", f"{build}/path:{os.environ['PATH']}")
    monkeypatch.delenv("DOUBLE", raising=False)
    cores, load_core, _ = cpu.share_cores(1)
    settings = types.SimpleNamespace(**{"rounds": 2, "seconds": 1, "warm_up": 1, "warm_up_once": False, "connections": [50], "load_core": load_core,
                                        "rate": 0, "latency_seconds": 1, **more})
    place = Place(build / "dist/bin", build, build, build, cores, 1)
    one = session.Session(settings, contenders, chosen, place, None, progress.Progress(0, io.StringIO()))
    one.progress.total = one.total()
    one.run()
    return one


@two_cores
def test_a_wrong_stranger_is_shown_and_the_others_go_on(build, monkeypatch):
    strangers = [Stranger("right"), Stranger("wrong", "content"), Stranger("flaky", "late-close"), Stranger("absent", starts=False)]
    one = run_session(build, monkeypatch, strangers, [WORKS["memory"], WORKS["json"]])
    by_name = {(result.work.name, result.contender.name): result for result in one.results}
    assert [by_name["memory", name].counted() for name in ("right", "wrong", "flaky", "absent")] == [2, 0, 0, 0]
    assert "the wrong content" in by_name["memory", "wrong"].fault()
    assert "read errors" in by_name["memory", "flaky"].runs[0]["fault"]
    assert by_name["memory", "absent"].fault() == "it could not be started: it does not start"
    assert by_name["json", "right"].unsupported == "not supported by right"
    assert one.own_failures() == []
    # What was not to be done any more counts as done, so that the line ends at its end.
    assert one.progress.done == one.progress.total == 8


@two_cores
def test_one_warm_up_is_enough_when_it_is_quick(build, monkeypatch):
    loads = []
    run = wrk.run
    monkeypatch.setattr(wrk, "run", lambda *arguments: loads.append(arguments[1]) or run(*arguments))
    run_session(build, monkeypatch, [Stranger("right")], [WORKS["memory"]], seconds=2, warm_up_once=True)
    assert loads == [1, 2, 2]
    loads.clear()
    run_session(build, monkeypatch, [Stranger("right")], [WORKS["memory"]], seconds=2)
    assert loads == [1, 2, 1, 2]


@two_cores
def test_each_number_of_connections_is_a_result(build, monkeypatch):
    one = run_session(build, monkeypatch, [Stranger("right")], [WORKS["memory"], WORKS["pipelined"]], connections=[10, 20], rounds=1)
    assert [(result.work.name, result.connections) for result in one.results] == [("memory", 10), ("memory", 20), ("pipelined", 64)]


# The real load generator

@real_wrk
@two_cores
def test_the_lua_scripts_work_with_wrk(build):
    chosen = ["post-1k", "post-100k", "mix", "connect", "pipelined"]
    done = ours(build, "", *chosen, real_wrk=True)
    assert done.code == 0, done.err
    for work in chosen:
        assert done.result(work, "uvhttp")["runs"][0]["requests"] > 0


@real_wrk
@two_cores
def test_the_mix_asks_for_the_files_in_its_order(tmp_path):
    asked, sockets = [], []

    def serve(connection):
        received = b""
        with contextlib.suppress(OSError):  # wrk leaves when its time is up
            while piece := connection.recv(65536):
                received += piece
                while b"\r\n\r\n" in received:
                    head, _, received = received.partition(b"\r\n\r\n")
                    asked.append(head.split(b" ")[1].decode())
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def accept():
        while True:
            try:
                sockets.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=serve, args=(sockets[-1],), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, daemon=True).start()
    mix = WORKS["mix"]
    script, arguments = mix.load(tmp_path)
    wrk.run(f"http://127.0.0.1:{listener.getsockname()[1]}/", 1, 1, 1, min(os.sched_getaffinity(0)), script, [*arguments, "/files/"])
    listener.close()
    for one in sockets:
        one.close()
    wanted = [f"/files/{mix.name_of(number)}" for number in mix.draws]
    # wrk takes requests from the script before the load begins, to see how many come at once.
    assert len(asked) > 20
    assert any(asked[:500] == wanted[skipped:skipped + len(asked[:500])] for skipped in range(3))


# Works and contenders

def test_every_contender_can_do_a_work_or_says_why_not():
    contenders = roster.choose(["all"])
    assert len({one.name for one in contenders}) == len(contenders) == len(roster.NAMES) == 16
    for one in contenders:
        assert one.title and one.configuration and one.__doc__
        assert one.kinds <= {"memory", "json", "echo", "file", "encoded", "mix"}
        for work in works.HTTP:
            able = one.tls if work.tls else work.kind in one.kinds
            assert able or len(one.lacks(work)) > 20, (one.name, work.name)
    assert [one.name for one in contenders if one.own] == ["floor", "uvhttp"]


def test_the_set_up_knows_every_contender():
    names = re.findall(r"^(peer-[^)]+)\)", (ROOT / "tools/setup.sh").read_text(), re.M)
    known = {name for line in names for name in line.split(" | ")}
    of_websocket = {f"peer-{one.name}" for one in family_websocket.ALL if not one.own and one.name != "floor"}
    assert {one.packages for one in roster.choose(["all"]) if one.packages} | of_websocket == known


def test_the_mix_is_the_same_every_time_and_follows_zipf():
    one, other = works.Mix("a", "a", 2000), works.Mix("b", "b", 2000)
    assert one.draws == other.draws and one.sizes == other.sizes
    counts = [one.draws.count(rank) for rank in (0, 1, 9)]
    expected = [len(one.draws) / (rank * sum(1 / r for r in range(1, 2001))) for rank in (1, 2, 10)]
    assert counts == pytest.approx(expected, rel=0.15)
    assert sum(part for _, _, part in one.samples()) == pytest.approx(1)


def test_the_encoded_file_is_worth_encoding(tmp_path):
    work = WORKS["encoded"]
    work.write_files(tmp_path)
    encoded = (tmp_path / f"{work.file_name}.gz").read_bytes()
    assert gzip.decompress(encoded) == work.body == (tmp_path / work.file_name).read_bytes()
    assert len(work.body) == 100 * 1024 and len(encoded) < len(work.body) / 2


def test_the_newest_of_several_programs_is_taken(tmp_path, monkeypatch):
    for folder, version in (("a", "1.9.3"), ("b", "1.10.1"), ("c", "1.2.0")):
        path = tmp_path / folder / "tool"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho tool version {version}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", ":".join(str(tmp_path / folder) for folder in ("a", "b", "c", "none")))
    assert newest("tool", "--version") == (str(tmp_path / "b/tool"), "1.10.1")
    with pytest.raises(Refused, match="another is missing"):
        newest("another", "--version")


# Answers

class Wire:
    """What a server sends, piece by piece."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def recv(self, size):
        return self.pieces.pop(0) if self.pieces else b""


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("pieces", [
    [HEAD + b"5\r\nHello\r\n7;a=b\r\n, world\r\n0\r\n\r\n"],
    [HEAD, b"5", b"\r\nHel", b"lo\r", b"\n7\r\n, world\r\n0\r\n", b"\r\n"],
])
def test_a_chunked_answer_is_read(pieces):
    lines, status, body, size = verify.receive_all(Wire(*pieces))
    assert verify.is_chunked(lines) and (status, body) == (200, b"Hello, world")
    assert size == sum(map(len, pieces))


@pytest.mark.parametrize("rest, reason", [
    (b"5\r\nHel", "cut off"), (b"5\r\nHello\r\n", "cut off"), (b"x\r\n", "a chunk begins with"), (b"5\r\nHelloooo\r\n", "cut off"),
    (b"0\r\n\r\nmore", "4 bytes follow"), (b"", "cut off"),
])
def test_a_chunked_answer_that_is_wrong_is_refused(rest, reason):
    with pytest.raises(Refused, match=reason):
        verify.receive_all(Wire(HEAD + rest))


def test_the_content_coding_must_be_the_one_asked_for():
    lines = [b"HTTP/1.1 200 OK", b"Content-Encoding: gzip"]
    assert verify.decode(lines, gzip.compress(b"body"), "gzip") == b"body"
    for found, encoding, reason in ((lines, None, "gzip instead of none"), (lines[:1], "gzip", "none instead of gzip"), (lines, "gzip", "no gzip")):
        with pytest.raises(Refused, match=reason):
            verify.decode(found, b"body", encoding)


def test_answers_of_several_sizes_may_differ_a_little_and_not_more():
    result = {"requests": 1000, "bytes": 1000 * 500 + 9000, **dict.fromkeys(wrk.ERRORS, 0)}
    assert wrk.fault(result, 500, 10, 1, largest=600) is None
    assert "right answer has 500 bytes on average" in wrk.fault({**result, "bytes": 1000 * 470}, 500, 10, 1, largest=600)
    assert "right answer has 500 bytes" in wrk.fault(result, 500, 10, 1)


def test_cpu_time_of_threads_that_have_ended_is_counted():
    # 100 ms by the scheduler's count, 3 s by the ticks: the other threads have ended.
    total, user, system = cpu.CpuTime(100_000_000, 3 * 50, 3 * 50).per_request(1000)
    assert total == pytest.approx(3 * 100 * cpu.TICK_NS / 1e6) and user == pytest.approx(total / 2) == system
    # Ticks that only round up change nothing.
    assert cpu.CpuTime(100_000_000, 11, 1).per_request(1000)[0] == pytest.approx(100)


# Latency

def answers(count=1000, rate=1000, status=200, size=13, error=""):
    return [(status, (number + 1) * 1000, size, error, int(number * 1e9 / rate)) for number in range(count)]


@pytest.mark.parametrize("more, reason", [
    ({}, None), ({"status": 500}, "1000 of 1000 requests failed: status 500"), ({"error": "timeout"}, "failed: timeout"),
    ({"size": 7}, "a body has 7 bytes instead of 13"), ({"rate": 900}, "only 900 requests per second could be sent instead of 1,000"),
])
def test_latency_counts_only_when_all_is_right_and_the_rate_was_kept(more, reason):
    fault = latency.fault_of(answers(**more), WORKS["memory"], 1000)
    assert fault is None if reason is None else reason in fault


def test_percentiles_are_exact():
    ordered = list(range(1, 1001))
    assert [latency.percentile(ordered, percent) for percent in (50, 90, 99, 99.9, 100)] == [500, 900, 990, 999, 1000]
    assert latency.percentile([7], 50) == latency.percentile([7], 99.9) == 7


# The progress line

def test_the_progress_line_says_how_much_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    line = progress.Progress(10, out)
    now[0] += 60
    line.step("first")
    line.step("nine of them", 9)
    assert out.getvalue() == "[1/10, about 9 min left] first\n[10/10] nine of them\n"
    assert [progress.duration(seconds) for seconds in (5, 89, 120, 5400)] == ["5 s", "89 s", "2 min", "1.5 h"]
