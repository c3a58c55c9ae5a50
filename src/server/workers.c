/* A worker without a thread of its own (never started, or failed to start) is ended by running its
 * loop to the end here. */
#include "server/workers.h"

#include <errno.h>

#include "base/alloc.h"
#include "platform/socket.h"
#include "server/accept.h"
#include "server/listening.h"
#include "server/server.h"

/* ---- start ---- */

static int open_worker(struct uvh_server *server, size_t index)
{
    struct uvh_worker *worker = &server->workers[index];
    if (index == 0)
        return uvh_worker_init(worker, server, 0, server->loop);
    struct uvh_thread *own = &server->threads[index];
    int err = uv_loop_init(&own->loop);
    if (err != 0)
        return err;
    err = uvh_worker_init(worker, server, index, &own->loop);
    if (err != 0)
        uv_loop_close(&own->loop);
    return err;
}

void uvh_workers_hand_over(struct uvh_worker *worker)
{
    uvh_owner_hand_over(&worker->conns.slab.owner);
    uvh_owner_hand_over(&worker->arenas.owner);
    uvh_owner_hand_over(&worker->conns.buffers.owner);
}

/* For a worker with its own loop, whose handles are closing. */
static void free_worker(struct uvh_server *server, size_t index)
{
    uvh_workers_hand_over(&server->workers[index]);
    uvh_worker_release(&server->workers[index]);
    if (index > 0)
        uv_loop_close(&server->threads[index].loop);
}

static void free_arrays(struct uvh_server *server)
{
    uvh_free(server->allocator, server->workers);
    uvh_free(server->allocator, server->threads);
    server->workers = NULL;
    server->threads = NULL;
}

int uvh_workers_open(struct uvh_server *server)
{
    size_t count = server->config.workers;
    server->workers = uvh_alloc_zero(server->allocator, count * sizeof(*server->workers));
    server->threads = uvh_alloc_zero(server->allocator, count * sizeof(*server->threads));
    int err = server->workers == NULL || server->threads == NULL ? UVHTTP_ENOMEM : 0;
    /* The first one is last: its handles on the caller's loop could not be undone at once. */
    size_t index = err == 0 ? count : 0;
    while (err == 0 && index > 0) {
        err = open_worker(server, index - 1);
        if (err == 0)
            index--;
    }
    if (err == 0) {
        server->worker_count = count;
        server->started_ms = uvh_server_unix_ms(server);
        return 0;
    }
    uvh_server_log(server, UVHTTP_LOG_ERROR, "cannot create %zu workers: %s", count,
                   uvhttp_strerror(err));
    for (; index < count && server->workers != NULL && server->threads != NULL; index++) {
        uvh_worker_close(&server->workers[index], NULL);
        uv_run(server->workers[index].loop, UV_RUN_DEFAULT);
        free_worker(server, index);
    }
    free_arrays(server);
    return err;
}

/* ---- listening ---- */

/* Opens sockets for all workers, or for as many as the kernel can distribute connections to; the
 * others get theirs handed over (accept.c). Returns how many, or an error; then none is open. */
static int open_sockets(const struct uvh_server *server, const char *address, int port,
                        int *sockets, size_t count)
{
    int backlog = (int)server->config.listen_backlog;
    sockets[0] = uvh_socket_listen(address, port, backlog,
                                   count > 1 ? UVH_SOCKET_SHARE_FIRST : UVH_SOCKET_ALONE);
    if (sockets[0] < 0)
        return sockets[0];
    for (size_t i = 1; i < count; i++) {
        sockets[i] =
            uvh_socket_listen(address, uvh_socket_port(sockets[0]), backlog, UVH_SOCKET_SHARE);
        if (sockets[i] == -ENOTSUP)
            return (int)i;
        if (sockets[i] < 0) {
            int err = sockets[i];
            while (i > 0)
                uvh_socket_close(sockets[--i]);
            return err;
        }
    }
    return (int)count;
}

/* `port` is 0 for a Unix socket. */
static void note_port(struct uvh_server *server, int port)
{
    if (server->port == 0)
        server->port = port;
    if (port != 0)
        server->last_port = port;
}

static void note(struct uvh_server *server, struct uvh_listening *listening)
{
    listening->port = uvh_socket_port(listening->sockets[0]);
    listening->next = server->listening;
    server->listening = listening;
    server->listened = true;
    uvh_server_serves(server);
    note_port(server, listening->port);
}

/* A worker for each socket. Returns 0, or an error; then no socket is open. */
static int begin(struct uvh_server *server, const struct uvh_listening *listening,
                 struct uvh_tls_contexts *tls)
{
    int err = 0;
    size_t begun = 0;
    while (err == 0 && begun < listening->count) {
        err = uvh_accept_begin(&server->workers[begun], listening->sockets[begun], listening->id,
                               tls);
        begun += err == 0;
    }
    for (size_t i = begun; i < listening->count; i++)
        uvh_socket_close(listening->sockets[i]);
    for (size_t i = 0; err != 0 && i < begun; i++)
        uvh_accept_drop(&server->workers[i], listening->id);
    return err;
}

int uvh_workers_listen(struct uvh_server *server, const char *address, int port,
                       struct uvh_tls_contexts *tls)
{
    /* A worker with a running thread must not be accessed from here: then the first one accepts,
     * and hands connections over. */
    size_t count = server->threads_started ? 1 : server->worker_count;
    struct uvh_listening *listening = uvh_listening_new(server, address, count);
    if (listening == NULL)
        return UVHTTP_ENOMEM;
    int opened = open_sockets(server, address, port, listening->sockets, count);
    listening->count = opened < 0 ? 0 : (size_t)opened;
    int err = opened < 0 ? opened : begin(server, listening, tls);
    if (err == 0)
        note(server, listening);
    else
        uvh_free(server->allocator, listening);
    return err;
}

int uvh_workers_listen_on(struct uvh_server *server, struct uvh_listening *listening,
                          struct uvh_tls_contexts *tls)
{
    size_t worker = server->threads_started ? 0 : listening->id % server->worker_count;
    int err = uvh_accept_begin(&server->workers[worker], listening->sockets[0], listening->id, tls);
    if (err == 0)
        note(server, listening);
    return err;
}

/* ---- threads ---- */

static _Thread_local struct uvh_worker *current; /* of a thread that the server has created */

struct uvh_worker *uvh_workers_current(struct uvh_server *server)
{
    return current != NULL && current->server == server ? current : &server->workers[0];
}

static void run_worker(void *arg)
{
    struct uvh_worker *worker = arg;
    struct uvh_server *server = worker->server;
    current = worker;
    while (uv_run(worker->loop, UV_RUN_DEFAULT) != 0) /* the application has called uv_stop */
        ;
    atomic_fetch_sub(&server->threads_left, 1);
    uvh_inbox_wake(&server->workers[0].inbox);
}

int uvh_workers_start(struct uvh_server *server)
{
    if (server->threads_started)
        return 0;
    server->threads_started = true;
    for (size_t i = 1; i < server->worker_count; i++) {
        atomic_fetch_add(&server->threads_left, 1);
        int err = uv_thread_create(&server->threads[i].thread, run_worker, &server->workers[i]);
        if (err != 0) {
            atomic_fetch_sub(&server->threads_left, 1);
            uvh_server_log(server, UVHTTP_LOG_ERROR, "cannot start thread %zu of %zu: %s", i + 1,
                           server->worker_count, uvhttp_strerror(err));
            return err;
        }
        server->threads[i].running = true;
    }
    return 0;
}

bool uvh_workers_ended(struct uvh_server *server)
{
    return atomic_load(&server->threads_left) == 0;
}

void uvh_workers_join(struct uvh_server *server)
{
    for (size_t i = 1; i < server->worker_count; i++) {
        if (server->threads[i].running)
            uv_thread_join(&server->threads[i].thread);
        server->threads[i].running = false;
    }
}

/* ---- shutdown ---- */

void uvh_workers_set_state(struct uvh_server *server, enum uvh_worker_state state)
{
    for (size_t i = 1; i < server->worker_count; i++) {
        struct uvh_worker *worker = &server->workers[i];
        if (server->threads[i].running) {
            atomic_store(&worker->requested_state, (unsigned char)state);
            uvh_inbox_wake(&worker->inbox);
        } else if (worker->life == UVH_WORKER_RUNNING) {
            atomic_store(&worker->requested_state, UVH_WORKER_END);
            uvh_worker_apply_state(worker);
            uv_run(worker->loop, UV_RUN_DEFAULT);
        }
    }
    atomic_store(&server->workers[0].requested_state, (unsigned char)state);
    uvh_worker_apply_state(&server->workers[0]);
}

void uvh_workers_free(struct uvh_server *server)
{
    for (size_t i = 0; i < server->worker_count && server->workers != NULL; i++)
        free_worker(server, i);
    free_arrays(server);
}

size_t uvhttp_core_count(void)
{
    size_t count = uv_available_parallelism();
    return count < UVHTTP_WORKERS_MAX ? count : UVHTTP_WORKERS_MAX;
}
