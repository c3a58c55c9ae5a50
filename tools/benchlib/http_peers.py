"""The servers of `./dev bench http`: ours, the floor, servers of the distribution, and servers on
other libraries, built from bench/peers. Each has the fastest configuration that its documentation
recommends: no access log, no limit of requests per connection, files by sendfile, one worker."""

import os

from . import servers, tls
from .contender import Contender, build_c, build_go, find, find_in_output

CONNECTIONS = 8192
# Files in the file caches, enough for all files of the mix.
MANY_FILES = 4096
FILES = frozenset({"file", "encoded", "mix"})
HANDLERS = frozenset({"memory", "json", "echo", "file", "mix"})


class Floor(Contender):
    """bench/floor.c: the cost of the system calls alone."""

    name, title = "floor", "floor (raw epoll)"
    configuration = "prepared responses; files by sendfile from 10 KB"
    kinds, own = HANDLERS | FILES, True

    def prepare(self, workspace):
        servers.program(workspace.bin_dir, "floor")
        self.version = servers.uvhttp_build(workspace.bin_dir).split()[0]

    def response(self, workspace, work):
        if work.kind == "mix":
            return ["--mix", workspace.site / work.directory]
        name = work.encoded_name if work.encoding else work.file_name
        return ["--file" if work.floor_file else "--read", workspace.site / name,
                *(["--gzip"] if work.encoding else [])]

    def command(self, workspace, work, port):
        return [servers.program(workspace.bin_dir, "floor"), *self.response(workspace, work),
                *(["--post", len(work.request_body)] if work.request_body else []),
                *(["--close"] if work.close else []), "0"]

    def start(self, workspace, work):
        running = super().start(workspace, work)
        running.files = "/" if work.kind == "mix" else None
        return running


class Uvhttp(Contender):
    """Our programs with their defaults."""

    name = title = "uvhttp"
    configuration = ("defaults: benchmark_rps from memory, `uvhttp serve -q` for files (the mix "
                     f"with --cache-entries {MANY_FILES} --watch, the encoded file with "
                     "--precompressed)")
    kinds, own, tls, files = HANDLERS | FILES, True, True, "/"
    paths = {"memory": "/", "json": "/json", "echo": "/post"}
    handlers = ("memory", "json", "echo")  # of benchmark_rps
    options = ()  # additional options of `uvhttp serve`

    def prepare(self, workspace):
        self.version = servers.uvhttp_build(workspace.bin_dir)
        servers.program(workspace.bin_dir, "benchmark_rps")

    def port(self, work):
        return None if work.kind in self.handlers else servers.free_port()

    def command(self, workspace, work, port):
        if work.kind in self.handlers:
            certificate = ["--tls", tls.certificate(workspace.directory)] if work.tls else []
            program = servers.program(workspace.bin_dir, "benchmark_rps")
            return [program, *certificate, "0"]
        more = {"mix": ["--cache-entries", MANY_FILES, "--watch"],
                "encoded": ["--precompressed"]}.get(work.kind, [])
        if work.tls:
            more = ["--tls-cert", tls.certificate(workspace.directory)]
        return [servers.program(workspace.bin_dir, "uvhttp"), "serve", workspace.site, "-q",
                "--listen", "127.0.0.1", "--port", port, *more, *self.options]

    def check_started(self, running):
        # `prepare` has checked the build of `uvhttp` itself.
        if running.output:
            servers.require_release(running.output.partition(":")[0], running.output.split("\n")[0])


class Debian(Contender):
    """A server of the distribution: its program, version option and configuration file."""

    kinds, files = FILES, "/"
    program_name, version_argument, version_pattern = "", "-v", r"(\d+\.\d+\.\d+)"

    def prepare(self, workspace):
        self.program = find(self.program_name)
        self.version = find_in_output([self.program, self.version_argument], self.version_pattern)

    def port(self, work):
        return servers.free_port()

    def command(self, workspace, work, port):
        directory = workspace.directory / self.name
        directory.mkdir(exist_ok=True)
        config = directory / "config"
        certificate = tls.certificate(workspace.directory) if work.tls else None
        config.write_text(self.config(workspace, directory, port, certificate))
        return [self.program, *self.arguments(config, directory)]


class Nginx(Debian):
    """nginx.org/en/docs: open_file_cache, sendfile and tcp_nopush."""

    name = title = program_name = "nginx"
    packages = "peer-nginx"
    configuration = "open_file_cache, sendfile, tcp_nopush, gzip_static; from memory: return 200"
    kinds, tls = frozenset({"memory", "json"}) | FILES, True
    paths = {"memory": "/memory", "json": "/json"}

    def config(self, workspace, directory, port, certificate):
        # As root it would change to a user that cannot read our directory.
        user = "user root;" if os.geteuid() == 0 else ""
        https = (f" ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate}; "
                 "ssl_protocols TLSv1.2 TLSv1.3") if certificate else ""
        temporary = "".join(f"{name}_temp_path {directory}/{name};\n" for name in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""\
daemon off;
pid {directory}/pid;
error_log {directory}/errors.log warn;
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
    root "{workspace.site}";
    location = /memory {{ default_type text/plain; return 200 "Hello, world\\n"; }}
    location = /json {{
        default_type application/json;
        return 200 '{{"message":"Hello, world"}}';
    }}
    location /encoded/ {{ gzip_static on; }}
}}
}}
"""

    def arguments(self, config, directory):
        return ["-p", directory, "-c", config, "-e", directory / "errors.log"]


class H2o(Debian):
    """h2o.examp1e.net/configure: num-threads, file.send-gzip. It caches open files by default."""

    name = title = program_name = "h2o"
    packages, tls = "peer-h2o", True
    configuration = "defaults, file.send-gzip; over HTTPS the 13 bytes come from a file"

    def reason_unsupported(self, work):
        # Over HTTPS a file replaces the handler, which does not affect handshakes.
        return None if work.tls else super().reason_unsupported(work)

    def config(self, workspace, directory, port, certificate):
        user = "user: root\n" if os.geteuid() == 0 else ""
        https = (f"  ssl:\n    certificate-file: {certificate}\n    key-file: {certificate}\n"
                 "    minimum-version: TLSv1.2\n") if certificate else ""
        return f"""\
{user}num-threads: 1
max-connections: {CONNECTIONS}
pid-file: {directory}/pid
error-log: {directory}/errors.log
http1-request-timeout: 75
file.send-gzip: ON
hosts:
  default:
    paths:
      /:
        file.dir: {workspace.site}
listen:
  host: 127.0.0.1
  port: {port}
{https}"""

    def arguments(self, config, directory):
        return ["-c", config]


class Built(Contender):
    """Its argument is the directory to serve. It has /memory, /json, /echo, and the files."""

    kinds, files = HANDLERS, "/"
    paths = {"memory": "/memory", "json": "/json", "echo": "/echo"}

    def command(self, workspace, work, port):
        return [self.program, workspace.site]


class Microhttpd(Built):
    """libmicrohttpd manual, "Performance": epoll in its own thread and MHD_USE_TURBO."""

    name = title = "libmicrohttpd"
    packages = "peer-libmicrohttpd"
    configuration = "epoll in one thread, MHD_USE_TURBO; files opened for each request, by sendfile"

    def prepare(self, workspace):
        self.program = self.build_directory(workspace) / "server"
        self.version = build_c("microhttpd.c", "libmicrohttpd", self.program)


class Go(Built):
    """The server of the standard library; only the number of threads can be tuned."""

    name, title = "go", "Go net/http"
    packages = "peer-go"
    configuration = "http.Serve with ServeMux and http.FileServer, GOMAXPROCS 1"

    def prepare(self, workspace):
        self.program = self.build_directory(workspace) / "server"
        self.version = build_go("go", self.program)

    def environment(self, workspace):
        return {"GOMAXPROCS": "1"}


ALL = [Floor, Uvhttp, Nginx, H2o, Microhttpd, Go]
DEFAULT_PEERS = ["floor", "uvhttp", "nginx"]
