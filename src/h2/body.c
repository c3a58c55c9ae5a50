/* Request bodies and trailers: from DATA frames to the handler, as a whole or streamed.
 *
 * The client's windows are opened again as bytes are consumed: collected, or delivered to a handler
 * that reads. Bytes for a handler that does not read are kept, up to the window. */
#include <string.h>

#include <uvhttp/error.h>

#include "h2/h2.h"

/* ---- windows ---- */

/* True when so many bytes are consumed that the client should be told. */
static bool is_due(uint32_t consumed, size_t window)
{
    return consumed >= window / 2;
}

void uvh_h2_consume(struct uvh_h2 *h2, struct uvh_h2_stream *stream, uint32_t size)
{
    const uvhttp_config_t *config = uvh_h2_config(h2);
    if (size == 0 || h2->failed)
        return;
    h2->consumed += size;
    if (is_due(h2->consumed, config->http2_connection_window)) {
        h2->receive_window += (int32_t)h2->consumed;
        uvh_h2_send_window_update(h2, 0, h2->consumed);
        h2->consumed = 0;
    }
    if (stream == NULL || stream->ended || stream->closed)
        return;
    stream->consumed += size;
    if (is_due(stream->consumed, config->http2_stream_window)) {
        stream->receive_window += (int32_t)stream->consumed;
        uvh_h2_send_window_update(h2, stream->id, stream->consumed);
        stream->consumed = 0;
    }
}

/* ---- the start ---- */

static void pay_continue(struct uvh_h2_stream *stream)
{
    bool owed = stream->continue_owed && stream->base.response.state == UVH_RESPONSE_OPEN;
    stream->continue_owed = false;
    if (owed && !stream->closed)
        uvh_h2_fields_put_interim(stream, 100, false);
}

static void run_exchange(struct uvh_h2_stream *stream)
{
    uvh_exchange_run(&stream->base);
}

static size_t kept(const struct uvh_h2_stream *stream)
{
    return stream->body.length - stream->body_begin;
}

static void body_complete(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    /* refused, or ended with the connection: the handler must not run */
    bool over = base->finished || base->response.state != UVH_RESPONSE_OPEN;
    if (stream->body_complete || over)
        return;
    stream->body_complete = true;
    if (stream->body.length > 0)
        base->request.body = (uvhttp_slice_t){stream->body.data, stream->body.length};
    run_exchange(stream);
}

static void refuse_too_large(struct uvh_h2_stream *stream)
{
    uvh_h2_reject(stream, 413, "the body is too large for this resource");
}

/* Collects from now on, also what was held back. */
static void start_collecting(struct uvh_h2_stream *stream)
{
    uint32_t size = stream->held;
    stream->body_state = UVH_H2_BODY_COLLECT;
    stream->held = 0;
    if (size > stream->body_space) {
        refuse_too_large(stream);
        return;
    }
    stream->body_space -= size;
    uvh_h2_consume(stream->h2, stream, size);
    if (stream->ended)
        body_complete(stream);
    else
        pay_continue(stream);
}

void uvh_h2_body_start(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    const uvhttp_framing_t *framing = &base->request.framing;
    uint64_t size = framing->body == UVHTTP_BODY_LENGTH ? framing->content_length : 0;
    bool none = framing->body == UVHTTP_BODY_NONE ||
                (framing->body == UVHTTP_BODY_LENGTH && size == 0 && stream->ended);
    bool routed = base->match.route != NULL;
    uint64_t limit = routed ? uvh_exchange_body_limit(base) : 0;
    stream->body_space = limit;
    if (none)
        stream->body_complete = true;
    if (routed && size > limit)
        refuse_too_large(stream);
    else if (none || !routed || uvh_exchange_streams_body(base)) /* 404 and 405 need no body */
        run_exchange(stream);
    else
        start_collecting(stream);
}

void uvh_h2_body_admitted(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    if (stream->closed)
        return;
    uvh_conn_event_begin(conn);
    uvh_exchange_ref(base);
    uvh_h2_body_start(stream);
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(base);
    uvh_conn_event_end(conn);
}

/* ---- delivery ---- */

static void deliver_end(struct uvh_h2_stream *stream)
{
    if (stream->end_delivered)
        return;
    stream->end_delivered = stream->body_complete = true;
    uvh_exchange_deliver(&stream->base, "", 0);
}

static bool is_read(const struct uvh_h2_stream *stream)
{
    return stream->body_state == UVH_H2_BODY_STREAM && !stream->base.request.body_paused &&
           !stream->base.finished;
}

bool uvh_h2_body_is_due(const struct uvh_h2_stream *stream)
{
    if (stream->body_state == UVH_H2_BODY_COLLECT)
        return stream->held > 0 || (stream->ended && !stream->body_complete);
    return is_read(stream) && (kept(stream) > 0 || (stream->ended && !stream->end_delivered));
}

/* False: the stream has ended. */
static bool deliver(struct uvh_h2_stream *stream, const char *data, size_t size)
{
    if (size > stream->body_space) {
        refuse_too_large(stream);
        return false;
    }
    stream->body_space -= size;
    uvh_h2_consume(stream->h2, stream, (uint32_t)size);
    uvh_exchange_deliver(&stream->base, data, size);
    return !stream->base.finished && !stream->closed;
}

/* As much as a read of HTTP/1.1 would deliver at a time: then the handler may pause. */
static void deliver_kept(struct uvh_h2_stream *stream)
{
    struct uvh_bytes *body = &stream->body;
    size_t most = uvh_h2_config(stream->h2)->buffer_size;
    bool open = true;
    while (open && is_read(stream) && kept(stream) > 0) {
        size_t size = kept(stream) < most ? kept(stream) : most;
        const char *data = body->data + stream->body_begin;
        stream->body_begin += (uint32_t)size;
        stream->held -= (uint32_t)size;
        open = deliver(stream, data, size);
    }
    if (kept(stream) == 0) {
        uvh_bytes_release(body);
        stream->body_begin = 0;
    }
}

void uvh_h2_body_deliver(struct uvh_h2_stream *stream)
{
    uvh_exchange_ref(&stream->base);
    if (stream->body_state == UVH_H2_BODY_COLLECT)
        start_collecting(stream);
    else
        deliver_kept(stream);
    if (is_read(stream) && stream->ended && kept(stream) == 0)
        deliver_end(stream);
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(&stream->base);
}

/* ---- receiving ---- */

static void keep(struct uvh_h2_stream *stream, const char *data, size_t size)
{
    if (uvh_bytes_append(&stream->body, data, size) != 0)
        uvh_h2_reject(stream, 503, uvhttp_strerror(UVHTTP_ENOMEM));
}

/* Keeps bytes that are not returned to the client's windows yet. */
static void hold(struct uvh_h2_stream *stream, const char *data, size_t size)
{
    stream->held += (uint32_t)size;
    keep(stream, data, size);
}

static void collect(struct uvh_h2_stream *stream, char *data, size_t size, bool whole)
{
    struct uvh_conn *conn = stream->h2->conn;
    if (size > stream->body_space) {
        refuse_too_large(stream);
        return;
    }
    stream->body_space -= size;
    whole = whole && stream->body.length == 0;
    uvh_h2_consume(stream->h2, whole ? NULL : stream, (uint32_t)size);
    if (whole && (stream->pinned = uvh_receive_pin(conn)) != NULL)
        stream->base.request.body = (uvhttp_slice_t){data, size};
    else
        keep(stream, data, size);
}

void uvh_h2_body_take(struct uvh_h2_stream *stream, char *data, size_t size, bool whole)
{
    const uvhttp_framing_t *framing = &stream->base.request.framing;
    bool has_length = framing->body == UVHTTP_BODY_LENGTH;
    stream->body_received += size;
    uvh_exchange_ref(&stream->base);
    if (stream->tunnel != NULL) {
        uvh_h2_tunnel_receive(stream, data, size);
    } else if (has_length && stream->body_received > framing->content_length) {
        uvh_h2_consume(stream->h2, NULL, (uint32_t)size);
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    } else if (stream->body_state == UVH_H2_BODY_COLLECT && !stream->base.request.body_paused)
        collect(stream, data, size, whole);
    else if (is_read(stream) && kept(stream) == 0)
        deliver(stream, data, size);
    else
        hold(stream, data, size);
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(&stream->base);
}

void uvh_h2_body_end(struct uvh_h2_stream *stream)
{
    const uvhttp_framing_t *framing = &stream->base.request.framing;
    bool has_length = framing->body == UVHTTP_BODY_LENGTH;
    stream->ended = true;
    uvh_exchange_ref(&stream->base);
    if (stream->tunnel != NULL)
        uvh_h2_tunnel_peer_ended(stream);
    else if (has_length && stream->body_received != framing->content_length)
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    else if (stream->body_state == UVH_H2_BODY_COLLECT && !stream->base.finished &&
             !stream->base.request.body_paused)
        body_complete(stream);
    else if (is_read(stream) && kept(stream) == 0)
        deliver_end(stream);
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(&stream->base);
}

/* ---- see struct uvh_protocol ---- */

static void deliver_later(struct uvh_h2_stream *stream)
{
    if (!stream->base.request.body_paused && uvh_h2_body_is_due(stream) &&
        uvh_list_empty(&stream->waiting))
        uvh_list_append(&stream->h2->waiting, &stream->waiting);
}

void uvh_h2_body_pause(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    deliver_later(stream);
    uvh_h2_set_timeout(stream, true);
    uvh_conn_event_end(conn);
}

/* What was kept is delivered in the next loop iteration, since this is a call of the handler. */
void uvh_h2_body_read(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    if (stream->closed)
        return;
    uvh_conn_event_begin(conn);
    uvh_exchange_ref(base);
    stream->body_state = UVH_H2_BODY_STREAM;
    if (stream->body_complete || (stream->ended && kept(stream) == 0)) {
        deliver_end(stream);
    } else {
        deliver_later(stream);
        pay_continue(stream);
    }
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(base);
    uvh_conn_event_end(conn);
}
