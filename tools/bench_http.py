#!/usr/bin/python3
"""./dev bench http: uvhttp beside other servers: CPU time per request, requests per second, latency and memory.

Method: docs/performance.md. A debug build of ours is refused. A server that answers wrongly, a run with errors or timeouts, and a server that
cannot be had are listed with the reason and have no figures. Exit code 1 when there is a work that one of ours has no figures for.
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

from benchlib import Refused, cpu, environment, idle, latency, report, roster, run_command, servers, session, table, targets, tls, works, wrk
from benchlib.contender import Place
from benchlib.progress import Progress, duration

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK_NAMES = [work.name for work in works.HTTP]
QUICK_WORKS = ["memory", "json", "file-13", "file-10k", "file-100k", "file-10m", "encoded", "mix", "post-1k", "pipelined", "connect",
               "connections-50", "connections-500", "tls-memory", "tls-100k", "tls-handshake", "tls-resumed", "tls-idle"]


def at_least(least):
    def number(text):
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)
    return number


def read_options(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench http", description=__doc__.split("\n")[0])
    parser.add_argument("--peers", nargs="+", metavar="NAME", choices=["all", *roster.NAMES], default=roster.USUAL,
                        help="all, or of these (default: " + " ".join(roster.USUAL) + "): " + ", ".join(roster.NAMES))
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=WORK_NAMES, help="only these: " + ", ".join(WORK_NAMES))
    parser.add_argument("--quick", action="store_true", help="fewer works, two short rounds, one warm-up for each server and work")
    parser.add_argument("--rounds", type=at_least(1), metavar="N", help="runs of each server in each work (default: 3)")
    parser.add_argument("--seconds", type=at_least(1), metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--warm-up", type=at_least(0), default=1, metavar="S", help="load before each run (default: 1)")
    parser.add_argument("--workers", type=at_least(1), default=1, metavar="N",
                        help="threads or processes, and cores, of each server that can have several (default: 1)")
    parser.add_argument("--connections", nargs="+", type=at_least(1), default=[50], metavar="N",
                        help="of works that have no number of their own (default: 50)")
    parser.add_argument("--rate", type=at_least(0), default=4000, metavar="N",
                        help="requests per second when latency is measured; 0 for not at all (default: 4000)")
    parser.add_argument("--json", metavar="FILE", help="write everything to FILE as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a report as one HTML page")
    parser.add_argument("--markdown", metavar="FILE", help="write a report as Markdown")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (2 if options.quick else 3)
    options.seconds = options.seconds or (1 if options.quick else 3)
    return options


def choose_works(options):
    names = options.works or (QUICK_WORKS if options.quick else WORK_NAMES)
    return [work for work in works.HTTP if work.name in names]


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_generator(options, chosen):
    """vegeta, or why there is none: (generator or None, reason or None)."""
    if options.rate == 0 or not any(work.name in session.LATENCY_WORKS for work in chosen):
        return None, None
    try:
        say("Preparing vegeta")
        return latency.Generator(pathlib.Path(options.build_dir) / "peers"), None
    except Refused as error:
        say(f"Latency at a fixed rate is not measured: {error}")
        return None, str(error)


def describe(options, build, generator, reason, alone, chosen):
    block = {**environment.run_block("./dev bench http " + shlex.join(options.arguments)), "uvhttp": build, "wrk": wrk.version(),
             "latency": generator.version if generator else (f"not measured: {reason}" if reason else None), **environment.machine_block()}
    if any(work.tls for work in chosen):
        block["https"] = tls.DESCRIPTION
    if not alone:
        block["note"] = "the load shares a core with the servers, so requests per second and latency are lower than they would be"
    return {key: value for key, value in block.items() if value is not None}


def measure(options, folder):
    """The whole JSON, and what is missing of ours."""
    bin_folder = pathlib.Path(options.build_dir) / "dist/bin"
    build = servers.uvhttp_build(bin_folder)
    wrk.find()
    idle.raise_descriptors()
    chosen, contenders = choose_works(options), roster.choose(options.peers)
    cores, load_core, alone = cpu.share_cores(options.workers)
    site = folder / "site"
    site.mkdir()
    place = Place(bin_folder, site, folder, pathlib.Path(options.build_dir) / "peers", cores, options.workers)
    roster.prepare(contenders, place, say)
    generator, reason = make_generator(options, chosen)
    works.write_files(site, chosen)
    settings = types.SimpleNamespace(rounds=options.rounds, seconds=options.seconds, warm_up=options.warm_up, warm_up_once=options.quick,
                                     connections=options.connections, load_core=load_core, rate=options.rate,
                                     latency_seconds=2 if options.quick else max(5, options.seconds))
    described = describe(options, build, generator, reason, alone, chosen)
    progress = Progress(0)
    running = session.Session(settings, contenders, chosen, place, generator, progress)
    progress.total = running.total()
    running.run()
    progress.end()
    result = {
        "kind": "http", "format": 1, "environment": described, "command": described["command"],
        "options": {**{name: getattr(options, name) for name in ("rounds", "seconds", "warm_up", "workers", "quick", "connections", "rate")},
                    "warm_up_once": options.quick},
        "peers": [{"name": one.name, "title": one.title, "version": one.version, "configuration": one.configuration,
                   "available": one.reason is None, "reason": one.reason} for one in contenders],
        "works": [{"name": work.name, "title": work.title, "group": work.group, "pipeline": work.pipeline, "body_bytes": work.size}
                  for work in chosen if not work.idle],
        "results": [one.as_json() for one in running.results],
        "latency": running.latency, "curves": running.curves(),
    }
    result["targets"] = [mark for mark in targets.judge(result) if mark["value"] is not None]
    return result, running


def print_results(result, running, seconds):
    print("\n".join(f"{key}: {value}" for key, value in result["environment"].items()))
    for peer in result["peers"]:
        what = f"{peer['version']}; {peer['configuration']}" if peer["available"] else f"NOT AVAILABLE: {peer['reason']}"
        print(f"{peer['name']}: {what}")
    print("\nMedians; CPU, user and system in microseconds per request; ratios of CPU within a round\n")
    print(table.http_results(running.results, targets.Results(result)))
    lines = table.http_faults(running.results)
    if lines:
        print("\n" + "\n".join(lines))
    if running.latency:
        print(f"\nLatency in milliseconds at {result['options']['rate']:,} requests per second, {running.generator.version}\n")
        print(table.latencies(running.latency, {work.name: work.title for work in running.chosen}))
    if running.idle:
        print("\nMemory of the server's own for each idle connection, and half of what the kernel's objects grew by\n")
        print(table.idle_memory(running.idle_curves(), {one.name: one.title for one in running.contenders}))
    if result["targets"]:
        print("\n" + table.layout(targets.rows(result["targets"])))
    print(f"\nTook {duration(seconds)}")


def write_files(options, result):
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    if options.html:
        report.write_html(result, options.html)
    if options.markdown:
        report.write_markdown(result, options.markdown)


def run(options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-bench-"))
    try:
        result, running = measure(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_results(result, running, running.progress.elapsed())
    write_files(options, result)
    failures = running.own_failures()
    if failures:
        raise Refused("no figures for ours: " + "; ".join(failures))


def read_own_options():
    options = read_options(sys.argv[1:])
    options.arguments = sys.argv[1:]
    return options


if __name__ == "__main__":
    sys.exit(run_command("http", run, read_own_options))
