"""Runs wrk. The result is the JSON of bench/report.lua, not the text of wrk."""

import json
import shutil
import subprocess

from . import Refused, cpu
from .command import ROOT

ERRORS = {"connect_errors": "failed connects", "read_errors": "read errors",
          "write_errors": "write errors", "status_errors": "responses with an error status",
          "timeouts": "timeouts"}
# Allowed deviation of the mean size if responses differ in size.
MIX_SLACK = 0.02


def find():
    path = shutil.which("wrk")
    if path is None:
        raise Refused("wrk is missing; install it with: apt-get install wrk")
    return path


def version():
    text = subprocess.run([find(), "-v"], capture_output=True, text=True).stdout
    words = text.split("\n")[0].split()
    return words[1] if len(words) > 1 else "unknown"


def run(url, seconds, connections, cores, script="report.lua", arguments=(), fields=(), threads=1):
    """Returns requests, duration_us, bytes, the ERRORS, p50_us, p90_us, p99_us, max_us.

    `script` is one of bench/; `fields` are (name, value) of every request.
    """
    command = [find(), "-t", threads, "-c", connections, "-d", f"{seconds}s",
               "-s", ROOT / "bench" / script]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    done = cpu.run([*command, url, *(["--", *arguments] if arguments else [])], cores)
    for line in done.stdout.split("\n"):
        if line.startswith("REPORT "):
            return json.loads(line[len("REPORT "):])
    raise Refused(f"wrk gave no result: {(done.stderr or done.stdout).strip()}")


def fault(result, size, connections, pipeline, largest=None):
    """Returns why a run does not count, or None. `size`: of a correct response, head and body. With
    `largest` it is the mean of responses up to that size."""
    errors = [f"{result[key]} {text}" for key, text in ERRORS.items() if result[key]]
    if errors:
        return ", ".join(errors)
    if result["requests"] == 0:
        return "no response at all"
    # In addition to the counted responses there may be some in progress at the end.
    expected = result["requests"] * size
    least, most = expected, expected + connections * pipeline * size
    if largest is not None:
        slack = MIX_SLACK * expected + connections * largest
        least, most = expected - slack, expected + slack
    if not least <= result["bytes"] <= most:
        return (f"{result['bytes']} bytes for {result['requests']} responses, but a correct "
                f"response has {size:.0f} bytes{' on average' if largest else ''}")
    return None
