"""Request bodies: Content-Length and chunked coding, split over several reads, trailers,
100-continue, and bodies that no handler reads."""

import pytest
import raw


def fnv(data):
    """The response body of /digest for a request body."""
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xffffffff
    return b"%d %08x\n" % (len(data), value)


@pytest.mark.parametrize("size", [0, 1, 1000, 65535, 65536, 65537, 200000, 900000])
def test_body_with_content_length_arrives_whole(server, size):
    body = raw.pattern(size)
    with server.connect() as connection:
        assert connection.request("POST", "/echo", f"Content-Length: {size}",
                                  body=body).body == body
        assert connection.request().status == 200


@pytest.mark.parametrize("size", [1, 7, 1000, 65535, 65536, 65537, 200000, 900000])
def test_pitfall_chunk_larger_than_buffer_arrives_whole(server, size):
    # Guards against decoders that require a chunk to fit into their buffer.
    body = raw.pattern(size)
    with server.connect() as connection:
        coded = raw.chunked(body, raw.pattern(3, size))
        assert connection.request("POST", "/echo", "Transfer-Encoding: chunked",
                                  body=coded).body == body + raw.pattern(3, size)
        assert connection.request().status == 200


def test_one_byte_chunks_arrive_whole(server):
    body = raw.pattern(20000)
    coded = raw.chunked(*[body[i:i + 1] for i in range(len(body))])
    with server.connect() as connection:
        assert connection.request("POST", "/echo", "Transfer-Encoding: chunked",
                                  body=coded).body == body


@pytest.mark.http1
@pytest.mark.parametrize(
    "coded", [
        b"00000000003\r\nabc\r\n0000\r\n\r\n", b"3;name\r\nabc\r\n0\r\n\r\n",
        b"3;name=value\r\nabc\r\n0;last=1\r\n\r\n",
        b'3;name="quoted ; \\" value";b\r\nabc\r\n0\r\n\r\n',
        b"3 ; name = value\r\nabc\r\n0\r\n\r\n", b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
    ], ids=[
        "leading-zeros", "extension", "extensions", "quoted-extension", "spaces-in-extension",
        "two-chunks"
    ])
def test_chunk_size_variants_are_accepted(server, coded):
    with server.connect() as connection:
        assert connection.request("POST", "/echo", "Transfer-Encoding: chunked",
                                  body=coded).body == b"abc"
        assert connection.request().status == 200


@pytest.mark.http1
@pytest.mark.parametrize("digits", [b"a", b"A"])
def test_chunk_size_hex_digits_ignore_case(server, digits):
    with server.connect() as connection:
        coded = digits + b"\r\n0123456789\r\n0\r\n\r\n"
        assert connection.request("POST", "/echo", "Transfer-Encoding: chunked",
                                  body=coded).body == b"0123456789"


@pytest.mark.http1
@pytest.mark.parametrize("name", ["chunked", "Chunked", "CHUNKED", "chunked ", "\tchunked"])
def test_transfer_coding_name_ignores_case_and_whitespace(server, name):
    with server.connect() as connection:
        response = connection.request("POST", "/echo", f"Transfer-Encoding: {name}",
                                      body=raw.chunked(b"abc"))
        assert response.body == b"abc"


def test_pitfall_trailers_are_separate_from_header_fields(server):
    # Guards against rejecting trailers, and against merging them into the header fields.
    with server.connect() as connection:
        coded = raw.chunked(b"abc", trailers=["X-Check: behind", "X-Other: 1"])
        response = connection.request("POST", "/trailer", "Transfer-Encoding: chunked",
                                      "Trailer: X-Check", body=coded)
        assert response.body == b"header=- trailer=behind body=3\n"
        coded = raw.chunked(b"abc", trailers=["x-check: behind"])
        response = connection.request("POST", "/trailer", "Transfer-Encoding: chunked",
                                      "X-Check: before", body=coded)
        assert response.body == b"header=before trailer=behind body=3\n"
        assert connection.request("POST", "/trailer",
                                  body=b"abc").body == b"header=- trailer=- body=3\n"


def test_trailers_up_to_the_field_limit_are_accepted(server):
    with server.connect() as connection:
        coded = raw.chunked(b"abc", trailers=[f"X-{i}: {i}" for i in range(60)] + ["X-Check: last"])
        response = connection.request("POST", "/trailer", "Transfer-Encoding: chunked", body=coded)
        assert response.body == b"header=- trailer=last body=3\n"


def test_chunked_request_sent_byte_by_byte(server):
    data = raw.request(
        "POST", "/trailer", "Transfer-Encoding: chunked",
        body=raw.chunked(b"hello", b"world", trailers=["X-Check: yes"], extension=";a=b"))
    with server.connect() as connection:
        for i in range(len(data)):
            connection.send(data[i:i + 1])
            server.settle()
        assert connection.response().body == b"header=- trailer=yes body=10\n"


def test_chunked_body_split_at_every_byte(server):
    data = raw.request("POST", "/echo", "Transfer-Encoding: chunked",
                       body=raw.chunked(b"hello", b"big wide world"))
    with server.connect() as connection:
        for cut in range(data.index(b"\r\n\r\n") + 2, len(data)):
            connection.send(data[:cut])
            server.settle()
            connection.send(data[cut:])
            assert connection.response().body == b"hellobig wide world"


@pytest.mark.http1
@pytest.mark.parametrize("fields",
                         [["Content-Length: 5", "Content-Length: 5"], ["Content-Length: 5, 5"]])
def test_content_length_repeated_equal_is_merged_or_rejected(server, fields):
    # RFC 9112 6.3 allows both. In either case the body has exactly five bytes.
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", *fields, body=b"12345"))
        response = connection.response()
        if response.status == 200:
            assert response.body == b"12345"
            assert connection.request().status == 200
        else:
            assert response.status == 400 and response.has_close()
            connection.assert_closed()


@pytest.mark.parametrize("length", ["5", "05", "0000000000000000000000000000005"])
def test_content_length_with_leading_zeros(server, length):
    with server.connect() as connection:
        assert connection.request("POST", "/echo", f"Content-Length: {length}",
                                  body=b"12345").body == b"12345"
        assert connection.request().status == 200


def test_post_without_length_has_empty_body(server):
    with server.connect() as connection:
        assert connection.request("POST", "/echo").body == b""
        assert connection.request().status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
def test_body_of_get_delete_options_is_delivered(server, method):
    with server.connect() as connection:
        response = connection.request(method, "/inspect", body=raw.request("GET", "/guarded"))
        assert response.facts()["body"] == str(len(raw.request("GET", "/guarded")))
        assert connection.request().body == b"Hello, world\n"


def test_body_of_head_request_is_not_parsed_as_request(server):
    with server.connect() as connection:
        assert connection.request("HEAD", "/hello", body=raw.request("GET",
                                                                     "/guarded")).status == 200
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.parametrize("target,status", [("/none", 404), ("/hello", 405)])
@pytest.mark.parametrize("size", [10, 300000])
def test_body_without_route_is_discarded_or_connection_closed(server, target, status, size):
    with server.connect() as connection:
        connection.send(raw.request("POST", target, body=raw.pattern(size)))
        response = connection.response()
        assert response.status == status
        if response.has_close():
            connection.assert_closed()
        else:
            assert connection.request().body == b"Hello, world\n"


def test_body_of_rejected_request_is_not_parsed_as_request(server):
    before = server.stats()["guarded_runs"]
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/hello", "X-Refuse: yes", body=raw.request("GET", "/guarded")))
        assert connection.response().status == 403
        server.settle()
    assert server.stats()["guarded_runs"] == before


# ---- responses before the body ----

EARLY = {
    "no-route": ("/none", (), 404),
    "no-method": ("/hello", (), 405),
    "middleware": ("/echo", ("X-Refuse: yes", ), 403),
    "limit-of-route": ("/small-body", (), 413),
    "limit-of-streamed-route": ("/pieces-small", (), 413),
    "handler-of-streamed-route": ("/form-data", (), 415),
}
SKIPPED_MAX = 65536


def early_head(case, *fields, size):
    target, own, status = EARLY[case]
    return raw.request("POST", target, *own, *fields, f"Content-Length: {size}"), status


@pytest.mark.parametrize("case", EARLY)
@pytest.mark.parametrize("sent", [0, 1, 30])
def test_early_response_keeps_connection_open(server, case, sent):
    # The body looks like requests. It is neither parsed nor delivered.
    body = raw.request("GET", "/guarded") * 20
    before = server.stats()["guarded_runs"]
    head, status = early_head(case, size=len(body))
    with server.connect() as connection:
        for _ in range(3):
            connection.send(head + body[:sent])
            response = connection.response()
            assert response.status == status and not response.has_close()
            connection.send(body[sent:50])
            server.settle()
            connection.send(body[50:] + raw.request())
            assert connection.response().body == b"Hello, world\n"
    assert server.stats()["guarded_runs"] == before


@pytest.mark.parametrize("case", EARLY)
def test_early_response_and_body_that_has_arrived_keep_connection_open(server, case):
    head, status = early_head(case, size=100)
    with server.connect() as connection:
        connection.send(head + bytes(100) + raw.request())
        assert connection.response().status == status
        assert connection.response().body == b"Hello, world\n"


@pytest.mark.http1
@pytest.mark.parametrize("case", EARLY)
@pytest.mark.parametrize("over", [0, 1])
def test_early_response_limit_of_skipped_body(server, case, over):
    head, status = early_head(case, size=SKIPPED_MAX + over)
    with server.connect() as connection:
        connection.send(head)
        response = connection.response()
        assert (response.status, response.has_close()) == (status, over == 1)
        connection.send(bytes(SKIPPED_MAX + over))
        if over:
            connection.assert_closed()
        else:
            assert connection.request().body == b"Hello, world\n"


@pytest.mark.http1
@pytest.mark.parametrize("case", EARLY)
@pytest.mark.parametrize("fields", [("Transfer-Encoding: chunked", ),
                                    ("Expect: 100-continue", "Content-Length: 100")])
def test_early_response_to_body_that_may_not_end_closes(server, case, fields):
    # The client need not send a body after "Expect", and a chunked one has no known length.
    target, own, status = EARLY[case]
    if "chunked" in fields[0] and case.startswith("limit"):
        pytest.skip("its length is not known yet")
    with server.connect() as connection:
        connection.send(raw.request("POST", target, *own, *fields))
        response = connection.response()
        assert response.status == status and response.has_close()
        connection.assert_closed()


def test_early_response_after_deferred_decision_keeps_connection_open(server):
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", "X-Undecided: 1", "Content-Length: 100"))
        server.settle()
        server.request("GET", "/decide?refuse")
        response = connection.response()
        assert response.status == 401 and not response.has_close()
        connection.send(bytes(100) + raw.request())
        assert connection.response().body == b"Hello, world\n"


# ---- body limits ----


@pytest.mark.http1
def test_content_length_beyond_limit_gets_413(start):
    server = start(max_body_size=1000)
    with server.connect() as connection:
        assert connection.request("POST", "/echo", body=b"x" * 1000).status == 200
        connection.send(raw.request("POST", "/echo", "Content-Length: 1001"))
        response = connection.response()  # before the client sends any body byte
        assert response.status == 413 and not response.has_close()
        connection.send(b"x" * 1001)
        connection.send(raw.request("POST", "/echo", "Content-Length: 100000"))
        response = connection.response()
        assert response.status == 413 and response.has_close()
        connection.assert_closed()


@pytest.mark.http1
def test_chunked_body_beyond_limit_gets_413(start):
    server = start(max_body_size=1000)
    with server.connect() as connection:
        assert connection.request("POST", "/echo", "Transfer-Encoding: chunked",
                                  body=raw.chunked(b"x" * 1000)).status == 200
        connection.send(raw.request("POST", "/echo", "Transfer-Encoding: chunked"))
        for _ in range(10):
            connection.send(b"64\r\n" + b"y" * 100 + b"\r\n")
        server.settle()
        connection.assert_silent()
        connection.send(b"1\r\nz\r\n")
        response = connection.response()
        assert response.status == 413 and response.has_close()
        connection.assert_closed()


@pytest.mark.http1
def test_chunk_size_beyond_limit_gets_413_before_data(start):
    server = start(max_body_size=1000)
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/echo", "Transfer-Encoding: chunked") + b"7fffffffffffffff\r\nabc")
        response = connection.response()
        assert response.status == 413 and response.has_close()
        connection.assert_closed()


def test_body_limit_of_route_overrides_server_limit(server):
    with server.connect() as connection:
        assert connection.request("POST", "/small-body", body=b"x" * 16).status == 200
        connection.send(raw.request("POST", "/small-body", "Content-Length: 17"))
        assert connection.response().status == 413


@pytest.mark.http1
def test_huge_content_length_gets_413(server):
    for length in (1 << 31, 1 << 32, (1 << 63) - 1):
        with server.connect() as connection:
            connection.send(raw.request("POST", "/echo", f"Content-Length: {length}"))
            assert connection.response().status == 413
            connection.assert_closed()


def test_pitfall_content_length_reserves_no_memory(start):
    # Guards against allocating a buffer of the size in the client's Content-Length.
    server = start(max_body_size=500000000)
    server.settle()
    before = server.stats()["heap_live"]
    connections = [server.connect() for _ in range(40)]
    try:
        for connection in connections:
            connection.send(raw.request("POST", "/digest", "Content-Length: 400000000") + b"x")
        server.settle()
        used = server.stats()["heap_live"] - before
        assert used < len(
            connections) * 200000, f"{used} bytes of heap for {len(connections)} bytes of body"
    finally:
        for connection in connections:
            connection.reset()


# ---- Expect: 100-continue ----


def expect(size, target="/echo", *fields, **extra):
    return raw.request("POST", target, "Expect: 100-continue", f"Content-Length: {size}", *fields,
                       **extra)


@pytest.mark.parametrize("spelling", ["100-continue", "100-Continue", "100-CONTINUE"])
def test_expect_continue_gets_100_then_response(server, spelling):
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", f"Expect: {spelling}", "Content-Length: 5"))
        assert connection.head()[0] == 100
        connection.send(b"12345")
        response = connection.response()
        assert (response.status, response.body, response.interim) == (200, b"12345", [])
        assert connection.request().status == 200


def test_expect_continue_with_chunked_body_gets_100(server):
    with server.connect() as connection:
        connection.send(
            raw.request("POST", "/echo", "Expect: 100-continue", "Transfer-Encoding: chunked"))
        assert connection.head()[0] == 100
        connection.send(raw.chunked(b"abc", b"def"))
        assert connection.response().body == b"abcdef"


def test_expect_continue_with_immediate_body_gets_response(server):
    with server.connect() as connection:
        connection.send(expect(5) + b"12345" + raw.request())
        response = connection.response()
        assert response.body == b"12345" and response.interim in ([], [100])
        assert connection.response().body == b"Hello, world\n"


def test_expect_continue_sends_100_once(server):
    with server.connect() as connection:
        connection.send(expect(10))
        assert connection.head()[0] == 100
        for byte in b"0123456789":
            connection.send(bytes([byte]))
            server.settle()
        response = connection.response()
        assert response.body == b"0123456789" and response.interim == []


REJECTED = {
    "too-large": (expect(1 << 40), 413), "too-large-for-route": (expect(17, "/small-body"), 413),
    "no-route": (expect(5, "/none"), 404), "no-method": (expect(5, "/hello"), 405),
}


@pytest.mark.http1
def test_expect_continue_with_invalid_host_gets_final_status_only(server):
    with server.connect() as connection:
        connection.send(expect(5, "/echo", host="a b"))
        response = connection.response()
        assert response.status == 400 and response.interim == []


@pytest.mark.parametrize("data,status", REJECTED.values(), ids=REJECTED.keys())
def test_expect_continue_rejected_gets_final_status_only(server, data, status):
    with server.connect() as connection:
        connection.send(data)
        response = connection.response()
        assert response.status == status and response.interim == []


@pytest.mark.http1
def test_expect_continue_of_http_1_0_is_ignored(server):
    # A client of HTTP/1.0 does not understand a 100 response (RFC 9110 10.1.1).
    with server.connect() as connection:
        connection.send(expect(5, version="HTTP/1.0"))
        server.settle()
        connection.assert_silent()
        connection.send(b"12345")
        response = connection.response()
        assert response.body == b"12345" and response.interim == []


def test_expect_continue_without_body_gets_no_100(server):
    with server.connect() as connection:
        response = connection.request("GET", "/hello", "Expect: 100-continue")
        assert response.status == 200 and response.interim == []
        response = connection.request("POST", "/echo", "Expect: 100-continue", "Content-Length: 0")
        assert response.status == 200 and response.interim == []


def test_expect_continue_pipelined_gets_100_in_order(server):
    # A client would assign a 100 that is sent before the preceding response to the wrong request.
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/expect") + expect(5))
        server.wait_for_pending("expect")
        server.settle()
        connection.assert_silent()
        server.release("expect")
        first = connection.response()
        assert first.body == b"released\n" and first.interim == []
        assert connection.head()[0] == 100
        connection.send(b"12345")
        assert connection.response().body == b"12345"


def test_stats_count_interim_responses(server):
    before = server.stats()["responses_1xx"]
    with server.connect() as connection:
        connection.send(expect(5))
        assert connection.head()[0] == 100
        connection.send(b"12345")
        connection.response()
    assert server.stats()["responses_1xx"] == before + 1
