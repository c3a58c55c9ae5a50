"""One run of a WebSocket work with bench/websocket_load.c, which checks every received byte, and
ends after a wrong response to the first message of a connection.

Warm-up and run use the same connections, so opening them is not measured."""

import json
import os
import select
import subprocess
import time

from . import Refused, cpu, idle, servers

OPEN_SECONDS, STOP_SECONDS = 120, 10
# Time after which a message counts as missing.
PATIENCE_MS = 5000
ERRORS = {"wrong": "wrong responses", "missing": "missing responses",
          "closed": "connections closed by the server", "protocol": "protocol errors",
          "uncompressed": "responses that were not compressed"}


class Load:
    """The load generator, connected to `path` at `port`. A context manager."""

    def __init__(self, bin_dir, port, path, work, cores, connections, patience_ms=PATIENCE_MS):
        self.patience_ms, self.received = patience_ms, b""
        command = [servers.program(bin_dir, "websocket_load"), port, path, work.mode,
                   connections, work.size, patience_ms,
                   *(["deflate"] if work.kind == "deflate" else [])]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cores))
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
        """Reads the next line of JSON."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.received:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise Refused(f"the load generator printed nothing for {seconds:.0f} s")
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                said = self.process.stderr.read().decode(errors="replace").strip()
                raise Refused(said or "the load generator ended")
            self.received += part
        line, _, self.received = self.received.partition(b"\n")
        return json.loads(line)

    def send_command(self, line, seconds):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Refused(f"the load generator has ended: {error}") from error
        return self.read(seconds)

    def run(self, seconds):
        """Returns messages, received (bytes), duration_us, the ERRORS, the last fault, p50_us,
        ..."""
        return self.send_command(f"run {seconds}", seconds + self.patience_ms / 1000 + 60)

    def count_open(self):
        return self.send_command("open", 60)["open"]

    def close(self):
        # The process ends with its input.
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()


def entry_of(result):
    errors = [f"{result[key]} {text}" for key, text in ERRORS.items() if result[key]]
    fault = "no response at all" if result["messages"] == 0 else None
    if errors:
        fault = ", ".join(errors) + (f" ({result['fault']})" if result["fault"] else "")
    return {"counted": fault is None, "fault": fault, "messages": result["messages"],
            "errors": {name: result[name] for name in ERRORS}}


def measure(server, work, connections, options):
    """Warms up and runs. Returns an entry of the run, without the warm-up: {"counted", "fault"},
    and the figures if it counts."""
    def load(count=connections):
        return Load(options.bin_dir, server.port, server.paths[work.kind], work,
                    options.load_cores, count, options.patience)

    if work.idle:
        return measure_idle(server, work, load, connections)
    with load() as running:
        if options.warm_up:
            warmed = entry_of(running.run(options.warm_up))
            if warmed["fault"]:
                return warmed
        before = cpu.read(server.pid)
        result = running.run(options.seconds)
        spent = cpu.read(server.pid) - before
        entry = entry_of(result)
        if entry["fault"]:
            return entry
        memory = cpu.resident_kb(server.pid)
    messages = result["messages"]
    entry.update(spent.per_request(messages), rps=messages / (result["duration_us"] / 1e6),
                 rss_kb=memory, wire_bytes=result["received"] / messages)
    entry.update({f"{name}_ms": result[f"{name}_us"] / 1000
                  for name in ("p50", "p90", "p99", "max")})
    return entry


def measure_idle(server, work, load, connections):
    """Measures the memory of the server for each connection that has had one message."""
    with load(idle.WARM_UP) as first:
        before = idle.Memory(server.pid)
        with load() as others:
            after = idle.Memory(server.pid)
            closed = connections + idle.WARM_UP - others.count_open() - first.count_open()
            return after.growth(before, connections, closed)
