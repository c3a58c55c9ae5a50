/* Sending: a message is written to the stream at once, or queued when the socket is not writable.
 *
 * The stream copies what the socket does not accept. To limit that, a frame is written in parts of
 * SLICE bytes, the first one with its head, and the stream refuses writes while more than
 * STREAM_BACKLOG bytes wait. The rest goes to the connection's queue (pending.c), as messages that
 * can be counted, dropped and shared. */
#include "websocket/websocket.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "codec/websocket/mask.h"
#include "platform/random.h"

enum {
    SLICE = UVH_WS_SCRATCH,
    SMALL = 4096,       /* for a client: masked on the stack up to this size */
    SMALLEST_FRAME = 2, /* bytes */
};

/* ---- frames ---- */

/* How the limits of the queue apply to a frame. */
enum frame_class {
    DROPPABLE, /* a message, may be dropped while queued */
    IN_WINDOW, /* a message that later ones refer to: the peer must get it once it is accepted */
    PART,      /* of a message, must not be dropped either */
    CONTROL,   /* not subject to max_queue_size */
};

/* The peer has only a part of a frame: the connection cannot continue. */
static int break_off(struct uvhttp_websocket *ws)
{
    uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER,
                             "no memory for the rest of a frame");
    uvhttp_stream_close(ws->stream);
    return UVHTTP_EDISCONNECTED;
}

/* Writes the bytes of two areas to the stream, or queues a copy of the rest. The rest of a frame
 * partly written is charged to the budget but exempt from the limit of the queue: so a frame that
 * found the queue empty may exceed that limit. */
static int write_frame(struct uvhttp_websocket *ws, uvhttp_slice_t head, uvhttp_slice_t payload,
                       enum frame_class class)
{
    size_t size = head.length + payload.length, sent = 0;
    if (UVH_LIKELY(ws->queue == NULL)) {
        while (sent < size) {
            size_t after = sent < head.length ? 0 : sent - head.length;
            size_t count = payload.length - after < SLICE ? payload.length - after : SLICE;
            uvhttp_slice_t areas[2] = {head, {payload.base + after, count}};
            int err = sent == 0 ? uvhttp_stream_write_areas(ws->stream, areas, 2)
                                : uvhttp_stream_write(ws->stream, areas[1].base, count);
            if (err == UVHTTP_EDISCONNECTED || (err == UVHTTP_ENOMEM && sent == 0))
                return err;
            if (err != 0)
                break;
            sent += count + (sent == 0 ? head.length : 0);
            if (!uvh_websocket_charge(ws))
                return UVHTTP_EDISCONNECTED;
        }
        if (UVH_LIKELY(sent == size))
            return 0;
    }
    int err =
        sent > 0 || class == CONTROL ? 0 : uvh_websocket_reserve(ws, size, class <= IN_WINDOW);
    if (err != 0)
        return err;
    size_t of_head = sent < head.length ? head.length - sent : 0;
    struct uvhttp_websocket_message *message = uvh_websocket_message_of(
        ws->worker->endpoint->memory, size - sent, class == DROPPABLE && sent == 0);
    if (message != NULL) {
        message->pong = class == CONTROL && (head.base[0] & 0x0f) == UVH_WS_PONG;
        memcpy(message->bytes, head.base + (head.length - of_head), of_head);
        memcpy(message->bytes + of_head, payload.base + (payload.length - (size - sent - of_head)),
               size - sent - of_head);
    }
    err = message == NULL ? UVHTTP_ENOMEM : uvh_websocket_push(ws, message, false);
    uvhttp_websocket_message_unref(message);
    return err != 0 && sent > 0 ? break_off(ws) : err;
}

/* As a client: masked with a key that the source of the payload cannot predict (RFC 6455 section
 * 10.3). */
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
    if (data == NULL) /* an empty payload may be NULL */
        data = "";
    if (ws->client)
        return write_masked(ws, frame, data, class);
    return write_frame(ws, (uvhttp_slice_t){head, uvh_ws_frame_head(frame, head)},
                       (uvhttp_slice_t){data, (size_t)frame->length}, class);
}

/* ---- messages ---- */

static int check_open(const struct uvhttp_websocket *ws, uvhttp_websocket_kind_t kind,
                      const void *data, size_t size)
{
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EDISCONNECTED;
    return ws->sending_stream || !uvh_websocket_message_fits(kind, data, size) ? UVHTTP_EINVAL : 0;
}

/* Replaces `*data` and the length by those of the compressed message, if it is compressed. */
static void compress(struct uvhttp_websocket *ws, struct uvh_ws_frame *frame, const void **data)
{
    struct uvh_ws_worker *worker = ws->worker;
    if (ws->deflate == NULL || frame->length < worker->endpoint->options.compression_min_size)
        return;
    worker->out.length = 0;
    worker->out.failed = false;
    if (!uvh_ws_deflate_message(ws->deflate, &worker->deflate, *data, (size_t)frame->length,
                                &worker->out))
        return;
    frame->compressed = true;
    frame->length = worker->out.length;
    *data = worker->out.data;
}

/* Frees the buffer of a large message before small ones follow. */
static void trim(struct uvh_bytes *out)
{
    const uvhttp_allocator_t *allocator = out->allocator;
    size_t maximum = out->maximum;
    if (out->capacity <= SLICE)
        return;
    uvh_bytes_release(out);
    uvh_bytes_init(out, allocator, maximum);
}

int uvhttp_websocket_send(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const void *data,
                          size_t size)
{
    struct uvh_ws_worker *worker = ws->worker;
    struct uvh_ws_frame frame = {.opcode = (uint8_t)kind, .last = true, .length = size};
    int err = check_open(ws, kind, data, size);
    if (err != 0)
        return err;
    /* If not even the smallest frame fits, nothing is compressed. Not with DROP_OLDEST: that would
     * drop messages for one whose size is not known. */
    if (ws->queue != NULL && worker->endpoint->options.slow != UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST) {
        err = uvh_websocket_reserve(ws, SMALLEST_FRAME, true);
        if (err != 0)
            return err;
    }
    /* A droppable message must not become part of a window. */
    bool stays_droppable = ws->queue != NULL && ws->deflate != NULL &&
                           uvh_ws_deflate_dedicated(ws->deflate) &&
                           worker->endpoint->options.slow == UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
    if (!stays_droppable)
        compress(ws, &frame, &data);
    uvh_websocket_ref(ws);
    bool in_window = frame.compressed && uvh_ws_deflate_dedicated(ws->deflate);
    err = send_frame(ws, &frame, data, in_window ? IN_WINDOW : DROPPABLE);
    if (err == 0) {
        uvh_counter_add(&worker->messages_sent, 1);
        err = uvh_websocket_taken(ws);
    } else if (frame.compressed && ws->stream != NULL) {
        /* The peer's window lacks this message. */
        uvh_ws_deflate_forget(ws->deflate);
    }
    trim(&worker->out);
    uvh_websocket_unref(ws);
    return err;
}

int uvhttp_websocket_send_text(uvhttp_websocket_t *ws, const char *text)
{
    return text == NULL ? UVHTTP_EINVAL
                        : uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_TEXT, text, strlen(text));
}

int uvhttp_websocket_send_fragment(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind,
                                   const void *data, size_t size, bool last)
{
    struct uvh_ws_worker *worker = ws->worker;
    bool first = !ws->sending_stream;
    struct uvh_ws_frame frame = {
        .opcode = first ? (uint8_t)kind : UVH_WS_CONTINUATION, .last = last, .length = size};
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EDISCONNECTED;
    if ((kind != UVHTTP_WEBSOCKET_TEXT && kind != UVHTTP_WEBSOCKET_BINARY) ||
        (data == NULL && size > 0))
        return UVHTTP_EINVAL;
    if (!first && ws->sending_text != (kind == UVHTTP_WEBSOCKET_TEXT))
        return UVHTTP_EINVAL;
    struct uvh_utf8 sent = first ? (struct uvh_utf8){0} : ws->sent_utf8;
    if (first)
        ws->sending_text = kind == UVHTTP_WEBSOCKET_TEXT;
    if (ws->sending_text &&
        (!uvh_utf8_check(&sent, data, size) || (last && !uvh_utf8_complete(&sent))))
        return UVHTTP_EINVAL;
    uvh_websocket_ref(ws);
    int err = send_frame(ws, &frame, data, PART);
    if (err == 0) {
        ws->sending_stream = !last;
        ws->sent_utf8 = sent;
        if (last)
            uvh_counter_add(&worker->messages_sent, 1);
        err = uvh_websocket_taken(ws);
    }
    uvh_websocket_unref(ws);
    return err;
}

/* ---- broadcast messages ---- */

/* Whether the peer gets the compressed frame. */
static bool gets_compressed(const struct uvhttp_websocket *ws,
                            const struct uvhttp_websocket_message *message)
{
    return ws->deflate != NULL && message->compressed_size > 0 &&
           uvh_ws_deflate_understands(ws->deflate, message->window_bits);
}

/* The frame to send now; forgets the window if it is compressed. */
static uvhttp_slice_t frame_for(struct uvhttp_websocket *ws,
                                const struct uvhttp_websocket_message *message)
{
    bool compressed = gets_compressed(ws, message);
    if (compressed)
        uvh_ws_deflate_forget(ws->deflate);
    return uvh_websocket_message_frame(message, compressed);
}

static size_t size_for(const struct uvhttp_websocket *ws,
                       const struct uvhttp_websocket_message *message)
{
    return uvh_websocket_message_frame(message, gets_compressed(ws, message)).length;
}

/* The queue is empty: writes by slices as far as the socket accepts them, so that only the rest is
 * charged to the endpoint's budget. The queue stores how much was sent. */
static int begin_shared(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message)
{
    bool compressed = gets_compressed(ws, message);
    uvhttp_slice_t frame = frame_for(ws, message);
    size_t sent = 0;
    while (sent < frame.length) {
        size_t count = frame.length - sent < SLICE ? frame.length - sent : SLICE;
        int err = uvhttp_stream_write(ws->stream, frame.base + sent, count);
        if (err == UVHTTP_EDISCONNECTED || (err == UVHTTP_ENOMEM && sent == 0))
            return err;
        if (err != 0)
            break;
        sent += count;
        if (!uvh_websocket_charge(ws))
            return UVHTTP_EDISCONNECTED;
    }
    int err = sent == frame.length ? 0 : uvh_websocket_push(ws, message, compressed);
    if (err == 0 && ws->queue != NULL)
        uvh_ws_queue_advance(ws->queue, sent);
    return err != 0 && sent > 0 ? break_off(ws) : err;
}

/* Appends to the queue, or writes directly when it is empty. */
static int enqueue(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message)
{
    bool compressed = gets_compressed(ws, message);
    /* A peer without a backlog is not slow. */
    if (ws->queue == NULL && uvhttp_stream_blocked(ws->stream) == 0)
        return begin_shared(ws, message);
    int err = uvh_websocket_reserve(ws, size_for(ws, message), true);
    if (err == 0)
        err = uvh_websocket_push(ws, message, compressed);
    if (err == 0 && compressed)
        uvh_ws_deflate_forget(ws->deflate);
    return err;
}

static int send_shared(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message)
{
    int err = UVHTTP_EFULL;
    if (ws->queue == NULL && size_for(ws, message) <= SLICE &&
        uvhttp_stream_blocked(ws->stream) == 0) {
        uvhttp_slice_t frame = frame_for(ws, message);
        err = uvhttp_stream_write(ws->stream, frame.base, frame.length);
    }
    if (err == UVHTTP_EFULL) {
        err = enqueue(ws, message);
        if (err == 0)
            uvh_websocket_pump(ws);
        return err != 0 ? err : ws->stream == NULL ? UVHTTP_EDISCONNECTED : 0;
    }
    return err != 0 || uvh_websocket_charge(ws) ? err : UVHTTP_EDISCONNECTED;
}

int uvhttp_websocket_send_message(uvhttp_websocket_t *ws, uvhttp_websocket_message_t *message)
{
    struct uvh_ws_worker *worker = ws->worker;
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EDISCONNECTED;
    if (message == NULL || ws->client || ws->sending_stream)
        return UVHTTP_EINVAL;
    uvh_websocket_ref(ws);
    int err = send_shared(ws, message);
    if (err == 0) {
        uvh_counter_add(&worker->messages_sent, 1);
        err = uvh_websocket_taken(ws);
    }
    uvh_websocket_unref(ws);
    return err;
}

/* Collects frames for one call, at most SLICE bytes: as areas, or copied into the worker's scratch
 * buffer when there are too many. The buffer is free here: no receive callback calls this. Returns
 * the number of messages, with the number of areas in `*used`. */
static size_t gather(struct uvhttp_websocket *ws, uvhttp_websocket_message_t *const *messages,
                     size_t count, uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS], size_t *used)
{
    struct uvh_ws_worker *worker = ws->worker;
    size_t bytes = 0, several = 0;
    bool copied = count > UVHTTP_STREAM_MAX_AREAS;
    if (copied && worker->scratch == NULL)
        worker->scratch = uvh_alloc(worker->endpoint->allocator, UVH_WS_SCRATCH);
    copied = copied && worker->scratch != NULL;
    size_t most = copied || count < UVHTTP_STREAM_MAX_AREAS ? count : UVHTTP_STREAM_MAX_AREAS;
    for (; several < most && bytes + size_for(ws, messages[several]) <= SLICE; several++) {
        uvhttp_slice_t frame = frame_for(ws, messages[several]);
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

/* Counts messages lost when out of memory, which no return value reports. */
static void miss(struct uvhttp_websocket *ws, size_t count)
{
    uvh_counter_add(&ws->worker->dropped, count);
    if (ws->worker->endpoint->options.slow == UVHTTP_WEBSOCKET_SLOW_CLOSE)
        uvh_websocket_fail(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER,
                           "the memory limit for queued data is reached");
}

/* Uses one system call for all messages that fit into one. */
void uvh_websocket_send_many(struct uvhttp_websocket *ws,
                             uvhttp_websocket_message_t *const *messages, size_t count)
{
    uvhttp_slice_t areas[UVHTTP_STREAM_MAX_AREAS];
    struct uvh_ws_worker *worker = ws->worker;
    uvh_websocket_ref(ws);
    size_t i = 0;
    bool moved = false; /* a connection that accepts no message does not count as active */
    while (i < count && uvh_websocket_is_open(ws) && !ws->sending_stream) {
        size_t used = 0, several = 0;
        if (ws->queue == NULL && uvhttp_stream_blocked(ws->stream) == 0)
            several = gather(ws, messages + i, count - i, areas, &used);
        int err = several == 0 ? UVHTTP_EFULL : uvhttp_stream_write_areas(ws->stream, areas, used);
        if (several == 0 || err == UVHTTP_EFULL) {
            several = 1;
            err = enqueue(ws, messages[i]);
            if (err == 0)
                uvh_websocket_pump(ws);
        } else if (err == 0 && !uvh_websocket_charge(ws)) {
            break;
        }
        moved = moved || err == 0;
        if (err == 0)
            uvh_counter_add(&worker->messages_sent, several);
        else if (err == UVHTTP_ENOMEM) /* messages over the limit are counted already */
            miss(ws, several);
        i += several;
    }
    if (i < count && uvh_websocket_is_open(ws)) /* within a streamed message */
        uvh_counter_add(&worker->dropped, count - i);
    if (moved)
        (void)uvh_websocket_taken(ws);
    uvh_websocket_unref(ws);
}

/* ---- control frames ---- */

int uvh_websocket_send_control(struct uvhttp_websocket *ws, enum uvh_ws_opcode opcode,
                               const void *data, size_t size)
{
    struct uvh_ws_frame frame = {.opcode = (uint8_t)opcode, .last = true, .length = size};
    return send_frame(ws, &frame, data, CONTROL);
}

void uvh_websocket_send_close(struct uvhttp_websocket *ws, unsigned code, const char *reason,
                              size_t length, bool at_once)
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
