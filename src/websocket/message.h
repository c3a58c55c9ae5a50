/* Messages as frames ready to be sent, reference counted.
 *
 * Invariants: the frames are those of a server, which are not masked, so all peers get the same
 * bytes. The bytes never change. Their memory is charged to one budget at a time, which lives as
 * long as they do, with or without their endpoint. Any thread. */
#ifndef UVH_WEBSOCKET_MESSAGE_H
#define UVH_WEBSOCKET_MESSAGE_H

#include <stdatomic.h>

#include <uvhttp/websocket.h>

#include "base/budget.h"
#include "codec/websocket/frame.h"

struct uvh_ws_deflate_settings;

/* A reference counted budget, since users may keep messages after the endpoint is destroyed. */
struct uvh_ws_memory {
    atomic_size_t refs;
    const uvhttp_allocator_t *allocator;
    struct uvh_budget budget;
    struct uvh_budget windows; /* the part of it for windows of connections */
    bool passing;              /* messages stay here only until one of them is queued */
};

/* Has one reference. NULL when out of memory. */
struct uvh_ws_memory *uvh_ws_memory_new(const uvhttp_allocator_t *allocator, size_t limit,
                                        bool passing);
struct uvh_ws_memory *uvh_ws_memory_ref(struct uvh_ws_memory *memory);
/* NULL is allowed. */
void uvh_ws_memory_unref(struct uvh_ws_memory *memory);

struct uvhttp_websocket_message {
    atomic_size_t refs;
    _Atomic(struct uvh_ws_memory *) memory; /* the budget charged for it, with a reference */
    const uvhttp_allocator_t *allocator;
    size_t size;            /* charged to the budget */
    size_t plain_size;      /* of the frame at `bytes` */
    size_t compressed_size; /* of the one following it; 0: there is none */
    uint8_t window_bits;    /* of the compressed frame */
    bool pong;
    bool droppable; /* may be dropped for a slow peer: no control frame, no fragment */
    char bytes[];
};

/* The frame to send. */
static inline uvhttp_slice_t
uvh_websocket_message_frame(const struct uvhttp_websocket_message *message, bool compressed)
{
    if (compressed)
        return (uvhttp_slice_t){message->bytes + message->plain_size, message->compressed_size};
    return (uvhttp_slice_t){message->bytes, message->plain_size};
}

/* Frame bytes for a queue. NULL: out of memory or budget. */
struct uvhttp_websocket_message *uvh_websocket_message_of(struct uvh_ws_memory *memory, size_t size,
                                                          bool droppable);

/* True when it is text or binary, and text is valid UTF-8. */
bool uvh_websocket_message_fits(uvhttp_websocket_kind_t kind, const void *data, size_t size);

/* A valid message for broadcast. Compressed with these settings, if that makes it smaller;
 * `deflate` NULL: not compressed. NULL: out of memory or budget. */
struct uvhttp_websocket_message *
uvh_websocket_message_make(struct uvh_ws_memory *memory,
                           const struct uvh_ws_deflate_settings *deflate,
                           uvhttp_websocket_kind_t kind, const void *data, size_t size);

/* The message is about to be queued: moves it from a passing budget to that of `memory`. So the
 * slow peer's endpoint is charged for a queued message, once, not the publisher. False when
 * `memory` has too little left. */
bool uvh_websocket_message_settle(struct uvhttp_websocket_message *message,
                                  struct uvh_ws_memory *memory);

#endif
