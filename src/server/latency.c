/* The latency of an interval: the difference of two readings of the histogram. */
#include "server/server.h"

_Static_assert((int)UVHTTP_LATENCY_RANGES == (int)UVH_HISTOGRAM_SIZE, "the same ranges");

int uvhttp_server_read_latency(uvhttp_server_t *view, uvhttp_latency_counts_t *counts)
{
    struct uvh_histogram sum;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    struct uvh_worker *workers = uvh_server_workers(server);
    if (counts == NULL)
        return UVHTTP_EINVAL;
    uvh_histogram_clear(&sum);
    for (size_t i = 0; workers != NULL && i < server->worker_count; i++)
        uvh_histogram_merge(&sum, &workers[i].loop_stats.exchanges);
    counts->sum_us = uvh_histogram_sum(&sum);
    counts->max_us = uvh_histogram_max(&sum);
    for (size_t i = 0; i < UVHTTP_LATENCY_RANGES; i++)
        counts->counts[i] = uvh_counter_read(&sum.counts[i]);
    return 0;
}

/* The maximum of all is that of the interval if it has grown; otherwise the range of the longest
 * duration is known. */
static uint64_t longest(const struct uvh_histogram *difference, uint64_t max_before,
                        uint64_t max_after)
{
    uint64_t most = uvh_histogram_highest(difference);
    return max_after > max_before || max_after < most ? max_after : most;
}

void uvhttp_latency_between(const uvhttp_latency_counts_t *before,
                            const uvhttp_latency_counts_t *after, uvhttp_latency_t *latency)
{
    static const uvhttp_latency_counts_t none;
    struct uvh_histogram difference;
    if (latency == NULL)
        return;
    if (after == NULL)
        after = before = &none;
    if (before == NULL)
        before = &none;
    for (size_t i = 0; i < UVHTTP_LATENCY_RANGES; i++)
        uvh_counter_set(&difference.counts[i], after->counts[i] - before->counts[i]);
    uvh_counter_set(&difference.sum, after->sum_us - before->sum_us);
    uvh_counter_set(&difference.max, longest(&difference, before->max_us, after->max_us));
    uvh_loop_stats_report(&difference, latency);
}
