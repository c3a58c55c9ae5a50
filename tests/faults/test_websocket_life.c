/* How long a connection lives: what counts as silence and when it is looked at, that what waits is
 * sent before the end, and that a pause is one. Time passes when a test says so: what a connection
 * remembers moves into the past. */
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
    LARGE = 400000, /* more than sockets of that take */
    BOMB = 1000000, /* of zeros, more than one piece when it is expanded */
    /* milliseconds that pass by themselves, on a machine that has other things to do */
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
static size_t behind; /* of what the client has received: where the handshake ends */
static struct {
    bool over;
    char end[160];     /* code and reason */
    char heard[1200];  /* texts, and messages */
    size_t bytes;      /* of pieces */
    int chunks, lasts; /* that were told */
    int pause_at;      /* so many pieces from now; 0: never */
} seen;

/* ---- what happens ---- */

static void on_open(uvhttp_websocket_t *of, void *arg)
{
    (void)arg;
    ws = of;
}

static void hear(const char *data, size_t size)
{
    size_t length = strlen(seen.heard);
    assert_true(length + size < sizeof seen.heard);
    memcpy(seen.heard + length, data, size);
    seen.heard[length + size] = '\0';
}

static void on_message(uvhttp_websocket_t *of, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)kind, (void)arg;
    assert_ptr_equal(of, ws);
    hear(data, size);
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
        hear(data, size);
    if (seen.pause_at > 0 && --seen.pause_at == 0)
        uvhttp_websocket_pause(of);
}
#endif

static void on_close(uvhttp_websocket_t *of, unsigned code, const char *reason, void *arg)
{
    (void)of, (void)arg;
    assert_false(seen.over);
    seen.over = true;
    (void)snprintf(seen.end, sizeof seen.end, "%u %s", code, reason);
}

/* ---- the stage ---- */

static void turns(void)
{
    for (int turn = 0; turn < 10; turn++) {
        (void)raw_client_step(&client, 0);
        stage_turn(&stage);
    }
}

static bool has_begun(void *arg)
{
    (void)arg;
    return ws != NULL && memmem(client.data, client.received, "\r\n\r\n", 4) != NULL;
}

/* Options for a server whose sockets hold little; a client that has its handshake behind it. */
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
    stage_drive(&stage, &client, 1000, has_begun, NULL);
    behind = client.received;
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_true(seen.over);
}

/* So much time passes for the connection, and what is due in it happens. */
static void pass(uint32_t milliseconds)
{
    ws->heard_at -= milliseconds;
    ws->moved_at -= milliseconds;
    if (uvh_list_empty(&ws->stream->timer.link))
        return;
    ws->stream->timer.deadline -= milliseconds;
    if (ws->stream->timer.deadline <= uv_now(&stage.loop))
        uvh_stream_on_timer(ws->stream);
}

/* Milliseconds until the next look. */
static uint32_t due(void)
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
    turns();
}

static void send_close(void)
{
    raw_client_send(&client, "\x88\x82" NO_MASK "\x03\xe8", 8);
    turns();
}

static bool is_over(void *arg)
{
    (void)arg;
    return seen.over;
}

static void assert_ends(const char *words)
{
    stage_drive(&stage, &client, 4000, is_over, NULL);
    assert_string_equal(seen.end, words);
}

/* The client takes a little. */
static void take(size_t bytes)
{
    for (int turn = 0; turn < 10; turn++) {
        (void)raw_client_step(&client, bytes / 10);
        stage_turn(&stage);
    }
}

static bool client_has(const char *bytes, size_t size)
{
    return memmem(client.data + behind, client.received - behind, bytes, size) != NULL;
}

static void send_much(void)
{
    static char bytes[LARGE];
    int err = uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, bytes, sizeof bytes);
    assert_int_equal(err, UVHTTP_QUEUED);
    assert_non_null(ws->queue);
}

/* ---- silence ---- */

static void a_ping_comes_when_it_is_due(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 8000});
    assert_in_range(due(), 8000 - TICK, 9001);
    pass(3000);
    send_text("a");
    assert_in_range(due(), 5000 - TICK, 6001); /* the timer stays where it is */
    uint32_t passed = due();
    pass(passed);
    passed += due();
    /* and goes on for what remains, counted from the message */
    assert_in_range(passed, 8000 - TICK, 9001);
    pass(due());
    take(100);
    assert_true(client_has("\x89\x00", 2));
    assert_in_range(due(), 8000 - TICK, 9001); /* for the answer */
    pass(due());
    assert_string_equal(seen.end, "1006 no reply to a ping");
    end();
}

static void silence_ends_a_connection_when_it_is_due(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER, .idle_timeout_ms = 4000});
    assert_in_range(due(), 4000 - TICK, 4501);
    pass(1000);
    send_text("a");
    uint32_t passed = due();
    pass(passed);
    passed += due();
    assert_in_range(passed, 4000 - TICK, 4501);
    pass(due());
    send_close();
    take(100);
    assert_true(client_has("\x88\x0e\x03\xe8idle timeout", 16));
    assert_string_equal(seen.end, "1000 ");
    end();
}

static void nobody_looks_where_nothing_is_asked_for(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER,
                                       .idle_timeout_ms = UVHTTP_NEVER});
    assert_true(uvh_list_empty(&ws->stream->timer.link));
    raw_client_close(&client, true);
    assert_ends("1006 ");
    end();
}

/* The shorter of the two counts, and the other one is not forgotten. */
static void both_are_looked_at(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 5000, .idle_timeout_ms = 8000});
    assert_in_range(due(), 5000 - TICK, 5626);
    pass(due());
    take(100);
    assert_true(client_has("\x89\x00", 2));
    raw_client_send(&client, "\x8a\x80" NO_MASK, 6);
    turns();
    pass(due());
    assert_true(client_has("\x89\x00", 2));
    send_close();
    assert_ends("1000 ");
    take(100);
    assert_true(client_has("idle timeout", 12));
    end();
}

static void a_message_on_its_way_in_is_no_silence(void **state)
{
    static const char head[] = "\x82\xfe\x03\xe8" NO_MASK;
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = UVHTTP_NEVER, .idle_timeout_ms = 4000});
    raw_client_send(&client, head, sizeof head - 1);
    for (int i = 0; i < 8; i++) { /* a frame */
        pass(3000);
        raw_client_send(&client, "0123456789", 10);
        turns();
    }
    for (size_t rest = 1000 - 80; rest > 0; rest -= 10)
        raw_client_send(&client, "0123456789", 10);
    turns();
    seen.heard[0] = '\0';
    raw_client_send(&client, "\x01\x81" NO_MASK "a", 7); /* frames */
    for (int i = 0; i < 8; i++) {
        pass(3000);
        raw_client_send(&client, "\x00\x81" NO_MASK "b", 7);
        turns();
    }
    assert_false(ws->close_sent);
    raw_client_send(&client, "\x80\x81" NO_MASK "c", 7);
    turns();
    assert_string_equal(seen.heard, "abbbbbbbbc");
    send_close();
    assert_ends("1000 ");
    end();
}

static void a_message_on_its_way_out_is_no_silence(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.ping_interval_ms = 4000, .idle_timeout_ms = 4000});
    send_much();
    for (int i = 0; i < 8; i++) {
        pass(3000);
        assert_non_null(ws->queue);
        take(20000);
    }
    assert_false(ws->close_sent || ws->pinged);
    for (int i = 0; i < 3 && !ws->close_sent; i++) /* now the client takes nothing */
        pass(4500);
    assert_true(ws->close_sent);
    raw_client_close(&client, true);
    assert_ends("1006 the connection ended before all queued data was sent");
    end();
}

/* ---- the end ---- */

static void what_waits_is_sent_before_the_end(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_much();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    for (int i = 0; i < 1000 && client.received - behind < LARGE + 10 + 7; i++) {
        if (ws->queue != NULL || ws->charged > 0)
            pass(1500);
        assert_false(seen.over || client.ended);
        take(20000);
    }
    assert_true(client_has("\x88\x05\x03\xe8"
                           "bye",
                           7));
    assert_int_equal(client.received - behind, LARGE + 10 + 7);
    pass(1500); /* the time of the answer begins when it has left */
    send_close();
    assert_ends("1000 ");
    end();
}

static void who_takes_nothing_is_left(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_much();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    pass(1500);
    assert_false(seen.over);
    pass(1000);
    assert_string_equal(seen.end, "1006 the peer accepted no queued data within close_timeout_ms");
    end();
}

static void what_others_are_told_keeps_nobody(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_int_equal(uvhttp_websocket_subscribe(ws, topics, "news"), 0);
    assert_int_equal(uvhttp_websocket_close(ws, 3001, "bye"), 0);
    turns();
    pass(1500);
    assert_int_equal(uvhttp_topics_publish(topics, "news", UVHTTP_WEBSOCKET_TEXT, "late", 4), 0);
    turns();
    assert_false(seen.over);
    pass(1000);
    assert_string_equal(seen.end, "3001 bye");
    end();
}

static void who_breaks_it_did_not_get_all(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_much();
    uvhttp_server_stop(stage.server);
    turns();
    assert_true(ws->close_sent);
    raw_client_close(&client, true);
    assert_ends("1006 the connection ended before all queued data was sent");
    end();
}

static void who_does_not_answer_is_left_with_the_code_of_ours(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_int_equal(uvhttp_websocket_close(ws, 3001, "bye"), 0);
    assert_in_range(due(), 0, 2251);
    send_text("talking does not help");
    assert_string_equal(seen.heard, "talking does not help");
    pass(1500);
    send_text(", ever");
    pass(due());
    assert_string_equal(seen.end, "3001 bye");
    end();
}

/* Sends what ends the connection in the middle of a message, of which the client gets the rest, and
 * then the code. */
static void end_within_a_message(const char *frame, size_t size, const char *code)
{
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    send_much();
    raw_client_send(&client, frame, size);
    turns();
    assert_true(seen.over);
    while (!client.ended && client.received - behind < LARGE + 10 + 4) {
        if (ws->queue != NULL || ws->charged > 0)
            pass(1500);
        take(20000);
    }
    assert_true(client.received - behind >= LARGE + 10 + 4);
    assert_memory_equal(client.data + behind + LARGE + 10, "\x88", 1);
    assert_memory_equal(client.data + behind + LARGE + 12, code, 2);
    end();
}

static void who_is_failed_gets_what_has_begun(void **state)
{
    (void)state;
    end_within_a_message("\x83\x80" NO_MASK, 6, "\x03\xea");
}

static void who_closes_gets_what_has_begun(void **state)
{
    (void)state;
    end_within_a_message("\x88\x82" NO_MASK "\x03\xe8", 8, "\x03\xe8");
}

/* ---- pauses ---- */

static void assert_paused(void)
{
    send_text("pause");
    send_text("later");
    assert_true(ws->paused);
    assert_string_equal(seen.heard, "pause");
}

static void a_paused_connection_that_is_closed_sees_the_answer(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_paused();
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, "bye"), 0);
    uvhttp_websocket_pause(ws); /* is of no effect */
    send_close();
    assert_ends("1000 ");
    assert_string_equal(seen.heard, "pauselater");
    end();
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000, .idle_timeout_ms = 4000});
    assert_paused();
    pass(4500);
    send_close();
    assert_ends("1000 ");
    end();
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    assert_paused();
    uvhttp_server_stop(stage.server);
    turns();
    send_close();
    assert_ends("1000 ");
    end();
}

/* Messages that have come with the one that has paused, in one packet. */
static void what_was_kept_is_told_before_the_end(void **state)
{
    (void)state;
    begin((uvhttp_websocket_options_t){.close_timeout_ms = 2000});
    raw_client_send(&client, "\x81\x85" NO_MASK "pause\x81\x81" NO_MASK "x\x81\x81" NO_MASK "y",
                    25);
    turns();
    assert_string_equal(seen.heard, "pause");
    assert_int_equal(uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, NULL), 0);
    assert_string_equal(seen.heard, "pause"); /* not within the call */
    send_close();
    assert_ends("1000 ");
    assert_string_equal(seen.heard, "pausexy");
    end();
}

#if UVHTTP_TESTS_COMPRESSION
/* A message of many zeros, compressed, in `frames` frames, and a text behind it in the same
 * packet. */
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
    turns();
}

static void begin_with_pieces(uvhttp_websocket_compression_t compression)
{
    begin((uvhttp_websocket_options_t){.events.chunk = on_chunk,
                                       .close_timeout_ms = 2000,
                                       .compression = compression,
                                       .memory_per_connection = 1 << 20});
    seen.pause_at = 1;
}

static void a_pause_holds_within_a_frame_that_expands(void **state)
{
    (void)state;
    for (int compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
         compression <= UVHTTP_WEBSOCKET_COMPRESS_DEDICATED; compression++) {
        for (size_t frames = 1; frames <= 3; frames++) {
            begin_with_pieces((uvhttp_websocket_compression_t)compression);
            send_bomb(frames);
            int resumes = 0;
            for (; ws->paused; resumes++) {
                /* nothing but the one that has paused */
                assert_int_equal(seen.chunks, resumes + 1);
                seen.pause_at = 1;
                uvhttp_websocket_resume(ws);
                turns();
            }
            assert_int_equal(seen.bytes, BOMB + 4);
            assert_int_equal(seen.lasts, 2);
            assert_string_equal(seen.heard, "next");
            assert_true(resumes > BOMB / UVH_WS_SCRATCH);
            seen.pause_at = 0;
            send_close();
            assert_ends("1000 ");
            end();
        }
    }
}

static void a_pause_within_a_frame_loses_nothing_at_the_end(void **state)
{
    (void)state;
    begin_with_pieces(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
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

/* The stage fails the test if anything of it is left. */
static void a_pause_within_a_frame_may_be_the_last(void **state)
{
    (void)state;
    begin_with_pieces(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    send_bomb(1);
    assert_true(ws->expanding);
    uvhttp_websocket_abort(ws);
    assert_true(seen.over);
    assert_int_equal(seen.chunks, 1);
    end();
}

/* Without memory for what is kept the connection ends, and is told. */
static void every_allocation_of_a_pause_may_fail(void **state)
{
    bool failed = true;
    size_t n = 1;
    (void)state;
    for (; failed; n++) {
        assert_true(n < 100);
        begin_with_pieces(UVHTTP_WEBSOCKET_COMPRESS_SHARED);
        fault_heap_arm(&stage.heap, n, false);
        send_bomb(2);
        while (!seen.over && ws->paused) {
            seen.pause_at = 3;
            uvhttp_websocket_resume(ws);
            turns();
        }
        failed = atomic_load(&stage.heap.failures) > 0;
        fault_heap_arm(&stage.heap, 0, false);
        assert_true(failed || seen.bytes == BOMB + 4);
        if (!seen.over) {
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
        cmocka_unit_test(a_ping_comes_when_it_is_due),
        cmocka_unit_test(silence_ends_a_connection_when_it_is_due),
        cmocka_unit_test(nobody_looks_where_nothing_is_asked_for),
        cmocka_unit_test(both_are_looked_at),
        cmocka_unit_test(a_message_on_its_way_in_is_no_silence),
        cmocka_unit_test(a_message_on_its_way_out_is_no_silence),
        cmocka_unit_test(what_waits_is_sent_before_the_end),
        cmocka_unit_test(who_takes_nothing_is_left),
        cmocka_unit_test(what_others_are_told_keeps_nobody),
        cmocka_unit_test(who_breaks_it_did_not_get_all),
        cmocka_unit_test(who_does_not_answer_is_left_with_the_code_of_ours),
        cmocka_unit_test(who_is_failed_gets_what_has_begun),
        cmocka_unit_test(who_closes_gets_what_has_begun),
        cmocka_unit_test(a_paused_connection_that_is_closed_sees_the_answer),
        cmocka_unit_test(what_was_kept_is_told_before_the_end),
#if UVHTTP_TESTS_COMPRESSION
        cmocka_unit_test(a_pause_holds_within_a_frame_that_expands),
        cmocka_unit_test(a_pause_within_a_frame_loses_nothing_at_the_end),
        cmocka_unit_test(a_pause_within_a_frame_may_be_the_last),
        cmocka_unit_test(every_allocation_of_a_pause_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
