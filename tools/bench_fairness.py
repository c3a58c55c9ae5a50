#!/usr/bin/python3
"""./dev bench fairness: what large downloads do to small requests.

Many connections ask for a small file without a pause, first alone, then while some clients download a sparse file of 10 GB as fast as they can. Shown are the
99th percentile and the median of the small requests' latency, how many there were, and what the downloads got; each for ours and, as a
yardstick, for nginx. A round measures each server alone and with downloads; the ratio is that of a round, and what stands in the end is the median. The server
has one core; load and downloads share another, where the load goes first (nice), so that little of what the downloads do to latencies is theirs and not the server's. Figures of
one machine and hour are no test: a mark that is missed does not change the exit code.
"""

import argparse
import json
import os
import pathlib
import shlex
import statistics
import sys
import tempfile

from benchlib import Refused, cpu, environment, run_command, servers, table, verify, works, wrk
from benchlib.downloads import Downloads

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_RATIO = 2.0
SMALL = works.Work("file-1k", "1 KB file", 1024)
BIG_NAME = "large.bin"
# Where holes of a file take neither memory nor time; elsewhere the system has to fill its cache with them first.
MEMORY = "/dev/shm"
# Before and behind the run of the load, so that the downloads are under way all the time.
MARGIN_SECONDS = 0.5


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench fairness", description=__doc__.split("\n")[0])
    parser.add_argument("--servers", nargs="+", choices=["uvhttp", "nginx"], default=["uvhttp", "nginx"], help="default: both")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each server, alone and with downloads (default: 5)")
    parser.add_argument("--seconds", type=int, default=3, metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--connections", type=int, default=50, metavar="N", help="that ask for the small file (default: 50)")
    parser.add_argument("--downloads", type=int, default=4, metavar="N", help="clients of the large file (default: 4)")
    parser.add_argument("--size", type=int, default=10, metavar="GB", help="of the large file (default: 10)")
    parser.add_argument("--json", metavar="FILE", help="write all runs to FILE as JSON")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections, options.downloads, options.size) < 1:
        parser.error("all numbers must be at least 1")
    return options


def load(server, options, core, seconds):
    """One run of wrk with right answers only."""
    answer_size, _ = verify.check_work(server, SMALL)
    result = wrk.run(server.url(SMALL), seconds, options.connections, 1, core)
    fault = wrk.fault(result, answer_size, options.connections, 1)
    if fault is not None:
        raise Refused(f"{server.name}: {fault}")
    return {"p50_us": result["p50_us"], "p99_us": result["p99_us"], "requests_per_second": result["requests"] * 1e6 / result["duration_us"]}


def measure(server, options, core):
    """(alone, with downloads)"""
    load(server, options, core, 1)
    alone = load(server, options, core, options.seconds)
    downloads = Downloads(server, f"/{BIG_NAME}", options.size * 10**9, options.downloads, options.seconds + 2 * MARGIN_SECONDS + 1, core)
    try:
        load(server, options, core, 1)
        beside = load(server, options, core, options.seconds)
        beside["downloads_bytes_per_second"] = downloads.result()
    finally:
        downloads.stop()
    return {"alone": alone, "beside": beside, "ratio": beside["p99_us"] / alone["p99_us"]}


def start(name, options, site, core, folder):
    return servers.STARTERS[name](pathlib.Path(options.build_dir) / "dist/bin", SMALL, site, core, folder)


def rows(runs):
    lines = [["server", "", "p50 ms", "p99 ms", "requests/s", "downloads MB/s", "least of them", "p99 beside alone"]]
    for name, rounds in runs.items():
        for state in ("alone", "beside"):
            middle = {key: statistics.median(one[state][key] for one in rounds) for key in ("p50_us", "p99_us", "requests_per_second")}
            rates = [one[state].get("downloads_bytes_per_second", []) for one in rounds]
            total = statistics.median(map(sum, rates)) / 1e6 if rates[0] else None
            least = statistics.median(map(min, rates)) / 1e6 if rates[0] else None
            ratios = [one["ratio"] for one in rounds]
            lines.append([name if state == "alone" else "", "alone" if state == "alone" else "with downloads", f"{middle['p50_us'] / 1000:.2f}",
                          f"{middle['p99_us'] / 1000:.2f}", f"{middle['requests_per_second']:,.0f}", "-" if total is None else f"{total:,.0f}",
                          "-" if least is None else f"{least:,.0f}",
                          "" if state == "alone" else f"{statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})"])
    return lines


def run(options):
    build = servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    server_core, load_core = cpu.choose_cores()
    block = environment.describe(build, options.servers, "./dev bench fairness " + shlex.join(sys.argv[1:]))
    runs = {name: [] for name in options.servers}
    with tempfile.TemporaryDirectory(prefix="uvhttp-bench-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name:
        folder = pathlib.Path(name)
        site = folder / "site"
        site.mkdir()
        SMALL.write_files(site)
        with open(site / BIG_NAME, "wb") as file:
            file.truncate(options.size * 10**9)
        running = []
        try:
            for server in options.servers:
                running.append(start(server, options, site, server_core, folder))
            for number in range(options.rounds):
                for server in running:
                    one = measure(server, options, load_core)
                    runs[server.name].append(one)
                    print(f"round {number + 1}, {server.name}: p99 {one['alone']['p99_us'] / 1000:.2f} ms alone, "
                          f"{one['beside']['p99_us'] / 1000:.2f} ms with downloads", file=sys.stderr, flush=True)
        finally:
            for server in running:
                server.stop()
    print("\n".join(f"{key}: {value}" for key, value in block.items() if value is not None) + "\n")
    print(table.layout(rows(runs)))
    if "uvhttp" in runs:
        ratio = statistics.median(one["ratio"] for one in runs["uvhttp"])
        print(f"\nuvhttp with downloads beside alone: p99 {ratio:.2f} x (mark {MOST_RATIO:.1f}: {'met' if ratio <= MOST_RATIO else 'NOT MET'})")
    if options.json:
        text = json.dumps({"kind": "fairness", "format": 1, "environment": block, "runs": runs}, indent=1)
        pathlib.Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(run_command("fairness", run, read_options))
