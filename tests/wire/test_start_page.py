"""The sample site of `./dev serve` in headless Chromium."""

import pathlib

import pytest

from program import Program

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
SITE = pathlib.Path(__file__).resolve().parents[2] / "examples/site"


@pytest.fixture(scope="module")
def address():
    program = Program("uvhttp", "serve", str(SITE), "--listen", "127.0.0.1:0")
    yield f"http://127.0.0.1:{program.port}"
    assert program.stop() == 0


@pytest.mark.parametrize("width, columns", [(1280, 2), (900, 2), (375, 1)])
def test_cards_fill_their_rows(opened, address, width, columns):
    opened.open(address + "/", width, False)
    tops = opened.evaluate("[...document.querySelectorAll('.cards li')].map(card => "
                           "card.getBoundingClientRect().top)")
    assert len(tops) == 4 and [tops.count(top) for top in sorted(set(tops))] == (
        [columns] * (4 // columns))


@pytest.mark.parametrize("page", ["/", "/download.html"])
def test_commands_have_the_address_of_the_page(opened, address, page):
    opened.open(address + page, 1280, False)
    text = opened.evaluate("document.querySelector('pre').textContent")
    assert text.count(address + "/") == 3 and ":8080" not in text
    assert not [trouble for trouble in opened.troubles() if not trouble.startswith("loads ")]


def test_diagram_is_in_the_middle_of_its_picture(opened, address):
    opened.open(address + "/path.svg", 480, False, height=160)
    top, bottom = opened.evaluate(
        "(boxes => [Math.min(...boxes.map(box => box.top)), 160 - Math.max(...boxes.map(box => "
        "box.bottom))])([...document.querySelectorAll('rect, text, path')].map(shape => "
        "shape.getBoundingClientRect()))")
    assert abs(top - bottom) <= 8
