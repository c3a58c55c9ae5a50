/* HTTP/2 as the user of a connection, and as the protocol of its exchanges: the two tables of
 * callbacks, and small functions without a file of their own. */
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "h2/h2.h"
#include "platform/socket.h"
#include "tls/info.h"

/* ---- callbacks of the connection ---- */

/* Frames are read while responses are sent: they may open the windows for these. */
static bool wants_bytes(const struct uvh_conn *conn)
{
    const struct uvh_h2 *h2 = conn->owner;
    bool congested =
        !conn->socket.writable && uvh_conn_pending(conn) > uvh_h2_config(h2)->write_backlog;
    return !h2->failed && !conn->close_after && !congested;
}

/* A stream that cannot be completed without further frames of the client. */
static struct uvh_h2_stream *hopeless(const struct uvh_h2 *h2)
{
    for (struct uvh_list *link = h2->streams.next; link != &h2->streams; link = link->next) {
        struct uvh_h2_stream *stream = UVH_CONTAINER_OF(link, struct uvh_h2_stream, link);
        bool blocked = uvh_h2_has_output(stream) && (stream->stalled || h2->send_window <= 0);
        if ((!stream->base.finished || stream->tunnel != NULL) && (!stream->ended || blocked))
            return stream;
    }
    return NULL;
}

void uvh_h2_abort_hopeless(struct uvh_h2 *h2)
{
    struct uvh_h2_stream *stream;
    uvh_h2_ref(h2);
    while ((stream = hopeless(h2)) != NULL)
        uvh_h2_abort(stream);
    uvh_h2_unref(h2);
}

/* Responses in progress are still sent, as far as the windows permit. */
static void peer_ended(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    h2->draining = h2->refusing = true;
    uvh_h2_abort_hopeless(h2);
}

static bool awaits_peer_end(const struct uvh_conn *conn)
{
    const struct uvh_h2 *h2 = conn->owner;
    for (struct uvh_list *link = h2->streams.next; link != &h2->streams; link = link->next) {
        struct uvh_h2_stream *stream = UVH_CONTAINER_OF(link, struct uvh_h2_stream, link);
        if (uvh_exchange_awaits_peer_end(&stream->base))
            return true;
    }
    return false;
}

static void peer_end_seen(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &h2->streams);
    uvh_h2_ref(h2);
    while (!uvh_list_empty(&batch)) {
        struct uvh_h2_stream *stream =
            UVH_CONTAINER_OF(uvh_list_take(&batch), struct uvh_h2_stream, link);
        uvh_list_append(&h2->streams, &stream->link);
        if (uvh_exchange_awaits_peer_end(&stream->base))
            uvh_exchange_peer_ended(&stream->base);
    }
    uvh_h2_unref(h2);
}

static void out_of_memory(struct uvh_conn *conn)
{
    conn->shared->callbacks->failed(conn->shared, "a connection was closed", UVHTTP_ENOMEM);
    uvh_conn_close(conn);
}

static void sent(struct uvh_conn *conn)
{
    (void)conn;
}

static bool has_drainable(const struct uvh_h2 *h2)
{
    for (struct uvh_list *link = h2->waiting.next; link != &h2->waiting; link = link->next) {
        if (uvh_h2_is_drainable(UVH_CONTAINER_OF(link, struct uvh_h2_stream, waiting)))
            return true;
    }
    return false;
}

static bool wants_drain(const struct uvh_conn *conn)
{
    const struct uvh_h2 *h2 = conn->owner;
    return uvh_h2_can_fill(h2) || has_drainable(h2);
}

/* The output that is due follows at the end of the event. */
static void drain(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &h2->waiting);
    uvh_h2_ref(h2);
    while (!uvh_list_empty(&batch)) {
        struct uvh_h2_stream *stream =
            UVH_CONTAINER_OF(uvh_list_take(&batch), struct uvh_h2_stream, waiting);
        if (uvh_h2_is_drainable(stream))
            uvh_h2_drain_stream(stream);
        else
            uvh_list_append(&h2->waiting, &stream->waiting);
    }
    uvh_h2_unref(h2);
}

/* A blocking handler or a job may keep a reference to a finished exchange for long; the client need
 * not wait for that. */
static bool is_done(const struct uvh_conn *conn)
{
    const struct uvh_h2 *h2 = conn->owner;
    return h2->failed || (h2->refusing && h2->active == 0);
}

static bool is_incomplete(const struct uvh_h2 *h2)
{
    const struct uvh_conn *conn = h2->conn;
    return (conn->in.length > 0 && conn->starved) || h2->block_stream != 0 ||
           !h2->settings_received;
}

static enum uvh_conn_timeout settle(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    h2->idle &= h2->active == 0 && !h2->served;
    if (h2->ready_mask != 0 && h2->send_window <= 0) { /* also within a frame */
        conn->sent &= h2->data_sent;                   /* a reply to a PING is no progress */
        h2->data_sent = h2->head_timed = false;
        return UVH_CONN_TIMEOUT_WRITE;
    }
    if (is_incomplete(h2) || (h2->idle && h2->head_timed)) {
        /* as a head of HTTP/1.1: within one timeout, regardless of progress; on an idle connection
         * until a request, since other frames in parts would restart its timeout */
        conn->restart_timeout |= !h2->head_timed;
        h2->head_timed = true;
        return UVH_CONN_TIMEOUT_HEADER;
    }
    h2->head_timed = h2->data_sent = false;
    if (h2->active > 0) {
        h2->pinging &= !conn->received;
        bool pings = uvh_h2_config(h2)->http2_ping_interval != 0 && !conn->peer_ended;
        return pings ? UVH_CONN_TIMEOUT_PING : UVH_CONN_TIMEOUT_NONE;
    }
    /* only a request restarts the timeout of an idle connection */
    conn->received &= h2->served;
    conn->sent &= h2->served;
    h2->served = false;
    h2->idle = true;
    return h2->draining ? UVH_CONN_TIMEOUT_LINGER : UVH_CONN_TIMEOUT_IDLE;
}

static void timed_out(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    struct uvh_h2 *h2 = conn->owner;
    if (timeout == UVH_CONN_TIMEOUT_PING && !h2->pinging) {
        h2->pinging = true;
        conn->restart_timeout = true;
        uvh_h2_send_ping(h2);
        return;
    }
    if (timeout == UVH_CONN_TIMEOUT_HEADER && !is_incomplete(h2))
        timeout = UVH_CONN_TIMEOUT_IDLE;
    conn->shared->callbacks->ended_by(conn, timeout);
    if (timeout == UVH_CONN_TIMEOUT_IDLE) {
        uvh_h2_refuse_more(h2);
    } else if (timeout == UVH_CONN_TIMEOUT_HEADER) {
        uvh_h2_fail(h2, UVH_H2_PROTOCOL_ERROR, "a frame was not received in time");
    } else {
        uvh_conn_close(conn);
    }
}

static void closed(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    h2->failed = true;
    uvh_list_remove(&h2->link);
    uvh_counter_subtract(&uvh_h2_worker(h2)->counters.active_http2, 1);
    uvh_h2_abort_all(h2);
    uvh_h2_unref(h2);
}

static const struct uvh_conn_user h2_user = {
    .wants_bytes = wants_bytes,
    .receive = uvh_h2_receive,
    .peer_ended = peer_ended,
    .awaits_peer_end = awaits_peer_end,
    .peer_end_seen = peer_end_seen,
    .out_of_memory = out_of_memory,
    .fill = uvh_h2_fill,
    .sent = sent,
    .wants_drain = wants_drain,
    .drain = drain,
    .is_done = is_done,
    .settle = settle,
    .timed_out = timed_out,
    .closed = closed,
};

/* ---- begin and end ---- */

/* Bytes in the socket cannot be overtaken by a more urgent stream, and a fast connection would hold
 * megabytes of them. */
enum { SOCKET_QUEUE = 131072 };

/* RFC 9113 section 9.2.2: ciphers of TLS 1.2 without ephemeral keys or authenticated encryption
 * (appendix A). */
static bool is_secure(const struct uvh_conn *conn)
{
    if (conn->tls == NULL || strcmp(conn->tls->info->public.version, "TLSv1.2") != 0)
        return true;
    const char *cipher = conn->tls->info->public.cipher;
    bool ephemeral = strncmp(cipher, "TLS_ECDHE_", 10) == 0 || strncmp(cipher, "TLS_DHE_", 8) == 0;
    bool authenticated = strstr(cipher, "_GCM_") != NULL || strstr(cipher, "_CCM") != NULL ||
                         strstr(cipher, "_CHACHA20_") != NULL;
    return ephemeral && authenticated;
}

bool uvh_h2_begin(struct uvh_conn *conn)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(conn->shared, struct uvh_worker, conns);
    const uvhttp_allocator_t *allocator = worker->server->allocator;
    size_t recent = worker->server->config.http2_max_streams;
    if (recent > UVH_H2_MOST_RECENT)
        recent = UVH_H2_MOST_RECENT;
    struct uvh_h2 *h2 = uvh_alloc_zero(allocator, sizeof(*h2) + recent * sizeof(h2->recent[0]));
    if (h2 == NULL) {
        out_of_memory(conn);
        return false;
    }
    h2->conn = conn;
    h2->refs = 1;
    h2->recent_count = (uint32_t)recent;
    h2->send_window = UVH_H2_WINDOW;
    h2->peer = (struct uvh_h2_settings)UVH_H2_SETTINGS_INITIAL;
    uvh_list_init(&h2->link);
    uvh_list_init(&h2->streams);
    uvh_list_init(&h2->waiting);
    for (size_t i = 0; i < UVH_H2_URGENCIES; i++)
        uvh_list_init(&h2->ready[i]);
    uvh_hpack_decoder_init(&h2->hpack, (uint32_t)worker->server->config.http2_header_table);
    uvh_bytes_init(&h2->block, allocator, SIZE_MAX / 2);
    uvh_list_append(&worker->http2, &h2->link);
    conn->user = &h2_user;
    conn->owner = h2;
    uvh_conn_ref(conn);
    uvh_counter_add(&worker->counters.http2_connections, 1);
    uvh_counter_add(&worker->counters.active_http2, 1);
    uvh_socket_limit_queue(conn->socket.fd, SOCKET_QUEUE);
    uvh_h2_ref(h2);
    uvh_h2_send_settings(h2);
    if (!is_secure(conn))
        uvh_h2_fail(h2, UVH_H2_INADEQUATE_SECURITY, "the cipher of TLS 1.2 is not permitted");
    else if (worker->draining)
        uvh_h2_shut_down(h2);
    uvh_h2_unref(h2);
    return !uvh_conn_is_closed(conn);
}

void uvh_h2_unref(struct uvh_h2 *h2)
{
    if (--h2->refs > 0)
        return;
    struct uvh_conn *conn = h2->conn;
    const uvhttp_allocator_t *allocator = conn->shared->allocator;
    uvh_bytes_release(&h2->block);
    uvh_free(allocator, h2->hpack.memory);
    uvh_free(allocator, h2);
    conn->owner = NULL;
    uvh_conn_unref(conn);
}

struct uvh_h2 *uvh_h2_of(const struct uvh_conn *conn)
{
    return conn->user == &h2_user ? conn->owner : NULL;
}

bool uvh_h2_is_idle(const struct uvh_h2 *h2)
{
    return h2->active == 0 && h2->conn->in.length == 0 && h2->block_stream == 0;
}

/* ---- callbacks of exchanges ---- */

static bool exchange_peer_ended(const struct uvh_exchange *base)
{
    const struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    const struct uvh_conn *conn = stream->h2->conn;
    return conn->socket.peer_ended || conn->peer_ended || stream->closed;
}

/* The end may have arrived already: then the end of this event reports it. */
static void await_peer_end(struct uvh_exchange *base)
{
    struct uvh_conn *conn = uvh_h2_stream_of(base)->h2->conn;
    uvh_conn_event_begin(conn);
    uvh_conn_event_end(conn);
}

/* The last read may have brought bytes of the body, which arm the timeout again. */
static void body_timed_out(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    uvh_conn_try_read(stream->h2->conn);
    if (base->finished || base->timeout_class != UVH_EXCHANGE_TIMEOUT_NONE || stream->ended)
        return;
    uvh_counter_add(&base->worker->counters.timeouts, 1);
    uvh_h2_reject(stream, 408, "the request body was not received in time");
}

static void exchange_timed_out(struct uvh_exchange *base, enum uvh_exchange_timeout timeout)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_conn *conn = stream->h2->conn;
    uvh_conn_event_begin(conn);
    uvh_exchange_ref(base);
    if (timeout == UVH_EXCHANGE_TIMEOUT_BODY) {
        body_timed_out(stream);
    } else if (timeout == UVH_EXCHANGE_TIMEOUT_HANDLER) {
        uvh_counter_add(&base->worker->counters.timeouts, 1);
        uvh_h2_reject(stream, uvh_exchange_late_status(base), "the response was not ready in time");
    } else if (timeout == UVH_EXCHANGE_TIMEOUT_HEARTBEAT) {
        uvh_exchange_send_heartbeat(base);
    } else if (timeout == UVH_EXCHANGE_TIMEOUT_WRITE) {
        uvh_counter_add(&base->worker->counters.timeouts, 1);
        uvh_h2_reset(stream, UVH_H2_CANCEL);
    } else if (uvh_h2_has_output(stream)) {
        uvh_h2_ready(stream); /* for PACE the end of the event sends what is due */
    }
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(base);
    uvh_conn_event_end(conn);
}

static void released(struct uvh_exchange *base)
{
    struct uvh_h2_stream *stream = uvh_h2_stream_of(base);
    struct uvh_h2 *h2 = stream->h2;
    struct uvh_conn *conn = h2->conn;
    uvh_conn_event_begin(conn);
    if (stream->pinned != NULL)
        uvh_buffer_unref(stream->pinned);
    if (stream->body.bytes.data != NULL)
        uvh_queue_release(&stream->body);
    if (stream->queue != NULL) {
        h2->queued -= uvh_queue_size(stream->queue);
        uvh_queue_release(stream->queue);
    }
    uvh_h2_stream_discount(stream);
    uvh_list_remove(&stream->link);
    h2->exchanges--;
    uvh_arena_release(&base->arena);
    uvh_conn_ref(conn);
    uvh_h2_unref(h2);
    uvh_conn_event_end(conn);
    uvh_conn_unref(conn);
}

static void peer(struct uvh_exchange *base, char *text)
{
    uvh_socket_peer_text(&uvh_h2_stream_of(base)->h2->conn->peer, text);
}

static struct uvh_connection_data **connection_data(struct uvh_exchange *base)
{
    return &uvh_h2_stream_of(base)->h2->conn->data;
}

static const struct uvh_protocol h2_protocol = {
    .respond = uvh_h2_respond,
    .begin = uvh_h2_stream_begin,
    .write = uvh_h2_stream_write,
    .is_writable = uvh_h2_stream_is_writable,
    .pending = uvh_h2_stream_pending,
    .await_writable = uvh_h2_stream_await_writable,
    .await_peer_end = await_peer_end,
    .peer_ended = exchange_peer_ended,
    .end = uvh_h2_stream_end,
    .upgrade = uvh_h2_upgrade,
    .interim = uvh_h2_interim,
    .admitted = uvh_h2_body_admitted,
    .pause_body = uvh_h2_body_pause,
    .read_body = uvh_h2_body_read,
    .abandon = uvh_h2_abandon,
    .timed_out = exchange_timed_out,
    .released = released,
    .peer = peer,
    .connection_data = connection_data,
};

struct uvh_h2_stream *uvh_h2_stream_new(struct uvh_h2 *h2, uint32_t id)
{
    struct uvh_worker *worker = uvh_h2_worker(h2);
    struct uvh_arena arena;
    struct uvh_h2_stream *stream = uvh_arena_begin(&arena, &worker->arenas, sizeof(*stream));
    if (stream == NULL)
        return NULL;
    uvh_clear(stream, offsetof(struct uvh_h2_stream, base.match));
    uvh_exchange_init(&stream->base, worker, &h2_protocol, arena);
    uvh_exchange_begin_use(&stream->base);
    uvhttp_head_init(&stream->head, NULL, 0);
    stream->base.match.route = NULL;
    stream->base.request.is_http2 = true;
    stream->h2 = h2;
    stream->id = id;
    stream->send_window = (int32_t)h2->peer.initial_window_size;
    stream->receive_window = (int32_t)worker->server->config.http2_stream_window;
    stream->priority = (struct uvh_h2_priority)UVH_H2_PRIORITY_INITIAL;
    stream->closed = true;
    stream->counted = true;
    uvh_list_init(&stream->ready);
    uvh_list_init(&stream->waiting);
    uvh_list_append(&h2->streams, &stream->link);
    uvh_queue_init(&stream->body, worker->server->allocator);
    h2->exchanges++;
    h2->active++;
    uvh_h2_ref(h2);
    /* A socket that the client has reset does not know the address any more. */
    if (stream->base.use->generation->on_finished != NULL)
        uvhttp_request_peer_address(&stream->base.request);
    return stream;
}
