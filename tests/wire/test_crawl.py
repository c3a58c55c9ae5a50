"""Crawls: every file of a tree is requested over 20 keep-alive connections, whole and by one random
range, and each byte is compared with the disk. One tree is the machine's shared data directory (or
all of /usr where that is small), the other has special names. The seed of the ranges is printed."""

import os
import queue
import random
import secrets
import shutil
import tempfile
import threading

import pytest

import raw
from static_server import StaticServer, url, write

CONNECTIONS = 20
REAL_TREES = ("/usr/share", "/usr")
REAL_FILES = 6000  # at most
WANTED = 5000  # at least
# Limits the amount of data on machines with fonts, sounds and archives of any size.
LARGEST = 8 * 1024 * 1024


def real_files(tree):
    """Paths below the tree, relative, as bytes: its first regular files in sorted order."""
    root = os.fsencode(tree)
    found = []
    for directory, directories, names in os.walk(root):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(directory, name)
            if os.path.islink(path) or not os.path.isfile(path) or not os.access(path, os.R_OK):
                continue
            if os.path.getsize(path) <= LARGEST:
                found.append(os.path.relpath(path, root))
            if len(found) == REAL_FILES:
                return found
    return found


def special_files(root):
    """Creates files with names that contain special characters of URLs, and with sizes near every
    threshold. Returns their paths."""
    parts = [
        b" ", b"  two ", b"%", b"%41", b"%2F", b"#", b"?", b"?a=b#c", "ü".encode(), "日本語".encode(),
        "🐙".encode(), b".dot", b".", b"&", b"+", b";", b":", b"'", b"\"", b"<>", b"\\", b"\n",
        b"\r\n", b"\x01", b"\x7f", b"\xff\xfe", b"a" * 200
    ]
    sizes = [0, 1, 13, 1000, 10240, 16383, 16384, 16385, 100000]
    paths = []
    for number, part in enumerate(parts):
        for name in (b"x%by" % part, b"%bstart" % part, b"end%b" % part,
                     b"folder %b in/inner%b" % (part, part)):
            size = sizes[len(paths) % len(sizes)]
            write(root, name, raw.pattern(size, number))
            paths.append(name)
    return paths


def compare(connection, root, path, chooser):
    """The differences of one file, as text."""
    with open(os.path.join(os.fsencode(root), path), "rb") as file:
        content = file.read()
    differences = []
    response = connection.request("GET", url(path))
    if response.status != 200 or response.body != content:
        differences.append(
            f"{path!r}: {response.status}, {len(response.body)} of {len(content)} bytes")
    if content:
        first = chooser.randrange(len(content))
        last = chooser.randrange(first, len(content))
        response = connection.request("GET", url(path), f"Range: bytes={first}-{last}")
        if (response.status != 206 or response.body != content[first:last + 1]
                or response.get("Content-Range") != f"bytes {first}-{last}/{len(content)}"):
            differences.append(
                f"{path!r}, bytes {first}-{last}: {response.status}, {len(response.body)} bytes")
    return differences, 2 if content else 1, len(content)


def crawl(root, paths, seed):
    """Requests all files. Returns the number of requests, the number of compared bytes, and the
    differences."""
    server = StaticServer(root, "--hidden", "--index", "")
    work = queue.SimpleQueue()
    for path in paths:
        work.put(path)
    totals, lock = [0, 0, []], threading.Lock()

    def worker(number):
        chooser = random.Random(seed * CONNECTIONS + number)
        try:
            with server.connect() as connection:
                while True:
                    path = work.get_nowait()
                    differences, requests, size = compare(connection, root, path, chooser)
                    with lock:
                        totals[0] += requests
                        totals[1] += size
                        totals[2] += differences
        except queue.Empty:
            return
        except Exception as error:
            with lock:
                totals[2].append(f"connection {number}: {error!r}")

    workers = [threading.Thread(target=worker, args=(number, )) for number in range(CONNECTIONS)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    server.finish()
    return totals


@pytest.fixture
def special_tree():
    root = tempfile.mkdtemp(prefix="uvhttp-crawl-")
    yield root
    shutil.rmtree(root)


def report(name, paths, seed, totals):
    print(f"{name}: {len(paths)} files, {totals[0]} requests over {CONNECTIONS} connections, "
          f"{totals[1]} bytes of content, "
          f"{len(totals[2])} differences (seed {seed})")
    assert totals[2] == []


def test_crawl_of_real_tree():
    for tree in REAL_TREES:
        paths = real_files(tree)
        if len(paths) >= WANTED:
            break
    assert len(paths) >= WANTED, f"{tree} holds only {len(paths)} files"
    seed = secrets.randbits(32)
    report(tree, paths, seed, crawl(tree, paths, seed))


def test_crawl_of_special_names(special_tree):
    paths = special_files(special_tree)
    seed = secrets.randbits(32)
    report("awkward names", paths, seed, crawl(special_tree, paths, seed))
