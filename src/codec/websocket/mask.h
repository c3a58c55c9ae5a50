/* The masking of WebSocket (RFC 6455 section 5.3): short data is masked here, 16 bytes at once as
 * every 64-bit CPU supports, longer data by the vectors of a back end
 * (codec/simd/payload_backend.h). */
#ifndef UVH_CODEC_WEBSOCKET_MASK_H
#define UVH_CODEC_WEBSOCKET_MASK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "codec/simd/payload_backend.h"

/* The compiler uses a vector if the CPU has them, and words elsewhere. */
typedef uint32_t uvh_ws_mask_four __attribute__((vector_size(16)));

static UVH_ALWAYS_INLINE uvh_ws_mask_four uvh_ws_mask_16(const char *p, uint32_t word)
{
    uvh_ws_mask_four bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes ^ word;
}

static UVH_ALWAYS_INLINE uint64_t uvh_ws_mask_8(const char *p, uint32_t word)
{
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes ^ ((uint64_t)word << 32 | word);
}

static UVH_ALWAYS_INLINE uint32_t uvh_ws_mask_4(const char *p, uint32_t word)
{
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes ^ word;
}

/* Sizes from 16 to UVH_PAYLOAD_SHORT, from both ends towards the middle. All data is loaded before
 * anything is stored, because overlapping bytes must not be masked twice. */
static UVH_ALWAYS_INLINE void uvh_ws_mask_16_to_64(char *out, const char *data, size_t size,
                                                   uint32_t word)
{
    uint32_t rotated = uvh_payload_rotate(word, size);
    uvh_ws_mask_four first = uvh_ws_mask_16(data, word);
    uvh_ws_mask_four last = uvh_ws_mask_16(data + size - 16, rotated);
    if (size > 32) {
        uvh_ws_mask_four second = uvh_ws_mask_16(data + 16, word);
        uvh_ws_mask_four last_but_one = uvh_ws_mask_16(data + size - 32, rotated);
        memcpy(out + 16, &second, sizeof second);
        memcpy(out + size - 32, &last_but_one, sizeof last_but_one);
    }
    memcpy(out, &first, sizeof first);
    memcpy(out + size - 16, &last, sizeof last);
}

static UVH_ALWAYS_INLINE void uvh_ws_mask_4_to_15(char *out, const char *data, size_t size,
                                                  uint32_t word)
{
    uint32_t rotated = uvh_payload_rotate(word, size);
    if (size >= 8) {
        uint64_t first = uvh_ws_mask_8(data, word);
        uint64_t last = uvh_ws_mask_8(data + size - 8, rotated);
        memcpy(out, &first, sizeof first);
        memcpy(out + size - 8, &last, sizeof last);
    } else {
        uint32_t first = uvh_ws_mask_4(data, word);
        uint32_t last = uvh_ws_mask_4(data + size - 4, rotated);
        memcpy(out, &first, sizeof first);
        memcpy(out + size - 4, &last, sizeof last);
    }
}

/* Masks or unmasks while copying: byte i becomes data[i] ^ mask[(offset + i) % 4]. The areas do not
 * overlap, or are the same. */
static UVH_ALWAYS_INLINE void uvh_ws_mask_copy(char *out, const char *data, size_t size,
                                               const uint8_t mask[4], size_t offset)
{
    if (size < 4) {
        for (size_t i = 0; i < size; i++)
            out[i] = (char)(data[i] ^ mask[(offset + i) % 4]);
        return;
    }
    uint32_t word;
    memcpy(&word, mask, sizeof word);
    word = uvh_payload_rotate(word, offset);
    if (size < 16)
        uvh_ws_mask_4_to_15(out, data, size, word);
    else if (size <= UVH_PAYLOAD_SHORT)
        uvh_ws_mask_16_to_64(out, data, size, word);
    else
        uvh_payload_backend->mask(out, data, size, word);
}

/* The same in place. */
static UVH_ALWAYS_INLINE void uvh_ws_mask(char *data, size_t size, const uint8_t mask[4],
                                          size_t offset)
{
    uvh_ws_mask_copy(data, data, size, mask, offset);
}

#endif
