/* Classes of bytes, by the grammar of RFC 9110 and RFC 3986: one table, one bit per class.
 *
 * Used to check single bytes; long runs use codec/simd/scan_swar.h. */
#ifndef UVH_CODEC_TEXT_CHARS_H
#define UVH_CODEC_TEXT_CHARS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum {
    UVH_CHAR_TOKEN = 1, /* tchar, RFC 9110 section 5.6.2 */
    UVH_CHAR_DIGIT = 2, /* 0-9 */
    UVH_CHAR_HEX = 4,   /* 0-9 A-F a-f */
    /* unreserved and sub-delims of RFC 3986 section 3.2.2, without '%' */
    UVH_CHAR_REG_NAME = 8,
    /* allowed in a field value: HTAB, SP, VCHAR, obs-text, RFC 9110 section 5.5 */
    UVH_CHAR_VALUE = 16,
    UVH_CHAR_QDTEXT = 32, /* allowed unescaped in a quoted string, RFC 9110 section 5.6.4 */
    UVH_CHAR_ETAG = 64,   /* etagc, RFC 9110 section 8.8.3 */
    UVH_CHAR_SPACE = 128  /* SP and HTAB */
};

extern UVH_INTERNAL const uint8_t uvh_chars[256];

/* The value of a hexadecimal digit, 0xff for other bytes. */
extern UVH_INTERNAL const uint8_t uvh_chars_hex[256];

/* UVH_CHAR_TOKEN and UVH_CHAR_REG_NAME by nibbles: bit h of row l is set if the byte 16 * h + l is
 * in the class. Bit h alone is uvh_chars_row_bits[h]. */
extern UVH_INTERNAL const uint8_t uvh_chars_token_rows[16];
extern UVH_INTERNAL const uint8_t uvh_chars_reg_name_rows[16];
extern UVH_INTERNAL const uint8_t uvh_chars_row_bits[16];

/* Vectors of one repeated byte for the back ends: loading them from memory is free, while a
 * constant is rebuilt in every loop. */
struct uvh_chars_vectors {
    _Alignas(64) uint8_t last_control[64];
    uint8_t low_half[64];
    uint8_t colon[64];
    uint8_t one[64];
    uint8_t next_visible[64]; /* the first visible character plus one */
    uint8_t number_sign[64];
    uint8_t question[64];
    uint8_t del[64];
};
extern UVH_INTERNAL const struct uvh_chars_vectors uvh_chars_vectors;

static inline bool uvh_chars_is(char c, unsigned classes)
{
    return (uvh_chars[(unsigned char)c] & classes) != 0;
}

/* ASCII only, independent of the locale. */
static inline char uvh_chars_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

#endif
