"""`./dev conformance`: what counts as a failure, how cases are counted, and the page about them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

from conformance import results  # noqa: E402


def case(behaviour, end="OK"):
    return {"behavior": behaviour, "behaviorClose": end}


CASES = {"10.1.1": case("OK"), "1.1.1": case("OK"), "3.2": case("NON-STRICT"), "7.1.6": case("INFORMATIONAL", "INFORMATIONAL"),
         "7.3.1": case("OK", "WRONG CODE"), "7.3.2": case("OK", "UNCLEAN"), "12.1.1": case("UNIMPLEMENTED"), "1.1.2": case("FAILED"), "7.7.1": case("OK", "INFORMATIONAL")}


def test_a_case_is_as_good_as_its_end():
    found = results.Results("agent", CASES)
    assert [name for name, _ in found.failed()] == ["1.1.2", "7.3.1", "7.3.2", "12.1.1"]
    assert [name for name, _ in found.remarkable()] == ["1.1.2", "3.2", "7.1.6", "7.3.1", "7.3.2", "12.1.1"]
    assert found.counts()[7] == {"OK": 1, "NON-STRICT": 0, "INFORMATIONAL": 1, "UNIMPLEMENTED": 0, "FAILED": 2}
    assert found.table()[-1] == ("all", 9, 3, 1, 1, 1, 3)


def test_the_page_names_what_is_not_ok():
    facts = {"date": "2026-01-31", "version": "1.2.3", "suite": "4", "library": "5", "python": "PyPy"}
    text = results.page(facts, [("Server", results.Results("agent", CASES)), ("Client", results.Results("agent", {"1.1.1": case("OK")}))])
    assert "| 7.3.1 | WRONG CODE |" in text and "| 3.2 | NON-STRICT | the reserved bit" in text
    assert "## Client" in text and "Every case is OK." in text


def test_no_report_is_no_case(tmp_path):
    assert results.Results.read("agent", tmp_path).cases == {}


@pytest.mark.parametrize("arguments", [["proxy"], ["--program", "x"], ["server", "--page"], ["--page", "--cases", "1.*"]])
def test_what_makes_no_sense_is_refused(arguments):
    done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "tools/conformance_websocket.py", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr
