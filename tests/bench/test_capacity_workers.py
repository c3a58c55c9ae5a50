"""`./dev bench capacity` and `workers`: the arithmetic, and a short run of each."""

import math
import re

import pytest
from support import BUILD, bench, real_wrk, two_cores

from benchlib import run_capacity


def points(*latencies):
    return [{"connections": 10 * (i + 1), "p99_ms": p99, "rps": 1000 * (i + 1), "cpu_us": 5.0}
            for i, p99 in enumerate(latencies)]


@pytest.mark.parametrize("latencies, connections, left", [
    ((1.0, 1.0, 1.1, 1.9, 2.5, 9.0), 40, True),
    ((1.0, 1.0, 5.0, 1.2, 9.0), 40, True),  # one bad point in between is not the knee
    ((1.0, 1.0, 1.1), 30, False),
    ((1.0,), 10, False),
])
def test_the_knee_is_where_p99_leaves_its_flat_part(latencies, connections, left):
    knee, found = run_capacity.find_knee(points(*latencies))
    assert (knee["connections"], found) == (connections, left)


def test_the_best_point_below_a_limit():
    assert run_capacity.best_below(points(0.5, 0.9, 1.5), 1)["rps"] == 2000
    assert run_capacity.best_below(points(1.5, 2.0), 1) is None


@pytest.mark.parametrize("server, generator, full", [
    (0.95, 0.5, "server"), (0.5, 0.95, "generator"), (0.95, 0.95, "server and generator"),
    (0.5, 0.5, "neither")])
def test_whose_core_is_full(server, generator, full):
    point = {"server_share": server, "generator_share": generator}
    assert run_capacity.limited_by(point) == full


def test_workers_for_a_rate():
    assert run_capacity.workers_for(250000, 6.0) == 3  # 1.5 cores at 70 % of each: 2.14
    assert run_capacity.workers_for(70000, 10.0) == 1, "0.7 of a core is just one"
    assert run_capacity.workers_for(70001, 10.0) == 2


@pytest.mark.parametrize("descriptors, available, found", [
    (20000, 24e9, (18000, "descriptors")), (1_000_000, 200e6, (17000, "memory")),
    (1_000_000, 10e6, (24, "memory")), (100, 1e9, (0, "descriptors"))])
def test_max_connections(descriptors, available, found):
    assert run_capacity.suggest_connections(descriptors, available, 4500, 100) == found


@two_cores
@real_wrk
def test_a_short_run_of_capacity(tmp_path):
    done = bench("capacity", BUILD, "--rounds", 1, "--seconds", 1, "--warm-up", 0, "--connections",
                 1, 4, "--idle", 200, "--rate", 250000, "--works", "memory", out=tmp_path)
    if "is not a Release build" in done.err:
        pytest.skip("the build is no release")
    assert done.code == 0, done.err
    work, = done.report["capacity"]
    assert [point["connections"] for point in work["points"]] == [1, 4]
    for point in work["points"]:
        # CPU time per request is what the server's share of its core was spent on.
        share = point["cpu_us"] * point["rps"] / 1e6
        assert share == pytest.approx(point["server_share"], rel=0.05)
        assert 0 < point["generator_share"] < 1.2
    workers = math.ceil(250000 * work["knee"]["cpu_us"] / 1e6 / 0.7)
    assert f"250,000 requests/s: {workers} workers" in done.out
    assert f"max_connections: {done.report['max_connections']:,}, bounded by" in done.out


@two_cores
@real_wrk
def test_a_short_run_of_workers(tmp_path):
    done = bench("workers", BUILD, "--rounds", 1, "--seconds", 1, "--warm-up", 0,
                 "--connections", 8, out=tmp_path)
    if "is not a Release build" in done.err:
        pytest.skip("the build is no release")
    assert done.code == 0, done.err
    for count in (1, 2):
        run, = done.result("memory", f"workers-{count}")["runs"]
        assert len(run["shares"]) == count and run["cpu_us"] > 0
    assert re.search(r"furthest from even \d+\.\d%", done.out)
