/* A handler of wire_server that connects its client to a server of the client's choice, like
 * CONNECT of a proxy: streams on both sides, with back-pressure in both directions. */
#include "wire_server.h"

#include <stdlib.h>
#include <string.h>

enum { CLIENT, SERVER, SIDES };

struct side {
    struct tunnel *tunnel;
    uvhttp_stream_t *stream; /* NULL: not connected yet, or closed */
    char *rejected;          /* for the other side, which was full */
    size_t rejected_size;
};

struct tunnel {
    struct side sides[SIDES];
};

static struct side *other(struct side *side)
{
    return &side->tunnel->sides[side == &side->tunnel->sides[CLIENT] ? SERVER : CLIENT];
}

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    struct side *side = arg;
    uvhttp_stream_t *to = other(side)->stream;
    if (size == 0 || to == NULL) {
        uvhttp_stream_end(stream);
        return;
    }
    if (uvhttp_stream_write(to, data, size) != UVHTTP_EFULL)
        return;
    app.rejected_writes++;
    uvhttp_stream_pause(stream);
    side->rejected = malloc(size);
    if (side->rejected == NULL)
        abort();
    memcpy(side->rejected, data, size);
    side->rejected_size = size;
}

static void on_drain(uvhttp_stream_t *stream, void *arg)
{
    struct side *from = other(arg);
    if (from->rejected == NULL ||
        uvhttp_stream_write(stream, from->rejected, from->rejected_size) != 0)
        abort();
    free(from->rejected);
    from->rejected = NULL;
    if (from->stream != NULL)
        uvhttp_stream_resume(from->stream);
    else
        uvhttp_stream_end(stream); /* end of data */
}

static void on_closed(uvhttp_stream_t *stream, void *arg)
{
    struct side *side = arg;
    uvhttp_stream_t *left = other(side)->stream;
    (void)stream;
    app.streams_closed++;
    side->stream = NULL;
    if (left != NULL && side->rejected == NULL)
        uvhttp_stream_end(left);
    else if (left == NULL) {
        free(side->rejected);
        free(other(side)->rejected);
        free(side->tunnel);
    }
}

static void on_connected(uvhttp_stream_t *stream, int status, void *arg)
{
    uvhttp_stream_t *client = other(arg)->stream;
    const char *text = status == 0 ? "connected\n" : uvhttp_error_name(status);
    (void)stream;
    if (client == NULL)
        return;
    if (uvhttp_stream_write(client, text, strlen(text)) != 0)
        abort();
    uvhttp_stream_resume(client);
}

static int tunnel(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const uvhttp_stream_events_t events = {
        .data = on_data, .drain = on_drain, .closed = on_closed};
    const char *host = uvhttp_request_query(req, "host");
    const char *port = uvhttp_request_query(req, "port");
    struct tunnel *made = calloc(1, sizeof *made);
    (void)arg;
    if (made == NULL || host == NULL || port == NULL)
        abort();
    for (int i = 0; i < SIDES; i++)
        made->sides[i].tunnel = made;
    struct side *client = &made->sides[CLIENT], *to = &made->sides[SERVER];
    int err = uvhttp_response_upgrade(res, "Echo/1", &events, client, &client->stream);
    if (err != 0) {
        free(made);
        return err;
    }
    uvhttp_stream_pause(client->stream);
    uvhttp_stream_set_backlog(client->stream, 10000);
    err = uvhttp_stream_connect(app.server, host, (int)strtol(port, NULL, 10), 0, on_connected,
                                &events, to, &to->stream);
    if (err != 0)
        uvhttp_stream_close(client->stream);
    return 0;
}

int add_tunnel(uvhttp_router_t *router)
{
    static const uvhttp_route_t route = {
        .method = "GET", .pattern = "/tunnel", .handler = tunnel, .upgrade = "Echo/1"};
    return uvhttp_router_add(router, &route);
}
