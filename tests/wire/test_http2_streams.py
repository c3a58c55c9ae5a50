"""Streams of HTTP/2: identifiers, states, resets, many at once, early responses, timeouts, shutdown
(RFC 9113 sections 5.1, 6.4, 6.8 and 8.1). Numbers in comments are its sections."""

import signal
import socket
import struct
import time

import http2_client as h2
import pytest
import raw
from http2_client import Client
from wire_server import WireServer, eventually

GET = h2.block(h2.head())


def stream_or_connection_error(client, number, *codes):
    """Some errors may be of the stream or of the connection (5.4.1)."""
    stream = client.streams[number]
    client.until(lambda: stream.reset or client.goaway, f"no error of {stream}")
    got = stream.reset or client.goaway[1]
    assert got in codes, f"{got}, expected {codes}"


# ---- identifiers ----


@pytest.mark.parametrize("number", [2, 100])
def test_even_stream_ends_connection(client, number):
    # 5.1.1
    client.send(h2.headers(number, GET))
    client.expect_goaway("PROTOCOL_ERROR")


@pytest.mark.parametrize("number", [1, 3, 5])
def test_stream_lower_than_before_ends_connection(client, number):
    # 5.1.1; STREAM_CLOSED is allowed, too, for a stream that was used
    for used in (1, 7):
        client.next_stream = used
        assert client.get().status == 200
    client.send(h2.headers(number, GET))
    client.expect_goaway(*(["PROTOCOL_ERROR", "STREAM_CLOSED"] if number == 1 else
                           ["PROTOCOL_ERROR"]))


def test_stream_identifiers_may_be_skipped(client):
    # 5.1.1
    for number in (1, 5, 101, 2**31 - 3, 2**31 - 1):
        client.next_stream = number
        assert client.get().status == 200


# ---- states ----


@pytest.mark.parametrize("wrong", [h2.data(1, b"x"), h2.reset(1), h2.window_update(1, 1)],
                         ids=["data", "rst-stream", "window-update"])
def test_frame_on_idle_stream_ends_connection(client, wrong):
    # 5.1
    client.send(wrong)
    client.expect_goaway("PROTOCOL_ERROR")


@pytest.mark.parametrize("wrong", [h2.data(1, b"x"), h2.data(1, b"", end=True), h2.headers(1, GET)],
                         ids=["data", "empty-data", "headers"])
def test_frame_after_end_of_stream_is_error(server, client, wrong):
    # 5.1: half-closed (remote)
    number = client.request("GET", "/hold/half-closed")
    server.wait_for_pending("half-closed")
    client.send(wrong)
    stream_or_connection_error(client, number, "STREAM_CLOSED")
    server.release("half-closed")


@pytest.mark.parametrize(
    "wrong", [h2.data(1, b"x"), h2.headers(1, GET)], ids=["data", "headers"])
def test_frame_on_finished_stream_is_error(client, wrong):
    # 5.1: closed
    assert client.get().status == 200
    client.send(wrong)
    client.until(lambda: client.goaway or client.streams[1].reset, "no error")
    assert (client.streams[1].reset or client.goaway[1]) in ("STREAM_CLOSED", "PROTOCOL_ERROR")


def test_frames_in_transit_after_end_are_ignored(client):
    # 5.1: WINDOW_UPDATE, PRIORITY and RST_STREAM may cross the end of a stream
    assert client.get().status == 200
    client.send(h2.window_update(1, 1), h2.priority(1), h2.priority_update(1, "u=0"),
                h2.reset(1), h2.reset(1))
    assert client.get().status == 200 and client.goaway is None


@pytest.mark.parametrize("wrong", [h2.data(1, b"x"), h2.headers(1, GET)], ids=["data", "headers"])
def test_frame_after_reset_of_client_is_error(client, wrong):
    # 5.1: the client has closed the stream itself
    client.request("POST", "/echo", end=False)
    client.send(h2.reset(1), wrong)
    client.until(lambda: client.goaway or client.streams[1].reset, "no error")
    assert (client.streams[1].reset or client.goaway[1]) in ("STREAM_CLOSED", "PROTOCOL_ERROR")


def test_data_in_transit_after_reset_of_server_is_ignored(client):
    # 5.1
    number = client.request("POST", "/echo", ("X-Upper", "malformed"), end=False)
    client.send(h2.data(number, b"a"), h2.data(number, b"b", end=True))
    client.expect_malformed(number)
    client.sync()
    assert client.goaway is None


def test_priority_of_idle_stream_is_accepted(client):
    # 6.3: PRIORITY can be sent in any state
    client.send(h2.priority(5), h2.priority(7, depends_on=5))
    assert client.get().status == 200


# ---- resets ----


def test_reset_aborts_exchange(server, client):
    # 6.4
    before = server.stats()["aborts"]
    number = client.request("GET", "/hold/reset")
    server.wait_for_pending("reset")
    client.send(h2.reset(number))
    eventually(lambda: server.stats()["aborts"] == before + 1, "the exchange was not aborted")
    server.release("reset")
    assert client.get().status == 200


def test_reset_aborts_streamed_response(server, client):
    before = server.stats()["aborts"]
    client.grants = False
    number = client.request("GET", "/pieces-out?size=10000000&piece=10000")
    client.until(lambda: client.window == 0, "the window was not used")
    client.send(h2.reset(number))
    eventually(lambda: server.stats()["aborts"] == before + 1, "the exchange was not aborted")
    client.grant(0, 2**20)
    assert client.get().status == 200


# Only /pieces-digest has a callback for aborts.
@pytest.mark.parametrize("path, aborts", [("/echo", 0), ("/pieces-digest", 1),
                                          ("/pieces-digest?late", 1), ("/pieces-echo", 0)])
def test_reset_within_upload_aborts_it(server, client, path, aborts):
    before = server.stats()["aborts"]
    number = client.request("POST", path, body=bytes(1000), end=False)
    client.sync()
    client.send(h2.reset(number))
    assert client.get().status == 200
    assert server.stats()["aborts"] == before + aborts


def test_request_and_its_reset_in_one_packet(client):
    for _ in range(50):
        number = client.new_stream()
        client.send(h2.headers(number, GET), h2.reset(number))
    assert client.get().status == 200


def test_reset_releases_the_window_of_its_response(server):
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 100), grants=False) as client:
        client.sync()
        for _ in range(20):
            number = client.request("GET", "/large?size=200000")
            client.sync()
            client.send(h2.reset(number))
        assert client.window == h2.DEFAULT_WINDOW - 20 * 100
        number = client.request("GET", "/large?size=100")
        assert client.response(number).body == raw.pattern(100)


@pytest.mark.parametrize("path", ["/begin-and-fail", "/pulled?fail&size=100000&piece=1000"])
def test_failure_within_response_resets_stream(client, path):
    # 5.4.2
    number = client.request("GET", path)
    client.expect_reset(number, "INTERNAL_ERROR")


@pytest.mark.parametrize("path, status", [("/fail", 500), ("/out-of-memory", 503)])
def test_failed_handler_gets_status(client, path, status):
    assert client.get(path).status == status
    assert client.get().status == 200


# ---- many streams ----


def test_streams_are_answered_independently(server, client):
    held = client.request("GET", "/hold/independent")
    server.wait_for_pending("independent")
    for _ in range(5):
        assert client.get().status == 200
    assert not client.streams[held].ended
    server.release("independent")
    assert client.response(held).status == 200


def test_100_streams_in_one_packet(client):
    numbers = [client.new_stream() for _ in range(100)]
    client.send(*(h2.headers(number, GET) for number in numbers))
    assert [response.body for response in client.responses(numbers)] == [b"Hello, world\n"] * 100


def test_100_interleaved_uploads(client):
    numbers = [client.request("POST", "/echo", end=False) for _ in range(100)]
    for part in range(3):
        client.send(*(h2.data(number, b"%d %d;" % (number, part)) for number in numbers))
    client.send(*(h2.data(number, b"", end=True) for number in numbers))
    for number in numbers:
        assert client.response(number).body == b"".join(b"%d %d;" % (number, part)
                                                        for part in range(3))


def test_interleaved_large_responses(client):
    paths = ["/large?size=300000", "/pieces-out?size=200000&piece=5000", "/pulled?size=100000",
             "/large?size=250000&how=copy"]
    numbers = [client.request("GET", path) for path in paths]
    sizes = [len(response.body) for response in client.responses(numbers)]
    assert sizes == [300000, 200000, 100000, 250000]
    for number in numbers:
        body = bytes(client.streams[number].body)
        assert body == raw.pattern(len(body))


def test_2000_requests_on_one_connection(client):
    for _ in range(20):
        numbers = [client.new_stream() for _ in range(100)]
        client.send(*(h2.headers(number, GET) for number in numbers))
        assert all(response.status == 200 for response in client.responses(numbers))


# ---- early responses ----


def test_response_before_end_of_upload(client):
    # 8.1: a complete response, then at most RST_STREAM with NO_ERROR
    number = client.request("POST", "/small-body", end=False)
    stream = client.streams[number]
    client.send(h2.data(number, bytes(1000)))
    client.until(lambda: stream.ended, "no response")
    assert stream.status == 413
    client.sync()
    client.send(h2.data(number, bytes(1000)))
    client.sync()
    assert stream.reset in (None, "NO_ERROR") and client.goaway is None
    assert client.get().status == 200


def test_discarded_upload_is_bounded(client):
    # A discarded body has a limit, after which the stream is reset.
    number = client.request("POST", "/pieces-digest?refuse", end=False)
    stream = client.streams[number]
    client.send_body(number, bytes(2**20), end=False)
    client.until(lambda: stream.reset, f"the stream was not reset: {stream}")
    assert stream.status == 403 and stream.reset == "NO_ERROR"
    assert client.get().status == 200


def test_late_data_of_many_early_responses_is_no_error(client):
    numbers = [client.request("POST", "/nowhere", end=False) for _ in range(40)]
    client.until(lambda: all(client.streams[number].ended for number in numbers), "no responses")
    for _ in range(3):
        client.send(*(h2.data(number, bytes(100)) for number in numbers))
        client.sync()
    assert client.goaway is None
    assert {client.streams[number].reset for number in numbers} <= {None, "NO_ERROR"}
    assert client.get().status == 200


def test_handler_does_not_run_after_blocked_refusal(server):
    # Flow control still blocks the 413 when the body ends.
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        number = client.request("POST", "/small-body", end=False)
        stream = client.streams[number]
        client.send(h2.data(number, bytes(1000)))
        client.until(lambda: stream.status, "no response")
        client.send(h2.data(number, b"", end=True))
        client.sync()
        client.grant(number, 10000)
        client.until(lambda: stream.ended, "no end of the response")
        assert stream.status == 413 and b"too large" in stream.body


def test_response_while_reading(client):
    number = client.request("POST", "/pieces-digest?answer=1000", end=False)
    client.send(h2.data(number, bytes(2000)))
    client.until(lambda: client.streams[number].ended, "no response")
    assert client.streams[number].status == 200


def test_abort_responds_on_another_stream_of_a_closed_connection(start):
    # When `chain` is aborted, its callback responds to `chained`, on the same closed connection.
    server = start()
    with Client(server.port) as client:
        for key in ("chain", "chained"):
            client.request("GET", f"/hold/{key}")
        client.sync()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for key in ("chain", "chained"):
        server.wait_for_pending(key, 0)


def test_disconnect_before_trailers(start):
    # The server's transmit buffer is flushed when frames fill it. Responses of many sizes fill it
    # just before the trailers, when the client has disconnected.
    server = start()
    frame = 16384 - h2.FRAME_HEADER_SIZE
    for spare in range(0, 280, 20):
        size = 4 * frame - spare
        with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 0), grants=False) as client:
            client.grant(0, 2**20)
            client.request("GET", f"/trailers-out?more={size - 4}", ("te", "trailers"))
            client.sync()
            others = [h2.headers(client.new_stream(), h2.block(h2.head("GET", "/large?size=16000")))
                      for _ in range(4)]
            client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, size)), *others)
    assert server.request("GET", "/hello").status == 200


# ---- timeouts ----


@pytest.fixture(scope="module")
def short_timeouts():
    running = WireServer(header_timeout=1, body_timeout=1, keep_alive_timeout=1, write_timeout=1,
                         linger_timeout=1)
    yield running
    running.stop()


def test_idle_connection_gets_goaway(short_timeouts):
    # 6.8: GOAWAY before a connection is closed
    with Client(short_timeouts.port) as client:
        assert client.get().status == 200
        client.expect_goaway("NO_ERROR")


def test_connection_without_request_is_closed(short_timeouts):
    with Client(short_timeouts.port) as client:
        client.expect_end()
        assert client.goaway is None or client.goaway[1] == "NO_ERROR"


def test_pings_do_not_keep_a_connection_open(short_timeouts):
    with Client(short_timeouts.port) as client:
        for _ in range(40):
            client.send_unless_closed(h2.ping())
            while client.is_readable(0.1) and client.step():
                pass
            if client.ended:
                return
        raise AssertionError("the connection is still open")


def test_pings_do_not_extend_the_write_timeout(short_timeouts):
    with Client(short_timeouts.port, (h2.INITIAL_WINDOW_SIZE, 2**20), grants=False) as client:
        client.request("GET", f"/large?size={2 * h2.DEFAULT_WINDOW}")
        client.until(lambda: client.window == 0, "the window was not used")
        for _ in range(100):
            client.send_unless_closed(h2.ping())
            time.sleep(0.05)
            while client.is_readable(0) and client.step():
                pass
            if client.ended:
                return
        raise AssertionError("flow control still blocks the response")


def test_frames_in_parts_do_not_keep_a_connection_open(short_timeouts):
    with Client(short_timeouts.port) as client:
        client.sync()
        for _ in range(40):
            for part in (h2.ping()[:5], h2.ping()[5:]):
                client.send_unless_closed(part)
                while client.is_readable(0.1) and client.step():
                    pass
            if client.ended:
                # The timeout expires between frames, or within one.
                assert client.goaway and client.goaway[1] in ("NO_ERROR", "PROTOCOL_ERROR")
                return
        raise AssertionError("the connection is still open")


def test_client_that_ignores_goaway_is_refused(start):
    # 6.8: requests in transit are served, at most http2_max_streams
    server = start(http2_max_streams=3)
    with Client(server.port, answers=False) as client:
        client.send(h2.settings_ack())
        assert client.get("/close-after").status == 200
        for _ in range(3):
            assert client.get().status == 200
        last = client.next_stream - 2
        client.send(h2.headers(client.new_stream(), GET))
        client.expect_goaway("NO_ERROR")
        assert client.goaway[0] == last


def test_half_closed_connection_is_not_pinged(start):
    # After its FIN the client cannot reply to a PING. `other` ignores its PING and is closed.
    server = start(http2_ping_interval=1, handler_timeout=120)
    with Client(server.port) as client, Client(server.port, answers=False) as other:
        number = client.request("GET", "/hold/half-closed")
        other.request("GET", "/hold/silent")
        client.sync()
        client.socket.shutdown(socket.SHUT_WR)
        other.expect_end()
        time.sleep(1.5)
        assert server.release("half-closed") == 1
        assert client.response(number).status == 200


def test_half_closed_connection_gets_response_to_head(start):
    server = start()
    with Client(server.port) as client:
        number = client.request("HEAD", "/block/pieces?size=1000000000000&piece=16000")
        stream = client.streams[number]
        client.until(lambda: stream.status == 200, "no response")
        client.socket.shutdown(socket.SHUT_WR)
        client.until(lambda: stream.ended or stream.reset, "no end")
        assert stream.ended and not stream.reset


def reset_while(client, number, repeat):
    """Reads until the server resets the stream. Meanwhile `repeat` is called several times in each
    write timeout."""
    for _ in range(100):
        repeat()
        while client.is_readable(0.05) and client.step():
            pass
        if client.streams[number].reset:
            return
    raise AssertionError("flow control still blocks the response")


def test_frames_in_parts_do_not_extend_the_write_timeout(short_timeouts):
    with Client(short_timeouts.port, (h2.INITIAL_WINDOW_SIZE, 2**20), grants=False) as client:
        client.request("GET", f"/large?size={2 * h2.DEFAULT_WINDOW}")
        client.until(lambda: client.window == 0, "the window was not used")
        for _ in range(50):
            for part in (h2.ping()[:5], h2.ping()[5:]):
                client.send_unless_closed(part)
                time.sleep(0.05)
            while client.is_readable(0) and client.step():
                pass
            if client.ended:
                return
        raise AssertionError("flow control still blocks the response")


def test_window_that_shrinks_ends_in_a_write_timeout(short_timeouts):
    # The stream's window is open while the connection's is exhausted; then SETTINGS shrinks it to
    # 0. PRIORITY_UPDATE moves the stream to another list.
    with Client(short_timeouts.port, grants=False) as client:
        client.sync()
        number = client.request("GET", f"/large?size={3 * h2.DEFAULT_WINDOW}")
        client.until(lambda: client.window == 0, "the window was not used")
        client.grant(number, 1000)
        client.send(h2.settings((h2.INITIAL_WINDOW_SIZE, h2.DEFAULT_WINDOW - 1000)),
                    h2.priority_update(number, "u=1"))
        reset_while(client, number, lambda: None)


def test_body_does_not_extend_the_write_timeout(short_timeouts):
    with Client(short_timeouts.port, (h2.INITIAL_WINDOW_SIZE, 10), grants=False) as client:
        client.sync()
        number = client.request("POST", "/pieces-echo", end=False)
        reset_while(client, number, lambda: client.send_unless_closed(h2.data(number, b"x")))


def test_events_do_not_extend_the_write_timeout(short_timeouts):
    with Client(short_timeouts.port, (h2.INITIAL_WINDOW_SIZE, 10), grants=False) as client:
        client.sync()
        number = client.request("GET", "/hub")
        client.until(lambda: client.streams[number].status, "no response")
        reset_while(client, number, lambda: short_timeouts.request("POST", "/hub", body=b"event"))


def test_incomplete_preface_times_out(short_timeouts):
    with Client(short_timeouts.port, preface=False) as client:
        client.send(h2.PREFACE[:10])
        # So far it may be a request of HTTP/1.
        assert client.socket.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert client.socket.recv(65536) == b""


def test_incomplete_header_block_times_out(short_timeouts):
    with Client(short_timeouts.port) as client:
        client.send(h2.headers(client.new_stream(), GET, complete=False))
        client.expect_end()


def test_slow_upload_gets_408(short_timeouts):
    with Client(short_timeouts.port) as client:
        number = client.request("POST", "/echo", body=b"part", end=False)
        stream = client.streams[number]
        client.until(lambda: stream.ended or stream.reset, "no end")
        assert stream.status == 408


def test_upload_with_progress_does_not_time_out(short_timeouts):
    with Client(short_timeouts.port) as client:
        number = client.request("POST", "/echo", end=False)
        for _ in range(8):
            client.send(h2.data(number, b"x"))
            time.sleep(0.3)
        client.send(h2.data(number, b"", end=True))
        assert client.response(number).body == b"x" * 8


def test_blocked_stream_times_out(short_timeouts):
    # A client that never extends the window of a stream.
    with Client(short_timeouts.port, (h2.INITIAL_WINDOW_SIZE, 10), grants=False) as client:
        number = client.request("GET", "/large?size=1000")
        stream = client.streams[number]
        client.until(lambda: stream.reset, "no end")
        assert stream.reset == "CANCEL" and client.goaway is None


def test_slow_handler_gets_503(start):
    server = start(handler_timeout=1)
    with Client(server.port) as client:
        held = client.request("GET", "/hold/slow")
        assert client.get().status == 200
        assert client.response(held).status == 503
        assert client.get().status == 200


# ---- shutdown ----


def test_requests_after_goaway_are_ignored(start):
    # 6.8: their frames are no errors, and the last stream of a further GOAWAY is not higher
    server = start(max_requests_per_connection=2)
    with Client(server.port) as client:
        numbers = [client.new_stream("POST") for _ in range(4)]
        block = h2.block(h2.head("POST", "/echo"))
        client.send(*(h2.headers(number, block, end=False) for number in numbers))
        client.until(lambda: client.goaway, "no GOAWAY")
        assert client.goaway == (numbers[1], "NO_ERROR")
        for number in numbers[2:]:
            client.send(h2.data(number, b"ignored"), h2.headers(number, h2.block([("a", "b")])))
        client.sync()
        assert not any(client.streams[number].reset for number in numbers)
        assert client.goaway == (numbers[1], "NO_ERROR")
        client.send(h2.frame(h2.PING, payload=b"short"))
        client.until(lambda: client.goaway[1] != "NO_ERROR", "no error")
        assert client.goaway == (numbers[1], "FRAME_SIZE_ERROR")


def test_stop_announces_and_finishes_streams(start):
    # 6.8: first the highest possible stream; after a PING the last accepted one
    server = start()
    with Client(server.port) as client:
        number = client.request("GET", "/hold/stop")
        server.wait_for_pending("stop")
        server.signal(signal.SIGTERM)
        client.until(lambda: client.goaway, "no GOAWAY")
        first = client.goaway
        client.until(lambda: client.goaway != first, "no second GOAWAY")
        assert first == (h2.MAX_STREAM, "NO_ERROR") and client.goaway == (number, "NO_ERROR")
        server.signal(signal.SIGUSR1)
        assert client.response(number).status == 200
        client.expect_end()
    assert server.wait() == 0


def test_request_in_transit_at_stop_is_served(start):
    # 6.8: a request between the first and the second GOAWAY
    server = start()
    with Client(server.port, answers=False) as client:
        client.send(h2.settings_ack())
        held = client.request("GET", "/hold/transit")
        server.wait_for_pending("transit")
        server.signal(signal.SIGTERM)
        client.until(lambda: client.goaway, "no GOAWAY")
        late = client.request("GET", "/hello")
        assert client.response(late).status == 200
        pings = [got for got in client.frames if got.type == h2.PING and not got.flags]
        client.send(*(h2.ping(got.payload, h2.ACK) for got in pings))
        client.until(lambda: client.goaway[0] != h2.MAX_STREAM, "no second GOAWAY")
        assert client.goaway[0] >= late
        server.signal(signal.SIGUSR1)
        assert client.response(held).status == 200
        client.expect_end()
    assert server.wait() == 0


def test_stop_closes_idle_connection(start):
    server = start()
    with Client(server.port) as client:
        assert client.get().status == 200
        server.signal(signal.SIGTERM)
        client.expect_goaway("NO_ERROR")
    assert server.wait() == 0


def test_stop_finishes_large_responses(start):
    server = start()
    with Client(server.port, grants=False) as client:
        numbers = [client.request("GET", "/large?size=500000") for _ in range(3)]
        client.until(lambda: client.window == 0, "the window was not used")
        server.signal(signal.SIGTERM)
        client.until(lambda: client.goaway, "no GOAWAY")
        client.grants = True
        client.grant(0, h2.DEFAULT_WINDOW)
        for number in numbers:
            client.grant(number, h2.DEFAULT_WINDOW)
        for number in numbers:
            assert client.response(number).body == raw.pattern(500000)
        client.expect_end()
    assert server.wait() == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGUSR2])
def test_stop_with_streams_in_all_states(start, signum):
    # SIGUSR2 frees the server with everything open.
    server = start(drain_timeout=1)
    clients = [Client(server.port, (h2.INITIAL_WINDOW_SIZE, 10), grants=False) for _ in range(6)]
    clients[0].request("GET", "/hold/states")
    clients[1].request("GET", "/large?size=1000")
    clients[2].request("POST", "/echo", body=b"part", end=False)
    clients[3].send(h2.headers(1, GET, complete=False))
    clients[4].request("POST", "/pieces-digest?pause", body=bytes(1000), end=False)
    clients[5].request("GET", "/pieces-out?size=1000000")
    server.wait_for_pending("states")
    for client in clients[:3] + clients[4:]:  # a PING within a header block is an error
        client.sync()
    server.signal(signum)
    assert server.wait() == 0
    for client in clients:
        client.close()


@pytest.mark.parametrize("how", ["close", "goaway"])
def test_disconnected_client_aborts_all_streams(server, how):
    before = server.stats()["aborts"]
    client = Client(server.port)
    for _ in range(5):
        client.request("GET", f"/hold/disconnect-{how}")
    server.wait_for_pending(f"disconnect-{how}", 5)
    if how == "goaway":
        client.send(h2.goaway())
    client.close()
    eventually(lambda: server.stats()["aborts"] == before + 5, "not all exchanges were aborted")
    server.release(f"disconnect-{how}")


def test_end_of_blocked_client_closes_connection(start):
    # After the end of the client's side no window can grow.
    server = start()
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 2**20), grants=False) as client:
        client.sync()
        client.response(client.request("GET", f"/large?size={h2.DEFAULT_WINDOW}"))
        client.request("GET", "/large?size=1000")
        client.sync()
    server.wait_for_connections(0)


def test_statistics_count_streams_as_requests(server, client):
    before = server.stats()
    for _ in range(10):
        assert client.get().status == 200
    after = server.stats()
    # ten, and that of the first statistics
    assert after["total_requests"] == before["total_requests"] + 11
    assert after["responses_2xx"] == before["responses_2xx"] + 11
    assert after["total_connections"] == before["total_connections"] + 1
