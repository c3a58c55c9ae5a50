"""The page of `./dev bench http --report` has the figures of the JSON, and lists missing ones."""

import copy
import json
import re

import pytest
from support import bench

from benchlib import Refused, report


def result(peer, *values, fault=None, unsupported=None):
    runs = [{"counted": True, "fault": None, "cpu_us": value} for value in values]
    runs += [{"counted": False, "fault": fault}] if fault else []
    middle = sorted(values)[len(values) // 2] if values else None
    return {"work": "memory", "peer": peer, "connections": 50, "unsupported": unsupported,
            "runs": runs, "median": {"cpu_us": middle} if values else None, "spread": {}}


def peer(name, reason=None):
    return {"name": name, "title": name, "version": "1.0", "configuration": "as | it is",
            "reason": reason}


RUN = {
    "kind": "http", "environment": {"commit": "abc", "cpu": "fast", "command": "./dev bench http"},
    "options": {"rounds": 3, "seconds": 1}, "works": [{"name": "memory", "title": "13 bytes"}],
    "peers": [peer("floor"), peer("uvhttp"), peer("nginx"), peer("caddy"), peer("h2o", "no room")],
    "results": [result("floor", 4.0, 5.0, 6.0), result("uvhttp", 6.0, 5.0, 9.0, fault="2 timeouts"),
                result("nginx", 8.0, 10.0, 9.0), result("caddy", unsupported="no 'memory'")]}


@pytest.fixture
def page(tmp_path):
    report.write([RUN], tmp_path / "page.md")
    return tmp_path


def cells_of(text, title):
    row, = re.findall(rf"^\| {title} \|(.*)\|$", text, re.M)
    return [cell.strip() for cell in row.split("|")]


def test_page_has_figures_of_run(page):
    text = (page / "page.md").read_text()
    # Ratios within a round: 6/4, 5/5, 9/6 and 6/8, 5/10, 9/9.
    assert cells_of(text, "13 bytes, 50 connections") == [
        "5.00 (1.50 ×)", "**6.00**", "9.00 (0.75 ×)"]
    assert "uvhttp has the lowest figure (µs of CPU time per request) in 1 of 1 rows." in text
    for line in ("- commit: abc", "- cpu: fast", "    ./dev bench http", "| nginx | 1.0 | as"):
        assert line in text


def test_sentence_names_rows_where_others_need_less(tmp_path):
    slow = {**RUN, "results": [result("uvhttp", 8.0, 8.0), result("nginx", 4.0, 4.0)]}
    report.write([slow], tmp_path / "page.md")
    assert ("in 0 of 1 rows; not in 13 bytes, 50 connections (2.00 × nginx)."
            in (tmp_path / "page.md").read_text())


def test_page_has_figures_of_parser_and_router(tmp_path):
    environment = {"commit": "abc", "cpu": "fast", "command": "./dev bench parser"}
    parsers = {"uvhttp avx2": {"rounds": [10, 12, 14]}, "uvhttp swar": {"rounds": [90, 90, 90]},
               "picohttpparser": {"rounds": [20, 20, 20]}}
    parser = {"kind": "parser", "environment": environment,
              "corpus": {"messages": [{"name": "get-45", "parsers": parsers}]}}
    router = {"kind": "router", "environment": environment,
              "sets": [{"shape": "mixed", "routes": 1000,
                        "figures": {"uvhttp": [10, 10], "matchit": [20, 40]}}]}
    report.write([parser, router], tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert cells_of(text, "get-45") == ["**12.00**", "20.00 (0.60 ×)"]
    assert cells_of(text, "mixed, 1,000 routes") == ["**10.00**", "30.00 (0.38 ×)"]


def test_page_lists_missing_figures(page):
    text = (page / "page.md").read_text()
    assert "- h2o was not available: no room." in text
    assert "- caddy, memory: not supported: no 'memory'." in text
    assert "- uvhttp, memory: 1 of 4 runs not counted: 2 timeouts." in text


def test_chart_has_dot_for_each_ratio(page):
    chart = (page / "images/page-http-us.svg").read_text()
    dots = re.findall(r'<circle cx="([0-9.]+)" cy="76" .*?<title>(.*?)</title>', chart)
    assert [title for _, title in dots] == ["floor: 1.50", "nginx: 0.75"]
    one = float(re.search(r'd="M([0-9.]+) .*stroke-width="2"', chart)[1])
    assert float(dots[0][0]) > one > float(dots[1][0])
    assert "(images/page-http-us.svg)" in (page / "page.md").read_text()


def test_results_of_different_commits_are_refused(tmp_path):
    other = {**RUN, "environment": {**RUN["environment"], "commit": "def"}}
    with pytest.raises(Refused, match="differ in commit: abc, def"):
        report.write([RUN, other], tmp_path / "page.md")


def test_from_option_writes_page_of_files(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    more = ["--from", tmp_path / "run.json", "--report"]
    done = bench("http", tmp_path, *more, tmp_path / "page.md")
    assert done.code == 0 and (tmp_path / "page.md").exists(), done.err
    done = bench("http", tmp_path, *more, tmp_path / "missing/page.md")
    assert done.code == 1 and "page" in done.err
    (tmp_path / "run.json").write_text("{}")
    done = bench("http", tmp_path, *more, tmp_path / "page.md")
    assert done.code == 1 and "run.json is no result of bench http, ws" in done.err


@pytest.mark.parametrize("key", ["environment", "peers", "results", "works"])
def test_malformed_result_is_refused(tmp_path, key):
    broken = copy.deepcopy(RUN)
    del broken[key]
    with pytest.raises(Refused, match="is malformed"):
        report.write([broken], tmp_path / "page.md")
