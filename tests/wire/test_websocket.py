"""The opening handshake of WebSocket (RFC 6455 section 4): negotiation, rejections, and data around
the handshake."""

import json

import pytest
import raw
import ws_raw
from wire_server import eventually
from ws_raw import BINARY, CLOSE, KEY, PING, PONG, TEXT, WebSocket, websocket_state

OFFER = "permessage-deflate"


def rejected(server, request):
    """The response to a rejected handshake. The connection is still usable for HTTP unless the
    response has Connection: close."""
    with server.connect() as connection:
        connection.send(request)
        response = connection.response()
        if not response.has_close():
            assert connection.request().status == 200
        return response


# ---- accepted handshakes ----


def test_accept_key_of_rfc_example(server):
    # Section 1.3.
    with WebSocket(server.port, key="dGhlIHNhbXBsZSBub25jZQ==") as ws:
        assert ws.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        assert "sec-websocket-protocol" not in ws.fields
        assert "sec-websocket-extensions" not in ws.fields
        ws.echo()


def test_accept_key_depends_on_key(server):
    for key in {ws_raw.new_key() for _ in range(50)}:
        with WebSocket(server.port, key=key) as ws:
            ws.echo()


@pytest.mark.parametrize("options",
                         [{"upgrade": "WebSocket"}, {"upgrade": "h2c, websocket"},
                          {"connection": "keep-alive, Upgrade"}, {"connection": "upgrade"}])
def test_upgrade_tokens_ignore_case_and_may_be_in_lists(server, options):
    with WebSocket(server.port, **options) as ws:
        ws.echo()


def test_upgrade_after_requests_on_same_connection(server):
    with server.connect() as connection:
        assert connection.request().status == 200
        connection.send(raw.request() + ws_raw.handshake())
        assert connection.response().status == 200
        assert connection.head()[0] == 101


def test_websocket_route_with_parameter(server):
    with WebSocket(server.port, "/ws/rooms/blue%20room?x=1") as ws:
        ws.echo()


def test_handler_may_accept_explicitly(server):
    with WebSocket(server.port, "/ws/accept") as ws:
        assert ws.fields["x-greeting"] == "hello"
        ws.expect_text("welcome")
        ws.send(ws_raw.text("!facts"))
        assert json.loads(ws.message()[1])["data"] == "accepted"
    assert rejected(server, ws_raw.handshake("/ws/accept", key="short")).status == 400


# ---- rejected handshakes ----


@pytest.mark.parametrize("request_bytes", [
    raw.request("GET", "/ws/echo"),
    ws_raw.handshake(connection=None),
    ws_raw.handshake(upgrade=None),
    ws_raw.handshake(upgrade="h2c"),
    ws_raw.handshake(connection="close, x"),
    ws_raw.handshake(upgrade="websocket/13")
])
def test_request_without_upgrade_gets_426(server, request_bytes):
    response = rejected(server, request_bytes)
    assert response.status == 426 and response.get("Upgrade") == "websocket" and response.get(
        "Sec-WebSocket-Version") == "13"
    assert response.body == (b"426 Upgrade Required\nThis is a WebSocket endpoint: send "
                             b'"Connection: Upgrade" and "Upgrade: websocket".\n')


def test_websocket_route_without_handshake_gets_426(server):
    response = rejected(server, raw.request("GET", "/ws/rooms/7"))
    assert response.status == 426 and response.get("Upgrade") == "websocket" and response.get(
        "Sec-WebSocket-Version") == "13"
    assert response.body.startswith(b"426 Upgrade Required\nThis is a WebSocket endpoint: ")


def test_head_gets_status_of_get(server):
    with server.connect() as connection:
        response = connection.request("HEAD", "/ws/rooms/7")
        assert response.status == 426 and response.get("Upgrade") == "websocket"
        assert connection.request("HEAD", "/ws/rooms/7", *ws_raw.fields()).status == 405


@pytest.mark.parametrize("version",
                         ["8", "0", "12", "14", "255", "013", "13, 8", "x", "", "1 3", "+13", None])
def test_pitfall_other_version_gets_426_with_version_13(server, version):
    # Section 4.2.2 item 4, section 4.4. Without a version there is no valid handshake: 400 is
    # allowed, too.
    response = rejected(server, ws_raw.handshake(version=version))
    assert response.status in ((400, 426) if version is None or not version.isdigit() else (426, ))
    if response.status == 426:
        assert response.get("Sec-WebSocket-Version") == "13"


@pytest.mark.parametrize("key", [
    "", "short", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25j",
    "dGhlIHNhbXBsZSBub25jZQ==x", "dGhlIHNhbXBs!SBub25jZQ==", "dGhlIHNhbXBsZSBub25jZSBsb25nZXI=",
    "A" * 24, "=" * 24, None
])
def test_pitfall_invalid_key_gets_400(server, key):
    assert rejected(server, ws_raw.handshake(key=key)).status == 400


def test_repeated_key_or_version_is_rejected(server):
    assert rejected(server, ws_raw.handshake("/ws/echo", f"Sec-WebSocket-Key: {KEY}")).status == 400
    assert rejected(server, ws_raw.handshake("/ws/echo",
                                             "Sec-WebSocket-Version: 13")).status in (400, 426)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_method_other_than_get_is_rejected(server, method):
    response = rejected(server,
                        raw.request(method, "/ws/echo", *ws_raw.fields(), "Content-Length: 0"))
    assert response.status == 405 and "GET" in response.allow()


def test_http_1_0_handshake_is_rejected(server):
    response = rejected(server, raw.request("GET", "/ws/echo", *ws_raw.fields(),
                                            version="HTTP/1.0"))
    assert response.status == 426 and response.get(
        "Sec-WebSocket-Version") == "13" and b"HTTP/1.0" in response.body


def test_middleware_runs_before_handshake(server):
    assert rejected(server, ws_raw.handshake("/ws/echo", "X-Refuse: yes")).status == 403
    assert rejected(server, ws_raw.handshake("/ws/nowhere")).status == 404


def test_rejected_handshakes_open_no_connection(server):
    before = websocket_state(server)
    for request_bytes in (ws_raw.handshake(key="x"), ws_raw.handshake(version="8"),
                          ws_raw.handshake(upgrade=None)):
        rejected(server, request_bytes)
    assert {key: value
            for key, value in websocket_state(server).items()
            if key != "memory"} == {key: value
                                    for key, value in before.items()
                                    if key != "memory"}


# ---- subprotocols, origins, admission ----


@pytest.mark.parametrize("offered, agreed", [("chat.v1", "chat.v1"),
                                             ("chat.v1, chat.v2", "chat.v2"),
                                             ("other,chat.v1", "chat.v1"),
                                             ("chat.v2,chat.v2", "chat.v2")])
def test_preferred_common_subprotocol_is_selected(server, offered, agreed):
    with WebSocket(server.port, "/ws/protocols", f"Sec-WebSocket-Protocol: {offered}") as ws:
        assert ws.fields["sec-websocket-protocol"] == agreed
        ws.send(ws_raw.text("!facts"))
        assert json.loads(ws.message()[1])["protocol"] == agreed


def test_subprotocols_on_two_lines_form_one_list(server):
    with WebSocket(server.port, "/ws/protocols", "Sec-WebSocket-Protocol: chat.v1",
                   "Sec-WebSocket-Protocol: chat.v2") as ws:
        assert ws.fields["sec-websocket-protocol"] == "chat.v2"


@pytest.mark.parametrize("extra", [(), ("Sec-WebSocket-Protocol: other", ),
                                   ("Sec-WebSocket-Protocol: CHAT.V1", )])
def test_no_common_subprotocol_selects_none(server, extra):
    with WebSocket(server.port, "/ws/protocols", *extra) as ws:
        assert "sec-websocket-protocol" not in ws.fields
        ws.echo()
    assert rejected(server, ws_raw.handshake("/ws/protocol-required", *extra)).status == 400


@pytest.mark.parametrize("offered", ["chat v1", "chat.v1,,;", "chat/v1", '"chat.v1"'])
def test_malformed_subprotocol_list_gets_400(server, offered):
    assert rejected(server, ws_raw.handshake("/ws/protocols",
                                             f"Sec-WebSocket-Protocol: {offered}")).status == 400


def test_required_subprotocol_is_selected(server):
    with WebSocket(server.port, "/ws/protocol-required", "Sec-WebSocket-Protocol: chat.v1") as ws:
        assert ws.fields["sec-websocket-protocol"] == "chat.v1"


@pytest.mark.parametrize("origin", [
    "https://evil.example", "https://good.example.evil.example", "http://good.example",
    "https://good.example:8443", "null", ""
])
def test_foreign_origin_gets_403(server, origin):
    assert rejected(server, ws_raw.handshake("/ws/origins", f"Origin: {origin}")).status == 403


@pytest.mark.parametrize("extra", [(), ("Origin: https://good.example", ),
                                   ("Origin: http://127.0.0.1:1", )])
def test_allowed_or_missing_origin_is_accepted(server, extra):
    with WebSocket(server.port, "/ws/origins", *extra) as ws:
        ws.echo()


def test_repeated_origin_is_rejected(server):
    assert rejected(
        server,
        ws_raw.handshake("/ws/origins", "Origin: https://good.example",
                         "Origin: https://evil.example")).status in (400, 403)


@pytest.mark.parametrize("extra, status", [((), 403), (("X-User: broken", ), 500),
                                           (("X-User: crowded", ), 503),
                                           (("X-User: answered", ), 401),
                                           (("X-User: answered-and-done", ), 401)])
def test_admission_rejects_with_its_status(server, extra, status):
    before = websocket_state(server, "/ws/admit")
    assert rejected(server, ws_raw.handshake("/ws/admit", *extra)).status == status
    assert websocket_state(server, "/ws/admit")["opens"] == before["opens"]


def test_admission_with_response_is_not_an_error(server):
    """Whatever the callback returns: nothing is logged."""
    before = server.log().count("/ws/admit failed")
    for user in ("answered", "answered-and-done"):
        assert rejected(server, ws_raw.handshake("/ws/admit", f"X-User: {user}")).status == 401
    assert server.log().count("/ws/admit failed") == before


def test_admission_data_is_released_once(server):
    before = websocket_state(server, "/ws/admit")
    with WebSocket(server.port, "/ws/admit", "X-User: anna") as ws:
        ws.send(ws_raw.text("!facts"))
        assert json.loads(ws.message()[1])["data"] == "anna"
        assert websocket_state(server, "/ws/admit")["released"] == before["released"]
        ws.close_handshake()
    eventually(lambda: websocket_state(server, "/ws/admit")["released"] == before["released"] + 1,
               "the data is released")
    assert websocket_state(server, "/ws/admit")["closes"] == before["closes"] + 1
    # A handshake that fails after admission.
    assert rejected(server, ws_raw.handshake("/ws/admit", "X-User: bert", key="x")).status == 400
    now = websocket_state(server, "/ws/admit")
    assert now["admitted"] - now["released"] == before["admitted"] - before["released"]


# ---- extensions ----


@pytest.mark.parametrize("path", ["/ws/echo-deflate", "/ws/echo-dedicated"])
@pytest.mark.parametrize("offer", [
    OFFER, f"{OFFER}; client_max_window_bits", f"x-unknown; a=b, {OFFER}",
    f"{OFFER}; server_no_context_takeover; client_no_context_takeover",
    f"{OFFER}; server_max_window_bits=10", f"{OFFER};client_max_window_bits=\"12\"",
    f"{OFFER}; server_max_window_bits=99, {OFFER}"
])
def test_compression_is_negotiated(server, path, offer):
    with WebSocket(server.port, path, f"Sec-WebSocket-Extensions: {offer}") as ws:
        assert ws.compressed
        ws.echo(b"compress me, compress me, compress me, compress me, compress me, compress me")
        assert ws.was_compressed
        ws.send(ws_raw.text("!facts"))
        assert json.loads(ws.message()[1])["compressed"] == 1


@pytest.mark.parametrize("offer", [
    "x-unknown", f"{OFFER}; server_max_window_bits=7", f"{OFFER}; server_max_window_bits",
    f"{OFFER}; unknown=1", f"{OFFER}; server_no_context_takeover; server_no_context_takeover",
    f"{OFFER}; client_max_window_bits=16", f"{OFFER}; server_no_context_takeover=1",
    f"{OFFER}; server_max_window_bits=010"
])
def test_invalid_compression_offer_is_declined(server, offer):
    # RFC 7692 section 7.1: the server must decline the offer; the connection is opened without the
    # extension.
    with WebSocket(server.port, "/ws/echo-deflate", f"Sec-WebSocket-Extensions: {offer}") as ws:
        assert not ws.compressed
        ws.echo(b"not compressed, not compressed, not compressed, not compressed, not compressed")


@pytest.mark.parametrize("offer", [f"{OFFER}; =1", f"{OFFER} x", "; x", f"{OFFER}; a=\"b"])
def test_malformed_extension_list_gets_400(server, offer):
    assert rejected(server,
                    ws_raw.handshake("/ws/echo-deflate",
                                     f"Sec-WebSocket-Extensions: {offer}")).status == 400


def test_without_compression_offer_is_uncompressed(server):
    with WebSocket(server.port, "/ws/echo-deflate") as ws:
        assert "sec-websocket-extensions" not in ws.fields
        ws.echo(b"x" * 5000)
    with WebSocket(server.port, "/ws/echo", f"Sec-WebSocket-Extensions: {OFFER}") as ws:
        assert not ws.compressed
        ws.echo(b"x" * 5000)


@pytest.mark.parametrize("path", ["/ws/echo-deflate", "/ws/echo-dedicated"])
def test_server_window_follows_client_request(server, path):
    with WebSocket(server.port, path,
                   f"Sec-WebSocket-Extensions: {OFFER}; server_max_window_bits=9") as ws:
        assert "server_max_window_bits=9" in ws.fields["sec-websocket-extensions"].replace(
            " ", "").replace('"', "")
        # Data that repeats at a distance of 600 bytes cannot refer back within a window of 512.
        block = bytes(ord("a") + (i * 7919 >> 3) % 26 for i in range(600))
        ws.echo(block * 20)
        ws.echo(block * 20)


# ---- data around the handshake ----


def test_frames_in_packet_of_handshake(server):
    frames = ws_raw.text("one") + ws_raw.frame(PING, b"two") + ws_raw.frame(
        BINARY, b"three") + ws_raw.close(1000)
    with WebSocket(server.port, following=frames) as ws:
        ws.expect_text("one")
        ws.expect(PONG, b"two")
        ws.expect(BINARY, b"three")
        assert ws.read_close() == (1000, "")
        ws.assert_closed()


def test_invalid_frame_in_packet_of_handshake(server):
    with WebSocket(server.port, following=ws_raw.text("not masked", mask=None)) as ws:
        ws.expect_failure(1002)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_partial_frame_in_packet_of_handshake(server, cut):
    frames = ws_raw.text("a" * 20) + ws_raw.frame(PING, b"b" * 20)
    with WebSocket(server.port, following=frames[:cut]) as ws:
        server.settle()
        ws.send(frames[cut:])
        ws.expect_text("a" * 20)
        ws.expect(PONG, b"b" * 20)


def test_handshake_and_frames_sent_byte_by_byte(server):
    everything = b"".join([
        ws_raw.handshake(),
        ws_raw.text("größer"), *ws_raw.fragments(TEXT, b"gr\xc3", b"\xb6\xc3\x9f", b"er"),
        ws_raw.frame(PING, b"ping"),
        ws_raw.frame(BINARY,
                     bytes(range(256)) * 2),
        ws_raw.close(3000, "bye")
    ])
    with WebSocket(server.port, upgrade=False) as ws:
        for i in range(len(everything)):
            ws.send(everything[i:i + 1])
        ws.read_upgrade()
        ws.expect_text("größer")
        ws.expect_text("größer")
        ws.expect(PONG, b"ping")
        ws.expect(BINARY, bytes(range(256)) * 2)
        ws.expect(CLOSE, b"\x0b\xb8")
        ws.assert_closed()


def test_disconnect_after_handshake(server):
    before = websocket_state(server)
    for _ in range(20):
        connection = server.connect()
        connection.send(ws_raw.handshake())
        connection.reset()
    eventually(lambda: websocket_state(server)["connections"] == 0, "all connections are closed")
    now = websocket_state(server)
    assert now["opens"] - before["opens"] == now["closes"] - before["closes"]
