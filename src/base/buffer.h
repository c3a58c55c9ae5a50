/* Receive and transmit buffers: large, of one size, reference-counted, recycled.
 *
 * A worker reads into its current buffer after the bytes still in use. A reference on the buffer
 * pins bytes that are needed for longer. Several connections may hold parts of one buffer; an idle
 * connection holds none.
 *
 * Always true: used <= capacity; refs > 0 while the buffer may be accessed; refs is 0 in the pool.
 *
 * Buffers are taken, referenced and returned on the thread of the pool's owner (base/owner.h).
 * Initialising and releasing the pool is allowed on any thread while the pool is not in use. */
#ifndef UVH_BASE_BUFFER_H
#define UVH_BASE_BUFFER_H

#include <stddef.h>

#include <uvhttp/types.h>

#include "base/compiler.h"
#include "base/counter.h"
#include "base/owner.h"

enum { UVH_BUFFER_KEPT = 16 }; /* most free buffers a pool keeps; others are freed */

struct uvh_buffer {
    struct uvh_buffer_pool *pool;
    struct uvh_buffer *next; /* in the pool's free list */
    size_t capacity;
    size_t used; /* bytes from the start that may be referenced */
    size_t refs;
    char data[];
};

struct uvh_buffer_pool {
    const uvhttp_allocator_t *allocator;
    struct uvh_buffer *free;
    size_t free_count;
    size_t capacity;         /* of each buffer, bytes */
    _Atomic uint64_t memory; /* bytes allocated */
    struct uvh_owner owner;
};

void uvh_buffer_pool_init(struct uvh_buffer_pool *pool, const uvhttp_allocator_t *allocator,
                          size_t capacity);
void uvh_buffer_pool_release(struct uvh_buffer_pool *pool);

/* The rare paths of uvh_buffer_take and uvh_buffer_unref. */
struct uvh_buffer *uvh_buffer_new(struct uvh_buffer_pool *pool, size_t capacity);
void uvh_buffer_recycle(struct uvh_buffer *buffer);

/* An empty buffer with one reference, or NULL if out of memory. It has the pool's capacity, or
 * `least` bytes if that is more; such a large buffer is not recycled. */
static inline struct uvh_buffer *uvh_buffer_take(struct uvh_buffer_pool *pool, size_t least)
{
    struct uvh_buffer *buffer = pool->free;
    uvh_owner_check(&pool->owner);
    if (UVH_UNLIKELY(buffer == NULL || least > pool->capacity))
        return uvh_buffer_new(pool, least > pool->capacity ? least : pool->capacity);
    pool->free = buffer->next;
    pool->free_count--;
    UVH_UNPOISON(buffer->data, buffer->capacity);
    buffer->used = 0;
    buffer->refs = 1;
    return buffer;
}

/* The same for bytes that are kept for long: for few bytes, a buffer that is not much larger and is
 * not recycled. */
struct uvh_buffer *uvh_buffer_take_fitting(struct uvh_buffer_pool *pool, size_t least);

static inline void uvh_buffer_ref(struct uvh_buffer *buffer)
{
    uvh_owner_check(&buffer->pool->owner);
    buffer->refs++;
}

/* Drops one reference; the last one recycles the buffer. */
static inline void uvh_buffer_unref(struct uvh_buffer *buffer)
{
    uvh_owner_check(&buffer->pool->owner);
    assert(buffer->refs > 0);
    if (--buffer->refs == 0)
        uvh_buffer_recycle(buffer);
}

#endif
