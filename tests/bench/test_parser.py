"""`./dev bench parser` and parser_corpus: wrong results and debug builds give no figures, and the
messages are what their names say. Nothing is really measured here."""

import json
import re
import statistics

import pytest
from support import BUILD, BIN, ROOT, bench, run

from benchlib import run_parser

CORPUS = BIN / "parser_corpus"
MESSAGES = sorted((ROOT / "bench/messages").glob("*.http"))


def compile_program(folder, source, build_type="Release", *words):
    """A program of bench/ with the built parser library."""
    program = folder / source.removesuffix(".c")
    done = run("gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", '-DUVH_VERSION="0.0.0"',
               '-DUVH_COMPILER="gcc 0"', f'-DUVH_BUILD_TYPE="{build_type}"', '-DUVH_FLAGS=""',
               f"-I{ROOT}/include", f"-I{ROOT}/bench", "-o", program, ROOT / "bench" / source,
               *words, BUILD / "dist/lib/libuvhttp_parser.a", "-ldl")
    assert done.returncode == 0, done.stderr
    return program


def test_a_debug_build_is_refused(tmp_path):
    done = run(compile_program(tmp_path, "parser_corpus.c", "Debug"), MESSAGES[0])
    assert done.returncode == 1 and done.stdout == ""
    assert "refused: this is not a Release build (0.0.0 gcc 0 Debug)" in done.stderr


# Stand between the benchmark and the parser.
WRONG = {
    "fields": "head->field_count -= result == UVHTTP_PARSE_DONE && counted++ > 20;",
    "refusal": "if (counted++ > 20) result = UVHTTP_PARSE_BAD;",
    "incomplete": "if (counted++ > 20) result = UVHTTP_PARSE_MORE;",
}


def wrong_parser(folder, kind):
    source = folder / "wrong.c"
    arguments = ("uvhttp_head_t *head, const char *data, size_t length, "
                 "const uvhttp_head_limits_t *limits")
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
def test_the_comparison_ends_when_a_message_is_parsed_wrongly(tmp_path, kind):
    program = compile_program(tmp_path, "parser_corpus.c", "Release", *wrong_parser(tmp_path, kind))
    done = run(program, "--rounds", 1, "--milliseconds", 1, ROOT / "bench/messages/get-45.http")
    assert done.returncode == 1
    assert "uvhttp" in done.stderr
    assert done.stdout == ""


def test_the_program_needs_the_parser_alone():
    needed = re.findall(r"\(NEEDED\).*\[(\S+)\]", run("readelf", "-d", CORPUS).stdout)
    assert set(needed) <= {"libc.so.6", "libdl.so.2"}


def test_messages_are_named_by_size_and_explained():
    assert len(MESSAGES) >= 12
    readme = (ROOT / "bench/messages/README.md").read_text()
    assert set(re.findall(r"^\| `(.*?)`", readme, re.M)) == {path.stem for path in MESSAGES}
    for path in MESSAGES:
        assert path.stat().st_size == int(path.stem.split("-")[-1]), path.name


def parser(tmp_path, *options):
    done = bench("parser", BUILD, "--no-peers", "--rounds", 2, "--milliseconds", 1, *options,
                 out=tmp_path)
    if "is not a Release build" in done.err:
        pytest.skip("the build is no release")
    return done


def test_every_back_end_and_message_is_measured(tmp_path):
    done = parser(tmp_path)
    assert done.code == 0, done.err
    for key in ("date", "commit", "command", "uvhttp", "kernel", "cpu"):
        assert done.report["environment"][key]
    corpus = done.report["corpus"]
    names = [one["name"] for one in corpus["parsers"]]
    assert "uvhttp swar" in names and all(name.startswith("uvhttp ") for name in names)
    assert [message["name"] for message in corpus["messages"]] == [path.stem for path in MESSAGES]
    for message in corpus["messages"]:
        assert list(message["parsers"]) == names
        for figures in message["parsers"].values():
            assert len(figures["rounds"]) == 2
            assert figures["ns"] == statistics.median(figures["rounds"]) > 0
        assert re.search(rf"^{message['name']} +\d", done.out, re.M)


def test_instructions_are_counted_exactly(tmp_path):
    counts = []
    for _ in range(2):
        done = parser(tmp_path, "--messages", "get-45", "--instructions")
        if "its instructions cannot be counted here" in done.err:
            pytest.skip("single steps are not allowed here")
        assert done.code == 0, done.err
        message, = done.report["corpus"]["messages"]
        counts.append([one["instructions"] for one in message["parsers"].values()])
    assert counts[0] == counts[1] and min(counts[0]) > 45


def peer_library(folder, name, body):
    """Another parser, which gives `body` as its answer."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(f"""#include <parser_peers.h>
uint32_t peers_interface(void) {{ return PEERS_INTERFACE; }}
const char *peer_name(size_t number) {{ return number == 0 ? "{name}" : NULL; }}
const char *peer_version(size_t number) {{ (void)number; return "0"; }}
int peer_answer(size_t number, const char *data, size_t length, int response,
                struct peer_answer *answer)
{{
    {body}
    return 1;
}}
uint64_t peer_run(size_t number, const char *data, size_t length, int response, uint64_t iterations)
{{
    (void)number, (void)data, (void)length, (void)response;
    for (volatile uint64_t i = 0; i < 100 * iterations; i++) {{}}
    return iterations;
}}
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
    (RIGHT % hash_of(b"GET", b"/api/data", b"Host", b"example.co"), "wrong answer from other"),
    ("*answer = (struct peer_answer){.fields = 2};", "wrong answer from other for get-45"),
    ("return 0;", "other refuses get-45"),
])
def test_other_parsers_have_to_answer_rightly(tmp_path, body, reason):
    done = run(CORPUS, "--rounds", 1, "--milliseconds", 1, "--peers",
               f"={peer_library(tmp_path, 'other', body)}", ROOT / "bench/messages/get-45.http")
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


def test_ratios_are_taken_within_a_round():
    parsers = {"uvhttp avx2": {"rounds": [10.0, 30.0, 20.0]},
               run_parser.PICO: {"rounds": [20.0, 60.0, 20.0]}}
    run_parser.add_figures([{"name": "get-45", "parsers": parsers}])
    ours = parsers["uvhttp avx2"]
    assert (ours["ns"], ours["low"], ours["high"], ours["ratio"]) == (20, 10, 30, 0.5)


def test_versions_of_the_others_are_those_that_are_built():
    source = ROOT / "bench/peers/parser"
    lock = dict(re.findall(r'name = "(.*)"\nversion = "(.*)"', (source / "Cargo.lock").read_text()))
    text = (source / "src/lib.rs").read_text()
    said = dict(re.findall(r'version: "crate (\S+) (\S+)\\0"', text))
    assert set(said) == {"picohttpparser-sys", "httparse"}
    assert all(lock[name] == version for name, version in said.items())
