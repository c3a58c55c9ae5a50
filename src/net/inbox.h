/* A queue of messages to a loop from any thread: a list, a lock, and an async handle that wakes the
 * loop.
 *
 * Invariants: messages are delivered in the order in which they were queued; each queued message is
 * delivered exactly once, by uvh_inbox_take; after shut none is accepted. The queue does not
 * interpret messages. Called by workers, and by code that sends messages to them. */
#ifndef UVH_NET_INBOX_H
#define UVH_NET_INBOX_H

#include <stdbool.h>

#include <uv.h>

#include "base/list.h"

/* A member of the sender's struct. */
struct uvh_message {
    struct uvh_list link;
    void (*read)(struct uvh_message *message,
                 void *reader); /* `reader`: the owner of the inbox; may free the message */
};

struct uvh_inbox {
    uv_async_t wake;
    uv_mutex_t lock;
    struct uvh_list messages; /* protected by the lock, as is the following */
    bool shut;
};

/* `woken` runs on the loop after messages were queued, and after uvh_inbox_wake. Returns 0 or
 * libuv's code; then nothing is left open. */
int uvh_inbox_open(struct uvh_inbox *inbox, uv_loop_t *loop, uv_async_cb woken);

/* Any thread. False when shut: the caller keeps the message. */
bool uvh_inbox_put(struct uvh_inbox *inbox, struct uvh_message *message);

/* As uvh_inbox_put, on the loop's thread and without waking the loop: the caller arranges for
 * uvh_inbox_take. */
bool uvh_inbox_put_here(struct uvh_inbox *inbox, struct uvh_message *message);

/* Any thread; no effect when shut. */
void uvh_inbox_wake(struct uvh_inbox *inbox);

/* Moves all messages to a list, oldest first; with `shut`, none is accepted from now on. On the
 * loop's thread, as the following functions. */
void uvh_inbox_take(struct uvh_inbox *inbox, struct uvh_list *messages, bool shut);

/* Accepts messages again, after the remaining ones have led to more work. */
void uvh_inbox_reopen(struct uvh_inbox *inbox);

/* Destroys the lock of a shut inbox whose handle is closed. Other threads may call uvh_inbox_put
 * until then, so the owner calls this just before it frees the memory. */
void uvh_inbox_release(struct uvh_inbox *inbox);

#endif
