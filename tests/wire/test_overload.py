"""The overload guard (overload_guard, overload_target_ms, overload_interval_ms): a server that gets
more than it can do sheds some requests and keeps their connections. Stuck loops (stuck_loop_ms) are
logged.

The load is bounded: some requests are sent at once, so that the loop is never idle. How many are
shed depends on the machine; that some are does not.
"""

import re

from http2_client import Client
from wire_server import eventually

BATCH = 500
SLOW = "/spin/1"  # uses the loop for 1 ms
# A batch takes several iterations of the loop.
SMALL_BUFFERS = {"buffer_size": 4096, "max_header_size": 1024, "max_trailer_size": 1024}
LINE = (r"^warning: overload: shedding [0-9]+ of [0-9]+ requests/s, loop delay [0-9]+ ms, worker 0 "
        r"\(overload_guard\)$")


def start_guarded(start):
    return start(overload_guard=1, overload_target_ms=1, overload_interval_ms=10,
                 http2_max_streams=2 * BATCH, **SMALL_BUFFERS)


def send_batch(connection):
    connection.send(f"GET {SLOW} HTTP/1.1\r\nHost: h\r\n\r\n".encode() * BATCH)


def read_batch(connection):
    """Reads the responses to a batch; returns how many requests were shed."""
    shed = 0
    for _ in range(BATCH):
        response = connection.response()
        assert response.status in (200, 503) and not response.has_close()
        assert response.get("Retry-After") == ("1" if response.status == 503 else None)
        shed += response.status == 503
    return shed


def is_logged(server):
    return re.search(LINE, server.log(), re.M) is not None


def test_overload_sheds_requests_and_keeps_connections(start):
    server = start_guarded(start)
    shed = rounds = 0
    with server.connect() as connection, server.connect() as probe:
        while not shed or not is_logged(server):
            send_batch(connection)
            probe.send(b"GET /alive HTTP/1.1\r\nHost: h\r\n\r\n")
            shed += read_batch(connection)
            assert probe.response().status == 200
            rounds += 1
        assert shed < rounds * BATCH
        eventually(lambda: connection.request().status == 200, "the overload is over")
    assert server.stats()["shed_requests"] >= shed


def test_overload_sheds_streams(start):
    server = start_guarded(start)
    shed = 0
    with Client(server.port) as client:
        while not shed or not is_logged(server):
            pending = [client.request(path=SLOW) for _ in range(BATCH)]
            probe = client.request(path="/alive")
            for response in client.responses(pending):
                assert response.status in (200, 503)
                if response.status == 503:
                    assert response.get("Retry-After") == "1"
                    shed += 1
            assert client.response(probe).status == 200
        eventually(lambda: client.get().status == 200, "the overload is over")
    assert server.stats()["shed_requests"] >= shed


def test_without_guard_all_requests_are_served(start):
    server = start(overload_target_ms=1, overload_interval_ms=10, **SMALL_BUFFERS)
    with server.connect() as connection:
        send_batch(connection)
        assert read_batch(connection) == 0
    assert server.stats()["shed_requests"] == 0


def test_stuck_loop_is_logged(start):
    server = start(stuck_loop_ms=50)
    assert server.request("GET", "/spin/1000").status == 200
    end = r"^warning: the loop of worker 0 runs again after [0-9]+ ms$"
    eventually(lambda: re.search(end, server.log(), re.M), "the loop runs again")
    assert re.search(r"^warning: the loop of worker 0 has been stuck for [0-9]+ ms in the handler "
                     r"of GET /spin/:ms \(stuck_loop_ms\)$", server.log(), re.M)
