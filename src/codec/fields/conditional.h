/* Conditional requests (RFC 9110 section 13): is the answer the representation, "not modified" or
 * "precondition failed"?
 *
 * Called by whoever serves something that has an entity tag or a modification time. If-Range
 * belongs to codec/fields/range.h. */
#ifndef UVH_CODEC_FIELDS_CONDITIONAL_H
#define UVH_CODEC_FIELDS_CONDITIONAL_H

#include <uvhttp/types.h>

enum uvh_conditional_outcome {
    UVH_CONDITIONAL_PROCEED = 0,
    UVH_CONDITIONAL_NOT_MODIFIED = 1, /* 304 */
    UVH_CONDITIONAL_FAILED = 2        /* 412 */
};

/* The request's fields as received; base NULL = the field is absent. */
struct uvh_conditional_fields {
    uvhttp_slice_t if_match;
    uvhttp_slice_t if_none_match;
    uvhttp_slice_t if_modified_since;
    uvhttp_slice_t if_unmodified_since;
};

/* What the server has. */
struct uvh_conditional_entity {
    uvhttp_slice_t etag; /* with its quotes, and W/ if weak; base NULL = it has none */
    int64_t modified;    /* seconds since 1970, when has_modified */
    bool has_modified;   /* false: the date conditions are ignored */
    bool exists;         /* a current representation exists: what "*" asks for */
};

/* The order of RFC 9110 section 13.2.2. `is_get_or_head` decides between 304 and 412 for
 * If-None-Match, and whether If-Modified-Since counts at all. */
enum uvh_conditional_outcome uvh_conditional_evaluate(const struct uvh_conditional_fields *fields,
                                                      const struct uvh_conditional_entity *entity,
                                                      bool is_get_or_head);

/* Splits an entity tag: `*opaque` gets the part with its quotes. False when it is none (RFC 9110
 * section 8.8.3). */
bool uvh_conditional_etag_parse(uvhttp_slice_t tag, bool *weak, uvhttp_slice_t *opaque);

/* RFC 9110 section 8.8.3.2: strong comparison is true only when neither tag is weak. */
bool uvh_conditional_etag_equal_strong(uvhttp_slice_t a, uvhttp_slice_t b);
bool uvh_conditional_etag_equal_weak(uvhttp_slice_t a, uvhttp_slice_t b);

/* "*" (when `etag` has a base) or a list of tags one of which is `etag`. Reading stops at the first
 * malformed tag. */
bool uvh_conditional_etag_list_matches(uvhttp_slice_t list, uvhttp_slice_t etag, bool strong);

#endif
