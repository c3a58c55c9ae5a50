/* Bytes out: bodies follow their heads (conn_head.c) in one buffer, and leave with as few system calls as possible.
 *
 * While a receive event is worked on (`corked`) small answers are collected and leave together. A body that is not copied beside its head
 * is sent straight from where it lies, by the same call as what was collected before it, or by sendfile. What the socket does
 * not take stays, and the connection is not read until it has gone. */
#include "server/conn.h"

#include <errno.h>
#include <string.h>

#include "platform/socket.h"
#include "server/pace.h"
#include "server/server.h"

enum {
    COPIED_BODY =
        4096, /* bodies up to this size are copied beside their head, so that pipelined answers share a write */
    PARTS_PER_EVENT = 1 << 20, /* bytes of a body in several parts before other connections get their turn */
    TIGHT_ENOUGH = 1024,       /* bytes; below, a better fit is not worth the move */
};

uvhttp_slice_t uvh_conn_tx_waiting(const struct uvh_conn *conn)
{
    if (conn->out.buffer == NULL)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){conn->out.buffer->data + conn->out.begin, conn->out.end - conn->out.begin};
}

static void drop_out(struct uvh_conn *conn)
{
    if (conn->out.buffer != NULL)
        uvh_buffer_unref(conn->out.buffer);
    conn->out = (struct uvh_conn_output){NULL, 0, 0};
}

/* Behind a full socket it may stay for long. */
static struct uvh_buffer *take_buffer(struct uvh_conn *conn, size_t least)
{
    struct uvh_buffer_pool *pool = &conn->worker->buffers;
    return conn->tx == UVH_TX_FLUSH ? uvh_buffer_take_fitting(pool, least) : uvh_buffer_take(pool, least);
}

/* What waits goes to another buffer, which is large enough. */
static void move_out(struct uvh_conn *conn, struct uvh_buffer *buffer)
{
    uvhttp_slice_t pending = uvh_conn_tx_waiting(conn);
    if (pending.length > 0)
        memcpy(buffer->data, pending.base, pending.length);
    drop_out(conn);
    conn->out = (struct uvh_conn_output){buffer, 0, (uint32_t)pending.length};
}

/* There is a buffer, which has too little room behind what waits. */
static int make_room(struct uvh_conn *conn, size_t size)
{
    struct uvh_conn_output *out = &conn->out;
    /* When the socket is known to be full there is no use in trying. */
    if (conn->tx != UVH_TX_FLUSH && uvh_conn_tx_flush(conn) != 0)
        return UVHTTP_EGONE;
    uvhttp_slice_t pending = uvh_conn_tx_waiting(conn);
    if (out->buffer != NULL && out->buffer->capacity - pending.length >= size) {
        memmove(out->buffer->data, pending.base, pending.length);
        *out = (struct uvh_conn_output){out->buffer, 0, (uint32_t)pending.length};
        return 0;
    }
    /* Twice what waits, so that many small pieces are not copied again for each. */
    struct uvh_buffer *buffer =
        take_buffer(conn, pending.length + (size > pending.length ? size : pending.length));
    if (buffer == NULL)
        return UVHTTP_ENOMEM;
    move_out(conn, buffer);
    return 0;
}

int uvh_conn_tx_reserve(struct uvh_conn *conn, size_t size)
{
    struct uvh_conn_output *out = &conn->out;
    if (out->buffer != NULL)
        return out->buffer->capacity - out->end >= size ? 0 : make_room(conn, size);
    struct uvh_buffer *buffer = take_buffer(conn, size);
    if (buffer == NULL)
        return UVHTTP_ENOMEM;
    *out = (struct uvh_conn_output){buffer, 0, 0};
    return 0;
}

void uvh_conn_tx_tighten(struct uvh_conn *conn)
{
    size_t waiting = uvh_conn_tx_waiting(conn).length;
    size_t capacity = conn->out.buffer->capacity;
    if (capacity <= TIGHT_ENOUGH || waiting > capacity / 8)
        return;
    struct uvh_buffer *buffer = uvh_buffer_take_fitting(&conn->worker->buffers, waiting);
    if (buffer != NULL)
        move_out(conn, buffer);
}

int uvh_conn_tx_append(struct uvh_conn *conn, const char *bytes, size_t length)
{
    int err = uvh_conn_tx_reserve(conn, length);
    if (err != 0)
        return err;
    memcpy(conn->out.buffer->data + conn->out.end, bytes, length);
    conn->out.end += (uint32_t)length;
    return 0;
}

/* What is still to come of the request's body is not taken any more. */
static void stop_body(struct uvh_conn *conn)
{
    if (conn->rx == UVH_RX_BODY)
        conn->rx = UVH_RX_WAIT;
}

void uvh_conn_tx_complete(struct uvh_conn *conn)
{
    stop_body(conn);
    uvh_exchange_finish(&conn->exchange->base, false);
    if (conn->corked || conn->exchange == NULL || conn->tx != UVH_TX_IDLE)
        return;
    /* Somebody holds the exchange, perhaps a job for long; the answer need not wait for that. */
    if (uvh_conn_tx_flush(conn) != 0)
        return;
    uvh_conn_close_if_done(conn);
    uvh_conn_settle(conn, true);
}

void uvh_conn_tx_abandon(struct uvh_conn *conn)
{
    const struct uvh_h1_exchange *exchange = conn->exchange;
    bool to_end = exchange != NULL && exchange->sends == UVH_H1_SENDS_TO_END;
    if (conn->tx == UVH_TX_IDLE && uvh_conn_tx_flush(conn) != 0)
        return;
    if (to_end && conn->life == UVH_CONN_OPEN) /* a regular end would look like that of the body */
        uvh_socket_reset_when_closed(conn->watch.socket);
    uvh_conn_close(conn);
}

/* So much of the body has been handed to the system. */
static void pass_body(struct uvh_exchange *base, uint64_t count)
{
    struct uvh_body *body = &base->response.body;
    if (body->source == UVH_BODY_FILE)
        body->offset += count;
    else
        body->base += count;
    body->size -= count;
    base->sent += count;
    if (UVH_UNLIKELY(base->response.pace != NULL))
        uvh_pace_take(base->response.pace, count);
}

/* The body is sent from where it lies, behind what is collected. */
static void begin_body(struct uvh_conn *conn)
{
    stop_body(conn);
    conn->tx = UVH_TX_BODY;
    if (uvh_conn_tx_flush(conn) != 0 || conn->corked)
        return;
    uvh_conn_close_if_done(conn);
    uvh_conn_settle(conn, true);
}

static void count_standing(struct uvh_conn *conn, size_t sent)
{
    struct uvh_counters *counters = &conn->worker->counters;
    uvh_counters_response(counters, 200);
    uvh_counter_add(&counters->bytes_sent, sent);
    conn->exchange->base.sent += sent;
}

/* Sends an answer that is kept. True when that was all; otherwise it is to be sent as ever, but for its first `*sent` bytes. */
static bool send_standing(struct uvh_conn *conn, const struct uvh_standing_answer *answer, size_t *sent)
{
    ssize_t count = uvh_socket_send_file(conn->watch.socket, conn->worker->standing.descriptor,
                                         answer->offset, answer->size);
    if (UVH_UNLIKELY(count != (ssize_t)answer->size)) {
        *sent = count > 0 ? (size_t)count : 0; /* what an error was about the next try says */
        return false;
    }
    count_standing(conn, answer->size);
    uvh_conn_tx_complete(conn);
    return true;
}

/* The first bytes of head and body have left already. */
static void leave_out(struct uvh_conn *conn, size_t sent)
{
    size_t of_body = uvh_conn_tx_sent(conn, sent);
    pass_body(&conn->exchange->base, of_body);
}

/* A response whose body is not copied beside its head, and is not empty. */
static int respond_in_place(struct uvh_h1_exchange *exchange)
{
    struct uvh_conn *conn = exchange->conn;
    const struct uvh_body *body = &exchange->base.response.body;
    struct uvh_standing_answer *standing = uvh_conn_standing_ask(exchange);
    size_t sent = 0;
    if (standing != NULL && standing->size > 0 && send_standing(conn, standing, &sent))
        return 0;
    int err = uvh_conn_head_put(conn, UVH_H1_SENDS_LENGTH, 0); /* the same one, in the same second */
    if (err != 0 && sent == 0)
        return err;
    if (err != 0) { /* a part has left */
        count_standing(conn, sent);
        uvh_conn_close(conn);
        return 0;
    }
    if (standing != NULL)
        uvh_conn_standing_keep(exchange, standing);
    if (sent > 0)
        leave_out(conn, sent);
    if (body->parts != NULL)
        uvh_conn_parts_next(conn);
    if (body->size == 0) { /* all parts were small */
        uvh_conn_tx_complete(conn);
        return 0;
    }
    if (body->source == UVH_BODY_FILE)
        uvh_file_share_begin(&conn->worker->file_share, body->size);
    begin_body(conn);
    return 0;
}

int uvh_conn_tx_respond(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    const struct uvh_body *body = &base->response.body;
    bool head_only = uvh_conn_head_only(exchange);
    bool copied = body->source == UVH_BODY_MEMORY && body->size <= COPIED_BODY && base->response.pace == NULL;
    if (!head_only && !copied && body->size > 0)
        return respond_in_place(exchange);
    enum uvh_h1_sends sends = head_only ? UVH_H1_SENDS_NOTHING : UVH_H1_SENDS_LENGTH;
    int err = uvh_conn_head_put(conn, sends, head_only ? 0 : (size_t)body->size);
    if (err != 0)
        return err;
    if (!head_only && body->size > 0) {
        memcpy(conn->out.buffer->data + conn->out.end, body->base, (size_t)body->size);
        conn->out.end += (uint32_t)body->size;
        base->sent += body->size;
    }
    uvh_conn_tx_complete(conn);
    return 0;
}

/* The sender's memory goes when its call returns, so what could not be sent is copied. False when memory ran out. */
static bool own_rest(struct uvh_conn *conn, struct uvh_body *body)
{
    if (!body->transient)
        return true;
    char *copy = uvh_arena_text(&conn->exchange->base.arena, (size_t)body->size);
    if (copy == NULL)
        return false;
    memcpy(copy, body->base, (size_t)body->size);
    body->base = copy;
    body->transient = false;
    return true;
}

size_t uvh_conn_tx_sent(struct uvh_conn *conn, size_t count)
{
    size_t from_out = uvh_conn_tx_waiting(conn).length;
    if (count < from_out)
        from_out = count;
    conn->out.begin += (uint32_t)from_out;
    uvh_counter_add(&conn->worker->counters.bytes_sent, count);
    return count - from_out;
}

uint64_t uvh_conn_tx_allowed(const struct uvh_exchange *base)
{
    struct uvh_pace *pace = base->response.pace;
    return UVH_LIKELY(pace == NULL) ? UINT64_MAX : uvh_pace_allowed(pace, uv_now(base->worker->loop));
}

bool uvh_conn_tx_paced(const struct uvh_conn *conn)
{
    return conn->exchange != NULL && uvh_conn_tx_allowed(&conn->exchange->base) == 0;
}

enum { SENT_ALL, SENT_SOME, BROKEN };

/* Sends `out`, and the body if it lies in memory. */
static int send_memory(struct uvh_conn *conn)
{
    uvhttp_slice_t areas[2] = {uvh_conn_tx_waiting(conn)};
    size_t area_count = areas[0].length > 0 ? 1 : 0;
    size_t size = areas[0].length;
    bool file_follows = false;
    bool held_back = false;
    if (conn->tx == UVH_TX_BODY) {
        const struct uvh_body *body = &conn->exchange->base.response.body;
        uint64_t most = uvh_conn_tx_allowed(&conn->exchange->base);
        file_follows = body->source == UVH_BODY_FILE && body->size > 0 && most > 0;
        held_back = body->source == UVH_BODY_MEMORY && body->size > most;
        if (body->source == UVH_BODY_MEMORY && body->size > 0 && most > 0) {
            areas[area_count++] = (uvhttp_slice_t){body->base, (size_t)(held_back ? most : body->size)};
            size += areas[area_count - 1].length;
        }
    }
    if (area_count == 0)
        return held_back ? SENT_SOME : SENT_ALL;
    ssize_t count = uvh_socket_send(conn->watch.socket, areas, area_count, file_follows);
    if (count < 0)
        return count == -EAGAIN ? SENT_SOME : BROKEN;
    bool all = (size_t)count == size;
    size_t of_body = uvh_conn_tx_sent(conn, (size_t)count);
    if (of_body > 0) {
        pass_body(&conn->exchange->base, of_body);
    }
    return all && !held_back ? SENT_ALL : SENT_SOME; /* less than asked means that the socket is full */
}

/* The file could not be read on, or, for all one can tell, the socket has ended meanwhile. */
static void report_read_error(struct uvh_exchange *base, int error)
{
    struct uvhttp_response *response = &base->response;
    if (error == -EPIPE || error == -ECONNRESET)
        return;
    uvh_server_log(base->worker->server, UVHTTP_LOG_ERROR, "%s: %s", uvhttp_request_path(&base->request),
                   uvhttp_strerror(error));
    if (response->on_read_error != NULL)
        response->on_read_error(error, response->read_error_arg);
}

static uint64_t file_slice(struct uvh_worker *worker)
{
    const struct uvh_counters *counters = &worker->counters;
    uint64_t answers =
        uvh_counter_read(&counters->responses_2xx) + uvh_counter_read(&counters->responses_3xx) +
        uvh_counter_read(&counters->responses_4xx) + uvh_counter_read(&counters->responses_5xx);
    return uvh_file_share_next(&worker->file_share, answers, uv_now(worker->loop));
}

static int send_file(struct uvh_conn *conn)
{
    if (conn->tx != UVH_TX_BODY || conn->exchange->base.response.body.source != UVH_BODY_FILE)
        return SENT_ALL;
    struct uvh_body *body = &conn->exchange->base.response.body;
    uint64_t allowed = uvh_conn_tx_allowed(&conn->exchange->base);
    uint64_t share = file_slice(conn->worker);
    if (allowed < share)
        share = allowed;
    if (share > 0 && body->size > 0) {
        size_t size = (size_t)(body->size < share ? body->size : share);
        ssize_t count = uvh_socket_send_file(conn->watch.socket, body->descriptor, body->offset, size);
        if (count == -EAGAIN)
            return SENT_SOME;
        if (count <= 0) {
            report_read_error(&conn->exchange->base, count == 0 ? UVHTTP_ETRUNCATED : (int)count);
            return BROKEN;
        }
        pass_body(&conn->exchange->base, (uint64_t)count);
        uvh_counter_add(&conn->worker->counters.bytes_sent, (uint64_t)count);
    }
    return body->size == 0 ? SENT_ALL : SENT_SOME;
}

/* `out` and the body behind it, of which each part in turn. */
static int send_waiting(struct uvh_conn *conn)
{
    uint64_t most = conn->tx == UVH_TX_BODY ? conn->exchange->base.sent + PARTS_PER_EVENT : 0;
    for (;;) {
        int result = send_memory(conn);
        if (result == SENT_ALL)
            result = send_file(conn);
        if (result != SENT_ALL || conn->tx != UVH_TX_BODY || !uvh_conn_parts_next(conn))
            return result;
        if (conn->exchange->base.sent >= most)
            return SENT_SOME;
    }
}

/* What there is to send has been tried. 0 or UVHTTP_EGONE. */
static UVH_NEVER_INLINE int after_sending(struct uvh_conn *conn, int result)
{
    if (result == SENT_SOME) {
        if (conn->tx != UVH_TX_BODY)
            conn->tx = UVH_TX_FLUSH;
        else if (!own_rest(conn, &conn->exchange->base.response.body))
            result = BROKEN;
    }
    if (result == BROKEN) {
        uvh_conn_close(conn);
        return UVHTTP_EGONE;
    }
    if (uvh_conn_tx_waiting(conn).length == 0)
        drop_out(conn);
    if (result == SENT_SOME)
        return 0;
    bool body_sent = conn->tx == UVH_TX_BODY;
    conn->tx = UVH_TX_IDLE;
    if (body_sent)
        uvh_exchange_finish(&conn->exchange->base, false);
    return conn->life == UVH_CONN_OPEN ? 0 : UVHTTP_EGONE;
}

int uvh_conn_tx_flush(struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED)
        return UVHTTP_EGONE;
    if (conn->tx != UVH_TX_IDLE)
        return after_sending(conn, send_waiting(conn));
    if (conn->out.buffer == NULL)
        return 0;
    /* Answers that were collected, and as good as always the socket takes them. */
    uvhttp_slice_t waiting = uvh_conn_tx_waiting(conn);
    if (UVH_LIKELY(waiting.length > 0)) {
        ssize_t count = uvh_socket_send(conn->watch.socket, &waiting, 1, false);
        if (UVH_UNLIKELY(count < 0))
            return after_sending(conn, count == -EAGAIN ? SENT_SOME : BROKEN);
        uvh_conn_tx_sent(conn, (size_t)count);
        if (UVH_UNLIKELY((size_t)count < waiting.length))
            return after_sending(conn, SENT_SOME);
    }
    drop_out(conn);
    return 0;
}

void uvh_conn_tx_writable(struct uvh_conn *conn)
{
    if (uvh_conn_tx_flush(conn) == 0 && !uvh_conn_tell_drained(conn))
        uvh_conn_proceed(conn);
}
