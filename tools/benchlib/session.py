"""One run of `./dev bench http`: which runs there are, in which order, and what came of them.

Works that are compared with each other (the numbers of connections) are a block: in each round all of them are measured, so that ratios
between them can be taken within a round as those between servers are. A server that answers wrongly is not asked again in that block; a run
with errors or timeouts does not count, and the others go on.
"""

import statistics
import types

from . import Refused, idle, latency, rounds, table, verify
from .contender import one_line

KEYS = ("cpu_us", "user_us", "system_us", "rps", "p50_ms", "p90_ms", "p99_ms", "max_ms", "rss_kb")
ERRORS = {"status": "status_errors", "connect": "connect_errors", "read": "read_errors", "write": "write_errors", "timeout": "timeouts"}
LATENCY_WORKS = ("memory", "file-13")


def blocks_of(chosen):
    """The works as lists that are measured together."""
    chosen = [work for work in chosen if not work.idle]
    sweep = [work for work in chosen if work.name.startswith("connections-")]
    return [[work] for work in chosen if work not in sweep] + ([sweep] if sweep else [])


def run_entry(run):
    """A run in the form of the JSON."""
    entry = {"counted": run.fault is None, "fault": run.fault}
    load = run.figures.get("wrk")
    if load is not None:
        entry["requests"] = load["requests"]
        entry["errors"] = {name: load[key] for name, key in ERRORS.items()}
    if run.fault is None:
        entry.update({key: run.figures[key] for key in ("cpu_us", "user_us", "system_us", "rss_kb")}, rps=run.figures["requests_per_second"])
        # wrk loses the percentiles of pipelined requests and then says 0.
        entry.update({f"{name}_ms": load[f"{name}_us"] / 1000 if load["p99_us"] else None for name in ("p50", "p90", "p99", "max")})
    return entry


class Result:
    """All runs of one contender in one work. `unsupported` says why there are none."""

    def __init__(self, work, contender, connections, workers, unsupported=None):
        self.work, self.contender, self.connections, self.workers, self.unsupported = work, contender, connections, workers, unsupported
        self.runs, self.refused = [], None

    def values(self, key):
        return [run[key] for run in self.runs if run["counted"] and run[key] is not None]

    def counted(self):
        return sum(run["counted"] for run in self.runs)

    def fault(self):
        return next((run["fault"] for run in reversed(self.runs) if run["fault"]), None)

    def median(self):
        if not self.counted():
            return None
        return {key: statistics.median(self.values(key)) if self.values(key) else None for key in KEYS}

    def spread(self):
        return {key: [min(self.values(key)), max(self.values(key))] for key in KEYS if self.values(key)}

    def as_json(self):
        return {"work": self.work.name, "peer": self.contender.name, "connections": self.connections, "workers": self.workers,
                "unsupported": self.unsupported, "runs": self.runs, "median": self.median(), "spread": self.spread()}


class Session:
    """`settings`: rounds, seconds, warm_up, warm_up_once, connections (a list), load_core, rate, latency_seconds."""

    def __init__(self, settings, contenders, chosen, place, generator, progress):
        self.settings, self.place, self.generator, self.progress = settings, place, generator, progress
        self.contenders = [contender for contender in contenders if contender.reason is None]
        self.chosen = chosen
        self.results, self.latency, self.idle = [], [], []

    def settings_of(self, work):
        """The numbers of connections a work is measured with."""
        return [work.connections] if work.connections else self.settings.connections

    def steps(self, block):
        able = sum(1 for contender in self.contenders if contender.lacks(block[0]) is None)
        return able * self.settings.rounds * sum(len(self.settings_of(work)) for work in block)

    def latency_works(self):
        return [work for work in self.chosen if work.name in LATENCY_WORKS] if self.generator else []

    def idle_works(self):
        return [work for work in self.chosen if work.idle]

    def total(self):
        return sum(self.steps(block) for block in blocks_of(self.chosen)) + sum(
            1 for work in [*self.latency_works(), *self.idle_works()] for contender in self.contenders if contender.lacks(work) is None)

    def run(self):
        for block in blocks_of(self.chosen):
            self.run_block(block)
        for work in self.latency_works():
            for contender in self.contenders:
                if contender.lacks(work) is None:
                    self.run_latency(work, contender)
        for work in self.idle_works():
            self.idle.append({"work": work, "points": [], "left_out": []})
            for contender in self.contenders:
                self.run_idle(work, contender, self.idle[-1])

    def run_block(self, block):
        running, results = {}, []
        try:
            for contender in self.contenders:
                lacking = contender.lacks(block[0])
                mine = [Result(work, contender, connections, contender.workers(self.place), lacking)
                        for work in block for connections in self.settings_of(work)]
                results += mine
                if lacking is None:
                    self.start(contender, block[0], mine, running)
            # Work by work, and in the order of the contenders within each.
            order = [result for work in block for connections in self.settings_of(work) for result in results
                     if result.work is work and result.connections == connections]
            self.results += order
            for number in range(self.settings.rounds):
                for result in order:
                    if result.unsupported is None:
                        self.run_one(result, running.get(result.contender.name), number)
        finally:
            for server in running.values():
                server.stop()

    def start(self, contender, work, results, running):
        try:
            running[contender.name] = contender.start(self.place, work)
        except (Refused, OSError) as error:
            if contender.own:
                raise
            for result in results:
                result.refused = f"it could not be started: {one_line(str(error))}"

    def run_one(self, result, server, number):
        if result.refused is not None:
            # Said once, with its first run.
            if not result.runs:
                result.runs.append({"counted": False, "fault": result.refused})
            self.progress.step(f"{table.title_of(result)}, round {number + 1}, {result.contender.title}: refused: {result.refused}")
            return
        warm_up = 0 if self.settings.warm_up_once and number > 0 else None
        settings = types.SimpleNamespace(connections=result.connections, seconds=self.settings.seconds, warm_up=self.settings.warm_up,
                                         load_core=self.settings.load_core, bin_folder=self.place.bin_folder)
        try:
            entry = run_entry(rounds.measure(server, result.work, settings, warm_up))
        except Refused as error:
            result.refused = str(error)
            entry = {"counted": False, "fault": result.refused}
        result.runs.append(entry)
        figure = f"{entry['cpu_us']:.2f} us" if entry["counted"] else f"thrown away: {entry['fault']}"
        self.progress.step(f"{table.title_of(result)}, round {number + 1}, {result.contender.title}: {figure}")

    def run_latency(self, work, contender):
        server, entry = None, {"rate": self.settings.rate, "generator": self.generator.version, "counted": False, "percentiles": []}
        try:
            server = contender.start(self.place, work)
            entry = latency.measure(self.generator, server, work, self.settings.rate, self.settings.latency_seconds,
                                    self.settings.load_core, self.place.folder)
        except (Refused, OSError) as error:
            entry["fault"] = one_line(str(error))
        finally:
            if server is not None:
                server.stop()
        self.latency.append({"work": work.name, "peer": contender.name, **entry})
        figure = f"99 % within {dict(map(tuple, entry['percentiles']))[99]:.2f} ms" if entry["counted"] else f"thrown away: {entry['fault']}"
        self.progress.step(f"{work.title}, latency at {self.settings.rate:,}/s, {contender.title}: {figure}")

    def run_idle(self, work, contender, curve):
        """Memory for each idle connection of a server that has had none before."""
        reason, server = contender.lacks(work), None
        if reason is not None:
            curve["left_out"] += [{"peer": contender.name, "x": count, "reason": reason} for count in work.counts]
            return
        try:
            server = contender.start(self.place, work)
            path = server.path(work)
            verify.check(server, path, work.body)
            points = idle.memory_points(server, path, work.counts, lambda text: None)
            curve["points"] += [{"peer": contender.name, "counted": 1, "runs": 1, "fault": None, **point} for point in points]
            figure = f"{points[-1]['bytes']:,.0f} B each"
        except (Refused, OSError) as error:
            reason = one_line(str(error))
            curve["left_out"] += [{"peer": contender.name, "x": count, "reason": reason} for count in work.counts]
            figure = f"refused: {reason}"
        finally:
            if server is not None:
                server.stop()
        self.progress.step(f"{work.title}, {contender.title}: {figure}")

    def idle_curves(self):
        return [{"name": one["work"].name, "title": f"Memory of the server for each of so many {one['work'].title}", "x_title": "connections",
                 "x_scale": "log", "y": "bytes", "points": one["points"], "left_out": one["left_out"]} for one in self.idle]

    def curves(self):
        """Cost, rate and latency over busy connections: the block of connections; and the memory of idle ones."""
        return self.busy_curves() + self.idle_curves()

    def busy_curves(self):
        points = [{"peer": result.contender.name, "x": result.connections, **{key: result.median()[key] for key in ("cpu_us", "rps", "p99_ms")}}
                  for result in self.results if result.work.name.startswith("connections-") and result.counted()]
        if not points:
            return []
        return [{"name": "connections", "title": "13 bytes from memory over busy connections", "x_title": "connections", "x_scale": "log",
                 "points": points}]

    def own_failures(self):
        """What makes the command fail: works that one of ours could do and has no figure for."""
        missing = [f"{result.work.title}, {result.contender.title}: {result.fault()}" for result in self.results
                   if result.contender.own and result.unsupported is None and not result.counted()]
        for contender in self.contenders:
            missing += [f"{one['work'].title}, {contender.title}" for one in self.idle if contender.own and contender.lacks(one["work"]) is None
                        and contender.name not in {point["peer"] for point in one["points"]}]
        return missing
