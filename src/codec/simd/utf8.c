/* Validates a text in chunks: an incomplete character at the end of a chunk is kept. Short ASCII
 * chunks, the most frequent ones, are handled here, all others by a back end
 * (codec/simd/payload_backend.h). */
#include "codec/simd/utf8.h"

#include <string.h>

#include "codec/simd/payload_backend.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/utf8_sequence.h"

/* Adds bytes until the character in `state` is complete. False if it is invalid. */
static bool complete(struct uvh_utf8 *state, const char **data, const char *end)
{
    char text[4];
    memcpy(text, state->bytes, sizeof state->bytes);
    size_t size = uvh_utf8_sequence_lead_length(text[0]);
    size_t count = state->count;
    while (count < size && *data < end)
        text[count++] = *(*data)++;
    if (count == size) {
        state->count = 0;
        return uvh_utf8_sequence_valid_length(text, size) == size;
    }
    memcpy(state->bytes, text, count);
    state->count = (uint8_t)count;
    return uvh_utf8_sequence_is_incomplete(text, count);
}

/* For at most UVH_PAYLOAD_SHORT bytes, in words of which the last overlaps the one before. */
static bool is_short_ascii(const char *data, size_t size)
{
    uint64_t all = 0;
    if (size >= 8) {
        for (size_t i = 0; i < size - 8; i += 8)
            all |= uvh_swar_load(data + i);
        all |= uvh_swar_load(data + size - 8);
    } else {
        for (size_t i = 0; i < size; i++)
            all |= (uint8_t)data[i];
    }
    return (all & UVH_SWAR_HIGHS) == 0;
}

bool uvh_utf8_check(struct uvh_utf8 *state, const char *data, size_t size)
{
    if (size == 0)
        return true;
    const char *end = data + size;
    if (state->count > 0) {
        if (!complete(state, &data, end))
            return false;
        size = (size_t)(end - data);
    }
    if (size <= UVH_PAYLOAD_SHORT && is_short_ascii(data, size))
        return true;
    const char *incomplete = uvh_payload_backend->utf8(data, end);
    if (incomplete == NULL)
        return false;
    state->count = (uint8_t)(end - incomplete);
    for (size_t i = 0; i < state->count; i++)
        state->bytes[i] = (uint8_t)incomplete[i];
    return true;
}

bool uvh_utf8_valid(const char *data, size_t size)
{
    struct uvh_utf8 state = {0};
    return uvh_utf8_check(&state, data, size) && uvh_utf8_complete(&state);
}
