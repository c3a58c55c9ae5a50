#!/usr/bin/python3
"""./dev conformance http2: runs h2spec against our HTTP/2, in plain text and over TLS.

h2spec tests RFC 7540 and 7541. CHANGED has the cases that RFC 9113 no longer demands, with the
reason; they may fail. Every other failed or skipped case is a failure, and the exit code is 1. The
rules of RFC 9113 and 9218 that h2spec does not know have tests in tests/wire/test_http2_*.py.
"""

import datetime
import pathlib
import subprocess
import tempfile

from conformance import command, h2spec, suite

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


def run(server, program, certificate, directory):
    """Returns the cases of one run."""
    report = directory / "h2spec.xml"
    report.unlink(missing_ok=True)
    words = [server, "--header_timeout=120", "--keep_alive_timeout=120"]
    secure = []
    if certificate is not None:
        words.append(f"--tls={certificate}")
        secure = ["-t", "-k"]
    with command.server(words, r"127\.0\.0\.1:(\d+)", stderr=subprocess.DEVNULL) as port:
        # Its exit code is 1 after a failed case.
        suite.run([program, "-p", port, "-P", TARGET, "-j", report, *secure], codes=(0, 1))
    return h2spec.read(report)


def failures(cases):
    found = [case for case in cases if case.result != "passed" and case.name() not in CHANGED]
    return [f"{case.name()}: {case.detail or case.result}" for case in found]


def page(runs):
    """`runs`: [(title, cases)]."""
    results = [f"## {title}\n\n{command.markdown(*h2spec.table(cases), numbers=True)}\n"
               for title, cases in runs]
    differences = command.markdown(("case", "reason"), *CHANGED.items()) if CHANGED else "None."
    return PAGE.format(date=datetime.date.today(), version=h2spec.version(),
                       results="\n".join(results), differences=differences)


def main():
    options = command.parser("http2", __doc__).parse_args()
    program, server = h2spec.install(), options.build_dir / "dist/bin/wire_server"
    runs, failed = [], False
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        certificate = command.certificate(directory, "ECDSA")
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
        (command.PAGES / "http2.md").write_text(page(runs))
    return 1 if failed else 0


if __name__ == "__main__":
    command.run("conformance http2", main)
