/* See media_type.h and uvhttp/text.h. */
#include "codec/fields/media_type.h"

#include <string.h>

#include <uvhttp/text.h>

#include "codec/fields/field.h"
#include "codec/fields/parameter.h"

static bool next_element(const char **list, uvhttp_slice_t *element)
{
    *list += strspn(*list, ", ");
    *element = (uvhttp_slice_t){*list, strcspn(*list, ", ")};
    *list += element->length;
    return element->length > 0;
}

static bool ends_with(uvhttp_slice_t text, uvhttp_slice_t end)
{
    return text.length > end.length &&
           uvh_field_name_equal((uvhttp_slice_t){text.base + text.length - end.length, end.length},
                                end);
}

static bool matches(uvhttp_slice_t pattern, uvhttp_slice_t type)
{
    if (pattern.length == 3 && memcmp(pattern.base, "*/*", 3) == 0)
        return true;
    if (pattern.base[0] == '+')
        return ends_with(type, pattern);
    if (pattern.length < 2 || pattern.base[pattern.length - 1] != '*')
        return uvh_field_name_equal(type, pattern);
    size_t front = pattern.length - 1; /* with the slash */
    return type.length > front && uvh_field_name_equal((uvhttp_slice_t){type.base, front},
                                                       (uvhttp_slice_t){pattern.base, front});
}

bool uvhttp_media_type_is(uvhttp_slice_t value, const char *types)
{
    uvhttp_slice_t pattern, type = value.base == NULL ? value : uvh_parameter_front(&value);
    if (type.base == NULL || type.length == 0 || types == NULL)
        return false;
    while (next_element(&types, &pattern)) {
        if (matches(pattern, type))
            return true;
    }
    return false;
}

static bool is_pattern(uvhttp_slice_t text)
{
    if (text.base[0] == '+')
        return uvh_field_name_valid((uvhttp_slice_t){text.base + 1, text.length - 1});
    const char *slash = memchr(text.base, '/', text.length);
    if (slash == NULL)
        return false;
    uvhttp_slice_t front = {text.base, (size_t)(slash - text.base)};
    uvhttp_slice_t after = {slash + 1, text.length - front.length - 1};
    if (!uvh_field_name_valid(front) || !uvh_field_name_valid(after))
        return false;
    bool any = memchr(front.base, '*', front.length) != NULL;
    bool star = after.length == 1 && after.base[0] == '*';
    if (memchr(after.base, '*', after.length) != NULL && !star)
        return false;
    return !any || (front.length == 1 && star);
}

const char *uvh_media_type_check(const char *list, size_t *length)
{
    uvhttp_slice_t element;
    while (next_element(&list, &element)) {
        if (is_pattern(element))
            continue;
        *length = element.length;
        return element.base;
    }
    return NULL;
}
