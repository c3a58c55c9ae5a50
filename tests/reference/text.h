/* The reference parser, part 5: paths, percent-encoding, queries, forms, cookies (RFC 3986 sections
 * 2.1 and 5.2.4, URL standard section 5.1, RFC 6265 section 5.4). See bytes.h about the reference
 * parser. */
#ifndef UVH_TESTS_REFERENCE_TEXT_H
#define UVH_TESTS_REFERENCE_TEXT_H

#include <uvhttp/parser.h>

#include "reference/bytes.h"

enum { REFERENCE_LONGEST_PATH = 4096 };

/* Returns the byte of the escape at `at`, or -1 when it is malformed. */
static inline int reference_escape(uvhttp_slice_t text, size_t at)
{
    if (text.length - at < 3)
        return -1;
    int high = reference_hex(text.base[at + 1]);
    int low = reference_hex(text.base[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Decodes to `out`, which has space for text.length bytes. Returns the length, or -1. `*bad` is the
 * offset of a malformed escape. */
static inline ptrdiff_t reference_percent(uvhttp_slice_t text, bool plus, char *out, size_t *bad)
{
    ptrdiff_t length = 0;
    for (size_t at = 0; at < text.length; at++) {
        char c = text.base[at];
        if (c == '%') {
            int byte = reference_escape(text, at);
            *bad = at;
            if (byte < 0)
                return -1;
            c = (char)byte;
            at += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[length++] = c;
    }
    return length;
}

/* Removes the part before the next `separator`, and the separator, from `*rest`. Returns false at
 * the end. */
static inline bool reference_split(uvhttp_slice_t *rest, char separator, uvhttp_slice_t *part)
{
    size_t length = 0;
    if (rest->length == 0)
        return false;
    while (length < rest->length && rest->base[length] != separator)
        length++;
    size_t used = length < rest->length ? length + 1 : length;
    *part = (uvhttp_slice_t){rest->base, length};
    *rest = (uvhttp_slice_t){rest->base + used, rest->length - used};
    return true;
}

/* name [ "=" value ]; value.base is NULL without "=". */
static inline void reference_pair(uvhttp_slice_t part, uvhttp_slice_t *name, uvhttp_slice_t *value)
{
    size_t length = 0;
    while (length < part.length && part.base[length] != '=')
        length++;
    *name = (uvhttp_slice_t){part.base, length};
    *value = (uvhttp_slice_t){NULL, 0};
    if (length < part.length)
        *value = (uvhttp_slice_t){part.base + length + 1, part.length - length - 1};
}

/* Pairs separated by "&", without empty ones. */
static inline bool reference_query_next(uvhttp_slice_t *rest, uvhttp_slice_t *name,
                                        uvhttp_slice_t *value)
{
    uvhttp_slice_t part;
    do {
        if (!reference_split(rest, '&', &part))
            return false;
    } while (part.length == 0);
    reference_pair(part, name, value);
    return true;
}

static inline uvhttp_slice_t reference_trimmed(uvhttp_slice_t text)
{
    while (text.length > 0 && reference_is_space(text.base[0]))
        text = (uvhttp_slice_t){text.base + 1, text.length - 1};
    while (text.length > 0 && reference_is_space(text.base[text.length - 1]))
        text.length--;
    return text;
}

/* Pairs separated by ";", without empty ones and without white space around name and value. Without
 * "=" all of it is the value. */
static inline bool reference_cookie_next(uvhttp_slice_t *rest, uvhttp_slice_t *name,
                                         uvhttp_slice_t *value)
{
    uvhttp_slice_t part;
    do {
        if (!reference_split(rest, ';', &part))
            return false;
        reference_pair(part, name, value);
        if (value->base == NULL) {
            *value = part;
            *name = (uvhttp_slice_t){part.base, 0};
        }
        *name = reference_trimmed(*name);
        *value = reference_trimmed(*value);
    } while (name->length == 0 && value->length == 0);
    return true;
}

/* The '%' at `at` of a decoded text is followed by "2F", after any number of "25". */
static inline bool reference_reads_as_slash(const int *text, ptrdiff_t at, ptrdiff_t length)
{
    for (at++; at + 1 < length && text[at] == '2'; at += 2) {
        if (text[at + 1] != '5')
            return text[at + 1] == 'F' || text[at + 1] == 'f';
    }
    return false;
}

/* One segment, decoded to `out` once. An encoded "/" stays encoded, and so does the '%' of a text
 * that would decode to one. Returns the length, or -1 for a malformed escape or NUL. */
static inline ptrdiff_t reference_segment(uvhttp_slice_t text, char *out)
{
    /* Bytes. An encoded slash is 256 plus the last byte of its escape. */
    static int decoded[REFERENCE_LONGEST_PATH];
    ptrdiff_t count = 0;
    ptrdiff_t length = 0;
    for (size_t at = 0; at < text.length; at++) {
        int byte = (unsigned char)text.base[at];
        if (byte == '%') {
            byte = reference_escape(text, at);
            if (byte <= 0)
                return -1;
            if (byte == '/')
                byte = 256 + text.base[at + 2];
            at += 2;
        }
        decoded[count++] = byte;
    }
    for (ptrdiff_t at = 0; at < count; at++) {
        bool slash = decoded[at] > 256;
        bool percent = decoded[at] == '%' && reference_reads_as_slash(decoded, at, count);
        if (slash || percent) {
            out[length++] = '%';
            out[length++] = '2';
        }
        out[length++] = (char)(slash ? decoded[at] - 256 : percent ? '5' : decoded[at]);
    }
    return length;
}

/* The path as a stack of segments: "." adds none, ".." removes one (RFC 3986 section 5.2.4). `out`
 * has space for raw.length bytes, at most REFERENCE_LONGEST_PATH. */
static inline uvhttp_reason_t reference_path(uvhttp_slice_t raw, char *out, size_t *length)
{
    size_t starts[REFERENCE_LONGEST_PATH];
    char segment[REFERENCE_LONGEST_PATH];
    size_t depth = 0;
    size_t size = 0;
    uvhttp_slice_t rest = raw;
    uvhttp_slice_t part;
    if (raw.length > 0 && raw.base[0] == '/') {
        out[size++] = '/';
        rest = (uvhttp_slice_t){raw.base + 1, raw.length - 1};
    }
    while (reference_split(&rest, '/', &part)) {
        bool slash = part.base + part.length < raw.base + raw.length;
        ptrdiff_t decoded = reference_segment(part, segment);
        if (decoded < 0)
            return UVHTTP_REASON_TARGET_ENCODING;
        if (decoded == 1 && segment[0] == '.')
            continue;
        if (decoded == 2 && segment[0] == '.' && segment[1] == '.') {
            if (depth == 0)
                return UVHTTP_REASON_TARGET_ABOVE_ROOT;
            size = starts[--depth];
            continue;
        }
        starts[depth++] = size;
        memcpy(out + size, segment, (size_t)decoded);
        size += (size_t)decoded;
        if (slash)
            out[size++] = '/';
    }
    *length = size;
    return UVHTTP_REASON_NONE;
}

#endif
