"""Rules of sites and routes for clients and paths: trusted proxies, addresses, limits of requests,
rewrites, and access logs of sites; in configuration files and as flags of `uvhttp serve`."""

import json
import signal

import pytest

from program import Program, run
from test_config_file import get, problems, start, write  # noqa: F401 (fixtures)
from wire_server import eventually

PROXY = "trusted_proxies: [127.0.0.0/8, unix]\n"


def fetch(program, target="/", *fields, host="localhost", **extra):
    return program.request(target, *fields, host=host, **extra)


def from_client(address):
    return f"X-Forwarded-For: {address}"


def statuses(program, client, count, target="/", **extra):
    return [fetch(program, target, from_client(client), **extra).status for _ in range(count)]


@pytest.fixture
def serve(write):
    """serve("--flag"): `uvhttp serve` of the directory `site`."""
    running = []

    def starter(*arguments, **options):
        site = write("").parent / "site"
        running.append(
            Program("uvhttp", "serve", "-l127.0.0.1:0", *arguments, site, **options))
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


def refused(*flags):
    """The message of `uvhttp serve` about invalid flags."""
    done = run("uvhttp", "serve", "-l127.0.0.1:0", *flags, ".")
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()[0]


def printed(*arguments):
    done = run("uvhttp", *arguments, "--print-config")
    assert done.returncode == 0, done.stderr
    return done.stdout


# Trusted proxies

SHOW = "sites: [{routes: [{path: /*, respond: {body: '{client} {scheme} {host}'}}]}]\n"
FORWARDED = ("X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https",
             "X-Forwarded-Host: shop.test:8443", "Forwarded: for=192.0.2.8;proto=https;host=b.test")


@pytest.mark.parametrize("lines, flags, text", [
    ("", [], "127.0.0.1 http localhost"),
    ("trusted_proxies: 192.0.2.1\n", [], "127.0.0.1 http localhost"),
    ("trusted_proxies: 127.0.0.1\n", [], "192.0.2.7 https shop.test"),
    (PROXY + "proxy_fields: forwarded\n", [], "192.0.2.8 https b.test"),
    ("", ["--trusted-proxy", "127.0.0.0/8"], "192.0.2.7 https shop.test"),
    ("", ["--trusted-proxy=127.0.0.1", "--proxy-fields=forwarded"], "192.0.2.8 https b.test"),
    (PROXY, ["--trusted-proxy=192.0.2.1"], "127.0.0.1 http localhost"),
])
def test_trusted_proxy_names_client(start, lines, flags, text):
    assert fetch(start(lines + SHOW, *flags), "/", *FORWARDED).body.decode() == text


def test_access_log_and_redirect_use_client_of_proxy(start, tmp_path):
    program = start(PROXY + "access_log: access.log\n"
                    "sites: [{routes: [{path: /, redirect: '{scheme}://{host}/x'}]}]\n")
    reply = fetch(program, "/", *FORWARDED)
    assert reply.get("location") == "https://shop.test/x"
    program.stop()
    assert (tmp_path / "access.log").read_text().startswith("192.0.2.7 ")


def test_serve_trusts_proxy(serve):
    program = serve("--trusted-proxy=127.0.0.1", "--deny=192.0.2.7")
    assert statuses(program, "192.0.2.7", 1) == [403]
    assert statuses(program, "192.0.2.6", 1) == [200]


@pytest.mark.parametrize("line, expected", [
    ("trusted_proxies: all", "1:18: trusted_proxies: 'all' is invalid; allowed are unix, an"),
    ("trusted_proxies: ['::1', 10.1.2.3/8]", "1:26: trusted_proxies: '10.1.2.3/8' is invalid; "),
    ("trusted_proxies: []", "1:18: trusted_proxies is an empty list"),
    ("proxy_fields: forwarded", "1:15: 'proxy_fields' requires 'trusted_proxies'"),
    ("trusted_proxies: ::1\nproxy_fields: x", "2:15: proxy_fields is 'x'; allowed are x-forwarded"),
    ("set_real_ip_from: ::1", "1:1: unknown key 'set_real_ip_from' in the configuration: use "
     "'trusted_proxies'"),
])
def test_invalid_proxies(write, line, expected):
    assert problems(write(f"{line}\n{SHOW}"))[0].startswith(expected)


def test_invalid_proxy_flags(write):
    assert refused("--trusted-proxy=all").startswith("uvhttp: --trusted-proxy: 'all' is invalid; ")
    assert refused("--proxy-fields=x").startswith("uvhttp: --proxy-fields: 'x' is invalid; ")
    done = run("uvhttp", "run", "--trusted-proxy=::1/8", write(SHOW))
    assert done.returncode == 2 and "--trusted-proxy: '::1/8' is invalid" in done.stderr
    done = run("uvhttp", "check", "--proxy-fields=forwarded", write(SHOW))
    assert done.returncode == 1 and "--proxy-fields requires --trusted-proxy" in done.stderr


# Addresses


@pytest.mark.parametrize("rules, accepted, denied", [
    ("allow: [192.0.2.0/24, '2001:db8::/32']", ["192.0.2.1", "2001:db8::9"], ["192.0.3.1", "::1"]),
    ("deny: 192.0.2.1", ["192.0.2.2", "::1"], ["192.0.2.1"]),
    ("allow: 192.0.2.0/24, deny: 192.0.2.1", ["192.0.2.2"], ["192.0.2.1", "192.0.3.1"]),
    ("deny: all", [], ["192.0.2.1", "::1"]),
])
def test_addresses_of_site(start, rules, accepted, denied):
    program = start(PROXY + "sites: [{" + rules + """, headers: {X-Site: a}, routes:
      [{path: /, respond: {body: x}}, {path: /d/, static: site}, {path: /r, redirect: /}]}]
metrics: /metrics
""")
    for target, status in (("/", 200), ("/d/", 200), ("/d", 404), ("/r", 302), ("/metrics", 200),
                           ("/absent", 404)):
        assert [statuses(program, one, 1, target) for one in accepted] == [[status]] * len(accepted)
        assert [statuses(program, one, 1, target) for one in denied] == [[403]] * len(denied)
    assert fetch(program, "/absent", from_client("::1")).get("x-site") == "a"


def test_addresses_belong_to_their_site(start):
    program = start(PROXY + """
sites:
  - {deny: 192.0.2.1, routes: [{path: /, respond: {body: x}}]}
  - {hosts: a.test, routes: [{path: /, respond: {body: x}}]}
  - {hosts: b.test, slash: redirect, allow: 192.0.2.2, routes: [{path: /d/, static: site}]}
""")
    assert statuses(program, "192.0.2.1", 1, host="a.test") == [200]
    assert statuses(program, "192.0.2.1", 1, "/absent", host="a.test") == [404]
    assert statuses(program, "192.0.2.1", 1, host="c.test") == [403]
    assert statuses(program, "192.0.2.1", 1, "/d", host="b.test") == [403]
    assert statuses(program, "192.0.2.2", 1, "/d", host="b.test") == [301]


def test_each_key_of_route_replaces_that_of_site(start):
    program = start(PROXY + """
sites:
  - allow: 192.0.2.0/24
    deny: 192.0.2.1
    routes:
      - {path: /open, allow: all, respond: {body: x}}
      - {path: /closed, deny: [192.0.2.2, 192.0.2.3], respond: {body: x}}
      - {path: /, respond: {body: x}}
""")
    expected = {"192.0.2.1": [403, 200, 403], "192.0.2.2": [200, 403, 200], "::1": [200, 403, 403]}
    expected["192.0.2.1"][0] = 403
    assert {
        client: [statuses(program, client, 1, target)[0] for target in ("/open", "/closed", "/")]
        for client in expected
    } == expected


def test_rules_of_route_apply_to_its_preflight(start):
    program = start(PROXY + """
sites:
  - allow: 192.0.2.0/24
    limit_requests: 1/d
    cors: "*"
    routes:
      - {path: /open, allow: all, limit_requests: 2/d, respond: {body: x}}
      - {path: /, respond: {body: x}}
""")

    def preflights(client, target, count=1):
        return [
            fetch(program, target, from_client(client), "Origin: https://a.test",
                  "Access-Control-Request-Method: GET", method="OPTIONS").status
            for _ in range(count)
        ]

    assert preflights("::1", "/open", 3) == [204, 204, 429]
    assert preflights("::1", "/") == preflights("::1", "/absent") == [403]
    assert preflights("192.0.2.1", "/", 2) == [204, 429]


def test_password_applies_after_addresses(start):
    program = start(PROXY + """
sites:
  - deny: 192.0.2.1
    basic_auth:
      users: {ann: $$2b$$04$$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}
    routes: [{path: /, respond: {body: x}}]
metrics: /metrics
""")
    assert statuses(program, "192.0.2.1", 1, "/metrics") == [403]
    assert statuses(program, "192.0.2.2", 1, "/metrics") == [401]


@pytest.mark.parametrize("rules, expected", [
    ("allow: [10.0.0.0/8, 10.1]", "1:30: allow: '10.1' is invalid; allowed are all, unix, an"),
    ("deny: x", "1:16: deny: 'x' is invalid; "),
    ("allow: []", "1:17: allow is an empty list; "),
    ("allow: {a: b}", "1:17: allow: expected a single value, found a map"),
    ("allow: '::1', deny: [all]", "1:31: deny 'all' cannot be combined with allow"),
])
def test_invalid_addresses(write, rules, expected):
    text = "sites: [{" + rules + ", routes: [{path: /, respond: {body: x}}]}]\n"
    assert problems(write(text))[0].startswith(expected)
    route = problems(write("sites: [{routes: [{path: /, " + rules + ", respond: {body: x}}]}]\n"))
    assert route[0].split(": ", 1)[1].startswith(expected.split(": ", 1)[1])


def test_address_flags(serve):
    program = serve("--trusted-proxy=127.0.0.1", "--allow=192.0.2.0/24", "--allow=::1",
                    "--deny=192.0.2.1", "--metrics")
    for target, status in (("/", 200), ("/absent", 404), ("/metrics", 200)):
        assert statuses(program, "192.0.2.2", 1, target) == [status]
        assert statuses(program, "::1", 1, target) == [status]
        assert statuses(program, "192.0.2.1", 1, target) == [403]
        assert statuses(program, "192.0.3.1", 1, target) == [403]
    assert refused("--allow=x").startswith("uvhttp: --allow: 'x' is invalid; allowed are all, unix")
    assert refused("--deny=10.1.2.3/8").startswith("uvhttp: --deny: '10.1.2.3/8' is invalid; ")
    assert refused("--allow=::1",
                   "--deny=all").startswith("uvhttp: --deny 'all' cannot be combined with --allow")


# Limits of requests


@pytest.mark.parametrize("limit, policy", [
    ("2/d", '"default";q=2;w=86400'),
    ("2/2h", '"default";q=2;w=7200'),
    ("{requests: 20, period: 1d, burst: 2, max_clients: 8}", '"default";q=2;w=8640'),
])
def test_limit_of_requests_counts_each_client(start, limit, policy):
    program = start(PROXY + "sites: [{limit_requests: " + limit +
                    ", routes: [{path: /, respond: {body: x}}, {path: /b, redirect: /}]}]")
    reply = fetch(program, "/", from_client("192.0.2.1"))
    assert reply.status == 200 and reply.get("ratelimit-policy") == policy
    assert statuses(program, "192.0.2.1", 1, "/absent") == [404]
    assert statuses(program, "192.0.2.1", 1, "/absent") == [429]
    assert fetch(program, "/b", from_client("192.0.2.1")).get('retry-after')
    assert statuses(program, "192.0.2.2", 3) == [200, 200, 429]


def test_limit_of_all_clients(start):
    program = start(PROXY + "sites: [{limit_requests: {requests: 2, period: 1d, by: all}, "
                    "routes: [{path: /, respond: {body: x}}]}]")
    assert statuses(program, "192.0.2.1", 1) == [200]
    assert statuses(program, "192.0.2.2", 2) == [200, 429]


def test_limit_of_route_replaces_that_of_site(start):
    program = start(PROXY + """
metrics: /metrics
sites:
  - limit_requests: 2/d
    routes:
      - {path: /few, limit_requests: 1/d, respond: {body: x}}
      - {path: /many, limit_requests: off, respond: {body: x}}
      - {path: /, respond: {body: x}}
  - hosts: a.test
    routes: [{path: /, respond: {body: x}}]
""")
    assert statuses(program, "192.0.2.1", 2, "/few") == [200, 429]
    assert statuses(program, "192.0.2.1", 5, "/many") == [200] * 5
    assert statuses(program, "192.0.2.1", 1) == [200]
    assert statuses(program, "192.0.2.1", 2, "/metrics") == [200, 429]
    assert statuses(program, "192.0.2.1", 5, host="a.test") == [200] * 5


@pytest.mark.parametrize("limit, expected", [
    ("100", "'100' is invalid; allowed are 1 to 1000000 requests and a period up to 1d, such as"),
    ("0/s", "'0/s' is invalid; "), ("1/", "'1/' is invalid; "), ("1/week", "'1/week' is invalid; "),
    ("1/2d", "'1/2d' is invalid; "), ("x/s", "'x/s' is invalid; "),
    ("{period: 1s}", "limit_requests requires 'requests'"),
    ("{requests: 0}", "requests: '0' is out of range; allowed are 1 to 1000000"),
    ("{requests: 1, period: 2d}", "period: '2d' is out of range; allowed are 1 to 86400 seconds"),
    ("{requests: 1, burst: x}", "burst: 'x' is not a number; "),
    ("{requests: 1, by: ip}", "by is 'ip'; allowed are client, all"),
    ("{requests: 1, by: all, max_clients: 5}", "'max_clients' requires 'by: client'"),
    ("{requests: 1, rate: 5}", "unknown key 'rate' in limit_requests"),
    ("{requests: 1, period: 1d, burst: 1000000}", "limit_requests: burst is 1000000"),
])
def test_invalid_limits(write, limit, expected):
    found = problems(write("sites: [{limit_requests: " + limit +
                           ", routes: [{path: /, respond: {body: x}}]}]\n"))
    assert found[0].split(": ", 1)[1].removeprefix("limit_requests: ").startswith(
        expected.removeprefix("limit_requests: "))


def test_limit_flag(serve):
    program = serve("--trusted-proxy=127.0.0.1", "--limit-requests", "2/d")
    assert statuses(program, "192.0.2.1", 1, "/absent") == [404]
    assert statuses(program, "192.0.2.1", 2) == [200, 429]
    assert statuses(program, "192.0.2.2", 1) == [200]
    assert refused("--limit-requests=5").startswith("uvhttp: --limit-requests: '5' is invalid; ")


# Rewrites


def test_rewrites_of_site(start, tmp_path):
    program = start("""
access_log: {path: access.log, pattern: "{target} {route}"}
sites:
  - rewrites:
      - {path: /old/*, to: "/d/{rest}"}
      - {path: "/item/:id(int)", to: "/show?id={id}"}
      - {path: /d/x, to: /show}
    routes:
      - {path: /d/, static: site}
      - {path: /show, respond: {body: "{path} {query}"}}
  - hosts: a.test
    routes: [{path: /*, respond: {body: "{path}"}}]
""")
    assert get(program, "/old/index.html?q").text == "the index\n"
    assert get(program, "/old/").text == "the index\n"
    assert get(program, "/old/assets").headers["location"] == "/d/assets/"
    assert get(program, "/item/5?a=b").text == "/show ?id=5"
    assert get(program, "/item/x").status_code == 404
    assert get(program, "/old/x").status_code == 404  # rewritten once
    assert get(program, "/d/x?q").text == "/show ?q"
    assert get(program, "/old/x", host="a.test").text == "/old/x"
    program.stop()
    assert "/old/index.html?q /d/*\n" in (tmp_path / "access.log").read_text()


@pytest.mark.parametrize("rewrite, expected", [
    ("{path: /a/*, to: '/b/{rset}'}",
     "1:34: {rset} is not a placeholder; did you mean {rest}? Allowed are {target}, "),
    ("{path: /a, to: b}", "1:32: text is \"b\"; a target is a path that begins with '/'"),
    ("{path: a, to: /b}", "1:24: route \"a\" refused: it does not begin with"),
    ("{path: /a}", "1:17: a rewrite requires 'path' and 'to'"),
    ("{path: /a, to: /b, status: 1}", "1:36: unknown key 'status' in a rewrite"),
    ("{path: /a, to: /b}, {path: /a, to: /c}", "1:44: route \"/a\" refused: rewrite of"),
    ("{path: /a, to: 'https://b.test/'}", "1:32: text is \"https://b.test/\"; a target is a path"),
])
def test_invalid_rewrites(write, rewrite, expected):
    text = "sites: [{rewrites: [" + rewrite + "], routes: [{path: /, respond: {body: x}}]}]\n"
    found = problems(write(text))[0]
    assert found.split(": ", 1)[1].startswith(expected.split(": ", 1)[1])
    assert found.startswith("1:")


def test_rewrite_and_redirect_flags(serve):
    program = serve("--rewrite", "/old/*=/{rest}", "--rewrite=/css=/assets/style.css?",
                    "--redirect", "/from/*=https://x.test/{rest}{query}", "--redirect=/go=/?a=b")
    assert get(program, "/old/index.html").text == "the index\n"
    assert get(program, "/css").text == "a {}\n"
    assert get(program, "/from/a/b?q").headers["location"] == "https://x.test/a/b?q"
    moved = get(program, "/go", method="POST")
    assert (moved.status_code, moved.headers["location"]) == (302, "/?a=b")


@pytest.mark.parametrize("flag, message", [
    ("--rewrite=/a", "--rewrite: '/a' is invalid; allowed are a path that begins with '/', '='"),
    ("--rewrite=a=/b", "--rewrite: 'a=/b' is invalid; "),
    ("--rewrite=/a=/{rset}", "--rewrite: {rset} is not a placeholder; "),
    ("--rewrite=/a=b", "--rewrite: text is \"b\"; a target is a path"),
    ("--redirect=/a=", "--redirect: '/a=' is invalid; "),
    ("--redirect=/a=x.test", "--redirect: 'x.test' is neither a path nor a URL with a scheme; "),
    ("--redirect=/a=//x.test", "--redirect: '//x.test' has no scheme; write 'https://x.test' or "),
    ("--redirect=/a=/b 301", "--redirect: '/b 301' has a status; write the location alone, and "
     "'status: 301' beside 'redirect', in a file for 'uvhttp run'"),
    ("--redirect=/a=/b c", "--redirect: '/b c' has a space or tab; write %20 or %09"),
    ("--redirect=/a/*=https://{rest}", "--redirect: {rest} must follow a host"),
    ("--redirect=/*=https://x.test/{rest}", "--redirect: route \"/*\" refused: GET \"/*\" already "
     "exists (the served directory); a file for 'uvhttp run' can redirect all paths"),
    ("--redirect=/*x=https://x.test/", "--redirect: route \"/*x\" refused: GET \"/*\" already "
     "exists (the served directory)"),
    ("--redirect=/:=/b", "--redirect: route \"/:\" refused: a parameter has no name"),
])
def test_invalid_rewrite_and_redirect_flags(flag, message):
    assert refused(flag).startswith(f"uvhttp: {message}")


# Access logs of sites

LOGS = """
access_log: {path: all.log, pattern: "{host} {target}"}
sites:
  - {hosts: a.test, access_log: a.log, routes: [{path: /, respond: {body: x}}]}
  - hosts: b.test
    access_log: {path: b.log, format: json}
    routes: [{path: /, respond: {body: x}}]
  - {hosts: c.test, access_log: off, routes: [{path: /, respond: {body: x}}]}
  - {hosts: d.test, access_log: a.log, routes: [{path: /, respond: {body: x}}]}
  - {routes: [{path: /, respond: {body: x}}]}
"""


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.http1
def test_sites_have_access_logs(start, tmp_path):
    program = start(LOGS)
    for name in "abcde":
        for target in (f"/{name}", "/"):
            get(program, target, host=f"{name}.test")
    assert fetch(program, "/bad", "Host: b.test", host="a.test").status == 400
    program.stop()
    assert [line.split('"')[1] for line in lines_of(tmp_path / "a.log")] == [
        "GET /a HTTP/1.1", "GET / HTTP/1.1", "GET /d HTTP/1.1", "GET / HTTP/1.1"
    ]
    assert [json.loads(line)["target"] for line in lines_of(tmp_path / "b.log")] == ["/b", "/"]
    assert [line.split()[1] for line in lines_of(tmp_path / "all.log")] == ["/e", "/", "/bad"]


def test_access_logs_without_common_one(start, tmp_path):
    program = start(LOGS.split("\n", 2)[2])
    for name in "abcde":
        get(program, "/", host=f"{name}.test")
    program.stop()
    assert len(lines_of(tmp_path / "a.log")) == 2 and not (tmp_path / "all.log").exists()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_signal_reopens_access_logs_of_sites(start, tmp_path, number):
    program = start(LOGS)
    names = ("all", "a", "b")
    for name in names:
        (tmp_path / f"{name}.log").rename(tmp_path / f"{name}.old")
    program.send_signal(number)
    for name in names:
        eventually(lambda name=name: (tmp_path / f"{name}.log").exists(), name)
    for host in ("a.test", "b.test", "e.test"):
        get(program, "/", host=host)
    program.stop()
    assert [len(lines_of(tmp_path / f"{name}.log")) for name in names] == [1, 1, 1]


def test_flag_replaces_common_access_log_only(start, tmp_path):
    program = start(LOGS, f"--access-log={tmp_path}/flag.log")
    for host in ("a.test", "e.test"):
        get(program, "/", host=host)
    program.stop()
    assert len(lines_of(tmp_path / "a.log")) == len(lines_of(tmp_path / "flag.log")) == 1
    assert not (tmp_path / "all.log").exists()


@pytest.mark.parametrize("log, expected", [
    ("nowhere/a.log", "2:22: the access log '"),
    ("{format: json}", "2:22: access_log requires 'path'"),
    ("{path: a.log, pattern: '{x}'}",
     "2:45: the pattern of the access log is invalid: {x} is an unknown name"),
    ("{path: common.log, format: json}", "2:29: the access log '"),
])
def test_invalid_access_logs_of_sites(write, log, expected):
    found = problems(write("access_log: common.log\nsites: [{access_log: " + log +
                           ", routes: [{path: /, respond: {body: x}}]}]\n"))
    assert found[0].startswith(expected)
    if "common" in log:
        assert "is also that of line 1, which has other options; use another path" in found[0]


# Printing


def test_rules_are_printed_and_read_again(write):
    text = PROXY + """proxy_fields: forwarded
sites:
  - allow: [192.0.2.0/24, unix]
    deny: "2001:db8::1"
    limit_requests: {requests: 5, period: 2min, burst: 7, by: all}
    access_log: {path: /dev/null, format: json, flush_ms: 5}
    rewrites: [{path: "/old/*", to: "/{rest}?a=$$"}]
    routes:
      - {path: /a, allow: all, deny: "::2", limit_requests: off, respond: {body: x}}
      - {path: /b, limit_requests: {requests: 5, period: 1h, max_clients: 9}, respond: {body: x}}
  - {hosts: a.test, access_log: off, routes: [{path: /, respond: {body: x}}]}
"""
    once = printed("run", write(text))
    for wanted in ('trusted_proxies:\n  - "127.0.0.0/8"\n  - "unix"\nproxy_fields: forwarded\n',
                   '    allow:\n      - "192.0.2.0/24"\n      - "unix"\n', "      period: 120\n",
                   "      burst: 7\n      by: all\n", "        limit_requests: off\n",
                   "          max_clients: 9\n",
                   '      - path: "/old/*"\n        to: "/{rest}?a=$$"',
                   "    access_log: off\n", "      flush_ms: 5\n"):
        assert wanted in once, wanted
    assert printed("run", write(once, "again.yaml")) == once


def test_serve_prints_rules(write, tmp_path):
    write("")
    flags = ("--allow=192.0.2.0/24", "--deny=192.0.2.1", "--limit-requests=9/min",
             "--rewrite=/old/*=/{rest}", "--redirect=/go=https://x.test/", "--trusted-proxy=::1",
             "--proxy-fields=forwarded")
    text = printed("serve", *flags, tmp_path / "site")
    path = write(text)
    assert printed("run", path) == text
    assert run("uvhttp", "check", path).returncode == 0
    for wanted in ('- "192.0.2.0/24"', '- "192.0.2.1"', "requests: 9\n      period: 60",
                   'to: "/{rest}"', 'redirect: "https://x.test/"', '- "::1"'):
        assert wanted in text
