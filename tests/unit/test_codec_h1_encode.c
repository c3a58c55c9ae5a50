/* Heads and chunk lines: what is written, and that nothing is written past the room given. */
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

enum { ROOM = 256 };

static char out[ROOM + 1];

static void clear(void)
{
    memset(out, '#', sizeof out);
}

static void check(size_t written, const char *expected, size_t room)
{
    bool fits = strlen(expected) <= room;
    assert_int_equal(written, fits ? strlen(expected) : 0);
    assert_memory_equal(out, expected, written);
    for (size_t i = written; i < sizeof out; i++)
        assert_int_equal(out[i], '#');
}

static void status_lines_of_common_codes(void **state)
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
        for (size_t room = 0; room <= strlen(rows[i].line) + 1; room++) {
            clear();
            check(uvh_h1_encode_status_line(out, room, rows[i].status, "not looked at"),
                  rows[i].line, room);
        }
    }
}

static void status_lines_of_other_codes(void **state)
{
    (void)state;
    for (size_t room = 0; room < 40; room++) {
        clear();
        check(uvh_h1_encode_status_line(out, room, 299, "Some Thing"),
              "HTTP/1.1 299 Some Thing\r\n", room);
        clear();
        check(uvh_h1_encode_status_line(out, room, 999, ""), "HTTP/1.1 999 \r\n", room);
    }
    clear();
    check(uvh_h1_encode_status_line(out, ROOM, 99, "x"), "", ROOM);
    check(uvh_h1_encode_status_line(out, ROOM, 1000, "x"), "", ROOM);
    check(uvh_h1_encode_status_line(out, ROOM, -200, "x"), "", ROOM);
}

static void status_lines_with_a_phrase(void **state)
{
    (void)state;
    for (size_t room = 0; room < 40; room++) {
        clear();
        check(uvh_h1_encode_status_phrase(out, room, 200, "Some Thing"),
              "HTTP/1.1 200 Some Thing\r\n", room);
        clear();
        check(uvh_h1_encode_status_phrase(out, room, 404, ""), "HTTP/1.1 404 \r\n", room);
    }
    clear();
    check(uvh_h1_encode_status_phrase(out, ROOM, 99, "x"), "", ROOM);
    check(uvh_h1_encode_status_phrase(out, ROOM, 1000, "x"), "", ROOM);
}

static void request_lines(void **state)
{
    (void)state;
    for (size_t room = 0; room < 40; room++) {
        clear();
        check(uvh_h1_encode_request_line(out, room, SLICE("GET"), SLICE("/a")),
              "GET /a HTTP/1.1\r\n", room);
    }
    clear();
    check(uvh_h1_encode_request_line(out, ROOM, SLICE("GET"), (uvhttp_slice_t){"", SIZE_MAX - 2}),
          "", ROOM);
}

/* The pre-built lines and the texts say the same. */
static void every_phrase(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char expected[80];
        const char *phrase = uvhttp_status_text(status);
        snprintf(expected, sizeof expected, "HTTP/1.1 %d %s\r\n", status, phrase);
        clear();
        check(uvh_h1_encode_status_line(out, ROOM, status, ""), expected, ROOM);
    }
}

/* Every status gives its own number and exactly one line, pre-built or not. */
static void every_status(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char number[16];
        clear();
        size_t written = uvh_h1_encode_status_line(out, ROOM, status, "X");
        snprintf(number, sizeof number, "%d", status);
        assert_true(written > 15);
        assert_memory_equal(out, "HTTP/1.1 ", 9);
        assert_memory_equal(out + 9, number, 3);
        assert_int_equal(out[12], ' ');
        assert_ptr_equal(memchr(out, '\r', written), out + written - 2);
        assert_int_equal(out[written - 1], '\n');
    }
}

static void field_lines(void **state)
{
    (void)state;
    for (size_t room = 0; room < 20; room++) {
        clear();
        check(uvh_h1_encode_field(out, room, SLICE("Server"), SLICE("a b")), "Server: a b\r\n",
              room);
        clear();
        check(uvh_h1_encode_field(out, room, SLICE("X"), (uvhttp_slice_t){NULL, 0}), "X: \r\n",
              room);
        clear();
        check(uvh_h1_encode_end(out, room), "\r\n", room);
    }
    clear();
    check(uvh_h1_encode_field(out, ROOM, SLICE("X"), (uvhttp_slice_t){"", SIZE_MAX - 2}), "", ROOM);
}

static void numbers(void **state)
{
    (void)state;
    static const uint64_t extra[] = {UINT32_MAX, UINT64_MAX, INT64_MAX, 10000000000000000000u,
                                     9999999999999999999u};
    char expected[32];
    for (uint64_t number = 0; number < 20000; number++) {
        clear();
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
        check(uvh_number_write(out, number), expected, ROOM);
    }
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) {
        for (int step = -1; step <= 1; step++) {
            clear();
            snprintf(expected, sizeof expected, "%llu",
                     (unsigned long long)(power + (uint64_t)step));
            check(uvh_number_write(out, power + (uint64_t)step), expected, ROOM);
        }
    }
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
        clear();
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)extra[i]);
        check(uvh_number_write(out, extra[i]), expected, ROOM);
    }
}

static void chunk_lines(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,   1,    9,    10,    15,         16,        255,
                                     256, 4095, 4096, 65536, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%llx\r\n", (unsigned long long)sizes[i]);
        for (size_t room = 0; room <= UVH_H1_ENCODE_CHUNK_LINE_SIZE; room++) {
            clear();
            check(uvh_h1_encode_chunk_line(out, room, sizes[i]), expected, room);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_lines_of_common_codes),
        cmocka_unit_test(status_lines_of_other_codes),
        cmocka_unit_test(status_lines_with_a_phrase),
        cmocka_unit_test(request_lines),
        cmocka_unit_test(every_phrase),
        cmocka_unit_test(every_status),
        cmocka_unit_test(field_lines),
        cmocka_unit_test(numbers),
        cmocka_unit_test(chunk_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
