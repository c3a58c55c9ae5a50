/* CIDR prefixes: an address and a prefix length, "10.0.0.0/8" (RFC 4632 section 3.1, RFC 4291
 * section 2.3).
 *
 * Always true: a prefix matches only addresses of its own family: "::/0" is every IPv6 address and
 * no IPv4 one. IPv4-mapped addresses are IPv4 on both sides. Used for trusted proxies and address
 * rules. */
#ifndef UVH_CODEC_FIELDS_ADDRESS_PREFIX_H
#define UVH_CODEC_FIELDS_ADDRESS_PREFIX_H

#include "codec/fields/ip_address.h"

struct uvh_address_prefix {
    struct uvh_ip_address address;
    uint8_t bits; /* 0 to 128, of the IPv6 form: 104 for an IPv4 prefix of 8 */
    bool v4;
};

/* "10.0.0.0/8", "2001:db8::/32", or one address without a length. False if it is malformed, if the
 * length has leading zeros or is above 32 (IPv4) or 128 (IPv6), or if host bits are set:
 * "10.1.2.3/8" is ambiguous, and a guess may admit the wrong clients. */
bool uvh_address_prefix_parse(uvhttp_slice_t text, struct uvh_address_prefix *prefix);

bool uvh_address_prefix_holds(const struct uvh_address_prefix *prefix,
                              const struct uvh_ip_address *address);

/* True if at least one of the prefixes matches. */
bool uvh_address_prefix_any(const struct uvh_address_prefix *prefixes, size_t count,
                            const struct uvh_ip_address *address);

#endif
