"""One load run by wrk, pinned to its core. The result comes from bench/report.lua as JSON, not from wrk's rounded text."""

import json
import os
import pathlib
import shutil
import subprocess

from . import Refused

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "bench"
ERRORS = {"connect_errors": "failed connects", "read_errors": "read errors", "write_errors": "write errors",
          "status_errors": "answers with an error status", "timeouts": "timeouts"}
# How far the mean of what was answered may be from that of what is asked for, when answers differ in size.
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


def run(url, seconds, connections, pipeline, core, script=None, arguments=(), fields=(), threads=1):
    """Runs the load and returns wrk's result as a dict: requests, duration_us, bytes, the error counts, pNN_us.

    `pipeline` is the number of requests sent at once. `script` (of bench/) and its `arguments` send something else than one GET again and
    again; `fields` are (name, value) of every request. `core` is one or several.
    """
    if script is None:
        script, arguments = ("pipeline.lua", [str(pipeline)]) if pipeline > 1 else ("report.lua", [])
    command = [find(), "-t", str(threads), "-c", str(connections), "-d", f"{seconds}s", "-s", str(SCRIPTS / script)]
    for name, value in fields:
        command += ["-H", f"{name}: {value}"]
    command += [url, "--", *arguments] if arguments else [url]
    cores = {core} if isinstance(core, int) else set(core)
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    for line in done.stdout.split("\n"):
        if line.startswith("REPORT "):
            return json.loads(line[len("REPORT "):])
    raise Refused(f"wrk gave no result: {(done.stderr or done.stdout).strip()}")


def fault(result, answer_size, connections, pipeline, largest=None):
    """Why a run does not count, or None. `answer_size` is what one right answer has in bytes, head and body. With `largest` it is the mean
    of answers up to that size, so that what came is only near the number of answers times it."""
    errors = [f"{result[key]} {text}" for key, text in ERRORS.items() if result[key]]
    if errors:
        return ", ".join(errors)
    if result["requests"] == 0:
        return "no answer at all"
    # Beyond the counted answers there can be those that were under way when the time was up, on each connection.
    expected = result["requests"] * answer_size
    least, most = expected, expected + connections * pipeline * answer_size
    if largest is not None:
        slack = MIX_SLACK * expected + connections * largest
        least, most = expected - slack, expected + slack
    if not least <= result["bytes"] <= most:
        return (f"{result['bytes']} bytes for {result['requests']} answers, "
                f"but a right answer has {answer_size:.0f} bytes{' on average' if largest else ''}")
    return None
