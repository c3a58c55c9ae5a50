"""Blocking handlers: they run on a limited number of threads, and a disconnect or the stop of the
server is safe."""

import concurrent.futures
import time

import pytest
import raw
from wire_server import eventually


ENDLESS = "/block/pieces?size=1000000000000&piece=16000"


def state(server):
    """The number of handlers at the gate, its maximum, the number with a disconnected client, and
    the last result of a handler."""
    running, most, disconnected, error = server.request("GET",
                                                        "/blocking-state").body.decode().split()
    return int(running), int(most), int(disconnected), error


def at_gate(server, count):
    eventually(lambda: state(server)[0] == count, f"{count} handlers at the gate")


def test_blocking_handler_reads_request_and_responds(server):
    with server.connect() as connection:
        response = connection.request("POST", "/block/tell/a%2Fb%20c?q=1%262", "X-Field: value",
                                      "Content-Type: application/x-www-form-urlencoded",
                                      body=b"f=a+b")
        assert response.status == 202 and response.get("X-Blocking") == "yes" and response.get(
            "Set-Cookie") == "seen=yes; Path=/"
        assert response.body == (b"POST /block/tell/a%2Fb c a/b c q=1&2 field=value f=a b body=5 "
                                 b"from=127.0.0.1")
        assert connection.request("HEAD", "/block/tell/x").body == b""
        assert connection.request().body == b"Hello, world\n"


def test_blocking_middleware_and_hooks_run(server):
    with server.connect() as connection:
        response = connection.request("GET", "/block/tell/x", "X-Watch: add")
        assert response.status == 202 and response.get("X-Watched") == "yes"
    assert server.stats()["seen_by_middleware"] > 0


def test_blocking_pipelined_responses_keep_order(server):
    with server.connect() as connection:
        connection.send(b"".join(
            raw.request("GET", f"/block/tell/{i}") + raw.request() for i in range(20)))
        for i in range(20):
            assert f" {i} q=".encode() in connection.response().body
            assert connection.response().body == b"Hello, world\n"


def test_blocking_handlers_do_not_block_loop(start):
    server = start(blocking_threads=4)
    clients = [server.connect() for _ in range(4)]
    for connection in clients:
        connection.send(raw.request("GET", "/block/gate"))
    at_gate(server, 4)
    assert server.request().status == 200
    server.request("GET", "/open-gate")
    for connection in clients:
        assert connection.response().body == b"through\n"
        connection.close()


def test_blocking_threads_and_queue_are_limited(start):
    server = start(blocking_threads=2, blocking_queue=3)
    clients = [server.connect() for _ in range(5)]
    for connection in clients[:2]:
        connection.send(raw.request("GET", "/block/gate"))
    at_gate(server, 2)
    for connection in clients[2:]:
        connection.send(raw.request("GET", "/block/gate"))
    server.settle()
    for _ in range(3):
        with server.connect() as rejected:
            response = rejected.request("GET", "/block/gate")
            assert (response.status, response.get("Retry-After")) == (503, "1")
            assert rejected.request().status == 200, "the connection is served"
    assert server.log().count("blocking_queue") == 1
    server.request("GET", "/open-gate")
    for connection in clients:
        assert connection.response().body == b"through\n"
        connection.close()
    assert state(server)[1] == 2
    assert server.request("GET", "/block/tell/x").status == 202


@pytest.mark.parametrize("size, chunk", [(0, 1), (1, 1), (1000, 7), (100_000, 4097),
                                         (3_000_000, 70_000)])
@pytest.mark.parametrize("known", [True, False], ids=["length", "chunks"])
def test_blocking_handler_streams_response(server, size, chunk, known):
    with server.connect() as connection:
        response = connection.request(
            "GET", f"/block/pieces?size={size}&piece={chunk}{'&known' if known else ''}")
        assert (response.status, response.interim, response.body) == (200, [103], raw.pattern(size))
        assert connection.request("HEAD", f"/block/pieces?size={size}&piece={chunk}").body == b""
        assert connection.request().status == 200


def test_slow_client_blocks_its_handler_only(start):
    server = start(write_backlog=20_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pieces?size=30000000&piece=16000&known"))
        connection.head()
        status = connection.head()[0]
        assert status == 200
        server.stats()  # starts the measurement
        got = connection.receive_exactly(1_000_000)
        assert server.stats()["heap_peak"] < 2_000_000
        got += connection.receive_exactly(29_000_000)
        assert got == raw.pattern(30_000_000)


def test_unfinished_stream_closes_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/pieces?size=1000&piece=10&half"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    assert server.request().status == 200


@pytest.mark.parametrize("size", [0, 1000, 3_000_000])
def test_blocking_source_is_read_to_its_end(server, size):
    with server.connect() as connection:
        response = connection.request("GET", f"/block/pulled?size={size}&piece=16384")
        assert (response.status, response.body) == (200, raw.pattern(size))
        assert connection.request("HEAD", f"/block/pulled?size={size}").body == b""
        assert connection.request().status == 200


def test_blocking_source_failure_closes_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/pulled?size=1000&fail"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    assert server.request().status == 200


def test_disconnect_during_blocking_source_frees_thread(start):
    server = start(blocking_threads=1, write_backlog=10_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pulled?size=1000000000&piece=16384"))
        connection.head()
        connection.receive_exactly(100_000)
        connection.reset()
    assert server.request("GET", "/block/tell/x").status == 202, "the thread is free again"
    assert "failed" not in server.log()


def test_too_large_blocking_response_closes_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/too-much"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    eventually(lambda: state(server)[3] == "UVHTTP_ETOOLARGE", "the handler gets the error")
    assert server.request().status == 200


def test_blocking_events_get_heartbeat(start):
    server = start(event_heartbeat=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/events"))
        connection.head()
        assert connection.receive_exactly(16) == b"3\r\n:\n\n\r\n" * 2
        server.request("GET", "/open-gate")


@pytest.mark.parametrize("variant, status, body", [("silent", 500, None), ("declined", 404, None),
                                                   ("fail", 500, None),
                                                   ("defer", 200, b"UVHTTP_EINVAL"),
                                                   ("subscribe", 200, b"UVHTTP_EINVAL"),
                                                   ("ask", 200, b"blocks")])
def test_blocking_handler_return_values(server, variant, status, body):
    with server.connect() as connection:
        response = connection.request("GET", f"/block/back?how={variant}")
        assert response.status == status and (body is None or response.body == body)
        assert connection.request().status == 200


def test_blocking_handler_sends_file(server, tmp_path):
    (tmp_path / "file.txt").write_bytes(raw.pattern(200_000))
    response = server.request("GET", f"/block/back?how=file&path={tmp_path}/file.txt")
    assert response.body == raw.pattern(200_000) and response.get("Content-Type").startswith(
        "text/plain")


def test_waiting_time_for_thread_is_limited(start):
    server = start(blocking_threads=1, blocking_wait_ms=500)
    with server.connect() as first:
        first.send(raw.request("GET", "/block/gate"))
        at_gate(server, 1)
        waiting = [server.connect() for _ in range(3)]
        for connection, path in zip(waiting, ("tell", "tell", "tell-late")):
            connection.send(raw.request("GET", f"/block/{path}/x"))
        server.settle()
        time.sleep(0.6)
        server.request("GET", "/open-gate")
        assert first.response().status == 200
        for connection in waiting[:2]:
            response = connection.response()
            assert (response.status, response.get("Retry-After")) == (503, "1")
        assert waiting[2].response().status == 202
        assert waiting[0].request("GET", "/block/tell/x").status == 202, "it is kept open"
        for connection in waiting:
            connection.close()
    assert server.stats()["shed_requests"] == 2
    assert server.log().count("(blocking_wait_ms)") == 1
    assert state(server)[1] == 1


def test_without_limit_requests_wait_for_a_thread(start):
    server = start(blocking_threads=1)
    with server.connect() as first, server.connect() as second:
        first.send(raw.request("GET", "/block/gate"))
        at_gate(server, 1)
        second.send(raw.request("GET", "/block/tell/x"))
        server.settle()
        server.request("GET", "/open-gate")
        assert (first.response().status, second.response().status) == (200, 202)
    assert server.stats()["shed_requests"] == 0


def test_disconnect_during_blocking_handler(start):
    server = start(blocking_threads=1)
    disconnected = server.connect()
    disconnected.send(raw.request("GET", "/block/gate"))
    at_gate(server, 1)
    queued = server.connect()
    queued.send(raw.request("GET", "/block/gate"))
    server.settle()
    disconnected.reset()
    queued.reset()
    eventually(lambda: server.stats()["aborted_exchanges"] == 2, "both disconnects are detected")
    server.request("GET", "/open-gate")
    at_gate(server, 0)
    eventually(lambda: state(server)[3] == "UVHTTP_EDISCONNECTED", "the handler gets the error")
    assert state(server)[1] == 1, "the second one never ran"


def test_disconnect_during_blocking_stream_frees_thread(start):
    server = start(blocking_threads=1, write_backlog=10_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pieces?size=1000000000&piece=16000"))
        connection.head()
        connection.receive_exactly(100_000)
        connection.reset()
    eventually(lambda: state(server)[2] == 1, "the handler gets the error")
    assert server.request("GET", "/block/tell/x").status == 202


@pytest.mark.parametrize("method, fields, status", [
    ("HEAD", (), 200), ("GET", ("X-Watch: 1", "X-No-Content: 1"), 204)])
def test_disconnect_after_response_without_body_frees_thread(start, method, fields, status):
    # Nothing more is sent, so no write fails.
    server = start(blocking_threads=1)
    with server.connect() as connection:
        connection.send(raw.request(method, ENDLESS, *fields))
        connection.head()
        assert connection.head()[0] == status
        server.settle()
        assert state(server)[2] == 0
    eventually(lambda: state(server)[2] == 1, "the handler gets the error")
    assert server.request("GET", "/block/tell/x").status == 202
    assert "failed" not in server.log() and server.stats()["aborted_exchanges"] == 0


@pytest.mark.plain
@pytest.mark.http1
def test_half_closed_client_gets_responses_after_head(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("HEAD", ENDLESS) + raw.request() * 3)
        connection.half_close()
        assert connection.response("HEAD").status == 200
        assert [response.status for response in connection.responses(3)] == [200] * 3
        connection.assert_closed()


@pytest.mark.http1
def test_blocking_handler_timeout_gets_503(start):
    server = start(blocking_threads=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/gate-briefly"))
        at_gate(server, 1)
        assert connection.response().status == 503
        server.request("GET", "/open-gate")
        connection.assert_closed()
    eventually(lambda: state(server)[3] in ("UVHTTP_EDISCONNECTED", "UVHTTP_ERESPONDED"),
               "the handler gets the error")
    assert server.request("GET", "/block/tell/x").status == 202


def test_stop_waits_for_blocking_handlers(start):
    server = start(drain_timeout=60)
    with server.connect() as connection, server.connect() as other:
        connection.send(raw.request("GET", "/block/gate"))
        at_gate(server, 1)
        other.send(raw.request("GET", "/hold/x"))
        server.wait_for_pending("x")
        opener = server.connect()
        opener.send(raw.request("POST", "/echo", "Content-Length: 5"))
        server.settle()
        server.settling.close()
        server.settling = None
        server.signal(15)
        server.signal(10)  # opens the gate for all handlers
        assert connection.response().body == b"through\n"
        opener.close()
    assert server.wait() == 0


def test_concurrent_blocking_handlers(start):
    server = start(blocking_threads=8)

    def client(number):
        with server.connect() as connection:
            for i in range(50):
                response = connection.request("GET", f"/block/tell/{number}-{i}")
                assert f" {number}-{i} q=".encode() in response.body
                assert connection.request(
                    "GET", f"/block/pieces?size={i * 1000}&piece=999").body == raw.pattern(i * 1000)

    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(client, range(16)))
