"""The servers of `./dev bench ws`: ours, the floor, and gorilla/websocket, built from bench/peers.

All print "listening on URL". They echo messages to /echo, compressed if the client offers that, and
publish messages to /topic to all other connections of /topic.
"""

import re

from . import servers
from .contender import SOURCES, Contender, build_go


class WebSocketContender(Contender):
    kinds = frozenset({"echo", "deflate", "topic"})
    paths = {"echo": "/echo", "deflate": "/echo", "topic": "/topic"}

    def command(self, workspace, work, port):
        return [self.program]


class Own(WebSocketContender):
    own, program_name = True, ""

    def prepare(self, workspace):
        self.version = servers.uvhttp_build(workspace.bin_dir)
        self.program = servers.program(workspace.bin_dir, self.program_name)

    def command(self, workspace, work, port):
        return [self.program, "0"]


class Floor(Own):
    """bench/floor_websocket.c: the cost of the system calls alone."""

    name, title, program_name = "floor", "floor (raw epoll)", "floor_websocket"
    configuration = "reads, unmasks and writes back; no queue, no limit, no compression"
    kinds = frozenset({"echo", "topic"})


class Uvhttp(Own):
    """benchmark_websocket with the defaults."""

    name, title, program_name = "uvhttp", "uvhttp", "benchmark_websocket"
    configuration = "defaults; compression with the worker's shared compressor, level 1"
    paths = {"echo": "/echo", "deflate": "/echo-deflate", "topic": "/topic"}

    def check_started(self, running):
        servers.require_release(self.program_name, running.output.split("\n")[0])


class UvhttpDedicated(Uvhttp):
    name, title = "uvhttp-dedicated", "uvhttp, dedicated windows"
    configuration = "as uvhttp, with windows of 32 KiB for each connection, level 1"
    kinds, paths = frozenset({"deflate"}), {"deflate": "/echo-dedicated"}


class Gorilla(WebSocketContender):
    name, title, packages = "gorilla", "gorilla/websocket", "peer-go"
    configuration = "net/http, GOMAXPROCS 1; prepared messages; deflate without context, level 1"

    def prepare(self, workspace):
        self.program = self.build_directory(workspace, "websocket-gorilla") / "server"
        built = build_go("websocket-go", self.program, "./gorilla")
        text = (SOURCES / "websocket-go/go.mod").read_text()
        module = re.search(r"gorilla/websocket v(\S+)", text)[1]
        self.version = f"{module} (Go {built})"

    def environment(self, workspace):
        return {"GOMAXPROCS": "1"}


ALL = [Floor, Uvhttp, UvhttpDedicated, Gorilla]
DEFAULT_PEERS = ["floor", "uvhttp", "uvhttp-dedicated"]
