/* Heads in several slices: for all splits the results are those of one buffer, and bytes are copied
 * only if and as often as documented. Every slice ends at a protected page, and so does the memory
 * to gather them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "support/backends.h"
#include "support/guarded.h"

enum { AREAS = 7, AREA_SIZE = 16384, GATHER = AREAS - 1, MOST_CHUNKS = AREAS - 1 };

typedef uvhttp_parse_result_t (*parse_fn)(uvhttp_head_t *, const char *, size_t,
                                          const uvhttp_head_limits_t *);
typedef uvhttp_parse_result_t (*parse_slices_fn)(uvhttp_head_t *, const uvhttp_slice_t *, size_t,
                                                 char *, const uvhttp_head_limits_t *);

struct sample {
    bool response;
    const char *text;
};

static const struct sample samples[] = {
    {false, "GET / HTTP/1.1\r\n\r\n"},
    {false, "GET /a?b HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n"},
    {false, "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nbody\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n"},
    {false, "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nxy"},
    {false, "\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n\r\n"},
    {false, "\r\n\r\n\r\n\r\n"},
    {false, "\r\n\r\n\rGET / HTTP/1.1\r\n\r\n"},
    {false, "\r\n\r\n\nGET / HTTP/1.1\r\n\r\n"},
    {false, "\n\r\nGET / HTTP/1.1\r\n\r\n"},
    {false, "\r\n\r\nG\r\n\r\nx"},
    {false, "OTHER-METHOD-NAME * HTTP/1.1\r\nA:b\r\nA: \t \r\na:\tc \r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\r\nAccept"},
    {false, "GET / HTTP/1.1\r\n"},
    {false, ""},
    {false, "G@T / HTTP/1.1\r\n\r\n"},
    {false, "GET /a#b HTTP/1.1\r\n\r\n"},
    {false, "GET /a b HTTP/1.1\r\n\r\n"},
    {false, "GET /\r\n\r\n"},
    {false, "GET / HTTP/2.0\r\n\r\n"},
    {false, "GET / HTTP/1.1\n\r\nHost: a\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\r\n\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nA: b\x01z\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\nno colon\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\n\rX: y\r\n\r\n"},
    {false, "GET / HTTP/1.1\r\na:1\r\nb:2\r\nc:3\r\nd:4\r\ne:5\r\nf:6\r\ng:7\r\n\r\n"},
    {false,
     "GET /a-target-that-is-longer-than-the-limit-allows-it-to-be-in-this-test HTTP/1.1\r\n\r\n"},
    {true, "HTTP/1.1 200 OK\r\n\r\n"},
    {true, "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 4\r\n\r\nb\r\n\r\n"},
    {true, "HTTP/1.0 404 \r\nA: b\r\n\r\n"},
    {true, "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"},
    {true, "HTTP/1.1 200 OK\n\r\nA: b\r\n\r\n"},
    {true, "HTTP/1.1 20x OK\r\n\r\n"},
    {true, "HTTP/1.1 200 O\x7fK\r\n\r\n"},
    {true, "HTTP/1.1 200 OK\r\nA: b\r\n\r\r\n\r\n"},
};

enum { SAMPLE_COUNT = sizeof samples / sizeof samples[0] };

static const uvhttp_head_limits_t default_limits = {4096, 60, 6};

static struct guarded areas[AREAS];
static uint32_t seed = 19;

static size_t random_below(size_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

/* Memory of `size` bytes before a protected page. */
static char *memory_of(size_t index, size_t size)
{
    assert_true(size <= AREA_SIZE);
    return areas[index].end - size;
}

static parse_fn parse_of(const struct sample *sample)
{
    return sample->response ? uvhttp_response_head_parse : uvhttp_request_head_parse;
}

static parse_slices_fn parse_slices_of(const struct sample *sample)
{
    return sample->response ? uvhttp_response_head_parse_slices : uvhttp_request_head_parse_slices;
}

static void same_bytes(const uvhttp_head_t *a, const uvhttp_head_t *b, uint32_t offset,
                       uint32_t length)
{
    assert_memory_equal(a->base + offset, b->base + offset, length);
}

/* Both heads have the same content and refer to the same bytes. */
static void same_head(uvhttp_parse_result_t result, const uvhttp_head_t *head,
                      uvhttp_parse_result_t expected_result, const uvhttp_head_t *expected)
{
    assert_int_equal(result, expected_result);
    if (result == UVHTTP_PARSE_BAD) {
        assert_int_equal(head->reason, expected->reason);
        assert_int_equal(head->reason_offset, expected->reason_offset);
    }
    if (result != UVHTTP_PARSE_DONE)
        return;
    assert_int_equal(head->size, expected->size);
    assert_int_equal(head->start, expected->start);
    assert_int_equal(head->method, expected->method);
    assert_int_equal(head->method_length, expected->method_length);
    assert_int_equal(head->minor_version, expected->minor_version);
    assert_int_equal(head->target_offset, expected->target_offset);
    assert_int_equal(head->target_length, expected->target_length);
    assert_int_equal(head->query_offset, expected->query_offset);
    assert_int_equal(head->status, expected->status);
    assert_int_equal(head->reason_phrase_offset, expected->reason_phrase_offset);
    assert_int_equal(head->reason_phrase_length, expected->reason_phrase_length);
    assert_int_equal(head->field_count, expected->field_count);
    assert_memory_equal(head->fields, expected->fields, head->field_count * sizeof head->fields[0]);
    assert_true(head->present == expected->present);
    same_bytes(head, expected, 0, head->size);
}

/* Splits `text` at the given offsets (in order) into slices in separate memory. Returns their
 * number. */
static size_t split(const char *text, size_t length, const size_t *offsets, size_t offset_count,
                    uvhttp_slice_t chunks[MOST_CHUNKS])
{
    size_t start = 0;
    for (size_t i = 0; i <= offset_count; i++) {
        size_t end = i < offset_count ? offsets[i] : length;
        chunks[i] =
            (uvhttp_slice_t){guarded_copy(&areas[i], text + start, end - start), end - start};
        start = end;
    }
    return offset_count + 1;
}

/* Checks where the head is, and that only allowed bytes of `gather` were written. */
static void check_copies(const uvhttp_head_t *head, uvhttp_parse_result_t result,
                         const uvhttp_slice_t *chunks, size_t count, const char *gather,
                         size_t gather_size)
{
    for (size_t i = head->gathered; i < gather_size; i++)
        assert_int_equal(gather[i], '~');
    if (result != UVHTTP_PARSE_DONE)
        return;
    if (head->base == gather) {
        assert_int_equal(head->gathered, head->size);
        return;
    }
    assert_int_equal(head->gathered, 0);
    while (count > 0 && chunks->length == 0) {
        chunks++;
        count--;
    }
    assert_true(count > 0 && head->base == chunks->base);
}

/* One call with all bytes in these slices, compared with one buffer. */
static void run_once(const struct sample *sample, const size_t *offsets, size_t offset_count,
                     const uvhttp_head_limits_t *limits)
{
    size_t length = strlen(sample->text);
    uvhttp_head_t expected;
    uvhttp_head_init(&expected, NULL, 0);
    uvhttp_parse_result_t expected_result =
        parse_of(sample)(&expected, sample->text, length, limits);

    uvhttp_slice_t chunks[MOST_CHUNKS];
    size_t count = split(sample->text, length, offsets, offset_count, chunks);
    char *gather = memory_of(GATHER, limits->max_size);
    memset(gather, '~', limits->max_size);
    uvhttp_head_t head;
    uvhttp_head_init(&head, NULL, 0);
    uvhttp_parse_result_t result = parse_slices_of(sample)(&head, chunks, count, gather, limits);
    same_head(result, &head, expected_result, &expected);
    check_copies(&head, result, chunks, count, gather, limits->max_size);
    bool in_first =
        result == UVHTTP_PARSE_DONE && head.size <= (offset_count > 0 ? offsets[0] : length);
    if (in_first)
        assert_ptr_equal(head.base, chunks[0].base);
}

static void two_way_split_matches_whole(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        size_t length = strlen(samples[s].text);
        run_once(&samples[s], NULL, 0, &default_limits);
        for (size_t at = 0; at <= length; at++)
            run_once(&samples[s], &at, 1, &default_limits);
    }
}

static void three_way_split_matches_whole(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        size_t length = strlen(samples[s].text);
        for (size_t first = 0; first <= length; first++) {
            for (size_t second = first; second <= length; second++)
                run_once(&samples[s], (size_t[]){first, second}, 2, &default_limits);
        }
    }
}

/* Every limit up to one byte more than required, with every two-way split. */
static void limits_apply_to_split_heads(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        size_t length = strlen(samples[s].text);
        for (uint32_t most = 0; most <= length + 1; most++) {
            uvhttp_head_limits_t limits = {most, 60, 6};
            for (size_t at = 0; at <= length; at++)
                run_once(&samples[s], &at, 1, &limits);
        }
    }
}

/* Up to five random offsets, in order. */
static size_t random_offsets(size_t length, size_t offsets[MOST_CHUNKS])
{
    size_t count = random_below(MOST_CHUNKS);
    size_t from = 0;
    for (size_t i = 0; i < count; i++)
        offsets[i] = from = from + random_below(length - from + 1);
    return count;
}

/* A head that grows between calls and is split anew each time: at every length the result is that
 * of one buffer that grows likewise. Gathered bytes are replaced in the input, so that reading them
 * again is detected. */
static void run_growing(const struct sample *sample, const uvhttp_head_limits_t *limits,
                        size_t most_step)
{
    char text[256];
    size_t length = strlen(sample->text);
    assert_true(length <= sizeof text);
    memcpy(text, sample->text, length);
    uvhttp_head_t expected;
    uvhttp_head_t head;
    uvhttp_head_init(&expected, NULL, 0);
    uvhttp_head_init(&head, NULL, 0);
    char *gather = memory_of(GATHER, limits->max_size);
    memset(gather, '~', limits->max_size);
    uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
    for (size_t size = 0; result == UVHTTP_PARSE_MORE;) {
        size_t left = length - size;
        size += left == 0 ? 0 : random_below((left < most_step ? left : most_step) + 1);
        uvhttp_slice_t chunks[MOST_CHUNKS];
        size_t offsets[MOST_CHUNKS];
        size_t offset_count = random_offsets(size, offsets);
        size_t count = split(text, size, offsets, offset_count, chunks);
        uint32_t gathered = head.gathered;
        uvhttp_parse_result_t expected_result =
            parse_of(sample)(&expected, sample->text, size, limits);
        result = parse_slices_of(sample)(&head, chunks, size == 0 ? 0 : count, gather, limits);
        same_head(result, &head, expected_result, &expected);
        check_copies(&head, result, chunks, count, gather, limits->max_size);
        assert_true(head.gathered >= gathered && head.gathered <= size);
        if (gathered > 0 && result == UVHTTP_PARSE_DONE)
            assert_ptr_equal(head.base, gather);
        assert_memory_equal(gather, sample->text, head.gathered);
        memset(text, '!', head.gathered);
        if (size == length)
            break;
    }
}

static void growing_head_matches_whole(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        for (int round = 0; round < 400; round++) {
            uvhttp_head_limits_t limits = default_limits;
            if (round % 4 == 0)
                limits.max_size = (uint32_t)random_below(strlen(samples[s].text) + 2);
            run_growing(&samples[s], &limits, round % 3 == 0 ? 1 : 40);
        }
    }
}

/* A head in a single slice is never copied, however often it is incomplete. */
static void single_slice_is_never_copied(void **state)
{
    (void)state;
    const char *text = samples[1].text;
    size_t length = strlen(text);
    uvhttp_head_t head;
    uvhttp_head_init(&head, NULL, 0);
    for (size_t size = 0; size <= length; size++) {
        uvhttp_slice_t chunks[3] = {{NULL, 0}, {memory_of(0, size), size}, {NULL, 0}};
        memcpy(memory_of(0, size), text, size);
        uvhttp_parse_result_t result =
            uvhttp_request_head_parse_slices(&head, chunks, 3, NULL, &default_limits);
        assert_int_equal(result, size < length ? UVHTTP_PARSE_MORE : UVHTTP_PARSE_DONE);
        assert_int_equal(head.gathered, 0);
    }
    assert_ptr_equal(head.base, memory_of(0, length));
}

/* A head of the largest size that ends exactly at the end of the memory to gather, in many slices,
 * with a body following. */
static void largest_head_is_gathered(void **state)
{
    (void)state;
    enum { SIZE = 8192 };
    static const char begin[] = "GET / HTTP/1.1\r\nX: ";
    static char text[SIZE + 10];
    memset(text, 'x', sizeof text);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + SIZE - 4, "\r\n\r\n", 4);
    for (uint32_t most = SIZE - 1; most <= SIZE + 1; most++) {
        uvhttp_head_limits_t limits = {most, 100, 6};
        for (int round = 0; round < 200; round++) {
            uvhttp_slice_t chunks[MOST_CHUNKS];
            size_t offsets[MOST_CHUNKS];
            size_t count =
                split(text, sizeof text, offsets, random_offsets(sizeof text, offsets), chunks);
            uvhttp_head_t head;
            uvhttp_head_init(&head, NULL, 0);
            char *gather = memory_of(GATHER, most);
            uvhttp_parse_result_t result =
                uvhttp_request_head_parse_slices(&head, chunks, count, gather, &limits);
            if (most < SIZE) {
                assert_int_equal(result, UVHTTP_PARSE_BAD);
                assert_int_equal(head.reason, UVHTTP_REASON_HEAD_TOO_LARGE);
                assert_int_equal(head.reason_offset, most);
            } else {
                assert_int_equal(result, UVHTTP_PARSE_DONE);
                assert_int_equal(head.size, SIZE);
            }
        }
    }
}

/* From a ring whose head wraps around the end of its memory, as in programs. */
static void ring_slices_are_parsed(void **state)
{
    (void)state;
    static const char text[] =
        "GET /wrap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n01234567890123456789";
    static const size_t head_size = sizeof text - 1 - 20;
    char memory[128];
    char gather[128];
    uvhttp_head_limits_t limits = {sizeof gather, 64, 8};
    uvhttp_ring_t ring;
    uvhttp_ring_init(&ring, memory, sizeof memory);
    for (size_t offset = 0; offset < sizeof memory; offset++) {
        uvhttp_slice_t chunks[2];
        uvhttp_head_t head;
        uvhttp_head_init(&head, NULL, 0);
        ring.start = offset;
        assert_int_equal(uvhttp_ring_write(&ring, text, sizeof text - 1), sizeof text - 1);
        size_t count = uvhttp_ring_readable(&ring, chunks);
        assert_int_equal(uvhttp_request_head_parse_slices(&head, chunks, count, gather, &limits),
                         UVHTTP_PARSE_DONE);
        assert_int_equal(head.size, head_size);
        assert_int_equal(head.gathered, offset + head_size > sizeof memory ? head_size : 0);
        uvhttp_ring_consume(&ring, head.size);
        assert_int_equal(uvhttp_ring_consume(&ring, SIZE_MAX), 20);
    }
}

static void on_every_backend(void (*run)(void **state))
{
    for (size_t at = 0; backends_next(&at);)
        run(NULL);
}

#define ON_EVERY_BACKEND(name)                \
    static void name##_backends(void **state) \
    {                                         \
        (void)state;                          \
        on_every_backend(name);               \
    }

ON_EVERY_BACKEND(two_way_split_matches_whole)
ON_EVERY_BACKEND(three_way_split_matches_whole)
ON_EVERY_BACKEND(limits_apply_to_split_heads)
ON_EVERY_BACKEND(growing_head_matches_whole)
ON_EVERY_BACKEND(single_slice_is_never_copied)
ON_EVERY_BACKEND(largest_head_is_gathered)
ON_EVERY_BACKEND(ring_slices_are_parsed)

static int make_areas(void **state)
{
    (void)state;
    for (size_t i = 0; i < AREAS; i++)
        areas[i] = guarded_make(AREA_SIZE);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_way_split_matches_whole_backends),
        cmocka_unit_test(three_way_split_matches_whole_backends),
        cmocka_unit_test(limits_apply_to_split_heads_backends),
        cmocka_unit_test(growing_head_matches_whole_backends),
        cmocka_unit_test(single_slice_is_never_copied_backends),
        cmocka_unit_test(largest_head_is_gathered_backends),
        cmocka_unit_test(ring_slices_are_parsed_backends),
    };
    return cmocka_run_group_tests(tests, make_areas, NULL);
}
