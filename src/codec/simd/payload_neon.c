/* Masking and UTF-8 with NEON, which every 64-bit ARM processor has. The tests compile it on other
 * machines too, with an arm_neon.h of their own and UVH_NEON_EMULATED. */
#if defined(__AARCH64EL__) || defined(UVH_NEON_EMULATED)

#define UVH_OCTETS_HEADER   "codec/simd/octets_neon.h"
#define UVH_PAYLOAD_BACKEND uvh_payload_backend_neon
#include "codec/simd/payload_kernels.h"

#else
typedef int uvh_payload_neon_is_empty; /* C wants something in a file */
#endif
