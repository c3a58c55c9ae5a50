"""What a folder's cache does as seen from outside: one look at the disk for many who ask, paths
that are not there, changes that the system tells of, files loaded ahead.
tests/unit/test_static_cache.c holds the server's trips to the disk up and counts them."""

import ctypes
import os
import re
import resource
import shutil
import subprocess
import threading

import pytest

import raw
from program import Program, run
from static_server import KIB, place, replace, serve, url, write  # noqa: F401 (fixtures)
from wire_server import eventually

HOUR = "3600000"


def open_files(server, root):
    """Names of the files below the root that the server has open."""
    names = []
    folder = f"/proc/{server.process.pid}/fd"
    for number in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{number}")
        except OSError:  # closed meanwhile
            continue
        if target.startswith(os.path.realpath(root) + "/"):
            names.append(os.path.relpath(target, os.path.realpath(root)))
    return sorted(names)


def start_traced(place, trace, calls, *flags):
    """A server whose calls of these names are written to a file."""
    return Program(
        "uvhttp",
        "serve",
        place,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        "1",
        *flags,
        # which cannot be done to a process that is traced
        environment={"ASAN_OPTIONS": "detect_leaks=0"},
        wrapper=("strace", "-f", "-e", f"trace={calls}", "-o", str(trace)))


def end_traced(server):
    """strace passes no signals on: its child is the server."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True,
        text=True).stdout
    os.kill(int(children), 15)
    assert server.wait() == 0


def test_a_crowd_gets_one_file(place, serve):
    """All of them the whole of it, whether they came before, while or after it was read."""
    content = raw.pattern(300 * KIB)
    write(place, "popular", content)
    write(place, "sub/index.html", b"index")
    server = serve("--revalidate-ms", HOUR)
    for target, status, body in (("/popular", 200, content), ("/sub/", 200, b"index"),
                                 ("/sub", 301, None), ("/missing", 404, None)):
        connections = [server.connect() for _ in range(200)]
        for connection in connections:
            connection.send(raw.request("GET", target))
        for connection in connections:
            response = connection.response()
            assert response.status == status
            assert body is None or response.body == body
            connection.close()
    assert open_files(server, place) == ["popular"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_crowd_costs_one_open(place, tmp_path):
    """Counted by the system. The others come on connections that are there already, with requests
    that are sent at once."""
    write(place, "popular", raw.pattern(300 * KIB))
    trace = tmp_path / "trace"
    server = start_traced(place, trace, "openat2,openat", "--revalidate-ms", HOUR)
    connections = [server.connect() for _ in range(200)]
    for connection in connections:
        connection.send(raw.request("GET", "/popular"))
    for connection in connections:
        assert connection.response().status == 200
        connection.close()
    end_traced(server)
    opened = [line for line in trace.read_text().splitlines() if '"popular"' in line]
    assert len([line for line in opened if "O_PATH" not in line]) == 1  # read
    assert len([line for line in opened if "O_PATH" in line]) == 1  # looked at


def test_clients_that_leave_take_nothing_from_others(place, serve):
    for number in range(40):
        write(place, f"file{number}", raw.pattern(20 * KIB, number))
    server = serve("--revalidate-ms", "1")
    for number in range(40):
        first, second, third = (server.connect() for _ in range(3))
        for connection in (first, second, third):
            connection.send(raw.request("GET", f"/file{number}"))
        first.reset()
        assert second.response().body == raw.pattern(20 * KIB, number)
        third.reset()
        second.close()
    assert server.ask("/file0").status == 200


def test_pipelined_requests_stay_in_order(place, serve):
    """What waits is answered in its turn."""
    write(place, "a", b"a")
    write(place, "b", b"b")
    server = serve("--revalidate-ms", "1")
    with server.connect() as one, server.connect() as other:
        for _ in range(50):
            for connection in (one, other):
                connection.send(
                    raw.request("GET", "/a") + raw.request("GET", "/none") +
                    raw.request("GET", "/b") + raw.request("GET", "/a"))
            for connection in (one, other):
                assert [connection.response().body
                        for _ in range(4)] == [b"a", b"404 Not Found\n", b"b", b"a"]


def test_a_file_that_appears_shows_when_its_time_has_come(place, serve):
    eager, lazy = serve("--negative-ms", "20"), serve("--negative-ms", HOUR, "--revalidate-ms", "1")
    for server in (eager, lazy):
        assert server.ask("/late").status == 404
        assert server.ask("/").status == 403
    write(place, "late", b"here")
    write(place, "index.html", b"index")
    eventually(lambda: eager.ask("/late").body == b"here", "the file is there")
    eventually(lambda: eager.ask("/").body == b"index", "the index is there")
    assert lazy.ask("/late").status == 404
    assert lazy.ask("/").status == 403


def test_names_that_do_not_exist_push_out_no_files(place, serve):
    """A descriptor in the cache is one that was not thrown out."""
    for number in range(8):
        write(place, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--cache-entries", "8", "--revalidate-ms", HOUR, "--negative-ms", HOUR)
    for number in range(8):
        assert server.ask(f"/file{number}").status == 200
    kept = open_files(server, place)
    assert len(kept) == 8
    with server.connect() as connection:
        for number in range(1000):
            assert connection.ask("GET", f"/wp-admin/{number}" + "x" * (number % 400)).status == 404
    assert open_files(server, place) == kept


def test_cache_descriptors(place, serve):
    for number in range(8):
        write(place, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--cache-descriptors", "3", "--revalidate-ms", HOUR)
    for number in range(8):
        assert server.ask(f"/file{number}").body == raw.pattern(100 * KIB)
    assert open_files(server, place) == ["file5", "file6", "file7"]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_watched_changes_show_at_once(place, serve, workers):
    """Every other way to notice them would take an hour."""
    write(place, "v1/page", b"one")
    write(place, "v2/page", b"two")
    write(place, "file", b"old")
    os.symlink("v1", os.path.join(place, "current"))
    server = serve("--watch", "--revalidate-ms", HOUR, "--negative-ms", HOUR, "--workers", workers)

    def ask(target):
        """Of as many connections as it takes to meet every worker, which must agree."""
        answers = {(answer.status, answer.body)
                   for answer in (server.ask(target) for _ in range(4 * int(workers)))}
        return answers.pop() if len(answers) == 1 else (None, None)

    assert ask("/file") == (200, b"old")
    assert ask("/current/page") == (200, b"one")
    assert ask("/late/file")[0] == 404
    assert ask("/late")[0] == 404
    replace(place, "file", b"new")
    eventually(lambda: ask("/file") == (200, b"new"), "another file has its name")
    write(place, "file", b"written over")
    eventually(lambda: ask("/file") == (200, b"written over"), "it was written")
    with open(os.path.join(place, "file"), "ab") as file:
        file.write(b" and on")
    eventually(lambda: ask("/file") == (200, b"written over and on"), "it was appended to")
    os.chmod(os.path.join(place, "file"), 0)
    if os.geteuid() != 0:
        eventually(lambda: ask("/file")[0] == 403, "it may not be read")
    os.remove(os.path.join(place, "file"))
    eventually(lambda: ask("/file")[0] == 404, "it is gone")
    os.symlink("v2", os.path.join(place, "next"))
    os.replace(os.path.join(place, "next"), os.path.join(place, "current"))
    eventually(lambda: ask("/current/page") == (200, b"two"), "the link leads elsewhere")
    write(place, "late/file", b"here")
    eventually(lambda: ask("/late/file") == (200, b"here"), "a folder has appeared")
    eventually(lambda: ask("/late")[0] == 301, "and is one")
    os.rename(os.path.join(place, "late"), os.path.join(place, "gone"))
    eventually(lambda: ask("/late/file")[0] == 404, "it has moved")
    write(place, "late/file", b"another")
    eventually(lambda: ask("/late/file") == (200, b"another"), "another has its name")


def test_a_change_once_seen_stays(place, serve):
    """While a file is replaced all the time, no connection sees an older version after a newer
    one."""
    def version(number):
        return b"%08d" % number

    write(place, "file", version(0))
    server = serve("--watch", "--revalidate-ms", HOUR)
    stop, errors = threading.Event(), []

    def read():
        try:
            last = b""
            with server.connect() as connection:
                while not stop.is_set():
                    body = connection.ask("GET", "/file").body
                    assert body >= last
                    last = body
        except Exception as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(1, 1500):
        replace(place, "file", version(number))
    eventually(lambda: server.ask("/file").body == version(1499), "the last one shows")
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors


def private_mounts():
    """Of the new process alone: CLONE_NEWNS, and what it mounts stays there (MS_REC |
    MS_PRIVATE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def in_mounts_of(server, script):
    """Runs a script of the shell where the server's mounts are."""
    subprocess.run(
        ["nsenter", "-t", str(server.process.pid), "-m", "sh", "-ec", script], check=True,
        capture_output=True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nsenter") is None,
                    reason="only the superuser may mount, and needs nsenter")
def test_mount_over_a_watched_folder_is_noticed(place, serve):
    """So are changes below it, and the end of the mount."""
    write(place, "a/d/file", b"below")
    write(place, "a/d/e/file", b"below")
    try:
        server = serve("--watch", "--revalidate-ms", HOUR, "--negative-ms", HOUR,
                       prepare=private_mounts)
    except subprocess.SubprocessError:
        pytest.skip("a process may have no mounts of its own here")
    targets = ("/a/d/file", "/a/d/e/file", "/a/d/missing")

    def answers():
        return [server.ask(target).body for target in targets]

    before = answers()
    assert before == [b"below", b"below", b"404 Not Found\n"]
    in_mounts_of(
        server,
        f"mount -t tmpfs none {place}/a/d; cd {place}/a/d; mkdir e; printf over | tee file "
        f"missing > e/file"
    )
    eventually(lambda: answers() == [b"over"] * 3, "what was mounted is served")
    in_mounts_of(
        server,
        f"cd {place}/a/d; printf again > new; mv new file; printf again > e/file; rm missing")
    eventually(lambda: answers() == [b"again", b"again", b"404 Not Found\n"],
               "its changes are told")
    in_mounts_of(server, f"umount {place}/a/d")
    eventually(lambda: answers() == before, "what was below is served again")
    write(place, "a/d/e/file", b"changed")
    eventually(lambda: server.ask("/a/d/e/file").body == b"changed", "its changes are told")


def test_watches_go_with_the_server(place, serve):
    for number in range(20):
        write(place, f"dir{number}/file", b"x")
    server = serve("--watch")
    for number in range(20):
        assert server.ask(f"/dir{number}/file").status == 200
    info = f"/proc/{server.process.pid}/fdinfo"

    def watches():
        count = 0
        for number in os.listdir(info):
            try:
                with open(f"{info}/{number}") as file:
                    count += len(re.findall("^inotify wd:", file.read(), re.M))
            except OSError:  # closed meanwhile
                pass
        return count

    assert watches() == 21
    for number in range(20):
        shutil.rmtree(os.path.join(place, f"dir{number}"))
    eventually(lambda: watches() == 1, "folders that are gone are not watched")


def test_prewarm(place, serve):
    for name in ("a.css", "deep/b.css", "deep/er/c.css", "deep/c.js", "index.html"):
        write(place, name, raw.pattern(100 * KIB))
    server = serve("--prewarm", "*.css /index.html deep/*.js", "--revalidate-ms", HOUR)
    loaded = ["a.css", "deep/b.css", "deep/c.js", "deep/er/c.css", "index.html"]
    assert open_files(server, place) == loaded
    for name in loaded:
        assert server.ask(url(name)).body == raw.pattern(100 * KIB)
    server = serve("--prewarm", "deep/**", "--cache-descriptors", "2")
    assert len(open_files(server, place)) == 2


@pytest.mark.parametrize("words, message", [
    ("/nope", "'/nope' cannot be loaded from '{}': no such file or directory"),
    ("/file *.nope", "'*.nope' cannot be loaded from '{}': no file matches it"),
    ("a[",
     "'a[' cannot be loaded from '{}': not a pattern: a '[' has no ']', or it is longer than "
     "512 bytes"
     ),
])
def test_prewarm_says_what_is_wrong(place, words, message):
    write(place, "file", b"x")
    done = run("uvhttp", "serve", place, "--listen", "127.0.0.1:0", "--prewarm", words)
    assert (done.returncode,
            done.stderr) == (1,
                             "uvhttp: --prewarm: " + message.format(os.path.realpath(place)) + "\n")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("size", [10 * KIB, 50 * KIB])  # in memory, and on the disk
def test_a_file_that_is_asked_for_often_costs_one_call_and_no_copy(place, tmp_path, size):
    """From memory, head and all; with --response-cache-memory 0 it takes another call for the head.
    What clients get is the same."""
    content = raw.pattern(size)
    write(place, "often", content)
    answers = {}
    for memory in ("8M", "0"):
        trace = tmp_path / f"trace-{memory}"
        server = start_traced(place, trace, "sendfile,sendmsg,sendto,memfd_create",
                              "--revalidate-ms", HOUR, "--response-cache-memory", memory)
        with server.connect() as connection:
            answers[memory] = [connection.ask("GET", "/often") for _ in range(200)]
        end_traced(server)
        calls = trace.read_text()
        heads = calls.count("sendto(") + calls.count("sendmsg(")
        if memory == "0" or "memfd_create(" not in calls:  # or Linux before 6.5
            assert (heads, calls.count("memfd_create(")) == (200, 0)
        else:
            assert heads < 100 and heads + calls.count("sendfile(") < 200 * 1.5
    for one, other in zip(answers["8M"], answers["0"]):
        assert one.body == other.body == content
        assert [field for field in one.fields
                if field[0] != "Date"] == [field for field in other.fields if field[0] != "Date"]


@pytest.mark.parametrize("size", [9 * KIB, 40 * KIB])  # in memory, and on the disk
def test_a_file_that_changes_while_it_is_asked_for_often(place, serve, size):
    """Head and body are always of one state, and the next one is seen at once when the system tells
    of it."""
    server = serve("--watch")
    with server.connect() as connection:
        for version in range(20):
            content = raw.pattern(size + version, version)
            replace(place, "often", content)
            eventually(lambda: connection.ask("GET", "/often").body == content,
                       "the new state is served")
            tags = set()
            for _ in range(40):
                response = connection.ask("GET", "/often")
                assert response.body == content
                tags.add(response.get("ETag"))
            assert len(tags) == 1
            assert connection.ask("GET", "/often", f"If-None-Match: {tags.pop()}").status == 304


def test_a_limit_on_the_size_of_files_ends_nothing(place, serve):
    """It holds for files in memory, too, and the system sends a signal to whoever writes past
    it."""
    content = raw.pattern(10 * KIB)
    write(place, "often", content)
    server = serve(prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 * KIB, 8 * KIB)))
    with server.connect() as connection:
        for _ in range(50):
            assert connection.ask("GET", "/often").body == content


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_answers_of_small_parts_leave_together(place, tmp_path):
    write(place, "file", raw.pattern(2 * KIB))
    trace = tmp_path / "trace"
    server = start_traced(place, trace, "sendmsg,sendto,sendfile")
    with server.connect() as connection:
        assert connection.ask("GET", "/file").status == 200
        connection.send(raw.request("GET", "/file", "Range: bytes=0-9,100-109") * 16)
        for response in connection.responses(16):
            assert response.status == 206
    end_traced(server)
    calls = trace.read_text()
    assert sum(calls.count(f"{call}(") for call in ("sendmsg", "sendto", "sendfile")) <= 3
