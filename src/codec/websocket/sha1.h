/* SHA-1 (FIPS 180-4 section 6.1).
 *
 * For the accept key of WebSocket (RFC 6455 section 4.2.2) and nothing else: it is not a secret and
 * protects nothing, it only shows that the other side speaks WebSocket, so that SHA-1 is broken
 * does not matter there. It is our own because a build without OpenSSL has to have handshakes, too.
 * Called by codec/websocket/handshake.c. */
#ifndef UVH_CODEC_WEBSOCKET_SHA1_H
#define UVH_CODEC_WEBSOCKET_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { UVH_SHA1_SIZE = 20 };

/* The digest of `size` bytes. */
void uvh_sha1(const void *data, size_t size, uint8_t digest[UVH_SHA1_SIZE]);

#endif
