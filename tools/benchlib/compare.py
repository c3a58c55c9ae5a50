"""Two results of the same benchmark beside each other: for `./dev bench compare`.

A figure has moved when the lowest and highest of its rounds do not overlap with those of the other result, and its median by more than one
part in a hundred: what the rounds of one result differ by among themselves is noise. With one round nobody knows the noise, and nothing is
flagged.
"""

import statistics

from . import Refused

LEAST_MOVE = 0.01
HTTP_METRICS = {"cpu_us": "CPU us", "rps": "requests/s", "p99_ms": "p99 ms", "rss_kb": "memory KB"}


class Figure:
    """The values of all rounds that count, of one thing that was measured."""

    def __init__(self, values):
        self.values = values
        self.median, self.low, self.high = statistics.median(values), min(values), max(values)


def http_figures(report, metric):
    for result in report["results"]:
        values = [run[metric] for run in result["runs"] if run["counted"] and run.get(metric) is not None]
        if values:
            workers = f", {result['workers']} workers" if result["workers"] != 1 else ""
            yield (f"{result['work']}, {result['connections']} connections{workers}", result["peer"]), Figure(values)


def quick_figures(report, metric):
    for work in report["works"]:
        for name, server in work["servers"].items():
            values = [run[metric] for run in server["runs"] if run["counted"] and run.get(metric) is not None]
            if values:
                yield (work["name"], name), Figure(values)


def parser_figures(report, _):
    for message in report["corpus"]["messages"]:
        for name, parser in message["parsers"].items():
            yield (message["name"], name), Figure(parser["rounds"])


def curve_figures(report, metric):
    for curve in report["curves"]:
        for point in curve["points"]:
            if metric in point.get("spread", {}):
                yield (f"{curve['name']} at {point['x']}", point["peer"]), Figure([*point["spread"][metric], point[metric]])


def kind_of(report):
    """(name of the benchmark, how to get figures)"""
    kind = report.get("kind")
    if kind in ("http", "ws"):
        return kind, http_figures
    if kind in ("scale", "capacity"):
        return kind, curve_figures
    if "corpus" in report:
        return "parser", parser_figures
    if "works" in report:
        return "quick", quick_figures
    raise KeyError("kind")


def figures(report, path, metric):
    """(name of the benchmark, {(what, who): Figure})"""
    try:
        kind, reader = kind_of(report)
        return kind, dict(reader(report, metric))
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{path} is no result of bench http, ws, quick, parser, scale or capacity: {error!r}") from error


def verdict(old, new):
    ratio = new.median / old.median if old.median else float("inf")
    if len(old.values) < 2 or len(new.values) < 2:
        return ratio, "?"
    apart = new.low > old.high or new.high < old.low
    if not apart or abs(ratio - 1) <= LEAST_MOVE:
        return ratio, ""
    return ratio, "HIGHER" if ratio > 1 else "LOWER"


def noise(figure):
    """Half of what the rounds cover, in percent of the median."""
    return (figure.high - figure.low) / 2 / figure.median * 100 if figure.median else 0.0


def compare(old, new):
    """[(what, who, old Figure, new Figure, ratio, verdict)] of what both have."""
    return [(*key, old[key], new[key], *verdict(old[key], new[key])) for key in old if key in new]


def rows(compared):
    table, last = [["", "old", "noise", "new", "noise", "new : old", ""]], None
    for what, who, old, new, ratio, moved in compared:
        if what != last:
            last = what
            table.append([what])
        table.append([f"  {who}", f"{old.median:,.2f}", f"±{noise(old):.0f}%", f"{new.median:,.2f}", f"±{noise(new):.0f}%", f"{ratio:.3f}", moved])
    return table
