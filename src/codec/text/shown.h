/* Makes text from a peer safe for our own texts: a log line, a response, a close reason. */
#ifndef UVH_CODEC_TEXT_SHOWN_H
#define UVH_CODEC_TEXT_SHOWN_H

#include <stddef.h>

#include <uvhttp/types.h>

/* Writes it to `text`, which has `size` bytes, more than 3, and returns `text`: NUL-terminated,
 * with '?' for each byte that is not visible ASCII or a space, truncated with "...". */
const char *uvh_shown(uvhttp_slice_t value, char *text, size_t size);

#endif
