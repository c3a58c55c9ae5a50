/* The free list is last in, first out: the next buffer is the one most likely in the CPU cache. */
#include "base/buffer.h"

#include "base/alloc.h"

enum {
    /* from this fraction of the usual size on, a recycled buffer is used */
    FITTING_PART = 4,
    FITTING_UNIT = 64, /* limits the number of different sizes for the allocator */
};

void uvh_buffer_pool_init(struct uvh_buffer_pool *pool, const uvhttp_allocator_t *allocator,
                          size_t capacity)
{
    *pool = (struct uvh_buffer_pool){.allocator = allocator, .capacity = capacity};
}

static void free_buffer(struct uvh_buffer_pool *pool, struct uvh_buffer *buffer)
{
    uvh_counter_subtract(&pool->memory, sizeof(*buffer) + buffer->capacity);
    uvh_free(pool->allocator, buffer);
}

void uvh_buffer_pool_release(struct uvh_buffer_pool *pool)
{
    while (pool->free != NULL) {
        struct uvh_buffer *buffer = pool->free;
        pool->free = buffer->next;
        UVH_UNPOISON(buffer->data, buffer->capacity);
        free_buffer(pool, buffer);
    }
    pool->free_count = 0;
}

struct uvh_buffer *uvh_buffer_new(struct uvh_buffer_pool *pool, size_t capacity)
{
    uvh_owner_check(&pool->owner);
    struct uvh_buffer *buffer = uvh_alloc(pool->allocator, sizeof(*buffer) + capacity);
    if (buffer == NULL)
        return NULL;
    uvh_counter_add(&pool->memory, sizeof(*buffer) + capacity);
    *buffer = (struct uvh_buffer){.pool = pool, .capacity = capacity, .refs = 1};
    return buffer;
}

struct uvh_buffer *uvh_buffer_take_fitting(struct uvh_buffer_pool *pool, size_t least)
{
    if (least > pool->capacity / FITTING_PART)
        return uvh_buffer_take(pool, least);
    return uvh_buffer_new(pool, (least + FITTING_UNIT - 1) & ~(size_t)(FITTING_UNIT - 1));
}

void uvh_buffer_recycle(struct uvh_buffer *buffer)
{
    struct uvh_buffer_pool *pool = buffer->pool;
    if (pool->free_count >= UVH_BUFFER_KEPT || buffer->capacity != pool->capacity) {
        free_buffer(pool, buffer);
        return;
    }
    buffer->next = pool->free;
    pool->free = buffer;
    pool->free_count++;
    UVH_POISON(buffer->data, buffer->capacity);
}
