"""The file cache of a directory, tested from outside: one lookup on disk for many clients, missing
paths, changes reported by inotify, prewarming. tests/unit/test_static_cache.c blocks the server's
file system calls and counts them."""

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
from static_server import KIB, replace, root, serve, url, write  # noqa: F401 (fixtures)
from wire_server import eventually

HOUR = "3600000"


def open_files(server, root):
    """Names of the open files of the server below the root."""
    names = []
    directory = f"/proc/{server.process.pid}/fd"
    for number in os.listdir(directory):
        try:
            target = os.readlink(f"{directory}/{number}")
        except OSError:  # closed in the meantime
            continue
        if target.startswith(os.path.realpath(root) + "/"):
            names.append(os.path.relpath(target, os.path.realpath(root)))
    return sorted(names)


def start_traced(root, trace, calls, *flags):
    """A server whose system calls of these names are written to a file."""
    return Program(
        "uvhttp",
        "serve",
        root,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        "1",
        *flags,
        # This is impossible for a traced process.
        environment={"ASAN_OPTIONS": "detect_leaks=0"},
        wrapper=("strace", "-f", "-e", f"trace={calls}", "-o", str(trace)))


def end_traced(server):
    """strace does not forward signals: the server is its child."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True,
        text=True).stdout
    os.kill(int(children), 15)
    assert server.wait() == 0


def test_concurrent_requests_get_whole_file(root, serve):
    """Every client gets the whole file, before, during and after its load."""
    content = raw.pattern(300 * KIB)
    write(root, "popular", content)
    write(root, "sub/index.html", b"index")
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
    assert open_files(server, root) == ["popular"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_concurrent_requests_open_file_once(root, tmp_path):
    """strace counts the calls. The other clients use open connections and send their requests at
    once."""
    write(root, "popular", raw.pattern(300 * KIB))
    trace = tmp_path / "trace"
    server = start_traced(root, trace, "openat2,openat", "--revalidate-ms", HOUR)
    connections = [server.connect() for _ in range(200)]
    for connection in connections:
        connection.send(raw.request("GET", "/popular"))
    for connection in connections:
        assert connection.response().status == 200
        connection.close()
    end_traced(server)
    opened = [line for line in trace.read_text().splitlines() if '"popular"' in line]
    assert len([line for line in opened if "O_PATH" not in line]) == 1  # read
    assert len([line for line in opened if "O_PATH" in line]) == 1  # lookup


def test_disconnect_during_load_keeps_other_responses(root, serve):
    for number in range(40):
        write(root, f"file{number}", raw.pattern(20 * KIB, number))
    server = serve("--revalidate-ms", "1")
    for number in range(40):
        first, second, third = (server.connect() for _ in range(3))
        for connection in (first, second, third):
            connection.send(raw.request("GET", f"/file{number}"))
        first.reset()
        assert second.response().body == raw.pattern(20 * KIB, number)
        third.reset()
        second.close()
    assert server.request("/file0").status == 200


def test_pipelined_requests_with_pending_loads_keep_order(root, serve):
    """Requests that wait for a load get their responses in order."""
    write(root, "a", b"a")
    write(root, "b", b"b")
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


def test_negative_ms_limits_cached_404(root, serve):
    eager, lazy = serve("--negative-ms", "20"), serve("--negative-ms", HOUR, "--revalidate-ms", "1")
    for server in (eager, lazy):
        assert server.request("/late").status == 404
        assert server.request("/").status == 403
    write(root, "late", b"here")
    write(root, "index.html", b"index")
    eventually(lambda: eager.request("/late").body == b"here", "the file is served")
    eventually(lambda: eager.request("/").body == b"index", "the index is served")
    assert lazy.request("/late").status == 404
    assert lazy.request("/").status == 403


def test_missing_names_evict_no_files(root, serve):
    """A cached file has an open descriptor."""
    for number in range(8):
        write(root, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--cache-entries", "8", "--revalidate-ms", HOUR, "--negative-ms", HOUR)
    for number in range(8):
        assert server.request(f"/file{number}").status == 200
    kept = open_files(server, root)
    assert len(kept) == 8
    with server.connect() as connection:
        for number in range(1000):
            assert connection.request("GET",
                                      f"/wp-admin/{number}" + "x" * (number % 400)).status == 404
    assert open_files(server, root) == kept


def test_cache_descriptors_option_limits_open_files(root, serve):
    for number in range(8):
        write(root, f"file{number}", raw.pattern(100 * KIB))
    server = serve("--cache-descriptors", "3", "--revalidate-ms", HOUR)
    for number in range(8):
        assert server.request(f"/file{number}").body == raw.pattern(100 * KIB)
    assert open_files(server, root) == ["file5", "file6", "file7"]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_inotify_changes_are_served_at_once(root, serve, workers):
    """Any other way to detect the changes would take an hour."""
    write(root, "v1/page", b"one")
    write(root, "v2/page", b"two")
    write(root, "file", b"old")
    os.symlink("v1", os.path.join(root, "current"))
    server = serve("--watch", "--revalidate-ms", HOUR, "--negative-ms", HOUR, "--workers", workers)

    def fetch(target):
        """On as many connections as are needed to reach every worker. All responses must be
        equal."""
        responses = {(response.status, response.body)
                     for response in (server.request(target) for _ in range(4 * int(workers)))}
        return responses.pop() if len(responses) == 1 else (None, None)

    assert fetch("/file") == (200, b"old")
    assert fetch("/current/page") == (200, b"one")
    assert fetch("/late/file")[0] == 404
    assert fetch("/late")[0] == 404
    replace(root, "file", b"new")
    eventually(lambda: fetch("/file") == (200, b"new"), "the file is replaced")
    write(root, "file", b"written over")
    eventually(lambda: fetch("/file") == (200, b"written over"), "the file is overwritten")
    with open(os.path.join(root, "file"), "ab") as file:
        file.write(b" and on")
    eventually(lambda: fetch("/file") == (200, b"written over and on"), "data is appended")
    os.chmod(os.path.join(root, "file"), 0)
    if os.geteuid() != 0:
        eventually(lambda: fetch("/file")[0] == 403, "the file is unreadable")
    os.remove(os.path.join(root, "file"))
    eventually(lambda: fetch("/file")[0] == 404, "the file is missing")
    os.symlink("v2", os.path.join(root, "next"))
    os.replace(os.path.join(root, "next"), os.path.join(root, "current"))
    eventually(lambda: fetch("/current/page") == (200, b"two"), "the symlink has a new target")
    write(root, "late/file", b"here")
    eventually(lambda: fetch("/late/file") == (200, b"here"), "a directory is created")
    eventually(lambda: fetch("/late")[0] == 301, "the directory redirects")
    os.rename(os.path.join(root, "late"), os.path.join(root, "gone"))
    eventually(lambda: fetch("/late/file")[0] == 404, "the directory is renamed")
    write(root, "late/file", b"another")
    eventually(lambda: fetch("/late/file") == (200, b"another"), "the directory is replaced")


def test_no_older_version_after_newer_one(root, serve):
    """While a file is replaced repeatedly, no connection gets an older version after a newer
    one."""
    def version(number):
        return b"%08d" % number

    write(root, "file", version(0))
    server = serve("--watch", "--revalidate-ms", HOUR)
    stop, errors = threading.Event(), []

    def read():
        try:
            last = b""
            with server.connect() as connection:
                while not stop.is_set():
                    body = connection.request("GET", "/file").body
                    assert body >= last
                    last = body
        except Exception as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(1, 1500):
        replace(root, "file", version(number))
    eventually(lambda: server.request("/file").body == version(1499), "the last version is served")
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors


def private_mounts():
    """A mount namespace of the new process: CLONE_NEWNS, and private mounts (MS_REC |
    MS_PRIVATE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def in_mounts_of(server, script):
    """Runs a shell script in the mount namespace of the server."""
    subprocess.run(
        ["nsenter", "-t", str(server.process.pid), "-m", "sh", "-ec", script], check=True,
        capture_output=True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nsenter") is None,
                    reason="only the superuser may mount, and needs nsenter")
def test_mount_over_watched_directory_is_detected(root, serve):
    """Changes below the mount point and the unmount are detected, too."""
    write(root, "a/d/file", b"below")
    write(root, "a/d/e/file", b"below")
    try:
        server = serve("--watch", "--revalidate-ms", HOUR, "--negative-ms", HOUR,
                       prepare=private_mounts)
    except subprocess.SubprocessError:
        pytest.skip("mount namespaces are not permitted here")
    targets = ("/a/d/file", "/a/d/e/file", "/a/d/missing")

    def responses():
        return [server.request(target).body for target in targets]

    before = responses()
    assert before == [b"below", b"below", b"404 Not Found\n"]
    in_mounts_of(
        server, f"mount -t tmpfs none {root}/a/d; cd {root}/a/d; mkdir e; printf over | tee file "
        f"missing > e/file")
    eventually(lambda: responses() == [b"over"] * 3, "the mounted file system is served")
    in_mounts_of(
        server,
        f"cd {root}/a/d; printf again > new; mv new file; printf again > e/file; rm missing")
    eventually(lambda: responses() == [b"again", b"again", b"404 Not Found\n"],
               "its changes are detected")
    in_mounts_of(server, f"umount {root}/a/d")
    eventually(lambda: responses() == before, "the original directory is served")
    write(root, "a/d/e/file", b"changed")
    eventually(lambda: server.request("/a/d/e/file").body == b"changed", "its changes are detected")


def test_inotify_watches_are_removed(root, serve):
    for number in range(20):
        write(root, f"dir{number}/file", b"x")
    server = serve("--watch")
    for number in range(20):
        assert server.request(f"/dir{number}/file").status == 200
    info = f"/proc/{server.process.pid}/fdinfo"

    def watches():
        count = 0
        for number in os.listdir(info):
            try:
                with open(f"{info}/{number}") as file:
                    count += len(re.findall("^inotify wd:", file.read(), re.M))
            except OSError:  # closed in the meantime
                pass
        return count

    assert watches() == 21
    for number in range(20):
        shutil.rmtree(os.path.join(root, f"dir{number}"))
    eventually(lambda: watches() == 1, "deleted directories are not watched")


def test_prewarm_loads_files(root, serve):
    for name in ("a.css", "deep/b.css", "deep/er/c.css", "deep/c.js", "index.html"):
        write(root, name, raw.pattern(100 * KIB))
    server = serve("--prewarm", "*.css /index.html deep/*.js", "--revalidate-ms", HOUR)
    loaded = ["a.css", "deep/b.css", "deep/c.js", "deep/er/c.css", "index.html"]
    assert open_files(server, root) == loaded
    for name in loaded:
        assert server.request(url(name)).body == raw.pattern(100 * KIB)
    server = serve("--prewarm", "deep/**", "--cache-descriptors", "2")
    assert len(open_files(server, root)) == 2


@pytest.mark.parametrize("words, message", [
    ("/nope", "'/nope' cannot be loaded from '{}': no such file or directory"),
    ("/file *.nope", "'*.nope' cannot be loaded from '{}': no file matches it"),
    ("a[", "'a[' cannot be loaded from '{}': not a pattern: a '[' has no ']', or it is longer than "
     "512 bytes"),
])
def test_prewarm_errors(root, words, message):
    write(root, "file", b"x")
    done = run("uvhttp", "serve", root, "--listen", "127.0.0.1:0", "--prewarm", words)
    assert (done.returncode,
            done.stderr) == (1,
                             "uvhttp: --prewarm: " + message.format(os.path.realpath(root)) + "\n")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("size", [10 * KIB, 50 * KIB])  # in memory, and on disk
def test_hot_file_takes_one_system_call(root, tmp_path, size):
    """Head and body are sent from memory. With --response-cache-memory 0 the head takes another
    call. The response is the same."""
    content = raw.pattern(size)
    write(root, "often", content)
    responses = {}
    for memory in ("8M", "0"):
        trace = tmp_path / f"trace-{memory}"
        server = start_traced(root, trace, "sendfile,sendmsg,sendto,memfd_create",
                              "--revalidate-ms", HOUR, "--response-cache-memory", memory)
        with server.connect() as connection:
            responses[memory] = [connection.request("GET", "/often") for _ in range(200)]
        end_traced(server)
        calls = trace.read_text()
        heads = calls.count("sendto(") + calls.count("sendmsg(")
        if memory == "0" or "memfd_create(" not in calls:  # or Linux before 6.5
            assert (heads, calls.count("memfd_create(")) == (200, 0)
        else:
            assert heads < 100 and heads + calls.count("sendfile(") < 200 * 1.5
    for one, other in zip(responses["8M"], responses["0"]):
        assert one.body == other.body == content
        assert [field for field in one.fields
                if field[0] != "Date"] == [field for field in other.fields if field[0] != "Date"]


@pytest.mark.parametrize("size", [9 * KIB, 40 * KIB])  # in memory, and on disk
def test_hot_file_change_is_served_at_once(root, serve, size):
    """Head and body always belong to the same version. A new version is served as soon as inotify
    reports it."""
    server = serve("--watch")
    with server.connect() as connection:
        for version in range(20):
            content = raw.pattern(size + version, version)
            replace(root, "often", content)
            eventually(lambda: connection.request("GET", "/often").body == content,
                       "the new version is served")
            tags = set()
            for _ in range(40):
                response = connection.request("GET", "/often")
                assert response.body == content
                tags.add(response.get("ETag"))
            assert len(tags) == 1
            assert connection.request("GET", "/often", f"If-None-Match: {tags.pop()}").status == 304


def test_file_size_limit_does_not_end_server(root, serve):
    """RLIMIT_FSIZE also applies to files in memory. A write beyond it raises SIGXFSZ."""
    content = raw.pattern(10 * KIB)
    write(root, "often", content)
    server = serve(prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 * KIB, 8 * KIB)))
    with server.connect() as connection:
        for _ in range(50):
            assert connection.request("GET", "/often").body == content


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_pipelined_multipart_responses_are_sent_together(root, tmp_path):
    write(root, "file", raw.pattern(2 * KIB))
    trace = tmp_path / "trace"
    server = start_traced(root, trace, "sendmsg,sendto,sendfile")
    with server.connect() as connection:
        assert connection.request("GET", "/file").status == 200
        connection.send(raw.request("GET", "/file", "Range: bytes=0-9,100-109") * 16)
        for response in connection.responses(16):
            assert response.status == 206
    end_traced(server)
    calls = trace.read_text()
    assert sum(calls.count(f"{call}(") for call in ("sendmsg", "sendto", "sendfile")) <= 3
