"""Bodies far larger than the server may buffer. Its memory stays within 16 MB of the idle value,
however slow the client is.

Each body has a gigabyte. With sanitizers, which keep freed memory, it is smaller, and the allocated
bytes are compared instead. A client is slow at first, so that all buffers are filled, and then
reads or writes at full speed.
"""

import asyncio
import os
import subprocess

import pytest

import raw
from test_clients import curl, installed
from wire_server import WireServer, built, eventually

SANITIZED = b"__asan_init" in open(built("wire_server"), "rb").read()
SIZE = 100_000_000 if SANITIZED else 1_000_000_000
ALLOWED = 16_000_000
STEP = 251 * 4096
BLOCK = raw.pattern(STEP)
BURSTS = 20


class Measured(WireServer):
    """A server with memory measurement, relative to its idle state."""
    def __init__(self, **limits):
        super().__init__(**limits)
        self.peak = 0
        for _ in range(3):
            self.request()
        self.idle = self.stats()["heap_live"] if SANITIZED else self.status("VmRSS")

    def status(self, name):
        with open(f"/proc/{self.pid()}/status", encoding="ascii") as lines:
            return 1024 * next(
                int(line.split()[1]) for line in lines if line.startswith(name + ":"))

    def stats(self):
        stats = super().stats()
        self.peak = max(self.peak, stats["heap_peak"])
        return stats

    def check_memory(self):
        """The peak value."""
        self.stats()
        grown = (self.peak if SANITIZED else self.status("VmHWM")) - self.idle
        assert grown < ALLOWED, f"{grown} bytes more than when idle"

    def wait_until_blocked(self, name):
        """Waits until a counter of bytes stops changing: then the client blocks the transfer."""
        seen = []

        def stops_changing():
            seen.append(self.stats()[name])
            # This request counts, too.
            return len(seen) > 3 and max(b - a for a, b in zip(seen[-4:], seen[-3:])) < 5000

        eventually(stops_changing, f"{name} stops changing")


@pytest.fixture
def server():
    running = Measured()
    yield running
    running.stop()


def receive_pattern(connection, size):
    """Reads a body with Content-Length and compares every byte."""
    buffer = bytearray(STEP)
    view = memoryview(buffer)
    offset = len(connection.buffer)
    assert connection.buffer == raw.pattern(offset)
    while offset < size:
        count = connection.socket.recv_into(view[:min(STEP - offset % STEP, size - offset)])
        assert count > 0, "the body ended early"
        start = offset % STEP
        assert view[:count] == BLOCK[start:start + count]
        offset += count
    connection.buffer = b""


@pytest.mark.parametrize("path", ["/pulled", "/pieces-out"])
def test_slow_reader_of_big_body(server, path):
    with server.connect(receive_buffer=65536) as connection:
        connection.send(raw.request("GET", f"{path}?size={SIZE}&piece=16384&known"))
        _, _, fields, _ = connection.head()
        assert ("Content-Length", str(SIZE)) in fields
        server.wait_until_blocked("bytes_sent")
        for _ in range(BURSTS):
            connection.buffer += connection.receive_exactly(
                100_000) if not connection.buffer else b""
            connection.buffer += connection.socket.recv(100_000)
            server.wait_until_blocked("bytes_sent")
        server.check_memory()
        receive_pattern(connection, SIZE)
        server.check_memory()
        assert connection.request().body == b"Hello, world\n"


def count_bytes(command):
    """The number of bytes that a command writes."""
    size = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while chunk := os.read(process.stdout.fileno(), 1 << 20):
            size += len(chunk)
    assert process.returncode == 0
    return size


def test_curl_reads_at_limited_rate(server):
    size = SIZE // 4
    rate = size // 3
    assert count_bytes([
        installed("curl", "curl"), "-sS", "--noproxy", "*", "--limit-rate",
        str(rate), f"http://127.0.0.1:{server.port}/pulled?size={size}&piece=16384"
    ]) == size
    server.check_memory()


@pytest.mark.parametrize("path", ["/upload/big", "/pieces-digest"])
def test_slow_writer_of_big_body(server, tmp_path, path):
    method = "PUT" if path.startswith("/upload") else "POST"
    with server.connect(send_buffer=65536) as connection:
        connection.send(raw.request(method, f"{path}?folder={tmp_path}", f"Content-Length: {SIZE}"))
        offset = 0
        for burst in range(BURSTS):
            connection.send(raw.pattern(10_000 * burst, offset))
            offset += 10_000 * burst
            server.wait_until_blocked("bytes_received")
        while offset < SIZE:
            start = offset % STEP
            offset += connection.socket.send(
                memoryview(BLOCK)[start:min(STEP, start + SIZE - offset)])
        connection.socket.settimeout(120)
        assert connection.response().status in (200, 201)
        server.check_memory()
    if method == "PUT":
        with open(tmp_path / "big", "rb") as stored:
            for offset in range(0, SIZE, STEP):
                assert stored.read(STEP) == BLOCK[:SIZE - offset]
        os.remove(tmp_path / "big")


def sparse_file(path, size):
    """A sparse file of zeros."""
    with open(path, "wb") as file:
        file.truncate(size)
    return path


def test_curl_puts_big_file(server, tmp_path):
    source = sparse_file(tmp_path / "source", SIZE)
    assert curl(server, "-T", str(source), "--expect100-timeout", "60",
                path=f"/upload/big?folder={tmp_path}") == b"201 Created\n"
    server.check_memory()
    assert (tmp_path / "big").stat().st_size == SIZE
    os.remove(tmp_path / "big")


def test_curl_puts_at_limited_rate(server, tmp_path):
    size = SIZE // 4
    source = sparse_file(tmp_path / "source", size)
    assert curl(server, "-T", str(source), "--limit-rate", str(size // 3),
                path=f"/upload/big?folder={tmp_path}") == b"201 Created\n"
    server.check_memory()
    os.remove(tmp_path / "big")


def test_curl_sends_big_form(server, tmp_path):
    source = sparse_file(tmp_path / "source", SIZE)
    text = curl(server, "-F", "a=1", "-F", f"file=@{source}", "-F", "b=2", "--expect100-timeout",
                "60", path=f"/form-data?folder={tmp_path}").decode()
    assert f"file|source|source|application/octet-stream|{SIZE}|-|file\n" in text
    server.check_memory()


# Streaming clients, with chunk sizes of their own


def test_httpx_streams_both_ways(server):
    import httpx

    size = SIZE // 10
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False,
                      timeout=60) as client:
        response = client.post("/pieces-digest", content=(BLOCK for _ in range(size // STEP)))
        assert response.text.split()[0] == str(size // STEP * STEP)
        with client.stream("GET", f"/pulled?size={size}&piece=10000") as response:
            assert sum(len(chunk) for chunk in response.iter_raw()) == size
    server.check_memory()


def test_aiohttp_streams_both_ways(server, tmp_path):
    import aiohttp

    size = SIZE // 10
    sent = size // STEP * STEP

    async def chunks():
        for _ in range(size // STEP):
            yield BLOCK

    async def both():
        async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session:
            async with session.put(f"/upload/big?folder={tmp_path}", data=chunks()) as response:
                assert response.status == 201
            async with session.get(f"/pieces-out?size={size}&piece=10000") as response:
                return sum([len(chunk) async for chunk in response.content.iter_any()])

    assert asyncio.run(both()) == size
    assert (tmp_path / "big").stat().st_size == sent
    server.check_memory()


NODE = """
import http from 'node:http';
import { Readable } from 'node:stream';
const [base, folder, size] = [process.argv[1], process.argv[2], Number(process.argv[3])];
const block = Buffer.alloc(100000, 'x');
function* blocks() { for (let sent = 0; sent < size; sent += block.length) yield block; }

// fetch with a stream as the body, and a body read as a stream
const put = await fetch(`${base}/upload/big?folder=${folder}`,
  { method: 'PUT', body: Readable.toWeb(Readable.from(blocks())), duplex: 'half' });
let got = 0;
const pulled = await fetch(`${base}/pulled?size=${size}&piece=10000`);
for await (const piece of pulled.body) got += piece.length;

// http.request with back-pressure by hand
const digest = await new Promise((resolve, reject) => {
    const request = http.request(`${base}/pieces-digest`, { method: 'POST' }, (response) => {
        let text = '';
        response.on('data', (piece) => { text += piece; });
        response.on('end', () => resolve(text));
    });
    request.on('error', reject);
    Readable.from(blocks()).pipe(request);
});
console.log(put.status, got, digest.split(' ')[0]);
"""


def test_node_streams_both_ways(server, tmp_path):
    size = SIZE // 10
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run([
        installed("node", "nodejs"), "--input-type=module", "-e", NODE,
        f"http://127.0.0.1:{server.port}",
        str(tmp_path),
        str(size)
    ], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == f"201 {size} {size}\n", done.stderr
    assert (tmp_path / "big").stat().st_size == size
    server.check_memory()
