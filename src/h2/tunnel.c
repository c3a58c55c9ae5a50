/* A stream of HTTP/2 as the carrier of an upgraded stream (RFC 8441): what an extended CONNECT
 * opens. The exchange is finished, but lives until the tunnel has ended. */
#include <string.h>

#include <uvhttp/error.h>

#include "h2/h2.h"

static struct uvh_h2_stream *stream_of(const struct uvh_tunnel *tunnel)
{
    return UVH_CONTAINER_OF((struct uvh_tunnel *)(uintptr_t)tunnel, struct uvh_h2_tunnel, base)
        ->carrier;
}

/* ---- operations ---- */

static bool is_ended(const struct uvh_tunnel *tunnel)
{
    const struct uvh_h2_stream *stream = stream_of(tunnel);
    return stream->closed || stream->ending;
}

static int queue_areas(struct uvh_h2_stream *stream, const uvhttp_slice_t *areas, size_t count)
{
    struct uvh_queue *queue = stream->queue;
    size_t before = uvh_queue_size(queue);
    for (size_t i = 0; i < count; i++) {
        if (areas[i].length > 0 && uvh_queue_append(queue, areas[i].base, areas[i].length) != 0) {
            queue->bytes.length = queue->begin + before;
            return UVHTTP_ENOMEM;
        }
    }
    stream->h2->queued += uvh_queue_size(queue) - before;
    uvh_h2_ready(stream);
    uvh_h2_set_timeout(stream, false);
    return 0;
}

/* Frames are made at the end of the event, of all that was written in it. */
static int write_areas(struct uvh_tunnel *tunnel, const uvhttp_slice_t *areas, size_t count)
{
    struct uvh_h2_stream *stream = stream_of(tunnel);
    struct uvh_conn *conn = tunnel->conn;
    uvh_exchange_ref(&stream->base);
    uvh_conn_event_begin(conn);
    int err = queue_areas(stream, areas, count);
    uvh_conn_event_end(conn);
    if (err == 0 && stream->tunnel == NULL)
        err = UVHTTP_EDISCONNECTED;
    uvh_exchange_unref(&stream->base);
    return err;
}

static size_t pending(const struct uvh_tunnel *tunnel)
{
    return uvh_h2_queued(stream_of(tunnel));
}

static bool is_blocked(const struct uvh_tunnel *tunnel)
{
    const struct uvh_h2_stream *stream = stream_of(tunnel);
    return !tunnel->conn->socket.writable || uvh_h2_allowed(stream) == 0;
}

static void changed(struct uvh_tunnel *tunnel)
{
    struct uvh_h2_stream *stream = stream_of(tunnel);
    uvh_h2_wait(stream);
}

static void end(struct uvh_tunnel *tunnel)
{
    struct uvh_exchange *base = &stream_of(tunnel)->base;
    uvh_exchange_ref(base);
    uvh_h2_end_stream(stream_of(tunnel));
    uvh_exchange_unref(base);
}

static void close_tunnel(struct uvh_tunnel *tunnel)
{
    uvh_h2_reset(stream_of(tunnel), UVH_H2_CANCEL);
}

static const struct uvh_tunnel_functions functions = {
    .is_ended = is_ended,
    .write = write_areas,
    .pending = pending,
    .is_blocked = is_blocked,
    .changed = changed,
    .end = end,
    .close = close_tunnel,
};

/* ---- receiving ---- */

bool uvh_h2_tunnel_is_due(const struct uvh_h2_stream *stream)
{
    const struct uvhttp_stream *user = stream->tunnel->base.stream;
    bool input = uvh_queue_size(&stream->body) > 0 || (stream->ended && !stream->end_delivered);
    return (input && !user->paused) || (user->wants_drain && !uvh_h2_has_output(stream));
}

/* The stream may be closed after this call. */
static void deliver(struct uvh_h2_stream *stream, char *data, size_t size)
{
    struct uvhttp_stream *user = stream->tunnel->base.stream;
    if (size > 0)
        uvh_h2_consume(stream, (uint32_t)size);
    if (stream->tunnel != NULL && !stream->ending) /* afterwards input is discarded */
        user->events.data(user, data, size, user->arg);
}

static void deliver_end(struct uvh_h2_stream *stream)
{
    char nothing = 0;
    stream->end_delivered = true;
    deliver(stream, &nothing, 0);
}

void uvh_h2_tunnel_receive(struct uvh_h2_stream *stream, char *data, size_t size)
{
    const struct uvhttp_stream *user = stream->tunnel->base.stream;
    bool held = user->paused || user->starting || uvh_queue_size(&stream->body) > 0;
    if (!held) {
        deliver(stream, data, size);
    } else if (uvh_queue_append(&stream->body, data, size) != 0) {
        uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
    }
}

void uvh_h2_tunnel_peer_ended(struct uvh_h2_stream *stream)
{
    const struct uvhttp_stream *user = stream->tunnel->base.stream;
    if (!user->paused && !user->starting && uvh_queue_size(&stream->body) == 0)
        deliver_end(stream);
}

/* In a later loop iteration: what was held back, or `drain`. */
void uvh_h2_tunnel_continue(struct uvh_h2_stream *stream)
{
    struct uvhttp_stream *user = stream->tunnel->base.stream;
    if (uvh_queue_size(&stream->body) > 0 && !user->paused) {
        struct uvh_queue input = stream->body;
        uvh_queue_init(&stream->body, input.bytes.allocator);
        deliver(stream, uvh_queue_front(&input), uvh_queue_size(&input));
        uvh_queue_release(&input);
    } else if (stream->ended && !stream->end_delivered && !user->paused) {
        deliver_end(stream);
    } else if (user->wants_drain && !uvh_h2_has_output(stream)) {
        user->wants_drain = false;
        if (user->events.drain != NULL)
            user->events.drain(user, user->arg);
    }
    if (stream->tunnel != NULL && uvh_h2_tunnel_is_due(stream))
        changed(&stream->tunnel->base);
}

/* ---- begin and end ---- */

int uvh_h2_upgrade(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    struct uvh_h2_tunnel *tunnel = uvh_arena_alloc(&base->arena, sizeof(*tunnel));
    struct uvh_queue *queue = uvh_h2_queue_new(stream);
    if (stream->closed)
        return UVHTTP_EDISCONNECTED;
    if (!base->request.framing.upgrade)
        return UVHTTP_EINVAL;
    if (tunnel == NULL || queue == NULL)
        return UVHTTP_ENOMEM;
    base->response.status = 200; /* RFC 8441 section 5: in place of 101 */
    uvh_conn_event_begin(conn);
    int err = uvh_h2_fields_put(stream, false, 0);
    if (err == 0) {
        *tunnel = (struct uvh_h2_tunnel){.base = {.functions = &functions, .conn = conn},
                                         .carrier = stream};
        stream->tunnel = tunnel;
        stream->queue = queue;
        uvh_stream_begin_tunnel(base->response.stream, &tunnel->base);
        changed(&tunnel->base); /* the client may have sent bytes already */
        uvh_exchange_ref(base);
        uvh_exchange_finish(base, false);
    }
    uvh_conn_event_end(conn);
    return err;
}

void uvh_h2_tunnel_closed(struct uvh_h2_stream *stream)
{
    struct uvhttp_stream *user = stream->tunnel->base.stream;
    struct uvh_exchange *base = &stream->base;
    uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_NONE, false);
    stream->tunnel = NULL;
    if (user->starting) { /* uvhttp_response_upgrade frees it */
        uvh_list_remove(&user->link);
        user->carrier = UVH_CARRIER_NONE;
    } else {
        uvh_stream_closed(user, stream->h2->conn->shared);
    }
    uvh_exchange_unref(base);
}
