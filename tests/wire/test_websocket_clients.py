"""Real WebSocket clients: Python's websockets and aiohttp, Node's own and ws, Go's gorilla and
coder, and Chromium.

Text, binary and empty messages, 16 MiB, fragments, pings and close codes in both directions,
subprotocols, with and without compression. Clients that are no system packages are fetched into
build/clients, in the versions pinned in clients/. A missing client is a failure, not a skip, as in
test_clients.py.
"""

import asyncio
import os
import pathlib
import shutil
import subprocess

import pytest
import raw
from installed import installed, node_with_websocket

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = pathlib.Path(__file__).parent / "clients"
FETCHED = ROOT / "build/clients"
BIG = 16 << 20
# With a shared compressor, with dedicated windows, and without compression.
ENDPOINTS = ("/ws/echo", "/ws/echo-deflate", "/ws/echo-dedicated")
RANDOM = os.urandom(1 << 20)
SAMPLES = [
    b"", b"a", "größer 😀".encode(), *(raw.pattern(size) for size in (125, 126, 65535, 65536, BIG)),
    RANDOM * 16, b"words, " * 300_000
]
# Ends a hanging process.
HANG_SECONDS = 300



def fetch(*command, environment=None, **options):
    """A command that may access a package registry."""
    done = subprocess.run([str(word) for word in command], capture_output=True,
                          timeout=HANG_SECONDS, check=False,
                          env={**os.environ, **(environment or {})}, **options)
    assert done.returncode == 0, (f"{command}: exit code "
                                  f"{done.returncode}\n"
                                  f"{done.stdout.decode()}{done.stderr.decode()}")
    return done.stdout


def run(*command, environment=None):
    """A client that talks to the server without a proxy."""
    return fetch(
        "env",
        *(f"--unset={name}" for name in os.environ
          if "proxy" in name.lower() and name != "GOPROXY"), *command, environment=environment)


def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ---- Python: websockets ----


async def have_echoed(ws):
    """Works for both sides: messages of every type and size, in fragments, and many at once."""
    for data in SAMPLES:
        await ws.send(data)
        assert await ws.recv() == data
        if is_text(data):
            await ws.send(data.decode())
            assert await ws.recv() == data.decode()
    # An iterable is sent as fragments.
    await ws.send(["one ", "two " * 1000, "", "three"])
    assert await ws.recv() == "one " + "two " * 1000 + "three"
    for i in range(300):
        await ws.send(f"message {i} " * i)
    for i in range(300):
        assert await ws.recv() == f"message {i} " * i


@pytest.mark.parametrize("compression", ["deflate", None])
@pytest.mark.parametrize("path", ENDPOINTS)
def test_python_websockets_messages(server, path, compression):
    import websockets

    async def talk():
        async with websockets.connect(f"ws://127.0.0.1:{server.port}{path}",
                                      compression=compression, max_size=2 * BIG,
                                      ping_interval=None) as ws:
            assert bool(ws.extensions) == (compression is not None and path != "/ws/echo")
            await have_echoed(ws)
            await (await ws.ping(b"there?"))
            await ws.send("!ping and you?")
            await ws.send("!pieces")
            assert await ws.recv() == "one two three"
        assert (ws.close_code, ws.close_reason) == (1000, "")

    asyncio.run(talk())


@pytest.mark.parametrize("window", range(9, 16))
def test_python_websockets_window_sizes(server, window):
    import websockets
    from websockets.extensions import permessage_deflate

    async def talk(path, **parameters):
        factory = permessage_deflate.ClientPerMessageDeflateFactory(**parameters)
        async with websockets.connect(f"ws://127.0.0.1:{server.port}{path}", extensions=[factory],
                                      compression=None) as ws:
            assert ws.extensions
            for data in ("words, " * 10_000, "other words, " * 3000, RANDOM[:70_000].hex()):
                await ws.send(data)
                assert await ws.recv() == data

    for path in ENDPOINTS[1:]:
        for takeover in (False, True):
            asyncio.run(
                talk(path, server_max_window_bits=window, client_max_window_bits=window,
                     server_no_context_takeover=takeover, client_no_context_takeover=takeover))


def test_python_websockets_handshake_and_closing(server):
    import websockets

    async def talk():
        base = f"ws://127.0.0.1:{server.port}/ws"
        for code, reason in ((1000, ""), (3000, "größe"), (4999, "r" * 123)):
            ws = await websockets.connect(base + "/echo")
            await ws.close(code, reason)
            assert ws.close_code == code
        for command, code, reason in (("!close 4321 goodbye", 4321, "goodbye"),
                                      ("!close 0", 1005, ""), ("!abort", 1006, "")):
            async with websockets.connect(base + "/echo") as ws:
                await ws.send(command)
                with pytest.raises(websockets.ConnectionClosed):
                    await ws.recv()
                assert (ws.close_code, ws.close_reason) == (code, reason)
        async with websockets.connect(base + "/small") as ws:
            await ws.send("x" * 2000)
            with pytest.raises(websockets.ConnectionClosed):
                await ws.recv()
            assert ws.close_code == 1009
        async with websockets.connect(base + "/protocols", subprotocols=["chat.v1",
                                                                         "chat.v2"]) as ws:
            assert ws.subprotocol == "chat.v2"
        for path, extra, status in (("/protocol-required", {}, 400), ("/nowhere", {}, 404),
                                    ("/admit", {}, 403), ("/origins",
                                                          {"origin": "https://evil.example"}, 403)):
            with pytest.raises(websockets.InvalidStatusCode) as rejected:
                await websockets.connect(base + path, **extra)
            assert rejected.value.status_code == status
        async with websockets.connect(base + "/admit", extra_headers={"X-User": "anna"}) as ws:
            await ws.send("hello")
            assert await ws.recv() == "hello"

    asyncio.run(talk())


def test_python_websockets_concurrent_connections(server):
    import websockets

    async def one(i):
        async with websockets.connect(f"ws://127.0.0.1:{server.port}{ENDPOINTS[i % 3]}",
                                      open_timeout=60, close_timeout=60) as ws:
            for k in range(10):
                await ws.send(f"{i} {k} " * 200)
                assert await ws.recv() == f"{i} {k} " * 200

    async def crowd():
        await asyncio.gather(*(one(i) for i in range(100)))

    asyncio.run(crowd())


# ---- Python: aiohttp ----


@pytest.mark.parametrize("compress", [0, 15, 9])
@pytest.mark.parametrize("path", ENDPOINTS)
def test_aiohttp_messages(server, path, compress):
    import aiohttp

    async def talk():
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(f"http://127.0.0.1:{server.port}{path}",
                                          compress=compress, max_msg_size=2 * BIG) as ws:
                assert bool(ws.compress) == (compress > 0 and path != "/ws/echo")
                for data in SAMPLES:
                    await ws.send_bytes(data)
                    assert await ws.receive_bytes() == data
                    if is_text(data):
                        await ws.send_str(data.decode())
                        assert await ws.receive_str() == data.decode()
                await ws.close(code=3000, message=b"bye")
                assert ws.close_code == 3000

    asyncio.run(talk())


def test_aiohttp_pings_and_closing(server):
    import aiohttp

    async def talk():
        async with aiohttp.ClientSession() as session:
            base = f"http://127.0.0.1:{server.port}/ws"
            async with session.ws_connect(base + "/protocols", protocols=["chat.v1", "chat.v2"],
                                          autoping=False) as ws:
                assert ws.protocol == "chat.v2"
                await ws.ping(b"there?")
                message = await ws.receive()
                assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"there?")
                await ws.send_str("!ping and you?")
                message = await ws.receive()
                assert (message.type, message.data) == (aiohttp.WSMsgType.PING, b"and you?")
                await ws.pong(message.data)
                await ws.send_str("!close 4321 goodbye")
                message = await ws.receive()
                assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE,
                                                                       4321, "goodbye")
            with pytest.raises(aiohttp.WSServerHandshakeError) as rejected:
                await session.ws_connect(base + "/admit")
            assert rejected.value.status == 403

    asyncio.run(talk())


# ---- Node ----


def test_node_builtin_client(server):
    """Node's built-in client."""
    assert run(*node_with_websocket(), CLIENTS / "websocket.mjs", server.port, "builtin") == b"ok\n"


def test_node_ws_package(server):
    directory = FETCHED / "websocket-node"
    lock = (CLIENTS / "websocket-node/package-lock.json").read_text()
    if not (directory / "node_modules/ws").exists() or (directory /
                                                        "package-lock.json").read_text() != lock:
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(CLIENTS / "websocket-node", directory)
        fetch(installed("npm", "npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts",
              cwd=directory)
    output = run(installed("node", "nodejs"), CLIENTS / "websocket.mjs", server.port, "ws",
                 environment={"WS_FOLDER": str(directory)})
    assert output == b"ok\n"


# ---- Go ----


def test_go_gorilla_and_coder_clients(server):
    # go.mod has the last versions that Go 1.19 can build.
    program = FETCHED / "websocket-go"
    fetch(installed("go",
                    "golang-go"), "build", "-buildvcs=false", "-mod=readonly", "-o", program, ".",
          cwd=CLIENTS / "websocket-go", environment={"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"})
    assert run(program, server.port) == b"ok\n"


# ---- Chromium ----

IN_THE_PAGE = """
(async () => {
  const talk = (path, protocols) => new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://${location.host}${path}`, protocols ?? []);
    socket.binaryType = 'arraybuffer';
    const waiting = [], got = [];
    socket.next = () => got.length ? Promise.resolve(got.shift())
      : new Promise((...both) => waiting.push(both));
    socket.onmessage = (event) =>
      waiting.length ? waiting.shift()[0](event.data) : got.push(event.data);
    socket.closed = new Promise((one) => socket.onclose = (event) => {
      for (const [, reject] of waiting)
        reject(new Error(`closed with ${event.code} ${event.reason}`));
      one([event.code, event.reason, event.wasClean]);
    });
    socket.onopen = () => resolve(socket);
    socket.onerror = () => reject(new Error(`${path} is refused`));
  });
  const same = (a, b) => {
    const [found, wanted] = [a, b].map((one) => String(one).slice(0, 200));
    if (a !== b) throw new Error(`${found} instead of ${wanted}`);
  };
  for (const path of ['/ws/echo', '/ws/echo-deflate', '/ws/echo-dedicated']) {
    const socket = await talk(path);
    same(socket.extensions.includes('permessage-deflate'), path !== '/ws/echo');
    for (const text of ['', 'a', 'größer 😀', 'x'.repeat(126), 'words, '.repeat(20000),
                        'z'.repeat(16 << 20)]) {
      socket.send(text);
      same(await socket.next(), text);
    }
    for (const size of [0, 1, 125, 126, 65535, 65536, 16 << 20]) {
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 65536)
        crypto.getRandomValues(bytes.subarray(at, at + 65536));
      socket.send(bytes);
      const back = new Uint8Array(await socket.next());
      same(back.length, size);
      same(back.every((byte, i) => byte === bytes[i]), true);
    }
    for (let i = 0; i < 300; i++) socket.send(`message ${i} `.repeat(i));
    for (let i = 0; i < 300; i++) same(await socket.next(), `message ${i} `.repeat(i));
    socket.send('!pieces');
    same(await socket.next(), 'one two three');
    socket.close(3000, 'größe');
    same(JSON.stringify(await socket.closed), JSON.stringify([3000, '', true]));
  }
  const told = await talk('/ws/echo');
  told.send('!close 4321 goodbye');
  same(JSON.stringify(await told.closed), JSON.stringify([4321, 'goodbye', true]));
  const large = await talk('/ws/small');
  large.send('x'.repeat(2000));
  same((await large.closed)[0], 1009);
  const agreed = await talk('/ws/protocols', ['chat.v1', 'chat.v2']);
  same(agreed.protocol, 'chat.v2');
  agreed.close();
  same((await agreed.closed)[0], 1005);
  const origin = await talk('/ws/origins').then(() => 'let in', () => 'refused');
  same(origin, 'refused');
  return 'ok';
})()
"""


def test_chromium_client(server, opened):
    opened.open(f"http://127.0.0.1:{server.port}/hello", 800, False)
    assert opened.evaluate(IN_THE_PAGE) == "ok"
