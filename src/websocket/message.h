/* Messages as frames that are ready to be sent, with a count of who still needs them.
 *
 * Always true: the frames of a server, which are not masked, so the same bytes go to everybody; the
 * bytes never change; their memory is in one budget at a time, which lives as long as they do, with
 * or without their endpoint. Any thread. Called by send.c and topics_publish.c. */
#ifndef UVH_WEBSOCKET_MESSAGE_H
#define UVH_WEBSOCKET_MESSAGE_H

#include <stdatomic.h>

#include <uvhttp/websocket.h>

#include "base/budget.h"
#include "codec/websocket/frame.h"

/* A budget that is counted, since users may keep messages for longer than there is an endpoint. */
struct uvh_ws_memory {
    atomic_size_t refs;
    const uvhttp_allocator_t *allocator;
    struct uvh_budget budget;
    struct uvh_budget windows; /* the part of it that windows of connections may take */
    bool passing;              /* messages are here only until one of them has to wait in a queue */
};

/* It has one reference. NULL when memory ran out. */
struct uvh_ws_memory *uvh_ws_memory_new(const uvhttp_allocator_t *allocator, size_t limit,
                                        bool passing);
struct uvh_ws_memory *uvh_ws_memory_ref(struct uvh_ws_memory *memory);
/* NULL is fine. */
void uvh_ws_memory_unref(struct uvh_ws_memory *memory);

struct uvhttp_websocket_message {
    atomic_size_t refs;
    _Atomic(struct uvh_ws_memory *) memory; /* in whose budget it is, with a reference */
    const uvhttp_allocator_t *allocator;
    size_t size;            /* of the budget */
    size_t plain_size;      /* of the frame at `bytes` */
    size_t compressed_size; /* of the one behind it; 0: there is none */
    uint8_t window_bits;    /* of the compressed one */
    bool pong;
    bool droppable; /* a message that may be left out for a slow peer: no control frame, no piece */
    char bytes[];
};

/* One of its frames as it goes out. */
static inline uvhttp_slice_t
uvh_websocket_message_frame(const struct uvhttp_websocket_message *message, bool compressed)
{
    if (compressed)
        return (uvhttp_slice_t){message->bytes + message->plain_size, message->compressed_size};
    return (uvhttp_slice_t){message->bytes, message->plain_size};
}

/* Bytes as they go out, for a queue. NULL: memory or the budget is used up. */
struct uvhttp_websocket_message *uvh_websocket_message_of(struct uvh_ws_memory *memory, size_t size,
                                                          bool droppable);

/* True when it is text or binary, and a text is UTF-8. */
bool uvh_websocket_message_fits(uvhttp_websocket_kind_t kind, const void *data, size_t size);

/* A message for many, which fits. It is compressed as the connections of `compressor` have it, if
 * that pays; NULL: it is not. NULL: memory or the budget is used up. */
struct uvhttp_websocket_message *
uvh_websocket_message_make(struct uvh_ws_memory *memory,
                           struct uvhttp_websocket_endpoint *compressor,
                           uvhttp_websocket_kind_t kind, const void *data, size_t size);

/* It waits from now on: from a budget that it is only passing it moves to that of `memory`. So
 * who is slow pays for what waits, once, and not who publishes. False when so much is not left
 * there. */
bool uvh_websocket_message_settle(struct uvhttp_websocket_message *message,
                                  struct uvh_ws_memory *memory);

#endif
