"""A full disk, a deleted log file, a service of logs that does not read, read-only directories, and
a clock that is set: the server serves on, counts what is lost, and says so."""

import os
import re
import signal
import socket
import subprocess

import pytest

import raw
from program import run
from test_config_file import LOCAL, problems, start, write  # noqa: F401 (fixtures)
from wire_server import eventually

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
LINE = "/?" + "x" * 1000  # a target; 131 such lines fill the buffers of a log


METRICS = "metrics: {listen: 127.0.0.1:0}\n"


def metric(program, name):
    """A metric; its address is its own, so that no access log has these requests."""
    eventually(lambda: program.read_available() and "metrics at" in program.output, "its address")
    port = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)/", program.output)[1])
    with raw.Connection(port) as connection:
        text = connection.request("GET", "/metrics").body.decode()
    return float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M)[1])


def dropped(program):
    return metric(program, "uvhttp_access_log_dropped_lines_total")


def requests(program, count, target=LINE):
    with program.connect() as connection:
        for _ in range(count):
            assert connection.request("GET", target).status == 200


class Disk:
    """A small file system of its own."""
    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", path],
                                      check=False, capture_output=True).returncode == 0
        if not self.mounted:
            pytest.skip("mounting is not permitted here")

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)) == 4096:
                    pass
            except OSError:
                pass

    def free(self):
        (self.path / "filler").unlink()

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.path], check=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=True)


@pytest.fixture
def disk(tmp_path):
    made = None
    try:
        made = Disk(tmp_path / "disk")
        yield made
    finally:
        if made is not None:
            made.close()


SITE = (METRICS + "sites: [{routes: [{path: /, respond: {body: x}}, "
        "{path: /in/, static: disk/in, uploads: true}]}]\n")
LOG = "access_log: {path: disk/a.log, pattern: '{target}', buffer_size: 65536, flush_ms: 1}\n"


def whole_lines(text):
    """The number of lines of requests and that of lines that a notice counts, without a line that
    is being written."""
    lines = text[:text.rfind("\n") + 1].splitlines()
    notices = [re.fullmatch(r"(\d+) lines dropped", line) for line in lines]
    rest = [line for line, notice in zip(lines, notices) if not notice]
    assert all(line == LINE or line.startswith("/in/") for line in rest), rest[:3]
    return len(rest), sum(int(one[1]) for one in notices if one)


def upload(program, name, size):
    return program.request(f"/in/{name}", method="PUT", body=raw.pattern(size)).status


# A full disk


@root_only
def test_full_disk_loses_lines_that_are_counted(start, disk, tmp_path):
    (disk.path / "in").mkdir()
    program = start(LOCAL + LOG + SITE)
    requests(program, 1)
    disk.fill()
    requests(program, 400)
    assert upload(program, "large", 300_000) == 507
    assert upload(program, "small", 5000) == 507
    eventually(lambda: not os.listdir(disk.path / "in"), "no part of an upload is left")
    eventually(lambda: dropped(program) > 0, "lines are counted")
    full = "log " + str(tmp_path / "disk/a.log") + ": no space left on device; retrying"
    eventually(lambda: full in program.log(), "the failure is logged")
    disk.free()
    log = disk.path / "a.log"
    eventually(lambda: sum(whole_lines(log.read_text())) == 403, "every request is accounted for")
    requests(program, 3)
    eventually(lambda: sum(whole_lines(log.read_text())) == 406, "new lines follow")
    count = dropped(program)
    assert whole_lines(log.read_text())[1] == count > 0
    assert upload(program, "large", 300_000) == 201
    assert program.stop() == 0
    assert program.log().count(full) == program.log().count("writing resumed") == 1
    # A second report may be due only later: it follows at the end.
    reports = re.findall(r"log \S+: (\d+) lines dropped because the buffer was full", program.log())
    assert sum(map(int, reports)) == count


@root_only
def test_stop_with_full_disk_tells_the_lost_lines(start, disk):
    (disk.path / "in").mkdir()
    program = start(LOCAL + LOG + SITE)
    requests(program, 1)
    disk.fill()
    requests(program, 100)
    eventually(lambda: "no space left" in program.log(), "writing fails")
    assert program.stop() == 0
    assert re.search(r"error log \S+/a.log: \d+ lines lost on close", program.log())


# A deleted log file


def test_deleted_log_is_created_by_reopen(start, tmp_path):
    program = start(LOCAL + LOG.replace("disk/", "") + SITE.replace("disk/in", "."))
    log = tmp_path / "a.log"
    requests(program, 1)
    eventually(lambda: log.read_text() == LINE + "\n", "the line")
    with open(log) as kept:
        log.unlink()
        requests(program, 1)
        eventually(lambda: kept.seek(0) or kept.read().count(LINE) == 2,
                   "it goes on in the old file")
    assert not log.exists()
    program.send_signal(signal.SIGUSR1)
    eventually(log.exists, "it is created again")
    assert log.stat().st_mode & 0o777 == 0o640
    requests(program, 2)
    eventually(lambda: log.read_text() == (LINE + "\n") * 2, "new lines are in the new file")
    assert dropped(program) == 0


# A service of logs that does not read


def test_reload_and_stop_do_not_wait_for_a_stalled_service(start, tmp_path):
    service = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    service.bind(str(tmp_path / "log"))
    text = (f"server: {{stuck_loop_ms: 800}}\nlisten: 127.0.0.1:0\n{METRICS}"
            f"access_log: {{path: 'syslog:{tmp_path}/log', buffer_size: 65536, flush_ms: 1}}\n"
            "sites: [{routes: [{path: /, respond: {body: x}}]}]\n")
    program = start(text)
    for done in range(1, 4):
        requests(program, 300)
        eventually(lambda: dropped(program) > 0, "lines are counted")
        program.send_signal(signal.SIGUSR1)
        program.send_signal(signal.SIGHUP)
        eventually(lambda: program.log().count("configuration is applied") == done, "it reloads")
    eventually(lambda: "lines lost on close" in program.log(), "the old log is closed")
    assert metric(program, "uvhttp_stuck_loops_total") == 0, program.log()
    assert program.stop() == 0
    service.close()


# Read-only directories

RESPOND = "sites: [{routes: [{path: /, respond: {body: x}}]}]\n"
ADVICE = "read-only file system; choose a writable directory"


@pytest.fixture
def read_only(disk):
    (disk.path / "in").mkdir()
    (disk.path / "old.log").touch()
    disk.remount("ro")
    return disk.path


@root_only
@pytest.mark.parametrize("name", ["new.log", "old.log"])
def test_log_in_read_only_directory_is_refused(read_only, write, name):
    [line] = problems(write(LOCAL + f"access_log: disk/{name}\n" + RESPOND))
    assert line == f"2:13: the access log '{read_only}/{name}' cannot be written: {ADVICE}"


@root_only
@pytest.mark.parametrize("text, message", [
    (LOCAL + "pid_file: disk/pid\n", "site.yaml:2:11: the pid file 'DISK/pid' cannot be written: "),
    ("listen: 'unix:disk/s'\n", "error cannot listen on 'DISK/s': "),
])
def test_start_with_read_only_directory_is_refused(read_only, write, text, message):
    done = run("uvhttp", "run", write(text + RESPOND))
    assert done.returncode == 1
    assert message.replace("DISK", str(read_only)) + ADVICE + "\n" in done.stderr


@root_only
def test_uploads_to_read_only_directory_warn_and_get_403(read_only, write, start):
    text = LOCAL + "sites: [{routes: [{path: /in/, static: disk/in, uploads: true}]}]\n"
    message = f"warning: uploads to '{read_only}/in' fail: {ADVICE}\n"
    done = run("uvhttp", "check", write(text))
    assert done.returncode == 0 and done.stderr.endswith(message)
    program = start(text)
    assert message.replace(":", "", 1) in program.log()
    assert upload(program, "x", 10) == 403
    assert re.search(r"storing the body in .* failed: read-only file system \(403\)",
                     program.log())


@root_only
def test_directory_that_becomes_read_only(disk, start):
    (disk.path / "in").mkdir()
    program = start(LOCAL + METRICS + "access_log: {path: a.log, flush_ms: 1}\n" + RESPOND.replace(
        "}]}]", "}, {path: /in/, static: disk/in, uploads: true}]}]"))
    assert upload(program, "one", 10) == 201
    disk.remount("ro")
    assert upload(program, "two", 10) == 403 and os.listdir(disk.path / "in") == ["one"]
    assert program.request("/in/one").status == 200
    disk.remount("rw")
    assert upload(program, "two", 10) == 201


@root_only
def test_reopen_in_a_read_only_directory_keeps_the_log(disk, start, tmp_path):
    (disk.path / "in").mkdir()
    program = start(LOCAL + LOG + SITE)
    requests(program, 1)
    log = disk.path / "a.log"
    eventually(lambda: sum(whole_lines(log.read_text())) == 1, "the line")
    with open(log) as kept:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", disk.path], check=True)
        try:
            program.send_signal(signal.SIGUSR1)
            message = (f"error log {log} cannot be reopened: read-only file system; "
                       "the old file remains in use")
            eventually(lambda: message in program.log(), "the failure is logged")
            requests(program, 5)
            eventually(lambda: kept.seek(0) or sum(whole_lines(kept.read())) == 6, "it is kept")
        finally:
            subprocess.run(["umount", disk.path], check=True)
    assert dropped(program) == 0
