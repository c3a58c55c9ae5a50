/* The table of byte classes, written by rule so that it can be compared with the grammar; see
 * chars.h. */
#include "codec/text/chars.h"

#define TOKEN UVH_CHAR_TOKEN
#define REG   UVH_CHAR_REG_NAME
#define VALUE UVH_CHAR_VALUE
#define QD    UVH_CHAR_QDTEXT
#define ETAG  UVH_CHAR_ETAG
/* any visible character except '"' and '\' */
#define TEXT  (UVH_CHAR_VALUE | UVH_CHAR_QDTEXT | UVH_CHAR_ETAG)
#define DIGIT (UVH_CHAR_DIGIT | UVH_CHAR_HEX | TOKEN | REG | TEXT)
#define HEX   (UVH_CHAR_HEX | TOKEN | REG | TEXT)
#define ALPHA (TOKEN | REG | TEXT)

/* obs-text, 0x80 to 0xff (RFC 9110 section 5.5) */
#define OBS8  TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT
#define OBS32 OBS8, OBS8, OBS8, OBS8

/* clang-format off */
const uint8_t uvh_chars[256] = {
    ['\t'] = VALUE | QD | UVH_CHAR_SPACE,
    [' '] = VALUE | QD | UVH_CHAR_SPACE,
    ['!'] = ALPHA,
    ['"'] = VALUE,
    ['#'] = TOKEN | TEXT,
    ['$'] = ALPHA,
    ['%'] = TOKEN | TEXT,
    ['&'] = ALPHA,
    ['\''] = ALPHA,
    ['('] = REG | TEXT,
    [')'] = REG | TEXT,
    ['*'] = ALPHA,
    ['+'] = ALPHA,
    [','] = REG | TEXT,
    ['-'] = ALPHA,
    ['.'] = ALPHA,
    ['/'] = TEXT,
    ['0'] = DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
    [':'] = TEXT,
    [';'] = REG | TEXT,
    ['<'] = TEXT,
    ['='] = REG | TEXT,
    ['>'] = TEXT,
    ['?'] = TEXT,
    ['@'] = TEXT,
    ['A'] = HEX, HEX, HEX, HEX, HEX, HEX,
    ['G'] = ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, /* G to P */
            ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, /* Q to Z */
    ['['] = TEXT,
    ['\\'] = VALUE | ETAG,
    [']'] = TEXT,
    ['^'] = TOKEN | TEXT,
    ['_'] = ALPHA,
    ['`'] = TOKEN | TEXT,
    ['a'] = HEX, HEX, HEX, HEX, HEX, HEX,
    ['g'] = ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, /* g to p */
            ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, ALPHA, /* q to z */
    ['{'] = TEXT,
    ['|'] = TOKEN | TEXT,
    ['}'] = TEXT,
    ['~'] = ALPHA,
    [0x80] = OBS32, OBS32, OBS32, OBS32,
};

#define NO8  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define NO16 NO8, NO8

const uint8_t uvh_chars_hex[256] = {
    NO16, NO16, NO16,                                                    /* 0x00 */
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,    /* 0x30 */
    0xff, 10, 11, 12, 13, 14, 15, 0xff, NO8,                             /* 0x40 */
    NO16,                                                                /* 0x50 */
    0xff, 10, 11, 12, 13, 14, 15, 0xff, NO8,                             /* 0x60 */
    NO16,                                                                /* 0x70 */
    NO16, NO16, NO16, NO16, NO16, NO16, NO16, NO16,                      /* 0x80 */
};

_Alignas(16) const uint8_t uvh_chars_token_rows[16] = {
    0xe8, 0xfc, 0xf8, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc,
    0xf8, 0xf8, 0xf4, 0x54, 0xd0, 0x54, 0xf4, 0x70,
};

_Alignas(16) const uint8_t uvh_chars_reg_name_rows[16] = {
    0xa8, 0xfc, 0xf8, 0xf8, 0xfc, 0xf8, 0xfc, 0xfc,
    0xfc, 0xfc, 0xf4, 0x5c, 0x54, 0x5c, 0xd4, 0x70,
};

_Alignas(16) const uint8_t uvh_chars_row_bits[16] = {1, 2, 4, 8, 16, 32, 64, 128};
#define ALL8(c)  (c), (c), (c), (c), (c), (c), (c), (c)
#define ALL64(c) { ALL8(c), ALL8(c), ALL8(c), ALL8(c), ALL8(c), ALL8(c), ALL8(c), ALL8(c) }

const struct uvh_chars_vectors uvh_chars_vectors = {
    .last_control = ALL64(0x1f),
    .low_half = ALL64(0x0f),
    .colon = ALL64(':'),
    .one = ALL64(1),
    .next_visible = ALL64('!' + 1),
    .number_sign = ALL64('#'),
    .question = ALL64('?'),
    .del = ALL64(0x7f),
};
/* clang-format on */
