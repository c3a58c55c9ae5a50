/* Text of peers in messages of the library: visible, whole or marked as truncated, for any buffer
 * size. */
#include "codec/text/shown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded.h"

static struct guarded memory;

static void expect(const char *bytes, size_t size, const char *expected)
{
    char *text = memory.end - size;
    assert_ptr_equal(uvh_shown((uvhttp_slice_t){bytes, strlen(bytes)}, text, size), text);
    assert_string_equal(text, expected);
}

static void invisible_bytes_are_replaced(void **state)
{
    (void)state;
    expect("", 4, "");
    expect("abc ~", 6, "abc ~");
    expect("a\tb\r\n\x7f\xc3\xa4\x1f", 16, "a?b??????");
}

static void long_text_is_truncated_with_dots(void **state)
{
    (void)state;
    expect("abc", 4, "abc");
    expect("abcd", 4, "...");
    expect("abcdef", 6, "ab...");
    expect("abcde", 6, "abcde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invisible_bytes_are_replaced),
        cmocka_unit_test(long_text_is_truncated_with_dots),
    };
    memory = guarded_make(64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
