"""One load run with the CPU time of both sides: the server's and the load generator's.

A generator that needs its whole core measures itself and not the server, so every run says how busy both were, and how busy their
cores were besides. The loads that need more than one request are those of bench/scale.lua.
"""

import pathlib
import resource
import statistics

from . import Refused, cpu, verify, wrk

FIGURES = ("cpu_us", "user_us", "system_us", "rps", "p50_ms", "p90_ms", "p99_ms", "max_ms", "server_share", "generator_share",
           "server_core_busy", "load_core_busy")


class Settings:
    """How long and where: the cores are those that servers were pinned to; `server_core` None for a server that is not."""

    def __init__(self, rounds, seconds, warm_up, server_core, load_core):
        self.rounds, self.seconds, self.warm_up = rounds, seconds, warm_up
        self.server_core, self.load_core = server_core, load_core


def run_wrk(url, seconds, connections, core, arguments=()):
    """As wrk.run, without pipelining; `arguments` are those of bench/scale.lua."""
    script = "scale.lua" if arguments else None
    return wrk.run(url, seconds, connections, 1, core, script, [str(word) for word in arguments])


def core_ticks(core):
    """(ticks not idle, all ticks) of a core since the machine started."""
    for line in pathlib.Path("/proc/stat").read_text().split("\n"):
        words = line.split()
        if words and words[0] == f"cpu{core}":
            # user nice system idle iowait irq softirq steal; guests' time is in user already
            ticks = [int(word) for word in words[1:9]]
            return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    raise Refused(f"/proc/stat says nothing of core {core}")


class Clock:
    """What both sides have used since it was made."""

    def __init__(self, pid, settings):
        self.pid = pid
        self.cores = {"server_core_busy": settings.server_core, "load_core_busy": settings.load_core}
        self.server = cpu.read(pid)
        self.generator = self.generator_seconds()
        self.ticks = {name: core_ticks(core) for name, core in self.cores.items() if core is not None}

    @staticmethod
    def generator_seconds():
        # Of children that have ended: in between that is the one run of wrk.
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def shares(self, duration_us):
        """(the server's CpuTime, {name: part of a core's time})"""
        spent = cpu.read(self.pid) - self.server
        shares = {"server_share": spent.total_ns / 1000 / duration_us,
                  "generator_share": (self.generator_seconds() - self.generator) * 1e6 / duration_us,
                  "server_core_busy": None, "load_core_busy": None}
        for name, (busy, total) in self.ticks.items():
            now_busy, now_total = core_ticks(self.cores[name])
            shares[name] = (now_busy - busy) / max(1, now_total - total)
        return spent, shares


def measure(server, path, body, connections, settings, arguments=(), check=None):
    """A warm-up and a run: {"counted", "fault", figures}. `check`, asked after the run, gives a fault or None."""
    url = f"http://127.0.0.1:{server.port}{path}"
    answer_size = verify.check(server, path, body)
    if settings.warm_up > 0:
        run_wrk(url, settings.warm_up, connections, settings.load_core, arguments)
    clock = Clock(server.pid, settings)
    result = run_wrk(url, settings.seconds, connections, settings.load_core, arguments)
    spent, shares = clock.shares(result["duration_us"])
    fault = wrk.fault(result, answer_size, connections, 1) or (check() if check else None)
    if fault is not None:
        return {"counted": False, "fault": fault}
    verify.check(server, path, body)
    # In bytes, so that the parts of large answers that were under way when the time was up are counted as well.
    total, user, system = spent.per_request(result["bytes"] / answer_size)
    return {"counted": True, "fault": None, "cpu_us": total, "user_us": user, "system_us": system,
            "rps": result["requests"] / (result["duration_us"] / 1e6), "requests": result["requests"],
            **{f"{name}_ms": result[f"{name}_us"] / 1000 for name in ("p50", "p90", "p99", "max")}, **shares}


def summarize(runs):
    """What is made of the runs of one point: medians, the spread of what varies most, and how many counted; without a run that
    counts there are no figures and the last fault."""
    counted = [run for run in runs if run["counted"]]
    summary = {"counted": len(counted), "runs": len(runs), "fault": next((run["fault"] for run in reversed(runs) if run["fault"]), None)}
    if not counted:
        return summary
    for name in FIGURES:
        values = [run[name] for run in counted]
        summary[name] = statistics.median(values) if None not in values else None
    summary["spread"] = {name: [min(run[name] for run in counted), max(run[name] for run in counted)]
                         for name in ("cpu_us", "rps", "p99_ms")}
    return summary
