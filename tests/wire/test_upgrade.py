"""An upgrade of the running program: SIGUSR2, or uvhttp upgrade, starts it again with the listening
sockets, and no client notices."""

import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading

import pytest

import raw
import tls
from program import Program, reload_process, run
from wire_server import built, eventually, free_port

SITES = "sites: [{{routes: [{{path: /, respond: {{body: {}}}}}]}}]\n"


def is_running(pid):
    try:
        state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Upgraded:
    """`uvhttp run` with a pid file; `pid` is that of the process that serves now."""
    def __init__(self, directory, text, wrapper=()):
        self.path, self.pid_path = directory / "site.yaml", directory / "pid"
        self.write(text)
        self.program = Program("uvhttp", "run", self.path, cwd=directory, wrapper=wrapper)
        self.port = self.program.port

    def write(self, text):
        self.path.write_text(f"pid_file: {self.pid_path}\n" + text)

    @property
    def pid(self):
        """A process that writes it empties the file first."""
        return int(eventually(self.pid_path.read_text, "the pid file has a number"))

    def log(self):
        return self.program.log()

    def upgrade(self, text=None):
        """Returns the pid of the old process when the new one serves."""
        old = self.pid
        if text is not None:
            self.write(text)
        os.kill(old, signal.SIGUSR2)
        path = self.pid_path
        eventually(lambda: path.exists() and path.read_text() not in ("", f"{old}\n") and
                   f"upgrade: process {self.pid} serves" in self.log(), "the new one serves")
        return old

    def reload(self, text):
        """Returns the lines of the log about it."""
        self.write(text)
        return reload_process(self.pid, self.log)

    def wait_for_end(self, pid):
        eventually(lambda: not is_running(pid), "the old process ends")

    def stop(self):
        if self.pid_path.exists():
            pid = self.pid
            os.kill(pid, signal.SIGTERM)
            self.wait_for_end(pid)
        assert self.program.process.wait(60) == 0, self.log()
        assert "Sanitizer" not in self.log(), self.log()


@pytest.fixture
def start(tmp_path):
    running = []

    def starter(text, **options):
        running.append(Upgraded(tmp_path, text, **options))
        return running[-1]

    yield starter
    for one in running:
        one.stop()


def body(port):
    with raw.Connection(port) as connection:
        return connection.request("GET", "/").body


def wait_for_body(port, expected):
    """For a moment after it has logged that another process serves, the old one serves, too."""
    eventually(lambda: body(port) == expected, f"{expected} is served")


def test_new_process_serves_with_the_new_configuration(start):
    program = start("listen: 127.0.0.1:0\n" + SITES.format("one"))
    with raw.Connection(program.port) as kept:
        assert kept.request("GET", "/").body == b"one"
        old = program.upgrade("listen: 127.0.0.1:0\nserver: {workers: 3}\n" + SITES.format("two"))
        wait_for_body(program.port, b"two")
        assert program.pid != old

        def is_last():
            response = kept.request("GET", "/")
            assert response.body == b"one"
            return response.has_close()

        eventually(is_last, "the old process closes the connection")
    program.wait_for_end(old)
    assert body(program.port) == b"two"
    assert program.log().count(f"upgrade: process {old} ends, replaced by {program.pid}\n") == 1


def test_end_of_a_process_that_has_served_is_no_error(start):
    program = start("listen: 127.0.0.1:0\nserver: {drain_grace: 60, drain_timeout: 61}\n" +
                    SITES.format("x"))
    with raw.Connection(program.port) as kept:
        assert kept.request("GET", "/").body == b"x"
        first = program.upgrade("listen: 127.0.0.1:0\n" + SITES.format("x"))
        second = program.upgrade()
        # until the first process, which drains, has its status
        eventually(lambda: not os.path.exists(f"/proc/{second}"), "the second one has ended")
        assert kept.request("GET", "/").has_close()
    os.kill(first, signal.SIGTERM)
    program.wait_for_end(first)
    assert " error " not in program.log(), program.log()


def test_no_request_fails(start):
    program = start("listen: 127.0.0.1:0\nserver: {workers: 2}\n" + SITES.format("x"))
    done, failures, count = threading.Event(), [], [0]

    def ask():
        while not done.is_set():
            try:
                with raw.Connection(program.port) as connection:
                    for _ in range(20):
                        reply = connection.request("GET", "/")
                        assert reply.body == b"x"
                        count[0] += 1
                        if reply.has_close():
                            break
            except (OSError, AssertionError) as error:
                failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for workers in (1, 4, 2):
        old = program.upgrade(f"listen: 127.0.0.1:0\nserver: {{workers: {workers}}}\n" +
                              SITES.format("x"))
        program.wait_for_end(old)
    before = count[0]
    eventually(lambda: count[0] > before, "requests go on")
    done.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def test_failed_start_changes_nothing(start):
    program = start("listen: 127.0.0.1:0\n" + SITES.format("one"))
    pid = program.pid
    for text, status in (("sites: [\n", 1), ("listen: 127.0.0.1:0\nuser: nobody-of-that-name\n" +
                                            SITES.format("two"), 1)):
        program.write(text)
        os.kill(pid, signal.SIGUSR2)
        expected = f"upgrade: the new process has ended with status {status} before it served"
        eventually(lambda: expected in program.log(), "the old process notices")
        assert body(program.port) == b"one" and program.pid == pid
        program.program.errors.truncate(0)
        program.program.errors.seek(0)
    old = program.upgrade("listen: 127.0.0.1:0\n" + SITES.format("three"))
    assert old == pid
    wait_for_body(program.port, b"three")


def test_addresses_are_those_of_the_new_configuration(start, tmp_path):
    one, two = free_port(), free_port()
    path, gone = tmp_path / "kept.sock", tmp_path / "gone.sock"
    program = start(f"listen: [127.0.0.1:{one}, 'unix:{path}', 'unix:{gone}']\n" +
                    SITES.format("one"))
    inode = path.stat().st_ino
    old = program.upgrade(f"listen: ['unix:{path}', 127.0.0.1:{two}]\n" + SITES.format("two"))
    program.wait_for_end(old)
    assert body(two) == b"two" and path.stat().st_ino == inode
    with pytest.raises(ConnectionRefusedError):
        body(one)
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as local:
            local.connect(str(path))
            local.sendall(raw.request(target="/"))
            assert b"two" in local.recv(65536)
        program.wait_for_end(program.upgrade())
    program.stop()
    assert not path.exists() and not program.pid_path.exists()


def is_refused(port):
    try:
        body(port)
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


def test_reload_changes_inherited_addresses(start, tmp_path):
    one, two, path = free_port(), free_port(), tmp_path / "gone.sock"
    both = f"listen: [127.0.0.1:{one}, 127.0.0.1:{two}, 'unix:{path}']\n"
    program = start(both + SITES.format("one"))
    program.wait_for_end(program.upgrade())
    program.reload(f"listen: 127.0.0.1:{one}\n" + SITES.format("two"))
    assert body(one) == b"two"
    eventually(lambda: is_refused(two) and not path.exists(), "the others are closed")
    program.reload(both + SITES.format("three"))
    assert body(one) == body(two) == b"three" and path.exists()


def test_reload_adds_an_address_that_only_the_old_process_had(start, tmp_path):
    one, two, path = free_port(), free_port(), tmp_path / "gone.sock"
    both = f"listen: [127.0.0.1:{one}, 127.0.0.1:{two}, 'unix:{path}']\n"
    program = start(both + SITES.format("one"))
    program.wait_for_end(program.upgrade(f"listen: 127.0.0.1:{one}\n" + SITES.format("two")))
    eventually(lambda: is_refused(two) and not path.exists(), "the others are closed")
    log = program.reload(both + SITES.format("three"))
    assert body(one) == body(two) == b"three" and path.exists(), log


def test_upgrade_changes_scheme_and_mode_of_an_address(start, tmp_path):
    one, path = free_port(), tmp_path / "site.sock"
    text = f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n" + SITES.format("x")
    listen = "listen: [127.0.0.1:{}, '{}127.0.0.1:{}', 'unix:{}:mode={}']\n"
    program = start(listen.format(free_port(), "https://", one, path, "0600") + text)
    program.wait_for_end(program.upgrade(
        listen.format(free_port(), "http://", one, path, "0660") + text))
    assert body(one) == b"x" and path.stat().st_mode & 0o777 == 0o660


def test_tls_sessions_are_resumed(start):
    text = f"listen: 127.0.0.1:0\ntls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n"
    program = start(text + SITES.format("x"))
    context, session = tls.context(only="1.2"), None
    for step in range(3):
        with socket.create_connection(("127.0.0.1", program.port)) as plain:
            with context.wrap_socket(plain, session=session) as connection:
                connection.sendall(raw.request(target="/"))
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
                assert connection.session_reused == (step > 0)
                session = connection.session
        program.wait_for_end(program.upgrade())


def test_command_checks_the_file_first(start):
    program = start("listen: 127.0.0.1:0\n" + SITES.format("one"))
    old = program.pid
    program.write("sites: [\n")
    done = run("uvhttp", "upgrade", program.path)
    assert done.returncode == 1 and "site.yaml:" in done.stderr and program.pid == old
    program.write("listen: 127.0.0.1:0\n" + SITES.format("two"))
    done = run("uvhttp", "upgrade", program.path)
    assert done.stdout.endswith(f"process {old} upgrades; its log has the result\n"), done
    eventually(lambda: f"upgrade: process {program.pid} serves" in program.log(), "it has upgraded")
    wait_for_body(program.port, b"two")


def test_metrics_and_redirect_addresses_are_passed_on(start):
    metrics, plain, status = free_port(), free_port(), free_port()
    text = (f"listen: 127.0.0.1:0\nmetrics: {{listen: 127.0.0.1:{metrics}}}\n"
            f"status: {{listen: 127.0.0.1:{status}}}\n"
            f"tls: {{redirect_http: {plain}, "
            f"certificates: [{{certificate: {tls.default_cert()}}}]}}\n")
    program = start(text + SITES.format("x"))
    for _ in range(2):
        program.wait_for_end(program.upgrade())
        with raw.Connection(metrics) as connection:
            assert connection.request("GET", "/metrics").status == 200
        with raw.Connection(status) as connection:
            assert connection.request("GET", "/status").status == 200
        with raw.Connection(plain) as connection:
            assert connection.request("GET", "/").status == 308


def test_service_manager_is_told_of_the_new_process(start, tmp_path, monkeypatch):
    def message():
        """A message, and the process that has sent it."""
        data, [(_, _, sender)], _, _ = manager.recvmsg(4096, socket.CMSG_SPACE(12))
        return data.decode(), struct.unpack("3i", sender)[0]

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        program = start("listen: 127.0.0.1:0\n" + SITES.format("x"))
        first = program.program.process.pid
        assert message() == (f"READY=1\nMAINPID={first}\nSTATUS=serving", first)
        old = program.upgrade()
        # systemd accepts messages of the main process only, which is the old one
        assert message() == (f"MAINPID={program.pid}\nREADY=1\nSTATUS=serving", old)
        program.wait_for_end(old)
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(4096) # no STOPPING of the old one


@pytest.fixture
def slow(start, tmp_path):
    """slow(text): a server whose next upgrade has begun, the pids of both processes, and a function
    that lets the new one go on."""
    link, fifo, script = tmp_path / "uvhttp", tmp_path / "fifo", tmp_path / "slow"
    link.symlink_to(built("uvhttp"))
    os.mkfifo(fifo)
    script.write_text(f'#!/bin/sh\nread line <{fifo}\nexec {built("uvhttp")} "$@"\n')
    script.chmod(0o755)

    def starter(text, use=lambda program: None):
        program = start(text, wrapper=["sh", "-c", f'shift; exec {link} "$@"', "sh"])
        use(program)
        link.unlink()
        link.symlink_to(script)
        os.kill(program.pid, signal.SIGUSR2)
        found = eventually(lambda: re.search(r"upgrade: process (\d+) starts", program.log()),
                           "it starts")
        return program, program.pid, int(found[1]), lambda: fifo.write_text("\n")

    return starter


def test_stop_during_an_upgrade_ends_both(slow):
    _, old, new, _ = slow("listen: 127.0.0.1:0\n" + SITES.format("x"))
    os.kill(old, signal.SIGTERM)
    eventually(lambda: not is_running(old) and not is_running(new), "both end")


def test_second_upgrade_names_the_process_of_the_first(slow):
    program, old, new, go_on = slow("listen: 127.0.0.1:0\n" + SITES.format("x"))
    os.kill(old, signal.SIGUSR2)
    eventually(lambda: f"upgrade: process {new} has been started and does not serve yet; to start "
               "another one, end it" in program.log(), "the warning")
    go_on()
    eventually(lambda: program.pid_path.read_text() == f"{new}\n", "the new one serves")
    program.wait_for_end(old)


@pytest.mark.parametrize("delay", [0, 60])
def test_new_process_ends_if_the_old_one_stops_meanwhile(slow, tmp_path, delay):
    (tmp_path / "big").write_bytes(raw.pattern(30_000_000))
    connections = []

    def download(program):
        connections.append(raw.Connection(program.port, receive_buffer=4096))
        connections[0].send(raw.request("GET", "/big"))
        connections[0].receive_exactly(1000)

    program, old, new, go_on = slow(
        f"listen: 127.0.0.1:0\nserver: {{drain_delay: {delay}}}\n"
        f"sites: [{{routes: [{{path: /, static: {tmp_path}}}]}}]\n", download)
    os.kill(old, signal.SIGTERM)
    eventually(lambda: "stopping" in program.log(), "the old one stops")
    go_on()
    if delay > 0:
        eventually(lambda: program.log().count("stopping in 60 seconds") == 2, "the new one, too")
        os.kill(new, signal.SIGTERM)
    eventually(lambda: not is_running(new), "the new one ends")
    eventually(lambda: program.pid_path.exists() and program.pid == old, "the pid file")
    assert is_running(old)
    connections[0].close()
    os.kill(old, signal.SIGTERM)
    program.wait_for_end(old)


def test_stopping_server_does_not_upgrade(start):
    program = start("listen: 127.0.0.1:0\nserver: {drain_delay: 60}\n" + SITES.format("x"))
    pid = program.pid
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: "stopping in" in program.log(), "the old one stops")
    os.kill(pid, signal.SIGUSR2)
    os.kill(pid, signal.SIGTERM)
    program.wait_for_end(pid)
    assert "upgrade:" not in program.log()


def test_pid_file_is_that_of_the_old_process_after_a_failure(slow):
    program, old, new, _ = slow("listen: 127.0.0.1:0\n" + SITES.format("x"))
    program.pid_path.unlink()
    os.kill(new, signal.SIGKILL)
    eventually(lambda: program.pid_path.exists() and program.pid_path.read_text() == f"{old}\n",
               "the pid file")


@pytest.mark.parametrize("host", ["[0:0:0:0:0:0:0:1]", "[::0001]"])
def test_addresses_are_compared_as_numbers(start, host):
    with socket.socket(socket.AF_INET6) as chosen:
        chosen.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        chosen.bind(("::1", 0))
        program = start(f"listen: '{host}:{chosen.getsockname()[1]}'\n" + SITES.format("x"))
        program.wait_for_end(program.upgrade())


def test_program_may_be_a_symbolic_link(tmp_path):
    """As with directories of versions and a link to the current one."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        shutil.copy(built("uvhttp"), tmp_path / version)
    link, pid_path = tmp_path / "current", tmp_path / "pid"
    link.symlink_to("1")
    with subprocess.Popen([link / "uvhttp", "serve", "-l127.0.0.1:0", f"--pid-file={pid_path}",
                           tmp_path], stdout=subprocess.DEVNULL) as program:
        eventually(lambda: pid_path.exists() and pid_path.read_text(), "it serves")
        link.unlink()
        link.symlink_to("2")
        program.send_signal(signal.SIGUSR2)
        assert program.wait(60) == 0
    pid = int(pid_path.read_text())
    assert os.readlink(f"/proc/{pid}/exe") == f"{tmp_path}/2/uvhttp"
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not is_running(pid), "it ends")


def test_upgraded_server_of_nohup_survives_its_terminal(tmp_path):
    """A new process does not inherit that SIGHUP is ignored."""
    pid_path, log = tmp_path / "pid", tmp_path / "log"
    leader, terminal = pty.fork()
    if leader == 0:
        os.execvp("sh", ["sh", "-c", f"nohup {built('uvhttp')} serve -l127.0.0.1:0 "
                         f"--pid-file={pid_path} {tmp_path} >{log} 2>&1 & cat"])
    eventually(lambda: pid_path.exists() and pid_path.read_text(), "it serves")
    old = int(pid_path.read_text())
    os.kill(old, signal.SIGUSR2)
    eventually(lambda: not is_running(old), "the old process ends")
    pid = int(pid_path.read_text())
    os.close(terminal)
    os.waitpid(leader, 0)
    os.kill(pid, signal.SIGHUP)
    os.kill(pid, signal.SIGUSR2)  # handled after SIGHUP, unless that stops the server
    eventually(lambda: log.read_text().count("upgrade: process") >= 4, "it goes on")
    eventually(lambda: not is_running(pid), "the process of the first upgrade ends")
    pid = int(pid_path.read_text())
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not is_running(pid), "it ends")
