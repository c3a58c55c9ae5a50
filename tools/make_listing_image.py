#!/usr/bin/python3
"""Makes docs/images/listing.png: a directory listing in headless Chromium, from build/release."""

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


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    make_listing()
