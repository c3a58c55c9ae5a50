/* Frames of WebSocket (RFC 6455 section 5.2): writes frame headers, and defines their values. */
#ifndef UVH_CODEC_WEBSOCKET_FRAME_H
#define UVH_CODEC_WEBSOCKET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uvh_ws_opcode {
    UVH_WS_CONTINUATION = 0,
    UVH_WS_TEXT = 1,
    UVH_WS_BINARY = 2,
    UVH_WS_CLOSE = 8,
    UVH_WS_PING = 9,
    UVH_WS_PONG = 10,
};

enum {
    /* bytes of the longest header: two, eight of a length, four of a masking key */
    UVH_WS_HEAD_MAX = 14,
    UVH_WS_CONTROL_MAX = 125, /* most bytes of a control frame's payload */
};

struct uvh_ws_frame {
    uint8_t opcode;  /* enum uvh_ws_opcode */
    bool last;       /* FIN */
    bool compressed; /* RSV1: of a compressed message (RFC 7692 section 6) */
    bool masked;
    uint8_t mask[4];
    uint64_t length; /* of the payload */
};

/* Writes the header of a frame, at most UVH_WS_HEAD_MAX bytes, with the shortest form of the
 * length. Returns its size. */
size_t uvh_ws_frame_head(const struct uvh_ws_frame *frame, char *out);

/* True for a code allowed in a close frame: 1000 to 1003, 1007 to 1014, 3000 to 4999 (section
 * 7.4). */
bool uvh_ws_close_code_valid(unsigned code);

#endif
