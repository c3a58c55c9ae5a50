/* Bump allocator for everything that lives as long as one exchange, on recycled blocks.
 *
 * Always true: memory from an arena is valid until uvh_arena_release; nothing is freed singly.
 * After warm-up an exchange takes its block from the pool's free list and returns it there: no heap
 * call.
 *
 * A pool and its arenas are used on the thread of the pool's owner (base/owner.h). Initialising and
 * releasing the pool is allowed on any thread while the pool is not in use. */
#ifndef UVH_BASE_ARENA_H
#define UVH_BASE_ARENA_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include <uvhttp/types.h>

#include "base/compiler.h"
#include "base/counter.h"
#include "base/owner.h"

enum {
    UVH_ARENA_BLOCK_SIZE = 4096,  /* fits a browser's request and its exchange */
    UVH_ARENA_KEPT_BLOCKS = 1024, /* most free blocks a pool keeps (4 MiB); others are freed */
};

struct uvh_arena_block {
    struct uvh_arena_block *next;
    size_t size; /* of the whole block, bytes */
};

enum { UVH_ARENA_ALIGNMENT = alignof(max_align_t) };

static inline size_t uvh_arena_align(size_t size)
{
    return (size + UVH_ARENA_ALIGNMENT - 1) & ~(size_t)(UVH_ARENA_ALIGNMENT - 1);
}

struct uvh_arena_pool {
    const uvhttp_allocator_t *allocator;
    struct uvh_arena_block *free;
    size_t free_count;
    _Atomic uint64_t memory; /* bytes allocated */
    struct uvh_owner owner;
};

struct uvh_arena {
    struct uvh_arena_pool *pool;
    struct uvh_arena_block *blocks; /* newest first */
    char *next;
    char *end;
};

void uvh_arena_pool_init(struct uvh_arena_pool *pool, const uvhttp_allocator_t *allocator);
void uvh_arena_pool_release(struct uvh_arena_pool *pool);

/* Allocates and frees blocks. */
struct uvh_arena_block *uvh_arena_new_block(struct uvh_arena_pool *pool, size_t size);
void uvh_arena_free_block(struct uvh_arena_pool *pool, struct uvh_arena_block *block);

/* A block of the usual size; NULL if out of memory. These four functions are inline, because each
 * exchange calls them. */
static inline struct uvh_arena_block *uvh_arena_take_block(struct uvh_arena_pool *pool)
{
    struct uvh_arena_block *block = pool->free;
    uvh_owner_check(&pool->owner);
    if (UVH_UNLIKELY(block == NULL))
        return uvh_arena_new_block(pool, UVH_ARENA_BLOCK_SIZE);
    UVH_UNPOISON(block, UVH_ARENA_BLOCK_SIZE);
    pool->free = block->next;
    pool->free_count--;
    return block;
}

static inline void uvh_arena_give_block(struct uvh_arena_pool *pool, struct uvh_arena_block *block)
{
    uvh_owner_check(&pool->owner);
    if (UVH_UNLIKELY(block->size != UVH_ARENA_BLOCK_SIZE ||
                     pool->free_count >= UVH_ARENA_KEPT_BLOCKS)) {
        uvh_arena_free_block(pool, block);
        return;
    }
    block->next = pool->free;
    pool->free = block;
    pool->free_count++;
    UVH_POISON(block, UVH_ARENA_BLOCK_SIZE);
}

/* Takes the first block and returns `size` bytes at its start, not cleared, for the object that
 * will own the arena and copies `*arena` into itself. NULL if out of memory. `size` is at most half
 * a block. */
static inline void *uvh_arena_begin(struct uvh_arena *arena, struct uvh_arena_pool *pool,
                                    size_t size)
{
    assert(size <= UVH_ARENA_BLOCK_SIZE / 2);
    struct uvh_arena_block *block = uvh_arena_take_block(pool);
    if (block == NULL)
        return NULL;
    char *first = (char *)block + uvh_arena_align(sizeof(*block));
    block->next = NULL;
    *arena = (struct uvh_arena){.pool = pool,
                                .blocks = block,
                                .next = first + uvh_arena_align(size),
                                .end = (char *)block + UVH_ARENA_BLOCK_SIZE};
    return first;
}

/* Returns all blocks to the pool, including the memory from uvh_arena_begin. */
static inline void uvh_arena_release(struct uvh_arena *arena)
{
    /* The arena may lie in one of its own blocks, so it is not accessed after the first block is
     * released. */
    struct uvh_arena_pool *pool = arena->pool;
    struct uvh_arena_block *block = arena->blocks;
    while (block != NULL) {
        struct uvh_arena_block *next = block->next;
        uvh_arena_give_block(pool, block);
        block = next;
    }
}

/* `size` bytes aligned for any type, or unaligned for text; NULL if out of memory. */
void *uvh_arena_alloc(struct uvh_arena *arena, size_t size);
char *uvh_arena_text(struct uvh_arena *arena, size_t size);

/* All bytes that are left of the current block, unaligned, for text of unknown size:
 * uvh_arena_cut returns those from `end` on. No allocation in between. */
static inline char *uvh_arena_rest(struct uvh_arena *arena, size_t *size)
{
    char *rest = arena->next;
    *size = (size_t)(arena->end - rest);
    arena->next = arena->end;
    return rest;
}
static inline void uvh_arena_cut(struct uvh_arena *arena, char *end)
{
    arena->next = end;
}

/* A NUL-terminated copy; NULL if out of memory. */
char *uvh_arena_copy(struct uvh_arena *arena, const char *text, size_t length);

#endif
