"""A client in Python for examples/websocket_chat.c: says the lines it reads, and prints what is said. It leaves at the end of its input.

    python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada

It needs the package `websockets` (Debian: python3-websockets).
"""

import asyncio
import sys
import urllib.parse

import websockets


async def say(connection):
    while line := await asyncio.to_thread(sys.stdin.readline):
        await connection.send(line.rstrip("\n"))
    await connection.close()


async def main(room, nick):
    async with websockets.connect(f"{room}?nick={urllib.parse.quote(nick)}") as connection:
        saying = asyncio.create_task(say(connection))
        async for message in connection:
            verb, name, rest = message.split(" ", 2)
            print(f"{name}: {rest}" if verb == "said" else f"* {name} {verb}, {rest} here", flush=True)
        await saying


asyncio.run(main(*sys.argv[1:]))
