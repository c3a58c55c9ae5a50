"""Attacks on a document root: path traversal, symlinks that are swapped in during lookup, special
files. Data outside the root is never sent, and the server never fails or hangs."""

import itertools
import os
import socket
import stat
import threading

import pytest

import raw
from static_server import KIB, SECRET, root, serve, url, write  # noqa: F401 (fixtures)

INSIDE = b"inside the root"
ATTACK = b"written by the attacker"
SWAPS_PER_ROUND = 200
REQUESTS = 20_000  # of each race, by all clients together

# Path traversal

DOTS = [
    "..", "%2e%2e", "%2E%2e", ".%2e", "%2e.", "%252e%252e", "%25252e%25252e", "%c0%ae%c0%ae",
    "%c0%ae.", "%e0%80%ae%e0%80%ae", "%f0%80%80%ae%f0%80%80%ae", "%u002e%u002e", "%uff0e%uff0e",
    "%ef%bc%8e%ef%bc%8e", "\u2025", "\uff0e\uff0e", "\u2024\u2024", "%2e%2e%00", "..%00", "%00..",
    "..%20", "..%09", "..%0d%0a", "...", "....", "..;", "..;x=1", "%2e%2e;jsessionid=1", "..%3b",
    "..%23", "..%3f", ".%00.", ". .", "%2e%20%2e", "..%c2%a0", "%2%65%2%65", "%%32%65%%32%65"
]
SLASHES = [
    "/", "//", "/./", "%2f", "%2F", "%252f", "%25%32%66", "\\", "%5c", "%5C", "%255c", "%c0%af",
    "%c1%9c", "%c0%9v", "%e0%80%af", "%ef%bc%8f", "\uff0f", "\u2215", "\u2044", "/;/", "/%20/",
    "%00/", "/%00"
]
FRONTS = [
    "/", "//", "/./", "/sub", "/sub/", "/sub/../", "/sub/./", "/%2e/", "/missing/", "/link-out/",
    "/a\\", "http://localhost/", "http://localhost", "http://localhost//"
]
LONG = [64, 200, 1000]


def spellings():
    """All dot forms with all slash forms before the secret; all prefixes with all dot forms;
    chains; and other strings."""
    for dots, slash in itertools.product(DOTS, SLASHES):
        yield f"/{dots}{slash}secret.txt"
        yield f"/sub/{dots}{slash}{dots}{slash}secret.txt"
    for front, dots in itertools.product(FRONTS, DOTS):
        yield f"{front}{dots}/secret.txt"
        yield f"{front}/{dots}/root/{dots}/secret.txt"
    for dots, count in itertools.product(DOTS[:12], LONG):
        yield "/" + f"{dots}/" * count + "secret.txt"
        yield "/sub" + f"/{dots}" * count + "/etc/passwd"
    yield from ("/secret.txt", "/root/../../secret.txt", "/etc/passwd", "//etc/passwd",
                "///etc/passwd", "/%2fetc/passwd", "/%2f%2fetc%2fpasswd", "/./etc/passwd",
                "/~root/", "file:///etc/passwd", "file:/etc/passwd", "/file:///etc/passwd",
                "http:/../secret.txt", "http://localhost/..%2fsecret.txt",
                "http://localhost?/../secret.txt", "http://localhost#/../secret.txt",
                "http:///../secret.txt", "https://localhost/../secret.txt", "../secret.txt", "..",
                ".", "secret.txt", "*", "/..", "/.", "/../", "?/../secret.txt",
                "/?/../../secret.txt", "/sub?/../../secret.txt", "/sub%3f/../../secret.txt",
                "/sub;/../../secret.txt", "/sub#/../../secret.txt", "/C:/secret.txt",
                "/c:\\secret.txt", "\\\\host\\secret.txt", "/secret.txt%00.html",
                "/sub/file%00/../../secret.txt", "/sub/file/../../../secret.txt",
                "/proc/self/cwd/secret.txt", "/dev/fd/0", "/dev/stdin", "/link-out", "/link-out/",
                "/link-out/secret.txt", "/link-secret", "/link-absolute", "/link-proc/secret.txt",
                "/link-proc", "/sub/link-up/secret.txt", "/link-out/new.txt",
                "/sub/link-up/new.txt", "/link-proc/new.txt", "/sub/link-up/../secret.txt",
                "/sub/link-up/root/sub/file", "/%73%65%63%72%65%74.txt", "/%2e%2e%2f%73ecret.txt",
                "/" + "a/../" * 800 + "../secret.txt", "/" + "./" * 1500 + "../secret.txt",
                "/" + "/" * 3000 + "../secret.txt", "/" + "%2e" * 1000 + "/secret.txt")


@pytest.fixture
def attacked(root):
    parent = os.path.dirname(root)
    write(root, "sub/file", INSIDE)
    for name, target in (("link-out", ".."), ("link-secret", "../secret.txt"),
                         ("link-absolute", os.path.join(parent, "secret.txt")),
                         ("link-proc", "/proc/self/cwd"), ("sub/link-up", "../..")):
        os.symlink(target, os.path.join(root, name))
    return root


@pytest.mark.parametrize("flags", [("--listing", "--hidden"), ("--no-listing", ),
                                   ("--uploads", "--upload-directories", "--hidden")],
                         ids=["all shown", "plain", "uploads"])
def test_path_traversal_never_sends_secret(attacked, serve, flags):
    targets = list(dict.fromkeys(spellings()))
    assert len(targets) >= 200, "enough paths for the test"
    before = sorted(os.listdir(os.path.dirname(attacked)))
    server = serve(*flags, "--max-target-size", "16384", "--max-header-size", "32768")
    seen, connection = {}, None
    methods = ["GET"]
    # These create the directories that a valid path names, not hundreds of nested ones.
    if "--uploads" in flags:
        methods, targets = ["PUT", "GET"], [target for target in targets if target.count("/") < 100]
    for target, method in itertools.product(targets, methods):
        connection = connection or server.connect()
        body = ATTACK if method == "PUT" else b""
        connection.send(
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".
            encode() + body)
        response = connection.response()
        assert response.status < 500, (method, target, response)
        for hidden in (SECRET, b"root:", b"secret.txt</a>"):
            assert hidden not in response.body, (target, response)
        assert response.status != 200 or response.body in (
            INSIDE, ATTACK) or response.body.startswith(b"<!DOCTYPE html>"), (target, response)
        seen[response.status] = seen.get(response.status, 0) + 1
        if response.has_close():
            connection.close()
            connection = None
    if connection:
        connection.close()
    assert {400, 404} <= set(seen), seen
    assert sorted(os.listdir(
        os.path.dirname(attacked))) == before, "no file is written outside the root"
    assert not {"new.txt", "secret.txt"} & set(os.listdir(f"/proc/{server.process.pid}/cwd"))
    with open(os.path.join(os.path.dirname(attacked), "secret.txt"), "rb") as file:
        assert file.read() == SECRET
    assert server.request("/sub/file").body == INSIDE


# Races


def race(server, target, swap, method="GET", clients=4, requests=REQUESTS):
    """Clients repeat a request until its total number is reached, while `swap` is called
    repeatedly. Returns the counted responses."""
    responses, errors, running = {}, [], [clients]
    lock = threading.Lock()

    def fetch():
        try:
            with server.connect() as connection:
                counted = {}
                for _ in range(requests // clients):
                    body = b"from a client" if method == "PUT" else b""
                    response = connection.request(method, target, body=body)
                    found = (response.status, response.body if response.status == 200 else b"")
                    counted[found] = counted.get(found, 0) + 1
                    if response.has_close():
                        connection.close()
                        connection.__init__(server.port)
            with lock:
                for found, count in counted.items():
                    responses[found] = responses.get(found, 0) + count
        except Exception as error:  # reported below
            errors.append(error)
        finally:
            with lock:
                running[0] -= 1

    threads = [threading.Thread(target=fetch) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        while running[0] > 0:
            for _ in range(SWAPS_PER_ROUND):
                swap()
    finally:
        for thread in threads:
            thread.join()
    assert not errors, errors
    assert sum(responses.values()) == requests
    return responses


def swapper(here, other):
    """A function that replaces a path by another one, and restores it."""
    spare = here + ".spare"

    def swap():
        os.rename(here, spare)
        os.rename(other, here)
        os.rename(here, other)
        os.rename(spare, here)

    return swap


@pytest.mark.parametrize("outside", ["..", "ABSOLUTE"], ids=["climbs", "absolute"])
def test_directory_swapped_for_outside_symlink(root, serve, outside):
    """The outside directory has a file of the same name. A lookup that resolves the link in two
    steps would send it."""
    parent = os.path.dirname(root)
    write(root, "dir/deep/secret.txt", INSIDE)
    write(parent, "deep/secret.txt", SECRET)
    os.symlink(parent if outside == "ABSOLUTE" else outside, os.path.join(root, "link"))
    server = serve("--revalidate-ms", "1", "--hidden", "--listing")
    responses = race(server, "/dir/deep/secret.txt",
                     swapper(os.path.join(root, "dir"), os.path.join(root, "link")))
    assert {status for status, _ in responses} <= {200, 403, 404}
    assert {body for status, body in responses if status == 200} == {INSIDE}
    assert len(responses) > 1, "both states of the race occur"


def test_file_swapped_for_outside_symlink(root, serve):
    write(root, "file", INSIDE)
    os.symlink("../secret.txt", os.path.join(root, "link"))
    server = serve("--revalidate-ms", "1")
    responses = race(server, "/file", swapper(os.path.join(root, "file"),
                                              os.path.join(root, "link")))
    assert {status for status, _ in responses} <= {200, 403, 404}
    assert {body for status, body in responses if status == 200} == {INSIDE}
    assert len(responses) > 1


def test_file_swapped_for_fifo(root, serve):
    """Opening a FIFO would wait for a writer that never comes."""
    write(root, "file", INSIDE)
    os.mkfifo(os.path.join(root, "fifo"))
    server = serve("--revalidate-ms", "1")
    responses = race(server, "/file", swapper(os.path.join(root, "file"),
                                              os.path.join(root, "fifo")))
    assert {status for status, _ in responses} <= {200, 403, 404}
    assert {body for status, body in responses if status == 200} == {INSIDE}


def test_upload_into_directory_swapped_for_symlink(root, serve):
    """An open directory of the root stays one, whatever its path resolves to when the file gets its
    name."""
    parent = os.path.dirname(root)
    write(root, "dir/deep/x", INSIDE)
    write(parent, "deep/x", SECRET)
    os.symlink("..", os.path.join(root, "link"))
    server = serve("--uploads", "--upload-overwrite")
    responses = race(server, "/dir/deep/x",
                     swapper(os.path.join(root, "dir"), os.path.join(root, "link")), "PUT",
                     requests=4000)
    assert {status for status, _ in responses} <= {201, 204, 403, 409}
    with open(os.path.join(parent, "deep", "x"), "rb") as file:
        assert file.read() == SECRET
    assert os.listdir(os.path.join(parent, "deep")) == ["x"] and sorted(
        os.listdir(parent)) == ["deep", "root", "secret.txt"]


# Special files


def test_special_files_are_rejected(root, serve):
    """They are rejected at once, repeatedly, and the server stays responsive."""
    names = {
        "fifo": 403, "socket": 403, "folder-of-fifos/fifo": 403, "to-fifo": 403, "to-proc": 403,
        "to-dev": 403, "to-self": 403, "to-itself": 403, "nowhere": 404
    }
    os.mkfifo(os.path.join(root, "fifo"))
    os.mkdir(os.path.join(root, "folder-of-fifos"))
    os.mkfifo(os.path.join(root, "folder-of-fifos", "fifo"))
    for name, target in (("to-fifo", "fifo"), ("to-proc", "/proc/self/mem"),
                         ("to-dev", "/dev/zero"), ("to-self", "/proc/self/fd/0"),
                         ("to-itself", "to-itself"), ("nowhere", "missing")):
        os.symlink(target, os.path.join(root, name))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(root, "socket"))
    if os.geteuid() == 0:
        for name, kind, number in (("zero", stat.S_IFCHR, os.makedev(1,
                                                                     5)), ("random", stat.S_IFCHR,
                                                                           os.makedev(1, 8)),
                                   ("tty", stat.S_IFCHR, os.makedev(5, 0)), ("disk", stat.S_IFBLK,
                                                                             os.makedev(7, 0))):
            try:
                os.mknod(os.path.join(root, name), kind | 0o666, number)
            except PermissionError:
                continue
            names[name] = 403
    write(root, "file", INSIDE)
    server = serve("--listing", "--uploads", "--upload-overwrite", "--revalidate-ms", "1")
    with server.connect() as connection:
        for _ in range(5):  # as often as the pool has threads, and once more
            for name, status in names.items():
                for fields in ((), ("Range: bytes=0-9", )):
                    assert (name, connection.request("GET", "/" + name,
                                                     *fields).status) == (name, status)
                assert connection.request("HEAD", "/" + name).status == status
                assert connection.request("GET", f"/{name}/x").status in (403, 404)
            assert connection.request("GET", "/file").body == INSIDE
            assert connection.request("GET", "/").status == connection.request(
                "GET", "/folder-of-fifos/").status == 200
    for name in names:
        assert server.request("/" + name, method="PUT", body=b"x").status == 403
    listener.close()


def all_names():
    """All names of one byte, and names of two bytes with every first and every last byte."""
    usable = [byte for byte in range(1, 256) if byte != ord("/")]
    names = {bytes([byte])
             for byte in usable} | {bytes([byte, ord("x")])
                                    for byte in usable
                                    } | {bytes([ord("x"), byte])
                                         for byte in usable}
    names |= {bytes([byte, byte]) for byte in usable}
    return sorted(names - {b".", b".."})


def test_listing_links_of_names_of_every_byte(root, serve):
    """The links of a listing are resolved as a browser does, so they must be complete."""
    import html
    import re
    import urllib.parse
    names = all_names()
    for name in names:
        write(root, b"names/" + name, b"<" + name + b">")
    with serve("--hidden", "--listing", "--cache-entries", "4096").connect() as connection:
        for _ in range(2):
            for name in names:
                response = connection.request("GET", url(b"names/" + name))
                assert (name, response.status, response.body) == (name, 200, b"<" + name + b">")
        page = connection.request("GET", "/names/").body
        links = {
            urllib.parse.urljoin("http://h/names/", html.unescape(link))
            for link in re.findall(r'href="([^"]*)"', page.decode("utf-8", "replace"))
        }
        found = set()
        for link in links:
            parts = urllib.parse.urlsplit(link)
            if parts.netloc != "h" or not parts.path.startswith(
                    "/names/") or parts.path == "/names/" or parts.query:
                continue
            response = connection.request("GET", parts.path)
            assert response.status == 200, link
            found.add(response.body[1:-1])
        assert found == set(names)
