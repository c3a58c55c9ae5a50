/* Hashed passwords by crypt(3) of libxcrypt. Only this module uses it; builds without
 * BUILD_WITH_CRYPT do not have it.
 *
 * Any thread. */
#ifndef UVH_PLATFORM_PASSWORD_H
#define UVH_PLATFORM_PASSWORD_H

#include <uvhttp/types.h>

/* Returns 0, or UVHTTP_ENOTSUP if the other functions cannot work in this build. */
int uvh_password_available(void);

/* True for a hash in a strong format that can be verified: bcrypt ($2b$, $2y$), yescrypt ($y$),
 * SHA-crypt ($5$, $6$), scrypt ($7$), ... False for DES and MD5. */
bool uvh_password_is_hash(const char *hash);

/* Returns 1 if the password matches the hash, 0 if not; UVHTTP_ENOMEM. Slow by design of the hash:
 * 0.1 s or more. */
int uvh_password_verify(const uvhttp_allocator_t *allocator, const char *hash,
                        const char *password);

#endif
