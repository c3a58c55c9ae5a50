"""Is the answer right? Asked before and after every measurement, because a server is quickest with wrong answers."""

import gzip
import hashlib
import zlib

from . import Refused, tls

TIMEOUT_SECONDS = 10


def receive_head(connection):
    """(status line and fields as lines, what came of the body)"""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            raise Refused("the connection was closed before the answer's head was complete")
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), body


def values(lines, name):
    return [line.partition(b":")[2].strip() for line in lines[1:] if line.lower().startswith(name + b":")]


def receive_to(connection, body, size):
    """The body, of which at least `size` bytes have come then."""
    pieces, got = [body], len(body)
    while got < size:
        piece = connection.recv(1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


def receive_chunks(connection, received):
    """(body, bytes it took, with chunks and trailer)"""
    pieces, begin = [], 0
    while True:
        end = received.find(b"\r\n", begin)
        if end < 0:
            longer = receive_to(connection, received, len(received) + 1)
            if len(longer) == len(received):
                raise Refused(f"the chunked body was cut off after {len(received)} bytes")
            received = longer
            continue
        try:
            size = int(received[begin:end].partition(b";")[0], 16)
        except ValueError as error:
            raise Refused(f"a chunk begins with {received[begin:end]!r}") from error
        begin = end + 2 + size + 2
        received = receive_to(connection, received, begin)
        if received[begin - 2:begin] != b"\r\n":
            raise Refused(f"the chunked body was cut off after {len(received)} bytes, or has a trailer")
        if size == 0:
            return b"".join(pieces), begin, received[begin:]
        pieces.append(received[end + 2:begin - 2])


def receive_all(connection):
    """One answer: (lines of its head, status, body, size of head and body). Raises Refused for one that is not complete, or whose
    end only the end of the connection would show."""
    lines, body = receive_head(connection)
    status = lines[0].split(b" ")
    if len(status) < 2 or not status[1].isdigit():
        raise Refused(f"the answer begins with {lines[0]!r}")
    head_size = sum(len(line) + 2 for line in lines) + 2
    if is_chunked(lines):
        body, length, rest = receive_chunks(connection, body)
    else:
        lengths = values(lines, b"content-length")
        if len(lengths) != 1 or not lengths[0].isdigit():
            raise Refused(f"the answer has no Content-Length (its status is {int(status[1])})")
        length = int(lengths[0])
        body = receive_to(connection, body, length)
        if len(body) < length:
            raise Refused(f"the body was cut off after {len(body)} of {length} bytes")
        body, rest = body[:length], body[length:]
    if rest:
        raise Refused(f"{len(rest)} bytes follow the answer")
    return lines, int(status[1]), body, head_size + length


def is_chunked(lines):
    return [value.lower() for value in values(lines, b"transfer-encoding")] == [b"chunked"]


def receive_answer(connection):
    """As receive_all, without the head."""
    return receive_all(connection)[1:]


def decode(lines, body, encoding):
    """The body without the content coding that it must have; without `encoding` it must have none."""
    found = [value.decode(errors="replace") for value in values(lines, b"content-encoding")]
    if found != ([encoding] if encoding else []):
        raise Refused(f"the Content-Encoding is {', '.join(found) or 'none'} instead of {encoding or 'none'}")
    if not encoding:
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(f"the body is no gzip: {error}") from error


def check_answer(connection, request, body, encoding):
    """Asks once; the size of the answer, and whether it came in chunks."""
    connection.sendall(request)
    lines, status, got, size = receive_all(connection)
    if status != 200:
        raise Refused(f"the status is {status} instead of 200")
    got = decode(lines, got, encoding)
    if len(got) != len(body):
        raise Refused(f"the body has {len(got)} bytes instead of {len(body)}")
    if hashlib.sha256(got).digest() != hashlib.sha256(body).digest():
        raise Refused("the body has the right length and the wrong content")
    return size, is_chunked(lines)


def make_request(port, path, method="GET", fields=(), request_body=b""):
    length = (("Content-Length", str(len(request_body))),) if request_body else ()
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in (*fields, *length)]
    return "\r\n".join([*lines, "", ""]).encode() + request_body


def check_each(server, path, body, method="GET", fields=(), request_body=b"", encoding=None, close=False):
    """Asks twice on one connection, as the load does, and returns the size of an answer in bytes, head and body, and whether it came in
    chunks. With `close` each request has a connection of its own, which the server must close."""
    request = make_request(server.port, path, method, fields, request_body)
    answer = None
    try:
        for _ in range(2 if close else 1):
            with tls.connect(server, TIMEOUT_SECONDS) as connection:
                for _ in range(1 if close else 2):
                    answer = check_answer(connection, request, body, encoding)
                if close and connection.recv(1):
                    raise Refused("bytes follow the answer")
    except (OSError, Refused) as error:
        raise Refused(f"wrong answer from {server.name} for {path}: {error}") from error
    return answer


def check(server, path, body):
    """Asks twice for a body from `path` and returns the size of an answer in bytes, head and body."""
    return check_each(server, path, body)[0]


def check_work(server, work):
    """Checks what a work asks for: (the mean size of an answer, the largest size if they are not all of one size, else None). Chunks make
    sizes differ: how many there are is chance."""
    mean, largest = 0, work.largest
    for name, body, part in work.samples():
        path = server.path_of(name, work)
        size, chunked = check_each(server, path, body, work.method, work.fields, work.request_body, work.encoding, work.close)
        mean += size * part
        if chunked:
            largest = max(size, largest or 0)
    return mean, largest
