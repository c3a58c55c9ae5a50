"""Starts and stops the servers to measure, pinned to their cores."""

import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time

from . import Refused

START_SECONDS = 20
STOP_SECONDS = 20
# Bound sockets that reserve a port for a server.
RESERVED_PORTS = []


def free_port():
    """Returns a free port. It stays bound in this process, so that no other process gets it.
    SO_REUSEADDR allows the server to listen on it nevertheless."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    RESERVED_PORTS.append(reserved)
    return reserved.getsockname()[1]


class Server:
    """A server process. The caller must call `stop`.

    `paths`: the path of each kind of work. `files`: the prefix of file names. Without both the path
    is "/". `tls`: the ssl.SSLContext of its clients, for HTTPS.
    """

    paths, files, tls = {}, None, None

    def __init__(self, name, command, cores, directory, port=None, environment=None):
        """Without `port` the server must print "listening on URL" with its port."""
        self.name, self.port, self.directory = name, port, pathlib.Path(directory)
        self.log, self.output = self.directory / f"{name}.log", ""
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if port is None else log, stderr=log,
                env={**os.environ, **(environment or {})},
                preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.pid = self.process.pid
        try:
            if port is None:
                self.read_port()
            else:
                self.wait_for_port()
        except BaseException:
            self.stop()
            raise

    def failed_start(self, what):
        said = self.log.read_text(errors="replace")[-2000:].strip()
        return Refused(f"{self.name} {what}: {said or 'it printed nothing'}")

    def read_port(self):
        deadline = time.monotonic() + START_SECONDS
        descriptor = self.process.stdout.fileno()
        while True:
            ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
            part = os.read(descriptor, 4096) if ready else b""
            if not part:
                what = "ended at its start" if ready else "did not print its port"
                raise self.failed_start(what)
            self.output += part.decode(errors="replace")
            found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)/\n", self.output)
            if found:
                self.port = int(found.group(1))
                return

    def wait_for_port(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise self.failed_start("ended at its start")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise self.failed_start(f"does not listen on port {self.port}")

    def path_of(self, file_name, work):
        if work.kind in self.paths:
            return self.paths[work.kind]
        return "/" if self.files is None else f"{self.files}{file_name}"

    def path(self, work):
        return self.path_of(work.file_name, work)

    def url(self, work):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{self.path(work)}"

    def has_ended(self):
        """True after a crash, or after `stop`."""
        return self.process.poll() is not None

    def stop(self):
        """Stops the server. Returns its remaining output."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if not self.process.stdout or self.process.stdout.closed:
            return ""
        with self.process.stdout as stream:
            return stream.read().decode(errors="replace")


def program(bin_dir, name):
    path = pathlib.Path(bin_dir) / name
    if not os.access(path, os.X_OK):
        raise Refused(f"{path} is missing; build it with: ./dev build release")
    return path


def require_release(name, text):
    if not re.search(r"\bRelease\b", text):
        raise Refused(f"{name} is not a Release build, so its figures would be invalid; "
                      f"it prints: {text.strip()}")


def uvhttp_build(bin_dir):
    """Returns the build that `uvhttp --version` prints. Raises Refused unless it is Release."""
    path = program(bin_dir, "uvhttp")
    text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"^build: (.*)$", text, re.M)
    require_release("uvhttp", found[1] if found else text or "nothing")
    return found[1]
