/* A connection from its handshake to its end: the events of its stream, timeouts and pings, the
 * closing handshake. */
#include "websocket/websocket.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "options/reload.h"

enum {
    /* Backlog limit of the stream: the rest is in the connection's queue, where it is counted. */
    STREAM_BACKLOG = 4096,
};

const char uvh_websocket_stopping[] = "the server is stopping";

/* ---- create and destroy ---- */

struct uvhttp_websocket *uvh_websocket_new(struct uvh_ws_worker *worker, void *data)
{
    struct uvhttp_websocket *ws = uvh_alloc_zero(worker->endpoint->allocator, sizeof(*ws));
    if (ws == NULL)
        return NULL;
    ws->worker = worker;
    ws->data = data;
    ws->protocol = "";
    return ws;
}

void uvh_websocket_discard(struct uvhttp_websocket *ws)
{
    uvh_free(ws->worker->endpoint->allocator, ws);
}

/* Calls the user's last callback. */
static void tell_closed(struct uvhttp_websocket *ws)
{
    struct uvh_ws_worker *worker = ws->worker;
    const uvhttp_websocket_options_t *options = &worker->endpoint->options;
    if (ws->close_notified)
        return;
    ws->close_notified = true;
    if (ws->member != NULL) {
        struct uvh_topic_member *member = ws->member;
        ws->member = NULL;
        ws->member_removed(member);
    }
    if (ws->opened) {
        uvh_counter_subtract(&worker->connections, 1);
        if (ws->deflate != NULL) {
            uvh_counter_subtract(&worker->compressing, 1);
            uvh_counter_subtract(&worker->dedicated, uvh_ws_deflate_dedicated(ws->deflate));
        }
    }
    if (options->events.close != NULL && !ws->unknown)
        options->events.close(ws, ws->close_code == 0 ? UVHTTP_WEBSOCKET_ABNORMAL : ws->close_code,
                              ws->close_reason == NULL ? "" : ws->close_reason, options->arg);
    if (options->release != NULL && ws->data != NULL)
        options->release(ws->data);
    ws->data = NULL;
}

/* Frees what is not needed after the user's last callback. */
static void free_parts(struct uvhttp_websocket *ws)
{
    uvh_websocket_opening_free(ws);
    uvh_websocket_assembly_free(ws, &ws->assembly);
    uvh_websocket_assembly_free(ws, &ws->kept);
    uvh_ws_deflate_free(ws->deflate);
    ws->deflate = NULL;
}

void uvh_websocket_unref(struct uvhttp_websocket *ws)
{
    const uvhttp_allocator_t *allocator = ws->worker->endpoint->allocator;
    struct uvh_generation *generation = ws->client ? ws->worker->endpoint->generation : NULL;
    if (--ws->refs > 0 || !ws->close_notified)
        return;
    free_parts(ws); /* other connections may need the memory while a slow peer drains */
    if (ws->stream != NULL)
        return;
    uvh_ws_queue_free(ws->queue);
    uvh_free(allocator, ws->reader.control);
    if (ws->own_reason)
        uvh_free(allocator, (void *)(uintptr_t)ws->close_reason);
    uvh_free(allocator, ws);
    if (generation != NULL)
        uvh_generation_drop(generation);
}

/* Sent data that the socket has not accepted yet. */
static bool is_sending(const struct uvhttp_websocket *ws)
{
    return ws->queue != NULL || ws->charged > 0;
}

/* Sets a reason where the user could not recognize the end otherwise. */
static void explain_end(struct uvhttp_websocket *ws)
{
    const char *why = uvhttp_stream_tls_error(ws->stream);
    if (!ws->opened && ws->close_reason == NULL)
        uvh_websocket_set_reason(ws, 0,
                                 why != NULL ? why : "the connection failed before the response");
    else if (ws->close_sent && is_sending(ws) && ws->close_code != UVHTTP_WEBSOCKET_ABNORMAL)
        uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_ABNORMAL,
                                 "the connection ended before all queued data was sent");
}

static void on_stream_closed(uvhttp_stream_t *stream, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    (void)stream;
    uvh_websocket_ref(ws);
    explain_end(ws);
    ws->stream = NULL;
    uvh_budget_give(&ws->worker->endpoint->memory->budget, ws->charged);
    ws->charged = 0;
    tell_closed(ws);
    uvh_websocket_unref(ws);
}

/* ---- closing ---- */

void uvh_websocket_keep_reason(struct uvhttp_websocket *ws, const char *text, size_t length)
{
    const uvhttp_allocator_t *allocator = ws->worker->endpoint->allocator;
    if (ws->own_reason)
        uvh_free(allocator, (void *)(uintptr_t)ws->close_reason);
    ws->close_reason = length == 0 ? NULL : uvh_alloc_string(allocator, text, length);
    ws->own_reason = ws->close_reason != NULL;
}

void uvh_websocket_set_reason(struct uvhttp_websocket *ws, unsigned code, const char *text)
{
    if (ws->close_notified)
        return;
    uvh_websocket_keep_reason(ws, NULL, 0);
    if (code != 0)
        ws->close_code = (uint16_t)code;
    ws->close_reason = text;
}

/* An ended stream has no timer, so the connection's timer runs until the peer has taken the queued
 * data. */
void uvh_websocket_end_if_sent(struct uvhttp_websocket *ws)
{
    if (!ws->end_when_sent || ws->stream == NULL || ws->queue != NULL)
        return;
    if (uvhttp_stream_blocked(ws->stream) > 0)
        uvhttp_stream_await_drain(ws->stream);
    else
        uvhttp_stream_end(ws->stream);
}

static void end_when_sent(struct uvhttp_websocket *ws)
{
    if (ws->stream == NULL)
        return;
    ws->end_when_sent = true;
    uvh_websocket_end_if_sent(ws);
}

/* Gives the peer close_timeout_ms from the last bytes sent. Resumes a paused connection: otherwise
 * the peer's close frame would not be read. */
static void await_end(struct uvhttp_websocket *ws)
{
    ws->closing_timer = true;
    if (ws->stream == NULL)
        return;
    uvh_websocket_moved(ws);
    if (uvhttp_stream_set_timer(ws->stream, ws->worker->endpoint->options.close_timeout_ms) ==
        UVHTTP_ENOMEM)
        uvhttp_stream_close(ws->stream);
    else
        uvhttp_websocket_resume(ws);
}

void uvh_websocket_fail(struct uvhttp_websocket *ws, unsigned code, const char *reason)
{
    if (ws->failed || ws->stream == NULL)
        return;
    uvh_websocket_ref(ws);
    uvhttp_server_log(ws->worker->endpoint->server, UVHTTP_LOG_DEBUG,
                      "websocket closed with %u: %s", code, reason);
    ws->failed = true;
    if (ws->close_code == 0)
        uvh_websocket_set_reason(ws, code, reason);
    uvh_websocket_send_close(ws, code, reason, strlen(reason), true);
    tell_closed(ws);
    await_end(ws);
    end_when_sent(ws);
    uvh_websocket_unref(ws);
}

/* The peer's close frame: the first one is answered with the same code (RFC 6455 section 5.5.1).
 * The server ends the connection, and a client waits for that (section 7.1.1). */
void uvh_websocket_take_close(struct uvhttp_websocket *ws, const struct uvh_ws_event *event)
{
    ws->close_received = true;
    ws->close_code = event->code;
    uvh_websocket_keep_reason(ws, event->data, event->size);
    /* after queued messages, which were sent before */
    uvh_websocket_send_close(ws, event->code, NULL, 0, false);
    tell_closed(ws);
    await_end(ws);
    if (!ws->client)
        end_when_sent(ws);
}

int uvhttp_websocket_close(uvhttp_websocket_t *ws, unsigned code, const char *reason)
{
    size_t length = reason == NULL ? 0 : strlen(reason);
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EDISCONNECTED;
    if ((code != 0 && !uvh_ws_close_code_valid(code)) || (code == 0 && length > 0) ||
        length > UVH_WS_CONTROL_MAX - 2 || !uvh_utf8_valid(reason, length))
        return UVHTTP_EINVAL;
    uvh_websocket_ref(ws);
    ws->close_code = code == 0 ? UVHTTP_WEBSOCKET_NO_STATUS : (uint16_t)code;
    uvh_websocket_keep_reason(ws, reason, length);
    uvh_websocket_send_close(ws, code, reason, length, false);
    await_end(ws);
    uvh_websocket_unref(ws);
    return 0;
}

void uvhttp_websocket_abort(uvhttp_websocket_t *ws)
{
    if (ws->stream == NULL)
        return;
    if (!ws->opened)
        uvh_websocket_set_reason(ws, 0, "aborted before the response");
    uvhttp_stream_close(ws->stream);
}

/* The server stops. */
static void on_stopping(uvhttp_stream_t *stream, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    if (uvh_websocket_is_open(ws)) {
        (void)uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_GOING_AWAY, NULL);
    } else if (!ws->opened) {
        uvh_websocket_set_reason(ws, 0, uvh_websocket_stopping);
        uvhttp_stream_close(stream);
    }
}

/* ---- stream events ---- */

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    if (UVH_LIKELY(size > 0)) {
        if (UVH_UNLIKELY(ws->opening != NULL))
            uvh_websocket_read_handshake(ws, data, size);
        else
            uvh_websocket_receive(ws, data, size);
        return;
    }
    if (!ws->opened)
        uvh_websocket_set_reason(ws, 0, "the server closed the connection without a response");
    /* The peer has ended its side: without a close frame it has disconnected, not closed. */
    if (ws->close_received && ws->close_sent)
        end_when_sent(ws);
    else
        uvhttp_stream_close(stream);
}

static void on_drain(uvhttp_stream_t *stream, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    (void)stream;
    uvh_websocket_heard(ws); /* it takes queued data, so it is alive */
    uvh_websocket_moved(ws);
    uvh_websocket_drained(ws);
}

/* ---- idle timeouts ---- */

int uvhttp_websocket_ping(uvhttp_websocket_t *ws, const void *data, size_t size)
{
    if (!uvh_websocket_is_open(ws))
        return UVHTTP_EDISCONNECTED;
    if (size > UVH_WS_CONTROL_MAX || (data == NULL && size > 0))
        return UVHTTP_EINVAL;
    uvh_websocket_ref(ws);
    int err = uvh_websocket_send_control(ws, UVH_WS_PING, data, size);
    uvh_websocket_unref(ws);
    return err;
}

/* Milliseconds until `whole` have passed since `since`; 0 when they have. */
static uint32_t left_of(const struct uvhttp_websocket *ws, uint32_t since, uint32_t whole)
{
    uint32_t passed = uvh_websocket_now(ws) - since;
    return passed < whole ? whole - passed : 0;
}

/* Schedules the next check, if any. Timestamps are set when bytes move and the timer is not
 * changed, since setting it for each message would cost more. */
static int schedule_check(struct uvhttp_websocket *ws)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    uint32_t idle = UINT32_MAX, silent = UINT32_MAX;
    if (options->idle_timeout_ms != UVHTTP_NEVER)
        idle = left_of(ws, ws->moved_at, options->idle_timeout_ms);
    if (options->ping_interval_ms != UVHTTP_NEVER)
        silent = left_of(ws, ws->heard_at, options->ping_interval_ms);
    uint32_t least = idle < silent ? idle : silent;
    return least == UINT32_MAX ? 0 : uvhttp_stream_set_timer(ws->stream, least);
}

/* The stream notifies only when all is sent, which a slow peer delays: partial progress is a sign
 * of life, too. */
static void note_leaving(struct uvhttp_websocket *ws)
{
    size_t blocked = uvhttp_stream_blocked(ws->stream);
    if (blocked >= ws->charged)
        return;
    uvh_budget_give(&ws->worker->endpoint->memory->budget, ws->charged - blocked);
    ws->charged = blocked;
    uvh_websocket_heard(ws);
    uvh_websocket_moved(ws);
}

/* Checks for an idle connection. */
static void on_look(struct uvhttp_websocket *ws)
{
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    note_leaving(ws);
    if (ws->paused) /* then this side does not read */
        uvh_websocket_heard(ws);
    if (options->idle_timeout_ms != UVHTTP_NEVER &&
        left_of(ws, ws->moved_at, options->idle_timeout_ms) == 0) {
        (void)uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "idle timeout");
        return;
    }
    if (options->ping_interval_ms != UVHTTP_NEVER &&
        left_of(ws, ws->heard_at, options->ping_interval_ms) == 0) {
        if (ws->pinged) {
            uvh_websocket_set_reason(ws, 0, "no reply to a ping");
            uvhttp_stream_close(ws->stream);
            return;
        }
        ws->heard_at = uvh_websocket_now(ws); /* restarts the wait, for the pong */
        int err = uvhttp_websocket_ping(ws, NULL, 0);
        if (err == UVHTTP_EDISCONNECTED)
            return;
        ws->pinged = err == 0;
    }
    if (ws->stream != NULL)
        (void)schedule_check(ws);
}

/* While closing, a peer that still takes queued data gets more time. */
static void on_deadline(struct uvhttp_websocket *ws)
{
    note_leaving(ws);
    uint32_t left = left_of(ws, ws->moved_at, ws->worker->endpoint->options.close_timeout_ms);
    if (left > 0 && uvhttp_stream_set_timer(ws->stream, left) == 0)
        return;
    if (is_sending(ws))
        uvh_websocket_set_reason(ws, UVHTTP_WEBSOCKET_ABNORMAL,
                                 "the peer accepted no queued data within close_timeout_ms");
    uvhttp_stream_close(ws->stream);
}

static void on_timer(uvhttp_stream_t *stream, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    uvh_websocket_ref(ws);
    if (!ws->opened) {
        uvh_websocket_set_reason(ws, 0, "no response within close_timeout_ms");
        uvhttp_stream_close(stream);
    } else if (ws->closing_timer) {
        on_deadline(ws);
    } else {
        on_look(ws);
    }
    uvh_websocket_unref(ws);
}

const uvhttp_stream_events_t uvh_websocket_stream_events = {
    .data = on_data,
    .drain = on_drain,
    .stopping = on_stopping,
    .timer = on_timer,
    .closed = on_stream_closed,
};

/* ---- opening ---- */

void uvh_websocket_open(struct uvhttp_websocket *ws, const char *protocol,
                        struct uvh_ws_deflate *deflate)
{
    struct uvh_ws_worker *worker = ws->worker;
    const struct uvhttp_websocket_endpoint *endpoint = worker->endpoint;
    ws->protocol = protocol;
    ws->deflate = deflate;
    uvhttp_stream_set_backlog(ws->stream, STREAM_BACKLOG);
    uvh_websocket_heard(ws);
    uvh_websocket_moved(ws);
    if (schedule_check(ws) == UVHTTP_ENOMEM) {
        uvh_websocket_set_reason(ws, 0, "out of memory");
        ws->unknown = !ws->client; /* the user of a client expects a callback */
        uvhttp_stream_close(ws->stream);
        return;
    }
    ws->opened = true;
    uvh_ws_reader_init(&ws->reader, deflate != NULL);
    uvh_counter_add(&worker->connections, 1);
    uvh_counter_add(&worker->total_connections, 1);
    if (deflate != NULL) {
        uvh_counter_add(&worker->compressing, 1);
        uvh_counter_add(&worker->dedicated, uvh_ws_deflate_dedicated(deflate));
    }
    if (endpoint->options.events.open != NULL)
        endpoint->options.events.open(ws, endpoint->options.arg);
}

/* ---- properties ---- */

void *uvhttp_websocket_data(const uvhttp_websocket_t *ws)
{
    return ws->data;
}

void uvhttp_websocket_set_data(uvhttp_websocket_t *ws, void *data)
{
    ws->data = data;
}

uvhttp_websocket_endpoint_t *uvhttp_websocket_endpoint_of(const uvhttp_websocket_t *ws)
{
    return ws->worker->endpoint;
}

uvhttp_server_t *uvhttp_websocket_server(const uvhttp_websocket_t *ws)
{
    return ws->worker->endpoint->server;
}

size_t uvhttp_websocket_worker(const uvhttp_websocket_t *ws)
{
    return ws->worker->index;
}

const char *uvhttp_websocket_protocol(const uvhttp_websocket_t *ws)
{
    return ws->protocol;
}

bool uvhttp_websocket_compressed(const uvhttp_websocket_t *ws)
{
    return ws->deflate != NULL;
}
