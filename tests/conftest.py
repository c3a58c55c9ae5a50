"""Markers of all tests in Python. `tools/run_tests.py` chooses by them what runs when."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "alone: measures CPU time or memory, or needs the processors, so nothing may run beside it")
    config.addinivalue_line(
        "markers",
        "release_only: its subject is a client, a page or an example in C++, so one build is enough"
    )
