"""Rules of single routes: hidden files, passwords for a part of a directory and for uploads, and
keys that are off for a route; in configuration files and as flags of `uvhttp serve`."""

import io
import os
import tarfile

import pytest

from program import Program, run
from static_server import root, serve, write  # noqa: F401 (fixtures)
from test_passwords import CHEAP, credentials
from wire_server import eventually

LOGIN = credentials("ann", "secret")


@pytest.fixture
def configure(root, tmp_path):
    """configure("routes: [...]") runs one site of that text; {place} is the directory."""
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    (tmp_path / "bob").write_text(f"bob:{CHEAP}\n")
    running = []

    def starter(text, top=""):
        path = tmp_path / "rules.yaml"
        path.write_text(f"listen: 127.0.0.1:0\nserver: {{workers: 1}}\n{top}sites:\n  - " +
                        text.replace("{place}", root))
        running.append(Program("uvhttp", "run", path))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def put(program, target, *fields):
    return program.request(target, "Content-Length: 1", *fields, method="PUT", body=b"x").status


# Hidden files


@pytest.fixture
def tree(root):
    for name in ("a.txt", "a.bak", "sub/b.bak", "sub/c.txt", "private/d.txt", "sub/private/e.txt",
                 "node_modules/f.js", "sub/node_modules/g.js", "index.html"):
        write(root, name, name.encode())
    return root


HIDDEN = ["/a.bak", "/sub/b.bak", "/private", "/private/", "/private/d.txt", "//private/d.txt",
          "/./private/d.txt", "/private/none", "/%70rivate/d.txt", "/node_modules/f.js",
          "/sub/node_modules/", "/sub/node_modules/g.js"]
SERVED = ["/a.txt", "/sub/c.txt", "/sub/private/e.txt"]
HIDE = ["--hide=*.bak", "--hide=/private", "--hide", "node_modules"]


def test_hidden_files_are_not_served(tree, serve):
    server = serve(*HIDE, "--listing", "--clean-urls")
    for _ in range(2):
        assert {target: server.request(target).status for target in HIDDEN
                if not target.startswith("//")} == {
                    target: 404 for target in HIDDEN if not target.startswith("//")}
        assert server.request("//private/d.txt").status in (301, 404)
        assert [server.request(target).status for target in SERVED] == [200] * len(SERVED)


def test_hidden_files_are_not_in_listing_and_archive(tree, serve):
    server = serve(*HIDE, "--listing", "--archive", "--index=")
    assert server.request("/?format=text").body == b"sub/\na.txt\nindex.html\n"
    assert server.request("/sub/?format=text").body == b"private/\nc.txt\n"
    archive = tarfile.open(fileobj=io.BytesIO(server.request("/?format=tar").body))
    names = [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]
    assert sorted(names) == ["a.txt", "index.html", "sub/c.txt", "sub/private/e.txt"]


def test_hidden_readme_is_not_shown(tree, serve):
    write(tree, "sub/README.md", b"# The text of it\n")
    server = serve("--hide=README.md", "--listing")
    assert b"The text of it" not in server.request("/sub/").body
    assert b"The text of it" in serve("--listing").request("/sub/").body


def test_hidden_files_cannot_be_uploaded(tree, serve):
    server = serve(*HIDE, "--uploads", "--upload-overwrite")
    for target in ("/a.bak", "/new.bak", "/private/new", "/sub/node_modules/new.txt"):
        assert put(server, target) == 403
    assert put(server, "/new.txt") == 201
    body = (b'--x\r\nContent-Disposition: form-data; name="f"; filename="new.bak"\r\n\r\n1\r\n'
            b"--x--\r\n")
    form = ("Content-Type: multipart/form-data; boundary=x", f"Content-Length: {len(body)}")
    for target in ("/", "/sub/"):
        assert server.request(target, *form, method="POST", body=body).status == 403


def test_hidden_index_is_not_used(tree, serve):
    write(tree, "index.htm", b"second")
    server = serve("--hide=/index.html", "--index=index.html index.htm")
    assert server.request("/").body == b"second"
    assert server.request("/index.html").status == 404


def test_hidden_error_page_is_sent(tree, serve):
    server = serve("--hide=/a.txt", "--error-pages=404=/a.txt")
    response = server.request("/none")
    assert (response.status, response.body) == (404, b"a.txt")
    assert server.request("/a.txt").status == 404


def test_hidden_files_in_configuration(tree, configure):
    server = configure("routes: [{path: /, static: {place}, hide: ['*.bak', /private]}]\n")
    assert [server.request(target).status for target in ("/a.bak", "/private/d.txt", "/a.txt")
            ] == [404, 404, 200]


def test_printed_hidden_files_load_again(tree, tmp_path):
    printed = run("uvhttp", "serve", "--print-config", *HIDE, tree).stdout
    assert '        hide:\n          - "*.bak"\n          - "/private"\n' in printed
    path = tmp_path / "again.yaml"
    path.write_text(printed)
    assert run("uvhttp", "run", "--print-config", path).stdout == printed


def test_invalid_hidden_pattern_is_refused(root, tmp_path):
    done = run("uvhttp", "serve", "--hide=[", root)
    assert done.returncode == 2 and done.stderr.startswith('uvhttp: --hide: hide is "["; must be')
    path = tmp_path / "site.yaml"
    path.write_text("sites: [{routes: [{path: /, static: " + root + ", hide: ['[']}]}]\n")
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and 'hide is "["; must be a pattern' in done.stderr


@pytest.mark.parametrize("pattern, reason", [
    ("/private/", "a directory is hidden by its path without the final slash"),
    ("//private", "no path contains '//', '.' or '..'; write the resolved path"),
    ("./private", "no path contains '//', '.' or '..'; write the resolved path"),
    ("sub/../private", "no path contains '//', '.' or '..'; write the resolved path"),
])
def test_pattern_that_would_hide_nothing_is_refused(tree, pattern, reason):
    done = run("uvhttp", "serve", "--print-config", f"--hide={pattern}", tree)
    assert (done.returncode, done.stderr) == (
        2, f'uvhttp: --hide: hide is "{pattern}"; {reason}\n')


# A password for a part of a directory


def test_password_for_part_of_file_system(tree, configure):
    tree = os.path.realpath(tree)
    server = configure(
        "routes:\n      - {path: /, static: /, symlinks: none}\n"
        f"      - {{path: /private/, static: '{tree}/private', basic_auth: {{file: ann}}}}\n")
    assert server.request("/private/d.txt", LOGIN).body == b"private/d.txt"
    assert server.request(f"{tree}/private/d.txt").status == 404
    assert server.request(f"{tree}/a.txt").body == b"a.txt"


@pytest.mark.parametrize("site", ["", "basic_auth: {file: bob}\n    "])
def test_password_for_part_of_directory(tree, configure, site):
    write(tree, "[x]*/h.txt", b"h")
    server = configure(
        site + "routes:\n"
        "      - {path: /, static: {place}, symlinks: none, listing: true, index: '', "
        "basic_auth: off}\n"
        "      - {path: /private/, static: {place}/private, basic_auth: {file: ann}}\n"
        "      - {path: /closed/, static: '{place}/[x]*', basic_auth: {file: ann}}\n")
    assert server.request("/private/d.txt").status == 401
    assert server.request("/private/d.txt", LOGIN).body == b"private/d.txt"
    assert server.request("/closed/h.txt", LOGIN).body == b"h"
    for target in ("//private/d.txt", "/%5Bx%5D*/h.txt", "/./private/d.txt"):
        assert server.request(target).body not in (b"private/d.txt", b"h")
    assert server.request("/%5Bx%5D*/h.txt").status == 404
    assert server.request("/sub/private/e.txt").body == b"sub/private/e.txt"
    assert b"[x]" not in server.request("/?format=text").body


@pytest.mark.parametrize("outer, inner, site", [
    ("static: {place}", "static: {place}/private", ""),
    ("static: {place}, symlinks: none", "static: {place}", ""),
    ("static: {place}, symlinks: none", "static: {place}/sub, more_roots: [{place}/private]", ""),
    ("static: {place}, symlinks: none", "static: {place}/private",
     "  - hosts: b.test\n    routes:\n"),
])
def test_password_for_part_of_directory_needs_no_links(tree, tmp_path, outer, inner, site):
    path = tmp_path / "site.yaml"
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    path.write_text(("sites:\n  - routes:\n      - {path: /, " + outer + "}\n" + site +
                     "      - {path: /private/, " + inner +
                     ", basic_auth: {file: ann}}\n").replace("{place}", tree))
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    hint = ("" if "symlinks" in outer else
            ", or set 'symlinks: none' in that route, which then hides it")
    assert done.stderr.endswith(f"serves without one; move it elsewhere{hint}\n")


# A password for uploads


def test_password_for_uploads(root, serve, tmp_path):
    write(root, "a", b"a")
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    server = serve("--uploads", "--upload-auth", str(tmp_path / "ann"))
    assert server.request("/a").status == 200
    assert [put(server, "/b"), put(server, "/b", credentials("ann", "x"))] == [401, 401]
    assert server.request("/", "Content-Length: 0", method="POST").status == 401
    assert put(server, "/b", LOGIN) == 201
    eventually(lambda: server.read_available() and "uploads with a password" in server.output,
               "the start output names the password")


def test_other_password_for_uploads(root, serve, tmp_path):
    write(root, "a", b"a")
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    (tmp_path / "bob").write_text(f"bob:{CHEAP}\n")
    flags = ["--uploads", "--upload-auth", str(tmp_path / "ann"), "--auth", str(tmp_path / "bob")]
    server = serve(*flags)
    bob = credentials("bob", "secret")
    assert [server.request("/a", *one).status for one in ([], [LOGIN], [bob])] == [401, 401, 200]
    assert [put(server, "/b"), put(server, "/b", bob), put(server, "/b", LOGIN)] == [401, 401, 201]
    path = tmp_path / "again.yaml"
    path.write_text(run("uvhttp", "serve", "-l127.0.0.1:0", *flags, "--print-config", root).stdout)
    again = Program("uvhttp", "run", path)
    try:
        assert [again.request("/a", *one).status for one in ([], [LOGIN], [bob])] == [401, 401, 200]
        assert [put(again, "/c"), put(again, "/c", bob), put(again, "/c", LOGIN)] == [401, 401, 201]
    finally:
        assert again.stop() == 0


def test_upload_auth_of_route(root, configure):
    write(root, "a", b"a")
    server = configure(
        "routes: [{path: /, static: {place}, uploads: true, upload_auth: {file: ann}}]\n")
    assert [server.request("/a").status, put(server, "/b"), put(server, "/b", LOGIN)
            ] == [200, 401, 201]


def test_upload_auth_requires_uploads(root, tmp_path):
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    done = run("uvhttp", "serve", "--upload-auth", tmp_path / "ann", root)
    assert (done.returncode, done.stderr) == (2, "uvhttp: --upload-auth requires --uploads\n")
    path = tmp_path / "site.yaml"
    path.write_text(
        f"sites: [{{routes: [{{path: /, static: {root}, upload_auth: {{file: ann}}}}]}}]\n")
    assert "upload_auth requires 'uploads: true'" in run("uvhttp", "check", path).stderr
    path.write_text(
        f"sites: [{{routes: [{{path: /, static: {root}, uploads: true, upload_auth: off}}]}}]\n")
    done = run("uvhttp", "check", path)
    assert done.stderr.endswith("upload_auth: expected a map, such as {file: staff}\n")


# Keys that are off for a route


def test_keys_are_off_for_route(configure, tmp_path):
    server = configure(
        "basic_auth: {file: ann}\n    cors: https://a.test\n    routes:\n"
        "      - {path: /all, respond: {body: x}}\n"
        "      - {path: /open, basic_auth: off, respond: {body: x}}\n"
        "      - {path: /quiet, access_log: off, respond: {body: x}}\n"
        "      - {path: /own, cors: off, respond: {body: x}}\n"
        "      - {path: /other, cors: [https://b.test, https://c.test], respond: {body: x}}\n",
        top="access_log: access.log\n")
    origin = "Origin: https://a.test"
    replies = [server.request(target, LOGIN, origin)
               for target in ("/all", "/open", "/quiet", "/own", "/other")]
    assert [reply.status for reply in replies] == [200] * 5
    assert [reply.get("Access-Control-Allow-Origin") is not None for reply in replies
            ] == [True, True, True, False, False]
    assert server.request("/other", LOGIN, "Origin: https://c.test").get(
        "Access-Control-Allow-Origin") == "https://c.test"
    assert [server.request(target).status for target in ("/all", "/open", "/quiet")
            ] == [401, 200, 401]
    assert server.stop() == 0
    log = (tmp_path / "access.log").read_text()
    assert "/quiet" not in log and log.count("/all") == 2 and log.count("/open") == 2


def test_printed_route_rules_load_again(configure, tmp_path):
    configure("basic_auth: {file: ann}\n    routes:\n"
              "      - {path: /a, basic_auth: off, access_log: off, cors: off, respond: {}}\n"
              "      - {path: /b, cors: 'https://b.test', respond: {}}\n")
    printed = run("uvhttp", "run", "--print-config", tmp_path / "rules.yaml").stdout
    assert "        basic_auth: off\n        cors: \"off\"\n        access_log: off\n" in printed
    path = tmp_path / "again.yaml"
    path.write_text(printed)
    assert run("uvhttp", "run", "--print-config", path).stdout == printed


def test_access_log_of_route_can_only_be_off(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text("sites: [{routes: [{path: /, access_log: x.log, respond: {}}]}]\n")
    assert "1:41: access_log of a route can only be off" in run("uvhttp", "check", path).stderr


# Error pages of refusals

PAGES = "401=/in.html 403,429=/no.html 4xx=/other.html"


@pytest.fixture
def pages(root):
    for name in ("in.html", "no.html", "other.html", "a"):
        write(root, name, name.encode())
    return root


def seen(reply):
    return reply.status, reply.body, reply.get("Content-Type")


HTML = "text/html; charset=utf-8"


def test_error_pages_of_refusals(pages, configure):
    server = configure(
        "basic_auth: {file: ann}\n    routes:\n"
        f"      - {{path: /, static: {{place}}, error_pages: '{PAGES}', uploads: true}}\n"
        f"      - {{path: /denied/, static: {{place}}, error_pages: '{PAGES}', deny: all}}\n"
        f"      - {{path: /few/, static: {{place}}, error_pages: '{PAGES}', "
        "limit_requests: 1/h}\n")
    reply = server.request("/a")
    assert seen(reply) == (401, b"in.html", HTML) and reply.get("WWW-Authenticate")
    assert seen(server.request("/a", credentials("ann", "x"))) == (401, b"in.html", HTML)
    assert server.request("/a", method="HEAD").get("Content-Length") == "7"
    assert server.request("/a", LOGIN).status == 200
    assert seen(server.request("/none", LOGIN))[:2] == (404, b"other.html")
    assert seen(server.request("/denied/a")) == (403, b"no.html", HTML)
    assert server.request("/few/a", LOGIN).status == 200
    reply = server.request("/few/a", LOGIN)
    assert seen(reply) == (429, b"no.html", HTML) and reply.get("Retry-After")
    reply = server.request("/b", "Content-Length: 1", method="PUT", body=b"x")
    assert reply.status == 401 and reply.body != b"in.html"


def test_class_has_error_page_for_refusals(pages, configure):
    server = configure("routes: [{path: /, static: {place}, error_pages: 4xx=/other.html, "
                       "basic_auth: {file: ann}}]\n")
    assert seen(server.request("/a")) == (401, b"other.html", HTML)


def test_error_pages_of_refusals_as_flags(pages, serve, tmp_path):
    (tmp_path / "ann").write_text(f"ann:{CHEAP}\n")
    flags = ["--auth", str(tmp_path / "ann"), "--error-pages", PAGES]
    server = serve(*flags)
    assert seen(server.request("/a")) == (401, b"in.html", HTML)
    assert seen(server.request("/none", LOGIN))[:2] == (404, b"other.html")
    printed = run("uvhttp", "serve", "--print-config", *flags, pages).stdout
    assert f'error_pages: "{PAGES}"\n' in printed
    path = tmp_path / "again.yaml"
    path.write_text(printed)
    assert run("uvhttp", "run", "--print-config", path).stdout == printed
    assert seen(serve("--deny=127.0.0.1", "--error-pages=403=/no.html").request("/a")) == (
        403, b"no.html", HTML)


def test_missing_error_page_of_refusals_is_reported(root, tmp_path):
    done = run("uvhttp", "serve", "--error-pages=401=/none.html", root)
    assert (done.returncode, done.stderr) == (
        1, f"uvhttp: --error-pages: the file '{root}/none.html' does not exist\n")
