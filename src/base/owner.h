/* The owner thread of an object without a lock: one thread at a time may use it. Debug builds check
 * this; in others it compiles to nothing.
 *
 * A new object has no owner. The first thread that uses it becomes the owner, and every further use
 * asserts that it is on that thread, so an object may be created on one thread and used on another.
 * To move a used object to another thread, call uvh_owner_hand_over after the old thread's last use
 * and before the new thread's first: before sending a message to the new thread, or after joining
 * the old one. */
#ifndef UVH_BASE_OWNER_H
#define UVH_BASE_OWNER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(UVH_DEBUG_CHECKS)

/* Zeroed: no owner. The memory order is relaxed, so that ThreadSanitizer still detects races. */
struct uvh_owner {
    const void *_Atomic thread;
};

/* A pointer that is unique among the running threads. */
const void *uvh_owner_this_thread(void);

/* False if another thread owns the object and has not handed it over. */
static inline bool uvh_owner_is_here(struct uvh_owner *owner)
{
    const void *thread = NULL;
    const void *here = uvh_owner_this_thread();
    return atomic_compare_exchange_strong_explicit(&owner->thread, &thread, here,
                                                   memory_order_relaxed, memory_order_relaxed) ||
           thread == here;
}

static inline void uvh_owner_hand_over(struct uvh_owner *owner)
{
    atomic_store_explicit(&owner->thread, NULL, memory_order_relaxed);
}

/* A macro, so that the assertion reports the caller's line. */
#define uvh_owner_check(owner) assert(uvh_owner_is_here(owner))

#else

struct uvh_owner { /* a compiler extension: has no size */
};

static inline void uvh_owner_hand_over(struct uvh_owner *owner)
{
    (void)owner;
}

static inline void uvh_owner_check(struct uvh_owner *owner)
{
    (void)owner;
}

#endif

#endif
