/* See password.h. */
#include "platform/password.h"

#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/secret.h>

#include "base/alloc.h"

#if defined(UVH_WITH_CRYPT)

#include <crypt.h>

int uvh_password_available(void)
{
    return 0;
}

bool uvh_password_is_hash(const char *hash)
{
    int kind = crypt_checksalt(hash);
    /* libxcrypt reports SHA-256 with many rounds as legacy, but it is not weak. */
    return kind == CRYPT_SALT_OK ||
           (kind == CRYPT_SALT_METHOD_LEGACY && strncmp(hash, "$5$", 3) == 0);
}

int uvh_password_verify(const uvhttp_allocator_t *allocator, const char *hash, const char *password)
{
    /* 32 KiB, too much for a thread's stack. */
    struct crypt_data *data = uvh_alloc_zero(allocator, sizeof(*data));
    if (data == NULL)
        return UVHTTP_ENOMEM;
    const char *made = crypt_r(password, hash, data);
    bool right = made != NULL && made[0] != '*' &&
                 uvhttp_equal_constant_time(made, strlen(made), hash, strlen(hash));
    explicit_bzero(data, sizeof(*data));
    uvh_free(allocator, data);
    return right;
}

#else

int uvh_password_available(void)
{
    return UVHTTP_ENOTSUP;
}

bool uvh_password_is_hash(const char *hash)
{
    (void)hash;
    return false;
}

int uvh_password_verify(const uvhttp_allocator_t *allocator, const char *hash, const char *password)
{
    (void)allocator;
    (void)hash;
    (void)password;
    return UVHTTP_ENOTSUP;
}

#endif
