/* Limits how much may be written to one response in one loop iteration.
 *
 * A client on a fast network accepts data at once. A loop of writes then never meets a full socket
 * and does not return to the event loop, so timers and other connections wait. Beyond the budget a
 * write fails with UVHTTP_EFULL as for a full socket, and the drain callback comes in the next
 * iteration. Loop thread only. */
#ifndef UVH_SERVER_WRITE_BUDGET_H
#define UVH_SERVER_WRITE_BUDGET_H

#include "server/loop_stats.h"

enum {
    /* bytes per iteration, as many as are pulled from a source (PULLS_PER_ITERATION): about 0.2 ms
     * of system calls on loopback, so a hundred such connections delay a timer by some 20 ms */
    UVH_WRITE_BUDGET = 1 << 20,
    /* bytes per iteration before filters: compressing takes up to a hundred times as long as
     * sending */
    UVH_WRITE_BUDGET_FILTERED = 1 << 17,
    /* minimum charge per write in bytes, so that a loop of small writes ends, too: after 16,384 */
    UVH_WRITE_BUDGET_MIN_CHARGE = 64,
};

/* Initialize with zeros. */
struct uvh_write_budget {
    uint64_t iteration; /* of the last write */
    size_t taken;       /* bytes */
};

/* True when `most` bytes were written in this iteration. `backlog` bytes may be pending even when
 * the socket is full, so a larger backlog raises the budget. */
static inline bool uvh_write_budget_is_spent(const struct uvh_write_budget *budget,
                                             const struct uvh_loop_stats *loop_stats, size_t most,
                                             size_t backlog)
{
    return budget->iteration == loop_stats->iteration &&
           budget->taken >= (most > backlog ? most : backlog);
}

static inline void uvh_write_budget_take(struct uvh_write_budget *budget,
                                         const struct uvh_loop_stats *loop_stats, size_t size)
{
    if (budget->iteration != loop_stats->iteration)
        *budget = (struct uvh_write_budget){.iteration = loop_stats->iteration};
    budget->taken += size > UVH_WRITE_BUDGET_MIN_CHARGE ? size : UVH_WRITE_BUDGET_MIN_CHARGE;
}

#endif
