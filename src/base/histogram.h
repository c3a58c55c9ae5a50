/* How often which duration occurred: counters for ranges that grow with the value, so that
 * percentiles are known to within 1.6 % from microseconds to an hour, in memory of a fixed size.
 * Histograms of several writers are merged by adding.
 *
 * Always true: one thread writes; any thread may read meanwhile and sees a state at most a few
 * values old, with counters that need not be of the same instant. Nothing is allocated, nothing
 * fails. */
#ifndef UVH_BASE_HISTOGRAM_H
#define UVH_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/counter.h"

enum {
    UVH_HISTOGRAM_SUB_BITS = 5, /* each power of two is divided into 32 ranges of equal width */
    /* values from 2^32 on (71 minutes in microseconds) share the last counter */
    UVH_HISTOGRAM_TOP_BIT = 32,
    UVH_HISTOGRAM_SIZE =
        ((UVH_HISTOGRAM_TOP_BIT - UVH_HISTOGRAM_SUB_BITS + 1) << UVH_HISTOGRAM_SUB_BITS) + 1,
};

struct uvh_histogram {
    _Atomic uint64_t sum; /* of the values as given, not of the ranges */
    _Atomic uint64_t max;
    _Atomic uint64_t counts[UVH_HISTOGRAM_SIZE];
};

/* The counter of a value. Below 64 each value has its own; above, the five bits behind the highest
 * one choose. */
static inline size_t uvh_histogram_index(uint64_t value)
{
    if (value < (1U << UVH_HISTOGRAM_SUB_BITS))
        return (size_t)value;
    if (UVH_UNLIKELY(value >> UVH_HISTOGRAM_TOP_BIT != 0))
        return UVH_HISTOGRAM_SIZE - 1;
    unsigned shift = 63 - UVH_HISTOGRAM_SUB_BITS - (unsigned)__builtin_clzll(value);
    return ((size_t)shift << UVH_HISTOGRAM_SUB_BITS) + (size_t)(value >> shift);
}

/* `times` values of one size. */
static inline void uvh_histogram_record(struct uvh_histogram *histogram, uint64_t value,
                                        uint64_t times)
{
    uvh_counter_add(&histogram->counts[uvh_histogram_index(value)], times);
    uvh_counter_add(&histogram->sum, value * times);
    if (UVH_UNLIKELY(value > uvh_counter_read(&histogram->max)))
        uvh_counter_set(&histogram->max, value);
}

/* Empty. The writer's thread. */
void uvh_histogram_clear(struct uvh_histogram *histogram);

/* Adds what `from` holds; `into` belongs to the caller. */
void uvh_histogram_merge(struct uvh_histogram *into, const struct uvh_histogram *from);

uint64_t uvh_histogram_count(const struct uvh_histogram *histogram);
uint64_t uvh_histogram_sum(const struct uvh_histogram *histogram);
uint64_t uvh_histogram_max(const struct uvh_histogram *histogram);

/* The value that `millionths` of all values do not exceed (500000: the median, 999000: p99.9), as
 * the middle of its range; never more than the maximum. 0 when nothing was recorded. */
uint64_t uvh_histogram_percentile(const struct uvh_histogram *histogram, uint64_t millionths);

/* How many values are smaller than `bound`, exactly when that is a power of two (or below 64, or
 * the edge of a range). */
uint64_t uvh_histogram_below(const struct uvh_histogram *histogram, uint64_t bound);

#endif
