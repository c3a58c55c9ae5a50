"""TLS of the program `uvhttp`: certificates by options and by configuration, self-signed
certificates, redirects to https, HSTS, `uvhttp cert`."""

import datetime
import fcntl
import hashlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import termios

import pytest
import yaml

import pages
import raw
import tls
from program import Program, clean_environment, run, with_free_port
from wire_server import SAFETY_TIMEOUT, built, eventually, read_output

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESPOND = "sites: [{routes: [{path: /, respond: {body: hello}}]}]\n"
LOCAL = "listen: 127.0.0.1:0\n"


@pytest.fixture
def site(tmp_path):
    directory = tmp_path / "site"
    directory.mkdir()
    (directory / "index.html").write_text("the index\n")
    (directory / "large.bin").write_bytes(raw.pattern(1000000))
    return directory


@pytest.fixture
def pair(tmp_path):
    """pair("a.example"): certificate and key of that name in two files of the directory."""
    def make(name, *names, **options):
        both = tls.certificate(*(names or ("localhost", "127.0.0.1")), **options)
        for part in ("certificate", "key"):
            shutil.copy(both.with_name(f"{part}.pem"), tmp_path / f"{name}.{part}")
        return tmp_path / f"{name}.certificate", tmp_path / f"{name}.key"

    return make


@pytest.fixture
def start(site, tmp_path):
    """start("serve", "--flag", ...), start("run", ...): a running program; `serve` gets the site
    and a free port of 127.0.0.1."""
    running = []

    def starter(command, *arguments, listen="127.0.0.1:0", environment=None, **options):
        if command == "serve":
            arguments = ("--listen", listen, site, *arguments)
        environment = {"XDG_STATE_HOME": str(tmp_path / "state"), **(environment or {})}
        running.append(Program("uvhttp", command, *arguments, environment=environment, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


@pytest.fixture
def write(tmp_path):
    def writer(text, name="site.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return writer


def problems(path, **options):
    done = run("uvhttp", "check", path, **options)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    return [line[len(str(path)) + 1:].strip() for line in done.stderr.splitlines()]


def ports(program):
    """{"https": port, "http": port} of the first line."""
    return {
        found[1]: int(found[2])
        for found in re.finditer(r" (https?)://[0-9.]+:(\d+)/", program.line)
    }


def redirect_port(program):
    eventually(lambda: program.read_available() and "redirecting" in program.output,
               "the log line of the redirects")
    return int(
        re.search(r"^uvhttp: redirecting http://127\.0\.0\.1:(\d+)/ to https$", program.output,
                  re.M)[1])


def fetch(port, target="/", *fields, ca=None, only=None, client=None, name="localhost", **extra):
    """One request over TLS. Without `ca` any certificate is accepted."""
    context = tls.context(ca=ca, only=only, client=client)
    with raw.Connection(port, tls=context, name=name) as connection:
        return connection.request(extra.pop("method", "GET"), target, *fields, **extra)


def served(port, name="localhost"):
    """SHA-256 of the certificate for a name."""
    with raw.Connection(port, tls=tls.context(), name=name) as connection:
        return hashlib.sha256(connection.socket.getpeercert(True)).hexdigest()


def fingerprint(path):
    lines = pathlib.Path(path).read_text()
    return hashlib.sha256(
        ssl.PEM_cert_to_DER_cert(lines[lines.index("-----BEGIN CERT"):].split("-----END CERT")[0] +
                                 "-----END CERTIFICATE-----\n")).hexdigest()


# Certificates by options


def test_certificate_and_key_options(start, pair, tmp_path):
    certificate, key = pair("a")
    program = start("serve", "--tls-cert", certificate, "--tls-key", key)
    assert program.line.endswith(f" at https://127.0.0.1:{program.port}/")
    assert fetch(program.port, ca=certificate).body == b"the index\n"
    assert fetch(program.port, "/large.bin", only="1.2").body == raw.pattern(1000000)
    done = subprocess.run([
        "curl", "-sS", "--cacert", certificate, f"https://localhost:{program.port}/", "--resolve",
        f"localhost:{program.port}:127.0.0.1"
    ], capture_output=True, text=True, env=clean_environment({"no_proxy": "*"}))
    assert (done.stdout, done.stderr) == ("the index\n", "")


def test_key_in_certificate_file(start):
    both = tls.default_cert()
    program = start("serve", environment={"UVHTTP_TLS_CERT": str(both)})
    assert served(program.port) == fingerprint(both)


def test_sni_selects_certificate(start, pair):
    one, other, both = pair("one",
                            "one.example"), pair("other",
                                                 "*.example.org"), tls.certificate("both.example")
    program = start("serve", "--tls-cert", one[0], "--tls-cert", both, "--tls-cert", other[0],
                    "--tls-key", one[1], "--tls-key", "", "--tls-key", other[1])
    for name, path in (("one.example", one[0]), ("both.example", both), ("a.example.org", other[0]),
                       ("x.example", one[0])):
        assert served(program.port, name) == fingerprint(path), name


def test_relative_path_is_relative_to_working_directory(start, pair, tmp_path):
    pair("a")
    program = start("serve", "--tls-cert", "a.certificate", "--tls-key", "a.key", cwd=tmp_path)
    assert fetch(program.port, ca=tmp_path / "a.certificate").status == 200


def test_key_with_pass_phrase(start, pair, tmp_path):
    certificate, key = pair("a", password="correct horse")
    (tmp_path / "phrase").write_text("correct horse\nmore\n")
    program = start("serve", "--tls-cert", certificate, "--tls-key", key, "--tls-passphrase-file",
                    tmp_path / "phrase")
    assert fetch(program.port).status == 200


def test_modern_profile_accepts_tls_1_3_only(start):
    program = start("serve", "--tls-cert", tls.default_cert(), "--tls-profile", "modern")
    assert fetch(program.port, only="1.3").status == 200
    with pytest.raises(ssl.SSLError):
        fetch(program.port, only="1.2")
    assert fetch(
        start("serve", "--tls-cert", tls.default_cert(), "--tls-profile", "intermediate").port,
        only="1.2").status == 200


def test_client_certificate_options(start):
    ca = tls.authority()
    client = tls.certificate("client.example", ca=ca, usage="clientAuth")
    stranger = tls.certificate("client.example", usage="clientAuth")
    flags = ["--tls-cert", tls.default_cert(), "--tls-client-ca", ca]
    program = start("serve", *flags, "--tls-client-auth", "required")
    assert fetch(program.port, client=client).status == 200
    for none in (None, stranger):
        for only in ("1.2", "1.3"):
            with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
                fetch(program.port, client=none, only=only)
    program = start("serve", *flags, "--tls-client-auth", "optional")
    assert [fetch(program.port, client=one).status for one in (None, client)] == [200, 200]
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        fetch(program.port, client=stranger)


def test_revoked_client_certificate_is_rejected(start):
    ca = tls.authority()
    good, bad = (tls.certificate("client.example", ca=ca, usage="clientAuth") for _ in range(2))
    program = start("serve", "--tls-cert", tls.default_cert(), "--tls-client-ca", ca,
                    "--tls-client-auth", "required", "--tls-client-crl",
                    tls.revocation_list(ca, bad))
    assert fetch(program.port, client=good).status == 200
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        fetch(program.port, client=bad)


def dated_list(ca, until):
    """The revocation list of the authority, valid for that many days."""
    path = tls.revocation_list(ca)
    now = datetime.datetime.now(datetime.timezone.utc)
    stamps = [(now + datetime.timedelta(days=days, hours=-1)).strftime("%Y%m%d%H%M%SZ")
              for days in (-9, until)]
    tls.openssl("ca", "-config", path.with_name("ca.conf"), "-cert", ca, "-keyfile",
                path.with_name("ca.key"), "-gencrl", "-crl_lastupdate", stamps[0],
                "-crl_nextupdate", stamps[1], "-out", path)
    return path


@pytest.mark.parametrize("days, checked, logged",
                         [(20, None, None),
                          (3, "expires in 3 days, on 20", "expires in 3 days, at 20"),
                          (-1, "expired on 20", "expired at 20"), ])
def test_expiring_revocation_list_is_logged(start, write, days, checked, logged):
    ca = tls.authority()
    path = dated_list(ca, days)
    flags = [
        "--tls-cert",
        tls.default_cert(), "--tls-client-ca", ca, "--tls-client-auth", "optional",
        "--tls-client-crl", path
    ]
    program = start("serve", *flags)
    reported = f" warning the revocation list of CN=test authority in {path} {logged}"
    if logged:
        eventually(lambda: reported in program.log(), "the warning is logged")
    else:
        assert fetch(program.port).status == 200 and "revocation" not in program.log()
    file = write(
        f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}], client_auth: optional, "
        f"client_ca: {ca}, client_crl: {path}}}\n" + RESPOND)
    done = run("uvhttp", "check", file)
    assert done.returncode == 0
    if checked:
        assert done.stderr.startswith(
            f"{file}: warning: the revocation list of 'CN=test authority' in '{path}' {checked}"
        ) and done.stderr.count("\n") == 1
        assert done.stderr.count("authority are rejected") == (days < 0)
    else:
        assert done.stderr == ""


def test_authority_without_revocation_list_is_logged(start, write, tmp_path):
    listed, other = tls.authority("the listed one"), tls.authority("the other one")
    both, path = tmp_path / "both.pem", tls.revocation_list(listed)
    both.write_text(listed.read_text() + other.read_text())
    flags = [
        "--tls-cert",
        tls.default_cert(), "--tls-client-ca", both, "--tls-client-auth", "optional",
        "--tls-client-crl", path
    ]
    reported = (
        f"the authority 'CN=the other one' in '{both}' has no revocation list in '{path}', so its "
        f"certificates are rejected\n")
    program = start("serve", *flags)
    eventually(lambda: " warning " + reported in program.log(), "the warning is logged")
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        fetch(program.port, client=tls.certificate(ca=other, usage="clientAuth"))
    file = write(
        f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}], client_auth: optional, "
        f"client_ca: {both}, client_crl: {path}}}\n" + RESPOND)
    assert run("uvhttp", "check", file).stderr == f"{file}: warning: {reported}"


def test_key_log_option_warns(start, tmp_path):
    program = start("serve", "--tls-cert", tls.default_cert(), "--tls-key-log", tmp_path / "keys")
    assert fetch(program.port, only="1.3").status == 200
    eventually(lambda: "CLIENT_TRAFFIC_SECRET_0 " in (tmp_path / "keys").read_text(),
               "the file has secrets")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600
    assert re.search(rf" warning .*'{tmp_path}/keys'; they decrypt all traffic",
                     program.log())
    assert "warning" not in start("serve", "--tls-cert", tls.default_cert()).log()


def test_changed_files_are_reloaded_by_default(start, pair, tmp_path):
    first = pair("a")
    flags = ["--tls-cert", first[0], "--tls-key", first[1]]
    watching, other = start("serve", *flags), start("serve", *flags, "--no-tls-watch")
    old = served(watching.port)
    # the second time, the other program has had a whole interval to detect the first change
    for _ in range(2):
        pair("b")
        for part in ("key", "certificate"):
            os.replace(tmp_path / f"b.{part}", tmp_path / f"a.{part}")
        eventually(lambda: served(watching.port) == fingerprint(first[0]),
                   "the new certificate is served")
    assert served(other.port) == old != served(watching.port)


def test_sighup_reloads_certificates_of_run(start, pair, tmp_path, write):
    pair("a")
    program = start(
        "run",
        write(LOCAL +
              "tls: {certificates: [{certificate: a.certificate, key: a.key}], watch: false}\n" +
              RESPOND))
    old = served(program.port)
    pair("b")
    os.replace(tmp_path / "b.certificate", tmp_path / "a.certificate")
    program.send_signal(signal.SIGHUP)
    eventually(lambda: "reload: nothing is changed" in program.log(), "the reload is refused")
    assert re.search(r"2:\d+: tls: the key in \S+a.key and the cert", program.log()), program.log()
    assert served(program.port) == old
    os.replace(tmp_path / "b.key", tmp_path / "a.key")
    program.send_signal(signal.SIGHUP)
    eventually(lambda: "reload: the configuration is applied" in program.log(), "it is applied")
    assert served(program.port) == fingerprint(tmp_path / "a.certificate") != old
    program = start("run", write(LOCAL + RESPOND))
    program.send_signal(signal.SIGHUP)
    assert program.request("/").body == b"hello"


def test_sighup_reloads_certificates_of_serve(start, pair, tmp_path):
    first = pair("a")
    program = start("serve", "--tls-cert", first[0], "--tls-key", first[1], "--no-tls-watch")
    old = served(program.port)
    pair("b")
    for part in ("key", "certificate"):
        os.replace(tmp_path / f"b.{part}", tmp_path / f"a.{part}")
    program.send_signal(signal.SIGHUP)
    eventually(lambda: " info certificates reloaded after SIGHUP\n" in program.log(),
               "the reload is logged")
    assert served(program.port) == fingerprint(first[0]) != old
    program = start("serve")
    for _ in range(3):
        program.send_signal(signal.SIGHUP)
        assert program.request("/").body == b"the index\n"


@pytest.mark.parametrize("ignored", [False, True])
def test_sighup_of_closed_terminal_ends_serve(site, ignored):
    """SIGHUP alone does not end it. SIGHUP after the loss of the terminal does, unless nohup
    ignores it."""
    master, terminal = pty.openpty()
    errors, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()

    def begin():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)

    process = subprocess.Popen([built("uvhttp"), "serve", "-l", "127.0.0.1:0",
                                str(site)], stdin=terminal, stdout=output, stderr=errors,
                               env=clean_environment(), start_new_session=True, preexec_fn=begin)
    os.close(terminal)
    try:
        eventually(lambda: "127.0.0.1" in read_output(output), "the start output is complete")
        port = int(re.search(r":(\d+)/", read_output(output))[1])
        process.send_signal(signal.SIGHUP)
        with raw.Connection(port) as connection:
            assert connection.request("GET", "/").body == b"the index\n"
        os.close(master)
        if ignored:
            with raw.Connection(port) as connection:
                assert connection.request("GET", "/").body == b"the index\n"
            process.terminate()
        assert process.wait(3 * SAFETY_TIMEOUT) == 0
    finally:
        process.kill()
        process.wait()


def test_changed_symlinks_are_reloaded(start, pair, tmp_path):
    """As tools for Let's Encrypt do: the path is the same, and the target of the link changes."""
    one, other = pair("one"), pair("other")
    for index, part in enumerate(("certificate", "key")):
        (tmp_path / part).symlink_to(one[index])
    program = start("serve", "--tls-cert", tmp_path / "certificate", "--tls-key", tmp_path / "key")
    assert served(program.port) == fingerprint(one[0])
    for index, part in enumerate(("certificate", "key")):
        (tmp_path / "new").symlink_to(other[index])
        os.replace(tmp_path / "new", tmp_path / part)
    eventually(lambda: served(program.port) == fingerprint(other[0]),
               "the new certificate is served")


def test_expired_certificate_is_logged(start):
    program = start("serve", "--tls-cert", tls.certificate(days=2))
    eventually(
        lambda: " warning " in program.log() and re.search("expires in [12] days", program.log()),
        "the warning is logged")


@pytest.mark.parametrize("flags, code, message", [
    (["--tls-cert", "{a}", "--tls-key", "{b}"], 1, "the key does not match the certificate"),
    (["--tls-cert", "{none}"], 1, "--tls-cert: '{none}' cannot be read: no such file or directory"),
    (["--tls-cert", "{a}", "--tls-key", "{none}"
      ], 1, "--tls-key: '{none}' cannot be read: no such file or directory"),
    (["--tls-cert", ""], 2, "--tls-cert: the value is empty"),
    (["--tls-cert", "{a}", "--tls-passphrase-file", "{none}"
      ], 1, "--tls-passphrase-file: '{none}' cannot be read"),
    (["--tls-cert", "{a}", "--tls-client-ca", "{none}"
      ], 1, "--tls-client-ca: '{none}' cannot be read"),
    (["--tls-cert", "{a}", "--tls-client-ca", "{a}", "--tls-client-crl", "{none}"
      ], 1, "--tls-client-crl: '{none}' cannot be read"),
    (["--tls-cert", "{a}", "--tls-client-crl", "{a}"
      ], 1, "tls: client_crl is set, but client_ca is not"),
    (["--tls-cert", "{text}"
      ], 1, "tls: the certificate of {text} cannot be read: it contains no such PEM block"),
    (["--tls-cert", "{a}", "--tls-key-log", "{none}/x"
      ], 1, "tls: key_log '{none}/x' cannot be written: no such file or directory"),
    (["--tls-key", "{a}"], 2, "--tls-key requires --tls-cert\n"),
    (["--tls-self-signed", "--tls-key", "{a}"
      ], 2, "more --tls-key (1) than --tls-cert (0)"),
    (["--tls-cert", "{a}", "--tls-key", "{a}", "--tls-key", "{a}"
      ], 2, "more --tls-key (2) than --tls-cert (1)"),
    (["--tls-profile", "modern"
      ], 2, "--tls-profile requires --tls-cert or --tls-self-signed"),
    (["--tls-ktls"], 2, "--tls-ktls requires --tls-cert or --tls-self-signed"),
    (["--redirect-http", "80"
      ], 2, "--redirect-http requires --tls-cert or --tls-self-signed"),
    (["--hsts", "1d"], 2, "--hsts requires --tls-cert or --tls-self-signed"),
    (["--tls-client-ca", "{a}"], 2, "--tls-client-ca requires"),
    (["--tls-cert", "{a}", "--tls-client-auth", "required"
      ], 2, "--tls-client-auth requires --tls-client-ca"),
    (["--tls-cert", "{a}", "--tls-self-signed"
      ], 2, "--tls-self-signed cannot be combined with --tls-cert"),
    (["--tls-profile", "old"
      ], 2, "--tls-profile: 'old' is invalid; allowed are intermediate, modern"),
    (["--tls-client-auth", "yes"
      ], 2, "--tls-client-auth: 'yes' is invalid; allowed are off, optional, required"),
    (["--redirect-http", "x"], 2, "--redirect-http: 'x' is not a number; allowed are 0 to 65535"),
    (["--redirect-http", "65536"
      ], 2, "--redirect-http: '65536' is out of range; allowed are 0 to 65535"),
    (["--hsts", "long"], 2, "--hsts: 'long' is not a time (such as 90, 90s or 2min); allowed are "
                            "0 to 315360000 seconds"),
    (["--hsts", "11000d"], 2, "--hsts: '11000d' is out of range"),
    (["--listen", "https://127.0.0.1"
      ], 2, "--listen: an address with https:// needs a certificate"),
    (["--listen", "https://unix:/x"], 2, "--listen: 'https://unix:/x' is not an address"),
    (["--listen", "ftp://127.0.0.1"], 2, "--listen: 'ftp://127.0.0.1' is not an address"),
])
def test_option_errors_prevent_start(site, tmp_path, flags, code, message):
    (tmp_path / "text").write_text("no certificate\n")
    paths = {
        "a": tls.default_cert(), "b": tls.certificate(), "none": tmp_path / "none",
        "text": tmp_path / "text"
    }
    done = run("uvhttp", "serve", "-l", "127.0.0.1:0", site,
               *[flag.format(**paths) for flag in flags])
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("uvhttp: ") and message.format(
        **paths) in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def other_formats(pair, tmp_path):
    """Files of formats other than PEM, and an empty file: {name: path}."""
    certificate, key = pair("right")
    for kind, command in (("x509", ["x509"]), ("pkey", ["pkey"])):
        tls.openssl(*command, "-in", certificate if kind == "x509" else key, "-outform", "DER",
                    "-out", tmp_path / f"{kind}.der")
    tls.openssl("ec", "-in", key, "-outform", "DER", "-out", tmp_path / "ec.der")
    tls.openssl("pkcs12", "-export", "-in", certificate, "-inkey", key, "-passout", "pass:x",
                "-out", tmp_path / "both.p12")
    (tmp_path / "empty").write_text("")
    return {
        "certificate": certificate, "key": key, **{
            name: tmp_path / name
            for name in ("x509.der", "pkey.der", "ec.der", "both.p12", "empty")
        }
    }


@pytest.mark.parametrize("certificate, key, message", [
    ("key", "certificate", "it contains a private key: are certificate and key swapped?"),
    ("pkey.der", "key", "it contains a private key: are certificate and key swapped?"),
    ("certificate", "certificate",
     "it contains a certificate and no private key: are certificate and key swapped?"),
    ("x509.der", "key", "it is in DER format; convert it: openssl x509 -inform DER -in FILE -out "
                        "FILE.pem"),
    ("certificate", "x509.der",
     "it contains a certificate and no private key: are certificate and key swapped?"),
    ("certificate", "pkey.der",
     "it is in DER format; convert it: openssl pkey -inform DER -in FILE -out FILE.pem"),
    ("certificate", "ec.der", "it is in DER format; convert it: openssl pkey -inform DER -in FILE "
                              "-out FILE.pem"),
    ("both.p12", "key", "it is in PKCS #12 format; convert it: openssl pkcs12 -in FILE -nodes "
                        "-out FILE.pem"),
    ("certificate", "both.p12",
     "it is in PKCS #12 format; convert it: openssl pkcs12 -in FILE -nodes -out FILE.pem"),
    ("empty", "key", "it is empty"), ("certificate", "empty", "it is empty"),
])
def test_files_with_wrong_contents(site, write, other_formats, certificate, key, message):
    one, other = other_formats[certificate], other_formats[key]
    reported = f"the certificate of {one} cannot be read: {message}"
    if certificate == "certificate":
        reported = f"the key of {one} cannot be read from {other}: {message}"
    done = run("uvhttp", "serve", "-l", "127.0.0.1:0", site, "--tls-cert", one, "--tls-key", other)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"uvhttp: tls: {reported}\n")
    text = f"tls: {{certificates: [{{certificate: {one}, key: {other}}}]}}\n"
    wrong = f"{one}, key" if certificate != "certificate" else f"{other}}}]"
    assert problems(write(text + RESPOND)) == [f"1:{text.index(wrong) + 1}: tls: {reported}"]
    done = run("uvhttp", "cert", one, "-k", other)
    assert (done.returncode, done.stderr) == (1, f"uvhttp cert: {reported}\n")


def test_keys_are_assigned_in_order(site, pair):
    one, other = tls.default_cert(), pair("other")
    done = run("uvhttp", "serve", "-l", "127.0.0.1:0", site, "--tls-cert", one, "--tls-cert",
               other[0], "--tls-key", other[1])
    assert done.returncode == 1 and "the key does not match the certificate" in done.stderr
    assert (
        "uvhttp: --tls-key: 2 certificates and 1 keys are given; the n-th key belongs to the n-th "
        'certificate, and "" means that the key is in the certificate\'s file\n') in done.stderr


def test_world_readable_key_is_logged(start, write, pair):
    certificate, key = pair("a")
    key.chmod(0o644)
    reported = f"every user of this machine can read the key in '{key}'; use chmod 600\n"
    program = start("serve", "--tls-cert", certificate, "--tls-key", key)
    eventually(lambda: " warning " + reported in program.log(), "the warning is logged")
    path = write(f"tls: {{certificates: [{{certificate: {certificate}, key: {key}}}]}}\n" + RESPOND)
    assert run("uvhttp", "check", path).stderr == f"{path}: warning: {reported}"
    key.chmod(0o640)
    assert run("uvhttp", "check", path).stderr == ""


# Addresses


def test_address_option_disables_tls(start):
    program = start("serve", "--tls-cert", tls.default_cert(), "-l", "http://127.0.0.1:0",
                    listen="HTTPS://127.0.0.1:0")
    both = ports(program)
    assert set(both) == {"https", "http"} and both["https"] != both["http"]
    assert fetch(both["https"]).status == 200
    with raw.Connection(both["http"]) as connection:
        assert connection.request("GET", "/").body == b"the index\n"
    program = start("serve", listen="http://127.0.0.1:0")
    assert program.request("/").status == 200


@pytest.mark.parametrize(
    "listen", [["http://127.0.0.1:0"], ["unix:socket"], ["http://127.0.0.1:0", "unix:socket"]])
def test_certificate_without_tls_address_is_rejected(site, write, tmp_path, listen):
    """Otherwise the site would be served in plain text without a warning."""
    reported = ("no address uses TLS: http:// and unix: addresses do not; add an address without "
                "http://, or omit {}")
    flags = [word for address in listen for word in ("-l", address)]
    for option, value in (("--tls-cert", [tls.default_cert()]), ("--tls-self-signed", [])):
        done = run("uvhttp", "serve", *flags, option, *value, site, cwd=tmp_path,
                   environment={"XDG_STATE_HOME": str(tmp_path)})
        assert (done.returncode, done.stdout,
                done.stderr) == (2, "", f"uvhttp: {reported.format(option)}\n")
    path = write(
        f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}], redirect_http: 0}}\n"
        f"listen: [{', '.join(map(repr, listen))}]\n" + RESPOND)
    assert problems(path) == ["1:6: " + reported.format("'tls'")]
    done = run("uvhttp", "run", path)
    assert (done.returncode, done.stdout,
            done.stderr) == (1, "", f"{path}:1:6: {reported.format(chr(39) + 'tls' + chr(39))}\n")
    assert run("uvhttp", "check", "-l", "127.0.0.1:0", path).returncode == 0


def test_free_port_is_shared_per_protocol(start):
    program = with_free_port(
        lambda: start("serve", "--tls-cert", tls.default_cert(), "-l", "http://127.0.0.2:0", "-l",
                      "127.0.0.3:0", "-l", "http://127.0.0.1:0"))
    found = re.findall(r" (https?)://(127\.0\.0\.\d):(\d+)/", program.line)
    assert [one[:2] for one in found] == [("https", "127.0.0.1"), ("http", "127.0.0.2"),
                                          ("https", "127.0.0.3"), ("http", "127.0.0.1")]
    assert found[0][2] == found[2][2] != found[1][2] == found[3][2]


def test_port_cannot_be_plain_and_tls(site, write):
    reported = (
        "127.0.0.1 port 3 has both http:// and https://; choose another port for one of them")
    listen = ["127.0.0.1:3", "http://127.0.0.1:3"]
    done = run("uvhttp", "serve", "--tls-cert", tls.default_cert(), "-l", listen[0], "-l",
               listen[1], site)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"uvhttp: {reported}\n")
    path = write(
        f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\nlisten: {listen}\n" +
        RESPOND)
    assert problems(path) == [f"1:6: {reported}"]


def test_unix_socket_is_plain(start, tmp_path):
    path = str(tmp_path / "socket")
    start("serve", "--tls-cert", tls.default_cert(), "-l", f"unix:{path}")
    done = subprocess.run(["curl", "-sS", "--unix-socket", path, "http://site/"],
                          capture_output=True, env=clean_environment())
    assert done.stdout == b"the index\n"


@pytest.mark.parametrize(
    "flags, expected",
    [([], ["*:8443"]),
     (["-l", "127.0.0.1", "-l", "http://127.0.0.1"], ["127.0.0.1:8443", "http://127.0.0.1:8080"]),
     (["-p", "9000"], ["*:9000"]),
     (["-l", "https://[::1]", "-p", "8080"], ["https://[::1]:8080"]),
     (["-l", "127.0.0.1:1"], ["127.0.0.1:1"]), ])
def test_default_tls_port_is_8443(site, flags, expected):
    def listen(*arguments):
        done = run("uvhttp", "serve", "--print-config", *arguments, *flags, site)
        assert done.returncode == 0, done.stderr
        return yaml.safe_load(done.stdout)["listen"]

    assert listen("--tls-cert", tls.default_cert()) == expected
    if "https" not in "".join(flags):
        assert listen() == [address.replace("8443", "8080") for address in expected]


# Self-signed certificates


def self_signed(program):
    """(path, fingerprint) of the start output."""
    eventually(lambda: program.read_available() and "SHA-256" in program.output,
               "the log line of the certificate")
    found = re.search(
        r"^uvhttp: self-signed certificate (.*), SHA-256 ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})$",
        program.output, re.M)
    return pathlib.Path(found[1]), found[2].replace(":", "").lower()


def names_of(path):
    text = tls.openssl("x509", "-in", path, "-noout", "-text").decode()
    return text, re.search(r"Subject Alternative Name:[^\n]*\n +(.*)", text)[1]


def test_self_signed_certificate_is_created(start, tmp_path):
    program = start("serve", "--tls-self-signed")
    path, reported = self_signed(program)
    assert path == tmp_path / "state/uvhttp/self-signed.pem"
    assert reported == served(program.port) == fingerprint(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(
        path.parent.stat().st_mode) == 0o700
    for name in ("localhost", "127.0.0.1", "::1"):
        assert fetch(program.port, ca=path, name=name).status == 200
    tls.openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", path, path)
    text, names = names_of(path)
    assert "ASN1 OID: prime256v1" in text and "CA:FALSE" in text and ("TLS Web Server "
                                                                      "Authentication") in text
    assert names.startswith("DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1")
    host = socket.gethostname()
    assert not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*",
                            host) or host == "localhost" or f"DNS:{host}" in names
    begin, end = (datetime.datetime.strptime(
        re.search(rf"Not {which} *: (.*) GMT", text)[1], "%b %d %H:%M:%S %Y")
                  for which in ("Before", "After"))
    assert end - begin == datetime.timedelta(days=397)
    assert self_signed(start("serve",
                             "--tls-self-signed")) == (path, reported), "the certificate is reused"


def test_self_signed_certificate_covers_all_urls(start, tmp_path):
    local = self_signed(start("serve", "--tls-self-signed"))
    everywhere = start("serve", "--tls-self-signed", listen="0.0.0.0:0")
    reported = self_signed(everywhere)[1]
    assert (reported != local[1]) == (len(everywhere.urls) > 1)
    one = start("serve", "--tls-self-signed", listen="127.0.0.9:0")
    path, reported = self_signed(one)
    eventually(lambda: served(everywhere.port) == reported,
               "the other program has loaded the certificate")
    for url in everywhere.urls + one.urls:
        host, port = re.fullmatch(r"https://([0-9.]+):(\d+)/", url).groups()
        done = subprocess.run(["curl", "-sS", "--cacert", path, url], capture_output=True,
                              text=True, env=clean_environment({"no_proxy": "*"}))
        assert (done.stdout, done.stderr) == ("the index\n", ""), url
        assert host in run("uvhttp", "cert", path).stdout
    assert self_signed(
        start("serve",
              "--tls-self-signed"))[1] == reported, "the certificate is reused for fewer addresses"
    both = self_signed(start("serve", "--tls-self-signed", listen="127.0.0.8:0"))[1]
    assert both != reported and self_signed(
        start("serve", "--tls-self-signed",
              listen="127.0.0.9:0"))[1] == both, "the addresses are kept"


def test_self_signed_certificate_path_without_xdg_state_home(start, tmp_path):
    for state in ("", "relative"):
        program = start("serve", "--tls-self-signed",
                        environment={"XDG_STATE_HOME": state, "HOME": str(tmp_path / "home")})
        assert self_signed(program)[0] == tmp_path / "home/.local/state/uvhttp/self-signed.pem"


def stale(kind, path):
    """Replaces the certificate by something unusable."""
    names = ["localhost", "127.0.0.1", "::1"
             ] + ([socket.gethostname()] if socket.gethostname() != "localhost" else [])
    san = ",".join(("IP:" if name[-1] == "1" and name != socket.gethostname() else "DNS:") + name
                   for name in (names if kind != "names" else ["localhost"]))
    days = 6 if kind == "expires" else 8
    directory = path.parent
    tls.openssl("req", "-x509", *tls.KEYS["ec"], "-nodes", "-days", days, "-subj", "/CN=localhost",
                "-addext", f"subjectAltName={san}", "-keyout", directory / "k", "-out",
                directory / "c")
    if kind == "other key":
        tls.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-out", directory / "k")
    text = (directory / "c").read_text() + (directory / "k").read_text()
    (directory / "c").unlink(), (directory / "k").unlink()
    path.unlink()
    if kind == "folder":
        path.symlink_to("/dev/zero")
        return
    path.write_text({"no text": "", "half": text[:300]}.get(kind, text))
    path.chmod(0o644 if kind == "open to others" else 0o600)


@pytest.mark.parametrize(
    "kind",
    ["fine", "expires", "names", "other key", "no text", "half", "open to others", "folder"])
def test_unusable_self_signed_certificate_is_replaced(start, kind):
    program = start("serve", "--tls-self-signed")
    path, first = self_signed(program)
    stale(kind, path)
    kept = None if kind in ("folder", "no text", "half") else fingerprint(path)
    program = start("serve", "--tls-self-signed")
    path, second = self_signed(program)
    assert (second == kept) == (kind == "fine")
    assert second == served(program.port) == fingerprint(path)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600 and not path.is_symlink()


def test_concurrent_programs_share_self_signed_certificate(start, tmp_path):
    programs = [start("serve", "--tls-self-signed", wait=False) for _ in range(8)]
    for program in programs:
        program.read_line()
    assert len({self_signed(program) for program in programs}) == 1
    assert len({served(program.port) for program in programs}) == 1
    assert os.listdir(tmp_path / "state/uvhttp") == ["self-signed.pem"]


def test_state_directory_permissions_are_restricted(start, tmp_path):
    (tmp_path / "state/uvhttp").mkdir(parents=True)
    (tmp_path / "state/uvhttp").chmod(0o755)
    self_signed(start("serve", "--tls-self-signed"))
    assert stat.S_IMODE((tmp_path / "state/uvhttp").stat().st_mode) == 0o700


@pytest.mark.parametrize("environment, message", [
    ({"XDG_STATE_HOME": "{file}"}, "a self-signed certificate cannot be stored in "
                                   "'{file}/uvhttp': "),
    ({"XDG_STATE_HOME": "", "HOME": ""},
     "no directory for a self-signed certificate: neither XDG_STATE_HOME nor HOME is set"),
])
def test_self_signed_certificate_without_directory(site, tmp_path, write, environment, message):
    file = tmp_path / "file"
    file.write_text("")
    environment = {name: value.format(file=file) for name, value in environment.items()}
    done = run("uvhttp", "serve", "-l", "127.0.0.1:0", "--tls-self-signed", site,
               environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert message.format(
        file=file
    ) in done.stderr and "XDG_STATE_HOME" in done.stderr and "--tls-cert" in done.stderr
    assert problems(write("tls: {self_signed: true}\n" + RESPOND),
                    environment=environment)[0].startswith("1:20: " + message.format(file=file))


def test_check_creates_no_certificate(start, write, tmp_path):
    path = write(LOCAL + "tls: {self_signed: true}\n" + RESPOND)
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = run("uvhttp", "check", path, environment=environment)
    certificate_path = tmp_path / "state/uvhttp/self-signed.pem"
    assert (done.returncode, done.stdout) == (
        0, f"{path}: a self-signed certificate will be created: '{certificate_path}'\n"
        f"{path}: configuration OK\n")
    assert not (tmp_path / "state").exists()
    program = start("run", path)
    assert self_signed(program)[0] == certificate_path and fetch(
        program.port, ca=certificate_path).body == b"hello"
    assert f"the certificate '{certificate_path}' is valid until 20" in run(
        "uvhttp", "check", path, environment=environment).stdout


def test_start_output_on_terminal(site, tmp_path):
    master, terminal = pty.openpty()
    process = subprocess.Popen([
        built("uvhttp"), "serve", "-l", "127.0.0.1:0", "--tls-self-signed", "--redirect-http", "0",
        str(site)
    ], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, env=clean_environment(
        {"TERM": "dumb", "XDG_STATE_HOME": str(tmp_path)}))
    os.close(terminal)
    output = ""
    try:
        while "Ctrl+C" not in output:
            assert select.select([master], [], [], SAFETY_TIMEOUT)[0], output
            output += os.read(master, 65536).decode().replace("\r\n", "\n")
    finally:
        process.terminate()
        assert process.wait(SAFETY_TIMEOUT) == 0
        os.close(master)
    assert re.search(r"  Local    https://127\.0\.0\.1:\d+/\n  Redirect http://127\.0\.0\.1:\d+/\n",
                     output), output
    assert re.search(
        rf"\n  Self-signed certificate {tmp_path}/uvhttp/self-signed\.pem\n  SHA-256 "
        rf"([0-9A-F]{{2}}:){{31}}[0-9A-F]{{2}}\n",
        output), output


# Redirects to https


def test_redirect_to_https(start):
    program = start("serve", "--tls-cert", tls.default_cert(), "--redirect-http", "0")
    port, https = redirect_port(program), program.port
    for target, location in (("/", "/"), ("/a%20b?c=d&e", "/a%20b?c=d&e"), ("/?", "/"),
                             ("//x.example/", "//x.example/"), ("http://www.example/a?b", "/a?b"),
                             ("/.well-known/acme-challenge/x", "/.well-known/acme-challenge/x")):
        for method in ("GET", "POST", "PURGE"):
            with raw.Connection(port) as connection:
                response = connection.request(method, target, host="www.example:80")
            assert (response.status,
                    response.get("Location")) == (308, f"https://www.example:{https}{location}")
            assert response.get("Strict-Transport-Security") is None
    for host, shown in (("a.example", "a.example"), ("127.0.0.1:8080", "127.0.0.1"),
                        ("[::1]:80", "[::1]"), ("[::1]", "[::1]")):
        with raw.Connection(port) as connection:
            assert connection.request("GET", "/",
                                      host=host).get("Location") == f"https://{shown}:{https}/"
    with raw.Connection(port) as connection:
        connection.send(b"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n")
        assert connection.response().get("Location") == f"https://a.example:{https}/"
    assert fetch(https).status == 200


@pytest.mark.parametrize("head", [
    b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
])
def test_redirect_without_host_gets_400(start, head):
    program = start("serve", "--tls-cert", tls.default_cert(), "--redirect-http", "0")
    with raw.Connection(redirect_port(program)) as connection:
        connection.send(head)
        assert connection.response().status == 400


def test_redirect_to_https_uses_host_of_trusted_proxy(start):
    for flags, host in ((["--trusted-proxy=127.0.0.1"], "shop.test"), ([], "a.example")):
        program = start("serve", "--tls-cert", tls.default_cert(), "--redirect-http", "0", *flags)
        with raw.Connection(redirect_port(program)) as connection:
            reply = connection.request("GET", "/", "X-Forwarded-Host: shop.test", host="a.example")
        assert reply.get("Location") == f"https://{host}:{program.port}/"


def test_redirect_of_several_addresses(start, site):
    program = with_free_port(
        lambda: start("serve", "--tls-cert", tls.default_cert(), "-l", "127.0.0.2:0", "-l",
                      "http://127.0.0.3:0", "--redirect-http", "0"))
    eventually(lambda: program.read_available() and "redirecting" in program.output,
               "the log line of the redirects")
    found = re.search(r"redirecting http://127\.0\.0\.1:(\d+)/ http://127\.0\.0\.2:(\d+)/ to https",
                      program.output)
    assert found[1] == found[2]
    with socket.create_connection(("127.0.0.2", int(found[2])), SAFETY_TIMEOUT) as connection:
        connection.sendall(raw.request("GET", "/x", "Connection: close"))
        assert f"\r\nLocation: https://localhost:{program.port}/x\r\n".encode(
        ) in connection.makefile("rb").read()


def test_redirect_port_zero_is_free_port(site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("uvhttp", "serve", "-l", "127.0.0.1:0", "--tls-cert", tls.default_cert(),
                   "--redirect-http", port, site)
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", f"uvhttp: port {port} is in use; choose another with --redirect-http\n")
    done = run("uvhttp", "serve", "-l", "http://127.0.0.1:0", "--tls-cert", tls.default_cert(),
               "--redirect-http", "0", site)
    assert done.returncode == 2 and "no address uses TLS" in done.stderr


def test_port_cannot_serve_and_redirect(site):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    done = run("uvhttp", "serve", "-l", f"127.0.0.1:{port}", "--tls-cert", tls.default_cert(),
               "--redirect-http", port, site)
    assert done.returncode == 2
    assert done.stderr == (f"uvhttp: port {port} for redirects is in use by another address; "
                           f"choose another with --redirect-http\n")


@pytest.mark.parametrize(
    "listen, extra, port, message",
    [("127.0.0.1:3000", "", 3000,
      "port 3000 for redirects is in use by another address; choose another with redirect_http"),
     ("[127.0.0.1:3000, 'http://127.0.0.1:3001']", "", 3001,
      "port 3001 for redirects is in use by another address"),
     ("127.0.0.1:3000", "metrics: {listen: '127.0.0.1:3001'}\n", 3001,
      "port 3001 for redirects is in use by another address"), ])
def test_check_reports_invalid_redirect_port(write, listen, extra, port, message):
    path = write(
        f"listen: {listen}\n{extra}tls:\n"
        f"  certificates: [{{certificate: {tls.default_cert()}}}]\n"
        f"  redirect_http: {port}\n" + RESPOND)
    found = problems(path)
    assert len(found) == 1 and re.sub(r"^\d+:\d+: ", "", found[0]).startswith(message), found
    assert found[0].startswith(f"{5 if extra else 4}:18: ")
    done = run("uvhttp", "run", path)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr == f"{path}:{found[0]}\n"
    done = run("uvhttp", "check", "-l", "127.0.0.1:4000", path)
    assert done.returncode == (1 if "metrics" in extra else 0)


def test_redirected_request_is_logged(start):
    program = start("serve", "--tls-cert", tls.default_cert(), "--redirect-http", "0", "--verbose")
    with raw.Connection(redirect_port(program)) as connection:
        connection.request("GET", "/here")
    eventually(lambda: " debug 127.0.0.1 GET /here 308 " in program.log(), "the request is logged")


# HSTS


@pytest.mark.parametrize("flags, value", [([], None), (["--hsts", "off"], None),
                                          (["--hsts", "0"], "max-age=0"),
                                          (["--hsts", "365d"], "max-age=31536000")])
def test_hsts_option(start, flags, value):
    program = start("serve", "--tls-cert", tls.default_cert(), "-l", "http://127.0.0.1:0", *flags)
    for target in ("/", "/none"):
        assert fetch(ports(program)["https"], target).get("Strict-Transport-Security") == value
        with raw.Connection(ports(program)["http"]) as connection:
            assert connection.request("GET", target).get("Strict-Transport-Security") is None


def test_hsts_of_configuration_and_sites(start, write):
    path = write(f"""
listen: [127.0.0.1:0, 'http://127.0.0.1:0']
tls: {{certificates: [{{certificate: {tls.default_cert()}}}], hsts: 1h}}
sites:
  - {{hosts: own.example, headers: {{Strict-Transport-Security: max-age=1}},
      routes: [{{path: /, respond: {{}}}}]}}
  - {{routes: [{{path: /, respond: {{}}}}]}}
""")
    program = start("run", path)
    port = ports(program)["https"]
    assert fetch(port, host="own.example").get("Strict-Transport-Security") == "max-age=1"
    assert fetch(port).get("Strict-Transport-Security") == fetch(
        port, "/none").get("Strict-Transport-Security") == "max-age=3600"
    with raw.Connection(ports(program)["http"]) as connection:
        assert connection.request("GET", "/").get("Strict-Transport-Security") is None


# Configuration files


def test_configuration_with_all_tls_keys(start, write, tmp_path, pair):
    ca = tls.authority()
    pair("a", "a.example", password="secret")
    pair("b", "b.example")
    (tmp_path / "phrase").write_text("secret\n")
    (tmp_path / "tickets").write_bytes(os.urandom(80))
    path = write(f"""
listen: [127.0.0.1:0]
tls:
  certificates:
    - {{certificate: a.certificate, key: a.key, passphrase_file: phrase}}
    - certificate: b.certificate
      key: b.key
      client_auth: required
  profile: intermediate
  min_version: "1.2"
  max_version: 1.3
  ciphers: ECDHE-ECDSA-AES128-GCM-SHA256
  cipher_suites: TLS_AES_128_GCM_SHA256
  groups: prime256v1
  tickets: true
  session_lifetime: 10min
  one_time_tickets: true
  max_used_tickets: 1000
  early_data: 4K
  ticket_keys: [tickets]
  client_auth: optional
  client_ca: {ca}
  client_crl: {tls.revocation_list(ca)}
  key_log: keys
  ktls: yes
  watch: no
  redirect_http: 0
  hsts: off
{RESPOND}""")
    done = run("uvhttp", "check", path)
    assert done.returncode == 0, done.stderr
    for name in "ab":
        assert re.search(
            rf"^{path}: the certificate '{tmp_path}/{name}\.certificate' is valid until "
            rf"20\d\d-\d\d-\d\d "
            r"\d\d:\d\d:\d\d UTC \(30 days\)$", done.stdout, re.M)
    assert done.stdout.endswith(f"{path}: configuration OK\n") and not (tmp_path /
                                                                                   "keys").exists()
    client = tls.certificate("client.example", ca=ca, usage="clientAuth")

    def try_it(program):
        assert served(program.port, "a.example") == fingerprint(tmp_path / "a.certificate")
        assert fetch(program.port, name="a.example").status == 200
        assert fetch(program.port, name="b.example", client=client).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            fetch(program.port, name="b.example")
        with raw.Connection(program.port, tls=tls.context(only="1.2"),
                            name="a.example") as connection:
            assert connection.socket.cipher()[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
        with raw.Connection(program.port, tls=tls.context(only="1.3"),
                            name="a.example") as connection:
            assert connection.socket.cipher()[0] == "TLS_AES_128_GCM_SHA256"
        assert redirect_port(program) > 0

    try_it(start("run", path))
    printed = run("uvhttp", "run", "--print-config", path).stdout
    (tmp_path / "elsewhere").mkdir()
    again = write(printed, "elsewhere/again.yaml")
    assert run("uvhttp", "run", "--print-config", again).stdout == printed
    try_it(start("run", again))
    assert yaml.safe_load(printed)["tls"] == {
        "certificates": [{
            "certificate": f"{tmp_path}/a.certificate", "key": f"{tmp_path}/a.key",
            "passphrase_file": f"{tmp_path}/phrase"
        }, {
            "certificate": f"{tmp_path}/b.certificate", "key": f"{tmp_path}/b.key",
            "client_auth": "required"
        }], "profile": "intermediate", "min_version": "1.2", "max_version": "1.3",
        "ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256", "cipher_suites": "TLS_AES_128_GCM_SHA256",
        "groups": "prime256v1", "tickets": True, "session_lifetime": 600, "one_time_tickets": True,
        "max_used_tickets": 1000, "early_data": 4096, "ticket_keys": [f"{tmp_path}/tickets"],
        "client_auth": "optional", "client_ca": str(ca), "client_crl": str(ca.with_name("crl.pem")),
        "key_log": f"{tmp_path}/keys", "ktls": True, "watch": False, "redirect_http": 0
    }


def test_options_equal_configuration(site, start, write, pair):
    certificate, key = pair("a")
    ca = tls.authority()
    flags = [
        "--tls-cert", certificate, "--tls-key", key, "--tls-profile", "modern", "--tls-client-auth",
        "optional", "--tls-client-ca", ca, "--tls-key-log", "keys", "--tls-ktls",
        "--tls-one-time-tickets", "--tls-early-data", "8K", "--no-tls-watch", "--redirect-http",
        "0", "--hsts", "1d"
    ]
    printed = run("uvhttp", "serve", "--print-config", "-l", "127.0.0.1:0", site, *flags,
                  cwd=site).stdout
    assert yaml.safe_load(printed)["tls"] == {
        "certificates": [{"certificate": str(certificate), "key": str(key)}], "profile": "modern",
        "tickets": True, "one_time_tickets": True, "early_data": 8192, "client_auth": "optional",
        "client_ca": str(ca), "key_log": f"{site}/keys", "ktls": True, "watch": False,
        "redirect_http": 0, "hsts": 86400
    }
    program = start("run", write(printed))
    response = fetch(program.port, ca=certificate)
    assert (response.body, response.get("Strict-Transport-Security")) == (b"the index\n",
                                                                          "max-age=86400")
    printed = run("uvhttp", "serve", "--print-config", "--tls-self-signed", site).stdout
    assert yaml.safe_load(printed)["tls"]["self_signed"] is True and "tls" not in yaml.safe_load(
        run("uvhttp", "serve", "--print-config", site).stdout)


def test_tickets_key_disables_tickets(start, write):
    for text, resumed in (("true", True), ("false", False)):
        path = write(
            LOCAL +
            f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}], tickets: {text}}}\n" +
            RESPOND)
        program, context = start("run", path), tls.context(only="1.2")
        with raw.Connection(program.port, tls=context) as connection:
            connection.request("GET", "/")
            session = connection.socket.session
        with raw.Connection(program.port, tls=context, session=session) as connection:
            assert connection.socket.session_reused is resumed


def test_ticket_key_files_are_shared(start, write, tmp_path):
    (tmp_path / "tickets").write_bytes(os.urandom(80))
    path = write(
        LOCAL +
        f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}], ticket_keys: tickets}}\n" +
        RESPOND)
    first, second, context = start("run", path), start("run", path), tls.context(only="1.2")
    with raw.Connection(first.port, tls=context) as connection:
        connection.request("GET", "/")
        session = connection.socket.session
    with raw.Connection(second.port, tls=context, session=session) as connection:
        assert connection.socket.session_reused


def test_ocsp_response_is_stapled(start, write, tmp_path):
    ca = tls.authority()
    both = tls.certificate(ca=ca)
    tls.ocsp_response(ca, both, tmp_path / "ocsp.der")
    program = start(
        "run",
        write(LOCAL + f"tls: {{certificates: [{{certificate: {both}, ocsp: ocsp.der}}]}}\n" +
              RESPOND))
    done = subprocess.run([
        "openssl", "s_client", "-connect", f"127.0.0.1:{program.port}", "-status", "-servername",
        "localhost"
    ], capture_output=True, input=b"", timeout=3 * SAFETY_TIMEOUT)
    assert b"OCSP Response Status: successful" in done.stdout


CERTIFICATE = "certificates: [{certificate: a.pem}]"


@pytest.mark.parametrize("text, expected", [
    ("tls: yes", "1:6: tls: expected a map of keys and values, found a single value"),
    ("tls: {}", "1:6: tls requires 'certificates' or 'self_signed: true'"),
    ("tls: {certificates: []}", "1:21: certificates is an empty list"),
    ("tls: {certificates: a.pem}", "1:21: certificates: expected a list, found a single value"),
    ("tls: {certificates: [a.pem]}",
     "1:22: expected a map of keys and values, found a single value"),
    ("tls: {certificates: [{key: a.pem}]}", "1:22: a certificate requires 'certificate', a file"),
    ("tls: {certificates: [{certificate: ''}]}",
     "1:36: certificate: expected a path, found an empty value"),
    ("tls: {certificates: [{certificat: a.pem}]}",
     "1:23: unknown key 'certificat' in a certificate; did you mean 'certificate'?"),
    ("tls: {certificats: []}", "1:7: unknown key 'certificats' in tls; did you mean "
     "'certificates'?"),
    ("tls: {self_signed: true, " + CERTIFICATE + "}",
     "1:6: tls has 'certificates' and 'self_signed'; only one of them is allowed"),
    ("tls: {self_signed: perhaps}", "1:20: self_signed is 'perhaps'; allowed are true and false"),
    ("tls: {" + CERTIFICATE + ", profile: old}",
     "1:54: profile is 'old'; allowed are intermediate, modern"),
    ("tls: {" + CERTIFICATE + ", min_version: 1.1}",
     "1:58: min_version is '1.1'; allowed are 1.2, 1.3"),
    ("tls: {" + CERTIFICATE + ", min_version: 1.3, max_version: 1.2}",
     "1:58: tls: min_version is TLS 1.3, but max_version is TLS 1.2"),
    ("tls: {" + CERTIFICATE + ", ciphers: none}",
     "1:54: tls: ciphers is \"none\": OpenSSL supports none of them"),
    ("tls: {" + CERTIFICATE +
     ", ciphers: ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES182-GCM-SHA256}",
     "1:54: tls: ciphers is \"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES182-GCM-SHA256\": "
     "OpenSSL does not support 'ECDHE-ECDSA-AES182-GCM-SHA256'"),
    ("tls: {" + CERTIFICATE + ", ciphers: ECDHE-ECDSA-AES128-GCM-SHA256, profile: modern}",
     "1:54: tls: ciphers is for TLS 1.2, which is disabled (profile); for TLS 1.3 use "
     "cipher_suites"),
    ("tls: {" + CERTIFICATE + ", ticket_keys: a.pem, tickets: false}",
     "1:58: tls: ticket_keys is set, but tickets are off"),
    ("tls: {" + CERTIFICATE + ", groups: none}", "1:53: tls: groups is \"none\""),
    ("tls: {" + CERTIFICATE + ", ktls: 2}", "1:51: ktls is '2'; allowed are true and false"),
    ("tls: {" + CERTIFICATE + ", tickets: 2}", "1:54: tickets is '2'; allowed are true and false"),
    ("tls: {" + CERTIFICATE + ", session_lifetime: 8d}",
     "1:63: session_lifetime: '8d' is out of range; allowed are 1 to 604800 seconds"),
    ("tls: {" + CERTIFICATE + ", session_lifetime: x}",
     "1:63: session_lifetime: 'x' is not a time (such as 90, 90s or 2min)"),
    ("tls: {" + CERTIFICATE + ", ticket_keys: []}",
     "1:58: ticket_keys has 0 files; allowed are 1 to 16"),
    ("tls: {" + CERTIFICATE + ", ticket_keys: [a.pem]}",
     "1:58: tls: ticket_keys '{directory}/a.pem' has "),
    ("tls: {" + CERTIFICATE + ", client_auth: yes}",
     "1:58: client_auth is 'yes'; allowed are off, optional, required"),
    ("tls: {" + CERTIFICATE + ", client_auth: required}",
     "1:58: tls: client_auth is on, but client_ca is not set"),
    ("tls: {" + CERTIFICATE + ", client_ca: none.pem, client_auth: optional}",
     "1:56: tls: client_ca '{directory}/none.pem' cannot be opened: no such file or directory"),
    ("tls: {" + CERTIFICATE + ", client_crl: a.pem}",
     "1:57: tls: client_crl is set, but client_ca is not"),
    ("tls: {" + CERTIFICATE + ", key_log: none/x}",
     "1:54: tls: key_log '{directory}/none/x' cannot be written: no such file or directory"),
    ("tls: {" + CERTIFICATE + ", watch: [1]}",
     "1:52: watch: expected a single value, found a list"),
    ("tls: {" + CERTIFICATE + ", redirect_http: 70000}",
     "1:60: redirect_http: '70000' is out of range; allowed are 0 to 65535"),
    ("tls: {" + CERTIFICATE + ", hsts: long}",
     "1:51: hsts: 'long' is not a time (such as 90, 90s or 2min); allowed are 0 to 315360000 "
     "seconds"),
    ("tls: {certificates: [{certificate: none.pem}]}",
     "1:36: tls: certificate '{directory}/none.pem' cannot be opened: no such file or directory"),
    ("tls: {certificates: [{certificate: a.pem}, {certificate: a.pem, key: b.pem}]}",
     "1:70: tls: the key in {directory}/b.pem and the certificate of {directory}/a.pem: the key "
     "does not match the certificate"),
    ("tls: {certificates: [{certificate: a.pem, key: site.yaml}]}",
     "1:48: tls: the key of {directory}/a.pem cannot be read from {directory}/site.yaml"),
    ("tls: {certificates: [{certificate: a.pem, ocsp: a.pem}]}",
     "1:49: tls: ocsp '{directory}/a.pem' contains no successful OCSP response"),
    ("listen: ['https://127.0.0.1:1']",
     "1:10: an address with https:// requires 'tls' with a certificate"),
    ("metrics: {listen: 'https://127.0.0.1:1'}",
     "1:19: 'https://127.0.0.1:1' is invalid: TLS is not supported for metrics"),
])
def test_configuration_errors_have_line_and_column(write, tmp_path, text, expected):
    shutil.copy(tls.default_cert(), tmp_path / "a.pem")
    shutil.copy(tls.certificate().with_name("key.pem"), tmp_path / "b.pem")
    found = problems(write(text + "\n" + RESPOND))
    assert len(found) == 1 and found[0].startswith(expected.format(directory=tmp_path)), found


def test_check_reports_expiring_certificates(write, tmp_path):
    soon = tls.certificate("soon.example", days=3)
    later = tls.certificate("later.example", days=20)
    path = write(
        f"tls: {{certificates: [{{certificate: {soon}}}, {{certificate: {later}}}, {{certificate: "
        f"{expired(tmp_path)}}}]}}\n" + RESPOND)
    done = run("uvhttp", "check", path)
    assert done.returncode == 0
    assert re.fullmatch(
        rf"{path}: warning: the certificate '{soon}' expires in 3 days, on 20.* UTC\n"
        rf"{path}: warning: the certificate '{tmp_path}/expired.pem' expired on 20.* UTC\n"
        rf"{path}: warning: the certificate '{tmp_path}/expired.pem' has no names "
        rf"\(subjectAltName\), so clients reject it\n",
        done.stderr)
    assert re.fullmatch(
        rf"{path}: the certificate '{later}' is valid until 20.* UTC \(20 days\)\n"
        rf"{path}: configuration OK\n",
        done.stdout)


def openssl_certificate(directory, name, *extensions):
    """A certificate with its key that has only these extensions."""
    tls.openssl("req", "-x509", *tls.KEYS["ec"], "-nodes", "-days", "30", "-subj", f"/CN={name}",
                "-keyout", directory / "k", "-out", directory / "c",
                *[word for extension in extensions for word in ("-addext", extension)])
    path = directory / f"{name}.pem"
    path.write_text((directory / "c").read_text() + (directory / "k").read_text())
    path.chmod(0o600)
    return path


def test_certificates_that_clients_reject_are_logged(start, write, tmp_path):
    nameless = openssl_certificate(tmp_path, "nameless")
    client = openssl_certificate(tmp_path, "client", "subjectAltName=DNS:client",
                                 "extendedKeyUsage=clientAuth")
    both = openssl_certificate(tmp_path, "both", "subjectAltName=DNS:both",
                               "extendedKeyUsage=clientAuth,serverAuth")
    ca = tls.authority()
    chain = tmp_path / "chain.pem"
    parts = tls.certificate("chain.example", ca=ca)
    chain.write_text(parts.read_text() + tls.authority().read_text() + ca.read_text())
    chain.chmod(0o600)
    again = tls.certificate("BOTH", "both")
    other = tls.certificate("both", kind="rsa")
    extra = tls.certificate("both", "more.example")
    paths = [nameless, client, both, chain, again, other, extra]
    reported = [
        f"the certificate '{nameless}' has no names (subjectAltName), so clients reject it",
        f"the certificate '{client}' is not for servers (its extendedKeyUsage has no serverAuth), "
        f"so clients reject it",
        f"the chain in '{chain}' is not in order: certificate 1 is not issued by certificate 2, "
        f"so some clients reject it",
        f"the certificate '{again}' is never used: '{both}' precedes it with the same name (both) "
        f"and the same type of key"
    ]
    file = write("tls: {certificates: [" + ", ".join(f"{{certificate: {path}}}" for path in paths) +
                 "]}\n" + RESPOND)
    done = run("uvhttp", "check", file)
    assert (done.returncode,
            done.stderr) == (0, "".join(f"{file}: warning: {line}\n" for line in reported))
    program = start("serve", *[word for path in paths for word in ("--tls-cert", path)])
    eventually(lambda: "is never used" in program.log(), "the last warning is logged")
    assert [
        line.split(" warning ")[1] for line in program.log().splitlines() if " warning " in line
    ] == reported


def test_addresses_of_options_override_file(write, start):
    path = write(LOCAL + f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n" +
                 RESPOND)
    both = ports(start("run", "-l", "http://127.0.0.1:0", "-l", "127.0.0.1:0", path))
    assert fetch(both["https"]).body == b"hello"
    with raw.Connection(both["http"]) as connection:
        assert connection.request("GET", "/").body == b"hello"
    done = run("uvhttp", "run", "-l", "https://127.0.0.1:0", write(RESPOND))
    assert done.returncode == 2
    assert done.stderr == ("uvhttp: --listen: an address with https:// needs a certificate; give "
                           "one with 'tls' in the configuration\n")


def test_metrics_address_is_plain(write, start):
    path = write(LOCAL +
                 f"metrics: {{listen: '127.0.0.1:0'}}\ntls: {{certificates: [{{certificate: "
                 f"{tls.default_cert()}}}]}}\n" + RESPOND)
    program = start("run", path)
    eventually(lambda: program.read_available() and "metrics" in program.output,
               "the log line of the metrics")
    port = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)/", program.output)[1])
    with raw.Connection(port) as connection:
        assert b"uvhttp_requests_total" in connection.request("GET", "/metrics").body


# uvhttp cert


def expired(directory):
    """A certificate that expired yesterday, with its key."""
    both = tls.certificate()
    tls.openssl("req", "-new", "-key", both.with_name("key.pem"), "-subj", "/CN=localhost", "-out",
                directory / "expired.csr")
    tls.openssl("x509", "-req", "-in", directory / "expired.csr", "-key", both.with_name("key.pem"),
                "-days", "-1", "-out", directory / "expired.pem")
    with open(directory / "expired.pem", "ab") as file:
        file.write(both.with_name("key.pem").read_bytes())
    (directory / "expired.pem").chmod(0o600)
    return directory / "expired.pem"


def test_cert_prints_certificate():
    path = tls.certificate("a.example", "*.b.example", "192.0.2.7", days=30, common_name="the name")
    done = run("uvhttp", "cert", path)
    assert (done.returncode, done.stderr) == (0, "")
    colons = ":".join(re.findall("..", fingerprint(path).upper()))
    assert re.fullmatch(
        r"certificate 1 of 1\n  subject:      CN=the name\n  issuer:       CN=the name\n"
        r"  names:        a\.example, \*\.b\.example, 192\.0\.2\.7\n"
        r"  valid from:   20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n  valid until:  20\d\d-\d\d-\d\d "
        r"\d\d:\d\d:\d\d UTC \(30 days left\)\n"
        rf"  key:          ECDSA P-256 \(256 bits\)\n  signature:    ecdsa-with-SHA256\n  "
        rf"SHA-256:      {colons}\n"
        r"chain: one certificate, self-signed\n", done.stdout), done.stdout


def test_cert_checks_key(pair, tmp_path):
    certificate, key = pair("a", kind="rsa")
    done = run("uvhttp", "cert", "--key", key, certificate)
    assert done.returncode == 0 and "  key:          RSA (2048 bits)\n" in done.stdout
    assert done.stdout.endswith("key: belongs to certificate 1\n")
    for other in (pair("b", kind="rsa")[1], pair("c")[1]):
        done = run("uvhttp", "cert", certificate, "-k", other)
        assert done.returncode == 1 and done.stdout.endswith(
            "key: DOES NOT BELONG to certificate 1\n")
    done = run("uvhttp", "cert", certificate, "-k", certificate)
    assert (done.returncode, done.stderr) == (
        1,
        f"uvhttp cert: the key of {certificate} cannot be read from {certificate}: it contains a "
        f"certificate "
        "and no private key: are certificate and key swapped?\n")
    certificate, key = pair("d", password="secret")
    (tmp_path / "phrase").write_text("secret\r\n")
    assert run("uvhttp", "cert", certificate, "-k", key).stderr == (
        f"uvhttp cert: the key of {certificate} cannot be read from {key}: the key is encrypted, "
        f"but no pass phrase is set (--passphrase-file)\n"
    )
    assert run("uvhttp", "cert", certificate, "-k", key, "--passphrase-file",
               tmp_path / "phrase").returncode == 0
    done = run("uvhttp", "cert", certificate, "-k", key, "--passphrase-file", tmp_path / "none")
    assert (done.returncode, done.stderr) == (
        1, f"uvhttp cert: '{tmp_path}/none' cannot be read: No such file or directory\n")
    done = run("uvhttp", "cert", certificate, "-k", key, "--passphrase-file", tmp_path)
    assert (done.returncode, done.stderr) == (
        1, f"uvhttp cert: '{tmp_path}' cannot be read: Is a directory\n")


def encrypt_key(certificate, passphrase, directory):
    """The key of a file, encrypted, as openssl does it."""
    key = directory / "encrypted.key"
    subprocess.run([
        "openssl", "pkcs8", "-topk8", "-in", certificate, "-out", key, "-passout",
        f"pass:{passphrase}"
    ], check=True, capture_output=True)
    return key


@pytest.mark.parametrize("passphrase, content, opened", [
    ("secret", "secret\nmore\n", True), ("secret", "\nsecret\n", False),
    ("secret", "secret2\n", False), ("secret", "", False), ("", "", True),
    ("1" * 1024, "1" * 1024 + "\r\n", True), ("1" * 1024, "1" * 1025, False),
    ("1" * 1024, "1" * 5000, False)
], ids=("first", "second", "wrong", "none", "empty", "longest", "longer", "much_longer"))
def test_cert_takes_a_passphrase_as_the_server_does(passphrase, content, opened, write, tmp_path):
    certificate = tls.certificate()
    key = encrypt_key(certificate, passphrase, tmp_path)
    phrase = tmp_path / "phrase"
    phrase.write_bytes(content.encode())
    cert = run("uvhttp", "cert", certificate, "-k", key, "--passphrase-file", phrase)
    served = run("uvhttp", "check", write(
        f"tls: {{certificates: [{{certificate: {certificate}, key: {key}, "
        f"passphrase_file: {phrase}}}]}}\n{LOCAL}{RESPOND}"))
    assert (cert.returncode, served.returncode) == (not opened, not opened), (cert, served)
    for done in (cert, served):
        assert opened == ("the pass phrase is wrong, or the key is damaged" not in done.stderr)


def test_cert_reads_pipes(tmp_path):
    certificate = tls.certificate()
    key = encrypt_key(certificate, "secret", tmp_path)
    phrase, der = tmp_path / "phrase", tmp_path / "der"
    phrase.write_text("secret\n")
    subprocess.run(["openssl", "x509", "-in", certificate, "-outform", "DER", "-out", der],
                   check=True)
    why = "uvhttp cert: the key '{}' cannot be read: "
    for arguments, message, end in (
            (f"{certificate} -k {key} --passphrase-file /dev/stdin < <(cat {phrase})", "", ""),
            (f"{certificate} -k /dev/stdin --passphrase-file {phrase} < <(cat {key})", "", ""),
            (f"{certificate} -k /dev/stdin < <(cat {certificate})", "", ""),
            (f"/dev/stdin -k {certificate} < <(cat {certificate})", "", ""),
            (f"{certificate} -k {key} --passphrase-file /dev/stdin < <(echo secret2)",
             why.format(key), "; is the pass phrase wrong?\n"),
            (f"{certificate} -k {key} --passphrase-file /dev/null", why.format(key),
             "; is the pass phrase wrong?\n"),
            (f"{certificate} -k /dev/stdin < <(cat {key})", why.format("/dev/stdin"),
             " (for a key with a pass phrase use --passphrase-file)\n"),
            (f"{certificate} -k /dev/stdin --passphrase-file {phrase} < <(echo text)",
             why.format("/dev/stdin"), "it contains no private key in PEM format\n"),
            (f"/dev/stdin < <(cat {key})", "uvhttp cert: no certificate in '/dev/stdin'; the "
             "format must be PEM (BEGIN CERTIFICATE)\n", ""),
            (f"{der} -k /dev/stdin < <(cat {key})", "uvhttp cert: the certificate of "
             f"{der} cannot be read: it is in DER format; ", "")):
        done = subprocess.run(["bash", "-c", f"{built('uvhttp')} cert {arguments}"], text=True,
                              capture_output=True, env=clean_environment(None),
                              timeout=SAFETY_TIMEOUT)
        assert done.returncode == (message != ""), done
        assert done.stderr.startswith(message) and done.stderr.endswith(end), done
        assert "unknown error" not in done.stderr
        assert message or (done.stderr == "" and "key: belongs to" in done.stdout), done


def test_cert_says_that_it_reads_a_hundred_certificates(tmp_path):
    path, one = tmp_path / "many.pem", tls.certificate("a.example").read_text()
    for count, rest in ((100, ""), (101, "uvhttp cert: '{}' has more than 100 certificates; the "
                                         "rest is not checked\n")):
        path.write_text(one * count)
        done = run("uvhttp", "cert", path)
        assert done.stderr == rest.format(path)
        # With 100 it depends on openssl.cnf whether copies of one certificate are in order.
        assert count == 100 or done.returncode == 1
        assert "certificate 100 of 100\n" in done.stdout


def test_cert_checks_chain_order(tmp_path):
    ca = tls.authority("the authority")
    certificate = tls.certificate(ca=ca).with_name("certificate.pem")
    for name, parts, reported in (("right", (certificate, ca),
                                   "in order; the last one is self-signed and need not be sent"),
                                  ("wrong", (ca, certificate),
                                   "NOT IN ORDER: certificate 1 is not issued by certificate 2"),
                                  ("twice", (certificate, certificate),
                                   "NOT IN ORDER: certificate 1 is not issued by certificate 2"),
                                  ("alone", (certificate, ),
                                   "one certificate, without intermediates")):
        path = tmp_path / name
        path.write_text("a comment\n".join(part.read_text() for part in parts))
        done = run("uvhttp", "cert", path)
        assert done.returncode == (
            "NOT" in reported) and done.stdout.endswith(f"\nchain: {reported}\n"), done.stdout
        assert done.stdout.count(f" of {len(parts)}\n") == len(parts)


def test_cert_fails_outside_validity(tmp_path):
    done = run("uvhttp", "cert", expired(tmp_path))
    assert done.returncode == 1 and re.search(r"  valid until:  \S+ \S+ UTC \(EXPIRED\)\n  key",
                                              done.stdout)
    later = shutil.which("openssl")
    config = tmp_path / "ca.conf"
    (tmp_path / "index.txt").write_text("")
    (tmp_path / "new").mkdir()
    config.write_text(
        f"[ca]\ndefault_ca = it\n[it]\ndatabase = {tmp_path}/index.txt\nnew_certs_dir = "
        f"{tmp_path}/new\ndefault_md = sha256\n"
        f"rand_serial = yes\npolicy = any\n[any]\ncommonName = supplied\n")
    ca = tls.authority()
    begin = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=2)
    subprocess.run([
        later, "ca", "-batch", "-config", config, "-cert", ca, "-keyfile",
        ca.with_name("ca.key"), "-in", tmp_path / "expired.csr", "-startdate",
        begin.strftime("%Y%m%d%H%M%SZ"), "-enddate", "20491231235959Z", "-out",
        tmp_path / "later.pem", "-notext"
    ], check=True, capture_output=True)
    done = run("uvhttp", "cert", tmp_path / "later.pem")
    assert done.returncode == 1 and re.search(r"  valid from:   \S+ \S+ UTC \(NOT YET VALID\)\n",
                                              done.stdout)


def test_cert_escapes_control_characters(tmp_path):
    path = tls.certificate("a.example", common_name="a\x1b[2Jb\u00e9")
    done = run("uvhttp", "cert", path)
    assert done.returncode == 0 and "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "arguments, code, message",
    [([], 2, "uvhttp cert: missing FILE\nTry 'uvhttp cert --help'.\n"),
     (["a", "b"], 2, "uvhttp cert: only one FILE is allowed\nTry 'uvhttp cert --help'.\n"),
     (["--what", "a"], 2, "Try 'uvhttp cert --help'.\n"),
     (["a", "--passphrase-file", "b"], 2, "uvhttp cert: --passphrase-file requires --key\n"),
     (["{directory}/none"
       ], 1, "uvhttp cert: '{directory}/none' cannot be read: No such file or directory\n"),
     (["{directory}/text"], 1,
      "uvhttp cert: the certificate of {directory}/text cannot be read: it contains no such PEM "
      "block\n"),
     (["{directory}/half"], 1, "uvhttp cert: certificate 1 in '{directory}/half' cannot be read: "),
     (["{directory}"], 1, "uvhttp cert: "), ])
def test_cert_usage_errors(tmp_path, arguments, code, message):
    (tmp_path / "text").write_text("text\n")
    (tmp_path / "half").write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    done = run("uvhttp", "cert", *[one.format(directory=tmp_path) for one in arguments])
    assert (done.returncode,
            done.stdout) == (code, "") and message.format(directory=tmp_path) in done.stderr


def test_cert_help():
    done = run("uvhttp", "cert", "--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: uvhttp cert [OPTION]... FILE\n")
    assert done.stdout == run("uvhttp", "help", "cert").stdout and max(
        map(len, done.stdout.split("\n"))) <= 80


# docs/https.md


def test_https_page_commands_work(site, tmp_path):
    page = ROOT / "docs/https.md"
    both = tls.certificate()
    shutil.copy(both.with_name("certificate.pem"), tmp_path / "site.pem")
    shutil.copy(both.with_name("key.pem"), tmp_path / "site.key")
    (tmp_path / "site.yaml").write_text(
        pages.code(page, "yaml")[0].replace(":443", "127.0.0.1:0").replace("http: 80", "http: 0"))
    environment = {
        "HOME": str(tmp_path), "XDG_STATE_HOME": "", "no_proxy": "*",
        "PATH": f"{os.path.dirname(built('uvhttp'))}:{os.environ['PATH']}"
    }
    program, done = None, {"uvhttp": 0, "openssl": 0, "curl": 0}
    try:
        for command in pages.indented(page.parent / "https.md"):
            name = command.split()[0]
            if name not in done:
                assert command.startswith("sudo modprobe tls"), command
                continue
            done[name] += 1
            if command.startswith("uvhttp serve ") or " && uvhttp run " in command:
                if program:
                    assert program.stop() == 0
                check, _, serve = command.rpartition(" && ")
                assert not check or run("uvhttp", *check.split()[1:], cwd=tmp_path).returncode == 0
                arguments = re.sub(r":(443|8080)\b", ":0",
                                   re.sub(r" -p 443| --redirect-http 80", "", serve)).split()[1:]
                if "run" not in arguments and ":0" not in " ".join(arguments):
                    arguments += ["-p", "0"]
                program = Program("uvhttp", *arguments, cwd=tmp_path, environment=environment)
                assert "https://" in program.line
                continue
            if "site.pem" in command and name == "uvhttp":
                assert subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True,
                                      env=clean_environment(environment)).returncode == 0
                continue
            ran = subprocess.run(
                re.sub("^curl ", "curl -sS ", command).replace(":8443/", f":{program.port}/"),
                shell=True, cwd=tmp_path, capture_output=True, text=True,
                env=clean_environment(environment), stdin=subprocess.DEVNULL)
            assert ran.returncode == 0, f"{command}\n{ran.stderr}"
            assert name != "curl" or ran.stdout == "the index\n", command
    finally:
        assert program is None or program.stop() == 0
    for name, purpose in (("site", "sslserver"), ("ann", "sslclient")):
        tls.openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", tmp_path / "ca.pem",
                    tmp_path / f"{name}.pem")
    assert done["uvhttp"] >= 5 and done["openssl"] >= 3 and done["curl"] >= 3


def test_https_page_has_every_option_and_key():
    page = (ROOT / "docs/https.md").read_text()
    for option in re.findall(r"--(?:\[no-\])?(tls-[a-z-]+)", run("uvhttp", "help", "serve").stdout):
        assert re.search(rf"--(no-)?{option}\b", page), option
    keys = re.findall(r'\{"(\w+)",\s+\w', (ROOT / "app/config_tls.c").read_text())
    assert len(keys) > 20 and [key for key in keys if f"`{key}`" not in page] == []
