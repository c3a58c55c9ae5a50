"""Certificates for tests, created once per run with the `openssl` command, and clients that use the
ssl module and OpenSSL."""

import atexit
import ctypes
import ctypes.util
import functools
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile

KEYS = {
    "ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    "rsa": ["-newkey", "rsa:2048"], "weak": ["-newkey", "rsa:1024"]
}


@functools.lru_cache(None)
def directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-tls-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def openssl(*arguments, **options):
    run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, **options)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def authority(name="test authority", into=None):
    """Creates a certificate authority. Returns the path of its certificate; the key is in the same
    directory."""
    where = pathlib.Path(into or tempfile.mkdtemp(dir=directory()))
    openssl("req", "-x509", *KEYS["ec"], "-nodes", "-days", "30", "-subj", f"/CN={name}", "-keyout",
            where / "ca.key", "-out", where / "ca.pem", "-addext",
            "keyUsage=critical,keyCertSign,cRLSign")
    return where / "ca.pem"


def certificate(*names, kind="ec", days=30, ca=None, common_name=None, path=None, password=None,
                usage=None):
    """A certificate with its key in one file, self-signed or signed by an authority. Names: DNS
    names or addresses."""
    where = pathlib.Path(tempfile.mkdtemp(dir=directory()))
    names = names or ("localhost", "127.0.0.1")
    san = ",".join(("IP:" if ":" in name or name.replace(".", "").isdigit() else "DNS:") + name
                   for name in names)
    extensions = [
        "-addext", f"subjectAltName={san}", "-addext", "basicConstraints=critical,CA:FALSE"
    ]
    if usage:
        extensions += ["-addext", f"extendedKeyUsage={usage}"]
    subject = f"/CN={common_name or names[0]}"
    key, made = where / "key.pem", where / "certificate.pem"
    secret = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    if ca is None:
        openssl("req", "-x509", *KEYS[kind], *secret, "-days", days, "-subj", subject, "-keyout",
                key, "-out", made, *extensions)
    else:
        ca = pathlib.Path(ca)
        openssl("req", "-new", *KEYS[kind], *secret, "-subj", subject, "-keyout", key, "-out",
                where / "request.pem", *extensions)
        openssl("x509", "-req", "-in", where / "request.pem", "-CA", ca, "-CAkey",
                ca.with_name("ca.key"), "-days", days, "-copy_extensions", "copyall", "-out", made,
                "-set_serial", str(int.from_bytes(os.urandom(8), "big")))
    path = pathlib.Path(path or where / "both.pem")
    path.write_bytes(made.read_bytes() + key.read_bytes())
    path.chmod(0o600)
    return path


def revocation_list(ca, *revoked):
    """The path of the revocation list of the authority `ca`, with these certificates."""
    directory = ca.parent
    (directory / "index.txt").write_text("")
    (directory / "crlnumber").write_text("01\n")
    (directory / "ca.conf").write_text(
        f"[ca]\ndefault_ca = it\n[it]\ndatabase = {directory}/index.txt\ncrlnumber = "
        f"{directory}/crlnumber\n"
        "default_md = sha256\ndefault_crl_days = 30\n")
    common = ["ca", "-config", directory / "ca.conf", "-cert", ca, "-keyfile", directory / "ca.key"]
    for one in revoked:
        openssl(*common, "-revoke", one)
    openssl(*common, "-gencrl", "-out", directory / "crl.pem")
    return directory / "crl.pem"


def ocsp_response(ca, certificate, path):
    """Writes that the certificate of the authority `ca` is valid."""
    serial = openssl("x509", "-in", certificate, "-noout", "-serial").decode().strip().split("=")[1]
    index = ca.with_name("ocsp.txt")
    index.write_text(f"V\t491231235959Z\t\t{serial}\tunknown\t/CN=localhost\n")
    openssl("ocsp", "-index", index, "-rsigner", ca, "-rkey", ca.with_name("ca.key"), "-CA", ca,
            "-issuer", ca, "-cert", certificate, "-ndays", "7", "-respout", path, "-noverify")


@functools.lru_cache(None)
def default_cert(kind="ec"):
    """The certificate of tests that need no special one."""
    return certificate(kind=kind)


def version(name):
    return {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[name]


def context(ca=None, only=None, client=None, alpn=None):
    """A client's context: trusts `ca` only, or every certificate; `only`: one version; `client`:
    its certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # report an end without close_notify
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
    """A socket with TLS that behaves like a plain one and controls records and ends: shutdown sends
    close_notify and closes the sending side. `plain` is the socket below."""
    def __init__(self, plain, made, name="localhost", session=None):
        self.plain = plain
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = made.wrap_bio(self.incoming, self.outgoing, server_hostname=name,
                                 session=session)
        self.truncated = False
        self.run(self.tls.do_handshake)

    def flush(self):
        if self.outgoing.pending:
            self.plain.sendall(self.outgoing.read())

    def run(self, call, *arguments):
        """A call that may have to wait for the peer. Its output (for example an alert) is sent in
        any case."""
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
        """b"" at the end of the stream. An end without close_notify sets `truncated`."""
        try:
            return self.run(self.tls.read, size)
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            if not isinstance(error,
                              ssl.SSLEOFError) and error.reason != "UNEXPECTED_EOF_WHILE_READING":
                raise
            self.truncated = True
            return b""

    def shutdown(self, how):
        assert how != 0, "only the sending side can be shut down"
        try:
            self.tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLSyscallError):
            pass
        except ssl.SSLError as error:  # received before, and not read yet
            if error.reason != "APPLICATION_DATA_AFTER_CLOSE_NOTIFY":
                raise
        self.flush()
        self.plain.shutdown(how)

    def close(self):
        self.plain.close()

    def __getattr__(self, name):
        """Options and timeouts are those of the plain socket, negotiated parameters are those of
        the session."""
        return getattr(
            self.tls if hasattr(self.tls, name) and not hasattr(self.plain, name) else self.plain,
            name)


@functools.lru_cache(None)
def library():
    """OpenSSL functions that the ssl module does not have."""
    crypto, found = (ctypes.CDLL(ctypes.util.find_library(name)) for name in ("crypto", "ssl"))
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    for where, name, result, *arguments in [(found, "TLS_client_method", pointer),
                                            (found, "SSL_CTX_new", pointer, pointer),
                                            (found, "SSL_CTX_free", None, pointer),
                                            (found, "SSL_new", pointer, pointer),
                                            (found, "SSL_free", None, pointer),
                                            (found, "SSL_set_bio", None, pointer, pointer, pointer),
                                            (found, "SSL_set_connect_state", None, pointer),
                                            (found, "SSL_do_handshake", number, pointer),
                                            (found, "SSL_key_update", number, pointer, number),
                                            (found, "SSL_write", number, pointer, text, number),
                                            (found, "SSL_read", number, pointer, text, number),
                                            (crypto, "BIO_s_mem", pointer),
                                            (crypto, "BIO_new", pointer, pointer),
                                            (crypto, "BIO_read", number, pointer, text, number),
                                            (crypto, "BIO_write", number, pointer, text, number),
                                            (crypto, "BIO_ctrl_pending", ctypes.c_size_t, pointer)]:
        function = getattr(where, name)
        function.restype, function.argtypes = result, arguments
        setattr(found, name, function)
    return found


class LibraryClient:
    """A connection of OpenSSL's own client. It verifies nothing."""
    def __init__(self, port):
        self.lib = lib = library()
        self.plain = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.context = lib.SSL_CTX_new(lib.TLS_client_method())
        self.ssl = lib.SSL_new(self.context)
        self.incoming, self.outgoing = lib.BIO_new(lib.BIO_s_mem()), lib.BIO_new(lib.BIO_s_mem())
        lib.SSL_set_bio(self.ssl, self.incoming, self.outgoing)
        lib.SSL_set_connect_state(self.ssl)
        while lib.SSL_do_handshake(self.ssl) != 1:
            self.plain.sendall(self.encrypted())
            self.take()
        self.plain.sendall(self.encrypted())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.plain.close()
        self.lib.SSL_free(self.ssl)
        self.lib.SSL_CTX_free(self.context)

    def encrypted(self):
        """The output of OpenSSL that is not sent yet."""
        size = self.lib.BIO_ctrl_pending(self.outgoing)
        buffer = ctypes.create_string_buffer(size + 1)
        self.lib.BIO_read(self.outgoing, buffer, size)
        return buffer.raw[:size]

    def take(self):
        data = self.plain.recv(65536)
        assert data, "the connection has ended"
        self.lib.BIO_write(self.incoming, data, len(data))

    def key_updates(self, count):
        """`count` KeyUpdate messages, one record each, that do not request an update by the
        server."""
        for _ in range(count):
            assert self.lib.SSL_key_update(self.ssl, 0) == 1 and self.lib.SSL_do_handshake(
                self.ssl) == 1
        return self.encrypted()

    def encrypt(self, data):
        assert self.lib.SSL_write(self.ssl, data, len(data)) == len(data)
        return self.encrypted()

    def request(self, data, end):
        self.plain.sendall(self.encrypt(data))
        return self.receive(end)

    def receive(self, end):
        """Everything up to `end`."""
        data, buffer = b"", ctypes.create_string_buffer(16384)
        while not data.endswith(end):
            count = self.lib.SSL_read(self.ssl, buffer, len(buffer))
            if count > 0:
                data += buffer.raw[:count]
            else:
                self.take()
        return data
