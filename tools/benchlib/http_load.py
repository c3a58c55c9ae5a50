"""One run of a work over HTTP: rate, latency, and the CPU time and memory of the server.

The load generator may limit the rate instead of the server. So a run has the share of a core that
each of them used: it limits the rate if its share is near 1.
"""

import resource

from . import cpu, idle, tls, verify, wrk
from .works import LARGE


def load(server, work, connections, seconds, options):
    """Runs the load generator of this work. Returns its result: see wrk.run and tls.run."""
    if work.handshake:
        return tls.run(options.bin_dir, server, work, seconds, connections, options.load_cores)
    script, arguments = work.script(server)
    return wrk.run(server.url(work), seconds, connections, options.load_cores, script, arguments,
                   work.fields, getattr(options, "threads", 1))


def children_cpu_seconds():
    """Returns the CPU time of all child processes that have ended. The load generator is the only
    one that ends during a run, so the difference between two calls is its time."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(server, work, connections, options):
    """Checks a response, warms up, runs, and checks a response again. Returns an entry of the run,
    without the warm-up: {"counted", "fault", "requests"}, and the figures if it counts."""
    size = verify.check_work(server, work)
    if work.idle:
        return idle.measure(server, work, connections)
    if options.warm_up:
        load(server, work, connections, options.warm_up, options)
    server_before, load_before = cpu.read(server.pid), children_cpu_seconds()
    result = load(server, work, connections, options.seconds, options)
    load_cpu_seconds = children_cpu_seconds() - load_before
    server_cpu = cpu.read(server.pid) - server_before
    # Before check_work, because a fault of the run is a better reason than a request that fails
    # after it.
    fault = wrk.fault(result, size, connections, work.pipeline, work.largest)
    if fault is None and work.handshake:
        fault = tls.fault(result, work, connections)
    entry = {"counted": fault is None, "fault": fault, "requests": result["requests"]}
    if fault:
        return entry
    memory = cpu.resident_kb(server.pid)
    verify.check_work(server, work)
    # The load generator counts complete responses. Large ones in progress at the end are a
    # noticeable part of the work, so their number is computed from the bytes.
    requests = result["bytes"] / size if work.size >= LARGE else result["requests"]
    duration = result["duration_us"] / 1e6
    entry.update(server_cpu.per_request(requests), rps=requests / duration, rss_kb=memory,
                 server_share=server_cpu.total_ns / 1e9 / duration,
                 generator_share=load_cpu_seconds / duration)
    if result["p99_us"]:  # wrk reports 0 for pipelined requests
        entry.update({f"{name}_ms": result[f"{name}_us"] / 1000
                      for name in ("p50", "p90", "p99", "max")})
    return entry
