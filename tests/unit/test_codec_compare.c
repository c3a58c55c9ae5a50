/* Compares the parser with the slow reference parser of tests/reference. Random and damaged
 * messages are parsed on every back end: whole, growing, and in several slices. The results must be
 * equal, including the reason and its offset.
 *
 * As a test it compares a fixed number of messages, always the same ones. By hand, any number of
 * new ones:
 *
 *     test_codec_compare COUNT [SEED [FIRST]]       or ./dev fuzz compare COUNT [SEED [FIRST]]
 *
 * SEED is printed; with it, the number of a message as FIRST, and 1 as COUNT, the same message is
 * generated again. Vectors for each rule are in tests/vectors. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "reference/chunked.h"
#include "reference/compare.h"
#include "reference/messages.h"
#include "reference/text.h"
#include "support/backends.h"
#include "support/guarded.h"

/* Sanitizers are slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_MESSAGES = 50000 };
#else
enum { TEST_MESSAGES = 300000 };
#endif
enum { MOST_CHUNKS = 4, MOST_REPORTS = 5, LONGEST_TEXT = 1024 };

enum kind { REQUEST, RESPONSE, TRAILERS, CHUNKED, TEXT, KINDS };

static const char *const kind_names[KINDS] = {"requests", "responses", "trailers", "chunked bodies",
                                              "texts"};

/* A head or trailer section with the expected result. */
struct subject {
    enum kind kind;
    struct message *message; /* its random numbers also choose where to split */
    uvhttp_head_limits_t limits;
    uint16_t capacity; /* 0: the fields of the head itself */
    uvhttp_method_t request_method;
    /* The smallest number of bytes that decides the result; SIZE_MAX: unknown. */
    size_t decided;
    struct reference_head head;
    struct reference_framing framing;
};

struct run {
    uint64_t seed;
    uint64_t index;
    uint64_t results[KINDS][3];
    uint64_t reasons[UVHTTP_REASON_COUNT];
    uint64_t failures;
};

static struct guarded areas[MOST_CHUNKS];
static struct guarded gather_area;
static struct run run;
static uvhttp_field_t table[REFERENCE_FIELDS];
static uvhttp_head_t head;

static void print_bytes(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (reference_is_visible(c) || c == ' ')
            printf(c == '\\' ? "\\%c" : "%c", c);
        else
            printf("\\x%02x", (unsigned)(unsigned char)c);
    }
    printf("\n");
}

/* Reports the difference, if any, with the data to reproduce it. */
static void report(enum kind kind, const char *how, const char *difference,
                   const struct message *message)
{
    if (difference == NULL || run.failures++ >= MOST_REPORTS)
        return;
    printf("%s: %s differs, %s, back end %s; seed %" PRIu64 ", message %" PRIu64 ":\n",
           kind_names[kind], difference, how, uvhttp_parser_backend(), run.seed, run.index);
    print_bytes(message->bytes, message->length);
}

static void count(enum kind kind, uvhttp_parse_result_t result, uvhttp_reason_t reason)
{
    run.results[kind][result]++;
    run.reasons[reason]++;
}

static uvhttp_parse_result_t parse(const struct subject *subject, const char *data, size_t length)
{
    switch (subject->kind) {
    case REQUEST:
        return uvhttp_request_head_parse(&head, data, length, &subject->limits);
    case RESPONSE:
        return uvhttp_response_head_parse(&head, data, length, &subject->limits);
    default:
        return uvhttp_trailers_parse(&head, data, length, &subject->limits);
    }
}

static void begin(const struct subject *subject)
{
    uvhttp_head_init(&head, subject->capacity > 0 ? table : NULL, subject->capacity);
}

static void check(const struct subject *subject, const char *how, uvhttp_parse_result_t result)
{
    const struct message *message = subject->message;
    const char *difference = compare_head(&head, result, &subject->head);
    report(subject->kind, how, difference, message);
    if (difference != NULL || result != UVHTTP_PARSE_DONE)
        return;
    if (memcmp(head.base, message->bytes, head.size) != 0)
        report(subject->kind, how, "the bytes at head.base", message);
    if (subject->kind == TRAILERS)
        return;
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason =
        subject->kind == REQUEST
            ? uvhttp_request_framing(&head, &framing)
            : uvhttp_response_framing(&head, subject->request_method, &framing);
    report(
        subject->kind, how,
        compare_framing(&framing, reason, head.base, &subject->framing, message->bytes, head.size),
        message);
}

static void check_whole(const struct subject *subject)
{
    const struct message *message = subject->message;
    begin(subject);
    check(
        subject, "whole before a protected page",
        parse(subject, guarded_copy(&areas[0], message->bytes, message->length), message->length));
    begin(subject);
    check(subject, "whole after a protected page",
          parse(subject, guarded_copy_front(&areas[0], message->bytes, message->length),
                message->length));
}

/* Growing input, by one byte at a time up to all but one at once. The result must come as soon as
 * the bytes allow it. */
static void check_grown(const struct subject *subject)
{
    struct message *message = subject->message;
    static const size_t steps[] = {1, 3, 20, 100, 1000, MESSAGE_CAPACITY};
    size_t step = MESSAGE_PICK(message, steps);
    if (step * 200 < message->length)
        step = 100;
    size_t available = message_below(message, step);
    uvhttp_parse_result_t result;
    bool late = false;
    begin(subject);
    for (;; available += 1 + message_below(message, step)) {
        available = available < message->length ? available : message->length;
        result = parse(subject, guarded_copy(&areas[0], message->bytes, available), available);
        if (result != UVHTTP_PARSE_MORE || available == message->length)
            break;
        late = late || available >= subject->decided;
    }
    check(subject, "growing", result);
    report(subject->kind, "growing", late ? "the time of the result" : NULL, message);
}

/* Splits the first `length` bytes into slices that each end at a protected page. */
static size_t split_message(struct message *message, size_t length,
                            uvhttp_slice_t chunks[MOST_CHUNKS])
{
    size_t number = 1 + message_below(message, MOST_CHUNKS);
    size_t done = 0;
    for (size_t i = 0; i < number; i++) {
        size_t size = i + 1 == number ? length - done : message_below(message, length - done + 1);
        chunks[i] = (uvhttp_slice_t){guarded_copy(&areas[i], message->bytes + done, size), size};
        done += size;
    }
    return number;
}

/* In slices, split anew at each call; the memory to gather them has the smallest allowed size. */
static void check_slices(const struct subject *subject)
{
    struct message *message = subject->message;
    char *gather = gather_area.end - subject->limits.max_size;
    size_t available =
        message_chance(message, 2) ? message->length : message_below(message, message->length + 1);
    uvhttp_parse_result_t result;
    begin(subject);
    for (;;) {
        uvhttp_slice_t chunks[MOST_CHUNKS];
        size_t number = split_message(message, available, chunks);
        result =
            subject->kind == REQUEST
                ? uvhttp_request_head_parse_slices(&head, chunks, number, gather, &subject->limits)
                : uvhttp_response_head_parse_slices(&head, chunks, number, gather,
                                                    &subject->limits);
        if (result != UVHTTP_PARSE_MORE || available == message->length)
            break;
        available += 1 + message_below(message, message->length - available);
    }
    check(subject, "in slices", result);
}

static void choose_limits(struct subject *subject)
{
    struct message *message = subject->message;
    static const uint16_t capacities[] = {0, 0, 0, 0, 0, 0, 3, 33, 128, 128, 128, REFERENCE_FIELDS};
    subject->limits = (uvhttp_head_limits_t){16384, 8192, 100};
    subject->capacity = MESSAGE_PICK(message, capacities);
    if (message_chance(message, 8))
        subject->limits.max_size = (uint32_t)message_below(message, message->length + 2);
    if (message_chance(message, 8))
        subject->limits.max_target = (uint32_t)message_below(message, 80);
    if (message_chance(message, 8))
        subject->limits.max_fields = (uint32_t)message_below(message, 40);
}

static void expect(const struct subject *subject, struct reference_head *expected, size_t length)
{
    static void (*const parsers[])(struct reference_head *, const char *, size_t,
                                   const uvhttp_head_limits_t *, size_t) = {
        reference_request, reference_response, reference_trailers};
    size_t capacity = subject->capacity > 0 ? subject->capacity : UVHTTP_HEAD_INLINE_FIELDS;
    parsers[subject->kind](expected, subject->message->bytes, length, &subject->limits, capacity);
}

/* The number of bytes that decides the result. */
static void expect_decided(struct subject *subject)
{
    static struct reference_head part;
    size_t low = 0; /* too few, unless it is 0 */
    size_t high = subject->message->length;
    subject->decided = SIZE_MAX;
    if (subject->head.result == UVHTTP_PARSE_MORE || !message_chance(subject->message, 8))
        return;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        expect(subject, &part, middle);
        if (part.result == UVHTTP_PARSE_MORE)
            low = middle;
        else
            high = middle;
    }
    subject->decided = high;
}

static void compare_heads(struct subject *subject)
{
    static const uvhttp_method_t methods[] = {UVHTTP_METHOD_GET,     UVHTTP_METHOD_GET,
                                              UVHTTP_METHOD_POST,    UVHTTP_METHOD_HEAD,
                                              UVHTTP_METHOD_CONNECT, UVHTTP_METHOD_OTHER};
    const struct message *message = subject->message;
    struct reference_head *expected = &subject->head;
    choose_limits(subject);
    subject->request_method = MESSAGE_PICK(subject->message, methods);
    expect(subject, expected, message->length);
    expect_decided(subject);
    count(subject->kind, expected->result, expected->reason);
    if (expected->result == UVHTTP_PARSE_DONE && subject->kind != TRAILERS) {
        if (subject->kind == REQUEST)
            reference_request_framing(expected, message->bytes, &subject->framing);
        else
            reference_response_framing(expected, message->bytes, subject->request_method,
                                       &subject->framing);
        run.reasons[subject->framing.reason]++;
    }
    for (size_t at = 0; backends_next(&at);) {
        check_whole(subject);
        check_grown(subject);
        if (subject->kind != TRAILERS)
            check_slices(subject);
    }
}

/* The difference between a decoder's result and the expected one. */
static const char *chunked_difference(const struct reference_chunked *expected,
                                      uvhttp_parse_result_t result, unsigned reason,
                                      size_t consumed, const char *data, size_t length)
{
    if (result != expected->result)
        return "the result";
    if (reason != (unsigned)expected->reason)
        return "the reason";
    if (consumed != expected->consumed)
        return "the consumed size";
    if (length != expected->data_length || memcmp(data, expected->data, length) != 0)
        return "the data";
    return NULL;
}

/* In steps of up to `step` bytes; `in_place` decodes each step in place. */
static void check_chunked(struct message *message, const struct reference_chunked *expected,
                          uint32_t max_extension, size_t step, bool in_place)
{
    static char body[MESSAGE_CAPACITY];
    uvhttp_chunked_t decoder;
    uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
    size_t used = 0;
    size_t length = 0;
    uvhttp_chunked_init(&decoder, max_extension);
    while (result == UVHTTP_PARSE_MORE && used < message->length) {
        size_t size = 1 + message_below(message, step);
        size = size < message->length - used ? size : message->length - used;
        char *data = guarded_copy(&areas[0], message->bytes + used, size);
        size_t consumed;
        uvhttp_slice_t chunk = {data, 0};
        if (in_place)
            result = uvhttp_chunked_decode_in_place(&decoder, data, size, &consumed, &chunk.length);
        else
            result = uvhttp_chunked_decode(&decoder, data, size, &consumed, &chunk);
        if (result == UVHTTP_PARSE_MORE && (in_place ? consumed < size : consumed == 0)) {
            report(CHUNKED, in_place ? "in place" : "streaming", "the progress", message);
            return;
        }
        memcpy(body + length, chunk.length > 0 ? chunk.base : "", chunk.length);
        length += chunk.length;
        used += consumed;
    }
    report(CHUNKED, in_place ? "in place" : "streaming",
           chunked_difference(expected, result, decoder.reason, used, body, length), message);
}

static void compare_chunked(struct message *message)
{
    static char data[MESSAGE_CAPACITY];
    static const uint32_t limits[] = {256, 256, 16, 0};
    uint32_t max_extension = MESSAGE_PICK(message, limits);
    struct reference_chunked expected = {.data = data};
    reference_chunked_decode(&expected, message->bytes, message->length, max_extension);
    count(CHUNKED, expected.result, expected.reason);
    for (int in_place = 0; in_place < 2; in_place++) {
        check_chunked(message, &expected, max_extension, MESSAGE_CAPACITY, in_place);
        check_chunked(message, &expected, max_extension, 1 + message_below(message, 40), in_place);
        check_chunked(message, &expected, max_extension, 1, in_place);
    }
}

static bool same(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.base, b.base, a.length) == 0);
}

/* The same address, too; absent only if the other is absent. */
static bool identical(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length == b.length && (a.base == NULL) == (b.base == NULL) &&
           (a.length == 0 || a.base == b.base);
}

static const char *path_difference(uvhttp_slice_t raw)
{
    static char ours[LONGEST_TEXT];
    static char expected[LONGEST_TEXT];
    size_t our_length = 0;
    size_t length = 0;
    uvhttp_reason_t reason = reference_path(raw, expected, &length);
    count(TEXT, reason == UVHTTP_REASON_NONE ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD, reason);
    if (uvhttp_path_normalize(raw, ours, &our_length) != reason)
        return "the reason of the path";
    bool none = reason == UVHTTP_REASON_NONE;
    if (none && !same((uvhttp_slice_t){ours, our_length}, (uvhttp_slice_t){expected, length}))
        return "the path";
    bool normal = none && same(raw, (uvhttp_slice_t){expected, length}) &&
                  memchr(raw.base, '%', raw.length) == NULL;
    if (raw.length > 0 && raw.base[0] == '/' && uvhttp_path_is_normal(raw) != normal)
        return "that the path is normal";
    return NULL;
}

static const char *percent_difference(uvhttp_slice_t text, bool plus)
{
    static char ours[LONGEST_TEXT];
    static char expected[LONGEST_TEXT];
    size_t bad;
    ptrdiff_t length = reference_percent(text, plus, expected, &bad);
    ptrdiff_t our_length = uvhttp_percent_decode(text, ours, plus);
    if (our_length != length || (length > 0 && memcmp(ours, expected, (size_t)length) != 0))
        return "the decoded text";
    uvhttp_slice_t rest = text;
    uvhttp_slice_t chunk;
    size_t done = 0;
    int more;
    while ((more = uvhttp_percent_next(&rest, plus, &chunk)) > 0) {
        if (chunk.length == 0 || memcmp(chunk.base, expected + done, chunk.length) != 0)
            return "a decoded chunk";
        done += chunk.length;
    }
    if (more < 0 ? length >= 0 || rest.base != text.base + bad
                 : length < 0 || done != (size_t)length)
        return "the end of the decoded chunks";
    return NULL;
}

static const char *query_difference(uvhttp_slice_t text)
{
    uvhttp_slice_t rest[2] = {text, text};
    uvhttp_slice_t name[2];
    uvhttp_slice_t value[2];
    while (reference_query_next(&rest[0], &name[0], &value[0])) {
        if (!uvhttp_query_next(&rest[1], &name[1], &value[1]))
            return "the number of pairs";
        if (!identical(name[0], name[1]) || !identical(value[0], value[1]))
            return "a pair";
    }
    return uvhttp_query_next(&rest[1], &name[1], &value[1]) ? "the number of pairs" : NULL;
}

static const char *cookie_difference(uvhttp_slice_t text)
{
    uvhttp_slice_t rest[2] = {text, text};
    uvhttp_slice_t name[2];
    uvhttp_slice_t value[2];
    while (reference_cookie_next(&rest[0], &name[0], &value[0])) {
        if (!uvhttp_cookie_next(&rest[1], &name[1], &value[1]))
            return "the number of cookies";
        if (!identical(name[0], name[1]) || !identical(value[0], value[1]))
            return "a cookie";
    }
    return uvhttp_cookie_next(&rest[1], &name[1], &value[1]) ? "the number of cookies" : NULL;
}

/* Decoded to other memory, or in place. */
static const char *form_difference(uvhttp_slice_t text, bool in_place)
{
    static char scratch[LONGEST_TEXT];
    static char name_bytes[LONGEST_TEXT];
    static char value_bytes[LONGEST_TEXT];
    uvhttp_slice_t raw = text;
    uvhttp_slice_t rest = {in_place ? guarded_copy(&areas[1], text.base, text.length) : text.base,
                           text.length};
    for (;;) {
        uvhttp_slice_t name[2];
        uvhttp_slice_t value[2];
        size_t bad;
        bool more = reference_query_next(&raw, &name[0], &value[0]);
        char *space = in_place ? areas[1].end - rest.length : scratch;
        int result = uvhttp_form_next(&rest, space, &name[1], &value[1]);
        if (!more)
            return result == 0 ? NULL : "the end of the form";
        ptrdiff_t name_length = reference_percent(name[0], true, name_bytes, &bad);
        ptrdiff_t value_length = reference_percent(value[0], true, value_bytes, &bad);
        if (name_length < 0 || value_length < 0)
            return result == -1 ? NULL : "a malformed escape of the form";
        name[0] = (uvhttp_slice_t){name_bytes, (size_t)name_length};
        value[0] = (uvhttp_slice_t){value_bytes, (size_t)value_length};
        if (result != 1 || !same(name[0], name[1]) || !same(value[0], value[1]))
            return "a pair of the form";
    }
}

static void compare_text(struct message *message)
{
    if (message->length > LONGEST_TEXT)
        message->length = LONGEST_TEXT;
    uvhttp_slice_t text = {guarded_copy(&areas[0], message->bytes, message->length),
                           message->length};
    report(TEXT, "as a path", path_difference(text), message);
    report(TEXT, "decoded", percent_difference(text, false), message);
    report(TEXT, "decoded with '+'", percent_difference(text, true), message);
    report(TEXT, "as a query", query_difference(text), message);
    report(TEXT, "as cookies", cookie_difference(text), message);
    report(TEXT, "as a form", form_difference(text, false), message);
    report(TEXT, "as a form in place", form_difference(text, true), message);
}

static void make(struct message *message, enum kind kind)
{
    static void (*const makers[KINDS])(struct message *) = {
        message_make_request, message_make_response, message_make_trailers, message_make_chunked,
        message_make_text};
    message->length = 0;
    makers[kind](message);
}

static void compare_one(uint64_t seed, uint64_t index)
{
    static const enum kind kinds[] = {REQUEST,  REQUEST, REQUEST,  REQUEST,  REQUEST,  REQUEST,
                                      REQUEST,  REQUEST, RESPONSE, RESPONSE, RESPONSE, RESPONSE,
                                      TRAILERS, CHUNKED, CHUNKED,  TEXT};
    static struct message message;
    static struct message other;
    static struct subject subject;
    run.index = index;
    message.random = seed ^ (index * UINT64_C(0xd1342543de82ef95));
    enum kind kind = MESSAGE_PICK(&message, kinds);
    make(&message, kind);
    other.length = 0;
    if (message_chance(&message, 4)) {
        other.random = message_random(&message);
        make(&other, kind);
    }
    message_damage(&message, &other);
    if (kind == CHUNKED) {
        compare_chunked(&message);
    } else if (kind == TEXT) {
        compare_text(&message);
    } else {
        subject.kind = kind;
        subject.message = &message;
        compare_heads(&subject);
    }
}

static void compare_many(uint64_t seed, uint64_t first, uint64_t number)
{
    run = (struct run){.seed = seed};
    for (size_t i = 0; i < MOST_CHUNKS && areas[i].end == NULL; i++)
        areas[i] = guarded_make(MESSAGE_CAPACITY);
    if (gather_area.end == NULL)
        gather_area = guarded_make(MESSAGE_CAPACITY);
    for (uint64_t i = 0; i < number; i++)
        compare_one(seed, first + i);
}

static void random_messages_match_reference_parser(void **state)
{
    (void)state;
    compare_many(42, 0, TEST_MESSAGES);
    assert_int_equal(run.failures, 0);
    /* Random messages are only significant if accepted, incomplete and refused ones of each kind
     * occur, for every reason. */
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(run.results[kind][UVHTTP_PARSE_DONE] > TEST_MESSAGES / 100);
        assert_true(run.results[kind][UVHTTP_PARSE_BAD] > TEST_MESSAGES / 1000);
        assert_true(kind == TEXT || run.results[kind][UVHTTP_PARSE_MORE] > TEST_MESSAGES / 1000);
    }
    for (int reason = 0; reason < UVHTTP_REASON_COUNT; reason++) {
        if (reason == UVHTTP_REASON_ARGUMENT) /* not caused by any message */
            continue;
        if (run.reasons[reason] < 10)
            fail_msg("%s occurred %u times", uvhttp_reason_name((uvhttp_reason_t)reason),
                     (unsigned)run.reasons[reason]);
    }
}

static void print_summary(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-15s %10" PRIu64 " accepted %10" PRIu64 " incomplete %10" PRIu64 " refused\n",
               kind_names[kind], run.results[kind][UVHTTP_PARSE_DONE],
               run.results[kind][UVHTTP_PARSE_MORE], run.results[kind][UVHTTP_PARSE_BAD]);
    for (int reason = 1; reason < UVHTTP_REASON_COUNT; reason++)
        printf("%-20s %10" PRIu64 "\n", uvhttp_reason_name((uvhttp_reason_t)reason),
               run.reasons[reason]);
    printf("%" PRIu64 " differences\n", run.failures);
}

static int compare_by_hand(int argc, char **argv)
{
    uint64_t numbers[3] = {0, 0, 0}; /* COUNT, SEED, FIRST */
    if (getrandom(&numbers[1], sizeof(uint32_t), 0) != sizeof(uint32_t) || argc > 4)
        return 2;
    for (int i = 1; i < argc; i++) {
        char *end;
        numbers[i - 1] = strtoull(argv[i], &end, 10);
        if (*argv[i] == '\0' || *end != '\0') {
            fprintf(stderr, "usage: %s [COUNT [SEED [FIRST]]]\n", argv[0]);
            return 2;
        }
    }
    printf("seed %" PRIu64 "\n", numbers[1]);
    fflush(stdout); /* in case a message crashes the process */
    compare_many(numbers[1], numbers[2], numbers[0]);
    print_summary();
    return run.failures > 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_match_reference_parser),
    };
    return argc > 1 ? compare_by_hand(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
