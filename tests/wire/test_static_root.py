"""The served directory follows its path when it is replaced, swapped or behind a changed link."""

import io
import os
import shutil
import tarfile

import pytest

from program import Program
from static_server import StaticServer, root, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

# With --watch the checks of the cache are so rare that only the watch can be the reason.
MODES = [("--revalidate-ms", "20"), ("--watch", "--revalidate-ms", "600000",
                                      "--negative-ms", "600000")]
WATCHED = pytest.mark.parametrize("flags", MODES, ids=["checked", "watched"])


def body(server, path="/file"):
    answer = server.request(path)
    return answer.body if answer.status == 200 else answer.status


def becomes(server, expected, path="/file"):
    eventually(lambda: body(server, path) == expected, f"{path} is {expected}")


def switch(parent, link, target):
    os.symlink(target, os.path.join(parent, "next"))
    os.rename(os.path.join(parent, "next"), os.path.join(parent, link))


def release(parent, name, content):
    path = os.path.join(parent, name)
    write(path, "file", content)
    return path


@WATCHED
def test_root_made_anew_is_served(root, serve, flags):
    write(root, "file", b"old")
    server = serve(*flags)
    for number in range(3):
        shutil.rmtree(root)
        os.mkdir(root)
        becomes(server, 404)
        write(root, "file", b"new %d" % number)
        becomes(server, b"new %d" % number)


@WATCHED
def test_root_moved_away_is_404_until_another_comes(root, serve, flags):
    write(root, "file", b"old")
    server = serve(*flags)
    assert body(server) == b"old"
    os.rename(root, root + ".old")
    becomes(server, 404)
    os.rename(release(os.path.dirname(root), "new", b"new"), root)
    becomes(server, b"new")
    write(root, "later", b"later")
    becomes(server, b"later", "/later")


@WATCHED
def test_changed_link_is_followed(root, flags):
    """The served path is a link, as after most deploys; so is a directory above it."""
    parent = os.path.dirname(root)
    first, second = release(parent, "v1/site", b"one"), release(parent, "v2/site", b"two")
    for served, link, targets in (("current", "current", (first, second)),
                                  ("now/site", "now", ("v1", "v2"))):
        os.symlink(targets[0], os.path.join(parent, link))
        server = StaticServer(os.path.join(parent, served), *flags)
        assert body(server) == b"one"
        for number in (1, 0, 1):
            switch(parent, link, targets[number])
            becomes(server, (b"one", b"two")[number])
        write(second, "file", b"three")
        becomes(server, b"three")
        write(second, "file", b"two")
        server.finish()


@WATCHED
def test_more_roots_and_aliases_follow_their_paths(root, flags):
    parent = os.path.dirname(root)
    for name in ("more", "alias"):
        release(parent, name, name.encode())
        os.rename(os.path.join(parent, name, "file"), os.path.join(parent, name, name))
    # Paths of several roots are not watched.
    server = StaticServer(root, *flags, "--revalidate-ms", "20", "--negative-ms", "20",
                          "--more-root", os.path.join(parent, "more"),
                          "--alias", f"/a/={parent}/alias")
    assert body(server, "/more") == b"more" and body(server, "/a/alias") == b"alias"
    for name in ("more", "alias"):
        shutil.rmtree(os.path.join(parent, name))
    becomes(server, 404, "/more")
    becomes(server, 404, "/a/alias")
    for name in ("more", "alias"):
        write(os.path.join(parent, name), name, b"again")
    becomes(server, b"again", "/more")
    becomes(server, b"again", "/a/alias")
    server.finish()


def test_current_directory_follows_its_path(root):
    """`uvhttp serve` in a directory that a build deletes and makes again."""
    write(root, "file", b"old")
    server = Program("uvhttp", "serve", "--listen", "127.0.0.1:0", "--revalidate-ms", "20",
                     cwd=root)
    assert body(server) == b"old"
    shutil.rmtree(root)
    write(root, "file", b"new")
    becomes(server, b"new")
    assert server.stop() == 0


def test_parent_of_a_link_is_that_of_its_target(root):
    parent = os.path.dirname(root)
    release(parent, "other/deep", b"deep")
    os.symlink("../other/deep", os.path.join(root, "link"))
    os.symlink("../other/deep/inner", os.path.join(root, "deeper"))
    os.mkdir(os.path.join(parent, "other/deep/inner"))
    for path in ("link/../deep", "../root/./link", "deeper/../../deep", "../../../../../.." + parent
                 + "/other/deep"):
        server = Program("uvhttp", "serve", "--listen", "127.0.0.1:0", path, cwd=root)
        assert body(server) == b"deep", path
        assert server.stop() == 0


def test_uploads_are_stored_in_the_new_root(root, serve):
    server = serve("--uploads", "--revalidate-ms", "20")
    shutil.rmtree(root)
    os.mkdir(root)
    answer = server.request("/up", method="PUT", body=b"content")
    assert answer.status == 201
    assert open(os.path.join(root, "up"), "rb").read() == b"content"


def test_root_of_a_configuration_behind_a_link_is_followed(root):
    parent = os.path.dirname(root)
    for name, content in (("v1", b"one"), ("v2", b"two")):
        release(parent, name, content)
        write(parent, f"{name}/site.yaml", b"listen: 127.0.0.1:0\nsites:\n  - routes:\n"
              b"      - path: /\n        static: .\n        revalidate_ms: 20\n")
    os.symlink("v1", os.path.join(parent, "current"))
    server = Program("uvhttp", "run", os.path.join(parent, "current/site.yaml"))
    assert body(server) == b"one"
    switch(parent, "current", "v2")
    becomes(server, b"two")
    assert server.stop() == 0


def test_link_without_end_is_a_missing_root(root):
    parent = os.path.dirname(root)
    release(parent, "v1", b"one")
    os.symlink("v1", os.path.join(parent, "current"))
    server = StaticServer(os.path.join(parent, "current"), "--revalidate-ms", "20")
    assert body(server) == b"one"
    switch(parent, "current", "current")
    becomes(server, 404)
    server.finish()


def test_alias_of_a_link_has_content_and_type_of_its_target(root):
    parent = os.path.dirname(root)
    write(parent, "real/page.html", b"page")
    os.symlink("../real/page.html", os.path.join(root, "link"))
    server = StaticServer(root, "--alias", f"/page={root}/link")
    answer = server.request("/page")
    assert (answer.status, answer.body) == (200, b"page")
    assert answer.get("Content-Type").startswith("text/html")
    server.finish()


def test_archive_is_of_one_version(root):
    parent = os.path.dirname(root)
    for version in ("v1", "v2"):
        for number in range(100):
            write(parent, f"{version}/file{number}", version.encode() * 50_000)
    os.symlink("v1", os.path.join(parent, "current"))
    server = StaticServer(os.path.join(parent, "current"), "--listing", "--archive",
                          "--revalidate-ms", "20")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(b"GET /?format=tar HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = connection.receive_exactly(100_000)
        switch(parent, "current", "v2")
        eventually(lambda: body(server, "/file0")[:2] == b"v2", "the new version is served")
        while data := connection.receive():
            received += data
    archive = tarfile.open(fileobj=io.BytesIO(dechunk(received.partition(b"\r\n\r\n")[2])))
    files = [archive.extractfile(member).read() for member in archive if member.isfile()]
    assert files == [b"v1" * 50_000] * 100
    server.finish()


def dechunk(data):
    body = b""
    while (size := int(data.partition(b"\r\n")[0], 16)) > 0:
        data = data.partition(b"\r\n")[2]
        body, data = body + data[:size], data[size + 2:]
    return body


@pytest.mark.parametrize("replacement", ["v2", "missing"])
def test_upload_into_a_replaced_root_is_a_conflict(root, replacement):
    parent = os.path.dirname(root)
    for name in ("v1", "v2"):
        os.mkdir(os.path.join(parent, name))
    os.symlink("v1", os.path.join(parent, "current"))
    server = StaticServer(os.path.join(parent, "current"), "--uploads", "--revalidate-ms", "20")
    with server.connect() as connection:
        connection.send(b"PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
        eventually(lambda: os.listdir(os.path.join(parent, "v1")), "the upload has begun")
        switch(parent, "current", replacement)
        connection.send(b"67890")
        assert connection.line().startswith(b"HTTP/1.1 409")
    server.finish()
    assert os.listdir(os.path.join(parent, "v1")) == os.listdir(os.path.join(parent, "v2")) == []
