/* Buffers with reference counts: the last reference recycles them; large buffers and those beyond
 * the limit of the pool are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "support/fault_heap.h"

enum { CAPACITY = 4096 };

static struct fault_heap heap;
static struct uvh_buffer_pool pool;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_buffer_pool_init(&pool, &heap.allocator, CAPACITY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_buffer_pool_release(&pool);
    return atomic_load(&heap.live) == 0 && pool.free == NULL && pool.free_count == 0 ? 0 : -1;
}

/* Buffers in the pool have no references and the capacity of the pool; the heap has no other blocks
 * than those and the `out` taken ones. */
static void assert_sane(size_t out)
{
    size_t count = 0;
    for (const struct uvh_buffer *buffer = pool.free; buffer != NULL; buffer = buffer->next) {
        assert_int_equal(buffer->refs, 0);
        assert_int_equal(buffer->capacity, CAPACITY);
        assert_ptr_equal(buffer->pool, &pool);
        count++;
    }
    assert_int_equal(count, pool.free_count);
    assert_true(count <= UVH_BUFFER_KEPT);
    assert_int_equal(atomic_load(&heap.live), count + out);
}

static void taken_buffer_is_empty_with_one_reference(void **state)
{
    (void)state;
    struct uvh_buffer *buffer = uvh_buffer_take(&pool, 1);
    assert_non_null(buffer);
    assert_sane(1);
    assert_int_equal(buffer->capacity, CAPACITY);
    assert_int_equal(buffer->used, 0);
    assert_int_equal(buffer->refs, 1);
    memset(buffer->data, 7, CAPACITY);
    buffer->used = 100;
    uvh_buffer_unref(buffer);
    assert_sane(0);
    assert_ptr_equal(uvh_buffer_take(&pool, CAPACITY), buffer);
    assert_int_equal(buffer->used, 0);
    assert_int_equal(buffer->refs, 1);
    assert_sane(1);
    uvh_buffer_unref(buffer);
}

static void last_reference_recycles_buffer(void **state)
{
    (void)state;
    struct uvh_buffer *buffer = uvh_buffer_take(&pool, 0);
    uvh_buffer_ref(buffer);
    uvh_buffer_ref(buffer);
    uvh_buffer_unref(buffer);
    uvh_buffer_unref(buffer);
    assert_int_equal(buffer->refs, 1);
    assert_sane(1);
    memset(buffer->data, 1, CAPACITY);
    uvh_buffer_unref(buffer);
    assert_sane(0);
    assert_int_equal(pool.free_count, 1);
}

static void large_buffer_is_allocated_and_not_kept(void **state)
{
    (void)state;
    uvh_buffer_unref(uvh_buffer_take(&pool, 0));
    struct uvh_buffer *large = uvh_buffer_take(&pool, CAPACITY + 1);
    assert_non_null(large);
    assert_int_equal(large->capacity, CAPACITY + 1);
    memset(large->data, 1, CAPACITY + 1);
    assert_sane(1);
    assert_int_equal(pool.free_count, 1); /* the small one stays in the pool */
    uvh_buffer_unref(large);
    assert_sane(0);
    assert_int_equal(pool.free_count, 1);
}

static void fitting_buffer_is_close_to_requested_size(void **state)
{
    (void)state;
    for (size_t least = 0; least <= 2 * CAPACITY; least++) {
        struct uvh_buffer *buffer = uvh_buffer_take_fitting(&pool, least);
        assert_non_null(buffer);
        assert_true(buffer->capacity >= least);
        if (least <= CAPACITY / 4)
            assert_true(buffer->capacity < least + 64);
        else
            assert_int_equal(buffer->capacity, least < CAPACITY ? CAPACITY : least);
        memset(buffer->data, 1, buffer->capacity);
        uvh_buffer_unref(buffer);
        assert_sane(0);
    }
    assert_int_equal(pool.free_count, 1);
}

static void pool_keeps_limited_number_of_buffers(void **state)
{
    (void)state;
    struct uvh_buffer *taken[UVH_BUFFER_KEPT + 5];
    for (size_t i = 0; i < UVH_COUNT_OF(taken); i++)
        taken[i] = uvh_buffer_take(&pool, 0);
    assert_sane(UVH_COUNT_OF(taken));
    for (size_t i = 0; i < UVH_COUNT_OF(taken); i++) {
        uvh_buffer_unref(taken[i]);
        assert_sane(UVH_COUNT_OF(taken) - i - 1);
    }
    assert_int_equal(pool.free_count, UVH_BUFFER_KEPT);
}

static void last_given_buffer_is_taken_first(void **state)
{
    (void)state;
    struct uvh_buffer *first = uvh_buffer_take(&pool, 0);
    struct uvh_buffer *second = uvh_buffer_take(&pool, 0);
    uvh_buffer_unref(first);
    uvh_buffer_unref(second);
    assert_ptr_equal(uvh_buffer_take(&pool, 0), second);
    assert_ptr_equal(uvh_buffer_take(&pool, 0), first);
    assert_sane(2);
    uvh_buffer_unref(first);
    uvh_buffer_unref(second);
}

static void take_without_memory_returns_null(void **state)
{
    (void)state;
    uvh_buffer_unref(uvh_buffer_take(&pool, 0));
    fault_heap_arm(&heap, 1, true);
    struct uvh_buffer *buffer = uvh_buffer_take(&pool, 0);
    assert_non_null(buffer); /* from the pool */
    assert_null(uvh_buffer_take(&pool, 0));
    assert_null(uvh_buffer_take(&pool, 2 * CAPACITY));
    assert_sane(1);
    uvh_buffer_unref(buffer);
}

#if defined(UVH_ASAN)
static void recycled_data_is_poisoned(void **state)
{
    (void)state;
    struct uvh_buffer *buffer = uvh_buffer_take(&pool, 0);
    assert_false(__asan_address_is_poisoned(buffer->data));
    uvh_buffer_unref(buffer);
    assert_true(__asan_address_is_poisoned(buffer->data));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] =
    { cmocka_unit_test_setup_teardown(taken_buffer_is_empty_with_one_reference, set_up, tear_down),
      cmocka_unit_test_setup_teardown(last_reference_recycles_buffer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(large_buffer_is_allocated_and_not_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(pool_keeps_limited_number_of_buffers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(fitting_buffer_is_close_to_requested_size, set_up, tear_down),
      cmocka_unit_test_setup_teardown(last_given_buffer_is_taken_first, set_up, tear_down),
      cmocka_unit_test_setup_teardown(take_without_memory_returns_null, set_up, tear_down),
#if defined(UVH_ASAN)
      cmocka_unit_test_setup_teardown(recycled_data_is_poisoned, set_up, tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
