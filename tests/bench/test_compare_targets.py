"""`./dev bench compare` and `./dev bench targets` on made-up results: what moved beyond the noise, and which marks are met."""

import json
import pathlib
import statistics
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

sys.path.insert(0, str(ROOT / "tools"))
from benchlib import targets  # noqa: E402
sys.path.pop(0)


def result(work, peer, values, connections=50):
    runs = [{"counted": value is not None, "fault": None if value is not None else "3 timeouts", "cpu_us": value, "user_us": value and value / 10,
             "rps": value and 1e6 / value, "p99_ms": 1.0, "rss_kb": 1000} for value in values]
    return {"work": work, "peer": peer, "connections": connections, "workers": 1, "runs": runs}


def http_report(*results):
    peers = [{"name": name, "title": name} for name in dict.fromkeys(one["peer"] for one in results)]
    return {"kind": "http", "format": 1, "environment": {"commit": "abc", "cpu": "C"}, "peers": peers, "results": list(results), "curves": []}


@pytest.fixture
def run(tmp_path):
    """Runs a command on reports, which are written to files."""
    def runner(command, *reports, options=()):
        paths = []
        for number, report in enumerate(reports):
            paths.append(tmp_path / f"{number}.json")
            paths[-1].write_text(report if isinstance(report, str) else json.dumps(report))
        words = ["/usr/bin/python3", ROOT / f"tools/bench_{command}.py", *(["--from"] if command == "targets" else []), *paths, *options]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return runner


def row(done, *words):
    """The last cells of the first line that has all these words."""
    return next(line for line in done.stdout.split("\n") if all(word in line for word in words)).split()


# compare

def test_only_what_moved_beyond_the_noise_is_flagged(run):
    old = http_report(result("memory", "uvhttp", [5.0, 5.1, 5.2]), result("memory", "floor", [4.0, 4.1, 4.2]),
                      result("json", "uvhttp", [6.0, 6.1, 6.2]), result("file-13", "uvhttp", [7.000, 7.001, 7.002]))
    new = http_report(result("memory", "uvhttp", [5.8, 6.0, 6.1]), result("memory", "floor", [4.1, 4.2, 4.3]),
                      result("json", "uvhttp", [4.0, 4.1, 6.05]), result("file-13", "uvhttp", [7.005, 7.006, 7.007]))
    done = run("compare", old, new)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.split("\n") if line.startswith("  ") and "±" in line]
    # json overlaps; file-13 does not, but by less than one part in a hundred.
    assert [(line[0], line[5:]) for line in lines] == [
        ("uvhttp", ["1.176", "HIGHER"]), ("floor", ["1.024"]), ("uvhttp", ["0.672"]), ("uvhttp", ["1.001"])]
    assert lines[0][1:5] == ["5.10", "±2%", "6.00", "±2%"]
    assert "floor: 1.024 in the median of 1; it shows how far the machine itself moved" in done.stdout
    assert "1 of 4 figures moved beyond the noise" in done.stdout
    assert run("compare", old, new, options=["--moved"]).stdout.count("json") == 0


def test_runs_that_do_not_count_are_not_compared(run):
    done = run("compare", http_report(result("memory", "uvhttp", [5.0, None, 5.2]), result("json", "uvhttp", [None])),
               http_report(result("memory", "uvhttp", [5.1, 5.1, 5.1]), result("json", "uvhttp", [6.0])))
    assert "0 of 1 figures moved" in done.stdout
    assert "only in the new one: json, 50 connections, uvhttp" in done.stdout


def test_the_noise_of_one_round_is_unknown(run):
    done = run("compare", http_report(result("memory", "uvhttp", [5.0])), http_report(result("memory", "uvhttp", [9.0])))
    assert "1.800  ?" in done.stdout and "1 have one round" in done.stdout


def test_another_metric_can_be_compared(run):
    one = http_report(result("memory", "uvhttp", [5.0, 5.0]))
    two = http_report(result("memory", "uvhttp", [4.0, 4.0]))
    done = run("compare", one, two, options=["--metric", "rps"])
    assert "requests/s" in done.stdout and "1.250  HIGHER" in done.stdout


def test_quick_parser_and_scale_can_be_compared(run):
    def quick(*values):
        return {"works": [{"name": "memory", "servers": {"uvhttp": {"runs": [{"counted": True, "cpu_us": value} for value in values]}}}]}

    def parser(*values):
        return {"corpus": {"messages": [{"name": "get-45", "parsers": {"uvhttp swar": {"rounds": list(values)}}}]}}

    def scale(*values):
        point = {"peer": "uvhttp", "x": 10, "cpu_us": statistics.median(values), "spread": {"cpu_us": [min(values), max(values)]}}
        return {"kind": "scale", "curves": [{"name": "routes", "points": [point]}]}

    for maker in (quick, parser, scale):
        done = run("compare", maker(10, 11, 12), maker(5.0, 5.5, 6.0))
        assert done.returncode == 0, done.stderr
        assert "0.500  LOWER" in done.stdout
    done = run("compare", quick(1, 2), parser(1, 2))
    assert done.returncode == 2 and "is of bench quick" in done.stderr


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", '{"kind": "http"}', '{"kind": "http", "results": [3]}', '{"works": [3]}', '{"works": 7}'])
def test_what_is_no_result_is_refused(run, text):
    done = run("compare", text, http_report(result("memory", "uvhttp", [5.0])))
    assert done.returncode == 2 and "0.json" in done.stderr and "Traceback" not in done.stderr


# targets

def marks_of(*results, **more):
    return {(mark["text"], mark["level"]): mark for mark in targets.judge(http_report(*results), **more)}


def test_ratios_are_taken_within_a_round():
    marks = marks_of(result("file-13", "uvhttp", [5.0, 10.0, 7.0]), result("file-13", "nginx", [10.0, 10.0, None]))
    mark = marks["13-byte file beside nginx, first mark", "must"]
    assert (mark["value"], mark["limit"], mark["met"]) == (pytest.approx(0.75), 0.75, True)
    mark = marks["13-byte file beside nginx", "must"]
    assert (mark["limit"], mark["met"]) == (0.72, False)


def test_files_are_judged_beside_the_better_floor_and_h2o():
    marks = marks_of(result("file-10k", "uvhttp", [5.0]), result("file-10k", "floor", [4.9]), result("file-10k", "floor-memory", [4.0]),
                     result("file-10k", "h2o", [5.0]), result("encoded-10k", "uvhttp", [7.0]), result("encoded-10k", "nginx", [10.0]),
                     result("mix", "floor", [7.9]), result("encoded-10k", "floor", [7.0]),
                     result("mix", "uvhttp", [8.0]), result("mix", "nginx", [10.0]), result("mix", "h2o", [7.0]))
    found = {text: (mark["value"], mark["met"]) for (text, level), mark in marks.items() if level == "must"}
    assert found["10 KB file beside the better floor"] == (pytest.approx(1.25), False)
    assert found["10 KB file beside h2o"] == (pytest.approx(1.0), True)
    assert found["precompressed 10 KB text beside nginx"] == (pytest.approx(0.7), True)
    assert found["2,000 files by Zipf's law beside nginx"] == (pytest.approx(0.8), False)
    assert found["2,000 files by Zipf's law beside h2o"] == (pytest.approx(8 / 7), False)
    assert found["2,000 files by Zipf's law beside the better floor"] == (pytest.approx(8 / 7.9), True)
    assert found["precompressed 10 KB text beside the better floor"] == (pytest.approx(1.0), True)
    assert found["100 KB file beside the better floor"] == (None, None)


def test_the_best_of_all_peers_is_found():
    marks = marks_of(result("memory", "uvhttp", [5.0]), result("memory", "floor", [4.9]), result("memory", "nginx", [6.0]),
                     result("memory", "actix", [4.0]), result("memory", "h2o", [None]))
    mark = marks["13 bytes from memory beside the best peer of 2 (actix)", "must"]
    assert mark["value"] == pytest.approx(1.25) and not mark["met"]
    assert marks["13 bytes from memory beside the floor", "must"]["met"]
    assert marks["13 bytes from memory, user time", "aim"]["value"] == pytest.approx(0.5)


def test_connections_curves_and_parser_are_judged():
    report = http_report(result("connections-50", "uvhttp", [5.0], 50), result("connections-500", "uvhttp", [5.4], 500),
                         result("connections-2000", "uvhttp", [5.6], 2000), result("connections-50", "floor", [4.0], 50),
                         result("connections-500", "floor", [5.0], 500))
    report["curves"] = [
        {"name": "idle-memory", "base_x": 1000, "points": [{"peer": "uvhttp", "x": 10000, "bytes": 345}]},
        {"name": "connections", "points": [{"peer": "uvhttp", "x": 50, "cpu_us": 1.0}]},  # of busy ones: says nothing of idle ones
        {"name": "connections", "base_x": 50, "points": [{"peer": "uvhttp", "x": 50, "cpu_us": 5.0}],
         "left_out": [{"peer": "uvhttp", "x": 15000, "reason": "too few descriptors"}]},
        {"name": "routes", "base_x": 10, "points": [{"peer": "uvhttp", "x": 10, "cpu_us": 5.0}, {"peer": "uvhttp", "x": 10000, "cpu_us": 8.0}]}]
    parser = {"corpus": {"messages": [{"name": "get-189", "parsers": {"uvhttp avx512": {"ratio": 0.6}, "uvhttp swar": {"ratio": 2.0},
                                                                     "httparse": {"ratio": 1.0}}}]}}
    found = {mark["text"]: (mark["value"], mark["met"], mark["note"]) for mark in targets.judge(report, parser)}
    assert found["500 connections beside 50"] == (pytest.approx(1.08), True, "the floor's own is 1.250")
    assert found["2,000 connections beside 50"] == (pytest.approx(1.12), False, None)
    assert found["memory of an idle connection"] == (345, True, None)
    assert found["50 busy connections beside 15,000 idle ones"] == (None, None, "too few descriptors")
    assert found["a request with 10,000 routes beside 10"] == (pytest.approx(1.6), False, None)
    assert found["parser with avx512, get-189 beside picohttpparser native"] == (0.6, True, None)
    assert found["parser with avx2, get-189 beside picohttpparser native"] == (None, None, "not measured")
    assert found["parser with avx512, get-45 beside picohttpparser native"] == (None, None, "not measured")


def test_the_table_is_printed_from_files(run, tmp_path):
    done = run("targets", http_report(result("pipelined", "uvhttp", [0.5], 64), result("pipelined", "nginx", [5.0], 64)),
               options=["--json", str(tmp_path / "out.json")])
    assert done.returncode == 0, done.stderr
    assert row(done, "16 pipelined beside nginx")[-6:] == ["must", "0.100", "x", "0.125", "x", "met"]
    assert row(done, "16 pipelined ", " us ")[-2:] == ["NOT", "MET"]
    assert row(done, "two workers beside one")[-2:] == ["not", "measured"]
    assert "13 bytes from memory beside uWebSockets: uWebSockets is in no registry used here" in done.stdout
    assert "What has to hold: 1 met, 0 not met, 27 not measured" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["kind"] == "targets"


def test_workers_are_judged_with_the_load_of_their_mark(run):
    workers = {"kind": "workers", "results": [{"load": "50 connections", "workers": 2, "ratio": 0.9}, {"load": "1000 connections", "workers": 4, "ratio": 0.8},
                                              {"load": "1000 connections", "workers": 2, "ratio": 1.06}]}
    done = run("targets", http_report(result("pipelined", "uvhttp", [0.5], 64)), json.dumps(workers))
    assert row(done, "two workers beside one, 1000 connections")[-7:] == ["aim", "1.060", "x", "1.050", "x", "NOT", "MET"]


def test_what_is_no_result_gives_no_table(run):
    for text in ("x", "[]", '{"kind": "http", "results": [3]}', '{"kind": "other"}'):
        done = run("targets", text)
        assert done.returncode == 1 and done.stdout == "" and "Traceback" not in done.stderr
