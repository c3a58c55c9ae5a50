/* Durations of exchanges and loop iterations, measured with two clock calls per iteration, not one
 * per request.
 *
 * An iteration starts with its first event and ends when the loop polls again. An exchange that
 * starts and ends in one iteration is counted with the whole iteration's length, since it had to
 * wait for the others in it. Only a longer exchange costs a clock call of its own. Invariant: a
 * worker writes only its own object; uvh_loop_stats_sum_add may read it from another thread. Called
 * by worker, connections and exchanges. */
#ifndef UVH_SERVER_LOOP_STATS_H
#define UVH_SERVER_LOOP_STATS_H

#include <uv.h>

#include <uvhttp/server.h>

#include "base/compiler.h"
#include "base/counter.h"
#include "base/histogram.h"

struct uvh_loop_stats {
    uv_prepare_t wait; /* before the loop polls */
    uv_check_t after;  /* after the events of an iteration */
    /* uv_hrtime at the start of this iteration, nanoseconds; 0: no event yet */
    _Atomic uint64_t began;
    /* latest start of events of other handles; 0: only ours so far */
    _Atomic uint64_t others;
    uint64_t waited;       /* end of the previous iteration */
    uint64_t in_iteration; /* exchanges that started and ended in this iteration */
    /* the thread of the loop, as uvh_loop_stats_thread returns; NULL: not known yet */
    _Atomic(const void *) thread;
    _Atomic uint64_t busy;          /* nanoseconds in iterations */
    _Atomic uint64_t time;          /* nanoseconds in total */
    struct uvh_histogram exchanges; /* microseconds */
    struct uvh_histogram iterations;
    /* Number of the loop iteration, incremented after the events of each poll. */
    uint64_t iteration;
    /* Called at the end, `now`, of an iteration that took `length` nanoseconds; NULL: none. */
    void (*ended)(struct uvh_loop_stats *stats, uint64_t now, uint64_t length);
};

/* Neither handle keeps the loop alive. Returns 0 or libuv's code; the caller closes the handles. */
enum { UVH_LOOP_STATS_HANDLES = 2 };
int uvh_loop_stats_start(struct uvh_loop_stats *stats, uv_loop_t *loop);
void uvh_loop_stats_close(struct uvh_loop_stats *stats, uv_close_cb closed);

/* True on the thread that is in an iteration of this loop, between its first event and the poll. */
bool uvh_loop_stats_in_iteration(const struct uvh_loop_stats *stats);

/* Returns an address that is unique per thread. */
const void *uvh_loop_stats_thread(void);

/* Reads the clock for the first event of an iteration; see uvh_loop_stats_event. */
void uvh_loop_stats_begin_iteration(struct uvh_loop_stats *stats);

/* The start of this iteration, 0: no event yet. */
static inline uint64_t uvh_loop_stats_began(const struct uvh_loop_stats *stats)
{
    return uvh_counter_read(&stats->began);
}

/* The same, also for events of other handles where they are known. Any thread. */
static inline uint64_t uvh_loop_stats_busy_since(const struct uvh_loop_stats *stats)
{
    uint64_t began = uvh_counter_read(&stats->began);
    return began != 0 ? began : uvh_counter_read(&stats->others);
}

/* Records an event of the loop; called before the event is handled. */
static inline void uvh_loop_stats_event(struct uvh_loop_stats *stats)
{
    if (uvh_loop_stats_began(stats) == 0)
        uvh_loop_stats_begin_iteration(stats);
}

/* Records a response to an exchange that started in the iteration `began` (the value of watch->turn
 * then). */
void uvh_loop_stats_longer(struct uvh_loop_stats *stats, uint64_t began);
static inline void uvh_loop_stats_responded(struct uvh_loop_stats *stats, uint64_t began)
{
    if (UVH_LIKELY(began == uvh_loop_stats_began(stats)))
        stats->in_iteration++;
    else
        uvh_loop_stats_longer(stats, began);
}

/* The same in two steps, for callers that need the duration at once: returns microseconds since
 * `began` (0 for 0), with one clock call. */
uint64_t uvh_loop_stats_since(uint64_t began);
void uvh_loop_stats_record(struct uvh_loop_stats *stats, uint64_t microseconds);

/* The sum of several workers. Add each, then report; 15 KB. */
struct uvh_loop_stats_sum {
    struct uvh_histogram exchanges;
    struct uvh_histogram iterations;
    uint64_t busy; /* nanoseconds */
    uint64_t time;
};
void uvh_loop_stats_sum_clear(struct uvh_loop_stats_sum *sum);
void uvh_loop_stats_sum_add(struct uvh_loop_stats_sum *sum, const struct uvh_loop_stats *stats);
void uvh_loop_stats_report(const struct uvh_histogram *histogram, uvhttp_latency_t *latency);
/* Sets the fields of `stats` that are measured here. */
void uvh_loop_stats_sum_report(const struct uvh_loop_stats_sum *sum, uvhttp_stats_t *stats);

#endif
