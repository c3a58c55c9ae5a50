"""What a report is made of: the JSON of a benchmark checked and brought into one form, and what is derived from it.

Read are the files of `./dev bench http`, and of scale and capacity, which have curves only.

Whatever is missing gives a smaller report; whatever is there and has the wrong form is refused with its place in the file
(Malformed). Nothing is left out silently: peers that were not available and runs that do not count stay listed.
"""

import math
import re
import statistics

from . import Refused, capacity

KINDS, FORMAT = ("http", "scale", "capacity"), 1
OWN, FLOOR = "uvhttp", "floor"
CURVE_METRICS = ("cpu_us", "rps", "p99_ms", "bytes")
# Curves over busy connections: only there p99 has a knee.
KNEE_CURVES = ("connections", "capacity")


class Malformed(Refused):
    """The file is no result a report can be made from; the text says where and why."""


class Peer:
    """A server that was to be measured. `index` chooses its colour and mark in all charts; the floor has none, and ours, which
    may be there as "uvhttp, memory" and "uvhttp, file" too, has the marks only."""

    def __init__(self, name, title=None, version=None, configuration=None, available=True, reason=None):
        self.name, self.title, self.version = name, title or name, version
        self.configuration, self.available, self.reason = configuration, available, reason
        self.own, self.floor, self.index = name.split(",")[0] == OWN, name == FLOOR, None
        self.short = self.title
        # Whether the file's list of peers has it, or only some figure does.
        self.listed = False


class Work:
    def __init__(self, name, title=None, group=None, pipeline=1, body_bytes=None):
        self.name, self.title, self.group = name, title or name, group or ""
        self.pipeline, self.body_bytes = pipeline, body_bytes


class Result:
    """All runs of one peer in one setting (work, connections). `median` is empty when no run counts; `unsupported` says why there are no
    runs."""

    def __init__(self, peer, work, connections, workers, runs, median, spread, unsupported=None):
        self.peer, self.work, self.connections, self.workers = peer, work, connections, workers
        self.runs, self.median, self.spread, self.unsupported = runs, median, spread, unsupported

    @property
    def counted(self):
        return sum(1 for run in self.runs if run["counted"])

    def value(self, key):
        return self.median.get(key)

    def range(self, key):
        """(lowest, highest) of the runs that count, or None."""
        if self.value(key) is None:
            return None
        if key in self.spread:
            return self.spread[key]
        values = [run[key] for run in self.runs if run["counted"] and run.get(key) is not None]
        return (min(values), max(values)) if values else None


class Report:
    """The whole file. `peers` and `works` are {name: ...} in the file's order; `settings` groups the results for the charts."""

    def __init__(self):
        self.peers, self.works, self.results = {}, {}, []
        self.latency, self.curves, self.targets = [], [], []
        self.environment, self.options, self.command = {}, {}, None

    def settings(self):
        """[(work, connections, workers, {peer name: result})] in the file's order. Peers with other numbers of workers stand beside one
        another, but one peer with two of them makes two settings; `workers` is None where they differ."""
        grouped = {}
        for result in self.results:
            key = (result.work.name, result.connections)
            while result.peer.name in grouped.setdefault(key, {}):
                key = (*key, "again")
            grouped[key][result.peer.name] = result
        found = []
        for key, results in grouped.items():
            workers = {result.workers for result in results.values()}
            found.append((self.works[key[0]], key[1], workers.pop() if len(workers) == 1 else None, results))
        return found


# --- reading ---


def wrong(place, wanted, got):
    shown = repr(got)
    raise Malformed(f"{place}: expected {wanted}, found {shown if len(shown) <= 60 else shown[:57] + '...'}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def take(mapping, key, place, kind, otherwise=None):
    """The value of a key, of the wanted kind; a key that is missing or null gives `otherwise`."""
    value = mapping.get(key)
    if value is None:
        return otherwise
    where = f"{place}.{key}" if place else key
    if kind == "number":
        if not is_number(value) or not math.isfinite(value) or value < 0:
            wrong(where, "a number from 0 on", value)
    elif kind == "integer":
        if not is_number(value) or value != value // 1 or value < 0:
            wrong(where, "a whole number from 0 on", value)
    else:
        types = {"text": str, "list": list, "object": dict, "yes or no": bool}
        if not isinstance(value, types[kind]):
            wrong(where, {"text": "text", "list": "a list", "object": "an object"}.get(kind, "true or false"), value)
    return value


def entries(data, key):
    """The objects of a list, each with its place in the file."""
    for number, entry in enumerate(take(data, key, "", "list", [])):
        place = f"{key}[{number}]"
        if not isinstance(entry, dict):
            wrong(place, "an object", entry)
        yield place, entry


def required(mapping, key, place, kind):
    value = take(mapping, key, place, kind)
    if value is None:
        raise Malformed(f"{place}: {key!r} is missing")
    return value


def numbers(mapping, place):
    """The numbers of an object; null ones are left out."""
    return {key: take(mapping, key, place, "number") for key, value in mapping.items() if value is not None}


def read_peers(report, data):
    for place, entry in entries(data, "peers"):
        peer = Peer(required(entry, "name", place, "text"),
                    *(take(entry, key, place, "text") for key in ("title", "version", "configuration")),
                    take(entry, "available", place, "yes or no", True), take(entry, "reason", place, "text"))
        if peer.name in report.peers:
            raise Malformed(f"{place}: the peer {peer.name!r} is there twice")
        peer.listed = True
        report.peers[peer.name] = peer


def read_works(report, data):
    for place, entry in entries(data, "works"):
        work = Work(required(entry, "name", place, "text"),
                    *(take(entry, key, place, "text") for key in ("title", "group")),
                    take(entry, "pipeline", place, "integer", 1), take(entry, "body_bytes", place, "integer"))
        report.works[work.name] = work


def peer_of(report, entry, place):
    """The peer an entry names. One that the list does not have is added, so that a part of a file can be shown, too."""
    name = required(entry, "peer", place, "text")
    return report.peers.setdefault(name, Peer(name))


def read_run(entry, place):
    if not isinstance(entry, dict):
        wrong(place, "an object", entry)
    run = {key: take(entry, key, place, "number") for key in entry if key not in ("counted", "fault", "errors") and is_number(entry[key])}
    run["fault"] = take(entry, "fault", place, "text")
    run["counted"] = take(entry, "counted", place, "yes or no", run["fault"] is None)
    errors = take(entry, "errors", place, "object", {})
    run["errors"] = {kind: int(take(errors, kind, f"{place}.errors", "integer", 0)) for kind in errors}
    return run


def read_range(value, place):
    if not isinstance(value, list) or len(value) != 2 or not all(is_number(one) for one in value):
        wrong(place, "[lowest, highest]", value)
    return min(value), max(value)


def read_results(report, data):
    for place, entry in entries(data, "results"):
        work = required(entry, "work", place, "text")
        runs = [read_run(run, f"{place}.runs[{i}]") for i, run in enumerate(take(entry, "runs", place, "list", []))]
        spread = take(entry, "spread", place, "object", {})
        result = Result(
            peer_of(report, entry, place), report.works.setdefault(work, Work(work)),
            take(entry, "connections", place, "integer"), take(entry, "workers", place, "integer"), runs,
            numbers(take(entry, "median", place, "object", {}), f"{place}.median"),
            {key: read_range(value, f"{place}.spread.{key}") for key, value in spread.items() if value is not None},
            take(entry, "unsupported", place, "text"))
        if any((result.peer, result.work, result.connections, result.workers) == (other.peer, other.work, other.connections, other.workers)
               for other in report.results):
            raise Malformed(f"{place}: {result.peer.name} is there twice for {work} with the same connections and workers")
        report.results.append(result)


def read_latency(report, data):
    for place, entry in entries(data, "latency"):
        work = take(entry, "work", place, "text", "")
        points = []
        for i, pair in enumerate(take(entry, "percentiles", place, "list", [])):
            if not isinstance(pair, list) or len(pair) != 2 or not all(is_number(one) and one >= 0 for one in pair) or pair[0] > 100:
                wrong(f"{place}.percentiles[{i}]", "[percentile, milliseconds]", pair)
            points.append(tuple(pair))
        points.sort()
        longest = take(entry, "max_ms", place, "number")
        if longest is not None and points and points[-1][0] < 100:
            points.append((100, longest))
        fault = take(entry, "fault", place, "text")
        report.latency.append({
            "peer": peer_of(report, entry, place), "work": report.works.get(work) or Work(work, work or "requests"),
            "rate": take(entry, "rate", place, "number"), "generator": take(entry, "generator", place, "text"),
            "points": points, "counted": take(entry, "counted", place, "yes or no", fault is None), "fault": fault})


def read_counts(point, place, fault):
    """(runs that count, all runs) of a point, which may be one run or what was made of several."""
    if isinstance(point.get("counted"), bool) or point.get("counted") is None:
        return int(take(point, "counted", place, "yes or no", fault is None)), 1
    counted = take(point, "counted", place, "integer")
    return counted, max(counted, take(point, "runs", place, "integer", counted))


def read_left_out(report, entry, place):
    """(peer, x, reason) of the points that were not measured."""
    for i, one in enumerate(take(entry, "left_out", place, "list", [])):
        where = f"{place}.left_out[{i}]"
        if not isinstance(one, dict):
            wrong(where, "an object", one)
        yield peer_of(report, one, where), required(one, "x", where, "number"), take(one, "reason", where, "text", "no reason given")


def read_curves(report, data):
    for place, entry in entries(data, "curves"):
        name = required(entry, "name", place, "text")
        points = []
        for i, point in enumerate(take(entry, "points", place, "list", [])):
            where = f"{place}.points[{i}]"
            if not isinstance(point, dict):
                wrong(where, "an object", point)
            fault = take(point, "fault", where, "text")
            counted, runs = read_counts(point, where, fault)
            points.append({"peer": peer_of(report, point, where), "x": required(point, "x", where, "number"), "fault": fault,
                           "counted": counted, "runs": runs, **{key: take(point, key, where, "number") for key in CURVE_METRICS}})
        metric = take(entry, "y", place, "text")
        if metric not in (None, *CURVE_METRICS):
            wrong(f"{place}.y", " or ".join(CURVE_METRICS), metric)
        report.curves.append({
            "name": name, "title": take(entry, "title", place, "text", name), "points": points, "y": metric,
            "left_out": list(read_left_out(report, entry, place)),
            "x_title": take(entry, "x_title", place, "text", name), "x_scale": take(entry, "x_scale", place, "text", "linear")})


def read_targets(report, data):
    for place, entry in entries(data, "targets"):
        report.targets.append({"text": required(entry, "text", place, "text"), "unit": take(entry, "unit", place, "text", ""),
                               **{key: take(entry, key, place, "number") for key in ("value", "limit")},
                               **{key: take(entry, key, place, "text") for key in ("level", "note")},
                               "met": take(entry, "met", place, "yes or no")})


def shorten_titles(peers):
    """Gives each peer a `short` title for where there is little room: without what stands in parentheses or behind a comma, if no other
    is called the same."""
    shorts = [re.split(r" \(|, ", peer.title)[0] for peer in peers]
    for peer, short in zip(peers, shorts):
        peer.short = short if shorts.count(short) == 1 else peer.title


def read(data):
    """The report of a parsed JSON file. Raises Malformed."""
    if not isinstance(data, dict):
        wrong("the file", "an object", data)
    if data.get("kind") not in KINDS:
        wrong("kind", " or ".join(map(repr, KINDS)), data.get("kind"))
    if data.get("format") != FORMAT:
        wrong("format", f"{FORMAT}, the one this version knows", data.get("format"))
    report = Report()
    report.environment = take(data, "environment", "", "object", {})
    report.options = take(data, "options", "", "object", {})
    report.command = take(data, "command", "", "text") or take(report.environment, "command", "environment", "text")
    for part in (read_peers, read_works, read_results, read_latency, read_curves, read_targets):
        part(report, data)
    # Colours go by the place in the file, whatever a single chart shows.
    for own in (True, False):
        for index, peer in enumerate(peer for peer in report.peers.values() if peer.own is own and not peer.floor):
            peer.index = index
    shorten_titles(report.peers.values())
    return report


# --- deriving ---


def ratio(result, other, key="cpu_us"):
    """The median of the ratios within each round in which both runs count; None without such a round."""
    pairs = [(one.get(key), two.get(key)) for one, two in zip(result.runs, other.runs) if one["counted"] and two["counted"]]
    ratios = [one / two for one, two in pairs if one is not None and two]
    return statistics.median(ratios) if ratios else None


def by_value(results, key):
    """Results that have the figure, smallest first; the floor is no competitor and left out."""
    having = [result for result in results.values() if result.value(key) is not None and not result.peer.floor]
    return sorted(having, key=lambda result: result.value(key))


def not_drawn(report, results, key):
    """[(peer, why)] of every peer that has no figure in a chart."""
    missing = []
    for peer in report.peers.values():
        result = results.get(peer.name)
        if result.value(key) is not None if result else not peer.listed:
            continue
        if not peer.available:
            missing.append((peer, "not available"))
        elif result is None:
            missing.append((peer, "not measured here"))
        elif result.unsupported:
            missing.append((peer, result.unsupported))
        elif result.runs and result.counted == 0:
            missing.append((peer, "no run counts"))
        else:
            missing.append((peer, "no figure"))
    return missing


def standings(report):
    """How often uvhttp needs the least CPU: (settings won, settings compared, [(work, peer, ratio to it) where not])."""
    won, lost, compared = 0, [], 0
    for work, connections, _, results in report.settings():
        order = by_value(results, "cpu_us")
        own = results.get(OWN)
        if own is None or own.value("cpu_us") is None or len(order) < 2:
            continue
        compared += 1
        if order[0] is own:
            won += 1
        else:
            lost.append((work, connections, order[0].peer, own.value("cpu_us") / order[0].value("cpu_us")))
    return won, compared, lost


def run_reason(run):
    """Why a run does not count, with its errors where the reason does not name them; or that it counts in spite of errors."""
    kinds = {kind: count for kind, count in run["errors"].items() if count}
    errors = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items())
    if run["counted"]:
        return f"counts, but had errors: {errors}" if errors else None
    reason = run["fault"] or "no reason given"
    if all(str(count) in reason.replace(",", "") for count in kinds.values()):
        return reason
    return f"{reason} (errors: {errors})"


def thrown_away(report):
    """[(where, peer, which, reason)] of everything that was measured and does not count, and of errors in what does."""
    listed = []
    for result in report.results:
        reasons = {}
        for number, run in enumerate(result.runs, 1):
            reason = run_reason(run)
            if reason:
                reasons.setdefault(reason, []).append(str(number))
        for reason, numbers in reasons.items():
            listed.append((setting_title(result.work, result.connections, result.workers), result.peer,
                           ("round " if len(numbers) == 1 else "rounds ") + ", ".join(numbers), reason))
    for entry in report.latency:
        if not entry["counted"]:
            rate = f"{entry['rate']:,.0f} requests/s" if entry["rate"] else "latency"
            listed.append((f"{entry['work'].title}, fixed rate", entry["peer"], rate, entry["fault"] or "no reason given"))
    for curve in report.curves:
        for point in curve["points"]:
            lost = point["runs"] - point["counted"]
            if lost:
                which = f"{point['x']:,.0f} {curve['x_title']}" + (f", {lost} of {point['runs']} runs" if point["runs"] > 1 else "")
                listed.append((curve["title"], point["peer"], which, point["fault"] or "no reason given"))
        for peer, x, reason in curve["left_out"]:
            listed.append((curve["title"], peer, f"{x:,.0f} {curve['x_title']}", reason))
    return listed


def run_counts(report):
    """(runs that count, all runs), latency and curves included."""
    flags = [run["counted"] for result in report.results for run in result.runs]
    flags += [entry["counted"] for entry in report.latency]
    points = [point for curve in report.curves for point in curve["points"]]
    return sum(flags) + sum(point["counted"] for point in points), len(flags) + sum(point["runs"] for point in points)


def setting_title(work, connections, workers):
    parts = [work.title]
    # A work may be about its connections and say so itself.
    if connections and f"{connections:,} connection" not in work.title:
        parts.append(f"{connections:,} connection" + ("s" if connections != 1 else ""))
    if workers and workers > 1:
        parts.append(f"{workers} workers")
    return ", ".join(parts)


def series(curve, key):
    """{peer name: [(x, y), ...]} of a curve's counted points that have the figure, x ascending."""
    lines = {}
    for point in sorted(curve["points"], key=lambda point: point["x"]):
        if point["counted"] and point[key] is not None:
            lines.setdefault(point["peer"].name, []).append((point["x"], point[key]))
    return lines


def knees(curve):
    """{peer name: (x, whether p99 leaves the flat part beyond it)}, found as ./dev bench capacity finds it; none for other curves."""
    if curve["name"] not in KNEE_CURVES or curve["y"] not in (None, "p99_ms"):
        return {}
    found = {}
    for name, points in series(curve, "p99_ms").items():
        # With no more points than the flat level takes, nothing is left that could leave it.
        if name != FLOOR and len(points) > capacity.FLAT_POINTS:
            one = capacity.find_knee([{"connections": x, "p99_ms": y, "rps": None, "cpu_us": None} for x, y in points])
            found[name] = (one["connections"], one["left"])
    return found


# --- figures as text ---


def figure(value, digits=3):
    """Three significant digits, thousands in groups: 6.35, 24.5, 101,000. More would pretend to know more. None is a dash."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    value = round(value, places)
    # Rounding may have added a digit: 9.999 is 10.0, not 10.00.
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, places)}f}"


def size(bytes_):
    """A body's size as people say it: 13 B, 10 KB, 10 MB (of 1,024)."""
    for unit, factor in (("MB", 1 << 20), ("KB", 1 << 10)):
        if bytes_ >= factor and bytes_ % factor == 0:
            return f"{bytes_ // factor:,.0f} {unit}"
    return f"{bytes_:,.0f} B"


def percentile(value):
    return f"p{value:g}" if value < 100 else "max"
