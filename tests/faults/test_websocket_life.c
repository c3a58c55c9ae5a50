/* The life of a WebSocket connection: ping and idle timeouts, the closing handshake after queued
 * data, and pauses. Instead of waiting, a test moves the connection's timestamps into the past. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/topics.h>
#include <uvhttp/websocket.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "platform/deflate.h"
#include "support/stage.h"
#include "websocket/websocket.h"

enum {
    SMALL_BUFFER = 4096,
    LARGE = 400000, /* more than sockets with such buffers hold */
    BOMB = 1000000, /* zeros, more than one chunk when decompressed */
    /* milliseconds of tolerance for a busy machine */
    TICK = 1900,
};

#define NO_MASK "\0\0\0\0"
#define HANDSHAKE                                                                  \
    "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" \
    "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; "   \
    "client_max_window_bits\r\n\r\n"

static struct stage stage;
static struct raw_client client;
static uvhttp_websocket_t *ws;
static uvhttp_topics_t *topics;
static size_t handshake_end; /* offset in the client's received data: the end of the handshake */
static struct {
    bool closed;
    char end[160];     /* code and reason */
    char trace[1200];  /* texts, and messages */
    size_t bytes;      /* of chunks */
    int chunks, lasts; /* number of calls */
    int pause_at;      /* pause after this many chunks; 0: never */
} seen;

/* ---- events ---- */

static void on_open(uvhttp_websocket_t *of, void *arg)
{
    (void)arg;
    ws = of;
}

static void add_to_trace(const char *data, size_t size)
{
    size_t length = strlen(seen.trace);
    assert_true(length + size < sizeof seen.trace);
    memcpy(seen.trace + length, data, size);
    seen.trace[length + size] = '\0';
}

static void on_message(uvhttp_websocket_t *of, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)kind, (void)arg;
    assert_ptr_equal(of, ws);
    add_to_trace(data, size);
    if (size == 5 && memcmp(data, "pause", 5) == 0)
        uvhttp_websocket_pause(of);
}

#if UVHTTP_TESTS_COMPRESSION
static void on_chunk(uvhttp_websocket_t *of, uvhttp_websocket_kind_t kind, const char *data,
                     size_t size, bool last, void *arg)
{
    (void)arg;
    seen.chunks++;
    seen.lasts += last;
    seen.bytes += size;
    for (size_t i = 0; kind == UVHTTP_WEBSOCKET_BINARY && i < size; i++)
        assert_int_equal(data[i], 0);
    if (kind == UVHTTP_WEBSOCKET_TEXT)
        add_to_trace(data, size);
    if (seen.pause_at > 0 && --seen.pause_at == 0)
        uvhttp_websocket_pause(of);
}
#endif

static void on_close(uvhttp_websocket_t *of, unsigned code, const char *reason, void *arg)
{
    (void)of, (void)arg;
    assert_false(seen.closed);
    seen.closed = true;
    (void)snprintf(seen.end, sizeof seen.end, "%u %s", code, reason);
}

/* ---- setup and teardown ---- */

static void run_iterations(void)
{
    for (int iteration = 0; iteration < 10; iteration++) {
        (void)raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
}

static bool has_handshake(void *arg)
{
    (void)arg;
    return ws != NULL && memmem(client.data, client.received, "\r\n\r\n", 4) != NULL;
}

/* Starts a server with `options` and small socket buffers, and a client that has completed the
 * handshake. */
static void begin(uvhttp_websocket_options_t options)
{
    options.events.open = on_open;
    if (options.events.chunk == NULL)
        options.events.message = on_message;
    options.events.close = on_close;
    options.max_queue_size = 4 * LARGE;
    options.max_message_size = 4 * BOMB;
    options.max_ratio = 2000;
    options.allocator = &stage.heap.allocator;
    memset(&seen, 0, sizeof seen);
    ws = NULL;
    stage_begin(&stage);
    stage.config->linger_timeout = 1;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_websocket_route(stage.server, "/ws", &options, NULL), 0);
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, NULL, NULL), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SMALL_BUFFER);
    raw_client_connect(&client, uvhttp_server_port(stage.server), SMALL_BUFFER);
    raw_client_send_text(&client, HANDSHAKE);
    stage_drive(&stage, &client, 1000, has_handshake, NULL);
    handshake_end = client.received;
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_true(seen.closed);
}

/* Lets the given time pass for the connection, and runs its timer when it is due. */
static void advance_time(uint32_t milliseconds)
{
    ws->heard_at -= milliseconds;
    ws->moved_at -= milliseconds;
    if (uvh_list_empty(&ws->stream->timer.link))
        return;
    ws->stream->timer.deadline -= milliseconds;
    if (ws->stream->timer.deadline <= uv_now(&stage.loop))
        uvh_stream_on_timer(ws->stream);
}

/* Milliseconds until the timer is due. */
static uint32_t timer_due(void)
{
    assert_false(uvh_list_empty(&ws->stream->timer.link));
    uint64_t now = uv_now(&stage.loop), deadline = ws->stream->timer.deadline;
    return deadline > now ? (uint32_t)(deadline - now) : 0;
}

static void send_text(const char *text)
{
    const char head[] = {(char)0x81, (char)(0x80 | strlen(text)), 0, 0, 0, 0};
    raw_client_send(&client, head, sizeof head);
    raw_client_send_text(&client, text);
    run_iterations();
}

static void send_close(void)
{
    raw_client_send(&client, "\x88\x82" NO_MASK "\x03\xe8", 8);
    run_iterations();
}

static bool is_closed(void *arg)
{
    (void)arg;
    return seen.closed;
}

static void assert_ends(const char *expected)
{
    stage_drive(&stage, &client, 4000, is_closed, NULL);
    assert_string_equal(seen.end, expected);
}

/* The client receives at most `bytes`, and less only when no more come: a busy system may deliver
 * what was sent a little later. */
static void receive(size_t bytes)
{
    const size_t end = client.received + bytes;
    for (int idle = 0; idle < 50 && client.received < end && !client.ended; idle++) {
        size_t before = client.received;
        (void)raw_client_step(&client, bytes / 10);
        if (client.received > before)
            idle = 0;
        if (idle > 10)
            stage_wait(&stage);
        else
            stage_iterate(&stage);
    }
}

static bool client_has(const char *bytes, size_t size)
{
    return memmem(client.data + handshake_end, client.received - handshake_end, bytes, size) !=
           NULL;
}

static void send_large(void)
{
    static char bytes[LARGE];
    int err = uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, bytes, sizeof bytes);
    assert_int_equal(err, UVHTTP_QUEUED);
    assert_non_null(ws->queue);
}

/* ---- ping and idle timeouts ---- */

static void ping_sent_after_ping_interval(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 8000});
    assert_in_range(timer_due(), 8000 - TICK, 9001);
    advance_time(3000);
    send_text("a");
    assert_in_range(timer_due(), 5000 - TICK, 6001); /* the timer is not moved */
    uint32_t elapsed = timer_due();
    advance_time(elapsed);
    elapsed += timer_due();
    /* and is set again to the remaining time since the message */
    assert_in_range(elapsed, 8000 - TICK, 9001);
    advance_time(timer_due());
    receive(100);
    assert_true(client_has("\x89\x00", 2));
    assert_in_range(timer_due(), 8000 - TICK, 9001); /* for the pong */
    advance_time(timer_due());
    assert_string_equal(seen.end, "1006 no reply to a ping");
    end();
}

static void idle_timeout_closes_connection(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER, .idle_timeout_ms = 4000});
    assert_in_range(timer_due(), 4000 - TICK, 4501);
    advance_time(1000);
    send_text("a");
    uint32_t elapsed = timer_due();
    advance_time(elapsed);
    elapsed += timer_due();
    assert_in_range(elapsed, 4000 - TICK, 4501);
    advance_time(timer_due());
    send_close();
    receive(100);
    assert_true(client_has("\x88\x0e\x03\xe8idle timeout", 16));
    assert_string_equal(seen.end, "1000 ");
    end();
}

static void disabled_timeouts_set_no_timer(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER,
                                       .idle_timeout_ms = UVHTTP_NEVER});
    assert_true(uvh_list_empty(&ws->stream->timer.link));
    raw_client_close(&client, true);
    assert_ends("1006 ");
    end();
}

/* The shorter timeout applies, and the other one as well. */
static void ping_interval_and_idle_timeout_combine(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 5000, .idle_timeout_ms = 8000});
    assert_in_range(timer_due(), 5000 - TICK, 5626);
    advance_time(timer_due());
    receive(100);
    assert_true(client_has("\x89\x00", 2));
    raw_client_send(&client, "\x8a\x80" NO_MASK, 6);
    run_iterations();
    advance_time(timer_due());
    assert_true(client_has("\x89\x00", 2));
    send_close();
    assert_ends("1000 ");
    receive(100);
    assert_true(client_has("idle timeout", 12));
    end();
}

static void partial_input_resets_idle_timeout(void **state)
{
    static const char head[] = "\x82\xfe\x03\xe8" NO_MASK;
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER, .idle_timeout_ms = 4000});
    raw_client_send(&client, head, sizeof head - 1);
    for (int i = 0; i < 8; i++) { /* within a frame */
        advance_time(3000);
        raw_client_send(&client, "0123456789", 10);
        run_iterations();
    }
    for (size_t rest = 1000 - 80; rest > 0; rest -= 10)
        raw_client_send(&client, "0123456789", 10);
    run_iterations();
    seen.trace[0] = '\0';
    raw_client_send(&client, "\x01\x81" NO_MASK "a", 7); /* between frames */
    for (int i = 0; i < 8; i++) {
        advance_time(3000);
        raw_client_send(&client, "\x00\x81" NO_MASK "b", 7);
        run_iterations();
    }
    assert_false(ws->close_sent);
    raw_client_send(&client, "\x80\x81" NO_MASK "c", 7);
    run_iterations();
    assert_string_equal(seen.trace, "abbbbbbbbc");
    send_close();
    assert_ends("1000 ");
    end();
}

static void output_progress_resets_idle_timeout(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 4000, .idle_timeout_ms = 4000});
    send_large();
    for (int i = 0; i < 8; i++) {
        advance_time(3000);
        assert_non_null(ws->queue);
        receive(20000);
    }
    assert_false(ws->close_sent || ws->pinged);
    for (int i = 0; i < 3 && !ws->close_sent; i++) /* the client receives nothing more */
        advance_time(4500);
    assert_true(ws->close_sent);
    raw_client_close(&client, true);
    assert_ends("1006 the connection ended before all queued data was sent");
    end();
}

/* ---- closing ---- */

static void close_sends_queued_data_first(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_large();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    for (int i = 0; i < 1000 && client.received - handshake_end < LARGE + 10 + 7; i++) {
        if (ws->queue != NULL || ws->charged > 0)
            advance_time(1500);
        assert_false(seen.closed || client.ended);
        receive(20000);
    }
    assert_true(client_has("\x88\x05\x03\xe8"
                           "bye",
                           7));
    assert_int_equal(client.received - handshake_end, LARGE + 10 + 7);
    advance_time(1500); /* the close timeout begins after the close frame is sent */
    send_close();
    assert_ends("1000 ");
    end();
}

static void close_timeout_without_progress_closes(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_large();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    advance_time(1500);
    assert_false(seen.closed);
    advance_time(1000);
    assert_string_equal(seen.end, "1006 the peer accepted no queued data within close_timeout_ms");
    end();
}

static void publish_does_not_extend_close_timeout(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_int_equal(uvhttp_websocket_subscribe(ws, topics, "news"), 0);
    assert_int_equal(uvhttp_websocket_close(ws, 3001, "bye"), 0);
    run_iterations();
    advance_time(1500);
    assert_int_equal(uvhttp_topics_publish(topics, "news", UVHTTP_WEBSOCKET_TEXT, "late", 4), 0);
    run_iterations();
    assert_false(seen.closed);
    advance_time(1000);
    assert_string_equal(seen.end, "3001 bye");
    end();
}

static void reset_during_close_reports_1006(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_large();
    uvhttp_server_stop(stage.server);
    run_iterations();
    assert_true(ws->close_sent);
    raw_client_close(&client, true);
    assert_ends("1006 the connection ended before all queued data was sent");
    end();
}

static void close_timeout_reports_own_code(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_int_equal(uvhttp_websocket_close(ws, 3001, "bye"), 0);
    assert_in_range(timer_due(), 0, 2251);
    send_text("talking does not help");
    assert_string_equal(seen.trace, "talking does not help");
    advance_time(1500);
    send_text(", ever");
    advance_time(timer_due());
    assert_string_equal(seen.end, "3001 bye");
    end();
}

/* Sends a frame that ends the connection while a message is being sent. The client receives the
 * rest of the message, and then the close code. */
static void close_within_message(const char *frame, size_t size, const char *code)
{
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_large();
    raw_client_send(&client, frame, size);
    run_iterations();
    assert_true(seen.closed);
    while (!client.ended && client.received - handshake_end < LARGE + 10 + 4) {
        if (ws->queue != NULL || ws->charged > 0)
            advance_time(1500);
        receive(20000);
    }
    assert_true(client.received - handshake_end >= LARGE + 10 + 4);
    assert_memory_equal(client.data + handshake_end + LARGE + 10, "\x88", 1);
    assert_memory_equal(client.data + handshake_end + LARGE + 12, code, 2);
    end();
}

static void protocol_error_completes_started_message(void **state)
{
    (void)state;
    close_within_message("\x83\x80" NO_MASK, 6, "\x03\xea");
}

static void peer_close_completes_started_message(void **state)
{
    (void)state;
    close_within_message("\x88\x82" NO_MASK "\x03\xe8", 8, "\x03\xe8");
}

/* ---- pauses ---- */

static void assert_paused(void)
{
    send_text("pause");
    send_text("later");
    assert_true(ws->paused);
    assert_string_equal(seen.trace, "pause");
}

static void close_of_paused_connection_reads_reply(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_paused();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    uvhttp_websocket_pause(ws); /* no effect */
    send_close();
    assert_ends("1000 ");
    assert_string_equal(seen.trace, "pauselater");
    end();
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000, .idle_timeout_ms = 4000});
    assert_paused();
    advance_time(4500);
    send_close();
    assert_ends("1000 ");
    end();
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_paused();
    uvhttp_server_stop(stage.server);
    run_iterations();
    send_close();
    assert_ends("1000 ");
    end();
}

/* Messages in the same packet as the one that has paused. */
static void pending_messages_precede_close_event(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    raw_client_send(&client, "\x81\x85" NO_MASK "pause\x81\x81" NO_MASK "x\x81\x81" NO_MASK "y",
                    25);
    run_iterations();
    assert_string_equal(seen.trace, "pause");
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, NULL), 0);
    assert_string_equal(seen.trace, "pause"); /* not within the call */
    send_close();
    assert_ends("1000 ");
    assert_string_equal(seen.trace, "pausexy");
    end();
}

#if UVHTTP_TESTS_COMPRESSION
/* Sends a compressed message of zeros in `frames` frames, and a text in the same packet. */
static void send_bomb(size_t frames)
{
    static char zeros[BOMB];
    struct uvh_bytes out;
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 15, 8);
    assert_non_null(deflater);
    uvh_bytes_init(&out, uvh_alloc_default(), BOMB);
    assert_int_equal(uvh_deflater_message(deflater, zeros, sizeof zeros, &out), 0);
    for (size_t i = 0, at = 0; i < frames; i++) {
        size_t size = i + 1 < frames ? out.length / frames : out.length - at;
        const char head[] = {(char)((i == 0 ? 0x42 : 0) | (i + 1 == frames ? 0x80 : 0)),
                             (char)0xfe,
                             (char)(size >> 8),
                             (char)size,
                             0,
                             0,
                             0,
                             0};
        raw_client_send(&client, head, sizeof head);
        raw_client_send(&client, out.data + at, size);
        at += size;
    }
    raw_client_send(&client, "\x81\x84" NO_MASK "next", 10);
    uvh_bytes_release(&out);
    uvh_deflater_free(deflater);
    run_iterations();
}

static void begin_with_chunks(uvhttp_websocket_compression_t compression)
{
    begin((uvhttp_websocket_options_t){.events.chunk = on_chunk,
                                       .close_timeout_ms = 2000,
                                       .compression = compression,
                                       .memory_per_connection = 1 << 20});
    seen.pause_at = 1;
}

static void pause_within_compressed_frame_stops_chunks(void **state)
{
    (void)state;
    for (int compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
         compression <= UVHTTP_WEBSOCKET_COMPRESS_DEDICATED; compression++) {
        for (size_t frames = 1; frames <= 3; frames++) {
            begin_with_chunks((uvhttp_websocket_compression_t)compression);
            send_bomb(frames);
            int resumes = 0;
            for (; ws->paused; resumes++) {
                /* no chunk after the pause */
                assert_int_equal(seen.chunks, resumes + 1);
                seen.pause_at = 1;
                uvhttp_websocket_resume(ws);
                run_iterations();
            }
            assert_int_equal(seen.bytes, BOMB + 4);
            assert_int_equal(seen.lasts, 2);
            assert_string_equal(seen.trace, "next");
            assert_true(resumes > BOMB / UVH_WS_SCRATCH);
            seen.pause_at = 0;
            send_close();
            assert_ends("1000 ");
            end();
        }
    }
}

static void close_after_pause_delivers_all_chunks(void **state)
{
    (void)state;
    begin_with_chunks(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    send_bomb(2);
    assert_int_equal(seen.chunks, 1);
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, NULL), 0);
    assert_int_equal(seen.chunks, 1);
    send_close();
    assert_ends("1000 ");
    assert_int_equal(seen.bytes, BOMB + 4);
    assert_int_equal(seen.lasts, 2);
    end();
}

/* stage_end fails the test if any memory is left. */
static void abort_within_paused_frame_leaks_nothing(void **state)
{
    (void)state;
    begin_with_chunks(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    send_bomb(1);
    assert_true(ws->expanding);
    uvhttp_websocket_abort(ws);
    assert_true(seen.closed);
    assert_int_equal(seen.chunks, 1);
    end();
}

/* Without memory for the pending input the connection is closed, and the close event reports it. */
static void pause_survives_allocation_failures(void **state)
{
    bool failed = true;
    size_t n = 1;
    (void)state;
    for (; failed; n++) {
        assert_true(n < 100);
        begin_with_chunks(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
        fault_heap_arm(&stage.heap, n, false);
        send_bomb(2);
        while (!seen.closed && ws->paused) {
            seen.pause_at = 3;
            uvhttp_websocket_resume(ws);
            run_iterations();
        }
        failed = atomic_load(&stage.heap.failures) > 0;
        fault_heap_arm(&stage.heap, 0, false);
        assert_true(failed || seen.bytes == BOMB + 4);
        if (!seen.closed) {
            send_close();
            assert_ends("1000 ");
        }
        end();
    }
    assert_true(n > 4);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_sent_after_ping_interval),
        cmocka_unit_test(idle_timeout_closes_connection),
        cmocka_unit_test(disabled_timeouts_set_no_timer),
        cmocka_unit_test(ping_interval_and_idle_timeout_combine),
        cmocka_unit_test(partial_input_resets_idle_timeout),
        cmocka_unit_test(output_progress_resets_idle_timeout),
        cmocka_unit_test(close_sends_queued_data_first),
        cmocka_unit_test(close_timeout_without_progress_closes),
        cmocka_unit_test(publish_does_not_extend_close_timeout),
        cmocka_unit_test(reset_during_close_reports_1006),
        cmocka_unit_test(close_timeout_reports_own_code),
        cmocka_unit_test(protocol_error_completes_started_message),
        cmocka_unit_test(peer_close_completes_started_message),
        cmocka_unit_test(close_of_paused_connection_reads_reply),
        cmocka_unit_test(pending_messages_precede_close_event),
#if UVHTTP_TESTS_COMPRESSION
        cmocka_unit_test(pause_within_compressed_frame_stops_chunks),
        cmocka_unit_test(close_after_pause_delivers_all_chunks),
        cmocka_unit_test(abort_within_paused_frame_leaks_nothing),
        cmocka_unit_test(pause_survives_allocation_failures),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
