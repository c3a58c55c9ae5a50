/* What is done with every byte of a WebSocket's payloads, once per instruction set. Which one is
 * used is chosen together with the back end of the head parser (codec/http1/backend.h), so that
 * uvhttp_parser_use_backend and UVHTTP_PARSER_BACKEND choose it, too. All give the same results.
 *
 * Called by codec/websocket/mask.h and codec/simd/utf8.c, which do what is short themselves. */
#ifndef UVH_CODEC_SIMD_PAYLOAD_BACKEND_H
#define UVH_CODEC_SIMD_PAYLOAD_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* bytes up to which masking needs no back end; no vector is longer */
enum { UVH_PAYLOAD_SHORT = 64 };

struct uvh_payload_backend {
    /* Masks more than UVH_PAYLOAD_SHORT bytes. `word` is the mask as it lies in memory, for the
     * first four of them. `out` is `data`, or both do not overlap. */
    void (*mask)(char *out, const char *data, size_t size, uint32_t word);
    /* Where an incomplete character begins that the text ends with, `end` if there is none; NULL
     * for what is no UTF-8 whatever follows. */
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

/* The chosen one. */
extern UVH_INTERNAL const struct uvh_payload_backend *uvh_payload_backend;

/* A mask whose first byte is the one for byte `offset`. */
static UVH_ALWAYS_INLINE uint32_t uvh_payload_turn(uint32_t word, size_t offset)
{
    unsigned bits = (unsigned)(offset % 4) * 8;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits = (32 - bits) % 32;
#endif
    return word >> bits | word << ((32 - bits) % 32);
}

#endif
