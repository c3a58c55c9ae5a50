#!/usr/bin/python3
"""./dev bench COMMAND: runs a benchmark. bench/README.md describes them."""

import importlib
import sys

from benchlib import command

COMMANDS = {
    "quick": "CPU time per request, compared with nginx and the floor, in a few minutes",
    "http": "CPU time, rate, latency and memory, compared with other servers, with a report",
    "ws": "WebSocket: CPU time per message, latency and memory, compared with other servers",
    "parser": "nanoseconds per message of the parser, compared with another parser",
    "router": "nanoseconds per lookup of the router, compared with another router",
    "capacity": "the capacity of this machine, and the settings for it",
    "overload": "latency over the offered load, with and without overload_guard",
    "workers": "CPU time per request of several workers, compared with one",
}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        lines = "".join(f"  {name:9} {text}\n" for name, text in COMMANDS.items())
        print(f"usage: ./dev bench COMMAND [OPTION...]\n\n{lines}", end="", file=sys.stderr)
        return 2
    name = sys.argv[1]
    return command.run(name, COMMANDS[name], importlib.import_module(f"benchlib.run_{name}"),
                       sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
