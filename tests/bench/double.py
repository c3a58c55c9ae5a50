#!/usr/bin/python3
"""Stands in for the programs a benchmark starts, and misbehaves as told. The tests copy it under their names.

uvhttp, benchmark_rps, floor: servers that answer rightly, or as the environment variable DOUBLE says:
    status          every answer is a 500
    truncate        every body loses its second half, and Content-Length says so
    content         right length, wrong bytes
    cut             Content-Length promises more than is sent, and the connection is closed
    debug           is a debug build
    debug-program   benchmark_rps alone is a debug build
    late-status     right at first, a 500 now and then under load
    late-truncate   right at first, shorter bodies under load
    late-close      right at first, closes connections without an answer under load
wrk: asks a few hundred times on one connection after the other and prints a result in the form of bench/report.lua.
"""

import json
import os
import pathlib
import re
import socket
import sys
import threading
import time

MODE = os.environ.get("DOUBLE", "")
LOAD_REQUESTS = 300
PATIENCE = 40  # requests a "late" server answers rightly; more than the verification before a run asks
lock = threading.Lock()
answered = 0


def content(path):
    if path == "/":
        return b"Hello, world\n"
    return (pathlib.Path(sys.argv[2]) / path.lstrip("/")).read_bytes()


def answer(connection, path):
    """Sends one answer; False when the connection is to be closed."""
    global answered
    with lock:
        answered += 1
        late = MODE.startswith("late-") and answered > PATIENCE and answered % 3 == 0
    mode = MODE.removeprefix("late-") if late or not MODE.startswith("late-") else ""
    status, body = 200, content(path)
    promised = len(body)
    if mode == "status":
        status = 500
    elif mode == "truncate":
        body = body[:len(body) // 2]
        promised = len(body)
    elif mode == "content":
        body = body[::-1]
    elif mode == "cut":
        body = body[:len(body) // 2]
    elif mode == "close":
        return False
    connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {promised}\r\n\r\n".encode() + body)
    return mode != "cut"


def serve_connection(connection):
    received = b""
    with connection:
        while True:
            piece = connection.recv(65536)
            if not piece:
                return
            received += piece
            while b"\r\n\r\n" in received:
                head, _, received = received.partition(b"\r\n\r\n")
                if not answer(connection, head.split(b" ")[1].decode()):
                    return


def serve(port):
    listener = socket.create_server(("127.0.0.1", port))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    while True:
        threading.Thread(target=serve_connection, args=(listener.accept()[0],), daemon=True).start()


def load(url):
    host, port, path = re.fullmatch(r"http://([^:/]+):(\d+)(/.*)", url).groups()
    result = {"requests": 0, "duration_us": 0, "bytes": 0, "connect_errors": 0, "read_errors": 0, "write_errors": 0,
              "status_errors": 0, "timeouts": 0, "p50_us": 10, "p90_us": 20, "p99_us": 30, "max_us": 40}
    start = time.monotonic()
    connection = None
    for _ in range(LOAD_REQUESTS):
        connection = connection or socket.create_connection((host, int(port)))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received and (piece := connection.recv(65536)):
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1)) if head else 0
        while len(body) < length and (piece := connection.recv(65536)):
            received += piece
            body += piece
        if not head or len(body) < length:
            result["read_errors"] += 1
            connection.close()
            connection = None
            continue
        result["requests"] += 1
        result["bytes"] += len(received)
        result["status_errors"] += not head.startswith(b"HTTP/1.1 2")
    result["duration_us"] = int((time.monotonic() - start) * 1e6)
    print("Running\nREPORT " + json.dumps(result))


def main():
    name = pathlib.Path(sys.argv[0]).name
    debug = MODE == "debug" or MODE == "debug-program" and name == "benchmark_rps"
    build = f"0.0.0 gcc 0.0.0 {'Debug' if debug else 'Release'}"
    if name == "wrk":
        if "-v" in sys.argv:
            print("wrk double")
        else:
            load(next(word for word in sys.argv if word.startswith("http://")))
    elif "--version" in sys.argv:
        print(f"uvhttp 0.0.0\nbuild: {build}")
    elif name == "uvhttp":
        serve(int(sys.argv[sys.argv.index("--port") + 1]))
    elif name == "benchmark_rps":
        print(f"benchmark_rps: uvhttp {build}")
        serve(0)
    else:
        serve(0)


main()
