/* Parses and formats addresses. inet_pton is not used: it needs NUL-terminated text, and is not
 * C11. */
#include "codec/fields/ip_address.h"

#include <string.h>

#include "codec/text/chars.h"

enum { GROUPS = 8, V4_OFFSET = 12 };

static const uint8_t v4_prefix[V4_OFFSET] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* Four decimal numbers up to 255 without leading zeros, exactly up to `end`. */
static bool parse_v4(const char *p, const char *end, uint8_t *bytes)
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
        bytes[part] = (uint8_t)value;
    }
    return p == end;
}

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : ((unsigned)c & 7) + 9;
}

/* Groups of up to four hexadecimal digits; one "::" represents any number of zero groups; the last
 * two groups may be an IPv4 address. */
bool uvh_ip_address_parse_v6(uvhttp_slice_t text, struct uvh_ip_address *address)
{
    const char *p = text.base;
    const char *end = p + text.length;
    uint8_t bytes[sizeof(address->bytes)];
    size_t used = 0;       /* bytes */
    size_t gap = SIZE_MAX; /* position of "::" */
    if (text.length >= 2 && p[0] == ':' && p[1] == ':') {
        gap = 0;
        p += 2;
    }
    while (p < end) {
        const char *start = p;
        unsigned value = 0;
        while (p < end && p - start < 4 && uvh_chars_is(*p, UVH_CHAR_HEX))
            value = value << 4 | hex_value(*p++);
        if (p < end && *p == '.') {
            if (used > V4_OFFSET || !parse_v4(start, end, bytes + used))
                return false;
            used += 4;
            break;
        }
        if (p == start || used == sizeof(bytes))
            return false;
        bytes[used++] = (uint8_t)(value >> 8);
        bytes[used++] = (uint8_t)value;
        if (p == end)
            break;
        if (*p++ != ':' || p == end)
            return false;
        if (*p == ':') {
            if (gap != SIZE_MAX)
                return false;
            gap = used;
            p++;
        }
    }
    /* "::" represents at least one group. */
    if (gap == SIZE_MAX ? used != sizeof(bytes) : used == sizeof(bytes))
        return false;
    size_t before = gap == SIZE_MAX ? used : gap;
    memset(address->bytes, 0, sizeof(address->bytes));
    memcpy(address->bytes, bytes, before);
    memcpy(address->bytes + sizeof(bytes) - (used - before), bytes + before, used - before);
    return true;
}

bool uvh_ip_address_parse(uvhttp_slice_t text, struct uvh_ip_address *address)
{
    if (text.length == 0)
        return false;
    if (memchr(text.base, ':', text.length) != NULL)
        return uvh_ip_address_parse_v6(text, address);
    uint8_t v4[4];
    if (!parse_v4(text.base, text.base + text.length, v4))
        return false;
    memcpy(address->bytes, v4_prefix, V4_OFFSET);
    memcpy(address->bytes + V4_OFFSET, v4, sizeof(v4));
    return true;
}

bool uvh_ip_address_is_v4(const struct uvh_ip_address *address)
{
    return memcmp(address->bytes, v4_prefix, V4_OFFSET) == 0;
}

static char *put_number(char *p, unsigned value, unsigned base)
{
    char digits[5];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    while (count > 0)
        *p++ = digits[--count];
    return p;
}

static unsigned group_at(const struct uvh_ip_address *address, unsigned index)
{
    return (unsigned)address->bytes[2 * index] << 8 | address->bytes[2 * index + 1];
}

/* The first of the longest runs of at least two zero groups; its length is 0 if there is none (RFC
 * 5952 section 4.2). */
static unsigned longest_zeros(const struct uvh_ip_address *address, unsigned *length)
{
    unsigned best = 0;
    *length = 0;
    for (unsigned i = 0; i < GROUPS; i++) {
        unsigned end = i;
        while (end < GROUPS && group_at(address, end) == 0)
            end++;
        if (end - i >= 2 && end - i > *length) {
            best = i;
            *length = end - i;
        }
    }
    return best;
}

size_t uvh_ip_address_format(const struct uvh_ip_address *address,
                             char text[UVH_IP_ADDRESS_TEXT_SIZE])
{
    char *p = text;
    unsigned zeros, gap;
    if (uvh_ip_address_is_v4(address)) {
        for (unsigned i = 0; i < 4; i++) {
            if (i > 0)
                *p++ = '.';
            p = put_number(p, address->bytes[V4_OFFSET + i], 10);
        }
    } else {
        gap = longest_zeros(address, &zeros);
        for (unsigned i = 0; i < GROUPS; i++) {
            if (zeros > 0 && i == gap) {
                *p++ = ':';
                i += zeros - 1;
                if (i == GROUPS - 1)
                    *p++ = ':';
                continue;
            }
            if (i > 0)
                *p++ = ':';
            p = put_number(p, group_at(address, i), 16);
        }
    }
    *p = '\0';
    return (size_t)(p - text);
}
