/* Request heads, their framing, and trailer sections. The first byte chooses how the rest is cut, the
 * second the limits. Holds: cut or whole, and on every back end, the verdict is the same; everything an accepted head gives lies
 * within it; framing of an accepted head never reads beyond it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/parser.h>

typedef uvhttp_parse_result_t (*parser)(uvhttp_head_t *head, const char *data, size_t length,
                                        const uvhttp_head_limits_t *limits);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* In a block of its own size for each call, so that the sanitizer sees every byte read too many. */
static uvhttp_parse_result_t parse_copy(parser parse, uvhttp_head_t *head, const char *data, size_t length,
                                        const uvhttp_head_limits_t *limits, char **copy)
{
    *copy = malloc(length > 0 ? length : 1);
    require(*copy != NULL);
    memcpy(*copy, data, length);
    return parse(head, *copy, length, limits);
}

static uvhttp_parse_result_t parse_cut(parser parse, uvhttp_head_t *head, const char *data, size_t length,
                                       const uvhttp_head_limits_t *limits, size_t step)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
    for (size_t at_hand = step / 2; result == UVHTTP_PARSE_MORE; at_hand += step) {
        char *copy;
        at_hand = at_hand < length ? at_hand : length;
        result = parse_copy(parse, head, data, at_hand, limits, &copy);
        free(copy);
        if (at_hand == length)
            break;
    }
    return result;
}

static void check_same(const uvhttp_head_t *a, const uvhttp_head_t *b, uvhttp_parse_result_t result)
{
    if (result == UVHTTP_PARSE_BAD)
        require(a->reason == b->reason && a->reason_offset == b->reason_offset && a->reason != 0);
    if (result != UVHTTP_PARSE_DONE)
        return;
    require(a->size == b->size && a->start == b->start && a->method == b->method &&
            a->field_count == b->field_count);
    require(a->method_length == b->method_length && a->minor_version == b->minor_version);
    require(a->target_offset == b->target_offset && a->target_length == b->target_length);
    require(memcmp(a->known, b->known, sizeof a->known) == 0);
    if (a->field_count > 0)
        require(memcmp(a->fields, b->fields, a->field_count * sizeof a->fields[0]) == 0);
}

static void check_within(const uvhttp_head_t *head, size_t length)
{
    require(head->size <= length && head->start + head->method_length <= head->size);
    require(head->target_offset + head->target_length <= head->size);
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        require(field->name_length > 0 && field->name_offset + field->name_length < field->value_offset);
        require(field->value_offset + field->value_length + 2 <= head->size);
    }
}

static void check_framing(const uvhttp_head_t *head)
{
    uvhttp_framing_t framing;
    if (uvhttp_request_framing(head, &framing) != UVHTTP_REASON_NONE)
        return;
    const char *end = head->base + head->size;
    if (framing.authority.base != NULL)
        require(framing.authority.base >= head->base &&
                framing.authority.base + framing.authority.length <= end);
    if (framing.query.base != NULL)
        require(framing.query.base > head->base && framing.query.base + framing.query.length < end);
    require(head->minor_version > 0 || framing.body != UVHTTP_BODY_CHUNKED);
    char output[4096];
    size_t length;
    if (framing.path.length <= sizeof output &&
        uvhttp_path_normalize(framing.path, output, &length) == UVHTTP_REASON_NONE)
        require(length <= framing.path.length);
}

/* Every other back end gives what the portable one gave. */
static void check_backends(parser parse, const uvhttp_head_t *expected, uvhttp_parse_result_t result,
                           const char *data, size_t length, const uvhttp_head_limits_t *limits)
{
    static const char *const backends[] = {"sse42", "avx2", "avx512"};
    static uvhttp_head_t head;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        char *copy;
        if (!uvhttp_parser_use_backend(backends[i]))
            continue;
        uvhttp_head_init(&head, NULL, 0);
        require(parse_copy(parse, &head, data, length, limits, &copy) == result);
        check_same(expected, &head, result);
        free(copy);
    }
}

static void run(parser parse, const char *data, size_t length, const uvhttp_head_limits_t *limits,
                size_t step)
{
    static uvhttp_head_t whole;
    static uvhttp_head_t cut;
    char *copy;
    uvhttp_parser_use_backend("swar");
    uvhttp_head_init(&whole, NULL, 0);
    uvhttp_head_init(&cut, NULL, 0);
    uvhttp_parse_result_t result = parse_copy(parse, &whole, data, length, limits, &copy);
    require(parse_cut(parse, &cut, data, length, limits, step) == result);
    check_same(&whole, &cut, result);
    check_backends(parse, &whole, result, data, length, limits);
    if (result == UVHTTP_PARSE_DONE && parse == uvhttp_request_head_parse) {
        check_within(&whole, length);
        check_framing(&whole);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t step = data[0] % 64 + 1u;
    uvhttp_head_limits_t limits = {data[1] & 1 ? 64 : 4096, data[1] & 2 ? 16 : 2048, data[1] & 4 ? 3 : 100};
    run(uvhttp_request_head_parse, (const char *)data + 2, size - 2, &limits, step);
    run(uvhttp_trailers_parse, (const char *)data + 2, size - 2, &limits, step);
    return 0;
}
