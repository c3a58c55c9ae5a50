/* Masking and UTF-8 with NEON, which every 64-bit ARM CPU has. The tests also compile it on other
 * machines, with their own arm_neon.h and UVH_NEON_EMULATED. */
#if defined(__AARCH64EL__) || defined(UVH_NEON_EMULATED)

#define UVH_OCTETS_NEON
#define UVH_PAYLOAD_BACKEND uvh_payload_backend_neon
#include "codec/simd/payload_kernels.h"

#else
typedef int uvh_payload_neon_is_empty; /* C forbids an empty file */
#endif
