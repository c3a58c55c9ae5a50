/* The functions of server/protocols.h, and the choice of a protocol: by ALPN, or without TLS by the
 * first bytes.
 *
 * A connection begins with uvh_h1_first_user, so that one of HTTP/1.1 costs nothing more than a
 * comparison of its first bytes. */
#include "server/protocols.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/http2/frame.h"
#include "h1/h1.h"
#include "h2/h2.h"
#include "protocols/proxy_header.h"
#include "server/server.h"
#include "tls/contexts.h"
#include "tls/info.h"

/* Minimum times for a new client when descriptors are scarce: until its first bytes, and for a
 * handshake. */
enum { FIRST_REQUEST_MS = 1000, HANDSHAKE_MS = 3000 };

/* ---- the choice ---- */

static struct uvh_worker *worker_of(const struct uvh_conn *conn)
{
    return UVH_CONTAINER_OF(conn->shared, struct uvh_worker, conns);
}

enum choice { HTTP1, HTTP2, LATER };

/* Compares the first bytes with the preface. A client that sends a part of it may be one of
 * HTTP/1.1 until the part is longer than a method. */
static enum choice choose_by_preface(const struct uvh_conn *conn, const char *data, size_t size)
{
    size_t length = size < UVH_H2_PREFACE_SIZE ? size : UVH_H2_PREFACE_SIZE;
    if (memcmp(data, UVH_H2_PREFACE, length) != 0 || !worker_of(conn)->server->config.http2)
        return HTTP1;
    return size < UVH_H2_PREFACE_SIZE ? LATER : HTTP2;
}

static enum choice choose(const struct uvh_conn *conn, const char *data, size_t size)
{
    if (conn->tls == NULL)
        return data[0] == 'P' ? choose_by_preface(conn, data, size) : HTTP1;
    return strcmp(conn->tls->info->public.protocol, "h2") == 0 ? HTTP2 : HTTP1;
}

size_t uvh_protocols_receive(struct uvh_conn *conn, char *data, size_t size)
{
    enum choice choice = choose(conn, data, size);
    if (choice == LATER)
        return 0;
    if (choice == HTTP1)
        conn->user = &uvh_h1_user;
    else if (!uvh_h2_begin(conn))
        return size;
    return conn->user->receive(conn, data, size);
}

/* A part of the preface is the start of a head. */
enum uvh_conn_timeout uvh_protocols_settle(struct uvh_conn *conn)
{
    bool begun = conn->owner == NULL && conn->in.length > 0;
    return begun ? UVH_CONN_TIMEOUT_HEADER : uvh_h1_user.settle(conn);
}

/* ---- callbacks of the worker ---- */

size_t uvh_protocols_conn_size(void)
{
    return sizeof(struct uvh_h1);
}

/* Creates the TLS session of an accepted connection; NULL for plain text. `*err` is set on
 * failure. */
static struct uvh_tls_session *begin_tls(struct uvh_worker *worker, struct uvh_tls_contexts *tls,
                                         int *err)
{
    if (tls == NULL)
        return NULL;
    struct uvh_tls_session *session =
        uvh_tls_contexts_accept(tls, worker->index, &worker->conns.buffers);
    *err = session == NULL ? UVHTTP_ENOMEM : 0;
    return session;
}

int uvh_protocols_accept(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls,
                         bool reject)
{
    int err = 0;
    struct uvh_conn *conn = NULL;
    struct uvh_tls_session *session = begin_tls(worker, tls, &err);
    if (err == 0)
        conn = uvh_conn_open(&worker->conns, socket, &uvh_h1_first_user, &err);
    if (conn == NULL) {
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING, "connection refused: %s",
                       uvhttp_strerror(err));
        if (session != NULL)
            uvh_tls_session_free(session);
        return err;
    }
    uvh_counter_add(&worker->conns.open, 1);
    enum uvh_proxy_start start = uvh_proxy_header_start(worker, conn);
    if (start == UVH_PROXY_START_HEADER && !reject)
        uvh_proxy_header_await(conn, session);
    else if (session != NULL)
        uvh_conn_begin_tls(conn, session);
    conn->socket.readable = worker->closes_idle; /* one last read */
    uvh_worker_stats_time(worker);
    if (start == UVH_PROXY_START_REFUSE) {
        uvh_worker_log_failure(conn, "PROXY protocol", "the peer is not one of the sources");
        uvh_conn_close(conn);
    } else if (reject) {
        uvh_counter_add(&worker->counters.rejected_connections, 1);
        if (start == UVH_PROXY_START_HEADER && session != NULL)
            uvh_conn_close(conn); /* TLS cannot start before the header */
        else
            uvh_h1_reject(uvh_h1_of(conn), 503, "too many connections");
    }
    uvh_conn_event_end(conn);
    return 0;
}

bool uvh_protocols_is_idle(const struct uvh_conn *conn)
{
    return uvh_h2_of(conn) != NULL ? uvh_h2_is_idle(uvh_h2_of(conn)) : conn->owner == NULL;
}

void uvh_protocols_begin_drain(struct uvh_worker *worker)
{
    uvh_h2_drain_all(worker);
}

static bool is_http1(const struct uvh_conn *conn)
{
    return conn->user == &uvh_h1_first_user || conn->user == &uvh_h1_user;
}

void uvh_protocols_drain(struct uvh_conn *conn)
{
    uvh_conn_event_begin(conn);
    conn->restart_timeout = true;
    uvh_conn_try_read(conn);
    if (uvh_h2_of(conn) != NULL)
        uvh_h2_end_idle(uvh_h2_of(conn));
    else if (is_http1(conn) && uvh_h1_is_idle(conn))
        uvh_conn_end(conn);
    uvh_conn_event_end(conn);
}

bool uvh_protocols_make_way(struct uvh_conn *conn, uint64_t idle_ms)
{
    bool young = is_http1(conn) && uvh_h1_of(conn)->requests == 0 && idle_ms < FIRST_REQUEST_MS;
    if (young || conn->outgoing)
        return false;
    uvh_conn_ref(conn);
    uvh_conn_event_begin(conn);
    if (conn->state == UVH_CONN_HANDSHAKING) {
        uvh_conn_drain_handshake(conn);
        if (idle_ms >= HANDSHAKE_MS)
            uvh_conn_close(conn);
    } else if (conn->timeout_class == UVH_CONN_TIMEOUT_HANDSHAKE) { /* open by early data */
        uvh_protocols_drain(conn);
        if (!uvh_conn_is_closed(conn) && uvh_tls_session_is_early(conn->tls) &&
            idle_ms >= HANDSHAKE_MS && !conn->received)
            uvh_conn_close(conn);
    } else {
        uvh_timeout_cancel(&conn->timeout);
        uvh_protocols_drain(conn);
    }
    bool closed = uvh_conn_is_closed(conn);
    uvh_conn_event_end(conn);
    uvh_conn_unref(conn);
    return closed;
}
