"""TLS of a client: streams and WebSocket connections to servers of the ssl module, to our server,
and to servers that violate the protocol. tls_client makes one connection and prints its callbacks.
It exits with 4 after a memory leak."""

import contextlib
import functools
import os
import socket
import ssl
import subprocess
import threading

import pytest

import tls
from wire_server import SAFETY_TIMEOUT, WireServer, built

BIG = 20_000_000


@functools.lru_cache(None)
def authority():
    return tls.authority()


@functools.lru_cache(None)
def signed(*names, **options):
    """A certificate of the authority that the clients trust."""
    return tls.certificate(*names, ca=authority(), **options)


def server_context(cert, client_ca=None, only=None, alpn=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(cert)
    if client_ca is not None:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(client_ca)
    if only is not None:
        made.minimum_version = made.maximum_version = tls.version(only)
    if alpn is not None:
        made.set_alpn_protocols(alpn)
    return made


@contextlib.contextmanager
def serving(talk, address="127.0.0.1"):
    """A listening port; `talk` is called on a thread with the socket of one connection. Yields the
    port, and a list that gets the result or the exception of `talk`."""
    results = []
    with socket.create_server(
        (address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as listener:
        listener.settimeout(SAFETY_TIMEOUT)

        def run():
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with plain:
                plain.settimeout(SAFETY_TIMEOUT)
                try:
                    results.append(talk(plain))
                except OSError as error:
                    results.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listener.getsockname()[1], results
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def echo(context, facts=None):
    """A server that echoes data until the client ends, and closes with close_notify. Returns
    `facts` of the session."""
    def talk(plain):
        with context.wrap_socket(plain, server_side=True) as connection:
            while data := connection.recv(65536):
                connection.sendall(data)
            reported = facts(connection) if facts else None
            connection.unwrap()
        return reported

    return talk


def run(*arguments, code=0, environment=None):
    """The output and the log of tls_client."""
    done = subprocess.run([built("tls_client"), *map(str, arguments)], capture_output=True,
                          timeout=3 * SAFETY_TIMEOUT, env={**os.environ, **(environment or {})})
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout.decode(), done.stderr.decode()


GOOD = "connected\nheard 5\nclosed -\n"


def failed(why):
    return f"failed UVHTTP_ETLS: {why}\nheard 0\nclosed {why}\n"


def run_against_echo(context, *flags, host="localhost", **options):
    with serving(echo(context), **options) as (port, _):
        return run(*flags, host, port)


# ---- certificates ----


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_valid_certificate_is_accepted(version):
    out, log = run_against_echo(server_context(signed(), only=version), f"--ca={authority()}")
    assert (out, log) == (GOOD, "")


def test_sni_is_sent_for_names_only():
    for host, expected in (("localhost", "localhost"), ("127.0.0.1", None)):
        names = []
        context = server_context(signed())
        context.sni_callback = lambda _ssl, name, _context, names=names: names.append(name)
        out, _ = run_against_echo(context, f"--ca={authority()}", host=host)
        assert out == GOOD and names == [expected]


def test_address_in_certificate():
    out, _ = run_against_echo(server_context(signed("127.0.0.1")), f"--ca={authority()}",
                              host="127.0.0.1")
    assert out == GOOD
    out, _ = run_against_echo(server_context(signed("127.0.0.2")), f"--ca={authority()}",
                              host="127.0.0.1")
    assert out == failed("the peer's certificate is not for this address")


def test_octal_address_is_verified_as_connected():
    """OpenSSL interprets 0177.0.0.1 as 177.0.0.1, the system as 127.0.0.1."""
    out, _ = run_against_echo(server_context(signed("177.0.0.1")), f"--ca={authority()}",
                              host="0177.0.0.1")
    assert out == failed("the peer's certificate is not for this name")


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_ipv6_address_in_certificate():
    out, _ = run_against_echo(server_context(signed("::1")), f"--ca={authority()}", host="::1",
                              address="::1")
    assert out == GOOD


def test_address_does_not_match_dns_name():
    out, _ = run_against_echo(server_context(signed("localhost", common_name="127.0.0.1")),
                              f"--ca={authority()}", host="127.0.0.1")
    assert out == failed("the peer's certificate is not for this address")


@pytest.mark.parametrize("names", [("other.example", ), ("*.localhost", ), ("local*", ),
                                   ("localhost.example", )])
def test_wrong_name_is_rejected(names):
    out, log = run_against_echo(server_context(signed(*names)), f"--ca={authority()}")
    assert out == failed("the peer's certificate is not for this name")
    assert ("warning TLS handshake with localhost (127.0.0.1) failed: the peer's certificate is "
            "not for this name\n") in log


def test_common_name_is_ignored():
    out, _ = run_against_echo(server_context(signed("other.example", common_name="localhost")),
                              f"--ca={authority()}")
    assert out == failed("the peer's certificate is not for this name")


@pytest.mark.parametrize("name, good", [("db.example", True), ("a.wild.example", True),
                                        ("db.example.", True), ("DB.Example", True),
                                        ("wild.example", False), ("a.b.wild.example", False)])
def test_server_name_option_overrides_host(name, good):
    out, log = run_against_echo(server_context(signed("db.example", "*.wild.example")),
                                f"--ca={authority()}", f"--name={name}", host="127.0.0.1")
    assert out == (GOOD if good else failed("the peer's certificate is not for this name"))
    assert good or f"TLS handshake with {name} (127.0.0.1) failed:" in log


def test_unknown_authority_is_rejected():
    out, _ = run_against_echo(server_context(tls.certificate(ca=tls.authority("somebody else"))),
                              f"--ca={authority()}")
    assert out == failed("the peer's certificate is not signed by a trusted CA")


def test_expired_certificate_is_rejected():
    out, _ = run_against_echo(server_context(signed(days=-1)), f"--ca={authority()}")
    assert out == failed("the peer's certificate has expired")


def test_client_certificate_of_server_is_rejected():
    out, _ = run_against_echo(server_context(signed(usage="clientAuth")), f"--ca={authority()}")
    assert out == failed("the peer's certificate is not valid for this purpose")


def test_self_signed_certificate_is_rejected():
    own = tls.certificate()
    out, _ = run_against_echo(server_context(own), f"--ca={authority()}")
    assert out == failed("the peer's certificate is self-signed and not trusted")
    out, _ = run_against_echo(server_context(own), f"--ca={own}")
    assert out == GOOD


def test_server_certificate_as_only_trust_anchor():
    """It is signed by an authority that the client does not know."""
    cert = tls.certificate(ca=tls.authority("somebody else"))
    out, _ = run_against_echo(server_context(cert), f"--ca={cert}")
    assert out == GOOD


def test_insecure_option_accepts_any_certificate():
    out, log = run_against_echo(server_context(tls.certificate("other.example", days=1)),
                                "--insecure")
    assert (out, log) == (GOOD, "")


@pytest.mark.parametrize("flags", [[], ["--default"]])
def test_system_authorities(flags, tmp_path):
    context = server_context(signed())
    with serving(echo(context)) as (port, _):
        out, _ = run(*flags, "localhost", port, environment={"SSL_CERT_FILE": str(authority())})
    assert out == GOOD
    with serving(echo(context)) as (port, _):
        out, _ = run(*flags, "localhost", port,
                     environment={"SSL_CERT_DIR": str(tmp_path), "SSL_CERT_FILE": "/nothing"})
    assert out == failed("the peer's certificate is not signed by a trusted CA")


# ---- client certificates ----


def subject(connection):
    return dict(pair[0] for pair in connection.getpeercert()["subject"])["commonName"]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("password", [None, "secret"])
def test_client_certificate_is_sent(version, password, tmp_path):
    mine = tls.certificate("ann", ca=authority(), common_name="ann", password=password)
    flags = [f"--ca={authority()}", f"--cert={mine}"]
    if password:
        (tmp_path / "phrase").write_text(password + "\n")
        flags.append(f"--pass={tmp_path / 'phrase'}")
    with serving(echo(server_context(signed(), client_ca=authority(), only=version),
                      subject)) as (port, results):
        out, _ = run(*flags, "localhost", port)
    assert out == GOOD and results == ["ann"]


def test_missing_client_certificate_is_rejected():
    out, _ = run_against_echo(server_context(signed(), client_ca=authority(), only="1.2"),
                              f"--ca={authority()}")
    assert out == failed("the peer rejected the handshake")
    out, _ = run_against_echo(server_context(signed(), client_ca=authority(), only="1.3"),
                              f"--ca={authority()}")
    assert out == "connected\nheard 0\nclosed the peer requires a certificate\n"


def test_client_certificate_of_unknown_authority_is_rejected():
    mine = tls.certificate("ann", ca=tls.authority("somebody else"))
    out, _ = run_against_echo(server_context(signed(), client_ca=authority(), only="1.2"),
                              f"--ca={authority()}", f"--cert={mine}")
    assert out == failed("the peer does not trust the CA of our certificate")


# ---- options ----


def test_no_common_version_fails():
    flags = [f"--ca={authority()}"]
    assert run_against_echo(server_context(signed(), only="1.2"), *flags,
                            "--min=2")[0] == failed("the peer does not support the TLS version")
    assert run_against_echo(server_context(signed(), only="1.3"), *flags,
                            "--max=1")[0] == failed("the peer does not support the TLS version")


def test_ciphers_option():
    with serving(echo(server_context(signed()),
                      lambda connection: connection.cipher()[0])) as (port, results):
        out, _ = run(f"--ca={authority()}", "--max=1", "--ciphers=ECDHE-ECDSA-CHACHA20-POLY1305",
                     "localhost", port)
    assert out == GOOD and results == ["ECDHE-ECDSA-CHACHA20-POLY1305"]


def test_anonymous_ciphers_are_rejected():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("aNULL:@SECLEVEL=0")
    flags = ["--max=1", "--ciphers=aNULL:@SECLEVEL=0"]
    assert run_against_echo(
        context, *flags,
        f"--ca={authority()}")[0] == failed("the peer has no certificate for this host")
    assert run_against_echo(context, *flags, "--insecure")[0] == GOOD


@pytest.mark.parametrize("flags, chosen", [([], None), (["--alpn=postgresql"], "postgresql"),
                                           (["--alpn=other"], None)])
def test_alpn_offers_protocols(flags, chosen):
    context = server_context(signed(), alpn=["postgresql"])
    with serving(echo(context,
                      lambda connection: connection.selected_alpn_protocol())) as (port, results):
        out, _ = run(f"--ca={authority()}", *flags, "localhost", port)
    assert out == GOOD and results == [chosen]


def test_option_errors_name_the_cause(tmp_path):
    empty, missing = tmp_path / "empty.pem", tmp_path / "missing.pem"
    empty.write_text("nothing\n")
    for flags, words in (([
            f"--ca={missing}"
    ], f"ca_file '{missing}' cannot be opened: no such file or directory"), ([
            f"--ca={empty}"
    ], f"ca_file '{empty}' contains no certificate in PEM format"), ([
            f"--cert={empty}"
    ], f"the certificate of {empty} cannot be read: it contains no such PEM block"), ([
            f"--key={empty}"
    ], "key_file is set, but certificate_file is not"), ([
            f"--cert={signed()}", f"--key={tls.default_cert()}"
    ], f"the key in {tls.default_cert()} and the certificate of {signed()}: the key does not match "
       f"the certificate"
                                                                    ),
                         (["--min=2",
                           "--max=1"], "min_version is TLS 1.3, but max_version is TLS 1.2"),
                         (["--ciphers=none"], 'ciphers is "none": OpenSSL supports none of them'),
                         (["--alpn="], "alpn has 0 bytes; allowed are 1 to 255"),
                         (["--name="], "server_name has 0 bytes; allowed are 1 to 255"),
                         (["--name=.example"],
                          "server_name '.example' is neither a host name nor an address"),
                         ):
        out, log = run(*flags, "localhost", 1, code=1)
        assert (out, log) == ("", f"UVHTTP_ECONFIG: {words}\n")


def test_empty_host_is_rejected():
    assert run("", 443, code=1) == ("", "UVHTTP_EINVAL: \n")


# ---- servers that violate the protocol ----


def test_server_closes_in_handshake():
    def talk(plain):
        plain.recv(65536)

    with serving(talk) as (port, _):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    assert out == failed("the peer closed the connection")


class Cut:
    """A socket that sends the first bytes of its data, and then ends."""
    def __init__(self, plain, most):
        self.plain, self.left = plain, most

    def sendall(self, data):
        self.plain.sendall(data[:self.left])
        self.left -= len(data)
        if self.left <= 0:
            raise ConnectionAbortedError

    def recv(self, size):
        return self.plain.recv(size)


def run_server(plain, context):
    """The server's handshake by hand, so that the socket can be an object of the test."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_side=True)
    while True:
        try:
            session.do_handshake()
            plain.sendall(outgoing.read())
            return session, incoming, outgoing
        except ssl.SSLWantReadError:
            if outgoing.pending:
                plain.sendall(outgoing.read())
            data = plain.recv(65536)
            if not data:
                raise ConnectionAbortedError from None
            incoming.write(data)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("most", [1, 4, 5, 80, 127, 400])
def test_server_closes_within_its_flight(version, most):
    context = server_context(signed(), only=version)
    with serving(lambda plain: run_server(Cut(plain, most), context)) as (port, results):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    assert isinstance(results[0], ConnectionAbortedError)
    assert out == failed("the peer closed the connection")


def test_handshake_sent_byte_by_byte():
    class Slow(Cut):
        def sendall(self, data):
            self.plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(data)):
                self.plain.sendall(data[i:i + 1])

    def talk(plain):
        slow = Slow(plain, 0)
        session, incoming, outgoing = run_server(slow, server_context(signed(), only="1.2"))
        data = b""
        while len(data) < 5:
            try:
                data += session.read(5)
            except ssl.SSLWantReadError:
                incoming.write(plain.recv(65536))
        session.write(data)
        slow.sendall(outgoing.read())
        while plain.recv(65536):
            pass

    with serving(talk) as (port, _):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    assert out == GOOD


def wait_for_end(plain):
    while plain.recv(65536):
        pass


@pytest.mark.parametrize("flags", [["--timeout=300"], ["--timeout=0", "--handshake-timeout=1"]])
def test_silent_server_times_out(flags):
    with serving(wait_for_end) as (port, results):
        out, _ = run(f"--ca={authority()}", *flags, "127.0.0.1", port)
    assert out == "failed ETIMEDOUT: -\nheard 0\nclosed -\n"
    assert results == [None]


@pytest.mark.parametrize("garbage, why",
                         [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer does not speak TLS"),
                          (b"SSH-2.0-OpenSSH_9.2\r\n", "the peer does not speak TLS"),
                          (b"\x16\x03\x03\x00\x04\x02\x00\x00\x00", None), (b"\x00" * 100, None)])
def test_random_bytes_instead_of_tls(garbage, why):
    def talk(plain):
        plain.recv(65536)
        plain.sendall(garbage)
        wait_for_end(plain)

    with serving(talk) as (port, _):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    assert out.startswith("failed UVHTTP_ETLS: ")
    assert why is None or out == failed(why)


def test_reset_in_handshake():
    def talk(plain):
        plain.recv(10)  # not everything, so that close sends a RST

    with serving(talk) as (port, _):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    assert out == failed("connection reset by peer")


@pytest.mark.parametrize("after", ["tcp", "hello"])
def test_cancel_in_handshake(after):
    def talk(plain):
        if after == "hello":
            with pytest.raises(ConnectionAbortedError):
                run_server(Cut(plain, 100), server_context(signed()))
        wait_for_end(plain)

    with serving(talk) as (port, results):
        out, _ = run(f"--ca={authority()}", "--abort=300", "127.0.0.1", port)
    assert out == "heard 0\nclosed -\n"
    assert results == [None]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("rules", [True, False])
def test_end_requires_close_notify(version, rules):
    def talk(plain):
        with server_context(signed(), only=version).wrap_socket(plain,
                                                                server_side=True) as connection:
            connection.recv(5)
            connection.sendall(b"\x00\x01")
            if rules:
                with contextlib.suppress(OSError):
                    connection.unwrap()
            else:
                connection.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    wait_for_end(connection)

    with serving(talk) as (port, _):
        out, _ = run(f"--ca={authority()}", "localhost", port)
    end = "end\nheard 2\nclosed -\n" if rules else ("heard 2\nclosed the connection was "
                                                    "closed without close_notify\n")
    assert out == f"connected\n{end}"


def test_client_end_sends_close_notify():
    def talk(plain):
        connection = tls.Socket.__new__(tls.Socket)
        connection.plain, connection.truncated = plain, False
        connection.incoming, connection.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        connection.tls = server_context(signed()).wrap_bio(connection.incoming, connection.outgoing,
                                                           server_side=True)
        connection.run(connection.tls.do_handshake)
        data = b""
        while part := connection.recv(65536):
            data += part
        return data, connection.truncated

    with serving(talk) as (port, results):
        out, _ = run(f"--ca={authority()}", "--half", "localhost", port)
    assert out == "connected\nheard 0\nclosed -\n"
    assert results == [(b"\x00\x01\x02\x03\x04", False)]


# ---- data ----


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_bulk_data_both_ways_with_back_pressure(version):
    """The server reads after a write of the client was rejected, and echoes after it has received
    everything."""
    rejected = threading.Event()

    def talk(plain):
        with server_context(signed(), only=version).wrap_socket(plain,
                                                                server_side=True) as connection:
            data = bytearray()
            assert rejected.wait(SAFETY_TIMEOUT)
            while len(data) < BIG:
                data += connection.recv(65536)
            connection.sendall(data)
            with contextlib.suppress(OSError):
                wait_for_end(connection)

    with serving(talk) as (port, _):
        command = [
            built("tls_client"), f"--ca={authority()}", f"--send={BIG}", "--backlog=100000",
            "localhost",
            str(port)
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
            assert [client.stdout.readline() for _ in range(2)] == [b"connected\n", b"refused\n"]
            rejected.set()
            out, _ = client.communicate(timeout=3 * SAFETY_TIMEOUT)
    assert (client.returncode, out) == (0, b"heard %d\nclosed -\n" % BIG)


# ---- WebSocket ----


@pytest.fixture(scope="module")
def own_server():
    server = WireServer(tls=str(signed()))
    yield server
    server.stop()


@pytest.mark.parametrize("size", [0, 5, 16384, 1_000_000])
@pytest.mark.parametrize("version", ["1", "2"])
def test_websocket_echo(own_server, size, version):
    out, _ = run(f"--ca={authority()}", f"--min={version}", f"--max={version}", f"--send={size}",
                 f"wss://localhost:{own_server.port}/ws/echo")
    assert [line for line in out.splitlines()
            if line != "refused"] == ["open", f"heard {size}", "closed 1000 "]


def test_websocket_with_default_client(own_server):
    out, _ = run("--default", f"wss://localhost:{own_server.port}/ws/echo",
                 environment={"SSL_CERT_FILE": str(authority())})
    assert out == "open\nheard 5\nclosed 1000 \n"


def test_websocket_to_python_websockets():
    """16 MiB with Python's websockets; the certificate is verified with the system's
    authorities."""
    import asyncio

    import websockets

    async def talk(ws):
        async for message in ws:
            await ws.send(message)

    async def main():
        context = server_context(signed())
        async with websockets.serve(talk, "127.0.0.1", 0, ssl=context, max_size=2 * BIG,
                                    ping_interval=None) as running:
            port = running.sockets[0].getsockname()[1]
            return await asyncio.to_thread(run, f"--ca={authority()}", f"--send={BIG}",
                                           f"wss://localhost:{port}/any")

    out, _ = asyncio.run(main())
    assert [line for line in out.splitlines()
            if line != "refused"] == ["open", f"heard {BIG}", "closed 1000 "]


def test_websocket_connect_error_has_reason():
    with serving(echo(server_context(signed("other.example")))) as (port, _):
        out, log = run(f"--ca={authority()}", f"wss://localhost:{port}/")
    assert out == (f"closed 1006 cannot connect to localhost:{port}: the peer's certificate is not "
                   f"for this name\n")
    assert "failed: the peer's certificate is not for this name" in log


def test_websocket_without_required_client_certificate():
    with serving(echo(server_context(signed(), client_ca=authority(), only="1.3"))) as (port, _):
        out, _ = run(f"--ca={authority()}", f"wss://localhost:{port}/")
    assert out == "closed 1006 the peer requires a certificate\n"
