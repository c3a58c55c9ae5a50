"""Hosts with addresses of their own: network namespaces on a bridge, or loopback addresses where
namespaces cannot be made."""

import os
import subprocess


def sh(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Host:
    """Runs programs; `address` is its own."""
    def __init__(self, address, namespace=None):
        self.address, self.namespace = address, namespace

    def start(self, *words, **options):
        inside = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        return subprocess.Popen([*inside, *map(str, words)], **options)


class Network:
    """`front`: the host of the balancer and the clients; `hosts`: those of the servers."""
    def __init__(self, count):
        self.made, self.isolated = [], True
        try:
            self.make_namespaces(count)
        except (OSError, subprocess.CalledProcessError) as error:
            self.close()
            self.isolated = False
            self.why = (getattr(error, "stderr", "") or str(error)).strip()
            self.front = Host("127.0.0.1")
            self.hosts = [Host(f"127.0.0.{11 + i}") for i in range(count)]

    def make_namespaces(self, count):
        """A namespace each, connected to a bridge in that of the front."""
        prefix = f"uvhttp{os.getpid()}"
        front = self.make(f"{prefix}f")
        inside = ("ip", "-n", front)
        sh(*inside, "link", "add", "bridge", "type", "bridge")
        sh(*inside, "address", "add", "10.79.0.1/24", "dev", "bridge")
        sh(*inside, "link", "set", "bridge", "up")
        self.front, self.hosts = Host("10.79.0.1", front), []
        for i in range(count):
            name = self.make(f"{prefix}h{i}")
            address = f"10.79.0.{11 + i}"
            sh(*inside, "link", "add", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns",
               name)
            sh(*inside, "link", "set", f"port{i}", "master", "bridge", "up")
            sh("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            self.hosts.append(Host(address, name))

    def make(self, name):
        sh("ip", "netns", "add", name)
        self.made.append(name)
        sh("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def close(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
        self.made = []
