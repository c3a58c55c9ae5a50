/* Elements with a weight (RFC 9110 section 12.4.2): the lists of Accept, Accept-Encoding and
 * Accept-Language.
 *
 * Called by content negotiation: codec/fields/negotiate.c and codec/fields/coding.c. */
#ifndef UVH_CODEC_FIELDS_WEIGHTED_H
#define UVH_CODEC_FIELDS_WEIGHTED_H

#include "codec/fields/parameter.h"

enum {
    UVH_WEIGHT_MAX = 1000, /* q=1, and the default */
    UVH_WEIGHT_MIN = 1,    /* q=0.001, the least that accepts */
};

/* range [ parameters ], the weight among the parameters. */
struct uvh_weighted {
    uvhttp_slice_t range;
    uvhttp_slice_t parameters; /* including the weight */
    int quality;               /* thousandths */
    size_t parameter_count;    /* without the weight */
};

/* True if the parameter is the weight. */
bool uvh_weighted_is_weight(const struct uvh_parameter *parameter);

/* Iterates over a field's value: the next element with well-formed parameters. `*rest` becomes the
 * remainder; false at the end. */
bool uvh_weighted_next(uvhttp_slice_t *rest, struct uvh_weighted *element);

/* A content coding without the "x-" that gzip and compress may have (RFC 9110 section 8.4.1). */
uvhttp_slice_t uvh_weighted_coding(uvhttp_slice_t coding);

#endif
