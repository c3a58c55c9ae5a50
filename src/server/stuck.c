/* See the header. The watcher may not read an exchange, which could be freed meanwhile. It gets the
 * address of a route, and compares it with those of the current set-up, which it may hold. */
#include "server/stuck.h"

#include "codec/http1/method.h"
#include "route/router.h"
#include "server/server.h"

enum {
    NS_PER_MS = 1000000,
    CHECKS_PER_LIMIT = 4,
    CHECK_MS = 250,      /* most time between two checks */
    STUCK_CHECK_MS = 10, /* the same while a loop is stuck: the error of its total time */
};

enum uvh_stuck_event uvh_stuck_check(struct uvh_stuck_loop *loop, uint64_t began,
                                     const struct uvh_stuck_times *times, uint64_t *duration)
{
    uint64_t since = began > times->resumed ? began : times->resumed;
    if (loop->reported != 0 && began != loop->reported) {
        *duration = times->now - loop->since;
        loop->reported = 0;
        return UVH_STUCK_ENDS;
    }
    if (loop->reported != 0 || began == 0 || times->now < since ||
        times->now - since < times->limit)
        return UVH_STUCK_NONE;
    *duration = times->now - since;
    *loop = (struct uvh_stuck_loop){.reported = began, .since = since};
    return UVH_STUCK_BEGINS;
}

/* ---- log ---- */

static void log_begin(struct uvh_worker *worker, uint64_t ms)
{
    struct uvh_server *server = worker->server;
    const struct uvh_route *running =
        atomic_load_explicit(&worker->running_route, memory_order_relaxed);
    uvhttp_method_t method =
        (uvhttp_method_t)atomic_load_explicit(&worker->running_method, memory_order_relaxed);
    struct uvh_generation *generation = uvh_generation_hold(server);
    const struct uvh_route *route = uvh_router_first(generation->router);
    while (route != NULL && route != running)
        route = route->next_added;
    const char *host = route == NULL ? NULL : uvh_router_host(route);
    if (route == NULL)
        uvh_server_log(server, UVHTTP_LOG_WARNING,
                       "the loop of worker %zu has been stuck for %llu ms, the handler is unknown "
                       "(stuck_loop_ms)",
                       worker->index, (unsigned long long)ms);
    else
        uvh_server_log(server, UVHTTP_LOG_WARNING,
                       "the loop of worker %zu has been stuck for %llu ms in the handler of %s "
                       "%s%s (stuck_loop_ms)",
                       worker->index, (unsigned long long)ms,
                       method == UVHTTP_METHOD_OTHER ? "other" : uvh_method_name(method),
                       host == NULL ? "" : host, route->pattern);
    uvh_generation_drop(generation);
}

/* Returns true while the loop is stuck. */
static bool check(struct uvh_worker *worker, const struct uvh_stuck_times *times)
{
    uint64_t duration = 0, began = uvh_loop_stats_busy_since(&worker->loop_stats);
    enum uvh_stuck_event event = uvh_stuck_check(&worker->stuck, began, times, &duration);
    if (event == UVH_STUCK_BEGINS) {
        uvh_counter_add(&worker->counters.stuck_loops, 1);
        log_begin(worker, duration / NS_PER_MS);
    } else if (event == UVH_STUCK_ENDS) {
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "the loop of worker %zu runs again after %llu ms", worker->index,
                       (unsigned long long)duration / NS_PER_MS);
    }
    return worker->stuck.reported != 0;
}

/* ---- the thread ---- */

static uint64_t time_between_checks(const struct uvh_stuck_times *times, bool is_stuck)
{
    uint64_t part = times->limit / CHECKS_PER_LIMIT;
    uint64_t most = (is_stuck ? STUCK_CHECK_MS : CHECK_MS) * (uint64_t)NS_PER_MS;
    return part < most ? part : most;
}

/* A thread that wakes up much too late was paused with its process, and so were the loops. */
static void watch(void *arg)
{
    struct uvh_server *server = arg;
    struct uvh_stuck_watcher *watcher = &server->stuck;
    struct uvh_stuck_times times = {.now = uv_hrtime(),
                                    .limit = server->config.stuck_loop_ms * (uint64_t)NS_PER_MS};
    bool is_stuck = false;
    uv_mutex_lock(&watcher->lock);
    while (!watcher->ending) {
        uv_cond_timedwait(&watcher->wake, &watcher->lock, time_between_checks(&times, is_stuck));
        uv_mutex_unlock(&watcher->lock);
        uint64_t before = times.now;
        times.now = uv_hrtime();
        if (times.now - before >= times.limit + CHECK_MS * (uint64_t)NS_PER_MS)
            times.resumed = times.now;
        struct uvh_worker *workers = uvh_server_workers(server);
        is_stuck = false;
        for (size_t i = 0; workers != NULL && i < server->config.workers; i++)
            is_stuck |= check(&workers[i], &times);
        uv_mutex_lock(&watcher->lock);
    }
    uv_mutex_unlock(&watcher->lock);
}

static int begin(struct uvh_server *server)
{
    struct uvh_stuck_watcher *watcher = &server->stuck;
    watcher->ending = false; /* an earlier start may have failed */
    int err = uv_mutex_init(&watcher->lock);
    if (err != 0)
        return err;
    if ((err = uv_cond_init(&watcher->wake)) == 0) {
        err = uv_thread_create(&watcher->thread, watch, server);
        if (err == 0)
            return 0;
        uv_cond_destroy(&watcher->wake);
    }
    uv_mutex_destroy(&watcher->lock);
    return err;
}

int uvh_stuck_begin(struct uvh_server *server)
{
    if (server->stuck.running || server->config.stuck_loop_ms == 0)
        return 0;
    int err = begin(server);
    server->stuck.running = err == 0;
    if (err != 0)
        uvh_server_log(server, UVHTTP_LOG_ERROR, "cannot start the thread of stuck_loop_ms: %s",
                       uvhttp_strerror(err));
    return err;
}

void uvh_stuck_end(struct uvh_server *server)
{
    struct uvh_stuck_watcher *watcher = &server->stuck;
    if (!watcher->running)
        return;
    uv_mutex_lock(&watcher->lock);
    watcher->ending = true;
    uv_cond_signal(&watcher->wake);
    uv_mutex_unlock(&watcher->lock);
    uv_thread_join(&watcher->thread);
    uv_cond_destroy(&watcher->wake);
    uv_mutex_destroy(&watcher->lock);
    watcher->running = false;
}
