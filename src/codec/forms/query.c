/* Iterates over the name=value pairs of a query or form (application/x-www-form-urlencoded, URL
 * standard) without decoding: an encoded '&' or '=' remains data. Called by http/request.c, form.c
 * and users of the parser library. */
#include <uvhttp/parser.h>

#include <string.h>

/* The text up to the next `separator`, or all of it. */
static uvhttp_slice_t until(uvhttp_slice_t text, char separator)
{
    const char *at = memchr(text.base, separator, text.length);
    return (uvhttp_slice_t){text.base, at == NULL ? text.length : (size_t)(at - text.base)};
}

bool uvhttp_query_next(uvhttp_slice_t *rest, uvhttp_slice_t *name, uvhttp_slice_t *value)
{
    uvhttp_slice_t ignored;
    name = name != NULL ? name : &ignored;
    value = value != NULL ? value : &ignored;
    while (rest != NULL && rest->length > 0) {
        uvhttp_slice_t pair = until(*rest, '&');
        size_t used = pair.length < rest->length ? pair.length + 1 : pair.length;
        *rest = (uvhttp_slice_t){rest->base + used, rest->length - used};
        if (pair.length == 0)
            continue;
        *name = until(pair, '=');
        *value = (uvhttp_slice_t){NULL, 0};
        if (name->length < pair.length)
            *value = (uvhttp_slice_t){pair.base + name->length + 1, pair.length - name->length - 1};
        return true;
    }
    return false;
}
