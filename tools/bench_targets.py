#!/usr/bin/python3
"""./dev bench targets: the marks uvhttp is to reach, with the measured value and whether it is met.

Measures what they need with `./dev bench http`, `scale`, `parser` and `workers`, or reads it from their JSON (--from). A mark without figures is listed
with the reason. Marks that are not met do not change the exit code, since figures of one machine and hour are no test.
"""

import argparse
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

from benchlib import Refused, environment, roster, table, targets

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench targets", description=__doc__.split("\n\n")[0])
    parser.add_argument("--from", nargs="+", metavar="FILE", dest="files", help="read these results instead of measuring")
    parser.add_argument("--peers", nargs="+", metavar="NAME", choices=["all", *roster.NAMES], default=["all"],
                        help="for the mark that stands beside the best of all: as in bench http (default: all)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each server in each work (default: 5)")
    parser.add_argument("--seconds", type=int, default=3, metavar="S", help="length of a run (default: 3)")
    parser.add_argument("--json", metavar="FILE", help="write the marks, and what they were taken from, to FILE as JSON")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    if min(options.rounds, options.seconds) < 1:
        parser.error("--rounds and --seconds must be at least 1")
    return options


def read(path):
    try:
        result = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error
    if not isinstance(result, dict):
        raise Refused(f"{path} is no result of a benchmark")
    return result


def commands(options):
    """[(script, arguments)], each of which writes one result."""
    common = ["--rounds", str(options.rounds), "--build-dir", str(options.build_dir)]
    length = ["--seconds", str(options.seconds)]
    ours = [targets.FLOOR, targets.OWN, targets.NGINX]
    rest = [name for name in targets.WORKS if name not in (*targets.WORKS_OF_ALL, *targets.WORKS_OF_FILES)]
    yield "bench_http.py", ["--peers", *dict.fromkeys([*ours, *options.peers]), "--works", *targets.WORKS_OF_ALL, "--rate", "0", *common, *length]
    yield "bench_http.py", ["--peers", *targets.FLOORS, targets.OWN, targets.NGINX, targets.H2O, "--works", *targets.WORKS_OF_FILES, "--rate", "0",
                            *common, *length]
    yield "bench_http.py", ["--peers", *ours, "--works", *rest, "--rate", "0", *common, *length]
    for curve, points in targets.CURVES.items():
        yield "bench_scale.py", ["--only", curve, "--points", *map(str, points), *common, *length]
    yield "bench_parser.py", ["--only", "corpus", "--messages", *(name for name, _ in targets.PARSER), "--build-dir", str(options.build_dir)]
    yield "bench_workers.py", ["--connections", targets.LOAD_OF_WORKERS.split()[0], *common, *length]


def measure(options):
    """The results; one that could not be made is told and missing."""
    results = []
    with tempfile.TemporaryDirectory(prefix="uvhttp-targets-") as folder:
        for number, (script, arguments) in enumerate(commands(options)):
            file = pathlib.Path(folder) / f"{number}.json"
            print(f"{script} {shlex.join(arguments)}", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, ROOT / "tools" / script, *arguments, "--json", file], stdout=subprocess.DEVNULL)
            if file.exists():
                results.append(read(file))
            else:
                print(f"{script} gave no result (exit code {done.returncode}), so its marks have no figures", file=sys.stderr)
    if not any(result.get("kind") == "http" for result in results):
        raise Refused("nothing could be measured")
    return results


def merge(results):
    """(one report with what all of them have, the parser's, that of workers)"""
    merged, parser, workers = {"peers": [], "results": [], "curves": []}, {}, {}
    for result in results:
        if "corpus" in result:
            parser = result
        elif result.get("kind") == "workers":
            workers = result
        elif result.get("kind") in ("http", "scale"):
            for key, all_of_them in merged.items():
                all_of_them += result.get(key, [])
        else:
            raise Refused("--from takes results of bench http, scale, parser and workers")
    return merged, parser, workers


def main():
    # A stop from outside ends what we started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = read_options()
    try:
        results = [read(path) for path in options.files] if options.files else measure(options)
        marks = targets.judge(*merge(results))
    except Refused as error:
        print(f"bench targets: {error}", file=sys.stderr)
        return 1
    except (KeyError, TypeError, AttributeError) as error:
        print(f"bench targets: a result has not the form it should have: {error!r}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(table.layout(targets.rows(marks)))
    for line in targets.notes(marks):
        print(line)
    for level, title in (("must", "has to hold"), ("aim", "is aimed at")):
        mine = [mark for mark in marks if mark["level"] == level]
        met, missed = (sum(mark["met"] is state for mark in mine) for state in (True, False))
        print(f"\nWhat {title}: {met} met, {missed} not met, {len(mine) - met - missed} not measured", end="")
    print()
    if options.json:
        block = environment.run_block("./dev bench targets " + shlex.join(sys.argv[1:]))
        text = json.dumps({"kind": "targets", "format": 1, "environment": {**block, **environment.machine_block()}, "targets": marks,
                           "results": results}, indent=1)
        pathlib.Path(options.json).write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
