"""Latency at a fixed rate, by vegeta: requests leave when they are due, whether or not earlier ones have been answered, so that a server that
stalls shows in every request that was due meanwhile. (A generator that waits for its answers asks less of a server that stalls, and
measures the stall once: coordinated omission.)

vegeta comes from the Go module proxy with the versions of bench/peers/vegeta/go.sum and is built into the build folder.
"""

import csv
import os
import pathlib
import re
import subprocess

from . import verify
from .contender import SOURCES, build, install, newest

PERCENTILES = [50, 75, 90, 95, 99, 99.9]
SOURCE = SOURCES / "vegeta"
PACKAGE = "github.com/tsenart/vegeta/v12"
TIMEOUT_SECONDS = 10
# A generator that could not keep the rate has measured itself.
LEAST_RATE = 0.98


class Generator:
    """The built program."""

    def __init__(self, build_folder):
        install("peer-go")
        compiler, go = newest("go", "version")
        folder = pathlib.Path(build_folder).resolve() / "vegeta"
        folder.mkdir(parents=True, exist_ok=True)
        self.program = folder / "vegeta"
        build([compiler, "build", "-buildvcs=false", "-mod=readonly", "-o", self.program, PACKAGE], cwd=SOURCE,
              env={**os.environ, "GOTOOLCHAIN": "local"})
        version = re.search(rf"{re.escape(PACKAGE)} v(\S+)", (SOURCE / "go.mod").read_text())[1]
        self.version = f"vegeta {version} (go {go})"

    def attack(self, server, work, rate, seconds, core, folder):
        """[(status, nanoseconds, bytes, error, when it was sent)] of each request."""
        target = [f"{work.method} {server.url(work)}"] + [f"{name}: {value}" for name, value in work.fields]
        targets, results = folder / "vegeta.targets", folder / "vegeta.results"
        targets.write_text("\n".join(target) + "\n")
        command = [str(self.program), "attack", "-format=http", f"-rate={rate}/1s", f"-duration={seconds}s", "-http2=false",
                   f"-timeout={TIMEOUT_SECONDS}s", "-redirects=-1", f"-targets={targets}",
                   f"-output={results}"]
        build(command, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        encoded = subprocess.run([str(self.program), "encode", "-to=csv", str(results)], capture_output=True, text=True, check=True).stdout
        results.unlink()
        return [(int(row[1]), int(row[2]), int(row[4]), row[5], int(row[0])) for row in csv.reader(encoded.splitlines())]


def percentile(ordered, percent):
    """The smallest value that so many percent of all do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100).__trunc__() - 1)]


def fault_of(answers, work, rate):
    errors = sorted({error or f"status {status}" for status, _, _, error, _ in answers if error or status != 200})
    if errors:
        bad = sum(1 for status, _, _, error, _ in answers if error or status != 200)
        return f"{bad} of {len(answers)} requests failed: {errors[0]}"
    wrong = next((size for _, _, size, _, _ in answers if size != work.size), None)
    if wrong is not None:
        return f"a body has {wrong} bytes instead of {work.size}"
    first, last = min(answer[4] for answer in answers), max(answer[4] for answer in answers)
    reached = (len(answers) - 1) / max(1e-9, (last - first) / 1e9)
    if reached < LEAST_RATE * rate:
        return f"only {reached:,.0f} requests per second could be sent instead of {rate:,}"
    return None


def measure(generator, server, work, rate, seconds, core, folder):
    """An entry of "latency" in the JSON, without the names of peer and work."""
    verify.check_work(server, work)
    generator.attack(server, work, rate, 1, core, folder)
    answers = generator.attack(server, work, rate, seconds, core, folder)
    fault = fault_of(answers, work, rate) if answers else "no answer at all"
    if fault is None:
        verify.check_work(server, work)
    ordered = sorted(answer[1] for answer in answers)
    return {"rate": rate, "generator": generator.version, "counted": fault is None, "fault": fault, "requests": len(answers),
            "percentiles": [[percent, percentile(ordered, percent) / 1e6] for percent in PERCENTILES] if fault is None else [],
            "max_ms": ordered[-1] / 1e6 if fault is None else None}
