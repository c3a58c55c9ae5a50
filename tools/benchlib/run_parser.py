"""./dev bench parser: nanoseconds per message, compared with picohttpparser.

An operation parses a complete message in one call. uvhttp parses the head, identifies known fields,
and determines the framing. picohttpparser parses start line and fields only.
"""

import re
import statistics

from . import command, contender, environment, programs, servers, table

MESSAGES = command.ROOT / "bench/messages"
PICO = "picohttpparser"
# Of the C compiler and rustc.
FLAGS = {"CFLAGS": "-O3 -march=native", "RUSTFLAGS": "-C target-cpu=native"}


def add_options(parser):
    names = sorted(path.stem for path in MESSAGES.glob("*.http"))
    programs.add_timing_options(parser, rounds=15, milliseconds=5)
    parser.add_argument("--starts", type=command.number(1, 1000), default=5, metavar="N",
                        help="starts of the program, which share the rounds, because some figures "
                             "vary between starts (default: 5)")
    parser.add_argument("--messages", nargs="+", metavar="NAME", choices=names, default=names,
                        help="only these: " + ", ".join(names))


def build_peer(options):
    """Returns (shared library, version)."""
    contender.install("peer-rust")
    target = options.build_dir.resolve() / "peers/parser"
    made = contender.build_rust("parser", target, **FLAGS)
    crate = contender.crate_version("parser", "picohttpparser-sys")
    return (target / "release/libparser_peers.so",
            f"crate picohttpparser-sys {crate}, {made}, {' '.join(FLAGS.values())}")


def measure(options, library):
    """Runs the program. Returns its results with the rounds of all starts."""
    words = [servers.program(options.bin_dir, "parser_corpus"),
             "--milliseconds", options.milliseconds,
             *(["--peer", f"{PICO}={library}"] if library else [])]
    files = [MESSAGES / f"{name}.http" for name in options.messages]
    starts, whole = min(options.starts, options.rounds), None
    for start in range(starts):
        rounds = (options.rounds + start) // starts
        corpus = programs.run([*words, "--rounds", rounds, *files])
        whole = whole or {**corpus, "messages": []}
        for number, message in enumerate(corpus["messages"]):
            if start == 0:
                whole["messages"].append(message)
                continue
            for name, figures in message["parsers"].items():
                whole["messages"][number]["parsers"][name]["rounds"] += figures["rounds"]
    return whole


def add_figures(messages):
    """Adds median, spread, and the ratio to picohttpparser within each round."""
    for message in messages:
        reference = message["parsers"].get(PICO)
        for figures in message["parsers"].values():
            rounds = figures["rounds"]
            figures.update(ns=statistics.median(rounds), low=min(rounds), high=max(rounds))
            if reference:
                figures["ratio"] = programs.ratio(rounds, reference["rounds"])


def print_table(title, messages, cell):
    names = list(messages[0]["parsers"])
    rows = [["", *(re.sub("^uvhttp ", "", name) for name in names)]]
    rows += [[message["name"], *(cell(message["parsers"][name]) for name in names)]
             for message in messages]
    print(f"\n{title}\n\n{table.layout(rows)}")


def run(options):
    described = environment.describe(options, None)
    library, version = (None, "not measured") if options.no_peers else build_peer(options)
    corpus = measure(options, library)
    messages = corpus["messages"]
    add_figures(messages)
    described.update(uvhttp=f"{corpus['build']}, {corpus['flags']}", picohttpparser=version)
    environment.show(described)
    print_table("Nanoseconds per message, median and spread", messages, lambda one: (
        f"{one['ns']:.1f} ({one['low']:.0f}-{one['high']:.0f})"))
    if PICO in messages[0]["parsers"]:
        print_table(f"Ratio to {PICO}, within a round", messages,
                    lambda one: f"{one['ratio']:.2f}")
    return {"kind": "parser", "environment": described, "corpus": corpus}
