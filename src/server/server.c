/* The life of a server: new, listening, draining, stopped, freed. Everything that may end late (connections, handles, jobs on
 * the thread pool) is counted, and the last one to end moves the life on. */
#include "server/server.h"

#include <string.h>

#include "base/alloc.h"
#include "platform/socket.h"
#include "server/conn.h"
#include "server/listening.h"

enum { REJECTING_MOST = 256 }; /* connections beyond the limit that are told so; more are just closed */

static void log_refused_route(const char *message, void *arg)
{
    uvh_server_log(arg, UVHTTP_LOG_ERROR, "%s", message);
}

/* ---- the end ---- */

static void release(struct uvh_server *server)
{
    if (server->has_pool)
        uvh_thread_pool_release(&server->blocking_pool);
    uvh_worker_release(&server->worker);
    uvh_router_free(server->router);
    while (server->owned != NULL) {
        struct uvh_owned *owned = server->owned;
        server->owned = owned->next;
        owned->release(owned->arg);
        uvh_free(server->allocator, owned);
    }
    if (server->owns_loop)
        uv_loop_close(&server->own_loop);
    uvh_free(server->allocator, server);
}

static void on_handle_closed(struct uvh_server *server)
{
    if (--server->open_handles > 0 || server->life != UVH_SERVER_CLOSING)
        return;
    server->life = UVH_SERVER_STOPPED;
    if (server->listened)
        uvh_server_log(server, UVHTTP_LOG_INFO, "stopped");
    /* The callback may free the server, so whether that is due already is asked first. */
    bool free_now = server->free_when_stopped && !server->owns_loop;
    if (server->on_stopped != NULL)
        server->on_stopped(&server->view, server->stopped_arg);
    if (free_now)
        release(server);
}

/* Handles of server and worker carry the server in `data`. */
static void on_own_handle_closed(uv_handle_t *handle)
{
    on_handle_closed(handle->data);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct uvh_listener *listener = UVH_CONTAINER_OF((uv_poll_t *)handle, struct uvh_listener, watch.poll);
    struct uvh_server *server = listener->owner;
    uvh_free(server->allocator, listener);
    on_handle_closed(server);
}

static void close_handles(struct uvh_server *server)
{
    bool started = server->life != UVH_SERVER_NEW;
    server->life = UVH_SERVER_CLOSING;
    for (size_t i = 0; i < server->signal_count; i++)
        uv_close((uv_handle_t *)&server->signals[i], on_own_handle_closed);
    if (!started)
        return;
    uv_close((uv_handle_t *)&server->stop_request, on_own_handle_closed);
    uv_close((uv_handle_t *)&server->drain_timer, on_own_handle_closed);
    uvh_worker_close(&server->worker, on_own_handle_closed);
}

static void close_if_drained(struct uvh_server *server)
{
    if (server->life == UVH_SERVER_DRAINING && server->worker.connection_count == 0)
        close_handles(server);
}

void uvh_server_connection_closed(struct uvh_server *server)
{
    close_if_drained(server);
}

static void close_all_connections(struct uvh_server *server)
{
    for (size_t i = 0; i < server->worker.timeout_count; i++) {
        struct uvh_timeout *timeout;
        while ((timeout = uvh_timeout_first(&server->worker.timeouts[i])) != NULL)
            uvh_conn_close(UVH_CONTAINER_OF(timeout, struct uvh_conn, timeout));
    }
}

static void on_drain_timeout(uv_timer_t *timer)
{
    struct uvh_server *server = timer->data;
    if (server->worker.counters.active_connections > 0)
        uvh_server_log(server, UVHTTP_LOG_WARNING, "%zu connections ended by drain_timeout",
                       server->worker.counters.active_connections);
    close_all_connections(server);
}

static void close_listeners(struct uvh_server *server)
{
    /* First, so that nobody joins a queue that was accepted for the last time. */
    uvh_listening_remove_files(server);
    while (!uvh_list_empty(&server->listeners)) {
        struct uvh_listener *listener = UVH_CONTAINER_OF(server->listeners.next, struct uvh_listener, link);
        uvh_listener_drain_queue(listener);
        uvh_list_remove(&listener->link);
        uvh_listener_close(listener, on_listener_closed);
    }
}

static void drain(struct uvh_server *server)
{
    struct uvh_list idle;
    if (!uvh_list_empty(&server->listeners)) /* one that never listened has nothing to say */
        uvh_server_log(server, UVHTTP_LOG_INFO, "stopping: %zu connections open",
                       server->worker.counters.active_connections);
    close_listeners(server);
    server->life = UVH_SERVER_DRAINING;
    server->worker.draining = true;
    uv_timer_start(&server->drain_timer, on_drain_timeout, server->config.drain_timeout * 1000, 0);
    uvh_list_init(&idle);
    uvh_list_take_all(&idle, &server->worker.timeouts[UVH_TIMEOUT_IDLE].members);
    while (!uvh_list_empty(&idle)) {
        struct uvh_list *first = idle.next;
        uvh_list_remove(first);
        uvh_conn_drain(UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link));
    }
    uvh_stream_stop_all(&server->worker);
    close_if_drained(server);
}

static void stop(struct uvh_server *server)
{
    if (server->life == UVH_SERVER_RUNNING)
        drain(server);
    else if (server->life == UVH_SERVER_DRAINING)
        close_all_connections(server);
}

static void on_stop_request(uv_async_t *request)
{
    stop(request->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct uvh_server *server = handle->data;
    uvh_server_log(server, UVHTTP_LOG_INFO, "signal %d", number);
    stop(server);
}

/* ---- connections ---- */

int uvh_server_take(struct uvh_server *server, int socket)
{
    server->worker.counters.total_connections++;
    return uvh_conn_accept(&server->worker, socket,
                           server->worker.counters.active_connections >= server->config.max_connections);
}

static void on_accept(struct uvh_listener *listener, int socket)
{
    struct uvh_server *server = listener->owner;
    uvh_watch_event(&server->worker.watch);
    server->accept_failing = false;
    if (server->worker.counters.active_connections >= server->config.max_connections + REJECTING_MOST) {
        server->worker.counters.total_connections++;
        server->worker.counters.rejected_connections++;
        uvh_server_log(server, UVHTTP_LOG_DEBUG, "connection closed: far more than max_connections");
        uvh_socket_close(socket);
    } else if (uvh_server_take(server, socket) != 0) {
        uvh_socket_close(socket);
    }
}

static void on_pause(struct uvh_listener *listener, int code)
{
    struct uvh_server *server = listener->owner;
    if (!server->accept_failing) /* once, not at every try */
        uvh_server_log(server, UVHTTP_LOG_WARNING, "cannot accept connections: %s; trying until it works",
                       uvhttp_strerror(code));
    server->accept_failing = true;
    uvh_worker_watch_time(&server->worker); /* its tick resumes listeners */
}

/* ---- the beginning ---- */

static int init_handle(struct uvh_server *server, uv_handle_t *handle, int err)
{
    if (err == 0) {
        handle->data = server;
        server->open_handles++;
    }
    return err;
}

int uvh_server_start(struct uvh_server *server)
{
    char message[256];
    if (server->life != UVH_SERVER_NEW)
        return server->life == UVH_SERVER_RUNNING ? 0 : UVHTTP_ESTOPPED;
    int err = uvhttp_config_check(&server->config, message, sizeof(message));
    if (err != 0) {
        uvh_server_log(server, UVHTTP_LOG_ERROR, "%s", message);
        return err;
    }
    err = uvh_router_freeze(server->router);
    if (err != 0)
        return err;
    err = uvh_worker_prepare(&server->worker, server);
    if (err != 0)
        return err;
    if (!server->has_pool)
        err = uvh_thread_pool_init(&server->blocking_pool, server->allocator, server->config.blocking_threads,
                                   server->config.blocking_queue);
    if (err != 0)
        return err;
    server->has_pool = true;
    /* None of these can fail but for the first uv_async_init of a loop, which needs descriptors; so nothing is to be undone. */
    err = init_handle(server, (uv_handle_t *)&server->stop_request,
                      uv_async_init(server->loop, &server->stop_request, on_stop_request));
    if (err != 0)
        return err;
    init_handle(server, (uv_handle_t *)&server->drain_timer,
                uv_timer_init(server->loop, &server->drain_timer));
    uvh_worker_start(&server->worker, server->loop);
    server->worker.tick.data = server->worker.resume.data = server;
    server->worker.blocking_inbox.wake.data = server->worker.watch.wait.data =
        server->worker.watch.after.data = server;
    server->open_handles += UVH_WORKER_HANDLES;
    uvh_socket_ignore_sigpipe();
    server->life = UVH_SERVER_RUNNING;
    return 0;
}

uvhttp_server_t *uvhttp_server_new_with(struct uv_loop_s *loop, const uvhttp_config_t *config)
{
    if (config == NULL)
        return uvhttp_server_new(loop);
    const uvhttp_allocator_t *allocator = config->allocator != NULL ? config->allocator : uvh_alloc_default();
    struct uvh_server *server = uvh_alloc_zero(allocator, sizeof(*server));
    if (server == NULL)
        return NULL;
    server->config = *config;
    server->allocator = allocator;
    server->loop = loop;
    uvh_list_init(&server->listeners);
    server->router = uvh_router_new(allocator, log_refused_route, server);
    if (server->router == NULL) {
        uvh_free(allocator, server);
        return NULL;
    }
    if (loop == NULL) {
        if (uv_loop_init(&server->own_loop) != 0) {
            release(server);
            return NULL;
        }
        server->loop = &server->own_loop;
        server->owns_loop = true;
    }
    return &server->view;
}

uvhttp_server_t *uvhttp_server_new(struct uv_loop_s *loop)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return NULL;
    uvhttp_server_t *server = uvhttp_server_new_with(loop, config);
    uvhttp_config_free(config);
    return server;
}

void uvhttp_server_free(uvhttp_server_t *view)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (server->open_handles == 0) {
        release(server);
        return;
    }
    server->free_when_stopped = true;
    if (server->life == UVH_SERVER_NEW) {
        close_handles(server);
    } else {
        stop(server);
        stop(server); /* at once */
    }
    if (!server->owns_loop)
        return;
    while (server->life != UVH_SERVER_STOPPED)
        uv_run(server->loop, UV_RUN_ONCE);
    release(server);
}

uvhttp_router_t *uvhttp_server_router(uvhttp_server_t *server)
{
    return server == NULL ? NULL : uvh_server_of(server)->router;
}

int uvhttp_server_route(uvhttp_server_t *server, const char *method, const char *pattern,
                        uvhttp_handler_cb handler, void *arg)
{
    uvhttp_route_t route = {.method = method, .pattern = pattern, .handler = handler, .arg = arg};
    return uvhttp_router_add(uvhttp_server_router(server), &route);
}

int uvhttp_server_use(uvhttp_server_t *view, uvhttp_handler_cb middleware, void *arg)
{
    return uvhttp_router_use(uvhttp_server_router(view), middleware, arg);
}

int uvhttp_server_own(uvhttp_server_t *view, uvhttp_release_cb release_cb, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (release_cb == NULL)
        return UVHTTP_EINVAL;
    struct uvh_owned *owned = uvh_alloc(server->allocator, sizeof(*owned));
    if (owned == NULL)
        return UVHTTP_ENOMEM;
    *owned = (struct uvh_owned){server->owned, release_cb, arg};
    server->owned = owned;
    return 0;
}

int uvh_server_accept_on(struct uvh_server *server, int socket)
{
    struct uvh_listener *listener = uvh_alloc_zero(server->allocator, sizeof(*listener));
    if (listener == NULL)
        return UVHTTP_ENOMEM;
    listener->owner = server;
    listener->on_accept = on_accept;
    listener->on_pause = on_pause;
    int err = uvh_listener_start(listener, server->loop, socket);
    if (err != 0) {
        uvh_free(server->allocator, listener);
        return err;
    }
    uvh_list_append(&server->listeners, &listener->link);
    server->open_handles++;
    server->listened = true;
    if (server->port == 0)
        server->port = uvh_socket_port(socket);
    return 0;
}

struct uv_loop_s *uvhttp_server_loop(uvhttp_server_t *server)
{
    return server == NULL ? NULL : uvh_server_of(server)->loop;
}

int uvhttp_server_run(uvhttp_server_t *server)
{
    if (server == NULL)
        return UVHTTP_ENOMEM;
    /* Only the wait for uvhttp_server_stop would be left, which nobody then knows to call. */
    if (uvh_server_of(server)->life == UVH_SERVER_RUNNING &&
        uvh_list_empty(&uvh_server_of(server)->listeners) &&
        uvh_server_of(server)->worker.connection_count == 0)
        return UVHTTP_EINVAL;
    int left = uv_run(uvh_server_of(server)->loop, UV_RUN_DEFAULT);
    return left < 0 ? left : 0;
}

void uvhttp_server_stop(uvhttp_server_t *server)
{
    if (server != NULL && uvh_server_of(server)->life != UVH_SERVER_NEW)
        uv_async_send(&uvh_server_of(server)->stop_request);
}

int uvhttp_server_stop_on_signals(uvhttp_server_t *view)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (server->life > UVH_SERVER_RUNNING)
        return UVHTTP_ESTOPPED;
    while (server->signal_count < UVH_COUNT_OF(numbers)) {
        uv_signal_t *handle = &server->signals[server->signal_count];
        int err = init_handle(server, (uv_handle_t *)handle, uv_signal_init(server->loop, handle));
        if (err != 0)
            return err;
        err = uv_signal_start(handle, on_signal, numbers[server->signal_count++]);
        if (err != 0)
            return err;
    }
    return 0;
}

void uvhttp_server_on_stopped(uvhttp_server_t *view, uvhttp_stopped_cb stopped, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    server->on_stopped = stopped;
    server->stopped_arg = arg;
}

void uvhttp_server_on_finished(uvhttp_server_t *view, uvhttp_finished_cb finished, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    server->on_finished = finished;
    server->finished_arg = arg;
}

const uvhttp_stats_t *uvhttp_server_stats(uvhttp_server_t *view)
{
    if (view == NULL)
        return NULL;
    struct uvh_server *server = uvh_server_of(view);
    view->stats = server->worker.counters;
    view->stats.idle_connections = 0;
    struct uvh_watch_sum sum;
    uvh_watch_sum_clear(&sum);
    uvh_watch_sum_add(&sum, &server->worker.watch);
    uvh_watch_sum_report(&sum, &view->stats);
    if (server->life == UVH_SERVER_NEW)
        return &view->stats;
    struct uvh_list *idle = &server->worker.timeouts[UVH_TIMEOUT_IDLE].members;
    for (struct uvh_list *link = idle->next; link != idle; link = link->next) {
        /* The connection whose handler asks stands in the list until its event is over. */
        if (UVH_CONTAINER_OF(link, struct uvh_conn, timeout.link)->exchange == NULL)
            view->stats.idle_connections++;
    }
    return &view->stats;
}
