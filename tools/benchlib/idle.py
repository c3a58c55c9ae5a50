"""Connections that are open and request nothing, and the memory they cost.

They are sockets of this process, which therefore needs as many descriptors as the server.
"""

import errno
import pathlib
import re
import resource
import socket

from . import Refused, cpu, tls, verify

# Of this process and of the server beside those for connections.
SPARE_DESCRIPTORS = 200
# Opened first, so that what the server allocates once does not count as theirs.
WARM_UP = 100
GROUP = 100  # less than any listen queue

BROWSER_FIELDS = (
    ("Connection", "keep-alive"), ("Cache-Control", "max-age=0"),
    ("Sec-CH-UA", '"Chromium";v="118", "Not=A?Brand";v="99"'), ("Sec-CH-UA-Mobile", "?0"),
    ("Sec-CH-UA-Platform", '"Linux"'), ("Upgrade-Insecure-Requests", "1"),
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
     "Chrome/118.0.0.0 Safari/537.36"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"), ("Accept-Encoding", "identity"),
    ("Accept-Language", "en-GB,en;q=0.9,de;q=0.8"),
    ("Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark; seen=1"))


def raise_descriptors():
    """Raises the limit of this process, and of those it starts, as far as allowed; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 30


def check_descriptors(connections):
    """Refused when so many connections cannot be opened."""
    needed, allowed = connections + WARM_UP + SPARE_DESCRIPTORS, raise_descriptors()
    if needed > allowed:
        raise Refused(f"{connections:,} connections need about {needed:,} file descriptors in a "
                      f"process, but {allowed:,} are allowed here (ulimit -Hn); raise that limit, "
                      "or measure with fewer connections")


class Idle:
    """Open connections to one server, each after one response."""

    def __init__(self, server, path):
        self.server, self.connections = server, []
        self.request = verify.make_request(server.port, path, fields=BROWSER_FIELDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()

    def grow(self, count):
        """Opens connections until there are so many."""
        try:
            while len(self.connections) < count:
                self.open_group(min(GROUP, count - len(self.connections)))
        except (OSError, Refused) as error:
            port = getattr(error, "errno", None) == errno.EADDRNOTAVAIL
            hint = " (no local port is left: net.ipv4.ip_local_port_range)" if port else ""
            raise Refused(f"only {len(self.connections):,} of {count:,} connections to "
                          f"{self.server.name} could be opened: {error}{hint}") from error

    def open_group(self, count):
        group = []
        try:
            for _ in range(count):
                group.append(tls.connect(self.server, verify.TIMEOUT_SECONDS))
                group[-1].sendall(self.request)
            for connection in group:
                status = verify.receive_all(connection)[1]
                if status != 200:
                    raise Refused(f"the status is {status} instead of 200")
            if self.server.tls:
                # Our side of the sessions is not needed any more, and takes memory.
                group = [socket.socket(fileno=one.detach()) for one in group]
        finally:
            self.connections += group
        for connection in group:
            connection.setblocking(False)

    def closed(self):
        """How many of them the server has closed, or sent more bytes on."""
        closed = 0
        for connection in self.connections:
            try:
                connection.recv(1, socket.MSG_PEEK)
                closed += 1
            except BlockingIOError:
                pass
            except OSError:
                closed += 1
        return closed


class Memory:
    """Bytes that only the server's processes have, and those of the kernel's objects."""

    def __init__(self, pid):
        self.private = cpu.sum_smaps(pid, r"^Private_\w+:\s+(\d+) kB") * 1024
        text = pathlib.Path("/proc/meminfo").read_text()
        self.slab = 1024 * int(re.search(r"^Slab:\s+(\d+) kB", text, re.M)[1])

    def grown(self, before, count, closed):
        """The entry of a run: what each of `count` connections took. Of the kernel's objects half,
        since both ends of each connection are on this machine."""
        fault = f"{closed} idle connections were closed by the server" if closed > 0 else None
        return {"counted": fault is None, "fault": fault,
                "bytes": (self.private - before.private) / count,
                "kernel_bytes": max(0, self.slab - before.slab) / 2 / count}


def measure(server, work, connections):
    """Of a server that has had no connections yet."""
    with Idle(server, server.path(work)) as idle:
        idle.grow(WARM_UP)
        before = Memory(server.pid)
        idle.grow(WARM_UP + connections)
        return Memory(server.pid).grown(before, connections, idle.closed())
