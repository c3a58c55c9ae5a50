/* Bytes of a WebSocket connection, in pieces of any size, to payloads and control frames; every
 * rule of RFC 6455 section 5 on frames is kept here.
 *
 * Payloads are unmasked in place and shown where they lie, so nothing is copied but heads and
 * control frames that come in several pieces. Whether a text is UTF-8 is asked of what is in it
 * after it has been expanded, so it is not looked at here.
 *
 * A frame without a payload is a piece of size 0. More frames than max_fragments are told as 1009,
 * too: what uvhttp/websocket.h says of limits.
 *
 * Always true: after UVH_WS_EVENT_BAD the reader is not used any more; a control frame is shown
 * whole; `last` of a message is shown exactly once, if need be with a piece of size 0. */
#ifndef UVH_CODEC_WEBSOCKET_READER_H
#define UVH_CODEC_WEBSOCKET_READER_H

#include "codec/websocket/frame.h"

/* What all connections of an endpoint have in common. */
struct uvh_ws_rules {
    uint64_t max_frame_size; /* payload bytes of one frame of a message */
    uint32_t max_fragments;  /* frames of one message */
    /* the peer is a client: frames have to be masked; otherwise they must not be */
    bool from_client;
};

enum uvh_ws_event_kind {
    UVH_WS_EVENT_MORE = 0, /* all bytes are used, and there is nothing to tell */
    UVH_WS_EVENT_PIECE,    /* of a message */
    UVH_WS_EVENT_PING,
    UVH_WS_EVENT_PONG,
    UVH_WS_EVENT_CLOSE,
    /* a control frame comes in several pieces: set reader->control and call again */
    UVH_WS_EVENT_ROOM,
    UVH_WS_EVENT_BAD, /* the peer has broken a rule: `code` and `reason` say which */
};

struct uvh_ws_event {
    enum uvh_ws_event_kind kind;
    char *data; /* in the bytes that were given, or in reader->control; may be changed */
    size_t size;
    bool text;       /* PIECE: of a message that is text */
    bool compressed; /* PIECE: of a message that is compressed (RSV1 of its first frame) */
    bool first;      /* PIECE: the message begins with it */
    bool last;       /* PIECE: the message ends with it */
    /* BAD: of the close frame to send. CLOSE: the one that came, 1005 without; it is valid */
    uint16_t code;
    const char *reason; /* BAD: a static text for the log and the close frame */
};

struct uvh_ws_reader {
    uint64_t remaining; /* payload bytes of the current frame that have not come */
    char *
        /* UVH_WS_CONTROL_MAX bytes of the owner's for control frames in pieces; NULL until
         * asked for. May be taken back at any time but behind ROOM until the control frame has
         * been shown */
        control;
    uint32_t fragments; /* frames of the message so far */
    uint8_t mask[4];
    uint8_t mask_offset;  /* where in the mask the next byte of the payload is */
    uint8_t head_size;    /* bytes of an incomplete head */
    uint8_t control_size; /* bytes of an incomplete control frame */
    char head[UVH_WS_HEAD_MAX];
    uint8_t opcode;      /* of the current frame */
    bool in_frame : 1;   /* its head is known and the payload has not come in full */
    bool in_message : 1; /* a message has begun and not ended */
    bool text : 1;       /* and is text */
    bool message_compressed : 1;
    bool frame_last : 1;
    bool shown : 1;       /* something of the message has been shown */
    bool compression : 1; /* set by the owner: RSV1 may be set */
};

/* Sets all to the beginning of a connection. */
void uvh_ws_reader_init(struct uvh_ws_reader *reader, bool compression);

/* Goes on. Returns how many of the `size` bytes are used (0 for ROOM, what is behind it for the
 * others); the caller goes on with the rest until MORE or BAD. The bytes of an event are changed in
 * place. A close frame's payload is checked: not of one byte, a valid code, UTF-8 behind it; `data`
 * and `size` are the reason behind the code. */
size_t uvh_ws_reader_next(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                          char *data, size_t size, struct uvh_ws_event *event);

#endif
