/* Methods by number: converts a method's name to uvhttp_method_t and back.
 *
 * Called by the head parser for every request and by the router when routes are added. */
#ifndef UVH_CODEC_HTTP1_METHOD_H
#define UVH_CODEC_HTTP1_METHOD_H

#include <uvhttp/types.h>

#include "base/compiler.h"

struct uvh_method_slot {
    uint64_t word; /* the name, first byte lowest */
    uint8_t length;
    uint8_t id;
};

enum { UVH_METHOD_SLOT_BITS = 5 };

extern UVH_INTERNAL const struct uvh_method_slot uvh_method_slots[1 << UVH_METHOD_SLOT_BITS];

/* The number of a name of at most seven bytes, given as a word with the first byte lowest and zeros
 * above it, and its length (a name may also end with zeros). The multiplier was found by search and
 * gives every name of the table its own slot, as the unit test verifies. */
static inline uvhttp_method_t uvh_method_of_word(uint64_t word, size_t length)
{
    const struct uvh_method_slot *slot =
        &uvh_method_slots[(word * 0xbf54edc772cb39efu) >> (64 - UVH_METHOD_SLOT_BITS)];
    return slot->word == word && slot->length == length ? (uvhttp_method_t)slot->id
                                                        : UVHTTP_METHOD_OTHER;
}

/* The number of a method's name, case-sensitive (RFC 9110 section 9.1). UVHTTP_METHOD_OTHER if it
 * is not in the table. */
uvhttp_method_t uvh_method_lookup(uvhttp_slice_t name);

/* "GET"; "" for UVHTTP_METHOD_OTHER and numbers out of range. NUL-terminated, never freed. */
const char *uvh_method_name(uvhttp_method_t method);

#endif
