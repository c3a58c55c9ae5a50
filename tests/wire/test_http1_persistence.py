"""Persistent connections: keep-alive, Connection options, pipelining, order, back-pressure."""

import random
import threading

import pytest
import raw
from wire_server import eventually


@pytest.mark.parametrize("options,closes", [([], False), (["Connection: keep-alive"], False),
                                            (["Connection: close"], True),
                                            (["Connection: Close"], True),
                                            (["Connection: CLOSE"], True),
                                            (["Connection: keep-alive, close"], True),
                                            (["Connection: close, keep-alive"], True),
                                            (["Connection: foo, close , bar"], True),
                                            (["Connection: keep-alive", "Connection: close"], True),
                                            (["Connection: closed"], False),
                                            (["Connection: not-close"], False),
                                            (["Connection: ,,close,,"], True),
                                            (["Connection: upgrade"], False),
                                            (["Connection:"], False), ])
def test_pitfall_connection_options_of_http_1_1(server, options, closes):
    # Guards against ignoring Connection: close, and against searching for it as a substring.
    with server.connect() as connection:
        response = connection.request("GET", "/hello", *options)
        assert response.status == 200
        assert response.has_close() == closes
        if closes:
            connection.assert_closed()
        else:
            assert connection.request().status == 200


@pytest.mark.parametrize("options,stays", [([], False), (["Connection: close"], False),
                                           (["Connection: keep-alive"], True),
                                           (["Connection: Keep-Alive"], True),
                                           (["Connection: keep-alive, close"], False),
                                           (["Connection: foo"], False), ])
def test_connection_options_of_http_1_0(server, options, stays):
    with server.connect() as connection:
        response = connection.request("GET", "/hello", *options, version="HTTP/1.0", host=None)
        assert response.status == 200
        if not stays:
            connection.assert_closed()
            return
        # A client of HTTP/1.0 reuses the connection only with this option (RFC 9112 9.3).
        assert response.get("Connection").lower() == "keep-alive"
        assert connection.request("GET", "/hello", *options, version="HTTP/1.0",
                                  host=None).status == 200


def test_http_1_0_response_is_not_chunked(server):
    with server.connect() as connection:
        response = connection.request("GET", "/large?size=300000", version="HTTP/1.0")
        assert response.get("Transfer-Encoding") is None
        assert response.body == raw.pattern(300000)
        connection.assert_closed()


def test_keep_alive_serves_thousand_requests(server):
    before = server.stats()
    with server.connect() as connection:
        for _ in range(1000):
            assert connection.request().body == b"Hello, world\n"
    after = server.stats()
    assert after["total_connections"] == before["total_connections"] + 2
    assert after["total_requests"] == before["total_requests"] + 1001


@pytest.mark.parametrize("count", [1, 2, 16, 1000])
def test_pitfall_pipelined_requests_get_responses_in_order(server, count):
    # Guards against dropping data that follows the first request of a read.
    with server.connect() as connection:
        connection.send(b"".join(raw.request("GET", f"/users/{i}") for i in range(count)))
        for i in range(count):
            assert connection.response().body == b"user id=[%d]" % i
        assert connection.request().status == 200


@pytest.mark.parametrize("seed", range(5))
def test_pipelined_requests_split_at_random_get_responses_in_order(server, seed):
    chance = random.Random(seed)
    data, expected = b"", []
    for i in range(60):
        if chance.random() < 0.4:
            body = raw.pattern(chance.randrange(200), i)
            data += raw.request("POST", "/echo", "Transfer-Encoding: chunked",
                                body=raw.chunked(body, body) if body else raw.chunked())
            expected.append(body + body)
        elif chance.random() < 0.5:
            body = raw.pattern(chance.randrange(1, 300), i)
            data += raw.request("PUT", "/echo", body=body)
            expected.append(body)
        else:
            data += raw.request("GET", f"/users/{i}")
            expected.append(b"user id=[%d]" % i)
    with server.connect() as connection:
        while data:
            size = chance.randrange(1, 700)
            connection.send(data[:size])
            data = data[size:]
            server.settle()
        for body in expected:
            response = connection.response()
            assert response.status == 200 and response.body == body


def test_pipeline_with_mixed_methods(server):
    with server.connect() as connection:
        connection.send(
            raw.request("HEAD") + raw.request() + raw.request("DELETE") +
            raw.request("GET", "/none") + raw.request("GET", "/status/204") +
            raw.request("GET", "/status/304") + raw.request())
        assert connection.response("HEAD").status == 200
        assert [connection.response().status for _ in range(6)] == [200, 405, 404, 204, 304, 200]


def test_requests_after_connection_close_get_no_response(server):
    requests = server.stats()["guarded_runs"]
    with server.connect() as connection:
        connection.send(raw.request() + raw.request("GET", "/hello", "Connection: close") +
                        raw.request("GET", "/guarded") * 3)
        assert not connection.response().has_close()
        assert connection.response().has_close()
        connection.assert_closed()
    assert server.stats()["guarded_runs"] == requests


def test_requests_after_closing_handler_get_no_response(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/close-after") + raw.request())
        response = connection.response()
        assert response.body == b"last\n" and response.has_close()
        connection.assert_closed()


def test_pending_request_delays_following_responses(server):
    with server.connect() as connection:
        connection.send(
            raw.request("GET", "/users/1") + raw.request("GET", "/hold/order") +
            raw.request("GET", "/users/2") + raw.request("GET", "/users/3"))
        assert connection.response().body == b"user id=[1]"
        server.wait_for_pending("order")
        connection.assert_silent()
        assert server.release("order") == 1
        assert [response.body for response in connection.responses(3)
                ] == [b"released\n", b"user id=[2]", b"user id=[3]"]


def test_requests_during_pending_request_get_responses_after_it(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/arrive"))
        server.wait_for_pending("arrive")
        for i in range(20):
            connection.send(raw.request("GET", f"/users/{i}")[:10])
            connection.send(raw.request("GET", f"/users/{i}")[10:])
        server.settle()
        connection.assert_silent()
        server.release("arrive")
        assert connection.response().body == b"released\n"
        for i in range(20):
            assert connection.response().body == b"user id=[%d]" % i


def test_two_pending_requests_keep_order(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/first") + raw.request("GET", "/hold/second"))
        server.wait_for_pending("first")
        server.release("first")
        assert connection.response().body == b"released\n"
        server.wait_for_pending("second")
        server.release("second")
        assert connection.response().body == b"released\n"


def test_pending_request_stays_readable(server):
    # Other connections use the receive buffer in the meantime.
    targets = [f"/hold/read?n={i}&filler=" + "abcdefghij" * i for i in range(20)]
    connections = [server.connect() for _ in targets]
    for connection, target in zip(connections, targets):
        connection.send(raw.request("GET", target))
    server.wait_for_pending("read", len(targets))
    with server.connect() as busy:
        for _ in range(50):
            busy.request("POST", "/echo", body=b"Z" * 60000)
            busy.request("GET", "/inspect", "X-Filler: " + "Y" * 5000)
    assert server.release("read") == len(targets)
    for connection, target in zip(connections, targets):
        assert connection.response().get("X-Target") == target
        connection.close()


def test_deferred_request_stays_readable(start):
    server = start()
    with server.connect() as connection, server.connect() as busy:
        connection.send(raw.request("GET", "/defer?how=gate&filler=abcdefghij") + raw.request())
        for _ in range(50):
            busy.request("POST", "/echo", body=b"Z" * 60000)
        server.request("GET", "/open-gate")
        assert connection.response().get("X-Target") == "/defer?how=gate&filler=abcdefghij"
        assert connection.response().status == 200


def test_abort_callback_may_respond_to_another_exchange(server):
    with server.connect() as other:
        vanishing = server.connect()
        vanishing.send(raw.request("GET", "/hold/chain"))
        server.wait_for_pending("chain")
        other.send(raw.request("GET", "/hold/chained") + raw.request())
        server.wait_for_pending("chained")
        vanishing.reset()
        assert other.response().body == b"released\n"
        assert other.response().body == b"Hello, world\n"


def test_deferred_responses_keep_order(server):
    with server.connect() as connection:
        connection.send((raw.request("GET", "/defer") + raw.request()) * 50)
        for _ in range(50):
            assert connection.response().body == b"deferred\n"
            assert connection.response().body == b"Hello, world\n"


def test_pending_request_keeps_body_while_data_arrives(server):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/hold/body", body=raw.pattern(100000)) +
            raw.request("POST", "/echo", body=b"x" * 90000))
        server.wait_for_pending("body")
        server.release("body")
        assert connection.response().body == b"released\n"
        assert connection.response().body == b"x" * 90000


def test_pipeline_with_large_and_small_responses(server):
    sizes = [0, 1, 100, 5000, 16384, 65535, 65536, 65537, 300000, 3, 2000000, 7]
    variants = ["static", "copy", "borrowed"]
    with server.connect() as connection:
        connection.send(b"".join(
            raw.request("GET", f"/large?size={size}&how={variants[i % 3]}")
            for i, size in enumerate(sizes)))
        for size in sizes:
            assert connection.response().body == raw.pattern(size)


@pytest.mark.plain
def test_pipeline_longer_than_any_buffer(server):
    count = 20000
    data = b"".join(raw.request("GET", f"/users/{i}") for i in range(count))
    with server.connect() as connection:
        sender = threading.Thread(target=connection.send, args=(data, ))
        sender.start()
        for i in range(count):
            assert connection.response().body == b"user id=[%d]" % i
        sender.join()


@pytest.mark.plain
@pytest.mark.parametrize("size", [1000, 4000, 20000])
@pytest.mark.parametrize("variant", ["copy", "static"])
def test_back_pressure_limits_client_that_does_not_read(server, size, variant):
    # Without back-pressure the responses to a flood of requests fill the server's memory.
    server.request("GET", "/large")
    server.settle()
    server.stats()
    before = server.stats()["heap_live"]
    one = raw.request("GET", f"/large?size={size}&how={variant}")
    flood = one * 100
    with server.connect(receive_buffer=16384, send_buffer=16384) as connection:
        connection.socket.setblocking(False)
        sent = 0
        for _ in range(100):
            try:
                while sent < 64 << 20:
                    sent += connection.socket.send(flood[sent % len(flood):])
            except BlockingIOError:
                server.settle()
        assert sent < 64 << 20, "the server read 64 MiB from a client that does not read"
        # The server continues when the client reads.
        connection.socket.settimeout(raw.SAFETY_TIMEOUT)
        for _ in range(min(1000, sent // len(one))):
            assert len(connection.response().body) == size
        used = server.stats()["heap_peak"] - before
        assert used < 1 << 20, f"{used} bytes of heap for one connection that hardly reads"
        connection.reset()


def test_responses_of_connections_are_separate(server):
    connections = [server.connect() for _ in range(50)]
    try:
        for i, connection in enumerate(connections):
            connection.send(raw.request("POST", "/echo", f"Content-Length: {1000 + i}")[:-10])
        for i, connection in enumerate(connections):
            connection.send(
                raw.request("POST", "/echo", f"Content-Length: {1000 + i}")[-10:] +
                raw.pattern(500, i))
        for i, connection in reversed(list(enumerate(connections))):
            connection.send(raw.pattern(500 + i, i + 500) + raw.request("GET", f"/users/{i}"))
        for i, connection in enumerate(connections):
            assert connection.response().body == raw.pattern(1000 + i, i)
            assert connection.response().body == b"user id=[%d]" % i
    finally:
        for connection in connections:
            connection.close()


# ---- half-closed and disconnected clients ----


def test_half_close_still_gets_response(server):
    with server.connect() as connection:
        connection.send(raw.request())
        connection.half_close()
        assert connection.response().body == b"Hello, world\n"
        connection.assert_closed()


def test_half_close_still_gets_pipelined_responses(server):
    with server.connect() as connection:
        connection.send(b"".join(raw.request("GET", f"/users/{i}") for i in range(100)))
        connection.half_close()
        for i in range(100):
            assert connection.response().body == b"user id=[%d]" % i
        connection.assert_closed()


def test_half_close_still_gets_pending_response(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/half") + raw.request())
        connection.half_close()
        server.wait_for_pending("half")
        server.settle()
        server.release("half")
        assert connection.response().body == b"released\n"
        assert connection.response().body == b"Hello, world\n"
        connection.assert_closed()


def test_half_close_still_gets_large_response(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/large?size=8000000"))
        connection.half_close()
        assert connection.response().body == raw.pattern(8000000)
        connection.assert_closed()


def test_half_close_after_upload(server):
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", body=raw.pattern(200000)))
        connection.half_close()
        assert connection.response().body == raw.pattern(200000)
        connection.assert_closed()


@pytest.mark.parametrize("sent", [
    b"", b"GET /hel", b"GET /hello HTTP/1.1\r\nHost: localhost\r\n",
    raw.request("POST", "/echo", "Content-Length: 100") + b"x" * 10,
    raw.request("POST", "/echo", "Transfer-Encoding: chunked") + b"5\r\nab"
], ids=["nothing", "request-line", "head", "body", "chunk"])
def test_half_close_inside_request_closes_connection(server, sent):
    # The request can never become complete, so the server does not wait for the timeout. A 400
    # before the close is allowed.
    with server.connect() as connection:
        connection.send(sent)
        connection.half_close()
        rest = connection.rest()
        assert rest == b"" or rest.startswith(b"HTTP/1.1 400 ")


PHASES = {
    "before-anything": b"", "in-request-line": b"GET /hel",
    "in-head": b"GET /hello HTTP/1.1\r\nHost: local",
    "in-body": raw.request("POST", "/echo", "Content-Length: 1000") + b"x" * 10,
    "in-chunk": raw.request("POST", "/echo", "Transfer-Encoding: chunked") + b"ff\r\nabc",
    "in-large-body": raw.request("POST", "/digest", "Content-Length: 500000") + b"x" * 200000,
    "waiting-for-100": raw.request("POST", "/echo", "Expect: 100-continue",
                                   "Content-Length: 1000"), "idle": raw.request(),
}


@pytest.mark.parametrize("variant", ["reset", "close"])
@pytest.mark.parametrize("sent", PHASES.values(), ids=PHASES.keys())
def test_disconnect_frees_the_connection(server, sent, variant):
    with server.connect() as warm:
        warm.request("POST", "/digest", body=b"x")
    connection = server.connect()
    connection.send(sent)
    server.settle()
    getattr(connection, variant)()
    server.wait_for_connections(0)
    assert server.request().status == 200


def test_disconnect_during_pending_request_is_reported_once(server):
    before = server.stats()
    connection = server.connect()
    connection.send(raw.request("GET", "/hold/gone") + raw.request())
    server.wait_for_pending("gone")
    connection.reset()
    server.wait_for_pending("gone", 0)
    server.wait_for_connections(0)
    after = server.stats()
    assert after["aborts"] == before["aborts"] + 1
    assert after["aborted_exchanges"] == before["aborted_exchanges"] + 1


def test_disconnect_during_deferred_work(start):
    own = start()
    connection = own.connect()
    connection.send(raw.request("GET", "/defer?how=gate"))
    own.settle()
    connection.reset()
    own.settle()
    assert own.stats()["deferred"] == 0
    own.request("GET", "/open-gate")
    eventually(lambda: own.stats()["deferred"] == 1, "the deferred work ended")
    own.wait_for_connections(0)
    after = own.stats()
    assert (after["deferred"], after["deferred_disconnected"],
            after["last_error"]) == (1, 1, "UVHTTP_EDISCONNECTED")
    assert after["aborted_exchanges"] == 1


@pytest.mark.parametrize("variant", ["static", "copy", "borrowed"])
def test_disconnect_during_response(server, variant):
    before = server.stats()
    connection = server.connect(receive_buffer=16384)
    connection.send(raw.request("GET", f"/large?size=30000000&how={variant}"))
    connection.receive_exactly(50000)
    connection.reset()
    server.wait_for_connections(0)
    after = server.stats()
    assert after["aborted_exchanges"] == before["aborted_exchanges"] + 1
    assert after["releases"] - before["releases"] == (variant == "borrowed")
    assert after["heap_live"] - before["heap_live"] < 1 << 20


def test_reset_with_unread_bytes_is_detected(server):
    # The poller reports the error first. Reads still return the queued data, and only then the
    # error.
    for _ in range(300):
        connection = server.connect()
        connection.send(raw.request("POST", "/digest", "Content-Length: 900000") + bytes(300000))
        connection.reset()
    server.wait_for_connections(0)


def test_disconnect_with_pipelined_requests_pending(server):
    connection = server.connect(receive_buffer=16384)
    connection.send(raw.request("GET", "/large?size=100000") * 200)
    connection.receive_exactly(50000)
    connection.reset()
    server.wait_for_connections(0)
    assert server.request().status == 200


def test_disconnect_of_hundred_clients_at_once(server):
    connections = [server.connect() for _ in range(100)]
    for i, connection in enumerate(connections):
        connection.send([
            raw.request("GET", "/hold/crowd"),
            raw.request()[:-2],
            raw.request("GET", "/large?size=3000000")
        ][i % 3])
    server.wait_for_pending("crowd", 34)
    for connection in connections:
        connection.reset()
    server.wait_for_pending("crowd", 0)
    server.wait_for_connections(0)
    assert server.request().status == 200
