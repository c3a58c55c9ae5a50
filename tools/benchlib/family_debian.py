"""The distribution's servers: nginx, h2o, lighttpd, Apache and Caddy, each with a configuration for speed as its own documentation advises:
no access log, no limit of requests per connection, room for all connections of the load, files by sendfile.

A server that is started by root would change to a user who may not read our folder, so it is told to stay, or the folder is opened.
"""

import os

from . import servers, tls
from .contender import Contender, ask, find, install

CONNECTIONS = 8192


class Debian(Contender):
    """`program`, and how it says its version."""

    kinds = frozenset({"file", "encoded", "mix"})
    lacking = {"memory": "it answers from memory only by a script", "json": "it answers from memory only by a script",
               "echo": "it has no handlers of one's own"}
    program, version_argument, version_pattern = "", "-v", r"(\d+\.\d+\.\d+)"

    def prepare(self, place):
        install(self.packages)
        self.version = ask([find(self.program), self.version_argument], self.version_pattern)

    def own_folder(self, place):
        folder = place.folder / self.name
        folder.mkdir(exist_ok=True)
        return folder

    def start(self, place, work):
        port = servers.free_port()
        folder = self.own_folder(place)
        config = folder / "config"
        config.write_text(self.config(place, folder, port) + self.tls_config(place, work))
        running = self.server(self.name, self.version, self.command(config, folder), place.cores, folder, port, self.environment(place, folder))
        return self.with_tls(running, place, work)

    server = servers.FileServer

    def config(self, place, folder, port):
        raise NotImplementedError

    def tls_config(self, place, work):
        """What makes HTTPS of it, at the end of its configuration."""
        return ""

    def command(self, config, folder):
        raise NotImplementedError

    def environment(self, place, folder):
        return {}


class Nginx(Debian):
    """nginx.org/en/docs: open_file_cache, sendfile and tcp_nopush; reuseport with several workers."""

    name = title = packages = program = "nginx"
    packages = "peer-nginx"
    configuration = "open_file_cache of 4,096 entries, sendfile, tcp_nopush, gzip_static for the encoded file; from memory: return 200"
    kinds = frozenset({"memory", "json", "file", "encoded", "mix"})
    lacking = {"echo": "nginx has no handler that echoes without a further module"}
    tls = True

    def start(self, place, work):
        certificate = tls.certificate(place.folder) if work.tls else None
        running = servers.start_nginx(place.bin_folder, work, place.site, place.cores, place.folder, self.workers(place), self.name, certificate)
        return self.with_tls(running, place, work)


class NginxWorkers(Nginx):
    """The same with as many workers as asked for and at least two, which share the cores that all others get."""

    name, title = "nginx-workers", "nginx, several workers"
    configuration = f"as nginx, with at least two workers and reuseport. {Nginx.configuration}"

    def workers(self, place):
        return max(2, place.workers)


class H2o(Debian):
    """h2o.examp1e.net/configure: num-threads, file.send-gzip. It keeps files open by itself."""

    name = title = program = "h2o"
    packages = "peer-h2o"
    configuration = "defaults, max-connections 8192, file.send-gzip; over HTTPS the 13 bytes come from a file"
    tls = True

    def lacks(self, work):
        # A file takes the place of the handler, which handshakes and idle connections do not notice.
        return None if work.tls else super().lacks(work)

    def config(self, place, folder, port):
        user = "user: root\n" if os.geteuid() == 0 else ""
        return f"""\
{user}num-threads: {self.workers(place)}
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
"""

    def tls_config(self, place, work):
        if not work.tls:
            return ""
        certificate = tls.certificate(place.folder)
        return f"  ssl:\n    certificate-file: {certificate}\n    key-file: {certificate}\n    minimum-version: TLSv1.2\n"

    def command(self, config, folder):
        return [find(self.program), "-c", config]


class Lighttpd(Debian):
    """redmine.lighttpd.net/projects/lighttpd/wiki, "Performance": epoll, sendfile, no limit of requests, the stat cache told of changes."""

    name = title = program = "lighttpd"
    packages = "peer-lighttpd"
    configuration = "linux-sysepoll, sendfile, stat cache by inotify, 8,192 connections, no limit of requests per connection"
    kinds = frozenset({"file", "mix"})
    lacking = {**Debian.lacking, "encoded": "lighttpd does not look for a gzip beside a file, except by a script"}

    def config(self, place, folder, port):
        workers = f"server.max-worker = {self.workers(place)}\n" if self.workers(place) > 1 else ""
        return f"""\
server.document-root = "{place.site}"
server.bind = "127.0.0.1"
server.port = {port}
server.pid-file = "{folder}/pid"
server.errorlog = "{folder}/errors.log"
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.stat-cache-engine = "inotify"
server.max-fds = {2 * CONNECTIONS + 64}
server.max-connections = {CONNECTIONS}
server.listen-backlog = 4096
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 75
mimetype.assign = (".txt" => "text/plain")
{workers}"""

    def command(self, config, folder):
        return [find(self.program), "-D", "-f", config]


class Apache(Debian):
    """httpd.apache.org/docs/2.4/misc/perf-tuning.html: event MPM, AllowOverride None, FollowSymLinks, EnableSendfile; mod_deflate.html for the
    encoded file. One process for each worker, with 64 threads and room for 8,192 connections."""

    name, title, program = "apache", "Apache (event)", "apache2"
    packages = "peer-apache"
    configuration = "event MPM, one process of 64 threads, sendfile, no .htaccess, no limit of requests per connection; mod_rewrite for the encoded file"
    modules = ("mpm_event", "authz_core", "mime", "headers", "rewrite")
    threads = 64

    def config(self, place, folder, port):
        # Started by root it insists on another user, who must be able to reach the files.
        user = "User nobody\nGroup nogroup\n" if os.geteuid() == 0 else ""
        for path in (place.folder, place.site, folder):
            path.chmod(0o755)
        modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in self.modules)
        workers = self.workers(place)
        return f"""\
ServerRoot {folder}
ServerName 127.0.0.1
PidFile {folder}/pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/errors.log
Listen 127.0.0.1:{port}
ListenBackLog 4096
{modules}
{user}StartServers {workers}
ServerLimit {workers}
ThreadLimit {self.threads}
ThreadsPerChild {self.threads}
MaxRequestWorkers {self.threads * workers}
MinSpareThreads 1
MaxSpareThreads {self.threads * workers}
AsyncRequestWorkerFactor {CONNECTIONS // self.threads}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 75
EnableSendfile On
HostnameLookups Off
TypesConfig /dev/null
AddType text/plain .txt
DocumentRoot {place.site}
<Directory {place.site}>
    AllowOverride None
    Options FollowSymLinks
    Require all granted
</Directory>
<Directory {place.site}/encoded>
    RewriteEngine On
    RewriteCond "%{{HTTP:Accept-encoding}}" "gzip"
    RewriteCond "%{{REQUEST_FILENAME}}\\.gz" "-s"
    RewriteRule "^(.*)\\.txt$" "$1.txt.gz" [QSA]
    RewriteRule "\\.txt\\.gz$" "-" [T=text/plain,E=no-gzip:1]
    <FilesMatch "\\.txt\\.gz$">
        Header append Content-Encoding gzip
        Header append Vary Accept-Encoding
    </FilesMatch>
</Directory>
"""

    def command(self, config, folder):
        return [find(self.program), "-DFOREGROUND", "-f", config]


class CaddyServer(servers.Server):
    paths, files = {"memory": "/memory", "json": "/json"}, "/"


class Caddy(Debian):
    """caddyserver.com/docs/caddyfile: file_server with precompressed, respond for answers from memory; HTTP/1.1 only, no admin endpoint."""

    name, title, program = "caddy", "Caddy", "caddy"
    packages = "peer-caddy"
    version_argument = "version"
    configuration = "file_server with precompressed gzip, respond for answers from memory, no access log, GOMAXPROCS as many as workers"
    kinds = frozenset({"memory", "json", "file", "encoded", "mix"})
    lacking = {"echo": "it has no handlers of one's own"}
    server = CaddyServer

    def config(self, place, folder, port):
        return f"""\
{{
    admin off
    auto_https off
    servers {{
        protocols h1
    }}
}}
http://127.0.0.1:{port} {{
    bind 127.0.0.1
    route {{
        respond /memory "Hello, world
" 200
        header /json Content-Type application/json
        respond /json `{{"message":"Hello, world"}}` 200
        file_server {{
            root {place.site}
            precompressed gzip
        }}
    }}
}}
"""

    def command(self, config, folder):
        return [find(self.program), "run", "--config", config, "--adapter", "caddyfile"]

    def environment(self, place, folder):
        return {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "GOMAXPROCS": str(self.workers(place))}
