/* DEFLATE without a frame around it (RFC 1951), message by message as RFC 7692 section 7.2 has it.
 * With platform/compress.c one of two places that see zlib, which is left out of builds without
 * BUILD_WITH_COMPRESSION.
 *
 * Always true: all memory comes from the allocator when one is made, and its size is known before.
 * Any thread, one at a time for one of them. Called by websocket/deflate.c. */
#ifndef UVH_PLATFORM_DEFLATE_H
#define UVH_PLATFORM_DEFLATE_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "base/bytes.h"

struct uvh_deflater;
struct uvh_inflater;

/* False in a build without zlib: then nothing of the following is called. */
bool uvh_deflate_available(void);

/* Bytes that one of them takes from the allocator, at most. Window bits are 9 to 15; `memory_level`
 * is zlib's, 1 to 9. */
size_t uvh_deflater_memory(int window_bits, int memory_level);
size_t uvh_inflater_memory(int window_bits);

/* NULL when memory ran out. `level` 1 to 9. */
struct uvh_deflater *uvh_deflater_new(const uvhttp_allocator_t *allocator, int level,
                                      int window_bits, int memory_level);
void uvh_deflater_free(struct uvh_deflater *deflater); /* NULL is fine */

/* Appends a whole message, compressed, without the 00 00 ff ff at its end (RFC 7692 section 7.2.1),
 * to `out`. 0, or -1 when `out` failed (its maximum, memory); then the deflater has to be forgotten
 * (uvh_deflater_reset) before the next message. */
int uvh_deflater_message(struct uvh_deflater *deflater, const void *data, size_t size,
                         struct uvh_bytes *out);

/* Forgets what was before: the next message refers to nothing. */
void uvh_deflater_reset(struct uvh_deflater *deflater);

/* NULL when memory ran out. */
struct uvh_inflater *uvh_inflater_new(const uvhttp_allocator_t *allocator, int window_bits);
void uvh_inflater_free(struct uvh_inflater *inflater); /* NULL is fine */

/* Expands a piece of a message. `*in_size` is what there is and becomes what was taken, `*out_size`
 * the room there is and becomes what was written. `last`: the message's compressed bytes end with
 * this piece (the 00 00 ff ff is added here). `*done`: all of the piece has been taken and all that
 * it stands for was written; otherwise it is called again with the rest, more room and the same
 * `last`. 0, or UVHTTP_EINVAL: it is no DEFLATE, or refers to what never was. */
int uvh_inflater_run(struct uvh_inflater *inflater, const void *in, size_t *in_size, void *out,
                     size_t *out_size, bool last, bool *done);

/* Forgets what was before, also in the middle of a message. */
void uvh_inflater_reset(struct uvh_inflater *inflater);

#endif
