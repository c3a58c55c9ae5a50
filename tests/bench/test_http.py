"""`./dev bench` reports no invalid figures, and lists missing servers with a reason. Our servers
are test doubles (double.py), the load generators are real. Some tests use the real servers."""

import gzip
import os
import re
import subprocess
import types
from unittest import mock

import pytest
from support import (BIN, BRIEF, ROOT, assert_measured, assert_refused, assert_stopped, bench, run,
                     two_cores, with_wrk)

from benchlib import (Refused, contender, cpu, http_load, http_peers, idle, servers, session, tls,
                      verify, websocket_peers, works, wrk)

WORKS = {work.name: work for work in works.ALL}
TLS = ["tls-memory", "tls-100k", "tls-handshake", "tls-resumed"]


def http(build, mode, *options, rounds=1, **more):
    return bench("http", build, "--seconds", 1, "--warm-up", 0, "--rounds", rounds, "--idle", 20,
                 *options, mode=mode, **more)


def run_own(build, mode, *chosen, **more):
    return http(build, mode, "--peers", "uvhttp", "--works", *chosen, **more)


# Right responses


@with_wrk
def test_http_measures_work_or_reports_unsupported(build):
    # All scripts of wrk, all kinds of responses, and all works over TLS.
    chosen = ["memory", "json", "file-100k", "encoded", "mix", "post-1k", "pipelined", "connect",
              "idle", "tls-idle", *TLS]
    done = http(build, "", "--peers", "floor", "uvhttp", "--works", *chosen)
    assert assert_measured(done) == {(name, "floor") for name in (*TLS, "tls-idle")}
    assert "not supported: floor (raw epoll) is not measured over HTTPS" in done.out
    assert done.result("tls-idle", "uvhttp")["median"]["bytes"] > 0


@with_wrk
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


@pytest.mark.parametrize("mode, name, options", [
    ("debug", "http", ["--peers", "uvhttp", "--works", "memory"]),
    pytest.param("debug-program", "http", ["--peers", "uvhttp", "--works", "memory"],
                 marks=with_wrk),
    pytest.param("debug-program", "http", ["--peers", "uvhttp", "--works", "tls-handshake"],
                 marks=with_wrk),
    ("debug", "ws", ["--peers", "uvhttp", "--works", "echo-20-c50"]),
    pytest.param("debug-program", "ws", ["--peers", "uvhttp", "--works", "echo-20-c50"],
                 marks=two_cores),
    ("debug", "quick", ["--works", "memory"]), ("debug", "capacity", ["--connections", 1]),
    ("debug", "workers", ["--connections", 4]), ("debug", "overload", ["--loads", 1])])
def test_debug_build_has_no_figures(build, mode, name, options):
    done = bench(name, build, *BRIEF, *options, mode=mode)
    assert done.code == 1 and done.report is None and done.out == ""
    assert "is not a Release build" in done.err and "Debug" in done.err


@with_wrk
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


@with_wrk
@pytest.mark.parametrize("mode, chosen, reason", [
    ("late-status", ["memory", "tls-memory", "tls-handshake"], "responses with an error status"),
    ("late-truncate", ["memory", "tls-memory", "tls-handshake"], "but a correct response has"),
    ("late-close", ["memory", "tls-memory", "tls-handshake"], "read errors"),
    ("late-stall", ["tls-handshake"], "timeouts"),
    ("no-tickets", ["tls-resumed"], "handshakes were full ones"),
])
def test_run_with_errors_is_not_counted(build, mode, chosen, reason):
    done = run_own(build, mode, *chosen)
    for work in chosen:
        assert_refused(done, work, reason)


@with_wrk
def test_missing_program_is_reported(build):
    (build / "dist/bin/benchmark_rps").unlink()
    done = run_own(build, "", "memory")
    assert done.code == 1 and "benchmark_rps is missing" in done.err


@with_wrk
def test_uninstallable_peer_is_listed_with_reason(build):
    for name, body in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": "exit 1"}.items():
        (build / name).write_text(f"#!/bin/sh\n{body}\n")
        (build / name).chmod(0o755)
    done = http(build, "", "--peers", "uvhttp", "h2o", "--works", "memory",
                path=f"{build}:{os.environ['PATH']}")
    assert done.code == 0, done.err
    peer, = [peer for peer in done.report["peers"] if peer["name"] == "h2o"]
    assert "apt-get install" in peer["reason"]
    assert f"h2o: NOT AVAILABLE: {peer['reason']}" in done.out
    assert done.result("memory", "uvhttp")["median"]


def run_peer(start, measure=None, connections=(50,), own=False):
    """Runs a session with one round. The peer starts by `start`."""
    peer = http_peers.Uvhttp()
    peer.own, peer.start = own, start
    options = types.SimpleNamespace(rounds=1)
    return session.Session(options, [peer], [WORKS["memory"]], None, measure, connections).run()


def test_failed_start_skips_peer_or_aborts():
    start = mock.Mock(side_effect=Refused("no port"))
    one, = run_peer(start).results
    assert [run["fault"] for run in one.runs] == ["it could not be started: no port"]
    with pytest.raises(Refused, match="no port"):
        run_peer(start, own=True)


@pytest.mark.parametrize("failure", ["refused", "crashed"])
def test_failed_server_is_replaced_for_next_result(failure):
    started = []

    def start(workspace, work):
        started.append(mock.Mock(**{"has_ended.return_value": False}))
        return started[-1]

    def measure(server, work, connections, options):
        assert not server.stop.called and not server.has_ended()
        if len(started) == 1 and failure == "refused":
            raise Refused("the status is 500 instead of 200")
        server.has_ended.return_value = len(started) == 1
        fault = "read errors" if server.has_ended() else None
        return {"counted": fault is None, "fault": fault, "cpu_us": 1.0}

    done = run_peer(start, measure, connections=(10, 20, 30))
    assert [one.counted() for one in done.results] == [0, 1, 1]
    assert len(started) == 2 and all(server.stop.called for server in started)


def measured(monkeypatch, work, size, result):
    """Returns the entry of a run with this result of the load generator."""
    times = iter([cpu.CpuTime(0, 0, 0), cpu.CpuTime(1_250_000, 0, 0)])
    monkeypatch.setattr(http_load, "load", lambda *_: result)
    monkeypatch.setattr(verify, "check_work", lambda *_: size)
    monkeypatch.setattr(cpu, "read", lambda _: next(times))
    monkeypatch.setattr(cpu, "resident_kb", lambda _: 1)
    options = types.SimpleNamespace(seconds=2, warm_up=0)
    return http_load.measure(types.SimpleNamespace(pid=0), work, 50, options)


def test_rate_of_large_bodies_includes_incomplete_responses(monkeypatch):
    work = works.Work("large", "large bodies", works.LARGE)
    size = works.LARGE + 100
    result = {**dict.fromkeys(wrk.ERRORS, 0), "requests": 10, "bytes": 12 * size + size // 2,
              "duration_us": 2_000_000, "p99_us": 0}
    entry = measured(monkeypatch, work, size, result)
    assert entry["cpu_us"] == pytest.approx(100) and entry["rps"] == pytest.approx(6.25)


INVALID = {
    "./dev bench": [
        "", "magic", "http --peers iis", "http --works magic", "http --rounds 0",
        "quick --seconds x", "capacity --connections 0", "workers --workers 1", "ws --patience -1",
        "parser --messages nothing", "router --routes 0"],
    "tls_load": ["", "80", "0 /", "80 / --fast", "80 / --connections 0"],
    "websocket_load": ["", "1 / flood 1 20 1", "1 / echo 0 20 1", "1 / echo 1 20 1 inflate"],
    "B3-HttpParser": ["0", "1 2", "--rounds", "--json x"],
    "router_lookup": ["", "x --rounds 0"]}


@pytest.mark.parametrize("name, arguments",
                         [(name, arguments) for name in INVALID for arguments in INVALID[name]])
def test_invalid_arguments_print_usage(name, arguments):
    command = {"./dev bench": ["/usr/bin/python3", "-B", ROOT / "tools/bench.py"]}
    done = run(*command.get(name, [BIN / name]), *arguments.split())
    assert done.returncode == 2 and f"usage: {name}" in done.stderr


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


@pytest.mark.parametrize("key", wrk.ERRORS)
def test_each_error_of_load_is_a_fault(key):
    result = {"requests": 1000, "bytes": 500_000, **dict.fromkeys(wrk.ERRORS, 0)}
    assert wrk.fault(result, 500, 10, 1) is None
    assert wrk.fault({**result, key: 1}, 500, 10, 1) == f"1 {wrk.ERRORS[key]}"


def test_resumed_handshakes_are_no_full_ones(monkeypatch):
    result = {**dict.fromkeys(wrk.ERRORS, 0), "requests": 9, "bytes": 900, "resumed": 1}
    entry = measured(monkeypatch, WORKS["tls-handshake"], 100, result)
    assert entry["fault"] == "1 of 9 handshakes were resumed" and not entry["counted"]


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
def running(tmp_path, monkeypatch):
    """Starts one of our servers, or the floor, for a work, as in a measurement, but any build."""
    monkeypatch.setattr(servers, "require_release", lambda name, text: None)
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
def test_own_servers_pass_verification(kind, running):
    for work in works.ALL:
        if not kind().reason_unsupported(work):
            assert verify.check_work(running(work, kind), work) > 13


@pytest.fixture
def secure(running):
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


def test_closed_idle_connections_are_detected(secure):
    with idle.Idle(secure, "/") as idle_connections:
        idle_connections.grow(150)
        assert len(idle_connections.connections) == 150 and idle_connections.closed() == 0
        secure.stop()
        assert idle_connections.closed() == 150
    with idle.Idle(secure, "/") as more, pytest.raises(Refused, match="only 0 of 2 connections"):
        more.grow(2)
