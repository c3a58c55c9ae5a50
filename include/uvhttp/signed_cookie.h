/* Signed cookies: a client can read what is in them, and cannot change it, use it under another
 * name, or after its time.
 *
 *     uvhttp_cookie_signer_config_t config = {UVHTTP_SIGNING_KEYS({secret, 32})};
 *     uvhttp_cookie_signer_t *signer;      `secret`: 32 random bytes that only your servers know
 *     char message[256];
 *     int err = uvhttp_cookie_signer_new(&signer, &config, message, sizeof message);
 *
 *     uvhttp_response_set_signed_cookie(res, signer, &(uvhttp_cookie_t){.name = "__Host-user",
 *     .value = "17", .max_age = 3600, ...});
 *     if (uvhttp_request_signed_cookie(req, signer, "__Host-user", &user) == 0) ... user.base is
 *     "17"
 *
 * The value that is sent is base64url (RFC 4648 section 5, no padding) of: eight bytes, the Unix
 * time at which it expires, the most significant first, 0 for never; the value; 32 bytes, the
 * HMAC-SHA-256 (RFC 2104) under the key of the text "uvhttp-cookie-1", NUL, the name, NUL, and what
 * stands before the code. So value and time are visible to the client: what must not be seen
 * belongs into a table of the server's, under a random id. A cookie that was stolen is still valid:
 * use HTTPS, `secure`, `http_only` and a short time.
 *
 * To change keys, put the new one in front: the first one signs, all of them verify. Take the old
 * one away when what it signed has expired.
 *
 * Needs OpenSSL's libcrypto (CMake option BUILD_WITH_HTTPS): without it uvhttp_cookie_signer_new
 * gives UVHTTP_ENOTSUP. */
#ifndef UVHTTP_SIGNED_COOKIE_H
#define UVHTTP_SIGNED_COOKIE_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The keys, which any thread may use at any time; from uvhttp_cookie_signer_new. */
typedef struct uvhttp_cookie_signer uvhttp_cookie_signer_t;

/* What uvhttp_cookie_signer_new is told. */
typedef struct uvhttp_cookie_signer_config {
    /* 32 to 1,024 bytes each, from a source of random numbers; copied. Set both by
     * UVHTTP_SIGNING_KEYS; one without the other is refused. */
    const uvhttp_slice_t *keys;
    size_t key_count;                    /* 1 to 16 */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the signer. */
} uvhttp_cookie_signer_config_t;

#ifndef __cplusplus
/* Sets `keys` and `key_count` (C only): UVHTTP_SIGNING_KEYS({current, 32}, {previous, 32}). */
#define UVHTTP_SIGNING_KEYS(...) UVHTTP_ARRAY_MEMBERS(keys, key_count, uvhttp_slice_t, __VA_ARGS__)
#endif

/* 0 and the signer in `*signer`, or with `*signer` NULL: UVHTTP_ECONFIG, with a NUL-terminated
 * message of at most `size` bytes that names field, value and range, never a key (`message` may be
 * NULL); UVHTTP_EINVAL (no config or keys); UVHTTP_ENOTSUP; UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_cookie_signer_new(uvhttp_cookie_signer_t **signer,
                                           const uvhttp_cookie_signer_config_t *config,
                                           char *message, size_t size);

/* Overwrites the keys and frees. NULL is fine. */
UVHTTP_EXPORT void uvhttp_cookie_signer_free(uvhttp_cookie_signer_t *signer);

/* Adds a Set-Cookie field whose value is signed. cookie->value is what the server gets back, any
 * text; it is valid as long as the browser is to keep it (max_age, or else expires), or for ever
 * when that is until the browser ends. The time is that of config->clock. Errors: those of
 * uvhttp_response_set_cookie (UVHTTP_EHEADER also when it becomes larger than browsers take, about
 * 3,000 bytes of value), UVHTTP_EINVAL (no signer or name, name or value are longer than 256 resp.
 * 4,096 bytes). */
UVHTTP_EXPORT int uvhttp_response_set_signed_cookie(uvhttp_response_t *response,
                                                    const uvhttp_cookie_signer_t *signer,
                                                    const uvhttp_cookie_t *cookie);

/* The value of the first cookie of that name, NUL-terminated, which lives as long as the request.
 * Errors, with base NULL: UVHTTP_ESIGNATURE (there is no such cookie, or it is not what was signed
 * under that name with one of the keys), UVHTTP_EEXPIRED (it is, and its time is over),
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_request_signed_cookie(uvhttp_request_t *request,
                                               const uvhttp_cookie_signer_t *signer,
                                               const char *name, uvhttp_slice_t *value);

/* The two steps by themselves, for values that travel elsewhere (links in mails, form fields) or
 * hold any bytes. Any thread. */

/* Room for the signed text of `length` bytes, its NUL included. */
#define UVHTTP_SIGNED_SIZE(length) (((length) + 40) / 3 * 4 + 5)

/* Writes the signed text and a NUL to `out`, its length without the NUL to `*length`. `expires` is
 * Unix time in seconds, 0 for never. Errors: UVHTTP_EINVAL (no signer or name, name or value are
 * longer than 256 resp. 4,096 bytes, `expires` is negative, `size` is less than
 * UVHTTP_SIGNED_SIZE(value.length)), UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_cookie_sign(const uvhttp_cookie_signer_t *signer, const char *name,
                                     uvhttp_slice_t value, int64_t expires, char *out, size_t size,
                                     size_t *length);

/* Writes the value and a NUL to `out` and its length to `*length`, if `text` was signed under that
 * name and has not expired at `now` (Unix time in seconds). Takes the same time wherever a wrong
 * code differs. Errors: UVHTTP_ESIGNATURE, UVHTTP_EEXPIRED, UVHTTP_EINVAL (no signer or name, or
 * `size` is not larger than text.length), UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_cookie_verify(const uvhttp_cookie_signer_t *signer, const char *name,
                                       uvhttp_slice_t text, int64_t now, char *out, size_t size,
                                       size_t *length);

#ifdef __cplusplus
}
#endif

#endif
