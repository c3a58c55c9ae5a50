/* How connections end: draining, timeouts that check the socket once more before they close, and a
 * lack of descriptors. The tests expire timeouts without waiting. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "conn/conn.h"
#include "server/server.h"
#include "support/stage.h"

enum { LARGE = 4000000, STEP = 1 << 20, MAX_WAITS = 5000 };

#define GET "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

static struct stage stage;
static struct raw_client client;
static char large[LARGE];
static int aborted, stopping, stopped;

static int send_small(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, "text/plain", "a", 1);
}

static int send_large(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_borrowed(response, 200, "text/plain", large, LARGE, NULL, NULL);
}

static void ages_differ_by_a_tenth(void **state)
{
    (void)state;
    static const struct {
        uint64_t now_ms, max_ms;
        uint32_t random, second;
    } rows[] = {
        {0, 1000, 0, 1},
        {1, 1000, 0, 2},
        {5000, 3600000, 0, 3605},
        {5000, 3600000, UINT32_MAX, 3245},
        {5000, 3600000, UINT32_MAX / 2, 3426},
        {4000, 1000, UINT32_MAX, 5}, /* 4.9 s */
        {0, (uint64_t)4294967 * 1000, 0, 4294967},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_int_equal(uvh_conn_old_at(rows[i].now_ms, rows[i].max_ms, rows[i].random),
                         rows[i].second);
}

static void on_abort(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    aborted++;
    assert_true(uvhttp_response_write(response, "x", 1) < 0);
}

static int begin_events(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    uvhttp_response_on_abort(response, on_abort, NULL);
    return uvhttp_response_begin_events(response);
}

static uvhttp_response_t *pending;
static int ends, end_result;

static int on_peer_end(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(response, pending);
    assert_ptr_equal(arg, &ends);
    ends++;
    return end_result;
}

static void count_abort(uvhttp_response_t *response, void *arg)
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
    pending = response;
    uvhttp_response_on_abort(response, count_abort, NULL);
    return uvhttp_response_on_peer_end(response, on_peer_end, &ends);
}

static int begin_and_wait(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : respond_later(request, response, arg);
}

static size_t chunks_left;

static int write_chunks(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    int err = 0;
    while (err == 0 && chunks_left > 0) {
        err = uvhttp_response_write(response, large, LARGE / 4);
        chunks_left -= err == 0;
    }
    if (err == UVHTTP_EFULL)
        return 0;
    return err != 0 ? err : uvhttp_response_end(response);
}

static int send_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    chunks_left = 12;
    uvhttp_response_on_drain(response, write_chunks, NULL);
    int err = uvhttp_response_begin(response, 200, "text/plain", 3 * (uint64_t)LARGE);
    return err != 0 ? err : write_chunks(response, arg);
}

static void on_stopping(uvhttp_server_t *server, void *arg)
{
    assert_ptr_equal(server, stage.server);
    assert_ptr_equal(arg, &stopping);
    assert_int_equal(stopped, 0);
    stopping++;
}

static void on_stopped(uvhttp_server_t *server, void *arg)
{
    (void)server;
    (void)arg;
    stopped++;
}

static void begin(size_t grace)
{
    aborted = stopping = stopped = 0;
    stage_begin(&stage);
    stage.config->drain_grace = grace;
    stage.config->drain_timeout = 3600;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_small, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/large", send_large, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/events", begin_events, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/later", respond_later, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/pieces", send_chunks, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/begun", begin_and_wait, NULL), 0);
    uvhttp_server_on_stopping(stage.server, on_stopping, &stopping);
    uvhttp_server_on_stopped(stage.server, on_stopped, NULL);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void assert_responses(size_t count)
{
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, count), count);
}

static size_t active(void)
{
    return uvhttp_server_stats(stage.server)->active_connections;
}

static void run_until_stopped(void)
{
    for (int i = 0; i < MAX_WAITS && stopped == 0; i++)
        stage_wait(&stage);
    assert_int_equal(stopped, 1);
}

/* ---- the client's end while a response is pending ---- */

static void begin_pending(const char *request, int result)
{
    ends = 0;
    end_result = result;
    pending = NULL;
    begin(0);
    raw_client_send_text(&client, request);
    raw_client_step(&client, STEP);
}

static void wait_for_peer_end(void)
{
    for (int i = 0; i < MAX_WAITS && ends == 0; i++)
        stage_wait(&stage);
    stage_iterations(&stage, 10);
    assert_int_equal(ends, 1);
}

#define LATER "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
#define BEGUN "GET /begun HTTP/1.1\r\nHost: h\r\n\r\n"

static void client_close_aborts_pending_response(void **state)
{
    static const char *const requests[] = {LATER, BEGUN,
                                           /* the last one with bytes that are not read yet */
                                           LATER GET};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin_pending(requests[i], UVHTTP_EDISCONNECTED);
        stage_iterations(&stage, 10);
        assert_non_null(pending);
        assert_int_equal(ends, 0);
        raw_client_close(&client, false);
        wait_for_peer_end();
        assert_int_equal(aborted, 1);
        assert_int_equal(active(), 0);
        assert_int_equal(stage.errors_logged, 0);
        end();
    }
}

static void client_close_with_request_aborts_response(void **state)
{
    (void)state;
    begin_pending(LATER, UVHTTP_EDISCONNECTED);
    raw_client_close(&client, false);
    wait_for_peer_end();
    assert_int_equal(aborted, 1);
    end();
}

static void half_close_gets_late_response(void **state)
{
    (void)state;
    begin_pending(LATER, 0);
    assert_int_equal(shutdown(client.socket, SHUT_WR), 0);
    wait_for_peer_end();
    assert_int_equal(aborted, 0);
    assert_int_equal(uvhttp_response_send_text(pending, 200, "late"), 0);
    assert_responses(1);
    stage_drive_to_end(&stage, &client, STEP);
    assert_int_equal(ends, 1);
    end();
}

static void half_close_gets_complete_chunked_body(void **state)
{
    (void)state;
    begin_pending("GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n", 0);
    assert_int_equal(shutdown(client.socket, SHUT_WR), 0);
    assert_responses(1);
    end();
}

static void peer_end_callback_error_gets_503(void **state)
{
    struct raw_response got;
    size_t offset = 0;
    (void)state;
    begin_pending(LATER, UVHTTP_ENOMEM);
    assert_int_equal(shutdown(client.socket, SHUT_WR), 0);
    wait_for_peer_end();
    assert_responses(1);
    assert_true(raw_client_response(&client, &offset, false, &got));
    assert_int_equal(got.status, 503);
    end();
}

/* ---- drain ---- */

static void drain_grace_request_gets_response_and_close(void **state)
{
    (void)state;
    begin(600);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    assert_int_equal(active(), 1);
    size_t before = client.received;
    raw_client_send_text(&client, GET GET);
    stage_drive_to_end(&stage, &client, STEP);
    const char *response = client.data + before;
    assert_non_null(memmem(response, client.received - before, "Connection: close", 17));
    size_t offset = 0;
    struct raw_response one;
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_true(raw_client_response(&client, &offset, false, &one));
    /* one response has Connection: close, and is the last */
    assert_int_equal(offset, client.received);
    raw_client_close(&client, false);
    run_until_stopped(); /* long before the grace period ends */
    end();
}

static void drain_grace_end_closes_idle_connection(void **state)
{
    (void)state;
    begin(1);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    assert_int_equal(active(), 1);
    stage_drive_to_end(&stage, &client, STEP);
    run_until_stopped();
    end();
}

static void stop_without_grace_closes_idle_connection(void **state)
{
    (void)state;
    begin(0);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    assert_int_equal(active(), 0);
    run_until_stopped();
    end();
}

static void second_stop_ends_drain_grace(void **state)
{
    (void)state;
    begin(600);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    uvhttp_server_stop(stage.server);
    run_until_stopped();
    end();
}

static void on_stopping_called_once_before_on_stopped(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(stopping, 0);
    uvhttp_server_stop(stage.server);
    uvhttp_server_stop(stage.server);
    run_until_stopped();
    assert_int_equal(stopping, 1);
    end();
}

static bool has_head(void *arg)
{
    (void)arg;
    return memmem(client.data, client.received, "\r\n\r\n", 4) != NULL;
}

static bool has_last_chunk(void *arg)
{
    (void)arg;
    return client.received > 5 && memcmp(client.data + client.received - 5, "0\r\n\r\n", 5) == 0;
}

static void server_stop_ends_event_stream(void **state)
{
    (void)state;
    for (size_t grace = 0; grace <= 600; grace += 600) {
        begin(grace);
        raw_client_send_text(&client, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
        stage_drive(&stage, &client, STEP, has_head, NULL);
        uvhttp_server_stop(stage.server);
        stage_drive(&stage, &client, STEP, has_last_chunk, NULL);
        assert_int_equal(aborted, 1);
        raw_client_close(&client, false);
        run_until_stopped();
        end();
    }
}

static void event_stream_during_drain_gets_503(void **state)
{
    (void)state;
    begin(600);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    raw_client_send_text(&client, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    stage_drive_to_end(&stage, &client, STEP);
    size_t offset = 0;
    struct raw_response one;
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_int_equal(one.status, 503);
    raw_client_close(&client, false);
    run_until_stopped();
    end();
}

static void ended_event_stream_not_ended_by_stop(void **state)
{
    (void)state;
    begin(0);
    raw_client_send_text(&client, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    stage_drive(&stage, &client, STEP, has_head, NULL);
    raw_client_close(&client, true);
    for (int i = 0; i < MAX_WAITS && aborted == 0; i++)
        stage_wait(&stage);
    assert_int_equal(aborted, 1);
    uvhttp_server_stop(stage.server);
    run_until_stopped();
    assert_int_equal(aborted, 1);
    end();
}

/* ---- timeouts ---- */

static struct uvh_conn_shared *conns(void)
{
    return &uvh_server_of(stage.server)->workers[0].conns;
}

/* Simulates a pause of the process: timers expire before the sockets are checked. */
static void expire(void)
{
    uint64_t now = uv_now(&stage.loop);
    for (size_t i = 0; i < UVH_CONN_TIMEOUTS; i++) {
        struct uvh_timeout *first = uvh_timeout_first(&conns()->timeouts[i]);
        if (first != NULL)
            first->deadline = now;
    }
    uvh_shared_expire(conns(), now);
}

static void keep_alive_timeout_reads_pending_request(void **state)
{
    (void)state;
    begin(0);
    raw_client_send_text(&client, GET);
    assert_responses(1);
    raw_client_send_text(&client, GET);
    raw_client_step(&client, 0);
    expire();
    assert_responses(2);
    expire();
    stage_drive_to_end(&stage, &client, STEP);
    end();
}

static void head_timeout_reads_pending_bytes(void **state)
{
    (void)state;
    begin(0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHo");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 5);
    raw_client_send_text(&client, "st: h\r\n\r\n");
    raw_client_step(&client, 0);
    expire();
    assert_responses(1);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHo");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 5);
    raw_client_send_text(&client, "s");
    raw_client_step(&client, 0);
    expire(); /* progress does not extend the timeout of a head */
    assert_responses(2);
    struct raw_response one;
    size_t offset = 0;
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_int_equal(one.status, 408);
    end();
}

static void next_head_has_own_timeout(void **state)
{
    (void)state;
    begin(0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHo");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 5);
    raw_client_send_text(&client, "st: h\r\n\r\nGET / HTTP/1.1\r\nHo");
    raw_client_step(&client, 0);
    expire();
    assert_responses(1);
    raw_client_send_text(&client, "st: h\r\n\r\n");
    assert_responses(2);
    struct raw_response one;
    size_t offset = 0;
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_true(raw_client_response(&client, &offset, false, &one));
    assert_int_equal(one.status, 200);
    end();
}

static void event_stream_for_head_ends_after_head(void **state)
{
    struct raw_response one;
    size_t offset = 0;
    (void)state;
    begin(0);
    raw_client_send_text(&client, "HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < MAX_WAITS && aborted == 0; i++) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
    assert_int_equal(aborted, 1);
    assert_true(raw_client_response(&client, &offset, true, &one));
    assert_int_equal(one.status, 200);
    raw_client_send_text(&client, GET);
    for (int i = 0; i < MAX_WAITS && !raw_client_response(&client, &offset, false, &one); i++) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
    assert_int_equal(client.data[client.received - 1], 'a');
    end();
}

static void write_timeout_renewed_by_slow_reader(void **state)
{
    (void)state;
    begin(0);
    raw_client_close(&client, false);
    stage_shrink_send_buffer(&stage, 65536);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 65536);
    raw_client_send_text(&client, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    stage_iterations(&stage, 20);
    size_t timeouts = uvhttp_server_stats(stage.server)->timeouts;
    struct uvh_timeout *first = uvh_timeout_first(&conns()->timeouts[UVH_CONN_TIMEOUT_WRITE]);
    assert_non_null(first);
    const struct uvh_conn *conn = UVH_CONTAINER_OF(first, struct uvh_conn, timeout);
    /* The server does not run meanwhile, so only the kernel knows the progress. */
    for (int i = 0; i < MAX_WAITS && uvh_socket_unsent(conn->socket.fd) >= conn->unsent; i++)
        raw_client_step(&client, 16384);
    assert_true(uvh_socket_unsent(conn->socket.fd) < conn->unsent);
    expire();
    assert_int_equal(active(), 1); /* the client has read since the timeout was armed */
    assert_int_equal(uvhttp_server_stats(stage.server)->timeouts, timeouts);
    for (int i = 0; i < 5 && active() > 0; i++)
        expire();
    assert_int_equal(active(), 0); /* no progress since then */
    assert_int_equal(uvhttp_server_stats(stage.server)->timeouts, timeouts + 1);
    end();
}

/* ---- descriptors ---- */

enum { DESCRIPTORS = 200, CLIENTS = 100 };

static void limit_descriptors(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void emfile_keeps_new_connections_queued(void **state)
{
    static struct raw_client clients[CLIENTS];
    struct rlimit before;
    size_t count = 0;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit_descriptors(DESCRIPTORS);
    begin(0);
    raw_client_close(&client, false);
    size_t warnings = stage.warnings_logged;
    while (count < CLIENTS - 2 && stage.warnings_logged == warnings) {
        raw_client_connect(&clients[count++], uvhttp_server_port(stage.server), 0);
        stage_iterations(&stage, 5);
    }
    assert_in_range(count, 10, CLIENTS - 3);
    assert_int_equal(active(), count);
    for (int i = 0; i < 2; i++) /* these wait in the kernel's accept queue */
        raw_client_connect(&clients[count + (size_t)i], uvhttp_server_port(stage.server), 0);
    stage_iterations(&stage, 20);
    assert_int_equal(active(), count);
    for (size_t i = 0; i < count + 2; i++)
        raw_client_send_text(&clients[i], GET);
    /* Its descriptor lets the next connection in. Idle connections are then closed for the
     * others. */
    raw_client_close(&clients[0], false);
    for (size_t i = 1; i < count + 2; i++)
        assert_int_equal(stage_drive_responses(&stage, &clients[i], STEP, 1), 1);
    for (size_t i = 1; i < count + 2; i++)
        raw_client_close(&clients[i], false);
    end();
    limit_descriptors(before.rlim_cur);
}

static void emfile_closes_longest_idle_connection(void **state)
{
    static struct raw_client clients[CLIENTS];
    struct rlimit before;
    size_t count = 0;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit_descriptors(DESCRIPTORS);
    begin(0);
    raw_client_close(&client, false);
    size_t warnings = stage.warnings_logged;
    assert_true(warnings > 0); /* max_connections exceeds the limit of descriptors */
    while (count < CLIENTS && stage.warnings_logged == warnings) {
        raw_client_connect(&clients[count], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[count], GET);
        assert_int_equal(stage_drive_responses(&stage, &clients[count], STEP, 1), 1);
        count++;
    }
    assert_in_range(count, 10, CLIENTS - 1);
    stage_drive_to_end(&stage, &clients[0], STEP); /* the connection that has been idle longest */
    assert_int_equal(active(), count - 1);
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    close(file);
    for (size_t i = 0; i < count; i++)
        raw_client_close(&clients[i], false);
    end();
    limit_descriptors(before.rlim_cur);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_differ_by_a_tenth),
        cmocka_unit_test(client_close_aborts_pending_response),
        cmocka_unit_test(client_close_with_request_aborts_response),
        cmocka_unit_test(half_close_gets_late_response),
        cmocka_unit_test(half_close_gets_complete_chunked_body),
        cmocka_unit_test(peer_end_callback_error_gets_503),
        cmocka_unit_test(drain_grace_request_gets_response_and_close),
        cmocka_unit_test(drain_grace_end_closes_idle_connection),
        cmocka_unit_test(stop_without_grace_closes_idle_connection),
        cmocka_unit_test(second_stop_ends_drain_grace),
        cmocka_unit_test(on_stopping_called_once_before_on_stopped),
        cmocka_unit_test(server_stop_ends_event_stream),
        cmocka_unit_test(event_stream_during_drain_gets_503),
        cmocka_unit_test(ended_event_stream_not_ended_by_stop),
        cmocka_unit_test(keep_alive_timeout_reads_pending_request),
        cmocka_unit_test(head_timeout_reads_pending_bytes),
        cmocka_unit_test(next_head_has_own_timeout),
        cmocka_unit_test(event_stream_for_head_ends_after_head),
        cmocka_unit_test(write_timeout_renewed_by_slow_reader),
        cmocka_unit_test(emfile_keeps_new_connections_queued),
        cmocka_unit_test(emfile_closes_longest_idle_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
