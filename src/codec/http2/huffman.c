/* The Huffman code of HPACK, see huffman.h. The code is canonical: codes of one length are
 * consecutive and in the order of their symbols, so all tables follow from the lengths.
 *
 * The decoder looks up LOOKUP_BITS bits at a time and gets up to two symbols. Longer codes, of
 * bytes that are rare in fields, are found by their length. */
#include "codec/http2/huffman.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

enum {
    SYMBOLS = 257,
    END_OF_STRING = 256,
    SHORTEST = 5,
    LONGEST = 30,
    LOOKUP_BITS = 12,
};

/* RFC 7541 appendix B. */
static const uint8_t lengths[SYMBOLS] = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, /* 0x00 */
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, /* 0x10 */
    6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,  /* 0x20 */
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, /* 0x30 */
    13, 6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  /* 0x40 */
    7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,  /* 0x50 */
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  /* 0x60 */
    6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7,  15, 11, 14, 13, 28, /* 0x70 */
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, /* 0x80 */
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, /* 0x90 */
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, /* 0xa0 */
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, /* 0xb0 */
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, /* 0xc0 */
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, /* 0xd0 */
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, /* 0xe0 */
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, /* 0xf0 */
    30,                                                             /* end of string */
};

/* The symbols in the order of their codes. */
static uint16_t ordered[SYMBOLS];

/* For each length: the first code, left-aligned to LONGEST bits, and the index of its symbol. The
 * codes of length n are those from first_code[n] to first_code[n + 1]. */
static uint32_t first_code[LONGEST + 2];
static uint16_t first_index[LONGEST + 1];

/* The symbols at the front of LOOKUP_BITS bits, as one number that is loaded at once: from the
 * highest byte on two symbols, their count (0: a longer code), bits of all. */
static uint32_t pairs[1 << LOOKUP_BITS];

static uint32_t codes[256];

/* The symbol at the front of LONGEST bits. */
static unsigned find_symbol(uint32_t bits, unsigned from)
{
    unsigned length = from;
    while (bits >= first_code[length + 1] && length < LONGEST)
        length++;
    return ordered[first_index[length] + ((bits - first_code[length]) >> (LONGEST - length))];
}

static uint32_t make_pair(uint32_t bits)
{
    uint32_t symbols = 0;
    unsigned count = 0;
    unsigned length = 0;
    while (count < 2) {
        uint32_t rest = (bits << (LONGEST - LOOKUP_BITS + length)) & ((1u << LONGEST) - 1);
        unsigned symbol = find_symbol(rest, SHORTEST);
        if (length + lengths[symbol] > LOOKUP_BITS)
            break;
        symbols |= symbol << (8 * count++);
        length += lengths[symbol];
    }
    return symbols << 16 | count << 8 | length;
}

/* With high priority among constructors, because others may already parse. */
__attribute__((constructor(101))) static void fill_tables(void)
{
    unsigned index = 0;
    uint32_t code = 0;
    for (unsigned length = SHORTEST; length <= LONGEST; length++) {
        first_code[length] = code;
        first_index[length] = (uint16_t)index;
        for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
            if (lengths[symbol] != length)
                continue;
            ordered[index++] = (uint16_t)symbol;
            if (symbol != END_OF_STRING)
                codes[symbol] = code >> (LONGEST - length);
            code += 1u << (LONGEST - length);
        }
    }
    first_code[LONGEST + 1] = code;
    for (uint32_t bits = 0; bits < UVH_COUNT_OF(pairs); bits++)
        pairs[bits] = make_pair(bits);
}

size_t uvh_huffman_size(const char *text, size_t length)
{
    size_t bits = 0;
    for (size_t i = 0; i < length; i++)
        bits += lengths[(unsigned char)text[i]];
    return (bits + 7) / 8;
}

/* Writes the highest `count` bytes of `bits` bits. */
static char *put_bytes(char *out, uint64_t word, unsigned bits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        out[i] = (char)(uint8_t)(word >> (bits - 8 * (i + 1)));
    return out + count;
}

char *uvh_huffman_encode(char *out, const char *text, size_t length)
{
    uint64_t word = 0; /* pending bits, the first highest */
    unsigned bits = 0; /* their number, below 32 after each symbol */
    for (size_t i = 0; i < length; i++) {
        unsigned char symbol = (unsigned char)text[i];
        word = word << lengths[symbol] | codes[symbol];
        bits += lengths[symbol];
        if (bits >= 32) {
            out = put_bytes(out, word, bits, 4);
            bits -= 32;
        }
    }
    unsigned padding = -bits % 8; /* the front of the end-of-string symbol */
    word = word << padding | 0xffu >> (8 - padding);
    return put_bytes(out, word, bits + padding, (bits + padding) / 8);
}

/* Undecoded bits. */
struct bits {
    const char *in;
    const char *end;
    uint64_t word;  /* left-aligned; after `count` bits undefined */
    unsigned count; /* valid bits of `word` */
};

static inline uint64_t load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void take(struct bits *bits, unsigned count)
{
    bits->word <<= count % 64;
    bits->count -= count;
}

/* Writes two bytes of which the pair's count are symbols. */
static UVH_ALWAYS_INLINE char *put_pair(char *out, uint32_t pair)
{
    out[0] = (char)(uint8_t)(pair >> 16);
    out[1] = (char)(uint8_t)(pair >> 24);
    return out + (pair >> 8 & 3);
}

/* While eight bytes can be loaded and ten written: the pairs of 56 bits at a time. */
static UVH_ALWAYS_INLINE char *decode_pairs(struct bits *bits, char *out, const char *out_end)
{
    while (bits->end - bits->in >= 8 && out_end - out >= 2 * (56 / LOOKUP_BITS)) {
        bits->word |= load(bits->in) >> bits->count;
        bits->in += (63 - bits->count) >> 3;
        bits->count |= 56;
#pragma GCC unroll 5
        for (unsigned i = 0; i < 56 / LOOKUP_BITS; i++) {
            uint32_t pair = pairs[bits->word >> (64 - LOOKUP_BITS)];
            if (UVH_UNLIKELY(pair == 0)) {
                if (bits->count < LONGEST)
                    break;
                unsigned symbol =
                    find_symbol((uint32_t)(bits->word >> (64 - LONGEST)), LOOKUP_BITS + 1);
                if (symbol == END_OF_STRING)
                    return out; /* decode_rest finds it, too */
                *out++ = (char)(uint8_t)symbol;
                take(bits, lengths[symbol]);
                break;
            }
            out = put_pair(out, pair);
            take(bits, pair & 0xff);
        }
    }
    return out;
}

/* The last bytes, up to the padding. Returns the end of the text, or NULL. */
static char *decode_rest(struct bits *bits, char *out, const char *out_end, ptrdiff_t *error)
{
    for (;;) {
        while (bits->count <= 56 && bits->in < bits->end) {
            uint64_t valid = bits->word & ~(UINT64_MAX >> bits->count);
            bits->count += 8;
            bits->word = valid | (uint64_t)(unsigned char)*bits->in++ << (64 - bits->count);
        }
        /* continued by ones, as the end-of-string symbol has */
        uint64_t padded = bits->word | (bits->count < 64 ? UINT64_MAX >> bits->count : 0);
        if (bits->count < 8 && padded == UINT64_MAX)
            return out;
        uint32_t pair = pairs[padded >> (64 - LOOKUP_BITS)];
        if (pair != 0 && (pair & 0xff) <= bits->count && out_end - out >= 2) {
            out = put_pair(out, pair);
            take(bits, pair & 0xff);
            continue;
        }
        unsigned symbol = find_symbol((uint32_t)(padded >> (64 - LONGEST)), SHORTEST);
        bool bad = lengths[symbol] > bits->count || symbol == END_OF_STRING;
        *error = bad ? UVH_HUFFMAN_BAD : UVH_HUFFMAN_SPACE;
        if (bad || out == out_end)
            return NULL;
        *out++ = (char)(uint8_t)symbol;
        take(bits, lengths[symbol]);
    }
}

ptrdiff_t uvh_huffman_decode(const char *in, size_t length, char *out, size_t space)
{
    struct bits bits = {.in = in, .end = in + length};
    const char *out_end = out + space;
    ptrdiff_t error = 0;
    char *end = decode_pairs(&bits, out, out_end);
    end = decode_rest(&bits, end, out_end, &error);
    return end != NULL ? end - out : error;
}
