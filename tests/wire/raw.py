"""A client that controls every byte: plain sockets, and a strict reader of responses.

Each response is checked while it is read: status line, field lines, framing fields, Date. So a test
that checks only the status verifies all of these, too. Sockets have a long timeout. Its only
purpose is that a missing response fails the test instead of blocking it.
"""

import re
import socket
import struct

import tls as tls_tools

SAFETY_TIMEOUT = 20.0
PATTERN = bytes(range(251))

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)\Z")
FIELD_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x21-\xff\t ]*?)[ \t]*\Z")
IMF_FIXDATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"[0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT\Z")


def pattern(size, offset=0):
    """The body of /large. Its period is 251, so that a lost or duplicated chunk is detected
    anywhere."""
    start = offset % len(PATTERN)
    return (PATTERN * ((size + start) // len(PATTERN) + 1))[start:start + size]


def request(method="GET", target="/hello", *fields, body=b"", version="HTTP/1.1", host="localhost"):
    """The bytes of one request. Fields are whole lines. A body gets a Content-Length unless a field
    frames it."""
    lines = [f"{method} {target} {version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += fields
    if body and not re.search(r"(?im)^(content-length|transfer-encoding):", "\n".join(fields)):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(*chunks, trailers=(), extension=""):
    """The chunks in chunked coding, with trailer lines."""
    coded = b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension.encode(), chunk)
                     for chunk in chunks)
    return coded + b"0\r\n" + b"".join(line.encode() + b"\r\n" for line in trailers) + b"\r\n"


class Response:
    """One final response, with the interim responses before it."""
    def __init__(self, status, reason, fields, interim):
        self.status, self.reason, self.fields, self.interim = status, reason, fields, interim
        self.body = b""
        self.raw_head = b""

    def __repr__(self):
        return f"<{self.status} {self.reason} {self.fields} {self.body[:80]!r}>"

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name):
        """The value of a field that occurs at most once, or None. all() reads repeated fields."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} occurs {len(values)} times: {values}"
        return values[0] if values else None

    def has_close(self):
        return "close" in [
            option.strip().lower()
            for value in self.all("Connection")
            for option in value.split(",")
        ]

    def allow(self):
        return {method.strip() for method in self.get("Allow").split(",")}

    def facts(self):
        """The lines `name=value` of a response of /inspect."""
        pairs = [
            line.split("=", 1)
            for line in self.body.decode("latin-1").splitlines()
            if not line.startswith("field ")
        ]
        return {pair[0]: pair[1] for pair in pairs}

    def seen_fields(self):
        """The header fields that /inspect received, in wire order."""
        lines = [
            line for line in self.body.decode("latin-1").splitlines() if line.startswith("field ")
        ]
        return [tuple(line[len("field "):].split(": ", 1)) for line in lines]


# What clients of a running server use by its port: the ssl.SSLContext or None, and the class that
# translates to HTTP/2 or None. Plain HTTP/1.1 without an entry.
TRANSPORTS = {}
DEFAULT = object()


def set_transport(port, tls=None, translator=None):
    """Replaces the entry of an earlier server that had this port. Without arguments: forgets it,
    at the end of a server."""
    TRANSPORTS[port] = (tls, translator)


class Connection:
    """One connection to a server on the loopback interface. `tls`: an ssl.SSLContext, or None for
    plain text."""
    def __init__(self, port, receive_buffer=None, send_buffer=None, timeout=SAFETY_TIMEOUT,
                 tls=DEFAULT, name="localhost", session=None):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if send_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls, translator = TRANSPORTS.get(port, (None, None)) if tls is DEFAULT else (tls, None)
        if tls is not None:
            self.socket = tls_tools.Socket(self.socket, tls, name, session)
        if translator is not None:
            self.socket = translator(self.socket)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, size=65536):
        """The next available data; b"" at the end of the stream."""
        if self.buffer:
            data, self.buffer = self.buffer[:size], self.buffer[size:]
            return data
        return self.socket.recv(size)

    def receive_exactly(self, size):
        chunks, missing = [], size
        while missing > 0:
            data = self.receive(min(missing, 1 << 20))
            assert data, f"the connection ended {missing} bytes early"
            chunks.append(data)
            missing -= len(data)
        return b"".join(chunks)

    def line(self):
        while b"\n" not in self.buffer:
            data = self.socket.recv(65536)
            assert data, f"the connection ended inside a line: {self.buffer[:200]!r}"
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        assert line.endswith(b"\r"), f"a line ends without CR: {line!r}"
        return line[:-1]

    def head(self):
        start = self.line()
        found = STATUS_LINE.match(start)
        assert found, f"not a status line: {start[:200]!r}"
        fields, raw = [], start + b"\r\n"
        while True:
            line = self.line()
            raw += line + b"\r\n"
            if not line:
                break
            field = FIELD_LINE.match(line)
            assert field, f"not a field line: {line[:200]!r}"
            fields.append((field[1].decode(), field[2].decode("latin-1")))
        return int(found[1]), found[2].decode("latin-1"), fields, raw

    def response(self, method="GET"):
        """Reads one response to a request with that method, and the 1xx responses before it."""
        interim = []
        while True:
            status, reason, fields, raw = self.head()
            if status >= 200:
                break
            assert not [
                name for name, _ in fields
                if name.lower() in ("content-length", "transfer-encoding")
            ]
            interim.append(status)
        response = Response(status, reason, fields, interim)
        response.raw_head = raw
        date = response.get("Date")
        assert date is not None and IMF_FIXDATE.match(date), f"Date is {date!r}"
        length, coding = response.get("Content-Length"), response.get("Transfer-Encoding")
        assert length is None or coding is None, "Content-Length and Transfer-Encoding together"
        assert status != 204 or (length is None
                                 and coding is None), "RFC 9110 8.6: no Content-Length in 204"
        if method == "HEAD" or status in (204, 304):
            return response
        assert length is not None or coding is not None or response.has_close(
        ), f"no end of body: {response}"
        if coding is not None:
            assert coding.lower() == "chunked"
            response.body = self.chunked_body()
        elif length is not None:
            assert re.fullmatch("[0-9]+", length)
            response.body = self.receive_exactly(int(length))
        else:
            response.body = self.rest()
        return response

    def chunked_body(self):
        chunks = []
        while True:
            size = int(self.line().split(b";")[0], 16)
            if size == 0:
                break
            chunks.append(self.receive_exactly(size))
            assert self.line() == b""
        while self.line():
            pass
        return b"".join(chunks)

    def responses(self, count):
        return [self.response() for _ in range(count)]

    def request(self, method="GET", target="/hello", *fields, **extra):
        """One request and its response."""
        self.send(request(method, target, *fields, **extra))
        return self.response(method)

    def rest(self):
        """All bytes up to the end of the stream. A reset is an error."""
        chunks = []
        while data := self.receive():
            chunks.append(data)
        return b"".join(chunks)

    def assert_closed(self):
        """The server has closed the connection: no more data, no reset."""
        rest = self.rest()
        assert rest == b"", f"bytes after the last response: {rest[:300]!r}"

    def assert_silent(self):
        """No data is available."""
        assert self.buffer == b""
        self.socket.setblocking(False)
        try:
            data = self.socket.recv(100)
        except BlockingIOError:
            return
        finally:
            self.socket.settimeout(SAFETY_TIMEOUT)
        raise AssertionError(f"arrived too early: {data!r}" if data else "closed too early")

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes the socket with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()
