/* Hashes of crypt(5). */
#ifndef UVH_APP_HASH_MAKE_H
#define UVH_APP_HASH_MAKE_H

#include <stdbool.h>

enum { UVH_HASH_SIZE = 384 }; /* as CRYPT_OUTPUT_SIZE of libxcrypt */

/* Hashes a password with a random salt: yescrypt, or bcrypt. Returns NULL, or the reason of the
 * failure. */
const char *uvh_hash_make(const char *password, bool bcrypt, char hash[UVH_HASH_SIZE]);

#endif
