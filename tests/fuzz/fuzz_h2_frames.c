/* HTTP/2 frames. The input is one byte for the largest frame and the open field block, then frames.
 * Properties: a header is written as it was read, without the reserved bit. The check of a header
 * is that of a second implementation. The payload of a valid frame is read within its bytes, and
 * settings, windows and priorities have values in their range. */
#include "codec/http2/frame.h"
#include "codec/http2/priority.h"
#include "fuzz/fuzz_check.h"

static struct uvh_h2_violation violation(enum uvh_h2_error error, bool of_stream)
{
    return (struct uvh_h2_violation){(uint8_t)error, of_stream};
}

/* RFC 9113 section 6, type by type. */
static struct uvh_h2_violation plain_check(const struct uvh_h2_frame *frame, uint32_t max_size,
                                           uint32_t block_stream)
{
    static const struct uvh_h2_violation valid = {UVH_H2_NO_ERROR, false};
    struct uvh_h2_violation protocol = violation(UVH_H2_PROTOCOL_ERROR, false);
    struct uvh_h2_violation size = violation(UVH_H2_FRAME_SIZE_ERROR, false);
    uint32_t needed = 0;
    bool of_client = (frame->stream & 1) != 0;
    if (frame->length > max_size)
        return size;
    if (block_stream != 0 && (frame->type != UVH_H2_CONTINUATION || frame->stream != block_stream))
        return protocol;
    switch (frame->type) {
    case UVH_H2_DATA:
    case UVH_H2_HEADERS:
        if (frame->flags & UVH_H2_PADDED)
            needed += 1;
        if (frame->type == UVH_H2_HEADERS && frame->flags & UVH_H2_PRIORITIZED)
            needed += 5;
        return !of_client ? protocol : frame->length < needed ? size : valid;
    case UVH_H2_PRIORITY:
        if (frame->stream == 0)
            return protocol;
        return frame->length == 5 ? valid : violation(UVH_H2_FRAME_SIZE_ERROR, true);
    case UVH_H2_RST_STREAM:
        return !of_client ? protocol : frame->length != 4 ? size : valid;
    case UVH_H2_SETTINGS:
        if (frame->stream != 0)
            return protocol;
        if (frame->flags & UVH_H2_ACK)
            return frame->length == 0 ? valid : size;
        return frame->length % 6 == 0 ? valid : size;
    case UVH_H2_PUSH_PROMISE:
        return protocol;
    case UVH_H2_PING:
        return frame->stream != 0 ? protocol : frame->length != 8 ? size : valid;
    case UVH_H2_GOAWAY:
        return frame->stream != 0 ? protocol : frame->length < 8 ? size : valid;
    case UVH_H2_WINDOW_UPDATE:
        if (frame->stream != 0 && !of_client)
            return protocol;
        return frame->length == 4 ? valid : size;
    case UVH_H2_CONTINUATION:
        return block_stream == 0 ? protocol : valid;
    case UVH_H2_PRIORITY_UPDATE:
        return frame->stream != 0 ? protocol : frame->length < 4 ? size : valid;
    default:
        return valid;
    }
}

static void check_priority(uvhttp_slice_t value)
{
    struct uvh_h2_priority priority = UVH_H2_PRIORITY_INITIAL;
    if (uvh_h2_priority_read(value, &priority))
        require(priority.urgency < UVH_H2_URGENCIES);
    else
        require(priority.urgency == UVH_H2_URGENCY && !priority.incremental);
}

static void check_content(const struct uvh_h2_frame *frame, const char *payload)
{
    uint32_t length = 0;
    unsigned offset = uvh_h2_content_offset(frame);
    unsigned padding = frame->flags & UVH_H2_PADDED ? (uint8_t)payload[0] : 0;
    enum uvh_h2_error error = uvh_h2_content_length(frame, payload, &length);
    require((error == UVH_H2_NO_ERROR) == (offset + padding <= frame->length));
    require(error != UVH_H2_NO_ERROR || offset + length + padding == frame->length);
}

static void check_settings(const struct uvh_h2_frame *frame, const char *payload)
{
    struct uvh_h2_settings settings = UVH_H2_SETTINGS_INITIAL;
    (void)uvh_h2_settings_read(&settings, payload, frame->length);
    require(settings.initial_window_size <= UVH_H2_WINDOW_MAX);
    require(settings.max_frame_size >= UVH_H2_FRAME_SIZE);
    require(settings.max_frame_size <= UVH_H2_FRAME_SIZE_MAX);
}

static void check_payload(const struct uvh_h2_frame *frame, const char *payload, int32_t *window)
{
    uvhttp_slice_t value;
    uint32_t stream;
    switch (frame->type) {
    case UVH_H2_DATA:
    case UVH_H2_HEADERS:
        check_content(frame, payload);
        if (frame->type == UVH_H2_HEADERS)
            (void)uvh_h2_depends_on_itself(frame, payload);
        break;
    case UVH_H2_PRIORITY:
        (void)uvh_h2_depends_on_itself(frame, payload);
        break;
    case UVH_H2_SETTINGS:
        check_settings(frame, payload);
        break;
    case UVH_H2_WINDOW_UPDATE: {
        int64_t sum = (int64_t)*window + uvh_h2_window_increment(payload);
        require(uvh_h2_window_add(window, (int32_t)uvh_h2_window_increment(payload)) ==
                (sum <= UVH_H2_WINDOW_MAX));
        break;
    }
    case UVH_H2_PRIORITY_UPDATE:
        (void)uvh_h2_priority_update_read(frame, payload, &stream, &value);
        require(stream <= UVH_H2_STREAM_MAX);
        require(slice_within(value, (uvhttp_slice_t){payload, frame->length}));
        check_priority(value);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint32_t max_size = data[0] & 1 ? 20 : UVH_H2_FRAME_SIZE;
    uint32_t block_stream = data[0] & 2 ? data[0] / 4 | 1 : 0;
    int32_t window = UVH_H2_WINDOW;
    data++;
    size--;
    while (size >= UVH_H2_HEAD_SIZE) {
        char written[UVH_H2_HEAD_SIZE];
        char *head = exact_copy(data, UVH_H2_HEAD_SIZE);
        struct uvh_h2_frame frame = uvh_h2_frame_read(head);
        head[5] &= 0x7f;
        require(uvh_h2_write_head(written, &frame) == UVH_H2_HEAD_SIZE);
        require(memcmp(written, head, UVH_H2_HEAD_SIZE) == 0);
        free(head);
        data += UVH_H2_HEAD_SIZE;
        size -= UVH_H2_HEAD_SIZE;
        struct uvh_h2_violation found = uvh_h2_frame_check(&frame, max_size, block_stream);
        struct uvh_h2_violation expected = plain_check(&frame, max_size, block_stream);
        require(found.error == expected.error && found.of_stream == expected.of_stream);
        if (frame.length > size)
            return 0;
        if (found.error == UVH_H2_NO_ERROR) {
            char *payload = exact_copy(data, frame.length);
            check_payload(&frame, payload, &window);
            free(payload);
        }
        data += frame.length;
        size -= frame.length;
    }
    return 0;
}
