/* The result of a vector, written as text: everything that the parser reports, in the words of
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

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written =
        vsnprintf(result.bytes + result.size, RESULT_SIZE - result.size, format, arguments);
    va_end(arguments);
    assert_true(written >= 0 && (size_t)written < RESULT_SIZE - result.size);
    result.size += (size_t)written;
}

/* A space and the bytes, those that cannot be seen spelled out, and so are spaces at both ends.
 * Nothing when there are none. */
static void say_escaped(const char *bytes, size_t length)
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

static void say_bytes(const char *label, const char *bytes, size_t length)
{
    say("%s", label);
    say_escaped(bytes, length);
    say("\n");
}

static void say_refused(unsigned reason)
{
    say("refused %s %d\n", uvhttp_reason_name((uvhttp_reason_t)reason),
        uvhttp_reason_status((uvhttp_reason_t)reason));
}

static void say_fields(const uvhttp_head_t *head)
{
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        say("field %u %.*s", field->name_offset, (int)field->name_length,
            head->base + field->name_offset);
        say_bytes(" =", head->base + field->value_offset, field->value_length);
    }
}

/* The table of known fields has to agree with the list of fields. */
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

/* The number of the method of that name. */
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

static void say_connection(const uvhttp_framing_t *framing)
{
    static const char *const bodies[] = {"none", "length", "chunked", "until-close"};
    if (framing->body == UVHTTP_BODY_LENGTH)
        say("body length %llu\n", (unsigned long long)framing->content_length);
    else
        say("body %s\n", bodies[framing->body]);
    say("connection %s\n", framing->keep_alive ? "keep-alive" : "close");
    if (framing->expect_continue)
        say("expect-continue\n");
    if (framing->upgrade)
        say("upgrade\n");
}

static void say_request_framing(const uvhttp_head_t *head)
{
    static const char *const forms[] = {"origin", "absolute", "authority", "asterisk"};
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = uvhttp_request_framing(head, &framing);
    if (reason != UVHTTP_REASON_NONE) {
        say_refused(reason);
        return;
    }
    say("form %s\n", forms[framing.target_form]);
    if (framing.authority.base != NULL)
        say_bytes("authority", framing.authority.base, framing.authority.length);
    say_bytes("path", framing.path.base, framing.path.length);
    if (framing.query.base != NULL)
        say_bytes("query", framing.query.base, framing.query.length);
    say_connection(&framing);
}

static void say_response_framing(const uvhttp_head_t *head, uvhttp_method_t request_method)
{
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = uvhttp_response_framing(head, request_method, &framing);
    if (reason != UVHTTP_REASON_NONE) {
        say_refused(reason);
        return;
    }
    assert_int_equal(framing.authority.length + framing.path.length + framing.query.length, 0);
    assert_null(framing.query.base);
    assert_false(framing.expect_continue);
    say_connection(&framing);
}

static void say_request(const uvhttp_head_t *head)
{
    say("size %u\n", head->size);
    say("method %.*s\n", (int)head->method_length, head->base + head->start);
    say_bytes("target", head->base + head->target_offset, head->target_length);
    say("version 1.%u\n", head->minor_version);
    say_fields(head);
    assert_int_equal(head->method, method_of(head->base + head->start, head->method_length));
    say_request_framing(head);
}

static void say_response(const uvhttp_head_t *head, uvhttp_method_t request_method)
{
    say("size %u\n", head->size);
    say("version 1.%u\nstatus %03u\n", head->minor_version, head->status);
    say_bytes("phrase", head->base + head->reason_phrase_offset, head->reason_phrase_length);
    say_fields(head);
    say_response_framing(head, request_method);
}

/* A pair of a query, a form or a cookie. */
static void say_pair(uvhttp_slice_t name, uvhttp_slice_t value)
{
    say("pair");
    say_escaped(name.base, name.length);
    if (value.base != NULL)
        say_bytes(" =", value.base, value.length);
    else
        say("\n");
}

#endif
