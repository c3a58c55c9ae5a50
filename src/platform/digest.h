/* SHA-256 and SHA-512 (FIPS 180-4) of bytes that come in pieces, by OpenSSL's libcrypto, which is
 * left out of builds without BUILD_WITH_HTTPS.
 *
 * Called for uploads with a digest. Any thread, one at a time for one digest. */
#ifndef UVH_PLATFORM_DIGEST_H
#define UVH_PLATFORM_DIGEST_H

#include <stdbool.h>

#include <uvhttp/types.h>

struct uvh_digest;

/* One of `size` bytes: 32 or 64. NULL without memory, or in a build without libcrypto. */
struct uvh_digest *uvh_digest_new(size_t size);
void uvh_digest_add(struct uvh_digest *digest, uvhttp_slice_t bytes);

/* All bytes have come; true when their digest is `expected`, of the size given at first. Once. */
bool uvh_digest_matches(struct uvh_digest *digest, const unsigned char *expected);

/* NULL is fine. */
void uvh_digest_free(struct uvh_digest *digest);

/* False where uvh_digest_new cannot work. */
bool uvh_digest_available(void);

#endif
