/* Set-Cookie. The first two bytes of the input determine flags, the next eight Max-Age, the next
 * eight Expires. Then follow name, value, domain and path, separated by line feeds; "-" means no
 * value. Properties: a written cookie, read by the steps of rfc6265bis section 5.6, is the given
 * cookie. Each buffer that is too small is rejected with the same length. A rejected cookie writes
 * nothing. */
#include <uvhttp/cookie.h>

#include "fuzz/fuzz_check.h"

enum { TEXTS = 4, NUMBERS = 18 };

struct read {
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    uvhttp_slice_t domain;
    uvhttp_slice_t path;
    uvhttp_slice_t max_age;
    uvhttp_slice_t expires;
    uvhttp_slice_t same_site;
    unsigned secure;
    unsigned http_only;
    unsigned partitioned;
    unsigned others;
};

static uvhttp_slice_t trimmed(const char *start, const char *end)
{
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (uvhttp_slice_t){start, (size_t)(end - start)};
}

/* Splits at the first '='. */
static void split(const char *start, const char *end, uvhttp_slice_t *name, uvhttp_slice_t *value)
{
    const char *equals = start < end ? memchr(start, '=', (size_t)(end - start)) : NULL;
    *name = trimmed(start, equals != NULL ? equals : end);
    *value = equals != NULL ? trimmed(equals + 1, end) : (uvhttp_slice_t){end, 0};
}

static bool is(uvhttp_slice_t text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.base, expected, text.length) == 0;
}

static void read_attribute(struct read *read, const char *start, const char *end)
{
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    split(start, end, &name, &value);
    read->secure += is(name, "Secure");
    read->http_only += is(name, "HttpOnly");
    read->partitioned += is(name, "Partitioned");
    if (is(name, "Secure") || is(name, "HttpOnly") || is(name, "Partitioned"))
        return;
    uvhttp_slice_t *target = is(name, "Domain")     ? &read->domain
                             : is(name, "Path")     ? &read->path
                             : is(name, "Max-Age")  ? &read->max_age
                             : is(name, "Expires")  ? &read->expires
                             : is(name, "SameSite") ? &read->same_site
                                                    : NULL;
    if (target == NULL || target->base != NULL)
        read->others++;
    else
        *target = value;
}

static struct read read_cookie(const char *text)
{
    struct read read = {.others = 0};
    const char *stop = text + strcspn(text, ";");
    split(text, stop, &read.name, &read.value);
    while (*stop == ';') {
        const char *start = stop + 1;
        stop = start + strcspn(start, ";");
        read_attribute(&read, start, stop);
    }
    return read;
}

static bool same(uvhttp_slice_t read, const char *given)
{
    return given == NULL ? read.base == NULL : read.base != NULL && is(read, given);
}

static void check_read(const uvhttp_cookie_t *cookie, const char *text)
{
    static const char *const same_site[] = {NULL, "Strict", "Lax", "None"};
    struct read read = read_cookie(text);
    char age[32];
    snprintf(age, sizeof age, "%lld", cookie->max_age > 0 ? (long long)cookie->max_age : 0LL);
    require(text[strcspn(text, "\r\n")] == '\0' && read.others == 0);
    require(same(read.name, cookie->name) &&
            same(read.value, cookie->value != NULL ? cookie->value : ""));
    require(same(read.domain, cookie->domain) && same(read.path, cookie->path));
    require(same(read.max_age, cookie->max_age != 0 ? age : NULL));
    require((read.expires.base != NULL) == (cookie->expires != 0));
    require(read.expires.base == NULL ||
            read.expires.length == sizeof "Sun, 06 Nov 1994 08:49:37 GMT" - 1);
    require(same(read.same_site, same_site[cookie->same_site]));
    require(read.secure == cookie->secure && read.http_only == cookie->http_only);
    require(read.partitioned == cookie->partitioned);
}

static void check_cookie(const uvhttp_cookie_t *cookie)
{
    size_t needed;
    size_t length;
    uvhttp_cookie_error_t error = uvhttp_cookie_write(cookie, NULL, 0, &needed);
    require(error != UVHTTP_COOKIE_OK && error < UVHTTP_COOKIE_ERROR_COUNT);
    require((error == UVHTTP_COOKIE_FULL) == (needed > 0));
    char *text = malloc(needed + 1);
    require(text != NULL);
    memset(text, '?', needed + 1);
    require(uvhttp_cookie_write(cookie, text, needed, &length) == error && length == needed);
    for (size_t i = 0; i <= needed; i++)
        require(text[i] == '?');
    if (error == UVHTTP_COOKIE_FULL) {
        require(uvhttp_cookie_write(cookie, text, needed + 1, &length) == UVHTTP_COOKIE_OK);
        require(length == needed && strlen(text) == needed);
        check_read(cookie, text);
        uvhttp_slice_t found =
            uvhttp_cookie_find((uvhttp_slice_t){text, strcspn(text, ";")}, cookie->name);
        require(same(found, cookie->value != NULL ? cookie->value : ""));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < NUMBERS)
        return 0;
    char *copy = malloc(size - NUMBERS + 1);
    require(copy != NULL);
    memcpy(copy, data + NUMBERS, size - NUMBERS);
    copy[size - NUMBERS] = '\0';
    const char *texts[TEXTS] = {NULL};
    char *start = copy;
    for (int i = 0; i < TEXTS && start != NULL; i++) {
        char *end = strchr(start, '\n');
        if (end != NULL && i < TEXTS - 1)
            *end++ = '\0';
        texts[i] = strcmp(start, "-") == 0 ? NULL : start;
        start = end;
    }
    uvhttp_cookie_t cookie = {.name = texts[0],
                              .value = texts[1],
                              .domain = texts[2],
                              .path = texts[3],
                              .secure = (data[0] & 1) != 0,
                              .http_only = (data[0] & 2) != 0,
                              .partitioned = (data[0] & 4) != 0,
                              .same_site = (uvhttp_same_site_t)(data[1] & 3)};
    memcpy(&cookie.max_age, data + 2, sizeof cookie.max_age);
    memcpy(&cookie.expires, data + 10, sizeof cookie.expires);
    if ((data[0] & 8) != 0)
        cookie.max_age = 0;
    if ((data[0] & 16) != 0)
        cookie.expires = (int64_t)((uint64_t)cookie.expires >> 30);
    check_cookie(&cookie);
    free(copy);
    return 0;
}
