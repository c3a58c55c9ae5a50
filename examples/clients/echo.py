"""A client in Python for examples/websocket_echo.c: sends each line it reads, and prints the
responses.

    printf 'hello\n' | python3 examples/clients/echo.py ws://127.0.0.1:8080/echo

It needs the package `websockets` (Debian: python3-websockets).
"""

import asyncio
import sys

import websockets


async def main(url):
    async with websockets.connect(url) as connection:
        for line in sys.stdin:  # waits for each response before it reads the next line
            await connection.send(line.rstrip("\n"))
            print(await connection.recv(), flush=True)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:8080/echo"))
