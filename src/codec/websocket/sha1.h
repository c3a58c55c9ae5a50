/* SHA-1 (FIPS 180-4 section 6.1).
 *
 * Only for Sec-WebSocket-Accept (RFC 6455 section 4.2.2): that value is not a secret and only shows
 * that the server supports WebSocket, so the weakness of SHA-1 does not matter. Implemented here
 * because builds without OpenSSL need handshakes, too. */
#ifndef UVH_CODEC_WEBSOCKET_SHA1_H
#define UVH_CODEC_WEBSOCKET_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { UVH_SHA1_SIZE = 20 };

/* The digest of `size` bytes. */
void uvh_sha1(const void *data, size_t size, uint8_t digest[UVH_SHA1_SIZE]);

#endif
