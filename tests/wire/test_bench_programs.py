"""The benchmark servers: their responses, the build type in their output with a warning unless it
is Release, and the rejection of wrong arguments. No test measures their speed."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import program
import raw
from program import Program
from wire_server import built

SITE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/site"
TEXT = b"Hello, world\n"
# Not built with BUILD_WITH_WEBSOCKET=OFF.
WEBSOCKET = (pathlib.Path(os.environ["UVHTTP_BUILD_DIR"]) / "dist/bin/benchmark_websocket").exists()
SERVERS = {
    "benchmark_rps": ["0"], "benchmark_unified": ["0"],
    "overload_server": ["--guard", "1", "--work", "1", "0"],
    "performance_static_server": ["-d", SITE, "-p",
                                  "0"], **({"benchmark_websocket": ["0"]} if WEBSOCKET else {})
}


def content(size):
    return (TEXT * (size // len(TEXT) + 1))[:size]


@pytest.fixture
def start():
    running = []

    def starter(name, *arguments):
        one = Program(name, *arguments, wait=False)
        running.append(one)
        text = b""
        while b"listening on" not in text or not text.endswith(b"\n"):
            chunk = os.read(one.process.stdout.fileno(), 4096)
            assert chunk, one.log()
            text += chunk
        one.output = text.decode()
        one.port = int(re.search(r"listening on http://127\.0\.0\.1:(\d+)/\n", one.output)[1])
        return one

    yield starter
    for one in running:
        if one.process.returncode is None:
            # the baseline server has no handler of its own
            assert one.stop() in (0, -signal.SIGTERM), one.log()


@pytest.mark.parametrize("name", SERVERS)
def test_output_has_build_type_and_warning(start, name):
    server = start(name, *SERVERS[name])
    first = server.output.split("\n")[0]
    version = subprocess.run([built("uvhttp"), "--version"], capture_output=True, text=True).stdout
    build = re.search(r"^build: (.*)$", version, re.M)[1]
    found = re.fullmatch(
        rf"{name}: uvhttp {re.escape(build)}, flags (.+), parser (avx512|avx2|sse42|neon|swar)",
        first)
    assert found, first
    # The flags are those of the actual compilation.
    commands = json.loads(
        (pathlib.Path(os.environ["UVHTTP_BUILD_DIR"]) / "compile_commands.json").read_text())
    compiled, = [
        one["command"].split() for one in commands if one["file"].endswith(f"bench/{name}.c")
    ]
    assert set(found[1].split()) <= set(compiled)
    assert server.stop() == 0
    warning = f"WARNING: this {name} is not a Release build"
    assert (warning in server.log()) == (" Release" not in build), server.log()


@pytest.mark.parametrize(
    "name, arguments, reason",
    [("benchmark_rps", ["http"], "the port is a number from 0 to 65535"),
     ("benchmark_rps", ["65536"], "the port is a number from 0 to 65535"),
     ("benchmark_rps", ["99999999999999999999"], "the port is a number from 0 to 65535"),
     ("benchmark_rps", ["1", "2"], "too many arguments"),
     ("benchmark_rps", ["--tls"], "the port is a number from 0 to 65535"),
     ("benchmark_unified", ["-1"], "the port is a number from 0 to 65535"),
     ("benchmark_unified", ["80x"], "the port is a number from 0 to 65535"),
     ("benchmark_unified", ["1", "2"], "too many arguments"),
     ("performance_static_server", [], "-d is missing: the directory to serve"),
     ("performance_static_server", ["-d", SITE, "-p", ""], "the port is a number from 0 to 65535"),
     ("performance_static_server", ["-d", SITE, "more"], "too many arguments"),
     ("performance_static_server", ["-x"], "invalid option -- 'x'"),
     ("floor", ["--magic"], "sage: floor --file"), ("floor_websocket", ["--magic"], "sage"),
     ("floor_websocket", ["1", "2"], "sage"),
     *((("benchmark_websocket", [port], "sage")
        for port in ("65536", "80x", "-1")) if WEBSOCKET else ()), ])
def test_wrong_arguments_print_usage(name, arguments, reason):
    done = program.run(name, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert reason in done.stderr and f"sage: {name}" in done.stderr


def test_missing_directory_is_named():
    done = program.run("performance_static_server", "-d", "/does/not/exist", "-p", "0")
    assert done.returncode == 1
    assert "performance_static_server: /does/not/exist: no such file or directory" in done.stderr


def test_missing_certificate_is_named():
    done = program.run("benchmark_rps", "--tls", "/does/not/exist", "0")
    assert done.returncode == 1
    assert "/does/not/exist" in done.stderr and "benchmark_rps: cannot listen" in done.stderr


@pytest.mark.parametrize("name", SERVERS)
def test_port_in_use_is_named(start, name):
    port = str(start("benchmark_rps", "0").port)
    done = program.run(name, *[port if argument == "0" else argument for argument in SERVERS[name]])
    assert done.returncode == 1
    assert f"{name}: cannot listen on port {port}: address already in use" in done.stderr


def test_server_sends_json_and_echo(start):
    server = start("benchmark_rps", "0")
    with server.connect() as connection:
        response = connection.request(target="/json")
        assert response.body == b'{"message":"Hello, world"}'
        assert response.get("content-type").startswith("application/json")
        for size in (0, 1, 100 * 1024):
            body = os.urandom(size)
            connection.send(raw.request("POST", "/post", f"Content-Length: {size}") + body)
            response = connection.response()
            assert (response.status, response.body) == (200, body)


def test_unified_serves_each_kind(start):
    server = start("benchmark_unified", "0")
    with server.connect() as connection:
        for path, body in {
                "/": TEXT, "/small": content(1024), "/medium": content(10 * 1024),
                "/large": content(100 * 1024), "/json": b'{"message":"Hello, world"}',
                "/users/4711": b"4711", "/stream": content(1024 * 1024)
        }.items():
            response = connection.request(target=path)
            assert (response.status, response.body) == (200, body), path
        assert connection.request(target="/json").get("content-type").startswith("application/json")
        assert connection.request(target="/users/").status == 404
        assert connection.request(target="/post").status == 405


@pytest.mark.parametrize("size", [0, 1, 1024, 100 * 1024])
def test_unified_echoes_body(start, size):
    server = start("benchmark_unified", "0")
    body = os.urandom(size)
    with server.connect() as connection:
        for _ in range(2):
            connection.send(raw.request("POST", "/post", f"Content-Length: {size}") + body)
            response = connection.response()
            assert (response.status, response.body) == (200, body)


def test_unified_has_thousand_more_routes(start):
    server = start("benchmark_unified", "0")
    paths = [
        f"/api/v{version}/r{resource}{tail}" for version in range(10) for resource in range(25)
        for tail in ("", "/17", "/17/history", "/search")
    ]
    assert len(set(paths)) == 1000
    with server.connect() as connection:
        assert [path for path in paths if connection.request(target=path).body != TEXT] == []
        for path in ("/api/v10/r0", "/api/v0/r25", "/api/v0/r0/17/other"):
            assert connection.request(target=path).status == 404


def test_static_server_serves_directory(start):
    server = start("performance_static_server", "-d", SITE, "-p", "0")
    for name in ("index.html", "waves.png", "large.txt"):
        assert server.request(f"/{name}").body == (SITE / name).read_bytes()
    assert server.request("/").body == (SITE / "index.html").read_bytes()
    assert server.request("/missing").status == 404


# The baseline server: only what the benchmarks request


@pytest.fixture
def hello(tmp_path):
    (tmp_path / "hello.txt").write_bytes(TEXT)
    return tmp_path / "hello.txt"


def test_baseline_reads_whole_request_body(start, hello):
    server = start("floor", "--read", hello, "--post", "1000", "0")
    request = raw.request("POST", "/", "Content-Length: 1000") + b"\r\n\r\n".ljust(1000, b"x")
    with server.connect() as connection:
        # Two requests at once, split at many positions.
        for cut in (1, 60, len(request) - 1, len(request), len(request) + 30):
            both = request + request
            connection.send(both[:cut])
            connection.send(both[cut:])
            assert [connection.response().body for _ in range(2)] == [TEXT, TEXT]


def test_baseline_applies_connection_close(start, hello):
    server = start("floor", "--file", hello, "--close", "0")
    with server.connect() as connection:
        response = connection.request()
        assert response.body == TEXT and response.get("connection") == "close"
        assert connection.rest() == b""
