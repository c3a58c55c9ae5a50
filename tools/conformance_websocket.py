#!/usr/bin/python3
"""./dev conformance websocket: Autobahn|Testsuite against our WebSocket server and our client.

Installs the suite (tools/conformance/suite.py) into build/conformance, runs its fuzzing client
against an echo server and its fuzzing server against an echo client, and prints the results for
each group of cases. The exit code is 1 if a case failed, none was run, or a client left some out.
"""

import asyncio
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import websockets

from benchlib import servers, table
from conformance import command, results, suite

KINDS = ("server", "client")
COMPRESSIONS = ("shared", "dedicated")
CASES = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*", "12.*", "13.*")
# wstest stores all traffic in memory until it ends. These groups need gigabytes, so they run in
# parts.
LARGE = {"9.*": ["9.*"], "12.*": [f"12.{number}.*" for number in range(1, 6)],
         "13.*": [f"13.{number}.*" for number in range(1, 8)]}
# Timeout for hanging processes.
HOURS = 2


def read_options():
    parser = command.parser("websocket", __doc__)
    parser.add_argument("kinds", nargs="*", metavar="server|client",
                        help="what is tested (default: both)")
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="CASE",
                        help="only these, such as 9.* or 1.1.1 (default: all)")
    parser.add_argument("--compression", nargs="+", choices=COMPRESSIONS, default=COMPRESSIONS,
                        help="of our side (default: both, one after the other)")
    parser.add_argument("--program", metavar="PROGRAM",
                        help="another program to test, of one kind: a server prints its URL, a "
                             "client gets the URL and the agent's name as arguments")
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"'{kind}' is neither server nor client")
    options.kinds = options.kinds or KINDS
    if options.program and len(options.kinds) != 1:
        parser.error("--program needs one kind: server or client")
    if options.page and (options.program or tuple(options.cases) != CASES or len(options.kinds) != 2
                         or len(options.compression) != 2):
        parser.error("--page needs all cases of server and client")
    return options


def tested_program(options, kind, compression):
    if options.program:
        return [options.program]
    return [options.build_dir / "dist/bin" / f"ws_echo_{kind}", f"--compression={compression}"]


def parts_of(cases):
    """Divides cases into parts, each for one run of wstest."""
    small = [case for case in cases if case not in LARGE]
    large = [[part] for case in cases for part in LARGE.get(case, [])]
    return [small, *large] if small else large


def write_spec(directory, **more):
    path = directory / "spec.json"
    path.write_text(json.dumps({"outdir": str(directory / "reports"), "exclude-cases": [],
                                "exclude-agent-cases": {}, **more}))
    return path


def log_of(directory):
    return (directory / "wstest.log").read_text()[-2000:]


def wait_for_suite(process, directory):
    try:
        code = process.wait(HOURS * 3600)
    finally:
        command.stop(process)
    if code != 0:
        raise suite.Missing(f"wstest ended with {code}:\n{log_of(directory)}")


def test_server(installed, options, compression, agent, cases, directory):
    words = tested_program(options, "server", compression)
    with command.server(words, r"(?:ws|http)://([\w.]+:\d+\S*)",
                        check=not options.program) as address:
        tested = {"agent": agent, "url": f"ws://{address}"}
        spec = write_spec(directory, cases=cases, servers=[tested])
        client = installed.start("-m", "fuzzingclient", "-s", spec, log=directory / "wstest.log")
        wait_for_suite(client, directory)


async def request_count(port):
    async with websockets.connect(f"ws://127.0.0.1:{port}/getCaseCount") as client:
        return int(await client.recv())


def count_cases(fuzzer, port, directory):
    """Waits until the fuzzing server listens, and requests its number of cases, to detect a client
    that ends early."""
    end = time.monotonic() + command.SECONDS
    while True:
        try:
            return asyncio.run(request_count(port))
        except (OSError, ValueError, websockets.WebSocketException) as reason:
            if fuzzer.poll() is not None or time.monotonic() > end:
                raise suite.Missing(f"wstest does not report its number of cases: {reason}\n"
                                    f"{log_of(directory)}") from reason
            time.sleep(0.1)


def test_client(installed, options, compression, agent, cases, directory):
    """Tests a client. Returns the number of cases."""
    port = servers.free_port()
    spec = write_spec(directory, cases=cases, url=f"ws://127.0.0.1:{port}")
    # -u 0: without a web server for browsers.
    fuzzer = installed.start("-m", "fuzzingserver", "-u", "0", "-s", spec,
                             log=directory / "wstest.log")
    try:
        count = count_cases(fuzzer, port, directory)
        words = [*tested_program(options, "client", compression), f"ws://127.0.0.1:{port}", agent]
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                              timeout=HOURS * 3600)
        if done.returncode != 0:
            raise suite.Missing(f"the client ended with {done.returncode}")
        return count
    finally:
        command.stop(fuzzer)


def run_one(installed, options, kind, compression):
    agent = f"uvhttp-{compression}" if not options.program else pathlib.Path(options.program).name
    directory = suite.FOLDER / "websocket" / f"{kind}-{agent}"
    shutil.rmtree(directory, ignore_errors=True)
    started = time.monotonic()
    cases = {}
    for number, part in enumerate(parts_of(options.cases), 1):
        part_directory = directory / str(number)
        part_directory.mkdir(parents=True)
        print(f"{kind}, {agent}: {' '.join(part)}", file=sys.stderr, flush=True)
        test = {"server": test_server, "client": test_client}[kind]
        count = test(installed, options, compression, agent, part, part_directory)
        found = results.read(part_directory / "reports")
        if count is not None and len(found) < count:
            raise suite.Missing(f"the client ended with 0 behind {len(found)} of {count} cases")
        cases |= found
    found = results.Results(agent, cases)
    print(f"{kind}, {agent}: {len(found.cases)} cases in {time.monotonic() - started:.0f} s")
    print(table.layout([[str(cell) for cell in row] for row in found.table()]))
    for case, verdict in found.remarkable():
        print(f"    {case} {verdict}: {results.reason_for(case)}")
    print(f"    reports: {os.path.relpath(directory)}/*/reports", flush=True)
    return found


def write_page(installed, runs):
    project = (suite.ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"^project\(\w+ VERSION (\S+)", project, re.MULTILINE)[1]
    facts = {"date": datetime.date.today(), "version": version, **installed.versions()}
    (command.PAGES / "websocket.md").write_text(results.page(facts, runs))
    print("written: docs/conformance/websocket.md")


def main():
    options = read_options()
    installed, runs = suite.Suite(), []
    for kind in options.kinds:
        for compression in options.compression if not options.program else COMPRESSIONS[:1]:
            found = run_one(installed, options, kind, compression)
            runs.append((f"{kind.title()}, {compression}", found))
    if options.page:
        write_page(installed, runs)
    bad = sum(len(found.failed()) for _, found in runs)
    empty = [title for title, found in runs if not found.cases]
    print(f"{sum(len(found.cases) for _, found in runs)} cases, {bad} failed" +
          "".join(f"; {title}: no case was run" for title in empty))
    return 1 if bad or empty else 0


if __name__ == "__main__":
    command.run("./dev conformance websocket", main)
