"""One run of `./dev bench ws`: which runs there are, in which order, and what came of them.

Servers are measured in turn within each work, A B C A B C. A server that answers wrongly is not asked again in that work; a run with errors does not count, and
the others go on.
"""

import pathlib
import re
import statistics

from . import Refused, cpu, idle, system_calls, websocket_load, websocket_verify
from .contender import one_line

KEYS = ("cpu_us", "user_us", "system_us", "rps", "p50_ms", "p90_ms", "p99_ms", "max_ms", "rss_kb", "wire_bytes", "bytes", "private_bytes", "kernel_bytes")
# Connections of an idle work that are opened before the others are counted.
WARM_UP_CONNECTIONS = 100
TRACE_SECONDS = 1


class Result:
    """All runs of one contender in one work. `unsupported` says why there are none, `refused` why there are no more."""

    def __init__(self, work, contender):
        self.work, self.contender, self.unsupported = work, contender, contender.lacks(work)
        self.runs, self.refused, self.system_calls = [], None, None

    def values(self, key):
        return [run[key] for run in self.runs if run["counted"] and run.get(key) is not None]

    def counted(self):
        return sum(run["counted"] for run in self.runs)

    def fault(self):
        return next((run["fault"] for run in reversed(self.runs) if run["fault"]), None)

    def median(self):
        return {key: statistics.median(self.values(key)) for key in KEYS if self.values(key)} or None

    def spread(self):
        return {key: [min(self.values(key)), max(self.values(key))] for key in KEYS if self.values(key)}

    def as_json(self):
        return {"work": self.work.name, "peer": self.contender.name, "connections": self.work.connections, "workers": 1, "unsupported": self.unsupported,
                "runs": self.runs, "median": self.median(), "spread": self.spread(), "system_calls": self.system_calls}


def ratio(runs, other_runs, key):
    """The median of the ratios within each round in which both count; None without such a round."""
    ratios = [one[key] / other[key] for one, other in zip(runs, other_runs) if one["counted"] and other["counted"] and other[key] > 0]
    return statistics.median(ratios) if ratios else None


def resident_bytes(pid):
    """Memory of the server's processes that is there, shared or not."""
    total = 0
    for one in cpu.process_tree(pid):
        text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        total += 1024 * int(re.search(r"^Rss:\s+(\d+) kB", text, re.M)[1])
    return total


def run_entry(result):
    entry = {"counted": False, "fault": websocket_load.fault(result), "messages": result["messages"],
             "errors": {name: result[name] for name in websocket_load.ERRORS}}
    entry["counted"] = entry["fault"] is None
    return entry


class Session:
    """`settings`: rounds, seconds, warm_up, warm_up_once, load_core, patience_ms, connections (instead of those of broadcast and idle works, or None)."""

    def __init__(self, settings, contenders, chosen, place, progress):
        self.settings, self.place, self.progress = settings, place, progress
        self.contenders = [contender for contender in contenders if contender.reason is None]
        self.chosen, self.results = chosen, []

    def total(self):
        return self.settings.rounds * sum(1 for work in self.chosen for one in self.contenders if one.lacks(work) is None)

    def run(self):
        for work in self.chosen:
            self.run_work(work)

    def run_work(self, work):
        results, running = [Result(work, contender) for contender in self.contenders], {}
        self.results += results
        try:
            for number in range(self.settings.rounds):
                for result in results:
                    if result.unsupported is None:
                        self.run_one(result, running, number)
        finally:
            for server in running.values():
                server.stop()

    def server(self, result, running):
        """What an idle connection costs shows only in a server that has had none before."""
        contender = result.contender
        if result.work.mode == "idle" and contender.name in running:
            running.pop(contender.name).stop()
        if contender.name not in running:
            try:
                running[contender.name] = contender.start(self.place, result.work)
            except (Refused, OSError) as error:
                if contender.own:
                    raise
                raise Refused(f"it could not be started: {one_line(str(error))}") from error
        return running[contender.name]

    def run_one(self, result, running, number):
        title = f"{result.work.title}, round {number + 1}, {result.contender.title}"
        if result.refused is not None:
            self.progress.step(f"{title}: refused: {result.refused}")
            return
        try:
            server = self.server(result, running)
            path = result.contender.paths[result.work.kind]
            measure = self.measure_idle if result.work.mode == "idle" else self.measure
            entry = measure(server, path, result, 0 if self.settings.warm_up_once and number > 0 else self.settings.warm_up)
        except Refused as error:
            # A debug build is no matter of this work alone.
            if result.contender.own and "is not a Release build" in str(error):
                raise
            result.refused = str(error)
            entry = {"counted": False, "fault": result.refused}
        result.runs.append(entry)
        figure = f"thrown away: {entry['fault']}" if not entry["counted"] else (
            f"{entry['bytes']:,.0f} B" if result.work.mode == "idle" else f"{entry['cpu_us']:.2f} us")
        self.progress.step(f"{title}: {figure}")

    def load(self, server, path, work, connections=None):
        if connections is None and work.mode != "echo":
            connections = self.settings.connections
        return websocket_load.Load(self.place.bin_folder, server.port, path, work, self.settings.load_core, connections, self.settings.patience_ms)

    def measure(self, server, path, result, warm_up):
        """A warm-up and a run. Opening connections and what comes behind the run are not measured: nothing is under way at both ends."""
        work = result.work
        websocket_verify.check(server, path, work)
        with self.load(server, path, work) as load:
            if warm_up > 0:
                warmed = load.run(warm_up)
                if websocket_load.fault(warmed):
                    return run_entry(warmed)
            before = cpu.read(server.pid)
            done = load.run(self.settings.seconds)
            spent = cpu.read(server.pid) - before
            entry = run_entry(done)
            if not entry["counted"]:
                return entry
            resident = cpu.resident_kb(server.pid)
            if work.mode == "broadcast" and result.system_calls is None:
                result.system_calls = self.count_calls(server, load)
        websocket_verify.check(server, path, work)
        total, user, system = spent.per_request(done["messages"])
        entry.update(cpu_us=total, user_us=user, system_us=system, rps=done["messages"] / (done["duration_us"] / 1e6), rss_kb=resident,
                     published=done["published"], wire_bytes=done["received"] / done["messages"])
        entry.update({f"{name}_ms": done[f"{name}_us"] / 1000 for name in ("p50", "p90", "p99", "max")})
        return entry

    def count_calls(self, server, load):
        try:
            return system_calls.per_delivery(server, load, TRACE_SECONDS, self.place.folder)
        except Refused as error:
            return {"reason": str(error)}

    def measure_idle(self, server, path, result, _):
        """What the server grows by for each connection that has had one message. `kernel_bytes` is half of what the kernel's own objects grow by: both ends are on
        this machine."""
        work = result.work
        websocket_verify.check(server, path, work)
        with self.load(server, path, work, WARM_UP_CONNECTIONS) as first:
            memory, private, kernel = resident_bytes(server.pid), idle.private_bytes(server.pid), idle.slab_bytes()
            count = self.settings.connections or work.connections
            with self.load(server, path, work) as others:
                entry = {"counted": True, "fault": None, "messages": count, "errors": {}, "bytes": (resident_bytes(server.pid) - memory) / count,
                         "private_bytes": (idle.private_bytes(server.pid) - private) / count,
                         "kernel_bytes": max(0, idle.slab_bytes() - kernel) / 2 / count, "rss_kb": resident_bytes(server.pid) // 1024}
                closed = count + WARM_UP_CONNECTIONS - others.count_open() - first.count_open()
                if closed > 0:
                    entry.update(counted=False, fault=f"{closed} of {count} idle connections were closed by the server")
        websocket_verify.check(server, path, work)
        return entry

    def own_failures(self):
        """What makes the command fail: works that one of ours could do and has no figure for."""
        return [f"{result.work.title}, {result.contender.title}: {result.fault()}" for result in self.results
                if result.contender.own and result.unsupported is None and not result.counted()]


