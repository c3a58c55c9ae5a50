"""The charts of a report: inline SVG, made of figures only.

Bars begin at 0 and are as long as their figure; one that would squeeze all others is cut with a visible break. Every chart is drawn
twice, for a wide page and for a phone, because text in an SVG shrinks with it; style sheets show one of them. Colours are classes
(`p-own`, `p-floor`, `p-0` to `p-11`) that report_page.py gives both colour schemes. Called by report.py; knows nothing of works or results.
"""

import html
import math

WIDE, NARROW = 1040, 343
TEXT, SMALL = 12, 11
COLOURS = 12
# Bars beyond so many times the next smaller one are cut, as long as half of the bars are not.
CUT_FACTOR = 3
# A curve's axis is logarithmic from this range on.
LOG_RANGE = 20


# --- text ---

# Widths in parts of the size, of a rather wide typeface: what is made to fit here fits with narrower ones, too.
SLIM, BROAD = frozenset("iIl.,:;'|!()[]jftr /-"), frozenset("mwMW@%—")


def text_width(text, size=TEXT, bold=False):
    parts = sum(0.42 if one in SLIM else 0.98 if one in BROAD else 0.72 if one.isupper() else 0.64 for one in text)
    return parts * size * (1.08 if bold else 1)


def shorten(text, width, size=TEXT, bold=False):
    """The text, with an ellipsis where it would be wider."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + "…", size, bold) > width:
        text = text[:-1]
    return text.rstrip(" ,(") + "…"


def name_for(peer, width, size=TEXT):
    """The peer's title, or what of it fits."""
    title = peer.title if text_width(peer.title, size, peer.own) <= width else peer.short
    return shorten(title, width, size, peer.own)


# --- scales ---


def linear_ticks(high, count):
    """Round numbers from 0 to at least `high`."""
    if high <= 0:
        return [0, 1]
    rough = high / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [i * step for i in range(math.ceil(high / step - 1e-9) + 1)]


def log_ticks(low, high):
    """1, 2 and 5 of each power of ten around the range; only powers of ten when it is long."""
    factors = (1, 2, 5) if high / low < 500 else (1,)
    ticks = sorted(factor * 10.0 ** power for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
                   for factor in factors)
    first = max(i for i, tick in enumerate(ticks) if tick <= low * (1 + 1e-9))
    last = min(i for i, tick in enumerate(ticks) if tick >= high * (1 - 1e-9))
    return ticks[first:max(last, first + 1) + 1]


class Scale:
    """Maps figures from the first to the last tick to pixels."""

    def __init__(self, ticks, start, end, log=False):
        self.ticks, self.log, self.start, self.end = ticks, log, start, end

    def __call__(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (self.end - self.start) * ((value - low) / (high - low) if high > low else 0.5)


def number(value):
    """A tick's label."""
    return f"{value:,.10g}"


# --- drawing ---


class Drawing:
    """The inside of an SVG and its size."""

    def __init__(self, width, height=0):
        self.width, self.height, self.parts = width, height, []

    def add(self, tag, classes=None, inner=None, **attributes):
        words = [f"<{tag}"] + ([f'class="{classes}"'] if classes else [])
        for key, value in attributes.items():
            value = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            words.append(f'{key.replace("_", "-")}="{value}"')
        self.parts.append(" ".join(words) + ("/>" if inner is None else f">{inner}</{tag}>"))

    def text(self, x, y, text, classes="", anchor=None):
        extra = {"text_anchor": anchor} if anchor else {}
        self.add("text", classes, html.escape(text), x=float(x), y=float(y), **extra)

    def line(self, x1, y1, x2, y2, classes):
        self.add("line", classes, x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2))

    def group(self, classes, tip=None):
        self.parts.append(f'<g class="{classes}">' + (f"<title>{html.escape(tip)}</title>" if tip else ""))

    def end(self):
        self.parts.append("</g>")

    def svg(self, identifier, title, description):
        return (f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" role="img" '
                f'aria-labelledby="{identifier}-title {identifier}-desc"><title id="{identifier}-title">{html.escape(title)}</title>'
                f'<desc id="{identifier}-desc">{html.escape(description)}</desc>' + "".join(self.parts) + "</svg>")


def colour(peer):
    if peer.own:
        return "p-own"
    if peer.floor or peer.index is None:
        return "p-floor"
    return f"p-{peer.index % COLOURS}"


# --- bars ---


class Bar:
    """One figure. `parts` are its pieces from 0 on (their sum is `total`), with the class of each: user, system or whole."""

    def __init__(self, total, parts, low, high, text, tip):
        self.total, self.parts, self.low, self.high, self.text, self.tip = total, parts, low, high, text, tip


class BarColumn:
    """What one column of bars shows. `note` says which way is better, `floor` is (value, text) or None; `legend`: bars have a user and a
    system part."""

    def __init__(self, title, note="", floor=None, legend=False):
        self.title, self.note, self.floor, self.legend = title, note, floor, legend


def bar_limit(bars, floor):
    """The figure the axis has to reach: the longest bar's, or less if that would squeeze the others."""
    ordered = sorted(bars, key=lambda bar: bar.total)
    for i in range(max(2, (len(ordered) + 1) // 2), len(ordered)):
        if ordered[i].total > CUT_FACTOR * ordered[i - 1].total > 0:
            ordered = ordered[:i]
            break
    return max([bar.high for bar in ordered] + [bar.total for bar in ordered] + ([floor] if floor else []), default=0)


def draw_bar(drawing, bar, scale, y, height):
    """The pieces, the outline that makes them one bar, and the spread."""
    low, high, limit = scale(0), scale.end, scale.ticks[-1]
    position = 0
    for value, kind in bar.parts:
        start, end = scale(min(position, limit)), scale(min(position + value, limit))
        position += value
        if end > start:
            drawing.add("rect", f"bar {kind}", x=float(start), y=float(y), width=float(end - start), height=float(height))
    cut = bar.total > limit
    drawing.add("rect", "bar edge" + (" cut" if cut else ""), x=float(low), y=float(y), width=float(scale(min(bar.total, limit)) - low),
                height=float(height))
    if cut:
        x = high - 16
        drawing.add("path", "break", d=f"M{x:.1f} {y + height + 2:.1f}l5 -{height + 4:.1f}h5l-5 {height + 4:.1f}z")
    elif bar.high > bar.low:
        middle, left, right = y + height / 2, scale(bar.low), scale(min(bar.high, limit))
        ends = f"M{left:.1f} {middle - 3.5:.1f}v7M{left:.1f} {middle:.1f}H{right:.1f}M{right:.1f} {middle - 3.5:.1f}v7"
        drawing.add("path", "halo", d=ends)
        drawing.add("path", "spread", d=ends)


def draw_bar_axis(drawing, scale, top, bottom):
    kept_until = -math.inf
    for tick in scale.ticks:
        x = scale(tick)
        drawing.line(x, top, x, bottom, "axis" if tick == 0 else "grid")
        half = text_width(number(tick), SMALL) / 2
        x = min(max(x, half), drawing.width - half)
        if x - half > kept_until:
            drawing.text(x, bottom + 14, number(tick), "s m", "middle")
            kept_until = x + half + 4


def draw_floor(drawing, column, scale, top, bottom):
    """The floor's line with its label above the plot, kept within it."""
    if not column.floor:
        return
    value, text = column.floor
    x, width = scale(value), text_width(text, SMALL)
    anchor, at = "middle", x
    if x - width / 2 < scale.start:
        anchor, at = "start", max(scale.start, x - 3)
    elif x + width / 2 > scale.end:
        anchor, at = "end", min(scale.end, x + 3)
    drawing.line(x, top - 4, x, bottom, "floor-halo")
    drawing.line(x, top - 4, x, bottom, "floor")
    drawing.text(at, top - 8, text, "s floor-label", anchor)


def draw_title(drawing, x, y, title, note):
    """The title with its note behind it; returns where they end."""
    drawing.text(x, y, title, "h")
    end = x + text_width(title, TEXT, True) + 10
    if note:
        drawing.text(end, y, note, "s m")
        end += text_width(note, SMALL) + 10
    return end


def draw_parts_legend(drawing, x, y):
    drawing.group("p-none")
    for kind, text in (("user", "user"), ("system", "system")):
        drawing.add("rect", f"bar {kind}", x=float(x), y=float(y - 9), width=14, height=10)
        drawing.add("rect", "bar edge", x=float(x), y=float(y - 9), width=14, height=10)
        drawing.text(x + 19, y, text, "s m")
        x += 19 + text_width(text, SMALL) + 14
    drawing.end()


def column_scale(column, bars, start, end):
    reach = bar_limit(bars, column.floor[0] if column.floor else None)
    return Scale(linear_ticks(reach, max(2, (end - start) // 80)), start, end)


def wide_bars(identifier, title, description, columns, rows):
    """Names at the left, once, and a plot for each column beside one another."""
    width = WIDE if len(columns) > 1 else 780
    names = min(240, max(text_width(peer.title, TEXT, peer.own) for peer, _ in rows) + 4)
    values = [max([text_width(bars[i].text, TEXT, True) for _, bars in rows if bars[i]], default=0) + 8 for i in range(len(columns))]
    gap, row, top = 30, 24, 50 if any(column.floor for column in columns) else 28
    room = width - names - 10 - sum(values) - gap * (len(columns) - 1) - 8
    shares = [room] if len(columns) == 1 else [room * 0.58, room * 0.42]
    bottom = top + row * len(rows)
    drawing = Drawing(width, bottom + 22)
    for i, (peer, bars) in enumerate(rows):
        if peer.own:
            drawing.add("rect", "own-row", x=0, y=float(top + row * i + 1), width=width, height=row - 2, rx=4)
    left = names + 10
    for i, column in enumerate(columns):
        scale = column_scale(column, [bars[i] for _, bars in rows if bars[i]], left, left + shares[i])
        end = draw_title(drawing, left, 14, column.title, column.note)
        if column.legend:
            draw_parts_legend(drawing, end + 8, 14)
        draw_bar_axis(drawing, scale, top, bottom)
        for j, (peer, bars) in enumerate(rows):
            y = top + row * j
            if bars[i]:
                drawing.group(colour(peer), bars[i].tip)
                draw_bar(drawing, bars[i], scale, y + 5, row - 10)
                drawing.end()
            text = bars[i].text if bars[i] else "–"
            drawing.text(scale.end + values[i], y + 16, text, "n b" if peer.own else "n", "end")
        draw_floor(drawing, column, scale, top, bottom)
        left += shares[i] + values[i] + gap
    for j, (peer, _) in enumerate(rows):
        drawing.text(names, top + row * j + 16, name_for(peer, names), "b" if peer.own else "", "end")
    return drawing.svg(identifier, title, description)


def narrow_bars(identifier, title, description, column, rows):
    """One column; each name stands above its bar, which has the whole width."""
    row, width = 39, NARROW
    legend = 18 if column.legend else 0
    top = 32 + legend + (16 if column.floor else 0)
    bottom = top + row * len(rows)
    drawing = Drawing(width, bottom + 20)
    scale = column_scale(column, [bar for _, bar in rows if bar], 1, width - 12)
    draw_title(drawing, 0, 14, column.title, column.note)
    if legend:
        draw_parts_legend(drawing, 0, 33)
    for j, (peer, _) in enumerate(rows):
        if peer.own:
            drawing.add("rect", "own-row", x=0, y=float(top + row * j), width=width, height=row - 3, rx=4)
    draw_bar_axis(drawing, scale, top, bottom)
    for j, (peer, bar) in enumerate(rows):
        y = top + row * j
        if bar:
            drawing.group(colour(peer), bar.tip)
            draw_bar(drawing, bar, scale, y + 19, 12)
            drawing.end()
    draw_floor(drawing, column, scale, top, bottom)
    for j, (peer, bar) in enumerate(rows):
        y, text, weight = top + row * j + 13, bar.text if bar else "–", " b on-own" if peer.own else ""
        room = width - text_width(text, TEXT, True) - 24
        drawing.text(4, y, name_for(peer, room), "on" + weight)
        drawing.text(width - 4, y, text, "n on" + weight, "end")
    return drawing.svg(identifier, title, description)


def bar_figure(identifier, title, description, columns, rows):
    """`rows`: [(peer, [Bar or None, one per column])]. The HTML of both layouts."""
    narrow = "".join(narrow_bars(f"{identifier}-n{i}", f"{title}: {column.title}", description, column,
                                 [(peer, bars[i]) for peer, bars in rows]) for i, column in enumerate(columns))
    wide = wide_bars(f"{identifier}-w", title, description, columns, rows)
    return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'


def has_cut_bars(figure):
    """Of a figure that bar_figure made: an axis may go on far enough for the longest bar all the same."""
    return 'class="break"' in figure


# --- lines ---


MARKS = ("circle", "square", "up", "diamond", "down", "cross")


def mark_path(kind, x, y, r):
    if kind == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 -{2 * r} 0z"
    if kind == "square":
        return f"M{x - r * 0.9:.1f} {y - r * 0.9:.1f}h{1.8 * r:.1f}v{1.8 * r:.1f}h-{1.8 * r:.1f}z"
    if kind == "diamond":
        return f"M{x:.1f} {y - 1.25 * r:.1f}l{1.25 * r:.2f} {1.25 * r:.2f}l-{1.25 * r:.2f} {1.25 * r:.2f}l-{1.25 * r:.2f} -{1.25 * r:.2f}z"
    if kind == "cross":
        a, b = 0.42 * r, 0.75 * r
        return (f"M{x - a:.1f} {y - a - b:.1f}h{2 * a:.2f}v{b:.2f}h{b:.2f}v{2 * a:.2f}h-{b:.2f}v{b:.2f}h-{2 * a:.2f}v-{b:.2f}"
                f"h-{b:.2f}v-{2 * a:.2f}h{b:.2f}z")
    sign = -1 if kind == "up" else 1
    return f"M{x:.1f} {y + sign * 1.2 * r:.1f}l{1.15 * r:.2f} {-sign * 2 * r:.2f}h-{2.3 * r:.2f}z"


def mark_kind(peer):
    """Ours begin with the circle, which the first of the others do not have."""
    return "circle" if peer.index is None else MARKS[(peer.index + (not peer.own)) % len(MARKS)]


def line_class(peer):
    return colour(peer) + (" line dashed" if (peer.index or 0) % 2 else " line")


def draw_mark(drawing, peer, x, y):
    if not peer.floor:
        drawing.add("path", "mark", d=mark_path(mark_kind(peer), x, y, 4.4 if peer.own else 3.6))


class Axis:
    """`ticks` are figures with their labels by `label`; `at` places a figure on the scale (percentiles are not placed by their number).
    The axis ends at `last` if that is no tick."""

    def __init__(self, ticks, log, label=number, at=float, title="", last=None):
        self.ticks, self.log, self.label, self.at, self.title = ticks, log, label, at, title
        self.ends = [at(ticks[0]), at(ticks[-1] if last is None else last)]


class Panel:
    """One plot. `lines`: [(peer, [(x, y)])]; `knees`: {peer name: x} to be marked."""

    def __init__(self, title, note, description, lines, x, y, unit="", knees=None):
        self.title, self.description, self.lines, self.x, self.y = title, description, lines, x, y
        self.note = "; ".join(part for part in ("logarithmic" if y.log else "", note) if part)
        self.unit, self.knees = unit, knees or {}


def value_axis(lines):
    """The y axis for these lines: from 0, or logarithmic when the figures are far apart."""
    values = [y for _, points in lines for _, y in points]
    high, low = max(values), min(values)
    if low > 0 and high / low >= LOG_RANGE:
        return Axis(log_ticks(low, high), True)
    return Axis(linear_ticks(high, 5), False)


def spread_labels(wanted, gap, top, bottom):
    """Positions near the wanted ones, in their order, at least `gap` apart and within the range as far as there is room."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = []
    for i in order:
        placed.append(max(wanted[i], placed[-1] + gap if placed else top))
    limit = bottom
    for j in range(len(placed) - 1, -1, -1):
        placed[j] = min(placed[j], limit)
        limit = placed[j] - gap
    result = [0.0] * len(wanted)
    for j, i in enumerate(order):
        result[i] = placed[j]
    return result


def draw_x_axis(drawing, axis, scale, top, bottom, width):
    """Grid lines at all ticks, labels at those that have room; the last one always has."""
    placed = []
    for tick in axis.ticks:
        x, half = scale(axis.at(tick)), text_width(axis.label(tick), SMALL) / 2
        drawing.line(x, top, x, bottom, "grid")
        x = min(x, width - half)
        while placed and tick == axis.ticks[-1] and placed[-1][1] > x - half:
            placed.pop()
        if not placed or placed[-1][1] <= x - half:
            placed.append((x, x + half + 8, axis.label(tick)))
    for x, _, label in placed:
        drawing.text(x, bottom + 16, label, "s m", "middle")
    drawing.text((scale.start + scale.end) / 2, bottom + 33, axis.title, "s m", "middle")


def draw_knee(drawing, panel, peer, points, x, y, top, bottom):
    """A ring around the knee's point; ours also with a line and a label above the plot."""
    at = panel.knees.get(peer.name)
    if at is None:
        return
    value = dict(points)[at]
    px, py = x(panel.x.at(at)), y(panel.y.at(value))
    drawing.add("circle", "knee", cx=float(px), cy=float(py), r=8)
    if peer.own and peer.index == 0:
        text = f"knee of {peer.title}: {panel.x.label(at)}"
        half = text_width(text, SMALL, True) / 2
        drawing.line(px, top - 4, px, bottom, "knee-line")
        drawing.text(min(max(px, half), drawing.width - half), top - 8, text, "s b", "middle")


def line_panel(identifier, panel, width, labelled):
    """One plot as an SVG; `labelled`: the names of the lines stand at their ends."""
    names = 0
    if labelled:
        names = min(150 if width < 600 else 190, max(text_width(peer.short, SMALL, peer.own) for peer, _ in panel.lines)) + 36
    left = max(text_width(panel.y.label(tick), SMALL) for tick in panel.y.ticks) + 8
    top = 46 if panel.knees else 32
    # Title and note stand behind one another where there is room.
    below = text_width(panel.title, TEXT, True) + text_width(panel.note, SMALL) + 10 > width
    top += 17 if below else 0
    height = max(300 if labelled else 230, 15 * len(panel.lines) + 10 if labelled else 0)
    bottom = top + height
    drawing = Drawing(width, bottom + 40)
    x = Scale(panel.x.ends, left + 6, width - names - (8 if names else 10), panel.x.log)
    y = Scale(panel.y.ticks, bottom, top, panel.y.log)
    draw_title(drawing, 0, 14, panel.title, "" if below else panel.note)
    if below:
        drawing.text(0, 31, panel.note, "s m")
    for tick in panel.y.ticks:
        drawing.line(left, y(tick), x.end + 4, y(tick), "axis" if tick == 0 else "grid")
        drawing.text(left - 6, y(tick) + 4, panel.y.label(tick), "s m", "end")
    draw_x_axis(drawing, panel.x, x, top, bottom, width)
    # Ours last, so that it lies over the others.
    order = sorted(panel.lines, key=lambda line: (line[0].own, not line[0].floor))
    ends = []
    for peer, points in order:
        drawing.group(line_class(peer))
        pixels = [(x(panel.x.at(one)), y(panel.y.at(two))) for one, two in points]
        ends.append(pixels[-1])
        drawing.add("path", "curve", d="M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in pixels))
        draw_knee(drawing, panel, peer, points, x, y, top, bottom)
        for (one, two), (a, b) in zip(points, pixels):
            drawing.group("point", f"{peer.title}: {panel.y.label(float(f'{two:.3g}'))} {panel.unit} at {panel.x.label(one)}")
            draw_mark(drawing, peer, a, b)
            drawing.end()
        drawing.end()
    if labelled:
        places = spread_labels([b for _, b in ends], 15, top + 6, bottom - 4)
        for (peer, _), (a, b), place in zip(order, ends, places):
            drawing.group(line_class(peer))
            start = max(a, x.end)
            drawing.add("path", "leader", d=f"M{a + 5:.1f} {b:.1f}H{start + 4:.1f}L{x.end + 16:.1f} {place:.1f}H{x.end + 20:.1f}")
            if peer.floor:
                drawing.add("path", "curve", d=f"M{x.end + 18:.1f} {place:.1f}h12")
            draw_mark(drawing, peer, x.end + 24, place)
            drawing.end()
            drawing.text(x.end + 33, place + 4, name_for(peer, names - 34, SMALL), "s b" if peer.own else "s")
    return drawing.svg(identifier, panel.title, panel.description)


def legend(peers):
    """The names with their line and mark, for a phone: HTML, so that it wraps."""
    items = []
    for peer in peers:
        drawing = Drawing(26, 14)
        drawing.group(line_class(peer))
        drawing.add("path", "curve", d="M1 7H25")
        draw_mark(drawing, peer, 13, 7)
        drawing.end()
        picture = f'<svg viewBox="0 0 26 14" width="26" height="14" aria-hidden="true">{"".join(drawing.parts)}</svg>'
        items.append(f'<li{" class=own" if peer.own else ""}>{picture}<span>{html.escape(peer.title)}</span></li>')
    return f'<ul class="legend">{"".join(items)}</ul>'


def line_figure(identifier, panels):
    """Two panels in a row on a wide page, one on a phone. A line has the same colour and mark in all of them."""
    peers = {peer.name: peer for panel in panels for peer, _ in panel.lines}
    width = 510 if len(panels) > 1 else 780
    wide = "".join(line_panel(f"{identifier}-w{i}", panel, width, True) for i, panel in enumerate(panels))
    narrow = "".join(line_panel(f"{identifier}-n{i}", panel, NARROW, False) for i, panel in enumerate(panels))
    ordered = sorted(peers.values(), key=lambda peer: not peer.own)
    return f'<div class="wide panels">{wide}</div><div class="narrow">{legend(ordered)}{narrow}</div>'
