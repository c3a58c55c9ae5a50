#!/usr/bin/python3
"""./dev bench router: nanoseconds per lookup of the router alone, and beside httprouter, chi, matchit and find-my-way.

Sets of 10 to 10,000 routes (benchlib/routes.py), 1,024 lookups each, in an order that repeats only with the set; every contender reads the same file, finds
each route once before the clock (CPU time) starts, and is pinned to one core. A contender that cannot be built is named with the reason. Marks that are
missed do not change the exit code, since figures of one machine and hour are no test.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

from benchlib import Refused, environment, peers, routes, run_command, servers, table
from benchlib.contender import SOURCES, build, find, install, newest

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = "uvhttp"
# So many times as long at most for 10,000 routes as for 10; and a peer takes at least so many times as long as we do.
GROWTH_MARK, PEER_MARK = 1.5, 2.0

WHAT_IS_TIMED = """\
A lookup takes a method and a path and gives the route and the values of its parameters, whose lengths are added up. uvhttp: the host is looked at too, and the
middleware is found. httprouter: ServeHTTP with a request that exists already. chi: Match with a context that exists already. matchit: at.
find-my-way: find, which also decodes."""


def go(folder):
    install("peer-go")
    compiler, _ = newest("go", "version")
    program = folder / "router-go"
    build([compiler, "build", "-buildvcs=false", "-o", program, "."], cwd=SOURCES / "router-go",
          env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"})
    return [program], {"GOMAXPROCS": "1"}


def rust(folder):
    install("peer-actix")
    cargo, version = newest("cargo", "--version")
    old = tuple(int(part) for part in version.split(".")[:2]) < peers.SPARSE_SINCE
    options, extra = peers.BEFORE_SPARSE if old else ([], {})
    clean = {key: value for key, value in os.environ.items() if key != "RUSTFLAGS"}
    build([cargo, *options, "build", "--release", "--locked", "--manifest-path", SOURCES / "router-rust/Cargo.toml"],
          env={**clean, **extra, "CARGO_TARGET_DIR": str(folder), "RUSTC": str(pathlib.Path(cargo).with_name("rustc"))})
    return [folder / "release/router-peers"], {}


def node(folder):
    install("peer-node")
    program, _ = newest("node", "--version")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCES / "router-node" / name, folder / name)
    build([find("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    return [program, SOURCES / "router-node/lookup.mjs"], {"ROUTER_PEERS": str(folder)}


# What brings which contenders.
PEERS = {"go": (go, ("httprouter", "chi")), "rust": (rust, ("matchit",)), "node": (node, ("find-my-way",))}


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench router", description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write everything to FILE as JSON")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each is timed in a turn (default: 5)")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="turns, in each of which everybody is timed with every size (default: 3)")
    parser.add_argument("--milliseconds", type=int, default=10, metavar="N", help="of a round, at least (default: 10)")
    parser.add_argument("--routes", type=int, nargs="+", default=routes.SIZES, metavar="N", help="sizes of the sets (default: 10 to 10000)")
    parser.add_argument("--shapes", nargs="+", choices=routes.SHAPES, default=routes.SHAPES, metavar="SHAPE",
                        help="only these: " + ", ".join(f"'{shape}'" for shape in routes.SHAPES))
    parser.add_argument("--no-peers", action="store_true", help="measure uvhttp alone")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    for name, most in (("rounds", 100), ("turns", 100), ("milliseconds", 10000)):
        if not 1 <= getattr(options, name) <= most:
            parser.error(f"--{name} must be from 1 to {most}")
    if not all(1 <= count <= 10000 for count in options.routes):
        parser.error("--routes must be from 1 to 10000")
    return options


def run_pinned(command, extra):
    """Runs a program on one core, the last one, which interrupts meet least; what it wrote as JSON."""
    core = max(os.sched_getaffinity(0))
    done = subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, **extra}, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if done.returncode != 0:
        raise Refused(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def prepare(options):
    """({name: (command, environment)}, {contender: why it is missing}) of the peers."""
    ready, missing = {}, {}
    for name, (builder, contenders) in PEERS.items():
        if options.no_peers:
            continue
        folder = pathlib.Path(options.build_dir).resolve() / "peers" / f"router-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            ready[name] = builder(folder)
        except Refused as error:
            missing.update(dict.fromkeys(contenders, str(error)))
    return ready, missing


def crate_version():
    return re.search(r'name = "matchit"\nversion = "(.*)"', (SOURCES / "router-rust/Cargo.lock").read_text())[1]


def measure_turn(options, program, ready, file, report):
    """{contender: its median} for one set."""
    own = run_pinned([program, file, "--rounds", options.rounds, "--milliseconds", options.milliseconds], {})
    report["versions"][OWN], report["flags"] = own["version"], own["flags"]
    figures = {OWN: statistics.median(own["rounds"])}
    for command, extra in ready.values():
        for one in run_pinned([*command, file, options.rounds, options.milliseconds], extra):
            report["versions"][one["name"]] = one["version"] or crate_version()
            figures[one["name"]] = statistics.median(one["rounds"])
    return figures


def measure_shape(options, program, ready, folder, shape, report):
    """The sets of one shape, which take turns: what the machine does meanwhile meets all of them."""
    sets = []
    for count in options.routes:
        file = pathlib.Path(folder) / f"{count}"
        routes.write(file, shape, count)
        sets.append((file, {"shape": shape, "routes": count, "figures": {}}))
    for _ in range(options.turns):
        for file, one in sets:
            for name, value in measure_turn(options, program, ready, file, report).items():
                one["figures"].setdefault(name, {"turns": []})["turns"].append(value)
    for _, one in sets:
        for figures in one["figures"].values():
            figures["ns"] = statistics.median(figures["turns"])
    return [one for _, one in sets]


def ratio(figures, others):
    """The median of the ratios within each turn."""
    return statistics.median(one / other for one, other in zip(figures["turns"], others["turns"]))


def judge(sets):
    """The marks: growth from the smallest to the largest set of a shape, and each peer in each set."""
    marks = []
    for shape in dict.fromkeys(one["shape"] for one in sets):
        mine = sorted((one for one in sets if one["shape"] == shape), key=lambda one: one["routes"])
        if mine[0]["routes"] == 10 and mine[-1]["routes"] == 10000:
            growth = ratio(mine[-1]["figures"][OWN], mine[0]["figures"][OWN])
            marks.append({"what": f"{shape}: 10,000 routes beside 10, at most", "limit": GROWTH_MARK, "measured": growth,
                          "met": growth <= GROWTH_MARK})
    for name in dict.fromkeys(name for one in sets for name in one["figures"] if name != OWN):
        ratios = [ratio(one["figures"][name], one["figures"][OWN]) for one in sets]
        marks.append({"what": f"{name}: times our time, least of the sets, at least", "limit": PEER_MARK, "measured": min(ratios),
                      "met": min(ratios) >= PEER_MARK})
        marks.append({"what": f"{name}: times our time, geometric mean, at least", "limit": PEER_MARK,
                      "measured": statistics.geometric_mean(ratios), "met": statistics.geometric_mean(ratios) >= PEER_MARK})
    return marks


def print_report(report):
    names = list(report["sets"][0]["figures"])
    print()
    for key, value in report["environment"].items():
        for name, line in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{key}{name and ' ' + name}: {line}")
    for name, version in report["versions"].items():
        print(f"version {name}: {version}")
    for name, reason in report["missing"].items():
        print(f"{name}: not available: {reason}")
    print("\nNanoseconds per lookup, median of the turns, and times our time within a turn\n")
    rows = [["routes", *names]]
    for one in report["sets"]:
        own = one["figures"][OWN]
        cells = [f"{figures['ns']:.1f}" + ("" if name == OWN else f" ({ratio(figures, own):.1f}x)") for name, figures in one["figures"].items()]
        rows.append([f"{one['shape']}, {one['routes']:,}", *cells])
    print(table.layout(rows))
    print("\n" + WHAT_IS_TIMED + "\n")
    for mark in report["marks"]:
        print(f"{mark['what']} {mark['limit']:.1f}: {mark['measured']:.2f}, {'met' if mark['met'] else 'NOT MET'}")


def run(options):
    machine = environment.machine_block()
    program = servers.program(pathlib.Path(options.build_dir) / "dist/bin", "router_lookup")
    ready, missing = prepare(options)
    report = {"environment": environment.run_block("./dev bench router " + shlex.join(sys.argv[1:])), "versions": {}, "missing": missing,
              "settings": {name: getattr(options, name) for name in ("rounds", "turns", "milliseconds")}, "sets": []}
    report["environment"].update(machine)
    with tempfile.TemporaryDirectory(prefix="uvhttp-bench-") as folder:
        for shape in options.shapes:
            report["sets"] += measure_shape(options, program, ready, folder, shape, report)
    report["marks"] = judge(report["sets"])
    print_report(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(run_command("router", run, read_options))
