"""Measuring: what every benchmark command of tools/ is built from.

cpu          CPU time of a server's processes
wrk          one load run and its result
verify       is the answer right? And how many bytes has it?
servers      start and stop of the servers under test
contender    a server of `./dev bench http`: how it is got and started; family_* has them, roster lists them
session      which runs `./dev bench http` makes, and what came of them
works        what is asked for, and the files for it
rounds       the order of the runs, and their medians
peers        the parsers that ours is compared with
environment  where and with what it was measured
table        figures as text
progress     the progress line
latency      latency at a fixed rate
websocket_* the same for `./dev bench ws`: its load, its checks, its works, its session; family_websocket has its servers
system_calls how many system calls a server makes
load, scale, idle, capacity   what grows with what, and what a machine can serve
targets      the marks uvhttp is to reach
compare      two results beside each other
report, report_*   a result as a page and as Markdown

Each module raises Refused for whatever would make a figure worthless.
"""

import signal
import sys


class Refused(Exception):
    """A figure would mean nothing; the text says why."""


def run_command(name, run, read_options):
    """The end of every command: runs it, and gives the exit code. A stop from outside ends what it has started, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(read_options())
    except Refused as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
