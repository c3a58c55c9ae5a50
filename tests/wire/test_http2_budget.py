"""The cost of HTTP/2 after warm-up: one read and one write per request, no allocation, one or two
writes for 100 streams, and memory that does not grow with the size of a body."""

import json
import os
import subprocess

import pytest

import http2_client as h2
from http2_client import Client
from installed import installed
from test_big_bodies import ALLOWED, SIZE, Measured
from test_budget import ROUNDS, count_calls, traced  # noqa: F401 traced is a fixture

STREAMS = 100
GET = h2.block(h2.head())


def open_client(server):
    """A client whose window of the connection needs no extension."""
    client = Client(server.port, grants=False)
    client.sync()
    client.grant(0, 2**28)
    for _ in range(20):
        assert client.get().status == 200
    return client


def send_batch(client, count=STREAMS):
    numbers = [client.new_stream() for _ in range(count)]
    client.send(*(h2.headers(number, GET) for number in numbers))
    for response in client.responses(numbers):
        assert response.body == b"Hello, world\n"


def test_get_takes_one_read_and_one_write(traced):  # noqa: F811
    with open_client(traced) as client:

        def one_at_a_time(_):
            for _ in range(ROUNDS):
                assert client.get().body == b"Hello, world\n"

        assert count_calls(traced, one_at_a_time) == (ROUNDS, ROUNDS, {})


def test_100_streams_take_one_or_two_writes(traced):  # noqa: F811
    with open_client(traced) as client:

        def batches(_):
            for _ in range(ROUNDS):
                send_batch(client)

        for _ in range(3):
            send_batch(client)
        reads, writes, others = count_calls(traced, batches)
        assert reads == ROUNDS and writes <= 2 * ROUNDS and others == {}


def test_large_response_takes_few_writes(traced):  # noqa: F811
    with Client(traced.port, (h2.INITIAL_WINDOW_SIZE, 2**20), grants=False) as client:
        client.sync()
        client.grant(0, 2**28)

        def responses(_):
            for _ in range(ROUNDS):
                assert len(client.get("/large?size=100000").body) == 100000

        client.get("/large?size=100000")
        reads, writes, _ = count_calls(traced, responses)
        assert reads == ROUNDS and writes <= 3.2 * ROUNDS


def heap_calls(client):
    stats = json.loads(client.get("/stats").body)
    return stats["heap_calls"] + stats["libuv_calls"]


def upload(client):
    assert client.response(client.request("POST", "/echo", body=b"abc")).body == b"abc"


@pytest.mark.parametrize("work", [
    lambda client: client.get(),
    lambda client: client.get("/users/7?a=b"),
    lambda client: client.get("/none"),
    lambda client: client.get("/cookies"),
    lambda client: client.response(client.request("HEAD", "/hello")),
    lambda client: client.get("/large?size=50000"),
    upload,
    send_batch,
], ids=["get", "parameter", "404", "cookies", "head", "large", "post", "100-streams"])
def test_requests_allocate_nothing_after_warm_up(server, work):
    with open_client(server) as client:
        for _ in range(50):
            work(client)
        heap_calls(client)
        first, second = heap_calls(client), heap_calls(client)
        for _ in range(ROUNDS):
            work(client)
        third = heap_calls(client)
    # The request for the stats may allocate, as much as between two of them.
    assert third - second == second - first


# ---- bodies of 1 GB ----


@pytest.fixture
def measured():
    running = Measured()
    yield running
    running.stop()


def curl(server, *arguments):
    """Runs curl with prior knowledge; returns the number of bytes of its output."""
    size = 0
    command = [installed("curl", "curl"), "-sS", "--noproxy", "*", "--http2-prior-knowledge"]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE) as process:
        while chunk := os.read(process.stdout.fileno(), 1 << 20):
            size += len(chunk)
    assert process.returncode == 0
    return size


@pytest.mark.parametrize("path", ["/pulled", "/pieces-out"])
def test_big_streamed_response_needs_little_memory(measured, path):
    url = f"http://127.0.0.1:{measured.port}{path}?size={SIZE}&piece=16384"
    assert curl(measured, url) == SIZE
    measured.check_memory()


def test_big_file_needs_little_memory(measured, tmp_path):
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(SIZE)
    assert curl(measured, f"http://127.0.0.1:{measured.port}/send-file?path={path}") == SIZE
    measured.check_memory()


def test_big_upload_needs_little_memory(tmp_path):
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(SIZE)
    server = Measured(max_body_size=2**32)
    try:
        assert curl(server, "-T", str(path), "-X", "POST",
                    f"http://127.0.0.1:{server.port}/pieces-digest") > 0
        server.check_memory()
    finally:
        server.stop()


def test_slow_readers_need_little_memory(measured):
    assert ALLOWED > 0
    with Client(measured.port, (h2.INITIAL_WINDOW_SIZE, h2.MAX_WINDOW), grants=False) as client:
        client.sync()
        client.send(h2.window_update(0, h2.MAX_WINDOW - h2.DEFAULT_WINDOW))
        client.window = h2.MAX_WINDOW
        for _ in range(30):
            client.request("GET", f"/pieces-out?size={SIZE}&piece=16384")
        measured.wait_until_blocked("bytes_sent")
        measured.check_memory()
