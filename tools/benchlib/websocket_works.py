"""The works of `./dev bench ws`: which messages are sent by how many connections, and who gets them."""

SUBSCRIBERS = 5000
IDLE_CONNECTIONS = 5000


class Work:
    """`mode` is that of the load generator: echo, broadcast or idle. `kind` says what a server must be able to do: echo, deflate (the same, compressed both ways)
    or topic. `connections` are those that are measured; a broadcast has one more, which sends."""

    tls = False

    def __init__(self, name, title, mode, kind, size, connections):
        self.name, self.title, self.mode, self.kind, self.size, self.connections = name, title, mode, kind, size, connections

    @property
    def deflate(self):
        return self.kind == "deflate"

    @property
    def unit(self):
        return "delivery" if self.mode == "broadcast" else "message"

    def as_json(self):
        return {"name": self.name, "title": self.title, "mode": self.mode, "kind": self.kind, "size": self.size, "connections": self.connections}


def echo(size, label, connections):
    return Work(f"echo-{label}-c{connections}", f"echo of {size:,} bytes, {connections} connections", "echo", "echo", size, connections)


ALL = [
    *(echo(size, label, connections) for size, label in ((20, "20"), (512, "512"), (16384, "16k")) for connections in (50, 500)),
    Work("echo-512-deflate", "echo of 512 bytes of text, compressed, 50 connections", "echo", "deflate", 512, 50),
    Work(f"broadcast-{SUBSCRIBERS}", f"100 bytes to {SUBSCRIBERS:,} subscribers", "broadcast", "topic", 100, SUBSCRIBERS),
    Work("idle", f"{IDLE_CONNECTIONS:,} idle connections after one message", "idle", "echo", 20, IDLE_CONNECTIONS),
    Work("idle-deflate", f"{IDLE_CONNECTIONS:,} idle connections after one compressed message", "idle", "deflate", 512, IDLE_CONNECTIONS),
]
NAMES = [work.name for work in ALL]
QUICK = ["echo-20-c50", "echo-512-c50", "echo-16k-c50", "echo-512-deflate", f"broadcast-{SUBSCRIBERS}", "idle"]
