/* A struct uvh_digest is OpenSSL's own context. */
#include "platform/digest.h"

#if defined(UVH_WITH_LIBCRYPTO)

#include <openssl/evp.h>

static EVP_MD_CTX *context_of(struct uvh_digest *digest)
{
    return (EVP_MD_CTX *)(void *)digest;
}

struct uvh_digest *uvh_digest_new(size_t size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL &&
        EVP_DigestInit_ex(context, size == 64 ? EVP_sha512() : EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        context = NULL;
    }
    return (struct uvh_digest *)(void *)context;
}

/* These two cannot fail with an initialised context. */
void uvh_digest_add(struct uvh_digest *digest, uvhttp_slice_t bytes)
{
    if (bytes.length > 0)
        (void)EVP_DigestUpdate(context_of(digest), bytes.base, bytes.length);
}

bool uvh_digest_end(struct uvh_digest *digest, unsigned char *value)
{
    return EVP_DigestFinal_ex(context_of(digest), value, NULL) == 1;
}

void uvh_digest_free(struct uvh_digest *digest)
{
    EVP_MD_CTX_free(context_of(digest));
}

bool uvh_digest_available(void)
{
    return true;
}

#else

struct uvh_digest *uvh_digest_new(size_t size)
{
    (void)size;
    return NULL;
}

void uvh_digest_add(struct uvh_digest *digest, uvhttp_slice_t bytes)
{
    (void)digest, (void)bytes;
}

bool uvh_digest_end(struct uvh_digest *digest, unsigned char *value)
{
    (void)digest, (void)value;
    return false;
}

void uvh_digest_free(struct uvh_digest *digest)
{
    (void)digest;
}

bool uvh_digest_available(void)
{
    return false;
}

#endif
