"""Files that change while they are served: no mix of versions, no response older than the
revalidation interval, no promise of data that no longer exists."""

import os
import threading
import time

import pytest

import raw
from static_server import KIB, MIB, SECRET, replace, root, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually


def version(number, size):
    """Content whose every line contains its version."""
    line = b"version %06d\n" % number
    return (line * (size // len(line) + 1))[:size]


def version_of(body):
    """The version of a body that consists of a single version."""
    number = int(body[8:14])
    assert body == version(number, len(body)), "bytes of several versions in one body"
    return number


def test_pitfall_changed_file_is_served(root, serve):
    """Guards against a cache that never revalidates."""
    write(root, "file", b"old")
    server = serve("--revalidate-ms", "20")
    tag = server.request("/file").get("ETag")
    replace(root, "file", b"new")
    eventually(lambda: server.request("/file").body == b"new", "the new content is served")
    assert server.request("/file").get("ETag") != tag
    assert server.request("/file", f"If-None-Match: {tag}").status == 200


def test_change_with_same_date_and_size_is_detected(root, serve):
    """As by a tool that restores the old date."""
    path = write(root, "file", b"old")
    os.utime(path, ns=(0, 10 ** 18))
    server = serve("--revalidate-ms", "20")
    assert server.request("/file").body == b"old"
    with open(path, "r+b") as file:
        file.write(b"new")
    os.utime(path, ns=(0, 10 ** 18))
    eventually(lambda: server.request("/file").body == b"new", "the new content is served")


def test_created_and_deleted_file(root, serve):
    server = serve("--revalidate-ms", "20")
    for _ in range(3):
        eventually(lambda: server.request("/file").status == 404, "the file is missing")
        write(root, "file", b"here")
        eventually(lambda: server.request("/file").body == b"here", "the file is served")
        os.remove(os.path.join(root, "file"))
        eventually(lambda: server.request("/file").status == 404, "the file is missing")


def test_file_replaced_by_directory_and_back(root, serve):
    path = os.path.join(root, "name")
    server = serve("--revalidate-ms", "20")
    for _ in range(2):
        write(root, "name", b"file")
        eventually(lambda: server.request("/name").body == b"file", "the file is served")
        os.remove(path)
        os.mkdir(path)
        eventually(lambda: server.request("/name").status == 301, "the directory is detected")
        os.rmdir(path)


@pytest.mark.parametrize("size", [1 * KIB, 100 * KIB])
def test_response_is_not_older_than_revalidate_ms(root, serve, size):
    """Both clocks are the system's monotonic clock: the test compares times and waits for none."""
    interval = 0.050
    write(root, "file", version(0, size))
    replaced = [time.monotonic()]
    with serve("--revalidate-ms", "50").connect() as connection:
        for number in range(1, 15):
            replace(root, "file", version(number, size))
            replaced.append(time.monotonic())
            while True:
                sent = time.monotonic()
                seen = version_of(connection.request("GET", "/file").body)
                # The server's unit is a millisecond, so each end may be one late.
                assert seen == number or sent < replaced[seen + 1] + interval + 0.002
                if seen == number:
                    break


@pytest.mark.parametrize("size", [1 * KIB, 15 * KIB, 200 * KIB])
def test_file_replaced_under_load_is_not_mixed(root, serve, size):
    write(root, "file", version(0, size))
    server = serve("--revalidate-ms", "1")
    stop, errors, tags = threading.Event(), [], {}

    def read():
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    response = connection.request("GET", "/file")
                    seen = version_of(response.body)
                    assert tags.setdefault(response.get("ETag"),
                                           seen) == seen, "one entity tag for two versions"
        except Exception as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(1, 150):
        replace(root, "file", version(number, size))
        if number % 10 == 9:
            eventually(lambda: number in list(tags.values()) or errors, "readers get this version")
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors


def test_small_file_rewritten_in_place_is_whole_or_empty(root, serve):
    """Truncating and writing are two steps. The state between them is an empty file; no other state
    may be served."""
    path = write(root, "file", version(0, 3000))
    server = serve("--revalidate-ms", "1")
    with server.connect() as connection:
        for number in range(1, 300):
            with open(path, "wb", buffering=0) as file:
                connection.send(raw.request("GET", "/file"))
                file.write(version(number, 3000))
            body = connection.response().body
            assert body == b"" or version_of(body) <= number
    eventually(lambda: server.request("/file").body == version(299, 3000),
               "the last version is served")


def test_file_truncated_while_sent_closes_connection(root, serve):
    size = 16 * MIB
    path = write(root, "file", raw.pattern(size))
    server = serve("--revalidate-ms", "1")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file"))
        status, _, fields, _ = connection.head()
        assert status == 200 and ("Content-Length", str(size)) in fields
        first = connection.receive_exactly(1000)
        os.truncate(path, 100 * KIB)
        rest = b""
        try:
            rest = connection.rest()
        except ConnectionResetError:
            pass
        assert len(first + rest) < size, "bytes that the file no longer has"
        # The data beyond the new end may still be in the socket, where sendfile refers to the
        # file's pages. Their contents are undefined now.
        assert (first + rest)[:100 * KIB] == raw.pattern(100 * KIB)
    eventually(lambda: "truncated" in server.log(), "an error in the log")
    eventually(lambda: len(server.request("/file").body) == 100 * KIB, "the new length is served")


def test_file_deleted_while_sent_arrives_whole(root, serve):
    size = 16 * MIB
    path = write(root, "file", raw.pattern(size))
    server = serve("--revalidate-ms", "1")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file"))
        connection.head()
        os.remove(path)
        eventually(lambda: server.request("/file").status == 404, "the file is missing")
        assert connection.receive_exactly(size) == raw.pattern(size)


def test_file_evicted_while_sent_arrives_whole(root, serve):
    size = 8 * MIB
    write(root, "file", raw.pattern(size))
    for number in range(8):
        write(root, f"other{number}", raw.pattern(100 * KIB))
        write(root, f"small{number}", raw.pattern(1 * KIB))
    server = serve("--cache-entries", "2")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file"))
        connection.head()
        for number in range(8):
            assert server.request(f"/other{number}").body == raw.pattern(100 * KIB)
            assert server.request(f"/small{number}").body == raw.pattern(1 * KIB)
        assert connection.receive_exactly(size) == raw.pattern(size)


def test_disconnected_clients_leak_no_descriptors(root, serve):
    """With this limit, leaked descriptors cause responses with 503. A sanitizer reports other leaks
    in the exit code."""
    for number in range(64):
        write(root, f"file{number}", raw.pattern(300 * KIB))
    server = serve("--cache-entries", "4", "--revalidate-ms", "1", descriptors=48)
    for number in range(256):
        connection = server.connect(receive_buffer=4096)
        connection.send(raw.request("GET", f"/file{number % 64}"))
        if number % 2:
            connection.head()
        connection.reset()
    for number in range(64):
        assert server.request(f"/file{number}").body == raw.pattern(300 * KIB)


def test_directory_swapped_for_symlink_stays_in_root(root, serve):
    inside, outside, spare = (os.path.join(root, name) for name in ("dir", "link", "spare"))
    write(root, "dir/secret.txt", b"inside")
    os.symlink("..", outside)
    server = serve("--revalidate-ms", "1")
    stop, bodies, errors = threading.Event(), set(), []

    def read():
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    response = connection.request("GET", "/dir/secret.txt")
                    assert response.status in (200, 403, 404)
                    bodies.add((response.status, response.body if response.status == 200 else b""))
        except Exception as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for swaps in range(1, 100_001):
        os.rename(inside, spare)
        os.rename(outside, inside)
        os.rename(inside, outside)
        os.rename(spare, inside)
        # On a busy machine few readers may run in between.
        if errors or (swaps >= 1500 and (200, b"inside") in bodies):
            break
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors
    assert (200, b"inside") in bodies
    assert not [body for _, body in bodies if SECRET in body]


def test_descriptor_exhaustion_gets_503(root, serve):
    write(root, "cached", b"cached")
    for number in range(64):
        write(root, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--revalidate-ms", "3600000", descriptors=40)
    assert server.request("/cached").body == b"cached"
    first = server.connect()
    assert first.request("GET", "/cached").status == 200
    # a connection with a request in progress is not closed
    first.send(b"GET /file0 HTTP/1.1\r\nHost: a\r\n")
    crowd = [server.connect() for _ in range(48)]  # more connections than the server may accept
    for connection in crowd:
        connection.send(b"GET / HTTP/1.1\r\n")
    eventually(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) >= 35,
               "all descriptors but the reserve for files are used")
    targets = [f"/file{number}" for number in range(1, 8)] + ["/cached"]
    first.send(b"\r\n" + b"".join(raw.request("GET", target) for target in targets))
    *responses, cached = first.responses(1 + len(targets))
    statuses = [response.status for response in responses]
    assert 503 in statuses and set(statuses) <= {200, 503}
    assert cached.body == b"cached"
    first.close()
    for connection in crowd:
        connection.close()
    eventually(lambda: server.request("/file9").status == 200, "descriptors are available")
