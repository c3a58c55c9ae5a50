/* Connections to somebody else: a name is looked up, its addresses are tried one after the other, each for its share of the time, and then the connection is one as any other
 * that has left HTTP.
 *
 * Always true: from the call that begins to the end the stream has a struct uvh_conn, which is closed until it is connected, so that whatever asks it
 * gets the answers of a closed one. The record of what is being done outlives the stream when libuv still has its hands on it. The stream's
 * timer is the one of connecting meanwhile. */
#include "server/stream_connect.h"

#include "base/alloc.h"
#include "net/lookup.h"
#include "platform/socket.h"
#include "platform/socket_connect.h"
#include "server/conn.h"
#include "server/server.h"
#include "server/workers.h"

enum {
    PORT_MOST = 65535,
    SHARE_LEAST_MS = 250, /* what RFC 8305 section 5 recommends between the attempts */
};

struct uvh_connecting {
    struct uvhttp_stream *stream; /* NULL: nobody waits any more */
    struct uvh_conn *conn;        /* NULL when it has become the stream's own */
    struct uvh_worker *worker;
    uvhttp_stream_connected_cb connected;
    struct uvh_lookup *lookup;   /* NULL: none is under way */
    struct addrinfo *found;      /* to be freed */
    const struct addrinfo *next; /* to be tried */
    struct addrinfo literal;     /* the only one, of a numeric address */
    union uvh_address address;
    uint64_t deadline; /* of all of it; 0: none */
    int status;        /* of the last attempt */
    bool trying;       /* libuv has the watch of `conn`, which may be closing */
    bool telling;      /* a callback runs */
};

static struct uvh_connecting *connecting_of(const struct uvh_conn *conn)
{
    return conn->watch.poll.data;
}

/* ---- the end ---- */

static void release_if_unused(struct uvh_connecting *connecting)
{
    if (connecting->stream != NULL || connecting->trying || connecting->telling)
        return;
    struct uvh_worker *worker = connecting->worker;
    uv_freeaddrinfo(connecting->found);
    if (connecting->conn != NULL) {
        uvh_slab_give(&worker->connections, connecting->conn);
        worker->connection_count--;
    }
    uvh_free(worker->server->allocator, connecting);
    uvh_worker_settle(worker);
}

static void try_next(struct uvh_connecting *connecting);

static void on_attempt_closed(uv_handle_t *handle)
{
    struct uvh_connecting *connecting = handle->data;
    connecting->trying = false;
    if (connecting->stream != NULL)
        try_next(connecting);
    else
        release_if_unused(connecting);
}

static void close_attempt(struct uvh_connecting *connecting)
{
    if (connecting->trying && connecting->conn->watch.socket >= 0)
        uvh_socket_watch_close(&connecting->conn->watch, on_attempt_closed);
}

/* Whatever is under way ends unheard. */
static void stop(struct uvh_connecting *connecting)
{
    uvh_timeout_cancel(&connecting->conn->timeout);
    close_attempt(connecting);
    if (connecting->lookup != NULL)
        uvh_lookup_forget(connecting->lookup);
    connecting->lookup = NULL;
}

void uvh_stream_connect_give_up(struct uvhttp_stream *stream)
{
    struct uvh_connecting *connecting = connecting_of(stream->conn);
    bool was_telling = connecting->telling;
    if (!was_telling)
        stop(connecting);
    connecting->telling = true; /* what `closed` asks the stream is answered by its connection */
    connecting->stream = NULL;
    stream->connecting = false;
    uvh_stream_closed(stream);
    connecting->telling = was_telling;
    release_if_unused(connecting);
}

void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code)
{
    struct uvh_connecting *connecting = connecting_of(stream->conn);
    stop(connecting);
    uvh_timeout_cancel(&stream->timer);
    connecting->telling = true;
    connecting->connected(stream, code, stream->arg);
    if (connecting->stream != NULL) /* it was not closed meanwhile */
        uvh_stream_connect_give_up(stream);
    connecting->telling = false;
    release_if_unused(connecting);
}

/* ---- attempts ---- */

static void succeed(struct uvh_connecting *connecting)
{
    struct uvhttp_stream *stream = connecting->stream;
    struct uvh_conn *conn = connecting->conn;
    uvhttp_stream_connected_cb connected = connecting->connected;
    connecting->stream = NULL;
    connecting->conn = NULL;
    connecting->trying = false;
    stream->connecting = false;
    conn->watch.poll.data = NULL;
    uvh_timeout_cancel(&stream->timer);
    uvh_socket_watch_forget(&conn->watch);
    conn->life = UVH_CONN_OPEN;
    conn->rx = UVH_RX_STREAM;
    conn->stream = stream;
    release_if_unused(
        connecting); /* before the callback, which may close the stream, and with it the worker */
    conn->corked = true;
    connected(stream, 0, stream->arg);
    if (uvh_conn_uncork(conn))
        uvh_conn_proceed(conn);
    uvh_conn_check(conn);
}

static void on_attempt(uv_poll_t *poll, int status, int events)
{
    struct uvh_connecting *connecting = poll->data;
    (void)events;
    uvh_watch_event(&connecting->worker->watch);
    connecting->status = uvh_socket_connect_result(connecting->conn->watch.socket);
    if (connecting->status == 0)
        connecting->status = status;
    if (connecting->status == 0)
        succeed(connecting);
    else
        close_attempt(connecting); /* and goes on when that is over */
}

/* False when it has failed at once. */
static bool try_address(struct uvh_connecting *connecting, const struct sockaddr *address)
{
    struct uvh_conn *conn = connecting->conn;
    int socket = uvh_socket_connect(address);
    struct uvh_worker *worker = connecting->worker;
    int err =
        socket < 0 ? socket : uvh_socket_watch_init(&conn->watch, worker->loop, socket, worker->has_edges);
    if (err != 0) {
        connecting->status = err;
        if (socket >= 0)
            uvh_socket_close(socket);
        return false;
    }
    connecting->trying = true;
    connecting->status = uvh_socket_watch_want(&conn->watch, UVH_WANT_WRITE, on_attempt);
    if (connecting->status != 0)
        close_attempt(connecting);
    return true;
}

uint32_t uvh_stream_connect_share(uint64_t left_ms, size_t addresses)
{
    uint64_t share = left_ms / addresses;
    if (share < SHARE_LEAST_MS)
        share = left_ms < SHARE_LEAST_MS ? left_ms : SHARE_LEAST_MS;
    return share == 0 ? 1 : (uint32_t)share;
}

/* For the address that is tried now, with those behind it still to come. */
static void set_time(struct uvh_connecting *connecting)
{
    struct uvh_worker *worker = connecting->worker;
    uint64_t now = uv_now(worker->loop);
    size_t addresses = 1;
    if (connecting->deadline == 0)
        return;
    for (const struct addrinfo *later = connecting->next; later != NULL; later = later->ai_next)
        addresses++;
    uint64_t left = connecting->deadline > now ? connecting->deadline - now : 0;
    /* The lists are there: this one's whole time was in one of them. */
    uvh_timeout_arm(uvh_worker_timers(worker, uvh_stream_connect_share(left, addresses)),
                    &connecting->stream->timer, now);
}

static void try_next(struct uvh_connecting *connecting)
{
    while (connecting->next != NULL) {
        const struct sockaddr *address = connecting->next->ai_addr;
        connecting->next = connecting->next->ai_next;
        set_time(connecting);
        if (try_address(connecting, address))
            return;
    }
    uvh_stream_connect_fail(connecting->stream, connecting->status);
}

void uvh_stream_connect_time_has_come(struct uvhttp_stream *stream)
{
    struct uvh_connecting *connecting = connecting_of(stream->conn);
    bool over = uv_now(connecting->worker->loop) >= connecting->deadline;
    if (over || connecting->next == NULL) {
        uvh_stream_connect_fail(stream, UV_ETIMEDOUT);
        return;
    }
    connecting->status = UV_ETIMEDOUT;
    close_attempt(connecting); /* and goes on when that is over */
}

void uvh_stream_connect_next(struct uvh_conn *conn)
{
    uvh_timeout_cancel(&conn->timeout);
    try_next(connecting_of(conn));
}

static void on_looked_up(void *arg, int status, struct addrinfo *found)
{
    struct uvh_connecting *connecting = arg;
    uvh_watch_event(&connecting->worker->watch);
    connecting->lookup = NULL;
    connecting->found = found;
    connecting->next = found;
    connecting->status = status != 0 ? status : UV_EAI_NODATA;
    try_next(connecting);
}

/* ---- the beginning ---- */

/* Looks the name up, or takes it as the address it is; nothing is told before the loop's next turn. */
static int find_addresses(struct uvh_connecting *connecting, const char *host, int port)
{
    struct uvh_worker *worker = connecting->worker;
    if (uvh_lookup_literal(host, port, &connecting->address)) {
        connecting->literal.ai_addr = &connecting->address.any;
        connecting->next = &connecting->literal;
        uvh_timeout_arm(&worker->timeouts[UVH_TIMEOUT_RESUME], &connecting->conn->timeout,
                        uv_now(worker->loop));
        uvh_worker_resume_later(worker);
        return 0;
    }
    return uvh_lookup_start(&connecting->lookup, worker->loop, host, port, on_looked_up, connecting);
}

/* A connection and a record for a stream; NULL when memory ran out. */
static struct uvh_connecting *new_connecting(struct uvh_worker *worker, struct uvhttp_stream *stream)
{
    const uvhttp_allocator_t *allocator = worker->server->allocator;
    struct uvh_connecting *connecting = uvh_alloc_zero(allocator, sizeof(*connecting));
    struct uvh_conn *conn = connecting == NULL ? NULL : uvh_slab_take(&worker->connections);
    if (conn == NULL) {
        uvh_free(allocator, connecting);
        return NULL;
    }
    conn->worker = worker;
    conn->life = UVH_CONN_CLOSED;
    conn->outgoing = true;
    conn->timeout_class = UVH_TIMEOUT_CLASSES;
    conn->watch.socket = -1;
    conn->watch.poll.data = connecting;
    uvh_timeout_init(&conn->timeout);
    worker->connection_count++;
    stream->conn = conn;
    *connecting = (struct uvh_connecting){.stream = stream, .conn = conn, .worker = worker};
    return connecting;
}

static int begin(struct uvh_worker *worker, struct uvhttp_stream *stream, const char *host, int port,
                 uint32_t timeout_ms, uvhttp_stream_connected_cb connected)
{
    struct uvh_timeout_list *timers = timeout_ms == 0 ? NULL : uvh_worker_timers(worker, timeout_ms);
    if (timeout_ms != 0 && timers == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_connecting *connecting = new_connecting(worker, stream);
    if (connecting == NULL)
        return UVHTTP_ENOMEM;
    uv_update_time(worker->loop); /* it may not have run for a while */
    connecting->connected = connected;
    if (timers != NULL)
        connecting->deadline = uv_now(worker->loop) + timeout_ms;
    int err = find_addresses(connecting, host, port);
    if (err != 0) {
        connecting->stream = NULL;
        release_if_unused(connecting);
        return err == UV_EINVAL ? UVHTTP_EINVAL : err;
    }
    stream->connecting = true;
    if (timers != NULL)
        uvh_timeout_arm(timers, &stream->timer, uv_now(worker->loop));
    uvh_worker_watch_time(worker);
    return 0;
}

int uvhttp_stream_connect(uvhttp_server_t *view, const char *host, int port, uint32_t timeout_ms,
                          uvhttp_stream_connected_cb connected, const uvhttp_stream_events_t *events,
                          void *arg, uvhttp_stream_t **out)
{
    *out = NULL;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (host == NULL || port <= 0 || port > PORT_MOST || timeout_ms > UVH_TIMEOUT_STEP_MOST ||
        connected == NULL || events->data == NULL || events->closed == NULL ||
        uvh_workers_is_further_thread(server))
        return UVHTTP_EINVAL;
    int err = uvh_server_start_for_streams(server);
    if (err != 0)
        return err;
    struct uvh_worker *worker = &server->workers[0];
    struct uvhttp_stream *stream = uvh_stream_new(server, events, arg);
    if (stream == NULL)
        return UVHTTP_ENOMEM;
    err = begin(worker, stream, host, port, timeout_ms, connected);
    if (err != 0) {
        uvh_free(server->allocator, stream);
        return err;
    }
    uvh_list_append(&worker->streams, &stream->link);
    *out = stream;
    return 0;
}
