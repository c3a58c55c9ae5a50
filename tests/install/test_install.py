"""An installed uvhttp serves its users: find_package, pkg-config, C and C++, both libraries, shared and static.

Installs the build that UVHTTP_BUILD_DIR names (default: build/release) to a temporary folder and then moves that folder, so
that nothing can lean on the place where it was built. Only what lies there is used, never the checkout.
"""

import os
import pathlib
import re
import shutil
import subprocess

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
    printf("%s\\n", uvhttp_version());
    return 0;
}
"""
PARSER_C = """#include <stdio.h>
#include <uvhttp/parser.h>

int main(void)
{
    printf("%d %s\\n", uvhttp_reason_status(UVHTTP_REASON_HOST_MISSING), uvhttp_reason_name(UVHTTP_REASON_HOST_MISSING));
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
add_executable(cxx_uvhttp server.cc)
target_link_libraries(cxx_uvhttp PRIVATE uvhttp::uvhttp)
"""
PARSER_OUTPUT = "400 HOST_MISSING\n"


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    shutil.move(folder / "first", folder / "moved here")
    return folder / "moved here"


@pytest.fixture(scope="module")
def library_folder(prefix):
    return next(prefix.glob("lib/**/libuvhttp.so")).parent


@pytest.fixture(scope="module")
def consumer(prefix, tmp_path_factory):
    """The folder of programs built by a CMake project that knows the installed package only."""
    source = tmp_path_factory.mktemp("consumer")
    (source / "CMakeLists.txt").write_text(CONSUMER_CMAKE)
    (source / "server.c").write_text(SERVER_C)
    (source / "server.cc").write_text(SERVER_C)
    (source / "parser.c").write_text(PARSER_C)
    run("cmake", "-G", "Ninja", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", source / "build")
    return source / "build"


@pytest.mark.parametrize("program, output", [
    ("c_uvhttp", VERSION + "\n"), ("c_uvhttp_static", VERSION + "\n"), ("cxx_uvhttp", VERSION + "\n"),
    ("c_parser", PARSER_OUTPUT), ("c_parser_static", PARSER_OUTPUT),
])
def test_find_package(consumer, program, output):
    assert run(consumer / program) == output


@pytest.mark.parametrize("program, wanted, unwanted", [
    ("c_uvhttp", ["libuvhttp.so"], []), ("c_uvhttp_static", ["libuv.so"], ["libuvhttp"]),
    ("c_parser", ["libuvhttp_parser.so"], ["libuv.so", "libmimalloc"]),
    ("c_parser_static", [], ["libuv", "libmimalloc"]),
])
def test_find_package_links_what_it_should(consumer, program, wanted, unwanted):
    libraries = run("ldd", consumer / program)
    for name in wanted:
        assert name in libraries
    for name in unwanted:
        assert name not in libraries


@pytest.mark.parametrize("module, source, output", [
    ("uvhttp", SERVER_C, VERSION + "\n"), ("uvhttp_parser", PARSER_C, PARSER_OUTPUT),
])
def test_pkg_config(prefix, library_folder, tmp_path, module, source, output):
    (tmp_path / "main.c").write_text(source)
    # The folder's name has a space, which pkg-config answers with a backslash: hence the shell.
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_folder / "pkgconfig"), "LD_LIBRARY_PATH": str(library_folder)}
    run("sh", "-c", f'eval "gcc -std=c11 -Wall -Wextra -Werror main.c -o main $(pkg-config --cflags --libs {module})"',
        cwd=tmp_path, env=environment)
    assert run(tmp_path / "main", env=environment) == output
    libraries = run("ldd", tmp_path / "main", env=environment)
    assert f"lib{module}.so.{VERSION.rsplit('.', 1)[0]} => {library_folder}" in libraries
    assert ("libuv.so" in libraries) == (module == "uvhttp")
    assert run("pkg-config", "--modversion", module, env=environment) == VERSION + "\n"


def test_pkg_config_static(prefix, library_folder, tmp_path):
    (tmp_path / "main.c").write_text(SERVER_C)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_folder / "pkgconfig")}
    # Only uvhttp from its archive; the others stay shared libraries of the system.
    run("sh", "-c", 'flags=$(pkg-config --static --cflags --libs uvhttp | sed "s/-luvhttp/-l:libuvhttp.a/") && '
        'eval "gcc -std=c11 main.c -o main $flags"', cwd=tmp_path, env=environment)
    assert "libuvhttp" not in run("ldd", tmp_path / "main")
    assert run(tmp_path / "main") == VERSION + "\n"


def installed_headers():
    return sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h"))


@pytest.mark.parametrize("language", ["c11", "c++17", "c++20"])
@pytest.mark.parametrize("header", installed_headers())
def test_installed_header_compiles_alone(prefix, header, language):
    compiler = ["g++", "-x", "c++"] if "++" in language else ["gcc", "-x", "c"]
    text = f"#include <{header}>\ntypedef int header_check;\n"
    run(*compiler, f"-std={language}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
        f"-I{prefix}/include", "-", input=text)


def test_every_public_header_is_installed_and_nothing_else(prefix):
    found = sorted(path.relative_to(prefix / "include").as_posix() for path in (prefix / "include").rglob("*") if path.is_file())
    assert found == installed_headers()


def test_installed_program_runs(prefix):
    assert VERSION in run(prefix / "bin/uvhttp", "--version")


def test_manual_pages_are_installed(prefix):
    wanted = sorted(path.name for path in (ROOT / "docs/man").glob("*.1"))
    assert wanted and sorted(path.name for path in (prefix / "share/man/man1").glob("*.1")) == wanted


def test_no_installed_text_names_the_build_folder(prefix):
    for path in prefix.rglob("*"):
        if path.is_file() and path.suffix in (".pc", ".cmake", ".h"):
            text = path.read_text()
            for folder in ("build", "include", "src"):
                assert f"{ROOT}/{folder}" not in text, path
