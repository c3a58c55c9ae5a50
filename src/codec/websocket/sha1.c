/* See sha1.h. A direct implementation of the standard: a handshake has only two blocks. */
#include "codec/websocket/sha1.h"

#include <string.h>

enum { BLOCK = 64, LENGTH_AT = BLOCK - 8, ROUNDS = 80, WORDS = 5 };

static uint32_t rotated(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store_word(uint8_t *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* f and K of sections 4.1.1 and 4.2.1, added. */
static uint32_t mixed(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) ^ (~b & d)) + 0x5a827999u;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ed9eba1u;
    if (round < 60)
        return ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdcu;
    return (b ^ c ^ d) + 0xca62c1d6u;
}

/* Section 6.1.2. */
static void add_block(uint32_t hash[WORDS], const uint8_t *block)
{
    uint32_t schedule[ROUNDS];
    for (unsigned t = 0; t < 16; t++)
        schedule[t] = load_word(block + (size_t)4 * t);
    for (unsigned t = 16; t < ROUNDS; t++)
        schedule[t] =
            rotated(schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16], 1);
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    for (unsigned t = 0; t < ROUNDS; t++) {
        uint32_t next = rotated(a, 5) + mixed(t, b, c, d) + e + schedule[t];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

void uvh_sha1(const void *data, size_t size, uint8_t digest[UVH_SHA1_SIZE])
{
    const uint8_t *bytes = data;
    uint32_t hash[WORDS] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    size_t left = size;
    for (; left >= BLOCK; left -= BLOCK, bytes += BLOCK)
        add_block(hash, bytes);
    /* Section 5.1.1: a one bit, zeros, and the length in bits. */
    uint8_t last[2 * BLOCK] = {0};
    if (left > 0)
        memcpy(last, bytes, left);
    last[left] = 0x80;
    size_t end = left < LENGTH_AT ? BLOCK : sizeof last;
    store_word(last + end - 8, (uint32_t)((uint64_t)size >> 29));
    store_word(last + end - 4, (uint32_t)((uint64_t)size << 3));
    for (size_t at = 0; at < end; at += BLOCK)
        add_block(hash, last + at);
    for (size_t i = 0; i < WORDS; i++)
        store_word(digest + 4 * i, hash[i]);
}
