"""Sending: rate-limited responses, and files that are large, sparse, or change their size.

A rate is only checked as an upper limit: the received data must not exceed burst and elapsed time.
A slow machine cannot make that check fail.
"""

import os
import tempfile
import time

import pytest

import raw
from static_server import MIB, StaticServer, root, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

KINDS = [
    "large", "large?how=copy", "large?how=borrowed", "file", "parts", "pieces-out", "pulled",
    "blocking"
]
# The server reads its clock once per loop iteration, which a busy machine can delay. Its time may
# have started that much before the client's.
SLACK_SECONDS = 0.2


def target(kind, size, rate, burst=0, chunk=2000):
    path, _, query = kind.partition("?")
    start = "/limited-blocking?" if path == "blocking" else f"/limited/{path}?{query}&"
    return f"{start}size={size}&rate={rate}&burst={burst}&piece={chunk}&known"


def read_body(connection, size, rate, at_once, begun):
    """Reads the body and checks after each read that the data did not arrive too early."""
    body = b""
    while len(body) < size:
        chunk = connection.receive(65536)
        assert chunk, "the connection is closed"
        body += chunk
        allowed = at_once + rate * (time.monotonic() - begun + SLACK_SECONDS)
        assert len(body) <= allowed, f"{len(body)} bytes where {allowed:.0f} were allowed"
    return body


@pytest.mark.parametrize("kind", KINDS)
def test_rate_limited_body_is_not_too_fast(server, kind):
    size, rate, burst = 150_000, 200_000, 60_000
    with server.connect() as connection:
        begun = time.monotonic()
        connection.send(raw.request("GET", target(kind, size, rate, burst)))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        # A chunk is sent as a whole. The largest one is that of a source, or of the blocking
        # handler.
        largest = 16_384 if kind in ("pieces-out", "pulled", "blocking") else 0
        assert read_body(connection, size, rate, burst + largest, begun) == raw.pattern(size)
        assert time.monotonic() - begun + SLACK_SECONDS >= (size - burst - largest) / rate
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.parametrize("kind", KINDS)
def test_rate_limit_does_not_delay_small_response(server, kind):
    """The amount of a quarter of a second is sent without delay, so a hundred responses need no
    timer. The test checks only that they arrive."""
    with server.connect() as connection:
        for _ in range(100):
            assert connection.request("GET", target(kind, 100, 1000)).body == raw.pattern(100)


def test_rate_limit_keeps_order_of_pipelined_responses(server):
    with server.connect() as connection:
        connection.send(b"".join(
            raw.request("GET", each)
            for each in ("/hello", target("large", 60_000, 200_000), target("large", 3, 1),
                         "/hello", target("file", 60_000, 200_000), "/hello")))
        bodies = [connection.response().body for _ in range(6)]
        hello = b"Hello, world\n"
        assert bodies == [
            hello, raw.pattern(60_000),
            raw.pattern(3), hello,
            raw.pattern(60_000), hello
        ]


def test_rate_limit_does_not_delay_head_and_empty_body(server):
    with server.connect() as connection:
        for kind in KINDS:
            assert connection.request("HEAD", target(kind, 100_000,
                                                     1)).get("Content-Length") == "100000"
        assert connection.request("GET", target("large", 0, 1)).body == b""


@pytest.mark.parametrize("kind", ["lifted", "lifted-blocking"])
def test_rate_limit_can_be_removed(server, kind):
    with server.connect() as connection:
        assert connection.request("GET", target(kind, 1_000_000, 1)).body == raw.pattern(1_000_000)


@pytest.mark.parametrize("kind", ["large", "file", "parts", "pieces-out", "pulled"])
def test_rate_limit_pauses_write_timeout(start, kind):
    """The transfer takes more than twice the timeout, and the client reads everything."""
    server = start(write_timeout=1, handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", target(kind, 100_000, 100, chunk=10)))
        assert connection.head()[0] == 200
        end = time.monotonic() + 2.5
        received = b""
        while time.monotonic() < end:
            received += connection.receive()
        assert 100 < len(received) < 1000 and received == raw.pattern(len(received))
    assert server.stats()["timeouts"] == 0


def test_write_timeout_applies_with_rate_limit(start):
    server = start(write_timeout=1)
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", target("large", 16_000_000, 100_000_000)))
        eventually(lambda: server.stats()["timeouts"] == 1, "the connection is closed")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reset", [False, True], ids=["end", "reset"])
def test_disconnect_during_rate_limited_response(server, kind, reset):
    before = server.stats()
    connection = server.connect()
    connection.send(raw.request("GET", target(kind, 1_000_000, 4000, chunk=500)))
    connection.head()
    connection.receive_exactly(100)
    connection.reset() if reset else connection.close()
    server.settle()
    eventually(lambda: server.stats()["aborted_exchanges"] == before["aborted_exchanges"] + 1,
               "the disconnect is detected")


@pytest.mark.parametrize("kind", ["large", "file", "parts", "pulled"])
def test_stop_finishes_rate_limited_response(start, kind):
    server = start(drain_timeout=3600)
    with server.connect() as connection:
        connection.send(raw.request("GET", target(kind, 60_000, 60_000)))
        connection.head()
        first = connection.receive_exactly(100)
        server.signal(15)
        assert first + connection.receive_exactly(60_000 - 100) == raw.pattern(60_000)
        connection.assert_closed()
    assert server.wait() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_drain_timeout_ends_rate_limited_response(start, kind):
    server = start(drain_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", target(kind, 10_000_000, 1000)))
        connection.head()
        server.signal(15)
        try:
            assert len(connection.rest()) < 10_000_000
        except ConnectionResetError:
            pass
    assert server.wait() == 0


# Files


def test_rate_limit_of_files(root, serve):
    write(root, "film", raw.pattern(300_000))
    write(root, "small", raw.pattern(10_000))
    server = serve("--rate-limit", "200000", "--rate-burst", "100000")
    for name, size in (("film", 300_000), ("small", 10_000), ("film", 300_000)):
        with server.connect() as connection:
            begun = time.monotonic()
            connection.send(raw.request("GET", f"/{name}"))
            connection.head()
            assert read_body(connection, size, 200_000, 100_000, begun) == raw.pattern(size)
    assert server.request("/film", "Range: bytes=299990-").body == raw.pattern(10, 299_990)


@pytest.mark.parametrize("size", [4 * 1024 * MIB + 12345, 10 * 1024 * MIB])
def test_ranges_of_file_above_4_gib(root, serve, size):
    """A sparse file, with data at offsets where a number of 32 bits would overflow."""
    path = write(root, "film")
    marks = {0: b"begin", 2 ** 31 - 2: b"two", 2 ** 32 - 3: b"across", size - 4: b"end."}
    with open(path, "r+b") as file:
        file.truncate(size)
        for offset, text in marks.items():
            file.seek(offset)
            file.write(text)
    server = serve()
    with server.connect() as connection:
        assert connection.request("HEAD", "/film").get("Content-Length") == str(size)
        for offset, text in marks.items():
            response = connection.request("GET", "/film",
                                          f"Range: bytes={offset}-{offset + len(text) - 1}")
            assert response.status == 206 and response.body == text
            assert response.get(
                "Content-Range") == f"bytes {offset}-{offset + len(text) - 1}/{size}"
        response = connection.request("GET", "/film", "Range: bytes=-9")
        assert response.body == b"\0" * 5 + b"end." and response.get(
            "Content-Range") == f"bytes {size - 9}-{size - 1}/{size}"
        assert connection.request("GET", "/film", f"Range: bytes={size}-").status == 416
        assert connection.request("GET", "/film",
                                  f"Range: bytes={2 ** 32}-{2 ** 32 + 5}").body == b"oss\0\0\0"
        # A long range across the 4 GiB boundary.
        first = 2 ** 32 - 8 * MIB
        body = connection.request("GET", "/film", f"Range: bytes={first}-{2 ** 32 + 11_999}").body
        assert body == b"\0" * (8 * MIB - 3) + b"across" + b"\0" * (12_000 - 3)


@pytest.fixture
def memory_directory():
    """A directory in memory if there is one: the holes of a file take neither memory nor disk
    there."""
    with tempfile.TemporaryDirectory(
            dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as directory:
        yield directory


@pytest.mark.http1  # takes minutes in Python
def test_whole_sparse_file_above_4_gib(memory_directory):
    """Up to the last byte, and the connection is reusable. The kernel discards the received
    data."""
    size = 4 * 1024 * MIB + 777
    path = write(memory_directory, "film")
    with open(path, "r+b") as file:
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"end.")
    write(memory_directory, "small", b"small")
    server = StaticServer(memory_directory)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/film") + raw.request("GET", "/small"))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        left = size - len(connection.buffer) - 4
        connection.buffer = b""
        sink = bytearray(MIB)
        while left > 0:
            count = connection.socket.recv_into(sink, min(left, MIB), raw.socket.MSG_TRUNC)
            assert count > 0
            left -= count
        assert connection.receive_exactly(4) == b"end."
        assert connection.response().body == b"small"
    server.finish()


def test_growing_file_keeps_content_length(root, serve):
    """Content-Length and body have the size at open."""
    size = 16 * MIB
    path = write(root, "log", raw.pattern(size))
    server = serve("--revalidate-ms", "1")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/log"))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        with open(path, "ab") as file:
            file.write(b"more" * 100_000)
        assert connection.receive_exactly(size) == raw.pattern(size)
        assert connection.request("HEAD", "/log").status == 200
    eventually(
        lambda: server.request("/log", method="HEAD").get("Content-Length") == str(size + 400_000),
        "the new length is served")


def test_truncated_rate_limited_file_closes_connection(root, serve):
    path = write(root, "file", raw.pattern(300_000))
    server = serve("--rate-limit", "100000", "--revalidate-ms", "1")
    with server.connect() as connection:
        connection.send(raw.request("GET", "/file"))
        connection.head()
        connection.receive_exactly(1000)
        os.truncate(path, 30_000)
        try:
            assert len(connection.rest()) < 299_000
        except ConnectionResetError:
            pass
    eventually(lambda: "truncated" in server.log(), "an error is logged")
    assert server.request("/file", method="HEAD").get("Content-Length") == "30000"
