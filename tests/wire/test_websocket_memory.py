"""Memory of WebSocket connections: many idle ones, and many that make the server buffer as much as
possible."""

import random
import resource
import selectors
import zlib

import pytest
import ws_raw
from wire_server import WireServer

WANTED = 5000
IDLE_BUDGET = 768  # bytes per connection without compression
BUDGET = 64 * 1024 * 1024  # the default of options.memory, which /ws/many uses
# In addition to the budget: the connection itself, and the rest of the last small write that the
# socket did not accept (uvhttp/websocket.h).
PER_CONNECTION = 2048
BUFFERS = 8 * 1024 * 1024  # shared buffers, and those cached for reuse
SPARE_DESCRIPTORS = 200
OFFER = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"


@pytest.fixture
def count():
    """The number of connections, or a skip: fewer connections would not reach the limits."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = WANTED + SPARE_DESCRIPTORS
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(needed, before[0]), max(needed, before[1])))
    except (ValueError, OSError):
        pytest.skip(
            f"needs {needed} descriptors, and the limit is {before[1]}: ulimit -Hn {needed}")
    yield WANTED
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def open_many(server, count, target, *extra, receive_buffer=None):
    """Connections after their handshakes, opened in groups that fit into the listen backlog."""
    connections = []
    while len(connections) < count:
        group = [
            ws_raw.WebSocket(server.port, target, upgrade=False, receive_buffer=receive_buffer)
            for _ in range(min(100, count - len(connections)))
        ]
        for connection in group:
            connection.send(ws_raw.handshake(target, *extra))
        for connection in group:
            connection.read_upgrade()
        connections += group
    return connections


def next_message(connection):
    """Skips the pings that the server sends while a busy machine delays a connection."""
    while True:
        opcode, payload = connection.message()
        if opcode != ws_raw.PING:
            return opcode, payload
        connection.send(ws_raw.frame(ws_raw.PONG, payload))


def heap(server):
    stats = server.stats()
    return stats["heap_live"] + stats["libuv_live"]


def test_idle_connection_takes_little_memory(count, capsys):
    server = WireServer(max_connections=count + 200)
    try:
        for connection in open_many(server, 100, "/ws/defaults"):
            connection.reset()
        server.wait_for_connections(0)
        before = heap(server)
        connections = open_many(server, count, "/ws/defaults")
        for connection in connections:
            connection.send(ws_raw.text("hello"))
        for connection in connections:
            assert next_message(connection) == (ws_raw.TEXT, b"hello")
        each = (heap(server) - before) / count
        with capsys.disabled():
            print(f"\n{count} idle WebSocket connections: {each:.0f} B each")
        assert each <= IDLE_BUDGET
        for connection in connections:
            connection.reset()
        server.wait_for_connections(0)
    finally:
        server.stop()


class Client:
    """A connection with compression. Its two windows have the negotiated sizes."""
    def __init__(self, connection):
        self.connection = connection
        offered = connection.fields["sec-websocket-extensions"]
        bits = [
            part.split("=")[1]
            for part in offered.split("; ")
            if part.startswith("client_max_window_bits=")
        ]
        self.keeps = "client_no_context_takeover" not in offered
        self.bits = int(bits[0]) if bits else 15
        self.coder = None

    def packed(self, data):
        if self.coder is None or not self.keeps:
            self.coder = zlib.compressobj(6, zlib.DEFLATED, -max(self.bits, 9))
        return (self.coder.compress(data) + self.coder.flush(zlib.Z_SYNC_FLUSH)).removesuffix(
            ws_raw.TAIL)

    def send(self, data, fin=True):
        self.connection.send(ws_raw.frame(ws_raw.TEXT, self.packed(data), fin=fin, rsv=4))


def push(connections, chunks):
    """Sends to all connections what their sockets accept, and removes those that accept nothing
    more. Reads nothing."""
    with selectors.DefaultSelector() as selector:
        for connection, chunk in zip(connections, chunks):
            connection.socket.setblocking(False)
            selector.register(connection.socket, selectors.EVENT_WRITE, memoryview(chunk))
        while selector.get_map():
            ready = selector.select(1)
            if not ready:
                break
            for key, _ in ready:
                try:
                    sent = key.fileobj.send(key.data)
                except BlockingIOError:
                    continue
                except OSError:
                    selector.unregister(key.fileobj)
                    continue
                selector.unregister(key.fileobj)
                if sent < len(key.data):
                    selector.register(key.fileobj, selectors.EVENT_WRITE, key.data[sent:])


def test_compression_windows_leave_memory_for_messages():
    """Silent clients with all available windows do not cause the close of active clients."""
    server = WireServer()
    try:
        silent = open_many(server, 100, "/ws/few-windows", OFFER)
        state = ws_raw.websocket_state(server, "/ws/few-windows")
        assert state["compressing"] == 100 and 0 < state[
            "dedicated"] < 60, "all windows are in use, the others are shared"
        words = noise(1, 100_000)
        first, last = (ws_raw.frame(ws_raw.TEXT,
                                    Client(silent[i]).packed(words), rsv=4) for i in (0, 99))
        with ws_raw.WebSocket(server.port, "/ws/few-windows") as plain:
            for connection, message in ((plain, ws_raw.text(words)), (silent[0], first),
                                        (silent[99], last), (plain, ws_raw.text(words))):
                for at in range(0, len(message), 20_000):
                    connection.send(message[at:at + 20_000])
                    server.settle()
                assert connection.message() == (ws_raw.TEXT, words)
        assert ws_raw.websocket_state(
            server, "/ws/few-windows")["connections"] == 100, "the plain connection is closed"
    finally:
        server.stop()


def noise(seed, size):
    """Incompressible text."""
    return random.Random(seed).randbytes(size // 2).hex().encode()


# The most that each kind of traffic makes one connection hold: windows of 12 bits, and buffered or
# queued data.
WINDOWS = 50_272
BUFFERED = {"messages in part": WINDOWS + 65_536, "floods": WINDOWS + 20 * (16_384 + 100)}


@pytest.mark.parametrize("traffic", ["ordinary", "messages in part", "floods"])
def test_compressed_connections_stay_within_budget(count, traffic, capsys):
    """Ordinary traffic closes no connection, although not all have dedicated windows. Of the
    connections that make the server buffer as much as possible, as many stay open as the budget
    allows. A client with small messages is served."""
    server = WireServer(max_connections=count + 200)
    try:
        for connection in open_many(server, 100, "/ws/many", OFFER):
            connection.reset()
        server.wait_for_connections(0)
        before = server.stats()["heap_live"]
        connections = open_many(server, count, "/ws/many", OFFER,
                                receive_buffer=4096 if traffic == "floods" else None)
        clients = [Client(connection) for connection in connections]
        state = ws_raw.websocket_state(server, "/ws/many")
        assert state["compressing"] == count and 0 < state[
            "dedicated"] < count, "some have windows, the others share"
        if traffic == "ordinary":
            for step in range(3):
                for i, client in enumerate(clients):
                    client.send(
                        noise(i, 3000) if step == 1 else b"the same for all, the same again " * 30)
                for i, client in enumerate(clients):
                    expected = noise(
                        i, 3000) if step == 1 else b"the same for all, the same again " * 30
                    assert next_message(client.connection) == (ws_raw.TEXT, expected)
        elif traffic == "messages in part":
            push(connections, [
                ws_raw.frame(ws_raw.TEXT, client.packed(noise(i, 60000)), fin=False, rsv=4)
                for i, client in enumerate(clients)
            ])
        else:
            push(connections, [
                ws_raw.frame(ws_raw.TEXT, client.packed(b"!bulk 20 16384"), rsv=4)
                for client in clients
            ])
        state, stats = ws_raw.websocket_state(server, "/ws/many"), server.stats()
        grown = stats["heap_peak"] - before
        with capsys.disabled():
            print(f"\n{count} compressing connections, {traffic}: {grown / 2**20:.1f} MiB at most, "
                  f"{state['dedicated']} with dedicated windows, "
                  f"{state['connections']} still open, {state['memory'] / 2**20:.1f} MiB of the "
                  f"budget taken")
        if traffic == "ordinary":
            assert state["connections"] == count
        else:
            assert state["connections"] >= BUDGET // BUFFERED[
                traffic] * 9 // 10, "no connection is closed while memory is available"
            assert state["connections"] == count or state["code"] == 1013
            with ws_raw.WebSocket(server.port, "/ws/many") as newcomer:
                newcomer.echo(b"x" * 1000)
        assert state["memory"] <= BUDGET
        assert grown <= BUDGET + count * PER_CONNECTION + BUFFERS
        for connection in connections:
            connection.reset()
        server.wait_for_connections(0)
        assert ws_raw.websocket_state(
            server, "/ws/many"
        )["memory"] <= 4 * 1024 * 1024, "buffers for reuse are kept, the rest is released"
    finally:
        server.stop()
