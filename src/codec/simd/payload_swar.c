/* Masking and UTF-8 in portable C, with words of eight bytes where that is faster. */
#include "codec/simd/payload_backend.h"

#include <string.h>

#include "codec/simd/scan_swar.h"
#include "codec/text/utf8_sequence.h"

static uint64_t load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static void mask_payload(char *out, const char *data, size_t size, uint32_t word)
{
    uint64_t twice = (uint64_t)word << 32 | word;
    size_t last_at = size - 8;
    uint32_t rotated = uvh_payload_rotate(word, last_at);
    /* before its bytes are changed in place */
    uint64_t last = load(data + last_at) ^ ((uint64_t)rotated << 32 | rotated);
    for (size_t i = 0; i < last_at; i += 8) {
        uint64_t bytes = load(data + i) ^ twice;
        memcpy(out + i, &bytes, sizeof bytes);
    }
    memcpy(out + last_at, &last, sizeof last);
}

static const char *check_utf8(const char *p, const char *end)
{
    while (p < end) {
        if (end - p >= 8 && (load(p) & UVH_SWAR_HIGHS) == 0) {
            p += 8;
            continue;
        }
        size_t length = uvh_utf8_sequence_valid_length(p, (size_t)(end - p));
        if (length == 0)
            return uvh_utf8_sequence_is_incomplete(p, (size_t)(end - p)) ? p : NULL;
        p += length;
    }
    return end;
}

const struct uvh_payload_backend uvh_payload_backend_swar = {
    .mask = mask_payload,
    .utf8 = check_utf8,
};
