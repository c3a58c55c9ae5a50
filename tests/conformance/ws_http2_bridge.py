#!/usr/bin/python3
"""Lets a WebSocket client of HTTP/1.1 reach ws_echo_server over HTTP/2 (RFC 8441), since
Autobahn|Testsuite has no client of HTTP/2:

    ./dev conformance websocket server --program tests/conformance/ws_http2_bridge.py

Starts the server of build/release (UVHTTP_BUILD_DIR), prints its own URL, and passes each
connection on by the translation of the wire tests, until SIGTERM.
"""

import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/wire"))

import http2_transport  # noqa: E402


def pass_on(client, port):
    """Translates one connection until either side ends it."""
    with client, socket.create_connection(("127.0.0.1", port)) as plain:
        server = http2_transport.Socket(plain)
        try:
            while True:
                if client in select.select([client, plain], [], [])[0]:
                    data = client.recv(65536)
                    if not data:
                        server.shutdown(socket.SHUT_WR)
                        return
                    server.sendall(data)
                while server.client.is_readable(0):
                    # One frame at a time: more might never come.
                    if server.client.step() is None:
                        return
                    server.flush()
                server.translate()
                client.sendall(server.output)
                server.output = b""
                if server.broken:
                    return
        except (OSError, AssertionError):
            return  # one side has ended the connection within a message


def main():
    build = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"))
    server = subprocess.Popen([build / "dist/bin/ws_echo_server", "--compression=shared"],
                              stdout=subprocess.PIPE, text=True)
    port = int(re.search(r"://[\w.]+:(\d+)", server.stdout.readline())[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            print(f"ws://127.0.0.1:{listener.getsockname()[1]}", flush=True)
            while True:
                client, _ = listener.accept()
                threading.Thread(target=pass_on, args=(client, port), daemon=True).start()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
