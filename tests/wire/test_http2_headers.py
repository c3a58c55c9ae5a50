"""Requests and responses of HTTP/2: pseudo-header fields, fields, cookies, trailers, interim
responses, Content-Length, CONNECT (RFC 9113 section 8), and header compression (RFC 7541). Numbers
in comments are sections of RFC 9113, or of RFC 7541 where a comment says HPACK."""

import hpack
import http2_client as h2
import pytest
from http2_client import Client, literal

GET = h2.head()
INSPECT = h2.head("GET", "/inspect")


def send_block(client, block, method="GET"):
    number = client.new_stream(method)
    client.send(h2.headers(number, block))
    return number


def send_fields(client, fields):
    return send_block(client, h2.block(fields))


def seen(response):
    """The fields that /inspect received, with names in lower case."""
    assert response.status == 200, response
    return [(name.lower(), value) for name, value in response.seen_fields()]


def without(name):
    return [field for field in GET if field[0] != name]


def replaced(name, value):
    return [(key, value if key == name else old) for key, old in GET]


# ---- pseudo-header fields ----


@pytest.mark.parametrize(
    "fields", [
        without(":method"),
        without(":scheme"),
        without(":path"),
        [*GET, (":method", "GET")],
        [*GET, (":scheme", "http")],
        [*GET, (":path", "/hello")],
        [*GET, (":authority", "localhost")],
        [*GET, (":status", "200")],
        [*GET, (":unknown", "x")],
        [*GET, (":", "x")],
        [*GET[:3], ("x-a", "b"), GET[3]],
        [("x-a", "b"), *GET],
        replaced(":path", ""),
        replaced(":path", "hello"),
        replaced(":path", "*"),
        replaced(":method", ""),
        replaced(":method", "G T"),
        replaced(":scheme", ""),
        replaced(":authority", "user@localhost"),
        replaced(":authority", "local host"),
        [*GET, (":protocol", "websocket")],
        [(":Method", "GET"), *GET[1:]],
    ], ids=[
        "no-method", "no-scheme", "no-path", "two-methods", "two-schemes", "two-paths",
        "two-authorities", "status", "unknown", "empty-name", "after-a-field", "all-after-a-field",
        "empty-path", "path-without-slash", "asterisk-of-get", "empty-method", "space-in-method",
        "empty-scheme", "userinfo", "space-in-authority", "protocol-of-get", "upper-case"
    ])
def test_invalid_pseudo_header_is_malformed(client, fields):
    # 8.3, 8.3.1; RFC 8441 4: :protocol belongs to CONNECT
    client.expect_malformed(send_fields(client, fields))


def test_pseudo_header_fields_in_any_order(client):
    # 8.3
    assert client.response(send_fields(client, GET[::-1])).status == 200


def test_options_asterisk(client):
    # 8.3.1
    response = client.response(client.request("OPTIONS", "*"))
    assert response.status in (200, 204) and "GET" in response.get("allow")


def test_request_reports_its_parts(client):
    response = client.get("/inspect/a%20b?x=1&y=2")
    facts = response.facts()
    assert facts["method"] == "GET" and facts["target"] == "/inspect/a%20b?x=1&y=2"
    assert facts["path"] == "/inspect/a b" and facts["raw"] == "/inspect/a%20b"
    assert facts["query"] == "x=1&y=2" and facts["terminated"] == "yes"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
def test_methods_reach_their_handlers(client, method):
    response = client.response(client.request(method, "/by-method"))
    assert response.get("x-request-method") == method


@pytest.mark.parametrize("method, status", [("BREW", 501), ("get", 501), ("TRACE", None)])
def test_unknown_method_gets_the_status_of_http1(server, client, method, status):
    expected = status or server.request(method, "/hello").status
    assert client.response(client.request(method, "/hello")).status == expected


def test_head_has_length_and_no_body(client):
    response = client.response(client.request("HEAD", "/hello"))
    assert response.status == 200 and response.get("content-length") == "13"


def test_authority_is_the_host_field(client):
    # 8.3.1
    fields = seen(client.get("/inspect", authority="example.org:8080"))
    assert [value for name, value in fields if name == "host"] == ["example.org:8080"]


def test_host_replaces_a_missing_authority(client):
    # 8.3.1
    fields = seen(client.get("/inspect", ("host", "example.org"), authority=None))
    assert [value for name, value in fields if name == "host"] == ["example.org"]


def test_host_equal_to_authority_occurs_once(client):
    # 8.3.1
    fields = seen(client.get("/inspect", ("host", "localhost")))
    assert [value for name, value in fields if name == "host"] == ["localhost"]


def test_host_that_differs_from_authority_is_malformed(client):
    # 8.3.1
    client.expect_malformed(client.request("GET", "/hello", ("host", "example.org")))


def test_repeated_host_is_malformed(client):
    client.expect_malformed(
        client.request("GET", "/hello", ("host", "a"), ("host", "a"), authority=None))


def test_missing_host_is_malformed(client):
    # RFC 9110 7.2; HTTP/1.1 responds with 400
    client.expect_malformed(client.request("GET", "/hello", authority=None))


# ---- fields ----


@pytest.mark.parametrize("name, value", [
    ("X-Upper", "a"), ("x-uppeR", "a"), ("", "a"), ("x a", "b"), ("x:a", "b"), ("x\0a", "b"),
    ("x\x7fa", "b"), ("x\xe9a", "b"), ("x-a\r\nx-b", "c"), ("x-a", "b\r\nx-c: d"), ("x-a", "b\rc"),
    ("x-a", "b\nc"), ("x-a", "b\0c"), ("x-a", " b"), ("x-a", "b "), ("x-a", "\tb"), ("x-a", "b\t")
])
def test_invalid_field_is_malformed(client, name, value):
    # 8.2.1
    client.expect_malformed(client.request("GET", "/hello", (name, value)))


@pytest.mark.parametrize("name, value", [
    ("connection", "close"), ("connection", "x-a"), ("keep-alive", "timeout=5"),
    ("proxy-connection", "keep-alive"), ("transfer-encoding", "chunked"), ("upgrade", "websocket"),
    ("te", "gzip"), ("te", "trailers, gzip"), ("te", "")
])
def test_connection_field_is_malformed(client, name, value):
    # 8.2.2
    client.expect_malformed(client.request("GET", "/hello", (name, value)))


def test_te_trailers_is_accepted(client):
    # 8.2.2
    assert ("te", "trailers") in seen(client.get("/inspect", ("te", "trailers")))


@pytest.mark.parametrize("value", ["", "b c", "b\tc", "b\xe9", "\x80\xff", "a,b;c=\"d\""])
def test_valid_field_values_arrive_unchanged(client, value):
    assert ("x-a", value) in seen(client.get("/inspect", ("x-a", value)))


def test_fields_arrive_in_order(client):
    sent = [(f"x-{i % 7}", str(i)) for i in range(50)]
    assert [field for field in seen(client.get("/inspect", *sent))
            if field[0].startswith("x-")] == sent


def test_cookie_crumbs_are_joined(client):
    # 8.2.3
    fields = seen(
        client.get("/inspect", ("cookie", "a=1"), ("x-between", "y"), ("cookie", "b=2"),
                   ("cookie", "c=3; d=4")))
    assert [value for name, value in fields if name == "cookie"] == ["a=1; b=2; c=3; d=4"]


def test_many_large_crumbs_are_joined(client):
    crumbs = [f"c{i}=" + chr(97 + i) * 1000 for i in range(14)]
    fields = seen(client.get("/inspect", *(("cookie", crumb) for crumb in crumbs)))
    assert [value for name, value in fields if name == "cookie"] == ["; ".join(crumbs)]


def test_joined_cookie_is_parsed(client):
    one = client.get("/one-cookie?name=second", ("cookie", "first=1; second=2"))
    two = client.get("/one-cookie?name=second", ("cookie", "first=1"), ("cookie", "second=2"))
    assert one.status == two.status == 200 and one.body == two.body


# ---- Content-Length ----


@pytest.mark.parametrize("length, body", [("3", b"ab"), ("3", b"abcd"), ("0", b"a"), ("1", b"")])
def test_content_length_that_differs_from_data_is_malformed(client, length, body):
    # 8.1.1
    number = client.new_stream("POST")
    client.send(
        h2.headers(number, h2.block(h2.head("POST", "/echo", ("content-length", length))),
                   end=False), h2.data(number, body, end=True))
    client.expect_malformed(number)


def test_content_length_without_data_is_malformed(client):
    # 8.1.1: END_STREAM on HEADERS
    client.expect_malformed(
        send_fields(client, h2.head("POST", "/echo", ("content-length", "3"))))


@pytest.mark.parametrize("lengths", [("x", ), ("-1", ), ("1 ", ), ("3", "4"), ("3, 4", ), ("", ),
                                     ("99999999999999999999999", )])
def test_invalid_content_length_is_malformed(client, lengths):
    fields = [("content-length", length) for length in lengths]
    number = client.new_stream("POST")
    client.send(h2.headers(number, h2.block(h2.head("POST", "/echo", *fields)), end=False))
    client.expect_malformed(number)


def test_content_length_equal_to_data(client):
    number = client.request("POST", "/echo", ("content-length", "5"), body=b"12345")
    assert client.response(number).body == b"12345"


def test_content_length_above_limit_gets_413(client):
    number = client.request("POST", "/small-body", ("content-length", "17"), end=False)
    stream = client.streams[number]
    client.until(lambda: stream.ended, "no response")
    assert stream.status == 413


def test_body_without_length_above_limit_gets_413(client):
    number = client.request("POST", "/small-body", body=bytes(17), end=False)
    client.until(lambda: client.streams[number].ended, "no response")
    assert client.streams[number].status == 413


# ---- trailers ----


def test_request_trailers_are_separate_from_fields(client):
    # 8.1
    number = client.request("POST", "/trailer", ("x-check", "before"), body=b"abc",
                            trailers=[("x-check", "after")])
    assert client.response(number).body == b"header=before trailer=after body=3\n"


def test_request_trailers_without_data(client):
    number = client.request("POST", "/trailer", trailers=[("x-check", "after")])
    assert client.response(number).body == b"header=- trailer=after body=0\n"


@pytest.mark.parametrize("trailers", [[(":path", "/")], [("X-Upper", "a")], [("x-a", "b\0")],
                                      [("connection", "close")], [(":unknown", "a")]])
def test_invalid_trailers_are_malformed(client, trailers):
    # 8.1, 8.2.1, 8.3
    client.expect_malformed(client.request("POST", "/trailer", body=b"abc", trailers=trailers))


@pytest.mark.parametrize("name", ["content-length", "host", "authorization"])
def test_field_that_no_trailers_may_have_is_rejected(client, name):
    # RFC 9110 6.5.1: fields for framing, routing and authentication
    client.expect_malformed(client.request("POST", "/trailer", body=b"abc", trailers=[(name, "3")]))


def test_second_headers_without_end_of_stream_are_malformed(client):
    # 8.1
    number = client.request("POST", "/trailer", end=False)
    client.send(h2.headers(number, h2.block([("x-a", "b")]), end=False))
    client.expect_malformed(number)


def test_content_length_counts_before_trailers(client):
    # 8.1.1
    number = client.request("POST", "/trailer", ("content-length", "4"), body=b"abc",
                            trailers=[("x-check", "after")])
    client.expect_malformed(number)


def test_response_trailers(client):
    # 8.1
    response = client.get("/trailers-out", ("te", "trailers"))
    assert response.status == 200 and response.trailers


# ---- interim responses ----


def test_expectation_gets_100(client):
    # 8.1; RFC 9110 10.1.1
    number = client.request("POST", "/echo", ("expect", "100-continue"), ("content-length", "4"),
                            end=False)
    client.until(lambda: client.streams[number].interim, "no 100")
    client.send(h2.data(number, b"body", end=True))
    response = client.response(number)
    assert response.interim == [100] and response.body == b"body"


def test_expectation_that_fails_gets_final_response(client):
    number = client.request("POST", "/small-body", ("expect", "100-continue"),
                            ("content-length", "1000"), end=False)
    client.until(lambda: client.streams[number].ended, "no response")
    assert client.streams[number].status == 413 and not client.streams[number].interim


def test_early_hints(client):
    # RFC 8297
    response = client.get("/early-hints")
    assert response.interim and set(response.interim) == {103} and response.status == 200


def test_response_fields_are_those_of_http1(server, client):
    for path in ("/hello", "/cookies", "/redirect", "/status/204", "/status/304", "/large?size=10"):
        one, two = server.request("GET", path), client.get(path)
        expected = sorted((name.lower(), value) for name, value in one.fields
                          if name.lower() not in ("date", "connection"))
        assert one.status == two.status and one.body == two.body
        assert sorted(field for field in two.fields if field[0] != "date") == expected


def test_switching_protocols_does_not_exist(client):
    # 8.6: no 101; the route requires an upgrade
    response = client.get("/echo-stream")
    assert response.status in (400, 426, 404, 501) and 101 not in response.interim


# ---- CONNECT ----


@pytest.mark.parametrize("fields", [
    [(":method", "CONNECT"), (":scheme", "http"), (":path", "/"), (":authority", "a:1")],
    [(":method", "CONNECT"), (":path", "/"), (":authority", "a:1")],
    [(":method", "CONNECT"), (":scheme", "http"), (":authority", "a:1")],
    [(":method", "CONNECT")],
    [(":method", "CONNECT"), (":authority", "")],
    [(":method", "CONNECT"), (":protocol", "websocket"), (":authority", "a:1")],
    [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/")],
], ids=["scheme-and-path", "path", "scheme", "no-authority", "empty", "extended-without-path",
        "extended-without-authority"])
def test_invalid_connect_is_malformed(client, fields):
    # 8.5; RFC 8441 4
    number = client.new_stream("CONNECT")
    client.send(h2.headers(number, h2.block(fields), end=False))
    client.expect_malformed(number)


def test_connect_is_refused_as_over_http1(client):
    # 8.5
    number = client.new_stream("CONNECT")
    client.send(
        h2.headers(number, h2.block([(":method", "CONNECT"), (":authority", "example.org:80")]),
                   end=False))
    client.until(lambda: client.streams[number].ended, "no response")
    assert client.streams[number].status in (400, 404, 405, 501)


# ---- HPACK ----


def test_fields_coded_by_an_encoder_with_table(client):
    coder = hpack.Encoder()
    for i in range(30):
        sent = [*INSPECT, ("x-repeated", "the same value"), ("x-number", str(i))]
        got = seen(client.response(send_block(client, coder.encode(sent))))
        assert ("x-repeated", "the same value") in got and ("x-number", str(i)) in got


def test_fields_evicted_from_table(client):
    # HPACK 4.4: more than the table holds
    coder = hpack.Encoder()
    for i in range(40):
        value = f"{i:03}" * 100
        got = seen(client.response(send_block(client, coder.encode([*INSPECT, ("x-long", value)]))))
        assert ("x-long", value) in got


def test_field_larger_than_table_empties_it(client):
    # HPACK 4.4: no error
    big = "v" * 5000
    got = seen(client.response(
        send_block(client, h2.block(INSPECT) + literal("x-a", "b", 0x40) +
                   literal("x-big", big, 0x40))))
    assert ("x-big", big) in got
    send_block(client, h2.block(INSPECT) + b"\xbe")
    client.expect_goaway("COMPRESSION_ERROR")


@pytest.mark.parametrize("first", [0, 0x40, 0x10])
def test_literal_forms_are_accepted(client, first):
    # HPACK 6.2
    got = seen(client.response(
        send_block(client, h2.block(INSPECT) + literal("x-a", "b", first))))
    assert ("x-a", "b") in got


def test_static_table_is_used(client):
    # HPACK appendix A: :method GET, :scheme http, :path /, user-agent by index
    fields = b"\x82\x86" + literal(":path", "/inspect") + b"\x01\x09localhost" + (
        b"\x0f\x2b" + h2.integer(3, 7) + b"abc")
    assert ("user-agent", "abc") in seen(client.response(send_block(client, fields)))


def test_dynamic_table_survives_a_malformed_request(client):
    # 4.3: the block of a rejected request changes the table, too
    bad = literal("X-Bad", "1") + literal("x-kept", "y", 0x40)
    number = send_block(client, h2.block(GET) + bad)
    client.expect_malformed(number)
    got = seen(client.response(send_block(client, h2.block(INSPECT) + b"\xbe")))
    assert ("x-kept", "y") in got


def test_table_size_update_empties_table(client):
    # HPACK 4.2, 4.3
    assert client.response(
        send_block(client, h2.block(GET) + literal("x-a", "b", 0x40))).status == 200
    assert client.response(
        send_block(client, b"\x20" + h2.integer(4096, 5, 0x20) + h2.block(GET))).status == 200
    send_block(client, h2.block(GET) + b"\xbe")
    client.expect_goaway("COMPRESSION_ERROR")


def invalid_blocks():
    fields = h2.block(GET)
    name = b"\x00\x03x-a"
    return {
        "index-0": fields + b"\x80",
        "index-beyond-tables": fields + b"\xbe",
        "index-far-beyond-tables": fields + b"\xff\x80\x80\x04",
        "name-index-beyond-tables": fields + b"\x7e\x01a",
        "integer-overflow": fields + b"\xff" + b"\xff" * 10 + b"\x01",
        "integer-without-end": fields + b"\xff\x80\x80",
        "string-without-end": fields + b"\x00\x03x-",
        "name-without-value": fields + name,
        "length-beyond-block": fields + name + b"\x7f\xff\xff\xff\x07",
        "huffman-padding-of-8-bits": fields + name + b"\x82\x1f\xff",
        "huffman-padding-of-zeros": fields + name + b"\x81\x18",
        "huffman-eos": fields + name + b"\x84\xff\xff\xff\xff",
        "size-update-above-limit": h2.integer(2**20, 5, 0x20) + fields,
        "size-update-after-field": fields + b"\x20",
        "size-update-without-end": b"\x3f\x80",
    }


@pytest.mark.parametrize("name", invalid_blocks())
def test_invalid_header_block_ends_connection(client, name):
    # 4.3; HPACK 2.3.3, 4.2, 5.1, 5.2, 6.1, 6.3
    send_block(client, invalid_blocks()[name])
    client.expect_goaway("COMPRESSION_ERROR")


def test_invalid_block_of_trailers_ends_connection(client):
    # 4.3
    number = client.request("POST", "/trailer", body=b"abc", end=False)
    client.send(h2.headers(number, b"\x80"))
    client.expect_goaway("COMPRESSION_ERROR")


@pytest.mark.parametrize("size", [0, 100, 65536])
def test_header_table_size_of_client_is_respected(server, size):
    # HPACK 4.2: a smaller table than before is signalled at the start of the next block
    with Client(server.port) as client:
        assert client.get("/cookies").status == 200
        client.decoder.max_allowed_table_size = size
        client.send(h2.settings((h2.HEADER_TABLE_SIZE, size)))
        client.sync()
        for _ in range(3):
            assert client.get("/cookies").status == 200


def test_header_table_size_is_respected_by_trailers(server):
    # HPACK 4.2: the next block may be a trailer section
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 0), grants=False) as client:
        number = client.request("GET", "/trailers-out", ("te", "trailers"))
        client.sync()
        client.send(h2.settings((h2.HEADER_TABLE_SIZE, 0)))
        client.sync()
        client.decoder.max_allowed_table_size = 0
        client.grant(number, 100)
        assert ("x-sum", "42") in client.response(number).trailers


def test_header_list_larger_than_one_frame_in_response(client):
    # 6.10: CONTINUATION frames of the server
    response = client.get("/long-field?size=40000")
    assert len(response.get("x-long")) == 40000
