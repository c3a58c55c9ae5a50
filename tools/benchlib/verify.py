"""Is the answer right? Asked before and after every measurement, because a server is quickest with wrong answers."""

import hashlib
import socket

from . import Refused

TIMEOUT_SECONDS = 10


def receive_answer(connection):
    """One answer with Content-Length: (status, body, size of head and body). Raises Refused for anything else."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            raise Refused("the connection was closed before the answer's head was complete")
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    status = lines[0].split(b" ")
    if len(status) < 2 or not status[1].isdigit():
        raise Refused(f"the answer begins with {lines[0]!r}")
    lengths = [line.partition(b":")[2].strip() for line in lines[1:] if line.lower().startswith(b"content-length:")]
    if len(lengths) != 1 or not lengths[0].isdigit():
        raise Refused("the answer has no Content-Length")
    length = int(lengths[0])
    while len(body) < length:
        piece = connection.recv(1 << 20)
        if not piece:
            raise Refused(f"the body was cut off after {len(body)} of {length} bytes")
        body += piece
    if len(body) > length:
        raise Refused(f"{len(body) - length} bytes follow the answer")
    return int(status[1]), body, len(head) + 4 + length


def check(server, path, body):
    """Asks twice on one connection, as the load does, and returns the size of an answer in bytes, head and body."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    size = 0
    try:
        with socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS) as connection:
            for _ in range(2):
                connection.sendall(request)
                status, got, size = receive_answer(connection)
                if status != 200:
                    raise Refused(f"the status is {status} instead of 200")
                if len(got) != len(body):
                    raise Refused(f"the body has {len(got)} bytes instead of {len(body)}")
                if hashlib.sha256(got).digest() != hashlib.sha256(body).digest():
                    raise Refused("the body has the right length and the wrong content")
    except OSError as error:
        raise Refused(f"wrong answer from {server.name} for {path}: {error}") from error
    except Refused as error:
        raise Refused(f"wrong answer from {server.name} for {path}: {error}") from error
    return size
