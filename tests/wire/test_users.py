"""Users and permissions: mode, owner and group of unix sockets, and the change from root to a user
before the first request."""

import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile

import pytest
import yaml

import tls
from program import Program, clean_environment, run
from wire_server import built, eventually

UID, GID = 12345, 23456  # without names
USER = ("--user", UID, "--group", GID)
OTHER = {"user": 34567, "group": 34567, "extra_groups": []}
NOT_ROOT = ("setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups")
LOCAL = "listen: 127.0.0.1:0\n"
ROUTES = "sites: [{routes: [{path: /, static: site}]}]\n"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change users")


@pytest.fixture
def place():
    """A directory of root that all users can search, with the directory `site`."""
    directory = pathlib.Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    (directory / "site").mkdir(mode=0o755)
    (directory / "site" / "file.txt").write_text("a file\n")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def start(place):
    """start("--flag", ...) or start(yaml="..."): a running server of the directory `site`."""
    running = []

    def starter(*arguments, config=None, **options):
        if config is None:
            where = ("serve", "-l", "127.0.0.1:0", place / "site")
        else:
            (place / "site.yaml").write_text(config)
            where = ("run", place / "site.yaml")
        running.append(Program("uvhttp", *where, *arguments, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def fetch(path, **user):
    """The exit status and output of a client on a unix socket."""
    done = subprocess.run(
        ["curl", "-sS", "--max-time", "60", "--unix-socket", path, "http://x/file.txt"],
        capture_output=True, text=True, env=clean_environment(), cwd="/", **user)
    return done.returncode, done.stdout


def access_of(path):
    found = os.stat(path)
    return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid


# Unix sockets


@pytest.mark.parametrize("umask", [0o077, 0])
@pytest.mark.parametrize("workers", [1, 3])
def test_mode_of_unix_socket(start, place, umask, workers):
    path = place / "socket"
    start("-l", f"unix:{path}:mode=0660", "--workers", workers, umask=umask)
    assert access_of(path)[0] == 0o660
    assert fetch(path) == (0, "a file\n")


@as_root
@pytest.mark.parametrize("workers", [1, 3])
def test_owner_and_group_of_unix_socket(start, place, workers):
    path = place / "socket"
    start("-l", f"unix:{path}:group={GID}:mode=0660:owner={UID}", "--workers", workers)
    assert access_of(path) == (0o660, UID, GID)
    assert fetch(path, **OTHER) == (7, "")
    assert fetch(path, user=34567, group=GID, extra_groups=[]) == (0, "a file\n")
    assert fetch(path, user=UID, group=34567, extra_groups=[]) == (0, "a file\n")


@as_root
def test_unix_sockets_of_a_file(start, place):
    start(config="listen:\n"
          "  - 127.0.0.1:0\n"
          f"  - {{unix: a.sock, mode: 0620, owner: {UID}, group: {GID}}}\n"
          f"  - unix:b.sock:owner={UID}\n"
          "  - {unix: 'c:mode=0666', mode: 0600, group: root}\n"
          f"metrics: {{listen: {{unix: metrics.sock, mode: 0640, group: {GID}}}}}\n" + ROUTES,
          umask=0o022)
    assert access_of(place / "a.sock") == (0o620, UID, GID)
    assert access_of(place / "b.sock") == (0o755, UID, 0)
    assert access_of(place / "c:mode=0666") == (0o600, 0, 0)
    assert access_of(place / "metrics.sock") == (0o640, 0, GID)


def test_unix_sockets_are_printed(place):
    given = [{"unix": "/a:owner=0", "mode": 0o660, "owner": "root", "group": "0"},
             {"unix": "/b"}, {"unix": "@c"}]
    (place / "a.yaml").write_text(
        "listen: [{unix: '/a:owner=0', mode: 660, owner: root, group: 0}, unix:/b, {unix: '@c'}]\n"
        "metrics: {listen: unix:/m:mode=0600}\nuser: root\ngroup: '0'\n" + ROUTES)
    text = run("uvhttp", "run", "--print-config", place / "a.yaml").stdout
    (place / "b.yaml").write_text(text)
    printed = yaml.safe_load(text)
    assert printed["listen"] == given
    assert printed["metrics"]["listen"] == {"unix": "/m", "mode": 0o600}
    assert (printed["user"], printed["group"]) == ("root", "0")
    assert run("uvhttp", "run", "--print-config", place / "b.yaml").stdout == text


UNKNOWN_USER = "there is no user 'no-one'; give a name of /etc/passwd, or a number"
UNKNOWN_GROUP = "there is no group 'no-group'; give a name of /etc/group, or a number"


@pytest.mark.parametrize("suffix, message", [
    (":mode=0999", "mode '0999' is invalid; allowed are 0600 to 0777, in octal digits"),
    (":mode=0577", "mode '0577' is invalid; allowed are 0600 to 0777, in octal digits"),
    (":mode=01777", "mode '01777' is invalid; allowed are 0600 to 0777, in octal digits"),
    (":mode=", "mode '' is invalid; allowed are 0600 to 0777, in octal digits"),
    (":owner=no-one", UNKNOWN_USER),
    (":mode=0600:group=no-group:owner=0", UNKNOWN_GROUP),
    (":owner=4294967295", "there is no user '4294967295'; give a name of /etc/passwd, or a number"),
])
def test_invalid_access_of_unix_socket(place, suffix, message):
    done = run("uvhttp", "serve", "-l", f"unix:{place}/socket{suffix}", place / "site")
    assert (done.returncode, done.stderr) == (2, f"uvhttp: --listen: {message}\n")


@pytest.mark.parametrize("text, message", [
    ("listen: {unix: a, mode: 1777}",
     "1:25: mode '1777' is invalid; allowed are 0600 to 0777, in octal digits"),
    ("listen: [{unix: a, owner: no-one}]", f"1:27: {UNKNOWN_USER}"),
    ("metrics: {listen: {unix: a, group: no-group}}", f"1:36: {UNKNOWN_GROUP}"),
    ("listen: unix:a:group=no-group", f"1:9: {UNKNOWN_GROUP}"),
    ("listen: {mode: 0600}", "1:9: the map of an address requires 'unix', the path of a socket"),
    ("listen: {unix: '', mode: 0600}", "1:9: the address of a unix socket has no path"),
    ("listen: {unix: '@a', mode: 0600}",
     "1:9: the abstract name '@a' has no mode, owner and group; give the path of a file"),
    ("listen: {unix: a, mod: 0600}", "1:19: unknown key 'mod' in an address; did you mean 'mode'?"),
    ("user: no-one", f"1:7: user: {UNKNOWN_USER}"),
    ("{user: root, group: no-group}", f"1:21: group: {UNKNOWN_GROUP}"),
    ("user: 4294967294", "1:7: user: the user 4294967294 has no name and so no group; set group, "
     "too"),
    ("group: root", "1:8: group 'root' requires 'user'"),
    ("user: ''", "1:7: user: there is no user ''; give a name of /etc/passwd, or a number"),
    ("user: [root]", "1:7: user: expected a single value, found a list"),
])
def test_errors_of_a_file(place, text, message):
    path = place / "site.yaml"
    inside = text[:-1] + f", {ROUTES.strip()}}}"
    path.write_text(inside if text[0] == "{" else f"{text}\n{ROUTES}")
    done = run("uvhttp", "check", path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{path}:{message}\n")


def test_owner_needs_permission(place):
    place.chmod(0o777)
    arguments = ["-l", f"unix:{place}/socket:owner=54321", place / "site"]
    wrapper = NOT_ROOT if os.geteuid() == 0 else ()
    done = subprocess.run([*wrapper, built("uvhttp"), "serve", *arguments], capture_output=True,
                          text=True, env=clean_environment())
    assert done.returncode == 1
    assert done.stderr.endswith(
        f" error cannot listen on '{place}/socket': no permission to set its owner or group; only "
        "root may set another owner, and others only groups that they belong to\n")
    assert not os.path.exists(place / "socket")


# The change of the user


def statuses(program):
    """Ids, groups and no_new_privs of each thread of a program."""
    found = set()
    for task in pathlib.Path(f"/proc/{program.process.pid}/task").iterdir():
        lines = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
                     if ":\t" in line)
        found.add(tuple(lines[name].strip() for name in ("Uid", "Gid", "Groups", "NoNewPrivs",
                                                         "CapEff", "CapPrm")))
    return found


def status(uid, gid, groups):
    return ("\t".join([str(uid)] * 4), "\t".join([str(gid)] * 4), groups, "1", "0" * 16, "0" * 16)


@as_root
def test_all_threads_change_user_after_listening(start, place):
    private = place / "site" / "private.txt"
    private.write_text("of root\n")
    private.chmod(0o600)
    program = start("-l", "127.45.67.89:80", "--workers", 3, f"--access-log={place}/access.log",
                    *USER)
    assert program.request("/file.txt").status == 200
    assert program.request("/private.txt").status == 403
    assert statuses(program) == {status(UID, GID, str(GID))}
    assert "http://127.45.67.89/" in program.urls
    assert program.log(root_warning=True) == ""


@as_root
@pytest.mark.parametrize("how", ["flags", "variables", "file", "flags over file"])
def test_user_of_flag_variable_and_file(start, how):
    given = {"flags": {"arguments": USER},
             "variables": {"environment": {"UVHTTP_USER": str(UID), "UVHTTP_GROUP": str(GID)}},
             "file": {"config": f"{LOCAL}user: {UID}\ngroup: {GID}\n{ROUTES}"},
             "flags over file": {"arguments": USER,
                                 "config": f"{LOCAL}user: root\ngroup: root\n{ROUTES}"}}[how]
    program = start(*given.pop("arguments", ()), **given)
    assert statuses(program) == {status(UID, GID, str(GID))}


@as_root
def test_groups_are_those_of_the_user(start):
    id_of = {what: subprocess.check_output(["id", what, "daemon"], text=True).strip()
             for what in ("-u", "-g", "-G")}
    program = start("--user", "daemon")
    assert statuses(program) == {status(id_of["-u"], id_of["-g"], id_of["-G"])}


@as_root
def test_uploads_belong_to_the_user(start, place):
    os.chown(place / "site", UID, GID)
    program = start("--uploads", *USER)
    assert program.request("/new", "Content-Length: 1", method="PUT", body=b"x").status == 201
    assert access_of(place / "site" / "new")[1:] == (UID, GID)
    assert program.log() == ""


@as_root
def test_socket_of_root_directory_is_replaced_after_restart(start, place):
    path = place / "socket"
    for _ in range(2):
        program = start("-l", f"unix:{path}:mode=0666", *USER)
        assert fetch(path, **OTHER) == (0, "a file\n")
        assert program.stop() == 0
        assert path.exists()


@as_root
def test_access_log_is_reopened_by_the_user(start, place):
    logs = place / "logs"
    logs.mkdir()
    os.chown(logs, UID, GID)
    path = logs / "access.log"
    program = start(f"--access-log={path}", *USER)
    assert access_of(path) == (0o640, UID, GID)
    path.rename(logs / "old.log")
    program.send_signal(signal.SIGUSR1)
    eventually(path.exists, "the log is reopened")
    assert access_of(path)[1] == UID
    line = r"\S+ info signal SIGUSR1: reopening the access logs\n"
    eventually(lambda: re.fullmatch(line, program.log()), "the signal is logged")


@as_root
def test_access_logs_of_sites_belong_to_the_user(start, place):
    (place / "root.log").touch(0o600)
    config = (f"{LOCAL}user: {UID}\ngroup: {GID}\naccess_log: a.log\nsites:\n"
              "- {hosts: a, access_log: b.log, routes: [{path: /, static: site}]}\n"
              "- {hosts: b, access_log: b.log, routes: [{path: /, static: site}]}\n"
              "- {hosts: c, access_log: root.log, routes: [{path: /, static: site}]}\n"
              "- {hosts: d, access_log: '-', routes: [{path: /, static: site}]}\n")
    program = start(config=config)
    assert access_of(place / "a.log") == access_of(place / "b.log") == (0o640, UID, GID)
    assert re.findall(r"cannot write '(.*?)'", program.log()) == [f"{place}/root.log"]


@as_root
def test_access_log_of_root_remains_in_use(start, place):
    path = place / "access.log"
    path.touch(0o600)
    program = start(f"--access-log={path}", *USER)
    warning = (f" warning user '{UID}' cannot write '{path}' (permission denied): the access log "
               "cannot be reopened\n")
    assert warning in program.log()
    program.send_signal(signal.SIGUSR1)
    eventually(lambda: re.search(r" error .*access\.log.* permission denied", program.log()),
               "an error is logged")
    program.request("/file.txt")
    assert program.stop() == 0
    assert "GET /file.txt" in path.read_text()


@as_root
def test_certificate_of_root_is_loaded_and_kept(start, place):
    path = tls.certificate(path=place / "site.pem")
    program = start("--tls-cert", path, *USER)
    warning = (f" warning user '{UID}' cannot read '{path}' (permission denied): certificates "
               "cannot be reloaded\n")
    assert warning in program.log()
    program.send_signal(signal.SIGHUP)
    eventually(lambda: " error the certificates were not reloaded: " in program.log(),
               "an error is logged")
    assert f"'{path}'" in program.log().split("not reloaded")[1]
    assert "permission denied" in program.log().split("not reloaded")[1].lower()
    with program.connect(tls=tls.context(path)) as connection:
        assert connection.request("GET", "/file.txt").status == 200
    path.chmod(0o640)
    os.chown(path, 0, GID)
    program.send_signal(signal.SIGHUP)
    eventually(lambda: " info certificates reloaded after SIGHUP\n" in program.log(),
               "certificates are reloaded")


@as_root
def test_key_log_belongs_to_the_user(start, place):
    path = tls.certificate(path=place / "site.pem")
    path.chmod(0o644)
    program = start("--tls-cert", path, "--tls-key-log", place / "keys", *USER)
    assert access_of(place / "keys") == (0o600, UID, GID)
    with program.connect(tls=tls.context(path)) as connection:
        assert connection.request("GET", "/file.txt").status == 200
    assert "CLIENT" in (place / "keys").read_text()


@as_root
def test_check_warns_of_files_that_the_user_cannot_access(place):
    path = tls.certificate(path=place / "site.pem")
    (place / "site").chmod(0o700)
    (place / "site.yaml").touch(0o600)
    (place / "more.yaml").touch(0o600)
    (place / "more.yaml").write_text("health: true\n")
    (place / "site.yaml").write_text(
        f"user: {UID}\ngroup: {GID}\naccess_log: access.log\ninclude: more.yaml\n"
        "pid_file: pid\n"
        "tls: {certificates: [{certificate: site.pem}], key_log: keys}\n"
        "sites: [{routes: [{path: /, static: site, uploads: true}]}]\n")
    done = run("uvhttp", "check", place / "site.yaml")
    assert done.returncode == 0
    assert done.stdout.endswith("site.yaml: configuration OK\n")
    start = f"{place}/site.yaml: warning: user '{UID}' cannot "
    denied = "(permission denied): "
    assert done.stderr.splitlines() == [
        f"{start}read '{place}/more.yaml' {denied}SIGHUP cannot apply changes",
        f"{start}read '{place}/site.yaml' {denied}SIGHUP cannot apply changes",
        f"{start}write '{place}/pid' {denied}uvhttp upgrade fails",
        f"{start}read '{path}' {denied}certificates cannot be reloaded",
        f"{start}write '{place}/keys' {denied}secrets of sessions are not written",
        f"{start}write '{place}/access.log' {denied}the access log cannot be reopened, "
        "and SIGHUP cannot apply changes",
        f"{start}read '{place}/site' {denied}its files cannot be served",
        f"{start}write '{place}/site' {denied}uploads to it fail"]
    assert not (place / "keys").exists() and not (place / "access.log").exists()


@as_root
def test_check_warns_of_each_file_of_tls(place):
    ca = tls.authority(into=place)
    tls.ocsp_response(ca, tls.certificate(path=place / "pair", ca=ca, password="secret"),
                      place / "ocsp")
    (place / "key").write_bytes((place / "pair").read_bytes())
    (place / "phrase").write_text("secret\n")
    (place / "tickets").write_bytes(bytes(80))
    files = ["pair", "key", "phrase", "ocsp", "tickets", "ca.pem", tls.revocation_list(ca).name]
    for name in files:
        (place / name).chmod(0o600)
    (place / "site.yaml").write_text(
        f"user: {UID}\ngroup: {GID}\n{LOCAL}{ROUTES}"
        "tls: {certificates: [{certificate: pair, key: key, passphrase_file: phrase, ocsp: ocsp}], "
        "ticket_keys: [tickets], client_auth: required, client_ca: ca.pem, client_crl: crl.pem}\n")
    done = run("uvhttp", "check", place / "site.yaml")
    assert (done.returncode, done.stderr.splitlines()) == (0, [
        f"{place}/site.yaml: warning: user '{UID}' cannot read '{place}/{name}' "
        "(permission denied): certificates cannot be reloaded" for name in files])


@as_root
def test_check_by_another_user_cannot_tell(place):
    (place / "site.yaml").write_text(f"user: root\n{ROUTES}")
    done = subprocess.run([*NOT_ROOT, built("uvhttp"), "check", place / "site.yaml"],
                          capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stderr) == (0, "")


def test_only_root_can_change(place):
    wrapper = NOT_ROOT if os.geteuid() == 0 else ()
    done = subprocess.run([*wrapper, built("uvhttp"), "serve", "--user", "root", place / "site"],
                          capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("uvhttp: --user: only root can change to user 'root' (0) and group 0; "
                           "start the program as root, or as that user, or omit --user\n")


def test_current_user_is_allowed(start):
    wrapper = NOT_ROOT if os.geteuid() == 0 else ()
    uid, gid = (UID, GID) if wrapper else (os.geteuid(), os.getegid())
    program = start("--user", uid, "--group", gid, wrapper=wrapper)
    assert program.request("/file.txt").status == 200
    assert program.log() == ""


@pytest.mark.parametrize("arguments, environment, code, message", [
    (["--group", "root"], {}, 2, "--group: 'root' requires --user"),
    ([], {"UVHTTP_GROUP": "root"}, 2, "UVHTTP_GROUP: 'root' requires --user"),
    (["--user", "no-one"], {}, 1, f"--user: {UNKNOWN_USER}"),
    (["--user", "root", "--group", "no-group"], {}, 1, f"--group: {UNKNOWN_GROUP}"),
    (["--user", "4294967294"], {}, 1, "--user: the user 4294967294 has no name and so no group; "
     "set --group, too"),
])
def test_invalid_users(place, arguments, environment, code, message):
    done = run("uvhttp", "serve", *arguments, place / "site", environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"uvhttp: {message}\n")


@as_root
def test_warning_of_root(start):
    assert (" warning the server runs as root; set --user (root keeps root)\n"
            in start().log(root_warning=True))
    assert (" warning the server runs as root; set 'user' (root keeps root)\n"
            in start(config=LOCAL + ROUTES).log(root_warning=True))
    assert start("--user", "root").log(root_warning=True) == ""
