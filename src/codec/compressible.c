/* See compressible.h. The default is a list like everybody's. */
#include "codec/compressible.h"

#include <string.h>

#include "codec/field.h"
#include "codec/parameter.h"

static const char usual[] =
    "text/* +json +xml +text +yaml application/json application/javascript application/ecmascript "
    "application/x-javascript application/xml application/xml-dtd application/x-ndjson application/ndjson "
    "application/jsonl application/json-seq application/yaml application/toml application/sql "
    "application/graphql application/rtf application/wasm application/x-sh application/x-httpd-php "
    "application/vnd.ms-fontobject application/x-font-ttf font/ttf font/otf "
    "font/collection image/bmp image/x-icon image/vnd.microsoft.icon image/x-portable-pixmap model/obj "
    "model/stl model/gltf-binary audio/wav audio/x-wav message/rfc822";

static bool next_element(const char **list, uvhttp_slice_t *element)
{
    *list += strspn(*list, ", ");
    *element = (uvhttp_slice_t){*list, strcspn(*list, ", ")};
    *list += element->length;
    return element->length > 0;
}

static bool ends_with(uvhttp_slice_t text, uvhttp_slice_t end)
{
    return text.length >= end.length &&
           uvh_field_name_equal((uvhttp_slice_t){text.base + text.length - end.length, end.length}, end);
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
    return type.length > front &&
           uvh_field_name_equal((uvhttp_slice_t){type.base, front}, (uvhttp_slice_t){pattern.base, front});
}

bool uvh_compressible_type_in(const char *list, uvhttp_slice_t type)
{
    uvhttp_slice_t pattern, front = uvh_parameter_front(&type);
    if (front.length == 0)
        return false;
    while (next_element(&list, &pattern)) {
        if (matches(pattern, front))
            return true;
    }
    return false;
}

bool uvh_compressible_type(uvhttp_slice_t type)
{
    return uvh_compressible_type_in(usual, type);
}

static bool is_pattern(uvhttp_slice_t text)
{
    if (text.base[0] == '+')
        return uvh_field_name_valid((uvhttp_slice_t){text.base + 1, text.length - 1});
    const char *slash = memchr(text.base, '/', text.length);
    if (slash == NULL)
        return false;
    uvhttp_slice_t front = {text.base, (size_t)(slash - text.base)};
    uvhttp_slice_t behind = {slash + 1, text.length - front.length - 1};
    if (!uvh_field_name_valid(front) || !uvh_field_name_valid(behind))
        return false;
    bool any = memchr(front.base, '*', front.length) != NULL;
    bool star = behind.length == 1 && behind.base[0] == '*';
    if (memchr(behind.base, '*', behind.length) != NULL && !star)
        return false;
    return !any || (front.length == 1 && star);
}

const char *uvh_compressible_check(const char *list, size_t *length)
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
