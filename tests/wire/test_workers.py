"""Several workers: distribution of connections, totals of counters, responses from threads, files,
and stopping under load.

The same tests run with ThreadSanitizer (`./dev test --preset tsan`), which ends the server with a
nonzero exit code after a data race.
"""

import concurrent.futures
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

import raw
from wire_server import SAFETY_TIMEOUT, built, eventually, read_output


class WorkersServer:
    def __init__(self, workers, port=0, directory=None, log=None, **variables):
        arguments = [
            str(argument) for argument in (workers, port, directory, log) if argument is not None
        ]
        self.errors = tempfile.TemporaryFile()
        variables = {f"UVHTTP_{name.upper()}": str(value) for name, value in variables.items()}
        self.process = subprocess.Popen(
            [built("workers_server"), *arguments], stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1", **variables})
        select.select([self.process.stdout], [], [], 3 * SAFETY_TIMEOUT)
        line = self.process.stdout.readline().decode()
        self.port = int(line.rsplit(":", 1)[1]) if line else None

    def log(self):
        return read_output(self.errors)

    def request(self, target, method="GET", **extra):
        with raw.Connection(self.port) as connection:
            return connection.request(method, target, **extra)

    def stats(self):
        return json.loads(self.request("/stats").body)

    def wait(self):
        try:
            code = self.process.wait(timeout=3 * SAFETY_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not stop: {self.log()}") from None
        self.process.stdout.close()
        return code

    def signal(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        if self.process.returncode is None:
            self.signal()
            code = self.wait()
            assert code == 0, f"exit code {code}: {self.log()}"


@pytest.fixture
def start():
    running = []

    def starter(workers, **options):
        running.append(WorkersServer(workers, **options))
        assert running[-1].port, running[-1].log()
        return running[-1]

    yield starter
    for one in running:
        one.stop()


def in_threads(count, work):
    """The results of work(0), work(1), ..., run concurrently."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def assert_even(numbers, within=0.2):
    even = sum(numbers) / len(numbers)
    assert all(abs(number - even) <= within * even for number in numbers), numbers


# ---- distribution of connections ----


@pytest.fixture
def on_core():
    """on_core(1): binds this thread to the second of the available cores."""
    before = os.sched_getaffinity(0)
    yield lambda index: os.sched_setaffinity(0, {sorted(before)[index]})
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize("on_one_core", [False, True])
@pytest.mark.parametrize("workers, count", [(2, 10), (2, 50), (2, 400), (4, 40), (4, 400)])
def test_connections_are_distributed_evenly(start, on_core, workers, count, on_one_core):
    if (workers, count, on_one_core) == (4, 40, False) and len(os.sched_getaffinity(0)) >= workers:
        pytest.skip(
            "with few connections from several cores one of four workers may get a quarter less "
            "or even fewer")
    server = start(workers)
    if on_one_core:
        on_core(0)
    connections = [raw.Connection(server.port) for _ in range(count)]
    try:
        for connection in connections:
            assert connection.request(target="/hello").status == 200
        assert_even([one["active"] for one in server.stats()["workers"]])
    finally:
        for connection in connections:
            connection.close()


def test_worker_without_connections_gets_next_ones(start):
    server = start(2)
    kept, first = [raw.Connection(server.port) for _ in range(60)], []
    try:
        kept = [(connection, connection.request(target="/which").body) for connection in kept]
        for connection, worker in kept:
            if worker == b"0":
                connection.close()
                first.append(connection)
        kept = [connection for connection, worker in kept if worker != b"0"]
        eventually(lambda: server.stats()["workers"][0]["active"] <= 1,
                   "the connections of worker 0 are closed")
        kept += [raw.Connection(server.port) for _ in range(len(first))]
        for connection in kept:
            assert connection.request(target="/hello").status == 200
        assert_even([one["active"] for one in server.stats()["workers"]])
    finally:
        for connection in kept:
            connection.close()


def test_exchange_stays_on_its_worker(start):
    server = start(3)
    with raw.Connection(server.port) as connection:
        assert len({connection.request(target="/which").body for _ in range(20)}) == 1


def test_max_connections_counts_over_all_workers(start):
    server = start(4, max_connections=20)
    connections = [raw.Connection(server.port) for _ in range(20)]
    try:
        for connection in connections:
            assert connection.request(target="/hello").status == 200
        assert [server.request("/hello").status for _ in range(5)] == [503] * 5
    finally:
        for connection in connections:
            connection.close()
    eventually(lambda: server.request("/hello").status == 200, "new connections are accepted")
    assert server.stats()["all"]["rejected"] >= 5


def test_second_server_gets_port_in_use(start):
    server = start(2)
    second = WorkersServer(2, port=server.port)
    assert second.port is None
    assert second.wait() == 1
    assert "EADDRINUSE" in second.log()
    assert all(server.request("/hello").status == 200 for _ in range(20))


# ---- counters ----


def test_totals_equal_sent_requests(start):
    server = start(3)
    threads, requests = 8, 250

    def load(number):
        with raw.Connection(server.port) as connection:
            return sum(connection.request(target="/hello").status == 200 for _ in range(requests))

    reading = threading.Event()
    seen = []

    def read():
        while not reading.is_set():
            seen.append(server.stats()["all"]["requests"])

    reader = threading.Thread(target=read)
    reader.start()
    responded = sum(in_threads(threads, load))
    reading.set()
    reader.join()
    assert responded == threads * requests
    assert seen == sorted(seen)
    requested = responded + len(seen) + 1
    counted = server.stats()
    assert counted["all"]["requests"] == requested  # this request is counted, too
    assert counted["all"]["ok"] == requested - 1
    for name in ("requests", "ok", "connections"):
        assert sum(one[name] for one in counted["workers"]) == counted["all"][name]
    text = server.request("/metrics").body.decode()
    assert int(re.search(r"^uvhttp_requests_total (\d+)$", text, re.M)[1]) == requested + 1
    eventually(lambda: (lambda one: one["latencies"] == one["requests"] - 1)(server.stats()["all"]),
               "a latency is recorded for each request")


# ---- responses from other threads ----


def test_threads_send_responses(start):
    server = start(3)

    def fetch(number):
        with raw.Connection(server.port) as connection:
            for _ in range(25):
                assert connection.request(target="/thread").body == connection.request(
                    target="/which").body
        return True

    assert all(in_threads(8, fetch))


def test_posted_tasks_run_on_all_workers(start):
    server = start(4)

    def fetch(number):
        with raw.Connection(server.port) as connection:
            worker = connection.request(target="/which").body
            return all(connection.request(target="/around").body == worker for _ in range(50))

    assert all(in_threads(6, fetch))


def test_disconnect_before_response_of_thread(start):
    server = start(2)
    for _ in range(40):
        connection = raw.Connection(server.port)
        connection.send(raw.request(target="/thread?ms=30"))
        connection.reset()
    eventually(lambda: server.stats()["threads"] == 0, "the threads have ended")
    counted = server.stats()
    assert 0 < counted["aborts"] <= 40
    eventually(lambda: server.stats()["all"]["active"] == 1, "the resets are detected")


def test_timers_run_on_the_loop_of_the_request(start):
    server = start(3)
    assert all(
        in_threads(12, lambda number: server.request(f"/timer?ms={number}").body == b"waited"))


def test_bodies_of_workers_are_separate(start):
    server = start(3)

    def fetch(number):
        with raw.Connection(server.port) as connection:
            for size in (10, 5000, 70000, 300000):
                body = bytes([number]) * size
                assert connection.request("POST", "/echo", body=body).body == body
        return True

    assert all(in_threads(8, fetch))


# ---- modules ----


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "small.txt").write_text("small\n")
    (tmp_path / "large.txt").write_text("large\n" * 10000)
    return tmp_path


def test_files_and_access_log_with_several_workers(start, directory, tmp_path):
    log = tmp_path / "access.log"
    server = start(3, directory=directory, log=log)
    large = (directory / "large.txt").read_bytes()

    def load(number):
        with raw.Connection(server.port) as connection:
            for _ in range(40):
                assert connection.request(target="/files/small.txt").body == b"small\n"
                assert connection.request(target="/files/large.txt").body == large
                assert connection.request(target="/files/none").status == 404
        return True

    assert all(in_threads(9, load))
    (directory / "small.txt").write_text("changed\n")

    def all_changed():
        return all(server.request("/files/small.txt").body == b"changed\n" for _ in range(12))

    eventually(all_changed, "every worker has detected the change")
    requested = server.stats()["finished"]
    server.stop()
    lines = log.read_text().splitlines()
    assert len(lines) == requested + 1
    assert all(
        re.fullmatch(r'127\.0\.0\.1 - - \[[^]]+\] "GET /[a-z./]+ HTTP/1\.1" \d{3} \d+', line)
        for line in lines)


# ---- stopping ----


@pytest.mark.parametrize("variant", ["signal", "handler", "twice"])
def test_stop_under_load_loses_no_response(start, variant):
    server = start(3, drain_timeout=600)
    endless = raw.Connection(server.port)
    if variant == "twice":  # only the second signal ends it
        endless.send(raw.request(target="/timer?ms=600000"))
        wait_for_requests(server, 1)
    begun = threading.Barrier(7)

    def load(number):
        responded = 0
        target = ("/hello", "/thread", "/timer?ms=1", "/around", "/hello", "/hello")[number]
        begun.wait()
        while True:
            try:
                connection = raw.Connection(server.port)
            except (ConnectionRefusedError,
                    ConnectionResetError):  # in the accept queue of a listener that is closed
                return responded
            with connection:
                try:
                    for _ in range(20):
                        if connection.request(target=target).has_close():
                            break
                        responded += 1
                except (ConnectionResetError, BrokenPipeError, AssertionError) as error:
                    # A server that stops may close between responses, not within one.
                    assert variant == "twice" or not connection.buffer, error
                    return responded

    def stop():
        begun.wait()
        while server.stats()["all"]["requests"] < 200:
            pass
        if variant == "handler":
            server.request("/stop")
        else:
            server.signal()
        if variant == "twice":
            eventually(lambda: "stopping" in server.log(), "the server drains")
            server.signal()

    with concurrent.futures.ThreadPoolExecutor(7) as pool:
        loads = [pool.submit(load, number) for number in range(6)]
        try:
            pool.submit(stop).result()
        except BaseException:
            server.process.kill()  # ends the clients
            raise
        assert sum(one.result() for one in loads) > 0
    assert server.wait() == 0, server.log()
    endless.close()


def wait_for_requests(server, count):
    """Until so many are received, besides those of this function."""
    own = 0

    def received():
        nonlocal own
        own += 1
        return server.stats()["all"]["requests"] >= count + own

    eventually(received, "all requests are received")


def test_stop_responds_to_connected_clients(start):
    server = start(3)
    connections = [raw.Connection(server.port) for _ in range(60)]
    for connection in connections:
        connection.send(raw.request(target="/timer?ms=500"))
    wait_for_requests(server, 60)
    server.signal()
    for connection in connections:
        response = connection.response()
        # On a busy machine a request may be sent before the worker handles the signal.
        assert response.body == b"waited" and (response.has_close() or connection.rest() == b"")
        connection.close()
    assert server.wait() == 0, server.log()


def test_threads_respond_during_stop(start):
    server = start(2)
    with raw.Connection(server.port) as connection:
        connection.send(raw.request(target="/thread?ms=300"))
        eventually(lambda: server.stats()["threads"] == 1, "the thread works")
        server.signal()
        response = connection.response()
        assert response.status == 200 and (response.has_close() or connection.rest() == b"")
    assert server.wait() == 0, server.log()


@pytest.mark.parametrize("drain, signals", [(0, 1), (60, 2)])
def test_drain_timeout_or_second_signal_ends_server(start, drain, signals):
    server = start(3, drain_timeout=drain)
    connections = [raw.Connection(server.port) for _ in range(12)]
    for connection in connections:
        connection.send(raw.request(target="/timer?ms=600000"))
    wait_for_requests(server, 12)
    for _ in range(signals):
        server.signal()
        eventually(lambda: "stopping: " in server.log(), "the server stops")
    for connection in connections:
        assert connection.rest() == b""
        connection.close()
    assert server.wait() == 0, server.log()


def test_too_few_descriptors_are_logged(start):
    with tempfile.TemporaryFile() as errors:
        process = subprocess.run(
            [built("workers_server"), "16"], stdout=errors, stderr=errors,
            timeout=3 * SAFETY_TIMEOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)))
        errors.seek(0)
        log = errors.read().decode()
    assert process.returncode == 1
    assert "16 workers: too many open files" in log and "EMFILE" in log


def test_connect_during_stop_does_not_block(start):
    """A connection accepted at the last moment gets a response or is closed."""
    server = start(2)
    done = threading.Event()

    def connect(number):
        while not done.is_set():
            try:
                with socket.create_connection(("127.0.0.1", server.port),
                                              timeout=SAFETY_TIMEOUT) as connection:
                    connection.sendall(raw.request(target="/hello"))
                    connection.recv(1000)
            except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
                pass
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(connect, number) for number in range(4)]
        eventually(lambda: server.stats()["all"]["requests"] > 50, "some requests are handled")
        server.signal()
        code = server.wait()
        done.set()
        assert all(client.result() for client in clients)
    assert code == 0, server.log()
