/* host[:port], see authority.h. The host is a registered name (whose syntax includes IPv4
 * addresses) or an IP literal in brackets (RFC 3986 section 3.2.2). Zone identifiers are
 * rejected. */
#include "codec/fields/authority.h"

#include "codec/fields/ip_address.h"
#include "codec/text/chars.h"

static bool is_hex(char c)
{
    return uvh_chars_is(c, UVH_CHAR_HEX);
}

/* The end of the registered name at `p`; NULL for a malformed percent-encoding. */
static const char *reg_name_end(const char *p, const char *end)
{
    for (;;) {
        while (p < end && uvh_chars_is(*p, UVH_CHAR_REG_NAME))
            p++;
        if (p == end || *p != '%')
            return p;
        if (end - p < 3 || !is_hex(p[1]) || !is_hex(p[2]))
            return NULL;
        p += 3;
    }
}

/* "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static bool is_ip_future(const char *p, const char *end)
{
    if (p == end || (*p != 'v' && *p != 'V'))
        return false;
    const char *version = ++p;
    while (p < end && is_hex(*p))
        p++;
    if (p == version || p == end || *p++ != '.' || p == end)
        return false;
    while (p < end && (*p == ':' || uvh_chars_is(*p, UVH_CHAR_REG_NAME)))
        p++;
    return p == end;
}

/* The end of the host at `p`, brackets included; NULL if it is malformed or empty. */
static const char *host_end(const char *p, const char *end)
{
    if (*p != '[') {
        const char *stop = reg_name_end(p, end);
        return stop == p ? NULL : stop;
    }
    const char *close = p;
    while (close < end && *close != ']')
        close++;
    struct uvh_ip_address address;
    uvhttp_slice_t literal = {p + 1, (size_t)(close - p - 1)};
    if (close == end || !(uvh_ip_address_parse_v6(literal, &address) || is_ip_future(p + 1, close)))
        return NULL;
    return close + 1;
}

bool uvh_authority_is_port(const char *p, const char *end)
{
    while (end - p > UVH_AUTHORITY_PORT_DIGITS && *p == '0')
        p++;
    if (end - p > UVH_AUTHORITY_PORT_DIGITS)
        return false;
    unsigned value = 0;
    bool digits = true;
    for (; p < end; p++) {
        unsigned digit = (unsigned)(unsigned char)*p - '0'; /* large for smaller bytes */
        digits &= digit <= 9;
        value = value * 10 + digit;
    }
    return digits && value <= UVH_AUTHORITY_MAX_PORT;
}

bool uvh_authority_split(uvhttp_slice_t authority, uvhttp_slice_t *host, uvhttp_slice_t *port)
{
    if (authority.length == 0)
        return false;
    const char *start = authority.base;
    const char *end = start + authority.length;
    const char *stop = host_end(start, end);
    if (stop == NULL)
        return false;
    *host = (uvhttp_slice_t){start, (size_t)(stop - start)};
    *port = (uvhttp_slice_t){NULL, 0};
    if (stop == end)
        return true;
    if (*stop++ != ':' || !uvh_authority_is_port(stop, end))
        return false;
    *port = (uvhttp_slice_t){stop, (size_t)(end - stop)};
    return true;
}
