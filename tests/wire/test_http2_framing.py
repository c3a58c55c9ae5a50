"""Frames of HTTP/2: preface, sizes, streams, padding, SETTINGS, PING, GOAWAY, CONTINUATION (RFC
9113 sections 3 to 6). Numbers in comments are its sections."""

import struct

import http2_client as h2
import pytest
import raw
from http2_client import Client

GET = h2.block(h2.head())
POST = h2.block(h2.head("POST", "/echo"))


def bare(server):
    """A connection on which only the caller sends."""
    return Client(server.port, preface=False)


# ---- preface ----


def test_preface_settings_and_request_in_one_packet(server):
    with bare(server) as client:
        number = client.new_stream()
        client.send(h2.PREFACE, h2.settings(), h2.headers(number, GET))
        assert client.response(number).body == b"Hello, world\n"


def test_preface_split_at_every_byte(server):
    for cut in range(1, len(h2.PREFACE) + 9):
        with bare(server) as client:
            data = h2.PREFACE + h2.settings() + h2.ping()
            client.send(data[:cut])
            server.settle()
            client.send(data[cut:])
            client.until(lambda: client.answered_pings, "PING was not acknowledged")


def test_frames_sent_byte_by_byte(server):
    with bare(server) as client:
        number = client.new_stream("POST")
        data = (h2.PREFACE + h2.settings((h2.INITIAL_WINDOW_SIZE, 1000)) +
                h2.headers(number, POST, end=False) + h2.data(number, b"body", end=True))
        for i in range(len(data)):
            client.send(data[i:i + 1])
        assert client.response(number).body == b"body"


def test_server_settings_come_first(client):
    # 3.4; Client checks the first frame.
    client.sync()
    assert client.settled and client.peer.get(h2.ENABLE_PUSH, 0) == 0


@pytest.mark.parametrize("following", [h2.ping(), h2.headers(1, GET), h2.window_update(0, 1)],
                         ids=["ping", "headers", "window-update"])
def test_first_frame_that_is_not_settings_is_error(server, following):
    # 3.4
    with bare(server) as client:
        client.next_stream = 3
        client.streams[1] = h2.Stream(1, "GET", h2.DEFAULT_WINDOW)
        client.send(h2.PREFACE, following)
        client.expect_goaway("PROTOCOL_ERROR")


def test_settings_ack_as_first_frame_is_error(server):
    # 3.4: the preface ends with a SETTINGS frame, and an acknowledgement is none.
    with bare(server) as client:
        client.send(h2.PREFACE, h2.settings_ack())
        client.expect_goaway("PROTOCOL_ERROR")


@pytest.mark.parametrize("position", [4, 10, 15, 18, 23])
def test_wrong_preface_gets_400_of_http1(server, position):
    wrong = bytearray(h2.PREFACE)
    wrong[position] ^= 1
    with server.connect() as connection:
        connection.send(bytes(wrong) + b"\r\n\r\n")
        assert connection.response().status in (400, 505)


def test_upgrade_to_h2c_is_ignored(server):
    # 3.1: the use of Upgrade is deprecated.
    with server.connect() as connection:
        response = connection.request("GET", "/hello", "Connection: Upgrade, HTTP2-Settings",
                                      "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        assert response.status == 200 and response.body == b"Hello, world\n"
        assert connection.request().status == 200


# ---- frame header ----


@pytest.mark.parametrize("kind", [0x0b, 0x20, 0xff])
@pytest.mark.parametrize("stream", [0, 1, 99])
def test_unknown_frame_type_is_ignored(client, kind, stream):
    # 4.1, 5.5; also on idle streams
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), h2.frame(kind, 0xff, stream, b"any"),
                h2.data(number, b"body", end=True))
    assert client.response(number).body == b"body"


def test_reserved_bit_is_ignored(client):
    # 4.1
    number = client.new_stream()
    client.send(h2.frame(h2.PING, 0, 1 << 31, b"reserved"),
                h2.headers(number | 1 << 31, GET, end=True))
    assert client.response(number).status == 200
    assert b"reserved" in client.answered_pings


def test_undefined_flags_are_ignored(client):
    # 4.1
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False, flags=0x40),
                h2.frame(h2.PING, 0xfe, 0, b"flagged!"),
                h2.frame(h2.DATA, 0xf6 & ~h2.PADDED | h2.END_STREAM, number, b"body"))
    assert client.response(number).body == b"body"
    assert b"flagged!" in client.answered_pings


def test_frame_of_maximum_size_is_accepted(client):
    body = raw.pattern(h2.DEFAULT_FRAME_SIZE)
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), h2.data(number, body, end=True))
    assert client.response(number).body == body


def test_data_frame_above_maximum_size_is_error(client):
    # 4.2: a stream or a connection error
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False),
                h2.data(number, bytes(h2.DEFAULT_FRAME_SIZE + 1), end=True))
    stream = client.streams[number]
    client.until(lambda: stream.reset or client.goaway, "no error")
    assert "FRAME_SIZE_ERROR" in (stream.reset, client.goaway and client.goaway[1])


@pytest.mark.parametrize("kind", [h2.HEADERS, h2.SETTINGS, h2.CONTINUATION, 0x42],
                         ids=["headers", "settings", "continuation", "unknown"])
def test_frame_above_maximum_size_ends_connection(client, kind):
    # 4.2: a connection error if the frame could change the state of the connection
    size = h2.DEFAULT_FRAME_SIZE + 2
    if kind == h2.CONTINUATION:
        client.send(h2.headers(client.new_stream(), GET, complete=False))
    stream = {h2.HEADERS: client.next_stream, h2.CONTINUATION: 1}.get(kind, 0)
    client.send(h2.frame(kind, 0, stream, bytes(size)))
    client.expect_goaway("FRAME_SIZE_ERROR")


@pytest.mark.parametrize(
    "wrong", [
        h2.frame(h2.PING, 0, 0, bytes(7)),
        h2.frame(h2.PING, 0, 0, bytes(9)),
        h2.frame(h2.RST_STREAM, 0, 1, bytes(3)),
        h2.frame(h2.RST_STREAM, 0, 1, bytes(5)),
        h2.frame(h2.WINDOW_UPDATE, 0, 0, bytes(3)),
        h2.frame(h2.WINDOW_UPDATE, 0, 1, bytes(5)),
        h2.frame(h2.SETTINGS, 0, 0, bytes(5)),
        h2.frame(h2.SETTINGS, h2.ACK, 0, bytes(6)),
        h2.frame(h2.GOAWAY, 0, 0, bytes(7)),
        h2.frame(h2.PRIORITY_UPDATE, 0, 0, bytes(3)),
    ], ids=[
        "ping-7", "ping-9", "rst-stream-3", "rst-stream-5", "window-update-3", "window-update-5",
        "settings-5", "settings-ack-6", "goaway-7", "priority-update-3"
    ])
def test_frame_with_wrong_size_ends_connection(client, wrong):
    # 6.4, 6.5, 6.7, 6.8, 6.9; RFC 9218 7.1
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), wrong)
    client.expect_goaway("FRAME_SIZE_ERROR")


@pytest.mark.parametrize("size", [4, 6])
def test_priority_with_wrong_size_resets_stream(client, size):
    # 6.3
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), h2.frame(h2.PRIORITY, 0, number, bytes(size)))
    client.expect_reset(number, "FRAME_SIZE_ERROR")


@pytest.mark.parametrize(
    "wrong", [
        h2.data(0, b"body"),
        h2.headers(0, GET),
        h2.priority(0),
        h2.reset(0),
        h2.continuation(0, GET),
        h2.frame(h2.SETTINGS, 0, 1),
        h2.frame(h2.SETTINGS, h2.ACK, 1),
        h2.frame(h2.PING, 0, 1, bytes(8)),
        h2.frame(h2.GOAWAY, 0, 1, bytes(8)),
        h2.frame(h2.PUSH_PROMISE, h2.END_HEADERS, 1, b"\0\0\0\2" + GET),
        h2.frame(h2.PUSH_PROMISE, h2.END_HEADERS, 0, b"\0\0\0\2" + GET),
    ], ids=[
        "data-0", "headers-0", "priority-0", "rst-stream-0", "continuation-0", "settings-1",
        "settings-ack-1", "ping-1", "goaway-1", "push-promise-1", "push-promise-0"
    ])
def test_frame_on_wrong_stream_ends_connection(client, wrong):
    # 6.1 to 6.10; 8.4: a client cannot push
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), wrong)
    client.expect_goaway("PROTOCOL_ERROR")


# ---- padding ----


@pytest.mark.parametrize("padding", [0, 1, 255])
def test_padding_of_data_is_no_body(client, padding):
    # 6.1
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), h2.data(number, b"one", padding=padding),
                h2.data(number, b"", padding=padding), h2.data(number, b"two", True, padding))
    assert client.response(number).body == b"onetwo"


@pytest.mark.parametrize("padding", [0, 1, 255])
def test_padding_of_headers_is_no_field(client, padding):
    # 6.2
    number = client.new_stream()
    client.send(h2.headers(number, bytes([padding]) + GET + bytes(padding), flags=h2.PADDED))
    assert client.response(number).status == 200


def test_priority_and_padding_of_headers_are_skipped(client):
    # 6.2
    number = client.new_stream()
    payload = bytes([7]) + struct.pack(">IB", 0, 15) + GET + bytes(7)
    client.send(h2.headers(number, payload, flags=h2.PADDED | h2.WITH_PRIORITY))
    assert client.response(number).status == 200


@pytest.mark.parametrize("payload", [b"\4", b"\4abc", b"\xff" + bytes(254)])
def test_padding_that_exceeds_data_ends_connection(client, payload):
    # 6.1
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False),
                h2.frame(h2.DATA, h2.PADDED, number, payload))
    client.expect_goaway("PROTOCOL_ERROR")


@pytest.mark.parametrize("flags, payload", [(h2.PADDED, b"\xff" + GET),
                                            (h2.PADDED | h2.WITH_PRIORITY, b"\2" + bytes(6))])
def test_padding_that_exceeds_headers_ends_connection(client, flags, payload):
    # 6.2
    client.send(h2.headers(1, payload, flags=flags))
    client.expect_goaway("PROTOCOL_ERROR")


@pytest.mark.parametrize("kind, flags, payload", [(h2.DATA, h2.PADDED, b""),
                                                  (h2.HEADERS, h2.PADDED, b""),
                                                  (h2.HEADERS, h2.WITH_PRIORITY, bytes(4))],
                         ids=["data", "headers", "priority"])
def test_frame_without_its_fixed_fields_ends_connection(client, kind, flags, payload):
    # 4.2: FRAME_SIZE_ERROR if a frame is too small for mandatory data
    number = client.new_stream("POST")
    if kind == h2.DATA:
        client.send(h2.headers(number, POST, end=False))
    client.send(h2.frame(kind, flags | h2.END_HEADERS * (kind == h2.HEADERS), number, payload))
    client.expect_goaway("FRAME_SIZE_ERROR", "PROTOCOL_ERROR")


# ---- SETTINGS, PING, GOAWAY ----


def test_each_settings_frame_is_acknowledged(client):
    # 6.5.3; the preface has the first one
    client.send(h2.settings(), h2.settings((h2.MAX_CONCURRENT_STREAMS, 5)), h2.settings())
    client.sync()
    assert client.acknowledged == 4


@pytest.mark.parametrize("identifier, value, error", [
    (h2.ENABLE_PUSH, 2, "PROTOCOL_ERROR"),
    (h2.INITIAL_WINDOW_SIZE, 2**31, "FLOW_CONTROL_ERROR"),
    (h2.INITIAL_WINDOW_SIZE, 2**32 - 1, "FLOW_CONTROL_ERROR"),
    (h2.MAX_FRAME_SIZE, 16383, "PROTOCOL_ERROR"),
    (h2.MAX_FRAME_SIZE, 2**24, "PROTOCOL_ERROR"),
    (h2.NO_RFC7540_PRIORITIES, 2, "PROTOCOL_ERROR"),
    (h2.ENABLE_CONNECT_PROTOCOL, 2, "PROTOCOL_ERROR"),
])
def test_invalid_setting_ends_connection(client, identifier, value, error):
    # 6.5.2; RFC 9218 2.1; RFC 8441 3
    client.send(h2.settings((identifier, value)))
    client.expect_goaway(error)


@pytest.mark.parametrize("identifier, value", [(h2.ENABLE_PUSH, 0), (h2.ENABLE_PUSH, 1),
                                               (h2.MAX_FRAME_SIZE, 2**24 - 1),
                                               (h2.INITIAL_WINDOW_SIZE, 2**31 - 1),
                                               (h2.HEADER_TABLE_SIZE, 2**32 - 1),
                                               (h2.MAX_HEADER_LIST_SIZE, 0), (0, 7), (7, 1),
                                               (0xffff, 2**32 - 1)])
def test_valid_or_unknown_setting_is_accepted(client, identifier, value):
    # 6.5.2: unknown settings are ignored
    client.send(h2.settings((identifier, value)))
    assert client.get().status == 200


def test_settings_apply_in_order(client):
    # 6.5.3: a later value of the same frame replaces an earlier one
    client.grants = False
    client.sync()
    client.initial_window = 10
    client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, 1), (h2.INITIAL_WINDOW_SIZE, 10)))
    number = client.request()
    client.sync()
    assert client.streams[number].body == b"Hello, wor"


def test_ping_is_acknowledged_with_its_payload(client):
    # 6.7
    for payload in (b"\0" * 8, b"\xff" * 8, b"01234567"):
        client.send(h2.ping(payload))
    client.sync()
    assert client.answered_pings[:3] == [b"\0" * 8, b"\xff" * 8, b"01234567"]


def test_acknowledged_ping_gets_no_answer(client):
    # 6.7
    client.send(h2.ping(b"no reply", h2.ACK))
    client.sync()
    assert b"no reply" not in client.answered_pings


def test_ping_is_answered_while_a_response_is_blocked(client):
    client.grants = False
    client.request("GET", "/large?size=200000")
    client.until(lambda: client.window == 0, "the window was not used")
    client.sync()


def test_goaway_of_client_lets_streams_finish(server, client):
    # 6.8
    number = client.request("GET", "/hold/goaway")
    server.wait_for_pending("goaway")
    client.send(h2.goaway(0, 0, b"debug data"))
    client.sync()
    server.release("goaway")
    assert client.response(number).status == 200


def test_goaway_has_last_processed_stream(client):
    # 6.8
    for _ in range(3):
        assert client.get().status == 200
    client.send(h2.data(0, b"x"))
    client.expect_goaway("PROTOCOL_ERROR")
    assert client.goaway[0] == 5


# ---- CONTINUATION ----


def test_header_block_split_at_every_byte(client):
    # 6.10
    block = h2.block(h2.head("GET", "/hello", ("x-long", "value" * 10)))
    for cut in range(len(block) + 1):
        number = client.new_stream()
        client.send(h2.headers(number, block[:cut], complete=False),
                    h2.continuation(number, block[cut:]))
        assert client.response(number).status == 200


def test_header_block_in_frames_of_few_bytes(client):
    # 6.10; END_STREAM of HEADERS applies after the last CONTINUATION
    number = client.new_stream()
    client.send(h2.split_headers(number, h2.block(h2.head("GET", "/inspect", ("x-a", "b"))), 20))
    assert ("x-a", "b") in [(name.lower(), value)
                            for name, value in client.response(number).seen_fields()]


@pytest.mark.parametrize(
    "between", [
        h2.data(1, b"x"),
        h2.headers(1, GET),
        h2.headers(3, GET),
        h2.continuation(3, GET),
        h2.ping(),
        h2.settings(),
        h2.settings_ack(),
        h2.window_update(0, 1),
        h2.priority(1),
        h2.reset(1),
        h2.goaway(),
        h2.priority_update(1, "u=1"),
        h2.frame(0x42, 0, 1, b"any"),
    ], ids=[
        "data", "headers", "headers-3", "continuation-3", "ping", "settings", "settings-ack",
        "window-update", "priority", "rst-stream", "goaway", "priority-update", "unknown"
    ])
def test_frame_within_header_block_ends_connection(client, between):
    # 4.3, 5.5, 6.2, 6.10
    number = client.new_stream()
    client.send(h2.headers(number, GET[:10], complete=False), between)
    client.expect_goaway("PROTOCOL_ERROR")


def test_continuation_without_headers_ends_connection(client):
    # 6.10
    client.send(h2.continuation(1, GET))
    client.expect_goaway("PROTOCOL_ERROR")


def test_continuation_after_end_of_headers_ends_connection(client):
    # 6.10
    number = client.new_stream("POST")
    client.send(h2.headers(number, POST, end=False), h2.continuation(number, GET))
    client.expect_goaway("PROTOCOL_ERROR")
