/* The table of known field names and the perfect hash into it.
 *
 * Included by field.c, which holds the tables, and by h1_parser.h, which looks up every field line. The
 * hash takes the last eight bytes of the name in lower case and its length; the factor was found by search
 * and sends every name to a slot of its own. The unit test fails for a name added to UVHTTP_FIELD_MAP that
 * has no slot, and says which slot it hashes to. */
#ifndef UVH_CODEC_FIELD_TABLE_H
#define UVH_CODEC_FIELD_TABLE_H

#include <stdbool.h>

#include <uvhttp/field.h>

#include "codec/scan_swar.h"

enum { UVH_FIELD_SLOT_BITS = 6, UVH_FIELD_NAME_MAX = 24 };

/* Eight zeros, then the name in lower case, then zeros; not terminated. 32 bytes, so that a row's address
 * is a shift away. */
struct uvh_field_row {
    char text[8 + UVH_FIELD_NAME_MAX];
};
_Static_assert(sizeof(struct uvh_field_row) == 32, "a row is 32 bytes");

extern const struct uvh_field_row uvh_field_rows[UVHTTP_FIELD_COUNT];
extern const uint8_t uvh_field_lengths[UVHTTP_FIELD_COUNT];
extern const uint8_t uvh_field_slots[1 << UVH_FIELD_SLOT_BITS];

/* The last eight bytes of a name that ends at `end`, the last one highest; zeros below a shorter name. */
static inline uint64_t uvh_field_table_last(const char *end, size_t length)
{
    uint64_t word = uvh_swar_load(end - 8);
    return length < 8 ? word & (~UINT64_C(0) << (8 * (8 - length))) : word;
}

static inline unsigned uvh_field_table_slot(uint64_t last, size_t length)
{
    uint64_t key = (last | uvh_swar_all(0x20)) + length;
    return (unsigned)((key * 0x13b63383a3fcc14fu) >> (64 - UVH_FIELD_SLOT_BITS));
}

/* `word` equals `lower`, in which letters are lower case and everything else is below 0x40. */
static inline bool uvh_field_table_same(uint64_t word, uint64_t lower)
{
    return (word | ((lower & uvh_swar_all(0x40)) >> 1)) == lower;
}

/* The id of the name [name, name + length), length > 0. Eight bytes in front of the name's end are
 * readable. */
static inline uvhttp_field_id_t uvh_field_table_find(const char *name, size_t length)
{
    uint64_t last = uvh_field_table_last(name + length, length);
    unsigned id = uvh_field_slots[uvh_field_table_slot(last, length)];
    const struct uvh_field_row *row = &uvh_field_rows[id];
    if (uvh_field_lengths[id] != length || !uvh_field_table_same(last, uvh_swar_load(row->text + length)))
        return UVHTTP_FIELD_OTHER;
    if (length > 8 && !uvh_field_table_same(uvh_swar_load(name), uvh_swar_load(row->text + 8)))
        return UVHTTP_FIELD_OTHER;
    if (length > 16 && !uvh_field_table_same(uvh_swar_load(name + 8), uvh_swar_load(row->text + 16)))
        return UVHTTP_FIELD_OTHER;
    return (uvhttp_field_id_t)id;
}

#endif
