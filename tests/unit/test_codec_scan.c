/* The scanning primitives compared with loops over single bytes: every stop byte, at every offset
 * and every length, with the input ending at the end of its allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/simd/scan_swar.h"

enum { LONGEST = 40 };

typedef const char *(*scan_function)(const char *p, const char *end);
typedef bool (*stop_rule)(int c);

static bool is_colon(int c)
{
    return c == ':';
}

static bool is_line_feed(int c)
{
    return c == '\n';
}

static bool ends_target(int c)
{
    return c <= 0x20 || c == 0x7f || c > 0x7f || c == '#';
}

static bool ends_value(int c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

static bool is_nul(int c)
{
    return c == 0;
}

static const char *scan_nul(const char *p, const char *end)
{
    return uvh_scan_byte(p, end, '\0');
}

static void check(scan_function scan, stop_rule stops, const char *p, const char *end)
{
    const char *expected = p;
    while (expected < end && !stops((unsigned char)*expected))
        expected++;
    assert_ptr_equal(scan(p, end), expected);
}

/* All 256 bytes at each offset of texts of each length, among bytes that do not stop and with a
 * second candidate following. */
static void check_all(scan_function scan, stop_rule stops, char filler)
{
    for (size_t length = 0; length <= LONGEST; length++) {
        char *memory = malloc(UVH_SWAR_SLACK + length);
        assert_non_null(memory);
        char *text = memory + UVH_SWAR_SLACK;
        memset(memory, ':', UVH_SWAR_SLACK); /* bytes before the text must not be found */
        for (size_t at = 0; at < length; at++) {
            for (int c = 0; c < 256; c++) {
                memset(text, filler, length);
                text[at] = (char)c;
                check(scan, stops, text, text + length);
                text[length - 1] = '\x7f';
                check(scan, stops, text, text + length);
                memset(text + at, c, length - at);
                check(scan, stops, text, text + length);
            }
        }
        check(scan, stops, text, text);
        free(memory);
    }
}

static void colon_is_found_at_any_offset(void **state)
{
    (void)state;
    check_all(uvh_scan_colon, is_colon, 'a');
    check_all(uvh_scan_colon, is_colon, ';');
}

static void line_feed_is_found_at_any_offset(void **state)
{
    (void)state;
    check_all(uvh_scan_line_feed, is_line_feed, '\r');
    check_all(uvh_scan_line_feed, is_line_feed, '\x0b');
}

static void target_end_is_found_at_any_offset(void **state)
{
    (void)state;
    check_all(uvh_scan_target, ends_target, '~');
    check_all(uvh_scan_target, ends_target, '!');
    check_all(uvh_scan_target, ends_target, '"');
}

static void value_end_is_found_at_any_offset(void **state)
{
    (void)state;
    check_all(uvh_scan_value, ends_value, ' ');
    check_all(uvh_scan_value, ends_value, '\t');
    check_all(uvh_scan_value, ends_value, '\xff');
    check_all(uvh_scan_value, ends_value, '~');
}

static void nul_is_found_at_any_offset(void **state)
{
    (void)state;
    check_all(scan_nul, is_nul, 'a');
}

static void path_special_matches_reference_loop(void **state)
{
    (void)state;
    static const char units[] = {'/', '.', 'a', '%', '-', '0', '\xaf', '\xae'};
    uint32_t seed = 1;
    for (int round = 0; round < 200000; round++) {
        char memory[UVH_SWAR_SLACK + LONGEST];
        char *text = memory + UVH_SWAR_SLACK;
        memset(memory, '.', UVH_SWAR_SLACK);
        seed = seed * 1664525u + 1013904223u;
        size_t length = (seed >> 16) % LONGEST;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = units[(seed >> 16) % (round % 2 == 0 ? 8 : 3)];
        }
        const char *expected = text;
        while (
            expected < text + length &&
            !(*expected == '%' || (*expected == '.' && (expected == text || expected[-1] == '/'))))
            expected++;
        assert_ptr_equal(uvh_scan_path_special(text, text + length), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colon_is_found_at_any_offset),
        cmocka_unit_test(line_feed_is_found_at_any_offset),
        cmocka_unit_test(target_end_is_found_at_any_offset),
        cmocka_unit_test(value_end_is_found_at_any_offset),
        cmocka_unit_test(nul_is_found_at_any_offset),
        cmocka_unit_test(path_special_matches_reference_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
