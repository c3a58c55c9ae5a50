"""`./dev bench router` and router_lookup: wrong matches and debug builds have no figures."""

import json
import subprocess

import pytest
from support import BIN, BUILD, bench

from benchlib import routes

PROGRAM = BIN / "router_lookup"


def is_release():
    return "CMAKE_BUILD_TYPE:STRING=Release" in (BUILD / "CMakeCache.txt").read_text()


def lookup(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "set"
    routes.write(file, "mixed", 10)
    return file


@pytest.mark.parametrize("shape", routes.SHAPES)
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_route_sets_are_valid_and_reproducible(tmp_path, shape, count):
    file = tmp_path / "set"
    routes.write(file, shape, count)
    text = file.read_text()
    patterns, lookups = (part.splitlines() for part in text.split("\n\n"))
    assert len(patterns) == len(set(patterns)) == count and len(lookups) == routes.LOOKUPS
    for line in lookups:
        number, params, path = line.split(" ")
        pattern = patterns[int(number)]
        assert int(params) == sum(segment[:1] in (":", "*") for segment in pattern.split("/"))
        assert path.startswith(pattern.split(":")[0].split("*")[0])
    routes.write(file, shape, count)
    assert file.read_text() == text  # the same in every run


def test_lookups_are_measured_and_counted(small):
    done = lookup(small, "--rounds", 2, "--milliseconds", 1)
    if not is_release():
        assert done.returncode == 1 and "not a Release build" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["routes"], report["lookups"], len(report["rounds"])) == (10, routes.LOOKUPS, 2)
    assert all(value > 0 for value in report["rounds"])
    _, lookups = small.read_text().split("\n\n")
    routes_sum = 0
    for line in lookups.splitlines():
        number, _, path = line.split(" ")
        routes_sum += int(number) + 1
    assert report["checksum"] > routes_sum  # plus the lengths of parameters


@pytest.mark.skipif(not is_release(), reason="only Release builds measure")
@pytest.mark.parametrize("line", ["1 0 /none", "0 0 /b", "0 1 /a", "1 0 /b x"])
def test_wrong_match_prints_no_figures(tmp_path, line):
    file = tmp_path / "set"
    file.write_text(f"/a\n/b\n\n{line}\n")
    done = lookup(file)
    assert done.returncode == 1 and done.stdout == "" and "matches a wrong route" in done.stderr


@pytest.mark.skipif(not is_release(), reason="only Release builds measure")
def test_invalid_set_is_refused(tmp_path):
    file = tmp_path / "set"
    for text in ("", "/a\n", "/a\n/a\n\n0 0 /a\n", "/a\n\nx\n"):
        file.write_text(text)
        done = lookup(file)
        assert done.returncode == 1 and "is no valid set" in done.stderr
    assert lookup(tmp_path / "none").returncode == 1
    assert lookup().returncode == 2
    assert lookup(file, "--rounds", "0").returncode == 2


@pytest.mark.skipif(not is_release(), reason="only Release builds measure")
def test_router_command_measures_each_set(tmp_path):
    done = bench("router", BUILD, "--no-peers", "--turns", 1, "--rounds", 1, "--milliseconds", 1,
                 "--shapes", "static", "mixed", out=tmp_path)
    assert done.code == 0, done.err
    assert [(one["shape"], one["routes"]) for one in done.report["sets"]] == [
        (shape, size) for shape in ("static", "mixed") for size in routes.SIZES]
    for one in done.report["sets"]:
        assert f"{one['shape']}, {one['routes']:,}" in done.out and one["figures"]["uvhttp"][0] > 0
