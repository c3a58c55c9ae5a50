/* HTTP/1.1 as the user of a connection, and as the protocol of its exchanges: the two tables of
 * callbacks, and small functions without a file of their own. */
#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "h1/h1.h"
#include "server/protocols.h"
#include "server/send.h"
#include "server/server.h"

/* ---- callbacks of the connection ---- */

/* While a response is pending, no request is read, so a client that does not read cannot make the
 * server queue responses. */
static bool wants_bytes(const struct uvh_conn *conn)
{
    const struct uvh_h1 *h1 = uvh_h1_of((struct uvh_conn *)(uintptr_t)conn);
    if (uvh_conn_is_blocked(conn))
        return false;
    if (h1->state == UVH_H1_HEAD)
        return !conn->close_after;
    return h1->state == UVH_H1_BODY && !uvh_h1_exchange(h1)->base.request.body_paused;
}

/* There is no request yet, so no handler to notify. */
static void drop_head(struct uvh_conn *conn)
{
    struct uvh_h1_exchange *exchange = conn->owner;
    if (exchange == NULL)
        return;
    uvh_arena_release(&exchange->base.arena);
    conn->owner = NULL;
    uvh_conn_unref(conn);
}

/* A complete request is still processed. An incomplete one can never be completed. */
static void peer_ended(struct uvh_conn *conn)
{
    const struct uvh_h1 *h1 = uvh_h1_of(conn);
    if (h1->state == UVH_H1_WAIT)
        return;
    /* the pending response is sent first */
    if (h1->state == UVH_H1_HEAD && uvh_conn_has_output(conn)) {
        drop_head(conn);
        uvh_conn_close_when_sent(conn, false);
    } else {
        uvh_conn_end(conn);
    }
}

static bool awaits_peer_end(const struct uvh_conn *conn)
{
    const struct uvh_h1_exchange *exchange = conn->owner;
    return exchange != NULL && uvh_exchange_awaits_peer_end(&exchange->base);
}

static void peer_end_seen(struct uvh_conn *conn)
{
    struct uvh_h1_exchange *exchange = conn->owner;
    uvh_exchange_peer_ended(&exchange->base);
}

static bool waits_for_writable(const struct uvh_conn *conn)
{
    const struct uvh_h1_exchange *exchange = conn->owner;
    return exchange != NULL && exchange->base.response.wants_drain &&
           exchange->base.response.state == UVH_RESPONSE_BEGUN && !uvh_conn_has_output(conn);
}

/* An event stream as a response to HEAD: only its head is sent. */
static bool is_bodiless_stream(const struct uvh_h1_exchange *exchange)
{
    return exchange != NULL && exchange->base.response.heartbeat &&
           exchange->base.response.state == UVH_RESPONSE_BEGUN &&
           exchange->sends == UVH_H1_SENDS_NOTHING;
}

static bool wants_drain(const struct uvh_conn *conn)
{
    const struct uvh_h1_exchange *exchange = conn->owner;
    return is_bodiless_stream(exchange) ||
           (waits_for_writable(conn) && uvh_exchange_allowed(&exchange->base) > 0);
}

static void drain(struct uvh_conn *conn)
{
    struct uvh_h1_exchange *exchange = conn->owner;
    if (is_bodiless_stream(exchange))
        uvh_exchange_end_events(&exchange->base);
    else
        uvh_exchange_drained(&exchange->base);
}

/* A blocking handler or a job may keep a reference to a finished exchange for long; the client need
 * not wait for that. */
static bool is_done(const struct uvh_conn *conn)
{
    const struct uvh_h1 *h1 = uvh_h1_of((struct uvh_conn *)(uintptr_t)conn);
    const struct uvh_h1_exchange *exchange = conn->owner;
    /* While the server drains, requests that the client has already sent are served. */
    bool idle = h1->state == UVH_H1_HEAD && conn->in.length == 0 && !conn->socket.readable;
    bool last = conn->close_after || (uvh_h1_worker(h1)->closes_idle && idle);
    return last && (exchange == NULL || exchange->base.finished);
}

/* The handler is running: the handler timeout applies until it responds, then none. */
static void set_waiting(struct uvh_exchange *exchange, const struct uvh_conn *conn)
{
    const struct uvhttp_response *response = &exchange->response;
    bool incomplete = exchange->request.on_body != NULL && exchange->request.body_paused;
    if (response->heartbeat && response->state == UVH_RESPONSE_BEGUN)
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_HEARTBEAT, conn->sent);
    else if (uvhttp_response_open(response) && !incomplete)
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_HANDLER, false);
    else
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_NONE, false);
}

static void set_exchange_timeout(struct uvh_h1 *h1, struct uvh_exchange *exchange)
{
    const struct uvh_conn *conn = &h1->conn;
    if (uvh_output_is_paced(conn) || (waits_for_writable(conn) && !wants_drain(conn)))
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_PACE, false);
    else if (uvh_conn_has_output(conn))
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_NONE, false);
    else if (h1->state == UVH_H1_BODY && !exchange->request.body_paused)
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_BODY, conn->received);
    else
        set_waiting(exchange, conn);
}

static enum uvh_conn_timeout settle(struct uvh_conn *conn)
{
    struct uvh_h1 *h1 = uvh_h1_of(conn);
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange == NULL)
        return h1->skip > 0 ? UVH_CONN_TIMEOUT_LINGER : UVH_CONN_TIMEOUT_IDLE;
    if (h1->state != UVH_H1_HEAD) {
        if (!exchange->base.finished)
            set_exchange_timeout(h1, &exchange->base);
        return UVH_CONN_TIMEOUT_NONE;
    }
    /* A head must be complete within one timeout after its first byte, regardless of progress. */
    conn->restart_timeout |= !exchange->head_timed;
    exchange->head_timed = true;
    return UVH_CONN_TIMEOUT_HEADER;
}

static void conn_timed_out(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    if (timeout == UVH_CONN_TIMEOUT_HEADER) {
        uvh_counter_add(&uvh_h1_worker(uvh_h1_of(conn))->counters.timeouts, 1);
        uvh_h1_reject(uvh_h1_of(conn), 408, "the request head was not received in time");
    } else {
        conn->shared->callbacks->ended_by(conn, timeout);
        if (timeout == UVH_CONN_TIMEOUT_IDLE)
            uvh_conn_end(conn);
        else
            uvh_conn_close(conn);
    }
}

static void is_plain(struct uvh_conn *conn)
{
    if (conn->close_after) /* already rejected */
        return;
    uvh_h1_reject(uvh_h1_of(conn), 400,
                  "a plain HTTP request was sent to an HTTPS port: use https://");
}

static void closed(struct uvh_conn *conn)
{
    struct uvh_h1 *h1 = uvh_h1_of(conn);
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange == NULL)
        return;
    if (h1->state == UVH_H1_HEAD) {
        drop_head(conn);
        return;
    }
    exchange->base.sent -= uvh_output_referenced(&conn->out);
    uvh_exchange_finish(&exchange->base, true);
}

#define CALLBACKS                                                                               \
    .wants_bytes = wants_bytes, .peer_ended = peer_ended, .awaits_peer_end = awaits_peer_end,   \
    .peer_end_seen = peer_end_seen, .out_of_memory = uvh_h1_out_of_memory, .sent = uvh_h1_sent, \
    .read_failed = uvh_h1_read_failed, .wants_drain = wants_drain, .drain = drain,              \
    .is_done = is_done, .timed_out = conn_timed_out, .is_plain = is_plain, .closed = closed

const struct uvh_conn_user uvh_h1_user = {CALLBACKS, .receive = uvh_h1_receive, .settle = settle};

const struct uvh_conn_user uvh_h1_first_user = {CALLBACKS, .receive = uvh_protocols_receive,
                                                .settle = uvh_protocols_settle};

bool uvh_h1_is_idle(const struct uvh_conn *conn)
{
    const struct uvh_h1 *h1 = uvh_h1_of((struct uvh_conn *)(uintptr_t)conn);
    return conn->state == UVH_CONN_OPEN && h1->state == UVH_H1_HEAD && conn->owner == NULL &&
           h1->skip == 0 && conn->in.length == 0 && !uvh_conn_has_output(conn);
}

/* ---- callbacks of exchanges ---- */

static bool exchange_peer_ended(const struct uvh_exchange *base)
{
    const struct uvh_conn *conn =
        &uvh_h1_exchange_of((struct uvh_exchange *)(uintptr_t)base)->h1->conn;
    return conn->socket.peer_ended || conn->peer_ended;
}

/* The end may have arrived already: then the end of this event reports it. */
static void await_peer_end(struct uvh_exchange *base)
{
    struct uvh_conn *conn = &uvh_h1_exchange_of(base)->h1->conn;
    uvh_conn_event_begin(conn);
    uvh_conn_event_end(conn);
}

static void timed_out(struct uvh_exchange *base, enum uvh_exchange_timeout timeout)
{
    struct uvh_h1 *h1 = uvh_h1_exchange_of(base)->h1;
    struct uvh_conn *conn = &h1->conn;
    uvh_conn_event_begin(conn);
    if (timeout == UVH_EXCHANGE_TIMEOUT_BODY) {
        uvh_conn_try_read(conn);
        if (!conn->received && !uvh_conn_is_closed(conn)) {
            uvh_counter_add(&base->worker->counters.timeouts, 1);
            uvh_h1_reject(h1, 408, "the request body was not received in time");
        }
    } else if (timeout == UVH_EXCHANGE_TIMEOUT_HANDLER) {
        uvh_counter_add(&base->worker->counters.timeouts, 1);
        uvh_h1_reject(h1, uvh_exchange_late_status(base), "the response was not ready in time");
    } else if (timeout == UVH_EXCHANGE_TIMEOUT_HEARTBEAT) {
        uvh_exchange_send_heartbeat(base);
    } /* for PACE the end of the event sends what is due */
    uvh_conn_event_end(conn);
}

static void released(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_h1 *h1 = exchange->h1;
    struct uvh_conn *conn = &h1->conn;
    uvh_conn_event_begin(conn);
    if (exchange->pinned != NULL)
        uvh_buffer_unref(exchange->pinned);
    if (exchange->body.data != NULL)
        uvh_bytes_release(&exchange->body);
    /* A response can end before the request's body. */
    if (!exchange->request_complete && !conn->close_after && uvh_h1_skips_body(exchange)) {
        h1->skip = (uint32_t)exchange->body_remaining;
    } else if (!exchange->request_complete) {
        uvh_conn_close_when_sent(conn, true);
        /* the client may not read the response before it has sent everything */
        conn->discarding = true;
    }
    if (conn->owner == exchange) /* not after an upgrade */
        conn->owner = NULL;
    h1->state = UVH_H1_HEAD;
    uvh_arena_release(&base->arena);
    uvh_conn_unref(conn);
    uvh_conn_event_end(conn);
}

static void peer(struct uvh_exchange *base, char *text)
{
    uvh_socket_peer_text(&uvh_h1_exchange_of(base)->h1->conn.peer, text);
}

static struct uvh_connection_data **connection_data(struct uvh_exchange *base)
{
    return &uvh_h1_exchange_of(base)->h1->conn.data;
}

static const struct uvh_protocol h1_protocol = {
    .respond = uvh_h1_respond,
    .begin = uvh_h1_chunks_begin,
    .write = uvh_h1_chunks_write,
    .is_writable = uvh_h1_chunks_is_writable,
    .pending = uvh_h1_chunks_pending,
    .await_writable = uvh_h1_chunks_await_room,
    .await_peer_end = await_peer_end,
    .peer_ended = exchange_peer_ended,
    .end = uvh_h1_chunks_end,
    .upgrade = uvh_h1_upgrade,
    .interim = uvh_h1_chunks_interim,
    .admitted = uvh_h1_body_admitted,
    .pause_body = uvh_h1_body_pause,
    .read_body = uvh_h1_body_read,
    .abandon = uvh_h1_abandon,
    .timed_out = timed_out,
    .released = released,
    .peer = peer,
    .connection_data = connection_data,
};

struct uvh_h1_exchange *uvh_h1_exchange_new(struct uvh_h1 *h1)
{
    struct uvh_worker *worker = uvh_h1_worker(h1);
    struct uvh_arena arena;
    struct uvh_h1_exchange *exchange = uvh_arena_begin(&arena, &worker->arenas, sizeof(*exchange));
    if (exchange == NULL)
        return NULL;
    uvh_clear(exchange, offsetof(struct uvh_h1_exchange, base.match));
    uvh_exchange_init(&exchange->base, worker, &h1_protocol, arena);
    uvh_exchange_begin_use(&exchange->base);
    uvhttp_head_init(&exchange->head, NULL, 0);
    exchange->h1 = h1;
    exchange->base.match.route = NULL;
    h1->conn.owner = exchange;
    uvh_conn_ref(&h1->conn);
    return exchange;
}
