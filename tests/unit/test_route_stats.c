/* The route of a request, and what is counted and logged by it: with groups, hosts, blocking
 * handlers and requests without a route. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>
#include <uvhttp/metrics.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;
static struct raw_response reply;
static size_t offset;
static char finished[64]; /* the route of the last finished exchange */
static char text[65536];

static int send_route(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *route = uvhttp_request_route(req);
    (void)arg;
    return uvhttp_response_send_text(res, 200, route == NULL ? "none" : route);
}

static int send_500(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_status(res, 500);
}

static void on_finished(uvhttp_request_t *req, uvhttp_response_t *res,
                        const uvhttp_outcome_t *outcome, void *arg)
{
    const char *route = uvhttp_request_route(req);
    (void)res, (void)outcome, (void)arg;
    snprintf(finished, sizeof(finished), "%s", route == NULL ? "none" : route);
}

static void start(size_t route_stats)
{
    uvhttp_router_t *group, *host;
    stage_begin(&stage);
    stage.config->route_stats = route_stats;
    assert_non_null(stage_new_server(&stage));
    uvhttp_router_t *router = uvhttp_server_router(stage.server);
    assert_int_equal(uvhttp_router_group(router, "/api", &group), 0);
    assert_int_equal(uvhttp_router_host(router, "other.example", &host), 0);
    assert_int_equal(uvhttp_router_add_route(group, "/notes/:id", send_route), 0);
    assert_int_equal(uvhttp_router_add_route(host, "/\"quoted\"/:id", send_route), 0);
    assert_int_equal(uvhttp_router_add(router, &(uvhttp_route_t){.method = "GET",
                                                                 .pattern = "/blocking",
                                                                 .handler = send_route,
                                                                 .flags = UVHTTP_ROUTE_BLOCKING}),
                     0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/fail", send_500, NULL), 0);
    uvhttp_server_on_finished(stage.server, on_finished, NULL);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
}

static void finish(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static bool head_requested;

static bool has_reply(void *arg)
{
    (void)arg;
    return raw_client_response(&client, &offset, head_requested, &reply);
}

static const char *request(const char *line, const char *host)
{
    static char body[128];
    char sent[256];
    snprintf(sent, sizeof(sent), "%s HTTP/1.1\r\nHost: %s\r\n\r\n", line, host);
    head_requested = strncmp(line, "HEAD", 4) == 0;
    raw_client_send_text(&client, sent);
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    snprintf(body, sizeof(body), "%.*s", (int)reply.body_length, reply.body);
    return body;
}

static void request_has_pattern_of_its_route(void **state)
{
    (void)state;
    start(0);
    assert_string_equal(request("GET /api/notes/17", "h"), "/api/notes/:id");
    assert_string_equal(finished, "/api/notes/:id");
    assert_string_equal(request("GET /blocking", "h"), "/blocking");
    assert_string_equal(finished, "/blocking");
    assert_string_equal(request("GET /%22quoted%22/1", "other.example"), "/\"quoted\"/:id");
    request("GET /nowhere", "h");
    assert_string_equal(finished, "none");
    request("GET /fail", "h"); /* 405 */
    assert_string_equal(finished, "none");
    request("OPTIONS /fail", "h");
    assert_string_equal(finished, "none");
    request("G@T /api/notes/17", "h"); /* rejected before routing, on memory of the last request */
    assert_int_equal(reply.status, 400);
    assert_string_equal(finished, "none");
    finish();
}

static void assert_line(const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("'%s' is not in\n%s", line, text);
}

static int count_series(const uvhttp_route_stats_t *stats, void *arg)
{
    size_t *count = arg;
    assert_in_range(stats->status_class, 1, 5);
    ++*count;
    return 0;
}

static void exchanges_are_counted_by_route(void **state)
{
    size_t count = 0;
    (void)state;
    start(100);
    for (int id = 0; id < 3; id++)
        request(id == 1 ? "GET /api/notes/1" : "GET /api/notes/2", "h");
    request("HEAD /api/notes/1", "h");
    request("BREW /api/notes/1", "h"); /* an extension method */
    request("GET /blocking", "h");
    request("GET /%22quoted%22/1", "other.example");
    request("POST /fail", "h");
    request("GET /nowhere", "h");
    request("GET /elsewhere", "h");
    size_t length = uvhttp_metrics_write_routes(stage.server, text, sizeof(text));
    assert_int_equal(strlen(text), length);
    assert_line("# TYPE uvhttp_route_duration_seconds summary\n");
#define COUNT "\nuvhttp_route_duration_seconds_count"
    assert_line(COUNT "{route=\"/api/notes/:id\",method=\"GET\",class=\"2xx\"} 3\n");
    assert_line(COUNT "{route=\"/api/notes/:id\",method=\"HEAD\",class=\"2xx\"} 1\n");
    assert_line(COUNT "{route=\"/api/notes/:id\",method=\"other\",class=\"2xx\"} 1\n");
    assert_line(COUNT "{route=\"/blocking\",method=\"GET\",class=\"2xx\"} 1\n");
    assert_line(COUNT "{host=\"other.example\",route=\"/\\\"quoted\\\"/:id\",method=\"GET\","
                      "class=\"2xx\"} 1\n");
    assert_line(COUNT "{route=\"/fail\",method=\"POST\",class=\"5xx\"} 1\n");
    assert_line(COUNT "{route=\"unmatched\",method=\"GET\",class=\"4xx\"} 2\n");
    assert_line("\nuvhttp_route_duration_seconds_sum{route=\"/fail\",method=\"POST\"");
    assert_null(strstr(text, "/notes/1"));
    assert_int_equal(uvhttp_server_each_route_stats(stage.server, count_series, &count), 0);
    assert_int_equal(count, 7);
    char small[16];
    assert_int_equal(uvhttp_metrics_write_routes(stage.server, small, sizeof(small)), length);
    assert_int_equal(strlen(small), sizeof(small) - 1);
    finish();
}

static void routes_beyond_limit_count_as_one(void **state)
{
    (void)state;
    start(1);
    request("GET /api/notes/1", "h");
    request("GET /blocking", "h");
    request("GET /%22quoted%22/1", "other.example");
    uvhttp_metrics_write_routes(stage.server, text, sizeof(text));
    assert_line(COUNT "{route=\"/api/notes/:id\",method=\"GET\",class=\"2xx\"} 1\n");
    assert_line(COUNT "{route=\"others\",method=\"GET\",class=\"2xx\"} 2\n");
    finish();
}

static void nothing_is_counted_by_default(void **state)
{
    size_t count = 0;
    (void)state;
    start(0);
    request("GET /api/notes/1", "h");
    assert_int_equal(uvhttp_metrics_write_routes(stage.server, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(uvhttp_server_each_route_stats(stage.server, count_series, &count), 0);
    assert_int_equal(count, 0);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_has_pattern_of_its_route),
        cmocka_unit_test(exchanges_are_counted_by_route),
        cmocka_unit_test(routes_beyond_limit_count_as_one),
        cmocka_unit_test(nothing_is_counted_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
