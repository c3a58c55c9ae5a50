"""Clients that are programs of the system: their paths and their features. A missing program fails
the test and names its package. A skip could remain unnoticed."""

import functools
import shutil
import subprocess

import pytest
from wire_server import SAFETY_TIMEOUT


def installed(program, package):
    path = shutil.which(program)
    assert path, f"{program} is missing: install {package}"
    return path


def installed_node():
    """Node with 127.0.0.1 for localhost, where the servers are; a hosts file may have ::1, too."""
    return [installed("node", "nodejs"), "--dns-result-order=ipv4first"]


@functools.cache
def node_flags():
    """The flag that enables Node's own WebSocket: needed in Node 20 and 21 only. Older versions, as
    in Debian 12, have none."""
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
        pytest.skip("this Node has no WebSocket; 20.10 or newer has one")
    return [*installed_node(), *node_flags(), "--no-warnings"]
