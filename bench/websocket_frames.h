/* Messages of the load generator, made before the clock starts: masked frames to send, and the
 * payloads expected in the responses. They do not use the library, so that both cannot share an
 * error. */
#ifndef UVH_BENCH_WEBSOCKET_FRAMES_H
#define UVH_BENCH_WEBSOCKET_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

#define SAMPLES_MIN 16 /* different messages, each with its own mask */
/* Bytes of different compressed messages, so that no message repeats within the largest window (32
 * KiB). With repetitions context takeover would compress unrealistically well. */
#define DISTINCT_BYTES (128 << 10)
#define FIN            0x80
#define COMPRESSED     0x40 /* RFC 7692 section 6: the first of the reserved bits */

struct sample {
    unsigned char *payload, *frame;
    size_t size, frame_size;
};

static inline void *check_memory(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static inline uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Writes a client's frame and returns its size. */
static inline size_t write_frame(unsigned char *frame, unsigned first, const unsigned char *payload,
                                 size_t size, uint32_t mask)
{
    size_t at = 0;
    unsigned char key[4] = {(unsigned char)(mask >> 24), (unsigned char)(mask >> 16),
                            (unsigned char)(mask >> 8), (unsigned char)mask};
    frame[at++] = (unsigned char)first;
    if (size < 126) {
        frame[at++] = (unsigned char)(0x80 | size);
    } else {
        int bytes = size < 65536 ? 2 : 8;
        frame[at++] = bytes == 2 ? 0x80 | 126 : 0x80 | 127;
        for (int i = bytes - 1; i >= 0; i--)
            frame[at++] = (unsigned char)(size >> (8 * i));
    }
    memcpy(frame + at, key, 4);
    at += 4;
    for (size_t i = 0; i < size; i++)
        frame[at + i] = payload[i] ^ key[i & 3];
    return at + size;
}

/* Typical text: JSON with numbers, which compresses to about half its size. */
static inline void fill_text(unsigned char *bytes, size_t size, uint32_t *state)
{
    size_t at = 0;
    while (at < size) {
        char record[128];
        int length = snprintf(
            record, sizeof(record),
            "{\"id\":%u,\"symbol\":\"%c%c%c\",\"price\":%u.%02u,\"volume\":%u,\"side\":\"%s\"},",
            next_random(state) % 1000000, 'A' + next_random(state) % 26,
            'A' + next_random(state) % 26, 'A' + next_random(state) % 26, next_random(state) % 1000,
            next_random(state) % 100, next_random(state) % 100000,
            next_random(state) & 1 ? "buy" : "sell");
        size_t here = size - at < (size_t)length ? size - at : (size_t)length;
        memcpy(bytes + at, record, here);
        at += here;
    }
}

/* Compresses one message without context (RFC 7692 section 7.2.1), with the smallest window, so
 * that it fits any negotiated window size. */
static inline size_t deflate_message(const unsigned char *bytes, size_t size, unsigned char *out,
                                     size_t capacity)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, 6, Z_DEFLATED, -9, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned)size;
    stream.next_out = out;
    stream.avail_out = (unsigned)capacity;
    if (deflate(&stream, Z_SYNC_FLUSH) != Z_OK || stream.avail_in > 0)
        abort();
    size_t length = capacity - stream.avail_out - 4; /* without the trailing empty block */
    deflateEnd(&stream);
    return length;
}

/* Makes message `number`: random bytes, or compressed text. */
static inline void make_sample(struct sample *sample, unsigned number, size_t size, bool deflated)
{
    uint32_t state = 2654435761u * (number + 1);
    size_t capacity = size + size / 8 + 256, length = size;
    unsigned char *packed = sample->payload = check_memory(malloc(size > 0 ? size : 1));
    sample->frame = check_memory(malloc(capacity + 14));
    sample->size = size;
    if (deflated)
        fill_text(sample->payload, size, &state);
    for (size_t i = 0; !deflated && i < size; i++)
        sample->payload[i] = (unsigned char)(next_random(&state) >> 11);
    if (deflated) {
        packed = check_memory(malloc(capacity));
        length = deflate_message(sample->payload, size, packed, capacity);
    }
    unsigned first = FIN | (deflated ? TEXT | COMPRESSED : BINARY);
    sample->frame_size = write_frame(sample->frame, first, packed, length, next_random(&state) | 1);
    if (packed != sample->payload)
        free(packed);
}

#endif
