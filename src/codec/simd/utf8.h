/* UTF-8 validation (RFC 3629) at vector speed, for texts in chunks that may end within a character.
 *
 * The method for whole vectors is that of Keiser and Lemire, "Validating UTF-8 In Less Than One
 * Instruction Per Byte" (2021): three table lookups by nibbles find all errors of two adjacent
 * bytes. Called for text messages of WebSocket. */
#ifndef UVH_CODEC_SIMD_UTF8_H
#define UVH_CODEC_SIMD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an incomplete character. Zeros: start of a text. */
struct uvh_utf8 {
    uint8_t count;
    uint8_t bytes[3];
};

/* False as soon as the text cannot become valid: also for an incomplete character that no byte can
 * complete. */
bool uvh_utf8_check(struct uvh_utf8 *state, const char *data, size_t size);

/* True if the text may end here. */
static inline bool uvh_utf8_complete(const struct uvh_utf8 *state)
{
    return state->count == 0;
}

/* Validates a whole text. */
bool uvh_utf8_valid(const char *data, size_t size);

#endif
