"""Early data of TLS 1.3 (RFC 8446 section 2.3, RFC 8470): which requests are served before the end
of the handshake, which are not, and that replayed data never executes a request twice. The client
is `openssl s_client`."""

import os
import re
import socket
import subprocess
import threading
import time

import pytest

import raw
import tls
from test_tls import Server, rejected
from wire_server import SAFETY_TIMEOUT, eventually

EARLY = "--early-data=16384"


@pytest.fixture
def start():
    running = []

    def starter(*flags, **options):
        running.append(Server(*flags, **options))
        return running[-1]

    yield starter
    for server in running:
        server.stop()


def get(target="/count", *fields, method="GET", close=True, **options):
    return raw.request(method, target, *fields, *(["Connection: close"] if close else []),
                       **options)


def command(port, *extra, name="localhost"):
    return [
        "openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-servername",
        name, *map(str, extra)
    ]


def talk(port, *extra, data=b"", name="localhost"):
    """The output of the server for a client that sends `data` after its handshake, until the server
    ends."""
    run = subprocess.run(command(port, *extra, name=name), input=data, capture_output=True,
                         timeout=3 * SAFETY_TIMEOUT)
    return run.stdout


def session_of(server, path, name="localhost", *extra):
    """A file with a session. Each one has its own ticket."""
    talk(server.port, "-sess_out", path, *extra, data=get("/hello", host=name), name=name)
    assert path.exists(), "no ticket was received"
    return path


@pytest.fixture
def session(tmp_path):
    return lambda server, name="localhost", *extra: session_of(server, tmp_path / os.urandom(4).hex(
    ), name, *extra)


def allows_early(session):
    text = subprocess.run(["openssl", "sess_id", "-in", session, "-noout", "-text"],
                          capture_output=True, check=True).stdout
    found = re.search(rb"Max Early Data: (\d+)", text)
    return found is not None and int(found[1]) > 0


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def gather(accepted, size):
    """The first flight of a client with that many bytes of early data."""
    flight = accepted.recv(65536)
    while early_bytes(flight) < size:
        extra = accepted.recv(65536)
        assert extra, "the client has sent no early data"
        flight += extra
    return flight


def early_stream(server, session, data, rest=b"", *extra, name="localhost"):
    """The output for a client with the early data `data` that sends `rest` later. ClientHello and
    early data reach the server together; after the end of the handshake the data would not be
    early."""
    file = session.with_suffix(".early")
    file.write_bytes(data)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SAFETY_TIMEOUT)
        client = subprocess.Popen(
            command(listening.getsockname()[1], "-sess_in", session, "-early_data", file, *extra,
                    name=name), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        with listening.accept()[0] as accepted, socket.create_connection(
            ("127.0.0.1", server.port)) as connection:
            connection.sendall(gather(accepted, len(data) if allows_early(session) else 0))
            threads = [
                threading.Thread(target=pump, args=pair)
                for pair in [(accepted, connection), (connection, accepted)]
            ]
            for thread in threads:
                thread.start()
            stream = client.communicate(rest, timeout=3 * SAFETY_TIMEOUT)[0]
            for thread in threads:
                thread.join()
    return stream


def early(*arguments, **options):
    """Statuses and bodies of these responses."""
    return parsed(early_stream(*arguments, **options))


def parsed(stream):
    responses = []
    while stream:
        head, _, stream = stream.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)^content-length: (\d+)\r?$", head, re.M)
        size = int(length[1]) if length else 0
        assert len(stream) >= size, "the response is truncated"
        responses.append((int(head.split()[1]), stream[:size].decode("latin-1").strip()))
        stream = stream[size:]
    return responses


def counted(server):
    """The number of executed requests to /count. This request counts, too."""
    return int(server.request("/count", plain=True).body.split()[0]) - 1


def records(data):
    """The complete TLS records at the beginning of some bytes: (type, record)."""
    while len(data) >= 5 and len(data) >= 5 + int.from_bytes(data[3:5], "big"):
        size = 5 + int.from_bytes(data[3:5], "big")
        yield data[0], data[:size]
        data = data[size:]


def early_bytes(data):
    """The number of bytes of early data in a first flight. Each record has 17 more."""
    return sum(len(record) - 5 - 17 for kind, record in records(data) if kind == 23)


def first_flight(session, data):
    """The first flight of a client: ClientHello and early data. No server receives it, so its
    ticket is unused."""
    file = session.with_suffix(".early")
    file.write_bytes(data)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = subprocess.Popen(
            command(listening.getsockname()[1], "-sess_in", session, "-early_data", file),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listening.settimeout(SAFETY_TIMEOUT)
        with listening.accept()[0] as accepted:
            accepted.settimeout(SAFETY_TIMEOUT)
            flight = gather(accepted, len(data))
        client.wait()
    return flight


def send_raw(server, flight):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT)
    connection.sendall(flight)
    return connection


def received(connection):
    """All data until the connection ends."""
    data = b""
    try:
        while extra := connection.recv(65536):
            data += extra
    except ConnectionError:
        pass
    return data


# ---- served requests ----


def test_early_request_is_served_as_early(start, session):
    server = start(EARLY)
    assert early(server, session(server), get()) == [(200, "1 early")]
    stats = server.stats()
    assert (stats["handshakes"], stats["resumed"], stats["failures"], stats["early"]) == (2, 1, 0,
                                                                                          1)


def test_early_data_is_disabled_by_default(start, session):
    server = start()
    assert early(server, session(server), get(), get()) == [(200, "1 late")]
    assert server.stats()["early"] == 0


def test_early_response_precedes_end_of_handshake(start, session):
    """A client that never finishes the handshake is closed after the timeout."""
    server = start(EARLY, "--handshake-timeout=3")
    with send_raw(server, first_flight(session(server), get("/big?size=500000",
                                                            close=False))) as connection:
        data = b""
        while len(data) < 500000:
            extra = connection.recv(65536)
            assert extra, "the connection ended before the end of the response"
            data += extra
        stats = server.stats()
        assert (stats["handshakes"], stats["early"], stats["timeouts"]) == (1, 1, 0)
        received(connection)
    assert server.stats()["timeouts"] == 1


@pytest.mark.parametrize("close", [False, True])
def test_stop_closes_unfinished_handshake(start, session, close):
    server = start(EARLY, "--handshake-timeout=1")
    with send_raw(server, first_flight(session(server), get(close=close))) as connection:
        eventually(lambda: server.stats()["early"] == 1, "the early request is received")
        server.stop()
        received(connection)


def test_disconnect_in_handshake_with_early_data(start, session):
    server = start(EARLY)
    for data in (get(), get(close=False), get()[:-1], get("/big")):
        with send_raw(server, first_flight(session(server), data)) as connection:
            connection.shutdown(socket.SHUT_WR)
            received(connection)
    eventually(lambda: server.stats()["failures"] >= 3 and server.stats()["active"] == 1,
               "the connections are closed")


def test_several_early_requests_get_responses(start, session):
    server = start(EARLY)
    data = get(close=False) + get(method="POST", body=b"12345", close=False) + get(
        "/hello", close=False) + get()
    assert early(server, session(server), data) == [(200, "1 early"), (425, "425 Too Early"),
                                                    (200, "Hello, world"), (200, "2 early")]
    assert server.stats()["early"] == 4


def test_request_completed_after_handshake_is_not_early(start, session):
    server = start(EARLY)
    for cut in (1, 10, len(get()) - 1):
        assert early(server, session(server), get()[:cut], get()[cut:])[0][1].endswith(" late")
    assert server.stats()["early"] == 0


def test_late_request_follows_early_request(start, session):
    server = start(EARLY)
    assert early(server, session(server), get(close=False), get()) == [(200, "1 early"),
                                                                       (200, "2 late")]


def test_blocking_handler_gets_early_flag(start, session):
    server = start(EARLY)
    assert early(server, session(server), get("/blocking-count")) == [(200, "1 early")]


def test_early_request_gets_large_response(start, session):
    server = start(EARLY)
    [(status, body)] = early(server, session(server), get("/big?size=20000000"))
    assert status == 200 and len(body) == 20000000


def test_early_data_up_to_the_limit(start, session):
    server = start(EARLY)
    request = get(close=False)
    count = 16384 // len(request) - 1
    data = request * count
    last = get("/count", "X: " + "x" * (16384 - len(data) - len(get("/count", "X: "))))
    assert len(data + last) == 16384
    assert early(server, session(server),
                 data + last) == [(200, f"{n + 1} early") for n in range(count + 1)]


def test_tickets_of_resumed_sessions_allow_early_data(start, session, tmp_path):
    server = start(EARLY)
    current = session(server)
    for n in range(3):
        following = tmp_path / f"following{n}"
        assert early(server, current, get(), b"", "-sess_out",
                     following) == [(200, f"{n + 1} early")]
        current = following


# ---- requests that are not served early ----


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "CONNECT", "M-SEARCH"])
def test_early_data_allows_safe_methods_only(start, session, method):
    server = start(EARLY)
    target = "localhost:1" if method == "CONNECT" else "/count"
    stream = early_stream(server, session(server), get(target, method=method))
    status = int(stream.split()[1])
    if method in ("GET", "HEAD", "OPTIONS"):
        assert status == 200 and counted(server) == 1
    else:
        assert status == 425 and counted(server) == 0


def test_unsafe_method_succeeds_when_repeated(start, session):
    server = start(EARLY)
    request = get(method="POST", body=b"12345", close=False)
    assert early(server, session(server), request, get(method="POST",
                                                       body=b"12345")) == [(425, "425 Too Early"),
                                                                           (200, "1 late")]


def test_early_request_with_body_gets_425(start, session):
    server = start(EARLY)
    request = get(method="GET", body=b"12345", close=False)
    assert early(server, session(server), request, get()) == [(425, "425 Too Early"),
                                                              (200, "1 late")]


def test_handler_may_reject_early_request(start, session):
    server = start(EARLY)
    assert early(server, session(server), get("/dear", close=False),
                 get("/dear")) == [(425, "425 Too Early"), (200, "1 late")]


def test_early_upgrade_gets_425(start, session):
    server = start(EARLY)
    fields = "Connection: upgrade", "Upgrade: test"
    assert early(server, session(server), get("/upgrade", *fields, close=False),
                 get()) == [(425, "425 Too Early"), (200, "1 late")]


@pytest.mark.parametrize("level", [1, 2])
def test_client_certificates_disable_early_data(start, session, level):
    ca = tls.authority()
    client = tls.certificate("client.example", ca=ca, usage="clientAuth")
    server = start(f"--cert={tls.default_cert()}", f"--auth={level}", f"--ca={ca}", EARLY)
    shown = "-cert", client, "-key", client
    assert early(server, session(server, "localhost", *shown), get(), get(),
                 *shown) == [(200, "1 late")]
    assert server.stats()["early"] == 0


def test_early_data_with_several_certificates(start, session):
    server = start(f"--cert={tls.certificate('a.example')}",
                   f"--cert={tls.certificate('b.example')}", EARLY)
    for n, name in enumerate(["a.example", "b.example", "c.example"]):
        assert early(server, session(server, name), get(), name=name) == [(200, f"{n + 1} early")]


def test_hello_retry_request_disables_early_data(start, session):
    server = start(EARLY, "--groups=secp384r1")
    assert early(server, session(server), get(), get()) == [(200, "1 late")]


def test_ticket_key_files_reject_early_data_after_start(start, session, tmp_path):
    """The previous owner of the keys may have served the same data."""
    (tmp_path / "key").write_bytes(os.urandom(80))
    server = start(EARLY, f"--ticket-key={tmp_path}/key")
    assert early(server, session(server), get(), get()) == [(200, "1 late")]


def test_early_data_for_unknown_keys_is_skipped(start, session):
    old, new = start(EARLY), start(EARLY)
    assert early(new, session(old), get() + bytes(10000), get()) == [(200, "1 late")]
    assert new.stats()["failures"] == 0


def test_reload_keeps_ticket_register(start, session):
    server = start(EARLY)
    before, again = session(server), session(server)
    assert server.request("/reload", plain=True).body == b"ok"
    assert early(server, before, get()) == [(200, "1 early")]
    assert server.request(f"/reload?cert={tls.default_cert()}", plain=True).body == b"ok"
    assert early(server, before, get(), get()) == [(200, "2 late")]
    assert early(server, again, get()) == [(200, "3 early")]


@pytest.mark.parametrize("flags", [[], ["--early-data=1000"]])
def test_reduced_early_data_limit_skips_data(start, session, tmp_path, flags):
    """Tickets of a configuration with a higher limit. The early data that they allow is skipped."""
    (tmp_path / "key").write_bytes(os.urandom(80))
    key = f"--ticket-key={tmp_path}/key"
    generous, strict = start(key, "--early-data=1000000"), start(key, *flags)
    assert early(strict, session(generous), get() + bytes(100000), get()) == [(200, "1 late")]
    assert strict.stats()["failures"] == 0


# ---- replays ----


def test_replayed_flight_executes_request_once(start, session):
    server = start("--workers=2", EARLY)
    flight = first_flight(session(server), get())
    connections = [send_raw(server, flight) for _ in range(10)]
    eventually(lambda: server.stats()["early"] >= 1, "the first request is served")
    for connection in connections:  # now each one has received the first flight of a handshake
        assert connection.recv(65536)
        connection.close()
    eventually(lambda: server.stats()["active"] == 1, "the connections are closed")
    assert counted(server) == 1 and server.stats()["early"] == 1


def test_replay_after_served_request_is_not_executed(start, session):
    """A proxy records the data of a client, and the client gets its response."""
    server = start(EARLY)
    before = session(server)
    file = before.with_suffix(".early")
    file.write_bytes(get())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = subprocess.Popen(
            command(listening.getsockname()[1], "-sess_in", before, "-early_data", file),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with listening.accept()[0] as accepted, socket.create_connection(
            ("127.0.0.1", server.port)) as connection:
            recorded = gather(accepted, len(get()))
            connection.sendall(recorded)
            accepted.sendall(connection.recv(65536))
            connection.sendall(accepted.recv(65536))
            accepted.sendall(received(connection))
        assert b"1 early" in client.communicate()[0]
    for _ in range(3):
        with send_raw(server, recorded) as connection:
            assert connection.recv(65536)
    assert counted(server) == 1 and server.stats()["early"] == 1


def test_modified_early_data_closes_connection(start, session):
    server = start(EARLY)
    flight = bytearray(first_flight(session(server), get()))
    flight[-20] ^= 1
    with send_raw(server, bytes(flight)) as connection:
        received(connection)
    assert counted(server) == 0 and server.stats()["failures"] == 1


def test_first_flight_split_anywhere(start, session):
    """Each possible split, and the last byte late."""
    server = start(EARLY)
    flight = first_flight(session(server), get(close=False))
    with send_raw(server, b"") as connection:
        for at in range(0, len(flight), 7):
            connection.sendall(flight[at:at + 7])
            time.sleep(0.001)  # so that they mostly are separate segments
        eventually(lambda: server.stats()["early"] == 1, "the request is executed")
    assert counted(server) == 1


# ---- the configuration ----


def test_configuration_errors_name_the_cause():
    cert = f"--cert={tls.default_cert()}"
    assert rejected(cert, "--early-data=1048577"
                    ) == "UVHTTP_ECONFIG: early_data is 1048577; allowed are 0 to 1048576 bytes"
    assert rejected(cert, "--early-data=1",
                    "--no-tickets") == ("UVHTTP_ECONFIG: early_data and no_tickets are both set; "
                                        "early data requires tickets")
    assert rejected(cert, "--early-data=1",
                    "--max=1") == ("UVHTTP_ECONFIG: early_data is set, but max_version is TLS 1.2; "
                                   "early data requires TLS 1.3")
