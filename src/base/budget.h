/* A byte budget shared by several threads: bytes are taken before memory is allocated and given
 * back after it is freed. A budget may be part of a larger one.
 *
 * Always true: the bytes taken never exceed `limit`, for a budget and for every budget it is part
 * of, also with concurrent callers. */
#ifndef UVH_BASE_BUDGET_H
#define UVH_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct uvh_budget {
    atomic_size_t taken;
    size_t limit;
    struct uvh_budget *whole; /* the larger budget, from which the same bytes are taken; or NULL */
};

/* Takes from this budget only; see uvh_budget_take. */
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

/* Returns false, and takes nothing, if fewer bytes are left. */
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
