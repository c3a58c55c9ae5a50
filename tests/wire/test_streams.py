"""Upgraded connections: checks of the upgrade, data after the head, back-pressure in both
directions, and every way to close."""

import json
import select
import socket
import subprocess

import pytest
import raw
from wire_server import eventually

OFFER = ("Connection: upgrade", "Upgrade: Echo/1")


def offer(target="/echo-stream", *fields, method="GET", body=b"", version="HTTP/1.1"):
    return raw.request(method, target, *OFFER, *fields, body=body, version=version)


def upgrade(connection, request=None):
    connection.send(request or offer())
    status, reason, fields, _ = connection.head()
    names = {name.lower(): value for name, value in fields}
    assert (status, reason) == (101, "Switching Protocols")
    assert (names["upgrade"], names["connection"]) == ("Echo/1", "Upgrade")
    assert "content-length" not in names and "transfer-encoding" not in names
    return connection


def finished(server, before):
    eventually(lambda: server.stats()["streams_closed"] == before + 1, "the stream is closed once")


@pytest.fixture
def closed_before(server):
    return server.stats()["streams_closed"]


def test_stream_echoes_bytes_unchanged(server, closed_before):
    with server.connect() as connection:
        upgrade(connection)
        for chunk in (b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)), b"x"):
            connection.send(chunk)
            assert connection.receive_exactly(len(chunk)) == chunk
    finished(server, closed_before)


def test_bytes_after_upgrade_request_belong_to_stream(server):
    with server.connect() as connection:
        upgrade(connection, offer() + raw.request())
        assert connection.receive_exactly(len(raw.request())) == raw.request()


def test_request_before_upgrade_gets_response_first(server):
    with server.connect() as connection:
        connection.send(raw.request() + offer() + b"rest")
        assert connection.response().body == b"Hello, world\n"
        assert connection.head()[0] == 101
        assert connection.receive_exactly(4) == b"rest"


def test_upgrade_reads_request_body_first(server):
    with server.connect() as connection:
        upgrade(connection, offer(method="POST", body=b"12345") + b"rest")
        assert connection.receive_exactly(4) == b"rest"


def test_first_stream_write_follows_head(server):
    with server.connect() as connection:
        upgrade(connection, offer("/echo-stream?greet"))
        assert connection.receive_exactly(5) == b"hello"


@pytest.mark.parametrize("request_bytes", [
    raw.request("GET", "/echo-stream"),
    raw.request("GET", "/echo-stream", "Upgrade: Echo/1"),
    raw.request("GET", "/echo-stream", "Connection: upgrade"),
    raw.request("GET", "/echo-stream", "Connection: upgrade", "Upgrade: Echo"),
    raw.request("GET", "/echo-stream", "Connection: upgrade", "Upgrade: Echo/2, h2c")
], ids=["nothing", "no-connection", "no-upgrade", "no-version", "others"])
def test_request_without_upgrade_gets_426(server, request_bytes):
    with server.connect() as connection:
        connection.send(request_bytes)
        response = connection.response()
        assert (response.status, response.get("Upgrade"),
                response.get("Connection")) == (426, "Echo/1", "Upgrade")
        assert connection.request().status == 200


def test_http_1_0_upgrade_gets_426(server):
    with server.connect() as connection:
        connection.send(offer(version="HTTP/1.0"))
        response = connection.response()
        assert response.status == 426 and response.has_close()
    with server.connect() as connection:
        connection.send(offer("/echo-stream", "Connection: keep-alive", version="HTTP/1.0"))
        response = connection.response()
        assert (response.status, response.get("Connection")) == (426, "Upgrade, keep-alive")
        assert connection.request().status == 200


@pytest.mark.parametrize("lines", [("Connection: keep-alive, Upgrade", "Upgrade: h2c, echo/1"),
                                   ("connection: UPGRADE", "upgrade: other", "upgrade: ECHO/1")])
def test_upgrade_tokens_ignore_case_and_may_be_in_lists(server, lines):
    with server.connect() as connection:
        upgrade(connection, raw.request("GET", "/echo-stream", *lines))


def test_middleware_runs_before_upgrade(server):
    """The same 401 as for other requests: see guard() of the server."""
    with server.connect() as connection:
        connection.send(offer("/upgrade-wrongly"))
        assert connection.response().body == b"UVHTTP_EINVAL UVHTTP_EINVAL 1"
        assert connection.request().status == 200


def test_upgrade_with_unread_body_fails(server):
    with server.connect() as connection:
        connection.send(offer("/unread-stream", "Content-Length: 5", method="POST"))
        response = connection.response()
        assert response.status == 500 and response.get("Upgrade") is None


def test_stream_write_accepts_sixteen_buffers(server):
    whole = b"".join(b"<%d>" % i for i in range(16))
    with server.connect() as connection:
        upgrade(connection)
        connection.send(b"areas")
        assert connection.receive_exactly(len(whole)) == whole
        assert server.stats()["last_error"] == "UVHTTP_EINVAL"


def test_stream_timer_fires_once_per_start(server):
    with server.connect() as connection:
        upgrade(connection)
        connection.send(b"timer")
        assert connection.receive_exactly(12) == b"tickticktick"
        connection.send(b"and on")
        assert connection.receive_exactly(6) == b"and on"


@pytest.mark.plain
def test_stream_back_pressure_with_late_reader(server, closed_before):
    """The client writes without reading until an echo write is rejected. Back-pressure reaches the
    client, and no data is lost."""
    rejected = server.stats()["rejected_writes"]
    data, sent, got = raw.pattern(30_000_000), 0, 0
    with server.connect(receive_buffer=16384, send_buffer=16384) as connection:
        upgrade(connection, offer("/echo-stream?backlog=20000"))
        connection.socket.setblocking(False)
        while server.stats()["rejected_writes"] == rejected:
            try:
                sent += connection.socket.send(data[sent:sent + 65536])
            except BlockingIOError:
                pass
        assert sent < len(data)
        while got < sent:
            readable, writable, _ = select.select([connection.socket],
                                                  [connection.socket] if sent < 2_000_000 else [],
                                                  [])
            if writable:
                sent += connection.socket.send(data[sent:sent + 65536])
            if readable:
                chunk = connection.receive()
                assert chunk == data[got:got + len(chunk)]
                got += len(chunk)
    finished(server, closed_before)


def test_half_close_of_client_gets_rest(server, closed_before):
    with server.connect(receive_buffer=16384) as connection:
        upgrade(connection, offer("/echo-stream?backlog=1000"))
        data = raw.pattern(600_000)
        connection.send(data)
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.rest() == data
    finished(server, closed_before)


def test_stream_end_by_server(server, closed_before):
    with server.connect() as connection:
        upgrade(connection)
        connection.send(b"end")
        assert connection.rest() == b"bye"
        assert server.stats()["last_error"] == "UVHTTP_EDISCONNECTED"
    finished(server, closed_before)


def test_stream_close_by_server(server, closed_before):
    with server.connect() as connection:
        upgrade(connection)
        connection.send(b"close")
        connection.assert_closed()
    finished(server, closed_before)


def test_reset_closes_stream(server, closed_before):
    with server.connect() as connection:
        upgrade(connection)
        connection.reset()
    finished(server, closed_before)


def test_stream_has_write_timeout_only(start):
    server = start(keep_alive_timeout=1, header_timeout=1, body_timeout=1, handler_timeout=1,
                   write_timeout=1)
    with server.connect() as quiet, server.connect(receive_buffer=16384) as stuck:
        upgrade(quiet)
        upgrade(stuck, offer("/echo-stream?backlog=1000"))
        stuck.socket.setblocking(False)
        try:
            while True:
                stuck.socket.send(b"x" * 65536)
        except BlockingIOError:
            pass
        finished(server, 0)
        assert server.stats()["timeouts"] >= 1
        quiet.send(b"still here")
        assert quiet.receive_exactly(10) == b"still here"


@pytest.mark.parametrize("path, last", [("/echo-stream", b""), ("/polite-stream", b"goodbye")])
def test_stop_notifies_or_ends_stream(start, path, last):
    server = start(drain_timeout=60)
    with server.connect() as connection:
        upgrade(connection, offer(path))
        server.request("GET", "/stop")
        assert connection.rest() == last
    assert server.wait() == 0


def test_drain_timeout_ends_stream(start):
    server = start(drain_timeout=0)
    with server.connect() as connection:
        upgrade(connection, offer("/polite-stream"))
        server.request("GET", "/stop")
        connection.rest()
    assert server.wait() == 0


def test_stats_count_101_as_informational(server):
    before = server.stats()
    with server.connect() as connection:
        upgrade(connection)
        after = server.stats()
    assert after["responses_1xx"] == before["responses_1xx"] + 1


# ---- outgoing connections ----


def through(connection, host, port):
    return upgrade(connection, offer(f"/tunnel?host={host}&port={port}"))


@pytest.mark.plain
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_stream_to_another_server(server, start, host):
    other, before = start(), server.stats()
    with server.connect() as connection:
        through(connection, host, other.port)
        assert connection.receive_exactly(10) == b"connected\n"
        for _ in range(3):
            assert connection.request().body == b"Hello, world\n"
        assert other.stats()["total_requests"] >= 3
        after = server.stats()
        # This connection, and the one for the stats. The outgoing connection is not counted.
        assert after["total_connections"] - before["total_connections"] == 2
    eventually(lambda: server.stats()["streams_closed"] == before["streams_closed"] + 2,
               "both sides are closed")


@pytest.mark.plain
def test_proxied_stream_back_pressure_with_late_reader(server, start):
    other, size = start(), 12_000_000  # more than the send buffers of the system can grow to
    rejected = server.stats()["rejected_writes"]
    with server.connect(receive_buffer=16384) as connection:
        through(connection, "127.0.0.1", other.port)
        assert connection.receive_exactly(10) == b"connected\n"
        connection.send(raw.request("GET", f"/large?size={size}", "Connection: close"))
        eventually(lambda: server.stats()["rejected_writes"] > rejected,
                   "the socket to the client is full")
        response = connection.response()
        assert response.status == 200 and response.body == raw.pattern(size)


@pytest.mark.parametrize("host, name", [("127.0.0.1", "ECONNREFUSED"),
                                        ("no%20such%20host", "EAI_NONAME")])
def test_connect_error_is_reported(server, host, name):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with server.connect() as connection:
            through(connection, host, unused.getsockname()[1])
            assert connection.rest().decode().endswith(name)


def test_stop_ends_outgoing_connections(start):
    server, other = start(drain_timeout=60), start()
    with server.connect() as connection:
        through(connection, "127.0.0.1", other.port)
        assert connection.receive_exactly(10) == b"connected\n"
        server.request("GET", "/stop")
        connection.rest()
    assert server.wait() == 0


@pytest.mark.plain
def test_node_upgrade(server):
    script = """
      const http = require('http');
      const request = http.request({host: '127.0.0.1', port: %d, path: '/echo-stream',
                                    headers: {Connection: 'Upgrade', Upgrade: 'Echo/1'}});
      request.on('upgrade', (response, socket, head) => {
        let text = head.toString();
        socket.on('data', data => { text += data; if (text.length == 5) socket.end(); });
        socket.on('close', () => console.log(JSON.stringify(
          [response.statusCode, response.headers.upgrade, text])));
        socket.write('hello');
      });
      request.end();
    """ % server.port
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == [101, "Echo/1", "hello"], done.stderr
