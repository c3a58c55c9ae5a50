"""Fixtures of the wire tests: one wire_server per file, and a function that starts servers with
other options."""

import os

import pytest

import browser
import http2_client
from wire_server import WireServer


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "plain: its subject is the socket itself, or a client that does not use TLS")
    config.addinivalue_line(
        "markers", "http1: its subject is the syntax or the connection of HTTP/1.1")


def pytest_collection_modifyitems(config, items):
    """With TLS (`./dev test wire-tls`) tests marked as plain are deselected, with HTTP/2 (`./dev
    test wire-h2`) those marked as http1, too."""
    markers = []
    if os.environ.get("UVHTTP_WIRE_TLS") or os.environ.get("UVHTTP_WIRE_HTTP2"):
        markers.append("plain")
    if os.environ.get("UVHTTP_WIRE_HTTP2"):
        markers.append("http1")
    left_out = [item for item in items if any(map(item.get_closest_marker, markers))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="module")
def server():
    """A wire_server with default limits and very long timeouts."""
    running = WireServer()
    yield running
    running.stop()


@pytest.fixture
def start():
    """Starts servers with options: start(max_connections=4). At the end of the test each one is
    stopped and checked."""
    running = []

    def starter(**options):
        running.append(WireServer(**options))
        return running[-1]

    yield starter
    for one in running:
        if one.process.returncode is None:
            one.stop()


@pytest.fixture
def client(server):
    """An HTTP/2 client with prior knowledge, on a connection to `server`."""
    with http2_client.Client(server.port) as connection:
        yield connection


@pytest.fixture(scope="module")
def opened():
    """A headless Chromium."""
    if browser.find() is None:
        pytest.skip("Chromium is not installed")
    one = browser.Browser()
    yield one
    one.close()
