"""The options `confine` and `no_new_privs`: what a server does under Landlock and seccomp, and what
it cannot do."""

import ctypes
import errno
import os
import pathlib
import re
import signal
import socket
import stat
import struct
import subprocess

import pytest
import yaml

import tls
from program import Program, reload_process, run
from wire_server import eventually

HERE = pathlib.Path(__file__).parent
SECRET = "$2b$05$abcdefghijklmnopqrstuu3CBNzyP0b1MCvVPBGqJMvTaSG9eMkRm"  # of nobody
CREATE_RULESET, SECCOMP = 444, {"x86_64": 317, "aarch64": 277}.get(os.uname().machine)
UID = 12345


def landlock_abi():
    return ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)


pytestmark = [
    pytest.mark.skipif("confine" not in run("uvhttp", "--version").stdout.split(),
                       reason="a build without libseccomp"),
    pytest.mark.skipif(landlock_abi() < 1, reason="a kernel without Landlock"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change users")
knows_calls = pytest.mark.skipif(SECCOMP is None, reason="numbers of system calls")


@pytest.fixture
def place(tmp_path):
    """A directory with the directories `site` and `outside`, and `etc` for a configuration."""
    for name in ("site", "outside", "etc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text(f"of {name}\n")
    return tmp_path


def write_config(place, text):
    """Its path; "@" is the directory `place`."""
    path = place / "etc/site.yaml"
    path.write_text(text.replace("@", str(place)))
    return path


# The leak check of AddressSanitizer needs a process and ptrace(2).
SANITIZER = {"ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"}


@pytest.fixture
def start(place):
    """start("--flag", ...) or start(config="..."): a server of the directory `site`."""
    running = []

    def starter(*arguments, config=None, environment=None, **options):
        where = ("serve", "-l", "127.0.0.1:0", place / "site")
        if config is not None:
            where = ("run", write_config(place, config))
        running.append(
            Program("uvhttp", *where, *arguments, environment={**SANITIZER, **(environment or {})},
                    **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def statuses(program):
    """Seccomp and NoNewPrivs of each thread."""
    found = set()
    for task in pathlib.Path(f"/proc/{program.process.pid}/task").iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
                     if ":\t" in line)
        found.add((lines["Seccomp"], lines["NoNewPrivs"]))
    return found


def config(route="", rest="confine: true\n", root="@/site"):
    return ("listen: 127.0.0.1:0\n" + rest +
            f"sites: [{{routes: [{{path: /, static: '{root}'{route}}}]}}]\n")


def reload(program, result="reload: the configuration is applied"):
    """Returns what the log has about it."""
    log = reload_process(program.process.pid, program.log)
    assert result in log
    return log


# What is restricted


@pytest.mark.parametrize("how", [("--confine", ), ("--confine=on", ), ("--confine=best-effort", ),
                                 {"UVHTTP_CONFINE": "on"}, "confine: true\n",
                                 "confine: {mode: on}\n", "confine: {read: ['@/outside']}\n"])
def test_all_threads_are_restricted(start, how):
    if isinstance(how, tuple):
        program = start(*how, "--workers=3", "--metrics")
    elif isinstance(how, dict):
        program = start("--workers=3", environment=how)
    else:
        program = start(config=config(rest=how + "server: {workers: 3}\n"))
    assert program.request("/file.txt").body == b"of site\n"
    assert len(list(pathlib.Path(f"/proc/{program.process.pid}/task").iterdir())) > 3
    assert statuses(program) == {("2", "1")}


@pytest.mark.parametrize("flag", ["--confine=off", "--no-spa"])
def test_default_is_unrestricted(start, flag):
    assert statuses(start(flag)) == {("0", "0")}


def test_flag_overrides_file(start):
    program = start("--confine=off", config=config())
    assert statuses(program) == {("0", "0")}


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    library = tmp_path_factory.mktemp("probe") / "probe.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                    HERE / "confine_probe.c"], check=True)
    return library


@pytest.mark.release_only
def test_forbidden_calls_fail(start, place, probe):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = start("--confine", "--uploads", environment={
            "LD_PRELOAD": str(probe), "PROBE_FILE": str(place / "outside/file.txt"),
            "PROBE_NEW": str(place / "outside/new"), "PROBE_PORT": str(listener.getsockname()[1])})
        program.send_signal(signal.SIGURG)
        eventually(lambda: "probe end 0\n" in program.log(), "the attempts are finished")
    found = {name: int(number) for name, number in re.findall(r"probe (\w+) (\d+)", program.log())}
    expected = {name: errno.ENOSYS for name in found}
    expected.update(read=errno.EACCES, create=errno.EACCES, null=0, end=0,
                    memory_file=0, limits_of_group=0,
                    connect=errno.EACCES if landlock_abi() >= 4 else 0)
    assert found == expected and len(found) == 31
    assert not (place / "outside/new").exists()
    assert program.request("/file.txt").body == b"of site\n"


@pytest.mark.release_only
def test_log_to_standard_error_opens_no_device(start, place, probe):
    (place / "logs").mkdir()
    log = place / "logs/log"
    program = start("--confine", "--access-log=/dev/stderr", environment={
        "LD_PRELOAD": str(probe), "PROBE_FILE": "/dev/zero", "PROBE_NEW": "/dev/shm/uvhttp",
        "PROBE_PORT": "0"}, wrapper=("sh", "-c", f"exec \"$@\" 2>>'{log}'", "sh"))
    program.send_signal(signal.SIGURG)
    eventually(lambda: "probe end 0\n" in log.read_text(), "the attempts are finished")
    assert f"probe read {errno.EACCES}\n" in log.read_text()
    assert f"probe create {errno.EACCES}\n" in log.read_text()
    program.request("/file.txt")
    eventually(lambda: "/file.txt" in log.read_text(), "the request is logged")


def test_link_out_of_the_root_is_forbidden(start, place):
    (place / "site/link.txt").symlink_to(place / "outside/file.txt")
    free = start("--symlinks=all", "--workers=1")
    assert free.request("/link.txt").body == b"of outside\n"
    confined = start("--symlinks=all", "--confine", "--workers=3")
    for _ in range(12):
        assert confined.request("/link.txt").status == 403
    assert confined.request("/file.txt").status == 200


def test_files_are_restricted_before_threads_start(start, tmp_path):
    trace = tmp_path / "trace"
    program = start("--confine", "--access-log=" + str(tmp_path / "log"), "--workers=2",
                    wrapper=("strace", "-f", "-o", trace, "-e",
                             "trace=landlock_restrict_self,clone,clone3"))
    pid = int(trace.read_text().split()[0])
    os.kill(pid, signal.SIGTERM)
    assert program.wait() == 0
    calls = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.M)
    assert calls[0] == "landlock_restrict_self" and calls.count("landlock_restrict_self") == 1
    assert len(calls) > 3


@as_root
def test_file_in_the_top_directory_is_a_warning(start):
    program = start("--confine", "--pid-file=/uvhttp-test.pid")
    assert ("warning --confine: the server can write to every file, because it has one of its own "
            "in '/'; move that to another directory\n") in program.log()


# What works


@pytest.mark.parametrize("user", ["", pytest.param(f"user: {UID}\ngroup: {UID}\n", marks=as_root)])
def test_everything_of_a_server_works(start, place, user):
    for name in ("certs", "logs", "run", "staff", "private"):
        (place / name).mkdir()
    certificate = tls.certificate("one.example", path=place / "certs/site.pem")
    (place / "staff/users").write_text(f"ann:{SECRET}\n")
    for path in (place, *place.parents):
        if user and path != pathlib.Path("/"):
            path.chmod(path.stat().st_mode | stat.S_IXOTH)
    if user:
        for path in (place, *place.rglob("*")):
            os.chown(path, UID, UID)
    text = config(", uploads: true", f"confine: true\n{user}pid_file: '@/run/pid'\n"
                  "access_log: '@/logs/access'\nmetrics: /metrics\nstatus: /status\n"
                  "tls: {certificates: [{certificate: '@/certs/site.pem'}]}\n")
    text = text.replace("listen: 127.0.0.1:0\n",
                        "listen: [http://127.0.0.1:0, 127.0.0.1:0, {unix: '@/run/http.sock'}]\n")
    text = text.replace("routes: [", "routes: [{path: /staff/, static: '@/private', "
                        "basic_auth: {file: '@/staff/users'}}, ")
    program = start(config=text)
    assert statuses(program) == {("2", "1")}
    request = lambda *a, **k: curl(program, *a, **k)  # noqa: E731
    assert request("/file.txt") == "of site\n"
    assert "process_resident_memory_bytes" in request("/metrics")
    assert re.search(r"process_open_fds [1-9]", request("/metrics"))
    assert request("/new.txt", "-T", str(place / "outside/file.txt")).startswith("201")
    assert request("/new.txt") == "of outside\n"
    assert request("/file.txt", "--unix-socket", str(place / "run/http.sock")) == "of site\n"
    assert "401" in request("/staff/file.txt", "-i")
    # another file with the name of a log, a password file and a certificate
    (place / "logs/access").rename(place / "logs/access.1")
    (place / "users.new").write_text(f"bob:{SECRET}\n")
    (place / "users.new").rename(place / "staff/users")
    tls.certificate("two.example", path=place / "pem.new").rename(certificate)
    if user:
        os.chown(certificate, UID, UID)
    program.send_signal(signal.SIGUSR1)
    eventually((place / "logs/access").exists, "the log is reopened")
    (place / "site/below").mkdir()
    (place / "site/below/file.txt").write_text("below\n")
    write_config(place, text.replace("@/site'", "@/site/below'"))
    reload(program)
    assert request("/file.txt") == "below\n"
    eventually(lambda: request("/file.txt") and (place / "logs/access").read_text(),
               "the new log is used")
    assert statuses(program) == {("2", "1")}
    pid_file = place / "run/pid"
    assert pid_file.read_text() == f"{program.process.pid}\n"
    assert program.stop() == 0 and not pid_file.exists(), program.log()
    assert " error " not in program.log(), program.log()


def curl(program, target, *options):
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *options,
                           f"http://127.0.0.1:{program.port}{target}"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_self_signed_certificate_is_created(start, tmp_path):
    program = start("--confine", "--tls-self-signed",
                    environment={"XDG_STATE_HOME": str(tmp_path / "a/state")})
    done = subprocess.run(["curl", "-ksS", f"{program.url}file.txt"], capture_output=True)
    assert done.stdout == b"of site\n" and (tmp_path / "a/state/uvhttp/self-signed.pem").exists()


def test_certificate_is_reloaded(start, place):
    (place / "certs").mkdir()
    path = tls.certificate("one.example", path=place / "certs/site.pem")
    program = start("--confine", "--tls-cert", path, "--no-tls-watch")
    tls.certificate("two.example", path=place / "new").rename(path)
    program.send_signal(signal.SIGHUP)
    eventually(lambda: "certificates reloaded after SIGHUP" in program.log(), "they are reloaded")


def test_settings_of_openssl_apply(place):
    (place / "ssl").mkdir()
    (place / "ssl/more.cnf").write_text("default_properties = fips=yes\n")
    settings = place / "ssl/openssl.cnf"
    settings.write_text("openssl_conf = all\n[all]\nalg_section = algorithms\n[algorithms]\n"
                        f".include {place}/ssl/more.cnf\n")
    certificate = tls.certificate("one.example", path=place / "etc/site.pem")
    found = [run("uvhttp", "serve", "-l127.0.0.1:0", f"--tls-cert={certificate}", how,
                 place / "site", environment={**SANITIZER, "OPENSSL_CONF": str(settings)})
             for how in ("--confine=off", "--confine=on")]
    assert [one.returncode for one in found] == [1, 1]
    assert found[0].stderr == found[1].stderr


# Reload


def test_reload_to_another_root_names_it(start, place):
    program = start(config=config())
    write_config(place, config(root="@/outside"))
    log = reload(program, "reload: nothing is changed")
    assert (f"error {place}/etc/site.yaml:3:37: confine: since the start the server cannot read "
            f"'{place}/outside'; restart it, and for later changes add a directory above to 'read' "
            "of 'confine'\n") in log
    assert program.request("/file.txt").body == b"of site\n"


def test_reload_to_a_listed_root(start, place):
    more = "confine: {read: ['@/outside']}\n"
    program = start(config=config(rest=more))
    write_config(place, config(rest=more, root="@/outside"))
    reload(program)
    assert program.request("/file.txt").body == b"of outside\n"


def test_reload_to_uploads_needs_a_writable_root(start, place):
    program = start(config=config())
    write_config(place, config(", uploads: true"))
    log = reload(program, "reload: nothing is changed")
    assert f"the server cannot write to '{place}/site'" in log and "to 'write' of" in log


def test_reload_cannot_change_the_restriction(start, place):
    program = start(config=config(rest=""))
    write_config(place, config(rest="confine: true\nno_new_privs: true\n"))
    log = reload(program)
    for key in ("confine", "no_new_privs"):
        assert f"reload: '{key}' has changed since the start; this needs a restart" in log
    assert statuses(program) == {("0", "0")}


def test_root_that_is_a_link_needs_its_targets(start, place):
    (place / "releases/1").mkdir(parents=True)
    (place / "releases/2").mkdir()
    (place / "releases/1/a").write_text("one")
    (place / "releases/2/a").write_text("two")
    link = place / "current"
    link.symlink_to("releases/1")
    program = start(config=config(root="@/current"))
    assert (f"warning confine: '{link}' is a link, and its later targets cannot be read; add a "
            "directory above them to 'read' of 'confine'\n") in program.log()
    assert program.request("/a").body == b"one" and program.stop() == 0
    listed = "confine: {read: '@/releases'}\n"
    program = start(config=config(", revalidate_ms: 1", listed, "@/current"))
    assert "is a link" not in program.log() and program.request("/a").body == b"one"
    link.unlink()
    link.symlink_to("releases/2")
    eventually(lambda: program.request("/a").body == b"two", "the new release is served")


# Upgrade


def test_upgrade_is_refused(start):
    program = start("--confine")
    program.send_signal(signal.SIGUSR2)
    eventually(
        lambda: "error upgrade: with 'confine' the process cannot start another one; restart it, "
        "without a refused connection if systemd has the sockets\n" in program.log(), "the error")
    assert program.request("/file.txt").body == b"of site\n"


# Systems without it


def without(*calls, error=errno.ENOSYS):
    """Makes system calls fail (seccomp(2))."""
    def install():
        lines = [(0x20, 0, 0, 0)]  # BPF_LD | BPF_W | BPF_ABS
        for call in calls:
            lines += [(0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | error)]  # BPF_JEQ, BPF_RET
        lines.append((0x06, 0, 0, 0x7FFF0000))
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
        filters = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, filters) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER

    return install


NO_LANDLOCK = [
    (errno.ENOSYS, "the kernel has no Landlock, which Linux 5.13 has"),
    (errno.EOPNOTSUPP, "Landlock is off; the parameter lsm= of the kernel can add 'landlock'"),
    (errno.EPERM, "the service manager or the container does not permit the calls of Landlock"),
]


@knows_calls
@pytest.mark.parametrize("error, why", NO_LANDLOCK)
@pytest.mark.parametrize("command", ["run", "check"])
def test_kernel_without_landlock_is_an_error(place, command, error, why):
    path = write_config(place, config())
    done = run("uvhttp", command, path, preexec_fn=without(CREATE_RULESET, error=error))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"{path}:2:10: confine: files cannot be restricted: {why}; with "
                           "'best-effort' the server starts without it\n")


@knows_calls
@pytest.mark.parametrize("error, why", NO_LANDLOCK)
def test_best_effort_warns_without_landlock(start, error, why):
    program = start("--confine=best-effort", preexec_fn=without(CREATE_RULESET, error=error))
    assert f"warning --confine: files cannot be restricted: {why}\n" in program.log()
    assert statuses(program) == {("2", "1")}
    assert program.request("/file.txt").body == b"of site\n"


@knows_calls
def test_kernel_without_seccomp(start, place):
    done = run("uvhttp", "serve", "-l127.0.0.1:0", "--confine", place / "site",
               preexec_fn=without(SECCOMP))
    assert done.returncode == 1 and "uvhttp: --confine: system calls cannot be restricted: " in \
        done.stderr
    program = start("--confine=best-effort", preexec_fn=without(SECCOMP))
    assert "warning --confine: system calls cannot be restricted: " in program.log()
    assert program.request("/file.txt").body == b"of site\n"


# no_new_privs


@pytest.mark.parametrize("how, expected", [
    (("--no-new-privs", ), "1"),
    (("--no-new-privs=off", ), "0"),
    (("--no-new-privs=auto", ), "0"),
    pytest.param(("--user", UID, "--group", UID), "1", marks=as_root),
    pytest.param(("--user", UID, "--group", UID, "--no-new-privs=off"), "0", marks=as_root),
])
def test_no_new_privs(start, place, how, expected):
    program = start(*how, "--workers=2")
    assert statuses(program) == {("0", expected)}


@pytest.mark.parametrize("value, expected", [("true", "1"), ("false", "0"), ("auto", "0"),
                                             ("on", "1")])
def test_no_new_privs_of_a_file(start, value, expected):
    assert statuses(start(config=config(rest=f"no_new_privs: {value}\n"))) == {("0", expected)}


# Configuration


@pytest.mark.parametrize("text, message", [
    ("confine: maybe", "1:10: confine is 'maybe'; allowed are off, on, best-effort"),
    ("confine: {mode: x}", "1:17: mode is 'x'; allowed are off, on, best-effort"),
    ("confine: {reed: a}", "1:11: unknown key 'reed' in confine; did you mean 'read'?"),
    ("confine: {read: ['']}", "1:18: read has an empty path"),
    ("no_new_privs: x", "1:15: no_new_privs is 'x'; allowed are auto, off, on"),
    ("confine: {write: none}",
     "1:18: confine: '{place}/none' cannot be opened: No such file or directory"),
    ("{confine: true, no_new_privs: off}",
     "1:31: 'confine' requires 'no_new_privs'; omit one of them"),
])
def test_errors_of_a_file(place, text, message):
    path = place / "site.yaml"
    rest = "sites: [{routes: [{path: /, static: site}]}]"
    path.write_text(text[:-1] + f", {rest}}}" if text[0] == "{" else f"{text}\n{rest}\n")
    done = run("uvhttp", "check", path)
    assert (done.returncode, done.stderr) == (1, f"{path}:{message.format(place=place)}\n")


def test_invalid_word_of_a_flag(place):
    done = run("uvhttp", "serve", "--confine=maybe", place)
    assert (done.returncode, done.stderr) == (
        2, "uvhttp: --confine: 'maybe' is invalid; allowed are off, on, best-effort\n")


def test_values_are_printed(place):
    path, again = place / "site.yaml", place / "again.yaml"
    path.write_text(
        config(rest="confine: {mode: best-effort, read: [outside], write: site}\n"
               "no_new_privs: on\n", root="site"))
    text = run("uvhttp", "run", "--print-config", path).stdout
    again.write_text(text)
    printed = yaml.safe_load(text)
    assert printed["confine"] == {"mode": "best-effort", "read": [f"{place}/outside"],
                                  "write": [f"{place}/site"]}
    assert printed["no_new_privs"] is True
    assert run("uvhttp", "run", "--print-config", again).stdout == text
    text = run("uvhttp", "serve", "--print-config", "--confine", place / "site").stdout
    assert "confine:\n  mode: on\n" in text and "no_new_privs" not in text
