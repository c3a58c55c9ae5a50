/* NULL for each pointer parameter of the functions of uvhttp_parser: parser.h, ring.h, writer.h,
 * multipart.h, cookie.h, negotiate.h, sse.h, secret.h and text.h. A required argument that is NULL
 * is refused, an optional one has a default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/cookie.h>
#include <uvhttp/multipart.h>
#include <uvhttp/negotiate.h>
#include <uvhttp/parser.h>
#include <uvhttp/secret.h>
#include <uvhttp/sse.h>
#include <uvhttp/text.h>

#include "support/null_rows.h"

#define SLICE(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

static const char request[] = "GET /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
static const char trailers[] = "X-A: b\r\n\r\n";
static const char chunked[] = "3\r\nabc\r\n0\r\n\r\n";
static const uvhttp_head_limits_t limits = {.max_size = 1024, .max_target = 512, .max_fields = 32};

static uvhttp_head_t head;
static uvhttp_framing_t framing;
static uvhttp_chunked_t decoder;
static char memory[1024];
static size_t number;
static uvhttp_slice_t name, value, rest;

static uvhttp_head_t *new_head(void)
{
    uvhttp_head_init(&head, NULL, 0);
    return &head;
}

static uvhttp_chunked_t *new_decoder(void)
{
    uvhttp_chunked_init(&decoder, 16);
    return &decoder;
}

static uvhttp_head_t *parsed_request(void)
{
    assert_int_equal(uvhttp_request_head_parse(new_head(), request, sizeof(request) - 1, &limits),
                     UVHTTP_PARSE_DONE);
    return &head;
}

static uvhttp_head_t *parsed_response(void)
{
    assert_int_equal(
        uvhttp_response_head_parse(new_head(), response, sizeof(response) - 1, &limits),
        UVHTTP_PARSE_DONE);
    return &head;
}

static uvhttp_slice_t *iterate(uvhttp_slice_t text)
{
    rest = text;
    return &rest;
}

/* BAD, with the reason for invalid arguments. */
static bool is_refused(uvhttp_parse_result_t result)
{
    return result == UVHTTP_PARSE_BAD && head.reason == UVHTTP_REASON_ARGUMENT &&
           head.reason_offset == 0;
}

static void head_parsing_checks_null(void **state)
{
    (void)state;
    const uvhttp_slice_t slices[] = {{request, 20}, {request + 20, sizeof(request) - 21}};
    const uvhttp_slice_t response_slices[] = {{response, 20},
                                              {response + 20, sizeof(response) - 21}};
    null_rows_begin();
    NULL_ROW(uvhttp_parser_use_backend, name, uvhttp_parser_use_backend(NULL));
    NULL_CALL(uvhttp_head_init, head, uvhttp_head_init(NULL, NULL, 0));
    NULL_ROW(uvhttp_head_init, fields,
             (uvhttp_head_init(&head, NULL, 5), head.field_capacity == 32));

    NULL_ROW(uvhttp_request_head_parse, head,
             uvhttp_request_head_parse(NULL, request, sizeof(request) - 1, &limits) ==
                 UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_request_head_parse, data,
             is_refused(uvhttp_request_head_parse(new_head(), NULL, 5, &limits)) &&
                 uvhttp_request_head_parse(new_head(), NULL, 0, &limits) == UVHTTP_PARSE_MORE);
    NULL_ROW(uvhttp_request_head_parse, limits,
             uvhttp_request_head_parse(new_head(), request, sizeof(request) - 1, NULL) ==
                 UVHTTP_PARSE_DONE);
    NULL_ROW(uvhttp_response_head_parse, head,
             uvhttp_response_head_parse(NULL, response, sizeof(response) - 1, &limits) ==
                 UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_response_head_parse, data,
             is_refused(uvhttp_response_head_parse(new_head(), NULL, 5, &limits)) &&
                 uvhttp_response_head_parse(new_head(), NULL, 0, &limits) == UVHTTP_PARSE_MORE);
    NULL_ROW(uvhttp_response_head_parse, limits,
             uvhttp_response_head_parse(new_head(), response, sizeof(response) - 1, NULL) ==
                 UVHTTP_PARSE_DONE);
    NULL_ROW(uvhttp_trailers_parse, head,
             uvhttp_trailers_parse(NULL, trailers, sizeof(trailers) - 1, &limits) ==
                 UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_trailers_parse, data,
             is_refused(uvhttp_trailers_parse(new_head(), NULL, 5, &limits)) &&
                 uvhttp_trailers_parse(new_head(), NULL, 0, &limits) == UVHTTP_PARSE_MORE);
    NULL_ROW(uvhttp_trailers_parse, limits,
             uvhttp_trailers_parse(new_head(), trailers, sizeof(trailers) - 1, NULL) ==
                 UVHTTP_PARSE_DONE);

    NULL_ROW(uvhttp_request_head_parse_slices, head,
             uvhttp_request_head_parse_slices(NULL, slices, 2, memory, &limits) ==
                 UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_request_head_parse_slices, slices,
             is_refused(uvhttp_request_head_parse_slices(new_head(), NULL, 2, memory, &limits)) &&
                 uvhttp_request_head_parse_slices(new_head(), NULL, 0, memory, &limits) ==
                     UVHTTP_PARSE_MORE);
    NULL_ROW(uvhttp_request_head_parse_slices, gather,
             is_refused(uvhttp_request_head_parse_slices(new_head(), slices, 2, NULL, &limits)) &&
                 uvhttp_request_head_parse_slices(new_head(), &SLICE(request), 1, NULL, &limits) ==
                     UVHTTP_PARSE_DONE);
    NULL_ROW(uvhttp_request_head_parse_slices, limits,
             uvhttp_request_head_parse_slices(new_head(), slices, 2, memory, NULL) ==
                 UVHTTP_PARSE_DONE);
    NULL_ROW(uvhttp_response_head_parse_slices, head,
             uvhttp_response_head_parse_slices(NULL, response_slices, 2, memory, &limits) ==
                 UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_response_head_parse_slices, slices,
             is_refused(uvhttp_response_head_parse_slices(new_head(), NULL, 2, memory, &limits)));
    NULL_ROW(uvhttp_response_head_parse_slices, gather,
             is_refused(
                 uvhttp_response_head_parse_slices(new_head(), response_slices, 2, NULL, &limits)));
    NULL_ROW(uvhttp_response_head_parse_slices, limits,
             uvhttp_response_head_parse_slices(new_head(), response_slices, 2, memory, NULL) ==
                 UVHTTP_PARSE_DONE);
    null_rows_end();
}

static void head_lookup_checks_null(void **state)
{
    (void)state;
    null_rows_begin();
    NULL_ROW(uvhttp_head_find, head, uvhttp_head_find(NULL, UVHTTP_FIELD_HOST) == NULL);
    NULL_ROW(uvhttp_head_find_name, head, uvhttp_head_find_name(NULL, "host", 4) == NULL);
    NULL_ROW(uvhttp_head_find_name, name, uvhttp_head_find_name(parsed_request(), NULL, 4) == NULL);
    NULL_ROW(uvhttp_request_framing, head,
             uvhttp_request_framing(NULL, &framing) == UVHTTP_REASON_ARGUMENT);
    NULL_ROW(uvhttp_request_framing, framing,
             uvhttp_request_framing(parsed_request(), NULL) == UVHTTP_REASON_NONE);
    NULL_ROW(uvhttp_response_framing, head,
             uvhttp_response_framing(NULL, UVHTTP_METHOD_GET, &framing) == UVHTTP_REASON_ARGUMENT);
    NULL_ROW(uvhttp_response_framing, framing,
             uvhttp_response_framing(parsed_response(), UVHTTP_METHOD_GET, NULL) ==
                 UVHTTP_REASON_NONE);
    null_rows_end();
}

static void default_limits_match_server(void **state)
{
    (void)state;
    static char line[UVHTTP_HEAD_DEFAULT_SIZE + 64];
    memset(line, 'a', sizeof(line));
    memcpy(line, "GET /", 5);
    assert_int_equal(
        uvhttp_request_head_parse(new_head(), line, UVHTTP_HEAD_DEFAULT_TARGET + 4, NULL),
        UVHTTP_PARSE_MORE);
    assert_int_equal(
        uvhttp_request_head_parse(new_head(), line, UVHTTP_HEAD_DEFAULT_TARGET + 5, NULL),
        UVHTTP_PARSE_BAD);
    assert_int_equal(head.reason, UVHTTP_REASON_TARGET_TOO_LONG);
    memcpy(line, "HTTP/1.1 200 OK\r\nA: ", 20);
    assert_int_equal(
        uvhttp_response_head_parse(new_head(), line, UVHTTP_HEAD_DEFAULT_SIZE - 1, NULL),
        UVHTTP_PARSE_MORE);
    assert_int_equal(
        uvhttp_response_head_parse(new_head(), line, UVHTTP_HEAD_DEFAULT_SIZE + 1, NULL),
        UVHTTP_PARSE_BAD);
    assert_int_equal(head.reason, UVHTTP_REASON_HEAD_TOO_LARGE);
    static uvhttp_field_t fields[UVHTTP_HEAD_DEFAULT_FIELDS + 1];
    size_t length = 17;
    for (int i = 0; i <= UVHTTP_HEAD_DEFAULT_FIELDS; i++, length += 6)
        memcpy(line + length, "B: c\r\n", 6);
    memcpy(line + length, "\r\n", 2);
    uvhttp_head_init(&head, fields, UVHTTP_HEAD_DEFAULT_FIELDS + 1);
    assert_int_equal(uvhttp_response_head_parse(&head, line, length + 2, NULL), UVHTTP_PARSE_BAD);
    assert_int_equal(head.reason, UVHTTP_REASON_TOO_MANY_FIELDS);
    memcpy(line + length - 6, "\r\n", 2);
    uvhttp_head_init(&head, fields, UVHTTP_HEAD_DEFAULT_FIELDS + 1);
    assert_int_equal(uvhttp_response_head_parse(&head, line, length - 4, NULL), UVHTTP_PARSE_DONE);
}

static void chunked_decoding_checks_null(void **state)
{
    (void)state;
    char body[] = "3\r\nabc\r\n0\r\n\r\n";
    null_rows_begin();
    NULL_CALL(uvhttp_chunked_init, decoder, uvhttp_chunked_init(NULL, 16));
    NULL_ROW(uvhttp_chunked_decode, decoder,
             uvhttp_chunked_decode(NULL, chunked, 13, &number, &value) == UVHTTP_PARSE_BAD &&
                 number == 0 && value.length == 0);
    NULL_ROW(uvhttp_chunked_decode, data,
             uvhttp_chunked_decode(new_decoder(), NULL, 13, &number, &value) == UVHTTP_PARSE_BAD &&
                 decoder.reason == UVHTTP_REASON_ARGUMENT && number == 0 && value.length == 0 &&
                 uvhttp_chunked_decode(new_decoder(), NULL, 0, &number, &value) ==
                     UVHTTP_PARSE_MORE);
    NULL_ROW(uvhttp_chunked_decode, consumed,
             uvhttp_chunked_decode(new_decoder(), chunked, 13, NULL, &value) == UVHTTP_PARSE_MORE &&
                 value.length == 3);
    NULL_ROW(uvhttp_chunked_decode, part,
             uvhttp_chunked_decode(new_decoder(), chunked, 13, &number, NULL) ==
                     UVHTTP_PARSE_MORE &&
                 number == 6);
    NULL_ROW(uvhttp_chunked_decode_in_place, decoder,
             uvhttp_chunked_decode_in_place(NULL, body, 13, &number, &number) == UVHTTP_PARSE_BAD);
    NULL_ROW(uvhttp_chunked_decode_in_place, data,
             uvhttp_chunked_decode_in_place(new_decoder(), NULL, 13, &number, &number) ==
                     UVHTTP_PARSE_BAD &&
                 decoder.reason == UVHTTP_REASON_ARGUMENT && number == 0);
    NULL_ROW(uvhttp_chunked_decode_in_place, consumed,
             uvhttp_chunked_decode_in_place(new_decoder(), body, 13, NULL, &number) ==
                     UVHTTP_PARSE_DONE &&
                 number == 3);
    memcpy(body, chunked, sizeof(body));
    NULL_ROW(uvhttp_chunked_decode_in_place, body,
             uvhttp_chunked_decode_in_place(new_decoder(), body, 13, &number, NULL) ==
                     UVHTTP_PARSE_DONE &&
                 number == 11);
    null_rows_end();
}

static void text_iteration_checks_null(void **state)
{
    (void)state;
    char text[] = "a=b&c=%41";
    null_rows_begin();
    NULL_ROW(uvhttp_percent_decode, output,
             uvhttp_percent_decode(SLICE("a%41"), NULL, false) == -1 &&
                 uvhttp_percent_decode((uvhttp_slice_t){NULL, 0}, NULL, false) == 0);
    NULL_ROW(uvhttp_percent_next, rest,
             uvhttp_percent_next(NULL, false, &value) == 0 && value.length == 0);
    NULL_ROW(uvhttp_percent_next, part,
             uvhttp_percent_next(iterate(SLICE("a%41")), false, NULL) == 1 && rest.length == 3);
    NULL_ROW(uvhttp_query_next, rest, !uvhttp_query_next(NULL, &name, &value));
    NULL_ROW(uvhttp_query_next, name,
             uvhttp_query_next(iterate(SLICE("a=b")), NULL, &value) && value.length == 1);
    NULL_ROW(uvhttp_query_next, value,
             uvhttp_query_next(iterate(SLICE("a=b")), &name, NULL) && name.length == 1);
    NULL_ROW(uvhttp_form_next, rest, uvhttp_form_next(NULL, memory, &name, &value) == 0);
    NULL_ROW(uvhttp_form_next, scratch,
             uvhttp_form_next(iterate(SLICE("a=b&c")), NULL, &name, &value) == -1 &&
                 rest.length == 1 && name.length == 0);
    NULL_ROW(uvhttp_form_next, name,
             uvhttp_form_next(iterate((uvhttp_slice_t){text, 9}), text, NULL, &value) == 1 &&
                 value.length == 1);
    NULL_ROW(uvhttp_form_next, value,
             uvhttp_form_next(iterate(SLICE("a=b&c")), memory, &name, NULL) == 1 &&
                 name.length == 1);
    NULL_ROW(uvhttp_cookie_next, rest, !uvhttp_cookie_next(NULL, &name, &value));
    NULL_ROW(uvhttp_cookie_next, name,
             uvhttp_cookie_next(iterate(SLICE("a=bc")), NULL, &value) && value.length == 2);
    NULL_ROW(uvhttp_cookie_next, value,
             uvhttp_cookie_next(iterate(SLICE("a=bc")), &name, NULL) && name.length == 1);
    NULL_ROW(uvhttp_path_normalize, output,
             uvhttp_path_normalize(SLICE("/a"), NULL, &number) == UVHTTP_REASON_ARGUMENT &&
                 number == 0 &&
                 uvhttp_path_normalize((uvhttp_slice_t){NULL, 0}, NULL, &number) ==
                     UVHTTP_REASON_NONE);
    NULL_ROW(uvhttp_path_normalize, length,
             uvhttp_path_normalize(SLICE("/a/../b"), memory, NULL) == UVHTTP_REASON_NONE &&
                 memcmp(memory, "/b", 2) == 0);
    null_rows_end();
}

static void ring_functions_check_null(void **state)
{
    (void)state;
    uvhttp_ring_t ring;
    uvhttp_slice_t readable[2];
    uvhttp_span_t writable[2];
    uvhttp_ring_init(&ring, memory, 8);
    assert_int_equal(uvhttp_ring_write(&ring, "abc", 3), 3);
    null_rows_begin();
    NULL_CALL(uvhttp_ring_init, ring, uvhttp_ring_init(NULL, memory, 8));
    NULL_ROW(uvhttp_ring_readable, ring,
             uvhttp_ring_readable(NULL, readable) == 0 && readable[0].length == 0 &&
                 readable[1].length == 0);
    NULL_ROW(uvhttp_ring_readable, slices, uvhttp_ring_readable(&ring, NULL) == 0);
    NULL_ROW(uvhttp_ring_writable, ring,
             uvhttp_ring_writable(NULL, writable) == 0 && writable[0].length == 0 &&
                 writable[1].length == 0);
    NULL_ROW(uvhttp_ring_writable, slices, uvhttp_ring_writable(&ring, NULL) == 0);
    NULL_ROW(uvhttp_ring_commit, ring, uvhttp_ring_commit(NULL, 1) == 0);
    NULL_ROW(uvhttp_ring_write, ring, uvhttp_ring_write(NULL, "a", 1) == 0);
    NULL_ROW(uvhttp_ring_write, data, uvhttp_ring_write(&ring, NULL, 1) == 0 && ring.length == 3);
    NULL_ROW(uvhttp_ring_consume, ring, uvhttp_ring_consume(NULL, 1) == 0);
    NULL_ROW(uvhttp_ring_init, memory,
             (uvhttp_ring_init(&ring, NULL, 8), uvhttp_ring_write(&ring, "abc", 3) == 0));
    null_rows_end();
}

static uvhttp_writer_t writer;

static uvhttp_writer_t *new_writer(void)
{
    uvhttp_writer_init(&writer, memory, sizeof(memory));
    return &writer;
}

static bool is_invalid(bool written)
{
    return !written && writer.error == UVHTTP_WRITER_INVALID && writer.length == 0;
}

static void writer_functions_check_null(void **state)
{
    (void)state;
    null_rows_begin();
    NULL_CALL(uvhttp_writer_init, writer, uvhttp_writer_init(NULL, memory, 8));
    NULL_ROW(uvhttp_writer_init, memory,
             (uvhttp_writer_init(&writer, NULL, 8), !uvhttp_writer_bytes(&writer, "abc", 3)) &&
                 writer.error == UVHTTP_WRITER_FULL);
    NULL_ROW(uvhttp_writer_request_line, writer, !uvhttp_writer_request_line(NULL, "GET", "/"));
    NULL_ROW(uvhttp_writer_request_line, method,
             is_invalid(uvhttp_writer_request_line(new_writer(), NULL, "/")));
    NULL_ROW(uvhttp_writer_request_line, target,
             is_invalid(uvhttp_writer_request_line(new_writer(), "GET", NULL)));
    NULL_ROW(uvhttp_writer_request_line_slice, writer,
             !uvhttp_writer_request_line_slice(NULL, SLICE("GET"), SLICE("/")));
    NULL_ROW(uvhttp_writer_status_line, writer, !uvhttp_writer_status_line(NULL, 200, "OK"));
    NULL_ROW(uvhttp_writer_status_line, phrase,
             uvhttp_writer_status_line(new_writer(), 200, NULL) && writer.length == 17);
    NULL_ROW(uvhttp_writer_field, writer, !uvhttp_writer_field(NULL, "a", "b"));
    NULL_ROW(uvhttp_writer_field, name, is_invalid(uvhttp_writer_field(new_writer(), NULL, "b")));
    NULL_ROW(uvhttp_writer_field, value, is_invalid(uvhttp_writer_field(new_writer(), "a", NULL)));
    NULL_ROW(uvhttp_writer_field_slice, writer,
             !uvhttp_writer_field_slice(NULL, SLICE("a"), SLICE("b")));
    NULL_ROW(uvhttp_writer_field_number, writer, !uvhttp_writer_field_number(NULL, "a", 1));
    NULL_ROW(uvhttp_writer_field_number, name,
             is_invalid(uvhttp_writer_field_number(new_writer(), NULL, 1)));
    NULL_ROW(uvhttp_writer_end, writer, !uvhttp_writer_end(NULL));
    NULL_ROW(uvhttp_writer_bytes, writer, !uvhttp_writer_bytes(NULL, "a", 1));
    NULL_ROW(uvhttp_writer_bytes, data,
             is_invalid(uvhttp_writer_bytes(new_writer(), NULL, 1)) &&
                 uvhttp_writer_bytes(new_writer(), NULL, 0));
    NULL_ROW(uvhttp_writer_chunk, writer, !uvhttp_writer_chunk(NULL, "a", 1));
    NULL_ROW(uvhttp_writer_chunk, data,
             is_invalid(uvhttp_writer_chunk(new_writer(), NULL, 1)) &&
                 uvhttp_writer_chunk(new_writer(), NULL, 0));
    NULL_ROW(uvhttp_writer_chunk_line, writer, !uvhttp_writer_chunk_line(NULL, 1));
    NULL_ROW(uvhttp_writer_last_chunk, writer, !uvhttp_writer_last_chunk(NULL));
    null_rows_end();
}

static uvhttp_multipart_t parser;

static uvhttp_multipart_t *new_parser(void)
{
    assert_true(uvhttp_multipart_init(&parser, SLICE("x"), NULL));
    return &parser;
}

static void multipart_functions_check_null(void **state)
{
    (void)state;
    static const char form[] =
        "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--";
    null_rows_begin();
    NULL_ROW(uvhttp_multipart_boundary, boundary,
             uvhttp_multipart_boundary(SLICE("multipart/form-data; boundary=x"), NULL) &&
                 !uvhttp_multipart_boundary(SLICE("text/plain"), NULL));
    NULL_ROW(uvhttp_multipart_init, parser, !uvhttp_multipart_init(NULL, SLICE("x"), NULL));
    NULL_ROW(uvhttp_multipart_init, limits, uvhttp_multipart_init(&parser, SLICE("x"), NULL));
    NULL_ROW(uvhttp_multipart_next, parser,
             uvhttp_multipart_next(NULL, iterate(SLICE(form)), &value) == UVHTTP_MULTIPART_BAD);
    NULL_ROW(uvhttp_multipart_next, input,
             uvhttp_multipart_next(new_parser(), NULL, &value) == UVHTTP_MULTIPART_MORE);
    NULL_ROW(uvhttp_multipart_next, data,
             uvhttp_multipart_next(new_parser(), iterate(SLICE(form)), NULL) ==
                     UVHTTP_MULTIPART_PART &&
                 uvhttp_multipart_next(&parser, &rest, NULL) == UVHTTP_MULTIPART_DATA &&
                 uvhttp_multipart_next(&parser, &rest, NULL) == UVHTTP_MULTIPART_PART_END &&
                 uvhttp_multipart_next(&parser, &rest, NULL) == UVHTTP_MULTIPART_END);
    NULL_ROW(uvhttp_multipart_finish, parser, !uvhttp_multipart_finish(NULL));
    NULL_ROW(uvhttp_multipart_part_field, part,
             uvhttp_multipart_part_field(NULL, "a").base == NULL);
    NULL_ROW(uvhttp_multipart_part_field, name,
             uvhttp_multipart_next(new_parser(), iterate(SLICE(form)), &value) ==
                     UVHTTP_MULTIPART_PART &&
                 uvhttp_multipart_part_field(&parser.part, NULL).base == NULL);
    null_rows_end();
}

static void cookie_sse_negotiation_check_null(void **state)
{
    (void)state;
    const uvhttp_cookie_t cookie = {.name = "a", .value = "b"};
    const uvhttp_sse_event_t event = {.data = SLICE("hello")};
    static const char *const none[] = {NULL, "a/b", "br", "en"};
    null_rows_begin();
    NULL_ROW(uvhttp_cookie_write, cookie,
             uvhttp_cookie_write(NULL, memory, sizeof(memory), &number) == UVHTTP_COOKIE_NAME &&
                 number == 0);
    NULL_ROW(uvhttp_cookie_write, out,
             uvhttp_cookie_write(&cookie, NULL, sizeof(memory), &number) == UVHTTP_COOKIE_FULL &&
                 number == 3);
    NULL_ROW(uvhttp_cookie_write, length,
             uvhttp_cookie_write(&cookie, memory, sizeof(memory), NULL) == UVHTTP_COOKIE_OK &&
                 strcmp(memory, "a=b") == 0);
    NULL_ROW(uvhttp_cookie_find, name, uvhttp_cookie_find(SLICE("a=b"), NULL).base == NULL);
    NULL_ROW(uvhttp_sse_encode, event, uvhttp_sse_encode(NULL, memory, sizeof(memory)) == -1);
    NULL_ROW(uvhttp_sse_encode, out, uvhttp_sse_encode(&event, NULL, sizeof(memory)) == 13);
    NULL_ROW(uvhttp_negotiate_type, offers,
             uvhttp_negotiate_type(SLICE("a/b"), NULL, 1) == -1 &&
                 uvhttp_negotiate_type(SLICE("a/b"), none, 2) == 1);
    NULL_ROW(uvhttp_negotiate_encoding, offers,
             uvhttp_negotiate_encoding(SLICE("br"), NULL, 1) == -1 &&
                 uvhttp_negotiate_encoding(SLICE("br"), none, 3) == 2);
    NULL_ROW(uvhttp_negotiate_language, offers,
             uvhttp_negotiate_language(SLICE("en"), NULL, 1) == -1 &&
                 uvhttp_negotiate_language(SLICE("en"), none, 4) == 3);
    NULL_ROW(uvhttp_negotiate_type_quality, offer,
             uvhttp_negotiate_type_quality(SLICE("*/*"), NULL) == 0);
    NULL_ROW(uvhttp_negotiate_encoding_quality, offer,
             uvhttp_negotiate_encoding_quality(SLICE("*"), NULL) == 0);
    NULL_ROW(uvhttp_negotiate_language_quality, offer,
             uvhttp_negotiate_language_quality(SLICE("*"), NULL) == 0);
    NULL_ROW(uvhttp_equal_constant_time, a,
             !uvhttp_equal_constant_time(NULL, 1, "a", 1) &&
                 uvhttp_equal_constant_time(NULL, 0, NULL, 0));
    NULL_ROW(uvhttp_equal_constant_time, b,
             !uvhttp_equal_constant_time("a", 1, NULL, 1) &&
                 !uvhttp_equal_constant_time("a", 1, NULL, 0));
    null_rows_end();
}

static void text_functions_check_null(void **state)
{
    (void)state;
    int64_t parsed;
    null_rows_begin();
    NULL_ROW(uvhttp_media_type_is, types, !uvhttp_media_type_is(SLICE("a/b"), NULL));
    NULL_ROW(uvhttp_percent_encode, text,
             uvhttp_percent_encode(NULL, 1, memory, sizeof(memory)) == 0 && memory[0] == '\0');
    NULL_ROW(uvhttp_percent_encode, out, uvhttp_percent_encode("a b", 3, NULL, 9) == 5);
    NULL_ROW(uvhttp_html_escape, text,
             uvhttp_html_escape(NULL, 1, memory, sizeof(memory)) == 0 && memory[0] == '\0');
    NULL_ROW(uvhttp_html_escape, out, uvhttp_html_escape("<", 1, NULL, 9) == 4);
    NULL_ROW(uvhttp_json_quote, text,
             uvhttp_json_quote(NULL, 1, memory, sizeof(memory)) == 2 && memory[1] == '"');
    NULL_ROW(uvhttp_json_quote, out, uvhttp_json_quote("a", 1, NULL, 9) == 3);
    NULL_ROW(uvhttp_rfc3339_encode, out, uvhttp_rfc3339_encode(0, NULL, 99) == 20);
    NULL_ROW(uvhttp_number_parse, text, !uvhttp_number_parse(NULL, 0, 9, &parsed));
    NULL_ROW(uvhttp_number_parse, number, !uvhttp_number_parse("1", 0, 9, NULL));
    NULL_ROW(uvhttp_utf8_count, text, uvhttp_utf8_count(NULL, 1) == 0);
    NULL_ROW(uvhttp_slice_of, text, uvhttp_slice_of(NULL).base == NULL);
    NULL_ROW(uvhttp_content_disposition, kind,
             uvhttp_content_disposition(NULL, "a", 1, memory, sizeof(memory)) == 24);
    NULL_ROW(uvhttp_content_disposition, name,
             uvhttp_content_disposition("inline", NULL, 1, memory, sizeof(memory)) == 19);
    NULL_ROW(uvhttp_content_disposition, out,
             uvhttp_content_disposition("inline", "a", 1, NULL, 99) == 20);
    NULL_ROW(uvhttp_base64_encode, data,
             uvhttp_base64_encode(NULL, 1, memory, sizeof(memory)) == 0 && memory[0] == '\0');
    NULL_ROW(uvhttp_base64_encode, out, uvhttp_base64_encode("a", 1, NULL, 9) == 4);
    NULL_ROW(uvhttp_base64url_encode, data,
             uvhttp_base64url_encode(NULL, 1, memory, sizeof(memory)) == 0 && memory[0] == '\0');
    NULL_ROW(uvhttp_base64url_encode, out, uvhttp_base64url_encode("a", 1, NULL, 9) == 2);
    NULL_ROW(uvhttp_base64_decode, text,
             uvhttp_base64_decode(NULL, 4, memory, sizeof(memory)) == 0);
    NULL_ROW(uvhttp_base64_decode, out, uvhttp_base64_decode("YQ==", 4, NULL, 9) == -1);
    NULL_ROW(uvhttp_base64url_decode, text,
             uvhttp_base64url_decode(NULL, 4, memory, sizeof(memory)) == 0);
    NULL_ROW(uvhttp_base64url_decode, out, uvhttp_base64url_decode("YQ", 2, NULL, 9) == -1);
    null_rows_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_parsing_checks_null),
        cmocka_unit_test(head_lookup_checks_null),
        cmocka_unit_test(default_limits_match_server),
        cmocka_unit_test(chunked_decoding_checks_null),
        cmocka_unit_test(text_iteration_checks_null),
        cmocka_unit_test(ring_functions_check_null),
        cmocka_unit_test(writer_functions_check_null),
        cmocka_unit_test(multipart_functions_check_null),
        cmocka_unit_test(cookie_sse_negotiation_check_null),
        cmocka_unit_test(text_functions_check_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
