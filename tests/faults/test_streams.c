/* Connections that leave HTTP, at the moments when something else happens to them: the client has gone or says nothing more, the memory is
 * exhausted, or somebody who sees the 101 before it leaves wants it otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/stream.h>

#include "base/compiler.h"
#include "server/conn.h"
#include "support/stage.h"

enum { MEGABYTE = 1 << 20, SMALL_BUFFER = 4096, HELD = 6 };

static const char offer[] = "GET /later HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *kept;
static uvhttp_stream_t *stream;
static char
    heard[256]; /* what the stream was told, in order: bytes, '.' for the client's end, '!' for its own */

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

static void on_data(uvhttp_stream_t *of, const char *data, size_t size, void *arg)
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

static int upgrade(void)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
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
    stage_turns(&stage, 5);
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
    assert_int_equal(upgrade(), UVHTTP_EGONE);
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
    assert_int_equal(stage_drive_answers(&stage, &client, 1000, 2), 2);
    end();
}

/* ---- memory ---- */

/* The client neither reads nor stops sending: what it says behind the end is thrown away, not stored. */
static void an_ended_stream_stores_nothing(void **state)
{
    static char bytes[MEGABYTE];
    (void)state;
    begin();
    ask(offer);
    assert_int_equal(upgrade(), 0);
    stage_turns(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    const struct uvh_conn *conn = stream->conn;
    uvhttp_stream_end(stream);
    assert_int_equal(conn->tx, UVH_TX_FLUSH);
    raw_client_send(&client, bytes, sizeof(bytes));
    for (int turn = 0; turn < 2000 && client.out_sent < client.out_length; turn++) {
        raw_client_step(&client, 0);
        stage_turn(&stage);
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
    stage_turns(&stage, 5);
    assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    for (int turn = 0; turn < 5000 && stream != NULL; turn++) {
        uvhttp_stream_pause(stream);
        uvhttp_stream_resume(stream);
        stage_wait(&stage);
    }
    assert_string_equal(heard, "!");
    end();
}

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
        stage_turns(&stage, 5);
    }
    fault_heap_arm(&stage.heap, 1, true);
}

/* Sends as long as it is taken; nothing of HTTP may come in what is none. */
static void assert_ended_without_a_word(void)
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
        stage_turns(&stage, 3);
        if (uvhttp_server_stats(stage.server)->active_connections == HELD)
            break;
    }
    raw_client_step(&client, 1000);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, HELD);
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
    stage_turns(&stage, 5);
    uvhttp_stream_t *of = stream;
    assert_non_null(of);
    assert_ended_without_a_word();
    assert_null(stream);
    end();
}

static void without_memory_a_body_ends_without_a_second_answer_in_it(void **state)
{
    (void)state;
    begin_with(SMALL_BUFFER);
    ask("GET /body HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_ended_without_a_word();
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
        cmocka_unit_test(without_memory_a_stream_ends_without_a_word_of_http),
        cmocka_unit_test(without_memory_a_body_ends_without_a_second_answer_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
