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
