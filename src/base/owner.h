/* Which thread may use an object that has no lock: one at a time, its owner. Checked in debug
 * builds; in others all of this compiles to nothing.
 *
 * An object begins without an owner, and the first thread that uses it becomes that; every further
 * use asserts that it is on the same thread. So an object may be made on one thread and used on
 * another. Whoever passes on one that was in use calls uvh_owner_hand_over, when the old thread no
 * longer touches it and before the new one may: in front of a message to the other thread, or
 * behind its join. */
#ifndef UVH_BASE_OWNER_H
#define UVH_BASE_OWNER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(UVH_DEBUG_CHECKS)

/* Zeroed: nobody's. The order of memory is relaxed, so that it hides no race from
 * ThreadSanitizer. */
struct uvh_owner {
    const void *_Atomic thread;
};

/* What no other thread that runs at the moment has. */
const void *uvh_owner_this_thread(void);

/* False when another thread has used the object and has not handed it over. */
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

/* A macro, so that the line that is told is the user's. */
#define uvh_owner_check(owner) assert(uvh_owner_is_here(owner))

#else

struct uvh_owner { /* an extension of the compilers: it has no size */
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
