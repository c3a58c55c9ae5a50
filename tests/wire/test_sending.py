"""Sending: responses whose rate is limited, and files that are large, sparse, or change their size.

A rate is only ever looked at from above: what has arrived is no more than burst and time allow. A
slow machine makes that easier to hold, never harder.
"""

import os
import tempfile
import time

import pytest

import raw
from static_server import MIB, StaticServer, place, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

KINDS = [
    "large", "large?how=copy", "large?how=borrowed", "file", "parts", "pieces-out", "pulled",
    "blocking"
]
# The server's clock is read once in a turn of its loop, which a busy machine may hold up: what it
# counts may have begun so long before the client's.
SLACK_SECONDS = 0.2


def target(kind, size, rate, burst=0, piece=2000):
    path, _, query = kind.partition("?")
    start = "/limited-blocking?" if path == "blocking" else f"/limited/{path}?{query}&"
    return f"{start}size={size}&rate={rate}&burst={burst}&piece={piece}&known"


def read_body(connection, size, rate, at_once, begun):
    """Reads the body and checks at each piece that it did not come too early."""
    body = b""
    while len(body) < size:
        piece = connection.receive(65536)
        assert piece, "the connection ended"
        body += piece
        allowed = at_once + rate * (time.monotonic() - begun + SLACK_SECONDS)
        assert len(body) <= allowed, f"{len(body)} bytes where {allowed:.0f} were allowed"
    return body


@pytest.mark.parametrize("kind", KINDS)
def test_a_limited_body_arrives_whole_and_not_too_early(server, kind):
    size, rate, burst = 150_000, 200_000, 60_000
    with server.connect() as connection:
        begun = time.monotonic()
        connection.send(raw.request("GET", target(kind, size, rate, burst)))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        # A piece leaves as a whole; the largest is what a pull may give, or the blocking handler's.
        largest = 16_384 if kind in ("pieces-out", "pulled", "blocking") else 0
        assert read_body(connection, size, rate, burst + largest, begun) == raw.pattern(size)
        assert time.monotonic() - begun + SLACK_SECONDS >= (size - burst - largest) / rate
        assert connection.ask().body == b"Hello, world\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_answer_below_a_limit_leaves_at_once(server, kind):
    """A quarter of a second's worth does not wait, so a hundred of them need no ticks between them:
    that they come is all that is asked."""
    with server.connect() as connection:
        for _ in range(100):
            assert connection.ask("GET", target(kind, 100, 1000)).body == raw.pattern(100)


def test_an_answer_with_a_limit_waits_in_line_with_pipelined_ones(server):
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


def test_head_and_an_empty_body_have_nothing_to_wait_for(server):
    with server.connect() as connection:
        for kind in KINDS:
            assert connection.ask("HEAD", target(kind, 100_000,
                                                 1)).get("Content-Length") == "100000"
        assert connection.ask("GET", target("large", 0, 1)).body == b""


@pytest.mark.parametrize("kind", ["lifted", "lifted-blocking"])
def test_a_limit_can_be_lifted(server, kind):
    with server.connect() as connection:
        assert connection.ask("GET", target(kind, 1_000_000, 1)).body == raw.pattern(1_000_000)


@pytest.mark.parametrize("kind", ["large", "file", "parts", "pieces-out", "pulled"])
def test_the_write_timeout_does_not_run_while_the_rate_is_waited_for(start, kind):
    """More than twice the timeout passes in which the client takes whatever comes."""
    server = start(write_timeout=1, handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", target(kind, 100_000, 100, piece=10)))
        assert connection.head()[0] == 200
        end = time.monotonic() + 2.5
        received = b""
        while time.monotonic() < end:
            received += connection.receive()
        assert 100 < len(received) < 1000 and received == raw.pattern(len(received))
    assert server.stats()["timeouts"] == 0


def test_the_write_timeout_still_ends_who_does_not_read(start):
    server = start(write_timeout=1)
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", target("large", 16_000_000, 100_000_000)))
        eventually(lambda: server.stats()["timeouts"] == 1, "the connection is ended")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reset", [False, True], ids=["end", "reset"])
def test_a_client_that_vanishes_from_a_limited_answer(server, kind, reset):
    before = server.stats()
    connection = server.connect()
    connection.send(raw.request("GET", target(kind, 1_000_000, 4000, piece=500)))
    connection.head()
    connection.receive_exactly(100)
    connection.reset() if reset else connection.close()
    server.settle()
    eventually(lambda: server.stats()["aborted_exchanges"] == before["aborted_exchanges"] + 1,
               "it is noticed")


@pytest.mark.parametrize("kind", ["large", "file", "parts", "pulled"])
def test_stopping_lets_a_limited_answer_finish(start, kind):
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
def test_the_drain_timeout_ends_a_limited_answer(start, kind):
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


def test_files_have_a_rate_limit(place, serve):
    write(place, "film", raw.pattern(300_000))
    write(place, "small", raw.pattern(10_000))
    server = serve("--rate-limit", "200000", "--rate-burst", "100000")
    for name, size in (("film", 300_000), ("small", 10_000), ("film", 300_000)):
        with server.connect() as connection:
            begun = time.monotonic()
            connection.send(raw.request("GET", f"/{name}"))
            connection.head()
            assert read_body(connection, size, 200_000, 100_000, begun) == raw.pattern(size)
    assert server.ask("/film", "Range: bytes=299990-").body == raw.pattern(10, 299_990)


@pytest.mark.parametrize("size", [4 * 1024 * MIB + 12345, 10 * 1024 * MIB])
def test_a_file_above_4_gib(place, serve, size):
    """Sparse, with a few bytes at places where a number of 32 bits would fold."""
    path = write(place, "film")
    marks = {0: b"begin", 2 ** 31 - 2: b"two", 2 ** 32 - 3: b"across", size - 4: b"end."}
    with open(path, "r+b") as file:
        file.truncate(size)
        for offset, text in marks.items():
            file.seek(offset)
            file.write(text)
    server = serve()
    with server.connect() as connection:
        assert connection.ask("HEAD", "/film").get("Content-Length") == str(size)
        for offset, text in marks.items():
            answer = connection.ask("GET", "/film",
                                    f"Range: bytes={offset}-{offset + len(text) - 1}")
            assert answer.status == 206 and answer.body == text
            assert answer.get("Content-Range") == f"bytes {offset}-{offset + len(text) - 1}/{size}"
        answer = connection.ask("GET", "/film", "Range: bytes=-9")
        assert answer.body == b"\0" * 5 + b"end." and answer.get(
            "Content-Range") == f"bytes {size - 9}-{size - 1}/{size}"
        assert connection.ask("GET", "/film", f"Range: bytes={size}-").status == 416
        assert connection.ask("GET", "/film",
                              f"Range: bytes={2 ** 32}-{2 ** 32 + 5}").body == b"oss\0\0\0"
        # A long part across the border.
        first = 2 ** 32 - 8 * MIB
        body = connection.ask("GET", "/film", f"Range: bytes={first}-{2 ** 32 + 11_999}").body
        assert body == b"\0" * (8 * MIB - 3) + b"across" + b"\0" * (12_000 - 3)


@pytest.fixture
def quick_place():
    """A folder in memory where there is one: the holes of a file cost neither memory nor disk
    there."""
    with tempfile.TemporaryDirectory(
            dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield folder


def test_the_whole_of_a_sparse_file_above_4_gib(quick_place):
    """To its last byte, on a connection that goes on behind it. The client has the system throw
    away what arrives."""
    size = 4 * 1024 * MIB + 777
    path = write(quick_place, "film")
    with open(path, "r+b") as file:
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"end.")
    write(quick_place, "small", b"small")
    server = StaticServer(quick_place)
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


def test_a_file_that_grows_while_it_is_sent_keeps_its_length(place, serve):
    """Content-Length is what it was when it was opened, and so is the body."""
    size = 16 * MIB
    path = write(place, "log", raw.pattern(size))
    server = serve("--revalidate-ms", "1")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/log"))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        with open(path, "ab") as file:
            file.write(b"more" * 100_000)
        assert connection.receive_exactly(size) == raw.pattern(size)
        assert connection.ask("HEAD", "/log").status == 200
    eventually(
        lambda: server.ask("/log", method="HEAD").get("Content-Length") == str(size + 400_000),
        "the new length is seen")


def test_a_file_that_gets_shorter_below_a_limit_ends_the_connection(place, serve):
    path = write(place, "file", raw.pattern(300_000))
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
    eventually(lambda: "truncated" in server.log(), "a line in the log")
    assert server.ask("/file", method="HEAD").get("Content-Length") == "30000"
