/* See handshake.h. */
#include "codec/websocket/handshake.h"

#include <string.h>

#include "base/slice.h"
#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/text/base64.h"
#include "codec/text/chars.h"
#include "codec/websocket/sha1.h"

/* ---- keys ---- */

static bool is_base64_digit(char c)
{
    char lower = uvh_chars_lower(c);
    return uvh_chars_is(c, UVH_CHAR_DIGIT) || (lower >= 'a' && lower <= 'z') || c == '+' ||
           c == '/';
}

bool uvh_ws_key_valid(uvhttp_slice_t key)
{
    enum { DIGITS = UVH_WS_KEY_SIZE - 2 };
    if (key.length != UVH_WS_KEY_SIZE || key.base[DIGITS] != '=' || key.base[DIGITS + 1] != '=')
        return false;
    for (size_t i = 0; i < DIGITS; i++) {
        if (!is_base64_digit(key.base[i]))
            return false;
    }
    return true;
}

void uvh_ws_key_make(const uint8_t nonce[16], char key[UVH_WS_KEY_SIZE])
{
    uvh_base64_encode(key, nonce, 16, UVH_BASE64_STANDARD);
}

void uvh_ws_accept_make(const char key[UVH_WS_KEY_SIZE], char accept[UVH_WS_ACCEPT_SIZE])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* section 1.3 */
    char text[UVH_WS_KEY_SIZE + sizeof(guid) - 1];
    uint8_t digest[UVH_SHA1_SIZE];
    memcpy(text, key, UVH_WS_KEY_SIZE);
    memcpy(text + UVH_WS_KEY_SIZE, guid, sizeof(guid) - 1);
    uvh_sha1(text, sizeof text, digest);
    uvh_base64_encode(accept, digest, sizeof digest, UVH_BASE64_STANDARD);
}

/* ---- subprotocols ---- */

static bool equals(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.base, b.base, a.length) == 0);
}

int uvh_ws_protocol_choose(uvhttp_slice_t offered, const char *const *ours, int found)
{
    uvhttp_slice_t element;
    bool any = false;
    while (offered.length > 0 && uvh_field_list_next(&offered, &element)) {
        any = true;
        if (!uvh_field_name_valid(element))
            return -2;
        for (int i = 0; ours != NULL && ours[i] != NULL && (found < 0 || i < found); i++) {
            if (equals(element, (uvhttp_slice_t){ours[i], strlen(ours[i])}))
                found = i;
        }
    }
    return any ? found : -2;
}

/* ---- origins and URLs ---- */

static uint16_t scheme_port(uvhttp_slice_t scheme)
{
    if (uvh_field_name_equal(scheme, UVH_SLICE("http")) ||
        uvh_field_name_equal(scheme, UVH_SLICE("ws")))
        return 80;
    if (uvh_field_name_equal(scheme, UVH_SLICE("https")) ||
        uvh_field_name_equal(scheme, UVH_SLICE("wss")))
        return 443;
    return 0;
}

/* ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ), RFC 3986 section 3.1. */
static bool is_scheme(uvhttp_slice_t text)
{
    for (size_t i = 0; i < text.length; i++) {
        char lower = uvh_chars_lower(text.base[i]);
        bool letter = lower >= 'a' && lower <= 'z';
        bool other =
            uvh_chars_is(lower, UVH_CHAR_DIGIT) || lower == '+' || lower == '-' || lower == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return text.length > 0;
}

struct site {
    uvhttp_slice_t scheme;
    uvhttp_slice_t authority;
    uvhttp_slice_t host; /* with brackets */
    uvhttp_slice_t rest; /* after the authority */
    uint16_t port;       /* 0 if there is none and the scheme has no default */
};

/* "scheme://host[:port]" at the start of `text`. RFC 3986 section 3.2 defines where the authority
 * ends. */
static bool split_site(uvhttp_slice_t text, struct site *site)
{
    uvhttp_slice_t port;
    const char *colon = text.length > 0 ? memchr(text.base, ':', text.length) : NULL;
    if (colon == NULL)
        return false;
    const char *end = text.base + text.length;
    if (end - colon < 3 || colon[1] != '/' || colon[2] != '/')
        return false;
    site->scheme = (uvhttp_slice_t){text.base, (size_t)(colon - text.base)};
    const char *start = colon + 3;
    const char *stop = start;
    while (stop < end && *stop != '/' && *stop != '?' && *stop != '#')
        stop++;
    site->authority = (uvhttp_slice_t){start, (size_t)(stop - start)};
    site->rest = (uvhttp_slice_t){stop, (size_t)(end - stop)};
    site->port = scheme_port(site->scheme);
    if (!is_scheme(site->scheme) || !uvh_authority_split(site->authority, &site->host, &port))
        return false;
    if (port.length == 0)
        return true;
    unsigned number = 0;
    for (size_t i = 0; i < port.length; i++)
        number = number * 10 + (unsigned)(port.base[i] - '0');
    site->port = (uint16_t)number; /* uvh_authority_split has checked the range */
    return number > 0;
}

static bool split_origin(uvhttp_slice_t text, struct site *site)
{
    return split_site(text, site) && site->rest.length == 0;
}

bool uvh_ws_origin_valid(uvhttp_slice_t origin)
{
    struct site site;
    return equals(origin, UVH_SLICE("null")) || split_origin(origin, &site);
}

bool uvh_ws_origin_equal(uvhttp_slice_t a, uvhttp_slice_t b)
{
    struct site left;
    struct site right;
    if (equals(a, UVH_SLICE("null")) || equals(b, UVH_SLICE("null")))
        return equals(a, b);
    return split_origin(a, &left) && split_origin(b, &right) &&
           uvh_field_name_equal(left.scheme, right.scheme) &&
           uvh_field_name_equal(left.host, right.host) && left.port == right.port;
}

/* Characters allowed in a request target (RFC 9112 section 3.2), without a fragment. */
static bool is_target(uvhttp_slice_t text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.base[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '#')
            return false;
    }
    return true;
}

bool uvh_ws_url_parse(const char *url, struct uvh_ws_url *parsed)
{
    struct site site;
    if (!split_site(uvh_slice(url), &site) || !is_target(site.rest))
        return false;
    parsed->secure = uvh_field_name_equal(site.scheme, UVH_SLICE("wss"));
    if (!parsed->secure && !uvh_field_name_equal(site.scheme, UVH_SLICE("ws")))
        return false;
    parsed->host = site.host;
    if (site.host.base[0] == '[')
        parsed->host = (uvhttp_slice_t){site.host.base + 1, site.host.length - 2};
    parsed->authority = site.port == scheme_port(site.scheme) ? site.host : site.authority;
    parsed->target = site.rest;
    parsed->port = site.port;
    return true;
}
