/* Letters to a loop from any thread: a list behind a lock, and a handle that wakes the loop.
 *
 * Always true: letters come out in the order in which they were put in; one that was put in
 * successfully comes out exactly once, by uvh_inbox_take or uvh_inbox_shut; once it is shut nothing
 * goes in any more. What a letter says is its own business. Called by workers, and by who writes to
 * them. */
#ifndef UVH_NET_INBOX_H
#define UVH_NET_INBOX_H

#include <stdbool.h>

#include <uv.h>

/* Stands in the memory of what is sent. */
struct uvh_letter {
    struct uvh_letter *next;
    void (*read)(struct uvh_letter *letter,
                 void *reader); /* which is whoever has the inbox; may free the letter */
};

struct uvh_inbox {
    uv_async_t wake;
    uv_mutex_t lock;
    struct uvh_letter *first; /* the following are under the lock */
    struct uvh_letter *last;
    bool shut;
};

/* `woken` runs on the loop after letters were put in, and after uvh_inbox_wake. 0 or libuv's code,
 * and then nothing is left open. */
int uvh_inbox_open(struct uvh_inbox *inbox, uv_loop_t *loop, uv_async_cb woken);

/* Any thread. False when it is shut: the letter stays the caller's. */
bool uvh_inbox_put(struct uvh_inbox *inbox, struct uvh_letter *letter);

/* The same on the loop's thread, which is not woken: the caller has the letters taken. */
bool uvh_inbox_put_here(struct uvh_inbox *inbox, struct uvh_letter *letter);

/* Any thread; does nothing when it is shut. */
void uvh_inbox_wake(struct uvh_inbox *inbox);

/* All letters, the oldest first; NULL when there are none. The loop's thread, as the following. */
struct uvh_letter *uvh_inbox_take(struct uvh_inbox *inbox);

/* Takes the last letters; from now on none goes in. May be called again. */
struct uvh_letter *uvh_inbox_shut(struct uvh_inbox *inbox);

/* Letters go in again, since what the last ones said is not the end. */
void uvh_inbox_reopen(struct uvh_inbox *inbox);

/* Shut, and its handle closed: gives back the lock. Other threads may have to be told by then that
 * it is shut, so it comes with the memory. */
void uvh_inbox_release(struct uvh_inbox *inbox);

#endif
