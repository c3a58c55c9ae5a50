/* Counters that one thread writes and any thread may read meanwhile. Adding is a plain load and a
 * plain store, which cost what they cost for a number that nobody else looks at; a reader sees
 * every value at most a moment old. */
#ifndef UVH_BASE_COUNTER_H
#define UVH_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* The writer's thread. */
static inline void uvh_counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + value, memory_order_relaxed);
}

/* The same downwards, for how many of something there are now. */
static inline void uvh_counter_subtract(_Atomic uint64_t *counter, uint64_t value)
{
    uvh_counter_add(counter, (uint64_t)0 - value);
}

static inline void uvh_counter_set(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

/* Any thread. */
static inline uint64_t uvh_counter_read(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)counter, memory_order_relaxed);
}

#endif
