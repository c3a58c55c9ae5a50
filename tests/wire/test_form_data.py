"""Forms with files in a handler: small parts in memory, large ones in files, and no temporary file
left."""

import asyncio
import os
import pathlib
import subprocess
import urllib.parse

import pytest

import raw
from test_clients import curl, installed
from test_http1_bodies import fnv
from test_uploads import SmallDisk, names, wait_until_empty
from wire_server import eventually

BOUNDARY = "----b"
TYPE = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"


def part(name, data, filename=None, kind=None):
    head = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        head += f'; filename="{filename}"'
    if kind is not None:
        head += f"\r\nContent-Type: {kind}"
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"


def form(*parts):
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def target(directory=None, **options):
    query = {
        **({"folder": directory} if directory else {}),
        **{name.replace("_", "-"): value
           for name, value in options.items()}
    }
    return "/form-data?" + urllib.parse.urlencode(query)


def post(server, body, directory=None, **options):
    return server.request("POST", target(directory, **options), TYPE,
                          f"Content-Length: {len(body)}", body=body)


def parts(response):
    """The parts that the handler received: [name, file name, raw file name, type, size, sum, where,
    result of keeping ...]."""
    assert response.status == 200, response
    count, *lines = response.body.decode().splitlines()
    assert int(count) == len(lines)
    return [line.split("|") for line in lines]


def sum_of(data):
    return fnv(data).split()[1].decode()


def test_small_parts_are_in_memory(server):
    response = post(
        server,
        form(part("title", b"Holidays"), part("empty", b""),
             part("photo", b"\x00\r\n\x01", "a b.jpg", "image/jpeg"), part("none", b"", "")))
    assert parts(response) == [["title", "-", "-", "-", "8",
                                sum_of(b"Holidays"), "memory"],
                               ["empty", "-", "-", "-", "0",
                                sum_of(b""), "memory"],
                               [
                                   "photo", "a b.jpg", "a b.jpg", "image/jpeg", "4",
                                   sum_of(b"\x00\r\n\x01"), "memory"
                               ], ["none", "", "", "-", "0",
                                   sum_of(b""), "memory"]]


def test_form_without_parts(server):
    response = post(server, f"--{BOUNDARY}--\r\n".encode())
    assert response.status == 200 and response.body == b"0\n"


@pytest.mark.parametrize("raw_name, plain", [("../../etc/passwd", "passwd"),
                                             ("C:\\\\Users\\\\me\\\\a.txt", "a.txt"),
                                             (".htaccess", "_htaccess"), ("..", "__"), ("a/", ""),
                                             ("a%0D%0Ab", "a__b"),
                                             ("gr\u00fc\u00dfe.txt", "gr\u00fc\u00dfe.txt"),
                                             ("\u00fc" * 200, "\u00fc" * 127),
                                             ("x" * 300, "x" * 255), ])
def test_file_name_is_sanitized(server, raw_name, plain):
    # The raw name is available, too. Its line ends would break the report.
    response = post(server, form(part("f", b"1", raw_name)))
    assert response.status == 200
    text = response.body.decode()
    assert text.startswith(f"1\nf|{plain}|") and text.endswith(f"|-|1|{sum_of(b'1')}|memory\n")
    if "%" not in raw_name:
        assert f"|{raw_name.replace(chr(92) * 2, chr(92))}|" in text


@pytest.mark.parametrize("size, where", [(1000, "memory"), (1001, "file"), (40_000, "file"),
                                         (3_000_000, "file")])
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_large_part_is_stored_in_file(server, tmp_path, size, where, coded):
    data = raw.pattern(size)
    body = form(part("before", b"1"), part("f", data, "f"), part("after", b"2"))
    (tmp_path / "kept").mkdir()
    with server.connect() as connection:
        url = target(tmp_path, part=1000, keep=tmp_path / "kept")
        if coded:
            chunks = [body[i:i + 50_000] for i in range(0, len(body), 50_000)]
            response = connection.request("POST", url, TYPE, "Transfer-Encoding: chunked",
                                          body=raw.chunked(*chunks))
        else:
            response = connection.request("POST", url, TYPE, body=body)
        seen = parts(response)
        assert [one[6] for one in seen] == ["memory", where, "memory"]
        assert seen[1][:5] == ["f", "f", "f", "-", str(size)]
        # A part can be kept once. A second call is an error.
        assert [one[7] for one in seen
                ] == ["UVHTTP_OK"] * 3 and server.stats()["last_error"] == "UVHTTP_EINVAL"
        assert (tmp_path / "kept/kept-1").read_bytes() == data and (
            tmp_path / "kept/kept-0").read_bytes() == b"1"
        assert connection.request().body == b"Hello, world\n"
    assert names(tmp_path) == ["kept"]


def test_files_not_kept_are_removed(server, tmp_path):
    body = form(*(part(f"f{i}", raw.pattern(100_000, i), str(i)) for i in range(20)))
    with server.connect() as connection:
        assert [
            one[6] for one in parts(connection.request("POST", target(tmp_path), TYPE, body=body))
        ] == ["file"] * 20
        assert connection.request().body == b"Hello, world\n"
        wait_until_empty(tmp_path)


def test_keep_does_not_replace_file(server, tmp_path):
    (tmp_path / "kept-0").write_bytes(b"old")
    (tmp_path / "kept-1").write_bytes(b"old")
    body = form(part("a", b"small"), part("b", raw.pattern(100_000), "b"))
    assert [one[7] for one in parts(post(server, body, tmp_path, keep=tmp_path))] == ["EEXIST"] * 2
    eventually(lambda: names(tmp_path) == ["kept-0", "kept-1"], "the other files are removed")
    assert (tmp_path / "kept-0").read_bytes() == (tmp_path / "kept-1").read_bytes() == b"old"


def test_keep_on_other_file_system_fails(server, tmp_path):
    elsewhere = pathlib.Path("/dev/shm")
    if not elsewhere.exists() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second writable file system")
    taken = elsewhere / "kept-0"
    response = post(server, form(part("b", raw.pattern(100_000), "b")), tmp_path, keep=elsewhere)
    assert parts(response)[0][7] == "EXDEV" and not taken.exists()
    wait_until_empty(tmp_path)


def test_mode_of_kept_files(server, tmp_path):
    (tmp_path / "kept").mkdir()
    body = form(part("a", b"small"), part("b", raw.pattern(100_000), "b"))
    parts(post(server, body, tmp_path, keep=tmp_path / "kept", mode="0604"))
    assert [(tmp_path / f"kept/kept-{i}").stat().st_mode & 0o777 for i in range(2)] == [0o604] * 2


def test_total_memory_of_parts_is_limited(server, tmp_path):
    body = form(*(part(str(i), raw.pattern(400)) for i in range(5)))
    assert [one[6] for one in parts(post(server, body, tmp_path, memory=1000))
            ] == ["memory", "memory", "file", "file", "file"]


def test_part_lookup_by_name(server):
    body = form(part("a", b"1"))
    assert post(server, body, name="a").status == 200
    assert post(server, body, name="b").status == 404


# Rejections


@pytest.mark.parametrize(
    "options, body, status, reason",
    [
        ({"max": 200}, form(part("a", b"x" * 200)), 413, "the body is too large for this resource"),
        ({"max_part": 100}, form(part("a", b"x" * 101)), 413, "a part is too large"),
        ({"parts": 2}, form(part("a", b""), part("b", b""), part(
            "c", b"")), 413, "the form has too many parts"),
        ({}, form(*(part("a", b"") for _ in range(101))), 413, "the form has too many parts"),
        ({"header": 100}, form(part("a" * 100,
                                    b"")), 413, "the header section of a part is too large"),
        ({}, form(part("a" * 3000, b"")), 413, "the header section of a part is too large"),
        # and there is no directory
        ({"part": 100}, form(part("a", b"x" * 101)), 413, "the form is too large for this resource"
         ),
        ({}, form(part("a", b""))[:-6], 400, "the body ends before the closing delimiter"),
        ({}, b"", 400, "the body ends before the closing delimiter"),
        ({}, f"--{BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\n\r\n--{BOUNDARY}--".encode(),
         400, "a part has no name"),
    ])
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_rejection_has_status_and_reason(server, options, body, status, reason, coded):
    if coded:
        response = server.request("POST", target(**options), TYPE, "Transfer-Encoding: chunked",
                                  body=raw.chunked(body) if body else raw.chunked())
    else:
        response = post(server, body, **options)
    assert response.status == status and reason in response.body.decode()


@pytest.mark.parametrize("kind", [
    "text/plain", "multipart/form-data", "multipart/mixed; boundary=b",
    "application/x-www-form-urlencoded"
])
def test_other_content_type_gets_415(server, kind):
    assert server.request("POST", "/form-data", f"Content-Type: {kind}", body=b"a=b").status == 415
    assert server.request("POST", "/form-data", body=b"a=b").status == 415


def test_rejected_form_leaves_no_file(server, tmp_path):
    body = form(part("a", raw.pattern(500_000), "a"), part("b", raw.pattern(300_000), "b"))
    response = post(server, body, tmp_path, max_part=400_000)
    assert response.status == 413
    response = post(server, body[:-3], tmp_path)
    assert response.status == 400
    wait_until_empty(tmp_path)


@pytest.mark.parametrize("leave", ["reset", "half_close"])
def test_disconnect_during_form_leaves_no_file(server, tmp_path, leave):
    body = form(part("a", raw.pattern(500_000), "a"), part("b", raw.pattern(500_000), "b"))
    with server.connect() as connection:
        connection.send(
            raw.request("POST", target(tmp_path), TYPE, f"Content-Length: {len(body)}") +
            body[:800_000])
        eventually(lambda: len(names(tmp_path)) == 2, "both files are being written")
        getattr(connection, leave)()
        server.wait_for_connections(0)
    wait_until_empty(tmp_path)


def test_missing_directory_gets_500(server, tmp_path):
    body = form(part("a", raw.pattern(100_000), "a"))
    response = post(server, body, tmp_path / "nowhere")
    assert response.status == 500 and b"cannot be stored" in response.body
    # a small part needs no directory
    assert parts(post(server, form(part("a", b"small")), tmp_path / "nowhere"))


def test_full_disk_gets_507(tmp_path):
    server = SmallDisk(200_000)
    try:
        body = form(part("a", raw.pattern(150_000), "a"), part("b", raw.pattern(900_000), "b"))
        assert post(server, body, tmp_path).status == 507
        wait_until_empty(tmp_path)
    finally:
        server.stop()


def test_form_memory_is_independent_of_file_size(start, tmp_path):
    server = start()
    size = 40_000_000
    head, end = part("a", b"", "a")[:-2], b"\r\n" + f"--{BOUNDARY}--\r\n".encode()
    with server.connect() as connection:
        idle = server.stats()["heap_live"]
        connection.send(
            raw.request("POST", target(tmp_path), TYPE,
                        f"Content-Length: {len(head) + size + len(end)}") + head)
        for offset in range(0, size, 1_000_000):
            connection.send(raw.pattern(1_000_000, offset))
        connection.send(end)
        assert parts(connection.response())[0][4] == str(size)
        # an HTTP/2 connection adds its window, in a queue that is up to half empty
        most = 700_000 + (2 * 2**20 if server.http2 else 0)
        assert server.stats()["heap_peak"] - idle < most


# Real clients


def test_form_memory_grows_little_with_file_count(start, tmp_path):
    """A file of one byte has a buffer of 32 KiB until it is written. 1,500 of them at once would
    take 48 MB."""
    server = start(buffer_size=4096, max_header_size=2048, max_trailer_size=2048)
    body = form(*(part("a", b"1", "f") for _ in range(1500)))
    with server.connect() as connection:
        server.stats()  # starts the measurement
        response = connection.request("POST", target(tmp_path, memory=1, parts=2000), TYPE,
                                      body=body)
        assert [one[6] for one in parts(response)] == ["memory"] + ["file"] * 1499
        assert server.stats()["heap_peak"] < 6_000_000
        assert connection.request().status == 200, "the files are removed"
    if server.http2:
        eventually(lambda: not list(tmp_path.iterdir()), "the files are removed")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.plain
def test_curl_sends_form(server, tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(raw.pattern(2_000_000))
    (tmp_path / "kept").mkdir()
    text = curl(server, "-F", "title=two words", "-F", f"file=@{source};type=image/png", "-F",
                "note=<" + str(source) + ";filename=n.txt", "--expect100-timeout", "60",
                path=target(tmp_path, keep=tmp_path / "kept")).decode()
    assert "title|-|-|-|9|" in text and ("file|source.bin|source.bin|image/png|2000000|-"
                                         "|file|UVHTTP_OK") in text
    assert (tmp_path / "kept/kept-1").read_bytes() == source.read_bytes()
    assert names(tmp_path) == ["kept", "source.bin"]


@pytest.mark.plain
def test_curl_sends_form_slowly(server, tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(raw.pattern(3_000_000))
    text = curl(server, "-F", f"file=@{source}", "--limit-rate", "4M",
                path=target(tmp_path)).decode()
    assert "|3000000|-|file\n" in text


@pytest.mark.plain
def test_httpx_and_aiohttp_send_forms(server, tmp_path):
    import aiohttp
    import httpx

    url = f"http://127.0.0.1:{server.port}{target(tmp_path)}"
    data = raw.pattern(700_000)
    with httpx.Client(trust_env=False) as client:
        response = client.post(url, data={"a": "1"}, files={"f": ("x.bin", data, "image/gif")})
        assert response.text == (f"2\na|-|-|-|1|{sum_of(b'1')}|memory\n"
                                 f"f|x.bin|x.bin|image/gif|700000|-|file\n")

    async def send():
        async with aiohttp.ClientSession() as session:
            fields = aiohttp.FormData()
            fields.add_field("a", "1")
            fields.add_field("f", data, filename="x.bin", content_type="image/gif")
            async with session.post(url, data=fields) as response:
                return await response.text()

    lines = asyncio.run(send()).splitlines()
    assert lines[0] == "2" and lines[2] == "f|x.bin|x.bin|image/gif|700000|-|file"
    wait_until_empty(tmp_path)


@pytest.mark.plain
def test_node_sends_form(server, tmp_path):
    script = """
        const form = new FormData();
        form.append('a', '1');
        form.append('f', new Blob([new Uint8Array(700000)], { type: 'image/gif' }), 'x.bin');
        console.log(await (await fetch(process.argv[1], { method: 'POST', body: form })).text());"""
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run([
        installed("node", "nodejs"), "--input-type=module", "-e", script,
        f"http://127.0.0.1:{server.port}{target(tmp_path)}"
    ], capture_output=True, text=True, env=environment, check=False)
    assert "f|x.bin|x.bin|image/gif|700000|-|file\n" in done.stdout, done.stderr
    wait_until_empty(tmp_path)
