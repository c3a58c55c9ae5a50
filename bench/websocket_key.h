/* Sec-WebSocket-Accept (RFC 6455 section 4.2.2) and the SHA-1 it takes (FIPS 180-4), for the load
 * generator and the floor: neither may share code with the library that is measured. Not for
 * anything else: SHA-1 protects nothing. */
#ifndef UVH_BENCH_WEBSOCKET_KEY_H
#define UVH_BENCH_WEBSOCKET_KEY_H

#include <stdint.h>
#include <string.h>

#define KEY_SIZE    24 /* of Sec-WebSocket-Key */
#define ACCEPT_SIZE 28

static inline uint32_t turn_left(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static inline void sha1_block(uint32_t state[5], const unsigned char block[64])
{
    uint32_t words[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        words[i] = turn_left(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                         : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                         : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                  : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = turn_left(a, 5) + mixed + e + words[i];
        e = d, d = c, c = turn_left(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/* `key` has KEY_SIZE bytes. */
static inline void websocket_accept(const char *key, char accept[ACCEPT_SIZE + 1])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char blocks[128] = {0}, digest[21] = {0};
    size_t size =
        /* 60: the end mark fits the first block, the length needs another */
        KEY_SIZE + sizeof(guid) - 1;
    memcpy(blocks, key, KEY_SIZE);
    memcpy(blocks + KEY_SIZE, guid, sizeof(guid) - 1);
    blocks[size] = 0x80;
    blocks[126] = (unsigned char)(size * 8 >> 8);
    blocks[127] = (unsigned char)(size * 8);
    sha1_block(state, blocks);
    sha1_block(state, blocks + 64);
    for (int i = 0; i < 20; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 7; i++) {
        const unsigned char *three = digest + 3 * i;
        char *four = accept + 4 * i;
        four[0] = letters[three[0] >> 2];
        four[1] = letters[(three[0] & 3) << 4 | three[1] >> 4];
        four[2] = letters[(three[1] & 15) << 2 | three[2] >> 6];
        four[3] = letters[three[2] & 63];
    }
    accept[ACCEPT_SIZE - 1] = '=';
    accept[ACCEPT_SIZE] = '\0';
}

#endif
