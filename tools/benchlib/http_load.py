"""One run of a work over HTTP, with the CPU time of server and load generator.

A generator that uses its whole core limits the rate, so a run has the shares of a core that both
used.
"""

import resource

from . import cpu, idle, tls, verify, wrk
from .works import LARGE


def load(server, work, connections, seconds, options):
    if work.handshake:
        return tls.run(options.bin_dir, server, work, seconds, connections, options.load_cores)
    script, arguments = work.script(server)
    return wrk.run(server.url(work), seconds, connections, options.load_cores, script, arguments,
                   work.fields, getattr(options, "threads", 1))


def generator_seconds():
    # Of ended children: the difference of two calls is one run of the generator.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(server, work, connections, options):
    """{"counted", "fault", figures} of a warm-up and a run."""
    size = verify.check_work(server, work)
    if work.idle:
        return idle.measure(server, work, connections)
    if options.warm_up:
        load(server, work, connections, options.warm_up, options)
    before, generator = cpu.read(server.pid), generator_seconds()
    result = load(server, work, connections, options.seconds, options)
    generator = generator_seconds() - generator
    spent = cpu.read(server.pid) - before
    # Before the other checks, because a fault is a better reason than a later failed request.
    fault = wrk.fault(result, size, connections, work.pipeline, work.largest)
    if fault is None and work.handshake:
        fault = tls.fault(result, work, connections)
    entry = {"counted": fault is None, "fault": fault, "requests": result["requests"]}
    if fault:
        return entry
    memory = cpu.resident_kb(server.pid)
    verify.check_work(server, work)
    # For large bodies by bytes, which include the responses in progress at the end.
    requests = result["bytes"] / size if work.size >= LARGE else result["requests"]
    seconds = result["duration_us"] / 1e6
    entry.update(spent.per_request(requests), rps=result["requests"] / seconds, rss_kb=memory,
                 server_share=spent.total_ns / 1e9 / seconds, generator_share=generator / seconds)
    if result["p99_us"]:  # wrk reports 0 for pipelined requests
        entry.update({f"{name}_ms": result[f"{name}_us"] / 1000
                      for name in ("p50", "p90", "p99", "max")})
    return entry
