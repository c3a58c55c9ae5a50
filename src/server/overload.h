/* The overload guard of a worker: decides which requests get a 503 at once.
 *
 * The delay of requests is observed in windows of `interval`, and of a quarter of it while requests
 * are shed. If even the smallest delay of a window is above `target` and the loop was busy all the
 * time, a queue persists: the worker is overloaded (CoDel, RFC 8289). From then on a part of the
 * requests is shed, such that the others take SHARE of the time of the loop, and less while the
 * delay is above the target. It ends when all requests would fit.
 *
 * Without clock and sockets: time is an argument, in nanoseconds of any clock. Called by shed.c on
 * the worker's thread. */
#ifndef UVH_SERVER_OVERLOAD_H
#define UVH_SERVER_OVERLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* The requests of a period, for the log. */
struct uvh_overload_counts {
    uint64_t requests;
    uint64_t shed;
    uint64_t duration; /* nanoseconds */
};

/* An iteration of the loop. */
struct uvh_overload_iteration {
    uint64_t end;    /* the time */
    uint64_t length; /* nanoseconds from its first event to its end */
    uint32_t events; /* sockets that had something to do; requests that began count separately */
    uint64_t waited; /* nanoseconds that the first of them is known to have waited before; or 0 */
};

/* What to log after an iteration. */
enum uvh_overload_line {
    UVH_OVERLOAD_NO_LINE = 0,
    UVH_OVERLOAD_SHEDDING, /* since the last line: `counts` */
    UVH_OVERLOAD_OVER,     /* of the whole overload: `counts` */
};

enum { UVH_OVERLOAD_ALL = 1 << 16 };

struct uvh_overload {
    uint64_t target; /* nanoseconds, as all times */
    uint64_t interval;
    uint32_t random;
    uint32_t shed_part; /* of UVH_OVERLOAD_ALL requests; 0: not overloaded */
    uint64_t load;      /* what the requests would take, in thousandths of the loop's time */
    uint64_t cost;      /* time of the loop for an admitted request */
    uint64_t ended;     /* the last iteration */
    uint64_t delay;     /* the smallest one of the last window */

    /* the current window */
    uint64_t window_began;
    uint64_t busy;
    uint64_t least_delay;
    uint64_t requests, admitted;
    uint64_t requests_before; /* of the current iteration */

    /* for the log */
    uint64_t next_line_at;
    bool logged; /* the current overload */
    struct uvh_overload_counts since_line, since_begin;
    struct uvh_overload_counts counts; /* of the line that uvh_overload_add_iteration returned */
};

/* `target` and `interval` are not 0. */
void uvh_overload_init(struct uvh_overload *overload, uint64_t target, uint64_t interval,
                       uint32_t random);

/* For the next function: requests are being shed. `exempt`: never this one. */
bool uvh_overload_admits_some(struct uvh_overload *overload, uint64_t now, bool exempt);

/* A request begins at `now`, the start of the iteration: true if it is admitted. */
static inline bool uvh_overload_admits(struct uvh_overload *overload, uint64_t now, bool exempt)
{
    overload->requests++;
    if (UVH_UNLIKELY(overload->shed_part > 0) && !uvh_overload_admits_some(overload, now, exempt))
        return false;
    overload->admitted++;
    return true;
}

/* Called at the end of each iteration with an event. */
enum uvh_overload_line uvh_overload_add_iteration(struct uvh_overload *overload,
                                                  const struct uvh_overload_iteration *iteration);

#endif
