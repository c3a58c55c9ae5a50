/* Compression with gzip (zlib), brotli and zstd, as streams or in one call. Only this module and
 * deflate.h use these libraries; builds without BUILD_WITH_COMPRESSION have none of them.
 *
 * Always true: gzip is the format of RFC 1952, with header and checksum, never zlib's. Output
 * depends only on the input and the sequence of calls, so it is reproducible. Windows are not
 * larger than every decoder must accept (RFC 9659: 8 MiB for zstd). All memory comes from the
 * allocator.
 *
 * No I/O. Any thread, one at a time for one compressor. Used for responses of handlers
 * (middleware/compress.c) and for static files. */
#ifndef UVH_PLATFORM_COMPRESS_H
#define UVH_PLATFORM_COMPRESS_H

#include <stdint.h>

#include <uvhttp/types.h>

#include "base/bytes.h"
#include "base/coding.h"

/* Levels besides the library's own numbers. */
enum {
    UVH_COMPRESS_DEFAULT = 0, /* compressed per response: gzip 5, br 4, zstd 3 */
    UVH_COMPRESS_BEST = -1,   /* compressed once and cached: gzip 9, br 11, zstd 19 */
};

/* For a body of unknown length: it gets a small window, so that many can be open at once. */
#define UVH_COMPRESS_SIZE_UNKNOWN UINT64_MAX

enum uvh_compress_mode {
    UVH_COMPRESS_PROCESS, /* take input; output when the library decides */
    UVH_COMPRESS_FLUSH,   /* and output everything, so that a decoder has every byte so far */
    UVH_COMPRESS_FINISH,  /* and end the stream */
};

struct uvh_compressor;

/* The supported content codings: a set of UVH_CODING_BIT; 0 in a build without compression. */
unsigned uvh_compress_codings(void);
bool uvh_compress_supported(enum uvh_coding coding);

/* The highest level: gzip 9, br 11, zstd 22 (the lowest is 1). */
int uvh_compress_level_most(enum uvh_coding coding);

/* The library's number for DEFAULT and BEST; other levels are returned unchanged. */
int uvh_compress_level(enum uvh_coding coding, int level);

/* Creates a compressor. `size_hint`: the expected input size in bytes; it may be wrong. `allocator`
 * NULL: the built-in one.
 * Returns 0, or UVHTTP_ENOTSUP (identity; not in this build), UVHTTP_EINVAL (level),
 * UVHTTP_ENOMEM. */
int uvh_compressor_new(struct uvh_compressor **compressor, const uvhttp_allocator_t *allocator,
                       enum uvh_coding coding, int level, uint64_t size_hint);

/* NULL is allowed. */
void uvh_compressor_free(struct uvh_compressor *compressor);

/* Compresses. `*in_size` is the input size and becomes the bytes consumed; `*out_size` is the
 * output space and becomes the bytes written. `*done`: all input was consumed and, for FLUSH and
 * FINISH, all output was written. Until then, call again with the remaining input, more output
 * space and the same mode. After a done FINISH no call is allowed.
 * Returns 0, or UVHTTP_ENOMEM, or UVHTTP_EINVAL (another mode or more input during FLUSH or FINISH,
 * or a call after the end). After an error the compressor can only be freed. */
int uvh_compressor_run(struct uvh_compressor *compressor, const void *in, size_t *in_size,
                       void *out, size_t *out_size, enum uvh_compress_mode mode, bool *done);

/* Compresses `data` in one call and appends it to `out`, up to its maximum. On failure `out` has
 * its old length. Set a maximum: output not smaller than its source is useless.
 * Returns 0, or the errors above, or UVHTTP_ETOOLARGE (the output exceeds the maximum). */
int uvh_compress_bytes(const uvhttp_allocator_t *allocator, enum uvh_coding coding, int level,
                       const void *data, size_t size, struct uvh_bytes *out);

#endif
