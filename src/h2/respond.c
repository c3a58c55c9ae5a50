/* Responses: complete ones, and streamed ones. Called through struct uvh_protocol.
 *
 * A short body is collected with its head, as far as the windows permit. Everything else waits in
 * the stream until send.c gets to it. */
#include <string.h>

#include <uvhttp/error.h>

#include "h2/h2.h"
#include "server/send.h"

enum {
    COLLECTED_BODY = UVH_H2_DATA_SIZE, /* bytes of a body that is sent before others are */
    COLLECTED_MOST = 65536,            /* bytes of output beyond which none is */
};

/* The end of an event may find the connection broken, and close it. */
static int end_event(struct uvh_conn *conn, int err)
{
    uvh_conn_event_end(conn);
    return err == 0 && uvh_conn_is_closed(conn) ? UVHTTP_EDISCONNECTED : err;
}

static bool is_head_only(const struct uvh_h2_stream *stream)
{
    int status = stream->base.response.status;
    return stream->head.method == UVHTTP_METHOD_HEAD || uvh_response_is_bodiless(status) ||
           status == 205;
}

/* True when output of this size may follow at once. */
static bool is_sent_at_once(const struct uvh_h2_stream *stream, size_t size)
{
    const struct uvh_conn *conn = stream->h2->conn;
    bool blocked = !conn->socket.writable && uvh_conn_has_output(conn);
    return size <= uvh_h2_allowed(stream) && !blocked &&
           uvh_output_collected(&conn->out) + size <= COLLECTED_MOST;
}

/* A response of success to an extended CONNECT would open the tunnel (RFC 8441 section 5), but this
 * one is for a GET. */
static void refuse_upgrade(struct uvh_h2_stream *stream)
{
    struct uvhttp_response *response = &stream->base.response;
    if (!stream->base.request.framing.upgrade || response->status >= 300)
        return;
    response->status = 501;
    response->headers.count = 0;
    response->prepared = NULL;
    response->content_type = (uvhttp_slice_t){NULL, 0};
}

/* ---- complete responses ---- */

static bool is_memory(const struct uvh_body *body)
{
    if (body->source == UVH_BODY_FILE)
        return false;
    for (size_t i = 0; body->parts != NULL && i < body->parts->count; i++) {
        if (body->parts->next[i].descriptor >= 0)
            return false;
    }
    return true;
}

static void collect(struct uvh_h2_stream *stream, const struct uvh_body *body)
{
    struct uvh_conn *conn = stream->h2->conn;
    char *out = conn->out.buffer->data + conn->out.end;
    out = uvh_h2_put_data_head(stream, out, (size_t)body->size, true);
    if (body->parts == NULL)
        memcpy(out, body->base, (size_t)body->size);
    for (size_t i = 0; body->parts != NULL && i < body->parts->count; i++) {
        const uvhttp_part_t *part = &body->parts->next[i];
        if (part->size > 0)
            memcpy(out, part->data, (size_t)part->size);
        out += part->size;
    }
    uvh_output_commit(conn, UVH_H2_HEAD_SIZE + (size_t)body->size);
}

/* Makes the entries of a body. Memory that is invalid after the call of the sender is copied. */
static struct uvh_output_entry *make_entries(struct uvh_h2_stream *stream)
{
    const struct uvh_body *body = &stream->base.response.body;
    struct uvh_output_entry *entries = uvh_send_entries(body, &stream->base.arena, &stream->entry);
    if (entries == NULL || !body->transient)
        return entries;
    char *copy = uvh_arena_text(&stream->base.arena, (size_t)body->size);
    if (copy == NULL)
        return NULL;
    memcpy(copy, entries->base, (size_t)body->size);
    entries->base = copy;
    return entries;
}

static int respond(struct uvh_h2_stream *stream)
{
    struct uvhttp_response *response = &stream->base.response;
    const struct uvh_body *body = &response->body;
    refuse_upgrade(stream);
    size_t size = is_head_only(stream) ? 0 : (size_t)body->size;
    bool at_once = size <= COLLECTED_BODY && is_sent_at_once(stream, size) &&
                   (size == 0 || (is_memory(body) && response->pace == NULL));
    struct uvh_output_entry *entries = NULL;
    if (!at_once && size > 0 && (entries = make_entries(stream)) == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_h2_fields_put(stream, size == 0, entries == NULL ? UVH_H2_HEAD_SIZE + size : 0);
    if (err != 0)
        return err;
    if (entries != NULL) {
        if (body->source == UVH_BODY_FILE)
            uvh_file_share_begin(&stream->h2->conn->shared->file_share, body->size);
        stream->entries = entries;
        stream->ending = true;
        uvh_h2_ready(stream);
        uvh_h2_set_timeout(stream, true);
        return 0;
    }
    if (size > 0)
        collect(stream, body);
    uvh_h2_complete(stream);
    return 0;
}

int uvh_h2_respond(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    int err = respond(stream);
    uvh_conn_event_end(conn);
    return err;
}

void uvh_h2_abandon(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
    uvh_conn_event_end(conn);
}

int uvh_h2_interim(struct uvh_exchange *base, int status)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    return end_event(conn, uvh_h2_fields_put_interim(stream, status, true));
}

/* ---- streamed responses ---- */

struct uvh_queue *uvh_h2_queue_new(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    struct uvh_queue *queue = uvh_arena_alloc(&base->arena, sizeof(*queue));
    if (queue != NULL)
        uvh_queue_init(queue, base->worker->server->allocator);
    return queue;
}

int uvh_h2_stream_begin(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    refuse_upgrade(stream);
    bool head_only = is_head_only(stream);
    struct uvh_queue *queue = uvh_h2_queue_new(stream);
    if (queue == NULL)
        return UVHTTP_ENOMEM;
    uvh_conn_event_begin(conn);
    /* the stream ends with the call of `end` */
    int err = uvh_h2_fields_put(stream, false, 0);
    if (err == 0) {
        stream->head_only = head_only;
        stream->queue = queue;
    }
    if (err == 0 && head_only && base->response.heartbeat)
        uvh_h2_wait(stream);
    uvh_h2_set_timeout(stream, true);
    return end_event(conn, err);
}

/* Sends as much as possible at once, in one frame, and queues the rest. */
static int put_chunk(struct uvh_h2_stream *stream, uvhttp_slice_t chunk)
{
    struct uvh_conn *conn = stream->h2->conn;
    struct uvhttp_response *response = &stream->base.response;
    size_t now = uvh_h2_allowed(stream);
    char *out = NULL;
    int err = 0;
    now = now < chunk.length ? now : chunk.length;
    now = now < UVH_H2_DATA_SIZE ? now : UVH_H2_DATA_SIZE;
    if (uvh_h2_has_output(stream) || !is_sent_at_once(stream, now) || response->pace != NULL)
        now = 0;
    if (now > 0 && (out = uvh_output_reserve(conn, UVH_H2_HEAD_SIZE + now, &err)) == NULL)
        return err;
    if (now < chunk.length &&
        uvh_queue_append(stream->queue, chunk.base + now, chunk.length - now) != 0) {
        if (now > 0)
            uvh_output_commit(conn, 0);
        return UVHTTP_ENOMEM;
    }
    stream->h2->queued += chunk.length - now;
    if (now > 0) {
        memcpy(uvh_h2_put_data_head(stream, out, now, false), chunk.base, now);
        uvh_output_commit(conn, UVH_H2_HEAD_SIZE + now);
        stream->began = true;
    }
    if (uvh_h2_has_output(stream))
        uvh_h2_ready(stream);
    return 0;
}

int uvh_h2_stream_write(struct uvh_exchange *base, uvhttp_slice_t chunk)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uint64_t *left = &base->response.body.size;
    if (stream->head_only)
        return 0;
    if (*left != UVHTTP_LENGTH_UNKNOWN && chunk.length > *left)
        return UVHTTP_ELENGTH;
    /* With filters this was checked before they processed the data. */
    if (base->response.filters == NULL && !uvh_h2_stream_is_writable(base))
        return UVHTTP_EFULL;
    uvh_conn_event_begin(conn);
    int err = put_chunk(stream, chunk);
    if (err == 0 && *left != UVHTTP_LENGTH_UNKNOWN)
        *left -= chunk.length;
    if (err == 0) /* only a heartbeat is later then; the client has done nothing */
        uvh_h2_set_timeout(stream, base->response.heartbeat);
    return end_event(conn, err);
}

/* A stream whose queue is empty may write, whatever the others have queued. */
bool uvh_h2_stream_is_writable(const struct uvh_exchange *base)
{
    size_t backlog = base->worker->server->config.write_backlog;
    size_t pending = uvh_h2_stream_pending(base);
    bool many = uvh_h2_stream_of(base)->h2->queued > UVH_H2_BACKLOGS * backlog;
    return pending <= backlog && (pending == 0 || !many) && uvh_exchange_allowed(base) > 0;
}

/* Without what other streams have queued before the socket. */
size_t uvh_h2_stream_pending(const struct uvh_exchange *base)
{
    return uvh_h2_queued(uvh_h2_stream_of(base));
}

void uvh_h2_stream_await_writable(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    base->response.wants_drain = true;
    uvh_h2_wait(stream);
    uvh_h2_set_timeout(stream, false);
    uvh_conn_event_end(conn);
}

/* An event stream as a response to HEAD: only its head is sent. */
static bool is_bodiless_events(const struct uvh_h2_stream *stream)
{
    const struct uvhttp_response *response = &stream->base.response;
    return stream->head_only && response->heartbeat && response->state == UVH_RESPONSE_BEGUN;
}

static bool is_drained(const struct uvh_h2_stream *stream)
{
    const struct uvh_conn *conn = stream->h2->conn;
    const struct uvhttp_response *response = &stream->base.response;
    bool blocked = !conn->socket.writable && uvh_conn_has_output(conn);
    return response->wants_drain && response->state == UVH_RESPONSE_BEGUN && !blocked &&
           !uvh_h2_has_output(stream) && uvh_exchange_allowed(&stream->base) > 0;
}

bool uvh_h2_is_drainable(const struct uvh_h2_stream *stream)
{
    if (stream->tunnel != NULL)
        return uvh_h2_tunnel_is_due(stream);
    return is_bodiless_events(stream) || is_drained(stream) || uvh_h2_body_is_due(stream);
}

void uvh_h2_drain_stream(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    uvh_exchange_ref(base);
    if (stream->tunnel != NULL)
        uvh_h2_tunnel_continue(stream);
    else if (uvh_h2_body_is_due(stream))
        uvh_h2_body_deliver(stream);
    else if (is_bodiless_events(stream))
        uvh_exchange_end_events(base);
    else
        uvh_exchange_drained(base);
    if (base->response.wants_drain)
        uvh_h2_wait(stream);
    uvh_h2_set_timeout(stream, false);
    uvh_exchange_unref(base);
}

/* Nothing is queued: ends the stream now. */
static int put_end(struct uvh_h2_stream *stream)
{
    struct uvh_conn *conn = stream->h2->conn;
    int err = 0;
    if (stream->base.response.trailers.count > 0 && !stream->head_only) {
        err = uvh_h2_fields_put_trailers(stream);
    } else {
        char *out = uvh_output_reserve(conn, UVH_H2_HEAD_SIZE, &err);
        if (out != NULL) {
            uvh_h2_put_data_head(stream, out, 0, true);
            uvh_output_commit(conn, UVH_H2_HEAD_SIZE);
        }
    }
    return err;
}

int uvh_h2_end_stream(struct uvh_h2_stream *stream)
{
    int err = uvh_h2_has_output(stream) ? 0 : put_end(stream);
    if (err != 0) {
        uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
        return err;
    }
    stream->ending = true;
    if (uvh_h2_has_output(stream))
        uvh_h2_set_timeout(stream, false);
    else
        uvh_h2_complete(stream);
    return 0;
}

int uvh_h2_stream_end(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uint64_t left = base->response.body.size;
    int err = 0;
    uvh_conn_event_begin(conn);
    if (!stream->head_only && left != UVHTTP_LENGTH_UNKNOWN && left > 0) {
        uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
        err = UVHTTP_ELENGTH;
    } else {
        base->response.state = UVH_RESPONSE_SENT;
        /* may have been set after the head was sent */
        if (base->response.close_after)
            uvh_h2_shut_down(stream->h2);
        err = uvh_h2_end_stream(stream);
    }
    uvh_conn_event_end(conn);
    return err;
}
