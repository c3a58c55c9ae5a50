/* Stopping a server: requested, draining, closing handles, stopped. Everything asynchronous on the
 * first worker's loop is counted, and the last one to end moves `life` on. */
#include "options/error.h"
#include "route/router.h"
#include "server/listening.h"
#include "server/requested_stops.h"
#include "server/server.h"
#include "server/workers.h"

void uvh_server_handle_closed(struct uvh_server *server)
{
    if (--server->open_handles > 0 || server->life != UVH_SERVER_CLOSING)
        return;
    server->life = UVH_SERVER_STOPPED;
    uvh_drain_end(server);
    if (server->listened)
        uvh_server_log(server, UVHTTP_LOG_INFO, "stopped");
    if (server->owns_loop) /* handles of the application would keep it running */
        uv_stop(server->loop);
    if (!server->free_when_stopped) {
        if (server->on_stopped != NULL) /* may free the server */
            server->on_stopped(&server->view, server->stopped_arg);
        return;
    }
    /* uvhttp_server_free has cancelled the callback; it releases a server with its own loop
     * itself. */
    if (!server->owns_loop)
        uvh_server_release(server);
}

/* Handles of server and first worker have the server in `data`. */
static void on_own_handle_closed(uv_handle_t *handle)
{
    uvh_server_handle_closed(handle->data);
}

void uvh_server_close_handles(struct uvh_server *server)
{
    bool started = server->life != UVH_SERVER_NEW;
    server->life = UVH_SERVER_CLOSING;
    for (size_t i = 0; i < server->signal_count; i++)
        uv_close((uv_handle_t *)&server->signals[i], on_own_handle_closed);
    uvh_application_close(&server->application);
    if (!started)
        return;
    uvh_workers_join(server);
    uvh_stuck_end(server);
    uv_close((uv_handle_t *)&server->drain_timer, on_own_handle_closed);
    uvh_worker_close(&server->workers[0], on_own_handle_closed);
}

static void on_drain_timeout(uv_timer_t *timer)
{
    struct uvh_server *server = timer->data;
    size_t open = uvh_server_open_connections(server);
    if (open > 0)
        uvh_server_log(server, UVHTTP_LOG_WARNING, "connections closed by drain_timeout: %zu",
                       open);
    uvh_drain_cut(server);
    uvh_workers_set_state(server, UVH_WORKER_END);
}

static void on_grace_over(uv_timer_t *timer)
{
    struct uvh_server *server = timer->data;
    uvhttp_drain_t times = uvh_drain_times(server);
    uint64_t left = (times.timeout - times.grace) * 1000;
    uv_timer_start(timer, on_drain_timeout, left, 0);
    uvh_workers_set_state(server, UVH_WORKER_CLOSE_IDLE);
}

/* Closing keep-alive connections at once would lose requests in transit. */
static void begin_drain(struct uvh_server *server)
{
    uvhttp_drain_t times = uvh_drain_times(server);
    bool grace = times.grace > 0;
    if (grace && times.grace < times.timeout)
        uv_timer_start(&server->drain_timer, on_grace_over, times.grace * 1000, 0);
    else
        uv_timer_start(&server->drain_timer, on_drain_timeout, times.timeout * 1000, 0);
    uvh_workers_set_state(server, grace ? UVH_WORKER_DRAIN : UVH_WORKER_CLOSE_IDLE);
}

/* Ends the regular service. */
static void leave(struct uvh_server *server)
{
    /* a server that never listened logs nothing */
    if (server->listened)
        uvh_server_log(server, UVHTTP_LOG_INFO, "stopping: %zu connections open",
                       uvh_server_open_connections(server));
    server->life = UVH_SERVER_DRAINING;
    uvh_drain_begin(server);
    uvh_requested_stops_forget(server);
    /* First, so that no client joins a queue after its last accept. */
    uvh_listening_forget(server);
    if (server->on_stopping != NULL)
        server->on_stopping(&server->view, server->stopping_arg);
    begin_drain(server);
}

static void on_delay_over(uv_timer_t *timer)
{
    leave(timer->data);
}

void uvh_server_stop(struct uvh_server *server)
{
    bool again = atomic_exchange(&server->stop_requested, true);
    uint64_t delay = again ? 0 : uvh_drain_times(server).delay;
    if (server->life == UVH_SERVER_RUNNING && delay > 0) {
        uvh_server_log(server, UVHTTP_LOG_INFO, "stopping in %llu seconds: not ready",
                       (unsigned long long)delay);
        uv_timer_start(&server->drain_timer, on_delay_over, delay * 1000, 0);
        return;
    }
    if (server->life == UVH_SERVER_RUNNING)
        leave(server);
    if (server->life == UVH_SERVER_DRAINING && again) {
        uvh_drain_cut(server);
        uvh_workers_set_state(server, UVH_WORKER_END);
    }
}

bool uvh_server_is_stopping(struct uvh_server *server)
{
    return atomic_load(&server->stop_requested) || atomic_load(&server->stops_requested) > 0;
}

void uvh_server_woken(struct uvh_server *server)
{
    unsigned requested = atomic_exchange(&server->stops_requested, 0);
    if (requested > 0)
        uvh_server_stop(server);
    if (requested > 1) /* before this thread has checked */
        uvh_server_stop(server);
}

void uvhttp_server_stop(uvhttp_server_t *view)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (server->life == UVH_SERVER_NEW)
        return;
    atomic_fetch_add(&server->stops_requested, 1);
    /* without the inbox's lock, so it is safe in a signal handler */
    uv_async_send(&server->workers[0].inbox.wake);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct uvh_server *server = handle->data;
    uvh_server_log(server, UVHTTP_LOG_INFO, "signal %s", number == SIGINT ? "SIGINT" : "SIGTERM");
    uvh_server_stop(server);
}

static int stop_on_signals(struct uvh_server *server)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    if (server->life > UVH_SERVER_RUNNING)
        return UVHTTP_ESTOPPED;
    while (server->signal_count < UVH_COUNT_OF(numbers)) {
        uv_signal_t *handle = &server->signals[server->signal_count];
        int err = uv_signal_init(server->loop, handle);
        if (err != 0)
            return err;
        handle->data = server;
        if (server->streams_only)
            uv_unref((uv_handle_t *)handle);
        server->open_handles++;
        err = uv_signal_start(handle, on_signal, numbers[server->signal_count++]);
        if (err != 0)
            return err;
    }
    return 0;
}

int uvhttp_server_stop_on_signals(uvhttp_server_t *view)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, stop_on_signals(server));
}

void uvhttp_server_on_stopped(uvhttp_server_t *view, uvhttp_stopped_cb stopped, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    server->on_stopped = stopped;
    server->stopped_arg = arg;
}

void uvhttp_server_on_stopping(uvhttp_server_t *view, uvhttp_stopping_cb stopping, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    server->on_stopping = stopping;
    server->stopping_arg = arg;
}
