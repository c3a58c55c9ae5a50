#!/usr/bin/python3
"""./dev bench capacity: what this machine can serve: the knee, requests/s at p99 below 1, 5, 10 and 20 ms, CPU at each, and from these
max_connections and the number of instances for a wanted rate.

Method: docs/performance.md. Refuses debug builds and wrong answers with exit code 1. Says so where the load generator and not the server
was the bottleneck.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import sys
import tempfile
import urllib.parse

from benchlib import Refused, capacity, cpu, environment, idle, load, run_command, servers, table, works, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONNECTIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
WORKS = [works.Work("memory", "13 bytes from memory", 13, memory=True), works.Work("file-10k", "10 KB file", 10 * 1024)]
IDLE_CONNECTIONS = 5000
DAY_SECONDS = 86400
# What a connection may hold at most while it is busy, with the defaults of `uvhttp serve` (docs/limits.md): two receive buffers, a transmit
# buffer and a body.
BUSY_BYTES = 3 * 65536 + 4096
# Files that `uvhttp serve` may keep open (--cache-entries), and some more for the rest of the process.
CACHED_FILES = 1024
OTHER_FILES = 100


class External:
    """A server that somebody else has started on this machine."""

    tls = None

    def __init__(self, url, pid):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost"):
            raise Refused(f"{url}: only http://127.0.0.1:PORT/ can be measured: the CPU time of a server elsewhere is not to be seen")
        self.name, self.port, self.pid = f"{parts.hostname}:{parts.port or 80}", parts.port or 80, pid
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def body(self):
        """What it answers now; every later answer must be the same."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request("GET", self.target)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Refused(f"{self.name} does not answer: {error}") from error
        if answer.status != 200:
            raise Refused(f"{self.name} answers {answer.status} for {self.target}")
        return body


class Target:
    """A work on a running server."""

    def __init__(self, name, title, server, path, body):
        self.name, self.title, self.server, self.path, self.body = name, title, server, path, body
        self.runs = {}


def whole_number(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench capacity", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write everything to FILE as JSON")
    parser.add_argument("--rate", type=whole_number, metavar="R", help="requests per second to find the number of instances for")
    parser.add_argument("--seconds", type=whole_number, default=2, metavar="S", help="length of a run (default: 2)")
    parser.add_argument("--warm-up", type=whole_number, default=1, metavar="S", help="load before each run (default: 1)")
    parser.add_argument("--rounds", type=whole_number, default=3, metavar="N", help="runs of each point (default: 3)")
    parser.add_argument("--connections", nargs="+", type=whole_number, default=CONNECTIONS, metavar="N",
                        help="numbers of connections to measure (default: " + " ".join(map(str, CONNECTIONS)) + ")")
    parser.add_argument("--works", nargs="+", metavar="WORK", choices=[work.name for work in WORKS],
                        help="only these: " + ", ".join(work.name for work in WORKS))
    parser.add_argument("--idle", type=whole_number, default=IDLE_CONNECTIONS, metavar="N",
                        help=f"idle connections whose memory is measured (default: {IDLE_CONNECTIONS})")
    parser.add_argument("--url", help="measure this server that is running on this machine instead of our own; needs --pid")
    parser.add_argument("--pid", type=whole_number, help="its (first) process, whose CPU time is counted with that of its children")
    parser.add_argument("--build-dir", metavar="DIR", default=os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"),
                        help="build folder (default: UVHTTP_BUILD_DIR or build/release)")
    options = parser.parse_args()
    if (options.url is None) != (options.pid is None):
        parser.error("--url and --pid go together: without the process there is no CPU time")
    if options.url and options.works:
        parser.error("--works are those of our own server, --url is one of its own")
    options.connections = sorted(set(options.connections))
    return options


def start_file_server(options, stack, settings, folder, site):
    # More than are measured, and none is closed because it waits.
    most = max([*options.connections, options.idle]) + idle.WARM_UP + idle.SPARE_DESCRIPTORS
    port = servers.free_port()
    server = servers.Server("uvhttp", "", [
        servers.program(pathlib.Path(options.build_dir) / "dist/bin", "uvhttp"), "serve", site, "-q", "--listen", "127.0.0.1",
        "--port", port, "--max-connections", most, "--keep-alive-timeout", DAY_SECONDS], settings.server_core, folder, port)
    stack.callback(server.stop)
    return server


def start_memory_server(options, stack, settings, folder):
    server = servers.Server("benchmark_rps", "", [servers.program(pathlib.Path(options.build_dir) / "dist/bin", "benchmark_rps"), "0"],
                            settings.server_core, folder)
    stack.callback(server.stop)
    servers.require_release("benchmark_rps", server.output.split("\n")[0])
    return server


def start_targets(options, stack, settings, folder):
    if options.url:
        server = External(options.url, options.pid)
        return [Target("url", options.url, server, server.target, server.body())]
    site = folder / "site"
    site.mkdir()
    targets = []
    for work in WORKS:
        if options.works and work.name not in options.works:
            continue
        if work.memory:
            server = start_memory_server(options, stack, settings, folder)
        else:
            works.write_files(site, [work])
            server = start_file_server(options, stack, settings, folder, site)
        targets.append(Target(work.name, work.title, server, "/" if work.memory else f"/{work.file_name}", work.body))
    return targets


def possible_connections(options, descriptors):
    """(those that can be measured here, [(number, reason)] of the others)"""
    left_out = [(count, why) for count in options.connections if (why := idle.why_not(count, descriptors))]
    possible = options.connections[:len(options.connections) - len(left_out)]
    if not possible:
        raise Refused(left_out[0][1])
    return possible, left_out


def measure_points(targets, counts, settings):
    """Fills in the runs of each target: all works and numbers of connections once, then all again."""
    total, done = len(targets) * len(counts) * settings.rounds, 0
    for _ in range(settings.rounds):
        for target in targets:
            for count in counts:
                run = load.measure(target.server, target.path, target.body, count, settings)
                target.runs.setdefault(count, []).append(run)
                done += 1
                figure = f"{run['rps']:,.0f} requests/s, p99 {run['p99_ms']:.2f} ms" if run["counted"] else f"thrown away: {run['fault']}"
                print(f"[{done}/{total}] {target.title}, {count:,} connections: {figure}", file=sys.stderr, flush=True)


def conclude(target):
    """The work as it stands in the JSON."""
    points = [{"connections": count, **load.summarize(runs), "each": runs} for count, runs in target.runs.items()]
    counted = [point for point in points if point["counted"]]
    if not counted:
        raise Refused(f"no run counts for '{target.title}': {points[-1]['fault']}")
    for point in counted:
        point["limited_by"] = capacity.limited_by(point)
    return {"name": target.name, "title": target.title, "points": points, **capacity.analyze(counted)}


def available_memory():
    """Bytes that new programs may take: the machine's, or what the control groups around us leave."""
    text = pathlib.Path("/proc/meminfo").read_text()
    least = 1024 * int(re.search(r"^MemAvailable:\s+(\d+) kB", text, re.M)[1])
    own = re.search(r"^0::/(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.M)
    group = pathlib.Path("/sys/fs/cgroup") / (own[1] if own else "")
    for folder in [group, *group.parents]:
        try:
            limit, used = ((folder / name).read_text().strip() for name in ("memory.max", "memory.current"))
        except OSError:
            continue
        if limit != "max":
            least = min(least, max(0, int(limit) - int(used)))
    return least


def measure_memory(options, descriptors, settings, folder):
    """What an idle connection costs `uvhttp serve`, and how many descriptors it has open without any."""
    count = min(options.idle, descriptors - idle.SPARE_DESCRIPTORS - idle.WARM_UP)
    if count < 1:
        raise Refused(idle.why_not(options.idle, descriptors))
    site = folder / "idle"
    site.mkdir()
    small = works.Work("file-13", "13-byte file", 13)
    works.write_files(site, [small])
    with contextlib.ExitStack() as stack:
        server = start_file_server(options, stack, settings, folder, site)
        at_rest = len(list(pathlib.Path(f"/proc/{server.pid}/fd").iterdir()))
        point, = idle.memory_points(server, f"/{small.file_name}", [count], lambda text: print(text, file=sys.stderr, flush=True))
    return {"connections": count, "bytes": point["bytes"], "kernel_bytes": point["kernel_bytes"], "rss_kb": point["rss_kb"],
            "descriptors_at_rest": at_rest}


def suggest(options, concluded, memory, descriptors):
    """What follows for the operator."""
    cores = len(os.sched_getaffinity(0))
    suggestions = {"cores": cores, "rates": [
        {"work": one["name"], "cpu_us": one["knee"]["cpu_us"], "share": capacity.CORE_SHARE,
         "rate_per_instance": capacity.rate_per_instance(one["knee"]["cpu_us"])} for one in concluded]}
    if options.rate:
        suggestions["instances"] = [{"work": one["name"], **capacity.instances(options.rate, one["knee"]["cpu_us"])} for one in concluded]
    if memory:
        busy = max((below["connections"] for one in concluded for below in one["below"] if below["rps"] is not None), default=0)
        suggestions["max_connections"] = capacity.suggest_connections(
            descriptors, memory["descriptors_at_rest"] + CACHED_FILES + OTHER_FILES, available_memory(),
            max(1, memory["bytes"] + memory["kernel_bytes"]), busy, BUSY_BYTES)
    return suggestions


def curve(concluded):
    """The measured points in the form of the reports' curves."""
    keys = ("cpu_us", "rps", "p50_ms", "p99_ms", "server_share", "generator_share", "limited_by")
    return {"name": "capacity", "title": "Requests per second and p99 while all connections are busy", "x_title": "busy connections",
            "x_scale": "log", "points": [{"peer": f"uvhttp, {one['title']}" if one["name"] != "url" else one["title"],
                                          "x": point["connections"], **{key: point[key] for key in keys}}
                                         for one in concluded for point in one["points"] if point["counted"]]}


def print_work(one):
    print(f"\n{one['title']}\n")
    print(table.layout(capacity.rows(one["points"])))
    for point in one["points"]:
        if point["fault"]:
            print(f"thrown away: {point['runs'] - point['counted']} of {point['runs']} runs with {point['connections']:,} connections: "
                  f"{point['fault']}")
    print()
    print(capacity.say_knee(one["knee"]))
    for below in one["below"]:
        print(capacity.say_below(below))
    for line in capacity.say_honestly([point for point in one["points"] if point["counted"]], one["best"]):
        print(line)


def print_suggestions(options, report):
    memory, suggestions = report["memory"], report["suggestions"]
    titles = {one["name"]: one["title"] for one in report["works"]}
    print("\nWhat follows\n")
    for one in suggestions["rates"]:
        print(capacity.say_rate(one["cpu_us"], titles[one["work"]]) + " (CPU time at the knee).")
    for one in suggestions.get("instances", []):
        print(capacity.say_instances(one, titles[one["work"]], suggestions["cores"]))
    if not options.rate:
        print("For the number of instances for a rate give --rate.")
    print("These count CPU time over the loopback device; the interrupts of a network card come on top.")
    if memory is None:
        print("max_connections is suggested for our own server only, whose memory can be measured undisturbed.")
        return
    print(f"\nAn idle connection costs the server {memory['bytes']:,.0f} B and the kernel about {memory['kernel_bytes']:,.0f} B "
          f"(measured with {memory['connections']:,}).")
    for line in capacity.say_connections(suggestions["max_connections"]):
        print(line)
    print("Idle connections cost memory; how many may be busy at once is what the knee says.")


def print_report(options, report, left_out):
    print("\n" + "\n".join(f"{key}: {value}" for key, value in report["environment"].items() if value is not None))
    print("\nEvery connection asks again as soon as it has its answer. CPU us: of the server, per request; server and wrk: the part of a "
          "core\nthat each used; full: whose core had nothing left. Medians.")
    for one in report["works"]:
        print_work(one)
    for count, why in left_out:
        print(f"left out: {count:,} connections: {why}")
    print_suggestions(options, report)


def run(options):
    build = None if options.url else servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    wrk.find()
    descriptors = idle.raise_descriptors()
    server_core, load_core = cpu.choose_cores()
    settings = load.Settings(options.rounds, options.seconds, options.warm_up, None if options.url else server_core, load_core)
    counts, left_out = possible_connections(options, descriptors)
    command = "./dev bench capacity " + shlex.join(sys.argv[1:])
    described = environment.describe(build, ["uvhttp"], command)
    with tempfile.TemporaryDirectory(prefix="uvhttp-capacity-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        targets = start_targets(options, stack, settings, folder)
        measure_points(targets, counts, settings)
        concluded = [conclude(target) for target in targets]
        # Beside the other servers, which are idle now.
        memory = None if options.url else measure_memory(options, descriptors, settings, folder)
    report = {"kind": "capacity", "format": 1, "environment": described, "command": command,
              "options": {key: getattr(options, key) for key in (
                  "rounds", "seconds", "warm_up", "connections", "works", "rate", "idle", "url")},
              "works": concluded, "left_out": [{"connections": count, "reason": why} for count, why in left_out], "memory": memory,
              "suggestions": suggest(options, concluded, memory, descriptors), "curves": [curve(concluded)]}
    print_report(options, report, left_out)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(run_command("capacity", run, read_options))
