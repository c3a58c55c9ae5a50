"""The shipped middleware: CORS, authentication, request ids, security headers, rules by address;
with real clients."""

import asyncio
import base64
import json
import re
import subprocess

import aiohttp
import httpx
import pytest

import raw
from program import clean_environment

APP = "https://app.example"


def fetch(server, target, *fields, method="GET", host, **extra):
    with server.connect() as connection:
        return connection.request(method, target, *fields, host=host, **extra)


def runs(server):
    return int(fetch(server, "/", host="runs.test").body)


def names(value):
    return [name.strip().lower() for name in (value or "").split(",") if name.strip()]


def vary(response):
    return sorted(name for value in response.all("Vary") for name in names(value))


def curl(server, target, *arguments, host):
    done = subprocess.run([
        "curl", "-sS", "--max-time", "60", "--resolve", f"{host}:{server.port}:127.0.0.1",
        *arguments, f"http://{host}:{server.port}{target}"
    ], capture_output=True, env=clean_environment({"no_proxy": "*"}))
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- a rejection ends the chain (docs/pitfalls.md, "Routing and handlers") ----


@pytest.mark.parametrize(
    "host, fields, status",
    [("table.auth.test", [], 401),
     ("table.auth.test", ["Authorization: Basic " + base64.b64encode(b"ada:wrong").decode()], 401),
     ("basic.auth.test", ["Authorization: Basic " + base64.b64encode(b"later-no:x").decode()], 401),
     ("basic.auth.test", ["Authorization: Basic " + base64.b64encode(b"fail:x").decode()], 503),
     ("basic.auth.test", ["Authorization: Basic " + base64.b64encode(b"silly:x").decode()], 500),
     ("bearer.auth.test", ["Authorization: Bearer weak"], 403),
     ("bearer.auth.test", ["Authorization: Bearer later-weak"], 403),
     ("bearer.auth.test", ["Authorization: Bearer no spaces"], 400),
     ("refused.rules.test", [], 403), ("nobody.rules.test", [], 403), ])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_middleware_rejection_skips_handler(server, host, fields, status, method):
    before = runs(server)
    response = fetch(server, "/who", *fields, method=method, host=host,
                     body=b"x" if method == "PUT" else b"")
    assert response.status == status and b"run=" not in response.body
    assert runs(server) == before
    # A path without a route gets the same rejection, so that it does not reveal which routes exist.
    assert fetch(server, "/nowhere", *fields, method=method, host=host).status == status


def test_preflight_skips_handler(server):
    before = runs(server)
    for host in ("cors.test", "any.cors.test"):
        for target in ("/who", "/options"):
            response = fetch(server, target, f"Origin: {APP}", "Access-Control-Request-Method: GET",
                             method="OPTIONS", host=host)
            assert (response.status, response.body) == (204, b"")
    assert runs(server) == before


def test_rejection_sends_no_100_continue(server):
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", "/who", "Content-Length: 1000000", "Expect: 100-continue",
                        host="table.auth.test"))
        response = connection.response()
        assert response.status == 401 and response.interim == []


# ---- CORS ----


def preflight(server, target="/who", origin=APP, method="PUT", fields=(), host="cors.test"):
    return fetch(server, target, *([f"Origin: {origin}"] if origin else []),
                 f"Access-Control-Request-Method: {method}", *fields, method="OPTIONS", host=host)


def cors_fields(response):
    return {
        name.lower(): value
        for name, value in response.fields
        if name.lower().startswith("access-control-")
    }


def test_preflight_gets_cors_fields(server):
    response = preflight(server, fields=["Access-Control-Request-Headers: x-token"])
    assert response.status == 204 and vary(response) == ["origin"]
    assert cors_fields(response) == {
        "access-control-allow-origin": APP, "access-control-allow-credentials": "true",
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": "Content-Type, X-Token", "access-control-max-age": "600"
    }


@pytest.mark.parametrize("target", ["/who", "/options", "/nowhere", "/own"])
def test_preflight_works_on_every_path(server, target):
    assert preflight(server, target).status == 204


def test_cors_request_gets_fields(server):
    response = fetch(server, "/who", f"Origin: {APP}", host="cors.test")
    assert response.status == 200 and vary(response) == ["origin"]
    assert cors_fields(response) == {
        "access-control-allow-origin": APP, "access-control-allow-credentials": "true",
        "access-control-expose-headers": "X-Total, ETag"
    }


ALLOWED = [
    APP, "http://localhost:3000", "https://a.sub.example:8443", "https://a.b-c.sub.example:8443"
]
REJECTED = [
    "https://app.example.", "http://app.example", "https://app.example:443",
    "https://app.example:8443", "https://APP.example", "https://app.example.evil.test",
    "https://evil-app.example", "https://xapp.example", "https://app.exampl", "null", "", "*",
    "https://sub.example:8443", "https://.sub.example:8443", "https://a.sub.example",
    "https://a.sub.example:84433", "http://a.sub.example:8443",
    "https://evil.test/.sub.example:8443", "https://evil.test:1@a.sub.example:8443",
    "https://evil.test#.sub.example:8443", "https://xsub.example:8443", "http://localhost:3001",
    f"{APP} {APP}", f"{APP}, {APP}"
]


@pytest.mark.parametrize("origin", ALLOWED)
def test_cors_allowed_origins(server, origin):
    for response in (fetch(server, "/who", f"Origin: {origin}",
                           host="cors.test"), preflight(server, origin=origin)):
        assert response.status in (200,
                                   204) and response.get("Access-Control-Allow-Origin") == origin
        assert vary(response) == ["origin"]


@pytest.mark.parametrize("origin", REJECTED)
def test_cors_rejected_origins(server, origin):
    actual = fetch(server, "/who", f"Origin: {origin}", host="cors.test")
    rejected = preflight(server, origin=origin) if origin else actual
    assert actual.status == 200 and rejected.status == (403 if origin else 200)
    for response in (actual, rejected):
        assert cors_fields(response) == {} and vary(response) == ["origin"]


@pytest.mark.parametrize("target, method, status",
                         [("/nowhere", "GET", 404), ("/options", "PATCH", 405),
                          ("/fail", "GET", 500), ("/who", "POST", 413),
                          ("/file?path=/etc/passwd", "GET", 200), ("/pieces?size=10", "GET", 200),
                          ("/who", "HEAD", 200), ("/who", "OPTIONS", 204)])
def test_cors_fields_on_errors_and_files(server, target, method, status):
    body = b"x" * 100 if method == "POST" else b""
    response = fetch(server, target, f"Origin: {APP}", method=method, host="cors.test", body=body)
    assert response.status == status or (target.startswith("/pieces") and response.status < 500)
    assert response.get("Access-Control-Allow-Origin") == APP and vary(response) == ["origin"]
    without = fetch(server, target, method=method, host="cors.test", body=body)
    assert cors_fields(without) == {} and vary(without) == ["origin"]


def test_cors_keeps_fields_of_handler(server):
    response = fetch(server, "/own", f"Origin: {APP}", host="cors.test")
    assert response.get("Access-Control-Allow-Origin") == "https://other.example"
    assert vary(response) == ["accept-encoding", "origin"]


def test_cors_any_origin_without_credentials(server):
    for fields in ([], ["Origin: https://who.ever"], ["Origin: null"]):
        response = fetch(server, "/who", *fields, host="any.cors.test")
        assert cors_fields(response) == {
            "access-control-allow-origin": "*", "access-control-expose-headers": "*"
        }
        assert vary(response) == []
    response = preflight(server, origin="https://who.ever", host="any.cors.test",
                         fields=["Access-Control-Request-Headers: a"])
    assert cors_fields(response) == {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE"
    }


def test_cors_innermost_configuration_applies(server):
    response = fetch(server, "/closed/who", f"Origin: {APP}", host="any.cors.test")
    assert cors_fields(response) == {
        "access-control-allow-origin": APP, "access-control-allow-credentials": "true"
    }
    for target in ("/closed/who", "/closed/fail"):
        response = fetch(server, target, "Origin: https://who.ever", host="any.cors.test")
        assert cors_fields(response) == {} and vary(response) == ["origin"]
    assert cors_fields(
        preflight(server, "/closed/who", origin="https://who.ever", host="any.cors.test")) == {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE"
        }


def test_cors_origin_callback(server):
    assert fetch(server, "/who", "Origin: https://x.test",
                 host="ask.cors.test").get("Access-Control-Allow-Origin") == "https://x.test"
    for fields in (["Origin: https://x.example"], ["Origin: https://x.test", "X-Nobody: 1"]):
        response = fetch(server, "/who", *fields, host="ask.cors.test")
        assert cors_fields(response) == {} and vary(response) == ["origin"]
    response = fetch(server, "/who", "Origin: null", host="ask.cors.test")
    assert cors_fields(response) == {"access-control-allow-origin": "null"}


@pytest.mark.parametrize("requested, allowed", [("x-one, x-two", "x-one, x-two"),
                                                ("authorization", "authorization"), ("", None),
                                                ("x one", None), ("x\"", None)])
def test_cors_allowed_headers(server, requested, allowed):
    response = preflight(server, host="ask.cors.test", origin="null",
                         fields=[f"Access-Control-Request-Headers: {requested}"])
    assert response.get("Access-Control-Allow-Headers") == allowed and response.get(
        "Access-Control-Allow-Methods") == "GET"
    assert vary(response) == ["access-control-request-headers", "origin"]


@pytest.mark.parametrize("target, method, status", [("/group/a/who", "PUT", 204),
                                                    ("/group/a/who", "HEAD", 204),
                                                    ("/group/a/options", "OPTIONS", 204),
                                                    ("/mixed", "PUT", 204)])
def test_preflight_runs_middleware_of_requested_route(server, target, method, status):
    response = preflight(server, target, method=method, host="group.cors.test",
                         fields=["Access-Control-Request-Headers: x-a"])
    assert response.status == status and vary(response) == [
        "access-control-request-headers", "access-control-request-method", "origin"
    ]
    assert cors_fields(response) == {
        "access-control-allow-origin": APP, "access-control-allow-credentials": "true",
        "access-control-allow-methods": method, "access-control-allow-headers": "x-a"
    }


@pytest.mark.parametrize("target, method, status", [("/mixed", "GET", 204),
                                                    ("/mixed", "DELETE", 204),
                                                    ("/group/a/who", "DELETE", 204),
                                                    ("/group/a/none", "GET", 404),
                                                    ("/none", "GET", 404)])
def test_preflight_without_cors_gets_no_fields(server, target, method, status):
    response = preflight(server, target, method=method, host="group.cors.test")
    assert response.status == status and cors_fields(response) == {}


def test_options_without_preflight_fields_passes(server):
    response = fetch(server, "/who", f"Origin: {APP}", method="OPTIONS", host="cors.test")
    assert response.status == 204 and response.allow() == {"GET", "HEAD", "OPTIONS", "POST", "PUT"}
    assert fetch(server, "/options", f"Origin: {APP}", method="OPTIONS",
                 host="cors.test").body.startswith(b"run=")
    without_origin = preflight(server, "/options", origin=None)
    assert without_origin.body.startswith(b"run=") and cors_fields(without_origin) == {}


@pytest.mark.plain
def test_cors_with_curl_and_httpx(server):
    head = curl(server, "/who", "-i", "-X", "OPTIONS", "-H", f"Origin: {APP}", "-H",
                "Access-Control-Request-Method: PUT", host="cors.test")
    assert b"\r\nAccess-Control-Allow-Origin: https://app.example\r\n" in head
    with httpx.Client(trust_env=False) as client:
        response = client.get(f"http://127.0.0.1:{server.port}/who",
                              headers={"Host": "cors.test", "Origin": APP})
        assert response.headers["access-control-allow-origin"] == APP and response.headers[
            "vary"] == "Origin"


# ---- authentication ----


def basic(user, password):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


CHALLENGE = 'Basic realm="a \\"quoted\\" \\\\ realm", charset="UTF-8"'


def user_of(response):
    return re.search(rb"user=(.*) id=", response.body)[1].decode()


@pytest.mark.parametrize("user, password", [("ada", "pa:ss w\u00f6rd"), ("J\u00fcrgen", "geheim"),
                                            ("", "nameless")])
def test_basic_accepts_user_of_table(server, user, password):
    response = fetch(server, "/who", basic(user, password), host="table.auth.test")
    assert response.status == 200 and user_of(response) == user
    assert response.get("WWW-Authenticate") is None


@pytest.mark.parametrize("field", [
    None,
    basic("ada", "pa"),
    basic("ada", "pa:ss w\u00f6rd "),
    basic("Ada", "pa:ss w\u00f6rd"),
    basic("ada", ""),
    basic("ada", "geheim"),
    basic("", ""),
    basic("", "geheim"),
    basic("x", "nameless"), "Authorization: Basic", "Authorization: Basic ", "Authorization:",
    "Authorization: Basic " + base64.b64encode(b"ada").decode(),
    "Authorization: Basic " + base64.b64encode(b"ada:pa\x00:ss").decode(), "Authorization: Basic " +
    base64.b64encode("ada:pa:ss w\u00f6rd".encode("latin-1")).decode(), "Authorization: Basic ####",
    basic("J\u00fcrgen", "geheim").rstrip("="),
    basic("ada", "pa:ss w\u00f6rd") + "x",
    basic("ada", "pa:ss w\u00f6rd") + ",",
    basic("ada", "pa:ss w\u00f6rd").replace(
        "Basic ", "Basic"), "Authorization: Bearer yes", "Authorization: Digest username=ada"
])
def test_basic_rejects_other_credentials(server, field):
    response = fetch(server, "/who", *([field] if field is not None else []),
                     host="table.auth.test")
    assert response.status == 401 and response.get("WWW-Authenticate") == CHALLENGE


def test_auth_scheme_ignores_case(server):
    for scheme in ("basic", "BASIC", "Basic  "):
        assert fetch(server, "/who",
                     basic("ada", "pa:ss w\u00f6rd").replace("Basic", scheme),
                     host="table.auth.test").status == 200


def test_repeated_authorization_is_rejected(server):
    good = basic("ada", "pa:ss w\u00f6rd")
    response = fetch(server, "/who", good, basic("x", "y"), host="table.auth.test")
    assert response.status == 400 and response.get("WWW-Authenticate") is None
    assert fetch(server, "/who", "Authorization: Bearer yes", "authorization: Bearer no",
                 host="bearer.auth.test").status == 400


@pytest.mark.parametrize("later", ["", "later-"])
def test_basic_check_decides_at_once_or_deferred(server, later):
    with server.connect() as connection:
        for name, status in (("yes", 200), ("no", 401), ("weak", 403), ("yes", 200)):
            response = connection.request("GET", "/who", basic(later + name, "x"),
                                          host="basic.auth.test")
            assert response.status == status
            assert response.get("WWW-Authenticate") == ('Basic realm="restricted", charset="UTF-8"'
                                                        if status == 401 else None)
            if status == 200:
                assert user_of(response) == later + name


def test_basic_deferred_decision_keeps_body(server):
    with server.connect() as connection:
        for _ in range(3):
            response = connection.request("POST", "/who", basic("later-yes", "x"),
                                          host="basic.auth.test", body=b"0123456789")
            assert response.status == 200
        connection.send(
            raw.request("POST", "/who", basic("later-yes", "x"), "Content-Length: 3",
                        "Expect: 100-continue", host="basic.auth.test"))
        assert connection.head()[0] == 100
        connection.send(b"abc")
        assert connection.response().status == 200


def test_bearer_accepts_and_rejects_tokens(server):
    with server.connect() as connection:

        def get(*fields):
            return connection.request("GET", "/who", *fields, host="bearer.auth.test")

        assert user_of(get("Authorization: Bearer yes.-_~+/9==")) == "yes.-_~+/9=="
        assert user_of(get("authorization: bearer later-yes")) == "later-yes"
        scope = ', scope="read write"'
        for fields, status, error in (([], 401, ""), (["Authorization: Bearer no"], 401,
                                                      ', error="invalid_token"'),
                                      (["Authorization: Bearer later-no"], 401,
                                       ', error="invalid_token"'),
                                      (["Authorization: Bearer weak"], 403,
                                       ', error="insufficient_scope"'), ([basic("yes",
                                                                                "yes")], 401, "")):
            response = get(*fields)
            assert response.status == status and response.get(
                "WWW-Authenticate") == f'Bearer realm="restricted"{error}{scope}'
        for token in ("", " ", "a b", "a=b", "=", "a,b", "t\u00f6k"):
            response = get(f"Authorization: Bearer {token}")
            assert response.status == 400 and response.get(
                "WWW-Authenticate") == 'Bearer realm="restricted", error="invalid_request"'


def test_basic_and_bearer_together(server):
    rejected = fetch(server, "/who", host="both.auth.test")
    assert rejected.all("WWW-Authenticate") == [
        'Basic realm="restricted", charset="UTF-8"', 'Bearer realm="restricted"'
    ]
    assert fetch(server, "/who", basic("ada", "pa:ss w\u00f6rd"),
                 host="both.auth.test").status == 200
    assert fetch(server, "/who", "Authorization: Bearer yes", host="both.auth.test").status == 200
    # The table of Basic rejects an unknown user.
    assert fetch(server, "/who", basic("yes", "yes"), host="both.auth.test").status == 401
    assert len(
        fetch(server, "/who", "Authorization: Bearer no",
              host="both.auth.test").all("WWW-Authenticate")) == 2


def test_disconnect_during_basic_decision(server):
    for _ in range(20):
        with server.connect() as connection:
            connection.send(
                raw.request("GET", "/who", basic("later-yes", "x"), host="basic.auth.test") * 2)
            connection.reset()
    assert fetch(server, "/who", basic("later-yes", "x"), host="basic.auth.test").status == 200


@pytest.mark.plain
def test_basic_with_real_clients(server):
    assert curl(server, "/who", "-u", "ada:pa:ss w\u00f6rd",
                host="table.auth.test").startswith(b"run=")
    assert curl(server, "/who", "-o", "/dev/null", "-w", "%{http_code}", "-u", "ada:pa",
                host="table.auth.test") == b"401"
    # curl first sends a request without a password when the challenge selects the scheme.
    assert curl(server, "/who", "--anyauth", "-u", "ada:pa:ss w\u00f6rd",
                host="table.auth.test").startswith(b"run=")
    assert curl(server, "/who", "--oauth2-bearer", "yes",
                host="bearer.auth.test").startswith(b"run=")
    with httpx.Client(trust_env=False, auth=("J\u00fcrgen", "geheim")) as client:
        assert "user=J\u00fcrgen " in client.get(f"http://127.0.0.1:{server.port}/who",
                                                 headers={"Host": "table.auth.test"}).text

    async def by_aiohttp():
        async with aiohttp.ClientSession(
                auth=aiohttp.BasicAuth("J\u00fcrgen", "geheim", "utf-8")) as session:
            async with session.get(f"http://127.0.0.1:{server.port}/who",
                                   headers={"Host": "table.auth.test"}) as response:
                return response.status

    assert asyncio.run(by_aiohttp()) == 200
    script = """
const headers = {Authorization: 'Bearer later-yes'};
const http = require('http');
http.get({host: '127.0.0.1', port: +process.argv[1], path: '/who',
          headers: {...headers, Host: 'bearer.auth.test'}}, (answer) => {
  console.log(answer.statusCode); answer.resume();
});
"""
    done = subprocess.run(["node", "-e", script, str(server.port)], capture_output=True, timeout=60)
    assert done.stdout == b"200\n", done.stderr


# ---- request ids ----


def id_of(response):
    return re.search(rb" id=(.*)$", response.body)[1].decode()


def test_request_id_is_set(server):
    with server.connect() as connection:
        responses = [connection.request("GET", "/who", host="ids.test") for _ in range(200)]
    ids = [response.get("X-Request-Id") for response in responses]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids) and len(set(ids)) == 200
    # Both halves of the ids are unique.
    assert len({one[:16] for one in ids}) == len({one[16:] for one in ids}) == 200
    assert [id_of(response) for response in responses] == ids


def test_request_ids_of_processes_differ(start):
    firsts = [start() for _ in range(2)]
    assert len({fetch(one, "/who", host="ids.test").get("X-Request-Id") for one in firsts}) == 2


@pytest.mark.parametrize("target, method, status", [("/nowhere", "GET", 404),
                                                    ("/who", "DELETE", 405), ("/fail", "GET", 500),
                                                    ("/who", "POST", 413),
                                                    ("/file?path=/etc/passwd", "GET", 200),
                                                    ("/who", "HEAD", 200), ("/own", "GET", 200)])
def test_request_id_on_errors_and_files(server, target, method, status):
    response = fetch(server, target, method=method, host="ids.test",
                     body=b"x" * 100 if method == "POST" else b"")
    assert response.status == status and re.fullmatch("[0-9a-f]{32}", response.get("X-Request-Id"))


def test_request_id_is_accepted_from_trusted_clients(server):
    assert fetch(server, "/who", "X-Request-Id: mine",
                 host="ids.test").get("X-Request-Id") != "mine"
    for fine in ("mine", "a" * 40, "0-9._~:/+=@Z"):
        response = fetch(server, "/who", f"X-Correlation-Id: {fine}", host="trusted.ids.test")
        assert response.get("X-Correlation-Id") == fine and id_of(response) == fine
        assert response.get("X-Request-Id") is None
    for bad in ("", "a" * 41, "a b", 'a"', "<a>", "a;b", "\u00e4", "a\\b", "a,b", "{a}"):
        response = fetch(server, "/who", f"X-Correlation-Id: {bad}", host="trusted.ids.test")
        assert re.fullmatch("[0-9a-f]{32}", response.get("X-Correlation-Id"))


# ---- security headers ----

DEFAULT = {
    "content-security-policy":
        "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; "
        "object-src 'none'", "x-content-type-options": "nosniff", "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "strict-origin-when-cross-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
}


def security_fields(response):
    own = {
        "date", "content-type", "content-length", "connection", "allow", "vary",
        "access-control-allow-origin", "x-request-id", "etag", "last-modified", "accept-ranges"
    }
    assert len({name.lower() for name, _ in response.fields}) == len(response.fields)
    return {name.lower(): value for name, value in response.fields if name.lower() not in own}


@pytest.mark.plain
@pytest.mark.parametrize("target, method, status", [("/who", "GET", 200), ("/nowhere", "GET", 404),
                                                    ("/who", "DELETE", 405),
                                                    ("/who", "OPTIONS", 204), ("/fail", "GET", 500),
                                                    ("/who", "POST", 413),
                                                    ("/file?path=/etc/passwd", "GET", 200),
                                                    ("/who", "HEAD", 200)])
def test_security_headers_on_every_response(server, target, method, status):
    response = fetch(server, target, method=method, host="headers.test",
                     body=b"x" * 100 if method == "POST" else b"")
    assert response.status == status and security_fields(response) == DEFAULT


@pytest.mark.plain
def test_security_headers_keep_fields_of_handler(server):
    assert security_fields(fetch(server, "/own", host="headers.test")) == {
        **DEFAULT, "x-frame-options": "DENY", "content-security-policy": "default-src 'none'"
    }
    assert security_fields(fetch(server, "/prepared",
                                 host="headers.test")) == {**DEFAULT, "x-frame-options": "DENY"}


def test_security_headers_configured(server):
    wanted = {
        **DEFAULT, "x-frame-options": "DENY", "cross-origin-embedder-policy": "require-corp",
        "strict-transport-security": "max-age=31536000"
    }
    del wanted["content-security-policy"]
    assert security_fields(fetch(server, "/who", host="https.headers.test")) == wanted


# ---- rules by address ----


@pytest.mark.plain
@pytest.mark.parametrize("host, status", [("local", 200), ("refused", 403), ("nobody", 403),
                                          ("everybody", 200)])
def test_address_rules(server, host, status):
    assert fetch(server, "/who", host=f"{host}.rules.test").status == status
    assert curl(server, "/who", "-o", "/dev/null", "-w", "%{http_code}",
                host=f"{host}.rules.test") == b"%d" % status
