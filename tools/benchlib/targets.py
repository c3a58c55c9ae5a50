"""The marks uvhttp is to reach, and whether a result reaches them: for `./dev bench targets`, and for the JSON of `./dev bench http`.

Two limits stand for most marks: what has to hold ("must") and what is aimed at ("aim"). What a result has no figures for is listed with the
reason and is neither met nor missed.
"""

import statistics

OWN, FLOOR, NGINX, H2O = "uvhttp", "floor", "nginx", "h2o"
FLOORS = [FLOOR, "floor-memory"]
# Beside nginx: at most so much from the beginning of the project on, and so much since static files are complete.
FILES = [("file-13", "13-byte file", 0.75, 0.72), ("file-10k", "10 KB file", 0.82, 0.80), ("file-100k", "100 KB file", 0.90, 0.87),
         ("file-10m", "10 MB file", 1.02, 1.00), ("encoded-10k", "precompressed 10 KB text", None, 0.75),
         ("mix", "2,000 files by Zipf's law", None, 0.75)]
PARSER = [("get-189", 0.70), ("get-45", 0.60), ("browser-726", 0.50), ("response-172", 0.70)]
USUAL_CONNECTIONS = 50
NOT_MEASURED = "not measured"
PICO = "picohttpparser native"
# Works that `./dev bench targets` measures: with every contender; of files, with ours, nginx and h2o; the others with ours and nginx.
WORKS_OF_ALL = ["memory"]
WORKS_OF_FILES = [name for name, _, _, _ in FILES]
WORKS = ["memory", *WORKS_OF_FILES, "pipelined", "connections-50", "connections-500", "connections-2000"]
# Points of the curves of `./dev bench scale`.
CURVES = {"idle-memory": [10000], "connections": [50, 15000], "routes": [10, 10000]}
# Both servers have the same load, which is more than they can do.
LOAD_OF_WORKERS, MOST_OF_WORKERS = "1000 connections", 1.05


class Results:
    """What the JSON of `./dev bench http` says, by work and peer: with the usual number of connections, or the one given."""

    def __init__(self, report):
        self.runs, self.titles = {}, {peer["name"]: peer["title"] for peer in report.get("peers", [])}
        for result in report.get("results", []):
            work, peer, connections = result["work"], result["peer"], result["connections"]
            self.runs[work, peer, connections] = result["runs"]
            if connections == USUAL_CONNECTIONS or (work, peer, None) not in self.runs:
                self.runs[work, peer, None] = result["runs"]

    def counted(self, work, peer, connections=None):
        return [run for run in self.runs.get((work, peer, connections), []) if run["counted"]]

    def median(self, work, peer, key="cpu_us"):
        values = [run[key] for run in self.counted(work, peer)]
        return statistics.median(values) if values else None

    def ratio(self, work, peer, other_work, other_peer, connections=None):
        """The median of the ratios of CPU time within each round in which both runs count; None without such a round."""
        pairs = zip(self.runs.get((work, peer, connections), []), self.runs.get((other_work, other_peer, connections), []))
        ratios = [one["cpu_us"] / other["cpu_us"] for one, other in pairs if one["counted"] and other["counted"]]
        return statistics.median(ratios) if ratios else None

    def peers(self, work):
        return [peer for one, peer, connections in self.runs if one == work and connections is None and self.counted(work, peer)]


def mark(text, value, limit, unit="x", level="must", note=None):
    if value is None and note is None:
        note = NOT_MEASURED
    return {"text": text, "value": value, "limit": limit, "unit": unit, "met": None if value is None else value <= limit, "level": level,
            "note": note}


def memory_marks(results):
    beside_floor = results.ratio("memory", OWN, "memory", FLOOR)
    yield mark("13 bytes from memory beside the floor", beside_floor, 1.08)
    yield mark("13 bytes from memory beside the floor", beside_floor, 1.06, level="aim")
    others = [peer for peer in results.peers("memory") if peer not in (OWN, FLOOR)]
    best = min(others, key=lambda peer: results.median("memory", peer), default=None)
    name = results.titles.get(best, best)
    yield mark(f"13 bytes from memory beside the best peer{f' of {len(others)} ({name})' if best else ''}",
               results.ratio("memory", OWN, "memory", best) if best else None, 1.0)
    yield mark("13 bytes from memory beside uWebSockets", None, 1.0, level="aim", note="uWebSockets is in no registry used here")
    yield mark("13 bytes from memory, user time", results.median("memory", OWN, "user_us"), 0.40, "us", "aim")


def file_marks(results):
    for work, title, first, limit in FILES:
        beside_nginx = results.ratio(work, OWN, work, NGINX)
        if first is not None:
            yield mark(f"{title} beside nginx, first mark", beside_nginx, first)
        yield mark(f"{title} beside nginx", beside_nginx, limit)
        yield mark(f"{title} beside h2o", results.ratio(work, OWN, work, H2O), 1.0)
        beside_floors = [results.ratio(work, OWN, work, floor) for floor in FLOORS]
        # The better floor is the one that is cheaper, beside which the ratio is higher.
        yield mark(f"{title} beside the better floor", max((one for one in beside_floors if one is not None), default=None), 1.08)


def load_marks(results):
    yield mark("16 pipelined beside nginx", results.ratio("pipelined", OWN, "pipelined", NGINX), 1 / 8)
    yield mark("16 pipelined", results.median("pipelined", OWN), 0.45, "us", "aim")
    for count in (500, 2000):
        ours, floor = (results.ratio(f"connections-{count}", peer, "connections-50", peer) for peer in (OWN, FLOOR))
        # What the system itself does with more sockets no server can take away.
        note = f"the floor's own is {floor:.3f}" if ours is not None and floor is not None else None
        yield mark(f"{count:,} connections beside 50", ours, 1.10, note=note)


def curve_point(report, name, x, key):
    for curve in report.get("curves", []):
        for point in curve["points"]:
            # The curve of idle connections and that of busy ones have one name; only the former names its base.
            if curve["name"] == name and (name != "connections" or "base_x" in curve) and point["x"] == x and point["peer"] == OWN:
                return point.get(key)
    return None


def left_out(report, name, x):
    """Why a point is missing, as `./dev bench scale` says it."""
    for curve in report.get("curves", []):
        for one in curve.get("left_out", []):
            if curve["name"] == name and one["x"] == x:
                return one["reason"]
    return None


def curve_marks(report):
    yield mark("memory of an idle connection", curve_point(report, "idle-memory", 10000, "bytes"), 512, "bytes",
               note=left_out(report, "idle-memory", 10000))
    for name, points, limit, text in (("connections", (15000, 50), 1.03, "50 busy connections beside 15,000 idle ones"),
                                      ("routes", (10000, 10), 1.50, "a request with 10,000 routes beside 10")):
        values = [curve_point(report, name, x, "cpu_us") for x in points]
        yield mark(text, values[0] / values[1] if None not in values else None, limit, level="aim", note=left_out(report, name, points[0]))


def parser_marks(parser):
    messages = {message["name"]: message["parsers"] for message in parser.get("corpus", {}).get("messages", [])}
    for backend in ("avx2", "avx512"):
        for name, limit in PARSER:
            figures = messages.get(name, {}).get(f"uvhttp {backend}", {})
            yield mark(f"parser with {backend}, {name} beside {PICO}", figures.get("ratio"), limit, level="aim")


def worker_marks(workers):
    ratio = next((one["ratio"] for one in workers.get("results", []) if (one["load"], one["workers"]) == (LOAD_OF_WORKERS, 2)), None)
    yield mark(f"two workers beside one, {LOAD_OF_WORKERS}", ratio, MOST_OF_WORKERS, level="aim")


def judge(report, parser=None, workers=None):
    """All marks. `report` is the JSON of `./dev bench http`, with the curves of `./dev bench scale` among its own; `parser` that of
    `./dev bench parser`, `workers` that of `./dev bench workers`."""
    results = Results(report)
    return [*memory_marks(results), *file_marks(results), *load_marks(results), *curve_marks(report), *parser_marks(parser or {}),
            *worker_marks(workers or {})]


def rows(marks):
    """A table."""
    table = [["mark", "level", "measured", "at most", ""]]
    for one in marks:
        digits, unit = {"x": (3, " x"), "us": (2, " us"), "bytes": (0, " B")}[one["unit"]]
        value = "-" if one["value"] is None else f"{one['value']:.{digits}f}{unit}"
        state = {None: "not measured", True: "met", False: "NOT MET"}[one["met"]]
        table.append([one["text"], one["level"], value, f"{one['limit']:.{digits}f}{unit}", state])
    return table


def notes(marks):
    """Lines that say why marks have no figures, for those of which there is more to say than that."""
    return [f"{one['text']}: {one['note']}" for one in marks if one["note"] not in (None, NOT_MEASURED)]
