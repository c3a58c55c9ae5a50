/* Durations of requests and loop iterations in uvhttp_server_stats: what they include and exclude.
 * The time of a handler or of other code on the loop must be part of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/compiler.h"
#include "server/server.h"
#include "support/stage.h"

enum { BUSY_US = 20000, MANY = 100 };

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *pending;

static void spin(void)
{
    uint64_t end = uv_hrtime() + (uint64_t)BUSY_US * 1000;
    while (uv_hrtime() < end)
        ;
}

static int send_quick(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "quick");
}

static int send_slow(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    spin();
    return send_quick(request, response, arg);
}

static void clear_pending(uvhttp_response_t *response, void *arg)
{
    (void)response;
    (void)arg;
    pending = NULL;
}

static int keep_pending(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    pending = response;
    uvhttp_response_on_abort(response, clear_pending, NULL);
    return 0;
}

static void begin(void)
{
    stage_begin(&stage);
    stage_new_server(&stage);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/metrics",
                                         uvhttp_metrics_handle_request, stage.server),
                     0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/quick", send_quick, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/slow", send_slow, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/keep", keep_pending, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(const char *path, size_t times)
{
    char request[128];
    size_t before = 0;
    struct raw_response response;
    for (size_t offset = 0; raw_client_response(&client, &offset, false, &response);)
        before++;
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    for (size_t i = 0; i < times; i++)
        raw_client_send_text(&client, request);
    assert_int_equal(stage_drive_responses(&stage, &client, 100000, before + times),
                     before + times);
    stage_iterations(&stage, 2); /* the iteration of the last response is complete */
}

static uvhttp_stats_t stats(void)
{
    return *uvhttp_server_stats(stage.server);
}

static void latency_counts_each_response_once(void **state)
{
    (void)state;
    begin();
    send_request("/quick", 1);
    send_request("/none", 1);
    send_request("/quick", MANY); /* pipelined */
    uvhttp_stats_t current = stats();
    assert_true(current.latency.count == MANY + 2);
    assert_true(current.latency.count == current.total_requests);
    assert_true(current.latency.sum_us >= current.latency.max_us);
    assert_true(current.latency.p50_us <= current.latency.p90_us);
    assert_true(current.latency.p90_us <= current.latency.p99_us);
    assert_true(current.latency.p99_us <= current.latency.p999_us);
    assert_true(current.latency.p999_us <= current.latency.max_us);
    for (unsigned i = 1; i < UVHTTP_LATENCY_BOUNDS; i++)
        assert_true(current.latency.below[i] >= current.latency.below[i - 1]);
    assert_true(current.latency.below[UVHTTP_LATENCY_BOUNDS - 1] == MANY + 2);
    assert_true(current.loop_delay.count > 0);
    end();
}

static void latency_includes_handler_time(void **state)
{
    (void)state;
    begin();
    send_request("/quick", MANY);
    uvhttp_stats_t before = stats();
    send_request("/slow", 1);
    uvhttp_stats_t after = stats();
    assert_true(after.latency.max_us >= BUSY_US);
    assert_true(after.latency.sum_us - before.latency.sum_us >= BUSY_US);
    assert_true(after.loop_delay.max_us >= BUSY_US);
    assert_true(after.loop_busy_us - before.loop_busy_us >= BUSY_US);
    assert_true(after.loop_time_us - before.loop_time_us >=
                after.loop_busy_us - before.loop_busy_us);
    /* The nearest smaller bound is 16 ms. No smaller bound counts the request. */
    assert_true(after.latency.below[8] - before.latency.below[8] == 0);
    assert_true(after.latency.count - before.latency.count == 1);
    end();
}

/* A request in the same iteration waits for the slow one, which is part of its duration. */
static void latency_of_an_interval_excludes_earlier_requests(void **state)
{
    (void)state;
    static uvhttp_latency_counts_t first, second, third;
    uvhttp_latency_t latency;
    begin();
    send_request("/slow", 1);
    assert_int_equal(uvhttp_server_read_latency(stage.server, &first), 0);
    send_request("/quick", MANY);
    assert_int_equal(uvhttp_server_read_latency(stage.server, &second), 0);
    uvhttp_latency_between(&first, &second, &latency);
    assert_true(latency.count == MANY);
    assert_true(latency.max_us >= latency.p999_us && latency.p999_us >= latency.p50_us);
    assert_true(latency.sum_us == second.sum_us - first.sum_us);
    assert_true(latency.below[UVHTTP_LATENCY_BOUNDS - 1] == MANY);
    uvhttp_latency_between(NULL, &second, &latency);
    uvhttp_stats_t current = stats();
    assert_true(latency.count == MANY + 1 && latency.max_us == current.latency.max_us);
    assert_true(latency.p99_us == current.latency.p99_us);
    send_request("/slow", 1);
    assert_int_equal(uvhttp_server_read_latency(stage.server, &third), 0);
    uvhttp_latency_between(&second, &third, &latency);
    assert_true(latency.count == 1);
    assert_true(latency.max_us >= latency.sum_us && latency.p50_us >= BUSY_US * 98 / 100);
    uvhttp_latency_between(&third, &third, &latency);
    assert_true(latency.count == 0 && latency.max_us == 0 && latency.p50_us == 0);
    end();
}

static void latency_includes_time_behind_slow_request(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_send_text(&client, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, 100000, 2), 2);
    stage_iterations(&stage, 2);
    assert_true(stats().latency.count == 2);
    assert_true(stats().latency.sum_us >= 2 * BUSY_US);
    end();
}

static void latency_of_late_response_begins_with_request(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    while (pending == NULL) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    stage_iterations(&stage, 3);
    assert_true(stats().latency.count == 0);
    spin();
    assert_int_equal(uvhttp_response_send_text(pending, 200, "late"), 0);
    pending = NULL;
    assert_int_equal(stage_drive_responses(&stage, &client, 100000, 1), 1);
    assert_true(stats().latency.count == 1);
    assert_true(stats().latency.max_us >= BUSY_US);
    end();
}

static void latency_excludes_aborted_and_invalid_requests(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    while (pending == NULL) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    raw_client_close(&client, true);
    while (pending != NULL)
        stage_iterate(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "nonsense\r\n\r\n");
    stage_drive_to_end(&stage, &client, 10000);
    stage_iterations(&stage, 3);
    assert_true(stats().aborted_exchanges == 1);
    assert_true(stats().parse_errors == 1);
    assert_true(stats().latency.count == 0);
    end();
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
    spin();
}

/* Other code that blocks the shared loop delays the server's clients. */
static void loop_delay_includes_user_callbacks(void **state)
{
    (void)state;
    uv_timer_t timer;
    begin();
    send_request("/quick", 1);
    assert_int_equal(uv_timer_init(&stage.loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, on_timer, 1, 0), 0);
    while (uv_is_active((uv_handle_t *)&timer))
        stage_wait(&stage);
    stage_iterations(&stage, 2);
    assert_true(stats().loop_delay.max_us >= BUSY_US - 5000);
    uv_close((uv_handle_t *)&timer, NULL);
    stage_iterations(&stage, 2);
    end();
}

static void stats_before_listen_are_zero(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage_new_server(&stage);
    uvhttp_stats_t current = stats(), zero = {0};
    assert_memory_equal(&current, &zero, sizeof(current));
    stage_end(&stage);
}

/* Metrics allocate. Without memory the client gets 503 or the end of the connection, and the next
 * request succeeds. */
static void metrics_without_memory_get_503(void **state)
{
    (void)state;
    enum { MAX_ALLOCATIONS = 12 };
    unsigned responses = 0;
    size_t offset;
    struct raw_response response;
    for (size_t n = 1; n <= MAX_ALLOCATIONS; n++) {
        begin();
        fault_heap_arm(&stage.heap, n, false);
        raw_client_send_text(&client, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        offset = 0;
        if (stage_drive_responses(&stage, &client, 100000, 1) == 1) {
            assert_true(raw_client_response(&client, &offset, false, &response));
            assert_true(response.status == 200 || response.status == 503);
            responses += response.status == 200;
        } else {
            assert_true(client.ended);
        }
        fault_heap_arm(&stage.heap, 0, false);
        raw_client_close(&client, false);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&client, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_int_equal(stage_drive_responses(&stage, &client, 100000, 1), 1);
        offset = 0;
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_int_equal(response.status, 200);
        assert_non_null(
            memmem(response.body, response.body_length, "\nuvhttp_requests_total ", 23));
        end();
    }
    assert_true(responses > 0 && responses < MAX_ALLOCATIONS);
}

static void *read_until_done(void *arg)
{
    const struct uvh_loop_stats *loop_stats = &uvh_server_of(stage.server)->workers[0].loop_stats;
    static struct uvh_loop_stats_sum sum;
    uvhttp_stats_t current;
    while (!atomic_load((atomic_bool *)arg)) {
        uvh_loop_stats_sum_clear(&sum);
        uvh_loop_stats_sum_add(&sum, loop_stats);
        uvh_loop_stats_sum_add(&sum, loop_stats);
        uvh_loop_stats_sum_report(&sum, &current);
        if (current.latency.max_us > (uint64_t)1 << 40)
            return arg; /* no such duration was recorded */
    }
    return NULL;
}

/* For ThreadSanitizer: another thread reads the workers' statistics while they count. */
static void loop_stats_readable_by_other_threads(void **state)
{
    (void)state;
    pthread_t reader;
    atomic_bool done = false;
    begin();
    assert_int_equal(pthread_create(&reader, NULL, read_until_done, &done), 0);
    for (int i = 0; i < 20; i++)
        send_request("/quick", 10);
    atomic_store(&done, true);
    void *failed = NULL;
    pthread_join(reader, &failed);
    assert_null(failed);
    assert_true(stats().latency.count == 200);
    end();
}

static void recorded_duration_is_counted_once(void **state)
{
    (void)state;
    struct uvh_loop_stats *loop_stats;
    begin();
    send_request("/quick", 1);
    loop_stats = &uvh_server_of(stage.server)->workers[0].loop_stats;
    uvh_loop_stats_event(loop_stats);
    uint64_t began = loop_stats->began;
    spin();
    uint64_t duration = uvh_loop_stats_since(began);
    assert_true(duration >= BUSY_US);
    assert_true(uvh_loop_stats_since(0) == 0);
    uvh_loop_stats_record(loop_stats, duration);
    assert_true(stats().latency.count == 2);
    stage_iterations(&stage, 2);
    assert_true(stats().latency.count == 2); /* not counted again at the end of the iteration */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_counts_each_response_once),
        cmocka_unit_test(latency_includes_handler_time),
        cmocka_unit_test(latency_of_an_interval_excludes_earlier_requests),
        cmocka_unit_test(latency_includes_time_behind_slow_request),
        cmocka_unit_test(latency_of_late_response_begins_with_request),
        cmocka_unit_test(latency_excludes_aborted_and_invalid_requests),
        cmocka_unit_test(loop_delay_includes_user_callbacks),
        cmocka_unit_test(stats_before_listen_are_zero),
        cmocka_unit_test(metrics_without_memory_get_503),
        cmocka_unit_test(loop_stats_readable_by_other_threads),
        cmocka_unit_test(recorded_duration_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
