"""Markers of all Python tests. `tools/run_tests.py` selects tests by them.

`./dev test` runs tests in several processes (pytest-xdist). The tests of a file that share a
fixture run in one process, in file order. Every other test runs in any free process.
"""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "xdist_group: runs in one process with the others of this name")
    config.addinivalue_line(
        "markers",
        "alone: measures CPU time or memory, or needs the processors, so nothing may run beside it")
    config.addinivalue_line(
        "markers",
        "release_only: its subject is a client, a page or an example in C++, so one build is enough"
    )


def shares_a_fixture(item):
    # pytest has no public function that returns the scope of a fixture.
    definitions = item._fixtureinfo.name2fixturedefs
    return any(found.scope == "module"
               for name in item.fixturenames
               for found in definitions.get(name, ()))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist, which reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        if shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    # Groups take longer than single tests. They start first, so that all processes end at about the
    # same time.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
