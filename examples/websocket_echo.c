/* WebSocket: sends every message back.
 *
 *     python3 -m websockets ws://127.0.0.1:8080/echo
 *
 * Usage: websocket_echo [PORT]
 */
#include <stdlib.h>

#include <uvhttp.h>
#include <uvhttp/websocket.h>

static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data, size_t size,
                 void *arg)
{
    /* UVHTTP_EFULL: taken, but its client does not read, so we do not read from it until it does. */
    if (uvhttp_websocket_send(ws, kind, data, size) == UVHTTP_EFULL)
        uvhttp_websocket_pause(ws);
}

static void go_on(uvhttp_websocket_t *ws, void *arg)
{
    uvhttp_websocket_resume(ws);
}

int main(int argc, char **argv)
{
    const char *port = argc > 1 ? argv[1] : "8080";
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* "80a" is no port, and 0 would be any */
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_websocket_options_t options = {
        .events = {.message = echo, .drain = go_on},
        .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED,
        .max_message_size = 16 * 1024 * 1024,
        .max_queue_size = 32 * 1024 * 1024,
    };
    int err = uvhttp_websocket_route(server, "/echo", &options);
    if (err == 0 && (err = uvhttp_server_listen(server, "127.0.0.1", number)) != 0)
        fprintf(stderr, "port %s: ", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on ws://127.0.0.1:%d/echo\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
