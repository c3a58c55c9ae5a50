"""The report of a benchmark: its figures, what it does with parts that are missing or wrong, and how it looks in a browser.

The data are made up (report_example.py). The browser is headless Chromium: no word of its console, nothing loaded, nothing beside the
page, no text over another one, in both colour schemes, on a wide page and on a phone.
"""

import html
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests/bench")]

import browser  # noqa: E402
import report_example  # noqa: E402
from benchlib import Refused, report, report_charts, report_data, report_page  # noqa: E402

EXAMPLE = report_example.make()


def copy(**changes):
    """The example with other parts; None takes one away."""
    data = {**json.loads(json.dumps(EXAMPLE)), **changes}
    return {key: value for key, value in data.items() if value is not None}


def small(runs=((6.0, 100), (6.2, 110), (6.4, 120)), **changes):
    """One work, uvhttp at half of nginx's figures."""
    def result(peer, factor):
        entries = [{"counted": True, "fault": None, "cpu_us": cpu * factor, "rps": rps / factor} for cpu, rps in runs]
        middle = entries[len(entries) // 2]
        return {"work": "w", "peer": peer, "connections": 50, "workers": 1, "runs": entries,
                "median": {"cpu_us": middle["cpu_us"], "user_us": middle["cpu_us"] / 4, "system_us": middle["cpu_us"] * 3 / 4,
                           "rps": middle["rps"]}, "spread": {}}
    return {"kind": "http", "format": 1, "works": [{"name": "w", "title": "a work", "group": "files"}],
            "results": [result("uvhttp", 0.5), result("nginx", 1)], **changes}


# --- the figures in the charts ---


def svgs(page):
    """{title: element} of all drawings of a page; the wide one where there are two of the same title."""
    found = {}
    for text in re.findall(r"<svg.*?</svg>", page, re.S):
        element = xml.etree.ElementTree.fromstring(text)
        title = element.find("title")
        if title is not None:
            found.setdefault(title.text, element)
    return found


def bars_of(svg):
    """{peer's title: {part: (x, width)}} of the first column of a drawing."""
    found = {}
    for group in svg.iter("g"):
        tip = group.find("title")
        if tip is None:
            continue
        parts = {}
        for rect in group.iter("rect"):
            parts[rect.get("class").split()[1]] = (float(rect.get("x")), float(rect.get("width")), rect.get("class"))
        found.setdefault(tip.text.split(":")[0], parts)
    return found


def texts_of(svg):
    return [element.text for element in svg.iter("text")]


def test_bars_begin_at_zero_and_are_as_long_as_their_figures():
    bars = bars_of(svgs(report.html_page(small()))["a work, 50 connections"])
    ours, theirs = bars["uvhttp"], bars["nginx"]
    assert ours["edge"][0] == theirs["edge"][0] == ours["user"][0]
    assert theirs["edge"][1] == pytest.approx(2 * ours["edge"][1], rel=0.01)
    assert ours["user"][1] == pytest.approx(ours["edge"][1] / 4, rel=0.02)
    assert ours["system"][0] == pytest.approx(ours["user"][0] + ours["user"][1], abs=0.05)


def test_an_axis_begins_at_zero_and_its_labels_lie_where_they_say():
    svg = svgs(report.html_page(small()))["a work, 50 connections"]
    bars = bars_of(svg)
    first = bars["nginx"]["edge"]
    ticks = {}
    for element in svg.iter("text"):
        if re.fullmatch(r"[\d.]+", element.text) and element.get("text-anchor") == "middle":
            ticks.setdefault(float(element.text), float(element.get("x")))
    assert ticks[0] == pytest.approx(first[0], abs=4)
    scale = first[1] / 6.2
    for tick in (2, 4, 6):
        assert ticks[tick] == pytest.approx(first[0] + tick * scale, abs=0.6), tick


def test_a_bar_far_longer_than_the_others_is_cut_and_says_so():
    page = report.html_page(EXAMPLE)
    bars = bars_of(svgs(page)["13 bytes from memory, 50 connections"])
    cut = [name for name, parts in bars.items() if " cut" in parts.get("edge", ("", "", ""))[2]]
    assert cut == ["Python http.server (ThreadingHTTPServer)"]
    assert page.count('class="break"') >= 2
    assert "A bar with a break is longer than the chart" in page
    others = {name: parts["edge"][1] for name, parts in bars.items() if name not in cut and "edge" in parts}
    medians = {report_example.SERVERS[one["peer"]][0]: one["median"]["cpu_us"] for one in EXAMPLE["results"] if one["work"] == "memory"}
    ratios = [width / medians[name] for name, width in others.items()]
    assert len(ratios) == 11 and max(ratios) == pytest.approx(min(ratios), rel=0.01)


def test_a_name_and_a_figure_stand_beside_each_bar():
    svg = svgs(report.html_page(EXAMPLE))["13 bytes from memory, 50 connections"]
    for result in EXAMPLE["results"]:
        if result["work"] != "memory" or result["peer"] == "floor":
            continue
        title, value = report_example.SERVERS[result["peer"]][0], report_data.figure(result["median"]["cpu_us"])
        group = next(one for one in svg.iter("g") if one.find("title") is not None and one.find("title").text.startswith(title))
        bar = next(one for one in group.iter("rect"))
        top, bottom = float(bar.get("y")), float(bar.get("y")) + float(bar.get("height"))
        beside = [one.text for one in svg.iter("text") if top < float(one.get("y")) < bottom]
        assert value in beside and any(title.startswith(text) for text in beside), (title, beside)


def test_without_an_outlier_nothing_is_cut():
    assert "A bar with a break" not in report.html_page(small())


def test_the_bracket_goes_from_the_lowest_to_the_highest_run():
    svg = svgs(report.html_page(small()))["a work, 50 connections"]
    group = next(one for one in svg.iter("g") if one.find("title") is not None and one.find("title").text.startswith("nginx"))
    left, right = re.match(r"M([\d.]+) .*?H([\d.]+)", next(p for p in group.iter("path") if p.get("class") == "spread").get("d")).groups()
    start, width, _ = bars_of(svg)["nginx"]["edge"]
    assert float(left) == pytest.approx(start + width * 6.0 / 6.2, abs=0.2)
    assert float(right) == pytest.approx(start + width * 6.4 / 6.2, abs=0.2)


def test_the_floor_is_a_line_and_no_bar():
    svg = svgs(report.html_page(EXAMPLE))["13 bytes from memory, 50 connections"]
    bars = bars_of(svg)
    floor = next(one["median"]["cpu_us"] for one in EXAMPLE["results"] if (one["work"], one["peer"]) == ("memory", "floor"))
    own = next(one["median"]["cpu_us"] for one in EXAMPLE["results"] if (one["work"], one["peer"]) == ("memory", "uvhttp"))
    assert "floor" not in bars
    start, width, _ = bars["uvhttp"]["edge"]
    line = next(one for one in svg.iter("line") if one.get("class") == "floor")
    assert float(line.get("x1")) == pytest.approx(start + width * floor / own, abs=0.1)
    assert f"floor {report_data.figure(floor)}" in texts_of(svg)


def test_a_peer_keeps_its_colour_and_mark_in_all_charts():
    page = report.html_page(EXAMPLE)
    classes, marks = {}, {}
    for text in re.findall(r'<g class="(p-\w+)"><title>([^:<]+):', page):
        classes.setdefault(html.unescape(text[1]), set()).add(text[0])
    for colour, inner in re.findall(r'<g class="(p-\w+) line[^"]*">(.*?)</g></g>', page, re.S):
        for name, path in re.findall(r'<title>([^:<]+):.*?</title><path class="mark" d="M[-\d.]+ [-\d.]+([^"]*)"', inner):
            classes.setdefault(html.unescape(name), set()).add(colour)
            marks.setdefault(html.unescape(name), set()).add(path)
    assert len(classes) == 12
    assert all(len(one) == 1 for one in classes.values()), classes
    assert all(len(one) == 1 for one in marks.values()), marks
    assert len({next(iter(one)) for one in classes.values()}) == 12
    assert classes["uvhttp"] == {"p-own"}


def test_a_curve_goes_through_its_points():
    values = [(10, 2.0), (100, 4.0), (1000, 8.0)]
    peer = report_data.Peer("uvhttp")
    panel = report_charts.Panel("t", "", "d", [(peer, values)], report_charts.Axis([10, 100, 1000], True),
                                report_charts.value_axis([(peer, values)]))
    svg = xml.etree.ElementTree.fromstring(report_charts.line_panel("i", panel, 500, False))
    path = next(one for one in svg.iter("path") if one.get("class") == "curve").get("d")
    points = [tuple(map(float, pair.split())) for pair in path[1:].split("L")]
    # Decades have the same width; the axis of y begins at 0.
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.2)
    assert points[1][1] - points[2][1] == pytest.approx(2 * (points[0][1] - points[1][1]), abs=0.3)
    zero = next(float(one.get("y1")) for one in svg.iter("line") if one.get("class") == "axis")
    assert zero - points[0][1] == pytest.approx(points[0][1] - points[1][1], abs=0.3)


def test_figures_far_apart_get_a_logarithmic_axis_that_says_so():
    peer = report_data.Peer("uvhttp")
    axis = report_charts.value_axis([(peer, [(1, 0.3), (2, 80)])])
    assert axis.log and axis.ticks[0] <= 0.3 and axis.ticks[-1] >= 80
    panel = report_charts.Panel("t", "less is better", "d", [(peer, [(1, 0.3), (2, 80)])], report_charts.Axis([1, 2], False), axis)
    assert panel.note == "logarithmic; less is better"


@pytest.mark.parametrize("high, count, expected", [
    (10, 5, [0, 2, 4, 6, 8, 10]), (0.9, 4, [0, 0.25, 0.5, 0.75, 1.0]), (101000, 4, [0, 50000, 100000, 150000]), (0, 4, [0, 1])])
def test_ticks_are_round_and_reach_the_figure(high, count, expected):
    assert report_charts.linear_ticks(high, count) == pytest.approx(expected)


@pytest.mark.parametrize("high", [0.003, 0.77, 1, 9.99, 10.01, 123456, 8e9])
def test_an_axis_always_reaches_its_figure(high):
    ticks = report_charts.linear_ticks(high, 5)
    assert ticks[0] == 0 and ticks[-1] >= high * (1 - 1e-9) and 2 <= len(ticks) <= 8
    ticks = report_charts.log_ticks(high, high * 3)
    assert ticks[0] <= high * 1.001 and ticks[-1] >= high * 2.999


def test_labels_that_would_touch_are_moved_apart_in_their_order():
    placed = report_charts.spread_labels([50, 52, 51, 300], 15, 0, 300)
    assert sorted(range(4), key=lambda i: placed[i]) == [0, 2, 1, 3]
    in_order = sorted(placed)
    assert all(b - a >= 15 - 1e-9 for a, b in zip(in_order, in_order[1:])) and in_order[-1] <= 300


@pytest.mark.parametrize("value, text", [
    (None, "–"), (0, "0"), (6.3456, "6.35"), (9.999, "10.0"), (24.46, "24.5"), (101234.5, "101,000"), (0.04567, "0.0457"), (999.6, "1,000")])
def test_figures_have_three_digits_and_groups(value, text):
    assert report_data.figure(value) == text


@pytest.mark.parametrize("bytes_, text", [(13, "13 B"), (1024, "1 KB"), (10240, "10 KB"), (10485760, "10 MB"), (1500, "1,500 B")])
def test_sizes_are_said_as_people_do(bytes_, text):
    assert report_data.size(bytes_) == text


# --- what is derived ---


def curve(points, **changes):
    return {"name": "connections", "title": "c", "points": [{"peer": "uvhttp", "x": x, "p99_ms": y} for x, y in points], **changes}


def knees(*arguments, **changes):
    return report_data.knees(report_data.read({"kind": "http", "format": 1, "curves": [curve(*arguments, **changes)]}).curves[0])


def test_the_knee_is_where_p99_leaves_the_flat_part_for_good():
    flat = [(10, 1.1), (50, 1.0), (100, 1.0), (200, 1.9)]
    assert knees([*flat, (500, 2.1), (1000, 9)]) == {"uvhttp": (200, True)}
    assert knees([*flat, (500, 2.1), (1000, 1.2)]) == {"uvhttp": (1000, False)}
    assert knees(flat) == {"uvhttp": (200, False)}
    # As many as the flat level is taken from: nothing is left to leave it.
    assert knees(flat[:3]) == {}


def test_only_busy_connections_have_a_knee():
    points = [(10, 1.0), (50, 1.0), (100, 1.0), (200, 9.0)]
    assert knees(points, name="routes") == {}
    assert knees(points, y="cpu_us") == {}


def test_the_knee_is_marked_and_told():
    text = report.markdown(copy())
    assert "uvhttp: 2,000 connections." in text and "median of the 3 lowest" in text
    page = report.html_page(EXAMPLE)
    assert "knee of uvhttp: 2,000" in page and 'class="knee"' in page


def test_works_of_a_group_stand_together():
    data = small()
    data["works"] += [{"name": name, "title": name, "group": group} for name, group in (("other", "memory"), ("again", "files"))]
    data["results"] += [{**data["results"][0], "work": name} for name in ("other", "again")]
    page = report.html_page(data)
    assert page.count(">Files</h2>") == 1
    assert page.index(">Files</h2>") < page.index(">again, 50 connections</h3>") < page.index(">Answers from memory</h2>")


def test_how_often_the_servers_were_warmed_up_is_told():
    data = small()
    data["options"] = {"rounds": 2, "seconds": 1, "warm_up": 1, "warm_up_once": True}
    assert "1 s of warm-up before each server's first run in a work" in report.markdown(data)
    data["options"]["warm_up_once"] = False
    assert "1 s of warm-up before every run" in report.markdown(data)


def test_ratios_are_those_within_a_round():
    data = small()
    for run, factor in zip(data["results"][1]["runs"], (1, 10, 1)):
        run["cpu_us"] *= factor
    read = report_data.read(data)
    assert report_data.ratio(read.results[1], read.results[0]) == pytest.approx(2)
    data["results"][0]["runs"][0]["counted"] = False
    read = report_data.read(data)
    assert report_data.ratio(read.results[1], read.results[0]) == pytest.approx((20 + 2) / 2)


def test_it_is_said_where_uvhttp_is_not_first():
    data = small()
    data["results"][0]["median"]["cpu_us"] = 12.4
    text = report.markdown(data)
    assert "in 0 of 1 works" in text and "2.00× that of nginx" in text


def test_other_numbers_of_workers_stand_beside_one_another_and_the_same_server_twice_apart():
    data = small()
    data["results"][1]["workers"] = 2
    assert [len(results) for *_, results in report_data.read(data).settings()] == [2]
    assert "One worker each, but: nginx 2." in report.markdown(data)
    data["results"].append({**data["results"][1], "workers": 3})
    assert [len(results) for *_, results in report_data.read(data).settings()] == [2, 1]
    assert "### a work, 50 connections, 3 workers" in report.markdown(data)


def test_a_work_that_names_its_connections_is_not_given_them_twice():
    assert report_data.setting_title(report_data.Work("c", "2,000 connections"), 2000, 1) == "2,000 connections"


# --- nothing is hidden ---


@pytest.mark.parametrize("make", [report.html_page, report.markdown])
def test_what_is_missing_is_listed_with_its_reason(make):
    text = html.unescape(make(EXAMPLE))
    for reason in ("the package caddy cannot be installed: no candidate in the package lists", "14 timeouts",
                   "2,113 failed connects, 7 read errors",
                   "answered 1,240 of 20,000 requests/s", "rounds 1, 2, 3", "granian (no run counts)", "Caddy (not available)",
                   "Go net/http (does not answer pipelined requests in the example)", "One worker each, but: granian 2."):
        assert reason in text, reason
    assert "581 of 591 runs count" in text and "NOT MET" in text and "not measured: too few descriptors" in text


def test_a_run_that_counts_in_spite_of_errors_is_shown():
    data = small()
    data["results"][0]["runs"][1]["errors"] = {"timeout": 3, "status": 0}
    assert "counts, but had errors: timeout 3" in report.markdown(data)


def test_curve_points_of_several_runs_and_points_left_out():
    data = small(kind="scale", curves=[{"name": "routes", "title": "Routes", "x_title": "routes", "y": "cpu_us", "x_scale": "log",
                                        "points": [{"peer": "uvhttp", "x": 10, "counted": 2, "runs": 3, "fault": "4 timeouts", "cpu_us": 4},
                                                   {"peer": "uvhttp", "x": 100, "counted": 3, "runs": 3, "fault": None, "cpu_us": 5, "rps": 9}],
                                        "left_out": [{"peer": "uvhttp", "x": 1000, "reason": "too many descriptors"}]}])
    text = report.markdown(data)
    assert "| Routes | uvhttp | 10 routes, 1 of 3 runs | 4 timeouts |" in text
    assert "| Routes | uvhttp | 1,000 routes | too many descriptors |" in text
    assert "11 of 12 runs count" in text
    # Only peers that were to be measured can be missing.
    assert "not measured here" not in text


def test_every_chart_has_a_table_and_says_what_it_shows():
    page = report.html_page(EXAMPLE)
    for text in re.findall(r"<svg[^>]*role=.*?</svg>", page, re.S):
        element = xml.etree.ElementTree.fromstring(text)
        assert element.find("title").text and len(element.find("desc").text) > 20
        assert element.get("aria-labelledby").split() == [element.find("title").get("id"), element.find("desc").get("id")]
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert page.count("<details>") >= len(report_example.WORKS) + 2 + 5


def test_names_and_reasons_are_text_and_no_markup():
    data = copy()
    data["peers"][2]["title"] = "<script>alert(1)</script> & | `x`"
    data["results"][0]["runs"][0].update(counted=False, fault="<img src=x onerror=alert(1)>\n| new row |")
    page, text = report.html_page(data), report.markdown(data)
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;" in page
    assert "\\<script\\>" in text and "\\| new row \\|" in text


def test_markdown_does_not_speak_of_charts_it_lacks():
    text = report.markdown(EXAMPLE)
    assert "ring" not in re.findall(r"[a-z]+", text) and "bar" not in re.findall(r"[a-z]+", text)


# --- parts that are missing ---


PARTS = ("environment", "command", "options", "peers", "works", "results", "latency", "curves", "targets")


@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_the_report_is_smaller(part):
    data = copy(**{part: None})
    assert len(report.html_page(data)) < len(report.html_page(EXAMPLE))
    assert report.markdown(data).startswith("# uvhttp")


@pytest.mark.parametrize("data", [
    {}, {"environment": {}, "results": []}, {"results": small()["results"][:1]}, {"results": small()["results"][1:]},
    {"results": [{"work": "w", "peer": "uvhttp", "median": None, "runs": [{"counted": False, "fault": "500"}]}]},
    {"results": [{"work": "w", "peer": "uvhttp"}]},
    {"results": [{"work": "w", "peer": "nginx", "median": {"rps": 5}}]},
    {"results": [{"work": "w", "peer": "uvhttp", "median": {"cpu_us": 0, "user_us": 0, "system_us": 0, "rps": 0}}]},
    {"curves": [{"name": "routes", "points": []}, {"name": "connections", "points": [{"peer": "x", "x": 0, "p99_ms": None}]}]},
    {"curves": [{"name": "idle-memory", "points": [{"peer": "uvhttp", "x": 1000, "bytes": 317}]}]},
    {"curves": [{"name": "connections", "x_scale": "log",
                 "points": [{"peer": "floor", "x": 0, "rps": 1}, {"peer": "uvhttp", "x": 0, "rps": 0}]}]},
    {"latency": [{"peer": "uvhttp", "percentiles": []}, {"peer": "x", "percentiles": [[100, 1]]}]},
    {"latency": [{"peer": "uvhttp", "percentiles": [[50, 1]], "max_ms": 5}]},
    {"latency": [{"peer": "uvhttp", "rate": 0, "percentiles": [[0, 0], [50, 0]]}]},
    {"targets": [{"text": "t"}]},
])
def test_little_data_make_little_reports(data):
    data = {"kind": "http", "format": 1, **data}
    page = report.html_page(data)
    for text in re.findall(r"<svg.*?</svg>", page, re.S):
        xml.etree.ElementTree.fromstring(text)
        assert not re.search(r'="[^"]*\b(nan|inf)\b', text)
    assert "How it was measured" in page
    assert report.markdown(data)


def test_more_peers_than_colours():
    data = small()
    data["results"] += [{**data["results"][1], "peer": f"peer-{i}"} for i in range(30)]
    assert "p-11" in report.html_page(data)


# --- files that are wrong ---


@pytest.mark.parametrize("change, place", [
    ({"kind": "parser"}, "kind: expected 'http' or"), ({"format": 2}, "format: expected 1"),
    ({"results": {}}, "results: expected a list, found {}"), ({"results": [7]}, "results[0]: expected an object"),
    ({"results": [{"peer": "x"}]}, "results[0]: 'work' is missing"),
    ({"results": [{"work": "w", "peer": "x", "median": {"cpu_us": "fast"}}]}, "results[0].median.cpu_us: expected a number from 0 on, found 'fast'"),
    ({"results": [{"work": "w", "peer": "x", "median": {"cpu_us": -1}}]}, "results[0].median.cpu_us"),
    ({"results": [{"work": "w", "peer": "x", "median": {"cpu_us": math.nan}}]}, "results[0].median.cpu_us"),
    ({"results": [{"work": "w", "peer": "x", "spread": {"rps": [1]}}]}, "results[0].spread.rps: expected [lowest, highest]"),
    ({"results": [{"work": "w", "peer": "x"}, {"work": "w", "peer": "x"}]}, "results[1]: x is there twice"),
    ({"results": [{"work": "w", "peer": "x", "runs": [{"counted": "yes"}]}]}, "results[0].runs[0].counted: expected true or false"),
    ({"peers": [{"name": "a"}, {"name": "a"}]}, "peers[1]: the peer 'a' is there twice"),
    ({"latency": [{"peer": "x", "percentiles": [[50]]}]}, "latency[0].percentiles[0]"),
    ({"curves": [{"name": "c", "points": [{"peer": "x"}]}]}, "curves[0].points[0]: 'x' is missing"),
    ({"curves": [{"name": "c", "y": "speed", "points": []}]}, "curves[0].y"),
    ({"targets": [{"text": 5}]}, "targets[0].text: expected text, found 5"),
    ({"environment": []}, "environment: expected an object"),
])
def test_what_has_the_wrong_form_is_refused_with_its_place(change, place):
    with pytest.raises(Refused, match=re.escape(place)):
        report.markdown({"kind": "http", "format": 1, **change})


def command(*arguments):
    return subprocess.run(["/usr/bin/python3", "-B", str(ROOT / "tools/bench_report.py"), *map(str, arguments)],
                          capture_output=True, text=True)


def test_the_command_writes_what_it_is_told(tmp_path):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(EXAMPLE))
    done = command(file, "--html", tmp_path / "out.html", "--markdown", tmp_path / "out.md")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out.html").read_text() == report.html_page(EXAMPLE)
    assert (tmp_path / "out.md").read_text() == report.markdown(EXAMPLE)
    assert command(file).stdout == report.markdown(EXAMPLE)


@pytest.mark.parametrize("content, reason", [
    (b"{", "not JSON"), (b"\xff\xfe", "not UTF-8"), (b"[]", "the file: expected an object, found []"), (b'{"kind": "http"}', "format"),
    (b"[" * 100000, "not JSON"), (None, "No such file")])
def test_the_command_ends_with_2_for_a_file_that_is_no_result(tmp_path, content, reason):
    file = tmp_path / "result.json"
    if content is not None:
        file.write_bytes(content)
    done = command(file, "--html", tmp_path / "out.html")
    assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out.html").exists()


# --- colours ---

# Severe red and green blindness, after Machado, Oliveira and Fernandes (2009), on linear RGB.
SIGHTS = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}


def linear(colour):
    values = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def contrast(one, other):
    a, b = sorted(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(colour))) for colour in (one, other))
    return (b + 0.05) / (a + 0.05)


def lab(colour, sight):
    rgb = linear(colour)
    r, g, b = (min(1, max(0, sum(w * v for w, v in zip(row, rgb)))) for row in SIGHTS[sight])
    x, y, z = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
               (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    return min(math.dist(lab(one, sight), lab(other, sight)) for sight in SIGHTS)


@pytest.mark.parametrize("theme", report_page.THEMES)
def test_colours_can_be_told_apart_whatever_colours_one_sees(theme):
    colours = [pair[list(report_page.THEMES).index(theme)] for pair in report_page.PEER_COLOURS]
    own, paper = report_page.THEMES[theme]["own"], report_page.THEMES[theme]["paper"]
    assert len(colours) == report_charts.COLOURS
    assert min(difference(a, b) for a, b in itertools.combinations(colours, 2)) > 10
    assert min(difference(own, one) for one in colours) > 18
    assert min(contrast(one, paper) for one in [*colours, own]) >= 3


@pytest.mark.parametrize("theme", report_page.THEMES)
def test_text_has_contrast(theme):
    colours = report_page.THEMES[theme]
    for text in ("ink", "muted", "link", "met", "missed", "floor"):
        assert contrast(colours[text], colours["paper"]) >= 4.5, text
    for text, ground in (("muted", "panel"), ("ink", "own-tint"), ("ink", "warning"), ("met", "paper")):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


# --- in a browser ---

# All pieces of text that can be seen, as rectangles cut to the boxes that scroll, and what is wrong with them.
INSPECT = """(() => {
  document.querySelectorAll('details').forEach(one => one.open = true);
  const wrong = [], pieces = [], small = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    const parent = node.parentElement, text = node.textContent.trim();
    if (!text || parent.closest('title, desc') || !parent.getClientRects().length) continue;
    const svg = parent.closest('svg'), box = parent.closest('.scroll, pre');
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const one of range.getClientRects()) {
      let {left, right, top, bottom} = one;
      // Lines of text touch by the height of their letters' boxes, not of their letters.
      const trim = (bottom - top) * 0.14;
      top += trim; bottom -= trim;
      if (svg) {
        const frame = svg.getBoundingClientRect();
        if (left < frame.left - 0.5 || right > frame.right + 0.5 || top < frame.top - 0.5 || bottom > frame.bottom + 0.5)
          wrong.push(`beyond its drawing: ${text}`);
        if ((bottom - top) / 0.72 < 10) small.push(`${text}: ${((bottom - top) / 0.72).toFixed(1)} px`);
      }
      if (box) {
        const frame = box.getBoundingClientRect();
        left = Math.max(left, frame.left); right = Math.min(right, frame.right);
      }
      if (right - left < 0.5) continue;
      if (left < -0.5 || right > document.documentElement.clientWidth + 0.5) wrong.push(`beyond the page: ${text}`);
      pieces.push({left, right, top, bottom, text, parent});
    }
  }
  pieces.sort((a, b) => a.top - b.top);
  pieces.forEach((a, i) => {
    for (let j = i + 1; j < pieces.length && pieces[j].top < a.bottom; j++) {
      const b = pieces[j];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 && Math.min(a.bottom, b.bottom) - b.top > 0.5 && a.parent !== b.parent)
        wrong.push(`"${a.text}" and "${b.text}" overlap`);
    }
  });
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push(`the page is ${root.scrollWidth} px wide`);
  return {wrong, small, texts: pieces.length, background: getComputedStyle(document.body).backgroundColor,
          drawings: [...document.querySelectorAll('svg[role=img]')].filter(one => one.getClientRects().length).length};
})()"""


@pytest.fixture(scope="module")
def chromium():
    if browser.find() is None:
        pytest.skip("Chromium is missing; install it with: apt-get install chromium")
    one = browser.Browser()
    yield one
    one.close()


@pytest.mark.parametrize("width", [1280, 375, 320, 800, 1000])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_in_a_browser(chromium, tmp_path, width, dark):
    file = tmp_path / "report.html"
    report.write_html(EXAMPLE, file)
    chromium.open(file, width, dark)
    seen = chromium.evaluate(INSPECT)
    assert chromium.troubles() == []
    assert seen["wrong"] == []
    # On the narrowest phones drawings shrink a little.
    assert seen["small"] == [] or width == 320
    assert seen["drawings"] >= len(report_example.WORKS) + 2 + 5 and seen["texts"] > 1000
    paper = report_page.THEMES["dark" if dark else "light"]["paper"]
    assert seen["background"] == "rgb({}, {}, {})".format(*(int(paper[i:i + 2], 16) for i in (1, 3, 5)))


def test_the_browser_sees_what_is_wrong(chromium, tmp_path):
    """So that an empty list means something."""
    file = tmp_path / "wrong.html"
    file.write_text('<body style="margin:0"><p style="position:absolute;left:0;top:0">one</p><p style="position:absolute;left:5px;top:3px">two</p>'
                    '<div style="width:2000px">wide</div><svg width="20" height="20"><text y="10">far too long</text></svg>'
                    '<script>console.error("bad")</script><img src="missing.png">')
    chromium.open(file, 375, False)
    wrong = " ".join(chromium.evaluate(INSPECT)["wrong"])
    assert "overlap" in wrong and "the page is 2000 px wide" in wrong and "beyond its drawing: far too long" in wrong
    troubles = " ".join(chromium.troubles())
    assert "bad" in troubles and "missing.png" in troubles


@pytest.mark.parametrize("data", [small(), {"kind": "http", "format": 1}, copy(latency=None, curves=None), copy(results=None)],
                         ids=["small", "empty", "works", "curves"])
def test_smaller_pages_in_a_browser(chromium, tmp_path, data):
    file = tmp_path / "report.html"
    report.write_html(data, file)
    for width in (1280, 375):
        chromium.open(file, width, False)
        assert chromium.evaluate(INSPECT)["wrong"] == [] and chromium.troubles() == []
