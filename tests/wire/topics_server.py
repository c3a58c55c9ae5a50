"""Starts topics_server, and talks to it with a small WebSocket client on a blocking socket."""

import base64
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import urllib.parse
import zlib

import raw
from wire_server import SAFETY_TIMEOUT, built, eventually, read_output


class TopicsServer:
    def __init__(self, workers=1, wrapper=(), **variables):
        self.errors = tempfile.TemporaryFile()
        variables = {
            f"UVHTTP_{name.upper()}": str(value)
            for name, value in variables.items()
            if value is not None
        }
        self.process = subprocess.Popen(
            [*wrapper, built("topics_server"), str(workers)], stdout=subprocess.PIPE,
            stderr=self.errors, env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1", **variables})
        select.select([self.process.stdout], [], [], 3 * SAFETY_TIMEOUT)
        line = self.process.stdout.readline().decode()
        assert ":" in line, self.log()
        self.port = int(line.rsplit(":", 1)[1])
        self.members = []

    def log(self):
        return read_output(self.errors)

    def join(self, *patterns, receive_buffer=None, compress=False):
        member = Member(self.port, receive_buffer, compress=compress)
        self.members.append(member)
        for pattern in patterns:
            member.subscribe(pattern)
        return member

    def publish(self, topic, text, times=1):
        with raw.Connection(self.port) as connection:
            response = connection.request(
                "POST", f"/publish?topic={urllib.parse.quote(topic, safe='')}&times={times}",
                body=text.encode())
            assert response.status == 200, response.body

    def request_count(self, topic):
        with raw.Connection(self.port) as connection:
            body = connection.request("GET",
                                      f"/count?topic={urllib.parse.quote(topic, safe='')}").body
        return tuple(int(number) for number in body.split())

    def count(self, topic):
        return self.request_count(topic)[0]

    def stop(self):
        """Stops the server while members are connected. It must not leak memory."""
        if self.process.returncode is None:
            for member in self.members:
                member.socket.close()
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(timeout=3 * SAFETY_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the server did not stop: {self.log()}") from None
            self.process.stdout.close()
            assert code == 0, f"exit code {code}: {self.log()}"


class Member:
    """A client, with its received and unread messages."""
    def __init__(self, port, receive_buffer=None, target="/ws", compress=False):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(SAFETY_TIMEOUT)
        self.socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n" if compress else ""
        self.socket.sendall(
            f"GET {target} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{offer}\r\n".encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head
        self.compresses = b"permessage-deflate" in head
        assert self.compresses == compress, head
        self.forgets = b"server_no_context_takeover" in head
        self.inflater = None
        self.was_compressed = False  # the last message

    def more(self):
        new = self.socket.recv(1 << 16)
        if not new:
            raise ConnectionError("closed")
        self.bytes += new

    @staticmethod
    def frame(text, opcode=1):
        data = text.encode() if isinstance(text, str) else text
        length = bytes([0x80 | len(data)
                        ]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        return bytes([0x80 | opcode]) + length + bytes(4) + data

    def send_texts(self, *texts):
        """Everything in one packet."""
        self.socket.sendall(b"".join(self.frame(text) for text in texts))

    def next_frame(self):
        while True:
            if len(self.bytes) >= 2:
                length, at = self.bytes[1] & 127, 2
                if length >= 126:
                    at, form = (4, ">H") if length == 126 else (10, ">Q")
                    length = struct.unpack(form, self.bytes[2:at])[0] if len(
                        self.bytes) >= at else 1 << 60
                if len(self.bytes) >= at + length:
                    opcode, data = self.bytes[0] & 15, self.bytes[at:at + length]
                    self.was_compressed = bool(self.bytes[0] & 0x40)
                    self.bytes = self.bytes[at + length:]
                    return opcode, self.expand(data) if self.was_compressed else data
            self.more()

    def expand(self, data):
        assert self.compresses, "RSV1 without an extension"
        if self.inflater is None or self.forgets:
            self.inflater = zlib.decompressobj(-15)
        return self.inflater.decompress(data + b"\0\0\xff\xff")

    def get(self):
        """The next message: text or bytes."""
        opcode, data = self.next_frame()
        assert opcode in (1, 2), (opcode, data)
        return data.decode() if opcode == 1 else data

    def get_all(self, count):
        return [self.get() for _ in range(count)]

    def request(self, command):
        self.send_texts(command)
        return self.get()

    def subscribe(self, pattern):
        assert self.request(f"sub {pattern}") == f"ok {pattern}"

    def unsubscribe(self, pattern):
        assert self.request(f"unsub {pattern}") == f"ok {pattern}"

    def worker(self):
        return self.request("worker").split()[0]

    def assert_nothing_else(self):
        """Returns after all previously published messages have arrived: the response of the same
        worker follows them."""
        assert self.request("worker").endswith(" worker")

    def leave(self):
        self.socket.close()


__all__ = ["Member", "TopicsServer", "eventually"]
