/* The thread of a uvhttp_tls_t that checks its files and the expiry of its certificates. */
#ifndef UVH_TLS_WATCH_H
#define UVH_TLS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/tls.h>

#include "platform/pause.h"
#include "platform/thread.h"

struct uvhttp_tls;

struct uvh_tls_watch {
    bool running;
    bool files; /* the files are watched */
    struct uvhttp_tls *tls;
    uvhttp_log_cb log;
    void *log_arg;
    pthread_t thread;
    struct uvh_pause pause;
    /* state of the files whose failed load was reported; 0: none */
    uint64_t failed;
    uint64_t changed;       /* state of the files that failed to load at the last check; 0: none */
    unsigned between;       /* checks from one retry of the failed state to the next ... */
    unsigned left;          /* ... and how many of them are left */
    uint64_t warned_number; /* the generation whose dates were checked last ... */
    int64_t warned_at;      /* ... and when, seconds since 1970 */
};

/* Starts the thread if the configuration needs one.
 * Returns 0, or
 *   a negative errno. */
int uvh_tls_watch_start(struct uvh_tls_watch *watch, struct uvhttp_tls *tls,
                        const uvhttp_tls_options_t *options);

/* Joins the thread. Does nothing without one. */
void uvh_tls_watch_stop(struct uvh_tls_watch *watch);

/* A hash of the state of a configuration's files: differs after one was changed, replaced or
 * removed. Never 0. */
uint64_t uvh_tls_watch_state(const uvhttp_tls_options_t *options);

#endif
