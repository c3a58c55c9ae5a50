"""The results of `./dev test`: a failure, a crash or a test that did not run never counts as a
pass."""

import importlib.util
import os
import pathlib
import select
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("run_tests", ROOT / "tools/run_tests.py")
run_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_tests)

PROGRAM = """#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void passes(void **state) { (void)state; }
static void fails(void **state) { (void)state; assert_int_equal(1, 2); }
static void is_skipped(void **state) { (void)state; skip(); }
static void ends_the_process(void **state) { (void)state; _Exit(%(code)s); }
static int fails_outside(void **state) { (void)state; return -1; }

int main(void)
{
    const struct CMUnitTest tests[] = {%(tests)s};
    return cmocka_run_group_tests(tests, %(setup)s, %(teardown)s) %(result)s;
}
"""


def count(tmp_path, tests, code="1", setup="NULL", teardown="NULL", result=""):
    """The counted results of a real cmocka program with these tests."""
    rows = ", ".join(f"cmocka_unit_test({test})" for test in tests)
    (tmp_path / "main.c").write_text(
        PROGRAM %
        {"tests": rows, "code": code, "setup": setup, "teardown": teardown, "result": result})
    subprocess.run(["gcc", "-w", "main.c", "-o", "main", "-lcmocka"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    counts = run_tests.count_cmocka("unit/x", "run" if done.returncode == 0 else "fail",
                                    done.stdout)
    return counts.passed, counts.failed, counts.skipped


@pytest.mark.parametrize("tests, wanted", [(["passes", "passes"], (2, 0, 0)),
                                           (["passes", "fails", "is_skipped"], (1, 1, 1)),
                                           (["passes", "ends_the_process", "passes"], (0, 3, 0)),
                                           (["is_skipped"], (0, 0, 1)), ])
def test_cmocka_results_are_counted(tmp_path, tests, wanted):
    assert count(tmp_path, tests) == wanted


def test_cmocka_test_that_exits_with_0_is_a_failure(tmp_path):
    assert count(tmp_path, ["passes", "ends_the_process", "passes"], code="0") == (0, 3, 0)


def test_cmocka_failed_group_setup_is_a_failure(tmp_path):
    passed, failed, _ = count(tmp_path, ["passes", "passes"], setup="fails_outside")
    assert passed == 0 and failed > 0


def test_cmocka_failed_group_teardown_is_a_failure(tmp_path):
    """The exit code of cmocka is 0 all the same."""
    assert count(tmp_path, ["passes", "passes"], teardown="fails_outside") == (2, 1, 0)


def test_cmocka_leak_at_exit_is_a_failure(tmp_path):
    # As with LeakSanitizer: all tests have passed, but the exit code is not 0.
    assert count(tmp_path, ["passes"], result="+ 23") == (1, 1, 0)


def test_cmocka_program_without_tests_is_a_failure():
    counts = run_tests.count_cmocka("unit/x", "run", "")
    assert (counts.passed, counts.failed) == (0, 1)


def names_of(counts):
    """The failed tests without their messages."""
    return [failure.split("\n")[0] for failure in counts.failures]


def results(tmp_path, text):
    path = tmp_path / "results.xml"
    path.write_text(text)
    return path


def test_pytest_results_are_counted(tmp_path):
    path = results(
        tmp_path, """<testsuites><testsuite>
        <testcase classname="a" name="one"/>
        <testcase classname="a" name="two"><failure message="x != é&#10;more"/></testcase>
        <testcase classname="a" name="three"><skipped/></testcase>
        <testcase classname="a" name="four"/><testcase classname="a" name="four"><error/></testcase>
        </testsuite></testsuites>""")
    counts = run_tests.count_pytest("wire", path, 1)
    assert counts.line() == "1 passed, 2 failed, 1 skipped"
    assert counts.failures == ["a.two\n        x != \\xe9\n        more", "a.four"]


@pytest.mark.parametrize("code", [2, 3, 5, -9])
def test_pytest_error_exit_code_is_a_failure(tmp_path, code):
    path = results(
        tmp_path,
        '<testsuites><testsuite><testcase classname="a" name="one"/></testsuite></testsuites>')
    assert run_tests.count_pytest("wire", path, code).failed == 1


def test_pytest_missing_results_are_a_failure(tmp_path):
    assert run_tests.count_pytest("wire", tmp_path / "none.xml", 0).failed == 1
    assert run_tests.count_ctest("unit", tmp_path / "none.xml").failed == 1


def test_processes_left_by_test_are_killed(tmp_path):
    # The remaining process holds a pipe. Its end is detected by the end of file of the pipe.
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    command = ["sh", "-c", f"exec 3>'{tmp_path}/held'; sleep 1000 & exit 7"]
    assert run_tests.run(command, tmp_path / "log", {}) == 7
    ready, _, _ = select.select([reader], [], [], 60)
    assert ready and os.read(reader, 1) == b""
    os.close(reader)


def test_test_file_without_kind_is_reported(tmp_path):
    for name in ("unit/test_a.c", "wire/test_a.py", "wire/raw.py", "unit/test_b.py",
                 "wire/test_b.c", "wire/deep/test_c.py", "new/test_d.c", "test_e.py",
                 "unit/test_f.cpp", "wire/test_g.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert run_tests.unknown_tests(tmp_path) == [
        "new/test_d.c", "test_e.py", "unit/test_b.py", "wire/deep/test_c.py", "wire/test_b.c",
        "wire/test_g.cpp"
    ]


def test_xdist_group_is_not_part_of_name(tmp_path):
    path = results(
        tmp_path, """<testsuites><testsuite>
        <testcase classname="a" name="one[x@y]@test_a"><failure/></testcase>
        </testsuite></testsuites>""")
    assert run_tests.count_pytest("wire", path, 1).failures == ["a.one[x@y]"]


def test_default_is_release_build():
    steps = run_tests.steps_of([], None, False)
    assert steps == [(kind, "release")
                     for kind in ("unit", "vectors", "faults", "budget", "fuzz", "wire")]
    assert run_tests.builds_of(steps) == ["release"]


def test_all_has_every_kind_and_build():
    steps = run_tests.steps_of([], None, True)
    assert {kind for kind, _ in steps} == set(run_tests.KINDS)
    for kind in ("unit", "vectors", "faults", "budget", "fuzz", "wire"):
        assert (kind, "release") in steps and (kind, "asan") in steps
    assert [kind for kind, preset in steps if preset == "tsan"] == ["unit", "faults", "wire"]
    assert [step for step in steps
            if step[0] in ("wire-tls", "wire-h2", "bench", "checks", "install")
            ] == [("wire-tls", "asan"), ("wire-h2", "asan"), ("bench", None), ("checks", None),
                  ("install", None)]
    assert run_tests.builds_of(steps) == ["release", "asan", "tsan"]


@pytest.mark.parametrize("words, steps, builds",
                         [(["unit"], [("unit", "release")], ["release"]),
                          (["unit", "--all"], [("unit", "release"), ("unit", "asan"),
                                               ("unit", "tsan")], ["release", "asan", "tsan"]),
                          (["wire-tls"], [("wire-tls", "asan")], ["asan"]),
                          (["wire-h2"], [("wire-h2", "asan")], ["asan"]),
                          (["wire-tls", "wire"], [("wire", "release"),
                                                  ("wire-tls", "asan")], ["release", "asan"]),
                          (["checks"], [("checks", None)], ["release"]),
                          (["--preset=tsan"], [("unit", "tsan"), ("faults", "tsan"),
                                               ("wire", "tsan")], ["tsan"]),
                          (["wire", "--preset", "asan"], [("wire", "asan")], ["asan"]), ])
def test_arguments_choose_kinds_and_builds(words, steps, builds):
    options = run_tests.parse_arguments(words)
    chosen = run_tests.steps_of(options.kinds, options.preset, options.all)
    assert (chosen, run_tests.builds_of(chosen)) == (steps, builds)


def test_unknown_kind_is_rejected_before_build():
    done = subprocess.run([ROOT / "dev", "test", "unti"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "there is no kind 'unti'" in done.stderr and done.stdout == ""


MARKED = """import os
import pytest

@pytest.mark.alone
def test_alone(): assert ("PYTEST_XDIST_WORKER" not in os.environ)

def test_beside(): assert ("PYTEST_XDIST_WORKER" in os.environ)

@pytest.mark.release_only
def test_once(): pass
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory whose tests are run instead of those of the project."""
    (tmp_path / "tests/wire").mkdir(parents=True)
    (tmp_path / "tests/wire/test_marked.py").write_text(MARKED)
    (tmp_path / "tests/wire/test_plain.py").write_text("def test_plain(): pass\n")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return tmp_path


@pytest.mark.parametrize("preset, passed", [("release", 3), ("asan", 2)])
def test_markers_select_passes(project, preset, passed):
    counts, logs = run_tests.run_pytest("wire", preset)
    assert (counts.passed, counts.failures,
            logs) == (passed + 1, [], []), [path.read_text() for path in project.glob("*.log")]


@pytest.mark.parametrize("spelling", ["pytest.mark.alone", "mark.alone"])
def test_marker_spellings_are_found(project, spelling):
    (project / "tests/wire/test_marked.py").write_text(
        f"import pytest\nfrom pytest import mark\n@{spelling}\ndef test_alone(): assert False\n")
    counts, _ = run_tests.run_pytest("wire", "release")
    assert names_of(counts) == ["tests.wire.test_marked.test_alone"]


def test_failure_of_any_pass_is_counted(project):
    (project / "tests/wire/test_marked.py").write_text(MARKED.replace("assert", "assert not"))
    counts, logs = run_tests.run_pytest("wire", "release")
    assert counts.line() == "2 passed, 2 failed"
    assert [log.name for log in logs] == ["wire-release.log", "wire-release-alone.log"]


def test_worker_crash_is_a_failure_and_ends_run(project):
    """Its replacement could wait without limit for tests that are not assigned to it."""
    (project / "tests/wire/test_marked.py").write_text("import os\nimport pytest\n"
                                                       "@pytest.mark.parametrize('n', range(20))\n"
                                                       "def test_n(n):\n"
                                                       "    if n == 7: os.kill(os.getpid(), 9)\n")
    counts, _ = run_tests.run_pytest("wire", "release")
    assert names_of(counts) == ["tests.wire.test_marked.test_n[7]"]


@pytest.mark.parametrize("words", [
    ["wire-tls", "--preset=release"], ["wire-h2", "--preset=release"], ["fuzz", "--preset=tsan"]
])
@pytest.mark.parametrize("extra", [[], ["--builds"]])
def test_kind_without_build_is_rejected(words, extra):
    done = subprocess.run([sys.executable, ROOT / "tools/run_tests.py", *words, *extra],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "nothing to run" in done.stderr and done.stdout == ""


FINDINGS = """#include <stdlib.h>
int main(int argc, char **argv)
{
    char *volatile memory = malloc(10);
    int number = 0x7fffffff;
    if (argv[1][0] == 'm')
        return memory[argc + 8];
    if (argv[1][0] == 'u')
        return (number += argc) != 0;
    return (memory = NULL) == NULL;
}
"""


def test_sanitizer_finding_has_its_own_exit_code(project):
    """A failed program exits with 1, which many tests expect."""
    (project / "main.c").write_text(FINDINGS)
    subprocess.run(["gcc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "main.c"],
                   cwd=project, check=True)
    (project / "tests/wire/test_marked.py").write_text(
        "import subprocess\nimport pytest\n@pytest.mark.parametrize('what', ['memory', "
        "'undefined', 'leak'])\ndef test_program(what):\n"
        f"    assert subprocess.run(['{project}/a.out', what]).returncode == 86\n")
    counts, _ = run_tests.run_pytest("wire", "asan")
    assert (counts.passed, counts.failed) == (4, 0)


SLOW = """import os, pathlib, time

def test_slow():
    pathlib.Path("pid").write_text(str(os.getpid()))
    time.sleep(1000)
"""


def test_interrupted_run_leaves_no_process(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools/run_tests.py", tmp_path / "tools")
    (tmp_path / "tests/wire").mkdir(parents=True)
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "tests/wire/test_slow.py").write_text(SLOW)
    run = subprocess.Popen([sys.executable, tmp_path / "tools/run_tests.py", "wire"],
                           stdout=subprocess.DEVNULL)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)
    run.terminate()
    assert run.wait() == 143
    worker = pathlib.Path("/proc", (tmp_path / "pid").read_text(), "stat")
    while worker.exists() and worker.read_text().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.05)  # killed, but possibly not yet reaped


def test_summary_line_format():
    assert run_tests.Counts(3, 0).line() == "3 passed, 0 failed"
    assert run_tests.Counts(3, 1, 2).line() == "3 passed, 1 failed, 2 skipped"


@pytest.mark.parametrize("command", [["test"], ["check"], ["bench", "quick"], ["bench", "http"],
                                     ["conformance", "websocket"]], ids=" ".join)
def test_help_needs_no_build(command):
    """Any message of an installation or a build would precede it."""
    done = subprocess.run([ROOT / "dev", *command, "--help"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout.startswith(
        f"usage: ./dev {' '.join(command)}") and done.stderr == "", done
