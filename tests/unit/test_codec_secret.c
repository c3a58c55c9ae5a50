/* Comparison of secrets. The duration is not measured; the test checks that no byte and no length
 * is ignored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/secret.h>

#include "support/guarded.h"

static void constant_time_comparison_detects_differences(void **state)
{
    (void)state;
    struct guarded memory[2] = {guarded_make(4096), guarded_make(4096)};
    char bytes[64];
    for (size_t length = 0; length < sizeof bytes; length++) {
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(i * 37);
        char *a = guarded_copy(&memory[0], bytes, length);
        char *b = guarded_copy(&memory[1], bytes, length);
        assert_true(uvhttp_equal_constant_time(a, length, b, length));
        for (size_t at = 0; at < length; at++) {
            for (unsigned bit = 1; bit < 256; bit *= 2) {
                a[at] = (char)(a[at] ^ (char)bit);
                assert_false(uvhttp_equal_constant_time(a, length, b, length));
                a[at] = (char)(a[at] ^ (char)bit);
            }
        }
        /* Only the length differs, either way; neither is read beyond its end. */
        for (size_t shorter = 0; shorter < length; shorter++) {
            assert_false(uvhttp_equal_constant_time(a + length - shorter, shorter, b, length));
            assert_false(uvhttp_equal_constant_time(a, length, b + length - shorter, shorter));
        }
    }
    assert_true(uvhttp_equal_constant_time(NULL, 0, NULL, 0));
    assert_false(uvhttp_equal_constant_time(NULL, 0, "a", 1));
    assert_false(uvhttp_equal_constant_time("a", 1, NULL, 0));
    /* Zero bytes, which are equal to the initial value. */
    assert_false(uvhttp_equal_constant_time("\0\0", 2, "\0", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_time_comparison_detects_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
