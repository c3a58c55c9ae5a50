/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) by OpenSSL's libcrypto, which is left out of builds without
 * BUILD_WITH_HTTPS.
 *
 * Called for signed cookies. Any thread. */
#ifndef UVH_PLATFORM_HMAC_H
#define UVH_PLATFORM_HMAC_H

#include <uvhttp/types.h>

enum { UVH_HMAC_SIZE = 32 };

/* 0 and the code in `out`; UVHTTP_ENOTSUP in a build without libcrypto; UVHTTP_ENOMEM. */
int uvh_hmac_sha256(uvhttp_slice_t key, uvhttp_slice_t message, unsigned char out[UVH_HMAC_SIZE]);

/* 0, or UVHTTP_ENOTSUP where the function above cannot work. */
int uvh_hmac_available(void);

/* Overwrites a secret that is not needed any more, which a compiler may not leave out. */
void uvh_hmac_wipe(void *memory, size_t size);

#endif
