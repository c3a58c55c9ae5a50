"""Static files over raw sockets: which files are served, which requests are rejected, and the
effect of request fields.

Each row of the section "Static files" of the list of known pitfalls has a test here, named
test_pitfall_*. The one about prewarming is in tests/unit/test_static_files.c, since the program has
no such flag.
"""

import ctypes
import os
import shutil
import socket
import stat
import urllib.parse

import pytest

import raw
from static_server import KIB, MIB, SECRET, root, serve, url, write  # noqa: F401 (fixtures)
from wire_server import eventually


def fields_of(response):
    return sorted((name, value) for name, value in response.fields if name != "Date")


# Whole files


@pytest.mark.parametrize("size", [
    0, 1, 13, 1000, 10 * KIB, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 64 * KIB, 100 * KIB, 1 * MIB,
    3 * MIB + 7
])
def test_pitfall_file_of_any_size_arrives_whole(root, serve, size):
    """Guards against sending only large files with sendfile: files of 10 KB once timed out."""
    write(root, "file.bin", raw.pattern(size))
    server = serve()
    with server.connect() as connection:
        for _ in range(3):  # first from disk, then from the cache
            response = connection.request("GET", "/file.bin")
            assert response.status == 200
            assert response.get("Content-Length") == str(size)
            assert response.body == raw.pattern(size)


@pytest.mark.parametrize("size", [10 * KIB, 12 * MIB])
def test_pitfall_slow_reader_receives_whole_file(root, serve, size):
    """Guards against a body that is truncated when sendfile returns EAGAIN."""
    write(root, "file.bin", raw.pattern(size))
    server = serve()
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file.bin") * 2)
        server.request("/missing")  # the server has written all that the socket accepts
        assert connection.response().body == raw.pattern(size)
        assert connection.response().body == raw.pattern(size)


def test_readers_of_one_descriptor_are_independent(root, serve):
    write(root, "file.bin", raw.pattern(2 * MIB))
    server = serve()
    connections = [server.connect(receive_buffer=65536) for _ in range(8)]
    for number, connection in enumerate(connections):
        connection.send(raw.request("GET", "/file.bin", f"Range: bytes={number * 1000}-"))
    for number, connection in enumerate(connections):
        response = connection.response()
        assert response.status == 206
        assert response.body == raw.pattern(2 * MIB - number * 1000, number * 1000)
        connection.close()


def test_pipelined_files_keep_order(root, serve):
    sizes = [5, 20 * KIB, 0, 16 * KIB, 300 * KIB, 1]
    for size in sizes:
        write(root, f"f{size}", raw.pattern(size, size))
    with serve().connect() as connection:
        connection.send(b"".join(raw.request("GET", f"/f{size}") for size in sizes * 3))
        for size in sizes * 3:
            assert connection.response().body == raw.pattern(size, size)


def test_file_above_4_gib_arrives_whole(root, serve):
    size = 5 * 1024 * MIB + 3
    with open(write(root, "huge"), "r+b") as file:
        file.truncate(size)
        file.seek(size - 10)
        file.write(b"0123456789")
    server = serve()
    assert server.request("/huge", method="HEAD").get("Content-Length") == str(size)
    response = server.request("/huge", "Range: bytes=-10")
    assert response.body == b"0123456789"
    assert response.get("Content-Range") == f"bytes {size - 10}-{size - 1}/{size}"
    response = server.request("/huge", f"Range: bytes={2 ** 32}-{2 ** 32 + 4}")
    assert response.body == bytes(5)


@pytest.mark.parametrize("size", [0, 13, 100 * KIB])
def test_head_has_fields_of_get(root, serve, size):
    write(root, "page.html", raw.pattern(size))
    server = serve()
    for _ in range(2):
        with server.connect() as connection:
            head = connection.request("HEAD", "/page.html")
            get = connection.request("GET", "/page.html")
            assert fields_of(head) == fields_of(get)
            assert head.status == get.status == 200
            assert head.get("Content-Length") == str(size)
            connection.assert_silent()


def test_file_response_fields(root, serve):
    path = write(root, "page.html", b"<p>")
    os.utime(path, ns=(0, 784111777_000000000))
    response = serve().request("/page.html")
    assert response.get("Content-Type").lower() == "text/html; charset=utf-8"
    assert response.get("Last-Modified") == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert response.get("Accept-Ranges") == "bytes"
    assert response.get(
        "ETag"
    ) == f'"{os.stat(path).st_ino:x}-3-{784111777_000000000:x}-{os.stat(path).st_ctime_ns:x}"'


@pytest.mark.parametrize("name, kind", [("a.css", "text/css; charset=utf-8"),
                                        ("a.js", "text/javascript; charset=utf-8"),
                                        ("a.PNG", "image/png"), ("a.svg", "image/svg+xml"),
                                        ("a.json", "application/json"),
                                        ("a.txt", "text/plain; charset=utf-8"),
                                        ("a.wasm", "application/wasm"),
                                        ("a.unknown-kind", "application/octet-stream"),
                                        ("plain", "application/octet-stream"), ])
def test_content_type_follows_extension(root, serve, name, kind):
    write(root, name, b"x")
    assert serve().request("/" + name).get("Content-Type").replace("; ",
                                                                   ";").lower() == kind.replace(
                                                                       "; ", ";")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "PROPFIND"])
def test_other_methods_get_405(root, serve, method):
    write(root, "file", b"x")
    server = serve()
    for target in ("/file", "/missing", "/"):
        response = server.request(target, method=method)
        assert response.status == 405
        assert {"GET", "HEAD"} <= response.allow()
        assert "POST" not in response.allow()


# Names


def test_file_name_may_have_any_byte(root, serve):
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    names += [b"a" + bytes([byte]) + b"b" for byte in range(1, 256) if byte != ord("/")]
    for name in names:
        write(root, name, b"<" + name + b">")
    with serve("--hidden").connect() as connection:
        for _ in range(2):
            for name in names:
                response = connection.request("GET", url(name))
                assert (name, response.status, response.body) == (name, 200, b"<" + name + b">")


@pytest.mark.parametrize("name", [
    "with space", "100%", "%41", "#1", "what?", "grüße", "back\\slash", "new\nline", "a+b",
    "semi;colon", "colon:name", "quote\"'", "<tag>", "three...dots", "a&b=c", "~tilde", "日本語.txt",
    "%2F", "a%2Fb"
])
def test_file_names_with_special_characters(root, serve, name):
    write(root, name, name.encode())
    write(root, f"folder {name}/inner {name}", b"inner")
    write(root, f"folder {name}/index.html", b"index")
    server = serve()
    assert server.request(url(name)).body == name.encode()
    assert server.request(url(f"folder {name}/inner {name}")).body == b"inner"
    assert server.request(url(f"folder {name}/")).body == b"index"
    assert server.request(url(f"folder {name}")).get("Location") == url(f"folder {name}/").replace(
        "%2B", "%2B")


def test_encoded_slash_is_not_a_separator(root, serve):
    write(root, "a/b", b"in the folder")
    write(root, "a%2Fb", b"by name")
    write(root, "c/d", b"in the folder")
    with serve().connect() as connection:
        for _ in range(2):
            assert connection.request("GET", "/a/b").body == b"in the folder"
            assert connection.request("GET", "/a%252Fb").body == b"by name"
            assert connection.request("GET", "/a%25%32Fb").body == b"by name"
            for target in ("/a%2Fb", "/a%2fb", "/c%2Fd", "/c%252Fd", "/%2Fa/b", "/a/%2Fb"):
                assert connection.request("GET", target).status == 404, target


def test_query_is_not_part_of_file_name(root, serve):
    write(root, "file", b"x")
    server = serve()
    assert server.request("/file?x=1&y=/../z").body == b"x"
    assert server.request("/file?").body == b"x"


def test_file_has_one_path(root, serve):
    """Otherwise another spelling of the path would bypass the password of a route."""
    write(root, "a/b", b"x")
    server = serve()
    tags = {server.request(target).get("ETag") for target in ("/a/b", "/a/./b", "/c/../a/b")}
    assert len(tags) == 1
    for target in ("//a/b", "/a//b", "///a///b", "/a//b?x=//"):
        response = server.request(target)
        assert (response.status,
                response.get("Location")) == (301, "/a/b" + ("?x=//" if "?" in target else ""))
    assert server.request("//").get("Location") == "/"


@pytest.mark.parametrize(
    "target", ["/" + "n" * 256, "/" + "n" * 3000, "/" + "d/" * 2500 + "x", "/" + "d" * 255 + "/x"])
def test_too_long_name_gets_404(root, serve, target):
    response = serve("--max-target-size", "8192").request(target)
    assert response.status == 404


def test_pitfall_missing_file_gets_404(root, serve):
    write(root, "file", b"x")
    server = serve()
    for target in ("/missing", "/missing/", "/missing/file", "/file/", "/file/x", "/missing.html",
                   "/.", "/nope/.."):
        # These two are the root, a directory without index.
        expected = 403 if target in ("/.", "/nope/..") else 404
        assert (target, server.request(target).status) == (target, expected)


def test_hidden_files_get_404(root, serve):
    for name in (".env", ".git/config", "a/.hidden", "a/.dir/file", "..dots"):
        write(root, name, b"hidden")
    server = serve()
    for target in ("/.env", "/.git/config", "/.git/", "/.git", "/a/.hidden", "/a/.dir/file",
                   "/%2eenv", "/..dots"):
        assert (target, server.request(target).status) == (target, 404)


def test_hidden_files_option_serves_them(root, serve):
    for name in (".env", ".git/config", "a/.hidden"):
        write(root, name, b"hidden")
    server = serve("--hidden")
    for target in ("/.env", "/.git/config", "/a/.hidden"):
        assert server.request(target).body == b"hidden"


def test_well_known_directory_is_not_hidden(root, serve):
    write(root, ".well-known/security.txt", b"Contact")
    write(root, ".well-known/.hidden", b"x")
    write(root, ".well-known-not", b"x")
    write(root, "sub/.well-known/x", b"x")
    server = serve()
    assert server.request("/.well-known/security.txt").body == b"Contact"
    for target in ("/.well-known/.hidden", "/.well-known-not", "/sub/.well-known/x"):
        assert server.request(target).status == 404


# Paths outside the root


def traversal_targets():
    steps = [
        "..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "..%2f", "%2e%2e%2f", "..\\", "..%5c",
        "%2e%2e%5c", "%252e%252e", "..%252f", "%c0%ae%c0%ae", "%c0%ae.", "..%c0%af", "..%c1%9c",
        "%e0%80%ae%e0%80%ae", "..;", "..%00", "..%09", "..%20", "..%0a", "...", "....", ". .",
        "%u002e%u002e", "..%ef%bc%8f", "．．", "..//", ".//..", "./..", "..%3f", "..%23", "%00.."
    ]
    for step in steps:
        for before in ("/", "/sub/", "/sub/../", "//", "/./", "/link-out/"):
            yield f"{before}{step}/secret.txt"
        yield f"/{step}{step}/secret.txt"
        yield f"/{step}/{step}/{step}/{step}/{step}/{step}/{step}/{step}/etc/passwd"
    yield from ("//etc/passwd", "/%2fetc/passwd", "/%2f%2fetc%2fpasswd", "///../secret.txt",
                "/sub/..%2f..%2fsecret.txt", "/root/../../secret.txt",
                "http://localhost/../secret.txt", "http://localhost/%2e%2e/secret.txt",
                "/secret.txt", "/file:///etc/passwd", "/C:/secret.txt", "/proc/self/cwd/secret.txt",
                "/dev/fd/0")


@pytest.mark.http1
def test_path_traversal_is_denied(root, serve):
    write(root, "sub/file", b"x")
    os.symlink("..", os.path.join(root, "link-out"))
    server = serve("--listing", "--hidden")
    targets = list(traversal_targets())
    assert len(targets) >= 200
    for target in targets:
        with server.connect() as connection:
            connection.send(b"GET " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            response = connection.response()
            if response.status == 301:  # to the same path with one slash instead of several
                assert "//" in target
                response = server.request(response.get("Location"))
            assert response.status in (400, 403, 404), (target, response)
            assert SECRET not in response.body and b"root:" not in response.body, target
    assert server.request("/sub/file").body == b"x"


def test_symlink_inside_root_is_followed(root, serve):
    write(root, "a/file", b"content")
    write(root, "a/index.html", b"index")
    os.symlink("a/file", os.path.join(root, "link"))
    os.symlink("../a/file", os.path.join(root, "a", "up"))
    os.symlink("a", os.path.join(root, "folder"))
    server = serve()
    for target in ("/link", "/a/up", "/folder/file", "/folder/up"):
        assert server.request(target).body == b"content"
    assert server.request("/folder/").body == b"index"
    assert server.request("/folder").get("Location") == "/folder/"


def test_symlink_out_of_root_gets_403(root, serve):
    write(root, "file", b"x")
    for name, target in (("out", "../secret.txt"), ("absolute", "/etc/passwd"), ("up", ".."),
                         ("back", "../root/file"), ("own", os.path.join(root, "file")),
                         ("slash", "/"), ("loop", "loop")):
        os.symlink(target, os.path.join(root, name))
    server = serve("--listing")
    for target in ("/out", "/absolute", "/up", "/up/", "/up/secret.txt", "/back", "/own",
                   "/slash/etc/passwd", "/loop", "/loop/x"):
        assert (target, server.request(target).status) == (target, 403)
    os.symlink("nowhere", os.path.join(root, "dangling"))
    assert server.request("/dangling").status == 404
    page = server.request("/").body
    assert b"file" in page
    for name in (b"out", b"absolute", b"up", b"slash", b"loop", b"dangling", b"back", b"own"):
        assert b"./" + name + b'"' not in page and b"./" + name + b'/"' not in page


@pytest.mark.skipif(os.geteuid() != 0, reason="needs mknod")
def test_device_gets_403(root, serve):
    try:
        os.mknod(os.path.join(root, "null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("mknod is not permitted here")
    server = serve()
    assert server.request("/null").status == 403
    assert server.request("/null", method="HEAD").status == 403


def test_pitfall_fifo_does_not_block_server(root, serve):
    write(root, "file", b"x")
    os.mkfifo(os.path.join(root, "fifo"))
    os.symlink("fifo", os.path.join(root, "link"))
    server = serve()
    # more connections than the thread pool has threads
    connections = [server.connect() for _ in range(16)]
    for connection in connections:
        connection.send(raw.request("GET", "/fifo") + raw.request("GET", "/link"))
    assert server.request("/file").body == b"x"
    for connection in connections:
        assert [connection.response().status for _ in range(2)] == [403, 403]
        connection.close()


def test_fifo_is_not_opened(root, serve):
    """Opening a FIFO would release a writer that waits for a reader. Opening a device may have any
    side effect."""
    path = os.path.join(root, "fifo")
    os.mkfifo(path)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(watch, os.fsencode(path), 0x20) > 0  # IN_OPEN
    server = serve()
    for _ in range(3):
        assert server.request("/fifo").status == 403
    with pytest.raises(BlockingIOError):
        os.read(watch, 4096)
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    assert os.read(watch, 4096)  # the watch works
    os.close(watch)


def test_unix_socket_gets_403(root, serve):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(root, "socket"))
    assert serve().request("/socket").status == 403
    listener.close()


def without_override():
    """Drops root's capabilities CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH in the process that is
    started next."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_unreadable_file_gets_403(root, serve):
    write(root, "locked", b"x")
    write(root, "closed/file", b"x")
    write(root, "site/index.html", b"x")
    server = serve("--listing", "--revalidate-ms", "1", prepare=without_override)
    assert server.request("/locked").status == 200
    for name in ("locked", "closed", "site/index.html"):
        os.chmod(os.path.join(root, name), 0)
    eventually(lambda: server.request("/locked").status == 403, "the new permission is detected")
    for target in ("/closed/file", "/closed/missing", "/closed/", "/site/", "/locked"):
        assert (target, server.request(target).status) == (target, 403)
    assert server.request("/missing").status == 404
    os.chmod(os.path.join(root, "closed"), 0o755)


# Directories


def test_pitfall_index_file_is_served(root, serve):
    write(root, "index.html", b"top")
    write(root, "sub/index.html", b"sub")
    server = serve()
    for _ in range(2):
        assert server.request("/").body == b"top"
        response = server.request("/sub/")
        assert response.body == b"sub"
        assert response.get("Content-Type").lower() == "text/html; charset=utf-8"
        assert server.request("/sub/index.html").body == b"sub"


def test_index_names_are_tried_in_order(root, serve):
    write(root, "a/second.txt", b"second")
    write(root, "b/second.txt", b"second")
    write(root, "b/first.html", b"first")
    os.makedirs(os.path.join(root, "c", "first.html"))
    write(root, "c/second.txt", b"second")
    os.mkdir(os.path.join(root, "d"))
    server = serve("--index", "first.html  second.txt")
    assert server.request("/a/").body == b"second"
    assert server.request("/a/").get("Content-Type").startswith("text/plain")
    assert server.request("/b/").body == b"first"
    assert server.request("/c/").body == b"second"
    assert server.request("/d/").status == 403


def test_new_index_file_of_higher_rank_is_served(root, serve):
    write(root, "second", b"second")
    server = serve("--index", "first second", "--revalidate-ms", "1")
    assert server.request("/").body == b"second"
    write(root, "first", b"first")
    eventually(lambda: server.request("/").body == b"first", "the new index file is detected")


def test_index_option_disabled(root, serve):
    write(root, "index.html", b"x")
    assert serve("--index", "").request("/").status == 403


def test_directory_without_index_gets_403(root, serve):
    os.mkdir(os.path.join(root, "sub"))
    server = serve()
    assert server.request("/").status == 403
    assert server.request("/sub/").status == 403


def test_directory_redirects_to_trailing_slash(root, serve):
    write(root, "a b/c%d/index.html", b"x")
    server = serve()
    for target, location in (("/a%20b", "/a%20b/"), ("/a%20b?x=1&y=%2F", "/a%20b/?x=1&y=%2F"),
                             ("/a%20b/c%25d", "/a%20b/c%25d/"), ("/a%20b?", "/a%20b/"),
                             ("http://other.example/a%20b?q", "/a%20b/?q"), ("/a%20b?//x",
                                                                             "/a%20b/?//x")):
        response = server.request(target)
        assert (response.status, response.get("Location")) == (301, location)


@pytest.mark.parametrize("target", [
    "//evil.example", "///evil.example", "/%2e/evil.example", "//evil.example/..//evil.example",
    "/.//evil.example", "//evil.example?x=//y", "/\\evil.example", "/%5cevil.example", "/%0d%0aX:y",
    "/%0aevil.example", "/evil.example%0d%0aSet-Cookie:%20a=b", "http://localhost//evil.example",
    "http://localhost///evil.example"
])
def test_redirect_stays_on_this_server(root, serve, target):
    for name in (b"evil.example", b"\\evil.example", b"\r\nX:y", b"\nevil.example",
                 b"evil.example\r\nSet-Cookie: a=b"):
        os.mkdir(os.path.join(os.fsencode(root), name))
    with serve().connect() as connection:
        connection.send(b"GET " + target.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        response = connection.response()
    if response.status != 400:  # a raw backslash may be rejected, too
        assert response.status == 301
        location = response.get("Location")
        assert location.startswith("/") and not location.startswith("//") and "\\" not in location
        assert urllib.parse.urlsplit(urllib.parse.urljoin("http://localhost/",
                                                          location)).netloc == "localhost"
        assert not response.all("Set-Cookie") and not response.all("X")


def test_deleted_root_gets_404(root, serve):
    write(root, "index.html", b"x")
    write(root, "kept.bin", raw.pattern(100 * KIB))
    server = serve("--listing", "--revalidate-ms", "1")
    assert server.request("/").status == 200
    with server.connect() as connection:
        connection.send(raw.request("GET", "/kept.bin"))
        assert connection.response().body == raw.pattern(100 * KIB)
        shutil.rmtree(root)
        for target in ("/", "/index.html", "/kept.bin", "/sub/"):
            eventually(lambda: connection.request("GET", target).status == 404,
                       f"{target} gets 404")
    os.mkdir(root)


# Conditional requests (RFC 9110 13) and ranges (14)

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
EARLIER = "Sun, 06 Nov 1994 08:49:36 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"


@pytest.fixture
def dated(root):
    """A file with a known date; returns its entity tag."""
    path = write(root, "file", b"0123456789")
    os.utime(path, ns=(0, 784111777_000000000))
    return f'"{os.stat(path).st_ino:x}-a-{784111777_000000000:x}-{os.stat(path).st_ctime_ns:x}"'


CONDITIONS = [
    (["If-None-Match: TAG"], 304),
    (["If-None-Match: W/TAG"], 304),
    (["If-None-Match: *"], 304),
    (['If-None-Match: "x"'], 200),
    (['If-None-Match: "x", TAG , "y"'], 304),
    (["If-Match: TAG"], 200),
    (["If-Match: *"], 200),
    (['If-Match: "x"'], 412),
    (["If-Match: W/TAG"], 412),
    ([f"If-Modified-Since: {DATE}"], 304),
    ([f"If-Modified-Since: {LATER}"], 304),
    ([f"If-Modified-Since: {EARLIER}"], 200),
    (["If-Modified-Since: never"], 200),
    ([f"If-Unmodified-Since: {DATE}"], 200),
    ([f"If-Unmodified-Since: {EARLIER}"], 412),
    ([f"If-Unmodified-Since: {LATER}"], 200),
    # The order: If-Match before If-Unmodified-Since, If-None-Match before If-Modified-Since, both
    # pairs together.
    (["If-Match: TAG", f"If-Unmodified-Since: {EARLIER}"], 200),
    (['If-None-Match: "x"', f"If-Modified-Since: {DATE}"], 200),
    (["If-None-Match: TAG", f"If-Modified-Since: {EARLIER}"], 304),
    (['If-Match: "x"', "If-None-Match: TAG"], 412),
    ([f"If-Unmodified-Since: {EARLIER}", "If-None-Match: TAG"], 412),
    (["If-Match: TAG", "If-None-Match: TAG"], 304),
    # A failed condition has precedence over the range.
    (["If-None-Match: TAG", "Range: bytes=0-1"], 304),
    (['If-Match: "x"', "Range: bytes=0-1"], 412),
    (["If-None-Match: TAG", "Range: bytes=99-"], 304),
    (["If-Match: TAG", "Range: bytes=0-1"], 206),
]


@pytest.mark.parametrize("lines, status", CONDITIONS)
def test_conditional_request_status(root, serve, dated, lines, status):
    lines = [line.replace("TAG", dated) for line in lines]
    server = serve()
    for method in ("GET", "HEAD", "GET"):
        response = server.request("/file", *lines, method=method)
        # RFC 9110 14.2: Range applies to GET only
        expected = 200 if status == 206 and method == "HEAD" else status
        assert response.status == expected
        if status == 200 and method == "GET":
            assert response.body == b"0123456789"


def test_pitfall_304_is_sent_on_cache_miss(root, serve, dated):
    with serve().connect() as connection:
        for _ in range(2):
            response = connection.request("GET", "/file", f"If-None-Match: {dated}")
            assert response.status == 304
            assert response.body == b""
            assert response.get("ETag") == dated
            assert response.get("Last-Modified") == DATE
            assert response.get("Content-Type") is None
            connection.assert_silent()
        assert connection.request("GET", "/file").body == b"0123456789"


RANGES = [("bytes=0-0", 206, 0, 0), ("bytes=0-", 206, 0, 9), ("bytes=3-5", 206, 3, 5),
          ("bytes=9-", 206, 9, 9), ("bytes=-1", 206, 9, 9), ("bytes=-4", 206, 6, 9),
          ("bytes=-99", 206, 0, 9), ("bytes=5-99", 206, 5, 9), ("bytes=0-9", 206, 0, 9),
          ("BYTES=1-2", 206, 1, 2), ("bytes=5-18446744073709551615", 206, 5, 9),
          ("bytes=10-", 416, 0, 0), ("bytes=10-20", 416, 0, 0), ("bytes=-0", 416, 0, 0),
          ("bytes=18446744073709551615-", 416, 0, 0), ("bytes=5-3", 200, 0, 0),
          ("bytes=a-b", 200, 0, 0), ("bytes=", 200, 0, 0), ("lines=1-2", 200, 0, 0),
          ("bytes 1-2", 200, 0, 0), ("bytes=--1", 200, 0, 0), ("bytes=0-1,3-4", 206, 0, 4), ]


@pytest.mark.parametrize("size", [10, 40 * KIB])
@pytest.mark.parametrize("value, status, first, last", RANGES)
def test_range_gets_206_or_416(root, serve, value, status, first, last, size):
    content = raw.pattern(size)
    write(root, "file", content)
    if size != 10:  # the same ranges in the large file, in units of 4 KiB
        value = {
            "bytes=0-0": f"bytes=0-{4 * KIB - 1}", "bytes=3-5": f"bytes={12 * KIB}-{24 * KIB - 1}",
            "bytes=-4": f"bytes=-{16 * KIB}", "bytes=9-": f"bytes={36 * KIB}-",
            "bytes=-1": f"bytes=-{4 * KIB}", "bytes=5-99": f"bytes={20 * KIB}-999999",
            "bytes=0-": "bytes=0-", "bytes=-99": "bytes=-999999", "bytes=10-": f"bytes={40 * KIB}-",
            "bytes=10-20": f"bytes={40 * KIB}-{80 * KIB}"
        }.get(value)
        if value is None:
            return
        first, last = first * 4 * KIB, last * 4 * KIB + 4 * KIB - 1
    server = serve()
    for _ in range(2):
        response = server.request("/file", f"Range: {value}")
        assert response.status == status
        if status == 206:
            assert response.body == content[first:last + 1]
            assert response.get("Content-Range") == f"bytes {first}-{last}/{size}"
        elif status == 416:
            assert response.get("Content-Range") == f"bytes */{size}"
        else:
            assert response.body == content and response.get("Content-Range") is None


def test_range_response_has_fields_of_whole_file(root, serve, dated):
    server = serve()
    whole = dict(fields_of(server.request("/file")))
    part = dict(fields_of(server.request("/file", "Range: bytes=2-3")))
    assert part.pop("Content-Range") == "bytes 2-3/10"
    assert part.pop("Content-Length") == "2" and whole.pop("Content-Length") == "10"
    assert part == whole


@pytest.mark.parametrize("value, status", [("TAG", 206), ("W/TAG", 200), ('"x"', 200), (DATE, 206),
                                           (LATER, 200), (EARLIER, 200), ("nonsense", 200)])
def test_if_range_selects_range_or_whole(root, serve, dated, value, status):
    response = serve().request("/file", "Range: bytes=0-4",
                               "If-Range: " + value.replace("TAG", dated))
    assert response.status == status
    assert response.body == (b"01234" if status == 206 else b"0123456789")


def rewrite_with_same_inode_size_and_time(path, content):
    """As when a file is replaced and its inode number is reused. Only the change time of the inode
    differs."""
    before = os.stat(path)

    def changed():
        with open(path, "r+b") as file:
            file.write(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return os.stat(path).st_ctime_ns != before.st_ctime_ns

    eventually(changed, "the clock of the file system has advanced")
    after = os.stat(path)
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size,
                                                                before.st_mtime_ns)


@pytest.mark.parametrize("size", [10, 100 * KIB], ids=["memory", "descriptor"])
def test_etag_differs_with_same_inode_size_and_mtime(root, serve, size):
    path = write(root, "file", b"a" * size)
    write(root, "file.gz", b"a" * size)
    tags = []
    for content in (b"b", b"c"):
        server = serve("--revalidate-ms", "1", "--precompressed")
        tags += [
            server.request("/file").get("ETag"),
            server.request("/file", "Accept-Encoding: gzip").get("ETag")
        ]
        for name in (path, path + b".gz"):
            rewrite_with_same_inode_size_and_time(name, content * size)
        for accept in ("identity", "gzip"):

            def changed():
                return server.request("/file", f"Accept-Encoding: {accept}").get("ETag") not in tags

            eventually(changed, "the cache has revalidated the file")
            whole = server.request("/file", f"Accept-Encoding: {accept}",
                                   f"If-None-Match: {tags[-2]}, {tags[-1]}")
            assert (whole.status, whole.body) == (200, content * size)
            for tag in tags[-2:]:
                part = server.request("/file", f"Accept-Encoding: {accept}", f"If-Range: {tag}",
                                      "Range: bytes=5-")
                assert (part.status, part.body) == (200, content * size)
    assert len(set(tags)) == len(tags)


def test_range_of_empty_file_is_ignored(root, serve):
    write(root, "empty")
    server = serve()
    for value in ("bytes=0-", "bytes=-5", "bytes=0-0"):
        response = server.request("/empty", f"Range: {value}")
        assert (response.status, response.get("Content-Length"), response.body) == (200, "0", b"")


# test_static_listing.py tests directory listings, test_static_changes.py files that change.
