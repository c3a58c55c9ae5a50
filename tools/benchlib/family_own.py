"""Ours: uvhttp, and the floor that every server stands on. Both must be there, and Release, or nothing is measured at all."""


from . import servers, tls
from .contender import Contender

# Files that are kept open or in memory, so that all of the mix are.
MANY_FILES = 4096


class Unified(servers.Server):
    paths = {"json": "/json", "echo": "/post"}


class Floor(Contender):
    """bench/floor.c: what the kernel costs, whoever calls it."""

    name, title = "floor", "floor (raw epoll)"
    configuration = "answers that are ready; files by sendfile from 10 KB on; bodies of requests are thrown away"
    kinds = frozenset({"memory", "json", "echo", "file", "encoded", "mix"})
    own, several_workers = True, False
    mix_in_memory = 8 * 1024

    def prepare(self, place):
        servers.program(place.bin_folder, "floor")
        self.version = servers.uvhttp_build(place.bin_folder).split()[0]

    def by_sendfile(self, work):
        return work.floor_file

    def answer(self, place, work):
        if work.kind == "json":
            return ["--text", work.body.decode()]
        if work.kind == "mix":
            return ["--mix", place.site / work.folder, "--memory", self.mix_in_memory]
        if work.encoding:
            return ["--gzip", "--file" if self.by_sendfile(work) else "--read", place.site / work.encoded_name]
        return ["--file", place.site / work.file_name] if self.by_sendfile(work) else ["--body", work.size]

    def start(self, place, work):
        command = [servers.program(place.bin_folder, "floor"), *self.answer(place, work)]
        if work.request_body:
            command += ["--post", len(work.request_body)]
        if work.close:
            command.append("--close")
        server = servers.FileServer if work.kind == "mix" else servers.Server
        return server(self.name, self.version, [*command, "0"], place.cores, place.folder)


class FloorInMemory(Floor):
    """The same with files from memory, as long as copies of them do not fill it: below about 100 KB one of both floors is the lower one, and which one
    differs between machines."""

    name, title = "floor-memory", "floor (raw epoll, from memory)"
    configuration = "as floor, but files of 10 to 100 KB from memory"
    kinds = frozenset({"file", "encoded", "mix"})
    own = False
    mix_in_memory = 100 * 1024

    def lacks(self, work):
        return None if work.kind in self.kinds and work.floor_file and not work.large else "`floor` is the floor of this work"

    def by_sendfile(self, work):
        return False


class Uvhttp(Contender):
    """The programs as they are built, with their defaults: what a user gets."""

    name = title = "uvhttp"
    configuration = ("defaults: benchmark_rps for 13 bytes from memory, benchmark_unified for JSON and POST, `uvhttp serve -q` for files "
                     f"(for the mix with --cache-entries {MANY_FILES} --watch, for the encoded file with --precompressed)")
    kinds = frozenset({"memory", "json", "echo", "file", "encoded", "mix"})
    own, several_workers, tls = True, False, True

    def prepare(self, place):
        self.version = servers.uvhttp_build(place.bin_folder)
        for name in ("benchmark_rps", "benchmark_unified"):
            servers.program(place.bin_folder, name)

    def start(self, place, work):
        if work.kind in ("memory", "json", "echo"):
            return self.start_program(place, "benchmark_rps" if work.kind == "memory" else "benchmark_unified", work)
        port = servers.free_port()
        command = [servers.program(place.bin_folder, "uvhttp"), "serve", place.site, "-q", "--listen", "127.0.0.1", "--port", port]
        if work.kind == "mix":
            command += ["--cache-entries", MANY_FILES, "--watch"]
        elif work.kind == "encoded":
            command += ["--precompressed"]
        if work.tls:
            command += ["--tls-cert", tls.certificate(place.folder)]
        return self.with_tls(servers.FileServer(self.name, self.version, command, place.cores, place.folder, port), place, work)

    def start_program(self, place, program, work):
        server = Unified if program == "benchmark_unified" else servers.Server
        command = [servers.program(place.bin_folder, program), *(["--tls", tls.certificate(place.folder)] if work.tls else []), "0"]
        running = server(self.name, self.version, command, place.cores, place.folder)
        try:
            servers.require_release(program, running.output.split("\n")[0])
        except servers.Refused:
            running.stop()
            raise
        return self.with_tls(running, place, work)
