/* Field names by number, and the syntax of names and values.
 *
 * Called by the head parser for every field line, and to check strings of the application in
 * responses. */
#ifndef UVH_CODEC_FIELDS_FIELD_H
#define UVH_CODEC_FIELDS_FIELD_H

#include <uvhttp/parser.h>

/* The id of a name, case-insensitive; UVHTTP_FIELD_OTHER if it is not in the table. */
uvhttp_field_id_t uvh_field_lookup(uvhttp_slice_t name);

/* The name of an id in lower case; an empty slice for UVHTTP_FIELD_OTHER and numbers out of
 * range. */
uvhttp_slice_t uvh_field_name(uvhttp_field_id_t id);

/* Compares names, case-insensitive. */
bool uvh_field_name_equal(uvhttp_slice_t a, uvhttp_slice_t b);

/* The same, faster, if `lower` is in lower case and has no other byte between 0x40 and 0x7f. */
bool uvh_field_name_is(uvhttp_slice_t name, uvhttp_slice_t lower);

/* A token of at least one byte (RFC 9110 section 5.6.2). */
bool uvh_field_name_valid(uvhttp_slice_t name);

/* No CR, LF, NUL or other control except HTAB, no DEL (RFC 9110 section 5.5). Empty is valid. */
bool uvh_field_value_valid(uvhttp_slice_t value);

/* True for a field that RFC 9110 section 6.5.1 forbids in the trailer section: framing, routing,
 * authentication, request modifiers, response control, content format. */
bool uvh_field_forbidden_in_trailer(uvhttp_field_id_t id, uvhttp_slice_t name);

/* Iterates over a comma-separated list (RFC 9110 section 5.6.1): the next non-empty element,
 * without surrounding white space. Commas in quoted strings do not separate. `*rest` becomes the
 * remainder; false at the end. */
bool uvh_field_list_next(uvhttp_slice_t *rest, uvhttp_slice_t *element);

/* True if the value's list contains this token, given in lower case; case-insensitive. */
bool uvh_field_list_has(uvhttp_slice_t value, uvhttp_slice_t token);

/* The bit of an id in uvhttp_head_t.present. */
#define UVH_FIELD_BIT(id) (UINT64_C(1) << UVHTTP_FIELD_##id)
_Static_assert(UVHTTP_FIELD_COUNT <= 64, "every field id has a bit");

static inline bool uvh_head_has(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return (head->present >> id & 1) != 0;
}

/* The first field of a known id, or NULL: uvhttp_head_find inline. */
static inline const uvhttp_field_t *uvh_head_first(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return uvh_head_has(head, id) ? &head->fields[head->first[id]] : NULL;
}

#endif
