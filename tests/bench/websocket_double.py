#!/usr/bin/python3
"""A test double for the servers of `./dev bench ws`. Tests copy it under their names: uvhttp (for
its version), benchmark_websocket, floor_websocket. The environment variable DOUBLE selects an
error:

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

import base64
import hashlib
import os
import pathlib
import socket
import sys
import threading
import zlib

MODE = os.environ.get("DOUBLE", "")
NAME = pathlib.Path(sys.argv[0]).name
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# Correct responses of a "late" server, more than the messages before a run. On a busy machine a
# run may publish only a few messages to all subscribers.
CORRECT_RESPONSES, CORRECT_PUBLISHED = 120, 4
EVERY = 7
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, COMPRESSED = 0x80, 0x40
lock = threading.Lock()
response_count = 0
subscribers = []


def frame(first, payload, masked=False):
    size = len(payload)
    bit = 0x80 if masked else 0
    length = bytes([bit | size]) if size < 126 else bytes([bit | 126]) + size.to_bytes(
        2, "big") if size < 65536 else bytes([bit | 127]) + size.to_bytes(8, "big")
    return bytes([first]) + length + (b"\0\0\0\0" if masked else b"") + payload


def next_mode(correct=CORRECT_RESPONSES):
    """Returns the mode of the next response."""
    global response_count
    if not MODE.startswith("late-"):
        return MODE
    with lock:
        response_count += 1
        wrong = response_count > correct and response_count % EVERY == 0
        return MODE.removeprefix("late-") if wrong else ""


class Peer:
    def __init__(self, connection):
        self.connection, self.received, self.deflate = connection, b"", False

    def read(self, size):
        while len(self.received) < size:
            chunk = self.connection.recv(65536)
            if not chunk:
                raise EOFError
            self.received += chunk
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    def handshake(self):
        while b"\r\n\r\n" not in self.received:
            chunk = self.connection.recv(65536)
            if not chunk:
                raise EOFError
            self.received += chunk
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        accept = base64.b64encode(hashlib.sha1(fields[b"Sec-WebSocket-Key"] +
                                               GUID).digest()).decode()
        if MODE == "accept":
            accept = accept[::-1]
        self.deflate = b"Sec-WebSocket-Extensions" in fields and MODE != "no-deflate"
        agreed = ""
        if self.deflate or MODE == "agree":
            agreed = ("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover"
                      "\r\n")
        self.connection.sendall(("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                 f"Sec-WebSocket-Accept: {accept}\r\n{agreed}\r\n").encode())
        return head.split(b" ")[1].decode()

    def message(self):
        """Receives (kind, payload). The load generator sends no fragments."""
        first, length = self.read(2)
        size = length & 127
        if size > 125:
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
        mask = self.read(4)
        masked = self.read(size)
        payload = (int.from_bytes(masked, "big") ^ int.from_bytes(
            (mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
        if first & COMPRESSED:
            payload = zlib.decompressobj(-15).decompress(payload + b"\0\0\xff\xff")
        return first & 15, payload

    def send(self, kind, payload, mode):
        if mode in ("close", "drop"):
            self.connection.sendall(frame(FIN | CLOSE, b"\x03\xe8") if mode == "close" else b"")
            raise EOFError
        if mode == "stall":
            return
        if mode == "kind":
            kind = TEXT + BINARY - kind
        changed = {"content": payload[::-1], "truncate": payload[:-1],
                   "longer": payload + b"x"}.get(mode, payload)
        first = kind
        if self.deflate and mode != "plain":
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            changed = (packer.compress(changed) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
            first |= COMPRESSED
        if mode == "fragments":
            third = len(changed) // 3
            data = (frame(first, changed[:third]) + frame(FIN | PING, b"there?") +
                    frame(CONTINUATION, changed[third:2 * third]) +
                    frame(FIN | CONTINUATION, changed[2 * third:]))
        else:
            data = frame(FIN | first | (0x20 if mode == "bits" else 0), changed, mode == "masked")
        self.connection.sendall(data * (2 if mode == "extra" else 1))


def publish(sender, kind, payload):
    mode = next_mode(CORRECT_PUBLISHED)
    with lock:
        others = list(subscribers)
    if mode == "skip":
        others.pop()
    for one in others:
        if one is not sender or mode == "self":
            one.send(kind, payload, mode)


def serve_connection(connection):
    peer = Peer(connection)
    try:
        topic = peer.handshake() == "/topic"
        if topic:
            with lock:
                subscribers.append(peer)
        while True:
            kind, payload = peer.message()
            if kind == PING:
                connection.sendall(frame(FIN | PONG, payload))
            elif kind == CLOSE:
                return
            elif kind == PONG:
                continue
            elif topic:
                publish(peer, kind, payload)
            else:
                peer.send(kind, payload, next_mode())
    except (EOFError, OSError):
        pass
    finally:
        with lock:
            if peer in subscribers:
                subscribers.remove(peer)
        connection.close()


def main():
    debug = MODE == "debug" or (MODE == "debug-program" and NAME == "benchmark_websocket")
    build = f"0.0.0 gcc 0.0.0 {'Debug' if debug else 'Release'}"
    if "--version" in sys.argv:
        print(f"uvhttp 0.0.0\nbuild: {build}")
        return
    if NAME == "benchmark_websocket":
        print(f"{NAME}: uvhttp {build}")
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve_connection, args=(connection, ), daemon=True).start()


if __name__ == "__main__":
    main()
