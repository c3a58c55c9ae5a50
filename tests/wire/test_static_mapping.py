"""The file of a path: clean URLs, fallbacks, try-files lists, aliases, several roots, links, and
error pages."""

import gzip
import os

import httpx
import pytest
import yaml

import raw
from program import Program, run
from static_server import KIB, SECRET, root, replace, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

HTML = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"


def final(server, target):
    """The final URL of a real client after redirects, and its response."""
    with httpx.Client(trust_env=False, follow_redirects=True) as client:
        response = client.get(f"http://127.0.0.1:{server.port}{target}")
    return response.status_code, response.url.raw_path.decode(), response.content


# Clean URLs


def test_clean_urls_serve_and_redirect(root, serve):
    write(root, "index.html", b"start")
    write(root, "about.html", b"about")
    write(root, "docs/index.html", b"docs")
    write(root, "docs/guide.html", b"guide")
    write(root, "plain.txt", b"plain")
    server = serve("--clean-urls")
    for _ in range(2):
        assert server.request("/about").body == b"about"
        assert server.request("/about").get("Content-Type") == "text/html; charset=utf-8"
        assert server.request("/docs/guide").body == b"guide"
        assert server.request("/docs/").body == b"docs"
        assert server.request("/plain.txt").body == b"plain"
        assert server.request("/plain").status == 404
        assert server.request("/about.htm").status == 404
        for target, location in (("/about.html", "/about"), ("/about.html?a=1&b=%2F",
                                                             "/about?a=1&b=%2F"),
                                 ("/index.html", "/"), ("/index.html?x",
                                                        "/?x"), ("/docs/index.html", "/docs/"),
                                 ("/docs", "/docs/"), ("/docs/guide.html", "/docs/guide"),
                                 ("/about/", "/about"), ("/about//?q=1", "/about/?q=1"),
                                 ("/%61bout%2Ehtm%6c", "/%61bout"), ("/docs/ind%65x.html",
                                                                     "/docs/"), ("/index", "/"),
                                 ("/index/?x", "/?x"), ("/docs/index", "/docs/"), ("/docs/index/",
                                                                                   "/docs/"),
                                 ("/docs/index?a=1", "/docs/?a=1"), ("//about.html", "/about.html"),
                                 ("//docs/index.html", "/docs/index.html"), ("/./about.html",
                                                                             "/./about")):
            for method in ("GET", "HEAD"):
                response = server.request(target, method=method)
                assert (target, response.status, response.get("Location")) == (target, 301,
                                                                               location)
        assert server.request("/about/.").status == 404  # not redirected to itself
    assert final(server, "/docs/index.html?x=1") == (200, "/docs/?x=1", b"docs")
    assert final(server, "/docs/index/.") == (200, "/docs/", b"docs")
    assert final(server, "/docs/guide.html") == (200, "/docs/guide", b"guide")


def test_clean_urls_precedence(root, serve):
    """The file of exactly that name, then a directory with an index or listing, then the page."""
    write(root, "a", b"file a")
    write(root, "a.html", b"page a")
    write(root, "b/index.html", b"folder b")
    write(root, "b.html", b"page b")
    write(root, "c/inner.html", b"inner c")
    write(root, "c.html", b"page c")
    write(root, "d.html/index.html", b"folder d.html")
    server = serve("--clean-urls")
    assert server.request("/a").body == b"file a"
    assert server.request(
        "/a.html").body == b"page a"  # /a is another file, so this one keeps its URL
    assert final(server, "/b") == (200, "/b/", b"folder b")
    assert server.request("/b.html").body == b"page b"
    assert server.request("/c").body == b"page c"  # the directory has neither index nor listing
    assert server.request("/c/").get("Location") == "/c"
    assert server.request("/c.html").get("Location") == "/c"
    assert server.request("/c/inner").body == b"inner c"
    assert server.request("/d").status == 404
    assert final(server, "/d.html") == (200, "/d.html/", b"folder d.html")
    with_listing = serve("--clean-urls", "--listing")
    assert final(with_listing, "/c")[:2] == (200, "/c/")
    assert with_listing.request("/c.html").body == b"page c"


def test_clean_urls_redirects_do_not_loop(root, serve):
    for name in ("x", "x.html", "y.html", "y.html.html", "z/index.html", "z/index", "index.html",
                 "index", "w/w.html", "v.html/v.html", "u/index.html/index.html",
                 "t.html/index.html"):
        write(root, name, name.encode())
    server = serve("--clean-urls")
    for target in ("/x", "/x.html", "/x/", "/y", "/y.html", "/y.html.html", "/y/", "/z", "/z/",
                   "/z/index", "/z/index.html", "/", "/index", "/index.html", "/index/", "/w",
                   "/w/", "/w/w", "/w/w.html", "/w/w/", "/v", "/v.html", "/v.html/v", "/v.html/",
                   "/u", "/u/index.html", "/u/index.html/index.html", "/t", "/t/", "/t.html",
                   "/t.html/index.html"):
        status, url, _ = final(server, target)
        assert status in (200, 403, 404), (target, status, url)


def test_clean_urls_redirects_stay_on_this_server(root, serve):
    write(root, "evil.example/index.html", b"x")
    write(root, "evil.example/page.html", b"x")
    server = serve("--clean-urls")
    for target in ("//evil.example/index.html", "///evil.example/page.html", "//evil.example",
                   "/\\evil.example/index.html"):
        location = server.request(target).get("Location")
        assert location is None or (location[0] == "/" and location[1] not in "/\\"), location


def test_without_clean_urls_extension_is_required(root, serve):
    write(root, "about.html", b"about")
    server = serve()
    assert server.request("/about").status == 404
    assert server.request("/about.html").body == b"about"


def test_new_file_of_higher_rank_is_served(root, serve):
    """A cache entry that a later item of the list has found is replaced when a file of an earlier
    item appears."""
    write(root, "about.html", b"page")
    server = serve("--clean-urls", "--revalidate-ms", "20")
    assert server.request("/about").body == b"page"
    write(root, "about/index.html", b"folder")
    eventually(lambda: server.request("/about").status == 301, "the directory is detected")
    assert final(server, "/about") == (200, "/about/", b"folder")
    os.remove(os.path.join(root, "about/index.html"))
    eventually(lambda: server.request("/about").body == b"page", "the page is served again")
    os.rmdir(os.path.join(root, "about"))
    write(root, "about", b"file")
    eventually(lambda: server.request("/about").body == b"file", "the file is detected")
    os.remove(os.path.join(root, "about"))
    os.remove(os.path.join(root, "about.html"))
    eventually(lambda: server.request("/about").status == 404, "all are missing")


# Fallbacks


def test_fallback_serves_single_page_application(root, serve):
    write(root, "index.html", b"<app>")
    write(root, "assets/app.js", b"js")
    write(root, "empty/app.js", b"js")
    server = serve("--spa")
    for _ in range(2):
        for target in ("/", "/users", "/users/7/edit?tab=1", "/users/", "/assets", "/empty/",
                       "/a.b/c"):
            response = server.request(target, HTML)
            assert (target, response.status, response.body) == (target, 200, b"<app>")
            assert response.get("Content-Type") == "text/html; charset=utf-8"
            head = server.request(target, HTML, method="HEAD")
            assert head.status == 200 and head.get("Content-Length") == "5"
        assert server.request("/users", HTML).get("Vary") == "Accept"
        assert server.request("/assets/app.js").body == b"js"
        for target in ("/assets/old.js", "/favicon.ico", "/users/john.doe", "/a.css/"):
            assert (target, server.request(target).status) == (target, 404)
        for target in ("/.git/config", "/a/.b", "/%2Fx", "/a%2Fb"):
            assert (target, server.request(target, HTML).status) == (target, 404)
        assert server.request("/users", HTML, method="POST").status == 405


@pytest.mark.parametrize("accept, status", [
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", 200),
    ("text/html", 200), ("image/avif,image/webp,image/svg+xml,image/*,*/*;q=0.8", 404),
    ("*/*", 404), (None, 404), ("text/css,*/*;q=0.1", 404), ("application/json", 404)])
def test_fallback_for_path_with_dot_requires_preference_of_html(root, serve, accept, status):
    """A browser asks for a page in this way, but not for a script or an image."""
    write(root, "index.html", b"<app>")
    server = serve("--spa")
    fields = [] if accept is None else [f"Accept: {accept}"]
    for target in ("/users/john.doe", "/users/john.doe/", "/app-0123.js"):
        for _ in range(2):
            response = server.request(target, *fields)
            assert (response.status, response.get("Vary")) == (status, "Accept")
            assert (response.body == b"<app>") == (status == 200)


@pytest.mark.parametrize("accept, status", [(None, 200), ("*/*", 200), ("text/*", 200),
                                            ("text/html", 200),
                                            ("application/json, text/html;q=0.1", 200),
                                            ("application/json", 404), ("image/png,image/*", 404),
                                            ("text/html;q=0, */*", 404), ("text/css", 404)])
def test_fallback_requires_accept_html(root, serve, accept, status):
    write(root, "index.html", b"<app>")
    server = serve("--spa")
    fields = () if accept is None else (f"Accept: {accept}", )
    for _ in range(2):
        response = server.request("/api/users", *fields)
        assert response.status == status
        assert response.get("Vary") == "Accept"
    assert server.request("/").get("Vary") is None  # a file like any other


def test_fallback_uses_all_accept_lines(root, serve):
    write(root, "index.html", b"<app>")
    server = serve("--spa")
    assert server.request("/api/users", "Accept: application/json",
                          "Accept: text/html").status == 200
    assert server.request("/api/users", "Accept: */*;q=0.1", "Accept: text/html;q=0").status == 404


def test_fallback_supports_conditions_and_ranges(root, serve):
    write(root, "app.html", b"0123456789")
    server = serve("--fallback", "/app.html")
    tag = server.request("/route").get("ETag")
    assert server.request("/other", f"If-None-Match: {tag}").status == 304
    assert server.request("/other", "Range: bytes=2-4").body == b"234"
    assert server.request("/").body == b"0123456789"
    assert server.request("/app.html").body == b"0123456789"


def test_fallback_is_one_cache_entry(root, serve):
    write(root, "index.html", b"<app>")
    write(root, "keep.txt", b"keep")
    server = serve("--spa", "--cache-entries", "2", "--revalidate-ms", "3600000")
    tag = server.request("/keep.txt").get("ETag")
    for number in range(50):
        assert server.request(f"/route/{number}").body == b"<app>"
    path = os.path.join(root, "keep.txt")
    os.utime(path, ns=(0, 10 ** 18))
    assert server.request("/keep.txt").get("ETag") == tag, "the file is evicted"


def test_fallback_path_that_becomes_a_file(root, serve):
    write(root, "index.html", b"<app>")
    server = serve("--spa", "--revalidate-ms", "20")
    assert server.request("/news").body == b"<app>"
    write(root, "news", b"news")
    eventually(lambda: server.request("/news").body == b"news", "the file is served")
    os.remove(os.path.join(root, "news"))
    eventually(lambda: server.request("/news").body == b"<app>", "the fallback is served")
    replace(root, "index.html", b"<new>")
    eventually(lambda: server.request("/news").body == b"<new>", "the new page is served")
    os.remove(os.path.join(root, "index.html"))
    eventually(lambda: server.request("/news").status == 404, "the page is missing")
    server.request("/news"), server.request("/more")
    assert server.log().count("the page '/index.html' cannot be sent") == 1
    write(root, "index.html", b"<back>")
    assert server.request("/news").body == b"<back>"


def test_clean_urls_with_a_fallback(root, serve):
    write(root, "index.html", b"<app>")
    write(root, "about.html", b"about")
    server = serve("--spa", "--clean-urls")
    assert server.request("/about").body == b"about"
    assert server.request("/about.html").get("Location") == "/about"
    assert server.request("/about/").get("Location") == "/about"
    assert server.request("/other").body == b"<app>"
    assert server.request("/index.html").get("Location") == "/"


# Lists


def test_try_files_order(root, serve):
    write(root, "a", b"a")
    write(root, "b.html", b"b.html")
    write(root, "c/index.html", b"c/index.html")
    write(root, "pages/d.md", b"pages/d.md")
    write(root, "fallback.html", b"fallback")
    write(root, "folder/inner", b"inner")
    server = serve("--try-files",
                   "{path} {path}.html {path}/index.html /pages//{path}.md /fallback.html =404")
    for _ in range(2):
        for target, body in (("/a", b"a"), ("/b", b"b.html"), ("/b.html", b"b.html"),
                             ("/c", b"c/index.html"), ("/c/", b"c/index.html"),
                             ("/d", b"pages/d.md"), ("/e", b"fallback"), ("/folder", b"fallback"),
                             ("/folder/", b"fallback"), ("/folder/inner", b"inner"),
                             ("/x/y/z", b"fallback"), ("/", b"fallback")):
            response = server.request(target)
            assert (target, response.status, response.body) == (target, 200, body)
        assert server.request("/e", "Accept: application/json").body == b"fallback"
        assert server.request("/.hidden").status == 404
    os.remove(os.path.join(root, "fallback.html"))
    eventually(lambda: server.request("/e").status == 404, "no file exists")


def test_try_files_with_directory_and_status(root, serve):
    write(root, "old.html", b"old")
    write(root, "docs/index.html", b"docs")
    write(root, "bare/x", b"x")
    server = serve("--try-files", "{path}.html {path}/ =410")
    assert server.request("/old").body == b"old"
    assert server.request("/docs").get("Location") == "/docs/"
    assert server.request("/docs/").body == b"docs"
    assert server.request("/bare").status == 410
    assert server.request("/bare/").status == 410
    assert server.request(
        "/docs/index.html").status == 410  # no entry marks this path as a file name


def test_try_files_serves_no_hidden_or_outside_file(root, serve):
    write(root, ".html", b"hidden")
    write(root, "a/.html", b"hidden")
    write(root, "x/.env/y", b"hidden")
    os.symlink("../secret.txt", os.path.join(root, "out.txt"))
    server = serve("--try-files", "{path}.html {path}.txt x/{path}")
    for target in ("/", "/a/", "/.env/y"):
        assert server.request(target).status == 404
    response = server.request("/out")
    assert response.status == 403 and SECRET not in response.body
    assert server.request("/../secret").status in (400, 404)
    assert server.request("/%2e%2e/secret").status in (400, 404)


def test_try_files_ends_at_denied_file(root, serve):
    os.mkfifo(os.path.join(root, "pipe"))
    write(root, "pipe.html", b"page")
    assert serve("--clean-urls").request("/pipe").status == 403


# Error pages


def test_error_pages_are_sent(root, serve):
    write(root, "404.html", b"<lost>")
    write(root, ".errors/denied.html", raw.pattern(100 * KIB))
    write(root, "bare/x", b"x")
    server = serve("--error-pages", "404=/404.html 403=/.errors/denied.html")
    tag = server.request("/404.html").get("ETag")
    for _ in range(2):
        for fields in ((), (f"If-None-Match: {tag}", ), ("If-None-Match: *", ),
                       ("Range: bytes=0-1", ), ("If-Match: \"x\"", ),
                       ("If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", ),
                       ("If-Unmodified-Since: Thu, 01 Jan 1998 00:00:00 GMT", )):
            response = server.request("/missing", *fields)
            assert (fields, response.status, response.body) == (fields, 404, b"<lost>")
            assert response.get("Content-Type") == "text/html; charset=utf-8"
            for name in ("ETag", "Last-Modified", "Accept-Ranges", "Content-Range"):
                assert response.get(name) is None
        head = server.request("/missing", method="HEAD")
        assert (head.status, head.get("Content-Length"), head.body) == (404, "6", b"")
        assert server.request("/.git/config").body == b"<lost>"
        assert server.request("/a%2Fb").body == b"<lost>"
        denied = server.request("/bare/")
        assert (denied.status, denied.body) == (403, raw.pattern(100 * KIB))
        assert server.request("/404.html").status == 200  # its own path serves it as a file
        assert server.request("/.errors/denied.html").status == 404
        assert server.request("/404.html", "Range: bytes=10-").status == 416
        assert server.request("/404.html", "Range: bytes=10-").body != b"<lost>"
    with server.connect() as connection:  # the connection is reusable
        for _ in range(3):
            assert connection.request("GET", "/missing").body == b"<lost>"


def test_missing_error_page_gets_default_text(root, serve):
    write(root, "sorry.html", b"there at the start")
    server = serve("--error-pages", "4xx=/sorry.html", "--revalidate-ms", "20")
    os.remove(os.path.join(root, "sorry.html"))
    for _ in range(3):
        response = server.request("/missing")
        assert (response.status, response.body) == (404, b"404 Not Found\n")
    assert server.request("/sorry.html").status == 404
    assert server.log().count("the page '/sorry.html' cannot be sent: no such file") == 1
    write(root, "sorry.html", b"sorry")
    assert server.request("/missing").body == b"sorry"
    replace(root, "sorry.html", b"sorry again")
    eventually(lambda: server.request("/missing").body == b"sorry again", "the new page is served")
    os.remove(os.path.join(root, "sorry.html"))
    eventually(lambda: server.request("/missing").body == b"404 Not Found\n",
               "the default text is served")
    assert server.log().count("cannot be sent") == 2


def test_error_page_of_status_overrides_class(root, serve):
    for name in ("one", "class"):
        write(root, name + ".html", name.encode())
    write(root, "bare/x")
    server = serve("--error-pages", "404,500=/one.html 4xx=/class.html")
    assert server.request("/missing").body == b"one"
    assert (server.request("/bare/").status, server.request("/bare/").body) == (403, b"class")


def test_error_pages_with_try_files_and_fallback(root, serve):
    write(root, "gone.html", b"gone")
    write(root, "index.html", b"<app>")
    server = serve("--try-files", "{path} =410", "--error-pages", "410=gone.html")
    assert (server.request("/x").status, server.request("/x").body) == (410, b"gone")
    server = serve("--spa", "--error-pages", "404=gone.html")
    assert server.request("/x").body == b"<app>"
    response = server.request("/x", "Accept: image/png")
    assert (response.status, response.body, response.get("Vary")) == (404, b"gone", "Accept")


@pytest.mark.http1
def test_error_page_without_descriptors_is_text(root, serve):
    write(root, "busy.html", b"busy")
    server = serve("--error-pages", "503=/busy.html", descriptors=40)
    first = server.connect()
    assert first.request("GET", "/missing").status == 404
    # a connection with a request in progress is not closed
    first.send(b"GET /file0 HTTP/1.1\r\nHost: a\r\n")
    crowd = [server.connect() for _ in range(48)]
    for connection in crowd:
        connection.send(b"GET / HTTP/1.1\r\n")
    eventually(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) >= 35,
               "all descriptors but the reserve for files are used")
    first.send(b"\r\n" + b"".join(raw.request("GET", f"/file{number}") for number in range(1, 8)))
    responses = first.responses(8)
    assert {response.status for response in responses} <= {404, 503}
    assert {response.body
            for response in responses
            } <= {b"404 Not Found\n", b"503 Service Unavailable\n", b"busy"}
    for connection in crowd:
        connection.close()
    first.close()


# Links


def make_links(root):
    write(root, "real/file", b"inside")
    os.symlink("real/file", os.path.join(root, "in"))
    os.symlink("real", os.path.join(root, "folder"))
    os.symlink("../secret.txt", os.path.join(root, "out"))
    os.symlink(os.path.join(os.path.dirname(root), "secret.txt"), os.path.join(root, "absolute"))


@pytest.mark.parametrize("policy, inside, outside", [(None, 200, 403), ("inside", 200, 403),
                                                     ("none", 403, 403), ("all", 200, 200),
                                                     ("owner", 200, 200)])
def test_symlink_policies(root, serve, policy, inside, outside):
    make_links(root)
    server = serve(*(() if policy is None else ("--symlinks", policy)))
    for _ in range(2):
        assert server.request("/real/file").body == b"inside"
        assert server.request("/in").status == server.request("/folder/file").status == inside
        assert server.request("/out").status == server.request("/absolute").status == outside
        assert server.request("/../secret.txt").status in (400, 404)
    assert (SECRET == server.request("/out").body) == (outside == 200)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner")
def test_symlink_of_another_owner(root, serve):
    make_links(root)
    os.chown(os.path.join(root, "out"), 1, -1, follow_symlinks=False)
    os.chown(os.path.join(root, "folder"), 1, -1, follow_symlinks=False)
    server = serve("--symlinks", "owner", "--revalidate-ms", "20")
    assert [server.request(target).status
            for target in ("/out", "/folder/file", "/in")] == [403, 403, 200]
    os.chown(os.path.join(root, "in"), 1, -1, follow_symlinks=False)
    eventually(lambda: server.request("/in").status == 403, "the new owner is detected")


# Options and keys

DOTS = "contains '.' or '..'; write a path below the served directory, without them"


@pytest.mark.parametrize("flags, message", [
    (["--try-files", "{uri} =404"
      ], "--try-files: '{uri}' contains a brace; the only variable is {path}"),
    (["--try-files", "{path"
      ], "--try-files: '{path' contains a brace; the only variable is {path}"),
    (["--try-files", " "], "--try-files: ' ' is an empty list"),
    (["--try-files", "{path} =200"
      ], "--try-files: '=200' is not a status; allowed are =400 to =599"),
    (["--try-files", "=404 {path}"], "--try-files: '{path}' is never used: a status ends the list"),
    (["--try-files", "{path} ../x"
      ], f"--try-files: '../x' {DOTS}"),
    (["--try-files", "{path}/../x"
      ], f"--try-files: '{{path}}/../x' {DOTS}"),
    (["--try-files", "{path} /docs/"], "--try-files: '/docs/' is a directory; a file is required"),
    (["--try-files", "x{path}/"], "--try-files: 'x{path}/' is a directory; a file is required"),
    (["--try-files", "{path} /.x"
      ], "--try-files: '/.x' is hidden, and hidden files are denied"),
    (["--try-files", "{path} " * 17], "--try-files: '{path}' is one entry too many; at most 16 are "
                                      "allowed"),
    (["--try-files", "{path}", "--spa"],
     "--try-files cannot be combined with --spa; write its file, such as /index.html, "
     "as the last word in --try-files instead"),
    (["--try-files", "{path}", "--fallback", "/x"
      ], "--try-files cannot be combined with --fallback; write its file, such as /index.html, "
         "as the last word in --try-files instead"),
    (["--try-files", "{path}", "--clean-urls"
      ], "--try-files cannot be combined with --clean-urls; write {path}.html in --try-files "
         "instead"),
    (["--spa", "--index", ""], "--spa requires an index file, but --index is empty"),
    (["--index", "../x"
      ], "--index: '../x' contains a slash; a file name without a path is required"),
    (["--index", "index.html docs/"], "--index: 'docs/' contains a slash; a file name without a "
                                      "path is required"),
    (["--index", ".. index.php"], "--index: '..' is a directory; a file is required"),
    (["--index", "index.html ."], "--index: '.' is a directory; a file is required"),
    (["--index", "index.html .htm"
      ], "--index: '.htm' is hidden, and hidden files are denied"),
    (["--fallback", "/"], "--fallback: '/' is a directory; a file is required"),
    (["--fallback", "/.app.html"
      ], "--fallback: '/.app.html' is hidden, and hidden files are denied"),
    (["--error-pages", "404"], "--error-pages: '404' has no '='; write 404=/404.html"),
    (["--error-pages", "404=/x 500"], "--error-pages: '500' has no '='; write 500=/500.html"),
    (["--error-pages", "/404.html"], "--error-pages: '/404.html' has no '='; write 404=/404.html"),
    (["--error-pages", "404=/x 503,404=/y"
      ], "--error-pages: '404' has more than one page; omit all but one"),
    (["--error-pages", "4xx=/x 404=/y 4xx=/y"
      ], "--error-pages: '4xx' has more than one page; omit all but one"),
    (["--error-pages", "404=https://x.test/"
      ], "--error-pages: 'https://x.test/' is a URL; a file below the served directory is "
         "required"),
    (["--fallback", "../x"
      ], f"--fallback: '../x' {DOTS}"),
    (["--error-pages", "200=/x"
      ], "--error-pages: '200' is not a status; allowed are 400 to 599, 4xx and 5xx"),
    (["--error-pages", "404,=/x"
      ], "--error-pages: '' is not a status; allowed are 400 to 599, 4xx and 5xx"),
    *[(["--error-pages", f"{codes}=/x"
        ], "--error-pages: '' is not a status; allowed are 400 to 599, 4xx and 5xx")
      for codes in (",", ",401", "401,", "")],
    (["--error-pages", "401=/../x"
      ], f"--error-pages: '/../x' {DOTS}"),
    (["--error-pages", "6xx=/x"
      ], "--error-pages: '6xx' is not a status; allowed are 400 to 599, 4xx and 5xx"),
    (["--error-pages", "416=/x"], "--error-pages: '416' cannot have an error page: programs "
                                  "read its response"),
    *[(["--error-pages", f"{status}=/x", "--uploads", "--archive"],
       f"--error-pages: '{status}' is never sent here; allowed are 401, "
       f"403, 404, 429, 500, 503, 4xx, 5xx and the status at the end of --try-files"
       ) for status in (400, 402, 408, 409, 410, 413, 414, 415, 431, 499, 501, 507)],
    (["--error-pages", "404="], "--error-pages: '404=' has no file; write 404=/404.html"),
    (["--error-pages", " ".join(f"404=/{i}" for i in range(50))
      ], "--error-pages: '/32' is one file too many; at most 32 different files are allowed"),
    (["--error-pages", "404=/404.html,403=/x"
      ], "--error-pages: '404=/404.html,403=/x' has a comma between pages; separate them with a "
         "space"),
    *[(["--" + flag, *value], f"--{flag}: has no effect without --{needed}")
      for flag, value, needed in (
          ("upload-overwrite", [], "uploads"), ("upload-directories", [], "uploads"),
          ("upload-sync", [], "uploads"), ("upload-max-size", ["1K"], "uploads"),
          ("archive-entries", ["1"], "archive"), ("archive-size", ["1K"], "archive"),
          ("rate-burst", ["1K"], "rate-limit"), ("gzip-level", ["9"], "compress"),
          ("brotli-level", ["9"], "compress"), ("zstd-level", ["9"], "compress"),
          ("compress-min-size", ["1K"], "compress"), ("compress-max-size", ["1K"], "compress"))],
    (["--no-listing", "--archive"], "--archive: has no effect without --listing"),
    (["--no-listing", "--listing-max", "5"], "--listing-max: has no effect without --listing"),
    (["--compress", "--compress-min-size", "20M"],
     "--compress-min-size: the minimum size (20971520 bytes) exceeds the maximum size ("
     "8388608 bytes)"
     ),
    (["--compress", "--compress-max-size", "1000"],
     "--compress-max-size: the minimum size (1024 bytes) exceeds the maximum size (1000 "
     "bytes)"
     ),
    (["--symlinks", "some"
      ], "--symlinks: 'some' is invalid; allowed are inside, all, none, owner"),
])
def test_invalid_options(root, flags, message):
    done = run("uvhttp", "serve", root, "-l", "127.0.0.1:0", *flags)
    assert (done.returncode, done.stderr) == (2, f"uvhttp: {message}\n")


@pytest.mark.parametrize("pages, fault", [("404=/404.html 403=/x", "/x' does not exist"),
                                          ("404=/sub", "/sub' is not a regular file"),
                                          ("4xx=404.html/x", "/404.html/x' does not exist")])
def test_missing_pages_are_reported(root, pages, fault):
    write(root, "404.html", b"<lost>")
    write(root, "sub/file")
    done = run("uvhttp", "serve", root, "-l", "127.0.0.1:0", "--error-pages", pages)
    assert (done.returncode,
            done.stderr) == (1, f"uvhttp: --error-pages: the file '{root}{fault}\n")


def test_options_may_name_served_hidden_files(root, serve):
    write(root, ".app.html", b"<app>")
    server = serve("--hidden", "--fallback", "/.app.html")
    assert server.request("/route").body == b"<app>"
    assert serve("--hidden", "--index", "...html .app.html").request("/").body == b"<app>"


def test_environment_variables_set_options(root):
    write(root, "index.html", b"<app>")
    write(root, "404.html", b"<lost>")
    server = Program(
        "uvhttp", "serve", root, "-l", "127.0.0.1:0", environment={
            "UVHTTP_SPA": "on", "UVHTTP_ERROR_PAGES": "404=/404.html", "UVHTTP_SYMLINKS": "none"
        })
    assert (server.request("/a").body, server.request("/a.png").body) == (b"<app>", b"<lost>")
    assert server.stop() == 0


@pytest.fixture
def run_site(tmp_path):
    """run_site(routes): `uvhttp run` of a site with these routes, in the directory `tmp_path`."""
    running = []

    def starter(routes):
        path = tmp_path / "site.yaml"
        path.write_text(
            yaml.dump({
                "listen": ["127.0.0.1:0"], "server": {"workers": 1}, "sites": [{"routes": routes}]
            }))
        running.append(Program("uvhttp", "run", path))
        return running[-1]

    yield starter
    for one in running:
        assert one.stop() == 0, one.log()


def test_static_aliases(tmp_path, run_site):
    write(tmp_path, "site/index.html", b"<site>")
    write(tmp_path, "brand/icons/my icon{1}.ico", b"icon")
    write(tmp_path, "data/w3/images/top.gif", b"gif")
    removed = write(tmp_path, "site/gone.txt", b"there at the start")
    server = run_site([{"path": "/", "static": "site"}, {
        "path": "/favicon.ico", "static": "brand/icons", "file": "my icon{1}.ico",
        "prewarm": ["/favicon.ico"]
    }, {"path": "/always/", "static": "brand",
        "file": "/icons/my icon{1}.ico"}, {"path": "/gone", "static": "site", "file": "gone.txt"},
                       {"path": "/i/", "static": "data/w3/images"}, ])
    os.remove(removed)
    for _ in range(2):
        icon = server.request("/favicon.ico?x")
        assert (icon.status, icon.body, icon.get("Content-Type")[:6]) == (200, b"icon", "image/")
        assert server.request("/favicon.ico", "Range: bytes=1-2").body == b"co"
        assert server.request("/favicon.ico", f"If-None-Match: {icon.get('ETag')}").status == 304
        assert server.request("/always/one").body == server.request(
            "/always/a/b.html").body == b"icon"
        assert server.request("/i/top.gif").body == b"gif"
        assert server.request("/gone").status == 404
        assert server.request("/").body == b"<site>"


def test_several_roots_are_searched_in_order(tmp_path, run_site):
    write(tmp_path, "custom/style.css", b"custom")
    write(tmp_path, "custom/docs/own.html", b"own")
    write(tmp_path, "theme/style.css", b"theme")
    write(tmp_path, "theme/docs/index.html", b"docs")
    write(tmp_path, "base/index.html", b"base")
    write(tmp_path, "base/docs/own.html", b"never")
    server = run_site([{
        "path": "/", "static": "custom", "more_roots": ["theme", "base"], "revalidate_ms": 20,
        "clean_urls": True
    }])
    assert server.request("/style.css").body == b"custom"
    assert server.request("/docs/").body == b"docs"
    assert server.request("/docs/own").body == b"own"
    assert server.request("/docs").status == 301
    assert server.request("/").body == b"base"
    assert server.request("/missing").status == 404
    os.remove(tmp_path / "custom/style.css")
    eventually(lambda: server.request("/style.css").body == b"theme",
               "the file of the next root is served")
    write(tmp_path, "custom/style.css", b"again")
    eventually(lambda: server.request("/style.css").body == b"again",
               "the file of the first root is served")


def test_sibling_belongs_to_file_in_same_root(tmp_path, run_site):
    # The file of the base root was compressed after the last change of the file of the theme.
    os.utime(write(tmp_path, "theme/a.js", b"theme"), (1000000000, 1000000000))
    write(tmp_path, "base/a.js", b"base")
    write(tmp_path, "base/a.js.gz", gzip.compress(b"base"))
    write(tmp_path, "base/b.js", b"plain")
    write(tmp_path, "base/b.js.gz", gzip.compress(b"coded"))
    server = run_site(
        [{"path": "/", "static": "theme", "more_roots": ["base"], "precompressed": True}])
    assert server.request("/a.js", "Accept-Encoding: gzip").body == b"theme"
    assert gzip.decompress(server.request("/b.js", "Accept-Encoding: gzip").body) == b"coded"


def test_uploads_are_stored_in_first_root(tmp_path, run_site):
    """Files of the other roots count as existing, and are never changed."""
    write(tmp_path, "custom/sub/mine.txt", b"mine")
    write(tmp_path, "theme/a.txt", b"theme")
    write(tmp_path, "theme/sub/b.txt", b"theme")
    write(tmp_path, "theme/only/c.txt", b"theme")
    route = {
        "path": "/", "static": "custom", "more_roots": ["theme"], "uploads": True,
        "revalidate_ms": 20
    }
    fetch = lambda server, target, *fields: server.request(target, "Content-Length: 3", *fields,
                                                           method="PUT", body=b"new")  # noqa: E731
    server = run_site([route])
    assert [
        fetch(server, target).status
        for target in ("/a.txt", "/sub/b.txt", "/only", "/only/c.txt", "/only/d.txt")
    ] == [409] * 5
    assert fetch(server, "/sub/d.txt").status == 201
    server = run_site([{**route, "upload_overwrite": True, "upload_directories": True}])
    assert fetch(server, "/a.txt", "If-None-Match: *").status == 412
    assert fetch(server, "/a.txt",
                 f"If-Match: {server.request('/a.txt').get('ETag')}").status == 201
    assert [
        fetch(server, target).status
        for target in ("/sub/b.txt", "/only/c.txt", "/only/d.txt", "/a.txt")
    ] == [201, 201, 201, 204]
    assert [path.read_bytes() for path in sorted(tmp_path.glob("theme/**/*.txt"))] == [b"theme"] * 3
    assert len(list(tmp_path.glob("custom/**/*.txt"))) == 6
    eventually(lambda: server.request("/only/c.txt").body == b"new",
               "the file of the first root is served")


def test_printed_configuration_loads_again(tmp_path, root):
    flags = [
        "--clean-urls", "--fallback", "/a $b.html", "--error-pages", "404=/x.html 5xx=/y.html",
        "--symlinks", "owner"
    ]
    for name in ("a $b.html", "x.html", "y.html"):
        write(root, name, b"")
    printed = run("uvhttp", "serve", root, *flags, "--print-config").stdout
    route = yaml.safe_load(printed)["sites"][0]["routes"][0]
    assert route["clean_urls"] is True and route["spa"] is False and route["symlinks"] == "owner"
    assert route["error_pages"] == "404=/x.html 5xx=/y.html" and "try_files" not in route
    path = tmp_path / "site.yaml"
    path.write_text(printed)
    assert run("uvhttp", "run", path, "--print-config").stdout == printed
    for name in ("a: b", "y"):
        write(root, name, b"")
    path.write_text(
        yaml.dump({
            "sites": [{
                "routes": [{
                    "path": "/x", "static": root, "file": "a: b", "more_roots": [str(tmp_path)]
                }, {"path": "/y", "static": root, "try_files": "{path}"}]
            }]
        }))
    first, second = yaml.safe_load(run("uvhttp", "run", path,
                                       "--print-config").stdout)["sites"][0]["routes"]
    assert (first["file"], first["more_roots"], second["try_files"]) == ("a: b", [str(tmp_path)],
                                                                         "{path}")


@pytest.mark.parametrize("route, message", [
    ("static: ., try_files: '{x}'",
     "1:51: try_files: '{{x}}' contains a brace; the only variable is {{path}}"),
    ("static: ., file: x, spa: true", "1:46: file cannot be combined with spa"),
    ("static: ., file: x, uploads: true", "1:46: file cannot be combined with uploads"),
    ("static: ., symlinks: some", "1:50: symlinks is 'some'; allowed are inside, all, none, owner"),
    ("static: ., more_roots: [nowhere]",
     "1:53: the directory '{directory}/nowhere' does not exist"),
    ("static: ., more_roots: [site.yaml]", "1:53: '{directory}/site.yaml' is not a directory"),
    ("static: ., more_roots: ['']", "1:53: more_roots has an empty path"),
    ("static: ., more_roots: [../{name}, other, other/]",
     "1:53: more_roots: '{directory}/../{name}' is the same directory as '{directory}/.'"),
    ("static: ., more_roots: [other, other/]",
     "1:60: more_roots: '{directory}/other/' is the same directory as '{directory}/other'"),
    ("static: ., file: nothing.txt",
     "1:46: file: the file '{directory}/./nothing.txt' does not exist"),
    ("static: ., more_roots: [other], file: /page", None),
    ("static: ., more_roots: [other], file: nothing.txt",
     "1:67: file: the file 'nothing.txt' does not exist in '{directory}/.' or in more_roots"),
    ("static: ., more_roots: [other], file: sub",
     "1:67: file: the file '{directory}/other/sub' is not a regular file"),
    ("static: ., error_pages: 404=/nothing.html",
     "1:53: error_pages: the file '{directory}/./nothing.html' does not exist"),
    ("static: ., more_roots: [other], error_pages: 404=/page", None),
    ("redirect: /x, file: y", "1:43: 'file' requires 'static'"),
])
def test_invalid_keys(tmp_path, route, message):
    path = tmp_path / "site.yaml"
    write(tmp_path, "other/page")
    write(tmp_path, "other/sub/page")
    path.write_text("sites: [{routes: [{path: /, " + route.replace("{name}", tmp_path.name) +
                    "}]}]\n")
    done = run("uvhttp", "check", path)
    assert done.returncode == (message is not None)
    if message is not None:
        assert done.stderr.splitlines()[0] == f"{path}:" + message.format(
            directory=tmp_path, name=tmp_path.name)


@pytest.mark.parametrize(
    "route, rejected",
    [
        ("path: /film, static: film", True),
        ("path: /film, static: film, more_roots: [other]", True),
        ("path: /film/, static: film", False),
        ("path: /*film, static: film", False),
        ("path: '/:film', static: film", False),
        ("path: /intro.mp4, static: film", False),  # a file of the directory
        ("path: /film, static: film, file: intro.mp4", False),
        ("path: /film, static: film, try_files: /intro.mp4", False),
        ("path: /film, static: film, uploads: true", False),
    ])
def test_route_path_without_slash_must_name_file(tmp_path, route, rejected):
    write(tmp_path, "film/intro.mp4")
    (tmp_path / "other").mkdir()
    path = tmp_path / "site.yaml"
    path.write_text("sites: [{routes: [{" + route + "}]}]\n")
    done = run("uvhttp", "check", path)
    expected = (
        f"{path}:1:26: no file '/film' in the directory '{tmp_path}/film'"
        f"{' or in more_roots' if 'more_roots' in route else ''}, so every request would "
        "get 404; for the directory and everything below it use '/film/'\n")
    assert (done.returncode, done.stderr) == ((1, expected) if rejected else (0, ""))
