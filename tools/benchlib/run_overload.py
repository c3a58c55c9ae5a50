"""./dev bench overload: latency and throughput over the offered load, with and without the guard.

The handler computes for about a millisecond. The capacity is what the server without the guard
serves when far more is offered. Then both servers get the same loads in turn, at a constant rate
that does not depend on responses. The server has one core, the generator another.
"""

import json
import statistics

from . import Refused, command, cpu, environment, servers, table

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


def load(options, directory, guard, rate):
    """A server for each run: it would still process requests of the previous one."""
    server = servers.Server("overload_server", [
        options.bin_dir / "overload_server", "--guard", int(guard == "on"), "--work", options.work,
        0], options.server_cores, directory)
    try:
        done = cpu.run([options.bin_dir / "open_load", server.port, "/", "--rate", rate,
                        "--connections", options.connections, "--seconds", options.seconds,
                        "--warm-up", options.warm_up], options.load_cores)
    finally:
        server.stop()
    if done.returncode != 0:
        raise Refused(f"open_load failed: {done.stderr.strip()}")
    entry = json.loads(done.stdout)
    if entry["errors"]:
        raise Refused(f"open_load: {entry['errors']} errors")
    return entry


def run(options):
    described = environment.describe(options, servers.uvhttp_build(options.bin_dir))
    options.server_cores, options.load_cores = cpu.choose_cores()
    far_more = 10 * 1e6 / options.work
    with command.temporary_directory() as directory:
        capacity = statistics.median(
            load(options, directory, "off", far_more)["completed"] / options.seconds
            for _ in range(options.rounds))
        runs = [{"round": number, "load": factor, "guard": guard,
                 **load(options, directory, guard, factor * capacity)}
                for number in range(options.rounds) for factor in options.loads
                for guard in GUARDS]
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
