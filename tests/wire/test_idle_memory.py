"""Ten thousand idle keep-alive connections, each after one browser-like request: the user memory of
each.

Two figures: the heap of uvhttp and libuv (asserted), and the growth of the process (printed; it
includes pages that the allocator keeps).
"""

import re
import resource

import pytest
import raw
from wire_server import WireServer

WANTED = 10000
BUDGET = 640  # bytes per connection
SPARE_DESCRIPTORS = 200

BROWSER_REQUEST = raw.request(
    "GET", "/hello", "Connection: keep-alive", "Cache-Control: max-age=0",
    'Sec-CH-UA: "Chromium";v="118", "Not=A?Brand";v="99"', "Sec-CH-UA-Mobile: ?0",
    'Sec-CH-UA-Platform: "Linux"', "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/118.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1",
    "Sec-Fetch-Dest: document", "Accept-Encoding: gzip, deflate, br",
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; seen=1")


@pytest.fixture
def many_descriptors():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield min(WANTED, before[1] - SPARE_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def private_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return 1024 * sum(
            int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", rollup.read(), re.M))


def open_idle(server, count):
    """Connections with one response each, opened in groups that fit into the listen backlog."""
    connections = []
    while len(connections) < count:
        group = [server.connect() for _ in range(min(100, count - len(connections)))]
        for connection in group:
            connection.send(BROWSER_REQUEST)
        for connection in group:
            assert connection.response().body == b"Hello, world\n"
        connections += group
    return connections


def test_idle_connection_takes_little_memory(many_descriptors, capsys):
    count = many_descriptors
    server = WireServer(max_connections=count + 100)
    try:
        for connection in open_idle(server, 100):
            connection.reset()
        server.wait_for_connections(0)
        before, private_before = server.stats(), private_bytes(server.pid())
        connections = open_idle(server, count)
        after, private_after = server.stats(), private_bytes(server.pid())
        assert after["idle_connections"] == count
        uvhttp = (after["heap_live"] - before["heap_live"]) / count
        libuv = (after["libuv_live"] - before["libuv_live"]) / count
        with capsys.disabled():
            print(f"\n{count} idle connections: {uvhttp:.0f} B of uvhttp + {libuv:.0f} B of libuv "
                  f"each; "
                  f"the process grew by {(private_after - private_before) / count:.0f} B each")
        assert connections[0].request().status == 200 and connections[-1].request().status == 200
        for connection in connections:
            connection.reset()
        server.wait_for_connections(0)
        # The memory is released, or cached for new connections, and not leaked.
        for connection in open_idle(server, 1000):
            connection.reset()
        server.wait_for_connections(0)
        assert server.stats()["heap_live"] <= after["heap_live"]
        assert uvhttp + libuv <= BUDGET
    finally:
        server.stop()
