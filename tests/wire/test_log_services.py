"""Access logs to syslog and systemd's journal, and samples of requests."""

import json
import re
import socket

import pytest

import raw
from test_config_file import problems, start, write  # noqa: F401 (fixtures)
from wire_server import eventually

SITE = "sites: [{routes: [{path: /, respond: {body: x}}]}]\n"


class Service:
    """The socket of a service of logs; its buffer is small."""
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind(str(path))
        self.socket.settimeout(60)

    def receive(self):
        return self.socket.recv(65536).decode()

    def close(self):
        self.socket.close()


def requests(program, count, target="/"):
    with raw.Connection(program.port) as connection:
        for _ in range(count):
            connection.request("GET", target)


def test_syslog_gets_a_message_for_each_line(start, tmp_path):
    service = Service(tmp_path / "log")
    program = start(f"access_log: {{path: 'syslog:{tmp_path}/log', flush_ms: 1, "
                    "pattern: '{request} {status}'}\n" + SITE)
    requests(program, 2)
    for _ in range(2):
        assert re.fullmatch(r"<30>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d uvhttp\[\d+\]: "
                            "GET / HTTP/1.1 200", service.receive())
    service.close()


def test_journal_gets_fields(start, tmp_path):
    service = Service(tmp_path / "journal")
    program = start(f"access_log: {{path: 'journal:{tmp_path}/journal', format: json, "
                    "flush_ms: 1}\n" + SITE)
    requests(program, 1)
    first, identifier, message, end = service.receive().split("\n")
    assert (first, identifier, end) == ("PRIORITY=6", "SYSLOG_IDENTIFIER=uvhttp", "")
    assert json.loads(message.removeprefix("MESSAGE="))["status"] == 200
    service.close()


def test_stalled_service_does_not_block_the_server(start, tmp_path):
    service = Service(tmp_path / "log")
    program = start(f"access_log: {{path: 'syslog:{tmp_path}/log', buffer_size: 65536, "
                    "flush_ms: 1}\n" + SITE)
    for _ in range(20): # more than the buffers hold; nobody reads
        requests(program, 200)
    service.socket.settimeout(60)
    lines, dropped = 0, 0
    while lines + dropped < 4000:
        message = service.receive()
        lost = re.search(r"(\d+) lines dropped", message)
        dropped += int(lost[1]) if lost else 0
        lines += lost is None
    assert dropped > 0 and lines + dropped == 4000
    service.close()


def test_restarted_service_gets_the_lines(start, tmp_path):
    service = Service(tmp_path / "log")
    program = start(f"access_log: {{path: 'syslog:{tmp_path}/log', pattern: '{{target}}', "
                    "flush_ms: 1}\n" + SITE)
    requests(program, 1, "/one")
    assert service.receive().endswith(": /one")
    service.close()
    (tmp_path / "log").unlink()
    requests(program, 1, "/two")
    eventually(lambda: "retrying" in program.log(), "the error is logged once")
    service = Service(tmp_path / "log")
    assert service.receive().endswith(": /two")
    requests(program, 1, "/three")
    assert service.receive().endswith(": /three")
    eventually(lambda: "writing resumed" in program.log(), "the end is logged, too")
    service.close()


def test_missing_service_is_a_problem(write, tmp_path):
    [line] = problems(write(f"access_log: 'syslog:{tmp_path}/none'\n" + SITE))
    assert line.startswith(f"1:13: the access log 'syslog:{tmp_path}/none' cannot be written: "
                           "no such")


@pytest.mark.parametrize("sample, expected", [(1, 40), (4, 10), (1000, 1)])
def test_sample_leaves_out_requests_without_error(start, tmp_path, sample, expected):
    program = start(f"access_log: {{path: a.log, pattern: '{{status}}', sample: {sample}, "
                    "flush_ms: 1}\n" + SITE)
    requests(program, 40)
    requests(program, 5, "/missing")
    log = tmp_path / "a.log"
    eventually(lambda: log.exists() and log.read_text().count("404\n") == 5, "errors are logged")
    assert log.read_text().count("200\n") == expected


def test_invalid_sample_is_refused(write):
    [line] = problems(write("access_log: {path: a.log, sample: 0}\n" + SITE))
    assert "sample" in line and "1 to 1000000" in line
