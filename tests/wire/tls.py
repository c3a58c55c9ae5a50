"""Certificates for tests, made once per run with the `openssl` command, and clients of the ssl module."""

import atexit
import functools
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile

KEYS = {"ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "rsa": ["-newkey", "rsa:2048"],
        "weak": ["-newkey", "rsa:1024"]}


@functools.lru_cache(None)
def directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-tls-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def openssl(*arguments, **how):
    run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, **how)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def authority(name="test authority", into=None):
    """A new authority: its certificate's path; the key lies beside it."""
    where = pathlib.Path(into or tempfile.mkdtemp(dir=directory()))
    openssl("req", "-x509", *KEYS["ec"], "-nodes", "-days", "30", "-subj", f"/CN={name}", "-keyout", where / "ca.key",
            "-out", where / "ca.pem", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    return where / "ca.pem"


def certificate(*names, kind="ec", days=30, ca=None, common_name=None, path=None, password=None, usage=None):
    """A certificate with its key in one file, signed by itself or by an authority. Names: DNS names or addresses."""
    where = pathlib.Path(tempfile.mkdtemp(dir=directory()))
    names = names or ("localhost", "127.0.0.1")
    san = ",".join(("IP:" if ":" in name or name.replace(".", "").isdigit() else "DNS:") + name for name in names)
    extensions = ["-addext", f"subjectAltName={san}", "-addext", "basicConstraints=critical,CA:FALSE"]
    if usage:
        extensions += ["-addext", f"extendedKeyUsage={usage}"]
    subject = f"/CN={common_name or names[0]}"
    key, made = where / "key.pem", where / "certificate.pem"
    secret = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    if ca is None:
        openssl("req", "-x509", *KEYS[kind], *secret, "-days", days, "-subj", subject, "-keyout", key, "-out", made,
                *extensions)
    else:
        ca = pathlib.Path(ca)
        openssl("req", "-new", *KEYS[kind], *secret, "-subj", subject, "-keyout", key, "-out", where / "request.pem",
                *extensions)
        openssl("x509", "-req", "-in", where / "request.pem", "-CA", ca, "-CAkey", ca.with_name("ca.key"),
                "-days", days, "-copy_extensions", "copyall", "-out", made,
                "-set_serial", str(int.from_bytes(os.urandom(8), "big")))
    path = pathlib.Path(path or where / "both.pem")
    path.write_bytes(made.read_bytes() + key.read_bytes())
    return path


@functools.lru_cache(None)
def usual(kind="ec"):
    """The certificate of tests for which it does not matter."""
    return certificate(kind=kind)


def version(name):
    return {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[name]


def context(ca=None, only=None, client=None, alpn=None):
    """A client's context: trusts `ca` alone, or everybody; `only` one version; `client`: its certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # an end without close_notify is to be seen
    if ca is None:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    else:
        made.load_verify_locations(ca)
    if only is not None:
        made.minimum_version = made.maximum_version = version(only)
    if client is not None:
        made.load_cert_chain(client)
    if alpn is not None:
        made.set_alpn_protocols(alpn)
    return made


class Socket:
    """A socket with TLS that behaves like a plain one, and lets a test decide over records and ends: shutdown sends
    close_notify and the end, `plain` is the socket underneath."""

    def __init__(self, plain, made, name="localhost", session=None):
        self.plain = plain
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = made.wrap_bio(self.incoming, self.outgoing, server_hostname=name, session=session)
        self.truncated = False
        self.run(self.tls.do_handshake)

    def flush(self):
        if self.outgoing.pending:
            self.plain.sendall(self.outgoing.read())

    def run(self, call, *arguments):
        """A call that may have to wait for the other end. What it says first (an alert) is sent in any case."""
        while True:
            try:
                return call(*arguments)
            except ssl.SSLWantReadError:
                self.flush()
                data = self.plain.recv(65536)
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()
            finally:
                self.flush()

    def sendall(self, data):
        for start in range(0, len(data), 16384):
            self.tls.write(data[start:start + 16384])
            if start % (64 * 16384) == 0:
                self.flush()
        self.flush()

    send = sendall

    def recv(self, size):
        """b"" at the end of the stream; without close_notify before it, it is `truncated`."""
        try:
            return self.run(self.tls.read, size)
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            if not isinstance(error, ssl.SSLEOFError) and error.reason != "UNEXPECTED_EOF_WHILE_READING":
                raise
            self.truncated = True
            return b""

    def shutdown(self, how):
        assert how != 0, "only the sending side can be ended"
        try:
            self.tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLSyscallError):
            pass
        self.flush()
        self.plain.shutdown(how)

    def close(self):
        self.plain.close()

    def __getattr__(self, name):
        """Options and times are the plain socket's, what was agreed on is the session's."""
        return getattr(self.tls if hasattr(self.tls, name) and not hasattr(self.plain, name) else self.plain, name)
