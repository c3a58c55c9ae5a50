/* Receive and transmit buffers: large, of one size, shared by reference count, recycled.
 *
 * A worker reads into its current buffer behind what is still in use there. Bytes that somebody
 * needs for longer are pinned by a reference on the buffer, so several connections may hold pieces
 * of one buffer, and one that holds nothing costs nothing.
 *
 * Always true: used <= capacity; refs > 0 while anybody may touch it; a buffer in the pool has refs
 * 0.
 *
 * Buffers are taken, referred to and given back on the thread of the pool's owner (base/owner.h).
 * The pool is initialised and released on any, while nobody uses it. */
#ifndef UVH_BASE_BUFFER_H
#define UVH_BASE_BUFFER_H

#include <stddef.h>

#include <uvhttp/types.h>

#include "base/compiler.h"
#include "base/counter.h"
#include "base/owner.h"

enum { UVH_BUFFER_KEPT = 16 }; /* free buffers a pool keeps; the rest goes back to the allocator */

struct uvh_buffer {
    struct uvh_buffer_pool *pool;
    struct uvh_buffer *next; /* in the pool's free list */
    size_t capacity;
    size_t used; /* bytes from the start that may be referred to */
    size_t refs;
    char data[];
};

struct uvh_buffer_pool {
    const uvhttp_allocator_t *allocator;
    struct uvh_buffer *free;
    size_t free_count;
    size_t capacity;         /* of each buffer, bytes */
    _Atomic uint64_t memory; /* bytes had from the allocator */
    struct uvh_owner owner;
};

void uvh_buffer_pool_init(struct uvh_buffer_pool *pool, const uvhttp_allocator_t *allocator,
                          size_t capacity);
void uvh_buffer_pool_release(struct uvh_buffer_pool *pool);

/* For uvh_buffer_take and uvh_buffer_unref: what they do less often. */
struct uvh_buffer *uvh_buffer_new(struct uvh_buffer_pool *pool, size_t capacity);
void uvh_buffer_recycle(struct uvh_buffer *buffer);

/* An empty buffer with one reference, or NULL when memory ran out. It has the pool's capacity, or
 * `least` bytes if that is more; such a large one is not recycled. */
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

/* The same for bytes that stay for long: when they are few, a buffer that is not much larger, and
 * is not recycled. */
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
