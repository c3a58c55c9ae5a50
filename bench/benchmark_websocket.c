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

static void add_routes(uvhttp_server_t *server)
{
    uvhttp_error_t error;
    uvhttp_topics_t *topics;
    if (uvhttp_topics_new(&topics, server, NULL, &error) != 0)
        errx(1, "%s", error.text);
    const struct {
        const char *pattern;
        uvhttp_websocket_options_t options;
    } routes[] = {
        {"/echo", {.events.message = echo}},
        {"/echo-deflate",
         {.events.message = echo, .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED}},
        {"/echo-dedicated",
         {.events.message = echo,
          .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED,
          .memory_per_connection = DEDICATED_WINDOW,
          .memory = WINDOW_MEMORY}},
        {"/topic", {.events = {.open = subscribe, .message = publish}, .arg = topics}},
    };
    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
        if (uvhttp_websocket_route(server, routes[i].pattern, &routes[i].options, &error) != 0)
            errx(1, "%s: %s", routes[i].pattern, error.text);
}

int main(int argc, char **argv)
{
    int port;
    uvhttp_config_t *config = read_arguments(argc, argv, &port);
    config->max_connections = MAX_CONNECTIONS;
    uvhttp_server_t *server = new_server(config);
    add_routes(server);
    return run_server(server, port);
}
