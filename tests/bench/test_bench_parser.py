"""B3-HttpParser and `./dev bench parser`: what they print and write, that wrong results and debug builds give no figures, and that the
messages are what they are said to be. Few iterations: nothing is really measured here, and nothing needs the other parsers."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"))
B3 = BUILD / "dist/bin/B3-HttpParser"
CORPUS = BUILD / "dist/bin/parser_corpus"
MESSAGES = sorted((ROOT / "bench/messages").glob("*.http"))
# name: (bytes of an iteration, messages of an iteration), as published; the heads of scenario 4 count as well.
SCENARIOS = {"whole": (189, 1), "pieces": (167, 1), "ring": (79, 1), "body-1k": (66 + 1024, 1), "body-10k": (67 + 10240, 1),
             "body-100k": (68 + 102400, 1), "batch": (450, 10), "response": (172, 1), "bytes": (71, 1)}

sys.path.insert(0, str(ROOT / "tools"))
import bench_parser  # noqa: E402
sys.path.pop(0)


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})


def bench_command(*options):
    return run("/usr/bin/python3", ROOT / "tools/bench_parser.py", "--build-dir", BUILD, "--rounds", 2, "--milliseconds", 1,
               "--iterations", 20, *options)


def compile_program(folder, source, build_type="Release", *words):
    """A program of bench/ with the built parser library."""
    program = folder / pathlib.Path(source).stem
    done = run("gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", '-DUVH_VERSION="0.0.0"', '-DUVH_COMPILER="gcc 0"',
               f'-DUVH_BUILD_TYPE="{build_type}"', '-DUVH_FLAGS=""', f"-I{ROOT}/include", f"-I{ROOT}/bench", "-o", program,
               ROOT / "bench" / source, *words, BUILD / "dist/lib/libuvhttp_parser.a", "-ldl")
    assert done.returncode == 0, done.stderr
    return program


def test_b3_has_every_scenario_with_its_size(tmp_path):
    file = tmp_path / "b3.json"
    done = run(B3, 40, "--rounds", 3, "--json", file)
    assert done.returncode == 0, done.stderr
    assert re.match(r"B3-HttpParser: uvhttp_parser \d+\.\d+\.\d+ (gcc|clang) \S+ Release \(.*-O2.*\), back end \w+\n", done.stdout)
    report = json.loads(file.read_text())
    assert (report["iterations"], report["rounds"]) == (40, 3)
    assert {one["name"]: (one["bytes"] // 40, one["operations"] // 40) for one in report["scenarios"]} == SCENARIOS
    for one in report["scenarios"]:
        assert len(one["rounds"]) == 3 and min(one["rounds"]) > 0
        assert one["ns"] == statistics.median(one["rounds"])
        assert (one["ns_low"], one["ns_high"]) == (min(one["rounds"]), max(one["rounds"]))
        assert one["ops_per_second"] == pytest.approx(1e9 / one["ns"], rel=1e-3)
        assert one["mb_per_second"] == pytest.approx(one["bytes"] / one["operations"] / one["ns"] * 1e3, rel=1e-2)
        assert one["checksum"] > 0
        line = next(line for line in done.stdout.split("\n") if line.startswith(one["title"]))
        words = line.removeprefix(one["title"]).split()
        assert len(words) == 7
        assert (words[0], words[1], words[6]) == ("40", str(one["bytes"]), str(one["checksum"]))


def test_b3_compares_byte_by_byte_with_at_once(tmp_path):
    file = tmp_path / "b3.json"
    assert run(B3, 10, "--rounds", 1, "--json", file).returncode == 0
    feeding = json.loads(file.read_text())["feeding"]
    assert [one["size"] for one in feeding] == [71, 1024, 2048, 4096, 8192, 1024, 2048, 4096, 8192]
    for one in feeding:
        assert one["ratio"] == pytest.approx(one["bytes_ns"] / one["whole_ns"], rel=1e-2)


def test_b3_runs_on_every_back_end():
    for backend in ("avx512", "avx2", "sse42", "neon", "swar"):
        done = run(B3, 10, "--rounds", 1, UVHTTP_PARSER_BACKEND=backend)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["0"], ["-5"], ["12x"], [""], ["1", "2"], ["99999999999999999999"], ["--rounds"],
                                   ["--rounds", "0"], ["--rounds", "1001"], ["--json"], ["--fast"]])
def test_b3_refuses_arguments_it_does_not_understand(words):
    done = run(B3, *words)
    assert done.returncode == 2
    assert "usage: B3-HttpParser [ITERATIONS]" in done.stderr
    assert done.stdout == ""


def test_b3_says_when_its_file_cannot_be_written(tmp_path):
    done = run(B3, 1, "--json", tmp_path / "missing/b3.json")
    assert done.returncode == 1
    assert "missing/b3.json cannot be written" in done.stderr


@pytest.mark.parametrize("source, words", [("b3_http_parser.c", ["1"]), ("parser_corpus.c", [MESSAGES[0]])])
def test_a_debug_build_is_refused(tmp_path, source, words):
    done = run(compile_program(tmp_path, source, "Debug"), *words)
    assert done.returncode == 1
    assert "refused: this is not a Release build (0.0.0 gcc 0 Debug)" in done.stderr
    assert done.stdout == ""


# Stand between the benchmark and the parser.
WRONG = {
    "fields": "head->field_count -= result == UVHTTP_PARSE_DONE && counted++ > 20;",
    "refusal": "if (counted++ > 20) result = UVHTTP_PARSE_BAD;",
    "incomplete": "if (counted++ > 20) result = UVHTTP_PARSE_MORE;",
}


def wrong_parser(folder, kind):
    source = folder / "wrong.c"
    arguments = "uvhttp_head_t *head, const char *data, size_t length, const uvhttp_head_limits_t *limits"
    source.write_text(f"""#include <uvhttp/parser.h>
uvhttp_parse_result_t __real_uvhttp_request_head_parse({arguments});
uvhttp_parse_result_t __wrap_uvhttp_request_head_parse({arguments})
{{
    static int counted;
    uvhttp_parse_result_t result = __real_uvhttp_request_head_parse(head, data, length, limits);
    {WRONG[kind]}
    return result;
}}
""")
    return [source, "-Wl,--wrap=uvhttp_request_head_parse"]


@pytest.mark.parametrize("kind", WRONG)
def test_b3_ends_when_a_message_is_parsed_wrongly(tmp_path, kind):
    done = run(compile_program(tmp_path, "b3_http_parser.c", "Release", *wrong_parser(tmp_path, kind)), 100)
    assert done.returncode == 1
    assert ("the checksum is" if kind == "fields" else "not parsed as it should be") in done.stderr
    assert "ns/op" not in done.stdout


@pytest.mark.parametrize("kind", WRONG)
def test_the_comparison_ends_when_a_message_is_parsed_wrongly(tmp_path, kind):
    program = compile_program(tmp_path, "parser_corpus.c", "Release", *wrong_parser(tmp_path, kind))
    done = run(program, "--rounds", 1, "--milliseconds", 1, ROOT / "bench/messages/get-45.http")
    assert done.returncode == 1
    assert "uvhttp" in done.stderr
    assert done.stdout == ""


def test_the_programs_need_the_parser_alone():
    for program in (B3, CORPUS):
        needed = re.findall(r"\(NEEDED\).*\[(\S+)\]", run("readelf", "-d", program).stdout)
        assert set(needed) <= {"libc.so.6", "libdl.so.2"}, program


def test_messages_are_named_by_size_and_explained():
    assert len(MESSAGES) >= 12
    readme = (ROOT / "bench/messages/README.md").read_text()
    assert re.findall(r"^\| `(.*?)`", readme, re.M) and set(re.findall(r"^\| `(.*?)`", readme, re.M)) == {p.stem for p in MESSAGES}
    for path in MESSAGES:
        assert path.stat().st_size == int(path.stem.split("-")[-1]), path.name
    large = (ROOT / "bench/messages/response-cdn-4685.http").read_bytes().partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    policy, = [line for line in large if line.startswith(b"Content-Security-Policy: ")]
    assert (len(large), len(policy.partition(b": ")[2])) == (23, 3680)
    assert (ROOT / "bench/messages/fields-64-2344.http").read_bytes().partition(b"\r\n\r\n")[0].count(b"\r\n") == 64


def test_the_comparison_without_others(tmp_path):
    file = tmp_path / "out.json"
    done = bench_command("--no-peers", "--json", file)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    for key in ("date", "commit", "command", "uvhttp", "flags", "kernel", "cpu"):
        assert report["environment"][key]
    assert report["settings"] == {"rounds": 2, "starts": 5, "iterations": 20, "milliseconds": 1}
    assert [one["name"] for one in report["b3"]["scenarios"]] == list(SCENARIOS)
    assert len(report["feeding_marks"]) == 3
    corpus = report["corpus"]
    names = [parser["name"] for parser in corpus["parsers"]]
    assert "uvhttp swar" in names and all(name.startswith("uvhttp ") for name in names)
    assert [message["name"] for message in corpus["messages"]] == [path.stem for path in MESSAGES]
    for message in corpus["messages"]:
        assert message["size"] == int(message["name"].split("-")[-1])
        assert list(message["parsers"]) == names
        for figures in message["parsers"].values():
            assert len(figures["rounds"]) == 2 and figures["ns"] == statistics.median(figures["rounds"]) > 0
            assert "ratio" not in figures
        assert re.search(rf"^{message['name']} +\d", done.stdout, re.M)
    # Nothing to compare with, so no mark.
    assert report["marks"] == []


def test_instructions_are_counted_exactly(tmp_path):
    counts = []
    for number in range(2):
        file = tmp_path / "out.json"
        done = bench_command("--no-peers", "--only", "corpus", "--messages", "get-45", "--instructions", "--json", file)
        if "its instructions cannot be counted here" in done.stderr:
            pytest.skip("single steps are not allowed here")
        assert done.returncode == 0, done.stderr
        message, = json.loads(file.read_text())["corpus"]["messages"]
        counts.append({name: figures["instructions"] for name, figures in message["parsers"].items()})
    assert counts[0] == counts[1]
    assert all(count > 45 for count in counts[0].values())


@pytest.mark.parametrize("words", [["--rounds", "0"], ["--iterations", "x"], ["--messages", "nothing"], ["--only", "b4"], ["--fast"]])
def test_the_command_refuses_arguments_it_does_not_understand(words):
    done = run("/usr/bin/python3", ROOT / "tools/bench_parser.py", *words)
    assert done.returncode == 2
    assert "usage: ./dev bench parser" in done.stderr


def peer_library(folder, name, body):
    """Another parser, which gives `body` as its answer."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(f"""#include <parser_peers.h>
uint32_t peers_interface(void) {{ return PEERS_INTERFACE; }}
const char *peer_name(size_t number) {{ return number == 0 ? "{name}" : NULL; }}
const char *peer_version(size_t number) {{ (void)number; return "0"; }}
int peer_answer(size_t number, const char *data, size_t length, int response, struct peer_answer *answer)
{{
    {body}
    return 1;
}}
uint64_t peer_run(size_t number, const char *data, size_t length, int response, uint64_t iterations) {{ return iterations; }}
""")
    done = run("gcc", "-shared", "-fPIC", f"-I{ROOT}/bench", "-o", library, source)
    assert done.returncode == 0, done.stderr
    return library


# What get-45.http says; the hash is that of bench/parser_peers.h.
RIGHT = "*answer = (struct peer_answer){.head_size = 45, .fields = 1, .hash = %dull};"


def hash_of(*texts):
    value = 0xcbf29ce484222325
    for byte in b"".join(text + b"\n" for text in texts):
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


@pytest.mark.parametrize("body, reason", [
    (RIGHT % hash_of(b"GET", b"/api/data", b"Host", b"example.com"), None),
    (RIGHT % hash_of(b"GET", b"/api/data", b"Host", b"example.co"), "wrong answer from other for get-45"),
    ("*answer = (struct peer_answer){.fields = 2};", "wrong answer from other for get-45"),
    ("return 0;", "other refuses get-45"),
])
def test_other_parsers_have_to_answer_rightly(tmp_path, body, reason):
    done = run(CORPUS, "--rounds", 1, "--milliseconds", 1, "--peers", f"={peer_library(tmp_path, 'other', body)}",
               ROOT / "bench/messages/get-45.http")
    if reason is None:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["parsers"][-1] == {"name": "other", "version": "0"}
    else:
        assert done.returncode == 1
        assert reason in done.stderr
        assert done.stdout == ""


def test_what_is_no_library_of_parsers_is_refused(tmp_path):
    done = run(CORPUS, "--peers", f"x={tmp_path}/missing.so", MESSAGES[0])
    assert done.returncode == 2
    assert "missing.so" in done.stderr


def test_ratios_are_taken_within_a_round_and_marks_judged():
    corpus = {"messages": [{"name": "get-45", "parsers": {
        "uvhttp avx2": {"rounds": [10.0, 30.0, 20.0]}, "uvhttp sse42": {"rounds": [30.0, 90.0, 60.0]},
        bench_parser.PICO: {"rounds": [20.0, 60.0, 20.0]}}}]}
    bench_parser.add_figures(corpus)
    figures = corpus["messages"][0]["parsers"]["uvhttp avx2"]
    assert (figures["ns"], figures["ns_low"], figures["ns_high"], figures["ratio"]) == (20, 10, 30, 0.5)
    assert bench_parser.judge(corpus) == [
        {"backend": "uvhttp avx2", "message": "get-45", "limit": 0.6, "measured": 0.5, "met": True},
        {"backend": "uvhttp sse42", "message": "get-45", "limit": 1.0, "measured": 1.5, "met": False}]


def test_versions_of_the_others_are_those_that_are_built():
    lock = dict(re.findall(r'name = "(.*)"\nversion = "(.*)"', (ROOT / "bench/peers/parser/Cargo.lock").read_text()))
    said = dict(re.findall(r'version: "crate (\S+) (\S+)\\0"', (ROOT / "bench/peers/parser/src/lib.rs").read_text()))
    assert set(said) == {"picohttpparser-sys", "httparse"}
    for name, version in said.items():
        assert lock[name] == version
        assert f"crate {name} {version}" in (ROOT / "docs/performance.md").read_text()
