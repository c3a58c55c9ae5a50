"""The example notes, in C and C++, is a complete notes service."""

import gzip
import json
import os
import re
import signal
import socket
import time

import pytest

import raw
from program import Program, run

TOKEN = "Authorization: Bearer secret"
JSON = "Content-Type: application/json"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PROGRAMS = ["notes", pytest.param("cpp/notes", marks=pytest.mark.release_only)]


@pytest.fixture(params=PROGRAMS, ids=["c", "cpp"])
def name(request):
    return request.param


@pytest.fixture
def start(name, tmp_path):
    """start() starts the service in a directory of its own, again with the same notes."""
    running = []

    def starter(token="secret", **options):
        environment = {} if token is None else {"NOTES_TOKEN": token}
        running.append(Program(name, "0", environment=environment, cwd=tmp_path, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


@pytest.fixture
def notes(start):
    return start()


def send(program, method, target, body=None, *fields, token=TOKEN):
    """One request with a JSON body; the response, with `json` if it has such a body."""
    headers = [*([token] if token else []), *fields]
    if body is not None:
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers += [] if any(field.startswith("Content-Type:") for field in fields) else [JSON]
    response = program.request(target, *headers, method=method, body=body or b"")
    is_json = response.get("Content-Type") == "application/json" and response.body
    response.json = json.loads(response.body) if is_json else None
    return response


def add(program, title="Milk", text="two bottles"):
    response = send(program, "POST", "/api/notes", {"title": title, "text": text})
    assert response.status == 201, response.body
    return response.json


def error_of(response):
    """The reason of an error response, which is a JSON object with nothing else."""
    assert response.status >= 400 and list(response.json) == ["error"], response.body
    return response.json["error"]


# Notes


def test_added_note_has_id_times_location_and_tag(notes):
    response = send(notes, "POST", "/api/notes", {"title": "Grün", "text": ""})
    note = response.json
    assert response.status == 201 and response.get("Location") == "/api/notes/1"
    assert (note["id"], note["title"], note["text"]) == (1, "Grün", "")
    assert TIME.fullmatch(note["created"]) and note["changed"] == note["created"]
    again = send(notes, "GET", "/api/notes/1")
    assert again.status == 200 and again.json == note
    assert again.get("ETag") == response.get("ETag") == note["etag"]


def test_changed_note_keeps_id_and_creation(notes):
    before = add(notes)
    response = send(notes, "PUT", "/api/notes/1", {"title": "Bread", "text": "one"},
                    f"If-Match: {before['etag']}")
    assert response.status == 200
    assert {name: response.json[name] for name in ("id", "title", "text", "created")} == {
        "id": 1, "title": "Bread", "text": "one", "created": before["created"]}
    assert response.json["etag"] != before["etag"]
    lost = send(notes, "PUT", "/api/notes/1", {"title": "x", "text": ""},
                f"If-Match: {before['etag']}")
    assert lost.status == 412 and error_of(lost)
    assert send(notes, "GET", "/api/notes/1").json == response.json


def test_unchanged_note_is_304(notes):
    tag = add(notes)["etag"]
    response = notes.request("/api/notes/1", f"If-None-Match: {tag}")
    assert response.status == 304 and response.get("ETag") == tag


def test_deleted_note_is_gone_with_its_attachment(notes, tmp_path):
    add(notes)
    assert send(notes, "POST", "/api/notes/1/attachment", b"file").status == 201
    assert send(notes, "DELETE", "/api/notes/1").status == 204
    for method, target in (("GET", ""), ("DELETE", ""), ("GET", "/attachment")):
        error_of(send(notes, method, f"/api/notes/1{target}"))
    assert os.listdir(tmp_path / "attachments") == []
    assert add(notes)["id"] != 1, "an id is not used again"


@pytest.mark.parametrize("target", ["2", "0", "-1", "x", "1x", "99999999999999999999", "%00", ".."])
def test_unknown_note_gets_404(notes, target):
    add(notes)
    for method in ("GET", "PUT", "DELETE"):
        response = send(notes, method, f"/api/notes/{target}",
                        {"title": "a", "text": ""} if method == "PUT" else None)
        assert response.status in ((404, 400, 405) if target in ("%00", "..") else (404, ))
        assert error_of(response)


def test_list_is_newest_first_with_filter_and_pages(notes):
    for i in range(25):
        add(notes, f"Note {i + 1}", "EVEN" if i % 2 else "odd")
        time.sleep(0.06)  # at most 20 in a second

    def ids(query=""):
        return [note["id"] for note in send(notes, "GET", f"/api/notes{query}").json]

    assert ids() == list(range(25, 5, -1))
    assert ids("?limit=3") == [25, 24, 23]
    assert ids("?limit=3&after=23") == [22, 21, 20]
    assert ids("?after=3") == [2, 1] and ids("?after=1") == []
    assert ids("?q=even&limit=100") == list(range(24, 0, -2))
    assert ids("?q=nOTE%202&limit=100") == [25, 24, 23, 22, 21, 20, 2]
    assert ids("?q=none") == []


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=", "limit=+1",
                                   "limit=1.0", "limit=99999999999999999999", "after=0", "after=x"])
def test_invalid_number_of_list_gets_422(notes, query):
    response = send(notes, "GET", f"/api/notes?{query}")
    assert response.status == 422 and query.split("=")[0] in error_of(response)


@pytest.mark.parametrize("body", [
    b"", b"x", b"{", b'{"title":"a"', b'{"title":"a","text":""} x', b'{"title":"\xff","text":""}'])
def test_body_that_is_no_json_gets_400(notes, body):
    response = send(notes, "POST", "/api/notes", body)
    assert response.status == 400 and "JSON" in error_of(response)


@pytest.mark.parametrize("body, field", [
    ({"text": ""}, "title"), ({"title": "a"}, "text"), ({"title": "", "text": ""}, "title"),
    ({"title": "ä" * 201, "text": ""}, "title"), ({"title": 1, "text": ""}, "title"),
    ({"title": "a", "text": None}, "text"), ({"title": "a", "text": "b" * 65537}, "text"),
    ({"title": "a", "text": "", "id": 7}, "title"), ([], "title"), ("text", "title")])
def test_wrong_fields_get_422_with_field_and_reason(notes, body, field):
    response = send(notes, "POST", "/api/notes", body)
    assert response.status == 422 and field in error_of(response)


def test_escaped_nul_does_not_cut_texts(notes):
    """cJSON has no such texts, the library of the example in C++ has."""
    for name in ("title", "text"):
        response = send(notes, "POST", "/api/notes", {"title": "a", "text": "b", name: "a\0b"})
        if response.status == 422:
            assert "must not contain \\u0000" in error_of(response)
        else:
            assert response.json[name] == "a\0b"
    note = add(notes, "a", "\\u0000")
    assert send(notes, "GET", f"/api/notes/{note['id']}").json == note


def test_limits_of_fields_are_accepted(notes):
    note = add(notes, "ä" * 200, "b" * 65536)
    assert send(notes, "GET", "/api/notes/1").json == note


def test_other_media_type_gets_415(notes):
    for media_type in ("text/plain", "application/x-www-form-urlencoded"):
        response = send(notes, "POST", "/api/notes", {"title": "a", "text": ""},
                        f"Content-Type: {media_type}")
        assert response.status == 415 and error_of(response) == "send application/json"


def test_too_large_body_gets_413(notes):
    response = notes.request("/api/notes", TOKEN, JSON, f"Content-Length: {3 << 20}",
                             method="POST")
    assert response.status == 413 and json.loads(response.body)["error"]


# What is not accepted


def test_writing_needs_the_token(notes):
    for token in (None, "Authorization: Bearer wrong", "Authorization: Basic c2VjcmV0"):
        response = send(notes, "POST", "/api/notes", {"title": "a", "text": ""}, token=token)
        assert response.status == 401 and error_of(response)
        assert response.get("WWW-Authenticate").startswith("Bearer")
    assert send(notes, "GET", "/api/notes", token=None).json == []


def test_without_a_token_writing_is_off(start):
    program = start(token=None)
    for method, target in (("POST", ""), ("PUT", "/1"), ("DELETE", "/1"),
                           ("POST", "/1/attachment")):
        response = send(program, method, f"/api/notes{target}", {"title": "a", "text": ""})
        assert response.status == 403 and error_of(response)
    assert send(program, "GET", "/api/notes").status == 200


def test_more_than_20_writes_in_a_second_get_429(notes):
    with notes.connect() as connection:
        statuses = []
        for _ in range(40):
            connection.send(raw.request("DELETE", "/api/notes/1", TOKEN))
        for _ in range(40):
            response = connection.response()
            statuses.append(response.status)
            if response.status == 429:
                limited = response
    assert statuses[:20] == [404] * 20 and 429 in statuses[20:]
    assert json.loads(limited.body)["error"] and limited.get("Retry-After")
    assert notes.request("/api/notes").status == 200


@pytest.mark.parametrize("request_bytes, status", [
    (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70000 + b"\r\n\r\n", 431)])
def test_malformed_requests_get_json_errors(notes, request_bytes, status):
    with notes.connect() as connection:
        connection.send(request_bytes)
        response = connection.response()
    assert response.status == status
    assert response.get("Content-Type") == "application/json"
    assert list(json.loads(response.body)) == ["error"]


def test_unknown_paths_and_methods_get_json_errors(notes):
    for method, target, status in (("GET", "/nowhere", 404), ("PATCH", "/api/notes/1", 405)):
        response = send(notes, method, target)
        assert response.status == status and error_of(response)


# Events


class Stream:
    """A stream of events; subscribed once it exists."""
    def __init__(self, program, *fields):
        self.connection = program.connect()
        self.connection.send(raw.request("GET", "/api/events", *fields))
        status, _, fields, _ = self.connection.head()
        assert status == 200 and ("Content-Type", "text/event-stream") in fields
        self.received = b""

    def events(self, count):
        """The next events: (id, type, data)."""
        events = []
        while len(events) < count:
            self.received += self.connection.receive()
            events = re.findall(rb"id: (\S+)\nevent: (\w+)\ndata: (\w+)\n\n", self.received)
        self.connection.close()
        assert len(events) == count
        return [tuple(part.decode() for part in event) for event in events]


def test_stream_gets_events(notes):
    stream = Stream(notes)
    add(notes)
    send(notes, "PUT", "/api/notes/1", {"title": "b", "text": ""})
    send(notes, "DELETE", "/api/notes/1")
    assert [event[1:] for event in stream.events(3)] == [("created", "1"), ("changed", "1"),
                                                         ("deleted", "1")]


def test_reconnecting_client_gets_missed_events(notes):
    stream = Stream(notes)
    add(notes)
    (first, kind, data), = stream.events(1)
    assert (kind, data) == ("created", "1")
    add(notes)
    add(notes)
    missed = Stream(notes, f"Last-Event-ID: {first}").events(2)
    assert [event[1:] for event in missed] == [("created", "2"), ("created", "3")]


# Attachments


def test_attachment_is_downloaded_with_name_and_ranges(notes, tmp_path):
    add(notes, "Müsli/1")
    data = os.urandom(3 << 20)
    response = send(notes, "POST", "/api/notes/1/attachment", data,
                    "Content-Type: application/octet-stream")
    assert response.status == 201
    assert (tmp_path / "attachments" / "1").read_bytes() == data
    whole = notes.request("/api/notes/1/attachment")
    assert whole.status == 200 and whole.body == data
    assert "attachment" in whole.get("Content-Disposition")
    assert "M%C3%BCsli" in whole.get("Content-Disposition")
    part = notes.request("/api/notes/1/attachment", "Range: bytes=1000-1999")
    assert part.status == 206 and part.body == data[1000:2000]
    assert part.get("Content-Range") == f"bytes 1000-1999/{len(data)}"
    assert send(notes, "POST", "/api/notes/1/attachment", b"new").status == 204


def test_attachment_above_10_mb_gets_413_and_leaves_nothing(notes, tmp_path):
    add(notes)
    assert send(notes, "POST", "/api/notes/1/attachment", b"old").status == 201
    response = notes.request("/api/notes/1/attachment", TOKEN, f"Content-Length: {(10 << 20) + 1}",
                             method="POST")
    assert response.status == 413
    assert (tmp_path / "attachments" / "1").read_bytes() == b"old"
    assert os.listdir(tmp_path / "attachments") == ["1"]


def test_attachment_of_unknown_note_gets_404(notes, tmp_path):
    for method in ("GET", "POST"):
        body = b"data" if method == "POST" else None
        response = send(notes, method, "/api/notes/1/attachment", body)
        assert response.status == 404 and error_of(response)
    add(notes)
    assert send(notes, "GET", "/api/notes/1/attachment").status == 404


# The whole service


def test_page_and_style_have_tags(notes):
    page = notes.request("/")
    assert page.status == 200 and b"<h1>Notes</h1>" in page.body
    for name in ("style.css", "notes.js"):
        assert f'"{name}"'.encode() in page.body
        file = notes.request(f"/{name}")
        assert file.status == 200
        again = notes.request(f"/{name}", f"If-None-Match: {file.get('ETag')}")
        assert again.status == 304


def test_every_response_has_security_fields_and_id(notes):
    ids = set()
    for target in ("/", "/api/notes", "/nowhere", "/api/notes/9"):
        response = notes.request(target)
        assert response.get("X-Content-Type-Options") == "nosniff"
        assert response.get("Content-Security-Policy")
        ids.add(response.get("X-Request-Id"))
    assert None not in ids and len(ids) == 4


def test_the_app_may_use_the_api(notes):
    origin = "Origin: https://app.example"
    preflight = notes.request("/api/notes/1", origin, "Access-Control-Request-Method: PUT",
                              "Access-Control-Request-Headers: if-match,authorization,content-type",
                              method="OPTIONS")
    assert preflight.status == 204
    assert preflight.get("Access-Control-Allow-Origin") == "https://app.example"
    response = notes.request("/api/notes", origin)
    assert response.get("Access-Control-Allow-Origin") == "https://app.example"
    assert "ETag" in response.get("Access-Control-Expose-Headers")
    other = notes.request("/api/notes", "Origin: https://other.example")
    assert other.get("Access-Control-Allow-Origin") is None


def test_long_list_is_compressed(notes):
    add(notes)
    accepts = "Accept-Encoding: gzip"
    assert notes.request("/api/notes", accepts).get("Content-Encoding") is None
    note = add(notes, "Long", "a" * 2000)
    response = notes.request("/api/notes", accepts)
    assert response.get("Content-Encoding") == "gzip"
    assert json.loads(gzip.decompress(response.body))[0] == note
    single = notes.request("/api/notes/2", accepts)
    assert single.get("ETag") == note["etag"], "a strong one, for If-Match"


def test_metrics_and_access_log(notes):
    notes.request("/api/notes/7")
    assert b"uvhttp_requests_total" in notes.request("/metrics").body
    assert notes.stop() == 0
    lines = [json.loads(line) for line in notes.output.splitlines()[1:]]
    assert (lines[0]["target"], lines[0]["route"], lines[0]["status"]) == ("/api/notes/7",
                                                                           "/api/notes/:id", 404)
    assert lines[0]["request_id"]


def test_notes_survive_a_crash(start, tmp_path):
    program = start()
    notes = [add(program, f"Note {i}") for i in range(3)]
    send(program, "DELETE", "/api/notes/2")
    program.stop(signal.SIGKILL)
    program = start()
    assert send(program, "GET", "/api/notes").json == [notes[2], notes[0]]
    assert add(program)["id"] > 3
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] == []


def test_change_after_failed_save_is_saved_with_the_next(name, tmp_path):
    (tmp_path / "data").mkdir()
    program = Program(name, "0", "data/notes.json", environment={"NOTES_TOKEN": "secret"},
                      cwd=tmp_path)
    (tmp_path / "data").rmdir()
    failed = send(program, "POST", "/api/notes", {"title": "a", "text": ""})
    assert failed.status == 500 and error_of(failed) == "Internal Server Error"
    (tmp_path / "data").mkdir()
    add(program)
    assert program.stop() == 0
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["notes.json"]
    assert '"Milk"' in (tmp_path / "data" / "notes.json").read_text()
    assert '"a"' in (tmp_path / "data" / "notes.json").read_text()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"last":1}'])
def test_file_without_notes_is_an_error(name, tmp_path, content):
    (tmp_path / "notes.json").write_text(content)
    program = run(name, "0", cwd=tmp_path)
    assert program.returncode == 1 and program.stderr.count("\n") == 1 and program.stdout == ""
    assert (tmp_path / "notes.json").read_text() == content


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_drain(notes, number):
    with notes.connect() as connection:
        connection.send(raw.request("POST", "/api/notes", TOKEN, JSON, "Content-Length: 24",
                                    "Expect: 100-continue"))
        assert connection.head()[0] == 100
        notes.send_signal(number)
        connection.send(b'{"title":"a","text":"b"}')
        assert connection.response().status == 201
    assert notes.wait() == 0


def test_port_in_use_is_one_line_and_exit_1(name, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        program = run(name, port, cwd=tmp_path)
    assert program.returncode == 1 and program.stdout == ""
    assert re.fullmatch(rf".*127\.0\.0\.1:{port}.*in use.*\n", program.stderr), program.stderr
