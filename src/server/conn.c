/* The life of a connection: accepted, watched, timed, closed. Bytes in are conn_rx.c, bytes out conn_tx.c. */
#include "server/conn.h"

#include <uvhttp/embedding.h>

#include "platform/socket.h"
#include "server/accept.h"
#include "server/send.h"
#include "server/server.h"
#include "server/stream_connect.h"

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct uvh_conn *conn = UVH_CONTAINER_OF(poll, struct uvh_conn, watch.poll);
    uvh_watch_event(&conn->worker->watch);
    unsigned ready = uvh_socket_watch_ready(&conn->watch, status, events);
    if (ready == UVH_WANT_NOTHING) /* only errors are watched: the client has reset the connection */
        uvh_conn_close(conn);
    if ((ready & UVH_WANT_WRITE) != 0)
        uvh_conn_tx_writable(conn);
    if ((ready & UVH_WANT_READ) != 0 && conn->life == UVH_CONN_OPEN)
        uvh_conn_rx_readable(conn);
    if (status != 0)
        uvh_conn_settle(conn, false); /* watch again */
    uvh_conn_check(conn);
}

/* The memory goes when libuv has let go of the handle and no exchange points here any more. */
static void free_if_unused(struct uvh_conn *conn)
{
    if (!conn->handle_closed || conn->exchange != NULL)
        return;
    struct uvh_worker *worker = conn->worker;
    uvh_exchange_release_connection_data(worker->server->allocator, conn->data);
    uvh_slab_give(&worker->connections, conn);
    worker->connection_count--;
    uvh_worker_settle(worker);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct uvh_conn *conn = UVH_CONTAINER_OF((uv_poll_t *)handle, struct uvh_conn, watch.poll);
    conn->handle_closed = true;
    free_if_unused(conn);
}

/* That of the class, unless the route has its own. */
static struct uvh_timeout_list *timeouts_for(const struct uvh_conn *conn, enum uvh_timeout_class class)
{
    const struct uvh_route *route = conn->exchange == NULL ? NULL : conn->exchange->base.match.route;
    uint32_t seconds = 0;
    if (class == UVH_TIMEOUT_WRITE)
        seconds = conn->write_timeout;
    else if (route != NULL && class == UVH_TIMEOUT_HANDLER)
        seconds = route->handler_timeout;
    else if (route != NULL && class == UVH_TIMEOUT_BODY)
        seconds = route->body_timeout;
    return seconds == 0 ? &conn->worker->timeouts[class] : uvh_worker_route_timeouts(conn->worker, seconds);
}

/* Counted where it changes, since the list is for the worker's own thread to walk. */
static void count_idle(struct uvh_conn *conn, enum uvh_timeout_class class)
{
    bool before = conn->timeout_class == UVH_TIMEOUT_IDLE;
    bool now = class == UVH_TIMEOUT_IDLE;
    if (now && !before)
        uvh_counter_add(&conn->worker->counters.idle_connections, 1);
    else if (before && !now)
        uvh_counter_subtract(&conn->worker->counters.idle_connections, 1);
}

/* A connection that is used again and again is put to the end of its list at most a few times a second: moving it means to touch its neighbours there, which
 * with thousands of connections are in no cache. The list's timeout is as much longer. */
static bool was_armed_lately(const struct uvh_conn *conn, enum uvh_timeout_class class)
{
    const struct uvh_worker *worker = conn->worker;
    uint64_t deadline = uv_now(worker->loop) + worker->timeouts[class].length_ms;
    return class == UVH_TIMEOUT_IDLE && deadline - conn->timeout.deadline < UVH_WORKER_IDLE_SLACK_MS;
}

static void set_timeout(struct uvh_conn *conn, enum uvh_timeout_class class, bool progress)
{
    bool linked = !uvh_list_empty(&conn->timeout.link);
    if (linked && conn->timeout_class == class && (!progress || was_armed_lately(conn, class)))
        return;
    if (linked &&
        conn->timeout_class == UVH_TIMEOUT_RESUME) /* it has work to do first; then this is looked at again */
        return;
    count_idle(conn, class);
    conn->timeout_class = (unsigned char)class;
    uvh_timeout_arm(timeouts_for(conn, class), &conn->timeout, uv_now(conn->worker->loop));
}

/* Work of this connection goes on in the next loop turn. Not here and now: the caller may be a handler's own callback, which does not
 * expect other handlers to run in it. */
static void resume_later(struct uvh_conn *conn)
{
    set_timeout(conn, UVH_TIMEOUT_RESUME, true);
    uvh_worker_resume_later(conn->worker);
}

/* Everything was sent, and somebody waits for that to send more. */
static bool waits_for_room(const struct uvh_conn *conn)
{
    if (conn->stream == NULL)
        return conn->exchange != NULL && uvh_conn_pieces_waits_for_room(conn);
    return conn->stream->wants_drain && conn->tx == UVH_TX_IDLE && !conn->close_after;
}

static void watch(struct uvh_conn *conn, unsigned interest)
{
    /* Fails only when the loop's table cannot grow, which for a socket that is in it already does not happen. */
    if (uvh_socket_watch_want(&conn->watch, interest, on_poll) != 0)
        uvh_conn_close(conn);
}

struct uvh_h1_exchange *uvh_h1_exchange_new(struct uvh_conn *conn)
{
    struct uvh_arena arena;
    struct uvh_h1_exchange *exchange = uvh_arena_begin(&arena, &conn->worker->arenas, sizeof(*exchange));
    if (exchange == NULL)
        return NULL;
    uvh_clear(exchange, offsetof(struct uvh_h1_exchange, base.match));
    uvh_exchange_init(&exchange->base, conn->worker, &uvh_conn_protocol, arena);
    uvhttp_head_init(&exchange->head, NULL, 0);
    exchange->conn = conn;
    exchange->base.match.route = NULL;
    conn->exchange = exchange;
    return exchange;
}

int uvh_conn_accept(struct uvh_worker *worker, int socket, bool reject)
{
    struct uvh_conn *conn = uvh_slab_take(&worker->connections);
    int err = conn == NULL ? UVHTTP_ENOMEM
                           : uvh_socket_watch_init(&conn->watch, worker->loop, socket, worker->has_edges);
    if (err != 0) {
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING, "connection refused: %s", uvhttp_strerror(err));
        if (conn != NULL)
            uvh_slab_give(&worker->connections, conn);
        return err;
    }
    conn->worker = worker;
    conn->timeout_class = UVH_TIMEOUT_CLASSES;
    uvh_timeout_init(&conn->timeout);
    worker->connection_count++;
    uvh_counter_add(&worker->counters.active_connections, 1);
    uvh_worker_watch_time(worker);
    if (reject) {
        uvh_counter_add(&worker->counters.rejected_connections, 1);
        conn->unread = true; /* its request is on the way */
        uvh_conn_rx_refuse(conn, 503, "too many connections");
    }
    uvh_conn_settle(conn, true);
    return 0;
}

void uvh_conn_close(struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED)
        return;
    conn->life = UVH_CONN_CLOSED;
    if (!conn->outgoing) {
        uvh_counter_subtract(&conn->worker->counters.active_connections, 1);
        count_idle(conn, UVH_TIMEOUT_CLASSES);
        uvh_accept_closed(conn->worker);
    }
    uvh_timeout_cancel(&conn->timeout);
    if (conn->exchange != NULL &&
        conn->worker->server->on_finished != NULL) /* as long as the socket knows it */
        uvhttp_request_peer_address(&conn->exchange->base.request);
    if (conn->in.buffer != NULL)
        uvh_buffer_unref(conn->in.buffer);
    if (conn->out.buffer != NULL)
        uvh_buffer_unref(conn->out.buffer);
    conn->in.buffer = conn->out.buffer = NULL;
    uvh_socket_watch_close(&conn->watch, on_handle_closed);
    if (conn->stream != NULL) {
        struct uvhttp_stream *stream = conn->stream;
        conn->stream = NULL;
        uvh_stream_closed(stream); /* last: runs callbacks */
        return;
    }
    if (conn->exchange == NULL)
        return;
    if (conn->rx == UVH_RX_HEAD) { /* no request yet, so nobody to tell */
        uvh_arena_release(&conn->exchange->base.arena);
        conn->exchange = NULL;
    } else {
        uvh_exchange_finish(&conn->exchange->base, true); /* last: runs callbacks */
    }
}

void uvh_conn_close_if_done(struct uvh_conn *conn)
{
    bool sent = conn->tx == UVH_TX_IDLE && conn->out.buffer == NULL;
    /* An answer that was under way when the server began to drain has not said "close", but is the last all the same. */
    bool last =
        conn->close_after || (conn->worker->draining && conn->rx == UVH_RX_HEAD && conn->in.length == 0);
    /* An exchange that has been answered may be held for long, by a handler that blocks or a job: the client need not wait for that. */
    bool answered = conn->exchange == NULL || conn->exchange->base.finished;
    if (conn->life == UVH_CONN_CLOSED || !last || !answered || !sent || conn->rx == UVH_RX_STOPPED)
        return;
    if ((!conn->unread && conn->close_after) || conn->peer_ended) {
        uvh_conn_close(conn);
        return;
    }
    /* Closing with unread input would reset the connection, and the client might lose the answer (RFC 9112 section 9.6). */
    uvh_socket_end_sending(conn->watch.socket);
    conn->rx = UVH_RX_STOPPED;
}

/* A stream is read while it writes: what the client says may be why it does not read. */
static void settle_stream(struct uvh_conn *conn, bool progress)
{
    bool writes = conn->tx != UVH_TX_IDLE;
    bool reads = !conn->stream->paused && !conn->peer_ended;
    if (writes)
        uvh_conn_tx_tighten(conn);
    set_timeout(conn, writes ? UVH_TIMEOUT_WRITE : UVH_TIMEOUT_WAIT, writes && progress);
    watch(conn, (reads ? UVH_WANT_READ : 0u) | (writes ? UVH_WANT_WRITE : 0u));
}

/* The handler's turn: until it answers, then for as long as it likes. */
static void set_waiting(struct uvh_conn *conn, bool progress)
{
    const struct uvhttp_response *response = &conn->exchange->base.response;
    const struct uvhttp_request *request = &conn->exchange->base.request;
    bool heartbeat = response->heartbeat && response->state == UVH_RESPONSE_BEGUN;
    bool paused = request->on_body != NULL && request->body_paused; /* the request is not whole yet */
    if (heartbeat)
        set_timeout(conn, UVH_TIMEOUT_HEARTBEAT, progress);
    else
        set_timeout(conn, uvhttp_response_open(response) && !paused ? UVH_TIMEOUT_HANDLER : UVH_TIMEOUT_WAIT,
                    false);
}

void uvh_conn_settle(struct uvh_conn *conn, bool progress)
{
    if (conn->life == UVH_CONN_CLOSED)
        return;
    if (conn->rx == UVH_RX_STREAM) {
        settle_stream(conn, progress);
        if (waits_for_room(conn))
            resume_later(conn);
        return;
    }
    if (conn->tx == UVH_TX_BODY && uvh_conn_tx_paced(conn)) {
        set_timeout(conn, UVH_TIMEOUT_PACE, true);
        watch(conn, UVH_WANT_NOTHING);
        return;
    }
    if (conn->tx != UVH_TX_IDLE) {
        if (conn->tx == UVH_TX_FLUSH)
            uvh_conn_tx_tighten(conn);
        set_timeout(conn, UVH_TIMEOUT_WRITE, progress);
        watch(conn, UVH_WANT_WRITE);
        return;
    }
    bool keep_reading = !conn->peer_ended && conn->in.length < conn->worker->head_limits.max_size;
    switch ((enum uvh_conn_rx)conn->rx) {
    case UVH_RX_HEAD:
        /* From its first byte a head has to be complete within one timeout, whatever progress it makes. */
        if (conn->exchange != NULL) {
            set_timeout(conn, UVH_TIMEOUT_HEADER, !conn->exchange->head_timed);
            conn->exchange->head_timed = true;
        } else
            set_timeout(conn, UVH_TIMEOUT_IDLE, progress);
        watch(conn, UVH_WANT_READ);
        break;
    case UVH_RX_BODY:
        if (conn->exchange->base.request.body_paused) {
            set_waiting(conn, progress);
            watch(conn, UVH_WANT_NOTHING);
            break;
        }
        set_timeout(conn, UVH_TIMEOUT_BODY, progress);
        watch(conn, UVH_WANT_READ);
        break;
    case UVH_RX_WAIT:
        set_waiting(conn, progress);
        watch(conn, keep_reading ? UVH_WANT_READ : UVH_WANT_NOTHING);
        break;
    case UVH_RX_STREAM: /* see above */
    case UVH_RX_STOPPED:
        set_timeout(conn, UVH_TIMEOUT_LINGER, false);
        uvh_socket_watch_by_level(&conn->watch);
        watch(conn, UVH_WANT_READ);
        break;
    }
    if (!waits_for_room(conn))
        return;
    if (uvh_conn_tx_paced(conn))
        set_timeout(conn, UVH_TIMEOUT_PACE, true);
    else /* a piece was refused, and the socket has taken the rest at once */
        resume_later(conn);
}

static void see_to_kept(struct uvh_conn *conn)
{
    bool end_is_news = conn->peer_ended && (conn->stream == NULL || !conn->stream->end_told);
    if (uvh_conn_takes_bytes(conn) && (conn->in.length > 0 || end_is_news))
        resume_later(conn);
}

void uvh_conn_proceed(struct uvh_conn *conn)
{
    uvh_conn_close_if_done(conn);
    uvh_conn_settle(conn, true);
    see_to_kept(conn);
}

void uvh_conn_read_on(struct uvh_conn *conn)
{
    uvh_conn_settle(conn, false);
    see_to_kept(conn);
}

void uvh_conn_continue(struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED) {
        free_if_unused(conn);
        return;
    }
    if (conn->rx != UVH_RX_STOPPED)
        conn->rx = conn->stream != NULL ? UVH_RX_STREAM : UVH_RX_HEAD;
    if (conn->corked)
        return;
    if (uvh_conn_tx_flush(conn) == 0)
        uvh_conn_proceed(conn);
}

bool uvh_conn_uncork(struct uvh_conn *conn)
{
    conn->corked = false;
    return conn->life == UVH_CONN_OPEN && (conn->tx != UVH_TX_IDLE || uvh_conn_tx_flush(conn) == 0);
}

bool uvh_conn_tell_drained(struct uvh_conn *conn)
{
    if (!waits_for_room(conn) || uvh_conn_tx_paced(conn))
        return false;
    conn->corked = true; /* what is written now leaves together */
    if (conn->stream != NULL)
        uvh_stream_drained(conn->stream);
    else
        uvh_exchange_drained(&conn->exchange->base);
    if (uvh_conn_uncork(conn))
        uvh_conn_proceed(conn);
    return true;
}

void uvh_conn_resume(struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED) { /* and yet something to do: it is not open yet */
        uvh_stream_connect_next(conn);
        return;
    }
    if (!uvh_conn_tell_drained(conn))
        uvh_conn_rx_kept(conn);
    uvh_conn_check(conn);
}

static void refuse_late_answer(struct uvh_conn *conn)
{
    const struct uvh_exchange *exchange = &conn->exchange->base;
    const struct uvh_route *route = exchange->match.route;
    uvh_server_log(conn->worker->server, UVHTTP_LOG_WARNING, "%s: no answer within handler_timeout",
                   uvhttp_request_path(&conn->exchange->base.request));
    uvh_conn_rx_refuse(conn, route == NULL ? 503 : (int)route->timeout_status,
                       "the answer took too long to make");
}

/* A failure is none of the handler's: without memory the next one may do, and a client that has gone closes the connection. */
static void send_heartbeat(struct uvh_conn *conn)
{
    static const char comment[] = ":\n\n";
    (void)uvh_send_beside(&conn->exchange->base, (uvhttp_slice_t){comment, sizeof(comment) - 1});
    uvh_conn_settle(conn, true);
    uvh_conn_check(conn);
}

static void log_timeout(const struct uvh_conn *conn, enum uvh_timeout_class class)
{
    static const char *const names[] = {[UVH_TIMEOUT_IDLE] = "keep_alive_timeout",
                                        [UVH_TIMEOUT_WRITE] = "write_timeout",
                                        [UVH_TIMEOUT_LINGER] = "linger_timeout"};
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (uvh_server_logs(conn->worker->server, UVHTTP_LOG_DEBUG))
        uvh_server_log(conn->worker->server, UVHTTP_LOG_DEBUG, "connection of %s ended by %s",
                       uvh_conn_peer(conn, peer), names[class]);
}

void uvh_conn_timed_out(struct uvh_conn *conn)
{
    enum uvh_timeout_class class = (enum uvh_timeout_class)conn->timeout_class;
    if (class == UVH_TIMEOUT_HEARTBEAT) {
        send_heartbeat(conn);
        return;
    }
    if (class == UVH_TIMEOUT_PACE) {
        uvh_conn_tx_writable(conn);
        uvh_conn_check(conn);
        return;
    }
    if (class != UVH_TIMEOUT_LINGER)
        uvh_counter_add(&conn->worker->counters.timeouts, 1);
    switch (class) {
    case UVH_TIMEOUT_HEADER:
        uvh_conn_rx_refuse(conn, 408, "the request head took too long");
        break;
    case UVH_TIMEOUT_BODY:
        uvh_conn_rx_refuse(conn, 408, "the request body took too long");
        break;
    case UVH_TIMEOUT_HANDLER:
        refuse_late_answer(conn);
        break;
    default:
        log_timeout(conn, class);
        uvh_conn_close(conn);
        return;
    }
    uvh_conn_settle(conn, true);
    uvh_conn_check(conn);
}

void uvh_conn_drain(struct uvh_conn *conn)
{
    bool idle = conn->life == UVH_CONN_OPEN && conn->rx == UVH_RX_HEAD && conn->tx == UVH_TX_IDLE &&
                conn->in.length == 0;
    if (!idle)
        return;
    uvh_conn_rx_readable(conn);
    idle = conn->life == UVH_CONN_OPEN && conn->rx == UVH_RX_HEAD && conn->tx == UVH_TX_IDLE &&
           conn->in.length == 0;
    if (idle)
        uvh_conn_close(conn);
}

const char *uvh_conn_peer(const struct uvh_conn *conn, char text[UVH_SOCKET_ADDRESS_TEXT])
{
    uvh_socket_peer(conn->watch.socket, text);
    return text[0] == '\0' ? "an unknown client" : text;
}

void uvh_conn_check(const struct uvh_conn *conn)
{
#if defined(UVH_DEBUG_CHECKS)
    if (conn->life == UVH_CONN_CLOSED) {
        assert(conn->in.buffer == NULL && conn->out.buffer == NULL);
        return;
    }
    assert(!conn->corked); /* only within an event */
    assert((conn->in.buffer == NULL) == (conn->in.length == 0));
    assert(conn->out.begin <= conn->out.end);
    assert((conn->tx == UVH_TX_IDLE) == (conn->out.buffer == NULL) || conn->tx == UVH_TX_BODY);
    assert(conn->tx != UVH_TX_BODY || conn->exchange != NULL);
    assert(conn->rx != UVH_RX_BODY || conn->exchange != NULL);
    assert(conn->rx != UVH_RX_WAIT || conn->exchange != NULL);
    assert(conn->rx != UVH_RX_HEAD || (conn->exchange != NULL) == (conn->in.length > 0) ||
           conn->timeout_class == UVH_TIMEOUT_RESUME || conn->tx != UVH_TX_IDLE);
    assert((conn->rx == UVH_RX_STREAM) <= (conn->stream != NULL && conn->exchange == NULL));
    assert(conn->rx != UVH_RX_STOPPED || conn->exchange == NULL || conn->exchange->base.finished);
    assert(conn->rx != UVH_RX_STOPPED || conn->tx == UVH_TX_IDLE);
    assert(conn->rx != UVH_RX_STOPPED || conn->watch.told == UVH_TOLD_BY_LEVEL);
    assert(!uvh_list_empty(&conn->timeout.link));
#else
    (void)conn;
#endif
}
