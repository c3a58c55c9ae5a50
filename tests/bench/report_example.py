#!/usr/bin/python3
"""A made-up result of `./dev bench http`, for the tests of the report: no figure in it was measured anywhere.

It has whatever a report has to cope with: twelve peers, long names, one that is not available, one that does not do all works, runs
thrown away (some, and all of one peer), figures far apart, curves with gaps. `report_example.py >FILE` writes it as JSON.
"""

import json
import random
import statistics

# name: (title, version, configuration, user us, factor of the system time, memory of an idle connection)
SERVERS = {
    "uvhttp": ("uvhttp", "0.1.0", "one worker", 0.5, 1.01, 317),
    "floor": ("floor", None, "raw epoll, one constant answer", 0.28, 1.0, None),
    "nginx": ("nginx", "1.22.1", "one worker, open_file_cache, sendfile, no access log", 1.5, 1.15, 525),
    "h2o": ("h2o", "2.2.5", "one thread", 1.1, 1.18, 1150),
    "lighttpd": ("lighttpd", "1.4.69", "one worker, sendfile", 2.1, 1.2, 830),
    "apache": ("Apache httpd, event MPM", "2.4.62", "one process with 64 threads, KeepAlive on, MaxKeepAliveRequests 0", 7.4, 1.6, 5300),
    "caddy": ("Caddy", None, "file_server", 9.0, 1.7, 14200),
    "microhttpd": ("libmicrohttpd (epoll, one internal thread)", "0.9.75", "MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO", 1.4, 1.3, 2900),
    "evhttp": ("libevent evhttp, a minimal program", "2.1.12", "one thread", 3.2, 1.3, 1480),
    "go": ("Go net/http", "1.19.8", "GOMAXPROCS=1", 6.1, 1.4, 20300),
    "node": ("Node.js http", "18.19.0", "one process", 11.0, 1.5, 9800),
    "actix": ("actix-web <release & LTO>", "4.9.0", "one worker", 1.2, 1.2, 3900),
    "python": ("Python http.server (ThreadingHTTPServer)", "3.11.2", "the standard library's", 148.0, 12.0, 41800),
    "granian": ("granian, ASGI, an application that answers from memory", "1.6.0", "one worker", 24.0, 1.6, 6100),
}
# name: (title, group, system us of the floor, requests on one connection at once, bytes)
WORKS = {
    "memory": ("13 bytes from memory", "memory", 3.85, 1, 13),
    "json": ("JSON, 27 bytes", "memory", 3.9, 1, 27),
    "file-13": ("13-byte file", "files", 3.9, 1, 13),
    "file-10k": ("10 KB file", "files", 5.1, 1, 10240),
    "file-100k": ("100 KB file", "files", 13.0, 1, 102400),
    "file-10m": ("10 MB file", "files", 640.0, 1, 10485760),
    "precompressed": ("precompressed file, chosen by Accept-Encoding", "files", 4.4, 1, 3120),
    "post-1k": ("POST echo, 1 KB", "post", 4.6, 1, 1024),
    "pipelined": ("16 requests pipelined", "pipelined", 0.3, 16, 13),
    "close": ("a connection for each request", "connections", 26.0, 1, 13),
}
NO_ERRORS = {"status": 0, "connect": 0, "read": 0, "write": 0, "timeout": 0}
METRICS = ("cpu_us", "user_us", "system_us", "rps", "p50_ms", "p90_ms", "p99_ms", "max_ms", "rss_kb")


def cost(server, work):
    """(user, system) microseconds."""
    user, factor = SERVERS[server][3:5]
    system, pipeline = WORKS[work][2:4]
    if pipeline > 1 and server in ("uvhttp", "floor", "h2o", "actix"):
        return user / 2.4, system * factor
    if pipeline > 1:
        return user * 0.8, 3.2 * factor
    if work == "file-10m" and server in ("h2o", "actix", "microhttpd"):
        return user * 30, system * 3.1
    return user, system * factor


def one_run(server, work, random_):
    user, system = (value * random_.uniform(0.97, 1.06) for value in cost(server, work))
    total = user + system
    rps = 0.82e6 / (total + 2.5 * WORKS[work][2] / 4)
    return {"counted": True, "fault": None, "cpu_us": total, "user_us": user, "system_us": system, "rps": rps, "p50_ms": 42000 / rps,
            "p90_ms": 55000 / rps, "p99_ms": 90000 / rps, "max_ms": 400000 / rps, "requests": int(rps * 3), "errors": NO_ERRORS,
            "rss_kb": 5000 + 90 * SERVERS[server][3]}


def spoil(run, fault, **errors):
    run.update(counted=False, fault=fault, errors={**NO_ERRORS, **errors})


def result(server, work, random_):
    runs = [one_run(server, work, random_) for _ in range(3)]
    if (server, work) == ("apache", "memory"):
        spoil(runs[1], "14 timeouts", timeout=14)
    if (server, work) == ("granian", "close"):
        for run in runs:
            spoil(run, "2,113 failed connects, 7 read errors", connect=2113, read=7)
    if (server, work) == ("go", "pipelined"):
        return {"work": work, "peer": server, "connections": 64, "workers": 1, "unsupported": "does not answer pipelined requests in the example",
                "runs": [], "median": None, "spread": {}}
    counted = [run for run in runs if run["counted"]]
    median = {key: statistics.median(run[key] for run in counted) for key in METRICS} if counted else None
    spread = {key: [min(run[key] for run in counted), max(run[key] for run in counted)] for key in METRICS} if counted else {}
    return {"work": work, "peer": server, "connections": 64 if work == "pipelined" else 50,
            "workers": 2 if server == "granian" else 1, "runs": runs, "median": median,
            "spread": spread}


def does(server, work):
    if server == "caddy" or (server == "floor" and work == "precompressed"):
        return False
    if server in ("microhttpd", "evhttp", "go", "node", "actix", "python", "granian") and work == "precompressed":
        return False
    return not (server == "granian" and work.startswith("file"))


def latency(random_):
    entries = []
    for work, rate in (("memory", 20000), ("file-10k", 20000)):
        for server in SERVERS:
            if not does(server, work):
                continue
            entry = {"work": work, "peer": server, "rate": rate, "generator": "oha 1.4.5, 50 connections", "counted": True, "fault": None}
            if server == "python":
                entry.update(percentiles=[], counted=False, fault="answered 1,240 of 20,000 requests/s")
            else:
                base = 0.09 + sum(cost(server, work)) / 90
                entry["percentiles"] = [[p, base * factor * random_.uniform(0.95, 1.05)] for p, factor in
                                        ((50, 1), (75, 1.2), (90, 1.6), (99, 3.1), (99.9, 9), (99.99, 24), (100, 41))]
            entries.append(entry)
    return entries


def curve(name, title, x_title, values, servers, figures, x_scale="log"):
    points = [{"peer": server, "x": x, **figures(server, x)} for server in servers for x in values]
    return {"name": name, "title": title, "x_title": x_title, "x_scale": x_scale, "points": points}


def connection_figures(server, x):
    total = sum(cost(server, "memory"))
    if server == "python" and x > 500:
        return {"cpu_us": None, "rps": None, "p99_ms": None, "counted": False, "fault": f"{x // 9:,} timeouts"}
    bend = {"uvhttp": 4000, "nginx": 2500, "apache": 350}.get(server, 900)
    # At most so many connections are served before a queue grows.
    return {"cpu_us": total * (1 + x / 40000), "rps": 0.82e6 / (total + 2.4) * min(1, x / 60) / (1 + x / 30000),
            "p99_ms": total / 12 * (1 + (x / bend) ** 1.6) + (0.35 if x < 20 else 0)}


def curves():
    some = [name for name in SERVERS if name != "caddy"]
    few = ["uvhttp", "floor", "nginx", "h2o", "go"]
    return [
        curve("connections", "Throughput and latency over connections", "connections", [10, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
              some, connection_figures),
        curve("idle-memory", "Memory per idle connection", "idle connections", [1000, 5000, 10000], [name for name in some if name != "floor"],
              lambda server, x: {"bytes": SERVERS[server][5] * (1 + 400 / x)}),
        curve("routes", "Cost over the number of routes", "routes", [10, 100, 1000, 10000], ["uvhttp", "go", "actix"],
              lambda server, x: {"cpu_us": sum(cost(server, "memory")) * (1 + (x / 90000 if server != "go" else x / 4000))}),
        curve("fields", "Cost over the fields of a request", "fields", [2, 4, 8, 16, 32, 64], few,
              lambda server, x: {"cpu_us": sum(cost(server, "memory")) * (1 + x / (300 if server == "uvhttp" else 90)),
                                 "p99_ms": 0.4 + x / 200}, "linear"),
        curve("body-size", "Cost over the size of the body", "bytes of the body", [1024, 10240, 102400, 1048576], few,
              lambda server, x: {"cpu_us": sum(cost(server, "memory")) + x / 9000, "rps": 1e6 / (sum(cost(server, "memory")) + x / 5000)}),
    ]


TARGETS = [
    ("13 bytes from memory beside the floor", 1.04, 1.08, "x", True, "must", None),
    ("13 bytes from memory, user time", 0.5, 0.4, "us", False, "aim", None),
    ("13-byte file beside nginx", 0.71, 0.75, "x", True, "must", None), ("10 MB file beside nginx", 1.031, 1.02, "x", False, "must", None),
    ("memory of an idle connection", 317, 512, "bytes", True, "must", None),
    ("CPU of 50 busy connections beside 15,000 idle ones", None, 1.03, "x", None, "aim", "not measured: too few descriptors"),
]


def make():
    random_ = random.Random(7)
    return {
        "kind": "http", "format": 1, "command": "./dev bench http --peers all --rounds 3 --json example.json",
        "environment": {
            "example": "made-up figures for the tests of the report", "date": "2026-01-02T03:04:05Z",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "uvhttp": "0.1.0 Release, gcc 12.2.0, -O2 -DNDEBUG, mimalloc, avx512",
            "wrk": "4.1.0", "kernel": "6.1.0-example", "system": "Debian GNU/Linux 12", "tcp": "cubic",
            "cpu": "Example CPU @ 2.50GHz", "cores": 2, "load_before": 0.7, "peers": {"compiler": "gcc 12.2.0", "flags": ["-O2", "-g"]}},
        "options": {"rounds": 3, "seconds": 3, "warm_up": 1, "workers": 1, "quick": True},
        "peers": [{"name": name, "title": title, "version": version, "configuration": configuration, "available": name != "caddy",
                   "reason": "the package caddy cannot be installed: no candidate in the package lists" if name == "caddy" else None}
                  for name, (title, version, configuration, *_) in SERVERS.items()],
        "works": [{"name": name, "title": title, "group": group, "pipeline": pipeline, "body_bytes": size}
                  for name, (title, group, _, pipeline, size) in WORKS.items()],
        "results": [result(server, work, random_) for work in WORKS for server in SERVERS if does(server, work)],
        "latency": latency(random_), "curves": curves(),
        "targets": [dict(zip(("text", "value", "limit", "unit", "met", "level", "note"), target)) for target in TARGETS],
    }


if __name__ == "__main__":
    print(json.dumps(make(), indent=1))
