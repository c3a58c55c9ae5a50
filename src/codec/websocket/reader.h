/* Turns received bytes of a WebSocket connection, in chunks of any size, into payloads and control
 * frames, and enforces every rule of RFC 6455 section 5 on frames.
 *
 * Payloads are unmasked and reported in place; only headers and fragmented control frames are
 * copied. UTF-8 is checked after decompression, so not here.
 *
 * A frame without a payload is a part of size 0. More frames than max_fragments are reported as
 * 1009, too, as documented for limits in uvhttp/websocket.h.
 *
 * Always true: the reader must not be used after UVH_WS_EVENT_BAD; a control frame is reported as a
 * whole; `last` of a message is reported exactly once, if necessary with a part of size 0. */
#ifndef UVH_CODEC_WEBSOCKET_READER_H
#define UVH_CODEC_WEBSOCKET_READER_H

#include "codec/websocket/frame.h"

/* Settings shared by all connections of an endpoint. */
struct uvh_ws_rules {
    uint64_t max_frame_size; /* most payload bytes of one frame of a message */
    uint32_t max_fragments;  /* most frames of one message */
    /* the peer is a client: frames must be masked; otherwise they must not be */
    bool from_client;
};

enum uvh_ws_event_kind {
    UVH_WS_EVENT_MORE = 0, /* all bytes are consumed, and there is no event */
    UVH_WS_EVENT_CHUNK,    /* a part of a message */
    UVH_WS_EVENT_PING,
    UVH_WS_EVENT_PONG,
    UVH_WS_EVENT_CLOSE,
    /* a control frame arrives in several parts: set reader->control and call again */
    UVH_WS_EVENT_SIZE,
    UVH_WS_EVENT_BAD, /* the peer has violated the protocol: see `code` and `reason` */
};

struct uvh_ws_event {
    enum uvh_ws_event_kind kind;
    char *data; /* in the input bytes, or in reader->control; may be changed */
    size_t size;
    bool text;       /* CHUNK: of a text message */
    bool compressed; /* CHUNK: of a compressed message (RSV1 of its first frame) */
    bool first;      /* CHUNK: first part of the message */
    bool last;       /* CHUNK: last part of the message */
    /* BAD: of the close frame to send. CLOSE: the received one, 1005 without; it is valid */
    uint16_t code;
    const char *reason; /* BAD: a static text for the log and the close frame */
};

struct uvh_ws_reader {
    uint64_t remaining; /* payload bytes of the current frame still to be received */
    /* UVH_WS_CONTROL_MAX bytes of the owner's memory for control frames in several parts; NULL
     * until requested. The owner may take it back at any time, except between SIZE and the
     * report of the control frame */
    char *control;
    uint32_t fragments; /* frames of the message so far */
    uint8_t mask[4];
    uint8_t mask_offset;  /* index in the masking key for the next byte of the payload */
    uint8_t head_size;    /* bytes of an incomplete header */
    uint8_t control_size; /* bytes of an incomplete control frame */
    char head[UVH_WS_HEAD_MAX];
    uint8_t opcode;      /* of the current frame */
    bool in_frame : 1;   /* its header is complete, its payload is not */
    bool in_message : 1; /* a message has begun and not ended */
    bool text : 1;       /* a text message */
    bool message_compressed : 1;
    bool frame_last : 1;
    bool shown : 1;       /* a part of the message has been reported */
    bool compression : 1; /* set by the owner: RSV1 is allowed */
};

/* Initialises the reader for a new connection. */
void uvh_ws_reader_init(struct uvh_ws_reader *reader, bool compression);

/* Parses up to the next event. Returns how many of the `size` bytes are consumed (0 for SIZE, all
 * bytes of the event for the others); call again with the rest until MORE or BAD. The bytes of an
 * event are changed in place. A close frame's payload is validated: not one byte, a valid code,
 * UTF-8 after it; `data` and `size` are the reason after the code. */
size_t uvh_ws_reader_next(struct uvh_ws_reader *reader, const struct uvh_ws_rules *rules,
                          char *data, size_t size, struct uvh_ws_event *event);

#endif
