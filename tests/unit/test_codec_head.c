/* Request and response heads: cases that vectors cannot express, which are lines and names of any
 * length, field tables of other sizes, very long names, and lookup of fields. Vectors for each rule
 * are in tests/vectors; test_codec_compare.c compares random messages with a reference parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "support/backends.h"

/* Lengths stored in 16 bits: names of methods and of fields. */
static void check_name_length_limit(void **state)
{
    (void)state;
    enum { LONGEST = 65535 };
    static char text[2 * LONGEST];
    static uvhttp_head_t head;
    uvhttp_head_limits_t limits = {sizeof text, 100, 10};
    for (size_t length = LONGEST; length <= LONGEST + 1; length++) {
        bool fits = length == LONGEST;
        memset(text, 'M', length);
        size_t size =
            length + (size_t)snprintf(text + length, sizeof text - length, " / HTTP/1.1\r\n\r\n");
        uvhttp_head_init(&head, NULL, 0);
        uvhttp_parse_result_t result = uvhttp_request_head_parse(&head, text, size, &limits);
        assert_int_equal(result, fits ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
        assert_int_equal(head.method_length, fits ? LONGEST : 0);
        assert_int_equal(head.reason, fits ? UVHTTP_REASON_NONE : UVHTTP_REASON_METHOD);
        assert_true(fits || head.reason_offset == LONGEST);

        size_t start = (size_t)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n");
        memset(text + start, 'n', length);
        size = start + length;
        size += (size_t)snprintf(text + size, sizeof text - size, ": v\r\n\r\n");
        uvhttp_head_init(&head, NULL, 0);
        result = uvhttp_response_head_parse(&head, text, size, &limits);
        assert_int_equal(result, fits ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
        assert_int_equal(head.reason, fits ? UVHTTP_REASON_NONE : UVHTTP_REASON_FIELD_NAME);
        assert_true(fits || head.reason_offset == start + length);
        assert_true(!fits || head.fields[0].name_length == LONGEST);
    }
}

/* On every back end of the processor. */
static void name_length_limit_is_65535(void **state)
{
    for (size_t at = 0; backends_next(&at);)
        check_name_length_limit(state);
}

static uvhttp_parse_result_t parse_copy(uvhttp_head_t *head, const char *text, size_t length)
{
    static const uvhttp_head_limits_t limits = {1000, 500, 100};
    /* memory of exactly this length, so that reads past its end are detected; `head` refers to
     * it */
    static char *copy;
    free(copy);
    copy = malloc(length);
    memcpy(copy, text, length);
    uvhttp_head_init(head, NULL, 0);
    return uvhttp_request_head_parse(head, copy, length, &limits);
}

/* Lines that end at each offset of a vector and of a block of 64 bytes, near the end of the input
 * and far from it. */
static void check_line_end_offsets(void **state)
{
    (void)state;
    enum { MOST = 200 };
    static const char odd[] = {'v', '\t', '\r', '\n', '\x01', '\x7f', ':', '\x80'};
    static uvhttp_head_t head;
    for (int run = 0; run < 2 * MOST; run++) {
        int length = run % MOST;
        for (size_t i = 0; i < sizeof odd; i++) {
            char text[2 * MOST + 100];
            char filler[MOST + 1] = {0};
            memset(filler, 'v', (size_t)length + 1);
            filler[length / 2] = odd[i];
            int size = snprintf(text, sizeof text,
                                "GET /%.*s HTTP/1.1\r\nHost: a\r\nX: -%s-\r\nAccept: b\r\n\r\n",
                                run % 7, "/?a=b&c", filler);
            size_t end = (size_t)size + (run < MOST ? 0 : 90);
            memset(text + size, 'b', end - (size_t)size);
            bool good = odd[i] != '\r' && odd[i] != '\n' && odd[i] != '\x01' && odd[i] != '\x7f';
            assert_int_equal(parse_copy(&head, text, end),
                             good ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
            if (!good)
                continue;
            assert_int_equal(head.size, size);
            assert_int_equal(head.field_count, 3);
            assert_int_equal(head.fields[1].value_length, length + 3);
            assert_int_equal(head.host_name_length, 1);
            assert_ptr_equal(uvhttp_head_find(&head, UVHTTP_FIELD_ACCEPT), &head.fields[2]);
            assert_int_equal(head.fields[2].value_length, 1);
        }
    }
}

/* Names of any length, known and unknown, one of them empty or with a space. */
static void check_name_lengths(void **state)
{
    (void)state;
    enum { MOST = 100 };
    static uvhttp_head_t head;
    for (int length = 0; length <= MOST; length++) {
        for (int wrong = 0; wrong < 2; wrong++) {
            char text[2 * MOST + 100];
            char name[MOST + 1] = {0};
            memset(name, 'n', (size_t)length);
            if (wrong != 0)
                name[length / 2] = ' ';
            int size = snprintf(
                text, sizeof text,
                "GET / HTTP/1.1\r\nHost: a\r\n%s: 1\r\nIf-Unmodified-Since: b\r\nTE: c\r\n\r\n",
                name);
            bool good = length > 0 && wrong == 0;
            assert_int_equal(parse_copy(&head, text, (size_t)size),
                             good ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
            if (!good)
                continue;
            assert_int_equal(head.fields[1].name_length, length);
            assert_int_equal(head.fields[1].id, UVHTTP_FIELD_OTHER);
            assert_ptr_equal(uvhttp_head_find(&head, UVHTTP_FIELD_IF_UNMODIFIED_SINCE),
                             &head.fields[2]);
            assert_ptr_equal(uvhttp_head_find(&head, UVHTTP_FIELD_TE), &head.fields[3]);
        }
    }
}

static void line_end_is_found_at_any_offset(void **state)
{
    for (size_t at = 0; backends_next(&at);)
        check_line_end_offsets(state);
}

static void names_of_any_length_are_parsed(void **state)
{
    for (size_t at = 0; backends_next(&at);)
        check_name_lengths(state);
}

static void larger_field_table_is_used(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static uvhttp_field_t table[MANY];
    static uvhttp_head_t head;
    static char text[64 * MANY];
    uvhttp_head_limits_t limits = {sizeof text, 100, 100000};
    for (unsigned count = MANY; count <= MANY + 1; count++) {
        size_t length = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n");
        for (unsigned i = 0; i < count; i++)
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "Field-%u: %u\r\n", i, i);
        length += (size_t)snprintf(text + length, sizeof text - length, "\r\n");
        uvhttp_head_init(&head, table, MANY);
        uvhttp_parse_result_t result = uvhttp_request_head_parse(&head, text, length, &limits);
        assert_int_equal(result, count == MANY ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
        assert_int_equal(head.reason,
                         count == MANY ? UVHTTP_REASON_NONE : UVHTTP_REASON_TOO_MANY_FIELDS);
    }
    assert_ptr_equal(head.fields, table);
    uvhttp_head_init(&head, NULL, 0);
    assert_ptr_equal(head.fields, head.inline_fields);
    assert_int_equal(head.field_capacity, UVHTTP_HEAD_INLINE_FIELDS);
}

static void fields_are_found_by_id_and_name(void **state)
{
    (void)state;
    static const char text[] =
        "GET / HTTP/1.1\r\nX-A: 1\r\nHost: h\r\nAccept: a\r\nx-a: 2\r\nACCEPT: b\r\n\r\n";
    static uvhttp_head_t head;
    uvhttp_head_limits_t limits = {1000, 100, 100};
    uvhttp_head_init(&head, NULL, 0);
    assert_int_equal(uvhttp_request_head_parse(&head, text, sizeof text - 1, &limits),
                     UVHTTP_PARSE_DONE);
    assert_ptr_equal(uvhttp_head_find(&head, UVHTTP_FIELD_HOST), &head.fields[1]);
    assert_ptr_equal(uvhttp_head_find(&head, UVHTTP_FIELD_ACCEPT), &head.fields[2]);
    assert_int_equal(head.fields[2].repeated, 1);
    assert_int_equal(head.fields[1].repeated, 0);
    assert_int_equal(head.fields[0].repeated, 0);
    assert_ptr_equal(uvhttp_head_find_name(&head, "x-A", 3), &head.fields[0]);
    assert_ptr_equal(uvhttp_head_find_name(&head, "aCCept", 6), &head.fields[2]);
    assert_null(uvhttp_head_find(&head, UVHTTP_FIELD_RANGE));
    assert_null(uvhttp_head_find(&head, UVHTTP_FIELD_OTHER));
    assert_null(uvhttp_head_find(&head, (uvhttp_field_id_t)200));
    assert_null(uvhttp_head_find_name(&head, "x-b", 3));
    assert_null(uvhttp_head_find_name(&head, "range", 5));
    assert_null(uvhttp_head_find_name(&head, "", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_length_limit_is_65535),
        cmocka_unit_test(line_end_is_found_at_any_offset),
        cmocka_unit_test(names_of_any_length_are_parsed),
        cmocka_unit_test(larger_field_table_is_used),
        cmocka_unit_test(fields_are_found_by_id_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
