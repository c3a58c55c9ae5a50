/* Cookies: writes the value of a Set-Cookie field (RFC 6265 section 4.1, with the attributes of
 * draft-ietf-httpbis-rfc6265bis), and finds a cookie in a Cookie field by name. uvhttp_cookie_next
 * (parser.h) iterates over all cookies.
 *
 * Part of uvhttp_parser: no I/O, no allocation, no clock. Any thread.
 *
 *     uvhttp_cookie_t cookie = {.name = "__Host-session",
 *                               .value = token,
 *                               .path = "/",
 *                               .secure = true,
 *                               .http_only = true,
 *                               .same_site = UVHTTP_SAME_SITE_LAX,
 *                               .max_age = 3600};
 *     char text[512];
 *     size_t length;
 *     if (uvhttp_cookie_write(&cookie, text, sizeof text, &length) == UVHTTP_COOKIE_OK)
 *         printf("Set-Cookie: %s\r\n", text); // one field per cookie */
#ifndef UVHTTP_COOKIE_H
#define UVHTTP_COOKIE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SameSite: whether a cookie is sent with cross-site requests. */
typedef enum uvhttp_same_site {
    UVHTTP_SAME_SITE_UNSET = 0, /* browsers treat it approximately as LAX */
    UVHTTP_SAME_SITE_STRICT = 1,
    UVHTTP_SAME_SITE_LAX = 2,
    UVHTTP_SAME_SITE_NONE = 3 /* sent with all cross-site requests; requires `secure` */
} uvhttp_same_site_t;

enum { UVHTTP_COOKIE_DELETE = -1 }; /* value of max_age */

/* A cookie to set; zero fields are omitted. Strings are NUL-terminated. */
typedef struct uvhttp_cookie {
    const char *name; /* a token */
    /* Visible ASCII except '"' ',' ';' '\', with optional quotes around the whole; NULL is "".
     * Encode other bytes (base64url, percent). */
    const char *value;
    const char *domain; /* "example.com": with its subdomains. NULL: this host only */
    const char *path;   /* begins with '/'. NULL: the directory of the request's path */
    /* Lifetime in seconds; 0: session cookie; UVHTTP_COOKIE_DELETE, or any negative number:
     * delete it. */
    int64_t max_age;
    int64_t expires;  /* Unix time, for old clients; 0: not sent */
    bool secure;      /* over HTTPS only */
    bool http_only;   /* not visible to scripts */
    bool partitioned; /* separate per embedding site; requires `secure` */
    uvhttp_same_site_t same_site;
} uvhttp_cookie_t;

/* Reasons why a cookie is not written; browsers would ignore most of these silently. */
#define UVHTTP_COOKIE_ERROR_MAP(X)                                                            \
    X(FULL, "the buffer is too small")                                                        \
    X(NAME, "the name is not a token")                                                        \
    X(VALUE, "the value contains an invalid character")                                       \
    X(TOO_LARGE, "name and value exceed 4096 bytes")                                          \
    X(DOMAIN, "the domain is not a host name")                                                \
    X(PATH, "the path does not begin with '/', is too long or contains an invalid character") \
    X(EXPIRES, "the expiry date is before 1970 or after 9999")                                \
    X(INSECURE,                                                                               \
      "SameSite=None, Partitioned and the prefixes __Secure- and __Host- require Secure")     \
    X(HOST_PREFIX, "the prefix __Host- requires the path '/' and no domain")                  \
    X(SAME_SITE, "invalid SameSite value")

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
/* a description; never NULL */
UVHTTP_EXPORT const char *uvhttp_cookie_error_text(uvhttp_cookie_error_t error);

/* Writes the value of a Set-Cookie field and a NUL to `out` of `size` bytes. `*length` is the
 * length without the NUL, also for FULL: call with NULL and 0 to get it. For other errors it is
 * 0. Writes nothing except with UVHTTP_COOKIE_OK. `cookie` NULL is NAME, `out` NULL is FULL,
 * `length` may be NULL. */
UVHTTP_EXPORT uvhttp_cookie_error_t uvhttp_cookie_write(const uvhttp_cookie_t *cookie, char *out,
                                                        size_t size, size_t *length);

/* The value of the first cookie with that name in the value of a Cookie field, as sent
 * (including quotes); case-sensitive. Base NULL without one, or without name. Of several with
 * one name, browsers send the one with the longest path first (RFC 6265 section 5.4). */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_cookie_find(uvhttp_slice_t cookies, const char *name);

#ifdef __cplusplus
}
#endif

#endif
