/* A ring buffer over memory of the caller: what arrives is written behind, what is used up is
 * consumed in front, nothing is moved.
 *
 * Part of uvhttp_parser. Its two halves go to readv and writev as they are (an uvhttp_slice_t and
 * an uvhttp_span_t have the layout of struct iovec), and to uvhttp_request_head_parse_pieces. Plain
 * value, no allocation; one thread at a time. Without ring, pieces or data (NULL) the functions do
 * nothing and return 0. */
#ifndef UVHTTP_RING_H
#define UVHTTP_RING_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes to write to. */
typedef struct uvhttp_span {
    char *base;
    size_t length; /* bytes */
} uvhttp_span_t;

/* A ring over memory of the caller. Filled by uvhttp_ring_init; for reading only. */
typedef struct uvhttp_ring {
    char *memory;
    size_t capacity; /* bytes of `memory`; any number, not just powers of two */
    size_t start;    /* offset of the first byte that is held, below `capacity` */
    size_t length;   /* bytes that are held */
} uvhttp_ring_t;

/* An empty ring over `memory`, which stays the caller's and lives as long as the ring; NULL gives a
 * ring without memory. Also drops all that a ring held. */
UVHTTP_EXPORT void uvhttp_ring_init(uvhttp_ring_t *ring, char *memory, size_t capacity);

/* The bytes that are held, in order, as at most two pieces: the second begins at the memory's
 * beginning. Returns how many are not empty (0 to
 * 2) and clears the others. They stay valid until what they hold is consumed; writing behind them
 *    does not touch them. */
UVHTTP_EXPORT size_t uvhttp_ring_readable(const uvhttp_ring_t *ring, uvhttp_slice_t pieces[2]);

/* The room that is left, in order, as at most two pieces; the same way. What is filled there counts
 * after uvhttp_ring_commit. Valid until the next call that writes, commits or consumes. */
UVHTTP_EXPORT size_t uvhttp_ring_writable(const uvhttp_ring_t *ring, uvhttp_span_t pieces[2]);

/* The first `length` bytes of the room have been filled, after uvhttp_ring_writable and nothing in
 * between. Returns how many were taken: fewer when the room is smaller. */
UVHTTP_EXPORT size_t uvhttp_ring_commit(uvhttp_ring_t *ring, size_t length);

/* Copies bytes behind those that are held. Returns how many: fewer when the room is smaller. `data`
 * may be NULL when `length` is 0. */
UVHTTP_EXPORT size_t uvhttp_ring_write(uvhttp_ring_t *ring, const void *data, size_t length);

/* Drops the first bytes. Returns how many: fewer when fewer are held. A ring that becomes empty
 * starts at its memory's beginning again, which spares the next message a seam. */
UVHTTP_EXPORT size_t uvhttp_ring_consume(uvhttp_ring_t *ring, size_t length);

#ifdef __cplusplus
}
#endif

#endif
