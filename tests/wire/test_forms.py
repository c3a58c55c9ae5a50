"""Forms, cookies and server-sent events, with real clients."""

import subprocess

import httpx
import pytest


@pytest.fixture
def client(server):
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as one:
        yield one


FORM = {
    "name": "J\u00fcrgen & Co", "empty": "", "plus": "1+1=2", "a b": "spaced",
    "twice": ["first", "second"]
}


@pytest.mark.parametrize("name, value", [("name", "J\u00fcrgen & Co"), ("empty", ""),
                                         ("plus", "1+1=2"), ("a b", "spaced"), ("twice", "first")])
def test_form_field_is_decoded(client, name, value):
    response = client.post("/form-field", params={"name": name}, data=FORM)
    assert (response.status_code, response.text) == (200, value)


def test_other_content_type_has_no_form_fields(client):
    assert client.post("/form-field", params={"name": "absent"}, data=FORM).status_code == 404
    assert client.post("/form-field", params={"name": "name"}, json=FORM).status_code == 404
    assert client.post("/form-field", params={"name": "name"}).status_code == 404
    like = {"Content-Type": "application/x-www-form-urlencoded-too"}
    assert client.post("/form-field", params={"name": "a"}, content=b"a=1",
                       headers=like).status_code == 404


@pytest.mark.parametrize("kind", [
    "application/x-www-form-urlencoded; charset=utf-8",
    "APPLICATION/X-WWW-FORM-URLENCODED ;charset=utf-8"
])
def test_form_content_type_parameters_are_ignored(client, kind):
    assert client.post("/form-field?name=a", content=b"b=0&a=%31+",
                       headers={"Content-Type": kind}).text == "1 "


def test_form_sent_by_curl(server, tmp_path):
    done = subprocess.run([
        "curl", "-sS", "--noproxy", "*", "--data-urlencode", "a=x&y=z", "-d", "b=2",
        f"http://127.0.0.1:{server.port}/form-field?name=a"
    ], capture_output=True, text=True)
    assert done.stdout == "x&y=z", done.stderr


def test_cookie_lookup_by_name(server):
    with server.connect() as connection:
        for name, value in (("a", b"1"), ("b", b'"quoted"'), ("c", b"")):
            assert connection.request("GET", f"/one-cookie?name={name}",
                                      'Cookie: a=1; b="quoted"; c=; aa=2').body == value
        assert connection.request("GET", "/one-cookie?name=d", "Cookie: a=1").status == 404
        assert connection.request("GET", "/one-cookie?name=a").status == 404
        assert connection.request("GET", "/one-cookie?name=b", "Cookie: a=1",
                                  "Cookie: b=2").body == b"2"


def test_set_cookie_is_stored_by_client(client):
    response = client.get("/set-cookies?name=second")
    session, second = response.headers.get_list("set-cookie")
    assert session.startswith("session=abc; ") and second == "second=1"
    assert set(session.split("; ")[1:]) == {"Max-Age=60", "Path=/", "HttpOnly", "SameSite=Lax"}
    assert (client.cookies["session"], client.cookies["second"]) == ("abc", "1")
    assert client.get("/one-cookie?name=session").text == "abc"


def test_cookie_that_browsers_ignore_is_rejected(client):
    assert client.get("/set-cookies?name=a%3Bb").text == "UVHTTP_EHEADER"
    assert client.get("/set-cookies?name=__Host-a").text == "UVHTTP_EHEADER"
    assert len(client.get("/set-cookies?name=a%3Bb").headers.get_list("set-cookie")) == 1


@pytest.mark.parametrize("size", [0, 3, 900, 1100, 100_000])
def test_events_arrive_unchanged(server, client, size):
    with client.stream("GET", f"/events?size={size}") as response:
        assert response.headers["content-type"] == "text/event-stream" and response.headers[
            "cache-control"] == "no-store"
        lines = [line.rstrip("\n") for line in response.iter_lines()]
    assert [line for line in lines if line.startswith("id")] == ["id: 1", "id: 2", "id: 3"]
    assert next(line for line in lines if line.startswith("data")) == "data: " + "x" * size
    assert server.stats()["last_error"] == "UVHTTP_EINVAL"


def test_connection_is_reusable_after_events(server):
    response = server.request("GET", "/events", "Last-Event-ID: 2")
    assert b"id: 3\n" in response.body and b"id: 2\n" not in response.body
