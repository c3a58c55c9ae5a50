/* Operations on every byte of WebSocket payloads, once per instruction set. The back end is
 * selected together with that of the head parser (codec/http1/backend.h), also by
 * uvhttp_parser_use_backend and UVHTTP_PARSER_BACKEND. All give the same results.
 *
 * The callers, codec/websocket/mask.h and codec/simd/utf8.h, handle short data themselves. */
#ifndef UVH_CODEC_SIMD_PAYLOAD_BACKEND_H
#define UVH_CODEC_SIMD_PAYLOAD_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* bytes up to which masking needs no back end; vectors are not longer */
enum { UVH_PAYLOAD_SHORT = 64 };

struct uvh_payload_backend {
    /* Masks more than UVH_PAYLOAD_SHORT bytes. `word` is the mask in memory order, for the first
     * four of them. `out` is `data`, or the two do not overlap. */
    void (*mask)(char *out, const char *data, size_t size, uint32_t word);
    /* The start of an incomplete character at the end of the text, or `end`; NULL if the text is
     * not UTF-8 whatever follows. */
    const char *(*utf8)(const char *data, const char *end);
};

extern UVH_INTERNAL const struct uvh_payload_backend uvh_payload_backend_swar;
#if defined(__x86_64__)
extern UVH_INTERNAL const struct uvh_payload_backend uvh_payload_backend_sse42;
extern UVH_INTERNAL const struct uvh_payload_backend uvh_payload_backend_avx2;
extern UVH_INTERNAL const struct uvh_payload_backend uvh_payload_backend_avx512;
#endif
#if defined(__AARCH64EL__) || defined(UVH_NEON_EMULATED)
extern UVH_INTERNAL const struct uvh_payload_backend uvh_payload_backend_neon;
#endif

/* The selected one. */
extern UVH_INTERNAL const struct uvh_payload_backend *uvh_payload_backend;

/* The mask rotated so that its first byte is the one for byte `offset`. */
static UVH_ALWAYS_INLINE uint32_t uvh_payload_rotate(uint32_t word, size_t offset)
{
    unsigned bits = (unsigned)(offset % 4) * 8;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits = (32 - bits) % 32;
#endif
    return word >> bits | word << ((32 - bits) % 32);
}

#endif
