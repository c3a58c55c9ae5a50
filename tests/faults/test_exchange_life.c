/* The life of exchanges that end in each state, by the client or by a stop or free of the server:
 * every callback runs as often as documented, and nothing is left on the loop or the heap. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;

/* ---- handlers ---- */

static int send_text(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    int err = uvhttp_response_send_text(response, 200, arg == NULL ? "hello" : arg);
    assert_false(uvhttp_response_open(response));
    return err;
}

static int pending, aborts;

static void on_abort(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(arg, &aborts);
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_response_send_text(response, 200, "late"), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_response_set_header(response, "X-A", "1"), UVHTTP_EDISCONNECTED);
    aborts++;
}

static uvhttp_response_t *pending_response;

static int respond_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    pending++;
    pending_response = response;
    uvhttp_response_on_abort(response, on_abort, NULL); /* the second call replaces the first */
    uvhttp_response_on_abort(response, on_abort, &aborts);
    return 0;
}

static uv_sem_t gate; /* jobs wait for it */
static int jobs_done, late_response_result;

static void wait_at_gate(void *arg)
{
    uv_sem_wait(arg);
}

static int after_gate(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(arg, &gate);
    jobs_done++;
    late_response_result = uvhttp_response_send_text(response, 200, "worked");
    return late_response_result;
}

static int defer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    pending++;
    uvhttp_response_on_abort(response, on_abort, &aborts);
    return uvhttp_response_defer(response, wait_at_gate, after_gate, &gate);
}

/* What an exchange leaves for its clean-up; it is in the exchange's memory. */
struct cleanup {
    uvhttp_response_t *response;
    char text[16];
};

static atomic_int cleanups;
static bool exhaust_memory; /* no memory of the exchange is left for a clean-up job */

static void run_cleanup(void *arg)
{
    const struct cleanup *cleanup = arg;
    uv_sem_wait(&gate);
    cleanups += strcmp(cleanup->text, "still there") == 0;
}

static void clean_up_at_release(void *data)
{
    struct cleanup *cleanup = data;
    uvhttp_response_clean_up(cleanup->response, run_cleanup, cleanup);
}

static void clean_up_on_abort(uvhttp_response_t *response, void *arg)
{
    aborts++;
    while (exhaust_memory && uvhttp_request_allocate(uvhttp_response_request(response), 16) != NULL)
        continue;
    int before = atomic_load(&cleanups);
    uvhttp_response_clean_up(response, run_cleanup, arg);
    assert_int_equal(atomic_load(&cleanups), before + exhaust_memory);
}

/* Responds to "/cleaning?answer". */
static int add_cleanup(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    struct cleanup *cleanup = uvhttp_request_allocate(request, sizeof(*cleanup));
    (void)arg;
    pending++;
    *cleanup = (struct cleanup){.response = response, .text = "still there"};
    uvhttp_response_on_abort(response, clean_up_on_abort, cleanup);
    assert_int_equal(uvhttp_request_attach(request, &key, cleanup, clean_up_at_release), 0);
    if (uvhttp_request_query(request, "answer") == NULL)
        return 0;
    int err = uvhttp_response_send_text(response, 200, "hello");
    uvhttp_response_clean_up(response, run_cleanup, cleanup);
    uvhttp_response_clean_up(response, NULL, cleanup);
    return err;
}

/* ---- setup and teardown ---- */

static void begin_without_listening(void)
{
    stage_begin(&stage);
    pending = aborts = jobs_done = late_response_result = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_text, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/never", respond_later, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/deferred", defer, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/cleaning", add_cleanup, NULL), 0);
}

static void begin(void)
{
    begin_without_listening();
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(struct raw_client *from, const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target);
    raw_client_send_text(from, request);
}

static void assert_response(struct raw_client *client_of_response, const char *body)
{
    size_t offset = 0;
    struct raw_response response;
    assert_int_equal(stage_drive_responses(&stage, client_of_response, 1000, 1), 1);
    assert_true(raw_client_response(client_of_response, &offset, false, &response));
    assert_int_equal(response.body_length, strlen(body));
    assert_memory_equal(response.body, body, strlen(body));
    assert_int_equal(offset, client_of_response->received);
    client_of_response->received = 0;
}

static bool is_pending(void *arg)
{
    (void)arg;
    return pending > 0;
}

static bool was_aborted(void *arg)
{
    (void)arg;
    return aborts > 0;
}

static void free_server(void)
{
    uvhttp_server_free(stage.server);
    stage.server = NULL;
}

static int stopped;

static void on_stopped(uvhttp_server_t *server, void *arg)
{
    assert_ptr_equal(arg, &stopped);
    assert_non_null(server);
    stopped++;
}

static void count_free(void *arg)
{
    ++*(int *)arg;
}

static bool has_stopped(void *arg)
{
    (void)arg;
    return stopped > 0;
}

static void stop(void)
{
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
    uvhttp_server_stop(stage.server);
}

/* ---- stop and free during requests ---- */

static void free_aborts_pending_exchange(void **state)
{
    (void)state;
    struct raw_client idle, partial;
    begin();
    raw_client_connect(&idle, uvhttp_server_port(stage.server), 0);
    raw_client_connect(&partial, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&partial, "GET / HT");
    raw_client_step(&partial, 0);
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    stage_iterations(&stage, 5);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 3);
    free_server();
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    stage_drive_to_end(&stage, &idle, 100);
    stage_drive_to_end(&stage, &partial, 100);
    raw_client_close(&idle, false);
    raw_client_close(&partial, false);
    end();
    assert_int_equal(aborts, 1);
}

static void free_waits_for_running_job(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    stopped = 0;
    assert_int_equal(uvhttp_server_own(stage.server, count_free, &stopped), 0);
    send_request(&client, "/deferred");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    free_server();
    stage_drive_to_end(&stage, &client, 100); /* the connection closes immediately */
    stage_iterations(&stage, 50);
    assert_int_equal(aborts, 1);
    assert_int_equal(jobs_done, 0);
    assert_int_equal(stopped, 0);
    uv_sem_post(&gate);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(late_response_result, UVHTTP_EDISCONNECTED);
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

static void stop_waits_for_pending_response(void **state)
{
    (void)state;
    char value[16];
    struct raw_response response;
    size_t offset = 0;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    stop();
    stage_iterations(&stage, 50);
    assert_int_equal(stopped, 0);
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "at last"), 0);
    stage_drive_responses(&stage, &client, 100, 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_true(raw_response_field(&response, "Connection", value, sizeof(value)));
    assert_string_equal(value, "close");
    stage_drive_to_end(&stage, &client, 100);
    raw_client_close(&client, false);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(aborts, 0);
    end();
    assert_int_equal(stopped, 1);
}

static void second_stop_aborts_pending_exchange(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    stop();
    stage_iterations(&stage, 50);
    assert_int_equal(aborts, 0);
    uvhttp_server_stop(stage.server);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    assert_int_equal(client.received, 0);
    end();
    assert_int_equal(stopped, 1);
    assert_int_equal(aborts, 1);
}

/* The loop does not run between the two calls. */
static void second_stop_in_same_iteration_aborts_exchange(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    stop();
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 50);
    assert_int_equal(stopped, 1);
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    end();
}

static void second_signal_stops_immediately(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        begin();
        assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
        assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0); /* no effect */
        stopped = 0;
        uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
        send_request(&client, "/never");
        stage_drive(&stage, &client, 100, is_pending, NULL);
        raise(numbers[i]);
        stage_iterations(&stage, 50);
        assert_int_equal(stopped, 0);
        assert_int_equal(aborts, 0);
        raise(numbers[1 - i]);
        stage_drive(&stage, &client, 100, has_stopped, NULL);
        assert_int_equal(aborts, 1);
        end();
    }
}

/* ---- exchanges ---- */

static void client_reset_calls_on_abort_once(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_aborted, NULL);
    stage_iterations(&stage, 20);
    assert_true(uvhttp_server_stats(stage.server)->aborted_exchanges == 1);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
    end();
    assert_int_equal(aborts, 1);
}

static void sent_response_cancels_on_abort(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "later"), 0);
    assert_response(&client, "later");
    raw_client_close(&client, true);
    stage_iterations(&stage, 20);
    end();
    assert_int_equal(aborts, 0);
}

static void job_of_disconnected_client_completes(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    send_request(&client, "/deferred");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_aborted, NULL);
    assert_int_equal(jobs_done, 0);
    uv_sem_post(&gate);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS && jobs_done == 0; iteration++)
        stage_wait(&stage);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(late_response_result, UVHTTP_EDISCONNECTED);
    assert_int_equal(stage.errors_logged, 0); /* a client that disconnects is not an error */
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

/* The gate lets all jobs run. `count` have run when the server has ended. */
static void assert_cleanups(int count)
{
    for (int i = 0; i < count; i++)
        uv_sem_post(&gate);
    end();
    assert_int_equal(atomic_load(&cleanups), count);
    uv_sem_destroy(&gate);
}

static void begin_cleanup(void)
{
    begin();
    cleanups = 0;
    exhaust_memory = false;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
}

static void cleanup_delays_next_request(void **state)
{
    (void)state;
    begin_cleanup();
    send_request(&client, "/cleaning?answer");
    assert_response(&client, "hello");
    send_request(&client, "/");
    for (int iteration = 0; iteration < 20; iteration++) {
        raw_client_step(&client, 100);
        stage_iterate(&stage);
    }
    /* The next request waits, since memory and connection are still in use. */
    assert_int_equal(client.received, 0);
    uv_sem_post(&gate);
    uv_sem_post(&gate);
    assert_response(&client, "hello");
    end();
    assert_int_equal(atomic_load(&cleanups), 2);
    uv_sem_destroy(&gate);
}

static void cleanup_runs_after_client_reset(void **state)
{
    (void)state;
    begin_cleanup();
    send_request(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_aborted, NULL);
    assert_cleanups(2);
    assert_int_equal(aborts, 1);
}

static void cleanup_runs_after_server_free(void **state)
{
    (void)state;
    begin_cleanup();
    send_request(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    free_server();
    assert_cleanups(2);
    assert_int_equal(aborts, 1);
}

static void cleanup_without_memory_runs_immediately(void **state)
{
    (void)state;
    begin_cleanup();
    send_request(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    uv_sem_post(&gate);
    uv_sem_post(&gate);
    exhaust_memory = true;
    fault_heap_arm(&stage.heap, 1, true);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_aborted, NULL);
    fault_heap_arm(&stage.heap, 0, false);
    end();
    assert_int_equal(atomic_load(&cleanups), 2);
    uv_sem_destroy(&gate);
}

static void half_closed_client_gets_late_response(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/never");
    stage_drive(&stage, &client, 100, is_pending, NULL);
    raw_client_send_text(&client, "GET / HT"); /* never becomes a complete request */
    raw_client_step(&client, 0);
    raw_client_end_sending(&client);
    stage_iterations(&stage, 20);
    assert_int_equal(aborts, 0);
    assert_int_equal(uvhttp_response_send_text(pending_response, 200, "later"), 0);
    assert_response(&client, "later");
    stage_drive_to_end(&stage, &client, 100);
    end();
    assert_int_equal(aborts, 0);
}

/* The client sends more requests than the server batches responses, so that the server detects the
 * reset within a batch. */
static void reset_with_pipelined_requests_logs_no_error(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 1600; i++)
        send_request(&client, "/");
    for (int step = 0; client.out_sent < client.out_length && step < 100; step++)
        raw_client_step(&client, 0);
    raw_client_close(&client, true);
    stage_iterations(&stage, 20);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_aborts_pending_exchange),
        cmocka_unit_test(free_waits_for_running_job),
        cmocka_unit_test(stop_waits_for_pending_response),
        cmocka_unit_test(second_stop_aborts_pending_exchange),
        cmocka_unit_test(second_stop_in_same_iteration_aborts_exchange),
        cmocka_unit_test(second_signal_stops_immediately),
        cmocka_unit_test(client_reset_calls_on_abort_once),
        cmocka_unit_test(sent_response_cancels_on_abort),
        cmocka_unit_test(job_of_disconnected_client_completes),
        cmocka_unit_test(cleanup_delays_next_request),
        cmocka_unit_test(cleanup_runs_after_client_reset),
        cmocka_unit_test(cleanup_runs_after_server_free),
        cmocka_unit_test(cleanup_without_memory_runs_immediately),
        cmocka_unit_test(half_closed_client_gets_late_response),
        cmocka_unit_test(reset_with_pipelined_requests_logs_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
