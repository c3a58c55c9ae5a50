/* What somebody else has sent, so that it can stand in a text of ours: a log line, an answer, the
 * reason of an end.
 *
 * Called by websocket/accept.c, websocket/client_handshake.c and websocket/connect.c. */
#ifndef UVH_CODEC_TEXT_SHOWN_H
#define UVH_CODEC_TEXT_SHOWN_H

#include <stddef.h>

#include <uvhttp/types.h>

/* Writes it to `text`, which has room for `size` bytes, more than 3, and gives that back:
 * NUL-terminated, with '?' for each byte that is not visible ASCII or a space, and "..." for what
 * does not fit. */
const char *uvh_shown(uvhttp_slice_t value, char *text, size_t size);

#endif
