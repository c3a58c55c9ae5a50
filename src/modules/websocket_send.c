/* Sending: a message goes to the stream at once, and to the queue when the socket does not take it.
 *
 * The stream copies what a socket leaves of one write, so no write is longer than SLICE, and nothing is written behind what was refused: what waits, waits
 * here, where it is a message that can be counted, dropped and shared. */
#include "modules/websocket.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "codec/ws_mask.h"
#include "platform/random.h"

enum {
    SLICE = UVH_WS_SCRATCH,
    SMALL = 4096, /* of a client: what is masked on the stack */
};

/* ---- what waits ---- */

size_t uvhttp_websocket_pending(const uvhttp_websocket_t *ws)
{
    if (ws->stream == NULL)
        return 0;
    return uvhttp_stream_pending(ws->stream) + (ws->queue == NULL ? 0 : ws->queue->bytes);
}

/* What the stream keeps is the endpoint's memory as well. False when there is none left for it; then the connection is gone. */
static bool charge(struct uvhttp_websocket *ws)
{
    size_t blocked = ws->stream == NULL ? 0 : uvhttp_stream_blocked(ws->stream);
    struct uvh_budget *budget = &ws->worker->endpoint->budget;
    if (UVH_LIKELY(blocked == ws->charged))
        return true;
    if (blocked < ws->charged) {
        uvh_budget_give(budget, ws->charged - blocked);
    } else if (!uvh_budget_take(budget, blocked - ws->charged)) {
        uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "memory for what waits is used up");
        uvhttp_stream_close(ws->stream);
        return false;
    }
    ws->charged = blocked;
    if (blocked > 0)
        uvhttp_stream_await_drain(ws->stream); /* it is given back when that has left */
    return true;
}

/* Whoever gets this is told by `drain`. */
static int await_room(struct uvhttp_websocket *ws)
{
    if (!ws->full) {
        ws->full = true;
        uvhttp_stream_await_drain(ws->stream);
    }
    return UVHTTP_EFULL;
}

/* How a message that was taken is answered. */
static int taken(struct uvhttp_websocket *ws)
{
    size_t waits = ws->queue != NULL ? ws->queue->bytes + ws->charged : ws->charged;
    uvh_websocket_moved(ws);
    return UVH_LIKELY(waits <= ws->worker->endpoint->options.high_watermark) ? 0 : await_room(ws);
}

/* Makes room for `size` bytes as the endpoint's policy for slow peers has it. 0, UVHTTP_EFULL (not taken), UVHTTP_EGONE. */
static int make_room(struct uvhttp_websocket *ws, size_t size, bool droppable)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    struct uvh_ws_worker *worker = ws->worker;
    size_t waits = ws->charged + (ws->queue == NULL ? 0 : ws->queue->bytes);
    if (waits + size <= options->max_queue_size)
        return 0;
    if (options->slow == UVHTTP_WEBSOCKET_SLOW_CLOSE) {
        uvh_counter_add(&worker->dropped, 1);
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "reads too slowly");
        return UVHTTP_EGONE;
    }
    /* What would not fit beside what has left already makes nobody else's place free. */
    bool fits = ws->charged + size <= options->max_queue_size;
    while (options->slow == UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST && fits && ws->queue != NULL &&
           ws->charged + ws->queue->bytes + size > options->max_queue_size &&
           uvh_ws_queue_drop_oldest(ws->queue))
        uvh_counter_add(&worker->dropped, 1);
    if (ws->charged + (ws->queue == NULL ? 0 : ws->queue->bytes) + size <= options->max_queue_size)
        return 0;
    if (droppable)
        uvh_counter_add(&worker->dropped, 1);
    return await_room(ws);
}

static int push(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message, bool compressed,
                size_t sent)
{
    if (ws->queue == NULL && (ws->queue = uvh_ws_queue_new(ws->worker->endpoint->allocator,
                                                           &ws->worker->endpoint->budget)) == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_ws_queue_push(ws->queue, message, compressed, sent);
    if (err == 0)
        uvhttp_stream_await_drain(ws->stream);
    return err;
}

/* Gives the stream what waits, as far as it takes it. The connection may be gone afterwards. */
static void pump(struct uvhttp_websocket *ws)
{
    uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS];
    while (ws->queue != NULL && ws->queue->count > 0) {
        size_t count = uvh_ws_queue_areas(ws->queue, areas, UVHTTP_STREAM_MAX_AREAS, SLICE), bytes = 0;
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
        if (!charge(ws))
            return;
    }
    uvh_ws_queue_free(ws->queue);
    ws->queue = NULL;
    uvh_websocket_end_if_sent(ws);
}

void uvh_websocket_drained(struct uvhttp_websocket *ws)
{
    uvh_websocket_hold(ws);
    if (charge(ws))
        pump(ws);
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    if (ws->full && ws->stream != NULL) {
        if (uvhttp_websocket_pending(ws) > options->low_watermark) {
            uvhttp_stream_await_drain(ws->stream);
        } else {
            ws->full = false;
            if (options->events.drain != NULL && !ws->told)
                options->events.drain(ws, options->arg);
        }
    }
    uvh_websocket_let_go(ws);
}

/* ---- frames ---- */

/* What a frame is to the limits of the queue. */
enum frame_class {
    DROPPABLE, /* a message */
    PART,      /* of what the peer has to get, or would not understand what follows */
    CONTROL,   /* has room always */
};

/* Bytes that stand in two areas go to the stream, or a copy of what is left of them to the queue. */
static int write_frame(struct uvhttp_websocket *ws, uvhttp_slice_t head, uvhttp_slice_t payload,
                       enum frame_class class)
{
    size_t size = head.length + payload.length, sent = 0;
    if (UVH_LIKELY(ws->queue == NULL)) {
        while (sent < size) {
            size_t behind = sent < head.length ? 0 : sent - head.length;
            size_t count = payload.length - behind < SLICE ? payload.length - behind : SLICE;
            uvhttp_slice_t areas[2] = {
                head, {payload.base + behind, count}
            };
            int err = sent == 0 ? uvhttp_stream_write_areas(ws->stream, areas, 2)
                                : uvhttp_stream_write(ws->stream, areas[1].base, count);
            if (err == UVHTTP_EGONE || (err == UVHTTP_ENOMEM && sent == 0))
                return err;
            if (err != 0)
                break;
            sent += count + (sent == 0 ? head.length : 0);
            if (!charge(ws))
                return UVHTTP_EGONE;
        }
        if (UVH_LIKELY(sent == size))
            return 0;
    }
    int err = sent > 0 || class == CONTROL ? 0 : make_room(ws, size, class == DROPPABLE);
    if (err != 0)
        return err;
    size_t of_head = sent < head.length ? head.length - sent : 0;
    struct uvhttp_websocket_message *message =
        uvh_websocket_message_of(ws->worker->endpoint, size - sent, class == DROPPABLE && sent == 0);
    if (message != NULL) {
        message->pong = class == CONTROL && (head.base[0] & 0x0f) == UVH_WS_PONG;
        memcpy(message->bytes, head.base + (head.length - of_head), of_head);
        memcpy(message->bytes + of_head, payload.base + (payload.length - (size - sent - of_head)),
               size - sent - of_head);
    }
    err = message == NULL ? UVHTTP_ENOMEM : push(ws, message, false, 0);
    uvhttp_websocket_message_unref(message);
    if (err != 0 && sent > 0) { /* the peer waits for the rest of a frame */
        uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "no memory for the rest of a frame");
        uvhttp_stream_close(ws->stream);
        return UVHTTP_EGONE;
    }
    return err;
}

/* As a client: masked with a number that the sender of the payload cannot know (RFC 6455 section 10.3). */
static int write_masked(struct uvhttp_websocket *ws, struct uvh_ws_frame *frame, const void *data,
                        enum frame_class class)
{
    char head[UVH_WS_HEAD_MAX], small[SMALL];
    size_t size = (size_t)frame->length;
    const uvhttp_allocator_t *allocator = ws->worker->endpoint->allocator;
    uint64_t number;
    int err = uvh_random_number(&number);
    if (err != 0)
        return err;
    frame->masked = true;
    memcpy(frame->mask, &number, sizeof(frame->mask));
    char *masked = size <= sizeof(small) ? small : uvh_alloc(allocator, size);
    if (masked == NULL)
        return UVHTTP_ENOMEM;
    uvh_ws_mask_copy(masked, data, size, frame->mask, 0);
    err = write_frame(ws, (uvhttp_slice_t){head, uvh_ws_frame_head(frame, head)},
                      (uvhttp_slice_t){masked, size}, class);
    if (masked != small)
        uvh_free(allocator, masked);
    return err;
}

static int send_frame(struct uvhttp_websocket *ws, struct uvh_ws_frame *frame, const void *data,
                      enum frame_class class)
{
    char head[UVH_WS_HEAD_MAX];
    if (data == NULL) /* an empty one may be nowhere */
        data = "";
    if (ws->client)
        return write_masked(ws, frame, data, class);
    return write_frame(ws, (uvhttp_slice_t){head, uvh_ws_frame_head(frame, head)},
                       (uvhttp_slice_t){data, (size_t)frame->length}, class);
}

/* ---- messages ---- */

static int check_open(const struct uvhttp_websocket *ws, uvhttp_websocket_kind_t kind, const void *data,
                      size_t size)
{
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EGONE;
    if (ws->sending_pieces || (kind != UVHTTP_WEBSOCKET_TEXT && kind != UVHTTP_WEBSOCKET_BINARY))
        return UVHTTP_EINVAL;
    return kind == UVHTTP_WEBSOCKET_TEXT && !uvh_utf8_valid(data, size) ? UVHTTP_EINVAL : 0;
}

/* The payload as it is sent: compressed in the worker's buffer, or as it was. */
static void compress(struct uvhttp_websocket *ws, struct uvh_ws_frame *frame, const void **data)
{
    struct uvh_ws_worker *worker = ws->worker;
    if (ws->deflate == NULL || frame->length < worker->endpoint->options.compression_min_size)
        return;
    worker->out.length = 0;
    worker->out.failed = false;
    if (!uvh_ws_deflate_message(ws->deflate, &worker->deflate, *data, (size_t)frame->length, &worker->out))
        return;
    frame->compressed = true;
    frame->length = worker->out.length;
    *data = worker->out.data;
}

/* What was kept for a large message is not kept for the next small one. */
static void trim(struct uvh_bytes *out)
{
    const uvhttp_allocator_t *allocator = out->allocator;
    size_t maximum = out->maximum;
    if (out->capacity <= SLICE)
        return;
    uvh_bytes_release(out);
    uvh_bytes_init(out, allocator, maximum);
}

int uvhttp_websocket_send(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const void *data, size_t size)
{
    struct uvh_ws_worker *worker = ws->worker;
    struct uvh_ws_frame frame = {.opcode = (uint8_t)kind, .last = true, .length = size};
    int err = check_open(ws, kind, data, size);
    if (err != 0)
        return err;
    if (ws->queue != NULL) { /* before the window moves on for a message that is not taken */
        err = make_room(ws, size + UVH_WS_HEAD_MAX, true);
        if (err != 0)
            return err;
    }
    /* What has to stay droppable is no part of a window. */
    bool stays_droppable = ws->queue != NULL && ws->deflate != NULL &&
                           uvh_ws_deflate_dedicated(ws->deflate) &&
                           worker->endpoint->options.slow == UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
    if (!stays_droppable)
        compress(ws, &frame, &data);
    uvh_websocket_hold(ws);
    bool in_window = frame.compressed && uvh_ws_deflate_dedicated(ws->deflate);
    err = send_frame(ws, &frame, data, in_window ? PART : DROPPABLE);
    if (err == 0) {
        uvh_counter_add(&worker->messages_sent, 1);
        err = taken(ws);
    } else if (frame.compressed && ws->stream != NULL) {
        /* The peer's window has not got what ours has. */
        (void)uvh_ws_deflate_pass(ws->deflate, 0);
    }
    trim(&worker->out);
    uvh_websocket_let_go(ws);
    return err;
}

int uvhttp_websocket_send_text(uvhttp_websocket_t *ws, const char *text)
{
    return uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_TEXT, text, strlen(text));
}

int uvhttp_websocket_send_piece(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const void *data,
                                size_t size, bool last)
{
    struct uvh_ws_worker *worker = ws->worker;
    bool first = !ws->sending_pieces;
    struct uvh_ws_frame frame = {
        .opcode = first ? (uint8_t)kind : UVH_WS_CONTINUATION, .last = last, .length = size};
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EGONE;
    if (kind != UVHTTP_WEBSOCKET_TEXT && kind != UVHTTP_WEBSOCKET_BINARY)
        return UVHTTP_EINVAL;
    struct uvh_utf8 sent = first ? (struct uvh_utf8){0} : ws->sent_utf8;
    if (first)
        ws->sending_text = kind == UVHTTP_WEBSOCKET_TEXT;
    if (ws->sending_text && (!uvh_utf8_check(&sent, data, size) || (last && !uvh_utf8_complete(&sent))))
        return UVHTTP_EINVAL;
    uvh_websocket_hold(ws);
    int err = send_frame(ws, &frame, data, PART);
    if (err == 0) {
        ws->sending_pieces = !last;
        ws->sent_utf8 = sent;
        if (last)
            uvh_counter_add(&worker->messages_sent, 1);
        err = taken(ws);
    } else if (err == UVHTTP_EFULL) { /* which would say that it was taken */
        err = UVHTTP_ENOMEM;
    }
    uvh_websocket_let_go(ws);
    return err;
}

/* ---- messages for many ---- */

/* Whether the peer gets the compressed one. */
static bool passes_compressed(struct uvhttp_websocket *ws, const struct uvhttp_websocket_message *message)
{
    return ws->deflate != NULL && message->compressed_size > 0 &&
           uvh_ws_deflate_pass(ws->deflate, message->window_bits);
}

/* To the end of the queue. */
static int enqueue(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message)
{
    /* Who has taken everything so far is not slow. */
    bool waits = ws->queue != NULL || uvhttp_stream_blocked(ws->stream) > 0;
    int err = waits ? make_room(ws, message->plain_size, true) : 0;
    return err != 0 ? err : push(ws, message, passes_compressed(ws, message), 0);
}

/* A frame longer than a slice goes through the queue, which knows how far it has left. */
static int send_shared(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message)
{
    int err = UVHTTP_EFULL;
    if (ws->queue == NULL && message->plain_size <= SLICE && uvhttp_stream_blocked(ws->stream) == 0) {
        uvhttp_slice_t frame = uvh_websocket_message_frame(message, passes_compressed(ws, message));
        err = uvhttp_stream_write(ws->stream, frame.base, frame.length);
    }
    if (err == UVHTTP_EFULL) {
        err = enqueue(ws, message);
        if (err == 0)
            pump(ws);
        return err != 0 ? err : ws->stream == NULL ? UVHTTP_EGONE : 0;
    }
    return err != 0 || charge(ws) ? err : UVHTTP_EGONE;
}

int uvhttp_websocket_send_message(uvhttp_websocket_t *ws, uvhttp_websocket_message_t *message)
{
    struct uvh_ws_worker *worker = ws->worker;
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EGONE;
    if (ws->client || ws->sending_pieces)
        return UVHTTP_EINVAL;
    uvh_websocket_hold(ws);
    int err = send_shared(ws, message);
    if (err == 0) {
        uvh_counter_add(&worker->messages_sent, 1);
        err = taken(ws);
    }
    uvh_websocket_let_go(ws);
    return err;
}

/* Frames that leave with one call, at most SLICE bytes: as areas, or behind one another in the worker's scratch when these are too many. That is free here: this is called by no connection's receiving. Returns how
 * many messages, with the areas in `*used`. */
static size_t gather(struct uvhttp_websocket *ws, uvhttp_websocket_message_t *const *messages, size_t count,
                     uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS], size_t *used)
{
    struct uvh_ws_worker *worker = ws->worker;
    size_t bytes = 0, several = 0;
    bool copied = count > UVHTTP_STREAM_MAX_AREAS;
    if (copied && worker->scratch == NULL)
        worker->scratch = uvh_alloc(worker->endpoint->allocator, UVH_WS_SCRATCH);
    copied = copied && worker->scratch != NULL;
    size_t most = copied || count < UVHTTP_STREAM_MAX_AREAS ? count : UVHTTP_STREAM_MAX_AREAS;
    for (; several < most && bytes + messages[several]->plain_size <= SLICE; several++) {
        uvhttp_slice_t frame =
            uvh_websocket_message_frame(messages[several], passes_compressed(ws, messages[several]));
        if (copied)
            memcpy(worker->scratch + bytes, frame.base, frame.length);
        else
            areas[several] = frame;
        bytes += frame.length;
    }
    if (copied)
        areas[0] = (uvhttp_slice_t){worker->scratch, bytes};
    *used = copied && several > 0 ? 1 : several;
    return several;
}

/* With one call of the system for all, when they fit into one. */
void uvh_websocket_send_many(struct uvhttp_websocket *ws, uvhttp_websocket_message_t *const *messages,
                             size_t count)
{
    uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS];
    struct uvh_ws_worker *worker = ws->worker;
    uvh_websocket_hold(ws);
    size_t i = 0;
    while (i < count && uvh_websocket_is_open(ws) && !ws->sending_pieces) {
        size_t used = 0, several = 0;
        if (ws->queue == NULL && uvhttp_stream_blocked(ws->stream) == 0)
            several = gather(ws, messages + i, count - i, areas, &used);
        int err = several == 0 ? UVHTTP_EFULL : uvhttp_stream_write_areas(ws->stream, areas, used);
        if (several == 0 || err == UVHTTP_EFULL) {
            several = 1;
            err = enqueue(ws, messages[i]);
            if (err == 0)
                pump(ws);
        } else if (err == 0 && !charge(ws)) {
            break;
        }
        if (err == 0)
            uvh_counter_add(&worker->messages_sent, several);
        else if (err == UVHTTP_ENOMEM) /* for want of room they have been counted */
            uvh_counter_add(&worker->dropped, several);
        i += several;
    }
    if (i < count && uvh_websocket_is_open(ws)) /* in the middle of a streamed message */
        uvh_counter_add(&worker->dropped, count - i);
    if (ws->stream != NULL)
        (void)taken(ws);
    uvh_websocket_let_go(ws);
}

/* ---- control frames ---- */

int uvh_websocket_send_control(struct uvhttp_websocket *ws, enum uvh_ws_opcode opcode, const void *data,
                               size_t size)
{
    struct uvh_ws_frame frame = {.opcode = (uint8_t)opcode, .last = true, .length = size};
    return send_frame(ws, &frame, data, CONTROL);
}

void uvh_websocket_send_close(struct uvhttp_websocket *ws, unsigned code, const char *reason, size_t length,
                              bool at_once)
{
    char payload[UVH_WS_CONTROL_MAX] = {(char)(code >> 8), (char)(code & 255)};
    size_t size = code == 0 || code == UVHTTP_WEBSOCKET_NO_STATUS ? 0 : 2;
    if (ws->close_sent || ws->stream == NULL)
        return;
    ws->close_sent = true;
    if (size > 0 && length > 0) {
        memcpy(payload + 2, reason, length);
        size += length;
    }
    if (at_once && ws->queue != NULL)
        uvh_ws_queue_drop_all(ws->queue);
    if (uvh_websocket_send_control(ws, UVH_WS_CLOSE, payload, size) != 0 && ws->stream != NULL)
        uvhttp_stream_close(ws->stream);
}
