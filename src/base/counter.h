/* Counters with one writer thread; any thread may read them. Adding is a plain load and a plain
 * store, as cheap as for a variable that is not shared. A reader may see a slightly old value. */
#ifndef UVH_BASE_COUNTER_H
#define UVH_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* Writer's thread only. */
static inline void uvh_counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + value, memory_order_relaxed);
}

/* Subtracts, for gauges. Writer's thread only. */
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
