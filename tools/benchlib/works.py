"""What the servers are asked for: the works of `./dev bench quick`, and the files they need."""

TEXT = b"Hello, world\n"


def content(size):
    """The same bytes on every machine; bench/floor.c makes the same from memory."""
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Work:
    """One request to be measured.

    `memory`: answered by a handler from memory instead of from a file. `floor_file`: the floor sends the file by sendfile,
    which is cheaper than its copy in memory from about 10 KB on.
    """

    def __init__(self, name, title, size, memory=False, pipeline=1, connections=None, floor_file=False):
        self.name, self.title, self.size, self.memory = name, title, size, memory
        self.pipeline, self.connections, self.floor_file = pipeline, connections, floor_file

    @property
    def body(self):
        return content(self.size)

    @property
    def file_name(self):
        return f"{self.size}.txt"


QUICK = [
    Work("memory", "13 bytes from memory", 13, memory=True),
    Work("file-13", "13-byte file", 13),
    Work("file-10k", "10 KB file", 10 * 1024, floor_file=True),
    Work("file-100k", "100 KB file", 100 * 1024, floor_file=True),
    Work("pipelined", "16 pipelined", 13, memory=True, pipeline=16, connections=64),
]


def write_files(folder, works):
    for work in works:
        (folder / work.file_name).write_bytes(work.body)
