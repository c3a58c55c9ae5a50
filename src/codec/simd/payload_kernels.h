/* Masking and UTF-8 with vectors, compiled once per instruction set: each file payload_*.c names
 * its instruction set (codec/simd/octets.h) and its back end, and includes this.
 *
 * A rest shorter than a vector is processed with a vector that overlaps its neighbour, so there are
 * no loops over single bytes. No byte outside of the input is read. */
#ifndef UVH_CODEC_SIMD_PAYLOAD_KERNELS_H
#define UVH_CODEC_SIMD_PAYLOAD_KERNELS_H

#include "codec/simd/payload_backend.h"

#include <stdalign.h>
#include <string.h>

#include "codec/simd/octets.h"
#include "codec/text/utf8_sequence.h"

#if !defined(UVH_PAYLOAD_BACKEND)
#define UVH_PAYLOAD_BACKEND uvh_payload_backend_sse42
#endif

enum { STEP = 4 * UVH_OCTETS_SIZE };

/* The first and the last vector are loaded and masked before all others and stored after them,
 * because bytes changed in place must not be masked twice. Stores of the vectors between are
 * aligned. */
static void mask_payload(char *out, const char *data, size_t size, uint32_t word)
{
    size_t last_at = size - UVH_OCTETS_SIZE;
    uvh_octets first = uvh_octets_load(data) ^ uvh_octets_of_word(word);
    uvh_octets last =
        uvh_octets_load(data + last_at) ^ uvh_octets_of_word(uvh_payload_rotate(word, last_at));
    size_t at = UVH_OCTETS_SIZE - (uintptr_t)out % UVH_OCTETS_SIZE;
    uvh_octets rotated = uvh_octets_of_word(uvh_payload_rotate(word, at));
    for (; at + STEP <= size; at += STEP) {
#pragma GCC unroll 4
        for (size_t i = 0; i < STEP; i += UVH_OCTETS_SIZE)
            uvh_octets_store(out + at + i, uvh_octets_load(data + at + i) ^ rotated);
    }
    for (; at < last_at; at += UVH_OCTETS_SIZE)
        uvh_octets_store(out + at, uvh_octets_load(data + at) ^ rotated);
    uvh_octets_store(out, first);
    uvh_octets_store(out + last_at, last);
}

/* Possible errors of two adjacent bytes, one bit each. Every error is determined by three nibbles:
 * both of the first byte and the upper one of the second. For each of them a table has the errors
 * that it allows; a bit set in all three is an error. */
enum {
    LONGER_THAN_2 = 0x01, /* C0 and C1: overlong form of one byte */
    LONGER_THAN_3 = 0x02, /* E0 with 80 to 9F: overlong form of two bytes */
    /* F0 with 80 to 8F: overlong form of three bytes. Also F5 to FF with the same, which need no
     * other bit */
    LONGER_THAN_4 = 0x04,
    SURROGATE = 0x08,  /* ED with A0 to BF */
    BEYOND = 0x10,     /* F4 to FF with 90 to BF: above U+10FFFF, or an invalid lead byte */
    LEAD_ALONE = 0x20, /* no continuation byte after a lead byte */
    ASCII_CONTINUED = 0x40,
    BOTH_CONTINUE = 0x80, /* an error only if the lead byte is too far away */
    ANY_LOW = LEAD_ALONE | ASCII_CONTINUED | BOTH_CONTINUE,
    CONTINUED = ASCII_CONTINUED | BOTH_CONTINUE | LONGER_THAN_2,
};

#define FOUR(errors) (errors), (errors), (errors), (errors)

/* Indexed by the upper nibble of the first byte. */
static const alignas(16) uint8_t first_high[16] = {
    FOUR(ASCII_CONTINUED),
    FOUR(ASCII_CONTINUED),
    FOUR(BOTH_CONTINUE),
    LEAD_ALONE | LONGER_THAN_2,
    LEAD_ALONE,
    LEAD_ALONE | LONGER_THAN_3 | SURROGATE,
    LEAD_ALONE | LONGER_THAN_4 | BEYOND,
};

/* Indexed by its lower nibble. */
static const alignas(16) uint8_t first_low[16] = {
    ANY_LOW | LONGER_THAN_2 | LONGER_THAN_3 | LONGER_THAN_4,
    ANY_LOW | LONGER_THAN_2,
    ANY_LOW,
    ANY_LOW,
    ANY_LOW | BEYOND,
    FOUR(ANY_LOW | BEYOND | LONGER_THAN_4), /* 5 to 8 */
    FOUR(ANY_LOW | BEYOND | LONGER_THAN_4), /* 9 to C */
    ANY_LOW | BEYOND | LONGER_THAN_4 | SURROGATE,
    ANY_LOW | BEYOND | LONGER_THAN_4,
    ANY_LOW | BEYOND | LONGER_THAN_4,
};

/* Indexed by the upper nibble of the second byte. */
static const alignas(16) uint8_t second_high[16] = {
    FOUR(LEAD_ALONE),
    FOUR(LEAD_ALONE),
    CONTINUED | LONGER_THAN_3 | LONGER_THAN_4,
    CONTINUED | LONGER_THAN_3 | BEYOND,
    CONTINUED | SURROGATE | BEYOND,
    CONTINUED | SURROGATE | BEYOND,
    FOUR(LEAD_ALONE),
};

/* Nonzero where a byte of the vector at `p` is invalid after the three bytes before it. */
static UVH_ALWAYS_INLINE uvh_octets errors_at(const char *p)
{
    uvh_octets before = uvh_octets_load(p - 1);
    uvh_octets low = before & uvh_octets_all(0x0f);
    uvh_octets pairs =
        UVH_OCTETS_LOOK_UP(UVH_OCTETS_TABLE(first_high), uvh_octets_high_halves(before)) &
        UVH_OCTETS_LOOK_UP(UVH_OCTETS_TABLE(first_low), low);
    pairs &= UVH_OCTETS_LOOK_UP(UVH_OCTETS_TABLE(second_high),
                                uvh_octets_high_halves(uvh_octets_load(p)));
    /* Two adjacent continuation bytes are allowed exactly for the third and fourth bytes of
     * characters; lead bytes that require them set the upper bit. */
    uvh_octets third = UVH_OCTETS_LESS(uvh_octets_load(p - 2), uvh_octets_all(0xe0 - 0x80));
    uvh_octets fourth = UVH_OCTETS_LESS(uvh_octets_load(p - 3), uvh_octets_all(0xf0 - 0x80));
    uvh_octets wanted = (third | fourth) & uvh_octets_all(BOTH_CONTINUE);
    return pairs ^ wanted;
}

/* The start of an incomplete character at the end of the text. All bytes before it are valid as far
 * as adjacent bytes show. */
static const char *incomplete_at(const char *data, const char *end)
{
    for (const char *p = end; p > data && end - p < 3;) {
        unsigned char byte = (unsigned char)*--p;
        if (byte < 0x80)
            return end;
        if (byte >= 0xc0) {
            size_t length = (size_t)(end - p);
            if (uvh_utf8_sequence_valid_length(p, length) == length)
                return end;
            return uvh_utf8_sequence_is_incomplete(p, length) ? p : NULL;
        }
    }
    return end;
}

/* A text shorter than a vector is checked in a copy after zeros. */
static UVH_NEVER_INLINE const char *check_short(const char *data, const char *end)
{
    char space[3 + 2 * UVH_OCTETS_SIZE] = {0};
    size_t size = (size_t)(end - data);
    memcpy(space + sizeof space - size, data, size);
    uvh_octets errors = errors_at(space + sizeof space - UVH_OCTETS_SIZE);
    if (size > UVH_OCTETS_SIZE)
        errors |= errors_at(space + 3);
    return UVH_OCTETS_ARE_ZERO(errors) ? incomplete_at(data, end) : NULL;
}

/* True if the STEP bytes at `p` are ASCII. */
static UVH_ALWAYS_INLINE bool is_ascii(const char *p)
{
    uvh_octets front = uvh_octets_load(p) | uvh_octets_load(p + UVH_OCTETS_SIZE);
    uvh_octets back =
        uvh_octets_load(p + 2 * UVH_OCTETS_SIZE) | uvh_octets_load(p + 3 * UVH_OCTETS_SIZE);
    return UVH_OCTETS_ARE_ASCII(front | back);
}

/* Skips ASCII at the start of the text, or its first characters, so that three bytes precede the
 * result. NULL: it begins with an invalid character. */
static const char *skip_front(const char *data, const char *end)
{
    const char *p = data;
    while (end - p >= STEP && is_ascii(p))
        p += STEP;
    while (p - data < 3) {
        size_t length = uvh_utf8_sequence_valid_length(p, (size_t)(end - p));
        if (length == 0)
            return NULL;
        p += length;
    }
    return p;
}

static const char *check_utf8(const char *data, const char *end)
{
    if (end - data < UVH_OCTETS_SIZE + 6) /* six: the most that skip_front skips */
        return check_short(data, end);
    const char *p = skip_front(data, end);
    if (p == NULL)
        return NULL;
    while (end - p >= STEP) {
        uvh_octets errors = errors_at(p);
        for (size_t i = UVH_OCTETS_SIZE; i < STEP; i += UVH_OCTETS_SIZE)
            errors |= errors_at(p + i);
        p += STEP;
        if (end - p >= STEP && is_ascii(p)) {
            /* a character may continue across its start */
            errors |= errors_at(p);
            do
                p += STEP;
            while (end - p >= STEP && is_ascii(p));
        }
        if (!UVH_OCTETS_ARE_ZERO(errors))
            return NULL;
    }
    uvh_octets errors = errors_at(end - UVH_OCTETS_SIZE);
    for (; end - p > UVH_OCTETS_SIZE; p += UVH_OCTETS_SIZE)
        errors |= errors_at(p);
    return UVH_OCTETS_ARE_ZERO(errors) ? incomplete_at(data, end) : NULL;
}

const struct uvh_payload_backend UVH_PAYLOAD_BACKEND = {
    .mask = mask_payload,
    .utf8 = check_utf8,
};

#endif
