/* Reading histograms: rare, so it may iterate over all counters. */
#include "base/histogram.h"

/* The smallest value of a counter's range. */
static uint64_t range_begin(size_t index)
{
    const size_t ranges = (size_t)1 << UVH_HISTOGRAM_SUB_BITS;
    if (index < ranges)
        return index;
    unsigned shift = (unsigned)(index >> UVH_HISTOGRAM_SUB_BITS) - 1;
    return (uint64_t)(ranges + (index & (ranges - 1))) << shift;
}

void uvh_histogram_clear(struct uvh_histogram *histogram)
{
    uvh_counter_set(&histogram->sum, 0);
    uvh_counter_set(&histogram->max, 0);
    for (size_t i = 0; i < UVH_HISTOGRAM_SIZE; i++)
        uvh_counter_set(&histogram->counts[i], 0);
}

void uvh_histogram_merge(struct uvh_histogram *into, const struct uvh_histogram *from)
{
    uint64_t max = uvh_counter_read(&from->max);
    uvh_counter_add(&into->sum, uvh_counter_read(&from->sum));
    if (max > uvh_counter_read(&into->max))
        uvh_counter_set(&into->max, max);
    for (size_t i = 0; i < UVH_HISTOGRAM_SIZE; i++)
        uvh_counter_add(&into->counts[i], uvh_counter_read(&from->counts[i]));
}

uint64_t uvh_histogram_count(const struct uvh_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < UVH_HISTOGRAM_SIZE; i++)
        count += uvh_counter_read(&histogram->counts[i]);
    return count;
}

uint64_t uvh_histogram_sum(const struct uvh_histogram *histogram)
{
    return uvh_counter_read(&histogram->sum);
}

uint64_t uvh_histogram_max(const struct uvh_histogram *histogram)
{
    return uvh_counter_read(&histogram->max);
}

uint64_t uvh_histogram_highest(const struct uvh_histogram *histogram)
{
    size_t end = UVH_HISTOGRAM_SIZE;
    while (end > 0 && uvh_counter_read(&histogram->counts[end - 1]) == 0)
        end--;
    if (end == UVH_HISTOGRAM_SIZE)
        return UINT64_MAX;
    return end == 0 ? 0 : range_begin(end) - 1;
}

/* ceil(count * millionths / 10^6), at least 1, without overflow. */
static uint64_t rank_of(uint64_t count, uint64_t millionths)
{
    const uint64_t whole = 1000000;
    if (millionths > whole)
        millionths = whole;
    uint64_t rank = count / whole * millionths + (count % whole * millionths + whole - 1) / whole;
    return rank == 0 ? 1 : rank;
}

uint64_t uvh_histogram_percentile(const struct uvh_histogram *histogram, uint64_t millionths)
{
    uint64_t count = uvh_histogram_count(histogram);
    uint64_t max = uvh_histogram_max(histogram);
    if (count == 0)
        return 0;
    uint64_t rank = rank_of(count, millionths);
    /* Values in the last counter, and values recorded after `count` was read, count as the
     * maximum. */
    for (size_t i = 0; i < UVH_HISTOGRAM_SIZE - 1; i++) {
        uint64_t here = uvh_counter_read(&histogram->counts[i]);
        if (here < rank) {
            rank -= here;
            continue;
        }
        uint64_t begin = range_begin(i);
        uint64_t middle = begin + (range_begin(i + 1) - begin) / 2;
        return middle < max ? middle : max;
    }
    return max;
}

uint64_t uvh_histogram_below(const struct uvh_histogram *histogram, uint64_t bound)
{
    uint64_t count = 0;
    size_t end = uvh_histogram_index(bound);
    for (size_t i = 0; i < end; i++)
        count += uvh_counter_read(&histogram->counts[i]);
    return count;
}
