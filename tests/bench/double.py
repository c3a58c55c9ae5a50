#!/usr/bin/python3
"""A test double for the servers that a benchmark starts: uvhttp, benchmark_rps and
benchmark_websocket. Tests start it by links with these names.

The environment variable DOUBLE selects an error. Of all servers:
    content         correct length, wrong bytes
    truncate        HTTP: each body loses its second half, with a matching Content-Length.
                    WebSocket: the last byte of each message is missing
    close           HTTP: closes the connection without a response.
                    WebSocket: a close frame instead of a response
    stall           no response
    debug           is a debug build
    debug-program   only the benchmark_* program is a debug build
    late-MODE       correct at first, some errors of MODE under load; not of modes that concern a
                    build, a handshake or an upgrade
Of HTTP:
    status          each response is a 500
    cut             Content-Length is larger than the body, and the connection is closed
    no-tickets      does not support resumption
Of WebSocket:
    accept          the Sec-WebSocket-Accept is wrong
    longer          a byte too many
    kind            text for binary messages, and binary for texts
    masked          frames are masked, like those of clients
    bits            a reserved bit is set
    extra           each message is sent twice
    drop            closes the connection instead of a response
    no-deflate      does not negotiate compression
    plain           negotiates compression, but does not compress
    agree           negotiates compression that was not offered
    self            publishes to the publisher, too
    skip            does not publish to the last subscriber
    fragments       correct: responses have three frames, with a ping between them
"""

import contextlib
import http.server
import itertools
import os
import pathlib
import socketserver
import ssl
import sys
import threading
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "wire"))

import ws_raw  # noqa: E402
from ws_raw import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT  # noqa: E402

MODE = os.environ.get("DOUBLE", "")
NAME = pathlib.Path(sys.argv[0]).name
# A "late" server first sends this many correct responses, more than the verification and the first
# messages before a run need. After them every third response or every seventh message is wrong. On
# a busy machine a run may publish only a few messages, so few of those are correct.
CORRECT_RESPONSES, CORRECT_MESSAGES, CORRECT_PUBLISHED = 40, 120, 4
EVERY_RESPONSE, EVERY_MESSAGE = 3, 7
COMPRESSED = 0x40
# Threads of connections change these without a lock, because each change is one atomic operation.
responses = itertools.count(1)
peers = []


def next_mode(correct, every):
    """Returns the mode of the next response. Late errors begin after `correct` responses."""
    if not MODE.startswith("late-"):
        return MODE
    number = next(responses)
    return MODE.removeprefix("late-") if number > correct and number % every == 0 else ""


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def finish(self):
        super().finish()
        if isinstance(self.connection, ssl.SSLSocket):
            # tls_load expects close_notify, too.
            with contextlib.suppress(OSError):
                self.connection.unwrap()


class Connection(Handler):
    """HTTP, for uvhttp and benchmark_rps."""

    def do_GET(self):
        request_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        mode = next_mode(CORRECT_RESPONSES, EVERY_RESPONSE)
        # Only clients that accept gzip request these paths.
        coded = "--precompressed" in sys.argv and self.path.startswith("/encoded/")
        prepared = {"/": b"Hello, world\n", "/json": b'{"message":"Hello, world"}',
                    "/post": request_body}
        body = prepared.get(self.path)
        if body is None:
            body = pathlib.Path(sys.argv[2] + self.path + (".gz" if coded else "")).read_bytes()
        half = body[:len(body) // 2]
        body = {"truncate": half, "content": body[::-1]}.get(mode, body)
        fields = "Connection: close\r\n" * self.close_connection
        fields += "Content-Encoding: gzip\r\n" * coded
        head = (f"HTTP/1.1 {500 if mode == 'status' else 200} X\r\n"
                f"Content-Length: {len(body)}\r\n{fields}\r\n").encode()
        if mode == "stall":
            threading.Event().wait()
        if mode != "close":
            self.wfile.write(head + (half if mode == "cut" else body))
        if mode in ("close", "cut"):
            self.close_connection = True

    do_POST = do_GET


class Peer(Handler):
    """WebSocket, for benchmark_websocket."""

    deflate = False

    def do_GET(self):
        # Before the 101, since the generator publishes when it has received all of them.
        peers.append(self)
        with contextlib.suppress(EOFError, OSError):
            self.upgrade()
            while self.receive():
                pass
        self.close_connection = True
        peers.remove(self)

    def upgrade(self):
        accept = ws_raw.accept_of(self.headers["Sec-WebSocket-Key"])
        if MODE == "accept":
            accept = accept[::-1]
        self.deflate = "Sec-WebSocket-Extensions" in self.headers and MODE != "no-deflate"
        agreed = ""
        if self.deflate or MODE == "agree":
            agreed = ("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover"
                      "\r\n")
        self.wfile.write(("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          f"Sec-WebSocket-Accept: {accept}\r\n{agreed}\r\n").encode())

    def receive(self):
        """Responds to a message. Returns False after a close frame."""
        kind, payload = self.message()
        if kind == PING:
            self.wfile.write(frame(PONG, payload))
        elif kind in (TEXT, BINARY) and self.path == "/topic":
            publish(self, kind, payload)
        elif kind in (TEXT, BINARY):
            self.send(kind, payload, next_mode(CORRECT_MESSAGES, EVERY_MESSAGE))
        return kind != CLOSE

    def read(self, size):
        found = self.rfile.read(size)
        if len(found) < size:
            raise EOFError
        return found

    def message(self):
        """Receives (kind, payload). The load generator sends no fragments."""
        first, length = self.read(2)
        size = length & 127
        if size > 125:
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
        mask = self.read(4)
        payload = ws_raw.masked(self.read(size), mask)
        if first & COMPRESSED:
            payload = zlib.decompressobj(-15).decompress(payload + ws_raw.TAIL)
        return first & 15, payload

    def send(self, kind, payload, mode):
        if mode in ("close", "drop"):
            self.wfile.write(frame(CLOSE, b"\x03\xe8") if mode == "close" else b"")
            raise EOFError
        if mode == "stall":
            return
        if mode == "kind":
            kind = TEXT + BINARY - kind
        changed = {"content": payload[::-1], "truncate": payload[:-1],
                   "longer": payload + b"x"}.get(mode, payload)
        rsv = 2 if mode == "bits" else 0
        if self.deflate and mode != "plain":
            changed = ws_raw.deflate(changed, level=1)
            rsv |= 4
        data = frame(kind, changed, rsv=rsv, mask=b"\0\0\0\0" if mode == "masked" else None)
        if mode == "fragments":
            third = len(changed) // 3
            data = (frame(kind, changed[:third], rsv=rsv, fin=False) + frame(PING, b"there?") +
                    frame(CONTINUATION, changed[third:2 * third], fin=False) +
                    frame(CONTINUATION, changed[2 * third:]))
        self.wfile.write(data * (2 if mode == "extra" else 1))


def frame(kind, payload, mask=None, **options):
    return ws_raw.frame(kind, payload, mask=mask, **options)


def publish(sender, kind, payload):
    mode = next_mode(CORRECT_PUBLISHED, EVERY_MESSAGE)
    receivers = [one for one in peers if one is not sender or mode == "self"]
    if mode == "skip":
        receivers.pop()
    for one in receivers:
        one.send(kind, payload, mode)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 1024


def main():
    debug = MODE == "debug" or MODE == "debug-program" and NAME.startswith("benchmark_")
    build = f"0.0.0 gcc 0.0.0 {'Debug' if debug else 'Release'}"
    if "--version" in sys.argv:
        print(f"uvhttp 0.0.0\nbuild: {build}")
        return
    if NAME.startswith("benchmark_"):
        print(f"{NAME}: uvhttp {build}")
    certificate = option("--tls") or option("--tls-cert")
    address = "127.0.0.1", int(option("--port") or 0)
    with Server(address, Peer if NAME.endswith("_websocket") else Connection) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            if MODE == "no-tickets":
                context.num_tickets = 0
            # The thread of a connection does the handshake.
            server.socket = context.wrap_socket(server.socket, server_side=True,
                                                do_handshake_on_connect=False)
        print(f"listening on http{'s' if certificate else ''}://127.0.0.1:"
              f"{server.server_address[1]}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
