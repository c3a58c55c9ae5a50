"""The examples do what their first comment says, and so do the curl lines in it. Those in C++
(examples/cpp) do the same as those in C."""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import threading
import urllib.parse

import httpx
import pytest

import raw
import tls
import ws_raw
from installed import node_with_websocket
from program import Program, clean_environment
from topics_server import Member
from wire_server import SAFETY_TIMEOUT, WireServer, built, eventually, free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.c*"))}
TWINS = {path.stem: path for path in sorted((ROOT / "examples" / "cpp").glob("*.cpp"))}
SITE = ROOT / "examples" / "site"


@pytest.fixture(params=["c", pytest.param("cpp", marks=pytest.mark.release_only)])
def program_of(request):
    """The program of an example, in both languages."""
    def find(name):
        if name not in (EXAMPLES if request.param == "c" else TWINS):
            pytest.skip(f"{name} does not exist in this language")
        return name if request.param == "c" else f"cpp/{name}"

    return find


@pytest.fixture
def start(program_of):
    running = []

    def starter(name, *arguments, **options):
        running.append(Program(program_of(name), *(arguments or ["0"]), cwd=ROOT, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def comment_lines(name, command):
    comment = {**TWINS, **EXAMPLES}[name].read_text().split("*/")[0]
    comment = re.sub(r" \\\n \* +", " ", comment)  # a command may continue in the next line
    return re.findall(rf"^ \*     ({command} .*)$", comment, re.M)


def curl_lines(name):
    """The commands in the comment of an example."""
    return comment_lines(name, "curl")


def curl(line, port, directory):
    words = [word.replace(":8080/", f":{port}/") for word in shlex.split(line)[1:]]
    return subprocess.run(["curl", "-sS", "--max-time", "60", *words], capture_output=True,
                          text=True, cwd=directory, env=clean_environment({"no_proxy": "*"}))


def test_every_example_is_tested():
    source = pathlib.Path(__file__).read_text()
    for name in {**TWINS, **EXAMPLES}:
        commands = {"parse": ["printf"],
                    "websocket": ["curl", "printf", "python3"]}.get(name.split("_")[0], ["curl"])
        assert name == "testing" or any(
            comment_lines(name, command)
            for command in commands), f"{name} has no command in its comment"
        assert f"def test_{name}" in source, name


@pytest.mark.parametrize("name", [name for name in TWINS if name in EXAMPLES])
def test_cpp_twin_has_same_text_and_is_shorter(name):
    (c, c_code), (cpp, cpp_code) = [
        path.read_text().split("*/", 1) for path in (EXAMPLES[name], TWINS[name])
    ]
    assert c == cpp
    assert cpp_code.count("\n") < c_code.count("\n")


# hello


@pytest.mark.xdist_group("port_8080")
def test_hello_example(program_of, tmp_path):
    """hello has its port in its source, so it can only be tested while that port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8080))
        except OSError:
            pytest.skip("port 8080 is in use on this machine")
    program = Program(program_of("hello"), wait=False)
    try:
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", 8080)) == 0,
                   "hello accepts connections")
        line, = curl_lines("hello")
        response = curl(line, 8080, tmp_path).stdout
        assert response.startswith("HTTP/1.1 200 OK\n") and response.endswith("\n\nHello, world\n")
        assert "Content-Type: text/plain; charset=utf-8\n" in response
        with raw.Connection(8080) as connection:
            assert connection.request("GET", "/else").status == 404
            assert connection.request("POST", "/").status == 405
    finally:
        assert program.stop() == -15  # it handles no signal


@pytest.mark.parametrize("source", ["include/uvhttp.h", "README.md"])
@pytest.mark.parametrize("example, begin, end",
                         [("hello.c", "static int hello", "return err != 0;"),
                          ("cpp/hello.cpp", "uvhttp::Server server;", "return 1;")],
                         ids=["c", "cpp"])
def test_hello_equals_header_and_readme(example, begin, end, source):
    def core(text):
        code = text[text.index(begin):]
        code = code[:code.index(end)]
        return "".join(re.sub(r"/\*.*?\*/", "", code).split())

    if source.endswith(".h") and example.endswith(".cpp"):
        source += "pp"
    shown = re.sub(r"^ \*", "", (ROOT / source).read_text(), flags=re.M)
    assert core((ROOT / "examples" / example).read_text()) == core(shown)


# routes


def test_routes_example(start, tmp_path):
    program = start("routes")
    responses = [curl(line, program.port, tmp_path).stdout for line in curl_lines("routes")]
    assert responses[:4] == [
        "User 42\n", "", "Page 'guide/first steps'\n", "Searching 'fast server', page 2\n"
    ]
    assert re.fullmatch(r'\{"connections":1,"requests":5\}\n', responses[4])


def test_routes_methods(start):
    program = start("routes")
    assert program.request("/users/42", method="DELETE").status == 204
    rejected = program.request("/users/42", method="PUT")
    assert rejected.status == 405 and {"GET", "HEAD", "DELETE"} <= rejected.allow()
    assert program.request("/users/").status == 404
    assert program.request("/search").status == 400


@pytest.mark.parametrize("fields, status", [([], 401), (["X-Api-Key: wrong"], 401),
                                            (["x-api-key: secret"], 200)])
def test_routes_middleware_rejects(start, fields, status):
    response = start("routes").request("/admin/stats", *fields)
    assert response.status == status
    # The handler does not run after a rejection.
    assert (b"connections" in response.body) == (status == 200)


def test_routes_middleware_runs_without_route(start):
    program = start("routes")
    assert program.request("/admin/else").status == 401
    assert program.request("/admin/else", "X-Api-Key: secret").status == 404


# route_table


def test_route_table_example(start, tmp_path):
    program = start("route_table")
    responses = [curl(line, program.port, tmp_path).stdout for line in curl_lines("route_table")]
    assert responses == ["Home\n", "User ada/lovelace\n", "User ada\n", "", "Page guide/first\n"]
    assert program.stop() == 0
    assert program.output.splitlines()[1:] == [
        "any other host   GET    / (middleware: 0)",
        "any other host   GET    /api/v1/users/:name (middleware: 1)",
        "any other host   DELETE /api/v1/users/:name (middleware: 2)",
        "docs.example.com any    /*page (middleware: 0)",
    ]


def test_route_table_middleware_runs_for_its_route(start):
    program = start("route_table")
    assert program.request("/").get("X-Api-Version") is None
    assert program.request("/api/v1/users/ada").get("X-Api-Version") == "1"
    assert program.request("/api/v1/users/ada", method="DELETE").status == 401
    assert program.request("/api/v1/none").get("X-Api-Version") is None


# echo


def test_echo_example(start, tmp_path):
    program = start("echo")
    (tmp_path / "picture.png").write_bytes((SITE / "waves.png").read_bytes())
    text, picture = curl_lines("echo")
    assert curl(text, program.port, tmp_path).stdout == "some text"
    assert curl(picture, program.port, tmp_path).returncode == 0
    assert (tmp_path / "back.png").read_bytes() == (SITE / "waves.png").read_bytes()


def test_echo_returns_body_and_type(start):
    program = start("echo")
    body = raw.pattern(1024 * 1024)
    response = program.request("/echo", "Content-Type: image/png", method="POST", body=body)
    assert response.status == 200 and response.body == body and response.get(
        "Content-Type") == "image/png"
    chunked = program.request("/echo", "Transfer-Encoding: chunked", method="POST",
                              body=raw.chunked(b"ab", b"cde"))
    assert chunked.body == b"abcde"


def test_echo_limits(start):
    program = start("echo")
    assert program.request("/echo", f"Content-Length: {1024 * 1024 + 1}",
                           method="POST").status == 413
    with program.connect() as idle:
        clients = [program.connect() for _ in range(99)]
        assert idle.request("POST", "/echo", body=b"x").body == b"x"
        for connection in clients:
            assert connection.request("POST", "/echo", body=b"y").body == b"y"
        with program.connect() as excess:
            assert excess.response().status == 503
        for connection in clients:
            connection.close()


# json_api


def test_json_api_example(start, tmp_path):
    program = start("json_api")
    added, all_of_them, one = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("json_api")
    ]
    assert added == one == '{"id":1,"title":"Milk"}' and all_of_them == f"[{one}]"


JSON = "Content-Type: application/json; charset=utf-8"


@pytest.mark.parametrize(
    "body, fields, status, error",
    [(b'{"title":"x"', [JSON], 400, "this is no JSON"), (b"", [JSON], 400, "this is no JSON"),
     (b"[" * 100_000, [JSON], 400, "this is no JSON"),
     (b'{"title":"x"} garbage', [JSON], 400, "this is no JSON"),
     (b'{"title":"x"}\0', [JSON], 400, "this is no JSON"),
     (b'{"title":"x"}{', [JSON], 400, "this is no JSON"),
     (b'{"title":7}', [JSON], 422, "title is not a text"),
     (b'["title"]', [JSON], 422, "title is not a text"),
     (b'{"title":"x"}', [], 415, "send application/json"),
     (b'{"title":"x"}', ["Content-Type: text/plain"], 415, "send application/json"),
     (b'{"title":"x"}', ["Content-Type: application/jsonfoo"], 415, "send application/json"),
     (b'{"title":7}', ["Content-Type: Application/JSON;a=b"], 422, "title is not a text"), ])
def test_json_api_rejects_invalid_requests(start, body, fields, status, error):
    response = start("json_api").request("/notes", *fields, method="POST", body=body)
    assert response.status == status and json.loads(response.body) == {"error": error}
    assert response.get("Content-Type").startswith("application/json")


def test_json_api_with_python_client(start):
    program = start("json_api")
    with httpx.Client(base_url=f"http://127.0.0.1:{program.port}", trust_env=False) as client:
        for number, title in enumerate(["Grüße", 'a "quote"', "line\nend", "\x07"], 1):
            response = client.post("/notes",
                                   json={"title": title, "id": 99, "more": {"deep": [1, 2]}})
            assert response.status_code == 201
            assert response.headers["Location"] == f"/notes/{number}"
            assert client.get(response.headers["Location"]).json() == response.json() == {
                "id": number, "title": title
            }
        assert [note["id"] for note in client.get("/notes").json()] == [1, 2, 3, 4]
        for absent in ("5", "x", "1x", "1%00", "-1", "99999999999999999999"):
            assert client.get(f"/notes/{absent}").status_code in (400, 404), absent
        assert client.post("/notes", content=b' {"title": "x"}\r\n ',
                           headers={"Content-Type": "application/json"}).status_code == 201


# static_files


def test_static_files_example(start, tmp_path):
    program = start("static_files", "0", SITE)
    whole, part, handler = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("static_files")
    ]
    assert whole.endswith((SITE / "index.html").read_text())
    assert "206" in part.split("\n")[0] and part.endswith((SITE / "style.css").read_text()[:100])
    assert handler == "Hello from a handler\n"


def test_static_files_default_is_sample_site(start):
    assert start("static_files").request("/files/style.css").body == (SITE /
                                                                      "style.css").read_bytes()


def test_static_files_names_missing_directory(program_of, tmp_path):
    done = subprocess.run([built(program_of("static_files")), "0",
                           str(tmp_path / "nowhere")], capture_output=True, text=True,
                          timeout=3 * SAFETY_TIMEOUT)
    assert done.returncode == 1
    assert "nowhere" in done.stderr and "no such file or directory" in done.stderr.lower()


# answer_from_thread


def test_answer_from_thread_example(start, tmp_path):
    program = start("answer_from_thread")
    line, = curl_lines("answer_from_thread")
    text = curl(line, program.port, tmp_path).stdout
    assert re.fullmatch(r"5000000050000000 \(worker \d+\)\n", text), text


def test_answer_from_thread_after_disconnects(start):
    program = start("answer_from_thread")
    for _ in range(20):
        connection = raw.Connection(program.port)
        connection.send(raw.request(target="/sum?to=20000000"))
        connection.reset()
    with raw.Connection(program.port) as connection:
        assert connection.request(target="/sum?to=10").body.startswith(b"55 ")


# later


def test_later_example(start, tmp_path):
    program = start("later")
    line, = curl_lines("later")
    assert curl(line.replace("1500", "20"), program.port,
                tmp_path).stdout == "Thank you for waiting\n"


def test_later_serves_other_requests(start):
    program = start("later")
    with program.connect() as patient, program.connect() as quick:
        patient.send(raw.request("GET", "/wait?ms=59000"))
        assert quick.request("GET", "/wait?ms=0").body == b"Thank you for waiting\n"
        assert quick.request("GET", "/wait?ms=60001").status == 400
        patient.assert_silent()
        patient.reset()
    eventually(lambda: read_available(program).count("the client did not wait") == 1,
               "the abort callback runs")
    assert program.stop() == 0


def read_available(program):
    """The output so far. The example prints to standard output."""
    os.set_blocking(program.process.stdout.fileno(), False)
    try:
        program.output += os.read(program.process.stdout.fileno(), 65536).decode()
    except BlockingIOError:
        pass
    return program.output


def test_later_second_signal_aborts(start):
    program = start("later")
    with program.connect() as patient, program.connect() as quick:
        patient.send(raw.request("GET", "/wait?ms=59000"))
        assert quick.request("GET", "/wait?ms=0").status == 200
        program.send_signal(15)
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", program.port)) != 0,
                   "the listener is closed")
        assert program.process.poll() is None
        program.send_signal(15)
        assert program.wait() == 0
    assert program.output.count("the client did not wait") == 1


# metrics (more of it in test_watching.py)


def test_metrics_example(start, tmp_path):
    log = tmp_path / "access.log"
    program = start("metrics", "0", str(log))
    hello, work, metrics, status = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("metrics")
    ]
    assert (hello, work) == ("Hello\n", "Done\n")
    assert "\nuvhttp_requests_total 3\n" in metrics
    assert json.loads(status)["requests"]["total"] == 4
    assert program.stop() == 0
    assert [line.split('"')[1] for line in log.read_text().splitlines()] == [
        "GET / HTTP/1.1", "GET /work HTTP/1.1", "GET /metrics HTTP/1.1",
        "GET /status?format=json HTTP/1.1"
    ]


def test_https_example(start, program_of, tmp_path):
    """The commands of its comment, which have two lines each."""
    text = EXAMPLES["https"].read_text().split("*/")[0].replace("\\\n *", "")
    make, = re.findall(r"^ \*     (openssl .*)$", text, re.M)
    assert subprocess.run(make, shell=True, cwd=tmp_path, capture_output=True).returncode == 0
    program = start("https", tmp_path / "certificate.pem", tmp_path / "key.pem", "0")
    line, = curl_lines("https")
    assert curl(line.replace(":8443/", f":{program.port}/"), program.port,
                tmp_path).stdout == "Hello over TLSv1.3\n"
    broken = Program(program_of("https"), "none.pem", "none.pem", "0", wait=False)
    assert broken.wait() == 1 and "certificate_file 'none.pem' cannot be opened" in broken.log()
    assert Program(program_of("https"), wait=False).wait() == 2


def test_metrics_reports_unopenable_log(program_of, tmp_path):
    program = Program(program_of("metrics"), "0", str(tmp_path / "none" / "log"), wait=False)
    assert program.wait() == 1
    assert "no such file" in program.log()


# bodies


def test_bodies_example(start, tmp_path):
    program = start("bodies")
    (tmp_path / "FILE").write_bytes(raw.pattern(3_000_000))
    count, upload, both = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("bodies")
    ]
    assert count == "1\n2\n3\n4\n5\n"
    assert upload == f"3000000 bytes, sum {sum(raw.pattern(3_000_000))}\n"
    assert both == "HELLO"
    with program.connect() as connection:
        assert connection.request("GET", "/count?to=300000").body == "".join(
            f"{i}\n" for i in range(1, 300_001)).encode()


def test_bodies_of_any_size_in_both_directions(start, tmp_path):
    program = start("bodies")
    (tmp_path / "FILE").write_bytes(b"some words\n" * 500_000)
    done = subprocess.run([
        "curl", "-sS", "--max-time", "60", "--limit-rate", "40M", "--data-binary",
        f"@{tmp_path}/FILE", "-o",
        str(tmp_path / "out"), f"http://127.0.0.1:{program.port}/upper"
    ], capture_output=True, text=True, env=clean_environment({"no_proxy": "*"}))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_bytes() == b"SOME WORDS\n" * 500_000


# blocking


def test_blocking_example(start, tmp_path):
    program = start("blocking")
    primes, report = [curl(line, program.port, tmp_path).stdout for line in curl_lines("blocking")]
    assert primes == "148933 primes below 2000000\n"
    assert report == "line 1\nline 2\nline 3\n"
    done = subprocess.run([
        "curl", "-sS", "--max-time", "600", "--limit-rate", "20M",
        f"http://127.0.0.1:{program.port}/report?lines=20000"
    ], capture_output=True, text=True, env=clean_environment({"no_proxy": "*"}))
    assert done.stdout == "".join(f"line {i}\n" for i in range(1, 20_001))


# topics


def test_topics_example(start, tmp_path):
    program = start("topics")
    line, = curl_lines("topics")
    assert curl(line, program.port, tmp_path).stdout == "0 are here\n"
    cooks = [Member(program.port, target="/rooms/kitchen") for _ in range(3)]
    guest = Member(program.port, target="/rooms/hall")
    eventually(lambda: curl(line, program.port, tmp_path).stdout == "3 are here\n",
               "all have joined")
    for cook in cooks:
        assert "dinner is ready" == cook.get()
    cooks[0].send_texts("coming")
    for cook in cooks[1:]:
        got = cook.get()
        while got == "dinner is ready":
            got = cook.get()
        assert got == "coming"
    with raw.Connection(program.port) as connection:
        assert connection.request("POST", "/rooms/hall", body=b"hello").body == b"1 are here\n"
        assert connection.request("POST", "/rooms/hall", body=b"\xff").status == 400
        assert connection.request("POST", "/rooms/%23", body=b"to all").status == 404
    assert guest.get() == "hello"
    with pytest.raises(AssertionError, match=" 403 "):
        Member(program.port, target="/rooms/%2B")


def test_topics_rejects_invalid_topic_name(start):
    """Before the upgrade: a client would reconnect after a close."""
    program = start("topics")
    Member(program.port, target=f"/rooms/{250 * 'a'}").socket.close()
    with pytest.raises(AssertionError, match=" 403 "):
        Member(program.port, target=f"/rooms/{251 * 'a'}")
    assert program.request(f"/rooms/{251 * 'a'}", "Content-Length: 0", method="POST").status == 404


# upgrade


def test_upgrade_example(start, tmp_path):
    program = start("upgrade")
    rejected, = [curl(line, program.port, tmp_path).stdout for line in curl_lines("upgrade")]
    assert rejected.startswith("HTTP/1.1 426 ") and "Upgrade: shout" in rejected
    command, = comment_lines("upgrade", "printf")
    text = "".join(shlex.split(command.split(" | ")[0])[2:])  # after printf and its format
    with program.connect() as connection:
        connection.send(text.encode().decode("unicode_escape").encode())
        assert connection.head()[0] == 101
        assert connection.receive_exactly(6) == b"HELLO\n"
        connection.send(b"a" * 1000)
        assert connection.receive_exactly(1000) == b"A" * 1000
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.rest() == b""
    eventually(lambda: "one has left" in read_available(program), "the end is reported")


# websocket_*: with the clients of examples/clients; the pages are tested in test_websocket_pages.py

CLIENTS = {"py": lambda: ["/usr/bin/python3"], "mjs": node_with_websocket}


@pytest.fixture
def client():
    """Starts a client of examples/clients, controlled by its standard input and output."""
    running = []

    def starter(name, *arguments):
        command = [*CLIENTS[name.split(".")[1]](), ROOT / "examples/clients" / name, *arguments]
        running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env=clean_environment()))
        return running[-1]

    yield starter
    for process in running:
        if process.returncode is None:
            process.kill()
            process.communicate()


def write_line(process, text):
    process.stdin.write(text)
    process.stdin.flush()


def line_of(process):
    """The next line of its output. A silent client is ended, so that the test fails instead of
    blocking."""
    hangs = threading.Timer(3 * SAFETY_TIMEOUT, process.kill)
    hangs.start()
    try:
        return process.stdout.readline()
    finally:
        hangs.cancel()


def test_websocket_client_example(start):
    """It sends its input and prints received messages. Its exit code reports whether the connection
    was closed normally."""
    command = [built("websocket_client"), start("websocket_echo").url + "echo"]
    done = subprocess.run(command, input="hello\nwörld\n\n", capture_output=True, text=True,
                          timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\nwörld\n\n", "")


@pytest.mark.parametrize("lines",
                         ["\n".join(map(str, range(100_000))) + "\n", 300 * f"{60_000 * 'x'}\n"],
                         ids=["many", "long"])
def test_websocket_client_limits_input_to_send_rate(start, tmp_path, lines):
    (tmp_path / "lines").write_text(lines)
    command = [built("websocket_client"), start("websocket_echo").url + "echo"]
    with open(tmp_path / "lines") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True,
                              timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == lines


def test_websocket_client_over_tls(tmp_path):
    """The page's command, with another certificate. Without it the server is not trusted."""
    cert = tls.certificate()
    server = WireServer(tls=str(cert))
    url = f"wss://localhost:{server.port}/ws/echo"
    for flags, code, out, errors in ((["--ca", cert], 0, "hello\n",
                                      ""), ([], 1, "", "self-signed and not trusted"),
                                     (["--ca", tmp_path / "none"], 1, "", "ca_file '")):
        done = subprocess.run([built("websocket_client"), *map(str, flags), url], input="hello\n",
                              capture_output=True, text=True, timeout=3 * SAFETY_TIMEOUT,
                              env=clean_environment())
        assert (done.returncode, done.stdout) == (code, out) and errors in done.stderr
    server.stop()


def test_websocket_client_reports_unsendable_input(start):
    command = [built("websocket_client"), start("websocket_echo").url + "echo"]
    done = subprocess.run(command, input=b"one\n\xfftwo\nthree\n", capture_output=True,
                          timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (1, b"one\nthree\n",
                                                           b"not sent, it is no UTF-8: \xfftwo\n")


# AddressSanitizer reports the stack of a thread that pthread_cancel ends in fgets.
@pytest.mark.release_only
def test_websocket_client_ends_with_server(start):
    """Also while it waits for input."""
    program = start("websocket_echo")
    with subprocess.Popen([built("websocket_client"), program.url + "echo"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=clean_environment()) as client:
        write_line(client, "hello\n")
        assert line_of(client) == "hello\n"
        assert program.stop() == 0
        assert client.wait(
            3 * SAFETY_TIMEOUT) == 1 and client.stderr.read().startswith("closed with 1001")


@pytest.mark.parametrize(
    "url, error", [("ws://127.0.0.1:{port}/",
                    "closed with 1006 cannot connect to 127.0.0.1:{port}: connection refused"),
                   ("wss://127.0.0.1:{port}/",
                    "closed with 1006 cannot connect to 127.0.0.1:{port}: connection refused"),
                   ("nonsense", "url is \"nonsense\"; must be ws[s]://host[:port]/path?query")])
def test_websocket_client_reports_connect_errors(url, error):
    port = free_port()
    done = subprocess.run(
        [built("websocket_client"), url.format(port=port)], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    assert done.returncode == 1 and error.format(port=port) in done.stderr


def test_websocket_echo_over_tls(start, tmp_path):
    """With the client of docs/websocket.md."""
    ca = tls.authority()
    both = tls.certificate("localhost", ca=ca)
    program = start("websocket_echo", "0", both, both.with_name("key.pem"))
    assert re.fullmatch(r"listening on wss://127\.0\.0\.1:\d+/echo", program.line)
    done = subprocess.run(
        [built("websocket_client"), "--ca", ca, f"wss://localhost:{program.port}/echo"],
        input="hello\nworld\n", capture_output=True, text=True, timeout=3 * SAFETY_TIMEOUT,
        env=clean_environment())
    assert (done.returncode, done.stdout) == (0, "hello\nworld\n"), done.stderr
    program = start("websocket_echo", "0", both, tls.default_cert(), wait=False)
    assert program.wait() == 1 and "the key does not match the certificate" in program.log()
    program = start("websocket_echo", "0", both, wait=False)
    assert program.wait() == 2 and program.log().startswith("usage: ")


@pytest.mark.parametrize("name", ["echo.py", "echo.mjs"])
def test_websocket_echo_example(start, client, name):
    program = start("websocket_echo")
    lines = f"hello\nwörld\n{list(range(30_000))}\n"
    assert client(name, program.url + "echo").communicate(lines, 3 * SAFETY_TIMEOUT)[0] == lines


@pytest.mark.parametrize("other", ["chat.py", "chat.mjs"])
def test_websocket_chat_example(start, client, other):
    """Two clients in one room and one in another. Messages and the number of clients are sent to
    the room."""
    program = start("websocket_chat")
    rooms = program.url.replace("http:", "ws:") + "chat/"
    ada, beside = client("chat.py", rooms + "kitchen", "ada"), client("chat.py", rooms + "cellar",
                                                                      "eve")
    assert line_of(ada) == "* ada joined, 1 here\n"
    bob = client(other, rooms + "kitchen", "bøb")
    assert line_of(ada) == line_of(bob) == "* bøb joined, 2 here\n"
    write_line(ada, "hello, all of <you>\n")
    assert line_of(ada) == line_of(bob) == "ada: hello, all of <you>\n"
    write_line(bob, "\n")
    assert line_of(ada) == line_of(bob) == "bøb: \n"
    assert bob.communicate(timeout=3 * SAFETY_TIMEOUT)[0] == "" and bob.returncode == 0
    assert line_of(ada) == "* bøb left, 1 here\n"
    assert ada.communicate(timeout=3 * SAFETY_TIMEOUT)[0] == "" and ada.returncode == 0
    assert beside.communicate(timeout=3 * SAFETY_TIMEOUT)[0] == "* eve joined, 1 here\n"


@pytest.mark.parametrize("path, status", [("chat/kitchen?nick=ada", 101), ("chat/kitchen", 403),
                                          ("chat/kitchen?nick=a%20b", 403),
                                          ("chat/%23?nick=a", 403), ("chat/a%2Fb?nick=a", 403),
                                          ("chat/+?nick=a", 403), (f"chat/{33 * 'a'}?nick=a", 403),
                                          ("chat/kitchen?nick=a%09b", 403),
                                          ("chat/kitchen?nick=a%0A", 403), ("chat/%01?nick=a", 403),
                                          ("chat/kitchen?nick=%7F", 403),
                                          (f"chat/kitchen?nick={10 * '%E3%81%82'}", 101),
                                          (f"chat/kitchen?nick={11 * '%E3%81%82'}", 403)])
def test_websocket_chat_rejects_special_names(start, path, status):
    program = start("websocket_chat")
    with program.connect() as connection:
        connection.send(ws_raw.handshake("/" + path))
        assert connection.head()[0] == status


@pytest.mark.parametrize("name", ["chat.py", "chat.mjs"])
def test_websocket_chat_clients_handle_special_characters(start, client, name):
    """A space that is not the end of a nick, a byte that is not the end of a text, and line
    ends."""
    program = start("websocket_chat")
    ada = client(name, program.url.replace("http:", "ws:") + "chat/kitchen", "ada")
    assert line_of(ada) == "* ada joined, 1 here\n"
    with ws_raw.WebSocket(program.port, "/chat/kitchen?nick=a%C2%A0b") as guest:
        assert line_of(ada) == "* a\xa0b joined, 2 here\n"
        guest.send(ws_raw.text("one  two\0three\nfour"))
        assert line_of(ada) == "a\xa0b: one  two\0three\n" and line_of(ada) == "four\n"
        guest.send(ws_raw.frame(ws_raw.BINARY, b"bytes"))
        while (opcode := guest.message()[0]) == ws_raw.TEXT:
            pass
        assert opcode == ws_raw.CLOSE
    assert line_of(ada) == "* a\xa0b left, 1 here\n"


@pytest.mark.parametrize("name", ["chat.py", "chat.mjs"])
def test_websocket_chat_clients_end_with_server(start, client, name):
    """Also while they wait for input."""
    program = start("websocket_chat")
    ada = client(name, program.url.replace("http:", "ws:") + "chat/kitchen", "ada")
    assert line_of(ada) == "* ada joined, 1 here\n"
    assert program.stop() == 0
    assert ada.wait(3 * SAFETY_TIMEOUT) == 1


@pytest.mark.parametrize("name, directory", [("websocket_chat", "examples/site_chat"),
                                             ("websocket_chart", "examples/site_chart")])
def test_websocket_examples_name_missing_directory(program_of, tmp_path, name, directory):
    program = Program(program_of(name), "0", wait=False, cwd=tmp_path)
    assert program.wait() == 1
    assert directory in program.log() and "no such file or directory" in program.log()


@pytest.mark.parametrize("name", ["websocket_echo", "websocket_chat", "websocket_chart", "topics"])
def test_websocket_examples_name_port_in_use(name):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        for port, reason in ((taken, "address already in use"), ("99999", "invalid argument"),
                             ("80a", "invalid argument")):
            program = Program(name, port, wait=False, cwd=ROOT)
            assert program.wait() == 1
            assert f"port {port}: {reason}\n" in program.log()


def test_websocket_chart_example(start):
    """All clients get the same samples, one each second. A later client gets the samples from then
    on."""
    program = start("websocket_chart")
    with ws_raw.WebSocket(program.port, "/live") as first, ws_raw.WebSocket(program.port,
                                                                            "/live") as second:
        samples = [first.message()[1], first.message()[1]]
        assert second.message()[1] in samples
    for sample in map(json.loads, samples):
        assert sample.keys() == {"requests", "kilobytes", "busy", "connections"}
        assert sample["connections"] == 2 and 0 <= sample["busy"] <= 100


# upload_file


def test_upload_file_example(start, tmp_path):
    directory = tmp_path / "stored"
    directory.mkdir()
    (tmp_path / "FILE").write_bytes(raw.pattern(3_000_000))
    program = start("upload_file", "0", directory)
    upload, download = curl_lines("upload_file")
    assert program.request("/files/FILE").status == 404
    assert curl(upload, program.port, tmp_path).stdout == "3000000 bytes stored\n"
    assert curl(upload, program.port, tmp_path).stdout == "3000000 bytes replaced\n"
    curl(download + " -o back", program.port, tmp_path)
    assert (tmp_path / "back").read_bytes() == raw.pattern(3_000_000)
    for body in (b"abc", b"abcd"):  # visible at once
        response = program.request("/files/x", method="PUT", body=body)
        assert (response.status, response.get("Location")) == (201 if body == b"abc" else 200,
                                                               "/files/x")
        assert program.request("/files/x").body == body
    assert program.request("/files/a%2Fb", method="PUT", body=b"abc").status == 400
    assert sorted(os.listdir(directory)) == ["FILE", "x"]


# shared_folder


def test_shared_folder_example(start, tmp_path):
    directory = tmp_path / "shared"
    directory.mkdir()
    (tmp_path / "FILE").write_bytes(raw.pattern(3_000_000))
    program = start("shared_folder", "0", directory)
    put, form, download, changed = curl_lines("shared_folder")
    assert program.request("/FILE", method="PUT", body=b"abc").status == 401
    assert curl(put, program.port, tmp_path).stdout == "201 Created\n"
    assert curl(put, program.port, tmp_path).stdout == ""
    assert curl(form, program.port, tmp_path).stdout == "/FILE\n"
    curl(download + " -o back", program.port, tmp_path)
    assert (tmp_path / "back").read_bytes() == raw.pattern(3_000_000)
    assert "412 Precondition Failed" in curl(changed, program.port, tmp_path).stdout
    eventually(lambda: os.listdir(directory) == ["FILE"], "no other file is left")


# form_upload


def test_form_upload_example(start, tmp_path):
    directory = tmp_path / "kept"
    directory.mkdir()
    (tmp_path / "FILE").write_bytes(raw.pattern(3_000_000))
    program = start("form_upload", "0", directory)
    page, form = curl_lines("form_upload")
    assert "enctype=multipart/form-data" in curl(page, program.port, tmp_path).stdout
    assert curl(form, program.port, tmp_path).stdout == "A trip\nFILE, 3000000 bytes: kept\n"
    assert curl(form, program.port,
                tmp_path).stdout == "A trip\nFILE, 3000000 bytes: file already exists\n"
    eventually(lambda: os.listdir(directory) == ["FILE"], "the second file is removed")
    assert (directory / "FILE").read_bytes() == raw.pattern(3_000_000)
    extra = shlex.split(form)[-1].replace(":8080/", f":{program.port}/")
    done = curl(f"curl -F photo=@FILE;filename=../../.x -F empty=@/dev/null;filename= {extra}",
                program.port, tmp_path)
    assert done.stdout.startswith("without a title\n_x, 3000000 bytes: kept\n")
    assert sorted(os.listdir(directory)) == ["FILE", "_x"]


# events


def test_events_example(start, tmp_path):
    program = start("events")
    page, clock = curl_lines("events")
    assert "new EventSource('/clock')" in curl(page, program.port, tmp_path).stdout
    text = curl(clock, program.port, tmp_path).stdout
    assert text.startswith("retry: 2000\n\n")
    assert re.search(r"id: [0-9a-f]+-\d+\ndata: [\d:]{8}\n\n", text)
    # It stops although a client listens. The stream ends regularly.
    with program.connect() as connection:
        connection.send(raw.request("GET", "/clock"))
        connection.head()
        assert program.stop() == 0
        assert connection.rest().endswith(b"\r\n0\r\n\r\n")


# middleware


def test_middleware_example(start, tmp_path):
    program = start("middleware")
    responses = [curl(line, program.port, tmp_path).stdout for line in curl_lines("middleware")]
    assert [response.split()[1] for response in responses] == ["200", "401", "200", "200"]
    assert [
        response.rpartition("\n\n")[2]
        for response in (response.replace("\r", "") for response in responses)
    ] == ["hello, everybody\n", "401 Unauthorized\n", "hello, you\n", "hello, at last\n"]
    assert all("\nserver-timing: total;dur=" in response.lower() for response in responses)
    assert "\nwww-authenticate: Bearer" in responses[1].replace("WWW-Authenticate",
                                                                "www-authenticate")
    with program.connect() as connection:
        assert connection.request("GET", "/nowhere").get("Server-Timing").startswith("total;dur=")
    with program.connect() as connection:
        connection.send(raw.request("GET", "/slow/"))
        connection.reset()


# limits, body_etag, signed_cookie; more of them in test_limits_for_clients.py


def test_limits_example(start, tmp_path):
    program = start("limits")
    responses = [
        curl(line, program.port, tmp_path).stdout.replace("\r", "") for line in curl_lines("limits")
    ]
    assert [response.split()[1] for response in responses] == ["200", "200", "200"]
    assert responses[2].endswith("\n\n9 bytes\n")
    # The address twice, the key once.
    assert [re.search(r'"each";r=(\d);t=\d+\n', response)[1]
            for response in responses] == ["4", "4", "3"]
    with program.connect() as connection:
        statuses = [connection.request("GET", "/api/time").status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert program.request("/api/count", "X-Api-Key: k1", "Content-Length: 1001",
                           method="POST").status == 413


def test_body_etag_example(start, tmp_path):
    program = start("body_etag")
    responses = [
        curl(line, program.port, tmp_path).stdout.replace("\r", "")
        for line in curl_lines("body_etag")
    ]
    assert [response.split()[1] for response in responses] == ["200", "304", "200"]
    assert ["\nETag: " in response for response in responses] == [True, True, False]
    assert responses[1].endswith("\n\n") and "\nCache-Control: no-cache\n" in responses[1]


def test_compressed_example(start, tmp_path):
    program = start("compressed")
    responses = [
        curl(line, program.port, tmp_path).stdout.replace("\r", "")
        for line in curl_lines("compressed")
    ]
    head, body = responses[0].split("\n\n", 1)
    assert "\nContent-Encoding: " in head and len(json.loads(body)) == 200
    assert responses[1].endswith("\n1000,1000000,1000000000\n")
    assert responses[2] == "data: number 1\n\ndata: number 2\n\ndata: number 3\n\n"


def test_signed_cookie_example(start, tmp_path):
    program = start("signed_cookie")
    responses = [
        curl(line, program.port, tmp_path).stdout.replace("\r", "")
        for line in curl_lines("signed_cookie")
    ]
    assert [response.split()[1] for response in responses] == ["303", "200", "401", "303"]
    assert responses[1].endswith("\n\nhello, ada\n") and responses[2].endswith("\n\nlog in first\n")
    assert "Max-Age=3600" in responses[0] and "Max-Age=0" in responses[3]
    # The cookie of a deleted session is invalid.
    kept = re.search(r"Set-Cookie: (user=[^;]+)", responses[3])[1]
    assert program.request("/",
                           f"Cookie: {kept}").body == b"you have been away for long: log in again\n"


# cors, passwords, tokens, careful_site (more of what they use in test_guards.py)


def fields_of(response):
    """The status and the fields of a response that curl -i printed, with names in lower case."""
    status, *lines = response.replace("\r", "").partition("\n\n")[0].split("\n")
    return int(status.split()[1]), {
        line.split(": ", 1)[0].lower(): line.split(": ", 1)[1]
        for line in lines
    }


def test_cors_example(start, tmp_path):
    program = start("cors")
    responses = [
        fields_of(curl(line, program.port, tmp_path).stdout) for line in curl_lines("cors")
    ]
    assert [status for status, _ in responses] == [200, 204, 200, 200, 403]
    allowed = [fields.get("access-control-allow-origin") for _, fields in responses]
    assert allowed == [
        "https://app.example.com", "https://app.example.com", "https://preview.example.org", None,
        None
    ]
    assert responses[1][1]["access-control-allow-methods"] == "GET, PUT" and responses[1][1][
        "access-control-max-age"] == "600"
    assert all(fields["vary"] == "Origin" for _, fields in responses)
    assert program.request("/api/count").body == b"41\n"


def test_cors_reports_origin_that_never_matches(program_of):
    program = Program(program_of("cors"), "0", "https://app.example.com/", wait=False)
    assert program.wait() == 1
    assert program.log().startswith('origins is "https://app.example.com/"; allowed are ')


def test_passwords_example(start, tmp_path):
    program = start("passwords")
    everybody, challenged, ada, guessed = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("passwords")
    ]
    assert everybody.endswith("\n\nHello, guest\n") and ada.endswith("\n\nHello, ada\n")
    for response in (challenged, guessed):
        status, fields = fields_of(response)
        assert status == 401 and fields[
            "www-authenticate"] == 'Basic realm="the engine room", charset="UTF-8"'
        assert "Hello" not in response
    assert program.stop() == 0
    logged = [(line.split()[2], line.split()[-2]) for line in program.output.splitlines()[1:]]
    assert logged == [("-", "200"), ("-", "401"), ("ada", "200"), ("-", "401")]


def test_tokens_example(start, tmp_path):
    program = start("tokens")
    responses = [curl(line, program.port, tmp_path).stdout for line in curl_lines("tokens")]
    challenge = 'Bearer realm="restricted"'
    assert [fields_of(response)[0] for response in responses] == [401, 200, 403, 200, 401]
    assert [fields_of(response)[1].get("www-authenticate") for response in responses] == [
        f'{challenge}, scope="write"', None,
        f'{challenge}, error="insufficient_scope", scope="write"', None,
        f'{challenge}, error="invalid_token", scope="write"'
    ]
    assert responses[1].endswith("\nread by the reader\n") and responses[3].endswith(
        "\ndeleted by the writer\n")
    with program.connect() as connection:
        connection.send(raw.request("GET", "/notes", "Authorization: Bearer reader-7f3a") * 3)
        connection.reset()


def test_careful_site_example(start, tmp_path):
    program = start("careful_site", "0", SITE)
    responses = [curl(line, program.port, tmp_path).stdout for line in curl_lines("careful_site")]
    ids = [fields_of(response)[1]["x-request-id"] for response in responses]
    assert [fields_of(response)[0]
            for response in responses] == [200, 404, 200] and len(set(ids)) == 3
    for response in responses:
        _, fields = fields_of(response)
        assert fields["x-content-type-options"] == "nosniff" and fields[
            "content-security-policy"].startswith("default-src 'self';")
    assert responses[2].endswith(f"your request is {ids[2]}\n")
    etag = program.request("/style.css").get("ETag")
    unchanged = program.request("/style.css", f"If-None-Match: {etag}")
    assert unchanged.status == 304 and unchanged.get("X-Frame-Options") == "SAMEORIGIN"
    part = program.request("/large.txt", "Range: bytes=1-2")
    assert part.status == 206 and part.get("X-Request-Id") and part.get("Referrer-Policy")
    assert program.stop() == 0
    logged = [line.split() for line in program.output.splitlines()[1:]]
    assert [line[:3] for line in logged[:3]] == [["127.0.0.1", "200", "/style.css"],
                                                 ["127.0.0.1", "404", "/nowhere"],
                                                 ["127.0.0.1", "200", "/status"]]
    assert [line[3] for line in logged[:3]] == ids


def test_careful_site_rejects_other_addresses(start, program_of):
    program = start("careful_site", "0", SITE, "10.0.0.0/8")
    rejected = program.request("/status")
    assert rejected.status == 403 and rejected.get(
        "X-Frame-Options") == "SAMEORIGIN" and rejected.get("X-Request-Id")
    assert b"connections" not in rejected.body and program.request("/style.css").status == 200
    broken = Program(program_of("careful_site"), "0", str(SITE), "10.1.2.3/8", wait=False)
    assert broken.wait() == 1 and broken.log().startswith('rules[0] is "10.1.2.3/8"; allowed are ')


# embed_in_loop, unix_socket, behind_proxy


def test_embed_in_loop_example(start, tmp_path):
    other = free_port()
    program = start("embed_in_loop", "0", str(other))
    http, telnet = curl_lines("embed_in_loop")
    assert re.fullmatch(r"running for \d+ seconds\n", curl(http, program.port, tmp_path).stdout)
    words = shlex.split(telnet.replace("8081", str(other)).replace("< /dev/null", ""))
    shown = subprocess.run(["curl", "-sS", "--max-time", "60", *words[1:]],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           env=clean_environment({"no_proxy": "*"})).stdout
    assert re.fullmatch(r"\d+\n", shown)
    assert program.stop() == 0


def test_embed_in_loop_fails_with_second_port_in_use(program_of):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        program = Program(program_of("embed_in_loop"), "0", str(taken.getsockname()[1]), wait=False)
        assert program.wait() == 1
    assert "address already in use" in program.log()


def start_unix_socket(name, path, **options):
    program = Program(name, path, wait=False, cwd=ROOT, **options)
    eventually(lambda: read_available(program).count("\n") == 1, "the server listens")
    return program


def test_unix_socket_example(program_of, tmp_path):
    path = str(tmp_path / "socket")
    program = start_unix_socket(program_of("unix_socket"), path)
    try:
        line, = curl_lines("unix_socket")
        line = line.replace("/tmp/uvhttp.sock", path)
        assert curl(line, 0, tmp_path).stdout == "Hello, unix: connection 1, request 1\n"
        transport = httpx.HTTPTransport(uds=path)
        with httpx.Client(transport=transport, trust_env=False) as client:
            responses = [client.get("http://localhost/").text for _ in range(2)]
        assert responses == [f"Hello, unix: connection 2, request {n}\n" for n in (1, 2)]
        assert os.stat(path).st_mode & 0o777 == 0o660
    finally:
        assert program.stop() == 0
    assert not os.path.exists(path)


def test_unix_socket_activation(program_of, tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        # As systemd does: the socket is descriptor 3, and LISTEN_PID is the process.
        script = 'exec 3<&"$1"; shift; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        number = listener.fileno()
        wrapper = ["bash", "-c", script, "bash", str(number)]
        program = start_unix_socket(program_of("unix_socket"), str(tmp_path / "none"),
                                    wrapper=wrapper, pass_fds=[number])
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=path), trust_env=False) as client:
            assert client.get("http://localhost/").text == "Hello, unix: connection 1, request 1\n"
    finally:
        assert program.stop() == 0
    assert program.output == "listening on the socket it was started with\n"
    assert os.path.exists(path), "the socket file is not removed"


def test_unix_socket_reports_listen_errors(program_of, tmp_path):
    path = tmp_path / ("long" * 40)
    program = Program(program_of("unix_socket"), str(path), wait=False)
    assert program.wait() == 1
    assert "the path of a socket is limited to 107 bytes" in program.log()


def test_behind_proxy_example(start, tmp_path):
    program = start("behind_proxy")
    proxied, plain = [
        curl(line, program.port, tmp_path).stdout for line in curl_lines("behind_proxy")
    ]
    assert proxied == ("client 192.0.2.1 by way of 127.0.0.1\nthis page is "
                       "https://www.example.com/\n")
    assert plain == (f"client 127.0.0.1 by way of 127.0.0.1\nthis page is "
                     f"http://127.0.0.1:{program.port}/\n")


def test_behind_proxy_ignores_untrusted_fields(start):
    program = start("behind_proxy", "0", "10.0.0.0/8")
    fields = {
        "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "www.example.com"
    }
    with httpx.Client(trust_env=False) as client:
        text = client.get(f"http://127.0.0.1:{program.port}/a", headers=fields).text
    assert text == (f"client 127.0.0.1 by way of 127.0.0.1\nthis page is "
                    f"http://127.0.0.1:{program.port}/a\n")


# broadcast


def test_broadcast_example(start, tmp_path):
    program = start("broadcast")
    _, write_line, end = curl_lines("broadcast")
    with program.connect() as first, program.connect() as second:
        for connection in (first, second):
            connection.send(raw.request("GET", "/events"))
            assert connection.head()[0] == 200
            assert read_event(connection) == "retry: 1000\ndata: welcome"
        assert curl(write_line, program.port, tmp_path).stdout == "heard by 2\n"
        assert read_event(first) == read_event(second) == "id: 1\nevent: said\ndata: hello, all"
        second.reset()
        eventually(lambda: curl(write_line, program.port, tmp_path).stdout == "heard by 1\n",
                   "the server removes disconnected clients")
        assert curl(end, program.port, tmp_path).stdout == ""
        while (text := read_event(first)) is not None:
            assert "said" in text


def read_event(connection):
    """The next chunk of a response, which is one event; None at its end."""
    size = b""
    while not size.endswith(b"\r\n"):
        size += connection.receive_exactly(1)
    text = connection.receive_exactly(int(size, 16) + 2).decode()
    return text.strip() if int(size, 16) else None


# parse_whole, parse_ring, parse_proxy: the parser alone, from standard input or a file to standard
# output


def parse(name, message, *arguments):
    """(exit code, output, errors) of an example that reads a message from its standard input."""
    done = subprocess.run([built(name), *map(str, arguments)], input=message, capture_output=True,
                          timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    return done.returncode, done.stdout, done.stderr.decode()


def run_comment_commands(name):
    """The same for each command in its comment."""
    directory = pathlib.Path(built(name)).parent
    for line in comment_lines(name, "printf"):
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=directory,
                              timeout=3 * SAFETY_TIMEOUT)
        yield done.returncode, done.stdout, done.stderr


def lines(*texts):
    return "".join(f"{text}\n" for text in texts)


CHUNKED = b"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.startswith("parse_")])
def test_parser_examples_link_only_the_parser(name):
    libraries = subprocess.run(["ldd", built(name)], capture_output=True, text=True,
                               check=True).stdout
    assert "libuv" not in libraries and "mimalloc" not in libraries


def test_testing_example(program_of):
    result = subprocess.run([built(program_of("testing"))], capture_output=True, text=True,
                            timeout=60)
    assert (result.returncode, result.stdout) == (0, "5 of 5 tests passed\n")


def test_parse_whole_example():
    request, response, rejected = run_comment_commands("parse_whole")
    assert request == (0,
                       lines("method: GET", "authority: example.com", "path: /find",
                             "query: q = fast server", "field: Host = example.com",
                             "connection: keep-alive"), "")
    assert response == (0,
                        lines("status: 200", "phrase: OK", "field: Transfer-Encoding = chunked",
                              "connection: keep-alive", "body: hello"), "")
    assert rejected == (1, "", "refused at byte 20: white space between a field name and the colon"
                        " (RFC 9112 5.1, status 400)\n")


@pytest.mark.parametrize(
    "message, wanted",
    [(b"POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello, ignored",
      ["connection: close", "body: hello"]),
     (b"GET /?a=%26b&c HTTP/1.1\r\nHost: h\r\n\r\n", ["query: a = &b", "query: c = "]),
     (b"GET /?a=1&b=%4 HTTP/1.1\r\nHost: h\r\n\r\n",
      ["query: a = 1", "query: malformed from here on"]),
     (b"HTTP/1.0 200 Fine\r\nServer: s\r\n\r\nto the end", ["phrase: Fine", "body: to the end"]),
     (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n",
      ["body: abcde", "trailer: X-Sum = 5"]), ])
def test_parse_whole_prints_message(tmp_path, message, wanted):
    code, output, errors = parse("parse_whole", message)
    assert (code, errors) == (0, "")
    assert set(wanted) <= set(output.decode().split("\n"))
    (tmp_path / "message").write_bytes(message)
    assert parse("parse_whole", b"", tmp_path / "message") == (0, output, "")


@pytest.mark.parametrize(
    "message, error",
    [(b"", "the message is incomplete"),
     (b"GET / HTTP/1.1\r\nHost: h\r\n", "the message is incomplete"),
     (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell", "the message is incomplete"),
     (CHUNKED + b"5\r\nhello\r\n0\r\n", "the message is incomplete"),
     (b"GET / HTTP/1.1\r\n\r\n",
      "refused at byte 0: the Host field is missing (RFC 9112 3.2, status 400)"),
     (CHUNKED + b"5x\r\n", f"refused at byte {len(CHUNKED) + 1}: a chunk size is malformed"),
     (CHUNKED + b"0\r\nX: y\r\nHost: h\r\n\r\n",
      f"refused at byte {len(CHUNKED) + 9}: trailers must not have fields that control framing or "
      f"routing"
      ), (b"HTTP/1.1 20 OK\r\n\r\n", "the status line is malformed"),
     (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 16384, "the header section is too large"), ])
def test_parse_whole_rejects_invalid_message(message, error):
    code, _, errors = parse("parse_whole", message)
    assert code == 1 and error in errors


def test_parse_whole_names_missing_file():
    code, output, errors = parse("parse_whole", b"", "nowhere")
    assert (code, output) == (1, b"") and errors.startswith("nowhere: ")


def test_parse_ring_example():
    two, chunked, rejected = run_comment_commands("parse_ring")
    assert two == (0,
                   lines("GET /a from a", "  query: x = 1+1", "  field: Host = a",
                         "  field: Cookie = id=7; theme=dark", "  cookie: id = 7",
                         "  cookie: theme = dark", "GET /b from b", "  field: Host = b"), "")
    assert chunked == (0,
                       lines("POST /c from a", "  field: Host = a",
                             "  field: Transfer-Encoding = chunked", "  body: hello world"), "")
    assert rejected == (1, "", "byte 0: the Host field is missing (status 400)\n")


@pytest.mark.parametrize("size", [64, 65, 71, 100, 4096])
def test_parse_ring_with_small_buffer(tmp_path, size):
    body = "".join(f"{i:8}" for i in range(2000))
    messages = wanted = ""
    for i in range(10):
        # Of different lengths, so that every part of a request crosses the end of the ring.
        name = "x" * i
        messages += f"PUT /{name} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        messages += f"GET /{name} HTTP/1.1\r\nHost: h\r\n\r\n"
        wanted += lines(f"PUT /{name} from h", "  field: Host = h",
                        f"  field: Content-Length = {len(body)}", f"  body: {body}",
                        f"GET /{name} from h", "  field: Host = h")
    (tmp_path / "messages").write_text(messages, newline="")
    code, output, errors = parse("parse_ring", b"", tmp_path / "messages", size)
    assert (code, output.decode(), errors) == (0, wanted, "")


@pytest.mark.parametrize(
    "message, error",
    [(b"GET / HTTP/1.1\r\nHost: h\r\n",
      "byte 0: the input ends before the message is complete (status 400)"),
     (CHUNKED + b"5\r\nhell",
      f"byte {len(CHUNKED) + 7}: the input ends before the message is complete (status 400)"),
     (CHUNKED + b"1\r\nab\r\n",
      f"byte {len(CHUNKED) + 4}: a chunk does not end with CR LF (status 400)"),
     (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 4096,
      "byte 4096: the header section is too large (status 431)"),
     (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n",
      "byte 0: the body is too large (status 413)"), ])
def test_parse_ring_rejects_invalid_message(message, error):
    fine = b"GET / HTTP/1.1\r\nHost: before\r\n\r\n"
    code, output, errors = parse("parse_ring", message)
    assert (code, output, errors) == (1, b"", error + "\n")
    code, output, errors = parse("parse_ring", fine + message, "/dev/stdin", 8192)
    assert code == 1 and b"before" in output


def test_parse_proxy_example():
    counted, chunked = run_comment_commands("parse_proxy")
    head = ["host: a", "via: 1.1 parse_proxy", "transfer-encoding: chunked", ""]
    assert counted == (0, lines("POST /up HTTP/1.1", *head, "5", "hello", "0", ""), "")
    assert chunked == (0, lines("PUT / HTTP/1.1", *head, "2", "ab", "1", "c", "0", "Sum: 3",
                                ""), "")


def unchunk(data):
    """The body at the beginning of `data`, the number of its chunks, and the data after its last
    chunk line."""
    body, count = b"", 0
    while True:
        line, data = data.split(b"\r\n", 1)
        size = int(line, 16)
        if size == 0:
            return body, count, data
        assert data[size:size + 2] == b"\r\n"
        body, data, count = body + data[:size], data[size + 2:], count + 1


def test_parse_proxy_forwards_body_larger_than_buffer():
    body = raw.pattern(200_000)
    sizes = [1, 2, 4095, 4096, 4097, 50_000]
    chunks, at = [], 0
    while at < len(body):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(body[at:at + size])
        at += size
    message = b"PUT /counted HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + body
    message += b"PUT /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    message += raw.chunked(*chunks)[:-2] + b"X-Trailer: t\r\n\r\n"
    message += b"GET /last HTTP/1.1\r\nHost: h\r\n\r\n"
    code, rest, errors = parse("parse_proxy", message)
    assert (code, errors) == (0, "")
    for target, trailer in ((b"/counted", b""), (b"/chunked", b"X-Trailer: t\r\n")):
        head, rest = rest.split(b"\r\n\r\n", 1)
        assert head.startswith(
            b"PUT " +
            target) and b"transfer-encoding: chunked" in head and b"Content-Length" not in head
        passed, count, rest = unchunk(rest)
        assert passed == body and count >= 200_000 / 4096
        assert rest.startswith(trailer + b"\r\n")
        rest = rest[len(trailer) + 2:]
    assert rest == b"GET /last HTTP/1.1\r\nhost: h\r\nvia: 1.1 parse_proxy\r\n\r\n"


def test_parse_proxy_removes_hop_by_hop_fields():
    message = (
        b"GET http://real/x HTTP/1.0\r\nHost: claimed\r\nConnection: X-One , keep-alive\r\nx-one: "
        b"1\r\nX-Two: 2\r\n"
        b"Connection: x-three\r\nX-Three: 3\r\nKeep-Alive: timeout=5\r\nTE: "
        b"trailers\r\nContent-Length: 0\r\n\r\n"
    )
    code, output, errors = parse(
        "parse_proxy",
        message + b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nnot looked at")
    assert (code, errors) == (0, "")
    assert output == (
        b"GET http://real/x HTTP/1.1\r\nhost: real\r\nX-Two: 2\r\nvia: 1.0 "
        b"parse_proxy\r\ncontent-length: 0\r\n\r\n"
        b"GET / HTTP/1.1\r\nhost: h\r\nvia: 1.1 parse_proxy\r\n\r\n")


def test_parse_proxy_adds_missing_host():
    assert parse(
        "parse_proxy",
        b"GET / HTTP/1.0\r\n\r\n") == (0,
                                       b"GET / HTTP/1.1\r\nhost: \r\nvia: 1.0 parse_proxy\r\n\r\n",
                                       "")


@pytest.mark.parametrize(
    "message, error",
    [(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 4096, "431: the header section is too large"),
     (b"GET / HTTP/1.1\r\n\r\n", "400: the Host field is missing"),
     (CHUNKED + b"-1\r\n", "400: a chunk size is malformed"),
     (CHUNKED + b"0\r\nContent-Length: 1\r\n\r\n",
      "400: trailers must not have fields that control framing or routing"),
     (CHUNKED + b"0\r\nX: " + b"y" * 4096, "431: the trailer section is too large"),
     (CHUNKED + b"0\r\nX: y\r\n", "the input ends inside a request"),
     (CHUNKED + b"5\r\nhell", "the input ends inside a request"),
     (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell",
      "the input ends inside a request"), (b"GET / HTT", "the input ends inside a request"), ])
def test_parse_proxy_rejects_invalid_message(message, error):
    code, output, errors = parse("parse_proxy", message)
    assert (code, errors) == (1, error + "\n")
    # No output that would complete a request for the next server.
    assert not output.endswith(b"\r\n0\r\n\r\n")


def form(body, type="multipart/form-data; boundary=b"):
    return (
        f"POST /up HTTP/1.1\r\nHost: h\r\nContent-Type: {type}\r\nContent-Length: "
        f"{len(body)}\r\n\r\n"
        .encode() + body)


PART = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n"


def test_parse_multipart_example(tmp_path):
    (done, ) = run_comment_commands("parse_multipart")
    assert done == (0, lines("/up", "part 1: name=a filename=../b.txt bytes=5", "complete"), "")
    large = raw.pattern(100_000) + b"\r\n--\r\n--a"
    (tmp_path / "message"
     ).write_bytes(form(PART + large + b"\r\n" + PART + b"\r\n--b--\r\n") + b"another message")
    (tmp_path / "parts").mkdir()
    code, output, errors = parse("parse_multipart", b"", tmp_path / "message", tmp_path / "parts")
    assert (code, errors) == (0, "")
    assert output.decode() == lines("/up", f"part 1: name=a bytes={len(large)}",
                                    "part 2: name=a bytes=0", "complete")
    assert {path.name: path.read_bytes()
            for path in (tmp_path / "parts").iterdir()} == {"1": large, "2": b""}


@pytest.mark.parametrize("message, error", [
    (b"GET / HTTP/1.1\r\nHost: h\r\n", "the head is incomplete"),
    (b"GET / HTTP/1.1\r\n\r\n", "the Host field is missing"),
    (form(PART + b"1"),
     "byte 48 of the body, status 400, refused: the body ends before the closing delimiter"),
    (form(PART + b"1\r\n--b--")[:-2],
     "byte 53 of the body, status 400, refused: the body ends before the closing delimiter"),
    (form(b"x" * 2000),
     "byte 1024 of the body, status 413, refused: the preamble or the epilogue is too large"),
])
def test_parse_multipart_rejects_invalid_form(tmp_path, message, error):
    (tmp_path / "message").write_bytes(message)
    code, _, errors = parse("parse_multipart", b"", tmp_path / "message")
    assert code == 1 and error in errors


def test_parse_multipart_rejects_large_part():
    code, _, errors = parse("parse_multipart", form(PART + bytes(64 * 1024 * 1024 + 1)))
    assert (code,
            errors) == (1, "byte 67108911 of the body, status 413, refused: a part is too large\n")


def test_parse_multipart_reports_write_errors(tmp_path):
    code, _, errors = parse("parse_multipart", form(PART + b"1\r\n--b--"), "/dev/stdin",
                            tmp_path / "missing")
    assert (code, errors) == (1, "refused: a part cannot be stored\n")


# notes; test_notes.py has all of it


def test_notes_example(start, tmp_path):
    program = start("notes", "0", str(tmp_path / "notes.json"),
                    environment={"NOTES_TOKEN": "secret"})
    added, listed = [json.loads(curl(line, program.port, tmp_path).stdout)
                     for line in curl_lines("notes")]
    assert added["title"] == "Milk" and listed == [added]


# The sample site


@pytest.fixture(scope="module")
def site_program():
    program = Program("uvhttp", "serve", "-l", "127.0.0.1:0", SITE)
    yield program
    assert program.stop() == 0, program.log()


def links(text):
    return re.findall(r'(?:href|src)="([^"]+)"', text)


def test_sample_site_has_no_dead_link(site_program):
    broken = []
    for page in ("/", "/download.html"):
        text = site_program.request(page).body.decode()
        assert links(text)
        for link in links(text):
            if site_program.request(urllib.parse.urljoin(page, link)).status != 200:
                broken.append(link)
    assert broken == ["nowhere.html"]  # this link demonstrates a 404


@pytest.mark.parametrize("name, media_type",
                         [("index.html", "text/html"), ("style.css", "text/css"),
                          ("mark.svg", "image/svg+xml"), ("path.svg", "image/svg+xml"),
                          ("waves.png", "image/png"), ("large.txt", "text/plain")])
def test_sample_site_files(site_program, name, media_type):
    response = site_program.request(f"/{name}")
    assert response.get("Content-Type").startswith(media_type)
    assert response.body == (SITE / name).read_bytes()


def test_sample_site_large_file_matches_its_page(site_program):
    content = site_program.request("/large.txt").body
    assert len(content) == 1 << 20
    lines = content.split(b"\n")
    assert lines.pop() == b"" and len(lines) == 16384
    for i, line in enumerate(lines):
        assert len(line) == 63 and int(line[:10]) == 64 * i
    part = site_program.request("/large.txt", "Range: bytes=640-703")
    assert part.status == 206 and part.body == lines[10] + b"\n"


def test_sample_site_needs_no_inline_script():
    for page in SITE.glob("*.html"):
        text = page.read_text()
        assert set(re.findall("<script[^>]*>", text)) <= {'<script src="address.js" defer>'}
        assert not [link for link in links(text) if "//" in link], "no resource is external"


def test_sample_site_directory_without_index_is_listed(site_program):
    listing = site_program.request("/files/").body.decode()
    for name in (SITE / "files").iterdir():
        # "%" must be encoded in links, so the plain name occurs in the text only.
        assert name.name.replace("&", "&amp;") in listing, name
    for link in re.findall(r'href="([^#"][^"]*)"', listing):
        assert site_program.request(urllib.parse.urljoin("/files/", link)).status == 200, link
