"""A real Prometheus scrapes the program: its totals equal what the load generator has sent."""

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from program import Program
from wire_server import SAFETY_TIMEOUT, eventually, free_port

SITE = """
listen: ["127.0.0.1:0"]
metrics: {{listen: "127.0.0.1:{port}"}}
server: {{workers: 2, route_stats: 10}}
sites:
  - routes:
      - {{path: /text, respond: {{status: 200, body: "0123456789"}}}}
      - {{path: /none, respond: {{status: 404}}}}
"""
CONFIG = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}
scrape_configs:
  - job_name: uvhttp
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@pytest.fixture
def prometheus(tmp_path):
    """start(port of the metrics) starts one, and returns query(expression) -> {labels: value}."""
    processes = []

    def start(target):
        port = free_port()
        (tmp_path / "prometheus.yml").write_text(CONFIG.format(port=target))
        processes.append(subprocess.Popen(
            ["prometheus", f"--config.file={tmp_path}/prometheus.yml",
             f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}",
             "--log.level=warn"]))

        def query(expression):
            address = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode(
                {"query": expression})
            try:
                with urllib.request.urlopen(address, timeout=SAFETY_TIMEOUT) as response:
                    found = json.load(response)["data"]["result"]
            except urllib.error.URLError:  # it has not started, or is not ready
                return None
            return {frozenset(one["metric"].items()): float(one["value"][1]) for one in found}

        return query

    yield start
    for process in processes:
        process.terminate()
        process.wait(SAFETY_TIMEOUT)


def load(port, path, count, *options):
    """Sends exactly `count` requests."""
    result = subprocess.run(
        ["h2load", f"-n{count}", "-c10", *options, f"http://127.0.0.1:{port}{path}"],
        capture_output=True, text=True, timeout=SAFETY_TIMEOUT, check=True)
    assert f"{count} done" in result.stdout, result.stdout
    assert ", 0 errored, 0 timeout" in result.stdout, result.stdout


@pytest.fixture
def site(tmp_path):
    """The program, and the port of its metrics."""
    port = free_port()
    (tmp_path / "site.yaml").write_text(SITE.format(port=port))
    program = Program("uvhttp", "run", str(tmp_path / "site.yaml"))
    yield program, port
    assert program.stop() == 0


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs Debian's prometheus")
def test_totals_of_prometheus_equal_the_load(prometheus, site):
    program, port = site
    query = prometheus(port)
    eventually(lambda: query("uvhttp_requests_total") or None, "the first scrape")
    load(program.port, "/text", 12345, "--h1")
    load(program.port, "/text", 2345)  # HTTP/2 with prior knowledge
    load(program.port, "/none", 345, "--h1")
    route = 'sum by (route, class) (uvhttp_route_duration_seconds_count{route=~"/text|/none"})'
    expected = {("/text", "2xx"): 14690, ("/none", "4xx"): 345}

    def by_route():
        return {(dict(labels)["route"], dict(labels)["class"]): value
                for labels, value in (query(route) or {}).items() if value > 0}

    eventually(lambda: by_route() == expected or None, "all requests are in Prometheus")

    def one(expression):
        (value, ), = [query(expression).values()]
        return value

    assert one('uvhttp_responses_total{class="4xx"}') == 345
    assert one("uvhttp_http2_requests_total") == 2345
    assert one("uvhttp_http2_connections_total") == 10
    # The address of the metrics is another server: scrapes are not counted.
    assert one("uvhttp_requests_total") == one("sum(uvhttp_responses_total)") == 15035
    assert one("uvhttp_request_duration_seconds_count") == 15035
    assert one("sum(uvhttp_worker_requests_total)") == 15035
