/* Parameters after a value (RFC 9110 section 5.6.6): ";name=value", as in Content-Type,
 * Content-Disposition and Accept.
 *
 * Called by the multipart parser, by content negotiation and for Forwarded. */
#ifndef UVH_CODEC_FIELDS_PARAMETER_H
#define UVH_CODEC_FIELDS_PARAMETER_H

#include <uvhttp/types.h>

struct uvh_parameter {
    uvhttp_slice_t name;
    uvhttp_slice_t value; /* of a quoted string: without its quotes, but with its backslashes */
    bool quoted;
};

/* The text up to the first ';', without trailing white space; `*rest`, which was the whole, then
 * begins at the ';' or is empty. */
uvhttp_slice_t uvh_parameter_front(uvhttp_slice_t *rest);

/* Iterates over parameters: `*rest` begins at a ';' (or is empty) and becomes the remainder. Empty
 * ones are skipped, as the grammar allows.
 *   1: a parameter
 *   0: the end
 *  -1: malformed; the rest must be ignored */
int uvh_parameter_next(uvhttp_slice_t *rest, struct uvh_parameter *parameter);

/* The first parameter of a list that begins with a parameter instead of a value: 1 or -1. */
int uvh_parameter_first(uvhttp_slice_t *rest, struct uvh_parameter *parameter);

#endif
