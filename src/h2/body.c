/* Request bodies and trailers: from DATA frames to the handler, as a whole or streamed.
 *
 * The client's windows are opened again as bytes are consumed: collected, or delivered to a handler
 * that reads. Bytes for a handler that does not read are kept, up to the window. */
#include <string.h>

#include <uvhttp/error.h>

#include "h2/h2.h"

/* ---- windows ---- */

/* The client is told when it has used half of a window; bytes that are held are no part of it. */
static bool is_due(uint32_t consumed, int32_t window)
{
    return consumed > 0 && (int64_t)consumed >= window;
}

void uvh_h2_give_window(struct uvh_h2 *h2)
{
    uint32_t increment = h2->consumed;
    if (!is_due(increment, h2->receive_window))
        return;
    h2->receive_window += (int32_t)increment;
    h2->consumed = 0;
    uvh_h2_send_window_update(h2, 0, increment);
}

/* The window of a stream doubles each time it is used, while the handler reads all that arrives: a
 * fast upload gets the whole window of the connection. */
static uint32_t growth(const struct uvh_h2_stream *stream)
{
    uint32_t most = (uint32_t)uvh_h2_config(stream->h2)->http2_connection_window;
    uint32_t size = (uint32_t)stream->receive_window + stream->consumed;
    if (stream->held > 0 || size >= most)
        return 0;
    return size < most - size ? size : most - size;
}

void uvh_h2_give_stream_window(struct uvh_h2_stream *stream, uint32_t size)
{
    if (stream->ended || stream->closed)
        return;
    stream->consumed += size;
    if (!is_due(stream->consumed, stream->receive_window))
        return;
    uint32_t increment = stream->consumed + growth(stream);
    stream->receive_window += (int32_t)increment;
    stream->consumed = 0;
    uvh_h2_send_window_update(stream->h2, stream->id, increment);
}

/* To the window of the connection, unless the end of the stream has done that. */
static void return_held(struct uvh_h2_stream *stream, size_t size)
{
    uint32_t held = size < stream->held ? (uint32_t)size : stream->held;
    stream->held -= held;
    stream->h2->consumed += held;
}

void uvh_h2_consume(struct uvh_h2_stream *stream, size_t size)
{
    return_held(stream, size);
    uvh_exchange_ref(&stream->base); /* without memory the connection is closed */
    uvh_h2_give_stream_window(stream, (uint32_t)size);
    uvh_exchange_unref(&stream->base);
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
    return uvh_queue_size(&stream->body);
}

static void body_complete(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    /* refused, or ended with the connection: the handler must not run */
    bool over = base->finished || base->response.state != UVH_RESPONSE_OPEN;
    if (stream->body_complete || over)
        return;
    stream->body_complete = true;
    if (kept(stream) > 0)
        base->request.body = (uvhttp_slice_t){uvh_queue_front(&stream->body), kept(stream)};
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
    if (size > stream->body_space) {
        refuse_too_large(stream);
        return;
    }
    stream->body_space -= size;
    uvh_h2_consume(stream, size);
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
    uvh_h2_consume(stream, size);
    uvh_exchange_deliver(&stream->base, data, size);
    return !stream->base.finished && !stream->closed;
}

/* As much as a read of HTTP/1.1 would deliver at a time: then the handler may pause. */
static void deliver_kept(struct uvh_h2_stream *stream)
{
    size_t most = uvh_h2_config(stream->h2)->buffer_size;
    bool open = true;
    while (open && is_read(stream) && kept(stream) > 0) {
        size_t size = kept(stream) < most ? kept(stream) : most;
        const char *data = uvh_queue_front(&stream->body);
        uvh_queue_take(&stream->body, size);
        open = deliver(stream, data, size);
    }
    if (kept(stream) == 0)
        uvh_queue_release(&stream->body);
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
    if (uvh_queue_append(&stream->body, data, size) != 0)
        uvh_h2_reject(stream, 503, uvhttp_strerror(UVHTTP_ENOMEM));
}

static void collect(struct uvh_h2_stream *stream, char *data, size_t size, bool whole)
{
    struct uvh_conn *conn = stream->h2->conn;
    if (size > stream->body_space) {
        refuse_too_large(stream);
        return;
    }
    stream->body_space -= size;
    whole = whole && kept(stream) == 0;
    if (whole) /* no more is expected */
        return_held(stream, size);
    else
        uvh_h2_consume(stream, size);
    if (whole && (stream->pinned = uvh_receive_pin(conn)) != NULL)
        stream->base.request.body = (uvhttp_slice_t){data, size};
    else
        keep(stream, data, size);
}

void uvh_h2_body_take(struct uvh_h2_stream *stream, char *data, size_t size, bool whole)
{
    const uvhttp_framing_t *framing = &stream->base.request.framing;
    bool has_length = framing->body == UVHTTP_BODY_LENGTH;
    struct uvh_exchange *base = &stream->base;
    bool over = base->finished || base->response.state == UVH_RESPONSE_SENT;
    stream->body_received += size;
    stream->held += (uint32_t)size;
    uvh_exchange_ref(&stream->base);
    if (stream->tunnel != NULL) {
        uvh_h2_tunnel_receive(stream, data, size);
    } else if (has_length && stream->body_received > framing->content_length) {
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    } else if (over) {
        uvh_h2_consume(stream, size);
    } else if (stream->body_state == UVH_H2_BODY_COLLECT && !base->request.body_paused) {
        collect(stream, data, size, whole);
    } else if (is_read(stream) && kept(stream) == 0) {
        deliver(stream, data, size);
    } else {
        keep(stream, data, size);
    }
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
    if (!stream->base.request.body_paused && uvh_h2_body_is_due(stream))
        uvh_h2_wait(stream);
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
    /* what follows a request without a body is kept for a tunnel */
    if (!stream->body_complete)
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
