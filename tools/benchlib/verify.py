"""Checks responses before and after every run, because wrong responses can be faster."""

import gzip
import zlib

from . import Refused, tls

TIMEOUT_SECONDS = 10


class Reader:
    """Reads from a connection."""

    def __init__(self, connection):
        self.connection, self.received, self.consumed = connection, bytearray(), 0

    def receive(self):
        part = self.connection.recv(1 << 20)
        if not part:
            raise Refused(f"it was cut off after {self.consumed + len(self.received)} bytes")
        self.received += part

    def read(self, size):
        while len(self.received) < size:
            self.receive()
        found = bytes(self.received[:size])
        del self.received[:size]
        self.consumed += size
        return found

    def read_until(self, end):
        while (at := self.received.find(end)) < 0:
            self.receive()
        return self.read(at + len(end))[:at]


def receive_head(reader):
    """Returns status line and fields, as lines."""
    return reader.read_until(b"\r\n\r\n").split(b"\r\n")


def values(lines, name):
    return [line.partition(b":")[2].strip() for line in lines[1:]
            if line.lower().startswith(name + b":")]


def receive_all(connection):
    """Receives one response: (lines of its head, status, body, size). Raises Refused for one that
    is incomplete or has no Content-Length."""
    reader = Reader(connection)
    lines = receive_head(reader)
    status = lines[0].split(b" ")
    if len(status) < 2 or not status[1].isdigit():
        raise Refused(f"the response begins with {lines[0]!r}")
    lengths = values(lines, b"content-length")
    if len(lengths) != 1 or not lengths[0].isdigit():
        raise Refused(f"the response has no Content-Length (its status is {int(status[1])})")
    body = reader.read(int(lengths[0]))
    if reader.received:
        raise Refused(f"{len(reader.received)} bytes follow the response")
    return lines, int(status[1]), body, reader.consumed


def decode(lines, body, encoding):
    """Returns the body without its content coding, which must be `encoding`."""
    found = [value.decode(errors="replace") for value in values(lines, b"content-encoding")]
    if found != ([encoding] if encoding else []):
        raise Refused(f"the Content-Encoding is {', '.join(found) or 'none'} "
                      f"instead of {encoding or 'none'}")
    try:
        return gzip.decompress(body) if encoding else body
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(f"the body is no gzip: {error}") from error


def check_response(connection, request, body, encoding):
    """Sends a request and checks the response. Returns the size of the response."""
    connection.sendall(request)
    lines, status, got, size = receive_all(connection)
    if status != 200:
        raise Refused(f"the status is {status} instead of 200")
    got = decode(lines, got, encoding)
    if len(got) != len(body):
        raise Refused(f"the body has {len(got)} bytes instead of {len(body)}")
    if got != body:
        raise Refused("the body has the right length and the wrong content")
    return size


def make_request(port, path, method="GET", fields=(), request_body=b""):
    length = (("Content-Length", str(len(request_body))),) if request_body else ()
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in (*fields, *length)]
    return "\r\n".join([*lines, "", ""]).encode() + request_body


def check_file(server, work, name, body):
    """Requests a file twice on one connection, as the load generator does. With `close` each
    request has its own connection, which the server must close."""
    path = server.path_of(name, work)
    request = make_request(server.port, path, work.method, work.fields, work.request_body)
    try:
        for _ in range(2 if work.close else 1):
            with tls.connect(server, TIMEOUT_SECONDS) as connection:
                for _ in range(1 if work.close else 2):
                    found = check_response(connection, request, body, work.encoding)
                if work.close and connection.recv(1):
                    raise Refused("bytes follow the response")
    except (OSError, Refused) as error:
        raise Refused(f"wrong response from {server.name} for {path}: {error}") from error
    return found


def check_work(server, work):
    """Checks all samples of a work. Returns the mean size of a response."""
    return sum(check_file(server, work, name, body) * part for name, body, part in work.samples())
