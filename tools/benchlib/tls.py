"""HTTPS: one certificate for all servers, connections, and the load generator for handshakes
(bench/tls_load.c).

All servers are measured with TLS 1.3 and the cipher suite that OpenSSL's clients prefer. A server
that selects another one is refused.
"""

import json
import socket
import ssl
import subprocess

from . import Refused, cpu, servers

VERSION, CIPHER = "TLSv1.3", "TLS_AES_256_GCM_SHA384"
DESCRIPTION = f"{VERSION}, {CIPHER}, X25519, ECDSA P-256"


def certificate(directory):
    """Returns a file with an ECDSA key and its certificate for 127.0.0.1, one for each
    directory."""
    path = directory / "tls.pem"
    if not path.exists():
        parts = directory / "tls-key.pem", directory / "tls-certificate.pem"
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
    """Returns the context of a client that trusts this certificate and requires TLS 1.3."""
    made = ssl.create_default_context(cafile=path)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    return made


def connect(server, timeout):
    """Connects to a server, with TLS if the server has it."""
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
        raise Refused(f"it negotiated {' and '.join(agreed)} instead of {VERSION} and {CIPHER}")
    return connection


def run(bin_dir, server, work, seconds, connections, cores):
    """Runs tls_load. Returns a result like wrk's, with the counts of full and resumed
    handshakes."""
    command = [servers.program(bin_dir, "tls_load"), server.port, server.path(work),
               "--connections", connections, "--seconds", seconds,
               *(["--resume"] if work.handshake == "resumed" else [])]
    done = cpu.run(command, cores)
    if done.returncode != 0 or not done.stdout.startswith("{"):
        raise Refused(f"tls_load gave no result: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)


def fault(result, work, connections):
    """Returns why the kind of handshakes is wrong, or None. With resumption the first handshake of
    each slot is full."""
    if work.handshake == "full" and result["resumed"]:
        return f"{result['resumed']} of {result['requests']} handshakes were resumed"
    if work.handshake == "resumed" and result["full"] > connections:
        return f"{result['full']} of {result['requests']} handshakes were full ones"
    return None
