"""Directories as archives, read by GNU tar and by Python: the extracted tree equals the
directory."""

import io
import os
import pathlib
import struct
import subprocess
import tarfile
import zipfile
import zlib

import pytest

import raw
from static_server import KIB, MIB, root, serve, write  # noqa: F401 (fixtures)
from test_static_listing import NASTY
from wire_server import eventually

LONG = "a folder whose name is rather long, and stands above others of the kind/" * 6


@pytest.fixture
def tree(root):
    """Names of all kinds, and sizes near the limits of blocks and slices."""
    for name in NASTY:
        write(root, b"names/" + name, b"content of " + name)
    for size in (0, 1, 511, 512, 513, 64 * KIB, 256 * KIB - 512, 256 * KIB, 1 * MIB + 1):
        write(root, f"sizes/{size}", os.urandom(size))
    write(root, LONG + "file", b"deep")
    write(root, "grüße/日本語", b"utf-8")
    write(root, b"\xff\xfe" * 60 + b"/" + b"long and no UTF-8", b"bytes")
    os.mkdir(os.path.join(root, "empty"))
    os.utime(write(root, "old", b"before 1970"), (0, -86400))
    os.utime(write(root, "dated", b"dated"), (0, 784111777))
    return root


def files_of(root):
    """{path: content} of the files below a directory; an empty directory is {path: None}. Paths are
    bytes."""
    found, root = {}, os.fsencode(root)
    for directory, directories, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = pathlib.Path(os.fsdecode(path)).read_bytes()
        if not directories and not names:
            found[os.path.relpath(directory, root)] = None
    return found


def test_gnu_tar_extracts_the_tree(tree, serve, tmp_path):
    response = serve("--listing", "--archive").request("/?format=tar")
    assert (response.status, response.get("Content-Type")) == (200, "application/x-tar")
    assert response.get("Content-Disposition") == "attachment; filename=\"files.tar\""
    done = subprocess.run(["tar", "-xf", "-", "-C", str(tmp_path)], input=response.body,
                          capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["files"]
    assert files_of(tmp_path / "files") == files_of(tree)
    assert (tmp_path / "files/dated").stat().st_mtime == 784111777 and (
        tmp_path / "files/old").stat().st_mtime == -86400


def zip_of(response):
    """The content of each file by its name as bytes; every checksum is checked."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(response.body)) as archive:
        assert archive.testzip() is None
        for member in archive.infolist():
            name = member.filename.encode("utf-8" if member.flag_bits & 0x800 else "cp437")
            found[name] = None if member.is_dir() else archive.read(member)
    return found


def test_python_zipfile_reads_the_tree(tree, serve):
    response = serve("--listing", "--archive").request("/?format=zip")
    assert (response.status, response.get("Content-Type")) == (200, "application/zip")
    assert response.get("Content-Disposition") == "attachment; filename=\"files.zip\""
    found = zip_of(response)
    assert {name.removeprefix(b"files/"): content for name, content in found.items()
            if content is not None
            } == {name: content for name, content in files_of(tree).items() if content is not None}
    assert {b"files/", b"files/empty/"} <= {name for name in found if found[name] is None}
    with zipfile.ZipFile(io.BytesIO(response.body)) as archive:
        assert archive.getinfo("files/dated").date_time == (1994, 11, 6, 8, 49, 36)
        assert archive.getinfo("files/dated").external_attr >> 16 == 0o100644


def test_zip_can_be_read_while_it_arrives(root, serve):
    """Without the directory at the end, as programs in Java do: zlib finds the end of each file."""
    for size in (0, 1, 32 * KIB, 65535, 65536, 300 * KIB):
        write(root, f"{size}", os.urandom(size))
    rest, found = serve("--listing", "--archive").request("/?format=zip").body, {}
    while rest.startswith(b"PK\3\4"):
        flags, method = struct.unpack_from("<HH", rest, 6)
        name, extra = struct.unpack_from("<HH", rest, 26)
        path, rest = rest[30:30 + name], rest[30 + name + extra:]
        if path.endswith(b"/"):
            continue
        assert (flags & 8, method) == (8, 8)
        unpacker = zlib.decompressobj(-15)
        content, packed = unpacker.decompress(rest), len(rest) - len(unpacker.unused_data)
        assert unpacker.unused_data[:16] == struct.pack("<4sIII", b"PK\7\x08", zlib.crc32(content),
                                                        packed, len(content))
        found[path.removeprefix(b"files/")] = content
        rest = unpacker.unused_data[16:]
    assert found == files_of(root)


def test_zip_has_the_limits_of_an_archive(root, serve):
    for number in range(3):
        write(root, f"sub/{number}", bytes(100))
    assert serve("--listing", "--archive", "--archive-size",
                 "299").request("/?format=zip").status == 403
    assert serve("--listing", "--archive", "--archive-entries",
                 "3").request("/?format=zip").status == 403
    assert serve("--listing").request("/?format=zip").status == 403
    accepted = serve("--listing", "--archive").request("/", "Accept: application/zip")
    assert accepted.get("Content-Type") == "application/zip"


def test_python_tarfile_extracts_the_tree(tree, serve):
    response = serve("--listing", "--archive").request("/", "Accept: application/x-tar")
    found = {}
    with tarfile.open(fileobj=io.BytesIO(response.body)) as archive:
        for member in archive:
            assert member.isfile() or member.isdir()
            assert (member.uid, member.gid, member.mode) == (0, 0,
                                                             0o644 if member.isfile() else 0o755)
            if member.isfile():
                found[os.fsencode(member.name)] = archive.extractfile(member).read()
    assert found == {
        b"files/" + name: content
        for name, content in files_of(tree).items()
        if content is not None
    }
    assert response.body.endswith(bytes(1024)) and len(response.body) % 512 == 0


@pytest.mark.parametrize(
    "directory, name, field",
    [("photos 2024", "photos 2024", "filename=\"photos 2024.tar\""),
     ("grüße \"1\"", "grüße \"1\"",
      "filename=\"gr__e _1_.tar\"; filename*=UTF-8''gr%C3%BC%C3%9Fe%20%221%22.tar"),
     ("a/b\r\nX: y", "b\r\nX: y", "filename=\"b__X: y.tar\"; filename*=UTF-8''b%0D%0AX%3A%20y.tar"),
     (b"bad\xff", b"bad\xff", "filename=\"bad_.tar\""), ])
def test_archive_file_name_follows_directory(root, serve, directory, name, field):
    write(root, os.fsencode(directory) + b"/file", b"x")
    response = serve("--listing", "--archive").request("/" + "/".join(
        raw_quote(part) for part in os.fsencode(directory).split(b"/")) + "/?format=tar")
    assert response.get("Content-Disposition") == "attachment; " + field
    with tarfile.open(fileobj=io.BytesIO(response.body)) as archive:
        assert [os.fsencode(one)
                for one in archive.getnames()] == [os.fsencode(name),
                                                   os.fsencode(name) + b"/file"]


def raw_quote(part):
    return "".join(f"%{byte:02X}" for byte in part)


def test_archive_contains_only_served_files(root, serve):
    write(root, "shown", b"x")
    write(root, ".git/key", b"x")
    write(root, "sub/.hidden", b"x")
    write(root, "sub/index.html", b"x")
    os.symlink("/etc", os.path.join(root, "outside"))
    os.symlink("../secret.txt", os.path.join(root, "secret"))
    os.symlink("shown", os.path.join(root, "link"))
    os.symlink("..", os.path.join(root, "sub/up"))
    os.mkfifo(os.path.join(root, "fifo"))
    names = names_of(serve("--listing", "--archive").request("/?format=tar"))
    assert names == [
        "files", "files/sub", "files/sub/up", "files/sub/index.html", "files/link", "files/shown"
    ]
    assert "files/.git/key" in names_of(
        serve("--listing", "--archive", "--hidden").request("/?format=tar"))


def names_of(response):
    with tarfile.open(fileobj=io.BytesIO(response.body)) as archive:
        return archive.getnames()


def test_archive_is_disabled_by_default(root, serve):
    write(root, "file", b"x")
    server = serve("--listing")
    assert server.request("/?format=tar").status == 403
    assert server.request("/",
                          "Accept: application/x-tar").get("Content-Type").startswith("text/html")
    assert b"tar" not in server.request("/").body
    assert serve("--listing", "--archive").request("/missing/?format=tar").status == 404


def test_archive_limits(root, serve):
    for number in range(5):
        write(root, f"sub/{number}", bytes(100))
    server = serve("--listing", "--archive", "--archive-entries", "6", "--archive-size", "500")
    assert server.request("/?format=tar").status == 200
    write(root, "sub/5", b"x")
    response = server.request("/?format=tar")
    assert response.status == 403 and b"too large for an archive" in response.body
    assert server.request("/sub/?format=tar").status == 403
    os.remove(os.path.join(root, "sub/4"))
    write(root, "sub/3", bytes(200))
    assert server.request("/?format=tar").status == 403


def test_archive_too_large_gets_error_page(root, serve):
    write(root, "403.html", b"<no>")
    server = serve("--listing", "--archive", "--archive-entries", "1", "--error-pages",
                   "4xx=/403.html")
    write(root, "one", b"x")
    for _ in range(2):
        response = server.request("/?format=tar")
        assert (response.status, response.body,
                response.get("Content-Disposition")) == (403, b"<no>", None)


@pytest.mark.http1
def test_archive_of_file_above_8_gib(root, serve):
    with open(os.path.join(root, "large"), "wb") as file:
        file.truncate(9 << 30)
    server = serve("--listing", "--archive")
    with server.connect() as connection:
        connection.send(raw.request("GET", "/?format=tar", version="HTTP/1.0"))
        connection.head()
        beginning = connection.receive_exactly(10 * KIB)
        with tarfile.open(fileobj=io.BytesIO(beginning), mode="r|") as archive:
            assert archive.next().name == "files"
            member = archive.next()
            assert (member.name, member.size) == ("files/large", 9 << 30)
        connection.reset()


def resident(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * KIB


@pytest.mark.http1
def test_archive_without_reader_takes_little_memory(root, serve):
    with open(os.path.join(root, "large"), "wb") as file:
        file.truncate(100 * MIB)
    server = serve("--listing", "--archive")
    server.request("/?format=json")
    before = resident(server)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/?format=tar", version="HTTP/1.0"))
        connection.head()
        for _ in range(200):
            assert server.request("/?format=json").status == 200
        # Of 100 MiB. Sanitizers keep some of the freed memory.
        assert resident(server) - before < 24 * MIB
        body = connection.rest()
    assert len(body) == 100 * MIB + 4 * 512


def test_archive_with_truncated_file_closes_connection(root, serve):
    """The header of the file contains its size. Padding the data would store a wrong file, so the
    archive ends."""
    path = os.path.join(root, "large")
    with open(path, "wb") as file:
        file.truncate(64 * MIB)
    server = serve("--listing", "--archive")
    with server.connect() as connection:
        connection.send(raw.request("GET", "/?format=tar"))
        connection.head()
        os.truncate(path, MIB)
        with pytest.raises((AssertionError, ConnectionError)):  # no last chunk
            connection.chunked_body()
    eventually(lambda: "UVHTTP_ELENGTH" in server.log(), "an error in the log")
    assert server.request("/?format=tar").status == 200


def test_archive_client_disconnects(tree, serve):
    server = serve("--listing", "--archive")
    for read in (0, 1000, 300_000):
        with server.connect(receive_buffer=4096) as connection:
            connection.send(raw.request("GET", "/?format=tar"))
            while read > 0:
                read -= len(connection.receive())
            connection.reset()
    assert server.request("/?format=tar").status == 200
