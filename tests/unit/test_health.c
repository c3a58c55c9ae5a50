/* Liveness and readiness (uvhttp/health.h), without sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

static uvhttp_server_t *server;
static const char *first_reason, *second_reason;
static int second_calls;

static const char *check_first(void *arg)
{
    (void)arg;
    return first_reason;
}

static const char *check_second(void *arg)
{
    (void)arg;
    second_calls++;
    return second_reason;
}

static void begin(void)
{
    first_reason = second_reason = NULL;
    second_calls = 0;
    server = uvhttp_server_new(NULL);
    assert_int_equal(
        uvhttp_server_route(server, "GET", "/healthz", uvhttp_health_handle_live, NULL), 0);
    assert_int_equal(
        uvhttp_server_route(server, "GET", "/readyz", uvhttp_health_handle_ready, NULL), 0);
}

static void assert_response(const char *target, int status, const char *body)
{
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t request = {.target = target};
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    assert_int_equal(response->status, status);
    assert_string_equal(response->body, body);
    assert_string_equal(uvhttp_test_response_header(response, "Cache-Control"), "no-store");
    uvhttp_test_response_free(response);
}

static void server_without_checks_is_ready(void **state)
{
    (void)state;
    begin();
    assert_response("/healthz", 200, "alive\n");
    assert_response("/readyz", 200, "ready\n");
    assert_true(uvhttp_server_is_ready(server, NULL, 0));
    uvhttp_server_free(server);
}

static void failed_check_has_reason(void **state)
{
    char reason[32];
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_add_check(server, "database", check_first, NULL), 0);
    assert_int_equal(uvhttp_server_add_check(server, "queue", check_second, NULL), 0);
    assert_response("/readyz", 200, "ready\n");
    assert_int_equal(second_calls, 1);
    second_reason = "full";
    assert_response("/readyz", 503, "not ready: queue: full\n");
    first_reason = "no connection";
    assert_response("/readyz", 503, "not ready: database: no connection\n");
    assert_int_equal(second_calls, 2); /* the first failure is enough */
    assert_false(uvhttp_server_is_ready(server, reason, 12));
    assert_string_equal(reason, "database: n"); /* truncated */
    assert_response("/healthz", 200, "alive\n");
    first_reason = second_reason = NULL;
    assert_true(uvhttp_server_is_ready(server, reason, sizeof(reason)));
    uvhttp_server_free(server);
}

static void checks_are_added_before_listening(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_add_check(server, NULL, check_first, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_add_check(server, "a", NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_add_check(server, "a", check_first, NULL), UVHTTP_EFROZEN);
    uvhttp_server_free(server);
}

static void stopping_server_is_not_ready(void **state)
{
    char reason[32];
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_true(uvhttp_server_is_ready(server, NULL, 0));
    uvhttp_server_stop(server);
    assert_false(uvhttp_server_is_ready(server, reason, sizeof(reason)));
    assert_string_equal(reason, "stopping");
    assert_int_equal(uvhttp_server_run(server), 0);
    assert_false(uvhttp_server_is_ready(server, NULL, 0));
    uvhttp_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_without_checks_is_ready),
        cmocka_unit_test(failed_check_has_reason),
        cmocka_unit_test(checks_are_added_before_listening),
        cmocka_unit_test(stopping_server_is_not_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
