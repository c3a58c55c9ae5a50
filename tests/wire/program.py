"""Runs the built programs (uvhttp, the examples) as processes."""

import os
import re
import select
import signal
import subprocess
import tempfile
import time

import http2_transport
import raw
from wire_server import SAFETY_TIMEOUT, built, eventually, read_output

ROOT_WARNING = re.compile(r"\S+ warning the server runs as root; .*\n")
RELOADED = re.compile(r"reload: (the configuration is applied|nothing is changed)\n")
URL = re.compile(r"(?:https?|wss?)://(\[[0-9a-fA-F:]+\]|[0-9.]+)(?::(\d+))?/")


def clean_environment(extra=None):
    """The environment without UVHTTP_ variables, which would act as options."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UVHTTP_")}
    kept.pop("NO_COLOR", None)
    return {**kept, **(extra or {})}


def run(name, *arguments, environment=None, **extra):
    """Runs a program to its end: subprocess.CompletedProcess with text."""
    return subprocess.run([built(name), *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=clean_environment(environment),
                          timeout=3 * SAFETY_TIMEOUT, **extra)


def with_free_port(start, attempts=10):
    """The result of `start`, which starts a program with one free port on several addresses.
    Another process may have the port that was chosen for the first address on another one."""
    for attempt in range(attempts):
        try:
            return start()
        except AssertionError as error:
            if attempt + 1 == attempts or "is in use" not in str(error):
                raise


def reload_process(pid, log):
    """Sends SIGHUP; returns what log() has about the reload when that is finished."""
    before = len(log())
    os.kill(pid, signal.SIGHUP)
    eventually(lambda: RELOADED.search(log(), before), "the reload is finished")
    return log()[before:]


class Program:
    """A server that runs until it is stopped. The first line of its output contains its URLs.

    `line`: that line. `urls`, `port`: its contents. With `wait=False` the output is not read, and
    the caller knows the port.
    """
    def __init__(self, name, *arguments, environment=None, wait=True, wrapper=(), **extra):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*wrapper, built(name), *map(str, arguments)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors, env=clean_environment(environment),
                                        **extra)
        self.output = ""
        self.line, self.urls, self.port = "", [], None
        if wait:
            self.read_line()

    def read_available(self):
        """Appends the output that is available now to `output`."""
        while select.select([self.process.stdout], [], [], 0)[0]:
            chunk = os.read(self.process.stdout.fileno(), 65536)
            self.output += chunk.decode()
            if not chunk:
                break
        return True

    def read_line(self):
        end = time.monotonic() + 3 * SAFETY_TIMEOUT
        while "\n" not in self.output:
            ready, _, _ = select.select([self.process.stdout], [], [],
                                        max(0, end - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not chunk:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the program did not start: {self.output!r} {self.log()!r}")
            self.output += chunk.decode()
        self.line = self.output.split("\n")[0]
        self.urls = [found.group(0) for found in URL.finditer(self.line)]
        self.port = int(URL.search(self.line).group(2) or 80)
        http2 = os.environ.get("UVHTTP_WIRE_HTTP2") and self.url.startswith("http:")
        raw.set_transport(self.port, translator=http2_transport.Socket if http2 else None)

    @property
    def url(self):
        return self.urls[0]

    def log(self, root_warning=False):
        """What the program has written to standard error; by default the same for all users."""
        text = read_output(self.errors)
        return text if root_warning else ROOT_WARNING.sub("", text)

    def connect(self, **options):
        return raw.Connection(self.port, **options)

    def request(self, target="/", *fields, method="GET", **extra):
        """One request on a new connection."""
        with self.connect() as connection:
            return connection.request(method, target, *fields, **extra)

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """The exit code after the program has ended by itself."""
        code = self.process.wait(timeout=3 * SAFETY_TIMEOUT)
        raw.set_transport(self.port)
        if self.process.stdout:
            self.output += self.process.stdout.read().decode()
            self.process.stdout.close()
            self.process.stdout = None
        return code

    def stop(self, number=signal.SIGTERM):
        """Ends the program with a signal; returns the exit code."""
        if self.process.poll() is None:
            self.send_signal(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the program did not stop: {self.log()}") from None
