"""Streams of server-sent events: heartbeats of idle streams, and one source for many clients."""

import os
import time

import httpx
import pytest

import raw
from wire_server import eventually

HEARTBEAT = b":\n\n"
OVER_HTTP2 = bool(os.environ.get("UVHTTP_WIRE_HTTP2"))


def listen(server, **options):
    """A subscribed connection, after the head of its response."""
    connection = server.connect()
    connection.send(raw.request("GET", "/hub?" + "&".join(options)))
    status, _, fields, _ = connection.head()
    assert status == 200 and ("Content-Type", "text/event-stream") in fields
    return connection


def chunk(connection):
    """The next event in a chunk; None at the end. A frame of HTTP/2 may end within an event."""
    data = b""
    while not data.endswith(b"\n\n"):
        size = int(connection.line(), 16)
        part = connection.receive_exactly(size)
        assert connection.line() == b""
        if size == 0:
            assert data == b""
            return None
        data += part
        assert OVER_HTTP2 or data.endswith(b"\n\n")
    return data


def publish(server, data, query=""):
    """[streams, dropped so far]."""
    return [
        int(number) for number in server.request(
            "POST", f"/hub?{query}", f"Content-Length: {len(data)}", body=data).body.split()
    ]


# Heartbeats


def test_idle_streams_get_heartbeats(start):
    server = start(drain_timeout=0, event_heartbeat=1, write_timeout=1)
    begin = time.monotonic()
    connections = [server.connect() for _ in range(3)]
    for connection in connections:
        connection.send(raw.request("GET", "/silent-events"))
        connection.head()
        assert chunk(connection) == b"data: one\n\n"
    for _ in range(2):
        for connection in connections:
            assert chunk(connection) == HEARTBEAT
    assert time.monotonic() - begin >= 2
    assert server.stats()["timeouts"] == 0
    for connection in connections:
        connection.reset()
    eventually(lambda: server.stats()["active_connections"] == 1, "the streams are closed")


def test_heartbeat_disabled(start):
    server = start(drain_timeout=0, event_heartbeat=0, keep_alive_timeout=1)
    with server.connect() as connection, server.connect() as clock:
        connection.send(raw.request("GET", "/silent-events"))
        connection.head()
        assert chunk(connection) == b"data: one\n\n"
        clock.assert_closed()  # after a second
        connection.assert_silent()


def test_busy_stream_gets_no_heartbeat(start):
    server = start(drain_timeout=0, event_heartbeat=2)
    with listen(server) as connection:
        begin = time.monotonic()
        while time.monotonic() - begin < 3:
            publish(server, b"x")
            assert chunk(connection) == b"data: x\n\n"
            time.sleep(0.05)
        # The interval starts at the last event.
        assert chunk(connection) == HEARTBEAT


def test_other_pending_responses_get_no_heartbeat(start):
    server = start(drain_timeout=0, event_heartbeat=1)
    with server.connect() as pending, listen(server) as connection:
        pending.send(raw.request("GET", "/hold/x"))
        for _ in range(2):
            assert chunk(connection) == HEARTBEAT
        pending.assert_silent()
        server.release("x")
        assert pending.response().body == b"released\n"


def test_heartbeat_detects_stalled_client(start):
    # Data that does not fit into the socket counts as a write without progress.
    server = start(drain_timeout=0, event_heartbeat=1, write_timeout=1, write_backlog=1_000_000)
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/hub"))
        eventually(lambda: publish(server, b"x" * 100_000)[0] == 1, "the stream is open")
        for _ in range(100):
            publish(server, b"x" * 100_000)
        eventually(lambda: publish(server, b"x" * 10)[0] == 0, "the client is dropped")


# A hub


def test_hub_sends_event_once_to_all_listeners(start):
    server = start(drain_timeout=0)
    listeners = [listen(server, **options) for options in ({}, {"begun": 1}, {"twice": 1})]
    assert server.stats()["last_error"] == "UVHTTP_EINVAL"
    for size in (1, 5000):
        assert publish(server, b"y" * size, "id=7") == [3, 0]
        for connection in listeners:
            assert chunk(connection) == b"id: 7\ndata: " + b"y" * size + b"\n\n"
    listeners[1].reset()
    eventually(lambda: publish(server, b"z") == [2, 0], "the listener has left")
    listeners[2].half_close()
    assert publish(server, b"last")[1] == 0
    while chunk(listeners[0]) != b"data: last\n\n":
        pass
    assert publish(server, b"", "end")[0] == 0
    assert chunk(listeners[0]) is None
    assert listeners[0].request().body == b"Hello, world\n"  # the connection is reusable


def test_hub_rejects_invalid_events(start):
    server = start(drain_timeout=0)
    with listen(server) as connection:
        publish(server, b"x", "id=a%0Ab")
        assert server.stats()["last_error"] == "UVHTTP_EINVAL"
        connection.assert_silent()


@pytest.mark.parametrize("options", ["", "begun", "retry"])
def test_hub_head_request(start, options):
    server = start(drain_timeout=0)
    with server.connect() as connection:
        response = connection.request("HEAD", f"/hub?{options}")
        assert response.get("Content-Type") == "text/event-stream"
        assert connection.request().body == b"Hello, world\n"
        assert publish(server, b"x") == [0, 0]
    server.stop()
    assert "failed" not in server.log()


def test_hub_drops_slow_listener_only(start):
    server = start(drain_timeout=0, write_backlog=20_000)
    with server.connect(receive_buffer=4096) as slow, listen(server) as quick:
        slow.send(raw.request("GET", "/hub"))
        idle = server.stats()["heap_live"]
        sent = 0
        while publish(server, b"x" * 10_000) == [2, 0]:
            assert len(chunk(quick)) == 10_008
            sent += 1
            assert sent < 5000
        assert len(chunk(quick)) == 10_008
        assert publish(server, b"", "id=1") == [1, 1]
        assert server.stats()["heap_live"] - idle < 200_000
        # The queued events arrive, and then the regular end: a browser reconnects with its
        # Last-Event-ID.
        status, _, _, _ = slow.head()
        size = 0
        while (events := chunk(slow)) is not None:
            assert OVER_HTTP2 or len(events) == 10_008
            size += len(events)
        assert status == 200 and size == sent * 10_008


@pytest.mark.parametrize("number", [2, 5])
def test_hub_publish_within_publish(start, number):
    """Listeners that disconnect are detected during a publish, and their abort callbacks publish,
    too."""
    server = start(drain_timeout=0)
    stays = listen(server)
    leaving = [listen(server, told=1) for _ in range(number)]
    with server.connect() as publisher:
        # All disconnect before the next loop iteration. The server detects them in any order.
        for connection in leaving:
            connection.reset()
        publisher.send(raw.request("POST", "/hub?", "Content-Length: 1", body=b"x"))
        publisher.response()
    eventually(lambda: publish(server, b"end")[0] == 1, "one listener is left")
    seen = []
    while "data: end" not in seen:
        seen.append(chunk(stays).decode().strip())
    assert seen.count("data: somebody has left") == number and seen.count("data: x") == 1
    assert server.stats()["aborts"] == number
    stays.close()


def test_stop_with_hub_listeners(start):
    server = start(drain_timeout=0)
    connections = [listen(server) for _ in range(3)]
    server.stop()
    # the stream is complete, so the client does not see it as truncated
    for connection in connections:
        assert chunk(connection) is None


@pytest.mark.plain
def test_hub_events_for_real_client(start):
    server = start(drain_timeout=0)
    with httpx.Client(trust_env=False) as client, client.stream(
            "GET", f"http://127.0.0.1:{server.port}/hub") as response:
        lines = response.iter_lines()
        publish(server, b"first\nsecond", "id=1")
        assert [next(lines).strip()
                for _ in range(4)] == ["id: 1", "data: first", "data: second", ""]
