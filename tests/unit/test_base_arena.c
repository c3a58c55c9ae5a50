/* The arena: alignment, dedicated blocks for large allocations, reuse of blocks, no overlap. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "support/fault_heap.h"

static struct fault_heap heap;
static struct uvh_arena_pool pool;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_arena_pool_init(&pool, &heap.allocator);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_arena_pool_release(&pool);
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

/* The free space is in the newest block, and the heap has as many blocks as arena and pool
 * count. */
static void assert_sane(const struct uvh_arena *arena)
{
    size_t blocks = 0;
    const char *newest = (const char *)arena->blocks;
    assert_non_null(newest);
    assert_true(arena->next >= newest + sizeof(struct uvh_arena_block));
    assert_true(arena->next <= arena->end);
    assert_ptr_equal(arena->end, newest + arena->blocks->size);
    for (const struct uvh_arena_block *block = arena->blocks; block != NULL; block = block->next)
        blocks++;
    assert_int_equal(atomic_load(&heap.live), blocks + pool.free_count);
    assert_true(pool.free_count <= UVH_ARENA_KEPT_BLOCKS);
}

static struct uvh_arena begin(void)
{
    struct uvh_arena arena;
    void *owner = uvh_arena_begin(&arena, &pool, 100);
    assert_non_null(owner);
    memset(owner, 1, 100);
    assert_sane(&arena);
    return arena;
}

static void allocations_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    enum { CHUNKS = 400 };
    struct uvh_arena arena = begin();
    unsigned char *chunks[CHUNKS];
    for (size_t i = 0; i < CHUNKS; i++) {
        chunks[i] =
            i % 3 == 0 ? (unsigned char *)uvh_arena_text(&arena, i) : uvh_arena_alloc(&arena, i);
        assert_non_null(chunks[i]);
        if (i % 3 != 0)
            assert_int_equal((uintptr_t)chunks[i] % alignof(max_align_t), 0);
        memset(chunks[i], (int)(i & 255), i);
        assert_sane(&arena);
    }
    for (size_t i = 0; i < CHUNKS; i++) {
        for (size_t k = 0; k < i; k++)
            assert_int_equal(chunks[i][k], i & 255);
    }
    uvh_arena_release(&arena);
}

static void texts_are_adjacent(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    char *first = uvh_arena_text(&arena, 3);
    assert_ptr_equal(uvh_arena_text(&arena, 5), first + 3);
    assert_ptr_equal(uvh_arena_copy(&arena, "ab", 2), first + 8);
    assert_memory_equal(first + 8, "ab", 3);
    assert_string_equal(uvh_arena_copy(&arena, NULL, 0), "");
    assert_sane(&arena);
    uvh_arena_release(&arena);
}

static void large_allocations_get_dedicated_blocks(void **state)
{
    (void)state;
    static const size_t sizes[] = {UVH_ARENA_BLOCK_SIZE - 17, UVH_ARENA_BLOCK_SIZE - 16,
                                   UVH_ARENA_BLOCK_SIZE - 15, UVH_ARENA_BLOCK_SIZE, 1000000};
    for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
        struct uvh_arena arena = begin();
        char *large = uvh_arena_alloc(&arena, sizes[i]);
        assert_non_null(large);
        memset(large, 2, sizes[i]);
        assert_sane(&arena);
        assert_non_null(uvh_arena_alloc(&arena, 32));
        assert_sane(&arena);
        uvh_arena_release(&arena);
        /* The pool keeps only blocks of the usual size. */
        for (const struct uvh_arena_block *block = pool.free; block != NULL;) {
            UVH_UNPOISON(block, sizeof(*block));
            assert_int_equal(block->size, UVH_ARENA_BLOCK_SIZE);
            const struct uvh_arena_block *next = block->next;
            UVH_POISON(block, sizeof(*block));
            block = next;
        }
    }
}

static void released_blocks_are_reused(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    assert_non_null(uvh_arena_alloc(&arena, 3900));
    assert_non_null(uvh_arena_alloc(&arena, 3900));
    uvh_arena_release(&arena);
    fault_heap_arm(&heap, 1, true);
    for (int i = 0; i < 10; i++) {
        arena = begin();
        assert_non_null(uvh_arena_alloc(&arena, 3900));
        assert_non_null(uvh_arena_alloc(&arena, 3900));
        assert_sane(&arena);
        uvh_arena_release(&arena);
    }
    assert_int_equal(atomic_load(&heap.calls), 0);
}

static void pool_keeps_limited_number_of_blocks(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    for (size_t i = 0; i < UVH_ARENA_KEPT_BLOCKS + 20; i++)
        assert_non_null(uvh_arena_alloc(&arena, 3000));
    assert_sane(&arena);
    uvh_arena_release(&arena);
    assert_int_equal(pool.free_count, UVH_ARENA_KEPT_BLOCKS);
    assert_int_equal(atomic_load(&heap.live), UVH_ARENA_KEPT_BLOCKS);
}

static void failed_allocation_leaves_arena_usable(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    fault_heap_arm(&heap, 1, true);
    assert_null(uvh_arena_alloc(&arena, UVH_ARENA_BLOCK_SIZE));
    assert_null(uvh_arena_text(&arena, UVH_ARENA_BLOCK_SIZE));
    assert_null(uvh_arena_copy(&arena, (const char *)&pool, UVH_ARENA_BLOCK_SIZE));
    assert_sane(&arena);
    struct uvh_arena other;
    assert_null(uvh_arena_begin(&other, &pool, 8));
    assert_non_null(uvh_arena_alloc(&arena, 64));
    fault_heap_arm(&heap, 0, false);
    assert_non_null(uvh_arena_alloc(&arena, UVH_ARENA_BLOCK_SIZE));
    assert_sane(&arena);
    uvh_arena_release(&arena);
}

static void overflowing_sizes_are_refused(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    size_t calls = atomic_load(&heap.calls);
    assert_null(uvh_arena_alloc(&arena, SIZE_MAX));
    assert_null(uvh_arena_alloc(&arena, SIZE_MAX / 2 + 1));
    assert_null(uvh_arena_text(&arena, SIZE_MAX));
    assert_null(uvh_arena_text(&arena, SIZE_MAX - 8));
    assert_int_equal(atomic_load(&heap.calls), calls);
    assert_sane(&arena);
    uvh_arena_release(&arena);
}

static void owner_in_own_arena_is_released(void **state)
{
    (void)state;
    struct owner {
        struct uvh_arena arena;
    };
    struct uvh_arena arena;
    struct owner *owner = uvh_arena_begin(&arena, &pool, sizeof(*owner));
    assert_non_null(owner);
    assert_int_equal((uintptr_t)owner % alignof(max_align_t), 0);
    owner->arena = arena;
    for (int i = 0; i < 5; i++)
        assert_non_null(uvh_arena_alloc(&owner->arena, 2000));
    assert_sane(&owner->arena);
    uvh_arena_release(&owner->arena);
    assert_int_equal(atomic_load(&heap.live), pool.free_count);
}

#if defined(UVH_ASAN)
static void released_memory_is_poisoned(void **state)
{
    (void)state;
    struct uvh_arena arena = begin();
    char *text = uvh_arena_copy(&arena, "gone", 4);
    assert_false(__asan_address_is_poisoned(text));
    uvh_arena_release(&arena);
    assert_true(__asan_address_is_poisoned(text));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocations_are_aligned_and_do_not_overlap, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(texts_are_adjacent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_allocations_get_dedicated_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(released_blocks_are_reused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pool_keeps_limited_number_of_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_allocation_leaves_arena_usable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overflowing_sizes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(owner_in_own_arena_is_released, set_up, tear_down),
#if defined(UVH_ASAN)
        cmocka_unit_test_setup_teardown(released_memory_is_poisoned, set_up, tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
