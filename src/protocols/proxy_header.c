/* See the header. The TLS session of a connection is its owner until the header has arrived. */
#include "protocols/proxy_header.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/proxy/header.h"
#include "conn/conn.h"
#include "conn/tls_io.h"
#include "h1/h1.h"
#include "server/client.h"
#include "server/server.h"

static struct uvh_worker *worker_of(const struct uvh_conn *conn)
{
    return UVH_CONTAINER_OF(conn->shared, struct uvh_worker, conns);
}

static bool is_source(const struct uvh_conn *conn)
{
    const struct uvh_proxies *sources = worker_of(conn)->use->generation->proxy_sources;
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    uvh_socket_peer_text(&conn->peer, peer);
    return sources != NULL && uvh_proxies_include(sources, peer);
}

enum uvh_proxy_start uvh_proxy_header_start(struct uvh_worker *worker, const struct uvh_conn *conn)
{
    const struct uvh_generation *generation = worker->use->generation;
    if (generation->proxy_sources == NULL)
        return UVH_PROXY_START_DIRECT;
    if (is_source(conn) || generation->proxy_others == UVHTTP_PROXY_OTHERS_IGNORE)
        return UVH_PROXY_START_HEADER;
    return generation->proxy_others == UVHTTP_PROXY_OTHERS_REFUSE ? UVH_PROXY_START_REFUSE
                                                                  : UVH_PROXY_START_DIRECT;
}

/* ---- the header ---- */

/* Others need no header, so there is nothing to report. */
static void fail(struct uvh_conn *conn, const char *reason)
{
    if (is_source(conn))
        uvh_worker_log_failure(conn, "PROXY protocol", reason);
    uvh_conn_close(conn);
}

static bool keep_values(struct uvh_conn *conn, uvhttp_slice_t values)
{
    if (values.length == 0)
        return true;
    conn->data = uvh_connection_data_new(worker_of(conn)->server, values.length);
    if (conn->data == NULL)
        return false;
    char *copy = (char *)(conn->data + 1);
    memcpy(copy, values.base, values.length);
    conn->data->proxy_values = (uvhttp_slice_t){copy, values.length};
    return true;
}

static bool believe(struct uvh_conn *conn, const struct uvh_proxy_header *header)
{
    if (!keep_values(conn, header->tlvs))
        return false;
    if (header->source == UVH_PROXY_IP) {
        conn->peer.kind = UVH_SOCKET_PEER_IP;
        memcpy(conn->peer.ip, header->client.bytes, sizeof(conn->peer.ip));
    } else if (header->source == UVH_PROXY_UNIX) {
        conn->peer.kind = UVH_SOCKET_PEER_UNIX;
    }
    return true;
}

/* The rest of the bytes belongs to TLS or HTTP. */
static size_t go_on(struct uvh_conn *conn, char *data, size_t size, size_t used)
{
    struct uvh_tls_session *session = conn->owner;
    conn->owner = NULL;
    conn->user = &uvh_h1_first_user;
    if (session == NULL)
        return used > 0 ? used : conn->user->receive(conn, data, size);
    uvh_conn_begin_tls(conn, session);
    if (!uvh_tls_io_feed(conn, data + used, size - used))
        conn->user->out_of_memory(conn);
    return size;
}

static size_t receive(struct uvh_conn *conn, char *data, size_t size)
{
    struct uvh_proxy_header header;
    enum uvh_proxy_result result = uvh_proxy_parse(data, size, &header);
    bool believed = is_source(conn);
    if (result == UVH_PROXY_MORE)
        return 0;
    if (result == UVH_PROXY_INVALID && believed) {
        fail(conn, "the connection does not begin with a valid header");
        return size;
    }
    if (result == UVH_PROXY_DONE && believed && !believe(conn, &header)) {
        fail(conn, "out of memory");
        return size;
    }
    return go_on(conn, data, size, result == UVH_PROXY_DONE ? header.size : 0);
}

/* ---- the other events ---- */

static bool wants_bytes(const struct uvh_conn *conn)
{
    (void)conn;
    return true;
}

/* Without bytes it was a check of the port. */
static void peer_ended(struct uvh_conn *conn)
{
    if (conn->in.length > 0)
        fail(conn, "the peer has closed the connection within the header");
    uvh_conn_close(conn);
}

static void out_of_memory(struct uvh_conn *conn)
{
    fail(conn, "out of memory");
}

static void sent(struct uvh_conn *conn)
{
    (void)conn;
}

static bool wants_drain(const struct uvh_conn *conn)
{
    (void)conn;
    return false;
}

/* While the server drains, a connection without a byte is closed, as one without a request is. */
static bool is_done(const struct uvh_conn *conn)
{
    return worker_of(conn)->closes_idle && conn->in.length == 0 && !conn->socket.readable;
}

/* A connection that need not have a header waits for its first request. */
static enum uvh_conn_timeout settle(struct uvh_conn *conn)
{
    bool idle = conn->owner == NULL && conn->in.length == 0 && !is_source(conn);
    return idle ? UVH_CONN_TIMEOUT_IDLE : UVH_CONN_TIMEOUT_HEADER;
}

static void timed_out(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    conn->shared->callbacks->ended_by(conn, timeout);
    fail(conn, "there is no header within header_timeout");
}

static void closed(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->owner;
    conn->owner = NULL;
    if (session != NULL)
        uvh_tls_session_free(session);
}

static const struct uvh_conn_user user = {
    .wants_bytes = wants_bytes,
    .receive = receive,
    .peer_ended = peer_ended,
    .out_of_memory = out_of_memory,
    .sent = sent,
    .wants_drain = wants_drain,
    .is_done = is_done,
    .settle = settle,
    .timed_out = timed_out,
    .closed = closed,
};

void uvh_proxy_header_await(struct uvh_conn *conn, struct uvh_tls_session *session)
{
    conn->user = &user;
    conn->owner = session;
}
