"""Several ranges in one request (RFC 9110 sections 14.2, 14.6 and 15.3.7.2), and conditions on
several field lines."""

import asyncio
import os
import subprocess

import aiohttp
import pytest

import byte_ranges
import raw
from static_server import KIB, MIB, root, serve, write  # noqa: F401 (fixtures)

SMALL, LARGE = 10 * KIB, 1 * MIB + 3  # in cache memory, and as a descriptor


def parts_of(response, size):
    """[(first, last)] after a check of every byte."""
    # RFC 9110 15.3.7.2: only in the parts
    assert response.status == 206 and response.get("Content-Range") is None
    found = []
    for first, last, complete, kind, content in byte_ranges.parse(response.get("Content-Type"),
                                                                  response.body):
        assert (complete, kind) == (size, "text/plain; charset=utf-8")
        assert content == raw.pattern(last - first + 1, first)
        found.append((first, last))
    return found


@pytest.fixture
def served(root, serve):
    write(root, "small.txt", raw.pattern(SMALL))
    write(root, "large.txt", raw.pattern(LARGE))
    return serve()


FILES = pytest.mark.parametrize("name, size", [("/small.txt", SMALL), ("/large.txt", LARGE)])


@FILES
def test_several_ranges_get_multipart(served, name, size):
    for ranges, expected in [
        ("0-0,-1", [(0, 0), (size - 1, size - 1)]),
            # in the order of the request
        ("5000-5999, 0-499,-300", [(5000, 5999), (0, 499), (size - 300, size - 1)]),
            # ranges beyond the end are omitted
        (f"0-9,{size}-,2000-2009,-0", [(0, 9), (2000, 2009)]),
        ("0-9,2000-2099,2100-2200,10-19", [(0, 19), (2000, 2200)]),
        (f"100-199,{size - 100}-{size + 100}", [(100, 199), (size - 100, size - 1)]),
        (",".join(f"{150 * i}-{150 * i}" for i in range(20)), [(150 * i, 150 * i)
                                                               for i in range(20)])
    ]:
        with served.connect() as connection:
            for _ in range(2):
                assert parts_of(connection.request("GET", name, f"Range: bytes={ranges}"),
                                size) == expected
            connection.assert_silent()


@FILES
def test_coalesced_single_range_is_not_multipart(served, name, size):
    for ranges, first, last in [("0-4,5-9", 0, 9), ("0-99,50-60", 0, 99), (f"7-8,{size}-", 7, 8),
                                ("100-100,0-20", 0, 100), ("0-,0-,0-,0-", 0, size - 1)]:
        response = served.request(name, f"Range: bytes={ranges}")
        assert (response.status, response.get("Content-Range")) == (206,
                                                                    f"bytes {first}-{last}/{size}")
        assert response.get("Content-Type") == "text/plain; charset=utf-8"
        assert response.body == raw.pattern(last - first + 1, first)


@FILES
def test_several_unsatisfiable_ranges_get_416(served, name, size):
    response = served.request(name, f"Range: bytes={size}-,{size + 5}-{size + 9},-0")
    assert (response.status, response.get("Content-Range")) == (416, f"bytes */{size}")


@FILES
def test_too_many_or_too_long_ranges_get_whole_file(served, name, size):
    """RFC 9110 17.15: many ranges cost the server no more than the whole file."""
    many = ",".join(f"{150 * i}-{150 * i}" for i in range(65))
    wide = ",".join(f"{500 * i}-{500 * i + 419}" for i in range(size // 500 + 1) if i < 64)
    for ranges in (many, wide) if size == SMALL else (many, ):
        response = served.request(name, f"Range: bytes={ranges}")
        assert (response.status, response.get("Content-Range")) == (200, None)
        assert response.body == raw.pattern(size)


def test_multipart_is_not_longer_than_file(root, serve):
    def fetch(size):
        write(root, f"{size}.txt", raw.pattern(size))
        return server.request(f"/{size}.txt", "Range: bytes=0-0,-1")

    server = serve()
    length = len(fetch(999).body)  # as long for every size of three digits
    assert parts_of(fetch(length), length) == [(0, 0), (length - 1, length - 1)]
    assert fetch(length - 1).status == fetch(82).status == 200
    assert fetch(81).get("Content-Range") == "bytes 0-80/81"  # near enough to be coalesced


def test_multipart_response_fields(served):
    """RFC 9110 15.3.7: the fields of a 200, except that the type belongs to the parts."""
    whole = {name: value for name, value in served.request("/large.txt").fields if name != "Date"}
    parts = {
        name: value
        for name, value in served.request("/large.txt", "Range: bytes=0-0,-1").fields
        if name != "Date"
    }
    for name in ("Content-Type", "Content-Length"):
        assert whole.pop(name) != parts.pop(name)
    assert parts == whole


def test_multipart_boundary_is_random(served):
    seen = {
        served.request("/large.txt", "Range: bytes=0-0,-1").get("Content-Type")
        for _ in range(20)
    }
    assert len(seen) == 20


def test_several_ranges_with_head_or_conditions(served):
    tag = served.request("/large.txt").get("ETag")
    several = "Range: bytes=0-0,-1"
    # RFC 9110 14.2: Range applies to GET only
    head = served.request("/large.txt", several, method="HEAD")
    assert (head.status, head.get("Content-Length")) == (200, str(LARGE))
    assert served.request("/large.txt", several, f"If-None-Match: {tag}").status == 304
    assert served.request("/large.txt", several, 'If-Match: "x"').status == 412
    assert served.request("/large.txt", several, 'If-Range: "x"').status == 200
    assert len(parts_of(served.request("/large.txt", several, f"If-Range: {tag}"), LARGE)) == 2


def test_slow_reader_receives_every_part(root, serve):
    size = 24 * MIB
    write(root, "large.txt", raw.pattern(size))
    server = serve()
    ranges = "0-5000000,9000000-9000000,8000000-8100000,10000000-20000000,-3"
    expected = [(0, 5000000), (9000000, 9000000), (8000000, 8100000), (10000000, 20000000),
                (size - 3, size - 1)]
    with server.connect(receive_buffer=4096) as slow, server.connect() as other:
        slow.send(raw.request("GET", "/large.txt", f"Range: bytes={ranges}") * 2)
        for _ in range(2):
            assert other.request("GET", "/large.txt", "Range: bytes=1-2").body == raw.pattern(2, 1)
            assert parts_of(slow.response(), size) == expected


def test_disconnect_during_multipart(root, serve):
    write(root, "large.txt", raw.pattern(24 * MIB))
    server = serve()
    for leave in ("close", "reset"):
        connection = server.connect(receive_buffer=4096)
        connection.send(raw.request("GET", "/large.txt",
                                    "Range: bytes=0-5000000,10000000-20000000"))
        connection.receive_exactly(100000)
        getattr(connection, leave)()
    # The end of the server finds no leak and no open descriptor.
    assert server.request("/large.txt", "Range: bytes=-1").status == 206


def test_pipelined_ranges_of_all_kinds(served):
    lines = [[], ["Range: bytes=0-0,-1"], ["Range: bytes=1-2"], ["Range: bytes=0-10,5000-9000,-7"]
             ] * 5
    with served.connect() as connection:
        connection.send(b"".join(
            raw.request("GET", name, *line)
            for line in lines
            for name in ("/small.txt", "/large.txt")))
        for line in lines:
            for size in (SMALL, LARGE):
                response = connection.response()
                if not line:
                    assert response.body == raw.pattern(size)
                elif "," in line[0]:
                    assert len(parts_of(response, size)) == line[0].count(",") + 1
                else:
                    assert response.body == raw.pattern(2, 1)


def test_several_ranges_above_4_gib(root, serve):
    size = 5 * 1024 * MIB + 3
    with open(write(root, "huge"), "r+b") as file:
        file.truncate(size)
        file.seek(size - 10)
        file.write(b"0123456789")
    response = serve().request("/huge", f"Range: bytes=0-4,{2 ** 32}-{2 ** 32 + 4},-10")
    parts = byte_ranges.parse(response.get("Content-Type"), response.body)
    assert [part[:3] for part in parts] == [(0, 4, size), (2 ** 32, 2 ** 32 + 4, size),
                                            (size - 10, size - 1, size)]
    assert [part[4] for part in parts] == [bytes(5), bytes(5), b"0123456789"]


def test_curl_several_ranges(served):
    """curl does not parse the body. It requests the ranges and gets the length."""
    result = subprocess.run(
        ["curl", "-sS", "--fail", "-r", "0-9,5000-5009", "-D", "-", served.url + "large.txt"],
        capture_output=True, check=True, timeout=60)
    head, body = result.stdout.split(b"\r\n\r\n", 1)
    kind = [
        line.split(": ", 1)[1]
        for line in head.decode().split("\r\n")
        if line.startswith("Content-Type")
    ]
    assert [part[4] for part in byte_ranges.parse(kind[0], body)
            ] == [raw.pattern(10), raw.pattern(10, 5000)]


def test_aiohttp_parses_the_parts(served):
    async def fetch():
        async with aiohttp.ClientSession() as session:
            async with session.get(served.url + "large.txt",
                                   headers={"Range": "bytes=0-9,5000-5009,-10"}) as response:
                assert response.status == 206
                reader = aiohttp.MultipartReader.from_response(response)
                seen = []
                while (part := await reader.next()) is not None:
                    seen.append((part.headers["Content-Range"], bytes(await part.read())))
                return seen

    assert asyncio.run(fetch()) == [(f"bytes {first}-{first + 9}/{LARGE}", raw.pattern(10, first))
                                    for first in (0, 5000, LARGE - 10)]


# Several field lines (RFC 9110 section 5.3)


def test_entity_tags_on_several_lines(served):
    tag = served.request("/small.txt").get("ETag")
    for lines, status in [(['If-None-Match: "x"', f"If-None-Match: {tag}"], 304),
                          ([f"If-None-Match: {tag}", 'If-None-Match: "x"'], 304),
                          (['If-None-Match: "x"', 'If-None-Match: "y"'], 200),
                          (['If-None-Match: "x"', "X: 1", f'if-none-match: "y", W/{tag}'], 304),
                          (["If-None-Match:", f"If-None-Match: {tag}"], 304),
                          (["If-None-Match:", "If-None-Match: *"], 200),
                          (['If-Match: "x"', f"If-Match: {tag}"], 200),
                          (['If-Match: "x"', 'If-Match: "y"'], 412),
                          ([f"If-Match: {tag}", "If-Match: malformed"], 200),
                          (["If-Match: malformed", f"If-Match: {tag}"], 412)]:
        assert served.request("/small.txt", *lines).status == status, lines


def test_repeated_date_range_or_if_range_is_ignored(served, root):
    """RFC 9110 13.1.3 and 13.1.4: a date with more than one member is ignored. A repeated Range is
    malformed, and a repeated If-Range is false."""
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    os.utime(os.path.join(root, "small.txt"), (784111777, 784111777))
    write(root, "old.txt", raw.pattern(SMALL))
    os.utime(os.path.join(root, "old.txt"), (784111777, 784111777))
    tag = served.request("/old.txt").get("ETag")
    for lines, status in [([f"If-Modified-Since: {date}"], 304),
                          ([f"If-Modified-Since: {date}"] * 2, 200),
                          ([f"If-Unmodified-Since: {date.replace('1994', '1993')}"], 412),
                          ([f"If-Unmodified-Since: {date.replace('1994', '1993')}"] * 2, 200),
                          (["Range: bytes=0-1", "Range: bytes=0-1"], 200),
                          (["Range: bytes=0-1", f"If-Range: {tag}"], 206),
                          (["Range: bytes=0-1", f"If-Range: {tag}", f"If-Range: {tag}"], 200)]:
        assert served.request("/old.txt", *lines).status == status, lines
