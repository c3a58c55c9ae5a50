/* The message writer: its output at every size of the memory, refused input, sticky errors, and
 * that the parser reads the output back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

enum { CAPACITY = 512 };

static char memory[CAPACITY];

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static uvhttp_writer_t start(size_t capacity)
{
    uvhttp_writer_t writer;
    memset(memory, '#', sizeof memory);
    uvhttp_writer_init(&writer, memory, capacity);
    return writer;
}

static void expect_text(const uvhttp_writer_t *writer, const char *text)
{
    assert_int_equal(writer->length, strlen(text));
    assert_memory_equal(memory, text, writer->length);
    for (size_t i = writer->length; i < sizeof memory; i++)
        assert_int_equal(memory[i], '#'); /* nothing after it was written */
}

typedef bool (*write_fn)(uvhttp_writer_t *writer);

static bool request_line(uvhttp_writer_t *writer)
{
    return uvhttp_writer_request_line(writer, "GET", "/a?b=c");
}

static bool registered_status(uvhttp_writer_t *writer)
{
    return uvhttp_writer_status_line(writer, 404, NULL);
}

static bool status_with_phrase(uvhttp_writer_t *writer)
{
    return uvhttp_writer_status_line(writer, 200, "Fine \xe2\x9c\x93");
}

static bool status_without_phrase(uvhttp_writer_t *writer)
{
    return uvhttp_writer_status_line(writer, 200, "");
}

static bool unregistered_status(uvhttp_writer_t *writer)
{
    return uvhttp_writer_status_line(writer, 299, NULL);
}

static bool field(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field(writer, "Server", " \ta b\t ");
}

static bool empty_field(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field(writer, "X", "");
}

static bool blank_field(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field(writer, "X", " \t ");
}

static bool field_of_slices(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field_slice(writer, (uvhttp_slice_t){"Agenda", 3},
                                     (uvhttp_slice_t){"1234", 2});
}

static bool field_without_value(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field_slice(writer, slice_of("A"), (uvhttp_slice_t){NULL, 0});
}

static bool field_of_number(uvhttp_writer_t *writer)
{
    return uvhttp_writer_field_number(writer, "N", UINT64_MAX);
}

static bool body(uvhttp_writer_t *writer)
{
    return uvhttp_writer_bytes(writer, "a\r\nb", 4);
}

static bool no_body(uvhttp_writer_t *writer)
{
    return uvhttp_writer_bytes(writer, NULL, 0);
}

static bool chunk(uvhttp_writer_t *writer)
{
    return uvhttp_writer_chunk(writer, "0123456789abcdefghi", 19);
}

static bool empty_chunk(uvhttp_writer_t *writer)
{
    return uvhttp_writer_chunk(writer, "", 0);
}

static bool chunk_line(uvhttp_writer_t *writer)
{
    return uvhttp_writer_chunk_line(writer, UINT64_MAX);
}

/* Every line at every size of the memory: written whole, or FULL and nothing written. */
static void lines_fit_or_are_refused_whole(void **state)
{
    (void)state;
    static const struct {
        write_fn write;
        const char *text;
    } rows[] = {{request_line, "GET /a?b=c HTTP/1.1\r\n"},
                {registered_status, "HTTP/1.1 404 Not Found\r\n"},
                {status_with_phrase, "HTTP/1.1 200 Fine \xe2\x9c\x93\r\n"},
                {status_without_phrase, "HTTP/1.1 200 \r\n"},
                {unregistered_status, "HTTP/1.1 299 \r\n"},
                {field, "Server: a b\r\n"},
                {empty_field, "X: \r\n"},
                {blank_field, "X: \r\n"},
                {field_of_slices, "Age: 12\r\n"},
                {field_without_value, "A: \r\n"},
                {field_of_number, "N: 18446744073709551615\r\n"},
                {uvhttp_writer_end, "\r\n"},
                {body, "a\r\nb"},
                {no_body, ""},
                {chunk, "13\r\n0123456789abcdefghi\r\n"},
                {empty_chunk, ""},
                {chunk_line, "ffffffffffffffff\r\n"},
                {uvhttp_writer_last_chunk, "0\r\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t needed = strlen(rows[i].text);
        for (size_t capacity = 0; capacity <= needed + 2; capacity++) {
            uvhttp_writer_t writer = start(capacity);
            bool fits = capacity >= needed;
            assert_int_equal(rows[i].write(&writer), fits);
            assert_int_equal(writer.error, fits ? UVHTTP_WRITER_OK : UVHTTP_WRITER_FULL);
            expect_text(&writer, fits ? rows[i].text : "");
        }
    }
}

/* Every status has a line, the registered ones with their phrase; test_codec_h1_encode.c checks the
 * phrases. */
static void status_lines_are_parsed_back(void **state)
{
    (void)state;
    size_t with_phrase = 0;
    for (int status = -1; status <= 1100; status++) {
        uvhttp_writer_t writer = start(CAPACITY);
        bool valid = status >= 100 && status <= 999;
        assert_int_equal(uvhttp_writer_status_line(&writer, status, NULL), valid);
        assert_int_equal(writer.error, valid ? UVHTTP_WRITER_OK : UVHTTP_WRITER_INVALID);
        if (!valid)
            continue;
        uvhttp_head_t head;
        static const uvhttp_head_limits_t limits = {CAPACITY, CAPACITY, 8};
        assert_true(uvhttp_writer_end(&writer));
        uvhttp_head_init(&head, NULL, 0);
        assert_int_equal(uvhttp_response_head_parse(&head, memory, writer.length, &limits),
                         UVHTTP_PARSE_DONE);
        assert_int_equal(head.status, status);
        with_phrase += head.reason_phrase_length > 0;
    }
    assert_int_equal(with_phrase, 55);
}

static void expect_invalid(bool written, const uvhttp_writer_t *writer)
{
    assert_false(written);
    assert_int_equal(writer->error, UVHTTP_WRITER_INVALID);
    expect_text(writer, "");
}

static void invalid_text_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"",      "a b", "a:",    "a\r\nb", " a",   "a ",
                                        "a\xe9", "(a)", "a\tb",  "a/b",    "a;",   "\x7f",
                                        "a,",    "{a}", "\"a\"", "a\rb: ", "a\nb:"};
    static const char *const values[] = {"a\r\nb: c", "a\r",   "a\n",   "\r",
                                         "\n",        "a\x01", "a\x7f", "\x1f"};
    static const char *const targets[] = {"",       "/a b", "/a#b",  "/\xe9",
                                          "/a\r\n", "/a\t", "/\x7f", " /"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uvhttp_writer_t writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_field(&writer, names[i], "v"), &writer);
        writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_field_number(&writer, names[i], 1), &writer);
        writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_request_line(&writer, names[i], "/"), &writer);
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uvhttp_writer_t writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_field(&writer, "n", values[i]), &writer);
        writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_status_line(&writer, 200, values[i]), &writer);
    }
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        uvhttp_writer_t writer = start(CAPACITY);
        expect_invalid(uvhttp_writer_request_line(&writer, "GET", targets[i]), &writer);
    }
    uvhttp_writer_t writer = start(CAPACITY);
    expect_invalid(uvhttp_writer_field_slice(&writer, slice_of("n"), (uvhttp_slice_t){"a\0b", 3}),
                   &writer);
    writer = start(CAPACITY);
    expect_invalid(uvhttp_writer_field_slice(&writer, (uvhttp_slice_t){"a\0b", 3}, slice_of("v")),
                   &writer);
    writer = start(CAPACITY);
    expect_invalid(uvhttp_writer_chunk_line(&writer, 0), &writer);
}

/* The parser stores the lengths of names and methods in 16 bits. */
static void name_length_limit_is_65535(void **state)
{
    (void)state;
    enum { LONGEST = UINT16_MAX, LARGE_SIZE = LONGEST + 64 };
    static char name[LONGEST + 2];
    static char large[LARGE_SIZE];
    uvhttp_writer_t writer;
    memset(name, 'a', LONGEST + 1);
    uvhttp_writer_init(&writer, large, sizeof large);
    assert_false(uvhttp_writer_field(&writer, name, ""));
    assert_int_equal(writer.error, UVHTTP_WRITER_INVALID);
    uvhttp_writer_init(&writer, large, sizeof large);
    assert_false(uvhttp_writer_request_line(&writer, name, "/"));
    assert_int_equal(writer.error, UVHTTP_WRITER_INVALID);
    name[LONGEST] = '\0';
    uvhttp_writer_init(&writer, large, sizeof large);
    assert_true(uvhttp_writer_request_line(&writer, name, "/"));
    uvhttp_writer_init(&writer, large, sizeof large);
    assert_true(uvhttp_writer_field(&writer, name, ""));
}

/* After an error nothing is written, and the first error is kept. */
static void first_error_is_kept(void **state)
{
    (void)state;
    static const write_fn others[] = {request_line,
                                      registered_status,
                                      status_with_phrase,
                                      field,
                                      field_of_slices,
                                      field_of_number,
                                      uvhttp_writer_end,
                                      body,
                                      no_body,
                                      chunk,
                                      empty_chunk,
                                      chunk_line,
                                      uvhttp_writer_last_chunk};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uvhttp_writer_t writer = start(CAPACITY);
        assert_true(uvhttp_writer_field(&writer, "a", "b"));
        assert_false(uvhttp_writer_field(&writer, "a", "\n"));
        assert_false(others[i](&writer));
        assert_int_equal(writer.error, UVHTTP_WRITER_INVALID);
        expect_text(&writer, "a: b\r\n");
        writer = start(8);
        assert_true(uvhttp_writer_field(&writer, "a", "b"));
        assert_false(uvhttp_writer_field(&writer, "c", ""));
        assert_false(others[i](&writer));
        assert_false(uvhttp_writer_field(&writer, "", ""));
        assert_int_equal(writer.error, UVHTTP_WRITER_FULL);
        expect_text(&writer, "a: b\r\n");
    }
}

/* Lengths near the maximum do not wrap around to "fits". */
static void huge_lengths_do_not_overflow(void **state)
{
    (void)state;
    for (size_t less = 0; less < 40; less++) {
        uvhttp_writer_t writer = start(CAPACITY);
        assert_false(uvhttp_writer_bytes(&writer, "", SIZE_MAX - less));
        assert_int_equal(writer.error, UVHTTP_WRITER_FULL);
        expect_text(&writer, "");
        writer = start(CAPACITY);
        assert_false(uvhttp_writer_chunk(&writer, "", SIZE_MAX - less));
        assert_int_equal(writer.error, UVHTTP_WRITER_FULL);
        expect_text(&writer, "");
    }
}

/* A whole chunked message with trailers, as a proxy writes it. */
static void chunked_message_is_parsed_back(void **state)
{
    (void)state;
    uvhttp_writer_t writer = start(CAPACITY);
    uvhttp_writer_request_line(&writer, "POST", "/upload");
    uvhttp_writer_field(&writer, "Host", "example.com");
    uvhttp_writer_field(&writer, "Transfer-Encoding", "chunked");
    uvhttp_writer_end(&writer);
    uvhttp_writer_chunk(&writer, "hello ", 6);
    uvhttp_writer_chunk(&writer, "", 0);
    uvhttp_writer_chunk_line(&writer, 5);
    uvhttp_writer_bytes(&writer, "world", 5);
    uvhttp_writer_end(&writer);
    uvhttp_writer_last_chunk(&writer);
    uvhttp_writer_field_number(&writer, "X-Count", 11);
    uvhttp_writer_end(&writer);
    assert_int_equal(writer.error, UVHTTP_WRITER_OK);
    expect_text(&writer,
                "POST /upload HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n"
                "6\r\nhello \r\n5\r\nworld\r\n0\r\nX-Count: 11\r\n\r\n");

    static const uvhttp_head_limits_t limits = {CAPACITY, CAPACITY, 8};
    uvhttp_head_t head;
    uvhttp_head_init(&head, NULL, 0);
    assert_int_equal(uvhttp_request_head_parse(&head, memory, writer.length, &limits),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(head.field_count, 2);
    uvhttp_chunked_t decoder;
    size_t used;
    size_t size;
    uvhttp_chunked_init(&decoder, 0);
    assert_int_equal(uvhttp_chunked_decode_in_place(&decoder, memory + head.size,
                                                    writer.length - head.size, &used, &size),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(size, 11);
    assert_memory_equal(memory + head.size, "hello world", 11);
    const char *trailers = memory + head.size + used;
    size_t trailers_size = writer.length - head.size - used;
    uvhttp_head_init(&head, NULL, 0);
    assert_int_equal(uvhttp_trailers_parse(&head, trailers, trailers_size, &limits),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(head.size, trailers_size);
    assert_int_equal(head.field_count, 1);
}

/* For any bytes in a name and a value: the writer's output is parsed as one field with the same
 * bytes, and fields that the writer refuses are refused by the parser, too, or parsed
 * differently. */
static void field_bytes_are_parsed_back_or_refused(void **state)
{
    (void)state;
    static const uvhttp_head_limits_t limits = {CAPACITY, CAPACITY, 8};
    for (int part = 0; part < 2; part++) {
        for (int byte = 0; byte < 256; byte++) {
            char changed[3] = {'a', (char)byte, 'b'};
            uvhttp_slice_t odd = {changed, sizeof changed};
            uvhttp_slice_t name = part == 0 ? odd : slice_of("n");
            uvhttp_slice_t value = part == 1 ? odd : slice_of("v");
            uvhttp_writer_t writer = start(CAPACITY);
            uvhttp_head_t head;
            bool written = uvhttp_writer_field_slice(&writer, name, value);
            if (!written)
                writer.length = (size_t)snprintf(memory, sizeof memory, "%.*s:%.*s\r\n",
                                                 UVHTTP_SLICE_ARGS(name), UVHTTP_SLICE_ARGS(value));
            writer.error = UVHTTP_WRITER_OK;
            assert_true(uvhttp_writer_end(&writer));
            uvhttp_head_init(&head, NULL, 0);
            bool same =
                uvhttp_trailers_parse(&head, memory, writer.length, &limits) == UVHTTP_PARSE_DONE &&
                head.field_count == 1 && head.fields[0].name_length == name.length &&
                head.fields[0].value_length == value.length &&
                memcmp(memory + head.fields[0].name_offset, name.base, name.length) == 0 &&
                memcmp(memory + head.fields[0].value_offset, value.base, value.length) == 0;
            assert_int_equal(same, written);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_or_are_refused_whole),
        cmocka_unit_test(status_lines_are_parsed_back),
        cmocka_unit_test(invalid_text_is_refused),
        cmocka_unit_test(name_length_limit_is_65535),
        cmocka_unit_test(first_error_is_kept),
        cmocka_unit_test(huge_lengths_do_not_overflow),
        cmocka_unit_test(chunked_message_is_parsed_back),
        cmocka_unit_test(field_bytes_are_parsed_back_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
