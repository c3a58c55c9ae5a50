"""Our WebSocket client with other servers: Python's websockets and aiohttp. wire_server connects
and echoes; the servers control the messages.

Text, binary and empty messages, 16 MiB, fragments, pings and close codes in both directions,
subprotocols, with and without compression; and servers that do not respond.
"""

import asyncio
import contextlib
import json
import signal
import socket
import struct
import subprocess
import urllib.parse

import pytest
from test_websocket_clients import BIG, ENDPOINTS, HANG_SECONDS, SAMPLES, have_echoed, is_text
from wire_server import SAFETY_TIMEOUT, built, eventually
from ws_raw import websocket_state


def connect(server, url, path="/ws/echo"):
    return server.request(
        "GET", f"/ws-connect{path}?url={urllib.parse.quote(url, safe='')}").body.decode()


def expect_close_report(server, code, reason, path="/ws/echo"):
    """Waits for the `close` report of the last connection."""
    eventually(
        lambda:
        (state := websocket_state(server, path))["code"] == code and state["reason"] == reason,
        f"{code} {reason}")


async def connect_wire_server(server, path, port, talk):
    """wire_server connects to a server here; `talk` is a future with the result."""
    assert await asyncio.to_thread(connect, server, f"ws://127.0.0.1:{port}/any?thing=1",
                                   path) == "0"
    await asyncio.wait_for(talk, HANG_SECONDS)


def settle(future, talk):
    """A handler that calls `talk` and stores its result."""
    async def handle(ws):
        try:
            future.set_result(await talk(ws))
        except BaseException as error:
            future.set_exception(error)

    return handle


# ---- websockets ----


def with_websockets(server, path, talk, **options):
    import websockets

    async def main():
        future = asyncio.get_running_loop().create_future()
        async with websockets.serve(settle(future, talk), "127.0.0.1", 0, max_size=2 * BIG,
                                    ping_interval=None, **options) as running:
            await connect_wire_server(server, path, running.sockets[0].getsockname()[1], future)

    asyncio.run(main())


@pytest.mark.parametrize("compression", ["deflate", None])
@pytest.mark.parametrize("path", ENDPOINTS)
def test_python_websockets_messages(server, path, compression):
    async def talk(ws):
        assert bool(ws.extensions) == (compression is not None and path != "/ws/echo")
        await have_echoed(ws)

    with_websockets(server, path, talk, compression=compression)


def test_python_websockets_pings_and_fragments(server):
    async def talk(ws):
        await (await ws.ping(b"there?"))
        before = (await asyncio.to_thread(websocket_state, server))["pongs"]
        await ws.send("!ping and you?")
        await asyncio.to_thread(eventually, lambda: websocket_state(server)["pongs"] == before + 1,
                                "a pong has come back")
        await ws.send("!pieces")
        assert await ws.recv() == "one two three"

    with_websockets(server, "/ws/echo", talk)


@pytest.mark.parametrize("path", ["/ws/pieces", "/ws/pieces-deflate"])
def test_python_websockets_echoes_fragments(server, path):
    async def talk(ws):
        for data in (b"", b"x", bytes(range(256)) * 300, ["one ", "two"], "größer"):
            await ws.send(data)
            assert await ws.recv() == ("".join(data) if isinstance(data, list) else data)

    with_websockets(server, path, talk)


@pytest.mark.parametrize("offered, spoken", [(["chat.v1"], "chat.v1"),
                                             (["chat.v2", "chat.v1"], "chat.v2"), (["other"], None),
                                             (None, None)])
def test_python_websockets_subprotocols(server, offered, spoken):
    async def talk(ws):
        assert ws.subprotocol == spoken
        await ws.send("!facts")
        assert json.loads(await ws.recv())["protocol"] == (spoken or "")

    with_websockets(server, "/ws/protocols", talk, subprotocols=offered)


@pytest.mark.parametrize("command, code, reason", [("!close 4321 goodbye", 4321, "goodbye"),
                                                   ("!close 0", 1005, ""), ("!abort", 1006, "")])
def test_python_websockets_gets_close_code(server, command, code, reason):
    import websockets

    async def talk(ws):
        await ws.send(command)
        with pytest.raises(websockets.ConnectionClosed):
            await ws.recv()
        assert (ws.close_code, ws.close_reason) == (code, reason)

    with_websockets(server, "/ws/echo", talk)


@pytest.mark.parametrize("code, reason", [(1000, ""), (3000, "größe"), (4999, "r" * 123)])
def test_python_websockets_sends_close_code(server, code, reason):
    async def talk(ws):
        await ws.close(code, reason)
        assert ws.close_code == code

    with_websockets(server, "/ws/echo", talk)
    expect_close_report(server, code, reason)


# ---- aiohttp ----


def with_aiohttp(server, path, talk, **options):
    from aiohttp import web

    async def main():
        future = asyncio.get_running_loop().create_future()

        async def handle(request):
            ws = web.WebSocketResponse(max_msg_size=2 * BIG, **options)
            await ws.prepare(request)
            await settle(future, talk)(ws)
            return ws

        application = web.Application()
        application.router.add_get("/any", handle)
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            await connect_wire_server(server, path, runner.addresses[0][1], future)
        finally:
            await runner.cleanup()

    asyncio.run(main())


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("path", ENDPOINTS)
def test_aiohttp_messages(server, path, compress):
    async def talk(ws):
        assert bool(ws.compress) == (compress and path != "/ws/echo")
        for data in SAMPLES:
            await ws.send_bytes(data)
            assert await ws.receive_bytes() == data
            if is_text(data):
                await ws.send_str(data.decode())
                assert await ws.receive_str() == data.decode()
        await ws.send_str("!pieces")
        assert await ws.receive_str() == "one two three"
        await ws.close(code=3000, message=b"bye")

    with_aiohttp(server, path, talk, compress=compress)
    expect_close_report(server, 3000, "bye", path)


def test_aiohttp_pings_and_closing(server):
    import aiohttp

    async def talk(ws):
        assert ws.ws_protocol == "chat.v2"
        await ws.ping(b"there?")
        message = await ws.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"there?")
        await ws.send_str("!ping and you?")
        message = await ws.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.PING, b"and you?")
        await ws.pong(message.data)
        await ws.send_str("!close 4321 goodbye")
        message = await ws.receive()
        assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE, 4321,
                                                               "goodbye")

    with_aiohttp(server, "/ws/protocols", talk, protocols=["chat.v1", "chat.v2"], autoping=False)


# ---- servers that do not respond ----


@contextlib.contextmanager
def silent():
    """A listener that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SAFETY_TIMEOUT)
        yield listener


def connect_to_silent(server, listener):
    """A connection of wire_server whose request has arrived and gets no response."""
    port = listener.getsockname()[1]
    assert connect(server, f"ws://127.0.0.1:{port}/") == "0"
    return accept(listener)


def accept(listener):
    connection, _ = listener.accept()
    connection.settimeout(SAFETY_TIMEOUT)
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(4096)
    return connection


def test_silent_server_errors_are_distinguished(server):
    with silent() as listener:
        with connect_to_silent(server, listener) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        expect_close_report(server, 1006, "the connection failed before the response")
        with connect_to_silent(server, listener):
            pass
        expect_close_report(server, 1006, "the server closed the connection without a response")
        with connect_to_silent(server, listener) as connection:
            connection.sendall(b"HTTP/1.1 403 Verb\xf6ten \xff\xfe\r\nContent-Length: 0\r\n\r\n")
            expect_close_report(server, 1006, "the server responded with 403 Verb?ten ??")
        port = listener.getsockname()[1]
    assert connect(server, f"ws://127.0.0.1:{port}/") == "0"
    expect_close_report(server, 1006, f"cannot connect to 127.0.0.1:{port}: connection refused")


@pytest.mark.parametrize(
    "url, words",
    [("http://127.0.0.1/", 'url is "http://127.0.0.1/"; must be ws[s]://host[:port]/path?query'),
     ("wss://ann:secret@127.0.0.1/", 'url is "wss://...@127.0.0.1/"; must be'),
     ("ws://ann:secret@127.0.0.1/", 'url is "ws://...@127.0.0.1/"; must be'),
     ("ws://h/?token=secret#top", 'url is "ws://h/?..."; must be')])
def test_invalid_url_has_error_message(start, url, words):
    server = start()
    assert words in connect(server, url)
    assert "secret" not in connect(server, url)


def test_stop_does_not_wait_for_response():
    with silent() as listener:
        command = [built("ws_echo_client"), f"ws://127.0.0.1:{listener.getsockname()[1]}", "test"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as client:
            with accept(listener):
                client.send_signal(signal.SIGTERM)
                _, words = client.communicate(timeout=3 * SAFETY_TIMEOUT)
    assert client.returncode == 1 and words.endswith("1006 the server is stopping\n")
