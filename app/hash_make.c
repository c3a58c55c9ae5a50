/* See hash_make.h. Needs libxcrypt; no_crypt.c replaces it in a build without. */
#include "hash_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <crypt.h>

enum { BCRYPT_COST = 10 }; /* the default of libxcrypt, 5, is too weak */

_Static_assert((int)UVH_HASH_SIZE >= (int)CRYPT_OUTPUT_SIZE, "a hash fits");

const char *uvh_hash_make(const char *password, bool bcrypt, char hash[UVH_HASH_SIZE])
{
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    struct crypt_data *data = calloc(1, sizeof(*data)); /* 32 KiB */
    if (data == NULL)
        return "out of memory";
    errno = 0;
    const char *made = NULL;
    if (crypt_gensalt_rn(bcrypt ? "$2b$" : "$y$", bcrypt ? BCRYPT_COST : 0, NULL, 0, setting,
                         sizeof(setting)) != NULL)
        made = crypt_r(password, setting, data);
    bool good = made != NULL && made[0] != '*';
    if (good)
        memcpy(hash, made, strlen(made) + 1);
    explicit_bzero(data, sizeof(*data));
    free(data);
    return good ? NULL : strerror(errno);
}
