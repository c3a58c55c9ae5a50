"""The results of a run as a page: Markdown tables, and an SVG chart for each work.

`write` writes the page and, in the same directory, its charts. It needs only the JSON, so `--from`
can write a page from files.
"""

import html

from . import Refused, table

OWN = "uvhttp"
WIDTH, LABEL, BAR, GAP = 720, 170, 16, 4
COLOURS = {OWN: "#1a7f5a", "floor": "#9a9a9a"}
OTHER = "#5b7fb5"
TITLES = {"http": "HTTP servers", "ws": "WebSocket"}
UNITS = {"cpu_us": "µs of CPU time", "bytes": "bytes for each connection"}


class Work:
    """The results of one work with one number of connections. `key` is its main figure."""

    def __init__(self, name, title, connections, results):
        self.name, self.title = name, f"{title}, {connections:,} connections"
        self.results = {one["peer"]: one for one in results}
        measured = [one["median"] for one in results if one["median"]]
        self.key = "bytes" if measured and "bytes" in measured[0] else "cpu_us"

    def value(self, peer):
        one = self.results.get(peer)
        return one["median"][self.key] if one and one["median"] else None

    def ratio(self, peer):
        """Our figure divided by the peer's: the median of the ratios within each round."""
        ours, other = (self.results.get(name, {"runs": []})["runs"] for name in (OWN, peer))
        return table.ratio(ours, other, self.key)


def read_works(result):
    titles = {work["name"]: work["title"] for work in result["works"]}
    grouped = {}
    for one in result["results"]:
        grouped.setdefault((one["work"], one["connections"]), []).append(one)
    return [Work(name, titles[name], count, results) for (name, count), results in grouped.items()]


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def plain(text):
    return str(text).replace("|", "\\|")


def row(cells):
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"


def comparison(works, peers):
    """A row for each work, a column for each server. The lowest figure of a server is bold."""
    lines = [row(["", *(peer["title"] for peer in peers)]), "|---" + "|--:" * len(peers) + "|"]
    for work in works:
        values = {peer["name"]: work.value(peer["name"]) for peer in peers}
        real = [value for name, value in values.items() if value is not None and name != "floor"]
        cells = []
        for name, value in values.items():
            if value is None:
                cells.append("–")
                continue
            factor = work.ratio(name) if name != OWN else None
            text = digits(value) + (f" ({factor:.2f} ×)" if factor else "")
            cells.append(f"**{text}**" if name != "floor" and value == min(real) else text)
        lines.append(row([work.title, *cells]))
    return "\n".join(lines)


def summary_line(work, peers):
    """Summarizes our figure for a work."""
    ours = work.value(OWN)
    if ours is None:
        return f"- {work.title}: uvhttp has no figure."
    text = f"- {work.title}: {digits(ours)} {UNITS[work.key]}"
    floor = work.ratio("floor")
    text += f", {floor:.2f} times the floor" if floor else ""
    ratios = {peer["title"]: work.ratio(peer["name"]) for peer in peers
              if not peer["name"].startswith((OWN, "floor"))}
    ratios = {title: value for title, value in ratios.items() if value}
    if ratios:
        nearest = max(ratios, key=ratios.get)
        text += f"; {ratios[nearest]:.2f} times the nearest of {len(ratios)} others ({nearest})"
    return text + "."


def list_missing(result):
    """Lists unavailable servers, unsupported works, and runs that do not count."""
    lines = [f"- {peer['title']} was not available: {peer['reason']}."
             for peer in result["peers"] if peer["reason"]]
    for one in result["results"]:
        faults = [run["fault"] for run in one["runs"] if run["fault"]]
        if one["unsupported"]:
            lines.append(f"- {one['peer']}, {one['work']}: not supported: {one['unsupported']}.")
        elif faults:
            lines.append(f"- {one['peer']}, {one['work']}: {len(faults)} of {len(one['runs'])} "
                         f"runs not counted: {faults[-1]}.")
    return "\n".join(lines)


def chart(work, peers):
    """A bar chart with figures, sorted by length."""
    bars = sorted((work.value(peer["name"]), peer["title"], peer["name"]) for peer in peers
                  if work.value(peer["name"]) is not None)
    height, most = (BAR + GAP) * len(bars) + 30, max(value for value, _, _ in bars)
    title = html.escape(f"{work.title}: {UNITS[work.key]}")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
             f'aria-label="{title}" font-family="sans-serif" font-size="12" fill="#777">',
             f'<text x="0" y="14" font-weight="bold">{title}</text>']
    for number, (value, name, key) in enumerate(bars):
        y = 24 + number * (BAR + GAP)
        length = (WIDTH - LABEL - 80) * value / most
        parts += [f'<text x="{LABEL - 6}" y="{y + 12}" text-anchor="end">'
                  f'{html.escape(name)}</text>',
                  f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" '
                  f'fill="{COLOURS.get(key, OTHER)}"/>',
                  f'<text x="{LABEL + length + 6:.1f}" y="{y + 12}">{digits(value)}</text>']
    return "\n".join([*parts, "</svg>", ""])


def section(result, path):
    """Returns the section of a result, and writes its charts."""
    works = read_works(result)
    peers = [peer for peer in result["peers"] if not peer["reason"]]
    environment, options = result["environment"], result["options"]
    parts = [f"## {TITLES[result['kind']]}",
             "\n".join(f"- {key}: {value}" for key, value in environment.items()
                       if value and key != "command"),
             f"    {environment['command']}",
             f"Medians of {options['rounds']} rounds of {options['seconds']} s: µs of CPU time of "
             "the server for each request or message, or bytes for each idle connection. In "
             "brackets: our figure divided by the other within a round; below 1 uvhttp needs less."]
    drawn = []
    for key in UNITS:
        mine = [work for work in works if work.key == key]
        if mine:
            lines = [summary_line(work, peers) for work in mine]
            parts += [comparison(mine, peers), "\n".join(lines)]
        for work in mine:
            if any(work.value(peer["name"]) is not None for peer in peers):
                count = work.title.split(", ")[-1].split()[0].replace(",", "")
                name = f"{path.stem}-{result['kind']}-{work.name}-{count}.svg"
                path.with_name(name).write_text(chart(work, peers))
                drawn.append(f"![{work.title}]({name})")
    parts += ["\n".join(drawn), "### Servers", "\n".join(
        [row(["server", "version", "configuration"]), "|---|---|---|"] +
        [row([one["title"], one["version"], one["configuration"]]) for one in peers])]
    left_out = list_missing(result)
    return "\n\n".join(part for part in [*parts, *(["### Left out", left_out] if left_out else [])]
                       if part)


def write(results, path):
    if path is None:
        raise Refused("--from needs --report FILE")
    try:
        sections = [section(result, path) for result in results]
        path.write_text("\n\n".join(["# Results", *sections]) + "\n")
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"a result is malformed: {error!r}") from error
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error}") from error
