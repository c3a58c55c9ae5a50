"""Files with content codings: precompressed siblings on disk, and compression on the fly. RFC 9110
sections 8.4, 8.8, 12.5.3."""

import gzip
import os
import subprocess
import threading

import httpx
import pytest

from static_server import KIB, MIB, place, replace, serve, write  # noqa: F401 (fixtures)
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


def ask(server, name, accept=None, *fields, **how):
    return server.ask(name, *([f"Accept-Encoding: {accept}"] if accept is not None else []),
                      *fields, **how)


# Siblings


def test_sibling_follows_accept_encoding(place, serve):
    write(place, "a.txt", TEXT)
    for coding in SUFFIX:
        sibling(place, "a.txt", coding, b"coded by " + coding.encode())
    server = serve("--precompressed")
    for accept, wanted in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd"),
                           ("gzip, deflate, br, zstd", "br"), ("gzip, zstd", "zstd"),
                           ("gzip;q=1, br;q=0.5", "gzip"), ("*", "br"), ("br;q=0, *", "zstd"),
                           ("x-gzip", "gzip"), ("", None), ("deflate", None), ("identity", None),
                           ("identity;q=1, gzip;q=0.5", None), ("GZIP", "gzip"), (None, None),
                           ("gzip;q=0", None)]:
        response = ask(server, "/a.txt", accept)
        assert response.status == 200 and response.get("Content-Encoding") == wanted, accept
        assert response.body == (TEXT if wanted is None else b"coded by " + wanted.encode())
        assert response.get("Vary") == "Accept-Encoding"
        assert response.get("Content-Type") == "text/plain; charset=utf-8"


def test_accept_encoding_on_two_lines(place, serve):
    write(place, "a.txt", TEXT)
    sibling(place, "a.txt", "gzip", b"coded")
    assert ask(serve("--precompressed"), "/a.txt", "identity",
               "Accept-Encoding: br").get("Content-Encoding") is None
    assert ask(serve("--precompressed"), "/a.txt", "br",
               "Accept-Encoding: gzip").get("Content-Encoding") == "gzip"


def test_siblings_are_ignored_by_default(place, serve):
    write(place, "a.txt", TEXT)
    sibling(place, "a.txt", "gzip", b"coded")
    response = ask(serve(), "/a.txt", "gzip")
    assert response.body == TEXT and response.get("Vary") is None


def test_sibling_has_its_own_validators_and_ranges(place, serve):
    write(place, "a.txt", TEXT)
    sibling(place, "a.txt", "gzip", b"0123456789")
    server = serve("--precompressed")
    plain, coded = ask(server, "/a.txt"), ask(server, "/a.txt", "gzip")
    assert plain.get("ETag") != coded.get("ETag") and not coded.get("ETag").startswith("W/")
    again = ask(server, "/a.txt", "gzip", f"If-None-Match: {coded.get('ETag')}")
    assert again.status == 304 and again.get("Vary") == "Accept-Encoding"
    assert ask(server, "/a.txt", "gzip", f"If-None-Match: {plain.get('ETag')}").status == 200
    part = ask(server, "/a.txt", "gzip", "Range: bytes=2-4", f"If-Range: {coded.get('ETag')}")
    assert (part.status, part.body, part.get("Content-Range")) == (206, b"234", "bytes 2-4/10")
    assert part.get("Content-Encoding") == "gzip"
    assert ask(server, "/a.txt", "gzip", "Range: bytes=2-4",
               f"If-Range: {plain.get('ETag')}").body == b"0123456789"
    head = ask(server, "/a.txt", "gzip", method="HEAD")
    assert head.get("Content-Length") == "10" and head.get("Content-Encoding") == "gzip"


def test_outdated_sibling_is_ignored(place, serve):
    write(place, "a.txt", TEXT)
    sibling(place, "a.txt", "gzip", b"stale", newer=-1)
    sibling(place, "a.txt", "br", b"fresh", newer=0)
    server = serve("--precompressed")
    assert ask(server, "/a.txt", "gzip").body == TEXT
    assert ask(server, "/a.txt", "gzip, br").body == b"fresh"


def test_created_and_deleted_siblings(place, serve):
    write(place, "a.txt", TEXT)
    server = serve("--precompressed", "--revalidate-ms", "1")
    for body in (b"one", b"another"):
        assert ask(server, "/a.txt", "gzip").body == TEXT
        path = sibling(place, "a.txt", "gzip", body)
        eventually(lambda: ask(server, "/a.txt", "gzip").body == body, "the sibling is detected")
        os.remove(path)
        eventually(lambda: ask(server, "/a.txt", "gzip").body == TEXT,
                   "the deletion is detected")
    sibling(place, "a.txt", "gzip", b"old")
    eventually(lambda: ask(server, "/a.txt", "gzip").body == b"old", "the sibling is detected")
    replace(place, "a.txt", TEXT + b"changed")
    os.utime(os.path.join(place, "a.txt"))
    eventually(lambda: ask(server, "/a.txt", "gzip").body == TEXT + b"changed",
               "the source is newer")


def test_siblings_of_index_and_large_files(place, serve):
    write(place, "index.html", TEXT)
    coded = noise(1 * MIB)
    sibling(place, "index.html", "br", coded)
    server = serve("--precompressed")
    for _ in range(2):
        response = ask(server, "/", "br")
        assert response.body == coded and response.get("Content-Type") == "text/html; charset=utf-8"
    assert ask(server, "/").body == TEXT


def test_sibling_outside_root_or_not_a_file_is_ignored(place, serve):
    write(place, "a.txt", TEXT)
    os.symlink("../secret.txt", os.path.join(place, "a.txt.gz"))
    os.mkdir(os.path.join(place, "a.txt.br"))
    os.mkfifo(os.path.join(place, "a.txt.zst"))
    server = serve("--precompressed")
    assert ask(server, "/a.txt", "gzip, br, zstd").body == TEXT
    assert ask(server, "/a.txt", "gzip, br, zstd").get("Content-Encoding") is None


def test_pitfall_gzip_follows_accept_encoding(place, serve):
    """Guards against gzip that ignores Accept-Encoding, sends no Vary, and is a zlib stream."""
    write(place, "a.txt", TEXT)
    server = serve("--compress")
    plain, coded = ask(server, "/a.txt"), ask(server, "/a.txt", "gzip")
    assert plain.body == TEXT and plain.get("Content-Encoding") is None
    assert coded.get("Content-Encoding") == "gzip" and coded.body[:3] == b"\x1f\x8b\x08"
    assert plain.get("Vary") == coded.get("Vary") == "Accept-Encoding"


# On the fly


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("size", [2 * KIB, 100 * KIB, 2 * MIB])
def test_compressed_body_decompresses_to_file(place, serve, coding, size):
    content = (b"%d: a line of text with some content\n" * 3) % (1, 2, 3)
    content = (content * (size // len(content) + 1))[:size]
    write(place, "a.js", content)
    server = serve("--compress")
    first, second = ask(server, "/a.js", coding), ask(server, "/a.js", coding)
    assert first.body == second.body and len(first.body) < size / 2
    assert UNPACK[coding](first.body) == content
    assert first.get("ETag") == second.get("ETag") and first.get("ETag").startswith('W/"')
    assert first.get("ETag").endswith(f'-{coding}"')
    assert first.get("Accept-Ranges") is None
    again = ask(server, "/a.js", coding, f"If-None-Match: {first.get('ETag')}")
    assert again.status == 304 and again.get("ETag") == first.get("ETag")
    head = ask(server, "/a.js", coding, method="HEAD")
    assert head.get("Content-Length") == str(len(first.body))


def test_range_response_is_not_compressed(place, serve):
    write(place, "a.js", TEXT)
    server = serve("--compress")
    for _ in range(2):
        part = ask(server, "/a.js", "gzip", "Range: bytes=1-3")
        assert (part.status, part.body, part.get("Content-Encoding")) == (206, TEXT[1:4], None)
        assert part.get("Vary") == "Accept-Encoding"
        ask(server, "/a.js", "gzip")


IGNORED = [("HEAD", "Range: bytes=0-1"), ("GET", "Range: items=0-1"), ("GET", "Range: bytes=1-0"),
           ("GET", "Range: bytes=x"), ("GET", "Range: " + "bytes=" + ",".join(["0-1"] * 65))]


@pytest.mark.parametrize("flags",
                         [["--compress"], ["--precompressed"], ["--compress", "--precompressed"]])
def test_ignored_range_keeps_compression(place, serve, flags):
    """RFC 9110 sections 14.2 and 13.1.5."""
    write(place, "a.js", TEXT)
    sibling(place, "a.js", "gzip", b"0123456789")
    server = serve(*flags)
    plain, coded = ask(server, "/a.js"), ask(server, "/a.js", "gzip")
    assert coded.get("Content-Encoding") == "gzip"
    for method, *fields in IGNORED + [
        ("GET", "Range: bytes=0-1", 'If-Range: "other"'),
        ("GET", "Range: bytes=0-1", "If-Range: Mon, 01 Jan 2001 00:00:00 GMT")
    ]:
        response = ask(server, "/a.js", "gzip", *fields, method=method)
        assert response.status == 200 and response.get("Content-Encoding") == "gzip", fields
        assert response.get("ETag") == coded.get("ETag") and response.body == (
            b"" if method == "HEAD" else coded.body)
    # The tag of the uncompressed file matches no range of a sibling. Without a sibling, the range
    # applies to the file.
    part = ask(server, "/a.js", "gzip", "Range: bytes=0-1", f"If-Range: {plain.get('ETag')}")
    assert (part.status, part.body) == ((206, TEXT[:2]) if flags == ["--compress"] else
                                        (200, coded.body))
    # The compressed body has a weak tag, which matches no If-Range, and no ranges.
    made = ask(server, "/a.js", "br", "Range: bytes=0-1", 'If-Range: "other"')
    assert made.status == 200 and made.get("Content-Encoding") == ("br" if "--compress" in flags
                                                                   else None)


def test_files_that_are_not_compressed(place, serve):
    write(place, "small.txt", TEXT[:1023])
    write(place, "least.txt", TEXT[:1024])
    write(place, "large.txt", TEXT[:5000])
    write(place, "picture.png", TEXT)
    write(place, "noise.txt", noise(20 * KIB))
    server = serve("--compress", "--compress-max-size", "4999")
    for name in ("small.txt", "large.txt", "picture.png"):
        response = ask(server, f"/{name}", "gzip")
        assert response.get("Content-Encoding") is None and response.get("Vary") is None, name
    assert ask(server, "/least.txt", "gzip").get("Content-Encoding") == "gzip"
    server = serve("--compress", "--compress-min-size", "1025")
    assert ask(server, "/least.txt", "gzip").get("Content-Encoding") is None
    for _ in range(2):
        assert ask(server, "/noise.txt", "gzip").get("Content-Encoding") is None


def test_no_transform_disables_compression(place, serve):
    """RFC 9111 section 5.2.2.6. The last rule that matches applies."""
    for name in ("a.html", "own.html", "a.css", "packed.html"):
        write(place, name, TEXT)
    sibling(place, "packed.html", "gzip", b"coded")
    server = serve("--compress", "--precompressed", "--cache-control",
                   "*.html=max-age=5, No-Transform", "--cache-control", "own.html=max-age=6",
                   "--cache-control", "*.css=x-no-transform")
    for _ in range(2):
        kept = ask(server, "/a.html", "gzip")
        assert (kept.get("Content-Encoding"), kept.get("Vary"), kept.body) == (None, None, TEXT)
        assert kept.get(
            "Cache-Control") == "max-age=5, No-Transform" and not kept.get("ETag").startswith("W/")
        assert ask(server, "/own.html", "gzip").get("Content-Encoding") == "gzip"
        assert ask(server, "/a.css", "gzip").get("Content-Encoding") == "gzip"
        assert ask(server, "/packed.html", "gzip").body == b"coded"
        assert ask(server, "/packed.html", "br").body == TEXT


def test_compression_levels(place, serve):
    words = [
        b"static", b"files", b"served", b"compressed", b"cached", b"with", b"validators", b"and",
        b"ranges", b"\n"
    ]
    content = b" ".join(words[(i * i // 7 + i % 13) % len(words)] for i in range(20000))
    write(place, "a.txt", content)
    for coding, flag, most in (("gzip", "--gzip-level", 9), ("br", "--brotli-level", 11),
                               ("zstd", "--zstd-level", 19)):
        sizes = [
            len(ask(serve("--compress", flag, str(level)), "/a.txt", coding).body)
            for level in (1, most)
        ]
        assert sizes[1] < sizes[0], coding


def test_siblings_have_precedence_over_compression(place, serve):
    write(place, "a.txt", TEXT)
    sibling(place, "a.txt", "gzip", gzip.compress(TEXT + b"from the disk", 9))
    server = serve("--compress", "--precompressed")
    assert gzip.decompress(ask(server, "/a.txt", "gzip").body).endswith(b"from the disk")
    assert unbrotli(ask(server, "/a.txt", "br").body) == TEXT


def test_changed_file_is_compressed_again(place, serve):
    write(place, "a.txt", TEXT)
    server = serve("--compress", "--revalidate-ms", "1")
    assert gzip.decompress(ask(server, "/a.txt", "gzip").body) == TEXT
    replace(place, "a.txt", TEXT + b"more")
    eventually(lambda: gzip.decompress(ask(server, "/a.txt", "gzip").body) == TEXT + b"more",
               "the change is detected")


def test_concurrent_compression(place, serve):
    """No client waits for the compression of another one's response. All get the right body."""
    content = TEXT * 50
    write(place, "a.txt", content)
    server = serve("--compress", "--revalidate-ms", "1")
    bodies = []

    def read():
        with server.connect() as connection:
            for _ in range(50):
                response = connection.ask("GET", "/a.txt", "Accept-Encoding: gzip")
                bodies.append((response.get("Content-Encoding"), response.body))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        os.utime(os.path.join(place, "a.txt"))
    for reader in readers:
        reader.join()
    assert len(bodies) == 400
    assert {UNPACK[coding](body) for coding, body in set(bodies)} == {content}


def test_disconnect_during_compression(place, serve):
    write(place, "a.txt", b"".join(b"%d\n" % (i * 7919) for i in range(500000)))
    server = serve("--compress", "--compress-max-size", "1G", "--brotli-level", "9")
    with server.connect() as connection:
        connection.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\n\r\n")
    assert ask(server, "/a.txt").status == 200


def test_cache_too_small_for_compressed_bodies(place, serve):
    write(place, "a.txt", TEXT)
    server = serve("--compress", "--cache-memory", str(len(TEXT)), "--memory-file-size", "1M")
    for _ in range(3):
        assert gzip.decompress(ask(server, "/a.txt", "gzip").body) == TEXT


def test_clients_decompress_the_body(place, serve):
    write(place, "a.txt", TEXT)
    server = serve("--compress")
    assert httpx.get(f"{server.url}a.txt").content == TEXT
    for accept in ("gzip", "br", "gzip, deflate, br"):
        got = subprocess.run([
            "curl", "-sS", "--compressed", "-H", f"Accept-Encoding: {accept}", f"{server.url}a.txt"
        ], capture_output=True, check=True).stdout
        assert got == TEXT
    script = f"fetch('{server.url}a.txt').then(r => r.text()).then(t => process.stdout.write(t))"
    assert subprocess.run(["node", "-e", script], capture_output=True, check=True).stdout == TEXT
