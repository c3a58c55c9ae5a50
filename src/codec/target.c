/* Percent-encoding and dot segments of paths (RFC 3986 sections 2.1, 3.3 and 5.2.4). Guarantees that a
 * normalized path names nothing above its root, however the dots were spelled, and that nothing is decoded
 * twice. Called by http/request.c for paths that are not normal and for parameters, by form.c, and by users of the parser alone. */
#include <uvhttp/parser.h>

#include <string.h>

#include "codec/chars.h"
#include "codec/scan_swar.h"

/* The byte that the escape at `p` stands for; -1 when it is malformed or cut off. */
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

/* Every byte, so that a decoded one has an address. */
#define BYTES4(n)  (n), (n) + 1, (n) + 2, (n) + 3
#define BYTES16(n) BYTES4(n), BYTES4((n) + 4), BYTES4((n) + 8), BYTES4((n) + 12)
#define BYTES64(n) BYTES16(n), BYTES16((n) + 16), BYTES16((n) + 32), BYTES16((n) + 48)
static const unsigned char every_byte[256] = {BYTES64(0), BYTES64(64), BYTES64(128), BYTES64(192)};

int uvhttp_percent_next(uvhttp_slice_t *rest, bool plus, uvhttp_slice_t *piece)
{
    const char *start = rest->base;
    *piece = (uvhttp_slice_t){NULL, 0};
    if (rest->length == 0)
        return 0;
    const char *end = start + rest->length;
    const char *p = start;
    while (p < end && *p != '%' && !(*p == '+' && plus))
        p++;
    if (p > start) {
        *piece = (uvhttp_slice_t){start, (size_t)(p - start)};
    } else {
        int byte = *p == '+' ? ' ' : decode_escape(p, end);
        if (byte < 0)
            return -1;
        *piece = (uvhttp_slice_t){(const char *)&every_byte[byte], 1};
        p += *p == '+' ? 1 : 3;
    }
    *rest = (uvhttp_slice_t){p, (size_t)(end - p)};
    return 1;
}

/* Decodes the segment at `*p` up to the next '/' or `end` to `out`; NULL for a bad escape. An encoded '/'
 * stays encoded, so that it never divides segments. */
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
        if (byte == '/') {
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

static bool is_dots(const char *segment, const char *end, int dots)
{
    return end - segment == dots && segment[0] == '.' && segment[dots - 1] == '.';
}

/* `output` holds a path that ends with '/', behind which `out` stands: one segment less. NULL when there
 * is none. */
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

/* `p` stands at a '.' behind a '/': does a dot segment begin here? */
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

bool uvhttp_path_is_normal(uvhttp_slice_t raw)
{
    if (raw.length >= UVH_SWAR_SLACK)
        return is_normal(raw.base, raw.base + raw.length);
    char padded[2 * UVH_SWAR_SLACK] = {0};
    for (size_t i = 0; i < raw.length; i++)
        padded[UVH_SWAR_SLACK + i] = raw.base[i];
    return is_normal(padded + UVH_SWAR_SLACK, padded + UVH_SWAR_SLACK + raw.length);
}
