#!/usr/bin/python3
"""Makes the images of the README: tools/make_images.py [listing] [chart]

listing  docs/images/listing.png, a directory listing in headless Chromium, from build/release
chart    docs/images/cpu-per-request.svg, from the table of all servers in docs/performance.md
"""

import base64
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/images"
sys.path.append(str(ROOT / "tests/wire"))

# Name, size, day of November 2026.
FILES = [("plans/roof.dwg", 1, 3), ("photos/a.jpg", 1, 9), ("invoices/11.pdf", 1, 17),
         ("floor plan.pdf", 482_113, 4), ("kitchen, before.jpg", 2_913_406, 7),
         ("kitchen, after.jpg", 3_120_511, 21), ("measurements.csv", 18_204, 12),
         ("offer-2.odt", 61_440, 14), ("walkthrough.mp4", 184_320_077, 19)]
README = """# House on the hill

Plans, photos and papers of the renovation. The film is best watched after a download.
"""
# The row of the table. The floor is no server.
WORK, LEFT_OUT = "10 KB file", ("work", "floor")
WIDTH, LEFT, BAR, GAP, TOP = 760, 150, 20, 10, 56
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1d2126 }
  .title { font-size: 16px; font-weight: 600 } .note { font-size: 12px; fill: #5b6470 }
  .name { text-anchor: end } rect { fill: #b6bec8 } .own { fill: #1f6feb } .page { fill: #fff }
"""


def make_listing():
    import browser  # from tests/wire

    with tempfile.TemporaryDirectory() as directory:
        house = pathlib.Path(directory) / "house"
        for name, size, day in [*FILES, ("README.md", 0, 22)]:
            path = house / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(README if size == 0 else "")
            if size:
                os.truncate(path, size)
            for one in (path, path.parent):
                os.utime(one, (0, 1_793_520_000 + 86_400 * day + 3_637 * day))
        program = ROOT / "build/release/dist/bin/uvhttp"
        server = subprocess.Popen([program, "serve", "-l", "127.0.0.1:0", "--archive", directory],
                                  stdout=subprocess.PIPE, text=True)
        port = re.search(r":(\d+)/", server.stdout.readline())[1]
        one = browser.Browser()
        try:
            one.open(f"http://127.0.0.1:{port}/house/", 900, False)
            last = "document.body.lastElementChild"
            height = 16 + one.evaluate(f"{last}.getBoundingClientRect().bottom")
            clip = {"x": 0, "y": 0, "width": 900, "height": height, "scale": 1}
            shot = one.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip=clip)
            (IMAGES / "listing.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            one.close()
            server.terminate()
            server.wait()


def figures():
    """Returns [(server, CPU time in microseconds as text)] of the row, sorted by time."""
    text = (ROOT / "docs/performance.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    row = next(line for line in lines if line.startswith(f"| {WORK} | "))
    head = next(line for line in reversed(lines[:lines.index(row)]) if line.startswith("| work |"))
    names, cells = ([cell.strip(" *") for cell in line.strip("|").split("|")]
                    for line in (head, row))
    found = [(name, cell.split(" ")[0]) for name, cell in zip(names, cells)
             if cell[0].isdigit() and name not in LEFT_OUT]
    return sorted(found, key=lambda pair: float(pair[1]))


def make_chart():
    shown = figures()
    most = float(shown[-1][1])
    height = TOP + len(shown) * (BAR + GAP) + 8
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
             f'  aria-label="CPU time per request for a {WORK}">', f"<style>{STYLE}</style>",
             f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
             f'<text class="title" x="8" y="22">CPU time per request, {WORK}, microseconds</text>',
             '<text class="note" x="8" y="42">less is better; one worker each, 50 connections'
             "</text>"]
    for number, (name, value) in enumerate(shown):
        y = TOP + number * (BAR + GAP)
        width = (WIDTH - LEFT - 70) * float(value) / most
        own = ' class="own"' if name == "uvhttp" else ""
        parts += [f'<text class="name" x="{LEFT - 10}" y="{y + 15}">{name}</text>',
                  f'<rect{own} x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="3"/>',
                  f'<text x="{LEFT + width + 8:.1f}" y="{y + 15}">{value}</text>']
    (IMAGES / "cpu-per-request.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")


if __name__ == "__main__":
    kinds = {"listing": make_listing, "chart": make_chart}
    if not set(sys.argv[1:]) <= kinds.keys():
        sys.exit(__doc__)
    IMAGES.mkdir(exist_ok=True)
    for kind in sys.argv[1:] or kinds:
        kinds[kind]()
