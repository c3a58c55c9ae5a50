/* The queue of a peer that does not read: messages in order, the first of which may be partly sent.
 *
 * Invariants: a queue holds a reference to each message. The caller of push has checked the limits.
 * Removing an entry moves the entries on its shorter side. */
#ifndef UVH_WEBSOCKET_QUEUE_H
#define UVH_WEBSOCKET_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "websocket/message.h"

/* The cost of each message besides its bytes, so that many empty messages are not free. */
enum { UVH_WS_QUEUE_ENTRY = 32 };

struct uvh_ws_queue_entry {
    struct uvhttp_websocket_message *message;
    bool compressed; /* refers to the second of its frames */
};

struct uvh_ws_queue {
    const uvhttp_allocator_t *allocator;
    struct uvh_ws_memory *memory;
    struct uvh_ws_queue_entry *entries; /* a ring */
    uint32_t capacity;                  /* a power of two */
    uint32_t first;
    uint32_t count;
    size_t sent;      /* bytes of the first message already sent */
    size_t bytes;     /* queued bytes, plus UVH_WS_QUEUE_ENTRY per message */
    size_t droppable; /* of these, what uvh_ws_queue_drop_oldest can free */
};

/* Its ring is charged to the budget of `memory`, which outlives it. NULL when out of budget or
 * memory. */
struct uvh_ws_queue *uvh_ws_queue_new(const uvhttp_allocator_t *allocator,
                                      struct uvh_ws_memory *memory);
/* Drops the references. NULL is allowed. */
void uvh_ws_queue_free(struct uvh_ws_queue *queue);

/* Takes a reference, and charges the message to its budget unless another queue's is charged
 * already. UVHTTP_ENOMEM: the message is not queued. */
int uvh_ws_queue_push(struct uvh_ws_queue *queue, struct uvhttp_websocket_message *message,
                      bool compressed);

/* Returns the first queued bytes as up to `most` areas and about `limit` bytes, and their
 * number. */
size_t uvh_ws_queue_areas(const struct uvh_ws_queue *queue, uvhttp_slice_t *areas, size_t most,
                          size_t limit);

/* `bytes` of the queue were sent. */
void uvh_ws_queue_advance(struct uvh_ws_queue *queue, size_t bytes);

/* Drops the oldest droppable message that is not partly sent. False when there is none. */
bool uvh_ws_queue_drop_oldest(struct uvh_ws_queue *queue);

/* Drops the queued pong, unless it is partly sent. */
void uvh_ws_queue_drop_pong(struct uvh_ws_queue *queue);

/* Drops all droppable messages that are not partly sent. */
void uvh_ws_queue_drop_all(struct uvh_ws_queue *queue);

#endif
