/* Streams on connections, and the public stream functions. */
#include "conn/stream.h"

#include <uvhttp/error.h>
#include <uvhttp/tls_client.h>

#include "base/alloc.h"
#include "conn/conn.h"
#include "conn/stream_connect.h"

_Static_assert((int)UVHTTP_STREAM_MAX_AREAS <= (int)UVH_OUTPUT_AREAS,
               "a write of a stream fits into one system call");

static const size_t most_bytes = (size_t)1 << 30;

static uint32_t at_most(size_t bytes)
{
    return (uint32_t)(bytes < most_bytes ? bytes : most_bytes);
}

/* The connection that carries the stream, or a part of which does; NULL: none yet, or closed. */
static struct uvh_conn *conn_of(const struct uvhttp_stream *stream)
{
    if (stream->carrier == UVH_CARRIER_CONN)
        return stream->on.conn;
    return stream->carrier == UVH_CARRIER_TUNNEL ? stream->on.tunnel->conn : NULL;
}

static struct uvh_conn_shared *shared_of(const struct uvhttp_stream *stream)
{
    if (stream->carrier == UVH_CARRIER_CLOSED)
        return stream->on.closed;
    return stream->carrier == UVH_CARRIER_CONNECTING
               ? uvh_stream_connect_shared(stream->on.connecting)
               : conn_of(stream)->shared;
}

static bool is_tunnel(const struct uvhttp_stream *stream)
{
    return UVH_UNLIKELY(stream->carrier == UVH_CARRIER_TUNNEL);
}

static bool is_ended(const struct uvhttp_stream *stream)
{
    if (is_tunnel(stream))
        return stream->on.tunnel->functions->is_ended(stream->on.tunnel);
    return stream->carrier != UVH_CARRIER_CONN || uvh_conn_is_closed(stream->on.conn) ||
           stream->on.conn->close_after;
}

bool uvh_stream_is_outgoing(const struct uvhttp_stream *stream)
{
    return stream->carrier == UVH_CARRIER_CONNECTING ||
           (stream->carrier == UVH_CARRIER_CONN && stream->on.conn->outgoing);
}

/* ---- the user of the connection ---- */

static struct uvhttp_stream *stream_of(const struct uvh_conn *conn)
{
    return conn->owner;
}

/* A stream is read while it writes: the peer may send the reason why it does not read. */
static bool wants_bytes(const struct uvh_conn *conn)
{
    return !stream_of(conn)->paused && !conn->close_after;
}

static size_t receive(struct uvh_conn *conn, char *data, size_t size)
{
    struct uvhttp_stream *stream = stream_of(conn);
    stream->events.data(stream, data, size, stream->arg);
    return size;
}

static void peer_ended(struct uvh_conn *conn)
{
    struct uvhttp_stream *stream = stream_of(conn);
    char nothing = 0;
    stream->events.data(stream, &nothing, 0, stream->arg);
}

static void out_of_memory(struct uvh_conn *conn)
{
    conn->shared->callbacks->failed(conn->shared, "a stream was closed", UVHTTP_ENOMEM);
    uvh_conn_close(conn);
}

static void sent(struct uvh_conn *conn)
{
    (void)conn;
}

static bool wants_drain(const struct uvh_conn *conn)
{
    return stream_of(conn)->wants_drain && !uvh_conn_has_output(conn) && !conn->close_after;
}

static void drain(struct uvh_conn *conn)
{
    struct uvhttp_stream *stream = stream_of(conn);
    stream->wants_drain = false;
    if (stream->events.drain != NULL)
        stream->events.drain(stream, stream->arg);
}

static bool is_done(const struct uvh_conn *conn)
{
    return conn->close_after;
}

static enum uvh_conn_timeout settle(struct uvh_conn *conn)
{
    (void)conn;
    return UVH_CONN_TIMEOUT_NONE;
}

static void closed(struct uvh_conn *conn)
{
    struct uvhttp_stream *stream = stream_of(conn);
    if (stream->starting) { /* uvhttp_response_upgrade frees it */
        uvh_list_remove(&stream->link);
        stream->carrier = UVH_CARRIER_NONE;
    } else {
        uvh_stream_closed(stream, conn->shared);
    }
    if (!conn->outgoing)
        uvh_counter_subtract(&conn->shared->upgraded, 1);
    conn->owner = NULL;
    uvh_conn_unref(conn);
}

static const struct uvh_conn_user stream_user = {
    .wants_bytes = wants_bytes,
    .receive = receive,
    .peer_ended = peer_ended,
    .out_of_memory = out_of_memory,
    .sent = sent,
    .wants_drain = wants_drain,
    .drain = drain,
    .is_done = is_done,
    .settle = settle,
    .closed = closed,
};

/* ---- life cycle of a stream ---- */

struct uvhttp_stream *uvh_stream_new(struct uvh_conn_shared *shared,
                                     const uvhttp_stream_events_t *events, void *arg)
{
    struct uvhttp_stream *stream = uvh_alloc_zero(shared->allocator, sizeof(*stream));
    if (stream == NULL)
        return NULL;
    stream->events = *events;
    stream->arg = arg;
    stream->backlog = at_most(shared->write_backlog);
    uvh_list_init(&stream->link);
    uvh_timeout_init(&stream->timer);
    return stream;
}

void uvh_stream_begin(struct uvhttp_stream *stream, struct uvh_conn *conn)
{
    conn->user = &stream_user;
    conn->owner = stream;
    uvh_conn_ref(conn);
    conn->starved = false;
    stream->carrier = UVH_CARRIER_CONN;
    stream->on.conn = conn;
    if (!conn->outgoing)
        uvh_counter_add(&conn->shared->upgraded, 1);
    if (uvh_list_empty(&stream->link))
        uvh_list_append(&conn->shared->streams, &stream->link);
}

void uvh_stream_begin_tunnel(struct uvhttp_stream *stream, struct uvh_tunnel *tunnel)
{
    tunnel->stream = stream;
    stream->carrier = UVH_CARRIER_TUNNEL;
    stream->on.tunnel = tunnel;
    uvh_list_append(&tunnel->conn->shared->streams, &stream->link);
}

void uvh_stream_closed(struct uvhttp_stream *stream, struct uvh_conn_shared *shared)
{
    uvh_list_remove(&stream->link);
    uvh_timeout_cancel(&stream->timer);
    if (stream->is_websocket)
        uvh_counter_subtract(&shared->websockets, 1);
    stream->events.closed(stream, stream->arg);
    stream->carrier = UVH_CARRIER_CLOSED;
    stream->on.closed = shared;
    uvh_list_append(&shared->closed_streams, &stream->link);
    shared->callbacks->schedule(shared);
}

void uvh_stream_free_closed(struct uvh_conn_shared *shared)
{
    struct uvh_list *first;
    while ((first = uvh_list_take(&shared->closed_streams)) != NULL)
        uvh_free(shared->allocator, UVH_CONTAINER_OF(first, struct uvhttp_stream, link));
}

/* An expired timer says nothing about the peer, so a write timeout continues. */
void uvh_stream_on_timer(struct uvhttp_stream *stream)
{
    uvh_timeout_cancel(&stream->timer);
    if (stream->carrier == UVH_CARRIER_CONNECTING) {
        uvh_stream_connect_on_timer(stream);
        return;
    }
    struct uvh_conn *conn = conn_of(stream);
    uvh_conn_event_begin(conn);
    stream->events.timer(stream, stream->arg);
    uvh_conn_event_end(conn);
}

static void stop(struct uvhttp_stream *stream)
{
    if (stream->carrier == UVH_CARRIER_CONNECTING)
        uvh_stream_connect_fail(stream, UVHTTP_ESTOPPED);
    else if (stream->events.stopping != NULL && !is_ended(stream))
        stream->events.stopping(stream, stream->arg);
    else
        uvhttp_stream_end(stream);
}

/* Takes the current list, since a callback may end any of its streams. */
size_t uvh_stream_stop_all(struct uvh_list *streams)
{
    struct uvh_list batch;
    size_t count = 0;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, streams);
    while (!uvh_list_empty(&batch)) {
        struct uvh_list *first = batch.next;
        struct uvhttp_stream *stream = UVH_CONTAINER_OF(first, struct uvhttp_stream, link);
        uvh_list_remove(first);
        uvh_list_append(streams, first);
        count += !is_ended(stream) && !uvh_stream_is_outgoing(stream);
        stop(stream);
    }
    return count;
}

/* ---- read and write ---- */

static bool exceeds_backlog(const struct uvhttp_stream *stream)
{
    return uvhttp_stream_pending(stream) > stream->backlog;
}

static int write_tunnel(struct uvhttp_stream *stream, const uvhttp_slice_t *areas, size_t count)
{
    struct uvh_tunnel *tunnel = stream->on.tunnel;
    if (!exceeds_backlog(stream))
        return tunnel->functions->write(tunnel, areas, count);
    uvhttp_stream_await_drain(stream);
    return UVHTTP_EFULL;
}

/* `size` is between 1 and most_bytes. */
static int write_bytes(struct uvhttp_stream *stream, const uvhttp_slice_t *areas, size_t count,
                       size_t size)
{
    if (is_tunnel(stream))
        return write_tunnel(stream, areas, count);
    struct uvh_conn *conn = stream->on.conn;
    int err = 0;
    uvh_conn_event_begin(conn);
    /* Flush first: bytes that the socket accepts do not count against the backlog. */
    if (UVH_UNLIKELY(exceeds_backlog(stream)) && conn->socket.writable)
        err = uvh_output_flush(conn);
    if (err == 0 && UVH_UNLIKELY(exceeds_backlog(stream))) {
        stream->wants_drain = true;
        err = UVHTTP_EFULL;
    }
    if (err == 0)
        err = uvh_output_write(conn, areas, count, size);
    uvh_conn_event_end(conn);
    /* The memory stays valid until the poller's next iteration. */
    return err == 0 && uvh_conn_is_closed(conn) ? UVHTTP_EDISCONNECTED : err;
}

int uvhttp_stream_write(uvhttp_stream_t *stream, const void *data, size_t size)
{
    if (is_ended(stream))
        return UVHTTP_EDISCONNECTED;
    if (size > most_bytes || (data == NULL && size > 0))
        return UVHTTP_EINVAL;
    return size == 0 ? 0 : write_bytes(stream, &(uvhttp_slice_t){data, size}, 1, size);
}

int uvhttp_stream_write_areas(uvhttp_stream_t *stream, const uvhttp_slice_t *areas, size_t count)
{
    size_t size = 0;
    if (is_ended(stream))
        return UVHTTP_EDISCONNECTED;
    if (count > UVHTTP_STREAM_MAX_AREAS || (areas == NULL && count > 0))
        return UVHTTP_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (areas[i].length > most_bytes - size || (areas[i].base == NULL && areas[i].length > 0))
            return UVHTTP_EINVAL;
        size += areas[i].length;
    }
    return size == 0 ? 0 : write_bytes(stream, areas, count, size);
}

size_t uvhttp_stream_pending(const uvhttp_stream_t *stream)
{
    if (is_tunnel(stream))
        return stream->on.tunnel->functions->pending(stream->on.tunnel);
    return stream->carrier == UVH_CARRIER_CONN ? uvh_conn_pending(stream->on.conn) : 0;
}

size_t uvhttp_stream_blocked(const uvhttp_stream_t *stream)
{
    if (is_tunnel(stream) && stream->on.tunnel->functions->is_blocked(stream->on.tunnel))
        return uvhttp_stream_pending(stream);
    bool blocked = stream->carrier == UVH_CARRIER_CONN && !stream->on.conn->socket.writable;
    return blocked ? uvhttp_stream_pending(stream) : 0;
}

void uvhttp_stream_await_drain(uvhttp_stream_t *stream)
{
    if (is_ended(stream))
        return;
    struct uvh_conn *conn = conn_of(stream);
    uvh_conn_event_begin(conn);
    stream->wants_drain = true;
    if (is_tunnel(stream))
        stream->on.tunnel->functions->changed(stream->on.tunnel);
    uvh_conn_event_end(conn);
}

const char *uvhttp_stream_tls_error(const uvhttp_stream_t *stream)
{
    if (stream->carrier == UVH_CARRIER_CONNECTING)
        return uvh_stream_connect_tls_error(stream->on.connecting);
    const struct uvh_conn *conn = conn_of(stream);
    return conn == NULL || conn->tls == NULL ? NULL : conn->tls->why;
}

uint64_t uvhttp_stream_now(const uvhttp_stream_t *stream)
{
    return uv_now(shared_of(stream)->loop);
}

void uvhttp_stream_set_backlog(uvhttp_stream_t *stream, size_t bytes)
{
    stream->backlog = at_most(bytes);
}

int uvhttp_stream_set_timer(uvhttp_stream_t *stream, uint32_t milliseconds)
{
    if (is_ended(stream))
        return UVHTTP_EDISCONNECTED;
    if (stream->events.timer == NULL || milliseconds > UVH_TIMEOUT_STEP_MOST)
        return UVHTTP_EINVAL;
    if (milliseconds == 0) {
        uvh_timeout_cancel(&stream->timer);
        return 0;
    }
    struct uvh_conn_shared *shared = shared_of(stream);
    struct uvh_timeout_list *timers = uvh_shared_timers(shared, milliseconds);
    if (timers == NULL)
        return UVHTTP_ENOMEM;
    uvh_timeout_arm(timers, &stream->timer, uv_now(shared->loop));
    return 0;
}

static void set_paused(uvhttp_stream_t *stream, bool paused)
{
    struct uvh_conn *conn = conn_of(stream);
    stream->paused = paused;
    if (conn == NULL || uvh_conn_is_closed(conn))
        return;
    uvh_conn_event_begin(conn);
    if (is_tunnel(stream))
        stream->on.tunnel->functions->changed(stream->on.tunnel);
    uvh_conn_event_end(conn);
}

void uvhttp_stream_pause(uvhttp_stream_t *stream)
{
    set_paused(stream, true);
}

void uvhttp_stream_resume(uvhttp_stream_t *stream)
{
    if (stream->paused)
        set_paused(stream, false);
}

/* ---- close ---- */

void uvhttp_stream_end(uvhttp_stream_t *stream)
{
    if (stream->carrier == UVH_CARRIER_CONNECTING) { /* nothing is pending */
        uvh_stream_connect_give_up(stream);
        return;
    }
    if (is_ended(stream))
        return;
    struct uvh_conn *conn = conn_of(stream);
    uvh_conn_event_begin(conn);
    uvh_timeout_cancel(&stream->timer);
    if (is_tunnel(stream)) {
        stream->on.tunnel->functions->end(stream->on.tunnel);
    } else {
        conn->discarding = true;
        /* lingers until the peer's end, so that the peer receives everything */
        uvh_conn_close_when_sent(conn, true);
    }
    uvh_conn_event_end(conn);
}

void uvhttp_stream_close(uvhttp_stream_t *stream)
{
    if (stream->carrier == UVH_CARRIER_CONNECTING) {
        uvh_stream_connect_give_up(stream);
        return;
    }
    struct uvh_conn *conn = conn_of(stream);
    if (conn == NULL || uvh_conn_is_closed(conn))
        return;
    uvh_conn_event_begin(conn);
    if (is_tunnel(stream))
        stream->on.tunnel->functions->close(stream->on.tunnel);
    else
        uvh_conn_close(conn);
    uvh_conn_event_end(conn);
}
