/* The address prefix a client is counted by: the size a provider usually assigns to one customer.
 *
 * Called by rate limits. */
#ifndef UVH_MIDDLEWARE_CLIENT_PREFIX_H
#define UVH_MIDDLEWARE_CLIENT_PREFIX_H

#include "codec/fields/ip_address.h"

/* Keeps the first bits of an address and zeroes the rest: `v4_bits` (1 to 32) of an IPv4 or mapped
 * address, `v6_bits` (1 to 128) of another. Ignores a zone after '%'. False when the text is no
 * address. */
bool uvh_client_prefix(const char *text, unsigned v4_bits, unsigned v6_bits,
                       struct uvh_ip_address *prefix);

#endif
