"""The wire tests of HTTP over HTTP/2 (`./dev test wire-h2`): a socket that translates.

Tests send and read bytes of HTTP/1.1. This socket sends each request on a stream of its own, and
returns the responses in the order of the requests, as bytes of HTTP/1.1. A stream that the server
resets is the end of the connection. A WebSocket handshake becomes an extended CONNECT (RFC 8441).
What has no counterpart, such as an invalid request line, fails; its tests are marked as http1.
"""

import base64
import hashlib
import http
import re

import http2_client as h2

# The phrases of RFC 9110 that Python names otherwise.
PHRASES = {413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable",
           422: "Unprocessable Content"}
NAMES = {"etag": "ETag", "www-authenticate": "WWW-Authenticate"}
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
NO_BODY, LENGTH, CHUNKED, TUNNEL = range(4)
# How long a body waits for a window before send returns; the rest is sent while reading.
PATIENCE = 0.25


def phrase(status):
    try:
        return PHRASES.get(status) or http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def as_http1_name(name):
    return NAMES.get(name) or "-".join(part.capitalize() for part in name.split("-"))


class Request:
    """A request that was begun: what is left to send, and what was returned of its response."""
    def __init__(self, stream, framing, missing, key):
        self.stream, self.framing, self.missing, self.key = stream, framing, missing, key
        self.pending, self.trailers = b"", []
        self.complete = framing == NO_BODY  # all of it was parsed
        self.sent_end = self.complete
        self.interim = self.body = 0  # returned interim responses, and bytes of the body
        self.has_head = self.chunked = False
        self.closes = False  # the client has sent Connection: close, which is for this socket


class Socket:
    """Behaves like the plain or TLS socket that it uses; `client` is the connection of HTTP/2."""
    def __init__(self, plain):
        self.plain = plain
        self.client = h2.Client(socket=plain)
        self.scheme = "https" if hasattr(plain, "tls") else "http"
        self.unparsed, self.output = b"", b""
        self.requests = []
        self.current = None  # the request whose body is parsed
        self.broken = False

    def __getattr__(self, name):
        return getattr(self.plain, name)

    # ---- requests ----

    def sendall(self, data):
        self.unparsed += data
        while self.parse():
            pass
        self.flush()
        while any(request.pending for request in self.requests) and self.client.is_readable(
                PATIENCE):
            if self.client.step() is None:
                break
            self.flush()

    send = sendall

    def parse(self):
        """Takes the next part of the sent bytes. False: more are needed."""
        if self.current is None:
            return self.parse_head()
        request = self.current
        if request.framing == CHUNKED:
            return self.parse_chunk(request)
        size = len(self.unparsed)
        if request.framing == LENGTH:
            size = min(size, request.missing)
            request.missing -= size
        request.pending += self.unparsed[:size]
        self.unparsed = self.unparsed[size:]
        if request.framing == LENGTH and request.missing == 0:
            self.end_of_request()
            return True
        return False

    def end_of_request(self):
        self.current.complete, self.current = True, None

    def parse_chunk(self, request):
        line, found, rest = self.unparsed.partition(b"\r\n")
        if not found:
            return False
        size = int(line.split(b";")[0], 16)
        if size:
            if len(rest) < size + 2:
                return False
            assert rest[size:size + 2] == b"\r\n", "an invalid chunk"
            request.pending += rest[:size]
            self.unparsed = rest[size + 2:]
            return True
        section, found, after = (b"\r\n" + rest).partition(b"\r\n\r\n")
        if not found:
            return False
        request.trailers = fields_of(section.split(b"\r\n")[1:])
        self.unparsed = after
        self.end_of_request()
        return True

    def parse_head(self):
        head, found, rest = self.unparsed.partition(b"\r\n\r\n")
        if not found:
            return False
        self.unparsed = rest
        start, *lines = head.decode("latin-1").split("\r\n")
        parts = re.fullmatch(r"(\S+) (\S+) HTTP/1\.1", start)
        assert parts, f"not a request of HTTP/1.1: {start!r}"
        self.begin(parts[1], parts[2], fields_of(lines))
        return True

    def begin(self, method, target, fields):
        hosts = [value for name, value in fields if name == "host"]
        assert len(hosts) <= 1
        named = dict(fields)
        scheme, authority = self.scheme, hosts[0] if hosts else None
        absolute = re.fullmatch(r"(https?)://([^/?]*)(.*)", target)
        if absolute:
            scheme, authority, target = absolute[1], absolute[2], absolute[3] or "/"
        length, coding = named.get("content-length"), named.get("transfer-encoding")
        pseudo = [(":method", method), (":scheme", scheme), (":path", target),
                  (":authority", authority)]
        dropped = {"host", *h2.CONNECTION_FIELDS}
        framing, missing, key = NO_BODY, 0, None
        if named.get("upgrade", "").lower() == "websocket" and method == "GET":
            pseudo[0] = (":method", "CONNECT")
            pseudo.append((":protocol", "websocket"))
            framing, key = TUNNEL, named.get("sec-websocket-key", "")
            dropped.add("sec-websocket-key")
        elif method == "CONNECT":
            pseudo = [(":method", method), (":authority", target)]
        elif coding is not None:
            framing = CHUNKED
        elif length is not None and int(length):
            framing, missing = LENGTH, int(length)
        stream = self.client.new_stream(method)
        kept = [(name, value) for name, value in fields if name not in dropped]
        block = h2.block([pair for pair in pseudo if pair[1] is not None] + kept)
        self.client.send_unless_closed(
            h2.split_headers(stream, block, h2.DEFAULT_FRAME_SIZE, end=framing == NO_BODY))
        request = Request(stream, framing, missing, key)
        request.closes = "close" in named.get("connection", "").lower()
        self.requests.append(request)
        self.current = None if framing == NO_BODY else request

    def flush(self):
        """Sends what the windows allow."""
        client = self.client
        for request in self.requests:
            number, stream = request.stream, client.streams[request.stream]
            while request.pending and not stream.reset:
                size = min(len(request.pending), client.send_window, client.send_windows[number],
                           client.peer[h2.MAX_FRAME_SIZE])
                if size <= 0:
                    break
                last = request.complete and size == len(request.pending) and not request.trailers
                client.send_unless_closed(h2.data(number, request.pending[:size], last))
                request.pending = request.pending[size:]
                request.sent_end = last
                client.send_window -= size
                client.send_windows[number] -= size
            if stream.reset:
                request.pending, request.sent_end = b"", True
            if request.complete and not request.pending and not request.sent_end:
                request.sent_end = True
                client.send_unless_closed(
                    h2.headers(number, h2.block(request.trailers)) if request.trailers else h2.
                    data(number, b"", end=True))

    # ---- responses ----

    def recv(self, size):
        while not self.output:
            self.translate()
            if self.output or self.broken:
                break
            if self.client.step() is None:
                self.broken = True
            self.flush()
        data, self.output = self.output[:size], self.output[size:]
        return data

    def translate(self):
        """Appends what has arrived of the first responses to `output`."""
        while self.requests and not self.broken:
            request = self.requests[0]
            stream = self.client.streams[request.stream]
            for status, fields in stream.interim[request.interim:]:
                self.output += self.head(status, fields)
            request.interim = len(stream.interim)
            if stream.status is not None:
                self.translate_final(request, stream)
            if stream.reset and not stream.ended:
                self.broken = True
            elif not stream.ended:
                return
            elif request.framing == TUNNEL or request.closes:
                self.broken = True
            elif not request.complete:
                return  # an early response; the rest of the body is parsed, and sent unless reset
            else:
                self.requests.pop(0)

    def head(self, status, fields):
        lines = [f"HTTP/1.1 {status} {phrase(status)}"]
        lines += [f"{as_http1_name(name)}: {value}" for name, value in fields]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def translate_final(self, request, stream):
        tunnel = request.key is not None and stream.status == 200
        if not request.has_head:
            request.has_head = True
            fields, status = list(stream.fields), stream.status
            if tunnel:
                digest = hashlib.sha1(request.key.encode() + GUID).digest()
                status, fields = 101, [("upgrade", "websocket"), ("connection", "Upgrade"),
                                       ("sec-websocket-accept", base64.b64encode(digest).decode()),
                                       *(field for field in fields if field[0] != "date")]
            elif status not in (204, 304) and "content-length" not in dict(fields):
                fields.append(("transfer-encoding", "chunked"))
                request.chunked = stream.method != "HEAD"
            if request.closes:
                fields.append(("connection", "close"))
            self.output += self.head(status, fields)
        body = bytes(stream.body[request.body:])
        request.body = len(stream.body)
        if body:
            self.output += b"%x\r\n%s\r\n" % (len(body), body) if request.chunked else body
        if stream.ended and request.chunked:
            trailers = "".join(f"{as_http1_name(name)}: {value}\r\n"
                               for name, value in stream.trailers)
            self.output += b"0\r\n" + trailers.encode("latin-1") + b"\r\n"
            request.chunked = False

    def shutdown(self, how):
        """The end of a tunnel is END_STREAM; of anything else, the end of the connection."""
        if self.current is not None and self.current.framing == TUNNEL:
            self.end_of_request()
            self.flush()
        else:
            self.plain.shutdown(how)


def fields_of(lines):
    """(name in lower case, value) of field lines."""
    texts = [line if isinstance(line, str) else line.decode("latin-1") for line in lines]
    pairs = [text.partition(":") for text in texts if text]
    return [(name.lower(), value.strip(" \t")) for name, _, value in pairs]
