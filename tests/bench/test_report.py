"""The page of `./dev bench http --report` has the figures of the JSON, and lists missing ones."""

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


def page_of(directory, *results):
    report.write(results, directory / "page.md")
    return (directory / "page.md").read_text()


def cells_of(text, title):
    row, = re.findall(rf"^\| {title} \|(.*)\|$", text, re.M)
    return [cell.strip().replace("\u00a0", " ") for cell in row.split("|")]


def test_page_has_figures_of_run(tmp_path):
    text = page_of(tmp_path, RUN)
    # Ratios within a round: 6/4, 5/5, 9/6 and 6/8, 5/10, 9/9.
    assert cells_of(text, "13 bytes") == [
        "5.00 (1.50 ×)", "**6.00**", "9.00 (0.75 ×)"]
    assert "uvhttp has the lowest figure (µs of CPU time per request) in 1 of 1 rows." in text
    for line in ("- commit: abc", "- cpu: fast", "    ./dev bench http", "| nginx | 1.0 | as"):
        assert line in text


def test_sentence_names_rows_where_others_need_less(tmp_path):
    slow = {**RUN, "results": [result("uvhttp", 8.0, 8.0), result("nginx", 4.0, 4.0)]}
    assert "in 0 of 1 rows; not in 13 bytes (2.00 × nginx)." in page_of(tmp_path, slow)


def test_page_has_figures_of_parser_and_router(tmp_path):
    environment = {"commit": "abc", "cpu": "fast", "command": "./dev bench parser"}
    parsers = {"uvhttp avx2": {"rounds": [10, 12, 14]}, "uvhttp swar": {"rounds": [90, 90, 90]},
               "picohttpparser": {"rounds": [20, 20, 20]}}
    parser = {"kind": "parser", "environment": environment,
              "corpus": {"messages": [{"name": "get-45", "parsers": parsers}]}}
    router = {"kind": "router", "environment": environment,
              "sets": [{"shape": "mixed", "routes": 1000,
                        "figures": {"uvhttp": [10, 10], "matchit": [20, 40]}}]}
    text = page_of(tmp_path, parser, router)
    assert cells_of(text, "get-45") == ["**12.00**", "20.00 (0.60 ×)"]
    assert cells_of(text, "mixed, 1,000 routes") == ["**10.00**", "30.00 (0.38 ×)"]


def test_row_without_figure_of_ours_has_no_ratios(tmp_path):
    runs = [result("uvhttp", fault="3 timeouts"), result("floor", 4.0), result("nginx", 8.0)]
    text = page_of(tmp_path, {**RUN, "results": runs})
    assert cells_of(text, "13 bytes") == ["4.00", "**8.00**"]
    assert "uvhttp, memory: 1 of 1 runs not counted: 3 timeouts." in text
    page_of(tmp_path, {**RUN, "results": runs[:2]})  # the floor alone: no row
    page_of(tmp_path, {**RUN, "results": runs[1:]})  # not measured at all


def test_page_lists_missing_figures(tmp_path):
    text = page_of(tmp_path, RUN)
    assert "- h2o was not available: no room." in text
    assert "caddy, memory" not in text
    assert "- uvhttp, memory: 1 of 4 runs not counted: 2 timeouts." in text


def test_chart_has_dot_for_each_ratio(tmp_path):
    assert "(images/page-http-us.svg)" in page_of(tmp_path, RUN)
    chart = (tmp_path / "images/page-http-us.svg").read_text()
    dots = re.findall(r'<circle cx="([0-9.]+)" cy="76" .*?<title>(.*?)</title>', chart)
    assert [title for _, title in dots] == ["floor: 1.50", "nginx: 0.75"]
    one = float(re.search(r'd="M([0-9.]+) .*stroke-width="2"', chart)[1])
    assert float(dots[0][0]) > one > float(dots[1][0])


@pytest.mark.parametrize("results, reason", [
    ([RUN, RUN], "two results of one kind: http, http"),
    ([RUN, {**RUN, "kind": "ws", "environment": {**RUN["environment"], "commit": "def"}}],
     "differ in commit: abc, def"),
    ([RUN, {**RUN, "kind": "ws", "environment": {**RUN["environment"], "cpu": "slow"}}],
     "differ in cpu: fast, slow"),
    *(([{name: RUN[name] for name in RUN if name != missing}], "is malformed")
      for missing in ("environment", "peers", "results", "works"))])
def test_unsuitable_results_are_refused(tmp_path, results, reason):
    with pytest.raises(Refused, match=reason):
        page_of(tmp_path, *results)


def test_from_option_writes_page_of_files(tmp_path):
    def write(text, page):
        (tmp_path / "run.json").write_text(text)
        return bench("http", tmp_path, "--from", tmp_path / "run.json", "--report", tmp_path / page)

    done = write(json.dumps(RUN), "page.md")
    assert done.code == 0 and (tmp_path / "page.md").exists(), done.err
    done = write(json.dumps(RUN), "missing/page.md")
    assert done.code == 1 and "page" in done.err
    done = write("{}", "page.md")
    assert done.code == 1 and "run.json is no result of bench http, ws" in done.err
