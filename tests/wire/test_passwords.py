"""Directories with password protection: `basic_auth` in a configuration, with hashes of htpasswd
and crypt(3), requested by curl, httpx and raw sockets."""

import base64
import concurrent.futures
import ctypes
import os
import re
import resource
import shutil
import subprocess
import time

import httpx
import pytest

import raw
from program import Program, run
from static_server import root, write  # noqa: F401 (fixture)
from wire_server import eventually

LIBCRYPT = ctypes.CDLL("libcrypt.so.1")
LIBCRYPT.crypt.restype = ctypes.c_char_p


def crypt(password, salt):
    """crypt(3); None for an unsupported method."""
    made = LIBCRYPT.crypt(password.encode(), salt.encode())
    return None if made is None or made.startswith(b"*") else made.decode()


# Hashes of "secret", with low cost for quick tests. The others are made by crypt(3) itself.
CHEAP = crypt("secret", "$2b$04$" + "a" * 22)
SLOW = crypt("secret", "$6$rounds=400000$saltsalt")


def credentials(user, password):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def start(root, tmp_path):
    """start("routes: [...]") runs one site of that text; {place} is the directory, {file} a
    password file."""
    running = []

    def starter(text, passwords="", **options):
        (tmp_path / "staff").write_text(passwords)
        path = tmp_path / "site.yaml"
        path.write_text("listen: 127.0.0.1:0\nserver: {workers: 1}\nsites:\n  - " +
                        text.replace("{place}", root).replace("{file}", "staff"))
        running.append(Program("uvhttp", "run", path, **options))
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


def test_basic_auth_protects_directory(root, start):
    write(root, "open/a.txt", b"open\n")
    write(root, "staff/a.txt", b"staff only\n")
    server = start(
        "routes:\n      - {path: /, static: {place}/open}\n"
        "      - {path: /staff/, static: {place}/staff, basic_auth: {realm: the staff, file: "
        "{file}}}\n", f"# who works here\n\nann:{CHEAP}\nbob:{CHEAP}\r\n")
    assert server.request("/a.txt").body == b"open\n"
    rejected = server.request("/staff/a.txt")
    assert (rejected.status,
            rejected.get("WWW-Authenticate")) == (401, 'Basic realm="the staff", charset="UTF-8"')
    for user in ("ann", "bob"):
        with server.connect() as connection:
            for _ in range(3):
                assert connection.request("GET", "/staff/a.txt",
                                          credentials(user, "secret")).body == b"staff only\n"
    for user, password in (("ann", "Secret"), ("ann", ""), ("ann", "secret "), ("carl", "secret"),
                           ("", "secret"), ("#", "x")):
        assert server.request("/staff/a.txt", credentials(user, password)).status == 401
    for target in ("/staff//a.txt", "/staff/%61.txt", "/staff/./a.txt", "//staff/a.txt",
                   "/x/../staff/a.txt"):
        assert server.request(target).body != b"staff only\n"
    done = subprocess.run(["curl", "-sS", "-u", "ann:secret", f"{server.url}staff/a.txt"],
                          capture_output=True, timeout=60, check=True)
    assert done.stdout == b"staff only\n"
    with httpx.Client(trust_env=False, auth=("bob", "secret")) as client:
        assert client.get(f"{server.url}staff/a.txt").text == "staff only\n"
        assert client.get(f"{server.url}staff/none").status_code == 404


@pytest.mark.parametrize("open_to_all, protected",
                         [("{place}", "{place}/staff"), ("{place}", "{place}"), ("/", "{place}"),
                          ("{place}/link/..", "{place}/staff"), ("{place}", "{place}/link"),
                          ("{place}/../empty, more_roots: [{place}]", "{place}/staff")])
def test_protected_directory_served_without_password_is_rejected(root, tmp_path, open_to_all,
                                                                 protected):
    """The path "//staff/a.txt" does not belong to the route "/staff/", but to the file of that name
    in the directory of "/"."""
    write(root, "staff/a.txt", b"x")
    write(root, "../empty/index.html", b"x")
    os.symlink("staff", os.path.join(root, "link"))
    (tmp_path / "users").write_text(f"ann:{CHEAP}\n")
    path = tmp_path / "site.yaml"
    text = lambda open_directory, closed: (  # noqa: E731
        "sites:\n  - hosts: a.example\n    routes:\n      - {path: /, static: " + open_directory +
        "}\n"
        "  - basic_auth: {file: users}\n    routes:\n      - {path: /staff/, static: " + closed +
        "}\n")
    path.write_text(text(open_to_all.replace("{place}", root), protected.replace("{place}", root)))
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert ":7:33: the directory '" in done.stderr
    assert "which the route in line 4 serves without one; move it elsewhere\n" in done.stderr
    assert ("is the same as" if open_to_all == protected else "is within") in done.stderr
    os.mkdir(os.path.join(root, "staffroom"))
    path.write_text(text(root + "/staffroom", root + "/staff"))
    assert run("uvhttp", "check", path).returncode == 0


def test_protected_directory_below_open_one_is_accepted_as_advised(root, tmp_path):
    write(root, "staff/a.txt", b"x")
    (tmp_path / "users").write_text(f"ann:{CHEAP}\n")
    path = tmp_path / "site.yaml"
    text = (f"sites:\n  - routes:\n      - {{path: /, static: {root}}}\n      - {{path: /staff/, "
            f"static: {root}/staff, basic_auth: {{file: users}}}}\n")
    path.write_text(text)
    done = run("uvhttp", "check", path)
    assert done.returncode == 1
    assert "; move it elsewhere, or set 'symlinks: none' in that route" in done.stderr
    path.write_text(text.replace("path: /,", "path: /, symlinks: none,"))
    assert run("uvhttp", "check", path).returncode == 0


@pytest.mark.parametrize("open_to_all, closed",
                         [("static: {place}/open, more_roots: [{place}]", "static: {place}/staff"),
                          ("static: {place}", "static: {other}, more_roots: [{place}/staff]")])
def test_protected_directory_below_other_roots_is_rejected(root, tmp_path, open_to_all, closed):
    for name in ("open/a.txt", "staff/a.txt"):
        write(root, name, b"x")
    (tmp_path / "other").mkdir()
    (tmp_path / "users").write_text(f"ann:{CHEAP}\n")
    path = tmp_path / "site.yaml"
    text = (f"sites:\n  - hosts: a.example\n    routes:\n      - {{path: /, {open_to_all}}}\n"
            f"  - basic_auth: {{file: users}}\n    routes:\n      - {{path: /staff/, {closed}}}\n")
    path.write_text(text.replace("{place}", root).replace("{other}", str(tmp_path / "other")))
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert f"the directory '{root}/staff' requires a password here" in done.stderr
    assert f"is within '{root}'" in done.stderr


@pytest.mark.parametrize("salt", [
    "$2b$04$" + "b" * 22, "$2y$04$" + "c" * 22, "$5$rounds=1000$salt", "$6$rounds=1000$salt",
    "$y$j75$saltsaltsalt", "$7$8/..../....saltsalt"
])
def test_password_hash_methods(root, start, salt):
    made = crypt("pässwörd: €", salt)
    if made is None:
        pytest.skip("crypt(3) of this system does not support this method")
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{made}\n")
    assert server.request("/a", credentials("ann", "pässwörd: €")).status == 200
    assert server.request("/a", credentials("ann", "pässwörd: ")).status == 401


@pytest.mark.skipif(not shutil.which("htpasswd"), reason="htpasswd is not installed")
def test_htpasswd_file(root, start):
    made = subprocess.run(["htpasswd", "-nbB", "ann", "secret"], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n", made)
    assert server.request("/a", credentials("ann", "secret")).status == 200
    assert server.request("/a", credentials("ann", "geheim")).status == 401


def test_basic_auth_of_site_and_route(root, start):
    write(root, "a", b"x")
    hashed = CHEAP.replace("$", "$$")
    server = start(f"hosts: [a.example]\n    basic_auth: {{users: {{ann: '{hashed}'}}}}\n"
                   "    routes:\n      - {path: /, static: {place}}\n"
                   f"      - {{path: /boss, respond: {{body: boss}}, basic_auth: {{users: {{bob: "
                   f"'{hashed}'}}}}}}\n"
                   "  - routes: [{path: /, respond: {body: all}}]\n")
    fetch = lambda target, *fields, host="a.example": server.connect().request(
        "GET", target, *fields, host=host).status  # noqa: E731
    assert [fetch("/a"), fetch("/boss"), fetch("/", host="b.example")] == [401, 401, 200]
    assert [
        fetch("/a", credentials("ann", "secret")),
        fetch("/boss", credentials("ann", "secret"))
    ] == [200, 401]
    assert [
        fetch("/a", credentials("bob", "secret")),
        fetch("/boss", credentials("bob", "secret"))
    ] == [401, 200]


def test_basic_auth_of_default_site_applies_to_it_only(root, start):
    hashed = CHEAP.replace("$", "$$")
    server = start(
        f"basic_auth: {{users: {{ann: '{hashed}'}}}}\n    routes: [{{path: /, respond: {{body: "
        f"closed}}}}]\n"
        "  - {hosts: [open.example], routes: [{path: /, respond: {body: open}}]}\n")
    assert server.connect().request("GET", "/", host="open.example").body == b"open"
    assert server.connect().request("GET", "/", host="other.example").status == 401


METRICS = "routes: [{path: /, respond: {body: site}}]\n"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_metrics_of_site_require_its_password(start, method):
    hashed = CHEAP.replace("$", "$$")
    server = start(f"basic_auth: {{users: {{ann: '{hashed}'}}}}\n    {METRICS}metrics: /metrics\n")
    for fields in ([], [credentials("ann", "wrong")]):
        response = server.request("/metrics", *fields, method=method)
        assert response.status == 401 and response.get(
            "WWW-Authenticate") and b"uvhttp_" not in response.body
    response = server.request("/metrics", credentials("ann", "secret"), method=method)
    assert response.status == 200 and (method == "HEAD"
                                       or b"\nuvhttp_requests_total 3\n" in response.body)


def test_metrics_ignore_passwords_of_routes_and_other_sites(start):
    hashed = CHEAP.replace("$", "$$")
    auth = f"basic_auth: {{users: {{ann: '{hashed}'}}}}"
    server = start(f"routes: [{{path: /, respond: {{body: site}}, {auth}}}]\n"
                   f"  - {{hosts: [a.example], {auth}, routes: [{{path: /, respond: {{body: "
                   f"a}}}}]}}\nmetrics: /metrics\n")
    assert [server.request("/").status, server.request("/metrics").status] == [401, 200]


def metrics_address(program):
    """Port and path of the metrics URL in the program's output."""
    found = re.search(r"^uvhttp: metrics at http://127\.0\.0\.1:(\d+)(/\S*)$", program.output, re.M)
    return int(found.group(1)), found.group(2)


def test_metrics_address_requires_no_password(start):
    hashed = CHEAP.replace("$", "$$")
    server = start(
        f"basic_auth: {{users: {{ann: '{hashed}'}}}}\n    headers: {{X-Site: 'yes'}}\n    {METRICS}"
        "metrics: {path: /numbers, listen: '127.0.0.1:0'}\n")
    eventually(lambda: server.read_available() and "metrics at" in server.output,
               "the second line is printed")
    port, path = metrics_address(server)
    assert path == "/numbers" and port != server.port
    assert server.request("/").status == 401
    assert server.request("/numbers",
                          credentials("ann", "secret")).status == 404, "the site has no metrics"
    with raw.Connection(port) as connection:
        for _ in range(2):
            response = connection.request("GET", "/numbers")
            assert response.status == 200 and response.get("X-Site") is None
            assert b"\nuvhttp_requests_total 2\n" in response.body, "only site requests count"
        assert connection.request("GET", "/").status == 404
        # The connection stays open while the program stops. It must not delay the stop.
        assert server.stop() == 0, server.log()
        connection.assert_closed()


def test_parallel_requests_compute_one_hash(root, start):
    """The slow hash takes a large part of a second. Fifty of them would take half a minute of CPU
    time."""
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{SLOW}\n")

    def used():
        fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = used()
    assert server.request("/a", credentials("ann", "secret")).status == 200
    one = used() - before
    before = used()
    for _ in range(50):
        assert server.request("/a", credentials("ann", "secret")).status == 200
    assert used() - before < max(5, 2 * one)  # in clock ticks; one hash takes `one` ticks
    assert server.request("/a", credentials("ann", "other")).status == 401


def test_password_guessing_gets_503_and_does_not_delay_others(root, start):
    write(root, "a", b"x")
    write(root, "open", b"x")
    server = start(
        "routes:\n      - {path: /, static: {place}, basic_auth: {file: {file}}}\n"
        "      - {path: /open, respond: {body: open}}\n", f"ann:{SLOW}\n")
    assert server.request("/a", credentials("ann", "secret")).status == 200
    guesses = [server.connect() for _ in range(12)]
    for number, connection in enumerate(guesses):
        connection.send(raw.request("GET", "/a", credentials("ann", f"guess {number}")))
    assert server.request("/open").body == b"open"
    assert server.request("/a", credentials("ann", "secret")).status == 200  # cached
    responses = [connection.response() for connection in guesses]
    statuses = sorted(response.status for response in responses)
    assert set(statuses) == {401, 503} and statuses.count(401) >= 4
    assert all(
        response.get("Retry-After") == "1" for response in responses if response.status == 503)


def test_disconnect_during_password_check(root, start):
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{SLOW}\n")
    for _ in range(3):
        with server.connect() as connection:
            connection.send(raw.request("GET", "/a", credentials("ann", "secret")))
    end = time.monotonic() + 60
    while server.request("/a", credentials("ann", "secret")).status == 503:
        assert time.monotonic() < end
    assert server.request("/a", credentials("ann", "secret")).status == 200


def test_concurrent_password_checks(root, start):
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   "".join(f"user{number}:{CHEAP}\n" for number in range(100)))

    def fetch(number):
        while True:
            status = server.request(
                "/a", credentials(f"user{number % 100}",
                                  "secret" if number % 3 else "wrong")).status
            if status != 503:
                return status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(fetch,
                             range(300))) == [200 if number % 3 else 401 for number in range(300)]


def test_changed_password_file_is_read_again(root, start, tmp_path):
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{CHEAP}\n")
    status = lambda name, password="secret": server.request(  # noqa: E731
        "/a", credentials(name, password)).status
    assert [status("ann"), status("bob")] == [200, 401]
    other = tmp_path / "other"
    other.write_text(f"bob:{CHEAP}\n")
    os.rename(other, tmp_path / "staff")
    eventually(lambda: status("bob") == 200, "the new user is known")
    assert status("ann") == 401, "a cached password is forgotten with its user"
    (tmp_path / "staff").write_text(f"bob:{crypt('new', '$2b$04$' + 'd' * 22)}\n")
    eventually(lambda: status("bob", "new") == 200, "the new password is known")
    assert status("bob") == 401
    assert server.log().count(f"the password file '{tmp_path}/staff' was read again") == 2


def test_changed_password_file_keeps_cached_passwords_of_others(root, start, tmp_path):
    """Verified anew, all but four of them would get 503."""
    write(root, "a", b"x")
    slow = crypt("secret", "$6$rounds=60000$saltsalt")
    users = "".join(f"user{number}:{slow}\n" for number in range(12))
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"{users}ann:{CHEAP}\n")
    fields = [credentials(f"user{number}", "secret") for number in range(12)]
    assert [server.request("/a", one).status for one in fields] == [200] * 12
    (tmp_path / "staff").write_text(f"# changed\n{users}bob:{CHEAP}\n")
    eventually(lambda: server.request("/a", credentials("bob", "secret")).status == 200,
               "the new user is known")
    connections = [server.connect() for _ in fields]
    for connection, one in zip(connections, fields):
        connection.send(raw.request("GET", "/a", one))
    assert [connection.response().status for connection in connections] == [200] * 12
    assert server.request("/a", credentials("user1", "other")).status == 401


@pytest.mark.parametrize("change, reason", [
    (lambda path: path.write_text("bob\n"), ', line 1, is "(not shown)"; must be NAME:HASH'),
    (lambda path: path.write_text(""), "; the file contains no users"),
    (lambda path: path.write_text(f"ann:{CHEAP}\nbob:{CHEAP}\nann:{CHEAP}\n"),
     ', line 3, is "ann"; the user is listed twice'),
    (lambda path: path.unlink(), "; the file cannot be opened: no such file or directory"),
])
def test_unusable_password_file_keeps_users(root, start, tmp_path, change, reason):
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{CHEAP}\n")
    status = lambda name: server.request("/a", credentials(name, "secret")).status  # noqa: E731
    assert status("ann") == 200
    change(tmp_path / "staff")
    eventually(lambda: status("ann") == 200 and reason in server.log(), "the error is logged")
    path = tmp_path / "staff"
    assert server.log().count(f"the changed password file '{path}' is not used, its users before "
                              "the change stay valid: file") == 1
    (tmp_path / "staff").write_text(f"bob:{CHEAP}\n")
    eventually(lambda: status("bob") == 200, "the corrected file is used")
    assert status("ann") == 401


def test_removed_user_is_refused_by_all_requests_of_a_burst(root, start, tmp_path):
    """After a time without requests, each request waits for the check whether the file has changed,
    which takes a while for many users."""
    write(root, "a", b"x")
    many = "".join(f"user{number}:{CHEAP}\n" for number in range(9000))
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"{many}ann:{CHEAP}\n")
    fields = credentials("ann", "secret")
    assert server.request("/a", fields).status == 200
    connections = [server.connect() for _ in range(8)]
    (tmp_path / "staff").write_text(f"{many}bob:{CHEAP}\n")
    time.sleep(1.5)  # the last check is older than a second
    for connection in connections:
        connection.send(raw.request("GET", "/a", fields))
    assert 200 not in [connection.response().status for connection in connections]
    assert server.log().count("was read again") == 1


@pytest.mark.parametrize("replace, reason", [
    (os.mkfifo, "it is not a regular file"), (os.mkdir, "it is not a regular file"),
    (lambda path: os.symlink("/dev/zero", path), "it is not a regular file"),
    (lambda path: (path.touch(), os.truncate(path, 1 << 34)), "the file is larger than 16 MiB"),
])
def test_password_file_of_another_kind_keeps_users(root, start, tmp_path, replace, reason):
    """A FIFO would block all threads of jobs, and the end of the program."""
    write(root, "a", b"x")
    server = start("routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n",
                   f"ann:{CHEAP}\n")
    status = lambda name: server.request("/a", credentials(name, "secret")).status  # noqa: E731
    assert status("ann") == 200
    (tmp_path / "staff").unlink()
    replace(tmp_path / "staff")
    eventually(lambda: status("ann") == 200 and reason in server.log(), "the error is logged")
    assert server.stop() == 0


def test_password_file_that_could_not_be_opened_is_read_later(start, tmp_path):
    """The program has no descriptor left when the file changes; the file does not change again."""
    server = start("routes: [{path: /a, respond: {body: x}, basic_auth: {file: {file}}}]\n",
                   f"ann:{CHEAP}\n")
    status = lambda name: server.request("/a", credentials(name, "secret")).status  # noqa: E731
    assert status("ann") == 200
    pid = server.process.pid
    with server.connect() as connection:
        ask = lambda: connection.request(  # noqa: E731
            "GET", "/a", credentials("ann", "secret")).status
        assert ask() == 200
        (tmp_path / "staff").write_text(f"bob:{CHEAP}\n")
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        lowest = min(set(range(len(used) + 1)) - used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, most))
        eventually(lambda: ask() == 200 and "the file cannot be opened" in server.log(),
                   "the check has failed")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        eventually(lambda: ask() == 401, "the file is read")
    assert status("bob") == 200


def test_link_to_password_file_gets_another_target(root, tmp_path):
    """As when a secret of a container is renewed."""
    write(root, "a", b"x")
    (tmp_path / "one").write_text(f"ann:{CHEAP}\n")
    (tmp_path / "two").write_text(f"bob:{CHEAP}\n")
    os.symlink("one", tmp_path / "staff")
    server = Program("uvhttp", "serve", "--listen=127.0.0.1:0", "--auth=staff", root, cwd=tmp_path)
    status = lambda name: server.request("/a", credentials(name, "secret")).status  # noqa: E731
    assert [status("ann"), status("bob")] == [200, 401]
    os.symlink("two", tmp_path / "next")
    os.rename(tmp_path / "next", tmp_path / "staff")
    (tmp_path / "one").unlink()
    eventually(lambda: status("bob") == 200, "the other file is read")
    assert status("ann") == 401
    assert server.stop() == 0


@pytest.mark.parametrize(
    "keys, passwords, message",
    [("{}", "", "basic_auth requires 'users' or 'file'"),
     ("{file: none}", "", '; the file cannot be opened: no such file or directory'),
     ("{file: {file}}", "# nobody\n\n", 'staff"; the file contains no users'),
     ("{file: {file}}", "ann\n", 'staff\', line 1, is "(not shown)"; must be NAME:HASH'),
     ("{file: {file}}", "#\nann:secret\n", 'staff\', line 2, is "ann"; unsupported hash'),
     ("{file: {file}}", "ann:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/\n",
      'staff\', line 1, is "ann"; unsupported hash'),
     ("{file: {file}}", "ann:$apr1$saltsalt$qjXMvbEw8oaL.CzflDtaK/\n",
      'staff\', line 1, is "ann"; unsupported hash'),
     ("{file: {file}}", "ann:rqXexS6ZhobKA\n", 'staff\', line 1, is "ann"; unsupported hash'),
     ("{file: {file}}", f"ann:{CHEAP}\nbob:{CHEAP}\nann:{CHEAP}\n",
      'staff\', line 3, is "ann"; the user is listed twice'),
     ("{file: {file}, realm: \"a\\tb\"}", f"ann:{CHEAP}\n", 'realm is "a'),
     ("{users: [a]}", "", "users: expected a map of names and hashed passwords"),
     ("{users: {ann: secret}}", "", 'users is "ann"; unsupported hash'),
     ("{passwords: a}", "", "unknown key 'passwords' in basic_auth"), ])
def test_invalid_basic_auth_configurations(root, tmp_path, keys, passwords, message):
    (tmp_path / "staff").write_text(passwords)
    path = tmp_path / "site.yaml"
    path.write_text("sites: [{routes: [{path: /, static: " + root + ", basic_auth: " +
                    keys.replace("{file}", "staff") + "}]}]\n")
    done = run("uvhttp", "check", path)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "secret" not in done.stderr and "saltsalt" not in done.stderr


def test_printed_basic_auth_loads_again(root, start, tmp_path):
    hashed = CHEAP.replace("$", "$$")
    write(root, "a", b"x")
    start(
        f"basic_auth: {{realm: 'a \"b\"', file: {{file}}, users: {{'$x': '{hashed}'}}}}\n"
        "    routes: [{path: /, static: {place}, basic_auth: {file: {file}}}]\n", f"ann:{CHEAP}\n")
    printed = run("uvhttp", "run", "--print-config", tmp_path / "site.yaml").stdout
    (tmp_path / "again.yaml").write_text(printed)
    assert run("uvhttp", "run", "--print-config", tmp_path / "again.yaml").stdout == printed
    assert printed.count("basic_auth:") == 2 and hashed in printed
    assert run("uvhttp", "check", tmp_path / "again.yaml").returncode == 0
