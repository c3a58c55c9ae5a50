#!/usr/bin/python3
"""./dev bench parser: nanoseconds per message of the parser alone, and beside picohttpparser, httparse and http-parser.

Runs B3-HttpParser, then parser_corpus over bench/messages, pinned to one core (method: docs/performance.md). Refuses builds
other than Release and parsers that answer wrongly with exit code 1; marks that are missed do not change the exit code, since
figures of one machine and hour are no test.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

from benchlib import Refused, environment, peers, run_command, servers, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESSAGES = ROOT / "bench/messages"
PICO = "picohttpparser native"

# Byte by byte beside at once: the message of 71 bytes at most so many times, and heads eight times as long at most so many times as much
# (8 is linear; the rest is what single figures differ by).
MESSAGE_MARK, GROWTH_MARK = 12, 8.8

# Time beside picohttpparser's: at most so many times. Any other message, and SSE4.2 on all of them: 1.0.
MARKS = {"get-189": 0.70, "get-45": 0.60, "browser-726": 0.50, "response-172": 0.70}
MARKED_BACKENDS = {"uvhttp avx512": MARKS, "uvhttp avx2": MARKS, "uvhttp sse42": {}}

WHAT_IS_TIMED = """\
An operation takes a complete message in one call. uvhttp: uvhttp_head_init, the head with its known fields looked up, and the
framing (Host, Content-Length, Transfer-Encoding, Connection, Expect, Upgrade checked; target taken apart). picohttpparser and
httparse: start line and fields only; no field is looked up, no framing. http-parser: start line, fields and framing of the body, by
callbacks; neither Host nor the target's form is checked, and no field can be looked up."""


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench parser", description=__doc__.split("\n")[0])
    names = sorted(path.stem for path in MESSAGES.glob("*.http"))
    parser.add_argument("--json", metavar="FILE", help="also write everything to FILE as JSON")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="how often each is timed (default: 15)")
    parser.add_argument("--starts", type=int, default=5, metavar="N",
                        help="of the program of the comparison, which share the rounds: where the system puts a program's memory makes some "
                             "messages quicker or slower from start to start (default: 5)")
    parser.add_argument("--iterations", type=int, default=100000, metavar="N",
                        help="of B3-HttpParser, per scenario and round (default: 100000)")
    parser.add_argument("--milliseconds", type=int, default=5, metavar="N",
                        help="per parser, message and round of the comparison (default: 5)")
    parser.add_argument("--messages", nargs="+", metavar="NAME", choices=names, default=names,
                        help="only these: " + ", ".join(names))
    parser.add_argument("--only", choices=("b3", "corpus"), help="B3-HttpParser or the comparison alone")
    parser.add_argument("--no-peers", action="store_true", help="compare our own back ends only; needs no Rust")
    parser.add_argument("--instructions", action="store_true",
                        help="also count the instructions of each parser for each message (a few minutes)")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    for name, most in (("rounds", 1000), ("starts", 1000), ("iterations", 10**9), ("milliseconds", 10000)):
        if not 1 <= getattr(options, name) <= most:
            parser.error(f"--{name} must be from 1 to {most}")
    return options


def run_pinned(command, **streams):
    """Runs a program on one core, the last one, which interrupts meet least; raises Refused with what it said."""
    core = max(os.sched_getaffinity(0))
    done = subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL, **streams,
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if done.returncode != 0:
        raise Refused(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {(done.stderr or '').strip()}")
    return done


def cache_value(build_dir, name, otherwise):
    try:
        text = (pathlib.Path(build_dir) / "CMakeCache.txt").read_text()
    except OSError:
        return otherwise
    found = re.search(rf"^{name}(?::\w+)?=(.*)$", text, re.M)
    return found[1] if found else otherwise


def run_b3(options):
    program = servers.program(pathlib.Path(options.build_dir) / "dist/bin", "B3-HttpParser")
    with tempfile.TemporaryDirectory(prefix="uvhttp-bench-") as folder:
        file = pathlib.Path(folder) / "b3.json"
        run_pinned([program, options.iterations, "--rounds", options.rounds, "--json", file], stderr=subprocess.PIPE)
        return json.loads(file.read_text())


def run_corpus(options, libraries):
    """The program's results, with the rounds of all starts."""
    command = [servers.program(pathlib.Path(options.build_dir) / "dist/bin", "parser_corpus"), "--milliseconds", options.milliseconds]
    for label, library in libraries.items():
        command += ["--peers", f"{label}={library}"]
    files = [MESSAGES / f"{name}.http" for name in options.messages]
    whole = None
    for start in range(min(options.starts, options.rounds)):
        rounds = (options.rounds + start) // options.starts if options.starts <= options.rounds else 1
        more = ["--instructions"] if options.instructions and start == 0 else []
        done = run_pinned([*command, "--rounds", rounds, *more, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        corpus = json.loads(done.stdout)
        if whole is None:
            whole = corpus
            continue
        for message, further in zip(whole["messages"], corpus["messages"]):
            for name, figures in message["parsers"].items():
                figures["rounds"] += further["parsers"][name]["rounds"]
    return whole


def add_figures(corpus):
    """Median, spread and the ratio to picohttpparser: the median of the ratios within each round."""
    for message in corpus["messages"]:
        pico = message["parsers"].get(PICO)
        for figures in message["parsers"].values():
            rounds = figures["rounds"]
            figures.update(ns=statistics.median(rounds), ns_low=min(rounds), ns_high=max(rounds))
            if pico is not None:
                figures["ratio"] = statistics.median(one / other for one, other in zip(rounds, pico["rounds"]))


def judge_feeding(b3):
    """The marks of byte by byte feeding."""
    by_name = {feeding["name"]: feeding for feeding in b3["feeding"]}
    measured = [("message of 71 bytes, byte by byte beside at once", MESSAGE_MARK, by_name["message-71"]["ratio"])]
    for kind in ("fields", "field"):
        growth = by_name[f"{kind}-8k"]["bytes_ns"] / by_name[f"{kind}-1k"]["bytes_ns"]
        measured.append((f"byte by byte, {by_name[f'{kind}-8k']['title']} beside 1 KB", GROWTH_MARK, growth))
    return [{"work": work, "limit": limit, "measured": value, "met": value <= limit} for work, limit, value in measured]


def judge(corpus):
    """Each mark for which there are figures."""
    judged = []
    for backend, marks in MARKED_BACKENDS.items():
        for message in corpus["messages"]:
            figures = message["parsers"].get(backend, {})
            if "ratio" in figures:
                limit = marks.get(message["name"], 1.0)
                judged.append({"backend": backend, "message": message["name"], "limit": limit,
                               "measured": figures["ratio"], "met": figures["ratio"] <= limit})
    return judged


def quartile_spread(rounds):
    """Half of what the middle half of the rounds covers, in percent of the median."""
    if len(rounds) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(rounds, n=4)
    return (high - low) / 2 / middle * 100


def short(name):
    return name.replace("uvhttp ", "").replace("picohttpparser", "pico")


def table_of(corpus, names, cell):
    rows = [["", *(short(name) for name in names)]]
    for message in corpus["messages"]:
        rows.append([message["name"], *(cell(message["parsers"][name]) for name in names)])
    return table.layout(rows)


def print_mark(name, mark):
    print(f"  {name}: {mark['measured']:.2f}, at most {mark['limit']:.2f} wanted: {'met' if mark['met'] else 'NOT MET'}")


def print_corpus(corpus, judged):
    names = [parser["name"] for parser in corpus["parsers"]]
    print("\nNanoseconds per message, median and half the middle half of the rounds\n")
    print(table_of(corpus, names, lambda figures: f"{figures['ns']:.1f} ±{quartile_spread(figures['rounds']):.0f}%"))
    if PICO in names:
        others = [name for name in names if name != PICO]
        print(f"\nTime beside {PICO}, ratios within a round\n")
        print(table_of(corpus, others, lambda figures: f"{figures['ratio']:.2f}"))
    if "instructions" in corpus["messages"][0]["parsers"][names[0]]:
        print("\nInstructions per message\n")
        print(table_of(corpus, names, lambda figures: f"{figures['instructions']:,}"))
    print("\n" + WHAT_IS_TIMED)
    for backend in MARKED_BACKENDS:
        mine = [mark for mark in judged if mark["backend"] == backend]
        if mine:
            met = sum(mark["met"] for mark in mine)
            print(f"\n{backend}: {met} of {len(mine)} marks met")
            for mark in mine:
                if mark["limit"] < 1 or not mark["met"]:
                    print_mark(mark["message"], mark)


def run(options):
    report = {"environment": environment.run_block("./dev bench parser " + shlex.join(sys.argv[1:])),
              "settings": {name: getattr(options, name) for name in ("rounds", "starts", "iterations", "milliseconds")}}
    machine = environment.machine_block()
    libraries, built = {}, {}
    if options.only != "b3" and not options.no_peers:
        print("Building the parsers to compare with", file=sys.stderr)
        libraries, built = peers.build(pathlib.Path(options.build_dir) / "peers",
                                       cache_value(options.build_dir, "CMAKE_C_COMPILER", "cc"))
    if options.only != "corpus":
        report["b3"] = run_b3(options)
        report["feeding_marks"] = judge_feeding(report["b3"])
    if options.only != "b3":
        corpus = run_corpus(options, libraries)
        add_figures(corpus)
        report["corpus"] = corpus
        report["marks"] = judge(corpus)
    measured = report.get("corpus") or report["b3"]
    report["environment"].update(uvhttp=measured["build"], flags=measured["flags"], **machine)
    if built:
        report["environment"]["built"] = built
        report["environment"]["versions"] = {
            one["name"]: one["version"] for one in corpus["parsers"] if not one["name"].startswith("uvhttp")}

    print()
    for key, value in report["environment"].items():
        for name, line in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{key}{name and ' ' + name}: {line}")
    if options.only != "b3":
        print_corpus(corpus, report["marks"])
    if options.only != "corpus":
        print("\nFeeding")
        for mark in report["feeding_marks"]:
            print_mark(mark["work"], mark)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(run_command("parser", run, read_options))
