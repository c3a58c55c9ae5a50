#!/usr/bin/python3
"""./dev bench quick: CPU time per request of uvhttp beside nginx and the floor, in a few minutes.

The server runs on one core, wrk on another; the figure is the server's CPU time divided by the requests it answered (method:
docs/performance.md). Refuses debug builds and wrong answers with exit code 1; targets that are missed do not change the
exit code, since figures of one machine and hour are no test.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

from benchlib import cpu, environment, rounds, run_command, servers, table, works, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent

# CPU time of uvhttp beside another server's: at most so many times.
TARGETS = [("memory", "floor", 1.15), ("file-13", "nginx", 0.80), ("file-10k", "nginx", 0.85),
           ("file-100k", "nginx", 0.92), ("pipelined", "nginx", 1 / 6)]


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench quick", description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write everything to FILE as JSON")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each server (default: 3)")
    parser.add_argument("--seconds", type=int, default=3, metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--warm-up", type=int, default=1, metavar="S", help="load before each run (default: 1)")
    parser.add_argument("--connections", type=int, default=50, metavar="N",
                        help="of the load; 64 when pipelined (default: 50)")
    parser.add_argument("--works", nargs="+", metavar="WORK", choices=[work.name for work in works.QUICK],
                        help="only these: " + ", ".join(work.name for work in works.QUICK))
    parser.add_argument("--servers", nargs="+", metavar="SERVER", choices=list(servers.STARTERS),
                        help="only these: " + ", ".join(servers.STARTERS))
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    for name in ("rounds", "seconds", "warm_up", "connections"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def show_progress(total):
    done = 0

    def progress(work, number, server, run):
        nonlocal done
        done += 1
        figure = f"thrown away: {run.fault}" if run.fault else f"{run.figures['cpu_us']:.2f} us"
        print(f"[{done}/{total}] {work.title}, round {number + 1}, {server.name}: {figure}", file=sys.stderr, flush=True)

    return progress


def measure(options, chosen_works, names, folder):
    """[(work, {name: runs})]"""
    bin_folder = pathlib.Path(options.build_dir) / "dist/bin"
    server_core, options.load_core = cpu.choose_cores()
    site = folder / "site"
    site.mkdir()
    works.write_files(site, chosen_works)
    progress = show_progress(len(chosen_works) * len(names) * options.rounds)
    measured = []
    for work in chosen_works:
        running = []
        try:
            for name in names:
                running.append(servers.STARTERS[name](bin_folder, work, site, server_core, folder))
            measured.append((work, rounds.measure_work(work, running, options, progress)))
        finally:
            for server in running:
                server.stop()
    return measured


def judge(measured):
    """Each target for which there are figures, with what was measured."""
    by_name = {work.name: (work, runs) for work, runs in measured}
    judged = []
    for name, beside, limit in TARGETS:
        work, runs = by_name.get(name, (None, {}))
        value = rounds.ratio(runs["uvhttp"], runs[beside]) if "uvhttp" in runs and beside in runs else None
        if value is not None:
            judged.append({"work": name, "title": work.title, "beside": beside, "limit": limit, "measured": value,
                           "met": value <= limit})
    return judged


def as_json(options, described, measured, judged):
    keys = ("cpu_us", "user_us", "system_us", "requests_per_second", "p99_us")
    return {
        "environment": described,
        "settings": {name: getattr(options, name) for name in ("rounds", "seconds", "warm_up", "connections")},
        "works": [{"name": work.name, "title": work.title, "pipeline": work.pipeline,
                   "connections": work.connections or options.connections,
                   "servers": {name: {"median": {key: rounds.median(one, key) for key in keys},
                                      "runs": [run.as_json() for run in one]} for name, one in runs.items()}}
                  for work, runs in measured],
        "targets": judged,
    }


def run(options):
    chosen_works = [work for work in works.QUICK if not options.works or work.name in options.works]
    names = [name for name in servers.STARTERS if not options.servers or name in options.servers]
    build = servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-bench-"))
    try:
        described = environment.describe(build, names, "./dev bench quick " + shlex.join(sys.argv[1:]))
        measured = measure(options, chosen_works, names, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    judged = judge(measured)
    print("\n" + "\n".join(f"{key}: {value}" for key, value in described.items() if value is not None))
    print("\nMedians; CPU, user and system in microseconds per request; ratios of CPU within a round\n")
    print(table.results(measured))
    for line in table.faults(measured):
        print(line)
    if judged:
        print("\n" + table.targets(judged))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(as_json(options, described, measured, judged), indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(run_command("quick", run, read_options))
