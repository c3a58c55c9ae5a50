/* Jobs: long-running work of a response on the server's threads (uvhttp_response_defer and related
 * functions).
 *
 * Each lane has its own threads and queue, so that long work in the heavy lane never delays short
 * work in the quick one. The pools belong to the server and serve all workers. A job references its
 * exchange, and completes on the loop of the exchange's worker. */
#ifndef UVH_SERVER_JOBS_H
#define UVH_SERVER_JOBS_H

#include <stdatomic.h>

#include <uvhttp/response.h>
#include <uvhttp/server.h>

#include "net/thread_pool.h"

struct uvh_exchange;
struct uvh_server;

enum uvh_lane {
    UVH_LANE_QUICK = 0,
    UVH_LANE_HEAVY,
    /* steps of TLS handshakes (handshake_jobs.h); without threads they run on the loops */
    UVH_LANE_HANDSHAKE,
    UVH_LANE_COUNT,
};

struct uvh_jobs {
    struct uvh_thread_pool lanes[UVH_LANE_COUNT];
    atomic_bool open;                        /* the lanes have their threads */
    atomic_bool full_logged[UVH_LANE_COUNT]; /* a full queue was logged */
    atomic_bool send_full_logged;            /* the same for uvh_jobs_defer_send */
};

/* Creates the threads, unless they exist. Called on the thread that listens. Returns 0, or
 * UVHTTP_ENOMEM, libuv's code (UV_EAGAIN: the system allows no further thread). An error is logged,
 * and no thread is left. */
int uvh_jobs_open(struct uvh_server *server);

/* Joins the threads, if there are any. No job may be pending. */
void uvh_jobs_close(struct uvh_server *server);

/* For uvhttp_response_defer_send, before it copies the body. Returns 0, or UVHTTP_EFULL: the heavy
 * lane accepts no job of this response now, which is counted and logged. */
int uvh_jobs_check_send(struct uvh_exchange *exchange);

/* As uvhttp_response_defer_heavy, for a response that is sent without the job after UVHTTP_EFULL.
 */
int uvh_jobs_defer_send(uvhttp_response_t *response, uvhttp_work_cb work, uvhttp_done_cb done,
                        void *arg);

/* Sets the job counters of the lanes. Any thread. */
void uvh_jobs_read_stats(struct uvh_server *server, uvhttp_stats_t *stats);

#endif
