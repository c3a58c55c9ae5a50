/* Life cycle of a connection: open, events, timeouts, close. Input is in receive.c, output in
 * output.c. */
#include "conn/conn.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "conn/conn_io.h"
#include "platform/socket_connect.h"

/* ---- timeouts ---- */

/* Counted on each change, because only the loop's thread may walk the lists. */
static void count_class(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    _Atomic uint64_t *counters = conn->shared->in_class;
    if (conn->timeout_class == timeout || conn->outgoing)
        return;
    if (conn->timeout_class != UVH_CONN_TIMEOUTS)
        uvh_counter_subtract(&counters[conn->timeout_class], 1);
    if (timeout != UVH_CONN_TIMEOUTS)
        uvh_counter_add(&counters[timeout], 1);
}

/* A busy connection moves to the end of its list at most a few times a second. A move touches
 * neighbours in the list, which are cache misses with thousands of connections. The list's timeout
 * is longer by the same amount. */
static bool was_armed_lately(const struct uvh_conn *conn, uint64_t now)
{
    uint64_t deadline = now + conn->shared->timeouts[UVH_CONN_TIMEOUT_IDLE].length_ms;
    return deadline - conn->timeout.deadline < UVH_CONN_IDLE_SLACK_MS;
}

static bool has_progress(const struct uvh_conn *conn, enum uvh_conn_timeout timeout, uint64_t now)
{
    if (conn->restart_timeout)
        return true;
    if (timeout == UVH_CONN_TIMEOUT_WRITE)
        return conn->sent;
    if (timeout == UVH_CONN_TIMEOUT_PING)
        return conn->received;
    return timeout == UVH_CONN_TIMEOUT_IDLE && (conn->received || conn->sent) &&
           !was_armed_lately(conn, now);
}

static struct uvh_timeout_list *timeouts_for(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    if (timeout == UVH_CONN_TIMEOUT_WRITE && conn->write_timeout != 0)
        return uvh_timeout_lengths_find(conn->shared->write_timeouts,
                                        conn->write_timeout * (uint64_t)1000);
    return &conn->shared->timeouts[timeout];
}

static void set_timeout(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    uint64_t now = uv_now(conn->shared->loop);
    if (conn->timeout_class == timeout && !has_progress(conn, timeout, now))
        return;
    if (timeout == UVH_CONN_TIMEOUT_WRITE)
        conn->unsent = (uint32_t)uvh_conn_io_unsent(conn);
    count_class(conn, timeout);
    conn->timeout_class = (unsigned char)timeout;
    uvh_timeout_arm(timeouts_for(conn, timeout), &conn->timeout, now);
}

/* Open by early data, while the handshake is in progress. */
static bool is_early(const struct uvh_conn *conn)
{
    return UVH_UNLIKELY(conn->tls != NULL) && uvh_tls_session_is_early(conn->tls);
}

static void settle(struct uvh_conn *conn)
{
    enum uvh_conn_timeout timeout = conn->user->settle(conn);
    if (conn->state == UVH_CONN_HANDSHAKING) {
        timeout = conn->outgoing ? timeout : UVH_CONN_TIMEOUT_HANDSHAKE;
    } else if (conn->state == UVH_CONN_LINGERING) {
        timeout = UVH_CONN_TIMEOUT_LINGER;
    } else if (is_early(conn) && timeout != UVH_CONN_TIMEOUT_NONE && !uvh_conn_has_output(conn)) {
        /* a request that the client has started does not extend the handshake timeout */
        timeout = UVH_CONN_TIMEOUT_HANDSHAKE;
        conn->restart_timeout = uvh_list_empty(&conn->timeout.link);
    } else if (uvh_conn_has_output(conn)) {
        if (!conn->socket.writable)
            uvh_output_shrink(conn);
        timeout = uvh_output_is_paced(conn) ? UVH_CONN_TIMEOUT_NONE : UVH_CONN_TIMEOUT_WRITE;
    }
    set_timeout(conn, timeout);
    conn->restart_timeout = false;
}

/* ---- events ---- */

static bool takes_bytes(const struct uvh_conn *conn)
{
    return conn->state == UVH_CONN_OPEN && conn->user->wants_bytes(conn);
}

/* The rest of the input is discarded. It is still read, because the peer may not accept output
 * before its input has been read. */
static bool discards(const struct uvh_conn *conn)
{
    return conn->state == UVH_CONN_LINGERING || conn->discarding;
}

static bool sees_peer_end(const struct uvh_conn *conn)
{
    return (conn->socket.peer_ended || conn->peer_ended) && conn->state == UVH_CONN_OPEN &&
           conn->user->awaits_peer_end != NULL && conn->user->awaits_peer_end(conn);
}

static void schedule(struct uvh_conn *conn)
{
    if (!uvh_list_empty(&conn->ready))
        return;
    uvh_list_append(&conn->shared->ready, &conn->ready);
    conn->shared->callbacks->schedule(conn->shared);
}

/* True when the connection can continue without a socket event. It continues in the next loop
 * iteration, not at once: the event may be a call from a handler, which does not expect other
 * handlers to run inside it. */
static bool has_work(const struct uvh_conn *conn)
{
    if (conn->state == UVH_CONN_HANDSHAKING)
        return !conn->tls->working && (conn->socket.readable || conn->socket.failed);
    if (uvh_conn_has_output(conn) && conn->socket.writable && !uvh_output_is_paced(conn))
        return true;
    if (conn->state == UVH_CONN_OPEN && conn->user->wants_drain(conn))
        return true;
    if (sees_peer_end(conn))
        return true;
    bool input =
        (conn->in.length > 0 && !conn->starved) || (conn->peer_ended && !conn->end_reported);
    bool readable = conn->socket.readable && !conn->peer_ended;
    if (discards(conn))
        return readable;
    if (conn->socket.failed && conn->state == UVH_CONN_OPEN)
        return true;
    return (input || readable) && takes_bytes(conn);
}

static void close_if_done(struct uvh_conn *conn)
{
    if (conn->state != UVH_CONN_OPEN || uvh_conn_has_output(conn) || !conn->user->is_done(conn))
        return;
    /* close_notify can be sent only after the handshake. Input until then is discarded. */
    if (is_early(conn) && !conn->peer_ended) {
        uvh_receive_forget(conn);
        conn->state = UVH_CONN_HANDSHAKING;
        return;
    }
    int ended = uvh_conn_io_end(conn);
    if (ended == -EAGAIN)
        return; /* close_notify is queued like other output */
    if (ended != 0) {
        uvh_conn_close(conn);
        return;
    }
    /* Without `close_after` the peer does not know that the connection ends. */
    bool linger = conn->linger || !conn->close_after || conn->socket.readable;
    if (conn->peer_ended || !linger) {
        uvh_conn_close(conn);
        return;
    }
    /* A close with unread input resets the connection, and the peer may lose sent data (RFC 9112
     * section 9.6). */
    uvh_conn_io_shutdown(conn);
    uvh_receive_forget(conn);
    conn->state = UVH_CONN_LINGERING;
}

static void finish_event(struct uvh_conn *conn)
{
    if (conn->state == UVH_CONN_CONNECTING)
        return;
    if (conn->user->fill != NULL)
        conn->user->fill(conn);
    bool pending = uvh_conn_has_output(conn);
    if (pending && conn->socket.writable && !conn->yielded && uvh_output_flush(conn) != 0)
        return;
    close_if_done(conn);
    if (uvh_conn_is_closed(conn))
        return;
    settle(conn);
    if (has_work(conn))
        schedule(conn);
    conn->received = conn->sent = conn->yielded = false;
}

static void free_if_unused(struct uvh_conn *conn)
{
    if (!conn->removed || conn->refs > 0 || conn->depth > 0)
        return;
    struct uvh_conn_shared *shared = conn->shared;
    if (conn->data != NULL && conn->data->release != NULL)
        conn->data->release(conn->data->data);
    uvh_free(shared->allocator, conn->data);
    uvh_slab_give(&shared->slab, conn);
    shared->count--;
    shared->callbacks->freed(shared);
}

void uvh_conn_event_end(struct uvh_conn *conn)
{
    if (conn->depth > 1) {
        conn->depth--;
        return;
    }
    if (!uvh_conn_is_closed(conn))
        finish_event(conn);
    conn->depth = 0;
    uvh_conn_check(conn);
    if (uvh_conn_is_closed(conn))
        free_if_unused(conn);
    else
        uvh_poller_update(&conn->socket);
}

static void take_input(struct uvh_conn *conn)
{
    if (discards(conn)) {
        uvh_receive_discard(conn);
        return;
    }
    if (!takes_bytes(conn)) {
        /* After a reset the peer accepts no output either. */
        if (conn->state == UVH_CONN_OPEN && conn->socket.failed)
            uvh_conn_close(conn);
        return;
    }
    if (conn->in.length > 0 && !conn->starved)
        uvh_receive_kept(conn);
    else if (conn->socket.readable && !conn->peer_ended)
        uvh_receive_readable(conn);
    else if (conn->peer_ended && !conn->end_reported)
        uvh_receive_end(conn);
    else if (conn->socket.failed)
        uvh_conn_close(conn);
}

/* Output first: input may be blocked by it. */
static void work(struct uvh_conn *conn)
{
    if (conn->state == UVH_CONN_HANDSHAKING)
        uvh_tls_io_handshake(conn, true);
    if (conn->state == UVH_CONN_HANDSHAKING)
        return;
    if (uvh_conn_has_output(conn) && conn->socket.writable && uvh_output_flush(conn) != 0)
        return;
    if (conn->state == UVH_CONN_OPEN && conn->user->wants_drain(conn))
        conn->user->drain(conn);
    if (sees_peer_end(conn))
        conn->user->peer_end_seen(conn);
    if (!uvh_conn_is_closed(conn))
        take_input(conn);
}

void uvh_conn_ready(struct uvh_poller_socket *socket)
{
    struct uvh_conn *conn = UVH_CONTAINER_OF(socket, struct uvh_conn, socket);
    uvh_conn_event_begin(conn);
    if (conn->state != UVH_CONN_CONNECTING) {
        work(conn);
    } else if (conn->socket.writable) {
        uvh_socket_read_peer(conn->socket.fd, &conn->peer);
        conn->user->connected(conn, uvh_socket_connect_result(conn->socket.fd));
    }
    uvh_conn_event_end(conn);
}

void uvh_conn_resume(struct uvh_conn *conn)
{
    uvh_conn_event_begin(conn);
    work(conn);
    uvh_conn_event_end(conn);
}

/* A timeout counts only when a read returns nothing. After a pause of the process or the loop,
 * timers fire before sockets are polled. */
void uvh_conn_try_read(struct uvh_conn *conn)
{
    if (!takes_bytes(conn) || conn->peer_ended)
        return;
    conn->socket.readable = true;
    uvh_receive_readable(conn);
}

static void end_by(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    conn->shared->callbacks->ended_by(conn, timeout);
    uvh_conn_close(conn);
}

/* The socket is reported writable when a third of its buffer is free. A slow peer may therefore
 * have accepted bytes since the last event. */
static void write_timed_out(struct uvh_conn *conn)
{
    conn->socket.writable = true;
    if (uvh_output_flush(conn) != 0 || conn->sent)
        return;
    if (uvh_conn_io_unsent(conn) < conn->unsent)
        conn->restart_timeout = true;
    else
        end_by(conn, UVH_CONN_TIMEOUT_WRITE);
}

void uvh_conn_drain_handshake(struct uvh_conn *conn)
{
    uvh_conn_event_begin(conn);
    if (conn->state == UVH_CONN_HANDSHAKING)
        uvh_tls_io_drain(conn);
    else
        uvh_conn_try_read(conn);
    uvh_conn_event_end(conn);
}

/* After a step on a thread during which the timeout expired. The client of a complete ClientHello
 * has the response now, and the time to continue. Any other step gives no more time: a client that
 * sends single bytes, each of which takes a step, would never be closed. */
static void end_if_overdue(struct uvh_conn *conn, bool had_hello)
{
    if (conn->state != UVH_CONN_HANDSHAKING || !conn->tls->overdue)
        return;
    conn->tls->overdue = false;
    if (uvh_tls_session_has_hello(conn->tls) == had_hello)
        end_by(conn, UVH_CONN_TIMEOUT_HANDSHAKE);
}

void uvh_conn_worked(struct uvh_conn *conn, struct uvh_tls_session *session)
{
    bool had_hello = uvh_tls_session_has_hello(session);
    uvh_conn_event_begin(conn);
    uvh_handshakes_worked(conn->shared, session);
    if (uvh_conn_is_closed(conn)) {
        uvh_tls_session_free(session);
    } else {
        uvh_tls_io_worked(conn);
        end_if_overdue(conn, had_hello);
    }
    uvh_conn_event_end(conn);
    uvh_conn_unref(conn);
}

static void handshake_timed_out(struct uvh_conn *conn)
{
    bool open = conn->state == UVH_CONN_OPEN; /* by early data */
    conn->socket.readable = true;
    if (open)
        uvh_conn_try_read(conn);
    else
        uvh_tls_io_handshake(conn, false);
    if (open && conn->received)
        uvh_timeout_cancel(&conn->timeout); /* uvh_conn_event_end restarts it */
    if (open ? uvh_conn_is_closed(conn) || !is_early(conn) || conn->received
             : conn->state != UVH_CONN_HANDSHAKING)
        return;
    if (!open && conn->tls->working) { /* what the peer has sent is being processed */
        conn->tls->overdue = true;
        conn->restart_timeout = true; /* until the end of the step */
        return;
    }
    if (conn->outgoing)
        conn->user->connected(conn, UV_ETIMEDOUT);
    else
        end_by(conn, UVH_CONN_TIMEOUT_HANDSHAKE);
}

void uvh_conn_timed_out(struct uvh_conn *conn)
{
    enum uvh_conn_timeout timeout = (enum uvh_conn_timeout)conn->timeout_class;
    uvh_conn_event_begin(conn);
    if (timeout == UVH_CONN_TIMEOUT_WRITE) {
        write_timed_out(conn);
    } else if (timeout == UVH_CONN_TIMEOUT_HANDSHAKE) {
        handshake_timed_out(conn);
    } else if (conn->state == UVH_CONN_LINGERING) {
        end_by(conn, timeout);
    } else {
        uvh_conn_try_read(conn);
        bool open = !uvh_conn_is_closed(conn);
        /* The same timeout may have been restarted for the head that follows the late one. */
        bool goes_on = open && conn->received &&
                       (timeout == UVH_CONN_TIMEOUT_IDLE || timeout == UVH_CONN_TIMEOUT_PING ||
                        conn->user->settle(conn) != timeout || conn->restart_timeout);
        conn->restart_timeout |= open && conn->received;
        if (open && !goes_on && !conn->close_after)
            conn->user->timed_out(conn, timeout);
    }
    uvh_conn_event_end(conn);
}

/* ---- open and close ---- */

uint32_t uvh_conn_old_at(uint64_t now_ms, uint64_t max_ms, uint32_t random)
{
    uint64_t earlier = max_ms / 10 * random / UINT32_MAX;
    return (uint32_t)((now_ms + max_ms - earlier + 999) / 1000);
}

bool uvh_conn_is_past(const struct uvh_conn *conn, uint32_t second)
{
    return uv_now(conn->shared->loop) / 1000 >= second;
}

/* Numbers that differ are enough (a linear congruential generator). */
static uint32_t next_random(struct uvh_conn_shared *shared)
{
    shared->random = shared->random * 1664525 + 1013904223;
    return shared->random;
}

struct uvh_conn *uvh_conn_open(struct uvh_conn_shared *shared, int socket,
                               const struct uvh_conn_user *user, int *error)
{
    struct uvh_conn *conn = uvh_slab_take(&shared->slab);
    *error = conn == NULL ? UVHTTP_ENOMEM : uvh_poller_add(&shared->poller, &conn->socket, socket);
    if (*error != 0) {
        if (conn != NULL)
            uvh_slab_give(&shared->slab, conn);
        return NULL;
    }
    conn->shared = shared;
    conn->user = user;
    conn->timeout_class = UVH_CONN_TIMEOUTS;
    conn->depth = 1;
    if (shared->max_age_ms > 0)
        conn->old_at =
            uvh_conn_old_at(uv_now(shared->loop), shared->max_age_ms, next_random(shared));
    uvh_socket_read_peer(socket, &conn->peer);
    uvh_timeout_init(&conn->timeout);
    uvh_list_init(&conn->ready);
    shared->count++;
    return conn;
}

void uvh_conn_close(struct uvh_conn *conn)
{
    if (uvh_conn_is_closed(conn))
        return;
    conn->state = UVH_CONN_CLOSED;
    count_class(conn, UVH_CONN_TIMEOUTS);
    uvh_timeout_cancel(&conn->timeout);
    uvh_list_remove(&conn->ready);
    conn->shared->callbacks->closed(conn);
    uvh_receive_forget(conn);
    uvh_output_release(conn);
    conn->user->closed(conn); /* runs callbacks, which may still read the peer's address */
    conn->out.entries = NULL;
    if (conn->tls != NULL && !conn->tls->working) /* otherwise uvh_conn_worked frees it */
        uvh_tls_session_free(conn->tls);
    conn->tls = NULL;
    uvh_poller_remove(&conn->shared->poller, &conn->socket);
}

void uvh_conn_end(struct uvh_conn *conn)
{
    if (conn->state == UVH_CONN_OPEN && !uvh_conn_has_output(conn))
        uvh_conn_io_end(conn);
    uvh_conn_close(conn);
}

void uvh_conn_reset(struct uvh_conn *conn)
{
    if (!uvh_conn_is_closed(conn))
        uvh_conn_io_reset_when_closed(conn);
    uvh_conn_close(conn);
}

void uvh_conn_removed(struct uvh_poller_socket *socket)
{
    struct uvh_conn *conn = UVH_CONTAINER_OF(socket, struct uvh_conn, socket);
    conn->removed = true;
    free_if_unused(conn);
}

void uvh_conn_unref(struct uvh_conn *conn)
{
    conn->refs--;
    free_if_unused(conn);
}

const char *uvh_conn_peer(const struct uvh_conn *conn, char text[UVH_SOCKET_ADDRESS_TEXT])
{
    uvh_socket_peer_text(&conn->peer, text);
    return text[0] == '\0' ? "an unknown client" : text;
}

void uvh_conn_check(const struct uvh_conn *conn)
{
#if defined(UVH_DEBUG_CHECKS)
    assert(conn->depth == 0);
    if (uvh_conn_is_closed(conn)) {
        assert(conn->in.buffer == NULL && conn->out.buffer == NULL);
        assert(uvh_list_empty(&conn->ready) && uvh_list_empty(&conn->timeout.link));
        return;
    }
    assert((conn->in.buffer == NULL) == (conn->in.length == 0));
    assert(conn->state != UVH_CONN_LINGERING || !uvh_conn_has_output(conn));
    assert((conn->out.buffer == NULL) == (conn->out.begin == conn->out.end));
    assert((conn->state == UVH_CONN_CONNECTING) == uvh_list_empty(&conn->timeout.link));
    /* A connection that can continue and is not scheduled would hang. */
    assert(conn->state == UVH_CONN_CONNECTING || !has_work(conn) || !uvh_list_empty(&conn->ready));
#else
    (void)conn;
#endif
}
