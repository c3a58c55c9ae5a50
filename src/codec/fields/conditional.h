/* Conditional requests (RFC 9110 section 13): selects the representation, "304 Not Modified" or
 * "412 Precondition Failed".
 *
 * Called for everything with an entity tag or a modification time. For If-Range see
 * codec/fields/range.h. */
#ifndef UVH_CODEC_FIELDS_CONDITIONAL_H
#define UVH_CODEC_FIELDS_CONDITIONAL_H

#include <uvhttp/types.h>

enum uvh_conditional_outcome {
    UVH_CONDITIONAL_PROCEED = 0,
    UVH_CONDITIONAL_NOT_MODIFIED = 1, /* 304 */
    UVH_CONDITIONAL_FAILED = 2        /* 412 */
};

/* The request's fields as received; base NULL: the field is missing. */
struct uvh_conditional_fields {
    uvhttp_slice_t if_match;
    uvhttp_slice_t if_none_match;
    uvhttp_slice_t if_modified_since;
    uvhttp_slice_t if_unmodified_since;
};

/* The server's current representation. */
struct uvh_conditional_entity {
    uvhttp_slice_t etag; /* with quotes, and W/ if weak; base NULL: none */
    int64_t modified;    /* seconds since 1970, if has_modified */
    bool has_modified;   /* false: the date conditions are ignored */
    bool exists;         /* a current representation exists, for "*" */
};

/* The order of RFC 9110 section 13.2.2. `is_get_or_head` selects 304 or 412 for If-None-Match;
 * If-Modified-Since applies only if it is set. */
enum uvh_conditional_outcome uvh_conditional_evaluate(const struct uvh_conditional_fields *fields,
                                                      const struct uvh_conditional_entity *entity,
                                                      bool is_get_or_head);

/* Splits an entity tag: `*opaque` receives the part with its quotes. False if it is invalid (RFC
 * 9110 section 8.8.3). */
bool uvh_conditional_etag_parse(uvhttp_slice_t tag, bool *weak, uvhttp_slice_t *opaque);

/* RFC 9110 section 8.8.3.2: strong comparison is true only if neither tag is weak. */
bool uvh_conditional_etag_equal_strong(uvhttp_slice_t a, uvhttp_slice_t b);
bool uvh_conditional_etag_equal_weak(uvhttp_slice_t a, uvhttp_slice_t b);

/* "*" (if `etag` has a base) or a list of tags that contains `etag`. Parsing stops at the first
 * malformed tag. */
bool uvh_conditional_etag_list_matches(uvhttp_slice_t list, uvhttp_slice_t etag, bool strong);

#endif
