"""A WebSocket client that controls every bit of a frame (RFC 6455 section 5.2), with a strict
reader.

It sends valid and invalid frames. Every frame of the server is checked while it is read: no mask,
no unknown opcode, no reserved bit but RSV1 with compression, the shortest form of the length, short
and unfragmented control frames, fragments in order, UTF-8, valid close codes.
"""

import base64
import hashlib
import json
import os
import struct
import zlib

import raw

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
# RFC 7692 section 7.2.1: a compressed message ends with these bytes, which are not sent.
TAIL = b"\x00\x00\xff\xff"


def websocket_state(server, path="/ws/echo"):
    """The counters of wire_server's endpoint at this path."""
    return json.loads(server.request("GET", "/ws-state" + path).body)


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def fields(*extra, key=KEY, version="13", connection="Upgrade", upgrade="websocket"):
    """The lines of a handshake; None omits one."""
    lines = {
        "Connection": connection, "Upgrade": upgrade, "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": version
    }
    return (*(f"{name}: {value}" for name, value in lines.items() if value is not None), *extra)


def handshake(target="/ws/echo", *extra, **options):
    return raw.request("GET", target, *fields(*extra, **options))


def masked(payload, mask):
    if mask == b"\0\0\0\0" or not payload:
        return payload
    repeated = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(
        len(payload), "big")


def frame(opcode, payload=b"", fin=True, rsv=0, mask=b"\x37\xfa\x21\x3d", length=None, form=None):
    """A frame. `mask` None: no mask; `length`: a false payload length; `form`: 7, 16 or 64 bits for
    the length, in any case."""
    size = len(payload) if length is None else length
    form = form or (7 if size < 126 else 16 if size < 65536 else 64)
    head = bytes([fin << 7 | rsv << 4 | opcode])
    bit = 0x80 if mask is not None else 0
    head += {
        7: lambda: bytes([bit | size]), 16: lambda: bytes([bit | 126]) + struct.pack(">H", size),
        64: lambda: bytes([bit | 127]) + struct.pack(">Q", size)
    }[form]()
    return head + (mask + masked(payload, mask) if mask is not None else payload)


def text(words, **options):
    return frame(TEXT, words.encode() if isinstance(words, str) else words, **options)


def close(code=None, reason="", **options):
    return frame(
        CLOSE, b"" if code is None else struct.pack(">H", code) +
        (reason.encode() if isinstance(reason, str) else reason), **options)


def fragments(opcode, *chunks, **options):
    """A message as a list of frames."""
    return [
        frame(opcode if i == 0 else CONTINUATION, chunk, fin=i == len(chunks) - 1, **options)
        for i, chunk in enumerate(chunks)
    ]


def deflate(data, level=6, window=15):
    """A message as permessage-deflate sends it, without context of previous messages."""
    coder = zlib.compressobj(level, zlib.DEFLATED, -window)
    return (coder.compress(data) + coder.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)


class WebSocket(raw.Connection):
    """A connection after its handshake, unless `go_over` is False."""
    def __init__(self, port, target="/ws/echo", *extra, upgrade=True, following=b"",
                 receive_buffer=None, **options):
        super().__init__(port, receive_buffer=receive_buffer)
        self.endpoint = target
        self.compressed = self.takeover = False
        self.stored = []
        self.inflater = None
        self.was_compressed = False
        if upgrade:
            self.upgrade(target, *extra, following=following, **options)

    def upgrade(self, target="/ws/echo", *extra, following=b"", **options):
        """Does the handshake, with `behind` in the same packet; returns the fields of the
        response."""
        self.send(handshake(target, *extra, **options) + following)
        return self.read_upgrade(options.get("key", KEY))

    def read_upgrade(self, key=KEY):
        status, reason, lines, _ = self.head()
        self.fields = {name.lower(): value for name, value in lines}
        assert (status, reason) == (101, "Switching Protocols"), f"{status} {reason} {lines}"
        assert len(self.fields) == len(lines), f"a repeated field: {lines}"
        assert self.fields["upgrade"].lower() == "websocket" and self.fields["connection"].lower(
        ) == "upgrade"
        assert self.fields["sec-websocket-accept"] == accept_of(key)
        assert "content-length" not in self.fields and "transfer-encoding" not in self.fields
        extension = self.fields.get("sec-websocket-extensions", "")
        self.compressed = extension.startswith("permessage-deflate")
        self.takeover = "server_no_context_takeover" not in extension
        return self.fields

    def read_frame(self):
        """(opcode, payload, fin, rsv1) of the next frame."""
        first, second = self.receive_exactly(2)
        opcode, fin, size = first & 15, bool(first & 0x80), second & 0x7f
        assert opcode in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG), f"opcode {opcode}"
        assert first & 0x30 == 0 and (not first & 0x40 or self.compressed
                                      and opcode in (TEXT, BINARY)), f"reserved bits: {first:#x}"
        assert not second & 0x80, "RFC 6455 5.1: a server does not mask"
        if size == 126:
            size, = struct.unpack(">H", self.receive_exactly(2))
            assert size > 125, "RFC 6455 5.2: the length is not in its minimal encoding"
        elif size == 127:
            size, = struct.unpack(">Q", self.receive_exactly(8))
            assert size > 65535, "RFC 6455 5.2: the length is not in its minimal encoding"
        assert opcode < 8 or (fin
                              and size <= 125), "RFC 6455 5.5: a fragmented or long control frame"
        return opcode, self.receive_exactly(size), fin, bool(first & 0x40)

    def inflate(self, payload):
        if self.inflater is None or not self.takeover:
            self.inflater = zlib.decompressobj(-15)
        return self.inflater.decompress(payload + TAIL)

    def message(self):
        """(opcode, payload) of the next message or control frame. Fragments are joined. Control
        frames between them are stored."""
        if self.stored:
            return self.stored.pop(0)
        opcode, payload, fin, rsv1 = self.read_frame()
        if opcode >= 8:
            return opcode, payload
        assert opcode != CONTINUATION, "a continuation without a message"
        chunks = [payload]
        between = []
        while not fin:
            following, chunk, fin, again = self.read_frame()
            if following >= 8:
                between.append((following, chunk))
                fin = False
                continue
            assert following == CONTINUATION and not again, f"opcode {following} within a message"
            chunks.append(chunk)
        payload = b"".join(chunks)
        if rsv1:
            payload = self.inflate(payload)
        if opcode == TEXT:
            payload.decode("utf-8")
        self.was_compressed = rsv1
        self.stored += between
        return opcode, payload

    def expect(self, opcode, payload):
        got = self.message()
        assert got == (opcode, payload), (
            f"{got[0]} {got[1][:100]!r} ({len(got[1])}) instead of {opcode} {payload[:100]!r} "
            f"({len(payload)})")

    def expect_text(self, words):
        self.expect(TEXT, words.encode())

    def echo(self, payload=b"still here", opcode=TEXT):
        """Checks that the connection works: an echoed message arrives."""
        self.send(frame(opcode, payload))
        self.expect(opcode, payload)

    def read_close(self):
        """(code, reason) of the close frame, which is next; code None if it has none."""
        opcode, payload = self.message()
        assert opcode == CLOSE, f"{opcode} {payload[:100]!r} instead of a close frame"
        if not payload:
            return None, ""
        assert len(payload) >= 2
        code, = struct.unpack(">H", payload[:2])
        assert 1000 <= code <= 4999 and code not in (
            1004, 1005, 1006, 1015), f"RFC 6455 7.4.1: {code} must not be sent"
        return code, payload[2:].decode("utf-8")

    def expect_failure(self, code):
        """The server fails the connection with that code (RFC 6455 section 7.1.7) and closes it."""
        got, reason = self.read_close()
        assert got == code, f"{got} {reason!r} instead of {code}"
        self.expect_end()

    def expect_end(self):
        """No data follows. A reset is an end, too: the server need not read the data that it
        rejects."""
        try:
            rest = self.rest()
        except ConnectionResetError:
            return
        assert rest == b"", f"bytes after the close frame: {rest[:100]!r}"

    def close_handshake(self, code=1000, reason=""):
        """The closing handshake, started by the client."""
        self.send(close(code, reason))
        assert self.read_close()[0] == code
        self.assert_closed()


def new_key():
    return base64.b64encode(os.urandom(16)).decode()
