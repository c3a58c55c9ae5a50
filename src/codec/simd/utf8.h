/* Is it UTF-8 (RFC 3629)? For texts that come in pieces which may end within a character, at the
 * speed of the processor's vectors.
 *
 * The method for whole vectors is that of Keiser and Lemire, "Validating UTF-8 In Less Than One
 * Instruction Per Byte" (2021): three look-ups by halves of bytes find all errors of two bytes
 * beside each other. Called for texts of WebSocket. */
#ifndef UVH_CODEC_SIMD_UTF8_H
#define UVH_CODEC_SIMD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A character that is not complete: its bytes so far. Zeros are the beginning of a text. */
struct uvh_utf8 {
    uint8_t count;
    uint8_t bytes[3];
};

/* False as soon as the text cannot become valid any more: also for an incomplete character that no
 * byte can complete. */
bool uvh_utf8_check(struct uvh_utf8 *state, const char *data, size_t size);

/* True when the text may end here. */
static inline bool uvh_utf8_complete(const struct uvh_utf8 *state)
{
    return state->count == 0;
}

/* A whole text. */
bool uvh_utf8_valid(const char *data, size_t size);

#endif
