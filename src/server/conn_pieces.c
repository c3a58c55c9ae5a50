/* Responses whose body comes in pieces: each piece goes to the socket at once, or waits in the connection's output until the socket takes it,
 * up to the limit write_backlog. A large piece that nothing waits before is sent from where it lies; only what the socket does not
 * take is copied. Called through struct uvh_protocol. */
#include "server/conn.h"

#include <errno.h>
#include <string.h>

#include "codec/h1_encode.h"
#include "platform/socket.h"
#include "server/pace.h"
#include "server/server.h"

enum {
    COPIED_PIECE = 4096, /* up to this size a piece is copied beside what is collected */
    LAST_CHUNK_SIZE = 5, /* "0" CR LF, and CR LF behind the trailers */
};

static const uvhttp_slice_t line_end = {"\r\n", 2};

static enum uvh_h1_sends how_to_send(const struct uvh_h1_exchange *exchange)
{
    if (uvh_conn_head_only(exchange))
        return UVH_H1_SENDS_NOTHING;
    if (exchange->base.response.body.size != UVHTTP_LENGTH_UNKNOWN)
        return UVH_H1_SENDS_LENGTH;
    return exchange->head.minor_version == 0 ? UVH_H1_SENDS_TO_END : UVH_H1_SENDS_CHUNKS;
}

int uvh_conn_pieces_begin(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    enum uvh_h1_sends sends = how_to_send(exchange);
    /* To a client of HTTP/1.0 that asks by HEAD the length stays unknown, too. */
    int err = uvh_conn_head_put(exchange->conn, sends, 0);
    if (err != 0)
        return err;
    exchange->sends = (unsigned char)sends;
    /* The head alone leaves at once: the first piece may be long in coming. */
    return uvh_conn_write_push(exchange->conn);
}

int uvh_conn_pieces_write(struct uvh_exchange *base, uvhttp_slice_t piece)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    struct uvh_body *body = &base->response.body;
    bool chunked = exchange->sends == UVH_H1_SENDS_CHUNKS;
    if (exchange->sends == UVH_H1_SENDS_NOTHING)
        return 0;
    if (exchange->sends == UVH_H1_SENDS_LENGTH && piece.length > body->size)
        return UVHTTP_ELENGTH;
    /* With filters it was asked before they took what this was made of. */
    if (base->response.filters == NULL && !uvh_conn_pieces_has_room(base))
        return UVHTTP_EFULL;
    bool direct = piece.length > COPIED_PIECE && conn->tx == UVH_TX_IDLE;
    size_t extra = chunked ? UVH_H1_ENCODE_CHUNK_LINE_SIZE + line_end.length : 0;
    int err = direct && extra == 0 ? 0 : uvh_conn_tx_reserve(conn, extra + (direct ? 0 : piece.length));
    if (err != 0)
        return err;
    if (exchange->sends == UVH_H1_SENDS_LENGTH)
        body->size -= piece.length;
    base->sent += piece.length;
    if (UVH_UNLIKELY(base->response.pace != NULL))
        uvh_pace_take(base->response.pace, piece.length);
    if (chunked) {
        size_t line = uvh_h1_encode_chunk_line(conn->out.buffer->data + conn->out.end,
                                               UVH_H1_ENCODE_CHUNK_LINE_SIZE, piece.length);
        conn->out.end += (uint32_t)line;
        base->sent += line + line_end.length;
    }
    if (direct)
        return uvh_conn_write_now(conn, (uvhttp_slice_t[]){piece, line_end}, chunked ? 2 : 1);
    char *out = conn->out.buffer->data + conn->out.end;
    memcpy(out, piece.base, piece.length);
    conn->out.end += (uint32_t)piece.length;
    if (chunked) {
        memcpy(out + piece.length, line_end.base, line_end.length);
        conn->out.end += (uint32_t)line_end.length;
    }
    return uvh_conn_write_push(conn);
}

bool uvh_conn_pieces_has_room(const struct uvh_exchange *base)
{
    return uvh_conn_pieces_pending(base) <= base->worker->server->config.write_backlog &&
           uvh_conn_tx_allowed(base) > 0;
}

size_t uvh_conn_pieces_pending(const struct uvh_exchange *base)
{
    const struct uvh_h1_exchange *exchange =
        UVH_CONTAINER_OF((struct uvh_exchange *)(uintptr_t)base, struct uvh_h1_exchange, base);
    return uvh_conn_tx_waiting(exchange->conn).length;
}

void uvh_conn_pieces_await_room(struct uvh_exchange *base)
{
    struct uvh_conn *conn = uvh_h1_exchange_of(base)->conn;
    base->response.wants_drain = true;
    if (!conn->corked)
        uvh_conn_settle(conn, false);
}

static int append_last_chunk(struct uvh_conn *conn)
{
    const struct uvh_header_list *trailers = &conn->exchange->base.response.trailers;
    size_t size = LAST_CHUNK_SIZE;
    for (uint16_t i = 0; i < trailers->count; i++)
        size += trailers->items[i].name.length + trailers->items[i].value.length + UVH_H1_ENCODE_FIELD_EXTRA;
    int err = uvh_conn_tx_reserve(conn, size);
    if (err != 0)
        return err;
    char *out = conn->out.buffer->data + conn->out.end;
    char *end = out + size;
    memcpy(out, "0\r\n", 3);
    out += 3;
    for (uint16_t i = 0; i < trailers->count; i++)
        out +=
            uvh_h1_encode_field(out, (size_t)(end - out), trailers->items[i].name, trailers->items[i].value);
    uvh_h1_encode_end(out, (size_t)(end - out));
    conn->out.end += (uint32_t)size;
    conn->exchange->base.sent += size;
    return 0;
}

int uvh_conn_pieces_end(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    int err = 0;
    if (exchange->sends == UVH_H1_SENDS_LENGTH && base->response.body.size > 0)
        err = UVHTTP_ELENGTH;
    else if (exchange->sends == UVH_H1_SENDS_CHUNKS)
        err = append_last_chunk(conn);
    if (err != 0) {
        uvh_conn_tx_abandon(conn);
        return err;
    }
    base->response.state = UVH_RESPONSE_SENT;
    if (base->response.close_after) /* perhaps only since the head, which has not said so then */
        conn->close_after = conn->unread = true;
    uvh_conn_tx_complete(conn);
    return 0;
}

int uvh_conn_pieces_interim(struct uvh_exchange *base, int status)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    if (exchange->head.minor_version == 0)
        return 0;
    int err = uvh_conn_head_interim(exchange->conn, status);
    return err != 0 ? err : uvh_conn_write_push(exchange->conn);
}

bool uvh_conn_pieces_waits_for_room(const struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED || conn->tx != UVH_TX_IDLE)
        return false;
    const struct uvhttp_response *response = &conn->exchange->base.response;
    return response->wants_drain && response->state == UVH_RESPONSE_BEGUN;
}
