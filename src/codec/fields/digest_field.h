/* Digests of a body in fields: Content-Digest and Repr-Digest (RFC 9530). */
#ifndef UVH_CODEC_FIELDS_DIGEST_FIELD_H
#define UVH_CODEC_FIELDS_DIGEST_FIELD_H

#include <uvhttp/types.h>

/* The algorithms that are not insecure (RFC 9530 section 5). */
enum uvh_digest_algorithm { UVH_DIGEST_SHA_256, UVH_DIGEST_SHA_512, UVH_DIGEST_ALGORITHMS };

enum { UVH_DIGEST_MAX_SIZE = 64 }; /* bytes of a digest */

struct uvh_digest_field {
    bool conflict; /* two digests of one algorithm differ: no body matches both */
    bool present[UVH_DIGEST_ALGORITHMS];
    /* uvh_digest_field_size bytes of each */
    unsigned char value[UVH_DIGEST_ALGORITHMS][UVH_DIGEST_MAX_SIZE];
};

/* The length of a digest, in bytes. */
size_t uvh_digest_field_size(enum uvh_digest_algorithm algorithm);

/* Adds the digests of one field value; those of other algorithms are ignored. False if a digest is
 * malformed. */
bool uvh_digest_field_read(struct uvh_digest_field *field, uvhttp_slice_t value);

#endif
