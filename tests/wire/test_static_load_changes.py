"""Files that are replaced, cut, deleted and touched while many clients ask for them: every answer
is one version of its file as it was at some moment, and none is older than was promised.

Each version is its own proof: a line with the file's number, the version's number and size, and a
digest of the rest, which is random. An answer is right when it verifies against itself. A change
ends before a request is sent or it does not: both are stamped by one process with the system's
monotonic clock, so an answer's age (how long a newer version had been complete when the request was
sent) compares stamps and waits for nothing. The server looks again `revalidate_ms` after the last
look began, and while a look is under way, on a machine that has no time for it, it goes on with
what it has for one more interval. So an age beyond two intervals is an error however busy the
machine is, but for SLACK, which is for the clock of the server's loop; how many were beyond one is
printed with the oldest.

Bounded by the number of changes, CHANGES. UVHTTP_CHANGES_SECONDS=60 makes it run for so many
seconds instead:

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
from static_server import KIB, place, serve  # noqa: F401 (fixtures)
from wire_server import eventually

SECONDS = float(os.environ.get("UVHTTP_CHANGES_SECONDS", "0"))
CHANGES = 600
INTERVAL = 0.2
SLACK = 0.1
READERS = 6
SIZES = [0, 100, 5 * KIB, 15 * KIB, 17 * KIB, 90 * KIB, 400 * KIB]
HEAD = 128  # bytes of the line at the front


def content(file, version, size, source):
    """A version: all of it random but the line, so that no two have a block in common."""
    if size < HEAD:
        size = HEAD
    rest = source.randbytes(size - HEAD)
    line = b"%d %d %d %s" % (file, version, size,
                             hashlib.sha256(rest + b"%d %d" % (file, version)).hexdigest().encode())
    return line.ljust(HEAD - 1) + b"\n" + rest


def check(file, body):
    """The version of a body that is one, or an assertion."""
    assert len(body) >= HEAD, f"{len(body)} bytes: {body[:60]!r}"
    number, version, size, digest = body[:HEAD].split()
    assert int(number) == file, f"asked for file {file}, got {int(number)}"
    assert int(size) == len(
        body), f"{len(body)} bytes of version {int(version)}, which has {int(size)}"
    made = hashlib.sha256(body[HEAD:] + b"%d %d" % (file, int(version))).hexdigest()
    assert made.encode() == digest, f"bytes that are not of version {int(version)}"
    return int(version)


class File:
    """What has been done to one file. `states[i]` is (version or None when it is gone, when that
    was complete)."""
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
        """New dates, old ones among them: the content stays."""
        if os.path.exists(self.path):
            when = self.source.choice([10 ** 18, time.time_ns(), time.time_ns() + 10 ** 12])
            os.utime(self.path, ns=(when, when))

    def age(self, version, sent):
        """For how long a newer state than this one had been complete when a request was sent; 0
        when none had."""
        states = list(self.states)
        known = [i for i, (one, _) in enumerate(states) if one == version]
        # seen before its change was noted: newer than all that was
        last = known[-1] if known else len(states) - 1
        assert known or version in (self.version,
                                    None), f"{self.name}: version {version} of {self.version}"
        if last + 1 == len(states):
            return 0.0
        return sent - states[last + 1][1]


class Reader(threading.Thread):
    """Asks for files, and keeps the largest age of an answer."""
    def __init__(self, server, files, stop, judge, seed):
        super().__init__()
        self.server, self.files, self.stop, self.judge = server, files, stop, judge
        self.random = random.Random(seed)
        self.answers, self.cut, self.oldest, self.late, self.error = {}, 0, 0.0, 0, None

    def run(self):
        try:
            connection = self.server.connect()
            while not self.stop.is_set():
                file = self.random.choice(self.files)
                sent = time.monotonic()
                connection.send(raw.request("GET", "/" + file.name))
                try:
                    answer = connection.response()
                except (AssertionError, ConnectionResetError) as error:
                    # A body that ends early with its connection, which a client can tell from a
                    # whole one.
                    if not isinstance(error,
                                      ConnectionResetError) and "bytes early" not in str(error):
                        raise
                    self.cut += 1
                    connection.close()
                    connection = self.server.connect()
                    continue
                self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
                assert answer.status in (200, 404), answer
                age = self.judge(file, answer, sent)
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
    sys.setswitchinterval(0.0001)  # else the one that changes waits for six that ask
    try:
        source, end = random.Random(1), time.monotonic() + SECONDS
        while not stop.is_set() and (time.monotonic() < end if SECONDS else count < CHANGES):
            source.choices(*steps)[0](source.choice(files))
            count += 1
            # A few milliseconds between changes, so that there are answers between them too.
            stop.wait(source.choice([0, 0.001, 0.005]))
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for reader in readers:
            reader.join()
    errors = [reader.error for reader in readers if reader.error]
    assert not errors, errors
    answers = {}
    for reader in readers:
        for status, number in reader.answers.items():
            answers[status] = answers.get(status, 0) + number
    oldest, cut = max(reader.oldest for reader in readers), sum(reader.cut for reader in readers)
    late = sum(reader.late for reader in readers)
    print(
        f"\n{count} changes, answers {answers}, {cut} cut off, the oldest {oldest * 1000:.0f} ms "
        f"old, {late} older than {INTERVAL * 1000:.0f} ms"
    )
    assert answers.get(200, 0) > 100
    return oldest, cut, answers


@pytest.mark.parametrize("workers", ["1", "2"])
def test_replaced_deleted_and_touched_under_load(place, serve, workers):
    """Rename and unlink change a file in one step, so every 200 is exactly one version, whole, and
    of the last INTERVAL."""
    source = random.Random(20)
    files = [File(place, number, source) for number in range(12)]

    def judge(file, answer, sent):
        if answer.status == 200:
            age = file.age(check(file.number, answer.body), sent)
        elif file.deleting:
            age = 0.0
        else:
            assert any(version is None
                       for version, _ in file.states), f"{file.name} was never deleted"
            age = file.age(None, sent)
        assert age <= INTERVAL + SLACK, f"{file.name}: an answer of {age * 1000:.0f} ms ago"
        return age

    server = serve("--workers", workers, "--revalidate-ms", str(int(INTERVAL * 1000)))
    _, cut, answers = play(server, files, ([File.replace, File.delete, File.touch], [6, 1, 3]),
                           judge)
    assert cut == 0, "nothing was shortened, so nothing may end early"
    assert answers.get(404, 0) > 0
    for file in files:  # and in the end all are served as they are
        file.replace()
        with open(file.path, "rb") as now:
            body = now.read()
        with server.connect() as connection:
            eventually(lambda: connection.ask("GET", "/" + file.name).body == body,
                       "the last version is served")


def test_cut_and_rewritten_in_place_under_load(place, serve):
    """Such a file has states between two versions: a reader may see the front of the one that is
    being written, and never bytes of two. (Files that are small enough for the memory: of a large
    one, which the system itself sends while it changes, a client sees what the system shows.)"""
    source = random.Random(21)
    files = [File(place, number, source) for number in range(6)]
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

    def judge(file, answer, sent):
        assert answer.status == 200
        body = answer.body
        if body == b"":
            return 0.0
        with lock:
            version = int(body.split()[1]) if len(body) >= HEAD else 0
            assert version in written[file.number], f"{file.name}: {len(body)} bytes of no version"
            assert written[file.number][version].startswith(
                body), f"{file.name}: bytes that are not the front of version {version}"
        return 0.0

    server = serve("--revalidate-ms", "20", "--memory-file-size", "16K")
    play(server, files, ([rewrite, cut, File.touch], [6, 2, 2]), judge)
    for file in files:
        rewrite(file)
    with server.connect() as connection:
        for file in files:
            eventually(
                lambda: connection.ask("GET", "/" + file.name).body == written[file.number][
                    file.version], "the last version is served")
