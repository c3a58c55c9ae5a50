"""Difficult clients of HTTP/2, each beside a normal one: the normal client is served, and the
memory of the server stays below a bound.

The latency of the normal client is printed as a ratio to the quiet server, not asserted: it depends
on the machine. The server has a processor of its own, and the difficult client the lowest priority
on the other one, so that the latency is that of the server. UVHTTP_DIFFICULT_SECONDS (2) is the
duration of each client.
"""

import os
import pathlib
import subprocess
import sys
import time

import pytest

import http2_difficult
from http2_client import Client
from wire_server import WireServer

SECONDS = float(os.environ.get("UVHTTP_DIFFICULT_SECONDS", "2"))
# Bytes of heap in all: the difficult client's windows and tables, and some spare.
MEMORY = 16 * 2**20
PROGRAM = pathlib.Path(__file__).with_name("http2_difficult.py")


@pytest.fixture(scope="module")
def target():
    running = WireServer(max_body_size=2**20)
    running.request("GET", "/large?size=1")  # allocates the pattern
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(running.process.pid, processors[:1])
    os.sched_setaffinity(0, processors[1:] or processors)
    yield running
    os.sched_setaffinity(0, processors)
    running.stop()


def percentile(latencies):
    return sorted(latencies)[int(len(latencies) * 0.99)]


def visit(server, running):
    """A normal client, until running() is false; returns the duration of each request."""
    latencies = []
    with Client(server.port) as client:
        while running() or not latencies:
            start = time.perf_counter()
            response = client.get("/large?size=1000")
            latencies.append(time.perf_counter() - start)
            assert response.status == 200 and len(response.body) == 1000
    return latencies


@pytest.fixture(scope="module")
def quiet(target):
    """The latency without a difficult client."""
    end = time.monotonic() + SECONDS
    return percentile(visit(target, lambda: time.monotonic() < end))


@pytest.mark.alone
@pytest.mark.parametrize("kind", http2_difficult.KINDS)
def test_normal_client_is_served_beside(target, quiet, kind, capsys):
    target.stats()  # begins a new maximum of the heap
    process = subprocess.Popen([sys.executable, PROGRAM, kind, str(target.port), str(SECONDS)],
                               stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(19))
    try:
        latencies = visit(target, lambda: process.poll() is None)
        connections, sent = map(int, process.communicate(timeout=60)[0].split())
    finally:
        process.kill()
        process.wait()
    peak = target.stats()["heap_peak"]
    with capsys.disabled():
        print(f"\n{kind}: {connections} connections, {sent / 1e6:.1f} MB sent; normal client: "
              f"{len(latencies)} requests, p99 {percentile(latencies) * 1000:.2f} ms "
              f"({percentile(latencies) / quiet:.1f} x quiet); heap {peak / 2**20:.1f} MiB")
    assert sent > 500, "the difficult client has sent nothing"
    assert peak < MEMORY
    assert target.request().status == 200
