/* Inserts the values of a request into a template: collects the values, adds up their encoded
 * lengths, and writes everything into one block of the exchange's arena. */
#include "route/template.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/text.h>

#include "base/arena.h"
#include "base/slice.h"
#include "codec/fields/authority.h"
#include "codec/http1/target.h"
#include "codec/text/percent.h"
#include "codec/text/utf8_sequence.h"
#include "http/request.h"

/* A segment of a path; what is left of UVH_PERCENT_SENT in a field whose value has a grammar. */
#define SEGMENT "-._~!$&'()*+=:@,;"
#define FIELD   "-._~!$&'()*+=:@/%?"

enum { PERCENT_SIZE = 3 };

/* ---- encoding ---- */

/* Writes the escape of a byte that must not be in a string of JSON or JavaScript; single quotes
 * because they end strings of the latter, "<" because of "</script>". Returns its length, 0 if the
 * byte needs none. */
static size_t json_escape(char byte, char out[6])
{
    static const char digits[] = "0123456789abcdef";
    if (byte == '"' || byte == '\\') {
        out[0] = '\\';
        out[1] = byte;
        return 2;
    }
    if ((unsigned char)byte >= ' ' && byte != 0x7f && byte != '<' && byte != '\'')
        return 0;
    memcpy(out, "\\u00", 4);
    out[4] = digits[(unsigned char)byte >> 4];
    out[5] = digits[(unsigned char)byte & 15];
    return 6;
}

/* Appends to `out`, which may be NULL, and returns the length. */
static size_t write_json(uvhttp_slice_t value, char *out)
{
    size_t length = 0;
    for (size_t i = 0; i < value.length;) {
        char escape[6];
        size_t taken = uvh_utf8_sequence_valid_length(value.base + i, value.length - i);
        size_t size = taken == 0 ? 6 : json_escape(value.base[i], escape);
        const char *from = taken == 0 ? "\\ufffd" : size > 0 ? escape : value.base + i;
        size = size > 0 ? size : taken;
        if (out != NULL)
            memcpy(out + length, from, size);
        length += size;
        i += taken == 0 ? 1 : taken;
    }
    return length;
}

static size_t write_html(uvhttp_slice_t value, char *out)
{
    /* `out` has space for the NUL, which what follows overwrites */
    return uvhttp_html_escape(value.base, value.length, out, out == NULL ? 0 : SIZE_MAX);
}

static size_t write_percent(uvhttp_slice_t value, const char *kept, char *out)
{
    if (out != NULL)
        return (size_t)(uvh_percent_write(out, value, kept) - out);
    return uvh_percent_size(value, kept);
}

/* Appends an encoded value to `out`, which may be NULL, and returns its length. */
static size_t write_value(enum uvh_template_encoding encoding, uvhttp_slice_t value, char *out)
{
    switch (encoding) {
    case UVH_TEMPLATE_AS_HTML:
        return write_html(value, out);
    case UVH_TEMPLATE_AS_JSON:
        return write_json(value, out);
    case UVH_TEMPLATE_AS_HEADER:
        return write_percent(value, FIELD, out);
    case UVH_TEMPLATE_AS_URL:
        return write_percent(value, UVH_PERCENT_SENT, out);
    case UVH_TEMPLATE_AS_COMPONENT:
        return write_percent(value, UVH_PERCENT_UNRESERVED, out);
    case UVH_TEMPLATE_PLAIN:
        break;
    }
    if (out != NULL && value.length > 0)
        memcpy(out, value.base, value.length);
    return value.length;
}

/* ---- values ---- */

/* Writes a part of a normalized path as it is in a URL, segment by segment, because an encoded
 * slash is a part of its segment. `scratch` has space for it. Returns the end. */
static char *write_path(uvhttp_slice_t path, char *scratch, char *out)
{
    const char *at = path.base, *end = path.base + path.length;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        uvhttp_slice_t segment = {at, (size_t)((slash == NULL ? end : slash) - at)};
        segment = (uvhttp_slice_t){scratch, uvh_target_release_kept(segment, scratch)};
        out = uvh_percent_write(out, segment, SEGMENT);
        at = slash == NULL ? end : slash + 1;
        if (slash != NULL)
            *out++ = '/';
    }
    return out;
}

/* The path with `more` bytes of space after it; base NULL when out of memory. */
static uvhttp_slice_t url_path(uvhttp_request_t *request, uvhttp_slice_t path, size_t more)
{
    char *scratch = uvh_arena_text(request->arena, path.length + 1);
    char *text = uvh_arena_text(request->arena, PERCENT_SIZE * path.length + more + 1);
    if (scratch == NULL || text == NULL)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){text, (size_t)(write_path(path, scratch, text) - text)};
}

/* "*" and the empty path of CONNECT become "/". */
static uvhttp_slice_t own_path(const uvhttp_request_t *request)
{
    bool usual = request->path.length > 0 && request->path.base[0] == '/';
    return usual ? request->path : (uvhttp_slice_t){"/", 1};
}

static uvhttp_slice_t decoded_path(uvhttp_request_t *request)
{
    uvhttp_slice_t path = own_path(request);
    char *text = uvh_arena_text(request->arena, path.length + 1);
    return (uvhttp_slice_t){text, text == NULL ? 0 : uvh_target_release_kept(path, text)};
}

/* "?a=b", "&a=b" or nothing. */
static uvhttp_slice_t query_of(uvhttp_request_t *request, bool joined)
{
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    if (query.length == 0)
        return (uvhttp_slice_t){"", 0};
    char *text = uvh_arena_text(request->arena, query.length + 1);
    if (text == NULL)
        return (uvhttp_slice_t){NULL, 0};
    text[0] = joined ? '&' : '?';
    memcpy(text + 1, query.base, query.length);
    return (uvhttp_slice_t){text, query.length + 1};
}

static uvhttp_slice_t target_of(uvhttp_request_t *request)
{
    uvhttp_slice_t query = query_of(request, false);
    uvhttp_slice_t path = url_path(request, own_path(request), query.length);
    if (path.base == NULL || query.base == NULL)
        return (uvhttp_slice_t){NULL, 0};
    memcpy((char *)(uintptr_t)path.base + path.length, query.base, query.length);
    return (uvhttp_slice_t){path.base, path.length + query.length};
}

static uvhttp_slice_t host_of(uvhttp_request_t *request)
{
    uvhttp_slice_t host = {"", 0}, port;
    uvh_authority_split(uvh_slice(uvhttp_request_host(request)), &host, &port);
    return host.base == NULL ? (uvhttp_slice_t){"", 0} : host;
}

static uvhttp_slice_t param_of(uvhttp_request_t *request, const struct uvh_template_part *part)
{
    const char *name = part->name == UVH_TEMPLATE_REST ? "*" : part->text;
    uvhttp_slice_t encoded = uvhttp_request_param_path(request, name);
    if (encoded.base == NULL)
        return (uvhttp_slice_t){"", 0};
    if (part->url_form)
        return url_path(request, encoded, 0);
    return uvh_slice(uvhttp_request_param(request, name));
}

/* Base NULL when out of memory. */
static uvhttp_slice_t value_of(uvhttp_request_t *request, const struct uvh_template_part *part)
{
    switch ((enum uvh_template_name)part->name) {
    case UVH_TEMPLATE_TARGET:
        return target_of(request);
    case UVH_TEMPLATE_PATH:
        return part->url_form ? url_path(request, own_path(request), 0) : decoded_path(request);
    case UVH_TEMPLATE_QUERY:
        return query_of(request, part->joined);
    case UVH_TEMPLATE_HOST:
        return host_of(request);
    case UVH_TEMPLATE_SCHEME:
        return uvh_slice(uvhttp_request_scheme(request));
    case UVH_TEMPLATE_METHOD:
        return uvh_slice(uvhttp_request_method_name(request));
    case UVH_TEMPLATE_CLIENT:
        return uvh_slice(uvhttp_request_client_address(request));
    case UVH_TEMPLATE_REST:
    case UVH_TEMPLATE_PARAM:
        return param_of(request, part);
    case UVH_TEMPLATE_LITERAL:
        break;
    }
    return (uvhttp_slice_t){part->text, part->length};
}

/* ---- expansion ---- */

/* Two slashes at the begin of a location are followed by a host. */
static uvhttp_slice_t without_host(uvhttp_slice_t location)
{
    while (location.length > 1 && location.base[0] == '/' && location.base[1] == '/') {
        location.base++;
        location.length--;
    }
    return location;
}

static int expand(const struct uvhttp_template *made, uvhttp_request_t *request,
                  uvhttp_slice_t *out)
{
    uvhttp_slice_t *values = uvhttp_request_allocate(request, made->part_count * sizeof(*values));
    size_t size = 1;
    if (values == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < made->part_count; i++) {
        const struct uvh_template_part *part = &made->parts[i];
        values[i] = value_of(request, part);
        if (values[i].base == NULL)
            return UVHTTP_ENOMEM;
        if (values[i].length == 0 && part->in_host)
            return UVHTTP_EINVAL;
        size += write_value((enum uvh_template_encoding)part->encoding, values[i], NULL);
    }
    char *text = uvh_arena_text(request->arena, size);
    if (text == NULL)
        return UVHTTP_ENOMEM;
    size_t length = 0;
    for (size_t i = 0; i < made->part_count; i++)
        length += write_value((enum uvh_template_encoding)made->parts[i].encoding, values[i],
                              text + length);
    text[length] = '\0';
    *out = (uvhttp_slice_t){text, length};
    if (made->rooted)
        *out = without_host(*out);
    return 0;
}

int uvhttp_template_expand(const uvhttp_template_t *made, uvhttp_request_t *request,
                           uvhttp_slice_t *out)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = (uvhttp_slice_t){"", 0};
    if (made == NULL)
        return UVHTTP_EINVAL;
    if (made->dynamic)
        return expand(made, request, out);
    *out = made->text;
    return 0;
}
