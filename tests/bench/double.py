#!/usr/bin/python3
"""A test double for the programs that a benchmark starts. Tests copy it under their names.

uvhttp, benchmark_rps, floor: servers with correct responses, or with an error that the environment
variable DOUBLE selects:
    status          each response is a 500
    truncate        each body loses its second half, with a matching Content-Length
    content         correct length, wrong bytes
    cut             Content-Length is larger than the body, and the connection is closed
    debug           is a debug build
    debug-program   only benchmark_rps is a debug build
    late-status     correct at first, some 500 responses under load
    late-truncate   correct at first, some shorter bodies under load
    late-close      correct at first, closes some connections without a response under load
    late-stall      correct at first, some requests without a response under load
    tls-1.2         does not support newer versions of TLS
With --tls or --tls-cert they use TLS.
tls_load: like wrk, with a connection for each request. It reports the expected kind of handshakes,
unless DOUBLE is other-handshakes.
wrk: sends requests one after another and prints a result in the format of bench/report.lua. It
supports the arguments of post.lua and mix.lua.
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
LOAD_BYTES = 10_000_000  # limit for large responses
# Correct responses of a "late" server, more than the verification before a run needs.
CORRECT_RESPONSES = 40
# Timeout of wrk. On a busy machine a correct server may be slow, so it is long.
WAIT_SECONDS = 0.2 if MODE == "late-stall" else 60
TIMEOUTS_MAX = 3  # after which the load ends
lock = threading.Lock()
response_count = 0


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
    """Like `uvhttp serve --precompressed` for clients with gzip, which request only these paths,
    and `floor --gzip`."""
    return "--gzip" in sys.argv or "--precompressed" in sys.argv and path.startswith("/encoded/")


def send_response(connection, path, request_body, close):
    """Sends one response. Returns False to close the connection."""
    global response_count
    with lock:
        response_count += 1
        wrong = response_count > CORRECT_RESPONSES and response_count % 3 == 0
        late = MODE.startswith("late-") and wrong
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
            chunk = connection.recv(65536)
            if not chunk:
                return
            received += chunk
            while b"\r\n\r\n" in received:
                head, _, rest = received.partition(b"\r\n\r\n")
                found = re.search(rb"Content-Length: (\d+)", head)
                length = int(found.group(1)) if found else 0
                if len(rest) < length:
                    break
                received = rest[length:]
                if not send_response(connection,
                              head.split(b" ")[1].decode(), rest[:length], b"Connection: close"
                              in head):
                    return


def serve_secure(context, connection):
    try:
        serve_connection(context.wrap_socket(connection, server_side=True))
    except OSError:
        pass  # a client that only probes the port


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
    """Returns the address, and the requests of the script, to be repeated."""
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


def exchange(connection, request):
    """Sends a request. Returns all bytes of the response, or none if it is incomplete."""
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received and (chunk := connection.recv(65536)):
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head).group(1)) if head else 1
    while len(body) < length and (chunk := connection.recv(1 << 20)):
        received += chunk
        body += chunk
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
            received = exchange(connection, requests[number % len(requests)])
            fault = "read_errors"
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
        if result["timeouts"] == TIMEOUTS_MAX or result["bytes"] > LOAD_BYTES:
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
