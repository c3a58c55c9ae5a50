/* Receiving: frames become messages, which are assembled, expanded and validated; control frames;
 * pause. */
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "websocket/websocket.h"

enum {
    FIRST_ASSEMBLY = 2048, /* initial bytes of memory for a fragmented message */
    RATE_MS = 1000,        /* the interval of max_message_rate */
};

void uvh_websocket_assembly_free(struct uvhttp_websocket *ws, struct uvh_ws_assembly **slot)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    struct uvh_ws_assembly *assembly = *slot;
    *slot = NULL;
    if (assembly == NULL)
        return;
    uvh_budget_give(&endpoint->memory->budget, assembly->capacity);
    uvh_free(endpoint->allocator, assembly->data);
    uvh_free(endpoint->allocator, assembly);
}

/* Appends to the assembled message. Memory grows with the bytes received, never with the length
 * announced. Returns 0, UVHTTP_EFULL (the budget), UVHTTP_ENOMEM. */
static int assembly_add(struct uvhttp_websocket *ws, struct uvh_ws_assembly **slot,
                        const char *data, size_t size)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    if (*slot == NULL && (*slot = uvh_alloc_zero(endpoint->allocator, sizeof(**slot))) == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_ws_assembly *assembly = *slot;
    if (size > assembly->capacity - assembly->length) {
        size_t capacity = assembly->capacity == 0 ? FIRST_ASSEMBLY : assembly->capacity;
        while (capacity - assembly->length < size)
            capacity *= 2;
        size_t most = endpoint->options.max_message_size;
        if (capacity > most && assembly->length + size <= most) /* a budget must suffice for this */
            capacity = most;
        if (!uvh_budget_take(&endpoint->memory->budget, capacity - assembly->capacity))
            return UVHTTP_EFULL;
        char *data_now = uvh_realloc(endpoint->allocator, assembly->data, capacity);
        if (data_now == NULL) {
            uvh_budget_give(&endpoint->memory->budget, capacity - assembly->capacity);
            return UVHTTP_ENOMEM;
        }
        assembly->data = data_now;
        assembly->capacity = capacity;
    }
    if (size > 0)
        memcpy(assembly->data + assembly->length, data, size);
    assembly->length += size;
    return 0;
}

/* False when the peer exceeds its rate: a token bucket stored as the time at which it is full
 * again. */
static bool within_rate(struct uvhttp_websocket *ws)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    size_t rate = endpoint->options.max_message_rate;
    if (UVH_LIKELY(rate == 0))
        return true;
    /* in units of 1/rate ms, so that nothing is rounded */
    int64_t now = (int64_t)uvhttp_stream_now(ws->stream) * (int64_t)rate;
    int64_t full_at = ws->rate_full_at > now ? ws->rate_full_at : now;
    if (full_at - now > RATE_MS * (int64_t)rate - RATE_MS)
        return false;
    ws->rate_full_at = full_at + RATE_MS;
    return true;
}

static void give_message(struct uvhttp_websocket *ws, const char *data, size_t size)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    uvh_counter_add(&ws->worker->messages_received, 1);
    if (!ws->close_notified)
        options->events.message(ws, ws->text ? UVHTTP_WEBSOCKET_TEXT : UVHTTP_WEBSOCKET_BINARY,
                                data, size, options->arg);
}

static void fail_for(struct uvhttp_websocket *ws, int err)
{
    switch (err) {
    case UVHTTP_EINVAL:
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_INVALID_DATA, "the message cannot be decompressed");
        break;
    case UVHTTP_ETOOLARGE:
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TOO_BIG,
                           "the message exceeds the decompression limits");
        break;
    default:
        uvhttp_server_log(ws->worker->endpoint->server, UVHTTP_LOG_WARNING,
                          "websocket: no memory for a message: %s",
                          err == UVHTTP_EFULL ? "the endpoint's `memory` limit is reached"
                                              : uvhttp_strerror(err));
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "no memory for the message");
        break;
    }
}

/* Uncompressed bytes of a message. `last`: the message ends with them. False when the connection
 * has failed. */
static bool take_bytes(struct uvhttp_websocket *ws, const char *data, size_t size, bool last)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    bool whole = last && ws->message_size == 0;
    ws->message_size += size;
    if (!ws->closing_timer) /* data does not delay the end of the closing handshake */
        uvh_websocket_moved(ws);
    if (UVH_UNLIKELY(ws->message_size > options->max_message_size)) {
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TOO_BIG,
                           "the message is larger than max_message_size");
        return false;
    }
    if (ws->text) {
        bool valid = whole ? uvh_utf8_valid(data, size) : uvh_utf8_check(&ws->utf8, data, size);
        if (!valid || (last && !uvh_utf8_complete(&ws->utf8))) {
            uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_INVALID_DATA, "the text is not valid UTF-8");
            return false;
        }
    }
    if (options->events.chunk != NULL) {
        if (last)
            uvh_counter_add(&ws->worker->messages_received, 1);
        if ((size > 0 || last) && !ws->close_notified)
            options->events.chunk(ws, ws->text ? UVHTTP_WEBSOCKET_TEXT : UVHTTP_WEBSOCKET_BINARY,
                                  data, size, last, options->arg);
        return true;
    }
    if (whole) {
        give_message(ws, data, size);
        return true;
    }
    int err = size == 0 ? 0 : assembly_add(ws, &ws->assembly, data, size);
    if (err != 0) {
        fail_for(ws, err);
        return false;
    }
    if (last && ws->assembly != NULL)
        give_message(ws, ws->assembly->data, ws->assembly->length);
    else if (last)
        give_message(ws, "", 0);
    if (last)
        uvh_websocket_assembly_free(ws, &ws->assembly);
    return true;
}

/* Continues to expand the current part, to its end or until the user pauses: then the rest stays
 * compressed, since it may expand to much more. */
static void expand_on(struct uvhttp_websocket *ws)
{
    struct uvh_ws_worker *worker = ws->worker;
    int err = 0;
    while (err == 0 && ws->expanding && !ws->paused && !ws->failed && ws->stream != NULL) {
        size_t size = UVH_WS_SCRATCH;
        bool done = false;
        err = uvh_ws_deflate_expand(ws->deflate, &worker->deflate, worker->scratch, &size, &done);
        if (err != 0)
            break;
        ws->expanding = !done;
        if (!take_bytes(ws, worker->scratch, size, done && ws->expands_last))
            return;
    }
    if (err != 0)
        fail_for(ws, err);
}

static void expand(struct uvhttp_websocket *ws, struct uvh_ws_event *event)
{
    struct uvh_ws_worker *worker = ws->worker;
    if (worker->scratch == NULL &&
        (worker->scratch = uvh_alloc(worker->endpoint->allocator, UVH_WS_SCRATCH)) == NULL) {
        fail_for(ws, UVHTTP_ENOMEM);
        return;
    }
    int err =
        uvh_ws_deflate_begin(ws->deflate, &worker->deflate, event->data, event->size, event->last);
    if (err != 0) {
        fail_for(ws, err);
        return;
    }
    ws->expanding = true;
    ws->expands_last = event->last;
    expand_on(ws);
}

/* Bytes before `data` that are left of the part, because the user has paused. */
static size_t left_to_expand(const struct uvhttp_websocket *ws)
{
    return UVH_UNLIKELY(ws->expanding) && ws->paused ? uvh_ws_deflate_left(ws->deflate) : 0;
}

/* The rest of a part, which is at `data` now. Returns the number of bytes used. */
static size_t expand_kept(struct uvhttp_websocket *ws, const char *data)
{
    size_t left = uvh_ws_deflate_left(ws->deflate);
    uvh_ws_deflate_moved(ws->deflate, data);
    expand_on(ws);
    return left - left_to_expand(ws);
}

static void on_chunk(struct uvhttp_websocket *ws, struct uvh_ws_event *event)
{
    if (event->first) {
        if (!within_rate(ws)) {
            uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_POLICY_VIOLATION,
                               "more messages than max_message_rate");
            return;
        }
        ws->message_size = 0;
        ws->text = event->text;
        ws->utf8 = (struct uvh_utf8){0};
    }
    if (UVH_UNLIKELY(event->compressed))
        expand(ws, event);
    else
        (void)take_bytes(ws, event->data, event->size, event->last);
}

static void on_control(struct uvhttp_websocket *ws, const struct uvh_ws_event *event)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    if (!within_rate(ws)) {
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_POLICY_VIOLATION,
                           "more frames than max_message_rate");
        return;
    }
    if (event->kind == UVH_WS_EVENT_PONG) {
        if (options->events.pong != NULL && !ws->close_notified)
            options->events.pong(ws, event->data, event->size, options->arg);
        return;
    }
    /* One pong may answer all pings (RFC 6455 section 5.5.3), so a peer that does not read has at
     * most one queued. */
    if (!ws->close_sent) {
        if (ws->queue != NULL && ws->pong_waits)
            uvh_ws_queue_drop_pong(ws->queue);
        int err = uvh_websocket_send_control(ws, UVH_WS_PONG, event->data, event->size);
        ws->pong_waits = err == 0 && ws->queue != NULL;
    }
    if (options->events.ping != NULL && !ws->close_notified && ws->stream != NULL)
        options->events.ping(ws, event->data, event->size, options->arg);
}

static bool is_reading(const struct uvhttp_websocket *ws)
{
    return ws->stream != NULL && !ws->failed && !ws->close_received;
}

void uvh_websocket_receive(struct uvhttp_websocket *ws, char *data, size_t size)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    const struct uvh_ws_rules *rules =
        ws->client ? &endpoint->from_servers : &endpoint->from_clients;
    struct uvh_ws_event event;
    uvh_websocket_ref(ws);
    uvh_websocket_heard(ws);
    if (UVH_UNLIKELY(ws->expanding) && is_reading(ws)) {
        size_t used = expand_kept(ws, data);
        data += used;
        size -= used;
    }
    while (size > 0 && is_reading(ws)) {
        if (UVH_UNLIKELY(ws->paused)) {
            int err = assembly_add(ws, &ws->kept, data, size);
            if (err != 0)
                fail_for(ws, err);
            break;
        }
        size_t used = uvh_ws_reader_next(&ws->reader, rules, data, size, &event);
        data += used;
        size -= used;
        if (UVH_LIKELY(event.kind == UVH_WS_EVENT_CHUNK)) {
            on_chunk(ws, &event);
            size_t left = left_to_expand(ws);
            data -= left;
            size += left;
        } else if (event.kind == UVH_WS_EVENT_PING || event.kind == UVH_WS_EVENT_PONG) {
            on_control(ws, &event);
        } else if (event.kind == UVH_WS_EVENT_CLOSE) {
            uvh_websocket_take_close(ws, &event);
        } else if (event.kind == UVH_WS_EVENT_BAD) {
            uvh_websocket_fail(ws, event.code, event.reason);
        } else if (event.kind == UVH_WS_EVENT_SIZE) {
            ws->reader.control = uvh_alloc(endpoint->allocator, UVH_WS_CONTROL_MAX);
            if (ws->reader.control == NULL)
                fail_for(ws, UVHTTP_ENOMEM);
        }
    }
    uvh_websocket_unref(ws);
}

void uvhttp_websocket_pause(uvhttp_websocket_t *ws)
{
    if (ws->stream == NULL || ws->close_sent)
        return;
    ws->paused = true;
    uvhttp_stream_pause(ws->stream);
}

/* In a separate loop iteration, since the caller of resume may be within another connection's
 * message. */
static void take_kept(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    (void)server, (void)worker;
    if (!ws->paused) {
        char none[1];
        struct uvh_ws_assembly *kept = ws->kept;
        ws->kept = NULL;
        if (kept != NULL && ws->stream != NULL)
            uvh_websocket_receive(ws, kept->data, kept->length);
        else if (ws->expanding && ws->stream != NULL)
            uvh_websocket_receive(ws, none, 0);
        uvh_websocket_assembly_free(ws, &kept);
        if (!ws->paused && ws->stream != NULL)
            uvhttp_stream_resume(ws->stream);
    }
    uvh_websocket_unref(ws);
}

void uvhttp_websocket_resume(uvhttp_websocket_t *ws)
{
    if (!ws->paused || ws->stream == NULL)
        return;
    ws->paused = false;
    uvh_websocket_heard(ws); /* this side did not read */
    if (ws->kept == NULL && !ws->expanding) {
        uvhttp_stream_resume(ws->stream);
        return;
    }
    uvh_websocket_ref(ws);
    if (uvhttp_server_post(ws->worker->endpoint->server, ws->worker->index, take_kept, ws) == 0)
        return;
    uvhttp_stream_close(ws->stream);
    uvh_websocket_unref(ws);
}
