"""The status page in headless Chromium: no console message, no resource but its events, no
horizontal scrolling, in both colour schemes, at desktop and phone widths; live values, also after a
restart of the server, and without JavaScript."""

import json
import os
import re

import pytest

from program import Program
from test_listing_in_browser import WIDER, luminance
from wire_server import eventually, free_port

pytestmark = pytest.mark.release_only  # an independent client; one build suffices
# The longest pattern of a phone's line, and the policy that would forbid the script.
CONFIG = """
listen: ["127.0.0.1:{port}"]
server: {{workers: 2, route_stats: 10}}
status: /status
sites:
  - headers: {{Content-Security-Policy: "default-src 'none'", X-Content-Type-Options: nosniff}}
    routes:
      - {{path: /, respond: {{status: 204}}}}
      - {{path: /a-long-path-of-a-route/that-does-not-fit/into-a-line-of/a-phone, respond: {{}}}}
      - {{path: /fails, respond: {{status: 500}}}}
"""
TOTAL = "Number(document.querySelector('#requests data').value)"
STATE = "document.getElementById('state').textContent"


@pytest.fixture
def start(tmp_path):
    """start(): a server at a port that stays the same."""
    path, port = tmp_path / "site.yaml", free_port()
    path.write_text(CONFIG.format(port=port))
    running = []

    def starter():
        running.append(Program("uvhttp", "run", str(path)))
        for target in ("/", "/fails", "/none", "/a-long-path-of-a-route/that-does-not-fit/into-a-"
                       "line-of/a-phone"):
            for _ in range(3):
                running[-1].request(target)
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0


def own_troubles(opened):
    return [trouble for trouble in opened.troubles() if "?format=events" not in trouble]


def open_live(opened, program, width=1280, dark=False):
    opened.open(f"http://127.0.0.1:{program.port}/status", width, dark)
    eventually(lambda: opened.evaluate(STATE) == "live", "the page is live")


@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_layout_in_both_schemes_and_widths(opened, start, width, dark):
    open_live(opened, start(), width, dark)
    assert own_troubles(opened) == []
    assert not opened.evaluate(WIDER)
    # The longest values of a worker.
    opened.evaluate("""document.querySelectorAll('#workers tbody tr').forEach(row =>
        ['100 %', '123,456', '12,345', '< 16.8 s'].forEach((text, i) => {
            row.cells[i + 2].textContent = text;
        }))""")
    # No section is wider than its content allows, which would cut it off.
    assert opened.evaluate("""[...document.querySelectorAll('section')].filter(section =>
        section.scrollWidth > section.clientWidth).map(section => section.id)""") == []
    background, text = opened.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert (background, text) == (("rgb(21, 24, 28)", "rgb(228, 231, 235)") if dark else
                                  ("rgb(244, 246, 248)", "rgb(29, 33, 38)"))
    if directory := os.environ.get("UVHTTP_PICTURES"):
        opened.screenshots(f"{directory}/status-{width}-{'dark' if dark else 'light'}", 3000)


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(opened, start, dark):
    """WCAG 2.2, 1.4.3: 4.5 to 1 for every text on its background."""
    open_live(opened, start(), 1280, dark)
    pairs = opened.evaluate("""[...new Set([...document.querySelectorAll('body *')].filter(
        element => element.textContent && element.localName != 'script').map(element => {
            const card = element.closest('section') ?? document.body;
            return getComputedStyle(element).color + ' on ' +
                getComputedStyle(card).backgroundColor;
        }))]""")
    assert len(pairs) >= 5
    for pair in pairs:
        text, ground = pair.split(" on ")
        light, dim = sorted((luminance(text), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dim + 0.05) >= 4.5, pair


def test_values_are_live(opened, start):
    program = start()
    open_live(opened, program)
    before = opened.evaluate(TOTAL)
    opened.evaluate("document.querySelector('#requests h2').dataset.mark = 'kept'")
    for _ in range(7):
        program.request("/")
    eventually(lambda: opened.evaluate(TOTAL) >= before + 7, "the new requests are shown")
    assert opened.evaluate(TOTAL) == before + 7
    assert opened.evaluate("document.querySelector('#requests h2').dataset.mark") == "kept"
    routes = opened.evaluate("""[...document.querySelectorAll('#routes tbody tr')].map(row =>
        [row.cells[0].textContent, row.cells[2].textContent])""")
    assert routes[0] == ["GET /", "10"] and ["GET /fails", "3"] in routes
    points = "document.querySelector('#requests polyline').points.length"
    shown = opened.evaluate(points)
    eventually(lambda: opened.evaluate(points) > shown, "the graph grows")
    assert own_troubles(opened) == []


def test_page_connects_again_after_restart(opened, start):
    program = start()
    open_live(opened, program)
    assert program.stop() == 0
    eventually(lambda: opened.evaluate(STATE) == "not connected", "the end is shown")
    program = start()
    eventually(lambda: opened.evaluate(STATE) == "live", "it is live again")
    eventually(lambda: opened.evaluate(TOTAL) <= 13, "the values are those of the new server")
    # The failed attempts are in the console, which a page cannot prevent.
    assert [trouble for trouble in own_troubles(opened)
            if not trouble.startswith("error: Failed to load resource: ")] == []


def test_page_opened_right_after_start(opened, start):
    """Before the first sample of the timer."""
    open_live(opened, start())
    assert opened.evaluate(TOTAL) >= 13
    assert not re.search("NaN|undefined|null", opened.evaluate("document.body.textContent"))


def test_hidden_page_disconnects(opened, start):
    program = start()
    open_live(opened, program)

    def busy():
        found = json.loads(program.request("/status?format=json").body)["connections"]
        return found["open"] - found["idle"]

    assert busy() == 2
    first = opened.session
    opened.call("Page.bringToFront")
    second = opened.tab()
    opened.call("Page.bringToFront")
    hidden = "document.hidden"
    opened.session = first
    if not opened.evaluate(hidden):
        pytest.skip("this Chromium does not hide tabs")
    opened.session = second
    eventually(lambda: busy() == 1, "only this request is active")
    opened.call("Page.close")
    opened.session = first
    opened.call("Page.bringToFront")
    eventually(lambda: opened.evaluate(STATE) == "live", "it listens again")


def test_page_without_javascript(opened, start):
    program = start()
    opened.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened.open(f"http://127.0.0.1:{program.port}/status", 390, False)
        assert own_troubles(opened) == []
        assert opened.evaluate(STATE) == "snapshot"
        assert opened.evaluate("document.querySelector('meta[http-equiv=refresh]') != null")
        assert opened.evaluate(TOTAL) >= 13
        assert not opened.evaluate(WIDER)
        # It reloads itself.
        before = len([event for event in opened.events
                      if event.get("method") == "Page.loadEventFired"])
        eventually(lambda: opened.evaluate("1") and len(
            [event for event in opened.events
             if event.get("method") == "Page.loadEventFired"]) > before, "it has reloaded")
    finally:
        opened.call("Emulation.setScriptExecutionDisabled", value=False)
