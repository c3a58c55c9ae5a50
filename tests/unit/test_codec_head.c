/* Request heads against a slow parser that follows the grammar byte by byte: hundreds of thousands of
 * damaged messages, whole and in random pieces, have to get the same verdict, reason and offset from both.
 * The rules one by one are in tests/vectors. */
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

enum { MOST = 512, FIELDS = 64, ROUNDS = 300000 };

struct verdict {
    uvhttp_parse_result_t result;
    uvhttp_reason_t reason;
    size_t offset;
    size_t size;
    size_t start, method_length, target, target_length;
    int minor;
    size_t count;
    struct {
        size_t name, name_length, value, value_length;
    } fields[FIELDS];
};

static uint32_t seed = 42;

static size_t random_below(size_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 10) % limit;
}

static struct verdict bad(uvhttp_reason_t reason, size_t offset)
{
    return (struct verdict){.result = UVHTTP_PARSE_BAD, .reason = reason, .offset = offset};
}

static const struct verdict more = {.result = UVHTTP_PARSE_MORE};

static bool is_token(char c)
{
    return c != '\0' && strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                               c) != NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The reference for one complete line [at, line_feed] that is not the empty one. NONE when it is correct. */
static struct verdict slow_line(const char *data, size_t at, size_t line_feed, struct verdict *head,
                                size_t capacity)
{
    size_t i = at;
    if (data[at] == '\r')
        return bad(UVHTTP_REASON_LINE_END, at);
    if (head->count == capacity)
        return bad(UVHTTP_REASON_TOO_MANY_FIELDS, at);
    if (is_space(data[at]))
        return bad(UVHTTP_REASON_FIELD_FOLDED, at);
    while (is_token(data[i]))
        i++;
    if (data[i] == '\n')
        return bad(UVHTTP_REASON_LINE_END, i);
    if (is_space(data[i]) && i > at) {
        size_t colon = i;
        while (is_space(data[colon]))
            colon++;
        return bad(data[colon] == ':' ? UVHTTP_REASON_FIELD_COLON : UVHTTP_REASON_FIELD_NAME, i);
    }
    if (data[i] != ':' || i == at)
        return bad(UVHTTP_REASON_FIELD_NAME, i);
    size_t value = i + 1;
    for (size_t k = value; k < line_feed; k++) {
        unsigned char c = (unsigned char)data[k];
        if (c == '\r' && k + 1 < line_feed)
            return bad(UVHTTP_REASON_LINE_END, k);
        if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f)
            return bad(UVHTTP_REASON_FIELD_VALUE, k);
    }
    if (data[line_feed - 1] != '\r')
        return bad(UVHTTP_REASON_LINE_END, line_feed);
    size_t end = line_feed - 1;
    while (value < end && is_space(data[value]))
        value++;
    while (end > value && is_space(data[end - 1]))
        end--;
    head->fields[head->count].name = at;
    head->fields[head->count].name_length = i - at;
    head->fields[head->count].value = value;
    head->fields[head->count++].value_length = end - value;
    return more;
}

static struct verdict slow_fields(const char *data, size_t at, size_t length, struct verdict head,
                                  size_t capacity)
{
    for (;;) {
        size_t line_feed = at;
        while (line_feed < length && data[line_feed] != '\n')
            line_feed++;
        if (line_feed == length)
            return more;
        if (line_feed == at + 1 && data[at] == '\r') {
            head.result = UVHTTP_PARSE_DONE;
            head.size = line_feed + 1;
            return head;
        }
        struct verdict line = slow_line(data, at, line_feed, &head, capacity);
        if (line.result == UVHTTP_PARSE_BAD)
            return line;
        at = line_feed + 1;
    }
}

static struct verdict slow_version(const char *data, size_t at, size_t length, struct verdict head,
                                   size_t capacity)
{
    static const char form[] = "HTTP/0.0";
    for (size_t k = 0; k < 8; k++) {
        if (at + k == length)
            return more;
        char c = data[at + k];
        if (form[k] == '0' ? c < '0' || c > '9' : c != form[k])
            return bad(UVHTTP_REASON_VERSION, at + k);
    }
    if (data[at + 5] != '1')
        return bad(UVHTTP_REASON_VERSION_UNSUPPORTED, at);
    head.minor = data[at + 7] == '0' ? 0 : 1;
    at += 8;
    if (at == length)
        return more;
    if (data[at] != '\r' && data[at] != '\n')
        return bad(UVHTTP_REASON_VERSION, at);
    if (data[at] == '\n')
        return bad(UVHTTP_REASON_LINE_END, at);
    if (at + 1 == length)
        return more;
    if (data[at + 1] != '\n')
        return bad(UVHTTP_REASON_LINE_END, at);
    return slow_fields(data, at + 2, length, head, capacity);
}

static struct verdict slow_request(const char *data, size_t length, const uvhttp_head_limits_t *limits)
{
    struct verdict head = {.result = UVHTTP_PARSE_MORE};
    size_t full = length >= limits->max_size ? limits->max_size : SIZE_MAX;
    struct verdict unfinished = full == SIZE_MAX ? more : bad(UVHTTP_REASON_HEAD_TOO_LARGE, full);
    size_t at = 0;
    length = length < limits->max_size ? length : limits->max_size;
    while (at < length && (data[at] == '\r' || data[at] == '\n')) {
        if (data[at] == '\n')
            return bad(UVHTTP_REASON_LINE_END, at);
        if (at + 1 == length)
            return unfinished;
        if (data[at + 1] != '\n')
            return bad(UVHTTP_REASON_LINE_END, at);
        at += 2;
    }
    head.start = at;
    while (at < length && is_token(data[at]))
        at++;
    if (at == length)
        return unfinished;
    if (data[at] != ' ' || at == head.start)
        return bad(UVHTTP_REASON_METHOD, at);
    head.method_length = at - head.start;
    head.target = ++at;
    for (;; at++) {
        if (at - head.target > limits->max_target)
            return bad(UVHTTP_REASON_TARGET_TOO_LONG, head.target + limits->max_target);
        if (at == length)
            return full == SIZE_MAX ? more : bad(UVHTTP_REASON_TARGET_TOO_LONG, full);
        unsigned char c = (unsigned char)data[at];
        if (c <= 0x20 || c >= 0x7f || c == '#')
            break;
    }
    if (data[at] == '\r' || data[at] == '\n')
        return bad(UVHTTP_REASON_VERSION, at);
    if (data[at] != ' ' || at == head.target)
        return bad(UVHTTP_REASON_TARGET, at);
    head.target_length = at - head.target;
    struct verdict verdict = slow_version(data, at + 1, length, head, limits->max_fields);
    return verdict.result == UVHTTP_PARSE_MORE ? unfinished : verdict;
}

static void compare(const uvhttp_head_t *head, uvhttp_parse_result_t result, const struct verdict *expected)
{
    assert_int_equal(result, expected->result);
    if (result == UVHTTP_PARSE_BAD) {
        assert_string_equal(uvhttp_reason_name((uvhttp_reason_t)head->reason),
                            uvhttp_reason_name(expected->reason));
        assert_int_equal(head->reason_offset, expected->offset);
    }
    if (result != UVHTTP_PARSE_DONE)
        return;
    assert_int_equal(head->size, expected->size);
    assert_int_equal(head->start, expected->start);
    assert_int_equal(head->method_length, expected->method_length);
    assert_int_equal(head->target_offset, expected->target);
    assert_int_equal(head->target_length, expected->target_length);
    assert_int_equal(head->minor_version, expected->minor);
    assert_int_equal(head->field_count, expected->count);
    for (size_t i = 0; i < expected->count; i++) {
        assert_int_equal(head->fields[i].name_offset, expected->fields[i].name);
        assert_int_equal(head->fields[i].name_length, expected->fields[i].name_length);
        assert_int_equal(head->fields[i].value_offset, expected->fields[i].value);
        assert_int_equal(head->fields[i].value_length, expected->fields[i].value_length);
    }
}

static size_t damage(char *text, size_t length)
{
    static const char bytes[] = "\r\n\r\n \t:\0a/G.H1\x7f\x80\xff\x01#%,;=\"";
    for (size_t times = random_below(4); times > 0 && length > 1; times--) {
        size_t at = random_below(length);
        char byte = bytes[random_below(sizeof bytes)];
        switch (random_below(3)) {
        case 0:
            text[at] = byte;
            break;
        case 1:
            memmove(text + at, text + at + 1, --length - at);
            break;
        default:
            if (length < MOST)
                memmove(text + at + 1, text + at, length++ - at);
            text[at] = byte;
        }
    }
    return length;
}

static const char *const samples[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nPOST /api/data?x=1 HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nX:\r\n\r\nhello",
    "PROPPATCH /a HTTP/1.0\r\nAccept:  text/html , */*\t\r\nX-Some-Long-Name-Of-A-Field: with a value that "
    "spans words\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nhost:a:80\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\nTE: "
    "trailers\r\n\r\n",
    "G /long/path/with/many/segments/and/a/query?with=values&and=more HTTP/1.1\r\na:b\r\nc: "
    "d\r\nContent_Length: 3\r\n\r\n",
};

/* One that the processor does not have leaves the one before in place. */
static const char *const backends[] = {"swar", "sse42", "avx2", "avx512"};

static void damaged_requests(void **state)
{
    (void)state;
    static uvhttp_head_t head;
    static uvhttp_field_t table[FIELDS];
    for (int round = 0; round < ROUNDS; round++) {
        const char *sample = samples[random_below(sizeof samples / sizeof samples[0])];
        char text[MOST + 1];
        size_t length = strlen(sample);
        memcpy(text, sample, length);
        length = damage(text, length);
        if (random_below(8) == 0)
            length = random_below(length + 1);
        uvhttp_head_limits_t limits = {random_below(4) == 0 ? 20 + (uint32_t)random_below(200) : 1000,
                                       random_below(4) == 0 ? 1 + (uint32_t)random_below(64) : 1000,
                                       random_below(4) == 0 ? (uint32_t)random_below(6) : FIELDS};
        struct verdict expected = slow_request(text, length, &limits);
        uvhttp_parser_use_backend(backends[random_below(sizeof backends / sizeof backends[0])]);
        char *copy = malloc(length + 1); /* its end is what a sanitizer watches */
        assert_non_null(copy);
        uvhttp_head_init(&head, table, FIELDS);
        uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
        memcpy(copy + 1, text, length);
        result = uvhttp_request_head_parse(&head, copy + 1, length, &limits);
        compare(&head, result, &expected);
        uvhttp_head_init(&head, table, FIELDS);
        size_t step = 1 + random_below(20);
        for (size_t at_hand = random_below(step);; at_hand += 1 + random_below(step)) {
            at_hand = at_hand < length ? at_hand : length;
            result = uvhttp_request_head_parse(&head, copy + 1, at_hand, &limits);
            if (result != UVHTTP_PARSE_MORE || at_hand == length)
                break;
        }
        compare(&head, result, &expected);
        free(copy);
    }
    assert_true(uvhttp_parser_use_backend(NULL));
}

/* Framing takes apart whatever head was accepted; what it gives lies within that head. */
static void framing_of_damaged_requests(void **state)
{
    (void)state;
    static uvhttp_head_t head;
    uvhttp_head_limits_t limits = {1000, 1000, 32};
    int accepted = 0;
    for (int round = 0; round < ROUNDS / 3; round++) {
        const char *sample = samples[random_below(sizeof samples / sizeof samples[0])];
        char text[MOST + 1];
        size_t length = strlen(sample);
        memcpy(text, sample, length);
        length = damage(text, length);
        char *copy = malloc(length);
        assert_non_null(copy);
        memcpy(copy, text, length);
        uvhttp_head_init(&head, NULL, 0);
        uvhttp_framing_t framing;
        if (uvhttp_request_head_parse(&head, copy, length, &limits) == UVHTTP_PARSE_DONE &&
            uvhttp_request_framing(&head, &framing) == UVHTTP_REASON_NONE) {
            const uvhttp_slice_t slices[] = {framing.authority, framing.query};
            accepted++;
            for (size_t i = 0; i < 2; i++) {
                if (slices[i].base != NULL)
                    assert_true(slices[i].base >= copy &&
                                slices[i].base + slices[i].length <= copy + head.size);
            }
            assert_true(framing.target_form == UVHTTP_TARGET_AUTHORITY || framing.path.length > 0);
            assert_true(framing.body == UVHTTP_BODY_LENGTH || framing.content_length == 0);
        }
        free(copy);
    }
    assert_true(accepted > ROUNDS / 30);
}

static void a_larger_field_table(void **state)
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
            length += (size_t)snprintf(text + length, sizeof text - length, "Field-%u: %u\r\n", i, i);
        length += (size_t)snprintf(text + length, sizeof text - length, "\r\n");
        uvhttp_head_init(&head, table, MANY);
        uvhttp_parse_result_t result = uvhttp_request_head_parse(&head, text, length, &limits);
        assert_int_equal(result, count == MANY ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
        assert_int_equal(head.reason, count == MANY ? UVHTTP_REASON_NONE : UVHTTP_REASON_TOO_MANY_FIELDS);
    }
    assert_ptr_equal(head.fields, table);
    uvhttp_head_init(&head, NULL, 0);
    assert_ptr_equal(head.fields, head.inline_fields);
    assert_int_equal(head.field_capacity, UVHTTP_HEAD_INLINE_FIELDS);
}

static void finding_fields(void **state)
{
    (void)state;
    static const char text[] =
        "GET / HTTP/1.1\r\nX-A: 1\r\nHost: h\r\nAccept: a\r\nx-a: 2\r\nACCEPT: b\r\n\r\n";
    static uvhttp_head_t head;
    uvhttp_head_limits_t limits = {1000, 100, 100};
    uvhttp_head_init(&head, NULL, 0);
    assert_int_equal(uvhttp_request_head_parse(&head, text, sizeof text - 1, &limits), UVHTTP_PARSE_DONE);
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
        cmocka_unit_test(damaged_requests),
        cmocka_unit_test(framing_of_damaged_requests),
        cmocka_unit_test(a_larger_field_table),
        cmocka_unit_test(finding_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
