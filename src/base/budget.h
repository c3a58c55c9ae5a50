/* A number of bytes that many may share, on several threads: taken before memory is, given back behind it.
 *
 * Always true: never more than `limit` are taken, whatever happens at the same time. */
#ifndef UVH_BASE_BUDGET_H
#define UVH_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct uvh_budget {
    atomic_size_t taken;
    size_t limit;
};

/* False when so much is not left; then nothing was taken. */
static inline bool uvh_budget_take(struct uvh_budget *budget, size_t bytes)
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
    atomic_fetch_sub_explicit(&budget->taken, bytes, memory_order_relaxed);
}

#endif
