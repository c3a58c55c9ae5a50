"""Handlers that block: on threads of their own, bounded, and harmless when their client or the
server leaves."""

import concurrent.futures

import pytest
import raw
from wire_server import eventually


def state(server):
    """How many handlers are at the gate, the most there ever were, how many had a client that left,
    and what the last one was told."""
    running, most, gone, error = server.ask("GET", "/blocking-state").body.decode().split()
    return int(running), int(most), int(gone), error


def at_gate(server, count):
    eventually(lambda: state(server)[0] == count, f"{count} handlers at the gate")


def test_a_blocking_handler_sees_its_request_and_answers(server):
    with server.connect() as connection:
        answer = connection.ask("POST", "/block/tell/a%2Fb%20c?q=1%262", "X-Field: value",
                                "Content-Type: application/x-www-form-urlencoded", body=b"f=a+b")
        assert answer.status == 202 and answer.get("X-Blocking") == "yes" and answer.get(
            "Set-Cookie") == "seen=yes; Path=/"
        assert answer.body == (b"POST /block/tell/a%2Fb c a/b c q=1&2 field=value f=a b body=5 "
                               b"from=127.0.0.1")
        assert connection.ask("HEAD", "/block/tell/x").body == b""
        assert connection.ask().body == b"Hello, world\n"


def test_middleware_runs_before_it_and_sees_what_it_sends(server):
    with server.connect() as connection:
        answer = connection.ask("GET", "/block/tell/x", "X-Watch: add")
        assert answer.status == 202
    assert server.stats()["seen_by_middleware"] > 0


def test_pipelined_requests_are_answered_in_order(server):
    with server.connect() as connection:
        connection.send(b"".join(
            raw.request("GET", f"/block/tell/{i}") + raw.request() for i in range(20)))
        for i in range(20):
            assert f" {i} q=".encode() in connection.response().body
            assert connection.response().body == b"Hello, world\n"


def test_the_loop_goes_on_while_handlers_block(start):
    server = start(blocking_threads=4)
    waiting = [server.connect() for _ in range(4)]
    for connection in waiting:
        connection.send(raw.request("GET", "/block/gate"))
    at_gate(server, 4)
    assert server.ask().status == 200
    server.ask("GET", "/open-gate")
    for connection in waiting:
        assert connection.response().body == b"through\n"
        connection.close()


def test_threads_and_queue_are_bounded(start):
    server = start(blocking_threads=2, blocking_queue=3)
    waiting = [server.connect() for _ in range(5)]
    for connection in waiting[:2]:
        connection.send(raw.request("GET", "/block/gate"))
    at_gate(server, 2)
    for connection in waiting[2:]:
        connection.send(raw.request("GET", "/block/gate"))
    server.settle()
    for _ in range(3):
        with server.connect() as refused:
            answer = refused.ask("GET", "/block/gate")
            assert (answer.status, answer.get("Retry-After")) == (503, "1")
            assert refused.ask().status == 200, "the connection goes on"
    assert server.log().count("blocking_queue") == 1
    server.ask("GET", "/open-gate")
    for connection in waiting:
        assert connection.response().body == b"through\n"
        connection.close()
    assert state(server)[1] == 2
    assert server.ask("GET", "/block/tell/x").status == 202


@pytest.mark.parametrize("size, piece", [(0, 1), (1, 1), (1000, 7), (100_000, 4097),
                                         (3_000_000, 70_000)])
@pytest.mark.parametrize("known", [True, False], ids=["length", "chunks"])
def test_pieces(server, size, piece, known):
    with server.connect() as connection:
        answer = connection.ask(
            "GET", f"/block/pieces?size={size}&piece={piece}{'&known' if known else ''}")
        assert (answer.status, answer.interim, answer.body) == (200, [103], raw.pattern(size))
        assert connection.ask("HEAD", f"/block/pieces?size={size}&piece={piece}").body == b""
        assert connection.ask().status == 200


def test_a_slow_client_slows_its_handler_and_costs_no_memory(start):
    server = start(write_backlog=20_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pieces?size=30000000&piece=16000&known"))
        connection.head()
        status = connection.head()[0]
        assert status == 200
        server.stats()  # begins to count
        got = connection.receive_exactly(1_000_000)
        assert server.stats()["heap_peak"] < 2_000_000
        got += connection.receive_exactly(29_000_000)
        assert got == raw.pattern(30_000_000)


def test_a_handler_that_has_begun_and_does_not_end_costs_the_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/pieces?size=1000&piece=10&half"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    assert server.ask().status == 200


@pytest.mark.parametrize("size", [0, 1000, 3_000_000])
def test_a_pulled_body_is_asked_for_to_its_end(server, size):
    with server.connect() as connection:
        answer = connection.ask("GET", f"/block/pulled?size={size}&piece=16384")
        assert (answer.status, answer.body) == (200, raw.pattern(size))
        assert connection.ask("HEAD", f"/block/pulled?size={size}").body == b""
        assert connection.ask().status == 200


def test_a_source_that_fails_costs_the_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/pulled?size=1000&fail"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    assert server.ask().status == 200


def test_a_client_that_leaves_a_pulled_body_is_no_matter(start):
    server = start(blocking_threads=1, write_backlog=10_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pulled?size=1000000000&piece=16384"))
        connection.head()
        connection.receive_exactly(100_000)
        connection.reset()
    assert server.ask("GET", "/block/tell/x").status == 202, "the thread is free again"
    assert "failed" not in server.log()


def test_more_than_a_response_may_have_costs_the_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/too-much"))
        with pytest.raises((AssertionError, ConnectionResetError, ValueError)):
            connection.response()
    eventually(lambda: state(server)[3] == "UVHTTP_ETOOLARGE", "the handler is told")
    assert server.ask().status == 200


def test_silent_events_have_a_heartbeat(start):
    server = start(event_heartbeat=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/events"))
        connection.head()
        assert connection.receive_exactly(16) == b"3\r\n:\n\n\r\n" * 2
        server.ask("GET", "/open-gate")


@pytest.mark.parametrize("how, status, body", [("silent", 500, None), ("declined", 404, None),
                                               ("fail", 500, None),
                                               ("defer", 200, b"UVHTTP_EINVAL"),
                                               ("subscribe", 200, b"UVHTTP_EINVAL"),
                                               ("ask", 200, b"blocks")])
def test_what_a_handler_returns(server, how, status, body):
    with server.connect() as connection:
        answer = connection.ask("GET", f"/block/back?how={how}")
        assert answer.status == status and (body is None or answer.body == body)
        assert connection.ask().status == 200


def test_a_file(server, tmp_path):
    (tmp_path / "file.txt").write_bytes(raw.pattern(200_000))
    answer = server.ask("GET", f"/block/back?how=file&path={tmp_path}/file.txt")
    assert answer.body == raw.pattern(200_000) and answer.get("Content-Type").startswith(
        "text/plain")


def test_a_client_that_leaves_is_no_matter(start):
    server = start(blocking_threads=1)
    gone = server.connect()
    gone.send(raw.request("GET", "/block/gate"))
    at_gate(server, 1)
    queued = server.connect()
    queued.send(raw.request("GET", "/block/gate"))
    server.settle()
    gone.reset()
    queued.reset()
    eventually(lambda: server.stats()["aborted_exchanges"] == 2, "both are noticed")
    server.ask("GET", "/open-gate")
    at_gate(server, 0)
    eventually(lambda: state(server)[3] == "UVHTTP_EDISCONNECTED", "the handler is told")
    assert state(server)[1] == 1, "the second one never ran"


def test_a_client_that_leaves_in_the_middle_of_pieces_frees_the_thread(start):
    server = start(blocking_threads=1, write_backlog=10_000)
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/block/pieces?size=1000000000&piece=16000"))
        connection.head()
        connection.receive_exactly(100_000)
        connection.reset()
    eventually(lambda: state(server)[2] == 1, "the handler is told")
    assert server.ask("GET", "/block/tell/x").status == 202


def test_a_timeout_answers_for_it(start):
    server = start(blocking_threads=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/block/gate-briefly"))
        at_gate(server, 1)
        assert connection.response().status == 503
        server.ask("GET", "/open-gate")
        connection.assert_closed()
    eventually(lambda: state(server)[3] in ("UVHTTP_EDISCONNECTED", "UVHTTP_ERESPONDED"),
               "the handler is told")
    assert server.ask("GET", "/block/tell/x").status == 202


def test_a_server_that_stops_waits_for_its_handlers(start):
    server = start(drain_timeout=60)
    with server.connect() as connection, server.connect() as other:
        connection.send(raw.request("GET", "/block/gate"))
        at_gate(server, 1)
        other.send(raw.request("GET", "/hold/x"))
        server.wait_for_held("x")
        opener = server.connect()
        opener.send(raw.request("POST", "/echo", "Content-Length: 5"))
        server.settle()
        server.settling.close()
        server.settling = None
        server.signal(15)
        server.signal(10)  # lets everybody through
        assert connection.response().body == b"through\n"
        opener.close()
    assert server.wait() == 0


def test_many_at_once(start):
    server = start(blocking_threads=8)

    def client(number):
        with server.connect() as connection:
            for i in range(50):
                answer = connection.ask("GET", f"/block/tell/{number}-{i}")
                assert f" {number}-{i} q=".encode() in answer.body
                assert connection.ask(
                    "GET", f"/block/pieces?size={i * 1000}&piece=999").body == raw.pattern(i * 1000)

    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(client, range(16)))
