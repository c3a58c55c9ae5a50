/* The kernel distributes connections by a hash, which is uneven for few connections and ignores how
 * long they stay open. So the worker that accepts a connection compares its load with one other
 * worker, each time the next one. It hands the connection over when the other has clearly fewer. */
#include "server/accept.h"

#include "base/alloc.h"
#include "conn/conn.h"
#include "platform/file.h"
#include "platform/socket.h"
#include "server/protocols.h"
#include "server/server.h"

enum {
    /* connections beyond the limit that get a 503; further ones are just closed */
    MAX_REJECTING = 256,
    /* A difference of one in 16 is tolerated: handing over costs as much as accepting. */
    TOLERANCE = 16,
};

struct message {
    struct uvh_message base;
    uvhttp_post_cb run; /* NULL: a connection */
    void *arg;
    int socket;
    struct uvh_tls_contexts *tls; /* of a connection; NULL: plain text */
};

/* ---- scarce descriptors ---- */

static void note_scarce(struct uvh_server *server)
{
    if (!atomic_exchange(&server->descriptors_scarce, true))
        uvh_server_log(server, UVHTTP_LOG_WARNING,
                       "file descriptors are nearly exhausted (ulimit -n): closing the longest "
                       "idle connections");
}

/* The kernel returns the lowest free descriptor number. Once a low number is free, descriptors are
 * no longer scarce. */
static bool is_still_scarce(struct uvh_server *server)
{
    bool scarce = atomic_load_explicit(&server->descriptors_scarce, memory_order_relaxed);
    if (!scarce || uvh_file_lowest_free_descriptor() >= server->scarce_from)
        return scarce;
    atomic_store_explicit(&server->descriptors_scarce, false, memory_order_relaxed);
    return false;
}

/* The kernel returns the lowest free number. */
static bool is_scarce(struct uvh_server *server, int socket)
{
    if (socket < server->scarce_from)
        return is_still_scarce(server);
    note_scarce(server);
    return true;
}

enum { MAX_CHECKED = 64 }; /* connections that a search looks at */

/* Closes the longest waiting connection that may be closed. */
static bool make_way_among(struct uvh_worker *worker, enum uvh_conn_timeout waiting)
{
    struct uvh_timeout_list *list = &worker->conns.timeouts[waiting];
    struct uvh_list *link = list->members.next;
    for (int checked = 0; checked < MAX_CHECKED && link != &list->members; checked++) {
        struct uvh_conn *conn = UVH_CONTAINER_OF(link, struct uvh_conn, timeout.link);
        uint64_t waited_ms = uv_now(worker->loop) + list->length_ms - conn->timeout.deadline;
        link = link->next;
        if (uvh_protocols_make_way(conn, waited_ms))
            return true;
    }
    return false;
}

/* False when no connection may be closed. */
static bool make_way(struct uvh_worker *worker)
{
    return make_way_among(worker, UVH_CONN_TIMEOUT_HANDSHAKE) ||
           make_way_among(worker, UVH_CONN_TIMEOUT_IDLE);
}

static void resume(struct uvh_worker *worker)
{
    struct uvh_list *listeners = &worker->listeners;
    for (struct uvh_list *link = listeners->next; link != listeners; link = link->next)
        uvh_listener_resume(UVH_CONTAINER_OF(link, struct uvh_listener, link));
}

bool uvh_accept_tick(struct uvh_worker *worker)
{
    struct uvh_server *server = worker->server;
    if (atomic_load_explicit(&server->descriptors_scarce, memory_order_relaxed)) {
        make_way(worker);
        if (is_still_scarce(server))
            return !uvh_list_empty(&worker->listeners);
    }
    resume(worker);
    return false;
}

/* ---- accept ---- */

static void count_accepted(struct uvh_worker *worker)
{
    uvh_counter_add(&worker->counters.total_connections, 1);
    uvh_loop_stats_event(&worker->loop_stats);
}

/* Returns how many were open before. */
static size_t count_open(struct uvh_worker *worker)
{
    return atomic_fetch_add_explicit(&worker->server->open_connections, 1, memory_order_relaxed);
}

/* Accepts a connection that is already counted in `load`. */
static void take(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls)
{
    struct uvh_server *server = worker->server;
    size_t most = server->config.max_connections;
    size_t open = count_open(worker);
    count_accepted(worker);
    if (open >= most + MAX_REJECTING) {
        uvh_counter_add(&worker->counters.rejected_connections, 1);
        uvh_server_log(server, UVHTTP_LOG_DEBUG,
                       "connection closed: max_connections is far exceeded");
    } else if (uvh_protocols_accept(worker, socket, tls, open >= most) == 0) {
        return;
    }
    uvh_socket_close(socket);
    uvh_accept_closed(worker);
}

int uvh_accept_take(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls)
{
    atomic_fetch_add_explicit(&worker->load, 1, memory_order_relaxed);
    bool reject = count_open(worker) >= worker->server->config.max_connections;
    int err = uvh_protocols_accept(worker, socket, tls, reject);
    if (err == 0) /* not an event of the loop, which may not run yet, or runs on another thread */
        uvh_counter_add(&worker->counters.total_connections, 1);
    else
        uvh_accept_closed(worker);
    return err;
}

void uvh_accept_closed(struct uvh_worker *worker)
{
    atomic_fetch_sub_explicit(&worker->server->open_connections, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&worker->load, 1, memory_order_relaxed);
    resume(worker);
}

static void read_message(struct uvh_message *base, void *reader)
{
    struct uvh_worker *worker = reader;
    struct message message = *UVH_CONTAINER_OF(base, struct message, base);
    uvh_free(worker->server->allocator, base);
    if (message.run != NULL)
        message.run(&worker->server->view, worker->index, message.arg);
    else
        take(worker, message.socket, message.tls);
}

/* ---- distribution ---- */

static size_t load_of(struct uvh_worker *worker)
{
    return atomic_load_explicit(&worker->load, memory_order_relaxed);
}

/* Chooses the worker for the next connection. */
static struct uvh_worker *choose(struct uvh_worker *worker)
{
    struct uvh_server *server = worker->server;
    if (server->worker_count == 1 || worker->draining)
        return worker;
    worker->compared = (worker->compared + 1) % server->worker_count;
    if (worker->compared == worker->index)
        worker->compared = (worker->compared + 1) % server->worker_count;
    struct uvh_worker *other = &server->workers[worker->compared];
    size_t here = load_of(worker), there = load_of(other);
    return here > there + there / TOLERANCE ? other : worker;
}

/* False on failure: the caller keeps the socket. */
static bool hand_over(struct uvh_worker *to, int socket, struct uvh_tls_contexts *tls)
{
    struct message *message = uvh_alloc(to->server->allocator, sizeof(*message));
    if (message == NULL)
        return false;
    *message = (struct message){.base.read = read_message, .socket = socket, .tls = tls};
    atomic_fetch_add_explicit(&to->load, 1, memory_order_relaxed);
    if (uvh_inbox_put(&to->inbox, &message->base))
        return true;
    atomic_fetch_sub_explicit(&to->load, 1, memory_order_relaxed);
    uvh_free(to->server->allocator, message);
    return false;
}

static void on_accept(struct uvh_listener *listener, int socket)
{
    struct uvh_worker *worker = listener->owner;
    struct uvh_worker *chosen = choose(worker);
    worker->accept_failing = false;
    if (UVH_UNLIKELY(listener->is_late) && worker->overload != NULL)
        worker->conns.poller.waited_ms = uvh_socket_waited_ms(socket);
    if (is_scarce(worker->server, socket) && !make_way(worker) && !worker->draining)
        uvh_listener_pause(listener); /* further connections stay in the kernel's queue */
    if (chosen != worker && hand_over(chosen, socket, listener->data))
        return;
    atomic_fetch_add_explicit(&worker->load, 1, memory_order_relaxed);
    take(worker, socket, listener->data);
}

static void on_failed(struct uvh_listener *listener, int code)
{
    struct uvh_worker *worker = listener->owner;
    if (!worker->accept_failing) /* once, not on every attempt */
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "cannot accept connections: %s; retrying", uvhttp_strerror(code));
    worker->accept_failing = true;
    bool scarce = code == UV_EMFILE || code == UV_ENFILE;
    if (scarce)
        note_scarce(worker->server);
    if (!scarce || !make_way(worker))
        uvh_worker_stats_time(worker); /* the tick resumes the listener */
}

/* ---- listeners ---- */

static void on_listener_closed(uv_handle_t *handle)
{
    struct uvh_listener *listener =
        UVH_CONTAINER_OF((uv_poll_t *)handle, struct uvh_listener, poll);
    struct uvh_worker *worker = listener->owner;
    uvh_free(worker->server->allocator, listener);
    if (worker->index == 0)
        uvh_server_handle_closed(worker->server);
}

int uvh_accept_begin(struct uvh_worker *worker, int socket, unsigned id,
                     struct uvh_tls_contexts *tls)
{
    struct uvh_server *server = worker->server;
    struct uvh_listener *listener = uvh_alloc_zero(server->allocator, sizeof(*listener));
    if (listener == NULL)
        return UVHTTP_ENOMEM;
    listener->owner = worker;
    listener->data = tls;
    listener->id = id;
    listener->on_accept = on_accept;
    listener->on_failed = on_failed;
    int err = uvh_listener_start(listener, worker->loop, socket);
    if (err != 0) {
        uvh_free(server->allocator, listener);
        return err;
    }
    uvh_list_append(&worker->listeners, &listener->link);
    if (worker->index == 0)
        server->open_handles++;
    return 0;
}

static struct uvh_listener *find(struct uvh_worker *worker, unsigned id)
{
    struct uvh_list *listeners = &worker->listeners;
    for (struct uvh_list *link = listeners->next; link != listeners; link = link->next) {
        struct uvh_listener *listener = UVH_CONTAINER_OF(link, struct uvh_listener, link);
        if (listener->id == id)
            return listener;
    }
    return NULL;
}

static void drop(struct uvh_listener *listener)
{
    uvh_list_remove(&listener->link);
    uvh_listener_close(listener, on_listener_closed);
}

void uvh_accept_drop(struct uvh_worker *worker, unsigned id)
{
    struct uvh_listener *listener;
    while ((listener = find(worker, id)) != NULL)
        drop(listener);
}

void uvh_accept_end_some(struct uvh_worker *worker, unsigned id)
{
    struct uvh_listener *listener;
    while ((listener = find(worker, id)) != NULL) {
        uvh_listener_drain_queue(listener);
        drop(listener);
    }
}

void uvh_accept_end(struct uvh_worker *worker)
{
    worker->draining = true; /* queued connections stay with this worker */
    while (!uvh_list_empty(&worker->listeners)) {
        struct uvh_listener *listener =
            UVH_CONTAINER_OF(worker->listeners.next, struct uvh_listener, link);
        uvh_listener_drain_queue(listener);
        drop(listener);
    }
}

/* ---- messages ---- */

int uvhttp_server_post(uvhttp_server_t *view, size_t worker, uvhttp_post_cb run, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    struct uvh_worker *workers = uvh_server_workers(server);
    if (workers == NULL || worker >= server->worker_count || run == NULL)
        return UVHTTP_EINVAL;
    struct message *message = uvh_alloc(server->allocator, sizeof(*message));
    if (message == NULL)
        return UVHTTP_ENOMEM;
    *message = (struct message){.base.read = read_message, .run = run, .arg = arg};
    if (uvh_worker_write(&workers[worker], &message->base))
        return 0;
    uvh_free(server->allocator, message);
    return UVHTTP_ESTOPPED;
}
