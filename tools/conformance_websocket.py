#!/usr/bin/python3
"""./dev conformance websocket: Autobahn|Testsuite against our WebSocket server and our client.

Installs the suite (tools/conformance/suite.py) into build/conformance, runs its fuzzing client
against an echo server and its fuzzing server against an echo client, and prints the results for
each group of cases. The exit code is 1 if a case failed, none was run, or a client left some out.
"""

import argparse
import asyncio
import datetime
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import websockets

from benchlib import servers, table
from conformance import results, suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("server", "client")
COMPRESSIONS = ("shared", "dedicated")
CASES = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*", "12.*", "13.*")
# wstest stores all traffic in memory until it ends. These groups need gigabytes, so they run in
# parts. The value is the number of parts.
LARGE = {"9.*": None, "12.*": 5, "13.*": 7}
# Timeouts for hanging processes.
START_SECONDS = 60
HOURS = 2


def read_options():
    parser = argparse.ArgumentParser(prog="./dev conformance websocket",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="server|client",
                        help="what is tested (default: both)")
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="CASE",
                        help="only these, such as 9.* or 1.1.1 (default: all)")
    parser.add_argument("--compression", nargs="+", choices=COMPRESSIONS, default=COMPRESSIONS,
                        help="of our side (default: both, one after the other)")
    parser.add_argument("--program", metavar="PROGRAM",
                        help="another program to test, of one kind: a server prints its URL, a "
                             "client gets the URL and the agent's name as arguments")
    parser.add_argument("--page", action="store_true",
                        help="write docs/conformance/websocket.md from these runs")
    parser.add_argument("--build-dir", metavar="DIR", type=pathlib.Path,
                        default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build directory (default: UVHTTP_BUILD_DIR or build/release)")
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


def stop(process):
    """Stops a process, and returns its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def command(options, kind, compression):
    if options.program:
        return [options.program]
    return [options.build_dir / "dist/bin" / f"ws_echo_{kind}", f"--compression={compression}"]


def parts_of(cases):
    """Divides cases into parts, each for one run of wstest."""
    parts = [[case for case in cases if case not in LARGE]]
    for case in cases:
        if case in LARGE and LARGE[case]:
            parts += [[f"{case[:-1]}{number}.*"] for number in range(1, LARGE[case] + 1)]
        elif case in LARGE:
            parts.append([case])
    return [part for part in parts if part]


def write_spec(directory, **more):
    path = directory / "spec.json"
    path.write_text(json.dumps({"outdir": str(directory / "reports"), "exclude-cases": [],
                                "exclude-agent-cases": {}, **more}))
    return path


def wait_for_suite(process, directory):
    try:
        code = process.wait(HOURS * 3600)
    finally:
        stop(process)
    if code != 0:
        raise suite.Missing(
            f"wstest ended with {code}:\n{(directory / 'wstest.log').read_text()[-2000:]}")


def test_server(installed, options, compression, agent, cases, directory):
    server = subprocess.Popen([str(word) for word in command(options, "server", compression)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        ready = select.select([server.stdout], [], [], START_SECONDS)[0]
        line = server.stdout.readline().decode() if ready else ""
        found = re.search(r"(?:ws|http)://([\w.]+:\d+\S*)", line)
        if not found:
            raise suite.Missing(f"the server did not print its URL: {line!r}")
        tested = {"agent": agent, "url": f"ws://{found[1]}"}
        spec = write_spec(directory, cases=cases, servers=[tested])
        client = installed.start("-m", "fuzzingclient", "-s", spec, log=directory / "wstest.log")
        wait_for_suite(client, directory)
        if server.poll() is not None:
            raise suite.Missing(f"the server ended by itself with {server.returncode}")
    finally:
        code = stop(server)
        server.stdout.close()
    if not options.program and code != 0:
        raise suite.Missing(f"the server ended with {code}")


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def count_cases(port):
    """Requests the number of cases from the fuzzing server, to detect a client that ends early."""
    async def receive():
        async with websockets.connect(f"ws://127.0.0.1:{port}/getCaseCount") as client:
            return int(await client.recv())

    try:
        return asyncio.run(receive())
    except (OSError, ValueError, websockets.WebSocketException) as reason:
        raise suite.Missing(f"wstest does not report its number of cases: {reason}") from reason


def test_client(installed, options, compression, agent, cases, directory):
    """Tests a client. Returns the number of cases."""
    port = servers.free_port()
    spec = write_spec(directory, cases=cases, url=f"ws://127.0.0.1:{port}")
    # -u 0: without a web server for browsers.
    fuzzer = installed.start("-m", "fuzzingserver", "-u", "0", "-s", spec,
                             log=directory / "wstest.log")
    try:
        end = time.monotonic() + START_SECONDS
        while not accepts(port):
            if fuzzer.poll() is not None or time.monotonic() > end:
                raise suite.Missing(
                    f"wstest does not listen:\n{(directory / 'wstest.log').read_text()[-2000:]}")
            time.sleep(0.1)
        count = count_cases(port)
        words = [*command(options, "client", compression), f"ws://127.0.0.1:{port}", agent]
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                              timeout=HOURS * 3600)
        if done.returncode != 0:
            raise suite.Missing(f"the client ended with {done.returncode}")
        return count
    finally:
        stop(fuzzer)


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
    version = re.search(r"^project\(\w+ VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(),
                        re.MULTILINE)[1]
    facts = {"date": datetime.date.today().isoformat(), "version": version, **installed.versions}
    path = ROOT / "docs/conformance/websocket.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(results.page(facts, runs))
    print(f"written: {path.relative_to(ROOT)}")


def main():
    options = read_options()
    runs = []
    try:
        installed = suite.Suite()
        for kind in options.kinds:
            for compression in options.compression if not options.program else COMPRESSIONS[:1]:
                found = run_one(installed, options, kind, compression)
                runs.append((f"{kind.title()}, {compression}", found))
    except suite.Missing as reason:
        print(f"./dev conformance websocket: {reason}", file=sys.stderr)
        return 1
    if options.page:
        write_page(installed, runs)
    bad = sum(len(found.failed()) for _, found in runs)
    empty = [title for title, found in runs if not found.cases]
    print(f"{sum(len(found.cases) for _, found in runs)} cases, {bad} failed" +
          "".join(f"; {title}: no case was run" for title in empty))
    return 1 if bad or empty else 0


if __name__ == "__main__":
    sys.exit(main())
