"""The build directory of the tests of the benchmarks."""

import pathlib

import pytest
from support import BIN


@pytest.fixture
def build(tmp_path):
    """A build directory with test doubles of our servers. Floors and load generators are real."""
    programs = tmp_path / "dist/bin"
    programs.mkdir(parents=True)
    for name in ("uvhttp", "benchmark_rps", "benchmark_websocket"):
        (programs / name).symlink_to(pathlib.Path(__file__).with_name("double.py"))
    for name in ("floor", "floor_websocket", "tls_load", "websocket_load"):
        (programs / name).symlink_to(BIN / name)
    return tmp_path
