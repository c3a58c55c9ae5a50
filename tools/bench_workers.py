#!/usr/bin/python3
"""./dev bench workers: what several workers cost beside one, and how evenly they share connections.

Servers and load may use every core, and the load has a thread for each worker, so that both servers have more to do than they can: a server that
waits in between finds fewer events in a turn of its loop, which costs more for each and says nothing about workers. The servers take
turns within a round, and the ratio is that of a round. With --one-core both are held on one core and the load on another, where changing
between threads costs as well. Figures of one machine and hour are no test: marks that are missed do not change the exit code.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import sys
import tempfile

from benchlib import Refused, cpu, environment, run_command, servers, targets, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_RATIO, MOST_UNEVEN = targets.MOST_OF_WORKERS, 0.20


class Load:
    """So many connections in all, or for each worker."""

    def __init__(self, text):
        self.each = text.endswith("each")
        self.count = int(text.removesuffix("each"))

    def __str__(self):
        return f"{self.count} connections" + (" for each worker" if self.each else "")

    def of(self, workers):
        return self.count * workers if self.each else self.count


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench workers", description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="beside one (default: 2)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each server (default: 5)")
    parser.add_argument("--seconds", type=int, default=3, metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--connections", type=Load, nargs="+", default=[Load("50"), Load("50each"), Load("1000")], metavar="N[each]",
                        help="of the load, one after the other, in all or for each worker (default: 50 50each 1000)")
    parser.add_argument("--one-core", action="store_true", help="hold the servers on one core")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as JSON")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    if min(options.workers - 1, options.rounds, options.seconds, *(load.count for load in options.connections)) < 1:
        parser.error("--workers must be at least 2, the others at least 1")
    return options


def measure(options, workers, connections, folder):
    """(CPU in microseconds per request, requests per second, [connections of each worker])"""
    server_core, load_core = cpu.choose_cores()
    cores, threads = ([server_core], 1) if options.one_core else (os.sched_getaffinity(0), options.workers)
    load_cores = [load_core] if options.one_core else cores
    program = pathlib.Path(options.build_dir) / "dist/bin/benchmark_rps"
    server = servers.Server(f"workers-{workers}", "", [program, "--workers", workers, 0], cores, folder)
    try:
        url = f"http://127.0.0.1:{server.port}/"
        wrk.run(url, 1, connections, 1, load_cores, threads=threads)
        before = cpu.read(server.pid)
        result = wrk.run(url, options.seconds, connections, 1, load_cores, threads=threads)
        spent = cpu.read(server.pid) - before
        server.process.send_signal(signal.SIGTERM)
        output = server.process.stdout.read().decode()
    finally:
        server.stop()
    fault = [name for name in wrk.ERRORS if result[name]]
    if fault or result["requests"] == 0:
        raise Refused(f"the load had {fault or 'no answer'}")
    shares = [int(count) for count in re.findall(r"^worker \d+: (\d+) connections", output, re.M)]
    return spent.per_request(result["requests"])[0], result["requests"] * 1e6 / result["duration_us"], shares


def uneven(shares):
    even = sum(shares) / len(shares)
    return max(abs(share - even) for share in shares) / even


def run(options):
    servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    results = []
    with tempfile.TemporaryDirectory(prefix="uvhttp-bench-") as folder:
        for load in options.connections:
            ratios, worst = [], 0.0
            for number in range(options.rounds):
                order = (1, options.workers) if number % 2 == 0 else (options.workers, 1)
                figures = {workers: measure(options, workers, load.of(workers), folder) for workers in order}
                one, several = figures[1], figures[options.workers]
                ratios.append(several[0] / one[0])
                worst = max(worst, uneven(several[2]))
                print(f"round {number + 1}, {load}: 1 worker {one[0]:.2f} us, {options.workers} workers "
                      f"{several[0]:.2f} us, ratio {ratios[-1]:.3f}; connections {several[2]}", flush=True)
            ratio = statistics.median(ratios)
            print(f"{load}: CPU per request {ratio:.3f} x (mark {MOST_RATIO}: "
                  f"{'met' if ratio <= MOST_RATIO else 'missed'}); furthest from even {worst:.1%} "
                  f"(mark {MOST_UNEVEN:.0%}: {'met' if worst <= MOST_UNEVEN else 'missed'})", flush=True)
            results.append({"load": str(load), "workers": options.workers, "ratio": ratio, "ratios": ratios, "uneven": worst})
    if options.json:
        text = json.dumps({"kind": "workers", "format": 1, "environment": environment.machine_block(), "results": results}, indent=1)
        pathlib.Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(run_command("workers", run, read_options))
