"""Timeouts: each one expires, and none closes a connection that makes progress.

Only order and outcome are asserted, never durations. Timeouts are one second, progress is made
every 0.3 s.
"""

import select
import time

import pytest
import raw
from wire_server import WireServer, eventually

STEP = 0.3
STEPS = 9  # 2.7 s: more than twice any timeout here


@pytest.fixture(scope="module")
def short_timeouts():
    running = WireServer(header_timeout=1, body_timeout=1, keep_alive_timeout=1, write_timeout=1,
                         linger_timeout=1)
    yield running
    running.stop()


def repeat_slowly(step):
    for i in range(STEPS):
        step(i)
        time.sleep(STEP)


def test_keep_alive_timeout_closes_silently(short_timeouts):
    with short_timeouts.connect() as connection:
        assert connection.request().status == 200
        connection.assert_closed()


def test_connection_without_data_is_closed(short_timeouts):
    with short_timeouts.connect() as connection:
        rest = connection.rest()
        assert rest == b"" or rest.startswith(b"HTTP/1.1 408 ")


def test_pitfall_used_connection_stays_open(short_timeouts):
    # Guards against a timer that starts once at accept and closes every connection, busy or not.
    with short_timeouts.connect() as connection:
        repeat_slowly(lambda i: connection.request().status == 200 or pytest.fail("refused"))
        assert connection.request().status == 200


@pytest.mark.parametrize("part", [b"G", b"GET /hello HTTP/1.1\r\n", raw.request()[:-1]])
def test_incomplete_head_gets_408(short_timeouts, part):
    with short_timeouts.connect() as connection:
        connection.send(part)
        response = connection.response()
        assert response.status == 408 and response.has_close()
        connection.assert_closed()


def test_slow_head_gets_408(short_timeouts):
    # With single bytes at long intervals (slowloris) one client could hold thousands of
    # connections.
    head = raw.request("GET", "/hello", "X-Filler: " + "x" * 500)
    sent = 0
    with short_timeouts.connect() as connection:
        while sent < 50:
            connection.send(head[sent:sent + 1])
            sent += 1
            if select.select([connection.socket], [], [], STEP / 3)[0]:
                break
        response = connection.response()
        assert response.status == 408 and response.has_close()
    assert sent < 50, "every byte has extended the timeout"


def test_incomplete_second_head_gets_408(short_timeouts):
    with short_timeouts.connect() as connection:
        connection.send(raw.request() + raw.request()[:20])
        assert connection.response().status == 200
        assert connection.response().status == 408
        connection.assert_closed()


def test_header_timeout_restarts_with_each_head(short_timeouts):
    # Here the first bytes of the next head always arrive together with the end of the previous one.
    with short_timeouts.connect() as connection:
        connection.send(raw.request()[:10])

        def next_head(_):
            connection.send(raw.request()[10:] + raw.request()[:10])
            assert connection.response().status == 200

        repeat_slowly(next_head)
        connection.send(raw.request()[10:])
        assert connection.response().status == 200


@pytest.mark.parametrize("part", [
    raw.request("POST", "/echo", "Content-Length: 100") + b"x" * 50,
    raw.request("POST", "/echo", "Content-Length: 100"),
    raw.request("POST", "/echo", "Transfer-Encoding: chunked") + b"5\r\nab",
    raw.request("POST", "/trailer", "Transfer-Encoding: chunked") + b"0\r\nX-Check: 1\r\n"
], ids=["length", "nothing-of-it", "chunk", "trailer"])
def test_stalled_body_gets_408(short_timeouts, part):
    before = short_timeouts.stats()["timeouts"]
    with short_timeouts.connect() as connection:
        connection.send(part)
        response = connection.response()
        assert response.status == 408 and response.has_close()
        connection.assert_closed()
    assert short_timeouts.stats()["timeouts"] > before


def test_missing_body_after_100_gets_408(short_timeouts):
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/echo", "Content-Length: 5", "Expect: 100-continue"))
        response = connection.response()
        assert response.interim == [100] and response.status == 408


def test_body_with_progress_is_not_timed_out(short_timeouts):
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/echo", f"Content-Length: {STEPS}"))
        repeat_slowly(lambda i: connection.send(b"x"))
        assert connection.response().body == b"x" * STEPS


def test_chunked_body_with_progress_is_not_timed_out(short_timeouts):
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/echo", "Transfer-Encoding: chunked"))
        repeat_slowly(lambda i: connection.send(b"1\r\nx\r\n"))
        connection.send(b"0\r\n\r\n")
        assert connection.response().body == b"x" * STEPS


def test_handler_is_not_limited_by_client_timeouts(short_timeouts):
    with short_timeouts.connect() as connection, short_timeouts.connect() as deferred:
        connection.send(raw.request("GET", "/hold/slow") + raw.request())
        deferred.send(raw.request("GET", "/defer?how=gate"))
        repeat_slowly(lambda i: None)
        assert short_timeouts.release("slow") == 1
        assert connection.response().body == b"released\n"
        assert connection.response().body == b"Hello, world\n"
        short_timeouts.request("GET", "/open-gate")
        assert deferred.response().body == b"deferred\n"


def test_write_timeout_closes_client_without_reads(short_timeouts):
    before = short_timeouts.stats()
    with short_timeouts.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/large?size=30000000"))
        short_timeouts.wait_for_connections(0)
        after = short_timeouts.stats()
        assert after["timeouts"] == before["timeouts"] + 1
        assert after["aborted_exchanges"] == before["aborted_exchanges"] + 1
        with pytest.raises((AssertionError, ConnectionResetError)):
            connection.response()


def test_write_timeout_spares_slow_reader(short_timeouts):
    with short_timeouts.connect(receive_buffer=65536) as connection:
        connection.send(raw.request("GET", "/large?size=60000000"))
        connection.head()
        got = []
        repeat_slowly(lambda i: got.append(connection.receive_exactly(4000000)))
        got.append(connection.receive_exactly(60000000 - 4000000 * STEPS))
        # At once: comparing the data can take longer than the connection may be idle.
        assert connection.request().status == 200
        assert b"".join(got) == raw.pattern(60000000)


def test_write_timeout_closes_stalled_pipeline(short_timeouts):
    with short_timeouts.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/large?size=1000000&how=copy") * 50)
        short_timeouts.wait_for_connections(0)


def test_linger_timeout_closes_sending_client(short_timeouts):
    # Lingering must end. Otherwise a rejected client could keep its connection without limit.
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/echo", "Content-Length: 99999999999"))
        assert connection.response().status == 413

        def is_closed():
            try:
                connection.send(b"x" * 1000)
            except OSError:
                return True
            return short_timeouts.stats()["active_connections"] == 1

        eventually(is_closed, "the rejected connection is closed")


def test_linger_timeout_closes_silent_client(short_timeouts):
    with short_timeouts.connect() as connection:
        connection.send(b"bad request\r\n\r\n")
        assert connection.response().status == 400
        connection.assert_closed()
        short_timeouts.wait_for_connections(0)


@pytest.mark.parametrize("bytewise", [False, True])
def test_linger_timeout_limits_body_after_early_response(short_timeouts, bytewise):
    # Neither silence nor single bytes keep the connection open.
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/none", "Content-Length: 60000"))
        response = connection.response()
        assert response.status == 404 and not response.has_close()

        def is_closed():
            try:
                connection.send(b"x" if bytewise else b"")
            except OSError:
                return True
            return short_timeouts.stats()["active_connections"] == 1

        eventually(is_closed, "the connection is closed")


def test_linger_timeout_ends_with_body_after_early_response(short_timeouts):
    # Then the keep-alive timeout applies, and a head has its own.
    with short_timeouts.connect() as connection:
        connection.send(raw.request("POST", "/none", "Content-Length: 10"))
        assert connection.response().status == 404
        connection.send(b"0123456789" + raw.request()[:9])
        assert connection.response().status == 408
        connection.assert_closed()


def test_timeouts_of_many_connections_expire(short_timeouts):
    crowd = []
    for i in range(300):
        crowd.append(short_timeouts.connect())
        crowd[-1].send([
            raw.request(),
            raw.request()[:9],
            raw.request("POST", "/echo", "Content-Length: 9") + b"x"
        ][i % 3])
    for i, connection in enumerate(crowd):
        assert connection.response().status == [200, 408, 408][i % 3]
        connection.assert_closed()
        connection.close()
    short_timeouts.wait_for_connections(0)


@pytest.mark.parametrize(
    "name,part", [("header_timeout", b"GET / HT"),
                  ("body_timeout", raw.request("POST", "/echo", "Content-Length: 9") + b"x")])
def test_timeout_uses_its_own_limit(start, name, part):
    # All others are two minutes here, so a response can only be caused by the tested one.
    server = start(**{name: 1})
    with server.connect() as idle:
        assert idle.request().status == 200
        with server.connect() as connection:
            connection.send(part)
            assert connection.response().status == 408
            connection.assert_closed()
        assert idle.request().status == 200


def test_handler_timeout_gets_503_and_notifies_handler(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/late"))
        response = connection.response()
        assert response.status == 503 and response.has_close()
        connection.assert_closed()
    stats = server.stats()
    assert (stats["timeouts"], stats["aborts"]) == (1, 1)
    assert server.release("late") == 0
    assert ("GET /hold/late: no response within 1 s (handler_timeout), route /hold/:id"
            in server.log())


def test_handler_timeout_ends_with_start_of_response(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-echo", "Transfer-Encoding: chunked") + b"1\r\nx\r\n")
        repeat_slowly(lambda i: connection.send(b"1\r\nx\r\n"))
        connection.send(b"0\r\n\r\n")
        assert connection.response().body == b"x" * (STEPS + 1)


def test_handler_timeout_starts_with_whole_request(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", f"Content-Length: {STEPS}"))
        repeat_slowly(lambda i: connection.send(b"x"))
        assert connection.response().body == b"x" * STEPS


def test_route_timeouts_override_server(start):
    server = start()  # those of the server are two minutes
    with server.connect() as pending, server.connect() as body, server.connect(
    ) as patient, server.connect(receive_buffer=16384) as unread:
        pending.send(raw.request("GET", "/hold-briefly/a"))
        body.send(raw.request("POST", "/small-patience", "Content-Length: 9") + b"x")
        patient.send(raw.request("GET", "/hold/b"))
        unread.send(raw.request("GET", "/large-briefly?size=30000000"))
        assert pending.response().status == 504
        assert ("GET /hold-briefly/a: no response within 1 s (handler_timeout), "
                "route /hold-briefly/:id" in server.log())
        assert body.response().status == 408
        eventually(lambda: server.stats()["timeouts"] == 3, "all three timeouts expire")
        assert server.release("b") == 1
        assert patient.response().status == 200


def test_route_write_timeout_applies_after_end_of_response(start):
    # The whole response is queued in memory, so the handler is not called again.
    server = start(write_backlog=40_000_000)
    with server.connect(receive_buffer=16384) as unread:
        unread.send(raw.request("GET", "/pieces-briefly?size=30000000&piece=100000"))
        eventually(lambda: server.stats()["timeouts"] == 1, "the timeout expires")
        server.wait_for_connections(0)


def test_handler_timeout_stops_while_body_is_paused(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-digest?pause&never", "Content-Length: 6") + b"abc")
        eventually(lambda: server.request("GET", "/count-paused").body == b"1",
                   "the body is paused")
        repeat_slowly(lambda i: None)
        connection.assert_silent()
        assert server.request("GET", "/pieces-go-on").body == b"gone on"
        connection.send(b"def")
        assert connection.response().status == 503  # from here on the handler has no response


def test_handler_timeout_runs_after_end_of_paused_body(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("POST", "/pieces-digest?pause&never", body=b"abc"))
        eventually(lambda: server.request("GET", "/count-paused").body == b"1",
                   "the body is paused")
        repeat_slowly(lambda i: None)
        connection.assert_silent()
        assert server.request("GET", "/pieces-go-on").body == b"gone on"
        assert connection.response().status == 503


def test_handler_timeout_runs_until_body_is_read(start):
    server = start(handler_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("POST", "/pieces-digest?late", "Content-Length: 6"))
        assert connection.response().status == 503


def test_job_may_end_after_handler_timeout(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/defer-briefly?how=gate"))
        assert connection.response().status == 503
        server.request("GET", "/open-gate")
        connection.assert_closed()
    assert server.request().status == 200
