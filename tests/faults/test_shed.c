/* The overload guard with a server: which requests are shed, and what they get; a handler that
 * takes too long for the load; and the waiting time of sockets and connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/server.h"
#include "support/stage.h"

enum { BUSY_US = 2000, STEP = 1 << 20 };

static struct stage stage;
static struct raw_client client;
static size_t offset; /* in what the client has received */
static unsigned middleware_runs, handler_runs, callback_runs;

static int count_run(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)response, (void)arg;
    middleware_runs++;
    return UVHTTP_DECLINED;
}

static int send_quick(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    handler_runs++;
    return uvhttp_response_send_text(response, 200, "quick");
}

static int send_slow(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uint64_t end = uv_hrtime() + (uint64_t)BUSY_US * 1000;
    while (uv_hrtime() < end)
        ;
    return send_quick(request, response, arg);
}

static bool is_important(uvhttp_request_t *request, void *arg)
{
    callback_runs++;
    assert_string_equal(arg, "important");
    const char *route = uvhttp_request_route(request);
    return uvhttp_request_header(request, "X-Important") != NULL ||
           (route != NULL && strcmp(route, "/quick/:id") == 0);
}

static void begin(size_t guard)
{
    stage_begin(&stage);
    stage.config->overload_guard = guard;
    stage.config->overload_target_ms = 1;
    stage.config->overload_interval_ms = 10;
    stage_new_server(&stage);
    const uvhttp_route_t routes[] = {
        {.method = "GET", .pattern = "/live", .handler = uvhttp_health_handle_live},
        {.method = "GET", .pattern = "/ready", .handler = uvhttp_health_handle_ready},
        {.method = "GET",
         .pattern = "/metrics",
         .handler = uvhttp_metrics_handle_request,
         .arg = stage.server},
        {.pattern = "/quick", .handler = send_quick},
        {.method = "GET", .pattern = "/quick/:id", .handler = send_quick},
        {.method = "GET", .pattern = "/slow", .handler = send_slow},
        {.pattern = "/never", .handler = send_quick, .flags = UVHTTP_ROUTE_NEVER_SHED},
        {.method = "POST", .pattern = "/body", .handler = send_quick},
    };
    assert_int_equal(uvhttp_server_use(stage.server, count_run, NULL), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &routes[i]), 0);
    assert_int_equal(uvhttp_server_route_status(stage.server, "/status"), 0);
    middleware_runs = handler_runs = callback_runs = 0;
    offset = 0;
}

static void listen_and_connect(void)
{
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static struct uvh_overload *guard(void)
{
    return uvh_server_of(stage.server)->workers[0].overload;
}

/* All requests that may be shed, of the next iterations. */
static void shed_all(void)
{
    uvh_overload_init(guard(), 1, UINT64_MAX, 1);
    guard()->shed_part = UVH_OVERLOAD_ALL;
}

static struct raw_response respond(const char *request)
{
    struct raw_response response;
    raw_client_send_text(&client, request);
    while (!raw_client_response(&client, &offset, false, &response)) {
        raw_client_step(&client, STEP);
        stage_iterate(&stage);
    }
    return response;
}

static int status_of(const char *path)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    return respond(request).status;
}

static uvhttp_stats_t stats(void)
{
    return *uvhttp_server_stats(stage.server);
}

static void shed_request_gets_503_at_once(void **state)
{
    (void)state;
    char value[64];
    begin(1);
    listen_and_connect();
    shed_all();
    struct raw_response response = respond("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(response.status, 503);
    assert_true(raw_response_field(&response, "Retry-After", value, sizeof(value)));
    assert_string_equal(value, "1");
    assert_false(raw_response_field(&response, "Connection", value, sizeof(value)));
    assert_int_equal(status_of("/none"), 503);
    assert_int_equal(middleware_runs, 0);
    assert_int_equal(handler_runs, 0);
    assert_int_equal(stats().shed_requests, 2);
    assert_int_equal(stats().total_requests, 2);
    assert_int_equal(stats().responses_5xx, 2);
    guard()->shed_part = 0;
    assert_int_equal(status_of("/quick"), 200); /* on the same connection */
    assert_int_equal(stats().shed_requests, 2);
    assert_int_equal(stats().total_connections, 1);
    end();
}

static void shed_request_with_body_keeps_the_connection(void **state)
{
    (void)state;
    begin(1);
    listen_and_connect();
    shed_all();
    assert_int_equal(
        respond("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345").status, 503);
    assert_int_equal(respond("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n").status,
                     503);
    guard()->shed_part = 0;
    raw_client_send_text(&client, "12345");
    assert_int_equal(status_of("/quick"), 200);
    end();
}

static void observing_routes_are_never_shed(void **state)
{
    (void)state;
    static const char *const paths[] = {"/live", "/ready", "/metrics", "/status", "/never"};
    begin(1);
    listen_and_connect();
    shed_all();
    for (size_t i = 0; i < UVH_COUNT_OF(paths); i++)
        assert_int_equal(status_of(paths[i]), 200);
    assert_int_equal(middleware_runs, UVH_COUNT_OF(paths));
    assert_int_equal(stats().shed_requests, 0);
    end();
}

static int check_flags(const uvhttp_route_info_t *route, void *arg)
{
    unsigned *exempt = arg;
    *exempt += (route->flags & UVHTTP_ROUTE_NEVER_SHED) != 0;
    return 0;
}

static void observing_routes_have_the_flag(void **state)
{
    (void)state;
    unsigned exempt = 0;
    begin(1);
    assert_int_equal(uvhttp_router_each(uvhttp_server_router(stage.server), check_flags, &exempt),
                     0);
    assert_int_equal(exempt, 5);
    stage_end(&stage);
}

static void callback_exempts_requests(void **state)
{
    (void)state;
    begin(1);
    uvhttp_server_never_shed(stage.server, is_important, "important");
    listen_and_connect();
    assert_int_equal(status_of("/quick"), 200);
    assert_int_equal(callback_runs, 0); /* nothing is shed */
    shed_all();
    assert_int_equal(status_of("/never"), 200);
    assert_int_equal(callback_runs, 0); /* the flag is enough */
    assert_int_equal(status_of("/quick"), 503);
    assert_int_equal(status_of("/quick/1"), 200);
    assert_int_equal(respond("GET /quick HTTP/1.1\r\nHost: h\r\nX-Important: 1\r\n\r\n").status,
                     200);
    assert_int_equal(callback_runs, 3);
    assert_int_equal(stats().shed_requests, 1);
    uvhttp_server_never_shed(stage.server, NULL, NULL); /* too late */
    assert_non_null(strstr(stage.last_error, "uvhttp_server_never_shed"));
    assert_int_equal(status_of("/quick/1"), 200);
    end();
}

static void error_form_applies_to_shed_requests(void **state)
{
    (void)state;
    begin(1);
    uvhttp_server_on_error(stage.server, uvhttp_error_as_json, NULL);
    listen_and_connect();
    shed_all();
    struct raw_response response = respond("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
    static const char expected[] = "{\"error\":\"Service Unavailable\"}\n";
    assert_int_equal(response.status, 503);
    assert_int_equal(response.body_length, sizeof(expected) - 1);
    assert_memory_equal(response.body, expected, sizeof(expected) - 1);
    end();
}

static void without_guard_nothing_is_measured(void **state)
{
    (void)state;
    begin(0);
    listen_and_connect();
    assert_null(guard());
    assert_int_equal(status_of("/quick"), 200);
    assert_false(uvh_server_of(stage.server)->workers[0].conns.poller.measures);
    assert_null(uvh_server_of(stage.server)->workers[0].loop_stats.ended);
    end();
}

/* Pipelined requests queue in an iteration. Another batch is sent before it runs, so the loop is
 * never idle for long; on a slow machine it takes some more rounds. */
static void busy_handler_is_protected(void **state)
{
    (void)state;
    enum { BATCH = 20 };
    struct raw_response response;
    unsigned shed = 0;
    begin(1);
    listen_and_connect();
    while (shed == 0 || stage.warnings_logged == 0) {
        for (unsigned i = 0; i < BATCH; i++)
            raw_client_send_text(&client, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
        for (unsigned i = 0; i < BATCH; i++) {
            while (!raw_client_response(&client, &offset, false, &response)) {
                raw_client_step(&client, STEP);
                stage_iterate(&stage);
            }
            shed += response.status == 503;
        }
    }
    assert_int_equal(stats().shed_requests, shed);
    assert_non_null(strstr(stage.last_warning, "overload: "));
    assert_non_null(strstr(stage.last_warning, "worker 0"));
    end();
}

/* The system's clock for this is coarse. */
static void spin_ms(uint64_t ms)
{
    uint64_t end = uv_hrtime() + ms * 1000000;
    while (uv_hrtime() < end)
        ;
}

/* Connections beyond those that are accepted in one iteration. */
static void waiting_time_before_accept_counts(void **state)
{
    (void)state;
    enum { CLIENTS = 100, WAIT_MS = 60, LEAST_MS = 40 };
    static struct raw_client clients[CLIENTS];
    begin(1);
    stage_listen(&stage);
    struct uvh_worker *worker = &uvh_server_of(stage.server)->workers[0];
    worker->loop_stats.ended = NULL; /* which resets `waited_ms` */
    for (size_t i = 0; i < CLIENTS; i++)
        raw_client_connect(&clients[i], uvhttp_server_port(stage.server), 0);
    spin_ms(WAIT_MS);
    stage_iterate(&stage);
    assert_in_range(worker->conns.count, 1, CLIENTS - 1);
    assert_int_equal(worker->conns.poller.waited_ms, 0); /* maybe they came just now */
    spin_ms(WAIT_MS);
    stage_iterate(&stage);
    assert_true(worker->conns.poller.waited_ms >= LEAST_MS);
    worker->conns.poller.waited_ms = 0;
    struct raw_client late;
    raw_client_connect(&late, uvhttp_server_port(stage.server), 0);
    spin_ms(WAIT_MS);
    stage_iterations(&stage, 2);
    assert_int_equal(worker->conns.count, CLIENTS + 1);
    assert_int_equal(worker->conns.poller.waited_ms, 0);
    raw_client_close(&late, false);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_client_close(&clients[i], false);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shed_request_gets_503_at_once),
        cmocka_unit_test(shed_request_with_body_keeps_the_connection),
        cmocka_unit_test(observing_routes_are_never_shed),
        cmocka_unit_test(observing_routes_have_the_flag),
        cmocka_unit_test(callback_exempts_requests),
        cmocka_unit_test(error_form_applies_to_shed_requests),
        cmocka_unit_test(without_guard_nothing_is_measured),
        cmocka_unit_test(busy_handler_is_protected),
        cmocka_unit_test(waiting_time_before_accept_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
