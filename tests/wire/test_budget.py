"""What a request may cost once the server is warm: one read, one write, no allocation; one write
per pipelined batch.

System calls are counted by strace between two requests that mark the place in its record."""

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
# What libuv may use to wait; everything else is the cost of the requests.
WAITING = {"epoll_wait", "epoll_pwait", "epoll_pwait2"}
READS = {"read", "readv", "recvfrom", "recvmsg"}
WRITES = {"write", "writev", "sendto", "sendmsg"}


def threads_of(pid):
    return {int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir()} - {pid}


def waiting_threads(record):
    """Those that have started: they wait for work."""
    return {int(tid) for tid in re.findall(r"^(\d+) +futex\(", record.read_text(), re.M)}


@pytest.fixture
def traced(tmp_path):
    strace = shutil.which("strace")
    assert strace, "strace is missing: install strace"
    record = tmp_path / "calls"
    # A leak check cannot run under strace; the other wire tests do it.
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
    """The names of the system calls from the request /none/begin to the request /none/end, without
    both."""
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
            assert connection.ask("GET", target).status == 200
        assert connection.ask("GET", "/none/begin").status == 404
        work(connection)
        assert connection.ask("GET", "/none/end").status == 404
    names = collections.Counter(calls_between_marks(server.record))
    # The answer to the first mark is written behind it.
    first = next(name for name in names if name in WRITES)
    names[first] -= 1
    print(dict(names))
    reads = sum(count for name, count in names.items() if name in READS)
    writes = sum(count for name, count in names.items() if name in WRITES)
    others = {
        name: count
        for name, count in names.items()
        if name not in READS | WRITES | WAITING and count
    }
    return reads, writes, others


def test_keep_alive_get_costs_one_read_and_one_write(traced):
    def one_at_a_time(connection):
        for _ in range(ROUNDS):
            assert connection.ask().body == b"Hello, world\n"

    assert count_calls(traced, one_at_a_time) == (ROUNDS, ROUNDS, {})


def test_five_middlewares_that_do_nothing_cost_no_call(traced):
    def one_at_a_time(connection):
        for _ in range(ROUNDS):
            assert connection.ask("GET", "/five/hello").body == b"Hello, world\n"

    assert count_calls(traced, one_at_a_time, "/five/hello") == (ROUNDS, ROUNDS, {})


def test_pipelined_batch_costs_one_write(traced):
    def batches(connection):
        for _ in range(ROUNDS):
            connection.send(raw.request() * BATCH)
            for response in connection.responses(BATCH):
                assert response.body == b"Hello, world\n"

    assert count_calls(traced, batches) == (ROUNDS, ROUNDS, {})


def test_small_upload_costs_one_read_and_one_write(traced):
    def uploads(connection):
        for _ in range(ROUNDS):
            assert connection.ask("POST", "/digest", body=b"abc").status == 200

    assert count_calls(traced, uploads) == (ROUNDS, ROUNDS, {})


def test_answer_larger_than_a_buffer_costs_one_write_while_the_socket_has_room(traced):
    def answers(connection):
        for _ in range(ROUNDS):
            assert len(connection.ask("GET", "/large?size=100000").body) == 100000

    reads, writes, others = count_calls(traced, answers, "/large?size=100000")
    # The system may be slow to hand the bytes on and take fewer at a time; then waiting for room is
    # the price.
    assert reads == ROUNDS and writes < ROUNDS * 1.2 and set(others) <= {"epoll_ctl"}


@pytest.mark.parametrize("piece, writes", [(3000, 1), (5000, 5)])
def test_a_piece_costs_at_most_one_write(traced, piece, writes):
    """Small ones leave together, larger ones with what is collected before them; what ends the body
    follows the last."""
    target = f"/pieces-out?size={4 * piece}&piece={piece}"

    def answers(connection):
        for _ in range(ROUNDS):
            assert len(connection.ask("GET", target).body) == 4 * piece

    reads, sent, _ = count_calls(traced, answers, target)  # the handler may allocate
    assert reads == ROUNDS and sent <= writes * ROUNDS


def heap_calls(connection):
    stats = json.loads(connection.ask("GET", "/stats").body)
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
def test_nothing_is_allocated_after_warm_up(server, work):
    method = "HEAD" if work.startswith(b"HEAD") else "GET"
    answers = work.count(b" HTTP/1.1\r\n")

    def rounds(connection, count):
        for _ in range(count):
            connection.send(work)
            for _ in range(answers):
                connection.response(method)

    with server.connect() as connection:
        rounds(connection, 50)
        heap_calls(connection)
        first, second = heap_calls(connection), heap_calls(connection)
        rounds(connection, ROUNDS)
        third = heap_calls(connection)
    # Asking may allocate; as much as between two questions without anything between them.
    assert third - second == second - first


def test_new_connections_reuse_memory(server):
    def visit(count):
        for _ in range(count):
            with server.connect() as connection:
                assert connection.ask("GET", "/hello", "Connection: close").status == 200
                connection.assert_closed()

    with server.connect() as connection:
        visit(100)
        first, second = heap_calls(connection), heap_calls(connection)
        visit(100)
        assert heap_calls(connection) - second - (second - first) <= 2
