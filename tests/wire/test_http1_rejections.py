"""Rejections: each malformed or dangerous request gets its status, "Connection: close" and a closed
connection. The server handles no data that follows it."""

import pytest
import raw

HOST = b"Host: localhost\r\n"


def assert_rejected(server, data, status, method="GET"):
    """Sends `data` followed by a valid request. Expects one error response and the end of the
    connection."""
    with server.connect() as connection:
        connection.send(data + raw.request())
        response = connection.response(method)
        allowed = status if isinstance(status, tuple) else (status, )
        assert response.status in allowed, response
        assert response.has_close(), response
        connection.assert_closed()
    assert server.request().status == 200


def post(*fields, body=b"", version=b"HTTP/1.1"):
    return b"POST /echo " + version + b"\r\n" + HOST + b"".join(
        field + b"\r\n" for field in fields) + b"\r\n" + body


def get(*fields, line=b"GET /hello HTTP/1.1", host=HOST):
    return line + b"\r\n" + host + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


LENGTHS = {
    "differing-fields": [b"Content-Length: 5",
                         b"Content-Length: 6"], "differing-list": [b"Content-Length: 5, 6"],
    "negative": [b"Content-Length: -1"], "plus": [b"Content-Length: +5"],
    "hexadecimal": [b"Content-Length: 0x5"], "letters": [b"Content-Length: five"],
    "empty": [b"Content-Length:"], "two-numbers": [b"Content-Length: 5 5"],
    "fraction": [b"Content-Length: 5.0"], "trailing-comma": [b"Content-Length: 5,"],
    "nul": [b"Content-Length: 5\x00"], "quoted": [b'Content-Length: "5"'],
}


@pytest.mark.parametrize("fields", LENGTHS.values(), ids=LENGTHS.keys())
def test_pitfall_malformed_content_length_gets_400(server, fields):
    # Guards against using the last of two lengths, or the leading digits of an invalid one (RFC
    # 9112 6.3).
    assert_rejected(server, post(*fields, body=b"12345"), 400)


@pytest.mark.parametrize("number", [
    b"99999999999999999999", b"18446744073709551616", b"18446744073709551621",
    b"9223372036854775808", b"0" * 40 + b"18446744073709551621"
])
def test_content_length_overflow_is_rejected(server, number):
    assert_rejected(server, post(b"Content-Length: " + number, body=b"12345"), (400, 413))


CODINGS = {
    "with-length": ([b"Content-Length: 5", b"Transfer-Encoding: chunked"], 400), "length-behind":
        ([b"Transfer-Encoding: chunked", b"Content-Length: 5"], 400),
    "with-zero-length": ([b"Content-Length: 0", b"Transfer-Encoding: chunked"], 400),
    "chunked-not-last": ([b"Transfer-Encoding: chunked, gzip"], (400, 501)), "chunked-twice":
        ([b"Transfer-Encoding: chunked, chunked"], 400), "chunked-in-two-fields":
            ([b"Transfer-Encoding: chunked",
              b"Transfer-Encoding: chunked"], 400), "empty": ([b"Transfer-Encoding:"], 400),
    "unknown": ([b"Transfer-Encoding: brotli, chunked"], 501), "gzip-chunked":
        ([b"Transfer-Encoding: gzip, chunked"], 501), "gzip-alone":
            ([b"Transfer-Encoding: gzip"], (400, 501)), "identity":
                ([b"Transfer-Encoding: identity"], (400, 501)), "prefix":
                    ([b"Transfer-Encoding: xchunked"], (400, 501)), "suffix":
                        ([b"Transfer-Encoding: chunkedx"], (400, 501)), "quoted":
                            ([b'Transfer-Encoding: "chunked"'], (400, 501)), "vertical-tab":
                                ([b"Transfer-Encoding: \x0bchunked"], 400), "nul":
                                    ([b"Transfer-Encoding: chunked\x00"], 400), "parameter":
                                        ([b"Transfer-Encoding: chunked;q=1"], (400, 501)),
}


@pytest.mark.parametrize("fields,status", CODINGS.values(), ids=CODINGS.keys())
def test_pitfall_malformed_transfer_encoding_is_rejected(server, fields, status):
    # Guards against an ambiguous end of the body, which allows request smuggling (RFC 9112 6.1,
    # 6.3).
    assert_rejected(server, post(*fields, body=b"0\r\n\r\n"), status)


def test_transfer_encoding_of_http_1_0_gets_400(server):
    assert_rejected(server,
                    post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n", version=b"HTTP/1.0"),
                    400)


def test_conflicting_framing_runs_no_smuggled_request(server):
    runs = server.stats()["guarded_runs"]
    smuggled = raw.request("GET", "/guarded")
    assert_rejected(
        server,
        post(b"Content-Length: 0", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + smuggled),
        400)
    assert_rejected(
        server, post(b"Content-Length: %d" % len(smuggled), b"Content-Length: 0", body=smuggled),
        400)
    assert server.stats()["guarded_runs"] == runs


HOSTS = {
    "missing": b"", "twice": HOST + HOST, "twice-different": HOST + b"Host: other\r\n",
    "space": b"Host: local host\r\n", "path": b"Host: localhost/x\r\n",
    "user": b"Host: user@localhost\r\n", "bad-port": b"Host: localhost:http\r\n",
    "two-ports": b"Host: localhost:80:81\r\n", "list": b"Host: a, b\r\n",
    "open-bracket": b"Host: [::1\r\n", "query": b"Host: localhost?x\r\n",
    "control": b"Host: local\x01host\r\n",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_malformed_host_gets_400(server, host):
    assert_rejected(server, get(host=host), 400)


@pytest.mark.parametrize("host", [
    b"Host:\r\n", b"Host: localhost:8080\r\n", b"Host: [::1]:80\r\n", b"hOST: 127.0.0.1\r\n",
    b"Host: localhost:\r\n", b"Host: a-b.c_d.example%20x\r\n", b"Host:\t localhost \t\r\n"
])
def test_valid_host_is_accepted(server, host):
    with server.connect() as connection:
        connection.send(get(host=host))
        assert connection.response().status == 200


REQUEST_LINES = {
    "two-spaces": b"GET  /hello HTTP/1.1", "two-spaces-before-version": b"GET /hello  HTTP/1.1",
    "space-in-target": b"GET /hel lo HTTP/1.1", "tab": b"GET\t/hello\tHTTP/1.1", "trailing-space":
        b"GET /hello HTTP/1.1 ", "leading-space": b" GET /hello HTTP/1.1", "no-target":
            b"GET HTTP/1.1", "only-method": b"GET", "method-not-a-token": b"G@T /hello HTTP/1.1",
    "method-with-colon": b"GET: /hello HTTP/1.1", "no-method": b"/hello HTTP/1.1",
    "lower-case-version": b"GET /hello http/1.1", "no-minor-version": b"GET /hello HTTP/1",
    "no-dot": b"GET /hello HTTP/11", "two-digit-minor": b"GET /hello HTTP/1.10",
    "two-digit-major": b"GET /hello HTTP/01.1", "letters-in-version": b"GET /hello HTTP/1.x",
    "other-protocol": b"GET /hello ICY/1.1", "space-in-version": b"GET /hello HTTP /1.1",
    "control-in-target": b"GET /hel\x01lo HTTP/1.1", "nul-in-target": b"GET /hello\x00 HTTP/1.1",
    "delete-in-target": b"GET /hel\x7flo HTTP/1.1", "cr-in-target": b"GET /hel\rlo HTTP/1.1",
    "relative-target": b"GET hello HTTP/1.1", "asterisk-with-get": b"GET * HTTP/1.1",
    "asterisk-and-more": b"OPTIONS *x HTTP/1.1", "authority-with-get": b"GET localhost:80 HTTP/1.1",
    "connect-with-path": b"CONNECT /hello HTTP/1.1", "connect-without-port":
        b"CONNECT localhost HTTP/1.1", "bad-escape": b"GET /%zz HTTP/1.1",
    "half-escape": b"GET /hello% HTTP/1.1", "short-escape": b"GET /hello%4 HTTP/1.1", "encoded-nul":
        b"GET /hello%00 HTTP/1.1", "above-root": b"GET /../hello HTTP/1.1", "encoded-above-root":
            b"GET /%2e%2e/hello HTTP/1.1", "above-root-later":
                b"GET /a/../../hello HTTP/1.1", "empty-authority": b"GET http:///hello HTTP/1.1",
}


@pytest.mark.parametrize("line", REQUEST_LINES.values(), ids=REQUEST_LINES.keys())
def test_malformed_request_line_gets_400(server, line):
    assert_rejected(server, get(line=line), 400)


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/3.0", b"HTTP/0.9", b"HTTP/9.9"])
def test_unsupported_version_gets_505(server, version):
    assert_rejected(server, get(line=b"GET /hello " + version), 505)


def test_http_0_9_request_is_rejected(server):
    with server.connect() as connection:
        connection.send(b"GET /hello\r\n")
        assert connection.response().status in (400, 505)
        connection.assert_closed()


FIELDS = {
    "space-before-colon": b"X-Field : 1", "tab-before-colon": b"X-Field\t: 1",
    "space-in-name": b"X Field: 1", "empty-name": b": 1", "no-colon": b"X-Field",
    "name-not-a-token": b"X(Field): 1", "non-ascii-name": b"X-F\xe9ld: 1",
    "control-in-name": b"X-\x01: 1", "control-in-value": b"X-Field: a\x01b",
    "nul-in-value": b"X-Field: a\x00b", "delete-in-value": b"X-Field: a\x7fb",
    "bare-cr-in-value": b"X-Field: a\rb", "bare-cr-at-end": b"X-Field: a\r",
    "folded": b"X-Field: a\r\n b", "folded-with-tab": b"X-Field: a\r\n\tb",
    "folded-empty": b"X-Field: a\r\n ", "semicolon-name": b"Content-Length;: 5",
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS.keys())
def test_pitfall_malformed_field_gets_400(server, field):
    # Guards against field names that are no tokens, and against unchecked field values.
    assert_rejected(server, get(field), 400)


def test_whitespace_before_first_field_gets_400(server):
    assert_rejected(server, get(host=b" " + HOST), 400)


@pytest.mark.parametrize("data", [
    b"GET /hello HTTP/1.1\nHost: localhost\n\n", b"GET /hello HTTP/1.1\r\nHost: localhost\n\r\n",
    b"GET /hello HTTP/1.1\nHost: localhost\r\n\r\n"
], ids=["all", "one-field", "request-line"])
def test_bare_line_feed_gets_400(server, data):
    assert_rejected(server, data, 400)


CHUNKS = {
    "letters": b"xyz\r\nabc\r\n0\r\n\r\n", "minus": b"-1\r\nabc\r\n0\r\n\r\n",
    "plus": b"+3\r\nabc\r\n0\r\n\r\n", "prefix-0x": b"0x3\r\nabc\r\n0\r\n\r\n",
    "leading-space": b" 3\r\nabc\r\n0\r\n\r\n", "empty-size": b"\r\nabc\r\n0\r\n\r\n",
    "overflow": b"10000000000000000\r\nabc\r\n0\r\n\r\n",
    "overflow-wraps-to-3": b"10000000000000003\r\nabc\r\n0\r\n\r\n", "all-ones":
        b"ffffffffffffffff1\r\nabc\r\n0\r\n\r\n", "data-too-long": b"3\r\nabcd\r\n0\r\n\r\n",
    "data-too-short": b"4\r\nabc\r\n0\r\n\r\n", "no-line-end-behind-data": b"3\r\nabc0\r\n\r\n",
    "line-feed-behind-size": b"3\nabc\r\n0\r\n\r\n", "line-feed-behind-data":
        b"3\r\nabc\n0\r\n\r\n", "carriage-return-behind-size": b"3\rabc\r\n0\r\n\r\n",
    "line-feed-in-extension": b"3;a\nb\r\nabc\r\n0\r\n\r\n", "control-in-extension":
        b"3;a\x01\r\nabc\r\n0\r\n\r\n", "line-feed-behind-last": b"3\r\nabc\r\n0\n\r\n",
    "trailer-without-colon": b"3\r\nabc\r\n0\r\nX-Check\r\n\r\n",
    "trailer-folded": b"3\r\nabc\r\n0\r\nX-Check: a\r\n b\r\n\r\n",
    "trailer-with-space": b"3\r\nabc\r\n0\r\nX-Check : a\r\n\r\n",
}


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS.keys())
def test_pitfall_malformed_chunk_gets_400(server, body):
    # Guards against chunk sizes with a sign or 0x, chunk sizes that overflow, and unchecked chunk
    # ends.
    assert_rejected(server, post(b"Transfer-Encoding: chunked", body=body), 400)


@pytest.mark.parametrize("name", ["Content-Length: 3", "Transfer-Encoding: chunked", "Host: other"])
def test_forbidden_trailer_gets_400(server, name):
    assert_rejected(server,
                    post(b"Transfer-Encoding: chunked", body=raw.chunked(b"abc", trailers=[name])),
                    400)


def test_unknown_expectation_gets_417(server):
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", "Expect: 200-maybe", "Content-Length: 5"))
        response = connection.response()
        assert response.status == 417
        assert response.interim == []


def test_rejection_has_body_with_reason(server):
    with server.connect() as connection:
        connection.send(b"GET /hello HTTP/1.1\r\n\r\n")
        response = connection.response()
        assert response.status == 400 and b"Host" in response.body


def test_stats_count_rejected_requests(server):
    before = server.stats()
    assert_rejected(server, get(b"bad field: 1"), 400)
    after = server.stats()
    assert after["parse_errors"] == before["parse_errors"] + 1
    assert after["responses_4xx"] == before["responses_4xx"] + 1


def test_rejection_follows_first_invalid_byte(server):
    # The end of the head may never arrive, so the server does not wait for it.
    with server.connect() as connection:
        connection.send(b"GET /hello HTTP/7.7\r\n")
        assert connection.response().status == 505
        connection.assert_closed()
    with server.connect() as connection:
        connection.send(b"GET /hel\x01")
        connection.send(b"lo HTTP/1.1\r\n")
        assert connection.response().status == 400
        connection.assert_closed()


# ---- other protocols and random bytes on this port ----


def test_http_2_preface_gets_505_without_http2(start):
    with start(http2=0).connect() as connection:
        connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                        b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        assert connection.response().status == 505
        connection.assert_closed()


TLS_HELLO = (b"\x16\x03\x01\x00\x75\x01\x00\x00\x71\x03\x03" + bytes(range(64, 96)) +
             b"\x00\x00\x08\x13\x01\x13\x02\xc0\x2f"
             b"\xc0\x30\x01\x00\x00\x40\x00\x00\x00\x0e\x00\x0c\x00\x00\x09localhost"
             b"\x00\x0a\x00\x04\x00\x02\x00\x1d"
             b"\x00\x0d\x00\x04\x00\x02\x08\x04\x00\x2b\x00\x03\x02\x03\x04"
             b"\x00\x10\x00\x0b\x00\x09\x08http/1.1")


def test_tls_client_hello_on_plain_port_gets_400(server):
    with server.connect() as connection:
        connection.send(TLS_HELLO)
        assert connection.response().status == 400
        connection.assert_closed()


def test_first_byte_of_tls_client_hello_gets_400(server):
    with server.connect() as connection:
        connection.send(TLS_HELLO[:1])
        assert connection.response().status == 400
        connection.assert_closed()


@pytest.mark.parametrize("garbage", [
    b"\x00" * 100, b"\xff\xfe\xfd\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n",
    b"\x80\x2e\x01\x00\x02\r\n\r\n", b"{}[]()<>\r\n\r\n", b"EHLO localhost\r\n",
    b"*1\r\n$4\r\nPING\r\n", b"<?xml version='1.0'?>\r\n\r\n",
    bytes(range(256)) * 8, b"GET" + b"\r\n" * 50, b"\r\n" * 10 + b"\x01"
])
def test_random_bytes_are_rejected(server, garbage):
    with server.connect() as connection:
        connection.send(garbage)
        assert connection.response().status in (400, 505)
        connection.assert_closed()
    assert server.request().status == 200


# ---- the client of a rejected request receives the response ----


def test_rejected_upload_gets_response_without_reset(start):
    # Closing a socket with unread data sends a RST, which may discard the response at the client.
    # So the server does a lingering close.
    server = start(max_body_size=1000)
    for _ in range(5):
        with server.connect() as connection:
            connection.send(raw.request("POST", "/digest", "Content-Length: 3000000"))
            connection.send(raw.pattern(3000000))
            response = connection.response()
            assert response.status == 413 and response.has_close()
            connection.assert_closed()


def test_bytes_after_rejected_head_cause_no_reset(server):
    with server.connect() as connection:
        connection.send(b"GET /hello HTTP/1.1\r\nbad field: 1\r\n\r\n" + b"x" * 1000000)
        assert connection.response().status == 400
        connection.assert_closed()


def test_bytes_after_closing_request_cause_no_reset(server):
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hello", "Connection: close") + b"x" * 1000000)
        response = connection.response()
        assert response.status == 200 and response.has_close()
        connection.assert_closed()


@pytest.mark.parametrize(
    "lines",
    [b"HEAD / HTTP/1.1\r\n\r\n", b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"])
def test_rejected_head_request_gets_no_body(server, lines):
    with server.connect() as connection:
        connection.send(lines)
        response = connection.rest()
    assert response.startswith(b"HTTP/1.1 400 ")
    assert response.endswith(b"\r\n\r\n"), response
