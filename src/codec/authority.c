/* host[:port], see authority.h. The host is a registered name (which IPv4 addresses are too, as far as
 * syntax goes) or an IP literal in brackets (RFC 3986 section 3.2.2); zone identifiers are not taken. */
#include "codec/authority.h"

#include "codec/chars.h"

enum { IPV6_GROUPS = 8, MAX_PORT = 65535 };

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

/* Four decimal numbers up to 255 without leading zeros, up to `end` exactly. */
static bool is_ipv4(const char *p, const char *end)
{
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (p == end || *p++ != '.'))
            return false;
        const char *start = p;
        unsigned value = 0;
        while (p < end && p - start < 3 && uvh_chars_is(*p, UVH_CHAR_DIGIT))
            value = value * 10 + (unsigned)(*p++ - '0');
        if (p == start || value > 255 || (*start == '0' && p - start > 1))
            return false;
    }
    return p == end;
}

/* Groups of up to four hexadecimal digits; one "::" stands for any number of zero groups; the last two
 * groups may be an IPv4 address. */
static bool is_ipv6(const char *p, const char *end)
{
    int groups = 0;
    bool compressed = false;
    if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
        compressed = true;
        p += 2;
    }
    while (p < end) {
        const char *start = p;
        while (p < end && p - start < 4 && is_hex(*p))
            p++;
        if (p < end && *p == '.') {
            groups += 2;
            return is_ipv4(start, end) && (compressed ? groups < IPV6_GROUPS : groups == IPV6_GROUPS);
        }
        if (p == start || ++groups > IPV6_GROUPS)
            return false;
        if (p == end)
            break;
        if (*p++ != ':' || p == end)
            return false;
        if (*p == ':') {
            if (compressed)
                return false;
            compressed = true;
            p++;
        }
    }
    return compressed ? groups < IPV6_GROUPS : groups == IPV6_GROUPS;
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

/* The end of the host at `p`, brackets included; NULL when it is malformed or empty. */
static const char *host_end(const char *p, const char *end)
{
    if (*p != '[') {
        const char *stop = reg_name_end(p, end);
        return stop == p ? NULL : stop;
    }
    const char *close = p;
    while (close < end && *close != ']')
        close++;
    if (close == end || !(is_ipv6(p + 1, close) || is_ip_future(p + 1, close)))
        return NULL;
    return close + 1;
}

static bool is_port(const char *p, const char *end)
{
    unsigned value = 0;
    for (; p < end; p++) {
        if (!uvh_chars_is(*p, UVH_CHAR_DIGIT))
            return false;
        value = value * 10 + (unsigned)(*p - '0');
        if (value > MAX_PORT)
            return false;
    }
    return true;
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
    if (*stop++ != ':' || !is_port(stop, end))
        return false;
    *port = (uvhttp_slice_t){stop, (size_t)(end - stop)};
    return true;
}
