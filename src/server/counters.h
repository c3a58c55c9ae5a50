/* The counters of a worker, as in uvhttp_stats_t. Its own thread writes, any thread may read
 * (base/counter.h). */
#ifndef UVH_SERVER_COUNTERS_H
#define UVH_SERVER_COUNTERS_H

#include "base/counter.h"

/* Each is a field of the same name in uvhttp_stats_t. stuck_loops is written by the watcher
 * (stuck.h) only. */
#define UVH_COUNTERS(X)     \
    X(total_connections)    \
    X(rejected_connections) \
    X(total_requests)       \
    X(shed_requests)        \
    X(http2_connections)    \
    X(active_http2)         \
    X(http2_requests)       \
    X(http2_refused)        \
    X(http2_errors)         \
    X(early_requests)       \
    X(responses_1xx)        \
    X(responses_2xx)        \
    X(responses_3xx)        \
    X(responses_4xx)        \
    X(responses_5xx)        \
    X(parse_errors)         \
    X(timeouts)             \
    X(aborted_exchanges)    \
    X(cache_hits)           \
    X(cache_misses)         \
    X(stuck_loops)

struct uvh_counters {
#define UVH_COUNTER_FIELD(name) _Atomic uint64_t name;
    UVH_COUNTERS(UVH_COUNTER_FIELD)
#undef UVH_COUNTER_FIELD
};

/* Counts a response of that status when it begins. */
static inline void uvh_counters_response(struct uvh_counters *counters, int status)
{
    if (status < 200)
        uvh_counter_add(&counters->responses_1xx, 1);
    else if (status < 300)
        uvh_counter_add(&counters->responses_2xx, 1);
    else if (status < 400)
        uvh_counter_add(&counters->responses_3xx, 1);
    else if (status < 500)
        uvh_counter_add(&counters->responses_4xx, 1);
    else
        uvh_counter_add(&counters->responses_5xx, 1);
}

#endif
