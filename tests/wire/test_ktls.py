"""Kernel TLS. Where the kernel has the module `tls` these tests verify which connections it
encrypts. Elsewhere they verify that everything works without it. tools/try_ktls.sh runs them on a
kernel with the module."""

import hashlib
import os
import re
import shutil
import socket
import ssl
import subprocess

import pytest

import raw
import tls
from program import Program, clean_environment
from test_tls import Server
from wire_server import eventually

TCP_ULP = 31
VERSIONS = ("1.2", "1.3")
CIPHERS = {
    "1.2": ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ECDHE-ECDSA-CHACHA20-POLY1305"),
    "1.3": ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
}
MIB = 1 << 20


def has_module():
    with socket.create_server(
        ("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        try:
            one.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError:
            return False
    return True


KERNEL = has_module()
needs_kernel = pytest.mark.skipif(not KERNEL, reason="the kernel has no module tls")


@pytest.fixture
def start():
    running = []

    def starter(*flags, **options):
        running.append(Server(*flags, **options))
        return running[-1]

    yield starter
    for server in running:
        server.stop()


@pytest.fixture
def serve(tmp_path):
    """The program with its own directory."""
    running = []

    def starter(*flags, **options):
        (tmp_path / "site").mkdir(exist_ok=True)
        program = Program("uvhttp", "serve", "-l", "127.0.0.1:0", tmp_path / "site", "--tls-cert",
                          tls.default_cert(), "--tls-ktls", *flags, **options)
        running.append(program)
        return program

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


def offloaded(server):
    return server.stats()["offloaded"]


@pytest.mark.parametrize("version,cipher",
                         [(version, one) for version in VERSIONS for one in CIPHERS[version]])
def test_ktls_ciphers(start, version, cipher):
    server = start("--ktls", "--ciphers=" + cipher if version == "1.2" else "--suites=" + cipher)
    with server.connect(only=version) as connection:
        assert connection.request("GET", "/info").status == 200
        assert connection.socket.cipher()[0] == cipher
        for size in (1, 1369, 16384, 16385, 1000000):
            assert len(connection.request("GET", f"/big?size={size}").body) == size
    assert offloaded(server) == (KERNEL and "GCM" in cipher)


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_is_off_by_default(start, version):
    server = start()
    if "UVHTTP_TEST_KTLS" not in os.environ:
        assert server.request(only=version).status == 200 and offloaded(server) == 0


@pytest.mark.skipif(KERNEL or shutil.which("strace") is None,
                    reason="strace is missing, or the kernel has the module")
def test_ktls_missing_module_is_detected_once(serve, tmp_path):
    record = tmp_path / "record"
    program = serve("--workers", "1",
                    wrapper=("strace", "-f", "-e", "trace=setsockopt", "-o", str(record)),
                    environment={"ASAN_OPTIONS": "detect_leaks=0"})
    for _ in range(3):
        with raw.Connection(program.port, tls=tls.context()) as connection:
            assert connection.request("GET", "/none").status == 404
    assert len(re.findall(r"TCP_ULP", record.read_text())) == 1
    child = next(iter(re.findall(r"^(\d+)", record.read_text(), re.M)))
    os.kill(int(child), 15)
    program.wait()


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_pipelined_requests(start, version):
    server = start("--ktls")
    with server.connect(only=version) as connection:
        connection.send(raw.request(target="/hello") * 200)
        assert {response.body for response in connection.responses(200)} == {b"Hello, world\n"}
    assert offloaded(server) == KERNEL


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_sends_close_notify(start, version):
    server = start("--ktls")
    for size in (1, 3 * MIB):
        with server.connect(only=version) as connection:
            assert len(connection.request("GET", f"/big?size={size}",
                                          "Connection: close").body) == size
            connection.assert_closed()
            assert not connection.socket.truncated
    assert offloaded(server) == 2 * KERNEL


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_resumes_sessions(start, version):
    server = start("--ktls")
    context = tls.context(only=version)
    session = None
    for _ in range(3):
        with server.connect(context=context, session=session) as connection:
            assert connection.request("GET", "/hello").status == 200
            session = connection.socket.session
    assert server.stats()["resumed"] == 2 and offloaded(server) == 3 * KERNEL


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_slow_client_receives_everything(start, version):
    """The last bytes and close_notify are in the kernel while TCP's queue is full."""
    server = start("--ktls")
    size = 12 * MIB
    with raw.Connection(server.port, receive_buffer=8192,
                        tls=tls.context(only=version)) as connection:
        connection.send(raw.request("GET", f"/big?size={size}", "Connection: close"))
        connection.head()
        for _ in range(20):  # loop iterations that send at most 1 MiB each: the queues are full
            server.stats()
        received = len(connection.rest())
        assert received == size and not connection.socket.truncated
    assert offloaded(server) == KERNEL


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_invalid_record_gets_alert(start, version):
    server = start("--ktls")
    with server.connect(only=version) as connection:
        assert connection.request("GET", "/hello").status == 200
        connection.socket.plain.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        with pytest.raises(ssl.SSLError, match="BAD_RECORD_MAC|bad record mac"):
            connection.receive()
    assert server.request(only=version).status == 200


def s_client(server, *commands, version="1.3"):
    """The output of openssl s_client. Each of the `commands` is written after the one before has
    had its effect."""
    client = subprocess.Popen([
        "openssl", "s_client", "-connect", f"127.0.0.1:{server.port}",
        f"-tls{version.replace('.', '_')}"
    ], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
    os.set_blocking(client.stdout.fileno(), False)
    output = b""
    for command, awaited in commands:
        try:
            client.stdin.write(command)
        except BrokenPipeError:
            break

        def extra():
            nonlocal output
            output += client.stdout.read() or b""
            return awaited in output or client.poll() is not None

        eventually(extra, f"{awaited} after {command}")
    client.kill()
    client.wait()
    client.stdin.close()
    client.stdout.close()
    return output


def test_ktls_client_key_update(start):
    server = start("--ktls")
    request = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
    printed = s_client(server, (b"", b"Verify return code"), (b"k\n", b"KEYUPDATE"),
                       (request, b"Hello, world"))
    assert b"Hello, world" in printed
    assert offloaded(server) == KERNEL


def test_ktls_key_update_request_closes_connection(start):
    """The kernel cannot change its keys (before Linux 6.14)."""
    server = start("--ktls")
    request = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
    printed = s_client(server, (b"", b"Verify return code"), (b"K\n", b"KEYUPDATE"),
                       (request, b"Hello, world"))
    assert (b"Hello, world" in printed) is not KERNEL
    if KERNEL:
        assert b"alert internal error" in printed
        line = ("TLS connection with 127.0.0.1 failed: the client requested a KeyUpdate, which "
                "kernel TLS does not support")
        eventually(lambda: f"info: {line}" in server.log(), "the error is logged")
    assert server.request().status == 200


def test_ktls_large_file(serve, tmp_path):
    program = serve()
    data = raw.pattern(100 * MIB)
    (tmp_path / "site" / "large").write_bytes(data)
    for version in VERSIONS:
        with raw.Connection(program.port, tls=tls.context(only=version)) as connection:
            response = connection.request("GET", "/large")
            assert hashlib.sha256(response.body).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize("version", VERSIONS)
def test_ktls_hot_small_files(serve, tmp_path, version):
    """They are cached with their heads, and sent by one sendfile."""
    program = serve()
    sizes = {"a": 13, "b": 10000, "c": 60000}
    for name, size in sizes.items():
        (tmp_path / "site" / name).write_bytes(raw.pattern(size))
    with raw.Connection(program.port, tls=tls.context(only=version)) as connection:
        for name, size in sizes.items():
            for _ in range(200):
                assert connection.request("GET", "/" + name).body == raw.pattern(size)
        connection.send(raw.request(target="/a") * 50 + raw.request(target="/b") * 50)
        assert [len(response.body)
                for response in connection.responses(100)] == [13] * 50 + [10000] * 50


@needs_kernel
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_ktls_sends_files_by_sendfile(serve, tmp_path):
    record = tmp_path / "record"
    program = serve("--workers", "1",
                    wrapper=("strace", "-f", "-e", "trace=sendfile", "-o", str(record)))
    (tmp_path / "site" / "large").write_bytes(raw.pattern(2 * MIB))
    with raw.Connection(program.port, tls=tls.context()) as connection:
        assert connection.request("GET", "/large").body == raw.pattern(2 * MIB)
    sent = sum(
        int(count) for count in re.findall(r"sendfile\(.*= (\d+)$", record.read_text(), re.M))
    assert sent == 2 * MIB
    os.kill(int(re.match(r"\d+", record.read_text())[0]), 15)
    program.wait()


def test_ktls_with_curl(serve, tmp_path):
    program = serve()
    (tmp_path / "site" / "file").write_bytes(raw.pattern(MIB))
    for version in VERSIONS:
        done = subprocess.run([
            "curl", "-sS", "-k", f"--tlsv{version}", "--tls-max", version,
            f"https://127.0.0.1:{program.port}/file"
        ], capture_output=True, env=clean_environment({"no_proxy": "*"}))
        assert (done.stdout, done.stderr) == (raw.pattern(MIB), b"")
