"""Frames and the closing handshake (RFC 6455 sections 5 and 7): each rule, and the close code for
its violation."""

import os
import struct

import pytest
import ws_raw
from wire_server import eventually
from ws_raw import (BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, WebSocket, fragments, frame,
                    websocket_state)

OFFER = "Sec-WebSocket-Extensions: permessage-deflate"
ENDPOINTS = [("/ws/echo", ()), ("/ws/echo-deflate", (OFFER, )), ("/ws/echo-dedicated", (OFFER, )),
             ("/ws/pieces", ())]


@pytest.fixture(params=ENDPOINTS, ids=[path for path, _ in ENDPOINTS])
def ws(server, request):
    """A connection to each kind of endpoint."""
    path, extra = request.param
    with WebSocket(server.port, path, *extra) as connection:
        yield connection


def fails(ws, data, code):
    ws.send(data)
    expect_failure_after_chunks(ws, code)


def expect_failure_after_chunks(ws, code):
    """A streaming endpoint may have echoed a part of the message before the error."""
    while True:
        opcode, payload, fin, _ = ws.read_frame()
        if opcode == CLOSE:
            break
        assert not fin and ws.endpoint == "/ws/pieces", f"{opcode} {payload[:100]!r} before the end"
    assert struct.unpack(">H", payload[:2])[0] == code
    ws.expect_end()


# ---- valid frames ----


@pytest.mark.parametrize(
    "size", [0, 1, 2, 3, 4, 7, 8, 125, 126, 127, 128, 4095, 65535, 65536, 65537, 99999])
def test_message_of_every_length_form_is_echoed(ws, size):
    for opcode, payload in ((BINARY, bytes(range(256)) * (size // 256) + bytes(range(size % 256))),
                            (TEXT, b"x" * size)):
        ws.echo(payload, opcode)


@pytest.mark.parametrize("mask", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\1\2\3\4", b"\0\0\0\1"])
def test_any_mask_is_accepted(ws, mask):
    for size in (*range(40), 1000, 70001):
        payload = bytes(i % 251 for i in range(size))
        ws.send(frame(BINARY, payload, mask=mask))
        ws.expect(BINARY, payload)


def test_non_minimal_length_is_accepted_or_rejected(server):
    # Section 5.2 requires the shortest form. It does not define the receiver's behaviour.
    for form in (16, 64):
        with WebSocket(server.port) as ws:
            ws.send(frame(TEXT, b"abc", form=form))
            opcode, payload = ws.message()
            assert (opcode, payload) == (TEXT, b"abc") or (opcode, payload[:2]) == (CLOSE,
                                                                                    struct.pack(
                                                                                        ">H", 1002))


def test_many_messages_in_one_packet(ws):
    ws.send(b"".join(ws_raw.text(f"message {i}") for i in range(500)))
    for i in range(500):
        ws.expect_text(f"message {i}")


@pytest.mark.parametrize("chunks", [(b"", b""), (b"", b"abc", b""), (b"a", b"b", b"c"),
                                    (b"x" * 126, b"y" * 70000, b""),
                                    tuple(b"z" for _ in range(100))])
def test_pitfall_fragments_are_joined(ws, chunks):
    for opcode in (TEXT, BINARY):
        ws.send(b"".join(fragments(opcode, *chunks)))
        ws.expect(opcode, b"".join(chunks))


def test_control_frames_between_fragments(ws):
    one, two, three = fragments(TEXT, b"one ", b"two ", b"three")
    if ws.endpoint == "/ws/pieces":
        ws.send(one + two + three)
        ws.expect_text("one two three")
        return
    ws.send(one + frame(PING, b"now") + two + frame(PONG, b"unasked") + frame(PING, b"") + three)
    ws.expect(PONG, b"now")
    ws.expect(PONG, b"")
    ws.expect_text("one two three")


@pytest.mark.parametrize("size", [0, 1, 124, 125])
def test_ping_gets_pong_with_its_payload(ws, size):
    payload = os.urandom(size)
    ws.send(frame(PING, payload))
    ws.expect(PONG, payload)


def test_pings_and_pongs_are_counted(server):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(frame(PING, b"1") + frame(PONG, b"2") + frame(PONG, b""))
        ws.expect(PONG, b"1")
        ws.echo()
        ws.send(ws_raw.text("!ping from the server"))
        ws.expect(PING, b"from the server")
        ws.send(frame(PONG, b"from the server"))
        ws.echo()
    now = websocket_state(server)
    assert (now["pings"] - before["pings"], now["pongs"] - before["pongs"]) == (1, 3)


def test_server_streams_a_message(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!pieces"))
        got = [ws.read_frame() for _ in range(4)]
        messages = [one for one in got if one[0] < 8]
        assert [(opcode, payload, fin)
                for opcode, payload, fin, _ in messages] == [(TEXT, b"one ", False),
                                                             (CONTINUATION, b"two ", False),
                                                             (CONTINUATION, b"three", True)]
        assert [one[:2] for one in got if one[0] >= 8] == [(PING, b"between")]
        ws.send(frame(PONG, b"between"))
        ws.echo()
    assert websocket_state(server)["error"] in ("UVHTTP_EINVAL", "0")


@pytest.mark.parametrize("path, extra", ENDPOINTS[:3])
def test_prepared_message_is_sent_repeatedly(server, path, extra):
    with WebSocket(server.port, path, *extra) as ws:
        ws.send(ws_raw.text("!prepared 20"))
        for _ in range(20):
            ws.expect_text(", ".join(["prepared once"] * 5))
        ws.echo(b"a message behind them " * 5)


def test_invalid_sends_are_rejected(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!wrong"))
        ws.expect_text(" ".join(["UVHTTP_EINVAL"] * 7))
        ws.echo()


# ---- violations of the framing rules: 1002 ----


@pytest.mark.parametrize("data", [
    ws_raw.text("x", mask=None),
    frame(BINARY, b"", mask=None),
    frame(PING, b"x", mask=None),
    ws_raw.close(1000, mask=None)
])
def test_pitfall_unmasked_frame_is_rejected(ws, data):
    # Section 5.1.
    fails(ws, data, 1002)


@pytest.mark.parametrize("rsv", [1, 2, 3, 5, 6, 7])
def test_reserved_bits_are_rejected(ws, rsv):
    fails(ws, frame(TEXT, b"x", rsv=rsv), 1002)


def test_rsv1_without_compression_is_rejected(server):
    for data in (frame(TEXT, b"x", rsv=4), frame(BINARY, ws_raw.deflate(b"x" * 100), rsv=4)):
        with WebSocket(server.port) as ws:
            fails(ws, data, 1002)


@pytest.mark.parametrize("data", [
    frame(PING, b"x", rsv=4),
    ws_raw.close(1000, rsv=4),
    fragments(TEXT, b"a", b"b")[0] + frame(CONTINUATION, b"b", rsv=4)
])
def test_rsv1_in_continuation_is_rejected(ws, data):
    # RFC 7692 section 6.1.
    fails(ws, data, 1002)


@pytest.mark.parametrize("opcode", [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
def test_unknown_opcode_is_rejected(ws, opcode):
    fails(ws, frame(opcode, b""), 1002)


@pytest.mark.parametrize("data", [
    frame(PING, b"x" * 126),
    frame(PONG, b"x" * 126),
    frame(CLOSE, b"\x03\xe8" + b"x" * 124),
    frame(PING, b"", fin=False),
    frame(CLOSE, b"", fin=False),
    frame(PONG, b"x" * 70000),
    frame(PING, b"abc", form=16)
])
def test_long_or_fragmented_control_frame_is_rejected(ws, data):
    # Section 5.5.
    fails(ws, data, 1002)


@pytest.mark.parametrize("data", [
    frame(CONTINUATION, b"x"),
    frame(CONTINUATION, b"x", fin=False),
    ws_raw.text("whole") + frame(CONTINUATION, b"x")
])
def test_continuation_without_message_is_rejected(server, data):
    # Section 5.4.
    with WebSocket(server.port) as ws:
        ws.send(data)
        if data.startswith(ws_raw.text("whole")):
            ws.expect_text("whole")
        ws.expect_failure(1002)


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_message_within_message_is_rejected(server, opcode):
    with WebSocket(server.port) as ws:
        fails(ws, frame(TEXT, b"a", fin=False) + frame(opcode, b"b"), 1002)


@pytest.mark.parametrize("length", [1 << 63, (1 << 64) - 1])
def test_length_with_highest_bit_is_rejected(server, length):
    # Section 5.2: that bit must be 0. Such a length exceeds every limit, too.
    with WebSocket(server.port) as ws:
        ws.send(frame(BINARY, b"", length=length, form=64))
        assert ws.read_close()[0] in (1002, 1009)
        ws.expect_end()


def test_frames_after_violation_are_ignored(server):
    with WebSocket(server.port) as ws:
        fails(ws, frame(3, b"") + ws_raw.text("no echo") + frame(PING, b"no pong"), 1002)


def test_messages_before_violation_are_echoed(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("before") + frame(15, b""))
        ws.expect_text("before")
        ws.expect_failure(1002)


# ---- UTF-8: 1007 ----

GOOD = [
    "", "κόσμε", "\0", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\uffff",
    "\U00010000", "\U0010ffff", "a" * 63 + "é" + "b" * 64
]
BAD = [
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3(", b"\xe0\x80\x80", b"\xe0\x9f\xbf",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff", b"\xc3", b"\xe2\x82",
    b"\xf0\x9f\x98", b"a" * 200 + b"\xc3", b"\xff" + b"a" * 200,
    b"a" * 31 + b"\xed\xa0\x80" + b"a" * 31
]


@pytest.mark.parametrize("words", GOOD)
def test_valid_utf8_split_at_every_byte(ws, words):
    data = words.encode()
    ws.echo(data)
    for cut in range(len(data) + 1):
        ws.send(b"".join(fragments(TEXT, data[:cut], data[cut:])))
        ws.expect(TEXT, data)


@pytest.mark.parametrize("data", BAD)
def test_pitfall_invalid_utf8_is_rejected(server, data):
    # Section 8.1.
    for chunks in ((data, ), (data[:1], data[1:]), (b"ok ", data), (b"ok " + data, b"")):
        for path in ("/ws/echo", "/ws/pieces"):
            with WebSocket(server.port, path) as ws:
                fails(ws, b"".join(fragments(TEXT, *chunks)), 1007)
    with WebSocket(server.port) as ws:
        ws.echo(data, BINARY)


def test_invalid_utf8_is_rejected_before_end_of_message(server):
    with WebSocket(server.port) as ws:
        fails(ws, frame(TEXT, b"abc\xff", fin=False), 1007)


def test_invalid_utf8_in_compressed_message_is_rejected(server):
    for path in ("/ws/echo-deflate", "/ws/echo-dedicated"):
        with WebSocket(server.port, path, OFFER) as ws:
            fails(ws, frame(TEXT, ws_raw.deflate(b"a" * 1000 + b"\xc3("), rsv=4), 1007)


# ---- compression (RFC 7692 section 7.2) ----


@pytest.mark.parametrize("path", ["/ws/echo-deflate", "/ws/echo-dedicated"])
def test_compressed_message_split_anywhere(server, path):
    data = ("key: value, " * 30).encode()
    coded = ws_raw.deflate(data)
    with WebSocket(server.port, path, OFFER) as ws:
        for cut in range(len(coded) + 1):
            ws.send(frame(TEXT, coded[:cut], fin=False, rsv=4) + frame(CONTINUATION, coded[cut:]))
            ws.expect(TEXT, data)


@pytest.mark.parametrize("path", ["/ws/echo-deflate", "/ws/echo-dedicated"])
def test_compressed_and_plain_messages_alternate(server, path):
    with WebSocket(server.port, path, OFFER) as ws:
        for i in range(50):
            data = f"message {i} ".encode() * (i * 40)
            ws.send(
                frame(BINARY, ws_raw.deflate(data, level=i % 10), rsv=4) if i %
                3 else frame(BINARY, data))
            ws.expect(BINARY, data)


def test_compressed_message_forms_are_accepted(server):
    with WebSocket(server.port, "/ws/echo-deflate", OFFER) as ws:
        # Sections 7.2.3.6 and 7.2.3.3 to 7.2.3.5.
        ws.send(frame(TEXT, b"\x00", rsv=4))
        ws.expect(TEXT, b"")
        ws.send(frame(TEXT, bytes.fromhex("000500faff48656c6c6f00"), rsv=4))
        ws.expect(TEXT, b"Hello")
        ws.send(frame(TEXT, bytes.fromhex("f248cdc9c90700"), rsv=4))
        ws.expect(TEXT, b"Hello")
        ws.send(frame(TEXT, bytes.fromhex("f248050000 00ffff cac9c90700"), rsv=4))
        ws.expect(TEXT, b"Hello")
        # With BFINAL set, followed by a zero byte.
        ws.send(frame(TEXT, bytes.fromhex("f348cdc9c9070000"), rsv=4))
        ws.expect(TEXT, b"Hello")


@pytest.mark.parametrize("path", ["/ws/echo-deflate", "/ws/echo-dedicated"])
@pytest.mark.parametrize("coded", [
    b"\xff\xff\xff\xff", b"\x07abc", b"\x00\x05\x00\x00\x00hello",
    ws_raw.deflate(b"x" * 500)[:4] + b"\xff" * 10
])
def test_invalid_deflate_data_is_rejected(server, path, coded):
    with WebSocket(server.port, path, OFFER) as ws:
        ws.send(frame(BINARY, coded, rsv=4))
        assert ws.read_close()[0] in (1002, 1007)
        ws.expect_end()


def test_short_message_is_not_compressed(server):
    with WebSocket(server.port, "/ws/echo-deflate", OFFER) as ws:
        ws.echo(b"short")
        assert not ws.was_compressed
        ws.echo(b"long, long, long, " * 30)
        assert ws.was_compressed
        ws.echo(os.urandom(5000), BINARY)


# ---- closing (section 7) ----

CODES = [
    1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999
]
WRONG_CODES = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535]


@pytest.mark.parametrize("code", CODES)
def test_close_frame_gets_close_frame_with_same_code(server, code):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.close(code, "größe"))
        assert ws.read_close()[0] == code
        ws.assert_closed()
    now = websocket_state(server)
    assert (now["code"], now["reason"]) == (code, "größe")
    assert now["closes"] == before["closes"] + 1


@pytest.mark.parametrize("code", WRONG_CODES)
def test_pitfall_invalid_close_code_is_rejected(server, code):
    # Section 7.4.
    with WebSocket(server.port) as ws:
        fails(ws, ws_raw.close(code), 1002)


def test_close_frame_without_code(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.close())
        assert ws.read_close()[0] in (None, 1000)
        ws.assert_closed()
    assert (websocket_state(server)["code"], websocket_state(server)["reason"]) == (1005, "")


def test_close_frame_of_one_byte_is_rejected(server):
    with WebSocket(server.port) as ws:
        fails(ws, frame(CLOSE, b"\x03"), 1002)


@pytest.mark.parametrize("reason", [b"\xff", b"abc\xc3", b"\xed\xa0\x80"])
def test_close_reason_with_invalid_utf8_is_rejected(server, reason):
    with WebSocket(server.port) as ws:
        fails(ws, ws_raw.close(1000, reason), 1007)


def test_close_reason_of_123_bytes(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.close(1000, "r" * 123))
        assert ws.read_close()[0] == 1000
    eventually(lambda: websocket_state(server)["reason"] == "r" * 123,
               "the whole reason is reported")


def test_frames_after_close_frame_are_ignored(server):
    with WebSocket(server.port) as ws:
        ws.send(
            ws_raw.text("before") + ws_raw.close(1000) + ws_raw.text("behind") + frame(PING, b"") +
            ws_raw.close(1001))
        ws.expect_text("before")
        assert ws.read_close()[0] == 1000
        ws.expect_end()


def test_close_frame_within_message(server):
    with WebSocket(server.port) as ws:
        ws.send(frame(TEXT, b"never ends", fin=False) + ws_raw.close(1000))
        assert ws.read_close()[0] == 1000
        ws.assert_closed()


@pytest.mark.parametrize("command, reported", [("!close 1000 done", (1000, "done")),
                                               ("!close 4321", (4321, "")),
                                               ("!close 0", (None, "")),
                                               ("!close 1000 " + "r" * 123, (1000, "r" * 123))])
def test_server_starts_closing_handshake(server, command, reported):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text(command))
        assert ws.read_close() == reported
        server.settle()
        assert websocket_state(
            server)["closes"] == before["closes"], "the closing handshake is complete"
        ws.send(ws_raw.close(reported[0]))
        ws.assert_closed()
    now = websocket_state(server)
    assert now["closes"] == before["closes"] + 1 and now["code"] == (reported[0] or
                                                                     1005) and now["error"] == "0"


def test_messages_are_received_while_server_closes(server):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!close 1000") + ws_raw.text("on its way"))
        assert ws.read_close()[0] == 1000
        ws.send(frame(PING, b"no pong any more") + ws_raw.close(1000))
        ws.assert_closed()
    now = websocket_state(server)
    assert now["messages_received"] == before["messages_received"] + 2 and now[
        "error"] == "UVHTTP_EDISCONNECTED"


def test_send_after_close_fails(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!end-then-send"))
        ws.expect_text("before")
        assert ws.read_close() == (1000, "twice")
        ws.send(ws_raw.close(1000))
        ws.assert_closed()
    assert websocket_state(server)["error"] == "UVHTTP_EDISCONNECTED"


def test_simultaneous_close(server):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!close 4001") + ws_raw.close(4002))
        assert ws.read_close()[0] == 4001
        ws.expect_end()
    now = websocket_state(server)
    assert now["closes"] == before["closes"] + 1 and now["code"] == 4002


@pytest.mark.parametrize("end", ["half", "reset", "close"])
def test_lost_connection_is_reported_as_1006(server, end):
    before = websocket_state(server)
    ws = WebSocket(server.port)
    ws.echo()
    if end == "half":
        ws.half_close()
        ws.expect_end()
    elif end == "reset":
        ws.reset()
    ws.close()
    eventually(lambda: websocket_state(server)["closes"] == before["closes"] + 1,
               "the end is reported")
    assert websocket_state(server)["code"] == 1006


def test_connection_lost_within_frame(server):
    before = websocket_state(server)
    data = frame(TEXT, b"x" * 200)
    for cut in (1, 2, 3, 5, 8, 100):
        ws = WebSocket(server.port)
        ws.send(data[:cut])
        server.settle()
        ws.close()
    eventually(lambda: websocket_state(server)["closes"] == before["closes"] + 6,
               "each end is reported once")


def test_abort_closes_without_close_frame(server):
    before = websocket_state(server)
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!abort"))
        ws.expect_end()
    now = websocket_state(server)
    assert (now["closes"], now["code"]) == (before["closes"] + 1, 1006)
