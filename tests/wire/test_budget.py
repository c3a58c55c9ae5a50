"""The cost of a request after warm-up: one read, one write, no allocation; one write per pipelined
batch.

strace counts system calls between two requests that mark positions in its output.
"""

import collections
import json
import pathlib
import re
import shutil

import pytest
import raw
from wire_server import WireServer, eventually

ROUNDS = 200
BATCH = 16
# System calls that libuv uses to wait. All others are costs of the requests.
WAIT_CALLS = {"epoll_wait", "epoll_pwait", "epoll_pwait2"}
READS = {"read", "readv", "recvfrom", "recvmsg"}
WRITES = {"write", "writev", "sendto", "sendmsg"}


def threads_of(pid):
    return {int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir()} - {pid}


def waiting_threads(record):
    """Those whose last call waits. With a sanitizer a thread may also wait while it starts, and
    calls more after that."""
    last = dict(re.findall(r"^(\d+) +(.*)", record.read_text(), re.M))
    return {int(tid) for tid, call in last.items() if re.match(r"futex\(.*FUTEX_WAIT", call)}


@pytest.fixture
def traced(tmp_path):
    strace = shutil.which("strace")
    assert strace, "strace is missing: install strace"
    record = tmp_path / "calls"
    # The leak check cannot run under strace. The other wire tests have it.
    running = WireServer(wrapper=(strace, "-f", "-s", "40", "-o", str(record)),
                         environment={"ASAN_OPTIONS": "detect_leaks=0"})
    pid = running.stats()["pid"]
    running.pid = lambda: pid
    running.record = record
    # The system may schedule a new thread late: its first calls are no cost of a request.
    eventually(lambda: waiting_threads(record) >= threads_of(pid), "all threads wait")
    yield running
    running.stop()


def calls_between_marks(record):
    """The names of the system calls between the requests /none/begin and /none/end."""
    lines = record.read_text(errors="replace").splitlines()
    names = []
    inside = False
    for line in lines:
        if "GET /none/end" in line:
            return names
        found = re.match(r"\d+\s+(?:<\.\.\. )?(\w+)[( ]", line)
        if inside and found and "<unfinished" not in line:
            names.append(found[1])
        if "GET /none/begin" in line:
            inside = True
    raise AssertionError("the marks are not in the record")


def count_calls(server, work, target="/hello"):
    with server.connect() as connection:
        for _ in range(20):
            assert connection.request("GET", target).status == 200
        assert connection.request("GET", "/none/begin").status == 404
        work(connection)
        assert connection.request("GET", "/none/end").status == 404
    names = collections.Counter(calls_between_marks(server.record))
    # The response to the first mark follows it in the trace.
    first = next(name for name in names if name in WRITES)
    names[first] -= 1
    print(dict(names))
    reads = sum(count for name, count in names.items() if name in READS)
    writes = sum(count for name, count in names.items() if name in WRITES)
    others = {
        name: count
        for name, count in names.items()
        if name not in READS | WRITES | WAIT_CALLS and count
    }
    return reads, writes, others


def test_keep_alive_get_takes_one_read_and_one_write(traced):
    def one_at_a_time(connection):
        for _ in range(ROUNDS):
            assert connection.request().body == b"Hello, world\n"

    assert count_calls(traced, one_at_a_time) == (ROUNDS, ROUNDS, {})


def test_five_middlewares_take_no_system_call(traced):
    def one_at_a_time(connection):
        for _ in range(ROUNDS):
            assert connection.request("GET", "/five/hello").body == b"Hello, world\n"

    assert count_calls(traced, one_at_a_time, "/five/hello") == (ROUNDS, ROUNDS, {})


def test_pipelined_batch_takes_one_write(traced):
    def batches(connection):
        for _ in range(ROUNDS):
            connection.send(raw.request() * BATCH)
            for response in connection.responses(BATCH):
                assert response.body == b"Hello, world\n"

    assert count_calls(traced, batches) == (ROUNDS, ROUNDS, {})


def test_small_upload_takes_one_read_and_one_write(traced):
    def uploads(connection):
        for _ in range(ROUNDS):
            assert connection.request("POST", "/digest", body=b"abc").status == 200

    assert count_calls(traced, uploads) == (ROUNDS, ROUNDS, {})


def test_large_response_takes_one_write(traced):
    def responses(connection):
        for _ in range(ROUNDS):
            assert len(connection.request("GET", "/large?size=100000").body) == 100000

    reads, writes, others = count_calls(traced, responses, "/large?size=100000")
    # A slow system may accept fewer bytes per write. Then the server also waits for a writable
    # socket.
    assert reads == ROUNDS and writes < ROUNDS * 1.2 and set(others) <= {"epoll_ctl"}


@pytest.mark.parametrize("chunk, writes", [(3000, 1), (5000, 5)])
def test_chunk_takes_at_most_one_write(traced, chunk, writes):
    """Small chunks are sent together, large ones with the chunks queued before them. The end of the
    body is sent with the last chunk."""
    target = f"/pieces-out?size={4 * chunk}&piece={chunk}"

    def responses(connection):
        for _ in range(ROUNDS):
            assert len(connection.request("GET", target).body) == 4 * chunk

    reads, sent, _ = count_calls(traced, responses, target)  # the handler may allocate
    assert reads == ROUNDS and sent <= writes * ROUNDS


def heap_calls(connection):
    stats = json.loads(connection.request("GET", "/stats").body)
    return stats["heap_calls"] + stats["libuv_calls"]


@pytest.mark.parametrize(
    "work", [
        raw.request(),
        raw.request("GET", "/users/7?a=b"),
        raw.request("HEAD"),
        raw.request("GET", "/none"),
        raw.request("POST", "/echo", body=b"abc"),
        raw.request("GET", "/large?size=100000"),
        raw.request() * BATCH,
        raw.request("GET", "/cookies") * BATCH,
        raw.request("GET", "/five/hello"),
        raw.request("GET", "/five/hello") * BATCH,
        raw.request("GET", "/who", "Origin: https://app.example", host="cors.test") * BATCH,
        raw.request("GET", "/who", "Authorization: Basic Om5hbWVsZXNz", host="table.auth.test") *
        BATCH,
        raw.request("GET", "/who", host="ids.test") * BATCH,
        raw.request("GET", "/who", host="headers.test") * BATCH,
        raw.request("GET", "/who", host="refused.rules.test") * BATCH
    ], ids=[
        "get", "parameter", "head", "404", "post", "large", "pipelined", "pipelined-fields",
        "five-middlewares", "pipelined-five-middlewares", "cors", "auth", "request-id",
        "security-headers", "address-rules"
    ])
def test_requests_allocate_nothing_after_warm_up(server, work):
    method = "HEAD" if work.startswith(b"HEAD") else "GET"
    responses = work.count(b" HTTP/1.1\r\n")

    def rounds(connection, count):
        for _ in range(count):
            connection.send(work)
            for _ in range(responses):
                connection.response(method)

    with server.connect() as connection:
        rounds(connection, 50)
        heap_calls(connection)
        first, second = heap_calls(connection), heap_calls(connection)
        rounds(connection, ROUNDS)
        third = heap_calls(connection)
    # The request for the stats may allocate: as much as between two of them without other requests.
    assert third - second == second - first


def test_new_connections_reuse_memory_of_closed_ones(server):
    def visit(count):
        for _ in range(count):
            with server.connect() as connection:
                assert connection.request("GET", "/hello", "Connection: close").status == 200
                connection.assert_closed()

    with server.connect() as connection:
        visit(100)
        first, second = heap_calls(connection), heap_calls(connection)
        visit(100)
        assert heap_calls(connection) - second - (second - first) <= 2
