/* See the header; and the reload of a running server (uvhttp_server_begin_reload). */
#include "server/generation.h"

#include "base/alloc.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "options/error.h"
#include "route/router.h"
#include "server/route_stats.h"
#include "server/server.h"

/* ---- the end ---- */

static void release_owned(struct uvh_generation *generation, struct uvh_owned *owned)
{
    owned->release(owned->arg);
    uvh_free(generation->server->allocator, owned);
}

static void free_uses(struct uvh_generation *generation)
{
    const struct uvh_server *server = generation->server;
    for (size_t i = 0; generation->uses != NULL && i < server->config.workers; i++) {
        uvh_free(server->allocator, generation->uses[i].route_stats);
        uvh_free(server->allocator, generation->uses[i].lengths);
    }
    uvh_free(server->allocator, generation->uses);
    generation->uses = NULL;
}

struct uvh_owned *uvh_generation_free(struct uvh_generation *generation)
{
    struct uvh_server *server = generation->server;
    struct uvh_owned *of_log = NULL;
    while (generation->owned != NULL) {
        struct uvh_owned *owned = generation->owned;
        generation->owned = owned->next;
        if (of_log == NULL && owned->arg != NULL && owned->arg == server->config.log_arg)
            of_log = owned;
        else
            release_owned(generation, owned);
    }
    free_uses(generation);
    uvh_list_remove(&generation->link);
    uvh_router_free(generation->router); /* has the error object, which a release may use */
    uvh_free(server->allocator, generation);
    return of_log;
}

/* In the first worker: the log, if the generation owned it, is that of the server. */
static void free_unused(struct uvh_generation *generation)
{
    struct uvh_server *server = generation->server;
    struct uvh_owned *of_log = uvh_generation_free(generation);
    if (of_log == NULL)
        return;
    of_log->next = server->setup->owned;
    server->setup->owned = of_log;
}

static void read_unused(struct uvh_message *message, void *reader)
{
    (void)reader;
    free_unused(UVH_CONTAINER_OF(message, struct uvh_generation, unused));
}

void uvh_generation_ref(struct uvh_generation *generation)
{
    atomic_fetch_add(&generation->holders, 1);
}

void uvh_generation_drop(struct uvh_generation *generation)
{
    if (atomic_fetch_sub(&generation->holders, 1) == 1)
        /* refused by a worker that has ended: then the server is freed next, and all of this */
        (void)uvh_inbox_put(&generation->server->workers[0].inbox, &generation->unused);
}

struct uvh_generation *uvh_generation_hold(struct uvh_server *server)
{
    uvh_lock_acquire(&server->current_lock);
    struct uvh_generation *generation = server->current;
    uvh_generation_ref(generation);
    uvh_lock_release(&server->current_lock);
    return generation;
}

void uvh_generation_check_retired(struct uvh_worker *worker)
{
    if (!uvh_list_empty(&worker->retired) && worker->life != UVH_WORKER_CLOSING)
        worker->conns.callbacks->schedule(&worker->conns);
}

void uvh_generation_drop_retired(struct uvh_worker *worker)
{
    struct uvh_list *link = worker->retired.next;
    while (link != &worker->retired) {
        struct uvh_use *use = UVH_CONTAINER_OF(link, struct uvh_use, retired);
        link = link->next;
        if (use->exchanges > 0 || !uvh_list_empty(&use->streams))
            continue;
        uvh_list_remove(&use->retired);
        uvh_generation_drop(use->generation);
    }
}

/* ---- a new one ---- */

static void log_refused_route(const char *message, void *arg)
{
    uvh_server_log(arg, UVHTTP_LOG_ERROR, "%s", message);
}

struct uvh_generation *uvh_generation_new(struct uvh_server *server)
{
    struct uvh_generation *generation = uvh_alloc_zero(server->allocator, sizeof(*generation));
    if (generation == NULL)
        return NULL;
    generation->server = server;
    generation->router = uvh_router_new(server->allocator, log_refused_route, server);
    if (generation->router == NULL) {
        uvh_free(server->allocator, generation);
        return NULL;
    }
    generation->unused.read = read_unused;
    atomic_init(&generation->holders, 1); /* the set-up, until it is activated or cancelled */
    uvh_list_append(&server->generations, &generation->link);
    return generation;
}

/* Outgoing streams belong to the server, not to its routes; those of a WebSocket endpoint hold the
 * generation. */
static void take_streams(struct uvh_use *use, struct uvh_conn_shared *shared)
{
    struct uvh_list *link = shared->streams.next;
    while (link != &shared->streams) {
        struct uvhttp_stream *stream = UVH_CONTAINER_OF(link, struct uvhttp_stream, link);
        link = link->next;
        if (uvh_stream_is_outgoing(stream))
            continue;
        uvh_list_remove(&stream->link);
        uvh_list_append(&use->streams, &stream->link);
    }
}

static void read_adopt(struct uvh_message *message, void *reader)
{
    struct uvh_use *use = UVH_CONTAINER_OF(message, struct uvh_use, adopt);
    struct uvh_worker *worker = reader;
    struct uvh_use *old = worker->use;
    uvh_worker_add_lengths(worker, use->generation->router, use->lengths);
    use->lengths = NULL;
    worker->use = use;
    old->is_retired = true;
    take_streams(old, &worker->conns);
    uvh_list_append(&worker->retired, &old->retired);
    uvh_generation_check_retired(worker);
}

int uvh_generation_activate(struct uvh_generation *generation)
{
    struct uvh_server *server = generation->server;
    size_t workers = server->config.workers;
    int err = uvh_router_freeze(generation->router);
    if (err != 0 || generation->uses != NULL)
        return err;
    /* the first generation is there when the workers begin */
    bool first = server->life == UVH_SERVER_NEW;
    size_t lengths = first ? 0 : uvh_worker_lengths_size(generation->router);
    generation->uses = uvh_alloc_zero(server->allocator, workers * sizeof(*generation->uses));
    for (size_t i = 0; generation->uses != NULL && i < workers; i++) {
        struct uvh_use *use = &generation->uses[i];
        use->generation = generation;
        uvh_list_init(&use->retired);
        uvh_list_init(&use->streams);
        use->adopt.read = read_adopt;
        if (lengths > 0 && (use->lengths = uvh_alloc(server->allocator, lengths)) == NULL)
            err = UVHTTP_ENOMEM;
    }
    if (generation->uses == NULL || err != 0) {
        free_uses(generation);
        return UVHTTP_ENOMEM;
    }
    atomic_fetch_add(&generation->holders, workers - 1); /* the set-up's is that of a worker */
    return 0;
}

/* ---- reload ---- */

static bool is_reloading(const struct uvh_server *server)
{
    return server->setup != server->current;
}

bool uvh_is_reloading(const uvhttp_server_t *view)
{
    return is_reloading((const struct uvh_server *)(const void *)view);
}

struct uvh_generation *uvh_generation_of_set_up(uvhttp_server_t *view)
{
    return uvh_server_of(view)->setup;
}

static int begin_reload(struct uvh_server *server)
{
    if (server->life != UVH_SERVER_RUNNING)
        return server->life == UVH_SERVER_NEW ? UVHTTP_EINVAL : UVHTTP_ESTOPPED;
    if (is_reloading(server))
        return UVHTTP_EINVAL;
    struct uvh_generation *generation = uvh_generation_new(server);
    if (generation == NULL)
        return UVHTTP_ENOMEM;
    server->setup = generation;
    return 0;
}

int uvhttp_server_begin_reload(uvhttp_server_t *view)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    return begin_reload(uvh_server_of(view));
}

void uvhttp_server_cancel_reload(uvhttp_server_t *view)
{
    struct uvh_server *server = view == NULL ? NULL : uvh_server_of(view);
    if (server == NULL || server->life == UVH_SERVER_NEW || !is_reloading(server))
        return;
    struct uvh_generation *failed = server->setup;
    server->setup = server->current;
    if (atomic_fetch_sub(&failed->holders, 1) == 1)
        free_unused(failed);
}

int uvhttp_server_apply_reload(uvhttp_server_t *view)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (server->life == UVH_SERVER_NEW || !is_reloading(server))
        return UVHTTP_EINVAL;
    struct uvh_generation *next = server->setup;
    int err = server->life == UVH_SERVER_RUNNING ? uvh_router_first_error(next->router)->code
                                                 : UVHTTP_ESTOPPED;
    if (err == 0)
        err = uvh_generation_activate(next);
    if (err != 0)
        return uvh_router_end(next->router, err);
    uvh_lock_acquire(&server->current_lock);
    server->current = next;
    uvh_lock_release(&server->current_lock);
    for (size_t i = 0; i < server->worker_count; i++)
        (void)uvh_worker_write(&server->workers[i], &next->uses[i].adopt);
    return 0;
}
