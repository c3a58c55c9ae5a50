"""The servers of `./dev bench http`: ours, the floor, the distribution's, and some on other
libraries that are built from bench/peers. Each has the configuration for speed that its own
documentation advises: no access log, no limit of requests per connection, files by sendfile, one
worker."""

import os

from . import servers, tls
from .contender import Contender, ask, build_c, build_go, find

CONNECTIONS = 8192
# Files that stay open or in memory, so that all of the mix do.
MANY_FILES = 4096
FILES = frozenset({"file", "encoded", "mix"})
HANDLERS = frozenset({"memory", "json", "echo", "file", "mix"})


class Floor(Contender):
    """bench/floor.c: what the kernel costs, whoever calls it."""

    name, title = "floor", "floor (raw epoll)"
    configuration = "responses are ready; files by sendfile from 10 KB on"
    kinds, own = HANDLERS | FILES, True

    def prepare(self, place):
        servers.program(place.bin_folder, "floor")
        self.version = servers.uvhttp_build(place.bin_folder).split()[0]

    def response(self, place, work):
        if work.kind == "mix":
            return ["--mix", place.site / work.folder]
        name = work.encoded_name if work.encoding else work.file_name
        return ["--file" if work.floor_file else "--read", place.site / name,
                *(["--gzip"] if work.encoding else [])]

    def command(self, place, work, port):
        return [servers.program(place.bin_folder, "floor"), *self.response(place, work),
                *(["--post", len(work.request_body)] if work.request_body else []),
                *(["--close"] if work.close else []), "0"]

    def start(self, place, work):
        running = super().start(place, work)
        running.files = "/" if work.kind == "mix" else None
        return running


class Uvhttp(Contender):
    """The programs as they are built, with their defaults: what a user gets."""

    name = title = "uvhttp"
    configuration = ("defaults: benchmark_rps from memory, `uvhttp serve -q` for files (the mix "
                     f"with --cache-entries {MANY_FILES} --watch, the encoded file with "
                     "--precompressed)")
    kinds, own, tls, files = HANDLERS | FILES, True, True, "/"
    paths = {"memory": "/", "json": "/json", "echo": "/post"}
    handlers = ("memory", "json", "echo")  # of benchmark_rps
    options = ()  # more of `uvhttp serve`

    def prepare(self, place):
        self.version = servers.uvhttp_build(place.bin_folder)
        servers.program(place.bin_folder, "benchmark_rps")

    def port(self, work):
        return None if work.kind in self.handlers else servers.free_port()

    def command(self, place, work, port):
        if work.kind in self.handlers:
            certificate = ["--tls", tls.certificate(place.folder)] if work.tls else []
            program = servers.program(place.bin_folder, "benchmark_rps")
            return [program, *certificate, "0"]
        more = {"mix": ["--cache-entries", MANY_FILES, "--watch"],
                "encoded": ["--precompressed"]}.get(work.kind, [])
        if work.tls:
            more = ["--tls-cert", tls.certificate(place.folder)]
        return [servers.program(place.bin_folder, "uvhttp"), "serve", place.site, "-q", "--listen",
                "127.0.0.1", "--port", port, *more, *self.options]

    def check_started(self, running):
        # The version of `uvhttp` itself was checked by `prepare`.
        if running.output:
            servers.require_release(running.output.partition(":")[0], running.output.split("\n")[0])


class Debian(Contender):
    """`program`, how it says its version, and its configuration file."""

    kinds, files = FILES, "/"
    program_name, version_argument, version_pattern = "", "-v", r"(\d+\.\d+\.\d+)"

    def prepare(self, place):
        self.program = find(self.program_name)
        self.version = ask([self.program, self.version_argument], self.version_pattern)

    def port(self, work):
        return servers.free_port()

    def command(self, place, work, port):
        folder = place.folder / self.name
        folder.mkdir(exist_ok=True)
        config = folder / "config"
        certificate = tls.certificate(place.folder) if work.tls else None
        config.write_text(self.config(place, folder, port, certificate))
        return [self.program, *self.arguments(config, folder)]


class Nginx(Debian):
    """nginx.org/en/docs: open_file_cache, sendfile and tcp_nopush."""

    name = title = program_name = "nginx"
    packages = "peer-nginx"
    configuration = "open_file_cache, sendfile, tcp_nopush, gzip_static; from memory: return 200"
    kinds, tls = frozenset({"memory", "json"}) | FILES, True
    paths = {"memory": "/memory", "json": "/json"}

    def config(self, place, folder, port, certificate):
        # Started by root it would change to a user that may not read our folder.
        user = "user root;" if os.geteuid() == 0 else ""
        https = (f" ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}; "
                 "ssl_protocols TLSv1.2 TLSv1.3") if certificate else ""
        temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""\
daemon off;
pid {folder}/pid;
error_log {folder}/errors.log warn;
{user}
events {{ worker_connections {CONNECTIONS}; }}
http {{
access_log off;
sendfile on;
tcp_nopush on;
open_file_cache max={MANY_FILES} inactive=10m;
open_file_cache_valid 1m;
keepalive_requests 1000000000;
types {{ text/plain txt; }}
{temporary}
server {{
    listen 127.0.0.1:{port} backlog=4096{https};
    root "{place.site}";
    location = /memory {{ default_type text/plain; return 200 "Hello, world\\n"; }}
    location = /json {{
        default_type application/json;
        return 200 '{{"message":"Hello, world"}}';
    }}
    location /encoded/ {{ gzip_static on; }}
}}
}}
"""

    def arguments(self, config, folder):
        return ["-p", folder, "-c", config, "-e", folder / "errors.log"]


class H2o(Debian):
    """h2o.examp1e.net/configure: num-threads, file.send-gzip. It keeps files open by itself."""

    name = title = program_name = "h2o"
    packages, tls = "peer-h2o", True
    configuration = "defaults, file.send-gzip; over HTTPS the 13 bytes come from a file"

    def lacks(self, work):
        # A file takes the place of the handler, which handshakes do not notice.
        return None if work.tls else super().lacks(work)

    def config(self, place, folder, port, certificate):
        user = "user: root\n" if os.geteuid() == 0 else ""
        https = (f"  ssl:\n    certificate-file: {certificate}\n    key-file: {certificate}\n"
                 "    minimum-version: TLSv1.2\n") if certificate else ""
        return f"""\
{user}num-threads: 1
max-connections: {CONNECTIONS}
pid-file: {folder}/pid
error-log: {folder}/errors.log
http1-request-timeout: 75
file.send-gzip: ON
hosts:
  default:
    paths:
      /:
        file.dir: {place.site}
listen:
  host: 127.0.0.1
  port: {port}
{https}"""

    def arguments(self, config, folder):
        return ["-c", config]


class Built(Contender):
    """Takes the folder to serve, and responds at /memory, /json, /echo and with files."""

    kinds, files = HANDLERS, "/"
    paths = {"memory": "/memory", "json": "/json", "echo": "/echo"}

    def command(self, place, work, port):
        return [self.program, place.site, 1]


class Microhttpd(Built):
    """libmicrohttpd manual, "Performance": epoll in its own thread and MHD_USE_TURBO."""

    name = title = "libmicrohttpd"
    packages = "peer-libmicrohttpd"
    configuration = "epoll in one thread, MHD_USE_TURBO; files opened for each request, by sendfile"

    def prepare(self, place):
        self.program = self.folder(place) / "server"
        self.version = build_c("microhttpd.c", "libmicrohttpd", self.program)


class Go(Built):
    """The standard library's server; nothing to tune but the number of threads."""

    name, title = "go", "Go net/http"
    packages = "peer-go"
    configuration = "http.Serve with ServeMux and http.FileServer, GOMAXPROCS 1"

    def prepare(self, place):
        self.program = self.folder(place) / "server"
        self.version = build_go("go", self.program)

    def command(self, place, work, port):
        return [self.program, place.site]

    def environment(self, place):
        return {"GOMAXPROCS": "1"}


ALL = [Floor, Uvhttp, Nginx, H2o, Microhttpd, Go]
USUAL = ["floor", "uvhttp", "nginx"]
