"""`./dev bench ws` refuses wrong responses. Our servers are test doubles (double.py), the load
generator is real. The last tests are short runs against the real servers."""

import pytest
from support import (BIN, BUILD, assert_measured, assert_refused, assert_stopped, bench,
                     only_release, two_cores)

from benchlib import Refused, run_ws, servers, websocket_load

pytestmark = two_cores
own_server = pytest.mark.skipif(not (BIN / "benchmark_websocket").exists(),
                                reason="built without WebSocket")
WORKS = {work.name: work for work in run_ws.WORKS}
ECHO, DEFLATE, BROADCAST = "echo-20-c50", "echo-512-deflate", "broadcast"


def ws(build, mode, *options, rounds=1):
    patience = 500 if "stall" in mode or "skip" in mode else 5000
    # Long enough for the wrong responses of a late double.
    seconds = 1 if mode.startswith("late-") and BROADCAST in options else 0.3
    return bench("ws", build, "--seconds", seconds, "--warm-up", 0, "--rounds", rounds,
                 "--patience", patience, "--connections", 20, *options, mode=mode)


def run_own(build, mode, *chosen, **more):
    return ws(build, mode, "--peers", "uvhttp", "--works", *chosen, **more)


def test_ws_measures_work_or_reports_unsupported(build):
    chosen = [ECHO, "echo-16k-c50", DEFLATE, BROADCAST, "idle", "idle-deflate"]
    done = ws(build, "", "--works", *chosen)
    compressed = {DEFLATE, "idle-deflate"}
    assert assert_measured(done) == {(work, "floor") for work in compressed} | {
        (work, "uvhttp-dedicated") for work in set(chosen) - compressed}
    run, = done.result(ECHO, "uvhttp")["runs"]
    assert run["cpu_us"] > 0 and run["wire_bytes"] == 22  # 20 bytes and the head of the frame
    assert run["errors"] == dict.fromkeys(websocket_load.ERRORS, 0)
    assert done.result("idle", "uvhttp")["median"]["bytes"] > 0
    assert_stopped(build)


def test_fragments_with_interleaved_pings_are_accepted(build):
    assert_measured(run_own(build, "fragments", ECHO, DEFLATE))


@pytest.mark.parametrize("mode, work, reason", [
    ("accept", ECHO, "another Sec-WebSocket-Accept"),
    ("content", ECHO, "other bytes came back"),
    ("truncate", "echo-16k-c50", "fewer bytes than expected came back"),
    ("agree", ECHO, "the server agreed to what was not offered"),
    ("no-deflate", DEFLATE, "the server did not agree to compression"),
    ("plain", DEFLATE, "a message came back that is not compressed"),
])
def test_wrong_response_stops_measurement(build, mode, work, reason):
    done = run_own(build, mode, work, rounds=2)
    assert_refused(done, work, reason)
    assert len(done.result(work, "uvhttp")["runs"]) == 1


@pytest.mark.parametrize("mode, work, kind, reason", [
    ("content", ECHO, "wrong", "other bytes came back"),
    ("content", DEFLATE, "wrong", "other bytes came back"),
    ("content", BROADCAST, "wrong", "other bytes came back"),
    ("truncate", "echo-16k-c50", "wrong", "fewer bytes than expected came back"),
    ("longer", ECHO, "wrong", "more bytes than expected came back"),
    ("kind", ECHO, "wrong", "a message of another kind came back"),
    ("self", BROADCAST, "wrong", "a message came that was not expected"),
    ("extra", BROADCAST, "wrong", "other bytes came back"),
    ("masked", ECHO, "protocol", "a masked frame"),
    ("bits", ECHO, "protocol", "a frame with reserved bits"),
    ("close", ECHO, "closed", "the server sent a close frame"),
    ("drop", ECHO, "closed", "the server closed the connection"),
    ("stall", ECHO, "missing", "messages had no response"),
    ("skip", BROADCAST, "missing", "messages had no response"),
    ("plain", DEFLATE, "uncompressed", "a message came back that is not compressed"),
])
def test_run_with_errors_is_not_counted(build, mode, work, kind, reason):
    done = run_own(build, f"late-{mode}", work)
    run, = done.result(work, "uvhttp")["runs"]
    assert run["errors"][kind] > 0 and reason in run["fault"]
    assert_refused(done, work, websocket_load.ERRORS[kind])


def test_load_reports_connection_failure(build):
    with pytest.raises(Refused, match="connection 1: cannot connect"):
        websocket_load.Load(BIN, servers.free_port(), "/echo", WORKS[ECHO], {1}, 3)


# The real servers


@pytest.fixture(params=["floor_websocket",
                        pytest.param("benchmark_websocket", marks=own_server)])
def server(request, tmp_path):
    one = servers.Server(request.param, [BIN / request.param, "0"], {0}, tmp_path)
    yield one
    one.stop()


@pytest.mark.parametrize("size", [1, 126, 65536, 300000])
def test_own_servers_echo_each_size(server, size):
    work = run_ws.Work("", "", "echo", "echo", size, 10)
    with websocket_load.Load(BIN, server.port, "/echo", work, {1}, 10) as load:
        result = load.run(0.2)
        assert not websocket_load.entry_of(result)["fault"], result
        assert load.count_open() == 10


def test_own_servers_publish_to_subscribers(server):
    with websocket_load.Load(BIN, server.port, "/topic", WORKS[BROADCAST], {1}, 30) as load:
        result = load.run(0.2)
        assert not websocket_load.entry_of(result)["fault"], result
        assert result["messages"] == 30 * result["published"] > 0


@own_server
@only_release
def test_dedicated_windows_compress_better():
    done = ws(BUILD, "", "--works", DEFLATE)
    assert_measured(done)
    shared, dedicated = (done.result(DEFLATE, name)["median"]["wire_bytes"]
                         for name in ("uvhttp", "uvhttp-dedicated"))
    assert dedicated < shared < 512
