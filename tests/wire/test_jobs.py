"""The job threads of the program: all are created before it serves, or it does not start."""

import resource

import pytest

from program import run
from static_server import MIB, root, serve, write  # noqa: F401 (fixtures)
from wire_server import built

PROGRAM = open(built("uvhttp"), "rb").read()
SANITIZED = b"__asan_init" in PROGRAM or b"__tsan_init" in PROGRAM
STACK = 8 * MIB

# A limited address space prevents the start of a sanitizer.
pytestmark = pytest.mark.skipif(SANITIZED, reason="limits the address space")


def status_of(server, name):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def limit_to(stack, space=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK,
                           (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        if space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (space, space))

    return limit


def test_failed_thread_creation_ends_program_with_error(root):  # noqa: F811
    ended = run("uvhttp", "serve", root, "--listen", "127.0.0.1:0", "--workers", "1",
                "--quick-threads", "1000", "--heavy-threads", "3",
                preexec_fn=limit_to(STACK, 1000 * MIB))
    assert ended.returncode == 1, ended
    assert ("cannot create the threads for jobs (quick_threads: 1000, heavy_threads: 3, "
            "handshake_threads: 0): ") in ended.stderr
    assert ended.stdout == ""


def test_first_uncached_request_creates_no_thread(root, serve):  # noqa: F811
    write(root, "a.txt", b"a")
    server = serve(prepare=limit_to(STACK))
    threads = status_of(server, "Threads")
    before = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
    space = status_of(server, "VmSize") * 1024 + STACK // 2  # no space for one more stack
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (space, before[1]))
    assert server.request("/a.txt").status in (200, 503
                                               )  # 503: an allocator that needs more at once
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, before)
    assert server.request("/a.txt").status == 200
    assert status_of(server, "Threads") == threads


def test_thread_count_follows_flags(serve):  # noqa: F811
    few = serve("--quick-threads", "1", "--heavy-threads", "1", "--quick-queue", "7",
                "--heavy-queue", "8")
    extra = serve("--quick-threads", "3", "--heavy-threads", "5")
    assert status_of(extra, "Threads") - status_of(few, "Threads") == 6
