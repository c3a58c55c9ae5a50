/* The head parser with NEON, which every 64-bit ARM CPU has. Little-endian only: its masks are read
 * as numbers. The tests also compile it on other machines, with their own arm_neon.h and
 * UVH_NEON_EMULATED. */
#if defined(__AARCH64EL__) || defined(UVH_NEON_EMULATED)

#define UVH_LINES_HEADER "codec/http1/lines_vectors.h"
#define UVH_VECTOR_NEON
#define UVH_H1_BACKEND      uvh_h1_backend_neon
#define UVH_H1_BACKEND_NAME "neon"
#include "codec/http1/parser.h"

#else
typedef int uvh_h1_parser_neon_is_empty; /* C forbids an empty file */
#endif
