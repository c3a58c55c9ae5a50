"""A report as a list of sections, and its Markdown form. report.py makes the sections, report_page.py turns them into HTML.

A section has a title and blocks: text, facts, code, tables, charts. Charts are HTML only; every chart stands beside a table with the same
figures, so Markdown lacks no number.
"""


class Text:
    """A paragraph. `kind`: plain, note (small) or warning. `drawn`: speaks of a chart, so it is left out where there are none."""

    def __init__(self, text, kind="plain", drawn=False):
        self.text, self.kind, self.drawn = text, kind, drawn


class Code:
    def __init__(self, text):
        self.text = text


class Facts:
    """Pairs of a name and a value."""

    def __init__(self, pairs):
        self.pairs = pairs


class Tiles:
    """The few figures a reader should see first: (figure, what it is). Only HTML has them; the text beside says the same."""

    def __init__(self, tiles):
        self.tiles = tiles


class Chart:
    """Ready HTML made by report_charts.py."""

    def __init__(self, html):
        self.html = html


class Table:
    """`rows`: lists of cells, each a text or (text, what goes with it); the first is the row's name. `marks`: {row number: own, floor,
    met or missed}. `strong`: (row, column) of cells to stress. `folded`: what a page calls the table when it shows it on demand only, since
    there is a chart. `texts`: columns that hold words."""

    def __init__(self, title, head, rows, marks=None, strong=(), folded=None, texts=(0,)):
        self.title, self.head, self.rows = title, head, rows
        self.marks, self.strong, self.folded, self.texts = marks or {}, set(strong), folded, set(texts)


class Section:
    def __init__(self, identifier, title, blocks, level=2):
        self.identifier, self.title, self.blocks, self.level = identifier, title, blocks, level


class Document:
    def __init__(self, title, subtitle, sections):
        self.title, self.subtitle, self.sections = title, subtitle, sections


def plain(text):
    """Text that means nothing else in Markdown, on one line."""
    text = " ".join(str(text).split())
    for sign in "\\`*_[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text


def cell_text(cell):
    return f"{cell[0]} ({cell[1]})" if isinstance(cell, tuple) else cell


def markdown_table(table, heading):
    # A title that stands above already is not said twice.
    lines = [] if table.title == heading else [f"**{plain(table.title)}**", ""]
    lines.append("| " + " | ".join(plain(cell) for cell in table.head) + " |")
    lines.append("|" + "|".join("---" if i in table.texts else "--:" for i in range(len(table.head))) + "|")
    for number, row in enumerate(table.rows):
        cells = [plain(cell_text(cell)) for cell in row]
        own = table.marks.get(number) == "own"
        cells = [f"**{cell}**" if cell and ((own and i == 0) or (number, i) in table.strong) else cell for i, cell in enumerate(cells)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown_block(block, heading):
    if isinstance(block, Text):
        return None if block.drawn else ("> " if block.kind == "warning" else "") + plain(block.text)
    if isinstance(block, Code):
        return "\n".join("    " + line for line in block.text.split("\n"))
    if isinstance(block, Facts):
        return "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in block.pairs)
    if isinstance(block, Table):
        return markdown_table(block, heading)
    return None


def to_markdown(document):
    parts = [f"# {plain(document.title)}", plain(document.subtitle)]
    for section in document.sections:
        parts.append("#" * section.level + " " + plain(section.title))
        parts += [markdown_block(block, section.title) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"
