/* Ranges of IP addresses: a prefix and its length, "10.0.0.0/8" (RFC 4632 section 3.1, RFC 4291
 * section 2.3).
 *
 * Always true: a prefix of one kind holds no address of the other: "::/0" is every IPv6 address and
 * no IPv4 one. IPv4-mapped addresses are IPv4 on both sides. Called by trusted proxies and by rules
 * by address. */
#ifndef UVH_CODEC_FIELDS_ADDRESS_PREFIX_H
#define UVH_CODEC_FIELDS_ADDRESS_PREFIX_H

#include "codec/fields/ip_address.h"

struct uvh_address_prefix {
    struct uvh_ip_address address;
    uint8_t bits; /* 0 to 128, of the IPv6 form: an IPv4 prefix of 8 has 104 */
    bool v4;
};

/* "10.0.0.0/8", "2001:db8::/32", or one address without a length. False when it is malformed, when
 * the length is above 32 resp. 128 or has leading zeros, and when bits behind it are set: who
 * writes "10.1.2.3/8" means one or the other, and a guess may let in the wrong people. */
bool uvh_address_prefix_parse(uvhttp_slice_t text, struct uvh_address_prefix *prefix);

bool uvh_address_prefix_holds(const struct uvh_address_prefix *prefix,
                              const struct uvh_ip_address *address);

/* The same for at least one of several. */
bool uvh_address_prefix_any(const struct uvh_address_prefix *prefixes, size_t count,
                            const struct uvh_ip_address *address);

#endif
