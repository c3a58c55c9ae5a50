"""The servers of `./dev bench ws`: ours, the floor, and others on somebody else's library, built from bench/peers when they are asked for.

All print "listening on URL". They send back what comes to /echo, compressed when the client offers that, and what comes to /topic goes to all others there.
"""

import os
import pathlib
import re
import shlex
import shutil
import sys

from . import Refused, peers, servers
from .contender import SOURCES, Contender, ask, build, find, install, newest

WEBSOCKETS = "websockets==17.4"


class WebSocketContender(Contender):
    """`paths`: where it does what kind of work."""

    kinds = frozenset({"echo", "deflate", "topic"})
    paths = {"echo": "/echo", "deflate": "/echo", "topic": "/topic"}
    several_workers = False

    def command(self, place):
        raise NotImplementedError

    def environment(self, place):
        return {}

    def start(self, place, work):
        return servers.Server(self.name, self.version, self.command(place), place.cores, place.folder, environment=self.environment(place))

    def folder(self, place, name=None):
        folder = pathlib.Path(place.build_folder).resolve() / f"websocket-{name or self.name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Floor(WebSocketContender):
    """bench/floor_websocket.c: what the kernel costs, whoever calls it."""

    name, title = "floor", "floor (raw epoll)"
    configuration = "reads, unmasks and writes back; no queue, no limit"
    kinds = frozenset({"echo", "topic"})
    lacking = {"deflate": "the floor does not compress"}
    own = True

    def prepare(self, place):
        servers.program(place.bin_folder, "floor_websocket")
        self.version = servers.uvhttp_build(place.bin_folder).split()[0]

    def command(self, place):
        return [servers.program(place.bin_folder, "floor_websocket"), "0"]


class Uvhttp(WebSocketContender):
    """benchmark_websocket with the defaults: what a user gets."""

    name = title = "uvhttp"
    configuration = "benchmark_websocket with the defaults; compression with the worker's shared compressor, level 1"
    paths = {"echo": "/echo", "deflate": "/echo-deflate", "topic": "/topic"}
    own = True

    def prepare(self, place):
        self.version = servers.uvhttp_build(place.bin_folder)
        servers.program(place.bin_folder, "benchmark_websocket")

    def command(self, place):
        return [servers.program(place.bin_folder, "benchmark_websocket"), "0"]

    def start(self, place, work):
        running = super().start(place, work)
        try:
            servers.require_release("benchmark_websocket", running.output.split("\n")[0])
        except Refused:
            running.stop()
            raise
        return running


class UvhttpDedicated(Uvhttp):
    name, title = "uvhttp-dedicated", "uvhttp, dedicated windows"
    configuration = "as uvhttp, with windows of 32 KiB of its own for each connection, level 1"
    kinds = frozenset({"deflate"})
    paths = {"deflate": "/echo-dedicated"}
    lacking = {kind: "as `uvhttp`: it differs in compression only" for kind in ("echo", "topic")}


class Rust(WebSocketContender):
    """Two programs of one crate, which is built once."""

    crate, program_name = "", ""

    def prepare(self, place):
        install(f"peer-{self.name}")
        cargo, version = newest("cargo", "--version")
        source, target = SOURCES / "websocket-rust", self.folder(place, "rust")
        old = tuple(int(part) for part in version.split(".")[:2]) < peers.SPARSE_SINCE
        options, extra = peers.BEFORE_SPARSE if old else ([], {})
        # Flags of the caller's would make another build of this.
        clean = {key: value for key, value in os.environ.items() if not re.match(r"(HOST_|TARGET_)?(CFLAGS|CC)\b|RUSTFLAGS", key)}
        build([cargo, *options, "build", "--release", "--locked", "--manifest-path", source / "Cargo.toml"],
              env={**clean, **extra, "CARGO_TARGET_DIR": str(target), "RUSTC": str(pathlib.Path(cargo).with_name("rustc"))})
        crate = re.search(rf'name = "{self.crate}"\nversion = "(.*)"', (source / "Cargo.lock").read_text())[1]
        self.version = f"{crate} (rustc {version})"
        self.program = target / "release" / self.program_name

    def command(self, place):
        return [self.program]


class TokioTungstenite(Rust):
    """Its example of a server; a broadcast through tokio's channel."""

    name = title = crate = "tokio-tungstenite"
    program_name = "tokio_tungstenite"
    configuration = "release with thin LTO and mimalloc, one thread, a task for each connection"
    kinds = frozenset({"echo", "topic"})
    lacking = {"deflate": "tokio-tungstenite does not compress"}


class Fastwebsockets(Rust):
    """Its example of a server, on hyper."""

    name = title = crate = program_name = "fastwebsockets"
    configuration = "release with thin LTO and mimalloc, one thread, hyper for the handshake"
    kinds = frozenset({"echo"})
    lacking = {"deflate": "fastwebsockets does not compress", "topic": "fastwebsockets has no way to send to others in its documentation"}


class Go(WebSocketContender):
    package, module = "", ""

    def prepare(self, place):
        install(f"peer-{self.name}")
        compiler, version = newest("go", "version")
        source = SOURCES / "websocket-go"
        self.program = self.folder(place) / "server"
        build([compiler, "build", "-buildvcs=false", "-o", self.program, f"./{self.package}"], cwd=source,
              env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"})
        module = re.search(rf"{re.escape(self.module)} v(\S+)", (source / "go.mod").read_text())[1]
        self.version = f"{module} (Go {version})"

    def command(self, place):
        return [self.program]

    def environment(self, place):
        return {"GOMAXPROCS": str(self.workers(place))}


class Gorilla(Go):
    name, title, package, module = "gorilla", "gorilla/websocket", "gorilla", "github.com/gorilla/websocket"
    configuration = "net/http, GOMAXPROCS 1; a broadcast as prepared message, a goroutine for each connection writes; compression without context, level 1 of compress/flate"


class Coder(Go):
    name, title, package, module = "coder", "coder/websocket", "coder", "github.com/coder/websocket"
    configuration = "net/http, GOMAXPROCS 1; a broadcast by a goroutine for each connection; compression without context, level 1 of compress/flate"


class Ws(WebSocketContender):
    name, title = "ws", "ws (Node)"
    configuration = "with bufferutil, as its documentation recommends; compression without context, of all sizes, level 6"

    def prepare(self, place):
        install(f"peer-{self.name}")
        self.program, version = newest("node", "--version")
        source, folder = SOURCES / "websocket-node", self.folder(place)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, folder / name)
        built = folder / "built"
        if not built.exists() or built.read_bytes() != (source / "package-lock.json").read_bytes():
            build([find("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
            shutil.copy(source / "package-lock.json", built)
        library = re.search(r'"ws": "(.*)"', (source / "package.json").read_text())[1]
        self.version = f"{library} (Node {version})"
        self.installed = folder

    def command(self, place):
        return [self.program, SOURCES / "websocket-node/server.mjs"]

    def environment(self, place):
        return {"WEBSOCKET_PEERS": str(self.installed)}


class Libwebsockets(WebSocketContender):
    name = title = "libwebsockets"
    configuration = "mimalloc, one thread on libuv, its own permessage-deflate with windows of 32 KiB, level 1; written in the WRITEABLE callback"

    def prepare(self, place):
        install(f"peer-{self.name}")
        self.version = build([find("pkg-config"), "--modversion", "libwebsockets"]).strip().rstrip("-")
        flags = shlex.split(build([find("pkg-config"), "--cflags", "--libs", "libwebsockets"]))
        self.program = self.folder(place) / "server"
        # As ours and those in Rust; in front, so that the C library's is not asked.
        build([find("cc"), "-O2", "-D_GNU_SOURCE", "-o", self.program, SOURCES / "c/websocket.c", "-Wl,--no-as-needed", "-lmimalloc", *flags])

    def command(self, place):
        return [self.program]


class Websockets(WebSocketContender):
    name, title = "websockets", "websockets (Python)"
    configuration = "asyncio; compression with its defaults: windows of 4 KiB, level 6"

    def prepare(self, place):
        install(f"peer-{self.name}")
        folder = self.folder(place)
        built = folder / "built"
        if not built.exists() or built.read_text() != WEBSOCKETS:
            build([sys.executable, "-m", "venv", folder])
            build([folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", WEBSOCKETS])
            built.write_text(WEBSOCKETS)
        self.program = folder / "bin/python"
        self.version = ask([self.program, "-c", "import websockets; print(websockets.__version__)"], r"(\d+\.\d+\S*)") + (
            " (Python " + ".".join(str(part) for part in sys.version_info[:3]) + ")")

    def command(self, place):
        return [self.program, SOURCES / "python/websockets_server.py"]


ALL = [Floor, Uvhttp, UvhttpDedicated, TokioTungstenite, Fastwebsockets, Libwebsockets, Gorilla, Coder, Ws, Websockets]
NAMES = [contender.name for contender in ALL]
# What is measured without --peers.
USUAL = ["floor", "uvhttp", "uvhttp-dedicated"]


def choose(names):
    """New contenders of these names, in this order; "all" is all of them."""
    return [contender() for contender in ALL if "all" in names or contender.name in names]
