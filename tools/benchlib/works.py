"""What the servers are asked for, and the files they need: the works of `./dev bench quick` and of `./dev bench http`.

A work is one request (or, for the mix, one law by which files are asked for) with the one answer that is right. Its kind says what a
server must be able to do for it: memory, json, echo, file, encoded, mix.
"""

import bisect
import functools
import gzip
import itertools
import os
import random

TEXT = b"Hello, world\n"
JSON = b'{"message":"Hello, world"}'
# From here on the part of an answer that was under way when the time was up is worth counting.
LARGE = 1024 * 1024


def content(size):
    """The same bytes on every machine; bench/floor.c makes the same from memory."""
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Work:
    """One request to be measured.

    `memory`: answered by a handler from memory instead of from a file. `floor_file`: the floor sends the file by sendfile,
    which is cheaper than its copy in memory from about 10 KB on. `connections`: fixed, whatever the options say. `close`: a
    connection for each request. `tls`: over HTTPS.
    """

    method, request_body, fields, encoding = "GET", b"", (), None
    # Of handshakes alone (None, "full" or "resumed"); of connections that are open and ask for nothing.
    handshake, idle = None, False

    def __init__(self, name, title, size, memory=False, pipeline=1, connections=None, floor_file=False, group="files", close=False,
                 tls=False):
        self.name, self.title, self.size, self.group = name, title, size, group
        self.kind = "memory" if memory else "file"
        self.pipeline, self.connections, self.floor_file, self.close = pipeline, connections, floor_file, close
        self.tls = tls
        if close:
            self.fields = (("Connection", "close"),)

    @property
    def memory(self):
        return self.kind == "memory"

    @property
    def body(self):
        return content(self.size)

    @property
    def file_name(self):
        return f"{self.size}.txt"

    @property
    def large(self):
        return self.size >= LARGE

    @property
    def largest(self):
        """Size of the largest answer, head and body, when they differ; else None."""
        return None

    def write_files(self, folder):
        """Writes what the server serves below `folder`."""
        (folder / self.file_name).write_bytes(self.body)

    def samples(self):
        """What is asked to find out whether answers are right: [(file name, body, part of all requests)]."""
        return [(self.file_name, self.body, 1.0)]

    def load(self, folder):
        """(script of bench/, its arguments) for wrk; `folder` takes files the script needs."""
        return ("pipeline.lua", [str(self.pipeline)]) if self.pipeline > 1 else ("report.lua", [])


class Handshake(Work):
    """Over HTTPS, a connection for each request, so that its handshake is most of what it costs."""

    def __init__(self, name, title, resume):
        super().__init__(name, title, 13, memory=True, group="tls", close=True, tls=True)
        self.handshake, self.resume = "resumed" if resume else "full", resume


class Idle(Work):
    """Connections over HTTPS that are open and have had one answer: the memory of the server for each of them."""

    idle = True

    def __init__(self, name, title, counts):
        super().__init__(name, title, 13, memory=True, group="tls", tls=True)
        self.counts = counts


class Json(Work):
    """An object that a handler writes for each request."""

    def __init__(self, name, title):
        super().__init__(name, title, len(JSON), group="memory")
        self.kind = "json"

    @property
    def body(self):
        return JSON


class Echo(Work):
    """A POST whose body is the answer."""

    method = "POST"

    def __init__(self, name, title, size):
        super().__init__(name, title, size, group="post")
        self.kind = "echo"

    @property
    def request_body(self):
        return self.body

    def load(self, folder):
        file = folder / f"{self.name}.body"
        file.write_bytes(self.request_body)
        return "post.lua", [str(file)]


class Encoded(Work):
    """A file that lies beside its gzip in the folder, asked for by a client that takes gzip."""

    encoding = "gzip"
    fields = (("Accept-Encoding", "gzip"),)
    file_name = None

    def __init__(self, name, title, size, floor_file=False):
        super().__init__(name, title, size, floor_file=floor_file)
        self.kind, self.file_name = "encoded", f"encoded/{name}.txt"
        self.encoded_name = f"{self.file_name}.gz"

    @functools.cached_property
    def body(self):
        """Words from a small stock, so that gzip finds something to do."""
        chance = random.Random(1)
        stock = ["".join(chr(97 + int(26 * chance.random())) for _ in range(2 + int(8 * chance.random()))) for _ in range(800)]
        words, size = [], 0
        while size < self.size:
            words.append(stock[int(len(stock) * chance.random() ** 2)] + ("\n" if len(words) % 12 == 11 else " "))
            size += len(words[-1])
        return "".join(words)[:self.size].encode()

    def write_files(self, folder):
        (folder / "encoded").mkdir(exist_ok=True)
        body = self.body
        (folder / self.file_name).write_bytes(body)
        encoded = folder / self.encoded_name
        encoded.write_bytes(gzip.compress(body, 9, mtime=0))
        written = (folder / self.file_name).stat().st_mtime_ns
        os.utime(encoded, ns=(written, written))  # an older one would not count


class Mix(Work):
    """Many files of several sizes, asked for by a law of Zipf: the one of rank r as often as 1/r. The same order every time."""

    SIZES = [300, 1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 150_000]
    SHARES = [10, 18, 20, 20, 14, 10, 6, 2]  # of the files, in percent
    DRAWS = 20_000
    folder = "mix"

    def __init__(self, name, title, files):
        super().__init__(name, title, self.SIZES[0], floor_file=True)
        self.kind, self.files = "mix", files
        chance = random.Random(2)
        bounds = list(itertools.accumulate(self.SHARES))
        self.sizes = [self.SIZES[bisect.bisect(bounds, 100 * chance.random())] for _ in range(files)]
        weights = list(itertools.accumulate(1 / rank for rank in range(1, files + 1)))
        self.draws = [bisect.bisect(weights, weights[-1] * chance.random()) for _ in range(self.DRAWS)]

    @property
    def largest(self):
        return max(self.SIZES) + 1024

    def name_of(self, number):
        return f"{self.folder}/{number:04}.txt"

    @property
    def file_name(self):
        return self.name_of(self.draws[0])

    def write_files(self, folder):
        (folder / self.folder).mkdir(exist_ok=True)
        for number, size in enumerate(self.sizes):
            (folder / self.name_of(number)).write_bytes(content(size))

    def samples(self):
        """One file of each size, with the part of all requests that goes to files of that size."""
        found = []
        for size in self.SIZES:
            drawn = [number for number in self.draws if self.sizes[number] == size]
            if drawn:
                found.append((self.name_of(drawn[0]), content(size), len(drawn) / len(self.draws)))
        return found

    def load(self, folder):
        file = folder / f"{self.name}.paths"
        file.write_text("".join(self.name_of(number) + "\n" for number in self.draws))
        return "mix.lua", [str(file)]


QUICK = [
    Work("memory", "13 bytes from memory", 13, memory=True),
    Work("file-13", "13-byte file", 13),
    Work("file-10k", "10 KB file", 10 * 1024, floor_file=True),
    Work("file-100k", "100 KB file", 100 * 1024, floor_file=True),
    Work("pipelined", "16 pipelined", 13, memory=True, pipeline=16, connections=64),
]

SWEEP = [Work(f"connections-{count}", f"{count:,} connections", 13, memory=True, connections=count, group="connections")
         for count in (10, 50, 100, 200, 500, 2000)]

HTTP = [
    Work("memory", "13 bytes from memory", 13, memory=True, group="memory"),
    Json("json", "JSON object"),
    Work("file-13", "13-byte file", 13),
    Work("file-1k", "1 KB file", 1024),
    Work("file-10k", "10 KB file", 10 * 1024, floor_file=True),
    Work("file-100k", "100 KB file", 100 * 1024, floor_file=True),
    Work("file-10m", "10 MB file", 10 * 1024 * 1024, floor_file=True),
    Encoded("encoded", "100 KB file, its gzip lies beside it", 100 * 1024, floor_file=True),
    Encoded("encoded-10k", "10 KB text, its gzip lies beside it", 10 * 1024),
    Mix("mix", "2,000 files by Zipf's law", 2000),
    Echo("post-1k", "POST echo, 1 KB", 1024),
    Echo("post-100k", "POST echo, 100 KB", 100 * 1024),
    Work("pipelined", "16 pipelined", 13, memory=True, pipeline=16, connections=64, group="memory"),
    Work("connect", "a connection per request", 13, memory=True, group="connections", close=True),
    *SWEEP,
    Work("tls-memory", "13 bytes from memory, HTTPS", 13, memory=True, group="tls", tls=True),
    Work("tls-100k", "100 KB file, HTTPS", 100 * 1024, group="tls", tls=True),
    Handshake("tls-handshake", "a full handshake per request", resume=False),
    Handshake("tls-resumed", "a resumed handshake per request", resume=True),
    Idle("tls-idle", "idle connections, HTTPS", [500, 2000]),
]


def write_files(folder, works):
    for work in works:
        work.write_files(folder)
