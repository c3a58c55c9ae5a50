/* Public functions of a server before and while it runs; stopping is in server_life.c. */
#include "server/server.h"

#include <stdint.h>

#include <uvhttp/tls_client.h>

#include "base/alloc.h"
#include "options/error.h"
#include "options/use.h"
#include "platform/file.h"
#include "platform/signals.h"
#include "route/router.h"
#include "server/ready.h"
#include "server/requested_stops.h"
#include "server/workers.h"
#include "tls/contexts.h"

static void note_open(uv_handle_t *handle, void *arg)
{
    bool *open = arg;
    *open = *open || !uv_is_closing(handle);
}

/* Runs the loop until all closing handles are closed and pending requests are done. False when a
 * handle of the application is still open. */
static bool close_own_loop(struct uvh_server *server)
{
    uv_loop_t *loop = &server->own_loop;
    (void)uv_run(loop, UV_RUN_NOWAIT);
    while (uv_loop_close(loop) != 0) {
        bool open = false;
        uv_walk(loop, note_open, &open);
        if (open)
            return false;
        (void)uv_run(loop, UV_RUN_ONCE);
    }
    return true;
}

/* Returns the object of the log callback, NULL for none: it is released after the last line. The
 * set-up's is last: it has the error object. */
static struct uvh_owned *free_generations(struct uvh_server *server)
{
    struct uvh_owned *of_log = NULL, *found;
    uvh_list_remove(&server->setup->link);
    uvh_list_append(&server->generations, &server->setup->link);
    while (!uvh_list_empty(&server->generations)) {
        found = uvh_generation_free(
            UVH_CONTAINER_OF(server->generations.next, struct uvh_generation, link));
        of_log = found != NULL ? found : of_log;
    }
    return of_log;
}

/* Closes the server's own loop, if it has one. */
static bool close_loop(struct uvh_server *server)
{
    if (!server->owns_loop || close_own_loop(server))
        return true;
    uvh_server_log(server, UVHTTP_LOG_ERROR,
                   "a handle is open on the server's loop, which cannot be freed: close the "
                   "handle before uvhttp_server_free");
    return false;
}

void uvh_server_release(struct uvh_server *server)
{
    uvh_stuck_end(server);
    uvh_jobs_close(server); /* their threads send messages to workers, as do these: */
    if (server->has_pool)
        uvh_thread_pool_release(&server->blocking_pool);
    uvh_workers_free(server);
    while (server->tls != NULL) {
        struct uvh_tls_contexts *contexts = server->tls;
        server->tls = contexts->next;
        uvh_tls_contexts_free(contexts);
    }
    uvhttp_tls_client_free(server->tls_client);
    uvh_ready_free(server);
    struct uvh_owned *kept = server->kept, *of_log = free_generations(server);
    while (kept != NULL) {
        struct uvh_owned *first = kept;
        kept = first->next;
        first->release(first->arg);
        uvh_free(server->allocator, first);
    }
    bool closed = close_loop(server);
    if (of_log != NULL) {
        of_log->release(of_log->arg);
        uvh_free(server->allocator, of_log);
    }
    if (!closed)
        return; /* a leak, instead of freeing memory with an open handle in it */
    uvh_application_release(&server->application);
    uvh_lock_destroy(&server->current_lock);
    uvh_free(server->allocator, server);
}

static int check_config(struct uvh_server *server)
{
    uvhttp_error_t error;
    int err = uvhttp_config_check(&server->config, &error);
    if (err == 0 && server->config.workers > 1 && !server->owns_loop)
        err = uvh_error_size(&error, "workers", server->config.workers,
                             "with a loop of the caller only 1 is allowed: for more, use the "
                             "server's own loop (uvhttp_server_new_with(NULL, ...))");
    if (err == 0)
        return 0; /* a connection leaves the error of the last set-up call unchanged */
    uvh_error_copy(uvh_server_error(server), &error);
    uvh_server_log(server, UVHTTP_LOG_ERROR, "%s", error.text);
    return err;
}

static int make_pool(struct uvh_server *server)
{
    if (server->has_pool) /* by an earlier attempt that failed later */
        return 0;
    int err = uvh_thread_pool_init(&server->blocking_pool, server->allocator,
                                   server->config.blocking_threads, server->config.blocking_queue);
    server->has_pool = err == 0;
    return err;
}

/* Files, lookups and log files need descriptors, however many connections there are. */
static void reserve_descriptors(struct uvh_server *server)
{
    enum { MAX_RESERVE = 64, RESERVE_PART = 8 };
    size_t limit = uvh_file_descriptor_limit();
    size_t reserve = limit / RESERVE_PART < MAX_RESERVE ? limit / RESERVE_PART : MAX_RESERVE;
    server->scarce_from = (int)(limit - reserve);
    if (server->config.max_connections > limit - reserve)
        uvh_server_log(
            server, UVHTTP_LOG_WARNING,
            "max_connections is %zu, but the process is limited to %zu file descriptors (ulimit "
            "-n): above %zu, a new connection closes the longest idle one, or waits",
            server->config.max_connections, limit, limit - reserve);
}

/* Starts everything of a new server except the job threads. */
static int start_workers(struct uvh_server *server)
{
    int err = uvh_workers_open(server);
    if (err != 0)
        return err;
    reserve_descriptors(server);
    struct uvh_worker *first = &server->workers[0];
    uv_timer_init(server->loop, &server->drain_timer);
    server->drain_timer.data = first->inbox.wake.data = first->tick.data = first->resume.data =
        server;
    uvh_poller_set_data(&first->conns.poller, server);
    first->loop_stats.wait.data = first->loop_stats.after.data = server;
    server->open_handles += 1 + UVH_WORKER_HANDLES;
    uvh_signals_ignore_failed_writes();
    server->life = UVH_SERVER_RUNNING;
    uvh_requested_stops_watch(server);
    return 0;
}

/* `serves`: it will have requests, and so jobs. The workers are started last, since they put
 * handles on a caller's loop. */
static int start(struct uvh_server *server, bool serves)
{
    bool is_new = server->life == UVH_SERVER_NEW;
    if (server->life > UVH_SERVER_RUNNING)
        return UVHTTP_ESTOPPED;
    if (!server->owns_loop)
        uvh_requested_stops_end_listening(server->loop);
    int err = is_new ? check_config(server) : 0;
    if (err == 0 && is_new)
        err = uvh_generation_activate(server->setup);
    if (err == 0 && is_new)
        err = make_pool(server);
    if (err == 0 && serves)
        err = uvh_jobs_open(server);
    if (err == 0)
        err = uvh_stuck_begin(server);
    if (err != 0 || !is_new)
        return err;
    err = start_workers(server);
    if (err != 0) {
        uvh_stuck_end(server);
        uvh_jobs_close(server);
    }
    return err;
}

int uvh_server_start(struct uvh_server *server)
{
    return start(server, true);
}

static void keep_running_for(struct uvh_server *server, void (*change)(uv_handle_t *handle))
{
    struct uvh_worker *first = &server->workers[0];
    change((uv_handle_t *)&first->inbox.wake);
    change((uv_handle_t *)&first->tick);
    for (size_t i = 0; i < server->signal_count; i++)
        change((uv_handle_t *)&server->signals[i]);
}

int uvh_server_start_for_streams(struct uvh_server *server)
{
    bool first = server->life == UVH_SERVER_NEW;
    int err = start(server, false);
    if (err == 0 && first) {
        server->streams_only = true;
        keep_running_for(server, uv_unref);
    }
    return err;
}

void uvh_server_serves(struct uvh_server *server)
{
    if (server->streams_only)
        keep_running_for(server, uv_ref);
    server->streams_only = false;
}

/* Stops the server synchronously; it owns the loop. */
static void end_at_once(struct uvh_server *server)
{
    uvh_server_stop(server);
    uvh_server_stop(server); /* immediately */
    while (server->life != UVH_SERVER_STOPPED)
        uv_run(server->loop, UV_RUN_ONCE);
}

uvhttp_server_t *uvhttp_server_new_with(struct uv_loop_s *loop, const uvhttp_config_t *config)
{
    if (config == NULL)
        return uvhttp_server_new(loop);
    const uvhttp_allocator_t *allocator =
        config->allocator != NULL ? config->allocator : uvh_alloc_default();
    struct uvh_server *server = uvh_alloc_zero(allocator, sizeof(*server));
    if (server == NULL)
        return NULL;
    server->config = *config;
    if (config->log == uvh_log_problems && config->log_level > UVHTTP_LOG_WARNING)
        server->config.log_level = UVHTTP_LOG_WARNING; /* others need not be formatted */
    server->allocator = allocator;
    server->loop = loop;
    if (uvh_application_init(&server->application) != 0) {
        uvh_free(allocator, server);
        return NULL;
    }
    uvh_lock_init(&server->current_lock);
    uvh_list_init(&server->generations);
    server->setup = server->current = uvh_generation_new(server);
    if (server->setup == NULL) {
        uvh_lock_destroy(&server->current_lock);
        uvh_application_release(&server->application);
        uvh_free(allocator, server);
        return NULL;
    }
    if (loop == NULL) {
        if (uv_loop_init(&server->own_loop) != 0) {
            uvh_server_release(server);
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

int uvhttp_server_set(uvhttp_server_t *view, const char *name, const char *value)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvhttp_error_t *error = uvh_server_error(server);
    uvh_error_clear(error);
    bool is_new = server->life == UVH_SERVER_NEW;
    return uvh_router_end(server->setup->router,
                          is_new ? uvhttp_config_set(&server->config, name, value, error)
                                 : uvh_error_frozen(error, "settings must be set"));
}

/* Of a server that has no workers, since it never listened or its set-up failed. Its threads learn
 * from on_stopping that they should end, as when a server stops. */
static void wait_for_references(struct uvh_server *server)
{
    if (!uvh_application_is_busy(&server->application))
        return;
    if (server->on_stopping != NULL)
        server->on_stopping(&server->view, server->stopping_arg);
    uvh_application_wait(&server->application);
}

void uvhttp_server_free(uvhttp_server_t *view)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (server->life == UVH_SERVER_NEW)
        wait_for_references(server);
    if (server->open_handles == 0) {
        uvh_server_release(server);
        return;
    }
    server->free_when_stopped = true;
    if (server->workers != NULL)
        uvh_workers_hand_over(&server->workers[0]); /* its loop no longer runs elsewhere */
    if (server->life == UVH_SERVER_NEW)
        uvh_server_close_handles(server);
    if (server->owns_loop) {
        end_at_once(server);
        uvh_server_release(server);
        return;
    }
    uvh_server_stop(server);
    uvh_server_stop(server); /* immediately */
}

static const uvhttp_error_t no_server = {.code = UVHTTP_ENOMEM,
                                         .reason = "there is no server: out of memory",
                                         .text = "there is no server: out of memory"};

const uvhttp_error_t *uvhttp_server_error(const uvhttp_server_t *view)
{
    if (view == NULL)
        return &no_server;
    return uvh_server_error(uvh_server_of((uvhttp_server_t *)(uintptr_t)view));
}

const uvhttp_error_t *uvhttp_server_first_error(const uvhttp_server_t *view)
{
    if (view == NULL)
        return &no_server;
    return uvh_router_first_error(uvh_server_of((uvhttp_server_t *)(uintptr_t)view)->setup->router);
}

uvhttp_error_t *uvh_server_error(struct uvh_server *server)
{
    return uvh_router_error(server->setup->router);
}

uvhttp_router_t *uvhttp_server_router(uvhttp_server_t *server)
{
    return server == NULL ? NULL : uvh_server_of(server)->setup->router;
}

int uvhttp_server_route(uvhttp_server_t *server, const char *method, const char *pattern,
                        uvhttp_handler_cb handler, void *arg)
{
    return uvhttp_router_route(uvhttp_server_router(server), method, pattern, handler, arg);
}

int uvhttp_server_use(uvhttp_server_t *view, uvhttp_handler_cb middleware, void *arg)
{
    return uvhttp_router_use(uvhttp_server_router(view), middleware, arg);
}

static int prepend(struct uvh_server *server, struct uvh_owned **first,
                   uvhttp_release_cb release_cb, void *arg)
{
    if (release_cb == NULL)
        return UVHTTP_EINVAL;
    struct uvh_owned *owned = uvh_alloc(server->allocator, sizeof(*owned));
    if (owned == NULL)
        return UVHTTP_ENOMEM;
    *owned = (struct uvh_owned){*first, release_cb, arg};
    *first = owned;
    return 0;
}

static int own(struct uvh_server *server, uvhttp_release_cb release_cb, void *arg)
{
    return prepend(server, &server->setup->owned, release_cb, arg);
}

int uvhttp_server_keep(uvhttp_server_t *view, uvhttp_release_cb release_cb, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, prepend(server, &server->kept, release_cb, arg));
}

int uvhttp_server_own(uvhttp_server_t *view, uvhttp_release_cb release_cb, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, own(server, release_cb, arg));
}

int uvhttp_router_use_owned(uvhttp_router_t *router, uvhttp_handler_cb middleware, void *arg,
                            uvhttp_release_cb release)
{
    struct uvh_server *server = router == NULL ? NULL : uvh_router_arg(router);
    int err = router == NULL || arg == NULL ? UVHTTP_ENOMEM
              : middleware == NULL          ? UVHTTP_EINVAL
                                            : own(server, release, arg);
    if (err != 0 && release != NULL && arg != NULL)
        release(arg);
    if (err == 0) /* on failure it is released with the server */
        return uvhttp_router_use(router, middleware, arg);
    if (router == NULL)
        return err;
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, err);
}

int uvh_use_error(struct uvhttp_server *view, const uvhttp_error_t *error)
{
    if (error == NULL || view == NULL)
        return error == NULL ? 0 : error->code;
    struct uvh_server *server = uvh_server_of(view);
    *uvh_server_error(server) = *error;
    return uvh_router_end(server->setup->router, error->code);
}

int uvh_use_made(uvhttp_router_t *router, uvhttp_handler_cb middleware, void *object,
                 uvhttp_release_cb release, const uvhttp_error_t *made)
{
    if (made->code == 0)
        return uvhttp_router_use_owned(router, middleware, object, release);
    struct uvh_server *server = router == NULL ? NULL : uvh_router_arg(router);
    return uvh_use_error(server == NULL ? NULL : &server->view, made);
}

struct uv_loop_s *uvhttp_server_loop(uvhttp_server_t *server)
{
    return server == NULL ? NULL : uvh_server_of(server)->loop;
}

static int run(struct uvh_server *server)
{
    /* The loop would only wait for uvhttp_server_stop, which the application has no reason to call,
     * or which has no effect yet. */
    if (server->life == UVH_SERVER_NEW ||
        (server->life == UVH_SERVER_RUNNING && !server->streams_only &&
         uvh_list_empty(&server->workers[0].listeners) && server->workers[0].conns.count == 0))
        return UVHTTP_EINVAL;
    if (server->life == UVH_SERVER_STOPPED)
        return 0;
    int err = server->life == UVH_SERVER_RUNNING ? uvh_workers_start(server) : 0;
    if (err != 0) {
        end_at_once(server);
        return err;
    }
    if (err == 0 && server->streams_only) /* waiting for a stop does not keep its loop running */
        uvh_server_woken(server);
    /* may be another thread than the one that called listen */
    uvh_workers_hand_over(&server->workers[0]);
    int left = uv_run(server->loop, UV_RUN_DEFAULT);
    return left < 0 ? left : 0;
}

int uvhttp_server_run(uvhttp_server_t *view)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvhttp_error_t *error = uvh_server_error(server);
    int err = run(server);
    if (err == 0 || (err == UVHTTP_EINVAL && error->code != 0)) /* why it does not listen */
        return err;
    uvh_error_clear(error);
    if (err == UVHTTP_EINVAL)
        uvh_error_sentence(error, "", NULL, "the server neither listens nor has a connection");
    return uvh_router_end(server->setup->router, err);
}

bool uvh_server_takes(struct uvh_server *server, const char *call)
{
    bool takes = !uvhttp_router_is_frozen(server->setup->router);
    if (!takes)
        uvh_server_log(server, UVHTTP_LOG_ERROR,
                       "%s has no effect: it must be called before the server listens", call);
    return takes;
}

void uvhttp_server_on_finished(uvhttp_server_t *view, uvhttp_finished_cb finished, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (!uvh_server_takes(server, "uvhttp_server_on_finished"))
        return;
    server->setup->on_finished = finished;
    server->setup->finished_arg = arg;
}
