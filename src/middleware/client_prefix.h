/* Whom an address counts for: the network of a size that one customer of a provider usually has.
 *
 * Called by rate limits. */
#ifndef UVH_MIDDLEWARE_CLIENT_PREFIX_H
#define UVH_MIDDLEWARE_CLIENT_PREFIX_H

#include "codec/fields/ip_address.h"

/* The first bits of an address, the others zero: `v4_bits` (1 to 32) of an IPv4 address, also of a
 * mapped one, `v6_bits` (1 to 128) of another. A zone behind '%' does not count. False when the
 * text is no address. */
bool uvh_client_prefix(const char *text, unsigned v4_bits, unsigned v6_bits,
                       struct uvh_ip_address *prefix);

#endif
