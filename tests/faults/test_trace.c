/* W3C Trace Context: which traceparent is taken on, and what is passed on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

#include "base/compiler.h"
#include "support/stage.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define VALID  "traceparent: 00-" TRACE "-" PARENT "-01"

static uvhttp_server_t *server;
static uvhttp_trace_t seen;
static char state_seen[256], parent_seen[UVHTTP_TRACEPARENT_SIZE];

static int see(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const uvhttp_trace_t *trace = uvhttp_request_trace(request);
    assert_non_null(trace);
    assert_ptr_equal(uvhttp_request_trace(request), trace);
    seen = *trace;
    snprintf(state_seen, sizeof(state_seen), "%s", trace->state);
    uvhttp_trace_write_parent(trace, parent_seen);
    return uvhttp_response_send_status(response, 204);
}

static int begin(void **state)
{
    (void)state;
    server = uvhttp_server_new(NULL);
    return uvhttp_server_route(server, "GET", "/", see, NULL);
}

static int end(void **state)
{
    (void)state;
    uvhttp_server_free(server);
    return 0;
}

static void request(const char *const *fields, size_t count)
{
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t wanted = {.headers = fields, .header_count = count};
    assert_int_equal(uvhttp_test_request(server, &wanted, &response), 0);
    assert_int_equal(response->status, 204);
    uvhttp_test_response_free(response);
}

static void assert_new_trace(void)
{
    assert_int_equal(strlen(seen.trace_id), 32);
    assert_string_not_equal(seen.trace_id, TRACE);
    assert_string_equal(seen.parent_id, "");
    assert_string_equal(state_seen, "");
    assert_false(seen.sampled);
}

static void trace_of_the_caller_is_taken_on(void **state)
{
    (void)state;
    static const char *const fields[] = {VALID, "tracestate: a=1,b=2", "Tracestate: c=3",
                                         "tracestate:"};
    char expected[UVHTTP_TRACEPARENT_SIZE];
    request(fields, UVH_COUNT_OF(fields));
    assert_string_equal(seen.trace_id, TRACE);
    assert_string_equal(seen.parent_id, PARENT);
    assert_int_equal(strlen(seen.span_id), 16);
    assert_string_not_equal(seen.span_id, PARENT);
    assert_true(seen.sampled);
    assert_string_equal(state_seen, "a=1,b=2,c=3");
    snprintf(expected, sizeof(expected), "00-" TRACE "-%s-01", seen.span_id);
    assert_string_equal(parent_seen, expected);
}

static void flags_and_later_versions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        bool sampled;
    } rows[] = {
        {"traceparent: 00-" TRACE "-" PARENT "-00", false},
        {"traceparent: 00-" TRACE "-" PARENT "-02", false},
        {"traceparent: 00-" TRACE "-" PARENT "-ff", true},
        {"traceparent: 01-" TRACE "-" PARENT "-01", true},
        {"traceparent: cc-" TRACE "-" PARENT "-01-more", true},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        request(&rows[i].field, 1);
        assert_string_equal(seen.trace_id, TRACE);
        assert_int_equal(seen.sampled, rows[i].sampled);
    }
}

static void invalid_traceparent_begins_a_trace(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "traceparent:",
        "traceparent: 00-" TRACE "-" PARENT,
        "traceparent: 00-" TRACE "-" PARENT "-0",
        "traceparent: 00-" TRACE "-" PARENT "-0g",
        "traceparent: 00-" TRACE "-" PARENT "-01-more",
        "traceparent: 01-" TRACE "-" PARENT "-01more",
        "traceparent: ff-" TRACE "-" PARENT "-01",
        "traceparent: 0G-" TRACE "-" PARENT "-01",
        "traceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "traceparent: 00-00000000000000000000000000000000-" PARENT "-01",
        "traceparent: 00-" TRACE "-0000000000000000-01",
        "traceparent: 00_" TRACE "-" PARENT "-01",
        "traceparent: 00-" TRACE "_" PARENT "-01",
        "traceparent: 00-" TRACE "-" PARENT "_01",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        const char *const fields[] = {rows[i], "tracestate: a=1"};
        request(fields, 2);
        assert_new_trace();
    }
    const char *const two[] = {VALID, VALID};
    request(two, 2);
    assert_new_trace();
}

static void new_traces_differ(void **state)
{
    (void)state;
    char before[UVHTTP_TRACE_ID_SIZE];
    request(NULL, 0);
    assert_new_trace();
    memcpy(before, seen.trace_id, sizeof(before));
    request(NULL, 0);
    assert_string_not_equal(seen.trace_id, before);
    assert_string_not_equal(seen.trace_id, "00000000000000000000000000000000");
}

/* The number of exemplars, each of which is that trace. */
static size_t count_exemplars(const char *trace_id)
{
    uvhttp_exemplar_t exemplars[UVHTTP_EXEMPLARS];
    uvhttp_stats_t stats;
    size_t count = 0;
    assert_int_equal(uvhttp_server_read_stats(server, &stats), 0);
    assert_int_equal(uvhttp_server_read_exemplars(server, exemplars), 0);
    for (size_t i = 0; i < UVHTTP_EXEMPLARS; i++) {
        if (exemplars[i].trace_id[0] == '\0')
            continue;
        assert_string_equal(exemplars[i].trace_id, trace_id);
        uint64_t end = i < UVHTTP_LATENCY_BOUNDS ? stats.latency.below[i] : stats.latency.count;
        assert_true(end > (i == 0 ? 0 : stats.latency.below[i - 1]));
        assert_true(exemplars[i].duration_us < (uint64_t)64 << i);
        assert_true(i == 0 || exemplars[i].duration_us >= (uint64_t)32 << i);
        assert_true(exemplars[i].unix_ms > 0);
        count++;
    }
    return count;
}

static void evaluate_when_finished(uvhttp_request_t *request, uvhttp_response_t *response,
                                   const uvhttp_outcome_t *outcome, void *arg)
{
    (void)response, (void)outcome, (void)arg;
    assert_non_null(uvhttp_request_trace(request));
}

static int set_own(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    (void)arg;
    assert_int_equal(uvhttp_request_set_exemplar(request, ""), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_request_set_exemplar(request, longest), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_request_set_exemplar(request, longest + 1), 0);
    assert_int_equal(uvhttp_request_set_exemplar(request, "own \"id\""), 0);
    return uvhttp_response_send_status(response, 204);
}

static void sampled_trace_is_an_exemplar(void **state)
{
    (void)state;
    static const char *const fields[] = {VALID},
                             *const not_sampled[] = {
                                 "traceparent: 00-5bf92f3577b34da6a3ce929d0e0e4736-" PARENT "-00"};
    static char text[65536];
    request(NULL, 0);
    request(not_sampled, 1);
    assert_int_equal(count_exemplars(""), 0);
    request(fields, 1);
    assert_int_equal(count_exemplars(TRACE), 1);
    assert_true(uvhttp_metrics_write_server(server, UVHTTP_METRICS_OPENMETRICS, text,
                                            sizeof(text)) < sizeof(text));
    assert_non_null(strstr(text, " # {trace_id=\"" TRACE "\"} 0."));
    uvhttp_metrics_write_server(server, UVHTTP_METRICS_TEXT, text, sizeof(text));
    assert_null(strstr(text, TRACE));
}

static void trace_of_an_access_log_is_an_exemplar(void **state)
{
    (void)state;
    static const char *const fields[] = {VALID};
    uvhttp_server_on_finished(server, evaluate_when_finished, NULL);
    request(fields, 1);
    assert_int_equal(count_exemplars(TRACE), 1);
}

static void own_tracing_sets_an_exemplar(void **state)
{
    (void)state;
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t wanted = {.target = "/own"};
    assert_int_equal(uvhttp_server_route(server, "GET", "/own", set_own, NULL), 0);
    assert_int_equal(uvhttp_test_request(server, &wanted, &response), 0);
    uvhttp_test_response_free(response);
    assert_int_equal(count_exemplars("own \"id\""), 1);
}

static void note_whether_new(uvhttp_request_t *request, uvhttp_response_t *response,
                             const uvhttp_outcome_t *outcome, void *arg)
{
    (void)response, (void)outcome;
    const uvhttp_trace_t *trace = uvhttp_request_trace(request);
    size_t *count = arg;
    if (trace != NULL && strlen(trace->trace_id) == 32 && trace->parent_id[0] == '\0')
        ++*count;
}

static void malformed_request_has_a_new_trace(void **state)
{
    (void)state;
    static const char *const requests[] = {"x\r\n\r\n", "GET / HTTP/1.1\r\n" VALID "\r\n\r\n",
                                           "GET /%zz HTTP/1.1\r\nHost: h\r\n" VALID "\r\n\r\n"};
    for (size_t i = 0; i < UVH_COUNT_OF(requests); i++) {
        struct stage stage;
        struct raw_client client;
        size_t count = 0;
        stage_begin(&stage);
        assert_non_null(stage_new_server(&stage));
        uvhttp_server_on_finished(stage.server, note_whether_new, &count);
        stage_listen(&stage);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&client, requests[i]);
        stage_drive_to_end(&stage, &client, 1000);
        assert_memory_equal(client.data, "HTTP/1.1 400", 12);
        assert_int_equal(count, 1);
        raw_client_close(&client, false);
        stage_end(&stage);
    }
}

static char logged[UVHTTP_TRACE_ID_SIZE], logged_span[UVHTTP_SPAN_ID_SIZE];

static void note_trace(uvhttp_request_t *request, uvhttp_response_t *response,
                       const uvhttp_outcome_t *outcome, void *arg)
{
    (void)response, (void)outcome, (void)arg;
    const uvhttp_trace_t *trace = uvhttp_request_trace(request);
    snprintf(logged, sizeof(logged), "%s", trace->trace_id);
    snprintf(logged_span, sizeof(logged_span), "%s", trace->span_id);
}

static int stream_own(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_request_set_exemplar(request, "own \"id\""), 0);
    assert_int_equal(uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN), 0);
    return uvhttp_response_end(response);
}

static void request_blocking(const char *target, uvhttp_handler_cb handler)
{
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t wanted = {.target = target};
    const uvhttp_route_t route = {
        .pattern = target, .handler = handler, .flags = UVHTTP_ROUTE_BLOCKING};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(server), &route), 0);
    assert_int_equal(uvhttp_test_request(server, &wanted, &response), 0);
    assert_true(response->status < 300);
    uvhttp_test_response_free(response);
}

static void blocking_handler_has_the_trace_of_the_access_log(void **state)
{
    (void)state;
    uvhttp_server_on_finished(server, note_trace, NULL);
    request_blocking("/blocking", see);
    assert_string_equal(logged, seen.trace_id);
    assert_string_equal(logged_span, seen.span_id);
}

static void blocking_handler_sets_an_exemplar(void **state)
{
    (void)state;
    request_blocking("/blocking", set_own);
    assert_int_equal(count_exemplars("own \"id\""), 1);
}

static void streaming_blocking_handler_sets_an_exemplar(void **state)
{
    (void)state;
    request_blocking("/blocking", stream_own);
    assert_int_equal(count_exemplars("own \"id\""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(trace_of_the_caller_is_taken_on, begin, end),
        cmocka_unit_test_setup_teardown(flags_and_later_versions_are_read, begin, end),
        cmocka_unit_test_setup_teardown(invalid_traceparent_begins_a_trace, begin, end),
        cmocka_unit_test_setup_teardown(new_traces_differ, begin, end),
        cmocka_unit_test_setup_teardown(sampled_trace_is_an_exemplar, begin, end),
        cmocka_unit_test_setup_teardown(trace_of_an_access_log_is_an_exemplar, begin, end),
        cmocka_unit_test_setup_teardown(own_tracing_sets_an_exemplar, begin, end),
        cmocka_unit_test(malformed_request_has_a_new_trace),
        cmocka_unit_test_setup_teardown(blocking_handler_has_the_trace_of_the_access_log, begin,
                                        end),
        cmocka_unit_test_setup_teardown(blocking_handler_sets_an_exemplar, begin, end),
        cmocka_unit_test_setup_teardown(streaming_blocking_handler_sets_an_exemplar, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
