"""Connections that are open and ask for nothing: how many are possible, opening and watching them, and the memory they cost.

They are sockets of this process, which therefore needs as many descriptors as the server.
"""

import errno
import pathlib
import re
import resource
import socket

from . import Refused, cpu, tls, verify

# Of this process and of the server beside those for connections: standard files, the listener, files that are sent.
SPARE_DESCRIPTORS = 200
# Opened before the others are counted, so that what the server allocates once does not count as theirs.
WARM_UP = 100
GROUP = 100  # less than any listen queue

BROWSER_REQUEST = "\r\n".join([
    "GET {path} HTTP/1.1", "Host: 127.0.0.1:{port}", "Connection: keep-alive", "Cache-Control: max-age=0",
    'Sec-CH-UA: "Chromium";v="118", "Not=A?Brand";v="99"', "Sec-CH-UA-Mobile: ?0", 'Sec-CH-UA-Platform: "Linux"',
    "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Site: none",
    "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1", "Sec-Fetch-Dest: document", "Accept-Encoding: identity",
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; seen=1", "", ""])


def raise_descriptors():
    """Raises the limit of this process, and of those it starts, as far as allowed; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 30


def why_not(connections, descriptors):
    """Why so many connections cannot be opened, or None."""
    needed = connections + SPARE_DESCRIPTORS
    if needed <= descriptors:
        return None
    return (f"{connections:,} connections need about {needed:,} file descriptors in a process, but {descriptors:,} are allowed here "
            f"(ulimit -Hn); raise that limit, or measure with fewer connections")


class Idle:
    """Open connections to one server, each after one answer."""

    def __init__(self, server, path):
        self.server = server
        self.request = BROWSER_REQUEST.format(path=path, port=server.port).encode()
        self.connections = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()

    def grow(self, count):
        """Opens connections until there are so many."""
        try:
            while len(self.connections) < count:
                group = []
                for _ in range(min(GROUP, count - len(self.connections))):
                    group.append(tls.connect(self.server, verify.TIMEOUT_SECONDS))
                    self.connections.append(group[-1])
                for connection in group:
                    connection.sendall(self.request)
                for connection in group:
                    status, _, _ = verify.receive_answer(connection)
                    if status != 200:
                        raise Refused(f"the status is {status} instead of 200")
                if self.server.tls:
                    # Our side of the sessions is not needed any more, and takes memory.
                    group = self.connections[-len(group):] = [socket.socket(fileno=one.detach()) for one in group]
                for connection in group:
                    connection.setblocking(False)
        except OSError as error:
            hint = " (no local port is left: net.ipv4.ip_local_port_range)" if error.errno == errno.EADDRNOTAVAIL else ""
            raise Refused(f"only {len(self.connections):,} of {count:,} connections to {self.server.name} could be opened: "
                          f"{error}{hint}") from error
        except Refused as error:
            raise Refused(f"idle connection {len(self.connections):,} of {count:,} to {self.server.name}: {error}") from error

    def closed(self):
        """How many of them the server has closed, or sent something nobody asked for."""
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

    def fault(self):
        closed = self.closed()
        return f"{closed} of {len(self.connections)} idle connections were closed by the server" if closed else None


def private_bytes(pid):
    """Memory that only the server's processes have."""
    total = 0
    for one in cpu.process_tree(pid):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError as error:
            raise Refused(f"the memory of process {one} cannot be read: {error}") from error
        total += 1024 * sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.M))
    return total


def resident_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.M)[1])


def slab_bytes():
    """The kernel's own objects, sockets among them."""
    return 1024 * int(re.search(r"^Slab:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)[1])


def memory_points(server, path, counts, progress):
    """[{"x", "bytes", "kernel_bytes", "rss_kb"}] for each of the counts of connections, ascending.

    `bytes` is what the server's processes grew by for each connection. `kernel_bytes` is half of what the kernel's objects grew by,
    since both ends of each connection are on this machine; whatever else the machine does is in it, too.
    """
    points = []
    with Idle(server, path) as idle:
        idle.grow(WARM_UP)
        private, slab = private_bytes(server.pid), slab_bytes()
        for count in sorted(counts):
            idle.grow(WARM_UP + count)
            points.append({"x": count, "bytes": (private_bytes(server.pid) - private) / count,
                           "kernel_bytes": max(0, slab_bytes() - slab) / 2 / count, "rss_kb": resident_kb(server.pid)})
            progress(f"{server.name}, {count:,} idle connections: {points[-1]['bytes']:.0f} B each")
            fault = idle.fault()
            if fault is not None:
                raise Refused(f"{server.name}: {fault}")
    return points
