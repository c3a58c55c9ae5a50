/* Streamed responses: each part is sent at the end of the event, or at once when it is large. What
 * the socket does not accept is queued, up to write_backlog. Called through struct uvh_protocol. */
#include <string.h>

#include <uvhttp/error.h>

#include "codec/http1/encode.h"
#include "conn/pace.h"
#include "h1/h1.h"
#include "server/server.h"

enum { LAST_CHUNK_SIZE = 5 /* "0" CR LF, and CR LF after the trailers */ };

static const uvhttp_slice_t line_end = {"\r\n", 2};

static enum uvh_h1_sends how_to_send(const struct uvh_h1_exchange *exchange)
{
    if (uvh_h1_head_only(exchange))
        return UVH_H1_SENDS_NOTHING;
    if (exchange->base.response.body.size != UVHTTP_LENGTH_UNKNOWN)
        return UVH_H1_SENDS_LENGTH;
    return exchange->head.minor_version == 0 ? UVH_H1_SENDS_TO_END : UVH_H1_SENDS_CHUNKS;
}

/* The end of an event may find the connection broken, and close it. */
static int end_event(struct uvh_conn *conn, int err)
{
    uvh_conn_event_end(conn);
    return err == 0 && uvh_conn_is_closed(conn) ? UVHTTP_EDISCONNECTED : err;
}

int uvh_h1_chunks_begin(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = &exchange->h1->conn;
    enum uvh_h1_sends sends = how_to_send(exchange);
    uvh_conn_event_begin(conn);
    /* For HEAD from an HTTP/1.0 client the length stays unknown, too. */
    int err = uvh_h1_head_put(exchange->h1, sends, 0);
    if (err == 0)
        exchange->sends = (unsigned char)sends;
    return end_event(conn, err);
}

/* Frames a part and passes it to the output. */
static int put_part(struct uvh_h1_exchange *exchange, uvhttp_slice_t part)
{
    struct uvh_exchange *base = &exchange->base;
    char line[UVH_H1_ENCODE_CHUNK_LINE_SIZE];
    uvhttp_slice_t areas[] = {{line, 0}, part, line_end};
    bool chunked = exchange->sends == UVH_H1_SENDS_CHUNKS;
    size_t size = part.length;
    if (chunked) {
        areas[0].length = uvh_h1_encode_chunk_line(line, sizeof(line), part.length);
        size += areas[0].length + line_end.length;
    }
    /* before the write: if the connection breaks, unsent bytes are subtracted */
    base->sent += size;
    int err = chunked ? uvh_output_write(&exchange->h1->conn, areas, 3, size)
                      : uvh_output_write(&exchange->h1->conn, &part, 1, size);
    if (err == UVHTTP_ENOMEM)
        base->sent -= size;
    if (err != 0)
        return err;
    if (exchange->sends == UVH_H1_SENDS_LENGTH)
        base->response.body.size -= part.length;
    if (UVH_UNLIKELY(base->response.pace != NULL))
        uvh_pace_take(base->response.pace, part.length);
    return 0;
}

int uvh_h1_chunks_write(struct uvh_exchange *base, uvhttp_slice_t part)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = &exchange->h1->conn;
    if (exchange->sends == UVH_H1_SENDS_NOTHING)
        return 0;
    if (exchange->sends == UVH_H1_SENDS_LENGTH && part.length > base->response.body.size)
        return UVHTTP_ELENGTH;
    /* With filters this was checked before they processed the data. */
    if (base->response.filters == NULL && !uvh_h1_chunks_is_writable(base))
        return UVHTTP_EFULL;
    uvh_conn_event_begin(conn);
    return end_event(conn, put_part(exchange, part));
}

bool uvh_h1_chunks_is_writable(const struct uvh_exchange *base)
{
    return uvh_h1_chunks_pending(base) <= base->worker->server->config.write_backlog &&
           uvh_exchange_allowed(base) > 0;
}

size_t uvh_h1_chunks_pending(const struct uvh_exchange *base)
{
    const struct uvh_h1_exchange *exchange =
        uvh_h1_exchange_of((struct uvh_exchange *)(uintptr_t)base);
    return uvh_conn_pending(&exchange->h1->conn);
}

void uvh_h1_chunks_await_room(struct uvh_exchange *base)
{
    struct uvh_conn *conn = &uvh_h1_exchange_of(base)->h1->conn;
    base->response.wants_drain = true;
    uvh_conn_event_begin(conn);
    uvh_conn_event_end(conn);
}

static int put_last_chunk(struct uvh_h1_exchange *exchange)
{
    const struct uvh_header_list *trailers = &exchange->base.response.trailers;
    struct uvh_conn *conn = &exchange->h1->conn;
    size_t size = LAST_CHUNK_SIZE;
    int err;
    for (uint16_t i = 0; i < trailers->count; i++)
        size += trailers->items[i].name.length + trailers->items[i].value.length +
                UVH_H1_ENCODE_FIELD_EXTRA;
    char *out = uvh_output_reserve(conn, size, &err);
    if (out == NULL)
        return err;
    char *end = out + size;
    memcpy(out, "0\r\n", 3);
    out += 3;
    for (uint16_t i = 0; i < trailers->count; i++)
        out += uvh_h1_encode_field(out, (size_t)(end - out), trailers->items[i].name,
                                   trailers->items[i].value);
    uvh_h1_encode_end(out, (size_t)(end - out));
    uvh_output_commit(conn, size);
    exchange->base.sent += size;
    return 0;
}

int uvh_h1_chunks_end(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = &exchange->h1->conn;
    int err = 0;
    uvh_conn_event_begin(conn);
    if (exchange->sends == UVH_H1_SENDS_LENGTH && base->response.body.size > 0)
        err = UVHTTP_ELENGTH;
    else if (exchange->sends == UVH_H1_SENDS_CHUNKS)
        err = put_last_chunk(exchange);
    if (err != 0) {
        uvh_h1_abandon(base);
    } else {
        base->response.state = UVH_RESPONSE_SENT;
        /* may have been set after the head was sent */
        if (base->response.close_after)
            uvh_conn_close_when_sent(conn, true);
        uvh_h1_complete(exchange->h1);
    }
    uvh_conn_event_end(conn);
    return err;
}

int uvh_h1_chunks_interim(struct uvh_exchange *base, int status)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = &exchange->h1->conn;
    if (exchange->head.minor_version == 0)
        return 0;
    uvh_conn_event_begin(conn);
    return end_event(conn, uvh_h1_head_interim(exchange->h1, status));
}
