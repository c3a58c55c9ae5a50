/* Events that a connection must not lose: a wake-up, an end that is reported once, input during
 * output, a request that was read early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <uvhttp/embedding.h>
#include <uvhttp/stream.h>

#include "base/compiler.h"
#include "conn/conn.h"
#include "server/server.h"
#include "support/stage.h"

enum { STEP = 1 << 20 };

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *pending;
static uvhttp_request_t *paused_request;
static int aborted, requests, stopped, ends, drains, data_calls;
static uint64_t bytes_sent;
static char chunk[200000];

static void on_abort(uvhttp_response_t *response, void *arg)
{
    (void)response;
    (void)arg;
    aborted++;
    pending = NULL;
}

static int respond_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    requests++;
    pending = response;
    uvhttp_response_on_abort(response, on_abort, NULL);
    return 0;
}

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    requests++;
    return uvhttp_response_send_text(response, 200, "hello");
}

static void on_stopped(uvhttp_server_t *server, void *arg)
{
    (void)server;
    (void)arg;
    stopped++;
}

static void on_finished(uvhttp_request_t *request, uvhttp_response_t *response,
                        const uvhttp_outcome_t *outcome, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    bytes_sent = outcome->bytes_sent;
}

static void begin_server(void)
{
    aborted = requests = stopped = ends = drains = data_calls = 0;
    pending = NULL;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
}

static void listen_and_connect(void)
{
    uvhttp_server_on_stopped(stage.server, on_stopped, NULL);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void run(int count)
{
    while (count-- > 0) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
}

/* One edge reports both. */
static void reset_with_request_aborts_response(void **state)
{
    (void)state;
    begin_server();
    uvhttp_server_route(stage.server, "GET", "/", respond_later, NULL);
    listen_and_connect();
    stage_iterations(&stage, 5); /* accepted */
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    raw_client_close(&client, true);
    run(500);
    int reported = aborted;
    end();
    assert_int_equal(requests, 1);
    assert_int_equal(reported, 1);
}

static void reset_after_request_aborts_response(void **state)
{
    (void)state;
    begin_server();
    uvhttp_server_route(stage.server, "GET", "/", respond_later, NULL);
    listen_and_connect();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 10);
    raw_client_close(&client, true);
    run(100);
    int reported = aborted;
    end();
    assert_int_equal(requests, 1);
    assert_int_equal(reported, 1);
}

/* The count of a queued chunk is corrected when the chunk is not sent. */
static int reset_and_write(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    if (err != 0)
        return err;
    raw_client_close(&client, true);
    err = uvhttp_response_write(response, chunk, sizeof(chunk));
    return 0;
}

static void bytes_sent_excludes_unsent_chunk(void **state)
{
    (void)state;
    begin_server();
    bytes_sent = 0;
    uvhttp_server_route(stage.server, "GET", "/", reset_and_write, NULL);
    uvhttp_server_on_finished(stage.server, on_finished, NULL);
    listen_and_connect();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    run(20);
    end();
    assert_true(bytes_sent < sizeof(chunk) + 1000);
}

/* The second request was read together with the first. */
static void respond_and_stop(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)worker;
    (void)arg;
    uvhttp_response_send_text(pending, 200, "first");
    uvhttp_server_stop(server);
}

static int defer_first(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    return requests == 0 ? respond_later(request, response, arg)
                         : send_hello(request, response, arg);
}

static void post_respond_and_stop(void *arg)
{
    uvhttp_server_post(arg, 0, respond_and_stop, NULL);
}

static void pipelined_request_served_during_stop(void **state)
{
    (void)state;
    begin_server();
    stage.config->drain_grace = 0;
    uvhttp_server_route(stage.server, "GET", "/", defer_first, NULL);
    listen_and_connect();
    raw_client_send_text(&client,
                         "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 10);
    assert_int_equal(requests, 1);
    uv_thread_t thread;
    uv_thread_create(&thread, post_respond_and_stop, stage.server);
    uv_thread_join(&thread);
    run(100);
    int responded = requests;
    end();
    assert_int_equal(responded, 2);
}

/* A middleware pauses the body, and other code resumes it. */
static int pause_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response;
    (void)arg;
    uvhttp_request_pause_body(request);
    paused_request = request;
    return UVHTTP_DECLINED;
}

static void paused_collected_body_resumes(void **state)
{
    (void)state;
    begin_server();
    uvhttp_server_use(stage.server, pause_body, NULL);
    uvhttp_server_route(stage.server, "POST", "/", send_hello, NULL);
    listen_and_connect();
    raw_client_send_text(&client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 10);
    raw_client_send_text(&client, "0123456789");
    run(10);
    assert_int_equal(requests, 0);
    uvhttp_request_resume_body(paused_request);
    run(200);
    int responded = requests;
    end();
    assert_int_equal(responded, 1);
}

/* ---- streams ---- */
static uvhttp_stream_t *stream;

static void on_data(uvhttp_stream_t *on_stream, char *data, size_t size, void *arg)
{
    (void)arg;
    (void)data;
    data_calls += size > 0;
    ends += size == 0;
    if (size > 0)
        uvhttp_stream_end(on_stream);
}

static void count_data(uvhttp_stream_t *on_stream, char *data, size_t size, void *arg)
{
    (void)arg;
    (void)data;
    data_calls += size > 0;
    ends += size == 0;
    (void)on_stream;
}

static void on_drain(uvhttp_stream_t *on_stream, void *arg)
{
    (void)arg;
    drains++;
    uvhttp_stream_write(on_stream, chunk, 1000);
    uvhttp_stream_await_drain(on_stream);
}

static void on_closed(uvhttp_stream_t *on_stream, void *arg)
{
    (void)on_stream;
    (void)arg;
    stream = NULL;
}

static int upgrade(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    int err = uvhttp_response_upgrade(response, "x", arg, NULL, &stream);
    if (err == 0)
        uvhttp_stream_await_drain(stream);
    return err;
}

static const char upgrade_request[] =
    "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

static void half_closed_stream_reset_closes_stream(void **state)
{
    (void)state;
    static const uvhttp_stream_events_t events = {.data = count_data, .closed = on_closed};
    begin_server();
    uvhttp_route_t route = {.method = "GET",
                            .pattern = "/",
                            .handler = upgrade,
                            .arg = (void *)(uintptr_t)&events,
                            .upgrade = "x"};
    uvhttp_router_add(uvhttp_server_router(stage.server), &route);
    listen_and_connect();
    raw_client_send_text(&client, upgrade_request);
    raw_client_step(&client, STEP);
    stage_iterations(&stage, 5);
    raw_client_step(&client, STEP);
    raw_client_end_sending(&client);
    for (int i = 0; i < 1000 && ends == 0; i++)
        stage_wait(&stage);
    assert_int_equal(ends, 1);
    assert_non_null(stream);
    raw_client_close(&client, true);
    for (int i = 0; i < 1000 && stream != NULL; i++)
        stage_wait(&stage);
    assert_null(stream);
    end();
}

/* Output must not starve input. */
static void writing_stream_receives_input(void **state)
{
    (void)state;
    static const uvhttp_stream_events_t events = {
        .data = on_data, .drain = on_drain, .closed = on_closed};
    begin_server();
    uvhttp_route_t route = {.method = "GET",
                            .pattern = "/",
                            .handler = upgrade,
                            .arg = (void *)(uintptr_t)&events,
                            .upgrade = "x"};
    uvhttp_router_add(uvhttp_server_router(stage.server), &route);
    listen_and_connect();
    raw_client_send_text(&client, upgrade_request);
    for (int i = 0; i < 20; i++) {
        raw_client_step(&client, STEP);
        stage_iterate(&stage);
    }
    raw_client_send_text(&client, "stop");
    for (int i = 0; i < 20000 && data_calls == 0; i++) {
        raw_client_step(&client, STEP);
        stage_iterate(&stage);
    }
    int received = data_calls;
    end();
    assert_int_equal(received, 1);
}

static void write_until_full(uvhttp_stream_t *on_stream, void *arg)
{
    (void)arg;
    drains++;
    for (int i = 0; i < 100 && uvhttp_stream_write(on_stream, chunk, 100000) == 0; i++)
        ;
}

static void stream_peer_end_reported_once(void **state)
{
    (void)state;
    static const uvhttp_stream_events_t events = {
        .data = count_data, .drain = write_until_full, .closed = on_closed};
    begin_server();
    uvhttp_route_t route = {.method = "GET",
                            .pattern = "/",
                            .handler = upgrade,
                            .arg = (void *)(uintptr_t)&events,
                            .upgrade = "x"};
    uvhttp_router_add(uvhttp_server_router(stage.server), &route);
    listen_and_connect();
    raw_client_send_text(&client, upgrade_request);
    raw_client_step(&client, STEP);
    stage_iterations(&stage, 5);
    raw_client_end_sending(&client);
    for (int i = 0; i < 3000; i++) {
        raw_client_step(&client, 50000);
        stage_iterate(&stage);
    }
    int reported = ends;
    end();
    assert_int_equal(reported, 1);
}

/* A source that never ends must not starve the body. */
static size_t pulled;
static int body_calls;

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    (void)response;
    (void)arg;
    memset(buffer, 'x', 1000);
    (void)size;
    *length = 1000;
    pulled += 1000;
    return 0;
}

static int on_body(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                   size_t size, void *arg)
{
    (void)request;
    (void)response;
    (void)data;
    (void)size;
    (void)arg;
    body_calls++;
    return 0;
}

static int read_and_pull(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    int err = uvhttp_request_on_body(request, on_body, NULL);
    return err != 0 ? err
                    : uvhttp_response_send_pulled(response, 200, "text/plain",
                                                  UVHTTP_LENGTH_UNKNOWN, pull, NULL, NULL);
}

static void pulled_response_reads_request_body(void **state)
{
    (void)state;
    begin_server();
    body_calls = 0;
    pulled = 0;
    uvhttp_route_t route = {
        .method = "POST", .pattern = "/", .handler = read_and_pull, .flags = UVHTTP_ROUTE_STREAM};
    uvhttp_router_add(uvhttp_server_router(stage.server), &route);
    listen_and_connect();
    raw_client_send_text(&client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        raw_client_step(&client, STEP);
        stage_iterate(&stage);
    }
    raw_client_send_text(&client, "0123456789");
    for (int i = 0; i < 2000 && body_calls == 0; i++) {
        while (raw_client_step(&client, STEP))
            ;
        stage_iterate(&stage);
    }
    int calls = body_calls;
    end();
    assert_true(calls > 0);
}

/* The client reads only after it has sent its body. */
static int end_before_the_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    if (err == 0)
        err = uvhttp_response_write(response, chunk, sizeof(chunk));
    return err != 0 ? err : uvhttp_response_end(response);
}

static void ended_chunked_response_reads_rest_of_upload(void **state)
{
    enum { BODY = 8000000 };
    static char body[BODY];
    (void)state;
    begin_server();
    uvhttp_route_t route = {.method = "POST",
                            .pattern = "/",
                            .handler = end_before_the_body,
                            .flags = UVHTTP_ROUTE_STREAM};
    uvhttp_router_add(uvhttp_server_router(stage.server), &route);
    uvhttp_server_on_stopped(stage.server, on_stopped, NULL);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, 4096);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 4096);
    raw_client_send_text(&client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n");
    raw_client_send(&client, body, BODY);
    for (int i = 0; i < 20000 && client.out_sent < client.out_length; i++) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    assert_int_equal(client.out_sent, client.out_length);
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 1), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_after_request_aborts_response),
        cmocka_unit_test(reset_with_request_aborts_response),
        cmocka_unit_test(bytes_sent_excludes_unsent_chunk),
        cmocka_unit_test(pipelined_request_served_during_stop),
        cmocka_unit_test(paused_collected_body_resumes),
        cmocka_unit_test(half_closed_stream_reset_closes_stream),
        cmocka_unit_test(ended_chunked_response_reads_rest_of_upload),
        cmocka_unit_test(writing_stream_receives_input),
        cmocka_unit_test(stream_peer_end_reported_once),
        cmocka_unit_test(pulled_response_reads_request_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
