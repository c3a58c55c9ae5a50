/* The head parser with AVX-512 (F, BW) and AVX2. All code after the pragma is compiled for that
 * instruction set; backend.c selects it only on CPUs that support it. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,avx512f,avx512bw,bmi,bmi2,lzcnt"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,avx512f,avx512bw,bmi,bmi2,lzcnt")
#endif

#define UVH_LINES_HEADER "codec/http1/lines_vectors.h"
#define UVH_VECTOR_AVX512
#define UVH_H1_BACKEND      uvh_h1_backend_avx512
#define UVH_H1_BACKEND_NAME "avx512"
#include "codec/http1/parser.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int uvh_h1_parser_avx512_is_empty; /* C forbids an empty file */
#endif
