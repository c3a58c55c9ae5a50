/* Frames, see frame.h. */
#include "codec/http2/frame.h"

#include <string.h>

#include "base/compiler.h"

const char *uvh_h2_error_name(enum uvh_h2_error error)
{
    static const char *const names[] = {
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    };
    return names[error];
}

enum { STREAM_ZERO_OR_ODD, STREAM_ZERO, STREAM_ODD, STREAM_NOT_ZERO };

/* The rules of each type, in bytes of payload; a maximum of 0 is none. size_valid has more. */
static const struct rule {
    uint8_t stream;
    uint8_t minimum;
    uint8_t maximum;
    bool of_stream; /* a wrong size is a stream error */
} rules[] = {
    [UVH_H2_DATA] = {STREAM_ODD, 0, 0, false},
    [UVH_H2_HEADERS] = {STREAM_ODD, 0, 0, false},
    [UVH_H2_PRIORITY] = {STREAM_NOT_ZERO, 5, 5, true},
    [UVH_H2_RST_STREAM] = {STREAM_ODD, 4, 4, false},
    [UVH_H2_SETTINGS] = {STREAM_ZERO, 0, 0, false},
    [UVH_H2_PING] = {STREAM_ZERO, UVH_H2_PING_SIZE, UVH_H2_PING_SIZE, false},
    [UVH_H2_GOAWAY] = {STREAM_ZERO, UVH_H2_GOAWAY_SIZE, 0, false},
    [UVH_H2_WINDOW_UPDATE] = {STREAM_ZERO_OR_ODD, 4, 4, false},
    [UVH_H2_CONTINUATION] = {STREAM_ODD, 0, 0, false},
    [UVH_H2_PRIORITY_UPDATE] = {STREAM_ZERO, 4, 0, false},
};

static bool stream_valid(const struct rule *rule, uint32_t stream)
{
    switch (rule->stream) {
    case STREAM_ZERO:
        return stream == 0;
    case STREAM_ODD:
        return stream % 2 == 1;
    case STREAM_NOT_ZERO:
        return stream != 0;
    default:
        return stream % 2 == 1 || stream == 0;
    }
}

static bool size_valid(const struct rule *rule, const struct uvh_h2_frame *frame)
{
    switch (frame->type) {
    case UVH_H2_DATA:
    case UVH_H2_HEADERS:
        return frame->length >= uvh_h2_content_offset(frame);
    case UVH_H2_SETTINGS:
        return (frame->flags & UVH_H2_ACK) != 0 ? frame->length == 0
                                                : frame->length % UVH_H2_SETTING_SIZE == 0;
    default:
        return frame->length >= rule->minimum &&
               (rule->maximum == 0 || frame->length <= rule->maximum);
    }
}

struct uvh_h2_violation uvh_h2_frame_check(const struct uvh_h2_frame *frame, uint32_t max_size,
                                           uint32_t block_stream)
{
    static const struct uvh_h2_violation none = {UVH_H2_NO_ERROR, false};
    static const struct uvh_h2_violation protocol = {UVH_H2_PROTOCOL_ERROR, false};
    bool continues = frame->type == UVH_H2_CONTINUATION;
    if (frame->length > max_size)
        return (struct uvh_h2_violation){UVH_H2_FRAME_SIZE_ERROR, false};
    if (continues != (block_stream != 0) || (continues && frame->stream != block_stream))
        return protocol;
    if (frame->type == UVH_H2_PUSH_PROMISE) /* only servers push */
        return protocol;
    if (frame->type > UVH_H2_CONTINUATION && frame->type != UVH_H2_PRIORITY_UPDATE)
        return none;
    const struct rule *rule = &rules[frame->type];
    if (!stream_valid(rule, frame->stream))
        return protocol;
    if (!size_valid(rule, frame))
        return (struct uvh_h2_violation){UVH_H2_FRAME_SIZE_ERROR, rule->of_stream};
    return none;
}

enum uvh_h2_error uvh_h2_content_length(const struct uvh_h2_frame *frame, const char *payload,
                                        uint32_t *length)
{
    uint32_t rest = frame->length - uvh_h2_content_offset(frame);
    uint32_t padding = (frame->flags & UVH_H2_PADDED) != 0 ? (unsigned char)payload[0] : 0;
    if (padding > rest)
        return UVH_H2_PROTOCOL_ERROR;
    *length = rest - padding;
    return UVH_H2_NO_ERROR;
}

bool uvh_h2_depends_on_itself(const struct uvh_h2_frame *frame, const char *payload)
{
    bool has_priority = true;
    if (frame->type == UVH_H2_HEADERS) {
        has_priority = (frame->flags & UVH_H2_PRIORITIZED) != 0;
        payload += (frame->flags & UVH_H2_PADDED) != 0 ? 1 : 0;
    }
    return has_priority && uvh_h2_number31(payload) == frame->stream;
}

static enum uvh_h2_error set(struct uvh_h2_settings *settings, unsigned setting, uint32_t value)
{
    switch (setting) {
    case UVH_H2_HEADER_TABLE_SIZE:
        settings->header_table_size = value;
        return UVH_H2_NO_ERROR;
    case UVH_H2_INITIAL_WINDOW_SIZE:
        if (value > UVH_H2_WINDOW_MAX)
            return UVH_H2_FLOW_CONTROL_ERROR;
        settings->initial_window_size = value;
        return UVH_H2_NO_ERROR;
    case UVH_H2_MAX_FRAME_SIZE:
        if (value < UVH_H2_FRAME_SIZE || value > UVH_H2_FRAME_SIZE_MAX)
            return UVH_H2_PROTOCOL_ERROR;
        settings->max_frame_size = value;
        return UVH_H2_NO_ERROR;
    case UVH_H2_MAX_HEADER_LIST_SIZE:
        settings->max_header_list_size = value;
        return UVH_H2_NO_ERROR;
    case UVH_H2_ENABLE_PUSH:
    case UVH_H2_ENABLE_CONNECT_PROTOCOL:
    case UVH_H2_NO_RFC7540_PRIORITIES:
        return value <= 1 ? UVH_H2_NO_ERROR : UVH_H2_PROTOCOL_ERROR;
    default:
        return UVH_H2_NO_ERROR;
    }
}

enum uvh_h2_error uvh_h2_settings_read(struct uvh_h2_settings *settings, const char *payload,
                                       uint32_t length)
{
    for (const char *p = payload; p < payload + length; p += UVH_H2_SETTING_SIZE) {
        enum uvh_h2_error error = set(settings, uvh_h2_number(p) >> 16, uvh_h2_number(p + 2));
        if (error != UVH_H2_NO_ERROR)
            return error;
    }
    return UVH_H2_NO_ERROR;
}

enum uvh_h2_error uvh_h2_priority_update_read(const struct uvh_h2_frame *frame, const char *payload,
                                              uint32_t *stream, uvhttp_slice_t *value)
{
    *stream = uvh_h2_number31(payload);
    *value = (uvhttp_slice_t){payload + 4, frame->length - 4};
    return *stream % 2 == 1 ? UVH_H2_NO_ERROR : UVH_H2_PROTOCOL_ERROR;
}

static void put(char *out, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (char)(uint8_t)(number >> (24 - 8 * i));
}

size_t uvh_h2_write_head(char *out, const struct uvh_h2_frame *frame)
{
    put(out, frame->length << 8 | frame->type);
    out[4] = (char)frame->flags;
    put(out + 5, frame->stream);
    return UVH_H2_HEAD_SIZE;
}

static size_t write_head(char *out, enum uvh_h2_type type, size_t length, uint8_t flags,
                         uint32_t stream)
{
    return uvh_h2_write_head(out, &(struct uvh_h2_frame){.type = (uint8_t)type,
                                                         .length = (uint32_t)length,
                                                         .flags = flags,
                                                         .stream = stream});
}

size_t uvh_h2_write_settings(char *out, const struct uvh_h2_entry *entries, size_t count)
{
    char *p = out + write_head(out, UVH_H2_SETTINGS, count * UVH_H2_SETTING_SIZE, 0, 0);
    for (size_t i = 0; i < count; i++, p += UVH_H2_SETTING_SIZE) {
        p[0] = (char)(uint8_t)(entries[i].setting >> 8);
        p[1] = (char)(uint8_t)entries[i].setting;
        put(p + 2, entries[i].value);
    }
    return (size_t)(p - out);
}

size_t uvh_h2_write_settings_ack(char *out)
{
    return write_head(out, UVH_H2_SETTINGS, 0, UVH_H2_ACK, 0);
}

size_t uvh_h2_write_ping(char *out, const char data[UVH_H2_PING_SIZE], uint8_t flags)
{
    size_t size = write_head(out, UVH_H2_PING, UVH_H2_PING_SIZE, flags, 0);
    memcpy(out + size, data, UVH_H2_PING_SIZE);
    return size + UVH_H2_PING_SIZE;
}

size_t uvh_h2_write_rst_stream(char *out, uint32_t stream, enum uvh_h2_error error)
{
    size_t size = write_head(out, UVH_H2_RST_STREAM, 4, 0, stream);
    put(out + size, (uint32_t)error);
    return size + 4;
}

size_t uvh_h2_write_window_update(char *out, uint32_t stream, uint32_t increment)
{
    size_t size = write_head(out, UVH_H2_WINDOW_UPDATE, 4, 0, stream);
    put(out + size, increment);
    return size + 4;
}

size_t uvh_h2_write_goaway(char *out, uint32_t last_stream, enum uvh_h2_error error,
                           const char *text)
{
    size_t length = strlen(text);
    size_t size = write_head(out, UVH_H2_GOAWAY, UVH_H2_GOAWAY_SIZE + length, 0, 0);
    put(out + size, last_stream);
    put(out + size + 4, (uint32_t)error);
    memcpy(out + size + UVH_H2_GOAWAY_SIZE, text, length);
    return size + UVH_H2_GOAWAY_SIZE + length;
}
