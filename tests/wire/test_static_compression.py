"""Files with content codings: precompressed siblings on disk, and compression on the fly. RFC 9110
sections 8.4, 8.8, 12.5.3."""

import gzip
import os
import re
import subprocess
import threading

import httpx
import pytest

from static_server import KIB, MIB, replace, root, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually

TEXT = b"The same line again and again, as in many a log.\n" * 400


def noise(size):
    return os.urandom(size)


def unbrotli(body):
    return node("brotliDecompressSync", body)


def unzstd(body):
    return subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True).stdout


def node(function, body):
    script = f"process.stdout.write(require('zlib').{function}(require('fs').readFileSync(0)))"
    return subprocess.run(["node", "-e", script], input=body, capture_output=True,
                          check=True).stdout


UNPACK = {"gzip": gzip.decompress, "br": unbrotli, "zstd": unzstd, None: bytes}
SUFFIX = {"gzip": ".gz", "br": ".br", "zstd": ".zst"}


def sibling(root, name, coding, content, newer=1):
    path = write(root, name + SUFFIX[coding], content)
    source = os.stat(os.path.join(root, name)).st_mtime_ns
    os.utime(path, ns=(source + newer, source + newer))
    return path


def fetch(server, name, accept=None, *fields, **options):
    return server.request(name, *([f"Accept-Encoding: {accept}"] if accept is not None else []),
                          *fields, **options)


# Siblings


def test_sibling_follows_accept_encoding(root, serve):
    write(root, "a.txt", TEXT)
    for coding in SUFFIX:
        sibling(root, "a.txt", coding, b"coded by " + coding.encode())
    server = serve("--precompressed")
    for accept, wanted in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd"),
                           ("gzip, deflate, br, zstd", "br"), ("gzip, zstd", "zstd"),
                           ("gzip;q=1, br;q=0.5", "gzip"), ("*", "br"), ("br;q=0, *", "zstd"),
                           ("x-gzip", "gzip"), ("", None), ("deflate", None), ("identity", None),
                           ("identity;q=1, gzip;q=0.5", None), ("GZIP", "gzip"), (None, None),
                           ("gzip;q=0", None)]:
        response = fetch(server, "/a.txt", accept)
        assert response.status == 200 and response.get("Content-Encoding") == wanted, accept
        assert response.body == (TEXT if wanted is None else b"coded by " + wanted.encode())
        assert response.get("Vary") == "Accept-Encoding"
        assert response.get("Content-Type") == "text/plain; charset=utf-8"


def test_accept_encoding_on_two_lines(root, serve):
    write(root, "a.txt", TEXT)
    sibling(root, "a.txt", "gzip", b"coded")
    assert fetch(serve("--precompressed"), "/a.txt", "identity",
                 "Accept-Encoding: br").get("Content-Encoding") is None
    assert fetch(serve("--precompressed"), "/a.txt", "br",
                 "Accept-Encoding: gzip").get("Content-Encoding") == "gzip"


def test_siblings_are_ignored_by_default(root, serve):
    write(root, "a.txt", TEXT)
    sibling(root, "a.txt", "gzip", b"coded")
    response = fetch(serve(), "/a.txt", "gzip")
    assert response.body == TEXT and response.get("Vary") is None


def test_sibling_has_its_own_validators_and_ranges(root, serve):
    write(root, "a.txt", TEXT)
    sibling(root, "a.txt", "gzip", b"0123456789")
    server = serve("--precompressed")
    plain, coded = fetch(server, "/a.txt"), fetch(server, "/a.txt", "gzip")
    assert plain.get("ETag") != coded.get("ETag") and not coded.get("ETag").startswith("W/")
    again = fetch(server, "/a.txt", "gzip", f"If-None-Match: {coded.get('ETag')}")
    assert again.status == 304 and again.get("Vary") == "Accept-Encoding"
    assert fetch(server, "/a.txt", "gzip", f"If-None-Match: {plain.get('ETag')}").status == 200
    part = fetch(server, "/a.txt", "gzip", "Range: bytes=2-4", f"If-Range: {coded.get('ETag')}")
    assert (part.status, part.body, part.get("Content-Range")) == (206, b"234", "bytes 2-4/10")
    assert part.get("Content-Encoding") == "gzip"
    assert fetch(server, "/a.txt", "gzip", "Range: bytes=2-4",
                 f"If-Range: {plain.get('ETag')}").body == b"0123456789"
    head = fetch(server, "/a.txt", "gzip", method="HEAD")
    assert head.get("Content-Length") == "10" and head.get("Content-Encoding") == "gzip"


def test_outdated_sibling_is_ignored(root, serve):
    write(root, "a.txt", TEXT)
    sibling(root, "a.txt", "gzip", b"stale", newer=-1)
    sibling(root, "a.txt", "br", b"fresh", newer=0)
    server = serve("--precompressed")
    assert fetch(server, "/a.txt", "gzip").body == TEXT
    assert fetch(server, "/a.txt", "gzip, br").body == b"fresh"


def test_created_and_deleted_siblings(root, serve):
    write(root, "a.txt", TEXT)
    server = serve("--precompressed", "--revalidate-ms", "1")
    for body in (b"one", b"another"):
        assert fetch(server, "/a.txt", "gzip").body == TEXT
        path = sibling(root, "a.txt", "gzip", body)
        eventually(lambda: fetch(server, "/a.txt", "gzip").body == body, "the sibling is detected")
        os.remove(path)
        eventually(lambda: fetch(server, "/a.txt", "gzip").body == TEXT, "the deletion is detected")
    sibling(root, "a.txt", "gzip", b"old")
    eventually(lambda: fetch(server, "/a.txt", "gzip").body == b"old", "the sibling is detected")
    replace(root, "a.txt", TEXT + b"changed")
    os.utime(os.path.join(root, "a.txt"))
    eventually(lambda: fetch(server, "/a.txt", "gzip").body == TEXT + b"changed",
               "the source is newer")


def test_siblings_of_index_and_large_files(root, serve):
    write(root, "index.html", TEXT)
    coded = noise(1 * MIB)
    sibling(root, "index.html", "br", coded)
    server = serve("--precompressed")
    for _ in range(2):
        response = fetch(server, "/", "br")
        assert response.body == coded and response.get("Content-Type") == "text/html; charset=utf-8"
    assert fetch(server, "/").body == TEXT


def test_sibling_outside_root_or_not_a_file_is_ignored(root, serve):
    write(root, "a.txt", TEXT)
    os.symlink("../secret.txt", os.path.join(root, "a.txt.gz"))
    os.mkdir(os.path.join(root, "a.txt.br"))
    os.mkfifo(os.path.join(root, "a.txt.zst"))
    server = serve("--precompressed")
    assert fetch(server, "/a.txt", "gzip, br, zstd").body == TEXT
    assert fetch(server, "/a.txt", "gzip, br, zstd").get("Content-Encoding") is None


def test_pitfall_gzip_follows_accept_encoding(root, serve):
    """Guards against gzip that ignores Accept-Encoding, sends no Vary, and is a zlib stream."""
    write(root, "a.txt", TEXT)
    server = serve("--compress")
    plain, coded = fetch(server, "/a.txt"), fetch(server, "/a.txt", "gzip")
    assert plain.body == TEXT and plain.get("Content-Encoding") is None
    assert coded.get("Content-Encoding") == "gzip" and coded.body[:3] == b"\x1f\x8b\x08"
    assert plain.get("Vary") == coded.get("Vary") == "Accept-Encoding"


# On the fly


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("size", [2 * KIB, 100 * KIB, 2 * MIB])
def test_compressed_body_decompresses_to_file(root, serve, coding, size):
    content = (b"%d: a line of text with some content\n" * 3) % (1, 2, 3)
    content = (content * (size // len(content) + 1))[:size]
    write(root, "a.js", content)
    server = serve("--compress")
    first, second = fetch(server, "/a.js", coding), fetch(server, "/a.js", coding)
    assert first.body == second.body and len(first.body) < size / 2
    assert UNPACK[coding](first.body) == content
    assert first.get("ETag") == second.get("ETag") and first.get("ETag").startswith('W/"')
    assert first.get("ETag").endswith(f'-{coding}"')
    assert first.get("Accept-Ranges") is None
    again = fetch(server, "/a.js", coding, f"If-None-Match: {first.get('ETag')}")
    assert again.status == 304 and again.get("ETag") == first.get("ETag")
    head = fetch(server, "/a.js", coding, method="HEAD")
    assert head.get("Content-Length") == str(len(first.body))


def test_range_response_is_not_compressed(root, serve):
    write(root, "a.js", TEXT)
    server = serve("--compress")
    for _ in range(2):
        part = fetch(server, "/a.js", "gzip", "Range: bytes=1-3")
        assert (part.status, part.body, part.get("Content-Encoding")) == (206, TEXT[1:4], None)
        assert part.get("Vary") == "Accept-Encoding"
        fetch(server, "/a.js", "gzip")


IGNORED = [("HEAD", "Range: bytes=0-1"), ("GET", "Range: items=0-1"), ("GET", "Range: bytes=1-0"),
           ("GET", "Range: bytes=x"), ("GET", "Range: " + "bytes=" + ",".join(["0-1"] * 65))]


@pytest.mark.parametrize("flags",
                         [["--compress"], ["--precompressed"], ["--compress", "--precompressed"]])
def test_ignored_range_keeps_compression(root, serve, flags):
    """RFC 9110 sections 14.2 and 13.1.5."""
    write(root, "a.js", TEXT)
    sibling(root, "a.js", "gzip", b"0123456789")
    server = serve(*flags)
    plain, coded = fetch(server, "/a.js"), fetch(server, "/a.js", "gzip")
    assert coded.get("Content-Encoding") == "gzip"
    for method, *fields in IGNORED + [
        ("GET", "Range: bytes=0-1", 'If-Range: "other"'),
        ("GET", "Range: bytes=0-1", "If-Range: Mon, 01 Jan 2001 00:00:00 GMT")
    ]:
        response = fetch(server, "/a.js", "gzip", *fields, method=method)
        assert response.status == 200 and response.get("Content-Encoding") == "gzip", fields
        assert response.get("ETag") == coded.get("ETag") and response.body == (
            b"" if method == "HEAD" else coded.body)
    # The tag of the uncompressed file matches no range of a sibling. Without a sibling, the range
    # applies to the file.
    part = fetch(server, "/a.js", "gzip", "Range: bytes=0-1", f"If-Range: {plain.get('ETag')}")
    assert (part.status, part.body) == ((206, TEXT[:2]) if flags == ["--compress"] else
                                        (200, coded.body))
    # The compressed body has a weak tag, which matches no If-Range, and no ranges.
    made = fetch(server, "/a.js", "br", "Range: bytes=0-1", 'If-Range: "other"')
    assert made.status == 200 and made.get("Content-Encoding") == ("br" if "--compress" in flags
                                                                   else None)


def test_files_that_are_not_compressed(root, serve):
    write(root, "small.txt", TEXT[:1023])
    write(root, "least.txt", TEXT[:1024])
    write(root, "large.txt", TEXT[:5000])
    write(root, "picture.png", TEXT)
    write(root, "noise.txt", noise(20 * KIB))
    server = serve("--compress", "--compress-max-size", "4999")
    for name in ("small.txt", "large.txt", "picture.png"):
        response = fetch(server, f"/{name}", "gzip")
        assert response.get("Content-Encoding") is None and response.get("Vary") is None, name
    assert fetch(server, "/least.txt", "gzip").get("Content-Encoding") == "gzip"
    server = serve("--compress", "--compress-min-size", "1025")
    assert fetch(server, "/least.txt", "gzip").get("Content-Encoding") is None
    for _ in range(2):
        assert fetch(server, "/noise.txt", "gzip").get("Content-Encoding") is None


def test_no_transform_disables_compression(root, serve):
    """RFC 9111 section 5.2.2.6. The last rule that matches applies."""
    for name in ("a.html", "own.html", "a.css", "packed.html"):
        write(root, name, TEXT)
    sibling(root, "packed.html", "gzip", b"coded")
    server = serve("--compress", "--precompressed", "--cache-control",
                   "*.html=max-age=5, No-Transform", "--cache-control", "own.html=max-age=6",
                   "--cache-control", "*.css=x-no-transform")
    for _ in range(2):
        kept = fetch(server, "/a.html", "gzip")
        assert (kept.get("Content-Encoding"), kept.get("Vary"), kept.body) == (None, None, TEXT)
        assert kept.get(
            "Cache-Control") == "max-age=5, No-Transform" and not kept.get("ETag").startswith("W/")
        assert fetch(server, "/own.html", "gzip").get("Content-Encoding") == "gzip"
        assert fetch(server, "/a.css", "gzip").get("Content-Encoding") == "gzip"
        assert fetch(server, "/packed.html", "gzip").body == b"coded"
        assert fetch(server, "/packed.html", "br").body == TEXT


def test_compression_levels(root, serve):
    words = [
        b"static", b"files", b"served", b"compressed", b"cached", b"with", b"validators", b"and",
        b"ranges", b"\n"
    ]
    content = b" ".join(words[(i * i // 7 + i % 13) % len(words)] for i in range(20000))
    write(root, "a.txt", content)
    for coding, flag, most in (("gzip", "--gzip-level", 9), ("br", "--brotli-level", 11),
                               ("zstd", "--zstd-level", 19)):
        sizes = [
            len(fetch(serve("--compress", flag, str(level)), "/a.txt", coding).body)
            for level in (1, most)
        ]
        assert sizes[1] < sizes[0], coding


def test_siblings_have_precedence_over_compression(root, serve):
    write(root, "a.txt", TEXT)
    sibling(root, "a.txt", "gzip", gzip.compress(TEXT + b"from the disk", 9))
    server = serve("--compress", "--precompressed")
    assert gzip.decompress(fetch(server, "/a.txt", "gzip").body).endswith(b"from the disk")
    assert unbrotli(fetch(server, "/a.txt", "br").body) == TEXT


def test_changed_file_is_compressed_again(root, serve):
    write(root, "a.txt", TEXT)
    server = serve("--compress", "--revalidate-ms", "1")
    assert gzip.decompress(fetch(server, "/a.txt", "gzip").body) == TEXT
    replace(root, "a.txt", TEXT + b"more")
    eventually(lambda: gzip.decompress(fetch(server, "/a.txt", "gzip").body) == TEXT + b"more",
               "the change is detected")


def test_concurrent_compression(root, serve):
    """No client waits for the compression of another one's response. All get the right body."""
    content = TEXT * 50
    write(root, "a.txt", content)
    server = serve("--compress", "--revalidate-ms", "1")
    bodies = []

    def read():
        with server.connect() as connection:
            for _ in range(50):
                response = connection.request("GET", "/a.txt", "Accept-Encoding: gzip")
                bodies.append((response.get("Content-Encoding"), response.body))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        os.utime(os.path.join(root, "a.txt"))
    for reader in readers:
        reader.join()
    assert len(bodies) == 400
    assert {UNPACK[coding](body) for coding, body in set(bodies)} == {content}


def test_disconnect_during_compression(root, serve):
    write(root, "a.txt", b"".join(b"%d\n" % (i * 7919) for i in range(500000)))
    server = serve("--compress", "--compress-max-size", "1G", "--brotli-level", "9")
    with server.connect() as connection:
        connection.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\n\r\n")
    assert fetch(server, "/a.txt").status == 200


def test_cache_too_small_for_compressed_bodies(root, serve):
    write(root, "a.txt", TEXT)
    server = serve("--compress", "--cache-memory", str(len(TEXT)), "--memory-file-size", "1M")
    for _ in range(3):
        assert gzip.decompress(fetch(server, "/a.txt", "gzip").body) == TEXT


def test_clients_decompress_the_body(root, serve):
    write(root, "a.txt", TEXT)
    server = serve("--compress")
    assert httpx.get(f"{server.url}a.txt").content == TEXT
    for accept in ("gzip", "br", "gzip, deflate, br"):
        got = subprocess.run([
            "curl", "-sS", "--compressed", "-H", f"Accept-Encoding: {accept}", f"{server.url}a.txt"
        ], capture_output=True, check=True).stdout
        assert got == TEXT
    script = f"fetch('{server.url}a.txt').then(r => r.text()).then(t => process.stdout.write(t))"
    assert subprocess.run(["node", "-e", script], capture_output=True, check=True).stdout == TEXT


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("count", [50, 3000])
def test_listing_is_compressed(root, serve, coding, count):
    """A long listing is compressed slice by slice."""
    for number in range(count):
        write(root, f"file with a rather long name, number {number:04}")
    server = serve("--listing", "--compress")
    for kind in ("html", "json", "text"):
        plain = server.request(f"/?format={kind}")
        assert plain.get("Content-Encoding") is None
        packed = server.request(f"/?format={kind}", f"Accept-Encoding: {coding}")
        assert packed.get("Content-Encoding") == coding
        assert packed.all("Vary") == plain.all("Vary") == ["Accept", "Accept-Encoding"]
        assert len(packed.body) < len(plain.body) / 4
        unpacked, expected = (re.sub(rb'nonce="\w+"', b"", body)
                              for body in (UNPACK[coding](packed.body), plain.body))
        assert unpacked == expected
    head = server.request("/?format=json", f"Accept-Encoding: {coding}", method="HEAD")
    assert (head.get("Content-Encoding"), head.body) == (coding, b"")


def test_small_listing_is_not_compressed(root, serve):
    write(root, "file")
    packed = serve("--listing", "--compress").request("/?format=json", "Accept-Encoding: gzip")
    assert packed.get("Content-Encoding") is None and b"file" in packed.body
    packed = serve("--listing").request("/", "Accept-Encoding: gzip")
    assert packed.get("Content-Encoding") is None and packed.get("Vary") == "Accept"
