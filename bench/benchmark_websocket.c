/* benchmark_websocket [--workers N] [PORT]: the server of `./dev bench ws`, with the defaults of
 * the library, except for the memory of dedicated windows.
 *
 *     /echo             sends each message back
 *     /echo-deflate     the same, compressing with the worker's shared compressor
 *     /echo-dedicated   the same, with dedicated windows for each connection
 *     /topic            subscribes, and publishes messages to all other subscribers */
#include <uvhttp/topics.h>
#include <uvhttp/websocket.h>

#include "start_line.h"

#define MAX_CONNECTIONS 100000
/* Enough for dedicated windows on all connections. With the default limit only some would have
 * them, and an average over both kinds would be meaningless. */
#define WINDOW_MEMORY    ((size_t)4 << 30)
#define DEDICATED_WINDOW ((size_t)512 << 10)

static const char topic[] = "news";

static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                 size_t size, void *arg)
{
    (void)arg;
    uvhttp_websocket_send(ws, kind, data, size);
}

static void subscribe(uvhttp_websocket_t *ws, void *arg)
{
    if (uvhttp_websocket_subscribe(ws, arg, topic) != 0)
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_INTERNAL_ERROR, NULL);
}

static void publish(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                    size_t size, void *arg)
{
    uvhttp_websocket_publish(ws, arg, topic, kind, data, size);
}

static int add_routes(uvhttp_server_t *server)
{
    uvhttp_websocket_options_t plain = {.events.message = echo};
    uvhttp_websocket_options_t shared = {.events.message = echo,
                                         .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED};
    uvhttp_websocket_options_t dedicated = {.events.message = echo,
                                            .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED,
                                            .memory_per_connection = DEDICATED_WINDOW,
                                            .memory = WINDOW_MEMORY};
    uvhttp_websocket_options_t many = {.events = {.open = subscribe, .message = publish}};
    uvhttp_topics_t *topics;
    int err = uvhttp_topics_new(&topics, server, NULL, NULL);
    many.arg = topics;
    if (err == 0)
        err = uvhttp_websocket_route(server, "/echo", &plain, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/echo-deflate", &shared, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/echo-dedicated", &dedicated, NULL);
    return err != 0 ? err : uvhttp_websocket_route(server, "/topic", &many, NULL);
}

int main(int argc, char **argv)
{
    int workers, port;
    if (!read_arguments("benchmark_websocket", "", argc, argv, &workers, &port))
        return 2;
    print_build("benchmark_websocket");
    uvhttp_server_t *server = new_server(workers, MAX_CONNECTIONS);
    int err = server == NULL ? UVHTTP_ENOMEM : add_routes(server);
    return run_server("benchmark_websocket", server, err, port);
}
