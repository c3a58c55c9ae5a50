"""Shared by the commands of `./dev conformance`: options, certificates, servers, and tables of the
pages."""

import argparse
import contextlib
import os
import pathlib
import re
import select
import subprocess
import sys

from . import suite

PAGES = suite.ROOT / "docs/conformance"
KEYS = {"ECDSA": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
        "RSA": ["-newkey", "rsa:2048"]}
# Timeout for processes that hang at their start or end.
SECONDS = 60


def parser(name, text):
    """Returns the parser of a command, with the options that all commands have."""
    made = argparse.ArgumentParser(prog=f"./dev conformance {name}",
                                   description=text.split("\n")[0])
    made.add_argument("--page", action="store_true",
                      help=f"write docs/conformance/{name}.md from this run")
    made.add_argument("--build-dir", metavar="DIR", type=pathlib.Path,
                      default=os.environ.get("UVHTTP_BUILD_DIR", suite.ROOT / "build/release"),
                      help="build directory (default: UVHTTP_BUILD_DIR or build/release)")
    return made


def run(name, main):
    """Ends with the exit code of `main`, or with the reason why a suite or a scanner did not
    run."""
    try:
        sys.exit(main())
    except (suite.Missing, OSError) as error:
        sys.exit(f"{name}: {error}")


def certificate(directory, key):
    """Makes a key of KEYS and its certificate for localhost. Returns the file that has both."""
    path = directory / f"{key}.pem"
    parts = path.with_suffix(".key"), path.with_suffix(".crt")
    suite.run(["openssl", "req", "-x509", *KEYS[key], "-nodes", "-days", "30", "-subj",
               "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", parts[0],
               "-out", parts[1]])
    path.write_text("".join(part.read_text() for part in parts))
    return path


def stop(process):
    """Stops a process, and returns its exit code."""
    process.terminate()
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@contextlib.contextmanager
def server(command, address, check=True, **more):
    """Runs a server. Yields the group of `address` in the first line that it prints. Raises
    suite.Missing if it does not start or ends by itself, and with `check` if its exit code is not
    0. `more`: arguments of Popen."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, **more)
    with process.stdout:
        try:
            ready = select.select([process.stdout], [], [], SECONDS)[0]
            line = process.stdout.readline() if ready else ""
            found = re.search(address, line)
            if not found:
                raise suite.Missing(f"the server did not print its address: {line!r}")
            yield found[1]
            if process.poll() is not None:
                raise suite.Missing(f"the server ended by itself with {process.returncode}")
        finally:
            code = stop(process)
    if check and code != 0:
        raise suite.Missing(f"the server ended with {code}")


def markdown(*rows, numbers=False):
    """Returns a table. With `numbers` all columns but the first are aligned right."""
    head, *rest = [f"| {' | '.join(map(str, row))} |" for row in rows]
    column = "|---:" if numbers else "|---"
    return "\n".join([head, "|---" + column * (len(rows[0]) - 1) + "|", *rest])
