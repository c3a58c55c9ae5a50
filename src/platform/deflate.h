/* Raw DEFLATE (RFC 1951) per message as in RFC 7692 section 7.2. Only this module and
 * platform/compress.c use zlib; builds without BUILD_WITH_COMPRESSION do not have it.
 *
 * Always true: all memory is allocated at creation, and its size is known before. Any thread, one
 * at a time for one object. */
#ifndef UVH_PLATFORM_DEFLATE_H
#define UVH_PLATFORM_DEFLATE_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "base/bytes.h"

struct uvh_deflater;
struct uvh_inflater;

/* False in a build without zlib; then no other function may be called. */
bool uvh_deflate_available(void);

/* Most bytes one object allocates. Window bits are 9 to 15; `memory_level` is zlib's, 1 to 9. */
size_t uvh_deflater_memory(int window_bits, int memory_level);
size_t uvh_inflater_memory(int window_bits);

/* NULL if out of memory. `level` 1 to 9. */
struct uvh_deflater *uvh_deflater_new(const uvhttp_allocator_t *allocator, int level,
                                      int window_bits, int memory_level);
void uvh_deflater_free(struct uvh_deflater *deflater); /* NULL is allowed */

/* Appends a whole compressed message to `out`, without the 00 00 ff ff at its end (RFC 7692 section
 * 7.2.1).
 * Returns 0, or -1 if `out` failed (its maximum, memory); then call uvh_deflater_reset before the
 * next message. */
int uvh_deflater_message(struct uvh_deflater *deflater, const void *data, size_t size,
                         struct uvh_bytes *out);

/* Resets the window: the next message refers to no earlier data. */
void uvh_deflater_reset(struct uvh_deflater *deflater);

/* NULL if out of memory. */
struct uvh_inflater *uvh_inflater_new(const uvhttp_allocator_t *allocator, int window_bits);
void uvh_inflater_free(struct uvh_inflater *inflater); /* NULL is allowed */

/* Inflates a part of a message. `*in_size` is the input size and becomes the bytes consumed;
 * `*out_size` is the output space and becomes the bytes written. `last`: this is the message's last
 * part (the 00 00 ff ff is added here). `*done`: the part was consumed and all its output written;
 * otherwise call again with the rest, more output space and the same `last`.
 * Returns 0, or UVHTTP_EINVAL: invalid DEFLATE, or a distance too far back. */
int uvh_inflater_run(struct uvh_inflater *inflater, const void *in, size_t *in_size, void *out,
                     size_t *out_size, bool last, bool *done);

/* Resets the window, also within a message. */
void uvh_inflater_reset(struct uvh_inflater *inflater);

#endif
