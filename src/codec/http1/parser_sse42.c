/* The head parser with SSE4.2. All code after the pragma is compiled for that instruction set;
 * backend.c selects it only on CPUs that support it. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("sse4.2"))), apply_to = function)
#else
#pragma GCC target("sse4.2")
#endif

#define UVH_LINES_HEADER    "codec/http1/lines_vectors.h"
#define UVH_H1_BACKEND      uvh_h1_backend_sse42
#define UVH_H1_BACKEND_NAME "sse42"
#include "codec/http1/parser.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int uvh_h1_parser_sse42_is_empty; /* C forbids an empty file */
#endif
