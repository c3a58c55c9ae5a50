"""The examples do what their first comment says, the curl lines in it included."""

import os
import pathlib
import re
import shlex
import socket
import subprocess
import urllib.parse

import pytest

import raw
from program import Program, clean_environment
from wire_server import SAFETY_TIMEOUT, built, eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))
SITE = ROOT / "examples" / "site"


@pytest.fixture
def start():
    running = []

    def starter(name, *arguments):
        running.append(Program(name, *(arguments or ["0"]), cwd=ROOT))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def curl_lines(name):
    """The commands in the comment of an example."""
    comment = (ROOT / "examples" / f"{name}.c").read_text().split("*/")[0]
    return re.findall(r"^ \*     (curl .*)$", comment, re.M)


def curl(line, port, folder):
    words = [word.replace(":8080/", f":{port}/") for word in shlex.split(line)[1:]]
    return subprocess.run(["curl", "-sS", "--max-time", "60", *words], capture_output=True, text=True, cwd=folder,
                          env=clean_environment({"no_proxy": "*"}))


def test_every_example_is_tested():
    source = pathlib.Path(__file__).read_text()
    for name in EXAMPLES:
        assert curl_lines(name), f"{name}.c has no curl line"
        assert f"def test_{name}" in source, name


# hello


def test_hello(tmp_path):
    """hello has its port in its text, so it can only be tried while that port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8080))
        except OSError:
            pytest.skip("port 8080 is in use on this machine")
    program = Program("hello", wait=False)
    try:
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", 8080)) == 0, "hello listens")
        line, = curl_lines("hello")
        answer = curl(line, 8080, tmp_path).stdout
        assert answer.startswith("HTTP/1.1 200 OK\n") and answer.endswith("\n\nHello, world\n")
        assert "Content-Type: text/plain; charset=utf-8\n" in answer
        with raw.Connection(8080) as connection:
            assert connection.ask("GET", "/else").status == 404
            assert connection.ask("POST", "/").status == 405
    finally:
        assert program.stop() == -15  # it handles no signal


def test_hello_is_the_program_of_the_header():
    def core(text):
        code = text[text.index("static int hello"):]
        code = code[:code.index("return err != 0;")]
        return "".join(re.sub(r"/\*.*?\*/", "", code).split())

    header = (ROOT / "include/uvhttp.h").read_text()
    header = re.sub(r"^ \*", "", header, flags=re.M)
    assert core((ROOT / "examples/hello.c").read_text()) == core(header)


# routes


def test_routes(start, tmp_path):
    program = start("routes")
    answers = [curl(line, program.port, tmp_path).stdout for line in curl_lines("routes")]
    assert answers[:4] == ["User 42\n", "", "Page 'guide/first steps'\n", "Searching 'fast server', page 2\n"]
    assert re.fullmatch(r'\{"connections":1,"requests":5\}\n', answers[4])


def test_routes_methods(start):
    program = start("routes")
    assert program.ask("/users/42", method="DELETE").status == 204
    refused = program.ask("/users/42", method="PUT")
    assert refused.status == 405 and {"GET", "HEAD", "DELETE"} <= refused.allow()
    assert program.ask("/users/").status == 404
    assert program.ask("/search").status == 400


@pytest.mark.parametrize("fields, status", [([], 401), (["X-Api-Key: wrong"], 401), (["x-api-key: secret"], 200)])
def test_routes_middleware_refuses(start, fields, status):
    answer = start("routes").ask("/admin/stats", *fields)
    assert answer.status == status
    # The handler does not run behind a refusal.
    assert (b"connections" in answer.body) == (status == 200)


def test_routes_middleware_covers_what_has_no_route(start):
    program = start("routes")
    assert program.ask("/admin/else").status == 401
    assert program.ask("/admin/else", "X-Api-Key: secret").status == 404


# echo


def test_echo(start, tmp_path):
    program = start("echo")
    (tmp_path / "picture.png").write_bytes((SITE / "waves.png").read_bytes())
    text, picture = curl_lines("echo")
    assert curl(text, program.port, tmp_path).stdout == "some text"
    assert curl(picture, program.port, tmp_path).returncode == 0
    assert (tmp_path / "back.png").read_bytes() == (SITE / "waves.png").read_bytes()


def test_echo_gives_back_bytes_and_type(start):
    program = start("echo")
    body = raw.pattern(1024 * 1024)
    answer = program.ask("/echo", "Content-Type: image/png", method="POST", body=body)
    assert answer.status == 200 and answer.body == body and answer.get("Content-Type") == "image/png"
    chunked = program.ask("/echo", "Transfer-Encoding: chunked", method="POST", body=raw.chunked(b"ab", b"cde"))
    assert chunked.body == b"abcde"


def test_echo_limits(start):
    program = start("echo")
    assert program.ask("/echo", f"Content-Length: {1024 * 1024 + 1}", method="POST").status == 413
    with program.connect() as idle:
        held = [program.connect() for _ in range(99)]
        assert idle.ask("POST", "/echo", body=b"x").body == b"x"
        for connection in held:
            assert connection.ask("POST", "/echo", body=b"y").body == b"y"
        with program.connect() as one_more:
            assert one_more.response().status == 503
        for connection in held:
            connection.close()


# static_files


def test_static_files(start, tmp_path):
    program = start("static_files", "0", SITE)
    whole, part, handler = [curl(line, program.port, tmp_path).stdout for line in curl_lines("static_files")]
    assert whole.endswith((SITE / "index.html").read_text())
    assert "206" in part.split("\n")[0] and part.endswith((SITE / "style.css").read_text()[:100])
    assert handler == "Hello from a handler\n"


def test_static_files_serves_the_sample_site_by_default(start):
    assert start("static_files").ask("/files/style.css").body == (SITE / "style.css").read_bytes()


def test_static_files_names_a_missing_folder(tmp_path):
    done = subprocess.run([built("static_files"), "0", str(tmp_path / "nowhere")], capture_output=True, text=True,
                          timeout=3 * SAFETY_TIMEOUT)
    assert done.returncode == 1
    assert "nowhere" in done.stderr and "no such file or directory" in done.stderr.lower()


# later


def test_later(start, tmp_path):
    program = start("later")
    line, = curl_lines("later")
    assert curl(line.replace("1500", "20"), program.port, tmp_path).stdout == "Thank you for waiting\n"


def test_later_serves_others_meanwhile(start):
    program = start("later")
    with program.connect() as patient, program.connect() as quick:
        patient.send(raw.request("GET", "/wait?ms=59000"))
        assert quick.ask("GET", "/wait?ms=0").body == b"Thank you for waiting\n"
        assert quick.ask("GET", "/wait?ms=60001").status == 400
        patient.assert_silent()
        patient.reset()
    eventually(lambda: read_more(program).count("the client did not wait") == 1, "the abort callback runs")
    assert program.stop() == 0


def read_more(program):
    """The output so far; the example prints on its standard output."""
    os.set_blocking(program.process.stdout.fileno(), False)
    try:
        program.output += os.read(program.process.stdout.fileno(), 65536).decode()
    except BlockingIOError:
        pass
    return program.output


def test_later_a_second_signal_aborts(start):
    program = start("later")
    with program.connect() as patient, program.connect() as quick:
        patient.send(raw.request("GET", "/wait?ms=59000"))
        assert quick.ask("GET", "/wait?ms=0").status == 200
        program.send_signal(15)
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", program.port)) != 0, "it stops listening")
        assert program.process.poll() is None
        program.send_signal(15)
        assert program.wait() == 0
    assert program.output.count("the client did not wait") == 1


# The sample site


@pytest.fixture(scope="module")
def site_program():
    program = Program("uvhttp", "serve", "-l", "127.0.0.1:0", SITE)
    yield program
    program.stop()


def links(text):
    return re.findall(r'(?:href|src)="([^"]+)"', text)


def test_site_has_no_dead_link(site_program):
    broken = []
    for page in ("/", "/download.html"):
        text = site_program.ask(page).body.decode()
        assert links(text)
        for link in links(text):
            if site_program.ask(urllib.parse.urljoin(page, link)).status != 200:
                broken.append(link)
    assert broken == ["nowhere.html"]  # which is there to show a 404


@pytest.mark.parametrize("name, media_type", [
    ("index.html", "text/html"), ("style.css", "text/css"), ("mark.svg", "image/svg+xml"), ("path.svg", "image/svg+xml"),
    ("waves.png", "image/png"), ("large.txt", "text/plain")])
def test_site_files(site_program, name, media_type):
    answer = site_program.ask(f"/{name}")
    assert answer.get("Content-Type").startswith(media_type)
    assert answer.body == (SITE / name).read_bytes()


def test_site_large_file_is_what_its_page_says(site_program):
    content = site_program.ask("/large.txt").body
    assert len(content) == 1 << 20
    lines = content.split(b"\n")
    assert lines.pop() == b"" and len(lines) == 16384
    for i, line in enumerate(lines):
        assert len(line) == 63 and int(line[:10]) == 64 * i
    part = site_program.ask("/large.txt", "Range: bytes=640-703")
    assert part.status == 206 and part.body == lines[10] + b"\n"


def test_site_needs_no_script():
    for page in SITE.glob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        assert not [link for link in links(text) if "//" in link], "everything comes from the folder itself"


def test_site_folder_without_index_is_listed(site_program):
    listing = site_program.ask("/files/").body.decode()
    for name in (SITE / "files").iterdir():
        # "%" must be encoded in links, so the plain name stands in the text only.
        assert name.name.replace("&", "&amp;") in listing, name
    for link in re.findall(r'href="([^"]+)"', listing):
        assert site_program.ask(urllib.parse.urljoin("/files/", link)).status == 200, link
