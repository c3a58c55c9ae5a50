"""http_server.py SITE: the server on Python's http.server that `./dev bench http` compares with.

ThreadingHTTPServer with HTTP/1.1, its log off, TCP_NODELAY on and the output buffered; its own file handler.
"""

import functools
import http.server
import json
import sys

TEXT = b"Hello, world\n"


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536

    def log_message(self, *_):
        pass

    def end_headers(self):
        if self.close_connection:
            self.send_header("Connection", "close")
        super().end_headers()

    def send(self, content_type, body):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/memory":
            self.send("text/plain", TEXT)
        elif self.path == "/json":
            self.send("application/json", json.dumps({"message": "Hello, world"}, separators=(",", ":")).encode())
        else:
            super().do_GET()

    def do_POST(self):
        self.send("application/octet-stream", self.rfile.read(int(self.headers["Content-Length"])))


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096


def main():
    with Server(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1])) as server:
        print(f"listening on http://127.0.0.1:{server.server_address[1]}/", flush=True)
        server.serve_forever()


main()
