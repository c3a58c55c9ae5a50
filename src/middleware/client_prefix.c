/* See client_prefix.h. */
#include "middleware/client_prefix.h"

#include <string.h>

enum { BITS_BEFORE_V4 = 96 }; /* of the IPv6 form of an IPv4 address */

bool uvh_client_prefix(const char *text, unsigned v4_bits, unsigned v6_bits,
                       struct uvh_ip_address *prefix)
{
    if (!uvh_ip_address_parse((uvhttp_slice_t){text, strcspn(text, "%")}, prefix))
        return false;
    unsigned bits = uvh_ip_address_is_v4(prefix) ? BITS_BEFORE_V4 + v4_bits : v6_bits;
    for (unsigned i = 0; i < sizeof(prefix->bytes); i++) {
        unsigned kept = bits > i * 8 ? bits - i * 8 : 0;
        if (kept < 8)
            prefix->bytes[i] &= (uint8_t)(0xff00 >> kept);
    }
    return true;
}
