#!/usr/bin/python3
"""./dev bench compare OLD NEW: the ratios of two results that a benchmark wrote with --json, and which figures moved beyond the noise.

Both must be of the same benchmark: http, ws, quick, parser, scale or capacity. Exit code 2 when they cannot be compared; what moved does not
change the exit code.
"""

import argparse
import json
import pathlib
import statistics
import sys

from benchlib import Refused, compare, table

# What should be the same in both for the ratios to speak of uvhttp.
SAME = ("cpu", "kernel", "cores")


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench compare", description=__doc__.split("\n\n")[0])
    parser.add_argument("old", metavar="OLD.json")
    parser.add_argument("new", metavar="NEW.json")
    parser.add_argument("--metric", choices=list(compare.HTTP_METRICS), default="cpu_us",
                        help="what of it; bench parser has nanoseconds only (default: cpu_us)")
    parser.add_argument("--moved", action="store_true", help="only what moved")
    return parser.parse_args()


def load(path):
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error


def print_environments(old, new):
    for name, report in (("old", old), ("new", new)):
        block = report.get("environment", {})
        print(f"{name}: {block.get('date', '?')}, commit {str(block.get('commit', '?'))[:12]}, {block.get('uvhttp', '?')}")
    for key in SAME:
        values = [report.get("environment", {}).get(key) for report in (old, new)]
        if values[0] != values[1]:
            print(f"NOTE: not the same {key}: {values[0]} and {values[1]}")


def print_others(compared):
    """How far those moved that did not change: what is left of a figure's move is uvhttp's."""
    others = {}
    for _, who, _, _, ratio, _ in compared:
        if not who.startswith("uvhttp"):
            others.setdefault(who, []).append(ratio)
    for who, ratios in others.items():
        print(f"{who}: {statistics.median(ratios):.3f} in the median of {len(ratios)}; it shows how far the machine itself moved")


def run(options):
    old, new = load(options.old), load(options.new)
    kind, old_figures = compare.figures(old, options.old, options.metric)
    other, new_figures = compare.figures(new, options.new, options.metric)
    if kind != other:
        raise Refused(f"{options.old} is of bench {kind}, {options.new} of bench {other}")
    compared = compare.compare(old_figures, new_figures)
    if not compared:
        raise Refused("the two have nothing in common")
    print_environments(old, new)
    unit = "nanoseconds" if kind == "parser" else compare.HTTP_METRICS[options.metric]
    print(f"\n{unit}, medians and half the range of the rounds\n")
    shown = [row for row in compared if row[5] in ("HIGHER", "LOWER")] if options.moved else compared
    print(table.layout(compare.rows(shown)))
    print()
    print_others(compared)
    for name, missing in (("old", old_figures.keys() - new_figures.keys()), ("new", new_figures.keys() - old_figures.keys())):
        if missing:
            print(f"only in the {name} one: " + "; ".join(f"{what}, {who}" for what, who in sorted(missing)))
    moved = sum(1 for row in compared if row[5] in ("HIGHER", "LOWER"))
    unknown = sum(1 for row in compared if row[5] == "?")
    print(f"{moved} of {len(compared)} figures moved beyond the noise" + (f"; {unknown} have one round, so their noise is unknown" if unknown else ""))


def main():
    try:
        run(read_options())
    except Refused as error:
        print(f"bench compare: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
