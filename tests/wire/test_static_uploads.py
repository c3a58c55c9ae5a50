"""Uploads into a served directory: which are accepted, which are rejected before the body is read,
and that no partial file remains."""

import base64
import hashlib
import json
import os
import resource
import signal
import socket
import stat
import subprocess

import html5lib

import pytest

import raw
from static_server import KIB, MIB, SECRET, replace, root, serve, write  # noqa: F401 (fixtures)
from test_clients import curl, installed
from wire_server import eventually

LARGE = 3 * MIB + 7


def read(root, name):
    with open(os.path.join(root, name), "rb") as file:
        return file.read()


def put(server, target, body=b"new", *fields):
    return server.request(target, f"Content-Length: {len(body)}", *fields, method="PUT", body=body)


def form(*files, fields=(), boundary="b0undary"):
    """The body of a form; each file is a name and its data."""
    parts = [b'Content-Disposition: form-data; name="%s"\r\n\r\n%s' % pair for pair in fields]
    parts += [
        b'Content-Disposition: form-data; name="file"; filename="%s"\r\nContent-Type: '
        b'text/plain\r\n\r\n%s' % pair for pair in files
    ]
    return b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), part)
                    for part in parts) + b"--%s--\r\n" % boundary.encode()


def post(server, target, body, *fields):
    return server.request(target, 'Content-Type: multipart/form-data; boundary="b0undary"',
                          f"Content-Length: {len(body)}", *fields, method="POST", body=body)


def names(root):
    return sorted(os.listdir(root))


def wait_for_contents(root, *wanted):
    eventually(lambda: names(root) == sorted(wanted), "no other file is in the directory")


def digest(body, kind="sha-256"):
    found = hashlib.new(kind.replace("-", ""), body).digest()
    return f"{kind}=:{base64.b64encode(found).decode()}:"


# PUT


@pytest.mark.parametrize("size", [0, 1, 32 * KIB, LARGE])
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_put_creates_served_file(root, serve, size, coded):
    server, body = serve("--uploads", "--upload-overwrite"), raw.pattern(size)
    with server.connect() as connection:
        for number, status in enumerate((201, 204, 204)):
            body = raw.pattern(size, number)
            if coded:
                chunks = [body[i:i + 70_000] for i in range(0, size, 70_000)]
                response = connection.request("PUT", "/a%20file.txt", "Transfer-Encoding: chunked",
                                              body=raw.chunked(*chunks))
            else:
                response = connection.request("PUT", "/a%20file.txt", f"Content-Length: {size}",
                                              body=body)
            assert response.status == status
            assert response.get("Location") == ("/a%20file.txt" if status == 201 else None)
            got = connection.request("GET", "/a%20file.txt")  # at once, not the cached 404
            assert (got.status, got.body, got.get("ETag")) == (200, body, response.get("ETag"))
            assert got.get("Content-Type").startswith("text/plain")
    assert names(root) == ["a file.txt"] and read(root, "a file.txt") == body
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(os.stat(os.path.join(root, "a file.txt")).st_mode) == 0o666 & ~mask


def test_uploads_are_disabled_by_default(root, serve):
    server = serve()
    for method in ("PUT", "POST", "DELETE"):
        response = server.request("/x", "Content-Length: 1", method=method, body=b"x")
        assert (response.status, response.allow() & {"PUT", "POST", "DELETE"}) == (405, set())
    assert names(root) == []


def test_allow_has_upload_methods(root, serve):
    server = serve("--uploads")
    for response in (server.request("/x", method="DELETE"), server.request("/x", method="OPTIONS")):
        assert {"GET", "HEAD", "PUT", "POST"
                } <= response.allow() and "DELETE" not in response.allow()
    response = put(server, "/folder/")
    assert (response.status, response.allow()) == (405, {"GET", "HEAD", "POST"})


def test_uploaded_index_file_is_served_at_once(root, serve):
    """The cache entry of the directory is dropped, too."""
    write(root, "docs/index.html", b"old")
    server = serve("--uploads", "--upload-overwrite", "--revalidate-ms", "3600000")
    assert server.request("/docs/").body == b"old"
    assert put(server, "//docs///index.html").status == 404
    assert put(server, "/docs/index.html").status == 204
    assert server.request("/docs/").body == server.request("/docs/index.html").body == b"new"


HOUR = "3600000"

# Files, flags, request (target and fields), path of the stored file, and the responses before and
# after.
DERIVED = {
    "file": ({"x": b"old"}, [], ("/x", ), "/x", (200, b"old"), (200, b"new")),
    "clean-url": ({"about.html": b"old"}, ["--clean-urls"], ("/about", ), "/about.html",
                  (200, b"old"), (200, b"new")),
    "missing-clean-url": ({}, ["--clean-urls"], ("/about", ), "/about.html", 404, (200, b"new")),
    "better-than-clean-url": ({"about.html": b"old"}, ["--clean-urls"], ("/about", ), "/about",
                              (200, b"old"), (200, b"new")), "clean-url-without-slash":
                                  ({}, ["--clean-urls"], ("/about/", ), "/about.html", 404, 301),
    "folder-before-clean-url": ({"about.html": b"old"}, ["--clean-urls", "--upload-directories"],
                                ("/about", ), "/about/index.html", (200, b"old"), 301),
    "index": ({"d/index.html": b"old"}, [], ("/d/", ), "/d/index.html", (200, b"old"), (200, b"new")
              ), "better-index":
                  ({"d/b.html": b"old"}, ["--index", "a.html b.html"], ("/d/", ), "/d/a.html",
                   (200, b"old"), (200, b"new")), "missing-index":
                       ({"d/x": b""}, [], ("/d/", ), "/d/index.html", 403, (200, b"new")),
    "root-index": ({}, [], ("/", ), "/index.html", 403, (200, b"new")), "fallback":
        ({"index.html": b"old"}, ["--spa"], ("/deep/place", "Accept: text/html"), "/index.html",
         (200, b"old"), (200, b"new")), "no-fallback-any-more":
             ({"index.html": b"old"}, ["--spa", "--upload-directories"],
              ("/deep/place",
               "Accept: text/html"), "/deep/place", (200, b"old"), (200, b"new")), "error-page":
                   ({"404.html": b"old"}, ["--error-pages", "404=/404.html"], ("/none", ),
                    "/404.html", (404, b"old"), (404, b"new")), "made-folder":
                        ({}, ["--upload-directories"], ("/a/b/", ), "/a/b/c/d", 404, 403),
    "made-folder-without-slash":
        ({}, ["--upload-directories"], ("/a", ), "/a/b/c/d", 404, 301), "sibling":
            ({"app.js": b"source",
              "app.js.gz": b"old"}, ["--precompressed"], ("/app.js", "Accept-Encoding: gzip"),
             "/app.js.gz", (200, b"old"), (200, b"new")), "new-sibling":
                 ({"app.js": b"source"}, ["--precompressed"], ("/app.js", "Accept-Encoding: gzip"),
                  "/app.js.gz", (200, b"source"), (200, b"new")), "sibling-of-clean-url":
                      ({"v1.2.html": b"source",
                        "v1.2.html.br": b"old"}, ["--precompressed",
                                                  "--clean-urls"], ("/v1.2", "Accept-Encoding: br"),
                       "/v1.2.html.br", (200, b"old"), (200, b"new")), "try-files":
                           ({"pages/x.htm": b"old"}, ["--try-files",
                                                      "{path} pages/{path}.htm"], ("/x", ),
                            "/pages/x.htm", (200, b"old"), (200, b"new")), "try-files-page":
                                ({"last": b"old"}, ["--try-files", "{path} other/{path} last"],
                                 ("/x", ), "/last", (200, b"old"), (200, b"new")),
}


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("case", DERIVED.values(), ids=DERIVED.keys())
def test_upload_is_served_at_once_by_every_worker(root, serve, case, workers):
    """No entry is revalidated because its interval has expired: that would take an hour."""
    files, flags, requested, stored, before, after = case
    for name, content in files.items():
        write(root, name, content)
        # siblings must not be older than their source
        os.utime(os.path.join(root, name), (10 ** 9, 10 ** 9))
    server = serve("--uploads", "--upload-overwrite", "--revalidate-ms", HOUR, "--negative-ms",
                   HOUR, "--workers", str(workers), *flags)
    connections = [server.connect() for _ in range(4 * workers)]

    def status_of(expected):
        return expected if isinstance(expected, tuple) else (expected, )

    for expected in (before, before, after):
        if expected is after:
            assert put(server, stored).status in (201, 204)
        for response in [connection.request("GET", *requested) for connection in connections]:
            assert (response.status,
                    response.body)[:len(status_of(expected))] == status_of(expected)
    for connection in connections:
        connection.close()


def test_form_upload_is_served_at_once(root, serve):
    write(root, "d/index.html", b"old")
    server = serve("--uploads", "--upload-overwrite", "--clean-urls", "--revalidate-ms", HOUR,
                   "--negative-ms", HOUR)
    assert server.request("/d/").body == b"old" and server.request("/d/about").status == 404
    assert post(server, "/d/", form((b"index.html", b"new"),
                                    (b"about.html", b"here"))).status == 201
    assert server.request("/d/").body == b"new" and server.request("/d/about").body == b"here"


def test_upload_keeps_other_cache_entries(root, serve):
    """They are not looked up on disk: the lookup would find that the file is deleted."""
    for name in ("kept", "d/kept.html", "d/index.html"):
        write(root, name, b"old")
    server = serve("--uploads", "--upload-directories", "--revalidate-ms", HOUR, "--negative-ms",
                   HOUR)
    for target in ("/kept", "/d/kept.html", "/d/"):
        assert server.request(target).body == b"old"
        os.remove(os.path.join(root, target[1:] + ("index.html" if target.endswith("/") else "")))
    assert put(server, "/other").status == put(server, "/new/deep/other").status == put(
        server, "/e/other").status == 201
    for target in ("/kept", "/d/kept.html", "/d/"):
        assert server.request(target).body == b"old"


def test_upload_overwrite_requires_option(root, serve):
    server = serve("--uploads")
    assert put(server, "/x", b"first").status == 201
    response = put(server, "/x", b"second")
    assert response.status == 409 and b"overwriting is disabled" in response.body
    assert read(root, "x") == b"first"
    wait_for_contents(root, "x")


def test_partial_upload_is_not_served(root, serve):
    write(root, "x", b"old")
    server = serve("--uploads", "--upload-overwrite", "--hidden", "--listing")
    with server.connect() as connection:
        connection.send(raw.request("PUT", "/x", "Content-Length: 1000000") + raw.pattern(500_000))
        eventually(lambda: len(names(root)) == 2, "writing has begun")
        hidden, = set(names(root)) - {"x"}
        assert hidden.startswith(".uvhttp-") and read(root, "x") == b"old"
        assert server.request("/" +
                              hidden).status == 404, "not served even with hidden files enabled"
        assert server.request("/x").body == b"old"
        connection.send(raw.pattern(500_000, 500_000))
        assert connection.response().status == 204
    assert names(root) == ["x"] and read(root, "x") == raw.pattern(1_000_000)


def test_temporary_files_of_killed_process_are_not_served(root, serve):
    write(root, ".uvhttp-0123456789abcdef.part", b"half")
    for flags in ((), ("--hidden", )):
        server = serve("--uploads", *flags)
        assert server.request("/.uvhttp-0123456789abcdef.part").status == 404
        assert put(server, "/.uvhttp-0123456789abcdef.part").status == 403
    assert read(root, ".uvhttp-0123456789abcdef.part") == b"half"


def test_upload_with_sync(root, serve):
    server = serve("--uploads", "--upload-sync", "--upload-overwrite")
    assert [put(server, "/x", body).status for body in (b"a", b"bc")] == [201, 204]
    assert post(server, "/", form((b"y", b"de"))).status == 201
    assert read(root, "x") == b"bc" and read(root, "y") == b"de"


# Conditions (RFC 9110 section 13)


def test_if_match_prevents_lost_updates(root, serve):
    server = serve("--uploads", "--upload-overwrite")
    assert put(server, "/x", b"1", "If-Match: *").status == 412, "the file does not exist"
    tag = put(server, "/x", b"1").get("ETag")
    newer = put(server, "/x", b"2", f'If-Match: "other", {tag}')
    assert newer.status == 204
    assert put(server, "/x", b"3", f"If-Match: {tag}").status == 412, "the file has changed"
    assert put(server, "/x", b"3",
               f"If-Match: W/{newer.get('ETag')}").status == 412, "If-Match compares strongly"
    assert read(root, "x") == b"2"
    assert put(server, "/x", b"3", "If-Match: *").status == 204
    wait_for_contents(root, "x")


def test_if_none_match_creates_new_files_only(root, serve):
    server = serve("--uploads", "--upload-overwrite")
    assert put(server, "/x", b"1", "If-None-Match: *").status == 201
    assert put(server, "/x", b"2", "If-None-Match: *").status == 412
    tag = server.request("/x").get("ETag")
    assert put(server, "/x", b"2", f"If-None-Match: {tag}").status == 412
    assert put(server, "/x", b"2", 'If-None-Match: "other"').status == 204


def test_upload_conditions_use_selected_representation(root, serve):
    """A selected sibling has its own tag (RFC 9110 sections 3.2 and 13.1.1)."""
    server, gzip = serve("--uploads", "--upload-overwrite", "--precompressed",
                         "--compress"), "Accept-Encoding: gzip"
    os.mkdir(os.path.join(root, "d"))
    for name in ("p.txt", "d/p.txt"):
        for path in (write(root, name, b"text" * 1000), write(root, name + ".gz", b"coded")):
            os.utime(path, ns=(0, 784111777_000000000))  # no upload gets the same timestamp
        plain, coded = server.request("/" + name), server.request("/" + name, gzip)
        assert (coded.body, plain.get("ETag") == coded.get("ETag")) == (b"coded", False)
        condition = f"If-Match: {coded.get('ETag')}"
        assert put(server, "/" + name, b"1", f"If-None-Match: {coded.get('ETag')}",
                   gzip).status == 412
        assert put(server, "/" + name, b"1",
                   condition).status == 412, "not the representation without Accept-Encoding"
        assert put(server, "/" + name, b"1", condition, "Accept-Encoding: identity").status == 412
        assert put(server, "/" + name, b"1", f"If-Match: {plain.get('ETag')}", gzip).status == 412
        assert put(server, "/" + name, b"1", condition, "Accept-Encoding: br;q=0.5",
                   gzip).status == 204, "the tags are on two lines"
        newer = server.request("/" + name, gzip)  # the sibling is older now
        assert put(server, "/" + name, b"2", condition, gzip).status == 412
        assert put(server, "/" + name, b"2", f"If-Match: {newer.get('ETag')}", gzip).status == 204
        assert read(root, name) == b"2"


def test_if_match_never_matches_compression_on_the_fly(root, serve):
    server, gzip = serve("--uploads", "--upload-overwrite", "--precompressed",
                         "--compress"), "Accept-Encoding: gzip"
    write(root, "x.txt", b"text" * 1000)
    coded = server.request("/x.txt", gzip).get("ETag")
    assert coded.startswith("W/")
    assert put(server, "/x.txt", b"1", f"If-Match: {coded}", gzip).status == 412
    plain = server.request("/x.txt", "Accept-Encoding: identity").get("ETag")
    assert put(server, "/x.txt", b"1", f"If-Match: {plain}",
               "Accept-Encoding: identity").status == 204


def test_upload_conditions_on_several_lines_form_one_list(root, serve):
    server = serve("--uploads", "--upload-overwrite")
    tag = put(server, "/x", b"1").get("ETag")
    assert put(server, "/x", b"2", 'If-None-Match: "other"', f"If-None-Match: {tag}").status == 412
    assert put(server, "/x", b"2", 'If-Match: "other"', f"If-Match: {tag}").status == 204


def test_upload_if_unmodified_since(root, serve):
    path = write(root, "x", b"1")
    os.utime(path, ns=(0, 784111777_000000000))
    server = serve("--uploads", "--upload-overwrite")
    assert put(server, "/x", b"2",
               "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT").status == 412
    assert put(server, "/x", b"2",
               "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT").status == 204


@pytest.mark.parametrize("field", ["If-None-Match: *", "If-Match: {tag}"])
def test_concurrent_conditional_uploads_have_one_winner(root, serve, field):
    """Both got 100: the condition is evaluated again after the body has arrived."""
    server = serve("--uploads", "--upload-overwrite")
    tag = put(server, "/x", b"0").get("ETag")
    target = "/new" if "None" in field else "/x"
    connections = [server.connect() for _ in range(8)]
    for connection in connections:
        connection.send(
            raw.request("PUT", target, field.format(tag=tag), "Content-Length: 2",
                        "Expect: 100-continue"))
        assert connection.line() == b"HTTP/1.1 100 Continue" and connection.line() == b""
    for number, connection in enumerate(connections):
        connection.send(b"%02d" % number)
    statuses = [connection.response().status for connection in connections]
    assert sorted(statuses)[1:] == [412] * 7 and min(statuses) in (201, 204)
    assert read(root, target[1:]) == b"%02d" % statuses.index(min(statuses))
    wait_for_contents(root, *{"x", target[1:]})


# Digests (RFC 9530)


@pytest.mark.parametrize("name", ["Content-Digest", "repr-digest"])
@pytest.mark.parametrize("size", [0, 3, LARGE])
def test_upload_with_valid_digest_is_stored(root, serve, name, size):
    server, body = serve("--uploads", "--upload-overwrite"), raw.pattern(size)
    assert put(server, "/x", body, f"{name}: {digest(body)}").status == 201
    assert put(server, "/x", body,
               f"{name}: {digest(body, 'sha-512')} , md5=:AAAA:,{digest(body)};a=1").status == 204
    assert put(server, "/x", body,
               f"{name}: md5=:AAAA:").status == 204, "a digest of an insecure algorithm is ignored"


@pytest.mark.parametrize(
    "fields",
    [[f"Content-Digest: {digest(b'other')}"], [f"Content-Digest: {digest(b'other', 'sha-512')}"],
     [f"Content-Digest: {digest(b'new')}, {digest(b'other', 'sha-512')}"],
     [f"Content-Digest: {digest(b'new')}", f"Repr-Digest: {digest(b'other')}"],
     ["Content-Digest: sha-256=:AAAA:"], ["Content-Digest: sha-256"],
     ["Content-Digest: sha-256=abc"], ["Repr-Digest: sha-256=:!:"], ["Content-Digest: sha-256=:"],
     ["Content-Digest: " + digest(b"new")[:-1]], ])
def test_upload_with_invalid_digest_gets_400(root, serve, fields):
    write(root, "x", b"old")
    server = serve("--uploads", "--upload-overwrite")
    for target in ("/x", "/y"):
        response = put(server, target, b"new", *fields)
        assert response.status == 400 and b"igest" in response.body
    assert read(root, "x") == b"old"
    wait_for_contents(root, "x")


def test_announced_digest_in_trailer_is_verified(root, serve):
    write(root, "x", b"old")
    server = serve("--uploads", "--upload-overwrite")

    def send(text):
        return server.request("/x", "Transfer-Encoding: chunked", "Trailer: Content-Digest",
                              method="PUT",
                              body=raw.chunked(b"new", trailers=[f"Content-Digest: {text}"]))

    for wrong in (digest(b"other"), digest(b"other", "sha-512"), "sha-256=:!:"):
        response = send(wrong)
        assert response.status == 400 and b"igest" in response.body
        assert read(root, "x") == b"old"
    wait_for_contents(root, "x")
    assert send(digest(b"new")).status == 204 and read(root, "x") == b"new"


# Rejected uploads, which must not transfer their body

REJECTED = [("/x", ["Content-Range: bytes 0-2/9"], 400), ("/x", ["Content-Encoding: gzip"], 415),
            ("/x", ["Content-Digest: sha-256=:AAAA:"], 400), ("/x", ["If-Match: *"], 412),
            ("/a%01b", [], 400), ("/" + "n" * 256, [], 400), ("/.hidden", [], 403),
            ("/.git/config", [], 403), ("/out", [], 403), ("/out/x", [], 403), ("/up/x", [], 403),
            ("/inner", [], 403), ("/fifo", [], 403), ("/socket", [], 403), ("/a%2fb", [], 404),
            ("/folder", [], 409), ("/file", [], 409), ("/missing/x", [], 409), ("/file/x", [], 409),
            ("/folder/", [], 405), ("/", [], 405), ]


@pytest.fixture
def special_root(root):
    write(root, "file", b"old")
    write(root, "folder/x", b"old")
    os.symlink(os.path.dirname(root), os.path.join(root, "out"))
    os.symlink("..", os.path.join(root, "up"))
    os.symlink("file", os.path.join(root, "inner"))
    os.mkfifo(os.path.join(root, "fifo"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(root, "socket"))
    yield root
    listener.close()


@pytest.mark.parametrize("target, fields, status", REJECTED)
def test_rejected_upload_gets_status_before_body(special_root, serve, target, fields, status):
    before = names(special_root), names(os.path.join(special_root, "folder"))
    server = serve("--uploads")
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", target, "Content-Length: 3", "Expect: 100-continue", *fields))
        response = connection.response()
        assert (response.status, response.interim) == (status, [])
    assert put(server, target, b"new", *fields).status == status
    assert (names(special_root), names(os.path.join(special_root, "folder"))) == before
    assert read(special_root, "file") == b"old"
    assert names(os.path.dirname(special_root)) == ["root", "secret.txt"]


def test_upload_follows_symlinks_inside_root(root, serve):
    os.mkdir(os.path.join(root, "real"))
    os.symlink("real", os.path.join(root, "link"))
    assert put(serve("--uploads"), "/link/x").status == 201
    assert read(root, "real/x") == b"new"


@pytest.mark.parametrize("target", [
    "/../x", "/%2e%2e/x", "/a/../../x", "/..%2fx", "/%2e%2e%2fx", "/..%5cx", "/%252e%252e/x",
    "/.%2e/x", "/%c0%ae%c0%ae/x"
])
def test_upload_never_writes_outside_root(root, serve, target):
    assert put(serve("--uploads", "--upload-directories"),
               target).status in (201, 400, 403, 404, 409)
    assert names(os.path.dirname(root)) == ["root", "secret.txt"]


@pytest.mark.http1
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_upload_beyond_limit_gets_413(root, serve, coded):
    server, body = serve("--uploads", "--upload-max-size", "300000"), raw.pattern(300_001)
    assert put(server, "/fits", body[:-1]).status == 201
    with server.connect() as connection:
        if coded:
            connection.send(
                raw.request("PUT", "/x", "Transfer-Encoding: chunked", body=raw.chunked(body)))
        else:
            connection.send(
                raw.request("PUT", "/x", "Expect: 100-continue", "Content-Length: 300001"))
        response = connection.response()
        assert (response.status, response.interim, response.has_close()) == (413, [], True)
    wait_for_contents(root, "fits")


def test_upload_creates_parent_directories(root, serve):
    server = serve("--uploads", "--upload-directories")
    assert put(server, "/a/b/c/x").status == 201
    assert put(server, "/a/b/y").status == 201
    assert put(server, "/a/b/y/z").status == 409
    assert put(server, "/a/.b/z").status == 403
    assert read(root, "a/b/c/x") == read(root, "a/b/y") == b"new" and names(os.path.join(
        root, "a")) == ["b"]


def test_upload_creates_no_directories_through_symlinks(special_root, serve):
    server = serve("--uploads", "--upload-directories")
    assert put(server, "/out/new/x").status == put(server, "/up/new/x").status == 403
    assert names(os.path.dirname(special_root)) == ["root", "secret.txt"]


def test_upload_into_read_only_directory(root, serve):
    options = {"wrapper": ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
               } if os.geteuid() == 0 else {}
    from program import Program
    server = Program("uvhttp", "serve", root, "--listen", "127.0.0.1:0", "--uploads", **options)
    os.chmod(root, 0o500)
    try:
        with server.connect() as connection:
            connection.send(raw.request("PUT", "/x", "Content-Length: 3", "Expect: 100-continue"))
            response = connection.response()
            assert (response.status, response.interim) == (403, [])
        assert "permission denied (403)" in server.log()
    finally:
        os.chmod(root, 0o700)
        assert server.stop() == 0


# Errors during an upload


@pytest.mark.parametrize("leave", ["reset", "half_close"])
@pytest.mark.parametrize("sent", [0, 100, 500_000])
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_disconnect_during_upload_leaves_no_file(root, serve, leave, sent, method):
    server = serve("--uploads")
    body = form((b"a", raw.pattern(300_000)), (b"b", raw.pattern(700_000)))
    with server.connect() as connection:
        connection.send(
            raw.request(method, "/", "Content-Type: multipart/form-data; boundary=b0undary",
                        f"Content-Length: {len(body)}") + body[:sent] if method ==
            "POST" else raw.request("PUT", "/x", "Content-Length: 1000000") + raw.pattern(sent))
        if sent > 0 or method == "PUT":
            eventually(lambda: names(root) != [] or sent < 200_000, "writing has begun")
        getattr(connection, leave)()
    wait_for_contents(root)
    assert put(server, "/y").status == 201


def test_server_stop_during_upload_leaves_no_file(root, serve):
    server = serve("--uploads", "--drain-timeout", "1")
    with server.connect() as connection:
        connection.send(raw.request("PUT", "/x", "Content-Length: 1000000") + raw.pattern(500_000))
        eventually(lambda: names(root) != [], "writing has begun")
        server.finish()
    assert names(root) == []


def small_disk(size):
    """Limits the size of files of the process (RLIMIT_FSIZE). SIGXFSZ has the default action, which
    ends the process."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.http1
def test_upload_beyond_file_size_limit(root, serve):
    server = serve("--uploads", prepare=small_disk(200_000))
    assert put(server, "/fits", raw.pattern(200_000)).status == 201
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", "/x", "Content-Length: 900000000") + raw.pattern(400_000))
        response = connection.response()
        assert response.status == 507 and b"insufficient storage" in response.body
        assert response.has_close()
    body = form((b"a", b"small"), (b"b", raw.pattern(300_000)))
    assert post(server, "/", body).status == 507
    wait_for_contents(root, "fits")
    assert server.log().count("file too large (507)") == 2
    assert put(server, "/also-fits",
               raw.pattern(200_000)).status == 201, "the server still accepts uploads"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_upload_to_full_file_system(root, serve):
    disk = os.path.join(root, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("mounting is not permitted here")
    try:
        server = serve("--uploads")
        assert put(server, "/disk/fits", raw.pattern(100_000)).status == 201
        assert put(server, "/disk/x", raw.pattern(300_000)).status == 507
        wait_for_contents(disk, "fits")
        assert put(server, "/disk/y",
                   raw.pattern(100_000)).status == 201, "the aborted upload takes no space"
    finally:
        server.stop()
        subprocess.run(["umount", disk], check=True)


# Forms


def test_form_with_files_is_stored(root, serve):
    os.mkdir(os.path.join(root, "in"))
    server = serve("--uploads", "--upload-overwrite")
    files = [(b"a?%b.txt", b"1"), (b"C:\\dir\\large", raw.pattern(LARGE)), (b"../../up", b""),
             (b".dot", b"4")]
    response = post(server, "/in/", form(*files, fields=[(b"note", b"ignored")]))
    assert (response.status, response.get("Location")) == (201, None)
    lines = response.body.decode().splitlines()
    assert lines == ["/in/a%3F%25b.txt", "/in/large", "/in/up", "/in/_dot"]
    for line, (_, content) in zip(lines, files):
        assert server.request(line).body == content
    assert names(os.path.join(root, "in")) == sorted(["a?%b.txt", "large", "up", "_dot"])
    # the path of the directory works without a slash, too
    again = post(server, "/in", form((b"up", b"new")))
    assert (again.status, again.get("Location"), again.body) == (200, None, b"/in/up\n")
    one = post(server, "/in", form((b"one", b"new")))
    assert (one.status, one.get("Location")) == (201, "/in/one")


@pytest.mark.parametrize("body, status, reason",
                         [(form(fields=[(b"a", b"b")]), 400, b"contains no file"),
                          (form((b"x", b"1"), (b"y/x", b"2")), 400, b"the same name"),
                          (form((b"dir/", b"1")), 400, b"no name"),
                          (form((b"new", b"1"), (b"file", b"2")), 409, b"overwriting is disabled"),
                          (form((b"new", b"1"), (b"folder", b"2")), 409, b"directory with that "
                           b"name"),
                          (form((b"new", b"1"), (b"inner", b"2")), 403, b"not a regular file"),
                          (form((b"new", b"1"))[:-4], 400, b"closing delimiter"),
                          (form(*((b"%d" % i, b"1") for i in range(101))), 413, b"too many parts"),
                          (b"--b0undary\r\nX: y\r\n\r\n", 400, b"Content-Disposition"), ])
def test_form_is_stored_completely_or_not_at_all(special_root, serve, body, status, reason):
    before = names(special_root)
    response = post(serve("--uploads"), "/", body)
    assert response.status == status and reason in response.body
    wait_for_contents(special_root, *before)
    assert read(special_root, "file") == b"old"


def test_invalid_forms_and_targets_are_rejected(special_root, serve):
    server = serve("--uploads")
    assert server.request("/", "Content-Type: text/plain", method="POST", body=b"x").status == 415
    assert post(server, "/missing/", form((b"x", b"1"))).status == 404
    assert post(server, "/file", form((b"x", b"1"))).status == 409
    assert post(server, "/out", form((b"x", b"1"))).status == 403
    assert put(server, "/y", b"x" * 10).status == 201


@pytest.mark.parametrize("fields, status",
                         [([], 201), (["Sec-Fetch-Site: same-origin", "Origin: null"], 201),
                          (["Sec-Fetch-Site: none"], 201), (["Origin: http://LOCALHOST"], 201),
                          (["Sec-Fetch-Site: cross-site"], 403),
                          (["Sec-Fetch-Site: same-site", "Origin: http://localhost"], 403),
                          (["Origin: http://localhost.example"], 403), (["Origin: null"], 403),
                          (["Origin: http://localhost:1"], 403), ])
def test_cross_site_forms_are_rejected(root, serve, fields, status):
    assert post(serve("--uploads"), "/", form((b"x", b"1")), *fields).status == status
    wait_for_contents(root, *(["x"] if status == 201 else []))


# Concurrent uploads


def test_concurrent_uploads(root, serve):
    server = serve("--uploads", "--workers", "2")
    connections = [server.connect() for _ in range(32)]
    for step in range(6):
        for number, connection in enumerate(connections):
            head = raw.request("PUT", f"/{number}", "Content-Length: 600000") if step == 0 else b""
            connection.send(head + raw.pattern(100_000, number + step * 100_000))
    for number, connection in enumerate(connections):
        assert connection.response().status == 201
        assert connection.request("GET", f"/{number}").body == raw.pattern(600_000, number)
        connection.close()


def test_readers_get_old_or_new_file(root, serve):
    server = serve("--uploads", "--upload-overwrite", "--revalidate-ms", "1")
    bodies = [bytes([number]) * (20 * KIB + number) for number in range(40)]
    put(server, "/x", bodies[0])
    readers = [server.connect() for _ in range(4)]
    for body in bodies:
        for reader in readers:
            reader.send(raw.request("GET", "/x"))
        assert put(server, "/x", body).status == 204
        for reader in readers:
            assert reader.response().body in bodies


# Real clients


def test_curl_uploads(root, serve):
    server = serve("--uploads", "--upload-overwrite")
    source = os.path.join(os.path.dirname(root), "source file")
    with open(source, "wb") as file:
        file.write(raw.pattern(LARGE))
    # curl adds the name
    assert curl(server, "-T", source, "--expect100-timeout", "60", path="/") == b"201 Created\n"
    assert read(root, "source file") == raw.pattern(LARGE)
    assert curl(server, "-F", f"file=@{source};filename=other", path="/") == b"/other\n"
    assert read(root, "other") == raw.pattern(LARGE)
    pipe = subprocess.run(
        [installed("curl", "curl"), "-sS", "--noproxy", "*", "-T", "-", server.url + "piped"],
        input=raw.pattern(700_000), capture_output=True, check=True)
    assert pipe.stdout == b"201 Created\n" and read(root, "piped") == raw.pattern(700_000)


def test_curl_with_expect_is_rejected_before_body(root, serve):
    server = serve("--uploads", "--upload-max-size", "1000")
    source = write(os.path.dirname(root), "source", raw.pattern(2_000_000)).decode()
    output = curl(server, "-T", source, "--expect100-timeout", "60", "--output", "/dev/null",
                  "--write-out", "%{http_code} %{size_upload}", path="/x")
    assert output == b"413 0"


def test_httpx_uploads(root, serve):
    import httpx
    server = serve("--uploads")
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        response = client.put("/x", content=(raw.pattern(100_000, i * 100_000) for i in range(5)))
        assert (response.status_code, response.headers["location"]) == (201, "/x")
        got = client.get("/x")
        assert got.content == raw.pattern(
            500_000) and got.headers["etag"] == response.headers["etag"]
        response = client.post(
            "/", files=[("file", ("a.txt", b"A")), ("file", ("\u00fc.bin", raw.pattern(LARGE)))],
            data={"note": "n"})
        assert (response.status_code, response.text) == (201, "/a.txt\n/%C3%BC.bin\n")
        assert client.get("/\u00fc.bin").content == raw.pattern(LARGE)


def test_aiohttp_uploads(root, serve):
    import aiohttp
    import asyncio
    server = serve("--uploads")

    async def go():
        async with aiohttp.ClientSession() as session:
            async with session.put(server.url + "x", data=raw.pattern(LARGE),
                                   expect100=True) as response:
                assert response.status == 201
            form_data = aiohttp.FormData()
            form_data.add_field("file", raw.pattern(70_000), filename="y.bin")
            async with session.post(server.url, data=form_data) as response:
                assert (response.status, await response.text()) == (201, "/y.bin\n")

    asyncio.run(go())
    assert read(root, "x") == raw.pattern(LARGE) and read(root, "y.bin") == raw.pattern(70_000)


def test_node_uploads(root, serve):
    server = serve("--uploads")
    script = """
        const url = process.argv[1];
        const send = (body) =>
            fetch(url + "x", {method: "PUT", body, headers: {"If-None-Match": "*"}});
        const put = await send(Buffer.alloc(3000000, "n"));
        const again = await send("y");
        const form = new FormData();
        form.append("file", new Blob(["inside"]), "node.txt");
        const post = await fetch(url, {method: "POST", body: form});
        console.log(JSON.stringify([
            put.status, put.headers.get("location"), again.status, post.status,
            await post.text()]));
    """
    result = subprocess.run(
        [installed("node", "nodejs"), "--input-type=module", "-e", script, server.url],
        capture_output=True, check=True, timeout=120)
    assert json.loads(result.stdout) == [201, "/x", 412, 201, "/node.txt\n"]
    assert read(root, "x") == b"n" * 3_000_000 and read(root, "node.txt") == b"inside"


BROWSER = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"


def test_listing_has_an_upload_form(root, serve):
    """A browser that sends it gets the listing again, other clients the paths."""
    os.makedirs(os.path.join(root, "in box"))
    server = serve("--uploads", "--listing", "--upload-overwrite")
    page = html5lib.parse(server.request("/in%20box/").body.decode(), namespaceHTMLElements=False)
    form = page.find(".//form[@method='post']")
    assert form.get("enctype") == "multipart/form-data" and form.get("action") is None
    name = form.find("input").get("name")
    body = (f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="new file.txt"\r\n'
            "\r\ntext\r\n--b--\r\n").encode()
    fields = ["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(body)}"]
    sent = server.request("/in%20box/?sort=size", *fields, BROWSER, method="POST", body=body)
    assert (sent.status, sent.get("Location")) == (303, "/in%20box/")
    assert b"new file.txt" in server.request("/in%20box/").body
    sent = server.request("/in%20box/", *fields, method="POST", body=body)
    assert (sent.status, sent.body) == (200, b"/in%20box/new%20file.txt\n")
    assert b"<form method" not in serve("--listing").request("/in%20box/").body
    sent = serve("--uploads", "--upload-overwrite").request("/in%20box/", *fields, BROWSER,
                                                            method="POST", body=body)
    assert sent.status == 200
