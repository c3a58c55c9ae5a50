"""`uvhttp run` reads its configuration again on SIGHUP: new requests get it, connections stay open,
and a configuration with a mistake changes nothing."""

import os
import re
import signal
import socket
import ssl
import threading

import pytest

import raw
import tls
from program import Program, reload_process
from wire_server import eventually, free_port

LISTEN = "listen: 127.0.0.1:0\n"


def respond(body):
    return f"sites: [{{routes: [{{path: /, respond: {{body: {body}}}}}]}}]\n"


@pytest.fixture
def start(tmp_path):
    """start(text): `uvhttp run` of that configuration, with the method `reload(text)`."""
    running = []
    path = tmp_path / "site.yaml"

    def starter(text):
        path.write_text(text if "listen:" in text else LISTEN + text)
        program = Program("uvhttp", "run", path)
        running.append(program)

        def reload(text, done="reload: the configuration is applied"):
            path.write_text(text if "listen:" in text else LISTEN + text)
            log = reload_process(program.process.pid, program.log)
            assert done in log.splitlines()[-1], log

        program.reload, program.path = reload, path
        return program

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()
        assert "a handle is open" not in program.log()


def test_hangup_applies_the_configuration(start):
    program = start(respond("one"))
    with program.connect() as connection:
        assert connection.request("GET", "/").body == b"one"
        program.reload(respond("two"))
        assert connection.request("GET", "/").body == b"two"
        assert connection.request("GET", "/two").status == 404
        program.reload("sites: [{routes: [{path: /two, respond: {body: three}}]}]\n")
        assert connection.request("GET", "/two").body == b"three"
        assert connection.request("GET", "/").status == 404


@pytest.mark.parametrize("text, message", [
    ("sites: [", "site.yaml:3:1: "),
    ("sites: [{routes: [{path: /, responds: {}}]}]\n", ":2:29: unknown key 'responds'"),
    ("sites: [{routes: [{path: /, static: missing}]}]\n", "missing"),
    ("sites: [{routes: [{path: /, respond: {}}, {path: /, respond: {}}]}]\n", "already exists"),
    ("sites: [{routes: [{path: /, respond: {}, basic_auth: {file: none}}]}]\n", "none"),
    ("access_log: none/x.log\n" + respond("x"), "none/x.log"),
    ("access_log: [a.log]\n" + respond("x"), "access_log: expected a map"),
    ("sites: [{routes: [{path: /, static: " + 700 * "x/" + "}]}]\n", "x/x/"),
], ids=lambda value: value[:60])
def test_mistake_changes_nothing(start, text, message):
    program = start(respond("one"))
    with program.connect() as connection:
        program.reload(text, "reload: nothing is changed")
        *_, error, last = program.log().splitlines()
        assert re.match(r"\S+Z error ", error) and message in error
        assert re.fullmatch(r"\S+Z error reload: nothing is changed", last)
        assert connection.request("GET", "/").body == b"one"
        program.reload(respond("two"))
        assert connection.request("GET", "/").body == b"two"


@pytest.mark.parametrize("name, wrapper, message", [
    ("-", 'exec "$@" <site.yaml', "standard input cannot be read again; to reload, run a file"),
    ("fifo", 'mkfifo fifo; cat site.yaml >fifo & exec "$@"',
     "only a regular file can be read again; to reload, run one"),
])
def test_only_a_regular_file_is_read_again(tmp_path, name, wrapper, message):
    (tmp_path / "site.yaml").write_text(LISTEN + respond("one"))
    program = Program("uvhttp", "run", name, cwd=tmp_path, wrapper=("sh", "-c", wrapper, "sh"))
    program.send_signal(signal.SIGHUP)
    eventually(lambda: "reload: nothing is changed" in program.log(), "the reload is refused")
    assert program.request("/").body == b"one" and program.stop() == 0
    assert f"Z error {name}: {message}\n" in program.log()


def warnings(program):
    return re.findall("reload: '(.*) has changed since the start; this needs uvhttp upgrade, or a "
                      "restart", program.log())


def test_fixed_keys_are_named_while_they_differ_from_the_start(start):
    program = start(respond("one"))
    text = ("server: {max_connections: 7}\nmetrics: {listen: 127.0.0.1:0}\n" + LISTEN +
            respond("two"))
    for count in (1, 2):
        program.reload(text)
        assert warnings(program) == ["max_connections' of server", "listen' of metrics"] * count
    program.reload(respond("one"))
    assert len(warnings(program)) == 4
    program.reload("log: {level: error}\nmetrics: /m\n" + respond("two"))
    assert warnings(program)[4:] == ["log'"]
    assert program.request("/").body == b"two" and program.request("/m").status == 200


def test_fixed_keys_of_tls_are_named_alone(start):
    def text(keys):
        return (f"tls: {{{keys}certificates: [{{certificate: {tls.default_cert()}}}]}}\n" +
                respond("x"))

    program = start(text(""))
    program.reload(text(f"redirect_http: {free_port()}, min_version: '1.3', "))
    program.reload(text("watch: false, hsts: 1d, "))
    assert warnings(program) == ["redirect_http' of tls", "watch' of tls"]
    program.reload(respond("x"))
    assert warnings(program)[2:] == ["tls'"]


def body(port):
    with raw.Connection(port) as connection:
        return connection.request("GET", "/").body


def is_refused(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_addresses_change(start, tmp_path):
    old, new = (tmp_path / name for name in ("old.sock", "new.sock"))
    one, two = free_port(), free_port()
    program = start(f"listen: [127.0.0.1:0, 127.0.0.1:{one}, 'unix:{old}']\n" + respond("one"))
    with raw.Connection(one) as kept, socket.socket(socket.AF_UNIX) as local:
        local.connect(str(old))
        assert kept.request("GET", "/").body == b"one"
        for _ in range(2):
            program.reload(f"listen: ['unix:{new}', 127.0.0.1:{two}, 127.0.0.1:0]\n" +
                           respond("two"))
            assert body(program.port) == body(two) == b"two"
        eventually(lambda: is_refused(one), "it does not listen there any more")
        assert new.is_socket() and not old.exists()
        assert kept.request("GET", "/").body == b"two"
        local.sendall(raw.request(target="/"))
        assert b"two" in local.recv(65536)
        program.reload(f"listen: [127.0.0.1:{one}]\n" + respond("three"))
        assert body(one) == kept.request("GET", "/").body == b"three"
        eventually(lambda: is_refused(two) and is_refused(program.port), "the others are left")
        assert not new.exists()


def test_connections_in_the_queue_of_a_removed_address_are_served(start):
    one, two = free_port(), free_port()
    program = start(f"listen: [127.0.0.1:{one}, 127.0.0.1:{two}]\n" + respond("x"))
    os.kill(program.process.pid, signal.SIGSTOP)
    with raw.Connection(one) as early:
        early.send(raw.request(target="/"))
        (program.path).write_text(f"listen: 127.0.0.1:{two}\n" + respond("y"))
        os.kill(program.process.pid, signal.SIGHUP)
        os.kill(program.process.pid, signal.SIGCONT)
        assert early.response().status == 200
        eventually(lambda: is_refused(one), "it does not listen there any more")


def test_address_that_cannot_be_used_changes_nothing(start, tmp_path):
    program = start(respond("one"))
    new, later = tmp_path / "new.sock", free_port()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        program.reload(f"listen: [127.0.0.1:0, 127.0.0.1:{later}, 'unix:{new}',\n"
                       f"  127.0.0.1:{port}]\n" + respond("two"), "reload: nothing is changed")
        assert f":2:3: port {port} is in use; choose another with 'listen'" in program.log()
        program.reload(f"listen: [127.0.0.1:0, 'unix:{tmp_path}/none/x.sock']\n" + respond("two"),
                       "reload: nothing is changed")
        assert re.search(r":1:\d+: cannot listen on '\S+/none/x.sock': ", program.log())
    assert body(program.port) == b"one" and not new.exists()
    eventually(lambda: is_refused(later), "it does not listen there")


def test_certificates_change(start, tmp_path):
    old, new = tls.certificate("old.example"), tls.certificate("new.example")

    def text(path, version):
        return (f"tls: {{certificates: [{{certificate: {path}}}], min_version: {version}}}\n" +
                respond("x"))

    program = start(text(old, "1.2"))

    def served(only=None):
        with socket.create_connection(("127.0.0.1", program.port)) as plain:
            with tls.context(only=only).wrap_socket(plain, server_hostname="x") as connection:
                connection.sendall(raw.request(target="/"))
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
                return ssl.DER_cert_to_PEM_cert(connection.getpeercert(True))

    first = served("1.2")
    assert first in old.read_text()
    program.reload(text(new, "1.3"))
    assert served() in new.read_text()
    with pytest.raises(ssl.SSLError):
        served("1.2")
    program.reload(text(tmp_path / "none.pem", "1.2"), "reload: nothing is changed")
    assert re.search(r":2:\d+: tls: .*none.pem", program.log())
    assert served() in new.read_text()
    program.reload(respond("plain"))
    assert warnings(program) == ["tls'"]
    assert served() in new.read_text()


def test_trusted_proxies_change(start):
    text = ("sites: [{deny: [192.0.2.1], routes: [{path: /, respond: {body: x}}]}]\n")
    proxy = "trusted_proxies: 127.0.0.1\n"
    program = start(text)
    for before, status in (("", 200), (proxy, 403), (proxy, 403), ("", 200)):
        program.reload(before + text)
        assert program.request("/", "X-Forwarded-For: 192.0.2.1").status == status


def test_download_in_progress_is_complete(start, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "big").write_bytes(raw.pattern(30_000_000))
    program = start("sites: [{routes: [{path: /, static: site}]}]\n")
    with program.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/big"))
        head = connection.receive_exactly(1000)
        program.reload(respond("two"))
        assert program.request("/").body == b"two"
        body = head.split(b"\r\n\r\n", 1)[1]
        assert body + connection.receive_exactly(30_000_000 - len(body)) == raw.pattern(30_000_000)
        assert connection.request("GET", "/").body == b"two"


def test_access_logs_and_rules_change(start, tmp_path):
    program = start("access_log: one.log\n" + respond("one"))
    assert program.request("/").status == 200
    program.reload("access_log: two.log\nsites: [{deny: [127.0.0.1], routes: [{path: /, respond: "
                   "{body: two}}]}]\n")
    assert program.request("/").status == 403
    eventually(lambda: (tmp_path / "two.log").read_text().count(" 403 ") == 1, "the line")
    eventually(lambda: (tmp_path / "one.log").read_text().count(" 200 ") == 1, "the older line")


def test_logs_of_earlier_configurations_are_reopened_until_they_end(start, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "big").write_bytes(raw.pattern(30_000_000))
    program = start("access_log: a.log\nsites: [{routes: [{path: /, static: site}]}]\n")

    def rotate(name, text):
        (tmp_path / "a.log").rename(tmp_path / name)
        program.reload(text)
        eventually((tmp_path / "a.log").exists, "it is reopened, which a thread does")

    text = "access_log: {path: a.log, format: json}\n" + respond("two")
    with program.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/big"))
        connection.receive_exactly(1000)
        rotate("a.1", text)
        rotate("a.2", text)
        connection.receive_exactly(29_999_000)
        eventually(lambda: '"GET /big HTTP/1.1" 200' in (tmp_path / "a.log").read_text(), "it")
    program.reload(respond("three"))

    def are_closed():
        try:
            return not [entry for entry in os.scandir(f"/proc/{program.process.pid}/fd")
                        if str(tmp_path) in os.readlink(entry)]
        except FileNotFoundError:  # closed meanwhile
            return False

    eventually(are_closed, "they are closed")


def test_metrics_at_an_address_that_a_reload_adds_are_nowhere(start):
    program = start(respond("one"))
    program.reload("metrics: {listen: 127.0.0.1:0}\n" + LISTEN + respond("two"))
    assert program.request("/").body == b"two" and program.request("/metrics").status == 404


def test_metrics_of_their_own_address_remain(start):
    text = "metrics: {listen: 127.0.0.1:0}\n"
    program = start(text + respond("one"))
    eventually(lambda: program.read_available() and "metrics at" in program.output, "its address")
    port = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)/", program.output).group(1))
    for _ in range(3):
        program.reload(text + respond("two"))
        with raw.Connection(port) as connection:
            assert b"uvhttp_requests_total" in connection.request("GET", "/metrics").body


def descriptors(program):
    return len(os.listdir(f"/proc/{program.process.pid}/fd"))


def memory(program):
    with open(f"/proc/{program.process.pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss_Anon:"))


@pytest.mark.release_only  # sanitizers keep freed memory
def test_reloads_leave_nothing(start, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("index")
    text = ("access_log: a.log\nsites: [{routes: [{path: /, static: site}, "
            "{path: /x, respond: {body: x}}]}]\n")
    program = start(text)
    for count in range(200):
        program.reload(text)
        assert program.request("/").body == b"index"
        if count == 50:
            before = descriptors(program), memory(program)
    eventually(lambda: descriptors(program) <= before[0] + 1, "no more descriptors than before")
    eventually(lambda: memory(program) <= before[1] + 500, "no more memory than before")


def test_requests_during_reloads_succeed(start):
    program = start(respond("x"))
    over, failed, counts = threading.Event(), [], []

    def client():
        count = 0
        try:
            with program.connect() as connection:
                while not over.is_set():
                    assert connection.request("GET", "/").status == 200
                    count += 1
        except Exception as error:  # reported by the test
            failed.append(error)
        counts.append(count)

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    for _ in range(30):
        program.reload(respond("x"))
    over.set()
    for one in clients:
        one.join()
    assert not failed and all(counts)


def test_reload_does_not_hide_lines_of_other_workers(start):
    sites = "".join(f", {{hosts: h{i}.test, routes: [{{path: /, static: .}}]}}"
                    for i in range(300))
    program = start("server: {workers: 3}\nlog: {level: debug}\n" + LISTEN +
                    respond("one").replace("}]\n", "}" + sites + "]\n"))
    reloaded = threading.Event()
    counts = []

    def request():
        count = 0
        with program.connect() as connection:
            while not reloaded.is_set():
                assert connection.request("GET", "/counted").status == 404
                count += 1
        counts.append(count)

    threads = [threading.Thread(target=request) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert "configuration is applied" in reload_process(program.process.pid, program.log)
    reloaded.set()
    for thread in threads:
        thread.join()
    eventually(lambda: program.log().count("GET /counted ") == sum(counts), "every line is there")


def test_redirects_follow_the_port_of_https(start):
    one, two, plain = free_port(), free_port(), free_port()
    text = (f"tls: {{redirect_http: {plain}, "
            f"certificates: [{{certificate: {tls.default_cert()}}}]}}\n" + respond("x"))
    program = start(f"listen: 127.0.0.1:{one}\n" + text)
    program.reload(f"listen: 127.0.0.1:{two}\n" + text)
    with raw.Connection(plain) as connection:
        location = connection.request("GET", "/").get("Location")
    assert location.endswith(f":{two}/")


def test_reload_names_what_an_address_cannot_change(start, tmp_path):
    one, path = free_port(), tmp_path / "site.sock"
    text = f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n" + respond("x")
    listen = "listen: [127.0.0.1:0, '{}127.0.0.1:{}', 'unix:{}:mode={}']\n"
    program = start(listen.format("https://", one, path, "0600") + text)
    program.reload(listen.format("http://", one, path, "0600") + text, "nothing is changed")
    assert (f"a reload cannot change 127.0.0.1 port {one} to http://; use uvhttp upgrade\n" in
            program.log())
    program.reload(listen.format("https://", one, path, "0660") + text, "nothing is changed")
    assert (f"a reload cannot change the mode, owner or group of '{path}'; use uvhttp upgrade\n" in
            program.log())
    program.reload(listen.format("https://", one, path, "0600") + text)
