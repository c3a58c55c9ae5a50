"""Limits of HTTP/2: those of its own, and those that HTTP/1.1 has, too. What goes beyond one gets
the error of RFC 9113, or GOAWAY with ENHANCE_YOUR_CALM."""

import http2_client as h2
import pytest
import raw
import tls
from http2_client import Client
from wire_server import eventually

GET = h2.block(h2.head())
POST = h2.block(h2.head("POST", "/echo"))
MANY = 300


# ---- of HTTP/2 ----


def test_http2_off_serves_http1_only(start):
    server = start(http2=0)
    with server.connect() as connection:
        connection.send(h2.PREFACE + h2.settings())
        assert connection.response().status in (400, 505)
    assert server.request().status == 200


def test_http2_off_is_not_selected_by_alpn(start):
    server = start(http2=0, tls="1.3")
    made = tls.context(alpn=["h2", "http/1.1"])
    with raw.Connection(server.port, tls=made) as connection:
        assert connection.socket.tls.selected_alpn_protocol() == "http/1.1"
        assert connection.request().status == 200


def test_max_streams_is_announced_and_enforced(start):
    server = start(http2_max_streams=5)
    with Client(server.port) as client:
        client.sync()
        assert client.peer[h2.MAX_CONCURRENT_STREAMS] == 5
        held = [client.request("GET", "/hold/most") for _ in range(5)]
        server.wait_for_pending("most", 5)
        refused = client.request()
        client.until(lambda: client.streams[refused].reset, "the stream was not refused")
        assert client.streams[refused].reset == "REFUSED_STREAM"
        assert server.stats()["http2_refused"] == 1
        server.release("most")
        assert [response.status for response in client.responses(held)] == [200] * 5
        assert client.get().status == 200


def test_max_streams_counts_uploads(start):
    server = start(http2_max_streams=2)
    with Client(server.port) as client:
        client.sync()
        uploads = [client.request("POST", "/echo", end=False) for _ in range(2)]
        refused = client.request()
        client.until(lambda: client.streams[refused].reset, "the stream was not refused")
        assert client.streams[refused].reset == "REFUSED_STREAM"
        for number in uploads:
            client.send(h2.data(number, b"x", end=True))
            assert client.response(number).body == b"x"
        assert client.get().status == 200


def test_reset_stream_counts_until_its_handler_has_finished(start):
    # Otherwise a client could keep any number of threads busy.
    server = start(http2_max_streams=2)
    with Client(server.port) as client:
        client.sync()
        for count in (b"1", b"2"):
            number = client.request("GET", "/block/gate")
            eventually(lambda: server.request("GET", "/blocking-state").body.split()[0] == count,
                       "the handler is running")
            client.send(h2.reset(number))
        refused = client.request()
        client.until(lambda: client.streams[refused].reset, "the stream was not refused")
        assert client.streams[refused].reset == "REFUSED_STREAM"
        server.request("GET", "/open-gate")
        eventually(lambda: serves(client), "no stream was freed")


def serves(client):
    number = client.request()
    stream = client.streams[number]
    client.until(lambda: stream.ended or stream.reset, "no response")
    return stream.ended


@pytest.mark.parametrize("window", [65535, 100000])
def test_stream_window_is_announced_and_enforced(start, window):
    server = start(http2_stream_window=window, http2_connection_window=10 * window)
    with Client(server.port) as client:
        client.sync()
        assert client.peer[h2.INITIAL_WINDOW_SIZE] == window
        number = client.request("POST", "/pieces-digest?late", end=False)
        whole, rest = divmod(window, 16384)
        client.send(*[h2.data(number, bytes(16384))] * whole, h2.data(number, bytes(rest)))
        client.sync()
        assert client.streams[number].reset is None
        client.send(h2.data(number, b"x"))
        client.until(lambda: client.streams[number].reset or client.goaway, "no error")
        assert "FLOW_CONTROL_ERROR" in (client.streams[number].reset,
                                        client.goaway and client.goaway[1])


def test_connection_window_is_announced(start):
    server = start(http2_connection_window=500000)
    with Client(server.port) as client:
        client.sync()
        assert client.send_window == 500000


def test_connection_window_is_enforced(start):
    server = start(http2_stream_window=65535, http2_connection_window=100000)
    with Client(server.port) as client:
        client.sync()
        numbers = [client.request("POST", "/pieces-digest?late", end=False) for _ in range(2)]
        client.send(*[h2.data(numbers[0], bytes(16000))] * 4, *[h2.data(numbers[1],
                                                                        bytes(16000))] * 3)
        client.expect_goaway("FLOW_CONTROL_ERROR")


def test_header_table_is_announced_and_used(start):
    server = start(http2_header_table=8192)
    with Client(server.port) as client:
        client.sync()
        assert client.peer[h2.HEADER_TABLE_SIZE] == 8192
        big = h2.literal("x-big", "v" * 6000, 0x40)
        for extra in (h2.integer(8192, 5, 0x20) + GET + big, GET + b"\xbe"):
            number = client.new_stream()
            client.send(h2.headers(number, extra))
            assert client.response(number).status == 200


CONTROL = {
    "ping": lambda i: h2.ping(),
    "ping-ack": lambda i: h2.ping(flags=h2.ACK),
    "reset-again": lambda i: h2.reset(1),
    "settings": lambda i: h2.settings(),
    "settings-with-values": lambda i: h2.settings((h2.INITIAL_WINDOW_SIZE, 1000 + i)),
    "settings-ack": lambda i: h2.settings_ack(),
    "priority": lambda i: h2.priority(2 * i + 5),
    "priority-update": lambda i: h2.priority_update(1, f"u={i % 8}"),
    "priority-update-of-idle": lambda i: h2.priority_update(2 * i + 5, "u=1"),
    "window-update": lambda i: h2.window_update(0, 1),
    "window-update-of-stream": lambda i: h2.window_update(1, 1),
    "empty-data": lambda i: h2.data(1),
    "padding-only-data": lambda i: h2.data(1, padding=10),
    "unknown": lambda i: h2.frame(0x42, 0, 0, b"x"),
    "goaway": lambda i: h2.goaway(),
}


def test_heads_on_ended_streams_count_as_control_frames(start):
    server = start(http2_control_frames=20)
    with Client(server.port) as client:
        number = client.new_stream("POST")
        client.send(h2.headers(number, h2.block([(":method", "GET")]), end=False))
        client.until(lambda: client.streams[number].reset, "no error")
        client.send(*(h2.headers(number, GET, end=False) for _ in range(MANY)))
        client.expect_goaway("ENHANCE_YOUR_CALM")


@pytest.mark.parametrize("kind", CONTROL)
def test_control_frames_above_rate_end_connection(start, kind):
    server = start(http2_control_frames=20)
    with Client(server.port) as client:
        client.request("POST", "/echo", end=False)
        client.sync()
        client.send(*(CONTROL[kind](i) for i in range(MANY)))
        client.expect_goaway("ENHANCE_YOUR_CALM")
    assert server.request().status == 200
    assert "HTTP/2" in server.log()


def test_window_updates_for_each_kib_of_data_are_accepted(start):
    server = start(http2_control_frames=20)
    with Client(server.port, grants=False) as client:
        number, read = client.request("GET", "/large?size=1000000"), 0
        stream = client.streams[number]
        while not stream.ended:
            assert client.step() is not None, client.goaway
            while len(stream.body) - read >= 1024:
                client.grant(0, 1024)
                client.grant(number, 1024)
                read += 1024
        assert stream.body == raw.pattern(1000000)


@pytest.mark.parametrize("method, path", [("HEAD", "/hello"), ("GET", "/hello"),
                                          ("POST", "/none")])
def test_frames_after_each_response_are_accepted(start, method, path):
    """Some clients extend both windows of each stream, even if nothing follows, or reset streams
    whose response they have."""
    server = start(http2_control_frames=20, http2_resets=10)
    with Client(server.port, grants=False) as client:
        for _ in range(MANY):
            number = client.request(method, path, end=method != "POST")
            client.response(number)
            client.grant(number, 100)
            client.grant(0, 100)
            client.send(h2.reset(number))
        client.sync()


def test_allowed_frames_after_responses_are_used_up(start):
    server = start(http2_control_frames=20)
    with Client(server.port) as client:
        number = client.request("GET", "/large?size=50000")
        client.response(number)
        sizes = client.streams[number].sizes
        used = 2 * len(sizes) - 1  # by WINDOW_UPDATE of the client
        client.send(h2.ping() * (3 + sum(3 + 2 * (size // 1024) for size in sizes) - used))
        client.sync()
        client.send(h2.ping() * 20)
        client.expect_goaway("ENHANCE_YOUR_CALM")


def test_pings_for_each_frame_of_data_are_accepted(start):
    """So clients of gRPC measure the bandwidth."""
    server = start(http2_control_frames=20)
    with Client(server.port) as client:
        number = client.request("POST", "/pieces-echo", end=False)
        for _ in range(MANY):
            count = len(client.streams[number].body) + 10
            client.send(h2.data(number, b"x" * 10))
            client.until(lambda: len(client.streams[number].body) == count, "no echo")
            client.send(h2.ping())
        client.sync()


def test_empty_continuation_frames_end_connection(start):
    server = start(http2_control_frames=20)
    with Client(server.port) as client:
        number = client.new_stream()
        client.send(h2.headers(number, GET, complete=False),
                    h2.continuation(number, b"", False) * MANY)
        client.expect_goaway("ENHANCE_YOUR_CALM")


def test_control_frames_below_rate_are_accepted(start):
    server = start(http2_control_frames=1000)
    with Client(server.port) as client:
        for _ in range(10):
            client.send(*(h2.ping() for _ in range(20)))
            assert client.get().status == 200


def test_resets_above_rate_end_connection(start):
    server = start(http2_resets=10)
    with Client(server.port) as client:
        for _ in range(MANY):
            number = client.new_stream("POST")
            client.send_unless_closed(h2.headers(number, POST, end=False), h2.reset(number))
        client.expect_goaway("ENHANCE_YOUR_CALM")
    assert server.request().status == 200


@pytest.mark.parametrize("how", ["malformed", "window-update", "refused"])
def test_provoked_resets_above_rate_end_connection(start, how):
    # Resets of the server that the client provokes count, too.
    server = start(http2_resets=10, http2_max_streams=10)
    with Client(server.port) as client:
        client.sync()
        if how == "refused":
            for _ in range(10):
                client.request("POST", "/echo", end=False)
        for _ in range(MANY):
            number = client.new_stream("POST")
            if how == "malformed":
                client.send_unless_closed(h2.headers(number, h2.block([(":method", "GET")])))
            elif how == "window-update":
                client.send_unless_closed(h2.headers(number, POST, end=False),
                                          h2.window_update(number, 0))
            else:
                client.send_unless_closed(h2.headers(number, GET))
        client.expect_goaway("ENHANCE_YOUR_CALM")


def test_resets_above_total_end_connection_after_its_requests(start):
    """Which may be that of a proxy with many clients."""
    server = start(http2_total_resets=10)
    with Client(server.port) as client:
        kept = client.request("GET", "/hold/kept")
        for _ in range(20):
            number = client.new_stream("POST")
            client.send_unless_closed(h2.headers(number, POST, end=False), h2.reset(number))
        client.until(lambda: client.goaway is not None, "no GOAWAY")
        server.release("kept")
        assert client.response(kept).status == 200
        client.expect_goaway("NO_ERROR")


def test_ping_interval_closes_a_silent_connection(start):
    server = start(http2_ping_interval=1)
    with Client(server.port, answers=False) as client:
        client.send(h2.settings_ack())
        client.request("GET", "/hold/ping")
        client.until(lambda: any(got.type == h2.PING and not got.flags for got in client.frames),
                     "no PING")
        client.expect_end()


def test_ping_interval_keeps_an_answering_connection(start):
    server = start(http2_ping_interval=1)
    with Client(server.port) as client:
        number = client.request("GET", "/hold/answered")

        def pings():
            return sum(got.type == h2.PING and not got.flags for got in client.frames)

        client.until(lambda: pings() >= 3, "no PING")
        server.release("answered")
        assert client.response(number).status == 200


# ---- those of HTTP/1.1 ----


def test_max_header_size_is_announced(start):
    server = start(max_header_size=5000)
    with Client(server.port) as client:
        client.sync()
        assert client.peer.get(h2.MAX_HEADER_LIST_SIZE) == 5000


def test_larger_header_list_gets_431(start):
    server = start(max_header_size=1000)
    with Client(server.port) as client:
        for _ in range(3):
            number = client.new_stream()
            block = h2.block(h2.head("GET", "/hello", ("x-long", "v" * 2000)))
            client.send(h2.split_headers(number, block, 500))
            client.until(lambda: client.streams[number].ended or client.streams[number].reset,
                         "no end")
            assert client.streams[number].status == 431
        assert client.get().status == 200


def test_larger_header_list_in_several_frames_gets_431(start):
    server = start()
    with Client(server.port) as client:
        fields = [(f"x-{i}", "\x7e" * 3000) for i in range(20)]
        number = client.new_stream()
        client.send(h2.split_headers(number, h2.block(h2.head("GET", "/hello", *fields)), 16384))
        client.until(lambda: client.streams[number].ended, "no end")
        assert client.streams[number].status == 431
        assert client.get().status == 200


def test_far_larger_header_list_ends_connection(start):
    server = start(max_header_size=1000)
    with Client(server.port) as client:
        block = h2.block(h2.head("GET", "/hello", ("x-long", "v" * 40000)))
        client.send(h2.split_headers(client.new_stream(), block, 16384))
        client.expect_goaway("ENHANCE_YOUR_CALM")


def test_header_list_of_repeated_references_ends_connection(start):
    # A block of a few kilobytes that is several megabytes of fields.
    server = start()
    with Client(server.port) as client:
        server.stats()
        client.send(h2.headers(client.new_stream(), GET + h2.literal("x-big", "v" * 3900, 0x40) +
                               b"\xbe" * 10000))
        client.expect_goaway("ENHANCE_YOUR_CALM")
    assert server.stats()["heap_peak"] < 2**20


def test_table_is_updated_by_a_rejected_header_list(start):
    server = start(max_header_size=1000)
    with Client(server.port) as client:
        number = client.new_stream()
        client.send(h2.headers(number, GET + h2.literal("x-long", "v" * 2000) +
                               h2.literal("x-kept", "yes", 0x40)))
        client.until(lambda: client.streams[number].ended, "no end")
        assert client.streams[number].status == 431
        number = client.new_stream()
        client.send(h2.headers(number, h2.block(h2.head("GET", "/inspect")) + b"\xbe"))
        assert "x-kept: yes" in client.response(number).body.decode().lower()


def test_header_block_without_end_ends_connection(start):
    server = start(max_header_size=1000)
    with Client(server.port) as client:
        client.sync()
        server.stats()
        number = client.new_stream()
        client.send(h2.headers(number, GET, complete=False))
        for _ in range(100):
            part = h2.literal("x-a", "v" * 16000)
            client.send_unless_closed(h2.continuation(number, part, False))
        client.expect_goaway("ENHANCE_YOUR_CALM")
    assert server.stats()["heap_peak"] < 2**20


def test_more_fields_than_max_header_count_get_431(start):
    server = start(max_header_count=10)
    with Client(server.port) as client:
        assert client.get("/hello", *[("x-a", "b")] * 8).status == 200
        assert client.get("/hello", *[("x-a", "b")] * 12).status == 431
        assert client.get().status == 200


def test_longer_target_gets_414(start):
    server = start(max_target_size=100)
    with Client(server.port) as client:
        assert client.get("/" + "a" * 101).status == 414
        assert client.get().status == 200


def test_larger_trailers_get_431(start):
    server = start(max_trailer_size=200)
    with Client(server.port) as client:
        number = client.request("POST", "/trailer", body=b"abc", trailers=[("x-long", "v" * 300)])
        stream = client.streams[number]
        client.until(lambda: stream.ended or stream.reset, "no end")
        assert stream.status == 431
        assert client.get().status == 200


def test_larger_body_gets_413(start):
    server = start(max_body_size=1000)
    with Client(server.port) as client:
        for fields in ([], [("content-length", "1001")]):
            number = client.request("POST", "/echo", *fields, body=bytes(1001), end=False)
            client.until(lambda: client.streams[number].ended, "no response")
            assert client.streams[number].status == 413
        assert client.get().status == 200


def test_max_requests_per_connection_ends_it_with_goaway(start):
    server = start(max_requests_per_connection=3)
    with Client(server.port) as client:
        for _ in range(3):
            assert client.get().status == 200
        client.expect_goaway("NO_ERROR")
        assert client.goaway[0] == 5


def test_old_connection_ends_without_losing_requests(start):
    server = start(max_connection_age=1)
    with Client(server.port) as client:
        while client.goaway is None:
            assert client.get().status == 200
        assert client.goaway[0] == 2**31 - 1
        client.expect_goaway("NO_ERROR")


def test_write_backlog_applies_to_each_stream(start):
    server = start(write_backlog=20000)
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        client.sync()
        numbers = [client.request("GET", "/pieces-out?size=1000000&piece=1000") for _ in range(10)]
        client.sync()
        stats = server.stats()
        assert stats["rejected_writes"] >= 10 and stats["heap_live"] < 2 * 2**20
        client.grants = True
        client.send(h2.window_update(0, 2**24))
        client.window += 2**24
        for number in numbers:
            client.grant(number, 2**20)
        for number in numbers:
            assert client.response(number).body == raw.pattern(1000000)


def test_errors_are_counted_and_logged(start):
    server = start()
    before = server.stats()
    with Client(server.port) as client:
        assert client.get().status == 200
        client.send(h2.data(0, b"x"))
        client.expect_goaway("PROTOCOL_ERROR")
    after = server.stats()
    assert after["http2_connections"] == before["http2_connections"] + 1
    assert after["http2_requests"] == before["http2_requests"] + 1
    assert after["http2_errors"] == before["http2_errors"] + 1
    with Client(server.port) as client:
        client.send(h2.ping() * 2000)
        client.expect_goaway("ENHANCE_YOUR_CALM")
    assert "ended with ENHANCE_YOUR_CALM: too many frames without content" in server.log()


def test_responses_to_a_client_that_does_not_read_are_bounded(start):
    # 13 bytes of a request make 8000 of a head; many requests arrive in one read.
    server = start(write_backlog=65536)
    path = h2.literal(":path", "/long-field?size=8000", 0x40)
    first = h2.literal(":method", "HEAD", 0x40) + path + h2.literal(":authority", "h", 0x40)
    with Client(server.port, receive_buffer=4096) as client:
        numbers = [client.new_stream("HEAD") for _ in range(1001)]
        client.send(h2.headers(numbers[0], first + b"\x86"))
        client.response(numbers[0])
        before = server.stats()
        client.send(*(h2.headers(number, b"\xc0\xbf\xbe\x86") for number in numbers[1:]))
        eventually(lambda: server.stats()["total_requests"] > before["total_requests"] + 100,
                   "requests were received")
        assert server.stats()["heap_live"] < before["heap_live"] + 1000000
        client.responses(numbers)
