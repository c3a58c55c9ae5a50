/* See hmac.h. */
#include "platform/hmac.h"

#include <limits.h>
#include <string.h>

#include <uvhttp/error.h>

#if defined(UVH_WITH_LIBCRYPTO)

#include <openssl/evp.h>
#include <openssl/hmac.h>

int uvh_hmac_sha256(uvhttp_slice_t key, uvhttp_slice_t message, unsigned char out[UVH_HMAC_SIZE])
{
    unsigned size = 0;
    if (key.length > INT_MAX)
        return UVHTTP_EINVAL;
    const unsigned char *made =
        HMAC(EVP_sha256(), key.base, (int)key.length, (const unsigned char *)message.base,
             message.length, out, &size);
    return made != NULL && size == UVH_HMAC_SIZE ? 0 : UVHTTP_ENOMEM;
}

int uvh_hmac_available(void)
{
    return 0;
}

#else

int uvh_hmac_sha256(uvhttp_slice_t key, uvhttp_slice_t message, unsigned char out[UVH_HMAC_SIZE])
{
    (void)key;
    (void)message;
    (void)out;
    return UVHTTP_ENOTSUP;
}

int uvh_hmac_available(void)
{
    return UVHTTP_ENOTSUP;
}

#endif

void uvh_hmac_wipe(void *memory, size_t size)
{
    explicit_bzero(memory, size);
}
