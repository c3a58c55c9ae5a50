"""./dev bench router: nanoseconds per lookup, compared with matchit.

Sets of 10 to 10,000 routes (routes.py), 1,024 lookups each. Both routers read the same file, look
up each route once before the clock (CPU time) starts, and run on one core. A lookup of uvhttp
matches host, method and path, and returns the route with its parameters and middleware. A lookup of
matchit matches the path and returns the route with its parameters.
"""

import pathlib
import statistics

from . import Refused, command, environment, programs, routes, servers, table
from .contender import build_rust, crate_version, install

OWN = "uvhttp"


def add_options(parser):
    programs.add_timing_options(parser, rounds=5, milliseconds=10)
    parser.add_argument("--turns", type=command.number(1, 100), default=3, metavar="N",
                        help="measurements of all with every set (default: 3)")
    parser.add_argument("--routes", type=command.number(1, 10000), nargs="+", default=routes.SIZES,
                        metavar="N", help="sizes of the sets (default: 10 to 10000)")
    parser.add_argument("--shapes", nargs="+", choices=routes.SHAPES, default=routes.SHAPES,
                        metavar="SHAPE", help="only these: " + ", ".join(routes.SHAPES))


def prepare(options):
    """Returns (matchit's program or None, reason or None)."""
    directory = options.build_dir.resolve() / "peers/router-rust"
    try:
        install("peer-rust")
        build_rust("router-rust", directory)
        return directory / "release/router-peers", None
    except Refused as error:
        return None, str(error)


def measure(options, program, matchit, file, result):
    """Returns {router: median} for one set."""
    own = programs.run([program, file, "--rounds", options.rounds,
                        "--milliseconds", options.milliseconds])
    result["versions"][OWN] = f"{own['version']}, {own['flags']}"
    figures = {OWN: statistics.median(own["rounds"])}
    if matchit:
        rounds = programs.run([matchit, file, options.rounds, options.milliseconds])
        result["versions"]["matchit"] = crate_version("router-rust", "matchit")
        figures["matchit"] = statistics.median(rounds)
    return figures


def measure_shape(options, program, matchit, directory, shape, result):
    """Measures the sets of one shape in turn, so that other load of the machine affects all."""
    sets = []
    for count in options.routes:
        file = pathlib.Path(directory) / str(count)
        routes.write(file, shape, count)
        sets.append((file, {"shape": shape, "routes": count, "figures": {}}))
    for _ in range(options.turns):
        for file, one in sets:
            for name, value in measure(options, program, matchit, file, result).items():
                one["figures"].setdefault(name, []).append(value)
    result["sets"] += [one for _, one in sets]


def print_sets(sets):
    names = list(sets[0]["figures"])
    print("\nNanoseconds per lookup, median of the turns, and ours divided by it within a turn\n")
    rows = [["routes", *names]]
    for one in sets:
        own, cells = one["figures"][OWN], []
        for name, turns in one["figures"].items():
            factor = f" ({programs.ratio(own, turns):.2f})" if name != OWN else ""
            cells.append(f"{statistics.median(turns):.1f}{factor}")
        rows.append([f"{one['shape']}, {one['routes']:,}", *cells])
    print(table.layout(rows))


def run(options):
    program = servers.program(options.bin_dir, "router_lookup")
    described = environment.describe(options, None)
    matchit, missing = (None, None) if options.no_peers else prepare(options)
    result = {"kind": "router", "environment": described, "versions": {}, "missing": missing,
              "sets": []}
    with command.temporary_directory() as directory:
        for shape in options.shapes:
            measure_shape(options, program, matchit, directory, shape, result)
    described["uvhttp"] = result["versions"][OWN]
    environment.show({**described, "version": result["versions"],
                      **({"matchit is missing": missing} if missing else {})})
    print_sets(result["sets"])
    return result
