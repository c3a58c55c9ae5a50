/* Upgraded connections when something else happens to them: a client that has disconnected or is
 * silent, failing allocations, or an on_send callback that tries to change the 101 response. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/stream.h>

#include "base/compiler.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "support/stage.h"

enum { MEGABYTE = 1 << 20, SMALL_BUFFER = 4096, PINNED = 6, STALLED = 50 };

static const char upgrade_request[] =
    "GET /later HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *pending_response;
static uvhttp_stream_t *stream;
/* events of the stream in order: the data, '.' end of input, '!' closed, 't' timer */
static char trace[256];
static bool ignore_stopping;        /* when the server stops */
static void (*on_timer_hook)(void); /* called by the stream's timer event */
static int drains;                  /* number of drain events */

/* ---- handlers ---- */

static int respond_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    pending_response = response;
    return 0;
}

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int begin_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    pending_response = response;
    return uvhttp_response_begin(response, 200, "text/plain", 1000);
}

static void add_to_trace(const char *data, size_t size)
{
    size_t length = strlen(trace);
    assert_true(length + size < sizeof(trace));
    memcpy(trace + length, data, size);
    trace[length + size] = '\0';
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    (void)of;
    (void)arg;
    add_to_trace(size == 0 ? "." : data, size == 0 ? 1 : size);
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    (void)of;
    (void)arg;
    add_to_trace("!", 1);
    stream = NULL;
}

static void on_timer(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    add_to_trace("t", 1);
    assert_ptr_equal(of, stream);
    if (on_timer_hook != NULL)
        on_timer_hook();
}

static void on_stopping(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    if (ignore_stopping)
        add_to_trace("s", 1);
    else
        uvhttp_stream_end(of);
}

static void on_drain(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    drains++;
    assert_int_equal(uvhttp_stream_pending(of), 0);
}

static int upgrade(void)
{
    static const uvhttp_stream_events_t events = {.data = on_data,
                                                  .drain = on_drain,
                                                  .timer = on_timer,
                                                  .stopping = on_stopping,
                                                  .closed = on_closed};
    return uvhttp_response_upgrade(pending_response, "x", &events, NULL, &stream);
}

static int replaced, changed;

static int change_response(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    replaced = uvhttp_response_replace_body(response, "body", 4);
    changed = uvhttp_response_set_status(response, 404);
    return 0;
}

/* ---- setup and teardown ---- */

static void begin_with(size_t buffer_size)
{
    stage_begin(&stage);
    stage.config->buffer_size = buffer_size;
    stage.config->write_timeout = 1;
    stage.config->max_header_size = stage.config->max_trailer_size = SMALL_BUFFER / 2;
    stage.config->max_target_size = SMALL_BUFFER / 4;
    pending_response = NULL;
    stream = NULL;
    on_timer_hook = NULL;
    ignore_stopping = false;
    drains = 0;
    trace[0] = '\0';
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/later", respond_later, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_hello, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/body", begin_body, NULL), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SMALL_BUFFER);
    raw_client_connect(&client, uvhttp_server_port(stage.server), SMALL_BUFFER);
}

static void begin(void)
{
    begin_with(MEGABYTE / 16);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static bool is_pending(void *arg)
{
    (void)arg;
    return pending_response != NULL;
}

/* Runs until the handler has the request and the server has received all bytes. */
static void send_request(const char *request)
{
    pending_response = NULL;
    raw_client_send_text(&client, request);
    stage_drive(&stage, &client, 0, is_pending, NULL);
    stage_iterations(&stage, 5);
}

static void run_until_trace(const char *expected)
{
    for (int iteration = 0; iteration < 1000 && strcmp(trace, expected) != 0; iteration++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    assert_string_equal(trace, expected);
}

/* ---- the 101 response ---- */

/* The loop has not seen the reset. Sending the 101 response detects it. */
static void upgrade_after_reset_gets_edisconnected(void **state)
{
    (void)state;
    begin();
    send_request(upgrade_request);
    raw_client_close(&client, true);
    assert_int_equal(upgrade(), UVHTTP_EDISCONNECTED);
    assert_null(stream);
    assert_string_equal(trace, ""); /* no closed event without a stream */
    client.socket = -1;
    end();
    assert_string_equal(trace, "");
}

/* Another response is possible then, without the field of the upgrade. */
static void upgrade_without_memory_changes_nothing(void **state)
{
    int err = UVHTTP_ENOMEM;
    (void)state;
    for (size_t n = 1; err == UVHTTP_ENOMEM; n++) {
        begin();
        send_request(upgrade_request);
        fault_heap_arm(&stage.heap, n, true);
        err = upgrade();
        fault_heap_arm(&stage.heap, 0, false);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_int_equal(stream != NULL, err == 0);
        if (err != 0) {
            assert_int_equal(uvhttp_response_send_text(pending_response, 200, "no"), 0);
            assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
            assert_null(memmem(client.data, client.received, "Upgrade", 7));
        }
        end();
        assert_true(n > 1 || err != 0);
    }
}

static void on_send_cannot_change_101_response(void **state)
{
    (void)state;
    begin();
    send_request(upgrade_request);
    assert_int_equal(uvhttp_response_on_send(pending_response, change_response, NULL), 0);
    assert_int_equal(upgrade(), 0);
    assert_int_equal(replaced, UVHTTP_EINVAL);
    assert_int_equal(changed, UVHTTP_EINVAL);
    raw_client_send_text(&client, "bytes");
    run_until_trace("bytes");
    assert_memory_equal(client.data, "HTTP/1.1 101 ", 13);
    assert_null(memmem(client.data, client.received, "body", 4));
    end();
    assert_string_equal(trace, "bytes!");
}

/* ---- data before the client's end ---- */

static void upgrade_when_posted(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server;
    (void)worker;
    (void)arg;
    assert_int_equal(upgrade(), 0);
}

static void respond_when_posted(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server;
    (void)worker;
    (void)arg;
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "late"), 0);
}

/* The loop finds both in one iteration: the message, then the client's end. */
static void post_and_end_sending(uvhttp_post_cb run)
{
    assert_int_equal(uvhttp_server_post(stage.server, 0, run, NULL), 0);
    raw_client_end_sending(&client);
}

static void stream_data_precedes_peer_end(void **state)
{
    char request[256];
    (void)state;
    begin();
    snprintf(request, sizeof(request), "%sbytes", upgrade_request);
    send_request(request);
    post_and_end_sending(upgrade_when_posted);
    run_until_trace("bytes.");
    end();
    assert_string_equal(trace, "bytes.!");
}

static void pipelined_request_of_half_closed_client_served(void **state)
{
    (void)state;
    begin();
    send_request("GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
    post_and_end_sending(respond_when_posted);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 2), 2);
    end();
}

/* ---- memory ---- */

/* The client does not read and continues to send. Data received after uvhttp_stream_end is
 * discarded, not stored. */
static void ended_stream_discards_input(void **state)
{
    static char bytes[MEGABYTE];
    (void)state;
    begin();
    send_request(upgrade_request);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    const struct uvh_conn *conn = stream->on.conn;
    uvhttp_stream_end(stream);
    assert_true(uvh_conn_is_blocked(conn));
    raw_client_send(&client, bytes, sizeof(bytes));
    for (int iteration = 0; iteration < 2000 && client.out_sent < client.out_length; iteration++) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
        assert_int_equal(conn->in.length, 0);
    }
    assert_int_equal(client.out_sent, client.out_length);
    stage_drive_to_end(&stage, &client, MEGABYTE);
    assert_true(client.received > sizeof(bytes)); /* the data written before has arrived */
    end();
    assert_string_equal(trace, "!");
}

/* Only progress of the client renews the timeout, not a resumed read. */
static void resume_does_not_renew_write_timeout(void **state)
{
    static const char bytes[MEGABYTE];
    (void)state;
    begin();
    send_request(upgrade_request);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    for (int iteration = 0; iteration < 5000 && stream != NULL; iteration++) {
        uvhttp_stream_pause(stream);
        uvhttp_stream_resume(stream);
        stage_wait(&stage);
    }
    assert_string_equal(trace, "!");
    end();
}

/* ---- pending output ---- */

static void begin_stream(void)
{
    begin();
    send_request(upgrade_request);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
}

static char pattern(size_t i)
{
    return (char)('a' + (i * 7 + i / 1000) % 26);
}

/* Writes `size` more bytes of the pattern. */
static void write_pattern(uvhttp_stream_t *to, size_t *written, size_t size)
{
    char bytes[2000];
    assert_true(size <= sizeof(bytes));
    for (size_t i = 0; i < size; i++)
        bytes[i] = pattern(*written + i);
    assert_int_equal(uvhttp_stream_write(to, bytes, size), 0);
    *written += size;
}

/* Checks that the client receives the pattern, in small parts. Meanwhile the pending output is
 * never in a buffer that is far too large. */
static void assert_pattern_received(struct raw_client *reader, uvhttp_stream_t *of, size_t written)
{
    const struct uvh_conn *conn = of->on.conn;
    while (raw_client_step(reader, 777))
        ;
    const char *end = memmem(reader->data, reader->received, "\r\n\r\n", 4);
    assert_non_null(end);
    size_t head = (size_t)(end + 4 - reader->data);
    size_t before = uvhttp_stream_pending(of);
    for (int iteration = 0; iteration < 100000 && reader->received < head + written; iteration++) {
        if (!raw_client_step(reader, 777))
            stage_wait(&stage);
        size_t pending = uvhttp_stream_pending(of);
        if (pending != before && uvh_conn_is_blocked(conn) && conn->out.buffer->capacity > 1024)
            assert_true(pending > conn->out.buffer->capacity / 8);
    }
    assert_int_equal(reader->received, head + written);
    for (size_t i = 0; i < written; i++)
        assert_int_equal(reader->data[head + i], pattern(i));
    assert_null(conn->out.buffer);
}

/* Without a rejected write. Each uvhttp_stream_await_drain gets one drain event, also without
 * pending output. */
static void await_drain_gets_one_event(void **state)
{
    (void)state;
    begin_stream();
    size_t written = 0;
    uint64_t began = uvhttp_stream_now(stream);
    uvhttp_stream_await_drain(stream);
    stage_iterations(&stage, 3);
    assert_int_equal(drains, 1);
    assert_int_equal(uvhttp_stream_blocked(stream), 0);
    while (uvhttp_stream_blocked(stream) == 0)
        write_pattern(stream, &written, 2000);
    assert_int_equal(uvhttp_stream_blocked(stream), uvhttp_stream_pending(stream));
    uvhttp_stream_await_drain(stream);
    stage_iterations(&stage, 3);
    assert_int_equal(drains, 1);
    assert_pattern_received(&client, stream, written);
    stage_iterations(&stage, 3);
    assert_int_equal(drains, 2);
    assert_int_equal(uvhttp_stream_blocked(stream), 0);
    assert_true(uvhttp_stream_now(stream) >= began);
    uvhttp_server_log(stage.server, UVHTTP_LOG_ERROR, "%d drains\n", drains);
    assert_string_equal(stage.last_error, "2 drains\\x0a");
    uvhttp_server_log(NULL, UVHTTP_LOG_ERROR, "nobody");
    assert_int_equal(stage.errors_logged, 1);
    end();
}

/* Simulates thousands of subscribers that do not read. Each has some output pending, written at
 * once or in many parts. */
static void stalled_clients_use_small_buffers(void **state)
{
    static struct raw_client clients[STALLED];
    static uvhttp_stream_t *streams[STALLED];
    static size_t written[STALLED];
    (void)state;
    begin();
    size_t before = 0;
    for (size_t i = 0; i < STALLED; i++) {
        raw_client_connect(&clients[i], uvhttp_server_port(stage.server), SMALL_BUFFER);
        pending_response = NULL;
        raw_client_send_text(&clients[i], upgrade_request);
        stage_drive(&stage, &clients[i], 0, is_pending, NULL);
        assert_int_equal(upgrade(), 0);
        streams[i] = stream;
        written[i] = 0;
        stage_iterations(&stage, 5);
    }
    before = atomic_load(&stage.heap.live_bytes);
    for (size_t i = 0; i < STALLED; i++) {
        while (uvhttp_stream_pending(streams[i]) == 0)
            write_pattern(streams[i], &written[i], i % 2 == 0 ? 500 : 20);
        for (int chunk = 0; chunk < 5; chunk++)
            write_pattern(streams[i], &written[i], 200);
    }
    assert_true(atomic_load(&stage.heap.live_bytes) - before <
                (size_t)STALLED * SMALL_BUFFER + MEGABYTE / 16);
    for (size_t i = 0; i < STALLED; i++) {
        for (int chunk = 0; chunk < 100; chunk++)
            write_pattern(streams[i], &written[i], 200);
        assert_pattern_received(&clients[i], streams[i], written[i]);
    }
    for (size_t i = 0; i < STALLED; i++)
        raw_client_close(&clients[i], false);
    end();
}

static size_t hook_written;

static void write_pattern_in_chunks(void)
{
    for (int i = 0; i < 30; i++)
        write_pattern(stream, &hook_written, 1000);
}

/* Output that is batched during an event is in a large buffer. It moves to a small buffer as it
 * gets less. */
static void pending_output_moves_to_smaller_buffer(void **state)
{
    (void)state;
    begin_stream();
    on_timer_hook = write_pattern_in_chunks;
    hook_written = 0;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    run_until_trace("t");
    assert_true(uvhttp_stream_pending(stream) > 0);
    assert_pattern_received(&client, stream, hook_written);
    end();
}

static void pending_output_without_memory_keeps_buffer(void **state)
{
    (void)state;
    begin_stream();
    on_timer_hook = write_pattern_in_chunks;
    hook_written = 0;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    run_until_trace("t");
    size_t capacity = stream->on.conn->out.buffer->capacity;
    size_t head = client.received;
    assert_true(uvhttp_stream_pending(stream) > 0);
    fault_heap_arm(&stage.heap, 1, true);
    for (int iteration = 0; iteration < 100000 && uvhttp_stream_pending(stream) > 1000;
         iteration++) {
        raw_client_step(&client, 777);
        stage_wait(&stage);
    }
    if (uvhttp_stream_pending(stream) > 0)
        assert_int_equal(stream->on.conn->out.buffer->capacity, capacity);
    fault_heap_arm(&stage.heap, 0, false);
    assert_true(head < hook_written);
    assert_pattern_received(&client, stream, hook_written);
    end();
}

/* A write fails as a whole if nothing of it can be stored. */
static void write_without_memory_takes_nothing(void **state)
{
    (void)state;
    begin_stream();
    size_t written = 0;
    fault_heap_arm(&stage.heap, 1, true);
    struct uvh_buffer_pool *pool = &stream->on.conn->shared->buffers;
    struct uvh_buffer *free = pool->free;
    size_t free_count = pool->free_count;
    pool->free = NULL; /* or the write would use a free buffer */
    pool->free_count = 0;
    char byte = pattern(0);
    int err = 0;
    while (stream != NULL && (err = uvhttp_stream_write(stream, &byte, 1)) == 0)
        byte = pattern(++written);
    pool->free = free;
    pool->free_count = free_count;
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(err, UVHTTP_ENOMEM); /* a write of one byte cannot be partial */
    assert_int_equal(uvhttp_stream_pending(stream), 0);
    while (uvhttp_stream_pending(stream) == 0)
        write_pattern(stream, &written, 1);
    assert_pattern_received(&client, stream, written);
    end();
}

/* ---- timers ---- */

static bool is_set(void)
{
    return !uvh_list_empty(&stream->timer.link);
}

static void set_timer_twice(void)
{
    if (strlen(trace) < 3)
        assert_int_equal(uvhttp_stream_set_timer(stream, 30), 0);
}

static void stream_timer_fires_once_after_timeout(void **state)
{
    (void)state;
    begin_stream();
    uint64_t began = uv_now(&stage.loop);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 300), 0); /* replaces the first one */
    run_until_trace("t");
    assert_true(uv_now(&stage.loop) - began >= 300);
    assert_false(is_set());
    on_timer_hook = set_timer_twice;
    trace[0] = '\0';
    assert_int_equal(uvhttp_stream_set_timer(stream, 30), 0);
    run_until_trace("ttt");
    assert_false(is_set());
    end();
}

static void stream_timer_can_be_cancelled(void **state)
{
    (void)state;
    begin_stream();
    assert_int_equal(uvhttp_stream_set_timer(stream, 0), 0); /* no effect */
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    assert_true(is_set());
    assert_int_equal(uvhttp_stream_set_timer(stream, UVH_TIMEOUT_STEP_MOST + 1), UVHTTP_EINVAL);
    assert_true(is_set());
    assert_int_equal(uvhttp_stream_set_timer(stream, 0), 0);
    assert_false(is_set());
    assert_int_equal(uvhttp_stream_set_timer(stream, UVH_TIMEOUT_STEP_MOST), 0);
    assert_true(is_set());
    uvhttp_stream_end(stream);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), UVHTTP_EDISCONNECTED);
    assert_false(is_set());
    end();
    assert_string_equal(trace, "!");
}

static void close_stream(void)
{
    uvhttp_stream_close(stream);
    assert_null(stream);
}

static void write_and_end(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "b", 1), 0);
    assert_int_equal(uvhttp_stream_write(stream, "ye", 2), 0);
    uvhttp_stream_end(stream);
}

static void stream_timer_may_close_stream(void **state)
{
    (void)state;
    begin_stream();
    on_timer_hook = close_stream;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    run_until_trace("t!");
    end();
}

/* Its user may be in the middle of several calls when a write finds the connection broken. */
static void closed_stream_may_be_called_until_callback_returns(void **state)
{
    static const uvhttp_slice_t area = {"x", 1};
    (void)state;
    begin_stream();
    uvhttp_stream_t *closed = stream;
    uint64_t now = uvhttp_stream_now(closed);
    raw_client_close(&client, true);
    assert_int_equal(uvhttp_stream_write(closed, "x", 1), UVHTTP_EDISCONNECTED);
    assert_string_equal(trace, "!");
    uvhttp_stream_close(closed);
    uvhttp_stream_end(closed);
    uvhttp_stream_pause(closed);
    uvhttp_stream_resume(closed);
    uvhttp_stream_await_drain(closed);
    uvhttp_stream_set_backlog(closed, 1);
    assert_int_equal(uvhttp_stream_write(closed, "x", 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_write_areas(closed, &area, 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_set_timer(closed, 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_pending(closed) + uvhttp_stream_blocked(closed), 0);
    assert_null(uvhttp_stream_tls_error(closed));
    assert_int_equal(uvhttp_stream_now(closed), now);
    size_t live = stage.heap.live;
    stage_iterations(&stage, 2);
    assert_true(stage.heap.live < live);
    assert_string_equal(trace, "!");
    end();
}

static void stream_timer_may_end_stream(void **state)
{
    (void)state;
    begin_stream();
    on_timer_hook = write_and_end;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    stage_drive_to_end(&stage, &client, MEGABYTE);
    assert_memory_equal(client.data + client.received - 7, "\r\n\r\nbye", 7);
    raw_client_close(&client, false);
    run_until_trace("t!");
    end();
}

static void stream_timer_fires_during_drain(void **state)
{
    (void)state;
    begin_stream();
    ignore_stopping = true;
    uvhttp_server_stop(stage.server);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    run_until_trace("st");
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000000), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000), 0);
    end();
    assert_string_equal(trace, "st!");
}

static void stream_timer_without_memory_gets_enomem(void **state)
{
    (void)state;
    begin_stream();
    fault_heap_arm(&stage.heap, 1, true);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), UVHTTP_ENOMEM);
    assert_false(is_set());
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    fault_heap_arm(&stage.heap, 1, true);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000), 0); /* the lists are allocated once */
    fault_heap_arm(&stage.heap, 0, false);
    end();
}

static int upgrade_without_timer(uvhttp_stream_t **out)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    return uvhttp_response_upgrade(pending_response, "x", &events, NULL, out);
}

static void stream_timer_without_event_gets_einval(void **state)
{
    (void)state;
    begin();
    send_request(upgrade_request);
    assert_int_equal(upgrade_without_timer(&stream), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), UVHTTP_EINVAL);
    end();
}

static void write_and_set_timer(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "?", 1), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    trace[0] = '\0';
}

/* A timer that writes to a client without progress does not keep the connection open. */
static void stream_timer_does_not_renew_write_timeout(void **state)
{
    static const char bytes[MEGABYTE];
    (void)state;
    begin_stream();
    on_timer_hook = write_and_set_timer;
    uvhttp_stream_set_backlog(stream, 2 * sizeof(bytes));
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    for (int iteration = 0; iteration < 5000 && stream != NULL; iteration++)
        stage_wait(&stage);
    assert_string_equal(trace, "!");
    end();
}

/* ---- limits ---- */

static void stream_backlog_is_limited(void **state)
{
    (void)state;
    begin();
    send_request(upgrade_request);
    assert_int_equal(upgrade(), 0);
    uvhttp_stream_set_backlog(stream, SIZE_MAX);
    assert_true(stream->backlog <= (size_t)1 << 30);
    end();
}

/* Pending requests hold the worker's buffers, so that more input needs a new buffer. */
static void exhaust_memory(struct raw_client pinned[PINNED])
{
    char request[SMALL_BUFFER / 2];
    int length = snprintf(request, sizeof(request), "GET /later HTTP/1.1\r\nHost: h\r\nX: ");
    memset(request + length, 'x', 1200);
    memcpy(request + length + 1200, "\r\n\r\n", 5);
    for (int i = 0; i < PINNED; i++) {
        raw_client_connect(&pinned[i], uvhttp_server_port(stage.server), 0);
        pending_response = NULL;
        raw_client_send_text(&pinned[i], request);
        stage_drive(&stage, &pinned[i], 0, is_pending, NULL);
        stage_iterations(&stage, 5);
    }
    fault_heap_arm(&stage.heap, 1, true);
}

/* Sends as long as the server reads. The client must not receive an HTTP response within other
 * data. `left` connections are open afterwards. */
static void assert_no_http_response(size_t left)
{
    struct raw_client pinned[PINNED];
    raw_client_step(&client, 1000);
    size_t before = client.received;
    exhaust_memory(pinned);
    for (int i = 0; i < 200 && !client.ended; i++) {
        char bytes[1000];
        memset(bytes, 'G', sizeof(bytes));
        raw_client_send(&client, bytes, sizeof(bytes));
        raw_client_step(&client, 1000);
        trace[0] = '\0';
        stage_iterations(&stage, 3);
        if (uvhttp_server_stats(stage.server)->active_connections == PINNED)
            break;
    }
    raw_client_step(&client, 1000);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, left);
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(client.received, before);
    for (int i = 0; i < PINNED; i++)
        raw_client_close(&pinned[i], false);
}

static void stream_without_memory_sends_no_http_response(void **state)
{
    (void)state;
    begin_with(SMALL_BUFFER);
    send_request(upgrade_request);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    uvhttp_stream_t *of = stream;
    assert_non_null(of);
    assert_no_http_response(PINNED);
    assert_null(stream);
    end();
}

/* Nothing is read after a request without a response, so no memory is needed. */
static void body_without_memory_gets_no_second_response(void **state)
{
    (void)state;
    begin_with(SMALL_BUFFER);
    send_request("GET /body HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_no_http_response(PINNED + 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upgrade_after_reset_gets_edisconnected),
        cmocka_unit_test(upgrade_without_memory_changes_nothing),
        cmocka_unit_test(on_send_cannot_change_101_response),
        cmocka_unit_test(stream_data_precedes_peer_end),
        cmocka_unit_test(pipelined_request_of_half_closed_client_served),
        cmocka_unit_test(ended_stream_discards_input),
        cmocka_unit_test(resume_does_not_renew_write_timeout),
        cmocka_unit_test(stream_backlog_is_limited),
        cmocka_unit_test(await_drain_gets_one_event),
        cmocka_unit_test(stalled_clients_use_small_buffers),
        cmocka_unit_test(pending_output_moves_to_smaller_buffer),
        cmocka_unit_test(pending_output_without_memory_keeps_buffer),
        cmocka_unit_test(write_without_memory_takes_nothing),
        cmocka_unit_test(stream_timer_fires_once_after_timeout),
        cmocka_unit_test(stream_timer_can_be_cancelled),
        cmocka_unit_test(stream_timer_may_close_stream),
        cmocka_unit_test(closed_stream_may_be_called_until_callback_returns),
        cmocka_unit_test(stream_timer_may_end_stream),
        cmocka_unit_test(stream_timer_fires_during_drain),
        cmocka_unit_test(stream_timer_without_memory_gets_enomem),
        cmocka_unit_test(stream_timer_without_event_gets_einval),
        cmocka_unit_test(stream_timer_does_not_renew_write_timeout),
        cmocka_unit_test(stream_without_memory_sends_no_http_response),
        cmocka_unit_test(body_without_memory_gets_no_second_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
