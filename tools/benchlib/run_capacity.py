"""./dev bench capacity: the capacity of this machine.

Each connection of the load generator sends its next request right after a response. Once the server
is busy, more connections add no requests but only latency: that point is the knee.
"""

import math
import os
import pathlib
import re

from . import command, environment, http_peers, idle, run_http, table, works

CONNECTIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
# p99 has left its flat part above KNEE_FACTOR times the median of its FLAT_POINTS lowest values.
KNEE_FACTOR, FLAT_POINTS = 2, 3
LIMITS_MS = (1, 5, 10, 20)
FULL = 0.9  # share of a core from which it counts as full
CORE_SHARE, MEMORY_SHARE = 0.7, 0.5  # planned load of a core, and of free memory
# Maximum memory of a busy connection with the defaults of `uvhttp serve` (docs/limits.md).
BUSY_BYTES = 3 * 65536 + 4096
RESERVED = 1124  # descriptors for --cache-entries and other purposes
LOADS = [work.name for work in works.ALL if not work.idle and not work.connections]
KEYS = ("cpu_us", "rps", "p50_ms", "p99_ms", "server_share", "generator_share")


class Server(http_peers.Uvhttp):
    options = ("--max-connections", 1_000_000, "--keep-alive-timeout", 86400)


def add_options(parser):
    command.add_run_options(parser, length=2)
    parser.add_argument("--rate", type=command.number(1), metavar="R",
                        help="requests per second to find the number of workers for")
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=LOADS,
                        default=["memory", "file-10k"], help="default: memory file-10k")
    parser.add_argument("--connections", nargs="+", type=command.number(1), default=CONNECTIONS,
                        metavar="N", help=f"default: {' '.join(map(str, CONNECTIONS))}")
    run_http.add_idle_option(parser)


def limited_by(point):
    """Names the side whose core was full."""
    full = [name for name in ("server", "generator") if point[f"{name}_share"] >= FULL]
    return " and ".join(full) or "neither"


def find_knee(points):
    """Returns the last point whose p99 is within its flat part, and whether there are points after
    it. `points` are sorted by connections."""
    lowest = sorted(point["p99_ms"] for point in points)[:FLAT_POINTS]
    limit = KNEE_FACTOR * lowest[len(lowest) // 2]
    last = max(i for i, point in enumerate(points) if point["p99_ms"] <= limit)
    return points[last], last + 1 < len(points)


def best_below(points, limit_ms):
    """Returns the point with the highest rate among those with p99 below the limit, or None."""
    below = [point for point in points if point["p99_ms"] < limit_ms]
    return max(below, key=lambda point: point["rps"]) if below else None


def workers_for(rate, cpu_us):
    # Rounded before ceil, so that 0.7 of a core at a share of 0.7 needs one worker, not two.
    return max(1, math.ceil(round(rate * cpu_us / 1e6 / CORE_SHARE, 9)))


def available_memory():
    """Bytes available to new programs, on the machine and within the limits of control groups."""
    text = pathlib.Path("/proc/meminfo").read_text()
    least = 1024 * int(re.search(r"^MemAvailable:\s+(\d+) kB", text, re.M)[1])
    own = re.search(r"^0::/(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.M)
    group = pathlib.Path("/sys/fs/cgroup") / (own[1] if own else "")
    for directory in [group, *group.parents]:
        try:
            limit, used = ((directory / f"memory.{name}").read_text()
                           for name in ("max", "current"))
        except OSError:
            continue
        if limit.strip() != "max":
            least = min(least, max(0, int(limit) - int(used)))
    return least


def suggest_connections(descriptors, available, idle_bytes, busy):
    """Returns (max_connections, limiting resource). `busy` connections need BUSY_BYTES each, the
    others `idle_bytes`."""
    budget, by_descriptors = int(available * MEMORY_SHARE), max(0, descriptors - RESERVED)
    left = budget - busy * BUSY_BYTES
    by_memory = busy + int(left / idle_bytes) if left >= 0 else budget // BUSY_BYTES
    least = min(by_descriptors, by_memory)
    # Rounded down to two digits, because the estimate is not more precise.
    step = 10 ** max(0, len(str(least)) - 2)
    return least // step * step, "descriptors" if by_descriptors <= by_memory else "memory"


def conclude(results):
    """Derives the knee and the rates below LIMITS_MS from the results of one work."""
    points = [{"connections": one.connections, **{key: one.median(key) for key in KEYS}}
              for one in sorted(results, key=lambda one: one.connections) if one.counted()]
    if not points:
        return None
    knee, left = find_knee(points)
    return {"work": results[0].work.name, "points": points, "knee": knee, "knee_left": left,
            "below": {limit: best_below(points, limit) for limit in LIMITS_MS}}


def print_conclusions(one, rate):
    rows = [["connections", *(table.COLUMNS[key][0] for key in KEYS[:4]), "server", "wrk", "full"]]
    for point in one["points"]:
        rows.append([f"{point['connections']:,}", *(table.number(point[key]) for key in KEYS),
                     limited_by(point)])
    print(f"\n{one['work']}\n\n{table.layout(rows)}\n")
    knee = one["knee"]
    more = "p99 leaves its flat part" if one["knee_left"] else "p99 stays flat"
    print(f"Knee: {knee['connections']:,} connections at once; with more {more}.")
    for limit, point in one["below"].items():
        what = (f"{point['rps']:,.0f} requests/s with {point['connections']:,} connections"
                if point else "at no number of connections measured")
        print(f"p99 below {limit} ms: {what}.")
    if any(limited_by(point) == "generator" for point in one["points"]):
        print("Where only wrk's core is full, wrk limits the rate.")
    print(f"A worker, planned at {CORE_SHARE:.0%} of a core: "
          f"{CORE_SHARE * 1e6 / knee['cpu_us']:,.0f} requests/s.")
    if rate:
        print(f"{rate:,} requests/s: {workers_for(rate, knee['cpu_us'])} workers; this machine has "
              f"{os.cpu_count()} cores.")


def run(options):
    chosen = [*works.choose(options.works), *works.choose(["idle"])]
    running, described = run_http.measure(options, chosen, [Server()], options.connections)
    environment.show(described)
    for line in running.faults():
        print(line)
    concluded = [conclude([one for one in running.results if one.work is work])
                 for work in chosen if not work.idle]
    concluded = [one for one in concluded if one]
    for one in concluded:
        print_conclusions(one, options.rate)
    result = {**running.as_json("capacity", described, running.contenders), "capacity": concluded}
    memory = running.results[-1].median("bytes")
    if memory and concluded:
        busy = max(one["knee"]["connections"] for one in concluded)
        most, bound = suggest_connections(idle.raise_descriptors(), available_memory(), memory,
                                          busy)
        print(f"\nAn idle connection takes {memory:,.0f} B.\n"
              f"max_connections: {most:,}, bounded by {bound}")
        result["max_connections"] = most
    return result
