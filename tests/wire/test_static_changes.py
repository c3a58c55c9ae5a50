"""Files that change while they are served: no mixed bytes, no answer older than promised, no
promise of bytes that are gone."""

import os
import threading
import time

import pytest

import raw
from static_server import KIB, MIB, SECRET, place, replace, serve, write  # noqa: F401 (fixtures)
from wire_server import eventually


def version(number, size):
    """Content that tells its version at every place."""
    line = b"version %06d\n" % number
    return (line * (size // len(line) + 1))[:size]


def version_of(body):
    """The version of a body that is of one version throughout."""
    number = int(body[8:14])
    assert body == version(number, len(body)), "bytes of several versions in one body"
    return number


def test_pitfall_a_changed_file_is_noticed(place, serve):
    """The cache once never noticed."""
    write(place, "file", b"old")
    server = serve("--revalidate-ms", "20")
    tag = server.ask("/file").get("ETag")
    replace(place, "file", b"new")
    eventually(lambda: server.ask("/file").body == b"new", "the new content is served")
    assert server.ask("/file").get("ETag") != tag
    assert server.ask("/file", f"If-None-Match: {tag}").status == 200


def test_a_change_without_a_new_date_or_size_is_noticed(place, serve):
    """As from a tool that sets the old date again."""
    path = write(place, "file", b"old")
    os.utime(path, ns=(0, 10 ** 18))
    server = serve("--revalidate-ms", "20")
    assert server.ask("/file").body == b"old"
    with open(path, "r+b") as file:
        file.write(b"new")
    os.utime(path, ns=(0, 10 ** 18))
    eventually(lambda: server.ask("/file").body == b"new", "the new content is served")


def test_a_file_that_appears_and_goes(place, serve):
    server = serve("--revalidate-ms", "20")
    for _ in range(3):
        eventually(lambda: server.ask("/file").status == 404, "the file is missing")
        write(place, "file", b"here")
        eventually(lambda: server.ask("/file").body == b"here", "the file is there")
        os.remove(os.path.join(place, "file"))
        eventually(lambda: server.ask("/file").status == 404, "the file is gone")


def test_a_file_becomes_a_folder_and_back(place, serve):
    path = os.path.join(place, "name")
    server = serve("--revalidate-ms", "20")
    for _ in range(2):
        write(place, "name", b"file")
        eventually(lambda: server.ask("/name").body == b"file", "the file is served")
        os.remove(path)
        os.mkdir(path)
        eventually(lambda: server.ask("/name").status == 301, "the folder is noticed")
        os.rmdir(path)


@pytest.mark.parametrize("size", [1 * KIB, 100 * KIB])
def test_no_answer_is_older_than_the_interval(place, serve, size):
    """Both clocks are the system's monotonic one, so this compares times, and waits for none."""
    interval = 0.050
    write(place, "file", version(0, size))
    replaced = [time.monotonic()]
    with serve("--revalidate-ms", "50").connect() as connection:
        for number in range(1, 15):
            replace(place, "file", version(number, size))
            replaced.append(time.monotonic())
            while True:
                sent = time.monotonic()
                seen = version_of(connection.ask("GET", "/file").body)
                # Milliseconds are the server's unit, so it may be one late at either end.
                assert seen == number or sent < replaced[seen + 1] + interval + 0.002
                if seen == number:
                    break


@pytest.mark.parametrize("size", [1 * KIB, 15 * KIB, 200 * KIB])
def test_a_file_replaced_under_load_is_never_mixed(place, serve, size):
    write(place, "file", version(0, size))
    server = serve("--revalidate-ms", "1")
    stop, errors, tags = threading.Event(), [], {}

    def read():
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    response = connection.ask("GET", "/file")
                    seen = version_of(response.body)
                    assert tags.setdefault(response.get("ETag"),
                                           seen) == seen, "one entity tag for two versions"
        except Exception as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(1, 150):
        replace(place, "file", version(number, size))
        if number % 10 == 9:
            eventually(lambda: number in list(tags.values()) or errors, "readers see this version")
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors


def test_a_small_file_rewritten_in_place_is_whole_or_empty(place, serve):
    """Truncating and writing are two steps: the state between them is an empty file, and nothing
    else may be seen."""
    path = write(place, "file", version(0, 3000))
    server = serve("--revalidate-ms", "1")
    with server.connect() as connection:
        for number in range(1, 300):
            with open(path, "wb", buffering=0) as file:
                connection.send(raw.request("GET", "/file"))
                file.write(version(number, 3000))
            body = connection.response().body
            assert body == b"" or version_of(body) <= number
    eventually(lambda: server.ask("/file").body == version(299, 3000), "the last version is seen")


def test_a_file_cut_while_it_is_sent_closes_the_connection(place, serve):
    size = 16 * MIB
    path = write(place, "file", raw.pattern(size))
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
        # What lay behind the cut may still be in the socket, where sendfile refers to the file's
        # pages: no saying what they hold now.
        assert (first + rest)[:100 * KIB] == raw.pattern(100 * KIB)
    eventually(lambda: "truncated" in server.log(), "a line in the log")
    eventually(lambda: len(server.ask("/file").body) == 100 * KIB, "the new length is served")


def test_a_file_deleted_while_it_is_sent_arrives_whole(place, serve):
    size = 16 * MIB
    path = write(place, "file", raw.pattern(size))
    server = serve("--revalidate-ms", "1")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file"))
        connection.head()
        os.remove(path)
        eventually(lambda: server.ask("/file").status == 404, "the file is gone")
        assert connection.receive_exactly(size) == raw.pattern(size)


def test_a_file_thrown_out_while_it_is_sent_arrives_whole(place, serve):
    size = 8 * MIB
    write(place, "file", raw.pattern(size))
    for number in range(8):
        write(place, f"other{number}", raw.pattern(100 * KIB))
        write(place, f"small{number}", raw.pattern(1 * KIB))
    server = serve("--cache-entries", "2")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/file"))
        connection.head()
        for number in range(8):
            assert server.ask(f"/other{number}").body == raw.pattern(100 * KIB)
            assert server.ask(f"/small{number}").body == raw.pattern(1 * KIB)
        assert connection.receive_exactly(size) == raw.pattern(size)


def test_clients_that_vanish_leave_nothing_behind(place, serve):
    """Descriptors that stay open show up as 503 under this limit; leaks, in the exit code under a
    sanitizer."""
    for number in range(64):
        write(place, f"file{number}", raw.pattern(300 * KIB))
    server = serve("--cache-entries", "4", "--revalidate-ms", "1", descriptors=48)
    for number in range(256):
        connection = server.connect(receive_buffer=4096)
        connection.send(raw.request("GET", f"/file{number % 64}"))
        if number % 2:
            connection.head()
        connection.reset()
    for number in range(64):
        assert server.ask(f"/file{number}").body == raw.pattern(300 * KIB)


def test_a_folder_swapped_for_a_link_never_shows_the_outside(place, serve):
    inside, outside, spare = (os.path.join(place, name) for name in ("dir", "link", "spare"))
    write(place, "dir/secret.txt", b"inside")
    os.symlink("..", outside)
    server = serve("--revalidate-ms", "1")
    stop, bodies, errors = threading.Event(), set(), []

    def read():
        try:
            with server.connect() as connection:
                while not stop.is_set():
                    response = connection.ask("GET", "/dir/secret.txt")
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
        # a busy machine may let few readers in between
        if errors or (swaps >= 1500 and (200, b"inside") in bodies):
            break
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors
    assert (200, b"inside") in bodies
    assert not [body for _, body in bodies if SECRET in body]


def test_running_out_of_descriptors_is_503(place, serve):
    write(place, "cached", b"cached")
    for number in range(64):
        write(place, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--revalidate-ms", "3600000", descriptors=40)
    assert server.ask("/cached").body == b"cached"
    first = server.connect()
    assert first.ask("GET", "/cached").status == 200
    first.send(b"GET /file0 HTTP/1.1\r\nHost: a\r\n")  # who has begun a request does not make way
    crowd = [server.connect() for _ in range(48)]  # more than it may accept
    for connection in crowd:
        connection.send(b"GET / HTTP/1.1\r\n")
    eventually(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) >= 35,
               "all but the reserve for files are used")
    targets = [f"/file{number}" for number in range(1, 8)] + ["/cached"]
    first.send(b"\r\n" + b"".join(raw.request("GET", target) for target in targets))
    *answers, cached = first.responses(1 + len(targets))
    statuses = [answer.status for answer in answers]
    assert 503 in statuses and set(statuses) <= {200, 503}
    assert cached.body == b"cached"
    first.close()
    for connection in crowd:
        connection.close()
    eventually(lambda: server.ask("/file9").status == 200, "there are descriptors again")
