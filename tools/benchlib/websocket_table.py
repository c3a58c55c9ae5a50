"""Figures of `./dev bench ws` as text, and the marks uvhttp is to reach in them."""

import statistics

from . import targets
from .websocket_session import ratio

OWN, FLOOR = "uvhttp", "floor"
COLUMNS = ["", "CPU us", "user", "system", "spread", "per s", "p50 ms", "p99", "max", "MB", "wire B", "x floor", "x uvhttp", "calls", "runs"]
IDLE_COLUMNS = ["", "bytes each", "spread", "private", "in the kernel", "x uvhttp", "runs"]
# A call for each subscriber; those that a publication or a turn of the loop takes besides are few beside thousands of them.
FLOOR_LIMIT, CALLS_LIMIT, IDLE_LIMIT = 1.15, 1.0, 768


def number(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def by_peer(results, work, peer):
    return next((one.runs for one in results if one.work is work and one.contender.name == peer), [])


def calls_of(result):
    counted = result.system_calls or {}
    return number(counted.get("per_delivery"), 2)


def row(result, results):
    title = f"  {result.contender.title}"
    if result.unsupported:
        return [f"{title}: not supported: {result.unsupported}"]
    if not result.counted():
        return [f"{title}: no figures: {result.fault()}"]
    median, counted = result.median(), f"{result.counted()}/{len(result.runs)}"
    key = "bytes" if result.work.mode == "idle" else "cpu_us"
    beside = [number(ratio(result.runs, by_peer(results, result.work, other), key), 2) for other in (FLOOR, OWN)]
    low, high = result.spread()[key]
    if result.work.mode == "idle":
        return [title, number(median["bytes"], 0), f"{low:,.0f}-{high:,.0f}", number(median["private_bytes"], 0), number(median["kernel_bytes"], 0),
                beside[1], counted]
    return [title, *(number(median[one], 2) for one in ("cpu_us", "user_us", "system_us")), f"{low:.2f}-{high:.2f}", number(median["rps"], 0),
            *(number(median[one], 2) for one in ("p50_ms", "p99_ms", "max_ms")), number(median["rss_kb"] / 1024, 1), number(median["wire_bytes"], 0), *beside, calls_of(result), counted]


def rows(results, idle):
    """The table of the works that are idle, or of the others; None without any."""
    table, last = [IDLE_COLUMNS if idle else COLUMNS], None
    for result in results:
        if (result.work.mode == "idle") != idle:
            continue
        if result.work is not last:
            last = result.work
            table.append([last.title])
        table.append(row(result, results))
    return table if last is not None else None


def faults(results):
    """One line for each run that was thrown away while others of the same count, and for system calls that were not counted."""
    lines = [f"thrown away: {result.work.title}, {result.contender.title}, round {number + 1}: {run['fault']}"
             for result in results for number, run in enumerate(result.runs) if run["fault"] and result.counted()]
    return lines + [f"system calls not counted: {result.contender.title}: {result.system_calls['reason']}" for result in results
                    if result.system_calls and "reason" in result.system_calls]


def work_marks(work, results):
    """Of the results of one work."""
    found = {one.contender.name: one for one in results if one.work is work and one.counted()}
    key = "bytes" if work.mode == "idle" else "cpu_us"
    if OWN not in found:
        return
    ours = found[OWN]
    if work.name.startswith("echo-20-") and FLOOR in found:
        yield targets.mark(f"{work.title}, beside the floor", ratio(ours.runs, found[FLOOR].runs, key), FLOOR_LIMIT)
    # The cheapest is the one beside which we are worst.
    others = {name: ratio(ours.runs, one.runs, key) for name, one in found.items() if not one.contender.own}
    others = {name: value for name, value in others.items() if value is not None}
    if others:
        best = max(others, key=others.get)
        yield targets.mark(f"{work.title}, beside the best peer of {len(others)} ({found[best].contender.title})", others[best], 1.0)
    if work.mode == "broadcast" and "sending" in (ours.system_calls or {}):
        yield targets.mark(f"{work.title}, sending calls for each", ours.system_calls["sending"], CALLS_LIMIT)
    if work.name == "idle":
        yield targets.mark(work.title, statistics.median(ours.values("bytes")), IDLE_LIMIT, "bytes")


def marks(works, results):
    return [one for work in works for one in work_marks(work, results)]
