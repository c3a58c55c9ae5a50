#!/usr/bin/python3
"""./dev bench bodies: what sending a body costs from memory, by sendfile from a sealed memfd, and by sendfile from a file in the system's cache.

For the question whether what lies in memory only, such as variants of files that are compressed there, should be kept in memfds. The server is the
floor, so nothing but sending is measured; CPU time per request and its ratio to memory within a round, as in `./dev bench quick`.
"""

import argparse
import os
import pathlib
import shlex
import statistics
import sys
import tempfile

from benchlib import Refused, cpu, environment, run_command, servers, table, verify, works, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAYS = ["memory", "memfd", "file"]


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench bodies", description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512, 1024], metavar="KIB", help="default: 16 to 1,024")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each way with each size (default: 5)")
    parser.add_argument("--seconds", type=int, default=1, metavar="S", help="length of a run (default: 1)")
    parser.add_argument("--connections", type=int, default=50, metavar="N", help="default: 50")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections, *options.sizes) < 1:
        parser.error("all numbers must be at least 1")
    return options


def start(way, work, options, folder, core):
    argument = {"memory": ["--body", work.size], "memfd": ["--memfd", work.size], "file": ["--file", folder / work.file_name]}[way]
    return servers.Server(way, "", [servers.program(pathlib.Path(options.build_dir) / "dist/bin", "floor"), *argument, 0], core, folder)


def measure(server, work, options, core):
    """CPU time per request in microseconds."""
    answer_size, _ = verify.check_work(server, work)
    before = cpu.read(server.pid)
    result = wrk.run(server.url(work), options.seconds, options.connections, 1, core)
    spent = cpu.read(server.pid) - before
    fault = wrk.fault(result, answer_size, options.connections, 1)
    if fault is not None:
        raise Refused(f"{work.size} bytes, {server.name}: {fault}")
    return spent.per_request(result["bytes"] / answer_size)[0]


def measure_size(kib, options, folder, cores):
    """{way: [microseconds, one a round]}"""
    work = works.Work(f"{kib} KiB", f"{kib} KiB", kib * 1024)
    work.write_files(folder)
    running, found = [], {way: [] for way in WAYS}
    try:
        for way in WAYS:
            running.append(start(way, work, options, folder, cores[0]))
        for number in range(-1, options.rounds):
            for server in running:
                spent = measure(server, work, options, cores[1])
                if number >= 0:  # the first one warms up
                    found[server.name].append(spent)
    finally:
        for server in running:
            server.stop()
    return found


def run(options):
    build = servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    cores = cpu.choose_cores()
    block = environment.describe(build, [], "./dev bench bodies " + shlex.join(sys.argv[1:]))
    print("\n".join(f"{key}: {value}" for key, value in block.items() if value is not None) + "\n", flush=True)
    lines = [["size", *(f"{way} us" for way in WAYS), *(f"{way} beside memory" for way in WAYS[1:])]]
    with tempfile.TemporaryDirectory(prefix="uvhttp-bench-") as folder:
        for kib in options.sizes:
            found = measure_size(kib, options, pathlib.Path(folder), cores)
            ratios = {way: [one / base for one, base in zip(found[way], found["memory"])] for way in WAYS[1:]}
            lines.append([f"{kib:,} KiB", *(f"{statistics.median(found[way]):.1f}" for way in WAYS),
                          *(f"{statistics.median(each):.2f} x ({min(each):.2f} to {max(each):.2f})" for each in ratios.values())])
    print(table.layout(lines))


if __name__ == "__main__":
    sys.exit(run_command("bodies", run, read_options))
