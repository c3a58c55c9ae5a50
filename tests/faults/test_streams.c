/* Connections that leave HTTP, at the moments when something else happens to them: the client has
 * gone or says nothing more, the memory is exhausted, or somebody who sees the 101 before it leaves
 * wants it otherwise. */
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

enum { MEGABYTE = 1 << 20, SMALL_BUFFER = 4096, HELD = 6, STALLED = 50 };

static const char offer[] =
    "GET /later HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *kept;
static uvhttp_stream_t *stream;
/* what the stream was told, in order: bytes, '.' for the client's end, '!' for its own, 't' for its
 * timer */
static char heard[256];
static bool stays;        /* when the server stops */
static void (*due)(void); /* what its timer does */
static int drains;        /* how often it was told that everything has left */

/* ---- handlers ---- */

static int later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    kept = response;
    return 0;
}

static int say(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int begin_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    kept = response;
    return uvhttp_response_begin(response, 200, "text/plain", 1000);
}

static void hear(const char *data, size_t size)
{
    size_t length = strlen(heard);
    assert_true(length + size < sizeof(heard));
    memcpy(heard + length, data, size);
    heard[length + size] = '\0';
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    (void)of;
    (void)arg;
    hear(size == 0 ? "." : data, size == 0 ? 1 : size);
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    (void)of;
    (void)arg;
    hear("!", 1);
    stream = NULL;
}

static void on_timer(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    hear("t", 1);
    assert_ptr_equal(of, stream);
    if (due != NULL)
        due();
}

static void on_stopping(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    if (stays)
        hear("s", 1);
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
    return uvhttp_response_upgrade(kept, "x", &events, NULL, &stream);
}

static int replaced, changed;

static int spoil(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    replaced = uvhttp_response_replace_body(response, "body", 4);
    changed = uvhttp_response_set_status(response, 404);
    return 0;
}

/* ---- beginning and ending ---- */

static void begin_with(size_t buffer_size)
{
    stage_begin(&stage);
    stage.config->buffer_size = buffer_size;
    stage.config->write_timeout = 1;
    stage.config->max_header_size = stage.config->max_trailer_size = SMALL_BUFFER / 2;
    stage.config->max_target_size = SMALL_BUFFER / 4;
    kept = NULL;
    stream = NULL;
    due = NULL;
    stays = false;
    drains = 0;
    heard[0] = '\0';
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/later", later, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", say, NULL), 0);
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

static bool is_kept(void *arg)
{
    (void)arg;
    return kept != NULL;
}

/* The handler has its request, and whatever else the client has said is there as well. */
static void ask(const char *request)
{
    kept = NULL;
    raw_client_send_text(&client, request);
    stage_drive(&stage, &client, 0, is_kept, NULL);
    stage_iterations(&stage, 5);
}

static void turn_until_heard(const char *what)
{
    for (int turn = 0; turn < 1000 && strcmp(heard, what) != 0; turn++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    assert_string_equal(heard, what);
}

/* ---- the 101 ---- */

/* The reset has not been seen by the loop: sending the 101 finds it out. */
static void a_client_that_has_gone_gets_no_stream(void **state)
{
    (void)state;
    begin();
    ask(offer);
    raw_client_close(&client, true);
    assert_int_equal(upgrade(), UVHTTP_EDISCONNECTED);
    assert_null(stream);
    assert_string_equal(heard, ""); /* what never began does not end */
    client.socket = -1;
    end();
    assert_string_equal(heard, "");
}

static void who_sees_the_101_cannot_make_it_something_else(void **state)
{
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(uvhttp_response_on_send(kept, spoil, NULL), 0);
    assert_int_equal(upgrade(), 0);
    assert_int_equal(replaced, UVHTTP_EINVAL);
    assert_int_equal(changed, UVHTTP_EINVAL);
    raw_client_send_text(&client, "bytes");
    turn_until_heard("bytes");
    assert_memory_equal(client.data, "HTTP/1.1 101 ", 13);
    assert_null(memmem(client.data, client.received, "body", 4));
    end();
    assert_string_equal(heard, "bytes!");
}

/* ---- what the client has said before its end ---- */

static void upgrade_when_posted(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server;
    (void)worker;
    (void)arg;
    assert_int_equal(upgrade(), 0);
}

static void answer_when_posted(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server;
    (void)worker;
    (void)arg;
    assert_int_equal(uvhttp_response_send_text(kept, 200, "late"), 0);
}

/* Both are there when the loop looks: what was posted, then the client's end. */
static void post_and_end_sending(uvhttp_post_cb run)
{
    assert_int_equal(uvhttp_server_post(stage.server, 0, run, NULL), 0);
    raw_client_end_sending(&client);
}

static void bytes_come_before_the_end_of_the_client(void **state)
{
    char request[256];
    (void)state;
    begin();
    snprintf(request, sizeof(request), "%sbytes", offer);
    ask(request);
    post_and_end_sending(upgrade_when_posted);
    turn_until_heard("bytes.");
    end();
    assert_string_equal(heard, "bytes.!");
}

static void a_request_is_answered_though_its_client_has_ended_behind_it(void **state)
{
    (void)state;
    begin();
    ask("GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
    post_and_end_sending(answer_when_posted);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 2), 2);
    end();
}

/* ---- memory ---- */

/* The client neither reads nor stops sending: what it says behind the end is thrown away, not
 * stored. */
static void an_ended_stream_stores_nothing(void **state)
{
    static char bytes[MEGABYTE];
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    const struct uvh_conn *conn = stream->on.conn;
    uvhttp_stream_end(stream);
    assert_true(uvh_conn_is_blocked(conn));
    raw_client_send(&client, bytes, sizeof(bytes));
    for (int turn = 0; turn < 2000 && client.out_sent < client.out_length; turn++) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
        assert_int_equal(conn->in.length, 0);
    }
    assert_int_equal(client.out_sent, client.out_length);
    stage_drive_to_end(&stage, &client, MEGABYTE);
    assert_true(client.received > sizeof(bytes)); /* what was written before has come */
    end();
    assert_string_equal(heard, "!");
}

/* It is the client's taking that counts, not that somebody reads on. */
static void reading_on_does_not_renew_the_write_timeout(void **state)
{
    static const char bytes[MEGABYTE];
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    for (int turn = 0; turn < 5000 && stream != NULL; turn++) {
        uvhttp_stream_pause(stream);
        uvhttp_stream_resume(stream);
        stage_wait(&stage);
    }
    assert_string_equal(heard, "!");
    end();
}

/* ---- what waits ---- */

static void begin_stream(void)
{
    begin();
    ask(offer);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
}

static char pattern(size_t i)
{
    return (char)('a' + (i * 7 + i / 1000) % 26);
}

/* Writes so many bytes more of the pattern. */
static void write_pattern(uvhttp_stream_t *to, size_t *written, size_t size)
{
    char bytes[2000];
    assert_true(size <= sizeof(bytes));
    for (size_t i = 0; i < size; i++)
        bytes[i] = pattern(*written + i);
    assert_int_equal(uvhttp_stream_write(to, bytes, size), 0);
    *written += size;
}

/* The client gets what was written, a little at a time; what still waits then never lies in a
 * buffer that is much too large. */
static void assert_read_to_the_end(struct raw_client *reader, uvhttp_stream_t *of, size_t written)
{
    const struct uvh_conn *conn = of->on.conn;
    while (raw_client_step(reader, 777))
        ;
    const char *end = memmem(reader->data, reader->received, "\r\n\r\n", 4);
    assert_non_null(end);
    size_t head = (size_t)(end + 4 - reader->data);
    size_t before = uvhttp_stream_pending(of);
    for (int turn = 0; turn < 100000 && reader->received < head + written; turn++) {
        if (!raw_client_step(reader, 777))
            stage_wait(&stage);
        size_t waiting = uvhttp_stream_pending(of);
        if (waiting != before && uvh_conn_is_blocked(conn) && conn->out.buffer->capacity > 1024)
            assert_true(waiting > conn->out.buffer->capacity / 8);
    }
    assert_int_equal(reader->received, head + written);
    for (size_t i = 0; i < written; i++)
        assert_int_equal(reader->data[head + i], pattern(i));
    assert_null(conn->out.buffer);
}

/* As thousands of subscribers that do not read: each has a little waiting, one has got it in one
 * piece and one in many. */
/* Without a write that was refused, once for each time it is asked for, and also when nothing
 * waits. */
static void who_awaits_a_drain_is_told_once(void **state)
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
    assert_read_to_the_end(&client, stream, written);
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

static void clients_that_take_nothing_hold_no_whole_buffers(void **state)
{
    static struct raw_client clients[STALLED];
    static uvhttp_stream_t *streams[STALLED];
    static size_t written[STALLED];
    (void)state;
    begin();
    size_t before = 0;
    for (size_t i = 0; i < STALLED; i++) {
        raw_client_connect(&clients[i], uvhttp_server_port(stage.server), SMALL_BUFFER);
        kept = NULL;
        raw_client_send_text(&clients[i], offer);
        stage_drive(&stage, &clients[i], 0, is_kept, NULL);
        assert_int_equal(upgrade(), 0);
        streams[i] = stream;
        written[i] = 0;
        stage_iterations(&stage, 5);
    }
    before = atomic_load(&stage.heap.live_bytes);
    for (size_t i = 0; i < STALLED; i++) {
        while (uvhttp_stream_pending(streams[i]) == 0)
            write_pattern(streams[i], &written[i], i % 2 == 0 ? 500 : 20);
        for (int more = 0; more < 5; more++)
            write_pattern(streams[i], &written[i], 200);
    }
    assert_true(atomic_load(&stage.heap.live_bytes) - before <
                (size_t)STALLED * SMALL_BUFFER + MEGABYTE / 16);
    for (size_t i = 0; i < STALLED; i++) {
        for (int more = 0; more < 100; more++)
            write_pattern(streams[i], &written[i], 200);
        assert_read_to_the_end(&clients[i], streams[i], written[i]);
    }
    for (size_t i = 0; i < STALLED; i++)
        raw_client_close(&clients[i], false);
    end();
}

static size_t due_written;

static void write_much(void)
{
    for (int i = 0; i < 30; i++)
        write_pattern(stream, &due_written, 1000);
}

/* What was collected during an event lies in a large buffer, and leaves it for a small one as it
 * gets less. */
static void what_was_collected_does_not_keep_its_buffer(void **state)
{
    (void)state;
    begin_stream();
    due = write_much;
    due_written = 0;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    turn_until_heard("t");
    assert_true(uvhttp_stream_pending(stream) > 0);
    assert_read_to_the_end(&client, stream, due_written);
    end();
}

static void without_memory_what_waits_stays_where_it_is(void **state)
{
    (void)state;
    begin_stream();
    due = write_much;
    due_written = 0;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    turn_until_heard("t");
    size_t capacity = stream->on.conn->out.buffer->capacity;
    size_t head = client.received;
    assert_true(uvhttp_stream_pending(stream) > 0);
    fault_heap_arm(&stage.heap, 1, true);
    for (int turn = 0; turn < 100000 && uvhttp_stream_pending(stream) > 1000; turn++) {
        raw_client_step(&client, 777);
        stage_wait(&stage);
    }
    if (uvhttp_stream_pending(stream) > 0)
        assert_int_equal(stream->on.conn->out.buffer->capacity, capacity);
    fault_heap_arm(&stage.heap, 0, false);
    assert_true(head < due_written);
    assert_read_to_the_end(&client, stream, due_written);
    end();
}

/* A write of which nothing can be kept has taken nothing. */
static void without_memory_a_full_socket_takes_nothing(void **state)
{
    (void)state;
    begin_stream();
    size_t written = 0;
    fault_heap_arm(&stage.heap, 1, true);
    struct uvh_buffer_pool *pool = &stream->on.conn->shared->buffers;
    struct uvh_buffer *free = pool->free;
    size_t free_count = pool->free_count;
    pool->free = NULL; /* or there would be one at hand */
    pool->free_count = 0;
    char byte = pattern(0);
    int err = 0;
    while (stream != NULL && (err = uvhttp_stream_write(stream, &byte, 1)) == 0)
        byte = pattern(++written);
    pool->free = free;
    pool->free_count = free_count;
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(err, UVHTTP_ENOMEM); /* one byte is taken or is not */
    assert_int_equal(uvhttp_stream_pending(stream), 0);
    while (uvhttp_stream_pending(stream) == 0)
        write_pattern(stream, &written, 1);
    assert_read_to_the_end(&client, stream, written);
    end();
}

/* ---- timers ---- */

static bool is_set(void)
{
    return !uvh_list_empty(&stream->timer.link);
}

static void set_again_twice(void)
{
    if (strlen(heard) < 3)
        assert_int_equal(uvhttp_stream_set_timer(stream, 30), 0);
}

static void a_timer_is_told_once_and_not_too_early_and_may_be_set_again(void **state)
{
    (void)state;
    begin_stream();
    uint64_t began = uv_now(&stage.loop);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 300), 0); /* instead of that */
    turn_until_heard("t");
    assert_true(uv_now(&stage.loop) - began >= 300);
    assert_false(is_set());
    due = set_again_twice;
    heard[0] = '\0';
    assert_int_equal(uvhttp_stream_set_timer(stream, 30), 0);
    turn_until_heard("ttt");
    assert_false(is_set());
    end();
}

static void a_timer_can_be_taken_back(void **state)
{
    (void)state;
    begin_stream();
    assert_int_equal(uvhttp_stream_set_timer(stream, 0), 0); /* harmless */
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
    assert_string_equal(heard, "!");
}

static void close_it(void)
{
    uvhttp_stream_close(stream);
    assert_null(stream);
}

static void say_and_end(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "b", 1), 0);
    assert_int_equal(uvhttp_stream_write(stream, "ye", 2), 0);
    uvhttp_stream_end(stream);
}

static void a_timer_may_close_its_stream(void **state)
{
    (void)state;
    begin_stream();
    due = close_it;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    turn_until_heard("t!");
    end();
}

static void a_timer_may_end_its_stream(void **state)
{
    (void)state;
    begin_stream();
    due = say_and_end;
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    stage_drive_to_end(&stage, &client, MEGABYTE);
    assert_memory_equal(client.data + client.received - 7, "\r\n\r\nbye", 7);
    raw_client_close(&client, false);
    turn_until_heard("t!");
    end();
}

static void a_timer_goes_on_while_the_server_drains_and_ends_with_it(void **state)
{
    (void)state;
    begin_stream();
    stays = true;
    uvhttp_server_stop(stage.server);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    turn_until_heard("st");
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000000), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000), 0);
    end();
    assert_string_equal(heard, "st!");
}

static void without_memory_no_timer_is_set(void **state)
{
    (void)state;
    begin_stream();
    fault_heap_arm(&stage.heap, 1, true);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), UVHTTP_ENOMEM);
    assert_false(is_set());
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    fault_heap_arm(&stage.heap, 1, true);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1000), 0); /* lists are made once */
    fault_heap_arm(&stage.heap, 0, false);
    end();
}

static int upgrade_without_timer(uvhttp_stream_t **out)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    return uvhttp_response_upgrade(kept, "x", &events, NULL, out);
}

static void a_timer_needs_somebody_to_tell(void **state)
{
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(upgrade_without_timer(&stream), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), UVHTTP_EINVAL);
    end();
}

static void ask_again(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "?", 1), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    heard[0] = '\0';
}

/* Asking a client that takes nothing whether it is there does not keep it. */
static void a_timer_does_not_renew_the_write_timeout(void **state)
{
    static const char bytes[MEGABYTE];
    (void)state;
    begin_stream();
    due = ask_again;
    uvhttp_stream_set_backlog(stream, 2 * sizeof(bytes));
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    assert_int_equal(uvhttp_stream_set_timer(stream, 1), 0);
    for (int turn = 0; turn < 5000 && stream != NULL; turn++)
        stage_wait(&stage);
    assert_string_equal(heard, "!");
    end();
}

/* ---- limits ---- */

static void a_stream_cannot_have_more_waiting_than_can_be_counted(void **state)
{
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(upgrade(), 0);
    uvhttp_stream_set_backlog(stream, SIZE_MAX);
    assert_true(stream->backlog <= (size_t)1 << 30);
    end();
}

/* Requests that wait pin the worker's buffers, so that the next bytes need a new one. */
static void exhaust_memory(struct raw_client held[HELD])
{
    char request[SMALL_BUFFER / 2];
    int length = snprintf(request, sizeof(request), "GET /later HTTP/1.1\r\nHost: h\r\nX: ");
    memset(request + length, 'x', 1200);
    memcpy(request + length + 1200, "\r\n\r\n", 5);
    for (int i = 0; i < HELD; i++) {
        raw_client_connect(&held[i], uvhttp_server_port(stage.server), 0);
        kept = NULL;
        raw_client_send_text(&held[i], request);
        stage_drive(&stage, &held[i], 0, is_kept, NULL);
        stage_iterations(&stage, 5);
    }
    fault_heap_arm(&stage.heap, 1, true);
}

/* Sends as long as it is taken; nothing of HTTP may come in what is none. So many connections are
 * left. */
static void assert_no_word_of_http(size_t left)
{
    struct raw_client held[HELD];
    raw_client_step(&client, 1000);
    size_t before = client.received;
    exhaust_memory(held);
    for (int i = 0; i < 200 && !client.ended; i++) {
        char bytes[1000];
        memset(bytes, 'G', sizeof(bytes));
        raw_client_send(&client, bytes, sizeof(bytes));
        raw_client_step(&client, 1000);
        heard[0] = '\0';
        stage_iterations(&stage, 3);
        if (uvhttp_server_stats(stage.server)->active_connections == HELD)
            break;
    }
    raw_client_step(&client, 1000);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, left);
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(client.received, before);
    for (int i = 0; i < HELD; i++)
        raw_client_close(&held[i], false);
}

static void without_memory_a_stream_ends_without_a_word_of_http(void **state)
{
    (void)state;
    begin_with(SMALL_BUFFER);
    ask(offer);
    assert_int_equal(upgrade(), 0);
    stage_iterations(&stage, 5);
    uvhttp_stream_t *of = stream;
    assert_non_null(of);
    assert_no_word_of_http(HELD);
    assert_null(stream);
    end();
}

/* Nothing is read behind a request that is not answered yet, so no memory is needed for it. */
static void without_memory_a_body_goes_on_without_a_second_answer_in_it(void **state)
{
    (void)state;
    begin_with(SMALL_BUFFER);
    ask("GET /body HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_no_word_of_http(HELD + 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_has_gone_gets_no_stream),
        cmocka_unit_test(who_sees_the_101_cannot_make_it_something_else),
        cmocka_unit_test(bytes_come_before_the_end_of_the_client),
        cmocka_unit_test(a_request_is_answered_though_its_client_has_ended_behind_it),
        cmocka_unit_test(an_ended_stream_stores_nothing),
        cmocka_unit_test(reading_on_does_not_renew_the_write_timeout),
        cmocka_unit_test(a_stream_cannot_have_more_waiting_than_can_be_counted),
        cmocka_unit_test(who_awaits_a_drain_is_told_once),
        cmocka_unit_test(clients_that_take_nothing_hold_no_whole_buffers),
        cmocka_unit_test(what_was_collected_does_not_keep_its_buffer),
        cmocka_unit_test(without_memory_what_waits_stays_where_it_is),
        cmocka_unit_test(without_memory_a_full_socket_takes_nothing),
        cmocka_unit_test(a_timer_is_told_once_and_not_too_early_and_may_be_set_again),
        cmocka_unit_test(a_timer_can_be_taken_back),
        cmocka_unit_test(a_timer_may_close_its_stream),
        cmocka_unit_test(a_timer_may_end_its_stream),
        cmocka_unit_test(a_timer_goes_on_while_the_server_drains_and_ends_with_it),
        cmocka_unit_test(without_memory_no_timer_is_set),
        cmocka_unit_test(a_timer_needs_somebody_to_tell),
        cmocka_unit_test(a_timer_does_not_renew_the_write_timeout),
        cmocka_unit_test(without_memory_a_stream_ends_without_a_word_of_http),
        cmocka_unit_test(without_memory_a_body_goes_on_without_a_second_answer_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
