/* WebSocket echo: sends every message back. With a certificate and its key, over TLS (wss://).
 *
 *     python3 -m websockets ws://127.0.0.1:8080/echo
 *
 * Usage: websocket_echo [PORT [CERTIFICATE KEY]]
 */
#include <stdlib.h>

#include <uvhttp.h>
#include <uvhttp/websocket.h>

static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                 size_t size, void *arg)
{
    /* Queued: the client reads too slowly, so stop reading from it until the queue drains. */
    if (uvhttp_websocket_send(ws, kind, data, size) == UVHTTP_QUEUED)
        uvhttp_websocket_pause(ws);
}

static void on_drain(uvhttp_websocket_t *ws, void *arg)
{
    uvhttp_websocket_resume(ws);
}

/* Listens on 127.0.0.1. `files`: a certificate and its key, or NULL for plain text. */
static int start_listening(uvhttp_server_t *server, int port, char **files)
{
    if (files == NULL)
        return uvhttp_server_listen(server, "127.0.0.1", port);
    const uvhttp_tls_certificate_t certificate = {.certificate_file = files[0],
                                                  .key_file = files[1]};
    const uvhttp_tls_options_t config = {.certificates = &certificate, .certificate_count = 1};
    uvhttp_tls_t *tls;
    uvhttp_error_t error;
    int err = uvhttp_tls_new(&tls, &config, &error);
    if (err != 0)
        fprintf(stderr, "%s\n", error.text);
    else
        err = uvhttp_server_listen_tls(server, "127.0.0.1", port, tls);
    uvhttp_tls_free(tls); /* the server holds a reference */
    return err;
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        fprintf(stderr, "usage: websocket_echo [PORT [CERTIFICATE KEY]]\n");
        return 2;
    }
    const char *port = argc > 1 ? argv[1] : "8080";
    char **files = argc > 3 ? argv + 2 : NULL;
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* refuses "80a"; 0 would be any free port */
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_websocket_options_t options = {
        .events = {.message = echo, .drain = on_drain},
        .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED,
        .max_message_size = 16 * 1024 * 1024,
        .max_queue_size = 32 * 1024 * 1024,
    };
    int err = uvhttp_websocket_route(server, "/echo", &options, NULL);
    if (err == 0 && (err = start_listening(server, number, files)) != 0)
        fprintf(stderr, "port %s: ", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on %s://127.0.0.1:%d/echo\n", files == NULL ? "ws" : "wss",
               uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
