#!/usr/bin/python3
"""A test double for the servers of `./dev bench ws`. Tests start it by links with their names:
uvhttp (for its version), benchmark_websocket, floor_websocket. The environment variable DOUBLE
selects an error:

    accept          the Sec-WebSocket-Accept is wrong
    content         correct length, wrong bytes
    truncate        the last byte is missing
    longer          a byte too many
    kind            text for binary messages, and binary for texts
    masked          frames are masked, like those of clients
    bits            a reserved bit is set
    extra           each message is echoed twice
    close           a close frame instead of a response
    drop            closes the connection instead
    stall           no response
    no-deflate      does not negotiate compression
    plain           negotiates compression, but does not compress
    agree           negotiates compression that was not offered
    self            publishes to the publisher, too
    skip            does not publish to the last subscriber
    debug           is a debug build
    debug-program   only benchmark_websocket is a debug build
    fragments       correct: responses have three frames, with a ping between them
    late-MODE       correct at first, some errors of MODE under load
"""

import pathlib
import sys
import zlib

from double_common import MODE, Handler, lock, next_mode, run_server

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "wire"))

import ws_raw  # noqa: E402
from ws_raw import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT  # noqa: E402

# Correct responses of a "late" server, more than the messages before a run. On a busy machine a
# run may publish only a few messages to all subscribers.
CORRECT_RESPONSES, CORRECT_PUBLISHED = 120, 4
EVERY = 7
COMPRESSED = 0x40
subscribers = []


def frame(kind, payload, mask=None, **options):
    return ws_raw.frame(kind, payload, mask=mask, **options)


class Peer(Handler):
    deflate = False

    def do_GET(self):
        self.upgrade()
        topic = self.path == "/topic"
        if topic:
            with lock:
                subscribers.append(self)
        try:
            while self.receive(topic):
                pass
        except (EOFError, OSError):
            pass
        finally:
            self.close_connection = True
            with lock:
                if topic:
                    subscribers.remove(self)

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

    def receive(self, topic):
        """Responds to a message. Returns False after a close frame."""
        kind, payload = self.message()
        if kind == PING:
            self.wfile.write(frame(PONG, payload))
        elif kind in (TEXT, BINARY) and topic:
            publish(self, kind, payload)
        elif kind in (TEXT, BINARY):
            self.send(kind, payload, next_mode(CORRECT_RESPONSES, EVERY))
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


def publish(sender, kind, payload):
    mode = next_mode(CORRECT_PUBLISHED, EVERY)
    with lock:
        others = list(subscribers)
    if mode == "skip":
        others.pop()
    for one in others:
        if one is not sender or mode == "self":
            one.send(kind, payload, mode)


if __name__ == "__main__":
    run_server(Peer)
