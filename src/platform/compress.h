/* Content codings made: gzip (zlib), brotli and zstd, as streams or in one go. The one place that
 * sees these libraries, which are left out of builds without BUILD_WITH_COMPRESSION.
 *
 * Always true: gzip is RFC 1952's format, with its header and checksum and never zlib's; what comes
 * out depends on nothing but what goes in, by which calls, so the same bytes always have the same
 * coded ones; no window is larger than every decoder takes (RFC 9659: 8 MiB for zstd). All memory
 * comes from the allocator.
 *
 * No I/O. Any thread, one at a time for one compressor. Called by middleware/compress.c and for
 * files that are compressed while they are served. */
#ifndef UVH_PLATFORM_COMPRESS_H
#define UVH_PLATFORM_COMPRESS_H

#include <stdint.h>

#include <uvhttp/types.h>

#include "base/bytes.h"
#include "base/coding.h"

/* Levels beside the library's own numbers. */
enum {
    UVH_COMPRESS_DEFAULT = 0, /* while somebody waits: gzip 5, br 4, zstd 3 */
    UVH_COMPRESS_BEST = -1,   /* once for many: gzip 9, br 11, zstd 19 */
};

/* For a body whose length nobody knows yet: it gets a small window, so that many of them can be
 * open at once. */
#define UVH_COMPRESS_SIZE_UNKNOWN UINT64_MAX

enum uvh_compress_mode {
    UVH_COMPRESS_PROCESS, /* take input; output when it pays */
    UVH_COMPRESS_FLUSH,   /* and give all of it out, so that a decoder has every byte so far */
    UVH_COMPRESS_FINISH,  /* and end */
};

struct uvh_compressor;

/* Which codings can be made: a set of UVH_CODING_BIT; 0 in a build without compression. */
unsigned uvh_compress_codings(void);
bool uvh_compress_supported(enum uvh_coding coding);

/* The highest level: gzip 9, br 11, zstd 22 (the lowest is 1). */
int uvh_compress_level_most(enum uvh_coding coding);

/* The library's number for a level: what DEFAULT and BEST stand for, others unchanged. */
int uvh_compress_level(enum uvh_coding coding, int level);

/* Makes one. `size_hint`: how many bytes will come, as far as it is known; it need not be true.
 * `allocator` NULL is the system's.
 * Errors: UVHTTP_ENOTSUP (identity; not in this build), UVHTTP_EINVAL (level), UVHTTP_ENOMEM. */
int uvh_compressor_new(struct uvh_compressor **compressor, const uvhttp_allocator_t *allocator,
                       enum uvh_coding coding, int level, uint64_t size_hint);

/* NULL is fine. */
void uvh_compressor_free(struct uvh_compressor *compressor);

/* Goes on. `*in_size` is what there is and becomes what was taken, `*out_size` the room there is
 * and becomes what was written. `*done`: all input was taken, and of FLUSH and FINISH all output
 * was given. Until then it is called again with the rest of the input, more room, and the same
 * mode. Behind FINISH that is done there is nothing more. Errors: UVHTTP_ENOMEM, UVHTTP_EINVAL
 * (another mode or more input in the middle of FLUSH or FINISH, anything behind the end); then it
 * can only be freed. */
int uvh_compressor_run(struct uvh_compressor *compressor, const void *in, size_t *in_size,
                       void *out, size_t *out_size, enum uvh_compress_mode mode, bool *done);

/* Compresses all at once, behind what `out` has, up to its maximum. Errors as above;
 * UVHTTP_ETOOLARGE when it does not fit (what is not smaller than its source is of no use, so give
 * a maximum). On failure `out` is as long as before. */
int uvh_compress_bytes(const uvhttp_allocator_t *allocator, enum uvh_coding coding, int level,
                       const void *data, size_t size, struct uvh_bytes *out);

#endif
