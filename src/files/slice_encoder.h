/* Compresses a body that is made one slice at a time.
 *
 * Invariant: slices of the result are not empty, except the last one. Its functions take long, so
 * they belong in a job. */
#ifndef UVH_FILES_SLICE_ENCODER_H
#define UVH_FILES_SLICE_ENCODER_H

#include "base/bytes.h"
#include "base/coding.h"
#include "platform/compress.h"

struct uvh_slice_encoder {
    struct uvh_compressor *compressor; /* NULL: closed */
    struct uvh_bytes plain;
};

/* `maximum`: bytes of a slice before compression. Returns 0 or UVHTTP_ENOMEM. */
int uvh_slice_encoder_open(struct uvh_slice_encoder *encoder, const uvhttp_allocator_t *allocator,
                           enum uvh_coding coding, int level, size_t maximum);

/* Appends what is in the plain slice, compressed, and empties it; `last` ends the body. Returns 0
 * or UVHTTP_ENOMEM. */
int uvh_slice_encoder_encode(struct uvh_slice_encoder *encoder, bool last, struct uvh_bytes *slice);

/* Appends the next slices of `make` (see struct uvh_pooled_source), compressed, until `slice` is
 * not empty. Returns the result of `make`, or UVHTTP_ENOMEM. */
int uvh_slice_encoder_make(struct uvh_slice_encoder *encoder,
                           int (*make)(void *arg, struct uvh_bytes *slice), void *arg,
                           struct uvh_bytes *slice);

/* May be called more than once. */
void uvh_slice_encoder_close(struct uvh_slice_encoder *encoder);

#endif
