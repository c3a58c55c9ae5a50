/* Bodies in: from the bytes behind a head to what a handler gets, as a whole or piece by piece, and the trailers behind them.
 *
 * A body that came as a whole with its head is a slice of the receive buffer; one that comes later is collected, or handed on as it comes. Called
 * by conn_rx.c, and through struct uvh_protocol when a middleware has decided late or a handler asks for the body. */
#include "server/conn.h"

#include <string.h>

#include "server/server.h"

static void refuse_too_large(struct uvh_conn *conn)
{
    uvh_conn_rx_refuse(conn, 413, "the body is larger than this resource takes");
}

/* Asks for the body of a client that waits to be asked; false when memory ran out, and then the request was refused. */
static bool pay_continue(struct uvh_conn *conn)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct uvh_h1_exchange *exchange = conn->exchange;
    bool owed = exchange->continue_owed && exchange->base.response.state == UVH_RESPONSE_OPEN;
    exchange->continue_owed = false;
    if (!owed) /* also when the answer has begun already, behind which no interim one may come */
        return true;
    int err = uvh_conn_tx_append(conn, go_on, sizeof(go_on) - 1);
    if (err == UVHTTP_ENOMEM)
        uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    if (err != 0)
        return false;
    uvh_counter_add(&conn->worker->counters.responses_1xx, 1);
    return true;
}

static void tell_body_end(struct uvh_h1_exchange *exchange)
{
    if (exchange->body_told)
        return;
    exchange->body_told = true;
    uvh_exchange_deliver(&exchange->base, "", 0);
}

/* The body is complete, or will not be read, or the handler takes it in pieces: the handler's turn. */
static void run_exchange(struct uvh_conn *conn)
{
    conn->rx = UVH_RX_WAIT;
    uvh_exchange_run(&conn->exchange->base);
}

/* The middleware has let the request pass; of its body `length` bytes are at hand. Returns how many of them are used. */
size_t uvh_conn_body_start(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    const uvhttp_framing_t *framing = &exchange->base.request.framing;
    uint64_t size = framing->content_length;
    if (framing->body == UVHTTP_BODY_NONE || (framing->body == UVHTTP_BODY_LENGTH && size == 0)) {
        exchange->request_complete = true;
        run_exchange(conn);
        return 0;
    }
    if (exchange->base.match.route == NULL) {
        /* 404 or 405 need no body. One that is here is skipped; otherwise the answer closes the connection. */
        bool at_hand = framing->body == UVHTTP_BODY_LENGTH && size <= length;
        exchange->request_complete = at_hand;
        run_exchange(conn);
        return at_hand ? (size_t)size : 0;
    }
    uint64_t limit = uvh_exchange_body_limit(&exchange->base);
    if (framing->body == UVHTTP_BODY_LENGTH && size > limit) {
        refuse_too_large(conn);
        return length;
    }
    bool in_pieces = uvh_exchange_streams_body(&exchange->base);
    if (!in_pieces && framing->body == UVHTTP_BODY_LENGTH && size <= length) {
        exchange->base.request.body = (uvhttp_slice_t){data, (size_t)size};
        exchange->request_complete = true;
        run_exchange(conn);
        return (size_t)size;
    }
    uvhttp_chunked_init(&exchange->chunked, (uint32_t)conn->worker->server->config.max_chunk_extension);
    exchange->body_remaining = size;
    exchange->body_room = limit;
    exchange->continue_owed = framing->expect_continue && length == 0 && conn->in.length == 0;
    if (in_pieces) { /* nothing is read before the handler asks for it */
        run_exchange(conn);
        return 0;
    }
    if (!pay_continue(conn))
        return length;
    uvh_bytes_init(&exchange->body, conn->worker->server->allocator, (size_t)limit);
    conn->rx = UVH_RX_BODY;
    return 0;
}

void uvh_conn_body_admitted(struct uvh_exchange *base)
{
    struct uvh_conn *conn = uvh_h1_exchange_of(base)->conn;
    bool corked = conn->corked;
    if (conn->life == UVH_CONN_CLOSED)
        return;
    conn->corked = true;
    uvh_conn_body_start(conn, NULL, 0);
    conn->corked = corked;
    if (!corked && (conn->tx != UVH_TX_IDLE || uvh_conn_tx_flush(conn) == 0))
        uvh_conn_proceed(conn);
}

void uvh_conn_body_pause(struct uvh_exchange *base)
{
    struct uvh_conn *conn = uvh_h1_exchange_of(base)->conn;
    if (!conn->corked)
        uvh_conn_settle(conn, false);
}

void uvh_conn_body_read(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    if (conn->life == UVH_CONN_CLOSED)
        return;
    if (exchange->request_complete) {
        tell_body_end(exchange);
        if (!conn->corked)
            uvh_conn_settle(conn, false); /* the handler's time runs now */
        return;
    }
    conn->rx = UVH_RX_BODY;
    if (!pay_continue(conn))
        return;
    if (!conn->corked && (conn->tx != UVH_TX_IDLE || uvh_conn_tx_flush(conn) == 0))
        uvh_conn_proceed(conn);
}

static void body_complete(struct uvh_conn *conn)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    exchange->request_complete = true;
    if (exchange->base.request.on_body != NULL) {
        conn->rx = UVH_RX_WAIT;
        if (!exchange->base.request.body_paused)
            tell_body_end(exchange);
        return;
    }
    exchange->base.request.body = (uvhttp_slice_t){exchange->body.data, exchange->body.length};
    run_exchange(conn);
}

/* Hands on or stores a piece of the body; false when the exchange is over, or the request was refused over it. */
static bool take_piece(struct uvh_conn *conn, const char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    if (length > exchange->body_room) {
        refuse_too_large(conn);
        return false;
    }
    exchange->body_room -= length;
    if (exchange->base.request.on_body != NULL) {
        uvh_exchange_deliver(&exchange->base, data, length);
        return conn->life == UVH_CONN_OPEN && conn->exchange == exchange && conn->rx == UVH_RX_BODY;
    }
    if (uvh_bytes_append(&exchange->body, data, length) == 0)
        return true;
    uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    return false;
}

/* The trailer section is taken in one piece, like a head, and copied, because the handler sees it later than these bytes live. */
static size_t take_trailers(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    uvhttp_head_t *trailers = exchange->trailers;
    bool out_of_memory = false;
    const uvhttp_head_limits_t *limits = &conn->worker->trailer_limits;
    uvhttp_parse_result_t result = uvhttp_trailers_parse(trailers, data, length, limits);
    if (result == UVHTTP_PARSE_BAD &&
        uvh_conn_rx_larger_table(&exchange->base.arena, trailers, limits, &out_of_memory))
        result = uvhttp_trailers_parse(trailers, data, length, limits);
    if (result == UVHTTP_PARSE_MORE)
        return 0;
    if (out_of_memory) {
        uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    if (result == UVHTTP_PARSE_BAD) {
        uvh_conn_rx_refuse_reason(conn, (uvhttp_reason_t)trailers->reason);
        return length;
    }
    size_t size = trailers->size;
    if (trailers->field_count > 0) {
        char *copy = uvh_arena_copy(&exchange->base.arena, data, size);
        if (copy == NULL) {
            uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
            return length;
        }
        trailers->base = copy;
        exchange->base.request.trailers = trailers;
        exchange->base.request.trailer_bytes = copy;
    }
    body_complete(conn);
    return size;
}

static size_t take_chunked(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    if (exchange->trailers != NULL)
        return take_trailers(conn, data, length);
    size_t consumed = 0;
    uvhttp_slice_t piece;
    uvhttp_parse_result_t result = uvhttp_chunked_decode(&exchange->chunked, data, length, &consumed, &piece);
    if (result == UVHTTP_PARSE_BAD) {
        uvh_conn_rx_refuse_reason(conn, (uvhttp_reason_t)exchange->chunked.reason);
        return length;
    }
    if (piece.length > 0 && !take_piece(conn, piece.base, piece.length))
        return length;
    if (exchange->chunked.remaining > exchange->body_room) {
        refuse_too_large(conn); /* before the rest of the chunk comes */
        return length;
    }
    if (result == UVHTTP_PARSE_MORE)
        return consumed;
    exchange->trailers = uvh_arena_alloc(&exchange->base.arena, sizeof(*exchange->trailers));
    if (exchange->trailers == NULL) {
        uvh_conn_rx_refuse(conn, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    uvhttp_head_init(exchange->trailers, NULL, 0);
    return consumed;
}

size_t uvh_conn_body_take(struct uvh_conn *conn, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = conn->exchange;
    if (exchange->base.request.framing.body == UVHTTP_BODY_CHUNKED)
        return take_chunked(conn, data, length);
    size_t size = exchange->body_remaining < length ? (size_t)exchange->body_remaining : length;
    exchange->body_remaining -= size;
    if (!take_piece(conn, data, size))
        return length;
    if (exchange->body_remaining == 0)
        body_complete(conn);
    return size;
}
