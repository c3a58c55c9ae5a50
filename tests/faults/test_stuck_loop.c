/* The watcher of stuck loops with a server: a handler, a middleware and a timer that block a loop
 * until the log has a line about it. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <uv.h>
#include <uvhttp.h>

#include "server/server.h"
#include "support/raw_client.h"
#include "support/stage.h"

enum { LIMIT_MS = 20, LINES = 16 };

static uvhttp_server_t *server;
static struct raw_client client;
static size_t offset;
static bool fails_to_create; /* uv_thread_create */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[LINES][256]; /* of the log, without others */
static atomic_size_t line_count;
static atomic_bool blocks; /* a handler, now */
static atomic_bool stops_blocking;
static atomic_ullong counted; /* stuck_loops, at the first line */

/* Replaces libuv's function. */
int uv_thread_create(uv_thread_t *thread, uv_thread_cb entry, void *arg)
{
    int (*real)(uv_thread_t *, uv_thread_cb, void *);
    *(void **)&real = dlsym(RTLD_NEXT, "uv_thread_create");
    return fails_to_create ? UV_EAGAIN : real(thread, entry, arg);
}

/* False for incidents that the test has not caused: on a slow machine its loop may wait for long
 * until the test runs it again. */
static bool is_expected(uvhttp_log_level_t level, const char *message)
{
    static bool begun; /* the watcher's thread only */
    if (level <= UVHTTP_LOG_ERROR)
        return true;
    bool ends = strstr(message, " runs again after ") != NULL;
    bool expected = ends ? begun : strstr(message, "the loop of") != NULL && atomic_load(&blocks);
    if (expected)
        begun = !ends;
    return expected;
}

/* Also on the watcher's thread. */
static void on_log(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    uvhttp_stats_t stats;
    if (!is_expected(level, message))
        return;
    pthread_mutex_lock(&lock);
    size_t count = atomic_load(&line_count);
    if (count < LINES)
        snprintf(lines[count], sizeof(lines[count]), "%s", message);
    atomic_store(&line_count, count + 1);
    pthread_mutex_unlock(&lock);
    if (count == 0 && uvhttp_server_read_stats(server, &stats) == 0)
        atomic_store(&counted, stats.stuck_loops);
    atomic_store(&stops_blocking, true);
}

static void block(void)
{
    atomic_store(&blocks, true);
    while (!atomic_load(&stops_blocking))
        sched_yield();
    atomic_store(&blocks, false);
}

static int respond_late(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    if (uvhttp_request_worker(request) + 1 == uvhttp_server_worker_count(server))
        block();
    return uvhttp_response_send_text(response, 200, "late");
}

static int take_body(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                     size_t size, void *arg)
{
    (void)data;
    return size > 0 ? 0 : respond_late(request, response, arg);
}

static int read_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return uvhttp_request_on_body(request, take_body, NULL);
}

static int block_if_asked(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    if (uvhttp_request_header(request, "X-Block") != NULL)
        block();
    return UVHTTP_DECLINED;
}

static void block_in_timer(uvhttp_server_t *given, void *arg)
{
    (void)given, (void)arg;
    block();
}

static int begin(uv_loop_t *loop, size_t workers, size_t limit_ms)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = workers;
    config->stuck_loop_ms = limit_ms;
    config->drain_timeout = 0;
    config->log = on_log;
    atomic_store(&line_count, 0);
    atomic_store(&stops_blocking, false);
    atomic_store(&counted, 0);
    server = uvhttp_server_new_with(loop, config);
    uvhttp_config_free(config);
    uvhttp_router_t *router = uvhttp_server_router(server), *host;
    const uvhttp_route_t routes[] = {
        {.pattern = "/late/:id", .handler = respond_late},
        {.method = "POST", .pattern = "/body", .handler = read_body, .flags = UVHTTP_ROUTE_STREAM},
    };
    assert_int_equal(uvhttp_server_use(server, block_if_asked, NULL), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(router, &routes[i]), 0);
    assert_int_equal(uvhttp_router_host(router, "other.example", &host), 0);
    assert_int_equal(uvhttp_router_route(host, "GET", "/late", respond_late, NULL), 0);
    return uvhttp_server_listen(server, "127.0.0.1", 0);
}

static uv_loop_t loop;

static void begin_on_loop(void)
{
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(begin(&loop, 1, LIMIT_MS), 0);
    raw_client_connect(&client, uvhttp_server_port(server), 0);
    offset = 0;
}

static void end_on_loop(void)
{
    raw_client_close(&client, false);
    uvhttp_server_free(server);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void iterate_until(size_t count)
{
    while (atomic_load(&line_count) < count) {
        raw_client_step(&client, 65536);
        uv_run(&loop, UV_RUN_NOWAIT);
        sched_yield();
    }
}

/* The line begins and ends as given; between them is a number. */
static void assert_line(size_t index, const char *first, const char *last)
{
    unsigned long long number = 0;
    char text[256], *end;
    pthread_mutex_lock(&lock);
    snprintf(text, sizeof(text), "%s", lines[index]);
    pthread_mutex_unlock(&lock);
    if (strncmp(text, first, strlen(first)) == 0) {
        number = strtoull(text + strlen(first), &end, 10);
        if (number >= LIMIT_MS && strcmp(end, last) == 0)
            return;
    }
    fail_msg("line %zu is '%s', not '%s N%s'", index, text, first, last);
}

static void assert_incident(const char *request, const char *where)
{
    begin_on_loop();
    raw_client_send_text(&client, request);
    iterate_until(2);
    assert_line(0, "the loop of worker 0 has been stuck for ", where);
    assert_line(1, "the loop of worker 0 runs again after ", " ms");
    assert_true(atomic_load(&counted) >= 1);
    assert_true(uvhttp_server_stats(server)->stuck_loops >= 1);
    assert_null(atomic_load(&uvh_server_of(server)->workers[0].running_route));
    end_on_loop();
    assert_int_equal(atomic_load(&line_count), 2);
}

static void busy_handler_is_logged_with_its_route(void **state)
{
    (void)state;
    assert_incident("GET /late/7 HTTP/1.1\r\nHost: h\r\n\r\n",
                    " ms in the handler of GET /late/:id (stuck_loop_ms)");
    assert_incident("PUT /late/7 HTTP/1.1\r\nHost: h\r\n\r\n",
                    " ms in the handler of PUT /late/:id (stuck_loop_ms)");
    assert_incident("LATE /late/7 HTTP/1.1\r\nHost: h\r\n\r\n",
                    " ms in the handler of other /late/:id (stuck_loop_ms)");
    assert_incident("GET /late HTTP/1.1\r\nHost: other.example\r\n\r\n",
                    " ms in the handler of GET other.example/late (stuck_loop_ms)");
}

static void busy_body_callback_is_logged_with_its_route(void **state)
{
    (void)state;
    assert_incident("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
                    " ms in the handler of POST /body (stuck_loop_ms)");
}

static void busy_middleware_is_logged_with_the_route(void **state)
{
    (void)state;
    assert_incident("POST /body HTTP/1.1\r\nHost: h\r\nX-Block: 1\r\nContent-Length: 1\r\n\r\nx",
                    " ms in the handler of POST /body (stuck_loop_ms)");
    assert_incident("GET /none HTTP/1.1\r\nHost: h\r\nX-Block: 1\r\n\r\n",
                    " ms, the handler is unknown (stuck_loop_ms)");
}

static void busy_timer_is_logged(void **state)
{
    (void)state;
    begin_on_loop();
    assert_int_equal(uvhttp_server_after(server, 1, block_in_timer, NULL, NULL), 0);
    iterate_until(2);
    assert_line(0, "the loop of worker 0 has been stuck for ",
                " ms, the handler is unknown (stuck_loop_ms)");
    end_on_loop();
}

static void each_incident_is_counted(void **state)
{
    (void)state;
    begin_on_loop();
    for (size_t i = 1; i <= 3; i++) {
        atomic_store(&stops_blocking, false);
        raw_client_send_text(&client, "GET /late/7 HTTP/1.1\r\nHost: h\r\n\r\n");
        iterate_until(2 * i);
        assert_true(uvhttp_server_stats(server)->stuck_loops >= i);
    }
    end_on_loop();
}

static void waiting_loop_is_not_busy(void **state)
{
    (void)state;
    begin_on_loop();
    struct uvh_loop_stats *stats = &uvh_server_of(server)->workers[0].loop_stats;
    raw_client_send_text(&client, "GET /none HTTP/1.1\r\nHost: h\r\n\r\n");
    while (client.received == 0) {
        raw_client_step(&client, 65536);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_true(uvh_loop_stats_busy_since(stats) != 0); /* until the loop polls again */
    stats->wait.prepare_cb(&stats->wait);
    assert_true(uvh_loop_stats_busy_since(stats) == 0);
    end_on_loop();
}

static void without_limit_there_is_no_thread(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(begin(&loop, 1, 0), 0);
    assert_false(uvh_server_of(server)->stuck.running);
    raw_client_connect(&client, uvhttp_server_port(server), 0);
    end_on_loop();
}

static void missing_thread_makes_listening_fail(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    fails_to_create = true;
    assert_int_equal(begin(&loop, 1, LIMIT_MS), UV_EAGAIN);
    fails_to_create = false;
    assert_int_equal(atomic_load(&line_count), 1);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_true(uvh_server_of(server)->stuck.running);
    raw_client_connect(&client, uvhttp_server_port(server), 0);
    end_on_loop();
}

static bool fails_to_start(size_t nth)
{
    struct fault_heap heap;
    fault_heap_init(&heap);
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->stuck_loop_ms = LIMIT_MS;
    config->log = on_log;
    config->allocator = &heap.allocator;
    atomic_store(&line_count, 0);
    server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(server);
    fault_heap_arm(&heap, nth, false);
    int err = uvhttp_server_listen(server, "127.0.0.1", 0);
    fault_heap_arm(&heap, 0, false);
    if (err != 0)
        assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_true(uvh_server_of(server)->stuck.running);
    assert_false(uvh_server_of(server)->stuck.ending);
    uvhttp_server_free(server);
    return err != 0;
}

static void failed_start_can_be_repeated(void **state)
{
    (void)state;
    size_t n = 1;
    while (fails_to_start(n))
        n++;
    assert_true(n > 5);
}

static void run(void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_server_run(server), 0);
}

/* Only handlers of the last worker block; connections are spread over both. */
static void stuck_worker_is_named(void **state)
{
    (void)state;
    enum { CLIENTS = 8 };
    struct raw_client clients[CLIENTS];
    uv_thread_t thread;
    assert_int_equal(begin(NULL, 2, LIMIT_MS), 0);
    assert_int_equal(uv_thread_create(&thread, run, NULL), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        raw_client_connect(&clients[i], uvhttp_server_port(server), 0);
        raw_client_send_text(&clients[i], "GET /late/7 HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    while (atomic_load(&line_count) < 2) {
        for (size_t i = 0; i < CLIENTS; i++)
            raw_client_step(&clients[i], 65536);
        sched_yield();
    }
    assert_line(0, "the loop of worker 1 has been stuck for ",
                " ms in the handler of GET /late/:id (stuck_loop_ms)");
    assert_line(1, "the loop of worker 1 runs again after ", " ms");
    uvhttp_server_stop(server);
    uv_thread_join(&thread);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_client_close(&clients[i], false);
    uvhttp_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_handler_is_logged_with_its_route),
        cmocka_unit_test(busy_body_callback_is_logged_with_its_route),
        cmocka_unit_test(busy_middleware_is_logged_with_the_route),
        cmocka_unit_test(busy_timer_is_logged),
        cmocka_unit_test(each_incident_is_counted),
        cmocka_unit_test(waiting_loop_is_not_busy),
        cmocka_unit_test(without_limit_there_is_no_thread),
        cmocka_unit_test(missing_thread_makes_listening_fail),
        cmocka_unit_test(failed_start_can_be_repeated),
        cmocka_unit_test(stuck_worker_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
