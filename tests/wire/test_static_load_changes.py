"""Files that are replaced, truncated, deleted and touched while many clients request them. Every
response is one version of its file, and none is older than the revalidation interval allows.

Each version verifies itself: its first line contains the number of the file, the version's number
and size, and a digest of the random rest. A change ends before a request is sent, or does not: both
times are stamped by one process with the system's monotonic clock. So the age of a response (the
time between the completion of a newer version and the request) is the difference of two stamps; the
test waits for nothing. The server revalidates `revalidate_ms` after the last check began. While a
check is in progress on a busy machine, it uses the cached entry for one more interval. So an age
beyond two intervals is an error on any machine. SLACK covers the clock of the server's loop. The
test prints the number of ages beyond one interval, and the highest age.

The number of changes is CHANGES. UVHTTP_CHANGES_SECONDS=60 runs the test for that many seconds
instead:

UVHTTP_CHANGES_SECONDS=60 /usr/bin/python3 -m pytest -s tests/wire/test_static_load_changes.py
"""

import hashlib
import os
import random
import sys
import threading
import time

import pytest

import raw
from static_server import KIB, root, serve  # noqa: F401 (fixtures)
from wire_server import eventually

SECONDS = float(os.environ.get("UVHTTP_CHANGES_SECONDS", "0"))
CHANGES = 600
INTERVAL = 0.2
SLACK = 0.1
READERS = 6
SIZES = [0, 100, 5 * KIB, 15 * KIB, 17 * KIB, 90 * KIB, 400 * KIB]
HEAD = 128  # length of the first line in bytes


def content(file, version, size, source):
    """A version. All but the first line is random, so that no two versions have a block in
    common."""
    if size < HEAD:
        size = HEAD
    rest = source.randbytes(size - HEAD)
    line = b"%d %d %d %s" % (file, version, size,
                             hashlib.sha256(rest + b"%d %d" % (file, version)).hexdigest().encode())
    return line.ljust(HEAD - 1) + b"\n" + rest


def check(file, body):
    """The version of a body. A body that is no version fails."""
    assert len(body) >= HEAD, f"{len(body)} bytes: {body[:60]!r}"
    number, version, size, digest = body[:HEAD].split()
    assert int(number) == file, f"requested file {file}, got {int(number)}"
    assert int(size) == len(
        body), f"{len(body)} bytes of version {int(version)}, which has {int(size)}"
    made = hashlib.sha256(body[HEAD:] + b"%d %d" % (file, int(version))).hexdigest()
    assert made.encode() == digest, f"bytes that do not belong to version {int(version)}"
    return int(version)


class File:
    """The changes of one file. `states[i]` is (version or None if deleted, time of its
    completion)."""
    def __init__(self, root, number, source):
        self.name, self.number, self.source = f"f{number}", number, source
        self.path = os.path.join(root, self.name)
        self.version = 0
        self.deleting = False
        self.states = []
        self.replace()

    def note(self, version):
        self.states.append((version, time.monotonic()))

    def replace(self):
        self.version += 1
        with open(self.path + ".new", "wb") as file:
            file.write(content(self.number, self.version, self.source.choice(SIZES), self.source))
        os.replace(self.path + ".new", self.path)
        self.note(self.version)

    def delete(self):
        if os.path.exists(self.path):
            self.deleting = True
            os.remove(self.path)
            self.note(None)
            self.deleting = False

    def touch(self):
        """New dates, also old ones: the content does not change."""
        if os.path.exists(self.path):
            when = self.source.choice([10 ** 18, time.time_ns(), time.time_ns() + 10 ** 12])
            os.utime(self.path, ns=(when, when))

    def age(self, version, sent):
        """The time between the completion of a newer state than this one and the request; 0 without
        a newer state."""
        newest, states = self.version, list(self.states)
        known = [i for i, (one, _) in enumerate(states) if one == version]
        # Seen before its change was recorded: it is newer than all recorded states.
        last = known[-1] if known else len(states) - 1
        assert known or version in (newest, None), f"{self.name}: version {version} of {newest}"
        if last + 1 == len(states):
            return 0.0
        return sent - states[last + 1][1]


class Reader(threading.Thread):
    """Requests files, and stores the highest age of a response."""
    def __init__(self, server, files, stop, judge, seed):
        super().__init__()
        self.server, self.files, self.stop, self.judge = server, files, stop, judge
        self.random = random.Random(seed)
        self.responses, self.cut, self.oldest, self.late, self.error = {}, 0, 0.0, 0, None

    def run(self):
        try:
            connection = self.server.connect()
            while not self.stop.is_set():
                file = self.random.choice(self.files)
                sent = time.monotonic()
                connection.send(raw.request("GET", "/" + file.name))
                try:
                    response = connection.response()
                except (AssertionError, ConnectionResetError) as error:
                    # A body that ends early with its connection. A client can detect this.
                    if not isinstance(error,
                                      ConnectionResetError) and "bytes early" not in str(error):
                        raise
                    self.cut += 1
                    connection.close()
                    connection = self.server.connect()
                    continue
                self.responses[response.status] = self.responses.get(response.status, 0) + 1
                assert response.status in (200, 404), response
                age = self.judge(file, response, sent)
                self.oldest, self.late = max(self.oldest, age), self.late + (age > INTERVAL + 0.002)
            connection.close()
        except BaseException as error:  # reported by the test
            self.error = error
            self.stop.set()


def play(server, files, steps, judge):
    stop = threading.Event()
    readers = [Reader(server, files, stop, judge, seed) for seed in range(READERS)]
    for reader in readers:
        reader.start()
    count, before = 0, sys.getswitchinterval()
    sys.setswitchinterval(0.0001)  # otherwise the writing thread waits for six reading threads
    try:
        source, end = random.Random(1), time.monotonic() + SECONDS
        while not stop.is_set() and (time.monotonic() < end if SECONDS else count < CHANGES):
            source.choices(*steps)[0](source.choice(files))
            count += 1
            # A few milliseconds between changes, so that responses occur between them, too.
            stop.wait(source.choice([0, 0.001, 0.005]))
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for reader in readers:
            reader.join()
    errors = [reader.error for reader in readers if reader.error]
    assert not errors, errors
    responses = {}
    for reader in readers:
        for status, number in reader.responses.items():
            responses[status] = responses.get(status, 0) + number
    oldest, cut = max(reader.oldest for reader in readers), sum(reader.cut for reader in readers)
    late = sum(reader.late for reader in readers)
    print(
        f"\n{count} changes, answers {responses}, {cut} cut off, the oldest {oldest * 1000:.0f} ms "
        f"old, {late} older than {INTERVAL * 1000:.0f} ms")
    assert responses.get(200, 0) > 100
    return oldest, cut, responses


@pytest.mark.parametrize("workers", ["1", "2"])
def test_files_replaced_deleted_touched_under_load(root, serve, workers):
    """rename and unlink change a file in one step. So every 200 is exactly one version, whole, and
    at most INTERVAL old."""
    source = random.Random(20)
    files = [File(root, number, source) for number in range(12)]

    def judge(file, response, sent):
        if response.status == 200:
            age = file.age(check(file.number, response.body), sent)
        elif file.deleting:
            age = 0.0
        else:
            assert any(version is None
                       for version, _ in file.states), f"{file.name} was never deleted"
            age = file.age(None, sent)
        assert age <= INTERVAL + SLACK, f"{file.name}: a response {age * 1000:.0f} ms old"
        return age

    server = serve("--workers", workers, "--revalidate-ms", str(int(INTERVAL * 1000)))
    _, cut, responses = play(server, files, ([File.replace, File.delete, File.touch], [6, 1, 3]),
                             judge)
    assert cut == 0, "no file was truncated, so no body may end early"
    assert responses.get(404, 0) > 0
    for file in files:  # at the end all files are served in their last version
        file.replace()
        with open(file.path, "rb") as now:
            body = now.read()
        with server.connect() as connection:
            eventually(lambda: connection.request("GET", "/" + file.name).body == body,
                       "the last version is served")


def test_files_truncated_and_rewritten_under_load(root, serve):
    """Such a file has states between two versions. A reader may get the beginning of the version
    that is being written, and never bytes of two versions. (The files are small enough for the
    cache memory. A large one is sent by sendfile while it changes.)"""
    source = random.Random(21)
    files = [File(root, number, source) for number in range(6)]
    lock = threading.Lock()
    written = {file.number: {} for file in files}
    for file in files:
        with open(file.path, "rb") as now:
            written[file.number][1] = now.read()

    def rewrite(file):
        file.version += 1
        body = content(file.number, file.version, source.choice([100, 5 * KIB, 15 * KIB]), source)
        with lock:
            written[file.number][file.version] = body
        with open(file.path, "r+b" if os.path.exists(file.path) else "w+b", buffering=0) as out:
            out.truncate(0)
            out.write(body)
        file.note(file.version)

    def cut(file):
        with open(file.path, "r+b", buffering=0) as out:
            out.truncate(min(source.choice([0, HEAD]), os.fstat(out.fileno()).st_size))
        file.note(file.version)

    for file in files:
        rewrite(file)

    def judge(file, response, sent):
        assert response.status == 200
        body = response.body
        if body == b"":
            return 0.0
        with lock:
            version = int(body.split()[1]) if len(body) >= HEAD else 0
            assert version in written[
                file.number], f"{file.name}: {len(body)} bytes that belong to no version"
            assert written[file.number][version].startswith(
                body), f"{file.name}: bytes that do not begin version {version}"
        return 0.0

    server = serve("--revalidate-ms", "20", "--memory-file-size", "16K")
    play(server, files, ([rewrite, cut, File.touch], [6, 2, 2]), judge)
    for file in files:
        rewrite(file)
    with server.connect() as connection:
        for file in files:
            eventually(
                lambda: connection.request("GET", "/" + file.name).body == written[file.number][
                    file.version], "the last version is served")
