/* Chunked bodies. The first byte of the input determines how the rest is split, the second the
 * limit of extensions. Properties: unsplit, split, byte by byte and in place, the data, the result
 * and the consumed bytes are those of the reference parser. Chunks are within the consumed input,
 * and data decoded in place does not exceed it. Each call with input makes progress or ends. */
#include "fuzz/fuzz_check.h"
#include "reference/chunked.h"

/* The decoded body so far. */
struct outcome {
    uvhttp_parse_result_t result;
    size_t consumed;
    size_t length;
    char *data; /* has space for the whole input */
};

static void append(struct outcome *outcome, const char *bytes, size_t length)
{
    if (length > 0)
        memcpy(outcome->data + outcome->length, bytes, length);
    outcome->length += length;
}

static void decode(uvhttp_chunked_t *decoder, struct outcome *outcome, const char *data,
                   size_t length)
{
    size_t done = 0;
    while (outcome->result == UVHTTP_PARSE_MORE && done < length) {
        size_t consumed;
        uvhttp_slice_t chunk;
        outcome->result =
            uvhttp_chunked_decode(decoder, data + done, length - done, &consumed, &chunk);
        require(consumed <= length - done && (consumed > 0 || outcome->result == UVHTTP_PARSE_BAD));
        if (chunk.length > 0)
            require(chunk.base >= data + done &&
                    chunk.base + chunk.length == data + done + consumed);
        append(outcome, chunk.base, chunk.length);
        done += consumed;
    }
    outcome->consumed += done;
}

static void decode_in_place(uvhttp_chunked_t *decoder, struct outcome *outcome, char *data,
                            size_t length)
{
    size_t consumed;
    size_t body;
    outcome->result = uvhttp_chunked_decode_in_place(decoder, data, length, &consumed, &body);
    require(consumed <= length && body <= consumed);
    require(outcome->result != UVHTTP_PARSE_MORE || consumed == length);
    append(outcome, data, body);
    outcome->consumed += consumed;
}

static void check(const struct reference_chunked *expected, const char *data, size_t size,
                  size_t step, uint32_t max_extension, bool in_place)
{
    struct outcome outcome = {UVHTTP_PARSE_MORE, 0, 0, malloc(size)};
    uvhttp_chunked_t decoder;
    require(outcome.data != NULL);
    uvhttp_chunked_init(&decoder, max_extension);
    for (size_t at = 0; at < size && outcome.result == UVHTTP_PARSE_MORE; at += step) {
        size_t length = size - at < step ? size - at : step;
        char *copy = exact_copy(data + at, length);
        if (in_place)
            decode_in_place(&decoder, &outcome, copy, length);
        else
            decode(&decoder, &outcome, copy, length);
        require(outcome.result != UVHTTP_PARSE_MORE || outcome.consumed == at + length);
        free(copy);
    }
    const char *how = in_place ? "in place" : "streaming";
    require_same(outcome.result != expected->result ? "the result" : NULL, how);
    require_same(decoder.reason != (unsigned)expected->reason ? "the reason" : NULL, how);
    require_same(outcome.consumed != expected->consumed ? "what is consumed" : NULL, how);
    bool same = outcome.length == expected->data_length &&
                memcmp(outcome.data, expected->data, outcome.length) == 0;
    require_same(same ? NULL : "the data", how);
    free(outcome.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const char *text = (const char *)data + 2;
    size_t length = size - 2;
    size_t step = data[0] % 32 + 1u;
    uint32_t max_extension = data[1] & 1 ? 8 : 256;
    struct reference_chunked expected = {.data = malloc(length)};
    require(expected.data != NULL);
    reference_chunked_decode(&expected, text, length, max_extension);
    for (int in_place = 0; in_place < 2; in_place++) {
        check(&expected, text, length, length, max_extension, in_place);
        check(&expected, text, length, step, max_extension, in_place);
        check(&expected, text, length, 1, max_extension, in_place);
    }
    free(expected.data);
    return 0;
}
