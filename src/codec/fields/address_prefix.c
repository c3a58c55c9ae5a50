/* Both address families are compared in IPv6 form, so one loop is enough. */
#include "codec/fields/address_prefix.h"

#include <string.h>

#include "codec/text/chars.h"

enum { V6_BITS = 128, V4_FIRST_BIT = 96 };

/* True if the first `count` bits are equal. */
static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned count)
{
    unsigned whole = count / 8, rest = count % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool has_bits_after(const struct uvh_ip_address *address, unsigned count)
{
    for (unsigned bit = count; bit < V6_BITS; bit++)
        if (address->bytes[bit / 8] >> (7 - bit % 8) & 1)
            return true;
    return false;
}

/* A decimal number of up to three digits without leading zeros, at most `most`. */
static bool parse_length(const char *p, const char *end, unsigned most, unsigned *length)
{
    *length = 0;
    if (p == end || end - p > 3 || (*p == '0' && end - p > 1))
        return false;
    for (; p < end; p++) {
        if (!uvh_chars_is(*p, UVH_CHAR_DIGIT))
            return false;
        *length = *length * 10 + (unsigned)(*p - '0');
    }
    return *length <= most;
}

bool uvh_address_prefix_parse(uvhttp_slice_t text, struct uvh_address_prefix *prefix)
{
    const char *end = text.base + text.length;
    const char *slash = text.length == 0 ? NULL : memchr(text.base, '/', text.length);
    uvhttp_slice_t address = {text.base, slash == NULL ? text.length : (size_t)(slash - text.base)};
    if (!uvh_ip_address_parse(address, &prefix->address))
        return false;
    /* An address with a colon has an IPv6 prefix length: "::ffff:0:0/96" is every IPv4 address. */
    unsigned offset = memchr(address.base, ':', address.length) == NULL ? V4_FIRST_BIT : 0;
    unsigned length = V6_BITS - offset;
    if (slash != NULL && !parse_length(slash + 1, end, V6_BITS - offset, &length))
        return false;
    prefix->bits = (uint8_t)(length + offset);
    prefix->v4 = prefix->bits >= V4_FIRST_BIT && uvh_ip_address_is_v4(&prefix->address);
    return !has_bits_after(&prefix->address, prefix->bits);
}

bool uvh_address_prefix_holds(const struct uvh_address_prefix *prefix,
                              const struct uvh_ip_address *address)
{
    return prefix->v4 == uvh_ip_address_is_v4(address) &&
           same_bits(prefix->address.bytes, address->bytes, prefix->bits);
}

bool uvh_address_prefix_any(const struct uvh_address_prefix *prefixes, size_t count,
                            const struct uvh_ip_address *address)
{
    for (size_t i = 0; i < count; i++)
        if (uvh_address_prefix_holds(&prefixes[i], address))
            return true;
    return false;
}
