/* Percent-encoding and dot segments of paths (RFC 3986 sections 2.1, 3.3 and 5.2.4). Guarantees
 * that a normalized path never leaves its root, however the dots are encoded, and that nothing is
 * decoded twice. Also part of the parser library. */
#include "codec/http1/target.h"

#include <string.h>

#include <uvhttp/parser.h>

#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

/* The byte encoded by the escape at `p`; -1 if it is malformed or incomplete. */
static int decode_escape(const char *p, const char *end)
{
    if (end - p < 3)
        return -1;
    unsigned high = uvh_chars_hex[(unsigned char)p[1]];
    unsigned low = uvh_chars_hex[(unsigned char)p[2]];
    if ((high | low) == 0xff)
        return -1;
    return (int)(high << 4 | low);
}

ptrdiff_t uvhttp_percent_decode(uvhttp_slice_t input, char *output, bool plus)
{
    if (output == NULL)
        return input.length == 0 ? 0 : -1;
    const char *p = input.base;
    const char *end = p + input.length;
    char *out = output;
    while (p < end) {
        char c = *p;
        if (c == '%') {
            int byte = decode_escape(p, end);
            if (byte < 0)
                return -1;
            c = (char)byte;
            p += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        *out++ = c;
        p++;
    }
    return out - output;
}

/* Every byte value, so that a decoded byte has an address. */
#define BYTES4(n)  (n), (n) + 1, (n) + 2, (n) + 3
#define BYTES16(n) BYTES4(n), BYTES4((n) + 4), BYTES4((n) + 8), BYTES4((n) + 12)
#define BYTES64(n) BYTES16(n), BYTES16((n) + 16), BYTES16((n) + 32), BYTES16((n) + 48)
static const unsigned char every_byte[256] = {BYTES64(0), BYTES64(64), BYTES64(128), BYTES64(192)};

int uvhttp_percent_next(uvhttp_slice_t *rest, bool plus, uvhttp_slice_t *part)
{
    uvhttp_slice_t ignored;
    part = part != NULL ? part : &ignored;
    *part = (uvhttp_slice_t){NULL, 0};
    if (rest == NULL || rest->length == 0)
        return 0;
    const char *start = rest->base;
    const char *end = start + rest->length;
    const char *p = start;
    while (p < end && *p != '%' && !(*p == '+' && plus))
        p++;
    if (p > start) {
        *part = (uvhttp_slice_t){start, (size_t)(p - start)};
    } else {
        int byte = *p == '+' ? ' ' : decode_escape(p, end);
        if (byte < 0)
            return -1;
        *part = (uvhttp_slice_t){(const char *)&every_byte[byte], 1};
        p += *p == '+' ? 1 : 3;
    }
    *rest = (uvhttp_slice_t){p, (size_t)(end - p)};
    return 1;
}

/* The decoded byte at `*p`, which is advanced. -1 at the end, at a '/' that is not encoded, and for
 * a malformed escape. */
static int next_decoded(const char **p, const char *end)
{
    if (*p == end || **p == '/')
        return -1;
    int byte = **p == '%' ? decode_escape(*p, end) : (unsigned char)**p;
    *p += **p == '%' ? 3 : 1;
    return byte;
}

/* True if a decoded '%' is followed by bytes that decode to "2F", or to any number of "25" and
 * "2F": it would look like an encoded slash. */
static bool spells_slash(const char *p, const char *end)
{
    while (next_decoded(&p, end) == '2') {
        int byte = next_decoded(&p, end);
        if (byte != '5')
            return byte == 'F' || byte == 'f';
    }
    return false;
}

/* Decodes the segment at `*p` up to the next '/' or `end` to `out`; NULL for a malformed escape. An
 * encoded '/' stays encoded, so that it never separates segments, and so does a '%' that would
 * otherwise form an encoded slash (target.h). */
static char *decode_segment(const char **p, const char *end, char *out)
{
    const char *at = *p;
    while (at < end && *at != '/') {
        if (*at != '%') {
            *out++ = *at++;
            continue;
        }
        int byte = decode_escape(at, end);
        if (byte <= 0)
            return NULL;
        if (byte == '/' || (byte == '%' && spells_slash(at + 3, end))) {
            memmove(out, at, 3);
            out += 3;
        } else {
            *out++ = (char)byte;
        }
        at += 3;
    }
    *p = at;
    return out;
}

/* The length of the kept escape at `p`, which is a '%': "%2F", or that with any number of "25" in
 * it. 0 if there is none. */
static size_t kept_length(const char *p, const char *end)
{
    const char *at = p + 1;
    while (end - at >= 2 && at[0] == '2' && at[1] == '5')
        at += 2;
    bool slash = end - at >= 2 && at[0] == '2' && (at[1] == 'F' || at[1] == 'f');
    return slash ? (size_t)(at + 2 - p) : 0;
}

enum { KEPT_SLASH = 3 }; /* bytes of "%2F" */

/* The next '%' at or after `p` that begins a kept escape of `*length` bytes; NULL if there is
 * none. */
static const char *find_kept(const char *p, const char *end, size_t *length)
{
    while (p < end && (p = memchr(p, '%', (size_t)(end - p))) != NULL) {
        *length = kept_length(p, end);
        if (*length > 0)
            return p;
        p++;
    }
    return NULL;
}

bool uvh_target_has_kept(uvhttp_slice_t path)
{
    size_t length;
    return path.length > 0 && find_kept(path.base, path.base + path.length, &length) != NULL;
}

bool uvh_target_has_slash(uvhttp_slice_t path)
{
    const char *p = path.base;
    const char *end = p + path.length;
    size_t length;
    while (p != NULL && (p = find_kept(p, end, &length)) != NULL) {
        if (length == KEPT_SLASH)
            return true;
        p += length;
    }
    return false;
}

size_t uvh_target_release_kept(uvhttp_slice_t path, char *output)
{
    const char *p = path.base;
    const char *end = p + path.length;
    char *out = output;
    size_t length;
    for (const char *kept = find_kept(p, end, &length); kept != NULL;
         kept = find_kept(p, end, &length)) {
        memmove(out, p, (size_t)(kept - p));
        out += kept - p;
        p = kept + 3; /* after "%2F", or after the first "25" */
        *out++ = length == KEPT_SLASH ? '/' : '%';
    }
    if (p < end)
        memmove(out, p, (size_t)(end - p));
    return (size_t)(out - output) + (size_t)(end - p);
}

static bool is_dots(const char *segment, const char *end, int dots)
{
    return end - segment == dots && segment[0] == '.' && segment[dots - 1] == '.';
}

/* `root` up to `out` is a path that ends with '/': removes its last segment. NULL if there is
 * none. */
static char *remove_segment(const char *root, char *out)
{
    if (out == root)
        return NULL;
    do
        out--;
    while (out > root && out[-1] != '/');
    return out;
}

uvhttp_reason_t uvhttp_path_normalize(uvhttp_slice_t raw, char *output, size_t *length)
{
    size_t ignored;
    length = length != NULL ? length : &ignored;
    if (output == NULL) {
        *length = 0;
        return raw.length == 0 ? UVHTTP_REASON_NONE : UVHTTP_REASON_ARGUMENT;
    }
    const char *p = raw.base;
    const char *end = p + raw.length;
    char *out = output;
    if (p < end && *p == '/')
        *out++ = *p++;
    const char *root = out;
    while (p < end) {
        char *segment = out;
        out = decode_segment(&p, end, segment);
        if (out == NULL)
            return UVHTTP_REASON_TARGET_ENCODING;
        bool parent = is_dots(segment, out, 2);
        if (parent || is_dots(segment, out, 1)) {
            out = parent ? remove_segment(root, segment) : segment;
            if (out == NULL)
                return UVHTTP_REASON_TARGET_ABOVE_ROOT;
            p += p < end;
        } else if (p < end) {
            *out++ = *p++;
        }
    }
    *length = (size_t)(out - output);
    return UVHTTP_REASON_NONE;
}

/* `p` is at a '.' after a '/': true if a dot segment begins here. */
static bool is_dot_segment(const char *p, const char *end)
{
    p++;
    p += p < end && *p == '.';
    return p == end || *p == '/';
}

static bool is_normal(const char *p, const char *end)
{
    while ((p = uvh_scan_path_special(p, end)) < end) {
        if (*p == '%' || is_dot_segment(p, end))
            return false;
        while (p < end && *p == '.')
            p++;
    }
    return true;
}

/* The same byte by byte, for paths shorter than a word. */
static bool is_normal_short(const char *p, const char *end)
{
    for (char before = '/'; p < end; before = *p++)
        if (*p == '%' || (*p == '.' && before == '/' && is_dot_segment(p, end)))
            return false;
    return true;
}

bool uvhttp_path_is_normal(uvhttp_slice_t raw)
{
    const char *end = raw.base + raw.length;
    return raw.length < UVH_SWAR_SLACK ? is_normal_short(raw.base, end) : is_normal(raw.base, end);
}
