/* A ring buffer in memory of the caller: data is appended at the end and consumed at the front
 * without moving bytes.
 *
 * Part of uvhttp_parser. Its two parts can be passed to readv and writev (uvhttp_slice_t and
 * uvhttp_span_t have the layout of struct iovec), and to uvhttp_request_head_parse_slices. Plain
 * value, no allocation; one thread at a time. With a NULL ring, `slices` or data the functions do
 * nothing and return 0. */
#ifndef UVHTTP_RING_H
#define UVHTTP_RING_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writable bytes. */
typedef struct uvhttp_span {
    char *base;
    size_t length; /* bytes */
} uvhttp_span_t;

/* A ring buffer. Initialized by uvhttp_ring_init; read-only for the caller. */
typedef struct uvhttp_ring {
    char *memory;
    size_t capacity; /* bytes of `memory`; need not be a power of two */
    size_t start;    /* offset of the first stored byte, below `capacity` */
    size_t length;   /* stored bytes */
} uvhttp_ring_t;

/* Initializes an empty ring in `memory`, which the caller owns and which must outlive the ring;
 * NULL gives a ring without memory. Also discards the contents of a ring. */
UVHTTP_EXPORT void uvhttp_ring_init(uvhttp_ring_t *ring, char *memory, size_t capacity);

/* The stored bytes, in order, as at most two parts; the second begins at the start of the
 * memory. Returns the number of non-empty parts (0 to 2) and clears the others. They stay valid
 * until their bytes are consumed; appending does not change them. */
UVHTTP_EXPORT size_t uvhttp_ring_readable(const uvhttp_ring_t *ring, uvhttp_slice_t slices[2]);

/* The free space, in order, as at most two parts, in the same way. Bytes written there are
 * stored by uvhttp_ring_commit. Valid until the next call that writes, commits or consumes. */
UVHTTP_EXPORT size_t uvhttp_ring_writable(const uvhttp_ring_t *ring, uvhttp_span_t slices[2]);

/* Stores the first `length` bytes of the free space, filled after uvhttp_ring_writable. Returns
 * the number stored, at most the free space. */
UVHTTP_EXPORT size_t uvhttp_ring_commit(uvhttp_ring_t *ring, size_t length);

/* Appends a copy of bytes. Returns the number appended, at most the free space. `data` may be
 * NULL if `length` is 0. */
UVHTTP_EXPORT size_t uvhttp_ring_write(uvhttp_ring_t *ring, const void *data, size_t length);

/* Discards the first bytes. Returns the number discarded, at most the stored bytes. An empty
 * ring restarts at the beginning of its memory, so that the next message is contiguous. */
UVHTTP_EXPORT size_t uvhttp_ring_consume(uvhttp_ring_t *ring, size_t length);

#ifdef __cplusplus
}
#endif

#endif
