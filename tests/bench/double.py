#!/usr/bin/python3
"""A test double for the programs that a benchmark starts. Tests start it by links with their names.

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
import pathlib
import re
import socket
import ssl
import sys
import time
import urllib.parse

from double_common import MODE, NAME, Handler, next_mode, run_server

LOAD_REQUESTS = 120
LOAD_BYTES = 10_000_000  # limit for large responses
# Correct responses of a "late" server, more than the verification before a run needs. Then every
# third is wrong.
CORRECT_RESPONSES, EVERY = 40, 3
# Timeout of wrk. On a busy machine a correct server may be slow, so it is long.
WAIT_SECONDS = 0.2 if MODE == "late-stall" else 60
TIMEOUTS_MAX = 3  # after which the load ends


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def content(path, request_body):
    if NAME == "floor":
        if option("--mix"):
            return (pathlib.Path(option("--mix")).parent / path.lstrip("/")).read_bytes()
        return pathlib.Path(option("--file") or option("--read")).read_bytes()
    if path == "/":
        return b"Hello, world\n"
    if path == "/json":
        return b'{"message":"Hello, world"}'
    if path == "/post":
        return request_body
    return (pathlib.Path(sys.argv[2]) / path.lstrip("/")).read_bytes()


def is_coded(path):
    """Like `uvhttp serve --precompressed` for clients with gzip, which request only these paths,
    and `floor --gzip`."""
    return "--gzip" in sys.argv or "--precompressed" in sys.argv and path.startswith("/encoded/")


class Connection(Handler):
    def do_GET(self):
        request_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        mode = next_mode(CORRECT_RESPONSES, EVERY)
        coded = is_coded(self.path)
        body = content(self.path + ".gz" if coded else self.path, request_body)
        half = body[:len(body) // 2]
        body = {"truncate": half, "content": body[::-1]}.get(mode, body)
        fields = "Connection: close\r\n" * self.close_connection
        fields += "Content-Encoding: gzip\r\n" * coded
        head = (f"HTTP/1.1 {500 if mode == 'status' else 200} X\r\n"
                f"Content-Length: {len(body)}\r\n{fields}\r\n").encode()
        if mode not in ("close", "stall"):
            self.wfile.write(head + (half if mode == "cut" else body))
        if mode in ("close", "cut"):
            self.close_connection = True

    do_POST = do_GET


def serve(port):
    certificate, context = option("--tls") or option("--tls-cert"), None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if MODE == "tls-1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
    run_server(Connection, port, context)


def requests_of(url):
    """Returns the address, and the requests of the script, to be repeated."""
    parts = urllib.parse.urlsplit(url)
    script = pathlib.Path(option("-s") or "").name
    arguments = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    fields = [value for word, value in zip(sys.argv, sys.argv[1:]) if word == "-H"]
    if NAME == "tls_load":
        fields.append("Connection: close")
    method, body, paths = "GET", b"", [parts.path]
    if script == "post.lua":
        method, body = "POST", pathlib.Path(arguments[0]).read_bytes()
        fields.append(f"Content-Length: {len(body)}")
    elif script == "mix.lua":
        paths = [arguments[1] + name for name in pathlib.Path(arguments[0]).read_text().split()]
    head = "\r\n".join([f"Host: {parts.netloc}", *fields, "", ""])
    requests = [f"{method} {path} HTTP/1.1\r\n{head}".encode() + body for path in paths]
    return (parts.hostname, parts.port), requests


def exchange(connection, request):
    """Sends a request. Returns all bytes of the response, or none if it is incomplete."""
    connection.sendall(request)
    with connection.makefile("rb") as stream:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return b""
            head += line
        length = int(re.search(rb"Content-Length: (\d+)", head)[1])
        body = stream.read(length)
    return head + body if len(body) == length else b""


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
    if NAME == "tls_load":
        load(f"https://127.0.0.1:{sys.argv[1]}{sys.argv[2]}")
    elif NAME == "wrk" and "-v" in sys.argv:
        print("wrk double")
    elif NAME == "wrk":
        load(next(word for word in sys.argv if word.startswith("http")))
    else:
        serve(int(option("--port") or 0))


if __name__ == "__main__":
    main()
