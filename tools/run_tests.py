#!/usr/bin/python3
"""Runs the tests of the built presets and counts them: tools/run_tests.py [--all] [--preset
NAME]... [KIND]...

Called by `./dev test`, which builds first. Without `--all` it runs the tests in C (cmocka, through
ctest) and the wire tests (pytest against the built programs) with the release build. `--all` is
what continuous integration runs: also the asan build, the tsan build for code with several threads,
the wire tests over TLS and over HTTP/2, and the tests of the benchmarks, the checks and the
installation. Tests in Python run in several processes. Tests marked `alone` run after the others,
one at a time. It counts single tests, not programs. A kind without any test is a failure, so that
missing tests are noticed. Logs: build/logs. The output ends with the time of each kind; the last
line is `N passed, N failed`, with `, N skipped` if there are any.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
C_KINDS = ("unit", "vectors", "faults", "budget", "fuzz")
# Directories that may have no tests: unit tests may read vectors, and wire tests also check
# budgets.
OPTIONAL_KINDS = ("vectors", "budget")
PYTEST_KINDS = ("wire", "wire-tls", "wire-h2", "bench", "checks", "install")
PRESET_KINDS = C_KINDS + ("wire", "wire-tls", "wire-h2")
KINDS = C_KINDS + PYTEST_KINDS
PRESETS = ("release", "asan", "tsan")
# Kinds that `./dev test` runs by default, with the release build.
QUICK_KINDS = C_KINDS + ("wire", )
# Concurrent tests for each processor; more for kinds of tests that mostly wait.
PROCESSES = {**dict.fromkeys(KINDS, 1), "faults": 3, "wire": 2, "wire-tls": 2, "wire-h2": 2}
# Code with several threads: these programs and files also run with ThreadSanitizer.
TSAN_TESTS = {
    "unit": ["access_log", "platform_dir_watch", "platform_line_writer", "rate_limit",
             "static_cache", "static_files", "thread_pool", "tls_used_tickets", "token_buckets"],
    "faults": ["application", "blocking", "event_hub", "jobs", "random_walk", "reload", "streams",
               "uploads", "loop_stats", "workers"],
    "wire": ["blocking", "streams", "tls", "tls_early", "uploads", "workers"],
}
# Tests of HTTP that also run over TLS (kind `wire-tls`), with versions 1.3 and 1.2 in turn, with
# the asan build.
TLS_TESTS = [
    "blocking", "event_streams", "handler_queries", "http1_bodies", "http1_methods",
    "http1_persistence", "http1_rejections", "http1_responses", "http1_streaming", "routing",
    "sending", "streams", "websocket", "websocket_frames"]
# Tests of HTTP that also run over HTTP/2 (kind `wire-h2`), with prior knowledge and over TLS in
# turn, with the asan build.
HTTP2_TESTS = [
    "blocking", "compress", "event_streams", "form_data", "guards", "handler_queries",
    "http1_bodies", "http1_methods", "http1_responses", "http1_streaming", "limits_for_clients",
    "routing", "sending", "site_rules", "static", "static_archive", "static_compression",
    "static_errors", "static_listing", "static_mapping", "static_ranges", "static_rules",
    "static_uploads", "uploads", "websocket_frames", "websocket_life"]
# The same wire tests with another transport: the variable that selects it, and the files.
TRANSPORTS = {"wire-tls": ("UVHTTP_WIRE_TLS", TLS_TESTS),
              "wire-h2": ("UVHTTP_WIRE_HTTP2", HTTP2_TESTS)}
# The kinds that run with a build; other builds run all.
PRESET_ONLY = {"tsan": [*TSAN_TESTS],
               "release": [kind for kind in PRESET_KINDS if kind not in TRANSPORTS]}
# Tests with this marker run with the release build only.
RELEASE_ONLY = "release_only"
# The exit code of pytest if no test has the requested marker.
NO_TESTS_SELECTED = 5
# Printed of the message of a failed test.
REASON_LINES = 12
# The timeout of a run that hangs; no test depends on it.
HANG_SECONDS = 3600


class Counts:
    """The numbers of tests that passed, failed and were skipped, and the names of failed ones."""
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
    """Kills processes that failed tests have left running. `group` is the group of the test run."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, log, environment):
    """Runs a command with its output in a log file, and shows its last line on a terminal. Returns
    the exit code."""
    show = sys.stdout.isatty()
    with open(log, "wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment},
                                   stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
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
        except BaseException:  # interrupted or ended
            end_leftovers(process.pid)
            raise
        with open(log, "rb") as text:
            text.seek(max(0, os.path.getsize(log) - 400))
            lines = text.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        sys.stdout.write(f"\r\x1b[K    {last.strip()[:90]}\r")
        sys.stdout.flush()


def count_cmocka(name, status, output):
    """Counts the tests of a cmocka program from its output. Tests that did not run after a crash
    have failed."""
    counts = Counts()

    def summed(pattern):
        return sum(map(int, re.findall(pattern, output, re.M)))

    planned = summed(r"^\[==========\] (?:\S+: )?Running (\d+) test")
    counts.passed = summed(r"\[ +PASSED +\] (?:\S+: )?(\d+) test\(s\)")
    counts.skipped = summed(r"\[ +SKIPPED +\] (?:\S+: )?(\d+) test\(s\)")
    # A group fixture is no test, and its teardown does not affect the exit code.
    failed = re.findall(r"^\[  FAILED  \] (?:\S+: )?(\S+|GROUP TEARDOWN)$", output, re.M)
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


def read_cases(program, kind, results, counts):
    """Returns the cases of a result in JUnit's format. A missing result is a failure."""
    try:
        return list(xml.etree.ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        counts.fail(f"{kind}: {program} left no result")
        return []


def count_ctest(kind, results):
    counts = Counts()
    for case in read_cases("ctest", kind, results, counts):
        name, status = case.get("name"), case.get("status")
        if kind == "fuzz":
            if status == "run":
                counts.passed += 1
            else:
                counts.fail(name)
        else:
            counts.add(count_cmocka(name, status, case.findtext("system-out") or ""))
    return counts


def with_reason(name, reason):
    """The name of a failed test, and the beginning of its message: the log may be out of reach."""
    # In ASCII, since not every terminal can print every character.
    text = (reason or "").encode("ascii", "backslashreplace").decode()
    lines = text.splitlines()[:REASON_LINES]
    return "\n        ".join([name, *(line[:200] for line in lines)])


def count_pytest(kind, results, code):
    counts = Counts()
    # A test whose teardown fails has two results.
    outcome, reasons = {}, {}
    for case in read_cases("pytest", kind, results, counts):
        # pytest-xdist adds the group of a test to its name.
        name = re.sub(r"@\w+$", "", f"{case.get('classname')}.{case.get('name')}")
        problems = case.findall("failure") + case.findall("error")
        if problems:
            outcome[name] = "failed"
            reasons.setdefault(name, problems[0].get("message"))
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
            counts.fail(with_reason(name, reasons[name]))
    if code != 0 and counts.failed == 0:
        counts.fail(f"{kind}: pytest ended with exit code {code}")
    return counts


def pytest_files(kind, preset):
    if kind in TRANSPORTS:
        return [f"tests/wire/test_{name}.py" for name in TRANSPORTS[kind][1]]
    directory = f"tests/{kind}"
    if preset == "tsan":
        return [f"{directory}/test_{name}.py" for name in TSAN_TESTS[kind]]
    files = (ROOT / directory).glob("test_*.py")
    return sorted(path.relative_to(ROOT).as_posix() for path in files)


def pytest_passes(kind, preset, files):
    """Returns [(suffix of the log's name, options, files)]: tests for several processes, then tests
    that must run alone."""
    chosen = f" and not {RELEASE_ONLY}" if preset in ("asan", "tsan") else ""
    count = PROCESSES[kind] * (os.cpu_count() or 1)
    # A simple search for the marker; a file with the word but no such test does no harm.
    alone = [file for file in files if "alone" in (ROOT / file).read_text()]
    # With groups, pytest-xdist may hang after it has replaced a crashed worker.
    spread = ["-n", str(count), "--dist", "loadgroup", "--max-worker-restart", "0"]
    passes = [("", [*spread, "-m", f"not alone{chosen}"], files)]
    if alone:
        passes.append(("-alone", ["-p", "no:xdist", "-m", f"alone{chosen}"], alone))
    return passes


def run_pytest(kind, preset):
    name = f"{kind}-{preset}" if preset else kind
    environment = {
        "UVHTTP_BUILD_DIR": str(ROOT / "build" / (preset or "release")),
        "PYTHONDONTWRITEBYTECODE": "1",
        # The exit code of a finding differs from those that tests expect of programs.
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:exitcode=86",
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=86"
    }
    if kind in TRANSPORTS:
        environment[TRANSPORTS[kind][0]] = "1"
    counts, logs = Counts(), []
    tests = pytest_files(kind, preset)
    for suffix, options, chosen in pytest_passes(kind, preset, tests) if tests else []:
        log, results = LOGS / f"{name}{suffix}.log", LOGS / f"{name}{suffix}.xml"
        results.unlink(missing_ok=True)
        # pytest would keep the files of its last three runs, which are gigabytes.
        with tempfile.TemporaryDirectory(prefix="pytest-", ignore_cleanup_errors=True) as files:
            code = run(["/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider",
                        f"--basetemp={files}", f"--junitxml={results}", *options, *chosen], log,
                       environment)
        if suffix and code == NO_TESTS_SELECTED:
            continue
        part = count_pytest(f"{kind}{suffix}", results, code)
        counts.add(part)
        if part.failures:
            logs.append(log)
    return counts, logs


def run_ctest(kind, preset):
    name, build = f"{kind}-{preset}", ROOT / "build" / preset
    log, results = LOGS / f"{name}.log", LOGS / f"{name}.xml"
    results.unlink(missing_ok=True)
    chosen = ["-R", f"/test_({'|'.join(TSAN_TESTS[kind])})$"] if preset == "tsan" else []
    listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-L", f"^{kind}$", *chosen],
                            capture_output=True, text=True)
    if "Total Tests: 0" in listed.stdout:
        return Counts(), []
    count = PROCESSES[kind] * (os.cpu_count() or 1)
    run(["ctest", "--test-dir", build, "-L", f"^{kind}$", *chosen, "-j", str(count),
         "--output-junit", results, "--output-on-failure", "--test-output-size-passed", "10000000",
         "--test-output-size-failed", "10000000"], log, {})
    return count_ctest(kind, results), [log]


def unknown_tests(tests):
    """Returns test files in directories without a kind, which would never run."""
    found = [path for kind in ("c", "cpp", "py")
             for path in tests.glob(f"*/**/test_*.{kind}")] + [*tests.glob("test_*")]

    def is_known(path):
        kind = path.parts[0]
        return (len(path.parts) == 2 and kind in KINDS
                and (path.suffix == ".py") == (kind in PYTEST_KINDS))

    found = [path.relative_to(tests) for path in found]
    return sorted(path.as_posix() for path in found if not is_known(path))


def steps_of(kinds, presets, everything):
    """Returns [(kind, preset)] in the order of execution. The preset is None for a kind that runs
    once and needs the release build."""
    if not kinds:
        kinds = KINDS if everything else PRESET_KINDS if presets else QUICK_KINDS
    steps = []
    for preset in presets or PRESETS:
        for kind in PRESET_ONLY.get(preset, PRESET_KINDS):
            usual = "asan" if kind in TRANSPORTS else "release"
            if kind in kinds and (everything or presets or preset == usual):
                steps.append((kind, preset))
    return steps + [(kind, None) for kind in KINDS if kind in kinds and kind not in PRESET_KINDS]


def builds_of(steps):
    """Returns the presets to build."""
    return list(dict.fromkeys(preset or "release" for _, preset in steps))


def run_step(kind, preset):
    """Runs one kind and prints its result. Returns its title, counts and duration in seconds."""
    title = f"{kind} ({preset})" if preset else kind
    start = time.monotonic()
    print(f"{title:<18} ...", end="\n" if not sys.stdout.isatty() else "\r", flush=True)
    counts, logs = run_pytest(kind, preset) if kind in PYTEST_KINDS else run_ctest(kind, preset)
    if counts.total() == 0:
        counts.fail(f"{title}: no test was found")
    seconds = time.monotonic() - start
    erase = "\r\x1b[K" if sys.stdout.isatty() else ""
    print(f"{erase}{title:<18} {counts.line()}   {seconds:.1f} s", flush=True)
    for name in counts.failures:
        print(f"    FAILED {name}")
    for log in logs:
        if counts.failures and log.exists():
            print(f"    see {log.relative_to(ROOT)}", flush=True)
    return title, counts, seconds


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="./dev test", description="Runs the tests: without arguments those in C and the wire "
                                       "tests, with the release build.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"only these: {', '.join(KINDS)}")
    parser.add_argument(
        "--all", action="store_true",
        help="what continuous integration runs: all kinds, and the builds asan and tsan, too")
    parser.add_argument("--preset", action="append", choices=PRESETS,
                        help="only with this build (default: release)")
    # For ./dev: print the presets to build, print the targets for tsan, and the duration of a build
    # (PRESET=SECONDS).
    parser.add_argument("--builds", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tsan-targets", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--built", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"there is no kind '{kind}'; there are {', '.join(KINDS)}")
    return options


def main():
    options = parse_arguments(sys.argv[1:])
    if options.tsan_targets:
        print("wire_server workers_server tls_server",
              *(f"{kind}_test_{name}" for kind in ("unit", "faults") for name in TSAN_TESTS[kind]))
        return 0
    steps = steps_of(options.kinds, options.preset, options.all)
    if not steps:
        print(f"nothing to run: no such kind of tests runs with {' or '.join(options.preset)}",
              file=sys.stderr)
        return 2
    if options.builds:
        print(*builds_of(steps))
        return 0

    # Also ends running tests, like Ctrl+C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    LOGS.mkdir(parents=True, exist_ok=True)
    total = Counts()
    for path in unknown_tests(ROOT / "tests"):
        print(f"FAILED tests/{path}: nothing runs it, because no kind of tests has its directory")
        total.fail(path)
    times = [(f"build ({preset})", float(seconds))
             for preset, seconds in (built.split("=") for built in options.built)]
    for kind, preset in steps:
        if kind in OPTIONAL_KINDS and kind not in options.kinds and not any(
            (ROOT / "tests" / kind).glob("test_*")):
            continue
        title, counts, seconds = run_step(kind, preset)
        times.append((title, seconds))
        total.add(counts)

    print()
    for title, seconds in [*times, ("in all", sum(seconds for _, seconds in times))]:
        print(f"{title:<18} {seconds:6.0f} s")
    (ROOT / "build" / "tests.count").write_text(total.line() + "\n")
    print(total.line(), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
