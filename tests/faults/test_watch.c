/* Durations of exchanges and loop turns as uvhttp_server_stats tells them: what is counted, what is
 * not, and that time which a handler or somebody else on the loop takes is found again in them. */
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
static uvhttp_response_t *kept;

static void be_busy(void)
{
    uint64_t end = uv_hrtime() + (uint64_t)BUSY_US * 1000;
    while (uv_hrtime() < end)
        ;
}

static int quick(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "quick");
}

static int slow(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    be_busy();
    return quick(request, response, arg);
}

static void forget(uvhttp_response_t *response, void *arg)
{
    (void)response;
    (void)arg;
    kept = NULL;
}

static int keep(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    kept = response;
    uvhttp_response_on_abort(response, forget, NULL);
    return 0;
}

static void begin(void)
{
    stage_begin(&stage);
    stage_new_server(&stage);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/metrics",
                                         uvhttp_metrics_handle_request, stage.server),
                     0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/quick", quick, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/slow", slow, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/keep", keep, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void ask(const char *path, size_t times)
{
    char request[128];
    size_t before = 0;
    struct raw_response answer;
    for (size_t offset = 0; raw_client_response(&client, &offset, false, &answer);)
        before++;
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    for (size_t i = 0; i < times; i++)
        raw_client_send_text(&client, request);
    assert_int_equal(stage_drive_responses(&stage, &client, 100000, before + times),
                     before + times);
    stage_iterations(&stage, 2); /* the turn of the last answer is over */
}

static uvhttp_stats_t stats(void)
{
    return *uvhttp_server_stats(stage.server);
}

static void every_answered_request_is_counted_once(void **state)
{
    (void)state;
    begin();
    ask("/quick", 1);
    ask("/none", 1);
    ask("/quick", MANY); /* pipelined */
    uvhttp_stats_t found = stats();
    assert_true(found.latency.count == MANY + 2);
    assert_true(found.latency.count == found.total_requests);
    assert_true(found.latency.sum_us >= found.latency.max_us);
    assert_true(found.latency.p50_us <= found.latency.p90_us);
    assert_true(found.latency.p90_us <= found.latency.p99_us);
    assert_true(found.latency.p99_us <= found.latency.p999_us);
    assert_true(found.latency.p999_us <= found.latency.max_us);
    for (unsigned i = 1; i < UVHTTP_LATENCY_BOUNDS; i++)
        assert_true(found.latency.below[i] >= found.latency.below[i - 1]);
    assert_true(found.latency.below[UVHTTP_LATENCY_BOUNDS - 1] == MANY + 2);
    assert_true(found.loop_delay.count > 0);
    end();
}

static void what_a_handler_takes_is_found_again(void **state)
{
    (void)state;
    begin();
    ask("/quick", MANY);
    uvhttp_stats_t before = stats();
    ask("/slow", 1);
    uvhttp_stats_t after = stats();
    assert_true(after.latency.max_us >= BUSY_US);
    assert_true(after.latency.sum_us - before.latency.sum_us >= BUSY_US);
    assert_true(after.loop_delay.max_us >= BUSY_US);
    assert_true(after.loop_busy_us - before.loop_busy_us >= BUSY_US);
    assert_true(after.loop_time_us - before.loop_time_us >=
                after.loop_busy_us - before.loop_busy_us);
    /* 16 ms is the bound below, and no bound counts it that is smaller. */
    assert_true(after.latency.below[8] - before.latency.below[8] == 0);
    assert_true(after.latency.count - before.latency.count == 1);
    end();
}

/* A request in the turn of another one waits for it, and is given its time. */
static void a_quick_request_behind_a_slow_one_waits_too(void **state)
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

static void an_answer_that_comes_later_counts_from_its_request_on(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    while (kept == NULL) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    stage_iterations(&stage, 3);
    assert_true(stats().latency.count == 0);
    be_busy();
    assert_int_equal(uvhttp_response_send_text(kept, 200, "late"), 0);
    kept = NULL;
    assert_int_equal(stage_drive_responses(&stage, &client, 100000, 1), 1);
    assert_true(stats().latency.count == 1);
    assert_true(stats().latency.max_us >= BUSY_US);
    end();
}

static void clients_that_leave_and_refused_requests_are_not_counted(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    while (kept == NULL) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    raw_client_close(&client, true);
    while (kept != NULL)
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
    be_busy();
}

/* Who shares the caller's loop and holds it makes our clients wait as well. */
static void others_on_the_loop_are_seen(void **state)
{
    (void)state;
    uv_timer_t timer;
    begin();
    ask("/quick", 1);
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

static void before_listening_everything_is_zero(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage_new_server(&stage);
    uvhttp_stats_t found = stats(), zero = {0};
    assert_memory_equal(&found, &zero, sizeof(found));
    stage_end(&stage);
}

/* Metrics need a piece of memory: without it the client gets 503 or a closed connection, and the
 * next one is served. */
static void metrics_without_memory_are_refused(void **state)
{
    (void)state;
    enum { MOST_CALLS = 12 };
    unsigned answered = 0;
    size_t offset;
    struct raw_response answer;
    for (size_t n = 1; n <= MOST_CALLS; n++) {
        begin();
        fault_heap_arm(&stage.heap, n, false);
        raw_client_send_text(&client, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        offset = 0;
        if (stage_drive_responses(&stage, &client, 100000, 1) == 1) {
            assert_true(raw_client_response(&client, &offset, false, &answer));
            assert_true(answer.status == 200 || answer.status == 503);
            answered += answer.status == 200;
        } else {
            assert_true(client.ended);
        }
        fault_heap_arm(&stage.heap, 0, false);
        raw_client_close(&client, false);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&client, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_int_equal(stage_drive_responses(&stage, &client, 100000, 1), 1);
        offset = 0;
        assert_true(raw_client_response(&client, &offset, false, &answer));
        assert_int_equal(answer.status, 200);
        assert_non_null(memmem(answer.body, answer.body_length, "\nuvhttp_requests_total ", 23));
        end();
    }
    assert_true(answered > 0 && answered < MOST_CALLS);
}

static void *read_on(void *arg)
{
    const struct uvh_loop_stats *loop_stats = &uvh_server_of(stage.server)->workers[0].loop_stats;
    static struct uvh_loop_stats_sum sum;
    uvhttp_stats_t found;
    while (!atomic_load((atomic_bool *)arg)) {
        uvh_loop_stats_sum_clear(&sum);
        uvh_loop_stats_sum_add(&sum, loop_stats);
        uvh_loop_stats_sum_add(&sum, loop_stats);
        uvh_loop_stats_sum_report(&sum, &found);
        if (found.latency.max_us > (uint64_t)1 << 40)
            return arg; /* no such thing was recorded */
    }
    return NULL;
}

/* For ThreadSanitizer: workers are read by another thread while they count. */
static void others_may_read_meanwhile(void **state)
{
    (void)state;
    pthread_t reader;
    atomic_bool done = false;
    begin();
    assert_int_equal(pthread_create(&reader, NULL, read_on, &done), 0);
    for (int i = 0; i < 20; i++)
        ask("/quick", 10);
    atomic_store(&done, true);
    void *failed = NULL;
    pthread_join(reader, &failed);
    assert_null(failed);
    assert_true(stats().latency.count == 200);
    end();
}

static void a_duration_can_be_had_at_once(void **state)
{
    (void)state;
    struct uvh_loop_stats *loop_stats;
    begin();
    ask("/quick", 1);
    loop_stats = &uvh_server_of(stage.server)->workers[0].loop_stats;
    uvh_loop_stats_event(loop_stats);
    uint64_t began = loop_stats->began;
    be_busy();
    uint64_t duration = uvh_loop_stats_since(began);
    assert_true(duration >= BUSY_US);
    assert_true(uvh_loop_stats_since(0) == 0);
    uvh_loop_stats_record(loop_stats, duration);
    assert_true(stats().latency.count == 2);
    stage_iterations(&stage, 2);
    assert_true(stats().latency.count == 2); /* not a second time at the turn's end */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answered_request_is_counted_once),
        cmocka_unit_test(what_a_handler_takes_is_found_again),
        cmocka_unit_test(a_quick_request_behind_a_slow_one_waits_too),
        cmocka_unit_test(an_answer_that_comes_later_counts_from_its_request_on),
        cmocka_unit_test(clients_that_leave_and_refused_requests_are_not_counted),
        cmocka_unit_test(others_on_the_loop_are_seen),
        cmocka_unit_test(before_listening_everything_is_zero),
        cmocka_unit_test(metrics_without_memory_are_refused),
        cmocka_unit_test(others_may_read_meanwhile),
        cmocka_unit_test(a_duration_can_be_had_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
