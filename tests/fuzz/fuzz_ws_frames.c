/* WebSocket frames. The first byte of the input determines how the rest is split, the second the
 * role of the peer, the compression and the limits. Properties: unsplit, split and byte by byte, on
 * each back end, the reader's events are those of a simple parser of the whole input. A frame head
 * that the reader accepts is the one that is written for such a frame. The validity of UTF-8 does
 * not depend on the chunks. */
#include "codec/simd/utf8.h"
#include "codec/text/utf8_sequence.h"
#include "fuzz/fuzz_check.h"
#include "support/backends.h"
#include "support/ws_events.h"

/* A frame as received. */
struct plain_frame {
    struct uvh_ws_frame frame;
    unsigned reserved; /* RSV2 and RSV3 */
    size_t head;
};

/* Returns false when the head is incomplete. */
static bool plain_read(struct plain_frame *plain, const uint8_t *data, size_t size)
{
    if (size < 2)
        return false;
    struct uvh_ws_frame *frame = &plain->frame;
    frame->last = data[0] >= 0x80;
    frame->compressed = (data[0] & 0x40) != 0;
    plain->reserved = data[0] & 0x30;
    frame->opcode = data[0] % 16;
    frame->masked = data[1] >= 0x80;
    size_t extended = data[1] % 128 == 127 ? 8 : data[1] % 128 == 126 ? 2 : 0;
    plain->head = 2 + extended + (frame->masked ? 4 : 0);
    if (size < plain->head)
        return false;
    frame->length = extended == 0 ? data[1] % 128 : 0;
    for (size_t i = 0; i < extended; i++)
        frame->length = frame->length * 256 + data[2 + i];
    if (frame->masked)
        memcpy(frame->mask, data + plain->head - 4, 4);
    return true;
}

struct plain {
    struct ws_events events;
    uint32_t fragments; /* fragments of the current message; 0: no message */
};

/* Returns the close code for a head, or 0 if it is valid. */
static unsigned plain_check_head(const struct plain *plain, const struct plain_frame *read,
                                 const uint8_t *data, const struct uvh_ws_rules *rules,
                                 bool compression)
{
    const struct uvh_ws_frame *frame = &read->frame;
    bool control = frame->opcode == UVH_WS_CLOSE || frame->opcode == UVH_WS_PING ||
                   frame->opcode == UVH_WS_PONG;
    bool begins = frame->opcode == UVH_WS_TEXT || frame->opcode == UVH_WS_BINARY;
    bool continues = frame->opcode == UVH_WS_CONTINUATION;
    if (read->reserved != 0 || (!control && !begins && !continues) ||
        (frame->compressed && !(compression && begins)))
        return 1002;
    if ((control && !frame->last) || (continues && plain->fragments == 0) ||
        (begins && plain->fragments > 0))
        return 1002;
    if (continues && plain->fragments == rules->max_fragments)
        return 1009;
    if (frame->masked != rules->from_client || (control && data[1] % 128 > 125) ||
        frame->length >> 63)
        return 1002;
    char head[UVH_WS_HEAD_MAX];
    if (uvh_ws_frame_head(frame, head) != read->head) /* there is a shorter encoding */
        return 1002;
    require(memcmp(head, data, read->head) == 0);
    return !control && frame->length > rules->max_frame_size ? 1009 : 0;
}

static void plain_bad(struct plain *plain, unsigned code)
{
    char line[16];
    snprintf(line, sizeof line, "bad(%u", code);
    ws_events_add_text(&plain->events, line);
    plain->events.bad = true;
}

static void plain_control(struct plain *plain, const struct uvh_ws_frame *frame,
                          const char *payload)
{
    size_t size = (size_t)frame->length;
    if (frame->opcode != UVH_WS_CLOSE) {
        ws_events_add_text(&plain->events, frame->opcode == UVH_WS_PING ? "ping(" : "pong(");
    } else {
        unsigned code = 1005;
        if (size >= 2) {
            code = (uint8_t)payload[0] * 256u + (uint8_t)payload[1];
            payload += 2;
            size -= 2;
        } else if (size == 1) {
            plain_bad(plain, 1002);
            return;
        }
        if (frame->length > 0 && !uvh_ws_close_code_valid(code)) {
            plain_bad(plain, 1002);
            return;
        }
        if (!uvh_utf8_sequence_is_valid_text(payload, size)) {
            plain_bad(plain, 1007);
            return;
        }
        char line[24];
        snprintf(line, sizeof line, "close(%u ", code);
        ws_events_add_text(&plain->events, line);
    }
    ws_events_add(&plain->events, payload, size);
    ws_events_add_text(&plain->events, ")");
}

/* Adds the available part of a frame. A message begins with its first byte, or when it is empty. */
static void plain_message(struct plain *plain, const struct uvh_ws_frame *frame,
                          const char *payload, size_t size)
{
    if (frame->opcode != UVH_WS_CONTINUATION) {
        if (size == 0 && frame->length > 0)
            return;
        ws_events_add_text(&plain->events, frame->opcode == UVH_WS_TEXT ? "text" : "binary");
        ws_events_add_text(&plain->events, frame->compressed ? "*(" : "(");
    }
    ws_events_add(&plain->events, payload, size);
    plain->fragments++;
    if (frame->last && size == frame->length) {
        ws_events_add_text(&plain->events, ")");
        plain->fragments = 0;
    }
}

/* Adds the events of the whole input. An incomplete head is not checked. */
static size_t plain_all(struct plain *plain, const uint8_t *data, size_t size,
                        const struct uvh_ws_rules *rules, bool compression)
{
    size_t at = 0;
    struct plain_frame read;
    while (!plain->events.bad && plain_read(&read, data + at, size - at)) {
        unsigned code = plain_check_head(plain, &read, data + at, rules, compression);
        if (code != 0) {
            plain_bad(plain, code);
            break;
        }
        at += read.head;
        size_t available = read.frame.length < size - at ? (size_t)read.frame.length : size - at;
        char *payload = exact_copy(data + at, available);
        for (size_t i = 0; i < available && read.frame.masked; i++)
            payload[i] = (char)(payload[i] ^ read.frame.mask[i % 4]);
        if (read.frame.opcode < UVH_WS_CLOSE)
            plain_message(plain, &read.frame, payload, available);
        else if (available == read.frame.length)
            plain_control(plain, &read.frame, payload);
        free(payload);
        at += available;
    }
    return at;
}

static void check(const struct ws_events *expected, const uint8_t *data, size_t size, size_t step,
                  const struct uvh_ws_rules *rules, bool compression)
{
    struct uvh_ws_reader reader;
    struct ws_events events;
    ws_events_init(&events, size);
    uvh_ws_reader_init(&reader, compression);
    for (size_t at = 0; at < size && !events.bad; at += step) {
        size_t length = size - at < step ? size - at : step;
        char *copy = exact_copy(data + at, length);
        ws_events_read(&events, &reader, rules, copy, length);
        free(copy);
    }
    require_same(events.broken ? "the contract" : NULL, "reading");
    require_same(events.bad != expected->bad ? "whether it is bad" : NULL, "reading");
    /* Only the reader's text has a reason. */
    bool same = events.bad ? events.length > expected->length : events.length == expected->length;
    same = same && memcmp(events.text, expected->text, expected->length) == 0;
    require_same(same ? NULL : "the events", "reading");
    free(events.text);
}

static void check_text(const uint8_t *data, size_t size, size_t step)
{
    char *copy = exact_copy(data, size);
    struct uvh_utf8 state = {0};
    bool valid = true;
    for (size_t at = 0; at < size && valid; at += step)
        valid = uvh_utf8_check(&state, copy + at, size - at < step ? size - at : step);
    bool expected = uvh_utf8_sequence_is_valid_text(copy, size);
    require_same((valid && uvh_utf8_complete(&state)) != expected ? "UTF-8" : NULL, "in chunks");
    require_same(uvh_utf8_valid(copy, size) != expected ? "UTF-8" : NULL, "whole");
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t step = data[0] % 64 + 2u;
    struct uvh_ws_rules rules = {.max_frame_size = data[1] & 4 ? 100 : 70000,
                                 .max_fragments = data[1] & 8 ? 3 : 1000,
                                 .from_client = (data[1] & 1) != 0};
    bool compression = (data[1] & 2) != 0;
    data += 2;
    size -= 2;
    struct plain plain = {.fragments = 0};
    ws_events_init(&plain.events, size);
    size_t used = plain_all(&plain, data, size, &rules, compression);
    if (!plain.events.bad)
        /* without an incomplete head, since the chunks determine how much of it is checked */
        size = used;
    for (size_t at = 0; backends_next(&at);) {
        check(&plain.events, data, size, size > 0 ? size : 1, &rules, compression);
        check(&plain.events, data, size, step, &rules, compression);
        check(&plain.events, data, size, 1, &rules, compression);
        check_text(data, size, step);
    }
    free(plain.events.text);
    return 0;
}
