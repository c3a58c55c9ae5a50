/* See exemplars.h. */
#include "server/exemplars.h"

#include <stdio.h>

enum { FIRST_BOUND_US = 64 };

void uvh_exemplars_record(struct uvh_exemplars *exemplars, const char *trace_id,
                          uint64_t duration_us, int64_t unix_ms)
{
    size_t i = 0;
    while (i < UVHTTP_LATENCY_BOUNDS && duration_us >= (uint64_t)FIRST_BOUND_US << i)
        i++;
    uvhttp_exemplar_t *item = &exemplars->items[i];
    uvh_lock_acquire(&exemplars->lock);
    snprintf(item->trace_id, sizeof(item->trace_id), "%s", trace_id);
    item->duration_us = duration_us;
    item->unix_ms = unix_ms;
    uvh_lock_release(&exemplars->lock);
}

void uvh_exemplars_merge(uvhttp_exemplar_t *into, struct uvh_exemplars *exemplars)
{
    uvh_lock_acquire(&exemplars->lock);
    for (size_t i = 0; i < UVHTTP_EXEMPLARS; i++) {
        if (exemplars->items[i].unix_ms > into[i].unix_ms)
            into[i] = exemplars->items[i];
    }
    uvh_lock_release(&exemplars->lock);
}
