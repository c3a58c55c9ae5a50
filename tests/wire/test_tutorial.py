"""The steps of docs/tutorial: the code on each page is the code of its program, and the program
does what the page shows, with real clients."""

import pathlib
import re
import shutil
import socket
import subprocess

import httpx
import pytest

import pages
import raw
from program import Program
from wire_server import eventually

TUTORIAL = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial"
STEPS = sorted(TUTORIAL.glob("[1-9]-*.md"))


def number_of(page):
    return int(page.name.split("-")[0])


def lines_of(page):
    """The shell commands of a page to compile, to prepare and to start, and the arguments after the
    port."""
    compiling, *preparing, starting = pages.indented(page)
    number = number_of(page)
    assert re.fullmatch(
        rf"cc step{number}\.c -o step{number} \$\(pkg-config --cflags --libs uvhttp( libuv)?( "
        rf"libcjson)?\)", compiling)
    arguments = re.fullmatch(rf"\./step{number} 8080(.*)", starting)[1].split()
    return preparing, arguments


@pytest.fixture
def start(tmp_path):
    """Starts the program of a step in its own directory, prepared as its page describes."""
    running = []

    def starter(page):
        preparing, arguments = lines_of(page)
        shutil.copytree(TUTORIAL / "site", tmp_path / "site", dirs_exist_ok=True)
        for line in preparing:
            subprocess.run(["sh", "-ec", line], cwd=tmp_path, check=True)
        running.append(Program(f"tutorial_step{number_of(page)}", 0, *arguments, cwd=tmp_path))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def step(number):
    return STEPS[number - 1]


def client_of(program):
    return httpx.Client(base_url=f"http://127.0.0.1:{program.port}", trust_env=False)


def test_tutorial_has_nine_steps():
    assert [number_of(page) for page in STEPS] == list(range(1, 10))
    index = (TUTORIAL / "README.md").read_text()
    assert re.findall(r"^\d\. \[.*\]\((.*)\)$", index, re.M) == [page.name for page in STEPS]
    assert sorted(path.name for path in TUTORIAL.glob("*.c")) == [
        f"step{number}.c" for number in range(1, 10)
    ]


@pytest.mark.parametrize("page", STEPS, ids=lambda page: page.stem)
def test_page_code_equals_program(page):
    source = (TUTORIAL / f"step{number_of(page)}.c").read_text()
    blocks = pages.code(page, "c")
    assert blocks
    for block in blocks:
        # A block may show several parts, each a whole function or declaration.
        for part in re.split(r"(?<=^}\n)\n|(?<=^};\n)\n", block, flags=re.M):
            assert part in source, part
    assert {language for language, _ in pages.blocks(page)} == {"c", "console"}


@pytest.mark.parametrize("page", STEPS, ids=lambda page: page.stem)
def test_page_commands_print_shown_output(start, tmp_path, page):
    program = start(page)
    assert pages.run_commands(page, program.port, tmp_path) >= 3


def test_hello_stops_on_signal(start):
    program = start(step(1))
    assert program.request("/").body == b"Hello, world\n"
    assert program.stop() == 0


def test_invalid_input_is_rejected(start):
    program = start(step(3))
    with client_of(program) as client:
        assert client.post("/guests", json={"name": "x"}).status_code == 422
        assert client.post("/sum", json={"numbers": [1, 2, 3]}).json() == {"sum": 6}
        assert client.post("/sum", content='{"numbers":[1]} \n').json() == {"sum": 1}
        invalid = [
            "", "[", "[1]", '{"numbers":[1]} garbage', '{"numbers":[1]}}', '{"numbers":{}}',
            '{"numbers":[1,null]}'
        ]
        for body in invalid:
            assert client.post("/sum", content=body).status_code == 422


def test_aborted_upload_leaves_no_file(start, tmp_path):
    program = start(step(6))
    stored = tmp_path / "files"
    with program.connect() as connection:
        connection.send(b"PUT /files/half HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" +
                        b"x" * 500)
        eventually(lambda: list(stored.iterdir()), "the upload has begun")
        connection.reset()
    eventually(lambda: not list(stored.iterdir()), "the partial file is removed")
    for name in ("..", "a%2Fb", ".part", "x" * 201):
        assert program.request(f"/files/{name}", method="PUT", body=b"x").status in (400, 404, 405)
    assert program.request("/files/a").status == 404
    assert program.request("/files/a", "Transfer-Encoding: chunked", method="PUT",
                           body=raw.chunked(b"ab", b"c")).status == 201
    assert program.request("/files/a").body == b"abc"  # visible at once
    assert program.request("/files/a", method="PUT", body=b"replaced").status == 201
    assert program.request("/files/a").body == b"replaced"
    assert [(path.name, path.read_bytes()) for path in stored.iterdir()] == [("a", b"replaced")]


def test_pending_clients_may_disconnect(start):
    program = start(step(7))
    with program.connect() as first, program.connect() as second, program.connect() as third:
        for one in (first, second, third):
            one.send(raw.request("GET", "/next"))
        # The client in the middle of the list disconnects. The other two must stay in the list.
        second.reset()
        with program.connect() as sender:
            received = 0
            while received < 2:
                received += int(sender.request("POST", "/say", body=b"x").body.split()[0])
        assert first.response().body == b"x" and third.response().body == b"x"
    assert program.request("/primes?below=1000001").status == 422


def test_stop_with_pending_clients(start):
    program = start(step(7))
    with program.connect() as patient:
        patient.send(raw.request("GET", "/next"))
        assert program.request("/primes?below=10").body == b"4 primes below 10\n"
        program.send_signal(15)
        # Two simultaneous signals would be merged.
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", program.port)) != 0,
                   "the listener is closed")
        program.send_signal(15)
        assert program.wait() == 0


def test_access_log_has_every_request(start, tmp_path):
    program = start(step(8))
    for target in ("/", "/status", "/nowhere"):
        program.request(target)
    assert program.stop() == 0
    lines = (tmp_path / "access.log").read_text().splitlines()
    assert [line.split('"')[1] for line in lines
            ] == ["GET / HTTP/1.1", "GET /status HTTP/1.1", "GET /nowhere HTTP/1.1"]


def test_service_with_python_client(start, tmp_path):
    program = start(step(9))
    large = raw.pattern(5_000_000)
    with client_of(program) as ada, client_of(program) as stranger:
        assert ada.post("/login", data={"user": ""}).status_code == 422
        assert ada.post("/login", data={"user": "x" * 51}).status_code == 422
        assert ada.post("/login", data={"user": "Ada"}).status_code == 303
        assert ada.put("/files/Grüße.bin", content=large).status_code == 201
        assert ada.get("/files").json() == {
            "files": [{"name": "Grüße.bin", "size": len(large)}], "user": "Ada"
        }
        download = ada.get("/files/Grüße.bin")
        assert download.content == large
        assert (download.headers["Content-Disposition"],
                download.headers["X-Content-Type-Options"]) == ("attachment", "nosniff")
        for response in (stranger.get("/files"), stranger.get("/files/Grüße.bin"),
                         stranger.put("/files/b", content=b"x")):
            assert response.status_code == 401
        assert ada.put("/files/..%2Fx", content=b"x").status_code == 400
        assert ada.post("/logout").status_code == 303
        assert ada.get("/files").status_code == 401
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["Grüße.bin"]


def test_service_limits_logins(start):
    program = start(step(9))
    with client_of(program) as client:
        codes = [client.post("/login", data={"user": "a"}).status_code for _ in range(11)]
        assert codes[:10] == [303] * 10 and codes[10] in (303, 429)
        # A bucket that gets one token in six seconds is empty before twenty more requests.
        codes = [client.post("/login", data={"user": "a"}) for _ in range(20)]
        assert codes[-1].status_code == 429 and int(codes[-1].headers["Retry-After"]) >= 1


def test_service_page_in_browser(start, tmp_path):
    """A real browser runs the page: the login form is visible, and the input box is not."""
    program = start(step(9))
    done = subprocess.run([
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server",
        f"--user-data-dir={tmp_path}/profile", "--virtual-time-budget=5000", "--dump-dom",
        f"http://127.0.0.1:{program.port}/"
    ], capture_output=True, text=True, timeout=120)
    assert re.search(r'<form id="login" [^>]*action="/login">',
                     done.stdout), done.stdout + done.stderr
    assert '<div id="box" hidden="">' in done.stdout


def test_service_log_names_requests(start):
    program = start(step(9))
    assert program.request("/files").status == 401
    assert program.stop() == 0
    assert '"GET /files HTTP/1.1" 401' in program.output
