/* The table of known field names and the perfect hash into it.
 *
 * field.c defines the table and fills it before main from UVHTTP_FIELD_MAP; parser.h looks up every
 * field line. The hash input is the length and the last four bytes of the name, or of CR LF and the
 * name if that is shorter. The multiplier was found by search and gives every name its own slot.
 * The unit test fails on a collision, and searches for another multiplier. */
#ifndef UVH_CODEC_FIELDS_FIELD_TABLE_H
#define UVH_CODEC_FIELDS_FIELD_TABLE_H

#include <stdbool.h>

#include <uvhttp/parser.h>

#include "base/compiler.h"
#include "codec/simd/scan_swar.h"

enum {
    UVH_FIELD_SLOT_BITS = 6,
    UVH_FIELD_NAME_MAX = 24,
    /* so many bytes before a name's end are read, even if it is shorter */
    UVH_FIELD_NAME_FRONT = 16
};

#define UVH_FIELD_FACTOR 0xeed01c59u

/* A name: its last 16 bytes and, if it is longer, its first eight. A mask byte is 0xdf for a letter
 * (case-insensitive), 0xff for another byte of the name, and 0 before the name. 64 bytes, so that a
 * row's address is a shift and a row is one cache line. */
struct uvh_field_row {
    _Alignas(64) char text[16];
    char mask[16];
    uint64_t front;
    uint64_t front_mask;
    uvhttp_field_t field; /* common members of all fields with the name */
};
_Static_assert(sizeof(struct uvh_field_row) == 64, "a row is 64 bytes");

extern UVH_INTERNAL struct uvh_field_row uvh_field_rows[1 << UVH_FIELD_SLOT_BITS];

/* The slot of a name that ends at `end`. Four bytes before `end` are readable. */
static inline unsigned uvh_field_table_slot(const char *end, size_t length, uint32_t factor)
{
    uint32_t last;
    memcpy(&last, end - sizeof last, sizeof last);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    last = __builtin_bswap32(last);
#endif
    return (((last | 0x20202020u) + (uint32_t)length) * factor) >> (32 - UVH_FIELD_SLOT_BITS);
}

/* Compares 16 bytes, see uvh_swar_equal. */
typedef bool (*uvh_equal_fn)(const char *p, const char text[16], const char mask[16]);

/* The row of the name of `length` bytes that ends at `end`, or NULL. UVH_FIELD_NAME_FRONT bytes
 * before `end` are readable, and CR LF precedes the name. */
static UVH_ALWAYS_INLINE const struct uvh_field_row *
uvh_field_table_find(const char *end, size_t length, uvh_equal_fn equal)
{
    const struct uvh_field_row *row =
        &uvh_field_rows[uvh_field_table_slot(end, length, UVH_FIELD_FACTOR)];
    UVH_OPAQUE(row);
    if (row->field.name_length != (uint16_t)length || !equal(end - 16, row->text, row->mask))
        return NULL;
    if (UVH_UNLIKELY(length > 16) &&
        ((uvh_swar_load(end - length) ^ row->front) & row->front_mask) != 0)
        return NULL;
    return row;
}

/* The same for a name in any memory. */
const struct uvh_field_row *uvh_field_row_of(uvhttp_slice_t name);

#endif
