"""Idle connections, and the memory they use.

They are sockets of this process, so it needs as many file descriptors as the server.
"""

import errno
import pathlib
import re
import resource
import socket

from . import Refused, cpu, tls, verify

# Descriptors of this process and of the server for other purposes.
SPARE_DESCRIPTORS = 200
# Opened before the measurement, so that one-time allocations of the server do not count.
WARM_UP = 100
GROUP = 100  # less than any listen backlog

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
    """Raises the limit of this process and its children to the maximum. Returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 30


def check_descriptors(connections):
    """Raises Refused if the limit does not allow so many connections."""
    needed, allowed = connections + WARM_UP + SPARE_DESCRIPTORS, raise_descriptors()
    if needed > allowed:
        raise Refused(f"{connections:,} connections need about {needed:,} file descriptors in a "
                      f"process, but {allowed:,} are allowed here (ulimit -Hn); raise that limit, "
                      "or measure with fewer connections")


class Idle:
    """Open connections to one server. Each has had one response."""

    def __init__(self, server, path):
        self.server, self.connections = server, []
        self.request = verify.make_request(server.port, path, fields=BROWSER_FIELDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()

    def grow(self, count):
        """Opens connections up to `count` in total."""
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
                # Frees the TLS sessions of this process, which use memory.
                group = [socket.socket(fileno=one.detach()) for one in group]
        finally:
            self.connections += group
        for connection in group:
            connection.setblocking(False)

    def closed(self):
        """Returns how many the server has closed, or has sent more bytes on."""
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
    """Private bytes of the server's processes, and bytes of kernel objects (slab)."""

    def __init__(self, pid):
        self.private = cpu.sum_smaps(pid, r"^Private_\w+:\s+(\d+) kB") * 1024
        text = pathlib.Path("/proc/meminfo").read_text()
        self.slab = 1024 * int(re.search(r"^Slab:\s+(\d+) kB", text, re.M)[1])

    def growth(self, before, count, closed):
        """Returns the entry of a run: the memory of each of `count` connections. Half of the kernel
        objects count, because both ends of each connection are on this machine."""
        fault = f"{closed} idle connections were closed by the server" if closed > 0 else None
        return {"counted": fault is None, "fault": fault,
                "bytes": (self.private - before.private) / count,
                "kernel_bytes": max(0, self.slab - before.slab) / 2 / count}


def measure(server, work, connections):
    """Measures a server that has had no connections yet."""
    with Idle(server, server.path(work)) as idle:
        idle.grow(WARM_UP)
        before = Memory(server.pid)
        idle.grow(WARM_UP + connections)
        return Memory(server.pid).growth(before, connections, idle.closed())
