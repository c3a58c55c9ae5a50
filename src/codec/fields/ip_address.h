/* IP addresses as text and as bytes (RFC 4291 section 2.2, RFC 5952).
 *
 * Always true: an IPv4 address and its IPv4-mapped IPv6 form ("::ffff:192.0.2.1") are the same
 * value, because a dual-stack socket reports IPv4 clients in the mapped form. No allocation, no
 * system call. Used to compare and parse addresses: Host, proxies' fields, address rules. */
#ifndef UVH_CODEC_FIELDS_IP_ADDRESS_H
#define UVH_CODEC_FIELDS_IP_ADDRESS_H

#include <uvhttp/types.h>

/* The IPv6 form of either family, in network order. Equal addresses have equal bytes, so they can
 * be compared by memcmp and hashed. */
struct uvh_ip_address {
    uint8_t bytes[16];
};

/* "192.0.2.1" or "2001:db8::1": no brackets, no port, no zone, no leading zeros in IPv4. False for
 * anything else. */
bool uvh_ip_address_parse(uvhttp_slice_t text, struct uvh_ip_address *address);

/* The same for IPv6 only. */
bool uvh_ip_address_parse_v6(uvhttp_slice_t text, struct uvh_ip_address *address);

/* True for an IPv4 address in either form. */
bool uvh_ip_address_is_v4(const struct uvh_ip_address *address);

/* The canonical text of RFC 5952, IPv4 with dots, and a NUL. Returns the length. */
enum { UVH_IP_ADDRESS_TEXT_SIZE = 40 };
size_t uvh_ip_address_format(const struct uvh_ip_address *address,
                             char text[UVH_IP_ADDRESS_TEXT_SIZE]);

#endif
