"""`./dev conformance http2`: the results of h2spec that count as failures, and the results page."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import conformance_http2 as conformance  # noqa: E402
from conformance import h2spec  # noqa: E402

REPORT = """<testsuites>
  <testsuite package="generic/1"><testcase package="generic/1" classname="A preface"/></testsuite>
  <testsuite package="http2/5.1.1">
    <testcase package="http2/5.1.1" classname="A stream"><error>GOAWAY
Connection closed</error></testcase>
    <testcase package="http2/5.1.1" classname="Another"><failure>none</failure></testcase>
  </testsuite>
  <testsuite package="hpack/2.3.3">
    <testcase package="hpack/2.3.3" classname="An index"><skipped/></testcase>
  </testsuite>
</testsuites>"""


def read(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    return h2spec.read(tmp_path / "report.xml")


def test_failed_and_skipped_cases_are_failures(tmp_path, monkeypatch):
    cases = read(tmp_path)
    assert conformance.failures(cases) == [
        "http2/5.1.1: A stream: GOAWAY / Connection closed", "http2/5.1.1: Another: none",
        "hpack/2.3.3: An index: skipped"
    ]
    monkeypatch.setitem(conformance.CHANGED, "http2/5.1.1: Another", "no longer demanded")
    assert len(conformance.failures(cases)) == 2


def test_page_counts_each_group(tmp_path):
    text = conformance.page([("TLS", read(tmp_path))])
    assert "## TLS" in text and "| RFC 7540 | 2 | 0 | 2 | 0 |" in text
    assert "| all | 4 | 1 | 2 | 1 |" in text and f"h2spec {h2spec.version()}" in text


def test_pinned_version_is_that_of_the_module():
    assert h2spec.version() == "2.2.1"


def test_built_program_is_reused(tmp_path):
    directory = tmp_path / "built"
    directory.mkdir()
    for name in ("go.mod", "go.sum"):
        (directory / name).write_bytes((h2spec.PINNED / name).read_bytes())
    (directory / "h2spec").write_text("")
    assert h2spec.install(directory) == directory / "h2spec"
