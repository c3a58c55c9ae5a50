/* The built-in allocator and the calls on top of any allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/fault_heap.h"

static void the_built_in_allocator_gives_keeps_and_takes(void **state)
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

static void zeroed_memory_is_zero_and_strings_are_terminated(void **state)
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

static void failures_are_handed_on(void **state)
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
        cmocka_unit_test(the_built_in_allocator_gives_keeps_and_takes),
        cmocka_unit_test(zeroed_memory_is_zero_and_strings_are_terminated),
        cmocka_unit_test(failures_are_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
