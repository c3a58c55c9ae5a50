"""Clients that are programs of the system: where they are, and what they can do. One that is
missing is a failure with its package's name, not a skip: otherwise nobody would notice that nothing
was tested."""

import functools
import shutil
import subprocess

import pytest
from wire_server import SAFETY_TIMEOUT


def installed(program, package):
    path = shutil.which(program)
    assert path, f"{program} is missing: install {package}"
    return path


@functools.cache
def node_flags():
    """What switches Node's own WebSocket on: a flag in Node 20 and 21, nothing since. None before,
    as in Debian 12."""
    for flags in ([], ["--experimental-websocket"]):
        probe = subprocess.run([
            installed("node", "nodejs"), *flags, "-e",
            "process.exit(typeof WebSocket === 'function' ? 0 : 1)"
        ], capture_output=True, timeout=3 * SAFETY_TIMEOUT, check=False)
        if probe.returncode == 0:
            return flags
    return None


def node_with_websocket():
    if node_flags() is None:
        pytest.skip("this Node has no WebSocket of its own, which came with 20.10")
    return [installed("node", "nodejs"), *node_flags(), "--no-warnings"]
