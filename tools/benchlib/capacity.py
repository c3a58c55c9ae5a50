"""What a machine can serve: the arithmetic of `./dev bench capacity` and its sentences. Measures nothing.

A point is what load.summarize gives, with "connections". The load asks again as soon as it has an answer, so beyond the number
of connections that keeps the server busy more of them add no requests and only wait: that is where the knee is.
"""

import math

# p99 has left the flat part when it is more than so many times the flat level.
KNEE_FACTOR = 2
# The flat level is the median of so many lowest p99, so that one lucky run does not set it.
FLAT_POINTS = 3
LIMITS_MS = (1, 5, 10, 20)
# Of a core: from here on it counts as full.
FULL = 0.9
# Of a core that others may use before it is said.
OTHERS = 0.1
# How much of a core, and of the memory that is free, to plan with.
CORE_SHARE = 0.7
MEMORY_SHARE = 0.5

GENERATOR, SERVER, BOTH, OTHER_PROGRAMS, NOBODY = "generator", "server", "both", "other programs", "neither"


def flat_level(points):
    """The p99 of the flat part, in milliseconds."""
    lowest = sorted(point["p99_ms"] for point in points)[:FLAT_POINTS]
    return lowest[len(lowest) // 2]


def find_knee(points):
    """The largest number of connections whose p99 is at most KNEE_FACTOR times the flat level, while every larger number measured is above
    that: where p99 leaves the flat part for good. "left" is False when it never does. `points` ascend in connections."""
    flat = flat_level(points)
    limit = KNEE_FACTOR * flat
    # The lowest ones are within it, so there is always one.
    at = max(i for i, point in enumerate(points) if point["p99_ms"] <= limit)
    behind = points[at + 1] if at + 1 < len(points) else None
    return {"connections": points[at]["connections"], "p99_ms": points[at]["p99_ms"], "rps": points[at]["rps"],
            "cpu_us": points[at]["cpu_us"], "flat_ms": flat, "limit_ms": limit, "left": behind is not None,
            "next_connections": behind["connections"] if behind else None, "next_p99_ms": behind["p99_ms"] if behind else None}


def best_below(points, limit_ms):
    """The point with the most requests per second among those with a p99 below the limit, or None."""
    below = [point for point in points if point["p99_ms"] < limit_ms]
    return max(below, key=lambda point: point["rps"]) if below else None


def others_share(share, core_busy):
    """What other programs, or the host, took of a core; 0 when it is not known."""
    return max(0.0, core_busy - share) if core_busy is not None else 0.0


def limited_by(point):
    """Who had nothing left to give at this point."""
    # A server without a core of its own may have threads on several; nobody can say when that is full.
    server = point["server_share"] >= FULL and point["server_core_busy"] is not None
    generator = point["generator_share"] >= FULL
    if server or generator:
        return BOTH if server and generator else SERVER if server else GENERATOR
    for share, busy in (("server_share", "server_core_busy"), ("generator_share", "load_core_busy")):
        if others_share(point[share], point[busy]) > OTHERS and point[busy] >= FULL:
            return OTHER_PROGRAMS
    return NOBODY


def analyze(points):
    """Everything that is concluded from the points of one work."""
    best = max(points, key=lambda point: point["rps"])
    return {"knee": find_knee(points),
            "below": [{"limit_ms": limit, **({key: point[key] for key in (
                "connections", "rps", "p99_ms", "cpu_us", "server_share", "generator_share", "limited_by")} if point else {"rps": None})}
                for limit in LIMITS_MS for point in [best_below(points, limit)]],
            "best": {key: best[key] for key in ("connections", "rps", "p99_ms", "cpu_us", "server_share", "generator_share", "limited_by")}}


def instances(rate, cpu_us, share=CORE_SHARE):
    """How many cores' worth of CPU time a rate costs, and how many instances with a core each that makes."""
    cores = rate * cpu_us / 1e6
    # Rounded before it is rounded up, so that 0.7 of a core at a share of 0.7 is one instance and not two.
    return {"rate": rate, "cpu_us": cpu_us, "cores_worth": cores, "share": share, "instances": max(1, math.ceil(round(cores / share, 9)))}


def rate_per_instance(cpu_us, share=CORE_SHARE):
    return share * 1e6 / cpu_us


def round_down(value):
    """To two significant digits: nobody should believe more of them."""
    if value < 100:
        return max(0, int(value))
    step = 10 ** (int(math.log10(value)) - 1)
    return int(value // step * step)


def suggest_connections(descriptors, reserved, available, idle_bytes, busy, busy_bytes, share=MEMORY_SHARE):
    """max_connections from what a process may open and from what memory is free. `busy` of the connections are taken to cost
    `busy_bytes` each, the others `idle_bytes`; all sizes in bytes."""
    by_descriptors = max(0, descriptors - reserved)
    budget = int(available * share)
    if busy * busy_bytes <= budget:
        by_memory = busy + int((budget - busy * busy_bytes) / idle_bytes)
    else:
        by_memory = int(budget / busy_bytes)
    most = min(by_descriptors, by_memory)
    return {"max_connections": round_down(most), "bound": "descriptors" if by_descriptors <= by_memory else "memory",
            "by_descriptors": by_descriptors, "by_memory": by_memory, "descriptors": descriptors, "reserved": reserved,
            "available_bytes": available, "memory_share": share, "memory_budget": budget, "idle_bytes": idle_bytes,
            "busy": busy, "busy_bytes": busy_bytes}


# Sentences

def size(count):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def percent(share):
    return "-" if share is None else f"{share * 100:.0f} %"


def rows(points):
    """A table's rows; points without figures say why."""
    lines = [["", "connections", "req/s", "p50 ms", "p99 ms", "CPU us", "server", "wrk", "full", "runs"]]
    for point in points:
        if point["counted"]:
            lines.append(["", f"{point['connections']:,}", f"{point['rps']:,.0f}", f"{point['p50_ms']:.2f}", f"{point['p99_ms']:.2f}",
                          f"{point['cpu_us']:.2f}", percent(point["server_share"]), percent(point["generator_share"]),
                          point["limited_by"], f"{point['counted']}/{point['runs']}"])
        else:
            lines.append(["", f"{point['connections']:,}", *["-"] * 7, f"0/{point['runs']}"])
    return lines


def say_knee(knee):
    text = (f"Knee: {knee['connections']:,} connections at once. The flat level of p99 is {knee['flat_ms']:.2f} ms (the median of the "
            f"{FLAT_POINTS} lowest); up to {knee['connections']:,} connections it stays within {KNEE_FACTOR} times that")
    if knee["left"]:
        return text + f", with {knee['next_connections']:,} it is {knee['next_p99_ms']:.2f} ms and does not come back."
    return text + ". It never leaves that in what was measured, so the knee lies further out."


def say_below(below):
    if below["rps"] is None:
        return f"p99 below {below['limit_ms']} ms: at no number of connections measured."
    text = (f"p99 below {below['limit_ms']} ms: {below['rps']:,.0f} requests/s with {below['connections']:,} connections at once, "
            f"{below['cpu_us']:.2f} us of CPU each, {percent(below['server_share'])} of a core")
    return text + ("; wrk could not ask for more." if below["limited_by"] == GENERATOR else ".")


def say_honestly(points, best):
    """Warnings: what these figures are not."""
    lines = []
    full = [point for point in points if point["limited_by"] == GENERATOR]
    if full:
        lines.append(f"The load generator was the bottleneck at {len(full)} of {len(points)} points (wrk used its whole core and the server "
                     f"did not): requests/s there are what wrk can ask for, not what the server can answer, and latencies are partly its own.")
    if best["limited_by"] in (GENERATOR, BOTH) and best["cpu_us"]:
        lines.append(f"By its CPU time per request a full core would answer about {1e6 / best['cpu_us']:,.0f} requests/s.")
    taken = max(max(others_share(point["server_share"], point["server_core_busy"]),
                    others_share(point["generator_share"], point["load_core_busy"])) for point in points)
    if taken > OTHERS:
        lines.append(f"Other programs (or the host) took up to {percent(taken)} of a core: rates are too low and p99 is too high. "
                     f"Measure again on a quiet machine.")
    return lines


def say_connections(one):
    """The arithmetic of max_connections, line by line."""
    unused = one["by_descriptors"] if one["bound"] == "descriptors" else one["by_memory"]
    return [
        f"max_connections: {one['max_connections']:,} ({unused:,}, by {one['bound']}, rounded down)",
        f"  by descriptors: {one['descriptors']:,} that a process may open (ulimit -Hn) - {one['reserved']:,} for files and the rest "
        f"= {one['by_descriptors']:,}",
        f"  by memory: {percent(one['memory_share'])} of {size(one['available_bytes'])} available = {size(one['memory_budget'])}; "
        f"{one['busy']:,} busy at most x {size(one['busy_bytes'])} = {size(one['busy'] * one['busy_bytes'])}, "
        f"the rest / {size(one['idle_bytes'])} for an idle one: {one['by_memory']:,} in all",
    ]


def say_instances(one, title, cores):
    text = (f"{one['rate']:,} requests/s of {title}: {one['rate']:,} x {one['cpu_us']:.2f} us = {one['cores_worth']:.2f} cores; "
            f"at no more than {percent(one['share'])} of each that is {one['instances']} instance{'s' if one['instances'] > 1 else ''} or "
            f"worker{'s' if one['instances'] > 1 else ''}. ")
    if one["instances"] > cores:
        return text + f"This machine has {cores} core{'s' if cores > 1 else ''}: it takes more machines."
    return text + f"This machine has {cores} core{'s' if cores > 1 else ''}."


def say_rate(cpu_us, title):
    return (f"One instance, planned at {percent(CORE_SHARE)} of a core: {CORE_SHARE * 1e6:,.0f} us / {cpu_us:.2f} us "
            f"= {round_down(rate_per_instance(cpu_us)):,} requests/s of {title}")
