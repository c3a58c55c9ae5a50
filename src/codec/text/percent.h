/* Percent-encoding (RFC 3986 section 2.1). Called for Location, links and names of files. */
#ifndef UVH_CODEC_TEXT_PERCENT_H
#define UVH_CODEC_TEXT_PERCENT_H

#include <uvhttp/types.h>

/* What needs no encoding, besides letters and digits: anywhere (RFC 3986 section 2.3), in a decoded
 * path, and in a path or query as it was sent. All other bytes are encoded, among them the
 * backslash, which browsers read as a slash. */
#define UVH_PERCENT_UNRESERVED "-._~"
#define UVH_PERCENT_PATH       "-._~!$&'()*+,;=:@/"
#define UVH_PERCENT_SENT       UVH_PERCENT_PATH "%?"

/* The length of the encoded text. */
size_t uvh_percent_size(uvhttp_slice_t text, const char *kept);

/* Writes `text`; bytes other than ASCII letters, digits and those in `kept` are encoded. `out` has
 * space for three times the length. Returns the end. */
char *uvh_percent_write(char *out, uvhttp_slice_t text, const char *kept);

#endif
