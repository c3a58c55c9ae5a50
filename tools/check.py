#!/usr/bin/python3
"""Runs the checks of the project: tools/check.py [--list] [NAME]...; called by `./dev check`.

A check is a file tools/check_NAME.py. It prints a line for each violation, and its exit code is 1
if there are any.
"""

import argparse
import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent


def summary(path):
    return path.read_text().split('"""')[1].split("\n")[0]


def main():
    checks = {path.stem.removeprefix("check_"): path for path in sorted(TOOLS.glob("check_*.py"))}
    parser = argparse.ArgumentParser(prog="./dev check",
                                     description="Runs the checks of the project.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(checks))
    parser.add_argument("--list", action="store_true", help="list the checks and what they do")
    options = parser.parse_args()
    for name in options.names:
        if name not in checks:
            parser.error(f"unknown check '{name}'; checks are {', '.join(checks)}")
    if options.list:
        for name, path in checks.items():
            print(f"{name:<10} {summary(path)}")
        return 0

    failed = []
    for name in options.names or checks:
        result = subprocess.run(["/usr/bin/python3", "-B", checks[name]], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        print(f"{'ok' if result.returncode == 0 else 'FAILED':<7} {name}", flush=True)
        if result.returncode != 0:
            failed.append(name)
            for line in result.stdout.splitlines():
                print(f"    {line}")
    count = len(options.names or checks)
    print(f"{count - len(failed)} of {count} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
