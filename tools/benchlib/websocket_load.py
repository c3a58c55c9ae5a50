"""One load of bench/websocket_load.c on open connections: opened once, run several times, so that what opening costs is not measured.

The generator compares every byte that comes back. It ends with its input, and by itself when nobody asks for ten minutes.
"""

import json
import os
import select
import subprocess
import time

from . import Refused, servers

OPEN_SECONDS, STOP_SECONDS = 120, 10
# How long a message may take until it counts as missing.
PATIENCE_MS = 5000
ERRORS = {"wrong": "wrong answers", "missing": "missing answers", "closed": "connections closed by the server", "protocol": "frames that are no protocol",
          "uncompressed": "answers that were not compressed"}


class Load:
    """`path` of the server at `port`; `connections` instead of those of the work. Ended by `with`."""

    def __init__(self, bin_folder, port, path, work, core, connections=None, patience_ms=PATIENCE_MS):
        self.patience_ms, self.received = patience_ms, b""
        command = [servers.program(bin_folder, "websocket_load"), "127.0.0.1", port, path, "--mode", work.mode, "--size", work.size,
                   "--connections", connections or work.connections, "--patience", patience_ms, "--commands", *(["--deflate"] if work.deflate else [])]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        try:
            self.read(OPEN_SECONDS)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self, seconds):
        """The next line, as what its JSON says."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.received:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise Refused(f"the load generator said nothing for {seconds:.0f} s")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise Refused(self.process.stderr.read().decode(errors="replace").strip() or "the load generator ended")
            self.received += piece
        line, _, self.received = self.received.partition(b"\n")
        return json.loads(line)

    def ask(self, line, seconds):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Refused(f"the load generator has ended: {error}") from error
        return self.read(seconds)

    def run(self, seconds):
        """A run: messages, published, received (bytes), duration_us, the ERRORS, the last fault, p50_us, p90_us, p99_us, max_us."""
        return self.ask(f"run {seconds}", seconds + self.patience_ms / 1000 + 60)

    def count_open(self):
        return self.ask("open", 60)["open"]

    def close(self):
        # Its input has ended then.
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()


def fault(result):
    """Why a run does not count, or None."""
    errors = [f"{result[key]} {text}" for key, text in ERRORS.items() if result[key]]
    if errors:
        return ", ".join(errors) + (f" ({result['fault']})" if result["fault"] else "")
    return "no answer at all" if result["messages"] == 0 else None
