"""An HTTP/2 client that controls every byte of a frame (RFC 9113 section 4.1), with a strict
reader.

It sends valid and invalid frames; header blocks are written without state, or by the caller. Every
frame of the server is checked while it is read: order, stream, size, both windows, the fields of a
response, the length of its body. Header blocks are decoded by Debian's python3-hpack.
"""

import select
import struct
from typing import NamedTuple

import hpack

import raw

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)
PRIORITY_UPDATE = 16
NAMES = dict(
    enumerate("DATA HEADERS PRIORITY RST_STREAM SETTINGS PUSH_PROMISE PING GOAWAY WINDOW_UPDATE "
              "CONTINUATION".split()))
NAMES[PRIORITY_UPDATE] = "PRIORITY_UPDATE"
END_STREAM = ACK = 1
END_HEADERS, PADDED, WITH_PRIORITY = 4, 8, 32

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 1, 2, 3, 4
MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, ENABLE_CONNECT_PROTOCOL, NO_RFC7540_PRIORITIES = 5, 6, 8, 9

ERRORS = ("NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT "
          "STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR "
          "ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED").split()
DEFAULT_WINDOW = 65535
MAX_WINDOW = MAX_STREAM = 2**31 - 1
FRAME_HEADER_SIZE = 9
DEFAULT_FRAME_SIZE = 16384
# RFC 9113 section 8.2.2.
CONNECTION_FIELDS = (
    "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade")


def error_name(code):
    return ERRORS[code] if code < len(ERRORS) else f"error {code:#x}"


class Frame(NamedTuple):
    """A frame of the server."""
    type: int
    flags: int
    stream: int
    payload: bytes

    def __repr__(self):
        name = NAMES.get(self.type, f"type {self.type}")
        return (f"<{name} flags={self.flags:#x} stream={self.stream} {len(self.payload)} bytes "
                f"{self.payload[:40]!r}>")


# ---- frames of the client ----


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """A frame. `length`: a false length."""
    size = len(payload) if length is None else length
    return struct.pack(">IBI", size << 8 | kind, flags, stream) + payload


def settings(*entries):
    """A SETTINGS frame of (identifier, value)."""
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *entry) for entry in entries))


def settings_ack():
    return frame(SETTINGS, ACK)


def ping(payload=b"12345678", flags=0):
    return frame(PING, flags, 0, payload)


def goaway(last=0, code=0, text=b""):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + text)


def reset(stream, code="CANCEL"):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", ERRORS.index(code)))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def priority(stream, depends_on=0, weight=16, exclusive=False):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", exclusive << 31 | depends_on, weight - 1))


def priority_update(stream, value, carrier=0):
    """RFC 9218 section 7.1."""
    return frame(PRIORITY_UPDATE, 0, carrier, struct.pack(">I", stream) + value.encode())


def data(stream, payload=b"", end=False, padding=None):
    """A DATA frame. `padding`: bytes of padding, with the flag."""
    flags = END_STREAM if end else 0
    if padding is not None:
        flags |= PADDED
        payload = bytes([padding]) + payload + bytes(padding)
    return frame(DATA, flags, stream, payload)


def headers(stream, block, end=True, complete=True, flags=0):
    """A HEADERS frame with (a part of) a header block."""
    return frame(HEADERS, flags | (END_STREAM if end else 0) | (END_HEADERS if complete else 0),
                 stream, block)


def continuation(stream, block, complete=True):
    return frame(CONTINUATION, END_HEADERS if complete else 0, stream, block)


def split_headers(stream, block, size, end=True):
    """A header block in one HEADERS frame and CONTINUATION frames of `size` bytes."""
    parts = [block[i:i + size] for i in range(0, len(block), size)]
    return headers(stream, parts[0], end, len(parts) == 1) + b"".join(
        continuation(stream, part, part is parts[-1]) for part in parts[1:])


# ---- HPACK without state (RFC 7541) ----


def integer(value, bits, first=0):
    """RFC 7541 section 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    coded, value = [first | most], value - most
    while value >= 128:
        coded.append(value % 128 | 128)
        value //= 128
    return bytes([*coded, value])


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def literal(name, value, first=0):
    """A literal field with a literal name, without Huffman coding. `first`: 0 without indexing,
    0x40 with indexing, 0x10 never indexed."""
    name, value = as_bytes(name), as_bytes(value)
    return bytes([first]) + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(fields):
    """A header block of literals without indexing."""
    return b"".join(literal(name, value) for name, value in fields)


def head(method="GET", path="/hello", *fields, authority="localhost", scheme="http"):
    """The fields of a request. None omits a pseudo-header field."""
    pseudo = [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority)]
    return [(name, value) for name, value in pseudo if value is not None] + list(fields)


# ---- responses ----


class Stream:
    """A stream of the client: what the server has sent on it."""
    def __init__(self, number, method, window):
        self.number, self.method, self.window = number, method, window
        self.status = None
        self.fields, self.trailers, self.interim = [], [], []
        self.body = bytearray()
        self.sizes = []  # of the DATA frames
        self.ended = False
        self.reset = None  # the name of the error

    def __repr__(self):
        return (f"<stream {self.number} status={self.status} {len(self.body)} bytes "
                f"ended={self.ended} reset={self.reset}>")

    def response(self):
        made = raw.Response(self.status, "", self.fields, [status for status, _ in self.interim])
        made.body = bytes(self.body)
        made.trailers = self.trailers
        return made


class Client:
    """One connection. Without `preface` nothing is sent, and the caller sends everything.

    `grants`: sends WINDOW_UPDATE for each DATA frame. `answers`: acknowledges SETTINGS and PING.
    `tls`: an ssl.SSLContext, or None for plain text. `socket`: a connected one, instead of a port.
    """
    def __init__(self, port=None, *entries, preface=True, grants=True, answers=True, tls=None,
                 receive_buffer=None, socket=None):
        if socket is None:
            socket = raw.Connection(port, tls=tls, receive_buffer=receive_buffer).socket
        self.socket = socket
        self.grants, self.answers = grants, answers
        self.received = b""
        self.frames = []  # all frames of the server
        self.streams = {}
        self.next_stream = 1
        self.decoder = hpack.Decoder(max_header_list_size=2**24)
        self.peer = {INITIAL_WINDOW_SIZE: DEFAULT_WINDOW, MAX_FRAME_SIZE: DEFAULT_FRAME_SIZE}
        self.settled = False  # SETTINGS of the server were read
        self.acknowledged = 0
        self.answered_pings = []
        self.goaway = None  # (last stream, name of the error)
        self.ended = False
        self.window = DEFAULT_WINDOW  # bytes that the server may send
        self.initial_window = dict(entries).get(INITIAL_WINDOW_SIZE, DEFAULT_WINDOW)
        self.frame_size = dict(entries).get(MAX_FRAME_SIZE, DEFAULT_FRAME_SIZE)
        self.send_window = DEFAULT_WINDOW  # bytes that the client may send
        self.send_windows = {}
        self.assembling = None
        self.pings = 0
        if preface:
            self.send(PREFACE, settings(*entries))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *parts):
        self.socket.sendall(b"".join(parts))

    # ---- reading ----

    def fill(self, size):
        """Reads until `size` bytes are buffered. False at the end of the stream. What has arrived
        remains buffered when the socket has a timeout."""
        while len(self.received) < size:
            try:
                more = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                # The server need not read what follows the frame that it rejects.
                assert self.goaway, "the connection was reset without GOAWAY"
                more = b""
            if not more:
                assert not self.received, f"the connection ended within a frame: {self.received!r}"
                return False
            self.received += more
        return True

    def read_frame(self):
        """The next frame, which is not processed; None at the end of the connection."""
        if self.ended or not self.fill(9):
            self.ended = True
            return None
        first, flags, stream = struct.unpack(">IBI", self.received[:9])
        size = first >> 8
        assert size <= self.frame_size, f"a frame of {size} bytes"
        assert stream <= MAX_STREAM, "RFC 9113 4.1: the reserved bit is set"
        self.fill(9 + size)
        payload, self.received = self.received[9:9 + size], self.received[9 + size:]
        return Frame(first & 0xff, flags, stream, payload)

    def step(self):
        """Reads and processes one frame; returns it, or None at the end of the connection."""
        got = self.read_frame()
        if got is None:
            return None
        self.frames.append(got)
        assert len(self.frames) > 1 or (got.type == SETTINGS and not got.flags), (
            f"RFC 9113 3.4: the first frame of the server is {got}")
        assert self.assembling is None or got.type == CONTINUATION, f"{got} within a header block"
        actions = {
            DATA: self.on_data, HEADERS: self.on_headers, CONTINUATION: self.on_continuation,
            RST_STREAM: self.on_reset, SETTINGS: self.on_settings, PING: self.on_ping,
            GOAWAY: self.on_goaway, WINDOW_UPDATE: self.on_window_update
        }
        assert got.type in actions, f"{got} is no frame that a server sends"
        actions[got.type](got)
        return got

    def until(self, condition, what):
        while not condition():
            assert self.step() is not None, f"the connection ended: {what}; {self.frames[-5:]}"

    def open_stream(self, got):
        assert got.stream in self.streams, f"{got} on a stream that is idle"
        stream = self.streams[got.stream]
        assert not stream.ended, f"{got} after END_STREAM"
        assert not stream.reset, f"{got} after RST_STREAM"
        return stream

    def on_data(self, got):
        stream = self.open_stream(got)
        assert stream.status is not None, "DATA before HEADERS"
        size, body = len(got.payload), got.payload
        if got.flags & PADDED:
            body = body[1:len(body) - body[0]]
        self.window -= size
        stream.window -= size
        assert self.window >= 0 and stream.window >= 0, f"more than the window: {stream}"
        stream.body += body
        stream.sizes.append(size)
        if got.flags & END_STREAM:
            self.finish(stream)
        if self.grants and size:
            self.grant(0, size)
            if not stream.ended:
                self.grant(got.stream, size)

    def grant(self, number, size):
        """Extends a window of the server: of the connection (0) or a stream."""
        if number:
            self.streams[number].window += size
        else:
            self.window += size
        self.send_unless_closed(window_update(number, size))

    def send_unless_closed(self, *parts):
        try:
            self.send(*parts)
        except (ConnectionResetError, BrokenPipeError):
            pass  # the reader notices the end

    def on_headers(self, got):
        self.open_stream(got)
        part = got.payload
        assert not got.flags & (PADDED | WITH_PRIORITY), f"{got} has padding or priority"
        self.assembling = [got, part]
        if got.flags & END_HEADERS:
            self.complete_headers()

    def on_continuation(self, got):
        assert self.assembling and self.assembling[0].stream == got.stream, f"unexpected {got}"
        self.assembling[1] += got.payload
        if got.flags & END_HEADERS:
            self.complete_headers()

    def complete_headers(self):
        (first, coded), self.assembling = self.assembling, None
        stream = self.streams[first.stream]
        fields = [(name.decode("latin-1"), value.decode("latin-1"))
                  for name, value in self.decoder.decode(coded, raw=True)]
        end = bool(first.flags & END_STREAM)
        for name, _ in fields:
            assert name == name.lower(), f"RFC 9113 8.2.1: {name} in upper case"
            assert name not in CONNECTION_FIELDS, f"RFC 9113 8.2.2: {name}"
        pseudo = [name for name, _ in fields if name.startswith(":")]
        if stream.status is not None:
            assert end and not pseudo, f"RFC 9113 8.1: no valid trailers: {fields}"
            stream.trailers = fields
        else:
            assert pseudo == [":status"] and fields[0][0] == ":status", f"RFC 9113 8.3.2: {fields}"
            status, rest = int(fields[0][1]), fields[1:]
            if status < 200:
                assert not end, "RFC 9113 8.1: END_STREAM on an interim response"
                assert "content-length" not in [name for name, _ in rest]
                stream.interim.append((status, rest))
            else:
                stream.status, stream.fields = status, rest
                self.check_response(stream)
        if end:
            self.finish(stream)

    @staticmethod
    def check_response(stream):
        dates = [value for name, value in stream.fields if name == "date"]
        assert len(dates) == 1 and raw.IMF_FIXDATE.match(dates[0]), f"Date is {dates}"
        lengths = [value for name, value in stream.fields if name == "content-length"]
        assert len(lengths) <= 1 and (stream.status != 204 or not lengths)

    @staticmethod
    def finish(stream):
        stream.ended = True
        lengths = [int(value) for name, value in stream.fields if name == "content-length"]
        if stream.method == "HEAD" or stream.status in (204, 304):
            assert not stream.body, f"a body: {stream}"
        else:
            assert not lengths or lengths[0] == len(stream.body), f"content-length: {stream}"

    def on_reset(self, got):
        assert len(got.payload) == 4 and got.stream in self.streams, f"{got}"
        stream = self.streams[got.stream]
        assert not stream.reset, "a second RST_STREAM"
        stream.reset = error_name(struct.unpack(">I", got.payload)[0])

    def on_settings(self, got):
        assert got.stream == 0 and len(got.payload) % 6 == 0, f"{got}"
        if got.flags & ACK:
            assert not got.payload
            self.acknowledged += 1
            return
        before = self.peer[INITIAL_WINDOW_SIZE]
        for start in range(0, len(got.payload), 6):
            identifier, value = struct.unpack(">HI", got.payload[start:start + 6])
            self.peer[identifier] = value
        for number in self.send_windows:
            self.send_windows[number] += self.peer[INITIAL_WINDOW_SIZE] - before
        self.settled = True
        if self.answers:
            self.send_unless_closed(settings_ack())

    def on_ping(self, got):
        assert got.stream == 0 and len(got.payload) == 8, f"{got}"
        if got.flags & ACK:
            self.answered_pings.append(got.payload)
        elif self.answers:
            self.send_unless_closed(ping(got.payload, ACK))

    def on_goaway(self, got):
        assert got.stream == 0 and len(got.payload) >= 8, f"{got}"
        last, code = struct.unpack(">II", got.payload[:8])
        assert self.goaway is None or last <= self.goaway[0], "RFC 9113 6.8: the last stream grows"
        self.goaway = (last, error_name(code))

    def on_window_update(self, got):
        increment, = struct.unpack(">I", got.payload)
        assert 0 < increment <= MAX_WINDOW, f"{got}"
        if got.stream:
            self.send_windows[got.stream] += increment
            assert self.send_windows[got.stream] <= MAX_WINDOW
        else:
            self.send_window += increment
            assert self.send_window <= MAX_WINDOW

    # ---- requests ----

    def new_stream(self, method="GET"):
        """The number of a new stream, on which the caller sends."""
        number, self.next_stream = self.next_stream, self.next_stream + 2
        self.streams[number] = Stream(number, method, self.initial_window)
        self.send_windows[number] = self.peer[INITIAL_WINDOW_SIZE]
        return number

    def request(self, method="GET", path="/hello", *fields, body=b"", trailers=(), end=True,
                **pseudo):
        """Sends a request; returns its stream. With `end` False the stream remains open."""
        number = self.new_stream(method)
        follows = bool(body) or bool(trailers) or not end
        self.send(headers(number, block(head(method, path, *fields, **pseudo)), end=not follows))
        if body:
            self.send_body(number, body, end=end and not trailers)
        if trailers:
            self.send(headers(number, block(trailers)))
        return number

    def send_body(self, number, body, end=True):
        """Sends a body within the windows of the server. Stops when the stream is reset."""
        sent, stream = 0, self.streams[number]
        self.until(lambda: self.settled, "no SETTINGS")
        while sent < len(body):
            space = min(self.send_window, self.send_windows[number], self.peer[MAX_FRAME_SIZE],
                        len(body) - sent)
            if stream.reset:
                return
            if space <= 0:
                assert self.step() is not None, f"the connection ended within a body: {self.frames}"
                continue
            last = end and sent + space == len(body)
            self.send(data(number, body[sent:sent + space], end=last))
            sent += space
            self.send_window -= space
            self.send_windows[number] -= space

    def response(self, number):
        """Waits for the complete response of a stream: raw.Response, with `trailers`."""
        stream = self.streams[number]
        self.until(lambda: stream.ended or stream.reset, f"no response on {stream}")
        assert stream.ended, f"instead of a response: {stream}"
        return stream.response()

    def get(self, path="/hello", *fields, **pseudo):
        """The response to a GET request on a new stream."""
        return self.response(self.request("GET", path, *fields, **pseudo))

    def responses(self, numbers):
        return [self.response(number) for number in numbers]

    # ---- expectations ----

    def sync(self):
        """Returns when the server has processed all frames sent before, and its frames of that time
        were read. The second PING is for data that is written after the first acknowledgement."""
        for _ in range(2):
            self.pings += 1
            payload = struct.pack(">Q", self.pings)
            self.send(ping(payload))
            self.until(lambda: payload in self.answered_pings, "PING was not acknowledged")

    def expect_reset(self, number, *codes):
        """The server resets the stream, and the connection works."""
        stream = self.streams[number]
        self.until(lambda: stream.reset or stream.ended, f"{stream} was not reset")
        assert stream.reset in codes, f"{stream}, expected {codes}"
        assert self.get().status == 200

    def expect_goaway(self, *codes):
        """The server ends the connection with this error."""
        self.until(lambda: self.goaway, f"no GOAWAY {codes}")
        assert self.goaway[1] in codes, f"{self.goaway}, expected {codes}"
        self.expect_end()

    def expect_end(self):
        """The server closes the connection; only frames of earlier streams may come before."""
        while self.step() is not None:
            pass

    def expect_malformed(self, number):
        """RFC 9113 section 8.1.1: a malformed request is a stream error PROTOCOL_ERROR; a response
        of 400 may come first."""
        stream = self.streams[number]
        self.until(lambda: stream.reset or stream.ended, f"{stream} was not reset")
        assert stream.status in (None, 400), f"{stream}"
        if not stream.ended:
            assert stream.reset == "PROTOCOL_ERROR", f"{stream}"
        assert self.get().status == 200

    def is_readable(self, seconds):
        """Whether data arrives within that time."""
        pending = getattr(self.socket, "tls", None)
        if self.received or (pending is not None and pending.pending()):
            return True
        plain = getattr(self.socket, "plain", self.socket)
        return bool(select.select([plain], [], [], seconds)[0])
