/* The back ends of the head parser: one per instruction set; one of them is selected at program
 * start.
 *
 * The default is the fastest that the CPU supports. The environment variable UVHTTP_PARSER_BACKEND
 * or uvhttp_parser_use_backend overrides it. All give the same results. */
#ifndef UVH_CODEC_HTTP1_BACKEND_H
#define UVH_CODEC_HTTP1_BACKEND_H

#include <uvhttp/parser.h>

#include "base/compiler.h"

struct uvh_h1_backend {
    const char *name;
    /* The functions of uvhttp/parser.h; trailers are not checked for forbidden names. */
    uvhttp_parse_result_t (*request)(uvhttp_head_t *head, const char *data, size_t length,
                                     const uvhttp_head_limits_t *limits);
    uvhttp_parse_result_t (*response)(uvhttp_head_t *head, const char *data, size_t length,
                                      const uvhttp_head_limits_t *limits);
    uvhttp_parse_result_t (*trailers)(uvhttp_head_t *head, const char *data, size_t length,
                                      const uvhttp_head_limits_t *limits);
};

extern UVH_INTERNAL const struct uvh_h1_backend uvh_h1_backend_swar;
#if defined(__x86_64__)
extern UVH_INTERNAL const struct uvh_h1_backend uvh_h1_backend_sse42;
extern UVH_INTERNAL const struct uvh_h1_backend uvh_h1_backend_avx2;
extern UVH_INTERNAL const struct uvh_h1_backend uvh_h1_backend_avx512;
#endif
#if defined(__AARCH64EL__) || defined(UVH_NEON_EMULATED)
extern UVH_INTERNAL const struct uvh_h1_backend uvh_h1_backend_neon;
#endif

/* The selected one. */
extern UVH_INTERNAL const struct uvh_h1_backend *uvh_h1_backend;

#endif
