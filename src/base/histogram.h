/* Histogram of durations with ranges that grow with the value: percentiles have an error of at most
 * 1.6 % from microseconds to an hour, in memory of a fixed size. Histograms of several writers are
 * merged by adding.
 *
 * Always true: one thread writes. Any thread may read meanwhile; it may miss the last few values,
 * and counters may be of slightly different times. Nothing allocates, nothing fails. */
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
    _Atomic uint64_t sum; /* exact sum, not rounded to ranges */
    _Atomic uint64_t max;
    _Atomic uint64_t counts[UVH_HISTOGRAM_SIZE];
};

/* The counter of a value. Each value below 64 has its own; above, the five bits after the highest
 * set bit select it. */
static inline size_t uvh_histogram_index(uint64_t value)
{
    if (value < (1U << UVH_HISTOGRAM_SUB_BITS))
        return (size_t)value;
    if (UVH_UNLIKELY(value >> UVH_HISTOGRAM_TOP_BIT != 0))
        return UVH_HISTOGRAM_SIZE - 1;
    unsigned shift = 63 - UVH_HISTOGRAM_SUB_BITS - (unsigned)__builtin_clzll(value);
    return ((size_t)shift << UVH_HISTOGRAM_SUB_BITS) + (size_t)(value >> shift);
}

/* Records one value `times` times. */
static inline void uvh_histogram_record(struct uvh_histogram *histogram, uint64_t value,
                                        uint64_t times)
{
    uvh_counter_add(&histogram->counts[uvh_histogram_index(value)], times);
    uvh_counter_add(&histogram->sum, value * times);
    if (UVH_UNLIKELY(value > uvh_counter_read(&histogram->max)))
        uvh_counter_set(&histogram->max, value);
}

/* Clears all counters. Writer's thread only. */
void uvh_histogram_clear(struct uvh_histogram *histogram);

/* Adds the counts of `from`; the caller owns `into`. */
void uvh_histogram_merge(struct uvh_histogram *into, const struct uvh_histogram *from);

uint64_t uvh_histogram_count(const struct uvh_histogram *histogram);
uint64_t uvh_histogram_sum(const struct uvh_histogram *histogram);
uint64_t uvh_histogram_max(const struct uvh_histogram *histogram);

/* The largest value of the highest range that has one; UINT64_MAX for the last range, 0 if the
 * histogram is empty. */
uint64_t uvh_histogram_highest(const struct uvh_histogram *histogram);

/* The value that `millionths` of all values do not exceed (500000: the median, 999000: p99.9), as
 * the middle of its range and at most the maximum. 0 if the histogram is empty. */
uint64_t uvh_histogram_percentile(const struct uvh_histogram *histogram, uint64_t millionths);

/* How many values are smaller than `bound`: exact if that is a power of two, below 64, or the limit
 * of a range. */
uint64_t uvh_histogram_below(const struct uvh_histogram *histogram, uint64_t bound);

#endif
