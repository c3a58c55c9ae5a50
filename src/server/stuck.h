/* The watcher of a server's loops: a thread that logs when a worker's loop does not run for longer
 * than config->stuck_loop_ms, and when it runs again.
 *
 * It reads atomic variables of the workers, which set them anyway, or with one relaxed store for
 * each handler that runs. So a worker that blocks for ever is reported, too. */
#ifndef UVH_SERVER_STUCK_H
#define UVH_SERVER_STUCK_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

struct uvh_server;

/* Of a loop; used by the watcher only. */
struct uvh_stuck_loop {
    uint64_t reported; /* when the iteration began that was reported; 0: none */
    uint64_t since;    /* the same, but not before the process was resumed */
};

enum uvh_stuck_event {
    UVH_STUCK_NONE = 0,
    UVH_STUCK_BEGINS, /* has not run for `*duration` */
    UVH_STUCK_ENDS,   /* runs again after `*duration` */
};

/* Times of a check, in nanoseconds of one clock. */
struct uvh_stuck_times {
    uint64_t now;
    uint64_t resumed; /* the process was paused until then; 0: never */
    uint64_t limit;
};

/* Compares a loop with the last check. `began`: the start of its iteration, 0: it waits for
 * events. */
enum uvh_stuck_event uvh_stuck_check(struct uvh_stuck_loop *loop, uint64_t began,
                                     const struct uvh_stuck_times *times, uint64_t *duration);

/* A member of the server; zeroed. */
struct uvh_stuck_watcher {
    uv_thread_t thread;
    uv_mutex_t lock;
    uv_cond_t wake;
    bool ending;  /* under the lock */
    bool running; /* the members above exist */
};

/* Starts the watcher if stuck_loop_ms is not 0 and it does not run. Returns 0 or libuv's code,
 * logged. */
int uvh_stuck_begin(struct uvh_server *server);

/* Ends it, if it runs. */
void uvh_stuck_end(struct uvh_server *server);

#endif
