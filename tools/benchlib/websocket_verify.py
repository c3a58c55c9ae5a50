"""Does a server speak WebSocket as the works want it? Checked before and after every run by a
client that has nothing in common with the load generator, which compares every byte itself."""

import base64
import hashlib
import os
import socket
import struct
import zlib

from . import Refused, verify

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
FIN, COMPRESSED, MASKED = 0x80, 0x40, 0x80


class Client:
    """An open connection. Raises Refused for whatever a server must not do."""

    def __init__(self, port, path, deflate=False):
        self.connection = socket.create_connection(("127.0.0.1", port), verify.TIMEOUT_SECONDS)
        self.deflate, self.expander = deflate, zlib.decompressobj(-15)
        key = base64.b64encode(os.urandom(16))
        fields = [("Upgrade", "websocket"), ("Connection", "Upgrade"),
                  ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", key.decode())]
        if deflate:
            offer = "permessage-deflate; client_max_window_bits"
            fields.append(("Sec-WebSocket-Extensions", offer))
        try:
            self.connection.sendall(verify.make_request(port, path, fields=fields))
            self.reader = verify.Reader(self.connection)
            self.check_head(verify.receive_head(self.reader), key)
        except BaseException:
            self.connection.close()
            raise

    def check_head(self, lines, key):
        if not lines[0].startswith(b"HTTP/1.1 101"):
            raise Refused(f"the response to the handshake is {lines[0].decode(errors='replace')!r}")
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        if verify.values(lines, b"sec-websocket-accept") != [accept]:
            raise Refused("the Sec-WebSocket-Accept is wrong")
        extensions = b",".join(verify.values(lines, b"sec-websocket-extensions"))
        if self.deflate != (b"permessage-deflate" in extensions):
            raise Refused("the server did not agree to compression" if self.deflate else
                          "the server agreed to compression that was not offered")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, kind, payload):
        first = FIN | kind
        if self.deflate and kind in (TEXT, BINARY):
            # A window that fits whatever was agreed on; each message on its own.
            packer = zlib.compressobj(6, zlib.DEFLATED, -9)
            payload = (packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
            first |= COMPRESSED
        size = len(payload)
        if size < 126:
            length = bytes([MASKED | size])
        elif size < 65536:
            length = struct.pack("!BH", MASKED | 126, size)
        else:
            length = struct.pack("!BQ", MASKED | 127, size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i & 3] for i, byte in enumerate(payload))
        self.connection.sendall(bytes([first]) + length + mask + masked)

    def frame(self):
        first, length = self.reader.take(2)
        if length & MASKED:
            raise Refused("a frame of the server is masked")
        if length >= 126:
            length = int.from_bytes(self.reader.take(2 if length == 126 else 8), "big")
        return first, self.reader.take(length)

    def receive(self):
        """(kind, payload) of the next message or pong."""
        kind, compressed, payload = None, False, b""
        while True:
            first, part = self.frame()
            opcode = first & 15
            if opcode == PONG:
                return PONG, part
            if opcode == CLOSE:
                raise Refused("the server sent a close frame")
            if opcode == PING:
                self.send(PONG, part)
                continue
            if kind is None:
                kind, compressed = opcode, bool(first & COMPRESSED)
            payload += part
            if first & FIN:
                break
        if self.deflate and not compressed:
            raise Refused("the response is not compressed")
        if compressed:
            payload = self.expander.decompress(payload + b"\0\0\xff\xff")
        return kind, payload


def check_echo(client, work):
    text = (b'{"price": 12.5, "size": 100}, ' * (work.size // 30 + 1))[:work.size]
    messages = [(TEXT, text), (PING, b"still there?"), (TEXT, text[::-1])]
    if work.kind != "deflate":
        messages.append((BINARY, os.urandom(work.size)))
    for kind, payload in messages:
        client.send(kind, payload)
        got = client.receive()
        if got[0] != (PONG if kind == PING else kind):
            raise Refused(f"a frame of kind {got[0]} came back for one of kind {kind}")
        if len(got[1]) != len(payload):
            raise Refused(f"{len(got[1])} bytes came back for {len(payload)}")
        if got[1] != payload:
            raise Refused("the right length and the wrong content came back")


def check_topic(server, path, work):
    """What one subscriber publishes, the other gets once, and the publisher does not."""
    with Client(server.port, path) as one, Client(server.port, path) as other:
        for client in (one, other):
            client.send(PING, b"subscribed?")
            if client.receive() != (PONG, b"subscribed?"):
                raise Refused("something else came back for a ping")
        payload = os.urandom(work.size)
        one.send(BINARY, payload)
        if other.receive() != (BINARY, payload):
            raise Refused("the subscriber got something else")
        for client in (one, other):
            client.send(PING, b"more?")
            if client.receive() != (PONG, b"more?"):
                raise Refused("a message came that was not expected")


def check(server, path, work):
    try:
        if work.mode == "broadcast":
            check_topic(server, path, work)
            return
        with Client(server.port, path, work.kind == "deflate") as client:
            check_echo(client, work)
    except (OSError, ValueError, zlib.error, Refused) as error:
        raise Refused(f"wrong response from {server.name} for {path}: {error}") from error
