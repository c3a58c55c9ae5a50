"""The ways of docs/building.md to use uvhttp: a prefix of your own, add_subdirectory, FetchContent,
and a build with symbols."""

import os
import re
import sys

import pytest

from test_install import ROOT, SERVER_C, VERSION, prefix, run  # noqa: F401  (fixtures)

sys.path.insert(0, str(ROOT / "tests/wire"))

import pages  # noqa: E402  (beside the wire tests)

PAGE = ROOT / "docs/building.md"


def cmake_block(word):
    block, = [text for text in pages.code(PAGE, "cmake") if word in text]
    return block


@pytest.mark.parametrize("way", ["add_subdirectory", "FetchContent"])
def test_part_of_another_project(tmp_path, way):
    """Builds the library with the block of the page. The source is not downloaded."""
    (tmp_path / "uvhttp").symlink_to(ROOT)
    (tmp_path / "main.c").write_text(SERVER_C)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(mine LANGUAGES C)\n"
        f"add_executable(my_program main.c)\n{cmake_block(way)}")
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build",
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0",
        f"-DFETCHCONTENT_SOURCE_DIR_UVHTTP={ROOT}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build/my_program") == VERSION + "\n"
    assert not list((tmp_path / "build").rglob("hello"))  # neither examples nor tests
    flags = (tmp_path / "build/build.ninja").read_text()
    assert "-Wall" in flags and "-Werror" not in flags


def test_prefix_with_rpath(prefix, tmp_path):  # noqa: F811
    """The commands of the page, with another prefix."""
    (tmp_path / "mine").symlink_to(prefix)
    (tmp_path / "hello.c").write_text(SERVER_C)
    lines = [line.partition("    #")[0] for line in pages.indented(PAGE)]
    chosen = [line for line in lines if line.startswith("export") or "-rpath" in line]
    assert len(chosen) == 2
    environment = {name: os.environ[name] for name in os.environ if name != "LD_LIBRARY_PATH"}
    run("sh", "-ec", "\n".join(chosen).replace("/opt/uvhttp", str(tmp_path / "mine")), cwd=tmp_path,
        env=environment)
    assert run(tmp_path / "hello", env=environment) == VERSION + "\n"


def test_preset_with_symbols(tmp_path):
    run("cmake", "--preset", "relwithdebinfo", "-B", tmp_path, "-DUVHTTP_BUILD_EXTRAS=OFF",
        "-DBUILD_TESTING=OFF", cwd=ROOT)
    run("cmake", "--build", tmp_path, "--target", "uvhttp_parser")
    sections = run("readelf", "-SW", tmp_path / "dist/lib/libuvhttp_parser.so")
    assert ".debug_info" in sections and ".symtab" in sections
    assert re.search(r"-O2 -g -DNDEBUG", (tmp_path / "build.ninja").read_text())
