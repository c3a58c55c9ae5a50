/* Range, If-Range and Content-Range (RFC 9110 section 14). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/range.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

#define NONE ((uvhttp_slice_t){NULL, 0})

/* "none", "several", "unsatisfiable" or "first-last" */
static const char *parse(const char *value, uint64_t size)
{
    static char text[64];
    uint64_t first = 0;
    uint64_t last = 0;
    switch (uvh_range_parse((uvhttp_slice_t){value, strlen(value)}, size, &first, &last)) {
    case UVH_RANGE_NONE:
        return "none";
    case UVH_RANGE_SEVERAL:
        return "several";
    case UVH_RANGE_UNSATISFIABLE:
        return "unsatisfiable";
    default:
        assert_true(first <= last && last < size);
        snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)first, (unsigned long long)last);
        return text;
    }
}

static void borders(void **state)
{
    (void)state;
    assert_string_equal(parse("bytes=0-0", 1000), "0-0");
    assert_string_equal(parse("bytes=0-499", 1000), "0-499");
    assert_string_equal(parse("bytes=500-999", 1000), "500-999");
    assert_string_equal(parse("bytes=500-", 1000), "500-999");
    assert_string_equal(parse("bytes=999-", 1000), "999-999");
    assert_string_equal(parse("bytes=999-1000", 1000), "999-999");
    assert_string_equal(parse("bytes=0-18446744073709551615", 1000), "0-999");
    assert_string_equal(parse("bytes=0-99999999999999999999999", 1000), "0-999");
    assert_string_equal(parse("bytes=1000-", 1000), "unsatisfiable");
    assert_string_equal(parse("bytes=1000-2000", 1000), "unsatisfiable");
    assert_string_equal(parse("bytes=99999999999999999999999-", 1000), "unsatisfiable");
    assert_string_equal(parse("bytes=0-", UINT64_MAX), "0-18446744073709551614");
    assert_string_equal(parse("bytes=0-", 0), "unsatisfiable");
    assert_string_equal(parse("bytes=0-0", 1), "0-0");
}

static void suffixes(void **state)
{
    (void)state;
    assert_string_equal(parse("bytes=-1", 1000), "999-999");
    assert_string_equal(parse("bytes=-500", 1000), "500-999");
    assert_string_equal(parse("bytes=-1000", 1000), "0-999");
    assert_string_equal(parse("bytes=-1001", 1000), "0-999");
    assert_string_equal(parse("bytes=-99999999999999999999999", 1000), "0-999");
    assert_string_equal(parse("bytes=-0", 1000), "unsatisfiable");
    assert_string_equal(parse("bytes=-5", 0), "none");
}

static void spelling(void **state)
{
    (void)state;
    assert_string_equal(parse("BYTES=0-1", 10), "0-1");
    assert_string_equal(parse("bytes= 0-1 ", 10), "0-1");
    assert_string_equal(parse("bytes=,0-1,", 10), "0-1");
    assert_string_equal(parse("bytes=0-0,-1", 10), "several");
    assert_string_equal(parse("bytes=0-0 , 2-3,5-", 10), "several");
    static const char *const ignored[] = {
        "",           "bytes",       "bytes=",      "bytes=,",    "bytes=-",    "bytes=a-b",
        "bytes=5-4",  "bytes=1",     "bytes=1-2-3", "bytes=+1-2", "bytes=1-+2", "bytes=0x0-1",
        "bytes=1 -2", "bytes = 0-1", "bytes 0-1",   "items=0-1",  "byte=0-1",   "bytes=0-1,x",
        "bytes=--1",  "bytes=0-1;",  "bytes=1,2-3", "bytesx=0-1", "bytes:0-1"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        assert_string_equal(parse(ignored[i], 10), "none");
    uint64_t first;
    uint64_t last;
    assert_int_equal(uvh_range_parse(NONE, 10, &first, &last), UVH_RANGE_NONE);
}

static void every_pair_of_a_small_size(void **state)
{
    (void)state;
    for (unsigned size = 0; size < 6; size++) {
        for (unsigned from = 0; from < 8; from++) {
            for (unsigned to = 0; to < 8; to++) {
                char value[64];
                char expected[64];
                snprintf(value, sizeof value, "bytes=%u-%u", from, to);
                snprintf(expected, sizeof expected, "%u-%u", from, to < size ? to : size - 1);
                const char *got = parse(value, size);
                assert_string_equal(got, to < from ? "none" : from >= size ? "unsatisfiable" : expected);
            }
        }
    }
}

static void if_range(void **state)
{
    (void)state;
    const int64_t november = 784111777;
    uvhttp_slice_t etag = SLICE("\"a\"");
    uvhttp_slice_t date = SLICE("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_true(uvh_range_if_range_holds(NONE, etag, true, november, november + 9));
    assert_true(uvh_range_if_range_holds(SLICE("\"a\""), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("\"b\""), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("W/\"a\""), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("W/\"a\""), SLICE("W/\"a\""), true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("\"a\""), NONE, true, november, november + 9));
    assert_true(uvh_range_if_range_holds(date, etag, true, november, november + 1));
    assert_false(uvh_range_if_range_holds(date, etag, true, november, november)); /* not a strong date yet */
    assert_false(uvh_range_if_range_holds(date, etag, true, november + 1, november + 9));
    assert_false(
        uvh_range_if_range_holds(date, etag, true, november - 1, november + 9)); /* exact, not "since" */
    assert_false(uvh_range_if_range_holds(date, etag, false, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("a"), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE(""), etag, true, november, november + 9));
}

static void content_range(void **state)
{
    (void)state;
    char text[UVH_RANGE_CONTENT_RANGE_SIZE];
    size_t length = uvh_range_format(text, 0, 499, 1234);
    assert_int_equal(length, strlen("bytes 0-499/1234"));
    assert_memory_equal(text, "bytes 0-499/1234", length);
    length = uvh_range_format(text, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    assert_int_equal(length, UVH_RANGE_CONTENT_RANGE_SIZE);
    length = uvh_range_format_unsatisfied(text, 1234);
    assert_int_equal(length, strlen("bytes */1234"));
    assert_memory_equal(text, "bytes */1234", length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders),  cmocka_unit_test(suffixes),
        cmocka_unit_test(spelling), cmocka_unit_test(every_pair_of_a_small_size),
        cmocka_unit_test(if_range), cmocka_unit_test(content_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
