/* Messages as frames that are ready to be sent, with a count of who still needs them.
 *
 * Always true: the frames of a server, which are not masked, so the same bytes go to everybody; the bytes never change; their memory is in the endpoint's
 * budget. Any thread. Called by websocket_send.c and topics.c. */
#ifndef UVH_MODULES_WEBSOCKET_MESSAGE_H
#define UVH_MODULES_WEBSOCKET_MESSAGE_H

#include <stdatomic.h>

#include <uvhttp/websocket.h>

#include "codec/ws_frame.h"

struct uvhttp_websocket_message {
    atomic_size_t refs;
    struct uvhttp_websocket_endpoint *endpoint;
    size_t memory;          /* of the budget */
    size_t plain_size;      /* of the frame at `bytes` */
    size_t compressed_size; /* of the one behind it; 0: there is none */
    uint8_t window_bits;    /* of the compressed one */
    bool pong;
    bool droppable; /* a message that may be left out for a slow peer: no control frame, no piece */
    char bytes[];
};

/* One of its frames as it goes out. */
static inline uvhttp_slice_t uvh_websocket_message_frame(const struct uvhttp_websocket_message *message,
                                                         bool compressed)
{
    if (compressed)
        return (uvhttp_slice_t){message->bytes + message->plain_size, message->compressed_size};
    return (uvhttp_slice_t){message->bytes, message->plain_size};
}

/* Bytes as they go out, for a queue. NULL: memory or the budget is used up. */
struct uvhttp_websocket_message *uvh_websocket_message_of(struct uvhttp_websocket_endpoint *endpoint,
                                                          size_t size, bool droppable);

#endif
