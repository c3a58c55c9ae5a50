/* Frames from received bytes (RFC 9113 sections 4 and 6). DATA is passed on as it arrives; any
 * other frame is processed when it is complete. */
#include <string.h>

#include <uvhttp/error.h>

#include "h2/h2.h"

static bool is_open(const struct uvh_h2 *h2)
{
    return !h2->failed && h2->conn->state == UVH_CONN_OPEN;
}

/* RFC 9113 section 5.1: no frame but HEADERS and PRIORITY may refer to an idle stream. */
static bool is_idle_stream(struct uvh_h2 *h2, uint32_t id)
{
    if (id <= h2->last_stream)
        return false;
    uvh_h2_fail(h2, UVH_H2_PROTOCOL_ERROR, "a frame refers to a stream that is idle");
    return true;
}

/* ---- DATA ---- */

/* A stream that has ended: it is reset, unless its late frames are ignored. */
static void take_late_data(struct uvh_h2 *h2, uint32_t id, uint32_t length, bool ends)
{
    struct uvh_h2_recent *recent = uvh_h2_recent(h2, id);
    if (uvh_h2_is_ignored(h2, id))
        return;
    if (recent == NULL) {
        uvh_h2_reset_id(h2, id, UVH_H2_STREAM_CLOSED);
    } else if (ends) {
        *recent = (struct uvh_h2_recent){0};
    } else if (recent->left > 0) {
        recent->left -= length < recent->left ? length : recent->left;
        if (recent->left == 0)
            uvh_h2_send_reset(h2, id, UVH_H2_NO_ERROR);
    }
}

/* Counts a frame against the windows. Returns the stream that gets its data, or NULL. */
static struct uvh_h2_stream *admit_data(struct uvh_h2 *h2, const struct uvh_h2_frame *frame,
                                        uint32_t length)
{
    bool ends = (frame->flags & UVH_H2_END_STREAM) != 0;
    struct uvh_h2_stream *stream = uvh_h2_find(h2, frame->stream);
    if ((int64_t)frame->length > h2->receive_window) {
        uvh_h2_fail(h2, UVH_H2_FLOW_CONTROL_ERROR, "more data than the window permits");
        return NULL;
    }
    h2->receive_window -= (int32_t)frame->length;
    if (length == 0 && !ends && !uvh_h2_count_control(h2, 1))
        return NULL;
    if (stream == NULL) {
        take_late_data(h2, frame->stream, frame->length, ends);
    } else if (stream->ended) {
        uvh_h2_reset(stream, UVH_H2_STREAM_CLOSED);
        stream = NULL;
    } else if ((int64_t)frame->length > stream->receive_window) {
        uvh_h2_reset(stream, UVH_H2_FLOW_CONTROL_ERROR);
        stream = NULL;
    } else {
        stream->receive_window -= (int32_t)frame->length;
    }
    return stream;
}

/* Takes what has arrived of the current frame. */
static size_t take_data(struct uvh_h2 *h2, char *data, size_t size, bool begins)
{
    struct uvh_h2_incoming *frame = &h2->incoming;
    uint32_t part = size < frame->data ? (uint32_t)size : frame->data;
    uint32_t padding = size - part < frame->padding ? (uint32_t)(size - part) : frame->padding;
    bool whole = begins && frame->ends && part == frame->data;
    struct uvh_h2_stream *stream = uvh_h2_find(h2, frame->stream);
    frame->data -= part;
    frame->padding -= padding;
    bool complete = frame->data == 0 && frame->padding == 0;
    bool ends = complete && frame->ends;
    uint32_t id = frame->stream;
    if (complete)
        frame->stream = 0;
    h2->consumed += padding;
    if (stream != NULL && padding > 0 && !ends)
        uvh_h2_give_stream_window(stream, padding);
    if (!is_open(h2))
        return part + padding;
    if (stream == NULL)
        h2->consumed += part;
    else if (part > 0)
        uvh_h2_body_take(stream, data, part, whole && ends);
    if (ends && is_open(h2) && (stream = uvh_h2_find(h2, id)) != NULL)
        uvh_h2_body_end(stream);
    return part + padding;
}

/* Returns the bytes consumed; 0: the pad length is missing. */
static size_t begin_data(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, char *data,
                         size_t size)
{
    uint32_t length;
    unsigned offset = uvh_h2_content_offset(frame);
    if (size < UVH_H2_HEAD_SIZE + offset)
        return 0;
    enum uvh_h2_error error = uvh_h2_content_length(frame, data + UVH_H2_HEAD_SIZE, &length);
    if (error != UVH_H2_NO_ERROR) {
        uvh_h2_fail(h2, error, "the padding is longer than its frame");
        return size;
    }
    if (is_idle_stream(h2, frame->stream))
        return size;
    struct uvh_h2_stream *stream = admit_data(h2, frame, length);
    if (!is_open(h2))
        return size;
    h2->incoming = (struct uvh_h2_incoming){.stream = frame->stream,
                                            .data = length,
                                            .padding = frame->length - offset - length,
                                            .ends = (frame->flags & UVH_H2_END_STREAM) != 0};
    h2->consumed += offset;
    if (stream != NULL && offset > 0)
        uvh_h2_give_stream_window(stream, offset);
    size_t used = UVH_H2_HEAD_SIZE + offset;
    return used + take_data(h2, data + used, size - used, true);
}

/* ---- field blocks ---- */

static void take_headers(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload)
{
    uint32_t length;
    enum uvh_h2_error error = uvh_h2_content_length(frame, payload, &length);
    const char *fragment = payload + uvh_h2_content_offset(frame);
    if (error != UVH_H2_NO_ERROR) {
        uvh_h2_fail(h2, error, "the padding is longer than its frame");
        return;
    }
    h2->depends_on_itself = uvh_h2_depends_on_itself(frame, payload);
    if ((frame->flags & UVH_H2_END_HEADERS) != 0) {
        uvh_h2_take_block(h2, frame->stream, (frame->flags & UVH_H2_END_STREAM) != 0, fragment,
                          fragment + length);
        return;
    }
    h2->block_stream = frame->stream;
    h2->block_flags = frame->flags;
    if (uvh_bytes_append(&h2->block, fragment, length) != 0)
        uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
}

static void take_continuation(struct uvh_h2 *h2, const struct uvh_h2_frame *frame,
                              const char *payload)
{
    size_t most = UVH_H2_MAX_DISCARDED * uvh_h2_config(h2)->max_header_size;
    if (most < UVH_H2_FRAME_SIZE)
        most = UVH_H2_FRAME_SIZE;
    if (!uvh_h2_count_control(h2, 1))
        return;
    if (h2->block.length + frame->length > most) {
        uvh_h2_fail(h2, UVH_H2_ENHANCE_YOUR_CALM, "a field block is far too large");
        return;
    }
    if (uvh_bytes_append(&h2->block, payload, frame->length) != 0) {
        uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
        return;
    }
    if ((frame->flags & UVH_H2_END_HEADERS) == 0)
        return;
    struct uvh_bytes block = h2->block;
    uvh_bytes_init(&h2->block, block.allocator, block.maximum);
    h2->block_stream = 0;
    uvh_h2_take_block(h2, frame->stream, (h2->block_flags & UVH_H2_END_STREAM) != 0, block.data,
                      block.data + block.length);
    uvh_bytes_release(&block);
}

/* ---- other frames ---- */

static void take_reset(struct uvh_h2 *h2, const struct uvh_h2_frame *frame)
{
    struct uvh_h2_stream *stream = uvh_h2_find(h2, frame->stream);
    struct uvh_h2_recent *recent = uvh_h2_recent(h2, frame->stream);
    if (is_idle_stream(h2, frame->stream))
        return;
    if (recent != NULL)
        *recent = (struct uvh_h2_recent){0};
    if (stream == NULL) { /* it has ended: no work is lost */
        uvh_h2_count_reply(h2);
        return;
    }
    uvh_h2_abort(stream);
    if (is_open(h2))
        uvh_h2_count_reset(h2);
}

static void take_stream_window(struct uvh_h2 *h2, uint32_t id, uint32_t increment)
{
    struct uvh_h2_stream *stream = uvh_h2_find(h2, id);
    if (is_idle_stream(h2, id) || stream == NULL)
        return;
    if (increment == 0) {
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    } else if (!uvh_h2_window_add(&stream->send_window, (int32_t)increment)) {
        uvh_h2_reset(stream, UVH_H2_FLOW_CONTROL_ERROR);
    } else if (uvh_h2_has_output(stream)) {
        uvh_h2_ready(stream);
        uvh_h2_set_timeout(stream, !stream->stalled);
    }
}

static void take_window_update(struct uvh_h2 *h2, const struct uvh_h2_frame *frame,
                               const char *payload)
{
    uint32_t increment = uvh_h2_window_increment(payload);
    if (!uvh_h2_count_reply(h2))
        return;
    if (frame->stream != 0)
        take_stream_window(h2, frame->stream, increment);
    else if (increment == 0)
        uvh_h2_fail(h2, UVH_H2_PROTOCOL_ERROR, "WINDOW_UPDATE by 0");
    else if (!uvh_h2_window_add(&h2->send_window, (int32_t)increment))
        uvh_h2_fail(h2, UVH_H2_FLOW_CONTROL_ERROR, "the window is too large");
}

/* In place of an earlier one of the same stream, else of the oldest one. */
static void keep_update(struct uvh_h2 *h2, struct uvh_h2_update update)
{
    size_t i = 0;
    while (i < UVH_H2_UPDATES && h2->updates[i].id != update.id)
        i++;
    h2->updates[i < UVH_H2_UPDATES ? i : h2->next_update++ % UVH_H2_UPDATES] = update;
}

static void take_priority_update(struct uvh_h2 *h2, const struct uvh_h2_frame *frame,
                                 const char *payload)
{
    uint32_t id;
    uvhttp_slice_t value;
    enum uvh_h2_error error = uvh_h2_priority_update_read(frame, payload, &id, &value);
    if (!uvh_h2_count_control(h2, 1))
        return;
    if (error != UVH_H2_NO_ERROR) {
        uvh_h2_fail(h2, error, "PRIORITY_UPDATE of an impossible stream");
        return;
    }
    struct uvh_h2_stream *stream = uvh_h2_find(h2, id);
    struct uvh_h2_priority priority = UVH_H2_PRIORITY_INITIAL;
    if (!uvh_h2_priority_read(value, &priority))
        return;
    if (stream != NULL)
        uvh_h2_set_priority(stream, priority);
    else if (id > h2->last_stream)
        keep_update(h2, (struct uvh_h2_update){.id = id, .priority = priority});
}

static void take_priority(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload)
{
    struct uvh_h2_stream *stream = uvh_h2_find(h2, frame->stream);
    if (!uvh_h2_count_control(h2, 1) || !uvh_h2_depends_on_itself(frame, payload))
        return;
    if (stream != NULL)
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    else
        uvh_h2_reset_id(h2, frame->stream, UVH_H2_PROTOCOL_ERROR);
}

static void take_frame(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload)
{
    switch (frame->type) {
    case UVH_H2_HEADERS:
        take_headers(h2, frame, payload);
        break;
    case UVH_H2_CONTINUATION:
        take_continuation(h2, frame, payload);
        break;
    case UVH_H2_PRIORITY:
        take_priority(h2, frame, payload);
        break;
    case UVH_H2_RST_STREAM:
        take_reset(h2, frame);
        break;
    case UVH_H2_SETTINGS:
        uvh_h2_take_settings(h2, frame, payload);
        break;
    case UVH_H2_PING:
        uvh_h2_take_ping(h2, frame, payload);
        break;
    case UVH_H2_WINDOW_UPDATE:
        take_window_update(h2, frame, payload);
        break;
    case UVH_H2_PRIORITY_UPDATE:
        take_priority_update(h2, frame, payload);
        break;
    default: /* GOAWAY: the client will open no more streams; unknown types are ignored */
        uvh_h2_count_control(h2, 1);
        break;
    }
}

static void take_violation(struct uvh_h2 *h2, const struct uvh_h2_frame *frame,
                           struct uvh_h2_violation violation)
{
    struct uvh_h2_stream *stream = uvh_h2_find(h2, frame->stream);
    enum uvh_h2_error error = (enum uvh_h2_error)violation.error;
    if (!violation.of_stream)
        uvh_h2_fail(h2, error, "a frame is malformed");
    else if (stream != NULL)
        uvh_h2_reset(stream, error);
    else
        uvh_h2_reset_id(h2, frame->stream, error);
}

/* Returns the bytes consumed; 0: the frame is incomplete. */
static size_t take_next(struct uvh_h2 *h2, char *data, size_t size)
{
    if (h2->incoming.stream != 0)
        return take_data(h2, data, size, false);
    if (size < UVH_H2_HEAD_SIZE)
        return 0;
    struct uvh_h2_frame frame = uvh_h2_frame_read(data);
    struct uvh_h2_violation violation =
        uvh_h2_frame_check(&frame, UVH_H2_FRAME_SIZE, h2->block_stream);
    bool first = !h2->settings_received;
    if (first && (frame.type != UVH_H2_SETTINGS || (frame.flags & UVH_H2_ACK) != 0))
        violation = (struct uvh_h2_violation){.error = UVH_H2_PROTOCOL_ERROR};
    bool valid = violation.error == UVH_H2_NO_ERROR;
    if (valid && frame.type == UVH_H2_DATA)
        return begin_data(h2, &frame, data, size);
    if (size - UVH_H2_HEAD_SIZE < frame.length && (valid || violation.of_stream))
        return 0;
    if (valid)
        take_frame(h2, &frame, data + UVH_H2_HEAD_SIZE);
    else
        take_violation(h2, &frame, violation);
    return is_open(h2) ? UVH_H2_HEAD_SIZE + frame.length : size;
}

static size_t take_preface(struct uvh_h2 *h2, const char *data, size_t size)
{
    size_t length = size < UVH_H2_PREFACE_SIZE ? size : UVH_H2_PREFACE_SIZE;
    if (memcmp(data, UVH_H2_PREFACE, length) != 0) {
        uvh_h2_fail(h2, UVH_H2_PROTOCOL_ERROR, "the connection preface is invalid");
        return size;
    }
    if (size < UVH_H2_PREFACE_SIZE)
        return 0;
    h2->preface_received = true;
    return UVH_H2_PREFACE_SIZE;
}

size_t uvh_h2_receive(struct uvh_conn *conn, char *data, size_t size)
{
    struct uvh_h2 *h2 = conn->owner;
    size_t used = 0, taken = 1;
    uvh_h2_ref(h2);
    while (used < size && taken > 0 && is_open(h2) && conn->user->wants_bytes(conn)) {
        taken = h2->preface_received ? take_next(h2, data + used, size - used)
                                     : take_preface(h2, data, size);
        used += taken;
    }
    bool open = is_open(h2);
    uvh_h2_unref(h2);
    return open ? used : size;
}
