"""A client in Python for examples/websocket_chat.c: sends the lines it reads, and prints the
messages of the room. It disconnects at the end of its input.

    python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada

It needs the package `websockets` (Debian: python3-websockets).
"""

import asyncio
import sys
import threading
import urllib.parse

import websockets


def read_lines(loop, lines):
    """Runs on a daemon thread, which may still wait for input when the program ends."""
    for line in open(0, errors="replace", closefd=False):
        loop.call_soon_threadsafe(lines.put_nowait, line)
    loop.call_soon_threadsafe(lines.put_nowait, "")


async def send_lines(connection, lines):
    while line := await lines.get():
        await connection.send(line.rstrip("\n"))
    await connection.close()


async def main(room, nick):
    lines = asyncio.Queue()
    async with websockets.connect(f"{room}?nick={urllib.parse.quote(nick)}") as connection:
        loop = asyncio.get_running_loop()
        threading.Thread(target=read_lines, args=(loop, lines), daemon=True).start()
        sender = asyncio.create_task(send_lines(connection, lines))
        try:
            async for message in connection:
                verb, name, rest = message.split(" ", 2)
                print(f"{name}: {rest}" if verb == "said" else f"* {name} {verb}, {rest} here",
                      flush=True)
        except websockets.ConnectionClosedError:
            pass  # its code is reported below
        sender.cancel()
    if connection.close_code != 1000:
        sys.exit(f"closed with {connection.close_code} {connection.close_reason}")


asyncio.run(main(*sys.argv[1:]))
