"""Dispatch of requests: methods, target forms, routes and parameters, HEAD, OPTIONS, 404, 405 and
501, middleware, failing handlers."""

import pytest
import raw

METHODS = [
    "GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "PROPPATCH", "MKCOL",
    "COPY", "MOVE", "LOCK", "UNLOCK"
]


@pytest.mark.parametrize("method", METHODS + ["HEAD"])
def test_pitfall_method_reaches_its_own_route(server, method):
    # Guards against two method tables that differ, so that POST reaches the route of PUT.
    response = server.request(method, "/by-method")
    assert response.status == 200
    assert response.get("X-Route-Method") == method
    assert response.get("X-Request-Method") == method


@pytest.mark.parametrize("method", ["BREW", "get", "GETX", "GE", "M-SEARCH", "X" * 60])
def test_unknown_method_gets_501(server, method):
    response = server.request(method, "/hello")
    assert response.status == 501


@pytest.mark.parametrize("method", ["BREW", "PATCH", "DELETE", "M-SEARCH"])
def test_any_method_route_accepts_every_token(server, method):
    assert server.request(method, "/any").body == method.encode()


def test_connect_gets_501(server):
    with server.connect() as connection:
        response = connection.request("CONNECT", "localhost:443", host="localhost:443")
        assert response.status == 501


# ---- 404, 405, OPTIONS, HEAD ----


def test_missing_route_gets_404_and_keep_alive(server):
    with server.connect() as connection:
        for target in ("/none", "/hello/", "/hell", "/helloo", "/HELLO", "/hello/x", "//hello",
                       "/users", "/users/"):
            response = connection.request("GET", target)
            assert response.status == 404, target
            assert not response.has_close()


def test_wrong_method_gets_405_with_allow(server):
    response = server.request("DELETE", "/hello")
    assert response.status == 405
    assert response.allow() == {"GET", "HEAD", "OPTIONS"}
    response = server.request("PATCH", "/get-put-delete")
    assert response.status == 405
    assert response.allow() == {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
    response = server.request("GET", "/post-only")
    assert response.status == 405
    assert response.allow() == {"POST", "OPTIONS"}


def test_405_includes_routes_with_parameters(server):
    response = server.request("POST", "/users/7/posts/8")
    assert response.status == 405 and "GET" in response.allow()


def test_options_lists_allowed_methods(server):
    with server.connect() as connection:
        response = connection.request("OPTIONS", "/get-put-delete")
        assert response.status in (200, 204)
        assert response.allow() == {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
        assert response.body == b""
        assert connection.request("OPTIONS", "/none").status == 404
        assert connection.request("OPTIONS", "/by-method").body == b"OPTIONS"


@pytest.mark.parametrize("target", [
    "/hello", "/none", "/users/7", "/large?size=100000", "/large?size=100000&how=copy", "/cookies",
    "/redirect", "/fail", "/status/200", "/status/404", "/status/503", "/long-field", "/post-only",
    "/defer"
])
def test_head_has_fields_of_get_without_body(server, target):
    with server.connect() as connection:
        get = connection.request("GET", target)
        connection.send(raw.request("HEAD", target) + raw.request())
        head = connection.response("HEAD")
        assert head.status == get.status
        drop = lambda fields: [field for field in fields if field[0] != "Date"]
        assert drop(head.fields) == drop(get.fields)
        assert connection.response().body == b"Hello, world\n"


def test_head_reaches_any_method_route(server):
    with server.connect() as connection:
        head = connection.request("HEAD", "/any")
        assert head.status == 200 and head.get("Content-Length") == "4"
        assert connection.request().status == 200


# ---- target forms and paths ----


@pytest.mark.http1
def test_absolute_form_reaches_route(server):
    response = server.request("GET", "http://example.org:81/inspect/a?b=c")
    facts = response.facts()
    assert (facts["target"], facts["path"],
            facts["query"]) == ("http://example.org:81/inspect/a?b=c", "/inspect/a", "b=c")


@pytest.mark.http1
@pytest.mark.parametrize("target,status", [("http://localhost/hello", 200),
                                           ("HTTP://LOCALHOST/hello", 200),
                                           ("http://localhost", 404), ("http://localhost?x", 404),
                                           ("http://[::1]:80/hello", 200)])
def test_absolute_form_variants(server, target, status):
    assert server.request("GET", target).status == status


@pytest.mark.http1
def test_absolute_form_without_host_gets_400(server):
    with server.connect() as connection:
        assert connection.request("GET", "http://localhost/hello", host=None).status == 400


def test_asterisk_form_is_for_options_only(server):
    with server.connect() as connection:
        response = connection.request("OPTIONS", "*")
        assert response.status in (200, 204) and response.body == b""
        assert connection.request().status == 200


@pytest.mark.parametrize("target,path,query", [("/inspect/a%20b", "/inspect/a b", ""),
                                               ("/inspect/%41%42?%41", "/inspect/AB", "%41"),
                                               ("/inspect/a%2Fb", "/inspect/a%2Fb", ""),
                                               ("/inspect/a%2fb", "/inspect/a%2fb", ""),
                                               ("/inspect/%2541", "/inspect/%41", ""),
                                               ("/inspect/a/./b/../c", "/inspect/a/c", ""),
                                               ("/x/../inspect/a", "/inspect/a", ""),
                                               ("/inspect/%2e%2E/inspect/a", "/inspect/a", ""),
                                               ("/inspect/a+b", "/inspect/a+b", ""),
                                               ("/inspect/a?b?c=/../d", "/inspect/a", "b?c=/../d"),
                                               ("/inspect/a;b=c", "/inspect/a;b=c", ""),
                                               ("/inspect/...", "/inspect/...", ""), ])
def test_path_is_decoded_once_and_normalized(server, target, path, query):
    facts = server.request("GET", target).facts()
    assert facts["path"].replace("%2f", "%2F") == path.replace("%2f", "%2F")
    assert facts["query"] == query
    assert facts["raw"] == target.split("?")[0]


def test_non_ascii_path_is_decoded(server):
    body = server.request("GET", "/inspect/%C3%A9").body
    assert b"path=/inspect/\xc3\xa9\n" in body


# ---- routes ----


@pytest.mark.parametrize("target,body",
                         [("/users/42", b"user id=[42]"), ("/users/me", b"me"),
                          ("/users/mee", b"user id=[mee]"), ("/users/me/settings", b"settings"),
                          ("/users/me/posts/7", b"post id=[me] post=[7]"),
                          ("/users/1/posts/2", b"post id=[1] post=[2]"),
                          ("/users/a%20b", b"user id=[a b]"), ("/users/a%2Fb", b"user id=[a/b]"),
                          ("/users/a%252fb", b"user id=[a%2fb]"),
                          ("/files/a/b/c.txt", b"file path=[a/b/c.txt] *=[a/b/c.txt]"),
                          ("/files/", b"file path=[] *=[]"), ("/glob/x/y", b"glob *=[x/y]"),
                          ("/glob/", b"glob *=[]"), ])
def test_pitfall_route_parameters_and_wildcards_match(server, target, body):
    # Guards against routers that match ":id" without storing its value, and that match "*" only
    # literally.
    response = server.request("GET", target)
    assert (response.status, response.body) == (200, body)


def test_pitfall_query_is_not_part_of_route_match(server):
    # Guards against /foo?x=1 not matching the route /foo.
    with server.connect() as connection:
        assert connection.request("GET", "/hello?x=1").status == 200
        assert connection.request("GET", "/hello?").status == 200
        assert connection.request("GET", "/hello?/users/1").status == 200
        assert connection.request("GET", "/users/7?id=8").body == b"user id=[7]"
        assert connection.request("GET", "/users?/7").status == 404


@pytest.mark.parametrize("target,body", [("/query?a=1&b=2", b"a=1 b=2"),
                                         ("/query?a=x%26b%3Dy", b"a=x&b=y b=(none)"),
                                         ("/query?a=1+2%2B3", b"a=1 2+3 b=(none)"),
                                         ("/query?b=&a", b"a= b="),
                                         ("/query?a=first&a=second", b"a=first b=(none)"),
                                         ("/query?%61=encoded", b"a=encoded b=(none)"),
                                         ("/query?&&a=1&&b==2", b"a=1 b==2"),
                                         ("/query?aa=1&ab=2", b"a=(none) b=(none)"),
                                         ("/query", b"a=(none) b=(none)"), ])
def test_pitfall_query_is_split_before_decoding(server, target, body):
    # Guards against an encoded & that becomes a separator.
    assert server.request("GET", target).body == body


def test_pitfall_thousand_routes_are_found(server):
    # Guards against a table of a hundred routes that drops the others without an error.
    with server.connect() as connection:
        for i in (0, 1, 99, 100, 101, 127, 128, 255, 256, 511, 999):
            assert connection.request("GET", f"/many/{i}/x").body == b"many %d id=[x]" % i
        assert connection.request("GET", "/many/1000/x").status == 404


def test_pitfall_duplicate_route_is_an_error(server):
    # Guards against a duplicate route that silently replaces the first one or is ignored.
    stats = server.stats()
    assert stats["duplicate_error"] == "UVHTTP_ECONFLICT"
    assert server.request().body == b"Hello, world\n"
    assert "/hello" in server.log()


def test_route_added_after_listen_is_an_error(server):
    assert server.stats()["frozen_error"] == "UVHTTP_EFROZEN"
    assert server.request("GET", "/too-late").status == 404


# ---- middleware and failing handlers ----


def test_pitfall_middleware_rejection_skips_handler(server):
    # Guards against running the handler after a middleware has rejected the request.
    before = server.stats()["guarded_runs"]
    with server.connect() as connection:
        assert connection.request("GET", "/guarded", "X-Refuse: yes").status == 403
        assert server.stats()["guarded_runs"] == before
        response = connection.request("GET", "/guarded")
        assert (response.status, response.body) == (200, b"seen by the guard")
        assert server.stats()["guarded_runs"] == before + 1


def test_middleware_runs_without_matching_route(server):
    before = server.stats()["seen_by_middleware"]
    with server.connect() as connection:
        assert connection.request("GET", "/none").status == 404
        assert connection.request("DELETE", "/hello").status == 405
        assert connection.request("GET", "/none", "X-Refuse: yes").status == 403
    # The request for /stats counts, too.
    assert server.stats()["seen_by_middleware"] == before + 4


def test_middleware_failure_gets_500_and_skips_handler(server):
    before = server.stats()["guarded_runs"]
    assert server.request("GET", "/guarded", "X-Middleware-Fails: yes").status == 500
    assert server.stats()["guarded_runs"] == before


def test_handler_error_gets_its_status_and_keep_alive(server):
    with server.connect() as connection:
        assert connection.request("GET", "/fail").status == 500
        assert connection.request("GET", "/out-of-memory").status == 503
        assert connection.request("GET", "/declined").status in (404, 500)
        assert connection.request("GET", "/defer?how=fail").status == 500
        assert connection.request().status == 200
    assert "UVHTTP_EINVAL" in server.log()


def test_second_response_is_rejected_and_not_sent(server):
    releases = server.stats()["releases"]
    with server.connect() as connection:
        assert connection.request("GET", "/answer-twice").body == b"first\n"
        assert connection.request().body == b"Hello, world\n"
    stats = server.stats()
    assert stats["last_error"] == "UVHTTP_ERESPONDED"
    # The borrowed data of the second response is released all the same.
    assert stats["releases"] == releases + 1


def test_handler_error_after_response_sends_nothing(server):
    with server.connect() as connection:
        assert connection.request("GET", "/answer-and-fail").body == b"answered\n"
        assert connection.request().body == b"Hello, world\n"


@pytest.mark.http1
def test_unsupported_upgrade_is_ignored(server):
    with server.connect() as connection:
        response = connection.request("GET", "/hello", "Connection: Upgrade, HTTP2-Settings",
                                      "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
        assert response.status == 200 and response.body == b"Hello, world\n"
        response = connection.request("GET", "/hello", "Connection: Upgrade", "Upgrade: websocket",
                                      "Sec-WebSocket-Version: 13",
                                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        assert response.status == 200
        response = connection.request("POST", "/echo", "Connection: Upgrade", "Upgrade: h2c",
                                      body=b"abc")
        assert response.body == b"abc"
        assert connection.request().status == 200


# ---- the request as the handler sees it ----


@pytest.mark.http1
def test_pitfall_repeated_fields_keep_wire_order(server):
    # Guards against a map in which the last field of a name replaces the others.
    response = server.request("GET", "/inspect", "X-A: 1", "x-b:  2 ", "X-A: 3", "X-Empty:",
                              "X-A:4")
    assert response.seen_fields() == [("Host", "localhost"), ("X-A", "1"), ("x-b", "2"),
                                      ("X-A", "3"), ("X-Empty", ""), ("X-A", "4")]


@pytest.mark.http1
def test_request_reports_address_version_and_method(server):
    facts = server.request("GET", "/inspect").facts()
    assert (facts["address"], facts["minor"], facts["method"]) == ("127.0.0.1", "1", "GET")
    assert server.request("GET", "/inspect", version="HTTP/1.0").facts()["minor"] == "0"


def test_request_slices_are_nul_terminated(server):
    # The requests are pipelined, so that other bytes follow each slice in the buffer.
    posted = raw.request("POST", "/inspect/a%20b?c=d", "X-A: 1", "X-Empty:", "X-B:2  ",
                         body=b"body")
    chunks = raw.request("POST", "/inspect?x", "Transfer-Encoding: chunked",
                         body=raw.chunked(b"abc", b"def"))
    with server.connect() as connection:
        connection.send((posted + chunks + raw.request("GET", "/inspect")) * 20)
        for _ in range(60):
            assert connection.response().facts()["terminated"] == "yes"


@pytest.mark.http1
def test_higher_minor_version_is_handled_as_1_1(server):
    # RFC 9110 2.5: the server handles it as the highest minor version that it supports.
    with server.connect() as connection:
        assert connection.request("GET", "/hello", version="HTTP/1.2").status == 200
        assert connection.request("GET", "/hello", version="HTTP/1.9").status == 200


@pytest.mark.http1
def test_field_value_keeps_non_ascii_bytes(server):
    response = server.request("GET", "/inspect", "X-Name: caf\xe9 \xff")
    assert ("X-Name", "caf\xe9 \xff") in response.seen_fields()


@pytest.mark.http1
@pytest.mark.parametrize("head", [
    b"\r\nGET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n\r\nGET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
], ids=["one", "two"])
def test_empty_lines_before_request_are_skipped(server, head):
    # Old clients send an empty line after a body (RFC 9112 2.2).
    with server.connect() as connection:
        connection.send(head)
        assert connection.response().status == 200
        connection.send(raw.request("POST", "/echo", body=b"abc") + head)
        assert connection.response().body == b"abc"
        assert connection.response().status == 200


@pytest.mark.http1
def test_empty_lines_count_is_limited(start):
    server = start(max_header_size=4096)
    with server.connect() as connection:
        connection.send(b"\r\n" * 100000)
        response = connection.response()
        assert response.status in (400, 431)
        connection.assert_closed()


# ---- heads split over several reads ----

BROWSER_HEAD = raw.request("GET", "/users/7?a=b", "User-Agent: Test/1.0",
                           "Accept: text/html,*/*;q=0.8", "X-Empty:", "Connection: keep-alive")


def test_pitfall_head_split_at_every_byte(server):
    # Guards against a head that is lost, or closes the connection, when it arrives in two reads.
    with server.connect() as connection:
        for cut in range(1, len(BROWSER_HEAD)):
            connection.send(BROWSER_HEAD[:cut])
            server.settle()
            connection.send(BROWSER_HEAD[cut:])
            assert connection.response().body == b"user id=[7]"


def test_head_sent_byte_by_byte(server):
    with server.connect() as connection:
        for i in range(len(BROWSER_HEAD)):
            connection.send(BROWSER_HEAD[i:i + 1])
            server.settle()
        assert connection.response().body == b"user id=[7]"


@pytest.mark.http1
def test_head_with_many_fields_split_anywhere(server):
    # More fields than the parser allocates initially.
    fields = [f"X-{i}: {i}" for i in range(70)]
    head = raw.request("GET", "/inspect", *fields)
    with server.connect() as connection:
        for cut in range(1, len(head), 7):
            connection.send(head[:cut])
            server.settle()
            connection.send(head[cut:] + head[:30])
            server.settle()
            connection.send(head[30:])
            for _ in range(2):
                assert connection.response().seen_fields()[1:] == [(f"X-{i}", str(i))
                                                                   for i in range(70)]


def test_partial_heads_of_connections_are_separate(server):
    connections = [server.connect() for _ in range(60)]
    try:
        heads = [
            raw.request("GET", f"/users/{i}", f"X-Filler: {'f' * (i * 50)}")
            for i in range(len(connections))
        ]
        for part in range(4):
            for connection, head in zip(connections, heads):
                connection.send(head[len(head) * part // 4:len(head) * (part + 1) // 4])
            server.settle()
        for i, connection in enumerate(connections):
            assert connection.response().body == b"user id=[%d]" % i
    finally:
        for connection in connections:
            connection.close()
