"""`./dev bench capacity`, `workers` and `overload`: their calculations, and a short run of each."""

import math
import re

import pytest
from support import BRIEF, BUILD, bench, only_release, two_cores, with_wrk

from benchlib import run_capacity


def points(*latencies):
    return [{"connections": 10 * (i + 1), "p99_ms": p99, "rps": 1000 * (i + 1), "cpu_us": 5.0}
            for i, p99 in enumerate(latencies)]


@pytest.mark.parametrize("latencies, connections, left", [
    ((1.0, 1.0, 1.1, 1.9, 2.5, 9.0), 40, True),
    ((1.0, 1.0, 5.0, 1.2, 9.0), 40, True),  # one slow point is not the knee
    ((1.0, 1.0, 1.1), 30, False),
    ((1.0,), 10, False),
])
def test_knee_is_last_point_with_flat_p99(latencies, connections, left):
    knee, found = run_capacity.find_knee(points(*latencies))
    assert (knee["connections"], found) == (connections, left)


def test_best_below_limit_has_highest_rate():
    assert run_capacity.best_below(points(0.5, 0.9, 1.5), 1)["rps"] == 2000
    assert run_capacity.best_below(points(1.5, 2.0), 1) is None


@pytest.mark.parametrize("server, generator, full", [
    (0.95, 0.5, "server"), (0.5, 0.95, "generator"), (0.95, 0.95, "server and generator"),
    (0.5, 0.5, "neither")])
def test_limited_by_names_full_cores(server, generator, full):
    point = {"server_share": server, "generator_share": generator}
    assert run_capacity.limited_by(point) == full


def test_workers_for_rate_rounds_up():
    assert run_capacity.workers_for(250000, 6.0) == 3  # 1.5 cores at 70 % of each: 2.14
    assert run_capacity.workers_for(70000, 10.0) == 1, "0.7 of a core needs one worker"
    assert run_capacity.workers_for(70001, 10.0) == 2


@pytest.mark.parametrize("descriptors, available, found", [
    (20000, 24e9, (18000, "descriptors")), (1_000_000, 200e6, (17000, "memory")),
    (1_000_000, 10e6, (24, "memory")), (100, 1e9, (0, "descriptors"))])
def test_suggest_connections_uses_lower_bound(descriptors, available, found):
    assert run_capacity.suggest_connections(descriptors, available, 4500, 100) == found


@with_wrk
@only_release
def test_capacity_reports_consistent_figures():
    done = bench("capacity", BUILD, *BRIEF, "--connections", 1, 4, "--idle", 200, "--rate", 250000,
                 "--works", "memory")
    assert done.code == 0, done.err
    work, = done.report["capacity"]
    assert [point["connections"] for point in work["points"]] == [1, 4]
    for point in work["points"]:
        # The server's share of its core is CPU time per request times rate.
        share = point["cpu_us"] * point["rps"] / 1e6
        assert share == pytest.approx(point["server_share"], rel=0.05)
        assert 0 < point["generator_share"] < 1.2
    workers = math.ceil(250000 * work["knee"]["cpu_us"] / 1e6 / 0.7)
    assert f"250,000 requests/s: {workers} workers" in done.out
    assert f"max_connections: {done.report['max_connections']:,}, bounded by" in done.out


@with_wrk
@only_release
def test_workers_reports_shares():
    done = bench("workers", BUILD, *BRIEF, "--connections", 8)
    assert done.code == 0, done.err
    for count in (1, 2):
        run, = done.result("memory", f"workers-{count}")["runs"]
        assert len(run["shares"]) == count and run["cpu_us"] > 0
    assert re.search(r"furthest from even \d+\.\d%", done.out)


@two_cores
@only_release
def test_overload_sums_up():
    done = bench("overload", BUILD, *BRIEF, "--loads", 0.3, 4, "--connections", 20, "--work", 100)
    assert done.code == 0, done.err
    runs = done.report["runs"]
    assert [(run["load"], run["guard"]) for run in runs] == [
        (0.3, "off"), (0.3, "on"), (4, "off"), (4, "on")]
    for run in runs:
        assert run["due"] == run["served"] + run["shed"] + run["late"] > 0
        assert run["guard"] == "on" or run["shed"] == 0
