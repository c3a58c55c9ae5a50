/* The opening handshake of WebSocket (RFC 6455 section 4) as far as it is values of fields: keys,
 * subprotocols, origins, the URL of a client.
 *
 * Called by websocket/accept.c and websocket/client_handshake.c. */
#ifndef UVH_CODEC_WEBSOCKET_HANDSHAKE_H
#define UVH_CODEC_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum {
    UVH_WS_KEY_SIZE = 24,    /* base64 of 16 bytes */
    UVH_WS_ACCEPT_SIZE = 28, /* base64 of a SHA-1 */
};

/* True for base64 of 16 bytes (section 4.2.1 item 5). The four bits behind the last byte may be
 * anything: servers need not decode the key, so there are clients that make one of random
 * digits. */
bool uvh_ws_key_valid(uvhttp_slice_t key);

/* Makes the key of 16 random bytes. No NUL. */
void uvh_ws_key_make(const uint8_t nonce[16], char key[UVH_WS_KEY_SIZE]);

/* What the server answers to a key (section 4.2.2 item 5.4). No NUL. */
void uvh_ws_accept_make(const char key[UVH_WS_KEY_SIZE], char accept[UVH_WS_ACCEPT_SIZE]);

/* The first of `ours` (NULL behind the last; NULL itself: none) that stands in a value of
 * Sec-WebSocket-Protocol, by its index, with case; -1 when none does, -2 when the value is no list
 * of tokens. Several lines are one list: `found` is what the lines before gave, -1 at first. */
int uvh_ws_protocol_choose(uvhttp_slice_t offered, const char *const *ours, int found);

/* The same origin (RFC 6454 section 5): scheme and host compared without case, the ports with those
 * that "http", "https", "ws" and "wss" mean without one. "null" equals itself (as texts: who does
 * not list it refuses it). False when either is malformed, has a path, or is a list. */
bool uvh_ws_origin_equal(uvhttp_slice_t a, uvhttp_slice_t b);

/* "scheme://host[:port]" or "null" (RFC 6454 section 6.2). */
bool uvh_ws_origin_valid(uvhttp_slice_t origin);

/* The parts of a "ws:" or "wss:" URL (section 3). */
struct uvh_ws_url {
    uvhttp_slice_t host; /* without brackets */
    uvhttp_slice_t
        /* for the Host field: with brackets, and with the port unless it is the scheme's */
        authority;
    uvhttp_slice_t
        /* path and query. When it does not begin with '/', one is to be put in front: it may be
         * empty or begin with '?' */
        target;
    uint16_t port;
    bool secure;
};

/* False for a text that is none: another scheme, user information, a fragment, an empty host, port
 * 0, bytes that may not stand in a target. */
bool uvh_ws_url_parse(const char *url, struct uvh_ws_url *parsed);

#endif
