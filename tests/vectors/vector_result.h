/* Formats the result of a vector as text: everything the parser reports, in the format of
 * tests/vectors/README.md. Used by test_vectors.c only. */
#ifndef UVH_TESTS_VECTOR_RESULT_H
#define UVH_TESTS_VECTOR_RESULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

enum { RESULT_SIZE = 64 * 1024 };

struct result {
    size_t size;
    char bytes[RESULT_SIZE];
};

static struct result result;

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written =
        vsnprintf(result.bytes + result.size, RESULT_SIZE - result.size, format, arguments);
    va_end(arguments);
    assert_true(written >= 0 && (size_t)written < RESULT_SIZE - result.size);
    result.size += (size_t)written;
}

/* Prints a space and the bytes, with control characters and leading and trailing spaces escaped.
 * Prints nothing if there are none. */
static void print_escaped(const char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    assert_true(4 * length + 2 < RESULT_SIZE - result.size);
    char *out = result.bytes + result.size;
    if (length > 0)
        *out++ = ' ';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool outer = i == 0 || i + 1 == length;
        bool hidden = c < 0x20 || c >= 0x7f || (c == ' ' && outer);
        if (hidden || c == '\\')
            *out++ = '\\';
        if (hidden) {
            *out++ = 'x';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        } else {
            *out++ = (char)c;
        }
    }
    *out = '\0';
    result.size = (size_t)(out - result.bytes);
}

static void print_bytes(const char *label, const char *bytes, size_t length)
{
    print("%s", label);
    print_escaped(bytes, length);
    print("\n");
}

static void print_refused(unsigned reason)
{
    print("refused %s %d\n", uvhttp_reason_name((uvhttp_reason_t)reason),
          uvhttp_reason_status((uvhttp_reason_t)reason));
}

static void print_fields(const uvhttp_head_t *head)
{
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        print("field %u %.*s", field->name_offset, (int)field->name_length,
              head->base + field->name_offset);
        print_bytes(" =", head->base + field->value_offset, field->value_length);
    }
}

/* The table of known fields must agree with the list of fields. */
static void check_known(const uvhttp_head_t *head)
{
    assert_null(uvhttp_head_find(head, UVHTTP_FIELD_OTHER));
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        const uvhttp_field_t *first =
            uvhttp_head_find_name(head, head->base + field->name_offset, field->name_length);
        assert_non_null(first);
        assert_true(first <= field);
        assert_int_equal(first->id, field->id);
        if (field->id != UVHTTP_FIELD_OTHER) {
            assert_ptr_equal(uvhttp_head_find(head, (uvhttp_field_id_t)field->id), first);
            assert_true(first == field || first->repeated);
        }
    }
}

/* The method with that name. */
static uvhttp_method_t method_of(const char *name, size_t length)
{
#define METHOD_NAME(id, name) [UVHTTP_METHOD_##id] = (name),
    static const char *const names[] = {[UVHTTP_METHOD_OTHER] = "", UVHTTP_METHOD_MAP(METHOD_NAME)};
#undef METHOD_NAME
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (uvhttp_method_t)i;
    }
    return UVHTTP_METHOD_OTHER;
}

static void print_connection(const uvhttp_framing_t *framing)
{
    static const char *const bodies[] = {"none", "length", "chunked", "until-close"};
    if (framing->body == UVHTTP_BODY_LENGTH)
        print("body length %llu\n", (unsigned long long)framing->content_length);
    else
        print("body %s\n", bodies[framing->body]);
    print("connection %s\n", framing->keep_alive ? "keep-alive" : "close");
    if (framing->expect_continue)
        print("expect-continue\n");
    if (framing->upgrade)
        print("upgrade\n");
}

static void print_request_framing(const uvhttp_head_t *head)
{
    static const char *const forms[] = {"origin", "absolute", "authority", "asterisk"};
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = uvhttp_request_framing(head, &framing);
    if (reason != UVHTTP_REASON_NONE) {
        print_refused(reason);
        return;
    }
    print("form %s\n", forms[framing.target_form]);
    if (framing.authority.base != NULL)
        print_bytes("authority", framing.authority.base, framing.authority.length);
    print_bytes("path", framing.path.base, framing.path.length);
    if (framing.query.base != NULL)
        print_bytes("query", framing.query.base, framing.query.length);
    print_connection(&framing);
}

static void print_response_framing(const uvhttp_head_t *head, uvhttp_method_t request_method)
{
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = uvhttp_response_framing(head, request_method, &framing);
    if (reason != UVHTTP_REASON_NONE) {
        print_refused(reason);
        return;
    }
    assert_int_equal(framing.authority.length + framing.path.length + framing.query.length, 0);
    assert_null(framing.query.base);
    assert_false(framing.expect_continue);
    print_connection(&framing);
}

static void print_request(const uvhttp_head_t *head)
{
    print("size %u\n", head->size);
    print("method %.*s\n", (int)head->method_length, head->base + head->start);
    print_bytes("target", head->base + head->target_offset, head->target_length);
    print("version 1.%u\n", head->minor_version);
    print_fields(head);
    assert_int_equal(head->method, method_of(head->base + head->start, head->method_length));
    print_request_framing(head);
}

static void print_response(const uvhttp_head_t *head, uvhttp_method_t request_method)
{
    print("size %u\n", head->size);
    print("version 1.%u\nstatus %03u\n", head->minor_version, head->status);
    print_bytes("phrase", head->base + head->reason_phrase_offset, head->reason_phrase_length);
    print_fields(head);
    print_response_framing(head, request_method);
}

/* A name-value pair of a query, a form or a cookie. */
static void print_pair(uvhttp_slice_t name, uvhttp_slice_t value)
{
    print("pair");
    print_escaped(name.base, name.length);
    if (value.base != NULL)
        print_bytes(" =", value.base, value.length);
    else
        print("\n");
}

#endif
