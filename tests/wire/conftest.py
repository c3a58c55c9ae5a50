"""Fixtures of the wire tests: one wire_server per file, and a starter for tests that need their own
limits."""

import os

import pytest

from wire_server import WireServer


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "plain: its subject is the socket itself, or a client that is not told of TLS")


def pytest_collection_modifyitems(config, items):
    """Over TLS (`./dev test wire-tls`) tests that are marked as plain are left out."""
    if os.environ.get("UVHTTP_WIRE_TLS"):
        left_out = [item for item in items if item.get_closest_marker("plain")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="module")
def server():
    """A wire_server with default limits and very patient timeouts."""
    running = WireServer()
    yield running
    running.stop()


@pytest.fixture
def start():
    """Starts servers of a test's own: start(max_connections=4). They are stopped, and checked, at
    its end."""
    running = []

    def starter(**how):
        running.append(WireServer(**how))
        return running[-1]

    yield starter
    for one in running:
        if one.process.returncode is None:
            one.stop()
