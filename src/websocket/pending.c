/* Data for a peer that does not read: in the stream what is left of its last writes, then the
 * connection's queue. Applies the limits and budget of both, and flushes them. */
#include "websocket/websocket.h"

#include <uvhttp/error.h>

#include "base/compiler.h"

enum { SLICE = UVH_WS_SCRATCH };

size_t uvhttp_websocket_pending(const uvhttp_websocket_t *ws)
{
    if (ws->stream == NULL)
        return 0;
    return uvhttp_stream_pending(ws->stream) + (ws->queue == NULL ? 0 : ws->queue->bytes);
}

bool uvh_websocket_charge(struct uvhttp_websocket *ws)
{
    size_t blocked = ws->stream == NULL ? 0 : uvhttp_stream_blocked(ws->stream);
    struct uvh_budget *budget = &ws->worker->endpoint->memory->budget;
    if (UVH_LIKELY(blocked == ws->charged))
        return true;
    if (blocked < ws->charged) {
        uvh_budget_give(budget, ws->charged - blocked);
    } else if (!uvh_budget_take(budget, blocked - ws->charged)) {
        uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER,
                                 "the memory limit for queued data is reached");
        uvhttp_stream_close(ws->stream);
        return false;
    }
    ws->charged = blocked;
    if (blocked > 0)
        uvhttp_stream_await_drain(ws->stream); /* the budget is released when it is flushed */
    return true;
}

/* Requests the `drain` callback. */
static void await_drain(struct uvhttp_websocket *ws)
{
    if (!ws->full) {
        ws->full = true;
        uvhttp_stream_await_drain(ws->stream);
    }
}

/* The bytes that the limits apply to. */
static size_t waiting(const struct uvhttp_websocket *ws)
{
    return ws->charged + (ws->queue == NULL ? 0 : ws->queue->bytes);
}

int uvh_websocket_taken(struct uvhttp_websocket *ws)
{
    if (UVH_UNLIKELY(ws->stream == NULL)) /* await_drain broke the connection */
        return UVHTTP_EDISCONNECTED;
    uvh_websocket_moved(ws);
    if (UVH_LIKELY(waiting(ws) <= ws->worker->endpoint->options.high_watermark))
        return 0;
    await_drain(ws);
    return UVHTTP_QUEUED;
}

int uvh_websocket_reserve(struct uvhttp_websocket *ws, size_t size, bool is_message)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    struct uvh_ws_worker *worker = ws->worker;
    size_t needed = waiting(ws) + size;
    if (needed <= options->max_queue_size)
        return 0;
    if (options->slow == UVHTTP_WEBSOCKET_SLOW_CLOSE) {
        uvh_counter_add(&worker->dropped, 1);
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "the peer reads too slowly");
        return UVHTTP_EDISCONNECTED;
    }
    /* A message that cannot fit even then drops no other messages. */
    if (options->slow == UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST && ws->queue != NULL &&
        needed - ws->queue->droppable <= options->max_queue_size) {
        while (waiting(ws) + size > options->max_queue_size && uvh_ws_queue_drop_oldest(ws->queue))
            uvh_counter_add(&worker->dropped, 1);
        return 0;
    }
    if (is_message)
        uvh_counter_add(&worker->dropped, 1);
    await_drain(ws);
    return UVHTTP_EFULL;
}

int uvh_websocket_push(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message,
                       bool compressed)
{
    if (ws->queue == NULL && (ws->queue = uvh_ws_queue_new(ws->worker->endpoint->allocator,
                                                           ws->worker->endpoint->memory)) == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_ws_queue_push(ws->queue, message, compressed);
    if (err == 0) {
        uvhttp_stream_await_drain(ws->stream);
    } else if (ws->queue->count == 0) { /* an empty queue would never be freed */
        uvh_ws_queue_free(ws->queue);
        ws->queue = NULL;
    }
    return err;
}

void uvh_websocket_pump(struct uvhttp_websocket *ws)
{
    uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS];
    while (ws->queue != NULL && ws->queue->count > 0) {
        size_t count = uvh_ws_queue_areas(ws->queue, areas, UVHTTP_STREAM_MAX_AREAS, SLICE),
               bytes = 0;
        for (size_t i = 0; i < count; i++)
            bytes += areas[i].length;
        int err = uvhttp_stream_write_areas(ws->stream, areas, count);
        if (err == UVHTTP_EFULL)
            return;
        if (err == UVHTTP_ENOMEM) { /* the next drain tries again */
            uvhttp_stream_await_drain(ws->stream);
            return;
        }
        if (err != 0 || ws->queue == NULL)
            return;
        uvh_ws_queue_advance(ws->queue, bytes);
        if (!uvh_websocket_charge(ws))
            return;
    }
    uvh_ws_queue_free(ws->queue);
    ws->queue = NULL;
    uvh_websocket_end_if_sent(ws);
}

void uvh_websocket_drained(struct uvhttp_websocket *ws)
{
    uvh_websocket_ref(ws);
    if (uvh_websocket_charge(ws))
        uvh_websocket_pump(ws);
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    if (ws->full && ws->stream != NULL) {
        if (uvhttp_websocket_pending(ws) > options->low_watermark) {
            uvhttp_stream_await_drain(ws->stream);
        } else {
            ws->full = false;
            if (options->events.drain != NULL && !ws->close_notified)
                options->events.drain(ws, options->arg);
        }
    }
    uvh_websocket_unref(ws);
}
