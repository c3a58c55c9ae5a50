#!/usr/bin/python3
"""Runs the tests of the built presets and counts them: tools/run_tests.py [--preset NAME]... [KIND]...

Called by `./dev test`, which builds first. The tests in C (cmocka, through ctest) and the wire tests (pytest against the built
programs) run once with the release and once with the asan build; the tests of the benchmark, of the checks and of the installation
run once. What concerns several threads runs once more with the tsan build. Single tests are counted, not programs. A kind
of which nothing ran has failed: a test that is not found must not look like one that passes. Logs: build/logs. The last
line is `N passed, N failed`, with `, N skipped` if there are any.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
C_KINDS = ("unit", "vectors", "faults", "budget", "fuzz")
# Folders that may be empty: vectors are data, which a unit test may read; budgets are also kept by wire tests.
OPTIONAL_KINDS = ("vectors", "budget")
PYTEST_KINDS = ("wire", "wire-tls", "bench", "checks", "install")
PRESET_KINDS = C_KINDS + ("wire", "wire-tls")
KINDS = C_KINDS + PYTEST_KINDS
PRESETS = ("release", "asan")
# What runs on several threads: these programs and files once more, built with ThreadSanitizer.
TSAN_TESTS = {
    "unit": ["access_log", "platform_folder_watch", "platform_line_writer", "rate_limit", "static_cache", "static_files",
             "thread_pool", "tls_used_tickets", "token_buckets"],
    "faults": ["blocking", "jobs", "random_walk", "streams", "uploads", "watch", "workers"],
    "wire": ["blocking", "streams", "tls", "tls_early", "uploads", "workers"],
}
# What concerns HTTP runs once more over TLS, with versions 1.3 and 1.2 in turn, in the asan build (kind `wire-tls`).
TLS_TESTS = ["asking", "blocking", "event_streams", "http1_bodies", "http1_methods", "http1_persistence", "http1_pieces",
             "http1_refusals", "http1_responses", "routing", "sending", "streams", "websocket", "websocket_frames"]
# Which kinds run with which build.
PRESET_ONLY = {"tsan": [*TSAN_TESTS], "release": [kind for kind in PRESET_KINDS if kind != "wire-tls"]}
# Ends a run that hangs; no test depends on it.
HANG_SECONDS = 3600


class Counts:
    """How many single tests passed, failed and were skipped, and the names of the failed ones."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.failures = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def fail(self, name, count=1):
        self.failed += count
        self.failures.append(name)

    def total(self):
        return self.passed + self.failed + self.skipped

    def line(self):
        line = f"{self.passed} passed, {self.failed} failed"
        return line + (f", {self.skipped} skipped" if self.skipped else "")


def end_leftovers(group):
    """Ends what a test that failed may have left running; the group is the test run's own."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, log, environment):
    """Runs a command into a log file, with its last line as progress on a terminal. Returns the exit code."""
    show = sys.stdout.isatty()
    with open(log, "wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=sink,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    start = time.monotonic()
    while True:
        try:
            code = process.wait(timeout=0.5 if show else HANG_SECONDS)
            end_leftovers(process.pid)
            return code
        except subprocess.TimeoutExpired:
            if time.monotonic() - start >= HANG_SECONDS:
                end_leftovers(process.pid)
                return process.wait()
        except KeyboardInterrupt:
            end_leftovers(process.pid)
            raise
        with open(log, "rb") as text:
            text.seek(max(0, os.path.getsize(log) - 400))
            lines = text.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        sys.stdout.write(f"\r\x1b[K    {last.strip()[:90]}\r")
        sys.stdout.flush()


def count_cmocka(name, status, output):
    """Counts one cmocka program by what it printed; tests it never came to, because it crashed, have failed."""
    counts = Counts()
    planned = sum(int(n) for n in re.findall(r"^\[==========\] (?:\S+: )?Running (\d+) test", output, re.M))

    def summed(word):
        return sum(int(n) for n in re.findall(rf"\[ +{word} +\] (?:\S+: )?(\d+) test\(s\)", output))

    counts.passed, counts.skipped = summed("PASSED"), summed("SKIPPED")
    failed = re.findall(r"^\[  FAILED  \] (?:\S+: )?(\S+)$", output, re.M)
    for test in dict.fromkeys(failed):
        counts.fail(f"{name}: {test}")
    lost = planned - counts.total()
    if lost > 0:
        counts.fail(f"{name}: {lost} not finished", lost)
    elif status != "run" and counts.failed == 0:
        counts.fail(f"{name}: {status}")
    elif counts.total() == 0:
        counts.fail(f"{name}: ran no test")
    return counts


def count_ctest(kind, results):
    counts = Counts()
    try:
        cases = xml.etree.ElementTree.parse(results).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        counts.fail(f"{kind}: ctest left no result")
        return counts
    for case in cases:
        name, status = case.get("name"), case.get("status")
        if kind == "fuzz":
            if status == "run":
                counts.passed += 1
            else:
                counts.fail(name)
        else:
            counts.add(count_cmocka(name, status, case.findtext("system-out") or ""))
    return counts


def count_pytest(kind, results, code):
    counts = Counts()
    try:
        cases = list(xml.etree.ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        counts.fail(f"{kind}: pytest left no result")
        return counts
    # A test whose clean-up fails stands in the results twice.
    outcome = {}
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            outcome[name] = "failed"
        elif case.find("skipped") is not None:
            outcome.setdefault(name, "skipped")
        else:
            outcome.setdefault(name, "passed")
    for name, result in outcome.items():
        if result == "passed":
            counts.passed += 1
        elif result == "skipped":
            counts.skipped += 1
        else:
            counts.fail(name)
    if code != 0 and counts.failed == 0:
        counts.fail(f"{kind}: pytest ended with exit code {code}")
    return counts


def run_kind(kind, preset):
    name = f"{kind}-{preset}" if preset else kind
    log, results = LOGS / f"{name}.log", LOGS / f"{name}.xml"
    results.unlink(missing_ok=True)
    build = ROOT / "build" / (preset or "release")
    if kind in PYTEST_KINDS:
        folder = f"tests/{kind.removesuffix('-tls')}"
        if not any((ROOT / folder).glob("test_*.py")):
            return Counts(), log
        environment = {"UVHTTP_BUILD_DIR": str(build), "PYTHONDONTWRITEBYTECODE": "1",
                       "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
                       "UBSAN_OPTIONS": "print_stacktrace=1"}
        files = [folder]
        if kind == "wire-tls":
            environment["UVHTTP_WIRE_TLS"] = "1"
            files = [f"{folder}/test_{name}.py" for name in TLS_TESTS]
        elif preset == "tsan":
            files = [f"{folder}/test_{name}.py" for name in TSAN_TESTS[kind]]
        code = run(["/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={results}", *files],
                   log, environment)
        return count_pytest(kind, results, code), log
    chosen = ["-R", f"/test_({'|'.join(TSAN_TESTS[kind])})$"] if preset == "tsan" else []
    listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-L", f"^{kind}$", *chosen], capture_output=True, text=True)
    if "Total Tests: 0" in listed.stdout:
        return Counts(), log
    run(["ctest", "--test-dir", build, "-L", f"^{kind}$", *chosen, "-j", str(os.cpu_count() or 1), "--output-junit", results,
         "--output-on-failure", "--test-output-size-passed", "10000000", "--test-output-size-failed", "10000000"], log, {})
    return count_ctest(kind, results), log


def unknown_tests(tests):
    """Test files in folders that no kind covers, so that nobody would ever run them."""
    found = [path for kind in ("c", "cpp", "py") for path in tests.glob(f"*/**/test_*.{kind}")] + [*tests.glob("test_*")]
    found = [path.relative_to(tests) for path in found]
    return sorted(path.as_posix() for path in found if len(path.parts) != 2 or path.parts[0] not in KINDS
                  or (path.suffix == ".py") != (path.parts[0] in PYTEST_KINDS))


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description="Runs the tests.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--preset", action="append", choices=(*PRESETS, "tsan"),
                        help="only with this build (default: all three)")
    parser.add_argument("--tsan-targets", action="store_true", help="only print what has to be built for the preset tsan")
    options = parser.parse_args()
    if options.tsan_targets:
        print("wire_server workers_server tls_server", *(f"{kind}_test_{name}" for kind in ("unit", "faults") for name in TSAN_TESTS[kind]))
        return
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"there is no kind '{kind}'; there are {', '.join(KINDS)}")
    kinds = options.kinds or KINDS

    LOGS.mkdir(parents=True, exist_ok=True)
    steps = [(kind, preset) for preset in options.preset or (*PRESETS, "tsan")
             for kind in kinds if kind in PRESET_KINDS and kind in PRESET_ONLY.get(preset, PRESET_KINDS)]
    steps += [(kind, None) for kind in kinds if kind not in PRESET_KINDS]
    total = Counts()
    for path in unknown_tests(ROOT / "tests"):
        print(f"FAILED tests/{path}: nothing runs it, because it lies in no folder of a kind of tests")
        total.fail(path)
    for kind, preset in steps:
        if kind in OPTIONAL_KINDS and kind not in options.kinds and not any((ROOT / "tests" / kind).glob("test_*")):
            continue
        title = f"{kind} ({preset})" if preset else kind
        start = time.monotonic()
        print(f"{title:<18} ...", end="\n" if not sys.stdout.isatty() else "\r", flush=True)
        counts, log = run_kind(kind, preset)
        if counts.total() == 0:
            counts.fail(f"{title}: no test was found")
        erase = "\r\x1b[K" if sys.stdout.isatty() else ""
        print(f"{erase}{title:<18} {counts.line()}   {time.monotonic() - start:.1f} s", flush=True)
        for name in counts.failures:
            print(f"    FAILED {name}")
        if counts.failures and log.exists():
            print(f"    see {log.relative_to(ROOT)}", flush=True)
        total.add(counts)

    (ROOT / "build" / "tests.count").write_text(total.line() + "\n")
    print(total.line(), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
