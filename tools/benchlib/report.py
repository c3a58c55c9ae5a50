"""The results of runs as a page: a Markdown table and an SVG chart for each unit.

`write` needs only the JSON of the runs, so `./dev bench http --from` can write a page from files.
All results must be of the same commit and machine.
"""

import html
import math
import statistics

from . import Refused, programs, table

OWN, FLOOR = "uvhttp", "floor"
USUAL_CONNECTIONS = 50
INTRODUCTION = f"""# Performance

uvhttp beside other servers, parsers and routers, measured on one machine at one commit.
`bench/README.md` describes the method and how to repeat it. Figures of one machine say little about
another, so ratios say more than microseconds: `0.67 ×` beside a figure means that uvhttp needs 0.67
times as much as the other, as the median of the ratios within a round.
The lowest figure of a row is bold; `floor` is no server, but the cost of the system calls alone.
Rows without a number of connections have {USUAL_CONNECTIONS}."""
TITLES = {"http": "HTTP", "ws": "WebSocket", "parser": "The parser alone",
          "router": "The router alone"}
UNITS = {"cpu_us": "µs of CPU time per request", "bytes": "bytes per idle connection",
         "message_us": "µs of CPU time per message", "ns": "ns"}
# Properties of the machine and the build, which are the same for all results.
COMMON = ("commit", "uvhttp", "cpu", "cores", "kernel", "system")

WIDTH, LABEL, ROW, TOP, DOT = 820, 350, 24, 64, 5
COLOURS = ("#c0573f", "#3f7fc0", "#b8892b", "#8a5cb8", "#3f9a6c", "#777777")


class Row:
    """A measured workload: {name: figure}, and {name: our figure divided by that one}."""

    def __init__(self, title, values, ratios):
        self.title, self.values = title, values
        self.ratios = {name: one for name, one in ratios.items() if one}

    def lowest(self):
        """The name that needs least by the ratios, without the floor."""
        return max((name for name in self.values if name != FLOOR),
                   key=lambda name: self.ratios.get(name, 0))


def server_rows(result):
    """Returns {unit: rows} of http and ws."""
    titles = {work["name"]: work["title"] for work in result["works"]}
    grouped, rows = {}, {}
    for one in result["results"]:
        grouped.setdefault((one["work"], one["connections"]), {})[one["peer"]] = one
    for (work, connections), results in grouped.items():
        key = "bytes" if any("bytes" in (one["median"] or {}) for one in results.values()) \
            else "cpu_us"
        values = {name: one["median"][key] for name, one in results.items() if one["median"]}
        ours = results[OWN]["runs"] if OWN in values else []
        ratios = {name: table.ratio(ours, results[name]["runs"], key) for name in values}
        if not values.keys() - {FLOOR}:
            continue
        unit = "message_us" if key == "cpu_us" and result["kind"] == "ws" else key
        title = titles[work]
        if connections != USUAL_CONNECTIONS:
            title += f", {connections:,} connections"
        rows.setdefault(unit, []).append(Row(title, values, ratios))
    return rows


def rows_of_rounds(sets):
    """Returns {"ns": rows} of (title, {name: figures of the rounds})."""
    rows = []
    for title, rounds in sets:
        values = {name: statistics.median(figures) for name, figures in rounds.items()}
        ratios = {name: programs.ratio(rounds[OWN], rounds[name]) for name in rounds}
        rows.append(Row(title, values, ratios))
    return {"ns": rows}


def parser_rows(result):
    """The first parser is the one that the library selects on this machine."""
    sets = []
    for message in result["corpus"]["messages"]:
        names = [name for name in message["parsers"] if not name.startswith(OWN)]
        own = next(iter(message["parsers"]))
        sets.append((message["name"], {OWN: message["parsers"][own]["rounds"],
                                       **{name: message["parsers"][name]["rounds"]
                                          for name in names}}))
    return rows_of_rounds(sets)


def router_rows(result):
    return rows_of_rounds((f"{one['shape']}, {one['routes']:,} routes", one["figures"])
                          for one in result["sets"])


ROWS = {"http": server_rows, "ws": server_rows, "parser": parser_rows, "router": router_rows}


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def line(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def comparison(rows, columns):
    """A row for each workload, a column for each name."""
    lines = [line(["", *columns.values()]), "|---" + "|--:" * len(columns) + "|"]
    for row in rows:
        cells = []
        for name in columns:
            if name not in row.values:
                cells.append("–")
                continue
            text = digits(row.values[name])
            if name != OWN and name in row.ratios:
                text += f"\u00a0({row.ratios[name]:.2f}\u00a0×)"
            cells.append(f"**{text}**" if name == row.lowest() else text)
        lines.append(line([row.title, *cells]))
    return "\n".join(lines)


def summary(rows, unit):
    """One sentence: where uvhttp has the lowest figure, and where it has not."""
    # Without a figure of ours there is nothing to compare with.
    compared = [row for row in rows if OWN in row.values and row.ratios.keys() - {OWN, FLOOR}]
    if not compared:
        return ""
    behind = [(row, row.lowest()) for row in compared if row.lowest() != OWN]
    text = (f"uvhttp has the lowest figure ({UNITS[unit]}) in {len(compared) - len(behind)} of "
            f"{len(compared)} rows")
    if behind:
        text += "; not in " + ", ".join(
            f"{row.title} ({row.ratios.get(name, 1):.2f} × {name})" for row, name in behind)
    return text + "."


class Axis:
    """A logarithmic axis of ratios from x = LABEL to WIDTH."""

    def __init__(self, ratios):
        self.low, self.high = min([*ratios, 0.8]) / 1.1, max([*ratios, 1.25]) * 1.1

    def x(self, ratio):
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return LABEL + (WIDTH - LABEL - 10) * share

    def ticks(self):
        steps = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
        return [step for step in steps if self.low <= step <= self.high]


def chart(rows, columns, title):
    """A row for each workload, a dot for each ratio. Left of 1 uvhttp needs less."""
    names = [name for name in columns if name != OWN]
    colours = dict(zip(names, COLOURS * (len(names) // len(COLOURS) + 1)))
    axis = Axis([row.ratios[name] for row in rows for name in names if name in row.ratios])
    height = TOP + ROW * len(rows) + 8
    label = html.escape(f"{title}: uvhttp divided by the other, below 1 uvhttp needs less")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
             f'aria-label="{label}" font-family="system-ui, sans-serif" font-size="13" '
             'fill="#777">', f'<text y="14" font-weight="600">{label}</text>']
    x = 0
    for name in names:
        parts += [f'<circle cx="{x + DOT}" cy="32" r="{DOT}" fill="{colours[name]}"/>',
                  f'<text x="{x + 16}" y="36">{html.escape(columns[name])}</text>']
        x += 34 + 8 * len(columns[name])
    for tick in axis.ticks():
        width = 2 if tick == 1 else 0.5
        parts += [f'<path d="M{axis.x(tick):.1f} {TOP - 6}V{height}" stroke="#999" '
                  f'stroke-width="{width}"/>',
                  f'<text x="{axis.x(tick):.1f}" y="{TOP - 10}" text-anchor="middle" '
                  f'font-size="11">{tick:g}</text>']
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW // 2
        parts.append(f'<text x="{LABEL - 10}" y="{y + 4}" text-anchor="end">'
                     f'{html.escape(row.title)}</text>')
        parts += [f'<circle cx="{axis.x(row.ratios[name]):.1f}" cy="{y}" r="{DOT}" '
                  f'fill="{colours[name]}"><title>{html.escape(columns[name])}: '
                  f'{row.ratios[name]:.2f}</title></circle>'
                  for name in names if name in row.ratios]
    return "\n".join([*parts, "</svg>", ""])


def peers_of(result):
    """Parsers and routers have no configuration."""
    return result["peers"] if result["kind"] in ("http", "ws") else []


def list_missing(result):
    """Lists unavailable servers, and runs that do not count. Unsupported works have no figure."""
    lines = [f"- {peer['title']} was not available: {peer['reason']}."
             for peer in peers_of(result) if peer["reason"]]
    for one in result.get("results", []):
        faults = [run["fault"] for run in one["runs"] if run["fault"]]
        if faults:
            lines.append(f"- {one['peer']}, {one['work']}: {len(faults)} of {len(one['runs'])} "
                         f"runs not counted: {faults[-1]}.")
    return "\n".join(lines)


def list_servers(result):
    peers = [peer for peer in peers_of(result) if not peer["reason"]]
    rows = [line([one["title"], one["version"], one["configuration"]]) for one in peers]
    head = [line(["server", "version", "configuration"]), "|---|---|---|"]
    return "\n".join([*head, *rows]) if peers else ""


def section(result, path):
    """Returns the section of a result, and writes its charts."""
    kind, environment = result["kind"], result["environment"]
    titles = {peer["name"]: peer["title"] for peer in peers_of(result)}
    parts = [f"## {TITLES[kind]}", f"    {environment['command']}",
             "\n".join(f"- {key}: {value}" for key, value in environment.items()
                       if value and key not in (*COMMON, "command"))]
    for unit, rows in ROWS[kind](result).items():
        found = {name for row in rows for name in row.values}
        names = [name for name in titles if name in found] or list(rows[0].values)
        columns = {name: titles.get(name, name) for name in names}
        file = f"images/{path.stem}-{kind}-{unit.split('_')[-1]}.svg"
        parts.append(summary(rows, unit))
        if len(columns) > 1:
            path.with_name("images").mkdir(exist_ok=True)
            (path.parent / file).write_text(chart(rows, columns, UNITS[unit]))
            parts.append(f"![{TITLES[kind]}: {UNITS[unit]}, relative to others]({file})")
        parts.append(comparison(rows, columns))
    parts += [list_servers(result), list_missing(result)]
    return "\n\n".join(part for part in parts if part)


def common_facts(results):
    """Lists the properties of machine and build. Refuses results that differ in one."""
    facts = []
    for key in COMMON:
        values = [result["environment"].get(key) for result in results]
        different = [value for value in values if value and value != values[0]]
        if different and key != "uvhttp":
            raise Refused(f"the results differ in {key}: {values[0]}, {different[0]}")
        facts.append(f"- {key}: {values[0]}" if values[0] else "")
    return "\n".join(fact for fact in facts if fact)


def write(results, path):
    if path is None:
        raise Refused("--from needs --report FILE")
    kinds = [result["kind"] for result in results]
    if len(kinds) > len(set(kinds)):
        raise Refused(f"two results of one kind: {', '.join(kinds)}")
    try:
        sections = [section(result, path) for result in results]
        text = "\n\n".join([INTRODUCTION, common_facts(results), *sections])
        path.write_text(text + "\n")
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"a result is malformed: {error!r}") from error
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error}") from error
