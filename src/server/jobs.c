/* A job is allocated in its exchange's arena and reused, so that a body may use any number of jobs.
 * Its completion message, to the exchange's worker, is a member of the job: nothing can fail once
 * the job is queued. */
#include "server/jobs.h"

#include <uvhttp/response.h>

#include "base/compiler.h"
#include "server/blocking.h"
#include "server/exchange.h"
#include "server/job.h"
#include "server/server.h"

enum { MAX_AUTOMATIC_THREADS = 4 }; /* of the heavy lane */

struct uvh_deferred {
    struct uvh_job job;
    struct uvh_exchange *exchange;
    struct uvh_deferred *next; /* in the list of spare jobs */
    uvhttp_work_cb run;
    uvhttp_done_cb done; /* NULL for a cleanup */
    void *arg;
    bool heavy; /* counted in exchange->heavy_jobs */
};

static const char *const queue_names[UVH_LANE_COUNT] = {
    [UVH_LANE_QUICK] = "quick_queue",
    [UVH_LANE_HEAVY] = "heavy_queue",
};

static void run(struct uvh_job *job)
{
    struct uvh_deferred *deferred = UVH_CONTAINER_OF(job, struct uvh_deferred, job);
    deferred->run(deferred->arg);
}

static void keep_spare(struct uvh_exchange *exchange, struct uvh_deferred *deferred)
{
    deferred->next = exchange->spare_jobs;
    exchange->spare_jobs = deferred;
}

static void complete(struct uvh_job *job)
{
    struct uvh_deferred *deferred = UVH_CONTAINER_OF(job, struct uvh_deferred, job);
    struct uvh_exchange *exchange = deferred->exchange;
    uvhttp_done_cb done = deferred->done;
    void *arg = deferred->arg;
    exchange->heavy_jobs -= deferred->heavy;
    keep_spare(exchange, deferred);
    if (done != NULL) {
        int result = done(&exchange->response, arg);
        /* There is no next handler to decline to. */
        uvh_exchange_conclude(exchange, result == UVHTTP_DECLINED ? UVHTTP_EINVAL : result);
    }
    uvh_exchange_unref(exchange);
}

/* What clients get instead. Logged once, until the queue is at most half full. */
static void log_full(struct uvh_server *server, enum uvh_lane lane, atomic_bool *logged,
                     const char *effect)
{
    if (!atomic_exchange(logged, true))
        uvh_server_log(server, UVHTTP_LOG_WARNING, "the queue is full (%zu jobs pending): %s (%s)",
                       server->jobs.lanes[lane].most_pending, effect, queue_names[lane]);
}

/* A static file whose compression is rejected is sent as it is. */
static void note_full(struct uvh_server *server, enum uvh_lane lane)
{
    log_full(server, lane, &server->jobs.full_logged[lane],
             lane == UVH_LANE_HEAVY ? "responding with 503, or with uncompressed files"
                                    : "responding with 503");
}

static void note_send_full(struct uvh_server *server)
{
    log_full(server, UVH_LANE_HEAVY, &server->jobs.send_full_logged,
             "sending large bodies without compression or other work");
}

static void note_free(struct uvh_server *server, enum uvh_lane lane)
{
    struct uvh_jobs *jobs = &server->jobs;
    struct uvh_thread_pool *pool = &jobs->lanes[lane];
    bool send_logged = lane == UVH_LANE_HEAVY &&
                       atomic_load_explicit(&jobs->send_full_logged, memory_order_relaxed);
    bool logged = atomic_load_explicit(&jobs->full_logged[lane], memory_order_relaxed);
    if (!UVH_UNLIKELY(logged || send_logged) ||
        uvh_thread_pool_read(pool).pending > pool->most_pending / 2)
        return;
    atomic_store(&jobs->full_logged[lane], false);
    if (lane == UVH_LANE_HEAVY)
        atomic_store(&jobs->send_full_logged, false);
}

/* The queue limit applies to new responses only. A response that has had a job in this lane, or has
 * sent a part of its body, is not aborted. So an exchange is rejected at most once per lane. */
static bool is_admitted(const struct uvh_exchange *exchange, enum uvh_lane lane)
{
    return (exchange->lanes & (1u << lane)) != 0 || exchange->response.state == UVH_RESPONSE_BEGUN;
}

/* Queues a job, which references the exchange. `done` NULL: a cleanup, which no limit rejects.
 * Returns 0, or UVHTTP_EFULL, UVHTTP_ENOMEM. */
static int start_job(struct uvh_exchange *exchange, enum uvh_lane lane, uvhttp_work_cb work,
                     uvhttp_done_cb done, void *arg)
{
    struct uvh_server *server = exchange->worker->server;
    struct uvh_thread_pool *pool = &server->jobs.lanes[lane];
    struct uvh_deferred *deferred = exchange->spare_jobs;
    if (deferred != NULL)
        exchange->spare_jobs = deferred->next;
    else if ((deferred = uvh_arena_alloc(&exchange->arena, sizeof(*deferred))) == NULL)
        return UVHTTP_ENOMEM;
    *deferred = (struct uvh_deferred){.exchange = exchange,
                                      .run = work,
                                      .done = done,
                                      .arg = arg,
                                      .heavy = lane == UVH_LANE_HEAVY && done != NULL};
    uvh_job_init(&deferred->job, exchange->worker, run, complete);
    note_free(server, lane);
    bool limited = done != NULL && !is_admitted(exchange, lane);
    int err = limited ? uvh_thread_pool_submit(pool, &deferred->job.task)
                      : uvh_thread_pool_submit_beyond(pool, &deferred->job.task);
    if (err != 0) {
        keep_spare(exchange, deferred);
        return err;
    }
    exchange->heavy_jobs += deferred->heavy;
    exchange->lanes |= (unsigned char)(1u << lane);
    uvh_exchange_ref(exchange);
    return 0;
}

static int defer(uvhttp_response_t *response, enum uvh_lane lane, uvhttp_work_cb work,
                 uvhttp_done_cb done, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (!uvhttp_response_open(response) && response->state != UVH_RESPONSE_BEGUN)
        return uvh_response_over_code(response);
    if (work == NULL || done == NULL || uvh_blocking_is(exchange))
        return UVHTTP_EINVAL;
    int err = start_job(exchange, lane, work, done, arg);
    if (err == UVHTTP_EFULL)
        note_full(exchange->worker->server, lane);
    return err;
}

int uvhttp_response_defer(uvhttp_response_t *response, uvhttp_work_cb work, uvhttp_done_cb done,
                          void *arg)
{
    return defer(response, UVH_LANE_QUICK, work, done, arg);
}

int uvhttp_response_defer_heavy(uvhttp_response_t *response, uvhttp_work_cb work,
                                uvhttp_done_cb done, void *arg)
{
    return defer(response, UVH_LANE_HEAVY, work, done, arg);
}

int uvh_jobs_check_send(struct uvh_exchange *exchange)
{
    struct uvh_server *server = exchange->worker->server;
    note_free(server, UVH_LANE_HEAVY);
    if (is_admitted(exchange, UVH_LANE_HEAVY) ||
        !uvh_thread_pool_rejects(&server->jobs.lanes[UVH_LANE_HEAVY]))
        return 0;
    note_send_full(server);
    return UVHTTP_EFULL;
}

int uvh_jobs_defer_send(uvhttp_response_t *response, uvhttp_work_cb work, uvhttp_done_cb done,
                        void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (!uvhttp_response_open(response)) /* a callback may have ended it */
        return uvh_response_over_code(response);
    int err = start_job(exchange, UVH_LANE_HEAVY, work, done, arg);
    if (err == UVHTTP_EFULL) /* since uvh_jobs_check_send, by another worker */
        note_send_full(exchange->worker->server);
    return err;
}

void uvhttp_response_clean_up(uvhttp_response_t *response, uvhttp_work_cb work, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (work == NULL)
        return;
    /* The cleanup of long work, such as removing a large file, may take long, too. */
    bool heavy = (exchange->lanes & (1u << UVH_LANE_HEAVY)) != 0;
    if (uvh_blocking_is(exchange) ||
        start_job(exchange, heavy ? UVH_LANE_HEAVY : UVH_LANE_QUICK, work, NULL, arg) != 0)
        work(arg);
}

/* ---- the server ---- */

static int open_lane(struct uvh_thread_pool *pool, const uvhttp_allocator_t *allocator,
                     size_t threads, size_t queue)
{
    int err = uvh_thread_pool_init(pool, allocator, threads, queue);
    if (err != 0)
        return err;
    err = uvh_thread_pool_start(pool);
    if (err != 0)
        uvh_thread_pool_release(pool);
    return err;
}

static size_t automatic_threads(void)
{
    size_t cores = uvhttp_core_count();
    return cores < MAX_AUTOMATIC_THREADS ? cores : MAX_AUTOMATIC_THREADS;
}

int uvh_jobs_open(struct uvh_server *server)
{
    const uvhttp_config_t *config = &server->config;
    struct uvh_jobs *jobs = &server->jobs;
    if (jobs->open)
        return 0;
    size_t quick = config->quick_threads, handshake = config->handshake_threads;
    size_t heavy = config->heavy_threads != 0 ? config->heavy_threads : automatic_threads();
    int err =
        open_lane(&jobs->lanes[UVH_LANE_QUICK], server->allocator, quick, config->quick_queue);
    if (err == 0) {
        err =
            open_lane(&jobs->lanes[UVH_LANE_HEAVY], server->allocator, heavy, config->heavy_queue);
        if (err == 0 && handshake > 0) {
            err = open_lane(&jobs->lanes[UVH_LANE_HANDSHAKE], server->allocator, handshake, 1);
            if (err != 0)
                uvh_thread_pool_release(&jobs->lanes[UVH_LANE_HEAVY]);
        }
        if (err != 0)
            uvh_thread_pool_release(&jobs->lanes[UVH_LANE_QUICK]);
    }
    if (err != 0)
        uvh_server_log(
            server, UVHTTP_LOG_ERROR,
            "cannot create the threads for jobs (quick_threads: %zu, heavy_threads: %zu, "
            "handshake_threads: %zu): %s",
            quick, heavy, handshake, uvhttp_strerror(err));
    jobs->open = err == 0;
    return err;
}

void uvh_jobs_close(struct uvh_server *server)
{
    struct uvh_jobs *jobs = &server->jobs;
    if (!jobs->open)
        return;
    jobs->open = false;
    for (size_t i = 0; i < UVH_LANE_COUNT; i++)
        if (i != UVH_LANE_HANDSHAKE || server->config.handshake_threads > 0)
            uvh_thread_pool_release(&jobs->lanes[i]);
}

static uvhttp_job_stats_t read_lane(struct uvh_thread_pool *pool)
{
    struct uvh_thread_pool_counts counts = uvh_thread_pool_read(pool);
    return (uvhttp_job_stats_t){
        .pending = counts.pending, .running = counts.running, .rejected = counts.rejected};
}

void uvh_jobs_read_stats(struct uvh_server *server, uvhttp_stats_t *stats)
{
    struct uvh_jobs *jobs = &server->jobs;
    /* A start that fails closes them again before there are workers. */
    if (uvh_server_workers(server) == NULL || !jobs->open)
        return;
    stats->quick_jobs = read_lane(&jobs->lanes[UVH_LANE_QUICK]);
    stats->heavy_jobs = read_lane(&jobs->lanes[UVH_LANE_HEAVY]);
    if (server->has_pool)
        stats->blocking_handlers = read_lane(&server->blocking_pool);
}
