#!/usr/bin/python3
"""Stands in for the programs a benchmark starts, and misbehaves as told. The tests copy it under
their names.

uvhttp, benchmark_rps, floor: servers that answer rightly, or as the environment variable DOUBLE
says:
    status          every answer is a 500
    truncate        every body loses its second half, and Content-Length says so
    content         right length, wrong bytes
    cut             Content-Length promises more than is sent, and the connection is closed
    debug           is a debug build
    debug-program   benchmark_rps alone is a debug build
    late-status     right at first, a 500 now and then under load
    late-truncate   right at first, shorter bodies under load
    late-close      right at first, closes connections without an answer under load
    late-stall      right at first, does not answer any more now and then under load
    tls-1.2         speaks no newer version of TLS
With --tls or --tls-cert they speak TLS.
tls_load: as wrk, with a connection for each request; its handshakes are full or resumed as they
should be, unless DOUBLE is other-handshakes. wrk: asks some times on one connection after the other
and prints a result in the form of bench/report.lua. Understands what post.lua and mix.lua are
given.
"""

import json
import os
import pathlib
import re
import socket
import ssl
import sys
import threading
import time

MODE = os.environ.get("DOUBLE", "")
NAME = pathlib.Path(sys.argv[0]).name
LOAD_REQUESTS = 120
LOAD_BYTES = 10_000_000  # enough is enough
# requests a "late" server answers rightly; more than the verification before a run asks
PATIENCE = 40
# Until wrk says that an answer has timed out: a busy machine may hold up a server that is right for
# as long as it likes.
WAIT_SECONDS = 0.2 if MODE == "late-stall" else 60
TIMEOUTS = 3  # after so many it gives up
lock = threading.Lock()
answered = 0


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def text(size):
    return (b"Hello, world\n" * (size // 13 + 1))[:size]


def content(path, request_body):
    if NAME == "floor":
        if option("--mix"):
            return (pathlib.Path(option("--mix")).parent / path.lstrip("/")).read_bytes()
        return pathlib.Path(option("--file") or option("--read")).read_bytes()
    if path == "/":
        return text(13)
    if path == "/json":
        return b'{"message":"Hello, world"}'
    if path == "/post":
        return request_body
    return (pathlib.Path(sys.argv[2]) / path.lstrip("/")).read_bytes()


def is_coded(path):
    """As `uvhttp serve --precompressed` does for a client that takes gzip, where no other work asks
    for such a path; and `floor --gzip`."""
    return "--gzip" in sys.argv or "--precompressed" in sys.argv and path.startswith("/encoded/")


def answer(connection, path, request_body, close):
    """Sends one answer; False when the connection is to be closed."""
    global answered
    with lock:
        answered += 1
        late = MODE.startswith("late-") and answered > PATIENCE and answered % 3 == 0
    mode = MODE.removeprefix("late-") if late or not MODE.startswith("late-") else ""
    coded = is_coded(path)
    status, body = 200, content(path + ".gz" if coded else path, request_body)
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
    elif mode == "stall":
        return True
    field = "Connection: close\r\n" * close + "Content-Encoding: gzip\r\n" * coded
    connection.sendall(
        f"HTTP/1.1 {status} X\r\nContent-Length: {promised}\r\n{field}\r\n".encode() + body)
    return mode != "cut" and not close


def serve_connection(connection):
    received = b""
    with connection:
        while True:
            piece = connection.recv(65536)
            if not piece:
                return
            received += piece
            while b"\r\n\r\n" in received:
                head, _, rest = received.partition(b"\r\n\r\n")
                found = re.search(rb"Content-Length: (\d+)", head)
                length = int(found.group(1)) if found else 0
                if len(rest) < length:
                    break
                received = rest[length:]
                if not answer(connection,
                              head.split(b" ")[1].decode(), rest[:length], b"Connection: close"
                              in head):
                    return


def serve_secure(context, connection):
    try:
        serve_connection(context.wrap_socket(connection, server_side=True))
    except OSError:
        pass  # who only looks whether we listen


def serve(port):
    listener = socket.create_server(("127.0.0.1", port))
    certificate, context = option("--tls") or option("--tls-cert"), None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if MODE == "tls-1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
    print(f"listening on http{'s' if context else ''}://127.0.0.1:{listener.getsockname()[1]}/",
          flush=True)
    while True:
        connection = listener.accept()[0]
        target, arguments = (serve_secure, (context, connection)) if context else (serve_connection,
                                                                                   (connection, ))
        threading.Thread(target=target, args=arguments, daemon=True).start()


def requests_of(url):
    """The requests that the script wants, again and again."""
    host, port, path = re.fullmatch(r"https?://([^:/]+):(\d+)(/.*)", url).groups()
    script, arguments = pathlib.Path(
        option("-s") or "").name, sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    fields = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "-H"
              ] + (["Connection: close"] if NAME == "tls_load" else [])
    method, body, paths = "GET", b"", [path]
    if script == "post.lua":
        method, body = "POST", pathlib.Path(arguments[0]).read_bytes()
        fields.append(f"Content-Length: {len(body)}")
    elif script == "mix.lua":
        paths = [arguments[1] + name for name in pathlib.Path(arguments[0]).read_text().split()]
    head = "".join(f"{field}\r\n" for field in [f"Host: {host}:{port}", *fields])
    return (host, int(port)), [
        f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body for path in paths
    ]


def ask(connection, request):
    """All bytes of an answer; fewer when the connection ends."""
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received and (piece := connection.recv(65536)):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head).group(1)) if head else 1
    while len(body) < length and (piece := connection.recv(1 << 20)):
        received += piece
        body += piece
    return received if len(body) == length else b""


def connect(address, url):
    plain = socket.create_connection(address, WAIT_SECONDS)
    if url.startswith("http:"):
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain)


def load(url):
    address, requests = requests_of(url)
    result = {"requests": 0, "duration_us": 0, "bytes": 0, "connect_errors": 0, "read_errors": 0,
              "write_errors": 0, "status_errors": 0, "timeouts": 0, "p50_us": 10, "p90_us": 20,
              "p99_us": 30, "max_us": 40}
    start = time.monotonic()
    connection = None
    for number in range(LOAD_REQUESTS):
        connection = connection or connect(address, url)
        try:
            received, fault = ask(connection, requests[number % len(requests)]), "read_errors"
        except TimeoutError:
            received, fault = b"", "timeouts"
        if received:
            result["requests"] += 1
            result["bytes"] += len(received)
            result["status_errors"] += not received.startswith(b"HTTP/1.1 2")
        else:
            result[fault] += 1
        if not received or b"Connection: close" in received.partition(b"\r\n\r\n")[0]:
            connection.close()
            connection = None
        if result["timeouts"] == TIMEOUTS or result["bytes"] > LOAD_BYTES:
            break
    result["duration_us"] = int((time.monotonic() - start) * 1e6)
    if NAME == "tls_load":
        resumed = ("--resume" in sys.argv) != (MODE == "other-handshakes")
        full, resumed = (0, result["requests"]) if resumed else (result["requests"], 0)
        print(json.dumps({**result, "full": full, "resumed": resumed}))
    else:
        print("Running\nREPORT " + json.dumps(result))


def main():
    debug = MODE in ("debug", "debug-program" if NAME == "benchmark_rps" else None)
    build = f"0.0.0 gcc 0.0.0 {'Debug' if debug else 'Release'}"
    if NAME == "wrk":
        if "-v" in sys.argv:
            print("wrk double")
        else:
            load(next(word for word in sys.argv if word.startswith("http")))
    elif NAME == "tls_load":
        load(f"https://127.0.0.1:{sys.argv[1]}{sys.argv[2]}")
    elif "--version" in sys.argv:
        print(f"uvhttp 0.0.0\nbuild: {build}")
    elif NAME == "uvhttp":
        serve(int(option("--port")))
    else:
        if NAME.startswith("benchmark_"):
            print(f"{NAME}: uvhttp {build}")
        serve(0)


if __name__ == "__main__":
    main()
