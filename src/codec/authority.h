/* host[:port] of Host fields and request targets (RFC 3986 section 3.2, RFC 9110 section 7.2).
 *
 * Called by the framing rules, and by whoever compares host names. */
#ifndef UVH_CODEC_AUTHORITY_H
#define UVH_CODEC_AUTHORITY_H

#include <uvhttp/types.h>

/* Takes an authority without user information apart. False when it is malformed or the host is empty.
 * `*host` keeps the brackets of an IP literal; `*port` has base NULL when there is no colon and may be
 * empty behind one. A port above 65535 is malformed. */
bool uvh_authority_split(uvhttp_slice_t authority, uvhttp_slice_t *host, uvhttp_slice_t *port);

/* What may stand behind the colon: digits of a number up to 65535, or nothing. */
bool uvh_authority_is_port(const char *p, const char *end);

#endif
