"""The calendar clock is set by a year, forwards and backwards, while the server runs: dates follow
it; timeouts, rate limits, caches, TLS and WebSockets do not notice."""

import calendar
import pathlib
import re
import socket
import struct
import subprocess
import time

import pytest

import raw
import tls
from program import Program
from test_status import Events
from wire_server import WireServer, eventually
from ws_raw import PING, PONG, WebSocket, frame

# A sanitizer's library must be the first one.
pytestmark = [pytest.mark.release_only, pytest.mark.plain, pytest.mark.http1]
SOURCE = pathlib.Path(__file__).with_name("set_clock.c")
YEAR = 366 * 86400
JUMPS = pytest.mark.parametrize("jump", [YEAR, -YEAR], ids=["forwards", "backwards"])


class Clock:
    """The clock of programs with `environment`; `set` adds seconds to that of the system."""
    def __init__(self, directory):
        library = directory / "set_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", library, SOURCE,
                        "-ldl"], check=True)
        self.file = directory / "clock"
        self.file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self.file)}
        self.offset = 0

    def set(self, offset):
        with open(self.file, "r+b") as file:
            file.write(struct.pack("=q", offset))
        self.offset = offset

    def shows(self, seconds):
        return abs(time.time() + self.offset - seconds) < 3600


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture
def start(clock, tmp_path):
    running = []

    def starter(text):
        path = tmp_path / "site.yaml"
        path.write_text("listen: 127.0.0.1:0\n" + text)
        running.append(Program("uvhttp", "run", path, environment=clock.environment))
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


def respond(*routes):
    return f"sites: [{{routes: [{', '.join(['{path: /, respond: {body: x}}', *routes])}]}}]\n"


def date(response):
    return calendar.timegm(time.strptime(response.get("Date"), "%a, %d %b %Y %H:%M:%S GMT"))


@JUMPS
def test_dates_follow_the_clock(start, clock, tmp_path, jump):
    program = start("access_log: {path: a.log, pattern: '{time_iso}', flush_ms: 1}\n" + respond())
    for offset in (0, jump, 0):
        clock.set(offset)
        with program.connect() as connection:
            eventually(lambda: clock.shows(date(connection.request("GET", "/"))), "its Date")
        year = time.gmtime(time.time() + offset).tm_year
        eventually(lambda: re.search(rf"^{year}-\S+\n\Z", (tmp_path / "a.log").read_text(), re.M),
                   "the time of the line")


@JUMPS
def test_connections_stay_open(start, clock, jump):
    program = start("server: {keep_alive_timeout: 60, header_timeout: 60, body_timeout: 60}\n" +
                    respond("{path: /in/, static: ., uploads: true}"))
    with program.connect() as idle, program.connect() as reading, program.connect() as sending:
        assert idle.request("GET", "/").status == 200
        reading.send(b"GET / HTTP/1.1\r\nHost:")
        sending.send(raw.request("PUT", "/in/new", "Content-Length: 2") + b"a")
        for offset in (jump, 0, jump):
            clock.set(offset)
            eventually(lambda: clock.shows(date(idle.request("GET", "/"))), "the clock is set")
        reading.send(b" x\r\n\r\n")
        sending.send(b"b")
        assert reading.response().status == 200 and sending.response().status == 201


@JUMPS
def test_timeouts_expire(start, clock, jump):
    program = start("server: {keep_alive_timeout: 1, header_timeout: 1}\n" + respond())
    clock.set(jump)
    with program.connect() as idle, program.connect() as reading:
        assert idle.request("GET", "/").status == 200
        reading.send(b"GET / HTTP/1.1\r\n")
        idle.assert_closed()
        assert reading.response().status == 408


@JUMPS
def test_caches_have_the_current_file(start, clock, tmp_path, jump):
    (tmp_path / "site").mkdir()
    file = tmp_path / "site" / "a.txt"
    file.write_text("one")
    program = start(respond("{path: /s/, static: site}"))
    with program.connect() as connection:
        before = connection.request("GET", "/s/a.txt")
        for step, offset in enumerate((jump, 0)):
            clock.set(offset)
            eventually(lambda: clock.shows(date(connection.request("GET", "/"))), "the clock")
            now = connection.request("GET", "/s/a.txt")
            assert now.get("ETag") == before.get("ETag")
            same = f"If-None-Match: {before.get('ETag')}"
            assert connection.request("GET", "/s/a.txt", same).status == 304
            # A file of the future has the time of the response, which is no time of the file.
            since = f"If-Modified-Since: {now.get('Last-Modified')}"
            expected = (200, 304) if offset < 0 else (304, )
            assert connection.request("GET", "/s/a.txt", since).status in expected
            file.write_text(f"text {step}")
            eventually(lambda: connection.request("GET", "/s/a.txt").body == b"text %d" % step,
                       "the new text")
            assert connection.request("GET", "/s/a.txt",
                                      f"If-None-Match: {before.get('ETag')}").status == 200
            # A file never seems to be of a later time than the response.
            before = connection.request("GET", "/s/a.txt")
            modified = time.strptime(before.get("Last-Modified"), "%a, %d %b %Y %H:%M:%S GMT")
            assert calendar.timegm(modified) <= date(before) + 1


@JUMPS
def test_rate_limits_count_real_time(start, clock, jump):
    program = start("sites: [{limit_requests: 2/min, routes: [{path: /, respond: {body: x}}]},"
                    " {hosts: b, limit_requests: 60/min, routes: [{path: /, respond: {body: x}}]}]")
    assert [program.request("/").status for _ in range(3)] == [200, 200, 429]
    clock.set(jump)
    assert program.request("/").status == 429
    clock.set(0)
    assert program.request("/").status == 429
    clock.set(jump)
    with program.connect() as connection:
        statuses = [connection.request("GET", "/", host="b").status for _ in range(70)]
        assert 429 in statuses
        eventually(lambda: connection.request("GET", "/", host="b").status == 200, "it refills")


def handshake(port, version, session=None):
    """(was resumed, a session for the next time)"""
    context = handshake.contexts.setdefault(version, tls.context(only=version))
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with context.wrap_socket(plain, session=session) as connection:
            connection.sendall(raw.request(target="/"))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            return connection.session_reused, connection.session


handshake.contexts = {}


@JUMPS
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls_handshakes_succeed(start, clock, jump, version):
    program = start(f"tls: {{certificates: [{{certificate: {tls.default_cert()}}}]}}\n" + respond())
    _, session = handshake(program.port, version)
    assert handshake(program.port, version, session)[0]
    for offset in (jump, 0, jump):
        clock.set(offset)
        resumed, old = handshake(program.port, version, session)
        assert not resumed, "a ticket of another year is not valid"
        _, session = handshake(program.port, version)
        resumed, session = handshake(program.port, version, session)
        assert resumed, "new tickets are"


@JUMPS
def test_certificate_expiry(start, clock, jump):
    program = start("metrics: /metrics\ntls: {certificates: [{certificate: " +
                    f"{tls.certificate('x', days=100)}}}]}}\n" + respond())

    def expiry():
        context = tls.context()
        with socket.create_connection(("127.0.0.1", program.port)) as plain:
            with context.wrap_socket(plain) as connection:
                connection.sendall(raw.request(target="/metrics", version="HTTP/1.0"))
                text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return float(re.search(r"^uvhttp_tls_certificate_expiry_seconds (\S+)$", text, re.M)[1])

    before = expiry()
    assert 99 * 86400 < before - time.time() < 101 * 86400
    clock.set(jump)
    if jump > 0:
        eventually(lambda: re.search("warning the certificate of .* expired at", program.log()),
                   "a warning")
    assert expiry() == before
    clock.set(0)
    assert expiry() == before and program.log().count("expired at") <= 1


@JUMPS
def test_status_page_goes_on(start, clock, jump):
    program = start("status: /status\n" + respond())
    events = Events(program.port)
    for offset in (0, jump, 0):
        clock.set(offset)
        for _ in range(2):
            assert "requests" in events.next()
    events.connection.close()


@JUMPS
def test_websocket_pings_go_on(clock, jump):
    server = WireServer(environment=clock.environment, tls=None)
    with WebSocket(server.port, "/ws/pinging") as ws:
        for offset in (0, jump, 0, jump):
            clock.set(offset)
            opcode, payload = ws.message()
            assert opcode == PING
            ws.send(frame(PONG, payload))
            ws.echo()
    server.stop()
