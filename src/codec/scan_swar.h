/* Scanning in portable C: eight bytes in one 64-bit word ("SIMD within a register").
 *
 * Words are loaded with memcpy and brought to little-endian order, so that the byte that comes first in
 * memory is the lowest and count-trailing-zeros finds it. Each test sets bit 7 of the bytes that match.
 * Some tests set it wrongly in bytes above a match (a borrow or carry runs on), never below, so the lowest
 * set bit is always right. */
#ifndef UVH_CODEC_SCAN_SWAR_H
#define UVH_CODEC_SCAN_SWAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { UVH_SWAR_SLACK = 8 };

#define UVH_SWAR_ONES  0x0101010101010101u
#define UVH_SWAR_HIGHS 0x8080808080808080u

/* The byte `c` in all eight places. */
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

/* The fewer than eight bytes [p, end), followed by zeros. Loads the eight bytes in front of `end`, hence
 * the slack. */
static inline uint64_t uvh_swar_load_tail(const char *p, const char *end)
{
    unsigned missing = (unsigned)(8 - (end - p));
    return uvh_swar_load(end - 8) >> (8 * missing);
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

/* Below 0x20 or DEL. HTAB matches too: the caller looks at the byte it was stopped by. */
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
    /* Looking for NUL finds the zeros behind the tail. */
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
    /* The zeros behind the tail match, so there is always a first one. */
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
        /* The zeros behind the tail match, so there is always a first one. */
        p += uvh_swar_first(uvh_swar_match_value_end(uvh_swar_load_tail(p, end)));
        if (p >= end || *p != '\t')
            break;
        p++;
    }
    return p < end ? p : end;
}

/* A '.' is special only when '/' stands right before it; `carry` is that for the word's first byte. */
static inline const char *uvh_scan_path_special(const char *p, const char *end)
{
    uint64_t carry = 0x80;
    while (p < end) {
        uint64_t word = end - p >= 8 ? uvh_swar_load(p) : uvh_swar_load_tail(p, end);
        /* Exact in every byte, since what is found in one byte is shifted to the next: no borrow may cross
         * bytes. */
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
