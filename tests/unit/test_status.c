/* The status page: its numbers as text, its page and JSON, and what a site may not change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "observe/status_json.h"
#include "observe/status_sample.h"
#include "observe/status_text.h"

enum { MAX = 1048576 };

/* ---- numbers ---- */

typedef void (*write_cb)(struct uvh_bytes *page, uint64_t value);

static void assert_text(write_cb write, uint64_t value, const char *expected)
{
    struct uvh_bytes page;
    uvh_bytes_init(&page, uvh_alloc_default(), MAX);
    write(&page, value);
    uvh_bytes_append(&page, "", 1);
    assert_string_equal(page.data, expected);
    uvh_bytes_release(&page);
}

static void numbers_are_readable(void **state)
{
    (void)state;
    static const struct {
        write_cb write;
        uint64_t value;
        const char *text;
    } rows[] = {
        {uvh_status_text_count, 0, "0"},
        {uvh_status_text_count, 999, "999"},
        {uvh_status_text_count, 1000, "1,000"},
        {uvh_status_text_count, UINT64_MAX, "18,446,744,073,709,551,615"},
        {uvh_status_text_rate, 0, "0"},
        {uvh_status_text_rate, 49, "0"},
        {uvh_status_text_rate, 50, "0.1"},
        {uvh_status_text_rate, 9949, "9.9"},
        {uvh_status_text_rate, 9950, "10"},
        {uvh_status_text_rate, 1234567, "1,235"},
        {uvh_status_text_size, 0, "0 B"},
        {uvh_status_text_size, 999, "999 B"},
        {uvh_status_text_size, 1000, "1.0 kB"},
        {uvh_status_text_size, 999499, "999 kB"},
        {uvh_status_text_size, 999500, "1.0 MB"},
        {uvh_status_text_size, 1234567890, "1.2 GB"},
        {uvh_status_text_size, UINT64_MAX, "18 EB"},
        {uvh_status_text_duration, 0, "0 µs"},
        {uvh_status_text_duration, 999, "999 µs"},
        {uvh_status_text_duration, 1240, "1.2 ms"},
        {uvh_status_text_duration, 999499, "999 ms"},
        {uvh_status_text_duration, 999500, "1.0 s"},
        {uvh_status_text_duration, 90000000, "90 s"},
        {uvh_status_text_share, 0, "0.0 %"},
        {uvh_status_text_share, 123, "12.3 %"},
        {uvh_status_text_share, 1000, "100.0 %"},
        {uvh_status_text_time, 0, "0 s"},
        {uvh_status_text_time, 59, "59 s"},
        {uvh_status_text_time, 3599, "59 min"},
        {uvh_status_text_time, 3600, "1 h 0 min"},
        {uvh_status_text_time, 86400 * 40 + 3 * 3600, "40 d 3 h"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_text(rows[i].write, rows[i].value, rows[i].text);
}

/* ---- the difference of samples ---- */

static void rates_are_of_the_interval(void **state)
{
    (void)state;
    static struct uvh_status_sample before, after;
    static struct uvh_status_history history;
    struct uvh_status_view view = {.before = &before, .after = &after, .history = &history};
    before.at_us = 1000000;
    after.at_us = 6000000;
    assert_true(uvh_status_interval_us(&view) == 5000000);
    assert_true(uvh_status_rate(&view, 100, 150) == 10000);
    assert_true(uvh_status_rate(&view, 150, 100) == 0);
    before.at_us = 0; /* since the start */
    after.stats.started_ms = 5000;
    after.unix_ms = 7000;
    assert_true(uvh_status_rate(&view, 0, 50) == 25000);
    after.unix_ms = 4000; /* the clock was set */
    assert_true(uvh_status_interval_us(&view) == 1);
    assert_true(uvh_status_share(1, 3) == 333 && uvh_status_share(2, 3) == 667);
    assert_true(uvh_status_share(1, 0) == 0);
}

static void json_has_shed_requests_and_stuck_loops(void **state)
{
    (void)state;
    static struct uvh_status_sample before, after;
    static struct uvh_status_history history;
    struct uvh_status_view view = {.before = &before, .after = &after, .history = &history};
    struct uvh_bytes json;
    after.at_us = 1000000;
    after.stats.shed_requests = 7;
    after.stats.stuck_loops = 3;
    uvh_bytes_init(&json, uvh_alloc_default(), MAX);
    uvh_status_json_append(&json, &view);
    assert_int_equal(uvh_bytes_append(&json, "", 1), 0);
    assert_non_null(strstr(json.data, "\"shed_requests\":7"));
    assert_non_null(strstr(json.data, "\"stuck_loops\":3"));
    uvh_bytes_release(&json);
}

static void history_keeps_the_last_values(void **state)
{
    (void)state;
    static struct uvh_status_sample before, after;
    static struct uvh_status_history history;
    struct uvh_status_view view = {.before = &before, .after = &after, .history = &history};
    before.at_us = 1;
    after.at_us = 1000001;
    for (size_t i = 1; i <= UVH_STATUS_HISTORY + 5; i++) {
        after.stats.total_requests = i;
        after.stats.active_connections = i;
        uvh_status_history_add(&history, &view);
        assert_true(history.count == (i < UVH_STATUS_HISTORY ? i : UVH_STATUS_HISTORY));
        assert_true(history.values[UVH_STATUS_REQUESTS][history.count - 1] == i * 1000);
    }
    assert_true(history.values[UVH_STATUS_CONNECTIONS][0] == 6);
}

/* ---- responses ---- */

static uvhttp_server_t *server;

static int send_ok(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_status(response, 204);
}

static int send_500(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_status(response, 500);
}

static int set_policy(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    int err = uvhttp_response_set_header(response, "Content-Security-Policy", "default-src 'self'");
    return err != 0 ? err : UVHTTP_DECLINED;
}

static uvhttp_test_response_t *request_by(const char *method, const char *target)
{
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t request = {.method = method, .target = target};
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    return response;
}

static uvhttp_test_response_t *get(const char *target)
{
    return request_by("GET", target);
}

static void request(const char *target, int status)
{
    uvhttp_test_response_t *response = get(target);
    assert_int_equal(response->status, status);
    uvhttp_test_response_free(response);
}

static void begin(size_t route_stats)
{
    char routes[16];
    server = uvhttp_server_new(NULL);
    snprintf(routes, sizeof(routes), "%zu", route_stats);
    assert_int_equal(uvhttp_server_set(server, "route_stats", routes), 0);
    assert_int_equal(uvhttp_server_use(server, set_policy, NULL), 0);
    assert_int_equal(uvhttp_server_route_status(server, "/status"), 0);
}

static void page_allows_only_its_own_script(void **state)
{
    (void)state;
    char script[96];
    const char *nonce;
    begin(0);
    uvhttp_test_response_t *page = get("/status"), *again = get("/status");
    const char *policy = uvhttp_test_response_header(page, "Content-Security-Policy");
    assert_int_equal(page->status, 200);
    assert_string_equal(uvhttp_test_response_header(page, "Cache-Control"), "no-store");
    assert_string_equal(uvhttp_test_response_header(page, "Content-Type"),
                        "text/html; charset=utf-8");
    assert_non_null(strstr(policy, "default-src 'none'; script-src 'nonce-"));
    assert_null(strstr(policy, "unsafe"));
    nonce = strstr(policy, "'nonce-") + 7;
    snprintf(script, sizeof(script), "<script nonce=\"%.32s\">", nonce);
    assert_non_null(strstr(page->body, script));
    assert_null(strstr(again->body, script));
    assert_null(strstr(page->body, "style=\"")); /* the policy forbids it */
    assert_null(strstr(page->body, "http://"));
    assert_non_null(strstr(page->body, "Set <code>route_stats</code>"));
    uvhttp_test_response_free(page);
    uvhttp_test_response_free(again);
    uvhttp_server_free(server);
}

static void json_has_the_counters(void **state)
{
    (void)state;
    begin(0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/ok", send_ok, NULL), 0);
    for (int i = 0; i < 3; i++)
        request("/ok", 204);
    request("/none", 404);
    uvhttp_test_response_t *json = get("/status?format=json");
    assert_string_equal(uvhttp_test_response_header(json, "Content-Type"), "application/json");
    assert_non_null(strstr(json->body, "\"requests\":{\"total\":5,"));
    assert_non_null(strstr(json->body, "\"2xx\":{\"total\":3,"));
    assert_non_null(strstr(json->body, "\"4xx\":{\"total\":1,"));
    assert_non_null(strstr(json->body, "\"total\":{\"count\":4,"));
    assert_non_null(strstr(json->body, "\"routes\":[]}\n"));
    uvhttp_test_response_free(json);
    request("/status?format=xml", 400);
    request("/status?format=", 400);
    uvhttp_server_free(server);
}

static void routes_with_the_same_beginning_are_counted_apart(void **state)
{
    (void)state;
    char pattern[160];
    struct uvh_status_sample *before = calloc(1, uvh_status_sample_size(0));
    struct uvh_status_sample *after = calloc(1, uvh_status_sample_size(0));
    const struct uvh_status_view view = {.before = before, .after = after};
    assert_true(before != NULL && after != NULL);
    begin(100);
    for (int i = 0; i < 11; i++) {
        snprintf(pattern, sizeof(pattern), "/%0140d", i % 2);
        if (i < 2)
            assert_int_equal(uvhttp_server_route(server, "GET", pattern, send_ok, NULL), 0);
        else if (i % 2 == 0 || i < 8)
            request(pattern, 204);
    }
    uvh_status_sample_take(before, server, 0);
    uvh_status_sample_take(after, server, 0);
    assert_int_equal(after->route_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(uvh_status_route_before(&view, &after->routes[i]), i == 0 ? 5 : 3);
    uvhttp_server_free(server);
    free(before);
    free(after);
}

static void methods_of_a_route_are_counted_apart(void **state)
{
    (void)state;
    struct uvh_status_sample *before = calloc(1, uvh_status_sample_size(0));
    struct uvh_status_sample *after = calloc(1, uvh_status_sample_size(0));
    const struct uvh_status_view view = {.before = before, .after = after};
    assert_true(before != NULL && after != NULL);
    begin(100);
    assert_int_equal(uvhttp_server_route(server, NULL, "/x", send_ok, NULL), 0);
    request("/x", 204);
    request("/x", 204);
    uvhttp_test_response_free(request_by("POST", "/x"));
    uvh_status_sample_take(before, server, 0);
    request("/x", 204);
    uvhttp_test_response_free(request_by("POST", "/x"));
    uvh_status_sample_take(after, server, 0);
    assert_int_equal(after->route_count, 2);
    assert_string_equal(after->routes[0].method, "GET");
    assert_int_equal(uvh_status_route_before(&view, &after->routes[0]), 2);
    assert_string_equal(after->routes[1].method, "POST");
    assert_int_equal(uvh_status_route_before(&view, &after->routes[1]), 1);
    uvhttp_server_free(server);
    free(before);
    free(after);
}

/* Those with the most requests, whose names come from the program. */
static void routes_are_the_ten_with_most_requests(void **state)
{
    (void)state;
    char pattern[64], name[64];
    const char *at;
    begin(100);
    assert_int_equal(uvhttp_server_route(server, "GET", "/fail", send_500, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/a\"&'", send_ok, NULL), 0);
    for (int i = 1; i <= 12; i++) {
        snprintf(pattern, sizeof(pattern), "/route-%d", i);
        assert_int_equal(uvhttp_server_route(server, "GET", pattern, send_ok, NULL), 0);
    }
    for (int i = 0; i < 20; i++)
        request("/fail", 500);
    for (int i = 0; i < 15; i++)
        request("/a%22&'", 204);
    for (int i = 1; i <= 12; i++) {
        snprintf(pattern, sizeof(pattern), "/route-%d", i);
        for (int k = 0; k < i; k++)
            request(pattern, 204);
    }
    uvhttp_test_response_t *page = get("/status"), *json = get("/status?format=json");
    at = strstr(page->body, "<tr><th>GET /fail</th>");
    assert_non_null(at);
    at = strstr(at, "<tr><th>GET /a&quot;&amp;&#39;</th>");
    assert_non_null(at);
    for (int i = 12; i > 4; i--) {
        snprintf(name, sizeof(name), "<tr><th>GET /route-%d</th>", i);
        at = strstr(at, name);
        assert_non_null(at);
    }
    assert_null(strstr(page->body, "/route-4<"));
    assert_non_null(strstr(page->body, "<td class=\"bad\"><data value=\"20\">20</data>"));
    assert_non_null(strstr(
        json->body, "{\"route\":\"/a\\\"&'\",\"method\":\"GET\",\"requests\":{\"total\":15,"));
    assert_non_null(strstr(json->body, "\"responses_5xx\":20}"));
    uvhttp_test_response_free(page);
    uvhttp_test_response_free(json);
    uvhttp_server_free(server);
}

static void events_begin_with_the_current_values(void **state)
{
    (void)state;
    static const char first[] = "retry: 1000\ndata: <main>\n";
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t wanted = {.target = "/status?format=events",
                                          .stop_after = sizeof(first) - 1};
    begin(0);
    assert_int_equal(uvhttp_test_request(server, &wanted, &response), 0);
    assert_string_equal(uvhttp_test_response_header(response, "Content-Type"), "text/event-stream");
    assert_memory_equal(response->body, first, sizeof(first) - 1);
    uvhttp_test_response_free(response);
    uvhttp_server_free(server);
}

static void object_may_be_freed_before_the_server(void **state)
{
    (void)state;
    uvhttp_status_page_t *status;
    server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_status_page_new(&status, server), 0);
    uvhttp_status_page_free(status);
    assert_int_equal(uvhttp_server_route_status(server, "no slash"), UVHTTP_EROUTE);
    assert_non_null(strstr(uvhttp_server_error(server)->text, "no slash"));
    uvhttp_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(rates_are_of_the_interval),
        cmocka_unit_test(json_has_shed_requests_and_stuck_loops),
        cmocka_unit_test(history_keeps_the_last_values),
        cmocka_unit_test(page_allows_only_its_own_script),
        cmocka_unit_test(json_has_the_counters),
        cmocka_unit_test(routes_with_the_same_beginning_are_counted_apart),
        cmocka_unit_test(methods_of_a_route_are_counted_apart),
        cmocka_unit_test(routes_are_the_ten_with_most_requests),
        cmocka_unit_test(events_begin_with_the_current_values),
        cmocka_unit_test(object_may_be_freed_before_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
