"""Forms with files from real clients: curl, Python's httpx and aiohttp, Node's FormData.

The data that a client sends to a plain socket is stored and parsed by the example parse_multipart.
Names, file names, types and contents must be those given to the client.
"""

import asyncio
import base64
import json
import pathlib
import shutil
import socket
import subprocess
import threading

import pytest

import raw
from program import clean_environment
from wire_server import SAFETY_TIMEOUT, built

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
CLIENTS = pathlib.Path(__file__).parent / "clients"
TRICKY = b"\r\n--\r\n----\r\n------------------------\r\n-" + raw.pattern(70_000) + b"\r\n--"


class Capture:
    """Receives one request on its own socket, responds with 200, and stores the request."""
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(SAFETY_TIMEOUT)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/form"
        self.head = self.body = None
        self.thread = threading.Thread(target=self.take)
        self.thread.start()

    def take(self):
        connection, _ = self.listener.accept()
        connection.settimeout(SAFETY_TIMEOUT)
        with self.listener, connection, connection.makefile("rb") as file:
            head = []
            while (line := file.readline()) not in (b"\r\n", b""):
                head.append(line)
            fields = {
                name.lower(): value.strip()
                for name, value in (line.decode().split(":", 1) for line in head[1:])
            }
            if fields.get("expect", "").lower() == "100-continue":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            if fields.get("transfer-encoding", "").lower() == "chunked":
                body = b""
                while (size := int(file.readline(), 16)) > 0:
                    body += file.read(size)
                    assert file.readline() == b"\r\n"
                assert file.readline() == b"\r\n"
            else:
                body = file.read(int(fields["content-length"]))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.type, self.body = fields["content-type"], body

    def parts(self, directory):
        """[name, file name or None, type or None, content] of each part, as found by
        parse_multipart."""
        self.thread.join(SAFETY_TIMEOUT)
        assert self.body is not None, "no request was received"
        message = (f"POST /form HTTP/1.1\r\nHost: h\r\nContent-Type: {self.type}\r\n"
                   f"Content-Length: {len(self.body)}\r\n\r\n").encode() + self.body
        (directory / "message").write_bytes(message)
        (directory / "parts").mkdir()
        done = subprocess.run(
            [built("parse_multipart"), directory / "message", directory / "parts"],
            capture_output=True, timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        assert done.stdout.endswith(b"complete\n")
        stored = sorted((directory / "parts").iterdir(), key=lambda path: int(path.name))
        return done.stdout, [path.read_bytes() for path in stored]


def check(capture, directory, expected):
    output, contents = capture.parts(directory)
    wanted = b"/form\n"
    for number, (name, content, filename, type) in enumerate(expected, 1):
        wanted += f"part {number}: name={name}".encode()
        wanted += f" filename={filename}".encode() if filename is not None else b""
        wanted += f" type={type}".encode() if type is not None else b""
        wanted += f" bytes={len(content)}\n".encode()
    assert output == wanted + b"complete\n"
    assert contents == [content for _, content, _, _ in expected]


def run(*command):
    path = shutil.which(command[0])
    assert path, f"{command[0]} is missing"
    done = subprocess.run([path, *command[1:]], capture_output=True, timeout=3 * SAFETY_TIMEOUT,
                          env=clean_environment({"no_proxy": "*"}))
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("extra", [[], ["--form-escape"]])
def test_curl_form(tmp_path, extra):
    (tmp_path / "file").write_bytes(TRICKY)
    (tmp_path / "empty").write_bytes(b"")
    capture = Capture()
    run("curl", "-sS", *extra, "-F", "text=Grüße", "-F",
        f"f=@{tmp_path}/file;filename=\"a \\\"b\\\" \\\\;c.bin\"", "-F",
        f"f=@{tmp_path}/empty;type=text/x-empty;headers=\"X-More: 1\"", "-F", f"s=<{tmp_path}/file",
        capture.url)
    # With and without curl's own escapes: a backslash before a semicolon is no escape.
    check(capture, tmp_path, [("text", "Grüße".encode(), None, None),
                              ("f", TRICKY, 'a "b" \\;c.bin', "application/octet-stream"),
                              ("f", b"", "empty", "text/x-empty"), ("s", TRICKY, None, None), ])


def test_curl_form_from_pipe_is_chunked(tmp_path):
    capture = Capture()
    done = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "-F", "f=@-;filename=pipe", capture.url], input=TRICKY,
        capture_output=True, timeout=3 * SAFETY_TIMEOUT)
    assert done.returncode == 0, done.stderr
    check(capture, tmp_path, [("f", TRICKY, "pipe", None)])


def test_httpx_form(tmp_path):
    import httpx

    capture = Capture()
    files = [("f", ('quo"te\\.txt', TRICKY, "text/plain; charset=utf-8")),
             ("f", ("größe.bin", b"")), ("json", (None, b"{}", "application/json"))]
    with httpx.Client(trust_env=False) as client:
        assert client.post(capture.url, data={"text": "Grüße", "li\r\nnes": ["1", "2"]},
                           files=files).status_code == 200
    check(capture, tmp_path, [("text", "Grüße".encode(), None, None),
                              ("li\r\nnes", b"1", None, None), ("li\r\nnes", b"2", None, None),
                              ("f", TRICKY, 'quo"te\\.txt', "text/plain; charset=utf-8"),
                              ("f", b"", "größe.bin", "application/octet-stream"),
                              ("json", b"{}", None, "application/json"), ])


def test_aiohttp_form(tmp_path):
    import aiohttp

    async def send(url):
        # Unencoded names, as browsers write them. By default aiohttp percent-encodes all names.
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("text", "Grüße")
        form.add_field("f", TRICKY, filename='a "b" \\.txt', content_type="application/pdf")
        async with aiohttp.ClientSession(trust_env=False) as session:
            async with session.post(url, data=form) as response:
                assert response.status == 200

    capture = Capture()
    asyncio.run(send(capture.url))
    check(capture, tmp_path, [("text", "Grüße".encode(), None, "text/plain; charset=utf-8"),
                              ("f", TRICKY, 'a "b" \\.txt', "application/pdf"), ])


def test_node_form(tmp_path):
    parts = [("text", "Grüße".encode(), None, None), ("li\r\nnes \"q\"", b"", None, None),
             ("f", TRICKY, 'quo"te 100% größe.bin', "image/png"), ("f", b"", "", None), ]
    capture = Capture()
    run(
        "node", str(CLIENTS / "form.mjs"), capture.url,
        json.dumps([(name, base64.b64encode(content).decode(), filename, type)
                    for name, content, filename, type in parts]))
    # Node omits an empty file name.
    parts[3] = ("f", b"", None, "application/octet-stream")
    check(capture, tmp_path, parts)


def test_node_form_without_parts(tmp_path):
    capture = Capture()
    run("node", str(CLIENTS / "form.mjs"), capture.url, "[]")
    check(capture, tmp_path, [])
