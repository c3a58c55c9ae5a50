/* The client's side of the opening handshake (RFC 6455 section 4.1) as values: the bytes that ask,
 * and a reader of the bytes that answer.
 *
 * No socket, no memory of its own, no chance: random bytes come as an argument. Always true: a
 * reader takes no byte behind the answer's head; those belong to frames. Called by
 * websocket/connect.c. */
#ifndef UVH_WEBSOCKET_CLIENT_HANDSHAKE_H
#define UVH_WEBSOCKET_CLIENT_HANDSHAKE_H

#include <uvhttp/parser.h>

#include "codec/websocket/handshake.h"
#include "websocket/accept.h"

/* What a client says. Only `url` and `fields` may be gone when the answer is read. */
struct uvh_ws_greeting {
    const struct uvh_ws_url *url;
    const char *fields; /* further ones, each "Name: value\r\n"; NULL: none */
    /* tokens, the best first, NULL behind the last; NULL: none is offered */
    const char *const *protocols;
    bool protocol_required;                      /* a server that takes none of them is left */
    const struct uvh_ws_deflate_wishes *deflate; /* NULL: not offered */
    char key[UVH_WS_KEY_SIZE];                   /* set by uvh_ws_greeting_write */
};

/* True for further fields that may be sent: whole lines, names that are tokens, values without
 * controls, and none that belongs to the handshake or would announce a body. NULL is fine. */
bool uvh_ws_greeting_fields_valid(const char *fields);

/* Bytes that uvh_ws_greeting_write needs at most. */
size_t uvh_ws_greeting_size(const struct uvh_ws_greeting *greeting);

/* Writes the request to `out`, which has room for `size` bytes, and remembers the key. Its length,
 * or UVHTTP_EINVAL (fields that may not be sent, a protocol that is no token), UVHTTP_EFULL. */
ptrdiff_t uvh_ws_greeting_write(struct uvh_ws_greeting *greeting, const uint8_t nonce[16],
                                char *out, size_t size);

enum {
    UVH_WS_REPLY_MAX = 8192,   /* bytes of the answer's head */
    UVH_WS_REPLY_FIELDS = 64,  /* lines */
    UVH_WS_REPLY_INTERIM = 8,  /* answers that are none yet (1xx but 101) */
    UVH_WS_REPLY_REASON = 124, /* as long as that of a close frame, and NUL */
};

/* What has come of the answer. */
struct uvh_ws_reply {
    uint32_t length;                  /* bytes of the current head */
    uint32_t interim;                 /* heads that were passed over */
    uint16_t status;                  /* of the answer, once its head has come; 0 before */
    char reason[UVH_WS_REPLY_REASON]; /* after BAD: why, NUL-terminated */
    uvhttp_head_t head;
    uvhttp_field_t fields[UVH_WS_REPLY_FIELDS];
    char bytes[UVH_WS_REPLY_MAX];
};

/* Prepares for an answer. */
void uvh_ws_reply_init(struct uvh_ws_reply *reply);

/* Takes the next bytes. `*used` is how many of them belong to the head: all with MORE; the caller
 * goes on with the others as frames after DONE.
 *   DONE: the connection is a WebSocket; `*accepted` says what was agreed on, with a protocol of
 *   the greeting's list, and `reserved` 0
 *   MORE: call again with the bytes behind these
 *   BAD:  it is none, reply->reason says why: the connection has to be closed (section 4.1) */
uvhttp_parse_result_t uvh_ws_reply_read(struct uvh_ws_reply *reply,
                                        const struct uvh_ws_greeting *greeting, const char *data,
                                        size_t size, size_t *used,
                                        struct uvh_ws_accepted *accepted);

#endif
