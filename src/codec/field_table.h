/* The table of known field names and the perfect hash into it.
 *
 * Included by field.c, which holds the table and fills it before main from UVHTTP_FIELD_MAP, and by h1_parser.h, which looks up every field
 * line. The hash takes the last four bytes of the name, or of CR LF and the name if that is shorter, and its length; the factor was found by
 * search and sends every name to a slot of its own. The unit test fails for a name that shares a slot, and searches for a factor that helps. */
#ifndef UVH_CODEC_FIELD_TABLE_H
#define UVH_CODEC_FIELD_TABLE_H

#include <stdbool.h>

#include <uvhttp/field.h>

#include "base/compiler.h"
#include "codec/scan_swar.h"

enum {
    UVH_FIELD_SLOT_BITS = 6,
    UVH_FIELD_NAME_MAX = 24,
    UVH_FIELD_NAME_FRONT =
        16 /* so many bytes in front of a name's end are read, whether they belong to it or not */
};

#define UVH_FIELD_FACTOR 0xeed01c59u

/* A name in words of eight bytes: its last, the one in front of that, and, if these are not all of it, its first. A mask has 0xdf for a letter,
 * whose case does not matter, 0xff for another byte of the name, and 0 in front of the name. 64 bytes, so that a row's address is a shift away and
 * lies in one cache line. */
struct uvh_field_row {
    _Alignas(64) uint64_t text[UVH_FIELD_NAME_MAX / 8];
    uint64_t mask[UVH_FIELD_NAME_MAX / 8];
    size_t length; /* 0 in an empty slot */
    uint8_t id;
};
_Static_assert(sizeof(struct uvh_field_row) == 64, "a row is 64 bytes");

extern struct uvh_field_row uvh_field_rows[1 << UVH_FIELD_SLOT_BITS];

/* The slot of a name that ends at `end`. Four bytes in front of that are readable. */
static inline unsigned uvh_field_table_slot(const char *end, size_t length, uint32_t factor)
{
    uint32_t last;
    memcpy(&last, end - sizeof last, sizeof last);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    last = __builtin_bswap32(last);
#endif
    return (((last | 0x20202020u) + (uint32_t)length) * factor) >> (32 - UVH_FIELD_SLOT_BITS);
}

/* The difference of the eight bytes at `p` and a word of the row; 0 when the name agrees there. */
static inline uint64_t uvh_field_table_differs(const struct uvh_field_row *row, int word, const char *p)
{
    return (uvh_swar_load(p) ^ row->text[word]) & row->mask[word];
}

/* The id of the name of `length` bytes, at least one, that ends at `end`. UVH_FIELD_NAME_FRONT bytes in front of `end` are readable, and CR LF
 * stands in front of the name. */
static inline unsigned uvh_field_table_find(const char *end, size_t length)
{
    const struct uvh_field_row *row = &uvh_field_rows[uvh_field_table_slot(end, length, UVH_FIELD_FACTOR)];
    if (row->length != length ||
        (uvh_field_table_differs(row, 0, end - 8) | uvh_field_table_differs(row, 1, end - 16)) != 0)
        return UVHTTP_FIELD_OTHER;
    if (UVH_UNLIKELY(length > 16) && uvh_field_table_differs(row, 2, end - length) != 0)
        return UVHTTP_FIELD_OTHER;
    return row->id;
}

#endif
