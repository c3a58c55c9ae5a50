/* How long exchanges and loop turns take, measured with two clock calls per loop turn, not one per
 * request.
 *
 * A turn begins with its first event and ends when the loop waits again. An exchange that begins
 * and ends in one turn is given the whole turn's length: it had to wait for the others in it,
 * before or behind it. Only an exchange that lasts longer costs a clock call of its own. Always
 * true: a worker writes only its own; uvh_watch_sum_add may read it from another thread. Called by
 * worker, connections and exchanges. */
#ifndef UVH_SERVER_WATCH_H
#define UVH_SERVER_WATCH_H

#include <uv.h>

#include <uvhttp/server.h>

#include "base/compiler.h"
#include "base/histogram.h"

struct uvh_watch {
    uv_prepare_t wait; /* the loop is about to wait */
    uv_check_t after;  /* the events of a turn are over */
    /* nanoseconds of uv_hrtime when this turn began; 0: nothing has happened in it yet */
    uint64_t turn;
    /* when somebody else's events began at the latest; 0: there was none but ours */
    uint64_t others;
    uint64_t waited;  /* when the turn before ended */
    uint64_t in_turn; /* exchanges that began and ended in this turn */
    _Atomic(const void *)
        /* the one that runs the loop, as uvh_watch_thread says; NULL: not known yet */
        thread;
    _Atomic uint64_t busy;          /* nanoseconds in turns */
    _Atomic uint64_t time;          /* nanoseconds altogether */
    struct uvh_histogram exchanges; /* microseconds */
    struct uvh_histogram turns;
    /* Number of the loop iteration: one more after the events of each wait. */
    uint64_t iteration;
};

/* Neither handle keeps the loop alive. 0 or libuv's code; closing the handles is the caller's. */
enum { UVH_WATCH_HANDLES = 2 };
int uvh_watch_start(struct uvh_watch *watch, uv_loop_t *loop);
void uvh_watch_close(struct uvh_watch *watch, uv_close_cb closed);

/* True on the thread that is in a turn of this loop, between its first event and the wait. */
bool uvh_watch_in_turn(const struct uvh_watch *watch);

/* Something that is different for every thread. */
const void *uvh_watch_thread(void);

/* Reads the clock for the first event of a turn; see uvh_watch_event. */
void uvh_watch_begin_turn(struct uvh_watch *watch);

/* An event of the loop is being looked at: to be called before anything is done about it. */
static inline void uvh_watch_event(struct uvh_watch *watch)
{
    if (watch->turn == 0)
        uvh_watch_begin_turn(watch);
}

/* An exchange that began in the turn `began` (the value of watch->turn then) has been answered. */
void uvh_watch_longer(struct uvh_watch *watch, uint64_t began);
static inline void uvh_watch_answered(struct uvh_watch *watch, uint64_t began)
{
    if (UVH_LIKELY(began == watch->turn))
        watch->in_turn++;
    else
        uvh_watch_longer(watch, began);
}

/* The same in two steps for who needs the duration at once: microseconds since `began` (0 for 0),
 * for a clock call. */
uint64_t uvh_watch_since(uint64_t began);
void uvh_watch_record(struct uvh_watch *watch, uint64_t microseconds);

/* What several workers have measured. Add each, then report; 15 KB. */
struct uvh_watch_sum {
    struct uvh_histogram exchanges;
    struct uvh_histogram turns;
    uint64_t busy; /* nanoseconds */
    uint64_t time;
};
void uvh_watch_sum_clear(struct uvh_watch_sum *sum);
void uvh_watch_sum_add(struct uvh_watch_sum *sum, const struct uvh_watch *watch);
/* Sets the fields of `stats` that come from here. */
void uvh_watch_sum_report(const struct uvh_watch_sum *sum, uvhttp_stats_t *stats);

#endif
