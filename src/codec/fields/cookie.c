/* Iterates over the pairs of a Cookie field (RFC 6265 section 5.4) without decoding values, whose
 * meaning only the application knows. As lenient as browsers, so that one unusual cookie does not
 * hide the others. Called by users of the parser library. */
#include <uvhttp/cookie.h>

#include <string.h>

#include <uvhttp/parser.h>

#include "codec/text/chars.h"

/* [start, end) without surrounding white space. */
static uvhttp_slice_t trimmed(const char *start, const char *end)
{
    while (start < end && uvh_chars_is(*start, UVH_CHAR_SPACE))
        start++;
    while (end > start && uvh_chars_is(end[-1], UVH_CHAR_SPACE))
        end--;
    return (uvhttp_slice_t){start, (size_t)(end - start)};
}

bool uvhttp_cookie_next(uvhttp_slice_t *rest, uvhttp_slice_t *name, uvhttp_slice_t *value)
{
    uvhttp_slice_t ignored[2];
    name = name != NULL ? name : &ignored[0];
    value = value != NULL ? value : &ignored[1];
    while (rest != NULL && rest->length > 0) {
        const char *start = rest->base;
        const char *end = start + rest->length;
        const char *semicolon = memchr(start, ';', rest->length);
        const char *stop = semicolon != NULL ? semicolon : end;
        const char *next = semicolon != NULL ? semicolon + 1 : end;
        *rest = (uvhttp_slice_t){next, (size_t)(end - next)};
        const char *equals = memchr(start, '=', (size_t)(stop - start));
        *name = equals != NULL ? trimmed(start, equals) : (uvhttp_slice_t){start, 0};
        *value = equals != NULL ? trimmed(equals + 1, stop) : trimmed(start, stop);
        if (name->length > 0 || value->length > 0)
            return true;
    }
    return false;
}

uvhttp_slice_t uvhttp_cookie_find(uvhttp_slice_t cookies, const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;
    uvhttp_slice_t found;
    uvhttp_slice_t value;
    while (name != NULL && uvhttp_cookie_next(&cookies, &found, &value)) {
        if (found.length == length && memcmp(found.base, name, length) == 0)
            return value;
    }
    return (uvhttp_slice_t){NULL, 0};
}
