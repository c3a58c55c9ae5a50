/* Field values of the opening handshake of WebSocket (RFC 6455 section 4): keys, subprotocols,
 * origins, and the URL of a client. */
#ifndef UVH_CODEC_WEBSOCKET_HANDSHAKE_H
#define UVH_CODEC_WEBSOCKET_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum {
    UVH_WS_KEY_SIZE = 24,    /* base64 of 16 bytes */
    UVH_WS_ACCEPT_SIZE = 28, /* base64 of a SHA-1 */
};

/* True for base64 of 16 bytes (section 4.2.1 item 5). The unused four bits after the last byte
 * may have any value: servers need not decode the key, so some clients generate it from random
 * digits. */
bool uvh_ws_key_valid(uvhttp_slice_t key);

/* Makes the key from 16 random bytes. No NUL. */
void uvh_ws_key_make(const uint8_t nonce[16], char key[UVH_WS_KEY_SIZE]);

/* The server's Sec-WebSocket-Accept for a key (section 4.2.2 item 5.4). No NUL. */
void uvh_ws_accept_make(const char key[UVH_WS_KEY_SIZE], char accept[UVH_WS_ACCEPT_SIZE]);

/* Selects the first of `ours` (NULL-terminated; NULL itself: none) that a value of
 * Sec-WebSocket-Protocol contains, case-sensitive. Returns its index, -1 if there is none, or -2 if
 * the value is no list of tokens. Several lines form one list: `found` is the result of the earlier
 * lines, -1 for the first. */
int uvh_ws_protocol_choose(uvhttp_slice_t offered, const char *const *ours, int found);

/* Compares origins (RFC 6454 section 5): scheme and host case-insensitively, and ports including
 * the defaults of "http", "https", "ws" and "wss". "null" equals itself (as text: a server that
 * does not list it rejects it). False if either is malformed, has a path, or is a list. */
bool uvh_ws_origin_equal(uvhttp_slice_t a, uvhttp_slice_t b);

/* "scheme://host[:port]" or "null" (RFC 6454 section 6.2). */
bool uvh_ws_origin_valid(uvhttp_slice_t origin);

/* The parts of a "ws:" or "wss:" URL (section 3). */
struct uvh_ws_url {
    uvhttp_slice_t host; /* without brackets */
    /* for the Host field: with brackets, and with the port unless it is the scheme's default */
    uvhttp_slice_t authority;
    /* path and query. If it does not begin with '/', the caller must prepend one: it may be
     * empty or begin with '?' */
    uvhttp_slice_t target;
    uint16_t port;
    bool secure;
};

/* False if it is invalid: another scheme, user information, a fragment, an empty host, port 0, or
 * bytes not allowed in a target. */
bool uvh_ws_url_parse(const char *url, struct uvh_ws_url *parsed);

#endif
