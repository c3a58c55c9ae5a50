"""Clients that check every response. Each counts what it has done and keeps its failures. Run as a
program, in the namespace of the front: clients.py HOST:PORT HOST:PORT(TLS) HOST:PORT(WebSocket)
SECONDS; prints a JSON object."""

import base64
import hashlib
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time

LARGE = 4_000_000  # bytes of the download, which each instance has
TIMEOUT = 60


def pattern(size):
    return bytes(range(256)) * (size // 256 + 1)


def read_response(file):
    """(status, body, whether the connection ends) of a response with Content-Length."""
    line = file.readline()
    if not line:
        raise EOFError("no response")
    status, length, ends = int(line.split()[1]), 0, False
    while (field := file.readline().strip()):
        name, value = field.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
        ends |= name.lower() == b"connection" and value.strip().lower() == b"close"
    body = file.read(length)
    if len(body) != length:
        raise EOFError(f"{len(body)} of {length} bytes")
    return status, body, ends


class Client(threading.Thread):
    def __init__(self, name, address, end):
        super().__init__()
        self.kind, self.address, self.end = name, address, end
        self.done, self.failures = 0, []
        self.closed = 0  # by a server that stops

    def goes_on(self):
        return time.monotonic() < self.end

    def connect(self):
        return socket.create_connection(self.address, timeout=TIMEOUT)

    def run(self):
        while self.goes_on():
            try:
                self.work()
            except Exception as error:  # every failure counts
                self.failures.append(f"{time.strftime('%X')} {type(error).__name__}: {error}")
                time.sleep(0.05)


class Kept(Client):
    """Requests on a kept connection."""
    request, expected = b"GET / HTTP/1.1\r\nHost: ops.test\r\n\r\n", b"hello\n"

    def work(self):
        with self.connect() as connection, connection.makefile("rb") as file:
            ends = False
            while self.goes_on() and not ends:
                connection.sendall(self.request)
                status, body, ends = read_response(file)
                if status != 200 or body != self.expected:
                    raise ValueError(f"status {status}, {len(body)} bytes")
                self.done += 1


class Post(Kept):
    """Bodies that are stored: a new file each, which the response names."""
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.number = 0

    def work(self):
        with self.connect() as connection, connection.makefile("rb") as file:
            ends = False
            while self.goes_on() and not ends:
                body = pattern(100_000)[:100_000]
                self.number += 1
                head = (f"PUT /in/{os.getpid()}-{id(self)}-{self.number} HTTP/1.1\r\n"
                        f"Host: ops.test\r\nContent-Length: {len(body)}\r\n\r\n")
                connection.sendall(head.encode() + body)
                status, _, ends = read_response(file)
                if status != 201:
                    raise ValueError(f"status {status}")
                self.done += 1


class Download(Kept):
    """Files that take a while, because the client reads them slowly."""
    digest = hashlib.sha256(pattern(LARGE)[:LARGE]).digest()

    def work(self):
        with self.connect() as connection:
            connection.sendall(b"GET /files/large HTTP/1.1\r\nHost: ops.test\r\n\r\n")
            with connection.makefile("rb", buffering=0) as file:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    byte = file.read(1)
                    if not byte:
                        raise EOFError("no response")
                    head += byte
                digest, left = hashlib.sha256(), LARGE
                while left > 0:
                    chunk = file.read(min(left, 100_000))
                    if not chunk:
                        raise EOFError(f"{left} bytes of a download are missing")
                    digest.update(chunk)
                    left -= len(chunk)
                    time.sleep(0.02)
        if not head.startswith(b"HTTP/1.1 200 ") or digest.digest() != self.digest:
            raise ValueError("a wrong download")
        self.done += 1


class Secure(Kept):
    """The same over TLS."""
    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(super().connect(), server_hostname="ops.test")


class Http2(Client):
    """curl, with several requests on a connection."""
    def work(self):
        host, port = self.address
        url = f"https://ops.test:{port}/"
        count = 20
        done = subprocess.run(["curl", "-sS", "--fail", "--http2", "-k", "--noproxy", "*",
                               "--max-time", str(TIMEOUT), "--resolve", f"ops.test:{port}:{host}",
                               *[url] * count], capture_output=True, check=False)
        if done.returncode != 0 or done.stdout != b"hello\n" * count:
            raise ValueError(f"curl: {done.returncode} {done.stderr.decode()[:200]}")
        self.done += count


def frame(payload):
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    return bytes([0x81, 0x80 | len(payload)]) + mask + masked


class WebSocket(Client):
    """Messages that are echoed. A close by 1001 is the server's right when it stops, but no message
    that was sent before may be lost."""
    def work(self):
        key = base64.b64encode(os.urandom(16)).decode()
        with self.connect() as connection, connection.makefile("rb") as file:
            connection.sendall((f"GET /echo HTTP/1.1\r\nHost: ops.test\r\nConnection: Upgrade\r\n"
                                f"Upgrade: websocket\r\nSec-WebSocket-Key: {key}\r\n"
                                "Sec-WebSocket-Version: 13\r\n\r\n").encode())
            if b" 101 " not in file.readline():
                raise ValueError("no upgrade")
            while file.readline().strip():
                pass
            number = 0
            while self.goes_on():
                number += 1
                payload = f"message {number}".encode()
                connection.sendall(frame(payload))
                kind, size = file.read(2)
                received = file.read(size)
                if kind == 0x88 and received[:2] == (1001).to_bytes(2, "big"):
                    self.closed += 1
                    return
                if kind != 0x81 or received != payload:
                    raise ValueError(f"{kind:#x} {received!r}")
                self.done += 1
                time.sleep(0.005)


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main():
    plain, secure, ws = map(address, sys.argv[1:4])
    end = time.monotonic() + float(sys.argv[4])
    clients = [Kept("kept", plain, end), Kept("kept", plain, end), Post("post", plain, end),
               Download("download", plain, end), Secure("tls", secure, end),
               Http2("http2", secure, end), WebSocket("websocket", ws, end),
               WebSocket("websocket", ws, end)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    result = {}
    for client in clients:
        entry = result.setdefault(client.kind, {"done": 0, "failures": [], "closed": 0})
        entry["done"] += client.done
        entry["closed"] += client.closed
        entry["failures"] += client.failures
    print(json.dumps(result))


if __name__ == "__main__":
    main()
