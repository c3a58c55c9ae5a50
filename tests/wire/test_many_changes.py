"""Many reloads and upgrades in a row leave no process, thread, descriptor, address or memory.

UVHTTP_RELOADS and UVHTTP_UPGRADES set their numbers; with UVHTTP_SHOW_FIGURES the test prints what
it has measured."""

import collections
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

import raw
import tls
from program import reload_process
from test_upgrade import Upgraded, is_running
from wire_server import eventually, free_port

RELOADS = int(os.environ.get("UVHTTP_RELOADS", 20))
UPGRADES = int(os.environ.get("UVHTTP_UPGRADES", 5))
LEAST_LEAK = 64  # KiB for each change: a leak that is found

pytestmark = [pytest.mark.release_only, pytest.mark.plain]  # sanitizers keep freed memory


def numbered(text):
    """A descriptor's target without the numbers of sockets, of pipes and of the process."""
    return re.sub(r"/proc/\d+|\[\d+\]", "", text)


def state_of(pid):
    """What a process has: descriptors by kind, threads, and the addresses where it listens."""
    targets = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            targets.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:
            pass
    sockets = {target[8:-1] for target in targets if target.startswith("socket:[")}
    listening = set()
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                listening.add((name, words[1]))
    for line in pathlib.Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if words[5] == "01" and words[6] in sockets and int(words[3], 16) & 0x10000:
            listening.add(words[7])
    return {"descriptors": dict(collections.Counter(map(numbered, targets))),
            "threads": len(os.listdir(f"/proc/{pid}/task")), "listening": listening}


def settled_state_of(pid):
    """A thread reads the files of certificates now and then, for a moment."""
    def equal():
        state = state_of(pid)
        time.sleep(0.05)
        return state if state == state_of(pid) else None

    return eventually(equal, "the state is the same twice")


def memory(pid):
    """Its own memory in KiB."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss_Anon: +(\d+)", text, re.M)[1])


def processes_of(path):
    """The processes with this configuration."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(path) in (entry / "cmdline").read_text() and is_running(entry.name):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


class Clients:
    """Clients that keep their connections until the server closes them."""
    def __init__(self, port):
        self.port, self.done, self.count, self.failures = port, threading.Event(), 0, []
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]
        for thread in self.threads:
            thread.start()

    def run(self):
        try:
            while not self.done.is_set():
                with raw.Connection(self.port) as connection:
                    closes = False
                    while not closes and not self.done.wait(0.002):
                        response = connection.request("GET", "/")
                        assert response.status == 200
                        closes = response.has_close()
                        self.count += 1
        except (OSError, AssertionError) as error:
            self.failures.append(error)

    def stop(self):
        self.done.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures and self.count > 0, self.failures[:3]


@pytest.fixture
def start(tmp_path):
    running = []

    def starter(**options):
        (tmp_path / "site").mkdir()
        (tmp_path / "site/index.html").write_text("index")
        plain, metrics = free_port(), free_port()
        text = (f"listen: ['http://127.0.0.1:{plain}', 'https://127.0.0.1:{free_port()}', "
                f"'unix:{tmp_path}/socket']\n"
                f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n"
                f"server: {{workers: 2, drain_grace: 1, route_stats: 10}}\n"
                f"metrics: {{listen: 127.0.0.1:{metrics}}}\n"
                f"status: {{listen: 127.0.0.1:{metrics}}}\n"
                "access_log: {path: a.log, buffer_size: 65536}\n"
                "sites: [{limit_requests: {requests: 1000000, max_clients: 100}, "
                "access_log: {path: b.log, buffer_size: 65536}, "
                "routes: [{path: /, static: site}, {path: /x, respond: {body: x}}]}]\n")
        running.append(Upgraded(tmp_path, text, **options))
        running[-1].plain = plain
        return running[-1]

    yield starter
    for one in running:
        one.stop()


def grown(kibibytes, count):
    """True if memory, measured after each change, grew from the end of the first fifth to the last
    one as it would with a leak. The least there: for a moment there can be two generations."""
    part = count // 5
    return min(kibibytes[-part:]) - kibibytes[part - 1] >= (count - part) * LEAST_LEAK / 2


def show(what, clients, sizes):
    part = len(sizes) // 5
    if os.environ.get("UVHTTP_SHOW_FIGURES"):
        print(f"\n{what}, {clients.count} requests: {sizes[part - 1]} KiB after the first "
              f"fifth, {min(sizes[-part:])} KiB in the last one; at most {max(sizes)} KiB")


def reload_often(program, count):
    """Memory after each reload."""
    sizes = []
    for _ in range(count):
        assert "reload: the configuration is applied" in reload_process(program.pid, program.log)
        sizes.append(memory(program.pid))
    return sizes


def assert_same_state(program, before):
    """Connections of clients are closed before this."""
    try:
        eventually(lambda: state_of(program.pid) == before, "it is the same")
    except AssertionError:
        raise AssertionError(f"{before} became {state_of(program.pid)}") from None
    assert processes_of(program.path) == [program.pid]


def test_many_reloads_leave_nothing(start):
    program = start()
    before = settled_state_of(program.pid)
    clients = Clients(program.plain)
    sizes = reload_often(program, RELOADS)
    clients.stop()
    show(f"{RELOADS} reloads", clients, sizes)
    assert not grown(sizes, RELOADS), sizes
    assert_same_state(program, before)


def test_many_upgrades_leave_nothing(start):
    program = start()
    program.wait_for_end(program.upgrade())
    before = settled_state_of(program.pid)
    clients = Clients(program.plain)
    sizes = []
    for _ in range(UPGRADES):
        program.wait_for_end(program.upgrade())
        sizes.append(memory(program.pid))
    clients.stop()
    show(f"{UPGRADES} upgrades", clients, sizes)
    assert not grown(sizes, UPGRADES), sizes
    assert_same_state(program, before)


LEAK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Called once for each configuration that is read. */
int yaml_parser_initialize(void *parser)
{
    int (*next)(void *);
    *(void **)(&next) = dlsym(RTLD_NEXT, "yaml_parser_initialize");
    char *lost = malloc(LEAST_LEAK * 1024);
    memset(lost, 1, LEAST_LEAK * 1024);
    if (getenv("LEAK_DESCRIPTOR"))
        (void)!dup(1);
    return next(parser);
}
"""


def test_leaks_are_found(start, tmp_path, monkeypatch):
    """The test above fails for a program that leaks memory or descriptors."""
    (tmp_path / "leak.c").write_text(LEAK)
    subprocess.run(["cc", "-shared", "-fPIC", f"-DLEAST_LEAK={LEAST_LEAK}", "-o",
                    tmp_path / "leak.so", tmp_path / "leak.c", "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "leak.so"))
    monkeypatch.setenv("LEAK_DESCRIPTOR", "1")
    program = start()
    monkeypatch.undo()
    before = settled_state_of(program.pid)
    sizes = reload_often(program, 20)
    assert grown(sizes, 20), sizes
    assert state_of(program.pid)["descriptors"] != before["descriptors"]
