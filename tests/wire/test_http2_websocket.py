"""WebSocket over HTTP/2: extended CONNECT (RFC 8441). Numbers in comments are its sections. The
tests of WebSocket run over it, too (`./dev test wire-h2`)."""

import json
import socket
import ssl
import struct

import pytest

import browser
import http2_client as h2
import tls
import ws_raw
from http2_client import Client
from wire_server import WireServer, eventually


def connect(client, path="/ws/echo", *fields, protocol="websocket", **pseudo):
    """Sends an extended CONNECT; returns its stream, which remains open."""
    number = client.new_stream("CONNECT")
    block = h2.head("CONNECT", path, *fields, **pseudo)
    block.insert(1, (":protocol", protocol))
    client.send(h2.headers(number, h2.block(block), end=False))
    return number


VERSION = ("sec-websocket-version", "13")


def open_count(server):
    return ws_raw.websocket_state(server)["connections"]


class Tunnel:
    """A WebSocket on a stream."""
    def __init__(self, client, path="/ws/echo", *fields):
        client.until(lambda: client.settled, "no SETTINGS")
        self.client, self.number = client, connect(client, path, VERSION, *fields)
        self.stream = client.streams[self.number]
        client.until(lambda: self.stream.status or self.stream.reset, "no response")
        assert self.stream.status == 200, self.stream
        self.read = 0

    def send(self, data, end=False):
        if data:
            self.client.send_body(self.number, data, end=end)
        elif end:
            self.client.send(h2.data(self.number, b"", end=True))

    def take(self, size):
        self.client.until(lambda: len(self.stream.body) >= self.read + size or self.stream.ended or
                          self.stream.reset, "no data")
        assert len(self.stream.body) >= self.read + size, f"the stream has ended: {self.stream}"
        data = bytes(self.stream.body[self.read:self.read + size])
        self.read += size
        return data

    def frame(self):
        """(first byte, payload) of the next frame."""
        first, size = self.take(2)
        if size == 126:
            size, = struct.unpack(">H", self.take(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.take(8))
        return first, self.take(size)

    def expect(self, opcode, payload):
        assert self.frame() == (0x80 | opcode, payload)

    def echo(self, payload=b"over HTTP/2"):
        self.send(ws_raw.frame(ws_raw.BINARY, payload))
        self.expect(ws_raw.BINARY, payload)


def test_setting_is_announced(client):
    # 3
    client.sync()
    assert client.peer.get(h2.ENABLE_CONNECT_PROTOCOL) == 1


def test_message_is_echoed(client):
    # 5
    tunnel = Tunnel(client)
    tunnel.echo()
    tunnel.send(ws_raw.text("text"))
    tunnel.expect(ws_raw.TEXT, b"text")
    tunnel.send(ws_raw.frame(ws_raw.PING, b"ping"))
    tunnel.expect(ws_raw.PONG, b"ping")


def test_response_has_no_fields_of_http1(client):
    # 5: no Sec-WebSocket-Accept, Connection, Upgrade
    tunnel = Tunnel(client)
    names = {name for name, _ in tunnel.stream.fields}
    assert not names & {"sec-websocket-accept", "connection", "upgrade", "content-length",
                        "transfer-encoding"}


def test_stats_have_connections_by_state_and_protocol(server, client):
    names = ("active_connections", "reading_connections", "writing_connections",
             "handshaking_connections", "closing_connections", "active_http2", "active_upgraded",
             "active_websockets")

    def counts():
        stats = server.stats()
        return [stats[name] for name in names]

    tunnel = Tunnel(client)
    tunnel.echo()
    eventually(lambda: counts() == [2, 0, 0, 0, 0, 1, 0, 1], "HTTP/2 is not counted")
    with ws_raw.WebSocket(server.port) as websocket:
        websocket.echo()
        with server.connect() as partial:
            partial.send(b"GET / HT")
            eventually(lambda: counts() == [4, 1, 0, 0, 0, 1, 1, 2], "not counted")
    tunnel.send(ws_raw.close(1000))
    client.until(lambda: tunnel.stream.ended, "the stream was not ended")
    eventually(lambda: counts() == [2, 0, 0, 0, 0, 1, 0, 0], "still counted")


def test_trailers_reset_the_tunnel(client, server):
    # RFC 9113 8.5: only DATA, RST_STREAM, WINDOW_UPDATE and PRIORITY
    tunnel = Tunnel(client)
    tunnel.echo()
    client.send(h2.headers(tunnel.number, h2.block([("x-trailer", "1")]), end=True))
    client.expect_reset(tunnel.number, "PROTOCOL_ERROR")
    eventually(lambda: open_count(server) == 0, "the tunnel remains")


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 500000])
def test_messages_of_any_size(client, size):
    Tunnel(client).echo(bytes(size))


def test_close_handshake_ends_stream(client):
    # 5: END_STREAM is the end of the connection
    tunnel = Tunnel(client)
    tunnel.send(ws_raw.close(1000, "done"))
    tunnel.expect(ws_raw.CLOSE, struct.pack(">H", 1000))
    client.until(lambda: tunnel.stream.ended, "the stream was not ended")
    assert client.get().status == 200


def test_end_of_stream_without_close_frame_ends_websocket(server, client):
    # 5: like the end of a TCP connection
    before = open_count(server)
    tunnel = Tunnel(client)
    tunnel.send(b"", end=True)
    client.until(lambda: tunnel.stream.ended or tunnel.stream.reset, "the stream was not ended")
    eventually(lambda: open_count(server) == before, "still open")


def test_reset_ends_websocket(server, client):
    # 5: like a TCP RST
    before = open_count(server)
    tunnel = Tunnel(client)
    tunnel.echo()
    client.send(h2.reset(tunnel.number))
    eventually(lambda: open_count(server) == before, "still open")
    assert client.get().status == 200


def test_invalid_frame_ends_stream_only(client):
    tunnel = Tunnel(client)
    tunnel.send(ws_raw.frame(ws_raw.TEXT, b"unmasked", mask=None))
    first, payload = tunnel.frame()
    assert first == 0x80 | ws_raw.CLOSE and payload[:2] == struct.pack(">H", 1002)
    client.until(lambda: tunnel.stream.ended or tunnel.stream.reset, "the stream was not ended")
    assert client.get().status == 200


def test_websockets_and_requests_share_a_connection(client):
    tunnels = [Tunnel(client) for _ in range(10)]
    for i in range(5):
        for number, tunnel in enumerate(tunnels):
            tunnel.echo(b"%d of %d" % (i, number))
        assert client.get().status == 200


def test_blocked_websocket_does_not_hold_up_others(server):
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 100), grants=False) as client:
        client.sync()
        tunnel = Tunnel(client)
        tunnel.send(ws_raw.frame(ws_raw.BINARY, bytes(1000)))
        client.sync()
        assert len(tunnel.stream.body) <= 100
        number = client.request()
        assert client.response(number).body == b"Hello, world\n"
        client.grant(tunnel.number, 2000)
        tunnel.expect(ws_raw.BINARY, bytes(1000))


def test_frames_split_over_data_frames(client):
    tunnel = Tunnel(client)
    message = ws_raw.frame(ws_raw.BINARY, b"in parts")
    for i in range(len(message)):
        tunnel.send(message[i:i + 1])
    tunnel.expect(ws_raw.BINARY, b"in parts")


def test_subprotocol_is_selected(client):
    tunnel = Tunnel(client, "/ws/protocols", ("sec-websocket-protocol", "unknown, chat"))
    fields = dict(tunnel.stream.fields)
    assert "sec-websocket-protocol" in fields or tunnel.stream.status == 200
    tunnel.echo()


def test_compression_is_negotiated(client):
    tunnel = Tunnel(client, "/ws/echo-deflate", ("sec-websocket-extensions", "permessage-deflate"))
    assert dict(tunnel.stream.fields)["sec-websocket-extensions"].startswith("permessage-deflate")


@pytest.mark.parametrize("path, fields, statuses", [
    ("/ws/echo", [("sec-websocket-version", "12")], (400, 426)),
    ("/ws/echo", [], (400, 426)),
    ("/none", [VERSION], (404, )),
    ("/hello", [VERSION], (400, 404, 405, 501)),
    ("/ws/origins", [VERSION, ("origin", "https://evil.example")], (403, )),
], ids=["version", "no-version", "no-route", "no-websocket", "origin"])
def test_rejected_handshake_gets_its_status(client, path, fields, statuses):
    client.sync()
    number = connect(client, path, *fields)
    stream = client.streams[number]
    client.until(lambda: stream.ended or stream.reset, "no response")
    assert stream.status in statuses
    assert client.get().status == 200


def test_unknown_protocol_is_rejected(client):
    # 4; RFC 9220 3: 501
    client.sync()
    number = connect(client, "/ws/echo", VERSION, protocol="unknown")
    stream = client.streams[number]
    client.until(lambda: stream.ended or stream.reset, "no response")
    assert stream.status in (400, 404, 501)


def test_get_of_websocket_is_no_handshake(client):
    assert client.get("/ws/echo").status in (400, 404, 405, 426)


def test_disconnected_client_ends_all_websockets(server):
    before = open_count(server)
    with Client(server.port) as client:
        for _ in range(5):
            Tunnel(client).echo()
        assert open_count(server) == before + 5
    eventually(lambda: open_count(server) == before, "still open")


# ---- libraries ----


@pytest.mark.release_only
def test_wsproto_over_h2(server):
    """Python's h2 and wsproto, as its servers and clients use them."""
    import socket

    import h2.config
    import h2.connection
    import h2.events
    import wsproto
    import wsproto.connection
    import wsproto.events

    plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    plain.sendall(connection.data_to_send())

    def receive():
        data = plain.recv(65536)
        assert data, "the connection has ended"
        found = connection.receive_data(data)
        plain.sendall(connection.data_to_send())
        return found

    while not any(isinstance(event, h2.events.RemoteSettingsChanged) for event in receive()):
        pass
    number = connection.get_next_available_stream_id()
    connection.send_headers(number, [(":method", "CONNECT"), (":protocol", "websocket"),
                                     (":scheme", "http"), (":path", "/ws/echo"),
                                     (":authority", "localhost"), ("sec-websocket-version", "13")])
    websocket = wsproto.connection.Connection(wsproto.connection.ConnectionType.CLIENT)
    connection.send_data(number, websocket.send(wsproto.events.TextMessage(data="by wsproto")))
    plain.sendall(connection.data_to_send())
    echoed = None
    while echoed is None:
        for event in receive():
            if isinstance(event, h2.events.ResponseReceived):
                assert dict(event.headers)[":status"] == "200"
            if isinstance(event, h2.events.DataReceived):
                websocket.receive_data(event.data)
        echoed = next((event.data for event in websocket.events()
                       if isinstance(event, wsproto.events.TextMessage)), None)
    assert echoed == "by wsproto"
    plain.close()


@pytest.mark.release_only
def test_chromium_uses_the_connection_of_the_page(tmp_path):
    if browser.find() is None:
        pytest.skip("no browser is installed")
    server = WireServer(tls="1.3")
    (tmp_path / "server.pem").write_text(ssl.get_server_certificate(("localhost", server.port)))
    public = tls.openssl("x509", "-in", tmp_path / "server.pem", "-pubkey", "-noout")
    der = tls.openssl("pkey", "-pubin", "-outform", "der", input=public)
    spki = tls.openssl("base64", "-A", input=tls.openssl("dgst", "-sha256", "-binary",
                                                         input=der)).decode().strip()
    opened = browser.Browser(f"--ignore-certificate-errors-spki-list={spki}")
    try:
        opened.open(f"https://localhost:{server.port}/hello", 800, False)
        before = json.loads(opened.evaluate("fetch('/stats').then(response => response.text())"))
        assert opened.evaluate("""new Promise((resolve, reject) => {
            const socket = new WebSocket(location.origin.replace('https', 'wss') + '/ws/echo');
            socket.onopen = () => socket.send('over HTTP/2');
            socket.onmessage = (event) => resolve(event.data);
            socket.onerror = () => reject(new Error('failed'));
        })""") == "over HTTP/2"
        after = json.loads(opened.evaluate("fetch('/stats').then(response => response.text())"))
        assert after["total_connections"] == before["total_connections"]
    finally:
        opened.close()
        server.stop()


@pytest.mark.parametrize("ends", [False, True])
def test_data_is_no_body_of_a_request_that_no_tunnel_serves(client, ends):
    # Of an extended CONNECT the handler gets a GET, which has no body.
    number = connect(client, "/pieces-digest?never", protocol="other")
    client.send(h2.data(number, b"not a body", end=ends))
    client.sync()
    assert client.streams[number].status is None
    client.send(h2.reset(number))
    assert client.get().status == 200


def test_write_reports_that_it_has_ended_the_stream(client, server):
    # The client has ended both its side of the stream and of the connection, so it never opens the
    # window that the write needs. Another request keeps the connection open.
    number = connect(client, "/late-stream", protocol="Echo/1")
    client.until(lambda: client.streams[number].status, "no response")
    client.send(h2.data(number, b"", end=True))
    client.request("GET", "/hold/with-late-stream")
    client.sync()
    client.socket.shutdown(socket.SHUT_WR)
    server.settle()
    assert server.request("GET", "/late-write").body == b"UVHTTP_EDISCONNECTED 0"
    assert server.release("with-late-stream") == 1
