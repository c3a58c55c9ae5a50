"""What is requested over HTTP, and the files it needs.

A work is one request (or, for the mix, one law by which files are requested) with the one response
that is right. Its kind says what a server must be able to do for it.
"""

import bisect
import functools
import gzip
import itertools
import os
import random

TEXT = b"Hello, world\n"
JSON = b'{"message":"Hello, world"}'
# From here on the part of a response that was under way when the time was up is worth counting.
LARGE = 1024 * 1024


def content(size):
    """The same bytes on every machine; bench/floor.c makes the same from memory."""
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Work:
    """`connections`: fixed, whatever the options say. `floor_file`: the floor sends the file by
    sendfile, which is cheaper than a copy in memory from about 10 KB on. `close`: a connection for
    each request. `handshake`: None, "full" or "resumed". `idle`: memory of idle connections.
    `fresh`: each run has a server that was just started."""

    method, request_body, fields, encoding = "GET", b"", (), None
    largest = None  # size of the largest response when they differ

    def __init__(self, name, title, size, kind="file", pipeline=1, connections=None,
                 floor_file=False, close=False, tls=False, handshake=None, idle=False):
        self.name, self.title, self.size, self.kind = name, title, size, kind
        self.pipeline, self.connections, self.floor_file = pipeline, connections, floor_file
        self.close, self.tls, self.handshake = close, tls, handshake
        self.idle = self.fresh = idle
        self.file_name = f"{size}.txt"
        if close:
            self.fields = (("Connection", "close"),)

    @property
    def body(self):
        return JSON if self.kind == "json" else content(self.size)

    def write_files(self, folder):
        """Writes what the server serves."""
        (folder / self.file_name).write_bytes(self.body)

    def samples(self):
        """What is checked: [(file name, body, part of all requests)]."""
        return [(self.file_name, self.body, 1.0)]

    def script(self, server):
        """(script of bench/, its arguments) for wrk."""
        if self.pipeline > 1:
            return "pipeline.lua", [str(self.pipeline)]
        return "report.lua", []


class Echo(Work):
    """A POST whose body is the response."""

    method = "POST"

    @property
    def request_body(self):
        return self.body

    def script(self, server):
        file = server.folder / f"{self.name}.body"
        file.write_bytes(self.request_body)
        return "post.lua", [str(file)]


class Encoded(Work):
    """A file with its gzip beside it, requested by a client that takes gzip."""

    encoding = "gzip"
    fields = (("Accept-Encoding", "gzip"),)

    def __init__(self, name, title, size, floor_file=False):
        super().__init__(name, title, size, "encoded", floor_file=floor_file)
        self.file_name = f"encoded/{name}.txt"
        self.encoded_name = f"{self.file_name}.gz"

    @functools.cached_property
    def body(self):
        """Words from a small stock, so that gzip finds something to do."""
        chance = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        stock = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(800)]
        words = (stock[int(800 * chance.random() ** 2)] for _ in range(self.size))
        return " ".join(words)[:self.size].encode()

    def write_files(self, folder):
        (folder / "encoded").mkdir(exist_ok=True)
        (folder / self.file_name).write_bytes(self.body)
        encoded = folder / self.encoded_name
        encoded.write_bytes(gzip.compress(self.body, 9, mtime=0))
        written = (folder / self.file_name).stat().st_mtime_ns
        os.utime(encoded, ns=(written, written))  # an older one would not count


class Mix(Work):
    """2,000 files of several sizes by Zipf's law: the one of rank r is requested as often as 1/r,
    in the same order every time."""

    FILES, DRAWS = 2000, 20_000
    SIZES = [300, 1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 150_000]
    SHARES = [10, 18, 20, 20, 14, 10, 6, 2]  # of the files, in percent
    folder = "mix"

    def __init__(self, name, title):
        super().__init__(name, title, self.SIZES[0], "mix", floor_file=True)
        chance = random.Random(2)
        bounds = list(itertools.accumulate(self.SHARES))
        self.sizes = [self.SIZES[bisect.bisect(bounds, 100 * chance.random())]
                      for _ in range(self.FILES)]
        weights = list(itertools.accumulate(1 / rank for rank in range(1, self.FILES + 1)))
        self.draws = [bisect.bisect(weights, weights[-1] * chance.random())
                      for _ in range(self.DRAWS)]
        self.largest = max(self.SIZES) + 1024
        self.file_name = self.name_of(self.draws[0])

    def name_of(self, number):
        return f"{self.folder}/{number:04}.txt"

    def write_files(self, folder):
        (folder / self.folder).mkdir(exist_ok=True)
        for number, size in enumerate(self.sizes):
            (folder / self.name_of(number)).write_bytes(content(size))

    def samples(self):
        """One file of each size, with the part of all requests that goes to files of that size."""
        drawn = {size: [one for one in self.draws if self.sizes[one] == size]
                 for size in self.SIZES}
        return [(self.name_of(some[0]), content(size), len(some) / len(self.draws))
                for size, some in drawn.items() if some]

    def script(self, server):
        file = server.folder / f"{self.name}.paths"
        file.write_text("".join(self.name_of(number) + "\n" for number in self.draws))
        return "mix.lua", [str(file), server.path_of("", self)]


ALL = [
    Work("memory", "13 bytes from memory", 13, "memory"),
    Work("json", "JSON object", len(JSON), "json"),
    Work("file-13", "13-byte file", 13),
    Work("file-1k", "1 KB file", 1024),
    Work("file-10k", "10 KB file", 10 * 1024, floor_file=True),
    Work("file-100k", "100 KB file", 100 * 1024, floor_file=True),
    Work("file-10m", "10 MB file", 10 * 1024 * 1024, floor_file=True),
    Encoded("encoded", "100 KB text with its gzip", 100 * 1024, floor_file=True),
    Encoded("encoded-10k", "10 KB text with its gzip", 10 * 1024),
    Mix("mix", "2,000 files by Zipf's law"),
    Echo("post-1k", "POST echo, 1 KB", 1024, "echo"),
    Echo("post-100k", "POST echo, 100 KB", 100 * 1024, "echo"),
    Work("pipelined", "16 pipelined", 13, "memory", pipeline=16, connections=64),
    Work("connect", "a connection per request", 13, "memory", close=True),
    *(Work(f"connections-{count}", "13 bytes from memory", 13, "memory", connections=count)
      for count in (10, 100, 500, 2000)),
    Work("idle", "idle connections", 13, idle=True),
    Work("tls-memory", "13 bytes from memory, HTTPS", 13, "memory", tls=True),
    Work("tls-100k", "100 KB file, HTTPS", 100 * 1024, tls=True),
    Work("tls-handshake", "a full handshake per request", 13, "memory", close=True, tls=True,
         handshake="full"),
    Work("tls-resumed", "a resumed handshake per request", 13, "memory", close=True, tls=True,
         handshake="resumed"),
    Work("tls-idle", "idle connections, HTTPS", 13, "memory", tls=True, idle=True),
]
NAMES = [work.name for work in ALL]
QUICK = ["memory", "file-13", "file-10k", "file-100k", "pipelined"]


def choose(names):
    return [work for work in ALL if work.name in names]
