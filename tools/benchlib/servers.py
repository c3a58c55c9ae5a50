"""Start and stop of the servers under test, each pinned to one core.

A server has `name`, `version`, `port`, `pid` (of its first process), `path(work)` for what to ask it, and `stop()`.
"""

import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

from . import Refused

START_SECONDS = 20
STOP_SECONDS = 20


# Sockets that keep a port for a server.
KEPT_PORTS = []


def free_port():
    """A port for a server that is told its number. It stays bound here, so that no other process is given it; SO_REUSEADDR lets
    the server listen on it all the same."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    KEPT_PORTS.append(kept)
    return kept.getsockname()[1]



def tail(path, size=2000):
    return path.read_text(errors="replace")[-size:].strip()


class Server:
    """A process of ours. Ended by `stop`, whatever happened to it.

    `paths` says where it answers what kind of work, `files` the prefix of file names; without both everything is "/".
    """

    paths, files = {}, None
    tls = None  # the ssl.SSLContext of its clients, of a server that speaks HTTPS

    def __init__(self, name, version, command, core, folder, port=None, environment=None):
        """`core` is one or several. `folder` takes its output. Without `port` the server prints "listening on URL" and the port is read from
        that."""
        self.name, self.version, self.port, self.folder = name, version, port, pathlib.Path(folder)
        self.log = self.folder / f"{name}.log"
        self.output = ""
        cores = {core} if isinstance(core, int) else set(core)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if port is None else log, stderr=log, env={**os.environ, **(environment or {})},
                preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.pid = self.process.pid
        try:
            if port is None:
                self.read_port()
            else:
                self.wait_for_port()
        except BaseException:
            self.stop()
            raise

    def failed_start(self, what):
        return Refused(f"{self.name} {what}: {tail(self.log) or 'it printed nothing'}")

    def read_port(self):
        deadline = time.monotonic() + START_SECONDS
        descriptor = self.process.stdout.fileno()
        while True:
            ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(descriptor, 4096) if ready else b""
            if not piece:
                raise self.failed_start("did not say where it listens" if not ready else "ended at its start")
            self.output += piece.decode(errors="replace")
            found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)/\n", self.output)
            if found:
                self.port = int(found.group(1))
                return

    def wait_for_port(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise self.failed_start("ended at its start")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise self.failed_start(f"does not listen on port {self.port}")

    def path_of(self, file_name, work):
        if work.kind in self.paths:
            return self.paths[work.kind]
        return "/" if self.files is None else f"{self.files}{file_name}"

    def path(self, work):
        return self.path_of(work.file_name, work)

    def url(self, work):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{self.path(work)}"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


class FileServer(Server):
    files = "/"


class Nginx(Server):
    paths, files = {"memory": "/memory", "json": "/json"}, "/"


def program(bin_folder, name):
    path = pathlib.Path(bin_folder) / name
    if not os.access(path, os.X_OK):
        raise Refused(f"{path} is missing; build it with: ./dev build release")
    return path


def require_release(name, text):
    if not re.search(r"\bRelease\b", text):
        raise Refused(f"{name} is not a Release build, so its figures would mean nothing; it says: {text.strip()}")


def uvhttp_build(bin_folder):
    """What `uvhttp --version` says of the build, which must be Release."""
    path = program(bin_folder, "uvhttp")
    text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    build = next((line[len("build: "):] for line in text.split("\n") if line.startswith("build: ")), "")
    require_release("uvhttp", build or text or "nothing")
    return build


def start_floor(bin_folder, work, site, core, folder):
    command = [program(bin_folder, "floor")]
    command += ["--file", site / work.file_name] if work.floor_file else ["--body", work.size]
    return Server("floor", "sendfile" if work.floor_file else "memory", command + ["0"], core, folder)


def start_uvhttp(bin_folder, work, site, core, folder):
    build = uvhttp_build(bin_folder)
    if not work.memory:
        port = free_port()
        command = [program(bin_folder, "uvhttp"), "serve", site, "-q", "--listen", "127.0.0.1", "--port", port]
        return FileServer("uvhttp", build, command, core, folder, port)
    server = Server("uvhttp", build, [program(bin_folder, "benchmark_rps"), "0"], core, folder)
    try:
        require_release("benchmark_rps", server.output.split("\n")[0])
    except Refused:
        server.stop()
        raise
    return server


NGINX_CONFIG = """\
daemon off;
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log warn;
{user}
events {{
    worker_connections 8192;
}}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=4096 inactive=10m;
    open_file_cache_valid 1m;
    keepalive_requests 1000000000;
    keepalive_timeout 75s;
    types {{ text/plain txt; }}
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096{reuseport}{tls};
        location = /memory {{
            default_type text/plain;
            return 200 "Hello, world\\n";
        }}
        location = /json {{
            default_type application/json;
            return 200 '{{"message":"Hello, world"}}';
        }}
        location /encoded/ {{
            gzip_static on;
            root "{site}";
        }}
        location / {{
            root "{site}";
        }}
    }}
}}
"""


def find_nginx():
    path = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Refused("nginx is missing; install it with: apt-get install nginx-light")
    return path


def nginx_version():
    text = subprocess.run([find_nginx(), "-v"], capture_output=True, text=True).stderr
    return text.partition("/")[2].strip() or "unknown"


def start_nginx(bin_folder, work, site, core, folder, workers=1, name="nginx", certificate=None):
    port = free_port()
    folder = folder / name
    folder.mkdir(exist_ok=True)
    config = folder / "nginx.conf"
    # TLS 1.3 is not among its defaults; tickets for sessions are.
    tls = (f" ssl;\n        ssl_certificate {certificate};\n        ssl_certificate_key {certificate};\n"
           "        ssl_protocols TLSv1.2 TLSv1.3") if certificate else ""
    # Started by root it would change to a user that may not read our folder.
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(NGINX_CONFIG.format(folder=folder, port=port, site=site, user=user, workers=workers, tls=tls,
                                          reuseport=" reuseport" if workers > 1 else ""))
    command = [find_nginx(), "-p", folder, "-c", config, "-e", folder / "nginx-error.log"]
    return Nginx(name, nginx_version(), command, core, folder, port)


STARTERS = {"floor": start_floor, "uvhttp": start_uvhttp, "nginx": start_nginx}
