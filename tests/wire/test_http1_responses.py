"""What is sent back: Date, fields, sizes of every kind, files, slow readers, and fields that
handlers may not set."""

import email.utils
import os
import time
import urllib.parse

import pytest
import raw
from wire_server import eventually


def test_date_is_the_time_of_now(server):
    for target in ("/hello", "/none", "/status/204"):
        date = email.utils.parsedate_to_datetime(server.ask("GET", target).get("Date"))
        assert abs(date.timestamp() - time.time()) < 5


def test_date_of_a_connection_goes_on(server):
    # A value formatted once and kept would be wrong for ever.
    with server.connect() as connection:
        first = connection.ask().get("Date")
        for _ in range(400):
            time.sleep(0.01)
            if connection.ask().get("Date") != first:
                return
    raise AssertionError(f"it has been {first} for four seconds")


@pytest.mark.parametrize("status", [
    200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 429, 451, 500,
    501, 502, 503, 504, 505, 511, 599
])
def test_status_of_every_kind(server, status):
    with server.connect() as connection:
        response = connection.ask("GET", f"/status/{status}")
        assert response.status == status
        if status in (204, 304):
            assert response.body == b""
        else:
            assert str(status).encode() in response.body
        assert connection.ask().status == 200


@pytest.mark.parametrize("status", [0, 99, 100, 101, 199, 600, 1000, -1])
def test_status_that_is_none_is_refused(server, status):
    # 0 stands for the default, 200.
    assert server.ask("GET", f"/status/{status}").status == (200 if status == 0 else 500)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect(server, status):
    response = server.ask("GET", f"/redirect?status={status}")
    assert response.status == status and response.get("Location") == "/hello"


@pytest.mark.parametrize("value", [
    "a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\rX-Injected: 1", "\r\n\r\n<html>", "a\r\n b", "\n"
])
def test_pitfall_response_splitting_is_impossible(server, value):
    # Guards against CR and LF in a field value that went out as given.
    with server.connect() as connection:
        response = connection.ask("GET", "/field?name=X-Field&value=" + urllib.parse.quote(value))
        assert response.body == b"UVHTTP_EHEADER"
        assert response.all("X-Injected") == [] and response.all("X-Field") == []
        assert connection.ask().status == 200


@pytest.mark.parametrize("name", ["", "X Field", "X:Field", "X-F\u00e9ld", "X\r\nInjected", "(X)"])
def test_field_name_that_is_no_token_is_refused(server, name):
    response = server.ask("GET", "/field?value=1&name=" + urllib.parse.quote(name))
    assert response.body == b"UVHTTP_EHEADER"


@pytest.mark.parametrize(
    "name", ["Content-Length", "content-length", "Transfer-Encoding", "Connection", "Date"])
def test_fields_that_belong_to_the_server_are_refused(server, name):
    with server.connect() as connection:
        response = connection.ask("GET", f"/field?name={name}&value=5")
        assert response.body == b"UVHTTP_EHEADER"
        assert response.get("Content-Length") == str(len(response.body))
        assert connection.ask().status == 200


def test_field_that_is_allowed_is_sent(server):
    response = server.ask("GET", "/field?name=X-Field&value=caf%C3%A9%20%2B%09tab")
    assert response.body == b"OK"
    assert response.get("X-Field") == "caf\u00c3\u00a9 +\ttab"


def test_pitfall_set_cookie_is_sent_as_often_as_it_was_added(server):
    # Guards against a header map in which the second cookie replaced the first.
    response = server.ask("GET", "/cookies")
    assert response.all("Set-Cookie") == ["a=1; Path=/", "b=2; Path=/"]
    assert response.all("X-Once") == ["second"]


@pytest.mark.parametrize("size", [1000, 4095, 4096, 8192, 20000, 65536, 200000])
def test_pitfall_long_field_value_is_sent_whole(server, size):
    # Guards against a buffer of fixed size for the head of a response.
    with server.connect() as connection:
        response = connection.ask("GET", f"/long-field?size={size}")
        assert response.status == 200
        assert response.get("X-Long") == ("abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]
        assert connection.ask().status == 200


@pytest.mark.parametrize("how", ["static", "copy", "borrowed"])
@pytest.mark.parametrize("size",
                         [0, 1, 1023, 1024, 4096, 16384, 65535, 65536, 65537, 1000000, 20000000])
def test_bodies_of_every_size_and_kind_arrive_whole(server, how, size):
    before = server.stats()["releases"]
    with server.connect() as connection:
        assert connection.ask("GET", f"/large?size={size}&how={how}").body == raw.pattern(size)
        assert connection.ask().status == 200
    assert server.stats()["releases"] - before == (how == "borrowed")


def test_borrowed_body_is_given_back_when_head_sends_none(server):
    before = server.stats()["releases"]
    assert server.ask("HEAD", "/large?size=100000&how=borrowed").get("Content-Length") == "100000"
    assert server.stats()["releases"] == before + 1


@pytest.mark.parametrize("how", ["static", "copy", "borrowed"])
def test_slow_reader_gets_every_byte(server, how):
    # Every send comes back short: what is left must follow from the right place.
    with server.connect(receive_buffer=8192) as connection:
        connection.send(raw.request("GET", f"/large?size=8000000&how={how}") + raw.request())
        server.settle()
        connection.head()
        got = bytearray()
        while len(got) < 8000000:
            if len(got) < 400000:
                server.settle()
            got += connection.receive(min(30000, 8000000 - len(got)))
        assert bytes(got) == raw.pattern(8000000)
        assert connection.response().body == b"Hello, world\n"


def test_pitfall_large_bodies_are_not_copied(server):
    # Guards against up to three copies of a body on its way out.
    server.ask("GET", "/large?size=30000000")
    before = server.stats()["heap_live"]
    connections = [server.connect(receive_buffer=16384) for _ in range(5)]
    for i, connection in enumerate(connections):
        connection.send(
            raw.request("GET", f"/large?size=30000000&how={['static', 'borrowed'][i % 2]}"))
    server.settle()
    held = server.stats()["heap_live"] - before
    for connection in connections:
        connection.reset()
    assert held < 2 << 20, f"{held} bytes of heap for five bodies that are only referred to"
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
            response = connection.ask("GET", f"/send-file?path={path}")
            assert response.status == 200 and response.body == raw.pattern(size)
        head = connection.ask("HEAD", f"/send-file?path={path}")
        assert head.get("Content-Length") == str(size)
        assert connection.ask().status == 200


def test_file_type_comes_from_its_name(server, tmp_path):
    response = server.ask("GET", f"/send-file?path={make_file(tmp_path, 10, 'style.css')}")
    assert response.get("Content-Type").startswith("text/css")


def test_file_that_cannot_be_sent_leaves_the_answer_to_the_handler(server, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with server.connect() as connection:
        assert connection.ask("GET", f"/send-file?path={tmp_path}/none").body == b"ENOENT"
        assert connection.ask("GET", f"/send-file?path={tmp_path}").body == b"UVHTTP_ENOTREG"
        assert connection.ask("GET", f"/send-file?path={tmp_path}/fifo").body == b"UVHTTP_ENOTREG"
        assert connection.ask("GET", "/send-file?path=/dev/zero").body == b"UVHTTP_ENOTREG"
        assert connection.ask().status == 200


@pytest.mark.parametrize("offset,size", [(0, 100), (77, 1000), (999999, 1), (100, 999900), (0, 0)])
def test_part_of_a_descriptor(server, tmp_path, offset, size):
    path = make_file(tmp_path, 1000000)
    before = server.stats()["releases"]
    with server.connect() as connection:
        response = connection.ask("GET",
                                  f"/send-descriptor?path={path}&offset={offset}&size={size}")
        assert response.body == raw.pattern(size, offset)
        assert connection.ask().status == 200
    assert server.stats()["releases"] == before + 1


def test_slow_reader_of_a_file_gets_every_byte(server, tmp_path):
    path = make_file(tmp_path, 6000000)
    with server.connect(receive_buffer=8192) as connection:
        connection.send(
            raw.request("GET", f"/send-descriptor?path={path}&size=6000000") + raw.request())
        server.settle()
        assert connection.response().body == raw.pattern(6000000)
        assert connection.response().body == b"Hello, world\n"


@pytest.mark.parametrize("real,promised", [(1000, 2000), (0, 1), (3000000, 3000001),
                                           (100000, 9000000)])
def test_file_that_is_shorter_than_promised_ends_the_connection(server, tmp_path, real, promised):
    # The client must see that something is missing: by a closed connection, never by bytes of
    # something else.
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


def test_client_that_vanishes_while_a_file_is_sent(server, tmp_path):
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
               "the descriptors' end")


# ---- log and statistics ----


def test_logged_text_cannot_forge_lines(server):
    assert server.ask("GET", "/log?text=one%0Afatal:%20two%1b%5B31m").status == 200
    log = server.log()
    assert "logged: one" in log
    assert "\nfatal: two" not in log and "\x1b" not in log


def test_long_log_line_is_cut(server):
    assert server.ask("GET", "/log?text=" + "l" * 3000).status == 200
    longest = max(len(line) for line in server.log().splitlines())
    assert 500 < longest < 1100


def test_pitfall_every_statistic_is_counted(start):
    # Guards against statistics that existed and were never incremented.
    server = start()
    with server.connect() as connection:
        for target in ("/hello", "/redirect", "/none", "/fail"):
            connection.ask("GET", target)
        stats = server.stats()
    assert stats["active_connections"] == 2
    assert stats["idle_connections"] == 1
    assert stats["total_connections"] == 2
    assert stats["total_requests"] == 5
    assert (stats["responses_2xx"], stats["responses_3xx"], stats["responses_4xx"],
            stats["responses_5xx"]) == (1, 1, 1, 1)
    assert stats["bytes_received"] >= sum(
        len(raw.request("GET", target)) for target in ("/hello", "/redirect", "/none", "/fail"))
    assert 400 < stats["bytes_sent"] < 4000
    assert (stats["parse_errors"], stats["timeouts"], stats["aborted_exchanges"],
            stats["rejected_connections"]) == (0, 0, 0, 0)
