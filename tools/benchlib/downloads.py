"""Clients that download a large file again and again, as fast as they can, until their time is up: a process of its own beside the load.

What they read is thrown away by the system (MSG_TRUNC) and not copied, so that they take as little as possible of the core they share
with the load. The heads are read and checked, and so are the first bytes behind each: the file is sparse, so they are zero.
"""

import json
import os
import selectors
import socket
import subprocess
import sys
import time

from . import Refused

READ_SIZE = 1024 * 1024
HEAD_MOST = 16 * 1024
GRACE_SECONDS = 20
# The load goes first on the core they share: an answer that has come and waits for that core until a download has been read is no doing of the server.
PRIORITY = 10


class Client:
    """One connection."""

    def __init__(self, port, path, size):
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        self.size, self.received, self.left, self.head = size, 0, 0, b""
        self.socket = socket.create_connection(("127.0.0.1", port), GRACE_SECONDS)
        self.socket.setblocking(False)
        self.socket.send(self.request)

    def read(self, buffer):
        """Takes what is there. A wrong answer is a ValueError."""
        if self.left > 0:
            count = self.socket.recv_into(buffer, min(READ_SIZE, self.left), socket.MSG_TRUNC)
            if count == 0:
                raise ValueError("the server closed a download")
            self.take(count)
            return
        piece = self.socket.recv(HEAD_MOST)
        if not piece:
            raise ValueError("the server closed a download")
        self.head += piece
        end = self.head.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self.head[:end].decode("latin-1").lower().split("\r\n")
        body = self.head[end + 4:]
        if not lines[0].startswith("http/1.1 200 ") or f"content-length: {self.size}" not in lines[1:] or body.strip(b"\0"):
            raise ValueError(f"a download was answered wrongly: {lines[0]}")
        self.head, self.left = b"", self.size
        self.take(len(body))

    def take(self, count):
        self.received += count
        self.left -= count
        if self.left == 0:
            self.socket.send(self.request)


def run(port, path, size, count, seconds):
    """Bytes that each client has received in so many seconds, once all have begun."""
    os.nice(PRIORITY)
    clients, buffer = [Client(port, path, size) for _ in range(count)], bytearray(READ_SIZE)
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(max(0, end - time.monotonic())):
            key.data.read(buffer)
    return [client.received for client in clients]


class Downloads:
    """The process. `result` waits for its end."""

    def __init__(self, server, path, size, count, seconds, core):
        words = [sys.executable, "-m", "benchlib.downloads", server.port, path, size, count, seconds]
        self.seconds = seconds
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                        preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        if self.process.stdout.readline() != "ready\n":
            raise Refused(f"the downloads did not begin: {self.result_text()}")

    def result_text(self):
        try:
            output, errors = self.process.communicate(timeout=self.seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, errors = self.process.communicate()
        if self.process.returncode != 0:
            raise Refused(f"a download failed: {errors.strip().split(chr(10))[-1]}")
        return output

    def result(self):
        """Bytes per second of each client."""
        return [received / self.seconds for received in json.loads(self.result_text())]

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


if __name__ == "__main__":
    port_, path_, size_, count_, seconds_ = sys.argv[1:]
    print(json.dumps(run(int(port_), path_, int(size_), int(count_), float(seconds_))))
