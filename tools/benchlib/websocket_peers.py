"""The servers of `./dev bench ws`: ours, the floor, and gorilla/websocket, built from bench/peers.

All print "listening on URL". They send back what comes to /echo, compressed when the client offers
that; what comes to /topic goes to all others there.
"""

import re

from . import servers
from .contender import SOURCES, Contender, build_go


class WebSocketContender(Contender):
    kinds = frozenset({"echo", "deflate", "topic"})
    paths = {"echo": "/echo", "deflate": "/echo", "topic": "/topic"}

    def command(self, place, work, port):
        return [self.program]


class Own(WebSocketContender):
    own, program_name = True, ""

    def prepare(self, place):
        self.version = servers.uvhttp_build(place.bin_folder)
        self.program = servers.program(place.bin_folder, self.program_name)

    def command(self, place, work, port):
        return [self.program, "0"]


class Floor(Own):
    """bench/floor_websocket.c: what the kernel costs, whoever calls it."""

    name, title, program_name = "floor", "floor (raw epoll)", "floor_websocket"
    configuration = "reads, unmasks and writes back; no queue, no limit, no compression"
    kinds = frozenset({"echo", "topic"})


class Uvhttp(Own):
    """benchmark_websocket with the defaults: what a user gets."""

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

    def prepare(self, place):
        self.program = self.folder(place, "websocket-gorilla") / "server"
        built = build_go("websocket-go", self.program, "./gorilla")
        text = (SOURCES / "websocket-go/go.mod").read_text()
        module = re.search(r"gorilla/websocket v(\S+)", text)[1]
        self.version = f"{module} (Go {built})"

    def environment(self, place):
        return {"GOMAXPROCS": "1"}


ALL = [Floor, Uvhttp, UvhttpDedicated, Gorilla]
USUAL = ["floor", "uvhttp", "uvhttp-dedicated"]
