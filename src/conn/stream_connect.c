/* Outgoing connections: looks up a name and tries its addresses one after the other, each for its
 * share of the time, with an optional TLS handshake. Then the connection carries the stream like
 * any other.
 *
 * Invariants: until connected the stream's carrier is struct uvh_connecting. Each attempt is a
 * connection of its own, in the state UVH_CONN_CONNECTING or UVH_CONN_HANDSHAKING. Until then the
 * stream's timer is the connect timeout. */
#include "conn/stream_connect.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "conn/tls_io.h"
#include "net/lookup.h"
#include "platform/socket_connect.h"
#include "tls/client.h"

enum { SHARE_LEAST_MS = 250 }; /* Connection Attempt Delay, RFC 8305 section 5 */

struct uvh_connecting {
    struct uvhttp_stream *stream; /* NULL: done */
    struct uvh_conn_shared *shared;
    struct uvh_conn *attempt; /* NULL: none */
    /* in shared->connecting when a step is pending for the next loop iteration */
    struct uvh_list link;
    uvhttp_stream_connected_cb connected;
    struct uvh_lookup *lookup;   /* NULL: none in progress */
    struct addrinfo *found;      /* to be freed */
    const struct addrinfo *next; /* next to be tried */
    struct addrinfo literal;     /* the only address, if numeric */
    union uvh_address address;
    uint64_t deadline;             /* for all attempts; 0: none */
    int status;                    /* of the last attempt */
    bool calling;                  /* a callback of the stream runs */
    struct uvhttp_tls_client *tls; /* referenced; NULL: plain text */
    const char *tls_error;         /* of the last attempt; static, NULL: none */
    char host[];                   /* with TLS: the requested host */
};

static struct uvh_connecting *connecting_of(const struct uvhttp_stream *stream)
{
    return stream->on.connecting;
}

struct uvh_conn_shared *uvh_stream_connect_shared(const struct uvh_connecting *connecting)
{
    return connecting->shared;
}

const char *uvh_stream_connect_tls_error(const struct uvh_connecting *connecting)
{
    return connecting->tls_error;
}

/* ---- close ---- */

static void release_if_unused(struct uvh_connecting *connecting)
{
    struct uvh_conn_shared *shared = connecting->shared;
    if (connecting->stream != NULL || connecting->calling)
        return;
    uv_freeaddrinfo(connecting->found);
    uvh_list_remove(&connecting->link);
    uvhttp_tls_client_free(connecting->tls);
    uvh_free(shared->allocator, connecting);
    shared->count--;
    shared->callbacks->freed(shared);
}

static void close_attempt(struct uvh_connecting *connecting)
{
    struct uvh_conn *conn = connecting->attempt;
    if (conn == NULL)
        return;
    uvh_conn_event_begin(conn);
    uvh_conn_close(conn);
    uvh_conn_event_end(conn);
}

/* Ends everything in progress without a callback. */
static void stop(struct uvh_connecting *connecting)
{
    uvh_list_remove(&connecting->link);
    close_attempt(connecting);
    if (connecting->lookup != NULL)
        uvh_lookup_forget(connecting->lookup);
    connecting->lookup = NULL;
}

void uvh_stream_connect_give_up(struct uvhttp_stream *stream)
{
    struct uvh_connecting *connecting = connecting_of(stream);
    bool was_calling = connecting->calling;
    if (connecting->stream == NULL) /* `closed` is running */
        return;
    if (!was_calling)
        stop(connecting);
    connecting->calling = true; /* keeps `connecting` valid for stream queries in `closed` */
    connecting->stream = NULL;
    uvh_stream_closed(stream, connecting->shared);
    connecting->calling = was_calling;
    release_if_unused(connecting);
}

void uvh_stream_connect_fail(struct uvhttp_stream *stream, int code)
{
    struct uvh_connecting *connecting = connecting_of(stream);
    stop(connecting);
    uvh_timeout_cancel(&stream->timer);
    if (code != UVHTTP_ETLS)
        connecting->tls_error = NULL; /* of an earlier attempt */
    connecting->calling = true;
    connecting->connected(stream, code, stream->arg);
    if (connecting->stream != NULL) /* not closed meanwhile */
        uvh_stream_connect_give_up(stream);
    connecting->calling = false;
    release_if_unused(connecting);
}

/* ---- attempts ---- */

static void try_next(struct uvh_connecting *connecting);

static void succeed(struct uvh_connecting *connecting)
{
    struct uvhttp_stream *stream = connecting->stream;
    struct uvh_conn *conn = connecting->attempt;
    uvhttp_stream_connected_cb connected = connecting->connected;
    connecting->stream = NULL;
    connecting->attempt = NULL;
    uvh_timeout_cancel(&stream->timer);
    conn->state = UVH_CONN_OPEN;
    uvh_stream_begin(stream, conn);
    uvh_conn_unref(conn); /* the reference of `connecting` */
    release_if_unused(connecting);
    connected(stream, 0, stream->arg);
}

static int shake_hands(struct uvh_connecting *connecting)
{
    struct uvh_conn *conn = connecting->attempt;
    struct uvh_tls_session *session =
        uvh_tls_session_connect(connecting->tls, connecting->host, &connecting->shared->buffers);
    if (session == NULL)
        return UVHTTP_ENOMEM;
    uvh_conn_begin_tls(conn, session);
    uvh_tls_io_begin(conn);
    return 0;
}

static void on_connected(struct uvh_conn *conn, int status)
{
    struct uvh_connecting *connecting = conn->owner;
    if (status == 0 && connecting->tls != NULL && conn->tls == NULL)
        status = shake_hands(connecting);
    else if (status == 0)
        succeed(connecting);
    if (status == 0)
        return;
    connecting->status = status;
    connecting->tls_error = status == UVHTTP_ETLS ? conn->tls->why : NULL;
    close_attempt(connecting);
    try_next(connecting);
}

static void on_closed(struct uvh_conn *conn)
{
    struct uvh_connecting *connecting = conn->owner;
    connecting->attempt = NULL;
    uvh_conn_unref(conn);
}

/* The stream's timer applies, or the server's handshake timeout if there is none. */
static enum uvh_conn_timeout settle(struct uvh_conn *conn)
{
    const struct uvh_connecting *connecting = conn->owner;
    return connecting->deadline == 0 ? UVH_CONN_TIMEOUT_HANDSHAKE : UVH_CONN_TIMEOUT_NONE;
}

static const struct uvh_conn_user connecting_user = {
    .settle = settle, .connected = on_connected, .closed = on_closed};

/* False: failed at once. */
static bool try_address(struct uvh_connecting *connecting, const struct sockaddr *address)
{
    int socket = uvh_socket_connect(address);
    if (socket < 0) {
        connecting->status = socket;
        return false;
    }
    struct uvh_conn *conn =
        uvh_conn_open(connecting->shared, socket, &connecting_user, &connecting->status);
    if (conn == NULL) {
        uvh_socket_close(socket);
        return false;
    }
    conn->outgoing = true;
    conn->owner = connecting;
    uvh_conn_ref(conn);
    conn->state = UVH_CONN_CONNECTING;
    conn->socket.writable = false; /* set when connected or failed */
    connecting->attempt = conn;
    uvh_conn_event_end(conn);
    return true;
}

uint32_t uvh_stream_connect_share(uint64_t left_ms, size_t addresses)
{
    uint64_t share = left_ms / addresses;
    if (share < SHARE_LEAST_MS)
        share = left_ms < SHARE_LEAST_MS ? left_ms : SHARE_LEAST_MS;
    return share == 0 ? 1 : (uint32_t)share;
}

/* Sets the timer for the current address, with the following ones still to be tried. */
static void set_time(struct uvh_connecting *connecting)
{
    struct uvh_conn_shared *shared = connecting->shared;
    uint64_t now = uv_now(shared->loop);
    size_t addresses = 1;
    if (connecting->deadline == 0)
        return;
    for (const struct addrinfo *later = connecting->next; later != NULL; later = later->ai_next)
        addresses++;
    uint64_t left = connecting->deadline > now ? connecting->deadline - now : 0;
    /* The lists exist: the whole timeout was in one of them. */
    uvh_timeout_arm(uvh_shared_timers(shared, uvh_stream_connect_share(left, addresses)),
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

/* A timeout counts only when there is nothing to read: the loop may have been busy. */
static bool has_moved_on(struct uvh_connecting *connecting)
{
    struct uvh_conn *conn = connecting->attempt;
    if (conn == NULL || conn->state != UVH_CONN_HANDSHAKING)
        return false;
    uvh_conn_ref(conn);
    uvh_conn_event_begin(conn);
    conn->socket.readable = true;
    uvh_tls_io_handshake(conn, false);
    bool over = conn->state != UVH_CONN_HANDSHAKING;
    uvh_conn_event_end(conn);
    uvh_conn_unref(conn);
    return over;
}

void uvh_stream_connect_on_timer(struct uvhttp_stream *stream)
{
    struct uvh_connecting *connecting = connecting_of(stream);
    if (has_moved_on(connecting)) /* the stream may be freed */
        return;
    bool over = uv_now(connecting->shared->loop) >= connecting->deadline;
    if (over || connecting->next == NULL) {
        uvh_stream_connect_fail(stream, UV_ETIMEDOUT);
        return;
    }
    connecting->status = UV_ETIMEDOUT;
    connecting->tls_error = NULL;
    close_attempt(connecting);
    try_next(connecting);
}

void uvh_stream_connect_resume(struct uvh_conn_shared *shared)
{
    while (!uvh_list_empty(&shared->connecting)) {
        struct uvh_list *first = shared->connecting.next;
        uvh_list_remove(first);
        try_next(UVH_CONTAINER_OF(first, struct uvh_connecting, link));
    }
}

static void on_looked_up(void *arg, int status, struct addrinfo *found)
{
    struct uvh_connecting *connecting = arg;
    connecting->shared->callbacks->active(connecting->shared);
    connecting->lookup = NULL;
    connecting->found = found;
    connecting->next = found;
    connecting->status = status != 0 ? status : UV_EAI_NODATA;
    try_next(connecting);
}

/* ---- start ---- */

/* Starts a lookup, or parses a numeric address. Nothing is reported before the next loop
 * iteration. */
static int find_addresses(struct uvh_connecting *connecting, const char *host, int port)
{
    struct uvh_conn_shared *shared = connecting->shared;
    if (!uvh_lookup_literal(host, port, &connecting->address))
        return uvh_lookup_start(&connecting->lookup, shared->loop, host, port, on_looked_up,
                                connecting);
    connecting->literal.ai_addr = &connecting->address.any;
    connecting->next = &connecting->literal;
    uvh_list_append(&shared->connecting, &connecting->link);
    shared->callbacks->schedule(shared);
    return 0;
}

static struct uvh_connecting *new_connecting(struct uvhttp_stream *stream,
                                             struct uvh_conn_shared *shared,
                                             struct uvhttp_tls_client *tls, const char *host)
{
    size_t size = tls == NULL ? 0 : strlen(host) + 1;
    struct uvh_connecting *connecting =
        uvh_alloc_zero(shared->allocator, sizeof(*connecting) + size);
    if (connecting == NULL)
        return NULL;
    connecting->stream = stream;
    connecting->shared = shared;
    connecting->tls = tls;
    if (tls != NULL) {
        uvh_tls_client_ref(tls);
        memcpy(connecting->host, host, size);
    }
    uvh_list_init(&connecting->link);
    shared->count++;
    return connecting;
}

static int begin(struct uvhttp_stream *stream, struct uvh_conn_shared *shared,
                 struct uvhttp_tls_client *tls, const char *host, int port, uint32_t timeout_ms,
                 uvhttp_stream_connected_cb connected)
{
    struct uvh_timeout_list *timers =
        timeout_ms == 0 ? NULL : uvh_shared_timers(shared, timeout_ms);
    if (timeout_ms != 0 && timers == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_connecting *connecting = new_connecting(stream, shared, tls, host);
    if (connecting == NULL)
        return UVHTTP_ENOMEM;
    connecting->connected = connected;
    uv_update_time(shared->loop); /* the loop may not have run for a while */
    if (timers != NULL)
        connecting->deadline = uv_now(shared->loop) + timeout_ms;
    stream->carrier = UVH_CARRIER_CONNECTING;
    stream->on.connecting = connecting;
    int err = find_addresses(connecting, host, port);
    if (err != 0) {
        connecting->stream = NULL;
        release_if_unused(connecting);
        return err == UV_EINVAL ? UVHTTP_EINVAL : err;
    }
    if (timers != NULL)
        uvh_timeout_arm(timers, &stream->timer, uv_now(shared->loop));
    return 0;
}

int uvh_stream_connect_start(struct uvh_conn_shared *shared, struct uvhttp_tls_client *tls,
                             const char *host, int port, uint32_t timeout_ms,
                             uvhttp_stream_connected_cb connected,
                             const uvhttp_stream_events_t *events, void *arg, uvhttp_stream_t **out)
{
    struct uvhttp_stream *stream = uvh_stream_new(shared, events, arg);
    if (stream == NULL)
        return UVHTTP_ENOMEM;
    int err = begin(stream, shared, tls, host, port, timeout_ms, connected);
    if (err != 0) {
        uvh_free(shared->allocator, stream);
        return err;
    }
    uvh_list_append(&shared->streams, &stream->link);
    *out = stream;
    return 0;
}
