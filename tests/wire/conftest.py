"""Fixtures of the wire tests: one wire_server per file, and a starter for tests that need their own limits."""

import pytest

from wire_server import WireServer


@pytest.fixture(scope="module")
def server():
    """A wire_server with default limits and very patient timeouts."""
    running = WireServer()
    yield running
    running.stop()


@pytest.fixture
def start():
    """Starts servers of a test's own: start(max_connections=4). They are stopped, and checked, at its end."""
    running = []

    def starter(**how):
        running.append(WireServer(**how))
        return running[-1]

    yield starter
    for one in running:
        if one.process.returncode is None:
            one.stop()
