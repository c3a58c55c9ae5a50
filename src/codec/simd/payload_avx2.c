/* Masking and UTF-8 with AVX2. All code after the pragma is compiled for that instruction set;
 * codec/http1/backend.c selects it only on CPUs that support it. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt")
#endif

#define UVH_OCTETS_AVX2
#define UVH_PAYLOAD_BACKEND uvh_payload_backend_avx2
#include "codec/simd/payload_kernels.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int uvh_payload_avx2_is_empty; /* C forbids an empty file */
#endif
