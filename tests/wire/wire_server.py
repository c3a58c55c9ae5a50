"""Starts wire_server, the server program of the raw-socket tests, and reads its state."""

import json
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
import zlib

import http2_transport
import raw
import tls as tls_tools

# Fails a test that waits for an event that never occurs. No test measures time with it.
SAFETY_TIMEOUT = 20.0
# Far longer than the timeout of a socket: a server that responds only when a timeout expires fails
# its test.
LONG_TIMEOUTS = {
    "header_timeout": 120, "body_timeout": 120, "keep_alive_timeout": 120, "write_timeout": 120,
    "handler_timeout": 120
}


def transport_of_test():
    """The TLS version (None: plain text) of a server that does not choose it, and whether its
    clients speak HTTP/2. UVHTTP_WIRE_TLS: TLS 1.3 or 1.2; UVHTTP_WIRE_HTTP2: HTTP/2 in plain text
    or over TLS 1.3. Which of two depends on the name of the test that starts the server, so that it
    does not depend on the process and the order of the tests."""
    name = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0].split("@")[0]
    choice = zlib.crc32(name.encode(errors="replace")) % 2
    if os.environ.get("UVHTTP_WIRE_HTTP2"):
        return (None, "1.3")[choice], True
    return ("1.3", "1.2")[choice] if os.environ.get("UVHTTP_WIRE_TLS") else None, False


def built(name):
    """The path of a built program. A missing program is a failure, not a skip."""
    build = os.environ.get("UVHTTP_BUILD_DIR")
    assert build, "UVHTTP_BUILD_DIR does not name the build directory"
    path = pathlib.Path(build).resolve() / "dist" / "bin" / name
    assert path.exists(), f"{path} was not built"
    return str(path)


# Sockets that reserve a port for a program.
RESERVED_PORTS = []


def free_port():
    """A port for a program that needs a fixed number. It stays bound here, so that no other process
    gets it. With SO_REUSEADDR the program can listen on it."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    RESERVED_PORTS.append(reserved)
    return reserved.getsockname()[1]


def eventually(condition, what):
    """Waits until condition() is true, and returns its result."""
    end = time.monotonic() + SAFETY_TIMEOUT
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)


def read_output(file):
    """What a program has written to a file so far. The file offset is shared with the program, so
    this reads with pread(): after seek() the program would overwrite its own output."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


class WireServer:
    """One running wire_server. Keyword arguments are fields of uvhttp_config_t."""
    def __init__(self, wrapper=(), descriptors=None, environment=None, tls=None, **limits):
        """`tls`: the TLS version of the clients ("1.2", "1.3"), or the path of a certificate."""
        http2 = False
        if tls is None:
            tls, http2 = transport_of_test()
        self.http2 = http2
        flags = [
            f"--{name.replace('tls_version', 'tls-version')}={value}"
            for name, value in {**LONG_TIMEOUTS, **limits}.items()
        ]
        self.tls = None
        if tls:
            flags.append(f"--tls={tls_tools.default_cert() if tls in ('1.2', '1.3') else tls}")
            self.tls = tls_tools.context(only=tls if tls in ("1.2", "1.3") else None,
                                         alpn=["h2"] if http2 else None)
        self.errors = tempfile.TemporaryFile()

        def limit_descriptors():
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen([*wrapper, built("wire_server"), *flags],
                                        stdout=subprocess.PIPE, stderr=self.errors,
                                        preexec_fn=limit_descriptors,
                                        env={**os.environ, **(environment or {})})
        self.port = self.read_port()
        raw.set_transport(self.port, self.tls, http2_transport.Socket if http2 else None)
        self.settling = None

    def read_port(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 3 * SAFETY_TIMEOUT)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line.startswith("listening on 127.0.0.1:"):
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"wire_server did not start: {line!r} {self.log()}")
        return int(line.rsplit(":", 1)[1])

    def log(self):
        """What the server has written to standard error."""
        return read_output(self.errors)

    def connect(self, **options):
        return raw.Connection(self.port, **options)

    def request(self, method="GET", target="/hello", *fields, **extra):
        """One request on a new connection."""
        with self.connect() as connection:
            return connection.request(method, target, *fields, **extra)

    def stats(self):
        return json.loads(self.request("GET", "/stats").body)

    def settle(self):
        """Returns when the server has read everything sent before. The server has one thread, so
        two round trips on another connection suffice."""
        if self.settling is None:
            self.settling = self.connect()
        for _ in range(2):
            assert self.settling.request().status == 200

    def wait_for_pending(self, key, count=1):
        """Waits until `count` requests of /hold/KEY are pending in their handler."""
        eventually(lambda: self.request("GET", f"/held/{key}").body == b"%d" % count,
                   f"{count} requests pending for {key}")

    def release(self, key):
        return int(self.request("GET", f"/release/{key}").body)

    def wait_for_connections(self, count):
        """Waits until `count` connections are open, not counting those of this call and of
        settle()."""
        others = 1 + (self.settling is not None)
        eventually(lambda: self.stats()["active_connections"] == count + others,
                   f"{count} connections")

    def signal(self, number):
        os.kill(self.pid(), number)

    def pid(self):
        return self.process.pid

    def wait(self):
        """The exit code after the server has ended by itself."""
        try:
            return self.process.wait(timeout=2 * SAFETY_TIMEOUT)
        finally:
            self.process.stdout.close()
            raw.set_transport(self.port)

    def stop(self):
        """Stops the server and checks the exit code. It is 0 only if all heap memory is freed and
        no handle is left on the loop."""
        if self.settling is not None:
            self.settling.close()
        if self.process.poll() is None:
            self.signal(signal.SIGUSR1)
            self.signal(signal.SIGTERM)
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not stop: {self.log()}") from None
        assert code == 0, f"exit code {code}: {self.log()}"
