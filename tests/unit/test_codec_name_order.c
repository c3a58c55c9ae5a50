/* codec/text/name_order.c: the order of names in listings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/text/name_order.h"

/* Every name of a row comes before all following ones. */
static void assert_order(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = uvh_name_order_compare(names[i], names[j]);
            if ((order < 0) != (i < j) || (order > 0) != (i > j))
                fail_msg("\"%s\" and \"%s\" compare as %d", names[i], names[j], order);
        }
    }
}

#define ASSERT_ORDER(...)                                \
    do {                                                 \
        static const char *const row[] = {__VA_ARGS__};  \
        assert_order(row, sizeof(row) / sizeof(row[0])); \
    } while (0)

static void numbers_are_compared_by_value(void **state)
{
    (void)state;
    ASSERT_ORDER("file", "file1", "file2", "file10", "file10a", "file11", "file100", "filea");
    ASSERT_ORDER("a0", "a00", "a01", "a1", "a1.5", "a1.10", "a2", "a010", "a10");
    ASSERT_ORDER("1", "9", "10", "99999999999999999999998", "99999999999999999999999",
                 "100000000000000000000000");
    ASSERT_ORDER("v1.2.9-rc1", "v1.2.9-rc10", "v1.2.10-rc2", "v1.10.0");
    ASSERT_ORDER("-1", "0", ":", "a");
}

static void case_and_accents_are_second(void **state)
{
    (void)state;
    ASSERT_ORDER("A", "a", "B", "b");
    ASSERT_ORDER("Apfel", "apfel", "\xC3\x84pfel", "apfel2", "Birne", "\xC3\xA9t\xC3\xA9", "Etui",
                 "z");
    /* composed and decomposed, Cyrillic and Greek */
    ASSERT_ORDER("a\xCC\x88", "\xC3\xA4", "a\xCC\x88 1", "\xC3\xA4 2", "b");
    ASSERT_ORDER("z", "\xCE\x86", "\xCE\xB1", "\xCE\x92", "\xCE\xB2", "\xD0\xB0", "\xD0\x91",
                 "\xD0\xB2", "\xE6\x97\xA5", "\xF0\x9F\x90\x99");
    /* a mark before a number */
    ASSERT_ORDER("a\xCC\x88"
                 "2",
                 "a\xCC\x88"
                 "10",
                 "a11");
}

static void invalid_bytes_are_last(void **state)
{
    (void)state;
    ASSERT_ORDER("", "a", "a\xF0\x9F\x90\x99", "a\xC3", "a\xFE", "a\xFF", "a\xFFz", "b");
}

static void parts_are_found_without_case_and_accents(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *part;
        bool found;
    } rows[] = {
        {"README.md", "readme", true},
        {"README.md", "", true},
        {"README.md", ".MD", true},
        {"README.md", "md.", false},
        {"", "", true},
        {"", "a", false},
        {"caf\xC3\xA9.txt", "CAFE", true},
        {"cafe\xCC\x81.txt", "\xC3\xA9.t", true},
        {"photo 010", "10", true},
        {"photo 010", "1", true},
        {"photo 010", "010 ", false},
        {"aab", "ab", true},
        {"bad\xFFname", "\xFFn", true},
        {"bad\xFFname", "\xFEn", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (uvh_name_order_contains(rows[i].name, rows[i].part) != rows[i].found)
            fail_msg("\"%s\" in \"%s\"", rows[i].part, rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_compared_by_value),
        cmocka_unit_test(case_and_accents_are_second),
        cmocka_unit_test(invalid_bytes_are_last),
        cmocka_unit_test(parts_are_found_without_case_and_accents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
