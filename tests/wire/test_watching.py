"""Monitoring: /metrics as Prometheus reads it, compared with the requests of a client, and the
access log of the same requests, also when it is renamed, on a full disk, and a pipe without
reader."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import raw
from program import Program
from wire_server import SAFETY_TIMEOUT, eventually

SAMPLE = re.compile(r"^([a-z0-9_]+(?:\{[^}]*\})?) ([0-9.]+)$")
# Apache's "combined".
COMBINED = re.compile(
    r'(\S+) - - \[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\] "((?:[^"\\]|\\.)*)" '
    r'(\d{3}) (\d+)'
    r' "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"')


@pytest.fixture
def start():
    running = []

    def starter(log):
        running.append(Program("metrics", "0", str(log)))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def scrape(connection):
    response = connection.request("GET", "/metrics")
    assert response.status == 200 and response.get(
        "Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    return response.body.decode()


def samples(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = dict(SAMPLE.match(line).groups() for line in lines)
    assert len(found) == len(lines)
    return {name: float(value) for name, value in found.items()}


def test_promtool_accepts_metrics(start, tmp_path):
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: install prometheus"
    program = start(tmp_path / "log")
    with program.connect() as connection:
        assert connection.request("GET", "/").status == 200
        text = scrape(connection)
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True,
                             text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# What Prometheus 2.53 and 3.5 send.
ACCEPTS = [
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;"
    "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
]


def families_of(text):
    """The families of an OpenMetrics text, by the strict parser of Prometheus' client library."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


@pytest.mark.parametrize("accept", ACCEPTS)
def test_openmetrics_is_sent_to_prometheus(start, tmp_path, accept):
    program = start(tmp_path / "log")
    with program.connect() as connection:
        assert connection.request("GET", "/").status == 200
        response = connection.request("GET", "/metrics", f"Accept: {accept}")
    assert (response.get("Content-Type"), response.get("Vary")) == (OPENMETRICS, "Accept")
    text = response.body.decode()
    assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1
    created = dict(re.findall(r"^(\w+)_created(?:\{.*\})? (\d+\.\d{3})$", text, re.M))
    assert abs(float(created["uvhttp_requests"]) - time.time()) < 60
    families = families_of(text)
    assert families["uvhttp_requests"].type == "counter"
    assert families["uvhttp_request_duration_seconds"].type == "histogram"
    assert families["uvhttp_worker_loop_delay_seconds"].type == "summary"


def test_exemplars_are_traces_in_the_access_log(tmp_path):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    (tmp_path / "site.yaml").write_text("""
listen: ["127.0.0.1:0"]
metrics: /metrics
access_log: {path: log, pattern: "{trace_id}"}
sites:
  - routes: [{path: /, respond: {status: 204}}]
""")
    program = Program("uvhttp", "run", str(tmp_path / "site.yaml"))
    with program.connect() as connection:
        for flags in ("01", "00"):
            parent = f"traceparent: 00-{trace}-00f067aa0ba902b7-{flags}"
            assert connection.request("GET", "/", parent).status == 204
            trace = trace[::-1]
        response = connection.request("GET", "/metrics", f"Accept: {ACCEPTS[0]}")
    buckets = families_of(response.body.decode())["uvhttp_request_duration_seconds"].samples
    exemplars = [bucket.exemplar for bucket in buckets if bucket.exemplar]
    assert [exemplar.labels for exemplar in exemplars] == [{"trace_id": trace}]
    assert 0 < exemplars[0].value < 10 and abs(float(exemplars[0].timestamp) - time.time()) < 60
    assert program.stop() == 0


@pytest.mark.parametrize("accept", ["*/*", "text/plain", "application/openmetrics-text;version=2",
                                    "text/plain, application/openmetrics-text", "text/html"])
def test_text_format_is_sent_to_others(start, tmp_path, accept):
    program = start(tmp_path / "log")
    with program.connect() as connection:
        response = connection.request("GET", "/metrics", f"Accept: {accept}")
    assert response.get("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# EOF" not in response.body


def test_metrics_of_the_process(start, tmp_path):
    program = start(tmp_path / "log")
    pid = program.process.pid
    with program.connect() as connection:

        def same_descriptors():
            found = samples(scrape(connection))
            return found if found["process_open_fds"] == len(os.listdir(f"/proc/{pid}/fd")) else {}

        found = eventually(same_descriptors, "the number of descriptors is that of /proc")
    status = open(f"/proc/{pid}/status").read()
    resident = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024
    assert abs(found["process_resident_memory_bytes"] - resident) < 1 << 20
    assert 0 < found["process_cpu_seconds_total"] < 60
    assert found["process_max_fds"] >= 1024
    assert abs(found["process_start_time_seconds"] - os.stat(f"/proc/{pid}").st_ctime) < 60
    assert found['uvhttp_worker_requests_total{worker="0"}'] == found["uvhttp_requests_total"]
    assert found['uvhttp_worker_connections{worker="0"}'] == 1
    assert found['uvhttp_worker_loop_delay_seconds_count{worker="0"}'] == (
        found["uvhttp_loop_delay_seconds_count"])


def test_promtool_rejects_invalid_metrics(tmp_path):
    """The previous test can fail."""
    checked = subprocess.run([shutil.which("promtool"), "check", "metrics"],
                             input="# TYPE a counter\na 1\n", capture_output=True, text=True)
    assert checked.returncode != 0


def test_metrics_count_requests_of_client(start, tmp_path):
    program = start(tmp_path / "log")
    sent = received = 0
    with program.connect() as connection:

        def fetch(target, status, method="GET"):
            nonlocal sent, received
            message = raw.request(method, target)
            connection.send(message)
            response = connection.response(method)
            assert response.status == status
            sent += len(message)
            return response

        before = samples(scrape(connection))
        for _ in range(50):
            fetch("/", 200)
        for _ in range(7):
            fetch("/none", 404)
        fetch("/work", 200)
        fetch("/", 405, "DELETE")
        after = samples(scrape(connection))
    sent += len(raw.request("GET", "/metrics"))

    def grown(name):
        return round(after[name] - before[name], 6)

    assert grown("uvhttp_requests_total") == 60
    assert grown('uvhttp_responses_total{class="2xx"}') == 52 and grown(
        'uvhttp_responses_total{class="4xx"}') == 8
    assert grown("uvhttp_received_bytes_total") == sent
    assert grown("uvhttp_request_duration_seconds_count") == grown(
        "uvhttp_request_latency_seconds_count") == 60
    # /work takes 20 ms, and blocks the loop for that time.
    assert grown("uvhttp_request_duration_seconds_sum") >= 0.02
    assert grown("uvhttp_loop_busy_seconds_total") >= 0.02
    assert grown("uvhttp_loop_seconds_total") >= grown("uvhttp_loop_busy_seconds_total")
    assert after['uvhttp_loop_delay_seconds{quantile="1"}'] >= 0.02
    assert after['uvhttp_request_latency_seconds{quantile="1"}'] >= 0.02
    assert after['uvhttp_connections{state="active"}'] == 1 and after[
        'uvhttp_connections{state="idle"}'] == 0
    buckets = [
        value for name, value in after.items()
        if name.startswith("uvhttp_request_duration_seconds_bucket")
    ]
    assert buckets == sorted(
        buckets) and buckets[-1] == after["uvhttp_request_duration_seconds_count"]
    assert after['uvhttp_request_duration_seconds_bucket{le="0.016384"}'] < buckets[-1]


def test_metrics_sent_bytes_equal_received_bytes(start, tmp_path):
    program = start(tmp_path / "log")
    with program.connect() as connection:
        connection.send(raw.request("GET", "/", "Connection: close"))
        count = 0
        while chunk := connection.receive():
            count += len(chunk)
    with program.connect() as connection:
        assert samples(scrape(connection))["uvhttp_sent_bytes_total"] == count


# the access log


def test_access_log_has_combined_format(start, tmp_path):
    log = tmp_path / "log"
    program = start(log)
    agent = 'a "quoted" \\agent\\ \xe9'
    begun = time.time()
    with program.connect() as connection:
        message = (f"GET /?a=%0d%0ab HTTP/1.1\r\nHost: h\r\nUser-Agent: {agent}\r\nReferer: "
                   f"http://h/\r\n\r\n")
        connection.send(message.encode("latin-1"))
        response = connection.response()
        assert response.status == 200
    assert program.stop() == 0
    line, = log.read_text().splitlines()
    client, when, request, status, size, referer, found = COMBINED.fullmatch(line).groups()
    assert (client, request, status, size) == ("127.0.0.1", "GET /?a=%0d%0ab HTTP/1.1", "200",
                                               str(len(response.raw_head) + 6))
    assert referer == "http://h/" and found == 'a \\"quoted\\" \\\\agent\\\\ \\xe9'
    assert begun - 2 <= time.mktime(time.strptime(when[:20],
                                                  "%d/%b/%Y:%H:%M:%S")) <= time.time() + 1
    assert when[21:] == time.strftime("%z")
    assert log.stat().st_mode & 0o137 == 0


def test_access_log_has_line_for_every_response(start, tmp_path):
    log = tmp_path / "log"
    program = start(log)
    with program.connect() as connection:
        connection.send(
            raw.request("GET", "/nowhere") + raw.request("DELETE", "/") + raw.request("HEAD", "/") +
            b"no request\r\n\r\n")
        assert [connection.response(method).status
                for method in ("GET", "DELETE", "HEAD", "GET")] == [404, 405, 200, 400]
    assert program.stop() == 0
    lines = [COMBINED.fullmatch(line).groups()[:4] for line in log.read_text().splitlines()]
    assert [(client, request, status) for client, _, request, status in lines] == [
        ("127.0.0.1", "GET /nowhere HTTP/1.1", "404"), ("127.0.0.1", "DELETE / HTTP/1.1", "405"),
        ("127.0.0.1", "HEAD / HTTP/1.1", "200"), ("127.0.0.1", "-", "400")
    ]


def test_access_log_is_reopened_on_sighup(start, tmp_path):
    log, old = tmp_path / "log", tmp_path / "log.1"
    program = start(log)
    assert program.request("/?first").status == 200
    eventually(lambda: "first" in log.read_text(), "a line is written")
    log.rename(old)
    program.send_signal(signal.SIGHUP)
    eventually(log.exists, "the log is created again")
    assert program.request("/?second").status == 200
    assert program.stop() == 0
    assert "first" in old.read_text() and "second" not in old.read_text()
    assert "second" in log.read_text() and "first" not in log.read_text()


def test_access_log_on_full_disk_does_not_block_server(start):
    program = start("/dev/full")
    with program.connect() as connection:
        for _ in range(100):
            assert connection.request("GET", "/").status == 200
        eventually(lambda: program.log().count("no space left") == 1, "the failure is logged")
        for _ in range(100):
            assert connection.request("GET", "/").status == 200
    assert program.stop() == 0
    assert program.log().count("no space left") == 1
    assert "200 lines lost on close" in program.log()


def test_access_log_pipe_without_reader_does_not_block_server(start, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = start(pipe)
    count = 6000
    filler = "x" * 300  # more than the pipe and the buffers hold
    batch = raw.request("GET", "/?" + filler) * 20
    with program.connect() as connection:
        for _ in range(count // 20):
            connection.send(batch)
            assert all(response.status == 200 for response in connection.responses(20))
        # Now the pipe is read: a line with the number of dropped lines replaces them.
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        text = b""
        end = time.monotonic() + SAFETY_TIMEOUT
        while b"last" not in text:
            assert time.monotonic() < end
            if b"lines dropped" in text:
                assert connection.request("GET", "/last").status == 404
                assert connection.request("GET", "/?last").status == 200
            try:
                text += os.read(reader, 65536)
            except BlockingIOError:
                time.sleep(0.01)
    os.close(reader)
    lines = text[:text.rindex(b"\n")].decode().splitlines()
    dropped = [int(line.split()[0]) for line in lines if line.endswith(" lines dropped")]
    whole = [line for line in lines if not line.endswith(" lines dropped")]
    assert all(COMBINED.fullmatch(line) for line in whole)
    assert sum(dropped) + sum(filler in line for line in whole) == count
    assert program.stop() == 0


def test_access_log_to_standard_output(start):
    program = start("-")
    assert program.request("/?here").status == 200
    assert program.stop() == 0
    assert COMBINED.search(program.output) and "/?here" in program.output
