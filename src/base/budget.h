/* A number of bytes that many may share, on several threads: taken before memory is, given back
 * behind it. One may be a part of another.
 *
 * Always true: never more than `limit` are taken, whatever happens at the same time, of a budget
 * and of all that it is a part of. */
#ifndef UVH_BASE_BUDGET_H
#define UVH_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct uvh_budget {
    atomic_size_t taken;
    size_t limit;
    struct uvh_budget
        *whole; /* of which this is a part: what is taken here is taken there, too. NULL: none */
};

/* Of one alone; see uvh_budget_take. */
static inline bool uvh_budget_take_here(struct uvh_budget *budget, size_t bytes)
{
    size_t taken = atomic_load_explicit(&budget->taken, memory_order_relaxed);
    do {
        if (bytes > budget->limit - taken)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&budget->taken, &taken, taken + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static inline void uvh_budget_give(struct uvh_budget *budget, size_t bytes)
{
    for (; budget != NULL; budget = budget->whole)
        atomic_fetch_sub_explicit(&budget->taken, bytes, memory_order_relaxed);
}

/* False when so much is not left; then nothing was taken. */
static inline bool uvh_budget_take(struct uvh_budget *budget, size_t bytes)
{
    for (struct uvh_budget *one = budget; one != NULL; one = one->whole) {
        if (uvh_budget_take_here(one, bytes))
            continue;
        for (; budget != one; budget = budget->whole)
            atomic_fetch_sub_explicit(&budget->taken, bytes, memory_order_relaxed);
        return false;
    }
    return true;
}

#endif
