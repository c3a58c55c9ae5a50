"""Listening sockets that a service manager passes to the program (LISTEN_FDS, LISTEN_PID), as
systemd does with a socket unit."""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys

import pytest

import raw
import tls
from program import Program, clean_environment
from wire_server import built

# Gives the program the descriptors of its argument as 3, 4, ..., and its own process id.
PASS = """import fcntl, os, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
copies = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) for number in numbers]
for number in numbers:
    os.close(number)
for at, copy in enumerate(copies):
    os.dup2(copy, 3 + at)
    os.close(copy)
environment = {**os.environ, "LISTEN_FDS": str(len(copies)), "LISTEN_PID": str(os.getpid())}
os.execve(sys.argv[2], sys.argv[2:], environment)
"""
OWN_PID = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"]
SITE = "sites: [{routes: [{path: /, respond: {body: 'from a site'}}]}]\n"


@pytest.fixture
def sockets():
    """sockets(): an open listening socket of 127.0.0.1; sockets("::1") of another host, and
    sockets(path) of a path."""
    opened = []

    def opener(host="127.0.0.1"):
        if "/" in str(host) or host.startswith("\0"):
            one = socket.socket(socket.AF_UNIX)
            one.bind(str(host))
        else:
            one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            one.bind((host, 0))
        one.listen()
        opened.append(one)
        return one

    yield opener
    for one in opened:
        one.close()


def passing(*passed):
    """The options of a process that gets these sockets."""
    numbers = [one.fileno() for one in passed]
    return {"wrapper": [sys.executable, "-c", PASS, ",".join(map(str, numbers))],
            "pass_fds": numbers}


def start(*arguments, passed, **options):
    program = Program("uvhttp", *arguments, **passing(*passed), **options)
    for one in passed:
        one.close()  # only the program has it
    return program


def port_of(one):
    return one.getsockname()[1]


def body(port, context=None, host="127.0.0.1"):
    """The body of a response, with TLS if there is a context."""
    if context is None:
        connection = http.client.HTTPConnection(host, port, timeout=60)
    else:
        connection = http.client.HTTPSConnection(host, port, timeout=60, context=context)
    connection.request("GET", "/")
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_inherited_socket_replaces_the_configured_address(sockets, tmp_path):
    one = sockets()
    port = port_of(one)
    (tmp_path / "site.yaml").write_text("listen: 127.0.0.1:1\n" + SITE)
    program = start("run", tmp_path / "site.yaml", passed=[one])
    assert program.urls == [f"http://127.0.0.1:{port}/"] and body(port) == (200, b"from a site")
    assert "socket activation: 1 inherited sockets replace configured addresses" in program.log()
    assert program.stop() == 0


def test_serve_takes_all_inherited_sockets(sockets, tmp_path):
    (tmp_path / "index.html").write_text("a file")
    given = [sockets(), sockets(), sockets("::1"), sockets(f"{tmp_path}/http.sock"),
             sockets(f"\0uvhttp-{os.getpid()}")]
    ports = [port_of(one) for one in given[:3]]
    program = start("serve", "-l127.0.0.1:1", tmp_path, passed=given)
    assert body(ports[0]) == body(ports[1]) == body(ports[2], host="::1") == (200, b"a file")
    for path in (f"{tmp_path}/http.sock", f"\0uvhttp-{os.getpid()}"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.makefile("rb").read().endswith(b"a file")
    assert f"unix:{tmp_path}/http.sock" in program.line
    assert program.stop() == 0
    assert (tmp_path / "http.sock").exists()  # it belongs to the service manager


def test_socket_of_both_families_is_shown_as_every_address(sockets, tmp_path):
    program = start("serve", tmp_path, passed=[sockets("::")])
    assert program.urls[0].startswith("http://127.0.0.1:")
    assert body(program.port)[0] == 200
    assert program.stop() == 0


def test_connections_wait_for_the_next_process(sockets, tmp_path):
    """The service manager keeps the socket, so none is refused during a restart."""
    one = sockets()
    port, held = port_of(one), one.dup()
    (tmp_path / "index.html").write_text("a file")
    program = start("serve", tmp_path, passed=[one])
    assert body(port)[0] == 200 and program.stop() == 0
    with raw.Connection(port) as connection:
        connection.send(raw.request("GET", "/"))
        program = start("serve", tmp_path, passed=[held])
        assert connection.response().body == b"a file"
    assert program.stop() == 0


def test_metrics_have_the_socket_of_their_address(sockets, tmp_path):
    site, metrics = sockets(), sockets()
    ports = port_of(site), port_of(metrics)
    (tmp_path / "site.yaml").write_text(
        f"listen: 127.0.0.1:1\nmetrics: {{path: /, listen: '127.0.0.1:{ports[1]}'}}\n{SITE}")
    program = start("run", tmp_path / "site.yaml", passed=[metrics, site])
    assert body(ports[0]) == (200, b"from a site") and b"uvhttp_build_info" in body(ports[1])[1]
    assert program.stop() == 0


def test_tls_applies_to_inherited_sockets(sockets, tmp_path):
    secure, redirect, plain = sockets(), sockets(), sockets()
    ports = [port_of(one) for one in (secure, redirect, plain)]
    (tmp_path / "site.yaml").write_text(
        f"listen: ['https://127.0.0.1:1', 'http://127.0.0.1:{ports[2]}']\n"
        "tls: {redirect_http: %d, certificates: [{certificate: '%s'}]}\n"
        % (ports[1], tls.certificate()) + SITE)
    program = start("run", tmp_path / "site.yaml", passed=[secure, redirect, plain])
    assert body(ports[0], unverified()) == (200, b"from a site")
    assert body(ports[1])[0] == 308 and body(ports[2]) == (200, b"from a site")
    assert program.stop() == 0


def test_reload_keeps_inherited_sockets(sockets, tmp_path):
    one = sockets()
    port = port_of(one)
    # No client of the configured address could match this rule.
    path = tmp_path / "site.yaml"
    path.write_text("listen: '[::1]:1'\n" + SITE.replace("routes", "allow: [127.0.0.1], routes"))
    program = start("run", path, passed=[one])
    assert body(port) == (200, b"from a site")
    path.write_text(path.read_text().replace("from a site", "changed"))
    program.send_signal(signal.SIGHUP)
    while body(port)[1] != b"changed":
        pass
    assert "has changed since the start" not in program.log()
    assert program.stop() == 0


def test_socket_without_a_use_is_warned_of(sockets, tmp_path):
    """The port of redirects, at an address that has no TLS."""
    other = sockets("::1")
    port = port_of(other)
    program = start("serve", tmp_path, f"--redirect-http={port}",
                    f"--tls-cert={tls.certificate()}", passed=[sockets(), other])
    assert f"socket activation: the socket of ::1 port {port} is not used" in program.log()
    assert program.stop() == 0


@pytest.mark.parametrize("pid, count", [("1", "1"), ("own", "0"), ("own", "x"), ("own", "-1")])
def test_variables_of_another_process_are_ignored(tmp_path, pid, count):
    environment = {"LISTEN_PID": pid, "LISTEN_FDS": count}
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", tmp_path, environment=environment,
                      wrapper=OWN_PID if pid == "own" else [])
    assert program.request("/").status == 200 and "socket activation" not in program.log()
    assert program.stop() == 0


def refused(directory, wrapper, environment=None, **options):
    return subprocess.run([*wrapper, built("uvhttp"), "serve", directory], capture_output=True,
                          text=True, env=clean_environment(environment), timeout=60, **options)


@pytest.mark.parametrize("kind", ["file", "datagram", "unbound"])
def test_descriptor_that_does_not_listen_is_an_error(tmp_path, kind):
    with open(tmp_path / "file", "w") as file, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram, \
            socket.socket() as unbound:
        passed = {"file": file, "datagram": datagram, "unbound": unbound}[kind]
        done = refused(tmp_path, **passing(passed))
    assert (done.returncode, done.stderr) == (
        1, "uvhttp: descriptor 3 (LISTEN_FDS is 1) is not a listening socket; in a systemd unit "
        "these are the sockets of ListenStream=, with Accept=no\n")


def test_more_sockets_than_addresses_are_an_error(tmp_path):
    done = refused(tmp_path, OWN_PID, environment={"LISTEN_FDS": "17"})
    assert (done.returncode, done.stderr) == (
        1, "uvhttp: LISTEN_FDS is 17; at most 16 sockets are allowed\n")
