/* Cookies: the value of a Set-Cookie field (RFC 6265 section 4.1, with the attributes of its
 * successor, draft-ietf-httpbis-rfc6265bis), and the cookies of a Cookie field by name.
 * uvhttp_cookie_next (parser.h) walks all of them.
 *
 * Part of uvhttp_parser: no I/O, no allocation, no clock. Any thread.
 *
 *     uvhttp_cookie_t cookie = {.name = "__Host-session", .value = token, .path = "/", .secure =
 *                               true, .http_only = true, .same_site = UVHTTP_SAME_SITE_LAX,
 *                               .max_age = 3600};
 *     char text[512];
 *     size_t length;
 *     if (uvhttp_cookie_write(&cookie, text, sizeof text, &length) == UVHTTP_COOKIE_OK)
 *         ... a field "Set-Cookie: text"; one field for each cookie, they cannot be joined */
#ifndef UVHTTP_COOKIE_H
#define UVHTTP_COOKIE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a cookie is sent with requests that other sites cause (SameSite). */
typedef enum uvhttp_same_site {
    UVHTTP_SAME_SITE_UNSET = 0, /* browsers take it as LAX, more or less */
    UVHTTP_SAME_SITE_STRICT = 1,
    UVHTTP_SAME_SITE_LAX = 2,
    UVHTTP_SAME_SITE_NONE = 3 /* sent from other sites too; only with `secure` */
} uvhttp_same_site_t;

enum { UVHTTP_COOKIE_DELETE = -1 }; /* for max_age */

/* A cookie to set; what is zero is left out. Strings end with NUL. */
typedef struct uvhttp_cookie {
    const char *name; /* a token */
    const char *
        /* visible ASCII without '"' ',' ';' '\', but for quotes around the whole; NULL is "".
         * Encode the rest (base64url, percent) */
        value;
    const char *domain; /* "example.com": for its subdomains too. NULL: for this host alone */
    const char *path;   /* begins with '/'. NULL: the folder of the request's path */
    int64_t
        /* seconds it is kept; 0: until the browser ends; UVHTTP_COOKIE_DELETE, or any negative
         * number: delete it */
        max_age;
    int64_t expires;  /* Unix time, the same for old clients; 0: not said */
    bool secure;      /* over HTTPS only */
    bool http_only;   /* scripts do not see it */
    bool partitioned; /* one for each site it is embedded in; only with `secure` */
    uvhttp_same_site_t same_site;
} uvhttp_cookie_t;

/* Why a cookie is not written; most are what browsers ignore without a word. */
#define UVHTTP_COOKIE_ERROR_MAP(X)                                                              \
    X(FULL, "the memory is too small")                                                          \
    X(NAME, "the name is not a token")                                                          \
    X(VALUE, "the value holds a character that is not allowed")                                 \
    X(TOO_LARGE, "name and value have more than 4096 bytes")                                    \
    X(DOMAIN, "the domain is not a host name")                                                  \
    X(PATH,                                                                                     \
      "the path does not begin with '/', is too long or holds a character that is not allowed") \
    X(EXPIRES, "the expiry lies before 1970 or behind 9999")                                    \
    X(INSECURE,                                                                                 \
      "SameSite=None, Partitioned and the prefixes __Secure- and __Host- ask for Secure")       \
    X(HOST_PREFIX, "the prefix __Host- asks for the path '/' and no domain")                    \
    X(SAME_SITE, "SameSite is none of its values")

/* What uvhttp_cookie_write returns. */
typedef enum uvhttp_cookie_error {
    UVHTTP_COOKIE_OK = 0,
#define UVHTTP_COOKIE_ERROR_ENUM(name, text) UVHTTP_COOKIE_##name,
    UVHTTP_COOKIE_ERROR_MAP(UVHTTP_COOKIE_ERROR_ENUM)
#undef UVHTTP_COOKIE_ERROR_ENUM
        UVHTTP_COOKIE_ERROR_COUNT
} uvhttp_cookie_error_t;

/* "VALUE"; never NULL */
UVHTTP_EXPORT const char *uvhttp_cookie_error_name(uvhttp_cookie_error_t error);
/* a sentence; never NULL */
UVHTTP_EXPORT const char *uvhttp_cookie_error_text(uvhttp_cookie_error_t error);

/* Writes the value of a Set-Cookie field and a NUL to `out`, which has `size` bytes. `*length` is
 * the length of the text without the NUL, with FULL too: call with NULL and 0 to learn it. With any
 * other error it is 0. Nothing is written but with UVHTTP_COOKIE_OK. `cookie` NULL is NAME, `out`
 * NULL is FULL whatever `size` is, `length` may be NULL. */
UVHTTP_EXPORT uvhttp_cookie_error_t uvhttp_cookie_write(const uvhttp_cookie_t *cookie, char *out,
                                                        size_t size, size_t *length);

/* The value of the first cookie with that name in the value of a Cookie field, as it came (quotes
 * included); case matters. Base NULL when there is none, or no name. Of several with one name the
 * browser sends that with the longest path first (RFC 6265 section 5.4). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_cookie_find(uvhttp_slice_t cookies, const char *name);

#ifdef __cplusplus
}
#endif

#endif
