"""`./dev bench router` and router_lookup: wrong matches and debug builds have no figures."""

import json

import pytest
from support import BIN, BUILD, bench, is_release, only_release, run

from benchlib import routes


def lookup(*arguments):
    return run(BIN / "router_lookup", *arguments)


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


def test_lookups_are_measured_and_counted(tmp_path):
    small = tmp_path / "set"
    routes.write(small, "mixed", 10)
    done = lookup(small, "--rounds", 2, "--milliseconds", 1)
    if not is_release:
        assert done.returncode == 1 and "not a Release build" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["routes"], report["lookups"], len(report["rounds"])) == (10, routes.LOOKUPS, 2)
    assert all(value > 0 for value in report["rounds"])
    lookups = small.read_text().split("\n\n")[1].splitlines()
    # The checksum is this sum, plus the lengths of parameters.
    assert report["checksum"] > sum(int(line.split(" ")[0]) + 1 for line in lookups)


WRONG, INVALID = "matches a wrong route", "is no valid set"


@only_release
@pytest.mark.parametrize("text, reason", [
    *((f"/a\n/b\n\n{line}\n", WRONG) for line in ("1 0 /none", "0 0 /b", "0 1 /a", "1 0 /b x")),
    *((text, INVALID) for text in ("", "/a\n", "/a\n/a\n\n0 0 /a\n", "/a\n\nx\n", None))])
def test_wrong_match_or_set_prints_no_figures(tmp_path, text, reason):
    file = tmp_path / "set"
    if text is not None:
        file.write_text(text)
    done = lookup(file)
    assert done.returncode == 1 and done.stdout == "" and reason in done.stderr


@only_release
def test_router_command_measures_each_set():
    done = bench("router", BUILD, "--no-peers", "--turns", 1, "--rounds", 1, "--milliseconds", 1,
                 "--shapes", "static", "mixed")
    assert done.code == 0, done.err
    assert [(one["shape"], one["routes"]) for one in done.report["sets"]] == [
        (shape, size) for shape in ("static", "mixed") for size in routes.SIZES]
    for one in done.report["sets"]:
        assert f"{one['shape']}, {one['routes']:,}" in done.out and one["figures"]["uvhttp"][0] > 0
