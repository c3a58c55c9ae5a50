"""`./dev conformance`: the results that count as failures, the number of cases, and the results
page."""

import pathlib
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import conformance_websocket  # noqa: E402
from conformance import results, suite  # noqa: E402


def case(behaviour, end="OK"):
    return {"behavior": behaviour, "behaviorClose": end}


CASES = {
    "10.1.1": case("OK"), "1.1.1": case("OK"), "3.2": case("NON-STRICT"),
    "7.1.6": case("INFORMATIONAL",
                  "INFORMATIONAL"), "7.3.1": case("OK",
                                                  "WRONG CODE"), "7.3.2": case("OK", "UNCLEAN"),
    "12.1.1": case("UNIMPLEMENTED"), "1.1.2": case("FAILED"), "7.7.1": case("OK", "INFORMATIONAL")
}


def test_case_result_depends_on_its_end():
    found = results.Results("agent", CASES)
    assert [name for name, _ in found.failed()] == ["1.1.2", "7.3.1", "7.3.2", "12.1.1"]
    assert [name for name, _ in found.remarkable()
            ] == ["1.1.2", "3.2", "7.1.6", "7.3.1", "7.3.2", "12.1.1"]
    assert found.counts()[7] == {
        "OK": 1, "NON-STRICT": 0, "INFORMATIONAL": 1, "UNIMPLEMENTED": 0, "FAILED": 2
    }
    assert found.table()[-1] == ("all", 9, 3, 1, 1, 1, 3)


def test_page_lists_failed_cases():
    facts = {
        "date": "2026-01-31", "version": "1.2.3", "suite": "4", "library": "5", "python": "PyPy"
    }
    text = results.page(facts, [("Server", results.Results("agent", CASES)),
                                ("Client", results.Results("agent", {"1.1.1": case("OK")}))])
    assert "| 7.3.1 | WRONG CODE |" in text and "| 3.2 | NON-STRICT | the reserved bit" in text
    assert "## Client" in text and "Every case is OK." in text


def test_missing_report_has_no_cases(tmp_path):
    assert results.read(tmp_path) == {}


def test_large_groups_run_sequentially():
    parts = conformance_websocket.parts_of(conformance_websocket.CASES)
    assert parts[0] == ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"
                        ] and parts[1:3] == [["9.*"], ["12.1.*"]]
    assert parts[-1] == ["13.7.*"] and len(parts) == 2 + 5 + 7
    assert conformance_websocket.parts_of(["13.2.*"]) == [["13.2.*"]]


@pytest.mark.parametrize(
    "arguments",
    [["proxy"], ["--program", "x"], ["server", "--page"], ["--page", "--cases", "1.*"]])
def test_invalid_arguments_are_rejected(arguments):
    done = subprocess.run(
        ["/usr/bin/python3", "-B", ROOT / "tools/conformance_websocket.py", *arguments],
        capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr


# A stand-in for wstest: it returns the number of cases, and has the report of one case at its end.
FUZZER = """
import base64, hashlib, json, os, re, signal, socket, sys
spec = json.load(open(sys.argv[1]))
os.makedirs(spec["outdir"])
json.dump({"agent": {"1.1.1": {"behavior": "OK", "behaviorClose": "OK"}}},
          open(spec["outdir"] + "/index.json", "w"))
listener = socket.create_server(("127.0.0.1", int(spec["url"].rsplit(":", 1)[1])))
while True:
    connection = listener.accept()[0]
    head = connection.recv(65536)
    if head:
        key = re.search(rb"Sec-WebSocket-Key: (.*)\\r", head)[1]
        key += b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        connection.sendall(b"HTTP/1.1 101 X\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                           b"Sec-WebSocket-Accept: " + base64.b64encode(hashlib.sha1(key).digest())
                           + b"\\r\\n\\r\\n\\x81\\x01" + sys.argv[2].encode())
    connection.close()
"""


@pytest.mark.parametrize("count", [1, 3])
def test_client_with_missing_cases_fails(tmp_path, monkeypatch, count):
    (tmp_path / "fuzzer.py").write_text(FUZZER)

    def start(*arguments, log):
        with open(log, "w") as output:
            return subprocess.Popen(
                [sys.executable, tmp_path / "fuzzer.py", arguments[-1],
                 str(count)], stderr=output)

    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    options = types.SimpleNamespace(program="true", cases=["*"])
    run = lambda: conformance_websocket.run_one(types.SimpleNamespace(start=start), options,
                                                "client", "shared")  # noqa: E731
    if count == 1:
        assert len(run().cases) == 1
    else:
        with pytest.raises(suite.Missing, match="behind 1 of 3 cases"):
            run()
