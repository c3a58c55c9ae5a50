/* host[:port] of Host fields and request targets (RFC 3986 section 3.2, RFC 9110 section 7.2).
 *
 * Called by the framing rules, and to compare host names. */
#ifndef UVH_CODEC_FIELDS_AUTHORITY_H
#define UVH_CODEC_FIELDS_AUTHORITY_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "codec/simd/scan_swar.h"

/* Splits an authority without user information. False if it is malformed or the host is empty.
 * `*host` includes the brackets of an IP literal. `*port` has base NULL without a colon, and may be
 * empty after one. A port above 65535 is malformed. */
bool uvh_authority_split(uvhttp_slice_t authority, uvhttp_slice_t *host, uvhttp_slice_t *port);

/* A valid port after the colon: digits of a number up to 65535, or nothing. */
bool uvh_authority_is_port(const char *p, const char *end);

enum { UVH_AUTHORITY_MAX_PORT = 65535, UVH_AUTHORITY_PORT_DIGITS = 5 };

/* The same if the eight bytes before `end` are readable, as in a field line after its name: the
 * usual port takes no loop. */
static inline bool uvh_authority_ends_with_port(const char *p, const char *end)
{
    uint64_t port;
    size_t length = (size_t)(end - p);
    if (length == 0 || length > UVH_AUTHORITY_PORT_DIGITS)
        return uvh_authority_is_port(p, end);
    return uvh_swar_number(end, length, &port) && port <= UVH_AUTHORITY_MAX_PORT;
}

#endif
