#!/usr/bin/python3
"""./dev bench ws: WebSocket: CPU time per message, latency, system calls and memory, beside other servers and the least the system can do.

Method: docs/performance.md. A debug build of ours is refused. Every message that comes back is compared with what must come back; a server that answers
wrongly, a run with errors, and a server that cannot be had are listed with the reason and have no figures. Exit code 1 when there is a work that
one of ours has no figures for.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import types

from benchlib import (Refused, cpu, environment, family_websocket, idle, roster, run_command, servers, table, targets, websocket_load, websocket_session,
                      websocket_table, websocket_works)
from benchlib.contender import Place
from benchlib.progress import Progress, duration

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of both, besides those of the connections that count.
SPARE_CONNECTIONS = 2 * websocket_session.WARM_UP_CONNECTIONS


def at_least(least, most=100000):
    def number(text):
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)
    return number


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench ws", description=__doc__.split("\n\n")[0])
    parser.add_argument("--peers", nargs="+", metavar="NAME", choices=["all", *family_websocket.NAMES], default=family_websocket.USUAL,
                        help=f"all, or of these (default: {' '.join(family_websocket.USUAL)}): " + ", ".join(family_websocket.NAMES))
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=websocket_works.NAMES, help="only these: " + ", ".join(websocket_works.NAMES))
    parser.add_argument("--quick", action="store_true", help="fewer works, two rounds of one second, one warm-up for each server and work")
    parser.add_argument("--rounds", type=at_least(1), metavar="N", help="runs of each server in each work (default: 3)")
    parser.add_argument("--seconds", type=at_least(1, 300), metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--warm-up", type=at_least(0, 300), default=1, metavar="S", help="load before each run (default: 1)")
    parser.add_argument("--connections", type=at_least(1), metavar="N", help="subscribers and idle connections (default: 5000)")
    parser.add_argument("--patience", type=at_least(1), default=websocket_load.PATIENCE_MS, metavar="MS",
                        help=f"milliseconds after which a message counts as missing (default: {websocket_load.PATIENCE_MS})")
    parser.add_argument("--json", metavar="FILE", help="write everything to FILE as JSON")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 3)
    options.seconds = options.seconds or (1 if options.quick else 3)
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def choose_works(options):
    names = options.works or (websocket_works.QUICK if options.quick else websocket_works.NAMES)
    return [work for work in websocket_works.ALL if work.name in names]


def check_descriptors(options, chosen):
    """Both sides need one for each connection."""
    allowed = idle.raise_descriptors()
    most = max((options.connections or work.connections) if work.mode != "echo" else work.connections for work in chosen)
    reason = idle.why_not(most + SPARE_CONNECTIONS, allowed)
    if reason is not None:
        raise Refused(reason)


def measure(options, folder):
    """The whole JSON, and the session."""
    bin_folder = pathlib.Path(options.build_dir) / "dist/bin"
    build = servers.uvhttp_build(bin_folder)
    servers.program(bin_folder, "websocket_load")
    chosen, contenders = choose_works(options), family_websocket.choose(options.peers)
    check_descriptors(options, chosen)
    cores, load_core, _ = cpu.share_cores(1)
    place = Place(bin_folder, None, folder, pathlib.Path(options.build_dir) / "peers", cores, 1)
    roster.prepare(contenders, place, say)
    settings = types.SimpleNamespace(rounds=options.rounds, seconds=options.seconds, warm_up=options.warm_up, warm_up_once=options.quick,
                                     load_core=load_core, patience_ms=options.patience, connections=options.connections)
    described = {**environment.run_block("./dev bench ws " + shlex.join(sys.argv[1:])), "uvhttp": build, **environment.machine_block()}
    progress = Progress(0)
    running = websocket_session.Session(settings, contenders, chosen, place, progress)
    progress.total = running.total()
    running.run()
    progress.end()
    result = {
        "kind": "ws", "format": 1, "environment": described, "command": described["command"],
        "options": {name: getattr(options, name) for name in ("rounds", "seconds", "warm_up", "quick", "connections", "patience")},
        "peers": [{"name": one.name, "title": one.title, "version": one.version, "configuration": one.configuration,
                   "available": one.reason is None, "reason": one.reason} for one in contenders],
        "works": [work.as_json() for work in chosen],
        "results": [one.as_json() for one in running.results],
        "targets": websocket_table.marks(chosen, running.results),
    }
    return result, running


def print_results(result, running):
    print("\n".join(f"{key}: {value}" for key, value in result["environment"].items()))
    for peer in result["peers"]:
        what = f"{peer['version']}; {peer['configuration']}" if peer["available"] else f"NOT AVAILABLE: {peer['reason']}"
        print(f"{peer['name']}: {what}")
    for idle_works, text in ((False, "Medians; CPU, user and system in microseconds per message, of a broadcast per delivery, as are all system calls; "
                                     "wire B: bytes of an answer as it was sent, head included; ratios of CPU within a round"),
                             (True, "Medians; what the server's resident memory grew by for each connection")):
        rows = websocket_table.rows(running.results, idle_works)
        if rows is not None:
            print(f"\n{text}\n\n{table.layout(rows)}")
    lines = websocket_table.faults(running.results)
    if lines:
        print("\n" + "\n".join(lines))
    if result["targets"]:
        print("\n" + table.layout(targets.rows(result["targets"])))
    print(f"\nTook {duration(running.progress.elapsed())}")


def run(options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-bench-"))
    try:
        result, running = measure(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_results(result, running)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    failures = running.own_failures()
    if failures:
        raise Refused("no figures for ours: " + "; ".join(failures))


if __name__ == "__main__":
    sys.exit(run_command("ws", run, read_options))
