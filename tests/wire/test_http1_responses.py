"""Responses: Date, fields, body sizes, files, slow readers, and fields that a handler may not
set."""

import email.utils
import os
import time
import urllib.parse

import pytest
import raw
from wire_server import eventually


def test_date_is_current_time(server):
    for target in ("/hello", "/none", "/status/204"):
        date = email.utils.parsedate_to_datetime(server.request("GET", target).get("Date"))
        assert abs(date.timestamp() - time.time()) < 5


def test_date_advances_on_one_connection(server):
    # Guards against formatting the Date once per connection.
    with server.connect() as connection:
        first = connection.request().get("Date")
        for _ in range(400):
            time.sleep(0.01)
            if connection.request().get("Date") != first:
                return
    raise AssertionError(f"Date was {first} for four seconds")


@pytest.mark.parametrize("status", [
    200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 429, 451, 500,
    501, 502, 503, 504, 505, 511, 599
])
def test_status_of_handler_is_sent(server, status):
    with server.connect() as connection:
        response = connection.request("GET", f"/status/{status}")
        assert response.status == status
        if status in (204, 304):
            assert response.body == b""
        else:
            assert str(status).encode() in response.body
        assert connection.request().status == 200


@pytest.mark.parametrize("status", [0, 99, 100, 101, 199, 600, 1000, -1])
def test_invalid_status_is_rejected(server, status):
    # 0 is the default, 200.
    assert server.request("GET", f"/status/{status}").status == (200 if status == 0 else 500)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_sends_location(server, status):
    response = server.request("GET", f"/redirect?status={status}")
    assert response.status == status and response.get("Location") == "/hello"


@pytest.mark.parametrize("value", [
    "a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\rX-Injected: 1", "\r\n\r\n<html>", "a\r\n b", "\n"
])
def test_pitfall_line_end_in_field_value_is_rejected(server, value):
    # Guards against response splitting: sending CR and LF of a field value.
    with server.connect() as connection:
        response = connection.request("GET",
                                      "/field?name=X-Field&value=" + urllib.parse.quote(value))
        assert response.body == b"UVHTTP_EHEADER"
        assert response.all("X-Injected") == [] and response.all("X-Field") == []
        assert connection.request().status == 200


@pytest.mark.parametrize("name", ["", "X Field", "X:Field", "X-F\u00e9ld", "X\r\nInjected", "(X)"])
def test_invalid_field_name_is_rejected(server, name):
    response = server.request("GET", "/field?value=1&name=" + urllib.parse.quote(name))
    assert response.body == b"UVHTTP_EHEADER"


@pytest.mark.parametrize(
    "name", ["Content-Length", "content-length", "Transfer-Encoding", "Connection", "Date"])
def test_fields_set_by_server_are_rejected(server, name):
    with server.connect() as connection:
        response = connection.request("GET", f"/field?name={name}&value=5")
        assert response.body == b"UVHTTP_EHEADER"
        assert response.get("Content-Length") == str(len(response.body))
        assert connection.request().status == 200


def test_other_field_is_sent(server):
    response = server.request("GET", "/field?name=X-Field&value=caf%C3%A9%20%2B%09tab")
    assert response.body == b"OK"
    assert response.get("X-Field") == "caf\u00c3\u00a9 +\ttab"


def test_pitfall_every_set_cookie_is_sent(server):
    # Guards against a header map in which the second cookie replaces the first.
    response = server.request("GET", "/cookies")
    assert response.all("Set-Cookie") == ["a=1; Path=/", "b=2; Path=/"]
    assert response.all("X-Once") == ["second"]


@pytest.mark.parametrize("size", [1000, 4095, 4096, 8192, 20000, 65536, 200000])
def test_pitfall_long_field_value_is_sent_whole(server, size):
    # Guards against a response head buffer of fixed size.
    with server.connect() as connection:
        response = connection.request("GET", f"/long-field?size={size}")
        assert response.status == 200
        assert response.get("X-Long") == ("abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]
        assert connection.request().status == 200


@pytest.mark.parametrize("variant", ["static", "copy", "borrowed"])
@pytest.mark.parametrize("size",
                         [0, 1, 1023, 1024, 4096, 16384, 65535, 65536, 65537, 1000000, 20000000])
def test_body_of_any_size_and_ownership_arrives_whole(server, variant, size):
    before = server.stats()["releases"]
    with server.connect() as connection:
        assert connection.request("GET",
                                  f"/large?size={size}&how={variant}").body == raw.pattern(size)
        assert connection.request().status == 200
    assert server.stats()["releases"] - before == (variant == "borrowed")


def test_borrowed_body_is_released_for_head(server):
    before = server.stats()["releases"]
    assert server.request("HEAD",
                          "/large?size=100000&how=borrowed").get("Content-Length") == "100000"
    assert server.stats()["releases"] == before + 1


@pytest.mark.parametrize("variant", ["static", "copy", "borrowed"])
def test_slow_reader_receives_whole_body(server, variant):
    # Every write is short: the rest must be sent from the right offset.
    with server.connect(receive_buffer=8192) as connection:
        connection.send(raw.request("GET", f"/large?size=8000000&how={variant}") + raw.request())
        server.settle()
        connection.head()
        got = bytearray()
        while len(got) < 8000000:
            if len(got) < 400000:
                server.settle()
            got += connection.receive(min(30000, 8000000 - len(got)))
        assert bytes(got) == raw.pattern(8000000)
        assert connection.response().body == b"Hello, world\n"


def test_pitfall_large_body_is_not_copied(server):
    # Guards against copies of a body on its way to the socket (up to three).
    server.request("GET", "/large?size=30000000")
    before = server.stats()["heap_live"]
    connections = [server.connect(receive_buffer=16384) for _ in range(5)]
    for i, connection in enumerate(connections):
        connection.send(
            raw.request("GET", f"/large?size=30000000&how={['static', 'borrowed'][i % 2]}"))
    server.settle()
    used = server.stats()["heap_live"] - before
    for connection in connections:
        connection.reset()
    assert used < 2 << 20, f"{used} bytes of heap for five borrowed bodies"
    server.wait_for_connections(0)


# ---- files ----


def make_file(tmp_path, size, name="file.bin"):
    path = tmp_path / name
    path.write_bytes(raw.pattern(size))
    return path


@pytest.mark.parametrize("size", [0, 1, 10000, 65536, 5000000])
def test_file_is_sent_whole(server, tmp_path, size):
    path = make_file(tmp_path, size)
    with server.connect() as connection:
        for _ in range(2):
            response = connection.request("GET", f"/send-file?path={path}")
            assert response.status == 200 and response.body == raw.pattern(size)
        head = connection.request("HEAD", f"/send-file?path={path}")
        assert head.get("Content-Length") == str(size)
        assert connection.request().status == 200


def test_file_content_type_follows_extension(server, tmp_path):
    response = server.request("GET", f"/send-file?path={make_file(tmp_path, 10, 'style.css')}")
    assert response.get("Content-Type").startswith("text/css")


def test_unreadable_file_leaves_response_to_handler(server, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with server.connect() as connection:
        assert connection.request("GET", f"/send-file?path={tmp_path}/none").body == b"ENOENT"
        assert connection.request("GET", f"/send-file?path={tmp_path}").body == b"UVHTTP_ENOTREG"
        assert connection.request("GET",
                                  f"/send-file?path={tmp_path}/fifo").body == b"UVHTTP_ENOTREG"
        assert connection.request("GET", "/send-file?path=/dev/zero").body == b"UVHTTP_ENOTREG"
        assert connection.request().status == 200


@pytest.mark.parametrize("offset,size", [(0, 100), (77, 1000), (999999, 1), (100, 999900), (0, 0)])
def test_send_descriptor_sends_range(server, tmp_path, offset, size):
    path = make_file(tmp_path, 1000000)
    before = server.stats()["releases"]
    with server.connect() as connection:
        response = connection.request("GET",
                                      f"/send-descriptor?path={path}&offset={offset}&size={size}")
        assert response.body == raw.pattern(size, offset)
        assert connection.request().status == 200
    assert server.stats()["releases"] == before + 1


def test_slow_reader_receives_whole_file(server, tmp_path):
    path = make_file(tmp_path, 6000000)
    with server.connect(receive_buffer=8192) as connection:
        connection.send(
            raw.request("GET", f"/send-descriptor?path={path}&size=6000000") + raw.request())
        server.settle()
        assert connection.response().body == raw.pattern(6000000)
        assert connection.response().body == b"Hello, world\n"


@pytest.mark.parametrize("real,promised", [(1000, 2000), (0, 1), (3000000, 3000001),
                                           (100000, 9000000)])
def test_file_shorter_than_content_length_closes_connection(server, tmp_path, real, promised):
    # The client detects the missing data by the closed connection. The server sends no other data
    # in its place.
    path = make_file(tmp_path, real)
    before = server.stats()["releases"]
    with server.connect() as connection:
        connection.send(
            raw.request("GET", f"/send-descriptor?path={path}&size={promised}") + raw.request())
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(promised)) in fields
        try:
            got = connection.rest()
        except ConnectionResetError:
            got = b""
        assert len(got) <= real and got == raw.pattern(len(got))
    server.wait_for_connections(0)
    assert server.stats()["releases"] == before + 1
    assert "truncated" in server.log() or "ETRUNCATED" in server.log()


def test_disconnect_while_file_is_sent(server, tmp_path):
    path = make_file(tmp_path, 30000000)
    before = server.stats()
    descriptors = len(os.listdir(f"/proc/{before['pid']}/fd"))
    for _ in range(5):
        connection = server.connect(receive_buffer=16384)
        connection.send(raw.request("GET", f"/send-descriptor?path={path}&size=30000000"))
        connection.receive_exactly(50000)
        connection.reset()
    server.wait_for_connections(0)
    after = server.stats()
    assert after["releases"] == before["releases"] + 5
    assert after["aborted_exchanges"] == before["aborted_exchanges"] + 5
    eventually(lambda: len(os.listdir(f"/proc/{before['pid']}/fd")) <= descriptors,
               "the descriptors are closed")


# ---- log and statistics ----


def test_log_escapes_line_ends(server):
    assert server.request("GET", "/log?text=one%0Afatal:%20two%1b%5B31m").status == 200
    log = server.log()
    assert "logged: one" in log
    assert "\nfatal: two" not in log and "\x1b" not in log


def test_long_log_line_is_truncated(server):
    assert server.request("GET", "/log?text=" + "l" * 3000).status == 200
    longest = max(len(line) for line in server.log().splitlines())
    assert 500 < longest < 1100


def test_pitfall_every_stat_is_counted(start):
    # Guards against stats that exist and are never incremented.
    server = start()
    with server.connect() as connection:
        for target in ("/hello", "/redirect", "/none", "/fail"):
            connection.request("GET", target)
        stats = server.stats()
    assert stats["active_connections"] == 2
    assert stats["idle_connections"] == 1
    assert stats["total_connections"] == 2
    assert stats["total_requests"] == 5
    assert (stats["responses_2xx"], stats["responses_3xx"], stats["responses_4xx"],
            stats["responses_5xx"]) == (1, 1, 1, 1)
    assert stats["bytes_received"] >= sum(
        len(raw.request("GET", target)) for target in ("/hello", "/redirect", "/none", "/fail"))
    least = 300 if server.http2 else 400  # heads of HTTP/2 are shorter
    assert least < stats["bytes_sent"] < 4000
    assert (stats["parse_errors"], stats["timeouts"], stats["aborted_exchanges"],
            stats["rejected_connections"]) == (0, 0, 0, 0)
