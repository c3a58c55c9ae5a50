"""./dev bench overload: latency and throughput over the offered load, with and without the guard.

The handler computes for about a millisecond. The capacity is what the server without the guard
serves when far more is offered. Then both servers get the same loads in turn, at a constant rate
that does not depend on responses. The server has one core, the generator another.
"""

import json
import os
import re
import statistics
import subprocess

from . import Refused, command, environment, servers, table

LOADS = [0.3, 0.5, 0.7, 0.9, 1.1, 1.5, 2, 3]
GUARDS = {"off": "without", "on": "with"}


def add_options(parser):
    command.add_run_options(parser, rounds=3, length=4)
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS, metavar="X",
                        help="offered loads, as multiples of the capacity")
    parser.add_argument("--connections", type=command.number(1), default=1000, metavar="N",
                        help="connections of the generator (default: 1000)")
    parser.add_argument("--work", type=command.number(1), default=1000, metavar="N",
                        help="thousand steps of the handler (default: 1000, about 1 ms)")


class Server:
    def __init__(self, options, guard, core):
        words = [options.bin_dir / "overload_server", "--guard", "1" if guard == "on" else "0",
                 "--work", str(options.work), "0"]
        self.process = subprocess.Popen(["taskset", "-c", str(core), *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        for line in self.process.stdout:
            if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)/", line):
                self.port = found[1]
                return
        raise Refused("overload_server does not start")

    def stop(self):
        self.process.terminate()
        self.process.communicate()


def load(options, guard, cores, rate):
    """A server for each run: it would still process requests of the previous one."""
    server = Server(options, guard, cores[0])
    try:
        done = subprocess.run(["taskset", "-c", str(cores[-1]), options.bin_dir / "open_load",
                               server.port, "/", "--rate", str(rate), "--connections",
                               str(options.connections), "--seconds", str(options.seconds),
                               "--warm-up", str(options.warm_up)], capture_output=True, text=True)
    finally:
        server.stop()
    if done.returncode != 0:
        raise Refused(f"{done.args}: {done.stderr.strip()}")
    entry = json.loads(done.stdout)
    if entry["errors"]:
        raise Refused(f"open_load: {entry['errors']} errors")
    return entry


def run(options):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise Refused("server and generator need a core each")
    described = environment.describe(options, servers.uvhttp_build(options.bin_dir))
    far_more = 10 * 1e6 / options.work
    capacity = statistics.median(
        load(options, "off", cores, far_more)["completed"] / options.seconds
        for _ in range(options.rounds))
    runs = [{"round": number, "load": factor, "guard": guard,
             **load(options, guard, cores, factor * capacity)}
            for number in range(options.rounds) for factor in options.loads for guard in GUARDS]
    environment.show(described)
    print(f"capacity: {capacity:.0f} requests/s")
    print(table.layout([["load", *(f"{name} {text}" for text in GUARDS.values()
                                   for name in ("served/s", "503", "p50 ms", "p99 ms"))],
                        *(row(options, runs, factor) for factor in options.loads)]))
    return {"environment": described, "capacity": capacity, "runs": runs}


def row(options, runs, factor):
    def median(guard, value):
        return statistics.median(
            value(one) for one in runs if one["load"] == factor and one["guard"] == guard)

    cells = [f"{factor:g}"]
    for guard in GUARDS:
        cells += [f"{median(guard, lambda one: one['completed']) / options.seconds:.0f}",
                  f"{median(guard, lambda one: one['shed'] / one['due']):.0%}",
                  f"{median(guard, lambda one: one['p50_us']) / 1000:.1f}",
                  f"{median(guard, lambda one: one['p99_us']) / 1000:.1f}"]
    return cells
