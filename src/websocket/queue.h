/* What waits for a peer that does not read: messages in order, the first of which may have left in
 * part.
 *
 * Always true: a queue holds a reference of each message; who pushes has looked at the limits;
 * removing one moves the entries on its shorter side. Called by send.c. */
#ifndef UVH_WEBSOCKET_QUEUE_H
#define UVH_WEBSOCKET_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "websocket/message.h"

/* What each costs beside its bytes, so that many empty messages are not free. */
enum { UVH_WS_QUEUE_ENTRY = 32 };

struct uvh_ws_queue_entry {
    struct uvhttp_websocket_message *message;
    bool compressed; /* the second of its frames is meant */
};

struct uvh_ws_queue {
    const uvhttp_allocator_t *allocator;
    struct uvh_ws_memory *memory;
    struct uvh_ws_queue_entry *entries; /* a ring */
    uint32_t capacity;                  /* a power of two */
    uint32_t first;
    uint32_t count;
    size_t sent;      /* bytes of the first that have left */
    size_t bytes;     /* that wait, and UVH_WS_QUEUE_ENTRY for each message */
    size_t droppable; /* of these, what uvh_ws_queue_drop_oldest can give */
};

/* Its ring is in the budget of `memory`, which outlives it. NULL when that or memory ran out. */
struct uvh_ws_queue *uvh_ws_queue_new(const uvhttp_allocator_t *allocator,
                                      struct uvh_ws_memory *memory);
/* Drops the references. NULL is fine. */
void uvh_ws_queue_free(struct uvh_ws_queue *queue);

/* Takes a reference, and has the message in its budget unless it is in that of another queue.
 * UVHTTP_ENOMEM: it does not wait. */
int uvh_ws_queue_push(struct uvh_ws_queue *queue, struct uvhttp_websocket_message *message,
                      bool compressed);

/* Areas of what waits first, up to `most` areas and about `limit` bytes. Returns how many. */
size_t uvh_ws_queue_areas(const struct uvh_ws_queue *queue, uvhttp_slice_t *areas, size_t most,
                          size_t limit);

/* So many of these bytes have left. */
void uvh_ws_queue_advance(struct uvh_ws_queue *queue, size_t bytes);

/* Drops the oldest message that may be dropped and has not begun. False when there is none. */
bool uvh_ws_queue_drop_oldest(struct uvh_ws_queue *queue);

/* Drops the pong that waits, unless it has begun. */
void uvh_ws_queue_drop_pong(struct uvh_ws_queue *queue);

/* Drops all messages that may be dropped and have not begun. */
void uvh_ws_queue_drop_all(struct uvh_ws_queue *queue);

#endif
