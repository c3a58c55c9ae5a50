/* WebSocket: sends every message back.
 *
 *     python3 -m websockets ws://127.0.0.1:8080/echo
 *
 * Usage: websocket_echo [PORT]
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
        /* UVHTTP_EFULL: taken, but its client does not read, so we do not read from it until it does. */
        if (ws.send(kind, data) == UVHTTP_EFULL)
            ws.pause();
    }
    void drain(WebSocket ws) { ws.resume(); }
};

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.webSocket("/echo", Echo(),
                     {.maxMessageSize = 16 * 1024 * 1024,
                      .maxQueueSize = 32 * 1024 * 1024,
                      .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED});
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (!server.error()) {
        std::printf("listening on ws://127.0.0.1:%d/echo\n", server.port());
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s: %s\n", server.where(), error.text());
        return 1;
    }
}
