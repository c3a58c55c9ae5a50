/* SETTINGS, PING, GOAWAY and the frames that end or open a stream's window; and the limits on what
 * a client may cause without cost for itself. */
#include <uvhttp/error.h>

#include <string.h>

#include "h2/h2.h"

enum {
    SECOND_MS = 1000,
    ENTRIES = 7, /* of our SETTINGS frame, at most */
};

static const char drain_ping[UVH_H2_PING_SIZE] = {'d', 'r', 'a', 'i', 'n', 0, 0, 0};
static const char alive_ping[UVH_H2_PING_SIZE] = {'a', 'l', 'i', 'v', 'e', 0, 0, 0};

/* Reserves space for a frame. NULL: the connection is closed, and so is every stream; those without
 * a reference are freed, and `h2` too. */
static char *reserve(struct uvh_h2 *h2, size_t size)
{
    struct uvh_conn *conn = h2->conn;
    int err = UVHTTP_EDISCONNECTED;
    char *out = uvh_conn_is_closed(conn) ? NULL : uvh_output_reserve(conn, size, &err);
    if (out == NULL)
        uvh_conn_close(conn);
    return out;
}

/* ---- errors ---- */

static void log_failure(struct uvh_h2 *h2, enum uvh_h2_error error, const char *reason)
{
    struct uvh_server *server = uvh_h2_worker(h2)->server;
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    uvhttp_log_level_t level =
        error == UVH_H2_ENHANCE_YOUR_CALM ? UVHTTP_LOG_INFO : UVHTTP_LOG_DEBUG;
    if (uvh_server_logs(server, level))
        uvh_server_log(server, level, "HTTP/2 connection with %s ended with %s: %s",
                       uvh_conn_peer(h2->conn, peer), uvh_h2_error_name(error), reason);
}

static void send_goaway(struct uvh_h2 *h2, uint32_t last, enum uvh_h2_error error,
                        const char *reason)
{
    size_t size = UVH_H2_HEAD_SIZE + UVH_H2_GOAWAY_SIZE + strlen(reason);
    char *out = reserve(h2, size);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_goaway(out, last, error, reason));
}

void uvh_h2_fail(struct uvh_h2 *h2, enum uvh_h2_error error, const char *reason)
{
    if (h2->failed || uvh_conn_is_closed(h2->conn))
        return;
    uvh_h2_ref(h2);
    h2->failed = true;
    uvh_counter_add(&uvh_h2_worker(h2)->counters.http2_errors, 1);
    log_failure(h2, error, reason);
    send_goaway(h2, h2->last_served, error, reason);
    uvh_conn_close_when_sent(h2->conn, true);
    h2->conn->discarding = true;
    uvh_h2_abort_all(h2);
    uvh_h2_unref(h2);
}

/* ---- the regular end ---- */

void uvh_h2_shut_down(struct uvh_h2 *h2)
{
    if (h2->draining || h2->refusing || h2->failed)
        return;
    uvh_h2_ref(h2);
    h2->draining = true;
    send_goaway(h2, UVH_H2_STREAM_MAX, UVH_H2_NO_ERROR, "");
    char *out = reserve(h2, UVH_H2_HEAD_SIZE + UVH_H2_PING_SIZE);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_ping(out, drain_ping, 0));
    uvh_h2_unref(h2);
}

void uvh_h2_refuse_more(struct uvh_h2 *h2)
{
    if (h2->refusing || h2->failed)
        return;
    h2->refusing = true;
    /* the client may be sending a request that it will repeat on another connection */
    h2->conn->linger = true;
    send_goaway(h2, h2->last_served, UVH_H2_NO_ERROR, "");
}

void uvh_h2_end_idle(struct uvh_h2 *h2)
{
    if (!uvh_h2_is_idle(h2) || uvh_conn_is_closed(h2->conn))
        return;
    uvh_h2_refuse_more(h2);
}

void uvh_h2_drain_all(struct uvh_worker *worker)
{
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &worker->http2);
    while (!uvh_list_empty(&batch)) {
        struct uvh_h2 *h2 = UVH_CONTAINER_OF(uvh_list_take(&batch), struct uvh_h2, link);
        uvh_list_append(&worker->http2, &h2->link);
        struct uvh_conn *conn = h2->conn;
        uvh_conn_event_begin(conn);
        uvh_h2_shut_down(h2);
        uvh_conn_event_end(conn);
    }
}

/* ---- limits ---- */

static struct uvh_h2_rates *rates(struct uvh_h2 *h2)
{
    uint64_t now = uv_now(h2->conn->shared->loop);
    if (now - h2->rates.begun >= SECOND_MS)
        h2->rates = (struct uvh_h2_rates){.begun = now};
    return &h2->rates;
}

bool uvh_h2_count_control(struct uvh_h2 *h2, uint32_t frames)
{
    struct uvh_h2_rates *now = rates(h2);
    now->control += frames;
    if (now->control <= uvh_h2_config(h2)->http2_control_frames)
        return true;
    uvh_h2_fail(h2, UVH_H2_ENHANCE_YOUR_CALM, "too many frames without content");
    return false;
}

bool uvh_h2_count_reply(struct uvh_h2 *h2)
{
    if (h2->replies_allowed == 0)
        return uvh_h2_count_control(h2, 1);
    h2->replies_allowed--;
    return true;
}

void uvh_h2_count_reset(struct uvh_h2 *h2)
{
    const uvhttp_config_t *config = uvh_h2_config(h2);
    if (++rates(h2)->resets > config->http2_resets)
        uvh_h2_fail(h2, UVH_H2_ENHANCE_YOUR_CALM, "too many requests were reset");
    else if (++h2->total_resets > config->http2_total_resets && config->http2_total_resets != 0)
        uvh_h2_refuse_more(h2); /* it may be a proxy of many clients: its requests are served */
}

/* ---- frames ---- */

void uvh_h2_send_reset(struct uvh_h2 *h2, uint32_t id, enum uvh_h2_error error)
{
    char *out = h2->failed ? NULL : reserve(h2, UVH_H2_HEAD_SIZE + 4);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_rst_stream(out, id, error));
}

void uvh_h2_send_window_update(struct uvh_h2 *h2, uint32_t id, uint32_t increment)
{
    char *out = h2->failed ? NULL : reserve(h2, UVH_H2_HEAD_SIZE + 4);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_window_update(out, id, increment));
}

void uvh_h2_send_settings(struct uvh_h2 *h2)
{
    const uvhttp_config_t *config = uvh_h2_config(h2);
    const struct uvh_h2_entry entries[ENTRIES] = {
        {UVH_H2_ENABLE_PUSH, 0},
        {UVH_H2_MAX_CONCURRENT_STREAMS, (uint32_t)config->http2_max_streams},
        {UVH_H2_INITIAL_WINDOW_SIZE, (uint32_t)config->http2_stream_window},
        {UVH_H2_MAX_HEADER_LIST_SIZE, (uint32_t)config->max_header_size},
        {UVH_H2_ENABLE_CONNECT_PROTOCOL, 1},
        {UVH_H2_NO_RFC7540_PRIORITIES, 1},
        {UVH_H2_HEADER_TABLE_SIZE, (uint32_t)config->http2_header_table},
    };
    size_t count = config->http2_header_table == UVH_H2_TABLE_SIZE ? 6 : 7;
    char *out = reserve(h2, UVH_H2_HEAD_SIZE + count * UVH_H2_SETTING_SIZE);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_settings(out, entries, count));
    uint32_t more = (uint32_t)config->http2_connection_window - UVH_H2_WINDOW;
    h2->receive_window = (int32_t)config->http2_connection_window;
    if (more > 0)
        uvh_h2_send_window_update(h2, 0, more);
}

void uvh_h2_send_ping(struct uvh_h2 *h2)
{
    char *out = reserve(h2, UVH_H2_HEAD_SIZE + UVH_H2_PING_SIZE);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_ping(out, alive_ping, 0));
}

/* RFC 9113 section 6.9.2: a new initial window changes that of every stream. */
static void change_windows(struct uvh_h2 *h2, int32_t difference)
{
    for (struct uvh_list *link = h2->streams.next; link != &h2->streams; link = link->next) {
        struct uvh_h2_stream *stream = UVH_CONTAINER_OF(link, struct uvh_h2_stream, link);
        if (stream->closed)
            continue;
        if (!uvh_h2_window_add(&stream->send_window, difference)) {
            uvh_h2_fail(h2, UVH_H2_FLOW_CONTROL_ERROR, "a window is too large");
            return;
        }
        if (!uvh_h2_has_output(stream))
            continue;
        uvh_h2_ready(stream);
        if (stream->stalled)
            uvh_h2_set_timeout(stream, false);
    }
}

void uvh_h2_take_settings(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload)
{
    h2->settings_received = true;
    if (!uvh_h2_count_control(h2, 1 + frame->length / UVH_H2_SETTING_SIZE) ||
        (frame->flags & UVH_H2_ACK) != 0)
        return;
    uint32_t window = h2->peer.initial_window_size;
    enum uvh_h2_error error = uvh_h2_settings_read(&h2->peer, payload, frame->length);
    if (error != UVH_H2_NO_ERROR) {
        uvh_h2_fail(h2, error, "a setting is invalid");
        return;
    }
    char *out = reserve(h2, UVH_H2_HEAD_SIZE);
    if (out == NULL)
        return;
    uvh_output_commit(h2->conn, uvh_h2_write_settings_ack(out));
    /* RFC 9113 section 4.3.1; we use no table, so it is empty from then on */
    if (h2->peer.header_table_size < UVH_H2_TABLE_SIZE && !h2->table_empty)
        h2->table_update_due = true;
    if (h2->peer.initial_window_size != window)
        change_windows(h2, (int32_t)(h2->peer.initial_window_size - window));
}

void uvh_h2_take_ping(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload)
{
    if (!uvh_h2_count_reply(h2))
        return;
    if ((frame->flags & UVH_H2_ACK) != 0) {
        if (h2->draining && memcmp(payload, drain_ping, sizeof(drain_ping)) == 0)
            uvh_h2_refuse_more(h2);
        return;
    }
    char *out = reserve(h2, UVH_H2_HEAD_SIZE + UVH_H2_PING_SIZE);
    if (out != NULL)
        uvh_output_commit(h2->conn, uvh_h2_write_ping(out, payload, UVH_H2_ACK));
}
