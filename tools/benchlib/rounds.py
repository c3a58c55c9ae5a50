"""The order of the runs and what is made of them.

Servers are measured in turn, A B C A B C, so that a slow minute of the machine meets all of them, and ratios are taken
within a round. Every run has a warm-up before it. A run with a wrong answer, an error or a timeout does not count.
"""

import statistics

from . import Refused, cpu, tls, verify, wrk


class Run:
    """The figures of one run, or the reason why it does not count."""

    def __init__(self, fault=None, **figures):
        self.fault, self.figures = fault, figures

    def as_json(self):
        return {"counted": self.fault is None, "fault": self.fault, **self.figures}


def measure(server, work, settings, warm_up=None):
    """One warm-up (`warm_up` seconds of it; without it as the settings say) and one run."""
    connections = work.connections or settings.connections
    url = server.url(work)
    answer_size, largest = verify.check_work(server, work)
    script, arguments = work.load(server.folder)
    if script == "mix.lua":
        arguments = [*arguments, server.path_of("", work)]

    def load(seconds):
        if work.handshake:
            return tls.run(settings.bin_folder, server, work, seconds, connections, settings.load_core)
        return wrk.run(url, seconds, connections, work.pipeline, settings.load_core, script, arguments, work.fields)

    warm_up = settings.warm_up if warm_up is None else warm_up
    if warm_up > 0:
        load(warm_up)
    before = cpu.read(server.pid)
    result = load(settings.seconds)
    spent = cpu.read(server.pid) - before
    # The fault first: it says more than a server that does not answer any longer.
    fault = wrk.fault(result, answer_size, connections, work.pipeline, largest)
    if fault is None and work.handshake:
        fault = tls.fault(result, work, connections)
    if fault is not None:
        return Run(fault, wrk=result)
    resident = cpu.resident_kb(server.pid)
    verify.check_work(server, work)
    # For large bodies in bytes, so that the parts under way when the time was up are counted as well.
    total, user, system = spent.per_request(result["bytes"] / answer_size if work.large else result["requests"])
    return Run(cpu_us=total, user_us=user, system_us=system,
               requests_per_second=result["requests"] / (result["duration_us"] / 1e6),
               # wrk loses the percentiles of pipelined requests and then says 0.
               p99_us=result["p99_us"] or None, rss_kb=resident, wrk=result)


def measure_work(work, servers, settings, progress):
    """All rounds of one work: {name: [Run, ...]}, one entry a round."""
    runs = {server.name: [] for server in servers}
    for number in range(settings.rounds):
        for server in servers:
            run = measure(server, work, settings)
            runs[server.name].append(run)
            progress(work, number, server, run)
    for name, all_runs in runs.items():
        if all(run.fault for run in all_runs):
            raise Refused(f"no run of {name} counts for '{work.title}': {all_runs[-1].fault}")
    return runs


def median(runs, key):
    values = [run.figures[key] for run in runs if not run.fault and run.figures[key] is not None]
    return statistics.median(values) if values else None


def spread(runs, key):
    values = [run.figures[key] for run in runs if not run.fault]
    return min(values), max(values)


def ratio(runs, other_runs, key="cpu_us"):
    """The median of the ratios within each round in which both runs count; None without such a round."""
    ratios = [one.figures[key] / other.figures[key]
              for one, other in zip(runs, other_runs) if not one.fault and not other.fault]
    return statistics.median(ratios) if ratios else None
