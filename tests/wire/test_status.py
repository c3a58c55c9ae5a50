"""The status page of the program: its values compared with the metrics, its events, and the rules
of the site that has it. Its look is tested in test_status_in_browser.py."""

import http.client
import json
import re
import socket
import subprocess

import httpx
import pytest
import yaml

from program import Program, reload_process, run
from wire_server import eventually, free_port

LISTEN = "listen: 127.0.0.1:0\n"
SITE = """sites:
  - routes:
      - {path: /, respond: {status: 204}}
      - {path: /fails, respond: {status: 500}}
"""


@pytest.fixture
def start(tmp_path):
    """start(text): `uvhttp run` of that configuration."""
    running = []
    path = tmp_path / "site.yaml"

    def starter(text):
        path.write_text(text if "listen: 127.0.0.1:0\n" in text else LISTEN + text)
        running.append(Program("uvhttp", "run", path, cwd=tmp_path))
        running[-1].path = path
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()
        assert "a handle is open" not in program.log()


@pytest.fixture
def check(tmp_path):
    """check(text): the problems that `uvhttp check` reports."""
    path = tmp_path / "site.yaml"

    def checker(text):
        path.write_text(text)
        lines = run("uvhttp", "check", path).stderr.splitlines()
        return [line.removeprefix(f"{path}:") for line in lines if line.startswith(f"{path}:")]

    return checker


def get(port, target, **options):
    return httpx.get(f"http://127.0.0.1:{port}{target}", trust_env=False, **options)


def own_ports(program):
    """The ports of the metrics and the status page at their own addresses."""
    def found():
        program.read_available()
        return re.search(r"metrics at http://127\.0\.0\.1:(\d+)/.*status page at "
                         r"http://127\.0\.0\.1:(\d+)/", program.output, re.S)

    return [int(port) for port in eventually(found, "the addresses are printed").groups()]


def metrics(port):
    lines = [line for line in get(port, "/metrics").text.splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def data_of(page, section):
    """The exact values in a section of the page."""
    text, = re.findall(rf'<section id="{section}">(.*?)</section>', page, re.S)
    return [int(value) for value in re.findall(r'<data value="(\d+)">', text)]


SHARED = "status: {listen: 127.0.0.1:0}\nmetrics: {listen: 127.0.0.1:0}\n"


def test_values_equal_the_metrics(start):
    program = start(SHARED + "server: {workers: 2, route_stats: 10}\n" + SITE)
    port, same = own_ports(program)
    assert port == same, "one server has both"
    for target, count in (("/", 20), ("/fails", 3), ("/none", 4)):
        for _ in range(count):
            program.request(target)
    idle = program.connect()
    eventually(lambda: metrics(port)["uvhttp_accepted_connections_total"] == 28, "it is accepted")
    status, page, found = get(port, "/status?format=json").json(), get(port, "/status").text, \
        metrics(port)
    requests = found["uvhttp_requests_total"]
    assert requests == status["requests"]["total"] == data_of(page, "requests")[0] == 27
    classes = [found[f'uvhttp_responses_total{{class="{number}xx"}}'] for number in range(1, 6)]
    assert classes == [status["responses"][f"{number}xx"]["total"] for number in range(1, 6)]
    assert classes == data_of(page, "responses")[:5] == [0, 20, 0, 4, 3]
    for name in ("received", "sent"):
        assert found[f"uvhttp_{name}_bytes_total"] == status[f"{name}_bytes"]["total"] == (
            data_of(page, name)[0])
    quantiles = [found[f'uvhttp_request_latency_seconds{{quantile="{name}"}}']
                 for name in ("0.5", "0.9", "0.99", "0.999", "1")]
    total = status["latency_us"]["total"]
    assert [round(1e6 * value) for value in quantiles] == [
        total[name] for name in ("p50", "p90", "p99", "p999", "max")]
    assert data_of(page, "percentiles")[1::2] == [round(1e6 * value) for value in quantiles]
    open_now = sum(value for name, value in found.items()
                   if name.startswith("uvhttp_connections{"))
    assert open_now == status["connections"]["open"] == 1
    assert data_of(page, "connections") == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 28, 0]
    assert [worker["requests"]["total"] for worker in status["workers"]] == [
        found[f'uvhttp_worker_requests_total{{worker="{number}"}}'] for number in range(2)]
    assert [(route["method"], route["route"], route["requests"]["total"], route["responses_5xx"])
            for route in status["routes"]] == [("GET", "/", 20, 0), ("GET", "unmatched", 4, 0),
                                               ("GET", "/fails", 3, 3)]
    assert data_of(page, "routes") == [20, 0, 0, 4, 4, 0, 3, 0, 3]
    idle.close()


class Events:
    """An open stream of events."""
    def __init__(self, port, path="/status"):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", path + "?format=events")
        self.response = self.connection.getresponse()
        assert self.response.headers["Content-Type"] == "text/event-stream"

    def next(self):
        """The data of the next event; "" at the end of the stream."""
        lines = []
        for line in self.response:
            if line == b"\n" and lines:
                break
            if line.startswith(b"data: "):
                lines.append(line[6:].decode())
        return "".join(lines)


def test_events_have_the_new_values(start):
    program = start("status: /status\n" + SITE)
    events = Events(program.port)
    before = data_of(events.next(), "requests")[0]
    for _ in range(5):
        program.request("/")
    seen = eventually(lambda: (found := data_of(events.next(), "requests")[0]) >= before + 5
                      and found, "the requests are shown")
    assert seen == before + 5
    events.connection.close()


def point_count(port):
    points = r'<svg class="graph"[^>]*><polyline points="([^"]*)"'
    return len(re.search(points, get(port, "/status").text)[1].split())


def test_graphs_show_the_past_at_once(start):
    program = start("status: /status\n" + SITE)
    eventually(lambda: point_count(program.port) > 6, "the page has several values")


def test_stop_ends_open_pages(start):
    program = start("status: /status\n" + SITE)
    events = Events(program.port)
    assert "<main>" in events.next()
    assert program.stop() == 0
    while events.next():
        pass


@pytest.mark.parametrize("method, status", [("HEAD", 200), ("POST", 405)])
def test_only_get_and_head_are_accepted(start, method, status):
    program = start("status: /status\n" + SITE)
    for query in ("", "?format=json", "?format=events"):
        assert program.request("/status" + query, method=method).status == status


# ---- rules ----




def test_rules_of_the_site_apply(start, tmp_path):
    made = subprocess.run(["openssl", "passwd", "-6", "secret"], capture_output=True, text=True)
    (tmp_path / "staff").write_text(f"ops:{made.stdout}")
    program = start("""status: /status
sites:
  - basic_auth: {realm: staff, file: staff}
    deny: [127.0.0.2]
    routes: [{path: /, respond: {status: 204}}]
""")
    for query in ("", "?format=json", "?format=events"):
        assert get(program.port, "/status" + query).status_code == 401
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, trust_env=False) as client:
            assert client.get(f"http://127.0.0.1:{program.port}/status{query}").status_code == 403
    assert get(program.port, "/status?format=json", auth=("ops", "secret")).status_code == 200


def test_status_is_on_the_site_without_hosts(start):
    program = start("status: /state\nsites:\n  - hosts: a.test\n"
                    "    routes: [{path: /, respond: {status: 204}}]\n")
    assert get(program.port, "/state").status_code == 200
    assert get(program.port, "/state", headers={"Host": "a.test"}).status_code == 404


def test_policy_of_the_site_does_not_apply(start):
    program = start("status: /status\nsites:\n  - headers: {Content-Security-Policy: "
                    "\"default-src 'self'\", X-Own: a}\n"
                    "    routes: [{path: /, respond: {status: 204}}]\n")
    response = get(program.port, "/status")
    assert response.headers["X-Own"] == "a"
    assert response.headers.get_list("Content-Security-Policy")[0].startswith("default-src 'none'")
    assert len(response.headers.get_list("Content-Security-Policy")) == 1


def test_serve_has_the_page(tmp_path):
    for option, path in (("--status", "/status"), ("--status=/s", "/s")):
        program = Program("uvhttp", "serve", "-l127.0.0.1:0", option, tmp_path)
        assert "<title>Status</title>" in get(program.port, path).text
        assert program.stop() == 0
    done = run("uvhttp", "serve", "-l127.0.0.1:0", "--status=s", tmp_path)
    assert (done.returncode, done.stderr) == (
        2, 'uvhttp: --status: route "s" refused: it does not begin with "/"\n')


# ---- configuration ----


def test_two_addresses_are_two_servers(start):
    first, second = free_port(), free_port()
    program = start(f"metrics: {{listen: 127.0.0.1:{first}}}\n"
                    f"status: {{path: /s, listen: 127.0.0.1:{second}}}\n" + SITE)
    assert own_ports(program) == [first, second]
    assert get(first, "/metrics").status_code == get(second, "/s").status_code == 200
    assert get(first, "/s").status_code == get(second, "/metrics").status_code == 404
    assert get(program.port, "/s").status_code == 404


def test_status_on_unix_socket(start, tmp_path):
    start("status: {listen: 'unix:status.sock'}\n" + SITE)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "status.sock"))) as client:
        assert client.get("http://localhost/status?format=json").json()["requests"]["total"] == 0


def test_address_in_use_is_reported(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        path = tmp_path / "site.yaml"
        path.write_text(LISTEN + f"status: {{listen: '127.0.0.1:{port}'}}\n" + SITE)
        done = run("uvhttp", "run", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"uvhttp: port {port} is in use; choose another with 'listen' of "
                           "'status'\n")


@pytest.mark.parametrize("line, expected", [
    ("status: status", '1:9: route "status" refused: it does not begin with "/"'),
    ("status: /", '4:16: route "/" refused: GET "/" already exists, in line 1'),
    ("status: [/s]", "1:9: status: expected a single value, found a list"),
    ("status: {path: /s, listen: 127.0.0.1}",
     "1:28: '127.0.0.1' has no port; the status page needs a separate one, such as 127.0.0.1:9100"),
    ("status: {listen: 'https://127.0.0.1:1'}",
     "1:18: 'https://127.0.0.1:1' is invalid: TLS is not supported for the status page"),
    ("status: {pth: /s}", "1:10: unknown key 'pth' in status; did you mean 'path'?"),
    ("status: {}", "1:9: status is an empty map; it requires 'path' or 'listen'"),
    ("metrics: /\nstatus: /s", '5:16: route "/" refused: GET "/" already exists, in line 1'),
])
def test_invalid_values_are_reported(check, line, expected):
    assert expected in check(line + "\n" + SITE)


def test_both_forms_are_printed(tmp_path):
    path = tmp_path / "site.yaml"
    for text, printed in (("/s", "/s"), ("{path: /s}", "/s"),
                          ("{listen: ':0'}", {"path": "/status", "listen": "*:0"})):
        path.write_text(f"status: {text}\n" + SITE)
        text = run("uvhttp", "run", "--print-config", path).stdout
        assert yaml.safe_load(text)["status"] == printed


def reload(program, text):
    program.path.write_text(LISTEN + text)
    log = reload_process(program.process.pid, program.log)
    assert "reload: the configuration is applied" in log


def test_reload_changes_the_path(start):
    program = start("status: /old\n" + SITE)
    events = Events(program.port, "/old")
    assert "<main>" in events.next()
    reload(program, "status: /new\n" + SITE)
    assert get(program.port, "/new").status_code == 200
    assert get(program.port, "/old").status_code == 404
    assert "<main>" in events.next(), "an open page goes on"
    events.connection.close()


def test_reload_keeps_the_graphs(start):
    program = start("status: /status\n" + SITE)
    eventually(lambda: point_count(program.port) > 6, "the page has several values")
    reload(program, "status: /status\n" + SITE)
    assert point_count(program.port) > 6


def test_reload_keeps_the_own_address(start):
    program = start(SHARED + SITE)
    port, _ = own_ports(program)
    reload(program, SHARED + SITE.replace("/fails", "/other"))
    assert json.loads(get(port, "/status?format=json").text)["requests"]["total"] == 0
    assert "needs a restart" not in program.log()
    reload(program, "status: {listen: 127.0.0.1:1}\nmetrics: {listen: 127.0.0.1:0}\n" + SITE)
    eventually(lambda: "reload: 'listen' of status has changed" in program.log(), "a warning")
