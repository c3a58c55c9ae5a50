"""Request bodies stored in files: a file is complete or does not exist, after any error, and the
client gets the reason."""

import base64
import hashlib
import os
import resource
import signal
import stat
import subprocess
import urllib.parse

import pytest

import raw
from test_clients import curl, installed
from wire_server import WireServer, eventually

SIZES = [0, 1, 32_767, 32_768, 32_769, 131_072, 3_000_001]


def target(name, directory, prefix="/upload", **options):
    query = urllib.parse.urlencode({"folder": directory, **options})
    return f"{prefix}/{urllib.parse.quote(name, safe='')}?{query}"


def put(server, name, directory, body, prefix="/upload", **options):
    return server.request("PUT", target(name, directory, prefix, **options),
                          f"Content-Length: {len(body)}", body=body)


def names(directory):
    return sorted(os.listdir(directory))


def wait_until_empty(directory):
    eventually(lambda: names(directory) == [], "no file is left in the directory")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_upload_is_stored_in_file(server, tmp_path, size, coded):
    body = raw.pattern(size)
    with server.connect() as connection:
        for status in (201, 204):  # first it does not exist, then it does
            if coded:
                chunks = [body[i:i + 70_000] for i in range(0, size, 70_000)]
                response = connection.request("PUT", target("a file",
                                                            tmp_path), "Transfer-Encoding: chunked",
                                              body=raw.chunked(*chunks))
            else:
                response = connection.request("PUT", target("a file", tmp_path),
                                              f"Content-Length: {size}", body=body)
            assert response.status == status
            assert names(tmp_path) == ["a file"] and (tmp_path / "a file").read_bytes() == body
        assert connection.request().body == b"Hello, world\n"


def test_handler_gets_path_and_size(server, tmp_path):
    assert put(server, "x", tmp_path, b"abc", report=1).body == f"{tmp_path}/x 3 created\n".encode()
    assert put(server, "x", tmp_path, b"abcd", report=1,
               sync=1).body == f"{tmp_path}/x 4 replaced\n".encode()
    assert (tmp_path / "x").read_bytes() == b"abcd"


# SHA-256 of "abc" (FIPS 180-4, examples of NIST)
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def digest(body, algorithm="sha256", field="Content-Digest", name="sha-256"):
    value = base64.b64encode(hashlib.new(algorithm, body).digest()).decode()
    return f"{field}: {name}=:{value}:"


@pytest.mark.parametrize("size", [0, 3, 400_000])
@pytest.mark.parametrize("field", ["Content-Digest", "Repr-Digest"])
@pytest.mark.parametrize("algorithm, name", [("sha256", "sha-256"), ("sha512", "sha-512")])
def test_digest_of_body_is_verified(server, tmp_path, size, field, algorithm, name):
    body = raw.pattern(size)
    send = lambda text: server.request(  # noqa: E731
        "PUT", target("x", tmp_path), f"Content-Length: {size}", text, body=body)
    wrong = send(digest(body + b"!", algorithm, field, name))
    assert wrong.status == 400 and wrong.body.endswith(b"\nthe body does not match its digest\n")
    wait_until_empty(tmp_path)
    assert send(digest(body, algorithm, field, name)).status == 201
    assert (tmp_path / "x").read_bytes() == body
    assert send(digest(body + b"!", algorithm, field, name)).status == 400
    assert (tmp_path / "x").read_bytes() == body


@pytest.mark.parametrize("size", [0, 3, 400_000])
@pytest.mark.parametrize("algorithm, name", [("sha256", "sha-256"), ("sha512", "sha-512")])
@pytest.mark.parametrize("field", ["Content-Digest", "Repr-Digest"])
def test_announced_digest_in_trailer_is_verified(server, tmp_path, size, field, algorithm, name):
    body = raw.pattern(size)

    def send(text, *fields):
        return server.request("PUT", target("x", tmp_path), "Transfer-Encoding: chunked", *fields,
                              body=raw.chunked(*[body] * (size > 0), trailers=[text]))

    announced = f"Trailer: X-Other, {field.lower()}"
    wrong = send(digest(body + b"!", algorithm, field, name), announced)
    assert wrong.status == 400 and wrong.body.endswith(b"\nthe body does not match its digest\n")
    wrong = send(f"{field}: {name}=:eA==:", announced)
    assert wrong.status == 400 and wrong.body.endswith(
        b"\nContent-Digest or Repr-Digest is malformed; the form is sha-256=:BASE64: or "
        b"sha-512=:BASE64:\n")
    wait_until_empty(tmp_path)
    assert send(digest(body, algorithm, field, name), announced).status == 201
    assert (tmp_path / "x").read_bytes() == body
    assert send("X-Other: 1", announced).status == 204
    assert send(digest(body + b"!", algorithm, field, name)).status == 204, "not announced"


def test_wrong_digest_in_trailer_after_correct_one_does_not_match(server, tmp_path):
    body = raw.pattern(3000)
    response = server.request("PUT", target("x", tmp_path), "Transfer-Encoding: chunked",
                              "Trailer: Content-Digest", digest(body),
                              body=raw.chunked(body, trailers=[digest(body + b"!")]))
    assert response.status == 400
    assert response.body.endswith(b"\nthe body does not match its digest\n")
    wait_until_empty(tmp_path)


def test_all_lines_of_trailer_and_digests_count(server, tmp_path):
    right, wrong, malformed = digest(b"abc"), digest(b"x"), "Content-Digest: sha-256=:!:"

    def status(announced, *trailers):
        lines = ("Trailer: X-Other", "Trailer: Content-Digest") if announced else ()
        return server.request("PUT", target("x", tmp_path), "Transfer-Encoding: chunked", *lines,
                              body=raw.chunked(b"abc", trailers=["X-Other: 1", *trailers])).status

    assert [status(True, wrong), status(True, right, wrong), status(True, right, malformed)] == [
        400, 400, 400]
    assert status(True, right, right) == 201
    assert status(False, wrong) == status(False, malformed) == 204


def test_malformed_digest_is_refused(server, tmp_path):
    response = server.request("PUT", target("x", tmp_path), "Content-Length: 1",
                              "Content-Digest: sha-256=:eA==:", body=b"x")
    assert response.status == 400 and names(tmp_path) == []


def test_handler_gets_sha256(server, tmp_path):
    assert put(server, "x", tmp_path, b"abc", report=1,
               sha256=1).body == f"{tmp_path}/x 3 created {ABC}\n".encode()
    body = raw.pattern(3_000_001)
    assert put(server, "y", tmp_path, body, report=1, sha256=1).body.split()[-1].decode() == (
        hashlib.sha256(body).hexdigest())


@pytest.mark.parametrize("given, status", [(422, 422), (503, 503), (1, 500), (200, 500)])
def test_check_can_refuse_complete_file(server, tmp_path, given, status):
    response = put(server, "a", tmp_path, b"x" + raw.pattern(300_000), check=given)
    assert response.status == status
    assert response.body.endswith(b"\nthe file is not accepted\n")
    wait_until_empty(tmp_path)
    assert put(server, "a", tmp_path, b"y" + raw.pattern(300_000), check=given).status == 201
    assert put(server, "a", tmp_path, b"xy", check=given).status == status
    eventually(lambda: names(tmp_path) == ["a"], "the refused file is removed")
    assert (tmp_path / "a").stat().st_size == 300_001


def test_progress_is_reported(server, tmp_path):
    body = raw.pattern(3_000_001)
    assert put(server, "x", tmp_path, body, report=1,
               progress=1).body == b"3000001 of 3000001\n"
    response = server.request("PUT", target("x", tmp_path, report=1, progress=1),
                              "Transfer-Encoding: chunked", body=raw.chunked(b"ab", b"cde"))
    assert response.body == b"5 of 0\n"


def test_file_has_requested_mode(server, tmp_path):
    put(server, "default", tmp_path, b"a")
    put(server, "given", tmp_path, b"a", mode="0666")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "default").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((tmp_path / "given").stat().st_mode) == 0o666


def test_partial_upload_is_not_visible(server, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", target("x", tmp_path), "Content-Length: 1000000") +
            raw.pattern(500_000))
        eventually(lambda: len(names(tmp_path)) == 2, "writing has begun")
        hidden, = set(names(tmp_path)) - {"x"}
        assert hidden.startswith(".uvhttp-") and hidden.endswith(".part")
        assert (tmp_path / "x").read_bytes() == b"old"
        connection.send(raw.pattern(500_000, 500_000))
        assert connection.response().status == 204
    assert names(tmp_path) == ["x"] and (tmp_path / "x").read_bytes() == raw.pattern(1_000_000)


@pytest.mark.parametrize("leave", ["reset", "half_close"])
@pytest.mark.parametrize("sent", [0, 100, 500_000])
def test_disconnect_during_upload_leaves_no_file(server, tmp_path, leave, sent):
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", target("x", tmp_path), "Content-Length: 1000000") +
            raw.pattern(sent))
        if sent > 100_000:
            eventually(lambda: names(tmp_path) != [], "writing has begun")
        getattr(connection, leave)()
        server.wait_for_connections(0)
    wait_until_empty(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_server_stop_during_upload_leaves_no_file(start, tmp_path, number):
    server = start(drain_timeout=0)
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", target("x", tmp_path), "Content-Length: 1000000") +
            raw.pattern(500_000))
        eventually(lambda: names(tmp_path) != [], "writing has begun")
        server.signal(number)
        assert server.wait() == 0, server.log()
    assert names(tmp_path) == []


def test_stalled_upload_leaves_no_file(start, tmp_path):
    server = start(body_timeout=1)
    with server.connect() as connection:
        connection.send(
            raw.request("PUT", target("x", tmp_path), "Content-Length: 1000000") +
            raw.pattern(500_000))
        assert connection.response().status == 408
    wait_until_empty(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["", "..", ".", "a/b", "../x", "a\nb", "a\x7f", ".uvhttp-0123456789abcdef.part", "n" * 256])
def test_invalid_file_name_is_rejected(server, tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    response = put(server, "param", inside, b"abc", **{"as": name})
    assert response.status == 400 and b"invalid file name" in response.body
    assert names(tmp_path) == ["inside"] and names(inside) == []


def test_longest_file_name(server, tmp_path):
    assert put(server, "n" * 255, tmp_path, b"abc").status == 201
    assert put(server, "\u00fcber.txt", tmp_path, b"abc").status == 201


def test_symlink_is_replaced_not_followed(server, tmp_path):
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.write_bytes(b"secret")
    inside.mkdir()
    (inside / "x").symlink_to(outside)
    assert put(server, "x", inside, b"abc").status == 204
    assert outside.read_bytes() == b"secret" and not (inside / "x").is_symlink()


# Limits


@pytest.mark.http1
@pytest.mark.parametrize("coded", [False, True], ids=["length", "chunks"])
def test_upload_beyond_limit_gets_413(server, tmp_path, coded):
    body = raw.pattern(300_001)
    assert put(server, "fits", tmp_path, body[:-1], max=300_000).status == 201
    os.remove(tmp_path / "fits")
    with server.connect() as connection:
        if coded:
            connection.send(
                raw.request("PUT", target("x", tmp_path, max=300_000), "Transfer-Encoding: chunked",
                            body=raw.chunked(body)))
        else:
            # The body is not even requested with 100.
            connection.send(
                raw.request("PUT", target("x", tmp_path, max=300_000), "Expect: 100-continue",
                            "Content-Length: 300001"))
        response = connection.response()
        assert (response.status, response.interim, response.has_close()) == (413, [], True)
        assert b"too large for this resource" in response.body
    wait_until_empty(tmp_path)


def test_body_limit_of_route_applies_to_upload(server, tmp_path):
    assert put(server, "x", tmp_path, b"a" * 16, "/upload-small").status == 201
    assert put(server, "y", tmp_path, b"a" * 17, "/upload-small").status == 413
    assert server.request("PUT", target("z", tmp_path, "/upload-small"),
                          "Transfer-Encoding: chunked", body=raw.chunked(b"a" * 17)).status == 413
    eventually(lambda: names(tmp_path) == ["x"], "no other file is left")


# Files that cannot be stored


def test_missing_directory_gets_500_and_is_logged(start, tmp_path):
    server = start()
    assert put(server, "x", tmp_path / "nowhere", b"abc").status == 500
    assert (f"storing the body in {tmp_path}/nowhere failed: no such file or directory (500)"
            in server.log())
    assert put(server, "x", tmp_path / "nowhere",
               b"abc").status == 500, "the second error is logged"


def test_file_as_directory_gets_500(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert put(server, "x", tmp_path / "file", b"abc").status == 500


def test_directory_without_permission_gets_403(start, tmp_path):
    # Root can write to every directory unless its capabilities are dropped.
    server = start(
        wrapper=["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else ())
    tmp_path.chmod(0o500)
    try:
        assert put(server, "x", tmp_path, b"abc").status == 403
        assert f"storing the body in {tmp_path} failed: permission denied (403)" in server.log()
    finally:
        tmp_path.chmod(0o700)


def test_directory_of_that_name_gets_409(server, tmp_path):
    (tmp_path / "x").mkdir()
    assert put(server, "x", tmp_path, b"abc").status == 409
    eventually(lambda: names(tmp_path) == ["x"], "no other file is left")


def test_existing_file_without_overwrite_gets_409(server, tmp_path):
    assert put(server, "x", tmp_path, b"first", keep=1).status == 201
    response = put(server, "x", tmp_path, b"second", keep=1)
    assert response.status == 409 and b"the name already exists" in response.body
    assert (tmp_path / "x").read_bytes() == b"first"
    eventually(lambda: names(tmp_path) == ["x"], "no other file is left")


class SmallDisk(WireServer):
    """A server with RLIMIT_FSIZE, which simulates a full disk."""
    def __init__(self, size, **limits):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        # Python ignores SIGXFSZ, and a new program inherits that.
        super().__init__(
            wrapper=[
                "/usr/bin/python3", "-c",
                "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); "
                f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
                f"os.execv(sys.argv[1], sys.argv[1:])"
            ], **limits)
        assert resource.getrlimit(resource.RLIMIT_FSIZE) == before


@pytest.mark.http1
def test_full_disk_gets_507_and_is_logged(tmp_path):
    server = SmallDisk(200_000)
    try:
        assert put(server, "fits", tmp_path, raw.pattern(200_000)).status == 201
        with server.connect() as connection:
            connection.send(
                raw.request("PUT", target("x", tmp_path), "Content-Length: 900000000") +
                raw.pattern(400_000))
            response = connection.response()
            assert response.status == 507 and b"insufficient storage" in response.body
            assert response.has_close()
        eventually(lambda: names(tmp_path) == ["fits"], "no other file is left")
        assert put(server, "y", tmp_path, raw.pattern(300_000)).status == 507
        assert server.log().count("failed: file too large (507)") == 2
        eventually(lambda: names(tmp_path) == ["fits"], "no other file is left")
    finally:
        server.stop()


# Errors of a handler


def test_invalid_calls_return_errors(start, tmp_path):
    server = start()
    # not a route for streamed bodies
    assert put(server, "x", tmp_path, b"abc", "/upload-whole").status == 500
    # no directory
    assert server.request("PUT", "/upload/x", "Content-Length: 3", body=b"abc").status == 500
    assert put(server, "x", tmp_path, raw.pattern(100_000), twice=1).status == 201
    assert server.stats()["last_error"] == "UVHTTP_EINVAL"
    assert (tmp_path / "x").read_bytes() == raw.pattern(100_000)
    eventually(lambda: names(tmp_path) == ["x"], "no other file is left")


# Concurrent uploads, and their cost


def test_concurrent_uploads(start, tmp_path):
    server = start()
    connections = [server.connect() for _ in range(40)]
    for step in range(6):
        for number, connection in enumerate(connections):
            head = raw.request("PUT", target(str(number), tmp_path),
                               "Content-Length: 600000") if step == 0 else b""
            connection.send(head + raw.pattern(100_000, number + step * 100_000))
    for number, connection in enumerate(connections):
        assert connection.response().status == 201
        connection.close()
        assert (tmp_path / str(number)).read_bytes() == raw.pattern(600_000, number)
    assert len(names(tmp_path)) == 40


def test_upload_memory_is_independent_of_size(start, tmp_path):
    server = start()
    with server.connect() as connection:
        idle = server.stats()["heap_live"]
        size = 60_000_000
        connection.send(raw.request("PUT", target("x", tmp_path), f"Content-Length: {size}"))
        for offset in range(0, size, 1_000_000):
            connection.send(raw.pattern(1_000_000, offset))
        assert connection.response().status == 201
        # an HTTP/2 connection adds its window, in a queue that is up to half empty
        most = 700_000 + (2 * 2**20 if server.http2 else 0)
        assert server.stats()["heap_peak"] - idle < most
    assert (tmp_path / "x").stat().st_size == size


# Real clients


@pytest.mark.plain
def test_curl_puts_file(server, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(raw.pattern(2_000_000))
    response = curl(server, "-T", str(source), "--expect100-timeout", "60",
                    path=target("x", tmp_path))
    assert response == b"201 Created\n" and (tmp_path / "x").read_bytes() == source.read_bytes()


@pytest.mark.plain
def test_curl_puts_from_pipe(server, tmp_path):
    result = subprocess.run([
        installed("curl", "curl"), "-sS", "--noproxy", "*", "-T", "-",
        f"http://127.0.0.1:{server.port}{target('x', tmp_path)}"
    ], input=raw.pattern(700_000), capture_output=True, check=True)
    assert result.stdout == b"201 Created\n" and (tmp_path /
                                                  "x").read_bytes() == raw.pattern(700_000)


@pytest.mark.plain
def test_curl_with_expect_is_rejected_before_body(server, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(raw.pattern(2_000_000))
    output = curl(server, "-T", str(source), "--expect100-timeout", "60", "--output", "/dev/null",
                  "--write-out", "%{http_code} %{size_upload}",
                  path=target("x", tmp_path, max=1000))
    assert output == b"413 0"
    assert names(tmp_path) == ["source"]
