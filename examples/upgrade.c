/* A custom protocol after an HTTP upgrade: the server sends each line back in capitals.
 *
 *     curl -sS -i http://127.0.0.1:8080/shout
 *     printf %b 'GET /shout HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n' \
 *         'Upgrade: shout\r\n\r\nhello\n' | nc -q 1 127.0.0.1 8080
 *
 * The first command does not offer the protocol and gets 426. For messages in a browser there is
 * WebSocket.
 *
 * Usage: upgrade [PORT] */
#include <ctype.h>
#include <stdlib.h>

#include <uvhttp.h>

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    char capitals[512];
    (void)arg;
    if (size == 0) { /* the client has ended its side */
        uvhttp_stream_end(stream);
        return;
    }
    while (size > 0) {
        size_t count = size < sizeof(capitals) ? size : sizeof(capitals);
        for (size_t i = 0; i < count; i++)
            capitals[i] = (char)toupper((unsigned char)data[i]);
        if (uvhttp_stream_write(stream, capitals, count) != 0) { /* the client does not read */
            uvhttp_stream_close(stream);
            return;
        }
        data += count;
        size -= count;
    }
}

static void on_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream;
    (void)arg;
    puts("one has left");
    fflush(stdout);
}

static int shout(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    uvhttp_stream_t *stream;
    (void)req;
    (void)arg;
    return uvhttp_response_upgrade(res, "shout", &events, NULL, &stream);
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_route_t route = {
        .method = "GET", .pattern = "/shout", .handler = shout, .upgrade = "shout"};
    uvhttp_router_add(uvhttp_server_router(server), &route);
    return uvhttp_server_main(server, "127.0.0.1",
                              argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080);
}
