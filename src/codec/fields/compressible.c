/* See compressible.h. The default is an ordinary list, too. */
#include "codec/fields/compressible.h"

#include <string.h>

#include "codec/fields/field.h"
#include "codec/fields/parameter.h"

/* Besides text and structured syntax suffixes (RFC 6839): text formats without a suffix, and binary
 * formats that are not compressed. Fonts in ".woff" and ".woff2" are compressed. */
static const char usual[] =
    "text/* +json +json-seq +xml +text +yaml application/ecmascript application/graphql "
    "application/graphql-response application/javascript application/json application/json-seq "
    "application/json5 application/jsonl application/mbox application/n-quads "
    "application/n-triples "
    "application/ndjson application/pgp-keys application/postscript application/rtf "
    "application/sql "
    "application/toml application/trig application/vnd.apple.mpegurl application/vnd.ms-fontobject "
    "application/wasm application/x-font-ttf application/x-httpd-php application/x-javascript "
    "application/x-ndjson application/x-ns-proxy-autoconfig application/x-pem-file "
    "application/x-sh "
    "application/x-subrip application/x-tar application/x-tex application/x-www-form-urlencoded "
    "application/x-x509-ca-cert application/xml application/xml-dtd application/yaml audio/wav "
    "audio/x-wav font/collection font/otf font/sfnt font/ttf image/bmp image/vnd.adobe.photoshop "
    "image/vnd.microsoft.icon image/x-icon image/x-ms-bmp image/x-portable-pixmap message/rfc822 "
    "model/gltf-binary model/mtl model/obj model/stl";

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
    uvhttp_slice_t after = {slash + 1, text.length - front.length - 1};
    if (!uvh_field_name_valid(front) || !uvh_field_name_valid(after))
        return false;
    bool any = memchr(front.base, '*', front.length) != NULL;
    bool star = after.length == 1 && after.base[0] == '*';
    if (memchr(after.base, '*', after.length) != NULL && !star)
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
