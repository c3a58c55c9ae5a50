"""The PROXY protocol as balancers use it: in configuration files, as flags, with TLS and HTTP/2,
from curl, and over unix sockets."""

import socket
import struct
import subprocess

import pytest

import raw
import tls
from program import run
from test_config_file import problems, start, write  # noqa: F401 (fixtures)
from test_site_rules import SHOW, refused, serve  # noqa: F401 (fixture)
from wire_server import eventually

LINE = b"PROXY TCP6 2001:db8::7 2001:db8::1 4242 443\r\n"
SOURCE = "proxy_protocol: 127.0.0.1\n"
GET = raw.request(target="/", host="localhost")


def binary(client, *values):
    """A header of version 2 for an IPv4 client, with (type, value) pairs."""
    body = socket.inet_aton(client) + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 4242, 80)
    for kind, value in values:
        body += struct.pack("!BH", kind, len(value)) + value
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack("!H", len(body)) + body


def reply(program, *sent):
    with raw.Connection(program.port) as connection:
        for data in sent:
            connection.send(data)
        return connection.response()


def text(program, *sent):
    return reply(program, *sent).body.decode()


def secure():
    return f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n"


@pytest.mark.parametrize("lines, flags", [(SOURCE, []), ("", ["--proxy-protocol=127.0.0.1"]),
                                          ("proxy_protocol: [unix, 127.0.0.0/8]\n", [])])
def test_header_names_the_client(start, lines, flags):
    program = start(lines + SHOW, *flags)
    assert text(program, LINE + GET) == "2001:db8::7 http localhost"
    assert text(program, binary("192.0.2.9", (4, b"padding")), GET) == "192.0.2.9 http localhost"


def test_flag_of_serve(serve):
    program = serve("--proxy-protocol=127.0.0.1", "--deny=2001:db8::7")
    assert reply(program, LINE + GET).status == 403
    assert reply(program, binary("192.0.2.9") + GET).status == 200


def test_access_log_and_rules_use_the_client(start, tmp_path):
    program = start(SOURCE + "access_log: access.log\nsites: [{allow: 192.0.2.0/24, routes: "
                    "[{path: /, respond: {body: x}}]}]\n")
    assert reply(program, LINE + GET).status == 403
    assert reply(program, binary("192.0.2.9") + GET).status == 200
    log = tmp_path / "access.log"
    eventually(lambda: log.exists() and len(log.read_text().splitlines()) == 2, "both are logged")
    clients = [line.split()[0] for line in log.read_text().splitlines()]
    assert clients == ["2001:db8::7", "192.0.2.9"]


def test_trusted_proxies_may_be_behind_the_balancer(start):
    program = start(SOURCE + "trusted_proxies: 192.0.2.9\n" + SHOW)
    forwarded = raw.request("GET", "/", "X-Forwarded-For: 203.0.113.1", host="localhost")
    assert text(program, binary("192.0.2.9") + forwarded) == "203.0.113.1 http localhost"
    assert text(program, binary("192.0.2.8") + forwarded) == "192.0.2.8 http localhost"


def test_connection_without_header_is_closed_and_logged(start):
    program = start(SOURCE + "log: {level: info}\n" + SHOW)
    with raw.Connection(program.port) as connection:
        connection.send(GET)
        connection.assert_closed()
    eventually(lambda: "PROXY protocol with 127.0.0.1 failed: the connection does not begin with a "
               "valid header" in program.log(), "a line in the log")


@pytest.mark.parametrize("others, status", [("direct", 400), ("ignore", 200), ("refuse", None)])
def test_other_connections(start, others, status):
    program = start(f"proxy_protocol: 192.0.2.1\nproxy_protocol_others: {others}\n" + SHOW)
    if status is None:
        with raw.Connection(program.port) as connection:
            connection.assert_closed()
        return
    assert reply(program, LINE + GET).status == status
    assert text(program, GET) == "127.0.0.1 http localhost"


@pytest.mark.parametrize("header", [LINE, b"PROXY UNKNOWN\r\n", binary("192.0.2.9")])
@pytest.mark.parametrize("lines", [str, lambda: "proxy_protocol: 192.0.2.1\n", secure])
def test_header_of_a_proxy_that_is_not_listed_is_logged(start, header, lines):
    program = start(lines() + SHOW)
    warning = ("warning PROXY protocol with 127.0.0.1 failed: it is not in proxy_protocol; add it "
               "there if it is your proxy\n")
    assert reply(program, b"PROXY /x\r\n\r\n").status == 400
    assert reply(program, header + GET).status == 400
    eventually(lambda: program.log().count(warning) == 1, "a line in the log")


def test_client_whose_header_is_ignored_is_not_logged(start):
    program = start("proxy_protocol: [192.0.2.1]\nproxy_protocol_others: ignore\n"
                    "log: {level: info}\n" + SHOW)
    with raw.Connection(program.port) as connection:
        connection.send(b"P")
    with raw.Connection(program.port) as connection:
        connection.send(b"P")
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.socket.recv(65536) == b""
    assert "PROXY protocol with" not in program.log()


def test_header_precedes_tls(start):
    program = start(SOURCE + secure() + SHOW)
    for header, client in ((LINE, b"2001:db8::7"), (binary("192.0.2.9"), b"192.0.2.9")):
        with socket.create_connection(("127.0.0.1", program.port)) as plain:
            plain.sendall(header)
            with tls.context().wrap_socket(plain, server_hostname="localhost") as session:
                session.sendall(raw.request("GET", "/", "Connection: close", host="localhost"))
                data = b""
                while chunk := session.recv(65536):
                    data += chunk
        assert data.endswith(client + b" https localhost"), data


def test_header_and_client_hello_in_one_packet(start):
    program = start(SOURCE + secure() + SHOW)
    received, sent = tls.ssl.MemoryBIO(), tls.ssl.MemoryBIO()
    session = tls.context().wrap_bio(received, sent, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", program.port)) as plain:
        header, done = LINE, False
        while not done:
            try:
                session.do_handshake()
                done = True
            except tls.ssl.SSLWantReadError:
                pass
            plain.sendall(header + sent.read())
            header = b""
            if not done:
                received.write(plain.recv(65536))
        session.write(GET)
        plain.sendall(sent.read())
        data = b""
        while b"2001:db8::7 https" not in data:
            received.write(plain.recv(65536))
            try:
                data += session.read(65536)
            except tls.ssl.SSLWantReadError:
                pass


def test_plain_request_after_header_on_tls_port_gets_400(start):
    program = start(SOURCE + secure() + SHOW)
    for data in ([LINE + GET], [LINE, GET]):
        with socket.create_connection(("127.0.0.1", program.port)) as plain:
            for part in data:
                plain.sendall(part)
            assert plain.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_curl_sends_header(start):
    program = start(SOURCE + SHOW)
    done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--haproxy-protocol",
                           f"http://127.0.0.1:{program.port}/"], capture_output=True, timeout=60,
                          check=True)
    assert done.stdout == b"127.0.0.1 http 127.0.0.1"
    done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--haproxy-protocol",
                           "--http2-prior-knowledge", f"http://127.0.0.1:{program.port}/"],
                          capture_output=True, timeout=60, check=True)
    assert done.stdout == b"127.0.0.1 http 127.0.0.1"


def test_unix_socket_as_source(start, tmp_path):
    program = start(f"listen: [127.0.0.1:0, 'unix:{tmp_path}/s']\nproxy_protocol: unix\n" + SHOW)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{tmp_path}/s")
        connection.sendall(binary("192.0.2.9") + GET)
        assert b"192.0.2.9 http" in connection.recv(65536)
    assert text(program, GET) == "127.0.0.1 http localhost"


def test_mistakes_are_explained(write):
    assert problems(write("listen: 127.0.0.1:0\nproxy_protocol_others: ignore\n" + SHOW)) == [
        "2:24: 'proxy_protocol_others' requires 'proxy_protocol'"
    ]
    [line] = problems(write("proxy_protocol: all\n" + SHOW))
    assert line.startswith("1:17: proxy_protocol: 'all' is invalid; allowed are unix, an")
    [line] = problems(write("proxy_protocol: ::1\nproxy_protocol_others: trust\n" + SHOW))
    assert line.startswith("2:24: proxy_protocol_others is 'trust'; allowed are direct, ignore")
    assert refused("--proxy-protocol-others=x").startswith("uvhttp: --proxy-protocol-others: 'x'")


def test_keys_are_printed(write):
    path = write(SOURCE + "proxy_protocol_others: refuse\n" + SHOW)
    done = run("uvhttp", "run", "--print-config", path)
    assert 'proxy_protocol:\n  - "127.0.0.1"\nproxy_protocol_others: refuse\n' in done.stdout


def test_rejected_connection_with_tls_is_closed(start):
    program = start(SOURCE + "server: {max_connections: 1}\n" + secure() + SHOW)
    with socket.create_connection(("127.0.0.1", program.port)) as plain:
        plain.sendall(LINE)
        with tls.context().wrap_socket(plain, server_hostname="localhost"):
            with socket.create_connection(("127.0.0.1", program.port)) as rejected:
                try:
                    rejected.sendall(LINE)
                    assert rejected.recv(65536) == b""
                except ConnectionError:
                    pass
