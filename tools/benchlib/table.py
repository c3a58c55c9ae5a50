"""Figures as text."""

from . import rounds

COLUMNS = ["", "CPU us", "user", "system", "spread", "req/s", "p99 us", "x floor", "x nginx", "runs"]


def number(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def server_row(name, runs, all_runs):
    counted = sum(not run.fault for run in runs)
    low, high = rounds.spread(runs, "cpu_us")
    ratios = [rounds.ratio(runs, all_runs[other]) if other in all_runs else None for other in ("floor", "nginx")]
    return [f"  {name}", number(rounds.median(runs, "cpu_us"), 2), number(rounds.median(runs, "user_us"), 2),
            number(rounds.median(runs, "system_us"), 2), f"{low:.2f}-{high:.2f}",
            number(rounds.median(runs, "requests_per_second"), 0), number(rounds.median(runs, "p99_us"), 0),
            *(number(value, 2) for value in ratios), f"{counted}/{len(runs)}"]


def layout(rows):
    """Rows of text, the first column to the left, the others to the right; a row of one cell is a title."""
    widths = [max(len(row[i]) for row in rows if len(row) > 1) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        if len(row) == 1:
            lines.append(row[0])
        else:
            lines.append("  ".join([row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]))
    return "\n".join(line.rstrip() for line in lines)


def results(measured):
    """`measured`: [(work, {name: runs})]. CPU, user and system are microseconds per request; all are medians."""
    rows = [COLUMNS]
    for work, runs in measured:
        rows.append([work.title])
        rows += [server_row(name, one, runs) for name, one in runs.items()]
    return layout(rows)


def faults(measured):
    """One line for each run that was thrown away."""
    return [f"thrown away: {work.title}, {name}, round {i + 1}: {run.fault}"
            for work, runs in measured for name, one in runs.items() for i, run in enumerate(one) if run.fault]


def targets(judged):
    """`judged`: what bench_quick.judge gives."""
    rows = [["target", "limit", "measured", ""]]
    for target in judged:
        rows.append([f"{target['title']}, CPU beside {target['beside']}", f"{target['limit']:.3f}",
                     f"{target['measured']:.3f}", "met" if target["met"] else "NOT MET"])
    return layout(rows)


HTTP_COLUMNS = ["", "CPU us", "user", "system", "spread", "req/s", "p50 ms", "p90", "p99", "max", "MB", "x floor", "x nginx", "runs"]


def title_of(result):
    """The work, with the number of connections where its name does not have it."""
    title = f"{result.connections:,} connections"
    return title if result.work.title == title else f"{result.work.title} ({title})"


def http_row(result, results):
    """One contender of `./dev bench http`; `results` is targets.Results."""
    title = f"  {result.contender.title}"
    if result.unsupported:
        return [f"{title}: not supported: {result.unsupported}"]
    if not result.counted():
        return [f"{title}: no figures: {result.fault()}"]
    median, (low, high) = result.median(), result.spread()["cpu_us"]
    ratios = [results.ratio(result.work.name, result.contender.name, result.work.name, other, result.connections) for other in ("floor", "nginx")]
    return [title, number(median["cpu_us"], 2), number(median["user_us"], 2), number(median["system_us"], 2), f"{low:.2f}-{high:.2f}",
            number(median["rps"], 0), *(number(median[key], 2) for key in ("p50_ms", "p90_ms", "p99_ms", "max_ms")),
            number(median["rss_kb"] / 1024, 1), *(number(ratio, 2) for ratio in ratios), f"{result.counted()}/{len(result.runs)}"]


def http_results(all_results, results):
    rows, last = [HTTP_COLUMNS], None
    for result in all_results:
        if (result.work.name, result.connections) != last:
            last = result.work.name, result.connections
            rows.append([title_of(result)])
        rows.append(http_row(result, results))
    return layout(rows)


def http_faults(all_results):
    """One line for each run that was thrown away while others of the same count; where none does, the table has the reason."""
    return [f"thrown away: {title_of(result)}, {result.contender.title}, round {number + 1}: {run['fault']}"
            for result in all_results for number, run in enumerate(result.runs) if run["fault"] and result.counted()]


def idle_memory(curves, titles):
    """`curves`: those of the JSON that tell memory; `titles`: {name of a contender: its title}."""
    rows = [["", "connections", "B each", "kernel, B each"]]
    for curve in curves:
        rows.append([curve["title"]])
        rows += [[f"  {titles[point['peer']]}", number(point["x"], 0), number(point["bytes"], 0), number(point["kernel_bytes"], 0)]
                 for point in curve["points"]]
        for name, reason in dict((one["peer"], one["reason"]) for one in curve["left_out"]).items():
            rows.append([f"  {titles[name]}: no figures: {reason}"])
    return layout(rows)


def latencies(entries, titles):
    """`entries`: "latency" of the JSON; `titles`: {name of a work: its title}."""
    percentiles = next(([percent for percent, _ in entry["percentiles"]] for entry in entries if entry["counted"]), [])
    rows, last = [["", *(f"{percent:g} %" for percent in percentiles), "max"]], None
    for entry in entries:
        if entry["work"] != last:
            last = entry["work"]
            rows.append([titles[last]])
        if entry["counted"]:
            rows.append([f"  {entry['peer']}", *(number(value, 2) for _, value in entry["percentiles"]), number(entry["max_ms"], 2)])
        else:
            rows.append([f"  {entry['peer']}: no figures: {entry['fault']}"])
    return layout(rows)
