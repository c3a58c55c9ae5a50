/* Shared by the floor and the load generator of WebSocket: the key of handshakes, and the heads of
 * frames (RFC 6455 section 5.2). */
#ifndef UVH_BENCH_WEBSOCKET_WIRE_H
#define UVH_BENCH_WEBSOCKET_WIRE_H

#include <stdint.h>

/* The key of every client handshake in these benchmarks, and its Sec-WebSocket-Accept: the example
 * of RFC 6455 section 1.3. With a fixed key floor and load generator need no SHA-1. */
#define WEBSOCKET_KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define WEBSOCKET_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/* The size of a head without its mask, of which at least two bytes are known. */
static inline unsigned frame_head_size(const unsigned char *head)
{
    unsigned length = head[1] & 127;
    return length < 126 ? 2 : length == 126 ? 4 : 10;
}

/* The length of the payload, from a head of `size` bytes without its mask. */
static inline uint64_t frame_payload_length(const unsigned char *head, unsigned size)
{
    uint64_t length = 0;
    for (unsigned i = 2; i < size; i++)
        length = length << 8 | head[i];
    return size == 2 ? head[1] & 127 : length;
}

#endif
