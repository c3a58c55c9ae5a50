"""The application that granian serves when `./dev bench http` compares with it, by granian's own interface RSGI. Files are granian's."""

import json

TEXT = b"Hello, world\n"


async def app(scope, protocol):
    if scope.path == "/memory":
        protocol.response_bytes(200, [("content-type", "text/plain")], TEXT)
    elif scope.path == "/json":
        body = json.dumps({"message": "Hello, world"}, separators=(",", ":")).encode()
        protocol.response_bytes(200, [("content-type", "application/json")], body)
    elif scope.path == "/echo":
        protocol.response_bytes(200, [("content-type", "application/octet-stream")], await protocol())
    else:
        protocol.response_empty(404, [])
