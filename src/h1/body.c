/* Request bodies and trailers: from the bytes following a head to the handler, as a whole or
 * streamed.
 *
 * A body that arrived with its head is a slice of the receive buffer; a later one is collected or
 * streamed. Called while data is received, and through struct uvh_protocol when an asynchronous
 * middleware has decided or a handler requests the body. */
#include "h1/h1.h"

#include <string.h>

#include <uvhttp/error.h>

#include "server/server.h"

static void refuse_too_large(struct uvh_h1 *h1)
{
    static const char detail[] = "the body is too large for this resource";
    const struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange->request_complete || uvh_h1_skips_body(exchange))
        uvh_h1_refuse(h1, 413, detail);
    else
        uvh_h1_reject(h1, 413, detail);
}

/* Sends 100 Continue to a client that waits for it. False when out of memory; then the request was
 * rejected. */
static bool pay_continue(struct uvh_h1 *h1)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    bool owed = exchange->continue_owed && exchange->base.response.state == UVH_RESPONSE_OPEN;
    exchange->continue_owed = false;
    if (!owed) /* also when the response has begun, after which no interim response may follow */
        return true;
    int err;
    char *space = uvh_output_reserve(&h1->conn, sizeof(go_on) - 1, &err);
    if (err == UVHTTP_ENOMEM)
        uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    if (space == NULL)
        return false;
    memcpy(space, go_on, sizeof(go_on) - 1);
    uvh_output_commit(&h1->conn, sizeof(go_on) - 1);
    uvh_counter_add(&uvh_h1_worker(h1)->counters.responses_1xx, 1);
    return true;
}

static void deliver_end(struct uvh_h1_exchange *exchange)
{
    if (exchange->end_delivered)
        return;
    exchange->end_delivered = true;
    uvh_exchange_deliver(&exchange->base, "", 0);
}

/* Runs the handler: the body is complete, is not read, or is streamed. */
static void run_exchange(struct uvh_h1 *h1)
{
    h1->state = UVH_H1_WAIT;
    uvh_exchange_run(&uvh_h1_exchange(h1)->base);
}

/* The middleware has passed the request on. `length` bytes of its body are in `data`. Returns how
 * many of them are consumed. */
size_t uvh_h1_body_start(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    const uvhttp_framing_t *framing = &exchange->base.request.framing;
    uint64_t size = framing->content_length;
    if (framing->body == UVHTTP_BODY_NONE || (framing->body == UVHTTP_BODY_LENGTH && size == 0)) {
        exchange->request_complete = true;
        run_exchange(h1);
        return 0;
    }
    bool routed = exchange->base.match.route != NULL;
    uint64_t limit = routed ? uvh_exchange_body_limit(&exchange->base) : 0;
    if (!routed || (framing->body == UVHTTP_BODY_LENGTH && size > limit)) {
        /* 404, 405 and 413 need no body */
        bool at_hand = framing->body == UVHTTP_BODY_LENGTH && size <= length;
        exchange->request_complete = at_hand;
        if (routed)
            refuse_too_large(h1);
        else
            run_exchange(h1);
        return at_hand ? (size_t)size : 0;
    }
    bool streamed = uvh_exchange_streams_body(&exchange->base);
    if (!streamed && framing->body == UVHTTP_BODY_LENGTH && size <= length) {
        exchange->base.request.body = (uvhttp_slice_t){data, (size_t)size};
        exchange->request_complete = true;
        run_exchange(h1);
        return (size_t)size;
    }
    uvhttp_chunked_init(&exchange->chunked,
                        (uint32_t)uvh_h1_worker(h1)->server->config.max_chunk_extension);
    exchange->body_space = limit;
    exchange->continue_owed = framing->expect_continue && length == 0 && h1->conn.in.length == 0;
    if (streamed) { /* reads nothing before the handler requests it */
        run_exchange(h1);
        return 0;
    }
    if (!pay_continue(h1))
        return length;
    uvh_bytes_init(&exchange->body, uvh_h1_worker(h1)->server->allocator, (size_t)limit);
    h1->state = UVH_H1_BODY;
    return 0;
}

void uvh_h1_body_admitted(struct uvh_exchange *base)
{
    struct uvh_h1 *h1 = uvh_h1_exchange_of(base)->h1;
    if (uvh_conn_is_closed(&h1->conn))
        return;
    uvh_conn_event_begin(&h1->conn);
    uvh_h1_body_start(h1, NULL, 0);
    uvh_conn_event_end(&h1->conn);
}

void uvh_h1_body_pause(struct uvh_exchange *base)
{
    struct uvh_conn *conn = &uvh_h1_exchange_of(base)->h1->conn;
    uvh_conn_event_begin(conn);
    uvh_conn_event_end(conn);
}

void uvh_h1_body_read(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_h1 *h1 = exchange->h1;
    if (uvh_conn_is_closed(&h1->conn))
        return;
    uvh_conn_event_begin(&h1->conn);
    if (exchange->request_complete) {
        deliver_end(exchange);
    } else {
        h1->state = UVH_H1_BODY;
        h1->conn.starved = false; /* kept bytes may be the start of the body */
        pay_continue(h1);
    }
    uvh_conn_event_end(&h1->conn);
}

static void body_complete(struct uvh_h1 *h1)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    exchange->request_complete = true;
    if (exchange->base.request.on_body != NULL) {
        h1->state = UVH_H1_WAIT;
        if (!exchange->base.request.body_paused)
            deliver_end(exchange);
        return;
    }
    exchange->base.request.body = (uvhttp_slice_t){exchange->body.data, exchange->body.length};
    run_exchange(h1);
}

/* Passes on or stores a part of the body. False when the exchange is finished, or the request was
 * rejected. */
static bool take_part(struct uvh_h1 *h1, const char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (length > exchange->body_space) {
        refuse_too_large(h1);
        return false;
    }
    exchange->body_space -= length;
    if (exchange->base.request.on_body != NULL) {
        uvh_exchange_deliver(&exchange->base, data, length);
        return !uvh_conn_is_closed(&h1->conn) && h1->conn.owner == exchange &&
               h1->state == UVH_H1_BODY;
    }
    if (uvh_bytes_append(&exchange->body, data, length) == 0)
        return true;
    uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    return false;
}

/* The trailer section is parsed in one contiguous buffer, like a head, and copied, because the
 * handler reads it after the buffer is reused. */
static size_t take_trailers(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    uvhttp_head_t *trailers = exchange->trailers;
    bool out_of_memory = false;
    const uvhttp_head_limits_t *limits = &uvh_h1_worker(h1)->trailer_limits;
    uvhttp_parse_result_t result = uvhttp_trailers_parse(trailers, data, length, limits);
    if (result == UVHTTP_PARSE_BAD &&
        uvh_h1_larger_table(&exchange->base.arena, trailers, limits, &out_of_memory))
        result = uvhttp_trailers_parse(trailers, data, length, limits);
    if (result == UVHTTP_PARSE_MORE)
        return 0;
    if (out_of_memory) {
        uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    if (result == UVHTTP_PARSE_BAD) {
        uvh_h1_reject_reason(h1, (uvhttp_reason_t)trailers->reason);
        return length;
    }
    size_t size = trailers->size;
    if (trailers->field_count > 0) {
        char *copy = uvh_arena_copy(&exchange->base.arena, data, size);
        if (copy == NULL) {
            uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
            return length;
        }
        trailers->base = copy;
        exchange->base.request.trailers = trailers;
        exchange->base.request.trailer_bytes = copy;
    }
    body_complete(h1);
    return size;
}

static size_t take_chunked(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange->trailers != NULL)
        return take_trailers(h1, data, length);
    size_t consumed = 0;
    uvhttp_slice_t chunk;
    uvhttp_parse_result_t result =
        uvhttp_chunked_decode(&exchange->chunked, data, length, &consumed, &chunk);
    if (result == UVHTTP_PARSE_BAD) {
        uvh_h1_reject_reason(h1, (uvhttp_reason_t)exchange->chunked.reason);
        return length;
    }
    if (chunk.length > 0 && !take_part(h1, chunk.base, chunk.length))
        return length;
    if (exchange->chunked.remaining > exchange->body_space) {
        refuse_too_large(h1); /* before the rest of the chunk arrives */
        return length;
    }
    if (result == UVHTTP_PARSE_MORE)
        return consumed;
    exchange->trailers = uvh_arena_alloc(&exchange->base.arena, sizeof(*exchange->trailers));
    if (exchange->trailers == NULL) {
        uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    uvhttp_head_init(exchange->trailers, NULL, 0);
    return consumed;
}

size_t uvh_h1_body_take(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange->base.request.framing.body == UVHTTP_BODY_CHUNKED)
        return take_chunked(h1, data, length);
    size_t size = exchange->body_remaining < length ? (size_t)exchange->body_remaining : length;
    exchange->body_remaining -= size;
    if (take_part(h1, data, size) && exchange->body_remaining == 0)
        body_complete(h1);
    return size;
}
