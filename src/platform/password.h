/* Hashed passwords by crypt(3) of libxcrypt, which is left out of builds without BUILD_WITH_CRYPT.
 * The one place that sees it.
 *
 * Called by passwords.c. Any thread. */
#ifndef UVH_PLATFORM_PASSWORD_H
#define UVH_PLATFORM_PASSWORD_H

#include <uvhttp/types.h>

/* 0, or UVHTTP_ENOTSUP where the others cannot work. */
int uvh_password_available(void);

/* The form of a hash that is strong and can be verified: bcrypt ($2b$, $2y$), yescrypt ($y$),
 * SHA-crypt ($5$, $6$), scrypt ($7$), ... Not those of DES and MD5. */
bool uvh_password_is_hash(const char *hash);

/* 1 when it is the password's hash, 0 when it is not; UVHTTP_ENOMEM. Takes as long as the hash is
 * made to: a tenth of a second or more. */
int uvh_password_verify(const uvhttp_allocator_t *allocator, const char *hash,
                        const char *password);

#endif
