/* Masking and UTF-8 with SSE4.2. All code after the pragma is compiled for that instruction set;
 * codec/http1/backend.c selects it only on CPUs that support it. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("sse4.2"))), apply_to = function)
#else
#pragma GCC target("sse4.2")
#endif

#define UVH_PAYLOAD_BACKEND uvh_payload_backend_sse42
#include "codec/simd/payload_kernels.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int uvh_payload_sse42_is_empty; /* C forbids an empty file */
#endif
