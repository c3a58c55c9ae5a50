#!/usr/bin/python3
"""./dev bench scale: how the cost of a request grows with connections, routes, header fields and body size, and what an idle
connection costs in memory.

Method: docs/performance.md. Refuses debug builds and wrong answers with exit code 1. What this machine cannot measure, 10,000 connections
for example, is left out and said, and does not change the exit code.
"""

import argparse
import json
import os
import pathlib
import shlex
import sys

from benchlib import environment, run_command, scale, servers, table, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench scale", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write everything to FILE as JSON")
    parser.add_argument("--only", nargs="+", metavar="CURVE", choices=scale.NAMES, help="only these: " + ", ".join(scale.NAMES))
    parser.add_argument("--points", nargs="+", type=int, metavar="X", help="measure at these values of x (with one curve)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each point (default: 3)")
    parser.add_argument("--seconds", type=int, default=2, metavar="S", help="length of a run (default: 2)")
    parser.add_argument("--warm-up", type=int, default=1, metavar="S", help="load before each run (default: 1)")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    for name in ("rounds", "seconds", "warm_up"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if options.points and (not options.only or len(options.only) != 1):
        parser.error("--points needs --only with one curve, since x means something else in each")
    if options.points and min(options.points) < (2 if options.only == ["fields"] else 1):
        parser.error("--points: too small")
    return options


def curve_rows(curve):
    """A table of one curve; the last column is the cost beside that of the same peer at `base_x`."""
    base = {point["peer"]: point[curve["y"]] for point in curve["points"] if point["x"] == curve["base_x"]}
    if curve["y"] == "bytes":
        rows = [["", curve["x_title"], "bytes each", "in the kernel", "resident KB", "x"]]
    else:
        rows = [["", curve["x_title"], "CPU us", "spread", "user", "req/s", "p99 ms", "runs", "x"]]
    for point in curve["points"]:
        against = base.get(point["peer"])
        ratio = f"{point[curve['y']] / against:.2f}" if against else "-"
        row = [point["peer"], f"{point['x']:,}"]
        if curve["y"] == "bytes":
            row += [f"{point['bytes']:,.0f}", f"{point['kernel_bytes']:,.0f}", f"{point['rss_kb']:,}"]
        else:
            low, high = point["spread"]["cpu_us"]
            row += [f"{point['cpu_us']:,.2f}", f"{low:,.2f}-{high:,.2f}", f"{point['user_us']:,.2f}", f"{point['rps']:,.0f}",
                    f"{point['p99_ms']:,.2f}", f"{point['counted']}/{point['runs']}"]
        rows.append([*row, ratio])
    return rows


def print_curves(curves):
    for curve in curves:
        print(f"\n{curve['title']}; x is that beside {curve['base_x']:,}")
        if curve["points"]:
            print(table.layout(curve_rows(curve)))
        for one in curve["left_out"]:
            print(f"left out: {one['peer']} at {one['x']:,}: {one['reason']}")


def run(options):
    build = servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    command = "./dev bench scale " + shlex.join(sys.argv[1:])
    described = environment.describe(build, ["uvhttp"], command)
    curves = scale.run(options, lambda text: print(text, file=sys.stderr, flush=True))
    print("\n" + "\n".join(f"{key}: {value}" for key, value in described.items() if value is not None))
    print_curves(curves)
    if options.json:
        report = {"kind": "scale", "format": 1, "environment": described, "command": command,
                  "options": {name: getattr(options, name) for name in ("rounds", "seconds", "warm_up", "only", "points")},
                  "curves": curves}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(run_command("scale", run, read_options))
