/* Heads and chunk lines: the bytes written, and that nothing is written beyond the given size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/response.h>

#include "codec/http1/encode.h"
#include "codec/text/number.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

enum { OUT_SIZE = 256 };

static char out[OUT_SIZE + 1];

static void clear(void)
{
    memset(out, '#', sizeof out);
}

static void check(size_t written, const char *expected, size_t capacity)
{
    bool fits = strlen(expected) <= capacity;
    assert_int_equal(written, fits ? strlen(expected) : 0);
    assert_memory_equal(out, expected, written);
    for (size_t i = written; i < sizeof out; i++)
        assert_int_equal(out[i], '#');
}

static void status_line_of_common_codes_is_prebuilt(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *line;
    } rows[] = {{100, "HTTP/1.1 100 Continue\r\n"},
                {200, "HTTP/1.1 200 OK\r\n"},
                {204, "HTTP/1.1 204 No Content\r\n"},
                {206, "HTTP/1.1 206 Partial Content\r\n"},
                {304, "HTTP/1.1 304 Not Modified\r\n"},
                {404, "HTTP/1.1 404 Not Found\r\n"},
                {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
                {413, "HTTP/1.1 413 Content Too Large\r\n"},
                {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
                {500, "HTTP/1.1 500 Internal Server Error\r\n"},
                {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t capacity = 0; capacity <= strlen(rows[i].line) + 1; capacity++) {
            clear();
            check(uvh_h1_encode_status_line(out, capacity, rows[i].status, "not looked at"),
                  rows[i].line, capacity);
        }
    }
}

static void status_line_of_other_codes_uses_phrase(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < 40; capacity++) {
        clear();
        check(uvh_h1_encode_status_line(out, capacity, 299, "Some Thing"),
              "HTTP/1.1 299 Some Thing\r\n", capacity);
        clear();
        check(uvh_h1_encode_status_line(out, capacity, 999, ""), "HTTP/1.1 999 \r\n", capacity);
    }
    clear();
    check(uvh_h1_encode_status_line(out, OUT_SIZE, 99, "x"), "", OUT_SIZE);
    check(uvh_h1_encode_status_line(out, OUT_SIZE, 1000, "x"), "", OUT_SIZE);
    check(uvh_h1_encode_status_line(out, OUT_SIZE, -200, "x"), "", OUT_SIZE);
}

static void status_phrase_replaces_default(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < 40; capacity++) {
        clear();
        check(uvh_h1_encode_status_phrase(out, capacity, 200, "Some Thing"),
              "HTTP/1.1 200 Some Thing\r\n", capacity);
        clear();
        check(uvh_h1_encode_status_phrase(out, capacity, 404, ""), "HTTP/1.1 404 \r\n", capacity);
    }
    clear();
    check(uvh_h1_encode_status_phrase(out, OUT_SIZE, 99, "x"), "", OUT_SIZE);
    check(uvh_h1_encode_status_phrase(out, OUT_SIZE, 1000, "x"), "", OUT_SIZE);
}

static void request_line_fits_or_is_refused(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < 40; capacity++) {
        clear();
        check(uvh_h1_encode_request_line(out, capacity, SLICE("GET"), SLICE("/a")),
              "GET /a HTTP/1.1\r\n", capacity);
    }
    clear();
    check(
        uvh_h1_encode_request_line(out, OUT_SIZE, SLICE("GET"), (uvhttp_slice_t){"", SIZE_MAX - 2}),
        "", OUT_SIZE);
}

/* The prebuilt lines and the texts of the codes are equal. */
static void status_lines_match_status_texts(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char expected[80];
        const char *phrase = uvhttp_status_text(status);
        snprintf(expected, sizeof expected, "HTTP/1.1 %d %s\r\n", status, phrase);
        clear();
        check(uvh_h1_encode_status_line(out, OUT_SIZE, status, ""), expected, OUT_SIZE);
    }
}

/* Every status gives its own number and exactly one line, prebuilt or not. */
static void every_status_has_one_line(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char number[16];
        clear();
        size_t written = uvh_h1_encode_status_line(out, OUT_SIZE, status, "X");
        snprintf(number, sizeof number, "%d", status);
        assert_true(written > 15);
        assert_memory_equal(out, "HTTP/1.1 ", 9);
        assert_memory_equal(out + 9, number, 3);
        assert_int_equal(out[12], ' ');
        assert_ptr_equal(memchr(out, '\r', written), out + written - 2);
        assert_int_equal(out[written - 1], '\n');
    }
}

static void field_line_fits_or_is_refused(void **state)
{
    (void)state;
    for (size_t capacity = 0; capacity < 20; capacity++) {
        clear();
        check(uvh_h1_encode_field(out, capacity, SLICE("Server"), SLICE("a b")), "Server: a b\r\n",
              capacity);
        clear();
        check(uvh_h1_encode_field(out, capacity, SLICE("X"), (uvhttp_slice_t){NULL, 0}), "X: \r\n",
              capacity);
        clear();
        check(uvh_h1_encode_end(out, capacity), "\r\n", capacity);
    }
    clear();
    check(uvh_h1_encode_field(out, OUT_SIZE, SLICE("X"), (uvhttp_slice_t){"", SIZE_MAX - 2}), "",
          OUT_SIZE);
}

static void numbers_are_written_in_decimal(void **state)
{
    (void)state;
    static const uint64_t extra[] = {UINT32_MAX, UINT64_MAX, INT64_MAX, 10000000000000000000u,
                                     9999999999999999999u};
    char expected[32];
    for (uint64_t number = 0; number < 20000; number++) {
        clear();
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
        check(uvh_number_write(out, number), expected, OUT_SIZE);
    }
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) {
        for (int step = -1; step <= 1; step++) {
            clear();
            snprintf(expected, sizeof expected, "%llu",
                     (unsigned long long)(power + (uint64_t)step));
            check(uvh_number_write(out, power + (uint64_t)step), expected, OUT_SIZE);
        }
    }
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
        clear();
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)extra[i]);
        check(uvh_number_write(out, extra[i]), expected, OUT_SIZE);
    }
}

static void chunk_line_fits_or_is_refused(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,   1,    9,    10,    15,         16,        255,
                                     256, 4095, 4096, 65536, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%llx\r\n", (unsigned long long)sizes[i]);
        for (size_t capacity = 0; capacity <= UVH_H1_ENCODE_CHUNK_LINE_SIZE; capacity++) {
            clear();
            check(uvh_h1_encode_chunk_line(out, capacity, sizes[i]), expected, capacity);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_line_of_common_codes_is_prebuilt),
        cmocka_unit_test(status_line_of_other_codes_uses_phrase),
        cmocka_unit_test(status_phrase_replaces_default),
        cmocka_unit_test(request_line_fits_or_is_refused),
        cmocka_unit_test(status_lines_match_status_texts),
        cmocka_unit_test(every_status_has_one_line),
        cmocka_unit_test(field_line_fits_or_is_refused),
        cmocka_unit_test(numbers_are_written_in_decimal),
        cmocka_unit_test(chunk_line_fits_or_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
