/* The table is made from a public one by tools/make_mime_table.py, which also says why some types are others than there. Looking one up takes
 * about ten comparisons of strings. */
#include "codec/mime.h"

#include <string.h>

#include "codec/chars.h"
#include "codec/field.h"

enum { EXTENSION_SIZE = 16 };

#include "codec/mime_table.inc"

/* The extension in lower case, NUL-terminated; false when there is none or none that could be known. */
static bool extension_of(uvhttp_slice_t name, char extension[EXTENSION_SIZE])
{
    size_t dot = name.length;
    while (dot > 0 && name.base[dot - 1] != '.') {
        if (name.length - dot >= EXTENSION_SIZE)
            return false;
        dot--;
    }
    size_t length = name.length - dot;
    if (dot == 0 || length == 0 || length >= EXTENSION_SIZE)
        return false;
    for (size_t i = 0; i < length; i++)
        extension[i] = uvh_chars_lower(name.base[dot + i]);
    extension[length] = '\0';
    return true;
}

const char *uvh_mime_known_type(uvhttp_slice_t file_name)
{
    char extension[EXTENSION_SIZE];
    size_t low = 0;
    size_t high = extension_of(file_name, extension) ? sizeof starts / sizeof starts[0] : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *row = pairs + starts[middle];
        int order = strcmp(extension, row);
        if (order == 0)
            return row + strlen(row) + 1;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *uvh_mime_type(uvhttp_slice_t file_name)
{
    const char *type = uvh_mime_known_type(file_name);
    return type != NULL ? type : "application/octet-stream";
}

/* Besides all of "text" and what the suffix tells (RFC 6839): formats of text without one, and binary ones that are not packed. Fonts as
 * ".woff" and ".woff2" are. */
static const char *const compressible[] = {
    "application/ecmascript",
    "application/graphql",
    "application/graphql-response",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/mbox",
    "application/n-quads",
    "application/n-triples",
    "application/pgp-keys",
    "application/postscript",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/trig",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-ns-proxy-autoconfig",
    "application/x-pem-file",
    "application/x-sh",
    "application/x-subrip",
    "application/x-tar",
    "application/x-tex",
    "application/x-www-form-urlencoded",
    "application/x-x509-ca-cert",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "font/collection",
    "font/otf",
    "font/sfnt",
    "font/ttf",
    "image/bmp",
    "image/vnd.adobe.photoshop",
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "image/x-ms-bmp",
    "message/rfc822",
    "model/gltf-binary",
    "model/mtl",
    "model/obj",
    "model/stl",
};

static const char *const compressible_suffixes[] = {"+json", "+json-seq", "+text", "+xml", "+yaml"};

static bool ends_with(uvhttp_slice_t text, const char *end)
{
    size_t length = strlen(end);
    return text.length > length &&
           uvh_field_name_equal((uvhttp_slice_t){text.base + text.length - length, length},
                                (uvhttp_slice_t){end, length});
}

bool uvh_mime_is_compressible(const char *type)
{
    uvhttp_slice_t essence = {type, strcspn(type, "; \t")};
    if (essence.length > 5 && uvh_field_name_equal((uvhttp_slice_t){type, 5}, (uvhttp_slice_t){"text/", 5}))
        return true;
    for (size_t i = 0; i < sizeof compressible_suffixes / sizeof compressible_suffixes[0]; i++)
        if (ends_with(essence, compressible_suffixes[i]))
            return true;
    for (size_t i = 0; i < sizeof compressible / sizeof compressible[0]; i++)
        if (uvh_field_name_equal(essence, (uvhttp_slice_t){compressible[i], strlen(compressible[i])}))
            return true;
    return false;
}
