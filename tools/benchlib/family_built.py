"""Servers that are built from bench/peers with somebody else's library or language: libmicrohttpd, evhttp, Go, Node, actix-web, and
Python's http.server and granian. All take the folder to serve, print "listening on URL", and answer /memory, /json, /echo and files.
"""

import os
import pathlib
import re
import shlex
import sys

from . import Refused, peers, servers
from .contender import SOURCES, Contender, ask, build, find, install, newest

ALL_KINDS = frozenset({"memory", "json", "echo", "file", "mix"})
# From this version of Rust on bench/peers/actix is built, before it actix-older.
NEWER_RUST = (1, 80)
GRANIAN = ["granian==2.8.7", "uvloop==0.23.0"]


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


class BuiltServer(servers.Server):
    paths, files = {"memory": "/memory", "json": "/json", "echo": "/echo"}, "/"


class Built(Contender):
    kinds = ALL_KINDS
    server = BuiltServer

    def __init__(self):
        super().__init__()
        self.program = None

    @property
    def lacking(self):
        return {"encoded": f"{self.title} does not look for a gzip beside a file"}

    def folder(self, place):
        folder = pathlib.Path(place.build_folder).resolve() / self.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def command(self, place):
        return [self.program, place.site, self.workers(place)]

    def environment(self, place):
        return {}

    def start(self, place, work):
        return self.server(self.name, self.version, self.command(place), place.cores, place.folder, environment=self.environment(place))


class C(Built):
    """Built with the flags of our own release; `library` is pkg-config's name."""

    library, source = "", ""

    def prepare(self, place):
        install(self.packages)
        self.version = build([find("pkg-config"), "--modversion", self.library]).strip()
        flags = shlex.split(build([find("pkg-config"), "--cflags", "--libs", self.library]))
        self.program = self.folder(place) / self.source
        build([find("cc"), "-O2", "-D_GNU_SOURCE", "-o", self.program, SOURCES / "c" / f"{self.source}.c", *flags])


class Microhttpd(C):
    """libmicrohttpd manual, "Performance": epoll in its own threads and MHD_USE_TURBO."""

    name, title, library, source = "libmicrohttpd", "libmicrohttpd", "libmicrohttpd", "microhttpd"
    packages = "peer-libmicrohttpd"
    configuration = "epoll thread pool of as many threads as workers, MHD_USE_TURBO; files opened for each request, by sendfile"


class Evhttp(C):
    """libevent's own server; its documentation has nothing to tune."""

    name, title, library, source = "evhttp", "evhttp (libevent)", "libevent", "evhttp"
    packages = "peer-evhttp"
    configuration = "one thread; files opened for each request, by evbuffer_add_file"
    several_workers = False


class Go(Built):
    """The standard library's server; nothing to tune but the number of threads."""

    name, title = "go", "Go net/http"
    packages = "peer-go"
    configuration = "http.Serve with ServeMux and http.FileServer, GOMAXPROCS as many as workers"

    def prepare(self, place):
        install(self.packages)
        compiler, self.version = newest("go", "version")
        self.program = self.folder(place) / "server"
        build([compiler, "build", "-buildvcs=false", "-o", self.program, "."], cwd=SOURCES / "go", env={**os.environ, "GOTOOLCHAIN": "local"})

    def command(self, place):
        return [self.program, place.site]

    def environment(self, place):
        return {"GOMAXPROCS": str(self.workers(place))}


class Node(Built):
    """The standard module's server; nothing to tune but the number of processes."""

    name, title = "node", "Node http"
    packages = "peer-node"
    configuration = "http.createServer, files by createReadStream; several workers by the cluster module"

    def prepare(self, place):
        install(self.packages)
        self.program, self.version = newest("node", "--version")

    def command(self, place):
        return [self.program, SOURCES / "node/server.mjs", place.site, self.workers(place)]


class Actix(Built):
    """actix.rs/docs: release build, as many workers as wanted; with mimalloc, as uvhttp has it."""

    name, title = "actix", "actix-web"
    packages = "peer-actix"
    configuration = "release with thin LTO and mimalloc, actix-files"

    def prepare(self, place):
        install(self.packages)
        cargo, version = newest("cargo", "--version")
        compiler = pathlib.Path(cargo).with_name("rustc")
        rust = ask([compiler, "--version"], r"([0-9]+\.[0-9.]+)")
        source = SOURCES / ("actix" if numbers(rust) >= NEWER_RUST else "actix-older")
        target = self.folder(place)
        options, environment = peers.BEFORE_SPARSE if numbers(version) < peers.SPARSE_SINCE else ([], {})
        # Flags of the caller's would make another build of this.
        clean = {key: value for key, value in os.environ.items() if not re.match(r"(HOST_|TARGET_)?(CFLAGS|CC)\b|RUSTFLAGS", key)}
        build([cargo, *options, "build", "--release", "--locked", "--manifest-path", source / "Cargo.toml"],
              env={**clean, **environment, "CARGO_TARGET_DIR": str(target), "RUSTC": str(compiler)})
        crate = re.search(r'name = "actix-web"\nversion = "(.*)"', (source / "Cargo.lock").read_text())[1]
        self.version = f"{crate} (rustc {rust})"
        self.program = target / "release/actix-peer"


class Python(Built):
    """The standard module's server, which its documentation does not recommend for production; what it can do without help."""

    name, title = "python", "Python http.server"
    configuration = "ThreadingHTTPServer: a thread for each connection; HTTP/1.1, output buffered, no log"
    several_workers = False

    def prepare(self, place):
        self.version = ".".join(str(part) for part in sys.version_info[:3])

    def command(self, place):
        return [sys.executable, SOURCES / "python/http_server.py", place.site]


class GranianServer(BuiltServer):
    files = "/files/"


class Granian(Built):
    """The README of granian: RSGI, uvloop, the single-threaded runtime for one worker; its log off."""

    name, title = "granian", "granian (Python)"
    packages = "peer-granian"
    configuration = "RSGI, uvloop, HTTP/1 only, runtime of one thread per worker, no log; files by its static mount"
    server = GranianServer

    def prepare(self, place):
        install(self.packages)
        folder = self.folder(place)
        if not (folder / "bin/granian").exists():
            build([sys.executable, "-m", "venv", folder])
            build([folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *GRANIAN])
        self.program = folder / "bin/granian"
        self.version = ask([self.program, "--version"], r"(\d+\.\d+\.\d+)")

    def command(self, place):
        return [self.program, "--interface", "rsgi", "--host", "127.0.0.1", "--port", self.port, "--workers", self.workers(place),
                "--runtime-mode", "st", "--loop", "uvloop", "--http", "1", "--no-ws", "--no-log", "--backlog", "4096",
                "--backpressure", "4096", "--static-path-route", "/files", "--static-path-mount", place.site,
                "--working-dir", SOURCES / "python", "granian_app:app"]

    def start(self, place, work):
        self.port = servers.free_port()
        return self.server(self.name, self.version, self.command(place), place.cores, place.folder, self.port, {"PYTHONDONTWRITEBYTECODE": "1"})
