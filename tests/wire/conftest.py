"""Fixtures of the wire tests: one wire_server per file, and a starter for tests that need their own
limits.

`./dev test` runs them in several processes (pytest-xdist). The tests of a file that share a fixture
run in one process, in their order; any other test runs in whichever process is free.
"""

import os

import pytest

from wire_server import WireServer


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "xdist_group: runs in one process with the others of this name")
    config.addinivalue_line(
        "markers", "plain: its subject is the socket itself, or a client that is not told of TLS")


def shares_a_fixture(item):
    # pytest has no public way to ask for the scope of a fixture
    definitions = item._fixtureinfo.name2fixturedefs
    return any(found.scope == "module"
               for name in item.fixturenames
               for found in definitions.get(name, ()))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist, which reads the groups
def pytest_collection_modifyitems(config, items):
    """Over TLS (`./dev test wire-tls`) tests that are marked as plain are left out."""
    if os.environ.get("UVHTTP_WIRE_TLS"):
        left_out = [item for item in items if item.get_closest_marker("plain")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    # Groups take longer than single tests, so that they begin earlier and all processes end at
    # about the same time.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


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
