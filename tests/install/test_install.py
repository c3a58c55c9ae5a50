"""An installed uvhttp works for its users: find_package, pkg-config, C and C++, both libraries,
shared and static.

Installs the build of UVHTTP_BUILD_DIR (default: build/release) to a temporary directory and then
moves that directory, so that no absolute path of the build can be used. The tests use only the
installed files, never the checkout.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR") or ROOT / "build/release")
VERSION = re.search(r"project\(uvhttp VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

SERVER_C = """#include <stdio.h>
#include <uvhttp.h>

int main(void)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    if (server == NULL)
        return 1;
    uvhttp_server_free(server);
    /* Without keys, which is refused: it is there to ask for what signing needs. */
    uvhttp_cookie_signer_t *signer;
    uvhttp_cookie_signer_options_t none = {NULL, 0, NULL};
    if (uvhttp_cookie_signer_new(&signer, &none, NULL) != UVHTTP_ECONFIG)
        return 1;
    printf("%s\\n", uvhttp_version());
    return 0;
}
"""
REDIS_C = """#include <stdio.h>
#include <uvhttp.h>
#include <uvhttp/redis.h>

int main(void)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_topics_t *topics;
    uvhttp_redis_t *redis;
    uvhttp_redis_options_t options = {0};
    if (uvhttp_topics_new(&topics, server, NULL, NULL) != 0 ||
        uvhttp_redis_new(&redis, topics, server, &options, NULL) != 0 ||
        uvhttp_redis_new(&redis, topics, server, &options, NULL) != UVHTTP_EINVAL)
        return 1;
    uvhttp_server_free(server);
    printf("%s\\n", uvhttp_version());
    return 0;
}
"""
# C and C++: a message is written, passes through a ring across its end, and is parsed again.
PARSER_C = r"""#include <stdio.h>
#include <uvhttp/parser.h>

static char message[128];
static char memory[128];
static char gather[128];

int main(void)
{
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, message, sizeof(message));
    uvhttp_writer_request_line(&writer, "POST", "/wrap");
    uvhttp_writer_field(&writer, "Host", "localhost");
    uvhttp_writer_field_number(&writer, "Content-Length", 2);
    uvhttp_writer_end(&writer);
    uvhttp_writer_bytes(&writer, "ok", 2);

    uvhttp_ring_t ring;
    uvhttp_slice_t pieces[2];
    uvhttp_ring_init(&ring, memory, sizeof(memory));
    uvhttp_ring_write(&ring, gather, 101);
    uvhttp_ring_write(&ring, message, 1);
    uvhttp_ring_consume(&ring, 101);
    uvhttp_ring_write(&ring, message + 1, writer.length - 1);
    size_t count = uvhttp_ring_readable(&ring, pieces);

    uvhttp_head_t head;
    uvhttp_framing_t framing;
    const uvhttp_head_limits_t limits = {sizeof(gather), 64, 8};
    uvhttp_head_init(&head, NULL, 0);
    int result = uvhttp_request_head_parse_slices(&head, pieces, count, gather, &limits);
    uvhttp_reason_t reason = uvhttp_request_framing(&head, &framing);
    uvhttp_ring_consume(&ring, head.size);
    uvhttp_ring_readable(&ring, pieces);
    printf("%d %u %d %d %.*s %.*s\n", writer.error, (unsigned)count, result, reason,
           UVHTTP_SLICE_ARGS(framing.path), UVHTTP_SLICE_ARGS(pieces[0]));
    printf("%d %s\n", uvhttp_reason_status(UVHTTP_REASON_HOST_MISSING),
           uvhttp_reason_name(UVHTTP_REASON_HOST_MISSING));
    return 0;
}
"""
CONSUMER_CMAKE = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C CXX)
find_package(uvhttp 0.1 REQUIRED)
foreach(kind uvhttp uvhttp_static)
    add_executable(c_${kind} server.c)
    target_link_libraries(c_${kind} PRIVATE uvhttp::${kind})
endforeach()
foreach(kind parser parser_static)
    add_executable(c_${kind} parser.c)
    target_link_libraries(c_${kind} PRIVATE uvhttp::${kind})
endforeach()
foreach(kind redis redis_static)
    add_executable(c_${kind} redis.c)
    target_link_libraries(c_${kind} PRIVATE uvhttp::${kind})
endforeach()
add_executable(cxx_uvhttp server.cc)
target_link_libraries(cxx_uvhttp PRIVATE uvhttp::uvhttp)
add_executable(cxx_parser parser.cc)
target_link_libraries(cxx_parser PRIVATE uvhttp::parser)
"""
PARSER_OUTPUT = "0 2 0 0 /wrap ok\n400 HOST_MISSING\n"


def run(*command, **extra):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            **extra)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    directory = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", directory / "first")
    shutil.move(directory / "first", directory / "moved here")
    return directory / "moved here"


@pytest.fixture(scope="module")
def library_directory(prefix):
    return next(prefix.glob("lib/**/libuvhttp.so")).parent


@pytest.fixture(scope="module")
def consumer(prefix, tmp_path_factory):
    """The directory of programs built by a CMake project that knows the installed package only."""
    source = tmp_path_factory.mktemp("consumer")
    (source / "CMakeLists.txt").write_text(CONSUMER_CMAKE)
    (source / "server.c").write_text(SERVER_C)
    (source / "server.cc").write_text(SERVER_C)
    (source / "redis.c").write_text(REDIS_C)
    (source / "parser.c").write_text(PARSER_C)
    (source / "parser.cc").write_text(PARSER_C)
    run("cmake", "-G", "Ninja", "-S", source, "-B", source / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", source / "build")
    return source / "build"


@pytest.mark.parametrize("program, output", [("c_uvhttp", VERSION + "\n"),
                                             ("c_uvhttp_static", VERSION + "\n"),
                                             ("cxx_uvhttp", VERSION + "\n"),
                                             ("c_parser", PARSER_OUTPUT),
                                             ("c_parser_static", PARSER_OUTPUT),
                                             ("cxx_parser", PARSER_OUTPUT),
                                             ("c_redis", VERSION + "\n"),
                                             ("c_redis_static", VERSION + "\n"), ])
def test_find_package(consumer, program, output):
    assert run(consumer / program) == output


@pytest.mark.parametrize(
    "program, wanted, unwanted",
    [("c_uvhttp", ["libuvhttp.so", "libcrypto", "libbrotlienc", "libzstd", "libz.so"], ["hiredis"]),
     ("c_redis", ["libuvhttp_redis.so", "libuvhttp.so", "libhiredis"], []),
     ("c_redis_static", ["libhiredis", "libuv.so"], ["libuvhttp"]),
     ("c_uvhttp_static", ["libuv.so", "libcrypto"], ["libuvhttp"]),
     ("c_parser", ["libuvhttp_parser.so"], ["libuv.so", "libmimalloc", "libcrypto"]),
     ("c_parser_static", [], ["libuv", "libmimalloc", "libcrypto"]),
     ("cxx_parser", ["libuvhttp_parser.so"], ["libuv.so", "libmimalloc", "libcrypto"]), ])
def test_find_package_links_expected_libraries(consumer, program, wanted, unwanted):
    libraries = run("ldd", consumer / program)
    for name in wanted:
        assert name in libraries
    for name in unwanted:
        assert name not in libraries


@pytest.mark.parametrize("module, source, output", [("uvhttp", SERVER_C, VERSION + "\n"),
                                                    ("uvhttp_parser", PARSER_C, PARSER_OUTPUT),
                                                    ("uvhttp_redis", REDIS_C, VERSION + "\n"), ])
def test_pkg_config(prefix, library_directory, tmp_path, module, source, output):
    (tmp_path / "main.c").write_text(source)
    # The directory's name has a space, which pkg-config escapes with a backslash. So a shell runs
    # the command.
    environment = {
        **os.environ, "PKG_CONFIG_PATH": str(library_directory / "pkgconfig"),
        "LD_LIBRARY_PATH": str(library_directory)
    }
    run(
        "sh", "-c",
        f'eval "gcc -std=c11 -Wall -Wextra -Werror main.c -o main $(pkg-config --cflags --libs '
        f'{module})"', cwd=tmp_path, env=environment)
    assert run(tmp_path / "main", env=environment) == output
    libraries = run("ldd", tmp_path / "main", env=environment)
    assert f"lib{module}.so.{VERSION.rsplit('.', 1)[0]} => {library_directory}" in libraries
    assert ("libuv.so" in libraries) == (module != "uvhttp_parser")
    assert run("pkg-config", "--modversion", module, env=environment) == VERSION + "\n"


def test_pkg_config_static(prefix, library_directory, tmp_path):
    (tmp_path / "main.c").write_text(SERVER_C)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_directory / "pkgconfig")}
    # Only uvhttp from its archive. The other libraries are the shared ones of the system.
    run(
        "sh", "-c",
        'flags=$(pkg-config --static --cflags --libs uvhttp | sed "s/-luvhttp/-l:libuvhttp.a/") && '
        'eval "gcc -std=c11 main.c -o main $flags"', cwd=tmp_path, env=environment)
    assert "libuvhttp" not in run("ldd", tmp_path / "main")
    assert run(tmp_path / "main") == VERSION + "\n"


def installed_headers():
    return sorted(
        path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h"))


def installed_cpp_headers():
    return sorted(
        path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.hpp"))


@pytest.mark.parametrize("language", ["c11", "c++17", "c++20"])
@pytest.mark.parametrize("header", installed_headers())
def test_installed_header_compiles_alone(prefix, header, language):
    compiler = ["g++", "-x", "c++"] if "++" in language else ["gcc", "-x", "c"]
    text = f"#include <{header}>\ntypedef int header_check;\n"
    run(*compiler, f"-std={language}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
        f"-I{prefix}/include", "-", input=text)


def test_exactly_the_public_headers_are_installed(prefix):
    found = sorted(
        path.relative_to(prefix / "include").as_posix()
        for path in (prefix / "include").rglob("*")
        if path.is_file())
    assert found == sorted([*installed_headers(), *installed_cpp_headers()])


def test_installed_program_runs(prefix):
    assert VERSION in run(prefix / "bin/uvhttp", "--version")


def test_manual_pages_are_installed(prefix):
    wanted = sorted(path.name for path in (ROOT / "docs/man").glob("*.1"))
    assert wanted and sorted(path.name
                             for path in (prefix / "share/man/man1").glob("*.1")) == wanted


def test_installed_page_links_resolve(prefix):
    top = next(prefix.glob("share/doc/*/README.md")).parent
    pages = [*top.glob("*.md"), *top.rglob("docs/**/*.md")]
    assert len(pages) > 50
    assert [(page.relative_to(top), target)
            for page in pages
            for target in re.findall(r"\]\(([^)#:\s]+)[)#]", page.read_text())
            if not (page.parent / target).exists()] == []


def test_installed_texts_have_no_build_path(prefix):
    for path in prefix.rglob("*"):
        if path.is_file() and path.suffix in (".pc", ".cmake", ".h"):
            text = path.read_text()
            for directory in ("build", "include", "src"):
                assert f"{ROOT}/{directory}" not in text, path


# uvhttp.hpp, the examples of the parser and its tour

PARSER_CPP = """#include <iostream>
#include <uvhttp.hpp>

int main()
{
    uvhttp::RingBuffer ring(64);
    ring.write("GET /a HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n");
    uvhttp::HttpRequest request;
    auto [error, consumed] = request.fromIOVec(ring.getReadIovecs());
    if (error || !request.isComplete())
        return 1;
    std::cout << request.path() << " " << request.field("host").value_or("") << " "
              << ring.consume(consumed) << "\\n";
    return 0;
}
"""
CONSUMER_CPP_CMAKE = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(uvhttp 0.1 REQUIRED)
foreach(kind parser parser_static)
    add_executable(cpp_${kind} main.cpp)
    target_link_libraries(cpp_${kind} PRIVATE uvhttp::${kind})
endforeach()
foreach(kind uvhttp uvhttp_static)
    add_executable(cpp_${kind} server.cpp)
    target_link_libraries(cpp_${kind} PRIVATE uvhttp::${kind})
    add_executable(cpp_${kind}_plain server.cpp)
    target_link_libraries(cpp_${kind}_plain PRIVATE uvhttp::${kind})
    target_compile_options(cpp_${kind}_plain PRIVATE -fno-exceptions -fno-rtti)
endforeach()
"""
# A server that sends requests to itself with another client: a handler with captured variables, and
# their destruction.
SERVER_CPP = r"""#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uvhttp.hpp>

static std::string ask(int port, const std::string &path)
{
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<unsigned short>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    std::string answer;
    char bytes[4096];
    if (connect(client, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
        write(client, request.data(), request.size()) > 0) {
        for (ssize_t got; (got = read(client, bytes, sizeof bytes)) > 0;)
            answer.append(bytes, static_cast<std::size_t>(got));
    }
    close(client);
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

int main()
{
    struct Last {
        ~Last() { std::puts("destroyed"); }
    };
    uvhttp::Server server;
    server.get("/users/:id", [last = std::make_unique<Last>()](uvhttp::Request req,
                                                               uvhttp::Response res) {
        return res.sendText(200, req.param("id"));
    });
    server.get("/work", [](uvhttp::Response res) {
        return res.defer(
            [] { return std::string("worked"); },
            [](uvhttp::Response later, std::string text) { return later.sendText(200, text); });
    });
    server.get("/stop", [&server](uvhttp::Response res) {
        server.stop();
        return res.sendText(200, "stopped");
    });
    server.listen("127.0.0.1", 0);
    std::thread client([port = server.port()] {
        for (const char *path : {"/users/7", "/work", "/stop"})
            std::puts(ask(port, path).c_str());
    });
    uvhttp::Result error = server.run();
    client.join();
    return error ? 1 : 0;
}
"""


def parser_environment(library_directory):
    return {
        **os.environ, "PKG_CONFIG_PATH": str(library_directory / "pkgconfig"),
        "LD_LIBRARY_PATH": str(library_directory)
    }


def run_compiler_line(line, directory, environment):
    """Runs a compiler command of the documentation, with strict warnings. The prefix has a space in
    its name, so eval is used."""
    command = line.replace(" $(", " -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $(")
    run("sh", "-c", f'eval "{command}"', cwd=directory, env=environment)


@pytest.mark.parametrize("options", [[], ["-fno-exceptions", "-fno-rtti"]],
                         ids=["usual", "without-exceptions"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("header", installed_cpp_headers())
def test_installed_cpp_header_compiles_alone(prefix, header, compiler, options):
    run(compiler, "-std=c++20", *options, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
        "-Wshadow", "-Wold-style-cast", "-Werror", "-fsyntax-only", f"-I{prefix}/include", "-x",
        "c++", "-", input=f"#include <{header}>\nint headerCheck();\n")


def test_cpp_with_find_package(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER_CPP_CMAKE)
    (tmp_path / "main.cpp").write_text(PARSER_CPP)
    (tmp_path / "server.cpp").write_text(SERVER_CPP)
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    for kind in ("parser", "parser_static"):
        assert run(tmp_path / "build" / f"cpp_{kind}") == "/a h 28\n"
        assert "libuv.so" not in run("ldd", tmp_path / "build" / f"cpp_{kind}")
    for kind in ("uvhttp", "uvhttp_static", "uvhttp_plain", "uvhttp_static_plain"):
        assert run(tmp_path / "build" / f"cpp_{kind}",
                   timeout=120) == "7\nworked\nstopped\ndestroyed\n"


@pytest.mark.parametrize("source", sorted((ROOT / "examples").glob("parse_*")),
                         ids=lambda source: source.name)
def test_parser_examples_compile_with_their_commands(prefix, library_directory, tmp_path, source):
    shutil.copy(source, tmp_path)
    line, = re.findall(r"^ \*     ((?:cc|c\+\+) .*)$", source.read_text(), re.M)
    environment = parser_environment(library_directory)
    run_compiler_line(line, tmp_path, environment)
    (tmp_path / "message").write_bytes(b"GET /seen HTTP/1.1\r\nHost: h\r\n\r\n")
    assert "/seen" in run(tmp_path / source.stem, tmp_path / "message", env=environment)


@pytest.mark.parametrize("page, languages, language, name, program",
                         [("parser.md", ["c", "cpp"], "c", "tour.c", "tour"),
                          ("parser.md", ["c", "cpp"], "cpp", "tour.cpp", "tour-cpp"),
                          ("forms.md", ["c"], "c", "forms.c", "forms"), ])
def test_parser_page_program_prints_its_output(prefix, library_directory, tmp_path, page, languages,
                                               language, name, program):
    """The blocks of the page in one language are a program that prints the output of the page."""
    page = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    output = [text for kind, text in blocks if kind == "text"]
    assert {kind for kind, _ in blocks} == {*languages, "text"} and len(output) == len(languages)
    (tmp_path / name).write_text("\n".join(text for kind, text in blocks if kind == language))
    environment = parser_environment(library_directory)
    line, = re.findall(rf"^    (c\S+ -std=\S+ {re.escape(name)} .*)$", page, re.M)
    run_compiler_line(line, tmp_path, environment)
    assert run(tmp_path / program, env=environment).replace("\r",
                                                            "") == output[languages.index(language)]


# Pages about servers: their C blocks are a program that listens, prints its address, and does what
# the page describes


@pytest.fixture
def program_of_page(prefix, library_directory, tmp_path):
    """Builds and starts the program of a page. Returns a function that sends a request to it and
    returns (status, fields, body)."""
    running = []

    def start(page):
        text = (ROOT / "docs" / page).read_text()
        line, = re.findall(r"^    (c\S+ -std=\S+ .*\S+\.c(?:pp)? .*)$", text, re.M)
        source, name, language = re.search(r"((\S+)\.(c|cpp)) ", line).groups()
        (tmp_path / source).write_text("\n".join(
            re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)))
        environment = parser_environment(library_directory)
        # Not every handler uses all of its parameters, and some lines exist only for the page.
        run_compiler_line(line.replace(" $(", " -Wno-unused-parameter $("), tmp_path, environment)
        running.append(
            subprocess.Popen([tmp_path / name], stdout=subprocess.PIPE, text=True, env=environment))
        url = running[-1].stdout.readline().strip()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)

        def fetch(path, body=None, method=None, **fields):
            url_request = urllib.request.Request(
                url.rstrip("/") + path, body,
                {name.replace("_", "-"): value
                 for name, value in fields.items()}, method=method)
            try:
                response = opener.open(url_request, timeout=60)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                return response.status, response.headers, response.read()

        return fetch

    yield start
    for program in running:
        program.terminate()
        assert program.wait(60) == 0
        program.stdout.close()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def test_page_limits_for_clients(program_of_page):
    fetch = program_of_page("limits-for-clients.md")
    status, fields, _ = fetch("/api/echo", b"x" * 17, X_Api_Key="a")
    # at one point in time
    assert status == 413 and sorted(
        fields.get_all("RateLimit")) == ['"api";r=1;t=1', '"default";r=2;t=20']
    assert fetch("/api/echo", b"12345")[0] == 413
    assert fetch("/api/echo", b"1234", X_Api_Key="of the monitoring")[2] == b"1234"
    status, fields, _ = fetch("/")
    page = (ROOT / "docs/limits-for-clients.md").read_text()
    shown, = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    wait = fields["Retry-After"]  # less than on the page after some time has passed
    assert 1 <= int(wait) <= 20
    assert shown.replace("20", wait).splitlines() == [
        f"HTTP/1.1 {status} Too Many Requests", f"Retry-After: {wait}",
        f"RateLimit-Policy: {fields['RateLimit-Policy']}", f"RateLimit: {fields['RateLimit']}"
    ]


def test_page_sessions_and_caching(program_of_page):
    fetch = program_of_page("sessions-and-caching.md")
    assert fetch("/")[0] == 401
    status, fields, _ = fetch("/login", b"")
    cookie = fields["Set-Cookie"].split(";")[0]
    assert status == 303 and fetch("/", Cookie=cookie)[2] == b"17"
    assert fetch("/", Cookie=cookie[:-1])[0] == 401
    status, fields, body = fetch("/list")
    assert (status, body) == (200, b"[1,2,3]\n")
    assert fetch("/list", If_None_Match=fields["ETag"])[::2] == (304, b"")


def test_page_middleware(prefix, library_directory, tmp_path):
    """The C blocks are a server whose responses to the commands of the page are those on the
    page."""
    page = (ROOT / "docs/middleware.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    assert {kind for kind, _ in blocks} == {"c", "console"}
    (tmp_path / "middleware.c").write_text("\n".join(text for kind, text in blocks if kind == "c"))
    environment = parser_environment(library_directory)
    line, = re.findall(r"^    (cc -std=\S+ middleware.c .*)$", page, re.M)
    run_compiler_line(line, tmp_path, environment)
    server = subprocess.Popen([tmp_path / "middleware", "0"], stdout=subprocess.PIPE, text=True,
                              env=environment)
    try:
        port = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)/\n",
                            server.stdout.readline())[1]
        commands = 0
        for text in (text for kind, text in blocks if kind == "console"):
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
                command_line = re.sub("^curl ", "curl --noproxy '*' --max-time 60 ",
                                      command.replace(":8080/", f":{port}/"))
                assert run("sh", "-c", command_line) == output, command
                commands += 1
        assert commands >= 10
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0
        server.stdout.close()


def test_page_uploads(prefix, library_directory, tmp_path):
    """The blocks of the page are a server that does what the page describes, with curl."""
    page = (ROOT / "docs/uploads.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    assert {kind for kind, _ in blocks} == {"c"}
    (tmp_path / "uploads.c").write_text("\n".join(text for _, text in blocks))
    environment = parser_environment(library_directory)
    line, = re.findall(r"^    (cc -std=\S+ uploads\.c .*)$", page, re.M)
    run_compiler_line(line, tmp_path, environment)
    directory = tmp_path / "stored"
    directory.mkdir()
    (tmp_path / "body").write_bytes(b"x" * 100_000)
    server = subprocess.Popen([tmp_path / "uploads", "0", directory], stdout=subprocess.PIPE,
                              text=True, env=environment)
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]

        def curl(*arguments):
            return run("curl", "-sS", "--noproxy", "*", "--max-time", "60", "-w", "%{http_code}",
                       *arguments, cwd=tmp_path).splitlines()

        assert curl("-T", "body", f"{url}files/") == ["201 Created", "201"] and curl(
            "-T", "body", f"{url}files/") == ["204"]
        assert curl("-T", "body", f"{url}once/a")[-1] == "415"
        picture = b"\x89PNG\r\n\x1a\n" + b"x" * 100
        (tmp_path / "picture").write_bytes(picture)
        digest = hashlib.sha256(picture).hexdigest()
        assert curl("-T", "picture", f"{url}once/a") == [f"108 bytes, {digest[:8]}", "200"]
        assert curl("-T", "picture", f"{url}once/a")[-1] == "409"
        assert curl("-F", "title=x", "-F", "file=@body;filename=f",
                    f"{url}form") == ["title: x", "file: f, 100000 bytes, kept", "200"]
        assert sorted(path.name for path in directory.iterdir()) == ["a", "body", "f"]
        last = "7"  # not an id of this hub, so all events are sent
        for text in ("hello", "again"):
            assert curl("-d", text, f"{url}say") == ["204"]
            with subprocess.Popen(
                ["curl", "-sSN", "--noproxy", "*", "-H", f"Last-Event-ID: {last}", f"{url}events"],
                    stdout=subprocess.PIPE, text=True) as listener:
                field, last = listener.stdout.readline().split()
                assert field == "id:" and listener.stdout.readline() == f"data: {text}\n"
                listener.terminate()
    finally:
        server.kill()
        server.communicate()


def test_page_cpp(program_of_page):
    fetch = program_of_page("cpp.md")
    assert fetch("/notes/a")[0] == 404
    assert fetch("/notes/a", b"a note", "PUT")[0] == 204
    assert fetch("/notes/a")[2] == b"a note"
    assert fetch("/look?a=1&b=c+d")[2].splitlines()[:2] == [b"a is 1", b"b is c d"]
    form = b"--b\r\nContent-Disposition: form-data; name=f\r\n\r\n12345\r\n--b--\r\n"
    assert fetch("/upload", form,
                 Content_Type="multipart/form-data; boundary=b")[2] == b"f: 5 bytes\n"
    assert fetch("/upload", b"x")[0] == 415
    status, fields, _ = fetch("/stoi?n=21")
    assert (status, fields["X-Twice"]) == (200, "42")
    assert fetch("/stoi?n=-1")[0] == fetch("/stoi?n=x")[0] == 500
    assert fetch("/inside/who")[0] == 401
    status, fields, body = fetch("/inside/who", Authorization="me")
    assert (fields["X-Status"], body) == ("200", b"me")
    assert fetch("/count", b"x" * 70000)[2] == b"70000"
    assert fetch("/ones")[2] == b"1" * 100000
    assert fetch("/sum?of=1,2,39")[2] == b"15"
    assert fetch("/office/who")[0] == 401
    assert fetch("/office/who", Authorization="Bearer secret")[2] == b"ada"
    assert fetch("/framed", Origin="https://app.example.com")[2] == b"---\nbetween two lines\n---\n"
    assert fetch("/framed", Origin="https://app.example.com"
                 )[1]["Access-Control-Allow-Origin"] == "https://app.example.com"
    assert fetch("/posted")[2] == b"42"
    assert fetch("/visits")[2] == b"1"
    assert fetch("/news", b"x")[0] == 204
    assert fetch("/photos", b"x")[0] == 415
    status, fields, _ = fetch("/reverse")
    assert (status, fields["Upgrade"]) == (426, "reverse")
