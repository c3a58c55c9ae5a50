/* Parses frames (RFC 6455 section 5). A complete message below 64 KiB in one frame takes the fast
 * path in uvh_ws_reader_next; all others are read in two steps, the header and the available
 * payload. Protocol errors do not depend on how the input is split. */
#include "codec/websocket/reader.h"

#include <string.h>

#include "base/compiler.h"
#include "codec/simd/utf8.h"
#include "codec/websocket/mask.h"

enum {
    FIN = 0x80,
    RSV1 = 0x40,
    RSV2_AND_3 = 0x30,
    OPCODE = 0x0f,
    CONTROL = 0x08, /* bit of the opcodes of control frames */
    MASK = 0x80,
    LENGTH = 0x7f,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    MASK_SIZE = 4,
};

/* Close codes of section 7.4.1 for errors in frames. */
enum { PROTOCOL_ERROR = 1002, NO_STATUS = 1005, INVALID_DATA = 1007, TOO_BIG = 1009 };

static void refuse(struct uvh_ws_event *event, uint16_t code, const char *reason)
{
    event->kind = UVH_WS_EVENT_BAD;
    event->code = code;
    event->reason = reason;
}

/* The size of a header of which two bytes are available, or 2. */
static size_t size_of_head(const uint8_t *head, size_t have)
{
    if (have < 2)
        return 2;
    unsigned length = head[1] & LENGTH;
    return 2u +
           (length == LENGTH_16   ? 2
            : length == LENGTH_64 ? 8
                                  : 0) +
           (head[1] & MASK ? MASK_SIZE : 0);
}

/* The payload length from the second byte or the extended length. */
static uint64_t length_of_payload(const uint8_t *head)
{
    unsigned length = head[1] & LENGTH;
    unsigned bytes = length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0;
    uint64_t number = bytes > 0 ? 0 : length;
    for (unsigned i = 0; i < bytes; i++)
        number = number << 8 | head[2 + i];
    return number;
}

/* Errors in the first byte (sections 5.2, 5.4 and 5.5). */
static void judge_first(const struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                        unsigned first, struct uvh_ws_event *event)
{
    unsigned opcode = first & OPCODE;
    bool begins = opcode == UVH_WS_TEXT || opcode == UVH_WS_BINARY;
    if (first & RSV2_AND_3)
        refuse(event, PROTOCOL_ERROR, "a reserved bit is set");
    else if (opcode > UVH_WS_PONG || (opcode > UVH_WS_BINARY && opcode < UVH_WS_CLOSE))
        refuse(event, PROTOCOL_ERROR, "the opcode is reserved");
    else if ((first & RSV1) && !reader->compression)
        refuse(event, PROTOCOL_ERROR, "a frame is compressed, but compression was not negotiated");
    else if ((first & RSV1) && !begins) /* RFC 7692 section 6.1 */
        refuse(event, PROTOCOL_ERROR, "RSV1 is set in a frame that does not begin a message");
    else if ((opcode & CONTROL) && !(first & FIN))
        refuse(event, PROTOCOL_ERROR, "a control frame is fragmented");
    else if (opcode == UVH_WS_CONTINUATION && !reader->in_message)
        refuse(event, PROTOCOL_ERROR, "a continuation frame without a message");
    else if (begins && reader->in_message)
        refuse(event, PROTOCOL_ERROR, "a new message interrupts a fragmented message");
    else if (!(opcode & CONTROL) && (begins ? 0 : reader->fragments) >= rules->max_fragments)
        refuse(event, TOO_BIG, "a message has too many frames");
}

/* Errors in the second byte (sections 5.1 and 5.5). */
static void judge_second(const struct uvh_ws_rules *rules, unsigned first, unsigned second,
                         struct uvh_ws_event *event)
{
    if (rules->from_client && !(second & MASK))
        refuse(event, PROTOCOL_ERROR, "a client's frame is not masked");
    else if (!rules->from_client && (second & MASK))
        refuse(event, PROTOCOL_ERROR, "a server's frame is masked");
    else if ((first & CONTROL) && (second & LENGTH) > UVH_WS_CONTROL_MAX)
        refuse(event, PROTOCOL_ERROR, "a control frame is too long");
}

/* Errors in the length (section 5.2), or a length above the limit. */
static void judge_length(const struct uvh_ws_rules *rules, const uint8_t *head,
                         struct uvh_ws_event *event)
{
    uint64_t length = length_of_payload(head);
    unsigned form = head[1] & LENGTH;
    if (length >> 63)
        refuse(event, PROTOCOL_ERROR, "the length's most significant bit is set");
    else if ((form == LENGTH_16 && length < LENGTH_16) ||
             (form == LENGTH_64 && length <= UINT16_MAX))
        refuse(event, PROTOCOL_ERROR, "the length is not in its minimal encoding");
    else if (!(head[0] & CONTROL) && length > rules->max_frame_size)
        refuse(event, TOO_BIG, "a frame is too long");
}

/* Byte by byte, so that the first invalid one decides, independent of how many are available. */
static bool judge(const struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                  const uint8_t *head, size_t have, struct uvh_ws_event *event)
{
    judge_first(reader, rules, head[0], event);
    if (event->kind != UVH_WS_EVENT_BAD && have >= 2)
        judge_second(rules, head[0], head[1], event);
    if (event->kind != UVH_WS_EVENT_BAD && have == size_of_head(head, have))
        judge_length(rules, head, event);
    return event->kind != UVH_WS_EVENT_BAD;
}

/* Starts a frame with a valid header. */
static void begin_frame(struct uvh_ws_reader *reader, const uint8_t *head, size_t head_size)
{
    unsigned opcode = head[0] & OPCODE;
    reader->head_size = 0;
    reader->in_frame = true;
    reader->opcode = (uint8_t)opcode;
    reader->remaining = length_of_payload(head);
    reader->mask_offset = 0;
    if (head[1] & MASK)
        memcpy(reader->mask, head + head_size - MASK_SIZE, MASK_SIZE);
    if (opcode & CONTROL)
        return;
    reader->frame_last = (head[0] & FIN) != 0;
    if (opcode != UVH_WS_CONTINUATION) {
        reader->in_message = true;
        reader->text = opcode == UVH_WS_TEXT;
        reader->message_compressed = (head[0] & RSV1) != 0;
        reader->shown = false;
        reader->fragments = 0;
    }
    reader->fragments++;
}

/* Reads the bytes of a header: in place if all are available, as is usual. None is consumed if
 * memory for a control frame must be requested. */
static size_t take_head(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                        const char *data, size_t size, struct uvh_ws_event *event)
{
    const uint8_t *head = (const uint8_t *)data;
    size_t have = size;
    size_t used = 0;
    if (reader->head_size > 0 || size < 2 || size < size_of_head(head, size)) {
        head = (const uint8_t *)reader->head;
        for (have = reader->head_size; used < size && have < size_of_head(head, have); have++)
            reader->head[have] = data[used++];
    } else {
        have = used = size_of_head(head, size);
    }
    if (!judge(reader, rules, head, have, event))
        return used;
    if (have < size_of_head(head, have)) {
        reader->head_size = (uint8_t)have;
        return used;
    }
    size_t left = size - used;
    if ((head[0] & CONTROL) && left > 0 && left < (head[1] & LENGTH) && reader->control == NULL) {
        event->kind = UVH_WS_EVENT_SIZE;
        return 0;
    }
    begin_frame(reader, head, have);
    return used;
}

/* A code, if there is any payload, and a reason (section 5.5.1). */
static void judge_close(struct uvh_ws_event *event)
{
    const uint8_t *payload = (const uint8_t *)event->data;
    event->code = NO_STATUS;
    if (event->size == 0)
        return;
    if (event->size == 1) {
        refuse(event, PROTOCOL_ERROR, "a close frame has an incomplete status code");
        return;
    }
    event->code = (uint16_t)(payload[0] << 8 | payload[1]);
    event->data += 2;
    event->size -= 2;
    if (!uvh_ws_close_code_valid(event->code))
        refuse(event, PROTOCOL_ERROR, "a close frame has an invalid status code");
    else if (!uvh_utf8_valid(event->data, event->size))
        refuse(event, INVALID_DATA, "the reason of a close frame is not UTF-8");
}

/* Reports a control frame if it is complete, and collects it otherwise. */
static size_t take_control(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                           char *data, size_t size, struct uvh_ws_event *event)
{
    size_t used = size < reader->remaining ? size : (size_t)reader->remaining;
    event->data = data;
    event->size = used;
    if (used < reader->remaining || reader->control_size > 0) {
        if (used == 0)
            return 0;
        if (reader->control == NULL) {
            event->kind = UVH_WS_EVENT_SIZE;
            return 0;
        }
        memcpy(reader->control + reader->control_size, data, used);
        reader->control_size = (uint8_t)(reader->control_size + used);
        reader->remaining -= used;
        if (reader->remaining > 0)
            return used;
        event->data = reader->control;
        event->size = reader->control_size;
    }
    reader->in_frame = false;
    reader->remaining = 0;
    reader->control_size = 0;
    if (rules->from_client)
        uvh_ws_mask(event->data, event->size, reader->mask, 0);
    event->kind = reader->opcode == UVH_WS_PING   ? UVH_WS_EVENT_PING
                  : reader->opcode == UVH_WS_PONG ? UVH_WS_EVENT_PONG
                                                  : UVH_WS_EVENT_CLOSE;
    if (event->kind == UVH_WS_EVENT_CLOSE)
        judge_close(event);
    return used;
}

/* Reports the available part of a data frame; an empty part only if required. */
static size_t take_part(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules, char *data,
                        size_t size, struct uvh_ws_event *event)
{
    size_t used = size < reader->remaining ? size : (size_t)reader->remaining;
    if (used == 0 && reader->remaining > 0)
        return 0;
    if (rules->from_client)
        uvh_ws_mask(data, used, reader->mask, reader->mask_offset);
    reader->mask_offset = (uint8_t)((reader->mask_offset + used) % MASK_SIZE);
    reader->remaining -= used;
    reader->in_frame = reader->remaining > 0;
    event->kind = UVH_WS_EVENT_CHUNK;
    event->data = data;
    event->size = used;
    event->text = reader->text;
    event->compressed = reader->message_compressed;
    event->first = !reader->shown;
    event->last = reader->frame_last && !reader->in_frame;
    reader->shown = true;
    if (event->last)
        reader->in_message = false;
    return used;
}

/* At most one header and the data after it. */
static UVH_NEVER_INLINE size_t next_of_any(struct uvh_ws_reader *reader,
                                           const struct uvh_ws_rules *rules, char *data,
                                           size_t size, struct uvh_ws_event *event)
{
    size_t used = 0;
    event->kind = UVH_WS_EVENT_MORE;
    if (size == 0)
        return 0;
    if (!reader->in_frame) {
        used = take_head(reader, rules, data, size, event);
        if (!reader->in_frame)
            return used;
    }
    if (reader->opcode & CONTROL)
        return used + take_control(reader, rules, data + used, size - used, event);
    return used + take_part(reader, rules, data + used, size - used, event);
}

void uvh_ws_reader_init(struct uvh_ws_reader *reader, bool compression)
{
    memset(reader, 0, sizeof *reader);
    reader->compression = compression;
}

size_t uvh_ws_reader_next(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                          char *data, size_t size, struct uvh_ws_event *event)
{
    bool between = reader->head_size == 0 && !reader->in_frame && !reader->in_message;
    if (UVH_UNLIKELY(!between || size < 2))
        return next_of_any(reader, rules, data, size, event);
    /* Ignoring the bits that may be set, the first byte is FIN with one of two adjacent opcodes.
     * Ignoring the mask bit, if it is required, the second is a length without extension, or
     * indicates one of two bytes. */
    unsigned first = (uint8_t)data[0];
    unsigned kind = (first & ~((unsigned)reader->compression * RSV1)) - (FIN | UVH_WS_TEXT);
    unsigned length = (uint8_t)data[1] ^ (rules->from_client ? MASK : 0u);
    unsigned head = rules->from_client ? 2 + MASK_SIZE : 2;
    bool shortest = length <= UVH_WS_CONTROL_MAX;
    if (length == LENGTH_16 && size >= 4) {
        length = (unsigned)(uint8_t)data[2] << 8 | (uint8_t)data[3];
        head += 2;
        shortest = length >= LENGTH_16;
    }
    bool usual = (kind <= UVH_WS_BINARY - UVH_WS_TEXT) & shortest & (head + length <= size) &
                 (length <= rules->max_frame_size) & (rules->max_fragments > 0);
    if (UVH_UNLIKELY(!usual))
        return next_of_any(reader, rules, data, size, event);
    event->kind = UVH_WS_EVENT_CHUNK;
    event->data = data + head;
    event->size = length;
    event->text = kind == 0;
    event->compressed = (first & RSV1) != 0;
    event->first = true;
    event->last = true;
    if (rules->from_client)
        uvh_ws_mask(event->data, length, (const uint8_t *)event->data - MASK_SIZE, 0);
    return head + length;
}
