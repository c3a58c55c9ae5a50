"""Runs a command: its options, a temporary directory, and its exit code.

A command is a module with `add_options(parser)` and `run(options)`. `run` prints the results and
returns the object for --json; `finish(options, result)`, if there is one, is called after it is
written. After Refused the exit code is 1. A signal stops all servers, and the
exit code is 130.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile

from . import Refused

ROOT = pathlib.Path(__file__).resolve().parents[2]


def number(least, most=10**9):
    def read(text):
        if not text.isdigit() or not least <= int(text) <= most:
            what = f"{text!r} is not a whole number from {least} to {most}"
            raise argparse.ArgumentTypeError(what)
        return int(text)
    return read


def seconds(text):
    """The length of a run; wrk needs whole seconds."""
    value = float(text)
    if not 0.1 <= value <= 300:
        raise argparse.ArgumentTypeError(f"{text!r} is not from 0.1 to 300")
    return int(value) if value == int(value) else value


def add_run_options(parser, rounds=3, length=3):
    """Options of commands that measure servers under load."""
    parser.add_argument("--rounds", type=number(1), default=rounds, metavar="N",
                        help=f"runs of each server (default: {rounds})")
    parser.add_argument("--seconds", type=seconds, default=length, metavar="S",
                        help=f"length of a run (default: {length})")
    parser.add_argument("--warm-up", type=number(0, 300), default=1, metavar="S",
                        help="load before each run (default: 1)")


def read_options(name, text, module, arguments):
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=text)
    parser.add_argument("--json", metavar="FILE", help="write all results to FILE as JSON")
    parser.add_argument("--build-dir", metavar="DIR", type=pathlib.Path,
                        default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build directory (default: UVHTTP_BUILD_DIR or build/release)")
    module.add_options(parser)
    options = parser.parse_args(arguments)
    options.bin_dir = options.build_dir / "dist/bin"
    options.command = shlex.join(["./dev", "bench", name, *arguments])
    return options


def run(name, text, module, arguments):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = read_options(name, text, module, arguments)
    try:
        result = module.run(options)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
        if hasattr(module, "finish"):
            module.finish(options, result)
        if result.get("failures"):
            raise Refused("no figures for ours: " + "; ".join(result["failures"]))
    except Refused as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


@contextlib.contextmanager
def temporary_directory():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="uvhttp-bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def log(text):
    print(text, file=sys.stderr, flush=True)
