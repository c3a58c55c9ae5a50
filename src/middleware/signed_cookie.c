/* Signed cookies, on public functions only: uvhttp/signed_cookie.h specifies what is signed.
 * platform/hmac.c computes the HMAC. */
#include <uvhttp/signed_cookie.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/secret.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "codec/text/base64.h"
#include "options/error.h"
#include "options/option_check.h"
#include "platform/hmac.h"

/* Keeps other signatures with the same key from matching. */
static const char purpose[] = "uvhttp-cookie-1";

enum {
    MAX_KEYS = 16,
    MIN_KEY = 32, /* as long as the HMAC (RFC 2104 section 3) */
    MAX_KEY = 1024,
    MAX_NAME = 256,
    MAX_VALUE = 4096,
    TIME_SIZE = 8,
    MIN_SIGNED = TIME_SIZE + UVH_HMAC_SIZE,
    MAX_SIGNED = MIN_SIGNED + MAX_VALUE,
    MAX_MESSAGE = sizeof(purpose) + MAX_NAME + 1 + TIME_SIZE + MAX_VALUE,
};

struct key {
    size_t length;
    char bytes[MAX_KEY];
};

struct uvhttp_cookie_signer {
    const uvhttp_allocator_t *allocator;
    size_t key_count;
    struct key keys[];
};

static int check(const uvhttp_cookie_signer_options_t *options, uvhttp_error_t *error)
{
    const struct uvh_option_range count = {"key_count", options->key_count, 1, MAX_KEYS, "keys"};
    int err = uvh_option_check(&count, 1, error);
    if (err == 0)
        err = uvh_option_check_array("keys", options->keys, options->key_count, error);
    for (size_t i = 0; err == 0 && i < options->key_count; i++) {
        char name[48];
        snprintf(name, sizeof(name), "keys[%zu].length", i);
        const struct uvh_option_range length = {name, options->keys[i].length, MIN_KEY, MAX_KEY,
                                                "bytes"};
        err = uvh_option_check(&length, 1, error);
    }
    return err;
}

static size_t signer_size(size_t key_count)
{
    return sizeof(struct uvhttp_cookie_signer) + key_count * sizeof(struct key);
}

static int create(uvhttp_cookie_signer_t **signer, const uvhttp_cookie_signer_options_t *options,
                  uvhttp_error_t *error)
{
    if (signer == NULL)
        return UVHTTP_EINVAL;
    *signer = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
    int err = check(options, error);
    if (err == 0)
        err = uvh_hmac_available();
    if (err != 0)
        return err;
    struct uvhttp_cookie_signer *made = uvh_alloc_zero(allocator, signer_size(options->key_count));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->allocator = allocator;
    made->key_count = options->key_count;
    for (size_t i = 0; i < options->key_count; i++) {
        made->keys[i].length = options->keys[i].length;
        memcpy(made->keys[i].bytes, options->keys[i].base, options->keys[i].length);
    }
    *signer = made;
    return 0;
}

int uvhttp_cookie_signer_new(uvhttp_cookie_signer_t **signer,
                             const uvhttp_cookie_signer_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(signer, options, error));
}

void uvhttp_cookie_signer_free(void *signer)
{
    uvhttp_cookie_signer_t *old = signer;
    if (old == NULL)
        return;
    const uvhttp_allocator_t *allocator = old->allocator;
    uvh_hmac_wipe(old, signer_size(old->key_count));
    uvh_free(allocator, old);
}

static void write_time(unsigned char out[TIME_SIZE], int64_t time)
{
    for (int i = 0; i < TIME_SIZE; i++)
        out[i] = (unsigned char)((uint64_t)time >> (8 * (TIME_SIZE - 1 - i)));
}

static int64_t read_time(const unsigned char in[TIME_SIZE])
{
    uint64_t time = 0;
    for (int i = 0; i < TIME_SIZE; i++)
        time = time << 8 | in[i];
    return (int64_t)time;
}

/* The HMAC of time and value, `size` bytes in `data`, with a name of valid length. */
static int authenticate(const struct key *key, const char *name, const unsigned char *data,
                        size_t size, unsigned char code[UVH_HMAC_SIZE])
{
    char message[MAX_MESSAGE];
    size_t name_size = strlen(name) + 1;
    memcpy(message, purpose, sizeof(purpose));
    memcpy(message + sizeof(purpose), name, name_size);
    memcpy(message + sizeof(purpose) + name_size, data, size);
    return uvh_hmac_sha256((uvhttp_slice_t){key->bytes, key->length},
                           (uvhttp_slice_t){message, sizeof(purpose) + name_size + size}, code);
}

static bool is_usable_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strnlen(name, MAX_NAME + 1) <= MAX_NAME;
}

int uvhttp_cookie_sign(const uvhttp_cookie_signer_t *signer, const char *name, uvhttp_slice_t value,
                       int64_t expires, char *out, size_t size, size_t *length)
{
    unsigned char bytes[MAX_SIGNED];
    size_t ignored;
    length = length != NULL ? length : &ignored;
    *length = 0;
    if (signer == NULL || out == NULL || !is_usable_name(name) || value.length > MAX_VALUE ||
        expires < 0 || size < UVHTTP_SIGNED_SIZE(value.length))
        return UVHTTP_EINVAL;
    write_time(bytes, expires);
    if (value.length > 0)
        memcpy(bytes + TIME_SIZE, value.base, value.length);
    size_t said = TIME_SIZE + value.length;
    int err = authenticate(&signer->keys[0], name, bytes, said, bytes + said);
    if (err != 0)
        return err;
    uvh_base64_encode(out, bytes, said + UVH_HMAC_SIZE, UVH_BASE64_URL);
    *length = uvh_base64_encoded_size(said + UVH_HMAC_SIZE, UVH_BASE64_URL);
    out[*length] = '\0';
    return 0;
}

/* Returns 0 when one of the keys made the HMAC after `said` bytes. */
static int find_key(const struct uvhttp_cookie_signer *signer, const char *name,
                    const unsigned char *bytes, size_t said)
{
    for (size_t i = 0; i < signer->key_count; i++) {
        unsigned char code[UVH_HMAC_SIZE];
        int err = authenticate(&signer->keys[i], name, bytes, said, code);
        if (err != 0)
            return err;
        if (uvhttp_equal_constant_time(bytes + said, UVH_HMAC_SIZE, code, UVH_HMAC_SIZE))
            return 0;
    }
    return UVHTTP_ESIGNATURE;
}

int uvhttp_cookie_verify(const uvhttp_cookie_signer_t *signer, const char *name,
                         uvhttp_slice_t text, int64_t now, char *out, size_t size, size_t *length)
{
    unsigned char bytes[MAX_SIGNED + 2]; /* the most uvh_base64_decode may write */
    size_t ignored;
    length = length != NULL ? length : &ignored;
    *length = 0;
    if (signer == NULL || out == NULL || !is_usable_name(name) || size <= text.length)
        return UVHTTP_EINVAL;
    if (text.length > uvh_base64_encoded_size(MAX_SIGNED, UVH_BASE64_URL))
        return UVHTTP_ESIGNATURE;
    ptrdiff_t decoded = uvh_base64_decode(text, UVH_BASE64_URL, bytes);
    if (decoded < MIN_SIGNED)
        return UVHTTP_ESIGNATURE;
    size_t said = (size_t)decoded - UVH_HMAC_SIZE;
    int err = find_key(signer, name, bytes, said);
    if (err != 0)
        return err;
    int64_t expires = read_time(bytes);
    if (expires != 0 && now >= expires)
        return UVHTTP_EEXPIRED;
    *length = said - TIME_SIZE;
    memcpy(out, bytes + TIME_SIZE, *length);
    out[*length] = '\0';
    return 0;
}

static int64_t now_seconds(const uvhttp_request_t *request)
{
    return uvhttp_server_unix_ms(uvhttp_request_server(request)) / 1000;
}

int uvhttp_response_set_signed_cookie(uvhttp_response_t *response,
                                      const uvhttp_cookie_signer_t *signer,
                                      const uvhttp_cookie_t *cookie)
{
    char text[UVHTTP_SIGNED_SIZE(MAX_VALUE)];
    size_t length;
    if (cookie == NULL)
        return UVHTTP_EINVAL;
    const char *value = cookie->value != NULL ? cookie->value : "";
    int64_t expires = cookie->expires > 0 ? cookie->expires : 0;
    if (cookie->max_age < 0)
        expires = 1; /* a deletion has expired, even where it is stored */
    else if (cookie->max_age > 0) {
        int64_t now = now_seconds(uvhttp_response_request(response));
        expires = cookie->max_age < INT64_MAX - now ? now + cookie->max_age : 0;
    }
    int err = uvhttp_cookie_sign(signer, cookie->name, uvh_slice(value), expires, text,
                                 sizeof(text), &length);
    if (err != 0)
        return err;
    uvhttp_cookie_t sent = *cookie;
    sent.value = text;
    return uvhttp_response_set_cookie(response, &sent);
}

int uvhttp_request_signed_cookie(uvhttp_request_t *request, const uvhttp_cookie_signer_t *signer,
                                 const char *name, uvhttp_slice_t *value)
{
    const char *sent = name == NULL ? NULL : uvhttp_request_cookie(request, name);
    size_t length;
    uvhttp_slice_t ignored;
    value = value != NULL ? value : &ignored;
    *value = (uvhttp_slice_t){NULL, 0};
    if (sent == NULL)
        return UVHTTP_ESIGNATURE;
    size_t size = strlen(sent) + 1;
    char *out = uvhttp_request_allocate(request, size);
    if (out == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_cookie_verify(signer, name, (uvhttp_slice_t){sent, size - 1},
                                   now_seconds(request), out, size, &length);
    if (err == 0)
        *value = (uvhttp_slice_t){out, length};
    return err;
}
