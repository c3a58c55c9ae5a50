"""`./dev bench parser` and parser_corpus: wrong results and debug builds have no figures, and the
names of messages are correct. Figures are not checked here."""

import json
import re
import statistics

import pytest
from support import BIN, BUILD, ROOT, bench, is_release, only_release, run

from benchlib import run_parser

CORPUS = BIN / "parser_corpus"
MESSAGES = sorted((ROOT / "bench/messages").glob("*.http"))


def test_corpus_refuses_debug_build(tmp_path):
    program = tmp_path / "parser_corpus"
    done = run("gcc", "-std=c11", "-D_GNU_SOURCE", '-DUVH_VERSION="0.0.0"',
               '-DUVH_COMPILER="gcc 0"', '-DUVH_BUILD_TYPE="Debug"', '-DUVH_FLAGS=""',
               f"-I{ROOT}/include", "-o", program, ROOT / "bench/parser_corpus.c",
               BUILD / "dist/lib/libuvhttp_parser.a", "-ldl")
    assert done.returncode == 0, done.stderr
    done = run(program, MESSAGES[0])
    assert done.returncode == 1 and done.stdout == ""
    assert "refused: this is not a Release build (0.0.0 gcc 0 Debug)" in done.stderr


def test_b3_measures_each_scenario():
    done = run(BIN / "B3-HttpParser", 20, "--rounds", 1)
    if not is_release:
        assert done.returncode == 1 and "not a Release build" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^([1-7]) .* \d+$", done.stdout, re.M) == list("1234445") + ["6", "7"]


def test_corpus_links_parser_library_only():
    needed = re.findall(r"\(NEEDED\).*\[(\S+)\]", run("readelf", "-d", CORPUS).stdout)
    assert set(needed) <= {"libc.so.6", "libdl.so.2"}


def test_messages_are_named_by_size_and_documented():
    assert len(MESSAGES) >= 12
    readme = (ROOT / "bench/messages/README.md").read_text()
    assert set(re.findall(r"^\| `(.*?)`", readme, re.M)) == {path.stem for path in MESSAGES}
    for path in MESSAGES:
        assert path.stat().st_size == int(path.stem.split("-")[-1]), path.name


@only_release
def test_parser_measures_each_backend_and_message():
    done = bench("parser", BUILD, "--no-peers", "--rounds", 2, "--milliseconds", 1)
    assert done.code == 0, done.err
    for key in ("date", "commit", "command", "uvhttp", "kernel", "cpu"):
        assert done.report["environment"][key]
    corpus = done.report["corpus"]
    names = list(corpus["messages"][0]["parsers"])
    assert "uvhttp swar" in names and all(name.startswith("uvhttp ") for name in names)
    assert [message["name"] for message in corpus["messages"]] == [path.stem for path in MESSAGES]
    for message in corpus["messages"]:
        assert list(message["parsers"]) == names
        for figures in message["parsers"].values():
            assert len(figures["rounds"]) == 2
            assert figures["ns"] == statistics.median(figures["rounds"]) > 0
        assert re.search(rf"^{message['name']} +\d", done.out, re.M)


def peer_library(directory, body):
    """Builds another parser with `body` as its function."""
    source, library = directory / "other.c", directory / "other.so"
    source.write_text(f"""#include <parser_peers.h>
int peer_parse(const char *data, size_t length, int response, struct peer_result *result)
{{
    {body}
    return 1;
}}
uint64_t peer_run(const char *data, size_t length, int response, uint64_t iterations)
{{
    (void)data, (void)length, (void)response;
    for (volatile uint64_t i = 0; i < 100 * iterations; i++) {{}}
    return iterations;
}}
""")
    done = run("gcc", "-shared", "-fPIC", f"-I{ROOT}/bench", "-o", library, source)
    assert done.returncode == 0, done.stderr
    return library


# The result for get-45.http, with the hash of bench/parser_peers.h.
EXPECTED = "*result = (struct peer_result){.head_size = 45, .fields = 1, .hash = %dull};"


def hash_of(*texts):
    value = 0xcbf29ce484222325
    for byte in b"".join(text + b"\n" for text in texts):
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


@pytest.mark.parametrize("body, reason", [
    (EXPECTED % hash_of(b"GET", b"/api/data", b"Host", b"example.com"), None),
    (EXPECTED % hash_of(b"GET", b"/api/data", b"Host", b"example.co"), "wrong result from other"),
    ("*result = (struct peer_result){.fields = 2};", "wrong result from other for get-45"),
    ("return 0;", "other refuses get-45"),
])
def test_peer_with_wrong_result_is_refused(tmp_path, body, reason):
    done = run(CORPUS, "--rounds", 1, "--milliseconds", 1, "--peer",
               f"other={peer_library(tmp_path, body)}", ROOT / "bench/messages/get-45.http")
    if reason is None:
        message, = json.loads(done.stdout)["messages"]
        assert list(message["parsers"])[-1] == "other"
    else:
        assert (done.returncode, done.stdout) == (1, "") and reason in done.stderr


def test_missing_peer_library_is_refused(tmp_path):
    done = run(CORPUS, "--peer", f"x={tmp_path}/missing.so", MESSAGES[0])
    assert done.returncode == 2 and "missing.so" in done.stderr


def test_ratio_is_median_within_rounds():
    parsers = {"uvhttp avx2": {"rounds": [10.0, 30.0, 20.0]},
               run_parser.PICO: {"rounds": [20.0, 60.0, 20.0]}}
    run_parser.add_figures([{"name": "get-45", "parsers": parsers}])
    ours = parsers["uvhttp avx2"]
    assert (ours["ns"], ours["low"], ours["high"], ours["ratio"]) == (20, 10, 30, 0.5)
