"""Cost and lifetime of a WebSocket connection: limits, back-pressure, slow peers, pings, silence,
stalled closing handshakes, stop of the server.

Only order and outcome are asserted, never durations.
"""

import os
import select
import signal
import struct
import time

import pytest
import ws_raw
from wire_server import WireServer, eventually
from ws_raw import (BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, WebSocket, fragments, frame,
                    websocket_state)

OFFER = "Sec-WebSocket-Extensions: permessage-deflate"
STEP = 0.3
STEPS = 9  # 2.7 s: more than twice any timeout of this file


def fails(ws, data, code):
    ws.send(data)
    ws.expect_failure(code)


# ---- limits ----


def test_pitfall_message_size_is_limited(server):
    with WebSocket(server.port, "/ws/small") as ws:
        for chunks in ([b"x" * 600], [b"x" * 600, b"x" * 400], [b"x" * 250] * 4):
            ws.send(b"".join(fragments(BINARY, *chunks)))
            ws.expect(BINARY, b"".join(chunks))
        fails(ws, b"".join(fragments(BINARY, b"x" * 600, b"x" * 401)), 1009)


def test_frame_length_beyond_limit_is_rejected_before_data(server):
    # No memory is reserved for an announced length.
    before = server.stats()["heap_live"]
    for path, size in (("/ws/small", 601), ("/ws/defaults", (1 << 20) + 1), ("/ws/echo", 1 << 40)):
        with WebSocket(server.port, path) as ws:
            fails(ws, frame(BINARY, b"", length=size), 1009)
    assert server.stats()["heap_live"] < before + 100_000


def test_frame_length_reserves_no_memory(server):
    server.settle()
    before = server.stats()["heap_live"]
    with WebSocket(server.port) as ws:
        ws.send(frame(BINARY, b"x" * 1000, length=30 << 20))
        server.settle()
        assert server.stats()["heap_live"] < before + (256 << 10)


def test_fragment_count_is_limited(server):
    with WebSocket(server.port, "/ws/small") as ws:
        ws.send(b"".join(fragments(TEXT, *[b"x"] * 4)))
        ws.expect_text("xxxx")
        ws.send(b"".join(fragments(TEXT, *[b"x"] * 5)))
        assert ws.read_close()[0] in (1008, 1009)
        ws.expect_end()
    with WebSocket(server.port, "/ws/defaults") as ws:
        ws.send(b"".join(fragments(TEXT, *[b""] * 1024)))
        ws.expect_text("")
        ws.send(b"".join(fragments(TEXT, *[b""] * 1025)))
        assert ws.read_close()[0] in (1008, 1009)


def test_message_limit_applies_after_decompression(server):
    with WebSocket(server.port, "/ws/small-deflate", OFFER) as ws:
        data = os.urandom(50_000).hex().encode()
        ws.send(frame(BINARY, ws_raw.deflate(data), rsv=4))
        ws.expect(BINARY, data)
        fails(ws, frame(BINARY, ws_raw.deflate(data + b"x"), rsv=4), 1009)


@pytest.mark.parametrize("path", ["/ws/small-deflate", "/ws/pieces-deflate", "/ws/ratio"])
def test_decompression_bomb_is_rejected(server, path):
    bomb = ws_raw.deflate(bytes(30 << 20), level=9)
    assert len(bomb) < 40_000
    before = server.stats()["heap_live"]
    with WebSocket(server.port, path, OFFER) as ws:
        ws.send(frame(BINARY, bomb, rsv=4))
        while True:  # a streaming endpoint echoes the data received so far
            opcode, payload, _, _ = ws.read_frame()
            if opcode == CLOSE:
                break
        assert struct.unpack(">H", payload[:2])[0] == 1009
        ws.expect_end()
    assert server.stats()["heap_peak"] < before + (12 << 20)


def test_total_message_memory_is_limited(server):
    half = frame(BINARY, b"x" * 90_000)[:60_000]
    with WebSocket(server.port, "/ws/budget") as first, WebSocket(server.port,
                                                                  "/ws/budget") as second:
        second.echo(b"x" * 20_000)
        first.send(half)
        eventually(lambda: websocket_state(server, "/ws/budget")["memory"] > 50_000,
                   "half of a message is buffered")
        second.send(half)
        assert second.read_close()[0] == 1013
        second.expect_end()
    eventually(lambda: websocket_state(server, "/ws/budget")["memory"] == 0,
               "the memory is released")
    with WebSocket(server.port, "/ws/budget") as ws:
        ws.echo()


def test_message_rate_is_limited(server):
    with WebSocket(server.port, "/ws/rate") as ws:
        for i in range(5):
            ws.echo(b"%d" % i)
        ws.send(b"".join(ws_raw.text("more") for _ in range(50)))
        assert read_until_close(ws) == 1008
    with WebSocket(server.port, "/ws/rate") as ws:
        ws.send(b"".join(frame(PING, b"") for _ in range(50)))
        assert read_until_close(ws) == 1008


def read_until_close(ws):
    while True:
        opcode, payload = ws.message()
        if opcode == CLOSE:
            ws.expect_end()
            return struct.unpack(">H", payload[:2])[0]


def test_slow_messages_are_within_rate_limit(server):
    with WebSocket(server.port, "/ws/rate") as ws:
        for i in range(12):
            ws.echo(b"%d" % i)
            time.sleep(0.25)


# ---- large messages, short writes, back-pressure ----


@pytest.mark.parametrize("path, extra", [("/ws/echo", ()), ("/ws/echo-deflate", (OFFER, )),
                                         ("/ws/echo-dedicated", (OFFER, ))])
def test_large_message_is_echoed(server, path, extra):
    data = os.urandom(1 << 16) * 256  # 16 MiB
    with WebSocket(server.port, path, *extra) as ws:
        for _ in range(2):
            ws.echo(data, BINARY)


def test_pitfall_full_socket_does_not_corrupt_stream(server):
    # Guards against send() on a non-blocking socket that loses the rest of a frame after a short
    # write.
    count, size = 400, 50_001
    with WebSocket(server.port, receive_buffer=4096) as ws:
        ws.send(ws_raw.text(f"!flood {count} {size}"))
        server.settle()
        ws.send(frame(PING, b"between"))
        for i in range(count):
            opcode, payload, fin, _ = ws.read_frame()
            assert (opcode, fin, payload[:8], len(payload)) == (BINARY, True, b"%08d" % i, size)
            assert payload.count(b"x") == size - 8
        ws.expect(PONG, b"between")
        ws.echo()


def test_queued_messages_precede_close_response(server):
    """A peer that closes gets the messages that were sent before its close frame was read."""
    with WebSocket(server.port, receive_buffer=4096) as ws:
        ws.send(ws_raw.text("!flood 100 50001"))
        server.settle()
        ws.send(ws_raw.close(1000, "enough"))
        server.settle()
        for i in range(100):
            opcode, payload, _, _ = ws.read_frame()
            assert (opcode, payload[:8], len(payload)) == (BINARY, b"%08d" % i, 50_001)
        ws.expect(CLOSE, struct.pack(">H", 1000))
        assert ws.receive() == b""


def test_pitfall_send_queue_reports_full_and_drain(server):
    before = websocket_state(server, "/ws/slow-newest")["drains"]
    rejected = server.stats()["rejected_writes"]
    with WebSocket(server.port, "/ws/slow-newest", receive_buffer=4096) as ws:
        ws.send(ws_raw.text("!flood 2000 20000"))
        eventually(lambda: server.stats()["rejected_writes"] > rejected, "the queue is full")
        assert websocket_state(server, "/ws/slow-newest")["drains"] == before
        ws.send(frame(PING, b"end"))
        while ws.read_frame()[0] != PONG:
            pass
        eventually(lambda: websocket_state(server, "/ws/slow-newest")["drains"] == before + 1,
                   "the queue has drained")


def flood(server, path):
    """The messages that reach a client which did not read while 2,000 messages of 20,000 bytes were
    sent: their numbers, and the close code."""
    numbers, code = [], None
    before = server.stats()["heap_live"]
    ws = WebSocket(server.port, path, receive_buffer=4096)
    ws.send(ws_raw.text("!flood 2000 20000"))
    server.settle()
    used = server.stats()["heap_live"] - before
    assert used < 2 << 20, f"{used} bytes are queued for a client that does not read"
    ws.send(frame(PING, b"end"))
    while True:
        try:
            opcode, payload, _, _ = ws.read_frame()
        except (ConnectionResetError, AssertionError):
            break
        if opcode == PONG:
            break
        if opcode == CLOSE:
            code = struct.unpack(">H", payload[:2])[0]
            break
        numbers.append(int(payload[:8]))
    ws.close()
    assert numbers == sorted(set(numbers)), "messages arrive in order, each one once"
    return numbers, code


def test_pitfall_slow_client_is_closed(server):
    before = websocket_state(server, "/ws/slow-close")
    numbers, code = flood(server, "/ws/slow-close")
    eventually(lambda: websocket_state(server, "/ws/slow-close")["connections"] == 0,
               "the client is dropped")
    assert code in (1013, None) and len(numbers) < 2000
    assert websocket_state(server, "/ws/slow-close")["closes"] == before["closes"] + 1
    assert websocket_state(server, "/ws/slow-close")["code"] == 1013


@pytest.mark.http1
def test_slow_client_is_dropped_after_close_timeout(start):
    server = start()  # /ws/slow-close has a close_timeout of one second
    server.settle()
    before = server.stats()
    with WebSocket(server.port, "/ws/slow-close", receive_buffer=4096) as ws:
        ws.send(ws_raw.text("!flood 2000 20000"))
        eventually(lambda: websocket_state(server, "/ws/slow-close")["code"] == 1013,
                   "the client is dropped")
        assert server.stats()["heap_live"] < before["heap_live"] + (
            200 << 10), "the queue is released at once"
        eventually(lambda: server.stats()["active_connections"] == before["active_connections"],
                   "close_timeout has expired")
        assert websocket_state(server, "/ws/slow-close")["memory"] == 0


def test_prepared_message_may_exceed_backlog(server):
    # The limit applies to clients that do not read. This client reads.
    for path in ("/ws/slow-close", "/ws/slow-newest", "/ws/slow-oldest"):
        with WebSocket(server.port, path) as ws:
            ws.send(ws_raw.text("!shared 400000"))
            assert ws.message() == (BINARY, bytes(400000))
            ws.echo()


def test_drain_is_reported_after_rejected_send(server):
    path = "/ws/slow-newest"
    before = websocket_state(server, path)
    taken = 0
    with WebSocket(server.port, path, receive_buffer=4096) as ws:
        # Until data is queued, far below the amount that triggers a drain report.
        while websocket_state(server, path)["memory"] == 0:
            ws.send(ws_raw.text("!flood 1 20000"))
            taken += 1
            eventually(
                lambda: websocket_state(server, path)["messages_sent"] == before["messages_sent"] +
                taken, "the message is sent")
        ws.send(ws_raw.text("!bulk 1 300000"))
        for _ in range(taken):
            assert ws.message()[1].startswith(b"00000000")
        eventually(lambda: websocket_state(server, path)["drains"] == before["drains"] + 1,
                   "the drain is reported")
        ws.echo()


def test_sent_messages_are_released_without_further_sends(server):
    with WebSocket(server.port, "/ws/hurried", receive_buffer=4096) as ws:
        ws.send(ws_raw.text("!flood 6 60000"))
        for i in range(6):
            assert ws.message()[1].startswith(b"%08d" % i)
        eventually(lambda: websocket_state(server, "/ws/hurried")["memory"] == 0,
                   "the queue is empty")


def test_slow_client_drops_newest(server):
    before = websocket_state(server, "/ws/slow-newest")["dropped"]
    numbers, code = flood(server, "/ws/slow-newest")
    assert code is None and numbers == list(range(len(numbers))) and len(numbers) < 2000
    assert websocket_state(server, "/ws/slow-newest")["dropped"] == before + 2000 - len(numbers)


def test_slow_client_drops_oldest(server):
    before = websocket_state(server, "/ws/slow-oldest")["dropped"]
    numbers, code = flood(server, "/ws/slow-oldest")
    assert code is None and numbers[-1] == 1999 and len(numbers) < 2000
    assert websocket_state(server, "/ws/slow-oldest")["dropped"] == before + 2000 - len(numbers)


def test_client_that_sends_without_reading_is_closed(server):
    # Its echoes are queued, and then it is closed: the server's memory does not grow with the
    # received data.
    before = server.stats()["heap_live"]
    ws = WebSocket(server.port, "/ws/slow-close", receive_buffer=4096)
    ws.socket.settimeout(0.5)
    data = frame(BINARY, b"x" * 60_000)
    try:
        for _ in range(3000):
            ws.send(data)
    except OSError:
        pass
    eventually(lambda: websocket_state(server, "/ws/slow-close")["connections"] == 0,
               "the connection is closed")
    ws.close()
    assert server.stats()["heap_peak"] < before + (8 << 20)


@pytest.mark.http1
def test_paused_connection_limits_client(server):
    with WebSocket(server.port) as ws:
        ws.send(ws_raw.text("!pause") + ws_raw.text("later") + frame(PING, b"later, too"))
        server.settle()
        ws.assert_silent()
        ws.socket.settimeout(1.0)
        data, sent = frame(BINARY, b"y" * 10_000), 0
        with pytest.raises(TimeoutError):
            while sent < 100 << 20:
                sent += ws.socket.send(data[sent % len(data):])
        ws.socket.settimeout(20)
        server.request("GET", "/ws/resume")
        ws.expect_text("later")
        ws.expect(PONG, b"later, too")
        rest = data[sent % len(data):] if sent % len(data) else b""
        ws.send(rest)
        for _ in range((sent + len(rest)) // len(data)):
            ws.expect(BINARY, b"y" * 10_000)
        ws.echo()


# ---- timeouts ----


def test_pitfall_pong_keeps_connection_open(server):
    # Guards against a heartbeat that ignores pongs and closes working, silent clients.
    with WebSocket(server.port, "/ws/pinging") as ws:
        for _ in range(3):
            opcode, payload = ws.message()
            assert opcode == PING
            ws.send(frame(PONG, payload))
        ws.echo()


def test_any_frame_keeps_connection_open(server):
    with WebSocket(server.port, "/ws/pinging") as ws:
        end = time.monotonic() + STEP * STEPS
        while time.monotonic() < end:
            ws.echo()
            time.sleep(STEP)


def test_paused_connection_is_not_closed_by_ping_timeout(server):
    before = websocket_state(server, "/ws/pinging")["closes"]
    with WebSocket(server.port, "/ws/pinging") as ws:
        ws.send(ws_raw.text("!pause"))
        time.sleep(STEP * STEPS)
        assert websocket_state(server, "/ws/pinging")["closes"] == before
        server.request("GET", "/ws/resume")
        ws.send(ws_raw.text("still here"))
        while (found := ws.message())[0] == PING:
            pass
        assert found == (TEXT, b"still here")


def test_missing_pong_closes_connection(server):
    before = websocket_state(server, "/ws/pinging")["closes"]
    with WebSocket(server.port, "/ws/pinging") as ws:
        assert ws.message()[0] == PING
        eventually(lambda: websocket_state(server, "/ws/pinging")["closes"] == before + 1,
                   "the connection is closed")
    assert websocket_state(server, "/ws/pinging")["code"] == 1006


def test_idle_timeout_closes_connection(server):
    with WebSocket(server.port, "/ws/idle") as ws:
        ws.echo()
        assert ws.read_close()[0] == 1000
        ws.send(ws_raw.close(1000))
        ws.assert_closed()


def test_messages_reset_idle_timeout(server):
    with WebSocket(server.port, "/ws/idle") as ws:
        for _ in range(STEPS):
            ws.echo()
            time.sleep(STEP)


def test_pings_do_not_reset_idle_timeout(server):
    with WebSocket(server.port, "/ws/idle") as ws:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if select.select([ws.socket], [], [], STEP)[0]:
                opcode, _ = ws.message()
                if opcode == CLOSE:
                    return
            ws.send(frame(PING, b""))
        pytest.fail("pings keep the connection open")


def test_close_timeout_drops_silent_client(server):
    before = websocket_state(server, "/ws/hurried")["closes"]
    with WebSocket(server.port, "/ws/hurried") as ws:
        ws.send(ws_raw.text("!close 1000"))
        assert ws.read_close()[0] == 1000
        ws.expect_end()
    eventually(lambda: websocket_state(server, "/ws/hurried")["closes"] == before + 1,
               "the close is reported")
    assert websocket_state(server, "/ws/hurried")["code"] in (1000, 1006)


@pytest.mark.http1
def test_close_timeout_drops_talking_client(server):
    with WebSocket(server.port, "/ws/hurried") as ws:
        ws.send(ws_raw.text("!close 1000"))
        assert ws.read_close()[0] == 1000
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end:
                ws.send(ws_raw.text("and another thing"))
                time.sleep(0.05)
        except OSError:
            return
        pytest.fail("messages keep the connection open")


@pytest.mark.http1
def test_close_timeout_drops_client_that_keeps_tcp_open(server):
    """After both close frames the server closes the TCP connection. It does not wait without limit
    for the client's end."""
    running = WireServer(linger_timeout=1)
    with WebSocket(running.port) as ws:
        ws.send(ws_raw.close(1000))
        assert ws.read_close()[0] == 1000
        ws.assert_closed()
        eventually(lambda: running.stats()["active_connections"] == 1,
                   "only the connection for the stats is open")
    running.stop()


def test_pitfall_http_timeouts_do_not_close_websocket():
    # Guards against an HTTP timer, set at accept, that closes WebSocket connections in use.
    running = WireServer(header_timeout=1, body_timeout=1, keep_alive_timeout=1, handler_timeout=1,
                         write_timeout=1, linger_timeout=1)
    with WebSocket(running.port) as silent, WebSocket(running.port) as busy, WebSocket(
            running.port) as half:
        half.send(ws_raw.text("one half")[:5])
        for i in range(STEPS):
            busy.echo(b"%d" % i)
            time.sleep(STEP)
        silent.echo()
        half.send(ws_raw.text("one half")[5:])
        half.expect_text("one half")
    assert running.stats()["timeouts"] == 0
    running.stop()


# ---- stop of the server ----


def test_stop_sends_close_frame(start):
    server = start(drain_timeout=60)
    with WebSocket(server.port) as ws, WebSocket(server.port, "/ws/echo-deflate", OFFER) as other:
        ws.echo()
        server.signal(signal.SIGTERM)
        for one in (ws, other):
            assert one.read_close()[0] == 1001
        ws.send(ws_raw.text("the last word") + ws_raw.close(1001))
        ws.assert_closed()
        assert server.process.poll() is None, "the server waits for the second client"
        other.send(ws_raw.close(1001))
        other.assert_closed()
        assert server.wait() == 0


def test_stop_does_not_wait_without_limit(start):
    server = start(drain_timeout=1)
    with WebSocket(server.port) as ws:
        server.signal(signal.SIGTERM)
        assert ws.read_close()[0] == 1001
        assert server.wait() == 0
        ws.expect_end()


def test_free_with_open_connections_leaks_nothing(start):
    # SIGUSR2 frees the server with open connections. Exit code 0 means that all memory was freed.
    server = start()
    with WebSocket(server.port,
                   receive_buffer=4096) as full, WebSocket(server.port) as half, WebSocket(
                       server.port, "/ws/echo-dedicated", OFFER) as ws:
        full.send(ws_raw.text("!flood 300 50000"))
        half.send(frame(TEXT, b"half", fin=False) + frame(CONTINUATION, b"x" * 1000, length=2000))
        ws.echo(b"with windows, with windows, with windows, with windows, with windows " * 10)
        ws.send(frame(BINARY, ws_raw.deflate(b"y" * 9000)[:10], rsv=4, fin=False))
        server.settle()
        server.settling.close()
        server.settling = None
        server.signal(signal.SIGUSR2)
        assert server.wait() == 0, server.log()


def test_close_callback_runs_once(server):
    before = websocket_state(server)
    for number, variant in enumerate(("goodbye", "order", "break", "abort", "wrong", "both") * 3):
        ws = WebSocket(server.port, ("/ws/echo", "/ws/echo-deflate")[number % 2])
        {
            "goodbye":
                lambda: ws.close_handshake(), "order":
                    lambda: (ws.send(ws_raw.text("!close 1000")), ws.read_close(),
                             ws.send(ws_raw.close(1000)), ws.assert_closed()), "break":
                                 lambda: ws.reset(), "abort":
                                     lambda: (ws.send(ws_raw.text("!abort")), ws.expect_end()),
            "wrong":
                lambda: fails(ws, frame(3), 1002), "both":
                    lambda:
                    (ws.send(ws_raw.text("!close 1000") + ws_raw.close(1000) + ws_raw.close(1000)),
                     ws.read_close(), ws.expect_end())
        }[variant]()
        ws.close()
    eventually(lambda: websocket_state(server)["closes"] - before["closes"] == 18,
               "every end is reported")
    assert websocket_state(server)["opens"] - before["opens"] == 18
    for path in ("/ws/echo", "/ws/echo-deflate"):
        assert websocket_state(server, path)["connections"] == 0
        assert websocket_state(server, path)["memory"] == 0
