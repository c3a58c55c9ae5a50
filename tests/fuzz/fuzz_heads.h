/* Heads and trailer sections for the fuzz targets. Each back end parses each input in one buffer,
 * in a growing buffer, and in slices. All results must be equal to those of the reference parser.
 * An accepted head that is written and parsed again has the same parts. */
#ifndef UVH_TESTS_FUZZ_HEADS_H
#define UVH_TESTS_FUZZ_HEADS_H

#include <uvhttp/writer.h>

#include "fuzz/fuzz_check.h"
#include "reference/compare.h"
#include "support/backends.h"

typedef uvhttp_parse_result_t (*parse_fn)(uvhttp_head_t *head, const char *data, size_t length,
                                          const uvhttp_head_limits_t *limits);
typedef uvhttp_parse_result_t (*slices_fn)(uvhttp_head_t *head, const uvhttp_slice_t *slices,
                                           size_t count, char *gather,
                                           const uvhttp_head_limits_t *limits);

enum head_kind { HEAD_REQUEST, HEAD_RESPONSE, HEAD_TRAILERS };

/* HEAD_POISON fills bytes that must be neither read nor written. */
enum { HEAD_SLICES = 3, HEAD_POISON = 0x5a };

struct head_input {
    enum head_kind kind;
    const char *data;
    size_t length;
    uvhttp_head_limits_t limits;
    size_t step;                    /* number of bytes that arrive at once */
    size_t splits[HEAD_SLICES - 1]; /* offsets at which it is split into slices, in order */
    uvhttp_method_t request_method; /* of the request of a response */
};

/* The result of the reference parser. */
struct head_expected {
    struct reference_head head;
    struct reference_framing framing;
};

static parse_fn const head_parsers[] = {uvhttp_request_head_parse, uvhttp_response_head_parse,
                                        uvhttp_trailers_parse};
static slices_fn const head_slices_parsers[] = {uvhttp_request_head_parse_slices,
                                                uvhttp_response_head_parse_slices};

static inline void head_expect(const struct head_input *input, struct head_expected *expected)
{
    static void (*const parsers[])(struct reference_head *, const char *, size_t,
                                   const uvhttp_head_limits_t *, size_t) = {
        reference_request, reference_response, reference_trailers};
    parsers[input->kind](&expected->head, input->data, input->length, &input->limits,
                         UVHTTP_HEAD_INLINE_FIELDS);
    if (expected->head.result != UVHTTP_PARSE_DONE)
        return;
    if (input->kind == HEAD_REQUEST)
        reference_request_framing(&expected->head, input->data, &expected->framing);
    else if (input->kind == HEAD_RESPONSE)
        reference_response_framing(&expected->head, input->data, input->request_method,
                                   &expected->framing);
}

static inline void head_check(const struct head_input *input, const struct head_expected *expected,
                              const uvhttp_head_t *head, uvhttp_parse_result_t result,
                              const char *how)
{
    require_same(compare_head(head, result, &expected->head), how);
    if (result != UVHTTP_PARSE_DONE)
        return;
    require(memcmp(head->base, input->data, head->size) == 0);
    if (input->kind == HEAD_TRAILERS)
        return;
    uvhttp_framing_t framing;
    memset(&framing, 0xa5, sizeof framing);
    uvhttp_reason_t reason = input->kind == HEAD_REQUEST
                                 ? uvhttp_request_framing(head, &framing)
                                 : uvhttp_response_framing(head, input->request_method, &framing);
    require_same(
        compare_framing(&framing, reason, head->base, &expected->framing, input->data, head->size),
        how);
}

static inline void head_whole(const struct head_input *input, const struct head_expected *expected)
{
    static uvhttp_head_t head;
    char *copy = exact_copy(input->data, input->length);
    uvhttp_head_init(&head, NULL, 0);
    uvhttp_parse_result_t result =
        head_parsers[input->kind](&head, copy, input->length, &input->limits);
    head_check(input, expected, &head, result, "whole");
    free(copy);
}

static inline void head_grown(const struct head_input *input, const struct head_expected *expected)
{
    static uvhttp_head_t head;
    size_t available = input->step / 2;
    uvhttp_head_init(&head, NULL, 0);
    for (bool more = true; more; available += input->step) {
        available = available < input->length ? available : input->length;
        char *copy = exact_copy(input->data, available);
        uvhttp_parse_result_t result =
            head_parsers[input->kind](&head, copy, available, &input->limits);
        more = result == UVHTTP_PARSE_MORE && available < input->length;
        if (!more)
            head_check(input, expected, &head, result, "growing");
        free(copy);
    }
}

/* The first `available` bytes in slices that the caller frees. The first `gathered` of them are
 * overwritten, since the parser does not need them any more. */
static inline void head_split(const struct head_input *input, size_t gathered, size_t available,
                              const size_t *splits, uvhttp_slice_t slices[HEAD_SLICES],
                              char *copies[HEAD_SLICES])
{
    size_t start = 0;
    for (size_t i = 0; i < HEAD_SLICES; i++) {
        size_t end = i + 1 < HEAD_SLICES && splits[i] < available ? splits[i] : available;
        size_t poisoned = gathered < start ? 0 : gathered - start;
        copies[i] = exact_copy(input->data + start, end - start);
        memset(copies[i], HEAD_POISON, poisoned < end - start ? poisoned : end - start);
        slices[i] = (uvhttp_slice_t){copies[i], end - start};
        start = end;
    }
}

/* Parses `available` bytes first, and then, split elsewhere, all. */
static inline void head_slices(const struct head_input *input, const struct head_expected *expected,
                               size_t available)
{
    static uvhttp_head_t head;
    const size_t other_splits[HEAD_SLICES - 1] = {input->splits[0] / 2, input->splits[0]};
    size_t capacity = input->limits.max_size;
    size_t size = input->length < capacity ? input->length : capacity;
    char *gather = malloc(capacity);
    require(gather != NULL);
    memset(gather, HEAD_POISON, size);
    uvhttp_head_init(&head, NULL, 0);
    for (bool more = true; more;) {
        char *copies[HEAD_SLICES];
        uvhttp_slice_t slices[HEAD_SLICES];
        const size_t *splits = available < input->length ? other_splits : input->splits;
        head_split(input, head.gathered, available, splits, slices, copies);
        uvhttp_parse_result_t result =
            head_slices_parsers[input->kind](&head, slices, HEAD_SLICES, gather, &input->limits);
        more = result == UVHTTP_PARSE_MORE && available < input->length;
        available = input->length;
        if (!more)
            head_check(input, expected, &head, result, "in slices");
        /* Nothing is copied after the empty line. */
        if (result == UVHTTP_PARSE_DONE && head.base == gather && head.size < size)
            require(gather[head.size] == HEAD_POISON);
        for (size_t i = 0; i < HEAD_SLICES; i++)
            free(copies[i]);
    }
    free(gather);
}

static inline uvhttp_slice_t head_part(const uvhttp_head_t *head, size_t offset, size_t length)
{
    return (uvhttp_slice_t){head->base + offset, length};
}

/* As a string that the caller frees. An accepted part contains no NUL. */
static inline char *head_string(const uvhttp_head_t *head, size_t offset, size_t length)
{
    char *string = malloc(length + 1);
    require(string != NULL);
    memcpy(string, head->base + offset, length);
    string[length] = '\0';
    return string;
}

static inline void head_write_start(uvhttp_writer_t *writer, enum head_kind kind,
                                    const uvhttp_head_t *head)
{
    if (kind == HEAD_REQUEST) {
        char *method = head_string(head, head->start, head->method_length);
        char *target = head_string(head, head->target_offset, head->target_length);
        require(uvhttp_writer_request_line(writer, method, target));
        free(method);
        free(target);
    } else {
        char *phrase = head_string(head, head->reason_phrase_offset, head->reason_phrase_length);
        /* A parser accepts a status below 100, but a writer must not send it. */
        require(uvhttp_writer_status_line(writer, head->status, phrase) == (head->status >= 100));
        free(phrase);
    }
}

static inline void head_check_written(enum head_kind kind, const uvhttp_head_t *head,
                                      const uvhttp_head_t *again)
{
    require(again->field_count == head->field_count && again->status == head->status);
    if (kind == HEAD_REQUEST) {
        require(again->method == head->method && again->start == 0);
        require(slice_equal(head_part(again, again->start, again->method_length),
                            head_part(head, head->start, head->method_length)));
        require(slice_equal(head_part(again, again->target_offset, again->target_length),
                            head_part(head, head->target_offset, head->target_length)));
    } else {
        require(
            slice_equal(head_part(again, again->reason_phrase_offset, again->reason_phrase_length),
                        head_part(head, head->reason_phrase_offset, head->reason_phrase_length)));
    }
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *a = &again->fields[i];
        const uvhttp_field_t *b = &head->fields[i];
        require(a->id == b->id && a->repeated == b->repeated);
        require(slice_equal(head_part(again, a->name_offset, a->name_length),
                            head_part(head, b->name_offset, b->name_length)));
        require(slice_equal(head_part(again, a->value_offset, a->value_length),
                            head_part(head, b->value_offset, b->value_length)));
    }
}

/* An accepted head that is written from its parts is accepted with the same parts. */
static inline void head_write(const struct head_input *input)
{
    static uvhttp_head_t head;
    static uvhttp_head_t again;
    uvhttp_head_init(&head, NULL, 0);
    if (head_parsers[input->kind](&head, input->data, input->length, &input->limits) !=
        UVHTTP_PARSE_DONE)
        return;
    /* Each field is written with ": " and CR LF, which is at most one byte more than in the
     * input. */
    size_t capacity = head.size + head.field_count + 2u;
    uvhttp_head_limits_t limits = {(uint32_t)capacity, (uint32_t)capacity,
                                   UVHTTP_HEAD_INLINE_FIELDS};
    char *text = malloc(capacity);
    require(text != NULL);
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, text, capacity);
    head_write_start(&writer, input->kind, &head);
    for (unsigned i = 0; i < head.field_count && writer.error == UVHTTP_WRITER_OK; i++) {
        const uvhttp_field_t *field = &head.fields[i];
        require(uvhttp_writer_field_slice(
            &writer, head_part(&head, field->name_offset, field->name_length),
            head_part(&head, field->value_offset, field->value_length)));
    }
    if (uvhttp_writer_end(&writer)) {
        uvhttp_head_init(&again, NULL, 0);
        require(head_parsers[input->kind](&again, text, writer.length, &limits) ==
                UVHTTP_PARSE_DONE);
        require(again.size == writer.length);
        head_check_written(input->kind, &head, &again);
    } else {
        require(input->kind == HEAD_RESPONSE && head.status < 100 &&
                writer.error == UVHTTP_WRITER_INVALID);
    }
    free(text);
}

static inline void head_run(const struct head_input *input)
{
    static struct head_expected expected;
    head_expect(input, &expected);
    for (size_t at = 0; backends_next(&at);) {
        head_whole(input, &expected);
        head_grown(input, &expected);
        if (input->kind == HEAD_TRAILERS)
            continue;
        head_slices(input, &expected, input->length);
        head_slices(input, &expected, input->splits[1] / 2);
    }
    if (input->kind != HEAD_TRAILERS)
        head_write(input);
}

/* The first byte of an input determines how the rest is split. A long one has a few hundred parts
 * at most, for speed. */
static inline void head_choose_splits(struct head_input *input, uint8_t choice)
{
    input->step = choice % 64 + 1u + input->length / 128;
    input->splits[0] = choice * input->length / 256;
    input->splits[1] = input->splits[0] + choice % 5u;
    if (input->splits[1] > input->length)
        input->splits[1] = input->length;
}

#endif
