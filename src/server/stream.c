/* Streams: the public functions, and the ways in from the connection. */
#include "server/stream.h"

#include <string.h>

#include "base/alloc.h"
#include "codec/field.h"
#include "server/blocking.h"
#include "server/conn.h"
#include "server/send.h"
#include "server/server.h"
#include "server/stream_connect.h"

_Static_assert((int)UVHTTP_STREAM_MAX_AREAS <= (int)UVH_CONN_WRITE_AREAS,
               "what a stream writes leaves with one call");

static const size_t most_bytes = (size_t)1 << 30;

static uint32_t at_most(size_t bytes)
{
    return (uint32_t)(bytes < most_bytes ? bytes : most_bytes);
}

static bool is_ended(const struct uvhttp_stream *stream)
{
    return stream->conn->life == UVH_CONN_CLOSED || stream->conn->close_after;
}

/* ---- from the connection ---- */

void uvh_stream_deliver(struct uvhttp_stream *stream, char *data, size_t size)
{
    stream->events.data(stream, data, size, stream->arg);
}

void uvh_stream_deliver_end(struct uvhttp_stream *stream)
{
    if (stream->end_told || is_ended(stream))
        return;
    stream->end_told = true;
    char nothing = 0;
    stream->events.data(stream, &nothing, 0, stream->arg);
}

void uvh_stream_drained(struct uvhttp_stream *stream)
{
    stream->wants_drain = false;
    if (stream->events.drain != NULL)
        stream->events.drain(stream, stream->arg);
}

/* That something was due says nothing of the client, so a write timeout goes on. */
void uvh_stream_time_has_come(struct uvhttp_stream *stream)
{
    struct uvh_conn *conn = stream->conn;
    uvh_timeout_cancel(&stream->timer);
    if (stream->connecting) {
        uvh_stream_connect_time_has_come(stream);
        return;
    }
    conn->corked = true;
    stream->events.timer(stream, stream->arg);
    if (uvh_conn_uncork(conn)) {
        uvh_conn_close_if_done(conn);
        uvh_conn_read_on(conn);
    }
    uvh_conn_check(conn);
}

void uvh_stream_closed(struct uvhttp_stream *stream)
{
    const uvhttp_allocator_t *allocator = stream->conn->worker->server->allocator;
    uvh_list_remove(&stream->link);
    uvh_timeout_cancel(&stream->timer);
    if (stream->starting) { /* nobody knows it yet */
        stream->conn = NULL;
        return;
    }
    stream->events.closed(stream, stream->arg);
    uvh_free(allocator, stream);
}

/* Takes those of the moment, since a callback may end any of them. */
void uvh_stream_stop_all(struct uvh_worker *worker)
{
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &worker->streams);
    while (!uvh_list_empty(&batch)) {
        struct uvhttp_stream *stream = UVH_CONTAINER_OF(batch.next, struct uvhttp_stream, link);
        uvh_list_remove(&stream->link);
        uvh_list_append(&worker->streams, &stream->link);
        if (stream->connecting)
            uvh_stream_connect_fail(stream, UVHTTP_ESTOPPED);
        else if (stream->events.stopping != NULL && !is_ended(stream))
            stream->events.stopping(stream, stream->arg);
        else
            uvhttp_stream_end(stream);
    }
}

/* ---- the beginning ---- */

struct uvhttp_stream *uvh_stream_new(const struct uvh_server *server, const uvhttp_stream_events_t *events,
                                     void *arg)
{
    struct uvhttp_stream *stream = uvh_alloc_zero(server->allocator, sizeof(*stream));
    if (stream == NULL)
        return NULL;
    stream->events = *events;
    stream->arg = arg;
    stream->backlog = at_most(server->config.write_backlog);
    uvh_list_init(&stream->link);
    uvh_timeout_init(&stream->timer);
    return stream;
}

bool uvhttp_request_offers_upgrade(const uvhttp_request_t *request, const char *protocol)
{
    uvhttp_slice_t wanted = {protocol, strlen(protocol)};
    if (!request->framing.upgrade)
        return false;
    for (uint16_t i = 0; i < request->head->field_count; i++) {
        const uvhttp_field_t *field = &request->head->fields[i];
        uvhttp_slice_t value = {request->bytes + field->value_offset, field->value_length};
        uvhttp_slice_t name;
        if (field->id != UVHTTP_FIELD_UPGRADE)
            continue;
        while (uvh_field_list_next(&value, &name)) {
            if (uvh_field_name_equal(name, wanted))
                return true;
        }
    }
    return false;
}

int uvhttp_response_upgrade(uvhttp_response_t *response, const char *protocol,
                            const uvhttp_stream_events_t *events, void *arg, uvhttp_stream_t **out)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    struct uvh_server *server = exchange->worker->server;
    *out = NULL;
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (events == NULL || events->data == NULL || events->closed == NULL || uvh_blocking_is(exchange) ||
        !uvhttp_request_offers_upgrade(&exchange->request, protocol))
        return UVHTTP_EINVAL;
    if (exchange->worker->draining)
        return UVHTTP_ESTOPPED;
    struct uvhttp_stream *stream = uvh_stream_new(server, events, arg);
    if (stream == NULL)
        return UVHTTP_ENOMEM;
    stream->starting = true;
    uvh_exchange_hold(exchange); /* for what is taken back */
    err = uvhttp_response_set_header(response, "Upgrade", protocol);
    if (err == 0) {
        response->stream = stream;
        err = uvh_send(response, 101, NULL, &(struct uvh_body){.source = UVH_BODY_STREAM, .descriptor = -1});
    }
    response->stream = NULL;
    if (err != 0)
        uvhttp_response_remove_header(response, "Upgrade");
    uvh_exchange_let_go(exchange);
    if (err == 0 && stream->conn == NULL) /* the client had gone, as sending has found out */
        err = UVHTTP_EGONE;
    if (err != 0) {
        uvh_free(server->allocator, stream);
        return err;
    }
    stream->starting = false;
    *out = stream;
    return 0;
}

int uvh_conn_upgrade(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    struct uvhttp_stream *stream = base->response.stream;
    if (!exchange->request_complete)
        return UVHTTP_EINVAL;
    int err = uvh_conn_head_put(conn, UVH_H1_SENDS_NOTHING, 0);
    if (err != 0)
        return err;
    stream->conn = conn;
    conn->stream = stream;
    uvh_list_append(&conn->worker->streams, &stream->link);
    uvh_conn_tx_complete(conn);
    return 0;
}

/* ---- the bytes ---- */

/* More than nothing, and not too much. */
static int write_bytes(struct uvhttp_stream *stream, const uvhttp_slice_t *areas, size_t count, size_t size)
{
    struct uvh_conn *conn = stream->conn;
    if (UVH_UNLIKELY(uvh_conn_tx_waiting(conn).length > stream->backlog)) {
        /* What is only being collected is no reason to refuse. */
        if (conn->tx == UVH_TX_IDLE && uvh_conn_tx_flush(conn) != 0)
            return UVHTTP_EGONE;
        if (uvh_conn_tx_waiting(conn).length > stream->backlog) {
            uvhttp_stream_await_drain(stream);
            return UVHTTP_EFULL;
        }
    }
    return uvh_conn_write(conn, areas, count, size);
}

int uvhttp_stream_write(uvhttp_stream_t *stream, const void *data, size_t size)
{
    if (is_ended(stream))
        return UVHTTP_EGONE;
    if (size > most_bytes)
        return UVHTTP_EINVAL;
    return size == 0 ? 0 : write_bytes(stream, &(uvhttp_slice_t){data, size}, 1, size);
}

int uvhttp_stream_write_areas(uvhttp_stream_t *stream, const uvhttp_slice_t *areas, size_t count)
{
    size_t size = 0;
    if (is_ended(stream))
        return UVHTTP_EGONE;
    if (count > UVHTTP_STREAM_MAX_AREAS)
        return UVHTTP_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (areas[i].length > most_bytes - size)
            return UVHTTP_EINVAL;
        size += areas[i].length;
    }
    return size == 0 ? 0 : write_bytes(stream, areas, count, size);
}

size_t uvhttp_stream_blocked(const uvhttp_stream_t *stream)
{
    return stream->conn->tx == UVH_TX_IDLE ? 0 : uvh_conn_tx_waiting(stream->conn).length;
}

void uvhttp_stream_await_drain(uvhttp_stream_t *stream)
{
    if (is_ended(stream))
        return;
    stream->wants_drain = true;
    if (!stream->conn->corked)
        uvh_conn_settle(stream->conn, false);
}

uint64_t uvhttp_stream_now(const uvhttp_stream_t *stream)
{
    return uv_now(stream->conn->worker->loop);
}

size_t uvhttp_stream_pending(const uvhttp_stream_t *stream)
{
    return uvh_conn_tx_waiting(stream->conn).length;
}

void uvhttp_stream_set_backlog(uvhttp_stream_t *stream, size_t bytes)
{
    stream->backlog = at_most(bytes);
}

int uvhttp_stream_set_timer(uvhttp_stream_t *stream, uint32_t milliseconds)
{
    struct uvh_worker *worker = stream->conn->worker;
    if (is_ended(stream))
        return UVHTTP_EGONE;
    if (stream->events.timer == NULL || milliseconds > UVH_TIMEOUT_STEP_MOST)
        return UVHTTP_EINVAL;
    if (milliseconds == 0) {
        uvh_timeout_cancel(&stream->timer);
        return 0;
    }
    struct uvh_timeout_list *timers = uvh_worker_timers(worker, milliseconds);
    if (timers == NULL)
        return UVHTTP_ENOMEM;
    uvh_timeout_arm(timers, &stream->timer, uv_now(worker->loop));
    return 0;
}

void uvhttp_stream_pause(uvhttp_stream_t *stream)
{
    stream->paused = true;
    if (!stream->conn->corked)
        uvh_conn_settle(stream->conn, false);
}

void uvhttp_stream_resume(uvhttp_stream_t *stream)
{
    if (!stream->paused)
        return;
    stream->paused = false;
    if (!stream->conn->corked)
        uvh_conn_read_on(stream->conn);
}

/* ---- the end ---- */

void uvhttp_stream_end(uvhttp_stream_t *stream)
{
    struct uvh_conn *conn = stream->conn;
    if (stream->connecting) { /* there is nothing to be sent before */
        uvh_stream_connect_give_up(stream);
        return;
    }
    if (is_ended(stream))
        return;
    uvh_timeout_cancel(&stream->timer);
    conn->close_after = true;
    conn->unread = !conn->peer_ended; /* closing waits for the client's end, so that it gets everything */
    if (conn->corked)
        return;
    if (conn->tx != UVH_TX_IDLE || uvh_conn_tx_flush(conn) == 0)
        uvh_conn_proceed(conn);
}

void uvhttp_stream_close(uvhttp_stream_t *stream)
{
    if (stream->connecting)
        uvh_stream_connect_give_up(stream);
    else
        uvh_conn_close(stream->conn);
}
