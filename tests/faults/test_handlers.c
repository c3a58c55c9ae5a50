/* Handlers and what the server does for them: order of middleware, refusals, declined requests,
 * errors, second responses, invalid responses, and the counters of uvhttp_stats_t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;
static char trace[64]; /* names of the handlers that ran, in order */

static void add_to_trace(const char *name)
{
    assert_true(strlen(trace) + strlen(name) < sizeof(trace));
    memcpy(trace + strlen(trace), name, strlen(name) + 1);
}

static int pass(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    add_to_trace(arg);
    return UVHTTP_DECLINED;
}

static int guard(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *action = uvhttp_request_query(request, "guard");
    add_to_trace(arg);
    if (action == NULL)
        return UVHTTP_DECLINED;
    if (strcmp(action, "refuse") == 0)
        return uvhttp_response_send_status(response, 403);
    if (strcmp(action, "fail") == 0)
        return UVHTTP_EINVAL;
    if (strcmp(action, "nomem") == 0)
        return UVHTTP_ENOMEM;
    if (strcmp(action, "sloppy") == 0) /* responds, and returns that it has not */
        uvhttp_response_send_status(response, 403);
    return UVHTTP_DECLINED;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* Fails a deferred response. `arg` is the error. */
static int fail_deferred(uvhttp_response_t *response, void *arg)
{
    int error = *(const int *)arg;
    assert_int_equal(uvhttp_response_fail(response, 0), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_fail(response, UVHTTP_DECLINED), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_fail(response, error), 0);
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_response_fail(response, error), UVHTTP_ERESPONDED);
    return 0;
}

static void count_release(void *arg)
{
    ++*(int *)arg;
}

/* Refuses the first response, and accepts the one that replaces it. `arg` tells which one it is. */
static int refuse_once(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    bool *refused = arg;
    (void)request;
    assert_int_equal(uvhttp_response_fail(response, UVHTTP_ENOMEM), UVHTTP_EINVAL);
    assert_true(uvhttp_response_open(response));
    if (*refused)
        return 0;
    *refused = true;
    return UVHTTP_ENOMEM;
}

/* Longer than an output buffer. */
static const char *long_type(void)
{
    static char type[100001];
    memset(type, 't', sizeof(type) - 1);
    return type;
}

/* Passes NULL, as getters return it for missing values. */
static void pass_null_values(uvhttp_request_t *request, uvhttp_response_t *response)
{
    uvhttp_stream_t *stream;
    int released = 0;
    assert_null(uvhttp_request_query(request, NULL));
    assert_null(uvhttp_request_form(request, NULL));
    assert_null(uvhttp_request_header(request, NULL));
    assert_null(uvhttp_request_param(request, NULL));
    assert_null(uvhttp_request_param_path(request, NULL).base);
    assert_null(uvhttp_request_cookie(request, NULL));
    assert_null(uvhttp_request_trailer(request, NULL));
    assert_int_equal(uvhttp_response_send_text(response, 200, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_html(response, 200, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_json(response, 200, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send(response, 200, NULL, NULL, 1), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_static(response, 200, NULL, NULL, 1), UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_response_send_borrowed(response, 200, NULL, NULL, 5000, count_release, &released),
        UVHTTP_EINVAL);
    assert_int_equal(released, 1);
    assert_int_equal(uvhttp_response_upgrade(response, "x", NULL, NULL, &stream), UVHTTP_EINVAL);
}

static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *action = uvhttp_request_query(request, "do");
    add_to_trace(arg);
    if (action == NULL)
        return uvhttp_response_send_text(response, 0, "done");
    if (strcmp(action, "decline") == 0)
        return UVHTTP_DECLINED;
    if (strcmp(action, "fail") == 0) {
        uvhttp_response_set_header(response, "X-Half", "made");
        uvhttp_response_set_status(response, 201);
        return UVHTTP_EHEADER;
    }
    if (strcmp(action, "gone") == 0) /* result of a call for another client */
        return UVHTTP_EDISCONNECTED;
    if (strcmp(action, "queued") == 0) { /* result of a posted message */
        int err = uvhttp_response_send_text(response, 200, "queued");
        return err != 0 ? err : UVHTTP_QUEUED;
    }
    if (strcmp(action, "fail-number") == 0) /* a status is not a valid result */
        return 200;
    if (strncmp(action, "later-", 6) == 0) {
        static const int errors[] = {UVHTTP_ENOMEM, UVHTTP_EHEADER};
        int error = strcmp(action, "later-nomem") == 0 ? 0 : 1;
        uvhttp_response_set_header(response, "X-Half", "made");
        return uvhttp_response_defer(response, do_nothing, fail_deferred,
                                     (void *)(uintptr_t)&errors[error]);
    }
    if (strcmp(action, "hook-nomem") == 0) {
        int released = 0;
        bool refused = false;
        assert_int_equal(uvhttp_response_on_send(response, refuse_once, &refused), 0);
        int err =
            uvhttp_response_send_borrowed(response, 200, NULL, "x", 1, count_release, &released);
        assert_int_equal(err, UVHTTP_ENOMEM);
        assert_int_equal(released, 1);
        return uvhttp_response_fail(response, err); /* immediately, while `refused` is in scope */
    }
    if (strcmp(action, "zero") == 0) {
        uvhttp_response_set_status(response, 410);
        return uvhttp_response_send_status(response, 0);
    }
    if (strcmp(action, "reset") == 0) /* RFC 9110 section 15.3.6: no content */
        return uvhttp_response_send_text(response, 205, "x");
    if (strcmp(action, "twice") == 0) {
        int err = uvhttp_response_send_text(response, 200, "first");
        assert_int_equal(uvhttp_response_send_text(response, 200, "second"), UVHTTP_ERESPONDED);
        assert_int_equal(uvhttp_response_set_header(response, "X-A", "1"), UVHTTP_ERESPONDED);
        assert_int_equal(uvhttp_response_defer(response, NULL, NULL, NULL), UVHTTP_ERESPONDED);
        assert_false(uvhttp_response_open(response));
        return err;
    }
    if (strcmp(action, "status") == 0) {
        assert_int_equal(uvhttp_response_set_status(response, 202), 0);
        assert_int_equal(uvhttp_response_send_text(response, 600, "x"), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_response_send_text(response, 100, "x"), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_response_send(response, 200, "a\r\nb: c", "x", 1), UVHTTP_EHEADER);
        assert_int_equal(uvhttp_response_redirect(response, 200, "/"), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_response_redirect(response, 301, "/\r\nX: y"), UVHTTP_EHEADER);
        assert_int_equal(uvhttp_response_send_file(response, 200, "/nowhere/at/all"), UV_ENOENT);
        assert_int_equal(uvhttp_response_send_file(response, 200, "/"), UVHTTP_ENOTREG);
        assert_int_equal(uvhttp_response_send_file(response, 200, NULL), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_response_defer(response, NULL, NULL, NULL), UVHTTP_EINVAL);
        pass_null_values(request, response);
        assert_int_equal(uvhttp_response_status(response), 202);
        assert_true(uvhttp_response_open(response));
        return uvhttp_response_send_text(response, 0, "still open");
    }
    if (strcmp(action, "typed") == 0)
        return uvhttp_response_send(response, 200, long_type(), "x", 1);
    assert_string_equal(action, "prepared");
    uvhttp_prepared_t *prepared = uvhttp_prepared_new(NULL); /* empty, which is allowed */
    uvhttp_response_use_prepared(response, prepared);
    int err = uvhttp_response_send_text(response, 200, "prepared");
    uvhttp_prepared_free(prepared);
    return err;
}

static void begin(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    static char names[][8] = {"a", "b", "c", "h", "p", "r"};
    assert_int_equal(uvhttp_server_use(stage.server, pass, names[0]), 0);
    assert_int_equal(uvhttp_server_use(stage.server, guard, names[1]), 0);
    assert_int_equal(uvhttp_server_use(stage.server, pass, names[2]), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", handler, names[3]), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "REPORT", "/", handler, names[3]), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server),
                                       &(uvhttp_route_t){.method = "POST",
                                                         .pattern = "/",
                                                         .handler = handler,
                                                         .arg = names[4],
                                                         .max_body_size = 4}),
                     0);
    const uvhttp_route_t route = {.method = "PUT",
                                  .pattern = "/own",
                                  .handler = handler,
                                  .arg = names[3],
                                  UVHTTP_MIDDLEWARE({pass, names[5]})};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &route), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    trace[0] = '\0';
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(const char *method, const char *target)
{
    char request[256];
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n\r\n", method, target);
    raw_client_send_text(&client, request);
}

static void middleware_refusal_skips_following_handlers(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
        const char *trace, *body;
    } cases[] = {
        {"GET", "/", 200, "abch", "done"},
        {"POST", "/", 200, "abcp", "done"},
        {"GET", "/?guard=refuse", 403, "ab", "403 Forbidden\n"},
        {"GET", "/?guard=fail", 500, "ab", "500 Internal Server Error\n"},
        {"GET", "/?guard=nomem", 503, "ab", "503 Service Unavailable\n"},
        {"GET", "/?guard=sloppy", 403, "ab", "403 Forbidden\n"},
        {"GET", "/nowhere", 404, "abc", "404 Not Found\n"},
        {"GET", "/nowhere?guard=refuse", 403, "ab", "403 Forbidden\n"},
        {"DELETE", "/", 405, "abc", "405 Method Not Allowed\n"},
        {"OPTIONS", "/", 204, "abc", ""},
        {"OPTIONS", "*", 204, "abc", ""},
        {"PURGE", "/", 501, "abc", "501 Not Implemented\n"},
        {"TRACE", "/", 501, "abc", "501 Not Implemented\n"},
        {"GET", "/?do=decline", 404, "abch", "404 Not Found\n"},
        {"GET", "/?do=fail", 500, "abch", "500 Internal Server Error\n"},
        {"GET", "/?do=gone", 500, "abch", "500 Internal Server Error\n"},
        {"GET", "/?do=queued", 200, "abch", "queued"},
        {"GET", "/?do=fail-number", 500, "abch", "500 Internal Server Error\n"},
        {"GET", "/?do=later-fail", 500, "abch", "500 Internal Server Error\n"},
        {"GET", "/?do=later-nomem", 503, "abch", "503 Service Unavailable\n"},
        {"GET", "/?do=hook-nomem", 503, "abch", "503 Service Unavailable\n"},
        {"GET", "/?do=zero", 410, "abch", "410 Gone\n"},
        {"GET", "/?do=reset", 205, "abch", ""},
        {"GET", "/?do=twice", 200, "abch", "first"},
        {"GET", "/?do=status", 202, "abch", "still open"},
        {"GET", "/?do=prepared", 200, "abch", "prepared"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        struct raw_response response;
        size_t offset = 0;
        char half[16];
        begin();
        send_request(cases[i].method, cases[i].target);
        assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_string_equal(trace, cases[i].trace);
        assert_int_equal(response.status, cases[i].status);
        assert_int_equal(response.body_length, strlen(cases[i].body));
        assert_memory_equal(response.body, cases[i].body, response.body_length);
        assert_int_equal(offset, client.received);
        assert_false(raw_response_field(&response, "X-Half", half, sizeof(half)));
        assert_int_equal(stage.errors_logged, strstr(cases[i].target, "fail") != NULL ||
                                                  strstr(cases[i].target, "gone") != NULL ||
                                                  strstr(cases[i].target, "nomem") != NULL);
        end();
    }
}

/* As the middleware of CORS needs it. */
static void preflight_runs_middleware_of_the_route_it_asks_about(void **state)
{
    static const struct {
        const char *line, *trace;
    } cases[] = {
        {"OPTIONS /own HTTP/1.1\r\nAccess-Control-Request-Method: PUT", "abcr"},
        {"OPTIONS /own HTTP/1.1\r\nAccess-Control-Request-Method: GET", "abc"},
        {"OPTIONS /own HTTP/1.1\r\nX: PUT", "abc"},
        {"DELETE /own HTTP/1.1\r\nAccess-Control-Request-Method: PUT", "abc"},
        {"PUT /own HTTP/1.1\r\nX: PUT", "abcrh"},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        char request[256];
        begin();
        snprintf(request, sizeof(request), "%s\r\nHost: h\r\n\r\n", cases[i].line);
        raw_client_send_text(&client, request);
        assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
        assert_string_equal(trace, cases[i].trace);
        end();
    }
}

/* A middleware that responds with the body it can access. */
static int echo_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t body = uvhttp_request_body(request);
    return uvhttp_response_send(response, 200, NULL, body.base, body.length);
}

static void begin_limited(uvhttp_handler_cb middleware)
{
    stage_begin(&stage);
    stage.config->max_body_size = 8;
    assert_non_null(stage_new_server(&stage));
    if (middleware != NULL)
        assert_int_equal(uvhttp_server_use(stage.server, middleware, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void expect_response(int status, const char *body)
{
    struct raw_response response;
    size_t offset = 0;
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, status);
    if (body == NULL)
        return;
    assert_int_equal(response.body_length, strlen(body));
    assert_memory_equal(response.body, body, response.body_length);
}

static void method_after_an_empty_line_is_found(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "\r\nREPORT / HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_response(200, NULL);
    end();
}

static void long_content_type_is_complete(void **state)
{
    (void)state;
    begin();
    send_request("GET", "/?do=typed");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000000, 1), 1);
    assert_non_null(memmem(client.data, client.received, long_type(), strlen(long_type())));
    end();
}

/* Middleware runs before the body is read, so its result must not depend on how much of the body is
 * received. */
static void middleware_gets_empty_body(void **state)
{
    (void)state;
    static const char *const targets[] = {"/", "/nowhere"};
    static const char *const bodies[] = {
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(targets) * UVH_COUNT_OF(bodies); i++) {
        char requested[128];
        int length = snprintf(requested, sizeof(requested), "PUT %s HTTP/1.1\r\nHost: h\r\n%s",
                              targets[i / 2], bodies[i % 2]);
        for (size_t cut = 1; cut <= (size_t)length; cut++) {
            begin_limited(echo_body);
            raw_client_send(&client, requested, cut);
            stage_iterations(&stage, 3);
            raw_client_step(&client, 1000);
            stage_iterations(&stage, 3);
            raw_client_send(&client, requested + cut, (size_t)length - cut);
            expect_response(200, "");
            end();
        }
    }
}

/* The size of the body does not matter without a route. */
static void too_large_body_without_route_gets_404(void **state)
{
    (void)state;
    begin_limited(NULL);
    raw_client_send_text(&client,
                         "PUT /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123456789");
    expect_response(404, NULL);
    end();
}

/* ---- counters ---- */

static void stats_count_requests_and_responses(void **state)
{
    (void)state;
    begin();
    send_request("GET", "/");
    send_request("HEAD", "/");
    send_request("OPTIONS", "/");
    send_request("GET", "/nowhere");
    send_request("GET", "/?do=fail");
    raw_client_send_text(
        &client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    size_t sent = client.out_length + 2 + strlen("GET / HTTP/1.1\r\n\r\n");
    for (int iteration = 0; iteration < 10; iteration++) {
        raw_client_step(&client, 10000);
        stage_iterate(&stage);
    }
    raw_client_send_text(&client, "ab");
    raw_client_send_text(&client, "GET / HTTP/1.1\r\n\r\n"); /* refused, since Host is missing */
    stage_drive_to_end(&stage, &client, 10000);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_true(stats->total_connections == 1);
    assert_true(stats->rejected_connections == 0);
    assert_true(stats->total_requests == 6);
    assert_true(stats->responses_1xx == 1);
    assert_true(stats->responses_2xx == 4);
    assert_true(stats->responses_3xx == 0);
    assert_true(stats->responses_4xx == 2);
    assert_true(stats->responses_5xx == 1);
    assert_true(stats->parse_errors == 1);
    assert_true(stats->timeouts == 0);
    assert_true(stats->aborted_exchanges == 0);
    assert_true(stats->bytes_received == sent);
    assert_true(stats->bytes_sent == client.received);
    raw_client_close(&client, false);
    stage_iterations(&stage, 10);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
    end();
}

static void idle_connections_exclude_started_requests(void **state)
{
    (void)state;
    struct raw_client fresh, partial;
    begin();
    raw_client_connect(&fresh, uvhttp_server_port(stage.server), 0);
    raw_client_connect(&partial, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&partial, "GET / ");
    raw_client_step(&partial, 0);
    send_request("GET", "/");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    stage_iterations(&stage, 5);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_true(stats->active_connections == 3);
    assert_true(stats->idle_connections == 2);
    assert_true(stats->reading_connections == 1);
    raw_client_close(&fresh, false);
    stage_iterations(&stage, 5);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 2);
    assert_true(uvhttp_server_stats(stage.server)->idle_connections == 1);
    raw_client_close(&partial, false);
    end();
}

static void max_connections_exceeded_gets_503(void **state)
{
    (void)state;
    struct raw_client second;
    stage_begin(&stage);
    stage.config->max_connections = 1;
    assert_non_null(stage_new_server(&stage));
    static char name[] = "h";
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", handler, name), 0);
    stage_listen(&stage);
    trace[0] = '\0';
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    stage_iterations(&stage, 3);
    raw_client_connect(&second, uvhttp_server_port(stage.server), 0);
    stage_drive_to_end(&stage, &second, 1000);
    assert_memory_equal(second.data, "HTTP/1.1 503 ", 13);
    raw_client_close(&second, false);
    stage_iterations(&stage, 5);
    send_request("GET", "/"); /* the first connection is not affected */
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
    /* and the limit is not reached any more */
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("GET", "/");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_memory_equal(client.data, "HTTP/1.1 200 ", 13);
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_true(stats->total_connections == 3);
    assert_true(stats->rejected_connections == 1);
    assert_true(stats->responses_5xx == 1);
    end();
}

static void body_over_route_limit_gets_413(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd", 200},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
         200},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n",
         413},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\n", 413},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        begin();
        raw_client_send_text(&client, cases[i].request);
        assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
        char expected[16];
        snprintf(expected, sizeof(expected), "HTTP/1.1 %d ", cases[i].status);
        assert_memory_equal(client.data, expected, 13);
        assert_int_equal(strchr(trace, 'p') != NULL, cases[i].status == 200);
        end();
    }
}

static void half_closed_client_gets_responses(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        send_request("GET", "/");
    raw_client_step(&client, 0);
    raw_client_end_sending(&client);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 3), 3);
    stage_drive_to_end(&stage, &client, 1000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middleware_refusal_skips_following_handlers),
        cmocka_unit_test(preflight_runs_middleware_of_the_route_it_asks_about),
        cmocka_unit_test(method_after_an_empty_line_is_found),
        cmocka_unit_test(long_content_type_is_complete),
        cmocka_unit_test(middleware_gets_empty_body),
        cmocka_unit_test(too_large_body_without_route_gets_404),
        cmocka_unit_test(stats_count_requests_and_responses),
        cmocka_unit_test(idle_connections_exclude_started_requests),
        cmocka_unit_test(max_connections_exceeded_gets_503),
        cmocka_unit_test(body_over_route_limit_gets_413),
        cmocka_unit_test(half_closed_client_gets_responses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
