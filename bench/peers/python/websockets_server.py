"""websockets_server.py: the server on websockets (PyPI) that `./dev bench ws` compares with, on asyncio. /topic sends to all others, every other path
sends back."""

import asyncio

from websockets.asyncio.server import broadcast, serve
from websockets.exceptions import ConnectionClosed

subscribers = set()


async def handle(socket):
    topic = socket.request.path == "/topic"
    if topic:
        subscribers.add(socket)
    try:
        async for message in socket:
            if topic:
                broadcast(subscribers - {socket}, message)
            else:
                await socket.send(message)
    except ConnectionClosed:
        pass
    finally:
        subscribers.discard(socket)


async def main():
    async with serve(handle, "127.0.0.1", 0, backlog=4096) as server:
        print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
        await server.serve_forever()


asyncio.run(main())
