#!/usr/bin/python3
"""./dev conformance websocket: Autobahn|Testsuite against our WebSocket server and our client.

Installs the suite (tools/conformance/suite.py) into build/conformance, runs its fuzzing client
against an echo server and its fuzzing server against an echo client, and prints how many cases of
each group went how. Ends with 1 if a case failed, none was run, or a client left some out.
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

from benchlib import servers
from conformance import results, suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ("server", "client")
COMPRESSIONS = ("shared", "dedicated")
CASES = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*", "12.*", "13.*")
TITLES = {"server": "Server", "client": "Client"}
# wstest keeps what went over the wire until it ends: groups of which a part alone takes gigabytes,
# and how many parts there are.
LARGE = {"9.*": None, "12.*": 5, "13.*": 7}
# Ends what hangs.
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
    parser.add_argument(
        "--program", metavar="PROGRAM", help=
        "another program to test, of one kind: a server prints the URL it listens on, a client is "
        "given the URL and the agent's name"
    )
    parser.add_argument("--page", action="store_true",
                        help="write docs/conformance/websocket.md from these runs")
    parser.add_argument("--build-dir", metavar="DIR", type=pathlib.Path,
                        default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"'{kind}' is neither server nor client")
    options.kinds = options.kinds or KINDS
    if options.program and len(options.kinds) != 1:
        parser.error("--program needs one kind: server or client")
    if options.page and (options.program or tuple(options.cases) != CASES or len(options.kinds) != 2
                         or len(options.compression) != 2):
        parser.error("--page is about all cases of everything")
    return options


def stop(process):
    """Ends a process that we started."""
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
    """Cases that one wstest after the other is to run."""
    parts = [[case for case in cases if case not in LARGE]]
    for case in cases:
        if case in LARGE:
            parts += [[f"{case[:-1]}{number}.*"]
                      for number in range(1, LARGE[case] + 1)] if LARGE[case] else [[case]]
    return [part for part in parts if part]


def write_spec(folder, **more):
    path = folder / "spec.json"
    path.write_text(json.dumps({"outdir": str(folder / "reports"), "exclude-cases": [],
                                "exclude-agent-cases": {}, **more}))
    return path


def wait_for_suite(process, folder):
    try:
        code = process.wait(HOURS * 3600)
    finally:
        stop(process)
    if code != 0:
        raise suite.Missing(
            f"wstest ended with {code}:\n{(folder / 'wstest.log').read_text()[-2000:]}")


def test_server(installed, options, compression, agent, cases, folder):
    server = subprocess.Popen([str(word) for word in command(options, "server", compression)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        ready = select.select([server.stdout], [], [], START_SECONDS)[0]
        line = server.stdout.readline().decode() if ready else ""
        found = re.search(r"(?:ws|http)://([\w.]+:\d+\S*)", line)
        if not found:
            raise suite.Missing(f"the server did not say where it listens: {line!r}")
        spec = write_spec(folder, cases=cases, servers=[{"agent": agent,
                                                         "url": f"ws://{found[1]}"}])
        wait_for_suite(
            installed.start("-m", "fuzzingclient", "-s", spec, log=folder / "wstest.log"), folder)
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
    """How many the fuzzing server has, by its own word: a client that ends early has seen fewer of
    them."""
    async def receive():
        async with websockets.connect(f"ws://127.0.0.1:{port}/getCaseCount") as client:
            return int(await client.recv())

    try:
        return asyncio.run(receive())
    except (OSError, ValueError, websockets.WebSocketException) as reason:
        raise suite.Missing(f"wstest does not say how many cases it has: {reason}") from reason


def test_client(installed, options, compression, agent, cases, folder):
    """How many cases there are."""
    port = servers.free_port()
    spec = write_spec(folder, cases=cases, url=f"ws://127.0.0.1:{port}")
    # -u 0: without pages that a browser could look at.
    fuzzer = installed.start("-m", "fuzzingserver", "-u", "0", "-s", spec,
                             log=folder / "wstest.log")
    try:
        end = time.monotonic() + START_SECONDS
        while not accepts(port):
            if fuzzer.poll() is not None or time.monotonic() > end:
                raise suite.Missing(
                    f"wstest does not listen:\n{(folder / 'wstest.log').read_text()[-2000:]}")
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
    folder = suite.FOLDER / "websocket" / f"{kind}-{agent}"
    shutil.rmtree(folder, ignore_errors=True)
    started = time.monotonic()
    cases = {}
    for number, part in enumerate(parts_of(options.cases), 1):
        place = folder / str(number)
        place.mkdir(parents=True)
        print(f"{kind}, {agent}: {' '.join(part)}", file=sys.stderr, flush=True)
        count = {"server": test_server,
                 "client": test_client}[kind](installed, options, compression, agent, part, place)
        found = results.read(place / "reports")
        if count is not None and len(found) < count:
            raise suite.Missing(f"the client ended with 0 behind {len(found)} of {count} cases")
        cases |= found
    found = results.Results(agent, cases)
    print(f"{kind}, {agent}: {len(found.cases)} cases in {time.monotonic() - started:.0f} s")
    print(results.as_text(found.table()))
    for case, verdict in found.remarkable():
        print(f"    {case} {verdict}: {results.reason_for(case)}")
    print(f"    reports: {os.path.relpath(folder)}/*/reports", flush=True)
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
                runs.append(
                    (f"{TITLES[kind]}, {compression}", run_one(installed, options, kind,
                                                               compression)))
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
