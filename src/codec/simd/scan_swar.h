/* Scanning in portable C: eight bytes in one 64-bit word ("SIMD within a register").
 *
 * Words are loaded with memcpy and converted to little-endian order, so that the first byte in
 * memory is the lowest and count-trailing-zeros finds it. Each test sets bit 7 of the matching
 * bytes. Some tests also set it in bytes above a match (borrow or carry), never below, so the
 * lowest set bit is always correct. */
#ifndef UVH_CODEC_SIMD_SCAN_SWAR_H
#define UVH_CODEC_SIMD_SCAN_SWAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec/text/chars.h"

enum { UVH_SWAR_SLACK = 8 };

#define UVH_SWAR_ONES  0x0101010101010101u
#define UVH_SWAR_HIGHS 0x8080808080808080u

/* The byte `c` repeated eight times. */
static inline uint64_t uvh_swar_all(unsigned c)
{
    return UVH_SWAR_ONES * c;
}

static inline uint64_t uvh_swar_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The fewer than eight bytes [p, end), followed by zeros. Loads the eight bytes before `end`, which
 * must be readable. */
static inline uint64_t uvh_swar_load_tail(const char *p, const char *end)
{
    unsigned missing = (unsigned)(8 - (end - p));
    return uvh_swar_load(end - 8) >> (8 * missing);
}

/* True if the 16 bytes at `p` equal those of `text`, in the bits set in `mask`. */
static inline bool uvh_swar_equal(const char *p, const char text[16], const char mask[16])
{
    uint64_t first = (uvh_swar_load(p) ^ uvh_swar_load(text)) & uvh_swar_load(mask);
    uint64_t second = (uvh_swar_load(p + 8) ^ uvh_swar_load(text + 8)) & uvh_swar_load(mask + 8);
    return (first | second) == 0;
}

/* Index of the first matching byte; `matches` is not 0. */
static inline unsigned uvh_swar_first(uint64_t matches)
{
    return (unsigned)__builtin_ctzll(matches) >> 3;
}

static inline uint64_t uvh_swar_match_byte(uint64_t word, unsigned c)
{
    uint64_t x = word ^ uvh_swar_all(c);
    return (x - UVH_SWAR_ONES) & ~x & UVH_SWAR_HIGHS;
}

/* A word of digits, each less '0': not 0 if one byte is no digit. A byte from 0x8a on carries into
 * the next, but is itself detected. */
static inline uint64_t uvh_swar_not_digits(uint64_t digits)
{
    return (digits | (digits + uvh_swar_all(0x80 - 10))) & UVH_SWAR_HIGHS;
}

/* The number of `length` digits, 1 to 8, that end at `end`; false for anything else. Eight bytes
 * before `end` are readable. */
static inline bool uvh_swar_number(const char *end, size_t length, uint64_t *number)
{
    /* bits of the bytes before the number, which become zeros */
    unsigned others = (unsigned)(64 - 8 * length);
    uint64_t digits = (uvh_swar_load(end - 8) ^ uvh_swar_all('0')) >> others << others;
    if (uvh_swar_not_digits(digits) != 0)
        return false;
    /* The first digit is the lowest byte. Combines digits to pairs, pairs to fours, and these to
     * the result. */
    digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffu;
    digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffu;
    *number = (uint32_t)(digits * 10000 + (digits >> 32));
    return true;
}

/* The same for three digits and a space that begin at `p`. */
static inline bool uvh_swar_status(const char *p, unsigned *status)
{
    uint64_t word = uvh_swar_load(p - 4) >> 32; /* no byte after the space is read */
    uint64_t digits = word ^ 0x20303030u;
    if ((uvh_swar_not_digits(digits) | digits >> 24) != 0)
        return false;
    *status = (unsigned)((digits & 0xff) * 100 + (digits >> 8 & 0xff) * 10 + (digits >> 16));
    return true;
}

/* Below 0x20 or DEL. HTAB matches too: the caller checks the byte found. */
static inline uint64_t uvh_swar_match_value_end(uint64_t word)
{
    uint64_t below_space = word - uvh_swar_all(0x20);
    uint64_t from_del = (word & uvh_swar_all(0x7f)) + UVH_SWAR_ONES;
    return (below_space | from_del) & ~word & UVH_SWAR_HIGHS;
}

/* Up to 0x20, DEL, above 0x7f, or '#'. */
static inline uint64_t uvh_swar_match_target_end(uint64_t word)
{
    uint64_t up_to_space = word - uvh_swar_all(0x21);
    uint64_t from_del = word + UVH_SWAR_ONES;
    uint64_t number_sign = (word ^ uvh_swar_all('#')) - UVH_SWAR_ONES;
    return (up_to_space | from_del | number_sign | word) & UVH_SWAR_HIGHS;
}

static inline const char *uvh_scan_byte(const char *p, const char *end, char byte)
{
    uint64_t matches;
    for (; end - p >= 8; p += 8) {
        matches = uvh_swar_match_byte(uvh_swar_load(p), (unsigned char)byte);
        if (matches != 0)
            return p + uvh_swar_first(matches);
    }
    if (p == end)
        return end;
    matches = uvh_swar_match_byte(uvh_swar_load_tail(p, end), (unsigned char)byte);
    if (matches == 0)
        return end;
    /* A search for NUL finds the zeros after the tail. */
    p += uvh_swar_first(matches);
    return p < end ? p : end;
}

static inline const char *uvh_scan_colon(const char *p, const char *end)
{
    return uvh_scan_byte(p, end, ':');
}

static inline const char *uvh_scan_line_feed(const char *p, const char *end)
{
    return uvh_scan_byte(p, end, '\n');
}

/* The number of bytes allowed in a registered name: rarely more than a few. */
static inline size_t uvh_scan_reg_name(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_REG_NAME))
        p++;
    return (size_t)(p - start);
}

static inline const char *uvh_scan_target(const char *p, const char *end)
{
    uint64_t matches;
    for (; end - p >= 8; p += 8) {
        matches = uvh_swar_match_target_end(uvh_swar_load(p));
        if (matches != 0)
            return p + uvh_swar_first(matches);
    }
    if (p == end)
        return end;
    /* The zeros after the tail match, so there is always a first one. */
    p += uvh_swar_first(uvh_swar_match_target_end(uvh_swar_load_tail(p, end)));
    return p < end ? p : end;
}

static inline const char *uvh_scan_value(const char *p, const char *end)
{
    uint64_t matches;
    while (end - p >= 8) {
        matches = uvh_swar_match_value_end(uvh_swar_load(p));
        if (matches == 0) {
            p += 8;
            continue;
        }
        p += uvh_swar_first(matches);
        if (*p != '\t')
            return p;
        p++;
    }
    while (p < end) {
        /* The zeros after the tail match, so there is always a first one. */
        p += uvh_swar_first(uvh_swar_match_value_end(uvh_swar_load_tail(p, end)));
        if (p >= end || *p != '\t')
            break;
        p++;
    }
    return p < end ? p : end;
}

/* A '.' is special only directly after '/'; `carry` is that for the word's first byte. */
static inline const char *uvh_scan_path_special(const char *p, const char *end)
{
    uint64_t carry = 0x80;
    while (p < end) {
        uint64_t word = end - p >= 8 ? uvh_swar_load(p) : uvh_swar_load_tail(p, end);
        /* Exact in every byte, because matches in one byte are shifted to the next: no borrow may
         * cross bytes. */
        uint64_t slash_rest = word ^ uvh_swar_all('/');
        uint64_t dot_rest = word ^ uvh_swar_all('.');
        uint64_t low = uvh_swar_all(0x7f);
        uint64_t slash = ~(((slash_rest & low) + low) | slash_rest | low);
        uint64_t dot = ~(((dot_rest & low) + low) | dot_rest | low);
        uint64_t matches = uvh_swar_match_byte(word, '%') | (dot & ((slash << 8) | carry));
        if (matches != 0)
            return p + uvh_swar_first(matches);
        carry = slash >> 56;
        p += end - p < 8 ? end - p : 8;
    }
    return end;
}

#endif
