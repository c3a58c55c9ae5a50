/* Incremental SHA-256 and SHA-512 (FIPS 180-4) by OpenSSL's libcrypto. Builds without
 * BUILD_WITH_LIBCRYPTO do not have it.
 *
 * Called for uploads with a digest. Any thread, one at a time for one digest. */
#ifndef UVH_PLATFORM_DIGEST_H
#define UVH_PLATFORM_DIGEST_H

#include <stdbool.h>

#include <uvhttp/types.h>

struct uvh_digest;

/* A digest of `size` bytes: 32 or 64. NULL if out of memory, or in a build without libcrypto. */
struct uvh_digest *uvh_digest_new(size_t size);
void uvh_digest_add(struct uvh_digest *digest, uvhttp_slice_t bytes);

/* Ends the digest and writes it to `value`, of the size given at creation. Call once. */
bool uvh_digest_end(struct uvh_digest *digest, unsigned char *value);

/* NULL is allowed. */
void uvh_digest_free(struct uvh_digest *digest);

/* False if uvh_digest_new cannot work in this build. */
bool uvh_digest_available(void);

#endif
