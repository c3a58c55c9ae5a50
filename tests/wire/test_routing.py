"""Routing beyond methods and paths: hosts, groups, the order of middleware, trailing slashes,
encoded slashes."""

import subprocess

import httpx
import pytest

from program import clean_environment

HOST = "routing.test"


def fetch(server, target, *fields, method="GET", host=HOST, **extra):
    with server.connect() as connection:
        return connection.request(method, target, *fields, host=host, **extra)


# ---- hosts ----


@pytest.mark.parametrize("host, body", [("routing.test", b"exact"), ("ROUTING.Test", b"exact"),
                                        ("routing.test:8080", b"exact"),
                                        ("routing.test.", b"exact"), ("routing.test.:80", b"exact"),
                                        ("www.routing.test", b"any"), ("a.b.routing.test", b"any"),
                                        ("deep.routing.test", b"any"),
                                        ("a.deep.routing.test", b"deep"),
                                        ("a.b.Deep.routing.test:1", b"deep")])
def test_host_selects_routes(server, host, body):
    assert fetch(server, "/", host=host).body.split(b" ")[0] == body


@pytest.mark.parametrize(
    "host",
    ["localhost", "xrouting.test", "test", "routing.test.example", "127.0.0.1", "[::1]:80", ""])
def test_other_hosts_get_default_routes(server, host):
    assert fetch(server, "/hello", host=host).body == b"Hello, world\n"
    assert fetch(server, "/value/1", host=host).status == 404


def test_host_has_its_own_404_and_405(server):
    assert fetch(server, "/hello").status == 404
    rejected = fetch(server, "/value/1", method="DELETE")
    assert rejected.status == 405 and rejected.allow() == {"GET", "HEAD", "OPTIONS"}
    assert fetch(server, "/plain", method="OPTIONS").allow() == {"GET", "HEAD", "POST", "OPTIONS"}
    everything = fetch(server, "*", method="OPTIONS")
    assert everything.allow() == {"GET", "HEAD", "POST", "OPTIONS"}
    assert fetch(server, "/", method="POST", host="www.routing.test").status == 405


def test_host_of_absolute_target_is_used(server):
    assert fetch(server, "http://routing.test/", host="localhost").body.startswith(b"exact")
    assert fetch(server, "http://localhost/hello", host=HOST).body == b"Hello, world\n"


@pytest.mark.http1
def test_http_1_0_without_host_gets_default_routes(server):
    with server.connect() as connection:
        connection.send(b"GET /hello HTTP/1.0\r\n\r\n")
        assert connection.response().body == b"Hello, world\n"


def test_hosts_alternate_on_one_connection(server):
    with server.connect() as connection:
        for host, body in ((HOST, b"exact"), ("x.routing.test", b"any"), ("localhost", None),
                           (HOST, b"exact")):
            response = connection.request("GET", "/", host=host)
            assert response.status == 404 if body is None else response.body.startswith(body)


@pytest.mark.plain
def test_hosts_with_real_clients(server):
    with httpx.Client(trust_env=False) as client:
        response = client.get(f"http://127.0.0.1:{server.port}/value/a%2Fb",
                              headers={"Host": "Routing.test"})
        assert response.text == "value value=[a/b] path=[a%2Fb]"
        moved = client.get(f"http://127.0.0.1:{server.port}/redirect/plain/?a=b",
                           headers={"Host": HOST}, follow_redirects=True)
        assert [one.status_code
                for one in moved.history] == [308] and moved.text.startswith("plain")
    curl = [
        "curl", "-sS", "--max-time", "60", "--resolve", f"{HOST}:{server.port}:127.0.0.1", "-L",
        "-d", "x=y"
    ]
    done = subprocess.run([*curl, f"http://{HOST}:{server.port}/redirect/plain/?q"],
                          capture_output=True, text=True, env=clean_environment({"no_proxy": "*"}))
    assert done.stdout.startswith("plain")


# ---- middleware ----


def seen(response):
    return response.all("X-Seen-By")


def test_middleware_runs_from_outermost_to_innermost(server):
    assert seen(fetch(server, "/")) == ["exact"]
    assert seen(fetch(server, "/outer")) == ["exact", "outer", "late"]
    assert seen(fetch(server, "/outer/x/plain")) == ["exact", "outer", "late", "inner"]
    own = fetch(server, "/outer/x/own")
    assert seen(own) == ["exact", "outer", "late", "inner", "own", "own too"]
    assert own.body == b"own value=[x] path=[x]"


def test_middleware_without_route_runs_for_host_only(server):
    for method, target, status in (("GET", "/outer/x/none", 404), ("PUT", "/outer/x/plain", 405),
                                   ("GET", "/none", 404)):
        response = fetch(server, target, method=method)
        assert (response.status, seen(response)) == (status, ["exact"])
    assert seen(fetch(server, "/none", host="www.routing.test")) == []


def test_server_middleware_runs_before_host_middleware(server):
    rejected = fetch(server, "/outer", "X-Refuse: yes")
    assert rejected.status == 403 and seen(rejected) == []


def test_pitfall_group_middleware_rejection_skips_handler(server):
    # Guards against running the handler after a middleware has rejected the request.
    assert fetch(server, "/guarded/run", "X-Key: k").body == b"run 1"
    for _ in range(3):
        rejected = fetch(server, "/guarded/run")
        assert (rejected.status, rejected.body) == (403, b"refused")
    assert fetch(server, "/guarded/run", "X-Key: k").body == b"run 2"


# ---- the trailing slash ----


def test_strict_slash_matches_exactly(server):
    for target in ("/strict/plain/", "/strict/slash", "/strict/rest"):
        assert fetch(server, target).status == 404
    assert fetch(server, "/strict/plain").status == fetch(server, "/strict/slash/").status == 200


@pytest.mark.parametrize("target, location",
                         [("/redirect/plain/", "/redirect/plain"),
                          ("/redirect/slash", "/redirect/slash/"),
                          ("/redirect/rest", "/redirect/rest/"),
                          ("/redirect/plain/?a=b&c=%2F+/?", "/redirect/plain?a=b&c=%2F+/?"),
                          ("/redirect/slash?", "/redirect/slash/?"),
                          ("/redirect/%70lain/", "/redirect/%70lain"),
                          ("/x/../redirect/./plain/", "/x/../redirect/./plain"),
                          ("http://routing.test/redirect/plain/?q", "/redirect/plain?q"),
                          ("/plain/", "/plain")])
def test_slash_redirect_keeps_path_and_query(server, target, location):
    response = fetch(server, target)
    assert (response.status, response.get("Location")) == (308, location)
    assert seen(response) == ["exact"]


def test_slash_redirect_follows_method(server):
    assert fetch(server, "/redirect/plain/", method="POST", body=b"x").status == 308
    assert fetch(server, "/redirect/plain/", method="HEAD").status == 308
    assert fetch(server, "/redirect/plain/", method="PUT").status == 404
    assert fetch(server, "/redirect/slash", method="POST").status == 404


@pytest.mark.parametrize("target", [
    "//routing.test/redirect/plain/", "//evil.example", "//evil.example/", "//plain/", "///plain/",
    "/\\plain/", "/%2Fplain/", "/%5Cplain/", "//plain", "/.//plain/", "/redirect/plain/.",
    "/redirect/plain/x/..", "/redirect/plain//", "/redirect/plain/%2F"
])
def test_slash_redirect_stays_on_this_server(server, target):
    with server.connect() as connection:
        connection.send(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        response = connection.response()
    location = response.get("Location")
    assert location is None or (location[0] == "/" and location[1] not in "/\\"), location


def test_slash_ignore_serves_both_forms(server):
    assert fetch(server, "/ignore/plain/").body.startswith(b"plain")
    assert fetch(server, "/ignore/slash").body.startswith(b"slash")
    assert fetch(server, "/ignore/rest").body == b"rest value=[] path=[]"
    assert fetch(server, "/ignore/rest/a/").body == b"rest value=[a/] path=[a/]"
    rejected = fetch(server, "/ignore/plain/", method="PUT")
    assert rejected.status == 405 and rejected.allow() == {"GET", "HEAD", "POST", "OPTIONS"}
    assert fetch(server, "/ignore/plain//").status == 404


# ---- encoded slashes ----


@pytest.mark.parametrize("sent, value, path", [("a%2Fb", "a/b", "a%2Fb"), ("a%2fb", "a/b", "a%2fb"),
                                               ("%252F", "%2F", "%252F"),
                                               ("%25%32%46", "%2F", "%252F"),
                                               ("%25252f", "%252f", "%25252f"),
                                               ("%2541", "%41", "%41"), ("100%25", "100%", "100%"),
                                               ("%2F", "/", "%2F"), ("..%2F..", "../..", "..%2F.."),
                                               ("a+b", "a+b", "a+b")])
def test_encoded_slash_belongs_to_segment(server, sent, value, path):
    expected = f"value value=[{value}] path=[{path}]".encode()
    assert fetch(server, f"/value/{sent}").body == expected
    assert fetch(server, f"/value/{sent}/end").body == expected
    assert fetch(server, f"/value/{sent}?x=%2F").body == expected


def test_encoded_slash_is_no_separator(server):
    assert fetch(server, "/value%2F1").status == 404
    assert fetch(server, "/value/1%2Fend").body == b"value value=[1/end] path=[1%2Fend]"
    assert fetch(server, "/strict/rest/a%2Fb/c").body == b"rest value=[a/b/c] path=[a%2Fb/c]"
    assert fetch(server, "/%2Fvalue/1").status == 404


# ---- preflights ----


def test_preflight_runs_middleware_of_requested_route(server):
    def seen(target, *fields, method="OPTIONS"):
        response = fetch(server, target, *fields, method=method)
        return response.status, response.all("X-Seen-By")

    requested_method = "Access-Control-Request-Method: "
    assert seen("/outer/1/own",
                requested_method + "GET") == (204,
                                              ["exact", "outer", "late", "inner", "own", "own too"])
    assert seen("/outer/1/own", requested_method + "HEAD") == seen("/outer/1/own",
                                                                   requested_method + "GET")
    for fields in ([], [requested_method + "PUT"], [requested_method + "get"], [requested_method],
                   [requested_method + "OPTIONS"]):
        assert seen("/outer/1/own", *fields) == (204, ["exact"])
    assert seen("/outer/1/none", requested_method + "GET") == (404, ["exact"])
    assert seen("/outer/1/own", requested_method + "GET", method="DELETE") == (405, ["exact"])
