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


def test_page_has_figures_of_run(page):
    text = (page / "page.md").read_text()
    row, = re.findall(r"^\| 13 bytes, 50 connections \|(.*)\|$", text, re.M)
    # Ratios within a round: 6/4, 5/5, 9/6 and 6/8, 5/10, 9/9.
    cells = [cell.strip() for cell in row.split("|")]
    assert cells == ["5.00 (1.50 ×)", "**6.00**", "9.00 (0.75 ×)", "–"]
    assert ("- 13 bytes, 50 connections: 6.00 µs of CPU time, 1.50 times the floor; "
            "0.75 times the nearest of 1 others (nginx).") in text
    for line in ("- commit: abc", "- cpu: fast", "    ./dev bench http", "Medians of 3 rounds"):
        assert line in text


def test_page_lists_missing_figures(page):
    text = (page / "page.md").read_text()
    assert "- h2o was not available: no room." in text
    assert "- caddy, memory: not supported: no 'memory'." in text
    assert "- uvhttp, memory: 1 of 4 runs not counted: 2 timeouts." in text


def test_chart_has_bar_for_each_figure(page):
    chart = (page / "page-http-memory-50.svg").read_text()
    bars = re.findall(r'<rect .*width="([0-9.]+)"', chart)
    assert len(bars) == 3
    assert float(bars[1]) / float(bars[2]) == pytest.approx(6 / 9, rel=1e-2)
    assert "![13 bytes, 50 connections](page-http-memory-50.svg)" in (page / "page.md").read_text()


def test_from_option_writes_page_of_files(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    more = ["--from", tmp_path / "run.json", "--report"]
    done = bench("http", tmp_path, *more, tmp_path / "page.md")
    assert done.code == 0 and (tmp_path / "page.md").exists(), done.err
    done = bench("http", tmp_path, *more, tmp_path / "missing/page.md")
    assert done.code == 1 and "page" in done.err
    (tmp_path / "run.json").write_text("{}")
    done = bench("http", tmp_path, *more, tmp_path / "page.md")
    assert done.code == 1 and "run.json is no result of bench http or ws" in done.err


@pytest.mark.parametrize("key", ["environment", "peers", "results", "works"])
def test_malformed_result_is_refused(tmp_path, key):
    broken = copy.deepcopy(RUN)
    del broken[key]
    with pytest.raises(Refused, match="is malformed"):
        report.write([broken], tmp_path / "page.md")
