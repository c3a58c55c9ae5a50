/* Bytes in: from the socket into the worker's buffer, there taken apart in place into requests, as many as have come.
 *
 * Handlers see slices of that buffer. Only what outlives the event is pinned: bytes that are no whole head yet, and the head of an
 * exchange that is not answered yet. */
#include "server/conn.h"

#include <errno.h>
#include <string.h>

#include "platform/socket.h"
#include "server/server.h"

enum {
    MIN_READ = 2048,         /* the least room worth a read: most requests fit */
    DISCARDS_PER_EVENT = 16, /* so that a client that never stops sending does not hold the loop */
};

/* A stretch of a buffer that is being taken apart. */
struct span {
    struct uvh_buffer *buffer; /* a reference is held while the span is worked on */
    uint32_t offset;
    uint32_t length;
};

static struct span take_kept(struct uvh_conn *conn)
{
    struct span kept = {conn->in.buffer, conn->in.offset, conn->in.length};
    conn->in = (struct uvh_conn_input){NULL, 0, 0};
    return kept;
}

/* Keeps the rest of a span for the next event and gives the span's reference back. `pinned`: somebody refers to its bytes. */
static void keep_rest(struct uvh_conn *conn, struct span span, uint32_t used, bool pinned)
{
    struct uvh_buffer *buffer = span.buffer;
    if (conn->life == UVH_CONN_OPEN && used < span.length) {
        conn->in = (struct uvh_conn_input){buffer, span.offset + used, span.length - used};
        return; /* the reference goes with it */
    }
    if (!pinned && buffer->used == span.offset + span.length)
        buffer->used = span.offset; /* the next read may use the room again */
    uvh_buffer_unref(buffer);
}

/* Without memory for an exchange there is still this much to say, unless it would stand in the middle of something else. */
static void refuse_without_memory(struct uvh_conn *conn)
{
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    bool heard = conn->stream == NULL &&
                 (conn->exchange == NULL || conn->exchange->base.response.state == UVH_RESPONSE_OPEN);
    uvh_server_log(conn->worker->server, UVHTTP_LOG_ERROR, "request refused: %s",
                   uvhttp_strerror(UVHTTP_ENOMEM));
    /* Answers to earlier requests first. */
    if (heard && uvh_conn_tx_flush(conn) == 0 && conn->tx == UVH_TX_IDLE)
        uvh_socket_send(conn->watch.socket, &(uvhttp_slice_t){answer, sizeof(answer) - 1}, 1, false);
    uvh_conn_close(conn);
}

static void log_refusal(const struct uvh_conn *conn, int status, const char *detail)
{
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (uvh_server_logs(conn->worker->server, UVHTTP_LOG_DEBUG))
        uvh_server_log(conn->worker->server, UVHTTP_LOG_DEBUG, "%s refused with %d: %s",
                       uvh_conn_peer(conn, peer), status, detail);
}

void uvh_conn_rx_refuse(struct uvh_conn *conn, int status, const char *detail)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    if (conn->life == UVH_CONN_CLOSED)
        return;
    if (exchange == NULL && (exchange = uvh_h1_exchange_new(conn)) == NULL) {
        refuse_without_memory(conn);
        return;
    }
    if (exchange->base.began == 0) { /* not even its head was understood; that it was a HEAD still counts */
        uvhttp_head_t *head = &exchange->head;
        uint8_t method = head->method;
        uvhttp_head_init(head, NULL, 0);
        head->method = method;
        uvh_request_clear(&exchange->base.request, &exchange->head);
    }
    log_refusal(conn, status, detail);
    conn->rx = UVH_RX_WAIT;
    conn->unread = true;
    conn->close_after = true;
    uvh_exchange_refuse(&exchange->base, status, detail);
}

void uvh_conn_rx_refuse_reason(struct uvh_conn *conn, uvhttp_reason_t reason)
{
    uvh_counter_add(&conn->worker->counters.parse_errors, 1);
    uvh_conn_rx_refuse(conn, uvhttp_reason_status(reason), uvhttp_reason_text(reason));
}

/* The request is known, `length` bytes behind its head are at hand. Returns how many of them belong to it and are used. */
static size_t start_request(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    const uvhttp_framing_t *framing = &exchange->base.request.framing;
    uint64_t size = framing->body == UVHTTP_BODY_LENGTH ? framing->content_length : 0;
    bool at_hand = framing->body != UVHTTP_BODY_CHUNKED && size <= length;
    uvh_exchange_route(&exchange->base);
    conn->rx = UVH_RX_WAIT;
    exchange->request_complete = at_hand; /* a refusal need not close the connection then */
    if (uvh_exchange_admit(&exchange->base)) {
        exchange->request_complete = false;
        return uvh_conn_body_start(conn, data, length);
    }
    bool undecided = conn->exchange == exchange && exchange->base.deciding;
    if (undecided) /* the body waits for the decision */
        exchange->request_complete = at_hand && size == 0;
    return undecided || !at_hand ? 0 : (size_t)size;
}

bool uvh_conn_rx_larger_table(struct uvh_arena *arena, uvhttp_head_t *head,
                              const uvhttp_head_limits_t *limits, bool *out_of_memory)
{
    if (head->reason != UVHTTP_REASON_TOO_MANY_FIELDS || head->field_capacity >= limits->max_fields)
        return false;
    uvhttp_field_t *fields = uvh_arena_alloc(arena, limits->max_fields * sizeof(*fields));
    *out_of_memory = fields == NULL;
    if (fields != NULL)
        uvhttp_head_init(head, fields, (uint16_t)limits->max_fields);
    return fields != NULL;
}

/* Returns the bytes used; 0 when the head is not complete. */
static size_t take_head(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange; /* there already if the head has begun before */
    if (exchange == NULL && (exchange = uvh_h1_exchange_new(conn)) == NULL) {
        refuse_without_memory(conn);
        return length;
    }
    bool out_of_memory = false;
    uvhttp_reason_t reason = UVHTTP_REASON_NONE;
    const uvhttp_head_limits_t *limits = &conn->worker->head_limits;
    uvhttp_parse_result_t result = uvhttp_request_head_parse(&exchange->head, data, length, limits);
    if (UVH_UNLIKELY(result == UVHTTP_PARSE_BAD) &&
        uvh_conn_rx_larger_table(&exchange->base.arena, &exchange->head, limits, &out_of_memory))
        result = uvhttp_request_head_parse(&exchange->head, data, length, limits);
    if (result == UVHTTP_PARSE_MORE)
        return 0;
    struct uvhttp_request *request = &exchange->base.request;
    size_t head_size = exchange->head.size;
    if (result == UVHTTP_PARSE_BAD)
        reason = (uvhttp_reason_t)exchange->head.reason;
    else
        reason = uvhttp_request_framing(&exchange->head, &request->framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = uvh_request_init(request, &exchange->base.arena, &exchange->head, &out_of_memory);
    if (out_of_memory) {
        uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    if (reason != UVHTTP_REASON_NONE) {
        uvh_conn_rx_refuse_reason(conn, reason);
        return length;
    }
    uvh_counter_add(&conn->worker->counters.total_requests, 1);
    uvh_watch_event(&conn->worker->watch);
    exchange->base.began = conn->worker->watch.turn;
    conn->requests++;
    return head_size + start_request(conn, data + head_size, length - head_size);
}

/* An exchange that began in this buffer and goes on after the event needs its head's bytes. True when there is one. */
static bool pin_head(struct uvh_conn *conn, struct uvh_buffer *buffer)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    if (exchange == NULL || exchange->pinned != NULL || conn->rx == UVH_RX_HEAD)
        return false;
    exchange->pinned = buffer;
    uvh_buffer_ref(buffer);
    return true;
}

static size_t take(struct uvh_conn *conn, char *data, size_t length)
{
    if (conn->rx == UVH_RX_HEAD)
        return take_head(conn, data, length);
    if (conn->rx == UVH_RX_BODY)
        return uvh_conn_body_take(conn, data, length);
    uvh_stream_deliver(conn->stream, data, length);
    return length;
}

/* Takes a span apart as far as it goes; answers are collected and leave together. */
static void process(struct uvh_conn *conn, struct span span)
{
    char *data = span.buffer->data + span.offset;
    uint32_t used = 0;
    conn->corked = true;
    while (used < span.length && uvh_conn_takes_bytes(conn)) {
        size_t taken = take(conn, data + used, span.length - used);
        if (taken == 0)
            break; /* nothing can be done with so few bytes */
        used += (uint32_t)taken;
    }
    conn->corked = false;
    if (conn->rx == UVH_RX_STREAM && conn->close_after) /* it has ended: what still comes is thrown away */
        used = span.length;
    if (used < span.length && conn->close_after)
        conn->unread = true;
    bool pinned = pin_head(conn, span.buffer);
    keep_rest(conn, span, used, pinned);
    /* When tx is not idle the socket is known to be full. */
    if (conn->tx == UVH_TX_IDLE && uvh_conn_tx_flush(conn) != 0)
        return;
    uvh_conn_close_if_done(conn);
    uvh_conn_settle(conn, conn->rx !=
                              UVH_RX_STREAM); /* that a stream is read does not mean that its client reads */
}

/* A span at the end of the worker's buffer that begins with what was kept, if anything, and has room behind it. */
static struct span make_room(struct uvh_conn *conn)
{
    struct span kept = take_kept(conn);
    struct uvh_buffer *current = conn->worker->receive_buffer;
    bool continues = kept.buffer != NULL && kept.buffer == current &&
                     kept.offset + kept.length == current->used &&
                     current->capacity - current->used >= MIN_READ;
    if (continues) /* nobody has received in between: the new bytes go right behind */
        return kept;
    struct uvh_buffer *buffer = uvh_worker_receive_buffer(conn->worker, kept.length + MIN_READ);
    struct span span = {buffer, 0, kept.length};
    if (buffer != NULL) {
        uvh_buffer_ref(buffer);
        span.offset = (uint32_t)buffer->used;
        if (kept.length > 0)
            memcpy(buffer->data + span.offset, kept.buffer->data + kept.offset, kept.length);
        buffer->used = span.offset + kept.length;
    }
    if (kept.buffer != NULL)
        uvh_buffer_unref(kept.buffer);
    return span;
}

static void tell_stream_end(struct uvh_conn *conn)
{
    conn->corked = true;
    uvh_stream_deliver_end(conn->stream);
    if (uvh_conn_uncork(conn))
        uvh_conn_proceed(conn);
}

static void peer_has_ended(struct uvh_conn *conn)
{
    conn->peer_ended = true;
    /* What was kept comes before the end; uvh_conn_rx_kept sees to both. */
    if (conn->timeout_class == UVH_TIMEOUT_RESUME && conn->in.length > 0)
        return;
    if (conn->rx == UVH_RX_STREAM) {
        tell_stream_end(conn);
        return;
    }
    /* Ending its side is no goodbye: a request that is complete is still answered. One that is not can never be. */
    if (conn->rx != UVH_RX_WAIT)
        uvh_conn_close(conn);
    else
        uvh_conn_settle(conn, false);
}

/* Reads and throws away, until the client has closed or the linger timeout ends it. */
static void discard(struct uvh_conn *conn)
{
    char waste[16384];
    for (int i = 0; i < DISCARDS_PER_EVENT; i++) {
        ssize_t count = uvh_socket_receive(conn->watch.socket, waste, sizeof(waste));
        if (count == -EAGAIN)
            return;
        if (count <= 0) {
            uvh_conn_close(conn);
            return;
        }
    }
}

void uvh_conn_rx_readable(struct uvh_conn *conn)
{
    if (conn->rx == UVH_RX_STOPPED) {
        discard(conn);
        return;
    }
    struct span span = make_room(conn);
    if (span.buffer == NULL) {
        refuse_without_memory(conn);
        return;
    }
    struct uvh_buffer *buffer = span.buffer;
    size_t room = buffer->capacity - buffer->used;
    ssize_t count = uvh_socket_receive(conn->watch.socket, buffer->data + buffer->used, room);
    if (count <= 0) {
        keep_rest(conn, span, 0, false);
        if (count == 0)
            peer_has_ended(conn);
        else if (count != -EAGAIN)
            uvh_conn_close(conn);
        return;
    }
    uvh_socket_watch_has_read(&conn->watch, (size_t)count < room);
    uvh_counter_add(&conn->worker->counters.bytes_received, (uint64_t)count);
    span.length += (uint32_t)count;
    buffer->used += (size_t)count;
    process(conn, span);
}

void uvh_conn_rx_kept(struct uvh_conn *conn)
{
    if (conn->in.length > 0)
        process(conn, take_kept(conn));
    else
        uvh_conn_settle(conn, true);
    if (conn->rx == UVH_RX_STREAM && conn->life == UVH_CONN_OPEN) {
        if (conn->peer_ended && !conn->stream->paused && !conn->stream->end_told)
            tell_stream_end(conn);
        return;
    }
    /* What is left now will never become a request. */
    bool stopped = conn->rx == UVH_RX_STOPPED && conn->tx == UVH_TX_IDLE;
    if (conn->peer_ended && (stopped || uvh_conn_takes_bytes(conn)))
        uvh_conn_close(conn);
}
