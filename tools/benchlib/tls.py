"""HTTPS: one certificate for all servers, connections, and the load of handshakes
(bench/tls_load.c).

All are measured with TLS 1.3 and the cipher suite that OpenSSL's clients prefer; a server that
chooses another is refused.
"""

import json
import os
import socket
import ssl
import subprocess

from . import Refused, servers

VERSION, CIPHER = "TLSv1.3", "TLS_AES_256_GCM_SHA384"
DESCRIPTION = f"{VERSION}, {CIPHER}, X25519, ECDSA P-256"


def certificate(folder):
    """A file with an ECDSA key and its certificate for 127.0.0.1, made once for each folder."""
    path = folder / "tls.pem"
    if not path.exists():
        parts = folder / "tls-key.pem", folder / "tls-certificate.pem"
        done = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-days", "30", "-subj", "/CN=127.0.0.1", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", parts[0], "-out", parts[1]],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(f"openssl makes no certificate: {done.stderr.strip()}")
        path.write_text("".join(part.read_text() for part in parts))
    return path


def context(path):
    """Of a client that trusts this certificate and speaks what is measured."""
    made = ssl.create_default_context(cafile=path)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    return made


def connect(server, timeout):
    """A connection as the work of a server wants it, with TLS or without."""
    plain = socket.create_connection(("127.0.0.1", server.port), timeout)
    if server.tls is None:
        return plain
    try:
        connection = server.tls.wrap_socket(plain, server_hostname="127.0.0.1")
    except BaseException:
        plain.close()
        raise
    agreed = connection.version(), connection.cipher()[0]
    if agreed != (VERSION, CIPHER):
        connection.close()
        raise Refused(f"it has agreed on {' and '.join(agreed)} instead of {VERSION} and {CIPHER}")
    return connection


def run(bin_folder, server, work, seconds, connections, cores):
    """One load of handshakes: as wrk's result, with the counts of full and of resumed ones."""
    command = [servers.program(bin_folder, "tls_load"), server.port, server.path(work),
               "--connections", connections, "--seconds", seconds,
               *(["--resume"] if work.handshake == "resumed" else [])]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if done.returncode != 0 or not done.stdout.startswith("{"):
        raise Refused(f"tls_load gave no result: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)


def fault(result, work, connections):
    """Whether handshakes were the right ones: of resumed ones the first of a connection is full."""
    if work.handshake == "full" and result["resumed"]:
        return f"{result['resumed']} of {result['requests']} handshakes were resumed"
    if work.handshake == "resumed" and result["full"] > connections:
        return f"{result['full']} of {result['requests']} handshakes were full ones"
    return None
