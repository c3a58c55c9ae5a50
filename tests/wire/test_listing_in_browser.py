"""A directory listing in headless Chromium: no console message, no resource but the style sheet, no
horizontal scrolling, in both colour schemes, at desktop and phone widths, with 5,000 entries; with
the keyboard, and without JavaScript. The server sends the policies of security_headers.h, which
forbid inline styles."""

import os
import pathlib
import re

import pytest

from static_server import root, serve, write  # noqa: F401 (fixtures)
from program import Program

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
ROOT = pathlib.Path(__file__).resolve().parents[2]


# The defaults of src/middleware/security_headers.c, which test_guards.py tests.
POLICY = re.search(
    r'"(default-src [^"]*)"',
    re.sub(r"\s+\*\s+", " ", (ROOT / "include/uvhttp/security_headers.h").read_text()))[1]
CONFIG = """
listen: ["127.0.0.1:0"]
server: {{workers: 1}}
sites:
  - headers: {{Content-Security-Policy: "{policy}", X-Content-Type-Options: nosniff}}
    routes:
      - {{path: /favicon.ico, respond: {{status: 204}}}}
      - {{path: /files/, static: {root}, listing: true, archive: true}}
"""


@pytest.fixture
def site(root, tmp_path):
    """The URL of a listing with the default policies."""
    path = tmp_path / "site.yaml"
    path.write_text(CONFIG.format(policy=POLICY, root=root))
    program = Program("uvhttp", "run", str(path))
    yield f"http://127.0.0.1:{program.port}/files/"
    assert program.stop() == 0


README = """# A trip

With <b>tags</b>, a [link](photo%200001.jpg), `code` and a long line: LONG

> A quotation.

| day | distance | remark |
|-----|---------:|--------|
| 1   |   21 km  | LONG   |

- [x] packed
- [ ] back

```
a long line of code: LONG
```
"""


def fill(root, count):
    for number in range(count):
        os.utime(write(root, f"trip/photo {number:04}.jpg", bytes(number % 300)),
                 (0, 1_700_000_000 + 1000 * number))
    write(root, "trip/inner folder/x")
    write(root, "trip/" + "a-name-without-any-space-in-it" * 8 + ".txt", b"x")
    write(root, "trip/README.md",
          README.replace("LONG", "x" * 300).encode())


WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def check_page(opened, url, width, dark):
    opened.open(url, width, dark)
    # the style sheet and the script, and the icon that browsers request from every site
    own = ("?format=css&v=", "?format=js&v=", "/favicon.ico")
    assert [
        trouble for trouble in opened.troubles()
        if not (trouble.startswith("loads ") and any(part in trouble for part in own))
    ] == []
    assert not opened.evaluate(WIDER)


@pytest.mark.parametrize("width", [1280, 375, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_listing_layout_in_both_schemes_and_widths(opened, root, site, width, dark):
    fill(root, 30)
    check_page(opened, site + "trip/", width, dark)
    background, text = opened.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert (background, text) == (("rgb(21, 24, 28)", "rgb(228, 231, 235)") if dark else
                                  ("rgb(255, 255, 255)", "rgb(29, 33, 38)"))
    # No overlapping texts, and links large enough for touch.
    assert opened.evaluate("""[...document.querySelectorAll('tr')].every(row =>
            [...row.cells].every((cell, i, cells) => i == 0 ||
                cells[i - 1].getBoundingClientRect().right <=
                    cell.getBoundingClientRect().left + 1))""")
    if width < 600:
        assert opened.evaluate("[...document.querySelectorAll('tbody tr')].every(row => "
                               "row.getBoundingClientRect().height >= 32)")
    if directory := os.environ.get("UVHTTP_PICTURES"):
        opened.screenshots(f"{directory}/listing-{width}-{'dark' if dark else 'light'}")


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                        for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
def test_listing_contrast(opened, root, site, dark):
    """WCAG 2.2, 1.4.3: 4.5 to 1 for every text, on the page and in the highlighted row."""
    fill(root, 3)
    check_page(opened, site + "trip/", 1280, dark)
    colours = opened.evaluate(
        "[...new Set([...document.querySelectorAll('body *')].map(e => "
        "getComputedStyle(e).color))]")
    grounds = opened.evaluate("[document.body, document.querySelector('h2'), "
                              "document.querySelector('code')].map(e => "
                              "getComputedStyle(e).backgroundColor)")
    assert len(colours) >= 3
    for ground in grounds:
        for colour in colours:
            light, dim = sorted((luminance(ground), luminance(colour)), reverse=True)
            assert (light + 0.05) / (dim + 0.05) >= 4.5, (ground, colour)


def test_listing_of_five_thousand_entries(opened, root, site):
    fill(root, 5000)
    check_page(opened, site + "trip/?sort=date&order=desc", 375, True)
    names = opened.evaluate(
        "[...document.querySelectorAll('tbody tr:not(.directory) a')].map(link => "
        "link.textContent)")
    photos = [name for name in names if name.startswith("photo")]
    assert photos == [f"photo {number:04}.jpg" for number in reversed(range(5000))]
    check_page(opened, site + "trip/", 1280, False)


def test_listing_shows_local_time(opened, root, serve):
    """With the policy of the listing itself. Without scripts it is UTC."""
    os.utime(write(root, "file", b"x"), (0, 1_700_000_000))
    url = f"http://127.0.0.1:{serve('--listing').port}/"
    text = "document.querySelector('tbody time').textContent"
    opened.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
    try:
        check_page(opened, url, 1280, False)
        assert opened.evaluate(text) == "2023-11-15 03:43"
        assert opened.evaluate("document.querySelector('tbody time').title") == (
            "2023-11-14 22:13 UTC")
        assert opened.evaluate("document.querySelector('th:last-child').textContent") == "Modified"
        opened.call("Emulation.setScriptExecutionDisabled", value=True)
        check_page(opened, url, 1280, False)
        assert opened.evaluate(text) == "2023-11-14 22:13"
        assert opened.evaluate(
            "document.querySelector('th:last-child').textContent") == "Modified (UTC)"
    finally:
        opened.call("Emulation.setScriptExecutionDisabled", value=False)
        opened.call("Emulation.setTimezoneOverride", timezoneId="")


def press(opened, key, code):
    for kind in ("rawKeyDown", "keyUp"):
        opened.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)


def enter(opened, url):
    """Presses Enter, which leads to that page."""
    opened.events.clear()
    opened.url = url
    opened.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r",
                windowsVirtualKeyCode=13)
    while not any(event.get("method") == "Page.loadEventFired" for event in opened.events):
        opened.events.append(opened.receive())


def test_listing_filter_without_javascript(opened, root, site):
    fill(root, 30)
    opened.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        check_page(opened, site + "trip/?sort=date&order=desc", 375, False)
        for _ in range(4):
            press(opened, "Tab", 9)
        opened.call("Input.insertText", text="PHOTO 001")
        enter(opened, site + "trip/?sort=date&order=desc&filter=PHOTO+001")
        names = opened.evaluate("[...document.querySelectorAll('tbody tr:not(.directory) a')]"
                                ".map(link => link.textContent)")
        assert names == [f"photo 001{digit}.jpg" for digit in reversed(range(10))]
        assert opened.evaluate("document.querySelector('input[type=search]').value") == "PHOTO 001"
    finally:
        opened.call("Emulation.setScriptExecutionDisabled", value=False)


def test_listing_by_keyboard_without_javascript(opened, root, site):
    """Tab moves through every link in page order, the focus is visible, and Enter follows the
    link."""
    fill(root, 3)
    opened.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        check_page(opened, site + "trip/", 1280, False)
        wanted = opened.evaluate(
            "[...document.querySelectorAll('a, input, button')].map(element => "
            "element.getAttribute('href') || element.localName)")
        assert wanted[:8] == [
            "../", "?format=tar", "?format=zip", "input", "button", "?sort=name&order=desc",
            "?sort=size&order=desc", "?sort=date&order=desc"
        ]
        seen = []
        for _ in wanted:
            press(opened, "Tab", 9)
            link, outline = opened.evaluate(
                "[document.activeElement.getAttribute('href') || "
                "document.activeElement.localName, "
                "getComputedStyle(document.activeElement).outlineStyle]")
            assert outline == "solid"
            seen.append(link)
        assert seen == wanted
        check_page(opened, site + "trip/", 1280, False)
        for _ in range(7):
            press(opened, "Tab", 9)
        enter(opened, site + "trip/?sort=size&order=desc")
        assert opened.evaluate("document.querySelector('th[aria-sort]').textContent") == "Size"
        assert opened.evaluate(
            "document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"
    finally:
        opened.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("dark", [False, True])
def test_error_page_in_browser(opened, site, dark):
    """The same style, without a resource but the style sheet, and with a way back."""
    opened.open(site + "trip/missing", 375, dark)
    loads = [trouble for trouble in opened.troubles() if trouble.startswith("loads ")]
    assert all("?format=css&v=" in trouble or "/favicon.ico" in trouble for trouble in loads)
    assert [trouble for trouble in opened.troubles() if "Content Security" in trouble] == []
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
    assert not opened.evaluate(WIDER)
    assert opened.evaluate("[...document.querySelectorAll('a')].pop().href") == site
    if directory := os.environ.get("UVHTTP_PICTURES"):
        opened.screenshots(f"{directory}/error-375-{'dark' if dark else 'light'}")
