/* Replaces hash_make.c in a build without libxcrypt. */
#include "hash_make.h"

const char *uvh_hash_make(const char *password, bool bcrypt, char hash[UVH_HASH_SIZE])
{
    (void)password, (void)bcrypt, (void)hash;
    return "this build was made without crypt(3) (BUILD_WITH_CRYPT)";
}
