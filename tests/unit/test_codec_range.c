/* Range, If-Range and Content-Range (RFC 9110 section 14). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/range.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

#define NONE ((uvhttp_slice_t){NULL, 0})

/* "none", "unsatisfiable" or "first-last", several separated by spaces */
static const char *parse(const char *value, uint64_t size)
{
    static char text[UVH_RANGE_MAX_COUNT * 43];
    struct uvh_range_set set;
    switch (uvh_range_parse((uvhttp_slice_t){value, strlen(value)}, size, &set)) {
    case UVH_RANGE_NONE:
        return "none";
    case UVH_RANGE_UNSATISFIABLE:
        return "unsatisfiable";
    default:
        break;
    }
    char *out = text;
    assert_in_range(set.count, 1, UVH_RANGE_MAX_COUNT);
    for (size_t i = 0; i < set.count; i++) {
        assert_true(set.items[i].first <= set.items[i].last && set.items[i].last < size);
        out += snprintf(out, 43, "%s%" PRIu64 "-%" PRIu64, i == 0 ? "" : " ", set.items[i].first,
                        set.items[i].last);
    }
    return text;
}

static void range_positions_are_clamped(void **state)
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

static void suffix_ranges_are_resolved(void **state)
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

static void malformed_ranges_are_ignored(void **state)
{
    (void)state;
    assert_string_equal(parse("BYTES=0-1", 10), "0-1");
    assert_string_equal(parse("bytes= 0-1 ", 10), "0-1");
    assert_string_equal(parse("bytes=,0-1,", 10), "0-1");
    assert_string_equal(parse("bytes=0-0 , 200-300,\t500-", 1000), "0-0 200-300 500-999");
    assert_string_equal(parse("bytes=,0-0,, ,500-,", 1000), "0-0 500-999");
    static const char *const ignored[] = {
        "",           "bytes",       "bytes=",      "bytes=,",    "bytes=-",    "bytes=a-b",
        "bytes=5-4",  "bytes=1",     "bytes=1-2-3", "bytes=+1-2", "bytes=1-+2", "bytes=0x0-1",
        "bytes=1 -2", "bytes = 0-1", "bytes 0-1",   "items=0-1",  "byte=0-1",   "bytes=0-1,x",
        "bytes=--1",  "bytes=0-1;",  "bytes=1,2-3", "bytesx=0-1", "bytes:0-1"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        assert_string_equal(parse(ignored[i], 10), "none");
    struct uvh_range_set set;
    assert_int_equal(uvh_range_parse(NONE, 10, &set), UVH_RANGE_NONE);
}

/* The examples of RFC 9110 section 14.1.2, of 10,000 bytes. */
static void rfc9110_examples_are_parsed(void **state)
{
    (void)state;
    assert_string_equal(parse("bytes=0-499", 10000), "0-499");
    assert_string_equal(parse("bytes=500-999", 10000), "500-999");
    assert_string_equal(parse("bytes=-500", 10000), "9500-9999");
    assert_string_equal(parse("bytes=9500-", 10000), "9500-9999");
    assert_string_equal(parse("bytes=0-0,-1", 10000), "0-0 9999-9999");
    assert_string_equal(parse("bytes= 0-999, 4500-5499, -1000", 10000),
                        "0-999 4500-5499 9000-9999");
    /* Other specifications of the second 500 bytes. */
    assert_string_equal(parse("bytes=500-600,601-999", 10000), "500-999");
    assert_string_equal(parse("bytes=500-700,601-999", 10000), "500-999");
}

static void several_ranges_keep_order(void **state)
{
    (void)state;
    /* Ranges beyond the end are dropped, unless there is no other. */
    assert_string_equal(parse("bytes=0-9,2000-", 1000), "0-9");
    assert_string_equal(parse("bytes=2000-,-0,500-509,1000-1001,0-9", 1000), "500-509 0-9");
    assert_string_equal(parse("bytes=1000-,2000-3000,-0", 1000), "unsatisfiable");
    assert_string_equal(parse("bytes=-5,0-0", 0), "none");
    assert_string_equal(parse("bytes=1-,0-0", 0), "unsatisfiable");
    /* One malformed range invalidates all. */
    assert_string_equal(parse("bytes=0-9,500-400", 1000), "none");
    assert_string_equal(parse("bytes=0-9,500", 1000), "none");
    assert_string_equal(parse("bytes=0-9;500-509", 1000), "none");
    /* The order is that of the request. */
    assert_string_equal(parse("bytes=-10,400-409,0-9", 1000), "990-999 400-409 0-9");
}

/* The last position must not be before the first, also for numbers beyond 64 bits. */
static void last_before_first_is_malformed(void **state)
{
    (void)state;
    assert_string_equal(parse("bytes=6-5", 10), "none");
    assert_string_equal(parse("bytes=007-7", 10), "7-7");
    assert_string_equal(parse("bytes=7-0000007", 10), "7-7");
    assert_string_equal(parse("bytes=100000000000000000000-100000000000000000000", 10),
                        "unsatisfiable");
    assert_string_equal(parse("bytes=100000000000000000000-100000000000000000001", 10),
                        "unsatisfiable");
    assert_string_equal(parse("bytes=100000000000000000001-100000000000000000000", 10), "none");
    assert_string_equal(parse("bytes=200000000000000000000-0300000000000000000000", 10),
                        "unsatisfiable");
    assert_string_equal(parse("bytes=200000000000000000000-30000000000000000000", 10), "none");
    assert_string_equal(parse("bytes=200000000000000000000-18446744073709551615", 10), "none");
    assert_string_equal(parse("bytes=0-1,200000000000000000000-2", 10), "none");
}

static void near_ranges_are_merged(void **state)
{
    (void)state;
    assert_string_equal(parse("bytes=0-9,89-99", 1000), "0-99"); /* 79 bytes between them */
    assert_string_equal(parse("bytes=0-9,90-99", 1000), "0-9 90-99");
    assert_string_equal(parse("bytes=89-99,0-9", 1000), "0-99");
    assert_string_equal(parse("bytes=90-99,0-9", 1000), "90-99 0-9");
    assert_string_equal(parse("bytes=0-99,20-30", 1000), "0-99");
    assert_string_equal(parse("bytes=20-30,0-99", 1000), "0-99");
    assert_string_equal(parse("bytes=0-,0-,0-,0-", 1000), "0-999");
    assert_string_equal(parse("bytes=5-5,5-5", 1000), "5-5");
    /* At the position of the first; a range that joins two others includes those between them. */
    assert_string_equal(parse("bytes=900-909,0-9,500-509,10-19", 1000), "900-909 0-19 500-509");
    assert_string_equal(parse("bytes=0-9,400-409,800-809,5-405", 1000), "0-409 800-809");
    assert_string_equal(parse("bytes=800-809,400-409,0-9,5-405", 1000), "800-809 0-409");
    assert_string_equal(parse("bytes=800-809,400-409,0-9,5-900", 1000), "0-900");
    assert_string_equal(parse("bytes=0-9,300-309,150-200,85-90", 1000), "0-200 300-309");
    assert_string_equal(parse("bytes=0-9,300-309,150-250,85-90", 1000), "0-309");
    assert_string_equal(parse("bytes=0-0,18446744073709551614-", UINT64_MAX),
                        "0-0 18446744073709551614-18446744073709551614");
}

/* The number of ranges in the result for `count` ranges far apart from each other; 0: none. */
static size_t count_ranges(unsigned count, const char *more)
{
    char value[4096] = "bytes=";
    size_t length = strlen(value);
    for (unsigned i = 0; i < count; i++)
        length +=
            (size_t)snprintf(value + length, sizeof value - length, "%u-%u,", i * 1000, i * 1000);
    snprintf(value + length, sizeof value - length, "%s", more);
    struct uvh_range_set set;
    enum uvh_range_kind kind =
        uvh_range_parse((uvhttp_slice_t){value, strlen(value)}, 100000, &set);
    assert_true(kind == UVH_RANGE_NONE || kind == UVH_RANGE_SATISFIABLE);
    return kind == UVH_RANGE_NONE ? 0 : set.count;
}

static void too_many_ranges_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(count_ranges(63, ""), 63);
    assert_int_equal(count_ranges(64, ""), 64);
    assert_int_equal(count_ranges(65, ""), 0);
    assert_int_equal(count_ranges(63, "0-0"), 63);
    assert_int_equal(count_ranges(64, "0-0"), 0); /* also if the last adds nothing */
    assert_int_equal(count_ranges(64, "200000-"), 0);
    assert_int_equal(count_ranges(64, ", ,"), 64);
    assert_int_equal(count_ranges(64, "x"), 0);
}

/* Compared with an array of bytes: each requested byte is sent once, and other bytes only in short
 * gaps. */
static void random_ranges_match_byte_array(void **state)
{
    enum { SIZE = 2000 };
    (void)state;
    srand(7);
    for (int round = 0; round < 20000; round++) {
        char value[1024] = "bytes=";
        size_t length = strlen(value);
        char requested[SIZE] = {0};
        int count = 1 + rand() % 12;
        for (int i = 0; i < count; i++) {
            int first = rand() % SIZE;
            int last = first + rand() % 200;
            length += (size_t)snprintf(value + length, sizeof value - length, "%s%d-%d",
                                       i ? "," : "", first, last);
            memset(requested + first, 1, (size_t)((last < SIZE ? last + 1 : SIZE) - first));
        }
        struct uvh_range_set set;
        assert_int_equal(uvh_range_parse((uvhttp_slice_t){value, length}, SIZE, &set),
                         UVH_RANGE_SATISFIABLE);
        char sent[SIZE] = {0};
        for (size_t i = 0; i < set.count; i++) {
            assert_true(requested[set.items[i].first] && requested[set.items[i].last]);
            for (uint64_t at = set.items[i].first; at <= set.items[i].last; at++)
                assert_int_equal(sent[at]++, 0);
        }
        for (int at = 0, gap = SIZE; at < SIZE; at++) {
            assert_true(sent[at] || !requested[at]);
            if (requested[at]) /* exactly the short gaps are closed */
                assert_true(gap == 0 || gap >= SIZE || sent[at - 1] == (gap < UVH_RANGE_GAP));
            gap = requested[at] ? 0 : gap + 1;
        }
    }
}

static void small_sizes_match_definition(void **state)
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
                assert_string_equal(got, to < from      ? "none"
                                         : from >= size ? "unsatisfiable"
                                                        : expected);
            }
        }
    }
}

static void if_range_uses_strong_comparison(void **state)
{
    (void)state;
    const int64_t november = 784111777;
    uvhttp_slice_t etag = SLICE("\"a\"");
    uvhttp_slice_t date = SLICE("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_true(uvh_range_if_range_holds(NONE, etag, true, november, november + 9));
    assert_true(uvh_range_if_range_holds(SLICE("\"a\""), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("\"b\""), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("W/\"a\""), etag, true, november, november + 9));
    assert_false(
        uvh_range_if_range_holds(SLICE("W/\"a\""), SLICE("W/\"a\""), true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("\"a\""), NONE, true, november, november + 9));
    assert_true(uvh_range_if_range_holds(date, etag, true, november, november + 1));
    /* not yet a strong date */
    assert_false(uvh_range_if_range_holds(date, etag, true, november, november));
    assert_false(uvh_range_if_range_holds(date, etag, true, november + 1, november + 9));
    assert_false(
        /* exact, not "since" */
        uvh_range_if_range_holds(date, etag, true, november - 1, november + 9));
    assert_false(uvh_range_if_range_holds(date, etag, false, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE("a"), etag, true, november, november + 9));
    assert_false(uvh_range_if_range_holds(SLICE(""), etag, true, november, november + 9));
}

static void content_range_is_formatted(void **state)
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
        cmocka_unit_test(range_positions_are_clamped),
        cmocka_unit_test(suffix_ranges_are_resolved),
        cmocka_unit_test(rfc9110_examples_are_parsed),
        cmocka_unit_test(several_ranges_keep_order),
        cmocka_unit_test(last_before_first_is_malformed),
        cmocka_unit_test(near_ranges_are_merged),
        cmocka_unit_test(too_many_ranges_are_ignored),
        cmocka_unit_test(random_ranges_match_byte_array),
        cmocka_unit_test(malformed_ranges_are_ignored),
        cmocka_unit_test(small_sizes_match_definition),
        cmocka_unit_test(if_range_uses_strong_comparison),
        cmocka_unit_test(content_range_is_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
