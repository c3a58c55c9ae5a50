"""What a service manager sees: the messages of sd_notify(3), the watchdog, the pid file, and
`uvhttp reload`."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import raw
from program import Program, run
from wire_server import eventually

LISTEN = "listen: 127.0.0.1:0\n"


def respond(body):
    return LISTEN + f"sites: [{{routes: [{{path: /, respond: {{body: {body}}}}}]}}]\n"


class Manager:
    """Receives the messages, as systemd would."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(60)

    def message(self):
        text = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in text.splitlines())


@pytest.fixture(params=["path", "abstract"])
def manager(request):
    with tempfile.TemporaryDirectory(prefix="uvhttp") as directory:
        path = f"{directory}/notify"
        name = path if request.param == "path" else f"@uvhttp-test-{os.getpid()}"
        manager = Manager(path if request.param == "path" else "\0" + name[1:])
        manager.environment = {"NOTIFY_SOCKET": name}
        yield manager
        manager.socket.close()


def test_service_manager_is_told_of_start_reload_and_stop(manager, tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(respond("one"))
    program = Program("uvhttp", "run", path, environment=manager.environment)
    ready = manager.message()
    assert ready == {"READY": "1", "MAINPID": str(program.process.pid), "STATUS": "serving"}
    for text, status in ((respond("two"), "serving"),
                         ("sites: [", "serving; the last reload has failed, see the log")):
        path.write_text(text)
        before = time.monotonic() * 1e6
        program.send_signal(signal.SIGHUP)
        reloading = manager.message()
        assert reloading.pop("RELOADING") == "1"
        assert int(reloading.pop("MONOTONIC_USEC")) >= before - 1 and not reloading
        assert manager.message() == {"READY": "1", "STATUS": status}
        assert program.request("/").body == b"two"
    program.send_signal(signal.SIGTERM)
    assert manager.message() == {"STOPPING": "1", "STATUS": "stopping"}
    assert program.wait() == 0


def test_watchdog_is_fed_by_all_workers(manager, tmp_path):
    environment = manager.environment | {"WATCHDOG_USEC": "300000"}
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", "--workers=3", tmp_path,
                      environment=environment)
    assert manager.message()["READY"] == "1"
    for _ in range(5):
        assert manager.message() == {"WATCHDOG": "1"}
    program.send_signal(signal.SIGTERM)
    while "STOPPING" not in manager.message():
        pass
    assert program.wait() == 0


def test_watchdog_is_fed_while_the_server_drains(manager, tmp_path):
    (tmp_path / "big").write_bytes(raw.pattern(30_000_000))
    environment = manager.environment | {"WATCHDOG_USEC": "300000"}
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", tmp_path, environment=environment)
    with program.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/big"))
        connection.receive_exactly(1000)
        program.send_signal(signal.SIGTERM)
        while "STOPPING" not in manager.message():
            pass
        for _ in range(5):
            assert manager.message() == {"WATCHDOG": "1"}
    assert program.wait() == 0


def test_worker_without_connections_is_not_stuck_while_others_drain(manager, tmp_path):
    """Its loop has ended. More than stuck_loop_ms pass with messages of the watchdog."""
    (tmp_path / "big").write_bytes(raw.pattern(30_000_000))
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", "--workers=3", tmp_path,
                      environment=manager.environment | {"WATCHDOG_USEC": "300000"})
    with program.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/big"))
        connection.receive_exactly(1000)
        program.send_signal(signal.SIGTERM)
        while "STOPPING" not in manager.message():
            pass
        for _ in range(16):
            assert manager.message() == {"WATCHDOG": "1"}
    assert program.wait() == 0 and "stuck" not in program.log()


def test_watchdog_of_another_process_is_ignored(manager, tmp_path):
    environment = manager.environment | {"WATCHDOG_USEC": "30000", "WATCHDOG_PID": "1"}
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", tmp_path, environment=environment)
    assert manager.message()["READY"] == "1"
    assert program.request("/").status == 200
    program.send_signal(signal.SIGTERM)
    assert manager.message() == {"STOPPING": "1", "STATUS": "stopping"}
    assert program.wait() == 0


def test_pid_file_lasts_as_long_as_the_server(tmp_path):
    path = tmp_path / "uvhttp.pid"
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", f"--pid-file={path}", tmp_path)
    assert path.read_text() == f"{program.process.pid}\n"
    assert program.stop() == 0 and not path.exists()


def test_pid_file_of_another_process_stays(tmp_path):
    path = tmp_path / "uvhttp.pid"
    start = ["uvhttp", "serve", "-l127.0.0.1:0", f"--pid-file={path}", tmp_path]
    first, second = Program(*start), Program(*start)
    assert first.stop() == 0 and path.read_text() == f"{second.process.pid}\n"
    assert second.stop() == 0 and not path.exists()


def test_pid_file_that_cannot_be_written_is_an_error(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(respond("x") + "pid_file: none/pid\n")
    done = run("uvhttp", "run", path)
    assert (done.returncode, done.stderr) == (
        1, f"{path}:3:11: the pid file '{tmp_path}/none/pid' cannot be written: "
        "no such file or directory\n")


def reload(path, *arguments):
    done = run("uvhttp", "reload", *arguments, path)
    return done.returncode, done.stdout, done.stderr


def test_reload_command_applies_the_file(tmp_path):
    path, pid_file = tmp_path / "site.yaml", tmp_path / "pid"
    path.write_text(respond("one") + "pid_file: pid\n")
    program = Program("uvhttp", "run", path)
    path.write_text(respond("two") + "pid_file: pid\n")
    assert reload(path) == (
        0, f"{path}: configuration OK\n"
        f"process {program.process.pid} reloads; its log has the result\n", "")
    eventually(lambda: program.request("/").body == b"two", "the reload")
    path.write_text(respond("three") + "pid_file: pid\nsite: x\n")
    code, output, errors = reload(path)
    assert (code, output) == (1, "") and errors.startswith(f"{path}:4:1: unknown key 'site'")
    eventually(lambda: program.log().count("reload: ") == 1, "the first reload is logged")
    assert program.request("/").body == b"two"
    assert program.stop() == 0 and not pid_file.exists()


def test_reload_command_takes_the_process_of_systemd(tmp_path):
    """MAINPID, which systemd sets for ExecReload=, without a pid file."""
    path = tmp_path / "site.yaml"
    path.write_text(respond("one"))
    program = Program("uvhttp", "run", path)
    path.write_text(respond("two"))
    done = run("uvhttp", "reload", path, environment={"MAINPID": str(program.process.pid)})
    assert done.returncode == 0, done.stderr
    eventually(lambda: program.request("/").body == b"two", "the reload")
    assert program.stop() == 0


@pytest.mark.parametrize("content, message", [
    (None, "cannot be read: No such file or directory; is the server running?"),
    ("", "has no process id"),
    ("x\n", "has no process id"),
    ("-1\n", "has no process id"),
    ("12 34\n", "has no process id"),
    (f"{2**32 + 1}\n", "has no process id"),
])
def test_reload_command_needs_a_pid(tmp_path, content, message):
    path = tmp_path / "site.yaml"
    path.write_text(respond("x") + "pid_file: pid\n")
    if content is not None:
        (tmp_path / "pid").write_text(content)
    code, _, errors = reload(path)
    assert (code, errors) == (1, f"uvhttp: the pid file '{tmp_path}/pid' {message}\n")


@pytest.mark.parametrize("command", ["reload", "upgrade"])
def test_commands_leave_other_programs_alone(tmp_path, command):
    """The signals would end them."""
    path = tmp_path / "site.yaml"
    path.write_text(respond("x") + "pid_file: pid\n")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        (tmp_path / "pid").write_text(f"{other.pid}\n")
        other.stdin.write(b"a")
        other.stdin.flush()
        assert other.stdout.read(1) == b"a"  # it has its name
        done = run("uvhttp", command, path)
        assert (done.returncode, done.stderr) == (
            1, f"uvhttp: process {other.pid} of the pid file '{tmp_path}/pid' is another program, "
            "'cat'; if the server does not run, remove the file\n")
        assert other.communicate(b"live") == (b"live", None)


def test_reload_command_names_a_process_that_has_ended(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(respond("x"))
    pid = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) - 1
    (tmp_path / "pid").write_text(f"{pid}\n")
    code, _, errors = reload(path, f"--pid-file={tmp_path}/pid")
    assert code == 1 and re.fullmatch(r"uvhttp: process \d+ of the pid file '.*' does not run\n",
                                      errors)
    code, _, errors = reload(path)
    assert (code, errors) == (
        1, "uvhttp: the process is unknown: set 'pid_file', or use kill -HUP PID\n")
