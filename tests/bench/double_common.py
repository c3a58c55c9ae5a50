"""Shared by the test doubles: their name and mode, and the start of the servers.

A test starts a double by a link with the name of the program that it replaces. The environment
variable DOUBLE is its mode: an error, or late-MODE for a server that is correct at first, and has
some errors of MODE under load.
"""

import http.server
import os
import pathlib
import socketserver
import sys
import threading

MODE = os.environ.get("DOUBLE", "")
NAME = pathlib.Path(sys.argv[0]).name
lock = threading.Lock()
response_count = 0


def next_mode(correct, every):
    """Returns the mode of the next response. Late errors begin after `correct` responses."""
    global response_count
    if not MODE.startswith("late-"):
        return MODE
    with lock:
        response_count += 1
        wrong = response_count > correct and response_count % every == 0
        return MODE.removeprefix("late-") if wrong else ""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 1024


def run_server(handler, port=0, context=None):
    """Prints the build, unless the program is a floor, and serves. With `context` it uses TLS."""
    is_benchmark = NAME.startswith("benchmark_")
    debug = MODE == "debug" or MODE == "debug-program" and is_benchmark
    build = f"0.0.0 gcc 0.0.0 {'Debug' if debug else 'Release'}"
    if "--version" in sys.argv:
        print(f"uvhttp 0.0.0\nbuild: {build}")
        return
    if is_benchmark:
        print(f"{NAME}: uvhttp {build}")
    with Server(("127.0.0.1", port), handler) as server:
        if context:
            # The thread of a connection does the handshake.
            server.socket = context.wrap_socket(server.socket, server_side=True,
                                                do_handshake_on_connect=False)
        print(f"listening on http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}/",
              flush=True)
        server.serve_forever()
