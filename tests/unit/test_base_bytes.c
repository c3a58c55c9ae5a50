/* Growing bytes: never beyond the maximum, failures are sticky, and a failure keeps the earlier
 * content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "support/fault_heap.h"

static struct fault_heap heap;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

static void assert_sane(const struct uvh_bytes *bytes, size_t length)
{
    assert_int_equal(bytes->length, length);
    assert_true(bytes->length <= bytes->capacity);
    assert_true(bytes->capacity <= bytes->maximum);
    assert_int_equal(bytes->data == NULL, bytes->capacity == 0);
    assert_int_equal(atomic_load(&heap.live), bytes->data == NULL ? 0 : 1);
}

static void appended_chunks_keep_order(void **state)
{
    (void)state;
    struct uvh_bytes bytes;
    uvh_bytes_init(&bytes, &heap.allocator, 100000);
    assert_sane(&bytes, 0);
    for (size_t i = 0; i < 1000; i++) {
        const char chunk[3] = {(char)i, (char)(i >> 8), 'x'};
        assert_int_equal(uvh_bytes_append(&bytes, chunk, 3), 0);
        assert_sane(&bytes, 3 * (i + 1));
    }
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal((unsigned char)bytes.data[3 * i], i & 255);
        assert_int_equal((unsigned char)bytes.data[3 * i + 1], i >> 8);
    }
    assert_true(atomic_load(&heap.calls) < 10); /* the capacity doubles */
    uvh_bytes_release(&bytes);
    assert_sane(&bytes, 0);
    assert_int_equal(bytes.maximum, 100000);
}

static void maximum_is_exact(void **state)
{
    (void)state;
    static const size_t maxima[] = {0, 1, 255, 256, 257, 1000};
    static const char zeros[1001];
    for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
        struct uvh_bytes bytes;
        uvh_bytes_init(&bytes, &heap.allocator, maxima[i]);
        for (size_t k = 0; k < maxima[i]; k++)
            assert_int_equal(uvh_bytes_append(&bytes, "y", 1), 0);
        assert_sane(&bytes, maxima[i]);
        assert_false(bytes.failed);
        assert_int_equal(uvh_bytes_append(&bytes, "y", 1), -1);
        assert_true(bytes.failed);
        assert_sane(&bytes, maxima[i]);
        uvh_bytes_release(&bytes);
        assert_int_equal(uvh_bytes_append(&bytes, zeros, maxima[i]), 0);
        assert_sane(&bytes, maxima[i]);
        uvh_bytes_release(&bytes);
        assert_int_equal(uvh_bytes_append(&bytes, zeros, maxima[i] + 1), -1);
        assert_sane(&bytes, 0);
        uvh_bytes_release(&bytes);
    }
}

static void huge_lengths_do_not_overflow(void **state)
{
    (void)state;
    struct uvh_bytes bytes;
    uvh_bytes_init(&bytes, &heap.allocator, SIZE_MAX);
    assert_int_equal(uvh_bytes_append(&bytes, "abc", 3), 0);
    fault_heap_arm(&heap, 1, true);
    assert_int_equal(uvh_bytes_append(&bytes, "abc", SIZE_MAX - 2), -1);
    assert_int_equal(atomic_load(&heap.calls), 0);
    bytes.failed = false;
    assert_int_equal(uvh_bytes_append(&bytes, "abc", SIZE_MAX - 3), -1);
    assert_sane(&bytes, 3);
    uvh_bytes_release(&bytes);
}

static void append_after_failure_fails(void **state)
{
    (void)state;
    static const char zeros[300];
    struct uvh_bytes bytes;
    uvh_bytes_init(&bytes, &heap.allocator, 1000);
    assert_int_equal(uvh_bytes_append_text(&bytes, "first"), 0);
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(uvh_bytes_append(&bytes, zeros, sizeof(zeros)), -1);
    assert_true(bytes.failed);
    assert_sane(&bytes, 5);
    assert_int_equal(uvh_bytes_append(&bytes, "x", 1), -1);
    assert_int_equal(uvh_bytes_append_text(&bytes, "x"), -1);
    assert_int_equal(uvh_bytes_append_format(&bytes, "%d", 1), -1);
    assert_sane(&bytes, 5);
    assert_memory_equal(bytes.data, "first", 5);
    uvh_bytes_release(&bytes);
    assert_false(bytes.failed);
    assert_int_equal(uvh_bytes_append_text(&bytes, "again"), 0);
    assert_sane(&bytes, 5);
    uvh_bytes_release(&bytes);
}

static void formatted_text_is_appended_without_nul(void **state)
{
    (void)state;
    struct uvh_bytes bytes;
    uvh_bytes_init(&bytes, &heap.allocator, 2000);
    assert_int_equal(uvh_bytes_append_format(&bytes, "%s-%d", "a", 42), 0);
    assert_sane(&bytes, 4);
    assert_int_equal(uvh_bytes_append_format(&bytes, "%s", ""), 0);
    assert_int_equal(uvh_bytes_append_format(&bytes, "%0600d", 7), 0);
    assert_sane(&bytes, 604);
    assert_memory_equal(bytes.data, "a-42000", 7);
    assert_int_equal(bytes.data[603], '7');
    assert_int_equal(uvh_bytes_append_format(&bytes, "%01400d", 7), -1);
    assert_true(bytes.failed);
    assert_sane(&bytes, 604);
    uvh_bytes_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appended_chunks_keep_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maximum_is_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(huge_lengths_do_not_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(append_after_failure_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(formatted_text_is_appended_without_nul, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
