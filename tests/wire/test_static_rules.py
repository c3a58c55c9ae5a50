"""Types and fields by file name: flags of `serve` and keys of a configuration file, with all kinds
of responses."""

import email.message
import os
import re
import subprocess
import urllib.parse

import httpx
import pytest
import yaml

import raw
from program import Program, run
from static_server import root, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

IMMUTABLE = "public, max-age=31536000, immutable"


@pytest.fixture
def start(root, tmp_path):
    """start("rules: ...") runs a site with these keys of its root, as the value of a flow map."""
    running = []

    def starter(keys, headers=""):
        path = tmp_path / "site.yaml"
        path.write_text("listen: 127.0.0.1:0\nserver: {workers: 1}\nsites:\n  - " + headers +
                        "routes:\n      - {path: /, static: " + root + ", " + keys + "}\n")
        running.append(Program("uvhttp", "run", path))
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


# Types


@pytest.mark.parametrize("name, wanted", [("a.html", "text/html; charset=utf-8"),
                                          ("a.js", "text/javascript; charset=utf-8"),
                                          ("a.MJS", "text/javascript; charset=utf-8"),
                                          ("a.json", "application/json"),
                                          ("a.svg", "image/svg+xml"), ("a.xml", "application/xml"),
                                          ("a.wasm", "application/wasm"), ("a.avif", "image/avif"),
                                          ("a.jxl", "image/jxl"), ("a.woff2", "font/woff2"),
                                          ("a.webmanifest", "application/manifest+json"),
                                          ("a.js.map", "application/json"), ("a.ts", "video/mp2t"),
                                          ("a.tar.gz", "application/gzip"),
                                          ("a.tgz", "application/gzip"),
                                          ("a.py", "text/plain; charset=utf-8"),
                                          ("a.b", "application/octet-stream"),
                                          ("LICENSE", "application/octet-stream"), ])
def test_content_type_by_extension(root, serve, name, wanted):
    write(root, name, b"x")
    response = serve().request("/" + name)
    assert (response.status, response.get("Content-Type")) == (200, wanted)
    # the file's own compression is no content coding of the response
    assert response.get("Content-Encoding") is None


def test_configured_content_types(root, serve):
    for name in ("a.md", "a.TAR.GZ", "a.gz", "a.unknown", "none", "a.css"):
        write(root, name, b"x")
    server = serve("--type", "md=text/x-one", "--type=md=text/x-two; charset=latin1", "--type",
                   ".tar.gz=application/x-three", "--default-type", "text/x-default")
    types = {name: server.request("/" + name).get("Content-Type") for name in os.listdir(root)}
    assert types == {
        "a.md": "text/x-two; charset=latin1", "a.TAR.GZ": "application/x-three",
        "a.gz": "application/gzip", "a.unknown": "text/x-default", "none": "text/x-default",
        "a.css": "text/css; charset=utf-8"
    }


# Fields


@pytest.mark.parametrize("size", [10, 100_000])
def test_rule_fields_with_all_kinds_of_responses(root, start, size):
    """Cached or not, in memory or from disk, a range or 304: RFC 9110 section 15.4.5."""
    write(root, "a.css", raw.pattern(size))
    server = start(
        """rules: [{match: "*.css", cache_control: max-age=5,
                    headers: {Vary: Origin, X-Robots-Tag: noindex, Content-Location: /b.css,
                              Expires: "Thu, 01 Jan 2026 00:00:00 GMT"}}]"""
    )
    both = {
        "Cache-Control": "max-age=5", "Vary": "Origin", "Expires": "Thu, 01 Jan 2026 00:00:00 GMT",
        "Content-Location": "/b.css"
    }
    with server.connect() as connection:
        for _ in range(2):
            whole = connection.request("GET", "/a.css")
            part = connection.request("GET", "/a.css", "Range: bytes=2-5")
            head = connection.request("HEAD", "/a.css")
            known = connection.request("GET", "/a.css", "If-None-Match: " + whole.get("ETag"))
            assert [one.status for one in (whole, part, head, known)] == [200, 206, 200, 304]
            for one in (whole, part, head, known):
                assert {name: one.get(name) for name in both} == both
            for one in (whole, part, head):
                assert one.get("X-Robots-Tag") == "noindex"
            assert known.get("X-Robots-Tag") is None
            assert whole.body == raw.pattern(size) and part.body == raw.pattern(size)[2:6]


def test_rules_apply_to_files_only(root, start):
    write(root, "a/index.html", b"x")
    os.mkdir(os.path.join(root, "empty"))
    server = start(
        """listing: true,
           rules: [{match: "**", cache_control: max-age=5, headers: {X-Rule: "1"}}]"""
    )
    for target, status in (("/none.css", 404), ("/a", 301), ("/empty/", 200)):
        response = server.request(target)
        assert (response.status, response.get("X-Rule")) == (status, None)
        assert "max-age" not in (response.get("Cache-Control") or "")
    rejected = server.request("/a/index.html", "If-Match: \"other\"")
    assert (rejected.status, rejected.get("X-Rule")) == (412, None)
    unsatisfied = server.request("/a/index.html", "Range: bytes=9-")
    assert (unsatisfied.status, unsatisfied.get("X-Rule"),
            unsatisfied.get("Cache-Control")) == (416, None, None)
    assert server.request("/a/").get("X-Rule") == "1"


def test_rules_match_file_path_and_last_one_applies(root, serve):
    for name in ("index.html", "docs/index.html", "docs/a.css", "docs/deep/a.css", "a.css"):
        write(root, name, b"x")
    server = serve("--cache-control", "**=max-age=1", "--cache-control", "/docs/*=max-age=2",
                   "--cache-control", "index.html=no-cache")
    ages = {
        path: server.request(path).get("Cache-Control")
        for path in ("/", "/docs/", "/docs/a.css", "/docs/deep/a.css", "/a.css")
    }
    assert ages == {
        "/": "no-cache", "/docs/": "no-cache", "/docs/a.css": "max-age=2",
        "/docs/deep/a.css": "max-age=1", "/a.css": "max-age=1"
    }


def test_rule_fields_of_another_index_file(root, serve):
    """The same file by another name is not the cached entry."""
    write(root, "one.html", b"x")
    server = serve("--index", "one.html two.html", "--revalidate-ms", "1", "--cache-control",
                   "one.html=max-age=1", "--cache-control", "two.html=max-age=2")
    assert server.request("/").get("Cache-Control") == "max-age=1"
    os.rename(os.path.join(root, "one.html"), os.path.join(root, "two.html"))
    eventually(lambda: server.request("/").get("Cache-Control") == "max-age=2",
               "the other index file is served")


def test_rule_overrides_fields_of_route_and_site(root, start):
    write(root, "a.css", b"x")
    write(root, "b.css", b"x")
    server = start(
        'rules: [{match: a.css, cache_control: max-age=1}], headers: {Cache-Control: max-age=2}',
        headers="headers: {Cache-Control: max-age=3, X-Site: here}\n    ")
    for response in (server.request("/a.css"),
                     server.request("/a.css",
                                    f'If-None-Match: {server.request("/a.css").get("ETag")}')):
        assert (response.get("Cache-Control"), response.get("X-Site")) == ("max-age=1", "here")
    assert server.request("/b.css").get("Cache-Control") == "max-age=2"


# A preset


def test_immutable_assets_preset(root, serve):
    for name in ("index.html", "assets/index-BfK3x_9Q.js", "main.3f2a9c01.css", "logo.svg",
                 "own.3f2a9c01.css"):
        write(root, name, b"x")
    server = serve("--immutable-assets", "--cache-control", "own.*=no-store")
    kept = {
        name: server.request(name).get("Cache-Control")
        for name in ("/", "/index.html", "/assets/index-BfK3x_9Q.js", "/main.3f2a9c01.css",
                     "/logo.svg", "/own.3f2a9c01.css")
    }
    assert kept == {
        "/": "no-cache", "/index.html": "no-cache", "/assets/index-BfK3x_9Q.js": IMMUTABLE,
        "/main.3f2a9c01.css": IMMUTABLE, "/logo.svg": None, "/own.3f2a9c01.css": "no-store"
    }
    again = server.request("/main.3f2a9c01.css",
                           "If-None-Match: " + server.request("/main.3f2a9c01.css").get("ETag"))
    assert (again.status, again.get("Cache-Control")) == (304, IMMUTABLE)
    # 404 is not cacheable forever
    assert server.request("/gone.3f2a9c01.css").get("Cache-Control") is None


# Downloads


@pytest.mark.parametrize("name", [
    "report.pdf", "two words.pdf", "gr\u00fc\u00dfe \u20ac.pdf", "a\"b\\c%41.pdf", "it's;x=1.pdf",
    "\U0001f600.pdf"
])
def test_download_has_name_of_file(root, start, name):
    """Python's parser of the field and curl read the name."""
    write(root, "in/" + name, b"content")
    server = start('rules: [{match: "*.pdf", download: true}]')
    target = "/in/" + urllib.parse.quote(name)
    value = server.request(target).get("Content-Disposition")
    message = email.message.Message()
    message["Content-Disposition"] = value
    assert value.isascii() and message.get_content_disposition() == "attachment"
    extended = re.search(r"filename\*=UTF-8''(\S+)$", value)
    assert (urllib.parse.unquote(extended[1]) if extended else message.get_filename()) == name


def test_curl_saves_download_by_name(root, start, tmp_path):
    write(root, "r \u00e4.pdf", b"content")
    write(root, "plain.pdf", b"plain")
    server = start(
        'rules: [{match: "*.pdf", download: true}, {match: "/shown/**", download: false}]')
    write(root, "shown/x.pdf", b"x")
    subprocess.run(["curl", "-sSfOJ", f"{server.url}plain.pdf?x=y"], cwd=tmp_path, check=True,
                   timeout=60)
    assert (tmp_path / "plain.pdf").read_bytes() == b"plain"
    assert server.request("/shown/x.pdf").get("Content-Disposition") == 'inline; filename="x.pdf"'


# Configuration


def test_printed_rules_load_again(root, start, tmp_path):
    write(root, "a.x", b"x")
    start("""types: {x: text/x-x, "tar.gz": a/b}, default_type: text/plain, immutable_assets: true,
             rules: [{match: ["*.x", /b/**], type: text/x-y, cache_control: no-cache,
                      download: true, headers: {X-A: "a $$ \\" b"}}]"""
          )
    path = tmp_path / "site.yaml"
    printed = run("uvhttp", "run", "--print-config", path).stdout
    again = tmp_path / "again.yaml"
    again.write_text(printed)
    assert run("uvhttp", "run", "--print-config", again).stdout == printed
    route = yaml.safe_load(printed)["sites"][0]["routes"][0]
    assert route["types"] == {"x": "text/x-x", "tar.gz": "a/b"}
    assert (route["default_type"], route["immutable_assets"]) == ("text/plain", True)
    assert route["rules"] == [{"match": match, **rest}
                              for rest in ({"type": "text/x-y"}, {"cache_control": "no-cache"},
                                           {"headers": {"Content-Disposition": "attachment"}},
                                           {"headers": {"X-A": 'a $$ " b'}})
                              for match in ("*.x", "/b/**")]


def test_flags_are_printed_as_keys(root):
    done = run("uvhttp", "serve", root, "--print-config", "--type", "x=a/b", "--cache-control",
               "*.x=no-cache",
               environment={"UVHTTP_TYPE": "y=a/b", "UVHTTP_CACHE_CONTROL": "*.y=no-cache"})
    route = yaml.safe_load(done.stdout)["sites"][0]["routes"][0]
    assert (route["types"], route["rules"]) == ({"x": "a/b"},
                                                [{"match": "*.x", "cache_control": "no-cache"}])
    done = run("uvhttp", "serve", root, "--print-config", environment={"UVHTTP_TYPE": "y=a/b; c=d"})
    assert yaml.safe_load(done.stdout)["sites"][0]["routes"][0]["types"] == {"y": "a/b; c=d"}


ALL_FILES = [
    ("max-age=3600", "max-age=3600"), ("no-store", "no-store"), ("NO-CACHE", "NO-CACHE"),
    ("public, max-age=60", "public, max-age=60"), ('private="x"', 'private="x"'),
    # patterns, of files with the names of directives
    ("max-age=no-cache", None), ("public=no-cache", None), ("private=no-cache", None),
    ("maxage=3600", None),
]


@pytest.mark.parametrize("value, expected", ALL_FILES)
def test_cache_control_without_pattern_is_for_all_files(serve, root, value, expected):
    write(root, "index.html", b"x")
    write(root, "docs/a.css", b"x")
    server = serve("--cache-control", value)
    for target in ("/", "/docs/a.css"):
        assert server.request(target).get("Cache-Control") == expected


def test_header_without_pattern_is_for_all_files(serve, root):
    write(root, "index.html", b"x")
    write(root, "docs/a.css", b"x")
    server = serve("--header", "X-A: b=c", "--header", "*.css=X-B: d:e")
    assert [server.request("/").get(name) for name in ("X-A", "X-B")] == ["b=c", None]
    assert [server.request("/docs/a.css").get(name) for name in ("X-A", "X-B")] == ["b=c", "d:e"]


def test_rule_without_match_is_for_all_files(root, tmp_path):
    write(root, "docs/a.css", b"x")
    path = tmp_path / "site.yaml"
    path.write_text(f"listen: 127.0.0.1:0\nsites: [{{routes: [{{path: /, static: {root}, rules: "
                    "[{cache_control: max-age=3600}, {headers: {X-A: b}}]}]}]\n")
    program = Program("uvhttp", "run", path)
    try:
        response = program.request("/docs/a.css")
        assert [response.get(name) for name in ("Cache-Control", "X-A")] == ["max-age=3600", "b"]
    finally:
        assert program.stop() == 0


@pytest.mark.parametrize("keys, message", [
    ("types: [a]", "types: expected a map of extensions and types, such as {md: text/markdown}"),
    ("types: {md: markdown}", 'types is "markdown"; must be a media type'),
    ("types: {a/b: text/plain}", 'types is "a/b=text/plain"; must be an extension and its type'),
    ("types: {md: [a]}", "md: expected a single value, found a list"),
    ("default_type: text", 'default_type is "text"; must be a media type'),
    ("rules: {a: b}", "rules: expected a list, found a map"),
    ("rules: [a]", "expected a map of keys and values, found a single value"),
    ("rules: [{match: [], cache_control: no-cache}]",
     "match is an empty list; give a value, or omit the key"),
    ("rules: [{}]", "a rule requires 'type', 'cache_control', 'download' or 'headers'"),
    ("rules: [{match: a}]",
     "a rule requires 'type', 'cache_control', 'download' or 'headers'"),
    ("rules: [{match: '[a', download: true}]",
     'pattern is "[a"; must be a pattern such as *.css or /assets/**'),
    ("rules: [{match: a, download: true, matches: b}]",
     "unknown key 'matches' in a rule; did you mean 'match'?"),
    ("rules: [{match: a, download: perhaps}]", "download is 'perhaps'; allowed are true and false"),
    ("rules: [{match: a, type: none}]", 'value is "none"; must be a media type'),
    ("rules: [{match: a, cache_control: ''}]", 'value is ""; must be a non-empty text'),
    ("rules: [{match: a, headers: {ETag: x}}]",
     "the field 'ETag' cannot be set: responses set it themselves"),
    ("rules: [{match: a, headers: {Content-Encoding: x}}]",
     "the field 'Content-Encoding' cannot be set: responses set it themselves"),
])
def test_invalid_rules_in_configuration(root, tmp_path, keys, message):
    path = tmp_path / "site.yaml"
    path.write_text("sites:\n  - routes:\n      - {path: /, static: " + root + ", " + keys + "}\n")
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert re.match(re.escape(str(path)) + r":3:\d+: ", done.stderr)


def test_rules_require_a_directory(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(
        "sites: [{routes: [{path: /, respond: {body: x}, rules: [{match: a, download: true}]}]}]\n")
    assert "'rules' requires 'static'" in run("uvhttp", "check", path).stderr


@pytest.mark.parametrize("flags, message", [
    (["--type", "md"],
     "uvhttp: --type: 'md' must be an extension and its type, such as md=text/markdown"),
    (["--default-type", "x"
      ], "uvhttp: --default-type: 'x' must be a media type"),
    (["--cache-control", "x"], "uvhttp: --cache-control: 'x' is not a rule; the format is "
                               "VALUE or PATTERN=VALUE"),
    (["--cache-control", "*.css"], "uvhttp: --cache-control: '*.css' is not a rule"),
    (["--cache-control", "[=x"], 'uvhttp: --cache-control: pattern is "["; must be a pattern such '
                                 'as'),
    (["--cache-control", "a="], 'uvhttp: --cache-control: value is ""; must be a non-empty text'),
    (["--type", "a=b/c"] * 65, "uvhttp: --type: too many values; at most 64 are allowed"),
])
def test_invalid_rule_flags(root, flags, message):
    done = run("uvhttp", "serve", root, *flags)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(message)
