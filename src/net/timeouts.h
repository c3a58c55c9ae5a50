/* Timeouts of one length as lists ordered by deadline: arming, re-arming and cancelling are O(1),
 * and no connection owns a timer.
 *
 * Invariants: all members of a list have the same timeout, and the clock is monotonic, so the first
 * member is the next to expire. A member is in exactly one list or in none. Time is an argument
 * (milliseconds of the loop's clock). */
#ifndef UVH_NET_TIMEOUTS_H
#define UVH_NET_TIMEOUTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct uvh_timeout {
    struct uvh_list link;
    uint64_t deadline;
};

struct uvh_timeout_list {
    struct uvh_list members;
    uint64_t length_ms; /* UVH_TIMEOUT_NEVER: members never expire */
};

#define UVH_TIMEOUT_NEVER UINT64_MAX

/* Lists of a few lengths. */
struct uvh_timeout_lengths {
    struct uvh_timeout_lengths *next; /* those that were added before */
    struct uvh_timeout_list *lists;
    size_t count;
};

/* Returns the list of a length, which must have been added. */
static inline struct uvh_timeout_list *
uvh_timeout_lengths_find(const struct uvh_timeout_lengths *lengths, uint64_t length_ms)
{
    size_t i = 0; /* a linear search: mostly one or two lists */
    while (i == lengths->count || lengths->lists[i].length_ms != length_ms) {
        if (i < lengths->count) {
            i++;
        } else {
            lengths = lengths->next;
            i = 0;
        }
    }
    return &lengths->lists[i];
}

/* Adds a list to the first of these unless there is one of that length. The caller has reserved the
 * memory. */
void uvh_timeout_lengths_add(struct uvh_timeout_lengths *lengths, uint64_t length_ms);

static inline void uvh_timeout_list_init(struct uvh_timeout_list *list, uint64_t length_ms)
{
    uvh_list_init(&list->members);
    list->length_ms = length_ms;
}

static inline void uvh_timeout_init(struct uvh_timeout *timeout)
{
    uvh_list_init(&timeout->link);
}

/* Moves the timeout to the end of this list, from any list it was in, with a new deadline. */
static inline void uvh_timeout_arm(struct uvh_timeout_list *list, struct uvh_timeout *timeout,
                                   uint64_t now)
{
    timeout->deadline =
        list->length_ms == UVH_TIMEOUT_NEVER ? UVH_TIMEOUT_NEVER : now + list->length_ms;
    uvh_list_remove(&timeout->link);
    uvh_list_append(&list->members, &timeout->link);
}

static inline void uvh_timeout_cancel(struct uvh_timeout *timeout)
{
    uvh_list_remove(&timeout->link);
}

/* The first member, or NULL. */
struct uvh_timeout *uvh_timeout_first(struct uvh_timeout_list *list);

/* Returns the first expired member, or NULL. It stays in the list: the caller re-arms or cancels
 * it. */
struct uvh_timeout *uvh_timeout_expired(struct uvh_timeout_list *list, uint64_t now);

/* Lengths up to 2^31 ms are rounded up to one of these steps, so that there are few lists: all
 * lengths up to 16, then eight steps per power of two, which rounds up by less than an eighth. */
enum { UVH_TIMEOUT_STEPS = 232, UVH_TIMEOUT_STEP_FIRST_BITS = 4 };
#define UVH_TIMEOUT_STEP_MOST ((uint32_t)1 << 31)

/* Returns the step of a length of at least 1; and the length of a step. */
size_t uvh_timeout_step(uint32_t length_ms);
uint32_t uvh_timeout_step_length(size_t step);

#endif
