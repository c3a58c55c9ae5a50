"""A report as one HTML page that loads nothing: style and charts are in it, there is no script, and a policy in its head forbids both.

Light and dark follow the reader's system. On a phone the charts' narrow drawings are shown and wide tables scroll in their own boxes.
The colours are chosen so that lines and bars stand out from both backgrounds, that any two peers differ for people who see no red or no
green, and that nobody but uvhttp is warm; tests/bench/test_report.py measures all three.
"""

import html

from .report_document import Chart, Code, Facts, Table, Text, Tiles

# (light, dark), in the order of the peers.
PEER_COLOURS = [
    ("#4c6caa", "#5071b1"), ("#2da159", "#69d592"), ("#683151", "#e3c5d6"), ("#31727a", "#54aeba"),
    ("#202675", "#a0a6e5"), ("#c23582", "#cd4b92"), ("#599c82", "#5da288"), ("#3926a1", "#715ed9"),
    ("#416033", "#d2e3cb"), ("#6391b5", "#608fb3"), ("#b63fd0", "#c669da"), ("#771d69", "#ebaee2"),
]
THEMES = {
    "light": {"paper": "#ffffff", "ink": "#1a1d23", "muted": "#59616e", "faint": "#e3e6ea", "panel": "#f5f6f8", "own": "#cf3a00",
              "own-tint": "#fdf0ea", "floor": "#5c6470", "met": "#1a7a3a", "missed": "#b3261e", "link": "#1f55b0", "warning": "#fff6dc"},
    "dark": {"paper": "#15181e", "ink": "#e8eaee", "muted": "#a2aab7", "faint": "#2c313b", "panel": "#1d2129", "own": "#ff8a4c",
             "own-tint": "#2d201a", "floor": "#a8b0bc", "met": "#5fce87", "missed": "#ff8f85", "link": "#8fb8ff", "warning": "#33290f"},
}

STYLE = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
overflow-wrap:break-word}
main,header{max-width:1120px;margin:0 auto;padding:0 40px}
header{padding-top:36px}
h1{font-size:2rem;line-height:1.2;margin:0 0 .4rem}
h2{font-size:1.4rem;line-height:1.25;margin:3.2rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--faint)}
h3{font-size:1.08rem;margin:2.2rem 0 .3rem}
p{max-width:46rem;margin:.5rem 0}header p{max-width:none}
a{color:var(--link)}
.sub,.note{color:var(--muted)}
.note{font-size:.9rem}
.warning{background:var(--warning);border-left:3px solid var(--own);padding:.5rem .9rem;border-radius:0 6px 6px 0}
nav ul{display:flex;flex-wrap:wrap;gap:.4rem;list-style:none;margin:1.2rem 0 0;padding:0}
nav a{display:block;padding:.25rem .7rem;border:1px solid var(--faint);border-radius:999px;text-decoration:none;font-size:.9rem}
nav a:hover{border-color:var(--link)}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.2rem 0;padding:0;list-style:none}
.tiles li{flex:1 1 150px;max-width:300px;background:var(--panel);border-radius:10px;padding:.8rem 1rem}
.tiles strong{display:block;font-size:1.55rem;line-height:1.2;font-variant-numeric:tabular-nums}
.tiles span{color:var(--muted);font-size:.88rem;line-height:1.35;display:block}
pre{background:var(--panel);padding:.7rem 1rem;border-radius:8px;overflow-x:auto;font-size:.88rem}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.3rem 1.4rem;margin:.8rem 0}
dt{color:var(--muted)}dd{margin:0}
.scroll{overflow-x:auto;margin:.5rem 0 1rem;border:1px solid var(--faint);border-radius:8px;width:fit-content;max-width:100%}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
.caption{color:var(--muted);font-size:.9rem;margin:1.1rem 0 .3rem}details .caption{margin-top:.3rem}
td small{display:block;color:var(--muted);font-size:.82em;font-weight:400;line-height:1.2}
th,td{padding:.32rem .8rem;text-align:right;white-space:nowrap;border-top:1px solid var(--faint)}
thead th{font-weight:600;color:var(--muted);background:var(--panel);vertical-align:bottom;white-space:normal;max-width:9rem;overflow-wrap:normal}
tbody th{font-weight:400;text-align:left;position:sticky;left:0;background:var(--paper)}
thead th:first-child{text-align:left;position:sticky;left:0}
th.word,td.word,th.words,td.words{text-align:left}td.words{white-space:normal;min-width:11rem;max-width:34rem}
tr.own th,tr.own td{background:var(--own-tint)}tr.own th{font-weight:600;box-shadow:inset 3px 0 var(--own)}
tr.floor th,tr.floor td{color:var(--muted)}
tr.met td:nth-child(2){color:var(--met);font-weight:600}tr.missed td:nth-child(2){color:var(--missed);font-weight:600}
td.strong{font-weight:700}
details{margin:.4rem 0 0}summary{cursor:pointer;color:var(--link);font-size:.9rem;padding:.3rem 0}
.wide{margin:.6rem 0}.wide svg{max-width:100%;height:auto;display:block}
.wide.panels{display:grid;grid-template-columns:repeat(2,minmax(0,510px));gap:20px;justify-content:space-between}
.wide.panels svg:only-child{grid-column:1/-1}
.narrow{display:none}
.narrow svg{width:100%;max-width:460px;height:auto;display:block}
.legend{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem .9rem;grid-column:1/-1;font-size:.82rem}
.legend li{display:flex;align-items:center;gap:.35rem}.legend .own{font-weight:600}
.legend svg{width:26px;height:14px;flex:none}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg .h,svg .b{font-weight:600}svg .s{font-size:11px}svg .m{fill:var(--muted)}svg .n{font-variant-numeric:tabular-nums}
svg .on,svg .floor-label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
svg .on-own{stroke:var(--own-tint)}svg .own-row{fill:var(--own-tint)}
.grid{stroke:var(--faint)}.axis{stroke:var(--muted)}
.bar{stroke:none}.user,.whole{fill:var(--c)}.system{fill:var(--c);fill-opacity:.3}
.edge{fill:none;stroke:var(--c)}.break{fill:var(--paper)}
.spread,.halo{fill:none;stroke:var(--ink);stroke-width:1.3}.halo{stroke:var(--paper);stroke-width:3.6;stroke-opacity:.75}
.floor,.floor-halo{stroke:var(--floor);stroke-width:1.6;stroke-dasharray:5 3}
.floor-halo{stroke:var(--paper);stroke-width:3.6;stroke-dasharray:none;stroke-opacity:.7}
svg .floor-label{fill:var(--floor)}
.curve,.leader{fill:none;stroke:var(--c);stroke-width:1.7;stroke-linejoin:round}
.leader{stroke-width:.8;stroke-opacity:.7}
.dashed .curve{stroke-dasharray:6 2.5}
.p-own .curve{stroke-width:3.2}.p-floor .curve{stroke-dasharray:2 3}
.mark{fill:var(--c);stroke:var(--paper);stroke-width:.8}
.knee{fill:none;stroke:var(--c);stroke-width:1.6}.knee-line{stroke:var(--own);stroke-width:1.2;stroke-dasharray:4 3}
footer{max-width:1120px;margin:3rem auto 0;padding:1rem 40px 2.5rem;color:var(--muted);font-size:.88rem}
@media(max-width:999px){.wide,.wide.panels{display:none}
.narrow{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:14px 26px;margin:.6rem 0}}
@media(max-width:600px){main,header,footer{padding-left:16px;padding-right:16px}header{padding-top:22px}h1{font-size:1.55rem}
.tiles li{flex-basis:40%}.tiles strong{font-size:1.3rem}dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.6rem}
th,td{padding:.3rem .6rem}td.words{min-width:9rem}tbody th{white-space:normal;min-width:8rem;max-width:11rem}}
"""


def variables(theme):
    at = list(THEMES).index(theme)
    pairs = list(THEMES[theme].items()) + [(f"peer-{i}", pair[at]) for i, pair in enumerate(PEER_COLOURS)]
    return ":root{" + ";".join(f"--{name}:{value}" for name, value in pairs) + "}"


def style():
    classes = [f".p-{i}{{--c:var(--peer-{i})}}" for i in range(len(PEER_COLOURS))]
    classes += [".p-own{--c:var(--own)}", ".p-floor{--c:var(--floor)}", ".p-none{--c:var(--muted)}"]
    dark = "@media(prefers-color-scheme:dark){" + variables("dark") + "}"
    return variables("light") + dark + "".join(classes) + STYLE


def text(value):
    return html.escape(str(value))


def table_html(table):
    """In a box of its own that scrolls and can be reached by the keyboard."""
    # Long words may wrap, and need some room to do so.
    kinds = {i: "words" if max((len(row[i]) for row in table.rows), default=0) > 24 else "word" for i in table.texts if i < len(table.head)}
    head = "".join(f'<th scope="col"{f" class={kinds[i]}" if i in kinds else ""}>{text(cell)}</th>' for i, cell in enumerate(table.head))
    rows = []
    for number, row in enumerate(table.rows):
        cells = [f'<th scope="row">{text(row[0])}</th>']
        for i, cell in enumerate(row[1:], 1):
            classes = " ".join(filter(None, (kinds.get(i), "strong" if (number, i) in table.strong else None)))
            inner = f"{text(cell[0])}<small>{text(cell[1])}</small>" if isinstance(cell, tuple) else text(cell)
            cells.append(f'<td class="{classes}">{inner}</td>' if classes else f"<td>{inner}</td>")
        mark = table.marks.get(number)
        rows.append(f'<tr{f" class={mark}" if mark else ""}>{"".join(cells)}</tr>')
    caption = text(table.title)
    box = (f'<p class="caption">{caption}</p><div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table aria-label="{caption}">'
           f'<thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')
    return f"<details><summary>Table: {text(table.folded)}</summary>{box}</details>" if table.folded else box


def block_html(block):
    if isinstance(block, Text):
        return f'<p{"" if block.kind == "plain" else f" class={block.kind}"}>{text(block.text)}</p>'
    if isinstance(block, Code):
        return f'<pre tabindex="0"><code>{text(block.text)}</code></pre>'
    if isinstance(block, Facts):
        return "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in block.pairs) + "</dl>"
    if isinstance(block, Tiles):
        return '<ul class="tiles">' + "".join(f"<li><strong>{text(a)}</strong><span>{text(b)}</span></li>" for a, b in block.tiles) + "</ul>"
    if isinstance(block, Table):
        return table_html(block)
    return block.html if isinstance(block, Chart) else ""


def to_html(document):
    links = "".join(f'<li><a href="#{one.identifier}">{text(one.title)}</a></li>' for one in document.sections if one.level == 2)
    body = "".join(f'<h{one.level} id="{one.identifier}">{text(one.title)}</h{one.level}>' + "".join(block_html(b) for b in one.blocks)
                   for one in document.sections)
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';style-src \'unsafe-inline\';img-src data:">'
            f'<link rel="icon" href="data:,"><title>{text(document.title)}</title><style>{style()}</style></head>\n'
            f'<body><header><h1>{text(document.title)}</h1><p class="sub">{text(document.subtitle)}</p>'
            f'<nav aria-label="Contents"><ul>{links}</ul></nav></header>\n<main>{body}</main>\n'
            '<footer>Made by <code>./dev bench report</code>. Figures have three significant digits; the JSON file has all of them.</footer>'
            "</body></html>\n")
