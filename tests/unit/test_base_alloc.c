/* The default allocator and the functions on top of any allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/fault_heap.h"

static void default_allocator_allocates_and_reallocates(void **state)
{
    (void)state;
    const uvhttp_allocator_t *allocator = uvh_alloc_default();
    assert_ptr_equal(allocator, uvh_alloc_default());
    char *memory = uvh_alloc(allocator, 10);
    assert_non_null(memory);
    memcpy(memory, "012345678", 10);
    memory = uvh_realloc(allocator, memory, 100000);
    assert_non_null(memory);
    assert_string_equal(memory, "012345678");
    memory[99999] = 1;
    uvh_free(allocator, memory);
    memory = uvh_realloc(allocator, NULL, 5);
    assert_non_null(memory);
    uvh_free(allocator, memory);
    uvh_free(allocator, NULL);
}

static void zeroed_and_string_allocations_are_initialized(void **state)
{
    (void)state;
    static const char zeros[512];
    struct fault_heap heap;
    fault_heap_init(&heap);
    void *memory = uvh_alloc_zero(&heap.allocator, sizeof(zeros));
    assert_memory_equal(memory, zeros, sizeof(zeros));
    uvh_free(&heap.allocator, memory);
    char *text = uvh_alloc_string(&heap.allocator, "abcdef", 3);
    assert_string_equal(text, "abc");
    uvh_free(&heap.allocator, text);
    text = uvh_alloc_string(&heap.allocator, NULL, 0);
    assert_string_equal(text, "");
    uvh_free(&heap.allocator, text);
    uvh_free(&heap.allocator, NULL);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void failed_allocation_returns_null(void **state)
{
    (void)state;
    struct fault_heap heap;
    fault_heap_init(&heap);
    fault_heap_arm(&heap, 1, true);
    assert_null(uvh_alloc(&heap.allocator, 1));
    assert_null(uvh_alloc_zero(&heap.allocator, 1));
    assert_null(uvh_realloc(&heap.allocator, NULL, 1));
    assert_null(uvh_alloc_string(&heap.allocator, "a", 1));
    assert_int_equal(atomic_load(&heap.failures), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_allocator_allocates_and_reallocates),
        cmocka_unit_test(zeroed_and_string_allocations_are_initialized),
        cmocka_unit_test(failed_allocation_returns_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
