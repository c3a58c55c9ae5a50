/* Life cycle of a stream, which is that of its exchange. */
#include "h2/h2.h"

#include <string.h>

static struct uvh_h2_stream **bucket(const struct uvh_h2 *h2, uint32_t id)
{
    struct uvh_h2 *owner = (struct uvh_h2 *)(uintptr_t)h2;
    return &owner->table[(id >> 1) & (UVH_H2_BUCKETS - 1)]; /* ids of clients are odd */
}

struct uvh_h2_stream *uvh_h2_find(const struct uvh_h2 *h2, uint32_t id)
{
    struct uvh_h2_stream *stream = *bucket(h2, id);
    while (stream != NULL && stream->id != id)
        stream = stream->next;
    return stream;
}

void uvh_h2_stream_open(struct uvh_h2_stream *stream)
{
    struct uvh_h2_stream **first = bucket(stream->h2, stream->id);
    stream->next = *first;
    *first = stream;
    stream->closed = false;
}

void uvh_h2_stream_close(struct uvh_h2_stream *stream)
{
    if (stream->closed)
        return;
    struct uvh_h2_stream **link = bucket(stream->h2, stream->id);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream->closed = true;
    stream->h2->consumed += stream->held;
    stream->held = 0;
    uvh_h2_unready(stream);
    uvh_list_remove(&stream->waiting);
}

/* ---- ends ---- */

struct uvh_h2_recent *uvh_h2_recent(struct uvh_h2 *h2, uint32_t id)
{
    for (size_t i = 0; i < h2->recent_count; i++) {
        if (h2->recent[i].id == id)
            return &h2->recent[i];
    }
    return NULL;
}

/* Ignores late frames of a stream from now on. The oldest one of these is forgotten. */
static void remember(struct uvh_h2 *h2, uint32_t id, uint32_t left)
{
    struct uvh_h2_recent *slot = &h2->recent[h2->next_recent++ % h2->recent_count];
    if (slot->left > 0)
        uvh_h2_send_reset(h2, slot->id, UVH_H2_NO_ERROR);
    *slot = (struct uvh_h2_recent){id, left};
}

/* A client may not read the response before it has sent its body, so some of that is discarded (RFC
 * 9113 section 8.1). Some clients take an immediate reset for a failure of the response. */
static void end_request(struct uvh_h2_stream *stream)
{
    uint32_t left = UVH_H2_DISCARDED_BODY;
    if (stream->receive_window < UVH_H2_DISCARDED_BODY)
        left = stream->receive_window > 0 ? (uint32_t)stream->receive_window : 0;
    if (left == 0)
        uvh_h2_send_reset(stream->h2, stream->id, UVH_H2_NO_ERROR);
    remember(stream->h2, stream->id, left);
}

void uvh_h2_stream_discount(struct uvh_h2_stream *stream)
{
    if (stream->counted)
        stream->h2->active--;
    stream->counted = false;
}

void uvh_h2_complete(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    uvh_exchange_ref(base);
    if (!stream->closed && !stream->ended)
        end_request(stream);
    uvh_h2_stream_close(stream);
    uvh_h2_stream_discount(stream);
    if (stream->tunnel != NULL)
        uvh_h2_tunnel_closed(stream);
    else
        uvh_exchange_finish(base, false);
    uvh_exchange_unref(base);
}

/* There is no request, so no handler to notify. */
static void drop(struct uvh_exchange *base)
{
    uvh_exchange_ref(base);
    base->finished = true;
    uvh_exchange_unref(base);
}

void uvh_h2_abort(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    uvh_h2_stream_close(stream);
    uvh_h2_stream_discount(stream);
    if (stream->tunnel != NULL)
        uvh_h2_tunnel_closed(stream);
    else if (base->finished)
        return;
    else if (base->began == 0 && base->response.state == UVH_RESPONSE_OPEN)
        drop(base);
    else
        uvh_exchange_finish(base, true);
}

void uvh_h2_abort_all(struct uvh_h2 *h2)
{
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &h2->streams);
    uvh_h2_ref(h2);
    while (!uvh_list_empty(&batch)) {
        struct uvh_h2_stream *stream =
            UVH_CONTAINER_OF(uvh_list_take(&batch), struct uvh_h2_stream, link);
        uvh_list_append(&h2->streams, &stream->link);
        uvh_h2_abort(stream);
    }
    uvh_h2_unref(h2);
}

void uvh_h2_reset_id(struct uvh_h2 *h2, uint32_t id, enum uvh_h2_error error)
{
    if (id > h2->last_stream) { /* RFC 9113 section 6.4: an idle stream cannot be reset */
        uvh_h2_fail(h2, error, "a frame of an idle stream is malformed");
        return;
    }
    uvh_h2_send_reset(h2, id, error);
    remember(h2, id, 0);
    uvh_h2_count_reset(h2);
}

void uvh_h2_reset(struct uvh_h2_stream *stream, enum uvh_h2_error error)
{
    struct uvh_h2 *h2 = stream->h2;
    uint32_t id = stream->id;
    bool open = !stream->closed;
    uvh_h2_ref(h2);
    uvh_exchange_ref(&stream->base);
    if (open) {
        uvh_h2_send_reset(h2, id, error);
        remember(h2, id, 0);
    }
    uvh_h2_abort(stream);
    uvh_exchange_unref(&stream->base);
    /* what the server decides by itself is no fault of the client */
    if (open && error != UVH_H2_INTERNAL_ERROR && error != UVH_H2_CANCEL)
        uvh_h2_count_reset(h2);
    uvh_h2_unref(h2);
}

/* ---- timeouts ---- */

/* The handler is running: the handler timeout applies until it responds, then none. */
static void set_waiting(struct uvh_exchange *base, bool progress)
{
    const struct uvhttp_response *response = &base->response;
    bool incomplete = base->request.on_body != NULL && base->request.body_paused;
    if (response->heartbeat && response->state == UVH_RESPONSE_BEGUN)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_HEARTBEAT, progress);
    else if (uvhttp_response_open(response) && !incomplete)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_HANDLER, false);
    else
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_NONE, false);
}

void uvh_h2_set_timeout(struct uvh_h2_stream *stream, bool progress)
{
    struct uvh_exchange *base = &stream->base;
    bool begun = base->response.state == UVH_RESPONSE_BEGUN;
    bool has_output = uvh_h2_has_output(stream);
    bool reads = stream->body_state != UVH_H2_BODY_KEEP && !stream->ended;
    if (base->finished && stream->tunnel == NULL)
        return;
    if (stream->tunnel != NULL) {
        bool waits = has_output && stream->stalled;
        uvh_exchange_set_timeout(
            base, waits ? UVH_EXCHANGE_TIMEOUT_WRITE : UVH_EXCHANGE_TIMEOUT_NONE, false);
        return;
    }
    if (base->response.pace != NULL && (has_output || (begun && base->response.wants_drain)) &&
        uvh_exchange_allowed(base) == 0)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_PACE, false);
    else if (has_output && stream->stalled)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_WRITE, false);
    else if (has_output)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_NONE, false);
    else if (reads && !base->request.body_paused)
        uvh_exchange_set_timeout(base, UVH_EXCHANGE_TIMEOUT_BODY, progress);
    else
        set_waiting(base, progress);
}
