/* Responses that are complete when they are sent. Short bodies are collected with their heads, so
 * that the responses to pipelined requests are sent together. Others are queued by reference, and
 * sent with the head in the same call. */
#include <string.h>

#include <uvhttp/error.h>

#include "conn/stream.h"
#include "h1/h1.h"
#include "server/send.h"
#include "server/server.h"

/* Stops reading the rest of the request's body. */
static void stop_body(struct uvh_h1 *h1)
{
    if (h1->state == UVH_H1_BODY)
        h1->state = UVH_H1_WAIT;
    /* The client may not read the response before it has sent its body. */
    h1->conn.discarding = h1->conn.close_after;
}

void uvh_h1_complete(struct uvh_h1 *h1)
{
    stop_body(h1);
    uvh_exchange_finish(&uvh_h1_exchange(h1)->base, false);
}

void uvh_h1_sent(struct uvh_conn *conn)
{
    struct uvh_h1_exchange *exchange = conn->owner;
    if (exchange == NULL || !exchange->body_queued)
        return;
    exchange->body_queued = false;
    uvh_exchange_finish(&exchange->base, false);
}

void uvh_h1_read_failed(struct uvh_conn *conn, int error)
{
    struct uvh_exchange *base = &uvh_h1_exchange(uvh_h1_of(conn))->base;
    struct uvhttp_response *response = &base->response;
    if (error == -EPIPE || error == -ECONNRESET) /* most likely the socket was closed */
        return;
    uvh_server_log(base->worker->server, UVHTTP_LOG_ERROR, "%s: %s",
                   uvhttp_request_path(&base->request), uvhttp_strerror(error));
    if (response->on_read_error != NULL)
        response->on_read_error(error, response->read_error_arg);
}

void uvh_h1_abandon(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = &exchange->h1->conn;
    bool to_end = exchange->sends == UVH_H1_SENDS_TO_END;
    uvh_conn_event_begin(conn);
    /* Sends the complete responses before this one. */
    if (!uvh_conn_is_blocked(conn))
        uvh_output_flush(conn);
    if (to_end) /* a regular close would look like the end of the body */
        uvh_conn_reset(conn);
    else
        uvh_conn_close(conn);
    uvh_conn_event_end(conn);
}

/* ---- bodies by reference ---- */

/* The sender's memory is invalid after its call, so queued bytes are copied. Returns 0 or
 * UVHTTP_EDISCONNECTED. */
static int own_rest(struct uvh_h1_exchange *exchange)
{
    struct uvh_output_entry *entry = &exchange->entry;
    struct uvh_conn *conn = &exchange->h1->conn;
    if (!exchange->base.response.body.transient || conn->out.entries == NULL)
        return 0;
    char *copy = uvh_arena_text(&exchange->base.arena, (size_t)entry->size);
    if (copy == NULL) {
        uvh_conn_close(conn);
        return UVHTTP_EDISCONNECTED;
    }
    memcpy(copy, entry->base, (size_t)entry->size);
    entry->base = copy;
    return 0;
}

static void skip_sent(struct uvh_h1_exchange *exchange, size_t sent)
{
    struct uvh_output_entry *entry = &exchange->entry;
    size_t of_body = uvh_output_skip(&exchange->h1->conn, sent);
    if (entry->descriptor < 0)
        entry->base += of_body;
    entry->offset += of_body;
    entry->size -= of_body;
}

/* Caches the head that was just written, and the body, for the rest of the second. */
static void cache_response(struct uvh_h1_exchange *exchange, struct uvh_cached_response *cached)
{
    const struct uvh_output *out = &exchange->h1->conn.out;
    uvhttp_slice_t head = {out->buffer->data + out->begin, uvh_output_collected(out)};
    if (cached != NULL)
        uvh_response_cache_store(&exchange->base.worker->response_cache, cached, head,
                                 &exchange->base.response.body);
}

/* Looks up the cache if the response does not depend on the request or the connection. */
static struct uvh_cached_response *look_up(struct uvh_h1_exchange *exchange)
{
    struct uvh_worker *worker = exchange->base.worker;
    const struct uvh_conn *conn = &exchange->h1->conn;
    bool usual = exchange->head.minor_version != 0 && uvh_output_is_empty(&conn->out) &&
                 uvh_conn_sends_plain(conn) && uvh_h1_head_keeps_alive(exchange);
    if (!usual || worker->response_cache.max_size == 0)
        return NULL;
    uvh_worker_head_begin(worker); /* updates `date_expires` */
    return uvh_response_cache_lookup(&worker->response_cache, &exchange->base.response,
                                     worker->date_expires);
}

static void count_cached(struct uvh_h1_exchange *exchange, size_t sent)
{
    uvh_counters_response(&exchange->base.worker->counters, 200);
    exchange->h1->conn.shared->file_share.responses++;
    exchange->base.sent += sent;
}

/* Sends a body that is not empty and not collected with its head. */
static int respond_by_reference(struct uvh_h1_exchange *exchange)
{
    struct uvh_h1 *h1 = exchange->h1;
    const struct uvh_body *body = &exchange->base.response.body;
    struct uvh_cached_response *cached = look_up(exchange);
    size_t sent = cached == NULL ? 0
                                 : uvh_response_cache_send(&exchange->base.worker->response_cache,
                                                           cached, &h1->conn);
    if (sent > 0 && sent == cached->size) {
        count_cached(exchange, sent);
        uvh_h1_complete(h1);
        return 0;
    }
    struct uvh_output_entry *entries =
        uvh_send_entries(body, &exchange->base.arena, &exchange->entry);
    int err = entries == NULL ? UVHTTP_ENOMEM : uvh_h1_head_put(h1, UVH_H1_SENDS_LENGTH, 0);
    if (err != 0 && sent == 0)
        return err;
    if (err != 0) { /* a part of the cached response was sent */
        count_cached(exchange, sent);
        uvh_conn_close(&h1->conn);
        return 0;
    }
    cache_response(exchange, cached);
    exchange->base.sent += body->size;
    if (sent > 0)
        skip_sent(exchange, sent); /* the same response, in the same second */
    if (body->source == UVH_BODY_FILE)
        uvh_file_share_begin(&h1->conn.shared->file_share, body->size);
    stop_body(h1);
    exchange->body_queued = true;
    uvh_exchange_ref(&exchange->base); /* the queue may be empty at once */
    err = uvh_output_queue(&h1->conn, entries, exchange->base.response.pace);
    if (err == 0)
        own_rest(exchange);
    uvh_exchange_unref(&exchange->base);
    return 0;
}

/* ---- bodies by copy ---- */

static bool is_collected(const struct uvhttp_response *response)
{
    const struct uvh_body *body = &response->body;
    if (body->size > UVH_OUTPUT_COPIED || response->pace != NULL || body->source == UVH_BODY_FILE)
        return false;
    for (size_t i = 0; body->parts != NULL && i < body->parts->count; i++) {
        if (body->parts->next[i].descriptor >= 0)
            return false;
    }
    return true;
}

static void collect(struct uvh_conn *conn, const struct uvh_body *body)
{
    char *space = conn->out.buffer->data + conn->out.end;
    if (body->parts == NULL)
        memcpy(space, body->base, (size_t)body->size);
    for (size_t i = 0; body->parts != NULL && i < body->parts->count; i++) {
        const uvhttp_part_t *part = &body->parts->next[i];
        if (part->size > 0)
            memcpy(space, part->data, (size_t)part->size);
        space += part->size;
    }
    uvh_output_commit(conn, (size_t)body->size);
}

/* ---- all responses ---- */

static int respond(struct uvh_h1_exchange *exchange)
{
    struct uvh_h1 *h1 = exchange->h1;
    struct uvh_exchange *base = &exchange->base;
    const struct uvh_body *body = &base->response.body;
    bool head_only = uvh_h1_head_only(exchange);
    if (!head_only && body->size > 0 && !is_collected(&base->response))
        return respond_by_reference(exchange);
    size_t size = head_only ? 0 : (size_t)body->size;
    int err = uvh_h1_head_put(h1, head_only ? UVH_H1_SENDS_NOTHING : UVH_H1_SENDS_LENGTH, size);
    if (err != 0)
        return err;
    if (size > 0) {
        collect(&h1->conn, body);
        base->sent += size;
    }
    uvh_h1_complete(h1);
    return 0;
}

int uvh_h1_respond(struct uvh_exchange *base)
{
    struct uvh_conn *conn = &uvh_h1_exchange_of(base)->h1->conn;
    uvh_conn_event_begin(conn);
    int err = respond(uvh_h1_exchange_of(base));
    uvh_conn_event_end(conn);
    return err;
}

int uvh_h1_upgrade(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_h1 *h1 = exchange->h1;
    if (!exchange->request_complete)
        return UVHTTP_EINVAL;
    uvh_conn_event_begin(&h1->conn);
    int err = uvh_h1_head_put(h1, UVH_H1_SENDS_NOTHING, 0);
    if (err == 0) {
        /* the connection does not pin it after this event */
        if (exchange->pinned == NULL)
            exchange->pinned = uvh_receive_pin(&h1->conn);
        uvh_stream_begin(base->response.stream, &h1->conn);
        uvh_exchange_finish(base, false);
    }
    uvh_conn_event_end(&h1->conn);
    return err;
}
