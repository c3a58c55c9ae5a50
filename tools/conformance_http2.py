#!/usr/bin/python3
"""./dev conformance http2: runs h2spec against our HTTP/2, in plain text and over TLS.

h2spec tests RFC 7540 and 7541. CHANGED has the cases that RFC 9113 no longer demands, with the
reason; they may fail. Every other failed or skipped case is a failure, and the exit code is 1. The
rules of RFC 9113 and 9218 that h2spec does not know have tests in tests/wire/test_http2_*.py.
"""

import argparse
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile

from conformance import h2spec, suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = 145
# A route that accepts every method, reads the body, and responds with more than a few bytes.
TARGET = "/inspect"
CHANGED = {
    "http2/3.5: Sends invalid connection preface":
        "in plain text the server responds with 400 of HTTP/1.1 and closes; RFC 9113 3.4: GOAWAY "
        "may be omitted, since the peer does not use HTTP/2",
}
PAGE = """# h2spec

Results of the public conformance suite for HTTP/2, against the server of the tests. It tests RFC
7540 and 7541; what RFC 9113 and 9218 changed is tested in `tests/wire/test_http2_*.py`.

| | |
|---|---|
| date | {date} |
| suite | h2spec {version} |
| command | `./dev conformance http2 --page` |

The command builds the suite with Go into `build/conformance/h2spec`, from pinned modules, and fails
when a case fails.

Autobahn|Testsuite, which knows only HTTP/1.1, reaches WebSocket over HTTP/2 through a bridge:

    ./dev conformance websocket server --program tests/conformance/ws_http2_bridge.py

{results}
## Differences

{differences}
"""


def start(program, certificate):
    flags = ["--header_timeout=120", "--keep_alive_timeout=120"]
    if certificate is not None:
        flags.append(f"--tls={certificate}")
    server = subprocess.Popen([program, *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
    found = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
    if not found:
        raise suite.Missing("the server did not start")
    return server, int(found[1])


def run(server, program, certificate, directory):
    """Returns the cases of one run."""
    process, port = start(server, certificate)
    report = directory / "h2spec.xml"
    report.unlink(missing_ok=True)
    try:
        secure = ["-t", "-k"] if certificate is not None else []
        # Its exit code is 1 after a failed case.
        suite.run([program, "-p", port, "-P", TARGET, "-j", report, *secure], codes=(0, 1))
    finally:
        process.terminate()
        process.wait()
    return h2spec.read(report)


def failures(cases):
    found = [case for case in cases if case.result != "passed" and case.name() not in CHANGED]
    return [f"{case.name()}: {case.detail or case.result}" for case in found]


def markdown(rows):
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def page(runs):
    """`runs`: [(title, cases)]."""
    results = ""
    for title, cases in runs:
        head = [("group", "cases", *h2spec.COLUMNS), ("---", *["---:"] * (1 + len(h2spec.COLUMNS)))]
        results += f"## {title}\n\n{markdown([*head, *h2spec.table(cases)])}\n"
    rows = [("case", "reason"), ("---", "---"), *CHANGED.items()]
    differences = markdown(rows).strip() if CHANGED else "None."
    return PAGE.format(date=datetime.date.today(), version=h2spec.version(),
                       results=results.strip() + "\n", differences=differences)


def main():
    parser = argparse.ArgumentParser(prog="./dev conformance http2",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--page", action="store_true",
                        help="write docs/conformance/http2.md from this run")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release",
                        metavar="DIR")
    options = parser.parse_args()
    program, server = h2spec.install(), options.build_dir / "dist/bin/wire_server"
    runs, failed = [], False
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        certificate, parts = directory / "both.pem", (directory / "key", directory / "certificate")
        suite.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                   "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
                   "/CN=localhost", "-keyout", parts[0], "-out", parts[1]])
        certificate.write_text("".join(part.read_text() for part in parts))
        for title, how in (("Prior knowledge", None), ("TLS", certificate)):
            cases = run(server, program, how, directory)
            problems = failures(cases)
            if len(cases) != CASES:
                problems.append(f"{len(cases)} of {CASES} cases ran")
            runs.append((title, cases))
            failed = failed or bool(problems)
            passed = sum(case.result == "passed" for case in cases)
            print(f"{title:<16} {passed} of {len(cases)} passed", flush=True)
            for problem in problems:
                print(f"    FAILED {problem}", flush=True)
    if options.page:
        (ROOT / "docs/conformance/http2.md").write_text(page(runs))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (suite.Missing, OSError) as error:
        sys.exit(f"conformance http2: {error}")
