/* Digests of a request body: those that the client sends in Content-Digest and Repr-Digest (RFC
 * 9530), and that are verified, and one that the server wants to know. A digest in the trailer
 * section is verified if "Trailer" announces it: later it is too late to compute it.
 *
 * Without a content coding both fields mean the same. `add` and `end` are called in a job, the rest
 * on the loop. */
#ifndef UVH_UPLOADS_BODY_DIGEST_H
#define UVH_UPLOADS_BODY_DIGEST_H

#include <uvhttp/request.h>

#include "codec/fields/digest_field.h"

struct uvh_digest;

struct uvh_body_digest {
    struct uvh_digest_field expected;
    struct uvh_digest *sums[UVH_DIGEST_ALGORITHMS]; /* NULL: not needed */
    unsigned char sha_256[32];                      /* set by `end` if it was wanted */
    bool announced;                                 /* by "Trailer": digests follow the body */
};

/* Reads the fields and starts the digests. `wanted`: SHA-256 is computed in any case. The caller
 * releases it, whatever the result. Returns 0, UVHTTP_EINVAL (a malformed digest), -ENOTSUP (a
 * build without libcrypto) or UVHTTP_ENOMEM. */
int uvh_body_digest_begin(struct uvh_body_digest *digest, uvhttp_request_t *request, bool wanted);

/* Reads those of the trailer section, after the body and before `end`. Returns 0 or
 * UVHTTP_EINVAL. */
int uvh_body_digest_read_trailers(struct uvh_body_digest *digest, uvhttp_request_t *request);

bool uvh_body_digest_is_needed(const struct uvh_body_digest *digest);
void uvh_body_digest_add(struct uvh_body_digest *digest, const uvhttp_slice_t *slices,
                         size_t count);

/* True if all digests of the client match. Call once. */
bool uvh_body_digest_end(struct uvh_body_digest *digest);
void uvh_body_digest_release(struct uvh_body_digest *digest);

/* Responds to an error of uvh_body_digest_begin with 400 or 501; returns other errors. */
int uvh_body_digest_refuse(uvhttp_response_t *response, int err);

/* The reason of 400 if a digest does not match. */
#define UVH_BODY_DIGEST_WRONG "the body does not match its digest"

#endif
