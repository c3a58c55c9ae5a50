/* Exemplars of the latency histogram: the last request with a sampled trace in each range.
 *
 * Always true: the loop's thread records, any thread may read. Requests without a trace cost
 * nothing. */
#ifndef UVH_SERVER_EXEMPLARS_H
#define UVH_SERVER_EXEMPLARS_H

#include <uvhttp/server.h>

#include "platform/lock.h"

struct uvh_exemplars {
    struct uvh_lock lock;
    uvhttp_exemplar_t items[UVHTTP_EXEMPLARS];
};

void uvh_exemplars_record(struct uvh_exemplars *exemplars, const char *trace_id,
                          uint64_t duration_us, int64_t unix_ms);

/* Replaces those that are older. */
void uvh_exemplars_merge(uvhttp_exemplar_t *into, struct uvh_exemplars *exemplars);

#endif
