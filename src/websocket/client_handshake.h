/* The client side of the opening handshake (RFC 6455 section 4.1) as values: writes the request and
 * parses the response.
 *
 * No socket, no memory of its own, no randomness: random bytes are an argument. Invariant: the
 * parser takes no byte after the response's head; those belong to frames. */
#ifndef UVH_WEBSOCKET_CLIENT_HANDSHAKE_H
#define UVH_WEBSOCKET_CLIENT_HANDSHAKE_H

#include <uvhttp/parser.h>

#include "codec/websocket/handshake.h"
#include "websocket/accept.h"

/* The client's request. All members except `url` and `fields` must live until the response is
 * read. */
struct uvh_ws_client_handshake {
    const struct uvh_ws_url *url;
    const char *fields; /* additional ones, each "Name: value\r\n"; NULL: none */
    /* Tokens in order of preference, followed by NULL; NULL: none is offered. */
    const char *const *protocols;
    bool protocol_required;                           /* fail when the server selects none */
    const struct uvh_ws_deflate_preferences *deflate; /* NULL: not offered */
    char key[UVH_WS_KEY_SIZE];                        /* set by uvh_ws_client_handshake_write */
};

/* True for valid additional fields: whole lines, names that are tokens, values without control
 * characters, and no field of the handshake or that announces a body. NULL is allowed. */
bool uvh_ws_client_handshake_fields_valid(const char *fields);

/* The maximum length of the output of uvh_ws_client_handshake_write. */
size_t uvh_ws_client_handshake_size(const struct uvh_ws_client_handshake *handshake);

/* Writes the request to `out`, which has space for `size` bytes, and stores the key. Returns its
 * length, or UVHTTP_EINVAL (invalid fields, a protocol that is no token), UVHTTP_EFULL. */
ptrdiff_t uvh_ws_client_handshake_write(struct uvh_ws_client_handshake *handshake,
                                        const uint8_t nonce[16], char *out, size_t size);

enum {
    UVH_WS_REPLY_MAX = 8192,   /* bytes of the response's head */
    UVH_WS_REPLY_FIELDS = 64,  /* lines */
    UVH_WS_REPLY_INTERIM = 8,  /* interim responses (1xx except 101) */
    UVH_WS_REPLY_REASON = 124, /* as long as that of a close frame, and NUL */
};

/* The state of the response parser. */
struct uvh_ws_reply {
    uint32_t length;                  /* bytes of the current head */
    uint32_t interim;                 /* interim heads skipped */
    uint16_t status;                  /* of the response, once its head is complete; else 0 */
    char reason[UVH_WS_REPLY_REASON]; /* after BAD: why, NUL-terminated */
    uvhttp_head_t head;
    uvhttp_field_t fields[UVH_WS_REPLY_FIELDS];
    char bytes[UVH_WS_REPLY_MAX];
};

/* Prepares for a response. */
void uvh_ws_reply_init(struct uvh_ws_reply *reply);

/* Parses the next bytes. `*used` is the number that belong to the head: all with MORE; after DONE
 * the caller parses the rest as frames.
 *   - DONE: the connection is a WebSocket; `*accepted` holds the negotiated values, with a protocol
 *     of the request's list, and `reserved` 0
 *   - MORE: call again with the following bytes
 *   - BAD: the handshake failed, reply->reason says why: close the connection (section 4.1) */
uvhttp_parse_result_t uvh_ws_reply_read(struct uvh_ws_reply *reply,
                                        const struct uvh_ws_client_handshake *handshake,
                                        const char *data, size_t size, size_t *used,
                                        struct uvh_ws_accepted *accepted);

#endif
