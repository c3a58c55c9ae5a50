"""The runs of a benchmark and their results.

Servers are measured in turn, A B C A B C, so that a slow period of the machine affects all of them,
and ratios are taken within a round. A contender whose run raises Refused (a wrong response, or no
start) is not measured again in that work with that number of connections. A run in which requests
failed does not count, but later runs may.

In JSON and in options a contender is called "peer".
"""

import statistics
import time

from . import Refused, table
from .command import log
from .contender import one_line


class Result:
    """All runs of one contender in one work with one number of connections.

    `unsupported`: why there are none, or None. `refused`: why there are no more, or None.
    `main_key`: the key of the figure whose spread and ratios are printed.
    """

    def __init__(self, work, contender, connections):
        self.work, self.contender, self.connections = work, contender, connections
        self.unsupported, self.refused, self.runs = contender.reason_unsupported(work), None, []
        self.main_key = "bytes" if work.idle else "cpu_us"

    def title(self):
        return f"{self.work.title}, {self.connections:,} connections"

    def values(self, key):
        return [run[key] for run in self.runs if run["counted"] and run.get(key) is not None]

    def counted(self):
        return sum(run["counted"] for run in self.runs)

    def fault(self):
        return next((run["fault"] for run in reversed(self.runs) if run["fault"]), None)

    def median(self, key):
        return statistics.median(self.values(key)) if self.values(key) else None

    def spread(self, key):
        return min(self.values(key)), max(self.values(key))

    def ratio(self, other):
        return table.ratio(self.runs, other.runs, self.main_key)

    def as_json(self):
        keys = [key for key in table.COLUMNS if self.values(key)]
        return {"work": self.work.name, "peer": self.contender.name,
                "connections": self.connections, "unsupported": self.unsupported,
                "runs": self.runs, "median": {key: self.median(key) for key in keys} or None,
                "spread": {key: self.spread(key) for key in keys}}


class Session:
    """Measures each work with each contender that is available.

    `measure(server, work, connections, options)` makes one run. It returns an entry of Result.runs,
    {"counted", "fault", figures}, in which `fault` is None, or why the run does not count.
    `options`: the number of rounds, and what `measure` needs. `connections`: numbers of connections
    for works without a fixed one. `workspace`: see contender.make_workspace.
    """

    def __init__(self, options, contenders, works, workspace, measure, connections=(50,)):
        self.options, self.workspace, self.measure = options, workspace, measure
        self.contenders = [one for one in contenders if one.reason is None]
        # `running`: the servers by name of their contender.
        self.works, self.results, self.running = works, [], {}
        # One block for each work. Each round makes a run for each result of the block.
        self.blocks = [[Result(work, contender, count)
                        for count in ([work.connections] if work.connections else connections)
                        for contender in self.contenders] for work in works]
        self.done, self.started = 0, time.monotonic()
        self.total = options.rounds * sum(not one.unsupported for block in self.blocks
                                          for one in block)

    def run(self):
        for block in self.blocks:
            self.results += block
            try:
                for number in range(self.options.rounds):
                    for result in block:
                        if not result.unsupported:
                            self.run_one(result, number)
            finally:
                self.stop_all()
        return self

    def stop(self, name):
        server = self.running.pop(name, None)
        if server is not None:
            server.stop()

    def stop_all(self):
        for name in list(self.running):
            self.stop(name)

    def server(self, result):
        """Returns the running server of the contender, or starts one."""
        contender = result.contender
        running = self.running.get(contender.name)
        # A work is `fresh` if earlier connections to a server would change its figures.
        if running is not None and (result.work.fresh or running.has_ended()):
            self.stop(contender.name)
        if contender.name not in self.running:
            try:
                self.running[contender.name] = contender.start(self.workspace, result.work)
            except (Refused, OSError) as error:
                if contender.own:
                    raise
                raise Refused(f"it could not be started: {one_line(str(error))}") from error
        return self.running[contender.name]

    def run_one(self, result, number):
        if result.refused:
            entry = {"counted": False, "fault": result.refused}
        else:
            # Outside of `try`: if a server of ours does not start, the command fails.
            server = self.server(result) if result.contender.own else None
            try:
                server = server or self.server(result)
                entry = self.measure(server, result.work, result.connections, self.options)
            except Refused as error:
                result.refused = str(error)
                entry = {"counted": False, "fault": result.refused}
                # It may have crashed. The next result of the block gets a new one.
                self.stop(result.contender.name)
            result.runs.append(entry)
        figure = f"not counted: {entry['fault']}"
        if entry["counted"]:
            figure = f"{entry[result.main_key]:,.2f} {'B' if result.work.idle else 'us'}"
        self.done += 1
        left = (time.monotonic() - self.started) / self.done * (self.total - self.done)
        log(f"[{self.done}/{self.total}, {left / 60:.1f} min left] {result.title()}, "
            f"round {number + 1}, {result.contender.title}: {figure}")

    def failures(self):
        """Lists results of our servers without a run that counts. Each makes the command fail."""
        return [f"{one.title()}, {one.contender.title}: {one.fault()}" for one in self.results
                if one.contender.own and not one.unsupported and not one.counted()]

    def faults(self):
        """Lists runs that do not count although others of the same result do."""
        return [f"not counted: {one.title()}, {one.contender.title}, round {number + 1}: "
                + run["fault"] for one in self.results for number, run in enumerate(one.runs)
                if run["fault"] and one.counted()]

    def print(self, references):
        print("\nMedians. CPU, user and system: microseconds per request. Ratios: within a round\n")
        print(table.results(self.results, references))
        print("\n".join(["", *self.faults()]))

    def as_json(self, kind, described, contenders):
        names = [name for name in ("rounds", "seconds", "warm_up") if hasattr(self.options, name)]
        return {
            "kind": kind, "environment": described,
            "options": {name: getattr(self.options, name) for name in names},
            "peers": [{"name": one.name, "title": one.title, "version": one.version,
                       "configuration": one.configuration, "reason": one.reason}
                      for one in contenders],
            "works": [{"name": work.name, "title": work.title} for work in self.works],
            "results": [one.as_json() for one in self.results], "failures": self.failures()}


def print_contenders(contenders):
    for one in contenders:
        found = f"{one.version}; {one.configuration}"
        print(f"{one.name}: {f'NOT AVAILABLE: {one.reason}' if one.reason else found}")
