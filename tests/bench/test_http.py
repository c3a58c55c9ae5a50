"""`./dev bench` reports no invalid figures, and lists missing servers with a reason. Servers and
load generators are test doubles (double.py). Some tests use the real ones."""

import gzip
import os
import re
import subprocess
import types

import pytest
from support import (BIN, ROOT, assert_refused, assert_stopped, bench, links, real_wrk, run,
                     two_cores)

from benchlib import (Refused, contender, cpu, http_load, http_peers, idle, servers, session, tls,
                      verify, websocket_peers, works, wrk)

WORKS = {work.name: work for work in works.ALL}
TLS = ["tls-memory", "tls-100k", "tls-handshake", "tls-resumed"]


@pytest.fixture
def build(tmp_path):
    programs = [f"dist/bin/{name}" for name in ("uvhttp", "benchmark_rps", "floor", "tls_load")]
    return links(tmp_path, "double.py", *programs, "path/wrk")


def http(build, mode, *options, rounds=1, path=True):
    return bench("http", build, "--seconds", 1, "--warm-up", 0, "--rounds", rounds, "--idle", 20,
                 *options, mode=mode, path=build / "path" if path else None)


def run_own(build, mode, *chosen, **more):
    return http(build, mode, "--peers", "uvhttp", "--works", *chosen, **more)


# Right responses


@two_cores
def test_http_measures_work_or_reports_unsupported(build):
    chosen = set(WORKS) - {"file-1k", "file-10m", "post-100k", "encoded-10k"} - {
        f"connections-{count}" for count in (10, 100, 500, 2000)}
    done = http(build, "", "--peers", "floor", "uvhttp", "--works", *chosen)
    assert done.code == 0, done.err
    unsupported = {(one["work"], one["peer"]) for one in done.report["results"]
                   if one["unsupported"]}
    assert unsupported == {(name, "floor") for name in WORKS if name.startswith("tls-")}
    for result in done.report["results"]:
        counted = [run["counted"] for run in result["runs"]]
        assert counted == ([] if result["unsupported"] else [True]), result
        assert (result["median"] is None) == bool(result["unsupported"])
    assert "not supported: floor (raw epoll) is not measured over HTTPS" in done.out
    assert done.result("tls-idle", "uvhttp")["median"]["bytes"] > 0


@two_cores
def test_json_has_results_in_run_order(build):
    done = http(build, "", "--peers", "floor", "uvhttp", "--works", "memory", rounds=2)
    assert done.code == 0, done.err
    for key in ("date", "commit", "command", "uvhttp", "kernel", "tcp", "cpu", "cores", "wrk"):
        assert done.report["environment"][key]
    assert done.report["kind"] == "http" and done.report["options"]["rounds"] == 2
    result = done.result("memory", "uvhttp")
    for run in result["runs"]:
        assert run["counted"] and run["fault"] is None and run["requests"] > 0
        assert run["cpu_us"] == pytest.approx(run["user_us"] + run["system_us"])
    for key in ("cpu_us", "rps", "p99_ms"):
        values = [run[key] for run in result["runs"]]
        assert result["median"][key] == pytest.approx(sum(values) / 2)
        assert result["spread"][key] == [min(values), max(values)]
    order = re.findall(r"^\[.*round (\d), (\w+)", done.err, re.M)
    assert order == [(number, name) for number in "12" for name in ("floor", "uvhttp")]
    assert_stopped(build)


def test_ratio_is_median_within_rounds():
    def result(*values):
        one = session.Result(WORKS["memory"], http_peers.Floor(), 50)
        one.runs = [{"counted": value is not None, "cpu_us": value} for value in values]
        return one

    assert result(10.0, 30.0, 20.0).ratio(result(20.0, 60.0, 20.0)) == 0.5
    assert result(10.0, None, 9.0).ratio(result(5.0, 1.0, 3.0)) == 2.5
    assert result(None).ratio(result(1.0)) is None


# Refusals


@two_cores
@pytest.mark.parametrize("mode, work", [("debug", "memory"), ("debug-program", "memory"),
                                        ("debug-program", "tls-handshake")])
def test_http_refuses_debug_build(build, mode, work):
    done = run_own(build, mode, work)
    assert done.code == 1 and done.report is None and done.out == ""
    assert "is not a Release build" in done.err and "Debug" in done.err


@two_cores
@pytest.mark.parametrize("name, options", [
    ("quick", ["--works", "memory"]), ("capacity", ["--connections", "1"]),
    ("workers", ["--connections", "4"])])
def test_each_command_refuses_debug_build(build, name, options):
    done = bench(name, build, "--rounds", 1, *options, mode="debug", path=build / "path")
    assert done.code == 1 and "is not a Release build" in done.err and done.out == ""


@two_cores
@pytest.mark.parametrize("mode, reason", [
    ("status", "the status is 500 instead of 200"), ("truncate", "the body has"),
    ("content", "the right length and the wrong content"), ("cut", "it was cut off after"),
])
def test_wrong_response_stops_measurement(build, mode, reason):
    chosen = ["memory", "json", "file-10k", "encoded", "mix", "post-1k", "connect", "idle", *TLS]
    if mode in ("truncate", "cut", "content"):
        chosen.remove("encoded")  # the changed body is no gzip
    done = run_own(build, mode, *chosen, rounds=2)
    for work in chosen:
        assert_refused(done, work, reason)
        assert len(done.result(work, "uvhttp")["runs"]) == 1


@two_cores
@pytest.mark.parametrize("mode, reason", [
    ("late-status", "responses with an error status"),
    ("late-truncate", "but a correct response has"),
    ("late-close", "read errors"),
    ("late-stall", "timeouts"),
])
def test_run_with_errors_is_not_counted(build, mode, reason):
    chosen = ["memory"] if mode == "late-stall" else ["memory", "tls-memory", "tls-handshake"]
    done = run_own(build, mode, *chosen)
    for work in chosen:
        assert_refused(done, work, reason)


@two_cores
def test_unexpected_handshake_kind_is_not_counted(build):
    done = run_own(build, "other-handshakes", "tls-handshake", "tls-resumed")
    assert_refused(done, "tls-handshake", "handshakes were resumed")
    assert_refused(done, "tls-resumed", "handshakes were full ones")


@two_cores
def test_other_tls_version_is_refused(build):
    done = run_own(build, "tls-1.2", "tls-memory")
    assert_refused(done, "tls-memory", "wrong response from uvhttp")


@two_cores
def test_missing_program_is_reported(build):
    (build / "dist/bin/benchmark_rps").unlink()
    done = run_own(build, "", "memory")
    assert done.code == 1 and "benchmark_rps is missing" in done.err


@two_cores
def test_uninstallable_peer_is_listed_with_reason(build):
    for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
        (build / "path" / name).write_text(f"#!/bin/sh\n{body}\n")
        (build / "path" / name).chmod(0o755)
    done = http(build, "", "--peers", "uvhttp", "h2o", "--works", "memory")
    assert done.code == 0, done.err
    peer, = [peer for peer in done.report["peers"] if peer["name"] == "h2o"]
    assert "apt-get install" in peer["reason"]
    assert f"h2o: NOT AVAILABLE: {peer['reason']}" in done.out
    assert done.result("memory", "uvhttp")["median"]


def test_failed_start_skips_peer_or_aborts(tmp_path):
    class Broken(http_peers.Uvhttp):
        own = False

        def start(self, workspace, work):
            raise Refused("no port")

    options = types.SimpleNamespace(rounds=2)
    one = session.Session(options, [Broken()], [WORKS["memory"]], None, None).run().results[0]
    assert [run["fault"] for run in one.runs] == ["it could not be started: no port"]
    Broken.own = True
    with pytest.raises(Refused, match="no port"):
        session.Session(options, [Broken()], [WORKS["memory"]], None, None).run()


class FakeServer:
    """The parts of servers.Server that a session uses."""

    def __init__(self):
        self.stopped, self.ended = False, False

    def stop(self):
        self.stopped = True

    def has_ended(self):
        return self.ended


@pytest.mark.parametrize("failure", ["refused", "crashed"])
def test_failed_server_is_replaced_for_next_result(failure):
    class Fake(http_peers.Uvhttp):
        own = False

        def start(self, workspace, work):
            started.append(FakeServer())
            return started[-1]

    def measure(server, work, connections, options):
        assert not server.stopped and not server.ended
        if len(started) == 1:
            if failure == "refused":
                raise Refused("the status is 500 instead of 200")
            server.ended = True
        fault = "read errors" if server.ended else None
        return {"counted": fault is None, "fault": fault, "cpu_us": 1.0}

    started = []
    options = types.SimpleNamespace(rounds=1)
    done = session.Session(options, [Fake()], [WORKS["memory"]], None, measure, (10, 20, 30)).run()
    assert [one.counted() for one in done.results] == [0, 1, 1]
    assert len(started) == 2 and all(server.stopped for server in started)


def test_rate_of_large_bodies_includes_incomplete_responses(monkeypatch):
    work = works.Work("large", "large bodies", works.LARGE)
    size = works.LARGE + 100
    result = {**dict.fromkeys(wrk.ERRORS, 0), "requests": 10, "bytes": 12 * size + size // 2,
              "duration_us": 2_000_000, "p99_us": 0}
    times = iter([cpu.CpuTime(0, 0, 0), cpu.CpuTime(1_250_000, 0, 0)])
    monkeypatch.setattr(http_load, "load", lambda *_: result)
    monkeypatch.setattr(verify, "check_work", lambda *_: size)
    monkeypatch.setattr(cpu, "read", lambda _: next(times))
    monkeypatch.setattr(cpu, "resident_kb", lambda _: 1)
    options = types.SimpleNamespace(seconds=2, warm_up=0)
    entry = http_load.measure(types.SimpleNamespace(pid=0), work, 50, options)
    assert entry["cpu_us"] == pytest.approx(100) and entry["rps"] == pytest.approx(6.25)


@pytest.mark.parametrize("arguments", [
    ["http", "--peers", "iis"], ["http", "--works", "magic"], ["http", "--rounds", "0"],
    ["quick", "--seconds", "x"], ["capacity", "--connections", "0"], ["workers", "--workers", "1"],
    ["ws", "--patience", "-1"], ["parser", "--messages", "nothing"], ["router", "--routes", "0"],
    ["magic"], []])
def test_invalid_arguments_print_usage(arguments):
    done = run("/usr/bin/python3", "-B", ROOT / "tools/bench.py", *arguments)
    assert done.returncode == 2 and "usage: ./dev bench" in done.stderr


def test_decode_requires_requested_content_coding():
    lines = [b"HTTP/1.1 200 OK", b"Content-Encoding: gzip"]
    assert verify.decode(lines, gzip.compress(b"body"), "gzip") == b"body"
    for found, encoding, reason in ((lines, None, "gzip instead of none"),
                                    (lines[:1], "gzip", "none instead of gzip"),
                                    (lines, "gzip", "no gzip")):
        with pytest.raises(Refused, match=reason):
            verify.decode(found, b"body", encoding)


def test_fault_tolerates_mean_size_of_mix():
    result = {"requests": 1000, "bytes": 1000 * 500 + 9000, **dict.fromkeys(wrk.ERRORS, 0)}
    assert wrk.fault(result, 500, 10, 1, largest=600) is None
    assert "has 500 bytes on average" in wrk.fault({**result, "bytes": 470_000}, 500, 10, 1, 600)
    assert "has 500 bytes" in wrk.fault(result, 500, 10, 1)


# Parts


def test_cpu_time_covers_process_tree():
    # A thread of a child uses CPU time and then waits. Both main threads only wait.
    burn = ("import threading, time\n"
            "def burn():\n"
            "    while time.thread_time() < 0.3: sum(range(10000))\n"
            "    print('done', flush=True)\n"
            "    threading.Event().wait()\n"
            "threading.Thread(target=burn).start()\n")
    parent = subprocess.Popen(["sh", "-c", f'/usr/bin/python3 -c "{burn}"; true'],
                              stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout.readline() == "done\n"
        assert len(cpu.process_tree(parent.pid)) == 2
        spent = cpu.read(parent.pid)
        assert spent.total_ns >= 300_000_000 and spent.user_ticks + spent.system_ticks >= 30
    finally:
        for pid in reversed(cpu.process_tree(parent.pid)):
            os.kill(pid, 15)
        parent.wait()


def test_cpu_time_includes_ended_threads():
    # 100 ms by the scheduler, 3 s by ticks: the other threads have ended.
    spent = cpu.CpuTime(100_000_000, 3 * 50, 3 * 50).per_request(1000)
    assert spent["cpu_us"] == pytest.approx(3 * 100 * cpu.TICK_NS / 1e6)
    assert spent["user_us"] == pytest.approx(spent["cpu_us"] / 2)
    # Rounding of ticks changes nothing.
    assert cpu.CpuTime(100_000_000, 11, 1).per_request(1000)["cpu_us"] == pytest.approx(100)


def test_contender_supports_work_or_gives_reason():
    for one in contender.choose(http_peers.ALL, ["all"]):
        assert one.title and one.configuration and one.__doc__
        for work in works.ALL:
            able = one.tls if work.tls else work.kind in one.kinds
            assert able or len(one.reason_unsupported(work)) > 10, (one.name, work.name)


def test_setup_has_packages_of_each_contender():
    lines = re.findall(r"^(peer-[^)]+)\)", (ROOT / "tools/setup.sh").read_text(), re.M)
    others = {"peer-rust"}  # of parser and router
    assert others | {one.packages for one in http_peers.ALL + websocket_peers.ALL
                     if one.packages} == set(lines)


def test_mix_follows_zipf_law():
    mix = works.Mix("a", "a")
    assert mix.draws == works.Mix("b", "b").draws
    counts = [mix.draws.count(rank) for rank in (0, 1, 9)]
    whole = sum(1 / rank for rank in range(1, 2001))
    assert counts == pytest.approx([len(mix.draws) / (n * whole) for n in (1, 2, 10)], rel=0.15)
    assert sum(part for _, _, part in mix.samples()) == pytest.approx(1)


def test_encoded_file_is_half_the_size(tmp_path):
    work = WORKS["encoded"]
    work.write_files(tmp_path)
    encoded = (tmp_path / work.encoded_name).read_bytes()
    assert gzip.decompress(encoded) == work.body and len(work.body) == 100 * 1024
    assert len(encoded) < len(work.body) / 2


def test_too_few_descriptors_are_refused_with_numbers(monkeypatch):
    monkeypatch.setattr(idle, "raise_descriptors", lambda: 4096)
    idle.check_descriptors(3000)
    with pytest.raises(Refused, match="10,000 connections need about 10,300 .* 4,096 are allowed"):
        idle.check_descriptors(10000)


# The real programs


@pytest.fixture
def running(tmp_path):
    """Starts one of our servers, or the floor, for a work, as in a measurement."""
    started, options = [], types.SimpleNamespace(bin_dir=BIN, build_dir=tmp_path)
    workspace = contender.make_workspace(options, tmp_path, {min(os.sched_getaffinity(0))})
    workspace.site.mkdir()

    def start(work, kind=http_peers.Uvhttp):
        work.write_files(workspace.site)
        started.append(kind().start(workspace, work))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.mark.parametrize("kind", [http_peers.Floor, http_peers.Uvhttp])
def test_own_servers_pass_verification(kind, running, monkeypatch):
    # Only Release builds are measured, but the test accepts any build.
    monkeypatch.setattr(servers, "require_release", lambda name, text: None)
    for work in works.ALL:
        if not kind().reason_unsupported(work):
            assert verify.check_work(running(work, kind), work) > 13


@pytest.fixture
def secure(running, monkeypatch):
    monkeypatch.setattr(servers, "require_release", lambda name, text: None)
    return running(WORKS["tls-memory"])


def test_other_certificate_or_version_is_refused(secure, tmp_path):
    trusted = secure.tls
    (tmp_path / "other").mkdir()
    secure.tls = tls.context(tls.certificate(tmp_path / "other"))
    with pytest.raises(Refused, match="CERTIFICATE_VERIFY_FAILED"):
        verify.check_work(secure, WORKS["tls-memory"])
    trusted.minimum_version = trusted.maximum_version = tls.ssl.TLSVersion.TLSv1_2
    secure.tls = trusted
    with pytest.raises(Refused, match="it negotiated TLSv1.2 and ECDHE.* instead of TLSv1.3"):
        verify.check_work(secure, WORKS["tls-memory"])


@pytest.mark.parametrize("name", ["tls-handshake", "tls-resumed"])
def test_tls_load_counts_handshakes_and_bytes(secure, name):
    work = WORKS[name]
    size = verify.check_work(secure, work)
    result = tls.run(BIN, secure, work, 1, 4, {max(os.sched_getaffinity(0))})
    assert result["requests"] > 4 and result["bytes"] == result["requests"] * size
    assert result["full"] + result["resumed"] == result["requests"]
    assert wrk.fault(result, size, 4, 1) is None and tls.fault(result, work, 4) is None
    assert 0 < result["p50_us"] <= result["p99_us"] <= result["max_us"] * 1.04


@pytest.mark.parametrize("arguments", [[], ["80"], ["0", "/"], ["80", "/", "--fast"],
                                       ["80", "/", "--connections", "0"]])
def test_tls_load_refuses_invalid_arguments(arguments):
    done = run(BIN / "tls_load", *arguments)
    assert done.returncode == 2 and "usage: tls_load" in done.stderr


def test_closed_idle_connections_are_detected(secure):
    with idle.Idle(secure, "/") as idle_connections:
        idle_connections.grow(150)
        assert len(idle_connections.connections) == 150 and idle_connections.closed() == 0
        secure.stop()
        assert idle_connections.closed() == 150
    with idle.Idle(secure, "/") as more, pytest.raises(Refused, match="only 0 of 2 connections"):
        more.grow(2)


@two_cores
@real_wrk
def test_wrk_runs_each_script(build):
    chosen = ["post-1k", "mix", "connect", "pipelined"]
    done = run_own(build, "", *chosen, path=False)
    assert done.code == 0, done.err
    for work in chosen:
        assert done.result(work, "uvhttp")["runs"][0]["requests"] > 0
