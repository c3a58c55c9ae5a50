"""Each check must detect a deliberate violation of its rule, and must pass without it.

Every test uses its own small project in a temporary directory, with the tools and the settings of
this checkout.
"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SOUND = {
    # A separate table, so that a change of the real one requires no change here.
    "tools/layers.txt":
        """# The table.
public:   | |
base:     public | xxhash.h |
codec:    public base | |
platform: public base | | posix
route:    public base | |
net:      public base platform | uv.h |
app:      public | | posix
examples: public | | posix
tests:    * | * | posix
""",
    "include/uvhttp/types.h":
        """/* Types. */
#ifndef UVHTTP_TYPES_H
#define UVHTTP_TYPES_H

#include <stddef.h>

#define UVHTTP_EXPORT __attribute__((visibility("default")))

#endif
""",
    "include/uvhttp/parser.h":
        """/* The parser. */
#ifndef UVHTTP_PARSER_H
#define UVHTTP_PARSER_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

UVHTTP_EXPORT size_t uvhttp_parse(const char *text);
UVHTTP_EXPORT const char *
uvhttp_parse_name_with_a_declaration_that_needs_two_lines_to_be_written_down(int number);

#ifdef __cplusplus
}
#endif

#endif
""",
    "src/base/text.h":
        """/* Text. */
#ifndef UVH_BASE_TEXT_H
#define UVH_BASE_TEXT_H

#include <stddef.h>

size_t uvh_text_length(const char *text);

#endif
""",
    "src/base/text.c":
        """/* Text. */
#include "base/text.h"

#include <string.h>

size_t uvh_text_length(const char *text)
{
    return strlen(text);
}
""",
    "src/codec/parse.c":
        """/* The parser; it never calls strcpy(). */
#include <uvhttp/parser.h>

#include "base/text.h"

size_t uvhttp_parse(const char *text)
{
    return uvh_text_length(text);
}

const char *uvhttp_parse_name_with_a_declaration_that_needs_two_lines_to_be_written_down(int number)
{
    return number ? "strcpy(" : "";
}
""",
    "app/main.c":
        """/* The program. */
#include <unistd.h>

#include <uvhttp/parser.h>

int main(void)
{
    return (int)uvhttp_parse("") + (int)getpid() * 0;
}
""",
    "README.md":
        "# A project\n\nSee [the parser](include/uvhttp/parser.h).\n",
}


@pytest.fixture
def project(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in SOUND.items():
        write(tmp_path, name, text)
    shutil.copy(ROOT / ".clang-format", tmp_path)
    write(tmp_path, "tools/size_exceptions.txt", "# none\n")
    return tmp_path


def write(project, name, text):
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run_check(project, name, *arguments):
    """The exit code and the output lines of a check of a project."""
    result = subprocess.run([
        "/usr/bin/python3", "-B", ROOT / "tools" / f"check_{name}.py", "--root", project, *arguments
    ], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


def assert_rejected(project, check, name, text, *words):
    """The project passes. With one more or changed file it fails, and the message contains the file
    and the given words."""
    assert run_check(project, check) == (0, "")
    write(project, name, text)
    code, output = run_check(project, check)
    assert code == 1
    lines = [line for line in output.splitlines() if name in line]
    assert lines, output
    for word in words:
        assert any(word in line for line in lines), output


@pytest.mark.parametrize(
    "name, text, words",
    [
        # Upwards, sideways, a private header in the program, third-party and system headers, a
        # missing header, a header outside src/.
        ("src/base/up.c", '#include "codec/parse.h"\n', ['there is no "codec/parse.h"']),
        ("src/base/up.c", "#include <uv.h>\n", ["base may not include <uv.h>"]),
        ("src/base/up.c", "#include <sys/socket.h>\n", ["base may not include <sys/socket.h>"]),
        ("src/codec/io.c", "  #  include <unistd.h>\n", ["codec may not include <unistd.h>"]),
        ("src/route/leak.c",
         '#include <uvhttp/types.h>\n\n#include "base/text.h"\n#include "codec/private.h"\n',
         ["leak.c:4", 'there is no "codec/private.h"']),
        ("app/inside.c", '#include "base/text.h"\n', ["app may not include base (base/text.h)"]),
        ("examples/inside.c", '#include "base/text.h"\n', ["examples may not include base"]),
        ("include/uvhttp/loop.h", "#include <uv.h>\n", ["public may not include <uv.h>"]),
        ("include/uvhttp/private.h", '#include "base/text.h"\n', ["public may not include base"]),
        ("include/uvhttp.hpp", "#include <array>\n#include <unistd.h>\n",
         ["public may not include <unistd.h>"]),
        ("include/uvhttp.hpp", "#include <uv.h>\n", ["public may not include <uv.h>"]),
        ("include/uvhttp/standard.h", "#include <array>\n", ["public may not include <array>"]),
        ("examples/inside.cpp", '#include "base/text.h"\n', ["examples may not include base"]),
        ("src/base/near.c", '#include "text.h"\n', ["written from src/"]),
        ("src/base/gone.c", "#include <uvhttp/gone.h>\n", ["there is no <uvhttp/gone.h>"]),
        ("src/extras/new.c", "#include <stddef.h>\n", ["no row for the directory extras"]),
    ])
def test_layers_reject_include(project, name, text, words):
    assert_rejected(project, "layers", name, text, *words)


def test_layers_reject_unlisted_edge(project):
    write(project, "src/codec/parse.h", "#include <stddef.h>\n")
    assert_rejected(project, "layers", "src/route/tree.c", '#include "codec/parse.h"\n',
                    "route may not include codec")


def test_layers_row_of_subdirectory_rejects_unlisted_edge(project):
    table = SOUND["tools/layers.txt"]
    row = next(line for line in table.splitlines() if line.startswith("codec:"))
    write(project, "tools/layers.txt",
          table.replace(row, f"{row}\n{row.replace('codec:', 'codec/text:')}"))
    write(project, "src/codec/text/chars.h", "#include <stddef.h>\n")
    write(project, "src/codec/parse.h", "#include <stddef.h>\n")
    assert_rejected(project, "layers", "src/codec/text/chars.c", '#include "codec/parse.h"\n',
                    "codec/text may not include codec")


def test_layers_reject_header_cycle(project):
    write(project, "src/base/one.h", "#include <stddef.h>\n")
    write(project, "src/base/two.h", '#include "base/one.h"\n')
    assert_rejected(project, "layers", "src/base/one.h", '#include "base/two.h"\n', "circle",
                    "src/base/two.h")


def test_layers_reject_directory_cycle(project):
    changed = SOUND["tools/layers.txt"].replace("base:     public", "base:     public codec")
    assert_rejected(project, "layers", "tools/layers.txt", changed, "base -> codec -> base")


def test_layers_ignore_include_in_comment(project):
    write(project, "src/base/text.c",
          '/*\n#include "codec/gone.h"\n*/\n' + SOUND["src/base/text.c"])
    assert run_check(project, "layers") == (0, "")


def function_of(lines):
    body = "    (void)0;\n" * lines
    return f"/* Long. */\nint uvh_long(int number);\n\nint uvh_long(int number)\n{{\n{body}}}\n"


def test_sizes_reject_long_function(project):
    write(project, "src/base/long.c", function_of(60))
    assert_rejected(project, "sizes", "src/base/long.c", function_of(61), "uvh_long has 61 lines")


def test_sizes_reject_long_file(project):
    write(project, "src/base/long.c", "/* */\n" * 800)
    assert_rejected(project, "sizes", "src/base/long.c", "/* */\n" * 801, "801 lines")


def test_sizes_accept_exception_with_reason(project):
    write(project, "src/base/long.c", function_of(61))
    write(project, "tools/size_exceptions.txt",
          "src/base/long.c:uvh_long -- one case for each letter\n")
    assert run_check(project, "sizes") == (0, "")


@pytest.mark.parametrize("line, words",
                         [("src/base/long.c:uvh_long", ["not of the form"]),
                          ("src/base/text.c -- it was long once", ["needs no exception"]), ])
def test_sizes_reject_exception_without_reason_or_use(project, line, words):
    assert_rejected(project, "sizes", "tools/size_exceptions.txt", line + "\n", *words)


@pytest.mark.parametrize("call", [
    "strcpy(a, b)", "strcat(a, b)", "strncpy(a, b, 1)", "sprintf(a, b)", "vsprintf(a, b, c)",
    "gets(a)", "strtok(a, b)", "alloca(1)", "atoi(a)", "usleep (1)", "sleep(1)", "uv_sleep(1)",
    "nanosleep(a, b)"
])
@pytest.mark.parametrize("directory", ["src/base", "app", "tests/unit", "examples", "bench"])
def test_banned_function_is_rejected(project, directory, call):
    assert_rejected(project, "banned", f"{directory}/bad.c",
                    f"\nvoid f(void)\n{{\n    {call};\n}}\n", "bad.c:4", "is banned")


@pytest.mark.parametrize(
    "call", ["uv_queue_work(loop, &work, run, done)", "uv_fs_stat(loop, &request, path, done)"])
def test_banned_libuv_pool_is_rejected_in_library(project, call):
    text = f"void f(void)\n{{\n    {call};\n}}\n"
    write(project, "tests/unit/fine.c", text)
    assert run_check(project, "banned") == (0, "")
    assert_rejected(project, "banned", "src/files/bad.c", text, "bad.c:3", "is banned")


@pytest.mark.parametrize("line", [
    "int my_sleep(int a);", "x.sleep(1);", "x->sleep(1);", "// gets(a)", "snprintf(a, 1, b);",
    "/* \" */ f(\"gets(\"); // \""
])
def test_banned_lookalike_passes(project, line):
    write(project, "src/base/fine.c", line + "\n")
    assert run_check(project, "banned") == (0, "")


@pytest.mark.parametrize("line", [
    "#ifdef __linux__", "#if defined(_WIN32)", "# ifndef __APPLE__",
    "#if FOO && \\\n    defined(__FreeBSD__)", "#elif defined(__unix__)"
])
@pytest.mark.parametrize("directory", ["src/net", "include/uvhttp", "app", "examples"])
def test_platform_condition_is_rejected_outside_platform(project, directory, line):
    write(project, "src/platform/system.c", f"{line}\n#endif\n")
    assert_rejected(project, "platform", f"{directory}/bad.h", f"{line}\n#endif\n",
                    "belongs in src/platform")


def test_platform_ignores_other_conditions(project):
    write(project, "src/base/fine.h",
          "#if defined(__GNUC__) || __has_include(<x.h>) /* __linux__ */\n#endif\n")
    assert run_check(project, "platform") == (0, "")


@pytest.mark.parametrize("name, text, word",
                         [("docs/a.md", "text \nmore\n", "white space at the end"),
                          ("docs/a.md", "text\r\nmore\n", "white space at the end"),
                          ("src/base/a.c", "\tint a;\n", "a tab"),
                          ("docs/a.md", "no end", "no end"),
                          ("src/base/a.c", "/* TO" + "DO: later */\n", "TO" + "DO"),
                          ("tests/wire/a.py", "# FIX" + "ME\n", "FIX" + "ME"),
                          ("docs/a.md", "run /ho" + "me/somebody/x\n", "path of one machine"),
                          ("CMakeLists.txt", 'set(a "/ro' + 'ot/x")\n', "path of one machine"),
                          ("docs/a.md", "[more](missing.md#part)\n", "leads nowhere"), ])
def test_hygiene_rejects_text(project, name, text, word):
    assert run_check(project, "hygiene") == (0, "")
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_bytes(text.encode())
    code, output = run_check(project, "hygiene")
    assert code == 1
    assert name in output and word in output


def test_hygiene_ignores_fuzz_inputs(project):
    write(project, "tests/fuzz/corpus/head/spaces", "GET / \r\n\t")
    assert run_check(project, "hygiene") == (0, "")


@pytest.mark.parametrize(
    "name, text, words",
    [("include/uvhttp/bad.h", "size_t uvhttp_size(void);\n",
      ["gcc -std=c11", "g++ -std=c++17", "g++ -std=c++20"]),
     ("include/uvhttp/bad.h", "struct uvhttp_x {\n    int class;\n};\n",
      ["g++ -std=c++17", "g++ -std=c++20"]),
     ("include/uvhttp/bad.h", "static inline int *uvhttp_x(void *p)\n{\n    return p;\n}\n",
      ["g++ -std=c++17"]),
     ("include/uvhttp.hpp", "inline std::size_t bad() { return 1; }\n", ["g++ -std=c++20"]),
     ("include/uvhttp.hpp", "inline int bad(long wide) { return wide; }\n", ["g++ -std=c++20"]),
     ("src/codec/bad.h", "uint32_t uvh_number(void);\n", ["gcc -std=c11"]),
     ("app/bad.h", "#include <uvhttp/types.h>\nbool f(void);\n", ["gcc -std=c11"]), ])
def test_headers_must_compile_alone(project, name, text, words):
    assert_rejected(project, "headers", name, text, "does not compile alone", *words)


@pytest.mark.parametrize("name",
                         ["src/base/bad.c", "include/uvhttp.hpp", "tests/unit/test_bad.cpp"])
def test_format_is_checked(project, name):
    assert_rejected(project, "format", name, "int  a;\n", f"{name}:1: not formatted")


def test_missing_clang_format_is_reported(project, monkeypatch):
    (project / "bin").mkdir()
    (project / "bin/git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(project / "bin"))
    assert run_check(project, "format") == (
        1, "clang-format is not installed; ./dev setup installs it\n")


def test_clang_warning_is_rejected(project):
    # GCC does not have this warning.
    bad = ("int uvh_bad(int number);\n\nint uvh_bad(int number)\n{\n    number = number;\n    "
           "return number;\n}\n")
    assert_rejected(project, "clang", "src/base/bad.c", bad, "self-assign")


def test_clang_warning_in_cpp_is_rejected(project):
    bad = ("int bad(long wide);\n\nint bad(long wide)\n{\n    return static_cast<int>(wide) + "
           "wide;\n}\n")
    assert_rejected(project, "clang", "tests/unit/test_bad.cpp", bad, "implicit conversion")


def null_project(project, rows='NULL_ROW(uvhttp_parse, text, uvhttp_parse(NULL) == 0);'):
    """The project with a test that passes NULL to its only function with a pointer."""
    write(project, "tests/unit/test_null_parser.c", f"{rows}\n")
    write(project, "tools/null_exceptions.txt", "# none\n")
    return project


@pytest.mark.parametrize("declaration, words", [
    ("UVHTTP_EXPORT int uvhttp_new(int *out, int size);",
     ["uvhttp_new: nothing passes NULL for `out`"]),
    ("UVHTTP_EXPORT void uvhttp_each(int number,\n    int (*each)(int *a, int b), void *arg);",
     ["uvhttp_each: nothing passes NULL for `each`", "uvhttp_each: nothing passes NULL for `arg`"]),
    ("UVHTTP_EXPORT void uvhttp_on(uvhttp_done_cb done);",
     ["uvhttp_on: nothing passes NULL for `done`"]),
    ("UVHTTP_EXPORT int uvhttp_two(int pieces[2]);",
     ["uvhttp_two: nothing passes NULL for `pieces`"]),
    ("UVHTTP_EXPORT int *uvhttp_no(int a, size_t b);\nUVHTTP_EXPORT int uvhttp_make(char **out);",
     ["uvhttp_make: nothing passes NULL for `out`"]),
])
def test_null_requires_test_for_each_pointer(project, declaration, words):
    added = f"typedef void (*uvhttp_done_cb)(void *arg);\n{declaration}\n\n#endif"
    header = SOUND["include/uvhttp/types.h"].replace("#endif", added)
    assert_rejected(null_project(project), "null", "include/uvhttp/types.h", header, *words)


def test_null_accepts_exception_with_reason(project):
    null_project(project, rows="/* none */")
    assert run_check(project, "null")[0] == 1
    write(project, "tools/null_exceptions.txt", "uvhttp_p* text -- a reason\n")
    assert run_check(project, "null") == (0, "")


def test_null_accepts_exception_for_type(project):
    added = """typedef struct uvhttp_x uvhttp_x_t;
UVHTTP_EXPORT int uvhttp_ask(const uvhttp_x_t *x);
UVHTTP_EXPORT int uvhttp_make(uvhttp_x_t **x);

#endif"""
    header = SOUND["include/uvhttp/types.h"].replace("#endif", added)
    null_project(project)
    write(project, "include/uvhttp/types.h", header)
    write(project, "tools/null_exceptions.txt", "type:uvhttp_x_t -- handed to callbacks\n")
    code, output = run_check(project, "null")
    assert code == 1 and "uvhttp_make" in output and "uvhttp_ask" not in output


@pytest.mark.parametrize(
    "line, words", [("uvhttp_parse text", ["not of the form"]),
                    ("uvhttp_parse other -- a reason", ["uvhttp_parse other excuses nothing"]),
                    ("type:uvhttp_gone_t -- a reason", ["type:uvhttp_gone_t excuses nothing"]), ])
def test_null_rejects_exception_without_reason_or_use(project, line, words):
    assert_rejected(null_project(project), "null", "tools/null_exceptions.txt", line + "\n", *words)


def test_null_rejects_row_for_missing_function(project):
    rows = "NULL_ROW(uvhttp_parse, text, true);\nNULL_CALL(uvhttp_gone, text, uvhttp_gone(NULL));\n"
    assert_rejected(null_project(project), "null", "tests/unit/test_null_parser.c", rows,
                    "uvhttp_gone has no pointer `text`")


def build_libraries(project, extra=""):
    """Both libraries from the parser's sources, as in the build."""
    write(project, "extra.c", extra)
    for name in ("uvhttp", "uvhttp_parser"):
        sources = ["src/base/text.c", "src/codec/parse.c", "extra.c"]
        subprocess.run([
            "gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-Isrc", *sources, "-o",
            f"lib{name}.so"
        ], cwd=project, check=True)
    return run_check(project, "symbols", "--libraries", project)


def test_symbols_equal_declarations(project):
    assert build_libraries(project) == (0, "")


def test_symbols_reject_undeclared_symbol(project):
    code, output = build_libraries(
        project, '__attribute__((visibility("default"))) int uvh_leak(void)\n{\n    return 1;\n}\n')
    assert code == 1
    assert "libuvhttp.so: exports uvh_leak" in output
    assert "libuvhttp_parser.so: exports uvh_leak" in output


def test_symbols_reject_missing_symbol(project):
    header = SOUND["include/uvhttp/types.h"].replace(
        "#endif", "UVHTTP_EXPORT int uvhttp_gone(void);\n\n#endif")
    write(project, "include/uvhttp/types.h", header)
    code, output = build_libraries(project)
    assert code == 1
    # The parser's header includes this one.
    assert output == "".join(
        f"include/uvhttp/types.h: uvhttp_gone is declared, but {name} does not export it\n"
        for name in ("libuvhttp.so", "libuvhttp_parser.so"))


def test_symbols_of_included_headers_are_required(project):
    header = SOUND["include/uvhttp/types.h"].replace("TYPES_H", "RING_H").replace(
        "#endif", "UVHTTP_EXPORT int uvhttp_ring(void);\n\n#endif")
    write(project, "include/uvhttp/ring.h", header)
    write(
        project, "include/uvhttp/parser.h",
        "#ifndef UVHTTP_PARSER_H\n#define UVHTTP_PARSER_H\n\n#include <uvhttp/ring.h>\n\n#endif\n")
    code, output = build_libraries(project)
    assert code == 1
    assert ("include/uvhttp/ring.h: uvhttp_ring is declared, but libuvhttp_parser.so does not "
            "export it") in output


def test_symbols_report_missing_library(project):
    code, output = run_check(project, "symbols", "--libraries", project)
    assert code == 1
    assert "libuvhttp.so: not built" in output


PITFALLS = ("# Pitfalls\n\n| what | test |\n|---|---|\n| One | `tests/unit/test_one.c::one_works` "
            "|\n| Two | `tests/wire/test_two.py::test_pitfall_two` |\n")


@pytest.mark.parametrize(
    "name, text, words",
    [("docs/pitfalls.md", PITFALLS + "| Three | `tests/unit/test_one.c::gone` |\n",
      ["there is no test tests/unit/test_one.c::gone"]),
     ("docs/pitfalls.md", PITFALLS + "| Three | `tests/unit/test_gone.c::one_works` |\n",
      ["there is no test tests/unit/test_gone.c::one_works"]),
     ("docs/pitfalls.md", PITFALLS + "| Three | later |\n", ["md:7", "names no test"]),
     ("tests/wire/test_two.py",
      "def test_pitfall_two():\n    pass\n\n\ndef test_pitfall_three():\n    pass\n",
      ["test_pitfall_three is not listed in"]), ])
def test_pitfalls_reject_row_without_test(project, name, text, words):
    write(project, "tests/unit/test_one.c",
          "static void one_works(void **state)\n{\n    (void)state;\n}\n")
    write(project, "tests/wire/test_two.py", "def test_pitfall_two():\n    pass\n")
    write(project, "docs/pitfalls.md", PITFALLS)
    assert_rejected(project, "pitfalls", name, text, *words)


def test_hpp_options_have_every_field(project):
    write(
        project, "include/uvhttp/thing.h",
        "typedef struct uvhttp_thing {\n    const char *name; /* a; b */\n    int low, high;\n    "
        "int (*call)(int, void *);\n"
        "    const char *const *list;\n    const uvhttp_allocator_t *allocator;\n} "
        "uvhttp_thing_t;\n")
    all_set = ("    uvhttp_thing_t raw = {};\n    raw.name = n;\n    raw.low = raw.high = 1;\n    "
               "raw.call = c;\n    raw.list = l;\n")
    write(project, "include/uvhttp/thing.hpp", f"inline void f()\n{{\n{all_set}}}\n")
    # Fields set by another function do not count.
    incomplete = all_set.replace("    raw.call = c;\n", "")
    assert_rejected(project, "hpp", "include/uvhttp/thing.hpp",
                    f"inline void f()\n{{\n{incomplete}}}\ninline void g()\n{{\n{all_set}}}\n",
                    "thing.hpp:3: uvhttp_thing_t.call is not set")


def test_hpp_options_are_of_public_struct(project):
    assert_rejected(project, "hpp", "include/uvhttp/thing.hpp", "    uvhttp_gone_t raw = {};\n",
                    "uvhttp_gone_t")


@pytest.mark.parametrize(
    "name, text, words",
    [("src/base/bad.c", "/* Frees `it`.\n * Behind it the object is gone. */\n",
      ["bad.c:1", "'Behind it': after", "'gone': disconnected"]),
     ("app/bad.c", "int bad; // nobody knows\n", ["'nobody': name the caller"]),
     ("app/bad.c", 'const char *bad = "what is asked "\n    "for\\n";\n',
      ["bad.c:1", "'asked for': requested"]),
     ("docs/bad.md", "# A page\n\nIts folder.\n", ["bad.md:3", "'folder': directory"]),
     ("src/base/bad.c", "\nconst char *bad = \"%s is gone\";\n",
      ["bad.c:2", "'gone': disconnected"]),
     ("include/uvhttp/bad.h", '#define BAD(X) X(A, "no folder")\n', ["'folder': directory"]),
     ("examples/bad.c", "/* A server.\n * Usage: bad [FOLDER] */\n", ["'FOLDER': directory"]),
     ("bench/bad.c", 'const char *bad = "wrong answer";\n', ["'answer': response"]),
     ("docs/tutorial/bad.c", "int bad; /* asked\n          * for */\n", ["'asked for': requested"]),
     ("tools/bad.py", '"""Reads a\nfolder."""\n', ["bad.py:1", "'folder': directory"]),
     ("tools/bad.py", "\nbad = 1  # it is asked\n# for\n", ["bad.py:2", "'asked for': requested"]),
     ("tools/bad.py", 'bad = ("it is asked "\n       f"for: {1}")\n', ["'asked for': requested"]),
     ("tools/bad.sh", "#!/bin/sh\n# Its folder.\n", ["bad.sh:2", "'folder': directory"]),
     ("tools/bad.sh", 'echo "no folder"\n', ["bad.sh:1", "'folder': directory"]),
     ("cmake/bad.cmake", "set(bad 1) # nobody\n", ["'nobody': name the caller"]),
     ("bench/bad.lua", "-- Its folder.\n", ["'folder': directory"]),
     ("bench/peers/bad.rs", '//! One\n//! piece.\nfn bad() {}\n', ["'piece': chunk"]),
     ("examples/bad.mjs", "let bad = 1;  // gone\n", ["'gone': disconnected"]),
     ("examples/bad.html", "<p>A\nfolder</p>\n", ["bad.html:1", "'folder': directory"]),
     ("examples/bad.html", "<script>\nbad();  // gone\n</script>\n", ["bad.html:2", "'gone'"]),
     ("tests/bench/bad.py", "# An answer.\n", ["'answer': response"]),
     ("tests/bad.c", f"int {'x' * 100};\n", ["bad.c:1: 105 columns, of at most 100"]),
     ("docs/tutorial/bad.c", f"int {'x' * 100};\n", ["bad.c:1: 105 columns, of at most 100"]),
     *((name, f"# {'ü' * 99}\n", [f"{name}:1: 101 columns, of at most 100"])
       for name in ("tests/a.py", "tools/a.sh", "dev", ".ci/run", "cmake/A.cmake",
                    "CMakeLists.txt")), ])
def test_words_reject_old_words_and_long_lines(project, name, text, words):
    assert_rejected(project, "words", name, text, *words)


def test_words_ignore_code_and_quotes(project):
    write(
        project, "src/base/good.c", """/* Calls `gone` for "nobody" with options.folder:
 *
 *     x.folder = "a"; // nobody
 */
static int piece_of(int answers)
{
    return answers; /* number of UVH_PIECE */
}
""")
    write(project, "app/good.c", '#include "folder.h"\nconst char *good = "upload_folder, '
          '`gone`";\n')
    write(project, "docs/good.md", "`folder` [is](folder.md)\n\n```c\nint folder;\n```\n\n    "
          "folder\n")
    write(
        project, "src/base/texts.c", """#include "base/folder.h"
static const char *const texts[] = {"Gone", "upload_folder is set", "is gone_by", 'a'};
""")
    write(project, "tools/good.py", """#!/usr/bin/python3 of a folder
# Calls `answer` with folder.name.
good = {"answer": r"a folder", 'folder': f"{answer} of {folder}"}
""")
    write(project, "tools/good.sh", 'cp "$folder" "${answer#piece}"\n')
    write(project, "examples/good.html", """<p class="folder">Run <code>answer</code></p>
<script>const folder = "a/folder", url = "http://a/folder";</script>
""")
    write(project, "tests/bench/good.py", 'good = "wrong answer"\n')
    write(project, "tests/good.py", "# The answer.\n")
    assert run_check(project, "words") == (0, "")


def test_every_check_has_a_test():
    names = {path.stem.removeprefix("check_") for path in (ROOT / "tools").glob("check_*.py")}
    assert names == {
        "layers", "sizes", "banned", "platform", "hygiene", "headers", "format", "clang", "symbols",
        "pitfalls", "null", "hpp", "words", "reference"
    }  # in test_reference.py


def test_check_command_fails_with_one_failed_check(project):
    write(project, "src/base/bad.c", "int  a;\n")
    result = subprocess.run(["/usr/bin/python3", project / "tools/check.py", "format", "banned"],
                            capture_output=True, text=True)
    assert result.returncode == 1
    assert [line.split()
            for line in result.stdout.splitlines()
            if not line.startswith(" ")] == [["FAILED", "format"], ["ok", "banned"],
                                             "1 of 2 checks passed".split()]
