"""Figures as text."""

import statistics


def ratio(ours, others, key):
    """The median of the ratios within each round in which both runs count, or None."""
    ratios = [one[key] / reference[key] for one, reference in zip(ours, others)
              if one["counted"] and reference["counted"] and reference[key] > 0]
    return statistics.median(ratios) if ratios else None


def number(value, digits=2):
    return "-" if value is None else f"{value:,.{digits}f}"


def layout(rows):
    """Aligns the first column left, the others right. A row with one cell is a title."""
    widths = [max(len(row[i]) for row in rows if len(row) > 1) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] if len(row) > 1 else [row[0]]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


COLUMNS = {"cpu_us": ("CPU us", 2), "user_us": ("user", 2), "system_us": ("system", 2),
           "rps": ("per s", 0), "p50_ms": ("p50 ms", 2), "p99_ms": ("p99 ms", 2),
           "max_ms": ("max ms", 2), "rss_kb": ("RSS KB", 0), "bytes": ("B each", 0),
           "kernel_bytes": ("kernel B each", 0), "wire_bytes": ("wire B", 0),
           "generator_share": ("load", 2)}


def result_row(result, keys, references):
    """`references`: the results to calculate ratios to."""
    name = f"  {result.contender.title}"
    if result.unsupported:
        return [f"{name}: not supported: {result.unsupported}"]
    if not result.counted():
        return [f"{name}: no figures: {result.fault()}"]
    low, high = result.spread(result.main_key)
    cells = [number(result.median(key), COLUMNS[key][1]) for key in keys]
    ratios = [number(result.ratio(other)) if other else "-" for other in references]
    return [name, *cells, f"{low:,.2f}-{high:,.2f}", *ratios,
            f"{result.counted()}/{len(result.runs)}"]


def results(all_results, references):
    """Returns a table of all results. `references`: names of contenders to calculate ratios to."""
    keys = [key for key in COLUMNS if any(one.values(key) for one in all_results)]
    rows = [["", *(COLUMNS[key][0] for key in keys), "spread",
             *(f"x {name}" for name in references), "runs"]]
    last = None
    for one in all_results:
        if one.title() != last:
            last = one.title()
            rows.append([last])
        same = {other.contender.name: other for other in all_results if other.title() == last}
        rows.append(result_row(one, keys, [same.get(name) for name in references]))
    return layout(rows)
