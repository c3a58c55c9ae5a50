"""Streamed bodies in both directions: framing, back-pressure, premature ends, and what middleware
sees of responses."""

import json

import pytest
import raw
from test_clients import installed, run
from test_http1_bodies import fnv
from wire_server import eventually

SIZES = [(0, 1), (1, 1), (1000, 1), (1000, 7), (100_000, 4096), (100_000, 4097),
         (3_000_000, 16_384), (3_000_000, 70_000), (2_000_000, 1_000_000)]


def wait_for_stat(server, name, least):
    eventually(lambda: server.stats()[name] >= least, f"{name} >= {least}")


# Response bodies


@pytest.mark.parametrize("size, chunk", SIZES)
@pytest.mark.parametrize("known", [True, False], ids=["length", "chunks"])
@pytest.mark.parametrize("path", ["/pieces-out", "/pulled"])
def test_streamed_response_arrives_whole(server, path, size, chunk, known):
    with server.connect() as connection:
        response = connection.request(
            "GET", f"{path}?size={size}&piece={chunk}{'&known' if known else ''}")
        assert response.status == 200 and response.body == raw.pattern(size)
        assert response.get("Content-Length") == (str(size) if known else None)
        assert response.get("Transfer-Encoding") == (None if known else "chunked")
        # The connection is reusable.
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.http1
@pytest.mark.parametrize("path", ["/pieces-out", "/pulled"])
def test_streamed_response_to_http_1_0_ends_with_connection(server, path):
    with server.connect() as connection:
        response = connection.request("GET", f"{path}?size=50000&piece=999",
                                      "Connection: keep-alive", version="HTTP/1.0")
        assert response.body == raw.pattern(50000) and response.has_close()
        assert response.get("Transfer-Encoding") is None and response.get("Content-Length") is None
        connection.assert_closed()


@pytest.mark.parametrize("path", ["/pieces-out", "/pulled"])
def test_head_of_streamed_response_has_no_body(server, path):
    with server.connect() as connection:
        response = connection.request("HEAD", f"{path}?size=50000&piece=999&known")
        assert response.get("Content-Length") == "50000"
        assert connection.request("HEAD",
                                  f"{path}?size=50000&piece=999").get("Content-Length") is None
        assert connection.request().body == b"Hello, world\n"


def test_head_does_not_call_the_source(server):
    with server.connect() as connection:
        connection.request("HEAD", "/pulled?size=1000000000000&piece=1")
        assert connection.request().body == b"Hello, world\n"


def test_streamed_205_has_no_body(server):
    with server.connect() as connection:
        for _ in range(2):
            response = connection.request("GET", "/pieces-out?size=1000&status=205")
            assert (response.status, response.body, response.get("Content-Length")) == (205, b"",
                                                                                        "0")


@pytest.mark.parametrize("path", ["/pieces-out", "/pulled"])
def test_pipelined_streamed_responses_keep_order(server, path):
    with server.connect() as connection:
        sizes = [0, 5, 300_000, 17, 40_000]
        connection.send(b"".join(
            raw.request("GET", f"{path}?size={size}&piece=5000") for size in sizes))
        for size in sizes:
            assert connection.response().body == raw.pattern(size)


@pytest.mark.plain
@pytest.mark.parametrize("path, counted", [("/pieces-out", True), ("/pulled", False)])
def test_slow_reader_limits_streamed_response(start, path, counted):
    server = start(write_backlog=20_000)
    with server.connect(receive_buffer=4096) as connection:
        idle = server.stats()["heap_live"]
        connection.send(raw.request("GET", f"{path}?size=200000000&piece=10000"))
        assert connection.receive_exactly(1000)
        if counted:
            wait_for_stat(server, "rejected_writes", 1)
        for _ in range(30):
            connection.receive(65536)
            assert server.stats()["heap_live"] - idle < 300_000
        # Other clients are served in the meantime.
        assert server.request().body == b"Hello, world\n"
        connection.reset()
    eventually(lambda: server.stats()["active_connections"] == 1, "the connection is closed")
    # (the request for /stats has a connection of its own)


def test_streamed_response_passes_small_write_backlog(start):
    server = start(write_backlog=1024)
    with server.connect(receive_buffer=4096) as connection:
        response = connection.request("GET", "/pieces-out?size=20000000&piece=7000")
        assert response.body == raw.pattern(20_000_000)
    assert server.stats()["rejected_writes"] > 0


def test_disconnect_during_streamed_response_is_reported_once(start):
    server = start()
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/pieces-out?size=100000000&piece=10000"))
        connection.receive_exactly(1000)
        connection.reset()
    wait_for_stat(server, "aborts", 1)
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/pulled?size=100000000&piece=10000"))
        connection.receive_exactly(1000)
        connection.reset()
    wait_for_stat(server, "releases", 1)
    stats = server.stats()
    assert (stats["aborts"], stats["releases"], stats["aborted_exchanges"]) == (1, 1, 2)


def test_source_without_data_is_called_again(start):
    server = start()
    with server.connect() as connection:
        assert connection.request("GET",
                                  "/pulled?size=5000&piece=100&stalls").body == raw.pattern(5000)
        assert connection.request("GET", "/pulled?size=0&piece=100&stalls").body == b""
        assert connection.request(
            "GET", "/pulled?size=5000&piece=100&stalls&at-once").body == raw.pattern(5000)
    eventually(lambda: server.stats()["releases"] == 3, "all sources are released")


def test_response_before_failed_stream_arrives(server):
    with server.connect() as connection:
        connection.send(raw.request() + raw.request("GET", "/begin-and-fail"))
        assert connection.response().body == b"Hello, world\n"


@pytest.mark.http1
def test_failed_stream_resets_http_1_0_connection(server):
    with server.connect() as connection:
        connection.send(
            raw.request("GET", "/pulled?size=30000000&piece=10000&fail", version="HTTP/1.0"))
        with pytest.raises(ConnectionResetError):
            connection.rest()


@pytest.mark.parametrize("target", [
    "/begin-and-fail", "/pulled?size=100000&piece=1000&fail",
    "/pulled?size=100000&piece=1000&fail&known"
])
def test_failed_stream_closes_connection_without_last_chunk(start, target):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", target))
        data = connection.rest()
        # The server may drop data that it has not sent yet.
        assert data == b"" or data.startswith(b"HTTP/1.1 200 ")
        assert not data.endswith(b"0\r\n\r\n") and len(data) < 90_000
    assert "UVHTTP_EINVAL" in server.log()
    wait_for_stat(server, "aborted_exchanges", 1)


@pytest.mark.parametrize("mistake, reason", [
    ("forgets-length", "0 without data, instead of UVHTTP_END or UVHTTP_AGAIN"),
    ("exceeds-buffer", "more bytes than fit into the buffer"),
    ("wrong-result", "a result other than 0, UVHTTP_END and UVHTTP_AGAIN"),
])
def test_invalid_result_of_pull_callback_is_logged(start, mistake, reason):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", f"/pulled?size=10&{mistake}"))
        assert not connection.rest().endswith(b"0\r\n\r\n")
    assert f"/pulled: the pull callback returned {reason}" in server.log()
    assert "/pulled failed: UVHTTP_EINVAL" in server.log()


def test_stream_shorter_than_content_length_closes_connection(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/pieces-of-length?length=10&size=9"))
        data = connection.rest()
        assert len(data.partition(b"\r\n\r\n")[2]) < 10
    assert server.stats()["last_error"] == "UVHTTP_ELENGTH"
    assert "/pieces-of-length" in server.log()


def test_stream_longer_than_content_length_is_rejected(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/pieces-of-length?length=10&size=11"))
        assert connection.rest().partition(b"\r\n\r\n")[2] == b""
    assert server.stats()["last_error"] == "UVHTTP_ELENGTH"
    assert server.request("GET", "/pieces-of-length?length=10&size=10").body == raw.pattern(10)


@pytest.mark.http1
@pytest.mark.parametrize(
    "path", ["/pieces-out?last", "/pieces-out?last&known", "/block/pieces?size=1000&last"])
def test_close_requested_during_stream_closes_connection(server, path):
    with server.connect() as connection:
        connection.send(raw.request("GET", path) + raw.request())
        response = connection.response()
        assert (response.status, response.body) == (200,
                                                    raw.pattern(1000)) and not response.has_close()
        connection.assert_closed()


def test_response_trailers_follow_last_chunk(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/trailers-out"))
        connection.head()
        assert connection.receive_exactly(9) == b"4\r\nbody\r\n"
        assert [connection.line()
                for _ in range(4)] == [b"0", b"X-Early: set before", b"X-Sum: 42", b""]
        assert connection.request().body == b"Hello, world\n"
        # Content-Length is not allowed as a trailer.
        assert server.stats()["last_error"] == "UVHTTP_EHEADER"
        assert connection.request("GET", "/trailers-out?known").body == b"body"
        assert connection.request().body == b"Hello, world\n"


def test_early_hints_precede_response(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/early-hints"))
        status, reason, fields, _ = connection.head()
        assert (status, reason, fields) == (103, "Early Hints", [("Link",
                                                                  "</style.css>; rel=preload")])
        response = connection.response()
        assert (response.body, response.get("Link"),
                response.get("X-Final")) == (b"page", "</style.css>; rel=preload", "yes")


@pytest.mark.http1
def test_early_hints_are_not_sent_to_http_1_0(server):
    with server.connect() as connection:
        response = connection.request("GET", "/early-hints", "Connection: keep-alive",
                                      version="HTTP/1.0")
        assert (response.interim, response.body) == ([], b"page")


# Request bodies

BODIES = [0, 1, 1000, 65_535, 65_537, 3_000_000]


@pytest.mark.parametrize("size", BODIES)
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize("variant", ["", "?pause", "?late"], ids=["at-once", "paused", "late"])
def test_streamed_request_body_arrives_whole(server, size, coded, variant):
    body = raw.pattern(size)
    with server.connect() as connection:
        if coded:
            data = raw.request(
                "POST", f"/pieces-digest{variant}", "Transfer-Encoding: chunked",
                body=raw.chunked(*[body[i:i + 50_000] for i in range(0, size, 50_000)],
                                 trailers=["X-Check: 7"]))
        else:
            data = raw.request("POST", f"/pieces-digest{variant}", f"Content-Length: {size}",
                               body=body)
        at_once = data[:100_000]
        connection.send(at_once)
        if variant and (size or variant == "?late"):
            eventually(lambda: server.request("GET", "/count-paused").body == b"1",
                       "the body is paused")
            connection.assert_silent()
            assert server.request("GET", "/pieces-go-on").body == b"gone on"
        connection.send(data[len(at_once):])
        response = connection.response()
        assert (response.status, response.body) == (200, fnv(body))
        assert response.get("X-Check") == ("7" if coded else None)
        assert connection.request().body == b"Hello, world\n"


def test_streamed_request_body_sent_byte_by_byte(server):
    body = raw.pattern(100)
    with server.connect() as connection:
        data = raw.request("POST", "/pieces-digest", "Transfer-Encoding: chunked",
                           body=raw.chunked(body[:60], body[60:]))
        for i in range(len(data)):
            connection.send(data[i:i + 1])
        assert connection.response().body == fnv(body)


@pytest.mark.parametrize("at_once", [True, False])
def test_middleware_cannot_read_the_body(server, at_once):
    # Otherwise the server would parse the rest of the body as the next request.
    inner = raw.request("GET", "/hello")
    with server.connect() as connection:
        head = raw.request("POST", "/pieces-digest", "X-Take-Early: 1",
                           f"Content-Length: {len(inner)}")
        if at_once:
            connection.send(head + inner)
        else:
            connection.send(head)
            eventually(lambda: server.stats()["last_error"] == "UVHTTP_EINVAL",
                       "the middleware has called on_body")
            connection.send(inner)
        assert connection.response().body == fnv(inner)
        assert connection.request("GET", "/status/202").status == 202
    assert server.stats()["last_error"] == "UVHTTP_EINVAL"


def test_requests_after_streamed_body_get_responses(server):
    body = raw.pattern(5000)
    with server.connect() as connection:
        one = raw.request("POST", "/pieces-digest", body=body)
        connection.send(one + raw.request() + one + raw.request("POST", "/echo", body=b"abc"))
        assert [response.body for response in connection.responses(4)
                ] == [fnv(body), b"Hello, world\n", fnv(body), b"abc"]


@pytest.mark.http1
def test_paused_body_limits_client(start):
    server = start(body_timeout=1)
    with server.connect(send_buffer=4096) as connection:
        size = 50_000_000
        connection.send(raw.request("POST", "/pieces-digest?pause", f"Content-Length: {size}"))
        idle = server.stats()["heap_live"]
        # longer than body_timeout, which does not run while the body is paused
        connection.socket.settimeout(2.5)
        with pytest.raises(TimeoutError):
            connection.socket.sendall(raw.pattern(size))
        stats = server.stats()
        assert stats["heap_live"] - idle < 300_000 and stats["timeouts"] == 0 and stats[
            "bytes_received"] < 10_000_000
        connection.reset()
    wait_for_stat(server, "aborts", 1)


@pytest.mark.parametrize("variant", ["", "?late"])
def test_100_continue_is_sent_when_handler_reads_body(server, variant):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", f"/pieces-digest{variant}", "Expect: 100-continue",
                        "Content-Length: 3"))
        if variant:
            eventually(lambda: server.request("GET", "/count-paused").body == b"1",
                       "the body is paused")
            connection.assert_silent()
            server.request("GET", "/pieces-go-on")
        assert connection.line() == b"HTTP/1.1 100 Continue" and connection.line() == b""
        connection.send(b"abc")
        assert connection.response().body == fnv(b"abc")


@pytest.mark.http1
def test_100_continue_is_not_sent_for_rejected_body(server):
    with server.connect() as connection:
        response = connection.request("POST", "/pieces-digest?refuse", "Expect: 100-continue",
                                      "Content-Length: 3")
        assert (response.status, response.interim) == (403, []) and response.has_close()
        connection.assert_closed()


@pytest.mark.http1
@pytest.mark.parametrize("query, status, body",
                         [("fail=10000", 500, b"500 Internal Server Error\n"),
                          ("answer=10000", 200, b"enough")])
def test_response_before_end_of_body_closes_connection(server, query, status, body):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", f"/pieces-digest?{query}", "Content-Length: 300000") +
            raw.pattern(20_000))
        response = connection.response()
        assert (response.status, response.body) == (status, body) and response.has_close()
        connection.send(raw.pattern(30_000))
        connection.half_close()
        connection.assert_closed()


def test_body_limit_of_route_applies_to_streamed_body(server):
    with server.connect() as connection:
        assert connection.request("POST", "/pieces-small",
                                  body=raw.pattern(16)).body == fnv(raw.pattern(16))
        assert connection.request("POST", "/pieces-small", "Content-Length: 17").status == 413
    before = server.stats()["aborts"]
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-small", "Transfer-Encoding: chunked",
                        body=raw.chunked(b"a" * 10, b"a" * 7)[:-5]))
        assert connection.response().status == 413
    # The handler had received the first ten bytes. It is notified.
    wait_for_stat(server, "aborts", before + 1)


def test_streamed_body_may_exceed_limit_of_whole_body(start):
    server = start(max_body_size=1000)
    body = raw.pattern(2_000_000)
    assert server.request("POST", "/pieces-digest", body=body).body == fnv(body)
    assert server.request("POST", "/digest", body=body[:1001]).status == 413


def test_stalled_body_gets_408_and_notifies_handler(start):
    server = start(body_timeout=1)
    with server.connect() as connection:
        connection.send(raw.request("POST", "/pieces-digest", "Content-Length: 1000") + b"abc")
        assert connection.response().status == 408
    wait_for_stat(server, "aborts", 1)
    assert server.stats()["aborts"] == 1


def test_disconnect_during_streamed_body_is_reported_once(start):
    server = start()
    for leave in ("reset", "half_close"):
        with server.connect() as connection:
            connection.send(raw.request("POST", "/pieces-digest", "Content-Length: 1000") + b"abc")
            eventually(lambda: server.stats()["active_connections"] == 2,
                       "the request is in its handler")
            getattr(connection, leave)()
            eventually(lambda: server.stats()["active_connections"] == 1,
                       "the connection is closed")
    assert server.stats()["aborts"] == 2


# Both directions


@pytest.mark.parametrize("version", [
    "HTTP/1.1", pytest.param("HTTP/1.0", marks=pytest.mark.http1)
])
def test_echo_streams_in_both_directions(server, version):
    body = raw.pattern(300_000)
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-echo", f"Content-Length: {len(body)}", version=version))
        _, _, fields, _ = connection.head()
        got = b""
        for i in range(0, len(body), 50_000):
            connection.send(body[i:i + 50_000])
            while len(got) < i + 50_000:
                if version == "HTTP/1.0":
                    got += connection.receive()
                else:
                    got += connection.receive_exactly(int(connection.line(), 16))
                    assert connection.line() == b""
        assert got == body
        if version == "HTTP/1.0":
            connection.assert_closed()
        else:
            assert connection.line() == b"0" and connection.line() == b""
            assert connection.request().body == b"Hello, world\n"


@pytest.mark.plain
def test_echo_without_reader_stops_reading(start):
    server = start(write_backlog=20_000)
    size = 30_000_000
    with server.connect(receive_buffer=4096, send_buffer=4096) as connection:
        idle = server.stats()["heap_live"]
        connection.send(raw.request("POST", "/pieces-echo", f"Content-Length: {size}"))
        connection.socket.settimeout(1.0)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < size:
                sent += connection.socket.send(raw.pattern(65_536, sent))
        assert server.stats()["heap_live"] - idle < 600_000
        connection.reset()
    wait_for_stat(server, "releases", 1)


# Response hooks of middleware


def test_hooks_see_and_change_response(server):
    response = server.request("GET", "/hello", "X-Watch: 1")
    assert response.all("X-Seen") == [
        "inner 200 text/plain 13 Hell", "outer 200 text/plain 13 Hell"
    ]
    # A hook cannot send a response.
    assert server.stats()["last_error"] == "UVHTTP_ERESPONDED"


@pytest.mark.parametrize(
    "method, target, status, seen",
    [("GET", "/nowhere", 404, "404 text/plain; charset=utf-8 14 404 "),
     ("POST", "/hello", 405, "405 text/plain; charset=utf-8 23 405 "),
     ("GET", "/fail", 500, "500 text/plain; charset=utf-8 26 500 "),
     ("GET", "/pieces-out?size=9&known", 200, "200 application/octet-stream 9 -"),
     ("GET", "/pulled?size=9", 200, "200 - 18446744073709551615 -"),
     ("GET", "/defer", 200, "200 text/plain; charset=utf-8 9 defe"), ])
def test_hooks_see_errors_streams_and_deferred_responses(server, method, target, status, seen):
    response = server.request(method, target, "X-Watch: 1")
    assert response.status == status and response.all("X-Seen") == [
        f"inner {seen}".strip(), f"outer {seen}".strip()
    ]


def test_hooks_see_rejections_of_the_server(start):
    server = start(max_body_size=10)
    response = server.request("POST", "/echo", "X-Watch: 1", body=b"a" * 11)
    assert response.status == 413 and len(response.all("X-Seen")) == 2


def test_hook_may_change_status_and_type(server):
    assert server.request("GET", "/hello", "X-Watch: 1", "X-Teapot: 1").status == 418
    assert server.request("GET", "/hello", "X-Watch: 1",
                          "X-Type: 1").get("Content-Type") == "text/changed"


def test_hook_failure_gets_500(server):
    response = server.request("GET", "/hello", "X-Watch: 1", "X-Hook-Fails: 1")
    assert response.status == 500 and len(response.all("X-Seen")) == 2


# Deferred middleware


@pytest.mark.parametrize("method, target, body, expected",
                         [("GET", "/hello", b"", b"Hello, world\n"),
                          ("POST", "/echo", b"abc", b"abc"),
                          ("POST", "/pieces-digest", b"abc", fnv(b"abc")),
                          ("GET", "/nowhere", b"", b"404 Not Found\n"),
                          ("POST", "/echo", raw.pattern(200_000), raw.pattern(200_000)), ])
def test_deferred_middleware_continues_request(server, method, target, body, expected):
    with server.connect() as connection:
        connection.send(
            raw.request(method, target, "X-Undecided: 1", body=body[:1000] if body else b"")
            if len(body) <= 1000 else raw.request(method, target, "X-Undecided: 1",
                                                  f"Content-Length: {len(body)}", body=body[:1000]))
        eventually(lambda: server.request("GET", "/decide").body == b"decided",
                   "the request is pending")
        assert server.stats()["last_error"] == "UVHTTP_OK"
        connection.send(body[1000:])
        assert connection.response().body == expected
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.http1
def test_deferred_middleware_with_body_and_half_close(server):
    with server.connect() as connection:
        connection.send(raw.request("POST", "/pieces-digest?pause", "X-Undecided: 1", body=b"abc"))
        connection.half_close()
        eventually(lambda: server.request("GET", "/decide").body == b"decided",
                   "the request is pending")
        eventually(lambda: server.request("GET", "/pieces-go-on").body == b"gone on",
                   "the body is paused")
        assert connection.response().body == fnv(b"abc")
        connection.assert_closed()


@pytest.mark.http1
def test_deferred_rejection_sends_no_100_continue(server):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/echo", "X-Undecided: 1", "Expect: 100-continue",
                        "Content-Length: 5"))
        eventually(lambda: server.request("GET", "/decide?refuse").body == b"decided",
                   "the request is pending")
        response = connection.response()
        assert (response.status, response.interim) == (401, []) and response.has_close()


def test_deferred_rejection_without_body_keeps_connection(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hello", "X-Undecided: 1") + raw.request())
        eventually(lambda: server.request("GET", "/decide?refuse").body == b"decided",
                   "the request is pending")
        assert [response.status for response in connection.responses(2)] == [401, 200]


def test_disconnect_during_deferred_middleware_is_reported(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hello", "X-Undecided: 1"))
        eventually(lambda: server.stats()["active_connections"] == 2, "the request is pending")
        connection.reset()
    wait_for_stat(server, "aborts", 1)
    assert server.request("GET", "/decide").status == 404


@pytest.mark.http1
def test_rejection_does_not_wait_for_body(server):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/echo", "X-Refuse: 1", "Content-Length: 100000") + b"abc")
        response = connection.response()
        assert response.status == 403 and response.has_close()


# Calls from outside the body callback


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_timer_pauses_and_resumes_body(server, size):
    body = raw.pattern(size)
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-ticking", f"Content-Length: {size}") + body[:1])
        for i in range(1, size, 100_000):
            connection.send(body[i:i + 100_000])
        response = connection.response()
        assert (response.status, response.body.split()[0]) == (200, b"%d" % size)
        if size > 1:
            assert response.body.split(b" ", 1)[1] == b"paused"
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.parametrize("rest", ["all", "some", "none"])
def test_response_while_job_refs_exchange(start, rest):
    server = start()
    with server.connect() as connection:
        size = 200_000
        head = raw.request("POST", "/pieces-answered-meanwhile", f"Content-Length: {size}")
        connection.send(head + raw.pattern({"all": size, "some": 150_000, "none": 10}[rest]))
        response = connection.response()
        assert (response.status, response.body) == (200, b"meanwhile")
        assert server.stats()["deferred"] == 0
        assert server.request("GET", "/open-gate").status == 200
        wait_for_stat(server, "deferred", 1)
        # The job cannot send a second response. The server discards the body, which was paused and
        # is resumed after the response.
        stats = server.stats()
        assert (stats["deferred_disconnected"], stats["last_error"]) == (1, "UVHTTP_ERESPONDED")
        connection.half_close()
        connection.assert_closed()
        server.wait_for_connections(0)


def test_body_resumed_after_response_is_discarded(start):
    """resume_body after the response: the rest of the body looks like a request and is discarded.
    It is neither delivered nor parsed."""
    server = start()
    inner = raw.request("GET", "/status/202")
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/pieces-answered-meanwhile", f"Content-Length: {10 + len(inner)}")
            + b"x" * 10)
        response = connection.response()
        assert response.body == b"meanwhile" and not response.has_close()
        server.request("GET", "/open-gate")
        connection.send(inner + raw.request())
        assert connection.response().body == b"Hello, world\n"
        connection.half_close()
        connection.assert_closed()


def test_body_resumed_while_response_is_sent_is_discarded(start):
    server = start()
    with server.connect(receive_buffer=4096) as connection:
        connection.send(
            raw.request("POST", "/pieces-answered-meanwhile?large", "Content-Length: 100000") +
            b"x" * 100_000)
        server.request("GET", "/open-gate")
        wait_for_stat(server, "deferred", 1)
        assert len(connection.response().body) == 8_000_000
        connection.half_close()
        connection.assert_closed()


def test_job_count_does_not_grow_memory(start):
    server = start()
    assert server.request("GET", "/many-jobs?count=10").body == b"all done"
    before = server.stats()
    assert server.request("GET", "/many-jobs?count=20000").body == b"all done"
    stats = server.stats()
    assert stats["heap_peak"] - before["heap_live"] < 20_000 and stats["heap_calls"] - before[
        "heap_calls"] < 20


def test_output_buffer_grows_while_socket_is_full(start):
    """Chunks that the socket does not accept are queued in order, at any chunk size, while the
    buffer that holds them grows."""
    server = start(write_backlog=1_000_000, buffer_size=4096, max_header_size=2048,
                   max_trailer_size=2048)
    idle = server.stats()["heap_live"]
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/pieces-out?size=8000000&piece=3001"))
        # the client reads only when the buffer has grown
        eventually(lambda: server.stats()["heap_peak"] - idle > 16 * 4096, "the buffer grows")
        assert connection.response().body == raw.pattern(8_000_000)
        assert server.stats()["rejected_writes"] >= 1
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.plain
def test_node_sees_hints_and_trailers(server):
    script = """
        import http from 'node:http';
        const ask = (path, seen = []) => new Promise((resolve, reject) => {
            const request = http.get(process.argv[1] + path, (answer) => {
                answer.resume();
                answer.on('end', () => resolve([answer.statusCode, seen, answer.trailers]));
            });
            request.on('information', (hint) => seen.push([hint.statusCode, hint.headers.link]));
            request.on('error', reject);
        });
        console.log(JSON.stringify([await ask('/early-hints'), await ask('/trailers-out')]));"""
    response = run(installed("node", "nodejs"), "--input-type=module", "-e", script,
                   f"http://127.0.0.1:{server.port}")
    hinted, trailed = json.loads(response)
    assert hinted == [200, [[103, "</style.css>; rel=preload"]], {}]
    assert trailed == [200, [], {"x-early": "set before", "x-sum": "42"}]
