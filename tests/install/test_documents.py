"""Every code block of the documentation compiles with an installed uvhttp, and every command on a
page prints the output that the page shows.

A page with a line "cc -std=c11 NAME.c ..." (or "c++ -std=c++20 NAME.cpp ...") is a program: its
blocks in that language in order. If a line "./NAME 8080" starts it, the commands of the page are
run against it. Blocks of other pages are fragments: file-scope parts come first, the rest becomes
the body of a function with the usual variables (server, req, res, ...). Undeclared names in lower
case are assumed to be handlers. Other declarations that such a page needs are in a comment of its
text, <!-- c: ... -->.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from test_install import (  # noqa: F401  (fixtures)
    ROOT, run_compiler_line, library_directory, parser_environment, prefix, run)

sys.path.insert(0, str(ROOT / "tests/wire"))

import pages  # noqa: E402  (beside the wire tests)

KNOWN = {"c", "cpp", "cmake", "console", "text", "yaml", "html", "json"}
# The shell lines of the README: those that run below, and the reasons why the others do not.
README_RUNS = {
    "cc hello.c -o hello $(pkg-config --cflags --libs uvhttp)",
    "c++ -std=c++20 hello.cpp -o hello $(pkg-config --cflags --libs uvhttp)"
}
README_DOES_NOT_RUN = {
    "./dev serve": "tests/checks/test_configure.py and the wire tests of the program cover it",
    "./dev test": "it runs this test", "./dev test --all": "it runs this test",
    "cmake --preset release": "it made the build that is installed here",
    "cmake --build --preset release": "it made the build that is installed here",
    "cmake --install build/release --prefix /usr/local": "a fixture runs it with another prefix",
}
PRELUDE = """#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>
#include <uvhttp.h>
"""
PRELUDE_CPP = ("#include <memory>\n#include <string>\n#include <vector>\n" + PRELUDE +
               "#include <uvhttp.hpp>\n")
FUNCTION = """static int block_{number}(uvhttp_server_t *server, uvhttp_router_t *router,
                    uvhttp_request_t *req, uvhttp_response_t *res, uv_loop_t *loop, void *arg,
                    int err)
{{
    {{
{body}
    }}
    return 0;
}}
"""
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused"]


def tutorial(page):
    return page.parent.name == "tutorial"


PROGRAM_LINE = re.compile(r"(?:cc -std=c11|c\+\+ -std=c\+\+20) (\w+)\.(c|cpp) .*")


def program_lines(page):
    """The lines that compile programs of a page, one for each language, as matches. Empty if its
    blocks are fragments."""
    return [] if tutorial(page) else [
        found for found in map(PROGRAM_LINE.fullmatch, pages.indented(page)) if found
    ]


def start_line(page, found):
    """The line that starts a program of a page, or None."""
    line = f"./{found[1]} 8080"
    return line if line in pages.indented(page) else None


PROGRAMS = [(page, found) for page in pages.PAGES for found in program_lines(page)]
FRAGMENTS = [
    (page, language) for page in pages.PAGES if page.name != "README.md" and not tutorial(page)
    for language in ("c", "cpp")
    if pages.code(page, language) and language not in [found[2] for found in program_lines(page)]
]
WITH_COMMANDS = [page for page in pages.PAGES if pages.commands(page) and not tutorial(page)]


def ids(value):
    if isinstance(value, re.Match):
        return value[1]
    return pages.name_of(value) if isinstance(value, pathlib.Path) else value


# Every block is tested


@pytest.mark.parametrize("page", pages.PAGES, ids=ids)
def test_every_block_has_a_language(page):
    assert {language for language, _ in pages.blocks(page)} <= KNOWN
    assert page.read_text().count("\n```") == 2 * len(
        pages.blocks(page)), "a block that is not found"


def test_page_with_commands_is_a_program():
    assert [
        page for page in WITH_COMMANDS
        if not any(start_line(page, found) for found in program_lines(page))
    ] == []


def test_every_page_is_linked_from_index():
    """docs/README.md links to every page, and the README links to it."""
    seen, open_pages = set(), [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\(([^)#:\s]+\.md)[^)]*\)", page.read_text())
            open_pages += [(page.parent / link).resolve() for link in links]
    assert [page for page in pages.PAGES if page not in seen] == []
    index = (ROOT / "docs/README.md").read_text()
    assert [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        if page.name != "README.md" and f"({page.name})" not in index
    ] == []


def test_every_header_is_in_index():
    index = (ROOT / "docs/README.md").read_text()
    headers = [path.relative_to(ROOT).as_posix() for path in (ROOT / "include").rglob("*.h*")]
    assert [header for header in headers if f"](../{header})" not in index] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/design").glob("*.md")), ids=ids)
def test_decisions_have_problem_decision_cost(page):
    text = page.read_text()
    assert re.findall(r"^\*\*(\w+):\*\*", text, re.M) == ["Problem", "Decision", "Cost"]
    assert max(map(len, text.splitlines())) <= 100
    assert f"](design/{page.name})" in (ROOT / "docs/architecture.md").read_text()


@pytest.mark.parametrize(
    "page", [ROOT / "docs/architecture.md", *sorted((ROOT / "docs/design").glob("*.md"))], ids=ids)
def test_named_source_files_exist(page):
    sources = [
        path.as_posix() for directory in ("src", "app", "tests")
        for path in (ROOT / directory).rglob("*.[ch]")
    ]
    named = re.findall(r"`([a-z0-9_/]+\.[ch])`", page.read_text())
    found = {name for name in named if any(source.endswith(f"/{name}") for source in sources)}
    assert set(named) == found


def test_scripts_on_shell_lines_are_executable():
    lines = [line for page in [*pages.PAGES, *ROOT.glob("*/README.md")]
             for line in re.findall(r"^ {4,}(\S.*)$", page.read_text(), re.M)]
    scripts = {line.split()[0] for line in lines
               if re.match(r"(\./dev|(\./)?(tools|packaging)/[\w/.-]+)( |$)", line)}
    assert "tools/simulate.py" in scripts and "packaging/build_debian.sh" in scripts
    assert [script for script in sorted(scripts) if not os.access(ROOT / script, os.X_OK)] == []


# Programs


@pytest.mark.parametrize("page, found", PROGRAMS, ids=ids)
def test_page_programs_compile_and_run(prefix, library_directory, tmp_path, page,
                                       found):  # noqa: F811
    name, language = found.groups()
    (tmp_path / f"{name}.{language}").write_text("\n".join(pages.code(page, language)))
    environment = parser_environment(library_directory)
    # Code on a page may have unused parameters, unlike a program.
    run_compiler_line(found[0].replace(" $(", " -Wno-unused-parameter $("), tmp_path, environment)
    start = start_line(page, found)
    if start is None:
        return  # a test of its own runs its commands
    lines = pages.indented(page)
    for line in lines[lines.index(found[0]) + 1:lines.index(start)]:
        run("sh", "-c", line, cwd=tmp_path)
    server = subprocess.Popen([tmp_path / name, "0"], stdout=subprocess.PIPE, text=True,
                              env=environment, cwd=tmp_path)
    try:
        port = re.search(r":(\d+)/", server.stdout.readline())[1]
        assert pages.run_commands(page, port, tmp_path) > 0
    finally:
        server.terminate()
        code = server.wait(60)
        server.stdout.close()
    assert code == 0


@pytest.mark.parametrize("page", sorted((ROOT / "docs/tutorial").glob("[1-9]-*.md")), ids=ids)
def test_tutorial_compiles_with_shown_commands(prefix, library_directory, tmp_path,
                                               page):  # noqa: F811
    """tests/wire/test_tutorial.py tests the programs of the build. This test is for users of an
    installed uvhttp."""
    line = pages.indented(page)[0]
    source = re.match(r"cc (\w+\.c) ", line)[1]
    shutil.copy(page.parent / source, tmp_path)
    run_compiler_line(line.replace(" $(", " -Wno-unused-parameter $("), tmp_path,
                      parser_environment(library_directory))


# Fragments


def items(block):
    """The independent parts of a block: directives, functions, declarations, statements."""
    found, item, depth = [], "", 0
    for line in block.splitlines(keepends=True):
        bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/', "", line)
        item += line
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        inside_comment = item.count("/*") > item.count("*/")
        if depth == 0 and not inside_comment and re.search(r"[;}]\s*(/\*.*)?$|^\s*#", line):
            found.append(item)
            item = ""
    return found + ([item] if item.strip() else [])


def for_a_file(item):
    """Whether a part has file scope."""
    text = re.sub(r"/\*.*?\*/", "", item, flags=re.S).strip()
    if text.startswith(
        ("#", "static ", "typedef ", "extern ", "using ", "namespace ", "template", "class ")):
        return True
    if re.match(r"(struct|enum|union)( class)? \w+\s*{", text):
        return True
    return re.match(r"(?!if|for|while|switch|do|else|return)\w[\w ]*[ \*]\w+\([^;{]*\)\s*{",
                    text) is not None


def as_program(page, language, mentioned=()):
    """One file with all blocks of a page with fragments."""
    outside, inside = [], []
    context = re.findall(r"<!-- c: (.*?) -->", page.read_text(), re.S)
    for number, block in enumerate(pages.code(page, language)):
        parts = items(block)
        outside += [part for part in parts if for_a_file(part)]
        body = "".join(part for part in parts if not for_a_file(part))
        if body.strip():
            inside.append(FUNCTION.format(number=number, body=body))
    handlers = [
        f"int {name}(uvhttp_request_t *, uvhttp_response_t *, void *);\n" for name in mentioned
    ]
    return "\n".join(
        [PRELUDE if language == "c" else PRELUDE_CPP, *handlers, *context, *outside, *inside])


def compile_fragments(prefix, page, language="c"):  # noqa: F811
    """The compiler's messages for the fragments of a page; "" without errors."""
    flags = run("pkg-config", "--cflags", "libuv").split()
    command = ["gcc", "-std=gnu11", "-x", "c"
               ] if language == "c" else ["g++", "-std=gnu++20", "-x", "c++"]
    mentioned = []
    while True:
        result = subprocess.run(
            [*command, *WARNINGS, *flags, f"-I{prefix}/include", "-fsyntax-only", "-"],
            input=as_program(page, language, mentioned), capture_output=True, text=True,
            env={**os.environ, "LC_ALL": "C"})
        missing = [
            name
            for name in re.findall(r"'([a-z]\w*)' (?:undeclared|was not declared)", result.stderr)
            if not name.startswith(("uvhttp_", "uv_")) and name not in mentioned
        ]
        if result.returncode == 0 or not missing:
            assert (result.returncode == 0) == (result.stderr == "")
            return result.stderr
        mentioned += dict.fromkeys(missing)


@pytest.mark.parametrize("page, language", FRAGMENTS, ids=ids)
def test_fragments_compile(prefix, page, language):  # noqa: F811
    assert compile_fragments(prefix, page, language) == ""


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("text, good",
                         [("uvhttp_server_use(server, check, NULL);", True),
                          ("uvhttp_server_uses(server, check, NULL);", False),
                          ("int err = uvhttp_server_use(server);", False),
                          ("uvhttp_server_use(server, check, NULL)", False),
                          ("static int f(int a)\n{\n    return a;\n}\n\nreturn f(1);", True),
                          ("static int f(int a)\n{\n    return b->c;\n}", False), ])
def test_invalid_fragments_do_not_compile(prefix, tmp_path, text, good, language):  # noqa: F811
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n```{language}\n{text}\n```\n")
    assert (compile_fragments(prefix, page, language) == "") == good


# The examples in the comments of headers

EXAMPLE = re.compile(r"^ *\*\n((?: *\*     .*\n(?: *\*\n(?= *\*     ))?)+)", re.M)
# What an example does not declare.
CONTEXT = """
    uvhttp_server_t *server, uvhttp_router_t *router, uvhttp_router_t *group, uv_loop_t *loop,
    uvhttp_request_t *req, uvhttp_response_t *res, uvhttp_config_t *config, uvhttp_auth_t *auth,
    uvhttp_access_log_t *log, uvhttp_event_hub_t *hub, uvhttp_topics_t *topics,
    uvhttp_redis_t *redis, uvhttp_websocket_t *ws, uvhttp_stream_t *stream,
    uvhttp_stream_events_t events, uvhttp_stream_connected_cb on_connected,
    uvhttp_cors_t *cors, uvhttp_cors_options_t options, uvhttp_slice_t content_type,
    uvhttp_slice_t accept, uvhttp_slice_t input, uvhttp_slice_t value, const char *token,
    const char *name, const char *secret, const char *data, size_t size, uvhttp_error_t error,
    int fd
"""
CONTEXT_CPP = """
    uvhttp::Server &server, uvhttp::Request req, uvhttp::Response res,
    uvhttp::Later later, uvhttp::HttpRequest &request,
    std::span<const iovec> iovecs, uvhttp::WebSocketEndpointOf<Peer> &endpoint, int fd
"""
PRELUDE_EXAMPLES = """#include <uvhttp/redis.h>
#include <uvhttp/test.h>
#include <uvhttp/writer.h>
bool known(const char *, const char *);
int staff(uvhttp_request_t *, uvhttp_response_t *, void *);
"""
PRELUDE_EXAMPLES_CPP = """#include <array>
#include <span>
#include <uvhttp/test.hpp>
#include <sys/socket.h>
#include <sys/uio.h>
struct Peer {
    void message(uvhttp::WebSocket, uvhttp::WebSocketKind, std::string_view) {}
};
template <class... T> static uvhttp::Result reject(T...);
template <class... T> static void respond(T...);
"""
EXAMPLE_C = f"""static int example_{{number}}({CONTEXT})
{{{{
    {{{{
{{body}}
    }}}}
    return 0;
}}}}
"""
EXAMPLE_CPP = f"""static uvhttp::Result example_{{number}}({CONTEXT_CPP})
{{{{
    {{{{
{{body}}
    }}}}
    return 0;
}}}}
"""


def examples(text):
    """The examples of a header, without those that are lists or formats."""
    text = re.sub(r"( \*/)$", "\n", text, flags=re.M)
    found = [re.sub(r"^ *\* ? {0,4}", "", block, flags=re.M) for block in EXAMPLE.findall(text)]
    return [block for block in found if re.search(r"[;{]$", block, re.M)]


def compiler_messages(text, language):
    """The messages for a file that uses the headers of the sources."""
    command = ["gcc", "-std=gnu11", "-x", "c"
               ] if language == "c" else ["g++", "-std=gnu++20", "-x", "c++"]
    flags = run("pkg-config", "--cflags", "libuv").split()
    return subprocess.run(
        [*command, *WARNINGS, *flags, f"-I{ROOT}/include", "-fsyntax-only", "-"], input=text,
        capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr


def compile_examples(text, language):
    """The compiler's messages for the examples of a header; "" without errors."""
    outside, inside = [], []
    for number, block in enumerate(examples(text)):
        parts = items(block)
        outside += [part for part in parts if for_a_file(part)]
        body = "".join(part for part in parts if not for_a_file(part))
        if body.strip():
            template = EXAMPLE_C if language == "c" else EXAMPLE_CPP
            inside.append(template.format(number=number, body=body))
    prelude = [PRELUDE, PRELUDE_EXAMPLES] if language == "c" else [
        PRELUDE_CPP, PRELUDE_EXAMPLES_CPP]
    return compiler_messages("\n".join([*prelude, *outside, *inside]), language)


HEADERS = [path for path in sorted((ROOT / "include").rglob("*.h*")) if examples(path.read_text())]


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_header_examples_compile(header):
    language = "c" if header.suffix == ".h" else "cpp"
    assert compile_examples(header.read_text(), language) == ""


@pytest.mark.parametrize("code, good", [
    ("res.sendText(200, text);", True), ("ws.sendText(text);", True),
    ("topics.publish(text, text);", True), ('res.setHeader("A", "b");', True),
    ("res.write(text);", False), ("server.run();", False)])
def test_errors_that_must_be_handled(code, good):
    text = PRELUDE_CPP + ("void f(uvhttp::Server &server, uvhttp::Response res, uvhttp::WebSocket "
                          "ws, uvhttp::Topics topics, const char *text)\n{\n" + code + "\n}\n")
    assert (compiler_messages(text, "cpp") == "") == good


@pytest.mark.parametrize("code, good", [
    ("int err = uvhttp_cors_new(&cors, &options, NULL);", True),
    ("int err = uvhttp_cors_new(&cors, &options, text, sizeof text);", False),
    ("{client} - {user}", None)])
def test_invalid_header_examples_do_not_compile(code, good):
    text = f"/* A header.\n *\n *     uvhttp_cors_t *cors;\n *     {code}\n */\n"
    if good is None:
        text = text.replace("uvhttp_cors_t *cors;", "a list")
        assert examples(text) == []
    assert (compile_examples(text, "c") == "") == (good is not False)


# The README


@pytest.fixture
def hello(prefix, library_directory, tmp_path):  # noqa: F811
    for language in ("c", "cpp"):
        text, = pages.code(ROOT / "README.md", language)
        (tmp_path / f"hello.{language}").write_text(text)
    return tmp_path


def without_comments(program):
    return " ".join(re.sub(r"/\*.*?\*/", "", program, flags=re.S).split())


def test_hello_is_the_same_everywhere():
    header = (ROOT / "include/uvhttp.h").read_text()
    shown = re.search(r"A complete program:\n \*\n(.*?)\n \*\n \* Not included", header, re.S)[1]
    hello_c = without_comments((ROOT / "examples/hello.c").read_text())
    assert without_comments(re.sub(r"^ \* ?", "", shown, flags=re.M)) == hello_c
    assert without_comments(pages.code(ROOT / "README.md", "c")[0]) == hello_c
    hello_cpp = without_comments((ROOT / "examples/cpp/hello.cpp").read_text())
    assert without_comments(pages.code(ROOT / "README.md", "cpp")[0]) == hello_cpp


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_hello_compiles_without_warnings(prefix, compiler):  # noqa: F811
    run(compiler, "-std=c11", *WARNINGS[:3], "-Wpedantic", f"-I{prefix}/include", "-fsyntax-only",
        ROOT / "examples/hello.c")


def test_readme_commands_run_or_are_marked():
    lines = {line.split("    #")[0].rstrip() for line in pages.indented(ROOT / "README.md")}
    assert lines == README_RUNS | README_DOES_NOT_RUN.keys()


@pytest.mark.parametrize("line", sorted(README_RUNS))
def test_readme_hello(hello, library_directory, line):  # noqa: F811
    run_compiler_line(line.replace(" $(", " -Wno-misleading-indentation $("), hello,
                      parser_environment(library_directory))
    assert (hello / "hello").exists()


def test_readme_cmake(hello, prefix):  # noqa: F811
    text, = pages.code(ROOT / "README.md", "cmake")
    (hello /
     "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(mine LANGUAGES "
                                  "C)\nadd_executable(my_program hello.c)\n" + text)
    run("cmake", "-G", "Ninja", "-S", hello, "-B", hello / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", hello / "build")
    assert (hello / "build/my_program").exists()


def test_readme_lists_required_packages():
    """The packages of the README are those that tools/setup.sh installs for building."""
    serve = re.search(r'^serve="([^"]*)"', (ROOT / "tools/setup.sh").read_text(), re.M)[1].split()
    listed = re.search(r"needed Debian 12 packages: `([^`]*)`",
                       (ROOT / "README.md").read_text().replace("\n", " "))[1].split()
    assert set(listed) == set(serve) - {"libc6-dev"}
