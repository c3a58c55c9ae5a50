"""TLS of a server: certificates, names, versions, resumption, client certificates, replacement, and
clients that violate the protocol. The other wire tests run over TLS, too (`./dev test wire-tls`),
and cover HTTP over TLS."""

import datetime
import hmac
import itertools
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509 import ocsp

import raw
import tls
from wire_server import SAFETY_TIMEOUT, WireServer, built, eventually, read_output

AUTH_OFF, OPTIONAL, REQUIRED = 0, 1, 2


class Server:
    """One running tls_server with a plain and a TLS port."""
    def __init__(self, *flags, cert=None):
        flags = list(flags) if any(
            flag.startswith("--cert=")
            for flag in flags) else [f"--cert={cert or tls.default_cert()}", *flags]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([built("tls_server"), *flags], stdout=subprocess.PIPE,
                                        stderr=self.errors)
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+) and 127\.0\.0\.1:(\d+)\n", line)
        if not found:
            self.process.wait()
            raise AssertionError(f"did not start: {self.log()}")
        self.plain, self.port = int(found[1]), int(found[2])

    def log(self):
        return read_output(self.errors)

    def connect(self, name="localhost", session=None, context=None, **options):
        return raw.Connection(self.port, tls=context or tls.context(**options), name=name,
                              session=session)

    def request(self, target="/hello", *fields, plain=False, host="localhost", **options):
        with raw.Connection(self.plain, tls=None) if plain else self.connect(
                **options) as connection:
            return connection.request("GET", target, *fields, host=host)

    def info(self, target="/info", **options):
        return json.loads(self.request(target, **options).body)

    def stats(self):
        return json.loads(self.request("/stats", plain=True).body)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=3 * SAFETY_TIMEOUT)
        self.process.stdout.close()
        assert code == 0, f"exit code {code}: {self.log()}"


@pytest.fixture
def start():
    running = []

    def starter(*flags, **options):
        running.append(Server(*flags, **options))
        return running[-1]

    yield starter
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.stop()


def rejected(*flags):
    """The error message for an invalid configuration."""
    run = subprocess.run([built("tls_server"), *map(str, flags)], capture_output=True)
    assert run.returncode == 1
    return run.stderr.decode().removeprefix("tls_server: ").strip()


def leaf(connection):
    """The certificate of the server, as PEM."""
    return ssl.DER_cert_to_PEM_cert(connection.socket.tls.getpeercert(True))


def pem_of(path):
    return pathlib.Path(path).read_text().split(
        "-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"


# ---- versions, ciphers, protocols ----


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_versions_and_key_types(start, version, kind):
    info = start(cert=tls.default_cert(kind)).info(only=version, alpn=["h3", "http/1.1"])
    assert info["scheme"] == "https" and info["version"] == f"TLSv{version}"
    assert (info["server_name"], info["protocol"], info["resumed"]) == ("localhost", "http/1.1",
                                                                        False)
    assert info["cipher"].startswith("TLS_AES" if version == "1.3" else "TLS_ECDHE_" +
                                     {"ec": "ECDSA", "rsa": "RSA"}[kind])
    assert (info["subject"], info["fingerprint"], info["names"], info["expires"]) == ("", "", "", 0)


def test_plain_listener_next_to_tls(server):
    assert server.info(plain=True) == {"scheme": "http"}
    assert server.info()["scheme"] == "https"


def test_blocking_handler_gets_tls_info(server):
    assert server.info("/blocking") == server.info()


def handshake_error(server, **options):
    with pytest.raises((ssl.SSLError, ConnectionError)) as error:
        with server.connect(**options) as connection:
            connection.request()
    return str(error.value)


def test_modern_profile_accepts_tls_1_3_only(start):
    server = start("--profile=1")
    assert server.info(only="1.3")["version"] == "TLSv1.3"
    assert "protocol version" in handshake_error(server, only="1.2").lower().replace("_", " ")


def test_version_limits(start):
    server = start("--max=1")
    assert server.info()["version"] == "TLSv1.2"
    assert handshake_error(server, only="1.3")


def old_context(version):
    made = tls.context()
    made.set_ciphers("ALL:@SECLEVEL=0")
    made.minimum_version = made.maximum_version = version
    return made


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_1_1_is_rejected(server):
    assert handshake_error(server, context=old_context(ssl.TLSVersion.TLSv1_1))


def test_configured_ciphers_and_groups(start):
    server = start("--ciphers=ECDHE-ECDSA-CHACHA20-POLY1305",
                   "--suites=TLS_CHACHA20_POLY1305_SHA256", "--groups=prime256v1")
    assert server.info(only="1.2")["cipher"] == "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    assert server.info(only="1.3")["cipher"] == "TLS_CHACHA20_POLY1305_SHA256"


@pytest.mark.parametrize("offer, chosen", [(["h3", "http/1.1"], "http/1.1"), (None, "")])
def test_alpn_selects_protocol(server, offer, chosen):
    assert server.info(alpn=offer)["protocol"] == chosen


def test_alpn_without_common_protocol_is_rejected(server):
    assert "no application protocol" in handshake_error(server,
                                                        alpn=["h3",
                                                              "spdy/3"]).lower().replace("_", " ")


# ---- invalid configurations ----


def test_configuration_errors_name_the_cause(tmp_path):
    good, other = tls.default_cert(), tls.certificate("other.example")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    bare = tmp_path / "bare.pem"
    bare.write_text(pem_of(good))
    key = tmp_path / "other.key"
    key.write_text(other.read_text().split("-----END CERTIFICATE-----\n")[1])
    cases = {
        (f"--cert={tmp_path}/none.pem", ):
            f"certificate_file '{tmp_path}/none.pem' cannot be opened: no such file or directory",
        (f"--cert={tmp_path}", ):
            f"certificate_file '{tmp_path}' is not a regular file", (f"--cert={empty}", ):
            f"the certificate of {empty} cannot be read: it is empty",
        (f"--cert={good}", f"--key={key}"):
            "the key does not match the certificate", (f"--cert={good}", f"--key={empty}"):
            f"the key of {good} cannot be read from {empty}",
        (f"--cert={good}", "--min=2", "--max=1"):
            "min_version is TLS 1.3, but max_version is TLS 1.2", (f"--cert={good}", "--profile=7"):
            "profile is 7; allowed are 0 and 1", (f"--cert={good}", "--ciphers=NOTHING"):
            'ciphers is "NOTHING": OpenSSL supports none of them',
        (f"--cert={good}", "--suites=NOTHING"):
            'cipher_suites is "NOTHING"',
        (f"--cert={good}", "--ciphers=ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1306:"
         "!aNULL"):
            "OpenSSL does not support 'ECDHE-ECDSA-CHACHA20-POLY1306'",
        (f"--cert={good}", "--ciphers=ECDHE-ECDSA-AES128-GCM-SHA256,TLS_AES_128_GCM_SHA256"):
            "'TLS_AES_128_GCM_SHA256' is for TLS 1.3; use cipher_suites",
        (f"--cert={good}", "--suites=TLS_AES_128_GCM_SHA256:TLS_AES_512_GCM_SHA256"):
            "OpenSSL does not support 'TLS_AES_512_GCM_SHA256'",
        (f"--cert={good}", "--ciphers=ECDHE-ECDSA-AES128-GCM-SHA256", "--min=2"):
            "ciphers is for TLS 1.2, which is disabled (min_version)",
        (f"--cert={good}", "--ciphers=ECDHE-ECDSA-AES128-GCM-SHA256", "--profile=1"):
            "ciphers is for TLS 1.2, which is disabled (profile)",
        (f"--cert={good}", "--suites=TLS_AES_128_GCM_SHA256", "--max=1"):
            "cipher_suites is for TLS 1.3, which is disabled (max_version)",
        (f"--cert={good}", f"--ticket-key={empty}", "--no-tickets"):
            "ticket_key_files is set, but tickets are off (no_tickets)",
        (f"--cert={good}", "--groups=nothing"):
            'groups is "nothing": OpenSSL does not support all of them', (f"--cert={bare}", ):
            f"the key of {bare} cannot be read from {bare}: it contains no private key in PEM "
            f"format", (f"--cert={good}", f"--key={tls.default_cert('rsa')}"):
            "the key does not match the certificate: the key type differs",
        (f"--cert={good}", "--client-auth=2"):
            "client_auth is on, but client_ca_file is not set", (f"--cert={good}", f"--ca={good}"):
            "client_ca_file is set, but client_auth is off", (f"--cert={good}", "--client-auth=9"):
            "client_auth is 9; allowed are 0 to 2",
        (f"--cert={good}", "--client-auth=2", f"--ca={empty}"):
            f"client_ca_file '{empty}' contains no certificate in PEM format",
        (f"--cert={good}", f"--crl={empty}"):
            "client_crl_file is set, but client_ca_file is not",
        (f"--cert={good}", "--one-time-tickets", "--no-tickets"):
            "one_time_tickets and no_tickets are both set",
        (f"--cert={good}", "--max-used-tickets=16777217"):
            "max_used_tickets is 16777217; allowed are 1 to 16777216",
        (f"--cert={good}", "--lifetime=604801"):
            "session_lifetime_ms is 604801000; allowed are 1000 to 604800000 milliseconds",
        (f"--cert={good}", f"--ticket-key={empty}"):
            f"ticket_key_files '{empty}' has 0 bytes; it must have 80",
        (f"--cert={good}", f"--ocsp={empty}"):
            f"ocsp_file '{empty}' contains no successful OCSP response in DER format",
    }
    for flags, words in cases.items():
        message = rejected(*flags)
        assert message.startswith("UVHTTP_ECONFIG: ") and words in message, (flags, message)


def test_weak_key_error_names_the_file():
    weak = tls.certificate("weak.example", kind="weak")
    for flags in [(f"--cert={weak}", ), (f"--cert={tls.default_cert()}", f"--cert={weak}"),
                  (f"--cert={weak}", f"--cert={tls.default_cert()}")]:
        assert f"the certificate of {weak} cannot be used: ee key too small" in rejected(*flags)


def test_key_pass_phrases(start, tmp_path):
    locked = tls.certificate("localhost", password="open sesame")
    (tmp_path / "right").write_text("open sesame\nmore\n")
    (tmp_path / "wrong").write_text("open\n")
    for flag in (f"--pass={tmp_path}/right", "--phrase=open sesame"):
        assert start(f"--cert={locked}", flag).request().status == 200
    assert "the key is encrypted, but no pass phrase is set" in rejected(f"--cert={locked}")
    for flag in (f"--pass={tmp_path}/wrong", "--phrase=open"):
        message = rejected(f"--cert={locked}", flag)
        assert "the pass phrase is wrong" in message and "open" not in message.replace(
            "cannot be opened", "")


def test_certificate_chain_is_sent(start, tmp_path):
    root = tls.authority("root")
    where = tmp_path / "middle"
    where.mkdir()
    tls.openssl("req", "-new", *tls.KEYS["ec"], "-nodes", "-subj", "/CN=middle", "-keyout",
                where / "ca.key", "-out", where / "r.pem", "-addext",
                "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    tls.openssl("x509", "-req", "-in", where / "r.pem", "-CA", root, "-CAkey",
                root.with_name("ca.key"), "-days", "9", "-copy_extensions", "copyall", "-out",
                where / "ca.pem", "-set_serial", "5")
    cert = tls.certificate("localhost", ca=where / "ca.pem")
    with_chain = tmp_path / "chain.pem"
    end = "-----END CERTIFICATE-----\n"
    head, key = cert.read_text().split(end, 1)
    with_chain.write_text(head + end + (where / "ca.pem").read_text() + key)
    assert start(cert=with_chain).request(ca=root).status == 200
    assert "unable to get" in handshake_error(start(cert=cert), ca=root)


# ---- names ----


def test_sni_selects_certificate(start):
    first, exact, wild = tls.certificate("first.example"), tls.certificate(
        "a.example", "b.example"), tls.certificate("*.wild.example")
    server = start(f"--cert={first}", f"--cert={exact}", f"--cert={wild}")
    expected = {
        "first.example": first, "a.example": exact, "B.EXAMPLE": exact, "b.example.": exact,
        "x.wild.example": wild, "x.y.wild.example": first, "wild.example": first,
        "unknown.example": first, None: first
    }
    for version in ("1.2", "1.3"):
        for name, path in expected.items():
            with server.connect(name=name, only=version) as connection:
                assert leaf(connection) == pem_of(path), name
                assert json.loads(connection.request("GET", "/info").body)["server_name"] == (
                    name or "").lower() or name != (name or "").lower()


def test_client_offer_selects_key_type(start):
    ec, rsa = tls.certificate("both.example"), tls.certificate("both.example", kind="rsa")
    for flags in ((f"--cert={ec}", f"--cert={rsa}"), (f"--cert={tls.default_cert()}",
                                                      f"--cert={rsa}", f"--cert={ec}")):
        server = start(*flags)
        for suite, path in (("ECDHE-ECDSA-AES128-GCM-SHA256", ec), ("ECDHE-RSA-AES128-GCM-SHA256",
                                                                    rsa)):
            context = tls.context(only="1.2")
            context.set_ciphers(suite)
            with server.connect(name="both.example", context=context) as connection:
                assert leaf(connection) == pem_of(path)


def test_first_certificate_of_name_and_key_type_is_used(start):
    one, two = tls.certificate("same.example"), tls.certificate("same.example")
    with start(f"--cert={one}", f"--cert={two}").connect(name="same.example") as connection:
        assert leaf(connection) == pem_of(one)


# ---- resumption ----


def session_of(server, **options):
    """A session after one request, whose ticket is read."""
    name = options.pop("name", "localhost")
    context = tls.context(**options)
    with server.connect(context=context, name=name) as connection:
        assert connection.request(host=name).status == 200
        return context, connection.socket.tls.session


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_ticket_resumes_session(start, version):
    server = start("--workers=2")
    context, session = session_of(server, only=version)
    for _ in range(8):  # on any worker
        assert server.info(context=context, session=session)["resumed"]
    stats = server.stats()
    assert (stats["handshakes"], stats["resumed"], stats["failures"]) == (9, 8, 0)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_without_tickets_no_session_is_resumed(start, version):
    server = start("--no-tickets")
    context, session = session_of(server, only=version)
    assert not server.info(context=context, session=session)["resumed"]


def test_session_expires_after_lifetime(start):
    server = start("--lifetime=1")
    context = session = None

    def resumes():
        nonlocal context, session
        context, session = session_of(server, only="1.2")
        return server.info(context=context, session=session)["resumed"]

    eventually(resumes, "a new session resumes")  # on a busy machine not always within a second
    eventually(lambda: not server.info(context=context, session=session)["resumed"],
               "the session has expired")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_new_tickets_do_not_extend_session_lifetime(start, version):
    """Each resumption issues a ticket, and the client uses the newest one."""
    server = start("--lifetime=2")
    context, session = session_of(server, only=version)

    def resume():
        nonlocal session
        with server.connect(context=context, session=session) as connection:
            resumed = json.loads(connection.request("GET", "/info").body)["resumed"]
            session = connection.socket.tls.session
        return resumed

    resumed = []
    for _ in range(2):
        time.sleep(1.2)  # the second one is after the lifetime, and before twice the lifetime
        resumed.append(resume())
    assert not all(resumed)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_session_is_not_resumed_for_another_name(start, version):
    """The certificate is valid for both names."""
    server = start(f"--cert={tls.certificate('a.example', 'b.example')}")
    context, session = session_of(server, only=version, name="a.example")
    info = server.info(context=context, session=session, name="a.example")
    assert info["resumed"] and info["server_name"] == "a.example"
    info = server.info(context=context, session=session, name="b.example")
    assert not info["resumed"] and info["server_name"] == "b.example"


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_ticket_key_files_are_shared(start, tmp_path, version):
    for name in ("old", "new"):
        (tmp_path / name).write_bytes(os.urandom(80))
    first, second = start(f"--ticket-key={tmp_path}/old"), start(f"--ticket-key={tmp_path}/new",
                                                                 f"--ticket-key={tmp_path}/old")
    context, session = session_of(first, only=version)
    assert second.info(context=context, session=session)["resumed"]
    assert not start(f"--ticket-key={tmp_path}/new").info(context=context,
                                                          session=session)["resumed"]


def is_resumed(server, context, session):
    return server.info(context=context, session=session)["resumed"]


def test_one_time_ticket_resumes_once_across_workers(start):
    server = start("--workers=2", "--one-time-tickets")
    context, session = session_of(server, only="1.3")
    assert [is_resumed(server, context, session) for _ in range(8)] == [True] + 7 * [False]
    stats = server.stats()
    assert (stats["handshakes"], stats["resumed"], stats["failures"]) == (9, 1, 0)


def test_one_time_ticket_is_followed_by_a_new_one(start):
    server = start("--one-time-tickets")
    context, session = session_of(server, only="1.3")
    for _ in range(5):
        with server.connect(context=context, session=session) as connection:
            assert json.loads(connection.request("GET", "/info").body)["resumed"]
            session = connection.socket.tls.session


def test_one_time_ticket_stays_used_after_reload(start):
    server = start("--one-time-tickets", cert=tls.default_cert())
    context, session = session_of(server, only="1.3")
    assert is_resumed(server, context, session)
    assert server.request("/reload", plain=True).body == b"ok"
    assert not is_resumed(server, context, session)
    assert server.request(f"/reload?cert={tls.default_cert()}", plain=True).body == b"ok"
    assert not is_resumed(server, context, session)
    context, session = session_of(server, only="1.3")
    assert server.request("/reload", plain=True).body == b"ok"
    assert is_resumed(server, context, session)


def test_full_ticket_register_forces_full_handshakes(start):
    server = start("--one-time-tickets", "--max-used-tickets=2", "--lifetime=6")
    sessions = [session_of(server, only="1.3") for _ in range(3)]
    assert [is_resumed(server, *one) for one in sessions] == [True, True, False]
    assert not is_resumed(server, *sessions[0])

    def resumes():
        return is_resumed(server, *session_of(server, only="1.3"))

    eventually(resumes, "the register has space")


def test_tls_1_2_tickets_are_reusable(start):
    server = start("--one-time-tickets")
    context, session = session_of(server, only="1.2")
    assert [is_resumed(server, context, session) for _ in range(3)] == 3 * [True]


def test_one_time_ticket_with_hello_retry_request(start):
    """The client sends its ticket in both ClientHello messages."""
    server = start("--one-time-tickets", "--groups=secp384r1")
    context, session = session_of(server, only="1.3")
    assert [is_resumed(server, context, session) for _ in range(2)] == [True, False]


def test_one_time_ticket_is_accepted_once_per_server(start, tmp_path):
    (tmp_path / "key").write_bytes(os.urandom(80))
    servers = [start(f"--ticket-key={tmp_path}/key", "--one-time-tickets") for _ in range(2)]
    context, session = session_of(servers[0], only="1.3")
    for server in servers:
        assert [is_resumed(server, context, session) for _ in range(2)] == [True, False]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_session_is_bound_to_host(start, version):
    a, b = tls.certificate("a.example"), tls.certificate("b.example")
    server = start(f"--cert={a}", f"--cert={b}")
    context, session = session_of(server, only=version, name="a.example")
    assert server.info(context=context, session=session, name="a.example")["resumed"]
    assert not server.info(context=context, session=session, name="b.example")["resumed"]


# ---- client certificates ----


@pytest.fixture(scope="module")
def people():
    """A certificate authority with its revocation list, and clients of it."""
    ca = tls.authority("people")
    where = ca.parent
    made = {
        name: tls.certificate(f"{name}.example", ca=ca, common_name=name, usage="clientAuth")
        for name in ("ann", "bob")
    }
    made["expired"] = tls.certificate("old.example", ca=ca, common_name="expired",
                                      usage="clientAuth", days=-1)
    made["stranger"] = tls.certificate("x.example", ca=tls.authority("others"),
                                       common_name="stranger")
    (where / "index").write_text("")
    (where / "number").write_text("01\n")
    (where / "conf").write_text(
        f"[ca]\ndefault_ca=d\n[d]\ndatabase={where}/index\ncrlnumber={where}/number\n"
        f"default_md=sha256\n"
        f"certificate={ca}\nprivate_key={where}/ca.key\ndefault_crl_days=30\n")
    tls.openssl("ca", "-config", where / "conf", "-revoke", made["bob"])
    tls.openssl("ca", "-config", where / "conf", "-gencrl", "-out", where / "crl.pem")
    made["ca"], made["crl"] = ca, where / "crl.pem"
    return made


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("level", [OPTIONAL, REQUIRED])
def test_client_certificate_levels(start, people, version, level):
    server = start(f"--client-auth={level}", f"--ca={people['ca']}", f"--crl={people['crl']}")
    info = server.info("/private/info", client=people["ann"], only=version)
    assert (info["subject"], info["issuer"], info["names"]) == ("CN=ann", "CN=people",
                                                                "DNS:ann.example")
    digest = tls.openssl("x509", "-in", people["ann"], "-noout", "-fingerprint",
                         "-sha256").decode().split("=")[1]
    assert info["fingerprint"] == digest.strip().replace(":", "").lower()
    assert abs(info["expires"] - time.time() - 30 * 86400) < 86400
    reasons = {
        "bob": "certificate revoked", "expired": "the peer's certificate has expired",
        "stranger": "the peer's certificate is not signed by a trusted CA"
    }
    for name in reasons:
        assert handshake_error(server, client=people[name], only=version)
    eventually(lambda: server.stats()["failures"] == 3, "three failures are counted")
    for reason in reasons.values():
        assert f" failed: {reason}" in server.log()
    if level == REQUIRED:
        assert handshake_error(server, only=version)
        eventually(lambda: "peer did not return a certificate" in server.log(),
                   "its reason is logged")
    else:
        assert server.info(only=version)["subject"] == ""
        assert server.request("/private/info", only=version).status == 403


def test_client_names_are_escaped(start, people, tmp_path):
    conf, leaf = tmp_path / "conf", tmp_path / "leaf.pem"
    conf.write_text(
        "[req]\ndistinguished_name=d\nx509_extensions=x\n[d]\n[x]\nsubjectAltName=@names\n"
        "basicConstraints=CA:FALSE\n[names]\n"
        "DNS.1 = ann.example\\, DNS:root.example\nDNS.2 = b\\\\c\n")
    tls.openssl("req", "-x509", "-config", conf, "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-CA", people["ca"],
                "-CAkey", people["ca"].parent / "ca.key", "-keyout", tmp_path / "key.pem", "-out",
                leaf)
    leaf.write_bytes(leaf.read_bytes() + (tmp_path / "key.pem").read_bytes())
    server = start(f"--client-auth={OPTIONAL}", f"--ca={people['ca']}")
    assert server.request("/names",
                          client=leaf).body == b"DNS:ann.example\\, DNS:root.example, DNS:b\\\\c"


def test_truncated_revocation_list_is_rejected(people, tmp_path):
    whole = people["crl"].read_text()
    for text in (whole[:-30], whole + whole[:len(whole) // 2]):
        (tmp_path / "crl.pem").write_text(text)
        error = rejected(f"--cert={tls.default_cert()}", f"--client-auth={REQUIRED}",
                         f"--ca={people['ca']}", f"--crl={tmp_path / 'crl.pem'}")
        assert f"client_crl_file '{tmp_path / 'crl.pem'}' cannot be read" in error


def test_plain_request_has_no_client_certificate(start, people):
    server = start(f"--client-auth={OPTIONAL}", f"--ca={people['ca']}")
    assert server.request("/private/info", plain=True).status == 403


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_resumed_session_keeps_client_certificate(start, people, version):
    server = start(f"--client-auth={REQUIRED}", f"--ca={people['ca']}", f"--crl={people['crl']}")
    context, session = session_of(server, only=version, client=people["ann"])
    info = server.info("/private/info", context=context, session=session)
    assert info["resumed"] and info["subject"] == "CN=ann" and info["names"] == "DNS:ann.example"


def short_lived(ca, seconds):
    """A client certificate that expires soon."""
    where = pathlib.Path(tempfile.mkdtemp(dir=tls.directory()))
    (where / "index").write_text("")
    (where / "conf").write_text(
        f"[ca]\ndefault_ca=d\n[d]\ndatabase={where}/index\nrand_serial=yes\nnew_certs_dir={where}\n"
        f"default_md=sha256\ncertificate={ca}\nprivate_key={ca.parent}/ca.key\npolicy=p\n"
        "[p]\ncommonName=supplied\n")
    tls.openssl("req", "-new", *tls.KEYS["ec"], "-nodes", "-subj", "/CN=brief", "-keyout",
                where / "key.pem", "-out", where / "request.pem")
    end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))
    tls.openssl("ca", "-batch", "-notext", "-config", where / "conf", "-in", where / "request.pem",
                "-out", where / "made.pem", "-startdate", "20200101000000Z", "-enddate", end)
    (where / "both.pem").write_bytes((where / "made.pem").read_bytes() +
                                     (where / "key.pem").read_bytes())
    return where / "both.pem"


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_session_expires_with_client_certificate(start, people, version):
    server = start(f"--client-auth={REQUIRED}", f"--ca={people['ca']}")
    context, session = session_of(server, only=version, client=short_lived(people["ca"], 8))

    def is_rejected():
        try:
            server.info(context=context, session=session)
        except (ssl.SSLError, ConnectionError, AssertionError):
            return True

    assert server.info(context=context, session=session)["resumed"]
    eventually(is_rejected, "the session has expired")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_session_of_another_host_requires_client_certificate(start, people, version):
    open_host, closed = tls.certificate("open.example"), tls.certificate("closed.example")
    server = start(f"--cert={open_host}", f"--cert={closed}", f"--auth={REQUIRED}",
                   f"--ca={people['ca']}")
    context, session = session_of(server, only=version, name="open.example")
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        server.info(context=context, session=session, name="closed.example")
    assert server.info(name="closed.example", client=people["ann"], only=version,
                       host="closed.example")["subject"] == "CN=ann"
    for host in ("closed.example", "CLOSED.example:443", "closed.example."):
        assert server.request(name="open.example", only=version, host=host).status == 421, host
    assert server.request(name="open.example", only=version, host="open.example").status == 200


def test_server_wide_client_certificates_cause_no_421(start, people):
    server = start(f"--client-auth={REQUIRED}", f"--ca={people['ca']}")
    assert server.request(host="elsewhere.example", client=people["ann"]).status == 200


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_session_ends_after_change_of_authorities(start, people, tmp_path, version):
    ca = tmp_path / "ca.pem"
    ca.write_bytes(people["ca"].read_bytes())
    server = start(f"--client-auth={REQUIRED}", f"--ca={ca}")
    context, session = session_of(server, only=version, client=people["ann"])
    ca.write_bytes(tls.authority("new").read_bytes())
    assert server.request("/reload", plain=True).body == b"ok"
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        server.info(context=context, session=session)


# ---- OCSP, key log ----


def ocsp_response(ca, cert, seconds=3600, path=None):
    """A DER response of the authority with status good; nextUpdate is that many seconds from
    now."""
    issuer, subject = (x509.load_pem_x509_certificate(pem_of(one).encode()) for one in (ca, cert))
    key = serialization.load_pem_private_key(ca.with_name("ca.key").read_bytes(), None)
    until = datetime.datetime.utcnow() + datetime.timedelta(seconds=seconds)
    builder = ocsp.OCSPResponseBuilder().add_response(
        cert=subject, issuer=issuer, algorithm=hashes.SHA1(), cert_status=ocsp.OCSPCertStatus.GOOD,
        this_update=min(until, datetime.datetime.utcnow()) - datetime.timedelta(hours=1),
        next_update=until, revocation_time=None, revocation_reason=None)
    made = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, issuer).sign(key, hashes.SHA256())
    path = path or pathlib.Path(tempfile.mkdtemp(dir=tls.directory())) / "response"
    path.with_suffix(".new").write_bytes(made.public_bytes(serialization.Encoding.DER))
    path.with_suffix(".new").rename(path)
    return path


def stapled(server, version="1.3"):
    """The serial number and the end of the response that a client gets, or None."""
    run = subprocess.run([
        "openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", "localhost",
        "-status", f"-tls{version.replace('.', '_')}"
    ], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if "OCSP response: no response sent" in run.stdout:
        return None
    assert "OCSP Response Status: successful" in run.stdout
    return re.search(r"Serial Number: (\w+)",
                     run.stdout)[1], re.search("Next Update: (.*)", run.stdout)[1]


def serial_number(cert):
    return tls.openssl("x509", "-in", cert, "-noout", "-serial").decode().strip().split("=")[1]


@pytest.fixture(scope="module")
def stapling():
    """An authority and a certificate signed by it."""
    ca = tls.authority()
    return ca, tls.certificate(ca=ca)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_ocsp_response_is_stapled(start, stapling, version):
    ca, cert = stapling
    assert stapled(start(f"--cert={cert}", f"--ocsp={ocsp_response(ca, cert)}"),
                   version)[0] == serial_number(cert)
    assert stapled(start(f"--cert={cert}"), version) is None


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_ocsp_response_is_not_stapled_after_next_update(start, stapling, version):
    ca, cert = stapling
    assert stapled(start(f"--cert={cert}", f"--ocsp={ocsp_response(ca, cert, seconds=-60)}"),
                   version) is None
    server = start(f"--cert={cert}", f"--ocsp={ocsp_response(ca, cert, seconds=4)}")
    eventually(lambda: stapled(server, version) is None, "the response has expired")
    assert server.request(only=version).status == 200


def test_ocsp_response_matches_certificate(start, stapling):
    """Two certificates of one name: the response is that of the certificate that the client
    gets."""
    ca, cert = stapling
    rsa = tls.certificate(ca=ca, kind="rsa")
    flags = [f"--cert={rsa}", f"--ocsp={ocsp_response(ca, rsa)}"]
    assert stapled(start(f"--cert={cert}", f"--ocsp={ocsp_response(ca, cert)}",
                         *flags))[0] == serial_number(cert)
    assert stapled(start(f"--cert={cert}", *flags)) is None


def test_ocsp_response_of_another_certificate_is_not_stapled(start, stapling):
    ca, cert = stapling
    assert stapled(start(f"--cert={cert}",
                         f"--ocsp={ocsp_response(ca, tls.certificate(ca=ca))}")) is None


def test_ocsp_response_is_reloaded(start, stapling):
    """By a newer response, by an invalid file, which is only logged, and by an expired response."""
    ca, cert = stapling
    path = ocsp_response(ca, cert)
    server = start("--watch", f"--cert={cert}", f"--ocsp={path}")
    first = stapled(server)
    ocsp_response(ca, cert, seconds=7200, path=path)
    eventually(lambda: stapled(server) != first, "the newer response is stapled")
    second = stapled(server)
    assert second[0] == serial_number(cert)
    path.write_bytes(b"no response")
    eventually(
        lambda: f"ocsp_file '{path}' contains no successful OCSP response in DER format" in server.
        log(), "the error is logged")
    assert stapled(server) == second
    ocsp_response(ca, cert, seconds=-60, path=path)
    eventually(lambda: stapled(server) is None, "no response")


def test_key_log_has_secrets(start, tmp_path):
    log = tmp_path / "keys"
    server = start(f"--key-log={log}")
    assert server.request(only="1.3").status == 200 and server.request(only="1.2").status == 200
    labels = {line.split()[0] for line in log.read_text().splitlines()}
    assert {"CLIENT_RANDOM", "SERVER_TRAFFIC_SECRET_0", "CLIENT_TRAFFIC_SECRET_0"} <= labels
    assert log.stat().st_mode & 0o777 == 0o600


# ---- replacement ----


def test_replaced_certificate_serves_new_connections(start):
    one, two = tls.certificate("localhost"), tls.certificate("localhost")
    server = start(cert=one)
    with server.connect() as kept:
        assert kept.request().status == 200 and leaf(kept) == pem_of(one)
        assert server.request(f"/reload?cert={two}", plain=True).body == b"ok"
        with server.connect() as fresh:
            assert leaf(fresh) == pem_of(two)
        assert kept.request().status == 200
    bad = server.request("/reload?cert=/nonexistent.pem", plain=True)
    assert (bad.status, bad.body) == (
        500, b"certificate_file '/nonexistent.pem' cannot be opened: no such file or directory")
    with server.connect() as fresh:
        assert leaf(fresh) == pem_of(two)


def test_watched_files_are_reloaded(start, tmp_path):
    both = tmp_path / "both.pem"
    one, two = tls.certificate("localhost"), tls.certificate("localhost")
    both.write_bytes(one.read_bytes())
    server = start("--watch", cert=both)

    def served():
        with server.connect() as connection:
            return leaf(connection)

    assert served() == pem_of(one)
    both.write_text("no certificate")
    eventually(lambda: "certificates not reloaded" in server.log(), "the error is logged")
    assert f"the certificate of {both} cannot be read" in server.log() and served() == pem_of(one)
    temporary = tmp_path / "new"
    temporary.write_bytes(two.read_bytes())
    temporary.rename(both)
    eventually(lambda: served() == pem_of(two), "the new certificate is served")
    assert server.log().count("certificates not reloaded") == 1
    eventually(lambda: "certificates reloaded" in server.log(), "that is logged")


def test_watch_retries_after_temporary_failure(start, tmp_path):
    """The files are unchanged at the next attempt: the process had no free descriptor."""
    both = tmp_path / "both.pem"
    one, two = tls.certificate("localhost"), tls.certificate("localhost")
    both.write_bytes(one.read_bytes())
    server = start("--watch", cert=both)
    connection = server.connect()
    assert leaf(connection) == pem_of(one)
    pid = server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    (tmp_path / "next").write_bytes(two.read_bytes())
    (tmp_path / "next").rename(both)
    eventually(
        lambda: "certificates not reloaded" in server.log() and "too many open files" in server.log(
        ), "the error is logged")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    def served():
        with server.connect() as again:
            return leaf(again)

    eventually(lambda: served() == pem_of(two), "the new certificate is served")
    assert server.log().count("certificates not reloaded") == 1
    connection.close()


def test_key_and_certificate_replaced_separately(start, tmp_path):
    """Between two checks no error is logged, and the matching pair is loaded."""
    end = "-----END CERTIFICATE-----\n"
    one, two = tls.certificate("localhost").read_text().split(
        end, 1), tls.certificate("localhost").read_text().split(end, 1)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text(one[0] + end)
    key.write_text(one[1])
    server = start(f"--cert={cert}", f"--key={key}", "--watch")
    cert.write_text(two[0] + end)
    key.write_text(two[1])

    def served():
        with server.connect() as connection:
            return leaf(connection)

    eventually(lambda: served() == two[0] + end, "the new pair is served")
    assert "certificates not reloaded" not in server.log()


def test_symlink_change_is_detected(start, tmp_path):
    one, two = tls.certificate("localhost"), tls.certificate("localhost")
    for name, made in (("a", one), ("b", two)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "both.pem").write_bytes(made.read_bytes())
    (tmp_path / "live").symlink_to("a")
    server = start("--watch", cert=tmp_path / "live" / "both.pem")
    (tmp_path / "next").symlink_to("b")
    (tmp_path / "next").rename(tmp_path / "live")

    def served():
        with server.connect() as connection:
            return leaf(connection)

    eventually(lambda: served() == pem_of(two), "the certificate of the new target is served")


def test_expiry_time_is_reported(start):
    soon, later = tls.certificate("soon.example",
                                  days=10), tls.certificate("later.example", days=300)
    server = start(f"--cert={later}", f"--cert={soon}")
    stats = server.stats()
    assert abs(stats["expires"] - time.time() -
               10 * 86400) < 3600 and stats["own_expires"] == stats["expires"]
    eventually(lambda: f"the certificate of {soon} expires in " in server.log(), "a warning")
    assert re.search(r"expires in (9|10) days, at 20", server.log())
    assert str(later) not in server.log()
    expired = tls.certificate("old.example", days=-1, ca=tls.authority())
    server = start(f"--cert={expired}")
    eventually(lambda: f"the certificate of {expired} expired at" in server.log(), "a warning")


class Numbered:
    """Certificates with their keys as PEM. Number N expires N seconds after `base`, so that
    uvhttp_tls_expires identifies the certificate in use."""
    def __init__(self):
        self.base = int(time.time()) + 30 * 86400
        self.numbers = {}  # by certificate (DER)

    def make(self, number):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        made = x509.CertificateBuilder(name, name, key.public_key(), number + 1,
                                       datetime.datetime(2020, 1, 1),
                                       datetime.datetime.utcfromtimestamp(self.base + number)).sign(
                                           key, hashes.SHA256())
        self.numbers[made.public_bytes(serialization.Encoding.DER)] = number
        return (made.public_bytes(serialization.Encoding.PEM),
                key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                  serialization.NoEncryption()))

    def broken(self, number):
        """An invalid pair; the three kinds alternate."""
        pair, other = self.make(number), self.make(number)
        return [b"broken", pair[0] + other[1], pair[0] + pair[1][:100]][number % 3]


class Clients:
    """Threads that send requests, on new and on persistent connections. Each handshake must get a
    certificate at least as new as `known` was before it."""
    def __init__(self, server, certificates, count):
        self.server, self.certificates = server, certificates
        self.known, self.stopped = 0, threading.Event()
        self.failures, self.requests, self.handshakes = [], [0] * count, [0] * count
        self.threads = [
            threading.Thread(target=self.run, args=(number, )) for number in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        try:
            while not self.stopped.is_set():
                self.connection(number,
                                (range(1), range(6), range(11), itertools.count())[number % 4])
        except Exception as error:  # any exception is a failed request
            self.failures.append(repr(error))

    def connection(self, number, requests):
        known = self.known
        with self.server.connect() as connection:
            self.handshakes[number] += 1
            seen = self.certificates.numbers[connection.socket.tls.getpeercert(True)]
            assert seen >= known, f"{seen} is older than {known}"
            for _ in requests:
                assert connection.request().status == 200
                self.requests[number] += 1
                if self.stopped.is_set():
                    break

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        assert self.failures == [] and min(self.requests) > 0 and min(self.handshakes) > 0


def steps():
    """The numbers of the replacements, one every 100 ms. A late one does not delay the following
    ones."""
    begun = time.monotonic()
    for number in range(1, LOAD_SECONDS * 10):
        yield number
        time.sleep(max(0, begun + number / 10 - time.monotonic()))


def replace_file(path, data):
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").rename(path)


LOAD_SECONDS, LOAD_CLIENTS = (int(os.environ.get(f"UVHTTP_TLS_LOAD_{name}", default))
                              for name, default in (("SECONDS", 4), ("CLIENTS", 8)))
STAY = "certificates not reloaded"


def test_load_during_certificate_reloads(start, tmp_path):
    """Like the next test, with a call of uvhttp_tls_reload after each change: the next handshake
    gets the new certificate. Each invalid pair is logged once and changes nothing."""
    path, certificates, broken = tmp_path / "both.pem", Numbered(), 0
    replace_file(path, b"".join(certificates.make(0)))
    server = start("--workers=2", cert=path)
    clients, begun = Clients(server, certificates, LOAD_CLIENTS), time.monotonic()
    for number in steps():
        if number % 4 == 3:
            replace_file(path, certificates.broken(number))
            response = server.request("/reload", plain=True)
            assert response.status == 500 and str(path) in response.body.decode()
            broken += 1
        else:
            replace_file(path, b"".join(certificates.make(number)))
            assert server.request("/reload", plain=True).body == b"ok"
            clients.known = number
        if number % 5 == 0:
            assert server.stats()["own_expires"] == certificates.base + clients.known
    seconds = time.monotonic() - begun
    clients.stop()
    stats = server.stats()
    assert (stats["handshakes"], stats["failures"]) == (sum(clients.handshakes), 0)
    print(f"{seconds:.0f} s, {sum(clients.requests)} requests, {sum(clients.handshakes)} "
          f"handshakes, {number} replacements, {broken} of them broken")


def test_load_during_certificate_replacements(start, tmp_path):
    """New and persistent connections, while a watched file is replaced every 100 ms, every fourth
    time by an invalid pair. No request fails, and no handshake gets a certificate older than the
    one in use before it. Then three invalid pairs stay until each is logged once.

    UVHTTP_TLS_LOAD_SECONDS and UVHTTP_TLS_LOAD_CLIENTS set the duration and the number of clients
    (default: 4 and 8).
    """
    path, certificates, lags = tmp_path / "both.pem", Numbered(), []
    replace_file(path, b"".join(certificates.make(0)))
    server = start("--watch", "--workers=2", cert=path)
    clients, begun = Clients(server, certificates, LOAD_CLIENTS), time.monotonic()

    def served_number():
        """The number of the certificate in use, as the server reports it. It is passed to the
        clients."""
        clients.known = server.stats()["own_expires"] - certificates.base
        return clients.known

    for number in steps():
        if number % 4 == 3:
            replace_file(path, certificates.broken(number))
        else:
            replace_file(path, b"".join(certificates.make(number)))
        if number % 5 == 0:
            lags.append(number - served_number())
    seconds, count = time.monotonic() - begun, server.log().count(STAY)
    assert count <= number // 4 + 1
    for extra in range(1, 4):
        replace_file(path, certificates.broken(number + extra))
        eventually(lambda: server.log().count(STAY) == count + extra, "one log line for each")
        kept = served_number()
    time.sleep(1.5)  # long enough for another check of the file
    assert server.log().count(STAY) == count + 3 and served_number() == kept
    last = number + 4
    replace_file(path, b"".join(certificates.make(last)))
    handshakes = 0
    while served_number() != last:  # within one second by specification; three on a slow machine
        handshakes += 1
        assert handshakes <= 30, "the last certificate is not loaded"
        time.sleep(0.1)
    for _ in range(4):  # of both workers
        with server.connect() as connection:
            assert certificates.numbers[connection.socket.tls.getpeercert(True)] == last
            assert connection.request().status == 200  # the server has finished the handshake
    clients.stop()
    stats = server.stats()
    assert (stats["handshakes"], stats["failures"]) == (sum(clients.handshakes) + 4, 0)
    print(f"{seconds:.0f} s, {sum(clients.requests)} requests, {sum(clients.handshakes)} "
          f"handshakes, {number + 4} replacements, of which the server was at most "
          f"{max(lags)} behind, the last one loaded before look {handshakes + 1} of 100 ms, "
          f"{server.log().count('certificates reloaded')} loads, {count} + 3 lines of broken ones")


# ---- clients that violate the protocol ----


def records(data):
    """The TLS records in some bytes."""
    found, at = [], 0
    while at < len(data):
        size = 5 + struct.unpack(">H", data[at + 3:at + 5])[0]
        found.append(data[at:at + size])
        at += size
    return found


class Script:
    """A client whose records are sent by the test: `outgoing` is the output of the ssl module."""
    def __init__(self, port, **options):
        self.plain = socket.create_connection(("127.0.0.1", port), timeout=SAFETY_TIMEOUT)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.context(**options).wrap_bio(self.incoming, self.outgoing,
                                                   server_hostname="localhost")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.plain.close()

    def step(self, call, *arguments):
        """Calls a function, and returns the bytes to send."""
        try:
            call(*arguments)
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def receive(self):
        data = self.plain.recv(65536)
        if data:
            self.incoming.write(data)
        return data

    def handshake(self, send=None):
        """The whole handshake; `send` sends each flight."""
        send = send or self.plain.sendall
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                if self.outgoing.pending:
                    send(self.outgoing.read())
                assert self.receive(), "closed during the handshake"
        if self.outgoing.pending:
            send(self.outgoing.read())

    def response(self):
        data = b""
        while True:
            try:
                part = self.tls.read(65536)
                data += part
                if not part or data.endswith(b"Hello, world\n"):
                    return data
            except ssl.SSLWantReadError:
                if not self.receive():
                    return data


def hello_request(connection="keep-alive"):
    return raw.request("GET", "/hello", f"Connection: {connection}")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls_stream_sent_byte_by_byte(server, version):
    def bytewise(data):
        for i in range(len(data)):
            client.plain.sendall(data[i:i + 1])

    with Script(server.port, only=version) as client:
        client.plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.handshake(bytewise)
        bytewise(client.step(client.tls.write, hello_request()))
        assert client.response().startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_request_in_many_records_in_one_segment(server, version):
    with Script(server.port, only=version) as client:
        client.handshake()
        data = b"".join(
            client.step(client.tls.write,
                        hello_request()[i:i + 1]) for i in range(len(hello_request())))
        client.plain.sendall(data)
        assert client.response().startswith(b"HTTP/1.1 200 OK")


def test_request_in_segment_of_last_flight(server):
    with Script(server.port, only="1.3") as client:
        client.plain.sendall(client.step(client.tls.do_handshake))
        flight = b""
        while not flight:
            client.receive()
            flight = client.step(client.tls.do_handshake)
        client.plain.sendall(flight + client.step(client.tls.write, hello_request()))
        assert client.response().startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_stream_truncated_at_every_record(server, version):
    """The client ends after each record of its handshake and its request. The server closes the
    connection; other connections are not affected."""
    whole = []
    with Script(server.port, only=version) as client:
        client.handshake(lambda data: (whole.extend(records(data)), client.plain.sendall(data)))
        whole += records(client.step(client.tls.write, hello_request()))
    for count in range(len(whole)):
        sent = []

        def send(data):
            for record in records(data):
                if len(sent) < count:
                    sent.append(record)
                    client.plain.sendall(record)
            if len(sent) == count:
                raise EOFError

        with Script(server.port, only=version) as client:
            try:
                client.handshake(send)
                send(client.step(client.tls.write, hello_request()))
            except EOFError:
                client.plain.shutdown(socket.SHUT_WR)
                while client.plain.recv(65536):
                    pass
    assert server.request().status == 200


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_end_without_close_notify_does_not_end_body(server, version):
    with Script(server.port, only=version) as client:
        client.handshake()
        client.plain.sendall(
            client.step(client.tls.write,
                        raw.request("POST", "/hello", "Content-Length: 5") + b"abc"))
        client.plain.shutdown(socket.SHUT_WR)
        assert client.response() == b""


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_half_close_after_request_gets_response(server, version):
    with server.connect(only=version) as connection:
        connection.send(hello_request())
        connection.half_close()
        assert connection.rest().endswith(b"Hello, world\n")
        assert not connection.socket.truncated


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_server_sends_close_notify(server, version):
    with server.connect(only=version) as connection:
        connection.send(hello_request("close"))
        assert connection.rest().endswith(b"Hello, world\n")
        assert not connection.socket.truncated


def test_idle_timeout_sends_close_notify(start):
    server = start("--keep-alive-timeout=1")
    with server.connect() as idle:
        assert idle.request("GET", "/hello").status == 200
        assert idle.rest() == b"" and not idle.socket.truncated


def test_stop_sends_close_notify_to_idle_connections(start):
    server = start()
    with server.connect() as idle:
        assert idle.request("GET", "/hello").status == 200
        server.process.send_signal(signal.SIGTERM)
        assert idle.rest() == b"" and not idle.socket.truncated
    assert server.process.wait(timeout=SAFETY_TIMEOUT) == 0


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_close_notify_gets_close_notify(server, version):
    with server.connect(only=version) as connection:
        assert connection.request("GET", "/hello").status == 200
        connection.half_close()
        assert connection.rest() == b"" and not connection.socket.truncated


@pytest.mark.parametrize("garbage", [
    b"\x16\x03\x01\x00\x05hello",
    bytes(100), b"\x16\x03\x01\xff\xff" + bytes(70000), b"\x80\x2e\x01\x00\x02",
    os.urandom(3000)
], ids=["bad-hello", "zeros", "long-record", "ssl-2", "random"])
def test_random_bytes_close_connection(server, garbage):
    before = server.stats()["failures"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT) as client:
        garbage = b"\x16" + garbage[1:]  # letters would be a request in plain text
        try:
            client.sendall(garbage)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:  # the connection was closed before everything was sent
            pass
    eventually(lambda: server.stats()["failures"] == before + 1, "the failure is counted")
    assert server.request().status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PATCH", "M-SEARCH"])
def test_plain_request_on_tls_port_gets_400(server, method):
    with raw.Connection(server.port, tls=None) as client:
        client.send(raw.request(method, "/hello"))
        response = client.response(method)
        assert response.status == 400 and b"sent to an HTTPS port" in response.body
        assert response.has_close()
        client.assert_closed()


def test_random_bytes_after_handshake_get_alert(server):
    with Script(server.port, only="1.3") as client:
        client.handshake()
        client.plain.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        with pytest.raises(ssl.SSLError) as error:
            client.response()
        assert "bad record mac" in str(error.value).lower().replace("_", " ")


def test_renegotiation_by_s_client_is_rejected(server):
    """`R` in s_client starts a renegotiation. The server rejects it; s_client handles that as an
    error and ends."""
    before = server.stats()
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as client:
        try:
            # Standard input stays open: at its end s_client would not wait for the response.
            client.stdin.write(b"R\n")
            client.stdin.flush()
            assert client.wait(timeout=SAFETY_TIMEOUT) != 0
        finally:
            client.kill()
        message = client.stderr.read()
    assert b"RENEGOTIATING" in message and b"no renegotiation" in message
    stats = server.stats()
    assert (stats["handshakes"], stats["failures"]) == (before["handshakes"] + 1,
                                                        before["failures"])


class Records:
    """A client of TLS 1.2 that builds its records itself, and so can send any record (RFC 5246
    section 6, RFC 5288)."""
    def __init__(self, port, log):
        made = tls.context(only="1.2")
        made.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        made.keylog_filename = str(log)
        received = []
        with Script(port) as script:
            self.plain = script.plain.dup()
            self.plain.settimeout(SAFETY_TIMEOUT)
            script.tls = made.wrap_bio(script.incoming, script.outgoing,
                                       server_hostname="localhost")
            receive = script.receive
            script.receive = lambda: received.append(receive()) or received[-1]
            script.handshake()
        # after the headers of record and message, and the version
        server_random = received[0][11:43]
        client_random, secret = (bytes.fromhex(text)
                                 for text in log.read_text().split("CLIENT_RANDOM ")[1].split()[:2])
        keys = self.derive(secret, b"key expansion" + server_random + client_random)
        self.cipher, self.server_cipher = AESGCM(keys[:16]), AESGCM(keys[16:32])
        self.salt, self.server_salt = keys[32:36], keys[36:40]
        self.sequence = self.server_sequence = 1  # after Finished

    @staticmethod
    def derive(secret, seed):
        """The first 64 bytes of the key block."""
        first = hmac.digest(secret, seed, "sha256")
        second = hmac.digest(secret, first, "sha256")
        return b"".join(hmac.digest(secret, part + seed, "sha256") for part in (first, second))

    def record(self, kind, data):
        number = struct.pack(">Q", self.sequence)
        self.sequence += 1
        code = number + self.cipher.encrypt(self.salt + number, data,
                                            number + struct.pack(">BHH", kind, 0x303, len(data)))
        return struct.pack(">BHH", kind, 0x303, len(code)) + code

    def send(self, kind, *parts):
        """One record for each part."""
        self.plain.sendall(b"".join(self.record(kind, part) for part in parts))

    def receive_exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.plain.recv(size - len(data))
            assert part, "the connection is closed"
            data += part
        return data

    def receive(self):
        """The type and the data of the server's next record."""
        kind, _, size = struct.unpack(">BHH", self.receive_exactly(5))
        code = self.receive_exactly(size)
        facts = struct.pack(">QBHH", self.server_sequence, kind, 0x303, size - 24)
        self.server_sequence += 1
        return kind, self.server_cipher.decrypt(self.server_salt + code[:8], code[8:], facts)


ALERT, HANDSHAKE, DATA = 21, 22, 23
CLIENT_HELLO = b"\x01\0\0\0"
NO_RENEGOTIATION, UNEXPECTED_MESSAGE = b"\x01\x64", b"\x02\x0a"


@pytest.fixture
def with_records(start, tmp_path):
    server = start()
    client = Records(server.port, tmp_path / "secrets")
    with client.plain:
        yield server, client


def assert_responds(client):
    client.send(DATA, hello_request())
    kind, data = client.receive()
    assert kind == DATA and data.startswith(b"HTTP/1.1 200 OK") and data.endswith(b"Hello, world\n")


def test_renegotiation_gets_warning_alert(with_records):
    """RFC 5246 section 7.2.2: no_renegotiation is a warning, so the connection stays open, without
    a second handshake."""
    server, client = with_records
    for _ in range(2):
        client.send(HANDSHAKE, CLIENT_HELLO)
        assert client.receive() == (ALERT, NO_RENEGOTIATION)
        assert_responds(client)
    stats = server.stats()
    assert (stats["handshakes"], stats["failures"], stats["active"]) == (1, 0, 2)


def test_renegotiation_flood_closes_connection(with_records):
    """Each one gets an alert. The alerts for a client that does not read fill the server's
    memory."""
    server, client = with_records
    client.send(DATA, raw.request("GET", "/big", "Connection: close"))
    with pytest.raises(ConnectionError):
        for _ in range(200):
            client.send(HANDSHAKE, *[CLIENT_HELLO] * 1000)
    assert server.request(plain=True).status == 200


def test_empty_records_are_skipped(with_records):
    """Empty records of application data (RFC 5246 section 6.2.1), before and within a request."""
    server, client = with_records
    for _ in range(3):
        client.send(DATA, *[b""] * 32)
        assert server.request(plain=True).status == 200
        client.send(DATA, hello_request()[:9], *[b""] * 32, hello_request()[9:])
        kind, data = client.receive()
        assert kind == DATA and data.startswith(b"HTTP/1.1 200 OK")


def test_empty_record_flood_closes_connection(with_records):
    """More than 32 in a row are an error of OpenSSL. The client gets an alert; other connections
    are not affected."""
    server, client = with_records
    client.send(DATA, *[b""] * 1000)
    assert client.receive() == (ALERT, UNEXPECTED_MESSAGE)
    eventually(lambda: server.stats()["active"] == 1, "the connection is closed")
    assert server.request(plain=True).status == 200


def test_key_update_flood_does_not_block_loop(server):
    """A KeyUpdate (RFC 8446 section 4.6.3) contains no application data. Other requests get
    responses while 20,000 of them are read. Then the connection is usable."""
    def served():
        with tls.LibraryClient(server.port) as client, server.connect() as other:
            first = client.request(hello_request(), b"Hello, world\n")
            assert first.startswith(b"HTTP/1.1 200 OK")
            flood = client.key_updates(20000) + client.encrypt(hello_request())
            sender = threading.Thread(target=client.plain.sendall, args=(flood, ))
            sender.start()
            count = 0
            while not select.select([client.plain], [], [], 0)[0]:
                assert other.request().status == 200
                count += 1
            sender.join()
            assert client.receive(b"Hello, world\n").startswith(b"HTTP/1.1 200 OK")
        return count

    # They are read in more parts than that; this process may be slow.
    eventually(lambda: served() >= 5, "other requests are served")


def test_handshake_timeout_closes_connection(start):
    server = start("--handshake-timeout=1")
    with Script(server.port) as client:
        hello = client.step(client.tls.do_handshake)
        client.plain.sendall(hello[:20])
        assert client.plain.recv(1) == b""
    stats = server.stats()
    assert stats["timeouts"] == 1 and stats["active"] == 1


def test_handshake_timeout_option():
    server = WireServer(tls="1.3", handshake_timeout=1)
    with socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT) as client:
        assert client.recv(1) == b""
    server.stop()


def hellos(server, count):
    """Accepted connections, and the ClientHello that each one has not sent yet."""
    scripts = [Script(server.port) for _ in range(count)]
    eventually(lambda: server.stats()["active"] == count + 1, "all connections are accepted")
    return scripts, [script.step(script.tls.do_handshake) for script in scripts]


def send_at_once(server, scripts, flights):
    """The server receives all of them in one loop iteration."""
    server.process.send_signal(signal.SIGSTOP)
    for script, flight in zip(scripts, flights):
        script.plain.sendall(flight)
    return server


@pytest.mark.parametrize("most,queued", [(0, 0), (1, 29), (8, 22), (30, 0)])
def test_max_handshakes_queues_others(start, most, queued):
    server = start(f"--max-handshakes={most}")
    scripts, flights = hellos(server, 30)
    send_at_once(server, scripts, flights)
    server.process.send_signal(signal.SIGCONT)
    for script in scripts:
        script.handshake()
        script.plain.sendall(script.step(script.tls.write, hello_request()))
        assert script.response().startswith(b"HTTP/1.1 200 OK")
        script.plain.close()
    stats = server.stats()
    assert (stats["handshakes"], stats["failures"], stats["waited"]) == (30, 0, queued)


def test_disconnect_leaves_handshake_queue(start):
    server = start("--max-handshakes=1")
    scripts, flights = hellos(server, 40)
    send_at_once(server, scripts, flights)
    for script in scripts[1::2]:
        script.plain.close()
    server.process.send_signal(signal.SIGCONT)
    for script in scripts[::2]:
        script.handshake()
        script.plain.close()
    eventually(lambda: server.stats()["active"] == 1, "all connections are closed")
    assert server.stats()["handshakes"] == 20 and server.stats()["failures"] == 20


def test_stalled_handshakes_do_not_block_others(start):
    """Clients that send nothing, a part of a ClientHello, or no second flight."""
    server = start("--max-handshakes=1", "--handshake-timeout=3600")
    scripts, flights = hellos(server, 30)
    for script, flight in zip(scripts[10:20], flights[10:20]):
        script.plain.sendall(flight[:-1])
    for script, flight in zip(scripts[20:], flights[20:]):
        script.plain.sendall(flight)
    for script in scripts[20:]:
        assert script.receive()
    assert server.request().status == 200
    for script in scripts:
        script.plain.close()


def test_handshake_timeout_includes_queue_time():
    server = WireServer(tls="1.3", max_handshakes=1, handshake_timeout=1)
    with socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT) as client:
        assert client.recv(1) == b""
    server.stop()


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_handshakes_on_threads(start, people, version):
    server = start("--handshake-threads=2", f"--client-auth={OPTIONAL}", f"--ca={people['ca']}",
                   f"--crl={people['crl']}")
    for _ in range(20):
        assert server.request(only=version).status == 200
    assert server.info(only=version, client=people["ann"])["subject"] == "CN=ann"
    assert handshake_error(server, client=people["bob"], only=version)
    eventually(lambda: "failed: certificate revoked" in server.log(), "the reason is logged")
    made, session = session_of(server, only=version)
    assert server.info(context=made, session=session)["resumed"]


def test_disconnect_while_handshake_is_on_thread(start):
    server = start("--handshake-threads=2", "--max-handshakes=20", "--workers=2",
                   cert=tls.default_cert("rsa"))
    for number in range(300):
        client = Script(server.port)
        flight = client.step(client.tls.do_handshake)
        client.plain.sendall(flight if number % 3 else flight[:number % len(flight) + 1])
        if number % 2:
            client.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if number % 5 == 0:
            assert server.request().status == 200
        client.plain.close()
    assert server.request().status == 200
    eventually(lambda: server.stats()["active"] == 1, "all connections are closed")


def test_stop_while_handshakes_are_on_threads(start):
    server = start("--handshake-threads=1", cert=tls.default_cert("rsa"))
    clients = [Script(server.port) for _ in range(40)]
    for client in clients:
        client.plain.sendall(client.step(client.tls.do_handshake))
    server.process.send_signal(signal.SIGTERM)
    for client in clients:
        client.plain.close()
    assert server.process.wait(timeout=SAFETY_TIMEOUT) == 0


@pytest.mark.parametrize("threads", [0, 1])
def test_handshake_survives_stopped_process(start, threads):
    """The client's flight arrived while the process was stopped. It is processed before the timeout
    is checked."""
    server = start("--handshake-timeout=1", f"--handshake-threads={threads}")
    with Script(server.port, only="1.3") as client:
        client.plain.sendall(client.step(client.tls.do_handshake))
        client.receive()
        flight = client.step(client.tls.do_handshake) + client.step(client.tls.write,
                                                                    hello_request())
        server.process.send_signal(signal.SIGSTOP)
        client.plain.sendall(flight)
        time.sleep(2)  # longer than the timeout
        server.process.send_signal(signal.SIGCONT)
        assert client.response().startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("threads", [0, 1])
def test_partial_client_hello_does_not_extend_timeout(start, threads):
    """It is processed on a thread after the timeout has expired."""
    server = start("--handshake-timeout=1", f"--handshake-threads={threads}")
    with Script(server.port) as client:
        hello = client.step(client.tls.do_handshake)
        client.plain.sendall(hello[:20])
        assert server.request().status == 200  # the data sent before is processed
        server.process.send_signal(signal.SIGSTOP)
        client.plain.sendall(hello[20:40])
        time.sleep(2)  # longer than the timeout
        server.process.send_signal(signal.SIGCONT)
        # Handshake steps run, and report their ends, in the order of their starts.
        assert server.request().status == 200
        assert server.stats()["timeouts"] == 1
        assert client.plain.recv(1) == b""


def test_slow_handshakes_do_not_affect_others(start):
    server = start("--handshake-timeout=3600")
    with Script(server.port) as client:
        hello = client.step(client.tls.do_handshake)
    slow = []
    for _ in range(2000):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT)
        one.sendall(hello[:-1])
        slow.append(one)
    assert server.request().status == 200 and server.stats()["active"] >= 2000
    for one in slow[:1000]:
        one.sendall(hello[-1:])
    assert all(one.recv(5)[:1] == b"\x16" for one in slow[:1000])
    for one in slow:
        one.close()
    eventually(lambda: server.stats()["active"] == 1, "all connections are closed")
    assert server.request().status == 200


def test_client_without_reads_takes_little_memory(start):
    """The server encrypts no more than the socket accepts, and serves other clients."""
    server = start()
    with server.connect() as client:
        client.send(raw.request("GET", "/big"))
        for _ in range(3):
            assert server.request().status == 200
        size = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()
                   [1]) * os.sysconf("SC_PAGE_SIZE")
        client.send(hello_request())
        head = client.head()
        assert client.receive_exactly(300000000) == bytes(300000000)
        assert client.response().status == 200
    assert size < 400 << 20  # the body itself takes 300 MB


def test_max_connections_gets_503_over_tls(start):
    server = start("--max-connections=1")
    with server.connect() as first:
        assert first.request().status == 200
        response = server.request()
        assert response.status == 503 and response.has_close()


def test_stop_completes_response_in_progress(start):
    server = start()
    with server.connect() as client:
        client.send(raw.request("GET", "/big?size=50000000"))
        client.head()
        server.process.send_signal(signal.SIGTERM)
        assert client.receive_exactly(50000000) == bytes(50000000)
        assert client.rest() == b"" and not client.socket.truncated
    assert server.process.wait(timeout=SAFETY_TIMEOUT) == 0


def test_failed_handshake_log_is_rate_limited(start):
    server = start()
    failures = itertools.count(1)

    def fail():
        with socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT) as client:
            client.sendall(b"\x16\x03\x01\x00\x04\xff\x00\x00\x00")
            try:
                client.recv(100)
            except ConnectionError:
                pass
        return next(failures)

    def lines():
        return server.log().count("TLS handshake with 127.0.0.1 failed")

    def told():
        """One more failure tells how many were not logged before."""
        time.sleep(0.1)
        count = fail()
        eventually(lambda: server.stats()["failures"] == count, "all failures are counted")
        more = re.findall(r"(\d+) more connections failed\n", server.log())
        return more and lines() + sum(map(int, more)) == count

    for _ in range(100):
        count = fail()
    eventually(lambda: server.stats()["failures"] == count, "all failures are counted")
    assert 10 <= lines() < 100
    eventually(told, "lines and numbers are as many as failures")


def test_reset_handshake_log_has_address(start):
    server = start()
    with Script(server.port) as script:
        script.plain.sendall(script.step(script.tls.do_handshake))
        script.plain.recv(1)
        script.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: "TLS handshake with 127.0.0.1 failed" in server.log(),
               "the failure is logged")


def test_silent_connection_is_not_logged(server):
    before = server.log()
    socket.create_connection(("127.0.0.1", server.port)).close()
    assert server.request().status == 200 and server.log() == before


def test_reset_before_first_byte_is_not_logged(server):
    before = server.log(), server.stats()["failures"]
    client = socket.create_connection(("127.0.0.1", server.port))
    eventually(lambda: server.stats()["active"] == 2, "the connection is accepted")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    eventually(lambda: server.stats()["active"] == 1, "the connection is closed")
    assert (server.log(), server.stats()["failures"]) == before


@pytest.mark.parametrize("first", [b"", b"\x16"])
def test_silent_clients_are_closed_without_free_descriptors(start, first):
    server = start("--handshake-timeout=3600")
    pid = server.process.pid
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
    begun = socket.create_connection(("127.0.0.1", server.port))
    begun.sendall(first)  # a connection that has sent data does not end the search
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    assert server.request().status == 200
    assert "file descriptors are nearly exhausted" in server.log()
    for one in (begun, *silent):
        one.close()


def test_close_notify_in_handshake_is_logged(start):
    server = start()
    with Script(server.port) as client:
        client.plain.sendall(client.step(client.tls.do_handshake) + b"\x15\x03\x03\x00\x02\x01\x00")
        while client.receive():
            pass
    eventually(
        lambda: "failed: the peer closed the connection during the handshake" in server.log(),
        "the reason is logged")


def test_stop_closes_silent_connections(start):
    """A connection without a byte is closed. One in its handshake may finish it, and gets a
    response."""
    server = start("--handshake-timeout=3600")
    silent = socket.create_connection(("127.0.0.1", server.port), timeout=SAFETY_TIMEOUT)
    with Script(server.port) as client:
        client.plain.sendall(client.step(client.tls.do_handshake))
        client.receive()
        flight = client.step(client.tls.do_handshake)
        eventually(lambda: server.stats()["active"] == 3, "both connections are accepted")
        server.process.send_signal(signal.SIGTERM)
        assert silent.recv(1) == b""
        client.plain.sendall(flight + client.step(client.tls.write, hello_request()))
        assert client.response().startswith(b"HTTP/1.1 200 OK")
    silent.close()
    assert server.process.wait(timeout=SAFETY_TIMEOUT) == 0


def test_write_timeout_closes_client_without_reads(start):
    """Further encryption does not count as progress."""
    server = start("--write-timeout=1")
    with server.connect() as client:
        client.send(raw.request("GET", "/big"))
        eventually(lambda: server.stats()["timeouts"] == 1, "the connection is closed")


def test_plain_request_on_full_tls_server_gets_one_response(start):
    server = start("--max-connections=1")
    with server.connect() as first:
        assert first.request().status == 200
        with raw.Connection(server.port, tls=None) as client:
            client.send(hello_request())
            assert client.response().status == 503
            client.assert_closed()


def test_reset_in_handshake_closes_connection(server):
    before = server.stats()["failures"]
    with Script(server.port) as client:
        client.plain.sendall(client.step(client.tls.do_handshake)[:50])
        client.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: server.stats()["failures"] == before + 1, "the failure is counted")
    eventually(lambda: server.stats()["active"] == 1, "the connection is closed")
