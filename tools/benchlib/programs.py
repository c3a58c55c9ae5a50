"""Runs the benchmark programs of `./dev bench parser` and `router`."""

import json
import os
import pathlib
import statistics

from . import Refused, command, cpu


def add_timing_options(parser, rounds, milliseconds):
    parser.add_argument("--rounds", type=command.number(1, 1000), default=rounds, metavar="N",
                        help=f"measurements of each (default: {rounds})")
    parser.add_argument("--milliseconds", type=command.number(1, 10000), default=milliseconds,
                        metavar="N", help=f"length of a round (default: {milliseconds})")
    parser.add_argument("--no-peers", action="store_true", help="measure uvhttp alone")


def run(words, **environment):
    """Runs a program on the last core, which has the fewest interrupts. Returns its JSON."""
    core = max(os.sched_getaffinity(0))
    done = cpu.run(words, {core}, env={**os.environ, **environment})
    if done.returncode != 0:
        name = pathlib.Path(words[0]).name
        raise Refused(f"{name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def ratio(figures, others):
    """The median of the ratios within a round."""
    return statistics.median(one / other for one, other in zip(figures, others))
