"""The report of a benchmark's JSON file: what stands in it and in which order, as one HTML page or as Markdown.

write_html and write_markdown take the JSON as it was read or is about to be written. Both raise report_data.Malformed, a Refused, for data
of another form. A part that the data lacks is left out; what was tried and gave no figure is listed with its reason.
"""

import math
import pathlib
import re

from . import capacity
from . import report_charts as charts
from . import report_data as data
from . import report_document as doc
from . import report_page as page
from .report_data import figure

GROUPS = {"memory": "Answers from memory", "files": "Files", "post": "Request bodies", "pipelined": "Pipelined requests",
          "connections": "Connections", "tls": "HTTPS", "": "Works"}
METRICS = {
    "cpu_us": ("CPU time per request, µs", "µs", "less is better"),
    "rps": ("Requests per second", "requests/s", "more is better"),
    "p99_ms": ("99th percentile of latency, ms", "ms", "less is better"),
    "bytes": ("Memory per idle connection, B", "B", "less is better"),
}
ENVIRONMENT = {"date": "Date", "commit": "Commit of uvhttp", "command": "Command", "kernel": "Kernel", "system": "System", "https": "HTTPS", "tcp": "TCP congestion control", "cpu": "CPU",
               "cores": "Cores", "load_before": "Load before the first run", "compiler": "Compiler", "flags": "Flags"}
# Above this many running programs before the first run somebody else used the machine.
BUSY_LOAD = 0.5
KNOWN_PERCENTILES = (50, 75, 90, 95, 99, 99.9, 99.99, 99.999)


def times(value):
    return f"{value:.2f}×" if value is not None else "–"


def range_text(pair):
    return f"{figure(pair[0])} to {figure(pair[1])}" if pair else "–"


def row_marks(peers):
    return {i: "own" if peer.own else "floor" for i, peer in enumerate(peers) if peer.own or peer.floor}


def missing_text(missing):
    """Every peer that a chart lacks, by reason; None when it has all."""
    reasons = {}
    for peer, why in missing:
        reasons.setdefault(why, []).append(peer.short)
    if not reasons:
        return None
    return doc.Text("Without a figure here: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items()) + ".", "note")


def absent(report, names):
    """[(peer, why)] of the peers that are not among the names. The floor need not be."""
    return [(peer, "not measured here" if peer.available else "not available") for peer in report.peers.values()
            if peer.name not in names and peer.listed and not peer.floor]


# --- bars per work ---


def cpu_bar(result):
    total, user, system = (result.value(key) for key in ("cpu_us", "user_us", "system_us"))
    low, high = result.range("cpu_us") or (total, total)
    tip = f"{result.peer.title}: {figure(total)} µs per request, runs {range_text((low, high))} µs"
    if user is None or system is None:
        return charts.Bar(total, [(total, "whole")], low, high, figure(total), tip)
    # Medians of the parts need not add up to the median of the sum; the parts only say how it is split.
    share = user / (user + system) if user + system else 0
    parts = [(total * share, "user"), (total * (1 - share), "system")]
    return charts.Bar(total, parts, low, high, figure(total), f"{tip}; user {figure(user)}, system {figure(system)}")


def plain_bar(result, key):
    total = result.value(key)
    low, high = result.range(key) or (total, total)
    unit = METRICS[key][1]
    return charts.Bar(total, [(total, "whole")], low, high, figure(total),
                      f"{result.peer.title}: {figure(total)} {unit}, runs {range_text((low, high))} {unit}")


def floor_of(results, key):
    result = results.get(data.FLOOR)
    value = result.value(key) if result else None
    return (value, f"floor {figure(value)}") if value is not None else None


def work_columns(results):
    """The bars' columns for which there are figures: [(key, BarColumn)]."""
    columns = []
    for key in ("cpu_us", "rps"):
        order = data.by_value(results, key)
        if order:
            split = key == "cpu_us" and any(one.value("user_us") is not None and one.value("system_us") is not None for one in order)
            columns.append((key, charts.BarColumn(METRICS[key][0], METRICS[key][2], floor_of(results, key), split)))
    return columns


def bar_blocks(identifier, title, description, columns, rows):
    figure_ = charts.bar_figure(identifier, title, description, columns, rows)
    blocks = [doc.Chart(figure_)]
    if charts.has_cut_bars(figure_):
        blocks.append(doc.Text("A bar with a break is longer than the chart; its figure stands beside it.", "note", drawn=True))
    return blocks


def work_chart(identifier, title, results):
    columns = work_columns(results)
    if not columns:
        return []
    first = columns[0][0]
    order = data.by_value(results, first)
    if first == "rps":
        order.reverse()
    # A peer with only the second figure comes last.
    order += [one for key, _ in columns[1:] for one in data.by_value(results, key) if one not in order]
    bars = {"cpu_us": cpu_bar, "rps": lambda result: plain_bar(result, "rps")}
    rows = [(one.peer, [bars[key](one) if one.value(key) is not None else None for key, _ in columns]) for one in order]
    described = "; ".join(f"{one.peer.title} {figure(one.value(first))}" for one in order)
    floor = columns[0][1].floor
    description = f"{METRICS[first][0]}: {described}" + (f"; {floor[1]}" if floor else "") + "."
    only = [column for _, column in columns]
    return bar_blocks(identifier, title, description, only, rows)


def work_table(title, results, peers):
    """All figures of one setting. A column without any figure is left out."""
    present = [results[peer.name] for peer in peers if peer.name in results]
    own, floor = results.get(data.OWN), results.get(data.FLOOR)
    value = lambda key: lambda one: figure(one.value(key))
    columns = [
        ("CPU, µs", value("cpu_us")), ("lowest to highest", lambda one: range_text(one.range("cpu_us"))),
        ("user, µs", value("user_us")), ("system, µs", value("system_us")),
        ("CPU beside floor", lambda one: times(data.ratio(one, floor)) if floor and one is not floor else "–"),
        ("CPU beside uvhttp", lambda one: times(data.ratio(one, own)) if own and one is not own else "–"),
        ("requests/s", value("rps")), ("lowest to highest", lambda one: range_text(one.range("rps"))),
        *((f"{key} , ms".replace(" ,", ","), value(f"{key}_ms")) for key in ("p50", "p90", "p99", "max")),
        ("resident, MB", lambda one: figure(one.value("rss_kb") / 1024) if one.value("rss_kb") is not None else "–"),
        ("runs that count", lambda one: f"{one.counted} of {len(one.runs)}" if one.runs else "–"),
    ]
    cells = [[show(one) for one in present] for _, show in columns]
    kept = [i for i, column in enumerate(cells) if any(cell != "–" for cell in column)]
    rows = [[one.peer.short] + [cells[i][j] for i in kept] for j, one in enumerate(present)]
    return doc.Table(title, ["server"] + [columns[i][0] for i in kept], rows, row_marks([one.peer for one in present]),
                     folded="all figures")


def ordered_peers(report):
    """Ours, the floor, then the others as in the file."""
    return sorted(report.peers.values(), key=lambda peer: (not peer.own, not peer.floor))


def workers_text(workers, results):
    """Who had more than one worker, where not all had the same number of them."""
    if workers is not None:
        return None
    several = [f"{one.peer.short} {one.workers}" for one in results.values() if one.workers and one.workers > 1]
    return doc.Text("One worker each, but: " + ", ".join(several) + ".", "note") if several else None


def work_sections(report):
    sections, group = [], None
    # Works of a group stand together, wherever they were in the order of measuring.
    settings = report.settings()
    groups = list(dict.fromkeys(work.group for work, _, _, _ in settings))
    settings.sort(key=lambda setting: groups.index(setting[0].group))
    for number, (work, connections, workers, results) in enumerate(settings):
        if work.group != group:
            group = work.group
            heading = GROUPS.get(group) or group[:1].upper() + group[1:].replace("-", " ")
            blocks = [] if sections else [doc.Text(
                "Bars begin at 0. The full part of a bar is user time, which a server can save; the light part is system time. The bracket goes "
                "from the lowest to the highest run that counts. The dashed line is the floor: the least a program without an HTTP server "
                "needs for the same bytes.", drawn=True)]
            sections.append(doc.Section(f"group-{number}", heading, blocks))
        title = data.setting_title(work, connections, workers)
        blocks = work_chart(f"work-{number}", title, results)
        if not blocks:
            blocks = [doc.Text("There is no figure that counts.", "warning")]
        key = work_columns(results)[0][0] if work_columns(results) else "cpu_us"
        blocks += [missing_text(data.not_drawn(report, results, key)), workers_text(workers, results)]
        blocks.append(work_table(title, results, ordered_peers(report)))
        sections.append(doc.Section(f"work-{number}-heading", title, [block for block in blocks if block], 3))
    return sections


# --- latency under a fixed rate ---


def percentile_axis(percentiles):
    """Each further nine has the same width; the maximum (100) stands beyond the last."""
    finite = [one for one in percentiles if one < 100] or [50]
    place = lambda one: -math.log10(1 - one / 100)
    last = place(max(finite))
    at = lambda one: place(one) if one < 100 else last + 0.6
    ticks = sorted({min(finite), max(finite), *(one for one in finite if one in KNOWN_PERCENTILES)})
    return charts.Axis(ticks + ([100] if max(percentiles) >= 100 else []), False, data.percentile, at, "percentile of the requests")


def latency_groups(report):
    """{(work name, rate): [entry]} in the file's order."""
    groups = {}
    for entry in report.latency:
        groups.setdefault((entry["work"].name, entry["rate"]), []).append(entry)
    return groups


def latency_table(title, entries):
    percentiles = sorted({one for entry in entries for one, _ in entry["points"]})
    if len(percentiles) > 8:
        percentiles = [one for one in percentiles if one in KNOWN_PERCENTILES or one == 100]
    rows = [[entry["peer"].short] + [figure(dict(entry["points"]).get(one)) for one in percentiles] for entry in entries]
    return doc.Table(f"{title}, ms", ["server"] + [data.percentile(one) for one in percentiles], rows,
                     row_marks([entry["peer"] for entry in entries]), folded="percentiles")


def latency_sections(report):
    if not report.latency:
        return []
    generators = sorted({entry["generator"] for entry in report.latency if entry["generator"]})
    how = f" The load came from {' and '.join(generators)}." if generators else ""
    sections = [doc.Section("latency", "Latency under a fixed rate", [doc.Text(
        "Requests leave at fixed times, whether or not earlier ones were answered, and latency counts from the time a request was due. So a "
        "stall is seen by every request that it delays, which a load that waits for its answers would hide." + how)])]
    for number, ((_, rate), entries) in enumerate(latency_groups(report).items()):
        drawn = [entry for entry in entries if entry["counted"] and entry["points"]]
        title = entries[0]["work"].title + (f", {figure(rate)} requests/s" if rate else "")
        blocks = []
        if drawn:
            lines = [(entry["peer"], entry["points"]) for entry in drawn]
            y = charts.value_axis(lines)
            described = "; ".join(f"{entry['peer'].title} {', '.join(f'{data.percentile(p)} {figure(v)} ms' for p, v in entry['points'][-3:])}"
                                  for entry in drawn)
            x = percentile_axis({one for entry in drawn for one, _ in entry["points"]})
            panel = charts.Panel("Latency, ms", "less is better", f"{title}: {described}.", lines, x, y, "ms")
            blocks += [doc.Chart(charts.line_figure(f"latency-{number}", [panel])), latency_table(title, drawn)]
        left_out = [(entry["peer"], entry["fault"] or "no percentiles") for entry in entries if entry not in drawn]
        left_out += absent(report, {entry["peer"].name for entry in entries})
        sections.append(doc.Section(f"latency-{number}-heading", title, blocks + ([missing_text(left_out)] if left_out else []), 3))
    return sections


# --- curves ---


def x_axis(curve, values):
    label = (lambda x: data.size(x)) if curve["name"] == "body-size" else charts.number
    title = curve["x_title"]
    if curve["x_scale"] == "log" and min(values) > 0:
        ticks = values if len(values) <= 12 else charts.log_ticks(values[0], values[-1])
        return charts.Axis(ticks, True, label, title=f"{title} (logarithmic)")
    ticks = [tick for tick in charts.linear_ticks(values[-1], 6) if tick <= values[-1]]
    return charts.Axis(ticks, False, label, title=title, last=values[-1])


def curve_panel(report, curve, key, knees):
    lines = [(report.peers[name], points) for name, points in data.series(curve, key).items()]
    values = sorted({x for _, points in lines for x, _ in points})
    y = charts.value_axis(lines)
    name, unit, better = METRICS[key]
    described = "; ".join(f"{peer.title} from {figure(points[0][1])} at {figure(points[0][0])} to {figure(points[-1][1])} at "
                          f"{figure(points[-1][0])}" for peer, points in lines)
    return charts.Panel(name, better, f"{curve['title']}: {described}.", lines, x_axis(curve, values), y, unit, knees)


def curve_table(report, curve, key, knees):
    lines = data.series(curve, key)
    values = sorted({x for points in lines.values() for x, _ in points})
    label = x_axis(curve, values).label
    peers = [peer for peer in ordered_peers(report) if peer.name in lines]
    rows = [[peer.short] + [figure(dict(lines[peer.name]).get(x)) for x in values] for peer in peers]
    head = [curve["x_title"]] + [label(x) for x in values]
    if knees and key == "p99_ms":
        head.append("knee")
        for row, peer in zip(rows, peers):
            x, reached = knees.get(peer.name, (None, False))
            row.append("–" if x is None else label(x) if reached else f"beyond {label(x)}")
    return doc.Table(f"{curve['title']}: {METRICS[key][0]}", head, rows, row_marks(peers), folded=METRICS[key][0])


def knee_texts(report, knees):
    text = (f"The knee is the largest number of connections whose 99th percentile is at most {capacity.KNEE_FACTOR} times the flat level, "
            f"while all larger numbers are above that; the flat level is the median of the {capacity.FLAT_POINTS} lowest.")
    for name, (x, leaves) in knees.items():
        if report.peers[name].own:
            text += f" {report.peers[name].title}: {x:,.0f} connections." if leaves else (
                f" {report.peers[name].title}: beyond {x:,.0f} connections, the most that was measured.")
    return [doc.Text(text), doc.Text("A ring marks each server's knee.", "note", drawn=True)]


def curve_blocks(report, number, curve):
    keys = [key for key in data.CURVE_METRICS if data.series(curve, key)]
    if curve["name"] in data.KNEE_CURVES:
        # Throughput and latency belong beside one another.
        keys.sort(key=lambda key: ("rps", "p99_ms", "cpu_us", "bytes").index(key))
    if not keys:
        return [doc.Text("There is no figure that counts.", "warning")]
    knees = data.knees(curve)
    left = {name: x for name, (x, leaves) in knees.items() if leaves}
    # A curve may name the figure it is about; then the others are in the tables only.
    drawn = [curve["y"]] if curve["y"] in keys else keys
    panels = [curve_panel(report, curve, key, left if key == "p99_ms" else {}) for key in drawn]
    blocks = knee_texts(report, knees) if knees else []
    blocks.append(doc.Chart(charts.line_figure(f"curve-{number}", panels)))
    measured = {point["peer"].name for point in curve["points"]}
    blocks.append(missing_text(absent(report, measured)))
    return [block for block in blocks if block] + [curve_table(report, curve, key, knees) for key in keys]


def memory_blocks(report, number, curve):
    """Bars at each peer's most connections; lines as well when there is more than one number of connections."""
    lines = data.series(curve, "bytes")
    last = {name: points[-1] for name, points in lines.items() if name != data.FLOOR}
    if not last:
        return curve_blocks(report, number, curve)
    order = sorted(last, key=lambda name: last[name][1])
    most = max(x for x, _ in last.values())
    rows = []
    for name in order:
        x, bytes_ = last[name]
        shown = figure(bytes_) + (f" (at {x:,.0f})" if x != most else "")
        rows.append((report.peers[name], [charts.Bar(bytes_, [(bytes_, "whole")], bytes_, bytes_, shown,
                                                     f"{report.peers[name].title}: {figure(bytes_)} B at {x:,.0f} connections")]))
    floor = lines.get(data.FLOOR)
    column = charts.BarColumn(METRICS["bytes"][0], METRICS["bytes"][2], (floor[-1][1], f"floor {figure(floor[-1][1])}") if floor else None)
    described = "; ".join(f"{peer.title} {bars[0].text}" for peer, bars in rows)
    title = f"{curve['title']}, at {most:,.0f} connections"
    blocks = bar_blocks(f"memory-{number}", title, f"Bytes per connection: {described}.", [column], rows)
    if max(len(points) for points in lines.values()) > 1:
        return blocks + curve_blocks(report, number, curve)
    missing = missing_text(absent(report, lines))
    return blocks + ([missing] if missing else []) + [curve_table(report, curve, "bytes", {})]


def curve_sections(report):
    sections = []
    for number, curve in enumerate(report.curves):
        blocks = memory_blocks(report, number, curve) if curve["name"] == "idle-memory" else curve_blocks(report, number, curve)
        sections.append(doc.Section(f"curve-{number}", curve["title"], blocks))
    return sections


# --- what frames the figures ---


def standings_text(report):
    won, compared, lost = data.standings(report)
    if not compared:
        return None
    text = f"uvhttp needs the least CPU time per request of all servers measured in {won} of {compared} works."
    if lost:
        text += " Elsewhere: " + "; ".join(
            f"{data.setting_title(work, connections, 1)}, {times(factor)} that of {peer.title}" for work, connections, peer, factor in lost) + "."
    return text


def summary_table(report):
    """CPU of every peer for every work, with the ratio to ours."""
    with_figures = {one.peer.name for one in report.results if one.value("cpu_us") is not None}
    peers = [peer for peer in ordered_peers(report) if peer.name in with_figures]
    if not peers:
        return None
    rows, strong = [], []
    all_connections = [connections for _, connections, _, _ in report.settings()]
    usual = max(all_connections, key=all_connections.count)
    for work, connections, workers, results in report.settings():
        own = results.get(data.OWN)
        row = [data.setting_title(work, connections if connections != usual else None, workers)]
        least = next(iter(data.by_value(results, "cpu_us")), None)
        for column, peer in enumerate(peers, 1):
            one = results.get(peer.name)
            beside = data.ratio(one, own) if one and own and one is not own else None
            value = figure(one.value("cpu_us") if one else None)
            row.append((value, times(beside)) if beside is not None else value)
            if one is not None and one is least:
                strong.append((len(rows), column))
        rows.append(row)
    title = "CPU time per request, µs: medians, and how many times uvhttp's that is; the server with the least is bold"
    if usual:
        title += f". {usual:,} connections where nothing else is said"
    return doc.Table(title, ["work"] + [peer.short for peer in peers], rows, strong=strong)


def targets_table(report):
    rows, marks = [], {}
    levels = any(target["level"] for target in report.targets)
    for number, target in enumerate(report.targets):
        unit = {"x": "×", "us": " µs", "bytes": " B"}.get(target["unit"], f" {target['unit']}" if target["unit"] else "")
        show = lambda value: f"{figure(value)}{unit}" if value is not None else "–"
        if target["value"] is None or target["met"] is None:
            met = target["note"] or "not measured"
        else:
            met, marks[number] = ("met", "met") if target["met"] else ("NOT MET", "missed")
        rows.append([target["text"], met, show(target["value"]), "≤ " + show(target["limit"]) if target["limit"] is not None else "–",
                     *([target["level"] or "–"] if levels else [])])
    return doc.Table("Targets", ["target", "result", "measured", "limit", *(["level"] if levels else [])], rows, marks, texts=(0, 1, 4))


def warnings(report):
    texts = []
    if report.options.get("quick"):
        texts.append("This was a quick run with short rounds: good for orientation, not for publishing.")
    load = report.environment.get("load_before")
    if data.is_number(load) and load > BUSY_LOAD:
        texts.append(f"The load of the machine was {load:g} before the first run, so somebody else was using it.")
    if not report.environment:
        texts.append("The file has no environment block: nobody can say what these figures were measured on.")
    return [doc.Text(text, "warning") for text in texts]


def tiles(report):
    found = []
    won, compared, _ = data.standings(report)
    if compared:
        found.append((f"{won} of {compared}", "works in which uvhttp needs the least CPU time"))
    judged = [target for target in report.targets if target["met"] is not None and target["level"] != "aim"]
    if judged:
        found.append((f"{sum(target['met'] for target in judged)} of {len(judged)}", "targets met"))
    aims = [target for target in report.targets if target["met"] is not None and target["level"] == "aim"]
    if aims:
        found.append((f"{sum(target['met'] for target in aims)} of {len(aims)}", "aims reached"))
    counted, runs = data.run_counts(report)
    if runs:
        found.append((f"{counted:,} of {runs:,}", "runs that count"))
    others = [peer for peer in report.peers.values() if not peer.own and not peer.floor]
    if others:
        found.append((f"{sum(peer.available for peer in others)} of {len(others)}", "other servers could be measured"))
    return doc.Tiles(found) if found else None


def glance_section(report):
    blocks = [tiles(report), *warnings(report)]
    standing = standings_text(report)
    if standing:
        blocks.append(doc.Text(standing))
    if not report.results and not report.latency and not report.curves:
        blocks.append(doc.Text("There are no figures in this file.", "warning"))
    blocks.append(summary_table(report))
    if report.targets:
        blocks.append(targets_table(report))
        if any(target["level"] == "aim" for target in report.targets):
            blocks.append(doc.Text("What must hold is required of a version; an aim is what it is worked towards.", "note"))
    return doc.Section("glance", "At a glance", [block for block in blocks if block])


def left_out_section(report):
    """Always there: that nothing is missing is worth saying, too."""
    gone = [peer for peer in report.peers.values() if not peer.available]
    thrown = data.thrown_away(report)
    counted, runs = data.run_counts(report)
    blocks = []
    if gone:
        blocks.append(doc.Table("Servers that were not available", ["server", "reason"],
                                [[peer.title, peer.reason or "no reason given"] for peer in gone], texts=(0, 1)))
    elif any(peer.listed for peer in report.peers.values()):
        blocks.append(doc.Text("Every server of the list was available."))
    if thrown:
        blocks.append(doc.Text(f"{counted:,} of {runs:,} runs count. A run with a wrong answer, an error or a timeout is thrown away whole; "
                               "its figures are in no median and in no chart."))
        blocks.append(doc.Table("Runs thrown away", ["work", "server", "run", "reason"],
                                [[where, peer.short, which, reason] for where, peer, which, reason in thrown], texts=(0, 1, 2, 3)))
    elif runs:
        blocks.append(doc.Text(f"All {runs:,} runs count."))
    # The harness says in its environment why there is no generator of a fixed rate.
    latency = str(report.environment.get("latency") or "")
    if latency.startswith("not measured"):
        blocks.append(doc.Text(f"Latency under a fixed rate was {latency}."))
    return doc.Section("left-out", "What is missing", blocks) if blocks else None


def flatten(block, prefix=""):
    """(name, value) of an environment block, with the names of nested ones before theirs."""
    for key, value in block.items():
        name = ENVIRONMENT.get(key, str(key).replace("_", " "))
        name = f"{prefix}: {name[:1].lower() + name[1:]}" if prefix else name
        if isinstance(value, dict):
            yield from flatten(value, name)
        elif value is not None and value != "":
            yield name, ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def options_text(options):
    parts = []
    if options.get("rounds"):
        seconds = f" of {options['seconds']} s" if options.get("seconds") else ""
        parts.append(f"{options['rounds']} rounds{seconds} each")
    if options.get("warm_up"):
        before = "each server's first run in a work" if options.get("warm_up_once") else "every run"
        parts.append(f"{options['warm_up']} s of warm-up before {before}")
    if options.get("workers"):
        parts.append(f"{options['workers']} worker{'s' if options['workers'] != 1 else ''}")
    return "; ".join(parts)


def method_sections(report):
    blocks = [doc.Text(
        "Servers and load have cores of their own. The figure that counts is the CPU time the server spends on a request: the run time of "
        "all its threads and processes, divided by the answers. Requests per second depend on the load generator as well. The servers take "
        "turns, so a slow minute meets all of them; figures are medians of the runs that count, ratios are medians of the ratios within a "
        "round. Answers are verified before and after every run. Percentiles in the tables of works come from a load that waits for its "
        "answers; those under a fixed rate do not.")]
    options = options_text(report.options)
    if options:
        blocks.append(doc.Text(options[:1].upper() + options[1:] + "."))
    if report.command:
        blocks += [doc.Text("Measured by:"), doc.Code(report.command)]
    sections = [doc.Section("method", "How it was measured", blocks)]
    if report.peers:
        peers = ordered_peers(report)
        rows = [[peer.title, peer.version or "–", peer.configuration or "–", "yes" if peer.available else "no"] for peer in peers]
        sections.append(doc.Section("servers", "Servers", [doc.Table(
            "Servers, versions and configuration", ["server", "version", "configuration", "available"], rows, row_marks(peers),
            texts=(0, 1, 2))], 3))
    pairs = [(name, value) for name, value in flatten(report.environment) if name != "Command"]
    if pairs:
        sections.append(doc.Section("environment", "Environment", [doc.Facts(pairs)], 3))
    return sections


def build(result):
    """The document of a result, as its JSON is read."""
    report = data.read(result)
    measured = {one.peer.name for one in report.results if one.median}
    others = [name for name in measured if name not in (data.OWN, data.FLOOR)]
    title = f"uvhttp beside {len(others)} other HTTP server{'s' if len(others) != 1 else ''}" if others else "uvhttp, measured"
    date = str(report.environment.get("date") or "")
    words = [re.sub(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?Z$", r"\1 \2 UTC", date)] if date else []
    words += [str(report.environment["cpu"])] if report.environment.get("cpu") else []
    words += [f"Linux {report.environment['kernel']}"] if report.environment.get("kernel") else []
    words += [f"commit {str(report.environment['commit'])[:12]}"] if report.environment.get("commit") else []
    sections = [glance_section(report), left_out_section(report), *work_sections(report), *latency_sections(report),
                *curve_sections(report), *method_sections(report)]
    return doc.Document(title, " · ".join(words) or "No environment is known.", [section for section in sections if section])


def html_page(result):
    return page.to_html(build(result))


def markdown(result):
    return doc.to_markdown(build(result))


def write_html(result, path):
    pathlib.Path(path).write_text(html_page(result), encoding="utf-8")


def write_markdown(result, path):
    pathlib.Path(path).write_text(markdown(result), encoding="utf-8")
