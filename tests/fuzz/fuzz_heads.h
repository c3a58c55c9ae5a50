/* Heads and trailer sections for the fuzz targets. Each is parsed on every back end: in one buffer,
 * growing, and from pieces. All have to give what the reference parser gives, so splits change
 * nothing, back ends agree, and pieces are as good as one buffer; and what a head was accepted with
 * comes back when it is written and parsed again. */
#ifndef UVH_TESTS_FUZZ_HEADS_H
#define UVH_TESTS_FUZZ_HEADS_H

#include <uvhttp/writer.h>

#include "fuzz/fuzz_check.h"
#include "reference/compare.h"
#include "support/backends.h"

typedef uvhttp_parse_result_t (*parse_fn)(uvhttp_head_t *head, const char *data, size_t length,
                                          const uvhttp_head_limits_t *limits);
typedef uvhttp_parse_result_t (*pieces_fn)(uvhttp_head_t *head, const uvhttp_slice_t *chunks,
                                           size_t count, char *gather,
                                           const uvhttp_head_limits_t *limits);

enum head_kind { HEAD_REQUEST, HEAD_RESPONSE, HEAD_TRAILERS };

/* HEAD_GONE stands where bytes are that should neither be read nor written. */
enum { HEAD_PIECES = 3, HEAD_GONE = 0x5a };

struct head_input {
    enum head_kind kind;
    const char *data;
    size_t length;
    uvhttp_head_limits_t limits;
    size_t step;                    /* bytes that arrive at once */
    size_t seams[HEAD_PIECES - 1];  /* where it is cut into pieces, in order */
    uvhttp_method_t request_method; /* of what a response answers */
};

/* What the reference parser gives for it. */
struct head_expected {
    struct reference_head head;
    struct reference_framing framing;
};

static parse_fn const head_parsers[] = {uvhttp_request_head_parse, uvhttp_response_head_parse,
                                        uvhttp_trailers_parse};
static pieces_fn const head_pieces_parsers[] = {uvhttp_request_head_parse_slices,
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
    size_t at_hand = input->step / 2;
    uvhttp_head_init(&head, NULL, 0);
    for (bool going = true; going; at_hand += input->step) {
        at_hand = at_hand < input->length ? at_hand : input->length;
        char *copy = exact_copy(input->data, at_hand);
        uvhttp_parse_result_t result =
            head_parsers[input->kind](&head, copy, at_hand, &input->limits);
        going = result == UVHTTP_PARSE_MORE && at_hand < input->length;
        if (!going)
            head_check(input, expected, &head, result, "growing");
        free(copy);
    }
}

/* The first `at_hand` bytes in pieces, to be freed. The first `gathered` are not there any more:
 * nobody needs them. */
static inline void head_cut(const struct head_input *input, size_t gathered, size_t at_hand,
                            const size_t *seams, uvhttp_slice_t chunks[HEAD_PIECES],
                            char *copies[HEAD_PIECES])
{
    size_t start = 0;
    for (size_t i = 0; i < HEAD_PIECES; i++) {
        size_t end = i + 1 < HEAD_PIECES && seams[i] < at_hand ? seams[i] : at_hand;
        size_t gone = gathered < start ? 0 : gathered - start;
        copies[i] = exact_copy(input->data + start, end - start);
        memset(copies[i], HEAD_GONE, gone < end - start ? gone : end - start);
        chunks[i] = (uvhttp_slice_t){copies[i], end - start};
        start = end;
    }
}

/* `at_hand` bytes at first, then, cut elsewhere, all. */
static inline void head_pieces(const struct head_input *input, const struct head_expected *expected,
                               size_t at_hand)
{
    static uvhttp_head_t head;
    const size_t other_seams[HEAD_PIECES - 1] = {input->seams[0] / 2, input->seams[0]};
    size_t room = input->limits.max_size;
    size_t most = input->length < room ? input->length : room;
    char *gather = malloc(room);
    require(gather != NULL);
    memset(gather, HEAD_GONE, most);
    uvhttp_head_init(&head, NULL, 0);
    for (bool going = true; going;) {
        char *copies[HEAD_PIECES];
        uvhttp_slice_t chunks[HEAD_PIECES];
        const size_t *seams = at_hand < input->length ? other_seams : input->seams;
        head_cut(input, head.gathered, at_hand, seams, chunks, copies);
        uvhttp_parse_result_t result =
            head_pieces_parsers[input->kind](&head, chunks, HEAD_PIECES, gather, &input->limits);
        going = result == UVHTTP_PARSE_MORE && at_hand < input->length;
        at_hand = input->length;
        if (!going)
            head_check(input, expected, &head, result, "in pieces");
        /* Nothing is copied behind the empty line. */
        if (result == UVHTTP_PARSE_DONE && head.base == gather && head.size < most)
            require(gather[head.size] == HEAD_GONE);
        for (size_t i = 0; i < HEAD_PIECES; i++)
            free(copies[i]);
    }
    free(gather);
}

static inline uvhttp_slice_t head_part(const uvhttp_head_t *head, size_t offset, size_t length)
{
    return (uvhttp_slice_t){head->base + offset, length};
}

/* As a string, to be freed; no part that is accepted holds NUL. */
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
        /* A status below 100 is one that a parser lets pass and that nobody should send. */
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

/* An accepted head, written from its parts, is accepted with the same parts. */
static inline void head_write(const struct head_input *input)
{
    static uvhttp_head_t head;
    static uvhttp_head_t again;
    uvhttp_head_init(&head, NULL, 0);
    if (head_parsers[input->kind](&head, input->data, input->length, &input->limits) !=
        UVHTTP_PARSE_DONE)
        return;
    /* Each field is written with ": " and CR LF: at most one byte more than it was read with. */
    size_t room = head.size + head.field_count + 2u;
    uvhttp_head_limits_t limits = {(uint32_t)room, (uint32_t)room, UVHTTP_HEAD_INLINE_FIELDS};
    char *text = malloc(room);
    require(text != NULL);
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, text, room);
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
        head_pieces(input, &expected, input->length);
        head_pieces(input, &expected, input->seams[1] / 2);
    }
    if (input->kind != HEAD_TRAILERS)
        head_write(input);
}

/* The first byte of an input chooses how the rest is cut; a long one arrives in at most some
 * hundred pieces, for speed. */
static inline void head_choose_cuts(struct head_input *input, uint8_t choice)
{
    input->step = choice % 64 + 1u + input->length / 128;
    input->seams[0] = choice * input->length / 256;
    input->seams[1] = input->seams[0] + choice % 5u;
    if (input->seams[1] > input->length)
        input->seams[1] = input->length;
}

#endif
