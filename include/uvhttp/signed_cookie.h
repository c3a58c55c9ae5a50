/* Signed cookies: a client can read them, but cannot change them, use them under another name, or
 * after their expiry.
 *
 *     uvhttp_cookie_signer_options_t options = {UVHTTP_SIGNING_KEYS({secret, 32})};
 *     uvhttp_cookie_signer_t *signer; // `secret`: 32 random bytes known to your servers only
 *     uvhttp_error_t error;
 *     int err = uvhttp_cookie_signer_new(&signer, &options, &error);
 *
 *     uvhttp_cookie_t cookie = {
 *         .name = "__Host-user", .value = "17", .path = "/", .max_age = 3600, .secure = true};
 *     uvhttp_response_set_signed_cookie(res, signer, &cookie);
 *
 *     uvhttp_slice_t user; // in a later request: "17"
 *     if (uvhttp_request_signed_cookie(req, signer, "__Host-user", &user) != 0)
 *         return uvhttp_response_send_status(res, 403);
 *
 * The value sent is the base64url encoding (RFC 4648 section 5, no padding) of: the expiry as Unix
 * time, eight bytes, big-endian, 0 for never; the value; and 32 bytes HMAC-SHA-256 (RFC 2104) with
 * the key over the text "uvhttp-cookie-1", NUL, the name, NUL, and the bytes before the HMAC. The
 * client can read value and time: store confidential data on the server under a random ID. A stolen
 * cookie is still valid: use HTTPS, `secure`, `http_only` and a short lifetime.
 *
 * To rotate keys, put the new key first: the first one signs, all of them verify. Remove the old
 * key when its cookies have expired.
 *
 * Needs OpenSSL's libcrypto (CMake option BUILD_WITH_LIBCRYPTO): without it
 * uvhttp_cookie_signer_new returns UVHTTP_ENOTSUP. */
#ifndef UVHTTP_SIGNED_COOKIE_H
#define UVHTTP_SIGNED_COOKIE_H

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Signing keys, usable on any thread; from uvhttp_cookie_signer_new. */
typedef struct uvhttp_cookie_signer uvhttp_cookie_signer_t;

/* Options of uvhttp_cookie_signer_new. */
typedef struct uvhttp_cookie_signer_options {
    /* 32 to 1,024 random bytes each; copied. Set both fields with UVHTTP_SIGNING_KEYS; one
     * without the other is rejected. */
    const uvhttp_slice_t *keys;
    size_t key_count;                    /* 1 to 16 */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the signer. */
} uvhttp_cookie_signer_options_t;

#ifndef __cplusplus
/* Sets `keys` and `key_count` (C only): UVHTTP_SIGNING_KEYS({current, 32}, {previous, 32}). */
#define UVHTTP_SIGNING_KEYS(...) UVHTTP_ARRAY_MEMBERS(keys, key_count, uvhttp_slice_t, __VA_ARGS__)
#endif

/* Creates a signer. Any thread.
 * Returns 0 with the signer in `*signer`, or with `*signer` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`, which never contains a key
 *   UVHTTP_EINVAL   no options or keys
 *   UVHTTP_ENOTSUP  a build without libcrypto
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_cookie_signer_new(uvhttp_cookie_signer_t **signer,
                                           const uvhttp_cookie_signer_options_t *options,
                                           uvhttp_error_t *error);

/* Overwrites the keys and frees the signer. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_cookie_signer_free(void *signer);

/* Adds a Set-Cookie field with a signed value. cookie->value is any text; it is valid as long as
 * the cookie's lifetime (max_age, or else expires), or forever for a session cookie. The time is
 * that of config->clock.
 * Returns 0, the errors of uvhttp_response_set_cookie, or
 *   UVHTTP_EHEADER  also above the size limit of browsers, about 3,000 bytes of value
 *   UVHTTP_EINVAL   no signer or name, a name above 256 or a value above 4,096 bytes */
UVHTTP_EXPORT int uvhttp_response_set_signed_cookie(uvhttp_response_t *response,
                                                    const uvhttp_cookie_signer_t *signer,
                                                    const uvhttp_cookie_t *cookie);

/* The verified value of the first cookie of that name, NUL-terminated, valid as long as the
 * request.
 * Returns 0, or with base NULL
 *   UVHTTP_ESIGNATURE  no such cookie, or not signed under that name with one of the keys
 *   UVHTTP_EEXPIRED    valid signature, but expired
 *   UVHTTP_ENOMEM      out of memory */
UVHTTP_EXPORT int uvhttp_request_signed_cookie(uvhttp_request_t *request,
                                               const uvhttp_cookie_signer_t *signer,
                                               const char *name, uvhttp_slice_t *value);

/* Signing and verification without cookies, for values in links or form fields, and for binary
 * data. Any thread. */

/* Size of the signed text for a value of `length` bytes, including its NUL. */
#define UVHTTP_SIGNED_SIZE(length) (((length) + 40) / 3 * 4 + 5)

/* Writes the signed text and a NUL to `out`, its length without the NUL to `*length`. `expires` is
 * Unix time in seconds, 0 for never.
 * Returns 0, or
 *   UVHTTP_EINVAL  no signer or name, a name above 256 or a value above 4,096 bytes, `expires` is
 *                  negative, or `size` is less than UVHTTP_SIGNED_SIZE(value.length)
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_cookie_sign(const uvhttp_cookie_signer_t *signer, const char *name,
                                     uvhttp_slice_t value, int64_t expires, char *out, size_t size,
                                     size_t *length);

/* Verifies a signed text at the time `now` (Unix time in seconds), and writes the value and a NUL
 * to `out`, its length to `*length`. The HMAC is compared in constant time.
 * Returns 0, or
 *   UVHTTP_ESIGNATURE  not signed under that name
 *   UVHTTP_EEXPIRED    valid signature, but expired
 *   UVHTTP_EINVAL      no signer or name, or `size` is not larger than text.length
 *   UVHTTP_ENOMEM      out of memory */
UVHTTP_EXPORT int uvhttp_cookie_verify(const uvhttp_cookie_signer_t *signer, const char *name,
                                       uvhttp_slice_t text, int64_t now, char *out, size_t size,
                                       size_t *length);

#ifdef __cplusplus
}
#endif

#endif
