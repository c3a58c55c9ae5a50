/* Field names by number, and what may be sent as a name or value.
 *
 * Called by the head parser for every field line, and by whoever builds a response from a user's
 * strings. */
#ifndef UVH_CODEC_FIELDS_FIELD_H
#define UVH_CODEC_FIELDS_FIELD_H

#include <uvhttp/parser.h>

/* The id of a name, whatever its case; UVHTTP_FIELD_OTHER for a name that is not in the table. */
uvhttp_field_id_t uvh_field_lookup(uvhttp_slice_t name);

/* The name of an id in lower case; an empty slice for UVHTTP_FIELD_OTHER and numbers out of
 * range. */
uvhttp_slice_t uvh_field_name(uvhttp_field_id_t id);

/* The same name, whatever the case. */
bool uvh_field_name_equal(uvhttp_slice_t a, uvhttp_slice_t b);

/* The same, when the second is in lower case and no other byte of it lies between 0x40 and 0x7f:
 * quicker. */
bool uvh_field_name_is(uvhttp_slice_t name, uvhttp_slice_t lower);

/* A token of at least one byte (RFC 9110 section 5.6.2). */
bool uvh_field_name_valid(uvhttp_slice_t name);

/* No CR, LF, NUL, other control but HTAB, no DEL (RFC 9110 section 5.5). Empty is valid. */
bool uvh_field_value_valid(uvhttp_slice_t value);

/* A field that RFC 9110 section 6.5.1 keeps out of the trailer section: framing, routing,
 * authentication, request modifiers, response control, content format. */
bool uvh_field_forbidden_in_trailer(uvhttp_field_id_t id, uvhttp_slice_t name);

/* Walks a comma-separated list (RFC 9110 section 5.6.1): the next element that is not empty,
 * without the white space around it. Commas in quoted strings do not separate. `*rest` shrinks;
 * false at the end. */
bool uvh_field_list_next(uvhttp_slice_t *rest, uvhttp_slice_t *element);

/* The value's list holds this token, given in lower case; case does not matter. */
bool uvh_field_list_has(uvhttp_slice_t value, uvhttp_slice_t token);

/* The bit of an id in uvhttp_head_t.present. */
#define UVH_FIELD_BIT(id) (UINT64_C(1) << UVHTTP_FIELD_##id)
_Static_assert(UVHTTP_FIELD_COUNT <= 64, "every field id has a bit");

static inline bool uvh_head_has(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return (head->present >> id & 1) != 0;
}

/* The first field of a known id, or NULL: uvhttp_head_find without the call. */
static inline const uvhttp_field_t *uvh_head_first(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return uvh_head_has(head, id) ? &head->fields[head->first[id]] : NULL;
}

#endif
