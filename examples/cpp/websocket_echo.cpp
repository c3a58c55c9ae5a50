/* WebSocket echo: sends every message back. With a certificate and its key, over TLS (wss://).
 *
 *     python3 -m websockets ws://127.0.0.1:8080/echo
 *
 * Usage: websocket_echo [PORT [CERTIFICATE KEY]]
 */
#include <cstdio>
#include <stdlib.h>
#include <string>

#include <uvhttp.hpp>
#include <uvhttp/websocket.hpp>

using uvhttp::Result, uvhttp::WebSocket, uvhttp::WebSocketKind;

struct Echo {
    void message(WebSocket ws, WebSocketKind kind, std::string_view data)
    {
        /* Queued: the client reads too slowly, so stop reading from it until the queue drains. */
        if (ws.send(kind, data).queued())
            ws.pause();
    }
    void drain(WebSocket ws) { ws.resume(); }
};

int main(int argc, char **argv)
{
    if (argc == 3) {
        std::fprintf(stderr, "usage: websocket_echo [PORT [CERTIFICATE KEY]]\n");
        return 2;
    }
    uvhttp::Server server;
    server.webSocket("/echo", Echo(),
                     {.maxMessageSize = 16 * 1024 * 1024,
                      .maxQueueSize = 32 * 1024 * 1024,
                      .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED});
    const int port = argc > 1 ? std::stoi(argv[1]) : 8080;
    const bool tls = argc > 3;
    if (tls) {
        const uvhttp::TlsCertificate certificates[] = {
            {.certificateFile = argv[2], .keyFile = argv[3]}};
        server.listenTls("127.0.0.1", port, uvhttp::Tls({.certificates = certificates}));
    } else {
        server.listen("127.0.0.1", port);
    }
    server.stopOnSignals();
    if (!server.error()) {
        std::printf("listening on %s://127.0.0.1:%d/echo\n", tls ? "wss" : "ws", server.port());
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}
