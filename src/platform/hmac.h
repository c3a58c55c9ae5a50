/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) by OpenSSL's libcrypto. Builds without
 * BUILD_WITH_LIBCRYPTO do not have it.
 *
 * Called for signed cookies and the cache of passwords. Any thread. */
#ifndef UVH_PLATFORM_HMAC_H
#define UVH_PLATFORM_HMAC_H

#include <uvhttp/types.h>

enum { UVH_HMAC_SIZE = 32 };

/* Returns 0 with the code in `out`, UVHTTP_ENOTSUP in a build without libcrypto, or
 * UVHTTP_ENOMEM. */
int uvh_hmac_sha256(uvhttp_slice_t key, uvhttp_slice_t message, unsigned char out[UVH_HMAC_SIZE]);

/* Returns 0, or UVHTTP_ENOTSUP if uvh_hmac_sha256 cannot work in this build. */
int uvh_hmac_available(void);

/* Overwrites a secret; the compiler cannot optimise it away. */
void uvh_hmac_wipe(void *memory, size_t size);

#endif
