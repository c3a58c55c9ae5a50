/* Blocks of the usual size come from the pool's free list. A larger allocation gets a block of its
 * own size. */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

static size_t header_size(void)
{
    return uvh_arena_align(sizeof(struct uvh_arena_block));
}

struct uvh_arena_block *uvh_arena_new_block(struct uvh_arena_pool *pool, size_t size)
{
    uvh_owner_check(&pool->owner);
    struct uvh_arena_block *block = uvh_alloc(pool->allocator, size);
    if (block == NULL)
        return NULL;
    block->size = size;
    uvh_counter_add(&pool->memory, size);
    return block;
}

void uvh_arena_free_block(struct uvh_arena_pool *pool, struct uvh_arena_block *block)
{
    uvh_counter_subtract(&pool->memory, block->size);
    uvh_free(pool->allocator, block);
}

/* Makes a block with at least `size` free bytes the current one. */
static int add_block(struct uvh_arena *arena, size_t size)
{
    if (size > SIZE_MAX - header_size())
        return -1;
    size_t whole = header_size() + size;
    if (whole < UVH_ARENA_BLOCK_SIZE)
        whole = UVH_ARENA_BLOCK_SIZE;
    struct uvh_arena_block *block = whole == UVH_ARENA_BLOCK_SIZE
                                        ? uvh_arena_take_block(arena->pool)
                                        : uvh_arena_new_block(arena->pool, whole);
    if (block == NULL)
        return -1;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->next = (char *)block + header_size();
    arena->end = (char *)block + whole;
    return 0;
}

void uvh_arena_pool_init(struct uvh_arena_pool *pool, const uvhttp_allocator_t *allocator)
{
    *pool = (struct uvh_arena_pool){.allocator = allocator};
}

void uvh_arena_pool_release(struct uvh_arena_pool *pool)
{
    uvh_owner_hand_over(&pool->owner);
    while (pool->free != NULL)
        uvh_arena_free_block(pool, uvh_arena_take_block(pool));
}

static void *bump(struct uvh_arena *arena, size_t size)
{
    uvh_owner_check(&arena->pool->owner);
    if (UVH_UNLIKELY(size > (size_t)(arena->end - arena->next)) && add_block(arena, size) != 0)
        return NULL;
    void *memory = arena->next;
    arena->next += size;
    return memory;
}

void *uvh_arena_alloc(struct uvh_arena *arena, size_t size)
{
    uvh_owner_check(&arena->pool->owner);
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t padding = (size_t)(-(uintptr_t)arena->next) & (UVH_ARENA_ALIGNMENT - 1);
    if (padding + size > (size_t)(arena->end - arena->next)) {
        if (add_block(arena, size) != 0)
            return NULL;
        padding = 0; /* a new block is aligned */
    }
    arena->next += padding;
    return bump(arena, size);
}

char *uvh_arena_text(struct uvh_arena *arena, size_t size)
{
    return bump(arena, size);
}

char *uvh_arena_copy(struct uvh_arena *arena, const char *text, size_t length)
{
    char *copy = bump(arena, length + 1);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
