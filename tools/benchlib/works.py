"""The works of `./dev bench http` and other commands, and the files they need.

A work is a workload: one request with its expected response, or for the mix a distribution of
requests. Its kind is the feature that a server needs.
"""

import bisect
import functools
import gzip
import itertools
import os
import random

TEXT = b"Hello, world\n"
JSON = b'{"message":"Hello, world"}'
# From this size responses in progress at the end of a run are counted by bytes.
LARGE = 1024 * 1024


def content(size):
    """Returns the same bytes on every machine."""
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Work:
    """`connections`: a fixed number, which overrides the options. `floor_file`: the floor uses
    sendfile, which is cheaper than a copy from memory above about 10 KB. `close`: one connection
    for each request. `handshake`: None, "full" or "resumed". `idle`: measures memory of idle
    connections. `fresh`: each run has a newly started server."""

    method, request_body, fields, encoding = "GET", b"", (), None
    largest = None  # size of the largest response if they differ

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

    def write_files(self, directory):
        """Writes the files of the work."""
        (directory / self.file_name).write_bytes(self.body)

    def samples(self):
        """Returns the responses to check: [(file name, body, share of all requests)]."""
        return [(self.file_name, self.body, 1.0)]

    def script(self, server):
        """Returns (script of bench/, arguments) for wrk."""
        if self.pipeline > 1:
            return "pipeline.lua", [str(self.pipeline)]
        return "report.lua", []


class Echo(Work):
    """A POST request whose body is echoed."""

    method = "POST"

    @property
    def request_body(self):
        return self.body

    def script(self, server):
        file = server.directory / f"{self.name}.body"
        file.write_bytes(self.request_body)
        return "post.lua", [str(file)]


class Encoded(Work):
    """A file with a precompressed gzip variant, requested with Accept-Encoding: gzip."""

    encoding = "gzip"
    fields = (("Accept-Encoding", "gzip"),)

    def __init__(self, name, title, size, floor_file=False):
        super().__init__(name, title, size, "encoded", floor_file=floor_file)
        self.file_name = f"encoded/{name}.txt"
        self.encoded_name = f"{self.file_name}.gz"

    @functools.cached_property
    def body(self):
        """Words of a small vocabulary, which gzip can compress."""
        rng = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(800)]
        words = (vocabulary[int(800 * rng.random() ** 2)] for _ in range(self.size))
        return " ".join(words)[:self.size].encode()

    def write_files(self, directory):
        (directory / "encoded").mkdir(exist_ok=True)
        (directory / self.file_name).write_bytes(self.body)
        encoded = directory / self.encoded_name
        encoded.write_bytes(gzip.compress(self.body, 9, mtime=0))
        written = (directory / self.file_name).stat().st_mtime_ns
        os.utime(encoded, ns=(written, written))  # an older one would be ignored


class Mix(Work):
    """2,000 files of several sizes, requested by Zipf's law: the frequency of rank r is
    proportional to 1/r. The order is the same in every run."""

    FILES, DRAWS = 2000, 20_000
    SIZES = [300, 1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 150_000]
    SHARES = [10, 18, 20, 20, 14, 10, 6, 2]  # of the files, in percent
    directory = "mix"

    def __init__(self, name, title):
        super().__init__(name, title, self.SIZES[0], "mix")
        rng = random.Random(2)
        bounds = list(itertools.accumulate(self.SHARES))
        self.sizes = [self.SIZES[bisect.bisect(bounds, 100 * rng.random())]
                      for _ in range(self.FILES)]
        weights = list(itertools.accumulate(1 / rank for rank in range(1, self.FILES + 1)))
        self.draws = [bisect.bisect(weights, weights[-1] * rng.random())
                      for _ in range(self.DRAWS)]
        self.largest = max(self.SIZES) + 1024
        self.file_name = self.name_of(self.draws[0])

    def name_of(self, number):
        return f"{self.directory}/{number:04}.txt"

    def write_files(self, directory):
        (directory / self.directory).mkdir(exist_ok=True)
        for number, size in enumerate(self.sizes):
            (directory / self.name_of(number)).write_bytes(content(size))

    def samples(self):
        """Returns one file of each size, with the share of requests for files of that size."""
        drawn = {size: [one for one in self.draws if self.sizes[one] == size]
                 for size in self.SIZES}
        return [(self.name_of(some[0]), content(size), len(some) / len(self.draws))
                for size, some in drawn.items() if some]

    def script(self, server):
        file = server.directory / f"{self.name}.paths"
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
