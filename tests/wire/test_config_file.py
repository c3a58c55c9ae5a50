"""`uvhttp run` and `uvhttp check`: the server applies a configuration file, and errors in a file
are reported with their line and column."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import httpx
import pytest
import yaml

import raw
from program import Program, clean_environment, run, with_free_port
from wire_server import built, eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted((ROOT / "examples" / "config").glob("*.yaml"))
LOCAL = "listen: 127.0.0.1:0\n"
RESPOND = "sites: [{routes: [{path: /, respond: {body: hello}}]}]\n"


@pytest.fixture
def write(tmp_path):
    """write("listen: ..."): the path of a configuration file next to the directory `site`."""
    (tmp_path / "site" / "assets").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("the index\n")
    (tmp_path / "site" / "assets" / "style.css").write_text("a {}\n")
    (tmp_path / "site" / ".hidden").write_text("hidden\n")

    def writer(text, name="site.yaml"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


@pytest.fixture
def start(write):
    """start("sites: ...", "--flag"): `uvhttp run` of that text on a free port of 127.0.0.1."""
    running = []

    def starter(text, *arguments, **options):
        path = text if isinstance(
            text, pathlib.Path) else write(text if isinstance(text, bytes) or "listen:" in
                                           text else LOCAL + text)
        running.append(Program("uvhttp", "run", *arguments, path, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def get(program, target="/", host=None, method="GET"):
    headers = {"Host": host} if host else {}
    with httpx.Client(trust_env=False) as client:
        return client.request(method, f"http://127.0.0.1:{program.port}{target}", headers=headers)


def problems(path, *arguments, environment=None):
    """The output of `check`, without the name of the file. `run -t` prints the same."""
    done = run("uvhttp", "check", *arguments, path, environment=environment)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    again = run("uvhttp", "run", "--test", *arguments, path, environment=environment)
    assert (again.returncode, again.stdout, again.stderr) == (1, "", done.stderr)
    assert all(line.startswith(f"{path}:") for line in done.stderr.splitlines()), done.stderr
    return [line[len(str(path)) + 1:].strip() for line in done.stderr.splitlines()]


def limits():
    header = (ROOT / "include/uvhttp/config.h").read_text()
    return re.findall(r"^    size_t (\w+);", header, re.M)


def in_force(*arguments, environment=None):
    """{limit: number} of --print-config."""
    done = run("uvhttp", *arguments, environment=environment)
    assert done.returncode == 0, done.stderr
    return {
        name: int(number)
        for name, number in re.findall(r"^  (\w+): (\d+)  #", done.stdout, re.M)
    }


# Served configurations


def test_static_routes_serve_directories(start):
    program = start("""
sites:
  - routes:
      - {path: /, static: site}
      - {path: /list/, static: site, listing: true, index: "", hidden: yes,
         prewarm: [/assets/style.css]}
      - path: /style/:any
        static: site/assets
      - path: /assets/*
        static: site/assets
        headers: {Cache-Control: max-age=60}
""")
    assert get(program).text == "the index\n"
    assert get(program, "/.hidden").status_code == 404
    assert "style.css" not in get(program, "/assets/").text
    assert get(program, "/list/.hidden").text == "hidden\n"
    listing = get(program, "/list/")
    assert listing.status_code == 200 and "index.html" in listing.text and "assets" in listing.text
    css = get(program, "/assets/style.css")
    assert css.text == "a {}\n" and css.headers["cache-control"] == "max-age=60"
    assert "cache-control" not in get(program).headers
    assert get(program, "/", method="POST").status_code == 405
    assert get(program, "/nowhere").status_code == 404


def test_upload_route(start, tmp_path):
    (tmp_path / "in").mkdir()
    program = start("""
sites:
  - routes:
      - {path: /in/, static: in, uploads: true, upload_max_size: 5}
      - {path: /read/, static: in}
  - hosts: other.example
    routes:
      - {path: /*, static: in, uploads: true, upload_overwrite: true, upload_directories: true,
         upload_sync: true}
""")

    def put(target, body=b"abc", host="localhost"):
        return program.request(target, f"Content-Length: {len(body)}", method="PUT", body=body,
                               host=host)

    assert [
        put("/in/x").status,
        put("/in/x").status,
        put("/in/y", b"longer").status,
        put("/in/a/x").status
    ] == [201, 409, 413, 409]
    assert put("/read/x").status == 405
    assert [put("/x", host="other.example").status,
            put("/a/x", host="other.example").status] == [204, 201]
    assert get(program, "/read/a/x").text == "abc"


def test_upload_path_of_another_route_is_rejected(write, tmp_path):
    (tmp_path / "in").mkdir()
    response = run(
        "uvhttp", "check",
        write("""
sites:
  - routes:
      - {path: "/in/*", methods: [POST], redirect: /}
      - {path: /in/, static: in, uploads: true}
"""))
    assert response.returncode != 0 and "already exists, in line 4" in response.stderr


def test_static_route_options(start, tmp_path):
    """A file is revalidated after `revalidate_ms`, and the first existing index file is served. One
    worker, since each one has its own cache."""
    (tmp_path / "site").mkdir(exist_ok=True)
    program = start("""
server: {workers: 1}
sites:
  - routes:
      - {path: /, static: site, index: "none.html start.htm", revalidate_ms: 3600000,
         cache_memory: 1MiB, cache_entries: 10, memory_file_size: 4K}
""")
    page = tmp_path / "site" / "start.htm"
    page.write_text("first\n")
    assert get(program).text == "first\n"
    page.write_text("other\n")
    assert get(program).text == "first\n"


def test_upgrade_field_is_listed_in_connection(start):
    """RFC 9110 section 7.8. The field is set on a fixed response, and on a file with a prepared
    head."""
    program = start("""sites:
  - routes:
      - {path: /, headers: {Upgrade: h2}, respond: {body: hello}}
      - {path: /files/*, static: site, rules: [{match: '**', headers: {Upgrade: h2, X-A: 1}}]}
""")
    for target in ("/", "/files/assets/style.css", "/files/assets/style.css"):
        response = get(program, target)
        assert (response.status_code, response.headers["Upgrade"],
                response.headers["Connection"]) == (200, "h2", "Upgrade"), target


@pytest.mark.parametrize("status", [None, 301, 302, 303, 307, 308])
def test_redirect_routes(start, status):
    said = f", status: {status}" if status else ""
    program = start(f"""
sites:
  - routes:
      - {{path: /old, redirect: /new{said}}}
      - {{path: /*, redirect: "https://example.com/a{{target}}"{said}}}
""")
    for method in ("GET", "POST"):
        response = get(program, "/old?x=1", method=method)
        assert (response.status_code, response.headers["location"]) == (status or 302, "/new")
    assert get(program, "/b%20c?d=e%26").headers["location"] == "https://example.com/a/b%20c?d=e%26"
    assert get(program,
               "//evil.example").headers["location"] == "https://example.com/a//evil.example"


def test_fixed_responses(start):
    program = start("""
sites:
  - routes:
      - {path: /, respond: {body: "a\\nb"}}
      - {path: /empty, respond: {status: 204}}
      - {path: /gone, respond: {status: 410, type: text/html, body: "<p>"},
         methods: [GET, PUT, PURGE]}
""")
    assert (get(program).text,
            get(program).headers["content-type"]) == ("a\nb", "text/plain; charset=utf-8")
    assert get(program, method="HEAD").headers["content-length"] == "3"
    assert get(program, method="POST").status_code == 405
    assert get(program, "/empty").status_code == 204
    for method in ("GET", "PUT", "PURGE"):
        response = get(program, "/gone", method=method)
        assert (response.status_code, response.text,
                response.headers["content-type"]) == (410, "<p>", "text/html")
    assert {"GET", "HEAD", "PUT",
            "PURGE"} <= set(get(program, "/gone", method="POST").headers["allow"].split(", "))


SITES = """
metrics: /metrics
sites:
  - hosts: [www.example.com, example.com]
    slash: redirect
    headers: {X-Site: named, X-Own: site}
    routes:
      - {path: /, respond: {body: named}}
      - {path: /x, respond: {body: x}, headers: {x-own: route}}
  - hosts: "*.example.com"
    slash: ignore
    routes:
      - {path: /x/, respond: {body: below}}
  - headers: {X-Site: rest}
    routes:
      - {path: /, respond: {body: rest}}
      - {path: /x, respond: {body: restx}, headers: {X-Site: route}}
"""


def test_probes_are_served_for_any_host(start):
    program = start("health: true\n" + SITES)
    for host in ("www.example.com", "other.example", None):
        assert get(program, "/healthz", host=host).text == "alive\n"
        assert get(program, "/readyz", host=host).text == "ready\n"
    assert get(start(SITES), "/healthz").status_code == 404


def test_rewrites_do_not_apply_to_probes(start):
    program = start("health: true\nsites: [{rewrites: [{path: /*, to: /x}], "
                    "routes: [{path: /x, respond: {body: x}}]}]\n")
    assert get(program, "/readyz?a=b").text == "ready\n"
    assert get(program, "/healthz").text == "alive\n" and get(program, "/health").text == "x"
    for target, body in (("http://a.test/healthz?a", b"alive\n"), ("http://a.test", b"x"),
                         ("/a://b/healthz", b"x")):
        assert program.request(target).body == body


def test_path_of_health_probe_is_refused_as_route(write):
    routes = ", ".join(f"{{path: {path}, respond: {{}}}}" for path in ("/readyz", "/readyz/x"))
    text = f"sites: [{{routes: [{routes}]}}]\n"
    assert problems(write("health: true\n" + text)) == [
        "2:26: the path '/readyz' is that of 'health: true'; use another one"]
    assert run("uvhttp", "check", write(text)).returncode == 0


@pytest.mark.parametrize("text, message", [
    ("access_log: [a.log]\n" + RESPOND,
     "1:13: access_log: expected a map of keys and values, found a list"),
    ("access_log: site\n" + RESPOND, "1:13: the access log 'PATH/site' cannot be written: "
     "illegal operation on a directory"),
    ("sites: [{access_log: [x], routes: [{path: /, respond: {}}]}]\n",
     "1:22: access_log: expected a map of keys and values, found a list"),
])
def test_access_log_must_be_a_file(write, tmp_path, text, message):
    assert problems(write(text)) == [message.replace("PATH", str(tmp_path))]


def test_host_selects_site(start):
    program = start(SITES)
    for host, text in (("www.example.com", "named"), ("EXAMPLE.com:8080", "named"),
                       ("other.example", "rest"), (None, "rest")):
        assert get(program, host=host).text == text
    assert get(program, "/x", host="a.b.example.com").text == "below"
    assert get(program, "/", host="a.example.com").status_code == 404
    slash = get(program, "/x/", host="example.com")
    assert (slash.status_code, slash.headers["location"]) == (308, "/x")
    assert get(program, "/x/").status_code == 404
    # Metrics are served by the site of all other hosts.
    assert "uvhttp_requests_total" in get(program, "/metrics").text
    assert get(program, "/metrics", host="example.com").status_code == 404


def test_route_stats_add_metrics_by_route(start):
    program = start(SITES, "--route-stats", "10")
    get(program, "/x")
    get(program, "/x", host="example.com")
    get(program, "/none")
    text = get(program, "/metrics").text
    for labels in ('route="/x",method="GET",class="2xx"',
                   'host="example.com",route="/x",method="GET",class="2xx"',
                   'route="unmatched",method="GET",class="4xx"'):
        assert f"uvhttp_route_duration_seconds_count{{{labels}}} 1\n" in text
    assert "by route" not in get(start(SITES), "/metrics").text


def test_access_log_has_route(start, tmp_path):
    log = tmp_path / "route.log"
    program = start(f'access_log: {{path: {log}, pattern: "{{route}} {{status}}"}}\n' + SITES)
    get(program, "/x")
    get(program, "/none")
    assert program.stop() == 0
    assert log.read_text() == "/x 200\n- 404\n"


def test_headers_of_sites_and_routes(start):
    program = start(SITES)

    def fields(target, host=None, method="GET"):
        response = get(program, target, host, method)
        return [response.headers.get_list(name) for name in ("x-site", "x-own")]

    assert fields("/", "example.com") == [["named"], ["site"]]
    assert fields("/x", "example.com") == [["named"], ["route"]]
    for target, method in (("/nowhere", "GET"), ("/", "DELETE"), ("/x/", "GET"), ("/", "OPTIONS")):
        assert fields(target, "example.com", method) == [["named"], ["site"]]
    assert fields("/x", "a.example.com") == [[], []]
    assert fields("/", None) == [["rest"], []]
    assert fields("/x", None) == [["route"], []]
    assert fields("/nowhere", "other.example") == [["rest"], []]


def test_limits_are_applied(start):
    program = start("server: {max_target_size: 20, max_header_count: 3}\n" + RESPOND)
    assert get(program, "/" + "x" * 30).status_code == 414
    assert program.request("/", "A: 1", "B: 2", "C: 3").status == 431


def test_log_level(start):
    program = start("log: {level: debug}\n" + RESPOND)
    get(program, "/asked?x")
    assert program.stop() == 0
    assert "debug 127.0.0.1 GET /asked?x 404 " in program.log()
    program = start("log: {level: debug}\n" + RESPOND, environment={"UVHTTP_VERBOSE": "off"})
    assert program.stop() == 0


def test_several_listen_addresses(start):
    program = with_free_port(lambda: start('listen: [127.0.0.1:0, "127.0.0.2:0"]\n' + RESPOND))
    assert program.urls == [f"http://127.0.0.{n}:{program.port}/" for n in (1, 2)]


def test_first_line_names_configuration_file(start, write):
    path = write(LOCAL + RESPOND)
    assert start(path).line.startswith(f"uvhttp: running {path} at http://127.0.0.1:")


def test_root_is_relative_to_configuration_file(start, write, tmp_path):
    path = write(LOCAL + "sites: [{routes: [{path: /, static: site}]}]\n")
    assert get(start(path, cwd="/")).text == "the index\n"
    assert get(start(pathlib.Path("site.yaml"), cwd=tmp_path)).text == "the index\n"


def test_unix_socket_is_relative_to_configuration_file(start, write, tmp_path):
    program = start("listen: [127.0.0.1:0, unix:site.sock]\n" + RESPOND)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "site.sock"))
    assert program.line.split()[-1] == f"unix:{tmp_path}/site.sock"
    path = write("listen: ['unix:@uvhttp-test', unix:/run/a.sock]\n" + RESPOND)
    printed = run("uvhttp", "run", "--print-config", path).stdout
    assert yaml.safe_load(printed)["listen"] == [{"unix": "@uvhttp-test"}, {"unix": "/run/a.sock"}]


def test_configuration_from_standard_input(tmp_path):
    done = subprocess.run([built("uvhttp"), "check", "-"], input=RESPOND, capture_output=True,
                          text=True, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "-: configuration OK\n",
                                                           "")


# The access log


def lines_of(path, count):
    return eventually(
        lambda: path.exists() and len(path.read_text().splitlines()) == count and path.read_text().
        splitlines(), f"{count} lines in {path}")


@pytest.mark.parametrize(
    "format, pattern",
    [("common", r'127\.0\.0\.1 - - \[.*\] "GET /a HTTP/1.1" 404 \d+'),
     ("combined", r'127\.0\.0\.1 - - \[.*\] "GET /a HTTP/1.1" 404 \d+ "-" "python-httpx.*"'),
     ("json", r'\{.*"target":"/a".*"status":404.*\}'), ])
def test_access_log_formats(start, tmp_path, format, pattern):
    program = start(
        f"access_log: {{path: access.log, format: {format}, flush_ms: 1, buffer_size: 64K}}\n" +
        RESPOND)
    get(program, "/a")
    line, = lines_of(tmp_path / "access.log", 1)
    assert re.fullmatch(pattern, line)
    if format == "json":
        assert json.loads(line)["method"] == "GET"


def test_access_log_pattern(start, tmp_path):
    program = start(
        'access_log: {path: access.log, pattern: "{method} {target} {{x {status}", flush_ms: 1}\n' +
        RESPOND)
    get(program, "/a")
    assert lines_of(tmp_path / "access.log", 1) == ["GET /a {x 404"]


@pytest.mark.parametrize("format", ["common", "json"])
def test_access_log_has_address_of_disconnected_client(start, tmp_path, format):
    program = start(f"access_log: {{path: access.log, format: {format}, flush_ms: 1}}\n"
                    "sites: [{routes: [{path: /, static: site}]}]\n")
    with open(tmp_path / "site" / "large", "wb") as large:
        large.truncate(100_000_000)
    with program.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/large"))
        connection.head()
        connection.reset()
    line, = lines_of(tmp_path / "access.log", 1)
    if format == "json":
        entry = json.loads(line)
        assert (entry["client"], entry["status"], entry["aborted"]) == ("127.0.0.1", 200, True)
    else:
        assert re.fullmatch(r'127\.0\.0\.1 - - \[.*\] "GET /large HTTP/1.1" 200 \d+', line)


@pytest.mark.parametrize("line, message", [
    ("root: /srv", "unknown key 'root' in a route: use 'static' of a route"),
    ("gzip: on", "unknown key 'gzip' in a route: use 'compress' or 'precompressed' of a route"),
    ("apps: {}", "unknown key 'apps' in a route: this is a configuration of Caddy; to translate it "
     "see 'uvhttp help nginx'"),
    ("redirects: []",
     "unknown key 'redirects' in a route: use 'redirect' of a route, one for each path"),
    ("permanent: true", "unknown key 'permanent' in a route: use 'status' of a route, such as 308, "
     "beside 'redirect'"),
    ("proxy_pass: http://a",
     "unknown key 'proxy_pass' in a route: uvhttp does not forward requests to other servers"),
    ("tls: {}", "unknown key 'tls' in a route: 'tls' is a key of the file, at the top level"),
    ("hosts: a", "unknown key 'hosts' in a route: 'hosts' is a key of a site, in the list 'sites'"),
    ("http2: true",
     "unknown key 'http2' in a route: 'http2' is a key of 'server', at the top level"),
])
def test_keys_of_other_servers_and_levels_have_hints(write, line, message):
    first, *extra = problems(write(f"sites: [{{routes: [{{path: /, {line}, respond: {{}}}}]}}]\n"))
    assert first == "1:29: " + message and not extra


def test_hints_name_existing_keys():
    """Each key in quotes in the table of hints is one that a configuration has."""
    table = (ROOT / "app/config_hint.c").read_text()
    known = set(re.findall(r"^#* *(?:- )?#? *(?:- )?{?(\w+):", (ROOT / "docs/configuration.md")
                           .read_text(), re.M)) | {"max_body_size", "http2_max_streams",
                                                                "include"}
    named = set(re.findall(r"'(\w+)(?:: true)?'", table))
    known |= {"self_signed", "workers", "file", "drain_delay"}
    assert len(named) > 20 and named <= known, named - known


def test_byte_order_mark_is_accepted(start):
    program = start(b"\xef\xbb\xbf" + (LOCAL + RESPOND).encode())
    assert get(program).text == "hello"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_signal_reopens_access_log(start, tmp_path, number):
    # One worker has written the line of a response before it handles the signal.
    program = start("server: {workers: 1}\naccess_log: access.log\n" + RESPOND)
    get(program, "/before")
    (tmp_path / "access.log").rename(tmp_path / "access.log.1")
    program.send_signal(number)
    eventually((tmp_path / "access.log").exists, "a new access log")
    get(program, "/after")
    assert program.stop() == 0
    assert "/before" in (tmp_path / "access.log.1").read_text()
    assert re.findall(r'"GET (\S+)', (tmp_path / "access.log").read_text()) == ["/after"]
    assert f"Z info signal {number.name}: reopening the access logs\n" in program.log()


def test_failed_reopen_of_access_log_is_logged(start, tmp_path):
    (tmp_path / "logs").mkdir()
    program = start("access_log: logs/access.log\n" + RESPOND)
    (tmp_path / "logs").rename(tmp_path / "gone")
    program.send_signal(signal.SIGHUP)
    eventually(lambda: re.search(r"Z error log .*access\.log cannot be reopened", program.log()),
               "the error is logged")
    get(program, "/after")
    assert program.stop() == 0
    assert "GET /after" in (tmp_path / "gone" / "access.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_signal_without_access_log_is_ignored(start, number):
    program = start(RESPOND)
    for _ in range(3):
        program.send_signal(number)
        assert get(program).text == "hello"


def test_missing_directories_are_reported_with_other_errors(write):
    sites = ("sites:\n  - {hosts: a.test, routes: [{path: /, static: no1}]}\n"
             "  - {hosts: b.test, routes: [{path: /, static: site, more_roots: [no2]}]}\n")
    both = ["2:48: the directory '{0}/no1' does not exist",
            "3:67: the directory '{0}/no2' does not exist"]
    for text, others in ((sites, []), (sites + "bad: 1\n", ["4:1: unknown key 'bad' in the "
                                                            "configuration"]),
                         (sites + "  - {hosts: A.test, routes: [{path: /, respond: {}}]}\n",
                          ["4:13: duplicate host 'A.test'; line 2 has it as 'a.test'"])):
        path = write(text)
        assert problems(path) == [line.format(path.parent) for line in both] + others


@pytest.mark.parametrize("bytes_sent, expected", [
    (b"GET /a?b HTTP/1.1\r\nBad Field: x\r\nHost: a\r\n\r\n", "GET /a?b HTTP/1.1 400"),
    (b"GET /a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.1 400"),
    (b"\r\nGET /a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.1 400"),
    (b"PUT /a HTTP/1.0\r\nContent-Length: x\r\n\r\n", "PUT /a HTTP/1.0 400"),
    (b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%zz HTTP/1.1 400"),
    (b"GET /a HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n", "GET /a HTTP/1.1 431"),
    (b"GET /a HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 20000 + b"\r\n\r\n", "GET /a HTTP/1.1 431"),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", "GET /" + "x" * 500),
    (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "- 400"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "- 400"),
])
def test_rejected_requests_are_logged_with_request_line(start, tmp_path, bytes_sent, expected):
    program = start("access_log: {path: access.log, pattern: '{request} {status}'}\n" + RESPOND)
    with program.connect() as connection:
        connection.send(bytes_sent)
        assert connection.response().status in (400, 414, 431)
    line, = lines_of(tmp_path / "access.log", 1)
    assert line == expected if len(expected) < 100 else line.startswith(expected)


def test_access_log_flag_replaces_that_of_file(start, tmp_path):
    program = start("access_log: {path: access.log, format: json}\n" + RESPOND,
                    "--access-log=other.log", cwd=tmp_path)
    get(program, "/a")
    assert program.stop() == 0
    assert not (tmp_path / "access.log").exists()
    assert json.loads((tmp_path / "other.log").read_text())["target"] == "/a"
    printed = run("uvhttp", "run", "--print-config", "--access-log=x.log", tmp_path / "site.yaml",
                  cwd=tmp_path).stdout
    assert yaml.safe_load(printed)["access_log"]["path"] == f"{tmp_path}/x.log"


@pytest.mark.parametrize("cors", ["https://a.test", "[https://b.test, https://a.test]", "'*'"])
def test_cors_of_site(start, cors):
    program = start(f"sites: [{{cors: {cors}, routes: [{{path: /, static: site}}]}}, "
                    "{hosts: other.test, routes: [{path: /, static: site}]}]\n")
    origin = "Origin: https://a.test"
    expected = "*" if "*" in cors else "https://a.test"
    preflight = (origin, "Access-Control-Request-Method: GET")
    assert program.request("/", origin).get("Access-Control-Allow-Origin") == expected
    assert program.request("/", *preflight, method="OPTIONS").status == 204
    assert get(program, host="other.test").headers.get("Access-Control-Allow-Origin") is None
    other = program.request("/", "Host: other.test", *preflight, method="OPTIONS", host=None)
    assert other.get("Access-Control-Allow-Origin") is None


def test_invalid_cors_of_site(write):
    first, *extra = problems(write("sites: [{cors: a, routes: [{path: /, respond: {}}]}]\n"))
    assert first.startswith("1:16: cors: 'a' is invalid; allowed are") and not extra


# Included files


def included(write, **texts):
    """Writes files; `a__b` is a/b.yaml."""
    for name, text in texts.items():
        path = write("", "x").parent / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return write("", "x").parent


def test_include_adds_sites_and_keys(write):
    directory = included(
        write, site="include: [limits.yaml, 'sites/*.yaml', 'none/*.yaml']\n" + LOCAL + RESPOND,
        limits="server: {max_connections: 7}\n",
        sites__a="sites: [{hosts: a.test, routes: [{path: /, respond: {body: a}}]}]\n",
        sites__b="include: ../more.yaml\n"
        "sites: [{hosts: b.test, routes: [{path: /, static: files, more_roots: [.]}]}]\n",
        more="sites: [{hosts: c.test, routes: [{path: /, respond: {body: '${X:-c}'}}]}]\n")
    (directory / "sites/files").mkdir()
    (directory / "sites/files/index.html").write_text("b")
    os.mkfifo(directory / "sites/queue.yaml")
    program = Program("uvhttp", "run", directory / "site.yaml")
    try:
        bodies = [get(program, host=f"{name}.test").text for name in "abcd"]
        assert bodies == ["a", "b", "c", "hello"]
    finally:
        assert program.stop() == 0
    printed = yaml.safe_load(run("uvhttp", "run", "--print-config", directory / "site.yaml").stdout)
    assert printed["server"]["max_connections"] == 7 and len(printed["sites"]) == 4
    route = [site for site in printed["sites"] if site.get("hosts") == ["b.test"]][0]["routes"][0]
    assert (route["static"], route["more_roots"]) == (f"{directory}/sites/files",
                                                      [f"{directory}/sites/."])


def test_include_of_unix_socket_is_relative_to_its_file(write):
    directory = included(write, site="include: a/b.yaml\n", a__b="listen: unix:x\n" + RESPOND)
    printed = run("uvhttp", "run", "--print-config", directory / "site.yaml").stdout
    assert f'unix: "{directory}/a/x"' in printed


def test_include_errors_have_file_line_and_column(write):
    directory = included(
        write, site="listen: 1\ninclude: [a/one.yaml, a/two.yaml, a/none.yaml, a]\n"
        "sites: [{routes: [{path: /, respond: {}}]}]\nbad: 1\n",
        a__one="listen: 2\n# x\nworse: 3\n",
        a__two="sites:\n  - {hosts: [A.test], routes: [{path: /, respnd: {}}]}\n")
    done = run("uvhttp", "check", "site.yaml", cwd=directory)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "site.yaml:2:35: cannot include 'a/none.yaml': the file does not exist",
        "site.yaml:2:48: cannot include 'a': is a directory, not a configuration file",
        "site.yaml:4:1: unknown key 'bad' in the configuration",
        "a/one.yaml:1:1: duplicate key 'listen'; the first is in line 1 of site.yaml",
        "a/one.yaml:3:1: unknown key 'worse' in the configuration",
        "a/two.yaml:2:32: a route requires 'static', 'redirect' or 'respond'",
        "a/two.yaml:2:42: unknown key 'respnd' in a route; did you mean 'respond'?",
    ]


def test_include_names_file_of_other_line(write):
    directory = included(
        write, site="include: a.yaml\nsites: [{hosts: a.test, routes: [{path: /, respond: {}}]}]\n",
        a="\n\nsites: [{hosts: A.test, routes: [{path: /, respond: {}}]}]\n")
    done = run("uvhttp", "check", "site.yaml", cwd=directory)
    assert done.stderr == ("a.yaml:3:17: duplicate host 'A.test'; line 2 of site.yaml has it as "
                           "'a.test'\n")


@pytest.mark.parametrize("files, error", [
    ({"site": "include: site.yaml\n"},
     "site.yaml:1:10: cannot include 'site.yaml': it is this file"),
    ({"site": "include: a/b.yaml\n", "a__b": "include: ['../a/../site.yaml']\n"},
     "a/b.yaml:1:11: cannot include 'a/../a/../site.yaml': it includes this file"),
    ({"site": "include: a.yaml\n", "a": "[1]\n"},
     "a.yaml:1:1: expected a map of keys and values, as in the main file"),
    ({"site": "include: a.yaml\n", "a": "# nothing\n"}, "a.yaml: the file is empty"),
    ({"site": "include: a.yaml\n", "a": "x: [\n"}, "a.yaml:2:1: invalid YAML: "),
    ({"site": "include: {a: b}\n"},
     "site.yaml:1:10: include: expected a single value, found a map"),
])
def test_include_is_rejected(write, files, error):
    directory = included(write, **{name: text for name, text in files.items()})
    with open(directory / "site.yaml", "a") as site:
        site.write(RESPOND)
    done = run("uvhttp", "check", "site.yaml", cwd=directory)
    assert done.returncode == 1 and done.stderr.startswith(error) and done.stderr.count("\n") == 1


def test_include_of_fifo_is_rejected(write, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert problems(write("include: fifo\n")) == [
        f"1:10: cannot include '{tmp_path}/fifo': it is a FIFO, which a reload could not read"]


def test_include_from_standard_input_is_relative_to_current_directory(write):
    directory = included(write, a=RESPOND)
    done = subprocess.run([built("uvhttp"), "check", "-"], input="include: a.yaml\n", text=True,
                          capture_output=True, cwd=directory, env=clean_environment())
    assert done.stdout == "-: configuration OK\n", done.stderr


# Precedence


def test_precedence_of_options_variables_file_defaults(write):
    path = write("server: {max_connections: 11, header_timeout: 12s, body_timeout: 13}\n" + RESPOND)
    found = in_force("run", "--print-config", "--body-timeout", "2min", path,
                     environment={"UVHTTP_HEADER_TIMEOUT": "21", "UVHTTP_BODY_TIMEOUT": "22"})
    assert (found["max_connections"], found["header_timeout"], found["body_timeout"]) == (11, 21,
                                                                                          120)
    assert (found["write_timeout"], found["max_body_size"]) == (60, 4096)


SWITCHES = {"http2": "true", "overload_guard": "false"}  # numbers that are booleans, their defaults


@pytest.mark.parametrize("name", sorted(set(limits()) - {*SWITCHES}))
def test_limit_has_key_and_variable(write, name):
    plain, path = write(RESPOND, "plain.yaml"), write("")
    _, low, high = re.search(rf"^  {name}: (\d+)  # \w+, (\d+) to (\d+):",
                             run("uvhttp", "run", "--print-config", plain).stdout, re.M).groups()
    value = min(int(high), max(int(low), 200)) if name != "buffer_size" else 65536
    path.write_text(f"server: {{{name}: {value}}}\n" + RESPOND)
    assert in_force("run", "--print-config", path)[name] == value
    assert in_force("run", "--print-config", plain,
                    environment={"UVHTTP_" + name.upper(): str(value)})[name] == value
    path.write_text(f"server:\n  {name}: {int(high) + 1}\n" + RESPOND)
    assert problems(path) == [
        f"2:{len(name) + 5}: {name} is {int(high) + 1}; allowed are {low} to {high} " +
        unit_of(plain, name)
    ]
    done = run("uvhttp", "check", plain, environment={"UVHTTP_" + name.upper(): "x"})
    assert done.returncode == 2 and f"UVHTTP_{name.upper()}: {name}: 'x' is not a" in done.stderr


@pytest.mark.parametrize("name", SWITCHES)
def test_switch_is_a_boolean(write, name):
    def printed(*arguments, **environment):
        done = run("uvhttp", "run", "--print-config", *arguments, environment=environment)
        return re.search(rf"^  {name}: (\w+)  # ", done.stdout, re.M).group(1)

    plain, path = write(RESPOND, "plain.yaml"), write("")
    variable, flag = "UVHTTP_" + name.upper(), name.replace("_", "-")
    assert printed(plain) == SWITCHES[name]
    for text, shown in (("false", "false"), ("no", "false"), ("0", "false"), ("true", "true"),
                        ("on", "true"), ("1", "true")):
        path.write_text(f"server: {{{name}: {text}}}\n" + RESPOND)
        assert printed(path) == printed(plain, **{variable: text}) == shown
    assert (printed(plain, "--" + flag), printed(plain, "--no-" + flag)) == ("true", "false")
    path.write_text(f"server: {{{name}: 2}}\n" + RESPOND)
    assert problems(path) == [f"1:{len(name) + 12}: {name} is '2'; allowed are true and false"]
    done = run("uvhttp", "check", plain, environment={variable: "x"})
    assert done.returncode == 2 and f"{variable}: 'x' is invalid" in done.stderr


def test_exit_codes_of_usage_and_file_errors(write):
    plain = write(RESPOND, "plain.yaml")
    together = write("server: {buffer_size: 4K, max_header_size: 16K}\n" + RESPOND)
    for command in ("run", "check"):
        assert run("uvhttp", command, plain, "--workers", "1025").returncode == 2
        assert run("uvhttp", command, plain, "--port", "99999").returncode == 2
        assert run("uvhttp", command, together).returncode == 1


def unit_of(path, name):
    return re.search(rf"^  {name}: \d+  # (\w+),",
                     run("uvhttp", "run", "--print-config", path).stdout, re.M).group(1)


def test_addresses_of_flags_and_variables_replace_file(write):
    path = write("listen: [127.0.0.1:1, 127.0.0.1]\n" + RESPOND)

    def addresses(*arguments, environment=None):
        out = run("uvhttp", "run", "--print-config", *arguments, path,
                  environment=environment).stdout
        return re.findall(r'^  - "(.*)"$', out.split("\nlog:")[0], re.M)

    assert addresses() == ["127.0.0.1:1", "127.0.0.1:8080"]
    assert addresses("-p", "99") == ["127.0.0.1:1", "127.0.0.1:99"]
    environment = {"UVHTTP_LISTEN": "[::1]:2 127.0.0.9", "UVHTTP_PORT": "3"}
    assert addresses(environment=environment) == ["[::1]:2", "127.0.0.9:3"]
    assert addresses("-l", "127.0.0.7:4", "-l", ":5",
                     environment=environment) == ["127.0.0.7:4", "*:5"]
    for listen in ("8080", "':8080'", "'*:8080'", "['*']"):
        path = write(f"listen: {listen}\n" + RESPOND)
        assert addresses() == ["*:8080"]
    assert re.search(r'"\*:8080"',
                     run("uvhttp", "run", "--print-config", write(RESPOND)).stdout)


# Printing

STRANGE = """
access_log: {path: "-", pattern: "{target} $$ \\"", buffer_size: 1MiB, flush_ms: 7}
metrics: {path: "/m$$", listen: "[::1]:9100"}
log: {level: warning}
sites:
  - hosts: ["*.a.example", b.example]
    slash: ignore
    headers: {X-A: "a # b: 'c' $$5", X-B: "é\\u2028€\\U0001F600"}
    routes:
      - {path: /a, methods: [GET, POST], redirect: "https://x.example/{target}", status: 307,
         headers: {X-$C: "1"}}
      - {path: /b, redirect: "/-%20no"}
      - {path: "/c d", respond: {status: 404, body: "\\x01\\t\\r\\n\\x85\\\\ ${TEXT}", type: "a/b"}}
      - {path: /f/, static: site, index: "", listing: true, hidden: true, cache_memory: 3M,
         cache_entries: 4, listing_max: 8, archive: yes, archive_entries: 9, archive_size: 2K,
         memory_file_size: 5K, revalidate_ms: 6, precompressed: true, compress: true,
         compress_min_size: 1, compress_max_size: 2K, gzip_level: 1, brotli_level: 2, zstd_level: 3,
         rate_limit: 7M, rate_burst: 8K, uploads: true, upload_max_size: 7K, upload_overwrite: true,
         upload_directories: true, upload_sync: true, prewarm: [/index.html, "**/*.html"],
         watch: true, negative_ms: 7, cache_descriptors: 8}
"""


def test_printed_configuration_loads_again(write):
    environment = {"TEXT": "x: [ # \n- '\"\\ ${{HOME}} $$ \x7f ü"}
    once = run("uvhttp", "run", "--print-config", write(STRANGE), environment=environment)
    assert once.returncode == 0, once.stderr
    for wanted in ("listing: true", 'index: ""', "cache_memory: 3145728", "revalidate_ms: 6",
                   "compress_max_size: 2048", "zstd_level: 3", "rate_limit: 7340032",
                   "rate_burst: 8192", "watch: true", "negative_ms: 7", "cache_descriptors: 8",
                   '- "**/*.html"', "listing_max: 8", "archive: true", "archive_entries: 9",
                   "archive_size: 2048", "uploads: true", "upload_max_size: 7168",
                   "upload_overwrite: true", "upload_sync: true", "status: 307", "slash: ignore",
                   'path: "/m$$"', 'listen: "[::1]:9100"', "level: warning", "flush_ms: 7",
                   '"https://x.example/{target}"', "$$5"):
        assert wanted in once.stdout
    again = run("uvhttp", "run", "--print-config", write(once.stdout, "again.yaml"))
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == once.stdout
    assert yaml.safe_load(once.stdout)["sites"][0]["routes"][2]["respond"]["body"] == \
        "\x01\t\r\n\x85\\ " + environment["TEXT"].replace("$$", "$$$$").replace("${", "$${")


def test_serve_print_config_equals_run(write, start, tmp_path):
    write("")
    done = run("uvhttp", "serve", "--print-config", "-l", "127.0.0.1:0", "--max-connections", "77",
               "--hidden", "--no-listing", "--index", "assets", tmp_path / "site")
    assert done.returncode == 0
    printed = write(done.stdout)
    program = start(printed)
    assert get(program, "/.hidden").text == "hidden\n" and get(program).status_code == 403
    assert in_force("run", "--print-config", printed)["max_connections"] == 77


# Invalid configurations

FOREIGN = ("not a configuration of uvhttp, which is YAML, a map of keys and values: see 'uvhttp "
           "help config'; to translate one of nginx, Caddy or Apache see 'uvhttp help nginx' and "
           "docs/coming-from.md")


@pytest.mark.parametrize("text, expected", [
    ("", "the file is empty"), ("# nothing\n", "the file is empty"), ("---\n", "the file is empty"),
    ("just text\n", FOREIGN),
    ("- a\n", FOREIGN),
    ("server {\n  root /srv$uri;\n}\n", FOREIGN),
    ("localhost:8080\n\nfile_server\n", FOREIGN),
    ("listen: :80\n", "1:1: the configuration requires 'sites'"),
    ("sites:\n", "1:7: sites: expected a list, found nothing"),
    ("sites: {}\n", "1:8: sites: expected a list, found a map"),
    ("sites: []\n", "1:8: sites is an empty list; give a value, or omit the key"),
    ("sites: [{}]\n", "1:9: a site requires 'routes'"),
    ("site: []\n", "1:1: unknown key 'site' in the configuration; did you mean 'sites'?"),
    ("quite_other: 1\n", "1:1: unknown key 'quite_other' in the configuration"),
    ("sites:\n\t- a: b\n", "2:1: invalid YAML: no value can begin with this character, such as a "
                           "tab"),
    ("sites: @x\n", "1:8: invalid YAML: no value can begin with this character"),
    ("sites: [\n", "2:1: invalid YAML: "), ("sites: {a: b]\n", "1:13: invalid YAML: "),
    ("a: b\n c: d\n", "2:3: invalid YAML: mapping values are not allowed in this context"),
    ("sites: &all []\n", "1:8: anchors (&name) and aliases (*name) are not supported"),
    ("sites: *all\n", "1:8: anchors (&name) and aliases (*name) are not supported"),
    ("sites: !!seq []\n", "1:8: tags are not supported"),
    ("sites: [!x a]\n", "1:9: tags are not supported"),
    ("listen: :1\n---\nlisten: :2\n", "2:1: a second document begins here; only one is allowed"),
    ("listen: :1\nlisten: :2\n", "2:1: duplicate key 'listen'; the first is in line 1"),
    ("? [a]\n: b\n", "1:3: a key must be a single value, not a list or a map"),
    ("listen: \"a\\0b\"\n", "1:9: a value contains a NUL character"),
    ("sites: " + "[" * 20 + "]" * 20 + "\n", "1:23: maps and lists are nested more than 16 deep"),
    ("[" * 100000, "1:17: maps and lists are nested more than 16 deep"),
    ("a: {" + ", ".join(f"k{i}: 1" for i in range(501)) + "}", ": a map has more than 500 keys"),
    (b"sites: \xff\n", "not valid UTF-8: invalid leading UTF-8 octet at byte 7"),
    (b"\xff\xfes\0i\0t\0e\0s\0", "not valid UTF-8"),
    (bytes(range(256)), "not valid UTF-8: control characters are not allowed at byte 0"),
    (b"#" * (10 << 20), "the file is larger than 1 MiB"),
    ("#" * (1 << 20), "the file is empty"),
], ids=lambda value: repr(value[:40]))
def test_invalid_file_structure(write, text, expected):
    first, *extra = problems(write(text))
    assert expected in first and first.startswith(expected[:4] if expected[0].isdigit() else "")
    assert len(extra) == 0


@pytest.mark.parametrize("text", [
    "# nginx\n\nuser  www;\nhttp {\n  log_format x '$a: ' '\"$b\"';\n  include x: y;\n}\n",
    "<VirtualHost *:80>\n  Header set A: \"b: c\"\n</VirtualHost>\n",
    "example.com {\r\n\theader X: y\r\n\tredir {uri}: z\r\n}\r\n",
])
def test_configuration_of_another_server_is_named(write, text):
    found = problems(write(text))
    assert found[0] == FOREIGN and len(found) == 2 and "invalid YAML: " in found[1], found


def test_error_of_own_file_does_not_name_other_servers(write):
    found, = problems(write('{\n"sites": [{;\n'))
    assert "invalid YAML" in found
    found, = problems(write("sites: [{routes: [{path: /, respond: {body: ;\nx;\n"))
    assert "invalid YAML" in found


@pytest.mark.parametrize("line, expected", [
    ("server: 5", "1:9: server: expected a map of keys and values, found a single value"),
    ("server: {max_connection: 5}",
     "1:10: unknown key 'max_connection' in server; did you mean 'max_connections'?"),
    ("server: {max_connetcions: 5}",
     "1:10: unknown key 'max_connetcions' in server; did you mean 'max_connections'?"),
    ("server: {zzz: 5}", "1:10: unknown key 'zzz' in server"),
    ("server: {max_connections: }",
     "1:27: max_connections: expected a single value, found nothing"),
    ("server: {max_connections: [1]}",
     "1:27: max_connections: expected a single value, found a list"),
    ("server: {max_connections: 0}",
     "1:27: max_connections is 0; allowed are 1 to 10000000 connections"),
    ("server: {max_connections: -1}",
     "1:27: max_connections: '-1' is not a number; allowed are 1 to 10000000 connections"),
    ("server: {max_connections: 1e3}",
     "1:27: max_connections: '1e3' is not a number; allowed are 1 to"),
    ("server: {body_timeout: 1.5s}",
     "1:24: body_timeout: '1.5s' is not a time (such as 90, 90s or 2min); allowed are 1 to"),
    ("server: {body_timeout: 2d}", "1:24: body_timeout is 2d; allowed are 1 to 86400 seconds"),
    ("server: {buffer_size: 64KB}",
     "1:23: buffer_size: '64KB' is not a size (such as 65536, 64K or 64KiB); allowed are 4096 to"),
    ("server: {buffer_size: 99999999999999999999G}",
     "1:23: buffer_size is 99999999999999999999G; allowed are 4096 to"),
    ("listen: example.com:80", "1:9: 'example.com:80' is not an address; allowed are"),
    ("listen: [':1', '[::1']", "1:16: '[::1' is not an address"),
    ("listen: 127.0.0.1:65536", "1:9: '127.0.0.1:65536' is not an address"),
    ("listen: 'unix:'",
     "1:9: 'unix:' is not an address; allowed are a port, or an IPv4 address, an IPv6 address in "
     "brackets, localhost or *, optionally with :PORT (0 to 65535) and http:// or https://; or "
     "unix:PATH with a path of at most 107 bytes"
     ),
    ("listen: unix:" + "x" * 100, "1:9: the path of a unix socket is limited to 107 bytes; '/"),
    ("listen: []", "1:9: listen is an empty list; it needs at least one address"),
    ("listen: [{a: b}]", "1:11: unknown key 'a' in an address"),
    ("listen: [" + "':1'," * 17 + "]", "1:9: too many addresses; at most 16 are allowed"),
    ("log: {level: loud}", "1:14: level is 'loud'; allowed are error, warning, info, debug"),
    ("log: info", "1:6: log: expected a map of keys and values, found a single value"),
    ("access_log: {}", "1:13: access_log requires 'path'; \"-\" is standard output"),
    ("access_log: {path: x, format: xml}",
     "1:31: format is 'xml'; allowed are common, combined, json"),
    ("access_log: {path: x, pattern: '{target}', format: json}",
     "1:52: access_log: only one of 'format' and 'pattern' can be given; the pattern is a format "
     "of its own"),
    ("access_log: {path: x, buffer_size: 1K}",
     "1:36: buffer_size: '1K' is out of range; allowed are 65536 to 1073741824 bytes"),
    ("access_log: {path: x, flush_ms: 0}",
     "1:33: flush_ms: '0' is out of range; allowed are 1 to 60000 milliseconds"),
    ("access_log: {path: x, pattern: '{nothing}'}",
     "1:32: the pattern of the access log is invalid: {nothing} is an unknown name; write a brace "
     "as {{; names are client, "),
    ("access_log: {path: x, pattern: '$$remote_addr'}",
     "1:32: the pattern of the access log is invalid: it has no value, such as {client}; names"),
    ("access_log: true",
     "1:13: access_log: 'true' is not a path; allowed are a path, \"-\" for standard output, or off"
     ),
    ("access_log: 'sylog:'", "1:13: access_log: 'sylog:' is not a path; did you mean 'syslog:'?"),
    ("access_log: {path: 'journald:'}",
     "1:20: access_log: 'journald:' is not a path; did you mean 'journal:'?"),
    ("access_log: logs/a.log json", "1:13: access_log: 'logs/a.log json' ends with a format; use "
     "a map, such as {path: access.log, format: json}"),
    ("access_log: /nowhere/at/all.log",
     "1:13: the access log '/nowhere/at/all.log' cannot be written: no such file or directory"),
    ("metrics: metrics", "1:10: route \"metrics\" refused: it does not begin with \"/\""),
    ("metrics: /", "2:26: route \"/\" refused: GET \"/\" already exists, in line 1"),
    ("metrics: [/m]", "1:10: metrics: expected a single value, found a list"),
    ("metrics: {listen: '127.0.0.1:1', path: metrics}",
     "1:40: route \"metrics\" refused: it does not begin with \"/\""),
    ("metrics: {path: /m, listen: 127.0.0.1}",
     "1:29: '127.0.0.1' has no port; metrics need a separate one, such as 127.0.0.1:9100"),
    ("metrics: {listen: 'a:b'}", "1:19: 'a:b' is not an address; allowed are a port, or an IPv4"),
    ("metrics: {listen: ['127.0.0.1:1']}",
     "1:19: listen: expected a single value, found a list"),
    ("metrics: {pth: /m}", "1:11: unknown key 'pth' in metrics; did you mean 'path'?"),
    ("metrics: {}", "1:10: metrics is an empty map; it requires 'path' or 'listen'"),
])
def test_invalid_top_level_values(write, line, expected):
    first, *extra = problems(write(line + "\n" + RESPOND))
    assert first.startswith(expected) and not extra, [first, *extra]


@pytest.mark.parametrize(
    "site, expected",
    [("host: a", "2:5: unknown key 'host' in a site; did you mean 'hosts'?"),
     ("hosts: []", "2:12: hosts is an empty list; give a value, or omit the key"),
     ("hosts: [a b]", "2:13: host \"a b\" is invalid: it is more than one host; "),
     ("hosts: 'a.test:80'",
      "2:12: host \"a.test:80\" is invalid: a host has no port; listeners have one"),
     ("hosts: 'http://a.test'", "2:12: host \"http://a.test\" is invalid: a host has no scheme; "),
     ("hosts: [a.example, A.Example.]",
      "2:24: duplicate host 'A.Example.'; line 2 has it as 'a.example'"),
     ("hosts: [{a: b}]", "2:13: expected a single value, found a map"),
     ("slash: maybe", "2:12: slash is 'maybe'; allowed are strict, redirect, ignore"),
     ("headers: [a]",
      "2:14: headers: expected a map of field names and values, found a list"),
     ("headers: {Content-Length: 5}", "2:15: the field 'Content-Length' cannot be set"),
     ("headers: {connection: close}", "2:15: the field 'connection' cannot be set"),
     ("headers: {'X Y': 5}", "2:15: the field 'X Y' cannot be set"),
     ("headers: {X: \"a\\nb\"}", "2:15: the field 'X' cannot be set"),
     ("headers: {etag: x}",
      "2:15: the field 'etag' cannot be set: responses set it themselves"),
     ("headers: {Content-Encoding: br}",
      "2:15: the field 'Content-Encoding' cannot be set: responses set it themselves"),
     ("headers: {X-A: 1, x-a: 2}", "2:23: duplicate field 'x-a'"),
     ("headers: {X: }", "2:18: X: expected a single value, found nothing"), ])
def test_invalid_site_values(write, site, expected):
    first, *extra = problems(
        write(f"sites:\n  - {site}\n    routes: [{{path: /, respond: {{body: x}}}}]\n"))
    assert first.startswith(expected) and not extra, [first, *extra]


@pytest.mark.parametrize("route, expected", [
    ("path: /", "3:9: a route requires 'static', 'redirect' or 'respond'"),
    ("respond: {body: x}", "3:9: a route requires 'path'"),
    ("path: /, respond: {body: x}, redirect: /y",
     "3:39: this route already has 'respond'; only one of 'static', 'redirect' and 'respond' is "
     "allowed"),
    ("path: x, respond: {}", "3:16: route \"x\" refused: it does not begin with \"/\""),
    ("path: /a?b, respond: {}", "3:16: route \"/a?b\" refused"),
    ("path: '/:a/:a', respond: {}", "3:16: route \"/:a/:a\" refused"),
    ("path: [], respond: {}", "3:16: path: expected a single value, found a list"),
    ("path: /, methods: [get], respond: {}",
     "3:16: 'get' is not a method; methods are upper case, such as GET"),
    ("path: /, methods: ['A B'], respond: {}", "3:16: 'A B' is not a method"),
    ("path: /, methods: [], respond: {}",
     "3:28: methods is an empty list; give a value, or omit the key"),
    ("path: /, redirect: /x, listing: true, file: y, more_roots: [z], index: y",
     "3:33: 'listing' requires 'static'"),
    ("path: /, methods: [GET, POST], static: site", "3:34: 'static' allows only GET"),
    ("path: /, static: nowhere", "3:27: the directory '{}/nowhere' does not exist"),
    ("path: /, static: site/index.html", "3:27: '{}/site/index.html' is not a directory"),
    ("path: /, static: ''", "3:27: static: expected a path, found an empty value"),
    ("path: /, static: site, listing: perhaps",
     "3:42: listing is 'perhaps'; allowed are true and false"),
    ("path: /, static: site, cache_memory: 0",
     "3:47: cache_memory: '0' is out of range; allowed are 1 to 1099511627776 bytes"),
    ("path: /, static: site, revalidate_ms: x",
     "3:48: revalidate_ms: 'x' is not a number; allowed are 1 to 3600000"),
    ("path: /*, static: site, error_pages: 999=/x",
     "3:47: error_pages: '999' is not a status; allowed are 400 to 599, 4xx and 5xx"),
    ("path: /*, static: site, error_pages: 418=/x",
     "3:47: error_pages: '418' is never sent here; allowed are 401, 403, 404, 429, 500, 503, 4xx, "
     "5xx and the status at the end of try_files"),
    ("path: /*, static: site, error_pages: 401=/../x",
     "3:47: error_pages: '/../x' contains '.' or '..'; write a path below the served "
     "directory, without them"),
    ("path: /*, static: site, error_pages: ',=/x'",
     "3:47: error_pages: '' is not a status; allowed are 400 to 599, 4xx and 5xx"),
    ("path: /*, static: site, try_files: '{path} =700'",
     "3:45: try_files: '=700' is not a status; allowed are =400 to =599"),
    ("path: /*, static: site, spa: true, try_files: x",
     "3:56: try_files cannot be combined with spa; write its file, such as /index.html, as "
     "the last word in try_files instead"),
    ("path: /*, static: site, fallback: /.x",
     "3:44: fallback: '/.x' is hidden, and hidden files are denied"),
    ("path: /*, static: site, default_type: x", "3:48: default_type is \"x\""),
    ("path: /x, static: site, file: ../x", "3:40: file: '../x' contains '.' or '..'"),
    ("path: /*, static: site, spa: true, index: a/../b",
     "3:52: index: 'a/../b' contains a slash; a file name without a path is required"),
    ("path: /*, static: site, index: x .htm",
     "3:41: index: '.htm' is hidden, and hidden files are denied"),
    ("path: /, static: site, prewarm: ['*.nope']",
     "3:43: '*.nope' cannot be loaded from '{}/site': no file matches it"),
    ("path: /, static: site, prewarm: ['*[']",
     "3:43: '*[' cannot be loaded from '{}/site': not a pattern: a '[' has no ']', or it is "
     "longer than 512 bytes"
     ),
    ("path: /, static: site, prewarm: [/nope]",
     "3:43: '/nope' cannot be loaded from '{}/site': no such file or directory"),
    ("path: /, static: site, listning: true",
     "3:33: unknown key 'listning' in a route; did you mean 'listing'?"),
    ("path: /, static: site, status: 301",
     "3:33: 'status' requires 'redirect', or must be in 'respond'"),
    ("path: /, redirect: /x, index: y", "3:33: 'index' requires 'static'"),
    ("path: /, redirect: /x, status: 200",
     "3:41: status is '200'; allowed are 301, 302, 303, 307, 308"),
    *((f"path: /, redirect: '{location}{{target}}'",
       "3:29: {target} must follow a host and '/', or a path")
      for location in ("//", "https://", "https:", "HTTPS:/", "///", "https://u@", "https://a:")),
    ("path: /, redirect: 'https://a{query}'", "3:29: {query} must follow a host and '/'"),
    ("path: /, redirect: '/\\{target}'", "3:29: text is \"/\\{target}\"; a location with "
                                         "placeholders has no space, tab or backslash"),
    ("path: '/old/*', redirect: 'https://a/{rset}'",
     "3:36: {rset} is not a placeholder; did you mean {rest}? Allowed are {target}, {path}, "
     "{query}, {host}, {scheme}, {method}, {client}, {rest}; for the text itself double the "
     "braces: {{rset}}"),
    ("path: '/:user(int)', redirect: '/a/{usr}'",
     "3:41: {usr} is not a placeholder; did you mean {user}?"),
    ("path: '/a', redirect: '/a/{rest}'", "3:32: {rest} requires a path that ends with '*'"),
    ("path: /, respond: {body: '{nothing}'}", "3:35: {nothing} is not a placeholder; allowed are"),
    ("path: '/a/:user', headers: {X-Id: '{User}'}, respond: {}",
     "3:44: {User} is not a placeholder; did you mean {user}?"),
    *((f"path: /, redirect: '{given}'",
       f"3:29: '{given}' is neither a path nor a URL with a scheme; write '/{given}' or "
       f"'https://{given}'") for given in ("x.test", "a.test:8080/x", "www.a.test/")),
    *((f"path: /, redirect: '{given}'", f"3:29: '{given}' is no URL; write '{url}'")
      for given, url in (("://a.test", "https://a.test"), ("http:/a.test", "http://a.test"),
                         ("https//a.test", "https://a.test"), ("https:a.test", "https://a.test"))),
    *((f"path: /, redirect: '{given}'",
       f"3:29: '{given}' is neither a path nor a URL with a host, such as https://example.com/")
      for given in ("mailto:a@a.test", "javascript:alert()")),
    *((f"path: /, redirect: \"{given}\"", "3:29: '") for given in (" /x", "/a b", "/a\\tb")),
    *((f"path: /, redirect: '{given}'",
       f"3:29: '{given}' has a status; write the location alone, and 'status: {status}' beside "
       f"'redirect'")
      for given, status in (("/b 301", 301), ("301 /b", 301), ("/b{query} 307", 307))),
    *((f"path: /, redirect: '{given}'",
       f"3:29: '{given}' has no scheme; write 'https:{given}' or '{{scheme}}:{given}'")
      for given in ("//x", "//a.test{path}")),
    *((f"path: /, redirect: '{given}'", f"3:29: '{given}' has no path; write '{{path}}{given}'")
      for given in ("?a=b", "#top")),
    ("path: /, redirect: ''", "3:29: redirect is invalid: it is empty"),
    ("path: /, redirect: \"/a\\r\\nX: y\"",
     "3:29: redirect is invalid: it contains a control character"),
    ("path: /, respond: x",
     "3:28: respond: expected a map of keys and values, found a single value"),
    ("path: /, respond: {status: 100}",
     "3:37: status: '100' is out of range; allowed are 200 to 599"),
    *((f"path: /, respond: {{status: {status}, body: x}}",
       f"3:28: a response with status {status} has no body") for status in (204, 205, 304)),
    ("path: /, respond: {type: \"a\\x01\"}",
     "3:35: type is invalid: it contains a control character"),
    ("path: /, respond: {bdy: x}", "3:29: unknown key 'bdy' in respond; did you mean 'body'?"),
    ("path: /, headers: {Date: x}, respond: {}", "3:29: the field 'Date' cannot be set"),
    ("path: /*, static: ., rules: [{headers: {X-A: 1, Content-Encoding: gzip}}]",
     "3:58: the field 'Content-Encoding' cannot be set: responses set it themselves"),
    ("path: /" + "x" * 5000 + ", respond: {}",
     "3:16: this path is longer than any request target"),
])
def test_invalid_route_values(write, tmp_path, route, expected):
    first, *extra = problems(write(f"sites:\n  - routes:\n      - {{{route}}}\n"))
    assert first.startswith(expected.replace("'{}", f"'{tmp_path}")) and not extra, [first, *extra]


def test_all_errors_of_route_have_positions(write):
    found = problems(
        write("""sites:
  - routes:
      - path: /*
        error_pages: 999=/x
        fallback: ../x
        default_type: x
        rules: [{match: '*', headers: {Date: x}}]
        static: site
"""))
    assert [line.split(" ")[:2] for line in found] == [["4:22:", "error_pages:"],
                                                       ["5:19:", "fallback:"],
                                                       ["6:23:", "default_type"], ["7:40:", "the"]]


def test_all_options_without_effect_have_positions(write):
    found = problems(
        write("""sites:
  - routes:
      - path: /*
        static: site
        archive: true
        rate_burst: 1K
        upload_overwrite: true
        compress: false
        gzip_level: 9
        listing: false
"""))
    assert found == [
        "5:18: archive: has no effect without listing",
        "6:21: rate_burst: has no effect without rate_limit",
        "7:27: upload_overwrite: has no effect without uploads",
        "9:21: gzip_level: has no effect without compress"
    ]


@pytest.mark.parametrize("options, expected", [
    ("archive: true, archive_size: 1G, archive_entries: 5",
     "4:43: archive: has no effect without listing"),
    ("try_files: '{path} /../x =410', error_pages: 410=/x",
     "4:45: try_files: '/../x' contains '.' or '..'"),
])
def test_consequence_of_another_error_is_not_reported(write, options, expected):
    found = problems(
        write(f"sites:\n  - routes:\n\n      - {{path: /*, static: site, {options}}}\n"))
    assert len(found) == 1 and found[0].startswith(expected), found


@pytest.mark.parametrize("location, expected", [
    ("https://example.com:8443", "https://example.com:8443//evil.example/?q"),
    ("http://example.com?next=", "http://example.com?next=%2F%2Fevil.example%2F%3Fq"),
    ("", "/evil.example/?q"),
    ("https://example.com/a:", "https://example.com/a://evil.example/?q"),
    ("{scheme}://example.com", "http://example.com//evil.example/?q"),
    ("/a:", "/a://evil.example/?q"),
])
def test_target_is_appended_to_location(start, location, expected):
    # With rewrites redirects to themselves are not refused.
    program = start(f"""
sites:
  - rewrites: [{{path: /a, to: /b}}]
    routes:
      - {{path: /*, redirect: "{location}{{target}}"}}
""")
    assert get(program, "//evil.example/?q").headers["location"] == expected


@pytest.mark.parametrize("path, location, expected", [
    ("/old/*", "https://a.test/{rest}", "https://a.test/x%20y/%22%0D%0A/"),
    ("/old/*", "/{rest}{query}", "/x%20y/%22%0D%0A/?q=1&r"),
    ("/old/*", "/s?p={path}{query}", "/s?p=%2Fold%2Fx%20y%2F%22%0D%0A%2F&q=1&r"),
    ("/old/:id/*", "{scheme}://{host}/{id}/{method}", "http://127.0.0.1/x%20y/GET"),
    ("/old/*", "/{{rest}}", "/{rest}"),
])
def test_placeholders_of_location(start, path, location, expected):
    program = start(f"sites: [{{routes: [{{path: '{path}', redirect: '{location}'}}]}}]\n")
    response = get(program, "/old/x%20y/%22%0D%0A/?q=1&r")
    assert (response.status_code, response.headers["location"]) == (302, expected)


def test_location_with_host_requires_host(start):
    program = start("sites: [{routes: [{path: /, redirect: 'https://{host}/'}]}]\n")
    with program.connect() as connection:
        connection.send(b"GET / HTTP/1.0\r\n\r\n")
        assert connection.response().status == 400


def test_placeholders_of_bodies_are_escaped_for_their_type(start):
    program = start("""
sites:
  - routes:
      - {path: /text/*, respond: {body: "{client} {method} {target} {rest}"}}
      - {path: /html/*, respond: {type: text/html, body: "<p>{rest}</p>"}}
      - {path: /svg/*, respond: {type: image/svg+xml, body: "<t>{rest}</t>"}}
      - {path: "/json/:id(int)/*",
         respond: {type: application/json, body: '{"error": {"id": {id}, "rest": "{rest}"}}'}}
      - {path: /fixed, respond: {type: application/json, body: '{"a": {"b": {}}, "c": "{{id}}"}'}}
""")
    assert get(program, "/text/%3Cb%3E?q").text == "127.0.0.1 GET /text/%3Cb%3E?q <b>"
    assert get(program, "/html/%3Cb%3E").text == "<p>&lt;b&gt;</p>"
    assert get(program, "/svg/%3Cb%3E").text == "<t>&lt;b&gt;</t>"
    assert json.loads(get(program, "/json/5/%22%5C%0A").text) == {
        "error": {
            "id": 5,
            "rest": "\"\\\n"
        }
    }
    assert get(program, "/fixed").json() == {"a": {"b": {}}, "c": "{id}"}


def test_placeholders_of_headers(start):
    program = start("""
sites:
  - headers: {X-Path: "{path}", X-Query: "{query}"}
    routes:
      - {path: "/a/:id", headers: {Link: "<https://a.test/{id}>; rel=canonical"}, respond: {}}
      - {path: /site/, static: site, headers: {X-Rest: "/{rest}"}}
""")
    headers = get(program, "/a/%22%0D%0AX:;,?q").headers
    assert headers["link"] == "<https://a.test/%22%0D%0AX:%3B%2C>; rel=canonical"
    assert (headers["x-path"], headers["x-query"]) == ("/a/%22%0D%0AX:%3B%2C", "?q")
    assert "x-query" not in get(program, "/a/b").headers
    assert get(program, "/site/assets/style.css").headers["x-rest"] == "/assets/style.css"


def test_conflicting_routes_are_reported_with_both_lines(write):
    found = problems(
        write("""sites:
  - hosts: [WWW.example.com, example.net]
    routes:
      - path: /users/:id
        respond: {body: a}
      - path: /users/:name
        methods: [POST, GET]
        respond: {body: b}
      - path: /files/
        static: site
      - path: /files/*rest
        respond: {body: c}
"""))
    assert found == [
        '6:15: route "www.example.com/users/:name" refused: GET "www.example.com/users/:id" '
        'already '
        'exists, in line 4',
        '11:15: route "www.example.com/files/*rest" refused: GET "www.example.com/files/*" already '
        'exists, in line 9'
    ]


def test_duplicate_hosts_are_rejected(write):
    route = "routes: [{path: /, respond: {}}]"
    assert problems(
        write(f"sites:\n- hosts: a.example\n  {route}\n- hosts: [b.example, a.EXAMPLE]\n  {route}\n"
              )) == ["4:22: duplicate host 'a.EXAMPLE'; line 2 has it as 'a.example'"]
    assert problems(write(f"sites:\n- {route}\n- {route}\n")) == [
        "3:3: this site and the one in line 2 have no 'hosts'; only one site can serve all other "
        "hosts"
    ]
    for hosts in "[]", "{a: b}":
        found = problems(write(f"sites:\n- {route}\n- hosts: {hosts}\n  {route}\n"))
        assert len(found) == 1 and found[0].startswith("3:10: hosts")
    assert len(problems(write("sites: [[a], [b]]\n"))) == 2


def test_several_errors_are_reported_in_order(write):
    found = problems(
        write("sites:\n- hosts: x\nserver: {body_timeout: 0}\nlog: {level: 1}\nbad: 1\n"))
    assert [line.split(":")[0] for line in found] == ["2", "3", "4", "5"]
    many = problems(write("".join(f"key{i}: 1\n" for i in range(50))))
    assert len(many) == 21 and many[-1] == "30 more errors are not shown"


def test_errors_escape_control_characters(write):
    assert problems(write('"a\\eb\\nc": 1\n')) == ["1:1: unknown key 'a?b?c' in the configuration"]


def test_unreadable_files(tmp_path):
    for path, why in ((tmp_path / "none.yaml", "the file does not exist"),
                      (tmp_path, "is a directory, not a configuration file"),
                      (tmp_path / "none" / "x.yaml", "the file does not exist")):
        assert problems(path) == [why]


def test_file_without_permission(tmp_path, write):
    path = write(RESPOND)
    path.chmod(0)
    if os.geteuid() != 0:
        assert problems(path) == ["no permission to read the file"]
        return
    # Root can read every file. Another user must at least have access to the program and the
    # directory.
    program = pathlib.Path(shutil.copy(built("uvhttp"), tmp_path / "uvhttp"))
    program.chmod(0o755)
    for directory in [tmp_path, *tmp_path.parents][:-1]:
        if directory.stat().st_uid == 0 and directory.is_relative_to(
                "/tmp") and directory != pathlib.Path("/tmp"):
            directory.chmod(0o755)
    done = subprocess.run([program, "check", path], capture_output=True, text=True,
                          env=clean_environment(), user=65534, group=65534, extra_groups=[])
    assert (done.returncode, done.stderr) == (1,
                                              f"{path}: no permission to read the file\n")


@pytest.mark.parametrize(
    "arguments, message",
    [(["run"], "missing configuration file: none is given, and the current directory has no "
               "uvhttp.yaml\nTry 'uvhttp run --help'."),
     (["check"], "uvhttp.yaml\nTry 'uvhttp check --help'."),
     (["run", "a", "b"], "only one configuration file is allowed; 'a' and 'b' are given"),
     (["run", "--listing", "a"], "unknown option '--listing'"),
     (["check", "--print-config", "a"], "unknown option '--print-config'"),
     (["check", "-t", "a"], "unknown option '-t'"),
     (["serve", "-t"], "unknown option '-t'"), ])
def test_usage_errors(arguments, message, tmp_path):
    done = run("uvhttp", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr


def test_default_file_is_uvhttp_yaml(write):
    path = write(LOCAL + RESPOND, "uvhttp.yaml")
    assert run("uvhttp", "check", cwd=path.parent).stdout == "uvhttp.yaml: configuration OK\n"
    program = Program("uvhttp", "run", cwd=path.parent)
    assert get(program).text == "hello" and "running uvhttp.yaml at" in program.line
    assert program.stop() == 0


@pytest.mark.parametrize("command", ["run", "check"])
def test_help_of_command(command):
    done = run("uvhttp", command, "--help")
    assert done.returncode == 0 and done.stdout.startswith(
        f"Usage: uvhttp {command} [OPTION]... [CONFIG]\n")
    assert done.stdout == run("uvhttp", "help", command).stdout
    assert "--max-connections N" in done.stdout and "--listing" not in done.stdout.split(
        "SIZE is")[0]
    assert max(len(line) for line in done.stdout.split("\n")) <= 80


def test_run_errors(write):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        path = write(f"listen: 127.0.0.1:{port}\n" + RESPOND)
        assert run("uvhttp", "check", path).returncode == 0
        done = run("uvhttp", "run", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"uvhttp: port {port} is in use; choose another with --port\n"


def test_check_creates_no_file(write, tmp_path):
    path = write("access_log: access.log\n" + RESPOND)
    assert run("uvhttp", "check", path).returncode == 0
    assert not (tmp_path / "access.log").exists()


def test_inconsistent_limits_are_rejected(write):
    assert problems(write("server: {buffer_size: 8K}\n" + RESPOND)) == [
        "buffer_size is 8192; it must be at least twice max_header_size (16384) and "
        "max_trailer_size (8192)"
    ]


# Variables


@pytest.mark.parametrize("text, expected", [("${A}", "a"), ("x${A}y${A}", "xaya"), ("${EMPTY}", ""),
                                            ("${EMPTY:-d}", "d"), ("${A:-d}", "a"), ("${NO:-}", ""),
                                            ("${NO:-a b}", "a b"), ("${NO:-${A}", "${A"),
                                            ("$$", "$"), ("$${{A}}", "${A}"), ("$$$$", "$$"),
                                            ("${LINE}", "1: [\n- x"), ("${A_1}", "under"),
                                            ("50%", "50%"), ])
def test_environment_variables_in_file(start, text, expected):
    program = start(f'sites: [{{routes: [{{path: /, respond: {{body: "{text}"}}}}]}}]\n',
                    environment={"A": "a", "EMPTY": "", "LINE": "1: [\n- x", "A_1": "under"})
    assert get(program).text == expected


@pytest.mark.parametrize(
    "text, expected",
    [("${NO_SUCH}",
      "the environment variable 'NO_SUCH' does not exist; ${NO_SUCH:-default} sets a default"),
     ("$A", "'$' must be followed by {NAME} or {NAME:-default}; write a dollar sign as $$"),
     ("5$", "'$' must be followed by"), ("${", "'$' must be followed by"),
     ("${}", "'$' must be "
      "followed by"), ("${1A}", "'$' must be followed by"), ("${A", "'$' must be followed by"),
     ("${A-x}", "'$' must be followed by"), ("${A:-x", "'$' must be followed by"),
     ("${A B}", "'$' must be followed by"), ("${" + "A" * 200 + "}", "'$' must be followed by"),
     ("${BAD}", "the variable 'BAD' is not "
      "valid UTF-8"), ("${LONG}" * 20, "the values with variables are larger than 1 MiB"), ])
def test_invalid_variables_in_file(write, text, expected):
    found = problems(write(f"listen: '{text}'\n{RESPOND}"),
                     environment={"A": "a", "BAD": os.fsdecode(b"\xc3\x28"), "LONG": "x" * 100000})
    assert len(found) == 1 and found[0].startswith("1:9: " + expected)


def test_variable_with_invalid_value_has_position(write):
    assert problems(write("server: {max_connections: '${MANY}'}\n" + RESPOND), environment={
        "MANY": "lots"
    }) == ["1:27: max_connections: 'lots' is not a number; allowed are 1 to 10000000 connections"]


# The examples


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_configuration_works(start, path, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": ""}
    assert run("uvhttp", "check", path,
               environment=home).stdout.endswith(f"{path}: configuration OK\n")
    program = start(
        path, environment={
            "LISTEN": "127.0.0.1:0", "ACCESS_LOG": str(tmp_path / "access.log"),
            "REDIRECT_PORT": "0", **home
        })
    commands = re.findall(r"^#     (curl .*)$", path.read_text(), re.M)
    assert len(commands) >= 2
    for command in commands:
        done = subprocess.run(command.replace("8080",
                                              str(program.port)), shell=True, capture_output=True,
                              text=True, env=clean_environment({"no_proxy": "*", **home}))
        assert done.returncode == 0, done.stderr
        if path.stem == "https":
            wanted = {"/health": "strict-transport-security: max-age=300", "": "<html"}
        elif path.stem == "answers":
            wanted = {
                "/anything": "503 ", "/version": '{"version": "1.0"}',
                "/metrics": "uvhttp_requests_total"
            }
        elif path.stem == "sites":
            wanted = {
                "www.example": "<html", "x=1": "Location: https://www.example.com/page?x=1",
                "/health": "ok\n"
            }
        else:
            wanted = {"/assets/": "Cache-Control: public", "": "X-Content-Type-Options: nosniff"}
        assert next(text for part, text in wanted.items() if part in command) in done.stdout


def test_configuration_page_example_works(start, tmp_path, write):
    page = (ROOT / "docs/configuration.md").read_text()
    text = page.split("```yaml\n")[1].split("```")[0]
    shutil.copytree(ROOT / "examples/site", tmp_path / "examples/site")
    (tmp_path / "docs").mkdir()
    path = write(text, "docs/all.yaml")
    assert run("uvhttp", "check", path).returncode == 0, run("uvhttp", "check", path).stderr
    program = start(path, environment={"PORT": "0", "LOG": str(tmp_path / "access.log")})
    assert get(program, "/health").text == "ok\n"
    assert get(program, "/api/users/5", method="DELETE").status_code == 403
    assert get(program, "/", host="a.example.org").headers["referrer-policy"] == "same-origin"
    assert get(program, "/a?b",
               host="example.com").headers["location"] == "https://www.example.com/a?b"
    assert get(program, "/assets/style.css",
               host="www.example.com").headers["cache-control"] == "public, max-age=86400"


def test_configuration_page_blocks_work(start, write):
    page = (ROOT / "docs/configuration.md").read_text()
    blocks = (text.split("```")[0] for text in page.split("```yaml\n")[2:])
    placeholders, rewrites, passwords = blocks
    program = start(write("listen: 127.0.0.1:0\n" + placeholders))
    assert get(program, "/old/a?b").headers["location"] == "/new/a?b"
    assert get(program, "/users/5").json() == {"user": {"id": 5}}
    program = start(write("listen: 127.0.0.1:0\n" + rewrites))
    assert get(program, "/blog/a?b").text == "post a ?b\n"
    assert get(program, "/item/5?a=b").text == "item ?id=5\n"
    path = write("listen: 127.0.0.1:0\n" + passwords)
    for name in ("site/private/a", "site/drafts/a", "incoming/a"):
        (path.parent / name).parent.mkdir()
        (path.parent / name).write_text(name)
    done = subprocess.run([built("uvhttp"), "hash-password", "--bcrypt", "ann"], input="secret\n",
                          text=True, capture_output=True, check=True, timeout=60)
    (path.parent / "staff").write_text(done.stdout)
    program = start(path)
    assert [get(program, target).status_code
            for target in ("/", "/drafts/a", "/private/a", "/incoming/a")] == [200, 404, 401, 200]
    assert get(program, "/incoming/b", method="PUT").status_code == 401


def test_configuration_page_has_every_key():
    page = (ROOT / "docs/configuration.md").read_text()
    for source in sorted((ROOT / "app").glob("config_*.c")):
        keys = re.findall(r'\{"(\w+)",\s+(?:uvh_config|read)_', source.read_text())
        assert keys or source.stem not in ("config_file", "config_route", "config_site")
        assert [key for key in keys if not re.search(rf"^[-# ]*{key}:", page, re.M)] == []


def test_metrics_on_unix_socket(start, tmp_path):
    start(LOCAL + "metrics: {listen: 'unix:numbers.sock'}\n" + RESPOND)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "numbers.sock"))) as client:
        assert "uvhttp_requests_total 0" in client.get("http://localhost/metrics").text


def test_metrics_address_in_use_is_reported(write):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        path = write(LOCAL + f"metrics: {{listen: '127.0.0.1:{port}'}}\n" + RESPOND)
        done = run("uvhttp", "run", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (f"uvhttp: port {port} is in use; choose another with 'listen' of "
                               "'metrics'\n")
        assert run("uvhttp", "check", path).returncode == 0, "this is no error of the file"


def test_metrics_short_and_long_form(write, start):
    for text in ("metrics: {path: /m}\n", "metrics: /m\n"):
        assert "uvhttp_requests_total" in get(start(text + RESPOND), "/m").text
    once = run("uvhttp", "run", "--print-config",
               write("metrics: {listen: ':0'}\n" + RESPOND)).stdout
    assert yaml.safe_load(once)["metrics"] == {"path": "/metrics", "listen": "*:0"}


def test_metrics_have_file_cache_counters(start, tmp_path):
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site" / "a.txt").write_text("a\n")
    program = start("""
server: {workers: 1}
metrics: /metrics
sites:
  - routes:
      - {path: /, static: site, revalidate_ms: 3600000}
""")
    for name in ("a.txt", "a.txt", "a.txt", "missing"):
        get(program, f"/{name}")
    text = get(program, "/metrics").text
    assert 'uvhttp_cache_lookups_total{result="hit"} 2\n' in text
    assert 'uvhttp_cache_lookups_total{result="miss"} 2\n' in text
