"""The pages of the WebSocket examples in headless Chromium: two tabs that chat, a chart that grows,
the client of examples/clients. No console message, no external resource, no horizontal scrolling,
in both colour schemes, at desktop and phone widths."""

import os
import pathlib

import pytest

from program import Program
from wire_server import eventually

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
ROOT = pathlib.Path(__file__).resolve().parents[2]


WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
LOG = ("[...document.querySelectorAll('#log li')].map(item => item.className + ' ' + "
       "item.textContent)")
TEXTS = "[...document.querySelectorAll('li')].map(item => item.textContent)"


@pytest.fixture
def started():
    running = []

    def starter(name):
        running.append(Program(name, "0", cwd=ROOT))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def picture(opened, name):
    if directory := os.environ.get("UVHTTP_PICTURES"):
        opened.screenshots(f"{directory}/{name}")


def has_no_troubles(opened):
    """Asserts that there are no console messages and no additional resources."""
    eventually(lambda: not opened.evaluate(WIDER), "the page is no wider than the window")
    assert opened.troubles() == []
    return True


def type_into(opened, name, text):
    opened.evaluate(f"document.querySelector('[name={name}]').select()")
    opened.call("Input.insertText", text=text)


def press_enter(opened):
    for kind in ("keyDown", "keyUp"):
        opened.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter",
                    text="\r" if kind == "keyDown" else "", windowsVirtualKeyCode=13)


def enter(opened, url, nick, room, width, dark):
    opened.open(url, width, dark)
    type_into(opened, "nick", nick)
    type_into(opened, "room", room)
    picture(opened, f"chat-join-{width}-{'dark' if dark else 'light'}")
    press_enter(opened)


def say(opened, text):
    type_into(opened, "text", text)
    press_enter(opened)


def sees(opened, tab, wanted):
    """Waits until a tab shows the expected text."""
    opened.session = tab
    eventually(lambda: opened.evaluate(LOG) == wanted, "the expected text is in the page")


@pytest.mark.parametrize("program", ["websocket_chat", "cpp/websocket_chat"])
@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (375, True), (320, False)])
def test_chat_between_two_tabs(opened, started, program, width, dark):
    server = started(program)
    tabs = opened.tab(), opened.tab()
    opened.session = tabs[0]
    enter(opened, server.url, "ada", "kitchen", width, dark)
    sees(opened, tabs[0], ["note ada joined"])
    assert has_no_troubles(opened)
    opened.session = tabs[1]
    enter(opened, server.url, "Jörg", "kitchen", width, dark)
    sees(opened, tabs[1], ["note Jörg joined"])
    say(opened, "Hello, <b>ada</b>!")
    sees(opened, tabs[0], ["note ada joined", "note Jörg joined", "theirs JörgHello, <b>ada</b>!"])
    assert opened.evaluate("document.querySelector('#count').textContent") == "2 here"
    say(opened, "Guten Abend ☕ " + "and-a-word-that-is-long" * 10)
    say(opened, "How are you?")
    sees(opened, tabs[1], [
        "note Jörg joined", "mine JörgHello, <b>ada</b>!",
        f"theirs adaGuten Abend ☕ {'and-a-word-that-is-long' * 10}", "theirs adaHow are you?"
    ])
    assert has_no_troubles(opened)
    picture(opened, f"chat-{width}-{'dark' if dark else 'light'}")
    # One client leaves. The other one is notified.
    opened.call("Page.navigate", url="about:blank")
    opened.session = tabs[0]
    eventually(lambda: opened.evaluate("document.querySelector('#count').textContent") == "1 here",
               "the client that left is not counted")
    assert opened.evaluate(LOG)[-1] == "note Jörg left"
    # The server stops, and the page shows it.
    assert server.stop() == 0
    eventually(
        lambda: opened.evaluate("document.querySelector('#count').textContent") == "not connected",
        "the page shows the lost connection")
    for tab in tabs:
        opened.session = tab
        opened.call("Page.navigate", url="about:blank")


def test_chat_shows_failed_connection(opened, started):
    """A name that the server would reject is not sent. A connection that never opened is not
    retried without limit."""
    server = started("websocket_chat")
    enter(opened, server.url, 11 * "あ", "kitchen", 375, False)
    assert opened.evaluate(
        "document.querySelector('[name=nick]').validationMessage") == "This is too long."
    assert opened.evaluate("document.querySelector('header').hidden")
    type_into(opened, "nick", 10 * "あ")
    assert opened.evaluate("document.querySelector('#join').checkValidity()")
    assert server.stop() == 0
    press_enter(opened)
    rejected = ("document.querySelector('#join p').hidden ? '' : document.querySelector('#join "
                "p').textContent")
    eventually(lambda: opened.evaluate(rejected).startswith("The server did not let you in."),
               "the page shows the error")
    assert opened.evaluate(
        "document.querySelector('header').hidden && !document.querySelector('#join').hidden")
    assert not opened.evaluate(WIDER)


@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (375, True)])
def test_chart_shows_samples(opened, started, width, dark):
    server = started("websocket_chart")
    opened.open(server.url, width, dark)
    points = ("document.querySelectorAll('polyline')[0].getAttribute('points')?.split(' ').length "
              "?? 0")
    eventually(lambda: opened.evaluate(points) >= 2, "two samples are shown")
    assert has_no_troubles(opened)
    assert opened.evaluate("document.querySelector('#state').textContent") == "live"
    assert float(opened.evaluate("document.querySelectorAll('output')[3].textContent")) >= 1
    opened.events.clear()
    opened.evaluate("document.querySelector('#load').click()")
    eventually(
        lambda: float(
            opened.evaluate("document.querySelectorAll('output')[0].textContent").replace(",", ""))
        > 10, "requests are counted")
    picture(opened, f"chart-{width}-{'dark' if dark else 'light'}")
    assert opened.evaluate(
        "[...document.querySelectorAll('figure')].every(figure => figure.scrollWidth <= "
        "figure.clientWidth)")


def test_browser_example_client(opened, started):
    server = started("websocket_echo")
    opened.open((ROOT / "examples/clients/browser.html").as_uri() + f"?url={server.url}echo", 375,
                False)
    eventually(lambda: not opened.evaluate("document.querySelector('button').disabled"),
               "the connection is open")
    # before something else has the focus, which Chromium would report
    eventually(lambda: opened.evaluate("document.activeElement.autofocus"), "the field has focus")
    for text in ("hello", "<i>wörld</i>"):
        type_into(opened, "text", text)
        press_enter(opened)
    eventually(lambda: opened.evaluate(TEXTS) == ["hello", "<i>wörld</i>"],
               "both messages are echoed")
    assert has_no_troubles(opened)
    assert server.stop() == 0
    eventually(
        lambda: opened.evaluate(TEXTS)[2:] == ["closed with 1001 "] or opened.evaluate(TEXTS)[2:3]
        != [], "the end is reported")
    assert opened.evaluate(TEXTS)[2].startswith("closed with 1001 ")
