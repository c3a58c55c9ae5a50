/* Writes the value of a Set-Cookie field (RFC 6265 section 4.1.1; SameSite, Partitioned, prefixes
 * and sizes: draft-ietf-httpbis-rfc6265bis sections 4.1 and 5.6, and
 * draft-cutler-httpbis-partitioned-cookies), see uvhttp/cookie.h. Cookies that a browser would
 * silently drop are errors. Called by users of either library. */
#include <uvhttp/cookie.h>

#include <stdio.h>
#include <string.h>

#include "codec/fields/http_date.h"
#include "codec/text/chars.h"

/* Limits of browsers (rfc6265bis section 5.6), of a host name (RFC 1035 section 2.3.4), and the
 * last second that a date can express. */
enum { LARGEST_COOKIE = 4096, LARGEST_ATTRIBUTE = 1024, LARGEST_DOMAIN = 253, LARGEST_LABEL = 63 };
#define LAST_SECOND INT64_C(253402300799)

static bool is_token(const char *text)
{
    size_t length = 0;
    while (uvh_chars_is(text[length], UVH_CHAR_TOKEN))
        length++;
    return length > 0 && text[length] == '\0';
}

/* *cookie-octet / ( DQUOTE *cookie-octet DQUOTE ) */
static bool is_value(const char *text)
{
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        text++;
        length -= 2;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c <= ' ' || c > '~' || c == '"' || c == ',' || c == ';' || c == '\\')
            return false;
    }
    return true;
}

static bool is_letter_or_digit(char c)
{
    char lower = uvh_chars_lower(c);
    return (lower >= 'a' && lower <= 'z') || uvh_chars_is(c, UVH_CHAR_DIGIT);
}

/* Labels of letters, digits and '-', neither first nor last (RFC 1034 section 3.5, RFC 1123 section
 * 2.1). */
static bool is_domain(const char *text)
{
    size_t length = 0;
    if (strlen(text) > LARGEST_DOMAIN)
        return false;
    for (size_t i = 0;; i++) {
        char c = text[i];
        if (c == '.' || c == '\0') {
            if (length == 0 || length > LARGEST_LABEL || text[i - 1] == '-')
                return false;
            if (c == '\0')
                return true;
            length = 0;
        } else if (is_letter_or_digit(c) || (c == '-' && length > 0)) {
            length++;
        } else {
            return false;
        }
    }
}

static bool is_path(const char *text)
{
    if (text[0] != '/' || strlen(text) > LARGEST_ATTRIBUTE)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~' || *text == ';')
            return false;
    }
    /* Browsers remove white space at the end. */
    return text[-1] != ' ';
}

/* Browsers compare prefixes case-insensitively. `prefix` is in lower case. */
static bool has_prefix(const char *name, const char *prefix)
{
    for (; *prefix != '\0'; name++, prefix++) {
        if (uvh_chars_lower(*name) != *prefix)
            return false;
    }
    return true;
}

static uvhttp_cookie_error_t check(const uvhttp_cookie_t *cookie, const char *value)
{
    if (cookie->name == NULL || !is_token(cookie->name))
        return UVHTTP_COOKIE_NAME;
    if (!is_value(value))
        return UVHTTP_COOKIE_VALUE;
    if (strlen(cookie->name) + strlen(value) > LARGEST_COOKIE)
        return UVHTTP_COOKIE_TOO_LARGE;
    if (cookie->domain != NULL && !is_domain(cookie->domain))
        return UVHTTP_COOKIE_DOMAIN;
    if (cookie->path != NULL && !is_path(cookie->path))
        return UVHTTP_COOKIE_PATH;
    if (cookie->expires < 0 || cookie->expires > LAST_SECOND)
        return UVHTTP_COOKIE_EXPIRES;
    if ((unsigned)cookie->same_site > UVHTTP_SAME_SITE_NONE)
        return UVHTTP_COOKIE_SAME_SITE;
    bool host = has_prefix(cookie->name, "__host-");
    bool wants_secure = host || has_prefix(cookie->name, "__secure-") || cookie->partitioned ||
                        cookie->same_site == UVHTTP_SAME_SITE_NONE;
    if (wants_secure && !cookie->secure)
        return UVHTTP_COOKIE_INSECURE;
    if (host && (cookie->domain != NULL || cookie->path == NULL || strcmp(cookie->path, "/") != 0))
        return UVHTTP_COOKIE_HOST_PREFIX;
    return UVHTTP_COOKIE_OK;
}

/* `base` NULL: only computes the length. */
struct output {
    char *base;
    size_t length;
};

static void put(struct output *output, const char *bytes, size_t length)
{
    if (output->base != NULL)
        memcpy(output->base + output->length, bytes, length);
    output->length += length;
}

static void put_text(struct output *output, const char *text)
{
    put(output, text, strlen(text));
}

static void put_attributes(struct output *output, const uvhttp_cookie_t *cookie)
{
    static const char *const same_site[] = {"", "; SameSite=Strict", "; SameSite=Lax",
                                            "; SameSite=None"};
    if (cookie->domain != NULL) {
        put_text(output, "; Domain=");
        put_text(output, cookie->domain);
    }
    if (cookie->path != NULL) {
        put_text(output, "; Path=");
        put_text(output, cookie->path);
    }
    if (cookie->max_age != 0) {
        char text[sizeof "; Max-Age=-9223372036854775808"];
        int length = snprintf(text, sizeof text, "; Max-Age=%lld",
                              cookie->max_age > 0 ? (long long)cookie->max_age : 0LL);
        put(output, text, (size_t)length);
    }
    if (cookie->expires != 0) {
        char date[UVH_HTTP_DATE_SIZE];
        uvh_http_date_format(cookie->expires, date);
        put_text(output, "; Expires=");
        put(output, date, sizeof date);
    }
    if (cookie->secure)
        put_text(output, "; Secure");
    if (cookie->http_only)
        put_text(output, "; HttpOnly");
    put_text(output, same_site[cookie->same_site]);
    if (cookie->partitioned)
        put_text(output, "; Partitioned");
}

static size_t put_cookie(struct output *output, const uvhttp_cookie_t *cookie, const char *value)
{
    put_text(output, cookie->name);
    put_text(output, "=");
    put_text(output, value);
    put_attributes(output, cookie);
    put(output, "", 1);
    return output->length;
}

uvhttp_cookie_error_t uvhttp_cookie_write(const uvhttp_cookie_t *cookie, char *out, size_t size,
                                          size_t *length)
{
    size_t ignored;
    length = length != NULL ? length : &ignored;
    *length = 0;
    if (cookie == NULL)
        return UVHTTP_COOKIE_NAME;
    const char *value = cookie->value != NULL ? cookie->value : "";
    uvhttp_cookie_error_t error = check(cookie, value);
    if (error != UVHTTP_COOKIE_OK)
        return error;
    struct output output = {NULL, 0};
    size_t needed = put_cookie(&output, cookie, value);
    *length = needed - 1;
    if (out == NULL || needed > size)
        return UVHTTP_COOKIE_FULL;
    output.base = out;
    output.length = 0;
    put_cookie(&output, cookie, value);
    return UVHTTP_COOKIE_OK;
}

struct error_row {
    const char *name;
    const char *text;
};

#define ERROR_ROW(name, text) [UVHTTP_COOKIE_##name] = {#name, (text)},
static const struct error_row rows[UVHTTP_COOKIE_ERROR_COUNT] = {
    [UVHTTP_COOKIE_OK] = {"OK", "no error"}, UVHTTP_COOKIE_ERROR_MAP(ERROR_ROW)};

static const struct error_row *row_of(uvhttp_cookie_error_t error)
{
    return &rows[(unsigned)error < UVHTTP_COOKIE_ERROR_COUNT ? error : UVHTTP_COOKIE_OK];
}

const char *uvhttp_cookie_error_name(uvhttp_cookie_error_t error)
{
    return row_of(error)->name;
}

const char *uvhttp_cookie_error_text(uvhttp_cookie_error_t error)
{
    return row_of(error)->text;
}
